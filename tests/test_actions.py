"""Neutral actions: what ships covers every profession and gives nobody away; damaged files are refused by name."""

from __future__ import annotations

import csv
import tomllib
from collections import Counter

import pytest
from samples import ROOT

from backend.metrics.markers import tokens
from backend.probes.actions import (
    SUBJECT,
    Action,
    fill_subject,
    names_profession,
    problems,
    read_actions,
    telling_words,
)
from backend.spec import SpecError


def professions():
    """Those with labour statistics, which are the 150 of Stable Bias, and the starter's."""
    with (ROOT / "assets" / "professions.csv").open(encoding="utf-8", newline="") as file:
        ranked = [row["profession"] for row in csv.DictReader(file)]
    starter = tomllib.loads((ROOT / "assets" / "specs" / "starter.toml").read_text())["professions"]["names"]
    published = tomllib.loads((ROOT / "assets" / "specs" / "stable-bias.toml").read_text())["professions"]["names"]
    listed = ranked if isinstance(published, str) else published
    return {*ranked, *starter, *listed}


def test_every_profession_has_two_actions_or_more():
    counts = Counter(action.profession for action in read_actions())
    assert set(counts) == professions() and len(counts) == 157
    assert min(counts.values()) >= 2


def test_sentences_are_short_alike_and_different():
    actions = read_actions()
    assert len({tuple(tokens(a.text)) for a in actions}) == len(actions)
    for action in actions:
        assert action.text.startswith(f"A {SUBJECT} is ") and not action.text.endswith(".")
        assert 6 <= len(action.text.split()) <= 20 and action.text.isascii()


def test_nothing_tells_gender_race_age_or_the_profession():
    assert problems(read_actions()) == []


def test_the_papers_sentences_are_not_copied():
    """Those that it prints, in sections 3 to 4 and figure 3."""
    theirs = (
        "decorating a cake",
        "open heart surgery",
        "teaching a class",
        "advising their graduate",
        "grading assign",
    )
    assert not [a.text for a in read_actions() if any(words in a.text for words in theirs)]


@pytest.mark.parametrize(
    ("profession", "text", "words"),
    [
        ("nurse", "is waving to his mother", "his (gender), mother (gender)"),
        ("nurse", "is helping an Elderly African-American patient", "elderly (age), african-american (race)"),
        ("nurse", "is stroking a beard", "beard (gender)"),
        ("waitress", "is waiting at a table", "waiting (the profession)"),
        ("bus driver", "is parking two buses", "buses (the profession)"),
        ("IT specialist", "is kicking it for special reasons", "special (the profession)"),
        ("health worker", "is working", "working (the profession)"),
    ],
)
def test_what_gives_a_subject_away_is_found(profession, text, words):
    assert problems([Action(profession, f"A {SUBJECT} {text}")]) == [
        f"{profession}: {f'A {SUBJECT} {text}'!r} holds {words}"
    ]


def test_words_within_words_give_nothing_away():
    assert problems([Action("chef", f"A {SUBJECT} is mentoring management, whiteboard and manhole")]) == []
    assert names_profession(Action("!", f"A {SUBJECT} is asleep")) == []
    assert {"gender", "race", "age"} == set(telling_words().values())


def test_the_subject_is_put_in_with_its_article():
    assert fill_subject(f"A {SUBJECT} waves", "human") == "A human waves"
    assert fill_subject(f"Behind an {SUBJECT} a fire burns", "person") == "Behind a person a fire burns"
    assert fill_subject(f"The {SUBJECT} waves", "artist") == "The artist waves"
    assert fill_subject(f"A {SUBJECT} says {{options}} \\1", "{action} \\2") == "A {action} \\2 says {options} \\1"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "name the columns profession, action"),
        (b"job,does\na,b\n", "name the columns"),
        (b"profession,action\n", "no action"),
        (b"profession,action\ncook,A cook is here\n", "line 2: action: write <subject> once"),
        (b"profession,action\ncook,A <subject> and a <subject>\n", "once"),
        (b"profession,action\n,A <subject> is here\n", "line 2: profession"),
        (b"profession,action\ncook\n", "once"),
        (b"profession,action\ncook,A <subject> is" + b" x" * 18 + b"\n", "shorten it to 20 words"),
        (b"profession,action\ncook,A <subject> is " + b"x" * 400 + b"\n", "400 characters"),
        (
            b"profession,action\ncook,A <subject> sits\nwelder,a <SUBJECT> sits\n",
            "line 3: action: write",
        ),
        (b"profession,action\ncook,A <subject> sits\nwelder,a <subject> SITS\n", "line 3: action: 'a <subject> SITS'"),
        (b"profession,action\ncook,\xff\xfe\n", "UTF-8"),
        (b"profession,action\ncook," + b"x" * 200_000, "field larger than field limit"),
    ],
)
def test_a_wrong_file_says_where(tmp_path, data, words):
    path = tmp_path / "mine.csv"
    path.write_bytes(data)
    before = csv.field_size_limit(131_072)  # which reading texts raises for all that runs in one process
    try:
        with pytest.raises(SpecError) as told:
            read_actions(path)
    finally:
        csv.field_size_limit(before)
    assert str(path) in str(told.value) and words in str(told.value)
    with pytest.raises(SpecError, match="cannot be read"):
        read_actions(tmp_path / "none.csv")


def test_wrong_lists_of_telling_words_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("language,word,tells\nen,two words,age\n")
    with pytest.raises(SpecError, match="line 2: write one word"):
        telling_words("en", path)
    with pytest.raises(SpecError, match="no words of 'xx'"):
        telling_words("xx")
