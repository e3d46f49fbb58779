"""Audits as a stranger would make them: changed at will, and every hash in them right again."""

import json

import pytest
from samples import likeness, portrait_rows, write, write_csv

from backend import neighbour_stages
from backend.build import build, status
from backend.store import Audit, StoreError
from backend.store import files as store_files

SHARD = "images/shard-00000.arrow"
TABLE = "generations.parquet"
REPORT = "import_report.parquet"
MEASURE = "measures/colourfulness.parquet"


def make_model(root):
    """A well made audit of four images, with its stage and a line in its report."""
    rows = portrait_rows(root / "source", ("A", "B"), ("nurse",), 2)
    write_csv(root / "source", [{**row, "label_mood": "calm", "seed": "7"} for row in rows])
    write(root / "source" / "stray.png", b"x")
    assert likeness("import", root / "source", "a", "--shard-rows", 2, cache=root) == 0
    with pytest.MonkeyPatch.context() as patch:  # test_hostile_neighbours.py has what they need
        patch.setattr(neighbour_stages, "wanted", lambda audit: [])
        build(root, "a", 1)
    return root / "a"


def seal(folder, change=lambda manifest: None):
    """Change the manifest and give every listed file, and the manifest, the size and hash that it has."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    for listed in (manifest["files"], manifest["shards"]):
        for name in listed:
            if (folder / name).is_file():
                listed[name].update(store_files.describe(folder / name))
    manifest = change(manifest) or manifest
    manifest["sha256"] = store_files._seal(manifest)
    path.write_text(json.dumps(manifest))


def refused(folder, *words):
    """Opening, every command and every reader end in a StoreError's sentence."""
    with pytest.raises(StoreError) as error:
        Audit(folder)
    assert all(word in str(error.value) for word in words), error.value
    for command in ("status", "build"):
        assert likeness(command, folder.name, cache=folder.parent) == 1
    str(error.value).encode()


def used(audit):
    """Everything that the app asks of an audit."""
    for row in range(len(audit)):
        audit.image(row), audit.thumbnail(row)
    for name in ("colourfulness", "nothing"):
        audit.measure(name)
    return audit.report(), audit.rows(system="A"), status(audit)


def paths(value, before=()):
    """The place of every value in a manifest."""
    yield before
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from paths(child, (*before, key))


ODD = (None, [], {}, "x", -1, 0, 10**4000, 1e308, True, [None], {"x": None}, "../../x", "\ud800", "gone")


def changed(whole, place, value):
    """A copy with one value changed, or gone."""
    copy = json.loads(json.dumps(whole))
    parent = copy
    for key in place[:-1]:
        parent = parent[key]
    if value == "gone":
        del parent[place[-1]]
    else:
        parent[place[-1]] = value
    return copy
