"""Convert documents, labels and paths that Python passes to `TextClassifier`.

A text is str or bytes, or a mapping with fields or attributes. `LABEL_KINDS` has the types of
labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import compress, repeat, zip_longest
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
    from nbtext.prediction.labels import Label as DocumentLabel
    from nbtext.settings import Reading
    from nbtext.type_names import Array, Fields, Ints, Mask, Names

    Label = str | float | np.generic | Sequence[str | float | np.generic]
    Text = str | bytes | Mapping[str, object]
    Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

_NUMBERS_REFUSAL = "nbtext counts words itself"
"""Explains why numbers instead of texts are invalid."""

TEXT_KEY = "text"
"""Key of the text in documents that are mappings. The other keys are fields and attributes."""

_COLLECTION_TYPES = (list, tuple, set, frozenset, np.ndarray)

_NUMBER_KINDS = "biufc"
"""Kinds of numpy types of numbers: booleans, integers with and without sign, floats, complex."""


class IndicatorFormat(NamedTuple):
    """Format of label sets that are passed as a matrix of 0 and 1."""

    columns: list[object]
    """Label of each column."""
    is_sparse: bool

    # Any: the result may be a matrix of scipy, which has no annotations.
    def to_matrix(self, members: Mask, classes: Array) -> Any:  # noqa: ANN401
        """Return the matrix of label sets, shape (n_docs, n_columns).

        ``members`` shows which classes each document has, shape (n_docs, n_classes).
        """
        matrix = np.zeros((len(members), len(self.columns)), np.int64)
        column_of_class = [self.columns.index(label) for label in classes.tolist()]
        matrix[:, column_of_class] = members
        if not self.is_sparse:
            return matrix
        from scipy.sparse import csr_matrix

        return csr_matrix(matrix)


class InputLabels:
    """Labels of one type. Iterating over them yields class names.

    ``kind`` is the type of the labels. If it is None, the iteration sets it to the type of the
    first label. The iteration raises `UsageError` for a label of another type. ``indicator`` is the
    format of an indicator matrix, a matrix of 0 and 1 with one column for each label, or None.
    """

    # Any: the labels may be a matrix of scipy or a data frame of pandas, without annotations.
    def __init__(self, labels: Any, kind: str | None = None) -> None:  # noqa: ANN401
        _require_collection(labels, "label")
        self._labels = labels
        self.kind = kind
        self.indicator: IndicatorFormat | None = None
        if len(getattr(labels, "shape", ())) > 1:
            self._read_matrix(labels)

    def _read_matrix(self, labels: Any) -> None:  # noqa: ANN401
        """Read labels in two dimensions: a single column, or an indicator matrix."""
        column_numbers = range(labels.shape[1])
        columns = list(getattr(labels, "columns", column_numbers))  # the names in a data frame
        is_sparse = hasattr(labels, "toarray")
        matrix = labels.toarray() if is_sparse else np.asarray(labels)
        if matrix.ndim == 2 and len(columns) == 1:
            self._labels = matrix[:, 0].tolist()
        elif matrix.ndim == 2 and np.isin(matrix, (0, 1)).all():
            self.indicator = IndicatorFormat(columns, is_sparse)
            self._labels = [list(compress(columns, row)) for row in matrix]
        else:
            raise UsageError(
                "labels in two dimensions are 0 or 1",
                hint="pass one label, or a list of labels, for each text",
            )

    def __iter__(self) -> Iterator[DocumentLabel]:
        """Yield the class name of each label; for a list, tuple or set, the set of class names."""
        for position, label in enumerate(self._labels):
            yield self._read_label(label, position)

    def _read_label(self, label: object, position: int) -> DocumentLabel:
        """Return the class name of a label, or the set of class names, and set a missing `kind`."""
        if isinstance(label, _COLLECTION_TYPES):
            names: list[str] = []
            for member_position, member in enumerate(label):
                names += list_labels(self._read_label(member, member_position))
            return make_label_set(names)

        kind = _find_label_kind(label, position)
        if self.kind is None:
            self.kind = kind
        if kind != self.kind:
            raise UsageError(
                f"the label {label!r} is not a {self.kind}, and other labels are",
                where=f"labels[{position}]",
                hint="use one type for all labels",
            )
        # Convert the label to a type of Python, so that 1 and numpy.int8(1) are one class.
        parse_label = LABEL_KINDS[kind]
        python_label = parse_label(str(label))
        return clean_label(str(python_label))


def _find_label_kind(label: object, position: int) -> str:
    if isinstance(label, str):
        return "text"
    if isinstance(label, (bool, np.bool_)):  # before int, because a bool is an int
        return "bool"
    if isinstance(label, Integral):
        return "int"
    if isinstance(label, (float, np.floating)) and np.isfinite(label):
        return "float"
    raise UsageError(
        f"{_shorten_repr(label)} cannot be a label",
        where=f"labels[{position}]",
        hint="labels are texts, numbers or booleans",
    )


class TypedClasses(NamedTuple):
    """The classes of a model, as labels of the type that was passed to `fit`."""

    kind: str
    """The type of the labels, a key of `LABEL_KINDS`."""
    classes: Array
    """Sorted, shape (n_classes,)."""
    order: Ints
    """Index of each class in the names of `from_names`, shape (n_classes,)."""

    @classmethod
    def from_names(cls, names: Names, kind: str) -> TypedClasses:
        """Convert class names to labels of a kind.

        If a name cannot be converted, because files added classes of another kind to the model, all
        labels are texts.
        """
        # An array of texts of fixed width would drop NUL characters at the end.
        dtype = object if kind == "text" else None
        parse_label = LABEL_KINDS[kind]
        try:
            classes = np.array([parse_label(name) for name in names], dtype)
        except (KeyError, ValueError):  # KeyError: neither True nor False
            return cls.from_names(names, "text")
        order = np.argsort(classes, kind="stable")
        return cls(kind, classes[order], order)


def validate_labels(labels: Iterable[Label], classes: Iterable[object]) -> Iterator[Label]:
    """Yield labels; raise `UsageError` for a label that is not one of the classes."""
    known_classes = set(classes)
    for position, label in enumerate(labels):
        members = label if isinstance(label, _COLLECTION_TYPES) else [label]
        if not known_classes.issuperset(members):
            raise UsageError(
                f"the label {label!r} is not one of the classes",
                where=f"labels[{position}]",
            )
        yield label


def to_path_names(paths: Paths) -> list[str]:
    """Return paths as text. A single path need not be in a list."""
    if isinstance(paths, (str, PathLike)):
        return [fspath(paths)]
    return [fspath(path) for path in paths]


def iter_labelled_documents(
    texts: Iterable[Text],
    labels: Iterable[DocumentLabel],
    reading: Reading,
    weights: Iterable[float] | None = None,
) -> Iterator[Document]:
    """Yield texts with their labels and weights, without texts of weight 0.

    Raise `UsageError` if the numbers of texts, labels and weights differ or are 0, and for an
    invalid weight.
    """
    from nbtext.corpus.document import Document

    n_texts = 0
    weight_units = repeat(WEIGHT_UNIT) if weights is None else _to_weight_units(weights)
    for label, content in zip_longest(labels, iter_contents(texts, reading)):
        # The shorter iterable is filled with None.
        if label is None or content is None:
            comparative = "fewer" if label is None else "more"
            raise UsageError(
                f"there are {comparative} labels than texts", hint="pass one label for each text"
            )
        units = next(weight_units, None)
        if units is None:
            raise UsageError(
                "there are fewer weights than texts", hint="pass one weight for each text"
            )
        n_texts += 1
        if units > 0:
            # The content is the text, or the text, the fields and the values.
            yield Document(str(n_texts), label, *content, weight=units)  # type: ignore[misc]
    if not n_texts:
        raise UsageError("there are no texts")
    if weights is not None and next(weight_units, None) is not None:
        raise UsageError("there are more weights than texts", hint="pass one weight for each text")


def _to_weight_units(weights: Iterable[float]) -> Iterator[int]:
    """Yield weights in thousandths, rounded; raise `UsageError` for an invalid weight."""
    for position, weight in enumerate(weights):
        is_number = isinstance(weight, (int, float, np.number))
        # `parse_weight` parses texts with at most three decimals.
        text = f"{weight:.3f}" if is_number else str(weight)
        try:
            yield parse_weight("sample_weight", text)
        except DocumentError as problem:
            raise UsageError(
                problem.message, where=f"texts[{position}]", hint=problem.hint
            ) from None


def iter_contents(texts: Iterable[Text], reading: Reading) -> Iterator[tuple[Any, ...]]:
    """Yield the content of each document: its text in valid UTF-8, its fields and attribute values.

    If the reading has no fields and no attributes, the content is only the text. Raise `UsageError`
    for one text instead of a collection, and for an invalid document, with its position.
    """
    attributes = Attributes.from_settings(reading)
    fields = _list_fields(reading)
    has_keys = bool(fields or attributes.names)
    content: tuple[Any, ...]
    for position, document in enumerate(extract_rows(texts, reading)):
        try:
            if has_keys:
                content = _read_content(fields, attributes, document)
            else:
                content = (_to_utf8(document),)
        except (DocumentError, UsageError) as problem:
            raise UsageError(
                problem.message, where=f"texts[{position}]", hint=problem.hint
            ) from None
        yield content


def _list_fields(reading: Reading) -> list[str]:
    return reading.tag_fields.split(",") if reading.tag_fields else []


def wrap_single_text(texts: Iterable[Text] | Text) -> Iterable[Text]:
    """Return a collection of texts unchanged, and a single text in a list."""
    if isinstance(texts, (str, bytes, Mapping)):
        return [texts]
    return texts


def _require_collection(items: object, noun: str) -> None:
    """Raise `UsageError` for a single item, a mapping, or a set, which has no order."""
    is_scalar_array = getattr(items, "shape", None) == ()
    if (
        is_scalar_array
        or isinstance(items, (str, bytes, Mapping, AbstractSet))
        or not hasattr(items, "__iter__")
    ):
        raise UsageError(
            f"{noun}s are a list, an array or a column, not {_shorten_repr(items)}",
            hint=f"put one {noun} into a list",
        )


def _shorten_repr(value: object) -> str:
    """Return the repr of a value in one line of at most 60 characters."""
    return " ".join(repr(value).split())[:60]


def extract_rows(texts: Iterable[Text], reading: Reading) -> Iterable[Any]:
    """Return the documents of a collection, an array or a data frame.

    If the reading has fields or attributes, the rows of a data frame are returned as mappings, with
    a warning of unread columns. All other arrays and data frames of two dimensions must have a
    single column, of texts. Raise `UsageError` for one text instead of a collection, for a
    missing column, and for a matrix of numbers, such as a vectoriser returns.
    """
    _require_collection(texts, "text")
    shape: tuple[int, ...] = getattr(texts, "shape", ())
    if len(shape) != 2:
        return texts
    keys = (*_list_fields(reading), *Attributes.from_settings(reading).names)
    if keys and hasattr(texts, "iterrows"):
        has_fields = bool(reading.tag_fields)
        return _read_frame(texts, keys, needs_text=has_fields)  # fields accompany a text
    rows_are_texts = not keys
    has_rows = shape[0] > 0  # an empty array may have a type of numbers
    if rows_are_texts and has_rows and _has_numbers(texts):
        raise UsageError(
            f"{_NUMBERS_REFUSAL}; pass texts",
            hint=(
                "remove CountVectorizer, TfidfVectorizer or any other step that makes numbers of "
                "texts"
            ),
        )
    if shape[1] != 1:
        raise UsageError(
            f"there are {shape[1]} columns where one of texts is wanted",
            hint="pass the column of the texts, as in df['text']",
        )
    return np.asarray(texts)[:, 0]


def _has_numbers(matrix: object) -> bool:
    """Return whether a matrix is sparse, or has a type of numbers."""
    return hasattr(matrix, "toarray") or np.asarray(matrix).dtype.kind in _NUMBER_KINDS


# Any: pandas is not imported, so its types are not available.
def _read_frame(frame: Any, keys: Names, *, needs_text: bool) -> Any:  # noqa: ANN401
    """Return the rows of a data frame of pandas as mappings.

    Raise `UsageError` if the frame lacks a required column. The columns of the keys are required.
    The column of the text is required too if some column is unread and ``needs_text`` is set, or if
    an unread column seems to contain texts.
    """
    frame = frame.rename(columns=str)
    columns = frame.columns.tolist()
    unread_columns = [name for name in columns if name not in {TEXT_KEY, *keys}]
    has_unread_texts = any(
        isinstance(value, str) and " " in value for value in frame[unread_columns].to_numpy().flat
    )
    required_columns = list(keys)
    if has_unread_texts or (needs_text and unread_columns):
        required_columns.append(TEXT_KEY)
    missing_columns = [name for name in required_columns if name not in columns]
    if missing_columns:
        name = missing_columns[0]
        raise UsageError(
            f"no column is called {name!r}{did_you_mean(name, columns)}",
            hint=f"there are {join_names(columns, 20)}",
        )
    if unread_columns:
        warn(
            f"unused columns of the data frame: {join_names(unread_columns, 20)}; the column of "
            f"the texts is called {TEXT_KEY!r}",
            stacklevel=2,
        )
    return frame.to_dict("records")


def _read_content(
    fields: Names, attributes: Attributes, document: object
) -> tuple[bytes, Fields, tuple[str, ...]]:
    """Return text, fields and attribute values of a document, which is a mapping or a text."""
    if isinstance(document, (str, bytes)):
        document = {TEXT_KEY: document}
    if not isinstance(document, Mapping):
        keys = ", ".join((TEXT_KEY, *fields, *attributes.names))
        raise UsageError(
            f"{_shorten_repr(document)} is not a document",
            hint=f"pass a mapping with the keys {keys}, or a text",
        )
    field_contents = [
        (normalise_field_name(name), _to_utf8(document[name]))
        for name in fields
        if not _is_missing(document.get(name))
    ]
    values = [document.get(name) for name in attributes.names]
    value_texts = ["" if _is_missing(value) else str(value) for value in values]
    return (
        _to_utf8(document.get(TEXT_KEY, "")),
        field_contents,
        attributes.normalise_values(value_texts),
    )


def _is_missing(value: object) -> bool:
    """Return whether a value is None, or NaN, NA or NaT as in a data frame."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, (float, np.floating)) and bool(np.isnan(value)))
    )


def _to_utf8(text: object) -> bytes:
    """Return a text in valid UTF-8 without separators of fields.

    Invalid characters are replaced by a question mark or U+FFFD. Raise `UsageError` if ``text`` is
    not str or bytes, but for example None or NaN.
    """
    if isinstance(text, str):
        return clean_text(text.encode("utf-8", "replace"))
    if isinstance(text, bytes):
        return clean_text(text.decode("utf-8", "replace").encode())
    hint = _NUMBERS_REFUSAL
    if _is_missing(text):
        hint = "remove the document, or pass an empty text"
    raise UsageError(
        f"{_shorten_repr(text)} is not a text; texts are str, or bytes in UTF-8", hint=hint
    )
