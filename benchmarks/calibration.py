"""`python -m benchmarks.calibration`: planted against recovered shares of the starter audit, the table in README.md.

No time is measured: the figures are those of the tab Representation, for every number of regions and both rules.
"""

from __future__ import annotations

from backend.metrics.intervals import wilson
from backend.spec import ROOT
from backend.store import Audit
from explorers._representation_calibration import RULES, calibrated, recovered

PHRASE = ("gender", "woman")


def lines(audit: Audit) -> list[str]:
    """The table, for all systems together."""
    heads = ("regions", "woman counts when it is", "mean error", "mean deviation", "Pearson", "Spearman")
    made = [f"| {' | '.join((*heads, 'intervals that hold the plan'))} |", "|---" * 7 + "|"]
    for name, k in audit.vectors.choices():
        for rule, (_, words) in RULES.items():
            found = calibrated(recovered(audit, audit.vectors.regions(name, k), *PHRASE, rule))[-1][2]
            low, high = wilson(found.covered, found.pairs)
            covered = f"{100 * found.coverage:.0f} % ({100 * low:.0f} to {100 * high:.0f}, n = {found.pairs})"
            error = f"{100 * found.error:.1f} points | {100 * found.bias:+.1f} points"
            made.append(f"| {k} | {words} | {error} | {found.pearson:.2f} | {found.spearman:.2f} | {covered} |")
    return made


if __name__ == "__main__":
    print("\n".join(lines(Audit.open(ROOT / "cache", "starter"))))
