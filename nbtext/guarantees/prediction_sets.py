"""Sets of classes that hold the true one with a probability that was asked for: conformal prediction from documents left out.

A set has the classes with p(C_k | d) ≥ t. Of n documents left out, t is the ⌊(n + 1)(1 − coverage)⌋-th smallest probability of a true class. If a new
document is exchangeable with them, the set holds its true class with at least this probability. Where documents have several labels, it holds on
average at least this share of them: each label of a document of m labels counts as 1/m of one (conformal risk control). Of the
scores tried (p, p over the highest one, cumulated p) p itself gave the smallest sets.

Sources: V. Vovk, A. Gammerman, G. Shafer, Algorithmic learning in a random world (2005); A. Angelopoulos, S. Bates, A gentle introduction
to conformal prediction (2021), and with others, Conformal risk control (2022); M. Sadinle, J. Lei, L. Wasserman, Least ambiguous set-valued classifiers (2019), for the score and for
thresholds by class.
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


class SetRule(NamedTuple):
    """The rule that decides which classes are in a set."""

    coverage: float
    """Promised share of sets that hold the true class, or of the labels of a document that its set holds."""
    min_log_posteriors: tuple[float, ...]
    """Least log p(C_k | d) in a set, for each class, in nats; −inf for a class that every set has."""
    by_class: bool = False
    """The promise is for the documents of each class, not of all classes together."""
    unconditional_classes: tuple[str, ...] = ()
    """Classes that every set has, because too few of their documents were left out for a threshold."""

    def predict_mask(self, log_posterior: Floats) -> Mask:
        """Return which classes are in the sets of documents, both of shape (n_docs, n_classes)."""
        return log_posterior >= np.array(self.min_log_posteriors)


def count_needed_held_out(coverage: float) -> int:
    """Return the least number of left-out documents from which a threshold follows.

    >>> least_documents(0.95)
    19
    """
    return max(ceil(round(1 / (1 - coverage), 9)) - 1, 1)


def fit_set_rule(
    posteriors: HeldOutPosteriors, classes: Names, coverage: float, *, by_class: bool = False
) -> SetRule:
    """Return the rule that keeps a coverage; raise `UsageError` if too few documents were left out."""
    (documents, labels), needed = posteriors.truth.to_pairs(), count_needed_held_out(coverage)
    of_truth = posteriors.log_posterior[documents, labels]
    weights = posteriors.weights[documents]
    n_labels = np.bincount(documents)
    if by_class:
        least = [
            _threshold(of_truth[here], weights[here], coverage)
            for here in (labels == k for k in range(len(classes)))
        ]
        return SetRule(
            coverage,
            tuple(least),
            by_class,
            tuple(label for label, bound in zip(classes, least, strict=True) if bound == -inf),
        )
    bound = _threshold(of_truth, weights / n_labels[documents], coverage)
    n = int(np.count_nonzero(n_labels))
    if n < needed:
        found = (
            f"{format_quantity(n, 'document')} of training {'was' if n == 1 else 'were'} left out"
        )
        raise UsageError(
            f"a coverage of {coverage:g} takes at least {format_quantity(needed, 'document')}, and "
            f"{found}",
            hint="train on more documents",
        )
    return SetRule(coverage, (bound,) * len(classes))


def _threshold(of_truth: Floats, weights: Floats, coverage: float) -> float:
    """Return the largest value up to which documents weigh at most (n + 1)(1 − coverage), −inf for none; n is the weight of all."""
    order = np.argsort(of_truth, kind="stable")
    below = np.cumsum(weights[order])
    place = (
        int(np.searchsorted(below, (below[-1] + 1) * (1 - coverage) + SLACK, side="right"))
        if below.size
        else 0
    )
    return float(of_truth[order[place - 1]]) if place else -inf


SLACK = 1e-9
"""For rounding of a whole number."""


class SetGroup(NamedTuple):
    """Sets of documents of one class, or with one number of classes."""

    n: int
    coverage: float
    """Share that hold the true class."""
    interval: Interval
    size: float
    """Mean number of classes."""


class SetsResult(NamedTuple):
    """Coverage and size of sets of classes on test documents."""

    promised: float
    by_class: bool
    n: int
    coverage: float
    interval: Interval
    size: float
    """Mean number of classes."""
    size_interval: Interval
    empty: int
    """Sets without a class."""
    full: int
    """Sets of all classes."""
    per_class: dict[str, SetGroup]
    """By true class, those that occur."""
    per_size: dict[str, SetGroup]
    """By number of classes."""


@dataclass
class SetTally:
    """Counts sets that hold the true class, as documents come."""

    rule: SetRule
    classes: Names
    _parts: list[tuple[Ints, Ints, Ints, Mask]] = field(default_factory=list)

    def add(self, log_posterior: Floats, labels: Labels) -> None:
        """Count documents by log p(C_k | d), shape (n_docs, n_classes), and their true classes or sets of labels; an unknown one is in no set."""
        number = {label: place for place, label in enumerate(self.classes)}
        truth = LabelSets.from_rows(
            [[number.get(each, -1) for each in list_labels(label)] for label in labels]
        )
        members = self.rule.predict_mask(log_posterior)
        held = members[np.repeat(np.arange(len(labels)), truth.sizes), truth.columns] & (
            truth.columns >= 0
        )
        self._parts.append((members.sum(axis=1), *truth, held))

    def observe(self, blocks: Iterable[ScoredBlock]) -> Iterator[ScoredBlock]:
        """Yield scored documents, counted."""
        for block in blocks:
            self.add(block.log_posterior, block.labels)
            yield block

    def result(self) -> SetsResult:
        """Return the figures of all documents, at least one."""
        sizes, n_labels, truth, held = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        owners = np.repeat(np.arange(sizes.size), n_labels)
        labelled = n_labels > 0
        shares = np.bincount(owners, held, sizes.size) / np.maximum(n_labels, 1)
        whole = _group(sizes[labelled], shares[labelled])
        spread = NORMAL_95 * float(sizes.std()) / sqrt(sizes.size)
        return SetsResult(
            self.rule.coverage,
            self.rule.by_class,
            *whole,
            size_interval=(
                max(whole.size - spread, 0.0),
                min(whole.size + spread, float(len(self.classes))),
            ),
            empty=int(np.count_nonzero(sizes == 0)),
            full=int(np.count_nonzero(sizes == len(self.classes))),
            per_class={
                self.classes[k]: _group(sizes[owners[truth == k]], held[truth == k])
                for k in np.unique(truth[truth >= 0]).tolist()
            },
            per_size={
                str(size): _group(sizes[here], shares[here])
                for size in np.unique(sizes[labelled]).tolist()
                for here in [labelled & (sizes == size)]
            },
        )


def add_set_metrics(result: EvaluationResult, sets: SetsResult | None) -> EvaluationResult:
    """Return an evaluation that has the coverage and the mean size of sets, if there are any, among its figures, for gates."""
    if sets is None:
        return result
    others = {**result.other_metrics, "set_coverage": sets.coverage, "set_size": sets.size}
    return replace(
        result,
        other_metrics=others,
        intervals={
            **result.intervals,
            "set_coverage": sets.interval,
            "set_size": sets.size_interval,
        },
    )


def _group(sizes: Ints, held: Mask | Floats) -> SetGroup:
    hits = float(held.sum())
    n = max(held.size, 1)
    return SetGroup(held.size, hits / n, wilson_interval(hits, held.size), float(sizes.sum() / n))
