"""Bytes of any encoding to UTF-8."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, NamedTuple

from nbtext.charsets import UNDEFINED_AS_CONTROLS, find_codec
from nbtext.document_fields import contains_separators
from nbtext.errors import DocumentError, UsageError
from nbtext.prediction.labels import clean_label

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_ANY_MARK = tuple(mark for mark, _ in _MARKS)

_ASCII = ("us-ascii", "ascii", "ansi_x3.4-1968")
"""Labels that say nothing: programs that know no charset declare them, whatever the bytes are."""

_STRUCTURE = '\r\n\t,;|"'

_NO_TEXT_BYTES = bytes([*range(7), *range(14, 27), *range(28, 32), 127])
"""Bytes that are not in texts of any single-byte encoding or of UTF-8, as file(1) has them: control bytes but BEL, BS, white space and ESC."""

_FEW = 4
"""So many of these are in a text by accident, however short it is."""

_SHARE = 20
"""One byte in so many may be one of these in a text; in compressed data it is one in ten."""

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
"""Kinds of binary files by their beginning. Texts may begin with some of these, but hold none of `_NO_TEXT_BYTES` besides."""

WIDE_ENCODING_PROBE_BYTES = 256
"""Bytes of a file that `is_wide_encoding` looks at."""


class DecodingIssues(NamedTuple):
    """What is doubtful about a text that was decoded."""

    is_transcoded: bool = False
    """It was not valid UTF-8, and was read as Windows-1252."""
    has_replacements: bool = False
    """Bytes that do not fit the charset became replacement characters."""


NO_DECODING_ISSUES = DecodingIssues()


def merge_decoding_issues(doubts: Iterable[DecodingIssues]) -> DecodingIssues:
    """Return what is doubtful about the whole, from that of its parts."""
    return DecodingIssues(*map(any, zip(*doubts, strict=True)))


def to_utf8(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return the text as valid UTF-8, and whether it was read as Windows-1252.

    ``auto`` tries UTF-8, then falls back to Windows-1252; a named encoding is strict. Raise `DocumentError` for bytes that are not valid in it.
    Byte order marks are not looked at: see `detect_encoding`.
    """
    if encoding == "auto":
        return (
            (body, False) if _is_utf8(body) else (body.decode("cp1252", "replace").encode(), True)
        )
    try:
        return body.decode(encoding, UNDEFINED_AS_CONTROLS).encode("utf-8", "replace"), False
    except UnicodeError as problem:
        found = (
            f"at byte {problem.start}"
            if isinstance(problem, UnicodeDecodeError)
            else f"({problem})"
        )
        raise DocumentError(f"not valid {encoding} {found}", hint="see --encoding") from None
    except (LookupError, ValueError):  # ValueError: the name contains a zero byte
        raise UsageError(f"{encoding} is not a text encoding", hint="see --encoding") from None


def decode_text(body: bytes, encoding: str) -> tuple[bytes, DecodingIssues]:
    """Return the text as `to_utf8` does, and what is doubtful about it."""
    text, transcoded = to_utf8(body, encoding)
    return text, DecodingIssues(transcoded) if transcoded else NO_DECODING_ISSUES


def drop_partial_characters(piece: bytes) -> bytes:
    """Return a piece of UTF-8 without the parts of characters at its ends."""
    return piece if piece.isascii() else piece.decode("utf-8", "ignore").encode()


def is_plain(body: bytes) -> bool:
    """Return whether bytes are valid UTF-8 without the separators of documents, so that no document in them needs a closer look."""
    return _is_utf8(body) and not contains_separators(body)


def normalize_plain_lines(content: bytes) -> bytes | None:
    r"""Return whole lines with only LF between them, as they are read; None if they are not plain.

    >>> plain_lines(b"one\r\ntwo\n")
    b'one\ntwo'
    """
    if not is_plain(content):
        return None
    content = content.removesuffix(b"\n")
    return content.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in content else content


def _is_utf8(body: bytes) -> bool:
    if body.isascii():
        return True
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_not_binary(body: bytes, *, whole_file: bool = False) -> None:
    """Raise `DocumentError` for bytes of no named encoding that are no text, by the share of their control bytes.

    A ``whole_file`` is also known by its first bytes.
    """
    is_pdf = whole_file and body.startswith(b"%PDF-") and b"endobj" in body  # it may be all ASCII
    if not (
        is_pdf or b"\0" in body or b"\x1e" in body or b"\x1f" in body
    ):  # few other binary files have none of these, and none of any size
        return
    kinds = (
        kind for beginning, kind in _SIGNATURES.items() if re.match(beginning, body, re.DOTALL)
    )
    if whole_file and (kind := next(kinds, None)):
        raise DocumentError(f"binary, not text ({kind})")
    found = len(body) - len(body.translate(None, _NO_TEXT_BYTES))
    if found > max(_FEW, len(body) / _SHARE) or (whole_file and found == len(body)):
        first = next(place for place, byte in enumerate(body) if byte in _NO_TEXT_BYTES)
        raise DocumentError(f"binary, not text (control bytes, the first at {first})")


def decode_name(name: bytes, encoding: str = "auto") -> str:
    """Return a label, or the name of a file or column, as text; see `to_utf8`. Raise `DocumentError` also for a NUL byte in it."""
    if b"\0" in name:
        raise DocumentError(f"a name with a NUL byte: {name[:40].decode('utf-8', 'replace')!r}")
    return clean_label(to_utf8(name, encoding)[0].decode())


def detect_encoding(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Return the bytes of a file, and its encoding; with ``auto``, a byte order mark decides, and UTF-16 is known without one.

    Only for the beginning of a file or of a part of a mail: in a row of a table, the same bytes are text.
    """
    if encoding != "auto":
        return body, encoding
    if not body.startswith(_ANY_MARK):
        return body, _unmarked_utf16(body) or encoding
    mark, name = next((mark, name) for mark, name in _MARKS if body.startswith(mark))
    return (body[len(mark) :] if name == "utf-8" else body), name


def _unmarked_utf16(start: bytes) -> str | None:
    """Return the kind of UTF-16 in which bytes without a mark are: at least four characters, four of five below U+0700.

    That is Latin, Greek, Cyrillic, Hebrew and Arabic script: every second byte is one that no text in another encoding has.
    """
    if b"\0" not in start[:WIDE_ENCODING_PROBE_BYTES]:
        return None
    first = start[:WIDE_ENCODING_PROBE_BYTES:2]
    second = start[1:WIDE_ENCODING_PROBE_BYTES:2]
    if len(second) < _FEW:
        return None
    for high, low, name in ((second, first, "utf-16-le"), (first, second, "utf-16-be")):
        if 0 not in low and len(high.translate(None, _NO_TEXT_BYTES[:7])) * 5 <= len(high):
            return name
    return None


def decode_with_charset(
    body: bytes, charset: str | None, encoding: str
) -> tuple[bytes, DecodingIssues]:
    """Decode by the charset that a text declares, and replace bytes that do not fit; if the label is unknown or says nothing, decode as `to_utf8`.

    A mark of UTF-16 decides nothing here: two bytes before a text would hide it.
    """
    declared = find_codec(charset) if charset and charset.lower() not in _ASCII else None
    codec = declared or encoding
    if codec == "auto":
        codec = _unmarked_utf16(body) or codec
    try:
        text, doubts = decode_text(body, codec)
    except DocumentError:
        if declared is None and codec == encoding:  # the user names it
            raise
        is_mislabelled = _is_mislabelled(body, codec)
        text, doubts = decode_text(body, "auto") if is_mislabelled else _replaced(body, codec)
    return text.removeprefix(codecs.BOM_UTF8), doubts


def _is_mislabelled(body: bytes, codec: str) -> bool:
    """Return whether bytes that do not fit a charset are in UTF-8, or have nothing of it beyond ASCII if that is the charset."""
    if codec == "utf-8":
        return body.decode("utf-8", "ignore").isascii()
    return not body.isascii() and _is_utf8(body)


def _replaced(body: bytes, codec: str) -> tuple[bytes, DecodingIssues]:
    """Decode bytes of which some do not fit; in ISO-2022-JP that may be circled digits, which are characters of its newest version."""
    if codec == "iso2022_jp_ext":
        body = body.replace(b"\x1b$B", b"\x1b$(Q")
        codec = "iso2022_jp_2004"
    text = body.decode(codec, "replace")
    return text.encode("utf-8", "replace"), DecodingIssues(has_replacements="\ufffd" in text)


def is_ascii_compatible(encoding: str) -> bool:
    """Return whether an encoding writes ASCII as ASCII, so that lines and columns can be found before text is decoded."""
    try:
        return encoding == "auto" or _STRUCTURE.encode(encoding) == _STRUCTURE.encode()
    except (LookupError, UnicodeError):
        return False


def is_wide_encoding(start: bytes) -> bool:
    """Return whether a file with this beginning is in UTF-16 or UTF-32."""
    return detect_encoding(start, "auto")[1] not in ("auto", "utf-8")
