"""The history of drift for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.drift import ANSWERS, LENGTH, LIKELIHOOD, UNKNOWN
from nbtext.report.tables import print_blank, print_lines, print_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.model.drift_history import Moved, Run

NAMES = {UNKNOWN: "unknown tokens", LIKELIHOOD: "log-likelihood per token", LENGTH: "log length", ANSWERS: "answers"}


def print_history(runs: Sequence[Run]) -> None:
    """Print the runs, oldest first, and what moved in the newest."""
    print_table(
        None,
        ("run", "documents", *NAMES.values()),
        ((run.time, f"{run.documents:,}", *(_distance(run.figures[name]) for name in NAMES)) for run in runs),
        numeric=range(1, 2 + len(NAMES)),
    )
    print_blank()
    newest = runs[-1]
    moved = [f"{title} ({_change(newest.figures[name])})" for name, title in NAMES.items() if newest.figures[name].beyond_chance]
    print_lines({
        "distance": "between the means, in standard deviations of training documents; of answers the share that differs; * more than chance",
        "newest": f"moved: {', '.join(moved)}" if moved else "nothing moved",
    })  # fmt: skip


def _distance(moved: Moved) -> str:
    return "-" if moved.distance is None else f"{moved.distance:.2f}{'*' if moved.beyond_chance else ' '}"


def _change(moved: Moved) -> str:
    if moved.run is None or moved.training is None:
        return f"distance {moved.distance:.2f}"
    return f"{moved.training:.4g} in training, now {moved.run:.4g}"
