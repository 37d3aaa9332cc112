"""The same figures for parts of the documents: those that have the same value in a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.errors import UsageError
from nbtext.metrics.intervals import wilson_interval
from nbtext.metrics.outcomes import cells_of, f1, macro, outcomes
from nbtext.metrics.reliability import expected_calibration_error, reliability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.metrics.judged import Judged

MOST_VALUES = 1000
"""Different values of a column; one with more names documents rather than parts of them."""


class Slices:
    """Which documents have which value in each of some columns."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._numbers: tuple[dict[str, int], ...] = tuple({} for _ in columns)
        self._values: tuple[list[int], ...] = tuple([] for _ in columns)

    def add(self, rows: Sequence[Sequence[str]]) -> None:
        """Note the values of each document, one for each column, in order. Raises `UsageError` if a column has too many."""
        for place, (name, numbers, values) in enumerate(zip(self.columns, self._numbers, self._values, strict=True)):
            values.extend(numbers.setdefault(row[place], len(numbers)) for row in rows)
            if len(numbers) > MOST_VALUES:
                raise UsageError(f"column {name} has more than {MOST_VALUES:,} values", hint="choose one that many documents share")

    def summary(self, judged: Judged, n_labels: int) -> dict[str, dict[str, dict[str, Any]]]:
        """By column, then by value in alphabetical order: documents, accuracy with its interval, macro F1 and calibration error."""
        found = {}
        for name, numbers, values in zip(self.columns, self._numbers, self._values, strict=True):
            of_documents = np.array(values, np.int64)
            order = np.argsort(of_documents, kind="stable")
            bounds = np.searchsorted(of_documents[order], np.arange(len(numbers) + 1))
            found[name] = {
                value: slice_figures(judged.of(order[bounds[number] : bounds[number + 1]]), n_labels)
                for value, number in sorted(numbers.items())
            }
        return found


def slice_figures(judged: Judged, n_labels: int) -> dict[str, Any]:
    """The figures of some documents, one at least."""
    table = outcomes(cells_of(judged), n_labels)
    hits = int(table.hits.sum())
    return {
        "n": judged.n,
        "accuracy": hits / judged.n,
        "interval": list(wilson_interval(hits, judged.n)),
        "macro_f1": float(macro(f1(table), table)),
        "ece": expected_calibration_error(reliability(judged)),
    }
