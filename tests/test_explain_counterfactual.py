"""The words without which a label is predicted: they suffice, each of them is needed, and they are taken out strongest first."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import DocumentError, UsageError
from nbtext.explain.counterfactual import (
    ALREADY_PREDICTED,
    MAX_REMOVED_WORDS,
    NOT_ENOUGH,
    ZERO_PRIOR,
    WhyNotFinder,
    WhyNotResult,
)
from nbtext.explain.token_trace import TokenTracer
from nbtext.fitted_model import FittedModel
from nbtext.model.python_input import iter_labelled_documents
from tests import test_classifiers_multi_label as several
from tests.explained_models import ADDITIVE, GAUSSIAN, TEXTS, document, explain_text, model
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.explain.token_trace import LocatedWords
    from nbtext.fitted_model import ScoredTexts
    from nbtext.type_names import Fields

MODELS = [*ADDITIVE, GAUSSIAN, {"estimate": "ml"}, {"weighting": "binary"}]
WORDS = sorted(
    {word for texts in TEXTS.values() for text in texts for word in text.replace(",", "").split()}
    | {"zebra", "Cats", "purring"}
)
short_texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


@cache
def model_of(number: int) -> TextClassifier:
    return model(**MODELS[number])


def find_why_not(of: TextClassifier, wanted: str, text: str) -> WhyNotResult:
    [found] = WhyNotFinder(of.fitted, wanted).find([document(text)])
    return found


def remove_words(text: str, words: Iterable[str]) -> str:
    return re.sub(
        rf"\b({'|'.join(map(re.escape, words)) or '(?!)'})\b", " ", text, flags=re.IGNORECASE
    )


def is_tied(of: TextClassifier, text: str) -> bool:
    """Whether rounding may decide which of the best two classes is predicted."""
    second, best = np.sort(of.joint_log_likelihood([text])[0])[-2:]
    return bool(np.isfinite(best)) and bool(best - second < 1e-9)


@examples(60)
@example(
    MODELS.index({}), "red sticks white water", "dogs"
)  # water goes first, and can come back once red has gone
@example(MODELS.index({"estimate": "ml"}), "dog barks cat", "dogs")  # no class is possible
@given(st.sampled_from(range(len(MODELS))), short_texts, st.sampled_from(sorted(TEXTS)))
def test_removed_words_suffice_and_each_is_needed(number: int, text: str, wanted: str) -> None:
    of = model_of(number)
    assume(not is_tied(of, text))
    found = find_why_not(of, wanted, text)
    assert found.label == of.predict([text])[0]
    assert (found.reason == ALREADY_PREDICTED) == (found.label == wanted)
    assert (found.removed_words is None) == (found.reason is not None)
    if found.removed_words is None:
        return
    changed = remove_words(text, found.removed_words)
    some_back = [
        remove_words(text, found.removed_words.keys() - {word}) for word in found.removed_words
    ]
    assume(not any(is_tied(of, each) for each in (changed, *some_back)))
    assert of.predict([changed]).tolist() == [wanted]
    assert of.predict_proba([changed])[0, of.classes.index(wanted)] == pytest.approx(
        found.probability_without
    )
    assert wanted not in of.predict(some_back).tolist()
    in_text = [word.casefold() for word in text.split()]
    assert found.removed_words == {word: in_text.count(word) for word in found.removed_words}


@pytest.mark.parametrize(
    "parameters",
    [{}, {"classifier": "bernoulli"}, {"weighting": "tfidf", "ngrams": 2}, GAUSSIAN],
    ids=str,
)
def test_word_that_counts_most_against_the_label_is_removed_first(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]
) -> None:
    """It is the first in `explain --against`, again and again without the words that went before."""
    monkeypatch.setattr(WhyNotFinder, "_put_back_unneeded", lambda _, reduced, *__: reduced)
    of = model(**parameters)
    text = "cat cats purrs red sofa scratch climb sleeps dog barks"
    found = find_why_not(of, "dogs", text)
    assert found.removed_words is not None
    assert len(found.removed_words) > 1
    gone: list[str] = []
    for word in found.removed_words:
        left = explain_text(of, remove_words(text, gone), "dogs")
        assert left.label != "dogs"
        assert word == max(left.words, key=lambda each: each.nats).word
        gone.append(word)


def test_unneeded_removed_word_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WhyNotFinder, "_put_back_unneeded", lambda _, reduced, *__: reduced)
    assert find_why_not(model(), "dogs", "red sticks white water").removed_words == {
        "water": 1,
        "red": 1,
    }
    monkeypatch.undo()
    assert find_why_not(model(), "dogs", "red sticks white water").removed_words == {"red": 1}


def test_later_of_two_interchangeable_words_is_put_back() -> None:
    """In their turn went water, cold and sleep; with either of the first two away, the other need not go."""
    of = model(calibration="none")
    assert find_why_not(of, "dogs", "cold the bark at on sleep water scratch").removed_words == {
        "water": 1,
        "sleep": 1,
    }


def test_first_of_equal_words_in_the_text_is_removed() -> None:
    of = TextClassifier(stemmer="none", stop_words="none", smoothing=1, calibration="none").fit(
        ["xx yy zz", "uu vv ww"], ["a", "b"]
    )
    for words in ("xx yy zz", "zz xx yy", "yy zz xx"):
        found = find_why_not(of, "b", f"{words} uu vv")
        assert found.removed_words is not None
        assert list(found.removed_words) == words.split()[:2]
        assert find_why_not(of, "b", f"{words} uu vv") == found


def test_all_occurrences_of_a_word_are_removed() -> None:
    found = find_why_not(model(stemmer="none", stop_words="none"), "dogs", "Cat cat CAT dog purrs")
    assert found.removed_words is not None
    assert found.removed_words["cat"] == 3


def many_words_model(n: int) -> TextClassifier:
    """A model of two classes that have n words each; where a text has as many of both, the first is predicted."""
    texts = {label: " ".join(f"{label}{number}" for number in range(n)) for label in "ab"}
    of = TextClassifier(
        stemmer="none", stop_words="none", smoothing=1, class_prior={"a": 1.5, "b": 1.0}
    )
    return of.fit(texts.values(), list(texts))


@pytest.mark.parametrize(
    ("n", "is_enough"), [(MAX_REMOVED_WORDS, True), (MAX_REMOVED_WORDS + 1, False)]
)
def test_number_of_removed_words_is_limited(n: int, is_enough: bool) -> None:
    of = many_words_model(60)
    text = " ".join(
        [f"a{number}" for number in range(n + 9)] + [f"b{number}" for number in range(10)]
    )
    found = find_why_not(of, "b", text)
    assert (found.reason, len(found.removed_words or ())) == (
        (None, n) if is_enough else (NOT_ENOUGH, 0)
    )


def test_words_that_do_not_count_against_the_label_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = model(class_prior={"cats": 100.0, "dogs": 1.0, "fish": 1.0})
    gone = []
    without_words = WhyNotFinder._remove

    def spied(self: WhyNotFinder, words: Sequence[str], *of: Any) -> Any:
        gone.append(words)
        return without_words(self, words, *of)

    monkeypatch.setattr(WhyNotFinder, "_remove", spied)
    found = find_why_not(of, "dogs", "the cat purrs and barks")
    assert (found.label, found.reason, found.removed_words) == ("cats", NOT_ENOUGH, None)
    assert sorted(gone[-1]) == ["cat", "purrs"]
    assert find_why_not(of, "dogs", "").reason == NOT_ENOUGH


def test_impossible_requests_return_a_reason_without_search() -> None:
    assert find_why_not(model(), "cats", "the cat purrs").reason == ALREADY_PREDICTED
    assert (
        find_why_not(TextClassifier(smoothing=1).fit(["a text"], ["only"]), "only", "a text").reason
        == ALREADY_PREDICTED
    )
    of = model(class_prior={"cats": 1.0, "dogs": 1.0, "fish": 0.0})
    found = find_why_not(of, "fish", "the cat purrs")
    assert (found.reason, found.removed_words, found.wanted_probability) == (ZERO_PRIOR, None, 0)
    [bad] = WhyNotFinder(of.fitted, "dogs").find(
        [document("")._replace(problem=DocumentError("cannot be read"))]
    )
    assert (bad.label, bad.removed_words, bad.reason, bad.problem is not None) == (
        None,
        None,
        None,
        True,
    )
    with pytest.raises(UsageError, match="no class 'birds'"):
        WhyNotFinder(of.fitted, "birds")


@pytest.mark.parametrize("classifier", ["multinomial", "logistic"])
def test_wanted_label_of_a_multi_label_model_is_added(classifier: Any) -> None:
    of = TextClassifier(classifier=classifier, stemmer="none").fit(several.TEXTS, several.SETS)
    n_found = 0
    for text in several.TEXTS[:6]:
        before = set(of.predict([text])[0])
        for wanted in of.classes:
            found = find_why_not(of, wanted, text)
            assert set((found.label or "").split("|")) - {""} == before
            assert (found.reason == ALREADY_PREDICTED) == (wanted in before)
            if found.removed_words is not None:
                n_found += 1
                assert wanted in of.predict([remove_words(text, found.removed_words)])[0]
                for word in found.removed_words:
                    assert (
                        wanted
                        not in of.predict(
                            [remove_words(text, found.removed_words.keys() - {word})]
                        )[0]
                    )
    assert n_found > 3


@pytest.mark.parametrize("parameters", [{}, {"ngrams": 2}], ids=str)
def test_attribute_values_are_kept(parameters: dict[str, Any]) -> None:
    rows: list[dict[str, object]] = [
        {"text": "cat purrs", "legs": 4, "colour": "red", "weight": 5},
        {"text": "cat sleeps", "legs": 4, "colour": "white", "weight": 4},
        {"text": "fish swim", "legs": 0, "colour": "red", "weight": 1},
        {"text": "fish sleeps", "legs": 0, "colour": "blue", "weight": 2},
    ]
    of = TextClassifier(
        count="legs", categorical="colour", numeric="weight", stemmer="none", **parameters
    )
    of.fit(rows, ["cats", "cats", "fish", "fish"])
    n_found = 0
    for legs in range(5):
        row: dict[str, object] = {
            "text": "cat cat fish purrs sleeps",
            "legs": legs,
            "colour": "red",
            "weight": 2,
        }
        [found] = WhyNotFinder(of.fitted, "fish").find(
            iter_labelled_documents([row], ["cats"], of.reading)
        )
        assert found.label == of.predict([row])[0]
        if found.removed_words is not None:
            n_found += 1
            changed = {**row, "text": remove_words(str(row["text"]), found.removed_words)}
            assert of.predict([changed]).tolist() == ["fish"]
            assert of.predict_proba([changed])[0, of.classes.index("fish")] == pytest.approx(
                found.probability_without
            )
    assert n_found > 0


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"ngrams": 2},
        {"classifier": "complement", "weighting": "tfidf"},
        {"classifier": "logistic"},
    ],
    ids=str,
)
def test_long_document_is_read_once_and_scored_a_few_times(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]
) -> None:
    """The work is in proportion to the length of the text."""
    located, scored = [], []
    locate, score = TokenTracer.locate_words, FittedModel.score_counts

    def spied_locate(walker: TokenTracer, text: bytes, fields: Fields) -> LocatedWords:
        located.append(len(text))
        return locate(walker, text, fields)

    def spied_score(model: FittedModel, matrix: DocumentTermMatrix) -> ScoredTexts:
        scored.append(matrix)
        return score(model, matrix)

    monkeypatch.setattr(TokenTracer, "locate_words", spied_locate)
    monkeypatch.setattr(FittedModel, "score_counts", spied_score)
    generator = np.random.default_rng(1)
    words = [f"{label}{number:03d}" for label in "ab" for number in range(500)]
    training = [
        " ".join(generator.choice(words[half : half + 600], 50))
        for half in (0, 400)
        for _ in range(30)
    ]
    of = TextClassifier(stemmer="none", stop_words="none", **parameters).fit(
        training, ["a"] * 30 + ["b"] * 30
    )
    for n_words in (500, 20_000):
        located.clear()
        scored.clear()
        text = " ".join(generator.choice(words[:600], n_words))
        assert find_why_not(of, "b", text).reason == NOT_ENOUGH
        assert located == [len(text)]
        assert len(scored) == MAX_REMOVED_WORDS + 1
