"""Numbers as people read them: shares as per cent, intervals, counts with their nouns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.evaluation.gathering import Figure


def percent(value: float | None, decimals: int = 1) -> str:
    r"""A share as per cent; the space before the sign does not break.

    >>> percent(0.8031)
    '80.3\xa0%'
    """
    return "not known" if value is None else f"{100 * value:.{decimals}f}\u00a0%"


def share(value: float | None) -> str:
    """A share as a decimal of three places, for columns; an en dash where it is not known.

    >>> share(0.8031)
    '0.803'
    """
    return "–" if value is None else f"{value:.3f}"


def interval(figure: Figure) -> str:
    """The bounds of a figure as decimals, or nothing if there are none."""
    return "" if figure.low is None or figure.high is None else f"{figure.low:.3f} to {figure.high:.3f}"


def percent_interval(figure: Figure) -> str:
    """The bounds of a share as per cent, or nothing if there are none."""
    return "" if figure.low is None or figure.high is None else f"{percent(figure.low)} to {percent(figure.high)}"


def nats(value: float) -> str:
    """A signed number of nats, with a minus sign and not a hyphen.

    >>> nats(-2.345)
    '−2.3'
    """
    return f"{value:+.1f}".replace("-", "−").replace("inf", "∞")
