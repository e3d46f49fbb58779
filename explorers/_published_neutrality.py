"""Neutral answers of models (unified framework, Tables 2, 3, 7 and 8): the cells and the heatmap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from backend.metrics.intervals import multinomial_interval, wilson
from explorers._shared import escape

PUBLISHED = Path(__file__).resolve().parent.parent / "assets" / "published"
FILES = {name: PUBLISHED / name for name in ("unified_neutrality.csv", "unified_accuracy.csv")}
INPUTS = 1016
ATTRIBUTES = ("gender", "race", "age")
DIRECTIONS = {"image-to-text": "Image to text", "text-to-text": "Text to text"}
PROBES = {
    "blind-direct": "Direct question, profession only",
    "informed-direct": "Direct question, action described",
    "blind-indirect": "Casting task, profession only",
    "informed-indirect": "Casting task, action described",
}
MEASURES = {"neutrality": ("delta_neutrality", "low", "high"), "ag": ("ag", "ag_low", "ag_high")}
QUESTIONS = {
    "neutrality": "How neutral are models’ answers when nothing in the input shows gender, race or age?",
    "ag": "When models do choose a gender, race or age, how evenly do their choices fall?",
}


@dataclass(frozen=True)
class Key:
    """A colour scale with its words: title, named colours, and what its two ends say."""

    title: str
    colours: str
    low: int
    ends: tuple[str, str]


# Cividis reads without telling red from green, and in print; purple to orange is signed, greys are not.
KEYS = {
    "neutrality": Key("Neutrality", "Cividis", 0, ("0 one class takes all", "1 never guesses")),
    "gender": Key("AG, gender", "PuOr_r", -1, ("−1 all male", "+1 all female")),
    "unsigned": Key("ΔAG, race and age (no sign)", "Greys", 0, ("0 even", "1 one-sided")),
}


def pair_neutrality(counts: np.ndarray) -> np.ndarray:
    """Neutrality of rows of counts (female, male, neutral): (min + neutral) / (max + all)."""
    pair = counts[:, :2]
    return (pair.min(axis=1) + counts[:, 2]) / (pair.max(axis=1) + counts.sum(axis=1))


def gender_counts(cell: pd.Series, neutral_share: float) -> list[float]:
    """The counts (female, male, neutral) behind a gender cell, from its AG and the share of neutral answers.

    By hand: AG = -0.464 and 16.3 % neutral of 1,016 give 165.6 neutral, 850.4 that chose, 227.9 female, 622.5
    male; their neutrality (227.9 + 165.6) / (622.5 + 1016) = 0.240 is what the paper prints (0.241).
    """
    neutral = INPUTS * neutral_share
    chose = INPUTS - neutral
    return [chose * (1 + cell.ag) / 2, chose * (1 - cell.ag) / 2, neutral]


@lru_cache(maxsize=1)
def cells() -> pd.DataFrame:
    """The published cells, with an interval for those whose counts the paper's own tables give back.

    These are the gender cells of the image-to-text direction: Table 9 holds their share of neutral answers. A
    cell keeps its interval only if the counts reproduce the printed neutrality to 0.0015. Neutrality's interval
    is a bootstrap; that of AG is Wilson's for the share of female among the answers that chose, AG being
    2 * share - 1, so that the two say the same. n_chose and n_female are rounded: they are known to about 1.
    """
    table = pd.read_csv(FILES["unified_neutrality.csv"])
    table[["n_chose", "n_female", "low", "high", "ag_low", "ag_high"]] = np.nan
    share = pd.read_csv(FILES["unified_accuracy.csv"]).query("attribute == 'gender' and `class` == 'neutral'")
    share = share.set_index(["probe", "model"]).accuracy
    for at, cell in table[(table.direction == "image-to-text") & (table.attribute == "gender")].iterrows():
        counts = gender_counts(cell, share[cell.probe, cell.model])
        if abs(pair_neutrality(np.array([counts]))[0] - cell.delta_neutrality) < 0.0015:
            chose = round(counts[0] + counts[1])
            female = round(chose * (1 + cell.ag) / 2)
            low, high = wilson(female, chose)
            table.loc[at, ["n_chose", "n_female"]] = chose, female
            table.loc[at, ["low", "high"]] = multinomial_interval(counts, pair_neutrality)
            table.loc[at, ["ag_low", "ag_high"]] = 2 * low - 1, 2 * high - 1
    return table


def pick(direction: str) -> pd.DataFrame:
    """The cells of a direction, or of both."""
    return cells() if direction == "both" else cells()[cells().direction == direction]


def lines(shown: pd.DataFrame) -> list[tuple[str, pd.DataFrame | None]]:
    """The heatmap's lines from the top: a heading (no cells) for each direction and probe, then its models."""
    found: list[tuple[str, pd.DataFrame | None]] = []
    several = shown.direction.nunique() > 1
    for (direction, probe), group in shown.groupby(["direction", "probe"], sort=False):
        if several and (direction not in {head for head, _ in found}):
            found.append((direction, None))
        found.append((probe, None))
        found += [(model, own.set_index("attribute")) for model, own in group.groupby("model", sort=False)]
    return found


def figure(shown: pd.DataFrame, measure: str) -> go.Figure:
    """A heatmap: models by direction and probe, attributes across; AG of gender has its own, signed scale."""
    rows, drawn = lines(shown), go.Figure()
    groups = [ATTRIBUTES] if measure == "neutrality" else [ATTRIBUTES[:1], ATTRIBUTES[1:]]
    for group in groups:
        drawn.add_trace(_block(rows, measure, group))
        drawn.add_trace(_figures(rows, measure, group))
    for at, (name, own) in enumerate(rows):
        if own is None:
            text = DIRECTIONS.get(name) or f"{PROBES[name]} ({name.split('-')[0]})"
            place = {"x": 0, "xref": "x domain", "xshift": -114, "xanchor": "left", "y": at, "yshift": -2}
            font = {"size": 14 if name in DIRECTIONS else 12}
            drawn.add_annotation(text=f"<b>{text}</b>", showarrow=False, font=font, **place)
    models = [(at, name) for at, (name, own) in enumerate(rows) if own is not None]
    still = {"ticks": "", "fixedrange": True, "showgrid": False, "zeroline": False}
    heads = [column(measure, attribute).replace(" ", "<br>") for attribute in ATTRIBUTES]
    across = {"side": "top", "range": [-0.5, 2.5], "tickvals": [0, 1, 2], "ticktext": heads, "tickangle": 0}
    down = {"range": [len(rows) - 0.5, -0.5], "tickvals": [at for at, _ in models]}
    drawn.update_layout(
        height=26 * len(rows) + 60,
        margin={"l": 118, "r": 8, "t": 50, "b": 10},
        xaxis={**still, **across},
        yaxis={**still, **down, "ticktext": [name for _, name in models]},
    )
    return drawn


def _key(measure: str, group: Sequence[str]) -> str:
    """Which colour scale a group of attributes has: AG of gender alone is signed."""
    return measure if measure == "neutrality" else "gender" if tuple(group) == ATTRIBUTES[:1] else "unsigned"


def legend(measure: str) -> str:
    """The items of a legend that wraps with the page: each colour scale with its ends, zero marked (HTML)."""
    items = ""
    for name in ["neutrality"] if measure == "neutrality" else ["gender", "unsigned"]:
        key = KEYS[name]
        shades = ", ".join(sample_colorscale(key.colours, [step / 8 for step in range(9)]))
        middle = "0" if key.low < 0 else ""
        items += (
            f'<li>{escape(key.title)}: {escape(key.ends[0])} <span class="scale" style="background:'
            f'linear-gradient(90deg, {shades})">{middle}</span> {escape(key.ends[1])}</li>'
        )
    return items


def column(measure: str, attribute: str) -> str:
    """The heading of a column: the mean over pairs of classes carries a delta."""
    symbol = "N" if measure == "neutrality" else "AG"
    delta = "" if attribute == "gender" else "Δ"
    return f"{attribute.capitalize()} {delta}{symbol}"


def _block(rows: list, measure: str, group: tuple[str, ...]) -> go.Heatmap:
    """The cells of some attributes. Their colour bar, right of the cells, is only for the PNG: see `legend`."""
    values = [
        [None if own is None else float(own.loc[name, MEASURES[measure][0]]) for name in group] for _, own in rows
    ]
    scale = KEYS[_key(measure, group)]
    return go.Heatmap(
        x=[ATTRIBUTES.index(name) for name in group],
        y=list(range(len(rows))),
        z=values,
        customdata=[
            [_hover(label, own, name, measure) if own is not None else "" for name in group] for label, own in rows
        ],
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        colorscale=scale.colours,
        zmin=scale.low,
        zmax=1,
        xgap=2,
        ygap=2,
        showscale=False,
        colorbar={
            "title": {"text": scale.title.replace(", ", "<br>"), "font": {"size": 12}},
            "thickness": 12,
            "len": 0.45 if measure == "ag" else 0.9,
            "y": 0.25 if group == ATTRIBUTES[1:] else 0.75 if measure == "ag" else 0.5,
        },
    )


def _figures(rows: list, measure: str, group: tuple[str, ...]) -> go.Scatter:
    """The numbers in the cells, each in black or white, whichever stands out more from its cell."""
    scale = KEYS[_key(measure, group)]
    spots = [(name, at, own) for at, (_, own) in enumerate(rows) if own is not None for name in group]
    values = [float(own.loc[name, MEASURES[measure][0]]) for name, _, own in spots]
    shades = sample_colorscale(scale.colours, [(value - scale.low) / (1 - scale.low) for value in values])
    return go.Scatter(
        x=[ATTRIBUTES.index(name) for name, _, _ in spots],
        y=[at for _, at, _ in spots],
        mode="text",
        text=[number(value, scale.low < 0) for value in values],
        textfont={"color": [ink(shade) for shade in shades], "size": 12},
        hoverinfo="skip",
        showlegend=False,
    )


def ink(shade: str) -> str:
    """Black or white text for a cell of colour "rgb(r, g, b)": the one with the higher WCAG contrast.

    Their contrasts are equal at a relative luminance of sqrt(1.05 * 0.05) - 0.05 = 0.179, where both are 4.6.
    """
    parts = np.array([float(part) / 255 for part in shade[4:-1].split(",")])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return "#000000" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "#ffffff"


def number(value: float, signed: bool = False) -> str:
    """A measure with three decimals, as the paper prints it, and a true minus sign."""
    return f"{value:{'+' if signed else ''}.3f}".replace("-", "−")


def interval(cell: pd.Series, measure: str) -> str:
    """The 95 % interval of a cell in words, or that there is none."""
    _, low, high = MEASURES[measure]
    if pd.isna(cell[low]):
        return "no interval can be derived"
    return f"95 % interval {number(cell[low])} to {number(cell[high])}"


def _hover(model: str, own: pd.DataFrame, attribute: str, measure: str) -> str:
    cell = own.loc[attribute]
    head = f"<b>{model}</b>, {column(measure, attribute)} {number(cell[MEASURES[measure][0]])}"
    chose = ""
    if measure == "ag":
        chose = ", answers that chose: " + (f"about {cell.n_chose:,.0f}" if pd.notna(cell.n_chose) else "not published")
    return f"{head}<br>{PROBES[cell.probe]}<br>{interval(cell, measure)}<br>n = {INPUTS:,} inputs{chose}"
