"""Bootstrap intervals, against a slow twin that really draws documents, and against the truth of a simulated world."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.metrics import intervals as module
from nbtext.metrics.evaluation import Evaluation, count_cells
from nbtext.metrics.intervals import (
    CELL_DRAW_COST,
    MIN_REPLICATES,
    REPLICATES,
    Bootstrap,
    bootstrap_rates,
    bootstrap_scores,
    percentile_interval,
)
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior
from nbtext.prediction.rule import Costs
from tests.profiles import examples, rounds, some

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Figures = dict[str, NDArray[np.float64]]

CLASSES = ["a", "b", "c", "d"]
OF_BOTH_KINDS = (
    "macro_precision",
    "macro_recall",
    "macro_f1",
    "micro_f1",
    "balanced_accuracy",
    "log_loss",
    "brier",
    "ece",
)
OF_LABELS = (
    "micro_precision",
    "micro_recall",
    "document_f1",
    "labels_per_answer",
    "ndcg_at_5",
    "lrap",
    "precision_at_1",
)


class World:
    """Endless documents of four classes of different size, with posteriors that are too sure, and some documents without an answer."""

    def __init__(self, seed: int, n: int) -> None:
        generator = np.random.default_rng(seed)
        self.truth = generator.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])
        scores = generator.normal(size=(n, 4)) * 1.5
        scores[np.arange(n), self.truth] += 1.5
        self.log_posterior = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        self.answers = np.where(
            self.log_posterior.max(axis=1) < np.log(0.4), -1, self.log_posterior.argmax(axis=1)
        )

    bootstrapped = (*OF_BOTH_KINDS, "matthews", "mean_cost")
    costs: Costs | None = Costs(np.arange(16.0).reshape(4, 4), np.full(4, 0.5))

    def evaluation(self, rows: NDArray[np.int64] | None = None, **options: Any) -> Evaluation:
        rows = np.arange(self.truth.size) if rows is None else rows
        evaluation = Evaluation(CLASSES, **options)
        answers = DocumentLabels(self.answers[rows], single_label_table(4))
        evaluation.add(
            [CLASSES[k] for k in self.truth[rows].tolist()],
            ClassPosterior(self.log_posterior[rows]),
            answers,
        )
        return evaluation


class WorldOfLabels:
    """Endless documents of any of four labels, with posteriors that are too sure; some have no label, and some get none."""

    bootstrapped = (*OF_BOTH_KINDS, *OF_LABELS)
    costs = None

    def __init__(self, seed: int, n: int) -> None:
        generator = np.random.default_rng(seed)
        self.truth = generator.random((n, 4)) < [0.5, 0.4, 0.3, 0.2]
        log_odds = generator.normal(size=(n, 4)) * 2 + np.where(self.truth, 2, -2)
        self.log_posterior = -np.logaddexp(0, -log_odds)
        self.answers = log_odds > 0

    def evaluation(self, rows: NDArray[np.int64] | None = None, **options: Any) -> Evaluation:
        rows = np.arange(len(self.truth)) if rows is None else rows
        evaluation = Evaluation(CLASSES, LabelPosterior, **options)
        truth, answers = (
            DocumentLabels.from_mask(mask[rows]) for mask in (self.truth, self.answers)
        )
        evaluation.add_indexed(truth, LabelPosterior(self.log_posterior[rows]), answers)
        return evaluation


WORLDS = pytest.mark.parametrize("world_of", [World, WorldOfLabels], ids=["classes", "labels"])


@pytest.mark.repeated
@pytest.mark.parametrize("n", some([40, 300], 1))
@WORLDS
def test_intervals_match_a_bootstrap_of_documents(
    world_of: type[World | WorldOfLabels], n: int
) -> None:
    world = world_of(1, n)
    costs = world.costs
    said = world.evaluation(costs=costs).summary(Bootstrap(4000, seed=5))
    generator = np.random.default_rng(6)
    draws = rounds(400, 1500)
    drawn = [
        world.evaluation(generator.integers(n, size=n), costs=costs).summary(Bootstrap(0))
        for _ in range(draws)
    ]
    for name in world.bootstrapped:
        values = np.array([summary[name] for summary in drawn], float)
        low, high = np.quantile(values, (0.025, 0.975))
        tolerance = 13 * values.std() / draws**0.5  # four standard errors of such a quantile
        assert said["intervals"][name][0] == pytest.approx(min(low, said[name]), abs=tolerance)
        assert said["intervals"][name][1] == pytest.approx(max(high, said[name]), abs=tolerance)


@pytest.mark.parametrize(
    ("world_of", "others"),
    [(World, ("top_2_accuracy", "matthews")), (WorldOfLabels, ("document_f1", "lrap"))],
    ids=["classes", "labels"],
)
def test_intervals_cover_the_truth_at_their_level(
    world_of: type[World | WorldOfLabels], others: tuple[str, ...]
) -> None:
    figures = world_of(2, 200_000).evaluation().summary(Bootstrap(0))
    names = (
        "accuracy",
        "answered",
        "answered_accuracy",
        "macro_f1",
        "balanced_accuracy",
        "log_loss",
        "brier",
        *others,
    )
    held = dict.fromkeys(names, 0)
    trials = 150
    for seed in range(trials):
        intervals = world_of(100 + seed, 250).evaluation().summary(Bootstrap(300))["intervals"]
        for name in names:
            held[name] += intervals[name][0] <= figures[name] <= intervals[name][1]
    assert all(0.89 * trials <= times < trials for times in held.values()), held


def test_proportions_have_wilson_intervals_and_equal_metrics_the_same() -> None:
    world = World(3, 120)
    said = world.evaluation().summary(Bootstrap(50))
    intervals, answered = said["intervals"], int((world.answers >= 0).sum())
    right = int((world.answers == world.truth).sum())
    assert (
        intervals["accuracy"]
        == intervals["micro_recall"]
        == list(module.wilson_interval(right, 120))
    )
    assert (
        intervals["answered_accuracy"]
        == intervals["micro_precision"]
        == list(module.wilson_interval(right, answered))
    )
    assert intervals["answered"] == list(module.wilson_interval(answered, 120))
    assert intervals["micro_f1"] != intervals["accuracy"]
    world.answers = world.log_posterior.argmax(axis=1)
    everything = world.evaluation().summary(Bootstrap(50))["intervals"]
    assert everything["micro_f1"] == everything["accuracy"] == everything["answered_accuracy"]
    assert not {*OF_BOTH_KINDS, "matthews"} - {"micro_f1"} & set(
        world.evaluation().summary(Bootstrap(0))["intervals"]
    )


def test_proportions_of_multi_label_documents_have_wilson_intervals() -> None:
    world = WorldOfLabels(3, 120)
    is_right, has_answer = (world.answers == world.truth).all(axis=1), world.answers.any(axis=1)
    assert 0 < (is_right & has_answer).sum() < is_right.sum() < 120
    for replicates in (0, 50):
        intervals = world.evaluation().summary(Bootstrap(replicates))["intervals"]
        assert (
            intervals["accuracy"]
            == intervals["subset_accuracy"]
            == list(module.wilson_interval(int(is_right.sum()), 120))
        )
        assert intervals["answered"] == list(module.wilson_interval(int(has_answer.sum()), 120))
        of_answered = module.wilson_interval(
            int((is_right & has_answer).sum()), int(has_answer.sum())
        )
        assert intervals["answered_accuracy"] == list(of_answered)
        assert intervals.keys().isdisjoint(WorldOfLabels.bootstrapped) == (not replicates)


@examples(6)
@example(WorldOfLabels, 0, 2)  # some drawn sets have no label
@given(st.sampled_from([World, WorldOfLabels]), st.integers(0, 2**32), st.integers(1, 30))
def test_intervals_contain_the_metric_and_depend_only_on_the_seed(
    world_of: type[World | WorldOfLabels], seed: int, n: int
) -> None:
    first, second, other = (
        world_of(seed, n).evaluation().summary(Bootstrap(60, number)) for number in (1, 1, 2)
    )
    assert first == second
    assert all(
        low <= first[name] <= high
        for name, (low, high) in first["intervals"].items()
        if first[name] is not None
    )
    assert n < 10 or first["intervals"]["brier"] != other["intervals"]["brier"]


def test_infinite_metric_has_no_interval() -> None:
    evaluation = Evaluation(["a", "b"])
    evaluation.add(
        ["a", "x", "b"], ClassPosterior(np.log(np.array([[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]])))
    )
    said = evaluation.summary(Bootstrap(20))
    assert said["log_loss"] is None
    assert "log_loss" not in said["intervals"]
    assert {"brier", "ece", "macro_f1"} <= set(said["intervals"])


@pytest.mark.parametrize("at_once", [1, 64, 1 << 20])
@WORLDS
def test_replicates_do_not_depend_on_the_block_size(
    world_of: type[World | WorldOfLabels], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = world_of(4, 50).evaluation()
    judged = evaluation.documents
    cells = count_cells(judged)

    def drawn() -> Figures:
        return {
            **bootstrap_rates(cells, None, Bootstrap(30), evaluation.posterior_type),
            **bootstrap_scores(judged, Bootstrap(30)),
        }

    wanted = drawn()
    monkeypatch.setattr(module, "MAX_DRAWS_AT_ONCE", at_once)
    found = drawn()
    assert set(found) == set(wanted)
    for name, values in found.items():
        assert values == pytest.approx(wanted[name], rel=1e-12)
        assert values.shape == (30,)


def test_very_many_documents_use_fewer_replicates() -> None:
    assert Bootstrap().limit_replicates(7_532) == REPLICATES
    assert Bootstrap().limit_replicates(10**9) == MIN_REPLICATES
    assert Bootstrap(10).limit_replicates(10**9) == 10
    assert MIN_REPLICATES < Bootstrap().limit_replicates(200_000) < REPLICATES


def test_drawing_a_cell_costs_as_much_as_several_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = World(4, 50).evaluation().documents
    cells = count_cells(judged)
    monkeypatch.setattr(module, "MAX_DRAWS", 300 * CELL_DRAW_COST * cells.documents.size)
    assert {values.size for values in bootstrap_rates(cells, None, Bootstrap()).values()} == {300}
    monkeypatch.setattr(module, "MAX_DRAWS", 300 * judged.n)
    assert {values.size for values in bootstrap_scores(judged, Bootstrap()).values()} == {300}


def test_percentile_interval_of_known_replicates() -> None:
    assert percentile_interval(np.arange(1001.0), 500.0) == (25.0, 975.0)
    assert percentile_interval(np.arange(1001.0), 3.0) == (3.0, 975.0)
    assert percentile_interval(np.arange(1001.0), 1000.0) == (25.0, 1000.0)


def test_percentile_interval_ignores_undefined_replicates() -> None:
    replicates = np.append(np.arange(1001.0), [np.nan] * 500)
    assert percentile_interval(replicates, 500.0) == (25.0, 975.0)
    assert percentile_interval(np.full(3, np.nan), 0.5) == (0.5, 0.5)
