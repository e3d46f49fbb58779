"""A source's items -> an audit: read, check and thumbnail in threads, append in the source's order."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from backend.pictures import MAX_PIXELS, Picture, PictureError, read_picture
from backend.records import Item, LeftOut, Report, SourceError, generation_id
from backend.store import AuditWriter

AHEAD = 4
"""Items in work per thread: enough to keep the threads busy, few enough to keep memory flat."""


@dataclass(frozen=True)
class _Ready:
    item: Item
    id: str
    sha256: str
    data: bytes
    picture: Picture | None


def _prepare(item: Item | LeftOut, known: Callable[[str], bool], max_pixels: int) -> _Ready | LeftOut:
    if isinstance(item, LeftOut):
        return item
    try:
        data = item.load()
        sha256 = hashlib.sha256(data).hexdigest()
        name = generation_id(sha256, item.values)
        return _Ready(item, name, sha256, data, None if known(name) else read_picture(data, max_pixels))
    except PictureError as error:
        return LeftOut(item.name, str(error))
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); make it readable or remove it" if error.strerror else str(error)
        return LeftOut(item.name, reason)


def _ahead(items: Iterable[Item | LeftOut], work, workers: int) -> Iterator[_Ready | LeftOut]:
    """`map(work, items)` in threads, in order, with at most workers * AHEAD results waiting."""
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque = deque()
        stopped = None
        try:
            try:
                for item in items:
                    waiting.append(pool.submit(work, item))
                    if len(waiting) >= workers * AHEAD:
                        yield waiting.popleft().result()
            except SourceError as error:  # what came before it is good, and is to be kept
                stopped = error
            while waiting:
                yield waiting.popleft().result()
            if stopped is not None:
                raise stopped
        finally:
            for future in waiting:
                future.cancel()


def ingest(
    items: Iterable[Item | LeftOut],
    writer: AuditWriter,
    report: Report,
    max_pixels: int = MAX_PIXELS,
    workers: int = 2,
    progress: Callable[[], object] = lambda: None,
) -> Report:
    """Append every good item to `writer` and say in `report` what became of each.

    An item whose id the audit already has, under the same name, counts as `already`; under another name it is a
    duplicate and left out. `progress` is called once an item. Raises what `items` raises (SourceError) and
    StoreError from the writer.
    """
    for ready in _ahead(items, lambda item: _prepare(item, writer.known.__contains__, max_pixels), workers):
        progress()
        report.read += 1
        if isinstance(ready, LeftOut):
            report.read -= ready.outcome == "noted"
            report.add(ready.name, ready.reason, ready.outcome)
            continue
        item, earlier = ready.item, writer.known.get(ready.id)
        if earlier is not None:
            if earlier == item.name:
                report.already += 1
                _note(report, item, ready.id in writer.moving)
            else:
                report.add(item.name, f"exact duplicate of {earlier}, for the same request; one copy is enough")
            continue
        picture = ready.picture
        _note(report, item, picture.animated)
        writer.add(_row(ready, picture), ready.data, picture.thumbnail)
        report.added += 1
    return report


def _note(report: Report, item: Item, moves: bool) -> None:
    for note in item.notes:
        report.add(item.name, note, "noted")
    if moves:
        report.add(item.name, "the file moves; its first frame stands for it", "noted")


def _row(ready: _Ready, picture: Picture) -> dict[str, object]:
    values = ready.item.values
    return {
        **values,
        "id": ready.id,
        "seed": int(values["seed"]) if values["seed"] else None,
        "number": int(values["number"]) if values["number"] else None,
        "width": picture.width,
        "height": picture.height,
        "format": picture.format,
        "animated": picture.animated,
        "bytes": len(ready.data),
        "sha256": ready.sha256,
        "source": ready.item.name,
    }
