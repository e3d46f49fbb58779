"""The README's tables, written from evaluation.csv and realised.csv so that no figure is typed by hand."""

from __future__ import annotations

from pathlib import Path

from backend.starter.data import read_rows
from backend.starter.words import PROFESSIONS, SYSTEMS

MARK = "<!-- {}: written by python -m backend.starter evaluate -->"


def percent(text: str) -> str:
    """A share as whole per cent."""
    return f"{100 * float(text):.0f}"


def evaluation_table(rows: list[dict[str, str]]) -> str:
    """Every row of evaluation.csv that is an accuracy or was answered often enough to matter."""
    lines = ["| model | what | renders | answer | share, % | 95 % interval | n |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        if row["value"] == "right" or float(row["share"]) >= 0.02:
            interval = f"{percent(row['low'])} to {percent(row['high'])}"
            share = f"{100 * float(row['share']):.1f}"
            cells = (row["model"], row["what"], row["group"], row["value"], share, interval, row["n"])
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def realised_table(rows: list[dict[str, str]], guidance: str) -> str:
    """Planted and realised % women by profession and system, with intervals."""
    kept = {
        (row["system"], row["profession"]): row
        for row in rows
        if row["attribute"] == "gender" and row["value"] == "woman" and row["guidance"] == guidance
    }
    lines = [f"| profession | {' | '.join(SYSTEMS)} |", "|---|" + "---|" * len(SYSTEMS)]
    for profession in PROFESSIONS:
        cells = []
        for system in SYSTEMS:
            row = kept[system, profession]
            interval = f"{percent(row['low'])} to {percent(row['high'])}"
            cells.append(f"{percent(row['planted'])} → {percent(row['share'])} ({interval})")
        lines.append(f"| {profession} | {' | '.join(cells)} |")
    return "\n".join(lines)


def recovery_table(rows: list[dict[str, str]]) -> str:
    """By system and guidance: mean distance from the plan, intervals that hold it, and costumes recognised."""
    lines = [
        "| system | guidance | attribute | mean distance, points | intervals that hold the plan | n each |",
        "|---|---|---|---|---|---|",
    ]
    for key in sorted({(row["system"], row["guidance"], row["attribute"]) for row in rows}):
        some = [row for row in rows if (row["system"], row["guidance"], row["attribute"]) == key]
        if key[2] == "gender":
            some = [row for row in some if row["value"] == "woman"]
        gaps = [abs(float(row["share"]) - float(row["planted"])) for row in some]
        held = sum(float(row["low"]) <= float(row["planted"]) <= float(row["high"]) for row in some)
        mean = f"{100 * sum(gaps) / len(gaps):.1f}"
        lines.append(f"| {' | '.join(key)} | {mean} | {held} of {len(some)} | {some[0]['n']} |")
    return "\n".join(lines)


def fill(text: str, name: str, table: str) -> str:
    """The text with the table between its two marks renewed."""
    mark = MARK.format(name)
    before, _, after = text.split(mark)
    return f"{before}{mark}\n\n{table}\n\n{mark}{after}"


def write_tables(out: Path) -> None:
    """Renew the tables of README.md in `out`, where it has their marks."""
    readme = out / "README.md"
    if not readme.exists() or MARK.format("evaluation") not in readme.read_text():
        return
    realised = read_rows(out / "realised.csv")
    text = fill(readme.read_text(), "evaluation", evaluation_table(read_rows(out / "evaluation.csv")))
    text = fill(text, "recovery", recovery_table(realised))
    for guidance in sorted({row["guidance"] for row in realised}):
        if MARK.format(f"realised {guidance}") in text:
            text = fill(text, f"realised {guidance}", realised_table(realised, guidance))
    readme.write_text(text)
