"""Identity regions as plain data: the view and its address, the cards, the shares, the words. No Gradio here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from backend.metrics.intervals import wilson
from backend.records import UNSPECIFIED
from backend.store import Audit, Regions
from explorers import _regions_groups as groups
from explorers._charts import SYSTEM_COLOURS, SYSTEM_SYMBOLS, axis_style
from explorers._grid import figures
from explorers._shared import Params, address, count, escape, first, percent

SLUG = "regions"
CENTRAL = 6
MOST_SYSTEMS = 8
MOST_CORNERS = 60
"""Corners of the area that is selected on the map: the page's script thins a lasso out to fewer."""
COLOURS = ("region", "system", "subset")


@dataclass(frozen=True)
class RegionsView:
    """Everything the tab shows, and all that its address holds. `area` is x, y, x, y, ... on the map."""

    audit: str
    embedding: str = ""
    k: int = 0
    colour: str = "region"
    region: int = -1
    area: tuple[float, ...] = ()


def from_params(stores: Mapping[str, Audit], params: Params) -> RegionsView:
    """The view that an address asks for. What it names and no audit has falls back to the default, without error."""
    audit = groups.audit_of(stores, params)
    regions = groups.picked(audit, params)
    if regions is None:
        return RegionsView(audit.name)
    colour, region = first(params, "colour"), first(params, "region")
    known = {*COLOURS, *groups.axes_of(regions)}
    return RegionsView(
        audit.name,
        regions.embedding,
        regions.k,
        colour if colour in known else "region",
        int(region) if region in map(str, range(regions.k)) else -1,
        _area(first(params, "area")),
    )


def _area(text: str) -> tuple[float, ...]:
    """The corners in an address, or () where it holds anything but pairs of finite numbers."""
    try:
        values = tuple(float(part) for part in text.split(",")[: 2 * MOST_CORNERS + 1])
    except ValueError:
        return ()
    whole = 4 <= len(values) <= 2 * MOST_CORNERS and len(values) % 2 == 0
    return values if whole and all(math.isfinite(value) for value in values) else ()


def to_address(view: RegionsView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        embedding=view.embedding,
        k=view.k or "",
        colour=view.colour if view.colour != "region" else "",
        region=view.region if view.region >= 0 else "",
        area=",".join(f"{value:.6g}" for value in view.area),
    )


def regions_of(audit: Audit, view: RegionsView) -> Regions:
    """The regions that a view shows."""
    return audit.vectors.regions(view.embedding, view.k)


@lru_cache(maxsize=32)
def shares(audit: Audit, regions: Regions) -> pd.DataFrame:
    """One row a system, subset and region: images, n of the system's subset, share (0 to 1), Wilson 95 % interval."""
    keys, counts = groups.counted(audit, regions, ("system", "subset"))
    n = counts.sum(axis=1, keepdims=True)
    low, high = wilson(counts, n)
    frame = keys.loc[keys.index.repeat(regions.k)].reset_index(drop=True)
    frame["region"] = np.tile(np.arange(regions.k), len(keys))
    frame["images"], frame["n"] = counts.ravel(), np.repeat(n.ravel(), regions.k)
    frame["share"] = frame.images / frame.n
    return frame.assign(low=low.ravel(), high=high.ravel())


def subset_shown(audit: Audit) -> str:
    """The subset whose shares are drawn: professions, else whichever there is beside identities, else identities."""
    have = [str(name) for name in audit.generations["subset"].cat.categories if len(audit.rows(subset=str(name)))]
    return next((name for name in ("professions", "neutral", "identities") if name in have), have[0])


WHAT = {"professions": "profession prompts", "neutral": "neutral prompts", "identities": "identity prompts"}


def heading_html(audit: Audit, regions: Regions) -> str:
    """The question, and the sentence that answers it with n and interval."""
    subset = subset_shown(audit)
    counts = groups.counted(audit, regions, ("subset",), subset)[1]
    n, place = int(counts.sum()), int(counts.sum(axis=0).argmax())
    hits = int(counts.sum(axis=0)[place])
    low, high = wilson(hits, n)
    region = regions.summary.regions[place]
    said = "; ".join(filter(None, (_said(region.phrases.get(axis, ()), 2) for axis in groups.axes_of(regions))))
    borrowed = regions.summary.borrowed
    source = f" The regions are those of the audit {escape(borrowed)}." if borrowed else ""
    return (
        '<p class="lk-term">Identity regions</p><h2 class="lk-question">'
        "Which parts of the image space do identity prompts span, and where do the others fall?</h2>"
        f'<p class="lk-labour"><b>Region {place}</b> holds most: {hits:,} of {n:,} images of {WHAT[subset]}'
        f" ({percent(hits / n)}, 95 % interval {percent(low, '')} to {percent(high, '')}) lie nearest to it. Its "
        f"identity prompts said {escape(said)}.{source}</p>"
    )


def _said(pairs: Sequence[tuple[str, int]], most: int) -> str:
    """The most frequent phrases with their share: "woman (83 %), man (17 %)"."""
    total = sum(number for _, number in pairs)
    shown = [(phrase, number) for phrase, number in pairs if number][:most]
    return ", ".join(f"{'none' if p == UNSPECIFIED else p} ({percent(number / total)})" for p, number in shown)


def cards_html(audit: Audit, regions: Regions, view: RegionsView) -> str:
    """A card for every region, the largest first: its phrases, its most central images, and each system's share."""
    subset = subset_shown(audit)
    table = shares(audit, regions)
    table = table[table.subset == subset]
    by_region = dict(list(table.groupby("region")))
    order = np.argsort(-groups.counted(audit, regions, ("subset",), subset)[1].sum(axis=0), kind="stable")
    cards = [_card(audit, regions, view, int(region), by_region[int(region)]) for region in order]
    return (
        f'<h3>{regions.k} regions, the one with most images of {WHAT[subset]} first</h3><div class="lk-cards">'
        f"{''.join(cards)}</div>"
    )


def _card(audit: Audit, regions: Regions, view: RegionsView, number: int, own: pd.DataFrame) -> str:
    region = regions.summary.regions[number]
    lines = []
    for axis in groups.axes_of(regions):
        most = groups.TOP[axis]
        lines.append(f"<dt>{axis.capitalize()}</dt><dd>{escape(_said(region.phrases.get(axis, ()), most))}</dd>")
    said = "".join(lines)
    to = escape(to_address(replace(view, region=number, area=())))
    shown = f"{count(region.size, 'identity image')}"
    rows = "".join(
        f'<tr><th scope="row">{escape(line.system)}</th><td>{line.images:,} of {line.n:,}</td><td>{percent(line.share)}'
        f"</td><td>{percent(line.low, '')} to {percent(line.high)}</td></tr>"
        for line in own.head(MOST_SYSTEMS).itertuples()
    )
    more = (
        f"<p class='lk-reading'>{len(own) - MOST_SYSTEMS} more systems in the CSV.</p>"
        if len(own) > MOST_SYSTEMS
        else ""
    )
    pictures = figures(audit, np.array(region.central[:CENTRAL], int), to_address(view)) if region.central else ""
    return (
        f'<section class="lk-card" id="lk-region-{number}"><h4>Region {number} <span>{shown}</span></h4>'
        f'<dl class="lk-said">{said}</dl>{pictures}<div class="lk-scroll"><table class="lk-labels"><tbody>{rows}'
        f'</tbody></table></div>{more}<p><a class="lk-view" href="?{to}">Show its images on the map</a></p></section>'
    )


def systems_of(audit: Audit) -> list[str]:
    """The systems that are drawn: those with images of the subset that is, by name, at most MOST_SYSTEMS."""
    table = audit.generations["system"].iloc[audit.rows(subset=subset_shown(audit))]
    return sorted(map(str, table.unique()))[:MOST_SYSTEMS]


def reading_html(audit: Audit, regions: Regions) -> str:
    """One sentence on how to read the chart, with each system's n."""
    subset = subset_shown(audit)
    table = shares(audit, regions)
    sizes = table[table.subset == subset].groupby("system").n.first()
    n = ", ".join(f"{system} {sizes[system]:,}" for system in systems_of(audit))
    return (
        f'<p class="lk-reading">A row is a region, a mark a system: of its images of {WHAT[subset]}, the share nearest '
        f"to that region; the line is the Wilson 95 % interval. n: {escape(n)} images.</p>"
    )


def share_figure(audit: Audit, regions: Regions) -> go.Figure:
    """Each system's share of images in each region, with Wilson 95 % intervals: a row a region, a mark a system."""
    table = shares(audit, regions)
    table = table[table.subset == subset_shown(audit)]
    order = table.groupby("region").images.sum().sort_values(ascending=False, kind="stable").index
    place = {region: row for row, region in enumerate(order)}
    systems, drawn = systems_of(audit), go.Figure()
    for index, system in enumerate(systems):
        own = table[table.system == system]
        offset = 0.5 * (index - (len(systems) - 1) / 2) / max(len(systems), 1)
        drawn.add_scatter(
            x=(100 * own.share).tolist(),
            y=(own.region.map(place) + offset).tolist(),
            name=escape(system),
            mode="markers",
            marker={"color": SYSTEM_COLOURS[index % 8], "symbol": SYSTEM_SYMBOLS[index % 8], "size": 8},
            error_x={
                "type": "data",
                "array": (100 * (own.high - own.share)).tolist(),
                "arrayminus": (100 * (own.share - own.low)).tolist(),
                "symmetric": False,
                "thickness": 1.2,
                "width": 0,
            },
            customdata=own[["images", "n"]].values.tolist(),
            hovertemplate="%{customdata[0]:,} of %{customdata[1]:,} images (%{x:.0f} %)<extra>%{fullData.name}</extra>",
        )
    labels = [escape(groups.name_of(regions, int(region))) for region in order]
    top = 100 * float(table.high.max()) if len(table) else 100
    axis_style(drawn, labels, f"% of a system's images of {WHAT[subset_shown(audit)]}", [0, min(100, top * 1.05)])
    return drawn


def quality_html(audit: Audit, regions: Regions) -> str:
    """How well each embedding and number of regions parts the identity prompts: the paper's measure, and stability."""
    rows = []
    for embedding, k in audit.vectors.choices():
        q = audit.vectors.regions(embedding, k).summary.quality
        chosen = ' aria-current="true"' if (embedding, k) == (regions.embedding, regions.k) else ""
        entropy = _number(q.entropy, q.entropy_low, q.entropy_high, " bits")
        rows.append(
            f'<tr{chosen}><th scope="row">{escape(embedding)}</th><td>{k}</td><td>{entropy}</td><td>{q.prompts:,}</td>'
            f"<td>{_number(q.stability, q.stability_low, q.stability_high)}</td><td>{q.refits:,}</td>"
            f"<td>{'not computed' if q.own is None else percent(q.own)}</td></tr>"
        )
    heads = ("Embedding", "Regions", "Entropy within a prompt (95 % interval)", "Prompts")
    heads += ("Stability (lowest to highest)", "Refits", "Identities nearest to their own region")
    titles = "".join(f'<th scope="col">{head}</th>' for head in heads)
    notes = "".join(f"<li>{escape(note)}</li>" for note in regions.summary.notes)
    return (
        '<div class="lk-scroll" tabindex="0" role="region" aria-label="Quality of each choice"><table><thead><tr>'
        f"{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        '</div><p class="lk-reading">Entropy: how far the images of one identity prompt spread over regions; fewer '
        "bits are better, at the same number of regions only (more regions always spread more). Stability: how alike "
        "the regions come out when the identities are resampled; 1 is the same, 0 as by chance.</p>"
        f"{f'<ul>{notes}</ul>' if notes else ''}"
    )


def _number(value: float | None, low: float | None, high: float | None, unit: str = "") -> str:
    if value is None:
        return "not computed"
    between = "" if low is None or high is None else f" ({low:.2f} to {high:.2f})"
    return f"{value:.2f}{between}{unit}"


def table(stores: Mapping[str, Audit], params: Params) -> pd.DataFrame:
    """The regions of a view as a table for download: a row a system, subset and region, with the region's phrases."""
    view = from_params(stores, params)
    if not view.k:
        return pd.DataFrame({"audit": [view.audit], "problem": ["no identity regions"]})
    audit = stores[view.audit]
    regions = regions_of(audit, view)
    frame = shares(audit, regions).rename(columns={"low": "wilson95_low", "high": "wilson95_high"})
    described = pd.DataFrame({"region": np.arange(regions.k)})
    described["identities"] = [region.size for region in regions.summary.regions]
    for axis in groups.axes_of(regions):
        described[f"top_{axis}_phrases"] = [
            "|".join(f"{phrase} {n}" for phrase, n in region.phrases.get(axis, ())[: groups.TOP[axis]])
            for region in regions.summary.regions
        ]
    frame.insert(0, "embedding", regions.embedding)
    frame.insert(1, "k", regions.k)
    return frame.merge(described, on="region")
