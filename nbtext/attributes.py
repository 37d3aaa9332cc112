"""Values beside a document's text: what they are called, and how they travel with it.

A document is bytes from the reader to the counter. With attributes these are its text, the ASCII separator U+001E, and its values with U+001F
between them, in the order of the names: so whatever reads, cuts up, hashes or sends documents does the same for all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BEFORE_VALUES, BETWEEN_VALUES = b"\x1e", "\x1f"

KINDS = ("categorical", "count", "numeric")
"""The parameters of reading that name attributes."""

NO_TEXT = "none"
"""The text column of documents that are only attributes."""

LARGEST, SMALLEST = 1e100, 1e-100
"""Of the size of a number that is not 0, so that squares can be summed exactly."""

LARGEST_COUNT = 2**53
"""Counts are below it."""

FARTHEST = 1e50
"""Standard deviations by which a number differs from a mean at most in a score: squares, and sums of them, stay finite."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class Attributes(NamedTuple):
    """The names of attributes by kind: categories, whole numbers from 0, and real numbers."""

    categorical: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()

    @classmethod
    def of(cls, reading: Mapping[str, Any]) -> Attributes:
        """Those that parameters of `nbtext.settings.READING` name."""
        return cls(*(tuple(reading[kind].split(",")) if reading.get(kind) else () for kind in KINDS))

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, in the order of the values of a document."""
        return self.categorical + self.counts + self.numeric

    @property
    def numbers(self) -> tuple[str, ...]:
        """Counts and real numbers."""
        return self.counts + self.numeric

    def document(self, text: bytes, values: Sequence[str]) -> bytes:
        """A text with its values, an empty one being missing; raises `DocumentError` for a value that is not of its kind."""
        checked = [_category(value) for value in values[: len(self.categorical)]]
        for place, name in enumerate(self.numbers, len(checked)):
            checked.append(_number(name, values[place].strip(), whole=place < len(self.categorical) + len(self.counts)))
        return text.replace(_BEFORE_VALUES, b" ") + _BEFORE_VALUES + BETWEEN_VALUES.join(checked).encode()


NO_ATTRIBUTES = Attributes()


def parted(document: bytes) -> tuple[bytes, list[str]]:
    """The text of a document with values, and its values."""
    text, _, values = document.partition(_BEFORE_VALUES)
    return text, values.decode().split(BETWEEN_VALUES)


def _category(value: str) -> str:
    return " ".join(value.replace("\x1e", " ").replace(BETWEEN_VALUES, " ").split())


def _number(name: str, value: str, *, whole: bool) -> str:
    """The number as Python writes it, so that equal ones are the same text."""
    if not value:
        return ""
    if _NUMBER.fullmatch(value):
        number = float(value)
        if whole and number.is_integer() and 0 <= number < LARGEST_COUNT:
            return str(int(number))
        if not whole and (number == 0 or SMALLEST <= abs(number) <= LARGEST):
            return repr(number or 0.0)
    beyond = f" from {SMALLEST:g} to {LARGEST:g} in size" if _NUMBER.fullmatch(value) else ""
    wanted = "a whole number from 0" if whole else f"a number{beyond}"
    raise DocumentError(f"the value {value[:40]!r} at {name!r} is not {wanted}", hint="leave it empty where it is not known")
