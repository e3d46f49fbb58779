"""Imports of Hub data sets: streamed through `datasets` from a server on the loopback, in a process of their own."""

import dataclasses
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from hub_server import Hub, serving
from samples import ROOT, encode, imported, likeness, noise, outcomes, state, write, write_table

from backend.store import Audit, audit_names

NAME = "tti-bias/professions"
SHARDS = ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"]
EACH = 20
CLAIMED = 94_500
MOST_WAITING = 180
"""Seconds of waiting, all tries together, after which a user must have heard what is wrong."""

CARD = f"""---
dataset_info:
  features:
  - name: adjective
    dtype: string
  - name: profession
    dtype: string
  - name: 'no'
    dtype: int32
  - name: image_path
    dtype: string
  - name: image
    dtype: image
  - name: model
    dtype: string
  splits:
  - name: train
    num_bytes: 1
    num_examples: {CLAIMED}
  download_size: 1
  dataset_size: 1
---
# Professions
"""

IMPORT = """
import atexit, runpy, sys, time
sleep, waited = time.sleep, []
def nap(seconds):
    waited.append(seconds)
    sleep(min(seconds, 0.01))
time.sleep = nap
atexit.register(lambda: print(f"waited {sum(waited)}", file=sys.stderr))
runpy.run_module("backend", run_name="__main__", alter_sys=True)
"""
"""`python -m backend`, but pauses between tries are only counted: a tenth of a second stands for minutes."""


@dataclasses.dataclass
class Done:
    """A command that has ended: what it said, from its own "Error: " on, and how long it would have waited."""

    status: int
    out: str
    error: str
    waited: float


@dataclasses.dataclass
class Machine:
    """A user's machine: a cache for audits, a home for the Hub client, and where it takes the Hub to be."""

    cache: Path
    home: Path
    endpoint: str

    def imports(self, source: str, *options: object) -> Done:
        """`import SOURCE a` here, with no proxy, no token and no setting of the Hub client but our own."""
        kept = {key: value for key, value in os.environ.items() if not re.match("HF_|.*_proxy$", key, re.IGNORECASE)}
        ours = {"HF_ENDPOINT": self.endpoint, "HF_HOME": str(self.home), "HF_HUB_OFFLINE": "0"}
        command = ["import", source, "a", "--workers", "2", *map(str, options), "--cache", str(self.cache)]
        done = subprocess.run(
            [sys.executable, "-c", IMPORT, *command],
            cwd=ROOT,
            env={**kept, **ours, "HF_HUB_DISABLE_TELEMETRY": "1"},
            capture_output=True,
            text=True,
            timeout=180,  # the machine may be busy
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        said, waited = done.stderr.rsplit("waited ", 1)
        error = re.search(r"^Error: .*", said, re.MULTILINE | re.DOTALL)
        return Done(done.returncode, done.stdout, error[0].strip() if error else "", float(waited))

    def audit(self) -> Audit:
        return Audit.open(self.cache, "a")


@pytest.fixture
def hub(professions) -> Iterator[Hub]:
    """A healthy hub with the one data set."""
    with serving() as hub:
        hub.sets[NAME] = dict(professions)
        yield hub


@pytest.fixture
def machine(hub, cache, tmp_path) -> Machine:
    """A machine that has never asked the hub for anything."""
    return Machine(cache, tmp_path / "home", hub.endpoint)


def jpeg(number: int) -> bytes:
    return encode(noise(number), "JPEG")


@pytest.fixture(scope="module")
def professions(tmp_path_factory) -> dict[str, bytes]:
    """The files of a data set laid out as tti-bias/professions is: a card that claims too much, and two shards."""
    import datasets

    text = datasets.Value("string")
    features = {"adjective": text, "profession": text, "no": datasets.Value("int32"), "image_path": text}
    features = datasets.Features({**features, "image": datasets.Image(), "model": text})
    files = {".gitattributes": b"*.parquet filter=lfs\n", "README.md": CARD.encode()}
    for shard, name in enumerate(SHARDS):
        numbers = range(shard * EACH, (shard + 1) * EACH)
        table = {
            "adjective": [("no_adjective", "ambitious")[n % 2] for n in numbers],
            "profession": ["Social_Worker" if shard else "nurse"] * EACH,
            "no": [n // 2 for n in numbers],
            "image_path": [f"SD_14/{n}.jpg" for n in numbers],
            "image": [{"bytes": jpeg(n), "path": f"{n}.jpg"} for n in numbers],
            "model": [("SD_14", "DallE2")[shard]] * EACH,
        }
        files[name] = write_table(tmp_path_factory.mktemp("shard") / "s.parquet", features, **table).read_bytes()
    return files


@pytest.fixture(scope="module")
def whole(professions, tmp_path_factory):
    """What every complete import must come to: the state of one of the same shards as local files."""
    folder = tmp_path_factory.mktemp("local")
    for name in SHARDS:
        write(folder / name, professions[name])
    return state(imported(folder, tmp_path_factory.mktemp("cache")))


def sentence(done: Done, *words: str) -> None:
    """An import failed with one line that says all of `words`, and did not have the user wait for long."""
    assert done.status == 1
    assert "\n" not in done.error, done.error
    for word in words:
        assert word in done.error, done.error
    assert done.waited < MOST_WAITING


def test_a_data_set_of_the_hub_and_again(hub, machine, whole):
    done = machine.imports(NAME)
    assert done.status == 0
    assert f"Read {2 * EACH} items: {2 * EACH} added to a, 0 there already, 0 left out." in done.out
    audit = machine.audit()
    table = audit.generations
    assert len(audit) == 2 * EACH
    assert list(table["system"]) == ["SD_14"] * EACH + ["DallE2"] * EACH
    assert list(table["profession"]) == ["nurse"] * EACH + ["social worker"] * EACH
    assert list(table["adjective"]) == ["", "ambitious"] * EACH
    assert list(table["number"]) == [n // 2 for n in range(2 * EACH)]
    assert table["source"][20] == f"{NAME}, row 21 SD_14/20.jpg"
    assert [audit.image(row) for row in range(len(audit))] == [(jpeg(n), "image/jpeg") for n in range(2 * EACH)]
    assert outcomes(audit) == {}
    assert str(CLAIMED) not in str(audit.manifest)
    assert [source["label"] for source in audit.manifest["sources"]] == [NAME]
    assert state(audit) == whole
    hub.asked.clear()
    done = machine.imports(NAME)
    assert done.status == 0
    assert f"Read {2 * EACH} items: 0 added to a, {2 * EACH} there already, 0 left out." in done.out
    assert state(machine.audit()) == whole
    assert not [line for line in hub.asked if NAME not in line and "/cdn/" not in line]


def test_the_layout_of_professions_v2_without_a_card(hub, machine, tmp_path):
    import datasets

    whole = datasets.Value("int64")
    features = {"profession": datasets.Value("string"), "model": datasets.Value("string"), "no": whole, "seed": whole}
    table = {
        "profession": ["nurse", "CEO", "nurse"],
        "model": ["SD_14", "SD_2", "SD_2"],
        "no": [1, 2, 3],
        "seed": [7, 2**40, 5],
        "image": [{"bytes": jpeg(1), "path": None}, {"bytes": jpeg(2), "path": None}, {"path": "/etc/passwd"}],
    }
    features = datasets.Features({**features, "image": datasets.Image()})
    path = write_table(tmp_path / "v2.parquet", features, **table)
    hub.sets["tti-bias/professions-v2"] = {"data/train-00000-of-00001.parquet": path.read_bytes()}
    assert machine.imports("tti-bias/professions-v2").status == 0
    audit = machine.audit()
    rows = audit.generations[["system", "number", "seed"]].astype("object").itertuples(index=False, name=None)
    assert list(rows) == [("SD_14", 1, 7), ("SD_2", 2, 2**40)]
    assert [audit.image(row)[0] for row in (0, 1)] == [jpeg(1), jpeg(2)]
    assert "are not followed" in outcomes(audit)["tti-bias/professions-v2, row 3"]


def test_a_data_set_that_cannot_be_had(hub, machine):
    hub.private.add("tti-bias/secret")
    sentence(machine.imports("nobody/nothing"), "'nobody/nothing'", "doesn't exist", "Check its name")
    sentence(machine.imports("tti-bias/secret"), "'tti-bias/secret'", "401", "hf auth login")
    sentence(machine.imports(NAME, "--split", "test"), repr(NAME), "Bad split: test", "['train']")
    hub.asked.clear()
    sentence(machine.imports("a/b..c"), "'a/b..c'", "Check its name")
    assert hub.asked == []
    assert audit_names(machine.cache) == []


@pytest.mark.parametrize("card", [b"---\n: [\n---\n", CARD.replace("'no'", "no").encode()], ids=["no yaml", "no text"])
def test_a_card_that_is_wrong(hub, machine, card):
    hub.sets[NAME] = {**hub.sets[NAME], "README.md": card}
    sentence(machine.imports(NAME), repr(NAME), "fetch its Parquet files elsewhere and import the folder")


def stopped(done: Done) -> None:
    """An import failed in the second shard, and says how to go on."""
    sentence(done, repr(NAME), f"after row {EACH}", "What was finished is kept", "run the same command again")


@pytest.mark.parametrize("broken", [HTTPStatus.INTERNAL_SERVER_ERROR, "cut"])
def test_a_hub_that_fails_in_the_middle_and_comes_back(hub, machine, whole, broken):
    hub.broken[SHARDS[1]] = broken
    stopped(machine.imports(NAME, "--shard-rows", 8))
    assert audit_names(machine.cache) == []
    hub.broken.clear()
    done = machine.imports(NAME, "--shard-rows", 8)
    assert done.status == 0
    assert "Going on after an interrupted import: 16 images there already." in done.out
    assert f"Read {2 * EACH} items: {2 * EACH - 16} added to a, 16 there already" in done.out
    assert machine.audit().check() == []
    assert state(machine.audit()) == whole


def test_a_hub_that_goes_on_failing(hub, machine):
    hub.broken[SHARDS[1]] = HTTPStatus.TOO_MANY_REQUESTS
    stopped(machine.imports(NAME))
    hub.broken.clear()
    hub.sets[NAME] = {**hub.sets[NAME], SHARDS[1]: hub.sets[NAME][SHARDS[1]][:-500]}
    done = machine.imports(NAME)
    stopped(done)
    assert "fetch its Parquet files" in done.error


def test_a_hub_out_of_reach(hub, machine):
    with socket.socket() as taken:  # bound but not listening: every connection is refused
        taken.bind(("127.0.0.1", 0))
        away = dataclasses.replace(machine, endpoint=f"http://127.0.0.1:{taken.getsockname()[1]}")
        sentence(away.imports(NAME), repr(NAME), "the network", "import the folder that holds them")
        assert machine.imports(NAME).status == 0
        sentence(away.imports(NAME), repr(NAME), "the network", "import the folder that holds them")
    assert len(machine.audit()) == 2 * EACH


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "a/b/c", "a/..", "../a", "a/b..c", "a/%2e%2e", "a/b@main", "hf://datasets/a/b", "a/b\n"],
)
def test_names_that_are_no_name(tmp_path, cache, name, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert likeness("import", name, "a", cache=cache) == 1
    error = capsys.readouterr().err
    assert error.startswith("Error: ")
    assert error.count("\n") == 1
    assert audit_names(cache) == []
