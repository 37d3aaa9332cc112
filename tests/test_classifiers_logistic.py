"""Logistic regression as a classifier of text: features and scales by hand, the fit, the choice of l2, the model file, the real command."""

from __future__ import annotations

from collections import Counter
from functools import partial
from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression as Oracle

from nbtext import TextClassifier
from nbtext.classifiers import logistic
from nbtext.classifiers.base import Training
from nbtext.classifiers.held_out import score_held_out_sample
from nbtext.classifiers.logistic import (
    FIRST_L2,
    MAX_SEARCH_EXCESS_NATS,
    MAX_SETTLED_EXCESS_NATS,
    STRONGER_L2,
    WEAKER_L2,
    ClassTruth,
    LogisticProblem,
    LogisticRegression,
    _Vector,
    minimize_by_lbfgs,
)
from nbtext.counts.counting import Analysis
from nbtext.counts.statistics import estimate_statistics
from nbtext.errors import UsageError
from nbtext.model.description import list_warnings
from nbtext.prediction.calibration import fit_length_temperature
from nbtext.settings import Settings
from tests.models import count_documents
from tests.profiles import examples, rounds

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")
PLAIN: dict[str, Any] = {"classifier": "logistic", "stemmer": "none", "stop_words": "none"}


def draw_corpus(seed: int, n: int = 60, labels: str = "ABC") -> tuple[list[str], list[str]]:
    """Texts whose words depend on their class a little."""
    generator = np.random.default_rng(seed)
    classes = generator.integers(len(labels), size=n)
    chances = generator.dirichlet(np.ones(len(WORDS)), len(labels))
    texts = [
        " ".join(generator.choice(WORDS, 1 + generator.integers(8), p=chances[k])) for k in classes
    ]
    return texts, [labels[k] for k in classes]


def training(
    texts: list[str], labels: list[str], smoothing: float = 1.0, **parameters: Any
) -> Training:
    values = Settings.from_values({**PLAIN, **parameters})
    table, documents = count_documents(
        [(label, text.encode()) for label, text in zip(labels, texts, strict=True)],
        Analysis(values),
    )
    statistics = estimate_statistics(table)
    return Training(statistics, np.ones(statistics.n_terms, np.bool_), smoothing, values, documents)


def fitted(seed: int = 1, **parameters: Any) -> TextClassifier:
    return TextClassifier(**{**PLAIN, **parameters}).fit(*draw_corpus(seed))


def loss(scores: Floats, truth: NDArray[np.integer[Any]]) -> float:
    return float(-log_softmax(scores, axis=1)[np.arange(truth.size), truth].mean())


def by_hand(texts: list[str], labels: list[str], alpha: float) -> tuple[Floats, Floats]:
    """Return x_jd, shape (n_docs, n_terms), and 1 + |r_jk|, shape (n_terms, n_classes), of terms and classes in order."""
    counts = [Counter(text.split()) for text in texts]
    terms, classes = sorted(set().union(*counts)), sorted(set(labels))
    x = np.zeros((len(texts), len(terms)))
    for d, count in enumerate(counts):
        weights = {
            t: log(1 + n) * log(len(texts) / sum(t in other for other in counts))
            for t, n in count.items()
        }
        length = sqrt(sum(weight**2 for weight in weights.values()))
        for t, weight in weights.items():
            x[d, terms.index(t)] = weight / length if length else 0.0
    scale = np.empty((len(terms), len(classes)))
    for k, label in enumerate(classes):
        own: Counter[str] = sum(
            (c for c, of in zip(counts, labels, strict=True) if of == label), Counter()
        )
        rest: Counter[str] = sum(
            (c for c, of in zip(counts, labels, strict=True) if of != label), Counter()
        )
        for j, t in enumerate(terms):
            shares = [
                (side[t] + alpha) / (sum(side.values()) + alpha * len(terms))
                for side in (own, rest)
            ]
            scale[j, k] = 1 + abs(log(shares[0] / shares[1]))
    return x, scale


@examples(6)
@given(seed=st.integers(0, 1000), l2=st.sampled_from([0.1, 1.0]), alpha=st.sampled_from([0.5, 1.0]))
def test_logistic_fit_minimises_the_written_objective(seed: int, l2: float, alpha: float) -> None:
    texts, labels = draw_corpus(seed, 30)
    given_ = training(texts, labels, alpha, l2=l2)
    model = LogisticRegression.estimate(given_)
    x, scale = by_hand(texts, labels, alpha)
    truth = np.array([given_.statistics.classes.index(label) for label in labels])

    def objective(flat: Floats) -> float:
        w, b = flat[: scale.size].reshape(scale.shape), flat[scale.size :]
        return len(truth) * loss(x @ (w * scale) + b, truth) + l2 / 2 * float((w**2).sum())

    options = {"maxiter": 1000, "maxfun": 10**6, "ftol": 1e-12}
    least = minimize(
        objective, np.zeros(scale.size + len(model.bias)), method="L-BFGS-B", options=options
    ).fun
    weights = model.compute_weights(np.arange(len(scale)))
    of_model = objective(np.concatenate((weights / scale, [model.bias]), axis=0).ravel())
    assert of_model <= least + 3 * MAX_SETTLED_EXCESS_NATS * len(texts)
    assert given_.documents is not None
    assert model.joint_log_likelihood(given_.documents.matrix)[0] == pytest.approx(
        x @ weights + model.bias, abs=1e-9
    )


def test_strengths_of_a_large_corpus_are_compared_with_few_iterations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, labels = draw_corpus(1, 200)
    settled = LogisticRegression.estimate(training(texts, labels))
    monkeypatch.setattr(logistic, "MAX_CHEAP_ITERATION_NUMBERS", 1000)
    ended = LogisticRegression.estimate(training(texts, labels))
    assert (
        settled.outcome.excess
        <= MAX_SETTLED_EXCESS_NATS
        < ended.outcome.excess
        <= MAX_SEARCH_EXCESS_NATS
    )
    assert ended.outcome.n_iterations < settled.outcome.n_iterations


@pytest.mark.repeated
@pytest.mark.parametrize("seed", range(rounds(2, 6)))
def test_auto_l2_maximises_the_probability_of_held_out_documents(seed: int) -> None:
    """After calibration; each strength is fitted by itself, from the start."""
    texts, labels = draw_corpus(seed, 150)
    model = TextClassifier(**PLAIN).fit(texts, labels)
    (chosen, _, _), grid = (
        model.fitted.parameters.classifier_arrays["outcome"].tolist(),
        sorted({FIRST_L2, *WEAKER_L2[:6], *STRONGER_L2}),
    )
    losses = []
    for l2 in grid:
        given_ = training(texts, labels, l2=l2)
        assert given_.documents is not None
        scores, lengths, _, held_out, _ = score_held_out_sample(
            LogisticRegression.estimate(given_), given_, given_.documents
        )
        truth = held_out.indices
        assert truth.size == 30
        losses.append(
            -fit_length_temperature(scores, truth, lengths)
            .compute_log_posterior(scores, lengths)[np.arange(30), truth]
            .mean()
        )
    assert chosen in grid
    assert losses[grid.index(chosen)] <= min(losses) + 2e-3


def test_auto_l2_tries_weaker_penalties_while_they_improve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, labels = draw_corpus(5, 100)
    falling = iter(np.linspace(1, 0, 20).tolist())
    monkeypatch.setattr(logistic, "WEAKER_L2", (0.3, 1e-4))
    monkeypatch.setattr(LogisticRegression, "compute_held_out_loss", lambda _: next(falling))
    assert LogisticRegression.estimate(training(texts, labels)).outcome.l2 == 1e-4
    monkeypatch.setattr(LogisticRegression, "compute_held_out_loss", lambda _: 1.0)
    assert LogisticRegression.estimate(training(texts, labels)).outcome.l2 == FIRST_L2


def test_held_out_documents_are_not_in_the_model_that_scores_them() -> None:
    texts, labels = draw_corpus(2, 150)
    given_ = training(
        [f"{text} own{number}" for number, text in enumerate(texts)], labels, l2=0.001
    )
    assert given_.documents is not None
    model = LogisticRegression.estimate(given_)
    unseen = score_held_out_sample(model, given_, given_.documents)
    seen = loss(model.joint_log_likelihood(given_.documents.matrix)[0], given_.documents.classes)
    assert seen < 0.1 < loss(unseen.scores, unseen.truth.indices)
    assert (unseen.unknown_lengths >= 1).all()


def test_few_documents_are_fitted_with_the_default_l2() -> None:
    model = TextClassifier(**PLAIN).fit(
        ["a cat", "the dog", "cat cat", "dog dog"], ["x", "y", "x", "y"]
    )
    assert model.fitted.parameters.classifier_arrays["outcome"][0] == 1.0
    assert model.predict(["cat", "dog"]).tolist() == ["x", "y"]


@pytest.mark.parametrize("texts", [["one"], ["", ""], ["same", "same"], ["a b", ""]])
def test_logistic_fits_one_or_two_documents(texts: list[str]) -> None:
    labels = [f"c{number}" for number in range(len(texts))]
    model = TextClassifier(**PLAIN).fit(texts, labels)
    assert model.predict_proba(["else"]) == pytest.approx(np.full((1, len(texts)), 1 / len(texts)))
    one = TextClassifier(**PLAIN).fit(texts, ["only"] * len(texts))
    assert one.predict_proba(["one", "else"]).tolist() == [[1.0], [1.0]]


def test_logistic_fits_a_class_per_document() -> None:
    texts = [f"word{number} common" for number in range(60)]
    model = TextClassifier(**PLAIN).fit(texts, [f"c{number:02d}" for number in range(60)])
    assert model.fitted.parameters.classifier_arrays["outcome"][0] == 1.0
    assert model.predict(texts[:3]).tolist() == ["c00", "c01", "c02"]


def test_classes_of_one_held_out_document_are_fitted() -> None:
    texts, labels = draw_corpus(4, 60)
    rare = [f"rare{number}" for number in range(6)]
    model = TextClassifier(**PLAIN).fit([*texts, *rare], [*labels, *rare])
    assert model.fitted.parameters.classifier_arrays["outcome"][0] in (
        FIRST_L2,
        *WEAKER_L2,
        *STRONGER_L2,
    )
    assert np.isfinite(model.fitted.parameters.classifier_arrays["bias"]).all()
    assert list_warnings(model.fitted) == []
    assert np.isfinite(model.predict_log_proba(texts)).all()


def test_logistic_model_without_terms_can_be_loaded(tmp_path: Path) -> None:
    TextClassifier(**PLAIN).fit(["", "", ""], ["x", "y", "y"]).save("m")
    assert TextClassifier.load("m").predict_proba(["word"])[0] == pytest.approx(
        [1 / 3, 2 / 3], abs=1e-6
    )


def test_class_prior_shifts_the_scores() -> None:
    asked = draw_corpus(9)[0]
    plain = fitted(calibration="none")
    moved = fitted(calibration="none", class_prior={"A": 8, "B": 1, "C": 1})
    shares = plain.fitted.statistics.class_documents / plain.fitted.statistics.n_documents
    by = moved.joint_log_likelihood(asked) - plain.joint_log_likelihood(asked)
    assert by == pytest.approx(
        np.tile(np.log([0.8, 0.1, 0.1]) - np.log(shares), (len(asked), 1)), abs=1e-9
    )


def test_unconverged_fit_warns_after_training_and_after_loading(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert list_warnings(fitted().fitted) == []
    monkeypatch.setattr(logistic, "minimize_by_lbfgs", partial(minimize_by_lbfgs, max_iterations=1))
    model = fitted(l2=0.001)
    model.save("m")
    for each in (model, TextClassifier.load("m")):
        (warning,) = list_warnings(each.fitted)
        assert warning.startswith("the fit did not converge in 1 iterations")


def test_fit_that_exceeds_memory_is_refused_with_the_size_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logistic, "NUMBERS_PER_DOCUMENT_AND_CLASS", 1 << 50)
    with pytest.raises(
        UsageError,
        match=r"needs about [\d,]+ GiB for 60 documents, 8 terms and 3 classes, and this machine has \d+; use",
    ):
        fitted()


CLASSES = 3


seeds = st.integers(0, 2**32 - 1)


strengths = st.sampled_from([0.01, 0.3, 1.0, 20.0])


def draw_rows(
    seed: int,
    documents: int = 25,
    terms: int = 12,
    *,
    absent: bool = False,
    equal: bool = False,
    alone: bool = True,
) -> tuple[Floats, Floats, Any]:
    """Features, scales and classes; ``absent`` leaves class 1 without documents, ``equal`` scales a term alike in all classes."""
    generator = np.random.default_rng(seed)
    features = generator.random((documents, terms)) * (generator.random((documents, terms)) < 0.4)
    if alone:  # three terms that at most one document has
        features[1:, terms // 2] = 0.0
        features[:-1, [0, -1]] = 0.0
    scales = (
        np.tile(1 + generator.random((terms, 1)), CLASSES)
        if equal
        else 1 + 3 * generator.random((terms, CLASSES))
    )
    classes = generator.choice([0, 2] if absent else CLASSES, documents)
    return features, scales, np.concatenate((np.array([0, 2, 2 if absent else 1]), classes[3:]))


def objective(
    weights: Floats, bias: Floats, features: Floats, scales: Floats, classes: Any, l2: float
) -> float:
    """Σ_d −log p(truth | d) + l2/2 · Σ w², as it is written."""
    scores = features @ (weights * scales) + bias
    return float(
        -log_softmax(scores, axis=1)[np.arange(len(classes)), classes].sum()
        + l2 / 2 * (weights**2).sum()
    )


def weights_of(problem: LogisticProblem, vector: _Vector, scales: Floats) -> Floats:
    return np.asarray(problem.compute_scaled_weights(vector.coefficients) / scales, np.float64)


def problem_of(
    features: Floats, scales: Floats, classes: Any, dtype: type[Any] = np.float64
) -> LogisticProblem:
    scales = scales.astype(dtype)
    return LogisticProblem.from_features(
        csr_array(features.astype(dtype)),
        lambda terms: scales[terms],
        scales.shape[1],
        ClassTruth(np.asarray(classes, np.int64)),
    )


@given(seed=seeds, l2=strengths)
def test_gradient_matches_finite_differences(seed: int, l2: float) -> None:
    features, scales, classes = draw_rows(seed)
    problem = problem_of(features, scales, classes)
    generator = np.random.default_rng(seed)
    point, way = (
        problem.make_vector(generator.normal(size=problem.shape), generator.normal(size=CLASSES))
        for _ in range(2)
    )

    def along(length: float) -> float:
        here = point.plus(way, length)
        return objective(
            weights_of(problem, here, scales), here.bias, features, scales, classes, l2
        )

    slope = problem.compute_gradient(problem.compute_residual(point), point, l2).dot(way)
    assert slope == pytest.approx((along(1e-5) - along(-1e-5)) / 2e-5, rel=1e-5, abs=1e-4)


@examples(3)
@given(seed=seeds, l2=strengths)
def test_minimum_matches_scipy_and_the_excess_estimate_is_accurate(seed: int, l2: float) -> None:
    features, scales, classes = draw_rows(seed)
    problem = problem_of(features, scales, classes)
    shape = scales.shape

    def plain(flat: Floats) -> tuple[float, Floats]:
        weights, bias = flat[: scales.size].reshape(shape), flat[scales.size :]
        posterior = np.exp(log_softmax(features @ (weights * scales) + bias, axis=1))
        posterior[np.arange(len(classes)), classes] -= 1
        slope = (features.T @ posterior) * scales + l2 * weights
        return objective(weights, bias, features, scales, classes, l2), np.concatenate(
            (slope.ravel(), posterior.sum(axis=0))
        )

    found = minimize(
        plain,
        np.zeros(scales.size + CLASSES),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )
    for precision in (1e-7, 1e-3):
        fit = minimize_by_lbfgs(problem, l2, problem.make_start(), precision, 10_000)
        assert fit.excess <= precision
        here = objective(
            weights_of(problem, fit.point, scales), fit.point.bias, features, scales, classes, l2
        )
        assert -1e-8 <= (here - found.fun) / len(classes) <= 3 * precision + 1e-8


@pytest.mark.repeated
@pytest.mark.parametrize("l2", [0.01, 0.3, 1.0, 20.0])
def test_single_precision_probabilities_match_scikit_learn(l2: float) -> None:
    for seed in range(rounds(2, 5)):
        features, scales, classes = draw_rows(seed, 300, equal=True)
        problem = problem_of(features, scales, classes, np.float32)
        point = minimize_by_lbfgs(problem, l2, problem.make_start(), MAX_SETTLED_EXCESS_NATS).point
        oracle = Oracle(C=1 / l2, tol=1e-10, max_iter=10_000).fit(features * scales[:, 0], classes)
        assert softmax(point.products + point.bias, axis=1) == pytest.approx(
            oracle.predict_proba(features * scales[:, 0]), abs=5e-4
        )


def test_more_iterations_never_increase_the_excess_in_single_precision() -> None:
    problem = problem_of(*draw_rows(3, 200, 12, alone=False), np.float32)
    excesses = [
        minimize_by_lbfgs(problem, 0.001, problem.make_start(), 0.0, most).excess
        for most in range(40)
    ]
    assert excesses == sorted(excesses, reverse=True)
    assert excesses[-1] < MAX_SETTLED_EXCESS_NATS


def test_unconverged_fit_reports_iterations_and_excess() -> None:
    problem = problem_of(*draw_rows(1))
    fit = minimize_by_lbfgs(problem, 0.01, problem.make_start(), max_iterations=2)
    assert fit.n_iterations == 2
    assert fit.excess > MAX_SEARCH_EXCESS_NATS
    assert minimize_by_lbfgs(problem, 0.01, problem.make_start()).excess <= MAX_SEARCH_EXCESS_NATS


def test_start_at_the_minimum_needs_no_iteration() -> None:
    problem = problem_of(*draw_rows(1))
    fit = minimize_by_lbfgs(problem, 0.1, problem.make_start())
    again = minimize_by_lbfgs(problem, 0.1, fit.point)
    assert fit.n_iterations > 0
    assert again.n_iterations == 0
    assert again.point.coefficients.tobytes() == fit.point.coefficients.tobytes()


def test_strong_penalty_leaves_the_class_proportions() -> None:
    features, scales, classes = draw_rows(5, 40)
    problem = problem_of(features, scales, classes)
    fit = minimize_by_lbfgs(problem, 1e9, problem.make_start())
    assert np.abs(problem.compute_scaled_weights(fit.point.coefficients)).max() < 1e-6
    assert np.exp(fit.point.bias) / np.exp(fit.point.bias).sum() == pytest.approx(
        np.bincount(classes) / 40
    )


@examples(6)
@given(seed=seeds)
def test_class_without_documents_is_impossible_and_changes_nothing(seed: int) -> None:
    features, scales, classes = draw_rows(seed, absent=True)
    problem = problem_of(features, scales, classes)
    others = problem_of(features, scales[:, [0, 2]], classes // 2)
    one, other = (
        minimize_by_lbfgs(each, 0.3, each.make_start(), 1e-10, 10_000).point
        for each in (problem, others)
    )
    assert one.bias[1] == -np.inf
    assert one.bias[[0, 2]] == pytest.approx(other.bias, abs=1e-3)
    assert problem.compute_scaled_weights(one.coefficients)[:, [0, 2]] == pytest.approx(
        others.compute_scaled_weights(other.coefficients), abs=1e-3
    )
    assert not problem.compute_scaled_weights(one.coefficients)[:, 1].any()
