"""From probabilities to answers; minimum risk by worked examples and a slow twin."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.cli.option_files import read_costs
from nbtext.errors import PathError, UsageError
from nbtext.prediction.posterior import normalize_log_joint
from nbtext.prediction.rule import (
    NO_PREDICTION,
    Costs,
    DecisionRule,
    _make_zero_one_costs,
    compute_cost_thresholds,
    compute_likelihood_ratio_threshold,
    compute_prediction_threshold,
    fit_label_thresholds,
    maximize_expected_f1,
    parse_costs,
    predict_minimum_error,
    predict_minimum_risk,
)

if TYPE_CHECKING:
    from pathlib import Path


score = st.floats(-1e6, 1e3)


rows = st.integers(1, 5).flatmap(
    lambda n: st.lists(
        st.lists(st.one_of(score, st.just(-math.inf)), min_size=n, max_size=n), max_size=4
    )
)


def table(found: list[list[float]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array(found, float).reshape(len(found), len(found[0]) if found else 3)


@given(rows)
@example([[-3, -2, -2], [-1, -1, -1]])
def test_minimum_error_predicts_the_first_most_probable_class_or_none(
    joint: list[list[float]],
) -> None:
    answers = predict_minimum_error(normalize_log_joint(table(joint))).tolist()
    for row, posterior, answer in zip(
        joint, normalize_log_joint(table(joint)).tolist(), answers, strict=True
    ):
        assert answer == (-1 if max(row) == -math.inf else posterior.index(max(posterior)))


Matrix = list[list[float]]


joint_scores = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.floats(-30, 0), min_size=n, max_size=n), min_size=1, max_size=5)
)


cost = st.floats(-5, 20)


def posterior_of(probabilities: Matrix) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([[float(np.log(p)) for p in row] for row in probabilities])


def matrix(of_answers: Matrix, of_abstaining: list[float] | None = None) -> Costs:
    return Costs(
        np.array(of_answers, float), np.array(of_abstaining or [np.inf] * len(of_answers), float)
    )


@given(joint_scores)
def test_minimum_error_equals_minimum_risk_under_zero_one_costs(joint: Matrix) -> None:
    posterior = normalize_log_joint(np.array(joint))
    answers, expected = predict_minimum_risk(posterior, _make_zero_one_costs(posterior.shape[1]))
    probability = np.exp(posterior)
    chosen = probability[np.arange(len(answers)), answers]
    assert np.allclose(expected, 1 - chosen, atol=1e-12)
    assert np.allclose(
        chosen, probability[np.arange(len(answers)), predict_minimum_error(posterior)], atol=1e-12
    )


@given(st.data(), joint_scores)
def test_minimum_risk_prediction_has_the_least_expected_cost(
    data: st.DataObject, joint: Matrix
) -> None:
    posterior = normalize_log_joint(np.array(joint))
    k = posterior.shape[1]
    table = data.draw(st.lists(st.lists(cost, min_size=k, max_size=k), min_size=k, max_size=k))
    none = data.draw(st.none() | st.lists(cost, min_size=k, max_size=k))
    answers, expected = predict_minimum_risk(posterior, matrix(table, none))
    for row, answer, least in zip(
        np.exp(posterior).tolist(), answers.tolist(), expected.tolist(), strict=True
    ):
        risks = {j: sum(row[i] * table[i][j] for i in range(k)) for j in range(k)}
        if none is not None:
            risks[NO_PREDICTION] = sum(row[i] * none[i] for i in range(k))
        assert risks[answer] == pytest.approx(min(risks.values()), abs=1e-9)
        assert least == pytest.approx(min(risks.values()), abs=1e-9)


@given(
    st.lists(st.floats(0.01, 50), min_size=4, max_size=4), st.floats(0.01, 0.99), st.floats(-8, 8)
)
def test_likelihood_ratio_threshold_equals_minimum_risk(
    numbers: list[float], p: float, log_ratio: float
) -> None:
    right_1, extra_1, right_2, extra_2 = numbers
    costs = matrix([[right_1, right_1 + extra_1], [right_2 + extra_2, right_2]])
    prior = np.array([p, 1 - p])
    threshold = compute_likelihood_ratio_threshold(costs, prior)
    if abs(log_ratio - np.log(threshold)) > 1e-6:
        joint = np.array([[log_ratio + np.log(p), np.log(1 - p)]])
        assert predict_minimum_risk(normalize_log_joint(joint), costs)[0].tolist() == [
            0 if log_ratio > np.log(threshold) else 1
        ]


def test_threshold_names_the_classes_and_includes_a_probability() -> None:
    prior = np.array([1 / 4, 3 / 4])
    found = compute_prediction_threshold(matrix([[0, 1], [10, 0]]), prior, ["ham", "spam"])
    assert found is not None
    assert tuple(found) == ("ham", "spam", 30, pytest.approx(10 / 11))
    for costs, priors in (
        (matrix([[0, 1], [10, 0]], [0.2, 0.2]), prior),
        (matrix([[0, -1], [10, 0]]), prior),
        (matrix([[0, 1], [10, 0]]), np.array([0.0, 1.0])),
    ):
        assert compute_prediction_threshold(costs, priors, ["ham", "spam"]) is None
    assert (
        compute_prediction_threshold(_make_zero_one_costs(3), np.full(3, 1 / 3), ["a", "b", "c"])
        is None
    )


def test_impossible_documents_get_no_prediction_under_any_rule() -> None:
    posterior = np.full((1, 2), np.nan)
    for rule in (
        DecisionRule(),
        DecisionRule(min_probability=0.5),
        DecisionRule(_make_zero_one_costs(2)),
    ):
        decision = rule.decide(posterior)
        assert decision.predictions.tolist() == [NO_PREDICTION]
        assert np.isnan(decision.probabilities).all()


def test_rule_abstains_below_its_probability() -> None:
    posterior = posterior_of([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    assert DecisionRule(min_probability=0.6).decide(posterior).predictions.tolist() == [
        0,
        1,
        NO_PREDICTION,
    ]
    decision = DecisionRule().decide(posterior)
    assert decision.predictions.tolist() == [0, 1, 0]
    assert decision.expected_costs.tolist() == pytest.approx([0.4, 0.2, 0.5])


def test_cost_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text("[ham]\nspam = 10\nabstain = 0.5\n[spam]\nham = 2\nspam = -1\n")
    costs = read_costs(str(path), ["ham", "spam"], parse_costs)
    assert costs.prediction_costs.tolist() == [[0, 10], [2, -1]]
    assert costs.abstention_costs.tolist() == [0.5, 1]


def test_without_an_abstention_cost_there_is_always_a_prediction() -> None:
    assert np.isinf(parse_costs({"a": {"b": 3}}, ["a", "b"]).abstention_costs).all()
    assert (
        parse_costs({}, ["a", "b"]).prediction_costs.tolist()
        == _make_zero_one_costs(2).prediction_costs.tolist()
    )


def test_column_of_a_class_named_abstain_is_that_class() -> None:
    tables = {"a": {"abstain": 3, "b": 2}, "abstain": {"a": 5}}
    costs = parse_costs(tables, ["a", "abstain", "b"])
    assert costs.prediction_costs.tolist() == [[0, 3, 2], [5, 0, 1], [1, 1, 0]]
    assert np.isinf(costs.abstention_costs).all()


@pytest.mark.parametrize(
    "text",
    [
        "[nobody]\nham = 1",
        "[ham]\nnobody = 1",
        "[ham]\nspam = 'dear'",
        "[ham]\nspam = true",
        "[ham]\nspam = inf",
        "[ham]\nspam = nan",
        "[ham]\nspam = " + "9" * 400,
        "[ham]\nabstain = -" + "9" * 5000,
        "[ham]\nspam = 1e400",
        "ham = 1",
    ],
)
def test_invalid_costs_are_refused_by_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"costs\.toml"):
        read_costs(str(path), ["ham", "spam"], parse_costs)


@pytest.mark.parametrize("content", [b"[ham", b"\xff\xfe", b"a = " + b"[" * 100_000])
def test_invalid_toml_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "costs.toml"
    path.write_bytes(content)
    with pytest.raises(PathError, match=r"costs\.toml: not valid TOML"):
        read_costs(str(path), ["ham", "spam"], parse_costs)
    with pytest.raises(PathError, match="cannot read"):
        read_costs("missing.toml", ["ham", "spam"], parse_costs)


def test_label_is_predicted_if_that_costs_less() -> None:
    tables, labels = {"a": {"missed": 9}, "b": {"false": 3, "missed": 2}}, ["a", "b", "c"]
    p = np.random.default_rng(1).random((50, 3))
    missed, false = np.array([9, 2, 1]), np.array([1, 3, 1])
    rule = DecisionRule(labels_from=compute_cost_thresholds(tables, labels))
    assert np.array_equal(rule.predict_mask(np.log(p)), p * missed > (1 - p) * false)


@pytest.mark.parametrize(
    "tables",
    [
        {"nobody": {"missed": 1}},
        {"a": 3},
        {"a": {"b": 1}},
        *({"a": {"false": cost}} for cost in (0, -1, True, "1", float("nan"), 10**400)),
    ],
)
def test_invalid_label_costs_are_refused(tables: dict[str, object]) -> None:
    message = (
        "the costs of 'a' must be `missed`, `false` or both"
        if "a" in tables
        else "a table for 'nobody', which is not a label; .* are a, b"
    )
    with pytest.raises(UsageError, match=message):
        compute_cost_thresholds(tables, ["a", "b"])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_expected_f1_set_matches_an_exhaustive_search(p: list[float]) -> None:
    sets = np.array(list(itertools.product((0, 1), repeat=len(p))))
    chances = np.where(sets, p, 1 - np.array(p)).prod(axis=1)
    both, sizes = sets @ sets.T, sets.sum(axis=1)
    expected = (
        np.where(
            sizes[:, np.newaxis] + sizes > 0,
            2 * both / np.maximum(sizes[:, np.newaxis] + sizes, 1),
            1.0,
        )
        @ chances
    )
    [found] = maximize_expected_f1(np.array([p]))
    assert expected[(sets == found).all(axis=1)] == pytest.approx(expected.max(), abs=1e-11)


@pytest.mark.parametrize(("n", "a"), [(60, 0.03), (60, 1.0), (150, 0.1), (300, 0.01)])
def test_expected_f1_of_many_labels_matches_the_distribution_of_true_ones(n: int, a: float) -> None:
    """By their distributions among those given and among the others, label by label."""
    falling = -np.sort(-np.random.default_rng(n).beta(a, 1, n))
    given, others = [np.ones(1)], [np.ones(1)]
    for numbers, order in ((given, falling), (others, falling[::-1])):
        for p in order.tolist():
            numbers.append(np.convolve(numbers[-1], [1 - p, p]))
    expected = [math.prod((1 - falling).tolist())]
    for m in range(1, n + 1):
        hits, missed = np.ogrid[: m + 1, : n - m + 1]
        expected.append(float(given[m] @ (2 * hits / (m + hits + missed)) @ others[n - m]))
    assert np.count_nonzero(maximize_expected_f1(falling[np.newaxis])) == np.argmax(expected)


def test_label_with_probability_one_half_is_predicted() -> None:
    assert maximize_expected_f1(np.array([[0.5], [0.49]])).tolist() == [[True], [False]]


def test_labels_from_sets_the_minimum_label_probability() -> None:
    p = np.log([[0.7, 0.2, 0.5], [0.1, 0.3, 0.05]])
    assert DecisionRule(labels_from=0.5).predict_mask(p).tolist() == [
        [True, False, True],
        [False] * 3,
    ]
    assert DecisionRule(labels_from=(0.8, 0.2, 0.5)).predict_mask(p).tolist() == [
        [False, True, True],
        [False, True, False],
    ]
    assert DecisionRule(labels_from=0.1, min_probability=(0.0, 0.25, 0.0)).predict_mask(
        p
    ).tolist() == [
        [True, False, True],
        [True, True, False],
    ]


def test_label_thresholds_are_half_the_best_expected_f1_shrunk_for_rare_labels() -> None:
    p = np.random.default_rng(3).beta(0.3, 1, (40, 3)) * (1, 0.01, 0)

    def best(column: np.ndarray) -> float:
        return (
            max(
                2 * column[column >= each].sum() / ((column >= each).sum() + column.sum())
                for each in column
            )
            / 2
        )

    with np.errstate(divide="ignore"):
        frequent, rare, never = fit_label_thresholds(np.log(p))
    of_all = best(p.ravel())
    for threshold, column in ((frequent, p[:, 0]), (rare, p[:, 1])):
        weight = column.sum() / (column.sum() + 0.3)
        assert threshold == pytest.approx(best(column) ** weight * of_all ** (1 - weight))
    assert never == pytest.approx(of_all)


def test_certain_labels_have_finite_thresholds() -> None:
    assert fit_label_thresholds(np.log([[1.0], [1.0], [1e-9]])) == pytest.approx((0.5,))
    assert fit_label_thresholds(np.full((3, 2), -np.inf)) < (1e-200, 1e-200)
