"""VL-StereoSet: pictures with a stereotypical, an anti-stereotypical and an unrelated caption."""

from __future__ import annotations

from backend.benchmarks.base import (
    Data,
    Item,
    Loaded,
    Pictures,
    Task,
    bound,
    chosen,
    column,
    endings,
    folder_of,
    table_of,
)
from backend.records import clean_text
from backend.spec import SpecError

LAYOUT = (
    "VLStereoSet.csv (columns stereotype, anti-stereotype, unrelated, bias_type, image URL and label) with the images "
    "below images/, each called by its row's number from 0"
)
KEYS = {}
CLASSES = ("stereotype", "anti-stereotype", "unrelated")
"""In the order of the numbers of the column label."""


def load(task: Task, data: Data) -> Loaded:
    """Items with a picture; the label is the caption that the picture shows. Raises SpecError."""
    root = folder_of(task, data, LAYOUT)
    found = sorted(path for path in root.rglob("*.csv") if path.name.casefold() == "vlstereoset.csv")
    if not found:
        raise SpecError(f"--data: {clean_text(root)} holds no VLStereoSet.csv; expected is {LAYOUT}")
    columns, rows = table_of(found[0], bound(data, root, found[0]))
    texts = {name: column(columns, found[0], name) for name in CLASSES}
    kind, address = column(columns, found[0], "bias_type"), column(columns, found[0], "image url", "imaeg url", "url*")
    truth, groups, pictures = column(columns, found[0], "label"), chosen(task, ("category",)), Pictures(root)
    loaded, ends = Loaded(source=root.resolve().name, classes=CLASSES), endings(row.get(address, "") for row in rows)
    for number, row in enumerate(rows):
        own = tuple((name, row.get(texts[name], "")) for name in CLASSES)
        place = row.get(truth, "").removesuffix(".0")
        if place not in ("0", "1", "2"):
            loaded.left_out["its label is none of 0, 1, 2"] += 1
        elif not all(text for _, text in own):
            loaded.left_out["it lacks a caption"] += 1
        else:
            wanted = (str(number), ends[number])
            name = pictures.found_or_fetched(data, row.get(address, ""), wanted, loaded.left_out)
            if name:
                values = tuple(row.get(kind, "")[:100] for _ in groups)
                loaded.items.append(Item(str(number), CLASSES[int(place)], values, pictures.load(name), {}, own))
    return loaded
