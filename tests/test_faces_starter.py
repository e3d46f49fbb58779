"""The faces of the audit that ships follow from its images, and no tone is left out."""

import io

import numpy as np
import pytest
from PIL import Image
from samples import ROOT

from backend.averages import average
from backend.face_stages import found_in
from backend.facemodels import Models
from backend.faces import Finder, aligned
from backend.pictures import read_pixels
from backend.store import Audit


@pytest.fixture(scope="module")
def audit():
    return Audit.open(ROOT / "cache", "starter")


def pixels(audit, row):
    return read_pixels(audit.image(int(row))[0])


def test_detections_follow_from_the_images(audit):
    """Other processors may differ in a score's third digit or a tenth of a pixel."""
    found, finder = audit.faces.detections(), Finder(Models())
    for row in range(7, len(audit), 211):
        made, there = found_in(pixels(audit, row), finder), found.iloc[row].to_numpy("float32")
        assert made[0] == there[0]
        assert made == pytest.approx(there, abs=0.3, nan_ok=True)


def test_averages_follow_from_the_images(audit):
    points = audit.faces.detections().filter(regex="_[xy]$").to_numpy().reshape(-1, 4, 2)
    for embedding, k in (("", 0), ("blip-vqa", 12)):
        table = audit.faces.averages(embedding, k)
        place = int(table.index[table["subject"] == "judge"][1])
        line = table.loc[place]
        rows = audit.rows(system=line["system"], subject="judge")
        if k:
            rows = rows[audit.vectors.regions(embedding, k).region[rows] == line["region"]]
        assert line["total"] == len(rows)
        rows = rows[audit.faces.detections()["faces"].to_numpy()[rows] > 0]
        made = average((aligned(pixels(audit, row), points[row]) for row in rows), len(rows))
        assert line["n"] == len(rows)
        for name in ("sharpness", "members", "ratio", "homogeneity", "homogeneity_low", "homogeneity_high"):
            assert made[name] == pytest.approx(line[name], abs=2e-3, nan_ok=True)
        shown = [
            np.asarray(Image.open(io.BytesIO(data)))
            for data in (made["picture"], audit.faces.picture(place, embedding, k))
        ]
        assert np.abs(shown[0].astype(int) - shown[1]).mean() < 1


def test_every_group_has_its_average(audit):
    table = audit.faces.averages()
    assert len(table) == audit.generations[["system", "subject"]].drop_duplicates().shape[0]
    assert table["total"].sum() == len(audit)
    assert audit.faces.choices() == [("blip-vqa", 12)]
    by_region = audit.faces.averages("blip-vqa", 12)
    assert by_region["total"].sum() == (audit.generations["subset"] == "professions").sum()


def test_faces_are_found_whatever_the_prompt_said(audit):
    """In at least 95 of 100 images of every system, tone, gender phrase and profession."""
    table, found = audit.generations, audit.faces.detections()["faces"].to_numpy() > 0
    identities = (table["subset"] == "identities").to_numpy()
    for columns, rows in ((["tone"], identities), (["gender"], identities), (["system"], identities | ~identities)):
        shares = found[rows], table.loc[rows, columns[0]].astype(str)
        for value in shares[1].unique():
            assert shares[0][(shares[1] == value).to_numpy()].mean() >= 0.95, value
    for profession in table.loc[~identities, "profession"].astype(str).unique():
        assert found[audit.rows(profession=profession)].mean() >= 0.95, profession
