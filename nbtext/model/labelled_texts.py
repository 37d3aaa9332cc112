"""Texts and labels as they are given to `TextClassifier`: str or bytes, in step."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Text = str | bytes


def labelled_texts(texts: Iterable[Text], labels: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Labels with their texts; raises `UsageError` if there are more of one than of the other, or none."""
    end = object()
    number = 0
    for label, text in zip_longest(labels, all_utf8(texts), fillvalue=end):
        if label is end or text is end:
            raise UsageError(f"there are {'fewer' if label is end else 'more'} labels than texts", hint="give each text one label")
        number += 1
        yield label, text  # type: ignore[misc]
    if not number:
        raise UsageError("there are no texts")


def all_utf8(texts: Iterable[Text]) -> Iterator[bytes]:
    """Valid UTF-8 of each text; raises `UsageError` for one text where several are wanted."""
    if isinstance(texts, (str, bytes)):
        raise UsageError("one text was given where several are wanted", hint="put it into a list")
    return map(_utf8, texts)


def _utf8(text: Text) -> bytes:
    """Valid UTF-8 of a text; what is not valid becomes a question mark or U+FFFD."""
    return text.encode("utf-8", "replace") if isinstance(text, str) else text.decode("utf-8", "replace").encode()
