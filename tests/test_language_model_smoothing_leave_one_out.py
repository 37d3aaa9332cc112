"""Leave-one-out by subtraction against models really estimated from all other documents."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.documents import CountedDocuments
from tests import oracle
from tests.budget import examples
from tests.building import language_models, matrix_of, multinomial, statistics_of

Corpus = list[tuple[str, list[str]]]
CORPORA = st.lists(st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from("abcdefg"), max_size=6)), min_size=2, max_size=10)
PRIORS = ("empirical", "uniform", "smoothed:0.5")


def prior_of(counts: oracle.Counts, kind: str) -> dict[str, float]:
    added = 0.5 if kind == "smoothed:0.5" else 0
    return {k: 1 / len(counts.documents) if kind == "uniform" else float(p) for k, p in oracle.class_prior(counts, added).items()}


@examples(12)
@given(
    CORPORA,
    st.sampled_from(["symmetric", "background"]),
    st.sampled_from([("mean", 1.0), ("mean", 0.25), ("map", 0.5), ("mean", 0.0), ("ml", 0.0)]),
    st.sampled_from(PRIORS),
    st.sets(st.sampled_from("abcdefg"), min_size=1),
)
def test_it_equals_an_estimate_without_the_document(
    corpus: Corpus, shape: str, estimate: tuple[str, float], prior: str, over: set[str]
) -> None:
    name, smoothing = estimate
    statistics = statistics_of(corpus)
    over = {term for term in over if any(term in terms for _, terms in corpus)}
    models = language_models(statistics, smoothing, shape, name, over=list(over))
    matrix = matrix_of([terms for _, terms in corpus], statistics.vocabulary)
    classes = np.array([statistics.classes.index(label) for label, _ in corpus])
    documents = CountedDocuments(matrix, classes, np.zeros(len(corpus), np.uint64))
    left_out = multinomial(models, prior).leave_one_out(documents)
    for row, (_, terms) in enumerate(corpus):
        others = [document for place, document in enumerate(corpus) if place != row]
        counts = oracle.count(others)
        remaining = {term for term in over if any(term in held for _, held in others)}
        known = [term for term in terms if term in remaining]
        refitted = oracle.language_models(counts, remaining, smoothing, shape, name)
        wanted = {
            label: oracle.log(of_class) + sum(n * oracle.log(refitted[label, term]) for term, n in Counter(known).items())
            for label, of_class in prior_of(counts, prior).items()
        }
        got = dict(zip(statistics.classes, left_out.scores[row].tolist(), strict=True))
        assert got == pytest.approx({label: wanted.get(label, -np.inf) for label in statistics.classes}, rel=1e-9, abs=1e-9)
        assert left_out.lengths[row] == len(known)
        assert left_out.unknown[row] == len(terms) - len(known)


def test_a_class_goes_with_its_only_document() -> None:
    statistics = statistics_of([("x", ["a"]), ("y", ["a"])])
    documents = CountedDocuments(matrix_of([["a"], ["a"]], statistics.vocabulary), np.array([0, 1]), np.zeros(2, np.uint64))
    scores = multinomial(language_models(statistics), "uniform").leave_one_out(documents).scores
    assert scores.tolist() == [[-np.inf, 0.0], [0.0, -np.inf]]


def test_a_prior_that_leaves_no_class_leaves_no_score() -> None:
    statistics = statistics_of([("x", ["a"]), ("y", ["a"])])
    documents = CountedDocuments(matrix_of([["a"]], statistics.vocabulary), np.array([0]), np.zeros(1, np.uint64))
    scores = multinomial(language_models(statistics), {"x": 1, "y": 0}).leave_one_out(documents).scores
    assert scores.tolist() == [[-np.inf, -np.inf]]
