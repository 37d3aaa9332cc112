"""Lines of encoded data: uuencode, base64 (also in PGP armour), hexadecimal digits and yEnc. They have no words.

The lengths and a few bytes of all lines, on whole arrays, leave few that may be encoded. Those are judged run by run: a run is consecutive lines of
one alphabet in one document, and the characters of its distinct lines are counted together, so that a dull line goes with the others. The shorter
last line goes with its run. A line alone is encoded if it looks like nothing but uuencode, or is followed by a padded line of base64.
"""

from __future__ import annotations

import re
from itertools import chain, compress, pairwise
from typing import TYPE_CHECKING

import numpy as np

from nbtext.ragged import TextBlock, offsets
from nbtext.settings import SHORTEST_ENCODED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.type_names import Whole

_UU_FULL = (61, 62)
"""Characters in a uuencoded line of 45 bytes, without and with a checksum; the first is M."""

_UU_DISTINCT = 24
"""Fewest different characters in a uuencoded line that stands alone."""

_SHORTEST, _LONGEST = 60, 80
"""Characters, an even number, in a line of base64 or of hexadecimal digits that is not the last of its run."""

_DIGEST = 64
"""Hexadecimal digits of a SHA-256 digest. A list of digests is not encoded data, so a run of this length needs a shorter last line."""

_PROBES = np.array([1, 9, 17, 26, 35, 43, 51, 58])
"""Where a line of base64 or hexadecimal digits is looked at first: in a natural text one such place in six is a space."""

_LOWER, _UPPER, _DIGITS = b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"0123456789"
_HEXADECIMAL, _BASE64 = _DIGITS + b"ABCDEFabcdef", _UPPER + _LOWER + _DIGITS + b"+/"
_UUENCODE = bytes(range(ord(" "), ord("`") + 1))
_IN_BASE64 = np.isin(np.arange(256), list(_BASE64))
_KIND = bytes(next((kind for kind, of_kind in enumerate((_LOWER, _UPPER, _DIGITS), 1) if byte in of_kind), 0) for byte in range(256))

_BASE64_END = re.compile(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
_CHECKSUM = re.compile(rb"=[A-Za-z0-9+/]{4}")
_YENC_BEGIN, _YENC_END = b"=ybegin ", b"=yend "


def without_encoded_lines(texts: Sequence[bytes]) -> tuple[Sequence[bytes], Whole]:
    """Return texts without their encoded lines, and the number of these in each text, shape (n_docs,)."""
    counts = np.zeros(len(texts), np.int64)
    encoded = encoded_lines(texts)
    if not encoded:
        return texts, counts
    kept = list(texts)
    for document, spans in encoded.items():
        text = texts[document]
        bounds = [0, *chain.from_iterable(spans), len(text)]
        kept[document] = b"".join([text[begin:end] for begin, end in zip(bounds[0::2], bounds[1::2], strict=True)])
        counts[document] = len(spans)
    return kept, counts


def encoded_lines(texts: Sequence[bytes]) -> dict[int, list[tuple[int, int]]]:
    """Return by the number of a text where its encoded lines begin and end, in order, in bytes and without line ends."""
    lines = _Lines(texts)
    runs = [np.arange(begin, end) for begin, end in lines.encoded()]
    if not runs:
        return {}
    numbers = np.flatnonzero(np.bincount(np.concatenate(runs)))  # `np.unique` imports numpy.ma, which takes ten milliseconds
    documents = lines.documents(numbers)
    spans = np.stack((lines.starts[numbers], lines.ends[numbers]), axis=1) - lines.bounds[documents, np.newaxis]
    found: dict[int, list[tuple[int, int]]] = {}
    for document, (begin, end) in zip(documents.tolist(), spans.tolist(), strict=True):
        found.setdefault(document, []).append((begin, end))
    return found


class _Lines:
    """The lines of texts, numbered through."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        block = TextBlock.of(texts)
        self._text = block.joined
        self._raw = np.frombuffer(self._text, np.uint8)
        self.bounds = offsets(block.sizes + 1)
        """Where each text begins, and behind the last one."""
        ends_line = self._raw == ord("\n")
        ends_line[self.bounds[1:-1] - 1] = True
        line_ends = np.flatnonzero(ends_line)
        self.starts, self.ends = np.append(0, line_ends + 1), np.append(line_ends, self._raw.size)
        if b"\r" in self._text:
            self.ends -= self._raw.take(self.ends - 1) == ord("\r")

    def documents(self, numbers: Whole) -> Whole:
        """Return the text of each line."""
        return np.searchsorted(self.bounds, self.starts[numbers], side="right") - 1

    def encoded(self) -> Iterator[tuple[int, int]]:
        """Yield the first line of each encoded run, and the line after the last."""
        if self._raw.size < SHORTEST_ENCODED:
            return
        first, lengths = self._raw.take(self.starts, mode="clip"), self.ends - self.starts
        numbers = np.flatnonzero(first == ord("M"))
        sizes = lengths.take(numbers)
        for begin, end, run in self._runs(numbers[(sizes >= SHORTEST_ENCODED) & (sizes <= _UU_FULL[-1])], _UUENCODE):
            if _is_uuencode(run):
                yield begin, end + _ends_uuencode(self._next(end))
        if lengths.size == self.bounds.size - 1:
            return  # a line in each, but the others come in runs
        yield from self._yenc(np.flatnonzero(first == ord("=")))
        for begin, end, run in self._runs(self._equal_or_padded(lengths), _BASE64, lengths):
            if _is_hexadecimal(run, self._next(end)):
                yield begin, end + _ends_hexadecimal(self._next(end))
            elif _is_base64(run, self._next(end)):
                last = end + _ends_base64(self._next(end))
                yield begin, last + (_CHECKSUM.fullmatch(self._next(last)) is not None)

    def _yenc(self, numbers: Whole) -> Iterator[tuple[int, int]]:
        """Yield the lines between those that begin and end yEnc, of which ``numbers`` are candidates."""
        numbers = numbers[self._raw.take(self.starts.take(numbers) + 1, mode="clip") == ord("y")]
        begin, of_begin = None, -1
        for number, line, document in zip(numbers.tolist(), self._at(numbers), self.documents(numbers).tolist(), strict=True):
            if line.startswith(_YENC_BEGIN):
                begin, of_begin = number, document
            elif line.startswith(_YENC_END):
                if begin is not None and of_begin == document:
                    yield begin + 1, number
                begin = None

    def _equal_or_padded(self, lengths: Whole) -> Whole:
        """Return the lines that may be of base64 or hexadecimal digits, by their length, that of the next line or its end, and probes."""
        numbers = np.flatnonzero((lengths >= _SHORTEST) & (lengths <= _LONGEST))
        sizes, after = lengths.take(numbers), np.minimum(numbers + 1, lengths.size - 1)
        like_others = (lengths.take(numbers - 1) == sizes) | (lengths.take(after) == sizes)
        padded = self._raw.take(self.ends.take(after) - 1) == ord("=")
        numbers = numbers[(like_others | padded) & (sizes & 1 == 0)]
        return numbers[_IN_BASE64[self._raw[self.starts[numbers, np.newaxis] + _PROBES]].all(axis=1)]

    def _runs(self, numbers: Whole, alphabet: bytes, alike: Whole | None = None) -> Iterator[tuple[int, int, list[bytes]]]:
        """Yield the first line, the line after the last and the distinct lines of runs in one text; with equal numbers in ``alike``, shape (n_lines,)."""
        if not numbers.size:
            return
        lines = self._at(numbers)
        fits = [not line.translate(None, alphabet) for line in lines]
        numbers, kept = numbers[fits], list(compress(lines, fits))
        apart = (np.diff(numbers) > 1) | (np.diff(self.documents(numbers)) != 0)
        if alike is not None:
            apart |= np.diff(alike[numbers]) != 0
        bounds = [0, *(np.flatnonzero(apart) + 1).tolist(), len(kept)]
        for begin, end in pairwise(bounds if kept else []):
            yield int(numbers[begin]), int(numbers[end - 1]) + 1, list(dict.fromkeys(kept[begin:end]))

    def _at(self, numbers: Whole) -> list[bytes]:
        return [self._text[begin:end] for begin, end in zip(self.starts[numbers].tolist(), self.ends[numbers].tolist(), strict=True)]

    def _next(self, number: int) -> bytes:
        """Return a line, or an empty one if it is not in the text of the line before it."""
        if number == self.starts.size or self.starts[number] in self.bounds:
            return b""
        return self._text[self.starts[number] : self.ends[number]]


def _is_uuencode(run: Sequence[bytes]) -> bool:
    """Return whether distinct lines that begin with M, of the characters from space to grave accent, are uuencoded.

    Most lines have the full length. Letters are fewer than in capitals, signs more than in a table, and unlike in a picture of characters the next
    one is mostly another. A line alone has many different characters, digits too, and few spaces.
    """
    joined = b"".join(run)
    spaces, letters, digits = (_count(joined, characters) for characters in (b" ", _UPPER, _DIGITS))
    solid = len(joined) - spaces
    if len(run) == 1 and (len(set(joined)) < _UU_DISTINCT or digits < 0.03 * solid or spaces > 0.1 * solid):
        return False
    n_full = sum(len(line) in _UU_FULL for line in run)
    mixed = letters <= 0.75 * solid and solid - letters - digits >= 0.15 * solid and _changes(joined) >= 0.4 * len(joined)
    return mixed and 2 * n_full >= len(run)


def _ends_uuencode(line: bytes) -> bool:
    """Return whether a line may be the last, shorter one of uuencode: its first character tells the number of its bytes."""
    n_bytes = line[0] - ord(" ") if line else 0
    wanted = 1 + 4 * -(-n_bytes // 3)
    return 0 < n_bytes < 45 and len(line) in (wanted, wanted + 1) and not line.translate(None, _UUENCODE) and b"---" not in line


def _is_hexadecimal(run: Sequence[bytes], after: bytes) -> bool:
    """Return whether distinct lines of equal length are bytes as hexadecimal digits; ``after`` is the next line."""
    joined = b"".join(run)
    digits = _count(joined, _DIGITS)
    only = _count(joined, _HEXADECIMAL) == len(joined) and 0.1 * len(joined) <= digits <= 0.97 * len(joined)
    return only and len(run) > 1 and (len(run[0]) != _DIGEST or _ends_hexadecimal(after))


def _ends_hexadecimal(line: bytes) -> bool:
    """Return whether a line may be the last, shorter one of hexadecimal digits."""
    return 0 < len(line) < _LONGEST and len(line) % 2 == 0 and not line.translate(None, _HEXADECIMAL) and not line.isalpha()


def _is_base64(run: Sequence[bytes], after: bytes) -> bool:
    """Return whether distinct lines of equal length are base64; ``after`` is the next line.

    They have capitals, small letters and digits, and more capitals than names in camel case, or more often another kind of character.
    """
    joined = b"".join(run)
    if len(run[0]) % 4 or (len(run) == 1 and not (after.endswith(b"=") and _ends_base64(after))):
        return False
    lower, upper, digits, changes = (
        count / len(joined) for count in (*(_count(joined, kind) for kind in (_LOWER, _UPPER, _DIGITS)), _changes(joined.translate(_KIND)))
    )
    return min(lower, upper) >= 0.04 and digits >= 0.01 and changes >= 0.2 and (upper >= 0.2 or changes >= 0.45)


def _ends_base64(line: bytes) -> bool:
    """Return whether a line may be the last, shorter one of base64, and is no word."""
    is_word = line.isalpha() and (line.islower() or line.isupper() or line.istitle())
    return len(line) < _LONGEST and _BASE64_END.fullmatch(line) is not None and not is_word


def _changes(text: bytes) -> int:
    """Return how often the next byte is another."""
    return int(np.count_nonzero(np.diff(np.frombuffer(text, np.uint8))))


def _count(text: bytes, characters: bytes) -> int:
    return len(text) - len(text.translate(None, characters))
