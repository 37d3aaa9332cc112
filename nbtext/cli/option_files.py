"""Readers of the files that are values of options: numbers by class or term, seed words, costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from nbtext.errors import PathError, UsageError, format_quantity
from nbtext.settings import DEFAULT_TERM, VALUE_ALIASES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbtext.counts.statistics import SeedTerm

T = TypeVar("T")

MAX_NUMBER = 1e12
"""The largest number in a file. Parameters have the same limit."""


class _NumberFile(NamedTuple):
    """A parameter whose value may be a file of numbers."""

    noun: str
    """The noun for the name in each line: a class or a term."""
    keywords: tuple[str, ...]
    """The values of the parameter that are words, not files."""
    number_form: str
    """The form of values with a number, for messages."""


_NUMBER_FILES = {
    "class_prior": _NumberFile("a class", ("empirical", "uniform"), "smoothed:A"),
    "smoothing": _NumberFile("a term", ("auto", "evidence", "leave-one-out"), "a number"),
}
"""The parameters whose value may be a file of numbers, by name of the parameter."""


def read_parameter_value(name: str, value: object) -> object:
    """Return the value of a training parameter, or if the value is a file, the numbers in it.

    Each line of the file is a name, a tab and a number. The numbers are a dict by name, in the
    order of the lines. Raise `UsageError` if a text is neither a value nor a file. Raise
    `PathError` if the file is unreadable or invalid, or if a file of pseudo-counts has no line for
    all other terms.
    """
    if name not in _NUMBER_FILES or not isinstance(value, str):
        return value
    number_file = _NUMBER_FILES[name]
    is_keyword = value in number_file.keywords or value in VALUE_ALIASES.get(name, {})
    if is_keyword or _has_number(name, value):
        return value
    try:
        lines = _read_text(value).removesuffix("\n").split("\n")
    except PathError as problem:
        is_missing = isinstance(problem.__context__, FileNotFoundError)
        is_file = value != "" and not is_missing
        if is_file:
            raise
        accepted = ", ".join((*number_file.keywords, number_file.number_form))
        raise UsageError(
            f"--{name.replace('_', '-')} does not know {value!r}", hint=f"use {accepted} or a file"
        ) from None

    numbers = _parse_numbers(lines, number_file.noun, value)
    if name == "smoothing" and DEFAULT_TERM not in numbers:
        raise PathError(
            f"the line for all other terms, {DEFAULT_TERM!r}, is missing",
            where=value,
            hint="add a line: *, a tab and a number",
        )
    return numbers


def _has_number(name: str, value: str) -> bool:
    """Return True for ``smoothed:A`` as prior, and for one or two numbers as smoothing."""
    if name == "class_prior":
        return value.startswith("smoothed:")
    return all(_is_number(number) for number in value.split(",", 1))


def _parse_numbers(lines: Sequence[str], noun: str, path: str) -> dict[str, float]:
    """Return the numbers by name. Raise `PathError` for an invalid line."""
    numbers: dict[str, float] = {}
    for line_number, line in enumerate(lines, 1):
        name, tab, text = line.rpartition("\t")
        if not tab or not _is_number(text) or not 0 <= float(text) <= MAX_NUMBER:
            raise PathError(
                f"line {line_number} is not {noun}, a tab and a number from 0", where=path
            )
        number = float(text)
        first_number = numbers.setdefault(name, number)
        if number != first_number:
            raise PathError(f"line {line_number} has a second number for {name!r}", where=path)
    return numbers


def read_seeds(path: str, min_classes: int = 2) -> list[SeedTerm]:
    """Return the seed words in a file, sorted by class and word.

    Their terms are still words: `resolve_seed_terms` converts words to terms. Each line is a class,
    a tab and a word (or the words of an n-gram), and optionally a tab and a pseudo-count. A word
    after ``!`` counts against the class. Raise `PathError` for an unreadable file, an invalid line,
    or fewer than ``min_classes`` classes.
    """
    seeds = []
    for line_number, line in enumerate(_read_text(path).splitlines(), 1):
        if line.strip():
            seeds.append(_parse_seed(line, line_number, path))
    if len({seed.label for seed in seeds}) < min_classes:
        classes = format_quantity(min_classes, "class")
        raise PathError(f"at least {classes} need seed words", where=path)
    return sorted(seeds)


def _parse_seed(line: str, line_number: int, path: str) -> SeedTerm:
    """Return the seed word of a line. Raise `PathError` if the line is invalid.

    The pseudo-count of a word that counts against the class is negative.
    """
    from nbtext.counts.statistics import DEFAULT_SEED_PSEUDO_COUNT, MAX_SEED_PSEUDO_COUNT, SeedTerm
    from nbtext.prediction.labels import LABEL_MARK

    label, _, further_cells = line.partition("\t")
    word, _, further_cells = further_cells.partition("\t")
    number, _, _ = further_cells.partition("\t")
    if not number:
        pseudo_count = float(DEFAULT_SEED_PSEUDO_COUNT)
    elif _is_number(number):
        pseudo_count = float(number)
    else:
        pseudo_count = 0.0  # rejected below
    is_label = label != "" and LABEL_MARK not in label
    if not (is_label and word.strip("! ") and 0 < pseudo_count <= MAX_SEED_PSEUDO_COUNT):
        raise PathError(
            f"line {line_number} is not a class, a tab and a word, optionally with a tab and a "
            "pseudo-count above 0",
            where=path,
        )
    if word.startswith("!"):
        pseudo_count = -pseudo_count
    return SeedTerm(label, (word.removeprefix("!"),), pseudo_count)


def read_costs(
    path: str,
    classes: Sequence[str],
    parse_costs: Callable[[Mapping[str, object], Sequence[str]], T],
) -> T:
    """Return the result of ``parse_costs`` for the tables of a TOML file and the classes.

    Raise `PathError` if the file is unreadable or not TOML. Add the path to a `UsageError` of
    ``parse_costs``.
    """
    import tomllib

    from nbtext.corpus.streams import read_option_file

    try:
        text = read_option_file(path, is_settings_file=True).decode("utf-8-sig")
        return parse_costs(tomllib.loads(text), classes)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise PathError(f"not valid TOML: {problem}", where=path) from None
    except UsageError as problem:
        problem.where = path
        raise
    except ValueError:  # an integer with more than sys.get_int_max_str_digits() digits
        raise UsageError("a cost has too many digits", where=path) from None


def _read_text(path: str) -> str:
    """Return the text of a file. Raise `PathError` if the file is unreadable or not UTF-8."""
    from nbtext.corpus.streams import read_option_file

    try:
        return read_option_file(path, is_settings_file=True).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PathError("cannot read: not UTF-8", where=path) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
