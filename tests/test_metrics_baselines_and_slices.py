"""Baselines, costs, reliability and slices.

Also tests `metrics/outcomes.py` and `metrics/evaluation.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.metrics import brier_score_loss, f1_score, log_loss

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.counts.counting import count_labelled_documents
from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import evaluate_leave_one_out
from nbtext.evaluation.evaluate import evaluate_documents
from nbtext.metrics.evaluation import MAX_COLUMN_VALUES, Evaluation
from nbtext.metrics.intervals import Bootstrap, wilson_interval
from nbtext.metrics.outcomes import CONFIDENCE_BINS
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior
from nbtext.prediction.rule import parse_costs

PLAIN = Bootstrap(0)
CLASSES = ["a", "b", "c"]


def posteriors(n: int, n_classes: int, seed: int = 0) -> ClassPosterior:
    return ClassPosterior(np.log(np.random.default_rng(seed).dirichlet(np.ones(n_classes), n)))


@given(
    st.lists(st.sampled_from(CLASSES), min_size=1, max_size=30),
    st.lists(st.sampled_from(CLASSES), min_size=1, max_size=30),
)
def test_baselines_match_scikit_learns_dummy_classifiers(
    training: list[str], truth: list[str]
) -> None:
    classes = sorted(set(training))
    evaluation = Evaluation(
        classes,
        label_proportions=np.array([training.count(label) / len(training) for label in classes]),
    )
    evaluation.add(truth, posteriors(len(truth), len(classes)))
    said = evaluation.summary(PLAIN)["baselines"]
    nothing, unread = np.zeros((len(training), 1)), np.zeros((len(truth), 1))
    always = DummyClassifier(strategy="most_frequent").fit(nothing, training)
    assert said["largest_class"]["label"] == always.predict(unread)[0]
    assert said["largest_class"]["accuracy"] == always.score(unread, truth)
    assert said["largest_class"]["macro_f1"] == pytest.approx(
        f1_score(truth, always.predict(unread).tolist(), average="macro", zero_division=0)
    )
    shares = DummyClassifier(strategy="prior").fit(nothing, training).predict_proba(unread)
    if set(truth) - set(classes):
        assert said["class_prior"]["log_loss"] is None
    elif len(classes) > 1:
        assert said["class_prior"]["log_loss"] == pytest.approx(
            log_loss(truth, shares, labels=classes)
        )
        assert said["class_prior"]["brier"] == pytest.approx(
            brier_score_loss(truth, shares, labels=classes, scale_by_half=False)
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"class_prior": {"a": 9, "b": 1}},
        {"class_prior": "smoothed:5"},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_class_prior_baseline_uses_the_prior_of_the_model(settings: dict[str, Any]) -> None:
    texts, labels = ["red", "blue", "green", "blue sea"] * 5, ["a", "b", "b", "b"] * 5
    model = TextClassifier(stop_words="none", smoothing=1, **settings).fit(texts, labels)
    prior, truth = model.fitted.classifier.prior, np.array([0, 1, 1, 1])
    documents = [
        Document(str(place), labels[place], text.encode()) for place, text in enumerate(texts)
    ]
    counted = count_labelled_documents(documents, model.analysis, keep_all=True)
    left_out = evaluate_leave_one_out(counted.table, counted.documents, model.settings)
    for found in (
        evaluate_documents(model, documents).result(PLAIN).baselines,
        left_out.result(PLAIN).baselines,
    ):
        assert found is not None
        assert found.class_prior.log_loss == pytest.approx(-np.log(prior[truth]).mean())
        assert found.class_prior.brier == pytest.approx(
            ((prior - np.eye(2)[truth]) ** 2).sum(axis=1).mean()
        )


def test_evaluation_without_proportions_or_documents_has_no_baselines() -> None:
    evaluation = Evaluation(CLASSES)
    assert (
        Evaluation(CLASSES, label_proportions=np.array([0.2, 0.3, 0.5])).summary()["baselines"]
        is None
    )
    evaluation.add(["a"], posteriors(1, 3))
    assert evaluation.summary(PLAIN)["baselines"] is None


def mean_cost_under(costs: dict[str, Any], pairs: list[tuple[str, str]]) -> float:
    evaluation = Evaluation(CLASSES, costs=parse_costs(costs, CLASSES))
    answers = np.array([CLASSES.index(answer) if answer else -1 for _, answer in pairs])
    evaluation.add(
        [truth for truth, _ in pairs],
        posteriors(len(pairs), 3),
        DocumentLabels(answers, single_label_table(3)),
    )
    found = evaluation.summary(PLAIN)["mean_cost"]
    assert isinstance(found, float)
    return found


@given(
    st.lists(
        st.tuples(st.sampled_from([*CLASSES, "x"]), st.sampled_from([*CLASSES, ""])),
        min_size=1,
        max_size=20,
    )
)
def test_mean_cost_is_the_mean_over_documents(pairs: list[tuple[str, str]]) -> None:
    costs = {"a": {"b": 5, "abstain": 0.25}, "b": {"a": 2, "b": -1}}
    price = {
        ("a", "b"): 5,
        ("a", ""): 0.25,
        ("b", "a"): 2,
        ("b", "b"): -1,
        ("a", "a"): 0,
        ("c", "c"): 0,
    }
    assert mean_cost_under(costs, pairs) == pytest.approx(
        math.fsum(price.get(pair, 1) for pair in pairs) / len(pairs)
    )


def test_abstaining_costs_as_much_as_a_mistake_by_default() -> None:
    assert (
        mean_cost_under({"a": {"b": 7}}, [("a", "a"), ("a", ""), ("b", ""), ("a", "b")])
        == (0 + 1 + 1 + 7) / 4
    )
    assert "mean_cost" not in Evaluation(CLASSES).summary(PLAIN)


@given(st.lists(st.tuples(st.floats(0.5, 1), st.booleans()), min_size=1, max_size=60))
def test_reliability_bins_match_a_count_per_bin(documents: list[tuple[float, bool]]) -> None:
    evaluation = Evaluation(["yes", "no"])
    with np.errstate(divide="ignore"):
        posterior = ClassPosterior(np.log(np.array([(p, 1 - p) for p, _ in documents])))
    evaluation.add(["yes" if right else "no" for _, right in documents], posterior)
    said = evaluation.summary(PLAIN)
    assert [(of["low"], of["high"]) for of in said["reliability"]] == [
        (k / CONFIDENCE_BINS, (k + 1) / CONFIDENCE_BINS) for k in range(CONFIDENCE_BINS)
    ]
    assert sum(of["documents"] for of in said["reliability"]) == len(documents)
    confidences = np.exp(np.log([p for p, _ in documents]))
    for k, of in enumerate(said["reliability"]):
        inside = [
            (p, right)
            for p, (_, right) in zip(confidences, documents, strict=True)
            if min(int(p * CONFIDENCE_BINS), CONFIDENCE_BINS - 1) == k
        ]
        assert of["documents"] == len(inside)
        if inside:
            assert of["confidence"] == pytest.approx(math.fsum(p for p, _ in inside) / len(inside))
            right = sum(right for _, right in inside)
            assert of["accuracy"] == pytest.approx(right / len(inside))
            assert of["interval"] == list(wilson_interval(right, len(inside)))
        else:
            assert (of["confidence"], of["accuracy"], of["interval"]) == (None, None, None)


def test_calibration_evaluates_the_most_probable_class_even_if_not_predicted() -> None:
    evaluation = Evaluation(["yes", "no"])
    posterior = ClassPosterior(np.log(np.array([[0.9, 0.1], [0.9, 0.1]])))
    evaluation.add(
        ["yes", "yes"], posterior, DocumentLabels(np.array([-1, 1]), single_label_table(2))
    )
    said = evaluation.summary(PLAIN)
    assert (said["accuracy"], said["answered"], said["answered_accuracy"]) == (0, 0.5, 0)
    assert said["ece"] == pytest.approx(0.1)
    assert said["confusion"] == {"yes": {"": 1, "no": 1}}


@given(
    st.lists(
        st.tuples(st.sampled_from([*CLASSES, "x"]), st.sampled_from(["north", "south", ""])),
        min_size=1,
        max_size=40,
    )
)
def test_slice_equals_an_evaluation_of_its_documents(documents: list[tuple[str, str]]) -> None:
    rows = posteriors(len(documents), 3)
    whole = Evaluation(CLASSES, group_columns=["region", "again"])
    for begin in range(0, len(documents), 7):
        part = documents[begin : begin + 7]
        whole.add(
            [label for label, _ in part],
            rows[slice(begin, begin + 7)],
            columns=[(region, region) for _, region in part],
        )
    slices = whole.summary(PLAIN)["slices"]
    assert slices["region"] == slices["again"]
    assert list(slices["region"]) == sorted({region for _, region in documents})
    for region, said in slices["region"].items():
        inside = [row for row, (_, value) in enumerate(documents) if value == region]
        alone = Evaluation(CLASSES)
        alone.add([documents[row][0] for row in inside], rows[np.array(inside)])
        wanted = alone.summary(PLAIN)
        assert said == {
            **{name: wanted[name] for name in ("n", "accuracy", "macro_f1", "ece")},
            "interval": wanted["intervals"]["accuracy"],
        }


def test_column_with_too_many_values_is_refused() -> None:
    evaluation = Evaluation(CLASSES, group_columns=["number"])
    names = [(str(number),) for number in range(MAX_COLUMN_VALUES + 1)]
    with pytest.raises(
        UsageError,
        match=r"column number has more than 1,000 values; choose a column with fewer values",
    ):
        evaluation.add(["a"] * len(names), posteriors(len(names), 3), columns=names)
