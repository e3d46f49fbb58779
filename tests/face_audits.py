"""Audits with made-up faces and averages, made without any model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from region_audits import make_region_audit
from samples import encode

from backend.store import Audit, FaceWriter, write_averages, writing
from backend.store.face_tables import DETECTIONS, SIDE

EACH_NO_FACE, EACH_SEVERAL = 7, 5
"""Every so many rows no face is found, or two."""


def detections(rows: int) -> pd.DataFrame:
    """A face within 24 x 16 pixels in most rows, two in some, none in others."""
    number = np.arange(rows)
    faces = np.where(number % EACH_NO_FACE == 3, 0, np.where(number % EACH_SEVERAL == 2, 2, 1))
    shift = (number % 10).astype(float)
    places = {"x0": 5, "y0": 3, "x1": 15, "y1": 14, "left_eye_x": 7.5, "left_eye_y": 6, "right_eye_x": 12.5}
    places |= {"right_eye_y": 6, "nose_x": 10, "nose_y": 8, "mouth_x": 10, "mouth_y": 11.5}
    values = {
        "faces": faces,
        "score": 0.9 - shift / 100,
        "presence": 0.99 - shift / 100,
        "sharpness": 0.02 + shift / 500,
    }
    values |= {name: place + shift / 9 for name, place in places.items()} | {"cut": number % 11 == 0}
    frame = pd.DataFrame({name: np.asarray(values[name], float) for name in DETECTIONS.names})
    frame.loc[faces == 0, [name for name in frame if name not in ("faces", "cut")]] = np.nan
    frame.loc[faces == 0, "cut"] = 0
    return frame


def drawn(number: int) -> bytes:
    """A picture that stands for an average: an oval on a ground of its own colour."""
    y, x = np.mgrid[:SIDE, :SIDE]
    oval = ((x - 128) / 80) ** 2 + ((y - 128) / 105) ** 2 < 1
    ground = np.array([90 + 37 * number % 120, 90 + 71 * number % 120, 90 + 13 * number % 120])
    return encode(Image.fromarray(np.where(oval[..., None], 190, ground).astype("uint8")), "WEBP", quality=90)


def averages(audit: Audit, embedding: str = "", k: int = 0) -> pd.DataFrame:
    """A group for every system and subject (and region of professions), its measures made up; no interval under 5."""
    table = audit.generations[["system", "subject", "subset"]].astype("str")
    table = table.assign(region=audit.vectors.regions(embedding, k).region if k else -1)
    table["faces"] = audit.faces.detections()["faces"].to_numpy()
    if k:
        table = table[table["subset"] == "professions"]
    rows = []
    for place, ((system, subject, region), own) in enumerate(table.groupby(["system", "subject", "region"])):
        n = int((own["faces"] > 0).sum())
        row = {"system": system, "subject": subject, "region": region, "total": len(own), "n": n}
        row["several"] = int((own["faces"] > 1).sum())
        ratio = 0.3 + place % 5 / 10 if n > 1 else np.nan
        row |= {"sharpness": 0.03 * ratio if n > 1 else np.nan, "members": 0.03 if n else np.nan, "ratio": ratio}
        row |= {"homogeneity": ratio - 0.05}
        for name in ("ratio", "homogeneity"):
            for end, by in (("low", -0.04), ("high", 0.06)):
                row[f"{name}_{end}"] = row[name] + by if n >= 5 else np.nan
        rows.append({**row, "picture": drawn(place) if n else b""})
    return pd.DataFrame(rows)


def add_faces(folder: Path, embedding: str = "", k: int = 0) -> None:
    """Detections and averages for an audit; averages by region, too, where an embedding with k regions is named."""
    with writing(folder):
        audit = Audit(folder)
        writer = FaceWriter(audit, {"version": 1})
        writer.start()
        writer.finish(detections(len(audit)).to_numpy("float32"), 1.0, {})
        write_averages(Audit(folder), averages(Audit(folder)), {"version": 1}, 1.0, {})
        if k:
            made = averages(Audit(folder), embedding, k)
            write_averages(Audit(folder), made, {"version": 1}, 1.0, {}, embedding, k, "a note <i>")


def make_face_audit(cache: Path, name: str = "faced") -> Audit:
    """An audit with four regions of the embedding "toy", detections, averages, and averages by region."""
    make_region_audit(cache, name)
    add_faces(cache / name, "toy", 4)
    return Audit.open(cache, name)
