"""The axis tone: imported, shown as a subject, and absent from audits made before it came."""

from __future__ import annotations

import pyarrow.parquet as pq
from samples import grown, imported, png, state, write, write_csv

from backend.store import Audit
from backend.store.files import NEXT, commit, read_manifest

TABLE = "generations.parquet"


def test_tones_of_a_source(tmp_path, cache):
    rows = [
        {"file_name": f"{number}.png", "system": "S", "gender": "woman", "skin tone": tone}
        for number, tone in enumerate(["dark", "", "light"])
    ]
    for number, row in enumerate(rows):
        write(tmp_path / "s" / row["file_name"], png(number))
    write_csv(tmp_path / "s", rows)
    table = imported(tmp_path / "s", cache, "--map", "skin tone=tone").generations
    assert list(table["tone"]) == ["dark", "unspecified", "light"]
    assert set(table["ethnicity"]) == {"unspecified"}
    phrases = ["identity prompt: woman + dark", "identity prompt: woman", "identity prompt: woman + light"]
    assert list(table["subject"]) == phrases
    rows = [{("skin_tone" if key == "skin tone" else key): value for key, value in row.items()} for row in rows]
    write_csv(tmp_path / "s", rows)
    assert list(imported(tmp_path / "s", cache, name="b").generations["tone"]) == ["dark", "unspecified", "light"]


def from_before(audit):
    """Make an audit what it was before the axis: a table without its column."""
    manifest = read_manifest(audit.folder)
    table = pq.read_table(audit.folder / TABLE)
    pq.write_table(table.drop_columns(["tone"]), audit.folder / (TABLE + NEXT))
    commit(audit.folder, manifest, [TABLE])


def test_an_audit_from_before_the_axis(source, cache):
    audit = imported(source, cache)
    before, columns = state(audit), list(audit.generations.columns)
    from_before(audit)
    opened = Audit.open(cache, "a")
    assert state(opened) == before
    assert list(opened.generations.columns) == columns
    assert len(opened.rows(tone="unspecified")) == 12
    assert state(imported(source, cache)) == before
    from_before(Audit.open(cache, "a"))
    grown(source)
    audit = imported(source, cache)
    assert set(audit.generations["tone"]) == {"unspecified"}
    assert list(audit.generations["id"])[:12] == before[0]
    assert "tone" in pq.read_schema(audit.folder / TABLE).names
