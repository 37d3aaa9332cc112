"""Posteriors of left-out documents against models that are trained again without the document, and those that a model file keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.model.training import compute_held_out_posteriors
from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior, normalize_log_joint

if TYPE_CHECKING:
    from pathlib import Path

WORDS = {"a": ["sofa", "cat", "purr"], "b": ["dog", "bark", "bone"], "c": ["sun", "rain", "wind"]}


def corpus(n: int = 60, seed: int = 0) -> tuple[list[str], list[str]]:
    draw, everything = (
        np.random.default_rng(seed),
        [word for words in WORDS.values() for word in words],
    )
    labels = ["abc"[number % 3] for number in range(n)]
    return [
        " ".join(draw.choice(WORDS[label] * 2 + everything, 2 + number % 5))
        for number, label in enumerate(labels)
    ], labels


def model(**parameters: Any) -> TextClassifier:
    return TextClassifier(stop_words="none", stemmer="none", **parameters).fit(*corpus())


def test_held_out_posterior_equals_a_model_trained_without_the_document() -> None:
    texts, labels = corpus()
    whole = TextClassifier(stop_words="none", stemmer="none", smoothing=1.0).fit(texts, labels)
    found, calibration = (
        compute_held_out_posteriors(whole.fitted),
        whole.fitted.parameters.calibration,
    )
    twins = []
    for place, text in enumerate(texts):
        others = TextClassifier(
            stop_words="none", stemmer="none", smoothing=1.0, calibration="none"
        )
        others.fit(texts[:place] + texts[place + 1 :], labels[:place] + labels[place + 1 :])
        scored = others.fitted.score([text.encode()])
        twins.append(
            (
                labels[place],
                *calibration.compute_log_posterior(scored.scores, scored.lengths)[0].tolist(),
            )
        )
    mine = [
        ("abc"[label], *row)
        for label, row in zip(
            found.truth.indices.tolist(), found.log_posterior.tolist(), strict=True
        )
    ]
    assert np.array([row[1:] for row in sorted(mine)]) == pytest.approx(
        np.array([row[1:] for row in sorted(twins)]), abs=1e-9
    )
    assert np.all(found.weights == 1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"classifier": "bernoulli"},
        {"classifier": "complement"},
        {"classifier": "average", "members": "multinomial:log+bernoulli"},
        {"classifier": "multinomial"},
        {"classifier": "multinomial", "calibration": "none"},
        {"classifier": "multinomial", "top": 6},
        {"classifier": "multinomial", "class_weight": "balanced"},
    ],
)
def test_count_models_compute_held_out_posteriors_after_loading(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    whole = model(**parameters)
    assert whole.fitted.parameters.held_out_posteriors is None
    found = compute_held_out_posteriors(whole.fitted)
    assert len(found.truth) == len(found.weights) == 60
    assert np.exp(found.log_posterior).sum(axis=1) == pytest.approx(1)
    assert found.log_posterior.argmax(axis=1).tolist() != found.truth.indices.tolist()
    whole.save("m")
    again = compute_held_out_posteriors(TextClassifier.load("m").fitted)
    assert again.log_posterior == pytest.approx(found.log_posterior)
    assert again.truth.indices.tolist() == found.truth.indices.tolist()
    assert again.weights == pytest.approx(found.weights)


@pytest.mark.parametrize(
    "parameters",
    [
        {"classifier": "logistic"},
        {"classifier": "gaussian", "latent": 3},
        {"classifier": "average"},
        {"weighting": "tfidf"},
    ],
)
def test_non_additive_models_store_held_out_posteriors(
    parameters: dict[str, Any], tmp_path: Path
) -> None:
    whole = model(**parameters)
    found = compute_held_out_posteriors(whole.fitted)
    whole.save("m")
    again = compute_held_out_posteriors(TextClassifier.load("m").fitted)
    assert again.log_posterior == pytest.approx(found.log_posterior, rel=1e-6)
    assert again.truth.indices.tolist() == found.truth.indices.tolist()


def test_model_without_stored_held_out_posteriors_is_refused() -> None:
    with pytest.raises(UsageError, match="train it again"):
        compute_held_out_posteriors(model(classifier="logistic", calibration="none").fitted)
    with pytest.raises(UsageError, match="the model has no documents to hold out"):
        compute_held_out_posteriors(model(keep_documents=0).fitted)


def test_class_of_one_document_is_unknown_when_held_out() -> None:
    texts, labels = corpus()
    found = compute_held_out_posteriors(
        TextClassifier(stop_words="none", stemmer="none")
        .fit([*texts, "moon"], [*labels, "d"])
        .fitted
    )
    assert found.log_posterior[found.truth.indices == 3, 3].tolist() == [-np.inf]
    impossible = ClassPosterior(normalize_log_joint(np.full((1, 2), -np.inf)))
    assert (
        len(
            HeldOutPosteriors.from_posterior(
                impossible, DocumentLabels(np.zeros(1, np.int64), single_label_table(2)), np.ones(1)
            ).truth
        )
        == 0
    )


def test_model_without_held_out_posteriors_asks_for_retraining() -> None:
    whole = model(classifier="logistic")
    whole._fitted = replace(
        whole.fitted, parameters=replace(whole.fitted.parameters, held_out_posteriors=None)
    )
    with pytest.raises(UsageError, match="train it again"):
        compute_held_out_posteriors(whole.fitted)
