"""Naive Bayes of the labels so far: a label adds its document's counts, and taking it back subtracts them.

Multinomial naive Bayes on log counts x = log(1 + n), with a pseudo-count α and the class prior (D_k + 1) / (D + K):

    s_k(d) = log π_k + Σ_j x_jd log((m_jk + α) / α) − X_d log(N_k + αV) + what is the same in every class

Only terms that a class has seen are in the sum. A label changes it for the documents that share a term with the labelled one and for no others,
so these alone are touched. The sums are whole numbers of 1 / `NATS`: they follow from the labels, not from the order in which these came and went.
Sources: K. Nigam, A. McCallum, S. Thrun, T. Mitchell, Text classification from labeled and unlabeled documents using EM (2000), equations 5 and 6, for the
model; J. Rennie, L. Shih, J. Teevan, D. Karger, Tackling the poor assumptions of naive Bayes text classifiers (2003), for log counts.

Where documents may have several labels, the documents with a label stand against the rest, as `nbtext.classifiers.multi_label` has it. One table has the
counts of all labelled documents, and for each label those of the documents with it and without it. So a new label begins with all documents on the
other side, and all sums stay exact.
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
from nbtext.ragged import compute_flat_indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.prediction.labels import LabelSets
    from nbtext.type_names import Floats, Ints, Mask, TrueLabels

NATS = 1 << 24
"""Log ratios are whole numbers of 1 / `NATS` nats: with `COUNTS`, the sum over a document of a million terms fits into 64 bits."""

LABELLING_PSEUDO_COUNT = 0.1
"""α: the evidence of a few labels says little about it."""


_WITH = slice(1, None, 2)
_WITHOUT = slice(2, None, 2)
"""Rows of the labels in the table, and of their rests; the first row is everything."""


class ClassSeed(NamedTuple):
    """Terms that speak for a class before any document does, with their pseudo-counts."""

    terms: Ints
    pseudo_counts: Floats


class RunningModel:
    """Scores of all documents of a pool under the labels so far; classes are numbered from 0."""

    answer_noun = "label"
    """What answers are counted as."""

    def __init__(self, pool: DocumentPool, seeds: Sequence[ClassSeed] = ()) -> None:
        """Begin without labels; the first classes have seeds and are possible from the beginning."""
        self._pool = pool
        self._by_term = pool.log_counts[pool.entries_by_term]
        self._pseudo_tokens = LABELLING_PSEUDO_COUNT * pool.n_terms
        self._documents = np.zeros(0, np.int64)
        self._tokens = np.zeros(0, np.int64)
        self._counts = np.zeros((0, pool.n_terms), np.int64)
        self._sums = np.zeros((0, len(pool)), np.int64)
        self._seeded = np.zeros(0, np.bool_)
        for number, (terms, amounts) in enumerate(seeds):
            self.add_class()
            np.add.at(
                self._counts[number], terms, np.rint(amounts * LOG_COUNT_SCALE).astype(np.int64)
            )
            self._seeded[number] = True
        if seeds:
            self.add_rows(np.zeros(0, np.int64), np.zeros(0, np.int64))

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self._documents)

    def add_class(self) -> None:
        """Add a class that has no documents."""
        self._resize(self.n_classes + 1)

    def is_empty(self, number: int) -> bool:
        """Return True if a class has neither documents nor seeds."""
        return not (self._documents[number] or self._seeded[number])

    def drop_last_class(self) -> None:
        """Remove the last class, which must have no documents."""
        self._resize(self.n_classes - 1)

    def _resize(self, n_classes: int) -> None:
        """Give the tables a row for each class: in place, since copies of large ones would take longer than all else."""
        for table in (self._documents, self._tokens, self._counts, self._sums, self._seeded):
            table.resize((n_classes, *table.shape[1:]), refcheck=False)

    def add(self, document: DocumentNeighbours, truth: TrueLabels, sign: int = 1) -> None:
        """Count a document to its class, or with ``sign`` −1 take it away again."""
        for number in truth.tolist():
            terms = document.terms
            of_class = self._counts[number]
            before = _log_ratios(of_class[terms])
            of_class[terms] += sign * document.log_counts
            change = _log_ratios(of_class[terms]) - before
            self._pool.propagate(document, change, self._by_term, self._sums[number])
            self._documents[number] += sign
            self._tokens[number] += sign * int(document.log_counts.sum())

    def add_rows(self, rows: Ints, truth: TrueLabels) -> None:
        """Count many documents at once, to classes that have none yet; the result is that of `add` for each."""
        pool = self._pool
        sizes = self._pool.matrix.row_sizes[rows]
        entries = compute_flat_indices(pool.matrix.offsets[rows], sizes)
        of_entry = np.repeat(truth, sizes)
        np.add.at(self._counts, (of_entry, pool.matrix.terms[entries]), pool.log_counts[entries])
        self._documents += np.bincount(truth, minlength=self.n_classes)
        for number in range(self.n_classes):
            self._tokens[number] = self._counts[number].sum()
            self._sums[number] = pool.sum_by_document(
                _log_ratios(self._counts[number])[pool.matrix.terms] * pool.log_counts
            )

    def compute_scores(self, rows: Ints | slice = slice(None)) -> Floats:
        """Return s_k of documents, by default all, shape (n_classes, n_docs), in nats, without a part that is the same in every class.

        A class without documents and seeds is impossible.
        """
        sums = self._sums[:, rows] / (NATS * LOG_COUNT_SCALE)
        sums -= self._pool.lengths[rows] * self._log_tokens(self._tokens)[:, np.newaxis]
        prior = (self._documents + 1) / (self._documents.sum() + self.n_classes)
        sums += np.where((self._documents > 0) | self._seeded, np.log(prior), -np.inf)[
            :, np.newaxis
        ]
        return sums

    def score_leave_one_out(self, rows: Ints, truth: TrueLabels) -> Floats:
        """Return s_k of labelled documents as if each were the only one without a label, shape (n_classes, n_docs).

        ``truth`` is what was counted. A class whose only document is left out is impossible: nobody would know of it.
        """
        scores = RunningModel.compute_scores(self, rows)
        sizes = self._pool.matrix.row_sizes[rows]
        entries = compute_flat_indices(self._pool.matrix.offsets[rows], sizes)
        terms = self._pool.matrix.terms[entries]
        counts = self._pool.log_counts[entries].astype(np.int64)
        of_entry = np.repeat(np.arange(rows.size), sizes)
        ratios = _log_ratios(self._counts[truth[of_entry], terms] - counts)
        own = np.zeros(rows.size, np.int64)
        np.add.at(own, of_entry, ratios * counts)
        tokens = self._tokens[truth] - np.rint(self._pool.lengths[rows] * LOG_COUNT_SCALE).astype(
            np.int64
        )
        left = self._documents[truth] - 1
        log_prior = np.where(
            (left > 0) | self._seeded[truth],
            np.log((left + 1) / (self._documents.sum() + self.n_classes)),
            -np.inf,
        )
        scores[truth, np.arange(rows.size)] = (
            own / (NATS * LOG_COUNT_SCALE)
            - self._pool.lengths[rows] * self._log_tokens(tokens)
            + log_prior
        )
        return scores

    def encode_labels(self, labels: LabelSets) -> TrueLabels:
        """Return the true classes of documents, shape (n_docs,), as other methods take them."""
        return labels.columns

    @staticmethod
    def select_labels(probabilities: Floats) -> Mask:
        """Return which classes to propose, shape (n_classes,), given their probabilities by falling order."""
        return np.arange(probabilities.size) == 0

    @staticmethod
    def contrast_terms(first: Floats, second: Floats) -> Floats:
        """Return what terms add to the log odds of a first class over a second, given what they add to the score of each, shape (n_terms,)."""
        return first - second

    def score_terms(self, document: DocumentNeighbours) -> Floats:
        """Return what each term of a document adds to s_k, shape (n_classes, n_terms)."""
        ratios = _log_ratios(self._counts[:, document.terms]) / NATS
        return (
            document.log_counts
            / LOG_COUNT_SCALE
            * (ratios - self._log_tokens(self._tokens)[:, np.newaxis])
        )

    @staticmethod
    def predict(log_posterior: Floats) -> TrueLabels:
        """Return the most probable class of documents, shape (n_docs,)."""
        return log_posterior.argmax(axis=1)

    @staticmethod
    def compute_log_posterior(scores: Floats) -> Floats:
        """Return log p(C_k | d), shape (n_docs, n_classes)."""
        return normalize_log_joint(scores.T)

    @classmethod
    def measure_uncertainty(cls, scores: Floats) -> Floats:
        """Return 1 − (p(first class) − p(second class)) of each document, shape (n_docs,)."""
        first, second = np.full((2, scores.shape[1]), -np.inf)
        for of_class in scores:
            np.maximum(second, np.minimum(first, of_class), out=second)
            np.maximum(first, of_class, out=first)
        margins: Floats = (1 - np.exp(second - first)) / np.exp(scores - first).sum(axis=0)
        return 1 - margins

    def fit_calibration(
        self, left_out: Floats, truth: TrueLabels, lengths: Ints
    ) -> Calibration | None:
        """Return the calibration of documents left out, None if there are none of a known class."""
        known = np.isfinite(left_out[truth, np.arange(truth.size)])
        return (
            fit_length_temperature(
                left_out.T[known],
                truth[known],
                lengths[known],
                prior_exponent=COUNT_TEMPERATURE_EXPONENT,
            )
            if known.any()
            else None
        )

    def _log_tokens(self, tokens: Ints) -> Floats:
        """Return log((N_k + αV) / αV), which is 0 for a class without documents."""
        return np.log1p(tokens / LOG_COUNT_SCALE / self._pseudo_tokens)


def _log_ratios(counts: Ints) -> Ints:
    """Return log((m_jk + α) / α) in units of 1 / `NATS`, of counts in units of 1 / `COUNTS`."""
    return np.rint(np.log1p(counts / (LOG_COUNT_SCALE * LABELLING_PSEUDO_COUNT)) * NATS).astype(
        np.int64
    )


class RunningMultiLabelModel(RunningModel):
    """Log odds of each label over the rest; a truth is a mask of shape (n_docs, n_labels)."""

    answer_noun = "document"

    def __init__(self, pool: DocumentPool, seeds: Sequence[ClassSeed] = ()) -> None:
        super().__init__(pool, seeds)
        super().add_class()

    def add_class(self) -> None:
        """Add a label that no document has."""
        self._resize(self.n_classes + 2)
        for table in (self._documents, self._tokens, self._counts, self._sums):
            table[-1] = table[0]
        self._seeded[:] = True  # neither side is impossible

    def is_empty(self, number: int) -> bool:
        """Return True if no document has a label."""
        return not self._documents[_WITH][number]

    def drop_last_class(self) -> None:
        """Remove the last label."""
        self._resize(self.n_classes - 2)

    def add(self, document: DocumentNeighbours, truth: TrueLabels, sign: int = 1) -> None:
        """Count a document with its labels and without the others, or with ``sign`` −1 take it away again."""
        super().add(document, self._places(truth)[:, 0], sign)

    def add_rows(self, rows: Ints, truth: TrueLabels) -> None:
        """Count many documents at once; the result is that of `add` for each."""
        places = self._places(truth)
        super().add_rows(np.tile(rows, len(places)), places.ravel())

    def compute_scores(self, rows: Ints | slice = slice(None)) -> Floats:
        """Return the log odds of each label, shape (n_labels, n_docs), in nats."""
        return _against_rest(super().compute_scores(rows))

    def score_leave_one_out(self, rows: Ints, truth: TrueLabels) -> Floats:
        """Return the log odds of labelled documents as if each were the only one without labels, shape (n_labels, n_docs)."""
        left_out, (_, *places) = super().score_leave_one_out, self._places(truth)
        return np.array(
            [_against_rest(left_out(rows, each))[label] for label, each in enumerate(places)]
        )

    def encode_labels(self, labels: LabelSets) -> TrueLabels:
        """Return which labels documents have, shape (n_docs, n_labels)."""
        return labels.to_mask(self._documents[_WITH].size)

    @staticmethod
    def select_labels(probabilities: Floats) -> Mask:
        """Return the set of the greatest expected F1, shape (n_labels,)."""
        return maximize_expected_f1(probabilities[np.newaxis])[0]

    @staticmethod
    def contrast_terms(first: Floats, second: Floats) -> Floats:
        """Return what terms add to the log odds of the first label over the rest."""
        del second
        return first

    def score_terms(self, document: DocumentNeighbours) -> Floats:
        """Return what each term of a document adds to the log odds, shape (n_labels, n_terms)."""
        return _against_rest(super().score_terms(document))

    @staticmethod
    def predict(log_posterior: Floats) -> TrueLabels:
        """Return the sets of the greatest expected F1, shape (n_docs, n_labels)."""
        return maximize_expected_f1(np.exp(log_posterior))

    @staticmethod
    def compute_log_posterior(scores: Floats) -> Floats:
        """Return log p of each label, shape (n_docs, n_labels)."""
        return -np.logaddexp(0.0, -scores.T)

    @classmethod
    def measure_uncertainty(cls, scores: Floats) -> Floats:
        """Return Σ p(1 − p) over the labels of each document, shape (n_docs,)."""
        p = np.exp(cls.compute_log_posterior(scores))
        return (p * (1 - p)).sum(axis=1)

    def fit_calibration(self, left_out: Floats, truth: TrueLabels, lengths: Ints) -> Calibration:
        """Return that of all labels together."""
        return fit_label_calibration(
            left_out.T,
            truth,
            lengths,
            None,
            np.log(self._documents[_WITH] + 1) - np.log(self._documents[_WITHOUT] + 1),
        )

    def _places(self, truth: Mask) -> Ints:
        """Return the rows of the table where each document counts, shape (1 + n_labels, n_docs)."""
        return np.vstack(
            (np.zeros(len(truth), np.int64), (np.arange(1, self.n_classes, 2) + ~truth).T)
        )


def _against_rest(table: Floats) -> Floats:
    return table[_WITH] - table[_WITHOUT]


RUNNING_MODELS: dict[type[Posterior], type[RunningModel]] = {
    ClassPosterior: RunningModel,
    LabelPosterior: RunningMultiLabelModel,
}
"""By the kind of labels."""
