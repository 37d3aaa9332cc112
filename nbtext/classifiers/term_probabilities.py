"""Probabilities of single terms in each class, as classifiers score by them: what `inspect` shows and `inspect --verify` checks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from nbtext.language_model.credible_interval import credible_intervals

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from nbtext.language_model.dirichlet import LanguageModels

    Floats = NDArray[np.float64]
    Terms = NDArray[np.int64]

OF_TOKENS = "that a token of the class is the term"


@dataclass(frozen=True, eq=False)
class TermProbabilities:
    """Estimated probabilities of some terms in each class.

    The terms of a class share one distribution and their probabilities sum to 1, unless there is an ``absence``.
    """

    symbol: str
    """As in `docs/mathematics.md`."""
    meaning: str
    """What it is the probability of, such as `OF_TOKENS`."""
    selected: NDArray[np.bool_]
    """The terms that have one, shape (n_terms,)."""
    probability: Callable[[Terms], Floats]
    """Of some selected terms, shape (n, n_classes)."""
    counts: Callable[[Terms], NDArray[Any]]
    """What they are estimated from, shape (n, n_classes)."""
    intervals: Callable[[Terms], Floats] | None = None
    """Their credible intervals, shape (n, n_classes, 2), nan where there is none; None where the counts are not whole."""
    absence: Callable[[Terms], Floats] | None = None
    """1 less each probability, where every term has a distribution of its own."""

    @classmethod
    def of_models(cls, models: LanguageModels, meaning: str = OF_TOKENS) -> TermProbabilities:
        """Return those of language models."""
        whole = models.statistics.cell_counts.dtype.kind != "f"
        intervals = partial(credible_intervals, models) if whole else None
        return cls("φ", meaning, models.selected, models.probability, models.statistics.counts_of, intervals)
