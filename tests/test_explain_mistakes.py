"""Mistakes and the terms that tipped them, against plain arithmetic on the language models."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.corpus.document import Document
from nbtext.evaluation.evaluate import evaluate_scored_blocks
from nbtext.explain.mistakes import MAX_TIPPING_TERMS, Misclassification, MistakeFinder
from nbtext.prediction.posterior import find_runner_up
from nbtext.prediction.rule import DecisionRule
from nbtext.scoring import ScoredBlock, score_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = [
    "purr purr sleep",
    "purr mouse",
    "bark fetch bark",
    "bark postman",
    "swim bubble",
    "swim sleep",
]
LABELS = ["cats", "cats", "dogs", "dogs", "fish", "fish"]


def fitted(**parameters: Any) -> TextClassifier:
    return TextClassifier(
        **{
            "stemmer": "none",
            "stop_words": "none",
            "smoothing": 1,
            "calibration": "none",
            **parameters,
        }
    ).fit(TEXTS, LABELS)


def list_mistakes(
    model: TextClassifier, documents: Sequence[tuple[str, str]], rule: DecisionRule = DecisionRule()
) -> list[Misclassification]:
    made: list[Misclassification] = []
    finder = MistakeFinder(model.fitted)
    stream = [
        Document(f"{number}", label, text.encode())
        for number, (label, text) in enumerate(documents)
    ]

    def look(block: ScoredBlock) -> None:
        made.extend(finder.find_mistakes(block, rule.decide(block.log_posterior)))

    evaluate_scored_blocks(score_documents(model.fitted, stream), model, rule, on_block=look)
    return made


def log_probability(term: str, label: str) -> float:
    """log (m + 1) / (N + V)."""
    words = [
        word for text, of in zip(TEXTS, LABELS, strict=True) if of == label for word in text.split()
    ]
    return math.log((words.count(term) + 1) / (len(words) + 8))


def test_mistake_lists_terms_that_favour_the_prediction() -> None:
    model = fitted()
    [mistake] = list_mistakes(
        model,
        [("cats", "purr"), ("cats", "bark bark bark purr mouse sleep unheard"), ("dogs", "bark")],
    )
    assert (mistake.id, mistake.truth, mistake.answer, mistake.against) == (
        "1",
        "cats",
        "dogs",
        None,
    )
    [proba] = model.predict_proba(["bark bark bark purr mouse sleep unheard"])
    assert mistake.probability == pytest.approx(proba.max())
    assert mistake.margin == pytest.approx(math.log(proba[1] / proba[0]))
    assert [term for term, _ in mistake.terms] == ["bark"]
    assert mistake.terms[0].nats == pytest.approx(
        3 * (log_probability("bark", "dogs") - log_probability("bark", "cats"))
    )


def test_terms_are_sorted_by_strength_and_favour_the_prediction() -> None:
    [mistake] = list_mistakes(fitted(), [("fish", "mouse purr sleep purr")])
    gains = {
        term: n * (log_probability(term, "cats") - log_probability(term, "fish"))
        for term, n in (("mouse", 1), ("purr", 2), ("sleep", 1))
    }
    assert gains["sleep"] < 0
    assert [term for term, _ in mistake.terms] == ["purr", "mouse"]
    assert dict(mistake.terms) == {
        "purr": pytest.approx(gains["purr"]),
        "mouse": pytest.approx(gains["mouse"]),
    }


def test_number_of_listed_terms_is_limited() -> None:
    words = [f"w{number:02}" for number in range(MAX_TIPPING_TERMS + 5)]
    model = TextClassifier(stemmer="none", stop_words="none", smoothing=1).fit(
        [" ".join(words), "other"], ["a", "b"]
    )
    [mistake] = list_mistakes(model, [("b", " ".join(words) + " w03 w03")])
    assert [term for term, _ in mistake.terms] == [
        "w03",
        *(word for word in words if word != "w03"),
    ][:MAX_TIPPING_TERMS]


def test_term_that_excludes_the_true_class_has_infinite_weight() -> None:
    [mistake] = list_mistakes(
        fitted(estimate="ml"), [("cats", "bark sleep"), ("cats", "swim sleep")][1:]
    )
    assert (mistake.answer, mistake.probability, mistake.margin) == ("fish", 1, math.inf)
    assert mistake.terms[0] == ("swim", math.inf)


def test_mistake_with_unknown_label_is_compared_with_the_runner_up() -> None:
    [mistake] = list_mistakes(fitted(), [("birds", "purr purr bark")])
    assert (mistake.truth, mistake.answer, mistake.against) == ("birds", "cats", "dogs")
    assert [term for term, _ in mistake.terms] == ["purr"]
    assert mistake.margin > 0


def test_document_without_prediction_is_not_a_mistake() -> None:
    documents = [("cats", "bark"), ("cats", "bark purr"), ("cats", "bark bark bark bark")]
    assert [
        mistake.id
        for mistake in list_mistakes(fitted(), documents, DecisionRule(min_probability=0.8))
    ] == ["2"]
    assert list_mistakes(fitted(estimate="ml"), [("fish", "purr bark")]) == []


def test_single_class_is_its_own_runner_up() -> None:
    model = TextClassifier(smoothing=1).fit(["a text"], ["only"])
    [mistake] = list_mistakes(model, [("other", "a text")])
    assert (mistake.answer, mistake.terms, mistake.against) == ("only", (), "only")


def test_runner_up_differs_from_the_prediction_even_if_impossible() -> None:
    rows = np.log(np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]))
    assert find_runner_up(rows, np.array([0, 2, 0])).tolist() == [1, 1, 1]
    assert find_runner_up(
        np.array([[0.0, -np.inf], [-np.inf, 0.0]]), np.array([0, 1])
    ).tolist() == [
        1,
        0,
    ]
