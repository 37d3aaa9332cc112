"""Figures of settings: those of cross-validation and of the model, who has lost, and what the choice itself costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from nbtext.evaluation.tuning import (
    FoldJudgement,
    Rung,
    Trial,
    best_first,
    figures_of,
    is_worse,
    losses,
    nested_figure,
)
from nbtext.metrics.outcomes import judge_documents
from nbtext.settings import GOALS


def judgement(random: np.random.Generator, n: int, sharpness: float, n_classes: int = 3) -> FoldJudgement:
    """Answers of a made-up classifier; the last document's class had no others in training."""
    truth = np.arange(n) % n_classes
    scores = random.normal(size=(n, n_classes))
    scores[np.arange(n), truth] += sharpness
    log_posterior = scores - np.logaddexp.reduce(scores, axis=1)[:, np.newaxis]
    known = np.ones(n, np.bool_)
    known[-1] = False
    log_posterior[-1, truth[-1]] = -np.inf
    return FoldJudgement(judge_documents(truth, log_posterior.argmax(axis=1), log_posterior), known, 1.0, 0)


def test_most_or_least_is_best_and_more_folds_come_first() -> None:
    values: dict[str, list[float | None]] = {
        "log_loss": [3.0, None, 5.0, 1.0],
        "accuracy": [0.5, 0.7, 0.7, 0.7],
        "macro_f1": [0.9, 0.2, 0.4, 0.4],
    }
    trials = [Trial(n, {"log_loss": values["log_loss"][n]}, Rung(9, 5)) for n in range(4)]
    assert [trial.candidate for trial in best_first("log_loss", trials[::-1])] == [3, 0, 2, 1]
    judged = [Trial(n, {name: values[name][n] for name in ("accuracy", "macro_f1")}, Rung(9, 5)) for n in range(4)]
    assert [trial.candidate for trial in best_first("accuracy", judged[::-1])] == [2, 3, 1, 0]
    for rung in (Rung(9, 1), Rung(8, 5)):
        assert best_first("accuracy", [*judged, Trial(4, {"accuracy": 0.9}, rung)])[-1].candidate == 4


def test_the_log_loss_leaves_out_documents_of_which_no_model_can_know_the_class() -> None:
    random = np.random.default_rng(0)
    parts = [judgement(random, 20, 2.0) for _ in range(3)]
    found = figures_of("accuracy", parts, 3)
    losses = np.concatenate([part.judged.log_loss[:-1] for part in parts])
    right = np.concatenate([part.judged.answer == part.judged.truth for part in parts])
    assert found["log_loss"] == pytest.approx(losses.mean())
    assert found["accuracy"] == pytest.approx(right.mean())
    assert found["accuracy_sd"] == pytest.approx(np.std([right[20 * k : 20 * (k + 1)].mean() for k in range(3)], ddof=1))


@pytest.mark.parametrize("figure", GOALS.values())
def test_a_setting_is_worse_if_it_is_worse_on_the_same_documents(figure: str) -> None:
    random = np.random.default_rng(1)
    good, bad = ([judgement(random, 300, sharpness) for _ in range(2)] for sharpness in (3.0, 1.0))
    assert is_worse(figure, bad, good, 2.0)
    assert is_worse(figure, bad[:1], good, 2.0)
    assert not is_worse(figure, good, bad, 2.0)
    assert not is_worse(figure, good, good, 2.0)
    assert not is_worse(figure, bad, good, 1000.0)


@pytest.mark.parametrize("several", [False, True])
def test_the_losses_of_micro_f1_have_its_mean_and_its_standard_error(several: bool) -> None:
    random = np.random.default_rng(8)
    p = random.dirichlet(np.full(4, 0.5), (2, 2000))
    truth: Any = random.random((2000, 4)) < 0.4 if several else random.integers(4, size=2000)
    answers: list[Any] = (
        [each + truth > 0.7 for each in p] if several else [np.where(each.max(axis=1) > 0.6, each.argmax(axis=1), truth) for each in p]
    )
    log_posterior = np.log(p)
    sides = [
        [FoldJudgement(judge_documents(truth, *pair), np.ones(2000, np.bool_), 1.0, 0)] for pair in zip(answers, log_posterior, strict=True)
    ]

    def difference(rows: Any) -> float:
        first, second = (f1_score(truth[rows], answer[rows], average="micro") for answer in answers)
        return float(second - first)

    everything = np.arange(2000)
    for side, answer in zip(sides, answers, strict=True):
        assert losses("micro_f1", side).mean() == pytest.approx(1 - f1_score(truth, answer, average="micro"))
        assert figures_of("micro_f1", side, 4)["micro_f1"] == pytest.approx(f1_score(truth, answer, average="micro"))
    found = losses("micro_f1", sides[0]) - losses("micro_f1", sides[1])
    assert found.mean() == pytest.approx(difference(everything))
    drawn = [difference(random.integers(2000, size=2000)) for _ in range(150)]
    assert found.std() / np.sqrt(2000) == pytest.approx(np.std(drawn), rel=0.2)


def test_losing_is_a_paired_test() -> None:
    random = np.random.default_rng(2)
    first, second = (judgement(random, 400, sharpness) for sharpness in (1.5, 1.3))
    wrong = [part.judged.answer != part.judged.truth for part in (first, second)]
    difference = wrong[1].astype(float) - wrong[0]
    errors = difference.mean() / (difference.std() / np.sqrt(400))
    assert is_worse("accuracy", [second], [first], errors - 0.01)
    assert not is_worse("accuracy", [second], [first], errors + 0.01)


@pytest.mark.parametrize("figure", GOALS.values())
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_choice_is_judged_on_the_fold_that_had_no_part_in_it(figure: str, share: float) -> None:
    random = np.random.default_rng(3)
    settings = [[judgement(random, 30, 1.0 + 0.02 * number) for _ in range(4)] for number in range(6)]
    fresh = [random.random(30) < share * (fold > 0 or share == 1) for fold in range(4)]
    sign = -1 if figure == "log_loss" else 1
    chosen = []
    for fold in range(4):
        others = [figures_of(figure, [part for k, part in enumerate(parts) if k != fold], 3)[figure] or 0.0 for parts in settings]
        best = settings[int(np.argmax([sign * value for value in others]))][fold]
        rows = np.flatnonzero(fresh[fold])
        chosen += [best.of(rows)] if rows.size else []
    assert nested_figure(figure, settings, fresh, 4, 3) == pytest.approx(figures_of(figure, chosen, 3)[figure])


def test_a_single_fold_is_divided_to_judge_the_choice() -> None:
    random = np.random.default_rng(6)
    settings = [[judgement(random, 90, 1.0)] for _ in range(6)]
    fresh = random.random(90) < 0.7
    strides = [slice(each, None, 5) for each in range(5)]
    of_strides = [
        [fold._replace(judged=fold.judged.of(np.arange(90)[each]), known=fold.known[each]) for each in strides] for (fold,) in settings
    ]
    found = nested_figure("accuracy", settings, [fresh], 5, 3)
    assert found == nested_figure("accuracy", of_strides, [fresh[each] for each in strides], 5, 3)
    assert found is not None


def test_the_best_of_many_equal_ones_looks_better_than_it_is() -> None:
    """Fifty classifiers of the same worth: the best figure is above it, the corrected one near it."""
    random = np.random.default_rng(5)
    gaps = []
    for _ in range(5):
        settings = [[judgement(random, 60, 1.0) for _ in range(5)] for _ in range(50)]
        figures = [figures_of("accuracy", parts, 3)["accuracy"] or 0.0 for parts in settings]
        gaps.append(
            (
                max(figures) - np.mean(figures),
                (nested_figure("accuracy", settings, [np.ones(60, np.bool_)] * 5, 5, 3) or 0.0) - np.mean(figures),
            )
        )
    best, corrected = np.mean(gaps, axis=0)
    assert best > 0.04
    assert abs(corrected) < 0.025
