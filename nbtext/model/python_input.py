"""Documents, labels and paths given from Python: a text as str or bytes, or with fields or attributes a mapping; a label of any type of `LABEL_KINDS`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat, zip_longest
from numbers import Integral
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple
from warnings import warn

import numpy as np

from nbtext.document_fields import (
    WEIGHT_UNIT,
    Attributes,
    clean_text,
    normalise_field_name,
    parse_weight,
)
from nbtext.errors import DocumentError, UsageError, did_you_mean, join_names
from nbtext.model.schema import LABEL_KINDS
from nbtext.prediction.labels import clean_label, list_labels, make_label_set

if TYPE_CHECKING:
    from nbtext.corpus.document import Document
    from nbtext.prediction.labels import Label as LabelOfDocument
    from nbtext.settings import Reading

    Label = str | float | np.generic | Sequence[str | float | np.generic]
    Text = str | bytes | Mapping[str, object]
    Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
    from nbtext.type_names import Array, Fields, Ints, Mask, Names

COUNTS_WORDS_MESSAGE = "nbtext counts words itself"

TEXT_KEY = "text"
"""The key of the text where documents are mappings; the others are fields and attributes."""


class IndicatorFormat(NamedTuple):
    """The form of sets of labels that are given as a matrix of 0 and 1."""

    columns: list[object]
    """The label of each column."""
    is_sparse: bool

    # An array, or a matrix of scipy, which has no types.
    def to_matrix(self, members: Mask, classes: Array) -> Any:  # noqa: ANN401
        """Return the matrix that says which of some labels documents have."""
        found = np.zeros((len(members), len(self.columns)), np.int64)
        found[:, list(map(self.columns.index, classes.tolist()))] = members
        if not self.is_sparse:
            return found
        from scipy.sparse import csr_matrix

        return csr_matrix(found)


class InputLabels:
    """The names of the classes of labels, which are all of one type; ``kind`` is that type, known from the first label on.

    Iterating raises `UsageError` for a label of another type.
    """

    # An iterable, or a matrix.
    def __init__(self, labels: Any, kind: str | None = None) -> None:  # noqa: ANN401
        _require_several(labels, "label")
        self._labels = labels
        self.kind = kind
        self.indicator: IndicatorFormat | None = None
        if len(getattr(labels, "shape", ())) > 1:
            columns = list(getattr(labels, "columns", range(labels.shape[1])))
            is_sparse = hasattr(labels, "toarray")
            matrix = labels.toarray() if is_sparse else np.asarray(labels)
            if matrix.shape[1:] == (1,):
                self._labels = matrix[:, 0].tolist()
            elif matrix.ndim == 2 and np.isin(matrix, (0, 1)).all():
                self.indicator = IndicatorFormat(columns, is_sparse)
                self._labels = ([columns[place] for place in np.flatnonzero(row)] for row in matrix)
            else:
                raise UsageError(
                    "labels in two dimensions are 0 or 1",
                    hint="give each text one label, or a list of labels",
                )

    def __iter__(self) -> Iterator[LabelOfDocument]:
        """Yield the name of each label's class, or of a list, tuple or set the set of labels."""
        for place, label in enumerate(self._labels):
            if isinstance(label, (list, tuple, set, frozenset, np.ndarray)):
                several = InputLabels(tuple(label), self.kind)
                yield make_label_set(each for label in several for each in list_labels(label))
                self.kind = several.kind
                continue
            kind = _kind(label, place)
            self.kind = self.kind or kind
            if kind != self.kind:
                raise UsageError(
                    f"the label {label!r} is no {self.kind}, as others are",
                    where=f"labels[{place}]",
                    hint="give all labels one type",
                )
            yield clean_label(str(LABEL_KINDS[kind](str(label))))


def _kind(label: object, place: int) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, Integral):
        return "int"
    if isinstance(label, (float, np.floating)) and np.isfinite(label):
        return "float"
    raise UsageError(
        f"{_short(label)} cannot be a label",
        where=f"labels[{place}]",
        hint="labels are texts, numbers or booleans",
    )


class TypedClasses(NamedTuple):
    """The classes of a model as labels in the type of those it was given."""

    kind: str
    classes: Array
    """Sorted, shape (n_classes,)."""
    order: Ints
    """The number of each one's name among the sorted names, shape (n_classes,)."""

    @classmethod
    def from_names(cls, names: Names, kind: str) -> TypedClasses:
        """Return the classes of some names, as text unless all names are of that kind: files may have brought new classes to a model of numbers."""
        try:
            classes = np.array(
                [LABEL_KINDS[kind](name) for name in names], object if kind == "text" else None
            )
        except (KeyError, ValueError):
            return cls.from_names(names, "text")
        order = np.argsort(classes, kind="stable")
        return cls(kind, classes[order], order)


def validate_labels(labels: Iterable[Label], classes: Iterable[object]) -> Iterator[Label]:
    """Yield labels; raise `UsageError` for one that is not of these classes."""
    known = set(classes)
    for place, label in enumerate(labels):
        if not known.issuperset(
            label if isinstance(label, (list, tuple, set, frozenset, np.ndarray)) else [label]
        ):
            raise UsageError(
                f"the label {label!r} is not one of the given classes", where=f"labels[{place}]"
            )
        yield label


def to_path_names(paths: Paths) -> list[str]:
    """Return the names of paths; one may be given by itself."""
    return [fspath(path) for path in ([paths] if isinstance(paths, (str, PathLike)) else paths)]


def iter_labelled_documents(
    texts: Iterable[Text],
    labels: Iterable[LabelOfDocument],
    reading: Reading,
    weights: Iterable[float] | None = None,
) -> Iterator[Document]:
    """Yield texts with their labels and weights; those of weight 0 are left out.

    Raises `UsageError` if there are more of one than of the others, or none, and for a weight that is none.
    """
    from nbtext.corpus.document import Document

    number = 0
    of_documents = repeat(WEIGHT_UNIT) if weights is None else _in_units(weights)
    for label, given in zip_longest(labels, iter_contents(texts, reading)):
        if label is None or given is None:
            raise UsageError(
                f"there are {'fewer' if label is None else 'more'} labels than texts",
                hint="give each text one label",
            )
        units = next(of_documents, None)
        if units is None:
            raise UsageError("there are fewer weights than texts", hint="give each text one weight")
        number += 1
        if units:
            yield Document(str(number), label, *given, weight=units)  # type: ignore[misc]
    if not number:
        raise UsageError("there are no texts")
    if weights is not None and next(of_documents, None) is not None:
        raise UsageError("there are more weights than texts", hint="give each text one weight")


def _in_units(weights: Iterable[float]) -> Iterator[int]:
    for place, weight in enumerate(weights):
        try:
            yield parse_weight(
                "sample_weight",
                f"{weight:.3f}" if isinstance(weight, (int, float, np.number)) else str(weight),
            )
        except DocumentError as problem:
            raise UsageError(problem.message, where=f"texts[{place}]", hint=problem.hint) from None


def iter_contents(texts: Iterable[Text], reading: Reading) -> Iterator[tuple[Any, ...]]:
    """Yield the text of each document in valid UTF-8, followed by its fields and values where documents have keys.

    Raises `UsageError` for one text where several are wanted, and for what is no document, with its place.
    """
    attributes = Attributes.from_settings(reading)
    fields = _fields(reading)
    has_keys = bool(fields or attributes.names)
    for place, text in enumerate(extract_rows(texts, reading)):
        try:
            content = _content(fields, attributes, text) if has_keys else (_utf8(text),)
        except (DocumentError, UsageError) as problem:
            raise UsageError(problem.message, where=f"texts[{place}]", hint=problem.hint) from None
        yield content


def _fields(reading: Reading) -> list[str]:
    return reading.tag_fields.split(",") if reading.tag_fields else []


def _require_several(given: object, noun: str) -> None:
    """Raise `UsageError` for one text or label, for none, and for a set, which has no order, or a mapping."""
    if (
        isinstance(given, (str, bytes, Mapping, AbstractSet))
        or not hasattr(given, "__iter__")
        or getattr(given, "shape", None) == ()
    ):
        raise UsageError(
            f"{noun}s are a list, an array or a column, not {_short(given)}",
            hint=f"put one {noun} into a list",
        )


def _short(value: object) -> str:
    """Return a value as Python writes it, in one line of at most 60 characters."""
    return " ".join(repr(value).split())[:60]


def extract_rows(texts: Iterable[Text], reading: Reading) -> Iterable[Any]:
    """Return the documents of a data frame or array of two dimensions: its only column, or where documents have keys its rows by the names of columns.

    Warn of columns that are never read. Raise `UsageError` for one text, for a column that is not there, and for numbers of a vectoriser.
    """
    _require_several(texts, "text")
    shape: tuple[int, ...] = getattr(texts, "shape", ())
    if len(shape) != 2:
        return texts
    keys = (*_fields(reading), *Attributes.from_settings(reading).names)
    if keys and hasattr(texts, "iterrows"):
        return _rows_of_frame(texts, keys, needs_text=bool(reading.tag_fields))
    if (
        shape[0]
        and not keys
        and (hasattr(texts, "toarray") or np.asarray(texts).dtype.kind in "biufc")
    ):
        raise UsageError(
            f"{COUNTS_WORDS_MESSAGE}; give texts",
            hint="leave out CountVectorizer, TfidfVectorizer or what else made numbers of them",
        )
    if shape[1] != 1:
        raise UsageError(
            f"there are {shape[1]} columns where one of texts is wanted",
            hint="give the column of the texts, as in df['text']",
        )
    return np.asarray(texts)[:, 0]


# pandas is not imported.
def _rows_of_frame(frame: Any, keys: Names, *, needs_text: bool) -> Any:  # noqa: ANN401
    """Return the rows of a data frame of pandas; raise `UsageError` if it lacks a key, or the text while columns that seem to be texts are not read."""
    frame = frame.rename(columns=str)
    columns = frame.columns.tolist()
    unread = [name for name in columns if name not in {TEXT_KEY, *keys}]
    needs_text |= any(
        isinstance(value, str) and " " in value for value in frame[unread].to_numpy().flat
    )
    needed = list(keys)
    if needs_text and unread:
        needed.append(TEXT_KEY)
    if missing := [name for name in needed if name not in columns]:
        raise UsageError(
            f"no column is called {missing[0]!r}{did_you_mean(missing[0], columns)}",
            hint=f"there are {join_names(columns, 20)}",
        )
    if unread:
        warn(
            f"columns of the data frame that are never read: {join_names(unread, 20)}; that of the "
            f"texts is called {TEXT_KEY!r}",
            stacklevel=2,
        )
    return frame.to_dict("records")


def _content(
    fields: Names, attributes: Attributes, given: object
) -> tuple[bytes, Fields, tuple[str, ...]]:
    if isinstance(given, (str, bytes)):
        given = {TEXT_KEY: given}
    if not isinstance(given, Mapping):
        keys = ", ".join((TEXT_KEY, *fields, *attributes.names))
        raise UsageError(
            f"{_short(given)} is not a document",
            hint=f"give a mapping with the keys {keys}, or a text",
        )
    words = [
        (normalise_field_name(name), _utf8(given[name]))
        for name in fields
        if not _is_missing(given.get(name))
    ]
    values = [given.get(name) for name in attributes.names]
    return (
        _utf8(given.get(TEXT_KEY, "")),
        words,
        attributes.normalise_values(["" if _is_missing(value) else str(value) for value in values]),
    )


def _is_missing(value: object) -> bool:
    """Return whether a value is None, or NaN, NA or NaT as in a data frame."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
    )


def _utf8(text: object) -> bytes:
    """Return a text in valid UTF-8 without separators, with a question mark or U+FFFD for what is not valid; raises `UsageError` for what is no text, such as None or NaN."""
    if isinstance(text, str):
        return clean_text(text.encode("utf-8", "replace"))
    if isinstance(text, bytes):
        return clean_text(text.decode("utf-8", "replace").encode())
    hint = (
        "leave the document out, or give an empty text"
        if _is_missing(text)
        else COUNTS_WORDS_MESSAGE
    )
    raise UsageError(f"{_short(text)} is not a text; texts are str, or bytes in UTF-8", hint=hint)
