"""Show the drift of runs from training: as a history for people, and as a record of a run for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.errors import counted
from nbtext.report.forms import print_blank, print_lines, print_table
from nbtext.typicality import ANSWERS, LENGTH, LIKELIHOOD, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.drift_log import DriftRun, FigureDrift


NAMES = {UNKNOWN: "unknown tokens", LIKELIHOOD: "log-likelihood per token", LENGTH: "log length", ANSWERS: "answers"}


def run_record(run: DriftRun) -> dict[str, Any]:
    """Return a run, or several together, as a record for JSON, with each figure under its name."""
    record = run._asdict()
    del record["figures"]
    return record | {name: {**drift._asdict(), "beyond_chance": drift.beyond_chance} for name, drift in run.figures.items()}


def print_history(runs: Sequence[DriftRun], together: DriftRun | None = None, others: int = 0) -> None:
    """Print runs, oldest first, and what changed in the newest, or in all of them ``together``; ``others`` are runs left out."""
    print_table(
        None,
        ("run", "documents", *NAMES.values()),
        [_row(run.time, run) for run in runs] + ([] if together is None else [_row("together", together)]),
        numeric=range(1, 2 + len(NAMES)),
    )
    print_blank()
    figures = (runs[-1] if together is None else together).figures
    changed = [f"{title} ({_change(figures[name])})" for name, title in NAMES.items() if figures[name].beyond_chance]
    lines = {
        "distance": "between the means, in standard deviations of training documents; of answers the share that differs; * more than chance",
        "newest" if together is None else "together": f"moved: {', '.join(changed)}" if changed else "nothing moved",
    }
    if others:
        lines["left out"] = f"{counted(others, 'run')} of another model, or noted by an older nbtext"
    print_lines(lines)


def _row(name: str, run: DriftRun) -> tuple[str, ...]:
    return name, f"{run.documents:,}", *(_distance(run.figures[figure]) for figure in NAMES)


def _distance(drift: FigureDrift) -> str:
    return "-" if drift.distance is None else f"{drift.distance:.2f}{'*' if drift.beyond_chance else ' '}"


def _change(drift: FigureDrift) -> str:
    if drift.run is None or drift.training is None:
        return f"distance {drift.distance:.2f}"
    return f"{drift.training:.4g} in training, now {drift.run:.4g}"
