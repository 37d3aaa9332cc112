"""The checks of the parameter tables.

Each turns a value, or the text of an option, into the canonical value, or raises TypeError, or ValueError that says what is wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

ALL_OTHERS = "*"
"""In place of a term: all terms that are not named."""

LEAST_PSEUDO_COUNT, MOST_PSEUDO_COUNT = 1e-12, 1e12
"""Of a pseudo-count that is not 0: a smaller one is lost when it is added to a count."""

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class OneOf:
    """A check for one of some names, or what else may stand there."""

    def __init__(self, choices: tuple[str, ...], otherwise: Callable[[Any], Any] | None, wanted: str) -> None:
        self.choices, self._otherwise, self._wanted = choices, otherwise, wanted

    def __call__(self, value: object) -> object:
        """The name, or what else is made of the value."""
        if isinstance(value, str) and value in self.choices:
            return value
        if self._otherwise is not None:
            try:
                return self._otherwise(value)
            except (TypeError, ValueError):
                pass
        listed = ", ".join(self.choices)
        raise ValueError((f"one of {listed}" if len(self.choices) > 1 else listed) + (f" or {self._wanted}" if self._wanted else ""))


def one_of(*choices: str, otherwise: Callable[[Any], Any] | None = None, wanted: str = "") -> OneOf:
    """A check for one of some names, or for what ``otherwise`` takes."""
    return OneOf(choices, otherwise, wanted)


def number(kind: type[int | float], least: float, most: float, wanted: str) -> Callable[[Any], int | float]:
    """A check for a number in a range; ``wanted`` says which."""

    def check(value: Any) -> int | float:  # noqa: ANN401
        try:
            found = kind(value)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(wanted) from None
        if isinstance(value, bool) or not least <= found <= most or found != float(value):  # nan is in no range
            raise ValueError(wanted)
        return found

    return check


def text(value: object) -> str:
    """A text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError("a name")
    return value


def whole(least: int, wanted: str) -> Callable[[Any], int | float]:
    """A check for a whole number from ``least``."""
    return number(int, least, 2**31, wanted)


def names(value: object) -> str:
    """Names with commas between them, in lower case."""
    parts = [part.strip().lower() for part in value.split(",")] if isinstance(value, str) else []
    if not all(parts) or not parts:
        raise ValueError("names with commas between them")
    return ",".join(parts)


def column(value: object) -> str:
    """A column's name or number."""
    given = str(value)
    if not given or (given.isascii() and given.isdigit() and int(given) < 1):
        raise ValueError("a column's name or its number from 1")
    return given


def columns(value: object) -> str:
    """Columns by name or number, none twice, with commas between them."""
    parts = [column(part.strip()) for part in value.split(",")] if isinstance(value, str) else [""]
    if not all(parts) or len(set(parts)) < len(parts) or any(not part.isprintable() for part in parts):
        raise ValueError("names or numbers of columns with commas between them, none twice")
    return ",".join(parts)


def encoding(value: object) -> str:
    """The canonical name of an encoding of text, or ``auto``."""
    import codecs

    try:
        if value == "auto":
            return "auto"
        b"a".decode(text(value), "ignore")  # raises for codecs that are not of text, such as base64
        return codecs.lookup(text(value)).name
    except (LookupError, ValueError):
        raise ValueError("auto or the name of an encoding, such as utf-8 or latin-1") from None


def flag(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 - the caller makes one error of all
    return value


def delimiter(value: object) -> str:
    """One character; a tab may be given by name."""
    given = {"tab": "\t", "\\t": "\t"}.get(str(value), str(value))
    if len(given) != 1 or given in '\n\r"':
        raise ValueError("one character")
    return given


def size(value: object) -> str:
    """A number of bytes, with the largest unit that goes into it."""
    given = str(value).upper().removesuffix("B").removesuffix("I")
    unit = given[-1:] if given[-1:] in _UNITS else ""
    digits = given.removesuffix(unit)
    if isinstance(value, bool) or not (digits.isascii() and digits.isdigit()) or not 0 < int(digits) * _UNITS[unit] < 2**62:
        raise ValueError("a number of bytes from 1, or a number with K, M or G")
    n = int(digits) * _UNITS[unit]
    unit = next(unit for unit in reversed(_UNITS) if n % _UNITS[unit] == 0)
    return f"{n // _UNITS[unit]}{unit}"


def in_bytes(canonical: str) -> int:
    """The bytes that a canonical size means.

    >>> in_bytes("64M")
    67108864
    """
    return int(canonical.rstrip("KMG")) * _UNITS[canonical.lstrip("0123456789")]


def smoothed(value: object) -> str:
    """``smoothed:A``, A at least 0."""
    kind, _, added = text(value).partition(":")
    if kind != "smoothed":
        raise ValueError
    return f"smoothed:{number(float, 0, 1e12, '')(added)!r}".removesuffix(".0")


def prior(value: object) -> object:
    """``smoothed:A``, or weights by label, not all of them 0."""
    if isinstance(value, str):
        return smoothed(value)
    if not isinstance(value, dict) or not value:
        raise TypeError
    weights = {str(label): float(number(float, 0, 1e12, "")(weight)) for label, weight in sorted(value.items())}
    if not sum(weights.values()):
        raise ValueError
    return weights


def pseudo_counts(value: object) -> object:
    """0 or a number from `LEAST_PSEUDO_COUNT` to `MOST_PSEUDO_COUNT`, or such numbers by term, with one for `ALL_OTHERS`."""

    def check(value: object) -> int | float:
        found = number(float, 0, MOST_PSEUDO_COUNT, "")(value)
        if 0 < found < LEAST_PSEUDO_COUNT:
            raise ValueError
        return found

    if not isinstance(value, dict):
        return check(value)
    if ALL_OTHERS not in value or not all(isinstance(term, str) and term.splitlines() == [term] and term.encode() for term in value):
        raise ValueError
    return {term: check(value[term]) for term in sorted(value)}


def span(value: object) -> str:
    """``N`` or ``N-M``, whole numbers from 1 to 10, the second not below the first."""
    low, dash, high = str(value).partition("-")
    ends = [int(part) if part.isascii() and part.isdigit() and len(part) < 3 else 0 for part in ((low, high) if dash else (low, low))]
    if isinstance(value, (bool, float)) or not 1 <= ends[0] <= ends[1] <= 10:
        raise ValueError("a number from 1 to 10 or two of them such as 3-5")
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"
