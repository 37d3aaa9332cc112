"""Class priors π_k: how probable a class is before the document is read. Source: Gambosi's notes; IIR eq. 13.5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.corpus.named_numbers import read_named_numbers
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics


def class_prior(kind: str | Mapping[str, float], statistics: ClassStatistics) -> NDArray[np.float64]:
    """π_k, shape (n_classes,): ``empirical`` D_k / D, ``smoothed:A`` (D_k + A) / (D + A·K), ``uniform`` 1 / K, or given by label.

    Given numbers are weights; they are divided by their sum. Raises `UsageError` if a class has none.
    """
    if not isinstance(kind, str):
        missing = [label for label in statistics.classes if label not in kind]
        if missing:
            raise UsageError(f"the class prior has no number for class {missing[0]!r}", hint="give one for every class")
    weights = _weights(kind, statistics, statistics.class_documents)
    if not weights.sum():
        raise UsageError("the class prior leaves no class possible", hint="give a class that there is a weight above 0")
    prior: NDArray[np.float64] = weights / weights.sum()
    return prior


def leaves_a_class(kind: str | Mapping[str, float], statistics: ClassStatistics) -> bool:
    """Whether any class is possible under the prior: not where the only classes with a weight have no documents left."""
    return bool(_weights(kind, statistics, statistics.class_documents).any())


def class_prior_without(kind: str | Mapping[str, float], statistics: ClassStatistics, number: int) -> NDArray[np.float64]:
    """π_k without one document of class ``number``, shape (n_classes,); all zeros if that leaves no class possible."""
    documents = statistics.class_documents.copy()
    documents[number] -= 1
    weights = _weights(kind, statistics, documents)
    prior: NDArray[np.float64] = weights / (weights.sum() or 1.0)
    return prior


def _weights(kind: str | Mapping[str, float], statistics: ClassStatistics, documents: NDArray[np.int64]) -> NDArray[np.float64]:
    """In proportion to π_k; 0 for a class without documents, which is no class."""
    if not isinstance(kind, str):
        weights = np.array([kind[label] for label in statistics.classes])
    elif kind == "uniform":
        weights = np.ones(len(documents))
    else:
        weights = documents + (0.0 if kind == "empirical" else float(kind.partition(":")[2]))
    return np.where(documents > 0, weights, 0.0)


def read_class_prior(value: str | None) -> Any:  # noqa: ANN401 - what the parameter table takes
    """What an option says: a kind as it is, or the weights by label of a file with lines of a class, a tab and a number.

    Raises `UsageError` if there is no such kind or file, `PathError` for a file that cannot be read.
    """
    if value is None or value in ("empirical", "uniform") or value.startswith("smoothed:"):
        return value
    weights = read_named_numbers(value, "a class")
    if weights is None:
        raise UsageError(f"--class-prior knows no {value!r}", hint="use empirical, uniform, smoothed:A or a file")
    return weights
