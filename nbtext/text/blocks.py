"""Streams of documents in blocks: large enough for whole-array work, small enough for memory not to depend on the corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Item = TypeVar("Item")

BLOCK_BYTES = 1 << 20
BLOCK_DOCUMENTS = 1 << 14


def blocks(items: Iterable[Item], size: Callable[[Item], int], at_once: int = BLOCK_DOCUMENTS) -> Iterator[list[Item]]:
    """Consecutive items, as few as reach `BLOCK_BYTES` by ``size`` or ``at_once`` in number; never an empty block."""
    block: list[Item] = []
    total = 0
    for item in items:
        block.append(item)
        total += size(item)
        if total >= BLOCK_BYTES or len(block) >= at_once:
            yield block
            block, total = [], 0
    if block:
        yield block
