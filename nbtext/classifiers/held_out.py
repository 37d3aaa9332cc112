"""Documents left out of a model: their scores by models that have not seen them, and the calibration that is fitted to these."""

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

HELD_OUT = 5
"""One document in so many is held out by `split`."""


def sort_by_content(documents: CountedDocuments) -> CountedDocuments:
    """Sort documents by class and content, so that nothing depends on the order in which they came."""
    order = np.lexsort((documents.hashes, documents.classes))
    return documents if np.array_equal(order, np.arange(order.size)) else documents.take(order)


def split_held_out(documents: CountedDocuments) -> tuple[Ints, Ints]:
    """Return the numbers of documents `sort_by_content` to fit to, and of every fifth, which is random because a class is in the order of hashes."""
    numbers = np.arange(len(documents))
    is_out = numbers % HELD_OUT == HELD_OUT // 2
    return numbers[~is_out], numbers[is_out]


HELD_OUT_FOLDS = 10
HELD_OUT_FOLDS_OF_DOCUMENTS = 5
"""Fewer folds if each costs a pass over all documents."""


@singledispatch
def score_held_out_sample(
    classifier: Classifier, training: Training, sample: CountedDocuments
) -> HeldOutScores:
    """Score the sample by models that have not seen it: each document left out, or if that is not exact or labels select the terms by folds.

    A classifier that held documents out to choose something by scores these in place of the sample.
    """
    unit = training.statistics.weight_unit
    if training.term_selector is None and classifier.is_leave_one_out_exact(
        training.settings, unit
    ):
        return classifier.leave_one_out(sample)
    return score_by_folds(classifier, training, sample)


def score_by_folds(
    classifier: Classifier, training: Training, sample: CountedDocuments
) -> HeldOutScores:
    """Score each fold of the sample by a model of the others.

    Folds are left out of the statistics and of the documents. Terms that labels do not select and smoothing are those chosen from all documents.
    """
    documents = training.documents if needs_documents(training.settings) else None
    n_folds = HELD_OUT_FOLDS if documents is None else HELD_OUT_FOLDS_OF_DOCUMENTS
    folds = (
        np.arange(len(sample)) % n_folds
    )  # the sample is in the order of hashes, so this is random
    subsets = Subsets(training.statistics.table, sample)
    places = None if documents is None else documents.find_sample_rows(sample)
    parts = []
    for fold in range(min(n_folds, len(sample))):
        rows = np.flatnonzero(folds == fold)
        rest = None
        if documents is not None and places is not None:
            rest = documents.take(np.delete(np.arange(len(documents)), places[rows]))
        others = estimate_statistics(subsets.subtract_rows(rows), training.statistics.weights)
        parts.append(
            score_held_out_documents(classifier, training, sample.take(rows), others, rest)
        )
    return HeldOutScores.concatenate(parts)


@singledispatch
def score_held_out_documents(
    classifier: Classifier,
    training: Training,
    left_out: CountedDocuments,
    statistics: ClassStatistics,
    rest: CountedDocuments | None,
) -> HeldOutScores:
    """Score documents by a model of the others, given by their statistics and, for a classifier that needs them, the documents themselves.

    Where the others leave no class possible, all scores are −inf.
    """
    return score_with_refit(classifier, training, left_out, statistics, rest)


def score_with_refit(
    classifier: Classifier,
    training: Training,
    left_out: CountedDocuments,
    statistics: ClassStatistics,
    rest: CountedDocuments | None,
) -> HeldOutScores:
    """Do so by estimating the model of the others, as most classifiers do."""
    matrix = left_out.matrix
    if compute_prior_weights(training.settings.class_prior, statistics).any():
        selected = training.select_terms(statistics)
        others = replace(
            training, statistics=statistics, selected=selected, documents=rest, sample=None
        )
        scores, lengths = classifier.refit(others).joint_log_likelihood(matrix)
    else:
        scores = np.full((len(left_out), statistics.n_classes), -np.inf)
        lengths = np.zeros(len(left_out), np.int64)
    truth = left_out.to_document_labels(statistics.n_classes)
    weights = left_out.compute_weights(training.statistics)
    return HeldOutScores(scores, lengths, matrix.tokens - lengths, truth, weights)


def make_textbook_calibration(classifier: Classifier) -> Calibration:
    """Return how scores become probabilities by the textbook: T = 1, and labels that do not exclude each other are independent."""
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
    """Fit a calibration to left-out documents, given on the scale of log-probabilities, with shapes as in `nbtext.prediction.calibration.by_length`.

    Labels that do not exclude each other are calibrated together.
    """
    training = classifier.training
    if training.statistics.posterior_type.is_exclusive:
        return fit_length_temperature(
            scores, truth.indices, lengths, weights, classifier.default_length_exponent
        )
    from nbtext.prediction.label_calibration import fit_label_calibration

    is_true = truth.to_mask(scores.shape[1])
    return fit_label_calibration(
        scores, is_true, lengths, weights, prior=compute_label_log_prior_odds(training)
    )
