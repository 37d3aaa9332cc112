"""Class language models: categorical distributions over the vocabulary, estimated from counts under a Dirichlet prior.

Symbols: m_jk occurrences of term j in class k, N_k tokens of class k, V terms, α the Dirichlet parameters, α_0 their sum. The α_j may be the
same for all terms, in proportion to the whole corpus, or given term by term. The posterior of one component of a Dirichlet is a Beta,
φ_jk ~ Beta(m_jk + α_j, N_k + α_0 − m_jk − α_j), which gives credible intervals.

Sources: G. Gambosi, Machine Learning course notes, "Probabilistic learning", for priors and estimates; C. Manning, P. Raghavan, H. Schütze,
Introduction to Information Retrieval (IIR), eq. 13.7, for smoothing as pseudo-counts; A. Gelman et al., Bayesian data analysis, 3rd ed.
(2013), sections 2.4 and 3.4, for intervals.
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
    """A_j of terms that have a pseudo-count of their own; ``others``, an argument of the methods, is A of all other terms."""

    terms: Ints
    """Ascending, shape (n,)."""
    pseudo_counts: Floats
    """Shape (n,), at least 0."""

    @classmethod
    def from_mapping(cls, numbers: Mapping[int, float], others: float) -> TermPseudoCounts:
        """Return the pseudo-counts of ``numbers`` by term id, without those equal to ``others``."""
        own = sorted((term, number) for term, number in numbers.items() if number != others)
        return cls(
            np.array([term for term, _ in own], np.int64),
            np.array([number for _, number in own], np.float64),
        )

    def __len__(self) -> int:
        return self.terms.size

    def find(self, terms: Ints) -> tuple[Mask, Floats]:
        """Return which of n terms have one of their own, shape (n,), and the pseudo-counts of those, in the order given."""
        place = find_sorted(self.terms, terms)
        here = place >= 0
        return here, self.pseudo_counts[place[here]]

    def look_up(self, terms: Ints, others: float) -> Floats:
        """Return A_j of terms, shape (n,)."""
        found = np.full(terms.size, float(others))
        here, numbers = self.find(terms)
        found[here] = numbers
        return found

    def restrict_to(self, selected: Mask) -> TermPseudoCounts:
        """Return those of the selected terms; ``selected`` has the shape (n_terms,)."""
        here = selected[self.terms]
        return TermPseudoCounts(self.terms[here], self.pseudo_counts[here])

    def minimum(self, others: float) -> float:
        """Return the smallest A_j."""
        return float(self.pseudo_counts.min(initial=others))


MIN_STRENGTH_PER_TERM = 1e-6
"""Least strength of the prior per term that smoothing chooses."""

MAX_SMOOTHING_PER_TERM = 1.0
"""Most pseudo-counts per term, on average. The prior that makes few documents most probable may give every class nearly the same language
model, and every document would get the same answer."""


def is_valid_auto_smoothing(smoothing: float, n_terms: int) -> bool:
    """Return whether automatic smoothing of at most ``n_terms`` terms can choose this pseudo-count or μ, which it rounds to six digits."""
    return (
        MIN_STRENGTH_PER_TERM * (1 - 1e-5)
        <= smoothing
        <= MAX_SMOOTHING_PER_TERM * max(n_terms, 1) * (1 + 1e-5)
    )


NO_TERM_PSEUDO_COUNTS = TermPseudoCounts(np.empty(0, np.int64), np.empty(0))
"""All terms have the same pseudo-count."""


def maximum_likelihood(counts: Numbers, tokens: Floats) -> Floats:
    """Return φ_jk = m_jk / N_k; a term not seen in a class has probability zero there, the "black swan".

    ``counts`` m_jk and ``tokens`` N_k have shapes that broadcast to that of φ, such as (n_terms, n_classes) and (n_classes,).
    """
    return divide_or_zero(counts, tokens)


def maximum_a_posteriori(
    counts: Numbers, tokens: Floats, alpha: Floats | float, alpha_0: float, n_terms: int
) -> Floats:
    """Return φ_jk = (m_jk + α_j − 1) / (N_k + α_0 − V), the mode of the posterior; every α_j at least 1.

    Shapes as in `maximum_likelihood`; ``alpha`` is of shape (n_terms, 1), or one number for all terms. With α_j − 1 as pseudo-count it is the
    `posterior_mean` of these, and computed so.
    """
    return divide_or_zero(counts + (alpha - 1), tokens + (alpha_0 - n_terms))


def posterior_mean(
    counts: Numbers, tokens: Floats, alpha: Floats | float, alpha_0: float
) -> Floats:
    """Return φ_jk = (m_jk + α_j) / (N_k + α_0), the mean of the posterior: the probability that the next token is term j.

    Shapes as in `maximum_a_posteriori`.

    >>> float(posterior_mean(np.array(5.0), np.array(8.0), 1, 6)) == (5 + 1) / (8 + 6)  # IIR example 13.1, P(Chinese | yes)
    True
    """
    return divide_or_zero(counts + alpha, tokens + alpha_0)


def divide_or_zero(part: Numbers, whole: Numbers) -> Floats:
    """Return part / whole, 0 where the whole is 0: in a class without tokens and pseudo-counts."""
    return np.divide(
        part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0
    )


def log(numbers: Numbers) -> Floats:
    """Return the natural logarithm, −inf of 0."""
    with np.errstate(divide="ignore"):
        return np.log(numbers)


def times_log(number: Numbers, log_probability: Floats) -> Floats:
    """Return n log p, of shapes that broadcast; 0 where n is 0, also under maximum likelihood, where log p may be −inf."""
    with np.errstate(invalid="ignore"):
        return np.where(number > 0, number * log_probability, 0.0)


SPARSE = 8
"""Classes for each that a term occurs in, from which probabilities of those it occurs in are computed apart."""

MIN_CLASSES_FOR_CELL_SUMS = 1 << 12
"""Classes from which scores may be summed over those alone that hold each term: with fewer, going through all of them takes less time."""

MAX_CELL_PROPORTION = 1 / 4
"""Largest share of the classes that hold the term of a token, on average, for scores to be summed so."""


@dataclass(frozen=True, eq=False)
class LanguageModels:
    """φ: for every class a categorical distribution over the selected terms.

    ``smoothing`` is the pseudo-count A added to the count of each term without an A_j of its own; with the prior shape ``background`` it is μ,
    and μ·p(j | corpus) is added. Mean and MAP both add it: α_j is the pseudo-count under the mean and one more under MAP.
    """

    statistics: ClassStatistics
    selected: Mask
    """The terms of the distributions, shape (n_terms,)."""
    smoothing: float
    prior_shape: str
    estimate: str
    term_pseudo_counts: TermPseudoCounts = NO_TERM_PSEUDO_COUNTS
    """Empty with the prior shape ``background``."""
    n_unseen_outcomes: int = 0
    """Outcomes that are possible and that nothing was counted of; each has the pseudo-count A, none with the prior shape ``background``."""
    extra_unseen_pseudo_counts: float = 0.0
    """The pseudo-counts of these outcomes beyond A each, in all."""
    has_declared_outcomes: bool = False
    """True if the outcomes are declared: each stays possible where no document has it."""

    @property
    def n_outcomes(self) -> int:
        """V, the number of selected terms, and of outcomes never seen."""
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
        """The sum of the pseudo-counts of all selected terms, which the prior adds to the tokens of a class."""
        if self.prior_shape == "background":
            return self.smoothing
        own = self.term_pseudo_counts.restrict_to(self.selected)
        return (
            self.smoothing * (self.n_outcomes - len(own))
            + float(own.pseudo_counts.sum())
            + self.extra_unseen_pseudo_counts
        )

    def compute_leave_one_out_pseudo_tokens(self, gone: DocumentTermMatrix) -> Floats:
        """Return `pseudo_tokens` without the selected terms of each document, shape (n_docs,); not for the prior shape ``background``."""
        own, (here, numbers) = (
            self.term_pseudo_counts.restrict_to(self.selected),
            self.term_pseudo_counts.find(gone.terms),
        )
        of_entry = gone.entry_documents
        own_gone = np.bincount(of_entry[here], minlength=gone.n_documents)
        own_sums = np.bincount(of_entry[here], numbers, gone.n_documents)
        of_own = np.maximum(own.pseudo_counts.sum() - own_sums, 0.0)  # rounding may go below 0
        return self.smoothing * (self.n_outcomes - len(own) - (gone.row_sizes - own_gone)) + of_own

    def compute_pseudo_counts(self, terms: Ints) -> tuple[Floats, float]:
        """Return the pseudo-counts of terms, shape (n, 1), and their sum over all selected terms."""
        if self.prior_shape == "symmetric":
            return self.term_pseudo_counts.look_up(terms, self.smoothing)[
                :, np.newaxis
            ], self.pseudo_tokens
        background = divide_or_zero(
            self.statistics.term_counts[terms], np.array(self.corpus_tokens)
        )
        return self.smoothing * background[:, np.newaxis], self.pseudo_tokens

    def compute_probability(self, terms: Ints) -> Floats:
        """Return φ_jk of selected terms, shape (n, n_classes)."""
        return self.estimate_probability(
            terms, self.statistics.get_dense_counts(terms), self.class_tokens
        )

    def estimate_probability(self, terms: Ints, counts: Numbers, tokens: Floats) -> Floats:
        """Return φ of selected terms with these counts m, shape (n, n_classes) or (n,), in classes with these tokens, of a shape that broadcasts."""
        pseudo_counts, total = self.compute_pseudo_counts(terms)
        added = pseudo_counts if counts.ndim == 2 else pseudo_counts[:, 0]
        if self.estimate == "ml":
            return maximum_likelihood(counts, tokens)
        # Of MAP too: α_j − 1 is the pseudo-count; adding 1 and taking it away would cost digits.
        return posterior_mean(counts, tokens, added, total)

    def estimate_rest_probability(self, everything: LanguageModels, terms: Ints) -> Floats:
        """Return φ of selected terms in the documents without each class, shape (n, n_classes), by the counts of all documents less those of the class."""
        counts = everything.statistics.get_dense_counts(terms) - self.statistics.get_dense_counts(
            terms
        )
        return self.estimate_probability(
            terms,
            np.maximum(counts, 0),
            np.maximum(everything.class_tokens - self.class_tokens, 0.0),
        )

    def estimate_log_unseen_probability(self) -> Floats:
        """Return log φ_jk of a term that no document held, as if a single one did, shape (n_classes,); −inf under maximum likelihood."""
        tokens = self.class_tokens
        total = self.pseudo_tokens
        of_corpus = 1.0 if self.prior_shape == "symmetric" else 1 / max(self.corpus_tokens, 1.0)
        return log(divide_or_zero(np.full_like(tokens, self.smoothing * of_corpus), tokens + total))

    def estimate_unseen_outcome_probability(self, own: Numbers | None = None) -> Floats:
        """Return the probability of all outcomes that nothing was counted of, shape (n_classes,).

        With the pseudo-counts of some of them, ``own`` of shape (n, 1), return that of each, shape (n, n_classes).
        """
        pseudo_counts = (
            np.array(self.n_unseen_outcomes * self.smoothing + self.extra_unseen_pseudo_counts)
            if own is None
            else own
        )
        return divide_or_zero(pseudo_counts, self.class_tokens + self.pseudo_tokens)

    @property
    def has_equal_unseen_probability(self) -> bool:
        """True if all terms have the same probability in a class without them."""
        return self.prior_shape == "symmetric" and not len(self.term_pseudo_counts)

    @cached_property
    def cell_log_gains(self) -> Floats | None:
        """log(m_jk + A) − log A of each cell, shape (n_cells,); None where scores are not summed so, as `MANY_CLASSES` says."""
        of_terms = self.statistics.term_counts
        n_classes = self.statistics.n_classes
        if (
            n_classes < MIN_CLASSES_FOR_CELL_SUMS
            or not self.has_equal_unseen_probability
            or not self.pseudo_tokens
        ):
            return None
        holding = of_terms @ np.diff(self.statistics.term_offsets)
        return (
            np.log(self.statistics.cell_counts / self.smoothing + 1)
            if MAX_CELL_PROPORTION * n_classes * of_terms.sum() >= holding
            else None
        )

    @cached_property
    def log_totals(self) -> Floats:
        """log(N_k + α_0), shape (n_classes,)."""
        return np.log(self.class_tokens + self.pseudo_tokens)

    def add_log_counts(self, scores: Floats, matrix: DocumentTermMatrix) -> None:
        """Add Σ_j n_jd log(m_jk + A_j) to the scores, shape (n_docs, n_classes), in nats."""
        counts = self.statistics
        if self.cell_log_gains is None:
            add_weighted_sums(
                scores,
                matrix,
                counts.n_terms,
                lambda terms: log(
                    counts.get_dense_counts(terms) + self.compute_pseudo_counts(terms)[0]
                ),
            )
        else:
            scores += matrix.row_sums[:, np.newaxis] * np.log(self.smoothing)
            add_cell_sums(
                scores, matrix, counts.term_offsets, counts.cell_classes, self.cell_log_gains
            )

    def add_log_probabilities(self, scores: Floats, matrix: DocumentTermMatrix) -> None:
        """Add Σ_j n_jd log φ_jk to the scores, shape (n_docs, n_classes), in nats."""
        if self.cell_log_gains is None:
            add_weighted_sums(scores, matrix, self.statistics.n_terms, self.compute_log_probability)
        else:
            self.add_log_counts(scores, matrix)
            scores -= matrix.row_sums[:, np.newaxis] * self.log_totals

    def compute_log_probability(self, terms: Ints) -> Floats:
        """Return log φ_jk in nats, shape (n, n_classes); −inf where maximum likelihood is 0.

        Where terms occur in few of many classes, those in the others have the same probability under a symmetric prior: its logarithm is taken once.
        """
        offsets = self.statistics.term_offsets
        n_cells = int((offsets[terms + 1] - offsets[terms]).sum())
        if (
            SPARSE * n_cells >= terms.size * self.statistics.n_classes
            or not self.has_equal_unseen_probability
        ):
            return log(self.compute_probability(terms))
        places, classes, probability, unseen = self.estimate_cell_probabilities(terms)
        logs = np.tile(log(unseen), (terms.size, 1))
        logs[places, classes] = log(probability)
        return logs

    def estimate_cell_probabilities(self, terms: Ints) -> tuple[Ints, Ints, Floats, Floats]:
        """Return the place among some terms, the class and φ of each term and class that has it, all of shape (n_cells,), and φ in a class without the term.

        The last, of shape (n_classes,), is the same for all terms: only where `same_where_unseen`.
        """
        cells, places = self.statistics.find_cells(terms)
        classes = self.statistics.cell_classes[cells]
        probability = self.estimate_probability(
            terms[places], self.statistics.cell_counts[cells], self.class_tokens[classes]
        )
        return (
            places,
            classes,
            probability,
            self.estimate_probability(
                terms[:1], np.zeros((1, self.class_tokens.size)), self.class_tokens
            )[0],
        )


CREDIBLE = 0.95


def compute_beta_intervals(a: Floats, b: Floats, credible: float = CREDIBLE) -> Floats:
    """Return the central intervals that hold a probability of ``credible`` under Beta(a, b), of the shape of ``a`` with 2 behind it.

    ``a`` and ``b`` have the same shape; nan where one of them is not above 0, for then there is no such distribution.
    """
    from scipy.special import betaincinv

    with np.errstate(invalid="ignore"):
        a, b = (np.where((a > 0) & (b > 0), side, np.nan) for side in (a, b))
        ends = [betaincinv(a, b, share) for share in ((1 - credible) / 2, (1 + credible) / 2)]
    return np.stack(ends, axis=-1)


def compute_beta_bin_probabilities(a: float, b: float, edges: Floats) -> Floats:
    """Return the probability of Beta(a, b) between each two neighbours of ``edges``, shape (n_edges − 1,): its density in steps."""
    from scipy.special import betainc

    return np.diff(betainc(a, b, edges))


def compute_beta_posteriors(
    models: LanguageModels, terms: Ints, unseen_pseudo_counts: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return a and b of the posterior Beta(a, b) of φ_jk of selected terms, both of shape (n, n_classes).

    With ``own`` that of outcomes that nothing was counted of, with these pseudo-counts, shape (n, 1). nan where there is no such posterior: under
    maximum likelihood, and without pseudo-counts for a term that the class has not seen, or that is the only one it has seen.
    """
    shape = (
        terms.size if unseen_pseudo_counts is None else unseen_pseudo_counts.size,
        models.statistics.n_classes,
    )
    if models.estimate == "ml":
        return np.full(shape, np.nan), np.full(shape, np.nan)
    more = float(models.estimate == "map")
    counted = (
        models.statistics.get_dense_counts(terms) + models.compute_pseudo_counts(terms)[0]
        if unseen_pseudo_counts is None
        else np.broadcast_to(unseen_pseudo_counts, shape)
    )
    a = counted + more
    b = models.class_tokens + models.pseudo_tokens + more * models.n_outcomes - a
    return np.where(b > 0, a, np.nan), np.where(a > 0, b, np.nan)
