"""Kinds "hf-inference" and "folder" (test_images_api.py and test_pipelines.py have the others)."""

from __future__ import annotations

import io

import pytest
from PIL import Image
from samples import encode, noise, png, write, write_csv
from specs import PROMPTS, write_spec

from backend.generate import requests_of
from backend.spec import SpecError, load_spec
from backend.systems import KEYS, Refused, make_system


def opened(folder, system, prompts=PROMPTS):
    """The one system of a spec, and what the spec wants of it."""
    spec = load_spec(write_spec(folder, system, prompts), KEYS)
    return make_system(spec.systems[0]), requests_of(spec)


def size(answer) -> tuple[int, int]:
    return Image.open(io.BytesIO(answer)).size


HUB = "[[systems]]\nname = 'h'\nkind = '{kind}'\nmodel = '{model}'\n"


@pytest.mark.parametrize("kind", ["diffusers", "hf-inference"])
def test_a_hub_that_is_out_of_reach(tmp_path, kind, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    system, _ = opened(tmp_path, HUB.format(kind=kind, model="nobody/nothing"))
    with pytest.raises(SpecError) as refused:
        system.check()
    words = str(refused.value)
    assert words.startswith("system 'h': model: ")
    assert all(word in words for word in ("nobody/nothing", "cannot be had from the Hub", "unset HF_HUB_OFFLINE"))
    assert "hf_secret" not in words


PATIENCE = "backoff = 0.01\nretries = 2\nsize = 64\n"


def endpoint_system(endpoint):
    return HUB.format(kind="hf-inference", model=endpoint.root) + PATIENCE


@pytest.fixture
def online(monkeypatch):
    """The Hub's client sends requests, which reach the loopback only."""
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    from huggingface_hub.utils import _http

    monkeypatch.setattr(_http.constants, "HF_HUB_OFFLINE", False)


NOBODY = "http://127.0.0.1:1"


def test_a_hub_that_does_not_answer(tmp_path, online, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", NOBODY)
    system, _ = opened(tmp_path, HUB.format(kind="hf-inference", model="nobody/nothing"))
    with pytest.raises(SpecError, match=r"cannot be had from the Hub: .*ConnectError: .*refused"):
        system.check()


def test_an_inference_endpoint_that_does_not_answer(tmp_path, online):
    system, requests = opened(tmp_path, HUB.format(kind="hf-inference", model=NOBODY) + PATIENCE)
    (refused,) = system.generate(requests[:1])
    assert refused.reason.startswith("no image after 3 requests; the last one: ConnectError")


def test_an_inference_endpoint_that_is_too_slow(tmp_path, endpoint, online):
    endpoint.pause = 0.5
    system, requests = opened(tmp_path, endpoint_system(endpoint) + "timeout = 0.1\n")
    (refused,) = system.generate(requests[:1])
    assert refused.reason.startswith("no image after 3 requests; the last one: InferenceTimeoutError")


def test_an_inference_endpoint(tmp_path, endpoint, online):
    system, requests = opened(tmp_path, endpoint_system(endpoint))
    assert system.check() == ""
    assert size(system.generate(requests[:1])[0]) == (24, 16)
    (body,) = endpoint.asked
    assert body["inputs"] == "Photo portrait of a nurse"
    expected = {"width": 64, "height": 64, "num_inference_steps": 50, "guidance_scale": 7.5, "seed": requests[0].seed}
    assert body["parameters"] == expected
    assert endpoint.headers["Authorization"] == "Bearer hf_secret"
    assert endpoint.headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("answer", "outcome", "words"),
    [
        ((500, b"sorry"), "failed", "no image after 3 requests"),
        ((400, {"error": "NSFW content detected"}), "filtered", "NSFW"),
        ((422, {"error": "odd"}), "failed", "HTTP 422"),
        (b"not an image", "failed", "no usable image"),
        (encode(Image.new("1", (20_000, 20_000))), "failed", "no usable image"),
        (png()[:100], "failed", "no usable image"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_inference_endpoint_in_trouble(tmp_path, endpoint, online, answer, outcome, words):
    endpoint.usual = answer
    system, requests = opened(tmp_path, endpoint_system(endpoint))
    (refused,) = system.generate(requests[:1])
    assert isinstance(refused, Refused)
    assert refused.outcome == outcome
    assert words in refused.reason


def test_an_inference_endpoint_that_recovers(tmp_path, endpoint, online):
    endpoint.script = [(503, b"loading"), (429, b"", ("Retry-After", "0.01"))]
    system, requests = opened(tmp_path, endpoint_system(endpoint))
    assert size(system.generate(requests[:1])[0]) == (24, 16)


def test_an_inference_endpoint_that_refuses_the_key(tmp_path, endpoint, online):
    endpoint.usual = (401, b"bad hf_secret")
    system, requests = opened(tmp_path, endpoint_system(endpoint))
    with pytest.raises(SpecError, match="the server refuses the key") as stopped:
        system.generate(requests[:1])
    assert "hf_secret" not in str(stopped.value)


def folder_system(path, name="A"):
    return f"[[systems]]\nname = '{name}'\nkind = 'folder'\npath = '{path}'\n"


def test_a_folder_laid_out_by_profession(tmp_path):
    for number in range(2):
        write(tmp_path / f"images/nurse/{number}.png", png(number))
    system, requests = opened(tmp_path, folder_system("images"))
    assert system.check() == ""
    answers = system.generate(requests)
    assert answers[:2] == [png(0), png(1)]
    assert answers[2] == Refused("the folder has 2 images for this prompt")
    assert all(isinstance(answer, Refused) for answer in answers[3:])


def test_a_folder_with_prompts_and_other_systems(tmp_path):
    rows = [
        {"file_name": f"{system}{number}.png", "system": system, "prompt": prompt, "profession": "nurse"}
        for system in "AB"
        for number, prompt in enumerate(["Photo portrait of a nurse", "Photo portrait of an honest nurse"])
    ]
    for number, row in enumerate(rows):
        write(tmp_path / "images" / row["file_name"], png(number) if number != 1 else b"x")
    write_csv(tmp_path / "images", rows)
    system, requests = opened(tmp_path, folder_system("images"))
    answers = system.generate(requests)
    assert answers[0] == png(0)
    assert answers[1] == Refused("the folder has 1 images for this prompt")
    assert answers[3].reason.startswith("the answer is no usable image")
    (tmp_path / "images" / "A0.png").unlink()
    assert system.generate(requests[:1])[0].reason.startswith("the file cannot be read")


@pytest.mark.parametrize(
    ("path", "words"), [("none", "does not exist"), ("images", "is empty"), ("b", "no image of a")]
)
def test_a_folder_that_does_not_do(tmp_path, path, words):
    (tmp_path / "images").mkdir()
    write(tmp_path / "b" / "B" / "nurse" / "1.png", encode(noise()))
    system, _ = opened(tmp_path, folder_system(path))
    with pytest.raises(SpecError, match="system 'A': path: ") as refused:
        system.check()
    assert words in str(refused.value)
