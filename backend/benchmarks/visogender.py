"""VisoGender: who is at work in a picture, with an object (OO) or with a participant (OP), as its TSV files say."""

from __future__ import annotations

from pathlib import Path

from backend.benchmarks.base import Data, Item, Loaded, Pictures, Task, chosen, column, folder_of, table_of
from backend.records import clean_text
from backend.spec import Key, SpecError

LAYOUT = (
    "one of VisoGender's .tsv files (https://github.com/oxai/visogender) with the images below it, each called by its "
    "IDX, as images/OO_1.jpg"
)
KEYS = {"people": Key(int, 1, low=1, high=2)}
"""How many people a picture shows: 1 with an object (OO), 2 with a participant (OP)."""
OTHER = {"masculine": "woman", "feminine": "man"}
"""The wrong word for a person of each perceived gender, for the adversarial question."""


def table_file(place: Path, root: Path, people: int) -> tuple[Path, list[str], list[dict[str, str]]]:
    """The table to read: the file that was given, or the one below the folder that has the right columns. Raises
    SpecError."""
    second = {1: "Object", 2: "Participant"}[people]
    paths = [place] if place.is_file() else sorted(root.rglob("*.tsv"))
    fitting, shown = [], clean_text(root)
    for path in paths:
        columns, rows = table_of(path, None if path == place else root, "\t")
        named = {clean_text(name).casefold() for name in columns}
        if {"idx", "occupation", second.casefold()} <= named or place.is_file():
            fitting.append((path, columns, rows))
    if not fitting:
        raise SpecError(
            f"--data: {shown} holds no table with the columns IDX, Occupation and {second}; expected is {LAYOUT}"
        )
    if len(fitting) > 1:
        names = ", ".join(clean_text(path.name) for path, _, _ in fitting[:5])
        raise SpecError(f"--data: {shown} holds {len(fitting)} such tables ({names}): give one of them as --data FILE")
    return fitting[0]


def load(task: Task, data: Data) -> Loaded:
    """Items with a picture; the label is the perceived gender of whoever is at work. Columns are found by their names,
    in any order; those that nothing here needs are passed over. Raises SpecError."""
    if not set(OTHER) <= set(task.classes):
        raise SpecError(f"task {task.name!r}: classes: {' and '.join(OTHER)} must be among them")
    root, people = folder_of(task, data, LAYOUT), task.more["people"]
    path, columns, rows = table_file(data.place.expanduser(), root, people)
    index, job = column(columns, path, "IDX"), column(columns, path, "Occupation")
    other = column(columns, path, "Object" if people == 1 else "Participant")
    truth, address = column(columns, path, "Occupation_perceived_gender"), column(columns, path, "URL*")
    theirs = column(columns, path, "Participant_perceived_gender") if people == 2 else ""
    offered = {"occupation": job, "sector": "Sector", "specialisation": "Specialisation"}
    offered |= {"participant": theirs} if people == 2 else {}
    groups = [column(columns, path, offered[name]) for name in chosen(task, offered)]
    loaded, pictures = Loaded(source=root.resolve().name), Pictures(root)
    for row in rows:
        label, partner = row.get(truth, "").casefold(), row.get(theirs, "").casefold()
        if label not in OTHER or (people == 2 and partner not in OTHER):
            loaded.left_out["its perceived gender is neither masculine nor feminine"] += 1
            continue
        if not all(row.get(name) for name in (index, job, other)):
            loaded.left_out["its row lacks IDX, occupation or what goes with it"] += 1
            continue
        name = pictures.found_or_fetched(data, row.get(address, ""), (Path(row[index]).name,), loaded.left_out)
        if name:
            words = {"occupation": row[job], "other": row[other].replace("_", " "), "wrong": OTHER[label]}
            words |= {"wrong_other": OTHER[partner]} if people == 2 else {}
            values = tuple(row.get(group, "")[:100] for group in groups)
            loaded.items.append(Item(row[index][:300], label, values, pictures.load(name), words))
    return loaded
