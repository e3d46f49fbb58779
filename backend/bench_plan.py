"""What is asked in a benchmark: items, questions, orders of the options and conditions, before anything is loaded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.benchmarks import FORMATS, Data, Item, Loaded, Task
from backend.benchmarks.tasks import Form, Tasks, fill, own_words, shown_options
from backend.benchmarks.visogender import OTHER
from backend.probes.ask import Model, Prompt
from backend.probes.base import LONGEST_OPTION, LONGEST_PROMPT, MOST_OPTIONS, alike
from backend.records import clean_text
from backend.spec import SpecError
from backend.store import BenchmarkTask
from backend.store.benchmarks import GROUPS, LONGEST_NOTE, MOST_CELLS, MOST_VALUES, cells

IMAGE, TEXT, RANDOM = "image", "text", "random"
ADVERSARIAL = "adversarial"
LONGEST_COLUMN, MOST_REASONS = 100, 90
PRONOUNS = tuple(OTHER)
OCCUPATIONS = ("occupation", "profession", "job")
"""What the first group of a task of pronouns can be called."""
SEED = 0
"""Of the sample, of the order of options, and of the random answers."""
GREY = "A uniform grey picture stands for no image, as this model answers about pictures only."
NO_QUESTION = "This model reads no question, only the options, so there is no adversarial variant."


@dataclass(frozen=True)
class Asked:
    """One prompt about an item, in one condition; `classes` holds the class of each option, in the order shown."""

    item: Item
    condition: str
    variant: str
    prompt: Prompt
    classes: tuple[str, ...]

    def key(self, picture: str) -> str:
        """A hash of all that a model is given, and of how its answer is read; `picture` is the hash of what it sees."""
        prompt = self.prompt
        return hash_of(json.dumps([prompt.text, prompt.options, prompt.also, self.classes, picture]))[:24]


@dataclass(frozen=True)
class Plan:
    """All prompts of one task to one model. `task` is what the audit will hold of it, as `name`; `grey` says that a
    grey picture stands for none."""

    name: str
    task: BenchmarkTask
    items: tuple[Item, ...]
    asked: tuple[Asked, ...]
    grey: bool


def chosen_task(tasks: Tasks, name: str, label: str = "", groups: Sequence[str] = ()) -> Task:
    """A task with its label and groups from the command line. Raises SpecError."""
    if name not in tasks.tasks:
        raise SpecError(f"--task: {name[:60]!r} is none of {', '.join(tasks.tasks)}")
    task = tasks.tasks[name]
    if label and task.format not in ("folder", "audit"):
        raise SpecError(f"--label: task {name!r} asks about {task.label or 'what its own data says'}: leave it out")
    if len({*groups}) < len(groups) or len(groups) > len(GROUPS):
        raise SpecError(f"--group: give at most {len(GROUPS)}, each once")
    own, asked = bool(label) and label != task.label, label or task.label
    if asked and asked in groups:
        raise SpecError(f"--group: {asked[:60]!r} is what is asked about: groups of it say nothing")
    task = replace(task, label=asked, groups=tuple(groups) or task.groups)
    for flag, named in (("--label", task.label or "-"), *(("--group", group) for group in task.groups)):
        if not 0 < len(named) <= LONGEST_COLUMN or named != clean_text(named):
            shown = clean_text(named)[:40]
            raise SpecError(
                f"{flag}: {shown!r} can be no column's name: those have 1 to {LONGEST_COLUMN} characters, without "
                "spaces at their ends and control characters"
            )
    return _with_pronouns(replace(task, classes={}, captions={}, positive="") if own else task)


def _with_pronouns(task: Task) -> Task:
    """A task of the family pronoun as its resolution bias needs it, which is women less men by occupation: the
    occupation is the first group, and the classes are masculine and feminine. Raises SpecError."""
    if task.family != "pronoun":
        return task
    where = f"task {task.name!r} of the family pronoun"
    if tuple(task.classes) != PRONOUNS:
        held = clean_text(", ".join(task.classes))[:200] or "none"
        raise SpecError(f"{where}: classes: they must be {' and '.join(PRONOUNS)}, in this order, and are {held}")
    jobs = [name for name in task.groups if name.removeprefix("label_").removeprefix("extra_") in OCCUPATIONS]
    if not jobs:
        first = "occupation" if task.format == "visogender" else "the column of occupations or professions"
        raise SpecError(f"{where}: --group: its first group must be {first}, over which its resolution bias is told")
    return replace(task, groups=(jobs[0], *(name for name in task.groups if name != jobs[0])))


def load(task: Task, data: Data) -> Loaded:
    """The items of a task. Raises SpecError where there are none, with what was left out."""
    try:
        loaded = FORMATS[task.format].load(task, data)
    except (OSError, RecursionError) as error:  # folders in folders, by the thousand, say
        place, why = clean_text(data.place or "the audit")[:300], clean_text(error)[:200]
        raise SpecError(
            f"--data: {place} cannot be read ({why}): look at its folders, and remove what is strange"
        ) from error
    names = [item.name for item in loaded.items]
    if len({*names}) < len(names):
        seen: set[str] = set()
        first = [not (item.name in seen or seen.add(item.name)) for item in loaded.items]
        loaded.left_out["another row names the same image"] += first.count(False)
        loaded.items = [item for item, kept in zip(loaded.items, first, strict=True) if kept]
    if not loaded.items:
        reasons = "; ".join(f"{n:,} x {reason}" for reason, n in loaded.left_out.most_common(5))
        raise SpecError(f"task {task.name!r} has no item that can be asked about{f': {reasons}' if reasons else ''}")
    return loaded


def plan(tasks: Tasks, task: Task, loaded: Loaded, model: Model, limit: int | None = None) -> Plan:
    """Every prompt of a task to a model, which is not loaded yet. `limit` None: the task's own, 0: none. Raises
    SpecError."""
    spec = model.spec
    if not model.SEES:
        raise SpecError(f"--model: {spec.name!r} of kind {spec.kind} sees no pictures: take one of kind vlm or clip")
    task = own_words(_with_pronouns(task), spec.files.get("benchmarks_file"), tasks.forms)
    classes = tuple(task.classes) or loaded.classes
    if not set(task.positive and [task.positive]) <= set(classes):
        raise SpecError(f"task {task.name!r}: positive: {task.positive!r} is none of {', '.join(classes)}")
    form, left_out = tasks.form(task, spec.kind, spec.letters), Counter(loaded.left_out)
    fitting: list[Item] = []
    for item in loaded.items:
        wrong = _misfit(task, item, form, classes, model.READS)
        left_out.update([wrong] if wrong else [])
        fitting += [] if wrong else [item]
    if not fitting:
        raise SpecError(f"task {task.name!r} has no item that can be asked: {left_out.most_common(1)[0][0]}")
    limit = task.limit if limit is None else limit
    items, grey, twice = stratified(fitting, limit), not model.BLIND, bool(task.adversarial) and model.READS
    asked = []
    for item in items:
        for variant in ("", ADVERSARIAL) if twice else ("",):
            prompt, order = prompt_of(task, item, form, classes, model.READS, variant)
            asked += [Asked(item, condition, variant, prompt, order) for condition in (IMAGE, TEXT)]
    values = tuple(tuple(sorted({item.groups[at] for item in items} - {""})) for at in range(len(task.groups)))
    for name, held in zip(task.groups, values, strict=True):
        if len(held) > MOST_VALUES:
            raise SpecError(f"--group: {name!r} has {len(held):,} different values: too many groups to compare")
        if cells(len(held), len(classes)) > MOST_CELLS:
            n = f"{len(held):,} different values, and the task {len(classes):,} answers"
            raise SpecError(f"--group: {name!r} has {n}: too many to compare them; take a group with fewer")
    notes = [task.note, GREY if grey else "", NO_QUESTION if task.adversarial and not model.READS else ""]
    chance = float(np.mean([_shares(task, item, classes) for item in items]))
    shown = BenchmarkTask(
        *(task.title, task.family, classes, task.groups, values, task.positive, clean_text(loaded.source)[:200]),
        *(wording(task, form, classes, model), len(items), len(fitting), limit, chance, _reasons(left_out)),
        " ".join(note for note in notes if note)[:LONGEST_NOTE],
        *example(asked[0].prompt),
    )
    return Plan(called(task), shown, items, tuple(asked), grey)


def _reasons(left_out: Counter[str]) -> dict[str, int]:
    """Why how many are left out; the rarest reasons of very many in one.

    >>> _reasons(Counter({"a": 2, "b": 1}))
    {'a': 2, 'b': 1}
    """
    found = dict(left_out.most_common(MOST_REASONS - 1))
    rest = left_out.total() - sum(found.values())
    return {**found, "other reasons": rest + found.get("other reasons", 0)} if rest else found


def example(prompt: Prompt) -> tuple[str, tuple[str, ...]]:
    """A question as it is put, and its options in words, as an audit keeps them.

    >>> example(Prompt("Who is this?\\nA. a man\\nB. a woman", ("A", "B"), (("a man",), ("a woman",))))
    ('Who is this? A. a man B. a woman', ('a man', 'a woman'))
    """
    texts = [texts[0] for texts in prompt.also] if prompt.also else prompt.options
    return clean_text(prompt.text)[:LONGEST_NOTE], tuple(clean_text(text)[:LONGEST_NOTE] for text in texts)


def called(task: Task) -> str:
    """The name under which answers are kept: a task of any column has that in it.

    >>> from backend.benchmarks.tasks import read_tasks
    >>> called(replace(read_tasks().tasks["folder"], label="label_gender"))
    'folder-label-gender'
    """
    if task.name not in ("folder", "audit") or not task.label:
        return task.name
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in task.label.lower())
    return f"{task.name}-{plain}"[:100]


def options_of(task: Task, item: Item, classes: Sequence[str], reads: bool) -> list[tuple[str, str]]:
    """(class, text) of all that can be chosen about an item, in the order of the task; captions for a model that reads
    no question."""
    if item.options:
        return list(item.options)
    words = {"label": _said(task.label), **item.words}
    found = []
    for name in classes:
        text = fill(task.option, {**words, "text": task.classes.get(name, name)})
        if not reads and (task.captions or task.caption):
            text = task.captions.get(name) or fill(task.caption, {"label": words["label"], "text": text})
        found.append((name, text))
    return found


def _said(label: str) -> str:
    """A column's name as a word: label_gender is "gender"."""
    return label.removeprefix("label_").removeprefix("extra_").replace("_", " ")


def _shares(task: Task, item: Item, classes: Sequence[str]) -> float:
    """How likely an even draw from an item's options has its label."""
    options = options_of(task, item, classes, True)
    return sum(name == item.label for name, _ in options) / len(options)


def _misfit(task: Task, item: Item, form: Form, classes: Sequence[str], reads: bool) -> str:
    """Why an item cannot be asked about: what `checked_prompts` would refuse; "" where it can."""
    if item.label not in classes:
        return "its label is no class of the task"
    options = options_of(task, item, classes, reads)
    lettered = reads and form.options == "letters"
    if not 2 <= len(options) <= (26 if lettered else MOST_OPTIONS):
        return f"it has {len(options)} options"
    if len({alike(text) for _, text in options}) < len(options) or not all(alike(text) for _, text in options):
        return "two of its options are alike, or one is empty"
    if not lettered and max(len(text) for _, text in options) > LONGEST_OPTION:
        return f"an option has more than {LONGEST_OPTION} characters"
    texts = [fill(task.question, item.words), fill(task.adversarial, item.words), *(text for _, text in options)]
    return "its question is too long" if sum(map(len, texts)) > LONGEST_PROMPT - 1_000 else ""


def prompt_of(
    task: Task, item: Item, form: Form, classes: Sequence[str], reads: bool = True, variant: str = ""
) -> tuple[Prompt, tuple[str, ...]]:
    """An item's prompt without its picture, and the class of each option in the order shown.

    The order begins with another option for each item (by a hash of its name, the same in all conditions), so that over
    many items every option stands as often at every place: a model that likes the letter A gains nothing by it.
    """
    options = options_of(task, item, classes, reads)
    turn = int(hash_of(str(SEED), item.name)[:8], 16) % len(options)
    options = options[turn:] + options[:turn]
    names, texts = tuple(name for name, _ in options), [text for _, text in options]
    words = {"label": _said(task.label), **item.words}
    question = fill(task.adversarial if variant else task.question, words)
    if not reads:
        return Prompt(question, tuple(texts)), names
    offered, lines = shown_options(form, texts)
    also = tuple((text,) for text in texts) if form.options == "letters" else ()
    return Prompt(fill(form.template, {"question": question, "options": lines}), offered, also), names


def stratified(items: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """At most so many items (0: all): each combination of label and groups in proportion, and at random within it.

    A stratum's r-th item (in the order of a hash) of m gets the place (r + u) / m, u a hash of the stratum from 0 to 1;
    the first places are taken. So shares are those of the whole to within one item a stratum, the same limit gives the
    same items, and a larger one only adds to them.
    """
    if not limit or limit >= len(items):
        return tuple(items)
    strata: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        strata.setdefault((item.label, *item.groups), []).append(item)
    places = []
    for stratum, some in strata.items():
        start = int(hash_of(str(SEED), *stratum)[:8], 16) / 2**32
        some.sort(key=lambda item: hash_of(str(SEED), item.name))
        places += [((rank + start) / len(some), item.name, item) for rank, item in enumerate(some)]
    kept = {name for _, name, _ in sorted(places, key=lambda entry: entry[:2])[:limit]}
    return tuple(item for item in items if item.name in kept)


def random_answer(one: Asked) -> str:
    """The class of an option that is drawn evenly for an item, by a hash of its name and variant."""
    place = int(hash_of(str(SEED), "random", one.variant, one.item.name)[:8], 16)
    return one.classes[place % len(one.classes)]


def wording(task: Task, form: Form, classes: Sequence[str], model: Model) -> str:
    """A hash of all that is said, beside an item's own words and picture, and of which items count (`more`)."""
    said = [task.question, task.adversarial, task.option, [task.classes.get(name, name) for name in classes]]
    shown = [form.template, form.options] if model.READS else [task.caption, dict(task.captions)]
    return hash_of(json.dumps([said, shown, model.BLIND, task.label, dict(task.more)]))[:16]


def hash_of(*texts: str) -> str:
    return hashlib.sha256("\x1f".join(texts).encode()).hexdigest()
