"""The command `probe`: a kill, its table, wrong calls, and the starter's own words."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pandas as pd
from audits import make_audit
from PIL import Image
from samples import ROOT, likeness
from tiny_ask import make_lm

from backend.commands_probe import MODELS, wanted_of
from backend.metrics.neutrality import NEUTRAL
from backend.probe_plan import plan
from backend.probes import base
from backend.probes.ask import load_models, make_model
from backend.store import Audit

SLOW = """
import sys, time
from backend import probing
from backend.__main__ import main
from backend.probes.text import TextModel
answers = TextModel.answers
def slow(self, prompts):
    time.sleep(0.15)
    return answers(self, prompts)
TextModel.answers = slow
probing.BATCH = 6
sys.exit(main(sys.argv[1:]))
"""


def test_a_killed_run_of_a_real_model_goes_on_and_prints_its_table(cache, tmp_path, capsys):
    make_audit(cache)
    make_lm(tmp_path / "lm")
    models = tmp_path / "models.toml"
    models.write_text(f"[[models]]\nname = 'tiny'\nkind = 'lm'\nmodel = '{tmp_path / 'lm'}'\n", "utf-8")
    asked = ["probe", "small", "--model", "tiny", "--models", models, "--attributes", "gender", "--limit", 8]
    asked = [*map(str, asked), "--styles", "informed-direct", "blind-direct", "--rotations", "2"]
    work = subprocess.Popen([sys.executable, "-c", SLOW, *asked, "--cache", cache], cwd=ROOT, stderr=subprocess.DEVNULL)
    parts = cache / "small" / "probes" / "tiny.parts"
    until = time.monotonic() + 60
    while len(list(parts.glob("*.parquet"))) < 3 and time.monotonic() < until:
        time.sleep(0.02)
    work.send_signal(signal.SIGKILL)
    assert work.wait() == -signal.SIGKILL
    kept = sum(len(pd.read_parquet(path)) for path in parts.glob("*.parquet"))
    assert 18 <= kept < 96
    assert likeness(*asked, "--dry-run", cache=cache) == 0
    assert f"To ask tiny at most: {96 - kept} prompts." in capsys.readouterr().out
    assert likeness(*asked, cache=cache) == 0
    said = capsys.readouterr().out
    assert f"{96 - kept} prompts asked now, {kept} answered before." in said
    assert "small has 96 answers of tiny now." in said and said.count("(") > 8 and "8*" in said
    killed = Audit.open(cache, "small").probes.table("tiny")
    models.write_text(models.read_text().replace("'tiny'", "'whole'"))
    asked[3] = "whole"
    assert likeness(*asked, cache=cache) == 0
    whole = Audit.open(cache, "small").probes.table("whole")
    assert killed.drop(columns="probabilities").astype(str).equals(whole.drop(columns="probabilities").astype(str))
    assert likeness("status", "small", cache=cache) == 0
    assert "probe-tiny" in capsys.readouterr().out


def test_wrong_calls_end_in_a_sentence(cache, tmp_path, capsys):
    make_audit(cache)
    assert likeness("probe", "small", "--model", "nobody", cache=cache) == 1
    assert "--model: 'nobody' is none of smollm2, smollm2-letters, starter-vqa" in capsys.readouterr().err
    models = tmp_path / "models.toml"
    models.write_text("[[models]]\nname = 'm'\nkind = 'lm'\nmodel = 'no such folder'\nstyles_file = 'none.toml'\n")
    assert likeness("probe", "small", "--model", "m", "--models", models, cache=cache) == 1
    assert "none.toml cannot be read" in capsys.readouterr().err
    models.write_text("[[models]]\nname = 'm'\nkind = 'lm'\nmodel = 'no such folder'\n")
    assert likeness("probe", "small", "--model", "m", "--models", models, cache=cache) == 1
    assert "neither a folder here nor a Hub id" in capsys.readouterr().err
    assert not (cache / "small" / "probes").exists()


def test_the_starter_is_asked_in_words_that_it_knows():
    spec = next(spec for spec in load_models(MODELS) if spec.name == "starter-vqa")
    arguments = SimpleNamespace(
        directions=[], styles=[], attributes=[], professions=None, limit=0, rotations=0, pictures=1
    )
    wanted = wanted_of(arguments, spec)
    asked = plan(Audit.open(ROOT / "cache", "starter"), wanted).asked
    model = make_model(spec)
    model.check()
    tokenizer = model._processor.tokenizer
    longest = max(len(tokenizer(one.probe.prompt.text).input_ids) for one in asked)
    assert longest <= model.model.config.text_config.max_position_embeddings
    for option in {option for one in asked for option in one.probe.prompt.options}:
        assert tokenizer.unk_token_id not in tokenizer(option).input_ids
    assert len({one.probe.profession for one in asked}) == 20
    model.close()


def test_options_that_a_model_does_not_know_are_no_choice():
    model = make_model(next(spec for spec in load_models(MODELS) if spec.name == "starter-vqa"))
    model.check()
    picture = Image.new("RGB", (64, 64))
    said = model.answers([base.Prompt("Whom?", ("Brad Pitt", "Angelina Jolie", NEUTRAL), picture=picture)])[0]
    assert said.outcome == base.REFUSED and "two are alike" in said.reason and model.notes
    model.close()
