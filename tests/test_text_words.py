"""Words of a piece of text, against the slow twin and case by case; stop lists."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING, Literal
from unicodedata import category, combining, decomposition, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from Stemmer import algorithms
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from nbtext import TextClassifier
from nbtext.errors import PathError, UsageError
from nbtext.settings import LANGUAGES
from nbtext.text.words import (
    MAX_WORD_BYTES,
    MISREAD_ENCODINGS,
    _make_stream_safe,
    load_stop_words,
    split_words,
)
from tests import oracle, strategies
from tests.operation_counts import DOUBLE, steps
from tests.process import write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path


@examples(41)
@given(strategies.texts)
def test_words_match_the_slow_twin(text: str) -> None:
    assert split_words(text) == oracle.words(text)


MARKS = [
    "a",
    "東",
    "ᾂ",
    "\u0301",
    "\u0316",
    "\u0344",
    "\u0345",
    "\uff9e",
    "\u0f73",
    "\u200d",
    "\u034f",
    "'",
    "¨",
    "—",
]


runs = st.lists(
    st.tuples(st.sampled_from(MARKS), st.sampled_from([1, 1, 2, 13, 14, 15, 28, 29, 30, 31])),
    max_size=6,
)


@examples(12)
@given(runs.map(lambda parts: "".join(character * n for character, n in parts)))
def test_long_runs_of_marks_follow_the_stream_safe_format(text: str) -> None:
    assert _make_stream_safe(text) == oracle.stream_safe(text)
    assert split_words(text) == oracle.words(text)
    assert _make_stream_safe(_make_stream_safe(text)) == _make_stream_safe(text)


def test_word_with_31_marks_gets_a_grapheme_joiner() -> None:
    marks = "\u0316" * 31
    assert split_words(f"ab{marks[:30]}c") == [f"ab{marks[:30]}c"]
    assert split_words(f"ab{marks}c") == [f"ab{marks[:30]}\u034f\u0316c"]


def test_every_too_long_run_of_marks_is_detected() -> None:
    """The pattern that looks for one costs nothing, and has to find what `stream_safe` then goes through."""
    characters = [
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if combining(character) or decomposition(character)
    ]
    parts = {character: normalize("NFKD", character) for character in characters}
    marks = {character: len(part) for character, part in parts.items() if all(map(combining, part))}
    assert [character for character in marks if character.isalnum()] == ["\uff9e", "\uff9f"]
    trailing = max(
        next((n for n, c in enumerate(reversed(part)) if not combining(c)), 0)
        for part in parts.values()
    )
    assert trailing + 13 * max(marks.values()) <= 30 < trailing + 14 * max(marks.values())
    assert [
        character
        for character, part in parts.items()
        if combining(part[0]) and character not in marks
    ] == []


def work(text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Steps that finding words takes, with what sorting the marks of each run takes at most."""
    sorting = 0

    def counting(form: Literal["NFC", "NFD", "NFKC", "NFKD"], unsorted: str) -> str:
        nonlocal sorting
        sorting += sum(
            len(list(run)) ** (2 if is_mark else 1)
            for is_mark, run in groupby(unsorted, lambda c: combining(c) > 0)
        )
        return normalize(form, unsorted)

    monkeypatch.setattr("nbtext.text.words.normalize", counting)
    return steps(lambda: split_words(text)) + sorting


@pytest.mark.parametrize(
    "piece", ["\u0301\u0316", "\u0316", "'\u0301", "\u0903", "a\u0301", "\u200d\u0301"]
)
@pytest.mark.parametrize("first", ["a", ""])
def test_many_marks_take_linear_time(
    first: str, piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = (work(first + piece * n, monkeypatch) for n in (2_000, 4_000))
    assert large < DOUBLE * small


@examples(41)
@given(strategies.texts)
def test_splitting_at_ascii_separators_first_changes_no_word(text: str) -> None:
    """No exception is known: a character that composes with an ASCII separator (< = > and U+0338) makes a separator or a mark that is dropped."""
    assert split_words(text) == oracle.terms(text.encode())


def test_splitting_first_changes_no_word_around_any_character() -> None:
    characters = [
        chr(code) for code in range(0x80, sys.maxunicode + 1, 31) if not 0xD800 <= code < 0xE000
    ]
    for text in ("ab={}cd", "ab{}=cd", "ab<{}\u0338cd"):
        assert [
            c
            for c in characters
            if split_words(text.format(c)) != oracle.terms(text.format(c).encode())
        ] == []


@given(strategies.texts.map(lambda text: "".join(c for c in text if category(c) != "Cf")))
def test_splitting_words_again_gives_the_same_words(text: str) -> None:
    found = split_words(text)
    assert split_words(" ".join(found)) == found


@given(strategies.texts)
def test_case_does_not_matter(text: str) -> None:
    assert split_words(text.casefold()) == split_words(text)


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
def test_split_words_examples(text: str, wanted: list[str]) -> None:
    assert split_words(text) == wanted


@pytest.mark.parametrize("letter", ["w", "é", "東"])
def test_run_longer_than_the_word_limit_is_not_a_word(letter: str) -> None:
    most = MAX_WORD_BYTES // len(letter.encode())
    assert split_words(letter * most) == [letter * most]
    assert split_words(f"an {letter * (most + 1)} ox") == ["an", "ox"]


EVERY = pytest.mark.parametrize("language", LANGUAGES)


def test_languages_have_both_a_stop_list_and_a_stemmer() -> None:
    assert list(LANGUAGES) == sorted({*AVAILABLE_LANGUAGES} & {*algorithms()})


@EVERY
def test_every_language_has_a_stop_list_of_single_words(language: str) -> None:
    found = load_stop_words("default", language)
    assert len(found) > 15
    assert found == sorted(set(found)) == load_stop_words(language, "english")
    assert all(split_words(word) == [word] for word in found)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"english", *MISREAD_ENCODINGS}))
def test_other_stop_lists_match_the_package(language: str) -> None:
    listed = {word for entry in get_stop_words(language) for word in split_words(entry)}
    assert set(load_stop_words("default", language)) == listed


@pytest.mark.parametrize(
    ("language", "theirs", "not_theirs"),
    [
        ("turkish", {"şey", "altı", "nasıl", "bir", "çünkü"}, "ýþ"),
        ("hungarian", {"ők", "először", "és", "hogy"}, "õû"),
    ],
)
def test_stop_lists_with_a_wrong_encoding_are_corrected(
    language: str, theirs: set[str], not_theirs: str
) -> None:
    found = load_stop_words(language, "english")
    assert theirs <= set(found)
    assert not set(not_theirs) & set("".join(found))
    assert len(found) == len(
        {word for entry in get_stop_words(language) for word in split_words(entry)}
    )


def test_english_stop_list_contains_only_function_words() -> None:
    found = load_stop_words("default", "english")
    assert {"the", "and", "of", "don't", "i'm", "she", "would", "themselves"} <= set(found)
    assert not {
        "computer",
        "free",
        "fire",
        "system",
        "world",
        "new",
        "car",
        "war",
        "god",
        "money",
    } & set(found)
    assert 150 < len(found) < 300


@EVERY
def test_stop_words_of_every_language_are_dropped(language: str) -> None:
    model = TextClassifier(language=language, stop_words="default").fit(
        [" ".join([*load_stop_words("default", language), "kappa"]), "sigma"], ["k", "s"]
    )
    assert model.fitted.statistics.n_terms == 2
    assert model.predict(["kappa", "sigma"]).tolist() == ["k", "s"]


def test_none_is_an_empty_stop_list() -> None:
    assert load_stop_words("none", "english") == []


def test_stop_list_file_is_split_at_white_space(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes("\ufeffThe  CAF\u00c9\r\ndon\u2019t\tx the\n".encode())
    assert load_stop_words(str(path), "german") == ["café", "don't", "the"]


def test_unknown_stop_list_is_refused_and_unreadable_file_is_an_error(
    tmp_path: Path,
) -> None:
    with pytest.raises(UsageError, match="klingon"):
        load_stop_words("klingon", "english")
    with pytest.raises(PathError):
        load_stop_words(str(tmp_path), "english")
    write("latin", b"caf\xe9")
    with pytest.raises(PathError, match="UTF-8"):
        load_stop_words("latin", "english")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("👍👍 great😡", ["👍", "👍", "great", "😡"]),
        ("❤️ 👍🏽 ☺", ["❤", "👍", "☺"]),
        ("👩‍💻", ["👩", "💻"]),
        ("© 2020 → 5°", ["2020"]),
        ("İade iade İSTANBUL", ["iade", "iade", "istanbul"]),
    ],
)
def test_pictographs_are_words_and_dotted_i_is_i(text: str, wanted: list[str]) -> None:
    assert split_words(text) == wanted
