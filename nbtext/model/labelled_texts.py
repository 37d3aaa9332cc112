"""Texts and labels as they are given to `TextClassifier`: str or bytes, or with attributes mappings, in step."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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
        yield (str(label) if isinstance(label, str) else label), text  # type: ignore[misc] # a label of a numpy array is a str of its own kind
    if not number:
        raise UsageError("there are no texts")


def all_utf8(texts: Iterable[Text], attributes: Attributes) -> Iterator[bytes]:
    """Each document in valid UTF-8; raises `UsageError` for one text where several are wanted, and with its place for what is no document."""
    if isinstance(texts, (str, bytes)):
        raise UsageError("one text was given where several are wanted", hint="put it into a list")
    return _each(texts, partial(_document, attributes) if attributes.names else _utf8)


def _each(texts: Iterable[Text], utf8: Callable[[object], bytes]) -> Iterator[bytes]:
    for place, text in enumerate(texts):
        try:
            document = utf8(text)
        except (DocumentError, UsageError) as problem:
            raise UsageError(problem.message, where=f"texts[{place}]", hint=problem.hint) from None
        yield document


def _document(attributes: Attributes, given: object) -> bytes:
    if isinstance(given, (str, bytes)):
        return attributes.document(_utf8(given), [""] * len(attributes.names))
    if not isinstance(given, Mapping):
        keys = ", ".join((TEXT, *attributes.names))
        raise UsageError(f"{given!r} is not a document", hint=f"give a mapping with the keys {keys}, or a text")
    values = [given.get(name) for name in attributes.names]
    return attributes.document(_utf8(given.get(TEXT, "")), ["" if value is None else str(value) for value in values])


def _utf8(text: object) -> bytes:
    """Valid UTF-8 of a text; what is not valid becomes a question mark or U+FFFD. Raises `UsageError` for what is no text, such as None or NaN."""
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace").encode()
    raise UsageError(f"{text!r} is not a text; texts are str, or bytes in UTF-8", hint="leave the document out, or give an empty text")
