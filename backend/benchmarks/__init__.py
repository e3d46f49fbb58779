"""Benchmarks: tasks as data (assets/benchmarks), and a short loader for each format that labelled images come in.

`FORMATS` is the list of formats. A loader turns the user's own copy of a data set into items; it downloads nothing,
unless it is told to, and counts what it has to leave out.
"""

from __future__ import annotations

from backend.benchmarks import celeba, folder, own, pata, stereoset, utkface, visogender
from backend.benchmarks.base import Data, Format, Item, Loaded, Task

FORMATS: dict[str, Format] = {
    "utkface": Format(utkface.load, utkface.LAYOUT, utkface.KEYS),
    "celeba": Format(celeba.load, celeba.LAYOUT, celeba.KEYS),
    "pata": Format(pata.load, pata.LAYOUT, pata.KEYS),
    "visogender": Format(visogender.load, visogender.LAYOUT, visogender.KEYS),
    "vl-stereoset": Format(stereoset.load, stereoset.LAYOUT, stereoset.KEYS),
    "folder": Format(folder.load, folder.LAYOUT, folder.KEYS),
    "audit": Format(own.load, "", own.KEYS),
}
"""To add a format: one module with `load`, `LAYOUT` and `KEYS`, and one line here."""

__all__ = ["FORMATS", "Data", "Format", "Item", "Loaded", "Task"]
