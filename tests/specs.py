"""Specs for tests: a small one written to a file, with whatever a test changes in it."""

from __future__ import annotations

from pathlib import Path

from samples import likeness, write

from backend.store import Audit, audit_names

SYSTEM = '[[systems]]\nname = "{name}"\nkind = "openai-images"\nmodel = "m"\n'
PROMPTS = """
[professions]
templates = ["Photo portrait of {a} {adjective} {profession}"]
names = ["nurse", "artist"]
adjectives = ["", "honest"]
images = 3
"""


def write_spec(folder: Path, systems: str, prompts: str = PROMPTS, top: str = "", name: str = "test.toml") -> Path:
    """A spec as a file."""
    return write(folder / name, f"seed = 7\n{top}\n{systems}\n{prompts}".encode())


def api(endpoint, name="api", **keys) -> str:
    """A system behind the stub: its table. Keys are given as TOML values ("true", "'text'", "3")."""
    values = {"base_url": f"'{endpoint.root}/v1'", "send_seed": "true", "backoff": "0.01", "retries": "3", **keys}
    return f"{SYSTEM.format(name=name)}" + "".join(f"{key} = {value}\n" for key, value in values.items())


def generated(spec: Path, cache: Path, *options: object, status: int = 0, name: str = "a") -> Audit | None:
    """Run `generate`, which must end with `status`; the audit, or None where there is none."""
    assert likeness("generate", spec, name, *options, cache=cache) == status
    return Audit.open(cache, name) if audit_names(cache) else None
