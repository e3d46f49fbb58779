"""What every test has: no network, no telemetry, a cache of its own, and a small source of synthetic images."""

import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from endpoint import Endpoint
from samples import likeness, portrait_rows, write_csv
from specs import api, write_spec
from strangers import make_model
from vectors import clustered, identity_audit, placed, saved

from backend import build as building
from backend import neighbour_stages, vector_stages
from backend.store import Audit

HOME = pytest.StashKey[str]()
LONG = (
    *("test_browser.py", "test_neighbours_features.py", "test_live_browser.py", "test_hub.py"),
    *("test_live_ask_browser.py", "test_starter.py", "test_neighbours_browser.py", "test_faces_stages.py"),
    *("test_faces_browser.py", "test_neighbours_stages.py", "test_regions_browser.py", "test_hostile_neighbours.py"),
    *("test_neutrality_browser.py", "test_probe_command.py", "test_hiring_browser.py", "test_embedding.py"),
    *("test_live_hire_browser.py", "test_cli.py", "test_guard.py", "test_live_systems.py", "test_starter_hiring.py"),
    *("test_benchmarks_browser.py", "test_hostile_audits.py", "test_neighbours_tab.py", "test_pipelines.py"),
)
"""Files that take longest, in the order in which they begin. Two processes take whole files in turn: a long one must
not be the last, and one that drives a browser, and often waits, goes best beside one that computes."""


def pytest_configure(config):
    """Before any test imports huggingface_hub or gradio: offline, quiet, and no file outside a temporary folder."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job; our processes inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # else xdist begins with the files of most tests, whatever they take
    config.stash[HOME] = tempfile.mkdtemp(prefix="likeness-tests-")
    os.environ |= {
        "HF_HUB_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HOME": config.stash[HOME],
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
        "GRADIO_ANALYTICS_ENABLED": "False",
    }


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest; the rest stay as they are."""
    place = {name: at for at, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONG)))


def pytest_unconfigure(config):
    shutil.rmtree(config.stash[HOME], ignore_errors=True)


@pytest.fixture
def cache(tmp_path) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path) -> Path:
    """A folder of twelve small images with a metadata.csv: two systems, two professions, three images each."""
    folder = tmp_path / "source"
    write_csv(folder, portrait_rows(folder, systems=("A", "B"), professions=("nurse", "welder"), each=3))
    return folder


@pytest.fixture
def endpoint():
    server = Endpoint()
    yield server
    server.close()


@pytest.fixture
def spec(tmp_path, endpoint):
    """Two systems behind the stub, two professions, two adjectives, three images each: 24 requests."""
    return write_spec(tmp_path, api(endpoint, "A") + api(endpoint, "B", batch="3"))


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """A well made audit."""
    return make_model(tmp_path_factory.mktemp("model"))


@pytest.fixture
def folder(model, cache):
    """A copy of that audit, to be changed."""
    shutil.copytree(model, cache / "a")
    return cache / "a"


@pytest.fixture
def no_map(monkeypatch):
    """UMAP takes long to compile: a map that is the first two numbers of each vector stands for it."""
    monkeypatch.setattr(vector_stages.projection, "project", placed)


@pytest.fixture
def no_neighbours(monkeypatch):
    """Builds without what finds images that are like another."""
    monkeypatch.setattr(neighbour_stages, "wanted", lambda audit: [])


@pytest.fixture
def no_faces(monkeypatch):
    """A build that looks for no faces, for tests of other stages."""
    monkeypatch.setattr(building, "face_stages", lambda audit: [])


@pytest.fixture(scope="session")
def embedded_ids(tmp_path_factory):
    """The folder of an audit of 64 images with vectors that lie together by their prompts' words, not built yet."""
    cache = tmp_path_factory.mktemp("ids")
    file = saved(cache / "v.npy", clustered(identity_audit(cache)))
    assert likeness("import-embedding", "ids", "mine", file, "--made-by", "a model", cache=cache) == 0
    return cache / "ids"


@pytest.fixture
def ids(embedded_ids, cache, no_map, no_faces, no_neighbours):
    """A copy of that audit, to be changed; builds of it make no map, faces or look-alikes."""
    shutil.copytree(embedded_ids, cache / "ids")
    return Audit.open(cache, "ids")


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    """Folders of two tiny pipelines: one that shows its images, one that hides them all."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from tiny import make_pipeline

        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        folder = tmp_path_factory.mktemp("pipelines")
        make_pipeline(folder / "plain")
        make_pipeline(folder / "hiding", hides=True)
        yield folder
        torch.set_num_threads(threads)
