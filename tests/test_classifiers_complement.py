"""Complement naive Bayes: scikit-learn, and what holds of two classes. Also tests `classifiers/held_out.py`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import ComplementNB

from nbtext import TextClassifier
from nbtext.classifiers.base import Training
from nbtext.classifiers.complement import LENGTH_DIVISORS, ComplementNaiveBayes, log_proportions
from nbtext.classifiers.held_out import score_held_out_sample
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.counts.counting import Analysis
from nbtext.counts.statistics import estimate_statistics
from nbtext.counts.weighting import weigh_matrix
from nbtext.errors import UsageError
from nbtext.settings import WEIGHTINGS, Settings
from tests import strategies
from tests.count_tables import matrix_of
from tests.models import count_documents
from tests.profiles import examples
from tests.textbook import CHINA

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.oracle import Labelled

    Floats = NDArray[np.float64]

mixed = strategies.corpora.filter(
    lambda corpus: (
        len({term for _, terms in corpus for term in terms}) > 1 and len({k for k, _ in corpus}) > 1
    )
)


def training(
    corpus: list[Labelled], smoothing: float = 1.0, over: set[str] | None = None, **parameters: Any
) -> Training:
    values = Settings.from_values({"stemmer": "none", "unspaced": "pairs", **parameters})
    table, documents = count_documents(
        [(label, " ".join(terms).encode()) for label, terms in corpus], Analysis(values)
    )
    statistics = estimate_statistics(table)
    selected = np.array(
        [
            over is None or statistics.vocabulary.get_term(j) in over
            for j in range(statistics.n_terms)
        ],
        np.bool_,
    )
    return Training(statistics, selected, smoothing, values, documents)


def scores(
    model: ComplementNaiveBayes | MultinomialNaiveBayes, documents: list[list[str]]
) -> Floats:
    return model.joint_log_likelihood(matrix_of(documents, model.counts.vocabulary))[0]


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 7.5])
@examples(6)
@given(corpus=mixed, documents=strategies.asked)
def test_complement_scores_match_scikit_learn_for_each_class(
    weighting: str, alpha: float, corpus: list[Labelled], documents: list[list[str]]
) -> None:
    given_ = training(corpus, alpha, weighting=weighting)
    model, statistics = ComplementNaiveBayes.estimate(given_), given_.statistics
    normalised = weighting == "tfidf"
    assert given_.documents is not None
    reference = ComplementNB(alpha=alpha, norm=normalised)
    reference.fit(
        dense(given_.documents.matrix, weighting, given_),
        [statistics.classes[k] for k in given_.documents.classes],
    )
    weights = model.compute_weights(np.arange(statistics.n_terms))
    constant = weights.sum(axis=0).mean() if normalised else 1.0
    assert list(statistics.classes) == reference.classes_.tolist()
    np.testing.assert_allclose(
        weights / constant, reference.feature_log_prob_.T, rtol=1e-5, atol=1e-7
    )
    matrix = matrix_of(documents, statistics.vocabulary)
    wanted = reference.predict_joint_log_proba(dense(matrix, weighting, given_))
    np.testing.assert_allclose(scores(model, documents) / constant, wanted, rtol=1e-5, atol=1e-7)


def dense(matrix: Any, weighting: str, of: Training) -> Floats:
    features = weigh_matrix(matrix, weighting, of.statistics)
    table = np.zeros((matrix.n_documents, of.statistics.n_terms))
    table[features.entry_documents, features.terms] = features.counts
    return table


@pytest.mark.parametrize("weighting", ["counts", "binary", "log"])
@given(corpus=mixed, documents=strategies.asked)
def test_complement_with_two_classes_equals_multinomial_without_prior(
    weighting: str, corpus: list[Labelled], documents: list[list[str]]
) -> None:
    two = [("a" if label == corpus[0][0] else "b", terms) for label, terms in corpus]
    given_ = training(two, 0.3, weighting=weighting, class_prior="uniform")
    complement, multinomial = (
        scores(kind.estimate(given_), documents)
        for kind in (ComplementNaiveBayes, MultinomialNaiveBayes)
    )
    np.testing.assert_allclose(
        complement[:, 0] - complement[:, 1],
        multinomial[:, 0] - multinomial[:, 1],
        rtol=1e-8,
        atol=1e-8,
    )


@pytest.mark.parametrize("shape", ["symmetric", "background"])
@given(corpus=mixed, over=st.sets(st.sampled_from(strategies.WORDS)), documents=strategies.asked)
def test_complement_class_weights_are_normalised_over_selected_terms(
    shape: str, corpus: list[Labelled], over: set[str], documents: list[list[str]]
) -> None:
    """The slow twin: the complement of every class summed anew."""
    given_ = training(corpus, 0.2, over, weighting="tfidf", prior_shape=shape)
    model, statistics = ComplementNaiveBayes.estimate(given_), given_.statistics
    terms = np.flatnonzero(given_.selected)
    counts = model.counts.get_dense_counts(terms)
    added = (
        np.full(terms.size, 0.2)
        if shape == "symmetric"
        else 0.2 * counts.sum(axis=1) / max(counts.sum(), 1.0)
    )
    total = 0.2 * terms.size if shape == "symmetric" else 0.2
    total = total if terms.size else 1.0
    plain = np.empty(counts.shape)
    for k in range(statistics.n_classes):
        others = np.delete(counts, k, axis=1).sum(axis=1)
        possible = others + added > 0  # the background of a term that weighs nothing is nothing
        plain[:, k] = np.where(
            possible, -np.log(np.where(possible, others + added, 1) / (others.sum() + total)), 0
        )
    sums = plain.sum(axis=0)
    constant = sums[sums > 1e-12].mean() if (sums > 1e-12).any() else 1.0
    wanted = plain * np.divide(constant, sums, out=np.ones_like(sums), where=sums > 1e-12)
    np.testing.assert_allclose(model.compute_weights(terms), wanted, rtol=1e-6, atol=1e-7)
    assert scores(model, documents).shape == (len(documents), statistics.n_classes)


@given(
    scores=st.lists(
        st.lists(st.integers(-3000, 3000), min_size=4, max_size=4), min_size=1, max_size=4
    ),
    size=st.sampled_from([0.3, 2.0, 40.0]),
)
def test_proportions_are_in_the_order_of_the_scores(scores: list[list[int]], size: float) -> None:
    table = np.array(scores) / 10
    found = log_proportions(table, np.full(len(scores), size))
    assert np.isfinite(found).all()
    for row, logs in zip(table, found, strict=True):
        for a in range(4):
            assert [bool(logs[a] > logs[b]) for b in range(4)] == [
                bool(row[a] > row[b]) for b in range(4)
            ]


def test_proportions_are_recovered_from_complement_scores() -> None:
    shares = np.array([[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]])
    scores = -7 * np.log(1 - shares) + 11
    linear = (scores - scores.max(axis=1, keepdims=True)) / 7 / 1000
    np.testing.assert_allclose(
        np.exp(log_proportions(scores, np.full(2, 7.0)) - linear), shares, rtol=1e-12
    )
    with_none = np.insert(scores, 1, -np.inf, axis=1)
    found = log_proportions(with_none, np.full(2, 7.0))
    assert found[:, 1].tolist() == [-np.inf, -np.inf]
    np.testing.assert_allclose(
        np.delete(found, 1, axis=1), log_proportions(scores, np.full(2, 7.0)), rtol=1e-12
    )


def test_identical_documents_have_identical_scores_and_order() -> None:
    corpus: list[Labelled] = [("x", ["ant", "bee"]), ("y", ["cat", "dog"]), ("z", ["eel", "ant"])]
    model = ComplementNaiveBayes.estimate(training(corpus, weighting="tfidf"))
    variants = model.list_calibration_variants()
    assert [variant.length_divisor for variant in variants] == [None, *LENGTH_DIVISORS]
    asked_ = [["ant", "cat"], ["eel"], []]
    lengths = np.array([2, 1, 0])
    for variant in variants:
        assert scores(variant, asked_).tolist() == scores(model, asked_).tolist()
        logs = variant.to_log_scale(scores(model, asked_), lengths)
        assert (
            logs.argsort(axis=1, kind="stable").tolist()
            == scores(model, asked_).argsort(axis=1, kind="stable").tolist()
        )


def test_document_length_includes_only_selected_terms() -> None:
    corpus: list[Labelled] = [("x", ["ant", "bee"]), ("y", ["cat", "dog"]), ("z", ["eel"])]
    model = ComplementNaiveBayes.estimate(
        training(corpus, over={"ant", "cat", "eel"}, weighting="tfidf")
    )
    found = scores(model, [["ant"], ["ant", "bee", "dog"], ["bee"]])
    assert found[0].tolist() == found[1].tolist()
    assert found[2].tolist() == [0, 0, 0]
    assert found[0].argmax() == 0


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_complement_without_smoothing_is_refused(weighting: str) -> None:
    with pytest.raises(
        UsageError, match=r"cannot be used with .*: a single count of 0|needs smoothing"
    ):
        ComplementNaiveBayes.estimate(training(CHINA, 0.0, weighting=weighting))


def test_tiny_pseudo_count_still_counts_for_terms_without_counts() -> None:
    many = 20_000
    model = TextClassifier(
        classifier="complement", weighting="tfidf", smoothing=1e-12, calibration="none"
    )
    model.fit(["cat"] * many + ["dog", "dog bird"], ["a"] * many + ["b", "b"])
    assert model.predict(["cat", "dog"]).tolist() == ["a", "b"]
    assert np.isfinite(model.predict_proba(["cat", "dog", ""])).all()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("kind", [ComplementNaiveBayes, MultinomialNaiveBayes])
@examples(6)
@given(corpus=mixed)
def test_held_out_documents_are_scored_by_models_of_the_other_documents(
    kind: Any, weighting: str, corpus: list[Labelled]
) -> None:
    """Each document of the sample, here all of them, by the model of the documents outside its fold, idf and all; multinomial leaves one out."""
    from nbtext.counts.documents import DocumentSample

    given_ = training(corpus, 0.5, weighting=weighting)
    assert given_.documents is not None
    sample = DocumentSample.from_documents(given_.documents, 100).documents
    unseen = score_held_out_sample(kind.estimate(given_), given_, sample)
    order = given_.documents.find_sample_rows(sample).tolist()
    n_folds = {"tfidf": 5}.get(weighting, len(order) if kind is MultinomialNaiveBayes else 10)
    row = 0
    for fold in range(min(n_folds, len(order))):
        held_out = order[fold::n_folds]
        rest = [document for number, document in enumerate(corpus) if number not in held_out]
        if not rest:
            row += len(held_out)
            continue
        model = kind.estimate(training(rest, 0.5, weighting=weighting))
        columns = [given_.statistics.classes.index(label) for label in model.counts.classes]
        for number in held_out:
            assert unseen.truth.indices[row] == given_.statistics.classes.index(corpus[number][0])
            found, (wanted,) = unseen.scores[row], scores(model, [corpus[number][1]])
            np.testing.assert_allclose(found[columns], wanted, rtol=1e-6, atol=1e-6)
            assert np.all(np.delete(found, columns) == -np.inf)
            known = Counter(corpus[number][1]).keys() & {
                term for _, terms in rest for term in terms
            }
            assert unseen.lengths[row] == sum(corpus[number][1].count(term) for term in known)
            row += 1
    assert row == len(unseen.truth)
