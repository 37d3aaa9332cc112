"""Long documents in pieces, so that analysing one takes memory for a piece of it and not many times its size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

PIECE_BYTES = 1 << 21
"""About the size of a piece: twice a block of documents, so that usual blocks stay whole."""


class Piece(NamedTuple):
    """Consecutive documents, or a part of one."""

    first: int
    """The number of the first of them."""
    texts: Sequence[bytes]
    goes_on: bool = False
    """Whether the next piece has more of the same document."""


def pieces(texts: Sequence[bytes], separator: re.Pattern[bytes]) -> Iterator[Piece]:
    """Yield documents in order, in one piece at least, those longer than `PIECE_BYTES` cut in front of separators; a piece is longer where it has none.

    ``separator`` matches one byte that is never part of a token.
    """
    first = 0
    for number, text in enumerate(texts):
        if len(text) <= PIECE_BYTES:
            continue
        if first < number:
            yield Piece(first, texts[first:number])
        begin = 0
        while begin < len(text):
            cut = separator.search(text, begin + PIECE_BYTES)
            end = cut.start() if cut else len(text)
            yield Piece(number, [text[begin:end]], end < len(text))
            begin = end
        first = number + 1
    if first < len(texts) or not texts:
        yield Piece(first, texts[first:])
