"""Gaussian discriminant analysis of text: the steps put together, degenerate corpora, the model file, and the real command."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from nbtext import TextClassifier
from nbtext.classifiers import gaussian as discriminant
from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis
from nbtext.errors import ModelError, UsageError
from nbtext.model.state import from_plain
from nbtext.store import read_model_file
from tests.budget import examples
from tests.process import SERVICE_DESK, fail, in_json, succeed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

PLAIN: dict[str, Any] = {"classifier": "gaussian", "stop_words": "none", "stemmer": "none", "calibration": "none"}
KINDS = [
    {"covariance": covariance, "covariance_shape": shape}
    for covariance in ("shared", "separate")
    for shape in ("full", "diagonal", "spherical")
]
EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind.values()))

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")
corpora = st.lists(st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)), min_size=1, max_size=10)


def drawn(n_documents: int = 60) -> tuple[list[str], list[str]]:
    """Texts of three topics and their labels."""
    draw = np.random.default_rng(3)
    words = np.array([f"word{number:02d}" for number in range(40)])
    topics = draw.dirichlet(np.full(words.size, 0.3), 3)
    labels = [f"c{number % 3}" for number in range(n_documents)]
    return [" ".join(draw.choice(words, 20, p=topics[number % 3])) for number in range(n_documents)], labels


def of(model: TextClassifier) -> GaussianDiscriminantAnalysis:
    assert isinstance(model.classifier, GaussianDiscriminantAnalysis)
    return model.classifier


def test_scores_are_those_of_scikit_learn_on_the_same_features() -> None:
    """As far as float32 goes, in which the model is kept."""
    texts, labels = drawn()
    model = TextClassifier(**PLAIN, latent=8, shrinkage=0.1).fit(texts, labels)
    asked = drawn(90)[0][60:]
    rows, _ = of(model).space.features(model._counter.count([text.encode() for text in texts]).matrix())
    others, _ = of(model).space.features(model._counter.count([text.encode() for text in asked]).matrix())
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(rows, labels)
    np.testing.assert_allclose(model.predict_log_proba(asked), reference.predict_log_proba(others), rtol=1e-4, atol=1e-5)
    assert model.predict(asked).tolist() == reference.predict(others).tolist()
    boundary = of(model).boundary()
    assert boundary is not None
    weights, bias = boundary
    np.testing.assert_allclose(weights, reference.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(bias, reference.intercept_, rtol=1e-4)


@EVERY_KIND
def test_topics_are_told_apart(kind: dict[str, Any]) -> None:
    texts, labels = drawn(90)
    model = TextClassifier(**PLAIN, **kind).fit(texts[:60], labels[:60])
    assert model.score(texts[60:], labels[60:]) > 0.9


@EVERY_KIND
@examples(6)
@given(corpus=corpora, calibrated=st.booleans())
def test_any_corpus_gives_a_model(kind: dict[str, Any], corpus: list[tuple[str, str]], calibrated: bool) -> None:
    """One class, a class of one document, documents without words, fewer documents than dimensions."""
    parameters = {**PLAIN, **kind, "calibration": "length" if calibrated else "none"}
    model = TextClassifier(**parameters).fit([text for _, text in corpus], [label for label, _ in corpus])
    probabilities = model.predict_proba(["ant bee", "unknown words", "", *(text for _, text in corpus)])
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[1:3], [model.prior] * 2, rtol=1e-12)


@EVERY_KIND
def test_permuted_classes_permute_the_answers(kind: dict[str, Any]) -> None:
    texts, labels = drawn()
    other = {"c0": "z", "c1": "x", "c2": "y"}
    plain = TextClassifier(**PLAIN, **kind).fit(texts, labels).predict(texts).tolist()
    permuted = TextClassifier(**PLAIN, **kind).fit(texts, [other[label] for label in labels]).predict(texts).tolist()
    assert permuted == [other[str(label)] for label in plain]


@EVERY_KIND
def test_saved_and_loaded_it_answers_the_same_and_the_order_of_documents_plays_no_part(tmp_path: Path, kind: dict[str, Any]) -> None:
    texts, labels = drawn()
    parameters = {**PLAIN, **kind, "calibration": "auto"}
    model = TextClassifier(**parameters).fit(texts, labels)
    model.save(str(tmp_path / "a"))
    loaded = TextClassifier.load(str(tmp_path / "a"))
    assert np.array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    pairs = list(zip(texts, labels, strict=True))
    random.Random(1).shuffle(pairs)
    TextClassifier(**parameters).fit(*zip(*pairs, strict=True)).save(str(tmp_path / "b"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_maximum_likelihood_without_an_inverse_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"too few documents for so many features; use shrinkage auto"):
        TextClassifier(**PLAIN, shrinkage=0).fit(["a dog barks", "one cat purrs", "two birds sing"], ["x", "x", "y"])
    (tmp_path / "c.tsv").write_text("x\tdog barks\nx\tcat purrs\ny\tbirds sing\n")
    assert "--shrinkage" in fail(2, "train c.tsv --classifier gaussian --shrinkage 0")


def test_covariances_beyond_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminant, "MOST_ROOTS", 100)
    texts, labels = drawn()
    TextClassifier(**PLAIN, latent=10).fit(texts, labels)
    with pytest.raises(UsageError, match="3 covariances of 10 features are too many; use covariance shared"):
        TextClassifier(**PLAIN, latent=10, covariance="separate").fit(texts, labels)


CHANGES: dict[str, Callable[[dict[str, NDArray[Any]]], object]] = {
    "no means": lambda arrays: arrays.pop("fitted_means"),
    "no projection": lambda arrays: arrays.pop("fitted_projection"),
    "no roots": lambda arrays: arrays.pop("fitted_roots"),
    "another name": lambda arrays: arrays.update(fitted_other=np.ones(3)),
    "a mean more": lambda arrays: arrays.update(fitted_means=np.append(arrays["fitted_means"], 0.5)),
    "a feature more": lambda arrays: arrays.update(fitted_means=np.append(arrays["fitted_means"], np.zeros(3))),
    "a projection more": lambda arrays: arrays.update(fitted_projection=np.append(arrays["fitted_projection"], 0.5)),
    "a root less": lambda arrays: arrays.update(fitted_roots=arrays["fitted_roots"][:-1]),
    "long means": lambda arrays: arrays["fitted_means"].__setitem__(0, 3.0),
    "a long projection": lambda arrays: arrays["fitted_projection"].__setitem__(0, -1e30),
    "a root of 0": lambda arrays: arrays["fitted_roots"].__setitem__(0, 0.0),
    "a negative root": lambda arrays: arrays["fitted_roots"].__setitem__(0, -1.0),
    "a large root": lambda arrays: arrays["fitted_roots"].__setitem__(1, 1e35),
    "no number": lambda arrays: arrays["fitted_means"].__setitem__(0, np.nan),
}


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[4]], ids=["full", "diagonal"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_arrays_that_training_cannot_make_are_refused(tmp_path: Path, kind: dict[str, Any], change: Callable[[Any], object]) -> None:
    TextClassifier(**PLAIN, **kind, latent=5).fit(*drawn()).save(str(tmp_path / "m"))
    settings_, arrays = read_model_file(str(tmp_path / "m"))
    arrays = {name: array.copy() for name, array in arrays.items()}
    from_plain(settings_, arrays)
    change(arrays)
    with pytest.raises(ModelError, match="the model is malformed"):
        from_plain(settings_, arrays)


def test_the_command_trains_classifies_evaluates_and_cross_validates(tmp_path: Path) -> None:
    options = ("--classifier", "gaussian", "--latent", "30")
    for name in ("m", "again"):
        assert succeed("train", SERVICE_DESK / "train", "-m", name, *options).err == b""
    assert (tmp_path / "m").read_bytes() == (tmp_path / "again").read_bytes()
    rows = succeed("classify", SERVICE_DESK / "test", "-m", "m").rows
    assert all(len(row) == 3 and 0 <= float(row[2]) <= 1 for row in rows)
    figures = in_json("evaluate", SERVICE_DESK / "test", "-m", "m", "--output", "json")
    assert figures["n"] == len(rows)
    assert figures["accuracy"] > 0.35  # there are six classes
    validated = in_json("cross-validate", SERVICE_DESK / "train", "--folds", "3", *options, "--output", "json")
    assert validated["accuracy"] > 0.35


def test_inspect_shows_the_linear_boundary(tmp_path: Path) -> None:
    texts, labels = drawn()
    (tmp_path / "c.tsv").write_text("".join(f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True)))
    (tmp_path / "prior").write_text("c0\t0\nc1\t1\nc2\t2\n")
    train = ("train", "c.tsv", "--classifier", "gaussian", "--latent", "4", "--class-prior", "prior")
    succeed(*train)
    shown = in_json("inspect --output json")["boundary"]
    boundary = of(TextClassifier.load(str(tmp_path / "nbtext.joblib"))).boundary()
    assert boundary is not None
    np.testing.assert_allclose([shown[label]["w"] for label in ("c0", "c1", "c2")], boundary.weights, atol=1e-8)
    assert [shown[label]["w_0"] for label in ("c0", "c1", "c2")] == [None, *np.round(boundary.bias[1:], 9).tolist()]
    assert "linear in 4 features" in succeed("inspect").text
    succeed(*train, "--covariance", "separate")
    assert in_json("inspect --output json")["boundary"] is None
    assert "linear" not in succeed("inspect").text
