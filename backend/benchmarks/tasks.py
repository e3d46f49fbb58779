"""Files of tasks -> tasks, forms of asking, and the words of models that need their own: all of it checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from backend.benchmarks import FORMATS
from backend.benchmarks.base import Task
from backend.metrics.neutrality import UNPARSED
from backend.probes.ask import KINDS
from backend.probes.base import LONGEST_OPTION, alike
from backend.reading import SpecError, toml_of
from backend.records import clean_text
from backend.spec import ROOT, Key, checked_table
from backend.store.benchmarks import FAMILIES, GROUPS, MOST_CLASSES

TASKS = ROOT / "assets" / "benchmarks"
SHOWN = ("letters", "words", "none")
NAME = r"[a-z0-9][a-z0-9-]{0,59}"
LONGEST = 4_000
REMEDY = "give a file as in assets/benchmarks"
_PLACE = re.compile(r"\{(\w*)\}")
_FILE = {"tasks": Key(list, ()), "forms": Key(dict, {}), "kinds": Key(dict, {})}
_FORM = {"template": Key(str), "options": Key(str, choices=SHOWN)}
_TASK = {
    "name": Key(str),
    "format": Key(str, choices=tuple(FORMATS)),
    "family": Key(str, choices=FAMILIES),
    "title": Key(str),
    "question": Key(str),
    "form": Key(str),
    "label": Key(str, ""),
    "groups": Key(list, ()),
    "positive": Key(str, ""),
    "adversarial": Key(str, ""),
    "option": Key(str, "{text}"),
    "caption": Key(str, ""),
    "classes": Key(dict, {}),
    "captions": Key(dict, {}),
    "skip": Key(list, ()),
    "limit": Key(int, 0, low=0, high=10_000_000),
    "note": Key(str, ""),
}
_WORDS = ("question", "adversarial", "form", "option", "classes")
"""What a model's own words can replace."""
WORDS = ("label", "occupation", "other", "wrong", "wrong_other")
"""Places of a question and of an option, beside {text} of an option; each format fills its own."""


@dataclass(frozen=True)
class Form:
    """How is asked: a template with {question} and, where they are shown, {options}, lettered or as words."""

    template: str
    options: str


@dataclass(frozen=True)
class Tasks:
    """The tasks and forms of a folder, and the form in which each kind of model is asked, whatever the task says."""

    tasks: Mapping[str, Task]
    forms: Mapping[str, Form]
    kinds: Mapping[str, str]

    def form(self, task: Task, kind: str, letters: bool) -> Form:
        """How a task is put to a model of a kind; `letters`: to one that chooses among lettered options."""
        shown = self.forms[self.kinds.get(kind, task.form)]
        if letters and shown.options != "letters":
            shown = next(form for form in self.forms.values() if form.options == "letters")
        return shown


def read_tasks(folder: Path = TASKS) -> Tasks:
    """Every task and form of a folder's .toml files; a folder without forms has those of assets/benchmarks. Raises
    SpecError with the file, the key and the valid choices."""
    paths = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if not paths:
        raise SpecError(f"--tasks: {folder} holds no .toml file: give a folder as assets/benchmarks")
    data = {path: checked_table(toml_of(path, REMEDY, folder), _FILE, clean_text(path), "") for path in paths}
    forms = {name: _form(table, path, name) for path in paths for name, table in data[path]["forms"].items()}
    kinds = {key: value for path in paths for key, value in data[path]["kinds"].items()}
    if not forms and folder != TASKS:
        shipped = read_tasks()
        forms, kinds = dict(shipped.forms), {**shipped.kinds, **kinds}
    for kind, form in kinds.items():
        if kind not in KINDS or not isinstance(form, str) or form not in forms:
            known = clean_text(", ".join(forms))[:300]
            raise SpecError(f"kinds.{clean_text(kind)[:60]}: a kind of {', '.join(KINDS)} has a form of {known}")
    if not any(form.options == "letters" for form in forms.values()):
        raise SpecError(f"{folder}: forms: one of them must letter the options (options = 'letters')")
    tasks: dict[str, Task] = {}
    for path in paths:
        for number, table in enumerate(data[path]["tasks"], start=1):
            task = _task(table, f"{clean_text(path)}: tasks[{number}]", forms)
            if task.name in tasks:
                raise SpecError(f"{clean_text(path)}: tasks[{number}]: name: {task.name!r} is there twice; rename one")
            tasks[task.name] = task
    return Tasks(tasks, forms, kinds)


def _form(table: Any, path: Path, name: str) -> Form:
    where = f"{clean_text(path)}: forms.{clean_text(name)[:60]}"
    if not isinstance(table, dict):
        raise SpecError(f"{where}: is no table")
    values = checked_table(table, _FORM, where, "")
    needed = {"question"} if values["options"] == "none" else {"question", "options"}
    if set(_PLACE.findall(values["template"])) != needed or len(values["template"]) > LONGEST:
        raise SpecError(
            f"{where}: template: hold {' and '.join(f'{{{p}}}' for p in sorted(needed))}, and no other place"
        )
    return Form(values["template"], values["options"])


def _task(table: Any, where: str, forms: Mapping[str, Form]) -> Task:
    if not isinstance(table, dict):
        raise SpecError(f"{where}: is no table; write [[tasks]]")
    chosen = {"format": _TASK["format"]}
    kind = checked_table({k: v for k, v in table.items() if k == "format"}, chosen, where, "")["format"]
    keys = FORMATS[kind].keys
    values = checked_table(table, {**_TASK, **keys}, where, "")
    more = {key: values.pop(key) for key in keys}
    if not re.fullmatch(NAME, values["name"]):
        raise SpecError(f"{where}: name: use 1 to 60 small letters, digits and dashes")
    lists = {key: _texts(values[key], f"{where}: {key}") for key in ("groups", "skip")}
    if len(lists["groups"]) > len(GROUPS):
        raise SpecError(f"{where}: groups: give at most {len(GROUPS)}")
    texts = {key: clean_text(values[key]) for key in ("title", "label", "positive", "caption", "note")}
    texts["title"] = texts["title"][:200]
    task = Task(**{**values, **lists, **texts, "more": more})
    return checked(task, where, forms)


def checked(task: Task, where: str, forms: Mapping[str, Form]) -> Task:
    """The task with its classes and words in order. Raises SpecError."""
    if task.form not in forms:
        raise SpecError(f"{where}: form: {task.form[:60]!r} is none of {', '.join(forms)}")
    rows = {key: _named(getattr(task, key), f"{where}: {key}") for key in ("classes", "captions")}
    if len(rows["classes"]) == 1 or len(rows["classes"]) > MOST_CLASSES:
        raise SpecError(f"{where}: classes: give 2 to {MOST_CLASSES}, or none where the data says them")
    if task.classes and task.positive and task.positive not in rows["classes"]:
        raise SpecError(f"{where}: positive: {task.positive[:60]!r} is none of {', '.join(rows['classes'])}")
    if rows["captions"] and set(rows["captions"]) != set(rows["classes"]):
        raise SpecError(f"{where}: captions: give one for each of {', '.join(rows['classes'])}")
    for key, places in (
        ("question", WORDS),
        ("adversarial", WORDS),
        ("option", ("text", *WORDS)),
        ("caption", ("text", "label")),
    ):
        strange = [place for place in _PLACE.findall(getattr(task, key)) if place not in places]
        if strange or len(getattr(task, key)) > LONGEST:
            raise SpecError(f"{where}: {key}: its places can be {', '.join(f'{{{p}}}' for p in places)}, and no other")
    return replace(task, **rows)


def _texts(value: Any, where: str) -> tuple[str, ...]:
    texts = [clean_text(text) for text in value if isinstance(text, str)]
    if len(texts) < len(value) or not all(texts) or len({*texts}) < len(texts):
        raise SpecError(f"{where}: give texts, no two alike")
    return tuple(texts)


def _named(table: Mapping[str, Any], where: str) -> dict[str, str]:
    found = {clean_text(name): clean_text(text) if isinstance(text, str) else "" for name, text in table.items()}
    if any(not name or len(name) > 100 or name == UNPARSED or not alike(found[name]) for name in found):
        raise SpecError(f"{where}: write CLASS = 'text', both of 1 to 100 characters")
    if any(len(text) > LONGEST_OPTION for text in found.values()):
        raise SpecError(f"{where}: a text is longer than {LONGEST_OPTION} characters")
    if len({alike(text) for text in found.values()}) < len(found):
        raise SpecError(f"{where}: two texts are alike: they could not be told apart")
    return found


def own_words(task: Task, path: Path | None, forms: Mapping[str, Form]) -> Task:
    """The task in the words that a model's own file has for it, where it has some. Raises SpecError."""
    if path is None:
        return task
    table = toml_of(path, REMEDY).get("words")
    if not isinstance(table, dict):
        raise SpecError(f"{clean_text(path)}: words: is missing; write [words.TASK]")
    own = table.get(task.name)
    if own is None:
        return task
    where = f"{clean_text(path)}: words.{task.name}"
    if not isinstance(own, dict):
        raise SpecError(f"{where}: is no table")
    values = checked_table(own, {key: Key(_TASK[key].type, getattr(task, key)) for key in _WORDS}, where, "")
    if set(values["classes"]) != set(task.classes):
        raise SpecError(f"{where}: classes: give one text for each of {', '.join(task.classes) or 'none'}")
    ordered = {name: values["classes"][name] for name in task.classes}
    return checked(replace(task, **{**values, "classes": ordered}), where, forms)


def fill(template: str, words: Mapping[str, str]) -> str:
    """A template with its places filled, each once and in one go: what is put in is never read as a template.

    >>> fill("The {occupation} and {text} {other}", {"occupation": "{text}", "text": "his", "other": "desk"})
    'The {text} and his desk'
    """
    return _PLACE.sub(lambda match: words.get(match[1], match[0]), template)


def shown_options(form: Form, texts: list[str]) -> tuple[tuple[str, ...], str]:
    """What can be chosen in a form, and how the options are shown.

    >>> shown_options(Form("{question}\\n{options}", "letters"), ["man", "woman"])
    (('A', 'B'), 'A. man\\nB. woman')
    >>> shown_options(Form("{question} {options}", "words"), ["man", "woman"])
    (('man', 'woman'), 'man, woman')
    """
    if form.options != "letters":
        return tuple(texts), ", ".join(texts)
    letters = tuple(ascii_uppercase[: len(texts)])
    return letters, "\n".join(f"{letter}. {text}" for letter, text in zip(letters, texts, strict=True))
