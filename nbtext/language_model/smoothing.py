"""Automatic smoothing, by evidence or leave-one-out, and leave-one-out scores of documents.

Automatic smoothing chooses the strength of the Dirichlet prior of the language models. A Dirichlet
with parameters α_j = s·b_j has a base measure b, which sums to 1, and a strength s.

Evidence: the counts of each class are one draw, log p(counts_k | α) = log Γ(s) − log Γ(N_k + s) +
Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)]. Only counts m_jk > 0 contribute, so a histogram of these
counts is enough. Counts may be sums of weights, because Γ takes real numbers. Seed words add to the
prior: α_j = s·b_j + A_jk. The coins of Bernoulli naive Bayes have two terms, presence and absence.
Sources: T. Minka, Estimating a Dirichlet distribution (2000); Gambosi's notes, "Model selection:
evidence", "Bernoulli and Beta".

Leave-one-out: L(s) = Σ_d Σ_j n_jd log φ_jc, where c is the class of document d, and φ is estimated
from the counts of all other documents. C. Zhai, J. Lafferty, Two-stage language models for
information retrieval (2002) leave out single tokens, but tokens of a document are not independent.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.matrix import (
    MAX_BLOCK_TERM_WEIGHTS,
    DocumentTermMatrix,
    add_weighted_sums,
    iter_blocks,
)
from nbtext.language_model.dirichlet import (
    MAX_SMOOTHING_PER_TERM,
    MIN_STRENGTH_PER_TERM,
    LanguageModels,
    log,
    times_log,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.type_names import AnyArray, Floats, Ints, Mask, Numbers

MAX_STRENGTH_PER_TERM = 1e6
"""Upper limit of the strength, because evidence may increase with the strength without limit."""

DEFAULT_STRENGTH_PER_TERM = 0.1
"""Strength per term if evidence or likelihood do not depend on the strength."""

STRENGTH_PRECISION = 1e-8
"""Relative precision of the strength."""

MAX_SUMMED_TERMS = 1 << 10
"""Number of terms of ψ(x + n) − ψ(x) = Σ 1/(x + i) that are added one by one."""

MIN_ASYMPTOTIC_ARGUMENT = 16.0
"""Smallest argument for which the asymptotic series of log Γ is exact to the last digits."""

DIGAMMA_BLOCK_SIZE = 1 << 14
"""Number of elements of one block of `digamma`, which fits in the processor's cache."""

MAX_ROUNDING_NATS_PER_TOKEN = 1e-12
"""Largest difference of two log-likelihoods per token that is only a rounding error."""

WEIGHT_DECIMALS = 6
"""Number of decimals of document weights, to which sums of weights are rounded."""

N_GRID_STRENGTHS = 49
"""Number of strengths, eight per decade, among which leave-one-out looks for the best maximum."""

NO_SEEDS = np.zeros(1)
"""Pseudo-counts if there are no seed words. The shape broadcasts to all pairs and sizes."""


class CountHistogram(NamedTuple):
    """Histogram of draws from a Dirichlet-multinomial, such as the counts of the terms of a class.

    It contains the distinct pairs of a count above 0 and the base measure of its term, and the
    distinct sizes of the draws.
    """

    counts: Numbers
    """Count of each pair, above 0, shape (n_distinct,)."""
    base_measure: Floats
    """b of each pair, shape (n_distinct,), or (1,) if b is the same for all pairs."""
    multiplicities: Numbers
    """Number of occurrences of each pair, shape (n_distinct,)."""
    sizes: Numbers
    """Sizes of draws in tokens, shape (n_sizes,)."""
    n_draws: Numbers
    """Number of draws of each size, shape (n_sizes,)."""
    n_terms: int
    """Number of outcomes of a token: the selected terms, or presence and absence."""
    seeds: Floats = NO_SEEDS
    """Pseudo-count of seed words in the prior of each pair, shape (n_distinct,)."""
    seed_sums: Floats = NO_SEEDS
    """Sum of the pseudo-counts of seed words for each size, shape (n_sizes,)."""


def build_count_histogram(
    statistics: ClassStatistics, selected: Mask, prior_shape: str
) -> CountHistogram:
    """Return the histogram of the counts of selected terms, with one draw for each class.

    Counts may be weighted. The base measure is 1/V for ``symmetric``, and the proportion of the
    term in the corpus for ``background``.
    """
    observed = statistics.observed_counts
    cells = np.flatnonzero(selected[statistics.cell_terms])
    terms = statistics.cell_terms[cells]
    counts = observed.cell_counts[cells]
    if not statistics.weights.seeds:
        return _build_histogram(statistics, selected, prior_shape, terms, counts)
    # Complex numbers keep each count together with the pseudo-count of the seed word.
    seeds = statistics.cell_counts[cells] - counts
    histogram = _build_histogram(statistics, selected, prior_shape, terms, counts + 1j * seeds)
    pairs: AnyArray = histogram.counts
    tokens = observed.count_tokens(selected)
    return histogram._replace(
        counts=pairs.real,
        base_measure=histogram.base_measure.real,
        sizes=tokens,
        seeds=pairs.imag,
        seed_sums=(histogram.sizes - tokens).astype(np.float64),
    )


def build_complement_histogram(
    statistics: ClassStatistics, selected: Mask, prior_shape: str
) -> CountHistogram:
    """Return the histogram of the counts Σ_{l≠k} m_jl of the complements of classes.

    There is one draw for each class. The base measure is as in `build_count_histogram`.
    """
    # In the complement of a class without a term, the term has the same count as in the corpus.
    has_documents = statistics.class_documents > 0
    n_classes = int(np.count_nonzero(has_documents))
    terms = np.flatnonzero(selected)
    cells = np.flatnonzero(selected[statistics.cell_terms])
    cell_terms = statistics.cell_terms[cells]
    cell_complements = statistics.term_counts[cell_terms] - statistics.cell_counts[cells]
    n_without_term = n_classes - np.diff(statistics.term_offsets)[terms]

    count_terms = np.concatenate((cell_terms, terms))
    counts = np.concatenate((cell_complements, statistics.term_counts[terms]))
    multiplicities = np.concatenate((np.ones(cells.size, np.int64), n_without_term))
    occurs = (counts > 0) & (multiplicities > 0)
    histogram = _build_histogram(
        statistics,
        selected,
        prior_shape,
        count_terms[occurs],
        counts[occurs],
        multiplicities[occurs],
    )
    tokens = statistics.count_tokens(selected)[has_documents]
    return histogram._replace(sizes=tokens.sum() - tokens, n_draws=np.ones(n_classes))


def build_coin_histogram(statistics: ClassStatistics, selected: Mask) -> CountHistogram:
    """Return the histogram of presences and absences of terms in documents.

    There is one draw of D_k documents for each selected term of each class. The base measure of
    presence and of absence is 1/2.
    """
    cells = np.flatnonzero(selected[statistics.cell_terms])
    cell_classes = statistics.cell_classes[cells]
    n_documents = statistics.class_documents
    term_documents = statistics.cell_documents[cells]
    absent_documents = n_documents[cell_classes] - term_documents
    n_terms = int(np.count_nonzero(selected))
    n_absent_terms = n_terms - np.bincount(cell_classes, minlength=statistics.n_classes)
    # in a class without the term, the term is absent from all documents
    counts, multiplicities = _sum_multiplicities(
        np.concatenate((term_documents, absent_documents, n_documents)),
        np.concatenate((np.ones(2 * cells.size, np.int64), n_absent_terms)),
    )
    sizes, n_draws = _sum_multiplicities(n_documents, np.full(n_documents.size, n_terms))
    return CountHistogram(counts, np.full(1, 1 / 2), multiplicities, sizes, n_draws, n_terms=2)


def _sum_multiplicities(values: Numbers, multiplicities: Ints) -> tuple[Numbers, Numbers]:
    """Return the distinct values, and the sum of the multiplicities of each value.

    Values of 0 and values of multiplicity 0 are omitted.
    """
    occurs = (values > 0) & (multiplicities > 0)
    distinct, indices = np.unique(values[occurs], return_inverse=True)
    return distinct, np.bincount(indices, multiplicities[occurs], distinct.size)


def _build_histogram(
    statistics: ClassStatistics,
    selected: Mask,
    prior_shape: str,
    terms: Ints,
    counts: Numbers,
    multiplicities: Ints | None = None,
) -> CountHistogram:
    """Return the histogram of counts of selected terms, with one draw for each class.

    ``counts`` are the counts of ``terms``. They occur as often as their multiplicities, or once if
    ``multiplicities`` are None.
    """
    tokens = statistics.count_tokens(selected)
    n_terms = int(np.count_nonzero(selected))
    distinct_multiplicities: Numbers
    if prior_shape == "symmetric":
        base_measure = np.full(1, 1 / max(n_terms, 1))
        if multiplicities is None:
            distinct, distinct_multiplicities = np.unique(counts, return_counts=True)
        else:
            distinct, distinct_multiplicities = _sum_multiplicities(counts, multiplicities)
    else:
        count_pairs = np.stack((counts, statistics.term_counts[terms]))
        pairs, indices = np.unique(count_pairs, axis=1, return_inverse=True)
        distinct, corpus_counts = pairs
        base_measure = corpus_counts / (tokens.sum() or 1)
        distinct_multiplicities = np.bincount(indices.ravel(), multiplicities, distinct.size)
    n_draws = np.ones(tokens.size)
    return CountHistogram(distinct, base_measure, distinct_multiplicities, tokens, n_draws, n_terms)


def log_evidence(histogram: CountHistogram, strength: float) -> float:
    """Return Σ log p(counts | α = strength · base measure) over all draws, in nats.

    ``strength`` is above 0. Source: Minka (2000), section 3.

    One draw of 3 tokens from 2 terms, with strength 2: one term occurs twice, the other once. The
    probability of the sequence is 1·2·1 / (2·3·4) = 1/12:

    >>> counts, ones = np.array([2, 1]), np.ones(2)
    >>> draw = CountHistogram(counts, np.full(1, 1 / 2), ones, np.array([3]), np.ones(1), 2)
    >>> round(float(np.exp(-log_evidence(draw, 2))), 9)
    12.0
    """
    alpha = strength * histogram.base_measure + histogram.seeds
    term_gains = log_rising_factorial(alpha, histogram.counts)
    size_gains = log_rising_factorial(strength + histogram.seed_sums, histogram.sizes)
    return float(histogram.multiplicities @ term_gains - histogram.n_draws @ size_gains)


def log_rising_factorial(start: Floats | float, steps: Numbers) -> Floats:
    """Return log Γ(x + n) − log Γ(x), the logarithm of x (x + 1) … (x + n − 1) for whole n.

    ``start`` x ≥ 0 and ``steps`` n have shapes that broadcast. For large x, the result is
    (x − ½) log(1 + n/x) + n log(x + n) − n plus a difference of two short series, because a
    difference of two values of log Γ loses digits. Source: Abramowitz, Stegun (1964), 6.1.40.

    >>> float(np.exp(log_rising_factorial(3, np.array(2))).round(9))  # 3 · 4
    12.0
    """
    from scipy.special import gammaln

    low: Floats = np.maximum(start, MIN_ASYMPTOTIC_ARGUMENT)
    high: Floats = low + steps
    asymptotic = (
        (low - 0.5) * np.log1p(steps / low)
        + steps * np.log(high)
        - steps
        + _sum_stirling_series(high)
        - _sum_stirling_series(low)
    )
    is_small = np.less(start, MIN_ASYMPTOTIC_ARGUMENT)
    return np.where(is_small, gammaln(start + steps) - gammaln(start), asymptotic)


def _sum_stirling_series(x: Floats) -> Floats:
    """Return log Γ(x) − (x − ½) log x + x − ½ log 2π.

    The error is at most 10⁻¹⁶ for x ≥ `MIN_ASYMPTOTIC_ARGUMENT`.
    """
    inverse_square = 1 / (x * x)
    polynomial = 1 / 1680 - inverse_square / 1188
    for denominator in (1260, 360, 12):
        polynomial = 1 / denominator - inverse_square * polynomial
    return polynomial / x


def maximise_evidence(histogram: CountHistogram) -> float:
    """Return the strength s that maximises `log_evidence`.

    s per term is between `MIN_STRENGTH_PER_TERM` and `MAX_STRENGTH_PER_TERM`. If there is one term,
    or no draw of two tokens, evidence does not depend on s, and s per term is
    `DEFAULT_STRENGTH_PER_TERM`.

    The derivative is Σ_pairs b [ψ(m + s·b) − ψ(s·b)] − Σ_draws [ψ(N + s) − ψ(s)]. It changes its
    sign at most once (B. Levin, J. Reeds, Compound multinomial likelihood functions are unimodal,
    1977). With seed words, evidence may have several maxima, and s is one of these maxima.
    """
    counts, base_measure, multiplicities, sizes, n_draws, n_terms, seeds, seed_sums = histogram
    if n_terms < 2 or sizes.max(initial=0) < 2:
        return DEFAULT_STRENGTH_PER_TERM * max(n_terms, 1)

    # bisection, because Minka's fixed point (his eq. 55) is slow where evidence is nearly flat
    def compute_slope(strength: float) -> float:
        term_differences = digamma_difference(strength * base_measure + seeds, counts)
        size_differences = digamma_difference(strength + seed_sums, sizes)
        term_slope = float(multiplicities @ (base_measure * term_differences))
        return term_slope - float(n_draws @ size_differences)

    return bisect_sign_change(
        compute_slope, low=MIN_STRENGTH_PER_TERM * n_terms, high=MAX_STRENGTH_PER_TERM * n_terms
    )


def bisect_sign_change(compute_slope: Callable[[float], float], low: float, high: float) -> float:
    """Return the number between ``low`` and ``high`` above which a slope is not positive.

    ``low`` and ``high`` are above 0. The relative precision is `STRENGTH_PRECISION`.
    """
    # the geometric mean bisects the logarithm
    while high > low * (1 + STRENGTH_PRECISION):
        middle = float(np.sqrt(low * high))
        if compute_slope(middle) > 0:
            low = middle
        else:
            high = middle
    return high


def digamma_difference(start: Floats, steps: Numbers) -> Floats:
    """Return ψ(x + n) − ψ(x), which is Σ_{i < n} 1/(x + i) for whole n.

    ``start`` x > 0 has the shape (1,) or (n,), ``steps`` and the result have the shape (n,). For a
    single x and whole n, all n share a cumulative sum of up to `MAX_SUMMED_TERMS` terms. The sum of
    further terms is a difference of two asymptotic series, which is short and precise for large x.
    Source of the recurrence: H. Wallach, Structured topic models for language (2008), section 2.3.

    >>> digamma_difference(np.array([2.0]), np.array([2])).tolist() == [1 / 2 + 1 / 3]
    True
    """
    if start.size != 1 or not np.array_equal(steps, np.floor(steps)):
        return digamma(start + steps) - digamma(start)
    n_summed = int(min(steps.max(initial=0), MAX_SUMMED_TERMS))
    sums = np.zeros(n_summed + 1)
    np.cumsum(1 / (start + np.arange(n_summed)), out=sums[1:])
    differences: Floats = sums[np.minimum(steps, n_summed).astype(np.int64)]
    unfinished = np.flatnonzero(steps > n_summed)
    if not unfinished.size:
        return differences
    low = start + MAX_SUMMED_TERMS
    high = start + steps[unfinished]
    log_ratio = np.log1p((high - low) / low)
    first = 1 / low - 1 / high
    second = 1 / low**2 - 1 / high**2
    fourth = 1 / low**4 - 1 / high**4
    differences[unfinished] += log_ratio + first / 2 + second / 12 - fourth / 120
    return differences


def digamma(x: Floats) -> Floats:
    """Return the digamma function ψ for x > 0, shape (n,), precise to the last digits.

    ψ(x + 10) is computed by the asymptotic series, and ψ(x) from ψ(x + 10) by the recurrence.
    Importing scipy.special would take longer than training on a few hundred short documents.
    Source: M. Abramowitz, I. Stegun, Handbook of mathematical functions (1964), 6.3.6 and 6.3.18.

    >>> (digamma(np.array([2.0])) - digamma(np.array([1.0]))).round(12).tolist()  # 1/1
    [1.0]
    """
    result = np.empty(x.size)
    for start in range(0, x.size, DIGAMMA_BLOCK_SIZE):
        end = start + DIGAMMA_BLOCK_SIZE
        block = x[start:end]
        high = block + 10
        inverse_square = 1 / (high * high)
        polynomial = 1 / 132 - inverse_square * 691 / 32760
        for denominator in (240, 252, 120, 12):
            polynomial = 1 / denominator - inverse_square * polynomial
        series = inverse_square * polynomial
        # The sum of 1/(x + i) for i from 0 to 9, by pairs of terms:
        # 1/(x + i) + 1/(x + 9 − i) = (2x + 9)/(x(x + 9) + i(9 − i)).
        product = block * (block + 9)
        pair_sums = (1 / (product + step * (9 - step)) for step in range(1, 5))
        recurrence = (2 * block + 9) * sum(pair_sums, 1 / product)
        result[start:end] = np.log(high) - 0.5 / high - series - recurrence
    return result


def choose_smoothing_by_evidence(histogram: CountHistogram, prior_shape: str) -> float:
    """Return the smoothing that makes the counts most probable.

    Smoothing is the pseudo-count per term for ``symmetric``, and μ for ``background``. It is at
    most `MAX_SMOOTHING_PER_TERM` per term, and rounded to six digits, because further digits depend
    on the platform.
    """
    n_terms = max(histogram.n_terms, 1)
    smoothing = min(maximise_evidence(histogram), MAX_SMOOTHING_PER_TERM * n_terms)
    if prior_shape == "symmetric":
        smoothing /= n_terms
    return float(f"{smoothing:.6g}")


class _LeaveOneOutTokens(NamedTuple):
    """Numerators r + s·b and denominators T + s·w of the probabilities of all tokens.

    s is the strength. "Other documents" are all documents except the document of the token.
    """

    counts: Numbers
    """r, occurrences of the term in the other documents of the class, shape (n_numerators,)."""
    base_measure: Numbers
    """b of the term, shape (n_numerators,)."""
    numerator_tokens: Numbers
    """Number of tokens with this numerator, shape (n_numerators,)."""
    class_tokens: Numbers
    """T, tokens in the other documents of the class, shape (n_denominators,)."""
    base_sums: Numbers
    """w, the sum of b over the terms of all other documents, shape (n_denominators,)."""
    denominator_tokens: Numbers
    """Number of tokens with this denominator, shape (n_denominators,)."""
    n_terms: int
    """Number of selected terms."""

    def compute_numerators(self, strength: float) -> Floats:
        """Return r + s·b."""
        return self.counts + strength * self.base_measure

    def compute_denominators(self, strength: float) -> Floats:
        """Return T + s·w."""
        return self.class_tokens + strength * self.base_sums


def collect_leave_one_out_tokens(
    statistics: ClassStatistics, selected: Mask, prior_shape: str, documents: CountedDocuments
) -> _LeaveOneOutTokens:
    """Return the tokens of training documents for `leave_one_out_log_likelihood`.

    The statistics count these documents. Only tokens of selected terms are returned.
    """
    removed = subtract_each_document(statistics, selected, documents)
    matrix = removed.matrix
    entry_documents = matrix.entry_documents
    class_counts = statistics.look_up_counts(matrix.terms, documents.classes[entry_documents])
    counts: Numbers = class_counts - removed.weighted_counts
    tokens = statistics.count_tokens(selected)
    class_tokens = tokens[documents.classes] - removed.weighted_lengths
    if statistics.weight_unit != 1:
        class_tokens = np.round(class_tokens, WEIGHT_DECIMALS)
    n_terms = int(np.count_nonzero(selected))
    numerator_tokens: Numbers = removed.weighted_counts
    if prior_shape == "symmetric":
        # b is 1, so tokens with the same count have the same numerator
        counts, indices = np.unique(counts, return_inverse=True)
        numerator_tokens = np.bincount(indices, removed.weighted_counts, counts.size)
        base_measure = np.ones(counts.size)
        base_sums: Numbers = n_terms - removed.vanishing.row_sizes
    else:
        other_tokens = tokens.sum() - removed.weighted_lengths
        other_tokens = np.where(other_tokens > 0, other_tokens, 1)  # avoid 0/0
        base_measure = removed.remaining_counts / other_tokens[entry_documents]
        base_sums = np.ones(len(documents))
    # all tokens of a document have the same denominator
    denominator_tokens = np.bincount(entry_documents, removed.weighted_counts, len(documents))
    has_tokens = denominator_tokens > 0
    return _LeaveOneOutTokens(
        counts=counts,
        base_measure=base_measure,
        numerator_tokens=numerator_tokens,
        class_tokens=class_tokens[has_tokens],
        base_sums=base_sums[has_tokens],
        denominator_tokens=denominator_tokens[has_tokens],
        n_terms=n_terms,
    )


def leave_one_out_log_likelihood(tokens: _LeaveOneOutTokens, strength: float) -> float:
    """Return Σ n log(r + s·b) − Σ n log(T + s·w), in nats, for a ``strength`` s above 0."""
    numerators = tokens.compute_numerators(strength)
    denominators = tokens.compute_denominators(strength)
    log_numerators = tokens.numerator_tokens @ np.log(numerators)
    return float(log_numerators - tokens.denominator_tokens @ np.log(denominators))


def _compute_slope(tokens: _LeaveOneOutTokens, strength: float) -> float:
    """Return d/ds of `leave_one_out_log_likelihood`."""
    numerators = tokens.compute_numerators(strength)
    denominators = tokens.compute_denominators(strength)
    return float(
        tokens.numerator_tokens @ (tokens.base_measure / numerators)
        - tokens.denominator_tokens @ (tokens.base_sums / denominators)
    )


def _maximise_leave_one_out(
    tokens: _LeaveOneOutTokens, min_strength: float, max_strength: float
) -> float | None:
    """Return the strength that maximises `leave_one_out_log_likelihood`.

    Start from the best strength of a grid, and bisect the derivative up to the next strength in the
    direction in which the likelihood increases. Return None if all strengths are equally likely.
    """
    grid = np.geomspace(min_strength, max_strength, N_GRID_STRENGTHS)
    likelihoods = np.array(
        [leave_one_out_log_likelihood(tokens, strength) for strength in grid.tolist()]
    )
    if np.ptp(likelihoods) <= MAX_ROUNDING_NATS_PER_TOKEN * tokens.numerator_tokens.sum():
        return None
    best = int(np.argmax(likelihoods))
    low = high = float(grid[best])
    if _compute_slope(tokens, low) > 0:
        high = float(grid[min(best + 1, grid.size - 1)])
    else:
        low = float(grid[max(best - 1, 0)])
    return bisect_sign_change(partial(_compute_slope, tokens), low, high)


def choose_smoothing_by_leave_one_out(
    statistics: ClassStatistics, selected: Mask, prior_shape: str, documents: CountedDocuments
) -> float:
    """Return the smoothing that makes documents most probable in leave-one-out.

    Smoothing is as in `choose_smoothing_by_evidence`, at least `MIN_STRENGTH_PER_TERM` per term.
    """
    tokens = collect_leave_one_out_tokens(statistics, selected, prior_shape, documents)
    # with the symmetric prior, b is 1, and the strength is the pseudo-count of one term
    n_terms = 1.0
    if prior_shape == "background":
        n_terms = float(max(tokens.n_terms, 1))
    strength = None
    if tokens.class_tokens.any():
        strength = _maximise_leave_one_out(
            tokens, MIN_STRENGTH_PER_TERM * n_terms, MAX_SMOOTHING_PER_TERM * n_terms
        )
    if strength is None:
        strength = DEFAULT_STRENGTH_PER_TERM * n_terms
    return float(f"{strength:.6g}")


class LeaveOneOutEntries(NamedTuple):
    """Training documents, their contributions to the statistics, and the counts without each."""

    matrix: DocumentTermMatrix
    """The entries of selected terms that another document contains."""
    weighted_counts: Numbers
    """Contribution of each entry to the counts of its class, shape (n_entries,)."""
    remaining_counts: Numbers
    """Count of the term of each entry in all other documents, above 0, shape (n_entries,)."""
    vanishing: DocumentTermMatrix
    """The entries of selected terms that no other document contains."""
    weighted_lengths: Numbers
    """Contribution of each document to the tokens of its class, shape (n_docs,)."""
    is_shared: Mask
    """True for entries of selected terms that are in `matrix`, not in `vanishing`."""


def subtract_each_document(
    statistics: ClassStatistics,
    selected: Mask,
    documents: CountedDocuments,
    *,
    declared: bool = False,
) -> LeaveOneOutEntries:
    """Return the counts of terms without each of the documents, which the statistics contain.

    A term that no other document contains vanishes, unless the outcomes are ``declared``, see
    `LanguageModels.has_declared_outcomes`.
    """
    matrix = documents.matrix.select_terms(selected)
    weighted_counts: Numbers = matrix.counts
    weighted_lengths = matrix.row_sums
    weight_unit = statistics.weight_unit
    if weight_unit != 1:
        weights = documents.apply_class_weights(statistics)
        weighted_counts = weighted_counts * weights[matrix.entry_documents] / weight_unit
        weighted_lengths = weighted_lengths * weights / weight_unit
    remaining_counts = statistics.term_counts.take(matrix.terms) - weighted_counts
    # declared outcomes stay possible even if no other document has them
    is_shared = (remaining_counts > 0) | declared
    return LeaveOneOutEntries(
        matrix=matrix.select_entries(is_shared),
        weighted_counts=weighted_counts[is_shared],
        remaining_counts=remaining_counts[is_shared],
        vanishing=matrix.select_entries(~is_shared),
        weighted_lengths=weighted_lengths,
        is_shared=is_shared,
    )


def compute_leave_one_out_scores(
    models: LanguageModels, documents: CountedDocuments, tokens: DocumentTermMatrix | None = None
) -> tuple[Floats, Ints, Ints]:
    """Return Σ_j n_jd log φ_jk of training documents, each by models of all other documents.

    Without document d of class c, m_jc loses n_jd, N_c loses the document's tokens, and V and α_0
    lose the terms that only d contains. The selection of terms and the smoothing stay. So the
    models of all other documents are computed exactly, without training.

    Return the scores, shape (n_docs, n_classes), in nats. Also return, for each document, the
    number of tokens that contribute to its scores, and the number of other tokens, both of shape
    (n_docs,). If the models are estimated from weighted terms, ``documents`` have weights in place
    of counts, and ``tokens`` are the same documents with counts.
    """
    if tokens is None:
        tokens = documents.matrix
    removed = subtract_each_document(
        models.statistics, models.selected, documents, declared=models.has_declared_outcomes
    )
    if models.prior_shape == "symmetric":
        scores = np.zeros((len(documents), models.statistics.n_classes))
        models.add_log_counts(scores, removed.matrix)
        entry_pseudo_counts = models.compute_pseudo_counts(removed.matrix.terms)
        pseudo_tokens = models.compute_leave_one_out_pseudo_tokens(removed.vanishing)
    else:
        entry_pseudo_counts = _compute_background_pseudo_counts(models, removed)
        scores = _sum_background_log_counts(models, removed, entry_pseudo_counts)
        pseudo_tokens = np.full(len(documents), models.smoothing)
    _correct_own_class(scores, models, documents.classes, removed, entry_pseudo_counts)
    _subtract_log_totals(scores, models, documents.classes, removed, pseudo_tokens)
    # nan is the logarithm of 0/0, for a class without tokens and pseudo-counts
    scores[np.isnan(scores)] = -np.inf

    scored_tokens = removed.matrix
    is_weighted = tokens.counts is not documents.matrix.counts
    if is_weighted:
        scored_tokens = tokens.select_terms(models.selected).select_entries(removed.is_shared)
    n_scored = scored_tokens.known_tokens
    return scores, n_scored, tokens.known_tokens - n_scored


def _compute_background_pseudo_counts(
    models: LanguageModels, removed: LeaveOneOutEntries
) -> Floats:
    """Return μ·p(j | all other documents) of each entry, shape (n_entries,)."""
    other_tokens = models.class_tokens.sum() - removed.weighted_lengths
    pseudo_counts = models.smoothing * removed.remaining_counts
    return pseudo_counts / other_tokens[removed.matrix.entry_documents]


def _sum_background_log_counts(
    models: LanguageModels, removed: LeaveOneOutEntries, entry_pseudo_counts: Floats
) -> Floats:
    """Return Σ_j n_jd log(m_jk + α_jd), shape (n_docs, n_classes), in nats.

    The background prior depends on the document, so each entry is summed as a term of its own.
    """
    matrix = removed.matrix
    statistics = models.statistics
    scores = np.zeros((matrix.n_documents, statistics.n_classes))

    def compute_log_counts(entries: Ints) -> Floats:
        counts = statistics.get_dense_counts(matrix.terms[entries])
        return log(counts + entry_pseudo_counts[entries, np.newaxis])

    n_entries = matrix.terms.size
    entry_matrix = matrix._replace(terms=np.arange(n_entries))
    add_weighted_sums(scores, entry_matrix, n_entries, compute_log_counts)
    return scores


def _correct_own_class(
    scores: Floats,
    models: LanguageModels,
    classes: Ints,
    removed: LeaveOneOutEntries,
    entry_pseudo_counts: Floats,
) -> None:
    """Replace log(m_jc + α_j) by log(m_jc − n_jd + α_j) in ``scores`` of own classes, in place."""
    matrix = removed.matrix
    n_documents = matrix.n_documents
    counts = models.statistics.look_up_counts(matrix.terms, classes[matrix.entry_documents])
    remaining_counts = counts - removed.weighted_counts
    log_changes = log(remaining_counts + entry_pseudo_counts) - log(counts + entry_pseudo_counts)
    changes = np.bincount(
        matrix.entry_documents, matrix.counts * log_changes, minlength=n_documents
    )
    scores[np.arange(n_documents), classes] += changes


def _subtract_log_totals(
    scores: Floats,
    models: LanguageModels,
    classes: Ints,
    removed: LeaveOneOutEntries,
    pseudo_tokens: Floats,
) -> None:
    """Subtract n_d log(N_k + α_0) from ``scores`` in place, with N_k and α_0 of other documents."""
    statistics = models.statistics
    sums = removed.matrix.row_sums
    all_rows = np.arange(len(classes))
    for rows in iter_blocks(all_rows, statistics.n_classes, MAX_BLOCK_TERM_WEIGHTS):
        class_tokens = np.tile(models.class_tokens, (rows.size, 1))
        class_tokens[np.arange(rows.size), classes[rows]] -= removed.weighted_lengths[rows]
        if statistics.weight_unit != 1:
            class_tokens = np.round(class_tokens, WEIGHT_DECIMALS)
        with np.errstate(invalid="ignore"):
            log_totals = log(class_tokens + pseudo_tokens[rows, np.newaxis])
            scores[rows] -= times_log(sums[rows, np.newaxis], log_totals)
