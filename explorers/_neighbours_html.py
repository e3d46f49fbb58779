"""Nearest neighbours as HTML: the question, the image and where it was walked from, and its neighbours."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

import pandas as pd

from backend.neighbours import Found, Kind
from backend.store import Audit
from explorers import _neighbours as shown
from explorers._grid import described
from explorers._missed import missed_html
from explorers._neighbours import SUBSETS, Near, NearView, to_address
from explorers._neighbours_links import SLUG, kinds_of
from explorers._neighbours_summary import fields_of, sentence, summary_html
from explorers._shared import count, csv_chunks, escape

BY = {"colour": "by colour", "colourfulness": "by colourfulness", "words": "by structure"}
FOLDED = "What the neighbours' prompts said (it says nothing about your picture)"
GONE = "This address was about a picture that was uploaded or pasted. No address holds one, and nothing keeps it"


def with_code(text: str) -> str:
    """A sentence as HTML, what stands between backticks as code.

    >>> with_code("Run `build x`.")
    'Run <code>build x</code>.'
    """
    parts = [escape(part) for part in text.split("`")]
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))


def by(kind: Kind) -> str:
    """A kind as it stands in a question."""
    return BY.get(kind.name, f"by content ({kind.name.partition('-')[2]})")


def heading_html(audit: Audit, view: NearView, missed: str = "") -> str:
    """The question, the kinds to choose from, what narrows the search, and the walk so far; and what the address named
    that there is not (`missed`, plain text)."""
    this = "your picture" if view.picture else "this one"
    question = f"Which images are most like {this}, {by(shown.kind_of(audit, view))}?"
    note = missed_html(missed)
    return (
        f'<p class="lk-term">Nearest neighbours</p><h2 class="lk-question">{escape(question)}</h2>{note}'
        f"{_kinds_html(audit, view)}{_filter_html(view)}{_trail_html(audit, view)}"
    )


def _kinds_html(audit: Audit, view: NearView) -> str:
    offered, missing = [], []
    for kind in kinds_of(audit):
        title = escape(kind.title)
        if kind.ready:
            now = ' aria-current="true"' if kind.name == view.kind else ""
            link = escape(to_address(replace(view, kind=kind.name)))
            offered.append(f'<a class="lk-button lk-view"{now} href="?{link}">{title}</a>')
        else:
            offered.append(f'<button type="button" class="lk-button" disabled>{title}</button>')
            missing.append(f"<li><b>{title}</b>: {with_code(kind.why)}</li>")
    why = f"<details><summary>Why {len(missing)} cannot be chosen</summary><ul>{''.join(missing)}</ul></details>"
    return (
        f'<nav class="lk-near-kinds" aria-label="Similar by"><span>Similar by</span> {" ".join(offered)}</nav>'
        f"{why if missing else ''}"
    )


def _filter_html(view: NearView) -> str:
    said = [f"by {view.system}" if view.system else "", f"for {view.subject}" if view.subject else ""]
    said.append(f"of {SUBSETS.get(view.subset, view.subset).lower()}" if view.subset else "")
    if not any(said):
        return ""
    clear = escape(to_address(shown.unfiltered(view)))
    return (
        f'<p class="lk-near-only">Searched: only images {escape(" ".join(filter(None, said)))}. '
        f'<a class="lk-view" href="?{clear}">Search all images</a></p>'
    )


def _trail_html(audit: Audit, view: NearView) -> str:
    """The images walked from, each a link back to it, and the one that is shown."""
    if view.picture or not view.trail:
        return ""
    items = []
    for step, name in enumerate(view.trail):
        link = escape(to_address(shown.returned(view, step)))
        picture = _small(audit, name, f"Back to step {step + 1}")
        items.append(f'<li><a class="lk-view" data-walk href="?{link}">{picture}</a></li>')
    items.append(f'<li aria-current="step">{_small(audit, view.of, "Now")}</li>')
    return f'<nav class="lk-trail" aria-label="Your walk"><span>Your walk</span><ol>{"".join(items)}</ol></nav>'


def _small(audit: Audit, name: str, what: str) -> str:
    alt = escape(f"{what}: {described(audit.generations.iloc[audit.row_of(name)])}")
    path = escape(f"{quote(audit.name)}/{name}")
    return f'<img src="image/{path}/thumbnail" alt="{alt}" width="48" height="48">'


def query_html(audit: Audit, view: NearView) -> str:
    """The image whose neighbours are shown, large, with its prompt; or a place for the page's own picture."""
    steps = "" if view.picture else ",".join((*view.trail, view.of)[-shown.MOST_STEPS :])
    data = f'data-audit="{escape(audit.name)}" data-k="{view.k}" data-steps="{escape(steps)}"'
    data += f' data-picture="{escape(to_address(replace(view, picture=True)))}"'
    data += f' data-back="{escape(to_address(replace(view, picture=False)))}"'
    if view.picture:
        return f'<div class="lk-near-own" {data}><p class="lk-near-none">No picture</p></div>'
    row = audit.generations.iloc[audit.row_of(view.of)]
    name = escape(f"{quote(audit.name)}/{view.of}")
    prompt = f"“{str(row['prompt'])[:300]}”" if row["prompt"] else f"Prompt not recorded; for {row['subject']}"
    why = shown.default_why(audit) if view.of == shown.default_image(audit) else ""
    note = f"<span>{escape(why)}</span>" if why else ""
    return (
        f'<div class="lk-grid lk-near-query" {data}><figure class="lk-figure"><a href="?{escape(to_address(view))}&amp;'
        f'image={escape(view.of)}" data-detail="detail/{name}"><img src="image/{name}/original" '
        f'alt="{escape(described(row))}" width="{int(row["width"])}" height="{int(row["height"])}"></a><figcaption>'
        f"<b>{escape(prompt)}</b><span>{escape(row['system'])}, "
        f"number {escape(row['number'])}</span>{note}</figcaption></figure></div>"
    )


def board_html(audit: Audit, view: NearView) -> str:
    """The neighbours of a view's image, or why there are none; for an uploaded picture a place that the page fills."""
    if view.picture:
        link, ask = (escape(to_address(replace(view, picture=gone))) for gone in (False, True))
        wait = " The first time a model has to be loaded: some seconds." if view.kind.startswith("embedding-") else ""
        return (
            f'<div class="lk-near-slot" data-ask="query/{SLUG}/picture?{ask}" data-wait="{wait}"><p class="lk-state" '
            f'role="status">{GONE}: choose it again, or <a class="lk-view" href="?{link}">go on with an image of the '
            "audit</a>.</p></div>"
        )
    found = shown.near(audit, view)
    if isinstance(found, str):
        return why_html(audit, view, found)
    csv = f"csv/{SLUG}?{escape(to_address(view))}"
    return found_html(audit, view, found, f'<a class="lk-button" href="{csv}" download>Download CSV</a>')


def why_html(audit: Audit, view: NearView, why: str) -> str:
    """Why there are no neighbours, and what else there is."""
    ways = [
        (f"By {kind.title}", to_address(replace(view, kind=kind.name)))
        for kind in kinds_of(audit)
        if kind.ready and kind.name != view.kind
    ]
    if view.system or view.subject or view.subset:
        ways.append(("Search all images", to_address(shown.unfiltered(view))))
    links = " ".join(f'<a class="lk-button lk-view" href="?{escape(to)}">{escape(words)}</a>' for words, to in ways)
    others = f'<p class="lk-actions">{links}</p>' if links else ""
    return f'<div class="lk-empty" role="status"><p>{with_code(why)}</p>{others}</div>'


def found_html(audit: Audit, view: NearView, near: Near, download: str, lead: str = "") -> str:
    """What was found: the sentence (or `lead`, as HTML), the pictures with their distance, and what the neighbourhood
    holds, folded for a picture of the visitor's."""
    found, n = near.found, len(near.found.rows)
    fields = fields_of(audit, found.rows, near.searched)
    how = "Every image was compared" if found.exact else "Approximate"
    if not found.exact and found.recall is not None:
        recall = min(round(100 * found.recall, 1), 99.9 if found.recall < 1 else 100)
        how += f": when the index was made, {recall:g} % of the true ten nearest of a sample were found"
        how += "; for later ones it was not measured" if n > 10 else ""
    asked = f", of {view.k} asked for" if n < view.k else ""
    said = lead or f'<p class="lk-state" role="status">{escape(sentence(fields, n, len(near.searched)))}</p>'
    holds = summary_html(audit, fields, n, len(near.searched))
    if view.picture and holds:  # the neighbours' prompts say nothing about a picture that none of them made
        holds = f'<details class="lk-near-fold"><summary>{FOLDED}</summary>{holds}</details>'
    return (
        f'{said}<h3>{count(n, "nearest image")}{asked}</h3><p class="lk-count">Nearest first, with the distance: '
        f"{escape(found.distance_name)}. {how}.</p>{figures_html(audit, view, found)}"
        f'<p class="lk-actions">{download}</p>{holds}'
    )


def figures_html(audit: Audit, view: NearView, found: Found) -> str:
    """The neighbours as thumbnails, nearest first; each opens its detail and can become the image to walk on from."""
    table = audit.generations[["id", "prompt", "subject", "system", "number", "seed"]]
    data = table.iloc[found.rows].to_dict("records")
    own = {} if view.picture else table.iloc[audit.row_of(view.of)].to_dict()
    parts, link = [], escape(to_address(view))
    places = 3 if found.distance.max(initial=0) < 10 else 1
    for index, (row, distance) in enumerate(zip(data, found.distance, strict=True)):
        name, alt = escape(f"{quote(audit.name)}/{row['id']}"), escape(described(row))
        walk, stop = escape(to_address(shown.walked(view, str(row["id"])))), -1 if index else 0
        notes = [row["subject"], row["system"], *(["same prompt and seed"] if same_draw(own, row) else [])]
        caption = "".join(f"<span>{escape(note)}</span>" for note in notes)
        parts.append(
            f'<figure class="lk-figure"><a href="?{link}&amp;image={escape(row["id"])}" data-detail="detail/{name}" '
            f'tabindex="{stop}"><img src="image/{name}/thumbnail" alt="{alt}" loading="lazy" decoding="async" '
            f'width="256" height="256"></a><figcaption><b>{distance:.{places}f}</b>{caption}<a class="lk-view lk-walk" '
            f'data-walk tabindex="{stop}" href="?{walk}" aria-label="Walk here: {alt}">Walk here</a></figcaption>'
            "</figure>"
        )
    return f'<div class="lk-grid lk-near-found">{"".join(parts)}</div>'


def same_draw(own: Mapping[str, object], row: Mapping[str, object]) -> bool:
    """Whether two images were made of one recorded prompt with one recorded seed.

    >>> a = {"prompt": "a nurse", "seed": 7}
    >>> same_draw(a, {**a, "system": "B"}), same_draw(a, {**a, "seed": 8}), same_draw({}, a)
    (True, False, False)
    """
    known = bool(own) and bool(row["prompt"]) and not pd.isna(row["seed"]) and not pd.isna(own["seed"])
    return known and (own["prompt"], own["seed"]) == (row["prompt"], row["seed"])


def csv_link(audit: Audit, view: NearView, found: Found) -> str:
    """The neighbours of an uploaded picture as a file that the page itself holds."""
    data = "".join(csv_chunks(shown.table_of(audit, view, found))).encode()
    file = f"data:text/csv;base64,{base64.b64encode(data).decode()}"
    return f'<a class="lk-button" download="likeness-neighbours.csv" href="{file}">Download CSV</a>'


def notes_html(audit: Audit) -> str:
    """What each kind compares and how well it finds, by the stages that made it."""
    kinds = kinds_of(audit)
    items = (f"<li><b>{escape(k.title)}</b>: {with_code(k.note if k.ready else k.why)}</li>" for k in kinds)
    return f"<p>In this audit:</p><ul>{''.join(items)}</ul>"
