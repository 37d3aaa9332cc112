"""The models of one label and of several after each answer: against their formulas, and exact whatever the order. Also tests `labelling/pool.py`."""

from __future__ import annotations

from math import log, log1p
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.labelling.query_strategies import MEAN_SCALE, VECTOR_SCALE, Representativeness
from nbtext.labelling.running_model import (
    LABELLING_PSEUDO_COUNT,
    RunningModel,
    RunningMultiLabelModel,
)
from tests.labelling_pools import labelled_texts, pool_of
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.labelling.pool import DocumentPool

TEXTS = labelled_texts(30)
POOL = pool_of(TEXTS)


def dense(pool: DocumentPool) -> np.ndarray:
    """Log counts, shape (n_docs, n_terms), from the texts themselves."""
    table = np.zeros((len(pool), pool.n_terms))
    for row, document in enumerate(pool.documents):
        words = document.text.decode().split()
        for word in set(words):
            table[row, pool.vocabulary.find([word])[0]] = log1p(words.count(word))
    return table


COUNTS = dense(POOL)


N = 3
LABELS = {3: 0, 8: 1, 0: 2, 5: 0, 21: 1, 22: 2, 9: 2}
SETS = {3: [0], 8: [0, 1], 0: [2], 5: [], 21: [1, 2], 22: [2], 9: [0, 1, 2]}
ANSWERS: dict[bool, dict[int, Any]] = {False: LABELS, True: SETS}
"""Rows of documents with their classes, and with their sets of labels."""
EVERY = pytest.mark.parametrize("several", [False, True], ids=["one label", "several labels"])


def array_of(several: bool, answers: Iterable[Any]) -> np.ndarray:
    """Answers as the models take them: the numbers of the classes, or whether each document has each label."""
    if several:
        return np.array(
            [[label in numbers for label in range(N)] for numbers in answers], np.bool_
        ).reshape(-1, N)
    return np.array(list(answers), np.int64)


def model_of(several: bool, answers: dict[int, Any]) -> RunningModel | RunningMultiLabelModel:
    model = RunningMultiLabelModel(POOL) if several else RunningModel(POOL)
    for _ in range(N):
        model.add_class()
    for row, answer in answers.items():
        model.add(POOL.find_neighbours(row), array_of(several, [answer]))
    return model


def relative(several: bool, scores: np.ndarray) -> np.ndarray:
    """Log odds of labels as they are, scores of classes less what is the same in every class."""
    return scores if several else scores - scores[0]


def formula(several: bool, answers: dict[int, Any], row: int) -> list[float]:
    """Log odds of labels over the rest, or s_k − s_0, as the docstrings of the module have them."""

    def side(members: list[int]) -> float:
        counts = COUNTS[members].sum(axis=0)
        total = counts.sum() + LABELLING_PSEUDO_COUNT * POOL.n_terms
        terms = sum(
            x * log((m + LABELLING_PSEUDO_COUNT) / total)
            for x, m in zip(COUNTS[row], counts, strict=True)
            if x
        )
        return log(len(members) + 1) + terms

    found = []
    for label in range(N):
        if several:
            own = [each for each, numbers in answers.items() if label in numbers]
            rest = [each for each in answers if each not in own]
        else:
            own, rest = (
                [each for each, number in answers.items() if number == of_class]
                for of_class in (label, 0)
            )
        found.append(side(own) - side(rest))
    return found


@EVERY
def test_scores_match_the_formula(several: bool) -> None:
    scores = relative(several, model_of(several, ANSWERS[several]).compute_scores())
    for row in range(len(POOL)):  # log counts have three digits
        np.testing.assert_allclose(
            scores[:, row], formula(several, ANSWERS[several], row), atol=0.02
        )


@EVERY
@examples(30)
@given(
    st.dictionaries(st.integers(0, 27), st.lists(st.integers(0, 2), unique=True), max_size=12),
    st.randoms(use_true_random=False),
)
def test_sums_depend_only_on_the_current_answers(
    several: bool, sets: dict[int, list[int]], random: Any
) -> None:
    answers: dict[int, Any] = sets
    gone: dict[int, Any] = {29: [0, 1], 28: []}
    if not several:
        answers, gone = (
            {row: numbers[0] for row, numbers in sets.items() if numbers},
            {29: 1, 28: 0},
        )
    shuffled = [*answers.items(), *gone.items()]
    random.shuffle(shuffled)
    model, covered = model_of(several, dict(shuffled)), Representativeness(POOL)
    for row, _ in shuffled:
        covered.add(POOL.find_neighbours(row))
    for row, answer in gone.items():
        model.add(POOL.find_neighbours(row), array_of(several, [answer]), -1)
        covered.add(POOL.find_neighbours(row), -1)
    at_once, coverage, rows = (
        model_of(several, {}),
        Representativeness(POOL),
        np.array(list(answers), np.int64),
    )
    at_once.add_rows(rows, array_of(several, answers.values()))
    coverage.add_rows(rows)
    assert np.array_equal(model_of(several, answers).compute_scores(), model.compute_scores())
    assert np.array_equal(model.compute_scores(), at_once.compute_scores())
    assert np.array_equal(coverage.document_scores, covered.document_scores)


@EVERY
def test_leave_one_out_score_equals_the_model_without_the_document(several: bool) -> None:
    answers = ANSWERS[several]
    rows = np.array(list(answers))
    found = relative(
        several,
        model_of(several, answers).score_leave_one_out(rows, array_of(several, answers.values())),
    )
    for place, row in enumerate(rows.tolist()):
        without = {each: answer for each, answer in answers.items() if each != row}
        wanted = relative(several, model_of(several, without).compute_scores(rows[[place]]))
        np.testing.assert_allclose(found[:, place], wanted[:, 0], atol=1e-9)


def test_class_is_unknown_without_its_only_document() -> None:
    left_out = model_of(False, {1: 0, 2: 0, 3: 1}).score_leave_one_out(np.array([3]), np.array([1]))
    assert np.isneginf(left_out[1, 0])
    assert np.isfinite(left_out[0, 0])


@EVERY
def test_term_scores_sum_to_the_scores_without_the_prior(several: bool) -> None:
    answers = ANSWERS[several]
    model = model_of(several, answers)
    members = array_of(
        True, SETS.values() if several else ([number] for number in LABELS.values())
    ).sum(axis=0)
    prior = np.log(members + 1)
    if several:
        prior -= np.log(len(answers) - members + 1)
    sums = model.score_terms(POOL.find_neighbours(4)).sum(axis=1) + prior
    np.testing.assert_allclose(
        relative(several, sums),
        relative(several, model.compute_scores(np.array([4]))[:, 0]),
        atol=1e-9,
    )


def test_coverage_matches_the_formula() -> None:
    """Σ_j v_jd t_j / (1 + l_j)."""
    counts = np.expm1(COUNTS)
    vectors = np.log1p(counts) * np.log(len(POOL) / (counts > 0.5).sum(axis=0))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    coverage = Representativeness(POOL)
    labelled = [2, 4, 9]
    for row in labelled:
        coverage.add(POOL.find_neighbours(row))
    divisor = 1 + (counts[labelled] > 0.5).sum(axis=0)
    np.testing.assert_allclose(
        coverage.document_scores / (VECTOR_SCALE * MEAN_SCALE),
        vectors @ (vectors.mean(axis=0) / divisor),
        rtol=1e-3,
    )
