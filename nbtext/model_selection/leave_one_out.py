"""Leave-one-out: every document of a corpus scored by the model of all others, in one pass.

It is exact given which terms are selected, the smoothing and the calibration, which are those learnt from the whole corpus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.documents import DocumentSample
from nbtext.decision import DecisionRule
from nbtext.model.estimation import classifier, learn, needs_documents
from nbtext.model_selection.cross_validation import blocks_of_rows
from nbtext.model_selection.held_out import HeldOut, HeldOutBlock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics


def left_out(statistics: ClassStatistics, documents: CountedDocuments, parameters: Mapping[str, Any]) -> Iterator[HeldOutBlock]:
    """All documents of a corpus, in order, a block at a time. Raises `UsageError` if the parameters leave no term or no class possible."""
    needed = documents if needs_documents(parameters) else None
    learnt = learn(CorpusCounts(statistics, DocumentSample.of(documents, parameters["sample"])), parameters, needed)
    fitted = classifier(statistics, learnt, parameters)
    for rows in blocks_of_rows(np.arange(len(documents)), statistics.n_classes):
        block = documents.rows(rows)
        scores, lengths, _, _ = fitted.leave_one_out(block)
        log_posterior = learnt.calibration.log_posterior(fitted.log_scale(scores, lengths), lengths)
        yield HeldOutBlock(rows, block.classes, log_posterior, statistics.class_documents[block.classes] > 1)


def leave_one_out(
    statistics: ClassStatistics,
    documents: CountedDocuments,
    parameters: Mapping[str, Any],
    rule: DecisionRule = DecisionRule(),  # noqa: B008 - immutable
) -> HeldOut:
    """Judge every document by the model of all others; raises as `left_out`."""
    held_out = HeldOut(statistics, rule)
    for block in left_out(statistics, documents, parameters):
        held_out.add(block)
    return held_out
