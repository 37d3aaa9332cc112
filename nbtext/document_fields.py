"""Clean, parse and serialise the fields, attribute values and weight of a document.

They are the parts of a document in addition to its text. `nbtext.corpus.document.Document` keeps
all parts separate. For a digest, text, fields and values are joined:

    TEXT  (U+001D NAME U+001C space CONTENT)*  [U+001D U+001C space ITEMS]  [U+001E VALUES]

U+001F separates the values. No text, field or value contains a separator. A field with an empty
name contains items, separated by spaces. Each item becomes one term, without changes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple, Self

from nbtext.errors import DocumentError
from nbtext.settings import expand_column_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.settings import Reading
    from nbtext.type_names import Fields, Ints, Names

    Columns = tuple[str, ...]

_FIELD_SEPARATOR = b"\x1d"
_NAME_END = b"\x1c "
_VALUES_START = b"\x1e"
VALUE_SEPARATOR = "\x1f"

FIELDS_KEY = "nbtext_fields"
"""The JSON key of fields in the lines that `nbtext label` writes."""

_SEPARATORS = b"\0\x1c\x1d\x1e\x1f"
_SEPARATORS_TO_SPACES = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))

_MAX_NAME_CHARS = 60
"""Longer names of fields are cut off."""

WEIGHT_UNIT = 1000
"""Weights are whole numbers of thousandths, so that their sums are exact."""


@lru_cache(1 << 12)
def normalise_field_name(name: str) -> bytes:
    """Return the name of the field for a column, key or header, given its name.

    Letters become lower case. White space, colons and separators become ``_``.

    >>> normalise_field_name("Head Line")
    b'head_line'
    """
    short_name = name.strip().lower()[:_MAX_NAME_CHARS]
    normalised = re.sub(r"[\s:\x00-\x1f\x7f]+", "_", short_name) or "_"
    return normalised.encode("utf-8", "replace")


_ESCAPE_SEQUENCE = (
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78])"
)
"""Control sequences of terminals: colours, movements, titles, character sets (ECMA-48, 5.4)."""


def clean_text(text: bytes) -> bytes:
    """Return a text with spaces instead of separators, and without terminal control sequences.

    Separators would imitate a field or a value, and control sequences would become words.
    """
    if not needs_cleaning(text):
        return text
    return replace_separators(re.sub(_ESCAPE_SEQUENCE, b"", text))


def replace_separators(text: bytes) -> bytes:
    """Return a text with spaces instead of separators and NUL bytes."""
    if not needs_cleaning(text):
        return text
    return text.translate(_SEPARATORS_TO_SPACES)


def needs_cleaning(text: bytes) -> bool:
    """Return whether a text contains separators, NUL bytes or escape characters."""
    # searching for bytes objects would take ten times as long
    return 0 in text or 0x1B in text or 0x1C in text or 0x1D in text or 0x1E in text or 0x1F in text


def clean_fields(fields: Fields) -> Fields:
    """Return the fields, with contents cleaned by `clean_text`.

    Raise `UnicodeDecodeError` if a field is not UTF-8, while the caller still knows the document.
    """
    joined = b"\n".join(chain.from_iterable(fields))
    if not joined.isascii():
        joined.decode()  # only to raise the error
    if not needs_cleaning(joined):
        return fields
    return [(name, clean_text(content)) for name, content in fields]


def parse_field_pairs(pairs: object) -> Fields:
    """Return the fields of a JSON list of pairs of name and content.

    All contents with an empty name are joined into the last field. Raise `ValueError` if ``pairs``
    is not a list of pairs of texts.
    """
    if not isinstance(pairs, list):
        raise ValueError  # noqa: TRY004 - JSON of another type is an invalid value
    fields = []
    items = []
    for pair in pairs:
        if not isinstance(pair, list) or not all(isinstance(text, str) for text in pair):
            raise ValueError
        name, text = pair  # raises `ValueError` if there are not two texts
        content = text.encode("utf-8", "replace")
        if name:
            fields.append((normalise_field_name(name), content))
        else:
            items.append(content)
    joined_items = b" ".join(items)
    if joined_items:
        fields.append((b"", joined_items))
    return fields


def render_document(text: bytes, fields: Fields) -> bytes:
    """Return a document for display: its fields are lines after the text."""
    pieces = [text]
    for name, content in fields:
        separator = b": " if name else b"  "  # of the same length, for `iter_content_offsets`
        pieces += (b"\n", name, separator, content)
    return b"".join(pieces)


def iter_content_offsets(text: bytes, fields: Fields) -> Iterator[int]:
    """Yield the offset in `render_document` at which the content of each field starts."""
    end = len(text)
    for name, content in fields:
        start = end + len("\n") + len(name) + len(": ")
        yield start
        end = start + len(content)


def serialise_document(text: bytes, fields: Fields = (), values: Names = ()) -> bytes:
    """Return a document as bytes, for digests, in the form of the module docstring."""
    if fields:
        text = _FIELD_SEPARATOR.join([text, *map(_NAME_END.join, fields)])
    if values:
        text += _VALUES_START + VALUE_SEPARATOR.join(values).encode()
    return text


def append_weight(document: bytes, units: int) -> bytes:
    r"""Return a serialised document with its weight, for fingerprints in the ledger.

    The byte ``\xff``, which UTF-8 does not use, precedes the weight. The weight 1 is not appended.
    """
    if units == WEIGHT_UNIT:
        return document
    return b"%b\xff%d" % (document, units)


class FieldColumns(NamedTuple):
    """The fields of a block of documents as columns, in the order of documents and their fields.

    Fields with a name have words as contents. Fields of items have columns of their own.
    """

    names: list[bytes]
    """Name of each field with a name, length n_fields."""
    contents: list[bytes]
    """Content of each field with a name, length n_fields."""
    documents: Ints
    """Index in the block of the document of each field with a name, shape (n_fields,)."""
    items: list[bytes]
    """Items of each document that has items, separated by spaces."""
    item_documents: Ints
    """Index in the block of the document of each element of ``items``."""

    @classmethod
    def from_fields(cls, fields: Sequence[Fields]) -> Self:
        """Return the columns of the fields of each document. At least one document has fields."""
        import numpy as np

        documents = np.repeat(np.arange(len(fields)), list(map(len, fields)))
        names, contents = zip(*chain.from_iterable(fields), strict=True)
        has_name = np.fromiter(map(bool, names), np.bool_, len(names))
        return cls(
            names=list(compress(names, has_name)),
            contents=list(compress(contents, has_name)),
            documents=documents[has_name],
            items=list(compress(contents, ~has_name)),
            item_documents=documents[~has_name],
        )


ATTRIBUTE_KINDS = ("categorical", "count", "numeric")
"""The kinds of attributes. For each, a setting of `nbtext.settings.Reading` lists the columns."""

NON_TEXT_SETTINGS = ("tag_fields", *ATTRIBUTE_KINDS)
"""The settings in `nbtext.settings.Reading` that name parts of a document other than its text."""

NO_TEXT = "none"
"""The text column of documents that consist only of attributes."""

# Within these bounds, squares can be summed exactly.
MAX_NUMBER = 1e100
"""Upper bound of the absolute value of a number."""
MIN_NUMBER = 1e-100
"""Lower bound of the absolute value of a number that is not 0."""

COUNT_LIMIT = 2**53
"""Upper bound of counts, excluded."""

MAX_STD_DEVIATIONS = 1e50
"""Largest distance of a number from a mean in a score, so that sums of squares stay finite."""

MAX_DOCUMENT_WEIGHT = 1_000_000

_WEIGHT = re.compile(r"(\d{1,7})(?:\.(\d{0,3})0*)?", re.ASCII)

DECLARED_SIZE = re.compile(r"=([1-9]\d{0,8})$")
"""The declared number of values at the end of a categorical column, such as ``colour=12``."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class Attributes(NamedTuple):
    """The names of attributes by kind: categories, whole numbers from 0, and real numbers."""

    categorical: Columns = ()
    counts: Columns = ()
    numeric: Columns = ()

    @classmethod
    def from_settings(cls, reading: Reading) -> Attributes:
        """Return the attributes that the settings name."""
        categorical = _split_columns(reading.categorical)
        return cls(
            categorical=tuple(DECLARED_SIZE.sub("", column) for column in categorical),
            counts=_split_number_columns(reading.count),
            numeric=_split_number_columns(reading.numeric),
        )

    @property
    def names(self) -> Columns:
        """All names, in the order of the values of a document."""
        return self.categorical + self.counts + self.numeric

    @property
    def number_columns(self) -> Columns:
        """The names of counts and real numbers."""
        return self.counts + self.numeric

    def normalise_values(self, values: Names) -> tuple[str, ...]:
        """Return the values of a document in the form in which they are counted.

        A missing value is "". Raise `DocumentError` for a number that `_normalise_number` rejects.
        """
        n_categorical = len(self.categorical)
        normalised = [_normalise_category(value) for value in values[:n_categorical]]
        numbers = values[n_categorical:]
        for index, name in enumerate(self.number_columns):
            is_whole = index < len(self.counts)
            normalised.append(_normalise_number(name, numbers[index].strip(), is_whole=is_whole))
        return tuple(normalised)


NO_ATTRIBUTES = Attributes()


def _split_columns(setting: str | None) -> Columns:
    if not setting:
        return ()
    return tuple(setting.split(","))


def _split_number_columns(setting: str | None) -> Columns:
    """Return the columns, with each range such as ``e0-e383`` expanded."""
    return tuple(chain.from_iterable(map(expand_column_range, _split_columns(setting))))


def parse_declared_sizes(reading: Reading) -> list[int | None]:
    """Return the declared number of values of each categorical column, None if undeclared.

    The values of an undeclared column are taken from the training documents.
    """
    matches = map(DECLARED_SIZE.search, _split_columns(reading.categorical))
    return [int(match[1]) if match else None for match in matches]


def _normalise_category(value: str) -> str:
    # for `split`, the separators of the module docstring are white space too
    return " ".join(value.replace("\0", " ").split())


def _normalise_number(name: str, value: str, *, is_whole: bool) -> str:
    """Return the number as Python writes it, so that equal numbers are equal texts.

    With ``is_whole``, it must be a whole number from 0. An empty value stays empty. Raise
    `DocumentError` if the value is not such a number, or is out of bounds.
    """
    if not value:
        return ""
    expected = "a whole number from 0" if is_whole else "a number"
    if _NUMBER.fullmatch(value):
        number = float(value)
        if is_whole:
            if number.is_integer() and 0 <= number < COUNT_LIMIT:
                return str(int(number))
        elif number == 0:
            return "0.0"  # also for negative zero
        elif MIN_NUMBER <= abs(number) <= MAX_NUMBER:
            return repr(number)
        else:
            expected += f" from {MIN_NUMBER:g} to {MAX_NUMBER:g} in size"
    raise DocumentError(
        f"the value {value[:40]!r} at {name!r} is not {expected}",
        hint="leave it empty if it is unknown",
    )


def parse_weight(name: str, value: str) -> int:
    """Return the weight ``value``, from column ``name``, in units of 1 / `WEIGHT_UNIT`.

    Raise `DocumentError` if the value is not a number from 0 to `MAX_DOCUMENT_WEIGHT` with at most
    three decimals, apart from zeros at the end.

    >>> parse_weight("column 3", "0.25")
    250
    """
    match = _WEIGHT.fullmatch(value.strip())
    if match:
        whole, decimals = match.groups(default="")
        units = int(whole) * WEIGHT_UNIT + int(decimals.ljust(3, "0"))
        if units <= MAX_DOCUMENT_WEIGHT * WEIGHT_UNIT:
            return units
    expected = f"a number from 0 to {MAX_DOCUMENT_WEIGHT:,} with at most three decimals"
    raise DocumentError(
        f"the weight {value[:40]!r} at {name!r} is not {expected}",
        hint="add a weight to every document",
    )
