"""Tests of logistic regression of each label against the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from nbtext import TextClassifier, UsageError
from nbtext.classifiers.logistic import MultiLabelLogisticRegression
from nbtext.counts.counting import hash_contents
from nbtext.prediction.calibration import HeldOutScores
from nbtext.prediction.labels import DocumentLabels
from tests.test_classifiers_multi_label import LABELS, SETS, TEXTS, documents

if TYPE_CHECKING:
    from pathlib import Path


DRAWN = documents(150)


def get_logistic(model: TextClassifier) -> MultiLabelLogisticRegression:
    found = model.fitted.classifier
    assert isinstance(found, MultiLabelLogisticRegression)
    return found


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 0.5] * 20])
def test_each_label_fit_matches_scikit_learn(weights: list[float] | None) -> None:
    model = TextClassifier(classifier="logistic", l2=0.3, calibration="none", stemmer="none").fit(
        TEXTS, SETS, weights
    )
    fitted, sample = get_logistic(model), model.counts.sample.documents
    features = fitted.compute_features(sample.matrix)
    x = csr_array(
        (features.counts, features.terms, features.offsets),
        shape=(len(sample), len(fitted.training.selected)),
    )
    of_documents = sample.compute_weights(model.fitted.statistics)
    scores, _ = fitted.joint_log_likelihood(sample.matrix)
    for label, truth in enumerate(sample.to_document_labels(len(LABELS)).to_mask(len(LABELS)).T):
        oracle = LogisticRegression(C=1 / 0.3, tol=1e-10, max_iter=10_000).fit(
            x, truth, of_documents
        )
        assert scores[:, label] == pytest.approx(oracle.decision_function(x), abs=2e-3)


def test_auto_l2_maximises_the_probability_of_held_out_labels() -> None:
    texts, others = DRAWN[0], documents(150)[1]
    labels = [own if place % 3 else others[place] for place, own in enumerate(DRAWN[1])]

    def trained_with(l2: float | str) -> TextClassifier:
        return TextClassifier(classifier="logistic", l2=l2, stemmer="none").fit(texts, labels)

    def loss(l2: float) -> float:
        judged = trained_with(l2).fitted.parameters.calibration_quality
        assert judged is not None
        return judged["before"]["log_loss"]

    chosen = get_logistic(trained_with("auto")).outcome.l2
    assert 1e-5 < chosen < 100
    assert all(loss(chosen) <= loss(factor * chosen) for factor in (0.1, 10))


def test_loss_sums_over_labels_and_skips_documents_with_unknown_labels() -> None:
    scores, truth = (
        np.array([[1.0, -2.0], [0.5, -np.inf], [3.0, -np.inf]]),
        DocumentLabels.from_sets([[0], [1], []], 2),
    )
    nobody = np.zeros(3, np.int64)
    wanted = [np.log1p(np.exp(-1)) + np.log1p(np.exp(-2)), np.log1p(np.exp(3))]
    assert MultiLabelLogisticRegression.compute_held_out_loss(
        HeldOutScores(scores, nobody, nobody, truth, np.array([1.0, 5.0, 3.0]))
    ) == pytest.approx(np.average(wanted, weights=[1, 3]))


def test_label_of_one_or_all_documents_has_finite_probabilities(tmp_path: Path) -> None:
    labels = [[*own, "all"] for own in SETS[:-1]] + [["all", "rare"]]
    model = TextClassifier(classifier="logistic").fit(TEXTS, labels)
    model.save(str(tmp_path / "m"))
    p = TextClassifier.load(str(tmp_path / "m")).predict_proba(TEXTS)
    assert np.isfinite(p).all()
    assert p[:, model.classes.index("all")].min() > 0.9


def test_held_out_predictions_are_stored_in_the_file(tmp_path: Path) -> None:
    model = TextClassifier(classifier="logistic").fit(TEXTS, SETS)
    model.save(str(tmp_path / "m"))
    before, after = (
        model.fitted.parameters.held_out_posteriors,
        TextClassifier.load(str(tmp_path / "m")).fitted.parameters.held_out_posteriors,
    )
    assert before is not None
    assert after is not None
    assert before.truth.to_names(LABELS) == after.truth.to_names(LABELS)
    assert after.log_posterior == pytest.approx(before.log_posterior, rel=1e-6)
    hashes = np.sort(hash_contents([text.encode() for text in TEXTS]))
    truth = dict(zip(hash_contents([text.encode() for text in TEXTS]).tolist(), SETS, strict=True))
    held_out = hashes[2::5].tolist()
    assert [list(labels) for labels in after.truth.to_names(LABELS)] == [
        truth[content] for content in held_out
    ]


def test_uniform_prior_removes_the_label_proportions() -> None:
    empirical, uniform = (
        TextClassifier(classifier="logistic", l2=0.3, calibration="none", class_prior=prior).fit(
            TEXTS, SETS
        )
        for prior in ("empirical", "uniform")
    )
    holding = np.array([sum(label in own for own in SETS) for label in LABELS])
    moved = empirical.joint_log_likelihood(TEXTS) - uniform.joint_log_likelihood(TEXTS)
    assert moved == pytest.approx(
        np.tile(np.log((holding + 0.5) / (len(SETS) - holding + 0.5)), (len(TEXTS), 1))
    )


def test_logistic_model_cannot_be_updated() -> None:
    with pytest.raises(UsageError, match="does not follow from sums of counts"):
        TextClassifier(classifier="logistic").fit(TEXTS, SETS).partial_fit(["corn1"], [["corn"]])


@pytest.mark.parametrize("extra", [[], ["b", "c"]])
def test_label_of_all_documents_is_probable_without_warnings(extra: list[str]) -> None:
    labels = [["a"], ["a"], ["a", *extra]]
    texts = ["wind", "wind", "wind snow hail"]
    model = TextClassifier(classifier="logistic", l2=1, stemmer="none").fit(texts, labels)
    assert model.predict_proba(texts)[:, 0].min() > 0.95
