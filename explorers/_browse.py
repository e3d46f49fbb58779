"""The Bias explorer's view as plain data: from an address and back, and its HTML. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pandas as pd

from backend.store import Audit
from explorers._grid import (
    ANY,
    SORTS,
    Choice,
    arranged,
    colours,
    figures,
    label_columns,
    offers,
    prompts,
    rows_of,
    sorts_of,
    split_labels,
    summary,
    wording,
)
from explorers._measured import measured_html
from explorers._shared import Params, address, count, escape, first, labour_force

SLUG = "browse"
MOST_COLUMNS = 6
SIZES = (24, 36, 48, 60, 96)


@dataclass(frozen=True)
class BrowseView:
    """Everything the tab shows, and all that its address holds."""

    audit: str
    columns: tuple[Choice, ...]
    sort: str = "number"
    size: int = SIZES[0]
    page: int = 1
    labels: tuple[str, ...] = ()


def to_address(view: BrowseView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        s=[choice.system for choice in view.columns],
        p=[choice.subject for choice in view.columns],
        a=[choice.adjective for choice in view.columns],
        sort=view.sort if view.sort != "number" else "",
        size=view.size if view.size != SIZES[0] else "",
        n=view.page if view.page > 1 else "",  # Gradio reads "page" itself
        label=list(view.labels),
    )


@lru_cache(maxsize=32)
def default_view(audit: Audit) -> BrowseView:
    """The first thing to see: the subject that most systems share (most images at its scarcest), side by side."""
    counts = audit.generations.groupby(["subject", "system"], observed=True).size().unstack(fill_value=0)
    ranks = pd.DataFrame({"systems": (counts > 0).sum(axis=1), "least": counts.where(counts > 0).min(axis=1)})
    subject = str(ranks.sort_values(["systems", "least"], ascending=False, kind="stable").index[0])
    first_one = Choice(systems_of(audit)[0], subject, plain_adjective(audit))
    view, _ = shared(audit, BrowseView(audit.name, (first_one,)))
    if len(view.columns) > 1:
        return view
    counts = counts.loc[subject]
    alone = replace(view, columns=(replace(first_one, system=str(counts.index[counts.argmax()])),))
    return replace(alone, columns=(*alone.columns, another(audit, alone)))


def plain_adjective(audit: Audit) -> str:
    """No adjective, where the audit has both prompts with and without one; else any."""
    values = list(audit.generations["adjective"].cat.categories)
    return "" if "" in values and len(values) > 1 else ANY


def shared(audit: Audit, view: BrowseView) -> tuple[BrowseView, str]:
    """The first column's subject in every system that has it, and a sentence on the systems that have not.

    Where only one system has it the view stays as it is.
    """
    choice = view.columns[0]
    have = {
        system: bool(len(rows_of(audit, Choice(system, choice.subject, choice.adjective), view.labels)))
        for system in systems_of(audit)
    }
    systems = [system for system, there in have.items() if there]
    asked = choice.subject or "any prompt"
    if len(systems) < 2:
        return view, f"Only {systems[0]} has images for {asked}." if systems else f"No system has images for {asked}."
    missing = [system for system, there in have.items() if not there]
    said = f"Without images for {asked}: {', '.join(missing)}." if missing else ""
    columns = tuple(replace(choice, system=system) for system in systems[:MOST_COLUMNS])
    if len(systems) > MOST_COLUMNS:
        said += f" {len(systems)} systems have it; the first {MOST_COLUMNS} are shown."
    return replace(view, columns=columns, page=1), said.strip()


def another(audit: Audit, view: BrowseView) -> Choice:
    """A column that is not shown yet: the last column's system first, its most frequent subject first."""
    last, shown = view.columns[-1], {(choice.system, choice.subject) for choice in view.columns}
    for system in (last.system, *systems_of(audit)):
        for subject, number in subjects_of(audit, system, view.labels):
            if number and (system, subject) not in shown:
                return replace(last, system=system, subject=subject)
    return last


def systems_of(audit: Audit) -> list[str]:
    """The audit's systems, by name."""
    return sorted(map(str, audit.generations["system"].cat.categories), key=str.casefold)


@lru_cache(maxsize=256)
def subjects_of(audit: Audit, system: str, labels: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    """Every subject of the audit with its number of images in one system under a filter; most first, then by name."""
    counts = audit.generations["subject"].iloc[rows_of(audit, Choice(system), labels)].value_counts()
    return sorted(((str(name), int(number)) for name, number in counts.items()), key=lambda e: (-e[1], e[0].casefold()))


def adjectives_of(audit: Audit) -> list[str]:
    """The audit's adjectives, "" (none) first."""
    return sorted(map(str, audit.generations["adjective"].cat.categories), key=str.casefold)


def from_params(stores: Mapping[str, Audit], params: Params) -> BrowseView:
    """The view that an address asks for. What it names and no audit has falls back to the default, without error."""
    audit = stores.get(first(params, "audit")) or next(iter(stores.values()))
    systems, subjects = set(systems_of(audit)), set(map(str, audit.generations["subject"].cat.categories))
    adjectives = {*adjectives_of(audit), ANY}
    asked = params.get("s", [])[:MOST_COLUMNS]
    columns = []
    for index, system in enumerate(asked):
        subject, adjective = (_at(params, name, index) for name in ("p", "a"))
        if system in systems:
            adjective = adjective if adjective in adjectives else ANY
            columns.append(Choice(system, subject if subject in subjects else "", adjective))
    size, page = (first(params, name) for name in ("size", "n"))
    sort = first(params, "sort", "number")
    wanted = split_labels(audit, params.get("label", [])[:100])
    return BrowseView(
        audit.name,
        tuple(columns) or default_view(audit).columns,
        sort if sort in sorts_of(audit) else "number",
        int(size) if size in map(str, SIZES) else SIZES[0],
        int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 8 else 1,
        tuple(f"{column}:{value}" for column, values in wanted.items() for value in values),
    )


def _at(params: Params, name: str, index: int) -> str:
    values = params.get(name, [])
    return values[index] if index < len(values) else ""


def pages(audit: Audit, view: BrowseView) -> int:
    """How many pages the longest column has, at least 1."""
    longest = max(len(rows_of(audit, choice, view.labels)) for choice in view.columns)
    return max(1, -(-longest // view.size))


def column_html(audit: Audit, view: BrowseView, choice: Choice) -> str:
    """One column: how many images there are, their prompts, what imported labels say, and this page of figures."""
    everything = rows_of(audit, choice)
    rows = rows_of(audit, choice, view.labels) if view.labels else everything
    total = len(rows_of(audit, Choice(choice.system)))
    if len(rows) == 0:

        def link(wanted: Choice, labels: Sequence[str]) -> str:
            columns = tuple(wanted if other == choice else other for other in view.columns)
            return to_address(replace(view, columns=columns, labels=tuple(labels), page=1))

        return f'<p class="lk-count">0 of {total:,} images</p>{offers(audit, choice, view.labels, link)}'
    start = (view.page - 1) * view.size
    shown = arranged(audit, rows, view.sort)[start : start + view.size]
    said = f"<b>{len(everything):,} of {count(total, 'image')}</b> of this system"
    if view.labels:
        said += f"; the filter leaves {len(rows):,}"
    if len(shown) == 0:
        said += f"; none on page {view.page}"
    elif len(shown) < len(rows):
        said += f"; {start + 1:,} to {start + len(shown):,} shown"
    head = f'<p class="lk-count">{said}</p>{prompts(audit, everything)}{summary(audit, everything)}'
    head += measured_html(audit, everything)
    return head + figures(audit, shown, to_address(view), view.sort, name_subjects=not choice.subject)


def state_html(audit: Audit, view: BrowseView, notice: str = "") -> str:
    """What is not plain from the columns: a filter or another order that is on, and a sentence on the last click."""
    parts = [escape(notice)] if notice else []
    for column, values in split_labels(audit, view.labels).items():
        chosen = " or ".join(f"\u201c{value or '(none)'}\u201d" for value in values)
        parts.append(f"Only images with {escape(wording(column))} {escape(chosen)}.")
    if view.sort != "number":
        parts.append(f"Sorted: {escape(SORTS[view.sort].lower())}.")
    if view.labels or view.sort != "number":
        plain = escape(to_address(replace(view, labels=(), sort="number", page=1)))
        parts.append(f'<a class="lk-view" href="?{plain}">Clear filter and order</a>')
    return f'<p class="lk-state" role="status">{" ".join(parts)}</p>' if parts else ""


def heading_html(view: BrowseView) -> str:
    """The question that the view answers, and what the labour force holds against it."""
    systems = list(dict.fromkeys(choice.system for choice in view.columns))
    who = f"does {systems[0]}" if len(systems) == 1 else "does each system"
    subjects = list(dict.fromkeys(choice.subject for choice in view.columns))
    names = [f"{_article(name)} {name}" for name in subjects if name and ":" not in name]
    if len(names) == len(subjects) <= 3:
        question = f"Whom {who} picture as {' or '.join(names)}?"
    else:
        question = f"What {who} picture for these prompts?"
    term = '<p class="lk-term">Bias explorer</p>'
    return f'{term}<h2 class="lk-question">{escape(question)}</h2>{labour_html(subjects[:3])}'


def labour_html(subjects: Sequence[str]) -> str:
    """The labour force's share of women for the subjects that it counts, with the number employed, or ""."""
    table = labour_force()
    parts = []
    for name in subjects:
        if name in table.index and not pd.isna(table.loc[name, "pct_women"]):
            row = table.loc[name]
            parts.append(
                f"{row['pct_women']:.0f} % of the {1000 * row['employed_thousands']:,.0f} people employed as "
                f"\u201c{escape(row['bls_occupation'])}\u201d"
            )
    if not parts:
        return ""
    listed = ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]
    return f'<p class="lk-labour">For comparison, women in the US labour force (CPS 2021): {listed}.</p>'


def _article(name: str) -> str:
    vowel = name[:1].casefold() in set("aeiou") and not name.casefold().startswith(("uni", "use", "eu", "one"))
    return "an" if vowel else "a"


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """The rows of a view as a table for download: every column's images, all pages, without the image bytes."""
    view = from_params(stores, params)
    audit = stores[view.audit]
    parts = []
    for number, choice in enumerate(dict.fromkeys(view.columns), start=1):
        rows = arranged(audit, rows_of(audit, choice, view.labels), view.sort)
        part = audit.generations.iloc[rows].copy()
        part.insert(0, "column", number)
        values = colours(audit)
        if values is not None:
            part["colourfulness"] = values[rows]
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def label_choices(audit: Audit) -> list[tuple[str, str]]:
    """The label filter's choices: what is read, and what the address holds."""
    return [
        (f"{column.removeprefix('label_').replace('_', ' ')}: {value or '(none)'}", f"{column}:{value}")
        for column, values in label_columns(audit).items()
        for value in values
    ]
