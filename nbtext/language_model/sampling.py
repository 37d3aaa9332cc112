"""Random draws: terms from categorical distributions, coins, lengths of documents, and distributions from their posteriors.

All random numbers come from numpy's PCG64, seeded, the same on every platform. Lengths and posterior draws use numpy's Poisson and gamma
distributions, which may differ between versions of numpy; terms and coins do not.
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
"""Draws values of one document, None for one without a distribution."""


def make_random_generator(seed: int, *stream: int) -> np.random.Generator:
    """Return a source of random numbers; streams with different numbers are independent of each other."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=stream)))


class Categorical:
    """A distribution over the numbers from 0, in proportion to weights of at least 0 that are not all 0; shape (n,)."""

    def __init__(self, weights: Floats) -> None:
        self._cumulative = np.cumsum(weights)
        self._last = int(np.flatnonzero(weights)[-1])

    def draw(self, size: int, random: np.random.Generator) -> Ints:
        """Return independent draws, shape (size,), by inversion: one random number each."""
        found = np.searchsorted(
            self._cumulative, random.random(size) * self._cumulative[-1], side="right"
        )
        return np.minimum(found, self._last)  # a product may be rounded up to the end


def draw_coins(probability: Floats, random: np.random.Generator) -> Ints:
    """Toss a coin for each probability, and return the numbers of those that show heads, ascending."""
    return np.flatnonzero(random.random(probability.size) < probability)


def draw_length(mean: float, random: np.random.Generator) -> int:
    """Return a Poisson number of tokens, at least 1 and at most `MAX_DRAWN_WORDS`: a model from elsewhere may claim any mean."""
    return min(max(int(random.poisson(min(mean, MAX_DRAWN_WORDS))), 1), MAX_DRAWN_WORDS)


def draw_dirichlet(alpha: Floats, random: np.random.Generator) -> Floats:
    """Return φ ~ Dirichlet(α), shape (n,), every α_j at least 0 and not all 0: gamma variates divided by their sum; 0 where α_j is 0.

    Computed in logarithms, because with a small α_j the variates are too small for floats. Source: L. Devroye, Non-uniform random variate generation
    (1986), section XI.4.
    """
    logs = _log_gamma_variates(alpha, random)
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def draw_beta(a: Floats, b: Floats, random: np.random.Generator) -> Floats:
    """Return θ ~ Beta(a, b), shape (n,), for a and b of at least 0 and not both 0."""
    heads = _log_gamma_variates(a, random)
    tails = _log_gamma_variates(b, random)
    with np.errstate(over="ignore"):
        theta: Floats = 1 / (1 + np.exp(tails - heads))
    return theta


def _log_gamma_variates(shape: Floats, random: np.random.Generator) -> Floats:
    """Return log G(s), by G(s) = G(s + 1) U^(1/s). Source: G. Marsaglia, W. W. Tsang, A simple method for generating gamma variables (2000), section 6."""
    with np.errstate(divide="ignore"):
        logs: Floats = (
            np.log(random.standard_gamma(shape + 1)) + np.log(random.random(shape.size)) / shape
        )
    return logs


def compute_predictive_probabilities(models: LanguageModels, terms: Ints, label: int) -> Floats:
    """Return φ_jk of selected terms in one class, shape (n,), as estimated."""
    counts = expand_class_cells(models.statistics, models.statistics.cell_counts, label)[terms]
    return models.estimate_probability(terms, counts, models.class_tokens[label])


def compute_dirichlet_posterior(models: LanguageModels, terms: Ints, label: int) -> Floats:
    """Return m_jk + α_j of selected terms in one class, shape (n,): the parameters of the posterior Dirichlet.

    Not for maximum likelihood, which has no prior. For some of the terms they are the parameters of φ restricted to these.
    """
    counts = expand_class_cells(models.statistics, models.statistics.cell_counts, label)[terms]
    return counts + models.compute_pseudo_counts(terms)[0][:, 0] + float(models.estimate == "map")


def expand_class_cells(statistics: ClassStatistics, cells: Numbers, label: int) -> Floats:
    """Return the cells of one class, dense, shape (n_terms,)."""
    here = np.flatnonzero(statistics.cell_classes == label)
    column = np.zeros(statistics.n_terms)
    column[statistics.cell_terms[here]] = cells[here]
    return column
