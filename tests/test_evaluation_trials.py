"""Trials: their figures, the comparison with the default, which setting is kept, and what the choice itself is worth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.metrics import accuracy_score, f1_score

from nbtext.counts.counting import Analysis
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import Candidate
from nbtext.evaluation.trials import (
    REPEATED_CHOICE_PARTS,
    SIGNIFICANCE_LEVEL,
    HeldOutPredictions,
    Stage,
    Trial,
    choose_trial,
    compare_trials,
    compute_trial_p_value,
    correct_metric,
    rank_trials,
)
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.outcomes import concatenate_scored_documents
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior
from nbtext.prediction.rule import DecisionRule
from nbtext.settings import TUNING_METRICS, Settings

if TYPE_CHECKING:
    from nbtext.metrics.outcomes import ScoredDocuments
    from nbtext.prediction.posterior import Posterior

METRICS = pytest.mark.parametrize("metric", TUNING_METRICS.values())


def score_in_blocks(
    posterior: Posterior, truth: DocumentLabels, given: DocumentLabels
) -> ScoredDocuments:
    """Documents as an evaluation of their own judges them, some at a time."""
    evaluation = Evaluation([f"c{label}" for label in range(truth.table.n_labels)], type(posterior))
    for begin in range(0, len(truth), 20):
        rows = slice(begin, begin + 20)
        evaluation.add_indexed(truth[rows], posterior[rows], given[rows])
    return evaluation.documents


def answers(
    random: np.random.Generator, n: int, sharpness: float, n_classes: int = 3
) -> HeldOutPredictions:
    """Answers of a made-up classifier; the last document's class had no others in training."""
    truth = np.arange(n) % n_classes
    scores = random.normal(size=(n, n_classes))
    scores[np.arange(n), truth] += sharpness
    log_posterior = scores - np.logaddexp.reduce(scores, axis=1)[:, np.newaxis]
    known = np.ones(n, np.bool_)
    known[-1] = False
    log_posterior[-1, truth[-1]] = -np.inf
    posterior = ClassPosterior(log_posterior)
    labels = DocumentLabels(truth, single_label_table(n_classes))
    return HeldOutPredictions(
        np.arange(n), score_in_blocks(posterior, labels, posterior.predict(DecisionRule())), known
    )


def make_predictions(mask: Any) -> HeldOutPredictions:
    """Answers of which those of a mask are right."""
    mask = np.asarray(mask, np.bool_)
    log_posterior = np.log(np.where(mask[:, np.newaxis], [0.9, 0.1], [0.1, 0.9]))
    posterior = ClassPosterior(log_posterior)
    truth = DocumentLabels(np.zeros(mask.size, np.int64), single_label_table(2))
    of_rows = score_in_blocks(posterior, truth, posterior.predict(DecisionRule()))
    return HeldOutPredictions(np.arange(mask.size), of_rows, np.ones(mask.size, np.bool_))


NINE = Stage(9, 5, 9)


def trial(number: int, stage: Stage = NINE, **values: Any) -> Trial:
    """A trial of a candidate of this number; 0 is the default."""
    texts = {"smoothing": str(number)} if number else {}
    return Trial(Candidate(texts, Analysis(Settings()), is_default=not number), stage, **values)


def numbers(trials: list[Trial]) -> list[int]:
    return [int(each.candidate.raw_values.get("smoothing") or 0) for each in trials]


def kept_number(trials: list[Trial], metric: str = "accuracy") -> int:
    choice = choose_trial(rank_trials(metric, trials))
    assert choice is not None
    return numbers([choice])[0]


def test_ranking_prefers_more_documents_and_folds_then_the_metric() -> None:
    losses = [3.0, None, 5.0, 1.0]
    trials = [
        trial(n, metrics={"log_loss": loss, "macro_f1": 0.0}) for n, loss in enumerate(losses)
    ]
    assert numbers(rank_trials("log_loss", trials[::-1])) == [3, 0, 2, 1]
    values = [(0.5, 0.9), (0.7, 0.2), (0.7, 0.4), (0.7, 0.3)]
    trials = [
        trial(n, metrics={"accuracy": accuracy, "macro_f1": f1})
        for n, (accuracy, f1) in enumerate(values)
    ]
    assert numbers(rank_trials("accuracy", trials[::-1])) == [2, 3, 1, 0]
    figures = {"accuracy": 0.9, "macro_f1": 0.9}
    for stage in (Stage(9, 1, 9), Stage(8, 5, 9)):
        assert (
            numbers(rank_trials("accuracy", [*trials, trial(4, stage, metrics=figures)]))[-1] == 4
        )
    failed = trial(4, problem=UsageError("no"))
    assert numbers(rank_trials("accuracy", [*trials, failed])) == [2, 3, 1, 0]
    assert numbers(rank_trials("accuracy", [trial(3, metrics=figures), *trials])) == [
        2,
        3,
        1,
        0,
    ]  # the last trial counts


def test_default_is_kept_unless_another_is_significantly_better() -> None:
    def tried(*p_values: float | None) -> list[Trial]:
        return [
            trial(n, metrics={"accuracy": 0.5 + n / 10, "macro_f1": 0.5}, p_value=p)
            for n, p in enumerate(p_values)
        ]

    assert kept_number(tried(None, 0.2, SIGNIFICANCE_LEVEL)) == 0
    assert kept_number(tried(None, 0.01, 0.01, 0.2)) == 2
    assert kept_number(tried(None)) == 0
    assert kept_number(tried(None, None, None)[1:]) == 2  # the default could not be tried


def test_log_loss_excludes_documents_of_unknowable_classes() -> None:
    found = answers(np.random.default_rng(0), 60, 2.0)
    figures = found.compute_metrics("accuracy")
    assert figures["log_loss"] == pytest.approx(found.scored.log_loss[:-1].mean())
    assert figures["accuracy"] == pytest.approx(
        (found.scored.predicted.indices == found.scored.truth.indices).mean()
    )
    assert list(found.compute_metrics("micro_f1")) == [
        "accuracy",
        "macro_f1",
        "micro_f1",
        "log_loss",
    ]


@METRICS
def test_better_setting_has_a_small_p_value_on_the_same_documents(metric: str) -> None:
    random = np.random.default_rng(1)
    good, bad = (answers(random, 600, sharpness) for sharpness in (3.0, 1.0))
    assert compute_trial_p_value(metric, good, bad, 20) < 1e-6
    assert compute_trial_p_value(metric, bad, good, 20) == 1
    assert compute_trial_p_value(metric, good, good, 1) == 0.5


@pytest.mark.parametrize(
    ("better", "worse", "both"), [(30, 12, 100), (9, 0, 0), (1, 0, 3), (5, 5, 5), (40, 60, 10)]
)
def test_p_value_is_one_sided_mcnemar(better: int, worse: int, both: int) -> None:
    setting = make_predictions([*[1] * better, *[0] * worse, *[1] * both])
    default = make_predictions([*[0] * better, *[1] * worse, *[1] * both])
    found = compute_trial_p_value("accuracy", setting, default, 1)
    assert found == pytest.approx(norm.sf((better - worse) / np.sqrt(better + worse)))
    exact = binomtest(better, better + worse, alternative="greater").pvalue
    assert (found < 0.01) <= (exact < 0.02)  # few documents show little
    assert compute_trial_p_value("accuracy", setting, default, 7) == pytest.approx(
        min(7 * found, 1)
    )


@METRICS
def test_equal_settings_are_rarely_significant(metric: str) -> None:
    """Of two hundred pairs of equally good settings about one in twenty looks better at the level."""
    random = np.random.default_rng(7)
    found = [
        compute_trial_p_value(metric, answers(random, 120, 1.0), answers(random, 120, 1.0), 1)
        for _ in range(200)
    ]
    assert 2 <= sum(p < SIGNIFICANCE_LEVEL for p in found) <= 20


def test_infinite_loss_counts_as_one_document() -> None:
    setting, default = make_predictions([1] * 40), make_predictions([1] * 40)
    infinite = default.scored.log_loss.copy()
    infinite[0] = np.inf
    assert (
        compute_trial_p_value(
            "log_loss",
            setting,
            default._replace(scored=replace(default.scored, log_loss=infinite)),
            1,
        )
        > SIGNIFICANCE_LEVEL
    )
    infinite[:20] = np.inf
    assert (
        compute_trial_p_value(
            "log_loss",
            setting,
            default._replace(scored=replace(default.scored, log_loss=infinite)),
            1,
        )
        < SIGNIFICANCE_LEVEL
    )


def make_label_predictions(truth: list[list[int]], given: list[list[int]]) -> HeldOutPredictions:
    """Answers of a made-up classifier of several labels."""
    labels, answer = (DocumentLabels.from_mask(np.array(rows, np.bool_)) for rows in (truth, given))
    posterior = LabelPosterior(np.log(np.where(np.array(given, np.bool_), 0.9, 0.1)))
    return HeldOutPredictions(
        np.arange(len(truth)),
        score_in_blocks(posterior, labels, answer),
        np.ones(len(truth), np.bool_),
        LabelPosterior,
    )


def test_f1_losses_count_missing_and_wrong_labels() -> None:
    found = make_label_predictions(
        [[1, 1, 0], [1, 0, 0], [1, 0, 1]], [[1, 1, 0], [0, 1, 0], [1, 0, 0]]
    )
    assert found.compute_losses("micro_f1").tolist() == [0, 2, 1]
    assert found.compute_losses("macro_f1").tolist() == pytest.approx(
        [0, 1 / 3 + 1, 1]
    )  # three have the first label, one each other
    assert found.compute_losses("accuracy").tolist() == [0, 1, 1]
    one_label = make_predictions([1, 0, 1])
    assert one_label.compute_losses("micro_f1").tolist() == [0, 2, 0]
    assert one_label.compute_losses("macro_f1").tolist() == pytest.approx([0, 1 / 3, 0])


def rivals(stage: Stage, metric: str, n: int, sharpness: list[float]) -> list[Trial]:
    random = np.random.default_rng(3)
    tried = [
        trial(number, stage, predictions=answers(random, n, each))
        for number, each in enumerate(sharpness)
    ]
    return compare_trials(metric, tried, len(tried) - 1)


@METRICS
def test_corrected_metric_repeats_the_choice_without_each_part(metric: str) -> None:
    trials = rivals(Stage(120, 4, 4), metric, 120, [1.0, 1.6, 1.5, 1.4])
    chosen = choose_trial(rank_trials(metric, trials))
    assert chosen is not None
    parts = np.arange(120) % REPEATED_CHOICE_PARTS
    order = np.argsort(parts, kind="stable")
    wanted = []
    for part in range(REPEATED_CHOICE_PARTS):
        rest = [replace(each, predictions=each.predictions.take(parts != part)) for each in trials]
        best = kept_number(compare_trials(metric, rest, 3), metric)
        wanted.append(trials[best].predictions.take(parts == part))
    joined = HeldOutPredictions(
        order,
        concatenate_scored_documents([each.scored for each in wanted]),
        np.concatenate([each.has_known_label for each in wanted]),
    )
    assert correct_metric(metric, trials, chosen, 3) == pytest.approx(
        joined.compute_metrics(metric)[metric]
    )


@pytest.mark.parametrize("metric", ["accuracy", "micro_f1", "macro_f1"])
def test_corrected_metric_works_for_different_label_set_numberings(
    metric: str,
) -> None:
    """Two settings that take turns to be better, so that different parts choose different ones."""
    generator = np.random.default_rng(4)
    truth = generator.random((60, 6)) < 0.4
    mistakes = [generator.random(truth.shape) < 0.3 for _ in range(2)]
    given = [truth ^ wrong for wrong in mistakes]
    tried = [
        trial(
            number,
            Stage(60, 1, 2),
            predictions=make_label_predictions(truth.tolist(), rows.tolist()),
        )
        for number, rows in enumerate(given, 1)
    ]
    parts = np.arange(60) % REPEATED_CHOICE_PARTS
    answer = np.empty_like(truth)
    choices = []
    for part in range(REPEATED_CHOICE_PARTS):
        rest = [replace(each, predictions=each.predictions.take(parts != part)) for each in tried]
        choices.append(kept_number(compare_trials(metric, rest, 2), metric))
        answer[parts == part] = given[choices[-1] - 1][parts == part]
    average = metric.removesuffix("_f1")
    wanted = (
        accuracy_score(truth, answer)
        if metric == "accuracy"
        else f1_score(truth, answer, average=average)
    )
    assert set(choices) == {1, 2}
    assert correct_metric(metric, tried, tried[0], 2) == pytest.approx(wanted)


def test_trials_of_earlier_stages_are_not_used_for_the_correction() -> None:
    first, last = Stage(40, 1, 4), Stage(120, 1, 2)
    late = rivals(last, "accuracy", 120, [1.0, 1.8])
    alone = correct_metric("accuracy", late, late[1], 3)
    assert (
        correct_metric("accuracy", [*rivals(first, "accuracy", 40, [1.0, 1.5]), *late], late[1], 3)
        != alone
    )
    assert (
        correct_metric("accuracy", [*rivals(first, "accuracy", 120, [1.0, 1.5]), *late], late[1], 3)
        is None
    )


def test_single_setting_has_no_corrected_metric() -> None:
    [default, other] = rivals(Stage(30, 1, 2), "accuracy", 30, [1.0, 1.0])
    assert correct_metric("accuracy", [default], default, 1) is None
    one = [
        replace(each, predictions=each.predictions.take(np.arange(30) == 0))
        for each in (default, other)
    ]
    assert correct_metric("accuracy", one, one[0], 1) is None


def test_best_of_many_equal_settings_is_corrected_to_its_true_value() -> None:
    """Fifty classifiers of the same worth, none the default: the best metric is above it, the corrected one near it."""
    random = np.random.default_rng(5)
    gaps = []
    for _ in range(3):
        tried = [
            trial(number, Stage(300, 5, 50), predictions=answers(random, 300, 1.0))
            for number in range(1, 51)
        ]
        trials = compare_trials("accuracy", tried, 50)
        worth = np.mean([each.metrics["accuracy"] or 0.0 for each in trials])
        chosen = choose_trial(rank_trials("accuracy", trials))
        assert chosen is not None
        corrected = correct_metric("accuracy", trials, chosen, 50)
        gaps.append(((chosen.metrics["accuracy"] or 0.0) - worth, (corrected or 0.0) - worth))
    best, corrected = np.mean(gaps, axis=0)
    assert best > 0.04
    assert abs(corrected) < 0.025
