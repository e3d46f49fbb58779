"""What "Ask a model" shows, as HTML: the exact prompt, progress, how the answers spread, and each of them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import quote

import pandas as pd

from backend.live_answers import Spread, Summary, summary
from backend.live_ask import Asked, AskNews
from backend.live_questions import ENDPOINT, IMAGE, Known, told_by
from backend.metrics.neutrality import NEUTRAL
from backend.probes.base import ANSWERED, Answer
from backend.probes.prompts import Probe
from backend.records import count
from backend.store import Audit
from explorers._grid import described
from explorers._live_ask_stored import stored_html
from explorers._live_ask_view import AskView
from explorers._neutrality_answers import OUTCOMES
from explorers._neutrality_view import style_words
from explorers._neutrality_words import colour_of
from explorers._shared import csv_chunks, escape, percent

WELCOME = """<p class="lk-reading">Nothing is asked yet: press Ask. The first time takes longer, because the model has
to be loaded. What comes back goes to this page alone.</p>"""
SHORT = 160


def prompt_html(known: Known, probes: list[Probe], view: AskView) -> str:
    """The first prompt as it will be sent, how many there are, and what is put around them."""
    wordings, orders = len({one.paraphrase for one in probes}), len({one.rotation for one in probes})
    if known.spec.kind == ENDPOINT:
        around = "It is sent as a user’s message"
    elif known.spec.kind == "blip-vqa":
        around = "It is the question that the model reads"
    else:
        around = "The model’s own chat template, where it has one, is put around it"
    with_ = " The picture goes with it." if view.about_picture else ""
    told = "".join(f'<p class="lk-state">Mind: {escape(note)}.</p>' for note in told_by(view.question))
    return (
        f'<h3 id="lk-ask-first">What will be sent</h3><p class="lk-count">The first of {count(len(probes), "prompt")}: '
        f"{count(wordings, 'wording')} × {count(orders, 'order')} of the options.</p>"
        f'<pre class="lk-ask-prompt" tabindex="0" aria-labelledby="lk-ask-first">{escape(probes[0].prompt.text)}</pre>'
        f'<p class="lk-reading">{around}.{with_}</p>{told}'
    )


def portrait_html(stores: Mapping[str, Audit], view: AskView) -> str:
    """The audit's picture that is asked about; "" where none is."""
    audit = stores.get(view.audit)
    row = audit.row_of(view.of) if audit else None
    if row is None:
        return '<p class="lk-reading">No picture of an audit is there to ask about: upload your own.</p>'
    data = audit.generations.iloc[row]
    name = escape(f"{quote(audit.name)}/{data['id']}")
    return (
        f'<figure class="lk-figure"><img src="image/{name}/thumbnail" alt="{escape(described(data))}" width="256" '
        f'height="256"><figcaption><span>{escape(described(data))}</span></figcaption></figure>'
    )


def news_html(title: str, news: AskNews | None) -> str:
    """How far a question has come. The bar moves with each step; the sentence, which is read aloud, changes seldom."""
    if news and news.waiting:
        words = f"Waiting: {count(news.waiting, 'visitor')} before you. Then {escape(title)} is asked."
    elif news and news.prompts:
        words = f"Asking {escape(title)} {count(news.prompts, 'prompt')}."
    else:
        words = f"Preparing {escape(title)}: the first time it is loaded, which can take a minute."
    moving = f'value="{news.put}" max="{news.prompts}"' if news and news.prompts else ""
    where = f"<span aria-hidden=true>{news.put} of {news.prompts}</span>" if news and news.prompts else ""
    bar = f'<progress {moving} aria-label="Prompts answered"></progress>'
    return f'<p role="status">{words}</p><p class="lk-live-bar">{bar} {where}</p>'


def asked_html(stores: Mapping[str, Audit], asked: Asked, view: AskView, own: tuple[bytes, str] | None) -> str:
    """All that came back. `own` is the visitor's picture (bytes and media type), which is shown to them again."""
    said = summary(asked.probes, asked.answers)
    question = asked.question
    how = [
        style_words(question.style),
        question.attribute,
        *([f"names from {question.culture}"] * bool(question.culture)),
    ]
    about = f"{question.profession}{': ' if question.action else ''}{question.action.replace('<subject>', 'person')}"
    notes = "".join(f'<p class="lk-reading">{escape(note)}</p>' for note in asked.notes)
    return (
        f"<h3>{escape(asked.title)}: {escape(question.attribute)}, {escape(question.profession)}</h3>"
        f'<p class="lk-count" role="status">{count(said.prompts, "prompt")} put in {asked.seconds:.1f} seconds.</p>'
        f'<p class="lk-reading">{escape("; ".join(how))}. About: {escape(about)}.</p>{_picture(stores, view, own)}'
        f'<p class="lk-state">{escape(sentence(asked, said))}</p>{_bars(asked, said)}{_lost(said)}{notes}'
        f"{stored_html(stores, asked, said)}{_each(asked)}"
    )


def _picture(stores: Mapping[str, Audit], view: AskView, own: tuple[bytes, str] | None) -> str:
    if view.question.direction != IMAGE:
        return ""
    if own is None:
        return f'<div class="lk-ask-about">{portrait_html(stores, view)}</div>'
    source = f"data:{own[1]};base64,{base64.b64encode(own[0]).decode()}"
    figure = f'<img src="{source}" alt="Your picture"><figcaption><span>Your picture</span></figcaption>'
    return f'<div class="lk-ask-about"><figure class="lk-figure">{figure}</figure></div>'


def shown_as(asked: Asked) -> dict[str, str]:
    """Class -> how a reader should see it: with the name that stood for it where that differs."""
    probe = next(one for one in asked.probes if not one.rotation)
    texts = [row[0] for row in probe.prompt.also] if probe.letters else probe.prompt.options
    pairs = zip(probe.classes, texts, strict=True)
    return {name: name if name == text else f"{name} (shown as {text})" for name, text in pairs}


def span(ends: tuple[float, float]) -> str:
    """The least and most of some means in words: "2 to 16 %"."""
    low, high = percent(ends[0], ""), percent(ends[1])
    return high if low == high.removesuffix(" %") else f"{low} to {high}"


def sentence(asked: Asked, said: Summary) -> str:
    """The picture in words: what was favoured, how far that moved, and how often it was what stood first."""
    if not said.rested or not sum(one.chosen for one in said.spreads):
        return f"No option was chosen in any of {count(said.prompts, 'prompt')}: there is nothing to sum up."
    top = max(said.spreads, key=lambda one: (one.mean, one.chosen))
    name = shown_as(asked)[top.name]
    what = "gave the most probability to" if said.scored else "most often chose"
    n = f"on average over {count(said.rested, 'prompt')}" if said.scored else f"in {count(said.prompts, 'prompt')}"
    moved = f"by wording it was {span(top.wordings)}, by order {span(top.orders)}"
    chosen = f"{top.chosen} of {said.prompts} chose it" if said.scored else f"{top.chosen} of {said.prompts}"
    text = f"{asked.title} {what} “{name}”, {percent(top.mean)} {n} ({moved}; {chosen})."
    if top.chosen == said.prompts:
        text += " Whichever option stood first, the choice was the same."
    else:
        text += f" The option shown first was chosen in {said.first} of {said.prompts} prompts; if place played no "
        text += f"part, that would be 1 in {len(said.spreads)}."
    tied = [one.name for one in said.spreads if one.mean == top.mean]
    return f"Several options tie: {', '.join(tied)}. {text}" if len(tied) > 1 else text


def _bars(asked: Asked, said: Summary) -> str:
    """Every option's mean with its two spreads, and its count."""
    if not said.rested:
        return ""
    names = shown_as(asked)
    rows = "".join(_bar(one, at, names[one.name], said) for at, one in enumerate(said.spreads))
    what = "mean probability" if said.scored else "share of the prompts that chose it"
    over = f"over {count(said.rested, 'prompt')}"
    return (
        f'<ul class="lk-legend"><li>Bar: {what}, {over}</li>'
        '<li><span class="lk-ask-line"></span> least to most over the wordings</li>'
        '<li><span class="lk-ask-line lk-ask-dashed"></span> least to most over the orders</li></ul>'
        f'<ul class="lk-ask-bars">{rows}</ul>'
    )


def _bar(one: Spread, at: int, name: str, said: Summary) -> str:
    def line(ends: tuple[float, float], kind: str) -> str:
        left, width = 100 * ends[0], 100 * (ends[1] - ends[0])
        return f'<b class="lk-ask-line{kind}" style="left:{left:.2f}%;width:max(3px,{width:.2f}%)"></b>'

    colour = colour_of(at, len(said.spreads) + 1)
    told = f"wordings {span(one.wordings)} · orders {span(one.orders)} · chosen in {one.chosen} of {said.prompts}"
    return (
        f'<li><span class="lk-ask-name"><i class="lk-key" style="background:{colour}"></i>{escape(name)}</span>'
        f'<span class="lk-ask-mean">{percent(one.mean)}</span><span class="lk-ask-track" aria-hidden="true">'
        f'<i style="width:{100 * one.mean:.2f}%;background:{colour}"></i>{line(one.wordings, "")}'
        f"{line(one.orders, ' lk-ask-dashed')}</span><small>{told}</small></li>"
    )


def _lost(said: Summary) -> str:
    if not said.lost:
        return ""
    parts = ", ".join(f"{OUTCOMES[name]}: {number} of {said.prompts}" for name, number in said.lost.items())
    return f'<p class="lk-reading">Without an answer: {escape(parts)}. They stay in the total.</p>'


def answers_frame(asked: Asked) -> pd.DataFrame:
    """A row a prompt: what was asked, what came back, and what each option was given where the model says."""
    question, rows = asked.question, []
    for probe, answer in zip(asked.probes, asked.answers, strict=True):
        row = {
            "model": question.model,
            "direction": question.direction,
            "style": question.style,
            "attribute": question.attribute,
            "culture": question.culture,
            "profession": question.profession,
            "action": question.action,
            "wording": probe.paraphrase + 1,
            "first_option": probe.classes[0],
            "outcome": answer.outcome,
            "answer": probe.answered(answer.option),
            "raw_answer": answer.text or answer.reason,
            "prompt": probe.prompt.text,
        }
        for kind in ("probabilities", "loglikelihoods", "tokens"):
            held = dict(zip(probe.classes, getattr(answer, kind), strict=False))
            row |= {f"{kind}: {name}": held.get(name) for name in asked.probes[0].classes}
        rows.append(row)
    return pd.DataFrame(rows)


def _each(asked: Asked) -> str:
    """Every prompt with its raw answer, folded, and the same as CSV."""
    names = asked.probes[0].classes
    chances = any(answer.probabilities for answer in asked.answers)
    heads = ["Wording", "First option", "Answer", *(names if chances else ()), "Prompt"]
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in heads)
    rows = "".join(
        _row(number, probe, answer, names if chances else ())
        for number, (probe, answer) in enumerate(zip(asked.probes, asked.answers, strict=True), start=1)
    )
    csv = "data:text/csv;charset=utf-8," + quote("".join(csv_chunks(answers_frame(asked))))
    more = (
        "Under an option: the probability that the model gave it." if chances else "This model gives no probabilities."
    )
    return (
        '<details class="lk-ask-each"><summary>Each prompt and its raw answer '
        f"({len(asked.probes)})</summary>"
        '<div class="lk-scroll lk-tall" tabindex="0" role="region" aria-label="Prompts and answers">'
        f'<table class="lk-words"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="lk-reading">{more}</p></details><p class="lk-actions"><a class="lk-button" href="{escape(csv)}" '
        'download="likeness-ask.csv">Download the answers (CSV)</a></p>'
    )


def _row(number: int, probe: Probe, answer: Answer, names: tuple[str, ...]) -> str:
    held = dict(zip(probe.classes, answer.probabilities, strict=False))
    cells = "".join(f"<td>{percent(held[name]) if name in held else 'none'}</td>" for name in names)
    said = f"<q>{escape(answer.text)}</q>" if answer.text else escape(answer.reason)
    if len(answer.text) > SHORT:
        start = escape(answer.text[:SHORT])
        said = f"<details><summary>“{start}…”</summary>{escape(answer.text[SHORT:])}</details>"
    told = escape(probe.answered(answer.option)) if answer.outcome == ANSWERED else escape(OUTCOMES[answer.outcome])
    shown = f"<pre class='lk-ask-prompt'>{escape(probe.prompt.text)}</pre>"
    prompt = f"<details><summary aria-label='Prompt {number}'>Show</summary>{shown}</details>"
    same = answer.text == probe.answered(answer.option)
    first = escape(f"“{NEUTRAL}”" if probe.classes[0] == NEUTRAL else probe.classes[0])
    return (
        f"<tr><th scope=row>{probe.paraphrase + 1}</th><td>{first}</td><td>{told}{'' if same else f'<br>{said}'}</td>"
        f"{cells}<td>{prompt}</td></tr>"
    )
