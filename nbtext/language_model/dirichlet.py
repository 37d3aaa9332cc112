"""Class language models: for each class a distribution over the terms, under a Dirichlet prior.

The multinomial and complement classifiers, attributes, inspection and selection of terms use them.

Symbols: m_jk occurrences of term j in class k, N_k tokens of class k, V terms, α the Dirichlet
parameters, α_0 their sum. The α_j may be equal, in proportion to the whole corpus, or set term by
term. The posterior of one component of a Dirichlet is a Beta distribution,
φ_jk ~ Beta(m_jk + α_j, N_k + α_0 − m_jk − α_j), from which credible intervals are computed. A cell
is a pair of a term and a class that contains the term.

Sources: G. Gambosi, Machine Learning course notes, "Probabilistic learning", for priors and
estimates; C. Manning, P. Raghavan, H. Schütze, Introduction to Information Retrieval (IIR),
eq. 13.7, for smoothing as pseudo-counts; A. Gelman et al., Bayesian data analysis, 3rd ed. (2013),
sections 2.4 and 3.4, for intervals.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.matrix import add_cell_sums, add_weighted_sums
from nbtext.fast_dataclasses import dataclass
from nbtext.ragged import find_sorted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.type_names import Floats, Ints, Mask, Numbers


@dataclass(frozen=True, eq=False)
class TermPseudoCounts:
    """Pseudo-counts A_j of single terms.

    All other terms have the pseudo-count ``default``, an argument of the methods.
    """

    terms: Ints
    """Term ids, ascending, shape (n,)."""
    pseudo_counts: Floats
    """Shape (n,), at least 0."""

    @classmethod
    def from_mapping(cls, pseudo_counts: Mapping[int, float], default: float) -> TermPseudoCounts:
        """Return the pseudo-counts by term id that differ from ``default``."""
        pairs = sorted(
            (term, pseudo_count)
            for term, pseudo_count in pseudo_counts.items()
            if pseudo_count != default
        )
        return cls(
            np.array([term for term, _ in pairs], np.int64),
            np.array([pseudo_count for _, pseudo_count in pairs], np.float64),
        )

    def __len__(self) -> int:
        return self.terms.size

    def find(self, terms: Ints) -> tuple[Mask, Floats]:
        """Return a mask of the terms that have an A_j, shape (n,), and the A_j of these terms."""
        indices = find_sorted(self.terms, terms)
        is_found = indices >= 0
        return is_found, self.pseudo_counts[indices[is_found]]

    def look_up(self, terms: Ints, default: float) -> Floats:
        """Return the A_j of terms, or ``default``, shape (n,)."""
        pseudo_counts = np.full(terms.size, float(default))
        is_found, found_pseudo_counts = self.find(terms)
        pseudo_counts[is_found] = found_pseudo_counts
        return pseudo_counts

    def restrict_to(self, selected: Mask) -> TermPseudoCounts:
        """Return the pseudo-counts of the selected terms, a mask of shape (n_terms,)."""
        is_selected = selected[self.terms]
        return TermPseudoCounts(self.terms[is_selected], self.pseudo_counts[is_selected])

    def find_minimum(self, default: float) -> float:
        """Return the smallest pseudo-count of all terms, of which some have the ``default``."""
        return float(self.pseudo_counts.min(initial=default))


MIN_STRENGTH_PER_TERM = 1e-6
"""Lower limit of the mean pseudo-count that automatic smoothing chooses."""

MAX_TERMS = 1 << 32
"""Number of terms that an n-gram can refer to."""

MAX_SMOOTHING_PER_TERM = 1.0
"""Upper limit of the mean pseudo-count that automatic smoothing chooses.

For few documents, a stronger prior may be the most probable. With a stronger prior, all classes
would have nearly the same language model, and all documents the same prediction.
"""


def is_valid_auto_smoothing(smoothing: float) -> bool:
    """Return True if automatic smoothing can choose this value.

    The value is a pseudo-count or μ, rounded to six digits. It may have been chosen for more terms
    than a model has now.
    """
    tolerance = 1e-5
    minimum = MIN_STRENGTH_PER_TERM * (1 - tolerance)
    maximum = MAX_SMOOTHING_PER_TERM * MAX_TERMS * (1 + tolerance)
    return minimum <= smoothing <= maximum


NO_TERM_PSEUDO_COUNTS = TermPseudoCounts(np.empty(0, np.int64), np.empty(0))
"""No term has a pseudo-count of its own."""


def maximum_likelihood(counts: Numbers, tokens: Floats) -> Floats:
    """Return φ_jk = m_jk / N_k, and 0 for a class without tokens.

    ``counts`` m_jk and ``tokens`` N_k have shapes that broadcast to the shape of φ, such as
    (n_terms, n_classes) and (n_classes,).
    """
    return divide_or_zero(counts, tokens)


def maximum_a_posteriori(
    counts: Numbers, tokens: Floats, alpha: Floats | float, alpha_0: float, n_terms: int
) -> Floats:
    """Return φ_jk = (m_jk + α_j − 1) / (N_k + α_0 − V), the mode of the posterior.

    Shapes are as in `maximum_likelihood`. ``alpha`` has the shape (n_terms, 1), or is one number
    for all terms. Every α_j is at least 1. The result is the `posterior_mean` of α_j − 1.
    """
    return divide_or_zero(counts + (alpha - 1), tokens + (alpha_0 - n_terms))


def posterior_mean(
    counts: Numbers, tokens: Floats, alpha: Floats | float, alpha_0: float
) -> Floats:
    """Return φ_jk = (m_jk + α_j) / (N_k + α_0), the mean of the posterior.

    φ_jk is the probability that the next token is term j. Shapes are as in `maximum_a_posteriori`.

    >>> float(posterior_mean(np.array(5), np.array(8), 1, 6)) == (5 + 1) / (8 + 6)  # IIR ex. 13.1
    True
    """
    return divide_or_zero(counts + alpha, tokens + alpha_0)


def divide_or_zero(numerator: Numbers, denominator: Numbers) -> Floats:
    """Return the quotient, and 0 where the denominator is not above 0. The shapes broadcast."""
    zeros = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=zeros, where=denominator > 0)


def log(numbers: Numbers) -> Floats:
    """Return the natural logarithm, −inf of 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(numbers)


def times_log(number: Numbers, log_probability: Floats) -> Floats:
    """Return n log p, and 0 where n is 0, even if log p is −inf. The shapes broadcast."""
    with np.errstate(invalid="ignore"):
        return np.where(number > 0, number * log_probability, 0.0)


MIN_CLASSES_PER_CELL = 8
"""Number of classes per cell above which log-probabilities are computed cell by cell."""

MIN_CLASSES_FOR_CELL_SUMS = 1 << 12
"""Smallest number of classes for which scores may be summed over cells.

With fewer classes, it is faster to sum over all classes of each term.
"""

MAX_CELL_PROPORTION = 1 / 4
"""Upper limit, for sums over cells, of the proportion of classes that contain the term of a token.

The proportion is the mean over all tokens.
"""


@dataclass(frozen=True, eq=False)
class LanguageModels:
    """φ: for every class a categorical distribution over the selected terms.

    The prior adds pseudo-counts to the counts: α_j under the posterior mean, α_j − 1 under MAP.

    IIR, example 13.1, with smoothing 1 and V = 6. The classes no and yes have 3 and 8 tokens, and
    the term chinese occurs once and 5 times:

    >>> from fractions import Fraction
    >>> from nbtext import TextClassifier
    >>> model = TextClassifier(stemmer="none", stop_words="none", calibration="none", smoothing=1)
    >>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao"]
    >>> texts.append("Tokyo Japan Chinese")
    >>> models = model.fit(texts, ["yes", "yes", "yes", "no"]).fitted.language_models
    >>> models.n_outcomes, models.class_tokens.tolist()
    (6, [3.0, 8.0])
    >>> chinese = np.array(models.statistics.vocabulary.find(["chinese"]))
    >>> models.statistics.get_dense_counts(chinese).tolist()
    [[1, 5]]
    >>> phi = models.compute_probability(chinese)  # (1 + 1)/(3 + 6) and (5 + 1)/(8 + 6)
    >>> print(*(Fraction(p).limit_denominator(100) for p in phi[0].tolist()))
    2/9 3/7
    """

    statistics: ClassStatistics
    selected: Mask
    """True for the terms of the distributions, shape (n_terms,)."""
    smoothing: float
    """A, the pseudo-count of each term without an A_j.

    With the prior shape ``background``, smoothing is μ, and a pseudo-count is μ·p(j | corpus).
    """
    prior_shape: str
    """``symmetric`` or ``background``."""
    estimate: str
    """``mean``, ``map`` or ``ml``."""
    term_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """The A_j of single terms; empty with the prior shape ``background``."""
    n_unseen_outcomes: int = 0
    """Number of outcomes that are possible but do not occur, such as declared categories.

    The pseudo-count of an unseen outcome is A, but 0 with the prior shape ``background``.
    """
    extra_unseen_pseudo_counts: float = 0.0
    """Sum of A_j − A over the unseen outcomes with a pseudo-count A_j of their own."""
    has_declared_outcomes: bool = False
    """True if the possible outcomes are declared, and so do not depend on the documents."""

    @property
    def mode_shift(self) -> float:
        """α_j minus the pseudo-count: 1 under MAP, because the mode of a Dirichlet subtracts 1."""
        return 1.0 if self.estimate == "map" else 0.0

    @property
    def n_outcomes(self) -> int:
        """V, the number of selected terms and unseen outcomes."""
        return int(np.count_nonzero(self.selected)) + self.n_unseen_outcomes

    @cached_property
    def class_tokens(self) -> Floats:
        """N_k, tokens of selected terms in each class, shape (n_classes,)."""
        return self.statistics.count_tokens(self.selected).astype(np.float64)

    @cached_property
    def corpus_tokens(self) -> float:
        """Tokens of selected terms in the whole corpus."""
        return self.statistics.count_all_tokens(self.selected)

    @cached_property
    def pseudo_tokens(self) -> float:
        """Sum of the pseudo-counts of all outcomes, which the prior adds to N_k."""
        if self.prior_shape == "background":
            return self.smoothing
        term_pseudo_counts = self.term_pseudo_counts.restrict_to(self.selected)
        return (
            self.smoothing * (self.n_outcomes - len(term_pseudo_counts))
            + float(term_pseudo_counts.pseudo_counts.sum())
            + self.extra_unseen_pseudo_counts
        )

    def compute_leave_one_out_pseudo_tokens(self, vanishing: DocumentTermMatrix) -> Floats:
        """Return `pseudo_tokens` without each document's vanishing terms, shape (n_docs,).

        ``vanishing`` are the entries of selected terms that only their document contains. Not for
        the prior shape ``background``.
        """
        # a term has its own pseudo-count A_j, or the default A
        own_pseudo_counts = self.term_pseudo_counts.restrict_to(self.selected)
        has_own, vanishing_pseudo_counts = self.term_pseudo_counts.find(vanishing.terms)
        documents = vanishing.entry_documents[has_own]
        n_documents = vanishing.n_documents
        n_vanishing_own = np.bincount(documents, minlength=n_documents)
        n_vanishing_default = vanishing.row_sizes - n_vanishing_own
        n_default = self.n_outcomes - len(own_pseudo_counts) - n_vanishing_default

        vanishing_sums = np.bincount(documents, vanishing_pseudo_counts, n_documents)
        own_sums = own_pseudo_counts.pseudo_counts.sum() - vanishing_sums
        # rounding may leave the difference below 0
        return self.smoothing * n_default + np.maximum(own_sums, 0.0)

    def compute_pseudo_counts(self, terms: Ints) -> Floats:
        """Return the pseudo-counts of terms, shape (n,)."""
        if self.prior_shape == "symmetric":
            return self.term_pseudo_counts.look_up(terms, self.smoothing)
        term_counts = self.statistics.term_counts[terms]
        background = divide_or_zero(term_counts, np.array(self.corpus_tokens))
        return self.smoothing * background

    def compute_probability(self, terms: Ints) -> Floats:
        """Return φ_jk of selected terms, shape (n, n_classes)."""
        counts = self.statistics.get_dense_counts(terms)
        return self.estimate_probability(terms, counts, self.class_tokens)

    def estimate_probability(self, terms: Ints, counts: Numbers, tokens: Floats) -> Floats:
        """Return φ of selected terms for the given counts.

        ``counts`` m have the shape (n, n_classes), or (n,) for one class of each term. The shape of
        ``tokens`` N broadcasts to this shape, which is also the shape of the result.
        """
        if self.estimate == "ml":
            return maximum_likelihood(counts, tokens)
        pseudo_counts = self.compute_pseudo_counts(terms)
        if counts.ndim == 2:
            pseudo_counts = pseudo_counts[:, np.newaxis]
        # For MAP too, because to add 1 to a pseudo-count and subtract 1 again would lose digits.
        return posterior_mean(counts, tokens, pseudo_counts, self.pseudo_tokens)

    def estimate_rest_probability(self, overall: LanguageModels, terms: Ints) -> Floats:
        """Return φ of selected terms in the documents outside each class, (n, n_classes).

        ``overall`` are the language models of all documents, as one class.
        """
        class_counts = self.statistics.get_dense_counts(terms)
        counts = overall.statistics.get_dense_counts(terms) - class_counts
        tokens = overall.class_tokens - self.class_tokens
        return self.estimate_probability(terms, np.maximum(counts, 0), np.maximum(tokens, 0.0))

    def estimate_log_unseen_probability(self) -> Floats:
        """Return log φ_jk of a term that occurs in no document, shape (n_classes,).

        With the prior shape ``background``, the term counts as if it occurred once in the corpus.
        The result is −inf under maximum likelihood.
        """
        pseudo_count = self.smoothing
        if self.prior_shape == "background":
            corpus_probability = 1 / max(self.corpus_tokens, 1.0)
            pseudo_count = self.smoothing * corpus_probability
        tokens = self.class_tokens
        probability = divide_or_zero(
            np.full_like(tokens, pseudo_count), tokens + self.pseudo_tokens
        )
        return log(probability)

    def estimate_unseen_outcome_probability(self, pseudo_counts: Numbers | None = None) -> Floats:
        """Return the probability of unseen outcomes.

        With the ``pseudo_counts`` of n unseen outcomes, shape (n, 1), return the probability of
        each outcome, shape (n, n_classes). Without ``pseudo_counts``, return the sum of the
        probabilities of all unseen outcomes, shape (n_classes,).
        """
        if pseudo_counts is None:
            total = self.n_unseen_outcomes * self.smoothing + self.extra_unseen_pseudo_counts
            pseudo_counts = np.array(total)
        return divide_or_zero(pseudo_counts, self.class_tokens + self.pseudo_tokens)

    @property
    def has_equal_unseen_probability(self) -> bool:
        """True if all terms have the same probability in a class that does not contain them."""
        return self.prior_shape == "symmetric" and not len(self.term_pseudo_counts)

    @cached_property
    def cell_log_gains(self) -> Floats | None:
        """log(m_jk + A) − log A of each cell, shape (n_cells,).

        None if scores are not summed over cells: because of `MIN_CLASSES_FOR_CELL_SUMS` or
        `MAX_CELL_PROPORTION`, or if pseudo-counts differ or are 0.
        """
        statistics = self.statistics
        n_classes = statistics.n_classes
        if n_classes < MIN_CLASSES_FOR_CELL_SUMS:
            return None
        if not self.has_equal_unseen_probability or not self.pseudo_tokens:
            return None
        term_counts = statistics.term_counts
        term_cells = np.diff(statistics.term_offsets)
        n_token_cells = term_counts @ term_cells
        if n_token_cells > MAX_CELL_PROPORTION * n_classes * term_counts.sum():
            return None
        return np.log(statistics.cell_counts / self.smoothing + 1)

    @cached_property
    def log_totals(self) -> Floats:
        """log(N_k + α_0), shape (n_classes,)."""
        return np.log(self.class_tokens + self.pseudo_tokens)

    def add_log_counts(self, scores: Floats, matrix: DocumentTermMatrix) -> None:
        """Add Σ_j n_jd log(m_jk + A_j), in nats, to ``scores`` in place, (n_docs, n_classes)."""
        statistics = self.statistics

        def compute_log_counts(terms: Ints) -> Floats:
            pseudo_counts = self.compute_pseudo_counts(terms)[:, np.newaxis]
            return log(statistics.get_dense_counts(terms) + pseudo_counts)

        if self.cell_log_gains is None:
            add_weighted_sums(scores, matrix, statistics.n_terms, compute_log_counts)
            return
        # n log A for all classes, and the gains of classes that contain the term
        scores += matrix.row_sums[:, np.newaxis] * np.log(self.smoothing)
        add_cell_sums(
            scores,
            matrix,
            statistics.term_offsets,
            statistics.cell_classes,
            self.cell_log_gains,
        )

    def add_log_probabilities(self, scores: Floats, matrix: DocumentTermMatrix) -> None:
        """Add Σ_j n_jd log φ_jk to ``scores`` in place, shape (n_docs, n_classes), in nats."""
        if self.cell_log_gains is None:
            n_terms = self.statistics.n_terms
            add_weighted_sums(scores, matrix, n_terms, self.compute_log_probability)
            return
        self.add_log_counts(scores, matrix)
        scores -= matrix.row_sums[:, np.newaxis] * self.log_totals

    def compute_log_probability(self, terms: Ints) -> Floats:
        """Return log φ_jk in nats, shape (n, n_classes), −inf where φ_jk is 0."""
        offsets = self.statistics.term_offsets
        n_cells = int((offsets[terms + 1] - offsets[terms]).sum())
        is_dense = MIN_CLASSES_PER_CELL * n_cells >= terms.size * self.statistics.n_classes
        if is_dense or not self.has_equal_unseen_probability:
            return log(self.compute_probability(terms))
        # In classes that do not contain them, which are most classes, terms are equally probable.
        rows, classes, probability, unseen = self.estimate_cell_probabilities(terms)
        logs = np.tile(log(unseen), (terms.size, 1))
        logs[rows, classes] = log(probability)
        return logs

    def estimate_cell_probabilities(self, terms: Ints) -> tuple[Ints, Ints, Floats, Floats]:
        """Return (rows, classes, probability, unseen): φ_jk of cells, and of terms without cells.

        The first three arrays are the index in ``terms``, the class and φ_jk of each cell, shape
        (n_cells,). The last array is φ of any term that a class does not contain, shape
        (n_classes,). `has_equal_unseen_probability` must be true.
        """
        cells, rows = self.statistics.find_cells(terms)
        classes = self.statistics.cell_classes[cells]
        counts = self.statistics.cell_counts[cells]
        probability = self.estimate_probability(terms[rows], counts, self.class_tokens[classes])
        zero_counts = np.zeros((1, self.class_tokens.size))
        unseen = self.estimate_probability(terms[:1], zero_counts, self.class_tokens)[0]
        return rows, classes, probability, unseen


def compute_beta_intervals(a: Floats, b: Floats, credible: float = 0.95) -> Floats:
    """Return the central intervals of probability ``credible`` under Beta(a, b).

    ``a`` and ``b`` have the same shape. The result has one more axis, of lower and upper limit.
    Both limits are nan if a or b is not above 0, for which Beta(a, b) does not exist.
    """
    from scipy.special import betaincinv

    with np.errstate(invalid="ignore"):
        is_proper = (a > 0) & (b > 0)
        a = np.where(is_proper, a, np.nan)
        b = np.where(is_proper, b, np.nan)
        lower = betaincinv(a, b, (1 - credible) / 2)
        upper = betaincinv(a, b, (1 + credible) / 2)
    return np.stack([lower, upper], axis=-1)


def compute_beta_bin_probabilities(a: float, b: float, edges: Floats) -> Floats:
    """Return the probability of each bin between neighbouring edges under Beta(a, b).

    ``edges`` have the shape (n_edges,), the result has (n_edges − 1,).
    """
    from scipy.special import betainc

    return np.diff(betainc(a, b, edges))


def compute_beta_priors(
    models: LanguageModels, terms: Ints, unseen_pseudo_counts: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return a and b of the prior Beta(a, b) of φ_jk, both of shape (n, n_classes).

    Seed words are part of the prior. With ``unseen_pseudo_counts``, shape (n, 1), return the priors
    of unseen outcomes, and ignore ``terms``. Both are nan under maximum likelihood.
    """
    statistics = models.statistics
    observed = statistics.observed_counts
    seed_tokens = models.class_tokens - observed.count_tokens(models.selected)
    if unseen_pseudo_counts is None:
        pseudo_counts = models.compute_pseudo_counts(terms)[:, np.newaxis]
        seed_counts = statistics.get_dense_counts(terms) - observed.get_dense_counts(terms)
        a = pseudo_counts + seed_counts + models.mode_shift
    else:
        a = np.tile(unseen_pseudo_counts, statistics.n_classes) + models.mode_shift
    if models.estimate == "ml":
        return np.full(a.shape, np.nan), np.full(a.shape, np.nan)
    total = models.pseudo_tokens + seed_tokens + models.mode_shift * models.n_outcomes
    return a, total - a


def compute_beta_posteriors(
    models: LanguageModels, terms: Ints, unseen_pseudo_counts: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return a and b of the posterior Beta(a, b) of φ_jk, both of shape (n, n_classes).

    With ``unseen_pseudo_counts``, shape (n, 1), return the posteriors of unseen outcomes, and
    ignore ``terms``. Without a posterior, a and b are nan: under maximum likelihood, or if there
    are no pseudo-counts and the class contains only the term or only other terms.
    """
    if unseen_pseudo_counts is None:
        pseudo_counts = models.compute_pseudo_counts(terms)[:, np.newaxis]
        counts = models.statistics.get_dense_counts(terms) + pseudo_counts
    else:
        counts = np.tile(unseen_pseudo_counts, models.statistics.n_classes)
    if models.estimate == "ml":
        return np.full(counts.shape, np.nan), np.full(counts.shape, np.nan)
    a = counts + models.mode_shift
    total = models.class_tokens + models.pseudo_tokens + models.mode_shift * models.n_outcomes
    b = total - a
    return np.where(b > 0, a, np.nan), np.where(a > 0, b, np.nan)
