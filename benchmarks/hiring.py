"""`python -m benchmarks.hiring`: what the starter's stored dialogues about applicants measure, the table in README.md.

No time is measured: a line for each model and kind of pairs, all occupations together.
"""

from __future__ import annotations

from backend.metrics.hiring import Estimate, dialogues, estimates
from backend.spec import ROOT
from backend.store import Audit

HEADS = ("asked", "pairs of", "pairs", "dialogues", "Confirmation", "Consistency", "bias difference", "order effect")
COLUMNS = ("confirmation", "consistency", "bias_difference", "order_effect")
KINDS = {"different": "a woman's and a man's name", "female": "two women's names", "male": "two men's names"}


def shown(found: Estimate) -> str:
    """A measure with its interval; "none" where it has no value.

    >>> shown(Estimate(0.5, 0.25, 0.75, 8, 16)), shown(Estimate(0.0, float("nan"), float("nan"), 8, 16, "alike"))
    ('0.500 (0.250 to 0.750)', '0.000 (all alike)')
    """
    if found.value != found.value:
        return "none"
    if found.why:
        return f"{found.value:.3f} ({'all alike' if found.why == 'alike' else 'too few pairs'})"
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def lines(audit: Audit) -> list[str]:
    """The table of all models that an audit holds dialogues of, in Markdown."""
    made = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    for name, source in sorted(audit.hiring.sources.items()):
        frame = dialogues(audit.hiring.table(name), source.genders)
        for kind, own in frame.groupby("kind", observed=True):
            found = estimates(own)
            n = f"{own['pair'].nunique():,} | {len(own):,}"
            cells = " | ".join(shown(found[column]) for column in COLUMNS)
            made.append(f"| {name} | {KINDS[str(kind)]} | {n} | {cells} |")
    return made


if __name__ == "__main__":
    print("\n".join(lines(Audit.open(ROOT / "cache", "starter"))))
