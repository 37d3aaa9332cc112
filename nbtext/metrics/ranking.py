"""Rankings: of documents by the score of a label, and of the labels of a document by their probabilities.

Area under the ROC curve and average precision rank documents, one label against the rest. Both need all scores at once. At most `MAX_RANKING_SCORES` are kept; of
more, there are no such figures.

Sources: M. Zhang, Z. Zhou, A review on multi-label learning algorithms (2014); K. Järvelin, J. Kekäläinen, Cumulated gain-based evaluation of IR
techniques (2002), for nDCG. Defined as in scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.outcomes import RANKING_DEPTHS
from nbtext.prediction.posterior import LabelPosterior

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.prediction.labels import DocumentLabels
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import Array, Floats, Ints, Mask

MAX_RANKING_SCORES = 1 << 25
"""Largest number of scores, documents times classes, that are kept: 256 MiB."""

RANK_ROUNDING = 1 << 13
"""Largest rounding error of log odds, in units in the last place of a document's largest |log p|.

A score is a sum over all terms, up to hundreds of times as large as the differences between classes that make up log p; rounding errors are
in proportion to the score. Measured on documents of up to 3,000 words with equal scores, summed in another order or scaled to unit length from
other counts: 4 units of the score, and 1,400 of log p.
"""


class RankingMetrics(NamedTuple):
    """Figures by class, shape (n_classes,); nan for a class that no document has, or all, or if there were too many scores."""

    roc_auc: Floats
    average_precision: Floats


def compute_ranking_metrics(
    blocks: Sequence[Floats], truth: DocumentLabels, n_classes: int
) -> RankingMetrics:
    """Return the figures of each label against the rest, given log p(label k | d), shape (n_docs, n_classes), in nats, of all documents, or of none."""
    figures = RankingMetrics(*np.full((2, n_classes), np.nan))
    if not blocks:
        return figures
    units = np.concatenate([_unit(block) for block in blocks])
    documents, labels = truth.to_pairs()
    by_label = np.argsort(labels, kind="stable")
    present, begins = np.unique(labels[by_label], return_index=True)
    holders = np.split(documents[by_label], begins[1:])
    for k, of_label in zip(present.tolist(), holders, strict=False):
        if k < n_classes and of_label.size < len(truth):
            ranks = _rank_with_ties(np.concatenate([block[:, k] for block in blocks]), units)
            positives = np.sort(ranks[of_label])
            ranks.sort()
            figures.roc_auc[k] = area_under_roc(ranks, positives)
            figures.average_precision[k] = average_precision(ranks, positives)
    return figures


def _unit(log_posterior: Floats) -> Floats:
    """Return the unit in the last place of each document's largest finite |log p|, shape (n_docs,)."""
    return np.spacing(np.abs(log_posterior).max(axis=1, where=log_posterior > -np.inf, initial=0))


def _rank_with_ties(log_probability: Floats, units: Floats) -> Ints:
    """Return ranks from 0 up that rise with log p of a class; documents whose log p differs by rounding share one. All of shape (n_docs,).

    Neighbours are tied if their log odds differ by at most `RANK_ROUNDING` ``units``; an error e of log odds is one of (1 − p)·e in log p.
    """
    order = np.argsort(log_probability, kind="stable")
    ascending = log_probability[order]
    tolerance = -np.expm1(ascending) * RANK_ROUNDING * units[order]
    with np.errstate(invalid="ignore"):  # from −∞ to −∞ is no step
        steps = np.diff(ascending) > np.maximum(tolerance[1:], tolerance[:-1])
    ranks = np.zeros(order.size, np.int64)
    ranks[order[1:]] = np.cumsum(steps)
    return ranks


def area_under_roc(scores: Array, positives: Array) -> float:
    """Return the probability that a document of the class scores higher than another, ties counting half: the Mann–Whitney statistic.

    ``scores`` (or ranks), shape (n_docs,), and ``positives``, those of the class, are ascending. Source: J. Hanley, B. McNeil (1982).
    """
    n = positives.size
    middle_ranks = (
        np.searchsorted(scores, positives, "left") + np.searchsorted(scores, positives, "right") + 1
    ) / 2
    return float((middle_ranks.sum() - n * (n + 1) / 2) / (n * (scores.size - n)))


def average_precision(scores: Array, positives: Array) -> float:
    """Return Σ over thresholds of (gain in recall) × precision; equal scores share a threshold (IIR 8.4). Arguments as in `area_under_roc`."""
    found = positives.size - np.searchsorted(positives, positives, "left")
    seen = scores.size - np.searchsorted(scores, positives, "left")
    return float((found / seen).mean())


LABEL_RANKING_METRICS = (
    *(f"precision_at_{k}" for k in RANKING_DEPTHS),
    f"ndcg_at_{RANKING_DEPTHS[-1]}",
    "lrap",
)
"""Figures of the ranking of the labels of a document."""


def score_label_rankings(posterior: Posterior, truth: DocumentLabels) -> Floats:
    """Return the figures of `LABEL_RANKING_METRICS` of each document, shape (n_docs, n_figures); none where it has one label, whose rank says all."""
    if not isinstance(posterior, LabelPosterior):
        return np.empty((len(posterior), 0))
    return compute_label_ranking_metrics(
        truth.to_mask(max(posterior.logs.shape[1], truth.table.n_labels)), posterior.logs
    )


def compute_label_ranking_metrics(truth: Mask, log_posterior: Floats) -> Floats:
    """Return the figures of `LABEL_RANKING_METRICS` of each document, shape (n_docs, n_figures), from log p of the labels, shape (n_docs, n_labels).

    ``truth``, shape (n_docs, n_labels or more), has labels without a probability at the end. Without any label nDCG is 0 and LRAP 1.
    """
    order = np.argsort(-log_posterior, axis=1, kind="stable")
    n_true = truth.sum(axis=1)
    is_true = np.take_along_axis(truth, order, axis=1).astype(np.float64)
    found = is_true.cumsum(axis=1)
    gains = 1 / np.log2(np.arange(2, RANKING_DEPTHS[-1] + 2))
    gained = is_true[:, : gains.size] @ gains[: is_true.shape[1]]
    best = np.append(np.inf, gains.cumsum())
    precisions = (is_true * found / np.arange(1, is_true.shape[1] + 1)).sum(axis=1)
    return np.column_stack(
        (
            *(is_true[:, :k].sum(axis=1) / k for k in RANKING_DEPTHS),
            gained / best[np.minimum(n_true, gains.size)],
            np.where(n_true > 0, precisions / np.maximum(n_true, 1), 1.0),
        )
    )
