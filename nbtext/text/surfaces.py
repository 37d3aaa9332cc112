"""Raw UTF-8 bytes to ids of surface forms, on whole arrays: the kernel.

A surface form is a maximal run of at least two ASCII letters, digits, apostrophes and bytes from 0x80 on, with ASCII letters in lower case; no
word is shorter. Bytes from 0x80 on never split a form, so Unicode is left to the analysis of each form, once; only runs of scripts without spaces
(`nbtext.text.unspaced`) are forms of their own, or all pairs of characters in them are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from nbtext.ragged import BETWEEN, TextBlock, flat_indices
from nbtext.records import NamedTuple
from nbtext.text.hashing import KeyTable, pair
from nbtext.text.unspaced import unspaced_runs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WORD_BYTES = 8
"""Bytes in a 64-bit word, which are compared at once."""

MAX_INTERNED = 32
"""Longer forms, in bytes, get no id of their own: they are rare."""

LONG_FORM = 0
"""The id of all forms longer than `MAX_INTERNED`."""

_HIGHEST = 2**31 - 1
"""In a pair with a form, the first field; the others count down from it. Ids of forms never come near."""

SURFACE = re.compile(rb"[0-9A-Za-z'\x80-\xff]+")
"""A surface form as it stands in a text, also one of a single byte, which the kernel skips."""
SEPARATORS = re.compile(rb"[^0-9A-Za-z'\x80-\xff]|\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]")
"""Matches where a text can be cut: a byte that is not part of a surface form, or a comma or full stop of Chinese and Japanese, which ends a word."""
_SEPARATOR = 0
BETWEEN_FORMS = " "
"""No form has it."""

_STOPS = re.compile(rb"\xe3\x80[\x81\x82]|\xef\xbc[\x81\x8c\x9f]")
"""The commas and full stops of `SEPARATORS`."""
FORM_BETWEEN_STOPS = re.compile(rb"(?:[0-9A-Za-z']|(?!%s)[\xc2-\xf4][\x80-\xbf]+)+" % _STOPS.pattern)
"""A surface form where commas and full stops of Chinese and Japanese end one, in valid UTF-8."""

PAIRS, RUNS, WORDS = "pairs", "runs", "words"
"""What becomes of a run of a script without spaces: a form for each pair of characters, one form, or nothing but a part of a form."""

_FOLD = bytes(byte if SURFACE.match(bytes((byte,))) else _SEPARATOR for byte in range(256)).lower()
_PADDING = bytes(MAX_INTERNED + 2 * WORD_BYTES)
_KEEP = np.array([(1 << 8 * n) - 1 for n in range(WORD_BYTES + 1)], np.uint64)


class Surfaces(NamedTuple):
    """The surface forms of a block of documents in order: bytes ``[starts, starts + lengths)`` of ``text``; arrays of shape (n_forms,)."""

    text: bytes
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    documents: NDArray[np.int32]

    def forms(self, positions: NDArray[np.int64]) -> list[str]:
        """Return the forms at some positions."""
        starts, sizes = self.starts.take(positions), self.lengths.take(positions) + 1
        if sizes.max(initial=0) > MAX_INTERNED + 1:  # the indices of all bytes would take many times their memory
            bounds = zip(starts.tolist(), (starts + sizes - 1).tolist(), strict=True)
            return [self.text[start:end].decode() for start, end in bounds]
        octets = np.frombuffer(self.text, np.uint8).take(flat_indices(starts, sizes))
        octets[np.cumsum(sizes) - 1] = ord(BETWEEN_FORMS)
        return octets.tobytes().decode().split(BETWEEN_FORMS)[:-1]


def find_surfaces(texts: Sequence[bytes], unspaced: str = WORDS, *, with_runs: bool | None = None, single_bytes: bool = False) -> Surfaces:
    """Return the surface forms of documents, with their bounds and the number of each one's document; ``unspaced`` as `PAIRS`, `RUNS` or `WORDS`.

    ``with_runs``: only forms that hold a run of a script without spaces, or parts of these; or only forms that hold none. A comma or full stop of
    Chinese and Japanese then ends a form. ``single_bytes``: also forms of one byte, which are no words.
    """
    block = TextBlock.of(texts)
    if with_runs and unspaced_runs(block.joined) is None:
        return Surfaces(_PADDING, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int32))
    folded = b"".join((BETWEEN, block.joined, _PADDING)).translate(_FOLD)
    inside = np.frombuffer(folded, np.uint8) != _SEPARATOR
    runs = unspaced_runs(folded) if unspaced != WORDS or with_runs is not None else None
    if with_runs is not None and runs is not None:
        inside &= _of_forms(folded, inside, runs.begins) == with_runs
    if runs is not None and unspaced != WORDS:
        depth = np.zeros(inside.size, np.int8)
        begins, ends = runs.runs
        depth[begins], depth[ends] = 1, -1
        inside &= np.cumsum(depth, dtype=np.int8) == 0
    if not single_bytes:
        inside[1:-1] &= inside[2:] | inside[:-2]
    changes = np.empty(inside.size, np.bool_)
    changes[0] = False
    np.not_equal(inside[1:], inside[:-1], out=changes[1:])
    edges = np.flatnonzero(changes)
    starts, ends = edges[0::2].copy(), edges[1::2]
    if runs is not None and unspaced != WORDS:
        begins, their_ends = runs.pairs if unspaced == PAIRS else runs.runs
        starts, ends = np.concatenate((starts, begins)), np.concatenate((ends, their_ends))
        order = np.argsort(starts, kind="stable")
        starts, ends = starts.take(order), ends.take(order)
    firsts = np.searchsorted(starts, block.ends - block.starts[:1] + 1)
    documents = np.repeat(np.arange(len(block), dtype=np.int32), np.diff(firsts, prepend=0))
    return Surfaces(folded, starts, ends - starts, documents)


def _of_forms(folded: bytes, inside: NDArray[np.bool_], begins: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return for each byte whether its form has one of the characters that begin at ``begins``; ``inside`` loses commas and full stops."""
    raw = np.frombuffer(folded, np.uint8)
    for lead, second, lasts in ((0xE3, 0x80, (0x81, 0x82)), (0xEF, 0xBC, (0x81, 0x8C, 0x9F))):  # as in `_STOPS`
        places = np.flatnonzero(raw[:-2] == lead)
        places = places[(raw[places + 1] == second) & np.isin(raw[places + 2], lasts)]
        inside[places] = inside[places + 1] = inside[places + 2] = False
    starts = np.flatnonzero(inside[1:] & ~inside[:-1]) + 1
    holds = np.zeros(starts.size + 1, np.bool_)
    holds[np.searchsorted(starts, begins, "right")] = True
    return np.repeat(holds, np.diff(starts, prepend=0, append=inside.size))


class SurfaceTable:
    """Exact ids of surface forms. A form of up to eight bytes is its own key; a longer one is a chain of pairs (prefix, next eight bytes).

    A form in a field is a pair (field, form) in the same table.
    """

    def __init__(self) -> None:
        self._words = KeyTable(bits=19)
        self._chains = KeyTable(bits=16)

    @property
    def limit(self) -> int:
        """A number above all ids so far."""
        return 2 * max(len(self._words), len(self._chains)) + 2

    def intern(self, surfaces: Surfaces) -> NDArray[np.int32]:
        """Return the id of each form, shape (n_forms,): even up to eight bytes, odd for a chain, `LONG_FORM` beyond `MAX_INTERNED` bytes."""
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

    def intern_in_fields(self, forms: NDArray[np.int32], fields: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the id of each form in its field, which is given by number, shape (n_forms,): odd, or `LONG_FORM`."""
        ids = 2 * self._chains.intern(pair(_HIGHEST - fields, forms)) + 1
        ids[forms == LONG_FORM] = LONG_FORM
        return ids


def _words(text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return up to eight bytes from each start on as a number, first byte lowest, zeros beyond the length; shape (n,).

    Combine two aligned words by shifts: `take` on an unaligned array would copy all of it.
    """
    aligned = np.frombuffer(text, "<u8", len(text) // WORD_BYTES)
    place, bits = starts >> 3, ((starts & 7) << 3).view(np.uint64)
    words: NDArray[np.uint64] = aligned.take(place)
    words >>= bits
    upper = aligned[1:].take(place)
    upper <<= np.subtract(np.uint64(64), bits, out=bits)  # a shift by 64 gives 0
    words |= upper
    words &= _KEEP.take(lengths, mode="clip")
    return words
