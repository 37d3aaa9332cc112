"""Decode bytes of any encoding to UTF-8, and detect encodings and binary content.

All readers use this file. `nbtext.charsets` finds the codec of a charset that a document declares.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

from nbtext.charsets import UNDEFINED_AS_CONTROLS, find_codec
from nbtext.document_fields import needs_cleaning
from nbtext.errors import DocumentError, UsageError
from nbtext.prediction.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    # The mark of UTF-32 starts with the mark of UTF-16, so UTF-32 must come first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_ASCII_LABELS = ("us-ascii", "ascii", "ansi_x3.4-1968")
"""Charset labels to ignore, because programs without support of charsets use them for any bytes."""

_STRUCTURE_CHARS = '\r\n\t,;|"'
"""Characters that separate records and cells."""

_NUL_TO_ACK = bytes(range(7))
"""The control characters from NUL (0) to ACK (6)."""

_BINARY_BYTES = bytes([*_NUL_TO_ACK, *range(14, 27), *range(28, 32), 127])
"""Control bytes that do not occur in texts in UTF-8 or in a single-byte encoding.

They are all control bytes except BEL, BS, white space and ESC, as in the program file(1).
"""

_MAX_STRAY_BINARY_BYTES = 4
"""Number of `_BINARY_BYTES` that a text of any length may contain by accident."""

_MIN_BYTES_PER_BINARY_BYTE = 20
"""A text may have one of the `_BINARY_BYTES` in 20 bytes; compressed data has about one in ten."""

_SELECT_JIS_X_0208 = b"\x1b$B"
_SELECT_JIS_X_0213 = b"\x1b$(Q"
"""Escape sequences of ISO-2022-JP that select a character set."""

_SIGNATURES = {
    rb"\x89PNG\r\n\x1a\n": "a PNG image",
    rb"\xff\xd8\xff": "a JPEG image",
    rb"GIF8[79]a": "a GIF image",
    rb"II\*\0|MM\0\*": "a TIFF image",
    rb"%PDF-": "a PDF document",
    rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Office document",
    rb"PK\x03\x04": "a ZIP archive or Office document",
    rb"7z\xbc\xaf\x27\x1c": "a 7z archive",
    rb"Rar!\x1a\x07": "a RAR archive",
    rb"\x28\xb5\x2f\xfd": "a Zstandard file",
    rb"\x1f\x8b\x08": "a gzip file",
    rb"\x7fELF": "an ELF program",
    rb"SQLite format 3\0": "an SQLite database",
    rb"PAR1": "a Parquet table",
    rb"ID3": "an MP3 recording",
    rb"fLaC": "a FLAC recording",
    rb"OggS": "an Ogg recording",
    rb"RIFF": "a RIFF recording or image",
    rb".{4}ftyp": "an MP4 recording",
    rb".{257}ustar": "a tar archive",
}
"""Descriptions of binary files, by a pattern of the first bytes.

A text may start with some of these patterns, but only a binary file also contains control bytes.
"""

WIDE_ENCODING_PROBE_BYTES = 256
"""Number of first bytes from which UTF-16 and UTF-32 are detected."""

_MIN_UTF16_CHARS = 4
"""Minimum number of characters from which UTF-16 without a byte order mark is detected."""


class DecodingIssues(NamedTuple):
    """Doubts about whether a text was decoded correctly."""

    is_transcoded: bool = False
    """The bytes were not valid UTF-8 and were decoded as Windows-1252."""
    has_replacements: bool = False
    """Bytes that are invalid in the charset became replacement characters (U+FFFD)."""


NO_DECODING_ISSUES = DecodingIssues()


def merge_decoding_issues(issues: Iterable[DecodingIssues]) -> DecodingIssues:
    """Return the issues that at least one part of a text has; no issues if there are no parts."""
    parts = list(issues)
    return DecodingIssues(
        is_transcoded=any(part.is_transcoded for part in parts),
        has_replacements=any(part.has_replacements for part in parts),
    )


def to_utf8(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return the text as valid UTF-8, and whether it was decoded as Windows-1252.

    If the encoding is ``auto``, decode bytes that are not valid UTF-8 as Windows-1252. For any
    other encoding, raise `DocumentError` for bytes that are invalid in it. Byte order marks are
    not interpreted; see `detect_encoding`.
    """
    if encoding == "auto":
        if _is_utf8(body):
            return body, False
        return body.decode("cp1252", "replace").encode(), True
    try:
        text = body.decode(encoding, errors=UNDEFINED_AS_CONTROLS)
        return text.encode("utf-8", "replace"), False
    except UnicodeError as problem:
        if isinstance(problem, UnicodeDecodeError):
            detail = f"at byte {problem.start}"
        else:  # some codecs raise `UnicodeError` without a position
            detail = f"({problem})"
        raise DocumentError(f"not valid {encoding} {detail}", hint="see --encoding") from None
    except (LookupError, ValueError):  # ValueError: the name contains a zero byte
        raise UsageError(f"{encoding} is not a text encoding", hint="see --encoding") from None


def decode_text(body: bytes, encoding: str) -> tuple[bytes, DecodingIssues]:
    """Return the text as valid UTF-8, and its decoding issues; see `to_utf8`."""
    text, is_transcoded = to_utf8(body, encoding)
    if is_transcoded:
        return text, DecodingIssues(is_transcoded=True)
    return text, NO_DECODING_ISSUES


def drop_partial_characters(piece: bytes) -> bytes:
    """Return a piece of UTF-8 without incomplete characters at its start and end."""
    return piece if piece.isascii() else piece.decode("utf-8", "ignore").encode()


def is_plain(body: bytes) -> bool:
    """Return whether bytes are valid UTF-8 without the separators of document fields.

    Documents in such bytes can be used unchanged.
    """
    return _is_utf8(body) and not needs_cleaning(body)


def normalize_plain_lines(content: bytes) -> bytes | None:
    r"""Return lines joined by LF, without the last line end; None if they are not `is_plain`.

    CRLF becomes LF. The content must consist of complete lines.

    >>> normalize_plain_lines(b"one\r\ntwo\n")
    b'one\ntwo'
    """
    if not is_plain(content):
        return None
    content = content.removesuffix(b"\n")
    if b"\r" in content:
        # a CR at the end is the rest of the last CRLF
        return content.replace(b"\r\n", b"\n").removesuffix(b"\r")
    return content


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_not_binary(body: bytes, *, whole_file: bool = False) -> None:
    """Raise `DocumentError` if bytes in an unknown encoding contain too many `_BINARY_BYTES`.

    Bytes without NUL, 0x1E and 0x1F pass, because nearly all binary files contain one of the three,
    and to look for them is fast. If the bytes are a ``whole_file``, also raise the error for the
    signature of a binary format, and for a short file of nothing but `_BINARY_BYTES`.
    """
    # A PDF file may contain only ASCII.
    is_pdf = whole_file and body.startswith(b"%PDF-") and b"endobj" in body
    may_be_binary = b"\0" in body or b"\x1e" in body or b"\x1f" in body
    if not (is_pdf or may_be_binary):
        return
    if whole_file:
        for pattern, kind in _SIGNATURES.items():
            if re.match(pattern, body, re.DOTALL):
                raise DocumentError(f"binary, not text ({kind})")
    n_binary = len(body) - len(body.translate(None, _BINARY_BYTES))
    max_binary = max(_MAX_STRAY_BINARY_BYTES, len(body) / _MIN_BYTES_PER_BINARY_BYTE)
    is_all_binary = whole_file and n_binary == len(body)
    if n_binary > max_binary or is_all_binary:
        first = next(index for index, byte in enumerate(body) if byte in _BINARY_BYTES)
        raise DocumentError(f"binary, not text (first control byte at position {first})")


def decode_name(name: bytes, encoding: str = "auto") -> str:
    """Return a label, or the name of a file or column, as text.

    Raise `DocumentError` if it contains a NUL byte or is invalid in the encoding.
    """
    if b"\0" in name:
        raise DocumentError(f"a name with a NUL byte: {name[:40].decode('utf-8', 'replace')!r}")
    return clean_label(to_utf8(name, encoding)[0].decode())


def detect_encoding(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Return the bytes to decode, and their encoding, with ``auto`` replaced if possible.

    The encoding of a byte order mark replaces ``auto``, as does UTF-16 if the bytes look like
    UTF-16. A mark of UTF-8 is removed. Use this function only for the start of a file or of a part
    of a mail, because the text in a row of a table may start with the bytes of a mark.
    """
    if encoding != "auto":
        return body, encoding
    for mark, name in _BYTE_ORDER_MARKS:
        if body.startswith(mark):
            if name == "utf-8":
                body = body.removeprefix(mark)  # the other codecs drop the mark themselves
            return body, name
    return body, _detect_unmarked_utf16(body) or "auto"


def _detect_unmarked_utf16(start: bytes) -> str | None:
    """Return "utf-16-le" or "utf-16-be" if bytes look like UTF-16 without a mark, else None.

    There must be at least `_MIN_UTF16_CHARS`. Four in five characters must be below U+0700 (Latin,
    Greek, Cyrillic, Hebrew and Arabic): their high bytes are below 7, and texts in other encodings
    do not contain such bytes. No low byte may be 0.
    """
    probe = start[:WIDE_ENCODING_PROBE_BYTES]
    even_bytes = probe[::2]
    odd_bytes = probe[1::2]
    if b"\0" not in probe or len(odd_bytes) < _MIN_UTF16_CHARS:
        return None
    for high_bytes, low_bytes, name in (
        (odd_bytes, even_bytes, "utf-16-le"),
        (even_bytes, odd_bytes, "utf-16-be"),
    ):
        n_other_high_bytes = len(high_bytes.translate(None, _NUL_TO_ACK))
        if 0 not in low_bytes and n_other_high_bytes <= len(high_bytes) / 5:
            return name
    return None


def decode_with_charset(
    body: bytes, charset: str | None, encoding: str
) -> tuple[bytes, DecodingIssues]:
    """Return the text as UTF-8, decoded by its declared charset, and its decoding issues.

    Invalid bytes become U+FFFD. If the charset is None, unknown or ASCII, use ``encoding`` instead,
    and raise `DocumentError` for bytes that are invalid in this encoding. A byte order mark of
    UTF-16 is ignored. Otherwise, a sender could hide a text from a filter by such a mark.
    """
    codec = None
    if charset and charset.lower() not in _ASCII_LABELS:
        codec = find_codec(charset)
    if codec is None and encoding == "auto":
        codec = _detect_unmarked_utf16(body)
    if codec is None:
        text, issues = decode_text(body, encoding)
    else:
        try:
            text, issues = decode_text(body, codec)
        except DocumentError:
            if _is_mislabelled(body, codec):
                text, issues = decode_text(body, "auto")
            else:
                text, issues = _decode_with_replacements(body, codec)
    return text.removeprefix(codecs.BOM_UTF8), issues


def _is_mislabelled(body: bytes, codec: str) -> bool:
    """Return whether bytes that are invalid in a codec were probably declared wrongly."""
    if codec == "utf-8":
        # Damaged UTF-8 has valid characters beyond ASCII too.
        return body.decode("utf-8", "ignore").isascii()
    # Valid UTF-8 with characters beyond ASCII is hardly ever in another encoding.
    return not body.isascii() and _is_utf8(body)


def _decode_with_replacements(body: bytes, codec: str) -> tuple[bytes, DecodingIssues]:
    """Return the text as UTF-8, with U+FFFD for invalid bytes, and its decoding issues."""
    if codec == "iso2022_jp_ext":
        # The invalid bytes may be circled digits, which are in JIS X 0213 but not in JIS X 0208.
        body = body.replace(_SELECT_JIS_X_0208, _SELECT_JIS_X_0213)
        codec = "iso2022_jp_2004"
    text = body.decode(codec, "replace")
    return text.encode("utf-8", "replace"), DecodingIssues(has_replacements="\ufffd" in text)


def is_ascii_compatible(encoding: str) -> bool:
    """Return whether an encoding encodes `_STRUCTURE_CHARS`, and so probably ASCII, as ASCII.

    Lines and columns can then be split before the text is decoded.
    """
    try:
        return encoding == "auto" or _STRUCTURE_CHARS.encode(encoding) == _STRUCTURE_CHARS.encode()
    except (LookupError, UnicodeError):
        return False


def is_wide_encoding(start: bytes) -> bool:
    """Return whether a file with these first bytes is in UTF-16 or UTF-32."""
    _, encoding = detect_encoding(start, "auto")
    return encoding not in ("auto", "utf-8")
