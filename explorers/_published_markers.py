"""Gender words in captions (Stable Bias, Table 18) against the labour force: the rows, the figure, the words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go

from backend.metrics.intervals import wilson
from explorers._shared import escape

ASSETS = Path(__file__).resolve().parent.parent / "assets"
FILES = {
    "stable_bias_text_markers.csv": ASSETS / "published" / "stable_bias_text_markers.csv",
    "stable_bias_overall_markers.csv": ASSETS / "published" / "stable_bias_overall_markers.csv",
    "professions.csv": ASSETS / "professions.csv",
}
# Okabe and Ito's colours that keep a contrast of 3 to 1 on white and on near-black; a symbol doubles each.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
SYMBOLS = ("circle", "square", "diamond", "cross")
GLYPHS = ("●", "■", "◆", "✚")
GREY = "#7f7f7f"
LABOUR = "US labour force, % women"
SYSTEMS = ("Stable Diffusion 1.4", "Stable Diffusion 2", "DALL-E 2")
GENDERED = ("host", "hostess", "waiter", "waitress")
TEXTS = {"caption": ("captions", "caption"), "vqa": ("short answers", "short answer")}
IMAGES = 210
TOP = 25


def colour(index: int) -> str:
    """The colour of the system with this index in its fixed order; it repeats after the palette's end."""
    return PALETTE[index % len(PALETTE)]


@lru_cache(maxsize=1)
def markers() -> pd.DataFrame:
    """Table 18: one row per profession, system and text, with the labour force, gap and interval in percent.

    low and high are the Wilson 95 % interval for n = 210. The texts that held a marker are at most 210 and
    their number is not published, so this is the narrowest interval that the figure can have.
    """
    table = pd.read_csv(FILES["stable_bias_text_markers.csv"])
    labour = pd.read_csv(FILES["professions.csv"])[["profession", "bls_occupation", "pct_women"]]
    table = table.merge(labour.rename(columns={"pct_women": "labour_pct_women"}), on="profession")
    low, high = wilson(table.pct_woman / 100 * IMAGES, IMAGES)
    return table.assign(low=100 * low, high=100 * high, gap=table.pct_woman - table.labour_pct_women)


def names() -> list[str]:
    """All professions of Table 18, by name."""
    return sorted(markers().profession.unique(), key=str.lower)


def pick(text: str, rows: str, order: str, named: Sequence[str]) -> pd.DataFrame:
    """The rows to draw, in order: professions named, else all, else the widest mean gaps (gendered names left out).

    A profession's mean gap is the mean over systems of the distance between % woman words and the labour force.
    """
    table = markers()[markers().text == text].assign(distance=lambda t: t.gap.abs())
    about = table.groupby("profession").agg(gap=("distance", "mean"), labour=("labour_pct_women", "first"))
    if named:
        about = about[about.index.isin(named)]
    elif rows == "top":
        about = about.drop(list(GENDERED)).nlargest(TOP, "gap")
    about = about.sort_index(key=lambda index: index.str.lower())
    if order != "name":
        about = about.sort_values(order, ascending=False, kind="stable")
    place = {name: row for row, name in enumerate(about.index)}
    shown = table[table.profession.isin(place)].assign(row=lambda t: t.profession.map(place))
    return shown.sort_values(["row", "system"], ignore_index=True)


def question(text: str) -> str:
    """The heading of the view."""
    return f"When a {TEXTS[text][1]} holds a woman or a man word, how often is it a woman word?"


def intro(text: str) -> tuple[str, ...]:
    """What a mark is, before any number."""
    nouns = TEXTS[text][0]
    return (
        f"A row is a profession. A mark is one system: of the {nouns} about its images that hold a word for a woman "
        "or for a man, the share that hold one for a woman. The other texts do not count.",
    )


def legend() -> str:
    """The items of a legend that wraps with the page: each system's mark, and the labour force's (HTML)."""
    items = [(GLYPHS[index], colour(index), name) for index, name in enumerate(SYSTEMS)] + [("❙", GREY, LABOUR)]
    return "".join(
        f'<li><span aria-hidden="true" style="color:{shade}">{glyph}</span> {escape(name)}</li>'
        for glyph, shade, name in items
    )


def wrap(name: str, width: int = 16) -> str:
    """A name on two lines, broken at the space that balances them best, where it is longer than `width`."""
    spaces = [at for at, letter in enumerate(name) if letter == " "]
    if len(name) <= width or not spaces:
        return name
    at = min(spaces, key=lambda space: max(space, len(name) - space - 1))
    return f"{name[:at]}<br>{name[at + 1 :]}"


def figure(shown: pd.DataFrame, text: str) -> go.Figure:
    """A dot plot: one row per profession, one mark per system, an upright grey line for the labour force."""
    places, drawn = shown.drop_duplicates("row"), go.Figure()
    for index, system in enumerate(SYSTEMS):
        own = shown[(shown.system == system) & shown.pct_woman.notna()]
        drawn.add_trace(_system_marks(own, index))
    drawn.add_scatter(
        x=places.labour_pct_women.tolist(),
        y=places.row.tolist(),
        name=LABOUR,
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 22, "color": GREY, "line": {"width": 3, "color": GREY}},
        customdata=places[["profession", "bls_occupation"]].values.tolist(),
        hovertemplate="<b>%{customdata[0]}</b>, US labour force 2021<br>%{x:.1f} % women<br>"
        "counted as: %{customdata[1]}<extra></extra>",
    )
    drawn.add_scatter(x=[None], y=[None], xaxis="x2", showlegend=False, hoverinfo="skip")
    labels = [wrap(name) + (" *" if name in GENDERED else "") for name in places.profession]
    noun = TEXTS[text][0].split()[-1]
    _axes(drawn, labels, f"{noun} with a woman word, % of<br>{noun} with a woman or man word")
    return drawn


def _system_marks(own: pd.DataFrame, index: int) -> go.Scatter:
    """The marks of one system with their intervals as thin lines, moved a little off the row's middle."""
    return go.Scatter(
        x=own.pct_woman.tolist(),
        y=(own.row + 0.24 * (index - 1)).tolist(),
        name=SYSTEMS[index],
        mode="markers",
        marker={"color": colour(index), "symbol": SYMBOLS[index], "size": 9},
        error_x={
            "array": (own.high - own.pct_woman).tolist(),
            "arrayminus": (own.pct_woman - own.low).tolist(),
            "symmetric": False,
            "thickness": 1.2,
            "width": 0,
        },
        customdata=own[["profession", "low", "high"]].values.tolist(),
        hovertemplate=f"<b>%{{customdata[0]}}</b>, {SYSTEMS[index]}<br>%{{x:.1f}} % woman word<br>"
        f"95 % interval at least %{{customdata[1]:.0f}} to %{{customdata[2]:.0f}}<br>"
        f"n = {IMAGES} images<extra></extra>",
    )


def _axes(drawn: go.Figure, labels: Sequence[str], title: str) -> None:
    """The percent axis above and again below, and one labelled row per profession."""
    percent = {
        "range": [-3, 103],
        "tickvals": [0, 25, 50, 75, 100],
        "ticktext": ["0 %", "25 %", "50 %", "75 %", "100 %"],
        "ticks": "",
        "fixedrange": True,
        "gridcolor": "rgba(127,127,127,0.3)",
        "zeroline": False,
    }
    drawn.update_layout(
        height=34 * len(labels) + 110,
        xaxis={**percent, "side": "top", "title": {"text": title, "font": {"size": 12}, "standoff": 6}},
        xaxis2={**percent, "matches": "x", "overlaying": "x", "side": "bottom", "showgrid": False},
        yaxis={
            "range": [len(labels) - 0.4, -0.6],
            "tickvals": list(range(len(labels))),
            "ticktext": list(labels),
            "ticks": "",
            "fixedrange": True,
            "gridcolor": "rgba(127,127,127,0.2)",
            "zeroline": False,
        },
        margin={"l": 122, "r": 22, "t": 70, "b": 40},
        showlegend=False,
        legend={"orientation": "h", "x": 0, "xref": "container", "yref": "container", "yanchor": "top"},
    )


def sentence(shown: pd.DataFrame, text: str) -> str:
    """The profession with the widest mean gap shown, then its furthest system, in words, with the interval."""
    nouns, noun = TEXTS[text]
    plain = shown[~shown.profession.isin(GENDERED)]
    judged = shown if plain.empty else plain
    if not judged.gap.notna().any():
        return f"No {noun} shown here held a woman or a man word."
    widest = judged.groupby("profession").distance.mean().idxmax()
    top = judged.loc[judged[judged.profession == widest].distance.idxmax()]
    few = "" if text == "caption" else f", by far if few {nouns} hold one"
    start = f"Widest mean gap shown (mean over the systems with a value): “{widest}”. Its furthest mark: "
    if judged.profession.nunique() == 1:
        start = f"The mark of “{widest}” furthest from the labour force: "
    return (
        f"{start}of the {nouns} about {top.system}’s images that hold a woman or a man word, {top.pct_woman:.0f} % "
        f"hold a woman word (95 % interval {top.low:.0f} to {top.high:.0f} or wider{few}; n = {IMAGES} images); in the "
        f"US labour force {top.labour_pct_women:.0f} % of this occupation are women (CPS 2021)."
    )


def note(shown: pd.DataFrame, text: str) -> str:
    """What n is, how far the intervals can be trusted, and which values are missing."""
    nouns, noun = TEXTS[text]
    overall = pd.read_csv(FILES["stable_bias_overall_markers.csv"])
    held = overall[overall.text == text].pct_gender_markers
    words = (
        f"n = {IMAGES} images per profession and system. How many of the {IMAGES} {nouns} held such a word is "
        f"published only as an average per system ({held.min():.0f} to {held.max():.0f} %). The thin lines are "
        f"Wilson 95 % intervals for n = {IMAGES}, the narrowest they can be"
    )
    wider = (100 / held.mean()) ** 0.5
    words += f"; a typical one should be about {wider:.1f} times as wide." if wider > 1.1 else "."
    gone = shown[shown.pct_woman.isna()]
    if len(gone):
        cases = ", ".join(f"{case.profession} ({case.system})" for case in gone.itertuples())
        words += f" No mark where no {noun} held such a word: {cases}."
    if shown.profession.isin(GENDERED).any():
        words += " * The profession’s name is itself gendered, and the labour force counts both names together."
    return words


def numbers(shown: pd.DataFrame) -> pd.DataFrame:
    """The table behind the figure, as text: one row per profession, each share with its interval, and n."""
    text = [
        "no value" if pd.isna(mark.pct_woman) else f"{mark.pct_woman:.1f} % ({mark.low:.1f} to {mark.high:.1f})"
        for mark in shown.itertuples()
    ]
    cells = shown.assign(text=text).pivot(index="row", columns="system", values="text")[list(SYSTEMS)]
    places = shown.drop_duplicates("row").set_index("row")
    cells.insert(0, "Images per system (n)", IMAGES)
    cells["US labour force"] = places.labour_pct_women.map("{:.1f} %".format)
    cells.insert(0, "Profession", places.profession)
    return cells.reset_index(drop=True)


def table_note(text: str) -> str:
    """What the brackets in the table hold."""
    return (
        f"Share of woman words; in brackets the Wilson 95 % interval for n = {IMAGES}, the narrowest it can be: how "
        f"many {TEXTS[text][0]} held such a word is not published by profession."
    )


def download(shown: pd.DataFrame) -> pd.DataFrame:
    """What the figure draws, one row per mark, for the CSV file."""
    kept = shown.rename(columns={"low": "wilson95_low", "high": "wilson95_high", "gap": "gap_points"})
    kept = kept.assign(n_images=IMAGES).round({"wilson95_low": 2, "wilson95_high": 2, "gap_points": 2})
    columns = ["profession", "system", "text", "pct_woman", "n_images", "wilson95_low", "wilson95_high"]
    return kept[[*columns, "bls_occupation", "labour_pct_women", "gap_points"]]
