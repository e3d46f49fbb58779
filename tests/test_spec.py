"""Specs: what they say, and what is said of wrong ones before anything runs."""

from __future__ import annotations

import pytest
from samples import ROOT, write
from specs import PROMPTS, SYSTEM, write_spec

from backend.prompts import prompts
from backend.spec import Key, SpecError, load_spec
from backend.systems import KEYS, KINDS

ONE = SYSTEM.format(name="A")


def load(folder, systems=ONE, body=PROMPTS, top=""):
    return load_spec(write_spec(folder, systems, body, top), KEYS)


def test_a_spec_with_its_defaults(tmp_path):
    top = "title = 'T'\nnote = 'N'\nsize = 64\nguidance = 3"
    spec = load(tmp_path, top=top, systems=f"{ONE}size = 32\nheight = 16\n")
    (system,) = spec.systems
    assert (spec.title, spec.note, spec.seed, system.name, system.kind) == ("T", "N", 7, "A", "openai-images")
    assert [system.options[key] for key in ("width", "height", "guidance", "timeout")] == [32, 32, 3, 180]
    assert system.options["base_url"] == "https://api.openai.com/v1"
    assert spec.subsets[0].words == {"profession": ("nurse", "artist"), "adjective": ("", "honest")}


def test_sizes_of_the_spec_and_of_a_system(tmp_path):
    size = [
        [system.options["width"], system.options["height"]]
        for top, own in (("", ""), ("size = 64", ""), ("size = 64", "width = 32\n"), ("width = 8", "size = 16\n"))
        for system in load(tmp_path, systems=ONE + own, top=top).systems
    ]
    assert size == [[512, 512], [64, 64], [32, 512], [16, 16]]


def test_settings_leave_out_what_does_not_change_images(tmp_path):
    settings = load(tmp_path, systems=f"{ONE}key_env = 'K'\n").systems[0].settings
    assert settings["kind"] == "openai-images"
    assert settings["model"] == "m"
    assert not settings.keys() & {"batch", "key_env", "timeout", "retries", "backoff", "steps", "name"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("seed = 7", "sed = 7", ["sed: unknown key; did you mean 'seed'? The keys are title, note, seed"]),
        ("seed = 7", "seed = -1", ["seed: '-1' is not a whole number from 0"]),
        ("seed = 7", "seed = true", ["seed: 'True' is not a whole number"]),
        ("seed = 7", "seed = 7\nguidance = nan", ["guidance: 'nan' is not a number from 0 to 100"]),
        ("seed = 7", "seed = 7\nsteps = 1.5", ["steps: '1.5' is not a whole number from 1 to 1,000"]),
        ("seed = 7", "seed = 7\ntitle = 5", ["title: '5' is not a text"]),
        ("seed = 7", "seed = 7\nnote = '" + "x" * 1001 + "'", ["note[1]: is 1,001 characters long"]),
        ("seed = 7", "seed = ", ["is no TOML"]),
        ("images = 3", "images = 0", ["professions.images: '0' is not a whole number from 1"]),
        ("images = 3", "images = -2", ["professions.images: '-2'"]),
        ("images = 3", "", ["professions.images: is missing; it is a whole number from 1"]),
        ("images = 3", "images = 3\nadjectivs = []", ["professions.adjectivs", "did you mean 'adjectives'?"]),
        ('names = ["nurse", "artist"]', "", ["professions.names: is missing; it is a list or a text"]),
        ('names = ["nurse", "artist"]', "names = []", ["professions.names: the list is empty"]),
        ('names = ["nurse", "artist"]', 'names = ["nurse", ""]', ["professions.names[2]: is empty"]),
        ('names = ["nurse", "artist"]', 'names = ["nurse", "nurse"]', ["names[2]: 'nurse' stands in the list twice"]),
        ('names = ["nurse", "artist"]', "names = [3]", ["professions.names[1]: '3' is not a text"]),
        ('names = ["nurse", "artist"]', 'names = "nurse"', ["'nurse' is neither a list nor file:NAME.csv"]),
        ('names = ["nurse", "artist"]', 'names = "file:no.csv"', ["professions.names: file:no.csv cannot be read"]),
        ('names = ["nurse", "artist"]', 'names = "file:test.toml"', ["no row with a column 'profession'"]),
        ('"", "honest"', "", ["professions.adjectives: the list is empty"]),
        (
            "{a} {adjective} {profession}",
            "{a} {job}",
            ["holds {job}; a template can hold {a}, {profession}, {adjective}"],
        ),
        ("{a} {adjective} {profession}", "{a} {adjective}", ["lacks {profession}"]),
        ("{a} {adjective} {profession}", "{a} {profession}", ["professions.adjectives: no template holds {adjective}"]),
        ("{a} {adjective} {profession}", "{a} {profession", ["holds {}; a template can hold"]),
        (
            'kind = "openai-images"',
            'kind = "openai-image"',
            ["systems[1].kind", "did you mean 'openai-images'?", *KINDS],
        ),
        ('kind = "openai-images"', "", ["systems[1].kind: is missing; it is one of diffusers, openai-images"]),
        ('kind = "openai-images"', "kind = ['x']", ["systems[1].kind", "one of diffusers"]),
        ('name = "A"', "", ["systems[1].name: is missing; it is a text"]),
        ('name = "A"', 'name = ""', ["systems[1].name: is empty"]),
        ('name = "A"', f'name = "{"A" * 201}"', ["systems[1].name", "201 characters long; shorten it to 200"]),
        ('model = "m"', "", ["systems[1].model: is missing; it is a text"]),
        ('model = "m"', 'model = "m"\ndtype = "float16"', ["systems[1].dtype: unknown key; The keys are name, kind"]),
        ('model = "m"', 'model = "m"\nretries = -1', ["systems[1].retries: '-1' is not a whole number from 0 to 50"]),
        (
            'model = "m"',
            f'model = "m"\n{SYSTEM.format(name="A")}',
            ["systems[2].name: 'A' is the name of systems[1], too"],
        ),
        ('[[systems]]\nname = "A"\nkind = "openai-images"\nmodel = "m"\n', "", ["systems: is missing; it is a list"]),
        (
            '[[systems]]\nname = "A"\nkind = "openai-images"\nmodel = "m"\n',
            "systems = []",
            ["systems: the list is empty"],
        ),
        (
            '[[systems]]\nname = "A"\nkind = "openai-images"\nmodel = "m"\n',
            "systems = [3]",
            ["systems[1]: is not a table"],
        ),
        (PROMPTS, "", ["no prompts: add a table [professions], [identities] or [neutral]"]),
    ],
)
def test_a_wrong_spec_is_refused_with_file_key_and_choices(tmp_path, old, new, words):
    path = write_spec(tmp_path, ONE)
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(SpecError) as refused:
        prompts(load_spec(path, KEYS))
    assert str(refused.value).startswith(str(path))
    for word in words:
        assert word in str(refused.value)


@pytest.mark.parametrize("value", ["'float 16'", "''", "3"])
def test_choices_of_a_kind(tmp_path, value):
    system = f"[[systems]]\nname = 'A'\nkind = 'diffusers'\nmodel = 'm'\ndtype = {value}\n"
    with pytest.raises(SpecError, match=r"systems\[1\]\.dtype: .* is not one of auto, float32, float16, bfloat16"):
        load(tmp_path, systems=system)
    system = system.replace(f"dtype = {value}", "scheduler = 'eular'")
    with pytest.raises(SpecError, match=r"systems\[1\]\.scheduler.*did you mean 'euler'"):
        load(tmp_path, systems=system)


def test_a_spec_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match=r"none\.toml cannot be read \(No such file or directory\): give the path of"):
        load_spec(tmp_path / "none.toml", KEYS)
    with pytest.raises(SpecError, match="is not UTF-8"):
        load_spec(write(tmp_path / "a.toml", b"\xff"), KEYS)


def test_professions_from_a_file_beside_the_spec_or_of_the_project(tmp_path):
    write(tmp_path / "mine.csv", "\ufeffprofession,n\nbaker,1\nCEO,2\n".encode())
    body = PROMPTS.replace('["nurse", "artist"]', '"file:mine.csv"')
    assert load(tmp_path, body=body).subsets[0].words["profession"] == ("baker", "CEO")
    body = PROMPTS.replace('["nurse", "artist"]', '"file:assets/professions.csv"')
    assert len(load(tmp_path, body=body).subsets[0].words["profession"]) == 150


def test_every_kind_of_system_has_keys_with_defaults_that_they_allow(tmp_path):
    for kind, keys in KEYS.items():
        needed = "".join(f"{name} = 'x'\n" for name in ("model", "path") if name in keys)
        (system,) = load(tmp_path, systems=f"[[systems]]\nname = 'A'\nkind = '{kind}'\n{needed}").systems
        assert set(keys) <= set(system.options)
        assert all(isinstance(key, Key) for key in keys.values())


@pytest.mark.parametrize("path", sorted((ROOT / "assets" / "specs").glob("*.toml")), ids=lambda path: path.stem)
def test_specs_that_ship_are_valid(path):
    spec = load_spec(path, KEYS)
    assert prompts(spec)
    assert len(spec.systems) == 3
