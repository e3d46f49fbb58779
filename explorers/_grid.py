"""Pictures of an audit as HTML: which rows a choice means, a column of figures, and the detail of one image.

Everything from an audit (prompts, names, labels) is hostile text and goes through `escape`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote

import numpy as np
import pandas as pd

from backend.metrics.intervals import wilson
from backend.store import Audit
from explorers._live_ask_links import ask_html
from explorers._neighbours_links import similar_html
from explorers._shared import address, count, escape, percent
from explorers._texts import texts_html

ANY = "-"
SORTS = {
    "number": "Number",
    "seed": "Seed",
    "colourful": "Most colourful first",
    "grey": "Least colourful first",
}
MOST_LABELS = 20
"""Label columns with more values than this are shown, but not offered as a filter."""


@lru_cache(maxsize=32)
def colours(audit: Audit) -> np.ndarray | None:
    """Colourfulness of every row, or None before that stage has run."""
    return audit.measure("colourfulness")


@dataclass(frozen=True)
class Choice:
    """What one column shows: a system, a subject ("" is every prompt) and an adjective (ANY, or "" for none)."""

    system: str
    subject: str = ""
    adjective: str = ANY


@lru_cache(maxsize=32)
def label_columns(audit: Audit) -> dict[str, list[str]]:
    """The imported label columns that can serve as a filter, with their values, "" (no label) last."""
    found = {}
    for name in audit.generations.columns:
        if name.startswith("label_"):
            values = [str(value) for value in audit.generations[name].cat.categories]
            if 1 < len(values) <= MOST_LABELS:
                found[name] = sorted(values, key=lambda value: (value == "", value.casefold()))
    return found


def wording(column: str) -> str:
    """A label column's name as words: `label_gender` is "gender label"."""
    return f"{column.removeprefix('label_').replace('_', ' ')} label"


def split_labels(audit: Audit, labels: Sequence[str]) -> dict[str, list[str]]:
    """`["label_gender:Male"]` -> `{"label_gender": ["Male"]}`, with what the audit does not have left out."""
    known = label_columns(audit)
    wanted: dict[str, list[str]] = {}
    for text in labels:
        column, _, value = text.partition(":")
        if value in known.get(column, ()):
            wanted.setdefault(column, []).append(value)
    return wanted


def rows_of(audit: Audit, choice: Choice, labels: Sequence[str] = ()) -> np.ndarray:
    """The rows that a choice and a label filter mean, in storage order. Labels of one column widen, of two narrow."""
    return _rows_of(audit, choice, tuple(labels))


@lru_cache(maxsize=512)
def _rows_of(audit: Audit, choice: Choice, labels: tuple[str, ...]) -> np.ndarray:
    wanted: dict[str, str | list[str]] = {"system": choice.system, **split_labels(audit, labels)}
    if choice.subject:
        wanted["subject"] = choice.subject
    if choice.adjective != ANY:
        wanted["adjective"] = choice.adjective
    rows = audit.rows(**wanted)
    rows.setflags(write=False)  # many views share it
    return rows


def sorts_of(audit: Audit) -> dict[str, str]:
    """The orders that an audit can be put in: by seed only where it has seeds, by colour once the stage has run."""
    left_out = set()
    if audit.generations["seed"].isna().all():
        left_out.add("seed")
    if colours(audit) is None:
        left_out.update(("colourful", "grey"))
    return {name: words for name, words in SORTS.items() if name not in left_out}


def arranged(audit: Audit, rows: np.ndarray, sort: str) -> np.ndarray:
    """The same rows in the order `sort` (a key of SORTS); rows without the value come last, ties by number."""
    table = audit.generations
    keys = {"number": table["number"].iloc[rows].to_numpy(dtype="float64", na_value=np.nan)}
    if sort == "seed":
        keys["first"] = table["seed"].iloc[rows].to_numpy(dtype="float64", na_value=np.nan)
    values = colours(audit) if sort in ("colourful", "grey") else None
    if values is not None:
        keys["first"] = -values[rows] if sort == "colourful" else values[rows]
    return rows[np.lexsort((rows, keys["number"], keys.get("first", keys["number"])))]


def described(row: pd.Series | Mapping[str, object]) -> str:
    """The alt text of an image: prompt, system and number. A prompt that was not recorded is said to be so."""
    prompt = str(row["prompt"])[:300] or f"prompt not recorded; asked for {row['subject']}"
    return f"{prompt} - {row['system']}, number {row['number']}"


def figures(
    audit: Audit,
    rows: np.ndarray,
    link: str,
    sort: str = "number",
    name_subjects: bool = False,
    marks: Mapping[int, Sequence[str]] | None = None,
) -> str:
    """Thumbnails that open their detail. `link` is the view's address, to which each image is added.

    `marks` are further words under the image of a row. One picture of a grid can be reached with Tab, the others from
    there with the arrow keys (assets/app.js).
    """
    label = next(iter(label_columns(audit)), None)
    columns = ["id", "prompt", "subject", "system", "number", "seed"]
    table = audit.generations[columns + ([label] if label else [])].iloc[rows]
    values = colours(audit) if sort in ("colourful", "grey") else None
    parts, view = [], escape(link)
    for index, (row, data) in enumerate(zip(rows, table.to_dict("records"), strict=True)):
        notes = [f"No. {data['number']}"]
        if name_subjects:
            notes.append(str(data["subject"]))
        if values is not None:
            notes.append(f"colour {values[row]:.0f}")
        elif sort == "seed" and not pd.isna(data["seed"]):
            notes.append(f"seed {data['seed']}")
        if label and data[label]:
            notes.append(f"label: {data[label]}")
        notes += (marks or {}).get(int(row), ())
        name, identity = escape(f"{quote(audit.name)}/{data['id']}"), escape(data["id"])
        caption = "".join(f"<span>{escape(note)}</span>" for note in notes)
        parts.append(
            f'<figure class="lk-figure"><a href="?{view}&amp;image={identity}" data-detail="detail/{name}" '
            f'tabindex="{-1 if index else 0}"><img src="image/{name}/thumbnail" alt="{escape(described(data))}" '
            f'loading="lazy" decoding="async" width="256" height="256"></a><figcaption>{caption}</figcaption></figure>'
        )
    return f'<div class="lk-grid">{"".join(parts)}</div>'


def prompts(audit: Audit, rows: np.ndarray) -> str:
    """What was asked for, as far as it was recorded: the prompt, or how many different prompts and the first."""
    texts = audit.generations["prompt"].iloc[rows].astype("str")
    different = [text for text in dict.fromkeys(texts) if text]
    if not different:
        return '<p class="lk-prompt">Prompt: not recorded.</p>'
    missing = int((texts == "").sum())
    said = f"Prompt: \u201c{different[0]}\u201d"
    if len(different) > 1:
        said = f"{len(different):,} different prompts, the first: \u201c{different[0]}\u201d"
    if missing:
        said += f" (not recorded for {count(missing, 'image')})"
    return f'<p class="lk-prompt" title="{escape(different[0][:1000])}">{escape(said[:1000])}</p>'


def summary(audit: Audit, rows: np.ndarray) -> str:
    """What the imported labels say of some rows: a bar and a table with n and a 95 % interval, or ""."""
    labels = label_columns(audit)
    column = next(iter(labels), None)
    if column is None or len(rows) == 0:
        return ""
    counts = audit.generations[column].iloc[rows].astype("str").value_counts()
    given = int(counts.drop("", errors="ignore").sum())
    if given == 0:
        return f'<p class="lk-reading">No {escape(wording(column))} came with these {count(len(rows), "image")}.</p>'
    lines, bars = [], []
    for index, value in enumerate(v for v in labels[column] if v):
        number = int(counts.get(value, 0))
        low, high = wilson(number, given)
        bars.append(f'<i class="lk-c{index % 8}" style="width:{100 * number / given:.2f}%"></i>')
        lines.append(
            f'<tr><th scope="row"><i class="lk-key lk-c{index % 8}"></i>{escape(value)}</th><td>{number:,}</td>'
            f"<td>{percent(number / given)}</td><td>{percent(low, '')} to {percent(high)}</td></tr>"
        )
    without = f", {len(rows) - given:,} more without one" if len(rows) > given else ""
    return (
        f'<div class="lk-bar" aria-hidden="true">{"".join(bars)}</div><table class="lk-labels"><thead><tr>'
        f'<th scope="col">{escape(wording(column))}, imported</th><th scope="col">of {given:,}{without}</th>'
        f'<th scope="col">share</th><th scope="col">95 % interval</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def offers(audit: Audit, choice: Choice, labels: Sequence[str], link) -> str:
    """What an empty column says: that it is empty, and links to what there is. `link(choice, labels)` -> address."""
    asked = escape(choice.subject or "any prompt")
    if choice.adjective not in (ANY, ""):
        asked = f"{escape(choice.adjective)} {asked}"
    said = f"<p>No image from {escape(choice.system)} for {asked}{' with the chosen labels' if labels else ''}.</p>"
    table = audit.generations
    ways: list[tuple[str, str]] = []
    kinds = [tuple(labels), ()] if labels else [()]
    if labels and len(rows_of(audit, choice)):
        ways.append((f"without the label filter ({len(rows_of(audit, choice))})", link(choice, ())))
    wider = Choice(choice.system, choice.subject)
    if choice.adjective != ANY and len(rows_of(audit, wider, labels)):
        ways.append((f"with any adjective ({len(rows_of(audit, wider, labels))})", link(wider, labels)))
    without = ""
    if not ways:
        counts = {
            kept: table["subject"].iloc[rows_of(audit, Choice(choice.system), kept)].value_counts() for kept in kinds
        }
        kept = next((kept for kept in kinds if counts[kept].sum()), ())
        without = ", without the label filter" if labels and not kept else ""
        for subject, number in counts[kept][counts[kept] > 0].head(16).items():
            ways.append((f"{subject} ({number:,})", link(Choice(choice.system, str(subject)), kept)))
    items = "".join(f'<li><a class="lk-view" href="?{escape(to)}">{escape(words)}</a></li>' for words, to in ways)
    return f'<div class="lk-empty">{said}<p>There is{without}:</p><ul>{items}</ul></div>'


def detail(audit: Audit, row: int) -> str:
    """The inside of the detail dialog: the original, what is known of it, and a download."""
    data = audit.generations.iloc[row]
    name = escape(f"{quote(audit.name)}/{data['id']}")
    facts: list[tuple[str, object]] = [("System", data["system"]), ("Subject", data["subject"])]
    facts += [
        ("Prompt", data["prompt"] or "not recorded"),
        ("Adjective", data["adjective"]),
        ("Action", data["action"]),
    ]
    facts += [("Number", data["number"]), ("Seed", "not recorded" if pd.isna(data["seed"]) else data["seed"])]
    moving = ", moving: its first frame is measured" if data["animated"] else ""
    facts.append(("Size", f"{data['width']:,} x {data['height']:,} pixels, {data['format']}{moving}"))
    values = colours(audit)
    if values is not None and not np.isnan(values[row]):
        facts.append(("Colourfulness", f"{values[row]:.1f} (0 is grey, 109 and more extremely colourful)"))
    for column in sorted(data.index, key=lambda name: not str(name).startswith("label_")):
        if column.startswith(("label_", "extra_")) and str(data[column]):
            words = wording(column) if column.startswith("label_") else column.removeprefix("extra_").replace("_", " ")
            facts.append((words[:1].upper() + words[1:], data[column]))
    facts += [("File in the source", data["source"]), ("SHA-256", data["sha256"])]
    rows = "".join(f"<dt>{escape(k)}</dt><dd>{escape(str(v)[:10_000])}</dd>" for k, v in facts if str(v))
    more = address("browse", audit=audit.name, s=[data["system"]], p=[data["subject"]], a=[ANY])
    return (
        f'<div class="lk-detail"><img src="image/{name}/original" alt="{escape(described(data))}" '
        f'width="{int(data["width"])}" height="{int(data["height"])}"><div>'
        f"<h2>{escape(data['subject'])}, {escape(data['system'])}, number {escape(data['number'])}</h2>"
        f"{texts_html(audit, row)}<dl>{rows}</dl>"
        f'<p class="lk-actions"><a class="lk-button" href="image/{name}/download" download>Download the original</a> '
        f'<a class="lk-button lk-view" href="?{escape(more)}">All of this system and subject</a> '
        f"{ask_html(audit, row)}</p>"
        f"{similar_html(audit, row)}</div></div>"
    )
