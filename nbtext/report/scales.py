"""Scales of pictures, on a terminal and on a page: steps of shades, bars of one character, and an axis that grows by factors."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import ceil, floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SHADES = " ·░▒▓█"
"""Shades of one character: nothing, shares up to each of `SHADE_STEPS`, and more."""

SHADE_STEPS = (0.0, 0.05, 0.25, 0.5, 0.75)
BLOCKS = "▁▂▃▄▅▆▇█"
MISTAKE_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)

HIT_STEPS = (0.25, 0.5, 0.75, 0.9)
"""Shares of a row at which the shade on a page changes: mistakes are rare and need finer steps."""

WHITE_FROM = 0.69
"""Root of the share from which white letters have more contrast than black ones."""

LIGHT, DARK = (236, 242, 250), (8, 64, 129)
"""Background of cells on a terminal, for a share of 0 and of 1."""


def shade(share: float) -> str:
    """Return a character for a share from 0 to 1, the fuller the larger.

    >>> shade(0), shade(0.01), shade(0.5), shade(1)
    (' ', '·', '▒', '█')
    """
    return SHADES[bisect_left(SHADE_STEPS, share)]


def shade_class(share: float, *, hit: bool) -> str:
    """Return the class of the style for a share of a row above 0.

    >>> shade_class(0.8, hit=True), shade_class(0.03, hit=False)
    ('h3', 'm2')
    """
    return f"h{bisect_right(HIT_STEPS, share)}" if hit else f"m{bisect_right(MISTAKE_STEPS, share)}"


def cell_style(share: float, *, right: bool) -> str:
    """Return the colours of a cell on a terminal, the darker the larger the root of the share, which shows small ones; bold where right."""
    r, g, b = (round(light + (dark - light) * share**0.5) for light, dark in zip(LIGHT, DARK, strict=True))
    letters = "rgb(255,255,255)" if share**0.5 > WHITE_FROM else "rgb(0,0,0)"
    return f"{'bold ' if right else ''}{letters} on rgb({r},{g},{b})"


def block(share: float | None) -> str:
    """Return a bar of one character for a share from 0 to 1, and a space for None.

    >>> block(0), block(0.5), block(1), block(None)
    ('▁', '▅', '█', ' ')
    """
    return " " if share is None else BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)]


def logarithmic(low: float, high: float) -> Callable[[float], float]:
    """Map numbers from ``low`` to ``high``, both above 0, to shares from 0 to 1, equal factors to equal steps."""
    span = log10(high) - log10(low)
    return lambda value: (log10(value) - log10(low)) / span if span else 0.5


def round_numbers(low: float, high: float) -> list[int]:
    """Return 1, 2 and 5 times powers of ten within the bounds; only the powers if there are more than eight; the bounds if there are none.

    >>> round_numbers(90, 1200)
    [100, 200, 500, 1000]
    """
    found = [n for power in range(floor(log10(low)), ceil(log10(high)) + 1) for n in (10**power, 2 * 10**power, 5 * 10**power)]
    within = [n for n in found if low <= n <= high]
    if len(within) > 8:
        within = [n for n in within if str(n)[0] == "1"]
    return within or sorted({round(low), round(high)})
