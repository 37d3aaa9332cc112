"""Gaussian discriminant analysis: covariances, scores, boundaries, degenerate corpora, the model file, and the real command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from nbtext import TextClassifier
from nbtext.classifiers import gaussian
from nbtext.classifiers import gaussian as discriminant
from nbtext.classifiers.gaussian import (
    PRIOR_DOCUMENTS_PER_FEATURE,
    GaussianClasses,
    GaussianDiscriminantAnalysis,
    compute_gaussian_boundary,
    compute_ledoit_wolf_weight,
    compute_second_moments,
    estimate_covariances,
)
from nbtext.errors import UsageError
from nbtext.prediction.posterior import normalize_log_joint
from tests.models import split_labelled
from tests.process import fail, in_json, succeed, write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Data = tuple[Floats, NDArray[np.int64]]

SHAPES = ("full", "diagonal", "spherical")
KINDS = [(separate, shape) for separate in (False, True) for shape in SHAPES]
EVERY_KIND = pytest.mark.parametrize(("separate", "shape"), KINDS)


def draw_points(seed: int = 1, sizes: tuple[int, ...] = (30, 20, 45), n_features: int = 4) -> Data:
    """Documents of classes of several sizes, shuffled; features far from 0 and of unlike spread."""
    random = np.random.default_rng(seed)
    parts = [
        random.normal(size=(size, n_features)) @ random.normal(size=(n_features, n_features))
        + random.normal(100, 3, n_features)
        for size in sizes
    ]
    order = random.permutation(sum(sizes))
    return np.concatenate(parts)[order], np.repeat(np.arange(len(sizes)), sizes)[order]


def fitted(
    data: Data,
    *,
    separate: bool = False,
    shape: str = "full",
    shrinkage: float | None = 0.0,
    n_classes: int | None = None,
) -> GaussianClasses:
    features, classes = data
    number = int(classes.max()) + 1 if n_classes is None else n_classes
    return GaussianClasses.estimate(
        features, classes, number, separate=separate, shape=shape, shrinkage=shrinkage
    )


def prior_of(classes: NDArray[np.int64]) -> Floats:
    return np.bincount(classes) / len(classes)


def covariances_of(model: GaussianClasses) -> list[Floats]:
    """Σ_k, whole."""
    roots = [np.diag(root) if root.ndim == 1 else root for root in model.roots]
    return [np.linalg.inv(root @ root.T) for root in roots] * (len(model.means) // len(roots))


def simplified(covariance: Floats, shape: str) -> Floats:
    variances = np.diag(covariance)
    simpler: dict[str, Floats] = {
        "full": covariance,
        "diagonal": np.diag(variances),
        "spherical": np.eye(len(variances)) * variances.mean(),
    }
    return simpler[shape]


@EVERY_KIND
@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 1.0, None])
def test_gaussian_densities_match_scipy(
    separate: bool, shape: str, shrinkage: float | None
) -> None:
    data = draw_points()
    model = fitted(data, separate=separate, shape=shape, shrinkage=shrinkage)
    asked = draw_points(2)[0]
    wanted = [
        multivariate_normal(mean, cov).logpdf(asked)
        for mean, cov in zip(model.means, covariances_of(model), strict=True)
    ]
    np.testing.assert_allclose(model.compute_log_density(asked), np.transpose(wanted), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_gaussian_without_shrinkage_is_maximum_likelihood(shape: str) -> None:
    features, classes = draw_points()
    wanted = [np.cov(features[classes == k].T, bias=True) for k in range(3)]
    pooled = np.average(wanted, axis=0, weights=prior_of(classes))
    found = covariances_of(fitted((features, classes), separate=True, shape=shape))
    np.testing.assert_allclose(
        found, [simplified(cov, shape) for cov in wanted], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(
        covariances_of(fitted((features, classes), shape=shape))[0],
        simplified(pooled, shape),
        rtol=1e-9,
        atol=1e-9,
    )


@pytest.mark.parametrize("shrinkage", [0.0, 0.25, 0.9])
def test_shared_covariances_match_linear_discriminant_analysis_of_scikit_learn(
    shrinkage: float,
) -> None:
    features, classes = draw_points()
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(
        features, classes
    )
    model = fitted((features, classes), shrinkage=shrinkage)
    asked = draw_points(3)[0]
    joint = model.compute_log_density(asked) + np.log(prior_of(classes))
    np.testing.assert_allclose(
        normalize_log_joint(joint), reference.predict_log_proba(asked), rtol=1e-7, atol=1e-7
    )
    weights, bias = model.compute_boundary(prior_of(classes))[:2]
    np.testing.assert_allclose(weights, reference.coef_, rtol=1e-7)
    np.testing.assert_allclose(bias, reference.intercept_, rtol=1e-7)
    np.testing.assert_allclose(
        normalize_log_joint(asked @ weights.T + bias),
        normalize_log_joint(joint),
        rtol=1e-7,
        atol=1e-7,
    )


@EVERY_KIND
@given(
    sizes=st.lists(st.integers(0, 4), min_size=1, max_size=4).filter(any),
    n_features=st.integers(1, 30),
    equal=st.booleans(),
)
def test_covariance_with_shrinkage_is_always_invertible(
    separate: bool, shape: str, sizes: list[int], n_features: int, equal: bool
) -> None:
    """Fewer documents than features, classes of one document or none, documents that are all the same."""
    features = np.random.default_rng(7).normal(size=(sum(sizes), n_features))
    if equal:
        features[:] = features[0]
    classes = np.repeat(np.arange(len(sizes)), sizes)
    model = fitted(
        (features, classes), separate=separate, shape=shape, shrinkage=None, n_classes=len(sizes)
    )
    densities = model.compute_log_density(features)
    assert np.isfinite(densities).all()
    for root in model.roots:
        assert (np.diagonal(root) if root.ndim == 2 else root).min() > 0


@EVERY_KIND
def test_singular_covariance_without_shrinkage_is_refused(separate: bool, shape: str) -> None:
    features = np.ones((6, 2))
    for rows in (
        features,
        features * 0.1,
    ):  # means of equal numbers may differ from them in the last digit
        with pytest.raises(UsageError, match=r"cannot be inverted.*shrinkage=auto"):
            fitted(
                (rows, np.array([0, 0, 0, 1, 1, 1])), separate=separate, shape=shape, shrinkage=0.0
            )


def test_fewer_documents_than_features_without_shrinkage_are_refused() -> None:
    features, classes = draw_points(sizes=(3, 3), n_features=8)
    with pytest.raises(UsageError, match="too few documents for so many features"):
        fitted((features, classes))


@EVERY_KIND
def test_gaussian_without_features_or_documents_is_finite(separate: bool, shape: str) -> None:
    model = fitted(
        (np.empty((5, 0)), np.array([0, 1, 1, 0, 0])),
        separate=separate,
        shape=shape,
        shrinkage=None,
    )
    assert model.compute_log_density(np.empty((3, 0))).tolist() == [[0, 0]] * 3
    nothing = fitted(
        (np.empty((0, 2)), np.empty(0, np.int64)),
        separate=separate,
        shape=shape,
        shrinkage=None,
        n_classes=2,
    )
    assert np.isfinite(nothing.compute_log_density(np.zeros((1, 2)))).all()


def test_densities_do_not_depend_on_the_block_size(monkeypatch: Any) -> None:
    data = draw_points(sizes=(9, 9, 9, 9, 9))
    model = fitted(data, separate=True)
    together = model.compute_log_density(data[0])
    monkeypatch.setattr(gaussian, "MAX_BLOCK_TERM_WEIGHTS", 2 * data[0].size)
    np.testing.assert_allclose(model.compute_log_density(data[0]), together, rtol=1e-12)


def test_densities_of_features_far_from_zero_keep_precision() -> None:
    features, classes = draw_points()
    near, far = (
        fitted((rows, classes)).compute_log_density(rows) for rows in (features, features + 1e6)
    )
    np.testing.assert_allclose(far, near, rtol=1e-6, atol=1e-6)


def centred(n_documents: int, n_features: int, seed: int = 3) -> Floats:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_documents, n_features)) * random.gamma(1, size=n_features)
    shifted: Floats = rows - rows.mean(axis=0)
    return shifted


@given(n_documents=st.integers(3, 60), n_features=st.integers(2, 12), seed=st.integers(0, 50))
def test_ledoit_wolf_weight_matches_scikit_learn(
    n_documents: int, n_features: int, seed: int
) -> None:
    rows = centred(n_documents, n_features, seed)
    wanted, weight = ledoit_wolf(rows, assume_centered=True)
    found = compute_ledoit_wolf_weight(rows, compute_second_moments(rows, "full"))
    assert found == pytest.approx(max(weight, 1 / (n_documents + 1)), rel=1e-9)
    if weight >= 1 / (n_documents + 1):
        classes = np.zeros(n_documents, np.int64)
        shared = estimate_covariances(
            rows, rows, classes, 1, separate=False, shape="full", shrinkage=None
        )
        np.testing.assert_allclose(shared[0], wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_ledoit_wolf_weight_matches_the_formula_of_the_paper(shape: str) -> None:
    rows = centred(9, 4)
    moments = compute_second_moments(rows, shape)
    only = np.ones((4, 4)) if shape == "full" else np.eye(4)
    whole = moments if shape == "full" else np.diag(moments)
    noise = sum((((np.outer(row, row) - whole) * only) ** 2).sum() for row in rows) / len(rows) ** 2
    signal = ((whole - np.eye(4) * np.trace(whole) / 4) ** 2).sum()
    assert compute_ledoit_wolf_weight(rows, moments) == pytest.approx(
        max(min(noise / signal, 1), 1 / 10), rel=1e-12
    )


def test_ledoit_wolf_weight_of_two_documents_is_not_zero() -> None:
    rows = np.array([[1.0, 2.0], [-1.0, -2.0]])
    assert compute_ledoit_wolf_weight(rows, compute_second_moments(rows, "full")) == 1 / 3


def test_small_classes_shrink_more_towards_the_shared_covariance() -> None:
    sizes = (4, 400)
    classes = np.repeat([0, 1], sizes)
    rows = np.concatenate([centred(size, 2, seed) for seed, size in enumerate(sizes)])
    shared = estimate_covariances(
        rows, rows, classes, 2, separate=False, shape="full", shrinkage=None
    )[0]
    own = estimate_covariances(rows, rows, classes, 2, separate=True, shape="full", shrinkage=None)
    added = 2 * PRIOR_DOCUMENTS_PER_FEATURE
    for label, size in enumerate(sizes):
        wanted = (rows[classes == label].T @ rows[classes == label] + added * shared) / (
            size + added
        )
        np.testing.assert_allclose(own[label], wanted, rtol=1e-12)


def test_given_shrinkage_applies_to_both_steps() -> None:
    classes = np.repeat([0, 1], [5, 7])
    rows = np.concatenate([centred(5, 3, 1), centred(7, 3, 2)])
    pooled = rows.T @ rows / 12
    shared = 0.8 * pooled + 0.2 * np.eye(3) * np.trace(pooled) / 3
    own = estimate_covariances(rows, rows, classes, 2, separate=True, shape="full", shrinkage=0.2)
    np.testing.assert_allclose(own[0], 0.8 * rows[:5].T @ rows[:5] / 5 + 0.2 * shared, rtol=1e-12)


def test_classes_of_one_document_each_get_the_covariance_of_all_documents() -> None:
    rows = np.array([[0.0, 0.0], [2.0, 4.0]])
    found = estimate_covariances(
        np.zeros((2, 2)), rows, np.array([0, 1]), 2, separate=False, shape="full", shrinkage=None
    )
    assert found.tolist() == [[[2.5, 0], [0, 2.5]]]  # the mean of the variances 1 and 4


PLAIN: dict[str, Any] = {
    "classifier": "gaussian",
    "stop_words": "none",
    "stemmer": "none",
    "calibration": "none",
}
TEXT_KINDS = [
    {"covariance": covariance, "covariance_shape": shape}
    for covariance in ("shared", "separate")
    for shape in ("full", "diagonal", "spherical")
]
EVERY_TEXT_KIND = pytest.mark.parametrize(
    "kind", TEXT_KINDS, ids=lambda kind: "-".join(kind.values())
)
WORDS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen")


corpora = st.lists(
    st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)),
    min_size=1,
    max_size=10,
)


def draw_texts(n_documents: int = 60) -> tuple[list[str], list[str]]:
    """Texts of three topics and their labels."""
    draw = np.random.default_rng(3)
    words = np.array([f"word{number:02d}" for number in range(40)])
    topics = draw.dirichlet(np.full(words.size, 0.3), 3)
    labels = [f"c{number % 3}" for number in range(n_documents)]
    return [
        " ".join(draw.choice(words, 20, p=topics[number % 3])) for number in range(n_documents)
    ], labels


def of(model: TextClassifier) -> GaussianDiscriminantAnalysis:
    assert isinstance(model.fitted.classifier, GaussianDiscriminantAnalysis)
    return model.fitted.classifier


def test_gaussian_scores_match_scikit_learn_on_the_same_features() -> None:
    """As far as float32 goes, in which the model is kept."""
    texts, labels = draw_texts()
    model = TextClassifier(**PLAIN, latent=8, shrinkage=0.1).fit(texts, labels)
    asked = draw_texts(90)[0][60:]
    rows, _ = of(model).latent_space.project(
        model.fitted.counter.count([text.encode() for text in texts]).to_matrix()
    )
    others, _ = of(model).latent_space.project(
        model.fitted.counter.count([text.encode() for text in asked]).to_matrix()
    )
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(rows, labels)
    np.testing.assert_allclose(
        model.predict_log_proba(asked), reference.predict_log_proba(others), rtol=1e-4, atol=1e-5
    )
    assert model.predict(asked).tolist() == reference.predict(others).tolist()
    boundary = compute_gaussian_boundary(of(model))
    assert boundary is not None
    weights, bias = boundary[:2]
    np.testing.assert_allclose(weights, reference.coef_, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(bias, reference.intercept_, rtol=1e-4)


@EVERY_TEXT_KIND
@examples(6)
@given(corpus=corpora, calibrated=st.booleans())
def test_any_corpus_gives_a_valid_gaussian_model(
    kind: dict[str, Any], corpus: list[tuple[str, str]], calibrated: bool
) -> None:
    """One class, a class of one document, documents without words, fewer documents than dimensions."""
    parameters = {**PLAIN, **kind, "calibration": "auto" if calibrated else "none"}
    model = TextClassifier(**parameters).fit(*split_labelled(corpus))
    probabilities = model.predict_proba(
        ["ant bee", "unknown words", "", *(text for _, text in corpus)]
    )
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(probabilities[1:3], [model.fitted.classifier.prior] * 2, rtol=1e-12)


def test_singular_maximum_likelihood_error_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"too few documents for so many features; use shrinkage=auto"
    ):
        TextClassifier(**PLAIN, shrinkage=0).fit(
            ["a dog barks", "one cat purrs", "two birds sing"], ["x", "x", "y"]
        )
    write("c.tsv", "x\tdog barks\nx\tcat purrs\ny\tbirds sing\n")
    assert "--set shrinkage" in fail(2, "train c.tsv --classifier gaussian --shrinkage 0")


def test_covariances_larger_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discriminant, "MAX_COVARIANCE_NUMBERS", 100)
    texts, labels = draw_texts()
    TextClassifier(**PLAIN, latent=10).fit(texts, labels)
    with pytest.raises(
        UsageError, match="3 covariances of 10 features are too many; use covariance=shared"
    ):
        TextClassifier(**PLAIN, latent=10, covariance="separate").fit(texts, labels)


def test_inspect_shows_the_linear_boundary(tmp_path: Path) -> None:
    texts, labels = draw_texts()
    write("c.tsv", "".join(f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True)))
    write("prior", "c0\t0\nc1\t1\nc2\t2\n")
    train = (
        "train",
        "c.tsv",
        "--classifier",
        "gaussian",
        "--latent",
        "4",
        "--class-prior",
        "prior",
    )
    succeed(*train)
    shown = in_json("inspect")["boundary"]
    boundary = compute_gaussian_boundary(of(TextClassifier.load("nbtext.joblib")))
    assert boundary is not None
    np.testing.assert_allclose(
        [shown[label]["w"] for label in ("c0", "c1", "c2")], boundary.weights, atol=1e-8
    )
    assert [shown[label]["w_0"] for label in ("c0", "c1", "c2")] == [
        None,
        *np.round(boundary.bias[1:], 9).tolist(),
    ]
    assert "linear in 4 features" in succeed("inspect").text
    succeed(*train, "--covariance", "separate")
    assert in_json("inspect")["boundary"] is None
    assert "linear" not in succeed("inspect").text


@pytest.mark.parametrize("covariance", ["shared", "separate"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical", "spherical-unscaled"])
def test_inspect_shows_means_covariances_and_boundaries_in_original_units(
    covariance: str, shape: str, tmp_path: Path
) -> None:
    points, classes = draw_points(n_features=3)
    points *= [1.0, 10.0, 0.1]
    lines = [
        ",".join([f"c{label}", *map(repr, point)])
        for point, label in zip(points.tolist(), classes.tolist(), strict=True)
    ]
    write("t.csv", "label,a,b,c\n" + "\n".join(lines) + "\n")
    asked = f"--label-column label --numeric a,b,c --classifier gaussian --covariance {covariance} --covariance-shape {shape} --shrinkage 0"
    succeed(f"train t.csv {asked}")
    shown = in_json("inspect")["boundary"]
    scale = np.ones(3) if shape == "spherical-unscaled" else points.std(axis=0)
    means = np.array([points[classes == k].mean(axis=0) for k in range(3)])
    scores = []
    for k in range(3):
        rows = (points - means[classes])[
            slice(None) if covariance == "shared" else classes == k
        ] / scale
        wanted = simplified(rows.T @ rows / len(rows), shape.partition("-")[0]) * np.outer(
            scale, scale
        )
        found = shown[f"c{k}"]
        np.testing.assert_allclose(found["mean"], means[k], rtol=1e-5)
        np.testing.assert_allclose(
            found["covariance"], wanted, rtol=1e-4, atol=1e-5 * float(np.abs(wanted).max())
        )
        exact = multivariate_normal(found["mean"], found["covariance"]).logpdf(points) + np.log(
            prior_of(classes)[k]
        )
        linear = points @ found["w"] + found["w_0"]
        assert ("matrix" in found) == (covariance == "separate")
        quadratic = (
            np.einsum("np,pq,nq->n", points, found["matrix"], points) if "matrix" in found else 0.0
        )
        scores.append((exact, linear + quadratic))
    said = TextClassifier.load("nbtext.joblib").joint_log_likelihood(
        [dict(zip("abc", point, strict=True)) for point in points.tolist()]
    )
    np.testing.assert_allclose(
        said, np.transpose([exact for exact, _ in scores]), rtol=1e-4, atol=1e-4
    )
    for k in (1, 2):
        np.testing.assert_allclose(
            scores[k][1] - scores[0][1], scores[k][0] - scores[0][0], rtol=1e-5, atol=1e-5
        )
    if (covariance, shape) == ("shared", "full"):
        oracle = LinearDiscriminantAnalysis(solver="lsqr").fit(points, classes)
        of_classes = np.array([shown[f"c{k}"]["w"] for k in range(3)])
        np.testing.assert_allclose(
            of_classes - of_classes[0], oracle.coef_ - oracle.coef_[0], rtol=1e-3, atol=1e-4
        )
    table = succeed("inspect").text
    assert ("W a" in table) == (covariance == "separate")
    assert all(f"c{k}, w_0 " in table for k in range(3))


def test_unscaled_numbers_too_large_for_the_model_file_are_refused(tmp_path: Path) -> None:
    write("t.csv", "label,a\nx,1e40\nx,2e40\ny,7e40\ny,8e40\n")
    train = "train t.csv --label-column label --numeric a --classifier gaussian --covariance-shape"
    assert "too large or too small without a scale" in fail(2, f"{train} spherical-unscaled")
    succeed(f"{train} spherical")
