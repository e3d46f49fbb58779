"""Describers: from a file to texts in an audit; kills, hostile answers, endpoints that misbehave, texts from CSV."""

from __future__ import annotations

import pytest
from audits import make_audit
from endpoint import Endpoint
from PIL import Image
from samples import ROOT, likeness
from tiny import make_blip

from backend import texts
from backend.describe import Answer
from backend.describers import Describer, Question, Unsaid, load_describers, make_describer
from backend.describers.base import DescriberSpec
from backend.pictures import read_pixels
from backend.spec import SpecError
from backend.store import Audit, StoreError

NASTY = ["", "x" * 20_000, "<script>alert(1)</script> a\x00 woman\x1b", "una mujer 女性", "a man and a woman"]


class Scripted(Describer):
    """Says the texts of NASTY in turn, or stops after `stop` pictures."""

    seen = 0
    stop = 10**9
    QUESTIONS = (Question("caption"), Question("gender", "Who?", ("woman", "man")))

    def check(self) -> str:
        return "weights"

    def describe(self, pictures):
        rows = []
        for _ in pictures:
            if Scripted.seen >= Scripted.stop:
                raise KeyboardInterrupt
            text = NASTY[Scripted.seen % len(NASTY)]
            answer = ("Woman.", "man", "a robot")[Scripted.seen % 3]
            said = Unsaid("filtered") if Scripted.seen % 50 == 49 else Answer(text, 0.5)
            rows.append([said, Answer(answer, float("nan"))])
            Scripted.seen += 1
        return rows


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    monkeypatch.setattr(texts, "make_describer", Scripted)
    Scripted.seen, Scripted.stop = 0, 10**9
    return DescriberSpec("scripted", "captioner", "Scripted", "en", 10, {"model": "m"}, (), tmp_path)


def test_hostile_texts_are_kept_plain_and_bounded(scripted, tmp_path):
    make_audit(tmp_path)
    done = texts.describe(tmp_path, "small", scripted)
    assert done.made == 150 and done.unsaid == {"filtered": 3} and done.outside == 50
    audit = Audit.open(tmp_path, "small")
    table = audit.texts.table("scripted")
    captions = table[table["question"] == "caption"].set_index("row")["answer"].astype(str)
    assert len(captions) == 147 and captions[0] == "" and len(captions[1]) == 10_000
    assert captions[2] == "<script>alert(1)</script> a woman"
    answers = table[table["question"] == "gender"]["answer"].astype(str)
    assert set(answers) == {"woman", "man", "a robot"}
    assert texts.describe(tmp_path, "small", scripted) is None


def test_a_stopped_run_goes_on_where_it_was(scripted, tmp_path):
    make_audit(tmp_path)
    Scripted.stop = 100
    with pytest.raises(KeyboardInterrupt):
        texts.describe(tmp_path, "small", scripted)
    assert "scripted" not in Audit.open(tmp_path, "small").texts.sources
    Scripted.stop = 10**9
    assert texts.describe(tmp_path, "small", scripted).made == 150 - 64
    assert len(set(Audit.open(tmp_path, "small").texts.table("scripted")["row"])) == 150


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('kind = "psychic"', "kind: 'psychic' is not one of captioner"),
        ('kind = "vqa"\nmodel = "m"', "questions: are missing"),
        ('kind = "captioner"\nmodel = "m"\nlanguage = "xx"', "language: assets/lexicon.csv has no words"),
        ('kind = "captioner"\nmodle = "m"', "unknown key; did you mean 'model'"),
        ('kind = "captioner"\nmodel = "no such/folder here"', "neither a folder here nor a Hub id"),
        ('kind = "vqa"\nmodel = "m"\nquestions = [{name = "g", ask = "?", choices = ["a", "A"]}]', "choices: give 2"),
        ('kind = "openai-vision"\nmodel = "m"\nbase_url = "ftp://x"', "base_url: give an address"),
        ('kind = "openai-vision"\nmodel = "m"\nkey_env = "sk-secret"', "key_env: give the name"),
    ],
)
def test_a_wrong_file_names_the_key(tmp_path, capsys, lines, words):
    make_audit(tmp_path)
    path = tmp_path / "d.toml"
    path.write_text(f'[[describers]]\nname = "d"\n{lines}\n', encoding="utf-8")
    assert likeness("describe", "small", path, cache=tmp_path) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("name", ["starter", "stable-bias"])
def test_the_files_that_ship_are_read(name):
    captioner, vqa = load_describers(ROOT / "assets" / "describers" / f"{name}.toml")
    assert (captioner.kind, vqa.kind) == ("captioner", "vqa")
    assert [question.name for question in vqa.questions] == ["appearance", "gender", "ethnicity"]
    assert not vqa.questions[0].choices
    if name == "stable-bias":
        assert [len(question.choices) for question in vqa.questions] == [0, 3, 17]


def test_an_endpoint_describes_and_its_key_is_not_kept(tmp_path, monkeypatch):
    make_audit(tmp_path)
    monkeypatch.setenv("VISION_KEY", "sk-very-secret")
    here = Endpoint()
    here.usual = {"choices": [{"message": {"content": "Woman."}}]}
    here.script = [(500, b"sorry"), (400, {"error": {"code": "content_policy_violation", "message": "no"}})]
    path = tmp_path / "d.toml"
    path.write_text(
        f'[[describers]]\nname = "api"\nkind = "openai-vision"\nmodel = "m"\nbase_url = "{here.root}/v1"\n'
        'key_env = "VISION_KEY"\nbackoff = 0.01\nbatch = 1\n'
        '[[describers.questions]]\nname = "gender"\nask = "Who?"\nchoices = ["woman", "man"]\n',
        encoding="utf-8",
    )
    try:
        done = texts.describe(tmp_path, "small", load_describers(path)[0])
    finally:
        here.close()
    assert sum(done.unsaid.values()) == 1 and "content_policy_violation" in next(iter(done.unsaid))
    assert here.headers["Authorization"] == "Bearer sk-very-secret"
    content = here.asked[-1]["messages"][0]["content"]
    assert content[0]["text"] == "Who? Answer with one of: woman; man."
    assert content[1]["image_url"]["url"].startswith("data:image/jpeg;base64,")
    table = Audit.open(tmp_path, "small").texts.table("api")
    assert set(table["answer"]) == {"woman"} and len(table) == 149 and table["probability"].isna().all()
    kept = [p.read_bytes() for p in (tmp_path / "small").rglob("*") if p.is_file()]
    assert not any(b"sk-very-secret" in data for data in kept)


def test_texts_from_a_csv_file_by_content_hash(tmp_path, capsys):
    make_audit(tmp_path)
    path = tmp_path / "My captions.csv"
    rows = [f"{1:064x},a woman", f"{1:064x},again", f"{999:064x},nobody", f"{2:064X},", f"{3:064x},{'y' * 10_001}"]
    path.write_text("sha256,caption\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert likeness("import-texts", "small", path, cache=tmp_path) == 0
    said = capsys.readouterr().out
    assert "2 texts of my-captions" in said and "no image of the audit" in said and "keep one" in said
    assert "shorten it to 10,000" in said
    table = Audit.open(tmp_path, "small").texts.table("my-captions")
    assert dict(zip(table["row"], table["answer"], strict=True)) == {0: "a woman", 1: ""}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "columns"),
        (b"a,b\n1,2\n", "columns"),
        (b"sha256,caption\nffff,x\n", "no row belongs"),
        (b"sha256,caption\n\xff\xfe\xff,x\n", "not UTF-8"),
        (b"sha256,question,answer,probability\n" + b"0" * 63 + b"1,gender,man,7\n", "probability"),
        (b"sha256,question,answer\n" + b"0" * 63 + b"1,../x,man\n", "question"),
    ],
)
def test_a_wrong_csv_file_says_what_is_wrong(tmp_path, capsys, data, words):
    make_audit(tmp_path)
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert likeness("import-texts", "small", path, cache=tmp_path) == 1
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"row": 150}, "row that the audit does not have"),
        ({"question": "mood"}, "question that was not asked"),
        ({"answer": "z" * 10_001}, "more than 10,000"),
        ({"probability": 1.5}, "from 0 to 1"),
    ],
)
def test_a_strangers_table_is_checked(scripted, tmp_path, columns, words):
    import pandas as pd

    audit = make_audit(tmp_path)
    row = {"row": 0, "question": "caption", "answer": "a", "probability": 0.5, **columns}
    source = texts.source_of(Scripted(scripted))
    with pytest.raises(StoreError, match=words):
        texts.write_texts(audit, source, pd.DataFrame([row]), {})


def test_a_question_without_a_name_is_refused(tmp_path):
    path = tmp_path / "d.toml"
    path.write_text('[[describers]]\nname = "D d"\nkind = "captioner"\nmodel = "m"\n', encoding="utf-8")
    with pytest.raises(SpecError, match="name: use 1 to 40"):
        load_describers(path)


@pytest.mark.filterwarnings("ignore")
def test_a_pipeline_of_transformers_describes(tmp_path):
    """The library's own pipeline, whatever its model: a tiny BLIP of random weights says something of every picture."""
    from transformers import pipeline

    folder = make_blip(tmp_path / "blip", captions=True)
    table = f"[[describers]]\nname = 'p'\nkind = 'pipeline'\nmodel = '{folder}'\nprompt = 'who'\n"
    (tmp_path / "d.toml").write_text(table)
    describer = make_describer(load_describers(tmp_path / "d.toml")[0])
    assert len(describer.check()) == 64
    pictures = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue", "white")]
    said = [row[0] for row in describer.describe(pictures)]
    alone = pipeline("image-text-to-text", model=str(folder))
    for picture, answer in zip(pictures, said, strict=True):
        made = alone(images=picture, text="who", max_new_tokens=40, return_full_text=False)
        assert answer.text == made[0]["generated_text"].strip()
        assert answer.probability != answer.probability  # none is given
    describer.close()


@pytest.mark.filterwarnings("ignore")
def test_the_captioner_that_ships_says_again_what_ships():
    audit = Audit.open(ROOT / "cache", "starter")
    spec = next(s for s in load_describers(ROOT / "assets" / "describers" / "starter.toml") if s.kind == "captioner")
    describer = make_describer(spec)
    describer.check()
    pictures = [Image.fromarray(read_pixels(audit.image(row)[0])) for row in range(12)]
    there = audit.texts.table("starter-captioner").query("row < 12").sort_values("row")["answer"].tolist()
    assert [row[0].text for row in describer.describe(pictures)] == there
    describer.close()


def test_the_same_question_twice_is_refused(tmp_path):
    asked = "".join(f"[[describers.questions]]\nname = '{name}'\nask = 'Who?'\n" for name in ("a", "b"))
    (tmp_path / "d.toml").write_text(f"[[describers]]\nname = 'v'\nkind = 'vqa'\nmodel = 'o/n'\n{asked}")
    with pytest.raises(SpecError, match=r"questions\[2\]: ask: 'Who\?' is asked twice"):
        load_describers(tmp_path / "d.toml")
