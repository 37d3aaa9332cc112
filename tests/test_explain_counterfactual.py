"""The words to remove or to add that turn an answer, and the smallest cover, against all smaller sets.

Also tests `model/changing.py`.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.errors import DocumentError, UsageError
from nbtext.explain import counterfactual as module
from nbtext.explain.counterfactual import ANSWERED_SO, NO_PRIOR, WhyNot, WhyNotFinder, _smallest_by_trying, smallest_cover
from nbtext.fitted_model import FittedModel
from nbtext.model.given_texts import labelled_documents
from tests.budget import examples
from tests.explaining import ADDITIVE, GAUSSIAN, TEXTS, document, model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MODELS = [*ADDITIVE, GAUSSIAN, {"estimate": "ml"}, {"weighting": "binary"}]
WORDS = sorted(
    {word for texts in TEXTS.values() for text in texts for word in text.replace(",", "").split()} | {"zebra", "Cats", "purring"}
)
short_texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)


@cache
def model_of(number: int) -> TextClassifier:
    return model(**MODELS[number])


def found_for(of: TextClassifier, wanted: str, text: str) -> WhyNot:
    [found] = WhyNotFinder(of.fitted, wanted).find([document(text)])
    return found


def without(text: str, words: tuple[str, ...]) -> str:
    return re.sub(rf"\b({'|'.join(map(re.escape, words)) or '(?!)'})\b", " ", text, flags=re.IGNORECASE)


def margin(of: TextClassifier, wanted: str, text: str) -> float:
    """How far the class is ahead of the best other, in nats of the scores."""
    joint = of.joint_log_likelihood([text])[0]
    place = of.classes.index(wanted)
    best = np.delete(joint, place).max()
    return float(joint[place] - best) if np.isfinite(joint[place]) else -np.inf


@examples(12)
@given(st.sampled_from(range(len(MODELS))), short_texts, st.sampled_from(sorted(TEXTS)))
def test_removal_turns_the_answer_and_no_smaller_one_does(number: int, text: str, wanted: str) -> None:
    """Brute force: every smaller set of words, taken out of the text, and the text classified."""
    of = model_of(number)
    found = found_for(of, wanted, text)
    assume(found.removal is not None)
    assert found.removal is not None
    assert found.label != wanted
    words = None if found.removal.items is None else tuple(dict(found.removal.items))
    if words is not None:
        assert of.predict([without(text, words)]).tolist() == [wanted]
        assert of.predict_proba([without(text, words)])[0, of.classes.index(wanted)] == pytest.approx(found.removal.probability)
        assert len(words) == len(set(words))
    assert found.removal.smallest  # the texts are short
    distinct = sorted({word.casefold() for word in text.split()})
    for size in range(len(distinct) + 1 if words is None else len(words)):
        for fewer in combinations(distinct, size):
            assert margin(of, wanted, without(text, fewer)) < 1e-6, fewer


@examples(12)
@example(MODELS.index({"weighting": "tfidf", "ngrams": 2}), "cold round round round", "cats")  # n-grams of the words that are added
@given(st.sampled_from(range(len(MODELS))), short_texts, st.sampled_from(sorted(TEXTS)))
def test_addition_turns_the_answer(number: int, text: str, wanted: str) -> None:
    of = model_of(number)
    found = found_for(of, wanted, text)
    assume(found.addition is not None)
    assert found.addition is not None
    if found.addition.items is None:
        return
    more = " ".join([text, *(word for word, times in found.addition.items for _ in range(times))])
    assert of.predict([more]).tolist() == [wanted]
    assert of.predict_proba([more])[0, of.classes.index(wanted)] == pytest.approx(found.addition.probability)
    times = sum(times for _, times in found.addition.items)
    if found.addition.smallest and times <= 3:
        terms = [
            of.fitted.statistics.vocabulary.term(term)
            for term in np.flatnonzero(of.fitted.learnt.selected[: of.fitted.statistics.vocabulary.n_single]).tolist()
        ]
        words = [term for term in terms if "*" not in term]
        for size in range(times):
            texts = [" ".join([text, *some]) for some in combinations([word for word in words for _ in range(size)], size)]
            assert all(margin(of, wanted, more) < 1e-6 for more in dict.fromkeys(texts))


def test_a_long_document_has_a_removal_by_sums() -> None:
    texts = {"a": " ".join(f"a{n}" for n in range(60)), "b": " ".join(f"b{n}" for n in range(60))}
    of = TextClassifier(stemmer="none", stop_words="none", smoothing=1).fit(texts.values(), texts)
    text = " ".join([f"a{n}" for n in range(50)] + [f"b{n}" for n in range(45)])
    found = found_for(of, "b", text)
    assert found.removal is not None
    assert found.removal.items is not None
    assert (len(found.removal.items), found.removal.smallest) == (6, True)
    assert found.addition is not None
    assert found.addition.items is not None
    assert (sum(times for _, times in found.addition.items), found.addition.smallest) == (6, True)


def test_in_a_very_large_model_terms_of_the_class_are_added_and_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "cat cats purrs red sofa scratch climb sleeps dog barks"
    of = model()
    whole = found_for(of, "dogs", text).addition
    monkeypatch.setattr(module, "MOST_WEIGHTS", 0)
    short = found_for(of, "dogs", text).addition
    assert whole is not None
    assert short is not None
    assert short.items == whole.items is not None
    assert (short.smallest, whole.smallest) == (False, True)


@pytest.mark.parametrize("parameters", [{"weighting": "tfidf"}, {"ngrams": 2}, GAUSSIAN], ids=str)
def test_a_search_that_is_cut_short_claims_nothing(monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]) -> None:
    """With a budget of a few sets only the words that seem to do most are thought of."""
    of, text = model(**parameters), "cat cats purrs red sofa scratch climb sleeps dog barks"
    whole = found_for(of, "dogs", text).removal
    assert whole is not None
    assert whole.items is not None
    assert len(whole.items) > 1
    monkeypatch.setattr(module, "MOST_TRIED", 5)
    short = found_for(of, "dogs", text).removal
    assert short is not None
    assert not short.smallest
    assert short.items is None or of.predict([without(text, tuple(dict(short.items)))]).tolist() == ["dogs"]


@pytest.mark.parametrize(
    "parameters", [{"weighting": "tfidf"}, {"classifier": "complement", "weighting": "tfidf"}, {"classifier": "logistic"}], ids=str
)
def test_a_long_document_is_read_a_few_times_whatever_is_tried_out(monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any]) -> None:
    """Work is bytes read and counts scored: all of the document's words anew for each set would be hundreds of times its length."""
    read, scored = [], []

    def count(model: FittedModel, texts: Any, *beside: Any) -> Any:
        read.append(sum(map(len, texts)))
        return of_texts(model, texts, *beside)

    def score(model: FittedModel, matrix: Any) -> Any:
        scored.append(matrix.terms.size)
        return of_counts(model, matrix)

    generator = np.random.default_rng(1)
    words = [f"{label}{number:04d}" for label in "ab" for number in range(2000)]
    training = [" ".join(generator.choice(words[half : half + 2400], 100)) for half in (0, 1600) for _ in range(60)]
    model = TextClassifier(stemmer="none", stop_words="none", **parameters).fit(training, ["a"] * 60 + ["b"] * 60)
    of_texts, of_counts = FittedModel.score, FittedModel.score_counts
    monkeypatch.setattr(FittedModel, "score", count)
    monkeypatch.setattr(FittedModel, "score_counts", score)
    work = []
    for n_words in (15_000, 30_000):
        read.clear()
        scored.clear()
        text = " ".join(generator.choice(words[:2400], n_words))
        found = found_for(model, "b", text)
        assert found.removal is not None
        assert len(scored) > 1
        assert sum(read) < 10 * len(text)
        work.append(sum(read) + sum(scored))
    assert work[1] < 2.6 * work[0]


def test_all_occurrences_of_a_word_go() -> None:
    of = model(stemmer="none", stop_words="none")
    found = found_for(of, "dogs", "Cat cat CAT dog purrs")
    assert found.removal is not None
    assert found.removal.items is not None
    assert dict(found.removal.items) == {"cat": 3, **{word: 1 for word, _ in found.removal.items if word != "cat"}}


def test_nothing_is_looked_for_where_nothing_can_be_found() -> None:
    assert found_for(model(), "cats", "the cat purrs").why == ANSWERED_SO
    of = model(class_prior={"cats": 1.0, "dogs": 1.0, "fish": 0.0})
    found = found_for(of, "fish", "the cat purrs")
    assert (found.why, found.removal, found.addition, found.wanted_probability) == (NO_PRIOR, None, None, 0)
    [bad] = WhyNotFinder(of.fitted, "dogs").find([document("")._replace(problem=DocumentError("cannot be read"))])
    assert (bad.label, bad.removal, bad.problem is not None) == (None, None, True)
    with pytest.raises(UsageError, match="no class 'birds'"):
        WhyNotFinder(of.fitted, "birds")
    with pytest.raises(UsageError, match="single class"):
        WhyNotFinder(TextClassifier(smoothing=1).fit(["a text"], ["only"]).fitted, "only")


def test_no_removal_is_enough_where_the_prior_is_against_it() -> None:
    of = model(class_prior={"cats": 100.0, "dogs": 1.0, "fish": 1.0})
    found = found_for(of, "dogs", "the cat purrs and sleeps")
    assert found.removal is not None
    assert (found.removal.items, found.removal.smallest) == (None, True)
    assert found.addition is not None
    assert found.addition.items is not None


def test_an_impossible_document_can_become_possible() -> None:
    of = model(estimate="ml", stemmer="none")
    found = found_for(of, "dogs", "dog barks cat")
    assert found.label is None
    assert found.removal is not None
    assert found.removal.items == (("cat", 1),)


@pytest.mark.parametrize("parameters", [{}, {"ngrams": 2}], ids=str)
def test_attributes_stay(parameters: dict[str, Any]) -> None:
    rows: list[dict[str, object]] = [
        {"text": "cat purrs", "legs": 4},
        {"text": "cat sleeps", "legs": 4},
        {"text": "fish swim", "legs": 0},
        {"text": "fish sleeps", "legs": 0},
    ]
    of = TextClassifier(count="legs", stemmer="none", **parameters).fit(rows, ["cats", "cats", "fish", "fish"])
    row = {"text": "cat fish purrs sleeps", "legs": 3}
    [found] = WhyNotFinder(of.fitted, "fish").find(labelled_documents([row], ["cats"], of.reading))
    assert found.label == "cats"
    assert found.addition is not None
    assert found.addition.items is not None
    more = " ".join([str(row["text"]), *(word for word, times in found.addition.items for _ in range(times))])
    assert of.predict([{**row, "text": more}]).tolist() == ["fish"]


numbers = st.integers(-4, 6).map(float)
problems = st.integers(1, 3).flatmap(
    lambda respects: st.tuples(
        st.lists(st.lists(numbers, min_size=respects, max_size=respects), max_size=8),
        st.lists(st.integers(-3, 14).map(float), min_size=respects, max_size=respects),
    )
)


def by_brute_force(gains: NDArray[np.float64], needs: NDArray[np.float64]) -> int | None:
    """The size of the smallest set, from all subsets."""
    for size in range(len(gains) + 1):
        if any(np.all(gains[list(items)].sum(axis=0) >= needs) for items in combinations(range(len(gains)), size)):
            return size
    return None


@given(problems)
def test_a_cover_is_one_and_none_is_smaller(problem: tuple[list[list[float]], list[float]]) -> None:
    needs = np.array(problem[1])
    gains = np.array(problem[0]).reshape(-1, needs.size)
    found = smallest_cover(gains, needs)
    wanted = by_brute_force(gains, needs) if np.any(needs > 0) else 0
    assert found.proven
    assert (None if found.items is None else len(found.items)) == wanted
    if found.items is not None:
        assert np.all(gains[list(found.items)].sum(axis=0) >= needs)


@given(problems)
def test_what_a_short_search_finds_is_a_cover(problem: tuple[list[list[float]], list[float]]) -> None:
    needs = np.array(problem[1])
    gains = np.array(problem[0]).reshape(-1, needs.size)
    found = smallest_cover(gains, needs, most_nodes=2)
    if found.items is not None:
        assert np.all(gains[list(found.items)].sum(axis=0) >= needs)
        assert not found.proven or len(found.items) == (by_brute_force(gains, needs) if np.any(needs > 0) else 0)
    elif found.proven:
        assert by_brute_force(gains, needs) is None


def test_a_cover_of_very_many_items_is_chosen_greedily() -> None:
    gains = np.array([[1.0, 0.0]] * 1100 + [[0.0, 1.0]])
    found = smallest_cover(gains, np.array([1050.0, 1.0]))
    assert found.items is not None
    assert (len(found.items), found.proven) == (1051, False)


def test_a_greedy_cover_is_not_always_the_smallest() -> None:
    gains = np.array([[5.0, 5.0], [6.0, 0.0], [0.0, 6.0], [4.5, 3.0]])
    assert smallest_cover(gains, np.array([6.0, 6.0])).items in ((0, 3), (1, 2))
    assert smallest_cover(np.array([[3.0, 3.0], [4.0, 0.0], [0.0, 4.0]]), np.array([4.0, 4.0])).items == (1, 2)


@given(
    st.lists(st.lists(numbers, min_size=2, max_size=2), max_size=6),
    st.lists(st.integers(1, 12), min_size=2, max_size=2),
    st.integers(0, 200),
)
def test_trying_finds_the_same(gains: list[list[float]], needs: list[int], budget: int) -> None:
    table, wanted = np.array(gains).reshape(-1, 2), np.array(needs, np.float64)

    def gaps(sets: Sequence[Sequence[int | str]]) -> NDArray[np.float64]:
        return np.array([(wanted - table[np.array(items, np.int64)].sum(axis=0)).max() - 0.5 for items in sets])

    found = _smallest_by_trying(range(len(gains)), gaps, budget)
    size = by_brute_force(table, wanted)
    if found.items is not None:
        assert gaps([found.items])[0] < 0
        assert not found.proven or len(found.items) == size
    assert found.proven or budget < 200
    assert not found.proven or (found.items is None) == (size is None)
