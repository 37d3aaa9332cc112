"""Posteriors of both kinds: by the words of their formulas, label by label, and by scikit-learn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.special import expit, log_softmax
from sklearn.metrics import brier_score_loss, log_loss

from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import (
    MAX_CLASSES_SUMMED_AT_ONCE,
    MIN_LABEL_LOSS_NATS,
    ClassPosterior,
    LabelPosterior,
    compute_prior_brier_score,
    compute_prior_log_loss,
    normalize_log_joint,
)
from nbtext.prediction.rule import DecisionRule, compute_cost_thresholds, parse_costs
from tests import oracle
from tests.profiles import examples
from tests.test_prediction_rule import rows, score, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import Floats

KINDS = [ClassPosterior, LabelPosterior]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
NAMES = ["a", "b", "c", "d", "e", "f"]


def single(numbers: list[int], n_classes: int) -> DocumentLabels:
    """Classes of documents that have one each."""
    return DocumentLabels(np.array(numbers, np.int32), single_label_table(n_classes))


class Case(NamedTuple):
    """Posteriors of documents with their true labels, of which the last may be unknown to the posterior."""

    posterior: Posterior
    sets: list[tuple[int, ...]]

    @property
    def truth(self) -> DocumentLabels:
        n_labels = self.posterior.log_p.shape[1] + 1
        if self.posterior.is_exclusive:
            return single([label for (label,) in self.sets], n_labels)
        return DocumentLabels.from_sets(self.sets, n_labels)

    def documents(self) -> list[tuple[list[float], tuple[int, ...]]]:
        """Log probabilities and true labels of each document."""
        return list(zip(self.posterior.log_p.tolist(), self.sets, strict=True))


def draw_case(
    kind: type[Posterior],
    seed: int,
    *,
    unknown: bool = False,
    ties: bool = False,
    least_labels: int = 2,
) -> Case:
    """Draw up to 12 documents of up to 5 labels; with ``ties`` some labels are as probable as others."""
    draw = np.random.default_rng(seed)
    n_documents, n_labels = int(draw.integers(1, 13)), int(draw.integers(least_labels, 6))
    scores = draw.normal(0, draw.choice([0.5, 3, 12]), (n_documents, n_labels))
    scores = np.clip(scores, -30, 30)  # nearer to 1 than that p of a label has no digits left
    if ties:
        scores = np.clip(scores, -2, 2).round()
    n_true = n_labels + int(unknown)
    if kind is ClassPosterior:
        return Case(
            ClassPosterior(normalize_log_joint(scores)),
            [(label,) for label in draw.integers(0, n_true, n_documents).tolist()],
        )
    mask = draw.random((n_documents, n_true)) < 0.4
    sets = [tuple(np.flatnonzero(row).tolist()) for row in mask]
    return Case(LabelPosterior(-np.logaddexp(0, -scores)), sets)


SEEDS = st.integers(0, 2**32)


def complement(kind: type[Posterior], logs: Sequence[float], label: int) -> float:
    """log(1 − p): of classes that exclude each other the sum of the others."""
    if kind is ClassPosterior:
        others = [value for place, value in enumerate(logs) if place != label]
        highest = max(others)
        return highest + math.log(math.fsum(math.exp(value - highest) for value in others))
    return math.log(-math.expm1(logs[label]))


@given(rows)
@example([[-1e6, -1e6 + math.log(3)], [-1e6, 0.0]])
def test_normalised_posteriors_match_the_slow_twin_and_are_nan_if_impossible(
    joint: list[list[float]],
) -> None:
    found = normalize_log_joint(table(joint)).tolist()
    for given_row, row in zip(joint, found, strict=True):
        if max(given_row) == -math.inf:
            assert all(map(math.isnan, row))
        else:
            wanted = oracle.log_posterior(dict(enumerate(given_row)))  # type: ignore[arg-type]
            assert row == pytest.approx(list(wanted.values()), rel=1e-12, abs=1e-12)
            assert math.fsum(map(math.exp, row)) == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    "n_classes",
    [
        MAX_CLASSES_SUMMED_AT_ONCE - 1,
        MAX_CLASSES_SUMMED_AT_ONCE,
        3 * MAX_CLASSES_SUMMED_AT_ONCE + 5,
    ],
)
def test_posteriors_of_many_classes_match_scipy_and_can_be_computed_in_place(
    n_classes: int,
) -> None:
    joint = np.random.default_rng(0).normal(-100, 5, (2, n_classes))
    wanted, found = log_softmax(joint, axis=1), normalize_log_joint(joint)
    assert found == pytest.approx(wanted, rel=1e-12)
    assert normalize_log_joint(joint, joint) is joint
    assert np.array_equal(joint, found)


@given(rows)
def test_class_posteriors_are_the_sigmoids_of_their_log_odds(joint: list[list[float]]) -> None:
    posterior = normalize_log_joint(table([row for row in joint if max(row) > -math.inf]))
    assert expit(ClassPosterior(posterior).compute_log_odds()) == pytest.approx(
        np.exp(posterior), rel=1e-9, abs=1e-300
    )


@given(score, score)
def test_log_odds_of_two_classes_are_their_score_difference(first: float, second: float) -> None:
    found = (
        ClassPosterior(normalize_log_joint(np.array([[first, second]])))
        .compute_log_odds()[0]
        .tolist()
    )
    assert found == pytest.approx([first - second, second - first], rel=1e-9, abs=1e-9)


def test_log_odds_of_a_single_class_are_infinite_and_without_a_class_undefined() -> None:
    assert ClassPosterior(np.array([[0.0]])).compute_log_odds().tolist() == [[math.inf]]
    assert np.isnan(ClassPosterior(np.array([[math.nan, math.nan]])).compute_log_odds()).all()


def test_label_log_odds_are_independent() -> None:
    p = np.array([[0.9, 0.8], [0.1, 0.5]])
    assert LabelPosterior(np.log(p)).compute_log_odds() == pytest.approx(np.log(p / (1 - p)))


@pytest.mark.filterwarnings("error")
def test_log_odds_of_certain_and_impossible_labels_are_infinite() -> None:
    assert LabelPosterior(np.array([[0.0, -np.inf]])).compute_log_odds().tolist() == [
        [math.inf, -math.inf]
    ]
    assert ClassPosterior(np.array([[0.0, -np.inf]])).compute_log_odds()[0, 1] == -math.inf


@EVERY_KIND
@given(seed=SEEDS)
@examples(30)
def test_log_odds_are_log_p_minus_log_of_the_complement(kind: type[Posterior], seed: int) -> None:
    case = draw_case(kind, seed)
    posterior = case.posterior
    wanted = np.array(
        [
            [complement(kind, logs, label) for label in range(len(logs))]
            for logs, _ in case.documents()
        ]
    )
    assert posterior.compute_log_complement() == pytest.approx(wanted, rel=1e-9, abs=1e-9)
    assert posterior.compute_log_odds() == pytest.approx(
        posterior.log_p - wanted, rel=1e-9, abs=1e-9
    )
    assert expit(posterior.compute_log_odds()) == pytest.approx(
        np.exp(posterior.log_p), rel=1e-9, abs=1e-300
    )


@EVERY_KIND
@pytest.mark.parametrize("unknown", [False, True])
@given(seed=SEEDS)
@examples(30)
def test_log_losses_are_minus_log_p_of_the_true_labels(
    kind: type[Posterior], *, unknown: bool, seed: int
) -> None:
    case = draw_case(kind, seed, unknown=unknown)
    wanted = []
    for logs, labels in case.documents():
        loss = math.fsum(-logs[label] for label in labels if label < len(logs))
        if kind is LabelPosterior:
            others = [label for label in range(len(logs)) if label not in labels]
            loss -= math.fsum(complement(kind, logs, label) for label in others)
        wanted.append(math.inf if len(logs) in labels else loss)
    assert case.posterior.compute_log_losses(case.truth).tolist() == pytest.approx(
        wanted, rel=1e-9, abs=1e-12
    )


@EVERY_KIND
@pytest.mark.parametrize("unknown", [False, True])
@given(seed=SEEDS)
@examples(30)
def test_brier_scores_sum_over_all_labels_including_unknown_ones(
    kind: type[Posterior], *, unknown: bool, seed: int
) -> None:
    case = draw_case(kind, seed, unknown=unknown)
    wanted = []
    for logs, labels in case.documents():
        p = [*map(math.exp, logs), 0.0]  # of the unknown label none
        wanted.append(math.fsum((each - (label in labels)) ** 2 for label, each in enumerate(p)))
    found = case.posterior.compute_brier_scores(case.truth).tolist()
    assert found == pytest.approx(wanted, abs=1e-12)
    assert min(found) >= 0


@EVERY_KIND
@given(seed=SEEDS)
@examples(30)
def test_mean_losses_and_brier_scores_match_scikit_learn(kind: type[Posterior], seed: int) -> None:
    posterior, _ = case = draw_case(kind, seed)
    assume(
        min(posterior.log_p.min(), posterior.compute_log_complement().min()) > -15
    )  # scikit-learn knows no p below 2e-16
    p = np.exp(posterior.log_p)
    n_labels = p.shape[1]
    mean_loss = posterior.compute_log_losses(case.truth).mean()
    mean_brier = posterior.compute_brier_scores(case.truth).mean()
    if kind is ClassPosterior:
        numbers = case.truth.indices
        assert mean_loss == pytest.approx(log_loss(numbers, p, labels=range(n_labels)), rel=1e-6)
        assert mean_brier == pytest.approx(
            brier_score_loss(numbers, p, labels=range(n_labels), scale_by_half=False)
        )
    else:
        mask = case.truth.to_mask(n_labels)
        columns = list(zip(mask.T, p.T, strict=True))
        losses = [log_loss(truth, column, labels=[False, True]) for truth, column in columns]
        assert mean_loss == pytest.approx(sum(losses), rel=1e-6)
        of_labels = [
            brier_score_loss(truth, column, labels=[False, True]) for truth, column in columns
        ]
        assert mean_brier == pytest.approx(sum(of_labels))


def first_most_probable(logs: Sequence[float]) -> list[int]:
    """Labels by falling probability, of equals the first."""
    return sorted(range(len(logs)), key=lambda label: (-logs[label], label))


@EVERY_KIND
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("unknown", [False, True])
@given(seed=SEEDS)
@examples(30)
def test_ranks_are_positions_of_the_true_class_or_whether_the_first_label_is_true(
    kind: type[Posterior], *, ties: bool, unknown: bool, seed: int
) -> None:
    case = draw_case(kind, seed, unknown=unknown, ties=ties, least_labels=1)
    for (logs, labels), rank in zip(
        case.documents(), case.posterior.rank_true_labels(case.truth).tolist(), strict=True
    ):
        order = first_most_probable(logs)
        if kind is LabelPosterior:
            assert rank == (0 if order[0] in labels else 1)
        else:
            assert rank == [*order, len(logs)].index(labels[0])


@EVERY_KIND
@given(seed=SEEDS)
@examples(30)
def test_alternatives_are_the_most_probable_other_class_or_one_changed_label(
    kind: type[Posterior], seed: int
) -> None:
    case = draw_case(kind, seed)
    found = case.posterior.find_alternatives(case.truth)
    columns = (
        found.labels.table.to_tuples(found.labels.indices),
        found.log_probability.tolist(),
        found.log_odds.tolist(),
    )
    for (logs, labels), other, log_p, odds in zip(case.documents(), *columns, strict=True):
        if kind is ClassPosterior:
            [suggested] = other
            assert suggested == next(
                label for label in first_most_probable(logs) if label not in labels
            )
            assert (log_p, odds) == pytest.approx(
                (logs[suggested], logs[suggested] - logs[labels[0]])
            )
            continue
        rest = [complement(kind, logs, label) for label in range(len(logs))]
        own = [
            (rest[label], logs[label]) if label in labels else (logs[label], rest[label])
            for label in range(len(logs))
        ]
        [changed] = set(other) ^ set(labels)
        assert (log_p, odds) == pytest.approx(
            (own[changed][0], own[changed][0] - own[changed][1]), rel=1e-9, abs=1e-9
        )
        assert odds == pytest.approx(
            max(changing - staying for changing, staying in own), rel=1e-9, abs=1e-9
        )


@pytest.mark.filterwarnings("error")
def test_alternatives_match_hand_computation() -> None:
    """A document with b and c lacks a, of probability 0.9; one with a alone may lack b or c, and c is more likely."""
    logs = np.log([[0.9, 0.2, 0.4]] * 2)
    found = LabelPosterior(logs).find_alternatives(DocumentLabels.from_sets([(1, 2), (0,)], 3))
    assert found.labels.to_names(NAMES) == [("a", "b", "c"), ("a", "c")]
    assert np.exp(found.log_probability) == pytest.approx([0.9, 0.4])
    assert np.exp(found.log_odds) == pytest.approx([9, 0.4 / 0.6])
    one = ClassPosterior(np.log([[0.7, 0.1, 0.2]] * 2)).find_alternatives(single([0, 1], 3))
    assert one.labels.to_names(NAMES) == [("c",), ("a",)]
    assert np.exp(one.log_odds) == pytest.approx([2 / 7, 7])
    impossible = ClassPosterior(np.full((1, 2), np.nan)).find_alternatives(single([1], 2))
    assert np.isnan(impossible.log_odds).all()
    unlearnt = ClassPosterior(np.array([[0.0, -np.inf]])).find_alternatives(single([1], 2))
    assert unlearnt.log_odds.tolist() == [np.inf]


@EVERY_KIND
@given(seed=SEEDS, least=st.floats(0, 1))
@examples(30)
def test_predict_returns_labels_above_the_minimum_probability(
    kind: type[Posterior], seed: int, least: float
) -> None:
    case = draw_case(kind, seed)
    found = case.posterior.predict(DecisionRule(min_probability=least, labels_from=0.3)).to_names(
        NAMES
    )
    for (logs, _), labels in zip(case.documents(), found, strict=True):
        p = np.exp(logs).tolist()
        if kind is ClassPosterior:
            best = first_most_probable(logs)[0]
            assert labels == ((NAMES[best],) if p[best] >= least else ())
        else:
            assert labels == tuple(
                name for name, each in zip(NAMES, p, strict=False) if each >= max(least, 0.3)
            )


def test_predict_applies_costs_and_precision_thresholds() -> None:
    p = np.array([[0.8, 0.2], [0.95, 0.05]])
    dear = DecisionRule(parse_costs({"a": {"b": 1}, "b": {"a": 9}}, ["a", "b"]))
    assert ClassPosterior(np.log(p)).predict(dear).indices.tolist() == [1, 0]
    of_labels = DecisionRule(labels_from=compute_cost_thresholds({"b": {"missed": 9}}, ["a", "b"]))
    assert LabelPosterior(np.log(p)).predict(of_labels).to_names(NAMES) == [("a", "b"), ("a",)]
    precise = DecisionRule(precise_from=(0.9, 0.0), labels_from=0.2)
    assert ClassPosterior(np.log(p)).predict(precise).to_names(NAMES) == [(), ("a",)]
    assert ClassPosterior(np.log(p)).predict(precise).indices.tolist() == [-1, 0]
    assert LabelPosterior(np.log(p)).predict(precise).to_names(NAMES) == [("b",), ("a",)]


def test_impossible_document_has_no_predicted_class() -> None:
    assert ClassPosterior(np.full((1, 2), np.nan)).predict(DecisionRule()).to_names(NAMES) == [()]


@EVERY_KIND
@pytest.mark.parametrize("unknown", [False, True])
@given(seed=SEEDS)
@examples(30)
def test_score_prior_equals_the_scores_of_a_constant_posterior(
    kind: type[Posterior], *, unknown: bool, seed: int
) -> None:
    case = draw_case(kind, seed, unknown=unknown)
    prior = np.exp(case.posterior.log_p[0])
    constant = kind(np.tile(np.log(prior), (len(case.sets), 1)))
    wanted = (
        constant.compute_log_losses(case.truth).mean(),
        constant.compute_brier_scores(case.truth).mean(),
    )
    assert kind.score_prior(prior, case.truth) == pytest.approx(wanted)


def test_prior_scores_match_hand_computation() -> None:
    prior, support = np.array([3 / 4, 1 / 4]), np.array([3.0, 1.0])
    assert compute_prior_log_loss(prior, support) == pytest.approx(
        -(3 * math.log(3 / 4) + math.log(1 / 4)) / 4
    )
    assert compute_prior_brier_score(prior, support) == pytest.approx((3 * 2 / 16 + 2 * 9 / 16) / 4)
    assert compute_prior_log_loss(prior, np.array([3.0, 0.0, 1.0])) == math.inf
    assert compute_prior_brier_score(prior, np.array([3.0, 0.0, 1.0])) == pytest.approx(
        (3 * 2 / 16 + 10 / 16 + 1) / 4
    )
    assert math.copysign(1, compute_prior_log_loss(np.array([1.0, 0.0]), np.array([2.0, 0.0]))) == 1


@EVERY_KIND
@given(seed=SEEDS)
@examples(20)
def test_scores_of_selected_documents_do_not_depend_on_the_others(
    kind: type[Posterior], seed: int
) -> None:
    posterior, sets = case = draw_case(kind, seed)
    chosen = np.random.default_rng(seed).permutation(len(sets))[: len(sets) // 2 + 1]
    some: Any = posterior[chosen]
    truth = case.truth[chosen]
    assert type(some) is kind
    assert len(some) == chosen.size
    assert np.array_equal(
        some.compute_log_losses(truth), posterior.compute_log_losses(case.truth)[chosen]
    )
    assert np.array_equal(
        some.compute_brier_scores(truth), posterior.compute_brier_scores(case.truth)[chosen]
    )
    assert np.array_equal(
        some.rank_true_labels(truth), posterior.rank_true_labels(case.truth)[chosen]
    )
    assert np.array_equal(some.compute_log_odds(), posterior.compute_log_odds()[chosen])
    assert np.array_equal(
        some.find_alternatives(truth).log_odds,
        posterior.find_alternatives(case.truth).log_odds[chosen],
    )


@given(st.lists(st.floats(-30, 30), min_size=1, max_size=8), SEEDS)
def test_single_label_equals_one_of_two_classes(odds: list[float], seed: int) -> None:
    scores = np.array(odds)
    is_true = np.random.default_rng(seed).random(scores.size) < 0.5
    two = ClassPosterior(normalize_log_joint(np.stack((scores, np.zeros(scores.size)), axis=1)))
    one = LabelPosterior(two.log_p[:, :1])
    of_two = single(np.where(is_true, 0, 1).tolist(), 2)
    of_one = DocumentLabels.from_mask(is_true[:, np.newaxis])
    # 1 − p has few digits where p is nearly 1.
    assert one.compute_log_losses(of_one) == pytest.approx(
        two.compute_log_losses(of_two), rel=1e-2, abs=1e-12
    )
    assert 2 * one.compute_brier_scores(of_one) == pytest.approx(
        two.compute_brier_scores(of_two), abs=1e-12
    )
    certain = np.abs(scores) > 20
    assert one.compute_log_odds()[~certain, 0] == pytest.approx(
        two.compute_log_odds()[~certain, 0], rel=1e-6, abs=1e-9
    )


@pytest.mark.filterwarnings("error")
def test_losses_and_brier_scores_match_hand_computation() -> None:
    one = ClassPosterior(np.log([[0.5, 0.3, 0.2]] * 2))
    truth = single([1, 3], 4)
    assert one.compute_log_losses(truth).tolist() == pytest.approx([-math.log(0.3), math.inf])
    assert one.compute_brier_scores(truth).tolist() == pytest.approx(
        [0.25 + 0.49 + 0.04, 0.25 + 0.09 + 0.04 + 1]
    )
    several = LabelPosterior(np.log([[0.9, 0.5, 0.2]] * 3))
    sets = DocumentLabels.from_sets([(0, 2), (), (0, 3)], 4)
    assert several.compute_log_losses(sets).tolist() == pytest.approx(
        [-math.log(0.9 * 0.5 * 0.2), -math.log(0.1 * 0.5 * 0.8), math.inf]
    )
    assert several.compute_brier_scores(sets).tolist() == pytest.approx(
        [0.01 + 0.25 + 0.64, 0.81 + 0.25 + 0.04, 0.01 + 0.25 + 0.04 + 1]
    )


@pytest.mark.filterwarnings("error")
def test_absent_certain_label_has_finite_and_present_impossible_label_infinite_loss() -> None:
    sure = LabelPosterior(np.array([[0.0, -np.inf]] * 4))
    losses = sure.compute_log_losses(DocumentLabels.from_sets([(0,), (), (0, 1), (1,)], 2))
    assert losses.tolist() == pytest.approx([0, -math.log(MIN_LABEL_LOSS_NATS), math.inf, math.inf])
    scores = ClassPosterior(np.array([[0.0, -np.inf]])).compute_brier_scores(single([0], 2))
    assert not np.signbit(scores).any()


def test_labels_are_converted_for_json_and_messages() -> None:
    assert [ClassPosterior.to_json_labels(labels) for labels in (("a",), ())] == ["a", None]
    assert [LabelPosterior.to_json_labels(labels) for labels in (("a",), ("a", "b"), ())] == [
        ("a",),
        ("a", "b"),
        (),
    ]
    assert [(kind.noun, kind.is_exclusive) for kind in KINDS] == [("class", True), ("label", False)]


def of_no_documents(kind: type[Posterior]) -> tuple[Posterior, DocumentLabels]:
    none: Floats = np.empty((0, 3))
    return kind(none), DocumentLabels(np.empty(0, np.int64), single_label_table(3))


@EVERY_KIND
def test_empty_posterior_has_empty_scores(kind: type[Posterior]) -> None:
    posterior, truth = of_no_documents(kind)
    assert posterior.compute_log_losses(truth).shape == (0,)
    assert posterior.compute_brier_scores(truth).shape == (0,)
    assert posterior.rank_true_labels(truth).shape == (0,)
    assert posterior.find_alternatives(truth).log_odds.shape == (0,)
    assert len(posterior.predict(DecisionRule())) == 0
    assert posterior.compute_log_odds().shape == (0, 3)
