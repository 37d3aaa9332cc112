"""What words and values add to a score, by hand."""

from __future__ import annotations

from math import lgamma, log
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.classifiers.base import difference
from nbtext.classifiers.dirichlet_multinomial import DirichletMultinomialNaiveBayes
from nbtext.counts.counting import document_counter
from nbtext.explain.contributions import (
    _left_out_contributions,
    attribute_scores,
    bias,
    class_contributions,
    log_odds_of_pair,
    ruling_out,
    shared_out,
    term_contributions,
)
from nbtext.explain.word_walk import WordWalker
from nbtext.model.given_texts import all_utf8
from tests.explaining import ADDITIVE, GAUSSIAN, TEXTS, model
from tests.textbook import CHINA_ASKED, model_of_china

if TYPE_CHECKING:
    from nbtext.counts.matrix import DocumentTermMatrix

NO, YES = 0, 1
ASKED = " ".join(CHINA_ASKED)
CHINESE, RARE = log(3 / 7 / (2 / 9)), log(1 / 14 / (2 / 9))
"""log φ_yes / φ_no of "chinese", and of "japan" and "tokyo", in IIR example 13.1."""


def counted(of: TextClassifier, *documents: str | bytes) -> DocumentTermMatrix:
    counter = document_counter(of.analysis, of.statistics.vocabulary)
    return counter.count([text.encode() if isinstance(text, str) else text for text in documents]).matrix()


def by_term(of: TextClassifier, matrix: DocumentTermMatrix, numbers: Any) -> dict[str, Any]:
    return {of.statistics.vocabulary.term(term): number for term, number in zip(matrix.terms.tolist(), numbers.tolist(), strict=True)}


def test_terms_of_the_textbooks_document() -> None:
    of = model_of_china()
    found = term_contributions(of.classifier, counted(of, ASKED), np.array([YES]), np.array([NO]))
    assert found is not None
    assert by_term(of, *found) == pytest.approx({"chinese": 3 * CHINESE, "japan": RARE, "tokyo": RARE})
    prior = bias(of.classifier, counted(of, ASKED))
    assert prior is not None
    assert prior == pytest.approx([log(1 / 4), log(3 / 4)])
    joint = of.joint_log_likelihood([ASKED])[0]
    assert found[1].sum() + prior[YES] - prior[NO] == pytest.approx(joint[YES] - joint[NO])


def test_a_polya_urn_adds_less_with_each_occurrence() -> None:
    """The n-th "chinese" of a document adds log (s·φ + n − 1) to the score."""
    of = model_of_china(classifier="dirichlet-multinomial")
    matrix = counted(of, ASKED)
    found = term_contributions(of.classifier, matrix, np.array([YES]), np.array([NO]))
    assert found is not None
    urn = of.classifier.of_texts
    assert isinstance(urn, DirichletMultinomialNaiveBayes)
    balls = urn.concentration * urn.language_models.probability(np.array(of.statistics.vocabulary.find(["chinese"])))[0]
    wanted = sum(log((balls[YES] + n) / (balls[NO] + n)) for n in range(3))
    assert by_term(of, *found)["chinese"] == pytest.approx(wanted)
    by_class = class_contributions(of.classifier, matrix)
    assert by_class is not None
    assert by_term(of, matrix, by_class)["chinese"] == pytest.approx([lgamma(n + 3) - lgamma(n) for n in balls])


@pytest.mark.parametrize("at_once", [1, 3, 1 << 21])
def test_documents_are_weighed_in_the_classes_asked_for(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("base", "dirichlet_multinomial"):
        monkeypatch.setattr(f"nbtext.classifiers.{name}.TERM_WEIGHTS_AT_ONCE", at_once)
    for parameters in ({}, {"classifier": "dirichlet-multinomial"}):
        of = model(**parameters)
        texts = ["red cat cat", "the postman barks", "", "fish swim, cats sleep"]
        answers, rivals = np.array([0, 1, 2, 2]), np.array([1, 0, 0, 0])
        found = term_contributions(of.classifier, counted(of, *texts), answers, rivals)
        assert found is not None
        matrix, nats = found
        prior, joint = bias(of.classifier, counted(of, "")), of.joint_log_likelihood(texts)
        assert prior is not None
        sums = np.bincount(matrix.entry_documents, nats, len(texts)) + prior[answers] - prior[rivals]
        rows = np.arange(len(texts))
        assert sums == pytest.approx(joint[rows, answers] - joint[rows, rivals])


def test_terms_rule_out_classes_that_never_had_them() -> None:
    of = model_of_china(estimate="ml")
    beijing, chinese, tokyo = of.statistics.vocabulary.find(["beijing", "chinese", "tokyo"])
    assert ruling_out(of.classifier, np.array([chinese, tokyo, beijing, tokyo]), 2).tolist() == [2, 1]
    assert ruling_out(of.classifier, np.array([chinese, tokyo]), 2).tolist() == [-1, 1]
    assert ruling_out(model_of_china().classifier, np.array([chinese, tokyo, beijing]), 2).tolist() == [-1, -1]
    found = term_contributions(of.classifier, counted(of, "tokyo beijing"), np.array([YES]), np.array([NO]))
    assert found is not None
    assert by_term(of, *found) == {"tokyo": -np.inf, "beijing": np.inf}
    found = term_contributions(of.classifier, counted(of, "tokyo"), np.array([YES]), np.array([YES]))
    assert found is not None
    assert np.isnan(found[1]).all()
    assert np.isnan(difference(np.array([-np.inf]), np.array([-np.inf])))


def test_where_scores_are_no_sums_over_terms_none_has_a_part() -> None:
    of = model(**GAUSSIAN)
    matrix = counted(of, "the cat purrs")
    assert term_contributions(of.classifier, matrix, np.array([0]), np.array([1])) is None
    assert (bias(of.classifier, matrix), class_contributions(of.classifier, matrix)) == (None, None)
    assert ruling_out(of.classifier, matrix.terms, 3).tolist() == [-1, -1, -1]
    assert class_contributions(model(classifier="complement", weighting="tfidf").classifier, counted(model(), "cat purrs")) is None


def test_a_term_is_shared_out_to_the_words_that_make_it() -> None:
    of = TextClassifier(ngrams=2, stemmer="none", stop_words="none").fit(["new york", "new jersey"], ["a", "b"])
    text = b"new new york"
    located, matrix = WordWalker.of_model(of.fitted).locate(text), counted(of, text)
    nats = np.array([{"new": 2.0, "york": 10.0, "new york": 7.0}[of.statistics.vocabulary.term(term)] for term in matrix.terms.tolist()])
    assert shared_out(located, matrix, nats).tolist() == [1, 1 + 3.5, 10 + 3.5]
    nothing = counted(of, b"unheard")
    assert shared_out(WordWalker.of_model(of.fitted).locate(b"unheard"), nothing, np.empty(0)).tolist() == [0]


@pytest.mark.parametrize("parameters", [one for one in ADDITIVE if "ngrams" not in one], ids=str)
def test_left_out_words_are_missed_by_what_they_add(parameters: dict[str, Any]) -> None:
    """Against the model asked about the text without the word; with n-grams new ones would form over the gap."""
    of = model(**parameters)
    text = "the cat and the red cat sleeps, a dog barks"
    located, matrix = WordWalker.of_model(of.fitted).locate(text.encode()), counted(of, text)
    found = _left_out_contributions(of.fitted, located, matrix, (0, 1))
    for name in sorted(set(located.names)):
        words = [place for place, other in enumerate(located.names) if other == name]
        without = " ".join(word for word in text.replace(",", "").split() if word != name)
        joint = of.joint_log_likelihood([text, without])
        lost = (joint[0, 0] - joint[0, 1]) - (joint[1, 0] - joint[1, 1])
        assert found[words] == pytest.approx([lost / len(words)] * len(words), abs=1e-9), name


def test_values_beside_the_text_by_hand() -> None:
    """With one pseudo-document rates are 8/3 and 1; with one pseudo-count "red" has 3/4 and 1/3: see test_inspection_overview.py."""
    rows = [
        {"text": "purr", "colour": "red", "legs": 4},
        {"text": "purr", "colour": "red", "legs": 2},
        {"text": "swim", "colour": "blue", "legs": 0},
    ]
    of = TextClassifier(categorical="colour", count="legs", smoothing=1).fit(rows, ["cats", "cats", "fish"])
    [document] = all_utf8([{"text": "purr", "colour": "red", "legs": 3}], of.reading)
    found = attribute_scores(of.fitted, counted(of, document), document)
    assert [(name, value) for name, value, _ in found] == [("colour", "red"), ("legs", "3")]
    nats = [log_odds_of_pair(scores[np.newaxis], (0, 1)).item() for _, _, scores in found]
    assert nats == pytest.approx([log(3 / 4 / (1 / 3)), 3 * log(8 / 3) - (8 / 3 - 1)])
    [without] = all_utf8([{"text": "purr", "legs": 0}], of.reading)
    [(name, value, scores)] = attribute_scores(of.fitted, counted(of, without), without)
    assert (name, value) == ("legs", "0")
    assert log_odds_of_pair(scores[np.newaxis], (1, 0)).item() == pytest.approx(8 / 3 - 1)
    plain = TextClassifier().fit(TEXTS["cats"] + TEXTS["dogs"], ["cats"] * 3 + ["dogs"] * 3)
    assert attribute_scores(plain.fitted, counted(plain, "cat"), b"cat") == []
