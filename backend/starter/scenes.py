"""Portraits on pastel grounds: nearly aligned renders, no two alike, each fixed by its seed."""

from __future__ import annotations

import colorsys
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from backend.starter.words import COMBOS, Combo

SIDE = 128
SIZES = (124, 125, 126, 127, 128)
HELD_OUT_SIZES = (122, 123)
HUE_PERIOD, HELD_OUT_PART = 0.2, 0.16


@dataclass(frozen=True)
class Scene:
    """One render: the portrait, its ground, and where it stands."""

    combo: Combo
    hue: float
    saturation: float
    value: float
    slope: float
    size: int
    dx: int
    dy: int
    flip: bool


def combo_held_out(combo: Combo) -> bool:
    """Whether the describing models never see this combination in training (about one in ten)."""
    return crc32("|".join(combo).encode()) % 10 == 0


TRAINING_COMBOS = tuple(combo for combo in COMBOS if not combo_held_out(combo))
HELD_OUT_COMBOS = tuple(combo for combo in COMBOS if combo_held_out(combo))


def draw_scene(rng: np.random.Generator, combo: Combo, held_out: bool = False) -> Scene:
    """A scene for a portrait; held-out scenes have hues, sizes and shifts that no training scene has."""
    part = rng.uniform(HELD_OUT_PART, HUE_PERIOD) if held_out else rng.uniform(0, HELD_OUT_PART)
    shift = (-2, 2) if held_out else (-1, 0, 1)
    return Scene(
        combo=combo,
        hue=float(part + HUE_PERIOD * rng.integers(round(1 / HUE_PERIOD))),
        saturation=float(rng.uniform(0.10, 0.34)),
        value=float(rng.uniform(0.86, 0.98)),
        slope=float(rng.uniform(-0.07, 0.07)),
        size=int(rng.choice(HELD_OUT_SIZES if held_out else SIZES)),
        dx=int(rng.choice(shift)),
        dy=int(rng.choice(shift)),
        flip=bool(rng.integers(2)),
    )


class Studio:
    """Renders scenes from the portraits, which it keeps in the sizes that scenes use."""

    def __init__(self, portraits: dict[Combo, np.ndarray]):
        self.portraits = portraits
        self._sized: dict[tuple[Combo, int], np.ndarray] = {}

    def sized(self, combo: Combo, size: int) -> np.ndarray:
        """The portrait at size x size, colour premultiplied by alpha, as 0 to 1."""
        key = (combo, size)
        if key not in self._sized:
            from PIL import Image

            image = Image.fromarray(self.portraits[combo]).resize((size, size), Image.Resampling.BICUBIC)
            rgba = np.asarray(image).astype(np.float32) / 255
            rgba[..., :3] *= rgba[..., 3:]
            self._sized[key] = rgba.astype(np.float16)
        return self._sized[key].astype(np.float32)

    def render(self, scene: Scene) -> np.ndarray:
        """The scene as (128, 128, 3) bytes."""
        picture = ground(scene)
        portrait = self.sized(scene.combo, scene.size)
        x0 = (SIDE - scene.size) // 2 + scene.dx
        y0 = (SIDE - scene.size) // 2 + scene.dy
        left, top = max(x0, 0), max(y0, 0)
        right, bottom = min(x0 + scene.size, SIDE), min(y0 + scene.size, SIDE)
        part = portrait[top - y0 : bottom - y0, left - x0 : right - x0]
        area = picture[top:bottom, left:right]
        area *= 1 - part[..., 3:]
        area += part[..., :3]
        if scene.flip:
            picture = picture[:, ::-1]
        return (picture * 255).round().clip(0, 255).astype(np.uint8)


def ground(scene: Scene) -> np.ndarray:
    """The pastel ground, a little lighter at one end than at the other."""
    colour = np.array(colorsys.hsv_to_rgb(scene.hue, scene.saturation, scene.value), np.float32)
    ramp = 1 + scene.slope * np.linspace(-1, 1, SIDE, dtype=np.float32)[:, None, None]
    return np.broadcast_to((colour * ramp).clip(0, 1), (SIDE, SIDE, 3)).copy()


def as_model_input(pictures: list[np.ndarray]) -> np.ndarray:
    """Pictures as (n, 3, 128, 128) floats from -1 to 1."""
    return np.stack(pictures).transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
