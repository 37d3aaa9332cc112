"""Score held-out documents, and calibrate a classifier by their scores.

A document is scored by a model that was estimated without this document. Documents are held out one
by one (leave-one-out) if their counts can be subtracted exactly, or else by folds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import (
    Classifier,
    Training,
    compute_label_log_prior_odds,
    compute_prior_weights,
)
from nbtext.compatibility import needs_documents
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.statistics import estimate_statistics
from nbtext.prediction.calibration import (
    UNCALIBRATED,
    Calibration,
    HeldOutScores,
    fit_length_temperature,
)

if TYPE_CHECKING:
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.type_names import Floats, Ints

HELD_OUT_STRIDE = 5
"""`split_held_out` holds out every fifth document."""

HELD_OUT_FOLDS = 10
"""Folds of `score_by_folds` for classifiers that are estimated from counts alone."""

HELD_OUT_FOLDS_OF_DOCUMENTS = 5
"""Folds of `score_by_folds` where each fold costs a pass over all documents."""


def sort_by_content(documents: CountedDocuments) -> CountedDocuments:
    """Return the documents in the order of class and content, so that input order has no effect."""
    order = np.lexsort((documents.hashes, documents.classes))
    is_sorted = np.array_equal(order, np.arange(order.size))
    if is_sorted:  # A copy would take time and memory.
        return documents
    return documents.take(order)


def split_held_out(documents: CountedDocuments) -> tuple[Ints, Ints]:
    """Return the rows of documents to fit to, and the rows of documents to hold out.

    The documents have the order of `sort_by_content`. The choice is random, because the documents
    of a class are in the order of their hashes.
    """
    rows = np.arange(len(documents))
    # With this remainder, a document is held out even if there are only three documents.
    is_held_out = rows % HELD_OUT_STRIDE == HELD_OUT_STRIDE // 2
    return rows[~is_held_out], rows[is_held_out]


@singledispatch
def score_held_out_sample(
    classifier: Classifier, training: Training, sample: CountedDocuments
) -> HeldOutScores:
    """Score each document of the sample by a model that was estimated without it.

    Use leave-one-out, or folds if leave-one-out is not exact or labels select the terms. Some
    classifiers register another function, which returns the scores of the documents that were held
    out to fit parameters.
    """
    weight_unit = training.statistics.weight_unit
    is_exact = classifier.is_leave_one_out_exact(training.settings, weight_unit)
    if training.term_selector is None and is_exact:
        return classifier.leave_one_out(sample)
    return score_by_folds(classifier, training, sample)


def score_by_folds(
    classifier: Classifier, training: Training, sample: CountedDocuments
) -> HeldOutScores:
    """Score each fold of the sample by a model of the other folds.

    A fold is removed from the statistics and from the documents. The smoothing, and terms that are
    selected without labels, stay the same as for all documents.
    """
    documents = training.documents if needs_documents(training.settings) else None
    sample_rows = None if documents is None else documents.find_sample_rows(sample)
    n_folds = HELD_OUT_FOLDS if documents is None else HELD_OUT_FOLDS_OF_DOCUMENTS
    # The sample is in the order of hashes, so the folds are random.
    fold_indices = np.arange(len(sample)) % n_folds
    sample_counts = Subsets(training.statistics.table, sample)
    fold_scores = []
    for fold in range(min(n_folds, len(sample))):  # further folds are empty
        rows = np.flatnonzero(fold_indices == fold)
        remaining_documents = None
        if documents is not None and sample_rows is not None:
            remaining_rows = np.delete(np.arange(len(documents)), sample_rows[rows])
            remaining_documents = documents.take(remaining_rows)
        remaining_counts = sample_counts.exclude_documents(rows)
        statistics = estimate_statistics(remaining_counts, training.statistics.weights)
        scores = score_held_out_documents(
            classifier, training, sample.take(rows), statistics, remaining_documents
        )
        fold_scores.append(scores)
    return HeldOutScores.concatenate(fold_scores)


@singledispatch
def score_held_out_documents(
    classifier: Classifier,
    training: Training,
    held_out: CountedDocuments,
    statistics: ClassStatistics,
    remaining_documents: CountedDocuments | None,
) -> HeldOutScores:
    """Score documents by a model of the remaining documents.

    ``statistics`` count the remaining documents. A classifier that needs documents also gets
    ``remaining_documents``. If no class is possible without the held-out documents, all
    scores are −inf. This is the default; other classifiers register functions that may call
    `score_with_refit` too.
    """
    return score_with_refit(classifier, training, held_out, statistics, remaining_documents)


def score_with_refit(
    classifier: Classifier,
    training: Training,
    held_out: CountedDocuments,
    statistics: ClassStatistics,
    remaining_documents: CountedDocuments | None,
) -> HeldOutScores:
    """Estimate the model of the remaining documents and score the held-out documents by it.

    See `score_held_out_documents` for the arguments.
    """
    matrix = held_out.matrix
    prior_weights = compute_prior_weights(training.settings.class_prior, statistics)
    is_any_class_possible = prior_weights.any()
    if is_any_class_possible:
        remaining_training = replace(
            training,
            statistics=statistics,
            selected=training.select_terms(statistics),
            documents=remaining_documents,
            sample=None,
        )
        model = classifier.refit(remaining_training)
        scores, lengths = model.joint_log_likelihood(matrix)
    else:
        scores = np.full((len(held_out), statistics.n_classes), -np.inf)
        lengths = np.zeros(len(held_out), np.int64)
    truth = held_out.to_document_labels(statistics.n_classes)
    weights = held_out.compute_weights(training.statistics)
    return HeldOutScores(
        scores=scores,
        lengths=lengths,
        unknown_lengths=matrix.tokens - lengths,
        truth=truth,
        weights=weights,
    )


def make_neutral_calibration(classifier: Classifier) -> Calibration:
    """Return the calibration that changes no score: a temperature of 1, or independent labels."""
    training = classifier.training
    if training.statistics.posterior_type.is_exclusive:
        return UNCALIBRATED
    from nbtext.prediction.label_calibration import LabelCalibration

    return LabelCalibration.from_prior(compute_label_log_prior_odds(training))


def fit_classifier_calibration(
    classifier: Classifier,
    scores: Floats,
    truth: DocumentLabels,
    lengths: Ints,
    weights: Floats | None,
) -> Calibration:
    """Fit a calibration to held-out documents.

    ``scores`` are on the scale of log-probabilities, shape (n_docs, n_classes). ``lengths`` are
    numbers of tokens that the classifier uses, and ``weights`` are document weights, both of shape
    (n_docs,). Labels of multi-label documents are calibrated jointly.
    """
    training = classifier.training
    if training.statistics.posterior_type.is_exclusive:
        return fit_length_temperature(
            scores, truth.indices, lengths, weights, classifier.default_length_exponent
        )
    from nbtext.prediction.label_calibration import fit_label_calibration

    return fit_label_calibration(
        scores,
        truth.to_mask(scores.shape[1]),
        lengths,
        weights,
        prior=compute_label_log_prior_odds(training),
    )
