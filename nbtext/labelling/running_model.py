"""The model of `nbtext label`: naive Bayes whose counts and scores are updated after each label.

Multinomial naive Bayes on log counts x = log(1 + n), with pseudo-count α, K classes, D_k of D
labelled documents in class k, and the class prior π_k = (D_k + 1) / (D + K):

    s_k(d) = log π_k + Σ_j x_jd log((m_jk + α) / α) − X_d log((N_k + αV) / αV)

m_jk is the sum of the log counts of term j in class k, N_k the sum of m_jk over terms, X_d the sum
of the log counts of document d, and V the number of terms. In the sum over j, only terms of the
documents of class k are not 0. So a label changes this sum only for documents that share a term
with the labelled document. The sums are integers in units of
1 / (`LOG_RATIO_SCALE` · `LOG_COUNT_SCALE`), so they do not depend on the order of labels.

For multi-label documents, each label is a binary problem: the documents with the label against the
documents without the label, *the rest*, as in `nbtext.classifiers.multi_label`.

Sources: K. Nigam, A. McCallum, S. Thrun, T. Mitchell, Text classification from labeled and
unlabeled documents using EM (2000), equations 5 and 6; J. Rennie, L. Shih, J. Teevan, D. Karger,
Tackling the poor assumptions of naive Bayes text classifiers (2003), for log counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.labelling.pool import LOG_COUNT_SCALE, DocumentNeighbours, DocumentPool
from nbtext.prediction.calibration import (
    COUNT_TEMPERATURE_EXPONENT,
    Calibration,
    fit_length_temperature,
)
from nbtext.prediction.label_calibration import fit_label_calibration
from nbtext.prediction.posterior import (
    ClassPosterior,
    LabelPosterior,
    Posterior,
    normalize_log_joint,
)
from nbtext.prediction.rule import maximize_expected_f1

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.prediction.labels import LabelSets
    from nbtext.type_names import Floats, Ints, Mask, TrueLabels

LOG_RATIO_SCALE = 2**24
"""Log ratios are stored as integers in units of 1 / `LOG_RATIO_SCALE` nats.

Together with `LOG_COUNT_SCALE`, the sum over a document of a million terms fits into 64 bits.
"""

LABELLING_PSEUDO_COUNT = 0.1
"""α. It is fixed, because a few labels are too little evidence to estimate it."""

# Row 0 of a multi-label table is for all documents. Two rows for each label follow.
_WITH_LABEL = slice(1, None, 2)
"""Rows for the documents with each label."""
_WITHOUT_LABEL = slice(2, None, 2)
"""Rows for the rest of each label."""


class ClassSeed(NamedTuple):
    """The seed terms of a class, with the counts m_jk at the start."""

    terms: Ints
    pseudo_counts: Floats


class RunningModel:
    """Scores of all documents of a pool, given the labels so far. Classes are numbered from 0.

    The *tables* of the model have a row for each class. `RunningMultiLabelModel` has other rows,
    and overrides the public methods.
    """

    answer_noun = "label"
    """The word for one answer in messages."""

    def __init__(self, pool: DocumentPool, seeds: Sequence[ClassSeed] = ()) -> None:
        """Start without labels.

        The first classes are those of ``seeds``. They are possible even without documents.
        """
        self._pool = pool
        self._log_counts_by_term = pool.log_counts[pool.entries_by_term]
        self._total_pseudo_count = LABELLING_PSEUDO_COUNT * pool.n_terms
        self._n_documents = np.zeros(0, np.int64)
        """D_k, shape (n_rows,)."""
        self._log_count_totals = np.zeros(0, np.int64)
        """N_k in units of 1 / `LOG_COUNT_SCALE`, shape (n_rows,)."""
        self._log_counts = np.zeros((0, pool.n_terms), np.int64)
        """m_jk in units of 1 / `LOG_COUNT_SCALE`, shape (n_rows, n_terms)."""
        self._ratio_sums = np.zeros((0, len(pool)), np.int64)
        """The sum over j in s_k(d), shape (n_rows, n_docs)."""
        self._is_seeded = np.zeros(0, np.bool_)
        """True if a row is possible without documents, shape (n_rows,)."""
        for index, seed in enumerate(seeds):
            self.add_class()
            pseudo_counts = np.rint(seed.pseudo_counts * LOG_COUNT_SCALE).astype(np.int64)
            np.add.at(self._log_counts[index], seed.terms, pseudo_counts)  # terms may be repeated
            self._is_seeded[index] = True
        self._recompute_sums()

    @property
    def _n_rows(self) -> int:
        """Number of rows of the tables. For single-label documents, the number of classes K."""
        return len(self._n_documents)

    def add_class(self) -> None:
        """Add a class without documents."""
        self._resize(self._n_rows + 1)

    def is_empty(self, index: int) -> bool:
        """Return True if a class has neither documents nor seeds."""
        return not (self._n_documents[index] or self._is_seeded[index])

    def drop_last_class(self) -> None:
        """Remove the last class, which must not have documents."""
        self._resize(self._n_rows - 1)

    def _resize(self, n_rows: int) -> None:
        """Resize all tables in place, because copies of large tables are slow."""
        for table in (
            self._n_documents,
            self._log_count_totals,
            self._log_counts,
            self._ratio_sums,
            self._is_seeded,
        ):
            table.resize((n_rows, *table.shape[1:]), refcheck=False)

    def add(self, document: DocumentNeighbours, truth: TrueLabels, sign: int = 1) -> None:
        """Add a document to its class. With ``sign`` −1, remove it again."""
        for index in truth.tolist():
            terms = document.terms
            class_counts = self._log_counts[index]  # a view, changed in place
            old_ratios = _compute_log_ratios(class_counts[terms])
            class_counts[terms] += sign * document.log_counts
            changes = _compute_log_ratios(class_counts[terms]) - old_ratios
            self._pool.propagate(
                document, changes, self._log_counts_by_term, self._ratio_sums[index]
            )
            self._n_documents[index] += sign
            self._log_count_totals[index] += sign * int(document.log_counts.sum())

    def add_rows(self, rows: Ints, truth: TrueLabels) -> None:
        """Add documents all at once, to classes without documents.

        The result is the same as with `add`.
        """
        pool = self._pool
        entries, positions = pool.find_entries(rows)
        terms = pool.matrix.terms[entries]
        np.add.at(self._log_counts, (truth[positions], terms), pool.log_counts[entries])
        self._n_documents += np.bincount(truth, minlength=self._n_rows)
        self._recompute_sums()

    def _recompute_sums(self) -> None:
        """Compute N_k and the sums of s_k(d) from m_jk."""
        pool = self._pool
        for index in range(self._n_rows):
            self._log_count_totals[index] = self._log_counts[index].sum()
            log_ratios = _compute_log_ratios(self._log_counts[index])
            self._ratio_sums[index] = pool.sum_by_document(
                log_ratios[pool.matrix.terms] * pool.log_counts
            )

    def compute_scores(self, rows: Ints | slice = slice(None)) -> Floats:
        """Return s_k of the documents in ``rows`` in nats, shape (n_classes, n_docs).

        The score of a class without documents and seeds is −inf.
        """
        scores = self._ratio_sums[:, rows] / (LOG_RATIO_SCALE * LOG_COUNT_SCALE)
        log_normalizers = self._compute_log_normalizers(self._log_count_totals)
        scores -= self._pool.log_count_sums[rows] * log_normalizers[:, np.newaxis]
        prior = (self._n_documents + 1) / (self._n_documents.sum() + self._n_rows)
        is_possible = (self._n_documents > 0) | self._is_seeded
        scores += np.where(is_possible, np.log(prior), -np.inf)[:, np.newaxis]
        return scores

    def score_leave_one_out(self, rows: Ints, truth: TrueLabels) -> Floats:
        """Return s_k of labelled documents, each by the model without its own label.

        ``truth`` has the classes to which the documents were added. The result has shape
        (n_classes, n_docs). The score of a class is −inf if it has only this document, because the
        class would not exist without this label.
        """
        # Not the method of `RunningMultiLabelModel`, which returns differences of these scores.
        scores = RunningModel.compute_scores(self, rows)
        pool = self._pool
        entries, positions = pool.find_entries(rows)
        terms = pool.matrix.terms[entries]
        log_counts = pool.log_counts[entries].astype(np.int64)
        log_ratios = _compute_log_ratios(self._log_counts[truth[positions], terms] - log_counts)
        sums = np.zeros(rows.size, np.int64)
        np.add.at(sums, positions, log_ratios * log_counts)
        log_count_sums = pool.log_count_sums[rows]
        own_totals = np.rint(log_count_sums * LOG_COUNT_SCALE).astype(np.int64)
        totals = self._log_count_totals[truth] - own_totals
        n_remaining = self._n_documents[truth] - 1
        log_prior = np.where(
            (n_remaining > 0) | self._is_seeded[truth],
            np.log((n_remaining + 1) / (self._n_documents.sum() + self._n_rows)),
            -np.inf,
        )
        scores[truth, np.arange(rows.size)] = (
            sums / (LOG_RATIO_SCALE * LOG_COUNT_SCALE)
            - log_count_sums * self._compute_log_normalizers(totals)
            + log_prior
        )
        return scores

    def encode_labels(self, labels: LabelSets) -> TrueLabels:
        """Return the class index of each document, shape (n_docs,): ``truth`` in other methods."""
        return labels.columns  # each document has one label

    @staticmethod
    def select_labels(probabilities: Floats) -> Mask:
        """Return a mask of the classes to propose, shape (n_classes,): only the first class.

        ``probabilities`` of the classes are in descending order.
        """
        return np.arange(probabilities.size) == 0

    @staticmethod
    def contrast_terms(scores_a: Floats, scores_b: Floats) -> Floats:
        """Return the contributions of terms to the log odds of class a over class b, in nats.

        ``scores_a`` and ``scores_b`` are the contributions to the scores of the two classes. All
        arrays have the shape (n_terms,).
        """
        return scores_a - scores_b

    def score_terms(self, document: DocumentNeighbours) -> Floats:
        """Return the contributions of a document's terms to s_k, shape (n_classes, n_terms)."""
        log_ratios = _compute_log_ratios(self._log_counts[:, document.terms]) / LOG_RATIO_SCALE
        log_normalizers = self._compute_log_normalizers(self._log_count_totals)[:, np.newaxis]
        return document.log_counts / LOG_COUNT_SCALE * (log_ratios - log_normalizers)

    @staticmethod
    def predict(log_posterior: Floats) -> TrueLabels:
        """Return the most probable class of each document, shape (n_docs,)."""
        return log_posterior.argmax(axis=1)

    @staticmethod
    def compute_log_posterior(scores: Floats) -> Floats:
        """Return log p(C_k | d), shape (n_docs, n_classes)."""
        return normalize_log_joint(scores.T)

    @classmethod
    def measure_uncertainty(cls, scores: Floats) -> Floats:
        """Return 1 − the margin between the two highest class probabilities, shape (n_docs,)."""
        highest, second = np.full((2, scores.shape[1]), -np.inf)  # the two highest scores so far
        for class_scores in scores:
            np.maximum(second, np.minimum(highest, class_scores), out=second)
            np.maximum(highest, class_scores, out=highest)
        total = np.exp(scores - highest).sum(axis=0)
        margins: Floats = (1 - np.exp(second - highest)) / total
        return 1 - margins

    def fit_calibration(
        self, held_out_scores: Floats, truth: TrueLabels, lengths: Ints
    ) -> Calibration | None:
        """Fit the calibration to leave-one-out scores, shape (n_classes, n_docs).

        Return None if the true class of every document is impossible.
        """
        is_possible = np.isfinite(held_out_scores[truth, np.arange(truth.size)])
        if not is_possible.any():
            return None
        return fit_length_temperature(
            held_out_scores.T[is_possible],
            truth[is_possible],
            lengths[is_possible],
            prior_exponent=COUNT_TEMPERATURE_EXPONENT,
        )

    def _compute_log_normalizers(self, totals: Ints) -> Floats:
        """Return log((N_k + αV) / αV), which is 0 for a class without documents."""
        return np.log1p(totals / LOG_COUNT_SCALE / self._total_pseudo_count)


def _compute_log_ratios(log_counts: Ints) -> Ints:
    """Return log((m_jk + α) / α) in units of 1 / `LOG_RATIO_SCALE`.

    ``log_counts`` are m_jk in units of 1 / `LOG_COUNT_SCALE`.
    """
    log_ratios = np.log1p(log_counts / (LOG_COUNT_SCALE * LABELLING_PSEUDO_COUNT))
    return np.rint(log_ratios * LOG_RATIO_SCALE).astype(np.int64)


class RunningMultiLabelModel(RunningModel):
    """Log odds of each label against the rest.

    The tables have a row for all documents, and for each label one row for the documents with the
    label and one row for the rest. True labels are a mask of shape (n_docs, n_labels).
    """

    answer_noun = "document"

    def __init__(self, pool: DocumentPool, seeds: Sequence[ClassSeed] = ()) -> None:
        super().__init__(pool, seeds)  # the command refuses seeds for multi-label documents
        super().add_class()  # row 0

    def add_class(self) -> None:
        """Add a label that no document has."""
        self._resize(self._n_rows + 2)
        for table in (
            self._n_documents,
            self._log_count_totals,
            self._log_counts,
            self._ratio_sums,
        ):
            table[-1] = table[0]  # the rest of the new label are all documents
        self._is_seeded[:] = True  # a label and its rest are always possible

    def is_empty(self, index: int) -> bool:
        """Return True if no document has the label."""
        return not self._n_documents[_WITH_LABEL][index]

    def drop_last_class(self) -> None:
        """Remove the last label."""
        self._resize(self._n_rows - 2)

    def add(self, document: DocumentNeighbours, truth: TrueLabels, sign: int = 1) -> None:
        """Add a document to all its table rows. With ``sign`` −1, remove it again.

        ``truth`` has shape (1, n_labels).
        """
        [table_rows] = self._find_table_rows(truth).T
        super().add(document, table_rows, sign)

    def add_rows(self, rows: Ints, truth: TrueLabels) -> None:
        """Add documents all at once. The result is the same as with `add`."""
        table_rows = self._find_table_rows(truth)
        repeated_rows = np.tile(rows, len(table_rows))
        super().add_rows(repeated_rows, table_rows.ravel())

    def compute_scores(self, rows: Ints | slice = slice(None)) -> Floats:
        """Return the log odds of each label in nats, shape (n_labels, n_docs)."""
        return _subtract_rest(super().compute_scores(rows))

    def score_leave_one_out(self, rows: Ints, truth: TrueLabels) -> Floats:
        """Return the log odds of labelled documents, each by the model without its own labels.

        The result has shape (n_labels, n_docs).
        """
        log_odds = []
        _, *rows_by_label = self._find_table_rows(truth)
        for label, table_rows in enumerate(rows_by_label):
            scores = super().score_leave_one_out(rows, table_rows)
            log_odds.append(_subtract_rest(scores)[label])
        return np.array(log_odds)

    def encode_labels(self, labels: LabelSets) -> TrueLabels:
        """Return a mask of the labels of each document, shape (n_docs, n_labels)."""
        return labels.to_mask(self._n_documents[_WITH_LABEL].size)

    @staticmethod
    def select_labels(probabilities: Floats) -> Mask:
        """Return the label set with the highest expected F1 as a mask, shape (n_labels,)."""
        return maximize_expected_f1(probabilities[np.newaxis])[0]

    @staticmethod
    def contrast_terms(scores_a: Floats, scores_b: Floats) -> Floats:
        """Return the contributions of terms to the log odds of label a against the rest."""
        del scores_b  # `score_terms` has subtracted the rest
        return scores_a

    def score_terms(self, document: DocumentNeighbours) -> Floats:
        """Return the contributions of terms to the log odds, shape (n_labels, n_terms)."""
        return _subtract_rest(super().score_terms(document))

    @staticmethod
    def predict(log_posterior: Floats) -> TrueLabels:
        """Return a mask of the sets with the highest expected F1, shape (n_docs, n_labels)."""
        return maximize_expected_f1(np.exp(log_posterior))

    @staticmethod
    def compute_log_posterior(scores: Floats) -> Floats:
        """Return log p of each label, shape (n_docs, n_labels), given the log odds."""
        return -np.logaddexp(0.0, -scores.T)

    @classmethod
    def measure_uncertainty(cls, scores: Floats) -> Floats:
        """Return Σ_k p_k(1 − p_k) over the labels of each document, shape (n_docs,)."""
        p = np.exp(cls.compute_log_posterior(scores))
        return (p * (1 - p)).sum(axis=1)

    def fit_calibration(
        self, held_out_scores: Floats, truth: TrueLabels, lengths: Ints
    ) -> Calibration:
        """Fit a calibration of all labels to leave-one-out log odds, shape (n_labels, n_docs)."""
        log_with = np.log(self._n_documents[_WITH_LABEL] + 1)
        log_without = np.log(self._n_documents[_WITHOUT_LABEL] + 1)
        return fit_label_calibration(
            held_out_scores.T, truth, lengths, weights=None, prior=log_with - log_without
        )

    def _find_table_rows(self, truth: Mask) -> Ints:
        """Return the rows of the tables that count each document, shape (1 + n_labels, n_docs)."""
        all_rows = np.arange(self._n_rows)
        label_rows = np.where(truth, all_rows[_WITH_LABEL], all_rows[_WITHOUT_LABEL])
        first_rows = np.zeros(len(truth), np.int64)
        return np.vstack((first_rows, label_rows.T))


def _subtract_rest(table: Floats) -> Floats:
    """Return the rows of documents with each label minus the rows of the rest, (n_labels, …).

    The denominators of priors cancel.
    """
    return table[_WITH_LABEL] - table[_WITHOUT_LABEL]


RUNNING_MODELS: dict[type[Posterior], type[RunningModel]] = {
    ClassPosterior: RunningModel,
    LabelPosterior: RunningMultiLabelModel,
}
"""The model for single-label and for multi-label documents."""
