"""Captions and answers as the tabs read them: who said what of which row, its markers, one image's texts."""

from __future__ import annotations

from functools import lru_cache

import pandas as pd

from backend.metrics.lexicon import read_lexicon
from backend.metrics.markers import marked, mask, spans
from backend.store import Audit
from explorers._shared import escape, percent

IMPORTED = "label_caption"
MARKS = {"woman": "woman word", "man": "man word", "neutral": "neutral word", "non-binary": "non-binary word"}


@lru_cache(maxsize=1)
def lexicon() -> dict[str, dict[str, str]]:
    """The lexicon that ships, by language."""
    return read_lexicon()


@lru_cache(maxsize=32)
def text_keys(audit: Audit) -> dict[str, str]:
    """What can be read of an audit: "describer:question" -> its name for people. Captions come first."""
    found = {}
    if IMPORTED in audit.generations and (audit.generations[IMPORTED].astype(str) != "").any():
        found[f"{IMPORTED}:caption"] = "imported captions"
    for name, source in audit.texts.sources.items():
        for question, asked in source.questions.items():
            found[f"{name}:{question}"] = f"{question}, {source.title}" + (f": “{asked}”" if asked else "")
    return dict(sorted(found.items(), key=lambda item: not item[0].endswith(":caption")))


def language_of(audit: Audit, key: str) -> str:
    """The language of a key's texts."""
    source = audit.texts.sources.get(key.partition(":")[0])
    return source.language if source else "en"


def choices_of(audit: Audit, key: str) -> tuple[str, ...]:
    """The answers that a key's question allowed; none where any was allowed."""
    name, _, question = key.partition(":")
    source = audit.texts.sources.get(name)
    return source.choices.get(question, ()) if source else ()


@lru_cache(maxsize=32)
def texts_of(audit: Audit, key: str) -> pd.DataFrame:
    """The texts of a key: columns row, answer, probability, system, profession, subset, in the order of rows."""
    name, _, question = key.partition(":")
    if name == IMPORTED:
        answers = audit.generations[IMPORTED].astype(str)
        table = pd.DataFrame({"row": range(len(answers)), "answer": answers.to_numpy(), "probability": float("nan")})
        table = table[table["answer"] != ""]
    else:
        table = audit.texts.table(name)
        table = table[table["question"] == question][["row", "answer", "probability"]]
    table = table.sort_values("row", ignore_index=True)
    facts = audit.generations.iloc[table["row"].to_numpy()]
    about = {column: facts[column].to_numpy() for column in ("system", "profession", "subset")}
    return table.assign(answer=table["answer"].astype(str), **about)


@lru_cache(maxsize=32)
def flags_of(audit: Audit, key: str) -> pd.DataFrame:
    """The markers of a key's texts, in the order of `texts_of`: see metrics.markers.marked."""
    texts = texts_of(audit, key)
    words = lexicon().get(language_of(audit, key), {})
    return marked(texts["answer"].tolist(), texts["profession"].astype(str).tolist(), words)


def highlighted(text: str, profession: str, language: str) -> str:
    """A text as HTML, escaped, its markers in <mark> with the kind in words; the profession's own name is not one."""
    words = lexicon().get(language, {})
    found = spans(text)
    hidden = mask([word for word, _, _ in found], profession)
    parts, at = [], 0
    for (word, start, end), masked in zip(found, hidden, strict=True):
        kind = words.get(word)
        if kind is None or masked:
            continue
        parts.append(escape(text[at:start]))
        parts.append(
            f'<mark class="lk-mark" title="{MARKS[kind]}">{escape(text[start:end])}<small>{MARKS[kind]}</small></mark>'
        )
        at = end
    return "".join(parts) + escape(text[at:])


def texts_html(audit: Audit, row: int) -> str:
    """Everything that was said of one image, each with who said it and its probability, or ""."""
    profession, items = str(audit.generations["profession"].iat[row]), []
    for key, title in text_keys(audit).items():
        table = texts_of(audit, key)
        place = int(table["row"].searchsorted(row))
        if place >= len(table) or table["row"].iat[place] != row:
            continue
        text, chance = table["answer"].iat[place], table["probability"].iat[place]
        said = highlighted(text, profession, language_of(audit, key)) if text else "<i>(empty)</i>"
        choices = choices_of(audit, key)
        if choices and text not in choices:
            said += " <i>(outside the allowed answers)</i>"
        likely = "" if chance != chance else f" <small>probability {percent(chance)}</small>"
        items.append(f"<dt>{escape(title[:300])}</dt><dd>{said}{likely}</dd>")
    if not items:
        return ""
    return f'<h3>What was said of it</h3><dl class="lk-said">{"".join(items)}</dl>'
