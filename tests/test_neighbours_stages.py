"""What neighbours need, through `build`: computed once, the same again, and gone on with after a kill."""

from __future__ import annotations

import contextlib
import io
import shutil
import time

import numpy as np
import pytest
from neighbour_audits import forget, make_neighbour_audit, picture
from PIL import Image
from samples import encode, imported, likeness, process, write, write_csv

from backend import neighbour_stages as stages
from backend.build import build, status
from backend.neighbours import NeighbourError, kinds, search
from backend.store import Audit
from backend.store.files import commit, read_manifest

pytestmark = pytest.mark.usefixtures("no_faces")
FILES = ("colour", "words-codebook", "words-graph", "words-offsets", "words-postings")
MADE = ["colourfulness", "neighbours-colour", "neighbours-words"]


class KilledError(BaseException):
    """What no handler catches, as SIGKILL."""


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """An audit that was never built."""
    return make_neighbour_audit(tmp_path_factory.mktemp("start"), built=False).folder


@pytest.fixture
def near(start, cache):
    shutil.copytree(start, cache / "near")
    return cache / "near"


@pytest.fixture(scope="module")
def whole(start, tmp_path_factory):
    """The bytes of what an undisturbed build makes."""
    cache = tmp_path_factory.mktemp("whole")
    shutil.copytree(start, cache / "near")
    build(cache, "near", 2)
    return contents(cache / "near")


def contents(folder):
    return {name: (folder / "neighbours" / f"{name}.npy").read_bytes() for name in FILES}


def states(folder):
    return {row["stage"]: row["state"] for row in status(Audit(folder))}


def test_a_build_makes_what_neighbours_need(near, cache, whole, capsys):
    assert states(near)["neighbours-words"] == states(near)["neighbours-colour"] == "missing"
    assert build(cache, "near", 1) == MADE
    assert contents(near) == whole  # with one worker as with two
    audit = Audit(near)
    assert audit.check() == []
    assert sorted(path.name for path in (near / "neighbours").iterdir()) == sorted(f"{name}.npy" for name in FILES)
    entry = audit.manifest["stages"]["neighbours-words"]
    assert entry["inputs"] == [shard for _, _, shard in audit.shards()]
    assert {"opencv-python-headless", "scikit-learn", "pynndescent"} <= set(entry["versions"])
    told = entry["parameters"]
    assert (told["words"], told["recall"], told["recall_rows"], told["exact"]) == (1000, 1.0, 38, True)
    assert told["codebook"] == len(audit.neighbours.words().codebook) < 1000
    assert build(cache, "near", 1) == []
    capsys.readouterr()
    assert likeness("status", "near", cache=cache) == 0
    lines = {line.split()[0]: line.split()[1:3] for line in capsys.readouterr().out.splitlines()}
    assert lines["neighbours-colour"] == lines["neighbours-words"] == ["done", "40"]


def test_a_build_gives_the_same_bytes_again(near, cache, whole):
    build(cache, "near", 2)
    for stage in MADE[1:]:
        forget(near, stage)
    assert build(cache, "near", 2) == MADE[1:]
    assert contents(near) == whole


@pytest.mark.parametrize("kind", ["colours", "words"])
@pytest.mark.parametrize("damage", [None, b"", b"\x93NUMPY half", "cut"])
def test_a_build_that_is_stopped_goes_on(near, cache, whole, monkeypatch, kind, damage):
    name = {"colours": "_colours", "words": "_descriptors"}[kind]
    real, seen = getattr(stages, name), []

    def dies(audit, row):
        if row >= 24:
            raise KilledError
        return real(audit, row)

    monkeypatch.setattr(stages, "_sampled", sampled())
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(stages, name, dies)
        build(cache, "near", 1)
    parts = near / "neighbours" / {"colours": "colour.parts", "words": "words.parts"}[kind]
    shards = [parts / f"{shard[:32]}.npy" for _, _, shard in Audit(near).shards()]
    assert [part.is_file() for part in shards] == [True] * 3 + [False] * 2
    if damage is not None:
        shards[1].write_bytes(shards[1].read_bytes()[:-1] if damage == "cut" else damage)
    monkeypatch.setattr(stages, name, lambda audit, row: seen.append(row) or real(audit, row))
    assert build(cache, "near", 1)[-1] == "neighbours-words"
    assert sorted(seen) == [*(range(8, 16) if damage is not None else ()), *range(24, 40)]
    assert (near / "neighbours" / "words-graph.npy").is_file()
    assert not parts.exists()


def sampled():
    """A codebook of the first images, without looking at others."""

    def make(audit, size, pool):
        pictures = [Image.open(io.BytesIO(audit.image(row)[0])) for row in range(8)]
        known = [stages.words.descriptors(np.asarray(picture.convert("L"))) for picture in pictures]
        return stages.words.make_codebook(np.concatenate(known), size), {}

    return make


def test_what_was_kept_for_other_images_or_sizes_is_not_used(near, cache):
    audit = Audit(near)
    first = stages.WordsWriter(audit, stages.parameters(audit, "words"))
    first.start()
    first.save_codebook(np.ones((3, 128)))
    first.save("a" * 64, np.array([[0, 1, 2]]))
    assert first.load_codebook().shape == (3, 128)
    assert first.load("a" * 64, 1, 3).tolist() == [[0, 1, 2]]
    assert first.load("a" * 64, 1, 1) is None  # a word beyond the codebook
    assert first.load("a" * 64, 0, 3) is None
    first.start()
    assert first.load_codebook() is not None
    other = stages.WordsWriter(audit, stages.parameters(audit, "words", 50))
    other.start()
    assert other.load_codebook() is None


def test_a_process_that_is_killed_goes_on(near, cache, whole):
    run = process("build", "near", "--workers", 1, cache=cache)
    parts = near / "neighbours" / "words.parts"
    while run.poll() is None and len(list(parts.glob("*.npy"))) < 3:
        time.sleep(0.002)
    run.kill()
    run.communicate()
    assert likeness("build", "near", cache=cache) == 0
    assert contents(near) == whole


def test_a_kill_before_any_step_leaves_nothing_half_written(near, cache, whole, monkeypatch, tmp_path):
    from test_crash import dies_at

    build(cache, "near", 1)
    forget(near, "neighbours-words")
    shutil.rmtree(near / "neighbours" / "words.parts", ignore_errors=True)
    ended = 0
    for step in range(1, 60, 4):
        copy = tmp_path / f"step{step}"
        shutil.copytree(cache, copy)
        with pytest.MonkeyPatch.context() as patch:
            reached = dies_at(patch, step)
            with contextlib.suppress(BaseException):
                build(copy, "near", 1)
        opened = Audit(copy / "near")
        assert opened.check() == []
        if states(copy / "near")["neighbours-words"] == "done":
            ended += 1
            assert contents(copy / "near") == whole
            assert len(search(opened, "words", 0, 5).rows) == 5
        if len(reached) < step:
            break
        left = [] if states(copy / "near")["neighbours-words"] == "done" else MADE[2:]
        assert build(copy, "near", 1) == left
        assert contents(copy / "near") == whole
    assert len(reached) < step
    assert ended


def add_images(near, cache):
    source = cache.parent / "more"
    for number in range(3):
        write(source / f"{number}.png", picture(100 + number))
    write_csv(source, [{"file_name": f"{n}.png", "system": "A", "profession": "welder"} for n in range(3)])
    assert likeness("import", source, "near", cache=cache) == 0


def test_images_that_came_later_make_it_stale(near, cache, whole, monkeypatch):
    build(cache, "near", 1)
    add_images(near, cache)
    assert states(near)["neighbours-colour"] == states(near)["neighbours-words"] == "stale"
    audit = Audit(near)
    for kind in kinds(audit):
        assert not kind.ready
        assert kind.why.startswith("Made for other images than there are now")
        with pytest.raises(NeighbourError, match=r"other images than there are now.*python -m backend build near"):
            search(audit, kind.name, 0, 5)
    seen, real = [], stages._colours
    monkeypatch.setattr(stages, "_colours", lambda audit, row: seen.append(row) or real(audit, row))
    said = []
    assert build(cache, "near", 1, say=said.append) == MADE
    assert said == [
        "the embedding mine: its vectors were not made by a model known here: give new ones with `import-embedding`"
    ]
    assert sorted(seen) == [40, 41, 42]
    assert contents(near)["colour"][128 : -3 * 101 * 4] == whole["colour"][128:]
    assert len(search(Audit(near), "words", 42, 5).rows) == 5


def test_stages_of_another_audit_are_refused(near, cache, whole):
    """As many images, but others: the files of one audit in the folder of another."""
    build(cache, "near", 1)
    other = make_neighbour_audit(cache.parent / "other" / "cache", name="other", built=False)
    source = cache.parent / "swapped"
    for number in range(40):
        write(source / f"{number:02d}.png", picture(39 - number))
    rows = [{"file_name": f"{n:02d}.png", "system": "A", "profession": "nurse"} for n in range(40)]
    write_csv(source, rows)
    other = imported(source, cache, "--shard-rows", 8, name="swapped")
    shutil.copytree(near / "neighbours", other.folder / "neighbours")
    theirs, known = read_manifest(near), read_manifest(other.folder)
    for stage in MADE[1:]:
        known["stages"][stage] = theirs["stages"][stage]
        known["files"] |= {file: theirs["files"][file] for file in theirs["stages"][stage]["files"]}
    commit(other.folder, known, [])
    audit = Audit(other.folder)
    assert audit.check() == []
    for kind in ("colour", "words"):
        with pytest.raises(NeighbourError, match="python -m backend build swapped"):
            search(audit, kind, 0, 5)
    assert build(cache, "swapped", 1) == MADE
    assert len(search(Audit(other.folder), "words", 0, 5).rows) == 5


def test_how_many_words_can_be_chosen_and_is_kept(near, cache, capsys):
    assert likeness("build", "near", "--words", 20, cache=cache) == 0
    assert len(Audit(near).neighbours.words().codebook) == 20
    assert build(cache, "near", 1) == []
    assert build(cache, "near", 1, words=20) == []
    assert build(cache, "near", 1, words=25) == ["neighbours-words"]
    assert len(Audit(near).neighbours.words().codebook) == 25
    for wrong in ("1", "20001", "x", "-5", "1.5"):
        with pytest.raises(SystemExit) as stop:
            likeness("build", "near", "--words", wrong, cache=cache)
        assert stop.value.code == 2
    assert "is no whole number from 2 to 20,000" in capsys.readouterr().err


def test_images_of_one_colour_have_no_visual_words(tmp_path, cache, capsys):
    source = tmp_path / "even"
    for number in range(6):
        write(source / f"A/nurse/{number}.png", encode(Image.new("RGB", (40, 30), (number * 40, 0, 0))))
    imported(source, cache, name="even")
    capsys.readouterr()
    assert likeness("build", "even", cache=cache) == 0
    out = capsys.readouterr().out
    assert "Not done: no visual words were found: the images looked at have no keypoints" in out
    assert "Ran colourfulness, neighbours-colour." in out
    assert not (cache / "even" / "neighbours" / "words.parts").exists()
    assert states(cache / "even")["neighbours-words"] == "missing"
    assert search(Audit.open(cache, "even"), "colour", 0, 2).rows.tolist() == [1, 2]


def test_images_that_cannot_be_read_have_no_neighbours_and_are_none(near, cache, monkeypatch):
    real = Audit.image
    monkeypatch.setattr(Audit, "image", lambda self, row: (b"no picture", "image/png") if row == 6 else real(self, row))
    build(cache, "near", 1)
    audit = Audit(near)
    for kind in ("colour", "colourfulness"):
        with pytest.raises(NeighbourError, match="could not be read"):
            search(audit, kind, 6, 5)
        assert 6 not in search(audit, kind, 0, 1000).rows
        assert search(audit, kind, 0, 5, np.array([6, 7])).rows.tolist() == [7]
    with pytest.raises(NeighbourError, match="no keypoints"):
        search(audit, "words", 6, 5)
