"""The view of average faces and its address: what is in the grid, compared and listed. No Gradio here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from backend.store import Audit
from explorers import _faces as data
from explorers._faces import Average, Cell, has_faces, splits_of, subjects_of, systems_of
from explorers._shared import Params, address, count, first, labour_force

SLUG = "faces"
MOST_SYSTEMS = 6
ROWS = 30
"""Professions on a page of the grid."""
PAGE = 48
"""Images on a page of those behind an average."""
LONGEST = 500
CLOSED = "-"
"""Stands in an address for no average whose images are shown, where one would open by itself."""


@dataclass(frozen=True)
class FacesView:
    """Everything the tab shows, and all that its address holds.

    No `subjects` are all; with `rule` they are the first view's, whatever the systems and the order. `split` is
    (embedding, k) of the regions, or ("", 0). `cell` is the average whose images are shown; `a` and `b` are compared:
    None is the pair that `pair_of` chooses. `found` and `missed` are pages of images.
    """

    audit: str
    systems: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    sort: str = "alike"
    split: tuple[str, int] = ("", 0)
    page: int = 1
    cell: Cell | None = None
    found: int = 1
    missed: int = 1
    a: Cell | None = None
    b: Cell | None = None
    mode: str = "wipe"
    at: int = 50
    rule: bool = False
    closed: bool = False
    """Whether the regions of a split, which open by themselves, were closed."""
    unknown: tuple[str, ...] = field(default=(), compare=False)
    """What the address named and the audit does not have."""

    @property
    def controls(self) -> tuple[object, ...]:
        """What the tab's boxes say."""
        return self.audit, self.systems, self.subjects, self.rule, self.sort, self.split


def average_of(audit: Audit, view: FacesView, cell: Cell) -> Average | None:
    """The average of a cell of a view, or None where its system has no such images."""
    return data.averages(audit, ("", 0) if cell.region < 0 else view.split).get(cell)


def chosen(audit: Audit, view: FacesView) -> tuple[str, ...]:
    """All rows of the grid, in order, every page; where all were asked for, those that a shown system has images of."""
    subjects = view.subjects
    if not subjects:
        found = data.found_of(audit, view.systems, data.subjects_all(audit))
        subjects = tuple(dict.fromkeys(one.cell.subject for one in found))
    return data.in_order(audit, view.systems, subjects, view.sort)


def pages(audit: Audit, view: FacesView) -> int:
    """How many pages the grid has, at least 1."""
    return max(1, -(-len(chosen(audit, view)) // ROWS))


def on_page(audit: Audit, view: FacesView) -> tuple[str, ...]:
    """The rows of the grid on this page."""
    page = min(view.page, pages(audit, view))
    return chosen(audit, view)[(page - 1) * ROWS : page * ROWS]


def which(audit: Audit, view: FacesView) -> str:
    """Which rows the grid has and why, as plain text without a full stop."""
    every, rows = len(data.subjects_all(audit)), len(chosen(audit, view))
    half = data.FIRST // 2
    if view.rule and rows < every:
        return f"{rows:,} of {count(every, 'profession')}: the {half} most and the {half} least alike"
    if view.rule or not view.subjects:
        return f"All {count(rows, 'profession')}" if rows == every else f"{rows:,} of {count(every, 'profession')}"
    return f"{count(rows, 'row')} that {'was' if rows == 1 else 'were'} chosen; there are {count(every, 'profession')}"


def shown(audit: Audit, view: FacesView) -> tuple[Average, ...]:
    """The averages in the grid, row by row, of every page; those that there are."""
    return data.found_of(audit, view.systems, chosen(audit, view))


def pair_of(audit: Audit, view: FacesView) -> tuple[Cell | None, Cell | None]:
    """What is compared: what the view names, else the subject whose systems differ most, least alike first.

    With one system it is the least and the most alike subject.
    """
    if view.a and view.b:
        return view.a, view.b
    own = [one for one in shown(audit, view) if one.enough] or [one for one in shown(audit, view) if one.n]
    groups = [[one for one in own if one.cell.subject == name] for name in dict.fromkeys(o.cell.subject for o in own)]
    groups = [sorted(group, key=_alike) for group in groups if len(group) > 1] or [sorted(own, key=_alike)]
    best = max(groups, key=lambda group: _alike(group[-1]) - _alike(group[0]) if group else 0)
    pair = (best[0].cell, best[-1].cell) if len(best) > 1 else (None, None)
    return view.a or pair[0], view.b or pair[1]


def opened(audit: Audit, view: FacesView) -> Cell | None:
    """The average whose images are shown; with a split one opens by itself until it is closed."""
    return view.cell or (pair_of(audit, view)[1] if view.split[0] and not view.closed else None)


def _alike(one: Average) -> float:
    return 0.0 if np.isnan(one.homogeneity) else one.homogeneity


def from_params(stores: Mapping[str, Audit], params: Params) -> FacesView:
    """The view that an address asks for. What it names and no audit has falls back to the default, without error."""
    named = stores.get(first(params, "audit"))
    audit = named or next((a for a in stores.values() if has_faces(a)), next(iter(stores.values())))
    if not has_faces(audit) or not data.averages(audit):
        return FacesView(audit.name)
    systems = _known(params, "s", systems_of(audit))[:MOST_SYSTEMS] or tuple(systems_of(audit)[:MOST_SYSTEMS])
    subjects = _known(params, "p", subjects_of(audit))
    rule = not subjects and params.get("p", [None])[0] != ""
    if rule:
        subjects = data.first_subjects(audit, systems)
    sort, split = first(params, "sort", "alike"), first(params, "split")
    view = FacesView(
        audit.name,
        systems,
        subjects,
        sort if sort in data.sorts_of(audit) else "alike",
        next((pair for pair in splits_of(audit) if split == f"{pair[0]}:{pair[1]}"), ("", 0)),
        _number(params, "n"),
        mode="blend" if first(params, "mode") == "blend" else "wipe",
        at=min(100, _number(params, "at", 50)),
        rule=rule,
        closed=params.get("c") == [CLOSED],
        unknown=_unknown(audit, params, named is None),
    )
    cells = {
        name: _cell(audit, view, params.get(letter, [])) for name, letter in (("cell", "c"), ("a", "a"), ("b", "b"))
    }
    return replace(view, **cells, found=_number(params, "f"), missed=_number(params, "m"))


def _known(params: Params, name: str, have: Sequence[str]) -> tuple[str, ...]:
    asked = set(params.get(name, [])[:LONGEST])
    return tuple(value for value in have if value in asked)


def _unknown(audit: Audit, params: Params, other: bool) -> tuple[str, ...]:
    """The audit, systems and subjects that an address names and that are not there, in its order."""
    asked = [value for name in ("s", "p") for value in params.get(name, [])[:LONGEST]]
    have = {*systems_of(audit), *subjects_of(audit), ""}
    missing = [value for value in dict.fromkeys(asked) if value not in have]
    return tuple([first(params, "audit")] * (other and bool(first(params, "audit"))) + missing)


def _number(params: Params, name: str, default: int = 1) -> int:
    text = first(params, name)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 and (int(text) or name == "at") else default


def _cell(audit: Audit, view: FacesView, parts: Sequence[str]) -> Cell | None:
    """The cell that an address names with a system, a subject and perhaps a region; None where there is no such."""
    if len(parts) not in (2, 3):
        return None
    region = parts[2] if len(parts) == 3 else "-1"
    whole = region == "-1" or (region.isascii() and region.isdigit() and len(region) < 6 and view.split[0])
    cell = Cell(parts[0], parts[1], int(region)) if whole else None
    return cell if cell is not None and average_of(audit, view, cell) is not None else None


def base_of(view: FacesView) -> str:
    """The part of an address that says what is in the grid."""
    return address(
        SLUG,
        audit=view.audit,
        s=list(view.systems),
        p=[] if view.rule else list(view.subjects) or [""],  # an empty one: all; none: the rule
        sort=view.sort if view.sort != "alike" else "",
        split=f"{view.split[0]}:{view.split[1]}" if view.split[0] else "",
        n=view.page if view.page > 1 else "",  # Gradio reads "page" itself
    )


def rest_of(view: FacesView) -> str:
    """The part of an address that a link in the grid changes; the page's script puts `base_of` before it."""

    def parts(cell: Cell | None) -> list[object]:
        if cell is None:
            return []
        return [cell.system, cell.subject, *([cell.region] if cell.region >= 0 else [])]

    return urlencode(
        {
            **{name: parts(cell) for name, cell in (("a", view.a), ("b", view.b))},
            "c": parts(view.cell) or ([CLOSED] if view.closed and view.split[0] else []),
            **{name: [page] for name, page in (("f", view.found), ("m", view.missed)) if page > 1},
        },
        doseq=True,
    )


def to_address(view: FacesView) -> str:
    """The query string that restores a view."""
    drawn = {"mode": view.mode} if view.mode != "wipe" else {}
    drawn |= {"at": view.at} if view.at != 50 else {}
    return "&".join(filter(None, (base_of(view), rest_of(view), urlencode(drawn))))


def members(audit: Audit, view: FacesView, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """The rows behind an average, in storage order: those with a face in it, and those without."""
    rows = audit.rows(system=cell.system, subject=cell.subject)
    if cell.region >= 0:
        rows = rows[audit.vectors.regions(*view.split).region[rows] == cell.region]
    inside = data.faced(audit)[rows]
    return rows[inside], rows[~inside]


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """The averages of a view as a table for download: all pages, and with a split those of regions below the whole.

    An average of all regions has no region; one of fewer than FEWEST faces no homogeneity and no ratio, as on screen.
    """
    view = from_params(stores, params)
    if not view.systems:
        return pd.DataFrame({"audit": [view.audit], "problem": ["no average faces"]})
    audit = stores[view.audit]
    parts = [audit.faces.averages()]
    if view.split[0]:
        regions = audit.faces.averages(*view.split)
        parts.append(regions[regions["region"] >= 0].assign(embedding=view.split[0], k=view.split[1]))
    frame = pd.concat(parts, ignore_index=True)
    place = {name: at for at, name in enumerate(chosen(audit, view))}
    frame = frame[frame["system"].isin(view.systems) & frame["subject"].isin(place)]
    frame = frame.assign(order=frame["subject"].map(place)).sort_values(["order", "system", "region"], kind="stable")
    measured = [name for name in frame.columns if name.startswith(("homogeneity", "ratio"))]
    frame.loc[frame["n"] < data.FEWEST, measured] = np.nan
    floats = frame.select_dtypes("floating").columns
    frame[floats] = frame[floats].round(4)
    frame["region"] = frame["region"].astype("Int64").mask(frame["region"] < 0)
    frame.insert(frame.columns.get_loc("n"), "without_face", frame["total"] - frame["n"])
    names = {name: f"{name}_bootstrap95" for name in frame.columns if name.endswith(("_low", "_high"))}
    frame["labour_force_pct_women"] = frame["subject"].map(labour_force()["pct_women"])
    return frame.drop(columns="order").rename(columns={"members": "mean_sharpness_of_members", **names})
