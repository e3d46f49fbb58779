"""What stands beside the pictures of Browse: regions and answers, counted over the column's images."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from audits import make_audit
from region_audits import make_region_audit
from scipy.stats import binomtest

from backend.store import Audit
from explorers._measured import answers_html, in_phrase, measured_html, region_html
from explorers._shared import note_html, subjects_in_words
from explorers._texts import texts_of

CACHE = Path(__file__).parent.parent / "cache"


@pytest.fixture(scope="module")
def starter():
    return Audit.open(CACHE, "starter")


def test_the_share_in_regions_of_a_phrase_has_n_and_wilsons_interval(starter):
    rows = starter.rows(system="mirror", profession="artist")
    found = in_phrase(starter)
    phrase, inside = found.phrase, found.inside
    k, n = int(inside[rows].sum()), len(rows)
    interval = binomtest(k, n).proportion_ci(method="wilson")
    html = region_html(starter, rows)
    assert phrase == "woman" and 0 < k < n
    assert f"<b>{100 * k / n:.0f} %</b>" in html and f"({k} of {n}; " in html
    assert f"interval {100 * interval.low:.0f} to {100 * interval.high:.0f} %" in html
    assert "those of 24 regions whose prompts said woman</a>" in html
    assert (
        html.count("?tab=representation&amp;audit=starter&amp;p=artist") == 2
    )  # its regions, and how far to trust them


def test_rows_of_several_professions_lead_to_all_and_trust_is_offered_where_it_was_checked(starter, tmp_path):
    html = region_html(starter, starter.rows(subset="professions"))
    assert 'href="?tab=representation&amp;audit=starter"' in html
    assert "&amp;p=" not in html
    assert "How far to trust this" in html
    bare = make_region_audit(tmp_path, "bare")
    assert "How far to trust this" not in region_html(bare, np.arange(len(bare)))
    assert "regions whose prompts said" in region_html(bare, np.arange(len(bare)))


def test_answers_are_counted_over_the_rows_alone(starter):
    rows = starter.rows(system="amplified", profession="teacher")
    html = answers_html(starter, rows)
    texts = texts_of(starter, "starter-vqa:gender")
    women = int((texts["answer"].to_numpy()[np.isin(texts["row"], rows)] == "woman").sum())
    found = re.search(r'<th scope="row">woman</th><td>(\d+)</td>', html)
    assert int(found[1]) == women > 0
    assert f"of {len(rows)}" in html


def test_an_audit_without_regions_and_answers_says_nothing(tmp_path, starter):
    small = make_audit(tmp_path)
    assert measured_html(small, np.arange(len(small))) == ""
    assert measured_html(starter, np.empty(0, int)) == ""


def test_what_an_audit_is_about_in_words(starter):
    assert subjects_in_words(starter) == "20 professions and 18 identity prompts"


def test_a_note_of_several_sentences_folds_after_the_first_and_is_escaped():
    audit = SimpleNamespace(manifest={"sources": [{"note": "One <b>. Two ${x}."}]})
    html = note_html(audit)
    assert "<summary>One &lt;b&gt;.</summary>" in html and "Two &#36;&#123;x&#125;." in html
    audit.manifest["sources"][0]["note"] = "One alone."
    assert note_html(audit) == '<p class="lk-about">One alone.</p>'
