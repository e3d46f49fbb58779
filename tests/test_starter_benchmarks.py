"""The answers to benchmarks that ship in the starter audit: asked as they would be now, and answered still."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from backend.bench_answers import keyed, seen_items
from backend.bench_plan import chosen_task, load, plan
from backend.benchmarks import Data
from backend.benchmarks.tasks import read_tasks
from backend.commands_probe import MODELS, chosen_model
from backend.pictures import read_for_model
from backend.probes.ask import ask, make_model
from backend.store import Audit
from benchmarks import tasks

ROOT = Path(__file__).parents[1]
SHIPPED = {"starter-gender": 120, "starter-tone": 150, "starter-profession": 600}


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit.open(ROOT / "cache", "starter")


@pytest.fixture(scope="module")
def plans(audit):
    every, model = read_tasks(), make_model(chosen_model(MODELS, "starter-vqa"))
    chosen = {name: chosen_task(every, name) for name in SHIPPED}
    return {name: plan(every, task, load(task, Data(audit=audit)), model) for name, task in chosen.items()}


def test_what_was_asked_is_what_is_asked_now(audit, plans):
    held, table = audit.benchmarks.sources["starter-vqa"].tasks, audit.benchmarks.table("starter-vqa")
    for name, items in SHIPPED.items():
        assert (held[name].items, held[name].template) == (items, plans[name].task.template)
        assert held[name].values == plans[name].task.values
        assert (held[name].example, held[name].offered) == (plans[name].task.example, plans[name].task.offered)
        assert held[name].example.endswith("?") and len(held[name].offered) == len(held[name].classes)
        mine = table[(table["task"] == name) & (table["condition"] != "random")]
        assert len(mine) == 2 * items and (mine["outcome"] == "answered").all()
        digests, broken = seen_items(plans[name].items)
        assert not broken and set(mine["key"].astype(str)) == set(keyed(plans[name], digests))


def test_no_two_items_are_the_same_prompt_and_seed(audit, plans):
    for planned in plans.values():
        rows = audit.generations.iloc[[item.row for item in planned.items]]
        assert not rows.duplicated(["prompt", "seed"]).any()
        shares = rows["system"].value_counts(normalize=True)
        assert len(shares) == 3 and shares.min() > 0.2  # each system has its part


def test_the_starters_vqa_model_still_answers_so(audit, plans):
    model, table = make_model(chosen_model(MODELS, "starter-vqa")), audit.benchmarks.table("starter-vqa")
    assert model.check() == audit.benchmarks.sources["starter-vqa"].fingerprint
    for name, planned in plans.items():
        mine = table[(table["task"] == name) & (table["condition"] == "image")].set_index("item")
        some = [one for one in planned.asked if one.condition == "image"][::37][:3]
        prompts = [replace(one.prompt, picture=read_for_model(one.item.load())) for one in some]
        given = [one.classes[answer.option] for one, answer in zip(some, ask(model, prompts), strict=True)]
        assert given == [str(mine.loc[one.item.name, "answer"]) for one in some]


def test_the_table_in_the_readme_is_measured(audit):
    assert "\n".join(tasks.lines(audit)) in (ROOT / "README.md").read_text(encoding="utf-8")
