"""The app's routes and arguments, without a browser."""

from __future__ import annotations

import csv
import io
import socket

import pytest
from audits import HOSTILE, make_audit
from fastapi import FastAPI
from PIL import Image
from starlette.testclient import TestClient

import app
from backend.store import Audit
from explorers._shared import escape


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    return make_audit(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def client(audit: Audit):
    server = FastAPI()
    app.add_routes(server, {audit.name: audit})
    with TestClient(server) as client:
        yield client


def test_a_thumbnail_is_served_for_ever(client, audit):
    answer = client.get(f"/image/small/{audit.generations['id'].iat[3]}/thumbnail")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/webp"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.content == audit.thumbnail(3)
    assert Image.open(io.BytesIO(answer.content)).size == (64, 48)


def test_an_original_cannot_run_anything(client, audit):
    answer = client.get(f"/image/small/{audit.generations['id'].iat[3]}/original")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert answer.content == audit.image(3)[0]


def test_a_download_has_a_name(client, audit):
    name = audit.generations["id"].iat[3]
    answer = client.get(f"/image/small/{name}/download")
    assert answer.headers["content-disposition"] == f'attachment; filename="small-{name}.png"'


@pytest.mark.parametrize(
    "path",
    [
        "/image/small/ffffffffffffffff/thumbnail",
        "/image/other/0000000000000001/thumbnail",
        "/image/small/0000000000000001/passwd",
        "/image/small/..%2f..%2fetc/thumbnail",
        "/detail/small/nothing",
        "/csv/nothing",
        "/files/published/..%2f..%2fREADME.md",
        "/files/nothing/x.csv",
        "/ui/..%2f..%2fapp.py",
        "/ui/professions.csv",
    ],
)
def test_what_is_unknown_is_not_found(client, path):
    assert client.get(path).status_code == 404


def test_published_files_are_served_by_name(client):
    files = next(module for module in app.EXPLORERS if module.SLUG == "published").FILES
    name = next(iter(files))
    answer = client.get(f"/files/published/{name}")
    assert answer.status_code == 200
    assert answer.content == files[name].read_bytes()


def test_detail_escapes_everything(client, audit):
    first = int(audit.rows(system="Beta <b>")[0])
    text = client.get(f"/detail/small/{audit.generations['id'].iat[first]}").text
    assert "<script" not in text
    assert "${" not in text
    assert "{{" not in text
    assert "Beta &lt;b&gt;" in text
    assert "999" in text  # its seed
    assert "Mood label" in text


def test_csv_holds_the_view_and_no_formula(client):
    answer = client.get("/csv/browse?audit=small&s=Alpha&p=nurse&a=calm&s=Beta+<b>&p=baker&a=calm")
    rows = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
    assert [row["system"] for row in rows] == ["Alpha"] * 10 + ["Beta <b>"] * 10
    assert {row["extra_formula"] for row in rows} == {'\'=HYPERLINK("http://x")'}
    assert all(float(row["colourfulness"]) >= 0 for row in rows)


def test_csv_of_the_import_report(client):
    assert "bad<i>.png" in client.get("/csv/about?audit=small").text


def test_a_hostile_query_is_read_as_nothing():
    assert app.params_of("&".join(["a=1"] * 600)) == {}
    assert app.params_of("?tab=x&s=&s=b") == {"tab": ["x"], "s": ["", "b"]}


def test_an_audit_that_is_not_there_ends_with_a_sentence(tmp_path, capsys):
    assert app.main(["nothing", "--cache", str(tmp_path)]) == 1
    assert "holds no audit" in capsys.readouterr().err


def test_a_port_in_use_ends_with_a_sentence(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert app.main(["--cache", str(tmp_path), "--port", str(port)]) == 1
    assert "--port" in capsys.readouterr().err


def test_a_damaged_audit_does_not_hide_the_others(tmp_path):
    make_audit(tmp_path, "good")
    make_audit(tmp_path, "bad")
    (tmp_path / "bad" / "manifest.json").write_text("{")
    stores, problems = app.open_audits(tmp_path, [])
    assert list(stores) == ["good"]
    assert len(problems) == 1
    assert "damaged" in problems[0]
    assert "damaged" in app.header_html(stores, problems)


def test_the_first_screen_has_what_the_maker_of_an_audit_says_escaped(audit):
    html = app.header_html({"small": audit}, [])
    assert escape(HOSTILE) in html
    assert "<script" not in html
