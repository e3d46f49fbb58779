"""The question-answering model: a BLIP of about two million parameters, trained on renders and reconstructions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.starter.questions import all_words, draw_questions
from backend.starter.scenes import HELD_OUT_COMBOS, TRAINING_COMBOS, Studio, as_model_input, draw_scene
from backend.starter.tokenizers import word_tokenizer
from backend.starter.training import Run, rng_for
from backend.starter.words import COMBOS, Combo

STEPS, BATCH, NUMBER = 4000, 24, 11
WIDTH = 128
RECONSTRUCTIONS = 6


def new_vqa(tokenizer):
    """An untrained BlipForQuestionAnswering for the tokenizer."""
    from transformers import BlipConfig, BlipForQuestionAnswering

    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "encoder_hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "projection_dim": WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "bos_token_id": tokenizer.convert_tokens_to_ids("[DEC]"),
        "eos_token_id": tokenizer.sep_token_id,
        "sep_token_id": tokenizer.sep_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    vision = {
        "hidden_size": WIDTH,
        "intermediate_size": 4 * WIDTH,
        "projection_dim": WIDTH,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "image_size": 128,
        "patch_size": 16,
        "initializer_range": 0.02,  # the library's default of 1e-10 starts at zero and stays there for long
    }
    return BlipForQuestionAnswering(BlipConfig(text_config=text, vision_config=vision))


def new_processor(tokenizer):
    """The processor: 128 px, values from -1 to 1."""
    from transformers import BlipProcessor
    from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

    half = [0.5, 0.5, 0.5]
    images = BlipImageProcessorPil(size={"height": 128, "width": 128}, image_mean=half, image_std=half)
    return BlipProcessor(images, tokenizer)


class Pictures:
    """Training pictures of the combinations that are not held out: fresh renders and the autoencoder's copies."""

    def __init__(self, studio: Studio, vae, latents, copies: int = RECONSTRUCTIONS):
        import torch

        from backend.starter.vae import decode

        self.studio = studio
        self.places = {combo: place for place, combo in enumerate(COMBOS)}
        self.copies = np.zeros((len(COMBOS), copies, 128, 128, 3), np.uint8)
        noise = torch.Generator().manual_seed(5)
        for place in range(len(COMBOS)):
            some = latents[place, :copies]
            some = some + 0.12 * torch.randn(some.shape, generator=noise)
            self.copies[place] = decode(vae, some)

    def draw(self, rng: np.random.Generator, combo: Combo) -> np.ndarray:
        """A picture of the combination: half of the time a copy, brightness changed a little."""
        if rng.random() < 0.5:
            picture = self.copies[self.places[combo], rng.integers(self.copies.shape[1])]
        else:
            picture = self.studio.render(draw_scene(rng, combo))
        picture = np.roll(picture, rng.integers(-2, 3, size=2), axis=(0, 1))
        gain, offset = rng.uniform(0.94, 1.06), rng.uniform(-6, 6)
        return (picture * gain + offset).clip(0, 255).astype(np.uint8)


def draw_combo(rng: np.random.Generator) -> Combo:
    """A combination that training may see; four in five show a man or a woman."""
    while True:
        combo = TRAINING_COMBOS[rng.integers(len(TRAINING_COMBOS))]
        if combo.gender != "person" or rng.random() < 0.5:
            return combo


def answer_batch(tokenizer, answers: list[str]):
    """(decoder input, labels) of some answers: start token, words, end token."""
    import torch

    start, end, pad = tokenizer.convert_tokens_to_ids("[DEC]"), tokenizer.sep_token_id, tokenizer.pad_token_id
    rows = [[start, *tokenizer(answer, add_special_tokens=False).input_ids, end] for answer in answers]
    longest = max(map(len, rows))
    inputs = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    labels = torch.tensor([row + [-100] * (longest - len(row)) for row in rows])
    return inputs, labels


def vqa_loss(model, tokenizer, pictures: Pictures):
    """The loss of one batch, the vision tower run once for the four questions of a picture."""
    import torch

    def loss(_step: int, rng: np.random.Generator):
        combos = [draw_combo(rng) for _ in range(BATCH)]
        images = torch.from_numpy(as_model_input([pictures.draw(rng, combo) for combo in combos]))
        asked = [pair for combo in combos for pair in draw_questions(rng, combo)]
        seen = model.vision_model(pixel_values=images).last_hidden_state.repeat_interleave(4, dim=0)
        texts = tokenizer([question for question, _ in asked], padding=True, return_tensors="pt")
        read = model.text_encoder(
            input_ids=texts.input_ids,
            attention_mask=texts.attention_mask,
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:-1], dtype=torch.long),
        )[0]
        inputs, labels = answer_batch(tokenizer, [answer for _, answer in asked])
        # generate() lets answers look at padding too, so half of the batches do.
        mask = torch.ones_like(texts.attention_mask) if rng.random() < 0.5 else texts.attention_mask
        return model.text_decoder(
            input_ids=inputs,
            encoder_hidden_states=read,
            encoder_attention_mask=mask,
            labels=labels,
            reduction="mean",
        ).loss

    return loss


def train_vqa(studio: Studio, vae, latents, work: Path, scale: float = 1.0):
    """(model, tokenizer), trained."""
    import torch

    torch.manual_seed(NUMBER)
    tokenizer = word_tokenizer(all_words())
    model = new_vqa(tokenizer)
    steps = max(2, int(STEPS * scale))
    run = Run("vqa", NUMBER, {"vqa": model}, steps, 1.2e-3, None, work)
    if not run.finished():
        run.loss = vqa_loss(model, tokenizer, Pictures(studio, vae, latents))
    return run.train()["vqa"], tokenizer


def save_vqa(model, tokenizer, folder: Path) -> None:
    """The model and its processor in half precision, loadable with no code of ours."""
    from backend.starter.diffusion import save_half

    save_half(model, folder)
    new_processor(tokenizer).save_pretrained(folder)


def ask(model, tokenizer, pictures: np.ndarray, question: str, batch: int = 60) -> list[str]:
    """The model's answers to one question about some pictures, (n, 128, 128, 3) bytes."""
    import torch

    answers = []
    ids = tokenizer([question], return_tensors="pt").input_ids
    for first in range(0, len(pictures), batch):
        images = torch.from_numpy(as_model_input(list(pictures[first : first + batch])))
        with torch.inference_mode():
            made = model.generate(
                input_ids=ids.expand(len(images), -1), pixel_values=images, max_new_tokens=8, do_sample=False
            )
        answers += [text.strip() for text in tokenizer.batch_decode(made, skip_special_tokens=True)]
    return answers


def held_out_renders(studio: Studio, each: int) -> tuple[list[Combo], np.ndarray]:
    """Renders that training never saw: every combination on held-out grounds, places and sizes."""
    combos = [combo for combo in COMBOS for _ in range(each)]
    pictures = [
        studio.render(draw_scene(rng_for(12, place), combo, held_out=True)) for place, combo in enumerate(combos)
    ]
    return combos, np.stack(pictures)


def is_held_out(combo: Combo) -> bool:
    """Whether training saw no picture of the combination at all."""
    return combo in HELD_OUT_COMBOS
