"""Running benchmarks: three conditions, what is asked anew, interruptions, CLIP, and the command with its tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import asked
import numpy as np
import pytest
from bench_sets import make_clip, make_folder, make_stereoset, make_visogender, plain_audit
from PIL import Image
from samples import encode, likeness, noise, png, write, write_csv
from scripted import Scripted, scripted
from tiny_ask import make_llava

from backend import benching
from backend.bench_plan import SEED, chosen_task, hash_of, load, plan, stratified
from backend.benchmarks import Data, Item
from backend.benchmarks.tasks import read_tasks
from backend.metrics.benchmark_summary import summarise
from backend.probes import base
from backend.probes.ask import Answer, ModelSpec, Prompt, ask, make_model
from backend.spec import SpecError
from backend.store import Audit, BenchmarkTask
from backend.store.benchmarks import too_much

SHIPPED = read_tasks()


@pytest.fixture(autouse=True)
def one_thread():
    yield from asked.one_thread()


@pytest.fixture
def cache(tmp_path):
    plain_audit(tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def spec(monkeypatch, tmp_path):
    return scripted(monkeypatch, tmp_path)


def bench(cache, spec, name, place=None, label="", groups=(), limit=None, kind=Scripted, **options):
    task, model = chosen_task(SHIPPED, name, label, groups), kind(spec)

    def planner(audit):
        return plan(SHIPPED, task, load(task, Data(place, audit)), model, limit)

    return benching.run(cache, "plain", model, planner, **options)


def bright(prompt: Prompt) -> int:
    """Chooses by the picture's brightness; without one, what is shown first."""
    return 0 if prompt.picture is None else int(np.asarray(prompt.picture).mean() * 1000) % len(prompt.options)


def test_every_item_is_answered_with_the_image_as_text_and_at_random(cache, spec, tmp_path):
    Scripted.choose = staticmethod(bright)
    done = bench(cache, spec, "folder", make_folder(tmp_path / "pets"), "kind", ["side"])
    table, task = done.answers, done.source.tasks["folder-kind"]
    assert len(table) == 72 and done.asked == 24 + 2 and done.there == 48 - 26  # texts alone differ by the order only
    assert set(table.groupby("item", observed=True).condition.agg(lambda rows: tuple(sorted(rows)))) == {
        ("image", "random", "text")
    }
    assert (task.items, task.found, task.source, task.groups) == (24, 24, "pets", ("side",))
    assert task.values == (("left", "right"),) and sum(task.left_out.values()) == 4 and task.chance == 0.5
    seen = [prompt for prompt in Scripted.last.asked if prompt.picture is not None]
    assert len(seen) == 24 and all(prompt.options == ("A", "B") for prompt in Scripted.last.asked)
    assert Counter(prompt.text.splitlines()[1] for prompt in seen)["A. cat"] in range(6, 19)
    assert "What is the kind of the person" in seen[0].text and seen[0].text.endswith("choices directly.")
    image = table[table.condition == "image"]
    assert [task.classes[chances.argmax()] for chances in image.probabilities] == image.answer.tolist()
    first = table[table.condition == "random"].answer.tolist()
    assert {*first} == {"cat", "dog"} and table[table.condition == "random"].probabilities.map(len).max() == 0
    again = bench(cache, spec, "folder", tmp_path / "pets", "kind", ["side"])
    assert again.asked == 0 and again.answers[again.answers.condition == "random"].answer.tolist() == first
    assert not list((cache / "plain" / "benchmarks").glob("*.parts"))


def test_an_interrupted_run_goes_on_and_ends_the_same(cache, spec, tmp_path, monkeypatch):
    folder = make_folder(tmp_path / "pets")
    monkeypatch.setattr(benching, "BATCH", 5)
    Scripted.choose = staticmethod(bright)
    Scripted.stop = 13
    with pytest.raises(KeyboardInterrupt):
        bench(cache, spec, "folder", folder, "kind")
    audit = Audit.open(cache, "plain")
    assert audit.benchmarks.sources == {}
    Scripted.stop = 10**9
    done = bench(cache, spec, "folder", folder, "kind")
    assert done.asked == 26 - 10 and len(done.answers) == 72
    write(cache / "x", b"")
    whole = bench(plain_audit(tmp_path / "other").folder.parent, spec, "folder", folder, "kind")
    assert whole.asked == 26 and whole.answers.astype(str).equals(done.answers.astype(str))


def test_what_changed_is_asked_again_by_its_content(cache, spec, tmp_path):
    folder = make_folder(tmp_path / "pets")
    bench(cache, spec, "folder", folder, "kind")
    write(folder / "5.png", png(777))
    assert bench(cache, spec, "folder", folder, "kind").asked == 1
    (folder / "6.png").unlink()
    done = bench(cache, spec, "folder", folder, "kind")
    assert done.asked == 0 and done.source.tasks["folder-kind"].items == 24  # an earlier answer stays
    Scripted.weights = "other"
    with pytest.raises(SpecError, match=r"another fingerprint \(weights\)"):
        bench(cache, spec, "folder", folder, "kind")
    assert bench(cache, spec, "folder", folder, "kind", anew=True).asked == 23 + 2
    with pytest.raises(SpecError, match="another groups of folder-kind"):
        bench(cache, spec, "folder", folder, "kind", ["side"])
    done = bench(cache, spec, "folder", folder, "kind", ["side"], anew=True)
    assert done.asked == 0 and {*done.answers.group_1} == {"left", "right"} and len(done.answers) == 69


def test_tasks_join_in_one_table_and_a_limit_only_adds(cache, spec, tmp_path):
    folder = make_folder(tmp_path / "pets")
    few = bench(cache, spec, "folder", folder, "kind", limit=8)
    assert few.source.tasks["folder-kind"].items == 8 and few.source.tasks["folder-kind"].limit == 8
    more = bench(cache, spec, "folder", folder, "kind", limit=16)
    assert more.asked == 8 and {*few.answers["item"]} < {*more.answers["item"]}
    own = bench(cache, spec, "audit", label="profession", groups=["system"], limit=30)
    assert set(own.source.tasks) == {"folder-kind", "audit-profession"} and own.answers.row.min() >= 0
    table = Audit.open(cache, "plain").benchmarks.table("made")
    assert len(table) == 48 + 90 and (table[table.task == "folder-kind"].row == -1).all()


def test_a_picture_that_breaks_off_is_left_out_of_every_condition(cache, spec, tmp_path):
    folder = make_folder(tmp_path / "pets")
    write(folder / "3.png", encode(noise(3, (90, 90)))[:4000])
    write(folder / "4.png", b"no picture")
    done = bench(cache, spec, "folder", folder, "kind")
    assert len(done.answers) == 66 and not {"3.png", "4.png"} & {*done.answers["item"]}
    left = done.source.tasks["folder-kind"].left_out
    assert sum(n for reason, n in left.items() if "its image cannot be read" in reason) == 2
    for number in range(24):
        write(folder / f"{number}.png", b"no picture")
    with pytest.raises(SpecError, match="no item whose picture can be read"):
        bench(cache, spec, "folder", folder, "kind", anew=True)


def test_answers_without_a_class_are_kept_as_such(cache, spec, tmp_path):
    folder = make_folder(tmp_path / "pets")
    Scripted.choose = staticmethod(lambda prompt: Answer(base.FAILED, None, reason="HTTP 503") if prompt.picture else 0)
    done = bench(cache, spec, "folder", folder, "kind")
    image = done.answers[done.answers.condition == "image"]
    assert {*image.answer} == {"unparsed"} and {*image.text} == {"HTTP 503"} and done.lost["failed: HTTP 503"] == 24
    assert bench(cache, spec, "folder", folder, "kind").asked == 0
    Scripted.choose = staticmethod(bright)
    assert bench(cache, spec, "folder", folder, "kind", retry=True).asked == 24
    part = cache / "plain" / "benchmarks" / "made.parts" / "x.parquet"
    write(part, b"what a stranger left")
    assert bench(cache, spec, "folder", folder, "kind").asked == 0


class Blind(Scripted):
    """Scripted, but it cannot answer without a picture."""

    BLIND = False


class Captioned(Blind):
    """And reads no question."""

    READS = False


def test_a_model_that_needs_a_picture_sees_a_grey_one(cache, spec, tmp_path):
    Scripted.choose = staticmethod(bright)
    done = bench(cache, spec, "folder", make_folder(tmp_path / "pets"), "kind", kind=Blind)
    grey = [prompt for prompt in Scripted.last.asked if np.asarray(prompt.picture).std() == 0]
    assert len(grey) == 2 and np.asarray(grey[0].picture).mean() == 128
    assert "uniform grey picture" in done.source.tasks["folder-kind"].note
    assert len(done.answers) == 72


def test_visogender_is_asked_with_the_wrong_gender_too(cache, spec, tmp_path):
    Scripted.choose = staticmethod(lambda prompt: next(n for n, row in enumerate(prompt.also) if " his " in row[0]))
    done = bench(cache, spec, "visogender-op", make_visogender(tmp_path / "op", 2))
    texts = {prompt.text.splitlines()[0] for prompt in Scripted.last.asked}
    assert "Which one is the correct caption of this image of a woman helping a man?" in texts and len(texts) > 2
    assert any("The doctor and her patient" in prompt.text for prompt in Scripted.last.asked)
    assert set(done.answers.groupby(["condition", "variant"], observed=True).size()) == {6} and len(done.answers) == 36
    task = done.source.tasks["visogender-op"]
    found = summarise(done.answers, task.classes, task.groups, pronouns=True)
    overall, each = found.line("image").resolution
    assert overall.value == -1 and set(each) == {"doctor", "baker"} and found.misled.value == 0
    assert found.line("image", "adversarial").performance["accuracy"].value == pytest.approx(4 / 6)
    Scripted.choose = staticmethod(bright)
    other = ModelSpec("clip", *("lm", "Made", 4, spec.options, spec.folder))
    done = bench(cache, other, "visogender-op", tmp_path / "op", kind=Captioned)
    assert len(done.answers) == 18 and "no adversarial variant" in done.source.tasks["visogender-op"].note
    assert any("The doctor and her patient" in prompt.options for prompt in Scripted.last.asked)


def test_stereotypes_are_scored_by_category(cache, spec, tmp_path):
    Scripted.choose = staticmethod(lambda prompt: next(n for n, row in enumerate(prompt.also) if "weak" in row[0]))
    done = bench(cache, spec, "vl-stereoset", make_stereoset(tmp_path / "v"))
    task = done.source.tasks["vl-stereoset"]
    found = summarise(done.answers, task.classes, task.groups).line("image").stereotypes
    assert {key: one.value for key, one in found.items()} == {"": 1, "gender": 1, "race": 1} and found[""].n == 2
    assert task.chance == pytest.approx(1 / 3)
    assert summarise(done.answers, task.classes, task.groups).effectiveness["VLBS"].value == 0


def test_a_sample_keeps_the_shares_and_only_grows():
    items = [Item(f"{n}", "ab"[n % 5 == 0], ("xyz"[n % 3],), bytes) for n in range(1200)]
    few, more = stratified(items, 120), stratified(items, 240)
    names = [{item.name for item in some} for some in (few, more)]
    assert len(few) == 120 and names[0] < names[1] and stratified(items, 0) == tuple(items)
    for stratum, n in Counter((item.label, *item.groups) for item in items).items():
        assert abs(Counter((item.label, *item.groups) for item in few)[stratum] - n / 10) <= 1
    assert [item.name for item in few] != [item.name for item in items[:120]]


def test_options_begin_with_another_one_for_each_item_and_random_answers_are_even():
    task, names = SHIPPED.tasks["utkface-race"], [f"{n}.jpg" for n in range(2000)]
    turns = Counter(int(hash_of(str(SEED), name)[:8], 16) % 5 for name in names)
    assert min(turns.values()) > 330
    model = Scripted(ModelSpec("x", "vlm", "X", 1, {"model": "x", "dtype": "auto", "device": "auto"}, Path(".")))
    from backend.bench_plan import random_answer
    from backend.benchmarks import Loaded

    loaded = Loaded([Item(name, "White", ("Child", "Male"), bytes) for name in names])
    made = plan(SHIPPED, task, loaded, model).asked
    drawn = Counter(random_answer(one) for one in made if one.condition == "text")
    assert len(made) == 4000 and min(drawn.values()) > 330 and len(drawn) == 5


def test_a_language_model_and_options_that_cannot_be_asked(cache, spec, tmp_path):
    class Reader(Scripted):
        SEES = False

    with pytest.raises(SpecError, match="sees no pictures"):
        bench(cache, spec, "folder", make_folder(tmp_path / "pets"), "kind", kind=Reader)
    rows = [{"file_name": f"{n}.png", "label_kind": "ab"[n % 2], "name": f"n{n}"} for n in range(202)]
    write_csv(tmp_path / "many", rows)
    for row in rows:
        write(tmp_path / "many" / row["file_name"], b"x")
    with pytest.raises(SpecError, match="--group: 'name' has 202 different values"):
        bench(cache, spec, "folder", tmp_path / "many", "kind", ["name"])
    folder = make_stereoset(tmp_path / "v")
    path = folder / "data" / "VLStereoSet.csv"
    path.write_text(path.read_text().replace("She is weak 0", "Fish swim!").replace("She is weak 1", "weak " * 2500))
    with pytest.raises(SpecError, match="has no item that can be asked"):
        bench(cache, spec, "vl-stereoset", folder)


def test_clip_answers_as_its_own_zero_shot_logits(tmp_path):
    import torch
    from transformers import CLIPModel, CLIPProcessor

    folder = make_clip(tmp_path / "clip")
    model = asked.model_of("clip", folder)
    assert len(model.check()) == 64
    pictures = [noise(n, (50, 40)) for n in range(3)] + [Image.new("RGB", (32, 32), (128, 128, 128))]
    captions = ("a man", "a woman at work", "fish")
    said = ask(model, [Prompt("not read", captions, picture=picture) for picture in pictures])
    processor, whole = CLIPProcessor.from_pretrained(folder), CLIPModel.from_pretrained(folder).eval()
    inputs = processor(text=list(captions), images=pictures, return_tensors="pt", padding=True)
    with torch.inference_mode():
        wanted = whole(**inputs).logits_per_image.softmax(-1).numpy()
    for answer, row in zip(said, wanted, strict=True):
        assert answer.probabilities == pytest.approx(row.tolist(), abs=1e-5)
        assert answer.text == captions[int(row.argmax())]
    assert ask(model, [Prompt("x", ("short", "x " * 45), picture=pictures[0])])[0].outcome == "refused"
    with pytest.raises(base.ProbeError, match="has no picture"):
        ask(model, [Prompt("x", captions)])
    (folder / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(base.ProbeError, match="cannot be used as kind clip"):
        asked.model_of("clip", folder).check()


def test_the_command_with_a_real_clip_prints_counts_first_and_its_tables(cache, tmp_path, capsys):
    make_clip(tmp_path / "clip")
    folder, models = make_folder(tmp_path / "pets"), tmp_path / "models.toml"
    models.write_text(f"[[models]]\nname = 'tiny'\nkind = 'clip'\nmodel = '{tmp_path / 'clip'}'\n", "utf-8")
    call = ["benchmark", "plain", "--task", "folder", "--label", "kind", "--group", "side", "--model", "tiny"]
    call += ["--models", models, "--data", folder]
    assert likeness(*call, "--dry-run", cache=cache) == 0
    said = capsys.readouterr().out
    assert "24 images of 24 that can be asked about: 48 prompts" in said and "To ask tiny at most: 26 prompts." in said
    assert "left out: 1 x it has no label" in said and not (cache / "plain" / "benchmarks").exists()
    assert likeness(*call, "--limit", 20, cache=cache) == 0
    said = capsys.readouterr().out
    for words in ("with image", "text only", "random", "even draw", "DPR worst", "EOD", "if groups were alike", "left"):
        assert words in said
    assert "what the image adds" in said and "fewer than 20 images" in said and "uniform grey picture" in said
    assert "plain has 60 answers of tiny to folder-kind now." in said and said.count(" to ") > 12
    assert likeness("status", "plain", cache=cache) == 0
    assert "bench-tiny" in capsys.readouterr().out
    for wrong, words in (
        (["--task", "mmlu"], "is none of starter-gender"),
        (["--model", "nobody"], "--model: 'nobody' is none of tiny"),
        (["--label", "colour"], "'label_kind', 'side'"),
        (["--data", tmp_path / "nowhere"], "is not there; expected is"),
        (["--tasks", tmp_path / "cache"], "holds no .toml file"),
    ):
        assert likeness(*call, *wrong, cache=cache) == 1
        assert words in capsys.readouterr().err


def test_the_starter_s_model_is_asked_in_words_that_it_knows():
    from samples import ROOT

    from backend.commands_probe import MODELS, chosen_model

    model = make_model(chosen_model(MODELS, "starter-vqa"))
    audit = Audit.open(ROOT / "cache", "starter")
    model.check()
    words = model._processor.tokenizer
    for name in ("starter-gender", "starter-tone", "starter-profession"):
        task = SHIPPED.tasks[name]
        made = plan(SHIPPED, task, load(task, Data(None, audit)), model)
        texts = {one.prompt.text for one in made.asked} | {text for one in made.asked for text in one.prompt.options}
        assert all(words.unk_token_id not in words(text).input_ids for text in texts), name
        assert made.grey and len(made.asked) == 2 * made.task.found
    model.close()


def test_a_vision_language_model_answers_with_the_picture_and_without(cache, tmp_path):
    model = asked.model_of("vlm", make_llava(tmp_path / "llava"))
    task = chosen_task(SHIPPED, "visogender-oo")
    place = make_visogender(tmp_path / "oo")
    done = benching.run(cache, "plain", model, lambda audit: plan(SHIPPED, task, load(task, Data(place)), model))
    assert done.source.kind == "vlm" and len(done.source.fingerprint) == 64 and not done.lost
    assert done.source.tasks["visogender-oo"].note == "" and len(done.answers) == 36
    chances = done.answers[done.answers.condition != "random"].set_index(["condition", "variant", "item"]).probabilities
    for item in {*done.answers["item"]}:
        rows = [chances[condition, variant, item] for condition in ("image", "text") for variant in ("", "adversarial")]
        assert len({tuple(row) for row in rows}) == 4  # picture and question both change what is answered


def test_what_a_manifest_cannot_hold_is_told_before_anything_is_asked():
    task = BenchmarkTask("T", "own", ("a", "b"))
    assert too_much({str(n): task for n in range(50)}) == ""
    assert "50 tasks" in too_much({str(n): task for n in range(51)})
    long = replace(task, groups=("g",) * 3, values=(tuple("\U0001f600" * 99 + str(n) for n in range(200)),) * 3)
    assert "'x' are too long: take another --group" in too_much({"x": long})
