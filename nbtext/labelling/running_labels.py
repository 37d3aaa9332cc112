"""Naive Bayes of documents that may have several labels: the documents with a label against the rest, as `nbtext.classifiers.many_labels` has it.

One table has the counts of all labelled documents, and for each label those of the documents with it and without it. So a new label begins with all documents
on the other side, and all sums stay exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.decision import greatest_expected_f1
from nbtext.label_calibration import by_label
from nbtext.labelling.running_model import RunningModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.calibration import Calibration
    from nbtext.labelling.pool import DocumentPool, Reach
    from nbtext.labelling.running_model import ClassSeed
    from nbtext.type_names import Floats, Mask, Truth, Whole

_WITH, _WITHOUT = slice(1, None, 2), slice(2, None, 2)
"""Rows of the labels in the table, and of their rests; the first row is everything."""


class RunningLabels(RunningModel):
    """Log odds of each label over the rest; a truth is a mask of shape (n_docs, n_labels)."""

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

    def drop_class(self) -> None:
        """Remove the last label."""
        self._resize(self.n_classes - 2)

    def add(self, document: Reach, truth: Truth, sign: int = 1) -> None:
        """Count a document with its labels and without the others, or with ``sign`` −1 take it away again."""
        super().add(document, self._places(truth)[:, 0], sign)

    def load(self, rows: Whole, truth: Truth) -> None:
        """Count many documents at once; the result is that of `add` for each."""
        places = self._places(truth)
        super().load(np.tile(rows, len(places)), places.ravel())

    def scores(self, rows: Whole | slice = slice(None)) -> Floats:
        """Return the log odds of each label, shape (n_labels, n_docs), in nats."""
        return _against_rest(super().scores(rows))

    def left_out(self, rows: Whole, truth: Truth) -> Floats:
        """Return the log odds of labelled documents as if each were the only one without labels, shape (n_labels, n_docs)."""
        left_out, (_, *places) = super().left_out, self._places(truth)
        return np.array([_against_rest(left_out(rows, each))[label] for label, each in enumerate(places)])

    def term_scores(self, document: Reach) -> Floats:
        """Return what each term of a document adds to the log odds, shape (n_labels, n_terms)."""
        return _against_rest(super().term_scores(document))

    @staticmethod
    def answers(log_posterior: Floats) -> Truth:
        """Return the sets of the greatest expected F1, shape (n_docs, n_labels)."""
        return greatest_expected_f1(np.exp(log_posterior))

    @staticmethod
    def log_posterior(scores: Floats) -> Floats:
        """Return log p of each label, shape (n_docs, n_labels)."""
        return -np.logaddexp(0.0, -scores.T)

    @classmethod
    def doubts(cls, scores: Floats) -> Floats:
        """Return Σ p(1 − p) over the labels of each document, shape (n_docs,)."""
        p = np.exp(cls.log_posterior(scores))
        return (p * (1 - p)).sum(axis=1)

    def calibration(self, left_out: Floats, truth: Truth, lengths: Whole) -> Calibration:
        """Return that of all labels together."""
        return by_label(left_out.T, truth, lengths, None, np.log(self._documents[_WITH] + 1) - np.log(self._documents[_WITHOUT] + 1))

    def _places(self, truth: Mask) -> Whole:
        """Return the rows of the table where each document counts, shape (1 + n_labels, n_docs)."""
        return np.vstack((np.zeros(len(truth), np.int64), (np.arange(1, self.n_classes, 2) + ~truth).T))


def _against_rest(table: Floats) -> Floats:
    return table[_WITH] - table[_WITHOUT]
