"""Audits from specs: the same after any kill, nothing lost, nothing asked twice, and no key anywhere."""

from __future__ import annotations

import pytest
from samples import encode, imported, likeness, noise, outcomes, png, process, state, write
from specs import PROMPTS, api, generated, write_spec

from backend.generate import split_name
from backend.store import Audit

SECRET = "sk-secret-0123456789"
IDENTITIES = """
[identities]
templates = ["Photo portrait of {a} {gender} at work", "Photo portrait of {a} {tone}-skinned {gender} at work"]
gender = ["woman", "person"]
tone = ["light", "dark"]
images = 2
"""


def test_an_audit_holds_what_the_spec_asks_for(tmp_path, endpoint, cache, capsys):
    spec = write_spec(tmp_path, api(endpoint, "A"), PROMPTS + IDENTITIES)
    audit = generated(spec, cache)
    table = audit.generations
    assert len(audit) == 12 + 12
    assert audit.check() == []
    first = table.iloc[0]
    assert [first[column] for column in ("subset", "system", "prompt", "profession", "number", "width")] == [
        *("professions", "A", "Photo portrait of a nurse", "nurse", 1, 24)
    ]
    rows = table[table["subset"] == "identities"]
    assert set(rows["tone"]) == {"unspecified", "light", "dark"}
    assert set(rows["ethnicity"]) == {"unspecified"}
    assert "identity prompt: woman + dark" in set(rows["subject"])
    assert [body["seed"] for body in endpoint.asked] == list(table["seed"])
    assert [body["prompt"] for body in endpoint.asked] == list(table["prompt"])
    assert "24 added to a, 0 there already, 0 filtered, 0 failed, 0 left out." in capsys.readouterr().out
    (source,) = audit.manifest["sources"]
    assert source["label"] == "generate test.toml"
    record = source["generated"]["A"]
    assert record["images"] == 24
    assert record["seconds"] > 0
    assert record["settings"]["model"] == "m"
    assert likeness("status", "a", cache=cache) == 0


def test_a_seed_is_recorded_only_where_the_system_was_told_it(tmp_path, endpoint, cache):
    numbers = iter(range(1000))
    endpoint.usual = lambda body: (200, encode_answer(png(next(numbers))))
    table = generated(write_spec(tmp_path, api(endpoint, "A", send_seed="false")), cache).generations
    assert len(table) == 12
    assert table["seed"].isna().all()
    assert list(table["number"]) == [1, 2, 3] * 4


def test_systems_get_the_same_seeds_and_a_rerun_asks_nothing(spec, endpoint, cache, capsys):
    audit = generated(spec, cache)
    assert len(audit) == 24
    seeds = {name: list(rows["seed"]) for name, rows in audit.generations.groupby("system", observed=True)}
    assert seeds["A"] == seeds["B"]
    before, endpoint.asked = state(audit), []
    assert state(generated(spec, cache)) == before
    assert endpoint.asked == []
    assert "0 added to a, 24 there already" in capsys.readouterr().out


def test_a_spec_that_grows_asks_only_for_what_is_new(spec, endpoint, cache):
    first = generated(spec, cache, "--limit-per-prompt", 1, "--only-system", "B")
    assert len(first) == 4
    assert set(first.generations["system"]) == {"B"}
    assert len(generated(spec, cache, "--only-system", "B")) == 12
    spec.write_text(spec.read_text().replace('"artist"]', '"artist", "CEO"]'))
    audit = generated(spec, cache)
    assert len(audit) == 36 == len(endpoint.asked)
    assert audit.generations["id"].nunique() == 36
    assert len(audit.manifest["sources"]) == 3


def test_filtered_and_failed_prompts_are_recorded_and_not_asked_again(spec, endpoint, cache, capsys):
    def usual(body):
        return (
            "filtered" if "honest nurse" in body["prompt"] else (422, b"odd") if "artist" in body["prompt"] else "image"
        )

    endpoint.usual = usual
    audit = generated(spec, cache)
    assert len(audit) == 6
    report = outcomes(audit)
    assert sorted(words.split(":")[0] for words in report.values()) == ["failed"] * 12 + ["filtered"] * 6
    assert any("A, professions: Photo portrait of an honest nurse, number 1, seed" in name for name in report)
    told = capsys.readouterr()
    assert "6 added to a, 0 there already, 6 filtered, 12 failed, 0 left out." in told.out
    endpoint.asked = []
    assert len(generated(spec, cache)) == 6
    told = capsys.readouterr()
    assert endpoint.asked == []
    assert "Not asked again, as earlier runs asked in vain: 12 failed, 6 filtered. --retry-failed asks" in told.out
    assert outcomes(Audit.open(cache, "a")) == report
    endpoint.usual = lambda body: (422, b"odd") if "honest artist" in body["prompt"] else "image"
    audit = generated(spec, cache, "--retry-failed")
    assert len(audit) == 12
    assert len(endpoint.asked) == 12
    kinds = [words.split(":")[0] for words in outcomes(audit).values()]
    assert sorted(kinds) == ["failed"] * 6 + ["filtered"] * 6
    assert "6 filtered" in capsys.readouterr().out


def test_where_nothing_but_refusals_come_there_is_no_audit_and_no_second_try(spec, endpoint, cache, capsys):
    endpoint.usual = "filtered"
    assert generated(spec, cache, status=1) is None
    assert "Nothing was generated." in capsys.readouterr().err
    endpoint.asked = []
    assert generated(spec, cache, status=1) is None
    assert endpoint.asked == []
    assert "24 filtered" in capsys.readouterr().out


def test_a_system_that_goes_down_is_given_up_and_the_others_go_on(spec, endpoint, cache, capsys):
    spec.write_text(spec.read_text().replace("images = 3", "images = 30"))
    seen = []

    def usual(body):
        seen.append(body)
        return "image" if len(seen) <= 5 or len(seen) > 25 else (422, b"odd")

    endpoint.usual = usual
    audit = generated(spec, cache, status=1)
    assert len(audit) == 5 + 120
    error = capsys.readouterr().err
    assert "Error: system 'A': 20 failures in a row; the last one: HTTP 422: odd" in error
    assert "A" in outcomes(audit)
    assert outcomes(audit)["A"].startswith("noted: the system was given up")
    assert len(generated(spec, cache)) == 5 + 95 + 120
    assert "A" not in outcomes(Audit.open(cache, "a"))
    assert len(generated(spec, cache, "--retry-failed")) == 240


def test_credit_that_ends_keeps_what_was_paid_for(spec, endpoint, cache, capsys):
    endpoint.script = ["image"] * 5 + [(402, b"pay")]
    audit = generated(spec, cache, status=1)
    assert len(audit) == 5 + 12
    assert "add credit, then run the same command again" in capsys.readouterr().err
    assert len(generated(spec, cache)) == 24


def test_other_settings_do_not_mix(spec, endpoint, cache, capsys):
    before = state(generated(spec, cache))
    text = spec.read_text()
    spec.write_text(text.replace("seed = 7", "seed = 7\nsize = 64"))
    endpoint.asked = []
    assert likeness("generate", spec, "a", cache=cache) == 1
    error = capsys.readouterr().err
    assert "a holds images of 'A' that were made with other settings or weights" in error
    assert "choose another audit, or rename the system in the spec" in error
    assert endpoint.asked == []
    assert state(Audit.open(cache, "a")) == before
    spec.write_text(text.replace("batch = 3", "batch = 4\ntimeout = 9"))
    assert state(generated(spec, cache)) == before


def test_an_import_and_a_generation_share_an_audit(spec, source, endpoint, cache):
    imported(source, cache)
    assert len(generated(spec, cache)) == 36
    assert len(imported(source, cache)) == 36
    assert len(generated(spec, cache)) == 36
    assert len(endpoint.asked) == 24


def test_images_that_are_equal_are_one_and_are_not_asked_again(spec, endpoint, cache, capsys):
    endpoint.usual = lambda body: (200, encode_answer(png(1)))
    audit = generated(spec, cache)
    assert len(audit) == 8
    assert "8 added to a, 0 there already, 0 filtered, 0 failed, 16 left out." in capsys.readouterr().out
    endpoint.asked = []
    assert len(generated(spec, cache)) == 8
    assert endpoint.asked == []


def encode_answer(image):
    import base64

    return {"data": [{"b64_json": base64.b64encode(image).decode()}]}


@pytest.mark.parametrize("status", [0, 1])
def test_the_key_is_nowhere(tmp_path, endpoint, cache, monkeypatch, status):
    monkeypatch.setenv("MY_KEY", SECRET)
    systems = api(endpoint, "A", key_env="'MY_KEY'", retries="0")
    spec = write_spec(tmp_path, systems)
    endpoint.usual = lambda body: (500 if status else 422, f"your key {SECRET}".encode(), ("X-Key", SECRET))
    endpoint.script = ["image", "filtered", (429, SECRET.encode())]
    work = process("generate", spec, "a", cache=cache)
    out, error = work.communicate(timeout=60)
    assert work.returncode == 0, error
    assert endpoint.headers["Authorization"] == f"Bearer {SECRET}"
    assert "***" in out
    assert SECRET not in out + error
    files = [path for path in cache.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert all(SECRET.encode() not in path.read_bytes() for path in files)
    told = "".join(outcomes(Audit.open(cache, "a")).values()) + str(Audit.open(cache, "a").manifest)
    assert SECRET not in told
    assert "MY_KEY" not in told


def test_what_is_wrong_is_said_before_anything_runs(tmp_path, endpoint, cache, capsys):
    spec = write_spec(tmp_path, api(endpoint, "A") + api(endpoint, "B", key_env="'NOT_THERE_1'"))
    for arguments, words in (
        ((spec, "a"), "system 'B': key_env: the environment variable NOT_THERE_1 is not set"),
        ((spec, "a", "--only-system", "C"), "there is no system 'C'; its systems are A, B"),
        ((tmp_path / "none.toml", "a"), "cannot be read (No such file"),
        ((spec, "../a"), "'../a' is no audit name"),
    ):
        assert likeness("generate", *arguments, cache=cache) == 1
        assert words in capsys.readouterr().err
    assert endpoint.asked == []
    assert list(cache.iterdir()) == []


def test_the_dry_run(spec, endpoint, cache, capsys):
    def table():
        assert likeness("generate", spec, "a", "--dry-run", cache=cache) == 0
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    lines = table()
    assert lines[0] == ["system", "subset", "prompts", "images", "there", "refused", "to", "make", "time"]
    assert lines[1:3] == [[name, "professions", "4", "12", "0", "0", "12", "unknown"] for name in "AB"]
    assert " ".join(lines[3]) == "To make: 24 images, one request each."
    assert "unknown for A, B: no finished run has measured it" in " ".join(lines[4])
    assert (endpoint.asked, list(cache.iterdir())) == ([], [])
    endpoint.usual = lambda body: "filtered" if "honest" in body["prompt"] else "image"
    endpoint.pause = 0.1
    generated(spec, cache, "--only-system", "A", "--limit-per-prompt", 1)
    capsys.readouterr()
    lines = table()
    assert lines[1][:7] == ["A", "professions", "4", "12", "2", "2", "8"]
    assert lines[1][7:] in (["1", "s"], ["2", "s"])
    assert lines[2][-1] == "unknown"
    assert " ".join(lines[-1]).startswith("The others will take about")


def test_names():
    assert split_name("A, professions: x [y], number 1, seed 2 [0123abcd]") == (
        *("A, professions: x [y], number 1, seed 2", "0123abcd"),
    )
    assert split_name("images/a [b].png") == ("images/a [b].png", "")


def test_a_folder_beside_an_api(tmp_path, endpoint, cache):
    for number in range(3):
        write(tmp_path / f"images/nurse/{number}.png", encode(noise(number)))
    systems = api(endpoint, "A") + "[[systems]]\nname = 'F'\nkind = 'folder'\npath = 'images'\n"
    audit = generated(write_spec(tmp_path, systems), cache)
    assert audit.generations["system"].value_counts().to_dict() == {"A": 12, "F": 3}
    assert str(tmp_path) not in str(audit.manifest)
    write(tmp_path / "images/artist/0.png", encode(noise(9)))
    endpoint.asked.clear()
    audit = generated(tmp_path / "test.toml", cache, "--retry-failed")
    assert audit.generations["system"].value_counts().to_dict() == {"A": 12, "F": 4}
    assert endpoint.asked == []
