"""Texts and labels as they are given to `TextClassifier`: str or bytes, or with attributes mappings, in step."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from nbtext.attributes import Attributes

    Text = str | bytes | Mapping[str, object]

TEXT = "text"
"""The key of the text where documents are mappings; the others are attributes."""


def labelled_texts(texts: Iterable[Text], labels: Iterable[str], attributes: Attributes) -> Iterator[tuple[str, bytes]]:
    """Labels with their documents; raises `UsageError` if there are more of one than of the other, or none."""
    end = object()
    number = 0
    for label, text in zip_longest(labels, all_utf8(texts, attributes), fillvalue=end):
        if label is end or text is end:
            raise UsageError(f"there are {'fewer' if label is end else 'more'} labels than texts", hint="give each text one label")
        number += 1
        yield label, text  # type: ignore[misc]
    if not number:
        raise UsageError("there are no texts")


def all_utf8(texts: Iterable[Text], attributes: Attributes) -> Iterator[bytes]:
    """Each document in valid UTF-8; raises `UsageError` for one text where several are wanted, and for a value that is not of its kind."""
    if isinstance(texts, (str, bytes)):
        raise UsageError("one text was given where several are wanted", hint="put it into a list")
    return (_document(text, attributes) for text in texts) if attributes.names else map(_utf8, texts)


def _document(given: Text, attributes: Attributes) -> bytes:
    if isinstance(given, (str, bytes)):
        return attributes.document(_utf8(given), [""] * len(attributes.names))
    values = [given.get(name) for name in attributes.names]
    try:
        return attributes.document(_utf8(given.get(TEXT, "")), ["" if value is None else str(value) for value in values])
    except DocumentError as problem:
        raise UsageError(problem.message, hint=problem.hint) from None


def _utf8(text: object) -> bytes:
    """Valid UTF-8 of a text; what is not valid becomes a question mark or U+FFFD."""
    return text.decode("utf-8", "replace").encode() if isinstance(text, bytes) else str(text).encode("utf-8", "replace")
