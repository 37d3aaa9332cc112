from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.base import LinearClassifier
from nbtext.corpus.document import Document
from nbtext.document_fields import Attributes
from nbtext.errors import DocumentError, UsageError
from nbtext.explain.explanation import Explainer, Explanation, RuledOutClass
from nbtext.text.surface_forms import is_unspaced
from tests.explained_models import ADDITIVE, GAUSSIAN, TEXTS, document, explain_text, model
from tests.profiles import examples
from tests.strategies import texts
from tests.textbook import CHINA, CHINA_ASKED

if TYPE_CHECKING:
    from collections.abc import Sequence

WORDS = sorted(
    {
        word
        for of_class in TEXTS.values()
        for text in of_class
        for word in text.replace(",", "").split()
    }
    | {"zebra", "I", "x"}
)
some_texts = st.one_of(
    texts,
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.tuples(st.sampled_from(WORDS), texts).map(" ".join),
)


@cache
def model_of(number: int) -> TextClassifier:
    return model(**ADDITIVE[number])


def scores(of: TextClassifier, explanation: Explanation, text: str) -> float:
    """The difference of the scores as the model has them."""
    joint = of.joint_log_likelihood([text])[0]
    return float(
        joint[of.classes.index(explanation.label)] - joint[of.classes.index(explanation.against)]
    )


def parts(explanation: Explanation) -> list[float]:
    return [
        explanation.prior,
        *(word.nats for word in explanation.words),
        *(each.nats for each in explanation.attributes),
    ]


def test_explanation_matches_the_textbook_example() -> None:
    """IIR example 13.1: d5 is in China, and Tokyo and Japan speak against it."""
    china = TextClassifier(stemmer="none", stop_words="none", smoothing=1).fit(
        [" ".join(terms) for _, terms in CHINA], [k for k, _ in CHINA]
    )
    found = explain_text(china, " ".join(CHINA_ASKED))
    assert (found.label, found.against) == ("yes", "no")
    assert found.prior == pytest.approx(math.log(3))
    assert [(word.word, word.occurrences) for word in found.words] == [
        ("chinese", 3),
        ("tokyo", 1),
        ("japan", 1),
    ]
    of_tokyo = math.log((1 / 14) / (2 / 9))
    assert [word.nats for word in found.words] == pytest.approx(
        [3 * math.log((3 / 7) / (2 / 9)), of_tokyo, of_tokyo]
    )
    assert found.log_odds == pytest.approx(
        math.log(0.75 * (3 / 7) ** 3 * (1 / 14) ** 2 / (0.25 * (2 / 9) ** 3 * (2 / 9) ** 2))
    )


@given(st.sampled_from(range(len(ADDITIVE))), some_texts)
def test_parts_sum_to_the_log_odds(number: int, text: str) -> None:
    of = model_of(number)
    found = explain_text(of, text)
    assert found.remainder is None
    assert math.fsum(parts(found)) == pytest.approx(found.log_odds, abs=1e-12)
    assert found.log_odds == pytest.approx(scores(of, found, text), abs=1e-9)


@given(st.sampled_from(range(len(ADDITIVE))), some_texts)
def test_spans_are_those_of_the_words(number: int, text: str) -> None:
    found, encoded, end = explain_text(model_of(number), text), text.encode(), 0
    assert found.text == text
    for begin, after, name in sorted(
        (*place, word.word) for word in found.words for place in word.spans
    ):
        assert end <= begin < after
        there = encoded[begin:after].decode().casefold()
        assert there == name or (
            is_unspaced(name) and name.startswith(there)
        )  # a pair stands where its first character stands
        end = after
    assert all(word.occurrences == len(word.spans) for word in found.words)


@given(st.sampled_from(range(len(ADDITIVE))), some_texts)
def test_dropped_words_contribute_nothing_and_have_a_reason(number: int, text: str) -> None:
    counts_pieces = ADDITIVE[number].get("char_ngrams") is not None
    for word in explain_text(model_of(number), text).words:
        if word.drop_reason in ("stop-word", "too-short", "no-letters-or-digits", "too-long") or (
            word.drop_reason is not None and not counts_pieces
        ):
            assert word.nats == 0
        assert (word.drop_reason is None) == bool(word.terms and word.drop_reason != "not-selected")


@given(st.sampled_from(range(len(ADDITIVE))), some_texts)
def test_calibration_gives_the_predicted_probabilities(number: int, text: str) -> None:
    of = model_of(number)
    found = explain_text(of, text)
    probabilities = dict(zip(of.classes, of.predict_proba([text])[0].tolist(), strict=True))
    assert (found.probability, found.against_probability) == pytest.approx(
        (probabilities[found.label], probabilities[found.against])
    )
    assert found.probability == max(probabilities.values())
    assert found.against_probability == pytest.approx(sorted(probabilities.values())[-2])
    steps = found.calibration
    assert steps.log_odds == pytest.approx(
        math.log(found.probability / found.against_probability), abs=1e-9
    )
    assert steps.temperature is not None
    assert steps.log_odds == pytest.approx(steps.on_scale / steps.temperature, abs=1e-9)
    if ADDITIVE[number].get("classifier") != "complement":
        assert steps.on_scale == pytest.approx(found.log_odds, abs=1e-9)


def test_ngram_contribution_is_divided_among_its_words() -> None:
    pairs = TextClassifier(
        ngrams=2, stemmer="none", stop_words="none", smoothing=1, class_prior="uniform"
    ).fit(["red cat", "red dog", "cat"], ["a", "b", "a"])
    found = explain_text(pairs, "red dog", "a")
    nats = {word.word: word.nats for word in found.words}
    linear = pairs.fitted.classifier
    assert isinstance(linear, LinearClassifier)
    weights = {
        term: linear.compute_weights(np.array([number]))[0, 1]
        - linear.compute_weights(np.array([number]))[0, 0]
        for number in range(pairs.fitted.statistics.n_terms)
        for term in [pairs.fitted.statistics.vocabulary.get_term(number)]
    }
    assert nats == {
        "red": pytest.approx(weights["red"] + weights["red dog"] / 2),
        "dog": pytest.approx(weights["dog"] + weights["red dog"] / 2),
    }


def test_words_with_one_stem_divide_the_contribution_of_their_term() -> None:
    found = explain_text(model(smoothing=0.3), "cat cats cat")
    assert {word.word: word.occurrences for word in found.words} == {"cat": 2, "cats": 1}
    of_cat, of_cats = (word.nats for word in found.words)
    assert of_cat == pytest.approx(2 * of_cats)


def test_words_within_unicode_punctuation_are_found_separately() -> None:
    found = explain_text(model(), "“Cat”—dog… l’eau ‘fish’")
    assert [word.word for word in found.words] == ["cat", "dog", "l’eau", "fish"]
    assert all(word.nats for word in found.words if word.word in ("cat", "fish", "dog"))


def test_against_selects_the_compared_class() -> None:
    assert explain_text(model(), "the cat purrs and sleeps", "dogs").against == "dogs"
    runner_up = explain_text(model(), "the cat purrs and sleeps").against
    assert explain_text(model(), "the cat purrs and sleeps", "cats").against == runner_up
    with pytest.raises(UsageError, match=r"no class 'dog'.*did you mean 'dogs'"):
        Explainer(model().fitted, "dog")
    with pytest.raises(UsageError, match="single class"):
        Explainer(TextClassifier(smoothing=1).fit(["a text"], ["only"]).fitted)


def test_term_with_weight_zero_in_one_ensemble_member_is_explained() -> None:
    texts = ["banana cat", "banana dog", "banana cat purr", "banana dog bark"]
    of = TextClassifier(classifier="average", stop_words="none", stemmer="none").fit(
        texts, ["a", "b"] * 2
    )
    found = explain_text(of, "banana cat")
    assert math.fsum(parts(found)) == pytest.approx(found.log_odds, abs=1e-12)
    assert found.log_odds == pytest.approx(scores(of, found, "banana cat"), abs=1e-9)


@pytest.mark.parametrize(
    "parameters", [{}, {"classifier": "average"}, {"classifier": "bernoulli"}, GAUSSIAN], ids=str
)
def test_class_with_prior_zero_has_infinite_log_odds(
    parameters: dict[str, Any],
) -> None:
    found = explain_text(
        model(class_prior={"cats": 1, "dogs": 1, "fish": 0}, **parameters),
        "a fish and a cat",
        "fish",
    )
    assert (found.prior, found.log_odds, found.calibration.log_odds) == (
        math.inf,
        math.inf,
        math.inf,
    )
    assert all(map(math.isfinite, [word.nats for word in found.words]))
    assert found.remainder in (None, 0)


def test_term_that_excludes_a_class_has_infinite_contribution() -> None:
    found = explain_text(model(estimate="ml"), "cat purrs", "dogs")
    assert found.log_odds == math.inf
    assert [word.nats for word in found.words] == [math.inf, math.inf]
    assert (found.against_probability, found.calibration.log_odds) == (0, math.inf)


def test_missing_term_that_excludes_a_class_gives_infinite_log_odds() -> None:
    """Every document of class b holds "red": without smoothing one that lacks it is of another class, whatever its words."""
    of = TextClassifier(classifier="bernoulli", estimate="ml", stemmer="none").fit(
        ["red cat", "cat", "red dog", "red cat dog"], list("aabb")
    )
    found = explain_text(of, "cat")
    assert (found.label, found.prior, found.log_odds) == ("a", math.inf, math.inf)


def test_impossible_and_unreadable_documents_are_not_explained() -> None:
    of = model(estimate="ml")
    bad = document("")._replace(problem=DocumentError("cannot be read"))
    impossible, unread = Explainer(of.fitted).explain([document("cat dog fish"), bad])
    assert (impossible.explanation, impossible.abstention) == (None, "impossible")
    assert (unread.explanation, unread.problem) == (None, bad.problem)


def test_gaussian_contribution_is_the_loss_without_the_word() -> None:
    of = model(**GAUSSIAN)
    text = "the cat purrs on a red sofa, zebra"
    found = explain_text(of, text)
    assert found.remainder is not None
    assert math.fsum([*parts(found), found.remainder]) == pytest.approx(found.log_odds, abs=1e-9)
    for word in found.words:
        without = " ".join(other for other in text.replace(",", "").split() if other != word.word)
        lost = scores(of, found, text) - scores(of, found, without)
        assert word.nats == pytest.approx(lost if word.drop_reason is None else 0, abs=1e-9)


ROWS: list[dict[str, object]] = [
    {"text": "the cat purrs", "colour": "red", "legs": 4, "kilos": 4.5},
    {"text": "a cat sleeps", "colour": "white", "legs": 4, "kilos": 5.5},
    {"text": "fish swim", "colour": "red", "legs": 0, "kilos": 0.2},
    {"text": "the fish sleeps", "colour": "red", "legs": 1, "kilos": 0.3},
]


@pytest.mark.parametrize(
    "parameters", [{}, {"classifier": "bernoulli"}, {"classifier": "logistic"}], ids=str
)
def test_attributes_have_contributions(parameters: dict[str, Any]) -> None:
    of = TextClassifier(categorical="colour", count="legs", numeric="kilos", **parameters).fit(
        ROWS, ["cats", "cats", "fish", "fish"]
    )
    row = {"text": "red cat zebra", "colour": "red", "legs": 3, "kilos": 5.1}
    found = explain_row(of, row)
    assert [(each.name, each.value) for each in found.attributes] == [
        ("colour", "red"),
        ("legs", "3"),
        ("kilos", "5.1"),
    ]
    joint = of.joint_log_likelihood([row])[0]
    sign = 1 if found.label == "cats" else -1
    assert (
        math.fsum(parts(found))
        == pytest.approx(found.log_odds, abs=1e-12)
        == pytest.approx(sign * (joint[0] - joint[1]), abs=1e-9)
    )
    for place, name in enumerate(("colour", "legs", "kilos")):
        without = of.joint_log_likelihood([{**row, name: None}])[0]
        assert found.attributes[place].nats == pytest.approx(
            sign * ((joint - without)[0] - (joint - without)[1]), abs=1e-9
        )
    assert [each.name for each in explain_row(of, {**row, "legs": None}).attributes] == [
        "colour",
        "kilos",
    ]


def test_gaussian_numbers_are_compared_with_their_mean() -> None:
    of = TextClassifier(
        categorical="colour", count="legs", numeric="kilos", **{**GAUSSIAN, "latent": 1}
    ).fit(ROWS, ["cats", "cats", "fish", "fish"])
    row = {"text": "red cat", "colour": "red", "legs": 3, "kilos": 5.1}
    found = explain_row(of, row)
    usual = sum(float(str(each["kilos"])) for each in ROWS) / len(ROWS)
    joint, at_mean = of.joint_log_likelihood([row, {**row, "kilos": usual}])
    sign = 1 if found.label == "cats" else -1
    assert found.attributes[2].nats == pytest.approx(
        sign * ((joint - at_mean)[0] - (joint - at_mean)[1]), abs=1e-9
    )
    assert found.remainder is not None


def explain_row(of: TextClassifier, row: dict[str, object]) -> Explanation:
    [found] = of.explain([row])
    assert found.explanation is not None
    return found.explanation


TRAINED_WORDS = sorted(
    {word.strip(",") for of_class in TEXTS.values() for text in of_class for word in text.split()}
)


def list_excluded_classes(of: TextClassifier, text: str | bytes) -> Sequence[RuledOutClass]:
    [found] = Explainer(of.fitted).explain([document(text)])
    assert (found.abstention == "impossible") == bool(found.ruled_out_classes)
    return found.ruled_out_classes


@pytest.mark.parametrize(
    "setting", [{}, {"ngrams": 2}, {"char_ngrams": "3"}, {"weighting": "tfidf"}], ids=str
)
@examples(5)
@given(words=st.lists(st.sampled_from(TRAINED_WORDS), min_size=2, max_size=8))
def test_excluding_word_is_the_first_that_makes_the_class_impossible(
    setting: dict[str, Any], words: list[str]
) -> None:
    of = model(**setting, estimate="ml")
    for cause in list_excluded_classes(of, " ".join(words)):
        assert cause.cause == "word"
        assert cause.name is not None
        label = of.classes.index(cause.label)
        assert of.joint_log_likelihood([cause.name])[0, label] == -np.inf
        begin = f" {' '.join(words)} ".find(f" {cause.name} ")
        if begin < 0:  # an n-gram across a stop word stands nowhere as one
            continue
        assert np.isfinite(
            of.joint_log_likelihood([" ".join(words)[: max(begin - 1, 0)]])[0, label]
        )


def test_surface_form_of_the_excluding_word_is_that_of_the_text() -> None:
    found = list_excluded_classes(model(estimate="ml"), "CATS bark, fishes")
    assert found == (
        RuledOutClass("cats", "word", "bark", "bark"), RuledOutClass("dogs", "word", "cats", "cat"), RuledOutClass("fish", "word", "cats", "cat"),
    )  # fmt: skip


def test_excluding_ngram_is_shown_with_all_its_words() -> None:
    of = TextClassifier(estimate="ml", ngrams=2, stop_words="none").fit(
        ["red cat", "cat sleeps red", "sleeping cat"], list("aab")
    )
    assert [(cause.label, cause.name, cause.term) for cause in list_excluded_classes(of, "cats red sleeping cat")] == [
        ("a", "sleeping cat", "sleep cat"), ("b", "red", "red"),
    ]  # fmt: skip


def test_value_prior_or_missing_word_can_exclude_a_class() -> None:
    of = TextClassifier(
        estimate="ml", categorical="colour", class_prior={"a": 1, "b": 1, "c": 0}
    ).fit(
        [
            {"text": "cat", "colour": "red"},
            {"text": "cat", "colour": "blue"},
            {"text": "cat", "colour": "green"},
        ],
        list("abc"),
    )
    [found] = Explainer(of.fitted).explain(
        [
            Document(
                "x",
                None,
                b"cat",
                values=Attributes.from_settings(of.reading).normalise_values(["green"]),
            )
        ]
    )
    assert found.ruled_out_classes == (
        RuledOutClass("a", "attribute", "colour", value="green"), RuledOutClass("b", "attribute", "colour", value="green"), RuledOutClass("c", "prior"),
    )  # fmt: skip
    of = TextClassifier(classifier="bernoulli", estimate="ml", stemmer="none").fit(
        ["red cat", "red cat", "red dog", "red dog"], list("aabb")
    )
    assert [
        (cause.label, cause.cause, cause.name) for cause in list_excluded_classes(of, "cat")
    ] == [
        ("a", "lacking", None),
        ("b", "word", "cat"),
    ]


def test_document_with_a_prediction_has_no_excluded_classes() -> None:
    [found] = Explainer(model(estimate="ml").fitted).explain([document("cat purrs")])
    assert (found.ruled_out_classes, found.abstention) == ((), None)
