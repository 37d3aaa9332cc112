"""The coin of D. MacKay, Information theory, inference and learning algorithms (2003), section 3.3: 140 heads in 250 spins of a Belgian euro.

With a uniform prior of the bias against a fair coin the ratio of the evidences is 0.48. He also gives the largest one over priors Beta(α, α):
1.9, at α = 50. The words are those of Kass and Raftery (1995), whose bounds are Bayes factors of 3, 20 and 150, rounded.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from nbtext.language_model.measures import compute_model_posteriors
from nbtext.language_model.smoothing import CountHistogram, log_evidence

HEADS, TAILS = 140, 110
COIN = CountHistogram(
    np.array([HEADS, TAILS], float),
    np.array([1 / 2]),
    np.ones(2),
    np.array([250.0]),
    np.ones(1),
    n_terms=2,
)
FAIR = 250 * math.log(1 / 2)


@pytest.mark.parametrize(("alpha", "ratio"), [(1, 0.48), (50, 1.9)])
def test_euro_coin_is_weak_evidence_for_either_model(alpha: float, ratio: float) -> None:
    biased, fair = compute_model_posteriors([log_evidence(COIN, strength=2 * alpha), FAIR])
    factor = math.exp(fair.log_bayes_factor - biased.log_bayes_factor)
    assert round(factor, 2 if factor < 1 else 1) == ratio
    assert biased.probability == pytest.approx(factor / (1 + factor))
    assert biased.probability + fair.probability == pytest.approx(1)
    assert {biased.evidence_for_best, fair.evidence_for_best} == {
        "",
        "not worth more than a bare mention",
    }


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (2.7, "not worth more than a bare mention"),
        (2.8, "positive"),
        (20, "positive"),
        (21, "strong"),
        (148, "strong"),
        (149, "very strong"),
    ],
)
def test_bayes_factors_are_described_in_words(factor: float, words: str) -> None:
    best, other, impossible = compute_model_posteriors(
        [-1000.0, -1000.0 - math.log(factor), -math.inf]
    )
    assert (best.evidence_for_best, other.evidence_for_best, impossible.evidence_for_best) == (
        "",
        words,
        "very strong",
    )
    assert best.probability == pytest.approx(factor / (1 + factor))
    assert (impossible.probability, impossible.log_bayes_factor) == (0, math.inf)


def test_equal_models_are_equally_probable_and_impossible_ones_are_refused() -> None:
    assert compute_model_posteriors([-7.0] * 4) == [(0.25, 0.0, "")] * 4
    with pytest.raises(ValueError, match="impossible under every model"):
        compute_model_posteriors([-math.inf])
