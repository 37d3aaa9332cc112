"""What becomes of surface forms, step by step, against the analyzer that keeps the result only."""

from __future__ import annotations

from hypothesis import given

from nbtext.explain.word_walk import Step, steps, surface_forms
from nbtext.text.analyzer import Analyzer
from tests import oracle, strategies

STOP_WORDS = frozenset({"the", "don't", "東京"})


def cut(words: list[str]) -> list[str]:
    return [word[:4] for word in words]


def test_every_reason() -> None:
    forms = ["Running", "THE", "x", "'", "\u0301", "w" * 256, "fire\u2014the\u2014a"]
    found = steps([form.encode() for form in forms], STOP_WORDS, cut)
    assert found == [
        (Step("running", "runn", None),),
        (Step("the", None, "stop-word"),),
        (Step("x", None, "too-short"),),
        (Step("", None, "no-letters-or-digits"),),
        (Step("", None, "no-letters-or-digits"),),
        (Step("w" * 256, None, "too-long"),),
        (Step("fire", "fire", None), Step("the", None, "stop-word"), Step("a", None, "too-short")),
    ]


@given(strategies.documents)
def test_what_is_not_dropped_is_what_the_analyzer_keeps(text: bytes) -> None:
    forms = list(surface_forms(text))
    assert all(text[start : start + len(form)] == form for start, form in forms)
    kept = [step.term for of_form in steps([form for _, form in forms], STOP_WORDS, cut) for step in of_form if step.dropped is None]
    assert kept == oracle.terms(text, STOP_WORDS, lambda word: word[:4])
    names: list[str] = []

    def find(terms: list[str]) -> list[int]:
        names.extend(terms)
        return list(range(len(names) - len(terms), len(names)))

    assert kept == [names[number] for number in Analyzer(STOP_WORDS, cut, find).sequence([text]).terms.tolist()]


@given(strategies.documents)
def test_everything_dropped_has_a_reason_and_nothing_else(text: bytes) -> None:
    for of_form in steps([form for _, form in surface_forms(text)], STOP_WORDS, cut):
        assert of_form
        for word, term, dropped in of_form:
            assert (term is None) == (dropped is not None)
            assert (dropped == "no-letters-or-digits") == (not word)
