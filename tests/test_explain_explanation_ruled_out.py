"""What rules out each class for a document that no class could have made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.explain.explanation import Explainer, RuledOut
from tests.budget import examples
from tests.explaining import TEXTS, document, model

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = sorted({word.strip(",") for texts in TEXTS.values() for text in texts for word in text.split()})


def ruled_out(of: TextClassifier, text: str | bytes) -> Sequence[RuledOut]:
    [found] = Explainer(of).explain([document(text)])
    assert (found.abstained == "impossible") == bool(found.ruled_out)
    return found.ruled_out


@pytest.mark.parametrize(
    "setting", [{}, {"ngrams": 2}, {"char_ngrams": "3"}, {"weighting": "tfidf"}, {"classifier": "dirichlet-multinomial"}], ids=str
)
@examples(5)
@given(words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=8))
def test_the_word_alone_rules_the_class_out_and_none_before_it_does(setting: dict[str, Any], words: list[str]) -> None:
    of = model(**setting, estimate="ml")
    for cause in ruled_out(of, " ".join(words)):
        assert cause.by == "word"
        assert cause.name is not None
        label = of.classes_.index(cause.label)
        assert of.joint_log_likelihood([cause.name])[0, label] == -np.inf
        begin = f" {' '.join(words)} ".find(f" {cause.name} ")
        if begin < 0:  # an n-gram across a stop word stands nowhere as one
            continue
        assert np.isfinite(of.joint_log_likelihood([" ".join(words)[: max(begin - 1, 0)]])[0, label])


def test_the_surface_form_is_that_of_the_text() -> None:
    found = ruled_out(model(estimate="ml"), "CATS bark, fishes")
    assert found == (
        RuledOut("cats", "word", "bark", "bark"), RuledOut("dogs", "word", "cats", "cat"), RuledOut("fish", "word", "cats", "cat"),
    )  # fmt: skip


def test_an_ngram_rules_out_with_all_its_words() -> None:
    of = TextClassifier(estimate="ml", ngrams=2, stop_words="none").fit(["red cat", "cat sleeps red", "sleeping cat"], list("aab"))
    assert [(cause.label, cause.name, cause.term) for cause in ruled_out(of, "cats red sleeping cat")] == [
        ("a", "sleeping cat", "sleep cat"), ("b", "red", "red"),
    ]  # fmt: skip


def test_a_value_beside_the_text_a_prior_and_a_word_that_is_lacking() -> None:
    of = TextClassifier(estimate="ml", categorical="colour", class_prior={"a": 1, "b": 1, "c": 0}).fit(
        [{"text": "cat", "colour": "red"}, {"text": "cat", "colour": "blue"}, {"text": "cat", "colour": "green"}], list("abc")
    )
    [found] = Explainer(of).explain([Document("x", None, of._attributes.document(b"cat", ["green"]))])
    assert found.ruled_out == (
        RuledOut("a", "attribute", "colour", value="green"), RuledOut("b", "attribute", "colour", value="green"), RuledOut("c", "prior"),
    )  # fmt: skip
    of = TextClassifier(classifier="bernoulli", estimate="ml", stemmer="none").fit(
        ["red cat", "red cat", "red dog", "red dog"], list("aabb")
    )
    assert [(cause.label, cause.by, cause.name) for cause in ruled_out(of, "cat")] == [("a", "lacking", None), ("b", "word", "cat")]


def test_a_document_with_an_answer_has_none() -> None:
    [found] = Explainer(model(estimate="ml")).explain([document("cat purrs")])
    assert (found.ruled_out, found.abstained) == ((), None)
