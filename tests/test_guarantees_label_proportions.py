"""Shares of labels: against the labels of documents that were drawn, with the shares of training and with others."""

from __future__ import annotations

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.errors import UsageError
from nbtext.guarantees.class_proportions import (
    estimate_prevalence,
    fit_proportion_estimator,
    make_uncorrected_estimator,
    require_labelled_documents,
)
from nbtext.guarantees.label_proportions import estimate_label_proportions
from nbtext.prediction.calibration import HeldOutPosteriors
from nbtext.prediction.labels import DocumentLabels
from nbtext.prediction.posterior import LabelPosterior
from nbtext.scoring import score_documents

LOG_ODDS = np.array([-1.0, 0.5, -2.0])


def labelled(
    n: int, seed: int, shift: float = 0, bias: float = 0, told: float = 4
) -> tuple[np.ndarray, np.ndarray]:
    """Return log p of labels for the shares of training, wrong by a bias of the log odds, and labels more or less frequent by ``shift``, in nats.

    Documents tell the labels by log likelihood ratios of variance ``told``.
    """
    draw = np.random.default_rng(seed)
    truth = draw.random((n, 3)) < 1 / (1 + np.exp(-LOG_ODDS - shift))
    means = np.where(truth, told / 2, -told / 2)
    likelihood_ratios = draw.normal(
        means, np.sqrt(told)
    )  # of two normal distributions, so the logarithm is linear
    return -np.logaddexp(0, -(LOG_ODDS + bias + likelihood_ratios)), truth


def make_held_out(n: int, seed: int, bias: float = 0, told: float = 4) -> HeldOutPosteriors:
    log_p, truth = labelled(n, seed, bias=bias, told=told)
    return make_label_posteriors(log_p, truth)


def make_label_posteriors(log_p: np.ndarray, truth: np.ndarray) -> HeldOutPosteriors:
    return HeldOutPosteriors(
        LabelPosterior(log_p), DocumentLabels.from_mask(truth), np.ones(len(truth))
    )


@pytest.mark.parametrize(("shift", "bias"), [(0, 0.0), (1, 0.0), (-1, 0.0), (0, 0.4)])
def test_label_proportions_beat_means_and_counts_and_intervals_cover_the_truth(
    shift: float, bias: float
) -> None:
    errors, held = [], []
    for seed in range(12):
        log_p, truth = labelled(500, seed + 50, shift, bias)
        share, low, high, counted = estimate_label_proportions(
            log_p, make_held_out(1500, seed, bias)
        )
        shares = truth.mean(axis=0)
        assert np.all((low <= share) & (share <= high))
        held.append((low <= shares) & (shares <= high))
        errors.append(
            [np.abs(each - shares).sum() for each in (share, np.exp(log_p).mean(axis=0), counted)]
        )
    ours, means, counting = np.mean(errors, axis=0)
    assert np.mean(held) >= 0.94
    assert ours < counting
    assert ours < means * (0.8 if shift or bias else 1.3)  # there the mean is the best that can be


@pytest.mark.parametrize("shift", [1.2, -1.2])
def test_intervals_cover_shifted_proportions_of_uninformative_labels(
    shift: float,
) -> None:
    held = []
    for seed in range(20):
        log_p, truth = labelled(500, seed + 50, shift, told=1)
        _, low, high, _ = estimate_label_proportions(log_p, make_held_out(400, seed, told=1))
        held.append((low <= truth.mean(axis=0)) & (truth.mean(axis=0) <= high))
    assert np.mean(held) >= 0.95


def test_interval_is_wider_for_less_informative_documents() -> None:
    widths = []
    for told in (1, 4, 16):
        log_p, _ = labelled(500, 50, told=told)
        _, low, high, _ = estimate_label_proportions(log_p, make_held_out(400, 0, told=told))
        widths.append((high - low).mean())
    assert widths[0] < 0.4
    assert widths == sorted(widths, reverse=True)


def test_without_held_out_documents_proportions_are_mean_probabilities() -> None:
    none = np.empty((0, 3))
    log_p, _ = labelled(80, 1)
    share, low, high, _ = estimate_label_proportions(log_p, make_label_posteriors(none, none > 0))
    assert share == pytest.approx(np.exp(log_p).mean(axis=0))
    assert np.all((low < share) & (share < high))


def test_certain_and_impossible_labels_have_finite_proportions() -> None:
    log_p = np.array([[0.0, -np.inf, -1.0]] * 5)
    share, low, high, counted = estimate_label_proportions(
        log_p, make_label_posteriors(log_p, np.array([[True, False, False]] * 5))
    )
    assert share[:2] == pytest.approx([1, 0])
    assert low[:2] == pytest.approx([1, 0])
    assert high[:2] == pytest.approx([1, 0])
    assert counted[:2].tolist() == [1, 0]
    assert 0 < share[2] < np.exp(-1)


TEXTS, LABELS = (
    ["sofa cat", "cat purr", "dog bark", "cat dog", "rain"] * 3,
    [["cats"], ["cats"], ["dogs"], ["cats", "dogs"], []] * 3,
)


def test_model_of_few_documents_has_wide_intervals() -> None:
    """Fewer than a model of one label takes."""
    model = TextClassifier().fit(TEXTS, LABELS)
    require_labelled_documents(model)
    documents = [Document(str(place), None, text.encode()) for place, text in enumerate(TEXTS)]
    found = estimate_prevalence(
        score_documents(model.fitted, documents), model.classes, fit_proportion_estimator(model)
    ).all
    assert found.documents == len(TEXTS)
    assert list(found.prevalence) == ["cats", "dogs"]
    for each, share in zip(found.prevalence.values(), (0.6, 0.4), strict=True):
        assert each.low <= share <= each.high


def test_model_without_a_sample_has_uncorrected_proportions() -> None:
    model = TextClassifier(keep_documents=0).fit(TEXTS, LABELS)
    with pytest.raises(UsageError):
        fit_proportion_estimator(model)
    documents = [Document("1", None, b"cat")]
    found = estimate_prevalence(
        score_documents(model.fitted, documents), model.classes, make_uncorrected_estimator(model)
    ).all.prevalence
    [block] = score_documents(model.fitted, documents)
    assert [each.proportion for each in found.values()] == pytest.approx(
        np.exp(block.log_posterior[0]).tolist()
    )
