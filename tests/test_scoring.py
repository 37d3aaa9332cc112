"""Answers and their judgement: `scoring.py`, `fitted_model.py`, `evaluation/evaluate.py` and `model/text_classifier.py`."""

from __future__ import annotations

import numpy as np
import pytest

from nbtext.corpus.document import Document
from nbtext.errors import DocumentError, UsageError
from nbtext.evaluation.evaluate import evaluate_documents
from nbtext.prediction.rule import DecisionRule
from nbtext.scoring import (
    EMPTY,
    FULL_SET,
    IMPOSSIBLE,
    NO_KNOWN_TERMS,
    Answer,
    AnswerCounts,
    iter_answers,
    score_documents,
)
from tests.textbook import model_of_china


def test_every_document_has_one_prediction_in_order() -> None:
    problem = DocumentError("not text")
    documents = [
        Document("1", None, b"tokyo"),
        Document("2", None, problem=problem),
        Document("3", None, b"tokyo macao"),
        Document("4", None, b"unheard of"),
    ]
    model = model_of_china(estimate="ml").fitted
    found = list(iter_answers(score_documents(model, documents), model, DecisionRule()))
    assert [answer.id for answer in found] == ["1", "2", "3", "4"]
    assert (found[0].label, found[0].probability, found[0].notice) == ("no", 1, None)
    assert (found[1].label, found[1].problem) == (None, problem)
    assert (found[2].label, found[2].abstained) == (None, IMPOSSIBLE)
    assert (found[3].label, found[3].notice) == ("yes", NO_KNOWN_TERMS)
    assert found[3].probability == pytest.approx(3 / 4)


def test_evaluation_of_an_impossible_document_uses_the_uniform_posterior() -> None:
    documents = [Document("1", "no", b"tokyo"), Document("2", "yes", b"tokyo macao")]
    summary = evaluate_documents(model_of_china(estimate="ml"), documents).summary()
    assert summary["n"] == 2
    assert summary["log_loss"] == pytest.approx((0 + np.log(2)) / 2)
    with pytest.raises(UsageError, match="the corpus has no readable documents"):
        evaluate_documents(model_of_china(), [])


def test_full_set_is_counted_separately_from_documents_without_known_terms() -> None:
    counts = AnswerCounts()
    answers = [
        Answer("1", ("a", "b"), (0.6, 0.4), notice=FULL_SET),
        Answer("2", ("a",), (0.5,), notice=NO_KNOWN_TERMS),
        Answer("3", abstained=EMPTY),
        Answer("4", ("a",), (0.9,)),
    ]
    assert list(counts.observe(answers)) == answers
    assert (counts.n_abstained, counts.n_without_known_terms) == (1, 1)
    assert [answer.label for answer in answers] == ["a", "a", None, "a"]
    assert [answer.probability for answer in answers] == [0.6, 0.5, None, 0.9]
