"""Find and drop lines of encoded data: uuencode, base64, hexadecimal digits and yEnc.

Such lines contain no words. First, the lengths and a few bytes of all lines show which texts may
contain encoded lines. Then the lines of these texts are tested run by run. A run consists of
consecutive lines of one alphabet in one document. The characters of its distinct lines are counted
together, so a repetitive line counts like the run. The line after a run may be the shorter end of
the encoded data. A run of one line is encoded if it can only be uuencode, or if a padded line of
base64 follows.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import TextBlock, compute_offsets
from nbtext.settings import MIN_ENCODED_CHARS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.type_names import Ints

_UU_LINE_BYTES = 45
"""Maximum number of bytes in a uuencoded line. The first character M encodes this number."""
_UU_LINE_CHARS = (61, 62)
"""Number of characters in a uuencoded line of 45 bytes, without and with a checksum."""

_MIN_UU_DISTINCT_CHARS = 24
"""Minimum number of different characters in a uuencoded run of one line."""

_MIN_LINE_CHARS = 60
_MAX_LINE_CHARS = 80
"""Bounds of a line of base64 or hexadecimal digits that is not the last of its run."""

_SHA256_DIGITS = 64
"""Number of hexadecimal digits of a SHA-256 digest.

A list of digests is not encoded data, so a run of lines of this length needs a shorter last line.
"""

_PROBED_OFFSETS = range(1, _MIN_LINE_CHARS, 2)
"""Offsets in a line at which `_find_suspicious_texts` requires characters of base64.

In natural text, one character in six is a space.
"""

_LOWER = b"abcdefghijklmnopqrstuvwxyz"
_UPPER = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
_HEXADECIMAL = _DIGITS + b"ABCDEFabcdef"
_BASE64 = _UPPER + _LOWER + _DIGITS + b"+/"
_UUENCODE = bytes(range(ord(" "), ord("`") + 1))
_IS_BASE64 = np.isin(np.arange(256), list(_BASE64))

_KIND_BY_CHARACTER = {
    **dict.fromkeys(_LOWER, 1),
    **dict.fromkeys(_UPPER, 2),
    **dict.fromkeys(_DIGITS, 3),
}
_CHARACTER_KINDS = bytes(_KIND_BY_CHARACTER.get(byte, 0) for byte in range(256))
"""Table for `bytes.translate`: small letters, capitals, digits and other characters."""

_BASE64_END = re.compile(
    rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_HEXADECIMAL_END = re.compile(rb"(?:[0-9A-Fa-f]{2}){1,39}")
_CHECKSUM = re.compile(rb"=[A-Za-z0-9+/]{4}")
"""The line with the checksum of base64 in ASCII armour (RFC 4880, 6.1)."""

# These patterns start with the end of the previous line, because a single byte is found fast.
_LINE = re.compile(rb"\n([^\n]*?)\r?(?=\n)")
"""A line of any kind."""
_UU_LINE = re.compile(
    rb"\n(M[ -`]{%d,%d}+)\r?(?=\n)" % (MIN_ENCODED_CHARS - 1, _UU_LINE_CHARS[-1] - 1)
)
_EVEN_LINE = re.compile(
    rb"\n((?:[A-Za-z0-9+/]{2}){%d,%d})\r?(?=\n)" % (_MIN_LINE_CHARS // 2, _MAX_LINE_CHARS // 2)
)
"""A line of base64 or hexadecimal digits."""

_YENC = re.compile(rb"\n=ybegin [^\n]*+((?:\n(?!=ybegin |=yend )[^\n]*+)*+)\n=yend ")


def drop_encoded_lines(texts: Sequence[bytes]) -> tuple[Sequence[bytes], Ints]:
    """Return texts without their encoded lines, and the number of encoded lines in each text."""
    counts = np.zeros(len(texts), np.int64)
    spans_by_text = find_encoded_lines(texts)
    if not spans_by_text:
        return texts, counts
    readable_texts = list(texts)
    for index, spans in spans_by_text.items():
        text = texts[index]
        pieces = []
        piece_start = 0
        for start, end in spans:
            pieces.append(text[piece_start:start])
            piece_start = end
        readable_texts[index] = b"".join([*pieces, text[piece_start:]])
        counts[index] = len(spans)
    return readable_texts, counts


def find_encoded_lines(texts: Sequence[bytes]) -> dict[int, list[tuple[int, int]]]:
    """Return start and end of each encoded line, by the index of its text.

    Spans are in bytes, in order, without line ends. Texts without encoded lines have no entry.
    """
    spans_by_text = {}
    for index in _find_suspicious_texts(TextBlock.from_texts(texts)):
        # The patterns need a line end before the first line, which shifts all spans by one. A set,
        # because a line may be yielded twice.
        spans = {line.span(1) for line in _iter_encoded(b"\n%b\n\n" % texts[index])}
        if spans:
            spans_by_text[index] = [(start - 1, end - 1) for start, end in sorted(spans)]
    return spans_by_text


def _find_suspicious_texts(block: TextBlock) -> list[int]:
    """Return the indices of texts with a line that may be encoded, by its length and some bytes."""
    raw = np.frombuffer(block.joined, np.uint8)
    if raw.size < MIN_ENCODED_CHARS:
        return []
    text_bounds = compute_offsets(block.sizes + 1)
    is_line_end = raw == ord("\n")
    is_line_end[text_bounds[1:-1] - 1] = True  # the separators of texts
    starts = np.append(0, np.flatnonzero(is_line_end) + 1)
    first_bytes = raw.take(starts, mode="clip")
    # A length includes the CR if the line ends with CR and LF, so one more byte is allowed below.
    lengths = np.diff(starts, append=raw.size + 1) - 1

    may_be_yenc = first_bytes == ord("=")
    may_be_uuencode = (
        (first_bytes == ord("M"))
        & (lengths >= MIN_ENCODED_CHARS)
        & (lengths <= _UU_LINE_CHARS[-1] + 1)
    )
    may_be_in_run = (lengths >= _MIN_LINE_CHARS) & (lengths <= _MAX_LINE_CHARS + 1)
    run_lines = np.flatnonzero(may_be_in_run)
    has_one_line_per_text = starts.size == len(block)
    if has_one_line_per_text:  # then there are no runs
        run_lines = run_lines[:0]
    for offset in _PROBED_OFFSETS:
        probed_bytes = raw.take(starts.take(run_lines) + offset)
        run_lines = run_lines[_IS_BASE64[probed_bytes]]
        if not run_lines.size:
            break
    lines = np.append(np.flatnonzero(may_be_uuencode | may_be_yenc), run_lines)
    texts = np.searchsorted(text_bounds, starts[lines], side="right") - 1
    # np.unique would load numpy.ma, which takes a tenth of the time of `classify` on one document
    return sorted(set(texts.tolist()))


def _iter_encoded(text: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the encoded lines of a text that starts with a line end and ends with two.

    Group 1 of a match is the line without its end. A line may be yielded twice.
    """
    for run in _iter_runs(_UU_LINE, text):
        if _is_uuencode(run.distinct):
            yield from run.lines
            if _ends_uuencode(run.next_line[1]):
                yield run.next_line
    for content in _YENC.finditer(text):
        yield from _LINE.finditer(text, content.start(1), content.end(1) + 1)
    for run in _iter_runs(_EVEN_LINE, text, same_length=True):
        if _is_hexadecimal(run.distinct, run.next_line[1]):
            yield from run.lines
            if _ends_hexadecimal(run.next_line[1]):
                yield run.next_line
        elif _is_base64(run.distinct, run.next_line[1]):
            yield from run.lines
            yield from _iter_base64_end(run)


def _iter_base64_end(run: _Run) -> Iterator[re.Match[bytes]]:
    """Yield the shorter last line of base64, and the line of the checksum, if they are present."""
    last = run.lines[-1]
    if _ends_base64(run.next_line[1]):
        last = run.next_line
        yield last
    line_after_last = _find_next_line(last)
    if _CHECKSUM.fullmatch(line_after_last[1]):
        yield line_after_last


class _Run(NamedTuple):
    """Consecutive lines that match a pattern."""

    lines: list[re.Match[bytes]]
    distinct: list[bytes]
    """The distinct lines, in order."""
    next_line: re.Match[bytes]
    """The line after the run."""


def _iter_runs(
    pattern: re.Pattern[bytes], text: bytes, *, same_length: bool = False
) -> Iterator[_Run]:
    """Yield the runs of lines that match a pattern, with ``same_length`` only of equal length."""
    lines = list(pattern.finditer(text))
    if not lines:
        return
    run_bounds = [0]
    for index, (line, following) in enumerate(pairwise(lines), 1):
        is_adjacent = line.end() == following.start()
        if not is_adjacent or (same_length and len(line[1]) != len(following[1])):
            run_bounds.append(index)
    run_bounds.append(len(lines))
    for start, end in pairwise(run_bounds):
        run = lines[start:end]
        distinct = list(dict.fromkeys([line[1] for line in run]))
        yield _Run(run, distinct, _find_next_line(run[-1]))


def _find_next_line(line: re.Match[bytes]) -> re.Match[bytes]:
    """Return the line after a line. It exists, because the text ends with an empty line."""
    return next(_LINE.finditer(line.string, line.end()))


def _is_uuencode(lines: Sequence[bytes]) -> bool:
    """Return whether distinct lines that match `_UU_LINE` are uuencoded.

    At least half of the lines must have the full length. A single line must also have many
    different characters, some digits and few spaces.
    """
    joined = b"".join(lines)
    n_spaces = _count(joined, b" ")
    n_letters = _count(joined, _UPPER)
    n_digits = _count(joined, _DIGITS)
    n_visible = len(joined) - n_spaces
    n_signs = n_visible - n_letters - n_digits
    if len(lines) == 1 and (
        len(set(joined)) < _MIN_UU_DISTINCT_CHARS
        or n_digits < 0.03 * n_visible
        or n_spaces > 0.1 * n_visible
    ):
        return False
    n_full_lines = sum(len(line) in _UU_LINE_CHARS for line in lines)
    is_text_in_capitals = n_letters > 0.75 * n_visible
    is_table = n_signs < 0.15 * n_visible
    is_drawing = _count_changes(joined) < 0.4 * len(joined)
    is_other = is_text_in_capitals or is_table or is_drawing
    return not is_other and n_full_lines >= len(lines) / 2


def _ends_uuencode(line: bytes) -> bool:
    """Return whether a line may be the shorter last line of uuencode.

    The first character encodes the number of bytes, and each three bytes are four characters. A
    checksum of one character may follow.
    """
    n_bytes = line[0] - ord(" ") if line else 0
    n_chars = 1 + 4 * math.ceil(n_bytes / 3)
    return (
        0 < n_bytes < _UU_LINE_BYTES
        and len(line) in (n_chars, n_chars + 1)
        and not line.translate(None, _UUENCODE)
        and b"---" not in line
    )


def _is_hexadecimal(lines: Sequence[bytes], next_line: bytes) -> bool:
    """Return whether distinct lines of equal length are bytes as hexadecimal digits.

    There must be several lines, with letters as well as digits, that are not SHA-256 digests.
    """
    joined = b"".join(lines)
    n_digits = _count(joined, _DIGITS)
    may_be_digests = len(lines[0]) == _SHA256_DIGITS and not _ends_hexadecimal(next_line)
    return (
        _count(joined, _HEXADECIMAL) == len(joined)
        and 0.1 * len(joined) <= n_digits <= 0.97 * len(joined)
        and len(lines) > 1
        and not may_be_digests
    )


def _ends_hexadecimal(line: bytes) -> bool:
    """Return whether a line may be the shorter last line of hexadecimal digits."""
    return _HEXADECIMAL_END.fullmatch(line) is not None and not line.isalpha()


def _is_base64(lines: Sequence[bytes], next_line: bytes) -> bool:
    """Return whether distinct lines of equal length are base64.

    Base64 has capitals, small letters and digits, and changes often between these kinds.
    """
    if len(lines[0]) % 4:
        return False
    if len(lines) == 1 and not (next_line.endswith(b"=") and _ends_base64(next_line)):
        return False
    joined = b"".join(lines)
    # proportions of the characters
    lower = _count(joined, _LOWER) / len(joined)
    upper = _count(joined, _UPPER) / len(joined)
    digits = _count(joined, _DIGITS) / len(joined)
    changes = _count_changes(joined.translate(_CHARACTER_KINDS)) / len(joined)
    may_be_camel_case = upper < 0.2 and changes < 0.45
    return (
        lower >= 0.04
        and upper >= 0.04
        and digits >= 0.01
        and changes >= 0.2
        and not may_be_camel_case
    )


def _ends_base64(line: bytes) -> bool:
    """Return whether a line that is not a word may be the shorter last line of base64."""
    is_word = line.isalpha() and (line.islower() or line.isupper() or line.istitle())
    return len(line) < _MAX_LINE_CHARS and _BASE64_END.fullmatch(line) is not None and not is_word


def _count_changes(text: bytes) -> int:
    """Return the number of bytes that differ from the previous byte."""
    return int(np.count_nonzero(np.diff(np.frombuffer(text, np.uint8))))


def _count(text: bytes, characters: bytes) -> int:
    """Return the number of bytes of a text that are any of the characters."""
    return len(text) - len(text.translate(None, characters))
