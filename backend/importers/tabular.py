"""Tables that hold images: Parquet files and Hub data sets, streamed through `datasets`."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.importers.columns import as_text, assign, listed
from backend.records import Item, LeftOut, SourceError, clean_text, regular


def read_parquet(
    files: list[Path], root: Path, system: str, names: Mapping[str, str]
) -> tuple[int, Iterator[Item | LeftOut]]:
    """How many rows the files hold by their own footers, and the items. A file that is no Parquet, or whose columns
    do not do, is left out. Raises SourceError where that is so of every file.
    """
    good, bad, total = [], [], 0
    for path in files:
        name = clean_text(path.relative_to(root))
        try:
            with pq.ParquetFile(path) as footer:
                rows, schema = footer.metadata.num_rows, footer.schema_arrow
            _columns(schema.names, _image_column(schema), names, name, system)
        except (OSError, pa.ArrowException) as error:
            bad.append(LeftOut(name, f"no Parquet file that can be read ({str(error)[:80]}); fetch it again"))
        except SourceError as error:
            bad.append(LeftOut(name, str(error)))
        else:
            good.append((path, name, rows))
            total += rows
    if not good:
        raise SourceError(f"{clean_text(files[0])}: {bad[0].reason}")

    def items() -> Iterator[Item | LeftOut]:
        yield from bad
        for path, name, rows in good:
            yield from _file_items(path, name, rows, system, names)

    return total + len(bad), items()


def _file_items(path: Path, name: str, rows: int, system: str, names: Mapping[str, str]) -> Iterator[Item | LeftOut]:
    import datasets

    done = 0
    try:
        stream = datasets.load_dataset("parquet", data_files=glob.escape(str(path)), split="train", streaming=True)
        for item in _items(stream, name, system, names):
            yield item
            done += 1
    except (
        OSError,
        ValueError,
        OverflowError,  # a date out of range
        KeyError,  # a time zone that nobody knows
        pa.ArrowException,
        datasets.exceptions.DatasetsError,
    ) as error:
        yield LeftOut(name, f"damaged after row {done:,} of {rows:,} ({str(error)[:80]}); fetch it again")


HUB_TRIES = 2
"""How often `datasets` opens or reads a file anew, on top of the Hub client's own six tries (23 seconds of waiting).
Its default of 20 would have a user wait for half an hour before hearing that the network is gone."""


def read_hub(name: str, split: str, system: str, names: Mapping[str, str]) -> Iterator[Item | LeftOut]:
    """The items of a Hub data set. Raises SourceError where the Hub or the set is, or falls, out of reach."""
    import datasets
    import yaml
    from huggingface_hub.utils import httpx

    datasets.config.STREAMING_OPEN_MAX_RETRIES = datasets.config.STREAMING_READ_MAX_RETRIES = HUB_TRIES
    done = 0
    try:
        stream = datasets.load_dataset(name, split=split, streaming=True)
        for item in _items(stream, name, system, names):
            yield item
            done += 1
    except (
        datasets.exceptions.DatasetsError,
        httpx.HTTPError,
        pa.ArrowException,
        yaml.YAMLError,  # what follows is, beside the obvious, what `datasets` makes of a data card that is wrong
        OSError,
        ValueError,
        OverflowError,  # a date out of range
        TypeError,
        KeyError,
        AttributeError,
        RuntimeError,  # a data set that is a script
    ) as error:
        reason = f"({type(error).__name__}: {' '.join(str(error).split())[:200]})"
        if done:
            raise SourceError(
                f"the Hub stopped sending {name!r} after row {done:,}. What was finished is kept: run the same command "
                "again to go on. Where it stops there again, fetch its Parquet files and import the folder that holds "
                f"them. {reason}"
            ) from error
        raise SourceError(
            f"{name!r} is no folder here, and as a data set it cannot be had from the Hub. Check its name, its split "
            "and the network (a private set needs `hf auth login`), or fetch its Parquet files elsewhere and import "
            f"the folder that holds them. {reason}"
        ) from error


def _image_column(schema: pa.Schema) -> str:
    """The first column that holds images: a struct with bytes, or bytes themselves; "" where there is none."""
    for field in schema:
        kind = field.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            return field.name
        if pa.types.is_struct(kind) and "bytes" in [kind.field(i).name for i in range(kind.num_fields)]:
            return field.name
    return ""


def _columns(columns: list[str], image: str, names: Mapping[str, str], where: str, system: str) -> dict[str, str]:
    if image and "image" not in names.values():
        names = {**names, image: "image"}
    repeated = sorted({column for column in columns if columns.count(column) > 1})
    if repeated:
        raise SourceError(f"{where} names the column {repeated[0]!r} twice: rename one")
    ours = assign(columns, names, where)
    if "image" not in ours.values():
        raise SourceError(
            f"{where} has no column of images; it has {listed(columns)}. Say which it is with --map COLUMN=image"
        )
    if "system" not in ours.values() and not system:
        raise SourceError(
            f"{where} has no column 'system' or 'model'; it has {listed(columns)}. "
            "Say which it is with --map COLUMN=system, or name the one system with --system NAME"
        )
    return {column: "item" if name == "file_name" else name for column, name in ours.items()}


def _items(stream: Any, where: str, system: str, names: Mapping[str, str]) -> Iterator[Item | LeftOut]:
    import datasets

    if stream.features is None:
        stream = stream._resolve_features()
    image = _image_column(stream.features.arrow_schema)
    ours = _columns(list(stream.features), image, names, where, system)
    column = next(key for key, name in ours.items() if name == "image")
    labels = {key: kind for key, kind in stream.features.items() if isinstance(kind, datasets.ClassLabel)}
    stream = stream.decode(False).cast_column(column, datasets.Image(decode=False))
    for number, row in enumerate(stream, start=1):
        name = f"{where}, row {number}"
        row |= {key: _label(kind, row[key]) for key, kind in labels.items()}
        raw = {ours[key]: as_text(value) for key, value in row.items() if key != column}
        raw["system"] = raw.get("system") or system
        raw["item"] = " ".join(filter(None, [name, clean_text(raw.get("item", ""))[:200]]))
        yield _item(raw, row[column])


def _label(kind: Any, value: int | None) -> str:
    """The name of a class that a table holds as a number; -1 and nothing are no class."""
    return kind.names[value] if value is not None and 0 <= value < len(kind.names) else ""


def _item(raw: dict[str, str], image: Any) -> Item | LeftOut:
    name = raw.pop("item")
    data = (image or {}).get("bytes")
    if not data:
        reason = "the row holds no image bytes (paths in a table are not followed)"
        return LeftOut(name, f"{reason}; remove the row or embed the image")
    try:
        values, notes = regular(raw)
    except ValueError as error:
        return LeftOut(name, str(error))
    return Item(name, values, lambda: data, notes)
