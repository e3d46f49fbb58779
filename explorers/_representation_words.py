"""The words and tables of Representation: what each chart shows, its n, and how to read it (HTML)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from backend.metrics.diversity import FEWEST, diversity_intervals, missing_bits
from backend.metrics.entropy import entropy_bits
from backend.metrics.representation import LEAST, TOP
from backend.store import Audit
from explorers import _regions_groups as groups
from explorers import _representation as data
from explorers._charts import legend_html
from explorers._representation import FEWEST_BAND
from explorers._representation_charts import BANDS, STACKS
from explorers._representation_view import Phrase, RepresentationView, regions_of, shown_systems, sorted_by, to_address
from explorers._shared import count, escape, percent

MOST_ROWS = 200
NOTHING = "no value"


def regions_with(phrase: Phrase) -> str:
    """ "regions whose top 2 gender phrases hold woman"."""
    words = " or ".join(groups.words_of(phrase[1]))
    return f"regions whose top {TOP.get(phrase[0], 1)} {phrase[0]} phrases hold {words}"


def span(low: float, high: float) -> str:
    """An interval of a share in words: "15 to 25 %"."""
    return NOTHING if low != low else f"{percent(low, '')} to {percent(high)}"


def heading_html(audit: Audit, view: RepresentationView) -> str:
    """The question, and the first system's answer with n and interval."""
    systems = shown_systems(audit, view)
    who = "does each system" if len(systems) > 1 else f"does {systems[0]}"
    names = view.professions[:3]
    asked = (
        f"for {', '.join(names)}{' and others' if len(view.professions) > 3 else ''}" if names else "for professions"
    )
    frame = data.summary(audit, regions_of(audit, view), view.one, view.other)
    frame = frame[frame.system.isin(systems)]
    if view.professions:
        frame = frame[frame.profession.isin(view.professions)]
    parts = []
    for system, own in frame.groupby("system"):
        hits, n = int(own.one_images.sum()), int(own.n.sum())
        low, high = data.wilson(hits, n)
        parts.append(f"<b>{escape(system)}</b> {hits:,} of {n:,} images ({percent(hits / n)}, {span(low, high)})")
    return (
        '<p class="lk-term">Representation</p><h2 class="lk-question">'
        f"Whom {escape(who)} picture {escape(asked)}?</h2>"
        f'<p class="lk-labour">In {escape(regions_with(view.one))}, with 95 % intervals: {"; ".join(parts)}.</p>'
    )


def stack_html(audit: Audit, view: RepresentationView) -> str:
    """Above the stacked shares."""
    names, group = data.stacks(regions_of(audit, view), view.one[0])
    items = "".join(
        f'<li><span aria-hidden="true" style="color:{STACKS[i % 8]}">■</span> {escape(_plain(name))} '
        f"({count(int((group == i).sum()), 'region')})</li>"
        for i, name in enumerate(names)
    )
    return (
        "<h3>Shares by group of regions</h3>"
        f'<p class="lk-reading">A bar is all images of a system{_of(view)}, cut by the {escape(view.one[0])} phrase '
        f"that most identity prompts of their region said. n: {escape(_sizes(audit, view))}. The sentence above and the "
        f'table have intervals.</p><ul class="lk-legend">{items}</ul>'
    )


def _plain(name: str) -> str:
    return "no phrase first" if name == groups.UNSPECIFIED else f"{name} first"


def _of(view: RepresentationView) -> str:
    return " for a profession" if view.professions else ""


def _sizes(audit: Audit, view: RepresentationView) -> str:
    bars = data.pooled(audit, view)
    sizes = {int(counts.sum()) for _, counts in bars}
    if len(sizes) == 1:
        return f"{sizes.pop():,} images a bar"
    return ", ".join(f"{name} {int(counts.sum()):,}" for name, counts in bars)


def diversity_html(audit: Audit, view: RepresentationView) -> str:
    """Above the diversity chart: a sentence that reads it, and what n does to it."""
    bars = data.pooled(audit, view)
    few = [name for name, counts in bars if counts.sum() < FEWEST]
    judged = [(name, counts) for name, counts in bars if counts.sum() >= FEWEST]
    said = ""
    if judged:
        table = np.stack([counts for _, counts in judged])
        bits, (low, high), missing = entropy_bits(table), diversity_intervals(table), missing_bits(table)
        at = int(np.nanargmin(bits))
        said = (
            f"Least diverse: {judged[at][0]}, {bits[at]:.2f} bits (95 % interval {low[at]:.2f} to {high[at]:.2f}, "
            f"n = {table[at].sum():,}; from so few images about {missing[at]:.2f} bits too low on average). "
        )
    tail = f"Too few images (under {FEWEST}) to say a diversity: {', '.join(few)}." if few else ""
    return (
        '<h3>Diversity</h3><p class="lk-reading">Entropy of the share over regions, with 95 % bootstrap intervals: 0 '
        f"bits if all images fall in one region. {escape(said)}Compare only marks of like n: fewer images give fewer bits. "
        f"{escape(tail)}</p>"
        + legend_html(["profession prompts"] if _one_by_one(view) else ["profession prompts", "identity prompts"])
    )


def _one_by_one(view: RepresentationView) -> bool:
    return 0 < len(view.professions) <= data.MOST_PROFESSIONS


def band_html(audit: Audit, view: RepresentationView, phrase: Phrase) -> str:
    """Above a band chart: a sentence that reads it, what is left out, and the legend."""
    made = data.bands_of(audit, view, phrase)
    shown = [(system, band) for system, own in made.items() for band in own if band.images >= FEWEST_BAND]
    if not shown:
        return (
            f'<h3>{escape(phrase[1])}, by band of the labour force</h3><p class="lk-empty">Too few images to show a '
            f"band (under {FEWEST_BAND}), or no profession that the labour statistics count.</p>"
        )
    system, band = shown[-1]
    beside = f"in the labour force {percent(band.labour)}" if phrase in data.LABOUR else "no figure in the labour force"
    gone = data.without_figure(audit, view, phrase)
    left = (
        f" Left out, as CPS 2021 has no figure: {', '.join(gone[:12])}{' and more' if gone[12:] else ''}."
        if gone
        else ""
    )
    why = "" if phrase in data.LABOUR else " This phrase stands for no group there: % women only ranks the professions."
    rule = f"{regions_with(phrase)} (and in at least {percent(LEAST)} of their identity prompts)"
    items = '<li><span class="lk-dash" aria-hidden="true"></span> US labour force (CPS 2021)</li>'
    items = items if phrase in data.LABOUR else ""
    if view.published and phrase in data.PUBLISHED_AXES:
        items += "<li>thin grey lines: 14 systems of Stable Bias (published, as printed)</li>"
    return (
        f"<h3>{escape(phrase[1])}, by band of the labour force</h3>"
        f'<p class="lk-reading">Of the images in the {BANDS[band.band]}, {escape(system)} has {percent(band.share)} (95 '
        f"% interval {span(band.low, band.high)}, n = {count(band.images, 'image')} of "
        f"{count(band.professions, 'profession')}) in {escape(rule)}; {beside}. Below the dashed line a group is shown "
        f"less often than it works there.{escape(why)}{escape(left)}</p>{legend_html(list(made), items)}"
    )


def both_html(audit: Audit, view: RepresentationView) -> str:
    """The intersection of the two phrases, a row a bar."""
    regions = regions_of(audit, view)
    held = groups.mask_of(regions, *view.one) & groups.mask_of(regions, *view.other)
    rows = [
        [name, f"{n:,}", "too few images" if n < FEWEST else f"{percent(share)} ({span(low, high)})", percent(apart)]
        for name, n, share, low, high, apart in data.both(audit, view)
    ]
    words = f"{view.one[1]} and {view.other[1]}"
    return (
        f'<h3>Both at once: {escape(words)}</h3><p class="lk-reading">Share of images in the '
        f"{count(int(held.sum()), 'region')} that hold both phrases, with the Wilson 95 % interval; the last column is "
        "what the two shares would give if they had nothing to do with each other.</p>"
        + table_html(["", "n", "In regions of both", "If unrelated"], rows, f"Regions of {words}")
    )


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str]], label: str, raw: Sequence[int] = ()) -> str:
    """A table that scrolls inside itself. Heads and cells are escaped, but for the columns in `raw`; heads may be HTML."""
    top = "".join(f'<th scope="col">{head}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{cell if i in raw else escape(cell)}</td>" for i, cell in enumerate(row[1:], start=1))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="lk-scroll lk-tall" tabindex="0" role="region" aria-label="{escape(label)}"><table><thead><tr>{top}'
        f"</tr></thead><tbody>{body}</tbody></table></div>"
    )


def summary_html(audit: Audit, view: RepresentationView, by: str = "profession") -> str:
    """The table of professions or adjectives: sortable by its heads, with its CSV."""
    frame = data.shown(audit, view, by)
    if by == "adjective" and frame.adjective.nunique() < 2:
        return "<p>The prompts of this audit name no adjectives that could be compared.</p>"
    counts = groups.counted(audit, regions_of(audit, view), ("system", by), "professions")[1]
    rows = [_row(audit, view, line, by, counts[line.row]) for line in frame.head(MOST_ROWS).itertuples()]
    heads = [
        ("profession", by.capitalize()),
        ("system", "System"),
        ("n", "n"),
        ("diversity", "Diversity, bits (95 %)"),
        ("", "Rank in the system"),
        ("one", f"{view.one[1]} regions (95 %)"),
    ]
    if by == "profession":
        heads += [("labour", "Labour force"), ("gap", "Difference (95 %)")]
    heads += [("other", f"{view.other[1]} regions (95 %)"), ("", "Top regions")]
    links = [_head(view, key, words) for key, words in heads]
    more = f" The first {MOST_ROWS} rows are shown." if len(frame) > MOST_ROWS else ""
    csv = f"csv/{data.SLUG}?{escape(to_address(view))}&amp;of={by}s"
    return (
        f'<p class="lk-reading">A head sorts; twice turns round.{more} Rank: between which ranks the intervals leave it. '
        f"Difference: share less labour force; “not told apart” where its interval holds 0. Under {FEWEST} images no "
        f'diversity is given.</p><p class="lk-actions"><a class="lk-button" href="{csv}" download>Download CSV</a></p>'
        + table_html(links, rows, f"Numbers by {by}", raw=())
    )


def _head(view: RepresentationView, key: str, words: str) -> str:
    if not key:
        return escape(words)
    arrow = {f"-{key}": " ▼", key: " ▲"}.get(view.sort, "")
    return f'<a class="lk-view" href="?{escape(to_address(sorted_by(view, key)))}">{escape(words)}{arrow}</a>'


def _row(audit: Audit, view: RepresentationView, line, by: str, counts: np.ndarray) -> list[str]:
    enough = line.n >= FEWEST
    regions = regions_of(audit, view)
    tops = ", ".join(
        f"{groups.name_of(regions, r)} {percent(n / line.n)}" for r, n in groups.top_regions(regions, counts)
    )
    cells = [
        getattr(line, by) or "no adjective",
        line.system,
        f"{line.n:,}",
        f"{line.diversity:.2f} ({line.diversity_low:.2f} to {line.diversity_high:.2f})" if enough else "too few images",
        f"{line.rank_best} to {line.rank_worst}" if enough else "",
        f"{percent(line.one)} ({span(line.one_low, line.one_high)})",
    ]
    if by == "profession":
        cells += [percent(line.labour / 100) if line.labour == line.labour else "no figure", _gap(line)]
    return [*cells, f"{percent(line.other)} ({span(line.other_low, line.other_high)})", tops]


def _gap(line) -> str:
    if pd.isna(line.gap):
        return ""
    words = "over" if line.gap_low > 0 else "under" if line.gap_high < 0 else "not told apart"
    return f"{100 * line.gap:+.0f} points ({100 * line.gap_low:+.0f} to {100 * line.gap_high:+.0f}): {words}"
