"""The view of Benchmarks and its address: the task, whose answers, the attribute, a page of wrong ones. No Gradio."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from backend.store import Audit, BenchmarkTask
from explorers import _bench_published as published
from explorers._missed import missed_sentence, missed_words
from explorers._shared import Params, address, first

SLUG = "benchmarks"
CONDITIONS = {"image": "with image", "text": "text only", "random": "random, one draw"}
MOST_MODELS = 6
LONGEST = 300


@dataclass(frozen=True)
class BenchView:
    """Everything the tab shows, and all that its address holds.

    `task` names a task of the audit, or a published one that it has no answers to; `models` are those chosen, () for
    all, `by` the attribute whose groups are compared ("": the task has none). `wrong` is the model whose wrong answers
    are listed ("": the first of those shown), `condition` the run they come from, `page` the page of them, from 1.
    """

    audit: str
    task: str = ""
    models: tuple[str, ...] = ()
    by: str = ""
    published: bool = True
    wrong: str = ""
    condition: str = "image"
    page: int = 1


def tasks_of(audit: Audit) -> dict[str, BenchmarkTask]:
    """Every task that a model of the audit did, in the order of models."""
    found: dict[str, BenchmarkTask] = {}
    for source in audit.benchmarks.sources.values():
        for name, task in source.tasks.items():
            found.setdefault(name, task)
    return found


def models_of(audit: Audit, task: str) -> list[str]:
    """The models that did a task."""
    return [name for name, source in audit.benchmarks.sources.items() if task in source.tasks]


def shown_models(audit: Audit, view: BenchView) -> list[str]:
    """The models that a view shows, at most MOST_MODELS."""
    return [name for name in models_of(audit, view.task) if not view.models or name in view.models][:MOST_MODELS]


def attributes(task: BenchmarkTask) -> list[str]:
    """The attributes whose groups can be compared.

    The first of a pronoun task is the occupation, which has its own measure; categories of stereotypes are no groups
    of people (backend.metrics.benchmark_summary).
    """
    if "stereotype" in task.classes:
        return []
    return list(task.groups[1:] if task.family == "pronoun" else task.groups)


def titles(audit: Audit) -> dict[str, str]:
    """The title of every task that can be shown: the audit's own, then the published ones that it has no answers to."""
    own = {name: task.title or name for name, task in tasks_of(audit).items()}
    return own | {name: origin.title for name, origin in published.TASKS.items() if name not in own}


def published_only(audit: Audit, task: str) -> bool:
    """Whether the audit has no answers to a task of `titles`."""
    return task not in tasks_of(audit)


def attributes_of(audit: Audit, task: str) -> list[str]:
    """The attributes of a task of `titles`."""
    own = tasks_of(audit)
    return attributes(own[task]) if task in own else list(published.TASKS[task].groups)


def wrong_model(audit: Audit, view: BenchView) -> str:
    """The model whose wrong answers are listed; "" where none is shown."""
    shown = shown_models(audit, view)
    return view.wrong if view.wrong in shown else next(iter(shown), "")


def from_params(stores: Mapping[str, Audit], params: Params) -> BenchView:
    """The view that an address asks for. What it names and nothing has falls back to the default, without error."""
    with_answers = (audit for audit in stores.values() if audit.benchmarks.sources)
    audit = stores.get(first(params, "audit")) or next(with_answers, None) or next(iter(stores.values()))
    known = titles(audit)
    task = first(params, "task")[:LONGEST]
    task = task if task in known else next(iter(known))
    wanted, have = set(params.get("m", [])[:100]), models_of(audit, task)
    groups = attributes_of(audit, task)
    by, wrong, condition = (first(params, name)[:LONGEST] for name in ("by", "wrong", "condition"))
    page = first(params, "p", "1")
    view = BenchView(
        audit.name,
        task,
        tuple(name for name in have if name in wanted),
        by if by in groups else next(iter(groups), ""),
        first(params, "published", "1") != "0" or published_only(audit, task),
        condition=condition if condition in ("image", "text") else "image",
        page=int(page) if page.isascii() and page.isdigit() and 0 < len(page) < 7 and int(page) else 1,
    )
    return replace(view, wrong=wrong) if wrong in shown_models(audit, view)[1:] else view


def file_name(text: str) -> str:
    """A name from outside as part of a file's name.

    >>> file_name('a "b"/c')
    'a-b-c'
    """
    return re.sub("[^A-Za-z0-9]+", "-", text)[:60].strip("-")


def missed(stores: Mapping[str, Audit], params: Params) -> str:
    """What an address names that there is not, and what is shown for it, in plain text; "" where there is all."""
    view = from_params(stores, params)
    audit = stores[view.audit]
    there = {
        "audit": ("audit", stores),
        "task": ("task", titles(audit)),
        "m": ("model", models_of(audit, view.task)),
        "by": ("group", attributes_of(audit, view.task)),
        "wrong": ("model with wrong answers", shown_models(audit, view)),
        "condition": ("condition", ("image", "text")),
    }
    by = f", groups of {view.by}" if view.by else ""
    shown = f"“{titles(audit)[view.task]}”{by}, of the audit {view.audit}" if view.task else f"the audit {view.audit}"
    return missed_sentence(missed_words(params, there, ("m",)), shown)


def to_address(view: BenchView) -> str:
    """The query string that restores a view."""
    return address(
        SLUG,
        audit=view.audit,
        task=view.task,
        m=list(view.models),
        by=view.by,
        published="" if view.published else "0",
        wrong=view.wrong,
        condition=view.condition if view.condition != "image" else "",
        p=view.page if view.page > 1 else "",
    )
