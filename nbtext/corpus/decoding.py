"""Bytes of any encoding to UTF-8."""

from __future__ import annotations

import codecs

from nbtext.errors import DocumentError, UsageError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_WIDE_MARKS = tuple(mark for mark, name in _MARKS if name != "utf-8")

_NOT_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape")
"""Codecs of Python that are no charsets of texts; punycode takes quadratic time."""

_BINARY_WITHIN = 8192

_STRUCTURE = '\r\n\t,;|"'


def to_utf8(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Return the text as valid UTF-8, and whether it was read as Windows-1252.

    ``auto`` tries UTF-8, then falls back to Windows-1252; a named encoding is strict. Raise `DocumentError` for bytes that are no text in the
    encoding. Byte order marks are not looked at: see `detect_encoding`.
    """
    if encoding != "auto":
        return _strict(body, encoding), False
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            _refuse_binary(body)
            return body.decode("cp1252", "replace").encode(), True
    _refuse_binary(body)
    return body, False


def decoded_name(name: bytes, encoding: str = "auto") -> str:
    """Return a label, or the name of a file, as text; see `to_utf8`."""
    return to_utf8(name, encoding)[0].decode()


def detect_encoding(body: bytes, encoding: str) -> tuple[bytes, str]:
    """Return the bytes of a file, and its encoding; with ``auto``, a byte order mark decides.

    Only for the beginning of a file or of a part of a mail: in a row of a table, the same bytes are text.
    """
    if encoding == "auto":
        for mark, name in _MARKS:
            if body.startswith(mark):
                return (body[len(mark) :] if name == "utf-8" else body), name
    return body, encoding


def from_charset(body: bytes, charset: str | None, encoding: str) -> tuple[bytes, bool]:
    """Decode by the charset that a text declares, or as `to_utf8` if that is unknown or does not fit the bytes."""
    if charset and charset != "us-ascii" and (charset, encoding) != ("utf-8", "auto"):
        try:
            if codecs.lookup(charset).name not in _NOT_CHARSETS:
                return to_utf8(body, charset)
        except (DocumentError, UsageError, LookupError, ValueError):
            pass
    return to_utf8(body, encoding)


def is_ascii_compatible(encoding: str) -> bool:
    """Return whether an encoding writes ASCII as ASCII, so that lines and columns can be found before text is decoded."""
    try:
        return encoding == "auto" or _STRUCTURE.encode(encoding) == _STRUCTURE.encode()
    except (LookupError, UnicodeError):
        return False


def is_wide(start: bytes) -> bool:
    """Return whether bytes begin with the mark of UTF-16 or UTF-32."""
    return start.startswith(_WIDE_MARKS)


def _strict(body: bytes, encoding: str) -> bytes:
    try:
        return body.decode(encoding).encode("utf-8", "replace")
    except UnicodeError as problem:
        found = f"at byte {problem.start}" if isinstance(problem, UnicodeDecodeError) else f"({problem})"
        raise DocumentError(f"not valid {encoding} {found}", hint="see --encoding") from None
    except (LookupError, ValueError):  # ValueError: the name contains a zero byte
        raise UsageError(f"{encoding} is no encoding of text", hint="see --encoding") from None


def _refuse_binary(body: bytes) -> None:
    found = body.find(b"\0", 0, _BINARY_WITHIN)
    if found >= 0:
        raise DocumentError(f"binary, not text (a zero byte at {found})")
