"""The session of `nbtext label --review`, which asks about the suspects of a labelled corpus.

Suspects are documents that may have a wrong label (`nbtext.evaluation.label_errors`), the most
suspicious first. The decisions are stored in a patch file. The corpus is not changed.
"""

from __future__ import annotations

from math import exp
from typing import TYPE_CHECKING

import numpy as np

from nbtext.evaluation.label_errors import find_suspects
from nbtext.labelling.answer_file import AnswerFile, ReviewAnswer
from nbtext.labelling.query_strategies import scale_to_max_length
from nbtext.labelling.session import AccuracyEstimate, QueryPlan, Session, Skip
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

MAX_SHOWN_ODDS = 1e6
"""Higher odds are shown as this number."""

MAX_EXPONENT = 50.0
"""Limit of log odds, so that `exp` does not overflow. It exceeds log `MAX_SHOWN_ODDS`."""

NO_LABEL_TEXT = "without a label"
"""Shown instead of an empty label set."""


class ReviewSession(Session):
    """A session about the suspects of a labelled corpus. All its documents have labels.

    A decision changes neither the labels of the session nor the model.
    """

    def __init__(self, counted: CountedPool, training_settings: Settings, file: AnswerFile) -> None:
        """Find the suspects. A suspect with a decision in ``file`` does not wait for a decision."""
        super().__init__(counted.pool, QueryPlan(separator=counted.table.posterior_type.separator))
        for name in counted.table.classes:
            if name != ALL_DOCUMENTS_LABEL:
                self.add_class(name)
        self.load_answers(
            (row, document.label or "") for row, document in enumerate(self.pool.documents)
        )
        self._reviews = file
        suspects = find_suspects(counted.table, counted.counted_documents, training_settings)
        decided_ids = {answer.id for answer in file.answers}
        ids = [document.id for document in self.pool.documents]
        # The texts of suspects are not used, so ids replace them.
        named_suspects = suspects.iterate_named(names=ids, texts=ids, classes=self.classes)
        self._suspects = {
            row: suspect
            for row, suspect in zip(suspects.rows.tolist(), named_suspects, strict=True)
            if suspect.id not in decided_ids
        }
        self._waiting_rows = list(self._suspects)
        """The suspects that wait for a decision, the most suspicious first."""

    @property
    def n_waiting(self) -> int:
        """Number of suspects that wait for a decision."""
        return len(self._waiting_rows)

    @property
    def progress_text(self) -> str:
        """The number of reviewed documents, and of changed labels, in words."""
        n_changed = sum(
            answer.old_label != answer.new_label
            for answer in self._reviews.answers
            if isinstance(answer, ReviewAnswer)
        )
        return f"{len(self._reviews.answers):,} reviewed, {n_changed:,} changed"

    def get_note(self, row: int) -> str:
        """Return why the document is suspicious. Return "" if it is not a suspect."""
        if row not in self._suspects:
            return ""
        suspect = self._suspects[row]
        exponent = min(suspect.log_odds, MAX_EXPONENT)
        odds = min(exp(exponent), MAX_SHOWN_ODDS)
        label = suspect.label or NO_LABEL_TEXT
        suggested = suspect.suggested or NO_LABEL_TEXT
        return f"is {label}, looks like {suggested}, {odds:,.0f} to 1"

    def propose_labels(self, row: int) -> list[tuple[str, float]]:
        """Return the suggested labels of a suspect, each with the probability of the suggestion."""
        suspect = self._suspects[row]
        labels = list_labels(split_label(suspect.suggested, self.plan.separator))
        return [(label, suspect.probability) for label in labels]

    def get_current_label(self, row: int) -> Label | None:
        """Return the label of the document in the corpus."""
        return self.labels[row]

    def choose_document(self) -> int | None:
        """Return the most suspicious document that waits, or None if no document waits."""
        return self._waiting_rows[0] if self._waiting_rows else None

    def answer(
        self, row: int, label: Label, who: str | None = None, time: str | None = None
    ) -> None:
        """Store the label that a document should have. ``who`` and ``time`` are ignored."""
        del who, time
        self.require_label(label)
        document_id = self.pool.documents[row].id
        old_label = format_label_cell(self.labels[row])
        self._reviews.append(ReviewAnswer(document_id, old_label, format_label_cell(label)))
        self._waiting_rows.remove(row)

    def undo(self) -> int | None:
        """Undo the last skip or decision. Return its document, or None if nothing can be undone."""
        answers = self._reviews.answers
        row = self._pop_last_skip(len(answers))
        if row is None:
            if not answers:
                return None
            row = self.pool.rows_by_id.get(answers[-1].id)
            if row is None:  # an answer about a document of another pool stays
                return None
            self._reviews.remove_last()
        self._waiting_rows.insert(0, row)
        return row

    def skip(self, row: int) -> None:
        """Leave a document undecided. It is not shown again in this session."""
        self._waiting_rows.remove(row)
        self._skips.append(Skip(row, len(self._reviews.answers)))

    def list_waiting(self) -> list[int]:
        """Return the suspects that wait for a decision, the most suspicious first."""
        return self._waiting_rows

    def predict_probabilities(self, row: int) -> list[tuple[str, float]]:
        """Return each class with its probability under the model of all other documents."""
        rows = np.array([row])
        scores = self.model.score_leave_one_out(rows, self.encode_truth(rows))
        scaled_scores = scale_to_max_length(scores, self.pool.log_count_sums[rows])
        [log_posterior] = self.model.compute_log_posterior(scaled_scores)
        return list(zip(self.classes, np.exp(log_posterior).tolist(), strict=True))

    def estimate_accuracy(self) -> AccuracyEstimate:
        """Return an empty estimate, because suspects are not a random sample."""
        return AccuracyEstimate(n_documents=0, n_correct=0)
