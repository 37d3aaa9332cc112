"""Find training documents that may have the wrong label: the model of all others gives them another class.

Source: C. Brodley, M. Friedl, Identifying mislabeled training data (1999), with leave-one-out in place of folds where that is exact.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import select_classifier_class
from nbtext.counts.corpus_counts import Subsets
from nbtext.evaluation.cross_validation import (
    draw_stratified_folds,
    evaluate_folds,
    score_leave_one_out,
)
from nbtext.prediction.labels import DocumentLabels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.counts.count_table import CountTable
    from nbtext.counts.documents import CountedDocuments
    from nbtext.evaluation.cross_validation import HeldOutBlock
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Ints, Mask, Names

FALLBACK_FOLDS = 10
"""For classifiers that cannot leave out one document at a time."""


class Suspect(NamedTuple):
    """A document that may have the wrong label."""

    id: str
    label: str
    suggested: str
    """The most probable of the other classes."""
    log_odds: float
    """Of the suggested class against the label, in nats; infinite if the label is impossible."""
    probability: float
    """p(suggested | d)."""
    text: str
    """Its beginning."""


class Suspects(NamedTuple):
    """Documents by falling log odds, equal ones in the order of the corpus; all of shape (n,)."""

    rows: Ints
    """Numbers of the documents in the corpus."""
    labels: DocumentLabels
    suggested: DocumentLabels
    """The most probable of the other classes, or the labels less one that is too many, or with one that is missing."""
    log_odds: Floats
    """log p(suggested | d) − log p(label | d) under the model of all other documents, in nats; of several labels for the one that changes."""
    probabilities: Floats
    """p(suggested | d)."""

    def iterate_named(
        self, names: Names, texts: Names, classes: Names, limit: int | None = None
    ) -> Iterator[Suspect]:
        """Yield the documents, at most ``limit``, by their names and the names of their classes, with their texts."""
        first = self.take(slice(limit))
        labels = (each.to_texts(classes) for each in (first.labels, first.suggested))
        figures = (first.log_odds.tolist(), first.probabilities.tolist())
        for row, label, suggested, log_odds, probability in zip(
            first.rows.tolist(), *labels, *figures, strict=True
        ):
            yield Suspect(names[row], label, suggested, log_odds, probability, texts[row])

    @classmethod
    def concatenate(cls, parts: Iterable[Suspects]) -> Suspects:
        """Return those of all parts, in order."""
        rows, labels, suggested, log_odds, probabilities = zip(*parts, strict=True)
        return cls(
            np.concatenate(rows),
            DocumentLabels.concatenate(labels),
            DocumentLabels.concatenate(suggested),
            np.concatenate(log_odds),
            np.concatenate(probabilities),
        )

    def take(self, places: Mask | Ints | slice) -> Suspects:
        """Return some of the documents."""
        return Suspects._make(column[places] for column in self)


def find_suspects(
    table: CountTable,
    documents: CountedDocuments,
    parameters: Settings,
    min_log_odds: float = 0.0,
    jobs: int = 1,
) -> Suspects:
    """Return the documents whose log odds are more than ``min_log_odds``.

    Each is scored by a model without it: of all others, or by folds, in ``jobs`` processes, for a classifier that cannot leave out one at a time.
    The only document of a class is never among them: without it there is no model of the class. The odds are calibrated: raw ones grow with
    the length of a document, so that long documents would come first.
    """
    if select_classifier_class(table, parameters).is_leave_one_out_exact(parameters, table.unit):
        found = _suspects_among(min_log_odds, score_leave_one_out(table, documents, parameters))
    else:
        folds = draw_stratified_folds(
            documents.strata, min(FALLBACK_FOLDS, len(documents)), np.random.default_rng(0)
        )
        judged = evaluate_folds(
            Subsets(table, documents),
            parameters,
            [folds],
            partial(_suspects_among, min_log_odds),
            jobs,
        )
        found = Suspects.concatenate(fold.test_result for _, fold in judged)
    return found.take(np.lexsort((found.rows, -found.log_odds)))


def _suspects_among(min_log_odds: float, blocks: Iterable[HeldOutBlock]) -> Suspects:
    parts = []
    for block in blocks:
        suggested, of_suggested, log_odds = block.posterior.find_alternatives(block.truth)
        kept = block.has_known_label & (log_odds > min_log_odds)
        parts.append(
            Suspects(block.rows, block.truth, suggested, log_odds, np.exp(of_suggested)).take(kept)
        )
    return Suspects.concatenate(parts)
