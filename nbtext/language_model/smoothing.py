"""The strength of the Dirichlet prior, by evidence or by leaving documents out, and language models without one of their documents.

A Dirichlet with parameters α_j = s·b_j has a base measure b (which sums to 1) and a strength s.

Evidence. The counts of each class are one draw: log p(counts_k | α) = log Γ(s) − log Γ(N_k + s) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)]. Only
cells with m_jk > 0 contribute to the sum, so a histogram of those is enough. The same formula takes sums of weights, because Γ takes real
numbers. Seed words are a part of the prior: α_j = s·b_j + A_jk of a term j that speaks for class k. The coins of Bernoulli naive Bayes are the case of two terms, presence and absence, with one draw for each term of each class.
Sources: T. Minka, Estimating a Dirichlet distribution (2000); Gambosi's notes, "Model selection: evidence", "Bernoulli and Beta".

Leave-one-out. L(s) = Σ_d Σ_j n_jd log φ_jc, c the class of document d, φ the posterior mean from the counts of all other documents. Source:
C. Zhai, J. Lafferty, Two-stage language models for information retrieval (2002), who leave out single tokens; here it is a document at a
time, because its tokens are not independent.

Without document d of class c with counts n_jd, m_jc loses n_jd, N_c the document's tokens, and a term that no other document holds leaves
the vocabulary (V and α_0 fall) and the document. The selection of terms and the smoothing stay. All of this is exact, by subtraction.
"""

from __future__ import annotations

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
"""Largest strength per term, as `MIN_STRENGTH_PER_TERM` is the least: the evidence can grow without end towards no prior or a prior alone."""


STRENGTH_PRECISION = 1e-8
"""Relative precision of the strength."""

MAX_SUMMED_TERMS = 1 << 10
"""Terms of ψ(x + n) − ψ(x) = Σ 1/(x + i) that are summed: a difference of two values of ψ has fewer exact digits."""

MIN_ASYMPTOTIC_ARGUMENT = 16.0
"""Where asymptotic series of log Γ begin to be exact."""

CACHED = 1 << 14
"""Numbers that `digamma` takes at once: what it makes of them stays in the processor's cache, which is four times as fast."""

FLAT = 1e-12
"""Nats per token: a difference of likelihoods that is rounding alone."""

GRID = 49
"""Strengths tried first by leave-one-out, eight a decade, because the likelihood may have several maxima; the highest of these is refined."""


NO_SEEDS = np.zeros(1)


class CountHistogram(NamedTuple):
    """Draws from a Dirichlet-multinomial, such as the counts of classes: distinct pairs of count and base measure, and the size of each draw."""

    counts: Numbers
    """Above 0, shape (n_distinct,)."""
    base_measure: Floats
    """Shape (n_distinct,), or (1,) where it is the same for all."""
    cells: Numbers
    """How often each pair occurs, shape (n_distinct,)."""
    sizes: Numbers
    """Distinct numbers of tokens of a draw, such as those of a class."""
    draws: Numbers
    """Draws of each size."""
    n_terms: int
    """The number of outcomes of a token: the selected terms, or presence and absence."""
    seeds: Floats = NO_SEEDS
    """What seed words add to the prior of each pair, shape (n_distinct,)."""
    all_seeds: Floats = NO_SEEDS
    """What they add to the strength for each size, shape (n_sizes,)."""


def build_count_histogram(
    statistics: ClassStatistics, selected: Mask, prior_shape: str
) -> CountHistogram:
    """Return the histogram of the selected terms' counts, whole or weighted, with a draw for each class.

    The base measure is 1/V for ``symmetric``, the share of the corpus for ``background``.
    """
    cells = np.flatnonzero(selected[statistics.cell_terms])
    terms = statistics.cell_terms[cells]
    counts = statistics.observed_counts.cell_counts[cells]
    if not statistics.weights.seeds:
        return _histogram(statistics, selected, prior_shape, terms, counts)
    seeds = statistics.cell_counts[cells] - counts
    tokens = statistics.observed_counts.count_tokens(selected)
    found = _histogram(
        statistics, selected, prior_shape, terms, counts + 1j * seeds
    )  # a complex number is a pair of both
    both: AnyArray = found.counts
    base = found.base_measure.real
    return found._replace(
        counts=both.real,
        base_measure=base,
        sizes=tokens,
        seeds=both.imag,
        all_seeds=(found.sizes - tokens).astype(np.float64),
    )


def build_complement_histogram(
    statistics: ClassStatistics, selected: Mask, prior_shape: str
) -> CountHistogram:
    """Return the histogram of the counts of each class's complement, Σ_{l≠k} m_jl; as `build_count_histogram` otherwise.

    A term has the same count, that of the corpus, in the complements of all classes that do not hold it.
    """
    terms = np.flatnonzero(selected)
    cells = np.flatnonzero(selected[statistics.cell_terms])
    others = statistics.term_counts[statistics.cell_terms[cells]] - statistics.cell_counts[cells]
    n_classes = int(np.count_nonzero(statistics.class_documents))
    not_holding = n_classes - np.diff(statistics.term_offsets)[terms]
    holders = np.concatenate((statistics.cell_terms[cells], terms))
    counts = np.concatenate((others, statistics.term_counts[terms]))
    number = np.concatenate((np.ones(cells.size, np.int64), not_holding))
    some = (counts > 0) & (number > 0)
    found = _histogram(statistics, selected, prior_shape, holders[some], counts[some], number[some])
    tokens = statistics.count_tokens(selected)[statistics.class_documents > 0]
    return found._replace(sizes=tokens.sum() - tokens, draws=np.ones(n_classes))


def build_coin_histogram(statistics: ClassStatistics, selected: Mask) -> CountHistogram:
    """Return the histogram of presences and absences, with a draw for each selected term of each class: its D_k documents.

    The base measure is 1/2: α is both parameters of a Beta distribution.
    """
    cells = np.flatnonzero(selected[statistics.cell_terms])
    of_class = statistics.class_documents
    holding = statistics.cell_documents[cells]
    lacking = of_class[statistics.cell_classes[cells]] - holding
    n_terms = int(np.count_nonzero(selected))
    nowhere = n_terms - np.bincount(statistics.cell_classes[cells], minlength=statistics.n_classes)
    counts, number = _summed(
        np.concatenate((holding, lacking, of_class)),
        np.concatenate((np.ones(2 * cells.size, np.int64), nowhere)),
    )
    return CountHistogram(
        counts,
        np.full(1, 1 / 2),
        number,
        *_summed(of_class, np.full(of_class.size, n_terms)),
        n_terms=2,
    )


def _summed(values: Numbers, number: Ints) -> tuple[Numbers, Numbers]:
    """Return the distinct values above 0, and the sum of the numbers of each, where it is above 0."""
    some = (values > 0) & (number > 0)
    values = values[some]
    number = number[some]
    distinct, place = np.unique(values, return_inverse=True)
    return distinct, np.bincount(place, number, distinct.size)


def _histogram(
    statistics: ClassStatistics,
    selected: Mask,
    prior_shape: str,
    terms: Ints,
    counts: Numbers,
    number: Ints | None = None,
) -> CountHistogram:
    """Return the histogram of counts of selected terms, each as often as ``number`` says, or once; a draw for each class."""
    tokens = statistics.count_tokens(selected)
    n_terms = int(np.count_nonzero(selected))
    if prior_shape == "symmetric":
        base_measure = np.full(1, 1 / max(n_terms, 1))
        distinct, cells = (
            np.unique(counts, return_counts=True) if number is None else _summed(counts, number)
        )
    else:
        pairs, place, cells = np.unique(
            np.stack((counts, statistics.term_counts[terms])),
            axis=1,
            return_inverse=True,
            return_counts=True,
        )
        distinct = pairs[0]
        base_measure = pairs[1] / (tokens.sum() or 1)
        cells = cells if number is None else np.bincount(place.ravel(), number, distinct.size)
    return CountHistogram(distinct, base_measure, cells, tokens, np.ones(tokens.size), n_terms)


def log_evidence(histogram: CountHistogram, strength: float) -> float:
    """Return the sum of log p(counts | α = strength · base measure) over all draws, in nats, for a ``strength`` above 0 (Minka 2000, section 3)."""
    counts, base, cells, sizes, draws, _, seeds, all_seeds = histogram
    return float(
        cells @ log_rising_factorial(strength * base + seeds, counts)
        - draws @ log_rising_factorial(strength + all_seeds, sizes)
    )


def log_rising_factorial(start: Floats | float, steps: Numbers) -> Floats:
    """Return log Γ(x + n) − log Γ(x), x ≥ 0, of any shapes that broadcast, with as many digits for large x as for small.

    From `LARGE` on it is (x − ½) log(1 + n/x) + n log(x + n) − n and a difference of two short series: that of two values of log Γ loses its digits, as
    log Γ(10¹²) alone is known to ±0.002. Importing scipy for small x takes a moment. Source: Abramowitz, Stegun (1964), 6.1.40.
    """
    from scipy.special import gammaln

    low: Floats = np.maximum(start, MIN_ASYMPTOTIC_ARGUMENT)
    high: Floats = low + steps
    of_large = (
        (low - 0.5) * np.log1p(steps / low)
        + steps * np.log(high)
        - steps
        + _stirling_series(high)
        - _stirling_series(low)
    )
    return np.where(
        np.less(start, MIN_ASYMPTOTIC_ARGUMENT), gammaln(start + steps) - gammaln(start), of_large
    )


def _stirling_series(x: Floats) -> Floats:
    """Return log Γ(x) − (x − ½) log x + x − ½ log 2π, to 10⁻¹⁶ from `LARGE` on."""
    square = 1 / (x * x)
    return (
        1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))
    ) / x


def maximise_evidence(histogram: CountHistogram) -> float:
    """Return the strength s that maximises `log_evidence`, between `MIN_STRENGTH_PER_TERM` and `MAX_STRENGTH_PER_TERM` per term.

    d/ds = Σ_cells b [ψ(m + s·b) − ψ(s·b)] − Σ_draws [ψ(N + s) − ψ(s)] changes its sign at most once: the evidence has a single maximum
    (B. Levin, J. Reeds, Compound multinomial likelihood functions are unimodal, 1977). Minka's fixed point (his eq. 55) converges to the
    same place, but by ever smaller steps where the evidence is nearly flat. With one term, or no draw of two tokens, it is flat throughout,
    and the strength is 0.1 per term. With seed words there may be others, and it is one of them.
    """
    counts, base, cells, sizes, draws, n_terms, seeds, all_seeds = histogram
    if n_terms < 2 or sizes.max(initial=0) < 2:
        return 0.1 * max(n_terms, 1)

    def slope(strength: float) -> float:
        gained = float(cells @ (base * digamma_difference(strength * base + seeds, counts)))
        return gained - float(draws @ digamma_difference(strength + all_seeds, sizes))

    return where_it_turns(slope, MIN_STRENGTH_PER_TERM * n_terms, MAX_STRENGTH_PER_TERM * n_terms)


def where_it_turns(slope: Callable[[float], float], low: float, high: float) -> float:
    """Return the place between two, all above 0, where a slope that is positive at first is not any more; by bisection of the logarithm."""
    while high > low * (1 + STRENGTH_PRECISION):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return high


def digamma_difference(start: Floats, steps: Numbers) -> Floats:
    """Return ψ(x + n) − ψ(x), for whole n Σ_{i < n} 1/(x + i); ``start`` x > 0 has the shape (1,) or (n,), ``steps`` n and the result (n,).

    The first `MAX_SUMMED_TERMS` terms of the sum, the recurrence of ψ, are shared by all whole n; beyond them, x is large and the difference of two
    asymptotic series is short and loses no digits. Source of the recurrence: H. Wallach, Structured topic models for language (2008), section 2.3.
    """
    if start.size != 1 or not np.array_equal(steps, np.floor(steps)):
        return digamma(start + steps) - digamma(start)
    most = int(min(steps.max(initial=0), MAX_SUMMED_TERMS))
    sums = np.zeros(most + 1)
    np.cumsum(1 / (start + np.arange(most)), out=sums[1:])
    found: Floats = sums[np.minimum(steps, most).astype(np.int64)]
    far = np.flatnonzero(steps > most)
    if not far.size:
        return found
    low = start + MAX_SUMMED_TERMS
    high = start + steps[far]
    first, second, fourth = (1 / low**power - 1 / high**power for power in (1, 2, 4))
    found[far] += np.log1p((high - low) / low) + first / 2 + second / 12 - fourth / 120
    return found


def digamma(x: Floats) -> Floats:
    """Return the digamma function ψ for x > 0, shape (n,): its recurrence ten steps up, and its asymptotic series there, to the last digits.

    Source: M. Abramowitz, I. Stegun, Handbook of mathematical functions (1964), 6.3.6 and 6.3.18. Importing `scipy.special` for it takes
    0.17 s, more than training on a few hundred short documents.
    """
    found = np.empty(x.size)
    for begin in range(0, x.size, CACHED):
        part = x[begin : begin + CACHED]
        high = part + 10
        square = 1 / (high * high)
        series = square * (
            1 / 12
            - square
            * (
                1 / 120
                - square
                * (1 / 252 - square * (1 / 240 - square * (1 / 132 - square * 691 / 32760)))
            )
        )
        ends = part * (part + 9)  # 1/(x + i) + 1/(x + 9 − i) is (2x + 9)/(x(x + 9) + i(9 − i))
        below = (2 * part + 9) * sum(
            (1 / (ends + step * (9 - step)) for step in range(1, 5)), 1 / ends
        )
        found[begin : begin + CACHED] = np.log(high) - 0.5 / high - series - below
    return found


def choose_smoothing_by_evidence(histogram: CountHistogram, prior_shape: str) -> float:
    """Return the pseudo-count per term (``symmetric``) or μ (``background``) that makes the counts most probable.

    At most `MAX_SMOOTHING_PER_TERM` per term, with six digits: more would depend on the platform's arithmetic.
    """
    n_terms = max(histogram.n_terms, 1)
    strength = min(maximise_evidence(histogram), MAX_SMOOTHING_PER_TERM * n_terms)
    return float(f"{strength / n_terms if prior_shape == 'symmetric' else strength:.6g}")


class _LeftOutTokens(NamedTuple):
    """Numerators r + s·b and denominators T + s·w of the probabilities of all tokens, each with the number of its tokens; flat arrays."""

    counts: Numbers
    """r, occurrences of the term in the other documents of the class."""
    base: Numbers
    """b, the base measure of the term."""
    tokens: Numbers
    class_tokens: Numbers
    """T, tokens in the other documents of the class."""
    base_sums: Numbers
    """w, the sum of b over the terms that other documents hold."""
    lengths: Numbers
    n_terms: int

    def parts(self, strength: float) -> tuple[Floats, Floats]:
        """Return the numerators and the denominators."""
        return self.counts + strength * self.base, self.class_tokens + strength * self.base_sums


def collect_leave_one_out_tokens(
    statistics: ClassStatistics, selected: Mask, prior_shape: str, documents: CountedDocuments
) -> _LeftOutTokens:
    """Return what `leave_one_out_log_likelihood` needs of documents of the statistics, over the selected terms."""
    left = subtract_each_document(statistics, selected, documents)
    matrix = left.matrix
    own = documents.classes[left.matrix.entry_documents]
    counts: Numbers = statistics.look_up_counts(matrix.terms, own) - left.own
    tokens = statistics.count_tokens(selected)
    class_tokens = tokens[documents.classes] - left.lengths
    if statistics.weight_unit != 1:
        class_tokens = np.round(class_tokens, 6)
    n_terms = int(np.count_nonzero(selected))
    if prior_shape == "symmetric":
        counts, inverse = np.unique(counts, return_inverse=True)
        weights: Numbers = np.bincount(inverse, left.own, counts.size)
        base_sums: Numbers = n_terms - left.vanishing.row_sizes
        base = np.ones(counts.size)
    else:
        in_others = np.where(tokens.sum() > left.lengths, tokens.sum() - left.lengths, 1)
        weights = left.own
        base = left.remaining / in_others[matrix.entry_documents]
        base_sums = np.ones(len(documents))
    lengths = np.bincount(matrix.entry_documents, left.own, len(documents))
    some = lengths > 0
    return _LeftOutTokens(
        counts, base, weights, class_tokens[some], base_sums[some], lengths[some], n_terms
    )


def leave_one_out_log_likelihood(tokens: _LeftOutTokens, strength: float) -> float:
    """Return Σ n log(r + s·b) − Σ n log(T + s·w), in nats, for a ``strength`` s above 0."""
    numerators, denominators = tokens.parts(strength)
    return float(tokens.tokens @ np.log(numerators) - tokens.lengths @ np.log(denominators))


def _slope(tokens: _LeftOutTokens, strength: float) -> float:
    """Return d/ds of `leave_one_out_log_likelihood`."""
    numerators, denominators = tokens.parts(strength)
    return float(
        tokens.tokens @ (tokens.base / numerators)
        - tokens.lengths @ (tokens.base_sums / denominators)
    )


def _maximise_leave_one_out(
    tokens: _LeftOutTokens, weakest: float, strongest: float
) -> float | None:
    """Return the strength between two that maximises `leave_one_out_log_likelihood`, None if all do: the best of a grid, refined by bisection of the derivative."""
    grid = np.geomspace(weakest, strongest, GRID)
    likelihoods = np.array(
        [leave_one_out_log_likelihood(tokens, strength) for strength in grid.tolist()]
    )
    if np.ptp(likelihoods) <= FLAT * tokens.tokens.sum():
        return None
    best = int(np.argmax(likelihoods))
    rises = _slope(tokens, float(grid[best])) > 0
    low, high = (
        float(grid[np.clip(best + step, 0, GRID - 1)]) for step in ((0, 1) if rises else (-1, 0))
    )
    return where_it_turns(lambda strength: _slope(tokens, strength), low, high)


def choose_smoothing_by_leave_one_out(
    statistics: ClassStatistics, selected: Mask, prior_shape: str, documents: CountedDocuments
) -> float:
    """Return the pseudo-count per term (``symmetric``) or μ (``background``) that makes left-out documents most probable.

    Between `MIN_STRENGTH_PER_TERM` and `MAX_SMOOTHING_PER_TERM` per term, with six digits; 0.1 per term if the likelihood does not depend on it, as with one term.
    """
    tokens = collect_leave_one_out_tokens(statistics, selected, prior_shape, documents)
    per_term = 1.0 if prior_shape == "symmetric" else float(max(tokens.n_terms, 1))
    likeliest = (
        _maximise_leave_one_out(
            tokens, MIN_STRENGTH_PER_TERM * per_term, MAX_SMOOTHING_PER_TERM * per_term
        )
        if tokens.class_tokens.any()
        else None
    )
    return float(f"{0.1 * per_term if likeliest is None else likeliest:.6g}")


class _WithoutThemselves(NamedTuple):
    """Documents beside the statistics of all others."""

    matrix: DocumentTermMatrix
    """Their entries of selected terms that another document holds."""
    own: Numbers
    """What each entry is in the counts of its class: occurrences, times the weight of the document, shape (n_entries,)."""
    remaining: Numbers
    """Occurrences of each entry's term in all other documents, at least 1, shape (n_entries,)."""
    vanishing: DocumentTermMatrix
    """Their entries of selected terms that only this document holds."""
    lengths: Numbers
    """What each document is in the tokens of its class, terms that vanish included, shape (n_docs,)."""
    others: Mask
    """Which of their entries of selected terms are in `matrix`."""


def subtract_each_document(
    statistics: ClassStatistics,
    selected: Mask,
    documents: CountedDocuments,
    *,
    declared: bool = False,
) -> _WithoutThemselves:
    """Return what is left of documents of the corpus when each is subtracted from its statistics; no term vanishes of outcomes that are declared."""
    matrix = documents.matrix.select_terms(selected)
    own: Numbers = matrix.counts
    lengths = matrix.row_sums
    unit = statistics.weight_unit
    if unit != 1:
        weights = documents.apply_class_weights(statistics)
        own = own * weights[matrix.entry_documents] / unit
        lengths = lengths * weights / unit
    remaining = statistics.term_counts.take(matrix.terms) - own
    others = (remaining > 0) | declared
    vanishing = matrix.select_entries(~others)
    return _WithoutThemselves(
        matrix.select_entries(others), own[others], remaining[others], vanishing, lengths, others
    )


def compute_leave_one_out_scores(
    models: LanguageModels, documents: CountedDocuments, tokens: DocumentTermMatrix | None = None
) -> tuple[Floats, Ints, Ints]:
    """Return Σ_j n_jd log φ_jk of documents of the corpus, each under the models estimated from all others, shape (n_docs, n_classes), in nats.

    And of each document the tokens of terms that still count, and other tokens: of terms that no other document holds or that did not count before.
    If the models are of sums of weights, the documents have the same weights, and their counts are in ``tokens``.
    """
    statistics = models.statistics
    tokens = tokens or documents.matrix
    own_class = (np.arange(len(documents)), documents.classes)
    left = subtract_each_document(
        statistics, models.selected, documents, declared=models.has_declared_outcomes
    )
    matrix, in_class, remaining, vanishing, selected_tokens, others = left

    of_entry = matrix.entry_documents
    scores = np.zeros((len(documents), statistics.n_classes))

    if models.prior_shape == "symmetric":
        added = models.compute_pseudo_counts(matrix.terms)[0][:, 0]
        total = models.compute_leave_one_out_pseudo_tokens(vanishing)
        models.add_log_counts(scores, matrix)
    else:  # the background depends on the document, so each entry has weights of its own
        added = (
            models.smoothing * remaining / (models.class_tokens.sum() - selected_tokens)[of_entry]
        )
        total = np.full(len(documents), models.smoothing)
        each = matrix._replace(terms=np.arange(matrix.terms.size))
        add_weighted_sums(
            scores,
            each,
            each.terms.size,
            lambda entries: log(
                statistics.get_dense_counts(matrix.terms[entries]) + added[entries, np.newaxis]
            ),
        )
    counts = statistics.look_up_counts(matrix.terms, documents.classes[of_entry])
    change = matrix.counts * (log(counts - in_class + added) - log(counts + added))
    scores[own_class] += np.bincount(of_entry, change, minlength=len(documents))
    sums = matrix.row_sums
    for rows in iter_blocks(own_class[0], statistics.n_classes, MAX_BLOCK_TERM_WEIGHTS):
        class_tokens = np.tile(models.class_tokens, (rows.size, 1))
        class_tokens[np.arange(rows.size), documents.classes[rows]] -= selected_tokens[rows]
        if statistics.weight_unit != 1:
            class_tokens = np.round(class_tokens, 6)  # sums of weights are multiples of a millionth
        with np.errstate(invalid="ignore"):
            scores[rows] -= times_log(
                sums[rows, np.newaxis], log(class_tokens + total[rows, np.newaxis])
            )
    scores[
        np.isnan(scores)
    ] = -np.inf  # 0/0: a class of no tokens and no pseudo-counts has seen no term
    are_weights = tokens.counts is not documents.matrix.counts
    lengths = (
        tokens.select_terms(models.selected).select_entries(others) if are_weights else matrix
    ).known_tokens
    return scores, lengths, tokens.known_tokens - lengths
