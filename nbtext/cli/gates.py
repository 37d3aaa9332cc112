"""Gates: limits for metrics of an evaluation, or for distances of a drift log.

If a gate is not met, the command ends with exit status 6.
"""

from __future__ import annotations

from math import inf, isinf, nan
from typing import TYPE_CHECKING, NamedTuple

from nbtext.cli import declarations
from nbtext.cli.messages import emit
from nbtext.errors import UsageError, did_you_mean, format_quantity
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.metrics.results import EvaluationResult

GATE_NOT_MET_STATUS = 6
"""Exit status if a gate is not met."""


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Limits for the metrics of an evaluation, for `parse_gates`."""

    fail_under: tuple[str, ...] = declarations.common_option(
        "--fail-under",
        "Exit with status 6 if a figure is smaller, such as macro_f1=0.85. Names are those of the "
        "JSON output. The option can be given several times.",
        group="answer",
        multiple=True,
        metavar="NAME=VALUE",
    )
    fail_over: tuple[str, ...] = declarations.option(
        "--fail-over",
        "Exit with status 6 if a figure is larger, such as log_loss=0.6. The option can be given "
        "several times.",
        group="answer",
        multiple=True,
        metavar="NAME=VALUE",
    )
    fail_under_interval: bool = declarations.option(
        "--fail-under-interval",
        "Compare the end of the 95 % interval with the VALUE. It is the lower end, for --fail-over "
        "the upper.",
        group="answer",
    )


class _Gate(NamedTuple):
    """A limit for a metric, or for the end of its 95 % interval that is nearer to the limit."""

    name: str
    limit: float
    is_maximum: bool
    """True if the metric must not be over the limit, False if it must not be under it."""
    uses_interval: bool

    def find_failure(self, result: EvaluationResult) -> str | None:
        """Return why the gate is not met, or None if it is met.

        A metric that is infinite or undefined never meets a gate.
        """
        direction = "at most" if self.is_maximum else "at least"
        requirement = f"{direction} {self.limit:g}"
        subject = self.name
        value = result.get_metric(self.name)
        if value is None:
            state = "infinite" if self.name == "log_loss" else "not known"
            return f"{subject} is {state}, so it is not {requirement}"
        if self.uses_interval:
            interval = result.intervals.get(self.name)
            if interval is None:
                return f"the interval of {subject} is not known, so it is not {requirement}"
            low, high = interval
            if self.is_maximum:
                value = high
                subject = f"the upper end of the interval of {self.name}"
            else:
                value = low
                subject = f"the lower end of the interval of {self.name}"
        if self.is_maximum and value > self.limit:
            return f"{subject} is {value:.6g}, over {self.limit:g}"
        if not self.is_maximum and value < self.limit:
            return f"{subject} is {value:.6g}, under {self.limit:g}"
        return None


def parse_gates(options: GateOptions, n_classes: float = inf, *, has_costs: bool) -> list[_Gate]:
    """Return the gates of the options. ``n_classes`` is inf while it is not known.

    Raise `UsageError` for an unknown metric, for a metric that is better in the other direction, or
    for a value out of range.
    """
    uses_interval = options.fail_under_interval
    minimums = [
        _parse_gate(text, is_maximum=False, uses_interval=uses_interval)
        for text in options.fail_under
    ]
    maximums = [
        _parse_gate(text, is_maximum=True, uses_interval=uses_interval)
        for text in options.fail_over
    ]
    gates = minimums + maximums
    for gate in gates:
        if gate.name == "mean_cost" and not has_costs:
            raise UsageError("there is no mean_cost without costs", hint="give --costs FILE")
        if gate.name.startswith("top_") and int(gate.name.split("_")[1]) >= n_classes:
            raise UsageError(f"there is no {gate.name} with {format_quantity(n_classes, 'class')}")
    return gates


def _parse_gate(text: str, *, is_maximum: bool, uses_interval: bool) -> _Gate:
    """Parse NAME=VALUE of ``--fail-over`` (if ``is_maximum``) or of ``--fail-under``."""
    from nbtext.metrics.outcomes import METRICS  # needs numpy, which --help does without

    option, opposite = "--fail-under", "--fail-over"
    if is_maximum:
        option, opposite = opposite, option
    valid_names = [
        name for name, metric in METRICS.items() if metric.higher_is_better != is_maximum
    ]
    name, equals, number = text.partition("=")
    if not equals:
        raise UsageError(
            f"{option} must be NAME=VALUE, not {text!r}", hint=f"such as {valid_names[0]}=0.5"
        )
    if name not in METRICS:
        raise UsageError(
            f"{option} does not know the figure {name!r}{did_you_mean(name, valid_names)}",
            hint=f"known are {', '.join(valid_names)}",
        )
    if name not in valid_names:
        better = "more" if is_maximum else "less"
        raise UsageError(
            f"{option} is not for {name}, of which {better} is better",
            hint=f"use {opposite} {text}",
        )
    limit = _parse_number(number)
    minimum = METRICS[name].minimum
    maximum = METRICS[name].maximum
    if not minimum <= limit <= maximum or isinf(limit):
        number_range = _describe_range(minimum, maximum)
        raise UsageError(f"{option} {name} must be a number{number_range}, not {number!r}")
    if uses_interval and not METRICS[name].has_interval:
        raise UsageError(f"there is no interval for {name}", hint="leave out --fail-under-interval")
    return _Gate(name, limit, is_maximum, uses_interval)


def _describe_range(minimum: float, maximum: float) -> str:
    if max(abs(minimum), abs(maximum)) < inf:
        return f" from {minimum:g} to {maximum:g}"
    if minimum == 0:
        return " from 0"
    return ""


def parse_distance_gate(text: str) -> tuple[str, float]:
    """Parse NAME=DISTANCE of ``nbtext drift --fail-over``. NAME is a drift metric or ``any``.

    Return the name and the largest distance that meets the gate. Raise `UsageError` for an unknown
    name or an invalid number.
    """
    from nbtext.prediction.typicality import DRIFT_METRICS, PREDICTIONS

    name, _, number = text.partition("=")
    valid_names = (*DRIFT_METRICS, PREDICTIONS, "any")
    if name not in valid_names:
        raise UsageError(
            f"--fail-over does not know the figure {name!r}{did_you_mean(name, valid_names)}",
            hint=f"known are {', '.join(valid_names)}",
        )
    distance = _parse_number(number)
    if not 0 <= distance < inf:
        raise UsageError(
            f"--fail-over {name} must be a number from 0, not {number!r}", hint=f"such as {name}=1"
        )
    return name, distance


def _parse_number(text: str) -> float:
    """Return the number, or nan if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return nan


def report_gate_failures(failures: Iterable[str | None]) -> int | None:
    """Report the failures of gates. None is a gate that is met.

    Return the exit status `GATE_NOT_MET_STATUS`, or None if all gates are met.
    """
    messages = [failure for failure in failures if failure]
    for message in messages:
        emit(f"gate not met: {message}")
    return GATE_NOT_MET_STATUS if messages else None
