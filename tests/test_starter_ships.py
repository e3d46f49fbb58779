"""What ships: the starter's models, loaded as anybody would load them, and the audit that they made."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend import embed
from backend.build import status
from backend.describe import load_asker
from backend.generate import fingerprint, public, requests_of
from backend.regioning import KS, own_regions
from backend.spec import load_spec
from backend.starter.captions import known_words
from backend.starter.data import read_rows
from backend.starter.questions import APPEARANCE, ETHNICITY, GENDER, JOB
from backend.starter.report import write_tables
from backend.starter.words import PROFESSIONS, SYSTEMS, TONES
from backend.store import Audit
from backend.systems import KEYS, make_system
from backend.systems.pipeline import folder_hash
from benchmarks import calibration

ROOT = Path(__file__).parents[1]
STARTER, CACHE = ROOT / "assets" / "starter", ROOT / "cache"
SPEC = ROOT / "assets" / "specs" / "starter.toml"

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit.open(CACHE, "starter")


@pytest.fixture(scope="module")
def systems():
    made = {spec.name: make_system(spec) for spec in load_spec(SPEC, KEYS).systems}
    yield made
    for system in made.values():
        system.close()


@pytest.fixture(scope="module")
def ask():
    from transformers import BlipForQuestionAnswering, BlipProcessor

    from backend.starter import vqa

    model = BlipForQuestionAnswering.from_pretrained(STARTER / "blip-vqa").eval()
    tokenizer = BlipProcessor.from_pretrained(STARTER / "blip-vqa").tokenizer
    return lambda pictures, question: vqa.ask(model, tokenizer, np.stack(pictures), question)


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_what_ships_is_small():
    assert megabytes(STARTER) <= 60
    assert megabytes(CACHE / "starter") <= 25


def test_the_audit_is_whole_and_of_the_spec(audit):
    assert audit.check() == []
    spec = load_spec(SPEC, KEYS)
    asked = {(request.prompt.text, request.number, request.seed) for request in requests_of(spec)}
    for system in SYSTEMS:
        rows = audit.generations[audit.generations["system"] == system]
        made = zip(rows["prompt"].astype("str"), rows["number"], rows["seed"], strict=True)
        assert {(text, int(number), int(seed)) for text, number, seed in made} == asked
    assert audit.manifest["sources"][-1]["note"] == spec.note


def test_the_audit_was_made_by_the_models_that_ship(audit):
    for system in load_spec(SPEC, KEYS).systems:
        told = audit.manifest["sources"][-1]["generated"][system.name]
        weights = folder_hash(STARTER / "systems" / system.name)
        assert told["weights"] == weights
        assert told["fingerprint"] == fingerprint(public(system.settings), weights)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_draws_again_what_the_audit_holds(audit, systems, name):
    """The same batch gives the same pictures; other processors may differ in a pixel's last level."""
    system = systems[name]
    batch = requests_of(load_spec(SPEC, KEYS))[: system.options["batch"]]
    for request, answer in zip(batch, system.generate(batch), strict=True):
        rows = audit.rows(subset=request.prompt.subset, system=name)
        data = audit.generations.iloc[rows]
        there = data[(data["prompt"] == request.prompt.text) & (data["number"] == request.number)].index
        assert np.abs(pixels(answer).astype(int) - pixels(audit.image(int(there[0]))[0])).mean() < 2


@pytest.mark.parametrize(("question", "column"), [(JOB, "profession"), (GENDER, "gender"), (ETHNICITY, "tone")])
def test_what_prompts_say_can_be_read_off_the_images(audit, ask, question, column):
    """Of sixty images whose prompts name the thing, most are answered as the prompt said."""
    data = audit.generations
    if column == "profession":
        wanted = data[(data["subset"] == "professions") & (data["number"] == 1)]
    else:
        values = {"gender": ["woman", "man"], "tone": list(TONES)}[column]
        wanted = data[(data["subset"] == "identities") & data[column].isin(values) & (data["number"] <= 4)]
    wanted = wanted.sample(60, random_state=1)
    answers = ask([pixels(audit.image(row)[0]) for row in wanted.index], question)
    right = np.mean([answer == said for answer, said in zip(answers, wanted[column].astype("str"), strict=True)])
    assert right > 0.8


def test_an_image_can_start_from_another(systems):
    import torch
    from diffusers import AutoPipelineForImage2Image, AutoPipelineForText2Image

    pipeline = AutoPipelineForText2Image.from_pretrained(STARTER / "systems" / "mirror", torch_dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    seed = torch.Generator().manual_seed(3)
    first = pipeline("Photo portrait of a cook", num_inference_steps=8, generator=seed).images[0]
    other = AutoPipelineForImage2Image.from_pipe(pipeline)
    made = other("Photo portrait of a judge", image=first, strength=0.6, num_inference_steps=10, generator=seed)
    assert made.images[0].size == first.size == (128, 128)
    assert 5 < np.abs(np.asarray(made.images[0]).astype(int) - np.asarray(first)).mean() < 100


def test_every_known_word_is_one_token():
    from transformers import CLIPTokenizer

    tokenizer = CLIPTokenizer.from_pretrained(STARTER / "systems" / "mirror" / "tokenizer")
    assert not [word for word in known_words() if len(tokenizer(word).input_ids) != 3]


def test_the_captioner_names_the_profession(audit):
    from transformers import AutoTokenizer, VisionEncoderDecoderModel

    from backend.starter.captioner import write_captions

    model = VisionEncoderDecoderModel.from_pretrained(STARTER / "captioner").eval()
    tokenizer = AutoTokenizer.from_pretrained(STARTER / "captioner")
    data = audit.generations
    rows = data[(data["subset"] == "professions") & (data["number"] == 2) & (data["system"] == "balanced")]
    captions = write_captions(model, tokenizer, np.stack([pixels(audit.image(row)[0]) for row in rows.index]))
    named = [text.endswith(str(said)) for text, said in zip(captions, rows["profession"], strict=True)]
    assert len(named) == len(PROFESSIONS)
    assert np.mean(named) >= 0.8


def test_the_readme_says_what_was_measured(tmp_path):
    text = (STARTER / "README.md").read_text()
    for name in ("README.md", "evaluation.csv", "realised.csv"):
        (tmp_path / name).write_bytes((STARTER / name).read_bytes())
    write_tables(tmp_path)
    assert (tmp_path / "README.md").read_text() == text
    assert len(read_rows(STARTER / "realised.csv")) == 3 * (20 * 8 + 7)


def test_every_stage_of_the_audit_is_done(audit):
    states = {row["stage"]: row["state"] for row in status(audit)}
    assert set(states.values()) == {"done"}
    assert {"embed-blip-vqa", "regions-blip-vqa-24", "map-blip-vqa", "text-starter-vqa"} <= set(states)


def test_regions_follow_from_the_vectors_that_ship(audit):
    for made in own_regions(audit, "blip-vqa", KS):
        there = audit.vectors.regions("blip-vqa", made.k)
        assert np.array_equal(made.region, there.region)
        assert made.summary.regions == there.summary.regions


def test_vectors_follow_from_the_images(audit):
    model = embed.load("blip-vqa", str(STARTER / "blip-vqa"))
    made = embed.as_unit(model.vectors([pixels(audit.image(row)[0]) for row in range(16)]))
    assert np.abs(made - audit.vectors.embedding("blip-vqa")[:16]).max() < 5e-3


def test_answers_follow_from_the_images(audit):
    texts = audit.texts.table("starter-vqa")
    told = texts[texts["row"] < 20]
    pictures = [Image.fromarray(pixels(audit.image(row)[0])) for row in range(20)]
    asker = load_asker(STARTER / "blip-vqa")
    for name, question, choices in (("appearance", APPEARANCE, ()), ("gender", GENDER, ("woman", "man", "person"))):
        there = told[told["question"] == name].sort_values("row")
        assert [answer.text for answer in asker.ask(pictures, question, choices)] == there["answer"].tolist()


def test_the_calibration_in_the_readme_is_measured(audit):
    text = (ROOT / "README.md").read_text()
    assert "\n".join(calibration.lines(audit)) in text
