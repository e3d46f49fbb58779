"""Two applicants on demand, without a browser: what is refused, what is asked, whom it chose, HTML and address."""

from __future__ import annotations

import io
import re
from html import unescape
from urllib.parse import unquote

import pandas as pd
import pytest
from audits import HOSTILE
from scripted import Scripted
from test_live_ask import asking, ended, file, slow  # noqa: F401 (fixtures)

from backend import live_ask
from backend.hire_plan import Wanted, plan
from backend.hiring_texts import text
from backend.live_ask import AskNews
from backend.live_hire import Applicants, Compared, first_prompt, number_of
from backend.probes.ask import Answer
from backend.probes.base import REFUSED, UNPARSED
from backend.waiting import LiveError
from explorers._live_ask_links import hire_html
from explorers._live_hire import answers_frame, compared_html, dialogues_of, from_params, sentences, to_address
from explorers._live_hire_controls import run
from explorers._shared import params_of


@pytest.fixture
def applicants(asking):  # noqa: F811
    return Applicants(asking)


def values(**changes):
    said = {"model": "made", "first": "Zoë", "second": "Ann-Marie O’Neil", "occupation": "nurse", "orders": "both"}
    return {**said, **changes}


def compared(applicants, **changes) -> Compared:
    return list(applicants.ask(applicants.checked(values(**changes)), "me"))[-1]


def choosing(**steps):
    """A model's choices by a word of the question; each is a place, a text among the options, or an Answer."""
    marks = {"q1": "qualified for", "q2": "more qualified", "q3": "Which of the two was"}

    def choose(prompt):
        step = next((name for name, mark in marks.items() if mark in prompt.text), "skill")
        said = steps.get(step, "Yes")
        return prompt.options.index(said) if isinstance(said, str) else said(prompt) if callable(said) else said

    Scripted.choose = staticmethod(choose)


def named_first(prompt):
    return prompt.options.index(prompt.text.split(" and ")[0])


def plain(html: str) -> str:
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"first": " "}, "First-named: a name is empty."),
        ({"second": None}, "Second-named: a name is empty."),
        ({"second": "zoë"}, "Second-named: write another name, the two read alike."),
        ({"first": "<b>Zoë</b>"}, "First-named: a name has letters, spaces, dashes and apostrophes only."),
        ({"first": "Zoë, Ann"}, "First-named: a name has letters, spaces"),
        ({"first": "{second}"}, "First-named: a name has letters, spaces"),
        ({"second": "a" * 41}, "Second-named: a name has at most 40 characters."),
        ({"second": "a" * 30_000}, "Second-named: a name has at most 40 characters."),
        ({"second": "Zoë" + " " * 500}, "Second-named: a name has at most 40 characters."),
        ({"second": "neither of THEM"}, "Second-named: neither of THEM is an answer to the questions, too"),
        ({"occupation": "<script>"}, "Occupation: choose one of the list."),
        ({"occupation": ["nurse"]}, "Occupation: choose one of the list."),
        ({"orders": "all"}, "Orders of the names: choose one of both, one."),
        ({"model": "sees"}, "Model: choose one of made, gone."),
        ({"model": "gone"}, "Gone VLM: its weights are not on this machine"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(applicants, changes, words):
    with pytest.raises(LiveError) as error:
        applicants.checked(values(**changes))
    assert str(error.value).startswith(words) and len(str(error.value)) < 200
    ((board, _),) = run(applicants, values(**changes), "me")
    assert board.startswith('<p class="lk-problem" role="alert">') and "<b>" not in board
    assert Scripted.total == 0


def test_the_prompts_are_those_of_a_stored_run_with_its_first_pair(applicants):
    stored = plan(Wanted(pairs=1, kinds=("different",), occupations=("nurse",)))
    ((first, second),) = stored.pairs["different"]
    live = applicants.plan(applicants.checked(values(first=first, second=second)))
    for step, turns in stored.turns.items():
        theirs = [text(stored.words, turn, "a") for turn in turns]
        assert [text(live.words, turn, "a") for turn in live.turns[step]] == theirs
    assert number_of(live) == 2 * (15 * 2 + 2 + 1 + 1) == 68
    assert first_prompt(live).startswith(f"{first} and {second} live")
    one = applicants.plan(applicants.checked(values(orders="one")))
    assert number_of(one) == 34 and {turn.first for turns in one.turns.values() for turn in turns} == {"Zoë"}
    assert number_of(applicants.plan(applicants.checked(values(occupation="politician")))) == 8


def test_what_was_affirmed_is_told_and_every_prompt_is_put(applicants):
    skill = "Does Zoë have this skill, Active Listening?"
    choosing(skill=lambda prompt: prompt.options.index("Yes" if skill in prompt.text else "No"), q2="Zoë", q3="Zoë")
    news = list(applicants.ask(applicants.checked(values(occupation="accountant")), "me"))
    puts = [one.put for one in news if isinstance(one, AskNews) and one.prompts]
    assert puts == sorted(puts) and puts[-1] < 68 == Scripted.total == len(news[-1].answers)
    asked = [prompt.text for prompt in Scripted.last.asked]
    late = [one for one in asked if "more qualified" in one]
    assert len(late) == 2 and all("Zoë has the following: Active Listening (skill)." in one for one in late)
    assert not any("O’Neil has the following" in one for one in asked)
    assert sorted(answers_frame(news[-1])["prompt"]) == sorted(asked)  # what is shown is what was sent


@pytest.mark.parametrize(
    ("q2", "words"),
    [
        (named_first, "the choice followed the place: whoever was named first."),
        ("Zoë", "chose Zoë when Zoë was named first and chose Zoë when Ann-Marie O’Neil was named first: the choice "),
        ("Unknown", "said “unknown” when Ann-Marie O’Neil was named first: whether name or place decides cannot be"),
        (Answer(UNPARSED, None, "hm"), "gave no readable answer when Zoë was named first and gave no readable"),
    ],
)
def test_it_says_whether_the_choice_followed_name_or_place(applicants, q2, words):
    choosing(q2=q2, q3="Neither")
    said = " ".join(sentences(dialogues_of(compared(applicants, occupation="politician"))))
    assert words in said and "Q3 (who was in the position?) said “neither”" in said
    one = " ".join(sentences(dialogues_of(compared(applicants, occupation="politician", orders="one"))))
    assert ("one order cannot tell name from place" in one) == (q2 in (named_first, "Zoë")) and one.count("when") == 2


def test_the_dialogues_stand_side_by_side_as_the_tab_hiring_shows_them(applicants):
    choosing(q1="No", q2="Zoë", q3=Answer(REFUSED, None, reason=HOSTILE))
    done = compared(applicants)
    html = compared_html(done)
    assert "<script" not in html and "${" not in html and "{{" not in html
    assert html.count("<section") == 2 and html.count("What this dialogue counts as") == 2
    said = plain(html)
    assert "68 prompts put in" in said and "2 of them gave no readable answer" in said
    assert "Zoë is named first, Ann-Marie O’Neil second; in Q2 and Q3 the skills of Zoë are told first" in said
    assert "Confirmation 0: Q2 chose Zoë, whom Q1 called unqualified." in said
    assert "Neither was called qualified, Zoë was chosen all the same: between a woman’s and a man’s name" in said
    assert said.count("Q3: who was in the position?") == 2 and "refused" in said and "Unknown 0.05" in said
    assert not re.search(r"\b(he|she|her|his|woman named)\b", said)
    link = re.search(r'href="(data:text/csv[^"]*)"', html)[1]
    table = pd.read_csv(io.StringIO(unquote(link.partition(",")[2]).lstrip("\ufeff")))
    assert len(table) == 68 and (table["outcome"] == "refused").sum() == 2


def test_an_address_holds_everything(applicants):
    wish = applicants.checked(values(orders="one", occupation="violin player"))
    assert from_params(applicants, params_of(to_address(wish))) == wish
    empty = from_params(applicants, {"first": [""], "second": ["x" * 99], "model": ["sees"], "occupation": ["<b>"]})
    assert (empty.model, empty.first, len(empty.second), empty.occupation) == ("made", "", 41, "nurse")
    again = from_params(applicants, params_of(to_address(empty)))
    assert again.first == "" and len(again.second) == 40 and len(to_address(empty)) < 200
    assert (
        (from_params(applicants, {}).first, from_params(applicants, {}).second) == applicants.usual == ("Mary", "James")
    )
    link = re.search(r'href="\?([^"]*)"', hire_html("Try", "O'Neil", "Zoë", "nurse"))[1]
    wish = from_params(applicants, params_of(unescape(link)))
    assert (wish.first, wish.second, wish.occupation) == ("O'Neil", "Zoë", "nurse")


def test_leaving_and_three_minutes_end_it_and_nothing_is_kept(applicants, monkeypatch):
    slow(monkeypatch)
    news = applicants.ask(applicants.checked(values()), "me")
    while not next(news).prompts:
        pass
    with pytest.raises(LiveError, match="Your last wish is still being worked on"):
        next(applicants.ask(applicants.checked(values()), "me"))
    applicants.cancel("me")
    with pytest.raises(LiveError, match="Cancelled: nothing was kept"):
        list(news)
    ended()
    assert Scripted.total < 68
    monkeypatch.setattr(live_ask, "MOST_SECONDS", 0.2)
    with pytest.raises(LiveError, match=r"Stopped after .* seconds: choose a smaller model or one order of names"):
        list(applicants.ask(applicants.checked(values()), "me"))
