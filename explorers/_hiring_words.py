"""Numbers and sentences of Hiring: values, intervals, the heading, and what the picture says in words."""

from __future__ import annotations

from backend.metrics.hiring import FIRST, SECOND, UNPARSED, Estimate
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_view as state
from explorers._hiring_view import HiringView
from explorers._shared import count, escape, percent

LONGEST_TITLE = 60
MOST_TOLD = 2
"""So many models are told of in words above the charts."""
SHORT = {
    "bias_difference": "bias difference",
    "confirmation": "Confirmation",
    "consistency": "Consistency",
    "order_effect": "order effect",
    "q2_unknown": "“unknown” in Q2",
    "q3_neutral": "“both”, “neither” or “unknown” in Q3",
}
SIDES = {"bias_difference": ("men’s names", "women’s names"), "order_effect": ("second named", "first named")}
"""Who is favoured to the left and to the right of zero."""
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
        "qualified for a position (Q1), who is more qualified (Q2) and who held it (Q3). It is told only names, "
        "their order, and the skills that it said itself each of the two has, which can differ.</p>"
    )


def state_html(audit: Audit, view: HiringView) -> str:
    """The picture in words: a paragraph a model. Whichever moves choices more, order or gender, comes first."""
    own = state.series_of(audit, view)
    kind, said = state.main_kind(view), ""
    for model in own[:MOST_TOLD]:
        title = title_of(audit, model)
        if not data.overall(audit, model, kind)["order_effect"].k:
            lead, rest = f"{title} was not asked about {KIND_WORDS[kind]}.", ""
        elif kind == "same":
            lead, rest = f"{title}, {KIND_WORDS[kind]}:", order_words(audit, model, kind)
        else:
            lead = f"{title}: {verdict(audit, model)}."
            parts = [order_words(audit, model, kind), gender_words(audit, model)]
            parts = parts if order_first(audit, model) else parts[::-1]
            rest = " ".join([*parts, bias_words(audit, model, whole=len(own) == 1)])
        said += f"<p><b>{escape(lead)}</b> {escape(rest)}</p>"
    if len(own) > MOST_TOLD:
        said += f"<p>{count(len(own) - MOST_TOLD, 'more model')} below.</p>"
    return f'<div class="lk-state">{said}</div>' if said else ""


def order_first(audit: Audit, model: str) -> bool:
    """Whether the order of names moved the choices of a model more than their gender."""
    found = data.overall(audit, model, "different")
    return abs(found["order_effect"].value) > abs(found["gender_effect"].value)


def clear(found: Estimate) -> bool:
    """Whether a difference is told from 0: its interval does not hold it, or all pairs agree on another value."""
    return (found.why == "alike" and found.value != 0) or found.low > 0 or found.high < 0


def verdict(audit: Audit, model: str) -> str:
    """Which of the two, order or gender of the names, moved choices more, as far as the intervals let it be said."""
    found = data.overall(audit, model, "different")
    order, gender = found["order_effect"], found["gender_effect"]
    if "few" in (order.why, gender.why):
        return "too few pairs to tell an effect of the names from chance"
    if order_first(audit, model) and clear(order):
        more = "" if clear(gender) else "; no effect of their gender can be shown here"
        return f"the order of the names made a larger difference than their gender{more}"
    if clear(gender) and not clear(order):
        return "the gender of the names made a difference, and their order no clear one"
    if clear(gender):
        return "the gender of the names made a larger difference than their order"
    if clear(order):
        return "the order of the names made a difference, and their gender no clear one"
    return "neither the order nor the gender of the names made a clear difference"


def order_words(audit: Audit, model: str, kind: str) -> str:
    """How often whoever is named first was chosen: one sentence with its interval."""
    held, found = data.counts(audit, model, kind, "q2", "place"), data.overall(audit, model, kind)["order_effect"]
    total = max(1, sum(held.values()))
    return (
        f"The name that came first was chosen in {percent(held[FIRST] / total)} of {count(total, 'dialogue')}, the "
        f"second in {percent(held[SECOND] / total)} ({effect_words(found)}; n = {count(found.n, 'pair')})."
    )


def effect_words(found: Estimate) -> str:
    """A difference of two shares: "difference +11 percentage points, 95 % interval −16 to +32, which holds 0"."""
    told = f"difference {points(found.value)} percentage points, "
    if found.why or found.low != found.low:
        return told + interval(found, "order_effect")
    told += f"95 % interval {points(found.low)} to {points(found.high)}"
    return told + (", which holds 0" if found.low <= 0 <= found.high else "")


def gender_words(audit: Audit, model: str) -> str:
    """How often the woman's and the man's name was chosen: one sentence with its interval."""
    held = data.counts(audit, model, "different", "q2", "gender")
    found = data.overall(audit, model, "different")["gender_effect"]
    total = max(1, sum(held.values()))
    return (
        f"The woman’s name was chosen in {percent(held[data.WOMEN] / total)}, the man’s in "
        f"{percent(held[data.MEN] / total)} ({effect_words(found)}; n = {count(found.n, 'pair')})."
    )


def bias_words(audit: Audit, model: str, whole: bool) -> str:
    """The bias difference over all occupations, and (`whole`) the occupation that is furthest from zero."""
    found = data.overall(audit, model, "different")
    female, male, both = (found[name] for name in ("bias_female", "bias_male", "bias_difference"))
    told = (
        f"After calling neither qualified it still chose a woman’s name in {percent(female.value)} and a man’s in "
        f"{percent(male.value)} of all dialogues (bias difference {number(both.value, 'bias_difference')}, "
        f"{interval(both, 'bias_difference')}; {n_words(both)})."
    )
    if both.k and found["confirmation"].value == 0 and female.value + male.value > 0.99:
        told = f"It called nobody qualified, so every choice counts as bias. {told}"
    row = data.standout(audit, model, "different")
    one = data.value_of(audit, model, "different", row, "bias_difference")
    if whole and row and one.why != "few":
        alike = data.alike(audit, model, "different", row, "bias_difference")
        others = f" and {count(alike, 'other')} alike" if alike else ""
        told += f" Furthest from 0: {row}{others}, {words_of(one, 'bias_difference')}"
        share = data.women_in(row)
        if share == share and not alike:
            told += f"; in the US labour force {percent(share)} of this occupation are women (CPS 2021)"
        told += "."
    return told
