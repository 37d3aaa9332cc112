from __future__ import annotations

from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, f1_score

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.evaluation.comparison import (
    _Comparison,
    _count_prediction_cells,
    bootstrap_differences,
    bootstrap_mean,
    compare_on_documents,
    compute_mcnemar_p_value,
)
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.intervals import Bootstrap
from nbtext.metrics.results import to_json_values
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior
from tests.models import pets_classifier
from tests.process import PETS
from tests.profiles import rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

LABELS = ["ape", "bee", "cow"]


def evaluation_of(
    classes: list[str], truth: list[str], answers: Sequence[str | None], confidence: float = 0.8
) -> Evaluation:
    """An evaluation of answers that all have the same probability, the other classes sharing the rest."""
    evaluation = Evaluation(classes)
    posterior = np.full((len(truth), len(classes)), (1 - confidence) / max(len(classes) - 1, 1))
    chosen = np.array([-1 if answer is None else classes.index(answer) for answer in answers])
    given_one = np.flatnonzero(chosen >= 0)
    posterior[given_one, chosen[given_one]] = confidence
    evaluation.add(
        truth,
        ClassPosterior(np.log(posterior)),
        DocumentLabels(chosen, single_label_table(len(classes))),
    )
    return evaluation


documents = st.lists(st.tuples(*[st.sampled_from(LABELS)] * 3), min_size=1, max_size=40)


@example(1, 9)
@given(st.integers(0, 300), st.integers(0, 300))
def test_mcnemar_p_value_is_the_exact_binomial_test(only_a: int, only_b: int) -> None:
    n = only_a + only_b
    exact = min(
        Fraction(1), 2 * Fraction(sum(comb(n, i) for i in range(min(only_a, only_b) + 1)), 2**n)
    )
    assert compute_mcnemar_p_value(only_a, only_b) == pytest.approx(float(exact), rel=1e-10)
    assert compute_mcnemar_p_value(only_a, only_b) == compute_mcnemar_p_value(only_b, only_a)
    if n:
        assert compute_mcnemar_p_value(only_a, only_b) == pytest.approx(
            binomtest(only_a, n).pvalue, rel=1e-10
        )


def test_mcnemar_p_value_works_for_a_million_documents() -> None:
    assert compute_mcnemar_p_value(498_000, 502_000) == pytest.approx(
        binomtest(498_000, 1_000_000).pvalue, rel=1e-8
    )
    assert compute_mcnemar_p_value(0, 1_000_000) == 0
    assert compute_mcnemar_p_value(500_000, 500_000) == 1


@given(documents)
def test_comparison_matches_a_count_over_documents(
    rows: list[tuple[str, str, str]],
) -> None:
    truth, a, b = (list(column) for column in zip(*rows, strict=True))
    summary = to_json_values(
        _Comparison(evaluation_of(LABELS, truth, a), evaluation_of(LABELS, truth, b)).result(
            Bootstrap(20)
        )
    )
    right = [(t == x, t == y) for t, x, y in rows]
    assert summary["table"] == {
        "both_right": right.count((True, True)),
        "only_a_right": right.count((True, False)),
        "only_b_right": right.count((False, True)),
        "both_wrong": right.count((False, False)),
    }
    assert summary["n"] == len(rows)
    assert summary["disagreements"] == sum(x != y for _, x, y in rows)
    assert {(of["truth"], of["a"], of["b"]): of["documents"] for of in summary["changes"]} == {
        row: rows.count(row) for row in rows if row[1] != row[2]
    }
    sizes = [of["documents"] for of in summary["changes"]]
    assert sizes == sorted(sizes, reverse=True)
    differences = summary["differences"]
    assert differences["accuracy"]["difference"] == pytest.approx(
        accuracy_score(truth, b) - accuracy_score(truth, a)
    )
    macro_a, macro_b = (
        f1_score(truth, answers, average="macro", zero_division=0) for answers in (a, b)
    )
    assert differences["macro_f1"]["difference"] == pytest.approx(macro_b - macro_a)
    for name in ("log_loss", "brier"):
        assert differences[name]["difference"] == pytest.approx(
            summary["b"][name] - summary["a"][name]
        )
    assert summary["mcnemar"]["p_value"] == compute_mcnemar_p_value(
        right.count((True, False)), right.count((False, True))
    )
    for name in ("accuracy", "macro_f1", "log_loss", "brier"):
        low, high = differences[name]["interval"]
        assert low <= differences[name]["difference"] <= high


@given(documents, st.randoms(use_true_random=False))
def test_document_order_does_not_change_the_comparison(
    rows: list[tuple[str, str, str]], random: np.random.RandomState
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    summaries = []
    for some in (rows, shuffled):
        truth, a, b = (list(column) for column in zip(*some, strict=True))
        summaries.append(
            to_json_values(
                _Comparison(
                    evaluation_of(LABELS, truth, a), evaluation_of(LABELS, truth, b)
                ).result(Bootstrap(20))
            )
        )
    first, second = (summary.pop("differences") for summary in summaries)
    assert first == {name: {**of, "difference": pytest.approx(of["difference"]), "interval": of["interval"] and pytest.approx(of["interval"])} for name, of in second.items()}  # fmt: skip
    for side in "ab":
        for summary in summaries:
            summary[side] = {
                name: pytest.approx(value) if isinstance(value, float) else value
                for name, value in summary[side].items()
            }
    assert summaries[0]["table"] == summaries[1]["table"]
    assert summaries[0]["changes"] == summaries[1]["changes"]


@pytest.mark.repeated
def test_bootstrap_of_predictions_matches_resampled_documents() -> None:
    generator = np.random.default_rng(1)
    truth = generator.choice(LABELS, 200)
    a, b = (
        np.where(generator.random(200) < share, truth, generator.choice(LABELS, 200))
        for share in (0.5, 0.7)
    )
    numbers = [np.searchsorted(LABELS, column) for column in (truth, a, b)]
    made = bootstrap_differences(
        _count_prediction_cells(numbers[0], numbers[1], numbers[2], len(LABELS)),
        Bootstrap(4000),
        single_label_table(len(LABELS)),
    )
    slow: dict[str, list[float]] = {"accuracy": [], "macro_f1": []}
    for _ in range(rounds(120, 1500)):
        rows = generator.integers(200, size=200)
        slow["accuracy"].append(
            accuracy_score(truth[rows], b[rows]) - accuracy_score(truth[rows], a[rows])
        )
        macro_a, macro_b = (
            f1_score(truth[rows], answers[rows], average="macro", zero_division=0)
            for answers in (a, b)
        )
        slow["macro_f1"].append(macro_b - macro_a)
    for name, values in slow.items():
        assert made[name].mean() == pytest.approx(np.mean(values), abs=rounds(12, 6) / 1000)
        assert made[name].std() == pytest.approx(np.std(values), rel=rounds(16, 8) / 100)


@pytest.mark.parametrize("tail", [0.0, 30.0])
def test_bootstrap_of_means_matches_resampled_documents(tail: float) -> None:
    generator = np.random.default_rng(2)
    values = np.concatenate(
        (generator.normal(0.1, 1, 500), generator.normal(0, 1e-9, 500), np.full(3, tail))
    )
    made = bootstrap_mean(values, Bootstrap(4000))
    assert made is not None
    slow = values[generator.integers(values.size, size=(4000, values.size))].mean(axis=1)
    assert made.mean() == pytest.approx(slow.mean(), abs=0.005)
    assert made.std() == pytest.approx(slow.std(), rel=0.06)
    assert np.quantile(made, (0.025, 0.975)) == pytest.approx(
        np.quantile(slow, (0.025, 0.975)), abs=0.015
    )


def test_bootstrap_of_infinite_values_returns_none() -> None:
    assert bootstrap_mean(np.array([0.0, np.inf]), Bootstrap(10)) is None
    assert bootstrap_mean(np.array([0.0, np.nan]), Bootstrap(10)) is None


def test_equally_good_models_are_rarely_significantly_different() -> None:
    found = dict.fromkeys(("accuracy", "macro_f1", "log_loss", "brier"), 0)
    for seed in range(200):
        generator = np.random.default_rng(seed)
        truth = generator.choice(LABELS, 150)
        sides = [
            np.where(generator.random(150) < 0.7, truth, generator.choice(LABELS, 150)).tolist()
            for _ in "ab"
        ]
        a, b = (evaluation_of(LABELS, truth.tolist(), answers) for answers in sides)
        differences = to_json_values(_Comparison(a, b).result(Bootstrap(200)))["differences"]
        for name in found:
            found[name] += differences[name]["beyond_chance"]
    assert all(0 < times <= 20 for times in found.values()), found


def test_few_documents_give_no_significant_difference() -> None:
    truth, wrong = ["ape"] * 5, ["bee"] * 5
    summary = to_json_values(
        _Comparison(
            evaluation_of(LABELS, truth, wrong), evaluation_of(LABELS, truth, truth)
        ).result()
    )
    assert [of["beyond_chance"] for of in summary["differences"].values()] == [
        False,
        False,
        False,
        False,
        None,
    ]
    truth, wrong = ["ape"] * 6, ["bee"] * 6
    summary = to_json_values(
        _Comparison(
            evaluation_of(LABELS, truth, wrong), evaluation_of(LABELS, truth, truth)
        ).result()
    )
    assert [of["beyond_chance"] for of in summary["differences"].values()] == [
        True,
        True,
        True,
        True,
        None,
    ]


def test_models_with_different_classes_are_compared_by_name() -> None:
    truth = ["ape", "bee", "cow", "dog"]
    a = evaluation_of(["ape", "bee"], truth, ["ape", "bee", "bee", "bee"])
    b = evaluation_of(["bee", "cow"], truth, ["cow", "bee", "cow", "bee"])
    summary = to_json_values(_Comparison(a, b).result(Bootstrap(20)))
    assert summary["table"] == {
        "both_right": 1,
        "only_a_right": 1,
        "only_b_right": 1,
        "both_wrong": 1,
    }
    assert (summary["a"]["unknown_labels"], summary["b"]["unknown_labels"]) == (
        ["cow", "dog"],
        ["ape", "dog"],
    )
    assert summary["disagreements"] == 2
    assert (summary["a"]["log_loss"], summary["differences"]["log_loss"]["interval"]) == (
        None,
        None,
    )
    assert summary["differences"]["brier"]["interval"] is not None


def test_abstaining_counts_as_wrong_and_differs_from_a_prediction() -> None:
    truth = ["ape", "bee"]
    summary = to_json_values(
        _Comparison(
            evaluation_of(LABELS, truth, [None, None]), evaluation_of(LABELS, truth, ["ape", None])
        ).result(Bootstrap(20))
    )
    assert summary["table"] == {
        "both_right": 0,
        "only_a_right": 0,
        "only_b_right": 1,
        "both_wrong": 1,
    }
    assert summary["changes"] == [{"truth": "ape", "a": None, "b": "ape", "documents": 1}]


def documents_of(texts: dict[str, str]) -> list[Document]:
    return [Document(name, name.partition("/")[0], text.encode()) for name, text in texts.items()]


def test_model_compared_with_itself_has_no_difference() -> None:
    model = pets_classifier()
    comparison = compare_on_documents(
        model,
        model,
        documents_of({**PETS, "cats/3": "sticks", "birds/1": "bark"}),
        keep_disagreements=True,
    )
    summary = to_json_values(comparison.result())
    assert (
        summary["identical"],
        summary["disagreements"],
        summary["changes"],
        comparison.disagreements,
    ) == (
        True,
        0,
        [],
        [],
    )
    assert summary["mcnemar"]["p_value"] == 1
    assert {of["difference"] for of in summary["differences"].values()} == {0.0, None}
    assert not any(of["beyond_chance"] for of in summary["differences"].values())


def test_each_model_uses_its_own_analysis_and_disagreements_keep_their_order() -> None:
    texts, labels = ["a cat", "a cats", "dog"], ["one", "many", "one"]
    stemmed = TextClassifier().fit(texts, labels)
    plain = TextClassifier(stemmer="none").fit(texts, labels)
    asked = {"many/1": "cats", "one/2": "dog", "many/3": "cats cats"}
    comparison = compare_on_documents(stemmed, plain, documents_of(asked), keep_disagreements=True)
    answers = [
        (a, b)
        for a, b in zip(
            stemmed.predict(asked.values()).tolist(),
            plain.predict(asked.values()).tolist(),
            strict=True,
        )
    ]
    changed = [
        (name, *pair) for name, pair in zip(asked, answers, strict=True) if pair[0] != pair[1]
    ]
    assert changed
    assert [(of.id, of.a, of.b) for of in comparison.disagreements] == changed
    for of in comparison.disagreements:
        for model, label, probability in (
            (stemmed, of.a, of.probability_a),
            (plain, of.b, of.probability_b),
        ):
            assert label is not None
            assert probability == pytest.approx(
                model.predict_proba([asked[of.id]])[0][model.classes.index(label)]
            )
    assert compare_on_documents(stemmed, plain, documents_of(asked)).disagreements == []


def test_impossible_document_has_no_prediction() -> None:
    a, b = pets_classifier(estimate="ml"), pets_classifier()
    comparison = compare_on_documents(
        a, b, documents_of({"cats/1": "cats bark"}), keep_disagreements=True
    )
    assert comparison.disagreements[0][:4] == ("cats/1", "cats", None, None)
