"""Attributes and weights: the kinds of values beside a document's text, and which values are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nbtext.document_parts import WEIGHT_UNIT
from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.settings import Reading

KINDS = ("categorical", "count", "numeric")
"""The parameters of `nbtext.settings.Reading` that name attributes."""

NO_TEXT = "none"
"""The text column of documents that consist of attributes alone."""

LARGEST, SMALLEST = 1e100, 1e-100
"""Range of the absolute value of a number that is not 0, so that squares can be summed exactly."""

LARGEST_COUNT = 2**53
"""Upper bound of counts, itself excluded."""

FARTHEST = 1e50
"""Most standard deviations between a number and a mean in a score, so that sums of squares stay finite."""

MOST_WEIGHT = 1_000_000
"""Largest weight of a document."""

_WEIGHT = re.compile(r"(\d{1,7})(?:\.(\d{0,3})0*)?", re.ASCII)

DECLARED = re.compile(r"=([1-9]\d{0,8})$")
"""The number of values that a categorical column is declared to have, at the end of its name."""

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)


class Attributes(NamedTuple):
    """The names of attributes by kind: categories, whole numbers from 0, and real numbers."""

    categorical: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()

    @classmethod
    def of(cls, reading: Reading) -> Attributes:
        """Return those that the settings name."""
        of_kinds = (reading.categorical, reading.count, reading.numeric)
        categorical, counts, numeric = (tuple(columns.split(",")) if columns else () for columns in of_kinds)
        return cls(tuple(DECLARED.sub("", name) for name in categorical), counts, numeric)

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the values of a document."""
        return self.categorical + self.counts + self.numeric

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of counts and real numbers."""
        return self.counts + self.numeric

    def checked(self, values: Sequence[str]) -> tuple[str, ...]:
        """Return the values of a document, empty where missing, as they are counted; raises `DocumentError` for a value that is not of its kind."""
        checked = [_category(value) for value in values[: len(self.categorical)]]
        for place, name in enumerate(self.numbers, len(checked)):
            checked.append(_number(name, values[place].strip(), whole=place < len(self.categorical) + len(self.counts)))
        return tuple(checked)


NO_ATTRIBUTES = Attributes()


def declared_values(reading: Reading) -> list[int | None]:
    """Return the number of values that each categorical column is declared to have; None for those that occur in training."""
    names = reading.categorical.split(",") if reading.categorical else []
    return [int(found[1]) if (found := DECLARED.search(name)) else None for name in names]


def _category(value: str) -> str:
    return " ".join(value.replace("\0", " ").split())  # U+001E and U+001F are white space


def _number(name: str, value: str, *, whole: bool) -> str:
    """Return the number as Python writes it, so that equal numbers are equal text; raises `DocumentError`."""
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


def weight_in_units(name: str, value: str) -> int:
    """Return the weight at ``name`` in units of 1/`WEIGHT_UNIT`; raises `DocumentError` for what is no number from 0 with at most three decimals.

    >>> weight_in_units("column 3", "0.25")
    250
    """
    found = _WEIGHT.fullmatch(value.strip())
    units = found and int(found[1]) * WEIGHT_UNIT + int((found[2] or "").ljust(3, "0"))
    if units is None or units > MOST_WEIGHT * WEIGHT_UNIT:
        wanted = f"a number from 0 to {MOST_WEIGHT:,} with at most three decimals"
        raise DocumentError(f"the weight {value[:40]!r} at {name!r} is not {wanted}", hint="give every document one")
    return units
