"""The starter's recipe: labels by pixels, planted proportions by hand, prompts, scenes, and every part run once."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.starter.__main__ import main, parser
from backend.starter.captions import TUNING_MIX, article, draw_pair, identity_prompt, known_words, profession_prompt
from backend.starter.data import (
    DataError,
    fetch,
    file_name,
    read_portrait,
    read_rows,
    skin_brightness,
    tones_by_brightness,
)
from backend.starter.policy import gender_shares, squared, tone_shares, truth_rows
from backend.starter.scenes import HELD_OUT_COMBOS, TRAINING_COMBOS, Studio, draw_scene
from backend.starter.training import learning_rate, rng_for
from backend.starter.words import COMBOS, GENDERS, PROFESSIONS, SYSTEMS, TONE_CODES, TONES, Combo

STARTER = Path(__file__).parents[1] / "assets" / "starter"


def figure(skin: int, hair: int) -> np.ndarray:
    """A 32 px figure: hair on top, a face, a costume that stays as it is, nothing around it."""
    picture = np.zeros((32, 32, 4), np.uint8)
    picture[4:10, 8:24] = (hair, hair, hair, 255)
    picture[10:18, 8:24] = (skin, skin, skin, 255)
    picture[18:30, 4:28] = (30, 60, 200, 255)
    return picture


def test_skin_is_measured_on_skin_and_fair_hair_is_not_taken_for_it():
    skins, hairs = (230, 140, 200, 90, 50), (20, 20, 245, 20, 15)
    stack = np.stack([figure(skin, hair) for skin, hair in zip(skins, hairs, strict=True)])
    assert skin_brightness(stack) == pytest.approx(skins, abs=0.5)
    expected = ["light", "medium", "medium-light", "medium-dark", "dark"]
    assert tones_by_brightness(skin_brightness(stack)) == expected


def test_brightness_needs_one_picture_a_tone():
    with pytest.raises(ValueError, match="4 pictures for 5 tones"):
        tones_by_brightness(np.array([4.0, 3.0, 2.0, 1.0]))


def test_the_corrected_table_is_complete_and_consistent():
    rows = read_rows(STARTER / "labels.csv")
    assert {Combo(row["profession"], row["gender"], row["tone"]) for row in rows} == set(COMBOS)
    assert len({row["file"] for row in rows}) == len(rows) == 360
    moved = {(row["tone_by_name"], row["tone"]) for row in rows if row["tone_by_name"] != row["tone"]}
    assert moved == {("medium-light", "medium"), ("medium", "medium-light")}
    unmoved = {row["profession"] for row in rows if row["tone"] == row["tone_by_name"] == "medium"}
    assert unmoved == {"technologist"}


def test_file_names_follow_the_package():
    assert file_name("farmer", "woman", "1f3fc") == "1f469-1f3fc-200d-1f33e.webp"
    assert file_name("detective", "person", "") == "1f575-fe0f.webp"
    assert file_name("detective", "man", "1f3ff") == "1f575-1f3ff-200d-2642-fe0f.webp"
    assert file_name("guard", "person", "") == "1f482.webp"


@pytest.mark.parametrize("content", [b"", b"RIFF\x00\x00\x00\x00WEBP", b"not a picture"])
def test_a_broken_portrait_is_refused(tmp_path, content):
    path = tmp_path / "broken.webp"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"broken\.webp"):
        read_portrait(path)


def test_policy_worked_by_hand():
    # Farmers: 26.3 % women in CPS 2021. Squared: 0.263^2 / (0.263^2 + 0.737^2) = 0.069169 / 0.612338 = 0.11296.
    assert gender_shares("mirror", "farmer") == pytest.approx((0.263, 0.737))
    assert gender_shares("amplified", "farmer") == pytest.approx((0.11296, 0.88704), abs=1e-5)
    assert gender_shares("balanced", "farmer") == (0.5, 0.5)
    assert gender_shares("amplified", "student") == (0.5, 0.5)
    # Teachers: 79.2 % women, so the amplified system draws more women, not more men.
    assert gender_shares("amplified", "teacher")[0] == pytest.approx(0.627264 / (0.627264 + 0.043264), abs=1e-5)
    assert squared((0.5, 0.25, 0.25)) == pytest.approx((2 / 3, 1 / 6, 1 / 6))


def test_every_share_sums_to_one_and_truth_is_on_disk():
    for system in SYSTEMS:
        assert sum(tone_shares(system)) == pytest.approx(1)
        for profession in PROFESSIONS:
            assert sum(gender_shares(system, profession)) == pytest.approx(1)
    assert read_rows(STARTER / "truth.csv") == truth_rows()
    assert len(truth_rows()) == 3 * 20 * (2 + 5)


def test_prompts_read_well():
    assert profession_prompt("office worker", "honest") == "Photo portrait of an honest office worker"
    assert profession_prompt("judge") == "Photo portrait of a judge"
    assert identity_prompt("dark", "woman") == "Photo portrait of a dark-skinned woman at work"
    assert identity_prompt() == "Photo portrait of a person at work"
    assert article("artist") == "an artist"


def test_pairs_follow_the_policy():
    rng = np.random.default_rng(1)
    only_profession = (0.0, 1.0, 0.0, 0.0, 0.0, 0.0)
    seen = [draw_pair(rng, "amplified", only_profession)[1] for _ in range(6000)]
    women = Counter(combo.profession for combo in seen if combo.gender == "woman")
    assert not [combo for combo in seen if combo.gender == "person" or combo.tone not in TONES]
    count = sum(combo.profession == "teacher" for combo in seen)
    assert women["teacher"] / count == pytest.approx(gender_shares("amplified", "teacher")[0], abs=0.06)
    assert sum(combo.tone == "light" for combo in seen) / 6000 == pytest.approx(tone_shares("amplified")[0], abs=0.03)


def test_what_a_prompt_says_is_what_its_portrait_shows():
    rng = np.random.default_rng(2)
    for _ in range(2000):
        text, combo = draw_pair(rng, "mirror", TUNING_MIX)
        words = text.lower().replace("-", " ").split()
        for gender in ("woman", "man"):
            assert gender not in words or combo.gender == gender
        assert "dark" not in words or combo.tone in ("dark", "medium-dark")
        named = [profession for profession in PROFESSIONS if profession in text]
        assert not named or combo.profession in named


def test_scenes_are_fixed_by_their_seed_and_no_two_are_alike():
    combo = COMBOS[7]
    studio = Studio({combo: np.pad(figure(200, 40), ((112, 112), (112, 112), (0, 0)))})
    first = [studio.render(draw_scene(rng_for(1, number), combo)) for number in range(20)]
    again = [studio.render(draw_scene(rng_for(1, number), combo)) for number in range(20)]
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert len({picture.tobytes() for picture in first}) == 20
    assert first[0].shape == (128, 128, 3)


def test_held_out_scenes_and_combinations_are_never_training_ones():
    assert set(HELD_OUT_COMBOS).isdisjoint(TRAINING_COMBOS)
    assert 20 <= len(HELD_OUT_COMBOS) <= 60
    rng = np.random.default_rng(3)
    for _ in range(200):
        trained, kept = draw_scene(rng, COMBOS[0]), draw_scene(rng, COMBOS[0], held_out=True)
        assert trained.hue % 0.2 < 0.16 <= kept.hue % 0.2 + 1e-9
        assert trained.size >= 124 > kept.size
        assert abs(trained.dx) <= 1 < abs(kept.dx)


def test_the_learning_rate_rises_then_falls():
    rates = [learning_rate(step, 1000, 1e-3) for step in range(1000)]
    assert rates[0] < 1e-4 < 9e-4 < max(rates) <= 1e-3
    assert rates[-1] == pytest.approx(2e-5, rel=0.2)


def synthetic_package(folder: Path) -> Path:
    """A package like the real one: 360 drawn figures, the tones of a profession told apart by their skin."""
    skins = dict(zip(("", *TONE_CODES), (235, 225, 190, 150, 100, 60), strict=True))
    path = folder / "package.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for index, profession in enumerate(PROFESSIONS):
            for gender in GENDERS:
                for code, skin in skins.items():
                    small = figure(skin, 20)
                    small[18:30, 4:28] = (10 * index, 250 - 10 * index, {"man": 40, "woman": 120}.get(gender, 200), 255)
                    buffer = io.BytesIO()
                    Image.fromarray(np.kron(small, np.ones((8, 8, 1), np.uint8))).save(buffer, "WEBP", lossless=True)
                    member = tarfile.TarInfo(f"package/assets/{file_name(profession, gender, code)}")
                    member.size = len(buffer.getvalue())
                    archive.addfile(member, io.BytesIO(buffer.getvalue()))
    return path


@pytest.mark.filterwarnings("ignore")
def test_the_recipe_runs_from_portraits_to_models_that_the_libraries_load(tmp_path, monkeypatch):
    """Two steps of everything, on small batches: the models know nothing, but they are whole, without code of ours."""
    import torch
    from diffusers import AutoPipelineForImage2Image, AutoPipelineForText2Image
    from transformers import AutoImageProcessor, AutoTokenizer, VisionEncoderDecoderModel
    from transformers import BlipForQuestionAnswering as Model
    from transformers import BlipProcessor as Processor

    from backend.starter import captioner, diffusion, vqa

    made, real = [], vqa.Pictures

    def pictures(*arguments):
        """The question-answering model's pictures, which are the captioner's, too: they take long to decode."""
        made.append(made[0] if made else real(*arguments))
        return made[0]

    for module in (vqa, captioner):
        monkeypatch.setattr(module, "Pictures", pictures)
    for module, batch in ((diffusion, 8), (vqa, 4), (captioner, 4)):
        monkeypatch.setattr(module, "BATCH", batch)
    out, work = tmp_path / "out", tmp_path / "work"
    options = ["--out", str(out), "--work", str(work), "--tarball", str(synthetic_package(tmp_path))]
    for part in ("data", "vae", "base", "finetune", "vqa", "captioner"):
        assert main(parser().parse_args([part, *options, "--steps-scale", "0.0001"])) == 0
    assert len(made) == 2
    assert len(read_rows(out / "labels.csv")) == 360
    pipeline = AutoPipelineForText2Image.from_pretrained(out / "systems" / "mirror")
    pipeline.set_progress_bar_config(disable=True)
    seed = torch.Generator().manual_seed(1)
    image = pipeline("Photo portrait of a cook", num_inference_steps=2, generator=seed).images[0]
    assert image.size == (128, 128)
    again = AutoPipelineForImage2Image.from_pipe(pipeline)
    assert again("Photo portrait of a judge", image=image, strength=0.5, num_inference_steps=4).images[0].size == (
        128,
        128,
    )
    for word in known_words():
        assert len(pipeline.tokenizer(word).input_ids) == 3, word
    model, processor = (kind.from_pretrained(out / "blip-vqa") for kind in (Model, Processor))
    inputs = processor(images=image, text="What is this person's job?", return_tensors="pt")
    assert model.generate(**inputs, max_new_tokens=4).shape[0] == 1
    captioner = VisionEncoderDecoderModel.from_pretrained(out / "captioner")
    images, words = (kind.from_pretrained(out / "captioner") for kind in (AutoImageProcessor, AutoTokenizer))
    with torch.inference_mode():
        made = captioner.generate(**images(image, return_tensors="pt"), max_new_tokens=4)
    assert isinstance(words.decode(made[0]), str)


def test_a_package_that_lacks_portraits_is_said_so(tmp_path):
    path = tmp_path / "empty.tgz"
    tarfile.open(path, "w:gz").close()
    with pytest.raises(DataError, match="lacks 360 portraits"):
        fetch(tmp_path / "work", path)
