"""Decision rules: from posteriors to predicted labels.

A rule minimizes expected costs, or for multi-label models maximizes the expected F1, and applies
thresholds. The costs λ come from a TOML file. It has one table for each true class, with the cost
of each prediction, and of abstaining, which is to predict no class:

    [spam]
    ham = 1
    abstain = 0.2

    [ham]
    spam = 10
    abstain = 0.2

By default a correct prediction costs 0 and a wrong one costs 1. Without ``abstain`` in any table, a
class is always predicted. If a class is called ``abstain``, the name means this class, and a class
is always predicted.

Source: V. Honavar's notes (Penn State), for minimum risk and likelihood ratios.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeGuard, TypeVar

import numpy as np

from nbtext.errors import UsageError, unknown_class_error
from nbtext.fast_dataclasses import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.type_names import Floats, Ints, Mask, Names

Default = TypeVar("Default")

ABSTAIN = "abstain"

MAX_FLOAT = float(np.finfo(np.float64).max)

MAX_COST = 1e300

NO_PREDICTION = -1
"""Replaces a class index if every class is impossible or abstaining costs less."""

IMPRECISE = -2
"""Replaces a class index if predictions with such a probability are wrong too often."""

MAX_TAIL_EXPONENT = 13.0
"""The expected F1 ignores numbers of true labels with a probability of at most exp(−3 · this).

This probability is less than rounding errors.
"""

F1_ROUNDING = 1e-12
"""Tolerance for rounding errors of an expected F1."""

POOLED_THRESHOLD_DOCUMENTS = 0.3
"""Weight of the threshold of all labels together, in documents with a label.

Macro F1 is about the same for 0.1 to 1.
"""

MIN_THRESHOLD = 1e-300
"""Lower bound of the threshold of a label, so that its logarithm is finite."""


class Costs(NamedTuple):
    """Costs of predictions and of abstaining, by true class."""

    prediction_costs: Floats
    """λ_ij, the cost of predicting class j if class i is true, shape (n_classes, n_classes)."""
    abstention_costs: Floats
    """Shape (n_classes,). They are infinite for every class unless abstaining is allowed."""

    @property
    def allow_abstaining(self) -> bool:
        """True if a prediction of no class has a cost."""
        return bool(np.isfinite(self.abstention_costs).all())


def _make_zero_one_costs(n_classes: int) -> Costs:
    """Return a cost of 1 for every mistake, so that minimum risk is minimum error."""
    return Costs(1.0 - np.eye(n_classes), np.full(n_classes, np.inf))


def _is_number(value: object) -> bool:
    """Return True for a number of a TOML file. A truth value is not a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def parse_costs(tables: Mapping[str, object], classes: Names) -> Costs:
    """Return the costs from one table for each true class.

    If at least one class has a cost of abstaining, the default of all classes is 1. Abstaining is
    not possible if a class is called `ABSTAIN`.

    Raise `UsageError` for an unknown class and for a cost that is not a finite number.
    """
    class_indices = {label: index for index, label in enumerate(classes)}
    costs = _make_zero_one_costs(len(classes))
    prediction_costs, abstention_costs = costs
    hint = f"the classes are {', '.join(classes[:20])}"
    mentions_abstain = any(
        isinstance(table, dict) and ABSTAIN in table for table in tables.values()
    )
    if mentions_abstain and ABSTAIN not in class_indices:
        abstention_costs[:] = 1.0
    for truth, table in tables.items():
        if truth not in class_indices or not isinstance(table, dict):
            raise UsageError(
                f"the costs have a table for {truth!r}, which is not a class", hint=hint
            )
        for prediction, cost in table.items():
            if prediction not in class_indices and prediction != ABSTAIN:
                raise UsageError(
                    f"the costs of {truth!r} name {prediction!r}, which is not a class", hint=hint
                )
            is_finite_number = _is_number(cost) and abs(cost) <= MAX_FLOAT
            if not is_finite_number:
                raise UsageError(f"the cost of {prediction!r} for {truth!r} is not a finite number")
            if prediction in class_indices:
                prediction_costs[class_indices[truth], class_indices[prediction]] = cost
            else:
                abstention_costs[class_indices[truth]] = cost
    return costs


def _are_label_costs(table: object) -> TypeGuard[dict[str, float]]:
    """Return True for a table of costs above 0 that are named ``missed`` or ``false``."""
    return isinstance(table, dict) and all(
        name in ("missed", "false") and _is_number(cost) and 0 < cost < MAX_COST
        for name, cost in table.items()
    )


def compute_cost_thresholds(tables: Mapping[str, object], labels: Names) -> tuple[float, ...]:
    """Return the probability of each label above which a multi-label model predicts it.

    The table of a label has the costs ``missed`` and ``false``, which are 1 by default. To predict
    the label costs less than not to predict it if p · missed > (1 − p) · false.

    Raise `UsageError` for an unknown label, another key, and a cost that is not a number above 0.

    >>> compute_cost_thresholds({"urgent": {"missed": 9}}, ["bill", "urgent"])
    (0.5, 0.1)
    """
    costs = {label: {"missed": 1.0, "false": 1.0} for label in labels}
    for label, table in tables.items():
        if label not in costs:
            raise UsageError(
                f"the costs have a table for {label!r}, which is not a label",
                hint=f"the labels are {', '.join(labels[:20])}",
            )
        if not _are_label_costs(table):
            raise UsageError(
                f"the costs of {label!r} must be `missed`, `false` or both, with numbers above 0",
                hint="for example missed = 9",
            )
        costs[label] |= table
    return tuple(
        label_costs["false"] / (label_costs["missed"] + label_costs["false"])
        for label_costs in costs.values()
    )


def expand_class_values(
    values: Mapping[str, float], classes: Names, option: str, default: Default
) -> tuple[float | Default, ...]:
    """Return the value of each class, or ``default`` for a class that ``values`` lacks.

    Raise `UsageError` for an unknown class. The message names the ``option``.
    """
    for label in values:
        if label not in classes:
            raise unknown_class_error(label, classes, where=option)
    return tuple(values.get(label, default) for label in classes)


def predict_minimum_error(log_posterior: Floats) -> Ints:
    """Return the most probable class of each document, shape (n_docs,).

    Of equally probable classes this is the first. It is `NO_PREDICTION` if no class is possible.
    """
    return _replace_impossible(log_posterior.argmax(axis=1), log_posterior)


def _replace_impossible(predictions: Ints, log_posterior: Floats) -> Ints:
    """Return predictions, with `NO_PREDICTION` for documents without a possible class."""
    # If no class is possible, log p of every class is nan.
    return np.where(np.isnan(log_posterior[:, 0]), NO_PREDICTION, predictions)


def predict_minimum_risk(log_posterior: Floats, costs: Costs) -> tuple[Ints, Floats]:
    """Return the classes with the lowest expected costs and these costs, both of shape (n_docs,).

    The class is argmin_j Σ_i λ_ij p(C_i | d), or `NO_PREDICTION` if abstaining is expected to cost
    less. If costs are equal, the first class is predicted, and a class is preferred to abstaining.
    If no class is possible, the class is `NO_PREDICTION` and the cost is nan.
    """
    posterior = np.exp(log_posterior)
    prediction_costs = posterior @ costs.prediction_costs
    predictions = prediction_costs.argmin(axis=1)
    lowest_costs = prediction_costs[np.arange(len(predictions)), predictions]
    if costs.allow_abstaining:
        abstention_costs = posterior @ costs.abstention_costs
        predictions = np.where(abstention_costs < lowest_costs, NO_PREDICTION, predictions)
        lowest_costs = np.minimum(lowest_costs, abstention_costs)
    return _replace_impossible(predictions, log_posterior), lowest_costs


def compute_likelihood_ratio_threshold(costs: Costs, prior: Floats) -> float:
    """Return the likelihood ratio above which the first of two classes is predicted.

    The ratio is p(d | C_1) / p(d | C_2). The threshold is
    (λ_21 − λ_22) P(C_2) / ((λ_12 − λ_11) P(C_1)), where λ_ij is the cost of predicting j if the
    truth is i. A wrong prediction must cost more than a correct prediction. ``prior`` has the shape
    (2,).
    """
    cost = costs.prediction_costs
    return float((cost[1, 0] - cost[1, 1]) * prior[1] / ((cost[0, 1] - cost[0, 0]) * prior[0]))


class PredictionThreshold(NamedTuple):
    """The threshold above which minimum risk predicts the first of two classes."""

    answer: str
    """The first class."""
    against: str
    """The second class."""
    likelihood_ratio: float
    """The threshold of p(d | answer) / p(d | against)."""
    probability: float
    """The equivalent threshold of p(answer | d)."""


def compute_prediction_threshold(
    costs: Costs, prior: Floats, classes: Names
) -> PredictionThreshold | None:
    """Return the threshold that decides between two classes, or None if no threshold decides.

    It is None for more than two classes, if abstaining is allowed, if a class has a prior of 0, and
    if a wrong prediction does not cost more than a correct prediction.
    """
    if len(classes) != 2 or costs.allow_abstaining or not (prior > 0).all():
        return None
    cost = costs.prediction_costs
    first_mistake_cost = float(cost[0, 1] - cost[0, 0])
    second_mistake_cost = float(cost[1, 0] - cost[1, 1])
    if first_mistake_cost <= 0 or second_mistake_cost <= 0:
        return None
    return PredictionThreshold(
        answer=classes[0],
        against=classes[1],
        likelihood_ratio=compute_likelihood_ratio_threshold(costs, prior),
        probability=second_mistake_cost / (first_mistake_cost + second_mistake_cost),
    )


class Decision(NamedTuple):
    """Predicted classes with their probabilities and expected costs, all of shape (n_docs,)."""

    predictions: Ints
    """Class indices, `NO_PREDICTION` or `IMPRECISE`."""
    probabilities: Floats
    """Probability of the best class, even if it is not predicted. nan if no class is possible."""
    expected_costs: Floats
    """Lowest expected cost of a class or of abstaining, by default the probability of a mistake."""


@dataclass(frozen=True)
class DecisionRule:
    """Minimum error, or minimum risk if the rule has costs, with thresholds of probability."""

    costs: Costs | None = None
    min_probability: float | tuple[float, ...] = 0.0
    """The lowest probability of a prediction, for all classes or for each class."""
    precise_from: tuple[float, ...] = ()
    """The probability of each class from which its predictions are precise enough.

    `nbtext.guarantees.precision` finds these probabilities. The tuple is empty if no precision is
    guaranteed.
    """
    labels_from: float | tuple[float, ...] | None = None
    """The probability from which a multi-label model predicts a label, for all or for each label.

    None means that the predicted set is the set of greatest expected F1.
    """

    def with_min_probability(self, min_probability: float | None) -> DecisionRule:
        """Return the rule with this ``min_probability``, or unchanged if it is None.

        Raise `UsageError` for a number that is not a probability.
        """
        if min_probability is None:
            return self
        if not 0 <= min_probability <= 1:
            raise UsageError("min_probability must be from 0 to 1")
        return replace(self, min_probability=min_probability)

    def decide(self, log_posterior: Floats) -> Decision:
        """Predict one class for each document from log p(C_k | d), shape (n_docs, n_classes)."""
        best = predict_minimum_error(log_posterior)
        if self.costs is None:
            predictions = best
            expected_costs = 1 - _get_probabilities(best, log_posterior)
        else:
            predictions, expected_costs = predict_minimum_risk(log_posterior, self.costs)
            # If the rule abstains, the best class is still the most probable class.
            best = np.where(predictions == NO_PREDICTION, best, predictions)
        probabilities = _get_probabilities(best, log_posterior)
        # Documents without a prediction, −1, get the minimum of the last class, which is not used.
        minimums = np.broadcast_to(np.array(self.min_probability), log_posterior.shape[1])
        is_unsure = (predictions >= 0) & (probabilities < minimums[predictions])
        predictions = np.where(is_unsure, NO_PREDICTION, predictions)
        if self.precise_from:
            precise_minimums = np.array(self.precise_from)[predictions]
            is_imprecise = (predictions >= 0) & (probabilities < precise_minimums)
            predictions = np.where(is_imprecise, IMPRECISE, predictions)
        return Decision(predictions, probabilities, expected_costs)

    def predict_mask(self, log_posterior: Floats) -> Mask:
        """Return the labels that a multi-label model predicts, a mask of shape (n_docs, n_labels).

        ``log_posterior`` has the same shape.
        """
        probabilities = np.exp(log_posterior)
        if self.labels_from is None:
            mask = maximize_expected_f1(probabilities)
        else:
            mask = probabilities >= np.array(self.labels_from)
        mask &= probabilities >= np.array(self.min_probability)
        if self.precise_from:
            mask &= probabilities >= np.array(self.precise_from)
        return mask


def maximize_expected_f1(probabilities: Floats) -> Mask:
    """Return the label set of each document with the greatest expected F1, as a mask.

    The mask and ``probabilities`` have the shape (n_docs, n_labels). Labels are assumed to be
    independent. The set has the m most probable labels, or no label. The expected F1 of the empty
    set is the probability Π_l (1 − p_l) of a document without labels.

    The number K of true labels has a Poisson binomial distribution, so
    E[t^K] = G(t) = Π_l (1 − p_l + p_l t), and E[1/(a + K)] = ∫₀¹ t^(a−1) G(t) dt. So
    E[F1] = Σ_{i≤m} 2 p_i E[1/(m + 1 + K without i)] is
    2 ∫₀¹ t^m G(t) Σ_{i≤m} p_i/(1 − p_i + p_i t) dt. Gauss's rule integrates this polynomial exactly
    at half as many nodes as it has predicted and true labels, and at most one node for each label.

    Sources: N. Ye and others, Optimizing F-measure: a tale of two approaches (2012), for an
    algorithm with as many steps; M. Chao, W. Strawderman, Negative moments of positive random
    variables (1972), for the integral.

    >>> maximize_expected_f1(np.array([[0.9, 0.1, 0.6], [0.1, 0.05, 0.0]])).tolist()
    [[True, False, True], [False, False, False]]
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    sorted_probabilities = np.take_along_axis(probabilities, order, axis=1)
    empty_set_f1 = np.prod(1 - sorted_probabilities, axis=1, keepdims=True)
    max_size = _bound_set_size(sorted_probabilities, empty_set_f1)
    f1 = _compute_expected_f1(sorted_probabilities, max_size)
    is_better_than_empty = f1.max(axis=1, keepdims=True) >= empty_set_f1 - F1_ROUNDING
    best_sizes = f1.argmax(axis=1)[:, np.newaxis] + 1
    sizes = np.arange(1, order.shape[1] + 1)
    is_predicted = (sizes <= best_sizes) & is_better_than_empty  # labels in sorted order
    mask = np.zeros(order.shape, np.bool_)
    np.put_along_axis(mask, order, is_predicted, axis=1)
    return mask


def _bound_set_size(sorted_probabilities: Floats, empty_set_f1: Floats) -> int:
    """Return an upper bound of the number of labels in the sets of greatest expected F1.

    By Jensen's inequality E[F1] is between two quotients, the lower and the upper bound. A set
    cannot be best if its upper bound is less than the greatest lower bound. Upper bounds fall with
    the size, so the sets whose upper bound is high enough are the smallest sets.
    """
    sizes = np.arange(1, sorted_probabilities.shape[1] + 1)
    expected_hits = sorted_probabilities.cumsum(axis=1)
    lower_bounds = 2 * expected_hits / (sizes + 1 + expected_hits[:, -1:])
    best_lower_bound = np.maximum(lower_bounds.max(axis=1, keepdims=True), empty_set_f1)
    upper_bounds = 2 * expected_hits / (sizes + expected_hits)
    return int((upper_bounds >= best_lower_bound).sum(axis=1).max(initial=1))


def _compute_expected_f1(sorted_probabilities: Floats, max_size: int) -> Floats:
    """Return the expected F1 of the sets of 1 to ``max_size`` labels, shape (n_docs, max_size)."""
    n_labels = sorted_probabilities.shape[1]
    sizes = np.arange(1, max_size + 1)
    candidates = sorted_probabilities[:, :max_size]
    # The greatest expected number of true labels of a document.
    mean = float(sorted_probabilities.cumsum(axis=1)[:, -1].max(initial=0))
    # S. Bernstein's inequality, P(K − mean ≥ t) ≤ exp(−t²/(2 mean + 2t/3)), solved for t.
    x = MAX_TAIL_EXPONENT
    max_true_labels = int(mean + x + np.sqrt(x**2 + 6 * x * mean))
    n_nodes = min(n_labels, (max_size + max_true_labels) // 2 + 1)
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    f1 = np.zeros((len(sorted_probabilities), max_size))
    for node, weight in zip(nodes, weights, strict=True):
        t = (node + 1) / 2  # from −1 … 1 to 0 … 1
        generating_function = (1 - sorted_probabilities * (1 - t)).prod(axis=1, keepdims=True)
        quotient_sums = (candidates / (1 - candidates * (1 - t))).cumsum(axis=1)
        f1 += weight * t**sizes * generating_function * quotient_sums
    return f1


def fit_label_thresholds(log_posterior: Floats) -> tuple[float, ...]:
    """Return the probability of each label from which its prediction raises its expected F1.

    The threshold is half of the greatest expected F1 of the label over many documents. It is
    averaged with the threshold of all labels together, by weights `POOLED_THRESHOLD_DOCUMENTS` and
    the expected number of documents with the label.

    ``log_posterior`` of held-out documents has shape (n_docs, n_labels). Their true labels are not
    used, because rare labels occur too rarely to count hits.

    Source: Z. Lipton, C. Elkan, B. Naryanaswamy, Optimal thresholding of classifiers to maximize F1
    measure (2014), theorem 1.
    """
    probabilities = np.exp(log_posterior)
    expected_documents = probabilities.sum(axis=0)
    label_logs = _compute_log_thresholds(probabilities)
    pooled_log = _compute_log_thresholds(probabilities.reshape(-1, 1))
    weighted_logs = expected_documents * label_logs + POOLED_THRESHOLD_DOCUMENTS * pooled_log
    log_thresholds = weighted_logs / (expected_documents + POOLED_THRESHOLD_DOCUMENTS)
    return tuple(np.exp(log_thresholds).tolist())


def _compute_log_thresholds(probabilities: Floats) -> Floats:
    """Return the log of half the greatest expected F1 of each label, shape (n_labels,)."""
    return np.log(np.maximum(_maximize_label_f1(probabilities) / 2, MIN_THRESHOLD))


def _maximize_label_f1(probabilities: Floats) -> Floats:
    """Return the greatest 2 Σ_{i≤n} p_i / (n + Σ p) of each label, shape (n_labels,).

    It is reached if the label is predicted for the n documents in which it is most probable.
    """
    expected_hits = -np.sort(-probabilities, axis=0).cumsum(axis=0)
    n_predicted = np.arange(1, len(probabilities) + 1)[:, np.newaxis]
    return (2 * expected_hits / (n_predicted + expected_hits[-1:])).max(axis=0)


def _get_probabilities(classes: Ints, log_posterior: Floats) -> Floats:
    """Return the probability of one class for each document, shape (n_docs,)."""
    return np.exp(log_posterior[np.arange(len(classes)), classes])
