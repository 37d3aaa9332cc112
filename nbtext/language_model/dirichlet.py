"""Class language models: categorical distributions over the vocabulary, estimated from counts under a Dirichlet prior.

Symbols: m_jk occurrences of term j in class k, N_k tokens of class k, V terms, α the Dirichlet parameters, α_0 their sum. Source for
all three estimates: G. Gambosi, Machine Learning course notes, "Probabilistic learning"; smoothing as pseudo-counts: Manning, Raghavan,
Schütze, Introduction to Information Retrieval (IIR), eq. 13.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nbtext.language_model.pseudo_counts import NO_OWN, OwnPseudoCounts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.statistics import ClassStatistics

    Floats = NDArray[np.float64]


def maximum_likelihood(counts: Floats, tokens: Floats) -> Floats:
    """φ_jk = m_jk / N_k; a term not seen in a class has probability zero there, the "black swan".

    ``counts`` m_jk and ``tokens`` N_k have shapes that broadcast, such as (n_terms, n_classes) and (n_classes,), and φ has that of both.
    """
    return share(counts, tokens)


def maximum_a_posteriori(counts: Floats, tokens: Floats, alpha: Floats | float, alpha_0: float, n_terms: int) -> Floats:
    """φ_jk = (m_jk + α_j − 1) / (N_k + α_0 − V), the mode of the posterior; every α_j at least 1.

    Shapes as in `maximum_likelihood`; ``alpha`` is of shape (n_terms, 1), or one number for all terms.
    """
    return share(counts + (alpha - 1), tokens + (alpha_0 - n_terms))


def posterior_mean(counts: Floats, tokens: Floats, alpha: Floats | float, alpha_0: float) -> Floats:
    """φ_jk = (m_jk + α_j) / (N_k + α_0), the mean of the posterior: the probability that the next token is term j.

    Shapes as in `maximum_a_posteriori`.

    >>> float(posterior_mean(np.array(5.0), np.array(8.0), 1, 6)) == (5 + 1) / (8 + 6)  # IIR example 13.1, P(Chinese | yes)
    True
    """
    return share(counts + alpha, tokens + alpha_0)


def share(part: Floats, whole: Floats) -> Floats:
    """part / whole; 0 where the whole is 0: a class of no tokens and no pseudo-counts has seen no term."""
    shares: Floats = np.divide(part, whole, out=np.zeros(np.broadcast_shapes(part.shape, whole.shape)), where=whole > 0)
    return shares


@dataclass(frozen=True, eq=False)
class LanguageModels:
    """φ: for every class a categorical distribution over the selected terms.

    ``smoothing`` is the pseudo-count A added to each count, but for terms with an A_j of their own; with the prior shape ``background`` it is
    μ, and term j gets μ·p(j | corpus). Both mean and MAP add it: α_j is the pseudo-count under the mean and one more under MAP.
    """

    statistics: ClassStatistics
    selected: NDArray[np.bool_]
    """The terms that the distributions are over, shape (n_terms,)."""
    smoothing: float
    prior_shape: str
    estimate: str
    own: OwnPseudoCounts = NO_OWN
    """None with the prior shape ``background``."""

    @property
    def n_selected(self) -> int:
        """V, the number of terms the distributions are over."""
        return int(np.count_nonzero(self.selected))

    @cached_property
    def class_tokens(self) -> Floats:
        """N_k, tokens of selected terms in each class, shape (n_classes,)."""
        return self.statistics.tokens_of(self.selected).astype(np.float64)

    @cached_property
    def pseudo_tokens(self) -> float:
        """What the prior adds to the tokens of a class: the sum of the pseudo-counts of all selected terms."""
        if self.prior_shape == "background":
            return self.smoothing
        own = self.own.among(self.selected)
        return self.smoothing * (self.n_selected - len(own)) + float(own.numbers.sum())

    def pseudo_tokens_without(self, gone: DocumentTermMatrix) -> Floats:
        """`pseudo_tokens` without the selected terms that each document holds, shape (n_docs,); not for the prior shape ``background``."""
        own, (here, numbers) = self.own.among(self.selected), self.own.find(gone.terms)
        of_entry = gone.entry_documents
        own_gone = np.bincount(of_entry[here], minlength=gone.n_documents)
        own_sums = np.bincount(of_entry[here], numbers, gone.n_documents)
        of_own = np.maximum(own.numbers.sum() - own_sums, 0.0)  # rounding may go below 0
        pseudo_tokens: Floats = self.smoothing * (self.n_selected - len(own) - (gone.entries - own_gone)) + of_own
        return pseudo_tokens

    def pseudo_counts(self, terms: NDArray[np.int64]) -> tuple[Floats, float]:
        """What the prior adds to the counts of some terms, shape (n, 1), and its sum over all selected terms."""
        if self.prior_shape == "symmetric":
            return self.own.of(terms, self.smoothing)[:, np.newaxis], self.pseudo_tokens
        background = share(self.statistics.term_counts[terms], self.class_tokens.sum())
        return self.smoothing * background[:, np.newaxis], self.pseudo_tokens

    def probability(self, terms: NDArray[np.int64]) -> Floats:
        """φ_jk of some selected terms, shape (n, n_classes)."""
        counts = self.statistics.counts_of(terms).astype(np.float64)
        pseudo_counts, total = self.pseudo_counts(terms)
        return ESTIMATES[self.estimate](counts, self.class_tokens, pseudo_counts, total, self.n_selected)

    def probability_in(self, terms: NDArray[np.int64], classes: NDArray[np.int64]) -> Floats:
        """φ_jk of pairs of a selected term and a class in which it occurs, shape (n,)."""
        counts = self.statistics.counts_in(terms, classes).astype(np.float64)
        pseudo_counts, total = self.pseudo_counts(terms)
        return ESTIMATES[self.estimate](counts, self.class_tokens[classes], pseudo_counts[:, 0], total, self.n_selected)

    def log_unseen(self) -> Floats:
        """log φ_jk of a term that no document held so far, as if a single one did, shape (n_classes,); −inf under maximum likelihood."""
        tokens, total = self.class_tokens, self.pseudo_tokens
        of_corpus = 1.0 if self.prior_shape == "symmetric" else 1 / max(tokens.sum(), 1.0)
        with np.errstate(divide="ignore"):
            return np.log(share(np.full_like(tokens, self.smoothing * of_corpus), tokens + total))

    def log_probability(self, terms: NDArray[np.int64]) -> Floats:
        """log φ_jk in nats, shape (n, n_classes); −inf where maximum likelihood says impossible."""
        with np.errstate(divide="ignore"):
            return np.log(self.probability(terms))


ESTIMATES: dict[str, Callable[[Floats, Floats, Floats, float, int], Floats]] = {
    "mean": lambda counts, tokens, added, total, _: posterior_mean(counts, tokens, added, total),
    # maximum_a_posteriori with α_j − 1 = added; adding 1 and taking it away again would cost digits
    "map": lambda counts, tokens, added, total, _: share(counts + added, tokens + total),
    "ml": lambda counts, tokens, *_: maximum_likelihood(counts, tokens),
}
"""Name to φ(counts, tokens of the class, pseudo-counts, their sum, number of terms)."""
