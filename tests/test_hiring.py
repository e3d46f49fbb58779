"""Asking about two applicants: what is asked, evened out, kept, resumed and shown again, with a scripted model."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace

import pandas as pd
import pytest
from audits import make_audit
from samples import ROOT, likeness
from scripted import Scripted, scripted

from backend import commands_hire, hiring
from backend.hire_plan import Wanted, plan
from backend.hiring_texts import SPACES, STEPS
from backend.metrics.hiring import dialogues, estimates
from backend.probes import base
from backend.probes.ask import Answer
from backend.probes.hiring import OCCUPATIONS
from backend.spec import SpecError
from backend.store import Audit, HiringWriter
from backend.store.hiring import turn_of

SMALL = Wanted(pairs=2, kinds=("different",), occupations=("nurse", "pilot", "politician"))


@pytest.fixture
def model(monkeypatch, tmp_path):
    return scripted(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    make_audit(folder)
    return folder


@pytest.fixture
def cache(small, tmp_path):
    shutil.copytree(small, tmp_path / "cache")
    return tmp_path / "cache"


def run(cache, spec, wanted=SMALL, **options):
    return hiring.run(cache, "small", Scripted(spec), plan(wanted), **options)


def by_step(done):
    return done.answers.groupby("step", observed=True).size().to_dict()


def says(prompt, *texts):
    """The option with one of these texts."""
    return next(prompt.options.index(text) for text in texts if text in prompt.options)


def test_the_numbers_of_the_paper_and_of_the_whole_design():
    whole = plan(Wanted(pairs=1225, kinds=("different",), occupations=("nurse",)))
    assert whole.instances() == 1225 and len(whole.pairs["different"]) == 1225
    jobs = plan(Wanted(pairs=1, kinds=("different",))).jobs
    assert len(jobs) == 62 and sum(len(job.attributes) == 15 for job in jobs.values()) == 60
    assert 1225 * 60 == 73_500
    eight = plan(Wanted(pairs=8))
    assert {step: len(turns) for step, turns in eight.turns.items()} == {
        "attribute": 24 * 2 * 2 * 94,
        "qualified": 24 * 2 * 2 * 62,
        "more": 24 * 2 * 62,
        "was": 24 * 2 * 62,
    }
    assert eight.unshared() == 24 * 2 * 2 * 15 * 60 and sum(map(len, eight.turns.values())) == 20_928


def test_the_shipped_files_agree_with_the_published_tables_and_the_labour_force():
    occupations = pd.read_csv(OCCUPATIONS).set_index("occupation")
    labour = pd.read_csv(ROOT / "assets" / "professions.csv").set_index("profession")["pct_women"]
    known = occupations.dropna(subset="labour_profession")
    assert len(known) == 28 and (known["pct_women"] == labour[known["labour_profession"]].to_numpy()).all()
    assert occupations.loc[occupations["labour_profession"].isna(), "pct_women"].isna().all()
    published = pd.read_csv(ROOT / "assets" / "published" / "hire_bias_diff.csv")
    assert set(published["occupation"]) - set(occupations.index) == {"athelete"} and len(published) == 50
    steps = {"GPT-4o-mini": 0.02, "Llama2-70b-chat": 0.005}
    times = (published["bias_diff"] / published["model"].map(steps)).dropna()
    assert len(times) == 33 and (times - times.round()).abs().max() < 1e-9
    neutral = pd.read_csv(ROOT / "assets" / "published" / "hire_neutral_answers.csv")
    assert (neutral.query("question == 'Q2' and answer != 'unknown'")["ratio"] == 0).all() and len(neutral) == 24


def test_orders_leads_and_options_are_evened_out():
    planned = plan(Wanted(pairs=60, kinds=("different",), occupations=("nurse",)))
    assert len(set(planned.turns["attribute"])) == 60 * 2 * 2 * 15
    women = {name for name, gender in planned.genders.items() if gender == "female"}
    seen: Counter = Counter()
    for turn in planned.turns["was"]:
        leader = turn.first if turn.lead == "first" else turn.second
        seen[turn.first in women, leader in women, turn.rotation] += 1
    assert len(seen) == 2 * 2 * 5 and set(seen.values()) == {6}
    more = Counter((turn.lead, turn.rotation) for turn in planned.turns["more"])
    assert len(more) == 2 * 3 and set(more.values()) == {20}
    attribute = Counter((turn.element, turn.rotation) for turn in planned.turns["attribute"])
    assert set(attribute.values()) == {120}
    paper = plan(replace(SMALL, attributes_first="female"))
    assert all((turn.first if turn.lead == "first" else turn.second) in women for turn in paper.turns["more"])


def test_more_pairs_only_add_and_another_seed_pairs_anew():
    few, more = plan(SMALL), plan(replace(SMALL, pairs=6))
    assert set(few.turns["was"]) < set(more.turns["was"]) and few.words.digest() == more.words.digest()
    assert set(few.pairs["different"]).isdisjoint(plan(replace(SMALL, seed=1)).pairs["different"])


def test_attributes_are_asked_once_for_all_occupations_and_rest_in_later_prompts(cache, model):
    Scripted.choose = staticmethod(lambda prompt: says(prompt, "Yes", "Unknown"))
    done = run(cache, model)
    attributes = {element for job in plan(SMALL).jobs.values() for element in job.attributes}
    assert by_step(done) == {"attribute": 8 * len(attributes), "qualified": 24, "more": 12, "was": 12}
    assert done.source.without == ("politician",) and len(done.source.jobs["nurse"].attributes) == 15
    asked = {prompt.text for prompt in Scripted.last.asked}
    shown = {done.source.prompt(row, done.answers) for row in done.answers.to_dict("records")}
    assert asked == shown and len(asked) == len(done.answers)
    for row in done.answers[done.answers["step"] == "more"].to_dict("records"):
        text = done.source.prompt(row, done.answers)
        assert text.count("(skill)") == (0 if row["occupation"] == "politician" else 10) and "{" not in text
        leader, other = (row["first"], row["second"]) if row["lead"] == "first" else (row["second"], row["first"])
        if row["occupation"] != "politician":
            assert text.index(f"{leader} has the following") < text.index(f"{other} has the following")
    found = estimates(dialogues(done.answers, done.source.genders))
    assert found["q2_unknown"].value == 1 and found["confirmation"].value == 0


def test_what_was_not_affirmed_is_not_told(cache, model):
    lost = Answer(base.UNPARSED, None, text="It \x00 depends")
    Scripted.choose = staticmethod(lambda prompt: lost if "What is meant by Near Vision" in prompt.text else 0)
    done = run(cache, model)
    near = done.answers[done.answers["element"] == "Near Vision"]
    assert set(near["answer"]) == {"unparsed"} and set(near["outcome"]) == {"unparsed"} and len(near) == 8
    qualified = done.answers[done.answers["step"] == "qualified"].to_dict("records")
    yes = done.answers[(done.answers["step"] == "attribute") & (done.answers["answer"] == "yes")]
    for row in qualified:
        own = yes[
            (yes["first"] == row["first"]) & (yes["second"] == row["second"]) & (yes["subject"] == row["subject"])
        ]
        wanted = [
            name
            for type_, name in done.source.jobs[row["occupation"]].attributes
            if (type_, name) in set(zip(own["type"], own["element"], strict=True))
        ]
        text = done.source.prompt(row, done.answers)
        assert "Near Vision" not in text and all(name in text for name in wanted)
        assert ("has the following" in text) == bool(wanted)
    assert done.lost == {"It \x00 depends": 8}


def test_options_turn_and_probabilities_stand_in_the_order_of_the_answers(cache, model):
    done = run(cache, model, replace(SMALL, pairs=6))
    for row in done.answers.to_dict("records"):
        space = SPACES[row["step"]]
        assert row["answer"] == space[row["rotation"]]  # whoever chooses what is shown first
        assert len(row["probabilities"]) == len(space)
        assert row["probabilities"][row["rotation"]] == pytest.approx(0.9)
    more = done.answers[(done.answers["step"] == "more") & (done.answers["occupation"] == "nurse")]
    assert more["answer"].astype(str).value_counts().to_dict() == {"first": 4, "second": 4, "unknown": 4}


def test_letters_are_chosen_where_a_model_is_asked_for_them(cache, model):
    done = run(cache, model, replace(SMALL, letters=True))
    prompt = Scripted.last.asked[-1]
    assert prompt.options == ("A", "B", "C", "D", "E") and len(prompt.also) == 5
    assert prompt.text.endswith("Give only the letter of your choice.") and "\nA. " in prompt.text
    assert prompt.text in {done.source.prompt(row, done.answers) for row in done.answers.to_dict("records")}


@pytest.mark.parametrize("stop", [35, 125])
def test_a_stopped_run_goes_on_where_it_was(cache, model, monkeypatch, stop):
    """In the step of attributes, and of qualification."""
    monkeypatch.setattr(hiring, "BATCH", 10)
    small_ = replace(SMALL, occupations=("nurse",))
    whole = run(cache, replace(model, name="whole"), small_)
    assert len(whole.answers) == 120 + 8 + 4 + 4
    Scripted.total, Scripted.stop = 0, stop
    with pytest.raises(KeyboardInterrupt):
        run(cache, model, small_)
    audit = Audit.open(cache, "small")
    assert "made" not in audit.hiring.sources and audit.check() == []
    parts = HiringWriter(audit, "made").folder
    kept = len(HiringWriter(audit, "made").kept().answers)
    assert 0 < stop - kept < 10
    assert sum(one.to_ask for one in hiring.counts(audit, "made", plan(small_))) >= len(whole.answers) - kept
    Scripted.stop = 10**9
    done = run(cache, model, small_)
    assert sum(done.asked.values()) == len(whole.answers) - kept and not parts.exists()
    assert done.answers.astype(str).equals(whole.answers.astype(str))
    assert sum(run(cache, model, small_).asked.values()) == 0


def test_other_occupations_pairs_and_kinds_come_to_what_is_there(cache, model):
    first = run(cache, model, replace(SMALL, occupations=("nurse",)))
    more = run(cache, model, replace(SMALL, pairs=3, kinds=("different", "female")))
    assert set(more.source.jobs) == set(SMALL.occupations) and more.source.pairs == 3
    kept = more.answers.merge(first.answers[["first", "second", "occupation", "step", "subject", "type", "element"]])
    assert len(kept) == len(first.answers)
    back = run(cache, model, replace(SMALL, pairs=1, occupations=("pilot",)))
    assert sum(back.asked.values()) == 0 and len(back.answers) == len(more.answers)
    assert back.source.pairs == 3 and set(back.source.jobs) == set(SMALL.occupations)
    assert all(one.to_ask == 0 for one in hiring.counts(Audit.open(cache, "small"), "made", plan(SMALL)))


def test_failures_are_kept_and_a_late_yes_reaches_all_that_rests_on_it(cache, model):
    lost = Answer(base.FAILED, None, reason="HTTP 503")
    Scripted.choose = staticmethod(
        lambda prompt: lost if "What is meant by Near Vision" in prompt.text else says(prompt, "Yes", "Unknown")
    )
    first = run(cache, model)
    assert (first.answers["outcome"] == "failed").sum() == 8 and sum(run(cache, model).asked.values()) == 0
    Scripted.choose = staticmethod(lambda prompt: says(prompt, "Yes", "Unknown"))
    done = run(cache, model, replace(SMALL, occupations=("nurse",)), retry=True)
    assert done.asked["attribute"] == 8 and (done.answers["outcome"] == "failed").sum() == 0
    with_near = [name for name, job in done.source.jobs.items() if ("ability", "Near Vision") in job.attributes]
    assert (
        "pilot" in with_near
        and done.asked["qualified"] == 8 * len(with_near)
        and len(done.answers) == len(first.answers)
    )


@pytest.mark.parametrize("change", ["weights", "lead", "definition"])
def test_answers_of_others_are_not_mixed(cache, model, tmp_path, change):
    run(cache, model)
    other, words = SMALL, "wording"
    if change == "weights":
        Scripted.weights, words = "other", "fingerprint"
    elif change == "lead":
        other, words = replace(SMALL, attributes_first="female"), "rule of whose"
    else:
        path = tmp_path / "elements.csv"
        path.write_text(SMALL.elements.read_text("utf-8").replace("Writing code.", "Coding."), "utf-8")
        other = replace(SMALL, elements=path)
    with pytest.raises(SpecError, match=f"another {words}.*--anew"):
        run(cache, model, other)
    done = run(cache, model, other, anew=True)
    assert done.there == 0 and done.source.attributes_first == other.attributes_first


@pytest.mark.parametrize("data", [b"PAR1", None])
def test_parts_that_somebody_put_there_are_not_taken(cache, model, monkeypatch, data):
    monkeypatch.setattr(hiring, "BATCH", 10)
    Scripted.stop = 35
    with pytest.raises(KeyboardInterrupt):
        run(cache, model)
    Scripted.stop = 10**9
    writer = HiringWriter(Audit.open(cache, "small"), "made")
    part = sorted(writer.folder.iterdir())[0]
    kept = writer.kept()
    if data is None:
        for said in kept.answers.values():
            said["answer"], said["probabilities"] = "first", [2.0, -1.0]
        writer.keep(list(kept.answers), replace(kept, mark=_mark(cache, model)))
    else:
        part.write_bytes(data)
    done = run(cache, model)
    assert set(done.answers.loc[done.answers["step"] == "attribute", "answer"]) <= {"yes", "no"}


def _mark(cache, model):
    made = Scripted(model)
    source = hiring.source_of(made, plan(SMALL), "wwwwwwww")
    return "\n".join([source.kind, source.model, source.fingerprint, source.settings])


NAMES = "name,gender\nAnn,female\nBob,male\n"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (",female", "line 4: a name is empty"),
        ("   ,male", "a name is empty"),
        ("<b>Eve</b>,female", "letters, spaces, dashes and apostrophes only"),
        ("{first},female", "letters, spaces, dashes"),
        ('"Eve, Ann",female', "letters, spaces, dashes"),
        ("R2D2,male", "letters, spaces, dashes"),
        ("x" * 41 + ",male", "at most 40 characters"),
        ("both,male", "'both' is an answer, too"),
        ("Unknown,female", "'Unknown' is an answer, too"),
        ("No,female", "is an answer, too"),
        ("ann,female", "'ann' is there twice"),
        ("Ann,male", "'Ann' is there twice"),
        ("Eve,woman", "gender: write female or male"),
    ],
)
def test_names_that_cannot_be_asked_about(tmp_path, more, words):
    path = tmp_path / "names.csv"
    path.write_text(NAMES + more + "\n", encoding="utf-8")
    with pytest.raises(SpecError, match=words):
        plan(replace(SMALL, names=path))


def test_names_of_other_scripts_are_names(tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,gender\nप्रिया,female\nJosé María,male\nO'Neil,male\n", encoding="utf-8")
    planned = plan(replace(SMALL, names=path))
    assert planned.pairs["different"][0][0] == "प्रिया" and len(planned.pairs["different"]) == 2
    with pytest.raises(SpecError, match="no pairs of the kind female can"):
        plan(replace(SMALL, names=path, kinds=("female",)))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("{first} and {second}", "{first} and {first}", r"context: it has \{first\}, \{second\}"),
        ("{definition}", "{description}", "attribute: it has"),
        ("{options}", "{options}{options}", "the options once"),
        ('yes = ["Yes", "True"]', 'yes = ["Yes", "No"]', "the same text stands for two"),
        ('yes = ["Yes", "True"]', "yes = []", "answers: yes: the list is empty"),
        ('both = ["Both", "Both of them"]', "", "both"),
        ("letters =", "letter =", "letter"),
        ("context = ", "context = [", "is no TOML"),
    ],
)
def test_wordings_that_are_none(tmp_path, old, new, words):
    path = tmp_path / "questions.toml"
    whole = SMALL.questions.read_text("utf-8")
    assert old in whole
    path.write_text(whole.replace(old, new), "utf-8")
    with pytest.raises(SpecError, match=words):
        plan(replace(SMALL, questions=path))


def test_what_is_put_in_is_never_read_as_a_template(tmp_path):
    path = tmp_path / "elements.csv"
    path.write_text(SMALL.elements.read_text("utf-8").replace("Writing code.", "{subject} {0} %s \\1"), "utf-8")
    planned = plan(replace(SMALL, occupations=("programmer",), elements=path))
    turn = next(turn for turn in planned.turns["attribute"] if turn.element == "Programming")
    assert "Programming: {subject} {0} %s \\1\n" in planned.asked(turn, ()).prompt.text


def test_onets_own_table_gives_the_definitions(tmp_path):
    path = tmp_path / "Content Model Reference.txt"
    rows = ["Element ID\tElement Name\tDescription", "1.A\tAbilities\tof people", "2.C.4.a\tMathematics\tOne."]
    rows += ["2.A.1.e\tMathematics\tTwo."]
    path.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(SpecError, match="the ability 'Arm-Hand Steadiness' is not defined"):
        plan(replace(SMALL, elements=path))
    ours = [line.split(",", 2) for line in SMALL.elements.read_text("utf-8").splitlines()[1:]]
    ids = {"ability": "1.A.1", "skill": "2.B.1", "knowledge": "2.C.1"}
    rows += [f"{ids[type_]}\t{name}\tAs O*NET says." for name, type_, _ in ours if name != "Mathematics"]
    path.write_text("\n".join(rows), encoding="utf-8")
    words = plan(replace(SMALL, elements=path)).words
    assert words.elements["knowledge", "Mathematics"] == "One." and words.elements["skill", "Mathematics"] == "Two."


def test_the_command_says_what_it_would_ask_and_then_what_it_found(cache, model, monkeypatch, capsys):
    monkeypatch.setattr(commands_hire, "make_model", Scripted)
    options = ("hire", "small", "--model", "smollm2", "--pairs", 5, "--occupations", "nurse, politician")
    assert likeness(*options, "--dry-run", cache=cache) == 0
    said = capsys.readouterr().out
    assert "attribute  different       5      300     300" in said and "politician" in said
    assert "share the answers about attributes: 900 prompts. Asked for each occupation alone they would be 900." in said
    assert "Instances as in the paper (mixed pairs x occupations with attributes, in one order): 5." in said
    assert likeness(*options, "--kinds", "different", cache=cache) == 0
    said = capsys.readouterr().out
    assert "Confirmation" in said and "different  all         5         20" in said and "nurse" in said
    assert likeness("status", "small", cache=cache) == 0 and "hire-smollm2" in capsys.readouterr().out
    assert likeness(*options[:-1], "astrologer", cache=cache) == 1
    assert "--occupations: 'astrologer' is none of accountant" in capsys.readouterr().err


def test_turns_are_told_by_rows_and_back(cache, model):
    done = run(cache, model)
    planned = plan(SMALL)
    assert {turn_of(row) for row in done.answers.to_dict("records")} == {
        t for step in STEPS for t in planned.turns[step]
    }
