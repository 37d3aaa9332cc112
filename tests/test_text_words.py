"""Words of a piece of text, against the slow twin and case by case."""

from __future__ import annotations

import sys
from unicodedata import category

import pytest
from hypothesis import given, settings

from nbtext.text.words import MAX_BYTES, words
from tests import oracle, strategies


@settings(max_examples=500)
@given(strategies.texts)
def test_words_are_those_of_the_slow_twin(text: str) -> None:
    assert words(text) == oracle.words(text)


@settings(max_examples=500)
@given(strategies.texts)
def test_splitting_at_ascii_separators_first_changes_no_word(text: str) -> None:
    """No exception is known: a character that composes with an ASCII separator (< = > and U+0338) makes a separator or a mark that is dropped."""
    assert words(text) == oracle.terms(text.encode())


def test_splitting_first_changes_no_word_around_any_single_character() -> None:
    characters = [chr(code) for code in range(0x80, sys.maxunicode + 1, 31) if not 0xD800 <= code < 0xE000]
    for text in ("ab={}cd", "ab{}=cd", "ab<{}\u0338cd"):
        assert [c for c in characters if words(text.format(c)) != oracle.terms(text.format(c).encode())] == []


@given(strategies.texts.map(lambda text: "".join(c for c in text if category(c) != "Cf")))
def test_words_of_words_are_the_same_words(text: str) -> None:
    found = words(text)
    assert words(" ".join(found)) == found


@given(strategies.texts)
def test_case_is_no_matter(text: str) -> None:
    assert words(text.casefold()) == words(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("a I 7", []),
        ("The quick brown fox", ["the", "quick", "brown", "fox"]),
        ("don't don’t don＇t", ["don't"] * 3),
        ("'quoted' ''twice'' rock''roll", ["quoted", "twice", "rock", "roll"]),
        ("co\u00adop\u00aderate ze\u200bro", ["cooperate", "zero"]),
        ("na\u00efve nai\u0308ve", ["na\u00efve"] * 2),
        ("Straße STRASSE", ["strasse"] * 2),
        ("ﬁre ℌello ½kg", ["fire", "hello", "2kg"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("東京都 に", ["東京都"]),
        ("\u0301\u0301ab", ["ab"]),
        ("well-known snake_case a.b.c e-mail", ["well", "known", "snake", "case", "mail"]),
        ("one\0two\x1fthree\x7ffour\u2028five", ["one", "two", "three", "four", "five"]),
        ("3.14 1984 2nd", ["14", "1984", "2nd"]),
    ],
)
def test_what_is_a_word(text: str, wanted: list[str]) -> None:
    assert words(text) == wanted


@pytest.mark.parametrize("letter", ["w", "é", "東"])
def test_a_run_of_more_bytes_than_any_word_has_is_none(letter: str) -> None:
    most = MAX_BYTES // len(letter.encode())
    assert words(letter * most) == [letter * most]
    assert words(f"an {letter * (most + 1)} ox") == ["an", "ox"]
