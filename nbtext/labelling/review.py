"""A review of a labelled corpus: its suspects one after the other, the most suspicious first, and what is decided of each, in a file of its own."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

import numpy as np

from nbtext.decision import log_posterior
from nbtext.evaluation.label_errors import suspects
from nbtext.exclusions import REVIEW, SEVERAL_LABELS, require_fitting
from nbtext.labelling.answer_file import AnswerFile, Reviewed
from nbtext.labelling.asking import tempered
from nbtext.labelling.session import Estimate, Session

if TYPE_CHECKING:
    from nbtext.labelling.pool import CountedPool
    from nbtext.settings import Settings

LARGEST_ODDS = 1e6
"""Larger odds are shown as this."""


class Review(Session):
    """A session that asks about the suspects among labelled documents. The corpus and the labels of the session stay as they are."""

    def __init__(self, counted: CountedPool, settings: Settings, file: AnswerFile) -> None:
        """Find the suspects that the file does not have yet; ``settings`` are those of training."""
        require_fitting(settings, REVIEW, *[SEVERAL_LABELS] * (counted.documents.labels is not None))
        super().__init__(counted.pool)
        names = counted.statistics.classes
        for name in names:
            self._class_number(name)
        self.load((row, names[number]) for row, number in enumerate(counted.documents.classes.tolist()))
        self._reviews = file
        found = suspects(counted.statistics, counted.documents, settings)
        decided = {answer.id for answer in file.answers}
        self._remarks = {
            row: f"is {names[label]}, looks like {names[other]}, {min(exp(min(odds, 50.0)), LARGEST_ODDS):,.0f} to 1"
            for row, label, other, odds, _ in zip(*(column.tolist() for column in found), strict=True)
            if self.pool.documents[row].id not in decided
        }
        self._queue = list(self._remarks)

    @property
    def n_left(self) -> int:
        """Suspects that wait."""
        return len(self._queue)

    @property
    def done(self) -> str:
        """The number of reviewed documents, and of those with another label now, in words."""
        changed = sum(answer.before != answer.after for answer in self._reviews.answers if isinstance(answer, Reviewed))
        return f"{len(self._reviews.answers):,} reviewed, {changed:,} changed"

    def remark(self, row: int) -> str:
        """Return why the document is asked about."""
        return self._remarks.get(row, "")

    def kept_label(self, row: int) -> str | None:
        """Return the label that the document has."""
        return self.classes[self.labels[row]]

    def next_document(self) -> int | None:
        """Return the most suspicious document that waits, None if none is left."""
        return self._queue[0] if self._queue else None

    def answer(self, row: int, label: str, who: str | None = None, time: str | None = None) -> None:
        """Write down which label a document is to have."""
        del who, time
        self.require_label(label)
        self._reviews.append(Reviewed(self.pool.documents[row].id, self.classes[self.labels[row]], label))
        self._queue.remove(row)

    def undo(self) -> int | None:
        """Take the last skip or decision back and return its document, None if there is none."""
        if self._skipped and self._skipped[-1][1] == len(self._reviews.answers):
            row, _ = self._skipped.pop()
        elif self._reviews.answers and self._reviews.answers[-1].id in self.pool.rows:  # and not of a review of other documents
            row = self.pool.rows[self._reviews.answers[-1].id]
            self._reviews.take_back()
        else:
            return None
        self._queue.insert(0, row)
        return row

    def skip(self, row: int) -> None:
        """Leave a document undecided in this session."""
        self._queue.remove(row)
        self._skipped.append((row, len(self._reviews.answers)))

    def search(self, wanted: str) -> list[int]:
        """Return the suspects that wait whose text holds some words, case-folded."""
        return [row for row in self._queue if wanted.casefold() in self.pool.text(row).casefold()]

    def probabilities(self, row: int) -> list[tuple[str, float]]:
        """Return the classes and their probabilities by the model of all other documents."""
        rows = np.array([row])
        scores = self.model.left_out(rows, np.array([self.labels[row]]))
        posterior = np.exp(log_posterior(tempered(scores, self.pool.lengths[rows]).T)[0])
        return list(zip(self.classes, posterior.tolist(), strict=True))

    def estimate(self) -> Estimate:
        """Return that of no documents: suspects are no random sample."""
        return Estimate(0, 0)
