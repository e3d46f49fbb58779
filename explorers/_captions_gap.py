"""Markers against the labour force, by profession: own systems and published ones in one chart."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from backend.metrics.intervals import wilson
from backend.metrics.lexicon import gendered_names
from backend.metrics.markers import averages, gaps, shares
from backend.store import Audit
from explorers._charts import GREY, SYSTEM_COLOURS, SYSTEM_SYMBOLS, axis_style
from explorers._published_markers import IMAGES, markers
from explorers._shared import count, escape, labour_force, percent
from explorers._texts import flags_of, language_of, lexicon, texts_of

TOP = 25
ORDERS = {"gap": "Widest mean gap", "labour": "Labour force", "name": "Name"}
PUBLISHED_GLYPHS = ("○", "□", "◇")


@lru_cache(maxsize=32)
def own(audit: Audit, key: str) -> pd.DataFrame:
    """Markers of an audit's profession prompts: a row a profession and system; see metrics.markers.shares and gaps."""
    texts = texts_of(audit, key)
    asked = (texts["subset"].astype(str) == "professions").to_numpy()
    part = texts[asked]
    groups = {name: part[name].astype(str).to_numpy() for name in ("profession", "system")}
    table = shares(flags_of(audit, key)[asked].reset_index(drop=True), groups)
    return gaps(table, labour_force()["pct_women"]).assign(published=False)


def published(key: str) -> pd.DataFrame:
    """Table 18 of Stable Bias in the same columns; its n is images, so its intervals are the narrowest they can be."""
    table = markers()[markers()["text"] == ("caption" if key.endswith(":caption") else "vqa")]
    table = table.rename(columns={"low": "pct_woman_low", "high": "pct_woman_high", "labour_pct_women": "labour"})
    return table.assign(n=IMAGES, mentions=-1, published=True)


def picked(audit: Audit, key: str, order: str, everything: bool, with_published: bool) -> pd.DataFrame:
    """The marks to draw, with `place` (the row from 0): the audit's professions, the widest mean gaps or all."""
    table = own(audit, key)
    if with_published:
        more = published(key)
        table = pd.concat([table, more[more["profession"].isin(table["profession"])]], ignore_index=True)
    mine = table[~table["published"].astype(bool)]
    about = mine.groupby("profession").agg(gap=("gap", lambda g: g.abs().mean()), labour=("labour", "first"))
    about = about.sort_index(key=lambda names: names.str.casefold())
    if not everything:
        about = about.loc[about["gap"].fillna(-1).sort_values(ascending=False, kind="stable").index[:TOP]]
        about = about.sort_index(key=lambda names: names.str.casefold())
    if order != "name":
        about = about.sort_values(order, ascending=False, kind="stable", na_position="last")
    places = {name: place for place, name in enumerate(about.index)}
    table = table[table["profession"].isin(places)]
    return table.assign(place=table["profession"].map(places)).sort_values(["place", "system"], ignore_index=True)


def gendered(audit: Audit, key: str, names: list[str]) -> list[str]:
    """The professions among `names` whose own name is a gendered word."""
    return gendered_names(names, lexicon().get(language_of(audit, key), {}))


def figure(shown: pd.DataFrame, systems: list[str], starred: list[str]) -> go.Figure:
    """A row a profession: filled marks are the audit's systems, open ones published, upright lines work."""
    drawn, mine = go.Figure(), shown[~shown["published"].astype(bool)]
    theirs = shown[shown["published"].astype(bool)]
    groups = [(mine[mine["system"] == system], index, False) for index, system in enumerate(systems)]
    groups += [(theirs[theirs["system"] == name], index, True) for index, name in enumerate(published_systems(shown))]
    for number, (part, index, open_) in enumerate(groups):
        drawn.add_trace(_marks(part[part["pct_woman"].notna()], index, open_, (number + 0.5) / len(groups) - 0.5))
    places = shown.drop_duplicates("place")
    places = places[places["labour"].notna()]
    drawn.add_scatter(
        x=places["labour"].tolist(),
        y=places["place"].tolist(),
        mode="markers",
        name="US labour force",
        marker={"symbol": "line-ns-open", "size": 22, "color": GREY, "line": {"width": 3, "color": GREY}},
        hovertemplate="US labour force 2021: %{x:.1f} % women<extra></extra>",
    )
    names = shown.drop_duplicates("place").sort_values("place")["profession"]
    labels = [escape(name) + (" *" if name in starred else "") for name in names]
    axis_style(drawn, labels, "% woman words", [-3, 103])
    drawn.update_layout(height=max(34 * len(labels), 80) + 90)
    return drawn


def _marks(part: pd.DataFrame, index: int, open_: bool, shift: float) -> go.Scatter:
    name = escape(part["system"].iloc[0]) if len(part) else ""
    known = np.where(part["mentions"] < 0, f"at most {IMAGES} texts", part["mentions"].astype(str) + " mentions")
    symbol = SYSTEM_SYMBOLS[index % 8] + ("-open" if open_ else "")
    return go.Scatter(
        x=part["pct_woman"].tolist(),
        y=(part["place"] + 0.6 * shift).tolist(),
        mode="markers",
        name=f"{name} (published)" if open_ else name,
        marker={"symbol": symbol, "size": 9, "color": "#444444" if open_ else SYSTEM_COLOURS[index % 8]},
        error_x={
            "array": (part["pct_woman_high"] - part["pct_woman"]).tolist(),
            "arrayminus": (part["pct_woman"] - part["pct_woman_low"]).tolist(),
            "symmetric": False,
            "thickness": 1,
            "width": 0,
        },
        customdata=np.stack([part["pct_woman_low"], part["pct_woman_high"], known], axis=1).tolist()
        if len(part)
        else [],
        hovertemplate=f"<b>{name}</b>{' (published)' if open_ else ''}<br>%{{x:.0f}} % woman words<br>"
        "95 % interval %{customdata[0]:.0f} to %{customdata[1]:.0f}, n = %{customdata[2]}<extra></extra>",
    )


def published_systems(shown: pd.DataFrame) -> list[str]:
    """The published systems that a table holds."""
    return sorted(shown.loc[shown["published"].astype(bool), "system"].astype(str).unique())


def legend_more(shown: pd.DataFrame) -> str:
    """What the legend says beside the audit's systems (HTML)."""
    items = "".join(
        f'<li><span aria-hidden="true">{PUBLISHED_GLYPHS[i % 3]}</span> {escape(name)}, published</li>'
        for i, name in enumerate(published_systems(shown))
    )
    return f'{items}<li><span aria-hidden="true" style="color:{GREY}">❙</span> US labour force, % women</li>'


def sentence(shown: pd.DataFrame, noun: str) -> str:
    """The mark furthest from the labour force among this audit's, in words, with n and interval."""
    mine = shown[~shown["published"].astype(bool) & shown["gap"].notna()]
    if mine.empty:
        return f"None of the {noun}s holds a woman or a man word about a profession that the labour statistics count."
    top = mine.loc[mine["gap"].abs().idxmax()]
    return (
        f"Furthest from the labour force: “{top['profession']}” by {top['system']}. Of {int(top['mentions'])} mentions "
        f"of a woman or a man in its {noun}s, {percent(top['pct_woman'] / 100)} were of a woman (95 % interval "
        f"{top['pct_woman_low']:.0f} to {top['pct_woman_high']:.0f}); in the US labour force {top['labour']:.0f} % of "
        f"this occupation are women (CPS 2021)."
    )


def summary_html(audit: Audit, key: str) -> str:
    """Per system: averages over professions as the paper makes them, and what the counts leave out."""
    table = own(audit, key)
    if table.empty:
        return "<p>None of these texts is about an image of a profession prompt.</p>"
    means = averages(table, ["system"], ["pct_woman", "pct_man"]).set_index("system")
    rows = []
    for system, part in table.groupby("system"):
        n, mean = int(part["n"].sum()), means.loc[system]
        cells = [f"{n:,}", _no(mean["pct_woman"]), f"{int(mean['professions'])} of {len(part)}"]
        cells.append(_no(part["gap"].mean(), "\u00a0points"))
        for column in ("pct_marked", "pct_person", "pct_profession"):
            hits = round(float((part[column] * part["n"] / 100).sum()))
            low, high = wilson(hits, n)
            cells.append(f"{percent(hits / n)} ({percent(low, '')} to {percent(high, '')})")
        cells += [f"{int(part['both'].sum()):,}", f"{int(part['empty'].sum()):,}"]
        row = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(f"<tr><th scope=row>{escape(system)}</th>{row}</tr>")
    heads = (
        "System",
        "Texts",
        "Mean % woman words",
        "Professions with a value",
        "Mean gap",
        "With a woman or man word",
    )
    heads += ("With a neutral word", "Profession named", "With both, counted as both", "Empty")
    head = "".join(f"<th scope=col>{name}</th>" for name in heads)
    return (
        '<div class="lk-scroll" tabindex="0" role="region" aria-label="Averages by system"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="lk-reading">Means weigh each profession alike; those without a marker have no value and do not '
        "count (Stable Bias, Table 1). In brackets: 95 % Wilson intervals.</p>"
    )


def _no(value: float, unit: str = " %") -> str:
    return "no value" if value != value else f"{value:.1f}{unit}"


def note(shown: pd.DataFrame, starred: list[str]) -> str:
    """What stands under the chart."""
    gone = shown[shown["pct_woman"].isna()]
    words = "Lines are 95 % Wilson intervals. Open marks are published figures (Luccioni and others 2023, Table 18) of "
    words += (
        f"other images, prompts and describers; their n is at most {IMAGES}, so their lines are the least they can be."
    )
    if starred:
        words += f" * The profession’s own name is a gendered word, and is not counted: {', '.join(starred[:10])}."
    if len(gone):
        cases = ", ".join(f"{row['profession']} ({row['system']})" for row in gone.head(10).to_dict("records"))
        words += f" {count(len(gone), 'mark')} without a value, as no text held such a word: {cases}."
    return words
