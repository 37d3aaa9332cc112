"""Evaluation of sets of labels: figures of each label against the rest, of the set of each document, and of the ranking of its labels.

Sources: M. Zhang, Z. Zhou, A review on multi-label learning algorithms (2014); K. Järvelin, J. Kekäläinen, Cumulated gain-based evaluation of IR
techniques (2002), for nDCG. Defined as in scikit-learn; a document without labels that gets none has F1 = 1.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.metrics.evaluation import Evaluation, accuracy_and_macro_f1, number_or_none
from nbtext.metrics.intervals import Bootstrap, Interval, wilson_interval
from nbtext.metrics.outcomes import DEPTHS, Judged, Outcomes, join_judged, judge_documents, mean_or_nan, rates
from nbtext.metrics.ranking import SCORES_KEPT, RankingFigures
from nbtext.metrics.results import Baselines, ClassPrior, LargestClass
from nbtext.prediction.labels import LabelSets, have_several, labels_in

if TYPE_CHECKING:
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.prediction.rule import Costs
    from nbtext.type_names import Floats, Mask, Names, Truth, Whole

RANKING = (*(f"precision_at_{k}" for k in DEPTHS), f"ndcg_at_{DEPTHS[-1]}", "lrap")

OF_ONE_LABEL = ("matthews", "top_2_accuracy", "top_3_accuracy", "top_5_accuracy")


class SetEvaluation(Evaluation):
    """Judges sets of labels, of which documents and answers may have none.

    Labels that the classifier does not know count as missed. Log loss and Brier score are sums over labels. Accuracy is the share of documents that got
    exactly their labels; precision, recall and F1 are those of each label against the rest.
    """

    @cached_property
    def _rankings(self) -> list[Floats]:
        """The `ranking_figures` of each part."""
        return []

    def join(self, other: Self) -> None:
        """Add the documents that another evaluation of the same labels judged."""
        super().join(other)
        self._rankings.extend(other._rankings)

    def _truth(self, labels: Names) -> Truth:
        rows = [self._numbers_of(labels_in(label)) for label in labels]
        return LabelSets.of(rows).mask(len(self.classes))

    def _judged(self, truth: Truth, answers: Truth, log_posterior: Floats) -> Judged:
        self._rankings.append(ranking_figures(truth, log_posterior))
        return judge_documents(truth, self._widened(answers), self._widened(log_posterior, -np.inf))

    def _widened(self, columns: Truth, value: float = 0) -> Truth:
        """Return an array with a column for each label so far, ``value`` in those that are added."""
        return np.pad(columns, ((0, 0), (0, len(self.classes) - columns.shape[1])), constant_values=value)

    @property
    def judged(self) -> Judged:
        """All documents judged, in order."""
        parts = [part._replace(truth=self._widened(part.truth), answer=self._widened(part.answer)) for part in self._parts]
        self._parts = [join_judged(parts)]
        return self._parts[0]

    def _figures(self, everything: Judged, table: Outcomes, ranking: RankingFigures) -> dict[str, float]:
        means = {name: mean_or_nan(values) for name, values in self._by_document(everything).items()}
        answered = mean_or_nan(everything.right[everything.answer.any(axis=1)])
        return {
            **super()._figures(everything, table, ranking),
            **means,
            "answered_accuracy": answered,
            **dict.fromkeys(OF_ONE_LABEL, np.nan),
        }

    def _by_document(self, judged: Judged) -> dict[str, Floats]:
        """Return the figures that are means over documents, each of shape (n_docs,)."""
        hits, support, answered = judged.by_document()
        return {
            **dict.fromkeys(("accuracy", "subset_accuracy"), judged.right.astype(np.float64)),
            "coverage": np.minimum(answered, 1.0),
            "document_f1": np.where(support + answered > 0, 2 * hits / np.maximum(support + answered, 1), 1.0),
            **dict(zip(RANKING, np.concatenate(self._rankings).T, strict=True)),
            "labels_per_document": support,
            "labels_per_answer": answered,
        }

    def _share_intervals(self, everything: Judged) -> dict[str, Interval]:
        return dict.fromkeys(("accuracy", "subset_accuracy"), wilson_interval(int(everything.right.sum()), everything.n))

    def _replicates(self, everything: Judged, bootstrap: Bootstrap) -> dict[str, Floats]:
        means, masks = self._by_document(everything), [mask.astype(np.float64) for mask in everything.masks]
        parts = [
            {
                **rates(Outcomes._make(weights @ mask for mask in masks)),
                **{name: weights @ values / everything.n for name, values in means.items()},
            }
            for weights in bootstrap.drawn_documents(everything.n, everything.truth.size)
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name not in OF_ONE_LABEL}

    def _baselines(self, everything: Judged, class_documents: Whole | Floats) -> Baselines:
        """Return the figures of always answering the most frequent label, and of always giving each label its prior."""
        shares = self._widened(class_documents[np.newaxis])
        prior = shares if self._prior is None else self._widened(self._prior[np.newaxis])
        with np.errstate(divide="ignore"):
            constant = (np.broadcast_to(row, everything.truth.shape) for row in (shares == shares.max(), np.log(prior)))
        judged = judge_documents(everything.truth, *constant)
        return Baselines(
            LargestClass(self.classes[int(shares.argmax())], *accuracy_and_macro_f1(judged, len(self.classes))),
            ClassPrior(number_or_none(mean_or_nan(judged.log_loss)), mean_or_nan(judged.brier)),
        )

    def _confusion(self, _: Judged) -> dict[str, dict[str, int]]:
        """Return nothing: a document with several labels has no single cell."""
        return {}


def ranking_figures(truth: Mask, log_posterior: Floats) -> Floats:
    """Return the figures of `RANKING` of each document, shape (n_docs, n_figures), from log p of the labels, shape (n_docs, n_labels).

    ``truth``, shape (n_docs, n_labels or more), has labels without a probability at the end. Without any label nDCG is 0 and LRAP 1.
    """
    order, n_true = np.argsort(-log_posterior, axis=1, kind="stable"), truth.sum(axis=1)
    is_true = np.take_along_axis(truth, order, axis=1).astype(np.float64)
    found = is_true.cumsum(axis=1)
    gains = 1 / np.log2(np.arange(2, DEPTHS[-1] + 2))
    gained, best = is_true[:, : gains.size] @ gains[: is_true.shape[1]], np.append(np.inf, gains.cumsum())
    precisions = (is_true * found / np.arange(1, is_true.shape[1] + 1)).sum(axis=1)
    return np.column_stack((
        *(is_true[:, :k].sum(axis=1) / k for k in DEPTHS),
        gained / best[np.minimum(n_true, gains.size)],
        np.where(n_true > 0, precisions / np.maximum(n_true, 1), 1.0),
    ))  # fmt: skip


def evaluation_of(
    statistics: ClassStatistics,
    costs: Costs | None = None,
    by: Names = (),
    scores_kept: int = SCORES_KEPT,
    prior: Floats | None = None,
) -> Evaluation:
    """Return the evaluation of a classifier that was trained on these counts; arguments are as `Evaluation` takes them."""
    labels, kind = list(filter(None, statistics.classes)), Evaluation
    documents: Floats | Whole = statistics.class_documents
    if statistics.everything is not None or have_several(statistics.classes):
        documents, kind = documents[-len(labels) :] / statistics.n_documents, SetEvaluation
    return kind(labels, costs=costs, class_documents=documents, prior=prior, by=by, scores_kept=scores_kept)
