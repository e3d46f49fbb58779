"""Arrays of an audit as .npy files: written with a head that is known beforehand, and opened only with that head.

So nothing in a file from outside is parsed: its first bytes are compared with what they must be.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from backend.store.files import StoreError

_REPAIR = "Run `python -m backend build` on a copy of the audit without it, or import again."


def npy_head(shape: tuple[int, ...], dtype: str) -> bytes:
    """The first bytes of the .npy file of such an array."""
    out = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, described)
    return out.getvalue()


def mapped(path: Path, shape: tuple[int, ...], dtype: str) -> np.memmap:
    """A file's array as a read-only memory map. Raises StoreError where the file is no array of this shape and type."""
    head = npy_head(shape, dtype)
    size = len(head) + int(np.prod(shape)) * np.dtype(dtype).itemsize
    try:
        with path.open("rb") as file:
            right = path.stat().st_size == size and file.read(len(head)) == head
        if right:
            return np.memmap(path, dtype, "r", len(head), shape)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read ({error}). {_REPAIR}") from error
    words = " x ".join(f"{number:,}" for number in shape)
    raise StoreError(f"{path} is no array of {words} numbers of the type {dtype}. {_REPAIR}")


def numbers(path: Path, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """A file's array in memory, every number of it finite. Raises StoreError."""
    values = np.array(mapped(path, shape, dtype))
    if not np.isfinite(values).all():
        raise StoreError(f"{path} holds what is no finite number. {_REPAIR}")
    return values
