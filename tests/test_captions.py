"""The tab Captions and answers: views from hostile addresses, escaped texts, what an audit without texts says."""

import pandas as pd
import pytest
from audits import make_audit

from backend.store import Audit, TextSource, write_texts, writing
from explorers import captions
from explorers._captions_gap import own
from explorers._grid import detail

NASTY = "<img src=x onerror=alert(1)> ${woman} and a man"


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    make_audit(cache, "bare")
    audit = make_audit(cache, "told")
    rows = [
        {"row": row, "question": "caption", "answer": (NASTY, "a woman", "a man", "")[row % 4], "probability": 0.5}
        for row in range(len(audit))
    ]
    source = TextSource("mine", "Mine <b>", "en", {"caption": ""}, {})
    with writing(audit.folder):
        write_texts(audit, source, pd.DataFrame(rows), {})
    return {name: Audit.open(cache, name) for name in ("bare", "told")}


def test_the_first_view_is_an_audit_that_has_texts(stores):
    view = captions.from_params(stores, {})
    assert (view.audit, view.text) == ("told", "mine:caption")
    hostile = {"text": ["x"], "show": ["<b>"], "n": ["-1"], "a": ["zz"], "by": ["y"], "order": ["'"], "audit": ["?"]}
    assert captions.from_params(stores, hostile) == view
    assert captions.from_params(stores, {"audit": ["bare"]}).text == ""
    assert "python -m backend describe bare" in captions._none_html(stores["bare"])


@pytest.mark.parametrize("show", list(captions.SHOWS))
def test_every_view_escapes_and_comes_back_from_its_address(stores, show):
    from urllib.parse import parse_qs

    view = captions.from_params(stores, {"show": [show], "q": ["img woman"]})
    html = "".join(part for part in captions._content(stores["told"], view, 1) if isinstance(part, str))
    assert "<img src=x" not in html and "Beta <b>" not in html and "Mine <b>" not in html and "${" not in html
    assert captions.from_params(stores, parse_qs(captions.to_address(view))).show == show
    assert captions.table(stores, {"show": [show]}) is not None


def test_one_images_texts_are_escaped_and_marked(stores):
    html = detail(stores["told"], 0)
    assert "&lt;img src=x onerror=alert(1)&gt; &#36;&#123;<mark" in html
    assert 'title="woman word">woman<' in html and 'title="man word">man<' in html


def test_counts_by_hand(stores):
    table = own(stores["told"], "mine:caption")
    assert table["n"].sum() == 150 and table["both"].sum() == 38 and table["empty"].sum() == 37
    assert table["mentions"].sum() == 2 * 38 + 38 + 37
