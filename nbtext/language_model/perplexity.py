"""How well language models foresee text that they were not estimated from: perplexity, the number of equally probable terms that would be as hard.

Source: D. Jurafsky, J. Martin, Speech and language processing (2009), section 4.4; F. Jelinek and others (1977).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.categories import is_category

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.language_model.dirichlet import LanguageModels

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

CELLS_AT_ONCE = 1 << 20


class HeldOut(NamedTuple):
    """Sums over held-out documents by their class, all of shape (n_classes,)."""

    documents: Whole
    tokens: Whole
    """Unknown ones included."""
    unknown: Whole
    """Tokens of terms that the language models are not over."""
    log_likelihood: Floats
    """Σ log φ_jk of all tokens, in nats; −inf where maximum likelihood rules one out."""

    @classmethod
    def empty(cls, n_classes: int) -> HeldOut:
        """No documents."""
        nothing = np.zeros(n_classes, np.int64)
        return cls(nothing, nothing, nothing, np.zeros(n_classes))

    def and_of(self, other: HeldOut) -> HeldOut:
        """The sums over both."""
        documents, tokens, unknown, log_likelihood = other
        return HeldOut(self.documents + documents, self.tokens + tokens, self.unknown + unknown, self.log_likelihood + log_likelihood)

    @property
    def perplexity(self) -> Floats:
        """`perplexity` of each class, shape (n_classes,); nan for a class without tokens."""
        return perplexity(self.log_likelihood, self.tokens)


def perplexity(log_likelihood: Floats, tokens: Whole) -> Floats:
    """exp(−log L / n), n tokens with the likelihood L; nan for none, inf where L is 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.exp(-log_likelihood / tokens)


def held_out(models: LanguageModels, matrix: DocumentTermMatrix, classes: Whole) -> HeldOut:
    """The sums over some documents, each with the number of its class, under the language model of that class.

    An unknown token counts as one of a term that no document held so far, as in `LanguageModels.log_unseen`.
    """
    n_classes = models.statistics.n_classes
    matrix = matrix.of_terms(~is_category(models.statistics.vocabulary))
    known = matrix.of_terms(models.selected)
    unknown = matrix.lengths - known.lengths + matrix.unknown
    of_entry = classes[known.entry_documents]
    log_likelihood = np.bincount(of_entry, known.counts * _log_probability(models, known.terms, of_entry), n_classes).astype(np.float64)
    tokens_of, unknown_of = (np.bincount(classes, of, n_classes).astype(np.int64) for of in (known.lengths + unknown, unknown))
    with np.errstate(invalid="ignore"):  # 0 · −inf where there are no unknown tokens, under maximum likelihood
        log_likelihood += np.where(unknown_of > 0, unknown_of * models.log_unseen(), 0.0)
    return HeldOut(np.bincount(classes, minlength=n_classes), tokens_of, unknown_of, log_likelihood)


def _log_probability(models: LanguageModels, terms: Whole, classes: Whole) -> Floats:
    """log φ_jk of pairs of a selected term and a class, shape (n,)."""
    distinct, place = np.unique(terms, return_inverse=True)
    found = np.empty(terms.size)
    order = np.argsort(place, kind="stable")
    step = max(CELLS_AT_ONCE // models.statistics.n_classes, 1)
    for begin in range(0, distinct.size, step):
        first, last = np.searchsorted(place, (begin, begin + step), sorter=order)
        of_step = order[first:last]
        found[of_step] = models.log_probability(distinct[begin : begin + step])[place[of_step] - begin, classes[of_step]]
    return found
