"""What a neighbourhood holds against all images that were searched: counts, a sentence, bars with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from backend.metrics.intervals import wilson
from backend.records import AXES, UNSPECIFIED
from backend.store import Audit
from explorers._charts import SYSTEM_COLOURS
from explorers._shared import escape, percent

CAVEAT = "What is most frequent was picked out, and neighbours are no independent draws: the intervals are too narrow."
TOP = 5
FEW = 20
"""Fewer neighbours than these are said to be few."""
FIELDS = {"system": "System", "subject": "Prompt was for"}
FIELDS |= {axis: f"{axis.capitalize()} phrase of the prompt" for axis in AXES}


@dataclass(frozen=True)
class Line:
    """How many images of a neighbourhood, and of all that were searched, have a value."""

    value: str
    hits: int
    whole: int


@dataclass(frozen=True)
class Field:
    """What a neighbourhood holds of one column: the most frequent values, and all others together (their number)."""

    name: str
    lines: tuple[Line, ...]
    others: Line | None = None
    folded: int = 0


def fields_of(audit: Audit, rows: np.ndarray, searched: np.ndarray) -> list[Field]:
    """Every column on which the searched images differ, with its TOP values among `rows`, most frequent first."""
    fields = []
    for name in FIELDS:
        column = audit.generations[name].cat
        codes, size = column.codes.to_numpy(), len(column.categories)
        whole = np.bincount(codes[searched], minlength=size)
        hits = np.bincount(codes[rows], minlength=size)
        if (whole > 0).sum() < 2:
            continue
        order = sorted(np.flatnonzero(whole), key=lambda code: (-hits[code], -whole[code], code))
        kept = order if len(order) <= TOP else [code for code in order[:TOP] if hits[code]]
        rest = order[len(kept) :]
        lines = [Line(str(column.categories[code]), int(hits[code]), int(whole[code])) for code in kept]
        others = Line("", int(hits[rest].sum()), int(whole[rest].sum())) if rest else None
        fields.append(Field(name, tuple(lines), others, len(rest)))
    return fields


def said(field: str, value: str) -> str:
    """A value in words: what the prompt did not say is said to be so."""
    return f"no {field} phrase" if field in AXES and value == UNSPECIFIED else value


def prompts_for(subject: str) -> str:
    """The prompts of a subject in words.

    >>> prompts_for("nurse"), prompts_for("identity prompt: woman + dark")
    ('prompts for nurse', 'identity prompts (woman + dark)')
    """
    kind, mark, phrases = subject.partition(" prompt: ")
    return f"{kind} prompts ({phrases})" if mark else f"prompts for {subject}"


def sentence(fields: list[Field], n: int, searched: int) -> str:
    """The neighbourhood in words, as plain text: its most frequent system and prompt against all images searched, and
    why the intervals are too narrow."""
    parts: list[tuple[bool, str]] = []
    for field in fields:
        if field.name not in ("system", "subject"):
            continue
        top = field.lines[0]
        low, high = wilson(top.hits, n)
        whole = top.whole / searched
        seen = f"{top.hits} ({percent(top.hits / n)}, 95 % interval {percent(low, '')} to {percent(high, '')})"
        if field.name == "system":
            made = f"it made {percent(whole)} of the {searched:,} images searched"
            text = f"Most often the {n} nearest were made by {top.value}: {seen}; {made}"
        else:
            come = f"{percent(whole)} of the {searched:,} images searched do"
            text = f"Most often the {n} nearest come from {prompts_for(top.value)}: {seen}; {come}"
        inside = bool(low <= whole <= high)
        parts.append((inside, f"{text}{', which the interval holds: no difference can be told' if inside else ''}."))
    parts.sort(key=lambda part: part[0])  # what can be told comes first
    if n < FEW:
        parts.append((True, f"{n} images are few: read the intervals, not the percentages."))
    if any(field.name in ("system", "subject") for field in fields):
        parts.append((True, CAVEAT))
    return " ".join(text for _, text in parts)


def summary_html(audit: Audit, fields: list[Field], n: int, searched: int) -> str:
    """A card for every column on which the searched images differ: counts, shares, intervals, bars."""
    if not fields:
        return ""
    cards = "".join(_card(audit, field, n, searched) for field in fields)
    return (
        f'<h3>What the neighbourhood holds</h3><p class="lk-reading">A bar is the share of the {n} nearest, the line '
        f"on it its Wilson 95 % interval, the upright mark the share of all {searched:,} images searched.</p>"
        f'<div class="lk-cards">{cards}</div>'
    )


def _card(audit: Audit, field: Field, n: int, searched: int) -> str:
    systems = [str(name) for name in sorted(audit.generations["system"].cat.categories)]
    rows = []
    for line in field.lines:
        colour = SYSTEM_COLOURS[systems.index(line.value) % 8] if field.name == "system" else "var(--primary-600)"
        rows.append(_line(said(field.name, line.value), line, n, searched, colour))
    if field.others:
        rows.append(_line(f"all others ({field.folded:,})", field.others, n, searched, "var(--neutral-400)"))
    heads = "".join(f'<th scope="col">{head}</th>' for head in (f"of {n}", "share", "95 % interval", "of all"))
    return (
        f'<section class="lk-card lk-near-card"><table class="lk-labels"><thead><tr><th scope="col">'
        f"{FIELDS[field.name]}</th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></section>"
    )


def _line(name: str, line: Line, n: int, searched: int, colour: str) -> str:
    share, whole = line.hits / n, line.whole / searched
    low, high = (float(end) for end in wilson(line.hits, n))
    return (
        f'<tr><th scope="row">{escape(name)}</th><td>{line.hits:,}</td><td>{percent(share)}</td>'
        f"<td>{percent(low, '')} to {percent(high)}</td><td>{percent(whole)}</td></tr>"
        f'<tr aria-hidden="true"><td colspan="5"><div class="lk-near-bar">'
        f'<i style="background:{colour};width:{100 * share:.2f}%"></i>'
        f'<s style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></s>'
        f'<b style="left:{100 * whole:.2f}%"></b></div></td></tr>'
    )
