"""Search for training documents with a wrong label: a model of the other documents disagrees.

`nbtext suspects` lists them, and `nbtext label --review` asks about them.

Source: C. Brodley, M. Friedl, Identifying mislabeled training data (1999). The folds of the paper
are replaced by leave-one-out if the classifier has an exact leave-one-out.
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
"""Number of folds for classifiers without exact leave-one-out."""


class Suspect(NamedTuple):
    """A document that may have the wrong label."""

    id: str
    label: str
    suggested: str
    """The most probable other class."""
    log_odds: float
    """log p(suggested | d) − log p(label | d), in nats. It is inf if the label is impossible."""
    probability: float
    """p(suggested | d)."""
    text: str
    """The start of the document."""


class Suspects(NamedTuple):
    """Documents that may have the wrong label, all arrays of shape (n,).

    In a multi-label corpus, the suggestion adds or removes the least certain label.
    """

    rows: Ints
    """Indices of the documents in the corpus."""
    labels: DocumentLabels
    suggested: DocumentLabels
    """The most probable other class, or the changed set of labels."""
    log_odds: Floats
    """log p(suggested | d) − log p(label | d), in nats, under a model of other documents.

    In a multi-label corpus, these are the log odds of the label that is added or removed.
    """
    probabilities: Floats
    """p(suggested | d)."""

    def iterate_named(
        self, names: Names, texts: Names, classes: Names, limit: int | None = None
    ) -> Iterator[Suspect]:
        """Yield the first ``limit`` suspects, or all if ``limit`` is None.

        ``names`` and ``texts`` are the names and the texts of all documents of the corpus.
        """
        suspects = self.take(slice(limit))
        for row, label, suggested, log_odds, probability in zip(
            suspects.rows.tolist(),
            suspects.labels.to_texts(classes),
            suspects.suggested.to_texts(classes),
            suspects.log_odds.tolist(),
            suspects.probabilities.tolist(),
            strict=True,
        ):
            yield Suspect(names[row], label, suggested, log_odds, probability, texts[row])

    @classmethod
    def concatenate(cls, blocks: Iterable[Suspects]) -> Suspects:
        """Return the suspects of all blocks, in order."""
        rows, labels, suggested, log_odds, probabilities = zip(*blocks, strict=True)
        return cls(
            rows=np.concatenate(rows),
            labels=DocumentLabels.concatenate(labels),
            suggested=DocumentLabels.concatenate(suggested),
            log_odds=np.concatenate(log_odds),
            probabilities=np.concatenate(probabilities),
        )

    def take(self, indices: Mask | Ints | slice) -> Suspects:
        """Return some of the suspects."""
        return Suspects._make(column[indices] for column in self)


def find_suspects(
    table: CountTable,
    documents: CountedDocuments,
    settings: Settings,
    min_log_odds: float = 0.0,
    jobs: int = 1,
) -> Suspects:
    """Return the documents whose log odds exceed ``min_log_odds``, by descending log odds.

    Each document is scored by a model of other documents: by exact leave-one-out if the classifier
    has it, otherwise by folds, in ``jobs`` processes. The only document of a class is never a
    suspect, because the model of the other documents does not contain its class.

    The odds are calibrated, because raw odds grow with the length of documents.
    """
    classifier_class = select_classifier_class(table, settings)
    if classifier_class.is_leave_one_out_exact(settings, table.unit):
        blocks = score_leave_one_out(table, documents, settings)
        suspects = _select_suspects(min_log_odds, blocks)
    else:
        n_folds = min(FALLBACK_FOLDS, len(documents))
        folds = draw_stratified_folds(documents.strata, n_folds, np.random.default_rng(0))
        outcomes = evaluate_folds(
            Subsets(table, documents),
            settings,
            folds_of_repeats=[folds],
            evaluate=partial(_select_suspects, min_log_odds),
            jobs=jobs,
        )
        suspects = Suspects.concatenate(outcome.test_result for _, outcome in outcomes)
    order = np.lexsort((suspects.rows, -suspects.log_odds))  # the last key is compared first
    return suspects.take(order)


def _select_suspects(min_log_odds: float, blocks: Iterable[HeldOutBlock]) -> Suspects:
    """Return the documents of blocks whose log odds exceed ``min_log_odds``."""
    suspect_blocks = []
    for block in blocks:
        alternatives = block.posterior.find_alternatives(block.truth)
        suspects = Suspects(  # still all documents of the block
            rows=block.rows,
            labels=block.truth,
            suggested=alternatives.labels,
            log_odds=alternatives.log_odds,
            probabilities=np.exp(alternatives.log_probability),
        )
        is_suspect = block.has_known_label & (suspects.log_odds > min_log_odds)
        suspect_blocks.append(suspects.take(is_suspect))
    return Suspects.concatenate(suspect_blocks)
