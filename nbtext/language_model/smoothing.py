"""The evidence of class counts under a Dirichlet prior, and the strength of the prior that maximises it.

A Dirichlet with parameters α_j = s·b_j has a base measure b (which sums to 1) and a strength s. The counts of each class are one draw:
log p(counts_k | α) = log Γ(s) − log Γ(N_k + s) + Σ_j [log Γ(m_jk + α_j) − log Γ(α_j)]. Only cells with m_jk > 0 contribute to the sum, so
the evidence needs those alone, as a histogram. Sources: T. Minka, Estimating a Dirichlet distribution (2000); Gambosi's notes, "Model
selection: evidence".


The strength of the prior under which documents are most probable by the language model of their own class without them.

L(s) = Σ_d Σ_j n_jd log φ_jc, c the class of document d, φ its posterior mean from the counts m_jc − n_jd of all other documents and the
pseudo-counts s·b_j. A term that no other document holds leaves the vocabulary and the document, as in `nbtext.language_model.smoothing`.
Source: C. Zhai, J. Lafferty, Two-stage language models for information retrieval (2002), who leave out single tokens; here a document at a
time, because its tokens come together.

Class language models as they were without one of their documents: exact, by subtraction, for many documents at once.

Document d with counts n_jd belongs to class c. Without it m_jc loses n_jd and N_c the document's tokens; a term that no other document
holds leaves the vocabulary (V and α_0 fall) and the document. Which terms are selected and how strong the smoothing is stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.matrix import add_weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels

    Floats = NDArray[np.float64]


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


GRID = 49
"""Strengths tried first, evenly on a logarithmic scale: eight a decade. The likelihood may have several maxima; the highest of these is refined."""


BISECTIONS = 40
"""Each halves the interval around the best of them: to 1e-13 of the strength."""


class LeftOutTokens(NamedTuple):
    """Numerators r + s·b and denominators T + s·w of the probabilities of all tokens, each with how many tokens have it; flat arrays."""

    counts: Floats
    """r, occurrences of the term in the other documents of the class."""
    base: Floats
    """b, what the prior's strength is multiplied with."""
    tokens: Floats
    class_tokens: Floats
    """T, tokens in the other documents of the class."""
    base_sums: Floats
    """w, the sum of b over the terms that other documents hold."""
    lengths: Floats
    n_terms: int


def left_out_tokens(
    statistics: ClassStatistics, selected: NDArray[np.bool_], prior_shape: str, documents: CountedDocuments
) -> LeftOutTokens:
    """What the likelihood needs of the documents, which are part of the statistics; over the selected terms."""
    left = without_themselves(statistics, selected, documents)
    matrix, own = left.matrix, documents.classes[left.matrix.entry_documents]
    counts = (statistics.counts_in(matrix.terms, own) - matrix.counts).astype(np.float64)
    tokens = statistics.tokens_of(selected).astype(np.float64)
    class_tokens = tokens[documents.classes] - left.lengths
    n_terms = int(np.count_nonzero(selected))
    if prior_shape == "symmetric":
        counts, inverse = np.unique(counts, return_inverse=True)
        weights = np.bincount(inverse, matrix.counts, counts.size).astype(np.float64)
        base, base_sums = np.ones(counts.size), (n_terms - left.vanishing.entries).astype(np.float64)
    else:
        in_others = np.maximum(tokens.sum() - left.lengths, 1)
        weights, base = matrix.counts.astype(np.float64), left.remaining / in_others[matrix.entry_documents]
        base_sums = np.ones(len(documents))
    lengths = matrix.lengths.astype(np.float64)
    some = lengths > 0
    return LeftOutTokens(counts, base, weights, class_tokens[some], base_sums[some], lengths[some], n_terms)


def left_out_log_likelihood(of: LeftOutTokens, strength: float) -> float:
    """Σ n log(r + s·b) − Σ n log(T + s·w), s above 0, in nats."""
    return float(of.tokens @ np.log(of.counts + strength * of.base) - of.lengths @ np.log(of.class_tokens + strength * of.base_sums))


def _slope(of: LeftOutTokens, strength: float) -> float:
    """d/ds of `left_out_log_likelihood`."""
    numerators, denominators = of.counts + strength * of.base, of.class_tokens + strength * of.base_sums
    return float(of.tokens @ (of.base / numerators) - of.lengths @ (of.base_sums / denominators))


def likeliest_strength(of: LeftOutTokens, weakest: float, strongest: float) -> float:
    """The strength between two that maximises `left_out_log_likelihood`: the best of a grid, refined by bisection of the derivative."""
    grid = np.geomspace(weakest, strongest, GRID)
    best = int(np.argmax([left_out_log_likelihood(of, strength) for strength in grid.tolist()]))
    rises = _slope(of, float(grid[best])) > 0
    low, high = (float(grid[np.clip(best + step, 0, GRID - 1)]) for step in ((0, 1) if rises else (-1, 0)))
    for _ in range(BISECTIONS):
        strength = float(np.sqrt(low * high))
        low, high = (strength, high) if _slope(of, strength) > 0 else (low, strength)
    return high


def smoothing_by_leave_one_out(
    statistics: ClassStatistics, selected: NDArray[np.bool_], prior_shape: str, documents: CountedDocuments
) -> float:
    """The pseudo-count per term (``symmetric``) or μ (``background``) under which left-out documents are most probable.

    Between `WEAKEST` and `MOST_SMOOTHING` per term, with six digits, as `smoothing_by_evidence` has it; 0.1 per term where the documents say
    nothing, as those of a single term do.
    """
    tokens = left_out_tokens(statistics, selected, prior_shape, documents)
    n_terms = max(tokens.n_terms, 1)
    per_term = 1.0 if prior_shape == "symmetric" else float(n_terms)
    if tokens.n_terms < 2 or not tokens.class_tokens.any():
        return 0.1 * per_term
    return float(f"{likeliest_strength(tokens, WEAKEST * per_term, MOST_SMOOTHING * per_term):.6g}")


class LeftOut(NamedTuple):
    """What models say of documents that they have not seen."""

    log_likelihood: Floats
    """Σ_j n_jd log φ_jk of each document, shape (n_docs, n_classes), in nats."""
    lengths: NDArray[np.int64]
    """Tokens of terms that still count, shape (n_docs,)."""
    unknown: NDArray[np.int64]
    """Other tokens, of terms that no other document holds or that did not count before, shape (n_docs,)."""


class WithoutThemselves(NamedTuple):
    """Documents as they look to the statistics of all others."""

    matrix: DocumentTermMatrix
    """Their entries of selected terms that another document holds."""
    remaining: NDArray[np.int64]
    """Occurrences of each entry's term in all other documents, at least 1, shape (n_entries,)."""
    vanishing: DocumentTermMatrix
    """Their entries of selected terms that only this document holds."""
    lengths: NDArray[np.int64]
    """Tokens of selected terms, those that vanish included, shape (n_docs,)."""


def without_themselves(statistics: ClassStatistics, selected: NDArray[np.bool_], documents: CountedDocuments) -> WithoutThemselves:
    """What is left of documents of the corpus when each is subtracted from its statistics."""
    matrix = documents.matrix.of_terms(selected)
    lengths = matrix.lengths
    remaining = statistics.term_counts[matrix.terms] - matrix.counts
    return WithoutThemselves(matrix.of_entries(remaining > 0), remaining[remaining > 0], matrix.of_entries(remaining == 0), lengths)


def leave_one_out(models: LanguageModels, documents: CountedDocuments) -> LeftOut:
    """Log-likelihoods of documents of the corpus, each under the models estimated from all others."""
    statistics = models.statistics
    matrix, remaining, vanishing, selected_tokens = without_themselves(statistics, models.selected, documents)

    class_tokens = np.tile(models.class_tokens, (len(documents), 1))
    class_tokens[np.arange(len(documents)), documents.classes] -= selected_tokens
    of_entry = matrix.entry_documents
    if models.prior_shape == "symmetric":
        added = models.pseudo_counts(matrix.terms)[0][:, 0]
        total = models.pseudo_tokens_without(vanishing)
        entries, n_weights = matrix, statistics.n_terms
    else:  # the background changes with every document, so each of its entries has weights of its own
        added = models.smoothing * remaining / np.maximum(models.class_tokens.sum() - selected_tokens, 1)[of_entry]
        total = np.full(len(documents), models.smoothing)
        entries, n_weights = matrix._replace(terms=np.arange(matrix.terms.size)), matrix.terms.size

    def log_counts(of: NDArray[np.int64]) -> Floats:
        terms, pseudo_counts = (of, models.pseudo_counts(of)[0]) if entries is matrix else (matrix.terms[of], added[of, np.newaxis])
        with np.errstate(divide="ignore"):
            logs: Floats = np.log(statistics.counts_of(terms) + pseudo_counts)
        return logs

    scores = np.zeros((len(documents), statistics.n_classes))
    add_weighted_sums(scores, entries, n_weights, log_counts)
    own = documents.classes[of_entry]
    counts = statistics.counts_in(matrix.terms, own)
    with np.errstate(divide="ignore"):
        change = matrix.counts * (np.log(counts - matrix.counts + added) - np.log(counts + added))
        scores[np.arange(len(documents)), documents.classes] += np.bincount(of_entry, change, minlength=len(documents))
        log_total = np.log(class_tokens + total[:, np.newaxis])
    lengths = matrix.lengths
    with np.errstate(invalid="ignore"):
        scores -= np.where(lengths[:, np.newaxis] > 0, lengths[:, np.newaxis] * log_total, 0.0)
    scores[np.isnan(scores)] = -np.inf  # 0/0: a class of no tokens and no pseudo-counts has seen no term
    return LeftOut(scores, lengths, documents.matrix.lengths - lengths)
