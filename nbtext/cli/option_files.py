"""Files that options name, and what is read of them: numbers by class or term, seed words, costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nbtext.errors import PathError, UsageError, format_quantity
from nbtext.settings import DEFAULT_TERM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbtext.counts.statistics import SeedTerm

T = TypeVar("T")

LARGEST_NUMBER = 1e12
"""The largest value of the training parameters that a file of numbers can replace."""


_KINDS = {
    "class_prior": ("a class", "empirical", "uniform", "smoothed:A"),
    "smoothing": ("a term", "auto", "evidence", "leave-one-out", "a number"),
}
"""What a file has a number for, and the values that are no file."""


def read_parameter_value(name: str, value: object) -> object:
    """Return the value of a training parameter; for the path of a file, its numbers by name, in order of its lines of a name, a tab and a number.

    Raise `UsageError` if it is neither a value nor a file, `PathError` for a file that cannot be read, and for pseudo-counts without that of all
    other terms.
    """
    if name not in _KINDS or not isinstance(value, str):
        return value
    what, *known = _KINDS[name]
    is_amount = (
        value.startswith("smoothed:")
        if name == "class_prior"
        else all(map(_is_number, value.split(",", 1)))
    )
    if value in known[:-1] or is_amount:
        return value
    try:
        lines = _text(value).removesuffix("\n").split("\n")
    except PathError as problem:
        if not value or isinstance(problem.__context__, FileNotFoundError):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} does not know {value!r}", hint=f"use {', '.join(known)} or a file"
            ) from None
        raise
    numbers: dict[str, float] = {}
    for place, line in enumerate(lines, 1):
        term, tab, written = line.rpartition("\t")
        if not tab or not _is_number(written) or not 0 <= float(written) <= LARGEST_NUMBER:
            raise PathError(f"line {place} is not {what}, a tab and a number from 0", where=value)
        if numbers.setdefault(term, float(written)) != float(written):
            raise PathError(f"line {place} gives {term!r} a second number", where=value)
    if name == "smoothing" and DEFAULT_TERM not in numbers:
        raise PathError(
            f"no line says what all other terms have, {DEFAULT_TERM!r}",
            where=value,
            hint="add one: *, a tab and a number",
        )
    return numbers


def read_seeds(path: str, min_classes: int = 2) -> list[SeedTerm]:
    """Return the seeds of a file with lines of a class, a tab and a word, or words of an n-gram, and if wanted a tab and a pseudo-count.

    ``!`` before a word makes it one against the class. The words are not terms yet. Raise `PathError` for a file that cannot be read, for a line
    of another form, and if there are fewer than ``fewest`` classes.
    """
    from nbtext.counts.statistics import DEFAULT_SEED_PSEUDO_COUNT, MAX_SEED_PSEUDO_COUNT, SeedTerm
    from nbtext.prediction.labels import LABEL_MARK

    seeds = []
    for place, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        label, word, number = [*line.split("\t"), "", ""][:3]
        amount = float(number or DEFAULT_SEED_PSEUDO_COUNT) if _is_number(number or "0") else 0.0
        is_label = label and LABEL_MARK not in label
        if not (is_label and word.strip("! ") and 0 < amount <= MAX_SEED_PSEUDO_COUNT):
            raise PathError(
                f"line {place} is not a class, a tab and a word, perhaps with a tab and a "
                "pseudo-count above 0",
                where=path,
            )
        seeds.append(
            SeedTerm(label, (word.removeprefix("!"),), -amount if word.startswith("!") else amount)
        )
    if len({seed.label for seed in seeds}) < min_classes:
        raise PathError(
            f"seed words of at least {format_quantity(min_classes, 'class')} are needed", where=path
        )
    return sorted(seeds)


def read_costs(
    path: str, classes: Sequence[str], costs: Callable[[Mapping[str, object], Sequence[str]], T]
) -> T:
    """Return what ``costs`` makes of the tables of a TOML file; raise `PathError` if it cannot be read, and `UsageError` as that function does."""
    import tomllib

    from nbtext.corpus.streams import read_option_file

    try:
        return costs(
            tomllib.loads(read_option_file(path, is_settings_file=True).decode("utf-8-sig")),
            classes,
        )
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise PathError(f"not valid TOML: {problem}", where=path) from None
    except UsageError as problem:
        problem.where = path
        raise
    except ValueError:  # an integer beyond sys.get_int_max_str_digits
        raise UsageError("a cost has too many digits", where=path) from None


def _text(path: str) -> str:
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
