"""Documents with a wrong label are found by what all others say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nbtext.evaluation import cross_validation
from nbtext.evaluation.label_errors import find_suspects
from nbtext.model import TextClassifier
from nbtext.model.training import resolve_smoothing_terms
from tests.models import count_documents, split_labelled
from tests.process import SERVICE_DESK

DESK = [(path.parent.name, path.read_bytes()) for path in sorted(SERVICE_DESK.rglob("*/*/*.txt"))]


def test_log_odds_match_models_trained_without_the_document() -> None:
    documents = DESK[::7]
    settings: dict[str, Any] = {"smoothing": 0.3, "calibration": "none"}
    model = TextClassifier(**settings)
    statistics, rows = count_documents(documents, model.analysis)
    found = find_suspects(statistics, rows, model.settings)
    wanted = {}
    for row, (label, text) in enumerate(documents):
        others = documents[:row] + documents[row + 1 :]
        refitted = TextClassifier(**settings).fit(*split_labelled(others))
        posterior = dict(
            zip(refitted.classes, refitted.predict_log_proba([text])[0].tolist(), strict=True)
        )
        of_label = posterior.pop(label)
        best = max(posterior, key=lambda other: posterior[other])
        if posterior[best] > of_label:
            wanted[row] = (posterior[best] - of_label, label, best, np.exp(posterior[best]))
    assert sorted(found.rows.tolist()) == sorted(wanted)
    assert len(wanted) > 5
    assert found.log_odds.tolist() == sorted(found.log_odds.tolist(), reverse=True)
    labels = (
        found.labels.to_texts(statistics.classes),
        found.suggested.to_texts(statistics.classes),
    )
    figures = (found.log_odds.tolist(), found.probabilities.tolist())
    for row, label, suggested, log_odds, probability in zip(
        found.rows.tolist(), *labels, *figures, strict=True
    ):
        assert (label, suggested) == wanted[row][1:3]
        assert (log_odds, probability) == (
            pytest.approx(wanted[row][0], abs=1e-9),
            pytest.approx(wanted[row][3], rel=1e-9),
        )
    few = find_suspects(statistics, rows, model.settings, min_log_odds=float(found.log_odds[3]))
    assert few.rows.tolist() == found.rows[:3].tolist()


def test_folds_in_processes_give_the_same_suspects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_validation, "MIN_PARALLEL_ENTRIES", 0)
    model = TextClassifier(classifier="logistic", l2=1.0)
    statistics, rows = count_documents(DESK[::3], model.analysis)
    alone, together = (
        find_suspects(statistics, rows, resolve_smoothing_terms(model.analysis), jobs=n)
        for n in (1, 2)
    )
    assert len(alone.rows) > 5
    for name in ("rows", "log_odds", "probabilities"):
        assert getattr(together, name).tolist() == getattr(alone, name).tolist()
    for name in ("labels", "suggested"):
        assert getattr(together, name).to_texts(statistics.classes) == getattr(
            alone, name
        ).to_texts(statistics.classes)


@pytest.mark.parametrize(
    "settings",
    [{}, {"weighting": "tfidf"}, {"weighting": "log", "class_weight": "balanced"}],
    ids=str,
)
def test_planted_label_errors_rank_first(settings: dict[str, Any]) -> None:
    """Three classes with words of their own and many in common; one label in twenty is wrong."""
    generator = np.random.default_rng(0)
    n, planted = 400, 20
    truth = generator.integers(3, size=n)
    texts = [
        " ".join(
            [f"own{k}x{w}" for w in generator.integers(40, size=6)]
            + [f"all{w}" for w in generator.integers(200, size=20)]
        ).encode()
        for k in truth.tolist()
    ]
    wrong = generator.choice(n, planted, replace=False)
    labels = truth.copy()
    labels[wrong] = (truth[wrong] + generator.integers(1, 3, size=planted)) % 3
    model = TextClassifier(**settings)
    names = [f"c{k}" for k in labels.tolist()]
    statistics, rows = count_documents(list(zip(names, texts, strict=True)), model.analysis)
    found = find_suspects(statistics, rows, model.settings)
    first = found.rows[:planted]
    assert np.isin(first, wrong).mean() >= 0.9
    planted_rows = np.isin(found.rows, wrong)
    assert (found.suggested.indices[planted_rows] == truth[found.rows[planted_rows]]).mean() >= 0.9


def test_single_document_of_a_class_is_not_a_suspect() -> None:
    model = TextClassifier(stemmer="none")
    documents = [
        ("a", b"ant ape"),
        ("a", b"ant"),
        ("b", b"bee"),
        ("b", b"bee bat"),
        ("c", b"ant ape"),
    ]
    statistics, rows = count_documents(documents, model.analysis)
    assert 4 not in find_suspects(statistics, rows, model.settings).rows.tolist()
    statistics, rows = count_documents([*documents, ("c", b"cow")], model.analysis)
    assert 4 in find_suspects(statistics, rows, model.settings).rows.tolist()


def test_equal_documents_keep_their_order() -> None:
    model = TextClassifier(stemmer="none", calibration="none")
    documents = [
        ("a", b"ant"),
        ("b", b"bee"),
        ("a", b"bee"),
        ("b", b"bee"),
        ("a", b"bee"),
        ("a", b"ant"),
        ("b", b"bee bee"),
    ]
    statistics, rows = count_documents(documents, model.analysis)
    found = find_suspects(statistics, rows, model.settings)
    assert (found.log_odds[0], found.log_odds[2]) == (found.log_odds[1], found.log_odds[3])
    assert found.rows.tolist() == [2, 4, 1, 3]
