"""Real generated portraits, where they are at hand: counts from the data, originals untouched, thumbnails sound."""

import csv
import hashlib

import pytest
from samples import PORTRAITS, imported, outcomes, thumbnail

pytestmark = pytest.mark.skipif(
    not PORTRAITS.is_dir(), reason="../shared/portraits is absent: its images may not be published"
)


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    return imported(PORTRAITS, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def rows():
    with (PORTRAITS / "metadata.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_counts_come_from_the_data(audit, rows):
    assert len(rows) == len(audit) == 492  # the card says 493
    assert audit.generations["system"].nunique() == 3
    assert audit.generations["profession"].nunique() == 16
    assert outcomes(audit) == {}


def test_every_row_is_kept_in_order_with_its_labels(audit, rows):
    table = audit.generations
    assert list(table["source"]) == [row["file_name"] for row in rows]
    assert list(table["label_gender"]) == [row["label_gender"] for row in rows]
    assert (table["label_gender"] != "").sum() == sum(bool(row["label_gender"]) for row in rows)
    assert set(table.columns) >= {f"extra_annotator_{number}" for number in range(4)}
    assert table["id"].is_unique


def test_originals_are_untouched(audit, rows):
    for row, name in enumerate(row["file_name"] for row in rows):
        data = (PORTRAITS / name).read_bytes()
        assert audit.generations["sha256"].iat[row] == hashlib.sha256(data).hexdigest()
        assert audit.image(row)[0] == data


def test_thumbnails_decode_and_fit(audit):
    table = audit.generations
    for row in range(len(audit)):
        image = thumbnail(audit, row)
        image.load()
        width, height = table["width"].iat[row], table["height"].iat[row]
        assert max(image.size) == min(256, max(width, height))
        assert image.width / image.height == pytest.approx(width / height, rel=0.02)


def test_numbers_count_within_system_and_profession(audit):
    groups = audit.generations.groupby(["system", "profession"], observed=True)["number"]
    for _, numbers in groups:
        assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_the_images_open_as_a_data_set(audit):
    import datasets

    stored = datasets.load_from_disk(str(audit.folder / "images"))
    assert len(stored) == 492
    for row in (0, 250, 491):
        image = stored[row]["image"]
        assert image.size == (audit.generations["width"].iat[row], audit.generations["height"].iat[row])
        assert max(stored[row]["thumbnail"].size) <= 256
