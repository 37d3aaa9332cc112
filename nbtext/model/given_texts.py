"""Documents and paths given from Python: a text as str or bytes, or with attributes a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat, zip_longest
from os import PathLike, fspath
from typing import TYPE_CHECKING

from nbtext.attributes import weight_in_units
from nbtext.document_parts import WEIGHT_UNIT, with_weight, without_separators
from nbtext.errors import DocumentError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.attributes import Attributes

    Text = str | bytes | Mapping[str, object]
    Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

TEXT = "text"
"""The key of the text where documents are mappings; the others are attributes."""


def path_names(paths: Paths) -> list[str]:
    """Return the names of paths; one may be given by itself."""
    return [fspath(path) for path in ([paths] if isinstance(paths, (str, PathLike)) else paths)]


def labelled_texts(
    texts: Iterable[Text], labels: Iterable[str], attributes: Attributes, weights: Iterable[float] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield labels with their documents, and the weight of each inside it; documents of weight 0 are left out.

    Raises `UsageError` if there are more of one than of the others, or none, and for a weight that is none.
    """
    end = object()
    number = 0
    of_documents = repeat(WEIGHT_UNIT) if weights is None else _in_units(weights)
    for label, text in zip_longest(labels, all_utf8(texts, attributes), fillvalue=end):
        if label is end or text is end:
            raise UsageError(f"there are {'fewer' if label is end else 'more'} labels than texts", hint="give each text one label")
        units = next(of_documents, None)
        if units is None:
            raise UsageError("there are fewer weights than texts", hint="give each text one weight")
        number += 1
        if units:
            named = str(label) if isinstance(label, str) else label  # a label of a numpy array is a str of its own kind
            yield named, with_weight(text, units)  # type: ignore[misc, arg-type]
    if not number:
        raise UsageError("there are no texts")
    if weights is not None and next(of_documents, None) is not None:
        raise UsageError("there are more weights than texts", hint="give each text one weight")


def _in_units(weights: Iterable[float]) -> Iterator[int]:
    for place, weight in enumerate(weights):
        try:
            yield weight_in_units("sample_weight", f"{float(weight):.6f}".rstrip("0") if isinstance(weight, (int, float)) else str(weight))
        except DocumentError as problem:
            raise UsageError(problem.message, where=f"texts[{place}]", hint=problem.hint) from None


def all_utf8(texts: Iterable[Text], attributes: Attributes) -> Iterator[bytes]:
    """Yield each document in valid UTF-8; raises `UsageError` for one text where several are wanted, and for what is no document, with its place."""
    if isinstance(texts, (str, bytes)):
        raise UsageError("one text was given where several are wanted", hint="put it into a list")
    for place, text in enumerate(texts):
        try:
            document = _document(attributes, text) if attributes.names else _utf8(text)
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
    """Return a text in valid UTF-8 without separators, with a question mark or U+FFFD for what is not valid; raises `UsageError` for what is no text, such as None or NaN."""
    if isinstance(text, str):
        return without_separators(text.encode("utf-8", "replace"))
    if isinstance(text, bytes):
        return without_separators(text.decode("utf-8", "replace").encode())
    raise UsageError(f"{text!r} is not a text; texts are str, or bytes in UTF-8", hint="leave the document out, or give an empty text")
