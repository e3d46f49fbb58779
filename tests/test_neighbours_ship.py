"""What finds images that are like another in the audit that ships: it follows from the images, and works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from backend.neighbours import colour, kinds, query_of, search, words
from backend.pictures import read_grey, read_pixels
from backend.store import Audit

CACHE = Path(__file__).parents[1] / "cache"

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def audit():
    return Audit.open(CACHE, "starter")


def test_every_kind_is_ready(audit):
    found = kinds(audit)
    assert [kind.name for kind in found] == ["colour", "colourfulness", "words", "embedding-blip-vqa"]
    assert all(kind.ready for kind in found), [kind.why for kind in found]
    files = [path.stat().st_size for path in (audit.folder / "neighbours").iterdir()]
    assert sum(files) < 6_000_000


def test_colours_and_words_follow_from_the_images(audit):
    """Other processors may differ in the last bit."""
    kept, found = audit.neighbours.colour(colour.WIDTH), audit.neighbours.words()
    same = 0
    for row in range(0, len(audit), 120):
        data = audit.image(row)[0]
        assert np.abs(colour.features(read_pixels(data)) - kept[row]).max() < 1e-3
        seen, counts = words.count_words(words.descriptors(read_grey(data, words.SIDE)), found.codebook)
        begin, end = found.offsets[row : row + 2]
        same += np.array_equal(seen, found.words[begin:end]) and np.array_equal(counts, found.counts[begin:end])
    assert same >= 15


def test_the_graph_has_nearly_all_that_comparing_all_finds(audit):
    everything, right = np.arange(len(audit)), 0
    for row in range(0, len(audit), 30):
        near = search(audit, "words", row, 10)
        assert not near.exact
        right += int((near.distance <= search(audit, "words", row, 10, everything).distance[-1] + 1e-6).sum())
    assert right / (10 * len(range(0, len(audit), 30))) >= 0.95


@pytest.mark.parametrize("kind", ["colour", "words", "embedding-blip-vqa"])
def test_most_of_the_nearest_show_what_the_image_shows(audit, kind):
    """Of the ten nearest of images of professions, most have the same profession (by chance 1 in 20), but colours."""
    rows = audit.rows(subset="professions")
    shown = audit.generations["profession"].astype("str").to_numpy()
    same = [np.mean(shown[search(audit, kind, row, 10, rows).rows] == shown[row]) for row in rows[::40].tolist()]
    assert np.mean(same) > {"colour": 0.2, "words": 0.9, "embedding-blip-vqa": 0.5}[kind]


def test_a_picture_from_outside_finds_itself(audit):
    for kind in kinds(audit):
        found = search(audit, kind.name, query_of(audit, kind.name, audit.image(700)[0]), 3)
        assert found.rows[0] == 700
        assert found.distance[0] < 1e-3
