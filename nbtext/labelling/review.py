"""A review of a labelled corpus: its suspects one after the other, the most suspicious first, and what is decided of each, in a file of its own."""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

import numpy as np

from nbtext.evaluation.label_errors import find_suspects
from nbtext.labelling.answer_file import AnswerFile, ReviewAnswer
from nbtext.labelling.query_strategies import cap_length
from nbtext.labelling.session import AccuracyEstimate, QueryPlan, Session
from nbtext.prediction.labels import (
    ALL_DOCUMENTS_LABEL,
    format_label_cell,
    list_labels,
    split_label,
)

if TYPE_CHECKING:
    from nbtext.labelling.pool import CountedPool
    from nbtext.prediction.labels import Label
    from nbtext.settings import Settings

LARGEST_ODDS = 1e6
"""Larger odds are shown as this."""

NO_LABEL = "without a label"


class ReviewSession(Session):
    """A session that asks about the suspects among labelled documents. The corpus and the labels of the session stay as they are."""

    def __init__(self, counted: CountedPool, settings: Settings, file: AnswerFile) -> None:
        """Find the suspects that the file does not have yet; ``settings`` are those of training."""
        super().__init__(counted.pool, QueryPlan(separator=counted.table.posterior_type.separator))
        for name in counted.table.classes:
            if name != ALL_DOCUMENTS_LABEL:
                self.add_class(name)
        self.load_answers(
            (row, document.label or "") for row, document in enumerate(self.pool.documents)
        )
        self._reviews = file
        found = find_suspects(counted.table, counted.documents, settings)
        decided = {answer.id for answer in file.answers}
        ids = [document.id for document in self.pool.documents]
        self._suspects = {
            row: suspect
            for row, suspect in zip(
                found.rows.tolist(), found.iterate_named(ids, ids, self.classes), strict=True
            )  # the screen shows the texts
            if suspect.id not in decided
        }
        self._queue = list(self._suspects)

    @property
    def n_left(self) -> int:
        """Suspects that wait."""
        return len(self._queue)

    @property
    def progress_text(self) -> str:
        """The number of reviewed documents, and of those with another label now, in words."""
        changed = sum(
            answer.old_label != answer.new_label
            for answer in self._reviews.answers
            if isinstance(answer, ReviewAnswer)
        )
        return f"{len(self._reviews.answers):,} reviewed, {changed:,} changed"

    def remark(self, row: int) -> str:
        """Return why the document is asked about."""
        if row not in self._suspects:
            return ""
        suspect = self._suspects[row]
        odds = min(exp(min(suspect.log_odds, 50.0)), LARGEST_ODDS)
        return (
            f"is {suspect.label or NO_LABEL}, looks like {suspect.suggested or NO_LABEL}, "
            f"{odds:,.0f} to 1"
        )

    def proposed(self, row: int) -> list[tuple[str, float]]:
        """Return the suggested classes, with the probability of what is suggested."""
        suspect = self._suspects[row]
        return [
            (label, suspect.probability)
            for label in list_labels(split_label(suspect.suggested, self.plan.separator))
        ]

    def kept_label(self, row: int) -> Label | None:
        """Return the label that the document has."""
        return self.labels[row]

    def next_document(self) -> int | None:
        """Return the most suspicious document that waits, None if none is left."""
        return self._queue[0] if self._queue else None

    def answer(
        self, row: int, label: Label, who: str | None = None, time: str | None = None
    ) -> None:
        """Write down which label a document is to have."""
        del who, time
        self.require_label(label)
        self._reviews.append(
            ReviewAnswer(
                self.pool.documents[row].id,
                format_label_cell(self.labels[row]),
                format_label_cell(label),
            )
        )
        self._queue.remove(row)

    def undo(self) -> int | None:
        """Take the last skip or decision back and return its document, None if there is none."""
        if self._skipped and self._skipped[-1][1] == len(self._reviews.answers):
            row, _ = self._skipped.pop()
        elif (
            self._reviews.answers and self._reviews.answers[-1].id in self.pool.rows_by_id
        ):  # and not of a review of other documents
            row = self.pool.rows_by_id[self._reviews.answers[-1].id]
            self._reviews.remove_last()
        else:
            return None
        self._queue.insert(0, row)
        return row

    def skip(self, row: int) -> None:
        """Leave a document undecided in this session."""
        self._queue.remove(row)
        self._skipped.append((row, len(self._reviews.answers)))

    def left(self) -> list[int]:
        """Return the suspects that wait, the most suspicious first."""
        return self._queue

    def probabilities(self, row: int) -> list[tuple[str, float]]:
        """Return the classes and their probabilities by the model of all other documents."""
        rows = np.array([row])
        scores = self.model.score_leave_one_out(rows, self.encode_truth(rows))
        posterior = np.exp(
            self.model.compute_log_posterior(cap_length(scores, self.pool.lengths[rows]))[0]
        )
        return list(zip(self.classes, posterior.tolist(), strict=True))

    def estimate(self) -> AccuracyEstimate:
        """Return that of no documents: suspects are no random sample."""
        return AccuracyEstimate(0, 0)
