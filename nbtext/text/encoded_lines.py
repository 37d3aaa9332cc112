"""Lines of encoded data: uuencode, base64 (also in PGP armour), hexadecimal digits and yEnc. They have no words.

The lengths and a few bytes of all lines, on whole arrays, leave few texts that may have some. Their lines are judged run by run: a run is consecutive lines of
one alphabet in one document, and the characters of its distinct lines are counted together, so that a dull line goes with the others. The shorter
last line goes with its run. A line alone is encoded if it looks like nothing but uuencode, or is followed by a padded line of base64.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from nbtext.ragged import TextBlock, compute_offsets
from nbtext.settings import MIN_ENCODED_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.type_names import Ints

_UU_FULL = (61, 62)
"""Characters in a uuencoded line of 45 bytes, without and with a checksum; the first is M."""

_UU_DISTINCT = 24
"""Fewest different characters in a uuencoded line that stands alone."""

_SHORTEST = 60
_LONGEST = 80
"""Characters, an even number, in a line of base64 or of hexadecimal digits that is not the last of its run."""

_DIGEST = 64
"""Hexadecimal digits of a SHA-256 digest. A list of digests is not encoded data, so a run of this length needs a shorter last line."""

_PROBES = range(1, _SHORTEST, 2)
"""Where a line of base64 or hexadecimal digits is looked at first: in a natural text one such place in six is a space."""

_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_HEXADECIMAL = _DIGITS + b"ABCDEFabcdef"
_BASE64 = _UPPER + _LOWER + _DIGITS + b"+/"
_UUENCODE = bytes(range(ord(" "), ord("`") + 1))
_IN_BASE64 = np.isin(np.arange(256), list(_BASE64))
_KIND = bytes(
    next((kind for kind, of_kind in enumerate((_LOWER, _UPPER, _DIGITS), 1) if byte in of_kind), 0)
    for byte in range(256)
)

_BASE64_END = re.compile(
    rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_HEXADECIMAL_END = re.compile(rb"(?:[0-9A-Fa-f]{2}){1,39}")
_CHECKSUM = re.compile(rb"=[A-Za-z0-9+/]{4}")

_LINE = re.compile(rb"\n([^\n]*?)\r?(?=\n)")
_UU_LINE = re.compile(rb"\n(M[ -`]{%d,%d}+)\r?(?=\n)" % (MIN_ENCODED_CHARS - 1, _UU_FULL[-1] - 1))
_EVEN_LINE = re.compile(
    rb"\n((?:[A-Za-z0-9+/]{2}){%d,%d})\r?(?=\n)" % (_SHORTEST // 2, _LONGEST // 2)
)
"""The line end before a line, and the line, of any kind, of uuencode, of base64 or hexadecimal digits. They begin with one byte, which is found fast."""

_YENC = re.compile(rb"\n=ybegin [^\n]*+((?:\n(?!=ybegin |=yend )[^\n]*+)*+)\n=yend ")


def drop_encoded_lines(texts: Sequence[bytes]) -> tuple[Sequence[bytes], Ints]:
    """Return texts without their encoded lines, and the number of these in each text, shape (n_docs,)."""
    counts = np.zeros(len(texts), np.int64)
    encoded = find_encoded_lines(texts)
    if not encoded:
        return texts, counts
    kept = list(texts)
    for document, spans in encoded.items():
        text = texts[document]
        bounds = [0, *chain.from_iterable(spans), len(text)]
        kept[document] = b"".join(
            [text[begin:end] for begin, end in zip(bounds[0::2], bounds[1::2], strict=True)]
        )
        counts[document] = len(spans)
    return kept, counts


def find_encoded_lines(texts: Sequence[bytes]) -> dict[int, list[tuple[int, int]]]:
    """Return by the number of a text where its encoded lines begin and end, in order, in bytes and without line ends."""
    found = {}
    for number in _suspicious(TextBlock.from_texts(texts)):
        spans = {line.span(1) for line in _encoded(b"\n%b\n\n" % texts[number])}
        if spans:
            found[number] = [(begin - 1, end - 1) for begin, end in sorted(spans)]
    return found


def _suspicious(block: TextBlock) -> list[int]:
    """Return the numbers of texts with a line that may be encoded, by its length and some of its bytes."""
    raw = np.frombuffer(block.joined, np.uint8)
    if raw.size < MIN_ENCODED_CHARS:
        return []
    bounds = compute_offsets(block.sizes + 1)
    ends_line = raw == ord("\n")
    ends_line[bounds[1:-1] - 1] = True
    starts = np.append(0, np.flatnonzero(ends_line) + 1)
    first = raw.take(starts, mode="clip")
    lengths = np.diff(starts, append=raw.size + 1) - 1  # with CR at the end
    may_be_uuencode = (
        (first == ord("M")) & (lengths >= MIN_ENCODED_CHARS) & (lengths <= _UU_FULL[-1] + 1)
    )
    in_runs = starts.size > len(block)  # not where there is a line in each text
    wide = np.flatnonzero((lengths >= _SHORTEST) & (lengths <= _LONGEST + 1) & in_runs)
    for place in _PROBES:
        wide = wide[_IN_BASE64[raw.take(starts.take(wide) + place)]]
        if not wide.size:
            break
    found = np.append(np.flatnonzero(may_be_uuencode | (first == ord("="))), wide)
    return np.flatnonzero(
        np.bincount(np.searchsorted(bounds, starts[found], side="right") - 1)
    ).tolist()


def _encoded(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the encoded lines of a text, before which there is a line end, and behind it two."""
    for run, distinct, after in _runs(_UU_LINE, text):
        if _is_uuencode(distinct):
            yield from run
            if _ends_uuencode(after[1]):
                yield after
    for whole in _YENC.finditer(text):
        yield from _LINE.finditer(text, whole.start(1), whole.end(1) + 1)
    for run, distinct, after in _runs(_EVEN_LINE, text, of_one_length=True):
        if _is_hexadecimal(distinct, after[1]):
            yield from run
            if _ends_hexadecimal(after[1]):
                yield after
        elif _is_base64(distinct, after[1]):
            yield from run
            last = after if _ends_base64(after[1]) else run[-1]
            yield last
            if _CHECKSUM.fullmatch(_next(last)[1]):
                yield _next(last)


def _runs(
    pattern: re.Pattern[bytes], text: bytes, *, of_one_length: bool = False
) -> Iterator[tuple[list[re.Match[bytes]], list[bytes], re.Match[bytes]]]:
    """Yield the lines of each run that match a pattern, the distinct ones, and the line after them."""
    lines = list(pattern.finditer(text))
    apart = [
        place
        for place, (line, following) in enumerate(pairwise(lines), 1)
        if line.end() != following.start() or (of_one_length and len(line[1]) != len(following[1]))
    ]
    for begin, end in pairwise([0, *apart, len(lines)] if lines else []):
        run = lines[begin:end]
        yield run, list(dict.fromkeys([line[1] for line in run])), _next(run[-1])


def _next(line: re.Match[bytes]) -> re.Match[bytes]:
    return next(_LINE.finditer(line.string, line.end()))


def _is_uuencode(run: Sequence[bytes]) -> bool:
    """Return whether distinct lines that begin with M, of the characters from space to grave accent, are uuencoded.

    Most lines have the full length. Letters are fewer than in capitals, signs more than in a table, and unlike in a picture of characters the next
    one is mostly another. A line alone has many different characters, digits too, and few spaces.
    """
    joined = b"".join(run)
    spaces, letters, digits = (_count(joined, characters) for characters in (b" ", _UPPER, _DIGITS))
    solid = len(joined) - spaces
    if len(run) == 1 and (
        len(set(joined)) < _UU_DISTINCT or digits < 0.03 * solid or spaces > 0.1 * solid
    ):
        return False
    n_full = sum(len(line) in _UU_FULL for line in run)
    mixed = (
        letters <= 0.75 * solid
        and solid - letters - digits >= 0.15 * solid
        and _changes(joined) >= 0.4 * len(joined)
    )
    return mixed and 2 * n_full >= len(run)


def _ends_uuencode(line: bytes) -> bool:
    """Return whether a line may be the last, shorter one of uuencode: its first character tells the number of its bytes."""
    n_bytes = line[0] - ord(" ") if line else 0
    wanted = 1 + 4 * -(-n_bytes // 3)
    return (
        0 < n_bytes < 45
        and len(line) in (wanted, wanted + 1)
        and not line.translate(None, _UUENCODE)
        and b"---" not in line
    )


def _is_hexadecimal(run: Sequence[bytes], after: bytes) -> bool:
    """Return whether distinct lines of equal length are bytes as hexadecimal digits; ``after`` is the next line."""
    joined = b"".join(run)
    digits = _count(joined, _DIGITS)
    only = _count(joined, _HEXADECIMAL) == len(joined) and 0.1 * len(
        joined
    ) <= digits <= 0.97 * len(joined)
    return only and len(run) > 1 and (len(run[0]) != _DIGEST or _ends_hexadecimal(after))


def _ends_hexadecimal(line: bytes) -> bool:
    """Return whether a line may be the last, shorter one of hexadecimal digits."""
    return _HEXADECIMAL_END.fullmatch(line) is not None and not line.isalpha()


def _is_base64(run: Sequence[bytes], after: bytes) -> bool:
    """Return whether distinct lines of equal length are base64; ``after`` is the next line.

    They have capitals, small letters and digits, and more capitals than names in camel case, or more often another kind of character.
    """
    joined = b"".join(run)
    if len(run[0]) % 4 or (len(run) == 1 and not (after.endswith(b"=") and _ends_base64(after))):
        return False
    lower, upper, digits, changes = (
        count / len(joined)
        for count in (
            *(_count(joined, kind) for kind in (_LOWER, _UPPER, _DIGITS)),
            _changes(joined.translate(_KIND)),
        )
    )
    return (
        min(lower, upper) >= 0.04
        and digits >= 0.01
        and changes >= 0.2
        and (upper >= 0.2 or changes >= 0.45)
    )


def _ends_base64(line: bytes) -> bool:
    """Return whether a line may be the last, shorter one of base64, and is no word."""
    is_word = line.isalpha() and (line.islower() or line.isupper() or line.istitle())
    return len(line) < _LONGEST and _BASE64_END.fullmatch(line) is not None and not is_word


def _changes(text: bytes) -> int:
    """Return how often the next byte is another."""
    return int(np.count_nonzero(np.diff(np.frombuffer(text, np.uint8))))


def _count(text: bytes, characters: bytes) -> int:
    return len(text) - len(text.translate(None, characters))
