"""Smoothing by leave-one-out: the likelihood against models really estimated from all other documents, and a maximum that is one."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from nbtext import TextClassifier
from nbtext.counts.documents import CountedDocuments
from nbtext.language_model.dirichlet import MOST_SMOOTHING, WEAKEST
from nbtext.language_model.smoothing import left_out_log_likelihood, left_out_tokens, likeliest_strength, smoothing_by_leave_one_out
from tests import oracle
from tests.budget import examples
from tests.building import matrix_of, statistics_of
from tests.process import SERVICE_DESK, in_json, succeed

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.counts.statistics import ClassStatistics

Corpus = list[tuple[str, list[str]]]
CORPORA = st.lists(st.tuples(st.sampled_from("xyz"), st.lists(st.sampled_from("abcdefg"), max_size=6)), min_size=2, max_size=10)
SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])


def counted(corpus: Corpus) -> tuple[ClassStatistics, CountedDocuments]:
    statistics = statistics_of(corpus)
    classes = np.array([statistics.classes.index(label) for label, _ in corpus])
    matrix = matrix_of([terms for _, terms in corpus], statistics.vocabulary)
    return statistics, CountedDocuments(matrix, classes, np.zeros(len(corpus), np.uint64))


def slow(corpus: Corpus, over: set[str], smoothing: float, shape: str) -> float:
    """Each document by the model of its class that all others make."""
    total = 0.0
    for row, (label, terms) in enumerate(corpus):
        others = [document for place, document in enumerate(corpus) if place != row]
        counts = oracle.count([*others, (label, [])])  # the class stays, even without documents
        remaining = {term for term in over if any(term in held for _, held in others)}
        phi = oracle.language_models(counts, remaining, smoothing, shape, "mean")
        total += sum(n * oracle.log(phi[label, term]) for term, n in Counter(terms).items() if term in remaining)
    return total


def drawn(seed: int, n_terms: int = 40, n_documents: int = 60) -> Corpus:
    random = np.random.default_rng(seed)
    themes = {label: random.dirichlet(np.full(n_terms, 0.3)) for label in "xyz"}
    labels = [str(label) for label in random.choice(list(themes), n_documents)]
    return [(label, [f"w{j:02}" for j in random.choice(n_terms, random.integers(1, 30), p=themes[label])]) for label in labels]


@SHAPES
@examples(8)
@given(corpus=CORPORA, strength=st.floats(0.01, 50), over=st.sets(st.sampled_from("abcdefg"), min_size=1))
def test_the_likelihood_is_that_of_estimates_without_the_document(shape: str, corpus: Corpus, strength: float, over: set[str]) -> None:
    statistics, documents = counted(corpus)
    over = {term for term in over if any(term in terms for _, terms in corpus)}
    selected = np.array([statistics.vocabulary.term(j) in over for j in range(statistics.n_terms)], np.bool_)
    found = left_out_log_likelihood(left_out_tokens(statistics, selected, shape, documents), strength)
    assert found == pytest.approx(slow(corpus, over, strength, shape), rel=1e-9, abs=1e-9)


@SHAPES
@pytest.mark.parametrize("seed", range(6))
def test_the_strength_found_is_the_one_that_scipy_finds(shape: str, seed: int) -> None:
    statistics, documents = counted(drawn(seed))
    tokens = left_out_tokens(statistics, np.ones(statistics.n_terms, np.bool_), shape, documents)
    found = likeliest_strength(tokens, 1e-6, 1e4)
    limits = (math.log(1e-6), math.log(1e4))
    options = {"xatol": 1e-10}
    best = minimize_scalar(lambda x: -left_out_log_likelihood(tokens, math.exp(x)), bounds=limits, method="bounded", options=options)
    assert left_out_log_likelihood(tokens, found) >= -best.fun - 1e-9
    assert 1e-5 < found < 1e3
    assert found == pytest.approx(math.exp(best.x), rel=1e-4)


@SHAPES
def test_smoothing_is_that_strength_within_bounds_with_six_digits(shape: str) -> None:
    statistics, documents = counted(drawn(1))
    every = np.ones(statistics.n_terms, np.bool_)
    per_term = 1 if shape == "symmetric" else statistics.n_terms
    strength = likeliest_strength(left_out_tokens(statistics, every, shape, documents), WEAKEST * per_term, MOST_SMOOTHING * per_term)
    found = smoothing_by_leave_one_out(statistics, every, shape, documents)
    assert found == pytest.approx(strength, rel=1e-5)
    assert float(f"{found:.6g}") == found


@SHAPES
def test_documents_that_are_all_alike_want_no_prior_and_classes_that_are_a_strong_one(shape: str) -> None:
    apart, documents = counted([("x", ["ant", "bee"])] * 5 + [("y", ["cow", "dog"])] * 5)
    every = np.ones(apart.n_terms, np.bool_)
    per_term = 1 if shape == "symmetric" else apart.n_terms
    assert smoothing_by_leave_one_out(apart, every, shape, documents) == pytest.approx(WEAKEST * per_term, rel=1e-5)
    mixed, documents = counted([(label, [term]) for label in "xy" for term in ("ant", "bee", "cow", "dog")])
    assert smoothing_by_leave_one_out(mixed, every, shape, documents) == pytest.approx(MOST_SMOOTHING * per_term, rel=1e-5)


@SHAPES
@pytest.mark.parametrize("corpus", [[("a", [])], [("a", ["ant"] * 50)], [("a", ["ant"]), ("b", ["bee"])]])
def test_documents_that_say_nothing_get_a_tenth_per_term(shape: str, corpus: Corpus) -> None:
    statistics, documents = counted(corpus)
    found = smoothing_by_leave_one_out(statistics, np.ones(statistics.n_terms, np.bool_), shape, documents)
    assert found == pytest.approx(0.1 * (1 if shape == "symmetric" else max(statistics.n_terms, 1)))


def texts(corpus: Corpus) -> tuple[list[str], list[str]]:
    return [" ".join(terms) for _, terms in corpus], [label for label, _ in corpus]


def test_a_model_learns_it_from_its_sample() -> None:
    corpus = drawn(3)
    model = TextClassifier(smoothing="leave-one-out", stemmer="none", stop_words="none").fit(*texts(corpus))
    statistics, documents = counted(corpus)
    wanted = smoothing_by_leave_one_out(statistics, np.ones(statistics.n_terms, np.bool_), "symmetric", documents)
    assert model.learnt.smoothing == wanted
    part = TextClassifier(smoothing="leave-one-out", stemmer="none", stop_words="none", sample=20).fit(*texts(corpus))
    assert part.learnt.smoothing not in (wanted, TextClassifier(stemmer="none", stop_words="none").fit(*texts(corpus)).learnt.smoothing)


def test_the_commands_take_it(tmp_path: Path) -> None:
    desk = SERVICE_DESK / "train"
    succeed("train", desk, "--smoothing", "leave-one-out")
    assert "(by leave-one-out)" in succeed("inspect").text
    folds = ("--smoothing", "leave-one-out", "--calibration", "none", "--folds", "2", "-o", "json")
    judged = in_json("cross-validate", desk, *folds)
    assert len({fold["smoothing"] for fold in judged["folds"]["each"]}) == 2
    succeed("learning-curve", desk, "--smoothing", "leave-one-out")
