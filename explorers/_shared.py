"""What every tab shares: the contract with app.py, escaping, numbers in words, and addresses."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode

import pandas as pd

from backend.records import clean_text, count
from backend.store import Audit

__all__ = [
    "ASSETS",
    "Params",
    "Served",
    "View",
    "address",
    "count",
    "csv_chunks",
    "escape",
    "first",
    "labour_force",
    "note_html",
    "params_of",
    "percent",
    "subjects_in_words",
]

Params = Mapping[str, list[str]]
"""The view's part of an address, parsed: each name with its values, as `urllib.parse.parse_qs` gives them."""


@dataclass(frozen=True)
class View:
    """What `build` of a tab returns: the components that an address fills in, and how.

    `open(params)` takes the parameters of an address (all values are strings from outside: hostile)
    and returns one Gradio update per component of `outputs`, in their order.
    """

    outputs: Sequence[Any]
    open: Callable[[Params], Sequence[Any]]
    close: Callable[[], object] = lambda: None
    """Ends what still works for a visitor when the app ends."""


class Served(NamedTuple):
    """What a function of a tab's `DATA` answers; a plain (body, kind) does where the rest is as here."""

    body: bytes
    kind: str
    status: int = 200
    headers: Mapping[str, str] = {}


def escape(value: object) -> str:
    """Text that is safe inside HTML text and quoted attributes of a gr.HTML value.

    Beside the five characters of `html.escape`, braces, dollar signs and backticks become character references,
    so that nothing from outside can be read as a template by gr.HTML, which knows `${...}` and `{{...}}`.

    >>> escape('<b> "${x}"')
    '&lt;b&gt; &quot;&#36;&#123;x&#125;&quot;'
    """
    text = html.escape(str(value), quote=True)
    for character in "{}$`\\":
        text = text.replace(character, f"&#{ord(character)};")
    return text


def first(params: Params, name: str, default: str = "") -> str:
    """The first value of a parameter, or `default` where the address does not name it."""
    values = params.get(name) or [default]
    return values[0]


def address(tab: str, **values: object) -> str:
    """The query string of a view: the tab, then every value that is not empty; lists repeat their name.

    >>> address("browse", s=["a b", "c"], page=2, q="")
    'tab=browse&s=a+b&s=c&page=2'
    """
    pairs: list[tuple[str, object]] = [("tab", tab)]
    for name, value in values.items():
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is not None and (item != "" or isinstance(value, list | tuple)):
                pairs.append((name, item))
    return urlencode(pairs)


def params_of(query: str) -> Params:
    """A query string as names and values; overlong addresses and too many fields are read as empty."""
    try:
        return parse_qs(query.lstrip("?")[:20_000], keep_blank_values=True, max_num_fields=500)
    except ValueError:
        return {}


def percent(share: float, sign: str = " %") -> str:
    """A share (0 to 1) in whole per cent: `percent(0.8234)` is "82 %"; a share that is no number is "no value"."""
    return "no value" if share != share else f"{100 * share:.0f}{sign}"


def note_html(audit: Audit) -> str:
    """What the maker of an audit says about it, where its spec has a note: the newest alone, its first sentence before
    a fold that holds the rest."""
    notes = [clean_text(source["note"]) for source in audit.manifest["sources"] if source.get("note")]
    first_one, _, rest = notes[-1].partition(". ") if notes else ("", "", "")
    if not rest:
        return f'<p class="lk-about">{escape(first_one)}</p>' if first_one else ""
    said = f"<summary>{escape(first_one)}.</summary><p>{escape(rest)}</p>"
    return f'<details class="lk-about">{said}</details>'


def subjects_in_words(audit: Audit) -> str:
    """What the prompts of an audit were about, counted by kind: "20 professions and 18 identity prompts"."""
    kinds = audit.generations.groupby("subset", observed=True)["subject"].nunique()
    words = {"professions": "profession", "identities": "identity prompt", "neutral": "neutral prompt"}
    parts = [count(int(kinds[subset]), word) for subset, word in words.items() if subset in kinds.index]
    return ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]


ASSETS = Path(__file__).parent.parent / "assets"


@lru_cache(maxsize=1)
def labour_force() -> pd.DataFrame:
    """US labour statistics (CPS 2021) by profession: the columns of assets/professions.csv, indexed by profession."""
    return pd.read_csv(ASSETS / "professions.csv").set_index("profession")


_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""What a spreadsheet would run: signs, also full-width ones and those after spaces, and what ends a cell."""


def csv_chunks(frame: pd.DataFrame, rows: int = 5000) -> Iterator[str]:
    """A table as CSV, in pieces, with a byte-order mark (spreadsheets then read UTF-8).

    Text that a spreadsheet would run as a formula, in a cell or as a column's name, gets an apostrophe before it.
    """
    names = [f"'{name}" if _FORMULA.match(str(name)) else str(name) for name in frame.columns]
    for start in range(0, max(len(frame), 1), rows):
        part = frame.iloc[start : start + rows].copy()
        for name in part.columns:
            if not pd.api.types.is_numeric_dtype(part[name].dtype):
                text = part[name].astype("str")
                part[name] = text.mask(text.str.match(_FORMULA), "'" + text)
        yield ("" if start else "\ufeff") + part.to_csv(index=False, header=False if start else names)
