"""Numbers and sentences of Neutrality: values, intervals, the heading, and what the picture says in words."""

from __future__ import annotations

from functools import lru_cache

from plotly.colors import sample_colorscale

from backend.metrics.neutrality import NEUTRAL, UNPARSED
from backend.store import Audit
from explorers import _neutrality as data
from explorers import _neutrality_view as state
from explorers._neutrality import Heat
from explorers._neutrality_measures import SHARES, Cell
from explorers._neutrality_view import Asked, NeutralityView
from explorers._published_neutrality import ink
from explorers._shared import count, escape, percent

SHORT = {
    "ag": "AG",
    "delta_ag": "ΔAG",
    "delta_neutrality": "ΔN",
    "neutral_accuracy": "“no preference”",
    "unparsed": "unreadable",
}
MEANING = {
    "ag": "AG: which of the two is chosen more",
    "delta_ag": "ΔAG: how uneven the choices are",
    "delta_neutrality": "ΔN: how near all answers are to “no preference”",
    "neutral_accuracy": "The share of answers that said “no preference”",
    "unparsed": "The share of answers that could not be read, were refused or did not come",
}
ENDS = {
    "delta_ag": ("0: even", "1: one class takes all"),
    "delta_neutrality": ("0: one class takes all", "1: only “no preference”"),
    "neutral_accuracy": ("0 %", "100 %: only “no preference”"),
    "unparsed": ("0 %", "100 %: nothing could be read"),
}
LONGEST_TITLE = 60
CLASS_COLOURS = ("#7b5fa3", "#e08214", "#009e73", "#56b4e9", "#cc3311", "#b3b300", "#117a8b", "#666666")
NEUTRAL_COLOUR, UNPARSED_COLOUR = "#c7ccd1", "#ffffff"
SCALES = {"ag": "PuOr_r"}
"""Colour scales: AG is signed (purple, white at zero, orange); all others are Cividis, which reads in print too."""


def number(value: float, measure: str) -> str:
    """A value as it is shown: AG with its sign, shares in per cent; "no value" where there is none.

    >>> number(-0.4251, "ag"), number(0.2, "delta_ag"), number(0.123, "unparsed")
    ('−0.43', '0.20', '12 %')
    """
    if value != value:
        return "no value"
    if measure in SHARES:
        return percent(value)
    text = f"{value:.2f}"
    signed = measure == "ag" and text not in ("0.00", "-0.00")
    return (f"{value:+.2f}" if signed else text.removeprefix("-") if text == "-0.00" else text).replace("-", "−")


def span(low: float, high: float, measure: str) -> str:
    """An interval: "−0.60 to −0.20"."""
    if low != low:
        return "no interval"
    if measure in SHARES:
        return f"{percent(low, '')} to {percent(high)}"
    return f"{number(low, measure)} to {number(high, measure)}"


def interval(low: float, high: float, measure: str) -> str:
    """An interval in words; where all inputs agree no spread can be estimated, and none is shown.

    >>> interval(-0.6, -0.2, "ag"), interval(-1, -1, "ag")
    ('95 % interval −0.60 to −0.20', 'no interval, as all inputs agree')
    """
    return "no interval, as all inputs agree" if low == high else f"95 % interval {span(low, high, measure)}"


def cell_words(cell: Cell, measure: str) -> str:
    """A cell in words: "AG −0.42 (95 % interval −0.60 to −0.20), n = 24 inputs, 216 answers"."""
    n = f"n = {count(cell.inputs, 'input')}, {count(cell.answers, 'answer')}"
    if measure in ("ag", "delta_ag"):
        n += f", {cell.chosen:,} of which chose"
    if cell.few:
        return f"{cell.few}: {n}"
    return f"{SHORT[measure]} {number(cell.value, measure)} ({interval(cell.low, cell.high, measure)}), {n}"


def counts_words(cell: Cell, columns: tuple[str, ...]) -> str:
    """The answers behind a cell: "male 5, female 11, no preference 2, unparsed 0"."""
    return ", ".join(f"{name} {number:,}" for name, number in zip(columns, cell.counts, strict=True))


@lru_cache(maxsize=1024)
def _shade(scale: str, step: int) -> tuple[str, str]:
    shade = sample_colorscale(scale, [step / 200])[0]
    return shade, ink(shade)


def shade(value: float, measure: str) -> tuple[str, str]:
    """The colour of a value, and that of its text, black or white."""
    place = (value + 1) / 2 if measure == "ag" else value
    return _shade(SCALES.get(measure, "Cividis"), round(200 * min(1.0, max(0.0, place))))


def colour_of(place: int, columns: int) -> str:
    """The colour of an answer by its place in a tally: classes, then "no preference", then unparsed."""
    if place >= columns - 2:
        return NEUTRAL_COLOUR if place == columns - 2 else UNPARSED_COLOUR
    return CLASS_COLOURS[place % len(CLASS_COLOURS)]


def title_of(audit: Audit, model: str) -> str:
    """A model's name for people, cut, with its own name where two would be the same."""
    titles = {name: source.title[:LONGEST_TITLE] or name for name, source in audit.probes.sources.items()}
    same = list(titles.values()).count(titles[model]) > 1
    return f"{titles[model]} ({model})" if same else titles[model]


def column_title(audit: Audit, view: NeutralityView, asked: Asked) -> str:
    """What names a column: the model, and what else sets it apart from the others."""
    return ", ".join([title_of(audit, asked.model), *apart(view, asked)])


def apart(view: NeutralityView, asked: Asked) -> list[str]:
    """What sets one model's columns apart: style and culture, where a view compares them."""
    more = [asked.style] if view.style == state.COMPARE else []
    return more + ([asked.culture] if view.culture == state.COMPARE and asked.culture else [])


def ends_of(measure: str, classes: tuple[str, ...]) -> tuple[str, str]:
    """What the two ends of a measure's scale say."""
    return (f"−1: only {classes[0]}", f"+1: only {classes[1]}") if measure == "ag" else ENDS[measure]


def heading_html(audit: Audit, view: NeutralityView) -> str:
    """The question, with the term of art above it and how it was asked below it."""
    how = "in several styles" if view.style == state.COMPARE else state.style_words(view.style)
    said = f"{state.DIRECTIONS[view.direction]}. {how[0].upper()}{how[1:]}."
    if (
        view.culture
        and view.culture != state.COMPARE
        and "indirect" in view.style + "indirect" * (view.style == state.COMPARE)
    ):
        said += f" Names from: {view.culture}."
    return (
        '<p class="lk-term">Neutral inputs: AG, ΔAG, ΔN</p><h2 class="lk-question">When nothing tells '
        f'{escape(view.attribute)}, what do models answer?</h2><p class="lk-reading">{escape(said)}</p>'
    )


def sentence_html(audit: Audit, view: NeutralityView, shown: Heat) -> str:
    """The picture in words: the column furthest from even or neutral, and the row that stands out; n and intervals."""
    known = [asked for asked in shown.columns if not data.total(audit, asked, shown.measure).few]
    if known:
        best = max(known, key=lambda one: _unevenness(data.total(audit, one, shown.measure), shown.measure))
        text = _total_words(audit, view, shown, best)
    else:
        few = data.total(audit, shown.columns[0], shown.measure)
        text = f"{column_title(audit, view, shown.columns[0])}: {cell_words(few, shown.measure)}."
    row, asked = data.standout(shown)
    cell = shown.cells[row.key, asked.column]
    if row.kind != data.ALL and not cell.few:
        text += f" {_row_words(audit, view, shown, row, asked)}"
    return f'<p class="lk-state">{escape(text)}</p>'


def _unevenness(cell: Cell, measure: str) -> float:
    if measure == "ag":
        return abs(cell.value)
    return -cell.value if measure in ("delta_neutrality", "neutral_accuracy") else cell.value


def _total_words(audit: Audit, view: NeutralityView, shown: Heat, asked: Asked) -> str:
    """All answers of one column in a sentence."""
    measure, cell = shown.measure, data.total(audit, asked, shown.measure)
    columns = (*state.classes_of(audit, view), NEUTRAL, UNPARSED)
    who, n = column_title(audit, view, asked), f"n = {count(cell.inputs, 'input')}"
    neutral, unread = cell.counts[-2], cell.counts[-1]
    value = f"{SHORT[measure]} {number(cell.value, measure)}, {interval(cell.low, cell.high, measure)}"
    first = ""
    if len(shown.columns) > 1:
        first = "Least neutral: " if measure == "delta_neutrality" else "Furthest from even: "
    if measure in ("ag", "delta_ag", "delta_neutrality"):
        top = max(range(len(columns) - 2), key=lambda place: cell.counts[place])
        share = f"{cell.counts[top]:,}" if cell.chosen else "none"
        return (
            f"{first}{who}. Of {cell.chosen:,} answers that chose, {share} chose {columns[top]} ({value}); {neutral:,} "
            f"of all {cell.answers:,} answers said “no preference”, {unread:,} were unreadable, refused or missing "
            f"({n})."
        )
    what = "said “no preference”" if measure == "neutral_accuracy" else "were unreadable, refused or missing"
    held = neutral if measure == "neutral_accuracy" else unread
    return (
        f"{held:,} of {cell.answers:,} answers of {who} {what} ({percent(held / max(1, cell.answers))}, "
        f"{interval(cell.low, cell.high, measure)}; {n})."
    )


def _row_words(audit: Audit, view: NeutralityView, shown: Heat, row: data.Row, asked: Asked) -> str:
    cell, labour = shown.cells[row.key, asked.column], shown.labour(row)
    what = {"profession": "profession", "group": "occupation group", "band": "fifth"}[row.kind]
    held = {"ag": "even", "delta_ag": "even", "unparsed": "readable"}.get(shown.measure, "neutral")
    told = f"{row.label}, {column_title(audit, view, asked)}: {cell_words(cell, shown.measure)}"
    if labour == labour:
        whom = "this occupation" if row.kind == "profession" else "these occupations, on average,"
        return (
            f"Furthest from the labour force, by {what}: {told}; in the US labour force {percent(row.women)} of {whom} "
            f"are women (CPS 2021), on this scale {number(labour, 'ag')}."
        )
    return f"Furthest from {held}, by {what}: {told}."
