"""Numbers as the values of options, refused in the words of the parameter tables: what the option must be, and what it is not."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from typing import NoReturn


class WholeNumber(click.IntRange):
    """A whole number in a range, ends included."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; raises click's error for wrong usage."""
        try:
            return int(super().convert(value, param, ctx))
        except click.BadParameter:
            _refuse("a whole number", self, value, param, ctx)


class Number(click.FloatRange):
    """A number in a range, ends included."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; raises click's error for wrong usage."""
        try:
            found = float(super().convert(value, param, ctx))
        except click.BadParameter:
            found = float("nan")
        if isnan(found):  # which is in no range
            _refuse("a number", self, value, param, ctx)
        return found


def _refuse(
    kind: str, within: click.IntRange | click.FloatRange, value: object, param: click.Parameter | None, ctx: click.Context | None
) -> NoReturn:
    most = "" if within.max is None else f" to {within.max:,}"
    option = max(param.opts, key=len) if param is not None else "it"
    raise click.UsageError(f"{option} must be {kind} from {within.min:,}{most}, not {str(value)!r}", ctx) from None
