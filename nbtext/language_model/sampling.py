"""Random draws for generated documents: terms, coins, lengths and distributions.

All random numbers come from numpy's PCG64 with a seed, and are the same on every platform. Lengths
and distributions also depend on the version of numpy, whose Poisson and gamma variates may change.
Source: Gambosi's notes, "Probabilistic learning" (a language model as a generator of documents).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from nbtext.settings import MAX_DRAWN_WORDS

if TYPE_CHECKING:
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats, Ints, Numbers

ValueSampler = Callable[[np.random.Generator], Sequence[str | float | None]]
"""Draws the attribute values of one document. None for an attribute without a distribution."""


def make_random_generator(seed: int, *stream: int) -> np.random.Generator:
    """Return a random number generator; generators of different streams are independent."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=stream)))


class Categorical:
    """A distribution over the indices of weights, in proportion to the weights.

    ``weights`` have the shape (n,) and are at least 0, and one of them is above 0.
    """

    def __init__(self, weights: Floats) -> None:
        self._cumulative = np.cumsum(weights)
        self._last = int(np.flatnonzero(weights)[-1])

    def draw(self, size: int, random: np.random.Generator) -> Ints:
        """Return independent draws, shape (size,), by inversion of one random number each."""
        thresholds = random.random(size) * self._cumulative[-1]
        indices = np.searchsorted(self._cumulative, thresholds, side="right")
        # A threshold may be rounded up to the sum of all weights.
        return np.minimum(indices, self._last)


def draw_coins(probability: Floats, random: np.random.Generator) -> Ints:
    """Toss a coin for each probability. Return the indices of heads, ascending."""
    return np.flatnonzero(random.random(probability.size) < probability)


def draw_length(mean: float, random: np.random.Generator) -> int:
    """Return a Poisson number of tokens, at least 1 and at most `MAX_DRAWN_WORDS`."""
    # a model file may contain any mean, and numpy raises an exception if it is too large
    length = int(random.poisson(min(mean, MAX_DRAWN_WORDS)))
    return min(max(length, 1), MAX_DRAWN_WORDS)


def draw_dirichlet(alpha: Floats, random: np.random.Generator) -> Floats:
    """Return φ ~ Dirichlet(α), shape (n,): gamma variates divided by their sum.

    Every α_j is at least 0, and one of them is above 0. φ_j is 0 where α_j is 0. Variates of small
    α_j are too small for floats, so their logarithms are drawn. Source: L. Devroye, Non-uniform
    random variate generation (1986), section XI.4.
    """
    logs = _draw_log_gamma_variates(alpha, random)
    variates = np.exp(logs - logs.max())
    return variates / variates.sum()


def draw_beta(a: Floats, b: Floats, random: np.random.Generator) -> Floats:
    """Return θ ~ Beta(a, b), shape (n,); a and b are at least 0, and not both 0."""
    log_heads = _draw_log_gamma_variates(a, random)
    log_tails = _draw_log_gamma_variates(b, random)
    with np.errstate(over="ignore"):
        theta: Floats = 1 / (1 + np.exp(log_tails - log_heads))
    return theta


def _draw_log_gamma_variates(shape: Floats, random: np.random.Generator) -> Floats:
    """Return log G(s) for the shapes s, computed by G(s) = G(s + 1) U^(1/s).

    Source: G. Marsaglia, W. W. Tsang, A simple method for generating gamma variables (2000),
    section 6.
    """
    with np.errstate(divide="ignore"):
        log_gamma = np.log(random.standard_gamma(shape + 1))
        logs: Floats = log_gamma + np.log(random.random(shape.size)) / shape
    return logs


def compute_predictive_probabilities(
    models: LanguageModels, terms: Ints, label_index: int
) -> Floats:
    """Return φ_jk of selected terms in one class, shape (n,), as estimated."""
    statistics = models.statistics
    counts = expand_class_cells(statistics, statistics.cell_counts, label_index)[terms]
    return models.estimate_probability(terms, counts, models.class_tokens[label_index])


def compute_dirichlet_posterior(models: LanguageModels, terms: Ints, label_index: int) -> Floats:
    """Return m_jk + α_j of selected terms in one class, the posterior Dirichlet, shape (n,).

    Not for maximum likelihood, which has no prior. If ``terms`` are not all selected terms, the
    result is the Dirichlet of φ given that a token is one of them.
    """
    statistics = models.statistics
    counts = expand_class_cells(statistics, statistics.cell_counts, label_index)[terms]
    pseudo_counts = models.compute_pseudo_counts(terms)
    return counts + pseudo_counts + float(models.estimate == "map")


def expand_class_cells(statistics: ClassStatistics, cells: Numbers, label_index: int) -> Floats:
    """Return the values of the cells of one class, 0 for terms without a cell, shape (n_terms,)."""
    class_cells = np.flatnonzero(statistics.cell_classes == label_index)
    column = np.zeros(statistics.n_terms)
    column[statistics.cell_terms[class_cells]] = cells[class_cells]
    return column
