"""Learning curves: points of models trained on texts, and the power law through them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares
from scipy.stats import t as student
from sklearn.metrics import accuracy_score, f1_score

from nbtext import TextClassifier
from nbtext.counts.corpus_counts import Subsets
from nbtext.errors import UsageError
from nbtext.evaluation import learning_curves as tested
from nbtext.evaluation.learning_curves import (
    MAX_EXPONENT,
    Resampling,
    _choose_training_sizes,
    _compute_small_sample_factor,
    _order_by_stratum,
    _weight_sizes,
    compute_learning_curve,
    fit_forecast,
    fit_power_laws,
)
from nbtext.metrics.intervals import NORMAL_95, Bootstrap
from tests.models import count_documents
from tests.profiles import examples, rounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.settings import Settings


def texts_of(
    n: int, seed: int = 0, classes: int = 3, signal: float = 0.3
) -> list[tuple[str, bytes]]:
    """Documents of a dozen words, some of which speak for the class."""
    generator = np.random.default_rng(seed)
    made = []
    for label in generator.integers(classes, size=n).tolist():
        words = [
            f"c{label}w{word}" if generator.random() < signal else f"x{word}"
            for word in generator.integers(30, size=12).tolist()
        ]
        made.append((f"class{label}", " ".join(words).encode()))
    return made


def count_corpus(texts: list[tuple[str, bytes]], **parameters: Any) -> tuple[Subsets, Settings]:
    model = TextClassifier(stemmer="none", **parameters)
    return Subsets(*count_documents(texts, model.analysis)), model.settings


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(0, 5))
def test_every_prefix_of_the_order_is_stratified(classes: list[int], seed: int) -> None:
    order = _order_by_stratum(np.array(classes), np.random.default_rng(seed))
    assert sorted(order.tolist()) == list(range(len(classes)))
    sizes = Counter(classes)
    for end in range(len(classes) + 1):
        have = Counter(classes[row] for row in order[:end].tolist())
        for (
            label,
            size,
        ) in sizes.items():  # one of its own, and what the others' rounding may take or leave
            assert abs(have[label] - end * size / len(classes)) <= 1 + len(sizes) * size / len(
                classes
            )
    rows_of_first = [row for row in order.tolist() if classes[row] == classes[0]]
    assert sorted(rows_of_first) == [
        row for row, label in enumerate(classes) if label == classes[0]
    ]


@given(st.integers(1, 10**6), st.integers(1, 200), st.integers(1, 20))
def test_training_sizes_increase_to_the_largest(most: int, n_classes: int, steps: int) -> None:
    sizes = _choose_training_sizes(most, n_classes, steps).tolist()
    assert sizes == sorted(set(sizes))
    assert 1 <= len(sizes) <= steps
    assert sizes[-1] == most
    if steps > 1:
        assert sizes[0] == pytest.approx(min(max(most / 128, 2 * n_classes), most), abs=0.5)


def test_training_sizes_match_hand_computed_examples() -> None:
    assert _choose_training_sizes(1280, 4, 8).tolist() == [10, 20, 40, 80, 160, 320, 640, 1280]
    assert _choose_training_sizes(640, 40, 4).tolist() == [80, 160, 320, 640]
    assert _choose_training_sizes(640, 40, 1).tolist() == [640]


@pytest.mark.parametrize(
    "parameters",
    [{}, {"top": 5}, {"top": 5, "criterion": "chi2", "min_df": 2}, {"estimate": "ml"}, {"ngrams": 2, "max_df": 0.5}, {"prior_shape": "background", "class_prior": "uniform"}],
    ids=str,
)  # fmt: skip
def test_points_match_models_trained_on_the_texts(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each run is made again with texts, from nothing; parts grow, and never hold a document that is held out."""
    texts = texts_of(60)
    subsets, checked = count_corpus(texts, **parameters)
    asked: list[tuple[list[int], list[int]]] = []
    figures: list[tuple[float, float, float]] = []
    inner = tested._train_model

    def watched(work: Any, task: Any) -> Any:
        run, place = task
        test, order = work.runs[run]
        asked.append((np.sort(order[: work.sizes[place]]).tolist(), np.flatnonzero(test).tolist()))
        judged = inner(work, task)
        assert not isinstance(judged, UsageError)
        figures.append(judged[0])
        return judged

    monkeypatch.setattr(tested, "_train_model", watched)
    curve = compute_learning_curve(subsets, checked, Resampling(n_sizes=3, n_folds=3, n_repeats=2))
    sizes = [point.documents for point in curve.points]
    assert (curve.documents, curve.runs, len(asked)) == (60, 6, 6 * len(sizes))
    assert sizes[-1] == 40
    compared = 0
    for place, ((training, test), made) in enumerate(zip(asked, figures, strict=True)):
        assert not set(training) & set(test)
        if place % len(sizes):
            assert set(asked[place - 1][0]) < set(training)
            assert asked[place - 1][1] == test
        labels, known = zip(*(texts[row] for row in training), strict=True)
        model = TextClassifier(stemmer="none", calibration="none", **parameters).fit(known, labels)
        scores = np.sort(model.joint_log_likelihood(texts[row][1] for row in test), axis=1)
        with np.errstate(invalid="ignore"):
            if np.any(scores[:, -1] - scores[:, -2] < 1e-9):
                continue  # two classes tie, and rounding decides
        compared += 1
        truth = [texts[row][0] for row in test]
        answers = [answer or "" for answer in model.predict(texts[row][1] for row in test).tolist()]
        occurring = sorted({*truth, *answers} - {""})
        assert made[0] == pytest.approx(accuracy_score(truth, answers))
        assert made[1] == pytest.approx(
            f1_score(truth, answers, labels=occurring, average="macro", zero_division=0)
        )
        assert made[2] == pytest.approx(
            accuracy_score(labels, [answer or "" for answer in model.predict(known).tolist()]),
            abs=0.06,
        )  # ties
    assert compared >= 6
    for repeat in range(2):
        tested_once = sorted(
            row for run in range(3) for row in asked[(3 * repeat + run) * len(sizes)][1]
        )
        assert tested_once == list(range(60))
    for place, point in enumerate(curve.points):
        of_runs = np.array(figures[place :: len(sizes)])
        assert (point.accuracy, point.macro_f1, point.training_accuracy) == pytest.approx(
            of_runs.mean(axis=0)
        )
        bands = np.quantile(of_runs[:, :2], (0.025, 0.975), axis=0).T.ravel()
        assert (*point.accuracy_band, *point.macro_f1_band) == pytest.approx(bands)


def test_learnable_classes_give_a_rising_curve_and_a_forecast() -> None:
    subsets, parameters = count_corpus(texts_of(600, signal=0.15))
    curve = compute_learning_curve(subsets, parameters, Resampling())
    assert curve.points[-1].accuracy > curve.points[0].accuracy + 0.2
    assert curve.forecast.accuracy.documents == 1200
    assert curve.forecast.accuracy.value is not None
    assert curve.forecast.accuracy.now is not None
    assert curve.forecast.accuracy.now <= curve.forecast.accuracy.value <= 1
    assert curve.forecast.accuracy.value > curve.points[-1].accuracy - 0.01


def test_random_labels_give_a_flat_curve() -> None:
    texts = texts_of(400)
    shuffled = np.random.default_rng(3).permutation([label for label, _ in texts]).tolist()
    subsets, parameters = count_corpus(
        [(label, text) for label, (_, text) in zip(shuffled, texts, strict=True)], top=20
    )
    curve = compute_learning_curve(subsets, parameters, Resampling(n_repeats=2))
    assert all(abs(point.accuracy - 1 / 3) < 0.09 for point in curve.points)
    assert (
        curve.forecast.accuracy.value is None or abs(curve.forecast.accuracy.value - 1 / 3) < 0.12
    )
    assert min(point.training_accuracy for point in curve.points) > 1 / 3 + 0.05  # learnt by heart
    assert curve.points[0].training_accuracy > curve.points[-1].training_accuracy + 0.2


def test_result_depends_only_on_the_seed() -> None:
    subsets, parameters = count_corpus(texts_of(80))
    first = compute_learning_curve(subsets, parameters, Resampling(n_sizes=3))
    assert first == compute_learning_curve(subsets, parameters, Resampling(n_sizes=3))
    assert first != compute_learning_curve(subsets, parameters, Resampling(n_sizes=3, seed=1))


@pytest.mark.parametrize("jobs", [2, 3])
def test_parallel_runs_give_the_same_curve(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "MIN_PARALLEL_ENTRIES", 0)
    subsets, parameters = count_corpus(texts_of(80), min_df=10)
    alone, together = (
        compute_learning_curve(subsets, parameters, Resampling(n_folds=3, n_repeats=2), n)
        for n in (1, jobs)
    )
    assert together == alone
    with pytest.raises(UsageError, match="none of the"):
        compute_learning_curve(*count_corpus(texts_of(80), min_df=79), jobs=jobs)


def test_sizes_without_terms_are_skipped() -> None:
    texts = texts_of(80)
    subsets, parameters = count_corpus(texts, min_df=10)
    free, unlimited = count_corpus(texts)
    some = [
        point.documents
        for point in compute_learning_curve(subsets, parameters, Resampling()).points
    ]
    every = [
        point.documents for point in compute_learning_curve(free, unlimited, Resampling()).points
    ]
    assert some == every[-len(some) :]
    assert len(some) < len(every)
    subsets, parameters = count_corpus(texts, min_df=79)
    with pytest.raises(UsageError, match="none of the"):
        compute_learning_curve(subsets, parameters, Resampling())


def test_too_few_documents_for_the_folds_are_refused() -> None:
    subsets, parameters = count_corpus(texts_of(9))
    with pytest.raises(UsageError, match="9 documents are too few for 5 folds; lower folds"):
        compute_learning_curve(subsets, parameters, Resampling())
    curve = compute_learning_curve(subsets, parameters, Resampling(n_folds=4))
    assert curve.forecast.accuracy.withheld is not None


def test_single_class_has_accuracy_one() -> None:
    subsets, parameters = count_corpus(texts_of(40, classes=1))
    curve = compute_learning_curve(subsets, parameters, Resampling())
    assert {(point.accuracy, point.macro_f1) for point in curve.points} == {(1.0, 1.0)}


SIZES = np.unique(np.round(np.geomspace(100, 8000, 8)).astype(np.int64))
PLACES = SIZES.astype(np.float64)


def power_law(n: NDArray[np.float64] | float, a: float, b: float, c: float) -> NDArray[np.float64]:
    return np.asarray(a + b * np.asarray(n, np.float64) ** -c)


@given(st.floats(0, 0.5), st.floats(0.01, 3), st.floats(0.03, 1.9))
def test_exact_power_law_is_recovered(a: float, b: float, c: float) -> None:
    b *= PLACES[0] ** c / 10  # an error of at most 0.3 above a at the smallest size
    found = fit_power_laws(PLACES, power_law(PLACES, a, b, c)[np.newaxis], np.ones(8))
    assert found.predict_errors(16_000)[0] == pytest.approx(power_law(16_000, a, b, c), abs=1e-6)
    if b * PLACES[0] ** -c > 0.01 and 0.1 < c < 1.8:
        assert found.c[0] == pytest.approx(c, abs=1e-3)
        assert found.a[0] == pytest.approx(a, abs=1e-3)
        assert (found.b * found.unit**found.c)[0] == pytest.approx(b, rel=1e-2)


def test_power_laws_match_hand_computed_examples() -> None:
    found = fit_power_laws(
        np.array([1.0, 4.0, 16.0, 64.0]),
        np.array([[0.9, 0.5, 0.3, 0.2], [0.25] * 4, [1.0, 0.5, 0.25, 0.125]]),
        np.ones(4),
    )
    assert found.a == pytest.approx([0.1, found.a[1], 0.0], abs=1e-6)
    assert found.b * found.unit**found.c == pytest.approx([0.8, 0.0, 1.0], abs=1e-5)
    assert found.c[[0, 2]] == pytest.approx([0.5, 0.5], abs=1e-5)
    assert found.predict_errors(256) == pytest.approx([0.15, 0.25, 0.0625], abs=1e-6)


@examples(6)
@given(
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
    st.lists(st.floats(0.1, 10), min_size=8, max_size=8),
)
def test_power_law_fit_is_at_least_as_good_as_scipy(
    errors: list[float], weights: list[float]
) -> None:
    """scipy's search among the same laws, from several starts, finds none with a smaller sum of squares."""
    e, w = np.array(errors), np.array(weights)
    found = fit_power_laws(PLACES, e[np.newaxis], w)
    assert found.a[0] >= 0
    assert found.b[0] >= 0
    assert 0 < found.c[0] <= MAX_EXPONENT

    def residuals(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(w) * (power_law(PLACES / found.unit, *x) - e))

    least = float(np.square(residuals(np.array([found.a[0], found.b[0], found.c[0]]))).sum())
    for start in ((0.1, 0.1, 0.1), (0.1, 0.1, 1.0), (0.1, 0.01, 1.9)):
        other = least_squares(
            residuals,
            start,
            bounds=([0, 0, MAX_EXPONENT / 100], [np.inf, np.inf, MAX_EXPONENT]),
        )
        assert least <= 2 * other.cost * (1 + 1e-6) + 1e-9


def test_size_weight_is_n_divided_by_the_variance_between_runs() -> None:
    errors = np.array([[0.5, 0.30], [0.5, 0.34]])  # variances 0 and 0.0004, on average 0.0002
    assert _weight_sizes(np.array([10.0, 20.0]), errors) == pytest.approx(
        [10 / 0.0002, 20 / 0.0006]
    )
    assert _weight_sizes(np.array([10.0, 20.0]), errors[:1]).tolist() == [10, 20]


@pytest.mark.parametrize("n", [2, 5, 15, 1000])
def test_small_sample_factor_gives_students_interval(n: int) -> None:
    values = np.random.default_rng(n).normal(size=n)
    half = student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    assert _compute_small_sample_factor(n) * NORMAL_95 * values.std() / np.sqrt(n) == pytest.approx(
        half
    )


def test_equal_runs_on_an_exact_law_are_forecast_exactly() -> None:
    figures = np.tile(1 - power_law(PLACES, 0.1, 2, 0.5), (15, 1))
    made = fit_forecast(SIZES, figures, 5, 10_000, 20_000, Bootstrap(50))
    assert (made.documents, made.withheld) == (20_000, None)
    assert made.value == pytest.approx(1 - power_law(20_000, 0.1, 2, 0.5), abs=1e-6)
    assert made.now == pytest.approx(1 - power_law(10_000, 0.1, 2, 0.5), abs=1e-6)
    assert made.interval == pytest.approx((made.value, made.value), abs=1e-5)


def test_perfect_accuracy_is_forecast_with_a_wilson_lower_bound() -> None:
    made = fit_forecast(SIZES, np.ones((10, 8)), 5, 10_000, 20_000, Bootstrap(50))
    assert (made.value, made.now) == (1.0, 1.0)
    assert made.interval == pytest.approx((10_000 / (10_000 + NORMAL_95**2), 1.0))


def draw_runs(
    error: NDArray[np.float64], n: int, folds: int, repeats: int, seed: int
) -> NDArray[np.float64]:
    """Accuracies of folds × repeats runs over n documents, each of which is more or less hard whatever the run."""
    generator = np.random.default_rng(seed)
    hardness = generator.random(n)
    made = []
    for _ in range(repeats):
        order = generator.permutation(n)
        for fold in range(folds):
            own = hardness[order[fold::folds], np.newaxis]
            by_chance = generator.random((own.size, error.size))
            made.append(
                1
                - (np.where(by_chance < 0.3, generator.random(by_chance.shape), own) < error).mean(
                    axis=0
                )
            )
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
def test_forecast_interval_covers_the_truth(
    of_law: tuple[float, float, float], n: int, folds: int, repeats: int
) -> None:
    truth, covered, widths = float(1 - power_law(20_000, *of_law)), 0, []
    for seed in range(rounds(20, 40)):
        made = fit_forecast(
            SIZES,
            draw_runs(power_law(PLACES, *of_law), n, folds, repeats, seed),
            folds,
            10_000,
            20_000,
            Bootstrap(200),
        )
        if made.interval is not None:
            covered += made.interval[0] <= truth <= made.interval[1]
            widths.append(made.interval[1] - made.interval[0])
    assert len(widths) >= rounds(19, 38)
    assert covered >= 0.9 * len(widths)
    assert np.mean(widths) < 4 * 1.96 * np.sqrt(0.25 / n)  # not by saying nothing


def test_curve_that_does_not_follow_a_law_has_a_wider_interval() -> None:
    along = 1 - power_law(PLACES, 0.1, 2, 0.5)
    widths = []
    for curve in (along, np.linspace(along[0], along[-1], 8) ** 2):
        made = fit_forecast(SIZES, np.tile(curve, (15, 1)), 5, 10_000, 20_000, Bootstrap(50))
        assert made.interval is not None
        widths.append(made.interval[1] - made.interval[0])
    assert widths[1] > widths[0] + 0.005


def test_noise_or_few_points_give_no_forecast() -> None:
    noise = np.random.default_rng(0).random((10, 8))
    made = fit_forecast(SIZES, noise, 5, 10_000, 20_000, Bootstrap(100))
    assert (made.value, made.interval, made.now) == (None, None, None)
    assert made.withheld is not None
    assert "too noisy" in made.withheld
    few = fit_forecast(SIZES[:3], np.ones((10, 3)), 5, 10_000, 20_000, Bootstrap(100))
    assert few.value is None
    assert few.withheld is not None
    assert "fewer than 4 points" in few.withheld
