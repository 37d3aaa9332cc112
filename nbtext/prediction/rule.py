"""Decision rules: from posteriors to predicted labels, by what wrong predictions cost, thresholds, or the greatest expected F1.

Costs λ come from a TOML file with one table for each true class, which has the cost of each answer to it and of giving none:

    [spam]
    ham = 1
    abstain = 0.2

    [ham]
    spam = 10
    abstain = 0.2

By default a right answer costs 0 and a wrong one 1, and without ``abstain`` there is always an answer. If a class is called ``abstain``, the
name means this class, and there is always an answer.

Source: V. Honavar's notes (Penn State), for minimum risk and likelihood ratios.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from nbtext.errors import UsageError, unknown_class_error
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.type_names import Floats, Ints, Mask, Names

Other = TypeVar("Other")

ABSTAIN = "abstain"

MAX_FLOAT = float(np.finfo(np.float64).max)

NO_PREDICTION = -1
"""In place of a class number: no class is possible, or abstaining is better."""

IMPRECISE = -2
"""In place of a class number: answers with such a probability are wrong too often."""


class Costs(NamedTuple):
    """λ_ij, the cost of answering class j when the truth is class i, shape (n_classes, n_classes), and of no answer, shape (n_classes,)."""

    prediction_costs: Floats
    abstention_costs: Floats
    """Infinite for every class unless abstaining is allowed."""


def _make_zero_one_costs(n_classes: int) -> Costs:
    """Return a cost of 1 for every mistake: minimum risk is minimum error then."""
    return Costs(1.0 - np.eye(n_classes), np.full(n_classes, np.inf))


def parse_costs(tables: Mapping[str, object], classes: Names) -> Costs:
    """Return the costs of a table for each true class; raise `UsageError` for unknown classes and for costs that are no finite number.

    If one class has a cost of abstaining, that of others is 1 by default. There is none if a class is called `ABSTAIN`.
    """
    number = {label: place for place, label in enumerate(classes)}
    costs = _make_zero_one_costs(len(classes))
    known = f"the classes are {', '.join(classes[:20])}"
    if ABSTAIN not in number and any(
        isinstance(table, dict) and ABSTAIN in table for table in tables.values()
    ):
        costs.abstention_costs[:] = 1.0
    for truth, table in tables.items():
        if truth not in number or not isinstance(table, dict):
            raise UsageError(
                f"the costs have a table for {truth!r}, which is not a class", hint=known
            )
        for answer, cost in table.items():
            if answer not in number and answer != ABSTAIN:
                raise UsageError(
                    f"the costs of {truth!r} name {answer!r}, which is not a class", hint=known
                )
            if (
                not isinstance(cost, (int, float))
                or isinstance(cost, bool)
                or not abs(cost) <= MAX_FLOAT
            ):
                raise UsageError(f"the cost of {answer!r} for {truth!r} is not a finite number")
            if answer in number:
                costs.prediction_costs[number[truth], number[answer]] = cost
            else:
                costs.abstention_costs[number[truth]] = cost
    return costs


MAX_COST = 1e300


def compute_cost_thresholds(tables: Mapping[str, object], labels: Names) -> tuple[float, ...]:
    """Return the probability from which giving each of several labels is expected to cost less than not giving it.

    The table of a label has its costs ``missed`` and ``false``, 1 by default: p · missed > (1 − p) · false. Raise `UsageError` for others.

    >>> thresholds_by_costs({"urgent": {"missed": 9}}, ["bill", "urgent"])
    (0.5, 0.1)
    """
    costs = {label: {"missed": 1.0, "false": 1.0} for label in labels}
    for label, table in tables.items():
        if label not in costs:
            raise UsageError(
                f"the costs have a table for {label!r}, which is not a label",
                hint=f"the labels are {', '.join(labels[:20])}",
            )
        if not (isinstance(table, dict) and table.keys() <= costs[label].keys()) or not all(
            isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 < cost < MAX_COST
            for cost in table.values()
        ):
            raise UsageError(
                f"the costs of {label!r} must be `missed`, `false` or both, with numbers above 0",
                hint="for example missed = 9",
            )
        costs[label] |= table
    return tuple(each["false"] / (each["missed"] + each["false"]) for each in costs.values())


def expand_class_values(
    values: Mapping[str, float], classes: Names, option: str, default: Other
) -> tuple[float | Other, ...]:
    """Return the number of each class, ``others`` where none is given; raise `UsageError` for an unknown class."""
    for label in values:
        if label not in classes:
            raise unknown_class_error(label, classes, where=option)
    return tuple(values.get(label, default) for label in classes)


def predict_minimum_error(log_posterior: Floats) -> Ints:
    """Return the most probable class of each document, shape (n_docs,); the first of equals; `NO_PREDICTION` where no class is possible."""
    return np.where(np.isnan(log_posterior[:, 0]), NO_PREDICTION, log_posterior.argmax(axis=1))


def predict_minimum_risk(log_posterior: Floats, costs: Costs) -> tuple[Ints, Floats]:
    """Return the answer of least expected cost, argmin_j Σ_i λ_ij p(C_i | d), or `NO_PREDICTION` where that is expected to cost less, and these costs.

    Both of shape (n_docs,). Of equals the first is returned, and an answer rather than none. Where no class is possible there is no answer and the cost is nan.
    """
    posterior = np.exp(log_posterior)
    of_answers = posterior @ costs.prediction_costs
    answers = of_answers.argmin(axis=1)
    least = of_answers[np.arange(len(answers)), answers]
    if np.isfinite(costs.abstention_costs).all():
        of_abstaining = posterior @ costs.abstention_costs
        answers = np.where(of_abstaining < least, NO_PREDICTION, answers)
        least = np.minimum(least, of_abstaining)
    return np.where(np.isnan(log_posterior[:, 0]), NO_PREDICTION, answers), least


def compute_likelihood_ratio_threshold(costs: Costs, prior: Floats) -> float:
    """Return (λ_21 − λ_22) P(C_2) / ((λ_12 − λ_11) P(C_1)), which p(d | C_1) / p(d | C_2) must exceed for the first of two classes.

    λ_ij is the cost of answering j when the truth is i; a wrong answer must cost more than a right one. ``prior`` has shape (2,).
    """
    cost = costs.prediction_costs
    return float((cost[1, 0] - cost[1, 1]) * prior[1] / ((cost[0, 1] - cost[0, 0]) * prior[0]))


class PredictionThreshold(NamedTuple):
    """When minimum risk answers the first of two classes."""

    answer: str
    against: str
    likelihood_ratio: float
    """p(d | answer) / p(d | against) must exceed it."""
    probability: float
    """p(answer | d) must exceed it: the same threshold."""


def compute_prediction_threshold(
    costs: Costs, prior: Floats, classes: Names
) -> PredictionThreshold | None:
    """Return the threshold that decides between two classes; None where a single one does not.

    It does not with more classes, with costs of abstaining, if a wrong answer costs no more than a right one, or if a class has no prior.
    """
    if len(classes) != 2 or np.isfinite(costs.abstention_costs).any() or not (prior > 0).all():
        return None
    cost = costs.prediction_costs
    of_first = float(cost[0, 1] - cost[0, 0])
    of_second = float(cost[1, 0] - cost[1, 1])  # what a mistake costs more than the right answer
    if not min(of_first, of_second) > 0:
        return None
    return PredictionThreshold(
        classes[0],
        classes[1],
        compute_likelihood_ratio_threshold(costs, prior),
        of_second / (of_first + of_second),
    )


class Decision(NamedTuple):
    """Answers (class numbers, `NO_PREDICTION` or `IMPRECISE`), probabilities and expected costs, all of shape (n_docs,)."""

    predictions: Ints
    probabilities: Floats
    """Probability of the best answer, even if none is given; nan where no class is possible."""
    expected_costs: Floats
    """Under 0/1 costs the probability of a mistake."""


@dataclass(frozen=True)
class DecisionRule:
    """Minimum error, or minimum risk if there are costs; no answer less probable than ``min_probability``, or than its class in ``precise_from``."""

    costs: Costs | None = None
    min_probability: float | tuple[float, ...] = 0.0
    """One for all classes, or one for each."""
    precise_from: tuple[float, ...] = ()
    """For each class the probability from which its answers are precise enough, as `nbtext.guarantees.precision` finds it; none if empty."""
    labels_from: float | tuple[float, ...] | None = None
    """Of several labels, the probability from which a label is given, one for all or one for each; None for the set of the greatest expected F1."""

    def at_least(self, min_probability: float | None) -> DecisionRule:
        """Return the rule with this ``min_probability``, or for None the rule itself; raise `UsageError` for what is no probability."""
        if min_probability is None:
            return self
        if not 0 <= min_probability <= 1:
            raise UsageError("min_probability must be from 0 to 1")
        return replace(self, min_probability=min_probability)

    def decide(self, log_posterior: Floats) -> Decision:
        """Return the answers to documents with log p(C_k | d), shape (n_docs, n_classes)."""
        best = predict_minimum_error(log_posterior)
        if self.costs is None:
            answers = best
            expected_costs = 1 - _probability_of(best, log_posterior)
        else:
            answers, expected_costs = predict_minimum_risk(log_posterior, self.costs)
        probabilities = _probability_of(
            np.where(answers == NO_PREDICTION, best, answers), log_posterior
        )
        for thresholds, otherwise in (
            (self.min_probability, NO_PREDICTION),
            (self.precise_from, IMPRECISE),
        ):
            if thresholds != ():
                least = np.broadcast_to(np.array(thresholds), log_posterior.shape[1:])[answers]
                answers = np.where((answers >= 0) & (probabilities < least), otherwise, answers)
        return Decision(answers, probabilities, expected_costs)

    def predict_mask(self, log_posterior: Floats) -> Mask:
        """Return which labels are given to documents that may have several, both of shape (n_docs, n_labels)."""
        p = np.exp(log_posterior)
        found = (
            maximize_expected_f1(p) if self.labels_from is None else p >= np.array(self.labels_from)
        )
        for least in (self.min_probability, self.precise_from):
            if least != ():
                found &= p >= np.array(least)
        return found


def maximize_expected_f1(probabilities: Floats) -> Mask:
    """Return the set of labels of each document with the greatest expected F1 if its labels are independent, both of shape (n_docs, n_labels).

    It has the m most probable labels, or none: its F1 is 1 where there is no label, with the probability Π_l (1 − p_l).

    The number K of true labels has a Poisson binomial distribution, so E[t^K] = G(t) = Π_l (1 − p_l + p_l t), and
    E[1/(a + K)] = ∫₀¹ t^(a−1) G(t) dt. So E[F1] = Σ_{i≤m} 2 p_i E[1/(m + 1 + K without i)] is
    2 ∫₀¹ t^m G(t) Σ_{i≤m} p_i/(1 − p_i + p_i t) dt. That is a polynomial. Gauss's rule integrates it exactly in as many nodes as there are
    labels, or half as many as those given and true.

    Sources: N. Ye and others, Optimizing F-measure: a tale of two approaches (2012), who get it in as many steps; M. Chao, W. Strawderman,
    Negative moments of positive random variables (1972), for the integral.

    >>> greatest_expected_f1(np.array([[0.9, 0.1, 0.6], [0.1, 0.05, 0.0]])).tolist()
    [[True, False, True], [False, False, False]]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    falling = np.take_along_axis(probabilities, order, axis=1)
    sizes = np.arange(1, falling.shape[1] + 1)
    expected = falling.cumsum(axis=1)
    none = np.prod(1 - falling, axis=1, keepdims=True)
    # By Jensen's inequality E[F1] is between two quotients. The larger falls with m, so sets of
    # more than `most` labels cannot be the best.
    least = np.maximum(
        (2 * expected / (sizes + 1 + expected[:, -1:])).max(axis=1, keepdims=True), none
    )
    most = int((2 * expected / (sizes + expected) >= least).sum(axis=1).max(initial=1))
    first = falling[:, :most]
    f1 = np.zeros((len(falling), most))
    mean = float(expected[:, -1].max(initial=0))
    true_at_most = int(
        mean + MAX_TAIL_EXPONENT + np.sqrt(MAX_TAIL_EXPONENT**2 + 6 * MAX_TAIL_EXPONENT * mean)
    )
    for node, weight in zip(
        *np.polynomial.legendre.leggauss(min(sizes.size, (most + true_at_most) // 2 + 1)),
        strict=True,
    ):
        t = (node + 1) / 2
        generated = (1 - falling * (1 - t)).prod(axis=1, keepdims=True)
        f1 += (
            weight * t ** sizes[:most] * generated * (first / (1 - first * (1 - t))).cumsum(axis=1)
        )
    is_any_given = f1.max(axis=1, keepdims=True) >= none - ROUNDING
    chosen = (sizes <= f1.argmax(axis=1)[:, np.newaxis] + 1) & is_any_given
    labels = np.zeros(order.shape, np.bool_)
    np.put_along_axis(labels, order, chosen, axis=1)
    return labels


MAX_TAIL_EXPONENT = 13.0
"""By S. Bernstein's inequality more true labels than are integrated exactly have a probability below exp(−3 · 13), less than rounding shows."""

ROUNDING = 1e-12
"""Of an expected F1."""


def fit_label_thresholds(log_posterior: Floats) -> tuple[float, ...]:
    """Return the probability from which giving each label is expected to raise its F1 over many documents, half of the greatest expected F1.

    ``log_posterior`` is that of left-out documents, shape (n_docs, n_labels); their labels play no part, since of a rare label there are too few to count
    hits by. A label that is expected in hardly any of them has nearly the threshold of all labels together. Source: Z. Lipton, C. Elkan, B. Naryanaswamy,
    Optimal thresholding of classifiers to maximize F1 measure (2014), theorem 1.
    """
    p = np.exp(log_posterior)
    expected = p.sum(axis=0)
    own, of_all = (
        np.log(np.maximum(_greatest_f1(each) / 2, MIN_THRESHOLD)) for each in (p, p.reshape(-1, 1))
    )
    return tuple(
        np.exp(
            (expected * own + POOLED_THRESHOLD_DOCUMENTS * of_all)
            / (expected + POOLED_THRESHOLD_DOCUMENTS)
        ).tolist()
    )


POOLED_THRESHOLD_DOCUMENTS = 0.3
"""Documents that the threshold of all labels weighs as much as.

Chosen of 0 to 10 on halves of the training part of Reuters and of newsgroups with cross-posts, with multinomial on counts and logarithms, Bernoulli and logistic:
from 0.1 to 1 macro F1 differs by less than two standard errors, with 3 it is .005 lower. On the test part of Reuters macro F1 is .462 and micro F1 .838."""

MIN_THRESHOLD = 1e-300


def _greatest_f1(p: Floats) -> Floats:
    """Return the greatest 2 Σ_{i≤n} p_i / (n + Σ p) of each label, given to the n of its documents where it is most probable, shape (n_labels,)."""
    expected = -np.sort(-p, axis=0).cumsum(axis=0)
    return (2 * expected / (np.arange(1, len(p) + 1)[:, np.newaxis] + expected[-1:])).max(axis=0)


def _probability_of(answers: Ints, log_posterior: Floats) -> Floats:
    return np.exp(log_posterior[np.arange(len(answers)), answers])
