"""Random draws for generated documents: terms, coins, lengths and distributions.

All random numbers come from numpy's PCG64 with a seed, and are the same on every platform. Lengths
and distributions may change with the version of numpy, which defines Poisson and gamma variates.
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
"""Draws the attribute values of one document, None for an attribute without a distribution."""


def make_random_generator(seed: int, *stream: int) -> np.random.Generator:
    """Return a random number generator for a seed and a use, such as the draw of one class.

    The numbers in ``stream`` identify the use. Generators of different uses are independent.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=stream)))


class Categorical:
    """A distribution over the indices of weights, in proportion to the weights.

    ``weights`` have the shape (n,). They are at least 0, and some weight is above 0.
    """

    def __init__(self, weights: Floats) -> None:
        self._cumulative_weights = np.cumsum(weights)
        self._last_positive_index = int(np.flatnonzero(weights)[-1])

    def draw(self, size: int, random: np.random.Generator) -> Ints:
        """Return independent draws, shape (size,), each by inversion of one random number."""
        thresholds = random.random(size) * self._cumulative_weights[-1]
        indices = np.searchsorted(self._cumulative_weights, thresholds, side="right")
        # a threshold may be rounded up to the sum of all weights, which is beyond all indices
        return np.minimum(indices, self._last_positive_index)


def draw_coins(probability: Floats, random: np.random.Generator) -> Ints:
    """Toss a coin for each probability. Return the indices of heads, ascending."""
    return np.flatnonzero(random.random(probability.size) < probability)


def draw_length(mean: float, random: np.random.Generator) -> int:
    """Return a Poisson number of tokens, at least 1 and at most `MAX_DRAWN_WORDS`."""
    # a model file may contain a mean for which numpy raises an exception
    length = int(random.poisson(min(mean, MAX_DRAWN_WORDS)))
    return min(max(length, 1), MAX_DRAWN_WORDS)


def draw_dirichlet(alpha: Floats, random: np.random.Generator) -> Floats:
    """Return φ ~ Dirichlet(α), shape (n,): gamma variates divided by their sum.

    Every α_j is at least 0, and some α_j is above 0. φ_j is 0 where α_j is 0. Variates of small α_j
    are too small for floats, so the logarithms of variates are drawn. Source: L. Devroye,
    Non-uniform random variate generation (1986), section XI.4.
    """
    logs = _draw_log_gamma_variates(alpha, random)
    variates = np.exp(logs - logs.max())
    return variates / variates.sum()


def draw_beta(a: Floats, b: Floats, random: np.random.Generator) -> Floats:
    """Return θ ~ Beta(a, b), shape (n,), for a and b that are at least 0 and not both 0.

    θ = G(a) / (G(a) + G(b)), where G(s) is a gamma variate with the shape parameter s.
    """
    log_gamma_a = _draw_log_gamma_variates(a, random)
    log_gamma_b = _draw_log_gamma_variates(b, random)
    with np.errstate(over="ignore"):  # if the exponential is too large, θ is 0
        theta: Floats = 1 / (1 + np.exp(log_gamma_b - log_gamma_a))
    return theta


def _draw_log_gamma_variates(shape_parameters: Floats, random: np.random.Generator) -> Floats:
    """Return log G(s) for shape parameters s, shape (n,), by G(s) = G(s + 1) U^(1/s).

    U is uniform in [0, 1), and log G(0) is −inf. Source: G. Marsaglia, W. W. Tsang, A simple method
    for generating gamma variables (2000), section 6.
    """
    with np.errstate(divide="ignore"):
        log_variates = np.log(random.standard_gamma(shape_parameters + 1))
        log_uniform = np.log(random.random(shape_parameters.size))
        logs: Floats = log_variates + log_uniform / shape_parameters
    return logs


def compute_predictive_probabilities(
    models: LanguageModels, terms: Ints, label_index: int
) -> Floats:
    """Return the estimates of φ_jk, the probability of term j in class k, for one class.

    ``terms`` are selected terms, shape (n,), and so is the result.
    """
    statistics = models.statistics
    counts = expand_class_cells(statistics, statistics.cell_counts, label_index)[terms]
    return models.estimate_probability(terms, counts, models.class_tokens[label_index])


def compute_dirichlet_posterior(models: LanguageModels, terms: Ints, label_index: int) -> Floats:
    """Return the parameters m_jk + α_j of the posterior Dirichlet of one class, shape (n,).

    m_jk is the count of term j in class k, and α_j the parameter of the prior. Maximum likelihood
    has no prior, so it is not supported. If ``terms`` are only some of the selected terms, the
    result is the Dirichlet of φ given that a token is one of ``terms``.
    """
    statistics = models.statistics
    counts = expand_class_cells(statistics, statistics.cell_counts, label_index)[terms]
    return counts + models.compute_pseudo_counts(terms) + models.mode_shift


def expand_class_cells(
    statistics: ClassStatistics, cell_values: Numbers, label_index: int
) -> Floats:
    """Return a value for each term in one class, shape (n_terms,).

    A cell is a pair of a term and a class that occur together. ``cell_values`` has the value of
    each cell of the statistics. The value of a term without a cell is 0.
    """
    class_cells = np.flatnonzero(statistics.cell_classes == label_index)
    term_values = np.zeros(statistics.n_terms)
    term_values[statistics.cell_terms[class_cells]] = cell_values[class_cells]
    return term_values
