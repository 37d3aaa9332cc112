"""Thresholds for a precision against scipy's binomial distribution, and the precision of documents drawn alike."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from nbtext.guarantees.precision import (
    MAX_ERROR_PROBABILITY,
    _compute_binomial_tail,
    _count_needed_documents,
    compute_risk_curve,
    fit_precision_thresholds,
    list_min_probabilities,
)
from nbtext.metrics.outcomes import score_posterior
from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior, normalize_log_joint
from nbtext.prediction.rule import IMPRECISE, NO_PREDICTION, DecisionRule, _make_zero_one_costs
from tests.profiles import examples

CLASSES = ("a", "b", "c")


def draw_posteriors(
    n: int, seed: int = 0, spread: float = 3, swapped: float = 0
) -> HeldOutPosteriors:
    """Posteriors of documents whose classes are drawn from them, but for those of class c that are called b."""
    draw = np.random.default_rng(seed)
    found = normalize_log_joint(draw.normal(0, spread, (n, 3)))
    truth = np.minimum((np.exp(found).cumsum(axis=1) < draw.uniform(size=(n, 1))).sum(axis=1), 2)
    truth = np.where((truth == 2) & (draw.uniform(size=n) < swapped), 1, truth)
    return HeldOutPosteriors(
        ClassPosterior(found), DocumentLabels(truth, single_label_table(3)), np.ones(n)
    )


@examples(60)
@given(st.integers(0, 300), st.integers(1, 300), st.floats(0.001, 0.999))
def test_binomial_tail_matches_scipy_and_clopper_pearson(
    wrong: int, documents: int, share: float
) -> None:
    tail = _compute_binomial_tail(wrong, documents, share)
    assert tail == pytest.approx(binom.cdf(wrong, documents, share), rel=1e-8, abs=1e-250)
    if wrong < documents and abs(tail - MAX_ERROR_PROBABILITY) > 1e-9:
        bound = beta.ppf(
            1 - MAX_ERROR_PROBABILITY, wrong + 1, documents - wrong
        )  # the upper bound of the share of wrong answers
        assert (tail < MAX_ERROR_PROBABILITY) == (bound < share)


@pytest.mark.parametrize(("precision", "n"), [(0.95, 59), (0.99, 299), (0.999, 2995), (0.5, 5)])
def test_needed_documents_without_errors_match_the_textbook_formula(
    precision: float, n: int
) -> None:
    assert (
        _count_needed_documents(0, 1, precision, MAX_ERROR_PROBABILITY)
        == n
        == int(np.ceil(np.log(MAX_ERROR_PROBABILITY) / np.log(precision)))
    )


@examples(30)
@given(st.integers(0, 20), st.integers(1, 400), st.sampled_from([0.8, 0.9, 0.95]))
def test_needed_documents_are_enough_for_the_precision(
    wrong: int, documents: int, precision: float
) -> None:
    needed = _count_needed_documents(wrong, documents, precision, MAX_ERROR_PROBABILITY)
    if needed is None:
        assert wrong / documents > 1 - precision - 0.001
    else:
        assert (
            _compute_binomial_tail(wrong / documents * needed, needed, 1 - precision)
            <= MAX_ERROR_PROBABILITY
        )


@pytest.mark.parametrize(
    ("by_class", "swapped"), [(False, 0), (True, 0), (False, 0.5), (True, 0.5)]
)
def test_predictions_on_new_documents_keep_the_precision(*, by_class: bool, swapped: float) -> None:
    """The share below the precision is at most `MAX_ERROR_PROBABILITY`; that 7 of 25 are below then has a probability of 0.0002."""
    below, answered = 0, []
    for seed in range(25):
        found = fit_precision_thresholds(
            draw_posteriors(600, seed, 3, swapped), CLASSES, DecisionRule(), 0.9, by_class=by_class
        )
        fresh = draw_posteriors(2000, seed + 1000, 3, swapped)
        decision = DecisionRule(precise_from=list_min_probabilities(found)).decide(
            fresh.log_posterior
        )
        given = decision.predictions >= 0
        answered.append(given.mean())
        groups = [decision.predictions == number for number in range(3)] if by_class else [given]
        below += any(
            np.mean(fresh.truth.indices[group] == decision.predictions[group]) < 0.9 - 0.005
            for group in groups
            if group.any()
        )
    assert below < 7
    assert np.mean(answered) > 0.2


def test_class_with_more_errors_has_a_higher_threshold() -> None:
    found = fit_precision_thresholds(draw_posteriors(4000, 1, 3, 0.7), CLASSES, DecisionRule(), 0.9)
    least = list_min_probabilities(found)
    assert max(least[:2]) < least[2]


def test_thresholds_are_only_set_for_classes_with_a_requested_precision() -> None:
    posteriors = draw_posteriors(3000)
    found = fit_precision_thresholds(posteriors, CLASSES, DecisionRule(), (0.9, None, 0.99999))
    assert [each.precision for each in found] == [0.9, None, 0.99999]
    first, free, never = found
    assert first.probability is not None
    assert 0 < first.probability < 1
    kept = first.answered, first.answered - first.right
    assert _compute_binomial_tail(kept[1], kept[0], 0.1) <= MAX_ERROR_PROBABILITY / 2
    assert (free.probability, never.probability) == (0.0, None)
    assert never.more is None or never.more > 0
    assert list_min_probabilities(found)[1:] == (0.0, inf)
    alone = fit_precision_thresholds(posteriors, CLASSES, DecisionRule(), (0.9, None, None))[0]
    assert alone.answered >= first.answered


def test_abstention_below_precision_differs_from_below_probability() -> None:
    rule = DecisionRule(min_probability=(0.6, 0.0, 0.0), precise_from=(0.7, 0.8, inf))
    posterior = np.log(
        [
            [0.5, 0.3, 0.2],
            [0.65, 0.2, 0.15],
            [0.75, 0.15, 0.1],
            [0.1, 0.85, 0.05],
            [1e-9, 1e-9, 1 - 2e-9],
        ]
    )
    assert rule.decide(posterior).predictions.tolist() == [
        NO_PREDICTION,
        IMPRECISE,
        0,
        1,
        IMPRECISE,
    ]
    costly = DecisionRule(_make_zero_one_costs(3), precise_from=(0.7, 0.8, inf))
    assert costly.decide(posterior).predictions.tolist() == [IMPRECISE, IMPRECISE, 0, 1, IMPRECISE]


def test_few_documents_give_no_threshold_and_the_number_needed() -> None:
    found = fit_precision_thresholds(draw_posteriors(10, 3, 40), CLASSES, DecisionRule(), 0.95)
    assert {each.probability for each in found} == {None}
    assert {each.more for each in found} == {49}  # ten right answers, and 59 are enough
    none = fit_precision_thresholds(draw_posteriors(0), CLASSES, DecisionRule(), 0.95)
    assert {each.more for each in none} == {59}


def test_equal_weights_do_not_change_thresholds() -> None:
    posteriors = draw_posteriors(800)
    heavy = posteriors._replace(weights=np.full(800, 2.5))
    assert fit_precision_thresholds(
        heavy, CLASSES, DecisionRule(), 0.9
    ) == fit_precision_thresholds(posteriors, CLASSES, DecisionRule(), 0.9)


def test_risk_curve_ends_at_the_accuracy_and_starts_with_the_most_probable() -> None:
    posteriors = draw_posteriors(1000)
    judged = score_posterior(posteriors.posterior, posteriors.truth)
    curve = compute_risk_curve(judged)
    assert [point.answered for point in curve] == pytest.approx(np.arange(1, 21) / 20)
    assert curve[-1].precision == np.mean(judged.rank == 0)
    order = np.argsort(-judged.confidence)[:50]
    assert curve[0].precision == np.mean(judged.rank[order] == 0)
    assert curve[0].probability == judged.confidence[order].min()
    assert len(compute_risk_curve(judged.take(np.arange(3)))) == 3


def test_labels_on_new_documents_keep_the_precision() -> None:
    """All labels of a document are there together or not at all, in which a binomial for each label would be too bold."""
    below = answered = 0

    def of_labels(n: int, seed: int) -> HeldOutPosteriors:
        draw = np.random.default_rng(seed)
        p = np.repeat(1 / (1 + np.exp(-draw.normal(1, 2, (n, 1)))), 10, axis=1)
        return HeldOutPosteriors(
            LabelPosterior(np.log(p)),
            DocumentLabels.from_mask(draw.uniform(size=(n, 1)) < p),
            np.ones(n),
        )

    for seed in range(25):
        left_out, fresh = of_labels(400, seed), of_labels(4000, seed + 100)
        rule = DecisionRule(
            precise_from=list_min_probabilities(
                fit_precision_thresholds(left_out, [*"abcdefghij"], DecisionRule(), 0.9)
            )
        )
        given = rule.predict_mask(fresh.log_posterior)
        answered += int(given.any())
        below += int((given & fresh.truth.to_mask(10)).sum() < 0.9 * given.sum())
    assert below <= 4
    assert answered >= 15
