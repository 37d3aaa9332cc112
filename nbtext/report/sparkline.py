"""Reliability in two lines of block characters: the share of right answers in each bin of confidence, over what was promised."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def block(share: float) -> str:
    """A bar of one character for a share from 0 to 1.

    >>> block(0), block(0.5), block(1)
    ('▁', '▅', '█')
    """
    return BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)]


def reliability_lines(bins: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Names and bars, one for each bin; an empty bin is a space. Where the first two agree, probabilities hold what they promise."""
    return [
        ("promised", "".join(" " if of["confidence"] is None else block(of["confidence"]) for of in bins)),
        ("came true", "".join(" " if of["accuracy"] is None else block(of["accuracy"]) for of in bins)),
        ("documents", "".join(" " if not of["documents"] else block(of["documents"] / max(of["documents"] for of in bins)) for of in bins)),
    ]
