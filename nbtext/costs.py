"""What wrong answers cost: the matrix λ of decision theory, read from a TOML file.

One table for each true class, with the cost of each answer to it and of giving none:

    [spam]
    ham = 1
    abstain = 0.2

    [ham]
    spam = 10
    abstain = 0.2

A right answer costs 0 and a wrong one 1 unless the file says otherwise; without ``abstain`` there is always an answer. Where there is a class of
that name, ``abstain`` is the answer of this class, as every other name is, and there is always an answer.
"""

from __future__ import annotations

from math import inf, isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import PathError, UsageError, reason

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

ABSTAIN = "abstain"


class Costs(NamedTuple):
    """λ_ij, the cost of answering class j when the truth is class i, shape (n_classes, n_classes), and of no answer, shape (n_classes,)."""

    of_answers: NDArray[np.float64]
    of_abstaining: NDArray[np.float64]
    """Infinite for every class unless abstaining is allowed."""


def zero_one_costs(n_classes: int) -> Costs:
    """Every mistake costs 1: under these costs minimum risk is minimum error."""
    return Costs(1.0 - np.eye(n_classes), np.full(n_classes, np.inf))


def costs_from(tables: Mapping[str, object], classes: Sequence[str]) -> Costs:
    """Costs from a table for each true class; raises `UsageError` for classes that there are not, and for what is no finite number.

    Where one class has a cost of abstaining, the others do as well: 1 if they do not say. None has one if there is a class called `ABSTAIN`.
    """
    number = {label: place for place, label in enumerate(classes)}
    costs = zero_one_costs(len(classes))
    if ABSTAIN not in number and any(isinstance(table, dict) and ABSTAIN in table for table in tables.values()):
        costs.of_abstaining[:] = 1.0
    for truth, table in tables.items():
        if truth not in number or not isinstance(table, dict):
            raise UsageError(f"the costs have a table for {truth!r}, which is no class", hint=f"the classes are {', '.join(classes[:20])}")
        for answer, cost in table.items():
            if answer not in number and answer != ABSTAIN:
                raise UsageError(
                    f"the costs of {truth!r} name {answer!r}, which is no class", hint=f"the classes are {', '.join(classes[:20])}"
                )
            try:
                value = float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else nan
            except OverflowError:  # a whole number of more than 308 digits
                value = inf
            if not isfinite(value):
                raise UsageError(f"the cost of {answer!r} for {truth!r} is no finite number")
            if answer in number:
                costs.of_answers[number[truth], number[answer]] = value
            else:
                costs.of_abstaining[number[truth]] = value
    return costs


def read_costs(path: str, classes: Sequence[str]) -> Costs:
    """Costs from a TOML file; raises `PathError` if it cannot be read, and `UsageError` as `costs_from` does."""
    import tomllib

    try:
        tables = tomllib.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as problem:
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise PathError(f"not valid TOML: {problem}", where=path) from None
    except ValueError:  # what Python says of a whole number that it takes no time to read (sys.get_int_max_str_digits)
        raise UsageError("a cost has too many digits", where=path) from None
    try:
        return costs_from(tables, classes)
    except UsageError as problem:
        problem.where = path
        raise
