"""Image shards: Arrow streams of original bytes and thumbnails, in the layout that `datasets` reads.

`datasets.load_from_disk("cache/<audit>/images")` opens them with both columns as images; here they are read by row
from the memory map, without importing `datasets`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_FEATURES = {"image": {"_type": "Image"}, "thumbnail": {"_type": "Image"}}
SCHEMA = pa.schema(
    [("image", _IMAGE), ("thumbnail", _IMAGE)],
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)
BATCH_ROWS = 32
BATCH_BYTES = 16_000_000


def dataset_files(names: list[str]) -> dict[str, str]:
    """The two JSON files by which `datasets.load_from_disk` knows a folder of shards."""
    state = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": f"likeness{len(names)}",
        "_format_columns": None,
        "_format_kwargs": {},
        "_format_type": None,
        "_output_all_columns": False,
        "_split": None,
    }
    return {
        "state.json": json.dumps(state),
        "dataset_info.json": json.dumps({"features": _FEATURES}),
    }


class ShardWriter:
    """Writes one shard; batches go to the disk as they fill, so that memory does not grow with the shard."""

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self.image_bytes = 0
        self.thumbnail_bytes = 0
        self._images: list[bytes] = []
        self._thumbnails: list[bytes] = []
        self._waiting = 0
        self._file = path.open("wb")
        self._stream = pa.ipc.new_stream(pa.PythonFile(self._file, mode="w"), SCHEMA)

    def add(self, image: bytes, thumbnail: bytes) -> None:
        self._images.append(image)
        self._thumbnails.append(thumbnail)
        self._waiting += len(image) + len(thumbnail)
        self.rows += 1
        self.image_bytes += len(image)
        self.thumbnail_bytes += len(thumbnail)
        if len(self._images) >= BATCH_ROWS or self._waiting >= BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        columns = [
            pa.array([{"bytes": data, "path": None} for data in column], _IMAGE)
            for column in (self._images, self._thumbnails)
        ]
        self._stream.write_batch(pa.record_batch(columns, schema=SCHEMA))
        self._images, self._thumbnails, self._waiting = [], [], 0

    def close(self) -> None:
        """End the stream. A shard that was not closed has no end mark and is never listed."""
        if self._images:
            self._flush()
        self._stream.close()
        self._file.close()

    def abandon(self) -> None:
        """Close the file as it is, also on a full disk; whoever made the shard removes it."""
        with suppress(OSError):
            self._file.close()


class Shard:
    """One shard, memory-mapped: `bytes_of(column, row)` copies a row's bytes out of the map."""

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
            self._batches = list(stream)
        for batch in self._batches:
            batch.validate(full=True)  # a damaged offset would point outside the map
        self._ends = np.cumsum([batch.num_rows for batch in self._batches])

    def bytes_of(self, column: str, row: int) -> bytes:
        index = int(np.searchsorted(self._ends, row, side="right"))
        batch = self._batches[index]
        within = row - (int(self._ends[index - 1]) if index else 0)
        return batch.column(column).field("bytes")[within].as_buffer().to_pybytes()
