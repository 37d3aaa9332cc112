"""Tests of the calibration of labels."""

import numpy as np
import pytest

from nbtext.prediction.label_calibration import (
    MANY_LABELS,
    LabelCalibration,
    _LabelLoss,
    fit_label_calibration,
)
from nbtext.prediction.labels import DocumentLabels

RANDOM = np.random.default_rng(1)
N, L = 300, 4
PRIOR = np.log([0.3, 0.2, 0.1, 0.05])
TRUTH = RANDOM.random((N, L)) < 0.3
LENGTHS = RANDOM.integers(1, 80, N)
SCORES = PRIOR + LENGTHS[:, np.newaxis] * (TRUTH - 0.4 + RANDOM.normal(0, 0.6, (N, L)))


@pytest.mark.parametrize(
    ("weights", "times"), [(np.ones(N), 1), (RANDOM.random(N), 1), (np.ones(N), 20)]
)
def test_gradient_matches_finite_differences_of_the_loss(weights: np.ndarray, times: int) -> None:
    """Nearly, of scores that far apart: sums of exp(30) less their largest summand have few digits."""
    fit = _LabelLoss(times * SCORES, TRUTH, LENGTHS, weights, PRIOR)
    at = np.concatenate(
        ([-1.0, -0.4, 0.8, 0.1, 0.6, 0.3], RANDOM.uniform(0.5, 1.5, L), RANDOM.normal(0, 0.5, L))
    )
    value, gradient = fit.compute_loss(at)
    assert value > 0
    for place in range(at.size):
        step = np.zeros(at.size)
        step[place] = 1e-5
        slope = (fit.compute_loss(at + step)[0] - fit.compute_loss(at - step)[0]) / 2e-5
        assert slope == pytest.approx(
            gradient[place], rel=1e-3, abs=1e-2 if times == 1 else 2e-3 * np.abs(gradient).max()
        )


def test_fitted_probabilities_sum_to_the_number_of_labels() -> None:
    found = fit_label_calibration(SCORES, TRUTH, LENGTHS, None, PRIOR)
    p = np.exp(found.compute_log_posterior(SCORES, LENGTHS))
    assert p.sum(axis=0) == pytest.approx(
        TRUTH.sum(axis=0), rel=0.05
    )  # offsets are free, up to their prior
    independent = np.exp(LabelCalibration.from_prior(PRIOR).compute_log_posterior(SCORES, LENGTHS))
    assert ((p - TRUTH) ** 2).sum() < ((independent - TRUTH) ** 2).sum()


def test_labels_are_independent_without_a_fit() -> None:
    p = np.exp(LabelCalibration.from_prior(PRIOR).compute_log_posterior(SCORES, LENGTHS))
    assert p == pytest.approx(1 / (1 + np.exp(-SCORES)))


def test_documents_without_known_tokens_get_the_prior_and_do_not_change_the_fit() -> None:
    fitted = fit_label_calibration(SCORES, TRUTH, LENGTHS, None, PRIOR)
    scores, truth = (
        np.concatenate((SCORES, [PRIOR] * 50)),
        np.concatenate((TRUTH, np.ones((50, L), np.bool_))),
    )
    with_empty = fit_label_calibration(
        scores, truth, np.concatenate((LENGTHS, np.zeros(50, np.int64))), None, PRIOR
    )
    assert with_empty.compute_log_posterior(SCORES, LENGTHS) == pytest.approx(
        fitted.compute_log_posterior(SCORES, LENGTHS)
    )
    assert np.exp(
        fitted.compute_log_posterior(PRIOR[np.newaxis], np.array([0]))[0]
    ) == pytest.approx(1 / (1 + np.exp(-PRIOR)))


@pytest.mark.parametrize("labels_per_document", [1, 60])
def test_many_labels_share_parameters_unless_the_documents_have_many(
    labels_per_document: int,
) -> None:
    n_labels, n_documents = MANY_LABELS + 1, 20
    generator = np.random.default_rng(0)
    truth = np.zeros((n_documents, n_labels), np.bool_)
    for row in truth:
        row[generator.choice(n_labels, labels_per_document, replace=False)] = True
    prior = np.linspace(-7, -5, n_labels)
    scores = prior + generator.normal(size=truth.shape) + 6 * truth
    lengths = generator.integers(1, 40, n_documents)
    fitted = fit_label_calibration(scores, truth, lengths, None, prior)
    have_own = labels_per_document * n_documents > n_labels
    assert np.any(fitted.slopes != 1) == have_own
    # The offsets that all labels share are a line in the prior log odds.
    line = np.polynomial.Polynomial.fit(prior, fitted.offsets, 1)
    assert np.allclose(line(prior), fitted.offsets, atol=1e-6) != have_own
    weights = np.ones(n_documents)
    again = fitted.compute_held_out_log_posterior(
        scores, DocumentLabels.from_sets([tuple(np.flatnonzero(row)) for row in truth], n_labels),
        lengths, weights,
    )  # fmt: skip
    assert np.isfinite(again).all()


def test_weight_of_two_equals_two_documents() -> None:
    twice = np.where(np.arange(N) < 50, 2.0, 1.0)
    weighted = _LabelLoss(SCORES, TRUTH, LENGTHS, twice, PRIOR)
    rows = np.concatenate((np.arange(N), np.arange(50)))
    repeated = _LabelLoss(SCORES[rows], TRUTH[rows], LENGTHS[rows], np.ones(rows.size), PRIOR)
    at = np.concatenate(([-1.0, -0.4, 1.0, 0.0, 0.5, 0.0], np.ones(L), np.zeros(L)))
    assert weighted.compute_loss(at)[0] == pytest.approx(repeated.compute_loss(at)[0])


def test_held_out_documents_are_calibrated_by_the_others() -> None:
    fitted = fit_label_calibration(SCORES, TRUTH, LENGTHS, None, PRIOR)
    found = fitted.compute_held_out_log_posterior(
        SCORES, DocumentLabels.from_mask(TRUTH), LENGTHS, np.ones(N)
    )
    others = np.arange(N) % 20 != 3
    apart = fit_label_calibration(
        SCORES[others], TRUTH[others], LENGTHS[others], np.ones(others.sum()), PRIOR, fitted
    )
    assert apart.offsets == pytest.approx(fitted.offsets, rel=1e-8)
    assert apart.slopes != pytest.approx(fitted.slopes, rel=1e-8)
    assert found[~others] == pytest.approx(
        apart.compute_log_posterior(SCORES[~others], LENGTHS[~others]), rel=1e-8
    )


def test_fit_near_a_calibration_minimises_the_loss_with_its_offsets() -> None:
    near = fit_label_calibration(SCORES[::2], TRUTH[::2], LENGTHS[::2], None, PRIOR)
    found = fit_label_calibration(SCORES, TRUTH, LENGTHS, None, PRIOR, near)
    fit = _LabelLoss(SCORES, TRUTH, LENGTHS, np.ones(N), PRIOR)

    def parameters(calibration: LabelCalibration) -> np.ndarray:
        shared = (
            -np.log(calibration.scale),
            -calibration.exponent,
            1,
            0,
            calibration.rivalry,
            calibration.level,
        )
        return np.concatenate((shared, calibration.slopes, calibration.offsets - PRIOR))

    assert fit.compute_loss(parameters(found))[0] < fit.compute_loss(parameters(near))[0]
    gradient = np.delete(fit.compute_loss(parameters(found))[1][: 6 + L], (2, 3))
    assert (
        np.abs(gradient).max()
        < 0.05 * np.abs(np.delete(fit.compute_loss(parameters(near))[1][: 6 + L], (2, 3))).max()
        + 0.05
    )


def test_single_document_has_finite_held_out_posteriors() -> None:
    fitted = LabelCalibration.from_prior(PRIOR)
    assert np.isfinite(
        fitted.compute_held_out_log_posterior(
            SCORES[:1], DocumentLabels.from_mask(TRUTH[:1]), LENGTHS[:1], np.ones(1)
        )
    ).all()
