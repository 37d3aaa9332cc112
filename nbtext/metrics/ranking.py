"""Ranking metrics: of documents by the score of a label, and of the labels of a document.

The area under the ROC curve and average precision rank documents, one label against the rest. They
need all scores at once, so they are not computed for more than `MAX_RANKING_SCORES` scores. Other
metrics rank the labels of each document of a multi-label model.

Sources: M. Zhang, Z. Zhou, A review on multi-label learning algorithms (2014); K. Järvelin,
J. Kekäläinen, Cumulated gain-based evaluation of IR techniques (2002), for nDCG. Definitions agree
with scikit-learn.
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

MAX_RANKING_SCORES = 2**25
"""Maximum number of scores, documents × classes, in memory: 256 MiB."""

RANK_ROUNDING = 2**13
"""Tolerance for ties of log odds, in units in the last place of a document's largest |log p|.

It exceeds the largest rounding error observed.
"""


class RankingMetrics(NamedTuple):
    """Metrics by class, shape (n_classes,).

    A metric is nan for a class of no document or of all documents. All are nan if there are too
    many scores.
    """

    roc_auc: Floats
    average_precision: Floats


def compute_ranking_metrics(
    blocks: Sequence[Floats], truth: DocumentLabels, n_classes: int
) -> RankingMetrics:
    """Return the metrics of each label against the rest.

    ``blocks`` have log p(label k | d) of all documents in nats, shape (n_docs, n_classes). Without
    blocks all metrics are nan. Labels from ``n_classes`` on, which are unknown, have no metrics.
    """
    metrics = RankingMetrics(
        roc_auc=np.full(n_classes, np.nan), average_precision=np.full(n_classes, np.nan)
    )
    if not blocks:
        return metrics
    units = np.concatenate([_compute_units(block) for block in blocks])
    # Group the documents by label.
    documents, labels = truth.to_pairs()
    order = np.argsort(labels, kind="stable")
    present_labels, starts = np.unique(labels[order], return_index=True)
    documents_by_label = np.split(documents[order], starts[1:])
    # Without labels, `split` returns one empty array, which `zip` drops.
    for k, label_documents in zip(present_labels.tolist(), documents_by_label, strict=False):
        has_both = label_documents.size < len(truth)  # documents with and without the label
        if k < n_classes and has_both:
            log_probability = np.concatenate([block[:, k] for block in blocks])
            ranks = _rank_with_ties(log_probability, units)
            positives = np.sort(ranks[label_documents])
            ranks.sort()
            metrics.roc_auc[k] = area_under_roc(ranks, positives)
            metrics.average_precision[k] = average_precision(ranks, positives)
    return metrics


def _compute_units(log_posterior: Floats) -> Floats:
    """Return the unit in the last place of the largest finite |log p|, shape (n_docs,)."""
    is_finite = log_posterior > -np.inf
    return np.spacing(np.abs(log_posterior).max(axis=1, where=is_finite, initial=0))


def _rank_with_ties(log_probability: Floats, units: Floats) -> Ints:
    """Return ascending ranks from 0 by log p of a class. All arrays have the shape (n_docs,).

    Neighbours share a rank if their log odds differ by at most `RANK_ROUNDING` ``units``. An error
    e of log odds is an error of (1 − p)·e in log p.
    """
    order = np.argsort(log_probability, kind="stable")
    ascending = log_probability[order]
    tolerance = -np.expm1(ascending) * RANK_ROUNDING * units[order]
    with np.errstate(invalid="ignore"):  # −∞ minus −∞ is not a step
        is_step = np.diff(ascending) > np.maximum(tolerance[1:], tolerance[:-1])
    ranks = np.zeros(order.size, np.int64)
    ranks[order[1:]] = np.cumsum(is_step)  # the first rank stays 0
    return ranks


def area_under_roc(scores: Array, positives: Array) -> float:
    """Return the probability that a document of the class scores higher than another document.

    Ties count half: this is the Mann–Whitney statistic (R − n(n + 1)/2) / (n·(N − n)), where R is
    the sum of the ranks of the n documents of the class among all N documents. ``scores`` (or
    ranks), shape (n_docs,), and ``positives``, the scores of the class, are ascending.

    Source: J. Hanley, B. McNeil (1982).
    """
    n = positives.size
    ranks_below = np.searchsorted(scores, positives, "left")
    ranks_above = np.searchsorted(scores, positives, "right")
    middle_ranks = (ranks_below + ranks_above + 1) / 2
    return float((middle_ranks.sum() - n * (n + 1) / 2) / (n * (scores.size - n)))


def average_precision(scores: Array, positives: Array) -> float:
    """Return Σ over thresholds of (gain in recall) × precision.

    Equal scores share a threshold. Each of n documents of the class gains 1/n in recall, so this is
    the mean precision over these documents. See `area_under_roc` for the arguments.

    Source: Manning, Raghavan, Schütze, Introduction to Information Retrieval (2008), 8.4.
    """
    n_hits = positives.size - np.searchsorted(positives, positives, "left")
    n_retrieved = scores.size - np.searchsorted(scores, positives, "left")
    return float((n_hits / n_retrieved).mean())


LABEL_RANKING_METRICS = (
    *(f"precision_at_{k}" for k in RANKING_DEPTHS),
    f"ndcg_at_{RANKING_DEPTHS[-1]}",
    "lrap",
)
"""Metrics of the ranking of the labels of a document."""


def score_label_rankings(posterior: Posterior, truth: DocumentLabels) -> Floats:
    """Return `LABEL_RANKING_METRICS` of each document, shape (n_docs, n_metrics).

    Single-label models have no such metrics: the rank of the true class replaces them.
    """
    if not isinstance(posterior, LabelPosterior):
        return np.empty((len(posterior), 0))
    n_labels = max(posterior.log_p.shape[1], truth.table.n_labels)
    return compute_label_ranking_metrics(truth.to_mask(n_labels), posterior.log_p)


def compute_label_ranking_metrics(truth: Mask, log_posterior: Floats) -> Floats:
    """Return `LABEL_RANKING_METRICS` of each document, shape (n_docs, n_metrics).

    ``log_posterior`` has the shape (n_docs, n_labels). ``truth`` may have more columns, of labels
    without a probability. A document without labels has an nDCG of 0 and an LRAP of 1.
    """
    order = np.argsort(-log_posterior, axis=1, kind="stable")
    n_true = truth.sum(axis=1)
    # 1 for a true label, by rank, else 0
    hits = np.take_along_axis(truth, order, axis=1).astype(np.float64)
    precisions = [hits[:, :k].sum(axis=1) / k for k in RANKING_DEPTHS]

    discounts = 1 / np.log2(np.arange(2, RANKING_DEPTHS[-1] + 2))  # of ranks from 1
    gains = hits[:, : discounts.size] @ discounts[: hits.shape[1]]
    # By number of true labels from 0. A document without labels has the gain 0, and 0 / ∞ = 0.
    ideal_gains = np.append(np.inf, discounts.cumsum())
    ndcg = gains / ideal_gains[np.minimum(n_true, discounts.size)]

    n_hits = hits.cumsum(axis=1)
    precision_sums = (hits * n_hits / np.arange(1, hits.shape[1] + 1)).sum(axis=1)
    lrap = np.where(n_true > 0, precision_sums / np.maximum(n_true, 1), 1.0)
    return np.column_stack((*precisions, ndcg, lrap))
