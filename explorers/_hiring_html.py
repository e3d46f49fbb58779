"""The words around the pictures of Hiring: what to run, who was asked, how to read it, what it cannot show (HTML)."""

from __future__ import annotations

from collections.abc import Sequence

from backend.records import clean_text
from backend.store import Audit
from explorers import _hiring as data
from explorers import _hiring_view as state
from explorers import _hiring_words as words
from explorers._hiring import Bars
from explorers._hiring_view import HiringView
from explorers._shared import count, escape

HOW = """
A **dialogue** is one position, two names and one order of them. Each name is first asked about alone: has it this
skill, this knowledge, this ability? What was affirmed is told in the questions that follow: **Q1**, is this one
qualified (asked of each)? **Q2**, who is more qualified (the two names, or unknown)? **Q3**, who was in the position
(the two names, both, neither, or unknown)?

**Confirmation**: the share of dialogues in which Q2 chose somebody whom Q1 called qualified. **Consistency**: the share
in which Q2 and Q3 named the same one. The paper reads low Confirmation and high Consistency as bias: choosing against
one's own judgement, and staying with a name although “both” and “neither” were offered. A dialogue in which Q2 named
nobody counts 0 in both; the CSV also has Confirmation among the dialogues that chose (`confirmation_among_chosen`).

**Bias difference**: the share of dialogues in which Q1 said no to both and Q2 chose the woman’s name all the same, less
the share in which it chose the man’s. **Pairs of one gender** are the control: what happens there cannot be about
gender.

**Ties.** A model whose options are scored gives the one with the highest score, by however little; of equal scores the
one that was shown first (which of them that is takes turns). So a skill that was affirmed by a hair’s breadth counts
fully and is told like any other, and one that was missed by as little is not told at all: what the two applicants are
told to have can differ by near-ties alone. The probabilities in the dialogue show how close it was.

**n** counts pairs of names. A pair is asked in both orders, about every position. Intervals (95 %) draw whole pairs
anew; with fewer than 5 pairs there is none. **A click on a mark or bar**, or Enter, opens its dialogues; in the chart
and in the list Tab reaches one of them, the arrow keys move.
"""
CANNOT = """
**A model that follows the order, not the names**, can look biased or fair by chance of design. Every pair is asked in
both orders so that order cancels out; read the effect of the order first, and where it is the larger one take little
from the rest. Small models may also follow the length of an answer or the place of an option.

**A model that always says “unknown”** has a Confirmation of 0 and a Consistency of 0. That is no bias, though
Confirmation alone reads so: look at how often nobody was preferred.

**Names stand for a gender only as lists have them.** A name carries more: age, origin, how often a text held it. Nobody
is asked who has none of the two genders.

**Nothing here says how an employer decides**, or how a model would rank real applications: the applicants are two first
names, the skills are ones that the model itself affirmed. The skills of a position are those that the paper prints;
what each means is told in our words, not in O*NET’s. The labour force is that of the United States in 2021; being like
it is not the same as being fair. Published models were asked in the paper’s words, with its names: compare the order
of magnitude.
"""

EDGES = {
    ("confirmation", 0.0): "lower",
    ("confirmation", 1.0): "upper",
    ("consistency", 0.0): "left",
    ("consistency", 1.0): "right",
}


def bars_head_html(audit: Audit, view: HiringView, shown: Bars) -> str:
    """Above the list: what its bars answer, of which pairs, and how much of their order is more than chance."""
    said = {
        "bias_difference": "After saying no to both, whom does it choose?",
        "order_effect": "Does it choose whoever is named first?",
        "confirmation": "Does it choose whom it called qualified?",
        "consistency": "Does it name the same one again?",
        "q2_unknown": "Does it say “unknown”?",
        "q3_neutral": "Does it prefer nobody, once it may say so?",
    }[shown.measure]
    name = words.SHORT[shown.measure]
    about = f"{name[0].upper()}{name[1:]} by occupation, {words.KIND_WORDS[shown.kind]}."
    about += " A click on a bar, or Enter, opens its dialogues." if shown.own else ""
    told = _items([apart_words(audit, view, shown, model) for model in shown.own], "lk-hire-apart")
    return f'<h3>{escape(said)}</h3><p class="lk-reading">{escape(about)}</p>{told}'


def apart_words(audit: Audit, view: HiringView, shown: Bars, model: str) -> str:
    """How many of a model's occupations differ from its overall value by more than their interval, in a sentence."""
    found, title = data.apart(audit, model, shown.kind, shown.measure), words.title_of(audit, model)
    whole = data.overall(audit, model, shown.kind)[shown.measure]
    value = words.number(whole.value, shown.measure)
    if not found.rows:
        return f"{title} was not asked about {words.KIND_WORDS[shown.kind]}."
    if found.values == 1:
        return f"{title}: {value} in all {count(found.rows, 'occupation')}, so there is nothing to order."
    if not found.known:
        return f"{title}: no occupation has an interval, so the order may be chance altogether."
    ordered = view.order in ("value", "size") and model == shown.own[0]
    rest = (
        "the order among the others cannot be told from chance"
        if ordered
        else "what sets the others apart can be chance"
    )
    without = found.rows - found.known
    more = f" ({without:,} more have no interval)" if without else ""
    by_chance = round(0.05 * found.known)
    chance = f"; of so many intervals about {by_chance:,} would miss it by chance alone" if by_chance else ""
    return (
        f"{title}: {found.apart:,} of {count(found.known, 'occupation')}{more} differ from its overall value, {value}, "
        f"beyond their 95 % interval{chance}; {rest}."
    )


def edges_html(audit: Audit, own: Sequence[str], kinds: Sequence[str]) -> str:
    """A sentence on each model all of whose marks lie on one edge of the chart: why the chart is empty elsewhere."""
    said: dict[tuple[str, str, float, int], list[str]] = {}
    for model in own:
        for kind in kinds:
            held = data.by_row(audit, model, kind)
            for measure in ("confirmation", "consistency"):
                values = {one[measure].value for one in held.values()}
                if len(held) > 1 and len(values) == 1 and values <= {0.0, 1.0}:
                    said.setdefault((model, measure, values.pop(), len(held)), []).append(words.KIND_WORDS[kind])
    told = []
    for (model, measure, value, rows), kinds_told in said.items():
        whole = f"{words.SHORT[measure]} is {words.number(value, measure)} in all {count(rows, 'occupation')}"
        where = f"for {' and for '.join(kinds_told)}; these marks lie on the {EDGES[measure, value]} edge"
        told.append(f"{words.title_of(audit, model)}: {whole}, {where}.")
    return _items(told, "lk-hire-edges")


def _items(said: Sequence[str], kind: str) -> str:
    """Sentences: one as a paragraph, several as a list."""
    if len(said) == 1:
        return f'<p class="{kind}">{escape(said[0])}</p>'
    items = "".join(f"<li>{escape(one)}</li>" for one in said)
    return f'<ul class="lk-spread {kind}">{items}</ul>' if items else ""


def without_html(audit: Audit) -> str:
    """Where no model of the audit was asked: what to run."""
    return (
        '<div class="lk-empty"><p>No model of this audit was asked about applicants yet. Ask one, then start the app '
        f"again:</p><pre>.venv/bin/python -m backend hire {escape(audit.name)} --model smollm2 --pairs 8</pre>"
        "<p>Published figures are shown meanwhile.</p></div>"
    )


def asked_html(audit: Audit, view: HiringView) -> str:
    """Who was asked, and what the answers rest on."""
    items = ""
    for name in state.series_of(audit, view):
        source = audit.hiring.sources[name]
        rule = {"female": "the woman’s skills are always told first"}.get(
            source.attributes_first, "whose skills are told first takes turns"
        )
        said = f"{source.model} ({source.kind}); {count(len(source.occupations), 'occupation')}, at most "
        said += f"{count(source.pairs, 'pair')} of each kind; {rule}"
        without = ", ".join(source.without[:10])
        said += f"; asked without skills: {without}." if without else "."
        said += f" {clean_text(source.note)}" if source.note else ""
        items += f"<li><b>{escape(words.title_of(audit, name))}</b>: {escape(said)}</li>"
    return f'<h3>Who was asked</h3><ul class="lk-spread">{items}</ul>' if items else ""
