"""An audit's spec: a TOML file -> frozen values, with every mistake told before anything runs.

Adding a key is one line in _TOP, _SUBSETS or SYSTEM_KEYS; the keys of one kind of system stand in its class.
"""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.reading import SpecError, toml_of
from backend.records import AXES, LONGEST, SUBSETS, clean_text

ROOT = Path(__file__).parent.parent
FORMATS = ("png", "jpeg", "webp")
LONGEST_NOTE = 1000
_UNSET = object()


@dataclass(frozen=True)
class Key:
    """What a key of a spec may hold: a type, bounds or choices, and a default (without one it is required).

    `settings` says whether its value changes the images: two runs that differ in one do not mix in an audit.
    """

    type: type | tuple[type, ...]
    default: Any = _UNSET
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    settings: bool = True


IMAGE_KEYS = {
    "width": Key(int, 512, low=8, high=8192),
    "height": Key(int, 512, low=8, high=8192),
    "steps": Key(int, 50, low=1, high=1000),
    "guidance": Key((float, int), 7.5, low=0, high=100),
    "batch": Key(int, 1, low=1, high=1024, settings=False),
}
"""How images are made; given at the top for all systems, or in one system's table for it alone."""
_TOP = {
    "title": Key(str, ""),
    "note": Key(str, ""),
    "seed": Key(int, 0, low=0, high=2**53),  # what a manifest holds
    "size": Key(int, None, low=8, high=8192),
    **IMAGE_KEYS,
    "systems": Key(list),
    "professions": Key(dict, None),
    "identities": Key(dict, None),
    "neutral": Key(dict, None),
}
_COMMON = {"templates": Key(list), "images": Key(int, low=1, high=100_000)}
_SUBSETS = {
    "professions": {**_COMMON, "names": Key((list, str)), "adjectives": Key(list, ("",))},
    "identities": {**_COMMON, **{axis: Key(list, ("",)) for axis in AXES}},
    "neutral": {**_COMMON, "actions": Key(list, ("",))},
}
_WORDS = {
    "professions": ("profession", "adjective"),
    "identities": AXES,
    "neutral": ("action",),
}
"""The places that a template of a subset can hold, beside {a}."""
SYSTEM_KEYS = {"name": Key(str), "kind": Key(str), "size": Key(int, None, low=8, high=8192)}


@dataclass(frozen=True)
class SystemSpec:
    """One system: its name, kind, every option of its kind (defaults filled in), and where its paths begin."""

    name: str
    kind: str
    options: Mapping[str, Any]
    settings: Mapping[str, Any]
    """The options that change the images."""
    folder: Path


@dataclass(frozen=True)
class SubsetSpec:
    """The prompts of one subset: templates, the words for each of their places, and how many images a prompt gets."""

    subset: str
    templates: tuple[str, ...]
    images: int
    words: Mapping[str, tuple[str, ...]]
    """Place -> phrases; "" leaves the place out."""


@dataclass(frozen=True)
class Spec:
    """A whole spec, checked. `seed` is the base from which every image's seed is derived."""

    path: Path
    title: str
    note: str
    """A few sentences for whoever opens the audit: what these systems are."""
    seed: int
    systems: tuple[SystemSpec, ...]
    subsets: tuple[SubsetSpec, ...]


def load_spec(path: Path, kinds: Mapping[str, Mapping[str, Key]]) -> Spec:
    """Read a spec. `kinds` maps each kind of system to the keys it takes. Raises SpecError."""
    data = toml_of(path, "give the path of a spec (.toml)")
    top = checked_table(data, _TOP, str(path), "")
    subsets = tuple(_subset(top[name], name, path) for name in SUBSETS if top[name] is not None)
    if not subsets:
        raise SpecError(f"{path}: no prompts: add a table [professions], [identities] or [neutral]")
    systems = tuple(_systems(top, data, path, kinds))
    note = _texts([top["note"]], str(path), "note", LONGEST_NOTE)[0]
    return Spec(path, clean_text(top["title"]), note, top["seed"], systems, subsets)


def _fail(where: str, key: str, words: str) -> SpecError:
    return SpecError(f"{where}: {key}: {words}")


def checked_table(table: Mapping[str, Any], keys: Mapping[str, Key], where: str, prefix: str) -> dict[str, Any]:
    """The values of a table with defaults filled in. Raises SpecError on an unknown or missing key or a bad value."""
    for name in table:
        if name not in keys:
            near = difflib.get_close_matches(name, keys, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise _fail(where, prefix + clean_text(name)[:60], f"unknown key; {hint}The keys are {', '.join(keys)}")
    values = {}
    for name, key in keys.items():
        if name in table:
            values[name] = _value(table[name], key, where, prefix + name)
        elif key.default is _UNSET:
            raise _fail(where, prefix + name, f"is missing; it is {_kind(key)}")
        else:
            values[name] = key.default
    return values


def _kind(key: Key) -> str:
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}
    kinds = key.type if isinstance(key.type, tuple) else (key.type,)
    text = " or ".join(names.get(kind, "a table") for kind in kinds if kind is not int or float not in kinds)
    if key.choices:
        return f"one of {', '.join(key.choices)}"
    if key.low is not None:
        return f"{text} from {key.low:,}" + (f" to {key.high:,}" if key.high is not None else "")
    return text


def _value(value: Any, key: Key, where: str, name: str) -> Any:
    kinds = key.type if isinstance(key.type, tuple) else (key.type,)
    wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
    if not wrong and key.low is not None:
        wrong = not key.low <= value <= (key.high if key.high is not None else value)  # NaN is wrong, too
    if not wrong and key.choices:
        wrong = value not in key.choices
    if wrong:
        near = difflib.get_close_matches(str(value), key.choices, 1) if key.choices else []
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise _fail(where, name, f"{str(value)[:60]!r} is not {_kind(key)}{hint}")
    if value == "" and key.default is _UNSET:
        raise _fail(where, name, f"is empty; it is {_kind(key)}")
    if isinstance(value, list) and not value:
        raise _fail(where, name, "the list is empty; fill it, or leave the key out where it has a default")
    return value


def _texts(values: Iterable[Any], where: str, name: str, longest: int, empty: bool = True) -> tuple[str, ...]:
    texts = []
    for number, value in enumerate(values, start=1):
        if not isinstance(value, str):
            raise _fail(where, f"{name}[{number}]", f"{str(value)[:60]!r} is not a text")
        text = clean_text(value)
        if not text and not empty:
            raise _fail(where, f"{name}[{number}]", "is empty")
        if len(text) > longest:
            raise _fail(where, f"{name}[{number}]", f"is {len(text):,} characters long; shorten it to {longest:,}")
        if text in texts:
            raise _fail(where, f"{name}[{number}]", f"{text!r} stands in the list twice")
        texts.append(text)
    return tuple(texts)


def _subset(table: Mapping[str, Any], subset: str, path: Path) -> SubsetSpec:
    where, prefix = str(path), f"{subset}."
    values = checked_table(table, _SUBSETS[subset], where, prefix)
    templates = _texts(values["templates"], where, prefix + "templates", LONGEST["prompt"], empty=False)
    places = _WORDS[subset]
    for template in templates:
        for place in re.findall(r"\{(.*?)\}|[{}]", template):
            if place not in (*places, "a"):
                valid = ", ".join(f"{{{name}}}" for name in ("a", *places))
                raise _fail(where, prefix + "templates", f"{template!r} holds {{{place}}}; a template can hold {valid}")
        if subset == "professions" and "{profession}" not in template:
            raise _fail(where, prefix + "templates", f"{template!r} lacks {{profession}}")
    words = {}
    for place in places:
        key = {"profession": "names", "adjective": "adjectives", "action": "actions"}.get(place, place)
        given = values[key]
        if isinstance(given, str):
            given = _column(given, path, prefix + key)
        words[place] = _texts(given, where, prefix + key, LONGEST.get(place, 200), empty=place != "profession")
        used = any(f"{{{place}}}" in template for template in templates)
        if not used and words[place] != ("",):
            raise _fail(where, prefix + key, f"no template holds {{{place}}}: add it, or leave the key out")
    return SubsetSpec(subset, templates, values["images"], words)


def find(name: str, folder: Path) -> Path:
    """A path in a spec: as it is, else from the spec's own folder, else from the root of the project."""
    path = Path(name).expanduser()
    return next((place for place in (folder / path, ROOT / path) if place.exists()), path)


def _column(text: str, path: Path, key: str) -> list[str]:
    """ "file:NAME.csv" -> its column `profession`. Raises SpecError."""
    if not text.startswith("file:"):
        raise _fail(str(path), key, f"{text[:60]!r} is neither a list nor file:NAME.csv")
    where = find(text.removeprefix("file:"), path.parent)
    try:
        with where.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _fail(str(path), key, f"{text} cannot be read ({error}); give a CSV file") from error
    if not rows or "profession" not in rows[0]:
        raise _fail(str(path), key, f"{text} has no row with a column 'profession'; name the column so")
    return [row["profession"] or "" for row in rows]


def _systems(top: Mapping[str, Any], data: Mapping[str, Any], path: Path, kinds: Mapping[str, Mapping[str, Key]]):
    names: dict[str, int] = {}
    shared = {key: data[key] for key in IMAGE_KEYS if key in data}
    for number, table in enumerate(top["systems"], start=1):
        prefix = f"systems[{number}]."
        if not isinstance(table, dict):
            raise _fail(str(path), prefix[:-1], "is not a table; write [[systems]]")
        chosen = {"kind": Key(str, choices=tuple(kinds))}
        kind = checked_table({key: table[key] for key in chosen if key in table}, chosen, str(path), prefix)["kind"]
        keys = {**SYSTEM_KEYS, **IMAGE_KEYS, **kinds[kind]}
        values = checked_table(table, keys, str(path), prefix)
        values |= {key: value for key, value in shared.items() if key not in table}
        size = values.pop("size") or (None if {"width", "height"} & table.keys() else top["size"])
        values |= {} if size is None else {"width": size, "height": size}
        name = _texts([values.pop("name")], str(path), prefix + "name", LONGEST["system"], empty=False)[0]
        if name in names:
            raise _fail(str(path), prefix + "name", f"{name!r} is the name of systems[{names[name]}], too; rename one")
        names[name] = number
        del values["kind"]
        settings = {key: value for key, value in values.items() if keys[key].settings}
        yield SystemSpec(name, kind, values, {"kind": kind, **settings}, path.parent)
