"""What a document has beside its text: fields, values of attributes and which are refused, a weight; and how these are joined to bytes.

`nbtext.corpus.document.Document` holds them apart. A digest of a document is one of

    TEXT  (U+001D NAME U+001C space CONTENT)*  [U+001D U+001C space ITEMS]  [U+001E VALUES]

with U+001F between values. No text, field or value holds a separator.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, compress
from typing import TYPE_CHECKING, NamedTuple, Self

from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.settings import Reading
    from nbtext.type_names import Fields, Ints, Names

    Columns = tuple[str, ...]

VALUE_SEPARATOR = "\x1f"

FIELDS_KEY = "nbtext_fields"
"""The key of the fields in lines of JSON that `nbtext label` writes."""

_SEPARATORS = b"\0\x1c\x1d\x1e\x1f"
_SPACES = bytes.maketrans(_SEPARATORS, b" " * len(_SEPARATORS))

_LONGEST_NAME = 60
"""Characters of the name of a field; the rest is cut off."""

WEIGHT_UNIT = 1000
"""Weights are whole numbers of thousandths, so that their sums are exact."""


@lru_cache(1 << 12)
def normalise_field_name(name: str) -> bytes:
    """Return the name of a field made of that of a column, key or header: lower case, without white space, colon and separators.

    >>> field_name("Head Line")
    b'head_line'
    """
    return (
        re.sub(r"[\s:\x00-\x1f\x7f]+", "_", name.strip().lower()[:_LONGEST_NAME]).encode(
            "utf-8", "replace"
        )
        or b"_"
    )


_ESCAPE_SEQUENCE = (
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78])"
)
"""What a terminal does not show (ECMA-48, section 5.4): colours, movements, titles, character sets."""


def clean_text(text: bytes) -> bytes:
    """Return a text as it may stand in a document: with spaces in place of separators and of NUL bytes, without what steers a terminal.

    So no text passes for a field, for values or for a category, whatever the pattern of words, and a word in colour is that word.
    """
    if not contains_separators(text):
        return text
    return replace_separators(re.sub(_ESCAPE_SEQUENCE, b"", text))


def replace_separators(text: bytes) -> bytes:
    """Return a text with spaces in place of separators and of NUL bytes."""
    return text.translate(_SPACES) if contains_separators(text) else text


def contains_separators(text: bytes) -> bool:
    """Return whether there are separators, NUL bytes or escape sequences in a text."""
    return (
        0 in text or 0x1B in text or 0x1C in text or 0x1D in text or 0x1E in text or 0x1F in text
    )  # looking for bytes takes ten times as long


def clean_fields(fields: Fields) -> Fields:
    """Return fields with spaces in place of separators.

    Raise `UnicodeDecodeError` for what is no UTF-8: later nobody would know the document, and it would end the run.
    """
    together = b"\n".join(chain.from_iterable(fields))
    if not together.isascii():
        together.decode()
    return (
        [(name, clean_text(content)) for name, content in fields]
        if contains_separators(together)
        else fields
    )


def parse_field_pairs(pairs: object) -> Fields:
    """Return the fields of names and contents as JSON has them; raise `ValueError` for what are no pairs of texts."""
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and all(isinstance(part, str) for part in pair) for pair in pairs
    ):
        raise ValueError
    encoded = [(name, content.encode("utf-8", "replace")) for name, content in pairs]
    items = b" ".join([items for name, items in encoded if not name])
    return [
        *((normalise_field_name(name), words) for name, words in encoded if name),
        *([(b"", items)] if items else []),
    ]


def render_document(text: bytes, fields: Fields) -> bytes:
    """Return a document as people read it: fields are lines after the text."""
    return b"".join(
        [
            text,
            *((b"\n%b: %b" if name else b"\n%b  %b") % (name, content) for name, content in fields),
        ]
    )


def iter_content_offsets(text: bytes, fields: Fields) -> Iterator[int]:
    """Yield the place in what is shown where the content of each field begins."""
    end = len(text)
    for name, content in fields:
        yield (begin := end + len(name) + 3)
        end = begin + len(content)


def serialise_document(text: bytes, fields: Fields = (), values: Names = ()) -> bytes:
    """Return a document as one value of bytes, of which digests are made."""
    if fields:
        text = b"\x1d".join([text, *map(b"\x1c ".join, fields)])
    return text + b"\x1e" + VALUE_SEPARATOR.join(values).encode() if values else text


def append_weight(document: bytes, units: int) -> bytes:
    """Join a document and its weight if that is not 1, behind a byte that UTF-8 never has: a ledger has fingerprints of both."""
    return document if units == WEIGHT_UNIT else b"%b\xff%d" % (document, units)


class FieldColumns(NamedTuple):
    """The fields of a block of documents, by document and in their order there."""

    names: list[bytes]
    """Name of each field of words, length n_fields."""
    contents: list[bytes]
    """Its words, length n_fields."""
    documents: Ints
    """Its document, shape (n_fields,)."""
    items: list[bytes]
    """The items of each document that has some, with spaces between them."""
    item_documents: Ints
    """Their documents."""

    @classmethod
    def from_fields(cls, fields: Sequence[Fields]) -> Self:
        """Return the columns of the fields of each document, of which one has some."""
        import numpy as np

        owners = np.repeat(np.arange(len(fields)), list(map(len, fields)))
        names, contents = zip(*chain.from_iterable(fields), strict=True)
        of_words = np.fromiter(map(bool, names), np.bool_, len(names))
        return cls(
            list(compress(names, of_words)),
            list(compress(contents, of_words)),
            owners[of_words],
            list(compress(contents, ~of_words)),
            owners[~of_words],
        )


ATTRIBUTE_KINDS = ("categorical", "count", "numeric")
"""The parameters of `nbtext.settings.Reading` that name attributes."""

NON_TEXT_SETTINGS = ("tag_fields", *ATTRIBUTE_KINDS)
"""Those that name what a document has beside its text."""

NO_TEXT = "none"
"""The text column of documents that consist of attributes alone."""

MAX_NUMBER = 1e100
MIN_NUMBER = 1e-100
"""Range of the absolute value of a number that is not 0, so that squares can be summed exactly."""

COUNT_LIMIT = 2**53
"""Upper bound of counts, itself excluded."""

MAX_STD_DEVIATIONS = 1e50
"""Most standard deviations between a number and a mean in a score, so that sums of squares stay finite."""

MAX_DOCUMENT_WEIGHT = 1_000_000
"""Largest weight of a document."""

_WEIGHT = re.compile(r"(\d{1,7})(?:\.(\d{0,3})0*)?", re.ASCII)

DECLARED_SIZE = re.compile(r"=([1-9]\d{0,8})$")
"""The number of values that a categorical column is declared to have, at the end of its name."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class Attributes(NamedTuple):
    """The names of attributes by kind: categories, whole numbers from 0, and real numbers."""

    categorical: Columns = ()
    counts: Columns = ()
    numeric: Columns = ()

    @classmethod
    def from_settings(cls, reading: Reading) -> Attributes:
        """Return those that the settings name."""
        of_kinds = (reading.categorical, reading.count, reading.numeric)
        categorical, counts, numeric = (
            tuple(columns.split(",")) if columns else () for columns in of_kinds
        )
        return cls(tuple(DECLARED_SIZE.sub("", name) for name in categorical), counts, numeric)

    @property
    def names(self) -> Columns:
        """All names, in the order of the values of a document."""
        return self.categorical + self.counts + self.numeric

    @property
    def number_columns(self) -> Columns:
        """The names of counts and real numbers."""
        return self.counts + self.numeric

    def normalise_values(self, values: Names) -> tuple[str, ...]:
        """Return the values of a document, empty where missing, as they are counted; raises `DocumentError` for a value that is not of its kind."""
        checked = [_category(value) for value in values[: len(self.categorical)]]
        for place, name in enumerate(self.number_columns, len(checked)):
            checked.append(
                _number(
                    name,
                    values[place].strip(),
                    whole=place < len(self.categorical) + len(self.counts),
                )
            )
        return tuple(checked)


NO_ATTRIBUTES = Attributes()


def parse_declared_sizes(reading: Reading) -> list[int | None]:
    """Return the number of values that each categorical column is declared to have; None for those that occur in training."""
    names = reading.categorical.split(",") if reading.categorical else []
    return [int(found[1]) if (found := DECLARED_SIZE.search(name)) else None for name in names]


def _category(value: str) -> str:
    return " ".join(value.replace("\0", " ").split())  # U+001E and U+001F are white space


def _number(name: str, value: str, *, whole: bool) -> str:
    """Return the number as Python writes it, so that equal numbers are equal text; raises `DocumentError`."""
    if not value:
        return ""
    if _NUMBER.fullmatch(value):
        number = float(value)
        if whole and number.is_integer() and 0 <= number < COUNT_LIMIT:
            return str(int(number))
        if not whole and (number == 0 or MIN_NUMBER <= abs(number) <= MAX_NUMBER):
            return repr(number or 0.0)
    beyond = f" from {MIN_NUMBER:g} to {MAX_NUMBER:g} in size" if _NUMBER.fullmatch(value) else ""
    wanted = "a whole number from 0" if whole else f"a number{beyond}"
    raise DocumentError(
        f"the value {value[:40]!r} at {name!r} is not {wanted}",
        hint="leave it empty where it is not known",
    )


def parse_weight(name: str, value: str) -> int:
    """Return the weight at ``name`` in units of 1/`WEIGHT_UNIT`; raises `DocumentError` for what is no number from 0 with at most three decimals.

    >>> weight_in_units("column 3", "0.25")
    250
    """
    found = _WEIGHT.fullmatch(value.strip())
    units = found and int(found[1]) * WEIGHT_UNIT + int((found[2] or "").ljust(3, "0"))
    if units is None or units > MAX_DOCUMENT_WEIGHT * WEIGHT_UNIT:
        wanted = f"a number from 0 to {MAX_DOCUMENT_WEIGHT:,} with at most three decimals"
        raise DocumentError(
            f"the weight {value[:40]!r} at {name!r} is not {wanted}", hint="give every document one"
        )
    return units
