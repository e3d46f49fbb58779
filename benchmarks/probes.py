"""`python -m benchmarks.probes`: what the starter's stored answers measure, the table in README.md.

No time is measured: a line for each model, direction, style and attribute, as the command `probe` prints them.
"""

from __future__ import annotations

from backend.commands_probe import shown, summary
from backend.spec import ROOT
from backend.store import Audit

HEADS = ("asked", "direction", "style", "attribute", "inputs", "answers", "AG", "ΔAG", "ΔN", "“no preference”")
COLUMNS = ("ag", "delta_ag", "delta_neutrality", "neutral_accuracy")


def lines(audit: Audit) -> list[str]:
    """The table of all answers of an audit, in Markdown."""
    made = [f"| {' | '.join(HEADS)} |", "|---" * len(HEADS) + "|"]
    for name, source in sorted(audit.probes.sources.items()):
        for line in summary(source, audit.probes.table(name)):
            asked = f"{line.attribute}, {line.culture}" if line.culture else line.attribute
            cells = [name, line.direction, line.style, asked, f"{line.inputs:,}", f"{line.answers:,}"]
            made.append(f"| {' | '.join([*cells, *(shown(line.found.get(column)) for column in COLUMNS)])} |")
    return made


if __name__ == "__main__":
    print("\n".join(lines(Audit.open(ROOT / "cache", "starter"))))
