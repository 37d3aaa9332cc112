"""Files that options name, and what is read of them: numbers by class or term, seed words, costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from nbtext.errors import PathError, UsageError, quantity
from nbtext.settings import ALL_OTHERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbtext.counts.statistics import Seed

T = TypeVar("T")

LARGEST_NUMBER = 1e12
"""The largest value of the training parameters that a file of numbers can replace."""


def from_file(name: str, value: object) -> object:
    """Return the value of a training parameter; for the path of a file, its numbers by name.

    Raise `UsageError` if it is neither a value nor a file, `PathError` for a file that cannot be read.
    """
    reads = {"class_prior": _read_class_prior, "smoothing": _read_smoothing}
    return reads[name](value) if name in reads and isinstance(value, str) else value


def _read_class_prior(value: str) -> str | dict[str, float]:
    """Return the value of ``--class-prior``: a kind unchanged, or the weights by label of a file."""
    if value in ("empirical", "uniform") or value.startswith("smoothed:"):
        return value
    return _numbers(value, "a class", "--class-prior", "use empirical, uniform, smoothed:A or a file")


def _read_smoothing(value: str) -> str | dict[str, float]:
    """Return the value of ``--smoothing``: a name or a number unchanged, or the pseudo-counts by word of a file, which also has that of all others."""
    if value in ("auto", "evidence", "leave-one-out") or all(map(_is_number, value.split(",", 1))):
        return value
    numbers = _numbers(value, "a term", "--smoothing", "use auto, evidence, leave-one-out, a number or a file")
    if ALL_OTHERS not in numbers:
        raise PathError(f"no line says what all other terms have, {ALL_OTHERS!r}", where=value, hint="add one: *, a tab and a number")
    return numbers


def _numbers(path: str, what: str, option: str, hint: str) -> dict[str, float]:
    """Return the numbers of a file by name, in order of its lines of a name, a tab and a number; ``what`` describes a name in messages."""
    try:
        lines = _text(path).removesuffix("\n").split("\n")
    except PathError as problem:
        if not path or isinstance(problem.__context__, FileNotFoundError):
            raise UsageError(f"{option} does not know {path!r}", hint=hint) from None
        raise
    numbers: dict[str, float] = {}
    for place, line in enumerate(lines, 1):
        name, tab, written = line.rpartition("\t")
        if not tab or not _is_number(written) or not 0 <= float(written) <= LARGEST_NUMBER:
            raise PathError(f"line {place} is not {what}, a tab and a number from 0", where=path)
        if numbers.setdefault(name, float(written)) != float(written):
            raise PathError(f"line {place} gives {name!r} a second number", where=path)
    return numbers


def read_seeds(path: str, fewest: int = 2) -> list[Seed]:
    """Return the seeds of a file with lines of a class, a tab and a word, or words of an n-gram, and if wanted a tab and a pseudo-count.

    ``!`` before a word makes it one against the class. The words are not terms yet. Raise `PathError` for a file that cannot be read, for a line
    of another form, and if there are fewer than ``fewest`` classes.
    """
    from nbtext.counts.layers import MOST_OF_SEEDS, PSEUDO_COUNT
    from nbtext.counts.statistics import Seed

    seeds = []
    for place, line in enumerate(_text(path).splitlines(), 1):
        if not line.strip():
            continue
        label, word, number = [*line.split("\t"), "", ""][:3]
        amount = float(number or PSEUDO_COUNT) if _is_number(number or "0") else 0.0
        if not (label and word.strip("! ") and 0 < amount <= MOST_OF_SEEDS):
            raise PathError(f"line {place} is not a class, a tab and a word, perhaps with a tab and a pseudo-count above 0", where=path)
        seeds.append(Seed(label, (word.removeprefix("!"),), -amount if word.startswith("!") else amount))
    if len({seed.label for seed in seeds}) < fewest:
        raise PathError(f"seed words of at least {quantity(fewest, 'class')} are needed", where=path)
    return sorted(seeds)


def read_costs(path: str, classes: Sequence[str], costs: Callable[[Mapping[str, object], Sequence[str]], T]) -> T:
    """Return what ``costs`` makes of the tables of a TOML file; raise `PathError` if it cannot be read, and `UsageError` as that function does."""
    import tomllib

    from nbtext.corpus.streams import file_content

    try:
        return costs(tomllib.loads(file_content(path).decode("utf-8-sig")), classes)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise PathError(f"not valid TOML: {problem}", where=path) from None
    except UsageError as problem:
        problem.where = path
        raise
    except ValueError:  # an integer beyond sys.get_int_max_str_digits
        raise UsageError("a cost has too many digits", where=path) from None


def _text(path: str) -> str:
    from nbtext.corpus.streams import file_content

    try:
        return file_content(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PathError("cannot read: not UTF-8", where=path) from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
