"""Shares of labels in a set of documents that may have several: how many documents have each label.

The share of a label is the mean of its calibrated probability, after two corrections. Left-out documents move the log odds of the label by an offset: one
Newton step, since calibration has an offset for each label too. And if the mean differs from that of left-out documents beyond chance, the share of the label has
changed by more: if documents with the label are like those of training, and so are the others, the mean moves only by Var(p)/(Var(p) + E[p(1 − p)]) of
the change (A. Bella et al., Quantification via probability estimators, 2010, for probabilities that are calibrated). The change is at most doubled, since
where p hardly varies the quotient is noise.

Intervals are for the shares among these very documents: each draw moves the offset, the part of the change that is beyond chance, widely, and the mean by chance,
and draws which documents have the label. Where p hardly varies the mean shows little of a change, so draws multiply it by more than the estimate does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels
from nbtext.prediction.posterior import LabelPosterior
from nbtext.prediction.rule import DecisionRule

if TYPE_CHECKING:
    from nbtext.type_names import Floats, Ints

OFFSET_PRIOR_STD = 0.3
"""Standard deviation of the normal prior of offsets, around 0."""

OFFSET_STD_FACTOR = 3.0
OFFSET_MISFIT_STD = 0.3
"""Factor of an offset's standard deviation in draws, and what is added however many documents are left out.

Chosen, as are `SPREAD` and `SIGNIFICANT_SQUARED_DEVIATION`, on halves of the training part of Reuters, with pools drawn at random and with more or fewer documents of a label."""

SIGNIFICANT_SQUARED_DEVIATION = 10.0
"""Squared standard deviations from which a change of the mean is more than chance; what is above counts."""

MAX_CHANGE_FACTOR = 1.0
MAX_DRAWN_CHANGE_FACTOR = 3.0
"""How many times the change of the mean a share may change further, and in draws."""

CHANGE_STD = 1.5
"""Standard deviation of the part of a change that is no chance, in draws.

Chosen, as is `MAX_DRAWN_CHANGE_FACTOR`, on halves of the training parts of Reuters and of newsgroups with cross-posts, and in drawn documents of 20 labels. Of labels
2.5 to 6 times more or less frequent than in training, intervals hold .98, .98 and .95 of the shares; with 3, at most once further and without chance in the mean
they held .97, .97 and .90. Reported once, on the test part of Reuters and in other drawn documents: .98 and .94, before .97 and .89. Intervals of labels that
did not change are 15 % and 9 % wider there."""

DRAWS = 200
"""For an interval."""

MAX_ABS_LOG_ODDS = 40.0
MIN_DIVISOR = 1e-30


def estimate_label_proportions(log_posterior: Floats, left_out: HeldOutPosteriors) -> Floats:
    """Return the share of each label, both ends of its 95 % interval and the share of the answers with it, shape (4, n_labels).

    ``log_posterior`` of the documents has shape (n_docs, n_labels).
    """
    before = _odds(left_out.log_posterior)
    odds = _odds(log_posterior)
    weights = left_out.weights
    p = _probability(before)
    total = max(float(weights.sum()), 1.0)
    precision = weights @ (p * (1 - p)) + OFFSET_PRIOR_STD**-2
    offset = weights @ (left_out.truth.to_mask(p.shape[1]) - p) / precision
    p = _probability(before + offset)
    mean = _probability(odds + offset).mean(axis=0)
    expected = weights @ p / total
    variance = weights @ (p - expected) ** 2 / total
    moved = mean - expected
    chance = np.sqrt(variance * (1 / len(odds) + 1 / total))
    part = np.maximum(
        1 - SIGNIFICANT_SQUARED_DEVIATION * chance**2 / np.maximum(moved**2, MIN_DIVISOR), 0
    )
    hidden = weights @ (p * (1 - p)) / total / np.maximum(variance, MIN_DIVISOR)
    random = np.random.default_rng(0)
    spread = np.sqrt(OFFSET_STD_FACTOR**2 / precision + OFFSET_MISFIT_STD**2)
    drawn = []
    for _ in range(DRAWS):
        moves, parts, chances = random.standard_normal((3, len(mean)))
        labelled = random.random(odds.shape) < _probability(odds + offset + spread * moves)
        change = moved * np.maximum(part + CHANGE_STD * parts, 0) + chance * chances
        drawn.append(labelled.mean(axis=0) + np.minimum(hidden, MAX_DRAWN_CHANGE_FACTOR) * change)
    further = part * moved * np.minimum(hidden, MAX_CHANGE_FACTOR)
    share, low, high = np.clip((mean + further, *np.quantile(drawn, (0.025, 0.975), axis=0)), 0, 1)
    return np.stack(
        (
            share,
            np.minimum(low, share),
            np.maximum(high, share),
            DecisionRule().predict_mask(log_posterior).mean(axis=0),
        )
    )


class LabelOdds(NamedTuple):
    """Documents left out in training, by which the log odds of labels are corrected."""

    held_out: HeldOutPosteriors

    @classmethod
    def from_prior(cls, prior: Floats) -> LabelOdds:
        """Return no left-out documents, given a number for each label."""
        none = np.empty((0, prior.size))
        return cls(
            HeldOutPosteriors(
                LabelPosterior(none), DocumentLabels.from_sets([], prior.size), none[:, 0]
            )
        )

    @classmethod
    def fit(cls, left_out: HeldOutPosteriors) -> LabelOdds:
        """Keep left-out documents."""
        return cls(left_out)

    @staticmethod
    def require_correctable(n_classes: int) -> None:
        """Take any number of labels."""

    @staticmethod
    def require_documents(class_documents: Ints) -> None:
        """Take any number of labelled documents."""

    def estimate_proportions(self, log_posterior: Floats) -> Floats:
        """Return `estimate_label_proportions`."""
        return estimate_label_proportions(log_posterior, self.held_out)


def _odds(log_posterior: Floats) -> Floats:
    return np.clip(
        LabelPosterior(log_posterior).compute_log_odds(), -MAX_ABS_LOG_ODDS, MAX_ABS_LOG_ODDS
    )


def _probability(log_odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-log_odds))
