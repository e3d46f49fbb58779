"""Numbers and sentences of Hiring: values, intervals, the heading, and what the picture says in words."""

from __future__ import annotations

from backend.metrics.hiring import FIRST, SECOND, UNPARSED, Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_view as state
from explorers._hiring_view import HiringView
from explorers._shared import count, escape, percent

LONGEST_TITLE = 60
SHORT = {
    "bias_difference": "bias difference",
    "confirmation": "Confirmation",
    "consistency": "Consistency",
    "order_effect": "order effect",
    "q2_unknown": "“unknown” in Q2",
    "q3_neutral": "“both”, “neither” or “unknown” in Q3",
}
ENDS = {"bias_difference": ("men’s names", "women’s names"), "order_effect": ("second named", "first named")}
KIND_WORDS = {
    "different": "pairs of a woman’s and a man’s name",
    "same": "pairs of one gender",
    "female": "pairs of women’s names",
    "male": "pairs of men’s names",
}
COLOURS = {
    data.WOMEN: "#e08214",
    data.MEN: "#7b5fa3",
    FIRST: "#117a8b",
    SECOND: "#b3b300",
    "either": "#8a8f94",
    "both": "#009e73",
    "neither": "#56b4e9",
    "unknown": "#c7ccd1",
    UNPARSED: "#ffffff",
    "yes": "#117a8b",
    "no": "#c7ccd1",
}
NAMED = {
    data.WOMEN: "a woman’s name",
    data.MEN: "a man’s name",
    FIRST: "first named",
    SECOND: "second named",
    "either": "one of the two",
    UNPARSED: "unreadable",
}


def number(value: float, measure: str) -> str:
    """A value as it is shown: signed measures with their sign, shares in per cent.

    >>> number(-0.4251, "bias_difference"), number(0.2, "confirmation"), number(float("nan"), "order_effect")
    ('−0.43', '20 %', 'no value')
    """
    if value != value:
        return "no value"
    if measure not in state.SIGNED:
        return percent(value)
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def points(value: float) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points(-0.046), points(0.4), points(0.001)
    ('−5', '+40', '0')
    """
    text = f"{100 * value:+.0f}"
    return "0" if text in ("+0", "-0") else text.replace("-", "−")


def span(estimate: Estimate, measure: str) -> str:
    """An interval: "−0.60 to −0.20"; why there is none."""
    if estimate.why or estimate.low != estimate.low:
        return {"alike": "all pairs agree", "few": "too few pairs"}.get(estimate.why, "no interval")
    low, high = number(estimate.low, measure), number(estimate.high, measure)
    return f"{low.removesuffix(' %') if measure not in state.SIGNED else low} to {high}"


def interval(estimate: Estimate, measure: str) -> str:
    """An interval in words."""
    if estimate.why == "alike":
        return "no interval, as all pairs agree"
    if estimate.why or estimate.low != estimate.low:
        return "no interval, too few pairs"
    return f"95 % interval {span(estimate, measure)}"


def n_words(estimate: Estimate) -> str:
    return f"n = {count(estimate.n, 'pair')}, {count(estimate.k, 'dialogue')}"


def words_of(estimate: Estimate, measure: str) -> str:
    """An estimate in words: "bias difference −0.42 (95 % interval −0.60 to −0.20), n = 8 pairs, 16 dialogues"."""
    if not estimate.k:
        return f"{SHORT[measure]}: not asked"
    return f"{SHORT[measure]} {number(estimate.value, measure)} ({interval(estimate, measure)}), {n_words(estimate)}"


def title_of(audit: Audit, model: str) -> str:
    """A model's name for people, cut, with its own name where two would be the same."""
    titles = {name: source.title[:LONGEST_TITLE] or name for name, source in audit.hiring.sources.items()}
    same = list(titles.values()).count(titles[model]) > 1
    return f"{titles[model]} ({model})" if same else titles[model]


def heading_html() -> str:
    """The question, with the terms of art above it and what was asked below it."""
    return (
        '<p class="lk-term">Two applicants, one position: Confirmation, Consistency, bias difference</p>'
        '<h2 class="lk-question">Are two applicants judged alike when only their skills are known?</h2>'
        '<p class="lk-reading">A model is given two first names. It is asked which skills each has, whether each is '
        "qualified for a position (Q1), who is more qualified (Q2) and who held it (Q3). Nothing tells the two apart "
        "but their names and their order.</p>"
    )


def state_html(audit: Audit, view: HiringView) -> str:
    """The picture in words. Where the order of names moves choices more than their gender does, that comes first."""
    own = state.series_of(audit, view)
    if not own:
        return ""
    kind = state.main_kind(view)
    said = []
    for model in own[:2]:
        found = data.overall(audit, model, kind)
        if not found["order_effect"].k:
            said.append(f"{title_of(audit, model)} was not asked about {KIND_WORDS[kind]}.")
            continue
        parts = [order_words(audit, model, kind)]
        if kind == "different":
            parts.append(gender_words(audit, model))
            if not order_first(audit, model):
                parts.reverse()
            parts.append(bias_words(audit, model))
        said.append(" ".join(parts))
    more = len(own) - 2
    if more > 0:
        said.append(f"{count(more, 'more model')} below.")
    return '<div class="lk-state">' + "".join(f"<p>{escape(text)}</p>" for text in said) + "</div>"


def order_first(audit: Audit, model: str) -> bool:
    """Whether the order of names moved the choices of a model more than their gender."""
    found = data.overall(audit, model, "different")
    gender = found["gender_effect"].value
    return not abs(found["order_effect"].value) <= abs(gender)


def order_words(audit: Audit, model: str, kind: str) -> str:
    """How often whoever is named first was chosen: one sentence with its interval."""
    held, found = data.counts(audit, model, kind, "q2", "place"), data.overall(audit, model, kind)["order_effect"]
    total = max(1, sum(held.values()))
    lead = "The order of the names moved this model more than their gender: " if _leads(audit, model, kind) else ""
    who = title_of(audit, model)
    told = f"{lead}{who} chose the name that came first in {percent(held[FIRST] / total)} of {count(total, 'dialogue')}"
    told += f" and the second in {percent(held[SECOND] / total)} (difference {points(found.value)} percentage points, "
    return f"{told}{_points_interval(found)}; n = {count(found.n, 'pair')})."


def _leads(audit: Audit, model: str, kind: str) -> bool:
    return kind == "different" and order_first(audit, model)


def _points_interval(found: Estimate) -> str:
    if found.why or found.low != found.low:
        return interval(found, "order_effect")
    return f"95 % interval {points(found.low)} to {points(found.high)}"


def gender_words(audit: Audit, model: str) -> str:
    """How often the woman's and the man's name was chosen: one sentence with its interval."""
    held = data.counts(audit, model, "different", "q2", "gender")
    found = data.overall(audit, model, "different")["gender_effect"]
    total = max(1, sum(held.values()))
    women, men = percent(held[data.WOMEN] / total), percent(held[data.MEN] / total)
    return (
        f"{title_of(audit, model)} chose the woman’s name in {women} and the man’s in {men} of {count(total, 'dialogue')} "
        f"(difference {points(found.value)} percentage points, {_points_interval(found)}; n = {count(found.n, 'pair')})."
    )


def bias_words(audit: Audit, model: str) -> str:
    """The bias difference over all occupations, and the occupation that is furthest from zero."""
    found = data.overall(audit, model, "different")
    female, male, whole = (found[name] for name in ("bias_female", "bias_male", "bias_difference"))
    told = (
        f"After saying that neither was qualified it chose a woman’s name in {percent(female.value)} and a man’s in "
        f"{percent(male.value)} of all dialogues (bias difference {number(whole.value, 'bias_difference')}, "
        f"{interval(whole, 'bias_difference')})."
    )
    row = data.standout(audit, model, "different")
    one = data.value_of(audit, model, "different", row, "bias_difference")
    if row and one.why != "few":
        told += f" Furthest from 0: {row}, {words_of(one, 'bias_difference')}"
        share = data.women_in(row)
        if share == share:
            told += f"; in the US labour force {percent(share)} of this occupation are women (CPS 2021)"
        told += "."
    return told
