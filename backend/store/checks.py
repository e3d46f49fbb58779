"""What an audit's manifest and tables must be, so that nothing that opens later meets another type.

An audit can come from a stranger, and anybody can compute the hashes in it. Each function here says in words what is
wrong, or "" where all is well; none touches a disk.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from backend.records import DTYPES, LATER_AXES, MIME, SUBSETS

GENERATIONS = "generations.parquet"
REPORT = "import_report.parquet"
REPORT_COLUMNS = ("source", "item", "outcome", "reason")
MOST = 2**53
OTHER_COLUMN = re.compile(r"(label|extra)_\w{1,64}")
"""As importers name columns: 60 letters, and a number where two would be the same."""
_FILE = re.compile(
    r"((images|measures|embeddings|regions|map|text|probes|benchmarks|hiring|neighbours|faces)/)?"
    r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"
)
_STAGE = re.compile(r"[A-Za-z0-9_-]{1,64}")
NAME = r"[a-z0-9][a-z0-9-]{0,39}"
"""An embedding's name."""
_VECTORS = re.compile(
    rf"(embed|map|text|probe|bench|hire)-({NAME})|(regions|averages)-({NAME})-([1-9][0-9]{{0,3}})"
    rf"|(neighbours)-(colour|words|embedding-{NAME})"
)
_TABLES = {"text": "text", "probe": "probes", "bench": "benchmarks", "hire": "hiring"}
_NEIGHBOURS = {"colour": [""], "words": ["-codebook", "-offsets", "-postings", "-graph"]}
"""The ends of the names of files that a search by "colour" and by "words" needs; one in an embedding has the others."""


def measure_file(name: str) -> str:
    """Where a stage's row-aligned numbers lie in an audit's folder."""
    return f"measures/{name}.parquet"


def stage_parts(name: str) -> tuple[str, str, int]:
    """What a stage's name says: its kind ("embed", "regions", "map", "text", "probe", "bench", "hire", "faces",
    "averages", "neighbours", else "measure"), its embedding, describer, model or kind of neighbours, and k.

    >>> stage_parts("regions-blip-vqa-24"), stage_parts("averages"), stage_parts("colourfulness")
    (('regions', 'blip-vqa', 24), ('averages', '', 0), ('measure', '', 0))
    """
    if name in ("faces", "averages"):
        return name, "", 0
    match = _VECTORS.fullmatch(name)
    if match is None:
        return "measure", "", 0
    return match[1] or match[3] or match[6], match[2] or match[4] or match[7], int(match[5] or 0)


def stage_files(name: str) -> list[str]:
    """The files of a stage, by its name."""
    kind, embedding, k = stage_parts(name)
    if kind in ("embed", "map"):
        return [f"{'embeddings' if kind == 'embed' else 'map'}/{embedding}.npy"]
    if kind in _TABLES:
        return [f"{_TABLES[kind]}/{embedding}.parquet"]
    if kind == "neighbours":
        return [f"neighbours/{embedding}{part}.npy" for part in _NEIGHBOURS.get(embedding, ["-levels", "-links"])]
    if kind == "faces":
        return ["faces/detections.parquet"]
    if kind == "averages":
        return [f"faces/{name}.parquet"]
    if kind == "regions":
        return [f"regions/{embedding}-{k}.{ending}" for ending in ("parquet", "npy", "json")]
    return [measure_file(name)]


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MOST  # neither NaN nor infinite


def _sha256(value: Any) -> bool:
    return _text(value) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | float) or (type(value) is int and abs(value) <= MOST)


def _setting(value: Any) -> bool:
    return isinstance(value, str | bool) or (type(value) in (int, float) and abs(value) <= MOST)


def _list_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(fits(entry) for entry in value)


def _dict_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(fits(entry) for entry in value.values())


_MANIFEST = {
    "format": _whole,
    "name": _text,
    "sources": _list_of(lambda value: isinstance(value, dict)),
    "shards": _dict_of(lambda value: isinstance(value, dict)),
    "files": _dict_of(lambda value: isinstance(value, dict)),
    "stages": _dict_of(lambda value: isinstance(value, dict)),
    "sha256": _text,
}
_COUNTS = dict.fromkeys(("read", "added", "already", "left_out"), _whole)
_SOURCE = {"label": _text, "when": _text, **_COUNTS, "seconds": _number}
_GENERATED = {
    "settings": _dict_of(lambda value: _setting(value) or _dict_of(_setting)(value)),
    "weights": _text,
    "versions": _dict_of(_text),
    "fingerprint": lambda value: _text(value) and re.fullmatch("[0-9a-f]{8}", value) is not None,
    "images": _whole,
    "seconds": _number,
}
"""What `generate` did with one system, by its name."""
_SOURCE_MORE = {
    "place": _text,
    "title": _text,
    "note": lambda value: _text(value) and len(value) <= 1000,
    "seed": _whole,
    "generated": _dict_of(lambda value: isinstance(value, dict) and not _entry(value, _GENERATED, "")),
}
"""What a source can have beside; the last four are those of a spec."""
_FILE_ENTRY = {"bytes": _whole, "sha256": _sha256}
_SHARD = {**_FILE_ENTRY, **dict.fromkeys(("rows", "image_bytes", "thumbnail_bytes"), _whole)}
_STAGE_ENTRY = {
    "parameters": _dict_of(lambda value: _plain(value) or _list_of(_plain)(value)),
    "inputs": _list_of(_text),
    "rows": _whole,
    "seconds": _number,
    "versions": _dict_of(_text),
    "files": _list_of(_text),
}
_STAGE_MORE = {"note": lambda value: _text(value) and len(value) <= 1000}
"""What a stage can say beside: what it did otherwise than one would expect, in a sentence."""

_Shape = Mapping[str, Callable[[Any], bool]]


def _entry(value: Mapping[str, Any], shape: _Shape, where: str, more: _Shape = MappingProxyType({})) -> str:
    """What is wrong with one object: a key that lacks, that is of another kind, or that nothing here knows. It can
    have the keys of `more`."""
    lacking = [key for key in shape if key not in value]
    if lacking:
        return f"{where} has no {lacking[0]!r}"
    known = {**more, **shape}
    for key, entry in value.items():
        if key not in known:
            return f"{where} has an unknown entry {key[:40]!r}"
        if not known[key](entry):
            return f"{where} has a {key!r} of the wrong kind"
    return ""


def manifest_problem(manifest: Mapping[str, Any]) -> str:
    """What is wrong with a manifest: its types, the names in it, and what must be listed."""
    problem = _entry(manifest, _MANIFEST, "it")
    if problem:
        return problem
    files, shards = manifest["files"], manifest["shards"]
    found = [_name(name) for name in files]
    found += [_entry(entry, _FILE_ENTRY, f"the file {name[:80]!r}") for name, entry in files.items()]
    found += [_shard(number, name, entry) for number, (name, entry) in enumerate(shards.items())]
    found += [_entry(entry, _SOURCE, "a source", more=_SOURCE_MORE) for entry in manifest["sources"]]
    found += [_stage(name, entry, files) for name, entry in manifest["stages"].items()]
    found += [f"it does not list {name}" for name in (GENERATIONS, REPORT) if name not in files]
    found += [] if shards else ["it has no images"]
    problem = next(filter(None, found), "")
    if not problem:
        try:
            json.dumps(manifest, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return "it holds what is no Unicode text"
    return problem


def _name(name: str) -> str:
    if name.startswith("/") or ".." in name.split("/"):
        return f"it names a file outside its folder ({name[:80]!r})"
    return "" if _FILE.fullmatch(name) else f"it names a file that no audit has ({name[:80]!r})"


def _shard(number: int, name: str, entry: Mapping[str, Any]) -> str:
    if name != f"images/shard-{number:05d}.arrow":
        return _name(name) or f"it names a shard that is out of order ({name[:80]!r})"
    problem = _entry(entry, _SHARD, f"the shard {name!r}")
    if not problem and not 0 < entry["rows"] <= entry["bytes"]:  # so that no small file claims rows without end
        return f"the shard {name!r} has an impossible number of rows"
    return problem


def _stage(name: str, entry: Mapping[str, Any], files: Mapping[str, Any]) -> str:
    if not _STAGE.fullmatch(name):
        return f"it names a stage that no audit has ({name[:80]!r})"
    problem = _entry(entry, _STAGE_ENTRY, f"the stage {name!r}", more=_STAGE_MORE)
    if not problem and (entry["files"] != stage_files(name) or any(file not in files for file in entry["files"])):
        return f"the stage {name!r} has a file that is not listed"
    return problem


_ARROW = {"string": pa.string(), "bool": pa.bool_()}


def arrow_type(column: str) -> pa.DataType:
    """The type in which a column of generations.parquet is stored."""
    kind = DTYPES.get(column, "string")
    return _ARROW.get(kind) or pa.from_numpy_dtype(kind.lower())


def generations_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of generations.parquet, before any of it is read. An audit from before an axis
    has no column for it."""
    if len(set(schema.names)) != len(schema.names):
        return "it names a column twice"
    lacking = [name for name in DTYPES if name not in schema.names and name not in LATER_AXES]
    if lacking:
        return f"it has no column {lacking[0]!r}"
    for name in schema.names:
        if name not in DTYPES and not OTHER_COLUMN.fullmatch(name):
            return f"it has an unknown column {name[:80]!r}"
        if schema.field(name).type != arrow_type(name):
            return f"its column {name!r} has another type"
    return ""


def generations_values(table: pa.Table, numbered: bool = True) -> str:
    """What is wrong with the values of generations.parquet, whose columns are right. Until an import has ended, its
    rows may have no number; then `numbered` is False."""
    gaps = ("seed",) if numbered else ("seed", "number")
    for name in table.column_names:
        if name not in gaps and table.column(name).null_count:
            return f"its column {name!r} has gaps"
    ids = table.column("id")
    if not pc.all(pc.match_substring_regex(ids, r"\A[0-9a-f]{16}\z")).as_py():
        return "an id in it is not 16 hexadecimal digits"
    if pc.count_distinct(ids).as_py() != len(table):
        return "an id is in it twice"
    for name, words in (("format", MIME), ("subset", SUBSETS)):
        if not set(pc.unique(table.column(name)).to_pylist()) <= set(words):
            return f"its column {name!r} holds an unknown word"
    for name in ("width", "height"):
        if pc.min(table.column(name)).as_py() < 1:
            return f"its column {name!r} holds a number below 1"
    return ""


def report_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of import_report.parquet."""
    texts = all(pa.types.is_string(field.type) or pa.types.is_large_string(field.type) for field in schema)
    return "" if texts and tuple(schema.names) == REPORT_COLUMNS else "its columns are not those of a report"


def report_values(table: pa.Table) -> str:
    """What is wrong with the values of import_report.parquet."""
    return "it has gaps" if any(column.null_count for column in table.columns) else ""


def measure_columns(name: str, schema: pa.Schema) -> str:
    """What is wrong with the columns of a stage's file of numbers."""
    right = schema.names == [name] and schema.field(name).type == pa.float64()
    return "" if right else f"it is not one column {name!r} of numbers"


_REGION = {"region": pa.int16(), "margin": pa.float32(), "member": pa.int16()}


def region_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of regions/<embedding>-<k>.parquet."""
    right = schema.names == list(_REGION) and all(schema.field(name).type == kind for name, kind in _REGION.items())
    return "" if right else "its columns are not those of regions"


def region_values(table: pa.Table, k: int) -> str:
    """What is wrong with its values."""
    if any(column.null_count for column in table.columns):
        return "it has gaps"
    for name, low in (("region", 0), ("member", -1)):
        found = pc.min_max(table.column(name)).as_py()
        if len(table) and not low <= found["min"] <= found["max"] < k:
            return f"its column {name!r} names a region that is not there"
    if not pc.all(pc.is_finite(table.column("margin"))).as_py():
        return "its column 'margin' holds what is no finite number"
    return ""
