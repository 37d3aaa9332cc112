"""What words and values add to a score, by hand."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext.classifiers.base import subtract_scores
from nbtext.counts.counting import DocumentCounter
from nbtext.explain.contributions import (
    compute_bias,
    compute_term_contributions,
    find_impossible_terms,
)
from tests.explained_models import GAUSSIAN, model
from tests.textbook import CHINA_ASKED, model_of_china

if TYPE_CHECKING:
    from nbtext import TextClassifier
    from nbtext.counts.matrix import DocumentTermMatrix

NO, YES = 0, 1
ASKED = " ".join(CHINA_ASKED)
CHINESE, RARE = log(3 / 7 / (2 / 9)), log(1 / 14 / (2 / 9))
"""log φ_yes / φ_no of "chinese", and of "japan" and "tokyo", in IIR example 13.1."""


def count_text(of: TextClassifier, *documents: str | bytes) -> DocumentTermMatrix:
    counter = DocumentCounter(of.analysis, of.fitted.statistics.vocabulary)
    return counter.count(
        [text.encode() if isinstance(text, str) else text for text in documents]
    ).to_matrix()


def by_term(of: TextClassifier, matrix: DocumentTermMatrix, numbers: Any) -> dict[str, Any]:
    return {
        of.fitted.statistics.vocabulary.get_term(term): number
        for term, number in zip(matrix.terms.tolist(), numbers.tolist(), strict=True)
    }


@pytest.mark.parametrize("at_once", [1, 3, 1 << 21])
def test_contributions_to_requested_classes_sum_to_the_score_differences(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nbtext.classifiers.base.MAX_BLOCK_TERM_WEIGHTS", at_once)
    for parameters in ({}, {"classifier": "bernoulli"}):
        of = model(**parameters)
        texts = ["red cat cat", "the postman barks", "", "fish swim, cats sleep"]
        answers, rivals = np.array([0, 1, 2, 2]), np.array([1, 0, 0, 0])
        found = compute_term_contributions(
            of.fitted.classifier, count_text(of, *texts), answers, rivals
        )
        assert found is not None
        matrix, nats = found
        prior, joint = (
            compute_bias(of.fitted.classifier, count_text(of, "")),
            of.joint_log_likelihood(texts),
        )
        assert prior is not None
        sums = (
            np.bincount(matrix.entry_documents, nats, len(texts)) + prior[answers] - prior[rivals]
        )
        rows = np.arange(len(texts))
        assert sums == pytest.approx(joint[rows, answers] - joint[rows, rivals])


def test_impossible_terms_are_found_under_maximum_likelihood() -> None:
    of = model_of_china(estimate="ml")
    beijing, chinese, tokyo = of.fitted.statistics.vocabulary.find(["beijing", "chinese", "tokyo"])
    assert find_impossible_terms(
        of.fitted.classifier, np.array([chinese, tokyo, beijing, tokyo]), 2
    ).tolist() == [2, 1]
    assert find_impossible_terms(of.fitted.classifier, np.array([chinese, tokyo]), 2).tolist() == [
        -1,
        1,
    ]
    assert find_impossible_terms(
        model_of_china().fitted.classifier, np.array([chinese, tokyo, beijing]), 2
    ).tolist() == [-1, -1]
    found = compute_term_contributions(
        of.fitted.classifier, count_text(of, "tokyo beijing"), np.array([YES]), np.array([NO])
    )
    assert found is not None
    assert by_term(of, *found) == {"tokyo": -np.inf, "beijing": np.inf}
    found = compute_term_contributions(
        of.fitted.classifier, count_text(of, "tokyo"), np.array([YES]), np.array([YES])
    )
    assert found is not None
    assert np.isnan(found[1]).all()
    assert np.isnan(subtract_scores(np.array([-np.inf]), np.array([-np.inf])))


def test_classifiers_without_additive_scores_have_no_contributions() -> None:
    of = model(**GAUSSIAN)
    matrix = count_text(of, "the cat purrs")
    assert (
        compute_term_contributions(of.fitted.classifier, matrix, np.array([0]), np.array([1]))
        is None
    )
    assert compute_bias(of.fitted.classifier, matrix) is None
    assert find_impossible_terms(of.fitted.classifier, matrix.terms, 3).tolist() == [-1, -1, -1]
