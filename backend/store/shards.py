"""Image shards: Arrow streams of original bytes and thumbnails, in the layout that `datasets` reads.

`datasets.load_from_disk("cache/<audit>/images")` opens them with both columns as images; here they are read by row
from the memory map, without importing `datasets`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
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


def _batches(source: pa.MemoryMappedFile) -> Iterator[pa.RecordBatch]:
    """The batches of an Arrow stream in SCHEMA, as parts of the map; a compressed one would be copied, at any size."""
    schema = None
    for message in pa.ipc.MessageReader.open_stream(source):
        if schema is None:
            schema = pa.ipc.read_schema(message)
            if not schema.equals(SCHEMA):
                raise pa.ArrowInvalid("its columns are not those of a shard")
            continue
        if message.type != "record batch" or _compressed(message.metadata.to_pybytes()):
            raise pa.ArrowInvalid("it is compressed, or holds more than images")
        batch = pa.ipc.read_record_batch(message, schema)
        batch.validate(full=True)  # a damaged offset would point outside the map
        if any(part.null_count for column in batch.columns for part in (column, column.field("bytes"))):
            raise pa.ArrowInvalid("an image is missing")
        yield batch


def _compressed(metadata: bytes) -> bool:
    """Whether an Arrow message (a flatbuffer that Arrow has verified) is a batch with compressed buffers."""

    def place(table: int, field: int) -> int:
        """Where a table's field lies; 0 where the table has no such field."""
        entries = table - struct.unpack_from("<i", metadata, table)[0]
        offset = 4 + 2 * field
        if offset >= struct.unpack_from("<H", metadata, entries)[0]:
            return 0
        within = struct.unpack_from("<H", metadata, entries + offset)[0]
        return table + within if within else 0

    root = struct.unpack_from("<I", metadata, 0)[0]
    header = place(root, 2)  # Message: version, type of the header, header
    batch = header + struct.unpack_from("<I", metadata, header)[0]
    return place(batch, 3) != 0  # RecordBatch: length, nodes, buffers, compression


class Shard:
    """One shard, memory-mapped: `bytes_of(column, row)` copies a row's bytes out of the map.

    Raises OSError or ArrowException where it is not what ShardWriter writes.
    """

    def __init__(self, path: Path) -> None:
        with pa.memory_map(str(path)) as source:
            self._batches = list(_batches(source))
            size = source.size()
        if sum(batch.nbytes for batch in self._batches) > size:
            raise pa.ArrowInvalid("its images are larger than the file")
        self._ends = np.cumsum([batch.num_rows for batch in self._batches])

    def bytes_of(self, column: str, row: int) -> bytes:
        index = int(np.searchsorted(self._ends, row, side="right"))
        batch = self._batches[index]
        within = row - (int(self._ends[index - 1]) if index else 0)
        return batch.column(column).field("bytes")[within].as_buffer().to_pybytes()
