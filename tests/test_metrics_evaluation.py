"""Figures of merit, against the slow twin and scikit-learn.

Also tests `metrics/outcomes.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from nbtext.metrics import BINS, NORMAL_95, Evaluation, wilson_interval
from nbtext.metrics.intervals import Bootstrap
from tests import oracle_metrics as oracle
from tests.budget import examples

CLASSES = ["a", "b", "c"]
PLAIN = Bootstrap(0)
Judged = list[tuple[str, tuple[float, float, float]]]

probabilities = st.tuples(*[st.integers(0, 1000)] * 3).filter(any).map(lambda row: tuple(part / sum(row) for part in row))


def judged(labels: list[str], rows: st.SearchStrategy[Any]) -> st.SearchStrategy[Judged]:
    return st.lists(st.tuples(st.sampled_from(labels), rows), min_size=1, max_size=25)


def log(rows: list[tuple[float, float, float]]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    table = np.array(rows, float).reshape(-1, 3)
    logarithms: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.log(table, out=np.full_like(table, -np.inf), where=table > 0)
    return logarithms


def evaluate(documents: Judged, block: int = 100) -> Evaluation:
    evaluation = Evaluation(CLASSES)
    for begin in range(0, len(documents), block):
        labels, rows = zip(*documents[begin : begin + block], strict=True)
        evaluation.add(labels, log(list(rows)))
    return evaluation


def answers(documents: Judged) -> list[str]:
    return [CLASSES[row.index(max(row))] for row in np.exp(log([row for _, row in documents])).tolist()]


@examples(16)
@given(judged([*CLASSES, "unknown", "other"], probabilities))
def test_all_figures_are_the_slow_twins(documents: Judged) -> None:
    summary = evaluate(documents).summary(PLAIN)
    truth, answered = [label for label, _ in documents], answers(documents)
    given_probabilities = [dict(zip(CLASSES, row, strict=True)) for _, row in documents]
    assert summary["n"] == len(documents)
    assert summary["accuracy"] == sum(t == a for t, a in zip(truth, answered, strict=True)) / len(truth)
    assert summary["brier"] == pytest.approx(oracle.brier(truth, given_probabilities), rel=1e-12, abs=1e-15)
    log_loss = oracle.log_loss(truth, given_probabilities)
    assert summary["log_loss"] == (pytest.approx(log_loss, rel=1e-12, abs=1e-15) if math.isfinite(log_loss) else None)
    for label, figures in summary["per_class"].items():
        wanted = oracle.precision_recall_f1(truth, answered, label)
        assert (figures["precision"], figures["recall"], figures["f1"]) == pytest.approx(wanted, rel=1e-15)
        assert figures["support"] == truth.count(label)
    cells = {(t, a): n for t, row in summary["confusion"].items() for a, n in row.items()}
    assert cells == Counter(zip(truth, answered, strict=True))
    assert summary["unknown_labels"] == list(dict.fromkeys(label for label in truth if label not in CLASSES))
    assert summary["classes"] == CLASSES + summary["unknown_labels"]


@given(judged(CLASSES, probabilities))
def test_calibration_error_is_the_slow_twins(documents: Judged) -> None:
    confidence = np.exp(log([row for _, row in documents])).max(axis=1).tolist()
    right = [label == answer for (label, _), answer in zip(documents, answers(documents), strict=True)]
    wanted = oracle.expected_calibration_error(right, confidence, BINS)
    assert evaluate(documents).summary(PLAIN)["ece"] == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_interval_is_wilsons(case: tuple[int, int]) -> None:
    hits, n = case
    low, high = wilson_interval(hits, n)
    assert (low, high) == pytest.approx(oracle.wilson(hits, n, NORMAL_95), rel=1e-9, abs=1e-12)
    wanted = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), rel=1e-9, abs=1e-12)
    assert 0 <= low <= hits / n <= high <= 1


def test_of_no_documents_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0, 1)
    assert Evaluation(CLASSES).n == 0
    summary = Evaluation(CLASSES).summary(PLAIN)
    figures = ("accuracy", "macro_precision", "macro_recall", "macro_f1", "log_loss", "brier", "ece")
    assert {name: summary[name] for name in figures} == dict.fromkeys(figures)
