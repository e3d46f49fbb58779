"""Small made-up copies of published benchmarks, in the layouts that their makers ship, wrong lines included."""

from __future__ import annotations

import json
from pathlib import Path

from samples import png, write, write_csv

HEAD = ["IDX", "Sector", "Specialisation", "Occupation", "Object", "URL type (Type NA if can't find)", "LICENSE OK?"]
OO = [*HEAD, "Occupation_perceived_gender", "Error codes", "Annotator"]
OP = [*HEAD[:4], "Participant", *HEAD[5:6], "Licence", *OO[7:8], "Participant_perceived_gender", *OO[8:]]


def make_utkface(folder: Path) -> Path:
    """Twelve faces of two races, genders and many ages, and four whose names are wrong."""
    names = [f"{age}_{age % 2}_{race}_2017.jpg.chip.jpg" for race in (0, 2) for age in (0, 3, 20, 41, 60, 116)]
    for seed, name in enumerate([*names, "200_0_0_2017.jpg", "61_1_2017.jpg", "30_2_0_2017.jpg", "portrait.jpg"]):
        write(folder / "part" / name, png(seed))
    return folder


def make_celeba(folder: Path, kind: str = "txt") -> Path:
    """Eight faces, six of them in the test set, of which one is missing; the lists as text or as CSV."""
    rows = [(f"{n:06d}.jpg", 1 if n % 2 else -1, 1 if n > 4 else -1, 0 if n < 3 else 2) for n in range(1, 9)]
    for number, row in enumerate(rows[:-1]):
        write(folder / "img_align_celeba" / row[0], png(number))
    if kind == "csv":
        faces = [dict(zip(("image_id", "Blond_Hair", "Male", "Young"), (*row[:3], 1), strict=True)) for row in rows]
        write_csv(folder, faces, "list_attr_celeba.csv")
        write_csv(folder, [{"image_id": row[0], "partition": row[3]} for row in rows], "list_eval_partition.csv")
    else:
        lines = [f"{row[0]}  {row[1]:2d} {row[2]:2d}  1" for row in rows]
        write(
            folder / "list_attr_celeba.txt", "\n".join(["8", "Blond_Hair Male Young", *lines, "x.jpg 0 1 1"]).encode()
        )
        parts = "\n".join(f"{row[0]} {row[3]}" for row in rows) + "\nx.jpg 2\n"
        write(folder / "list_eval_partition.txt", parts.encode())
    return folder


def make_pata(folder: Path) -> Path:
    """Three pictures of a scene, of which one is missing; a scene without captions, and a line that is none."""
    places = [("indian", "male", "young"), ("black", "female", "adult"), ("caucasian", "male", "adult")]
    lines = [f"fashion_show_{'_'.join(words)}|https://pictures.invalid/{n}.jpg" for n, words in enumerate(places)]
    lines += ["moon_black_male_adult|https://pictures.invalid/3.jpg", "no line", ""]
    write(folder / "pata_fairness.files.lst", "\n".join(lines).encode())
    captions = {"pos": {"races": ["a photo of a kind person"]}, "neg": {"races": ["a photo of a thief", "a fraud"]}}
    scene = {"short": "fashion show", "long": "A photo of a {} at a show", **captions}
    write(folder / "pata_fairness.captions.json", json.dumps([scene]).encode())
    for name in ("images/0.jpg", "images/1.jpg", "images/3.jpg"):
        write(folder / name, png(len(name)))
    return folder


def make_stereoset(folder: Path) -> Path:
    """Four rows in the columns of VLStereoSet.csv (misspelt as there), one without a label, one without a picture."""
    rows = []
    for number, label in enumerate((1, 0, 7, 1)):
        texts = {"stereotype": f"She is weak {number}", "anti-stereotype": f"She is strong {number}"}
        rows.append({"target": "she", **texts, "unrelated": "Fish swim", "bias_type": "gender" if number else "race"})
        rows[-1] |= {"Imaeg URL": f"https://pictures.invalid/{number}.png?w=1", "label": label}
        if number < 3:
            write(folder / "images" / f"{number}.png", png(number))
    write_csv(folder / "data", rows, "VLStereoSet.csv")
    return folder


def make_visogender(folder: Path, people: int = 1, order: int = 1, extra: tuple[str, ...] = ()) -> Path:
    """Eight rows for two occupations, one of a neutral gender and one without a picture; columns in either order."""
    columns, lines = OO if people == 1 else OP, []
    for number in range(8):
        values = dict.fromkeys([*columns, *extra], "") | {"IDX": f"O{'OP'[people - 1]}_{number + 1}", "Sector": "s"}
        values |= {"Occupation": ("doctor", "baker")[number % 2], "Object": "mixing_spoon", "Participant": "patient"}
        values |= {"Occupation_perceived_gender": ("masculine", "feminine")[number // 4]}
        values |= {"Participant_perceived_gender": ("masculine", "feminine")[number // 2 % 2]}
        values[columns[5]] = f"https://pictures.invalid/{number}.jpg"
        if number == 6:
            values["Occupation_perceived_gender"] = "neutral"
        lines.append([values[name] for name in [*columns, *extra]][::order])
        if number != 7:
            write(folder / "images" / f"{values['IDX']}.jpg", png(number))
    text = "\n".join("\t".join(row) for row in [[*columns, *extra][::order], *lines])
    write(folder / f"visogender_{people}.tsv", text.encode())
    return folder


def make_folder(folder: Path, each: int = 6) -> Path:
    """Labelled pictures: two kinds, two sides, one unclear, one without a label, one whose picture is missing."""
    rows = []
    for number in range(4 * each):
        name = f"{number}.png"
        write(folder / name, png(number))
        rows.append(
            {"file_name": name, "label_kind": ("cat", "dog")[number % 2], "side": ("left", "right")[number // 2 % 2]}
        )
    rows += [
        {"file_name": "0.png", "label_kind": "cat", "side": ""},
        {"file_name": "gone.png", "label_kind": "dog", "side": ""},
    ]
    for number, label in ((900, "Pass"), (901, "")):
        write(folder / f"{number}.png", png(number))
        rows.append({"file_name": f"{number}.png", "label_kind": label, "side": "left"})
    write_csv(folder, rows)
    return folder


def make_clip(folder: Path) -> Path:
    """Save a whole CLIPModel of some kilobytes with random weights, and its processor: letters are its words."""
    import torch
    from tiny import tokenizer
    from transformers import CLIPConfig, CLIPModel, CLIPProcessor, CLIPTokenizer
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**sizes, "vocab_size": 64, "bos_token_id": 54, "eos_token_id": 55, "max_position_embeddings": 40}
    vision = {**sizes, "image_size": 32, "patch_size": 16}
    words = tokenizer(folder.with_name(folder.name + "-words"), CLIPTokenizer)
    text |= {"bos_token_id": words.bos_token_id, "eos_token_id": words.eos_token_id}
    CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)).save_pretrained(folder)
    pictures = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    CLIPProcessor(pictures, words).save_pretrained(folder)
    return folder


def plain_audit(cache: Path, name: str = "plain"):
    """The audit of `make_audit`, of which nothing is computed: benchmarks rest on its images alone."""
    import audits
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audits, "build", lambda *arguments, **options: [])
        return audits.make_audit(cache, name)
