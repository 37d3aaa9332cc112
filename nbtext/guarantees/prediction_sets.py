"""Sets of classes that contain the true class with a guaranteed probability: conformal prediction.

The set of a document has the classes with p(C_k | d) ≥ t. The threshold t is the
⌊(n + 1)(1 − coverage)⌋-th smallest probability of the true class among n held-out documents. If a
new document is exchangeable with these documents, its set contains the true class with a
probability of at least ``coverage``.

For multi-label models, a set contains on average at least the proportion ``coverage`` of the labels
of its document: each label of a document of m labels counts 1/m (conformal risk control).

Sources: V. Vovk, A. Gammerman, G. Shafer, Algorithmic learning in a random world (2005);
A. Angelopoulos, S. Bates, A gentle introduction to conformal prediction (2021), and with others,
Conformal risk control (2022); M. Sadinle, J. Lei, L. Wasserman, Least ambiguous set-valued
classifiers (2019), for p(C_k | d) as the score and for thresholds by class.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import UsageError, format_quantity
from nbtext.metrics.intervals import NORMAL_95, Interval, wilson_interval
from nbtext.prediction.labels import LabelSets, list_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.metrics.results import EvaluationResult
    from nbtext.prediction.calibration import HeldOutPosteriors
    from nbtext.prediction.labels import Labels
    from nbtext.scoring import ScoredBlock
    from nbtext.type_names import Floats, Ints, Mask, Names

ROUNDING_TOLERANCE = 1e-9
"""Tolerance for rounding errors of (n + 1)(1 − coverage), which may be a whole number."""

UNKNOWN_LABEL = -1
"""Index of a label that the model does not have."""


class SetRule(NamedTuple):
    """Thresholds that decide which classes are in a set."""

    coverage: float
    """Guaranteed proportion of sets with the true class, or of true labels in their sets."""
    min_log_posteriors: tuple[float, ...]
    """The lowest log p(C_k | d) in a set, for each class, in nats. −inf if unconditional."""
    by_class: bool = False
    """True if the guarantee is for the documents of each class, not for all documents together."""
    unconditional_classes: tuple[str, ...] = ()
    """Classes that are in every set, because they have too few held-out documents."""

    def predict_mask(self, log_posterior: Floats) -> Mask:
        """Return True for the classes in the set of each document, shape (n_docs, n_classes).

        ``log_posterior`` has the same shape.
        """
        return log_posterior >= np.array(self.min_log_posteriors)


def count_needed_held_out(coverage: float) -> int:
    """Return the minimum number n of held-out documents: (n + 1)(1 − coverage) must be at least 1.

    >>> count_needed_held_out(0.95)
    19
    """
    min_n_plus_1 = round(1 / (1 - coverage), 9)  # without the rounding error of a whole number
    return max(ceil(min_n_plus_1) - 1, 1)


def fit_set_rule(
    posteriors: HeldOutPosteriors, classes: Names, coverage: float, *, by_class: bool = False
) -> SetRule:
    """Return the rule whose sets have a coverage.

    Raise `UsageError` if there are too few held-out documents. With ``by_class``, classes with too
    few documents are unconditional instead.
    """
    # A pair is a document and one of its true labels.
    documents, labels = posteriors.truth.to_pairs()
    true_log_p = posteriors.log_posterior[documents, labels]
    weights = posteriors.weights[documents]
    if by_class:
        thresholds = []
        unconditional = []
        for index, label in enumerate(classes):
            is_class = labels == index
            threshold = _find_threshold(true_log_p[is_class], weights[is_class], coverage)
            thresholds.append(threshold)
            if threshold == -inf:
                unconditional.append(label)
        return SetRule(coverage, tuple(thresholds), by_class, tuple(unconditional))

    n_labels = np.bincount(documents)
    n_needed = count_needed_held_out(coverage)
    n_documents = int(np.count_nonzero(n_labels))
    if n_documents < n_needed:
        raise UsageError(
            f"a coverage of {coverage:g} needs at least "
            f"{format_quantity(n_needed, 'held-out document')}, and the model has {n_documents:,}",
            hint="train on more documents",
        )
    pair_weights = weights / n_labels[documents]
    threshold = _find_threshold(true_log_p, pair_weights, coverage)
    return SetRule(coverage, tuple(threshold for _ in classes))


def _find_threshold(true_log_p: Floats, weights: Floats, coverage: float) -> float:
    """Return the threshold t: the pairs with log p ≤ t weigh at most (n + 1)(1 − coverage).

    t is the largest such log p, or −inf if there is none. ``true_log_p`` and ``weights`` of pairs
    have the shape (n_pairs,). n is the sum of the weights.
    """
    if not true_log_p.size:
        return -inf
    order = np.argsort(true_log_p, kind="stable")
    cumulative_weights = np.cumsum(weights[order])
    max_weight = (cumulative_weights[-1] + 1) * (1 - coverage) + ROUNDING_TOLERANCE
    n_within = int(np.searchsorted(cumulative_weights, max_weight, side="right"))
    if not n_within:
        return -inf
    last_within = order[n_within - 1]
    return float(true_log_p[last_within])


class SetGroup(NamedTuple):
    """Sets of the documents of one class, or sets of one size."""

    n: int
    """Number of sets."""
    coverage: float
    """Proportion of sets with the true class."""
    interval: Interval
    """95 % interval of the coverage."""
    size: float
    """Mean number of classes in a set."""


class SetsResult(NamedTuple):
    """Coverage and size of the sets of test documents."""

    promised: float
    """The guaranteed coverage."""
    by_class: bool
    """`SetRule.by_class`."""
    n: int
    """Number of documents with a label."""
    coverage: float
    interval: Interval
    """95 % interval of the coverage."""
    size: float
    """Mean number of classes in a set."""
    size_interval: Interval
    """95 % interval of the mean size."""
    empty: int
    """Number of sets without a class."""
    full: int
    """Number of sets with all classes."""
    per_class: dict[str, SetGroup]
    """By true class, without classes that do not occur."""
    per_size: dict[str, SetGroup]
    """By number of classes in the set."""


class _SetCounts(NamedTuple):
    """Sets of a block of documents. A pair is a document and one of its true labels."""

    sizes: Ints
    """Size of the set of each document, shape (n_docs,)."""
    n_labels: Ints
    """Number of true labels of each document, shape (n_docs,)."""
    labels: Ints
    """True label of each pair, or `UNKNOWN_LABEL`, shape (n_pairs,)."""
    is_covered: Mask
    """True for the pairs whose label is in the set, shape (n_pairs,)."""


@dataclass
class SetTally:
    """Counts the sets that contain the true class, block by block."""

    rule: SetRule
    classes: Names
    _blocks: list[_SetCounts] = field(default_factory=list)

    def add(self, log_posterior: Floats, labels: Labels) -> None:
        """Count the sets of documents, given log p(C_k | d) and the true labels.

        ``log_posterior`` has the shape (n_docs, n_classes). An unknown label is in no set.
        """
        class_indices = {label: index for index, label in enumerate(self.classes)}
        label_indices = [
            [class_indices.get(name, UNKNOWN_LABEL) for name in list_labels(label)]
            for label in labels
        ]
        truth = LabelSets.from_rows(label_indices)
        true_labels = truth.columns
        is_in_set = self.rule.predict_mask(log_posterior)
        documents = np.repeat(np.arange(len(labels)), truth.sizes)
        # `UNKNOWN_LABEL` is the index of the last class here.
        is_covered = is_in_set[documents, true_labels] & (true_labels != UNKNOWN_LABEL)
        sizes = is_in_set.sum(axis=1)
        self._blocks.append(_SetCounts(sizes, truth.sizes, true_labels, is_covered))

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield each block of scored documents after its sets are counted."""
        for block in blocks:
            self.add(block.log_posterior, block.labels)
            yield block

    def result(self) -> SetsResult:
        """Return the metrics of all documents, of which there must be at least one."""
        columns = zip(*self._blocks, strict=True)
        counts = _SetCounts(*map(np.concatenate, columns))
        sizes = counts.sizes
        documents = np.repeat(np.arange(sizes.size), counts.n_labels)
        has_label = counts.n_labels > 0
        n_covered = np.bincount(documents, counts.is_covered, sizes.size)
        proportions = n_covered / np.maximum(counts.n_labels, 1)
        overall = _summarize(sizes[has_label], proportions[has_label])
        size_margin = NORMAL_95 * float(sizes.std()) / sqrt(sizes.size)
        n_classes = len(self.classes)

        per_class = {}
        known_labels = counts.labels[counts.labels != UNKNOWN_LABEL]
        for index in np.unique(known_labels).tolist():
            is_class = counts.labels == index
            per_class[self.classes[index]] = _summarize(
                sizes[documents[is_class]], counts.is_covered[is_class]
            )

        per_size = {}
        for size in np.unique(sizes[has_label]).tolist():
            has_size = has_label & (sizes == size)
            per_size[str(size)] = _summarize(sizes[has_size], proportions[has_size])

        return SetsResult(
            promised=self.rule.coverage,
            by_class=self.rule.by_class,
            **overall._asdict(),  # n, coverage, interval and size
            size_interval=(
                max(overall.size - size_margin, 0.0),
                min(overall.size + size_margin, float(n_classes)),
            ),
            empty=int(np.count_nonzero(sizes == 0)),
            full=int(np.count_nonzero(sizes == n_classes)),
            per_class=per_class,
            per_size=per_size,
        )


def _summarize(sizes: Ints, coverage: Mask | Floats) -> SetGroup:
    """Return the coverage and the mean size of n sets.

    ``sizes`` and ``coverage`` have the shape (n,). ``coverage`` is True for sets with the true
    label, or the proportion of the true labels of a document that are in its set.
    """
    n = coverage.size
    n_covered = float(coverage.sum())
    divisor = max(n, 1)
    return SetGroup(
        n=n,
        coverage=n_covered / divisor,
        interval=wilson_interval(n_covered, n),
        size=float(sizes.sum() / divisor),
    )


def add_set_metrics(result: EvaluationResult, sets: SetsResult | None) -> EvaluationResult:
    """Return the evaluation with the coverage and the mean size of sets among its metrics.

    The option ``--fail-under`` can test these metrics. Without ``sets`` return the evaluation
    unchanged.
    """
    if sets is None:
        return result
    set_metrics = {"set_coverage": sets.coverage, "set_size": sets.size}
    set_intervals = {"set_coverage": sets.interval, "set_size": sets.size_interval}
    return replace(
        result,
        other_metrics={**result.other_metrics, **set_metrics},
        intervals={**result.intervals, **set_intervals},
    )
