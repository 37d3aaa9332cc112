"""Class language models as they were without one of their documents: exact, by subtraction, for many documents at once.

Document d with counts n_jd belongs to class c. Without it m_jc loses n_jd and N_c the document's tokens; a term that no other document
holds leaves the vocabulary (V and α_0 fall) and the document. Which terms are selected and how strong the smoothing is stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.counts.weighted_sums import add_weighted_sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.document_term import DocumentTermMatrix
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.language_model.dirichlet import LanguageModels

    Floats = NDArray[np.float64]


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
