"""`nbtext drift`: show how far new documents differ from the training documents."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from nbtext.cli import declarations, shared_options
from nbtext.cli.gates import TOO_FEW_RUNS_STATUS, parse_distance_gate, report_gate_failures
from nbtext.cli.messages import MAX_LISTED, emit, emit_error
from nbtext.cli.parameters import INPUT_PATH
from nbtext.errors import UsageError, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from nbtext.evaluation.drift_log import DriftRun, MetricDrift


@declarations.option_record
class DriftOptions:
    """Options that only this command has."""

    log: str = declarations.argument(metavar="FILE", type=INPUT_PATH)
    output: str = shared_options.output_field("table tsv csv jsonl", "Each row is a run.")
    to: str | None = shared_options.page_field()
    last: int | None = declarations.common_option(
        "--last",
        "Combine the last N runs.",
        group="documents",
        type=shared_options.WholeNumber(1),
    )
    since: str | None = declarations.common_option(
        "--since",
        "Combine the runs since DATE, such as 2026-05-31. A time may follow the date; a time "
        "without an offset is in UTC. With --last, only the last N of these runs are combined.",
        group="documents",
        metavar="DATE",
    )
    fail_over: tuple[str, ...] = declarations.common_option(
        "--fail-over",
        "Exit with status 6 if the distance NAME is larger than DISTANCE. NAME is unknown, "
        "log_likelihood, length, answers (the predictions) or any. The distances of the newest run "
        "are checked. With --last or --since, the distances of the combined runs are checked, and "
        "the significant distances of the newest run if it has 30 documents or more. The option "
        "can be repeated.",
        group="evaluation",
        multiple=True,
        metavar="NAME=DISTANCE",
    )
    min_runs: int = declarations.common_option(
        "--min-runs",
        "Exit with status 7, instead of a check of --fail-over, if --last or --since combine fewer "
        "than N runs.",
        group="evaluation",
        type=shared_options.WholeNumber(1),
        default=2,
    )

    @property
    def n_required_runs(self) -> int:
        """Number of combined runs that --fail-over needs: at most the number of --last."""
        return self.min_runs if self.last is None else min(self.min_runs, self.last)


@declarations.command("drift")
def command(options: DriftOptions) -> int:
    """Show how far the documents in a log of nbtext classify --drift differ from the training documents.

    Each run of classify has four distances. For unknown tokens, the log-likelihood per token, and
    the length of documents, the distance is the difference between the means of new documents and
    of training documents that were held out, in standard deviations of training documents. The
    distance of predictions is the total variation distance between class proportions. Distances do
    not grow with the number of documents. A star marks a significant distance; with many documents,
    a small distance is significant too.

    A run of few documents may be far away by chance. --last N combines the last N runs, as if their
    documents had been classified together; --since combines the runs since a date. tsv, csv and
    jsonl then have one row, and runs with another model file than the newest run are ignored. Each
    run is compared with the training of its own model. Runs without documents are ignored. An
    invalid line is reported and skipped, and the exit status is 1.

    \b
    Examples:
      nbtext drift drift.log
      nbtext drift drift.log --last 30
      nbtext drift drift.log --output jsonl
      nbtext drift drift.log --to drift.html
    """
    from nbtext.cli.corpus import check_output_file
    from nbtext.evaluation.drift_log import (
        pool_runs,
        read_history,
        take_newest_runs,
        take_runs_since,
    )

    check_output_file(options.to, "--to", [options.log])
    gates = [parse_distance_gate(text) for text in options.fail_over]
    start = None if options.since is None else _parse_time(options.since)
    runs, problems = read_history(options.log)
    for problem in problems[:MAX_LISTED]:
        emit_error(problem)
    if len(problems) > MAX_LISTED:
        emit(f"{len(problems) - MAX_LISTED:,} more invalid lines", where=options.log)
    if start is not None:
        runs = take_runs_since(runs, start, options.log)
    n_skipped_runs = 0  # runs of other model files than the newest run
    pooled_drift = None
    if options.last is not None or start is not None:
        runs, n_skipped_runs = take_newest_runs(runs, options.last or len(runs))
        pooled_drift = pool_runs(runs)
    run_drifts = [pool_runs([run]) for run in runs]  # a pool of one run is its drift
    _write_history(options, run_drifts, pooled_drift, n_skipped_runs, gates)

    newest_drift = run_drifts[-1]  # there is one: a log without runs is an error
    if pooled_drift is None:
        failures = _find_gate_failures(newest_drift.metrics, gates)
        gate_status = report_gate_failures(failures)
    else:
        gate_status = _check_pooled_runs(pooled_drift, newest_drift, gates, options)
    if gate_status is not None:
        return gate_status
    return 1 if problems else 0


def _write_history(
    options: DriftOptions,
    runs: Sequence[DriftRun],
    pooled_run: DriftRun | None,
    n_skipped: int,
    gates: Sequence[tuple[str, float]],
) -> None:
    """Print the runs, or write the page of ``--to``."""
    if options.to is None:
        from nbtext.report.comparisons import write_drift_history

        write_drift_history(options.output, runs, pooled_run, n_skipped)
        return
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.result_pages import build_drift_page

    command_line = shared_options.format_command_line()
    write_html(options.to, build_drift_page(runs, pooled_run, n_skipped, gates, command_line))


def _check_pooled_runs(
    pooled_drift: DriftRun,
    newest_drift: DriftRun,
    gates: Sequence[tuple[str, float]],
    options: DriftOptions,
) -> int | None:
    """Report the gates that combined runs, or a sudden change of the newest run, do not meet.

    Return the exit status, or None if the gates are met.
    """
    from nbtext.evaluation.drift_log import find_sudden_changes

    if gates and pooled_drift.runs < options.n_required_runs:
        required = format_quantity(options.n_required_runs, "run")
        emit(
            f"too few runs for --fail-over: {pooled_drift.runs}; it needs {required}",
            where=options.log,
            hint="see --min-runs",
        )
        return TOO_FEW_RUNS_STATUS
    # The earlier runs would hide a sudden change.
    sudden_changes = find_sudden_changes(newest_drift)
    failures = chain(
        _find_gate_failures(pooled_drift.metrics, gates),
        _find_gate_failures(sudden_changes, gates, suffix=" in the newest run"),
    )
    return report_gate_failures(failures)


def _parse_time(text: str) -> datetime:
    """Parse the date or time of ``--since``."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--since must be a date or a time, not {text!r}",
            hint="such as 2026-05-31 or 2026-05-31T18:00+02:00",
        ) from None


def _find_gate_failures(
    metrics: Mapping[str, MetricDrift], gates: Sequence[tuple[str, float]], suffix: str = ""
) -> Iterator[str]:
    """Yield why gates are not met.

    A gate is the name of a metric, or ``any`` for all metrics, and the largest distance that meets
    it. A metric without a distance meets all gates. ``suffix`` ends the name of a metric.
    """
    for gate_name, max_distance in gates:
        for name, metric in metrics.items():
            if gate_name not in (name, "any") or metric.distance is None:
                continue
            if metric.distance > max_distance:
                distance = f"{metric.distance:.6g}"
                yield f"the distance of {name}{suffix} is {distance}, over {max_distance:g}"
