"""Gates: limits for metrics of an evaluation, or for distances of a drift log.

The options ``--fail-under`` and ``--fail-over`` of `nbtext evaluate`, `cross-validate` and `drift`
set gates. If a gate is not met, the command ends with exit status 6.
"""

from __future__ import annotations

from functools import partial
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from nbtext.cli import declarations
from nbtext.cli.messages import emit
from nbtext.errors import UsageError, did_you_mean, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtext.metrics.results import EvaluationResult

GATE_NOT_MET_STATUS = 6
"""Exit status if a gate is not met."""

RENAMED_METRICS = {"coverage": "answered"}
"""Today's names of metrics by their old names, which gates still accept."""

TOO_FEW_RUNS_STATUS = 7
"""Exit status if `nbtext drift` has too few runs to check a gate."""


@declarations.option_record
class GateOptions:
    """The options of gates for the metrics of an evaluation."""

    fail_under: tuple[str, ...] = declarations.common_option(
        "--fail-under",
        "Exit with status 6 if the metric NAME is smaller than VALUE (a gate), such as "
        "macro_f1=0.85. NAME is a key of the JSON output. The option can be repeated.",
        group="evaluation",
        multiple=True,
        metavar="NAME=VALUE",
    )
    fail_over: tuple[str, ...] = declarations.option(
        "--fail-over",
        "Exit with status 6 if the metric NAME is larger than VALUE, such as log_loss=0.6. The "
        "option can be repeated.",
        group="evaluation",
        multiple=True,
        metavar="NAME=VALUE",
    )
    fail_under_interval: bool = declarations.option(
        "--fail-under-interval",
        "Compare VALUE with the lower end of the metric's 95 % interval, for --fail-over with the "
        "upper end.",
        group="evaluation",
    )
    """Whether all gates use intervals, including the gates of ``--fail-over``."""


class _Gate(NamedTuple):
    """A limit for a metric, or for the less favourable end of its 95 % interval."""

    name: str
    limit: float
    is_maximum: bool
    """True if the metric must not be over the limit, False if it must not be under it."""
    uses_interval: bool

    def find_failure(self, result: EvaluationResult) -> str | None:
        """Return why the gate is not met, or None if it is met.

        A metric that is infinite or undefined, or that lacks its interval, never meets a gate.
        """
        bound = "at most" if self.is_maximum else "at least"
        requirement = f"it is not {bound} {self.limit:g}"
        subject = self.name
        value = result.get_metric(self.name)
        if value is None:  # for log loss: a true class had probability 0
            state = "infinite" if self.name == "log_loss" else "not known"
            return f"{subject} is {state}, so {requirement}"
        if self.uses_interval:
            interval = result.intervals.get(self.name)
            if interval is None:
                return f"the interval of {subject} is unknown, so {requirement}"
            lower_end, upper_end = interval
            if self.is_maximum:
                value = upper_end
                subject = f"the upper end of the interval of {self.name}"
            else:
                value = lower_end
                subject = f"the lower end of the interval of {self.name}"
        if self.is_maximum and value > self.limit:
            return f"{subject} is {value:.6g}, over {self.limit:g}"
        if not self.is_maximum and value < self.limit:
            return f"{subject} is {value:.6g}, under {self.limit:g}"
        return None


def parse_gates(
    options: GateOptions, n_classes: int | None = None, *, has_costs: bool
) -> list[_Gate]:
    """Return the gates of the options.

    Raise `UsageError` for an unknown metric, for a metric that is better in the other direction, or
    for a value out of range. With ``n_classes``, raise it also for top_k_accuracy if there are only
    k classes.
    """
    from nbtext.metrics.outcomes import TOP_K  # needs numpy, which --help does without

    parse = partial(_parse_gate, uses_interval=options.fail_under_interval)
    gates = [parse("--fail-under", text) for text in options.fail_under]
    gates += [parse("--fail-over", text) for text in options.fail_over]
    missing_metrics = set()
    if n_classes is not None:
        missing_metrics = {f"top_{k}_accuracy" for k in TOP_K if k >= n_classes}
    for gate in gates:
        if gate.name == "mean_cost" and not has_costs:
            raise UsageError("there is no mean_cost without costs", hint="add --costs FILE")
        if n_classes is not None and gate.name in missing_metrics:
            raise UsageError(f"there is no {gate.name} with {format_quantity(n_classes, 'class')}")
    return gates


def _parse_gate(option: str, text: str, *, uses_interval: bool) -> _Gate:
    """Parse NAME=VALUE of ``--fail-under``, or of ``--fail-over`` for metrics that are losses."""
    from nbtext.metrics.outcomes import METRICS

    is_maximum = option == "--fail-over"
    valid_names = [
        name for name, metric in METRICS.items() if metric.higher_is_better is not is_maximum
    ]
    name, equals, number = text.partition("=")
    name = RENAMED_METRICS.get(name, name)
    if not equals:
        example = "log_loss=0.6" if is_maximum else "macro_f1=0.85"
        raise UsageError(f"{option} must be NAME=VALUE, not {text!r}", hint=f"such as {example}")
    if name not in METRICS:
        if is_maximum:
            other_metrics = "--fail-under has accuracy and other metrics of which more is better"
        else:
            other_metrics = "--fail-over has log_loss and other metrics of which less is better"
        raise _make_unknown_metric_error(option, name, valid_names, f"; {other_metrics}")
    if name not in valid_names:
        better = "more" if is_maximum else "less"
        other_option = "--fail-under" if is_maximum else "--fail-over"
        raise UsageError(
            f"{option} does not apply to {name}, because {better} is better",
            hint=f"use {other_option} {text}",
        )
    metric = METRICS[name]
    limit = _parse_finite_number(number)
    if limit is None or not metric.minimum <= limit <= metric.maximum:
        number_range = _describe_range(metric.minimum, metric.maximum)
        raise UsageError(f"{option} {name} must be a number{number_range}, not {number!r}")
    if uses_interval and not metric.has_interval:
        raise UsageError(f"there is no interval for {name}", hint="remove --fail-under-interval")
    return _Gate(name, limit, is_maximum, uses_interval)


def _make_unknown_metric_error(
    option: str, name: str, valid_names: Sequence[str], hint_suffix: str = ""
) -> UsageError:
    """Return the error for an unknown metric. The suffix is added to the list of valid names."""
    return UsageError(
        f"{option}: unknown metric {name!r}{did_you_mean(name, valid_names)}",
        hint=f"choose from {', '.join(valid_names)}{hint_suffix}",
    )


def _describe_range(minimum: float, maximum: float) -> str:
    """Return the range of a metric in words, or an empty text if any number is possible."""
    if isfinite(minimum) and isfinite(maximum):
        return f" from {minimum:g} to {maximum:g}"
    if minimum == 0:
        return " from 0"
    return ""


def parse_distance_gate(text: str) -> tuple[str, float]:
    """Parse NAME=DISTANCE of ``nbtext drift --fail-over``. NAME is a drift metric or ``any``.

    Return the name, and the largest distance that meets the gate. Raise `UsageError` for an unknown
    name or an invalid number.
    """
    from nbtext.prediction.typicality import DRIFT_METRICS, PREDICTIONS

    name, _, number = text.partition("=")
    valid_names = (*DRIFT_METRICS, PREDICTIONS, "any")
    if name not in valid_names:
        raise _make_unknown_metric_error("--fail-over", name, valid_names)
    distance = _parse_finite_number(number)
    if distance is None or distance < 0:
        raise UsageError(
            f"--fail-over {name} must be a number from 0, not {number!r}", hint=f"such as {name}=1"
        )
    return name, distance


def _parse_finite_number(text: str) -> float | None:
    """Return the number, or None if the text is not a finite number."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def report_gate_failures(failures: Iterable[str | None]) -> int | None:
    """Print the failures of gates, which are None for gates that are met.

    Return the exit status `GATE_NOT_MET_STATUS`, or None if all gates are met.
    """
    status = None
    for failure in failures:
        if failure is not None:
            emit(f"gate not met: {failure}")
            status = GATE_NOT_MET_STATUS
    return status
