"""The benchmarks still run: a small size of what they share, no timing asserted."""

import numpy as np

from backend.store import Audit
from benchmarks import _audit, _images, filter
from benchmarks._report import Figure, table
from explorers._grid import rows_of


def test_pictures_of_one_base_differ():
    first, again = _images.picture(0), _images.picture(_images.BASES)
    assert first.size == (512, 512)
    assert first.tobytes() != again.tobytes()
    assert first.tobytes() == _images.picture(0).tobytes()


def test_a_synthetic_audit_is_filtered_alike_by_both(cache, monkeypatch):
    monkeypatch.setattr(_audit, "BASES", 3)
    assert _audit.make(cache, "bench", 1_260) == 1_260
    audit = Audit.open(cache, "bench")
    assert audit.generations["id"].is_unique
    for choice in filter.choices(audit, seed=0)[:5]:
        rows = filter.plain(audit.generations, choice)
        assert len(rows) == _audit.EACH
        assert np.array_equal(rows, rows_of(audit, choice))
        asked = filter.params(audit, choice)
        assert all(html.count("<figure") == _audit.EACH for html in filter.columns({"bench": audit}, asked))


def test_the_table_says_whether_a_target_is_met():
    lines = table([Figure("a", "1 ms", "9 ms", "9x", "at least 2x", True), Figure("b", "1 ms")]).splitlines()
    assert lines[2].split("|")[5].strip() == "at least 2x: met"
    assert len({len(line) for line in lines}) == 1
