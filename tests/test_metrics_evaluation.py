"""Figures of merit: the slow twin, and scikit-learn on random inputs.

Also tests `metrics/outcomes.py` and `metrics/ranking.py`.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics as reference

from nbtext import TextClassifier
from nbtext.counts import matrix
from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.intervals import NORMAL_95, Bootstrap, wilson_interval
from nbtext.metrics.outcomes import CONFIDENCE_BINS
from nbtext.metrics.ranking import _rank_with_ties, area_under_roc, average_precision
from nbtext.prediction.labels import DocumentLabels, single_label_table
from nbtext.prediction.posterior import ClassPosterior
from tests import oracle_metrics as oracle
from tests.profiles import examples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.settings import CalibrationName, ClassifierName, Weighting


CLASSES = ["a", "b", "c"]
PLAIN = Bootstrap(0)
ProbabilityRows = list[tuple[str, tuple[float, float, float]]]


probabilities = (
    st.tuples(*[st.integers(0, 1000)] * 3)
    .filter(any)
    .map(lambda row: tuple(part / sum(row) for part in row))
)


def draw_documents(
    labels: list[str], rows: st.SearchStrategy[Any]
) -> st.SearchStrategy[ProbabilityRows]:
    return st.lists(st.tuples(st.sampled_from(labels), rows), min_size=1, max_size=25)


def log(
    rows: list[tuple[float, float, float]],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    table = np.array(rows, float).reshape(-1, 3)
    logarithms: np.ndarray[tuple[int, int], np.dtype[np.float64]] = np.log(
        table, out=np.full_like(table, -np.inf), where=table > 0
    )
    return logarithms


def evaluate(documents: ProbabilityRows, block: int = 100) -> Evaluation:
    evaluation = Evaluation(CLASSES)
    for begin in range(0, len(documents), block):
        labels, rows = zip(*documents[begin : begin + block], strict=True)
        evaluation.add(labels, ClassPosterior(log(list(rows))))
    return evaluation


def answers(documents: ProbabilityRows) -> list[str]:
    return [
        CLASSES[row.index(max(row))] for row in np.exp(log([row for _, row in documents])).tolist()
    ]


@examples(16)
@given(draw_documents([*CLASSES, "unknown", "other"], probabilities))
def test_all_metrics_match_the_slow_twin(documents: ProbabilityRows) -> None:
    summary = evaluate(documents).summary(PLAIN)
    truth, answered = [label for label, _ in documents], answers(documents)
    given_probabilities = [dict(zip(CLASSES, row, strict=True)) for _, row in documents]
    assert summary["n"] == len(documents)
    assert summary["accuracy"] == sum(t == a for t, a in zip(truth, answered, strict=True)) / len(
        truth
    )
    assert summary["brier"] == pytest.approx(
        oracle.brier(truth, given_probabilities), rel=1e-12, abs=1e-15
    )
    log_loss = oracle.log_loss(truth, given_probabilities)
    assert summary["log_loss"] == (
        pytest.approx(log_loss, rel=1e-12, abs=1e-15) if math.isfinite(log_loss) else None
    )
    for label, figures in summary["per_class"].items():
        wanted = oracle.precision_recall_f1(truth, answered, label)
        assert (figures["precision"], figures["recall"], figures["f1"]) == pytest.approx(
            wanted, rel=1e-15
        )
        assert figures["support"] == truth.count(label)
    cells = {(t, a): n for t, row in summary["confusion"].items() for a, n in row.items()}
    assert cells == Counter(zip(truth, answered, strict=True))
    assert summary["unknown_labels"] == list(
        dict.fromkeys(label for label in truth if label not in CLASSES)
    )
    assert summary["classes"] == CLASSES + summary["unknown_labels"]


@given(draw_documents(CLASSES, probabilities))
def test_calibration_error_matches_the_slow_twin(documents: ProbabilityRows) -> None:
    confidence = np.exp(log([row for _, row in documents])).max(axis=1).tolist()
    right = [
        label == answer for (label, _), answer in zip(documents, answers(documents), strict=True)
    ]
    wanted = oracle.expected_calibration_error(right, confidence, CONFIDENCE_BINS)
    assert evaluate(documents).summary(PLAIN)["ece"] == pytest.approx(wanted, rel=1e-12, abs=1e-15)


@given(st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_matches_the_slow_twin_and_scipy(case: tuple[int, int]) -> None:
    hits, n = case
    low, high = wilson_interval(hits, n)
    assert (low, high) == pytest.approx(oracle.wilson(hits, n, NORMAL_95), rel=1e-9, abs=1e-12)
    wanted = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), rel=1e-9, abs=1e-12)
    assert 0 <= low <= hits / n <= high <= 1


def test_metrics_of_no_documents_are_none() -> None:
    assert wilson_interval(0, 0) == (0, 1)
    assert Evaluation(CLASSES).n == 0
    summary = Evaluation(CLASSES).summary(PLAIN)
    figures = (
        "accuracy",
        "macro_precision",
        "macro_recall",
        "macro_f1",
        "log_loss",
        "brier",
        "ece",
    )
    assert {name: summary[name] for name in figures} == dict.fromkeys(figures)


NO_ANSWER = ""


class Case(NamedTuple):
    """Documents: classes known, true labels, posteriors, shape (n, K), and answers, "" for none."""

    classes: list[str]
    truth: list[str]
    posterior: NDArray[np.float64]
    answers: list[str]

    def evaluation(self, block: int = 1000, **options: Any) -> Evaluation:
        evaluation = Evaluation(self.classes, **options)
        numbers = np.array(
            [self.classes.index(answer) if answer else -1 for answer in self.answers]
        )
        for begin in range(0, len(self.truth), block):
            rows = slice(begin, begin + block)
            answers = DocumentLabels(numbers[rows], single_label_table(len(self.classes)))
            evaluation.add(self.truth[rows], ClassPosterior(np.log(self.posterior[rows])), answers)
        return evaluation

    def summary(self) -> dict[str, Any]:
        return self.evaluation().summary(PLAIN)


@st.composite
def cases(
    draw: st.DrawFn, *, unknown: bool = True, abstaining: bool = True, least: int = 1
) -> Case:
    """Few documents or many, few levels of probability (ties) or many, classes that do not occur, labels that are unknown, no answers."""
    n_classes, n = draw(st.integers(least, 6)), draw(st.integers(1, 60))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    levels = draw(st.sampled_from([2, 5, 10**6]))
    weights = generator.integers(1, levels + 1, size=(n, n_classes)).astype(float)
    posterior = weights / weights.sum(axis=1, keepdims=True)
    classes = [f"c{k}" for k in range(n_classes)]
    among = [
        *classes[: draw(st.integers(1, n_classes))],
        *(["x", "y"] if unknown and draw(st.booleans()) else []),
    ]
    truth = generator.choice(among, n).tolist()
    answers = [classes[k] for k in posterior.argmax(axis=1)]
    if abstaining and draw(st.booleans()):
        answers = [
            answer if answered else NO_ANSWER
            for answer, answered in zip(answers, generator.random(n) < 0.7, strict=True)
        ]
    return Case(classes, truth, posterior, answers)


def approx(wanted: float) -> Any:
    return pytest.approx(wanted, rel=1e-12, abs=1e-12)


@examples(16)
@given(cases())
def test_rates_match_scikit_learn(case: Case) -> None:
    said = case.summary()
    labels = sorted({*case.truth, *case.answers} - {NO_ANSWER})
    for average in ("macro", "micro"):
        wanted = reference.precision_recall_fscore_support(
            case.truth, case.answers, labels=labels, average=average, zero_division=0
        )
        for name, value in zip(("precision", "recall", "f1"), wanted, strict=False):
            assert said[f"{average}_{name}"] == approx(value)
    assert said["accuracy"] == approx(reference.accuracy_score(case.truth, case.answers))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of answers that are no document's class, of a single class
        assert said["matthews"] == approx(reference.matthews_corrcoef(case.truth, case.answers))
        assert said["balanced_accuracy"] == approx(
            reference.balanced_accuracy_score(case.truth, case.answers)
        )


@given(cases())
def test_top_k_accuracy_matches_the_slow_twin(case: Case) -> None:
    said = case.summary()
    for k in (2, 3, 5):
        if k >= len(case.classes):
            assert f"top_{k}_accuracy" not in said
            continue
        assert said[f"top_{k}_accuracy"] == approx(
            oracle.top_k_accuracy(case.truth, case.classes, case.posterior.tolist(), k)
        )


@examples(16)
@given(cases())
def test_ranking_metrics_of_each_class_match_scikit_learn(case: Case) -> None:
    said = case.summary()
    areas, averages = [], []
    for k, label in enumerate(case.classes):
        positive = np.array([truth == label for truth in case.truth])
        found = said["per_class"][label]
        if positive.all() or not positive.any():
            assert (found["roc_auc"], found["average_precision"]) == (None, None)
            continue
        scores = np.log(case.posterior[:, k])
        areas.append(reference.roc_auc_score(positive, scores))
        averages.append(reference.average_precision_score(positive, scores))
        assert (found["roc_auc"], found["average_precision"]) == (
            approx(areas[-1]),
            approx(averages[-1]),
        )
    assert said["macro_roc_auc"] == (approx(float(np.mean(areas))) if areas else None)
    assert said["macro_average_precision"] == (approx(float(np.mean(averages))) if areas else None)
    for label in said["unknown_labels"]:
        assert said["per_class"][label]["roc_auc"] is None


@given(
    st.lists(
        st.tuples(st.sampled_from([-np.inf, -745.2, -1.0, -1e-300, 0.0]), st.booleans()),
        min_size=2,
        max_size=12,
    )
)
def test_ranking_metrics_count_pairs_including_impossible_classes(
    documents: list[tuple[float, bool]],
) -> None:
    scores, positive = (np.array(column) for column in zip(*documents, strict=True))
    if positive.all() or not positive.any():
        return
    ordered, of_class = np.sort(scores), np.sort(scores[positive])
    assert area_under_roc(ordered, of_class) == approx(
        oracle.area_under_roc(scores.tolist(), positive.tolist())
    )
    assert average_precision(ordered, of_class) == approx(
        oracle.average_precision(scores.tolist(), positive.tolist())
    )


LETTERS = "abcdefgh"
PLAINLY: dict[str, Any] = {"stemmer": "none", "stop_words": "none"}


def assert_ties_are_found(posterior: NDArray[np.float64], classes: list[str]) -> None:
    """Compare with scikit-learn on log odds of two classes rounded to nine decimals; as they are, rounding splits ties."""
    truth = np.random.default_rng(0).choice(classes, len(posterior)).tolist()
    evaluation = Evaluation(classes)
    evaluation.add(truth, ClassPosterior(posterior))
    per_class = evaluation.summary(PLAIN)["per_class"]
    odds = posterior[:, 0] - posterior[:, 1]
    found, split = [], []
    for label, odds_of_class in zip(classes, (odds, -odds), strict=True):
        positive, rounded = np.array(truth) == label, np.round(odds_of_class, 9)
        for name, figure in (
            ("roc_auc", reference.roc_auc_score),
            ("average_precision", reference.average_precision_score),
        ):
            assert per_class[label][name] == approx(figure(positive, rounded))
            found.append(per_class[label][name])
            split.append(figure(positive, odds_of_class))
    assert found != pytest.approx(split, abs=1e-12)


@pytest.mark.parametrize("calibration", ["none", "auto"])
@pytest.mark.parametrize(
    ("classifier", "weighting"),
    [
        ("multinomial", "counts"),
        ("multinomial", "tfidf"),
        ("complement", "counts"),
        ("bernoulli", "counts"),
    ],
)
def test_scores_differing_by_term_order_only_are_tied(
    classifier: ClassifierName, weighting: Weighting, calibration: CalibrationName
) -> None:
    generator = np.random.default_rng(1)
    draws = [
        [LETTERS[number] for number in generator.integers(3 * k, 3 * k + 5, 3)]
        for k in (0, 1)
        for _ in range(20)
    ]
    # every word has a twin with the same counts, far from it in the vocabulary
    texts = [" ".join(side + letter * 2 for letter in draw) for side in "az" for draw in draws]
    model = TextClassifier(
        classifier=classifier, weighting=weighting, calibration=calibration, **PLAINLY
    )
    model.fit(texts, ["x" if number % 40 < 20 else "y" for number in range(80)])
    asked = []
    for draw in draws * 5:
        side = dict(zip(LETTERS, generator.choice(["a", "z"], len(LETTERS)), strict=True))
        asked.append(" ".join(side[letter] + letter * 2 for letter in draw))
    assert_ties_are_found(model.predict_log_proba(asked), model.classes)


def test_normalised_multiples_of_the_same_counts_are_tied() -> None:
    generator = np.random.default_rng(2)
    draws = [
        sorted({LETTERS[number] * 2 for number in generator.integers(3 * k, 3 * k + 5, 4)})
        for k in (0, 1)
        for _ in range(30)
    ]
    model = TextClassifier(classifier="logistic", calibration="none", **PLAINLY)
    model.fit(
        [" ".join(draw) for draw in draws], ["x" if number < 30 else "y" for number in range(60)]
    )
    assert_ties_are_found(
        model.predict_log_proba(
            [" ".join(draw * int(generator.integers(1, 9))) for draw in draws * 3]
        ),
        model.classes,
    )


def test_copies_summed_in_different_blocks_are_tied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    generator = np.random.default_rng(3)
    chances = generator.dirichlet(np.ones(8), 20)
    texts = [
        " ".join(letter * 2 for letter in generator.choice(list(LETTERS), 9, p=of_text))
        for of_text in chances
    ]
    model = TextClassifier(**PLAINLY).fit(texts, ["x", "y"] * 10)
    monkeypatch.setattr(matrix, "MAX_BLOCK_PRODUCTS", 7)
    assert_ties_are_found(model.predict_log_proba(texts * 9), model.classes)


def test_difference_larger_than_rounding_is_not_a_tie() -> None:
    log_odds = np.array([-700.0, 30.0, 30.0 + 1e-9, 3.0, 3.0 + 1e-11, 3.0 + 1e-14, -1e-11, 0.0])
    log_p, log_q = -np.log1p(np.exp(-log_odds)), -np.log1p(np.exp(log_odds))
    units = np.spacing(np.maximum(-log_p, -log_q))
    assert _rank_with_ties(log_p, units).tolist() == [0, 5, 6, 3, 4, 3, 1, 2]
    assert _rank_with_ties(np.array([-np.inf, -1.0, -np.inf]), units[:3]).tolist() == [0, 1, 0]


def test_ranking_metrics_are_omitted_for_too_many_scores() -> None:
    case = Case(
        ["c0", "c1"],
        ["c0", "c1", "c0"],
        np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]),
        ["c0", "c1", "c1"],
    )
    enough, too_few = case.evaluation(1, max_scores=6), case.evaluation(1, max_scores=5)
    assert (enough.keeps_scores, too_few.keeps_scores) == (True, False)
    kept, left_out = enough.summary(PLAIN), too_few.summary(PLAIN)
    assert kept["macro_roc_auc"] == 1
    assert (left_out["macro_roc_auc"], left_out["macro_average_precision"]) == (None, None)
    assert left_out["per_class"]["c0"]["roc_auc"] is None
    for figures in (kept, left_out):
        for name in ("macro_roc_auc", "macro_average_precision", "per_class"):
            figures.pop(name)
    assert kept == left_out


@given(cases(), st.integers(1, 9))
def test_metrics_do_not_depend_on_blocks(case: Case, block: int) -> None:
    assert case.evaluation(block).summary(Bootstrap(20)) == case.evaluation().summary(Bootstrap(20))


@given(cases())
def test_known_metrics_exclude_documents_of_unknown_labels(case: Case) -> None:
    rows = [row for row, label in enumerate(case.truth) if label in case.classes]
    said = case.summary()
    assert said["known"]["n"] == len(rows)
    names = ("accuracy", "macro_f1", "log_loss", "brier", "ece")
    if rows:
        only = Case(
            case.classes,
            [case.truth[row] for row in rows],
            case.posterior[rows],
            [case.answers[row] for row in rows],
        )
        assert {name: said["known"][name] for name in names} == {
            name: only.summary()[name] for name in names
        }
    else:
        assert {said["known"][name] for name in names} == {None}
    unknown = {
        label: case.truth.count(label)
        for label in dict.fromkeys(case.truth)
        if label not in case.classes
    }
    assert said["unknown_documents"] == unknown
    assert (said["log_loss"] is None) == bool(unknown)
