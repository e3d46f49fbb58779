"""What the tables of an audit's faces must be: their columns, and in words what is wrong with their values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

SIDE = 256
"""Pixels on each side of an aligned face and of an average."""
MOST_BYTES = 4 * SIDE * SIDE
"""No WebP of SIDE x SIDE needs more."""
FARTHEST = 2.0**24
"""No place in a picture, in pixels, lies farther than this from its corner."""
BOX = ("x0", "y0", "x1", "y1")
POINTS = tuple(f"{point}_{axis}" for point in ("left_eye", "right_eye", "nose", "mouth") for axis in "xy")
DETECTIONS = pa.schema(
    [
        ("faces", pa.int16()),
        ("score", pa.float32()),
        *((name, pa.float32()) for name in BOX),
        ("cut", pa.bool_()),
        *((name, pa.float32()) for name in POINTS),
        ("presence", pa.float32()),
        ("sharpness", pa.float32()),
    ]
)
NUMBERS = ("score", *BOX, *POINTS, "presence", "sharpness")
"""Columns that hold a number where there is a face, and NaN where there is none."""
COUNTS = ("total", "n", "several")
MEASURES = (
    *("sharpness", "members", "ratio", "ratio_low", "ratio_high"),
    *("homogeneity", "homogeneity_low", "homogeneity_high"),
)
AVERAGES = pa.schema(
    [
        *(("system", pa.string()), ("subject", pa.string()), ("region", pa.int16())),
        *((name, pa.int32()) for name in COUNTS),
        *((name, pa.float64()) for name in MEASURES),
        ("picture", pa.binary()),
    ]
)


def detection_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of faces/detections.parquet."""
    return "" if schema.remove_metadata().equals(DETECTIONS) else "its columns are not those of faces"


def average_columns(schema: pa.Schema) -> str:
    """What is wrong with the columns of faces/averages*.parquet."""
    return "" if schema.remove_metadata().equals(AVERAGES) else "its columns are not those of average faces"


def _gaps(table: pa.Table) -> str:
    return next((f"its column {name!r} has gaps" for name in table.column_names if table.column(name).null_count), "")


def detection_values(table: pa.Table) -> str:
    """What is wrong with the values of faces/detections.parquet."""
    if _gaps(table):
        return _gaps(table)
    values = {name: table.column(name).to_numpy() for name in table.column_names}
    if (values["faces"] < 0).any():
        return "its column 'faces' holds a number below 0"
    found = values["faces"] > 0
    if values["cut"][~found].any():
        return "a picture without a face has one that is cut"
    for name in NUMBERS:
        if (np.isfinite(values[name]) != found).any() or np.isinf(values[name]).any():
            return f"its column {name!r} does not have one number for every picture with a face, and none for others"
    if any((np.abs(values[name]) > FARTHEST).any() for name in (*BOX, *POINTS)):
        return "a place in it lies in no picture"
    if any((values[high][found] <= values[low][found]).any() for low, high in (("x0", "x1"), ("y0", "y1"))):
        return "a box in it is empty"
    if any(((values[name] < 0) | (values[name] > 1)).any() for name in ("score", "presence", "sharpness")):
        return "a score or a sharpness in it is not from 0 to 1"
    return ""


def average_values(table: pa.Table, k: int, groups: pd.DataFrame, rows: int) -> str:
    """What is wrong with the values of faces/averages*.parquet of an audit with so many rows. `groups` are its systems
    and subjects; k is 0 for averages over all regions."""
    if _gaps(table):
        return _gaps(table)
    keys = ["system", "subject"]
    named = table.select([*keys, "region"]).to_pandas().astype({"system": str, "subject": str})
    if named.duplicated().any():
        return "it has two averages of one group"
    if len(named.merge(groups.astype(str), on=keys)) != len(named):
        return "it names a system or a subject that the audit does not have"
    if not named["region"].between(0 if k else -1, k - 1).all():
        return "its column 'region' names a region that is not there"
    values = {name: table.column(name).to_numpy() for name in (*COUNTS, *MEASURES)}
    total, count, several = (values[name].astype("int64") for name in COUNTS)
    if (total < 1).any() or total.sum() > rows or (np.minimum(count, several) < 0).any():
        return "it counts images that are not there"
    if (np.maximum(count, several) > total).any():
        return "it counts more faces than images"
    for name in MEASURES:
        known = values[name][~np.isnan(values[name])]
        if (known < 0).any() or (known > 1).any():
            return f"its column {name!r} holds a number that is not from 0 to 1"
    for name in ("ratio", "homogeneity"):
        if (values[f"{name}_high"] < values[f"{name}_low"]).any():
            return f"an interval of {name!r} in it ends before it begins"
    return _pictures(table.column("picture"), count)


def _pictures(column: pa.ChunkedArray, count: np.ndarray) -> str:
    for chunk in column.chunks:  # lengths first: one value can stand for many rows
        held = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if len(held) and pc.max(pc.binary_length(held)).as_py() > MOST_BYTES:
            return f"a picture in it has more than {MOST_BYTES:,} bytes"
    for number, value in zip(count.tolist(), column, strict=True):
        data = value.as_py()
        wrong = picture_problem(data) if number else "" if data == b"" else "a group without faces has one"
        if wrong:
            return f"a picture in it is none of ours: {wrong}"
    return ""


def picture_problem(data: bytes) -> str:
    """What is wrong with the head of an average's picture: a lossy WebP of SIDE x SIDE, nothing before or after it."""
    if data[:4] != b"RIFF" or data[8:16] != b"WEBPVP8 " or data[23:26] != b"\x9d\x01\x2a":
        return "it is no lossy WebP"
    whole, part = (int.from_bytes(data[first : first + 4], "little") for first in (4, 16))
    if whole != len(data) - 8 or not whole - 13 <= part <= whole - 12:
        return "its length is not what it says"
    width, height = (int.from_bytes(data[first : first + 2], "little") & 0x3FFF for first in (26, 28))
    return "" if (width, height) == (SIDE, SIDE) else f"it has {width} x {height} pixels"
