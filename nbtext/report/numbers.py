"""Number formats: shares, figures, intervals, signed numbers, bars. An en dash or a word stands for a number that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = ".:-=+*#@"
"""For terminals without these characters."""

FIGURES = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "log_loss": "log loss (nats)",
    "brier": "Brier score",
    "ece": "calibration error",
}
"""Titles of the main figures."""

PROBABILITY_FIGURES = ("log_loss", "brier", "ece")
"""Those of probabilities."""

LEAST_SEEN = 0.01
"""Part of the largest share that `strip` shows."""


def percent(value: float | None, decimals: int = 1) -> str:
    r"""Return a share as per cent; the space before the sign does not break.

    >>> percent(0.8031)
    '80.3\xa0%'
    """
    return "not known" if value is None else f"{100 * value:.{decimals}f}\u00a0%"


def three_decimals(value: float | None) -> str:
    """Return a share as a decimal of three places, for columns.

    >>> three_decimals(0.8031)
    '0.803'
    """
    return "–" if value is None else f"{value:.3f}"


def figure(value: float | None, absent: str = "infinite") -> str:
    """Return a figure with four decimals, or the word for one that is absent.

    >>> figure(0.80312), figure(None)
    ('0.8031', 'infinite')
    """
    return absent if value is None else f"{value:.4f}"


def bounds(interval: Sequence[float] | None, form: str = ".4f") -> str:
    """Return the ends of an interval in a format of Python, or nothing without one.

    >>> bounds((0.25, 0.75)), bounds((-0.1, 0.2), "+.1f"), bounds(None)
    ('0.2500 to 0.7500', '-0.1 to +0.2', '')
    """
    return "" if interval is None else f"{interval[0]:{form}} to {interval[1]:{form}}"


def percent_bounds(interval: Sequence[float] | None) -> str:
    """Return the ends of an interval of a share as per cent, or nothing without one."""
    return "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"


def nats(value: float, decimals: int = 1) -> str:
    """Return a signed number of nats, with a minus sign instead of a hyphen.

    >>> nats(-2.345), nats(-2.345, 2)
    ('−2.3', '−2.35')
    """
    return f"{value:+.{decimals}f}".replace("-", "−").replace("inf", "∞")


def six_digits(value: float | None) -> str:
    """Return a number with six significant digits, or nothing for None."""
    return "" if value is None else f"{value:.6g}"


SIX_DIGITS = 6
"""Significant digits of most numbers in JSON."""


def rounded(value: float | None) -> float | None:
    """Return a number rounded to six significant digits, for JSON."""
    return None if value is None else float(six_digits(value))


def block(share: float | None) -> str:
    """Return a bar of one character for a share from 0 to 1, and a space for None.

    >>> block(0), block(0.5), block(1), block(None)
    ('▁', '▅', '█', ' ')
    """
    return " " if share is None else BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)]


def strip(shares: Sequence[float], *, plain: bool = False) -> str:
    """Return a bar of one character for each share, the largest one full, without those that hardly show; ``plain`` for ASCII.

    >>> strip([0, 1, 3, 4, 2, 0]), strip([0, 1, 3, 4, 2, 0], plain=True)
    (' ▃▇█▅', ' -#@+')
    """
    most = max(shares)
    drawn = "".join(block(share / most if share > LEAST_SEEN * most else None) for share in shares).rstrip()
    return drawn.translate(str.maketrans(BLOCKS, PLAIN_BLOCKS)) if plain else drawn
