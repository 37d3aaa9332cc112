"""Search: all combinations, each judged as it would be alone, and what a criterion cannot compare."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtext.cli.tune import BY
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import Analysis, count_documents
from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import cross_validate, stratified_folds
from nbtext.evaluation.tuning import MOST_SETTINGS, Division, Trial, best_first, combinations, judge_setting, require_comparable
from nbtext.inspection.overview import criteria
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.text_classifier import TextClassifier
from nbtext.settings import TRAINING, Settings


def drawn(n_documents: int = 90) -> tuple[list[str], list[str]]:
    random = np.random.default_rng(4)
    themes = {label: random.dirichlet(np.full(30, 0.4)) for label in "xyz"}
    labels = [str(label) for label in random.choice(list(themes), n_documents)]
    return [" ".join(f"w{j:02}" for j in random.choice(30, 12, p=themes[label])) for label in labels], labels


def counted(**parameters: Any) -> tuple[Subsets, Settings]:
    texts, labels = drawn()
    settings = Settings.of(parameters)
    return Subsets(*count_documents(zip(labels, (text.encode() for text in texts), strict=True), Analysis(settings))), settings


def test_combinations_are_all_of_them_the_last_fastest() -> None:
    assert combinations({}) == [{}]
    assert combinations({"a": [1, 2], "b": ["x", "y"]}) == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"}]
    assert len(combinations({"a": range(MOST_SETTINGS // 10), "b": range(10)})) == MOST_SETTINGS
    with pytest.raises(UsageError, match="1,001 settings"):
        combinations({"a": range(MOST_SETTINGS + 1)})
    with pytest.raises(UsageError, match="100,000,000,000,000,000,000 settings"):
        combinations({name: range(10) for name in "abcdefghijklmnopqrst"})


def test_cross_validation_is_that_of_the_setting_alone() -> None:
    subsets, parameters = counted(smoothing=0.3)
    found = judge_setting("cross-validation", subsets, parameters, Division(5, 3))
    folds = stratified_folds(subsets.documents.classes, 5, np.random.default_rng(3).spawn(1)[0])
    summary = cross_validate(subsets, parameters, [folds]).summary(Bootstrap(0))
    assert found == {
        "accuracy": summary["accuracy"],
        "macro_f1": summary["macro_f1"],
        "log_loss": summary["log_loss"],
        "accuracy_sd": summary["folds"]["accuracy"]["sd"],
        "macro_f1_sd": summary["folds"]["macro_f1"]["sd"],
    }
    assert found != judge_setting("cross-validation", subsets, parameters, Division(5, 4))


def test_leave_one_out_is_a_refit_for_each_document() -> None:
    subsets, parameters = counted(smoothing=0.3, calibration="none")
    texts, labels = drawn()
    hits = sum(
        TextClassifier(**parameters).fit([*texts[:d], *texts[d + 1 :]], [*labels[:d], *labels[d + 1 :]]).predict([texts[d]]) == [labels[d]]
        for d in range(len(texts))
    )
    assert judge_setting("leave-one-out", subsets, parameters, Division())["accuracy"] == pytest.approx(hits / len(texts))


@pytest.mark.parametrize("by", ["evidence", "aic", "bic"])
@pytest.mark.parametrize("smoothing", [0.3, "auto", "leave-one-out"])
def test_criteria_are_those_of_the_model(by: str, smoothing: object) -> None:
    subsets, parameters = counted(smoothing=smoothing)
    model = TextClassifier(**parameters).fit_counted(subsets.statistics, subsets.documents)
    found = judge_setting(by, subsets, parameters, Division())
    assert found == {by: getattr(criteria(model.language_models, parameters), by), "smoothing": model.learnt.smoothing}


def test_most_or_least_is_best() -> None:
    values: dict[str, list[float | None]] = {"a": [3.0, None, 5.0, 1.0], "accuracy": [0.5, 0.7, 0.7, 0.7], "macro_f1": [0.9, 0.2, 0.4, 0.4]}
    trials = [Trial(n, {"evidence": values["a"][n], "bic": values["a"][n]}) for n in range(4)]
    assert [trial.place for trial in best_first("evidence", trials)] == [2, 0, 3, 1]
    assert [trial.place for trial in best_first("bic", trials[::-1])] == [3, 0, 2, 1]
    judged = [Trial(n, {name: values[name][n] for name in ("accuracy", "macro_f1")}) for n in range(4)]
    assert [trial.place for trial in best_first("leave-one-out", judged[::-1])] == [2, 3, 1, 0]


@pytest.mark.parametrize("by", ["evidence", "aic", "bic"])
@pytest.mark.parametrize(
    "name",
    sorted({parameter.name for parameter in TRAINING} - {"smoothing", "prior_shape", "estimate", "class_prior"}),
)
def test_criteria_of_counts_compare_no_other_counts(by: str, name: str) -> None:
    with pytest.raises(UsageError, match=f"--by {by} cannot compare --{name.replace('_', '-')}: "):
        require_comparable(by, [name], [Settings.of({})])


@pytest.mark.parametrize("by", BY)
def test_smoothing_and_prior_shape_compare_by_everything(by: str) -> None:
    require_comparable(by, ["smoothing", "prior_shape", "estimate"], [Settings.of({"smoothing": 1}), Settings.of({})])


@pytest.mark.parametrize(
    ("by", "tried", "parameters", "message"),
    [
        ("evidence", [], {"classifier": "bernoulli"}, "--classifier multinomial"),
        ("leave-one-out", [], {"classifier": "bernoulli"}, "--classifier multinomial"),
        ("leave-one-out", ["top"], {}, "selected from all documents"),
        ("evidence", ["class_prior"], {"class_prior": "empirical"}, "no evidence to compare"),
    ],
)
def test_what_cannot_be_judged_is_told_before(by: str, tried: list[str], parameters: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        require_comparable(by, tried, [Settings.of(parameters)])


@pytest.mark.parametrize("parameters", [{"estimate": "ml"}, {"smoothing": 0}])
def test_without_a_prior_there_is_no_evidence(parameters: dict[str, object]) -> None:
    subsets, settings = counted(**parameters)
    with pytest.raises(UsageError, match="without a prior"):
        judge_setting("evidence", subsets, settings, Division())
    assert judge_setting("bic", subsets, settings, Division())["bic"] is not None
