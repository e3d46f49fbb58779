"""Answers of a question-answering model: against the library's own generation, and likelihoods worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image
from tiny import make_blip

from backend.describe import DescribeError, load_asker

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
QUESTION = "Who is this?"


@pytest.fixture(scope="module")
def blip(tmp_path_factory):
    return make_blip(tmp_path_factory.mktemp("models") / "blip")


@pytest.fixture(scope="module")
def asker(blip):
    return load_asker(blip)


@pytest.fixture(scope="module")
def pictures():
    return [Image.fromarray(np.random.default_rng(n).integers(0, 255, (40, 30, 3), np.uint8)) for n in range(5)]


def test_open_answers_are_those_of_the_library(asker, blip, pictures):
    from transformers import BlipForQuestionAnswering, BlipProcessor

    model, processor = BlipForQuestionAnswering.from_pretrained(blip), BlipProcessor.from_pretrained(blip)
    answers = asker.ask(pictures, QUESTION)
    for picture, answer in zip(pictures, answers, strict=True):
        inputs = processor(images=picture, text=QUESTION, return_tensors="pt")
        made = model.generate(**inputs, max_new_tokens=10, do_sample=False)
        assert answer.text == processor.decode(made[0], skip_special_tokens=True).strip()
        assert 0 < answer.probability <= 1


def test_a_choice_has_its_share_of_the_likelihood(asker, blip, pictures):
    """Of each choice: the product of the probabilities of its tokens and of the end, each given those before it."""
    import torch
    from transformers import BlipForQuestionAnswering, BlipProcessor

    model, processor = BlipForQuestionAnswering.from_pretrained(blip), BlipProcessor.from_pretrained(blip)
    choices = ("man", "woman", "no preference")
    inputs = processor(images=pictures[0], text=QUESTION, return_tensors="pt")
    likelihoods = []
    with torch.inference_mode():
        seen = model.vision_model(pixel_values=inputs.pixel_values)[0]
        read = model.text_encoder(input_ids=inputs.input_ids, encoder_hidden_states=seen)[0]
        for choice in choices:
            ids, likelihood = [5], 1.0
            for token in [*processor.tokenizer(choice, add_special_tokens=False).input_ids, 3]:
                logits = model.text_decoder(input_ids=torch.tensor([ids]), encoder_hidden_states=read).logits[0, -1]
                likelihood *= float(logits.softmax(-1)[token])
                ids.append(token)
            likelihoods.append(likelihood)
    answer = asker.ask(pictures[:1], QUESTION, choices)[0]
    assert answer.text == choices[int(np.argmax(likelihoods))]
    assert answer.probability == pytest.approx(max(likelihoods) / sum(likelihoods), rel=1e-4)


def test_a_batch_answers_like_one_at_a_time(asker, pictures):
    rows = asker.ask_many(pictures, {QUESTION: (), "Is this man?": ("man", "woman")})
    assert len(rows) == 5
    for picture, row in zip(pictures, rows, strict=True):
        for question, choices, answer in ((QUESTION, (), row[0]), ("Is this man?", ("man", "woman"), row[1])):
            alone = asker.ask([picture], question, choices)[0]
            assert alone.text == answer.text
            assert math.isclose(alone.probability, answer.probability, rel_tol=1e-3)


def test_no_pictures_no_answers(asker):
    assert asker.ask([], QUESTION) == []


def test_grey_and_transparent_pictures_are_read(asker):
    assert len(asker.ask([Image.new("L", (8, 8)), Image.new("RGBA", (8, 8))], QUESTION)) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no/such/folder", "neither a folder here nor a Hub id"),
        ("owner/name", "check its name and the network"),
        ("<b>", "neither a folder"),
    ],
)
def test_a_model_that_is_not_there_is_said_so(name, words):
    with pytest.raises(DescribeError, match=words):
        load_asker(name)


def test_a_folder_that_holds_no_model_is_said_so(tmp_path):
    with pytest.raises(DescribeError, match="save it again with save_pretrained"):
        load_asker(tmp_path)
