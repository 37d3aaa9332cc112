from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.stats import t as student

from nbtext.evaluation.learning_curves import STEEPEST_EXPONENT, fit_power_laws, forecast, small_sample_factor, weights_of_sizes
from nbtext.metrics.intervals import NORMAL_95, Bootstrap
from tests.budget import examples, rounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZES = np.unique(np.round(np.geomspace(100, 8000, 8)).astype(np.int64))
PLACES = SIZES.astype(np.float64)


def law(n: NDArray[np.float64] | float, a: float, b: float, c: float) -> NDArray[np.float64]:
    return np.asarray(a + b * np.asarray(n, np.float64) ** -c)


@given(st.floats(0, 0.5), st.floats(0.01, 3), st.floats(0.03, 1.9))
def test_an_exact_law_is_recovered(a: float, b: float, c: float) -> None:
    b *= PLACES[0] ** c / 10  # an error of at most 0.3 above a at the smallest size
    found = fit_power_laws(PLACES, law(PLACES, a, b, c)[np.newaxis], np.ones(8))
    assert found.error(16_000)[0] == pytest.approx(law(16_000, a, b, c), abs=1e-6)
    if b * PLACES[0] ** -c > 0.01 and 0.1 < c < 1.8:
        assert found.c[0] == pytest.approx(c, abs=1e-3)
        assert found.a[0] == pytest.approx(a, abs=1e-3)
        assert (found.b * found.unit**found.c)[0] == pytest.approx(b, rel=1e-2)


def test_laws_by_hand() -> None:
    found = fit_power_laws(
        np.array([1.0, 4.0, 16.0, 64.0]), np.array([[0.9, 0.5, 0.3, 0.2], [0.25] * 4, [1.0, 0.5, 0.25, 0.125]]), np.ones(4)
    )
    assert found.a == pytest.approx([0.1, found.a[1], 0.0], abs=1e-6)
    assert found.b * found.unit**found.c == pytest.approx([0.8, 0.0, 1.0], abs=1e-5)
    assert found.c[[0, 2]] == pytest.approx([0.5, 0.5], abs=1e-5)
    assert found.error(256) == pytest.approx([0.15, 0.25, 0.0625], abs=1e-6)


@examples(6)
@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.lists(st.floats(0.1, 10), min_size=8, max_size=8))
def test_no_law_within_the_bounds_fits_better(errors: list[float], weights: list[float]) -> None:
    """scipy's search among the same laws, from several starts, finds none with a smaller sum of squares."""
    e, w = np.array(errors), np.array(weights)
    found = fit_power_laws(PLACES, e[np.newaxis], w)
    assert found.a[0] >= 0
    assert found.b[0] >= 0
    assert 0 < found.c[0] <= STEEPEST_EXPONENT

    def residuals(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(w) * (law(PLACES / found.unit, *x) - e))

    least = float(np.square(residuals(np.array([found.a[0], found.b[0], found.c[0]]))).sum())
    for start in ((0.1, 0.1, 0.1), (0.1, 0.1, 1.0), (0.1, 0.01, 1.9)):
        other = least_squares(residuals, start, bounds=([0, 0, STEEPEST_EXPONENT / 100], [np.inf, np.inf, STEEPEST_EXPONENT]))
        assert least <= 2 * other.cost * (1 + 1e-6) + 1e-9


def test_a_size_that_weighs_much_is_met() -> None:
    errors = np.array([[0.5, 0.4, 0.3, 0.3, 0.2, 0.25, 0.2, 0.1]])
    heavy = np.array([1, 1, 1, 1, 1, 1, 1, 1e9])
    assert fit_power_laws(PLACES, errors, heavy).error(8000)[0] == pytest.approx(0.1, abs=1e-6)


def test_the_weight_of_a_size_is_n_over_a_variance_between_runs() -> None:
    errors = np.array([[0.5, 0.30], [0.5, 0.34]])  # variances 0 and 0.0004, on average 0.0002
    assert weights_of_sizes(np.array([10.0, 20.0]), errors) == pytest.approx([10 / 0.0002, 20 / 0.0006])
    assert weights_of_sizes(np.array([10.0, 20.0]), errors[:1]).tolist() == [10, 20]


@pytest.mark.parametrize("n", [2, 5, 15, 1000])
def test_redrawn_means_are_spread_as_students_interval(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    half = student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    assert small_sample_factor(n) * NORMAL_95 * values.std() / np.sqrt(n) == pytest.approx(half)


def test_equal_runs_on_an_exact_law_are_drawn_on_exactly() -> None:
    figures = np.tile(1 - law(PLACES, 0.1, 2, 0.5), (15, 1))
    made = forecast(SIZES, figures, 5, 10_000, 20_000, Bootstrap(50))
    assert (made.documents, made.withheld) == (20_000, None)
    assert made.value == pytest.approx(1 - law(20_000, 0.1, 2, 0.5), abs=1e-6)
    assert made.now == pytest.approx(1 - law(10_000, 0.1, 2, 0.5), abs=1e-6)
    assert made.interval == pytest.approx((made.value, made.value), abs=1e-5)


def test_perfect_answers_stay_perfect_as_far_as_so_many_documents_can_tell() -> None:
    made = forecast(SIZES, np.ones((10, 8)), 5, 10_000, 20_000, Bootstrap(50))
    assert (made.value, made.now) == (1.0, 1.0)
    assert made.interval == pytest.approx((10_000 / (10_000 + NORMAL_95**2), 1.0))


def runs(error: NDArray[np.float64], n: int, folds: int, repeats: int, seed: int) -> NDArray[np.float64]:
    """Accuracies of folds × repeats runs over n documents, each of which is more or less hard whatever the run."""
    generator = np.random.default_rng(seed)
    hardness = generator.random(n)
    made = []
    for _ in range(repeats):
        order = generator.permutation(n)
        for fold in range(folds):
            own = hardness[order[fold::folds], np.newaxis]
            by_chance = generator.random((own.size, error.size))
            made.append(1 - (np.where(by_chance < 0.3, generator.random(by_chance.shape), own) < error).mean(axis=0))
    return np.array(made)


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("of_law", "n", "folds", "repeats"),
    [
        ((0.1, 1, 0.5), 1000, 5, 3),
        ((0, 2, 0.4), 1000, 5, 3),
        ((0.2, 0, 1), 1000, 5, 3),
        ((0.05, 3, 0.9), 1000, 5, 1),
        ((0.02, 1, 0.25), 300, 2, 3),
    ],
)
def test_the_interval_covers_the_truth(of_law: tuple[float, float, float], n: int, folds: int, repeats: int) -> None:
    truth, covered, widths = float(1 - law(20_000, *of_law)), 0, []
    for seed in range(rounds(20, 40)):
        made = forecast(SIZES, runs(law(PLACES, *of_law), n, folds, repeats, seed), folds, 10_000, 20_000, Bootstrap(200))
        if made.interval is not None:
            covered += made.interval[0] <= truth <= made.interval[1]
            widths.append(made.interval[1] - made.interval[0])
    assert len(widths) >= rounds(19, 38)
    assert covered >= 0.9 * len(widths)
    assert np.mean(widths) < 4 * 1.96 * np.sqrt(0.25 / n)  # not by saying nothing


def test_a_curve_that_bends_otherwise_than_any_law_has_a_wider_interval() -> None:
    along = 1 - law(PLACES, 0.1, 2, 0.5)
    widths = []
    for curve in (along, np.linspace(along[0], along[-1], 8) ** 2):
        made = forecast(SIZES, np.tile(curve, (15, 1)), 5, 10_000, 20_000, Bootstrap(50))
        assert made.interval is not None
        widths.append(made.interval[1] - made.interval[0])
    assert widths[1] > widths[0] + 0.005


def test_there_is_no_forecast_of_noise_or_of_few_points() -> None:
    noise = np.random.default_rng(0).random((10, 8))
    made = forecast(SIZES, noise, 5, 10_000, 20_000, Bootstrap(100))
    assert (made.value, made.interval, made.now) == (None, None, None)
    assert made.withheld is not None
    assert "too noisy" in made.withheld
    few = forecast(SIZES[:3], np.ones((10, 3)), 5, 10_000, 20_000, Bootstrap(100))
    assert few.value is None
    assert few.withheld is not None
    assert "fewer than 4 points" in few.withheld
