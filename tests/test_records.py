"""Names and numbers from outside, made regular."""

import doctest
import hashlib

import pytest

from backend import records
from backend.importers import columns
from backend.records import SourceError, clean_text, generation_id, profession_name, regular, whole_number


@pytest.mark.parametrize("module", [records, columns])
def test_examples_in_docstrings(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ""),
        (float("nan"), ""),
        (7, "7"),
        ("  a\tb\r\nc  ", "a b c"),
        ("a\u2028b", "a b"),
        ("a\x00\x1b[31mb", "a[31mb"),
        ("caf\udce9", "caf\ufffd"),
        ("\u202egnp.exe", "gnp.exe"),
        ("\u770b\u8b77\u5e2b \U0001f469", "\u770b\u8b77\u5e2b \U0001f469"),
        ("<script>", "<script>"),
    ],
)
def test_clean_text(given, expected):
    assert clean_text(given) == expected
    clean_text(given).encode("utf-8")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Social_Worker", "social worker"),
        ("  GRAPHIC   designer", "graphic designer"),
        ("Space Captain", "Space Captain"),
        (None, ""),
    ],
)
def test_profession_names_are_spelt_as_in_the_labour_table(given, expected):
    assert profession_name(given) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("7.0", 7),
        ("-3", -3),
        ("+4", 4),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", None),
        ("99999999999999999999", None),
        ("7.5", None),
        ("1e3", None),
        ("x", None),
        ("\u00b2", None),
        ("", None),
    ],
)
def test_whole_number(text, expected):
    assert whole_number(text) == expected


def test_a_row_in_the_products_words():
    raw = {"system": " S ", "profession": "Nurse", "adjective": "No_Adjective", "seed": "5.0", "number": "x"}
    values, notes = regular({**raw, "extra_a": 1})
    assert values["system"] == "S"
    assert values["adjective"] == ""
    assert values["seed"] == "5"
    assert values["number"] == ""
    assert values["subset"] == "professions"
    assert values["gender"] == values["ethnicity"] == "unspecified"
    assert values["extra_a"] == "1"
    assert notes == ("number 'x' is no whole number from 0 to 1,000,000,000,000,000; it was left empty",)


@pytest.mark.parametrize(("column", "text"), [("number", "-1"), ("number", str(2**62)), ("seed", str(2**63))])
def test_a_number_that_no_column_holds_is_noted_and_left_empty(column, text):
    values, notes = regular({"system": "S", "profession": "nurse", column: text})
    assert values[column] == ""
    assert text in notes[0]


@pytest.mark.parametrize(
    ("raw", "subset"),
    [
        ({"profession": "nurse", "gender": "woman"}, "professions"),
        ({"gender": "woman"}, "identities"),
        ({"ethnicity": "Black"}, "identities"),
        ({"profession": "nurse", "subset": "neutral"}, "neutral"),
        ({"subset": "identities"}, "identities"),
    ],
)
def test_subset(raw, subset):
    assert regular({"system": "S", **raw})[0]["subset"] == subset


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"profession": "nurse"}, ["system", "--system"]),
        ({"system": "S"}, ["profession", "subset"]),
        ({"system": "S", "subset": "cats"}, ["'cats'", "professions, identities, neutral"]),
        ({"system": "S" * 201, "profession": "nurse"}, ["system", "201", "shorten"]),
        ({"system": "S", "profession": "p" * 300}, ["profession", "300", "shorten"]),
        ({"system": "S", "profession": "p", "prompt": "p" * 10_001}, ["prompt", "10,001", "shorten"]),
    ],
)
def test_a_row_that_is_no_generation_is_refused_with_field_and_remedy(raw, words):
    with pytest.raises(ValueError) as refused:
        regular(raw)
    assert all(word in str(refused.value) for word in words)


def test_an_id_is_content_and_request_but_not_number_or_seed():
    base = regular({"system": "S", "profession": "nurse", "number": "1", "seed": "1"})[0]
    name = generation_id("ab", base)
    assert len(name) == 16
    assert generation_id("ab", {**base, "number": "2", "seed": "9"}) == name
    assert generation_id("ac", base) != name
    assert generation_id("ab", {**base, "profession": "welder"}) != name
    assert generation_id("ab", {**base, "system": "Snurse", "profession": ""}) != name


def test_a_tone_is_an_axis_of_its_own():
    values = regular({"system": "S", "tone": "dark"})[0]
    assert (values["subset"], values["tone"], values["ethnicity"]) == ("identities", "dark", "unspecified")
    assert generation_id("ab", values) != generation_id("ab", {**values, "tone": "unspecified"})
    assert generation_id("ab", values) != generation_id("ab", {**values, "tone": "", "ethnicity": "dark"})


def test_the_ids_of_audits_without_tones_are_those_of_before():
    values = regular({"system": "S", "profession": "nurse"})[0]
    key = "ab professions S nurse    unspecified unspecified".replace(" ", "\x1f")
    assert generation_id("ab", values) == hashlib.sha256(key.encode()).hexdigest()[:16] == "69c5d73fcb49d2ed"
    old = {name: value for name, value in values.items() if name != "tone"}
    assert generation_id("ab", old) == generation_id("ab", values)


def test_columns_are_assigned_once_and_map_goes_first():
    assert columns.assign(["model", "system", "No", "label_gender", "a b", "a-b"], {}, "x") == {
        "model": "extra_model",
        "system": "system",
        "No": "number",
        "label_gender": "label_gender",
        "a b": "extra_a_b",
        "a-b": "extra_a_b_2",
    }
    assert columns.assign(["system", "x"], {"x": "system"}, "f") == {"system": "extra_system", "x": "system"}


@pytest.mark.parametrize("pairs", [["a"], ["=system"], ["a=colour"], ["a=system", "b=system"], ["a=system", "a=seed"]])
def test_a_wrong_map_is_refused(pairs):
    with pytest.raises(SourceError, match="--map"):
        columns.parse_map(pairs)


def test_a_map_of_a_missing_column_and_too_many_columns_are_refused():
    with pytest.raises(SourceError, match=r"x\.csv has no column 'modell'; it has 'model'"):
        columns.assign(["model"], {"modell": "system"}, "x.csv")
    with pytest.raises(SourceError, match="101 columns"):
        columns.assign([str(i) for i in range(101)], {}, "x.csv")
