"""The history of drift for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.report.forms import print_blank, print_lines, print_table
from nbtext.typicality import ANSWERS, LENGTH, LIKELIHOOD, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.drift_log import Moved, Run


NAMES = {UNKNOWN: "unknown tokens", LIKELIHOOD: "log-likelihood per token", LENGTH: "log length", ANSWERS: "answers"}


def print_history(runs: Sequence[Run], together: Run | None = None, others: int = 0) -> None:
    """Print runs, oldest first, and what moved in the newest; or in all of them ``together``, leaving out so many of other models."""
    print_table(
        None,
        ("run", "documents", *NAMES.values()),
        [_row(run.time, run) for run in runs] + ([] if together is None else [_row("together", together)]),
        numeric=range(1, 2 + len(NAMES)),
    )
    print_blank()
    judged = runs[-1] if together is None else together
    moved = [f"{title} ({_change(judged.figures[name])})" for name, title in NAMES.items() if judged.figures[name].beyond_chance]
    lines = {
        "distance": "between the means, in standard deviations of training documents; of answers the share that differs; * more than chance",
        "newest" if together is None else "together": f"moved: {', '.join(moved)}" if moved else "nothing moved",
    }
    if others:
        lines["left out"] = f"{quantity(others, 'run')} of another model, or noted by an older nbtext"
    print_lines(lines)


def _row(name: str, run: Run) -> tuple[str, ...]:
    return name, f"{run.documents:,}", *(_distance(run.figures[figure]) for figure in NAMES)


def _distance(moved: Moved) -> str:
    return "-" if moved.distance is None else f"{moved.distance:.2f}{'*' if moved.beyond_chance else ' '}"


def _change(moved: Moved) -> str:
    if moved.run is None or moved.training is None:
        return f"distance {moved.distance:.2f}"
    return f"{moved.training:.4g} in training, now {moved.run:.4g}"
