"""Probes of systems that draw: the file, the plan, judging, refusals, pictures to begin with."""

from __future__ import annotations

import csv
import io

import pytest
from audits import make_audit
from PIL import Image
from samples import ROOT, encode, likeness

from backend.commands_probe import DRAWING
from backend.drawing_plan import plan_drawings
from backend.metrics.neutrality import NEUTRAL
from backend.pictures import read_pixels
from backend.probes import base, drawing
from backend.probes.drawing import Drawer, Drawn, read_drawing
from backend.spec import SpecError, load_spec
from backend.store import Audit
from backend.systems import KEYS, Refused

STARTER_SPEC = ROOT / "assets" / "specs" / "starter.toml"


class Judge:
    """Takes a picture for what its first pixel is: red a man, green a woman, else a person."""

    def ask_many(self, pictures, questions):
        rows = []
        for picture in pictures:
            red, green, _ = picture.getpixel((0, 0))
            seen = "man" if red > 128 else "woman" if green > 128 else "person"
            rows.append([drawing_answer(seen if "man" in choices else choices[0]) for choices in questions.values()])
        return rows


def drawing_answer(text):
    from backend.describe import Answer

    return Answer(text, 0.5)


@pytest.fixture
def drawer(monkeypatch):
    """The starter's mirror, which is not loaded but draws by `colours` in turn; every request is kept."""
    monkeypatch.setattr(drawing, "load_asker", lambda place: Judge())
    spec = load_spec(STARTER_SPEC, KEYS)
    made = Drawer(spec.systems[0], read_drawing(DRAWING))
    made.requests, made.pictures = [], []
    made.colours = ["red", "lime", "blue"]

    def generate(requests):
        made.requests += requests
        colour = made.colours[(len(made.requests) - 1) % len(made.colours)]
        return [colour if isinstance(colour, Refused | bytes) else encode(Image.new("RGB", (8, 8), colour))]

    made.system.generate = generate
    made.system.redraw = lambda requests, pictures, strength: made.pictures.extend(pictures) or generate(requests)
    made.check()
    return made


def test_a_picture_is_drawn_once_and_judged_for_every_question(drawer):
    options = {question.attribute: question.answers for question in drawer.drawing.questions}
    prompts = [Drawn("a", options[name], (), None, name, seed) for seed in (1, 2, 3) for name in ("gender", "tone")]
    found = drawer.answers(prompts)
    assert [answer.text for answer in found] == ["man", "light", "woman", "light", "person", "light"]
    assert [request.seed for request in drawer.requests] == [1, 2, 3]
    question = drawer.drawing.questions[0]
    assert [question.means[answer.option] for answer in found[::2]] == ["male", "female", NEUTRAL]


@pytest.mark.parametrize(
    ("made", "outcome", "words"),
    [
        (Refused("hidden", "filtered"), base.REFUSED, "hidden"),
        (Refused("out of memory"), base.FAILED, "out of memory"),
        (b"no picture", base.FAILED, "cannot be read"),
    ],
)
def test_what_gives_no_picture_has_no_class(drawer, made, outcome, words):
    drawer.colours = [made]
    answers = drawer.answers([Drawn("a", ("man", "woman"), (), None, name, 1) for name in ("gender", "tone")])
    assert {answer.outcome for answer in answers} == {outcome} and words in answers[0].reason
    assert len(drawer.requests) == 1


def test_the_plan_draws_each_profession_so_often_from_seeds_of_its_own():
    audit = Audit.open(ROOT / "cache", "starter")
    drawn = read_drawing(DRAWING)
    planned = plan_drawings(audit, drawn, ("text-to-image", "image-to-image"))
    assert len(planned.asked) == 2 * 20 * 10 * 2 and planned.inputs() == 40
    texts = {one.probe.prompt.text for one in planned.asked}
    assert "Photo portrait of an artist" in texts and len(texts) == 20
    seeds = {(one.probe.prompt.text, one.probe.prompt.seed) for one in planned.asked}
    assert len(seeds) == 200
    shown = {one.row for one in planned.asked if one.place[0] == "image-to-image"}
    table = audit.generations.iloc[sorted(shown)]
    assert len(shown) == 30 and set(table["gender"]) == {"person"} and set(table["tone"]) == {"unspecified"}
    assert {one.row for one in planned.asked if one.place[0] == "text-to-image"} == {-1}
    assert len({one.key for one in planned.asked}) == len(planned.asked)
    assert "98.9 %" in planned.note and "no neutral pictures" in planned.note


def test_what_the_note_says_of_the_judge_is_what_was_measured():
    with (ROOT / "assets" / "starter" / "evaluation.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == "blip-vqa"]
    told = {(row["what"], row["group"], row["value"]): f"{float(row['share']) * 100:.1f} %" for row in rows}
    note = read_drawing(DRAWING).note
    wanted = [
        ("gender word, man and woman portraits", "all", "right"),
        ("tone", "all", "right"),
        ("answer to the gender question", "person, no tone", "man"),
        ("answer to the gender question", "person, no tone", "woman"),
    ]
    assert all(told[place] in note for place in wanted)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("images = 10", "images = 0", "images: '0' is not"),
        ("strength = 0.8", "strength = 0", "strength: '0' is not"),
        ("{a} {profession}", "{job}", "hold {profession}"),
        ("{a} {profession}", "{a} {profession} {", "hold {profession}"),
        ('neutral = ["person"]', "neutral = [1]", "give a list of the judge"),
        ('neutral = ["person"]', 'neutral = ["Man"]', "stands for two classes"),
        ('male = ["man"]', '"no preference" = ["man"]', "two or more classes"),
        ('attribute = "tone"', 'attribute = "gender"', "every attribute once"),
        ("judge =", "jugde =", "did you mean 'judge'"),
        ("text_to_image", "text_to_video", "unknown key"),
        ("images", '"', "is no TOML"),
    ],
)
def test_a_wrong_file_says_what_is_wrong(tmp_path, old, new, words):
    path = tmp_path / "drawing.toml"
    path.write_text(DRAWING.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError) as error:
        read_drawing(path)
    assert words in str(error.value) and str(path) in str(error.value)


def test_wrong_calls_end_in_a_sentence(tmp_path, capsys):
    make_audit(tmp_path)
    asked = ["probe", "small", "--systems", STARTER_SPEC, "--model"]
    for more, words in (
        (["nobody"], "there is no system 'nobody'"),
        (["mirror", "--directions", "text-to-text"], "systems draw in the directions"),
        (["mirror", "--styles", "blind-direct"], "informed-direct only"),
        (["mirror", "--attributes", "age"], "--attributes: 'age' is none of gender, tone"),
        (["mirror", "--directions", "image-to-image"], "has no pictures without gender"),
    ):
        assert likeness(*asked, *more, cache=tmp_path) == 1
        assert words in capsys.readouterr().err
    assert likeness("probe", "small", "--model", "smollm2", "--directions", "text-to-image", cache=tmp_path) == 1
    assert "give their spec as --systems" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_a_real_system_draws_from_text_and_from_a_picture(tmp_path, capsys):
    make_audit(tmp_path)
    spec = tmp_path / "spec.toml"
    spec.write_text(STARTER_SPEC.read_text(encoding="utf-8").replace("steps = 20", "steps = 2"), encoding="utf-8")
    asked = ["probe", "small", "--systems", spec, "--model", "mirror", "--limit", 1, "--attributes", "gender"]
    path = tmp_path / "drawing.toml"
    text = DRAWING.read_text(encoding="utf-8").replace("images = 10", "images = 2")
    path.write_text(text.replace('"assets/', f'"{ROOT}/assets/').replace('"starter-', f'"{DRAWING.parent}/starter-'))
    asked += ["--drawing", path, "--directions", "text-to-image"]
    assert likeness(*asked, cache=tmp_path) == 0
    assert "small has 2 answers of mirror now." in capsys.readouterr().out
    audit = Audit.open(tmp_path, "small")
    table, source = audit.probes.table("mirror"), audit.probes.sources["mirror"]
    assert set(table["answer"].astype(str)) <= {"male", "female", NEUTRAL} and source.kind == "diffusers"
    assert table["rotation"].tolist() == [0, 1] and len(source.fingerprint) == 64
    assert likeness(*asked, cache=tmp_path) == 0
    assert "0 prompts asked now, 2 answered before." in capsys.readouterr().out
    made = Drawer(load_spec(STARTER_SPEC, KEYS).systems[0], read_drawing(path))
    made.system.options = {**made.system.options, "steps": 20}
    made.check()
    one = drawing.Request(drawing.SystemPrompt("neutral", "Photo portrait of a person", 1), 1, 7)
    grounds = [Image.new("RGB", (30, 40), colour) for colour in ("white", "black")]
    near = [made.system.redraw([one], [ground], 0.05)[0] for ground in grounds]
    light, dark = (read_pixels(data).mean() for data in near)
    assert light > 200 and dark < 90  # hardly changed, at the size of the spec
    assert Image.open(io.BytesIO(near[0])).size == (128, 128)
    assert made.system.redraw([one], [grounds[0]], 0.05)[0] == near[0]
    made.close()
