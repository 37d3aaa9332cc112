"""Documents left out of a model: their scores by models that have not seen them, and the calibration that is fitted to these."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import Classifier, Training, label_prior_odds, prior_weights
from nbtext.compatibility import needs_documents
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.statistics import estimated
from nbtext.prediction.calibration import UNCALIBRATED, Calibration, Unseen, by_length

if TYPE_CHECKING:
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.labels import DocumentLabels
    from nbtext.type_names import Floats, Whole

HELD_OUT = 5
"""One document in so many is held out by `split`."""


def sorted_by_content(documents: CountedDocuments) -> CountedDocuments:
    """Sort documents by class and content, so that nothing depends on the order in which they came."""
    order = np.lexsort((documents.hashes, documents.classes))
    return documents if np.array_equal(order, np.arange(order.size)) else documents.rows(order)


def split(documents: CountedDocuments) -> tuple[Whole, Whole]:
    """Return the numbers of documents `sorted_by_content` to fit to, and of every fifth, which is random because a class is in the order of hashes."""
    numbers = np.arange(len(documents))
    is_out = numbers % HELD_OUT == HELD_OUT // 2
    return numbers[~is_out], numbers[is_out]


HELD_OUT_FOLDS = 10
HELD_OUT_FOLDS_OF_DOCUMENTS = 5
"""Fewer folds if each costs a pass over all documents."""


@singledispatch
def unseen_scores(classifier: Classifier, training: Training, sample: CountedDocuments) -> Unseen:
    """Score the sample by models that have not seen it: each document left out, or if that is not exact or labels select the terms by folds.

    A classifier that held documents out to choose something by scores these in place of the sample.
    """
    unit = training.statistics.weight_unit
    if training.choose is None and classifier.subtracts_exactly(training.settings, unit):
        return classifier.leave_one_out(sample)
    return scores_by_folds(classifier, training, sample)


def scores_by_folds(classifier: Classifier, training: Training, sample: CountedDocuments) -> Unseen:
    """Score each fold of the sample by a model of the others.

    Folds are left out of the statistics and of the documents. Terms that labels do not select and smoothing are those chosen from all documents.
    """
    documents = training.documents if needs_documents(training.settings) else None
    n_folds = HELD_OUT_FOLDS if documents is None else HELD_OUT_FOLDS_OF_DOCUMENTS
    folds = (
        np.arange(len(sample)) % n_folds
    )  # the sample is in the order of hashes, so this is random
    subsets = Subsets(training.statistics.table, sample)
    places = None if documents is None else documents.places(sample)
    parts = []
    for fold in range(min(n_folds, len(sample))):
        rows = np.flatnonzero(folds == fold)
        rest = None
        if documents is not None and places is not None:
            rest = documents.rows(np.delete(np.arange(len(documents)), places[rows]))
        others = estimated(subsets.without(rows), training.statistics.weights)
        parts.append(left_out_scores(classifier, training, sample.rows(rows), others, rest))
    return Unseen.joined(parts)


@singledispatch
def left_out_scores(
    classifier: Classifier,
    training: Training,
    left_out: CountedDocuments,
    statistics: ClassStatistics,
    rest: CountedDocuments | None,
) -> Unseen:
    """Score documents by a model of the others, given by their statistics and, for a classifier that needs them, the documents themselves.

    Where the others leave no class possible, all scores are −inf.
    """
    return scores_by_others(classifier, training, left_out, statistics, rest)


def scores_by_others(
    classifier: Classifier,
    training: Training,
    left_out: CountedDocuments,
    statistics: ClassStatistics,
    rest: CountedDocuments | None,
) -> Unseen:
    """Do so by estimating the model of the others, as most classifiers do."""
    matrix = left_out.matrix
    if prior_weights(training.settings.class_prior, statistics).any():
        selected = training.selected_in(statistics)
        others = replace(
            training, statistics=statistics, selected=selected, documents=rest, sample=None
        )
        scores, lengths = classifier.estimate_again(others).joint_log_likelihood(matrix)
    else:
        scores = np.full((len(left_out), statistics.n_classes), -np.inf)
        lengths = np.zeros(len(left_out), np.int64)
    truth = left_out.truth(statistics.n_classes)
    weights = left_out.natural_weights(training.statistics)
    return Unseen(scores, lengths, matrix.tokens - lengths, truth, weights)


def uncalibrated(classifier: Classifier) -> Calibration:
    """Return how scores become probabilities by the textbook: T = 1, and labels that do not exclude each other are independent."""
    training = classifier.training
    if training.statistics.kind.is_exclusive:
        return UNCALIBRATED
    from nbtext.prediction.label_calibration import LabelCalibration

    return LabelCalibration.none(label_prior_odds(training))


def fitted_calibration(
    classifier: Classifier,
    scores: Floats,
    truth: DocumentLabels,
    lengths: Whole,
    weights: Floats | None,
) -> Calibration:
    """Fit a calibration to left-out documents, given on the scale of log-probabilities, with shapes as in `nbtext.prediction.calibration.by_length`.

    Labels that do not exclude each other are calibrated together.
    """
    training = classifier.training
    if training.statistics.kind.is_exclusive:
        return by_length(scores, truth.numbers, lengths, weights, classifier.usual_exponent)
    from nbtext.prediction.label_calibration import by_label

    is_true = truth.mask(scores.shape[1])
    return by_label(scores, is_true, lengths, weights, prior=label_prior_odds(training))
