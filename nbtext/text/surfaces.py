"""Raw UTF-8 bytes to ids of surface forms, on whole arrays: the kernel.

A surface form is a maximal run of ASCII letters, digits, apostrophes and bytes of 0x80 and above, ASCII letters in lower case, two bytes
long at least: no word is shorter. Nothing else linguistic happens here: a byte of 0x80 or above never splits a form, so Unicode is left to
whoever analyses each form, once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.text.hashing import KeyTable, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WORD_BYTES = 8
"""Bytes compared at a time: one 64-bit load."""

MAX_INTERNED = 32
"""Forms longer than this many bytes are too rare to repeat (or are sentences of a script without spaces): they get no id."""

LONG_FORM = 0
"""The id that all forms longer than `MAX_INTERNED` share."""

_SEPARATOR = 0
_FOLD = bytes(
    byte | 0x20 if 0x41 <= byte <= 0x5A else byte if byte >= 0x80 or chr(byte).isalnum() or byte == 0x27 else _SEPARATOR
    for byte in range(256)
)
SEPARATORS = re.compile(rb"[^0-9A-Za-z'\x80-\xff]")
"""One byte that is no part of a surface form."""
_PADDING = bytes(MAX_INTERNED + 2 * WORD_BYTES)
_KEEP = np.array([(1 << 8 * n) - 1 for n in range(WORD_BYTES + 1)], np.uint64)


class Surfaces(NamedTuple):
    """The surface forms of a block of documents, in order: bytes ``[starts, starts + lengths)`` of ``text``."""

    text: bytes
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    documents: NDArray[np.int64]

    def forms(self, positions: NDArray[np.int64]) -> list[str]:
        """The forms at some positions."""
        starts = self.starts.take(positions)
        ends = starts + self.lengths.take(positions)
        return [self.text[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def find_surfaces(texts: Sequence[bytes]) -> Surfaces:
    """Bounds of every surface form of some documents, and the number of the document each belongs to."""
    folded = b"\0".join((b"", *texts, _PADDING)).translate(_FOLD)
    inside = np.frombuffer(folded, np.uint8) != _SEPARATOR
    inside[1:-1] &= inside[2:] | inside[:-2]
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    starts = edges[0::2].copy()
    ends_of_documents = np.cumsum([len(text) + 1 for text in texts])
    firsts = np.searchsorted(starts, ends_of_documents)
    documents = np.repeat(np.arange(len(texts)), np.diff(firsts, prepend=0))
    return Surfaces(folded, starts, edges[1::2] - starts, documents)


class SurfaceTable:
    """Exact ids for surface forms. A form of up to eight bytes is its own key; a longer one is a chain of pairs (prefix, next eight bytes)."""

    def __init__(self) -> None:
        self._words = KeyTable(bits=19)
        self._chains = KeyTable(bits=16)

    @property
    def limit(self) -> int:
        """A number above every id handed out so far."""
        return 2 * max(len(self._words), len(self._chains)) + 2

    def intern(self, surfaces: Surfaces) -> NDArray[np.int32]:
        """The id of each form, shape (n_forms,): even for a form of one word, odd for a chain; `LONG_FORM` beyond the limit."""
        text, starts, lengths, _ = surfaces
        ids = 2 * self._words.intern(_words(text, starts, lengths))
        long = np.flatnonzero(lengths > WORD_BYTES)
        done = WORD_BYTES
        while long.size:
            if done == MAX_INTERNED:
                ids[long] = LONG_FORM
                break
            rest = lengths.take(long) - done
            words = self._words.intern(_words(text, starts.take(long) + done, rest))
            ids[long] = 2 * self._chains.intern(pair(ids.take(long), words)) + 1
            done += WORD_BYTES
            long = long.compress(rest > WORD_BYTES)
        return ids


def _words(text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The up to eight bytes from each start on, the first of them lowest, zeros where the length has ended; shape (n,).

    Two aligned words are shifted into one: of an array that is not aligned, `take` would copy the whole.
    """
    aligned = np.frombuffer(text, "<u8", len(text) // WORD_BYTES)
    place, bits = starts >> 3, ((starts & 7) << 3).view(np.uint64)
    words: NDArray[np.uint64] = aligned.take(place) >> bits
    words |= aligned[1:].take(place) << (np.uint64(64) - bits)  # a shift by 64 gives 0
    words &= _KEEP.take(lengths, mode="clip")
    return words
