"""Work counted in steps, not seconds: whether twice the input takes twice the work."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

DOUBLE = 2.6
"""What doubling the input may multiply the work by; where it takes the square, that is 4."""


def steps(function: Callable[[], object]) -> int:
    """Run a function and return how much it calls: each call is a step, and one of a method of a text as many as the text is long."""
    done = 0

    def profile(_: object, event: str, called: object) -> None:
        nonlocal done
        if event in ("call", "c_call"):
            owner = getattr(called, "__self__", None) if event == "c_call" else None
            done += 1 + (len(owner) if isinstance(owner, (str, bytes)) else 0)

    return _profiled(function, profile, lambda: done)


def calls(function: Callable[[], object]) -> int:
    """Run a function and return how many functions it calls, those written in C included."""
    done = 0

    def profile(_: object, event: str, called: object) -> None:
        nonlocal done
        del called
        done += event in ("call", "c_call")

    return _profiled(function, profile, lambda: done)


def _profiled(function: Callable[[], object], profile: Any, result: Callable[[], int]) -> int:
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function()
    finally:
        sys.setprofile(before)
    return result()
