"""What is asked of a model about an audit: inputs, wordings, pictures and turns, before anything is loaded or asked."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from backend.metrics.lexicon import read_lexicon
from backend.probes.actions import ACTIONS, LONGEST_ACTION, SUBJECT, Action, read_actions, telling_words
from backend.probes.prompts import OPTIONS, STYLES, Options, Probe, Style, expand, read_options, read_styles
from backend.records import UNSPECIFIED, clean_text, count
from backend.spec import SpecError
from backend.store import Audit

TEXT, IMAGE = "text-to-text", "image-to-text"
SEED = 0
"""Of the pairing of inputs with pictures."""


@dataclass(frozen=True)
class Wanted:
    """What somebody wants asked. Empty lists stand for all; `limit` and `rotations` for no limit where they are 0."""

    directions: tuple[str, ...] = (TEXT,)
    styles: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    professions: Path | None = None
    limit: int = 0
    rotations: int = 0
    pictures: int = 1
    styles_file: Path = STYLES
    options_file: Path = OPTIONS


@dataclass(frozen=True)
class Asked:
    """One prompt: the probe, the generation that is shown (-1: none), and `key`, a hash of all that the model is given.

    Two prompts with the same key are the same to the model: it is asked once.
    """

    probe: Probe
    row: int
    key: str

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Direction, style, attribute and culture."""
        direction, style = self.probe.style.split("/")
        return direction, style, self.probe.attribute, self.probe.culture

    @property
    def identity(self) -> tuple:
        """What tells its answer from others in an audit (the columns KEYS of the store)."""
        probe = self.probe
        return (*self.place, probe.profession, probe.action, self.row, probe.paraphrase, probe.rotation)


@dataclass(frozen=True)
class Plan:
    """All prompts of a run, the hash of the words of each direction/style/attribute/culture, and what to say of it."""

    asked: tuple[Asked, ...]
    wordings: dict[str, str]
    classes: dict[str, tuple[str, ...]]
    note: str = ""

    def inputs(self) -> int:
        """How many different things are asked about."""
        return len({(one.probe.style.split("/")[0], one.probe.input) for one in self.asked})


def plan(audit: Audit, wanted: Wanted) -> Plan:
    """What is to be asked. Raises SpecError (files, names that are not there) and StoreError (no pictures to show)."""
    actions = chosen_actions(wanted.professions)
    styles = [s for s in read_styles(wanted.styles_file) if s.name.split("/")[0] in wanted.directions]
    styles = _named(styles, wanted.styles, lambda style: style.name.split("/")[1], "--styles", wanted.styles_file)
    options = read_options((wanted.options_file,))
    options = _named(options, wanted.attributes, lambda one: one.attribute, "--attributes", wanted.options_file)
    asked: list[Asked] = []
    wordings: dict[str, str] = {}
    note = ""
    for direction in wanted.directions:
        shown = Pairs([(action, ()) for action in actions], "")
        if direction == IMAGE:
            shown = pairs(audit, actions, wanted.pictures)
            note = shown.note
        some = stratified(shown.pairs, wanted.limit)
        digests = audit.generations["sha256"]
        for style in styles:
            for one in options:
                if style.name.startswith(f"{direction}/") and style.probe == one.probe:
                    wordings[f"{style.name}/{one.attribute}/{one.culture}"] = wording(style, one)
                    asked += _expanded(some, style, one, wanted.rotations, digests)
    if not asked:
        raise SpecError(f"{wanted.styles_file}: no style fits {', '.join(wanted.directions)} and the attributes chosen")
    attributes = {one.probe.attribute for one in asked}
    classes = {one.attribute: one.classes for one in options if one.attribute in attributes}
    return Plan(tuple(asked), wordings, classes, note)


def _named(found: list, names: Sequence[str], name_of, flag: str, path: Path) -> list:
    """Those of `found` that are named; all where none is."""
    known = list(dict.fromkeys(name_of(one) for one in found))
    for name in names:
        if name not in known:
            raise SpecError(f"{flag}: {name[:60]!r} is none of {', '.join(known)} ({path})")
    return [one for one in found if not names or name_of(one) in names]


def chosen_actions(path: Path | None) -> list[Action]:
    """The actions of a CSV file; one without the column `action` picks professions of the shipped file."""
    if path is None:
        return read_actions()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if "action" in (reader.fieldnames or ()) or "profession" not in (reader.fieldnames or ()):
                return read_actions(path)  # which says what lacks
            names = {clean_text(row["profession"] or "").casefold(): reader.line_num for row in reader}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SpecError(f"{path} cannot be read ({error}): give a CSV file in UTF-8") from error
    shipped = read_actions()
    known = {action.profession.casefold() for action in shipped}
    for name, line in names.items():
        if name not in known:
            raise SpecError(f"{path}, line {line}: {name[:60]!r} has no action in {ACTIONS.name}; add a column action")
    return [action for action in shipped if action.profession.casefold() in names]


def stratified(shown: list[tuple[Action, tuple[int, ...]]], limit: int) -> list[tuple[Action, tuple[int, ...]]]:
    """At most so many inputs (0: all): every profession's first before any profession's second.

    Professions come in the order of a hash of their names, so that a few of them are no alphabet's first, and a larger
    limit only adds to a smaller one.
    """
    nth: dict[str, int] = {}
    ranked = []
    for place, (action, rows) in enumerate(shown):
        turn = nth[action.profession] = nth.get(action.profession, -1) + 1
        ranked.append((turn, _hash(action.profession), place, (action, rows)))
    ranked.sort(key=lambda entry: entry[:3])
    return [pair for _, _, _, pair in (ranked[:limit] if limit else ranked)]


def wording(style: Style, options: Options) -> str:
    """A hash of everything that is said, beside profession, action and picture."""
    words = (style.subject, style.paraphrases, options.asked, options.classes, options.texts)
    return _hash(json.dumps(words))[:16]


def _expanded(shown, style: Style, options: Options, rotations: int, digests) -> list[Asked]:
    """The prompts of some inputs in one style, about one attribute.

    Where not every rotation is asked, each input and paraphrase begins with another one, so that over many inputs every
    option stands as often at every place.
    """
    count_ = len(options.texts)
    turns = min(rotations, count_) if rotations else count_
    seen: set[str] = set()
    found = []
    for action, rows in shown:
        if style.direction == TEXT and not style.informed:  # names no action: one input a profession
            if action.profession in seen:
                continue
            seen.add(action.profession)
        start = int(_hash(action.key, style.name, options.attribute, options.culture)[:8], 16)
        for probe in expand(action, options, style):
            if (probe.rotation - start - probe.paraphrase) % count_ >= turns:
                continue
            if style.direction == TEXT and not style.informed:
                probe = replace(probe, action="")
            for row in rows or (-1,):
                found.append(Asked(probe, row, key_of(probe, digests.iat[row] if row >= 0 else "")))
    return found


def key_of(probe: Probe, picture: str) -> str:
    """A hash of all that a model is given, and of how its answer is read."""
    prompt = probe.prompt
    return _hash(json.dumps([prompt.text, prompt.options, prompt.also, probe.classes, picture]))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()


@dataclass(frozen=True)
class Pairs:
    """Which pictures are shown with which action, and a sentence on where they come from."""

    pairs: list[tuple[Action, tuple[int, ...]]]
    note: str


def pairs(audit: Audit, actions: Sequence[Action], most: int = 1) -> Pairs:
    """Inputs with the pictures that are shown with them, `most` each.

    Pictures of the subset `neutral` go with the action of their prompt: the one of the list that it ends with or, where
    the picture's profession is known, itself. Of several pictures of one action the first ones of a seeded shuffle are
    shown. An audit without such pictures shows portraits whose prompts name a person and no gender, ethnicity or tone:
    shuffled once with a seed, and dealt to the inputs in turn, so that each is shown about as often. Raises StoreError
    where it has neither.
    """
    found = _neutral(audit, actions)
    if found:
        shown = [(action, tuple(_shuffled(rows)[:most])) for action, rows in found.items()]
        pictures = count(len({row for _, rows in shown for row in rows}), "picture")
        return Pairs(shown, f"Shown: {pictures} of the subset neutral, each with the action of its prompt.")
    rows = _portraits(audit)
    if not len(rows):
        raise SpecError(
            f"{audit.name} has no pictures without gender, ethnicity and tone to show: add [neutral] with actions, or "
            "an identity prompt that names a person only, to its spec, and generate them"
        )
    dealt = _shuffled(rows)
    shown = [
        (action, tuple(dict.fromkeys(dealt[(place * most + turn) % len(dealt)] for turn in range(most))))
        for place, action in enumerate(actions)
    ]
    note = (
        f"Shown: {count(len(dealt), 'portrait')}, of all systems, whose prompts name a person and no gender, ethnicity "
        "or tone, dealt to professions and actions by a seeded shuffle, as the audit has no neutral pictures: they "
        "show neither the profession nor the action, and a portrait can look like a man or a woman all the same."
    )
    return Pairs(shown, note)


def _shuffled(rows: Sequence[int]) -> list[int]:
    return np.random.default_rng(SEED).permutation(np.asarray(rows, int)).tolist()


def _neutral(audit: Audit, actions: Sequence[Action]) -> dict[Action, list[int]]:
    """Actions with the rows of the neutral pictures that show them."""
    by_end: dict[str, list[Action]] = {}
    for action in actions:
        by_end.setdefault(_plain(action.text), []).append(action)
    wanted = {action.profession.casefold() for action in actions}
    found: dict[Action, list[int]] = {}
    table = audit.generations.loc[audit.rows(subset="neutral"), ["profession", "action"]]
    for row, profession, text in table.itertuples():
        profession, text = str(profession), str(text)
        some = by_end.get(_plain(text), [])
        if profession:
            some = [action for action in some if action.profession.casefold() == profession.casefold()]
        if not some and profession.casefold() in wanted and 0 < len(text) <= LONGEST_ACTION - 20:
            some = [Action(profession, text if SUBJECT in text else f"A {SUBJECT} is {text}")]
        for action in some:
            found.setdefault(action, []).append(row)
    return found


def _plain(text: str) -> str:
    """An action without its subject: what a spec's list and a sentence of the actions' file have in common."""
    words = " ".join(text.casefold().replace(f"a {SUBJECT}", "").replace(SUBJECT, "").split()).rstrip(".")
    return words.removeprefix("is ")


def _portraits(audit: Audit) -> np.ndarray:
    """Rows of identity prompts that name a person, or nobody, and neither gender, ethnicity nor tone."""
    telling = telling_words()
    neutral = (word for word, kind in read_lexicon()["en"].items() if kind == "neutral")
    words = {UNSPECIFIED, *(word for word in neutral if word not in telling)}
    genders = [name for name in audit.generations["gender"].cat.categories if str(name).casefold() in words]
    return audit.rows(subset="identities", gender=genders, ethnicity=UNSPECIFIED, tone=UNSPECIFIED)
