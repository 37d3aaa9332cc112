"""What a mail repeats or appends: quoted lines of the message that it answers, and signatures."""

from __future__ import annotations

import re

_SIGNATURE = re.compile(rb"^--[ ]?\r?$", re.MULTILINE)
_QUOTED = re.compile(rb"[ \t]*\w{0,4}>")
_COPY = re.compile(rb"^-{2,}[ ]*original message[ ]*-{2,}", re.MULTILINE | re.IGNORECASE)


def without_signature(text: bytes) -> bytes:
    """The text up to the last line that is only "--", or "-- " as RFC 3676 (4.3) has it."""
    last = None
    for last in _SIGNATURE.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return text[: last.start()] if last else text


def without_quotes(text: bytes) -> bytes:
    r"""The text without lines that begin with ">" (or initials and ">"), and without the line ending in a colon before them.

    >>> without_quotes(b"On Monday Ann wrote:\n> the moon\n\nNo.\n")
    b'\nNo.\n'

    What follows a line "-----Original Message-----" is left out too.
    """
    copy = _COPY.search(text)
    kept: list[bytes] = []
    quoted = False
    for line in (text[: copy.start()] if copy else text).splitlines(keepends=True):
        if not _QUOTED.match(line):
            quoted = False
            kept.append(line)
        elif not quoted:
            quoted = True
            _drop_attribution(kept)
    return b"".join(kept)


def _drop_attribution(kept: list[bytes]) -> None:
    empty = 1 if kept and not kept[-1].strip() else 0
    if len(kept) > empty and kept[-1 - empty].rstrip().endswith(b":"):
        del kept[-1 - empty :]
