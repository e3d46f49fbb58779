"""What every training run shares: seeds, the learning rate, atomic checkpoints, a log, and half precision."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

SEED = 20211
THREADS = int(os.environ.get("OMP_NUM_THREADS", "2"))


def rng_for(*keys: int) -> np.random.Generator:
    """A generator fixed by the run's seed and these keys, so that a resumed run draws what it would have drawn."""
    return np.random.default_rng([SEED, *keys])


def learning_rate(step: int, steps: int, peak: float, warmup: int = 60) -> float:
    """Linear warm-up, then a cosine down to a fiftieth of the peak."""
    rise = min(1.0, (step + 1) / max(1, min(warmup, steps // 5)))
    fall = 0.5 * (1 + math.cos(math.pi * step / max(1, steps)))
    return peak * rise * max(fall, 0.02)


def save_atomically(state: dict, path: Path) -> None:
    """torch.save beside the target, then rename."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


@dataclass
class Run:
    """One training run: `modules` learn for `steps`; `loss` gets (step, rng) and returns a tensor."""

    name: str
    number: int
    modules: dict
    steps: int
    peak: float
    loss: Callable
    work: Path
    average: float = 0.0
    save_seconds: float = 60.0
    averages: dict = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """Where the checkpoint lies."""
        return self.work / "checkpoints" / f"{self.name}.pt"

    def finished(self) -> bool:
        """Whether the checkpoint holds the last step."""
        import torch

        return self.path.exists() and torch.load(self.path, map_location="cpu", weights_only=True)["step"] >= self.steps

    def restore(self, optimizer) -> int:
        """Load the checkpoint if there is one; the step to go on with."""
        import torch

        if not self.path.exists():
            return 0
        state = torch.load(self.path, map_location="cpu", weights_only=True)
        for key, module in self.modules.items():
            module.load_state_dict(state["modules"][key])
        for key, module in self.averages.items():
            module.load_state_dict(state["averages"][key])
        if state["optimizer"]:
            optimizer.load_state_dict(state["optimizer"])
        return state["step"]

    def save(self, optimizer, step: int) -> None:
        """Write the checkpoint; the finished one leaves the optimizer out."""
        state = {
            "step": step,
            "modules": {key: module.state_dict() for key, module in self.modules.items()},
            "averages": {key: module.state_dict() for key, module in self.averages.items()},
            "optimizer": optimizer.state_dict() if step < self.steps else {},
        }
        save_atomically(state, self.path)

    def train(self) -> dict:
        """Train to the last step; the modules to use afterwards (averaged ones if averaging was asked for)."""
        import torch

        torch.set_num_threads(THREADS)
        parameters = [p for module in self.modules.values() for p in module.parameters() if p.requires_grad]
        optimizer = torch.optim.AdamW(parameters, lr=self.peak, betas=(0.9, 0.98), weight_decay=0.01)
        if self.average:
            self.averages = {key: copy.deepcopy(module) for key, module in self.modules.items()}
        step = self.restore(optimizer)
        began = saved = time.monotonic()
        start, running = step, None
        while step < self.steps:
            torch.manual_seed(SEED + 1_000_003 * self.number + step)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, self.steps, self.peak)
            loss = self.loss(step, rng_for(self.number, step))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            self.update_averages(step)
            step += 1
            value = loss.item()
            running = value if running is None else 0.95 * running + 0.05 * value
            now = time.monotonic()
            if step % 10 == 0 or step == self.steps:
                each = (now - began) / (step - start)
                print(f"{self.name} {step}/{self.steps} loss {running:.4f} {each:.3f} s/step", flush=True)
            if now - saved > self.save_seconds or step == self.steps:
                self.save(optimizer, step)
                saved = time.monotonic()
        for module in (*self.modules.values(), *self.averages.values()):
            module.eval()
        return self.averages or self.modules

    def update_averages(self, step: int) -> None:
        """Move the averaged weights towards the trained ones."""
        import torch

        decay = min(self.average, (step + 1) / (step + 10))
        with torch.no_grad():
            for key, module in self.averages.items():
                for kept, new in zip(module.parameters(), self.modules[key].parameters(), strict=True):
                    kept.lerp_(new, 1 - decay)


def half_precision():
    """bfloat16 autocast on CPUs that compute in it; else nothing changes."""
    import torch

    enabled = os.environ.get("STARTER_BF16", "1") == "1" and torch.cpu._is_avx512_bf16_supported()
    return torch.autocast("cpu", torch.bfloat16, enabled=enabled)
