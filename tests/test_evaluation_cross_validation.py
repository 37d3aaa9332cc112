"""Cross-validation is training on each part and answering the rest; chance stays chance; folds divide a corpus as they promise.

Also tests `evaluation/cross_validation.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbtext.classifiers.base import compute_class_prior
from nbtext.corpus.document import Document
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import count_labelled_documents
from nbtext.errors import UsageError
from nbtext.evaluation import cross_validation
from nbtext.evaluation.cross_validation import (
    NEVER_TESTED,
    Folds,
    cross_validate,
    draw_grouped_folds,
    draw_stratified_folds,
    evaluate_leave_one_out,
    make_ordered_folds,
    rank_times,
    rank_values,
    score_leave_one_out,
    train_and_score,
)
from nbtext.metrics.intervals import Bootstrap
from nbtext.model import TextClassifier
from nbtext.model.training import fit_parameters, resolve_smoothing_terms
from nbtext.prediction.labels import make_label_set
from nbtext.selection import rank_terms
from nbtext.settings import CRITERIA, Settings
from tests.count_tables import language_models, statistics_from_table
from tests.models import count_documents, split_labelled
from tests.process import SERVICE_DESK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.counts.count_table import CountTable
    from nbtext.counts.documents import CountedDocuments


Labelled = tuple[str, bytes]
FILES = sorted((SERVICE_DESK / "train").rglob("*.txt"))
DESK: list[Labelled] = [(path.parent.name, path.read_bytes()) for path in FILES[::2]]
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "textbook": {"smoothing": 1, "calibration": "none"},
    "limits": {"min_df": 2, "max_df": 0.2, "ngrams": 2},
    "mutual information": {"top": 50},
    "presence": {"top": 50, "criterion": "presence"},
    "chi2": {"top": 50, "criterion": "chi2"},
    "log odds": {"top": 50, "criterion": "log-odds"},
    "background": {"prior_shape": "background"},
    "sample": {"keep_documents": 40, "class_prior": "smoothed:2"},
    "map": {"estimate": "map", "class_prior": "uniform"},
    "maximum likelihood": {"estimate": "ml"},
    "complement": {"classifier": "complement"},
    "complement tfidf": {"classifier": "complement", "weighting": "tfidf", "ngrams": 2},
    "complement tfidf top": {"classifier": "complement", "weighting": "tfidf", "top": 40},
    "complement tfidf limits": {
        "classifier": "complement",
        "weighting": "tfidf",
        "min_df": 2,
        "max_df": 0.3,
    },
    "complement tfidf background": {
        "classifier": "complement",
        "weighting": "tfidf",
        "prior_shape": "background",
    },
    "complement binary": {"classifier": "complement", "weighting": "binary"},
    "complement log": {"classifier": "complement", "weighting": "log", "smoothing": 0.5},
    "multinomial binary": {"weighting": "binary"},
    "multinomial log": {"weighting": "log", "keep_documents": 50},
    "multinomial tfidf": {"weighting": "tfidf"},
    "multinomial tfidf background": {"weighting": "tfidf", "prior_shape": "background"},
    "multinomial tfidf map": {"weighting": "tfidf", "estimate": "map"},
    "multinomial tfidf ml": {"weighting": "tfidf", "estimate": "ml"},
    "bernoulli binary": {"classifier": "bernoulli", "weighting": "binary"},
}


def count_corpus(
    documents: Sequence[Labelled], **settings: Any
) -> tuple[CountTable, CountedDocuments, Settings]:
    model = TextClassifier(**settings)
    return *count_documents(documents, model.analysis), resolve_smoothing_terms(model.analysis)


@pytest.mark.parametrize(
    "gone",
    [set(), {DESK[0][0], "waste-collection"}],
    ids=["all classes", "classes without training documents"],
)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_fold_matches_a_model_trained_separately(settings: dict[str, Any], gone: set[str]) -> None:
    """What is learnt from a part, and said of the rest, is what a model fitted on the part alone learns and says."""
    training = np.array([label not in gone for label, _ in DESK]) & (np.arange(len(DESK)) % 4 != 1)
    statistics, rows, parameters = count_corpus(DESK, **settings)
    learnt, blocks = train_and_score(Subsets(statistics, rows), parameters, training, ~training)
    (block,) = blocks
    inside = [document for document, here in zip(DESK, training.tolist(), strict=True) if here]
    outside = [document for document, here in zip(DESK, training.tolist(), strict=True) if not here]
    model = TextClassifier(**settings).fit(*split_labelled(inside))
    wanted = model.predict_log_proba([text for _, text in outside])
    columns = [statistics.classes.index(label) for label in model.classes]
    others = np.setdiff1d(np.arange(statistics.n_classes), columns)
    assert learnt.smoothing == pytest.approx(model.fitted.parameters.smoothing, rel=1e-9)
    assert np.count_nonzero(learnt.selected_terms) == np.count_nonzero(
        model.fitted.parameters.selected_terms
    )
    np.testing.assert_allclose(block.posterior.log_p[:, columns], wanted, rtol=1e-9, atol=1e-9)
    impossible = np.isnan(wanted[:, 0])
    assert np.all(block.posterior.log_p[~impossible][:, others] == -np.inf)
    np.testing.assert_array_equal(
        block.has_known_label, [label in model.classes for label, _ in outside]
    )
    np.testing.assert_array_equal(
        block.truth.to_texts(statistics.classes), [label for label, _ in outside]
    )


@pytest.mark.parametrize("by", CRITERIA)
def test_class_without_documents_does_not_change_term_selection(by: str) -> None:
    with_it = statistics_from_table(
        [[1, 2, 0], [50, 40, 0], [9, 0, 0]], [9, 8, 0], [[1, 2, 0], [9, 8, 0], [3, 0, 0]]
    )
    without = statistics_from_table([[1, 2], [50, 40], [9, 0]], [9, 8], [[1, 2], [9, 8], [3, 0]])
    found, wanted = (
        rank_terms(language_models(statistics), compute_class_prior("empirical", statistics), by)
        for statistics in (with_it, without)
    )
    np.testing.assert_array_equal((found.terms, found.classes), (wanted.terms, wanted.classes))
    np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-12)


def test_metrics_are_computed_from_predictions_of_all_folds() -> None:
    statistics, rows, parameters = count_corpus(DESK)
    folds = draw_stratified_folds(rows.classes, 5, np.random.default_rng(0))
    answers = np.empty(len(DESK), np.int64)
    for training, test in folds:
        inside = [document for document, here in zip(DESK, training.tolist(), strict=True) if here]
        model = TextClassifier().fit(*split_labelled(inside))
        said = model.predict([DESK[row][1] for row in np.flatnonzero(test)]).tolist()
        answers[test] = [statistics.classes.index(label or "") for label in said]
    found = cross_validate(Subsets(statistics, rows), parameters, [folds])
    summary = found.summary(Bootstrap(0))
    right = answers == rows.classes
    assert (summary["n"], summary["accuracy"]) == (len(DESK), pytest.approx(right.mean()))
    assert [fold.accuracy for fold in found.folds] == pytest.approx(
        [right[test].mean() for _, test in folds]
    )
    assert summary["folds"]["accuracy"]["mean"] == pytest.approx(
        np.mean([right[test].mean() for _, test in folds])
    )
    assert summary["folds"]["accuracy"]["sd"] == pytest.approx(
        np.std([right[test].mean() for _, test in folds], ddof=1)
    )
    assert [(fold.training_documents, fold.documents) for fold in found.folds] == [
        (training.sum(), test.sum()) for training, test in folds
    ]
    for label, figures in summary["per_class"].items():
        assert figures["recall"] == pytest.approx(
            right[rows.classes == statistics.classes.index(label)].mean()
        )


def test_repeats_are_pooled_without_narrower_intervals() -> None:
    statistics, rows, parameters = count_corpus(DESK, smoothing=1, calibration="none")
    subsets = Subsets(statistics, rows)
    divisions = [
        draw_stratified_folds(rows.classes, 4, np.random.default_rng(seed)) for seed in range(3)
    ]
    once = [
        cross_validate(subsets, parameters, [folds]).summary(Bootstrap(50)) for folds in divisions
    ]
    together = cross_validate(subsets, parameters, divisions).summary(Bootstrap(50))
    assert together["n"] == 3 * len(DESK)
    for name in ("accuracy", "log_loss", "brier", "macro_recall"):
        assert together[name] == pytest.approx(np.mean([each[name] for each in once]))
        assert together["intervals"][name] == pytest.approx(
            np.mean([each["intervals"][name] for each in once], axis=0)
        )
    label = statistics.classes[0]
    of_class = [each["per_class"][label]["intervals"]["recall"] for each in once]
    assert together["per_class"][label]["intervals"]["recall"] == pytest.approx(
        np.mean(of_class, axis=0)
    )
    assert together["folds"]["each"] == [
        {**fold, "repeat": repeat}
        for repeat, each in enumerate(once, 1)
        for fold in each["folds"]["each"]
    ]


@pytest.mark.parametrize("by", ["mutual-information", "presence", "chi2", "log-odds"])
def test_random_labels_score_at_chance_with_selected_terms(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = np.random.default_rng(0).integers(3000, size=(400, 30)).tolist()
    documents = [
        ("ab"[n % 2], " ".join(f"w{word}" for word in row).encode()) for n, row in enumerate(words)
    ]
    statistics, rows, parameters = count_corpus(documents, top=200, by=by)
    subsets = Subsets(statistics, rows)
    folds = [
        draw_stratified_folds(rows.classes, 5, np.random.default_rng(seed)) for seed in range(3)
    ]
    low, high = cross_validate(subsets, parameters, folds).summary(Bootstrap(0))["intervals"][
        "accuracy"
    ]
    assert low < 0.5 < high
    # the wrong way: terms chosen once, from all documents, know the labels of those that are judged
    selected = fit_parameters(
        subsets.select_counts(np.ones(400, np.bool_), 0), parameters
    ).selected_terms
    fair = fit_parameters
    monkeypatch.setattr(
        "nbtext.evaluation.cross_validation.fit_parameters",
        lambda *given: replace(fair(*given), selected_terms=selected),
    )
    low, _ = cross_validate(subsets, parameters, folds).summary(Bootstrap(0))["intervals"][
        "accuracy"
    ]
    assert low > 0.6


@pytest.mark.parametrize(
    "settings",
    [
        {}, {"prior_shape": "background"}, {"class_prior": "smoothed:2"}, {"estimate": "map"}, {"ngrams": 2},
        {"weighting": "log"}, {"weighting": "binary"}, {"weighting": "log", "prior_shape": "background"},
    ],
    ids=str,
)  # fmt: skip
def test_leave_one_out_equals_training_on_all_others(settings: dict[str, Any]) -> None:
    documents = [*DESK[::4], ("once", b"one document of its own class")]
    settings = {"smoothing": 0.3, "calibration": "none", **settings}
    statistics, rows, parameters = count_corpus(documents, **settings)
    (block,) = score_leave_one_out(statistics, rows, parameters)
    for row in range(len(documents)):
        others = documents[:row] + documents[row + 1 :]
        model = TextClassifier(**settings).fit(*split_labelled(others))
        columns = [statistics.classes.index(label) for label in model.classes]
        np.testing.assert_allclose(
            block.posterior.log_p[row, columns],
            model.predict_log_proba([documents[row][1]])[0],
            rtol=1e-9,
            atol=1e-9,
        )
    assert block.has_known_label.tolist() == [True] * (len(documents) - 1) + [False]
    assert block.posterior.log_p[-1, statistics.classes.index("once")] == -np.inf


def test_leave_one_out_in_blocks_gives_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    statistics, rows, parameters = count_corpus(DESK)
    whole = evaluate_leave_one_out(statistics, rows, parameters).result(Bootstrap(0))
    monkeypatch.setattr(
        "nbtext.evaluation.cross_validation.MAX_BLOCK_TERM_WEIGHTS", 7 * statistics.n_classes
    )
    blocks = list(score_leave_one_out(statistics, rows, parameters))
    assert [block.rows.size for block in blocks] == [7] * (len(DESK) // 7) + [len(DESK) % 7] * (
        len(DESK) % 7 > 0
    )
    in_blocks = evaluate_leave_one_out(statistics, rows, parameters).result(Bootstrap(0))
    assert (in_blocks.accuracy, in_blocks.confusion) == (whole.accuracy, whole.confusion)
    assert in_blocks.log_loss == pytest.approx(whole.log_loss, rel=1e-12)


def test_single_document_of_a_class_has_an_unknown_label() -> None:
    documents = [*DESK, ("once", b"one document of its own class")]
    statistics, rows, parameters = count_corpus(documents)
    for held_out in (
        evaluate_leave_one_out(statistics, rows, parameters),
        cross_validate(
            Subsets(statistics, rows), parameters, [Folds(np.arange(len(documents)) % 3, 3)]
        ).pooled,
    ):
        result = held_out.result(Bootstrap(0))
        assert (result.unknown_labels, result.unknown_documents) == (("once",), {"once": 1})
        assert (result.log_loss, result.n, result.known.n) == (None, len(documents), len(DESK))
        assert 0 < (result.known.log_loss or 0) < 10
        assert (result.known.accuracy or 0) * len(DESK) == pytest.approx(
            (result.accuracy or 0) * len(documents)
        )


@pytest.mark.parametrize("jobs", [2, 3])
def test_folds_in_processes_give_the_same_result(
    jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_validation, "MIN_PARALLEL_ENTRIES", 0)
    statistics, rows, parameters = count_corpus(DESK, top=50)
    subsets, divisions = (
        Subsets(statistics, rows),
        [draw_stratified_folds(rows.classes, 3, np.random.default_rng(seed)) for seed in range(2)],
    )
    alone, together = (cross_validate(subsets, parameters, divisions, jobs=n) for n in (1, jobs))
    assert together.summary(Bootstrap(20)) == alone.summary(Bootstrap(20))
    for mine, theirs in zip(together.repeats, alone.repeats, strict=True):
        assert mine.to_predictions() == theirs.to_predictions()
    with pytest.raises(UsageError, match="is left"):
        cross_validate(*few_terms(), [Folds(np.array([0, 1, 0]), 2)], jobs=jobs)


def test_scores_for_ranking_are_kept_if_few_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statistics, rows, parameters = count_corpus(DESK, top=50)
    folds = make_ordered_folds(np.arange(len(DESK)), 2)
    tested = np.count_nonzero(folds.fold_indices != NEVER_TESTED)
    assert tested < len(DESK)
    for room, ranked in (
        (tested * statistics.n_classes, True),
        (tested * statistics.n_classes - 1, False),
    ):
        monkeypatch.setattr(cross_validation, "MAX_RANKING_SCORES", room)
        result = cross_validate(Subsets(statistics, rows), parameters, [folds]).result(Bootstrap(0))
        assert (result.macro_roc_auc is not None) == ranked


def test_documents_impossible_in_every_class_have_no_prediction() -> None:
    documents = [("a", b"ant"), ("a", b"ant ape"), ("b", b"bee"), ("b", b"bee bat")]
    statistics, rows, parameters = count_corpus(documents, estimate="ml", stemmer="none")
    swapped = [*documents[:3], ("b", b"bee ant")]
    result = evaluate_leave_one_out(*count_corpus(swapped, estimate="ml", stemmer="none")).result(
        Bootstrap(0)
    )
    assert (result.n, result.answered) == (4, 0.75)
    assert evaluate_leave_one_out(statistics, rows, parameters).result(Bootstrap(0)).answered == 1


def few_terms() -> tuple[Subsets, Settings]:
    statistics, rows, parameters = count_corpus(
        [("a", b"ant"), ("b", b"bee"), ("a", b"cow")], min_df=2
    )
    return Subsets(statistics, rows), parameters


numbers = st.lists(st.integers(0, 5), min_size=2, max_size=60)


counts_of_folds = st.integers(2, 8)


def assert_a_division(folds: Folds, n_documents: int) -> None:
    """Every document is tested once; nothing is tested on a model that it trained."""
    tested = np.zeros(n_documents, np.int64)
    for training, test in folds:
        assert training.any()
        assert test.any()
        assert not (training & test).any()
        assert (training | test).all() or folds.is_ordered
        tested += test
    assert tested.tolist() == [
        int(number != NEVER_TESTED) for number in folds.fold_indices.tolist()
    ]
    assert folds.is_ordered or tested.all()


def test_folds_stratify_by_the_rarest_label_of_each_document() -> None:
    """Each label that is the rarest of a document stands in the training part of each fold, if it has as many documents as there are folds."""
    sets = [["many"]] * 40 + [["many", "few"]] * 5 + [["few", "rare"]] * 5 + [[]] * 10
    documents = [
        Document(str(place), make_label_set(labels), b"word") for place, labels in enumerate(sets)
    ]
    rows = count_labelled_documents(documents, TextClassifier().analysis, keep_all=True).documents
    assert rows.strata.tolist() == [2] * 40 + [1] * 5 + [3] * 5 + [0] * 10
    truth = rows.to_document_labels(3)
    for _, test in draw_stratified_folds(rows.strata, 5, np.random.default_rng(0)):
        assert truth[test].to_mask(3).sum(axis=0).tolist() == [2, 9, 1]
    of_none = [Document(str(place), make_label_set([]), b"word") for place in range(3)]
    assert (
        count_labelled_documents(
            of_none, TextClassifier().analysis, keep_all=True
        ).documents.strata.tolist()
        == [0] * 3
    )


@given(classes=numbers, n_folds=counts_of_folds, seed=st.integers(0, 9))
def test_stratified_folds_distribute_every_class_evenly(
    classes: list[int], n_folds: int, seed: int
) -> None:
    assume(n_folds <= len(classes))
    folds = draw_stratified_folds(np.array(classes), n_folds, np.random.default_rng(seed))
    assert_a_division(folds, len(classes))
    for group in (np.ones(len(classes), np.bool_), *(np.array(classes) == k for k in set(classes))):
        sizes = np.bincount(folds.fold_indices[group], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1
    again = draw_stratified_folds(np.array(classes), n_folds, np.random.default_rng(seed))
    assert again.fold_indices.tolist() == folds.fold_indices.tolist()


def test_different_seeds_give_different_folds() -> None:
    classes = np.repeat([0, 1], 50)
    first, second = (
        draw_stratified_folds(classes, 5, np.random.default_rng(seed)).fold_indices.tolist()
        for seed in (0, 1)
    )
    assert first != second
    groups = np.arange(100)
    first, second = (
        draw_grouped_folds(groups, 5, np.random.default_rng(seed)).fold_indices.tolist()
        for seed in (0, 1)
    )
    assert first != second


@given(
    groups=st.lists(st.integers(0, 20), min_size=2, max_size=60),
    n_folds=counts_of_folds,
    seed=st.integers(0, 9),
)
def test_group_is_never_in_training_and_test_part(
    groups: list[int], n_folds: int, seed: int
) -> None:
    assume(n_folds <= len(set(groups)))
    folds = draw_grouped_folds(rank_values(groups), n_folds, np.random.default_rng(seed))
    assert_a_division(folds, len(groups))
    for training, test in folds:
        assert not set(np.array(groups)[training].tolist()) & set(np.array(groups)[test].tolist())
    sizes = np.bincount(folds.fold_indices, minlength=n_folds)
    largest = max(groups.count(group) for group in groups)
    assert sizes.max() - sizes.min() <= largest


def test_largest_groups_are_assigned_first_to_the_smallest_fold() -> None:
    groups = np.repeat(np.arange(6), [9, 7, 6, 5, 4, 2])
    folds = draw_grouped_folds(groups, 3, np.random.default_rng(0))
    assert sorted(np.bincount(folds.fold_indices).tolist()) == [11, 11, 11]


@given(times=st.lists(st.integers(0, 30), min_size=3, max_size=80), n_folds=counts_of_folds)
def test_ordered_folds_train_only_on_earlier_documents(times: list[int], n_folds: int) -> None:
    assume(n_folds < len(set(times)))
    folds = make_ordered_folds(np.array(times), n_folds)
    assert_a_division(folds, len(times))
    for training, test in folds:
        earlier = np.array(times)[training]
        assert earlier.max() < np.array(times)[test].min()
        assert sorted(earlier.tolist()) == sorted(time for time in times if time <= earlier.max())


def test_ordered_folds_have_equally_many_documents() -> None:
    folds = make_ordered_folds(np.arange(110)[::-1], 10)
    assert np.bincount(folds.fold_indices + 1).tolist() == [10] * 11
    assert folds.fold_indices[0] == 9
    uneven = make_ordered_folds(np.repeat([1, 2, 3, 4], [1, 50, 1, 1]), 3)
    assert np.bincount(uneven.fold_indices + 1).tolist() == [1, 50, 1, 1]


@pytest.mark.parametrize(
    ("values", "order"),
    [
        (["10", "9", " 11 "], [1, 0, 2]),
        (["10", "9.5", "-1e3"], [2, 1, 0]),
        (["10", "9", "x"], [0, 1, 2]),
        (["nan", "9", "1"], [2, 1, 0]),
        (["inf", "9", "1"], [2, 1, 0]),
        (["9007199254740993", "9007199254740992", "9007199254740994"], [1, 0, 2]),
        (["2024-02-01", "2023-12-31", "2024-01-15T08:00"], [2, 0, 1]),
        (["5", "5.0", "5"], [0, 0, 0]),
    ],
)
def test_times_are_compared_as_numbers_if_all_are_numeric(
    values: list[str], order: list[int]
) -> None:
    assert rank_times(values, ["a", "b", "c"]).tolist() == order


def test_impossible_folds_are_refused() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(UsageError, match="only 3 documents, too few for 4 folds; lower folds"):
        draw_stratified_folds(np.array([0, 0, 1]), 4, generator)
    with pytest.raises(UsageError, match="only 2 groups, too few for 3 folds"):
        draw_grouped_folds(np.array([0, 0, 1]), 3, generator)
    with pytest.raises(UsageError, match="only 2 times after the first, too few for 3 folds"):
        make_ordered_folds(np.array([5, 6, 7, 7, 7]), 3)
    with pytest.raises(UsageError, match="document b has no time"):
        rank_times(["1", " "], ["a", "b"])
