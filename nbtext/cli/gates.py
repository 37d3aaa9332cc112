"""Gates: figures of an evaluation, or distances of a drift log, that must reach a value, or the exit status is 6."""

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
"""Exit status if a gate was not met."""


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Figures that an evaluation must reach, for `gates`."""

    fail_under: tuple[str, ...] = declarations.common_option(
        "--fail-under",
        "answer",
        "Exit with status 6 if a figure is smaller, such as macro_f1=0.85. Names are those of the "
        "JSON output. The option can be given several times.",
        multiple=True,
        metavar="NAME=VALUE",
    )
    fail_over: tuple[str, ...] = declarations.option(
        "--fail-over",
        "answer",
        "Exit with status 6 if a figure is larger, such as log_loss=0.6. The option can be given "
        "several times.",
        multiple=True,
        metavar="NAME=VALUE",
    )
    fail_under_interval: bool = declarations.option(
        "--fail-under-interval",
        "answer",
        "Compare the end of the 95 % interval with the VALUE. It is the lower end, for --fail-over "
        "the upper.",
    )


class _Gate(NamedTuple):
    """A figure, or the end of its interval nearer to the value, that must not be under the value, or not over it."""

    name: str
    value: float
    over: bool
    by_interval: bool

    def failure(self, result: EvaluationResult) -> str | None:
        """Return what is wrong, or None. A figure that is infinite or undefined never passes."""
        figure = result.get_metric(self.name)
        subject = self.name
        bound = f"{'at most' if self.over else 'at least'} {self.value:g}"
        if figure is None:
            return (
                f"{subject} is {'infinite' if self.name == 'log_loss' else 'not known'}, so it "
                f"is not {bound}"
            )
        if self.by_interval:
            interval = result.intervals.get(self.name)
            if interval is None:
                return f"the interval of {subject} is not known, so it is not {bound}"
            figure = interval[1 if self.over else 0]
            subject = f"the {'upper' if self.over else 'lower'} end of the interval of {self.name}"
        if figure > self.value if self.over else figure < self.value:
            return f"{subject} is {figure:.6g}, {'over' if self.over else 'under'} {self.value:g}"
        return None


def parse_gates(options: GateOptions, n_classes: float = inf, *, has_costs: bool) -> list[_Gate]:
    """Return the gates asked for, also while the number of classes is not known.

    Raises `UsageError` for an unknown figure, one that is better the other way, or a value out of its range.
    """
    by_interval = options.fail_under_interval
    found = [_gate(text, over=False, by_interval=by_interval) for text in options.fail_under]
    found += [_gate(text, over=True, by_interval=by_interval) for text in options.fail_over]
    for gate in found:
        if gate.name == "mean_cost" and not has_costs:
            raise UsageError("there is no mean_cost without costs", hint="give --costs FILE")
        if gate.name.startswith("top_") and int(gate.name.split("_")[1]) >= n_classes:
            raise UsageError(f"there is no {gate.name} with {format_quantity(n_classes, 'class')}")
    return found


def _gate(text: str, *, over: bool, by_interval: bool) -> _Gate:
    from nbtext.metrics.outcomes import METRICS  # needs numpy, which --help does without

    option, other = ("--fail-over", "--fail-under") if over else ("--fail-under", "--fail-over")
    right = [name for name, metric in METRICS.items() if metric.higher_is_better != over]
    name, equals, number = text.partition("=")
    if not equals:
        raise UsageError(
            f"{option} must be NAME=VALUE, not {text!r}", hint=f"such as {right[0]}=0.5"
        )
    if name not in METRICS:
        raise UsageError(
            f"{option} does not know the figure {name!r}{did_you_mean(name, right)}",
            hint=f"known are {', '.join(right)}",
        )
    if name not in right:
        raise UsageError(
            f"{option} is not for {name}, of which {'more' if over else 'less'} is better",
            hint=f"use {other} {text}",
        )
    value = _value(number)
    least = METRICS[name].minimum
    most = METRICS[name].maximum
    if not least <= value <= most or isinf(value):
        within = ""
        if max(abs(least), abs(most)) < inf:
            within = f" from {least:g} to {most:g}"
        elif least == 0:
            within = " from 0"
        raise UsageError(f"{option} {name} must be a number{within}, not {number!r}")
    if by_interval and not METRICS[name].has_interval:
        raise UsageError(f"there is no interval for {name}", hint="leave out --fail-under-interval")
    return _Gate(name, value, over, by_interval)


def parse_distance_gate(text: str) -> tuple[str, float]:
    """Return the figure, or ``any``, and the largest distance that a gate of ``nbtext drift --fail-over`` lets pass; raise `UsageError`."""
    from nbtext.prediction.typicality import DRIFT_METRICS, PREDICTIONS

    name, _, number = text.partition("=")
    known = (*DRIFT_METRICS, PREDICTIONS, "any")
    if name not in known:
        raise UsageError(
            f"--fail-over does not know the figure {name!r}{did_you_mean(name, known)}",
            hint=f"known are {', '.join(known)}",
        )
    if not 0 <= _value(number) < inf:
        raise UsageError(
            f"--fail-over {name} must be a number from 0, not {number!r}", hint=f"such as {name}=1"
        )
    return name, _value(number)


def _value(number: str) -> float:
    try:
        return float(number)
    except ValueError:
        return nan


def report_gate_failures(failures: Iterable[str | None]) -> int | None:
    """Report what is wrong with gates, None for one that is met; return the exit status `GATE_NOT_MET_STATUS`, or None if all are met."""
    failed = list(filter(None, failures))
    for failure in failed:
        emit(f"gate not met: {failure}")
    return GATE_NOT_MET_STATUS if failed else None
