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


def realised_table(rows: list[dict[str, str]]) -> str:
    """Planted and realised % women by profession and system, with intervals."""
    kept = {(row["system"], row["subject"]): row for row in rows if row["value"] == "woman"}
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
    """By system and attribute: mean shares, mean distance from the plan, and how many intervals hold the plan."""
    heads = ("system", "attribute", "planted, mean %", "realised, mean %", "mean distance, points")
    heads += ("intervals that hold the plan", "n each")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    rows = [row for row in rows if row["subject"] in PROFESSIONS]
    for system, attribute in dict.fromkeys((row["system"], row["attribute"]) for row in rows):
        some = [row for row in rows if (row["system"], row["attribute"]) == (system, attribute)]
        if attribute == "gender":
            some = [row for row in some if row["value"] == "woman"]
        planted, realised = ([float(row[key]) for row in some] for key in ("planted", "share"))
        held = sum(float(row["low"]) <= float(row["planted"]) <= float(row["high"]) for row in some)
        gaps = [abs(plan - share) for plan, share in zip(planted, realised, strict=True)]
        means = [f"{100 * sum(values) / len(some):.1f}" for values in (planted, realised, gaps)]
        named = "% women" if attribute == "gender" else attribute
        lines.append(f"| {' | '.join((system, named, *means))} | {held} of {len(some)} | {some[0]['n']} |")
    return "\n".join(lines)


def obeyed_table(rows: list[dict[str, str]]) -> str:
    """How often the answer is the word that an identity prompt held, by word and system."""
    kept = {(row["system"], row["value"]): row for row in rows if row["subject"] == "identity prompts"}
    lines = [f"| word in the prompt | {' | '.join(SYSTEMS)} |", "|---|" + "---|" * len(SYSTEMS)]
    for word in dict.fromkeys(value for _, value in kept):
        cells = [kept[system, word] for system in SYSTEMS]
        texts = [f"{percent(c['share'])} % ({percent(c['low'])} to {percent(c['high'])}, n = {c['n']})" for c in cells]
        lines.append(f"| {word} | {' | '.join(texts)} |")
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
    for name, table in (("recovery", recovery_table), ("realised", realised_table), ("obeyed", obeyed_table)):
        text = fill(text, name, table(realised))
    readme.write_text(text)
