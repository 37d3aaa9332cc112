"""The evidence of class counts under a Dirichlet prior, and the strength of the prior that maximises it.

A Dirichlet with parameters α_j = s·b_j has a base measure b (which sums to 1) and a strength s. The counts of each class are one draw:
log p(counts_k | α) = log Γ(s) − log Γ(N_k + s) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)]. Only cells with m_jk > 0 contribute to the sum, so
the evidence needs those alone, as a histogram. Sources: T. Minka, Estimating a Dirichlet distribution (2000); Gambosi's notes, "Model
selection: evidence".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics

STRONGEST, WEAKEST = 1e6, 1e-6
"""The evidence can grow without end towards no prior or nothing but the prior; the strength per term stays between these."""

MOST_SMOOTHING = 1.0
"""Pseudo-counts per term, on average, that smoothing adds at most. Under the prior that a handful of documents makes most probable, every
class may have nearly the same language model, and every question would get the same answer."""

PRECISION = 1e-8
"""Relative precision of the strength."""

LONGEST_SUM = 1 << 20
"""Terms up to which ψ(x + n) − ψ(x) is summed: a difference of two values of ψ has fewer exact digits."""


class CountHistogram(NamedTuple):
    """Distinct pairs of count and base measure among the cells, how many cells have each, and the tokens of each class."""

    counts: NDArray[np.float64]
    base_measure: NDArray[np.float64]
    """Shape (n_distinct,), or (1,) where it is the same for all."""
    cells: NDArray[np.float64]
    class_tokens: NDArray[np.float64]
    n_terms: int


def count_histogram(statistics: ClassStatistics, selected: NDArray[np.bool_], prior_shape: str) -> CountHistogram:
    """The histogram of the selected terms' counts; base measure 1/V for ``symmetric``, the share of the corpus for ``background``."""
    chosen = selected[statistics.cell_terms]
    counts, classes = statistics.cell_counts[chosen], statistics.cell_classes[chosen]
    tokens = np.bincount(classes, counts, minlength=statistics.n_classes).astype(np.float64)
    n_terms = int(np.count_nonzero(selected))
    if prior_shape == "symmetric":
        distinct, cells = np.unique(counts, return_counts=True)
        base_measure = np.full(1, 1 / max(n_terms, 1))
        return CountHistogram(distinct.astype(np.float64), base_measure, cells.astype(np.float64), tokens, n_terms)
    in_corpus = statistics.term_counts[statistics.cell_terms[chosen]]
    distinct, cells = np.unique(np.stack((counts, in_corpus)), axis=1, return_counts=True)
    base_measure = distinct[1] / max(tokens.sum(), 1)
    return CountHistogram(distinct[0].astype(np.float64), base_measure, cells.astype(np.float64), tokens, n_terms)


def log_evidence(histogram: CountHistogram, strength: float) -> float:
    """Σ_k log p(counts of class k | α = strength · base measure), in nats (Minka 2000, section 3), ``strength`` above 0."""
    from scipy.special import gammaln

    counts, base, cells, tokens, _ = histogram
    of_classes = gammaln(strength) - gammaln(tokens + strength)
    of_cells = gammaln(counts + strength * base) - gammaln(strength * base)
    return float(of_classes.sum() + cells @ of_cells)


def most_evident_strength(histogram: CountHistogram) -> float:
    """The strength s that maximises `log_evidence`, by bisection of its derivative within `WEAKEST` to `STRONGEST` per term.

    d/ds = Σ_cells b [ψ(m + s·b) − ψ(s·b)] − Σ_k [ψ(N_k + s) − ψ(s)]. It changes its sign once at most: the evidence has a single maximum
    (B. Levin, J. Reeds, Compound multinomial likelihood functions are unimodal, 1977). Minka's fixed point (his eq. 55) climbs to the same
    place, but by ever smaller steps where the evidence is nearly flat. With one term, or no class of two tokens, it is flat throughout,
    and the strength is 0.1 per term.
    """
    counts, base, cells, tokens, n_terms = histogram
    if n_terms < 2 or tokens.max(initial=0) < 2:
        return 0.1 * max(n_terms, 1)
    low, high = WEAKEST * n_terms, STRONGEST * n_terms
    while high > low * (1 + PRECISION):
        strength = float(np.sqrt(low * high))
        gained = float(cells @ (base * psi_rise(strength * base, counts)))
        spent = float(psi_rise(np.full(1, strength), tokens).sum())
        low, high = (strength, high) if gained > spent else (low, strength)
    return high


def psi_rise(start: NDArray[np.float64], steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """ψ(x + n) − ψ(x) = Σ_{i < n} 1/(x + i) for whole n, elementwise; ``start`` x > 0 of shape (1,) or (n,), ``steps`` n of shape (n,).

    The sum is the recurrence of ψ, exact and shared by all n; H. Wallach, Structured topic models for language (2008), section 2.3.
    """
    if start.size == 1 and steps.max(initial=0) <= LONGEST_SUM:
        distinct, inverse = np.unique(steps.astype(np.int64), return_inverse=True)
        terms = 1 / (start + np.arange(max(distinct.max(initial=0), 1)))
        parts = np.add.reduceat(terms, np.concatenate((np.zeros(1, np.int64), distinct[:-1])))
        parts[np.diff(distinct, prepend=0) == 0] = 0.0  # a sum of no terms: n is 0
        return np.cumsum(parts)[inverse]
    return psi(start + steps) - psi(start)


def psi(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The digamma function ψ for x > 0, elementwise: its recurrence ten steps up, and there its asymptotic series, to the last digits.

    M. Abramowitz, I. Stegun, Handbook of mathematical functions (1964), 6.3.6 and 6.3.18. To import scipy for it costs more than training
    on a small corpus.
    """
    high = x + 10
    square = 1 / high**2
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * 691 / 32760)))))
    below: NDArray[np.float64] = sum((1 / (x + step) for step in range(10)), np.zeros(()))
    return np.asarray(np.log(high) - 0.5 / high - series - below)


def could_be_chosen(smoothing: float, n_terms: int) -> bool:
    """Return whether automatic smoothing of at most ``n_terms`` terms can choose this pseudo-count or μ, which it rounds to six digits."""
    return WEAKEST * (1 - 1e-5) <= smoothing <= MOST_SMOOTHING * max(n_terms, 1) * (1 + 1e-5)


def smoothing_by_evidence(statistics: ClassStatistics, selected: NDArray[np.bool_], prior_shape: str) -> float:
    """The pseudo-count per term (``symmetric``) or μ (``background``) under which the class counts are most probable.

    At most `MOST_SMOOTHING` per term, with six digits: more would be noise of the platform's arithmetic.
    """
    histogram = count_histogram(statistics, selected, prior_shape)
    n_terms = max(histogram.n_terms, 1)
    strength = min(most_evident_strength(histogram), MOST_SMOOTHING * n_terms)
    return float(f"{strength / n_terms if prior_shape == 'symmetric' else strength:.6g}")
