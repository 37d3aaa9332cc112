from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from nbtext import TextClassifier
from nbtext.metrics.outcomes import expected_calibration_error, score_posterior
from nbtext.prediction.calibration import UNCALIBRATED, Calibration, fit_length_temperature
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior, normalize_log_joint
from tests.profiles import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


def overconfident(
    scale: float, exponent: float, documents: int = 4000, classes: int = 5, seed: int = 1
) -> tuple[Floats, Whole, Whole]:
    """Scores that are T = scale · n^exponent times too large for the classes drawn from their true posteriors, and lengths."""
    draw = np.random.default_rng(seed)
    lengths = np.exp(draw.uniform(0, 7, documents)).astype(np.int64) + 1
    true_scores = draw.normal(0, 2, (documents, classes))
    probability = np.exp(normalize_log_joint(true_scores))
    truth = (probability.cumsum(axis=1) < draw.uniform(size=(documents, 1))).sum(axis=1)
    return (
        true_scores * (scale * lengths**exponent)[:, np.newaxis],
        np.minimum(truth, classes - 1),
        lengths,
    )


def log_loss(calibration: Calibration, scores: Floats, truth: Whole, lengths: Whole) -> float:
    return float(
        -calibration.compute_log_posterior(scores, lengths)[np.arange(len(truth)), truth].mean()
    )


def calibration_error(
    calibration: Calibration, scores: Floats, truth: Whole, lengths: Whole
) -> float:
    labels = DocumentLabels(truth, single_label_table(scores.shape[1]))
    return expected_calibration_error(
        score_posterior(ClassPosterior(calibration.compute_log_posterior(scores, lengths)), labels)
    )


@pytest.mark.parametrize(("scale", "exponent"), [(0.4, 0.9), (3.0, 0.0), (1.0, 0.5), (0.5, 0.0)])
def test_planted_temperature_is_recovered(scale: float, exponent: float) -> None:
    scores, truth, lengths = overconfident(scale, exponent)
    found = fit_length_temperature(scores, truth, lengths)
    assert found.exponent == pytest.approx(exponent, abs=0.05)
    assert np.log(found.compute_temperatures(lengths)).mean() == pytest.approx(
        np.log(scale * lengths**exponent).mean(), abs=0.1
    )
    fresh = overconfident(scale, exponent, seed=2)
    assert calibration_error(found, *fresh) < 0.03
    assert log_loss(found, *fresh) == pytest.approx(
        log_loss(Calibration(scale, exponent), *fresh), rel=0.01
    )


@pytest.mark.parametrize("seed", range(3))
def test_temperature_fit_matches_a_general_minimiser(seed: int) -> None:
    scores, truth, lengths = overconfident(0.7, 0.8, 60, 3, seed)
    x = np.log(lengths) - np.log(lengths).mean()

    def penalised_loss(parameters: Floats) -> float:
        scaled = scores / np.exp(parameters[0] + parameters[1] * x)[:, np.newaxis]
        return float(
            -normalize_log_joint(scaled)[np.arange(60), truth].sum() + parameters @ parameters / 2
        )

    wanted = minimize(
        penalised_loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-10}
    ).x
    found = fit_length_temperature(scores, truth, lengths)
    assert found.exponent == pytest.approx(wanted[1], abs=1e-3)
    assert np.log(found.scale) + found.exponent * np.log(lengths).mean() == pytest.approx(
        wanted[0], abs=1e-3
    )


def test_document_of_weight_two_equals_two_documents() -> None:
    scores, truth, lengths = overconfident(0.7, 0.8, 60, 3)
    weights = np.arange(60) % 3 + 1
    several, weighted = (
        fit_length_temperature(
            np.repeat(scores, weights, axis=0),
            np.repeat(truth, weights),
            np.repeat(lengths, weights),
        ),
        fit_length_temperature(scores, truth, lengths, weights.astype(np.float64)),
    )
    assert weighted.scale == pytest.approx(several.scale, rel=1e-6)
    assert weighted.exponent == pytest.approx(several.exponent, rel=1e-6)
    np.testing.assert_allclose(
        weighted.compute_log_posterior(scores, lengths),
        several.compute_log_posterior(scores, lengths),
        rtol=1e-4,
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_documents_without_known_words_do_not_change_the_fit(*, weighted: bool) -> None:
    """They are answered at temperature 1 whatever is fitted."""
    scores, truth, lengths = overconfident(0.7, 0.8, 60, 3)
    weights = (np.arange(60) % 3 + 1).astype(np.float64) if weighted else None
    lengths[::4] = 0
    known = lengths > 0
    found = fit_length_temperature(scores, truth, lengths, weights)
    wanted = fit_length_temperature(
        scores[known], truth[known], lengths[known], None if weights is None else weights[known]
    )
    assert found.scale == pytest.approx(wanted.scale, rel=1e-6)
    assert found.exponent == pytest.approx(wanted.exponent, rel=1e-6)
    nothing = fit_length_temperature(scores, truth, 0 * lengths, weights)
    assert (nothing.scale, nothing.exponent) == (1, 0)


SCORES = st.lists(
    st.lists(st.floats(-500, 0) | st.just(-np.inf), min_size=3, max_size=3), min_size=1, max_size=20
)


@examples(12)
@given(SCORES, st.data())
def test_calibration_keeps_the_ranking_and_probabilities_sum_to_one(
    rows: list[list[float]], data: st.DataObject
) -> None:
    scores = np.array(rows)
    scores[:, 0] = np.where(np.isinf(scores[:, 0]), -1.0, scores[:, 0])
    truth = np.array(
        [data.draw(st.sampled_from(np.flatnonzero(np.isfinite(row)).tolist())) for row in scores]
    )
    lengths = np.array(
        data.draw(st.lists(st.integers(0, 5000), min_size=len(rows), max_size=len(rows)))
    )
    calibration = fit_length_temperature(scores, truth, lengths)
    posterior = np.exp(calibration.compute_log_posterior(scores, lengths))
    assert np.isfinite(posterior).all()
    assert posterior.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    best = scores.argmax(axis=1)
    assert posterior[np.arange(len(rows)), best] == pytest.approx(posterior.max(axis=1))
    before = UNCALIBRATED.compute_log_posterior(scores, lengths)[np.arange(len(rows)), truth].sum()
    parameters = np.log(calibration.scale), calibration.exponent
    assert calibration.compute_log_posterior(scores, lengths)[
        np.arange(len(rows)), truth
    ].sum() >= before - 1e-6 or any(parameters)


@pytest.mark.parametrize("size", [1e5, 1e10, 1e20, 1e100])
def test_fit_to_scores_of_any_size_stays_within_bounds(size: float) -> None:
    scores, truth, lengths = overconfident(1.0, 0.0, 40, 3)
    lengths = (
        100 + lengths % 2
    )  # nearly the same length, so that hardly anything bounds the exponent
    scores[::7] *= size * np.where(lengths[::7, np.newaxis] > 100, 1.0, 1e-4)
    calibration = fit_length_temperature(scores, truth, lengths)
    assert calibration.is_valid
    assert np.isfinite(calibration.compute_log_posterior(scores, lengths)).all()


@pytest.mark.parametrize(
    ("scale", "exponent"),
    [
        (1e-300, 0),
        (1e-14, 0),
        (1e14, 0),
        (1, 15.1),
        (1, -1000),
        (1e-300, -15),
        (1e300, 15),
        (1e200, 15),
    ],
)
def test_parameters_outside_the_bounds_are_invalid(scale: float, exponent: float) -> None:
    assert not Calibration(scale, exponent).is_valid
    assert Calibration(np.exp(30), 0).is_valid
    assert Calibration(np.exp(-500), 15).is_valid


def test_temperatures_are_bounded_as_in_the_fit() -> None:
    lengths = np.array([0, 1, 10, 2**53 - 1])
    for calibration in (Calibration(1e-100, -15.0), Calibration(1e100, 15.0)):
        found = calibration.compute_temperatures(lengths)
        assert found[0] == 1
        assert np.all(np.abs(np.log(found)) <= 30 + 1e-9)


def test_uncalibrated_posterior_is_the_textbook_one() -> None:
    scores, _, lengths = overconfident(2.0, 0.5, 50)
    assert np.array_equal(
        UNCALIBRATED.compute_log_posterior(scores, lengths), normalize_log_joint(scores)
    )


def test_document_without_known_tokens_keeps_the_prior() -> None:
    prior = np.log([[0.75, 0.25]])
    assert np.exp(Calibration(5.0, 0.9).compute_log_posterior(prior, np.array([0]))).tolist() == [
        [pytest.approx(0.75), pytest.approx(0.25)]
    ]
    assert np.exp(Calibration(5.0, 0.0).compute_log_posterior(prior, np.array([1])))[
        0, 0
    ] == pytest.approx(0.75**0.2 / (0.75**0.2 + 0.25**0.2))


def test_few_documents_change_the_temperature_little() -> None:
    scores, truth, lengths = (
        np.array([[0.0, -9.0], [-9.0, 0.0]]),
        np.array([0, 1]),
        np.array([10, 12]),
    )
    assert fit_length_temperature(scores, truth, lengths).compute_temperatures(
        lengths
    ) == pytest.approx(np.ones(2), rel=0.01)  # right and sure: nothing to gain
    wrong = fit_length_temperature(scores, 1 - truth, lengths).compute_temperatures(lengths)
    assert np.all((wrong > 2) & (wrong < 100))


@pytest.mark.parametrize(
    "training",
    [{}, {"weighting": "binary"}, {"classifier": "bernoulli"}, {"classifier": "logistic"}],
    ids=str,
)
def test_calibration_selects_terms_without_its_held_out_documents(
    training: dict[str, Any],
) -> None:
    """Labels drawn by chance: the truth is one in two, and terms chosen with all labels in sight would promise certainty."""
    draw = np.random.default_rng(0)
    texts = [" ".join(f"w{word}" for word in draw.integers(0, 2000, 20)) for _ in range(600)]
    model = TextClassifier(top=300, **training).fit(texts[:300], list("ab") * 150)
    of_truth = model.predict_log_proba(texts[300:])[np.arange(300), np.arange(300) % 2]
    assert -of_truth.mean() < np.log(2) + 0.05


def test_without_errors_the_temperature_is_near_the_default() -> None:
    """Slow twin: the minimum of the loss and a normal prior around T = √n."""
    lengths, truth = np.array([4, 9, 16, 25, 36, 49]), np.array([0, 1] * 3)
    scores = np.where(np.arange(2) == truth[:, np.newaxis], 0.0, -2.0 * lengths[:, np.newaxis])
    centre = np.log(lengths).mean()

    def loss(parameters: Any) -> float:
        t, b = parameters
        scaled = scores / np.exp(t + b * (np.log(lengths) - centre))[:, np.newaxis]
        return float(
            -normalize_log_joint(scaled)[np.arange(6), truth].sum()
            + (t - centre / 2) ** 2 / 2
            + (b - 0.5) ** 2 / 2
        )

    t, b = minimize(loss, (0.0, 0.0), tol=1e-10).x
    found = fit_length_temperature(scores, truth, lengths, prior_exponent=0.5)
    assert found.compute_temperatures(lengths) == pytest.approx(
        np.exp(t + b * (np.log(lengths) - centre)), rel=0.01
    )
    assert found.compute_temperatures(lengths)[5] > 5
