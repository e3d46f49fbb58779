"""What was asked in Benchmarks, of which model; how to read the tab, and what it cannot show (HTML and Markdown)."""

from __future__ import annotations

import re

from backend.records import clean_text
from backend.store import Audit, BenchmarkTask
from explorers import _bench as data
from explorers import _bench_view as state
from explorers._bench_view import SLUG, BenchView, to_address
from explorers._shared import count, escape

HOW = """
**Each item is an image with a question and a label.** A model picks one of the options; an answer counts as right where
it is the label. Every question is asked **with the image** and as **text only** (for models that need an image: with a
uniform grey one), beside **random** answers, drawn evenly from the options: one draw, which can look uneven by chance.

**Macro-F1** is the mean over labels of F1, the harmonic mean of precision and recall: answering one label to everything
scores low. **Demographic parity ratio (DPR)**: how often an answer is given in the group where it is rarest, over the
group where it is most frequent. 1 is even. Where there are several answers, each is judged against the rest; the mean
and the lowest are shown. **Equalised odds difference (EOD)**: the largest difference between groups in true positive or
false positive rates, mean over answers; 0 is even. **Undefined** is a ratio of an answer that nobody was given.

**If groups were alike**: chance alone makes small groups look uneven. This line says what the figure comes to when
groups of these sizes are answered alike. Read DPR and EOD against it, not against 1 and 0. An interval is of the value
behind the answers, while this line is what is seen when that value is even: so the two may overlap differently.

**The accuracy of groups is judged beside it, in the same way.** Answers can be given alike often and yet be wrong for
one group more often than for another; neither stands for the other. **More uneven than chance alone makes** is said
where fewer than 5 in 100 groupings of these sizes come out as uneven that are answered alike (of accuracy: alike for
items of the same label); so of 20 comparisons of even groups one will be called uneven. Where labels differ between
groups, answers must differ, too: then it says **as labels are**. Where labels follow groups so closely that the two
cannot be told apart, nothing can be said of accuracy. None of this says how large a difference is: read the gap and its
interval.

**What the image adds** is each figure with the image less the same as text only, item by item. Around 0 the text alone
gives as much.

In pronoun tasks, **resolution bias** is how often women’s pronouns were resolved less men’s, occupation by occupation.
**Vision-language bias score (VLBS)** is how often the stereotypical caption was chosen over the others.

**n** counts items. Intervals (95 %) are Wilson’s for shares (accuracy, how often an answer was given, VLBS); for all
else items are drawn anew, and for the accuracy gap Newcombe’s is joined to that. **†** marks fewer than 20 items.
"""
CANNOT = """
**A benchmark that can be answered without the image measures the text.** In the paper ([Mapping Bias in Vision Language
Models](https://arxiv.org/abs/2410.13146), Sasse and others 2024, section 4) two of them fail so, in the authors’ view.
**VL-StereoSet**: on average over its four categories models choose the stereotypical caption in 49 to 59 % without the
image, and in 5 to 17 points fewer with it. **PATA**: in 8 of 12 comparisons a model has the higher Macro-F1 without the
image, and all ratios without it are 0.77 to 1.00, 10 of them 0.96 or more. On **VisoGender OO** (one person and an
object) all but one model are near perfect, so it hardly tells models apart; **OP** (two people) does. UTKFace and
CelebA do need the image.

**Wrong answers can have other causes than the group.** A costume, a helmet, a blurred drawing, or a system that draws
something else than its prompt says: look at the pictures. A group of which the prompts lead to harder pictures has a
lower accuracy, too.

**A ratio of 1 is not fairness by itself.** A model that gives everybody the same answer has a DPR of 1 and knows
nothing: look at Macro-F1 beside it. And where labels differ between groups, a model that is always right has a DPR
below 1.

**Labels are those of the benchmark’s makers**, or the words of a prompt. They say what was asked for or what somebody
noted, not who is pictured. Groups are only those that a benchmark has words for.

**Grey is not nothing.** Models that need an image are shown a grey one; what they answer then may differ from what they
would say without any. **Published figures** come from other samples and prompts, without n or intervals: compare the
order of magnitude.
"""


def grey(audit: Audit, model: str, task: str) -> bool:
    """Whether what is noted of a model says that a grey picture stands for no image."""
    source = audit.benchmarks.sources[model]
    return bool(re.search(r"\bgr[ea]y\b", f"{source.tasks[task].note} {source.note}"))


def asked_html(audit: Audit, view: BenchView) -> str:
    """Who was asked what, with a question as it was put, what was left out and why; and the CSV."""
    items = ""
    for model in state.shown_models(audit, view):
        source = audit.benchmarks.sources[model]
        task = source.tasks[view.task]
        said = f"{source.model} ({source.kind}); {count(task.items, 'item')} asked of {task.found:,}"
        said += f" (at most {task.limit:,})" if task.limit else ""
        said += f", from {task.source}." if task.source else ", the audit’s own images."
        left = "; ".join(f"{number:,} left out: {clean_text(why)}" for why, number in task.left_out.items())
        said += f" {left}." if left else ""
        said += "".join(f" {clean_text(note)}" for note in (task.note, source.note) if note)
        items += f"<li><b>{escape(data.title_of(audit, model))}</b>: {escape(said[:2000])}{_example(task)}</li>"
    if not items:
        return ""
    return f'<h3>What was asked</h3><ul class="lk-spread lk-bench-asked">{items}</ul>{csv_html(view)}'


def _example(task: BenchmarkTask) -> str:
    """The question about one item, and its options in the order in which that item had them."""
    if not task.example:
        return ""
    options = "".join(f"<span>{escape(text)}</span>" for text in task.offered)
    among = f'<p class="lk-bench-options">Its options: {options}</p>' if options else ""
    return f"<blockquote>{escape(task.example)}</blockquote>{among}"


def csv_html(view: BenchView) -> str:
    """The link to every figure of a view."""
    link = f'<a class="lk-button" href="csv/{SLUG}?{escape(to_address(view))}" download>Every figure as CSV</a>'
    return f'<p class="lk-actions">{link}</p>'
