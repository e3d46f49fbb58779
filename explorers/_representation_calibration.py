"""Calibration: planted shares against recovered ones in the starter's audit, region phrases against imported labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from backend.metrics.calibration import Agreement, Calibration, agreement, calibrate
from backend.metrics.intervals import wilson
from backend.records import UNSPECIFIED
from backend.store import Audit, Regions
from explorers import _regions_groups as groups
from explorers._charts import GREY, SYSTEM_COLOURS, SYSTEM_SYMBOLS
from explorers._grid import label_columns, wording
from explorers._representation_view import MOST_SYSTEMS, RepresentationView, regions_of, systems_of
from explorers._representation_words import span, table_html
from explorers._shared import ASSETS, escape, percent

RULES = {"paper": (0, "among the top phrases (the paper’s rule)"), "first": (1, "the first phrase")}
"""Name -> how many of a region's phrases count (0: as the axis has it), and in words."""
LABEL_PHRASES = {"female": "woman", "f": "woman", "women": "woman", "male": "man", "m": "man", "men": "man"}
"""Words of annotators that mean a phrase of prompts; any other label is compared as it stands."""


@lru_cache(maxsize=1)
def truth() -> pd.DataFrame:
    """The starter's planted shares: system, profession, attribute (an axis), value (a phrase), planted (0 to 1)."""
    return pd.read_csv(ASSETS / "starter" / "truth.csv", dtype={"planted": float})


@lru_cache(maxsize=32)
def planted(audit: Audit, axis: str, phrase: str) -> pd.DataFrame:
    """The planted shares of one phrase for an audit all of whose systems are the starter's; empty for any other."""
    table = truth()
    systems = systems_of(audit)
    if not systems or not set(systems) <= set(table.system):
        return table.iloc[:0]
    return table[(table.attribute == axis) & (table.value == phrase) & table.system.isin(systems)]


@lru_cache(maxsize=32)
def recovered(audit: Audit, regions: Regions, axis: str, phrase: str, rule: str) -> pd.DataFrame:
    """Planted beside recovered shares by system and profession, with n and Wilson 95 % interval."""
    frame, counts = groups.counted(audit, regions, ("system", "profession"), "professions")
    mask = groups.mask_of(regions, axis, phrase, RULES[rule][0])
    n, hits = counts.sum(axis=1), counts[:, mask].sum(axis=1)
    low, high = wilson(hits, n)
    found = frame.assign(n=n, images=hits, recovered=hits / np.maximum(n, 1), low=low, high=high)
    return found.merge(planted(audit, axis, phrase)[["system", "profession", "planted"]], on=["system", "profession"])


def calibrated(table: pd.DataFrame) -> list[tuple[str, int, Calibration]]:
    """Per system, then for all: its name, its number of images, and its calibration."""
    parts = [(str(system), part) for system, part in table.groupby("system")]
    parts = [*parts, ("all systems", table)] if len(parts) > 1 else parts
    return [(name, int(p.n.sum()), calibrate(p.planted, p.recovered, p.low, p.high)) for name, p in parts]


def truth_html(audit: Audit, view: RepresentationView) -> str:
    """The table of planted against recovered shares, for both rules."""
    rows = []
    for rule, (_, words) in RULES.items():
        for name, n, found in calibrated(recovered(audit, regions_of(audit, view), *view.one, rule)):
            correlations = [_value(found.pearson), _value(found.spearman)]
            covered = f"{percent(found.coverage)} ({span(*wilson(found.covered, found.pairs))})"
            errors = [f"{100 * found.error:.0f} points", f"{100 * found.bias:+.0f} points"]
            rows.append([name, words, f"{found.pairs:,}", f"{n:,}", *errors, *correlations, covered])
    heads = ["System", f"{view.one[1]} counts when it is", "Pairs", "Images", "Mean error", "Mean deviation"]
    heads += ["Pearson", "Spearman", "Intervals that hold the planted share"]
    phrase = escape(view.one[1])
    return (
        f'<p class="lk-reading">The starter’s systems were taught how often to draw {phrase} (assets/starter/truth.csv). '
        "A pair is a system and a profession: its planted share, and the share of its images found in the regions. The "
        "mean error is the mean distance of the two; the deviation shows its direction (above 0: too much is found). 95 "
        "% intervals should hold 95 % of the planted shares: fewer means an error that is not chance. It holds what a "
        "system failed to learn, too: compare the starter’s own figures (assets/starter/README.md).</p>"
        + table_html([escape(head) for head in heads], rows, "Planted against recovered shares")
    )


def _value(value: float) -> str:
    return "no value" if value != value else f"{value:.2f}"


def truth_figure(audit: Audit, view: RepresentationView) -> go.Figure:
    """Recovered against planted shares, a mark a profession, by the paper's rule; on the line both are equal."""
    table, drawn = recovered(audit, regions_of(audit, view), *view.one, "paper"), go.Figure()
    drawn.add_scatter(
        x=[0, 100],
        y=[0, 100],
        mode="lines",
        line={"color": GREY, "dash": "dash"},
        hoverinfo="skip",
        name="as planted",
        showlegend=False,
    )
    for index, system in enumerate(systems_of(audit)[:MOST_SYSTEMS]):
        own = table[table.system == system]
        drawn.add_scatter(
            x=(100 * own.planted).tolist(),
            y=(100 * own.recovered).tolist(),
            mode="markers",
            name=escape(system),
            marker={"color": SYSTEM_COLOURS[index % 8], "symbol": SYSTEM_SYMBOLS[index % 8], "size": 9},
            error_y={
                "type": "data",
                "array": (100 * (own.high - own.recovered)).tolist(),
                "arrayminus": (100 * (own.recovered - own.low)).tolist(),
                "symmetric": False,
                "thickness": 1,
                "width": 0,
            },
            customdata=[[escape(name), n] for name, n in zip(own.profession, own.n, strict=True)],
            hovertemplate="<b>%{customdata[0]}</b><br>planted %{x:.0f} %, recovered %{y:.0f} %<br>n = %{customdata[1]}"
            "<extra>%{fullData.name}</extra>",
        )
    grid = {
        "gridcolor": "rgba(127,127,127,0.3)",
        "zeroline": False,
        "fixedrange": True,
        "ticks": "",
        "ticksuffix": " %",
    }
    drawn.update_layout(
        height=380,
        xaxis={**grid, "range": [-3, 103], "title": {"text": "planted", "font": {"size": 12}}},
        yaxis={**grid, "range": [-3, 103], "title": {"text": "recovered", "font": {"size": 12}}},
        margin={"l": 64, "r": 12, "t": 12, "b": 48},
        showlegend=False,
        legend={"orientation": "h", "x": 0, "xref": "container", "yref": "container", "yanchor": "top"},
    )
    return drawn


@dataclass(frozen=True)
class Labelled:
    """Imported labels against the first phrase of each image's region: `axis` and `column`, counts, agreement."""

    axis: str
    column: str
    table: pd.DataFrame
    found: Agreement


@lru_cache(maxsize=32)
def labelled(audit: Audit, regions: Regions) -> tuple[Labelled, ...]:
    """For each label column whose labels mean phrases of an axis: how regions and annotators agree.

    Only images are compared whose label means a phrase that some region has first; the others are in the table alone.
    """
    made = []
    for column in label_columns(audit):
        labels = audit.generations[column].astype("str").str.casefold()
        meant = labels.replace(LABEL_PHRASES).to_numpy()
        for axis in groups.axes_of(regions):
            phrases = [groups.first_phrase(regions, region, axis).casefold() for region in range(regions.k)]
            said = np.array(phrases)[regions.region]
            known = np.isin(meant, [phrase for phrase in set(phrases) if phrase != UNSPECIFIED])
            if not known.any():
                continue
            given = (labels != "").to_numpy()
            counts = pd.crosstab(said[given], audit.generations[column].astype("str").to_numpy()[given])
            made.append(Labelled(axis, column, counts, agreement(meant[known], said[known])))
    return tuple(made)


def labels_html(audit: Audit, view: RepresentationView) -> str:
    """The agreement of region phrases with imported labels, or how to get labels."""
    parts = [_label_html(one) for one in labelled(audit, regions_of(audit, view))]
    return "".join(parts) or (
        "<p>Nothing is known of these images that the regions could be held against. Import labels of annotators with "
        "them (a column <code>label_gender</code> with the words woman and man, say), and this panel shows how often the "
        "regions’ phrases agree.</p>"
    )


def _label_html(one: Labelled) -> str:
    rows = [
        [str(phrase), *(f"{number:,}" for number in line)]
        for phrase, line in zip(one.table.index, one.table.to_numpy(), strict=True)
    ]
    found = one.found
    kappa = "no value" if found.kappa != found.kappa else f"{found.kappa:.2f}"
    heads = [f"Region’s first {one.axis} phrase", *map(str, one.table.columns)]
    return (
        f'<p class="lk-reading">{escape(wording(one.column))} against the first {escape(one.axis)} phrase of each '
        f"image’s region: {found.agreed:,} of {found.n:,} agree ({percent(found.share)}, 95 % interval "
        f"{span(found.low, found.high)}; Cohen’s kappa {kappa}: 0 is as by chance, 1 always). Labels are impressions of "
        "annotators, not facts about a person.</p>"
        + table_html([escape(head) for head in heads], rows, f"{wording(one.column)} by region phrase")
    )
