"""How typical documents are, and how far documents of one time are from those of training: oracles of scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.prediction.typicality import (
    MAX_DISTANCE,
    MIN_BAND_DOCUMENTS,
    MIN_EXPECTED_COUNT,
    N_LENGTH_BANDS,
    QUANTILE_LEVELS,
    MeanStd,
    Profile,
    Typicality,
    compute_chi2_p_value,
    compute_total_variation,
)
from nbtext.scoring import measure_typicality
from tests.process import PETS


def test_median_document_has_typicality_one_half() -> None:
    values = np.arange(101.0)
    typicality = Typicality.from_likelihoods(values, np.full(101, 10))
    assert typicality is not None
    shares = typicality.compute_proportion_below(
        np.array([-1.0, 0.0, 10.0, 50.0, 99.9, 100.0, 500.0]), np.full(7, 12)
    )
    assert shares.tolist() == pytest.approx([0, 0, 0.1, 0.5, 0.999, 1, 1])


@given(
    st.lists(
        st.tuples(st.floats(-20, 0), st.integers(1, 10**6)),
        min_size=MIN_BAND_DOCUMENTS,
        max_size=200,
    )
)
def test_typicality_quantiles_increase_and_proportions_are_valid(
    documents: list[tuple[float, int]],
) -> None:
    values, tokens = (np.array(column) for column in zip(*documents, strict=True))
    typicality = Typicality.from_likelihoods(values, tokens)
    assert typicality is not None
    assert typicality.quantiles.shape == (N_LENGTH_BANDS, QUANTILE_LEVELS.size)
    assert np.all(np.diff(typicality.quantiles) >= 0)
    shares = typicality.compute_proportion_below(values, tokens)
    assert np.all((shares >= 0) & (shares <= 1))
    assert np.all(
        np.diff(typicality.compute_proportion_below(np.linspace(-25, 5, 50), np.full(50, 9))) >= 0
    )


def test_documents_are_compared_with_documents_of_their_length() -> None:
    values = np.concatenate((np.linspace(-9, -7, 100), np.linspace(-3, -1, 100)))
    typicality = Typicality.from_likelihoods(values, np.repeat([5, 1000], 100))
    assert typicality is not None
    assert typicality.compute_proportion_below(
        np.array([-8.0, -8.0, -2.0, -2.0]), np.array([5, 1000, 5, 1000])
    ).tolist() == pytest.approx([0.5, 0, 1, 0.5])


def test_few_documents_give_no_typicality() -> None:
    assert (
        Typicality.from_likelihoods(
            np.zeros(MIN_BAND_DOCUMENTS - 1), np.ones(MIN_BAND_DOCUMENTS - 1, np.int64)
        )
        is None
    )
    assert (
        Typicality.from_likelihoods(
            np.full(MIN_BAND_DOCUMENTS, -np.inf), np.ones(MIN_BAND_DOCUMENTS, np.int64)
        )
        is None
    )
    model = TextClassifier().fit(PETS.values(), ["a", "b", "a", "b"])
    with pytest.raises(UsageError, match="typical"):
        measure_typicality(model.fitted, model.fitted.score([b""]))


def test_document_without_tokens_is_typical() -> None:
    typicality = Typicality.from_likelihoods(np.linspace(-9, -1, 60), np.full(60, 4))
    assert typicality is not None
    assert typicality.compute_proportion_below(np.zeros(1), np.zeros(1, np.int64)).tolist() == [1.0]


def planted(seed: int, letters: str, documents: int) -> list[str]:
    """Documents of random words over an alphabet, more often those that come first."""
    draw = np.random.default_rng(seed)
    words = [first + second for first in letters for second in letters]
    shares = 1 / np.arange(1, len(words) + 1)
    return [
        " ".join(draw.choice(words, draw.integers(5, 60), p=shares / shares.sum()))
        for _ in range(documents)
    ]


@pytest.mark.parametrize(
    "parameters", [{}, {"min_df": 2}, {"top": 30}, {"prior_shape": "background"}], ids=str
)
def test_foreign_documents_are_atypical_and_similar_ones_are_not(
    parameters: dict[str, Any],
) -> None:
    texts = planted(1, "abcdefgh", 400)
    model = TextClassifier(stop_words="none", stemmer="none", **parameters).fit(
        texts, ["x", "y"] * 200
    )

    def share_atypical(documents: list[str]) -> float:
        scored = model.fitted.score([text.encode() for text in documents])
        return float((measure_typicality(model.fitted, scored) < 0.01).mean())

    assert share_atypical(planted(2, "abcdefgh", 400)) < 0.05
    assert share_atypical(planted(3, "hgfedcbaklmnop", 200)) > 0.9
    assert share_atypical(planted(4, "qrstuv", 200)) > 0.95


VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50)
COUNTS = arrays(np.int64, st.just(4), elements=st.integers(0, 1000))


@given(VALUES, VALUES)
def test_distance_is_in_standard_deviations_of_training(
    run: list[float], training: list[float]
) -> None:
    mine, theirs = MeanStd.from_values(np.array(run)), MeanStd.from_values(np.array(training))
    assert mine.mean == pytest.approx(np.mean(run), rel=1e-8, abs=1e-8)
    assert mine.std == pytest.approx(np.std(run), rel=1e-8, abs=1e-8)
    distance = mine.compute_distance(theirs)
    assert distance is not None
    if theirs.std > 1e-3:
        assert distance == pytest.approx(abs(mine.mean - theirs.mean) / theirs.std)
    assert theirs.compute_distance(theirs) == 0
    assert theirs.compute_p_value(theirs) == 1


def test_p_value_matches_welchs_test() -> None:
    random = np.random.default_rng(0)
    for shift in (0, 0.05, 0.2):
        run, training = random.normal(shift, 1.5, 4000), random.normal(0, 1, 3000)
        wanted = stats.ttest_ind(run, training, equal_var=False).pvalue
        assert MeanStd.from_values(run).compute_p_value(
            MeanStd.from_values(training)
        ) == pytest.approx(wanted, rel=0.02)


def test_few_equal_documents_are_not_significant() -> None:
    training = MeanStd(1000, 0.0, 1.0)
    assert MeanStd(1, 1.0, 0.0).compute_p_value(training) > 0.3
    assert MeanStd(3, 9.0, 0.0).compute_p_value(training) < 1e-9


def test_comparison_with_empty_or_constant_values_is_defined() -> None:
    none, constant = MeanStd.from_values(np.array([math.nan, math.inf])), MeanStd(5, 2.0, 0.0)
    assert none == MeanStd(0, 0.0, 0.0)
    assert (
        none.compute_distance(constant),
        constant.compute_distance(none),
        none.compute_p_value(constant),
    ) == (
        None,
        None,
        1,
    )
    assert MeanStd(1, 3.0, 0.0).compute_distance(constant) == MAX_DISTANCE
    assert MeanStd(1, 3.0, 0.0).compute_p_value(constant) == 0


@given(COUNTS, COUNTS)
def test_predictions_are_compared_by_total_variation_and_chi2(run: Any, training: Any) -> None:
    if not run.any() or not training.any():
        assert compute_total_variation(run, training) is None
        assert compute_chi2_p_value(run, training) == 1
        return
    assert compute_total_variation(run, training) == pytest.approx(
        np.maximum(run / run.sum() - training / training.sum(), 0).sum()
    )
    columns = sorted(zip(run.tolist(), training.tolist(), strict=True), key=sum)
    smaller = min(run.sum(), training.sum()) / (run.sum() + training.sum())
    rare = [column for column in columns if sum(column) * smaller < MIN_EXPECTED_COUNT]
    others = columns[len(rare) :]
    if rare and sum(map(sum, rare)) * smaller < MIN_EXPECTED_COUNT and others:
        rare.append(others.pop(0))
    table = np.array([*others, *([np.sum(rare, axis=0)] if rare else [])]).T
    wanted = stats.chi2_contingency(table, correction=False).pvalue if table.shape[1] > 1 else 1
    assert compute_chi2_p_value(run, training) == pytest.approx(wanted, rel=1e-9, abs=1e-300)


def test_rare_predictions_raise_alarms_at_the_nominal_rate() -> None:
    """One document of each of many rare classes among 50 was taken for 1e-18."""
    training = np.array([100_000, 100_000, *[2] * 60])
    run = np.array([25, 24, 1, *[0] * 59])
    assert compute_chi2_p_value(run, training) > 0.3
    random = np.random.default_rng(4)
    chances = [
        compute_chi2_p_value(random.multinomial(50, training / training.sum()), training)
        for _ in range(2000)
    ]
    assert np.mean(np.array(chances) < 0.05) == pytest.approx(0.05, abs=0.025)
    assert np.mean(np.array(chances) < 0.001) <= 0.003


def test_profile_contains_lengths_unknown_tokens_and_predictions() -> None:
    tokens, unknown = np.array([4, 0, 10]), np.array([1, 0, 10])
    profile = Profile.from_documents(
        tokens, unknown, np.array([-2.0, 0.0, -4.0]), np.array([0, -1, 2]), 3
    )
    assert profile.metrics["unknown"].mean == pytest.approx((0.25 + 1) / 2)
    assert profile.metrics["log_likelihood"] == MeanStd(2, -3.0, 1.0)
    assert profile.metrics["length"].documents == 3
    assert profile.predictions.tolist() == [1, 0, 1]
