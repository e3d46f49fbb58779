"""Planted against realised: rows and tables by hand, from answers made up here."""

from __future__ import annotations

import pytest

from backend.starter.evaluate import share_row
from backend.starter.realised import obeyed_rows, planted, realised_rows
from backend.starter.report import fill, obeyed_table, recovery_table
from backend.starter.words import SYSTEMS


def test_realised_shares_by_hand():
    answers = {
        "gender": ["woman"] * 3 + ["man"] * 7,
        "tone": ["light"] * 5 + ["dark"] * 4 + ["no tone"],
        "profession": ["farmer"] * 9 + ["cook"],
    }
    rows = {row["value"]: row for row in realised_rows("balanced", "farmer", answers)}
    assert list(rows) == ["woman", "man", "light", "medium-light", "medium", "medium-dark", "dark", "farmer"]
    shares = [rows[value]["share"] for value in ("woman", "light", "dark", "farmer")]
    assert shares == ["0.3000", "0.5000", "0.4000", "0.9000"]
    plans = [rows[value]["planted"] for value in ("woman", "light", "farmer")]
    assert plans == ["0.5000", "0.2000", "1.0000"]
    assert (rows["woman"]["low"], rows["woman"]["high"]) == ("0.1078", "0.6032")  # Wilson, 3 of 10


def test_the_plan_of_an_attribute_sums_to_one():
    for system in SYSTEMS:
        for shares in planted(system, "teacher").values():
            assert sum(shares.values()) == pytest.approx(1)


def test_obeyed_counts_only_prompts_that_name_the_word():
    prompted = {"gender": ["woman", "woman", "man", "person"], "tone": ["dark", "unspecified", "light", "dark"]}
    answers = {"gender": ["woman", "man", "man", "man"], "tone": ["dark", "light", "medium", "light"]}
    rows = {row["value"]: (row["count"], row["n"]) for row in obeyed_rows("mirror", prompted, answers)}
    assert [rows[value] for value in ("woman", "man", "light", "dark", "medium")] == [
        (1, 2),
        (1, 1),
        (0, 1),
        (1, 2),
        (0, 0),
    ]


def test_the_tables_say_what_the_rows_say():
    rows = [
        {**share_row(3, 10, system=system, subject="farmer", attribute="gender", value="woman"), "planted": "0.5000"}
        for system in SYSTEMS
    ]
    table = recovery_table(rows)
    assert "| mirror | % women | 50.0 | 30.0 | 20.0 | 1 of 1 | 10 |" in table
    rows = [
        {**share_row(9, 10, system=system, subject="identity prompts", attribute="tone", value="dark"), "planted": "1"}
        for system in SYSTEMS
    ]
    assert obeyed_table(rows).splitlines()[-1].startswith("| dark | 90 % (60 to 98, n = 10) |")


def test_a_table_is_renewed_between_its_marks():
    mark = "<!-- x: written by python -m backend.starter evaluate -->"
    assert fill(f"a\n{mark}\nold\n{mark}\nb", "x", "new") == f"a\n{mark}\n\nnew\n\n{mark}\nb"
