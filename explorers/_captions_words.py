"""Words that set two groups of texts apart, a search over texts, and how far describers and labels agree."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd

from backend.metrics.agreement import kappa
from backend.metrics.intervals import wilson
from backend.metrics.logodds import log_odds
from backend.metrics.markers import find, tokens
from backend.store import Audit
from explorers._grid import figures
from explorers._shared import count, escape, percent
from explorers._texts import IMPORTED, flags_of, lexicon, text_keys, texts_of

PAGE = 24
MOST_WORDS = 12
LONGEST_QUERY = 200
GROUPS = {"system": "Two systems", "profession": "Two professions"}


@lru_cache(maxsize=32)
def groups_of(audit: Audit, key: str, by: str) -> list[str]:
    """The systems or professions that have texts, by name."""
    return sorted({name for name in texts_of(audit, key)[by].astype(str) if name}, key=str.casefold)


@lru_cache(maxsize=64)
def counted(audit: Audit, key: str, by: str, name: str) -> Counter[str]:
    """How often each word stands in the texts of one system or profession; of all texts where `by` is ""."""
    texts = texts_of(audit, key)
    part = texts if not by else texts[texts[by].astype(str) == name]
    total: Counter[str] = Counter()
    for text, number in part["answer"].value_counts().items():
        for word in tokens(str(text)):
            total[word] += int(number)
    return total


def compared(audit: Audit, key: str, by: str, first: str, second: str) -> pd.DataFrame:
    """Words of two groups with their log-odds; see metrics.logodds. The prior is all texts of the key."""
    return log_odds(counted(audit, key, by, first), counted(audit, key, by, second), counted(audit, key, "", ""))


def words_html(audit: Audit, key: str, by: str, first: str, second: str) -> str:
    """The words that lean most to either side, each with its counts, its log-odds and the interval."""
    table = compared(audit, key, by, first, second).dropna()
    sure = table[(table["low"] > 0) | (table["high"] < 0)]
    lean = {first: sure[sure["delta"] > 0].head(MOST_WORDS), second: sure[sure["delta"] < 0][::-1].head(MOST_WORDS)}
    tops = [f"“{escape(part.index[0])}” for {escape(name)}" for name, part in lean.items() if len(part)]
    lead = f"Most telling: {' and '.join(tops)}." if tops else "No word sets the two apart: every interval holds 0."
    parts = [f'<p class="lk-state">{lead}</p><div class="lk-pair">']
    for name, part in lean.items():
        rows = "".join(
            f"<tr><th scope=row>{escape(word[:60])}</th><td>{row['first']:,}</td><td>{row['second']:,}</td>"
            f"<td>{row['delta']:+.2f} ({row['low']:+.2f} to {row['high']:+.2f})</td></tr>"
            for word, row in zip(part.index, part.to_dict("records"), strict=True)
        )
        head = "".join(
            f"<th scope=col>{text}</th>"
            for text in ("Word", f"in {escape(first)}", f"in {escape(second)}", "Log-odds (95 % interval)")
        )
        body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else "<p>None.</p>"
        title = f"Said more of {escape(name)}"
        region = f'<div class="lk-scroll" tabindex="0" role="region" aria-label="{title}">{body}</div>'
        parts.append(f"<div><h3>{title}</h3>{region}</div>")
    sizes = ", ".join(f"{escape(name)} {sum(counted(audit, key, by, name).values()):,}" for name in (first, second))
    return (
        "".join(parts)
        + f'</div><p class="lk-reading">Words counted: {sizes}. Only words whose interval leaves out 0 are listed. '
        "Many words are tried at once: about 1 in 20 that do not differ would be listed by chance.</p>"
    )


@lru_cache(maxsize=64)
def found(audit: Audit, key: str, query: str) -> np.ndarray:
    """Places in `texts_of` whose text holds every word of a query; all where it has none."""
    wanted = set(tokens(query[:LONGEST_QUERY]))
    texts = texts_of(audit, key)["answer"]
    hits = {text: wanted <= set(tokens(text)) for text in texts.unique()}
    return np.flatnonzero(texts.map(hits).to_numpy(dtype=bool))


def search_html(audit: Audit, key: str, query: str, page: int, link: str) -> str:
    """The images whose texts hold the words, as a grid, with how many there are and in which system."""
    texts, places = texts_of(audit, key), found(audit, key, query)
    if len(places) == 0:
        return f'<p class="lk-empty">None of {count(len(texts), "text")} holds {escape(query[:LONGEST_QUERY])!s}.</p>'
    low, high = wilson(len(places), len(texts))
    rows = texts["row"].to_numpy()[places]
    start = (page - 1) * PAGE
    names = texts["system"].astype(str).iloc[places].value_counts()
    totals = texts["system"].astype(str).value_counts()
    each = "; ".join(f"{escape(name)} {number:,} of {totals[name]:,}" for name, number in names.items())
    said = (
        f"{len(places):,} of {count(len(texts), 'text')} ({percent(len(places) / len(texts))}, 95 % interval "
        f"{percent(low, '')} to {percent(high)}): {each}."
    )
    return f'<p class="lk-count" role="status">{said}</p>' + figures(audit, rows[start : start + PAGE], link, "", True)


@lru_cache(maxsize=32)
def raters(audit: Audit) -> dict[str, pd.Series]:
    """Who says woman or man of which rows: texts with markers of one kind alone, and labels that are such words."""
    said = {}
    for key, title in text_keys(audit).items():
        flags, texts = flags_of(audit, key), texts_of(audit, key)
        values = np.where(flags["woman"], "woman", "man")
        one = (flags["woman"] != flags["man"]).to_numpy()
        said[title] = pd.Series(values[one], index=texts["row"].to_numpy()[one])
    words = lexicon()["en"]
    for column in audit.generations.columns:
        if column.startswith("label_") and column != IMPORTED and audit.generations[column].nunique() <= 50:
            values = audit.generations[column].astype(str)
            flags = {value: find(value, "", words) for value in values.unique()}
            kinds = values.map(
                {v: "woman" if f["woman"] else "man" for v, f in flags.items() if f["woman"] != f["man"]}
            )
            said[f"label: {column.removeprefix('label_').replace('_', ' ')}"] = kinds.dropna()
    return {title: series for title, series in said.items() if len(series)}


def agreement_html(audit: Audit) -> str:
    """Cohen's kappa of every pair that says woman or man of the same images."""
    rows = []
    for (first, one), (second, other) in list(combinations(raters(audit).items(), 2))[:100]:
        both = one.index.intersection(other.index)
        if len(both) == 0:
            continue
        a, b = one.loc[both].astype(str).tolist(), other.loc[both].astype(str).tolist()
        value, low, high = kappa(a, b)
        same = sum(x == y for x, y in zip(a, b, strict=True))
        told = "no value: one word throughout" if value != value else f"{value:.2f} ({low:.2f} to {high:.2f})"
        rows.append(
            f"<tr><th scope=row>{escape(first[:120])}</th><td>{escape(second[:120])}</td><td>{len(both):,}</td>"
            f"<td>{percent(same / len(both))}</td><td>{told}</td></tr>"
        )
    if not rows:
        return (
            '<p class="lk-empty">There are no two sources that say woman or man of the same images. Describe the audit '
            "with a second model, or import labels (columns called <code>label_...</code>).</p>"
        )
    names = ("One", "Another", "Images both judged (n)", "Same word", "Cohen’s kappa (95 % interval)")
    head = "".join(f"<th scope=col>{name}</th>" for name in names)
    return (
        '<div class="lk-scroll" tabindex="0" role="region" aria-label="Agreement"><table class="lk-words"><thead><tr>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        '<p class="lk-reading">Compared are images of which both say woman or both say man, or one each; texts with '
        "both words, or neither, and labels that are no such word are left out. Kappa is 1 for full agreement and 0 "
        "for what chance gives. Agreement is not truth: two models can share a mistake.</p>"
    )
