"""A model without weights, which chooses as it is told, and what most tests of probing want asked."""

from __future__ import annotations

from pathlib import Path

from samples import ROOT

from backend import probing
from backend.commands_probe import summary
from backend.probe_plan import Wanted
from backend.probes import base
from backend.probes.ask import Answer, Model, ModelSpec, make_model

DIRECT = Wanted(styles=("informed-direct",), attributes=("gender",), limit=6)


class Scripted(Model):
    """Chooses by `choose(prompt)`, and stops after `stop` prompts."""

    KEYS = make_model(ModelSpec("x", "lm", "X", 1, {}, ROOT)).KEYS
    weights = "w" * 8

    def __init__(self, spec):
        super().__init__(spec)
        Scripted.last = self
        self.asked = []

    def check(self):
        return Scripted.weights

    def answers(self, prompts):
        found = []
        for prompt in prompts:
            if Scripted.total >= Scripted.stop:
                raise KeyboardInterrupt
            Scripted.total += 1
            self.asked.append(prompt)
            option = Scripted.choose(prompt)
            if isinstance(option, Answer):
                found.append(option)
                continue
            chances = [0.1 / (len(prompt.options) - 1)] * len(prompt.options)
            chances[option] = 0.9
            found.append(Answer(base.ANSWERED, option, prompt.options[option], probabilities=tuple(chances)))
        return found


def scripted(monkeypatch, folder: Path) -> ModelSpec:
    """The spec of a scripted model, which chooses what is shown first."""
    monkeypatch.setattr(probing, "make_model", Scripted)
    Scripted.total, Scripted.stop, Scripted.weights = 0, 10**9, "w" * 8
    Scripted.choose = staticmethod(lambda prompt: 0)
    return ModelSpec("made", "lm", "Made", 4, {"model": "/home/somebody/made", "dtype": "auto"}, folder)


def run(cache, spec, wanted=DIRECT, **options):
    return probing.probe(cache, "small", spec, wanted, **options)


def measured(done, **place):
    lines = [
        line for line in summary(done.source, done.answers) if all(getattr(line, k) == v for k, v in place.items())
    ]
    assert len(lines) == 1
    return lines[0].found
