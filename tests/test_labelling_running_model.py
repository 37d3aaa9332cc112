"""The model after each label: against its formula, and exact whatever the order. Also tests `labelling/pool.py`."""

from __future__ import annotations

from math import log, log1p
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nbtext.labelling.asking import MEANS, VECTORS, Coverage
from nbtext.labelling.running_model import PSEUDO_COUNT, RunningModel
from tests.budget import examples
from tests.labelling import labelled_texts, pool_of

if TYPE_CHECKING:
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


def formula(labels: dict[int, int], n_classes: int, row: int) -> list[float]:
    """s_k less what is the same in every class, as the docstring of the module has it."""
    found = []
    for number in range(n_classes):
        members = [each for each, of_class in labels.items() if of_class == number]
        counts = COUNTS[members].sum(axis=0)
        total = counts.sum() + PSEUDO_COUNT * POOL.n_terms
        score = log((len(members) + 1) / (len(labels) + n_classes))
        score += sum(x * log((m + PSEUDO_COUNT) / total) for x, m in zip(COUNTS[row], counts, strict=True) if x)
        found.append(score)
    return [score - found[0] for score in found]


def model_of(labels: dict[int, int], n_classes: int) -> RunningModel:
    model = RunningModel(POOL)
    for _ in range(n_classes):
        model.add_class()
    for row, number in labels.items():
        model.add(POOL.reach(row), np.array([number]))
    return model


LABELS = {3: 0, 8: 1, 0: 2, 5: 0, 21: 1, 22: 2, 9: 2}


def test_scores_are_those_of_the_formula() -> None:
    scores = model_of(LABELS, 3).scores()
    for row in range(len(POOL)):
        np.testing.assert_allclose(scores[:, row] - scores[0, row], formula(LABELS, 3, row), atol=0.02)  # log counts have three digits


@examples(30)
@given(st.dictionaries(st.integers(0, 29), st.integers(0, 2), max_size=12), st.randoms(use_true_random=False))
def test_the_sums_follow_from_the_labels_whatever_came_and_went(labels: dict[int, int], random: object) -> None:
    model, coverage = model_of(labels, 3), Coverage(POOL)
    shuffled = list(labels.items())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other, covered = model_of({}, 3), Coverage(POOL)
    for row, number in [*shuffled, (29, 1), (28, 0)]:
        other.add(POOL.reach(row), np.array([number]))
        covered.add(POOL.reach(row))
    for row, number in ((29, 1), (28, 0)):
        other.add(POOL.reach(row), np.array([number]), -1)
        covered.add(POOL.reach(row), -1)
    at_once = model_of({}, 3)
    at_once.load(np.array(list(labels), np.int64), np.array(list(labels.values()), np.int64))
    coverage.load(np.array(list(labels), np.int64))
    assert np.array_equal(model.scores(), other.scores())
    assert np.array_equal(model.scores(), at_once.scores())
    assert np.array_equal(coverage.of_documents, covered.of_documents)


def test_a_document_left_out_is_scored_by_the_model_without_it() -> None:
    rows, classes = np.array(list(LABELS)), np.array(list(LABELS.values()))
    found = model_of(LABELS, 3).left_out(rows, classes)
    for place, row in enumerate(rows.tolist()):
        without = {each: number for each, number in LABELS.items() if each != row}
        scores = model_of(without, 3).scores(rows[[place]])[:, 0]
        np.testing.assert_allclose(found[:, place] - found[0, place], scores - scores[0], atol=1e-9)


def test_a_class_is_unknown_without_its_only_document() -> None:
    left_out = model_of({1: 0, 2: 0, 3: 1}, 2).left_out(np.array([3]), np.array([1]))
    assert np.isneginf(left_out[1, 0])
    assert np.isfinite(left_out[0, 0])


def test_term_scores_sum_to_the_scores_but_for_the_prior() -> None:
    model = model_of(LABELS, 3)
    sums = model.term_scores(POOL.reach(4)).sum(axis=1)
    prior = np.log(model._documents + 1)
    np.testing.assert_allclose(np.diff(sums + prior), np.diff(model.scores(np.array([4]))[:, 0]), atol=1e-9)


def test_coverage_is_that_of_the_formula() -> None:
    """Σ_j v_jd t_j / (1 + l_j)."""
    counts = np.expm1(COUNTS)
    vectors = np.log1p(counts) * np.log(len(POOL) / (counts > 0.5).sum(axis=0))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    coverage = Coverage(POOL)
    labelled = [2, 4, 9]
    for row in labelled:
        coverage.add(POOL.reach(row))
    divisor = 1 + (counts[labelled] > 0.5).sum(axis=0)
    np.testing.assert_allclose(coverage.of_documents / (VECTORS * MEANS), vectors @ (vectors.mean(axis=0) / divisor), rtol=1e-3)
