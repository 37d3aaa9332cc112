"""`nbtext drift`: show how far new documents are from those of training."""

from __future__ import annotations

from nbtext.cli import declarations, shared_options
from nbtext.cli.gates import parse_distance_gate, report_gate_failures
from nbtext.cli.messages import MAX_LISTED, emit, emit_error
from nbtext.cli.parameters import INPUT_PATH
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DriftOptions:
    """The options of this command alone."""

    log: str = declarations.argument(metavar="FILE", type=INPUT_PATH)
    output: str = shared_options.output_field("table tsv csv jsonl")
    last: int | None = declarations.common_option(
        "--last",
        "documents",
        "Treat the last N runs as one. Runs of other model files than the newest are ignored.",
        type=shared_options.WholeNumber(1),
    )
    since: str | None = declarations.common_option(
        "--since",
        "documents",
        "Treat the runs since DATE as one, such as 2026-05-31. A time may follow; both are in UTC. "
        "With --last it is the last N of them.",
        metavar="DATE",
    )
    fail_over: tuple[str, ...] = declarations.common_option(
        "--fail-over",
        "answer",
        "Exit with status 6 if a distance is larger. NAME is unknown, log_likelihood, length, "
        "answers or any, of the newest run or of those taken together. "
        "The option can be given several times.",
        multiple=True,
        metavar="NAME=DISTANCE",
    )


@declarations.command("drift")
def command(options: DriftOptions) -> int:
    """Show how far the documents in a log of nbtext classify --drift are from those of training.

    The share of unknown tokens, the log-likelihood per token and the length of documents are compared with left-out training documents by their
    means, in standard deviations of training documents. For answers the distance is the share that differs. A distance does not grow with the
    number of documents. A star marks a distance beyond chance; with many documents a small one has it too. Gates compare distances.

    A run of a few documents may be far away by chance alone. --last N treats the last N runs as one, as if their documents had been classified
    together, and --since those since a date; jsonl is then one line. Only runs of the newest run's model file count then. Each run is
    compared with the training of the model that the file held at that time. Runs without documents are ignored. A line that cannot be
    read is reported and skipped, and the exit status is 1.

    \b
    Examples:
      nbtext drift drift.log
      nbtext drift drift.log --last 30
      nbtext drift drift.log --output jsonl
    """
    from datetime import datetime

    from nbtext.evaluation.drift_log import (
        pool_runs,
        read_history,
        take_newest_runs,
        take_runs_since,
    )
    from nbtext.report.comparisons import write_drift_history

    gates = [parse_distance_gate(text) for text in options.fail_over]
    try:
        begin = None if options.since is None else datetime.fromisoformat(options.since)
    except ValueError:
        raise UsageError(
            f"--since must be a date or a time, not {options.since!r}",
            hint="such as 2026-05-31 or 2026-05-31T18:00+02:00",
        ) from None
    runs, unreadable = read_history(options.log)
    for problem in unreadable[:MAX_LISTED]:
        emit_error(problem)
    if len(unreadable) > MAX_LISTED:
        emit(f"{len(unreadable) - MAX_LISTED:,} more lines could not be read", where=options.log)
    if begin is not None:
        runs = take_runs_since(runs, begin, options.log)
    others = 0
    together = None
    if options.last is not None or begin is not None:
        runs, others = take_newest_runs(runs, options.last or len(runs))
        together = pool_runs(runs)
    singly = [pool_runs([run]) for run in runs]
    write_drift_history(options.output, singly, together, others)
    failures = (
        f"the distance of {name} is {figure.distance:.6g}, over {value:g}"
        for wanted, value in gates
        for name, figure in (together or singly[-1]).figures.items()
        if wanted in (name, "any")
        and figure.distance is not None
        and figure.distance > value  # without one all gates are met
    )
    return report_gate_failures(failures) or int(bool(unreadable))
