"""How much work a property gets in `make test`, in `make test-exhaustive`, and in `make test-room`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Sequence

Item = TypeVar("Item")
USUAL = 20
"""How many examples a property gets that asks for no other number."""

EXHAUSTIVELY = 2
"""How many times as many examples of each property the profile ``exhaustive`` tries."""

OF_ROOM = 3
"""How many times fewer the profile ``room`` tries, to answer at once; `make test` follows before a commit."""


def exhaustive() -> bool:
    """Return whether this is a run of `make test-exhaustive`."""
    return settings.get_current_profile_name() == "exhaustive"


def is_room_run() -> bool:
    """Return whether this is a run of `make test-room`."""
    return settings.get_current_profile_name() == "room"


def examples(number: int, **more: Any) -> settings:
    """Try a property on so many examples, more in the exhaustive tests and fewer in those of a room; ``more`` are settings of hypothesis."""
    return settings(
        max_examples=number * EXHAUSTIVELY
        if exhaustive()
        else -(-number // OF_ROOM)
        if is_room_run()
        else number,
        **more,
    )


def some(items: Sequence[Item], few: int) -> list[Item]:
    """Return a few of the items, as far apart as they are, all of them in the exhaustive tests, and fewer in those of a room."""
    chosen = (
        len(items)
        if exhaustive()
        else min(-(-few // OF_ROOM) if is_room_run() else few, len(items))
    )
    return [items[place * len(items) // chosen] for place in range(chosen)]


def rounds(few: int, many: int) -> int:
    """Return how often a test marked ``repeated`` repeats what it does."""
    return many if exhaustive() else few
