"""Stop lists, and the languages that have one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from Stemmer import algorithms
from stop_words import AVAILABLE_LANGUAGES, get_stop_words

from nbtext import TextClassifier
from nbtext.errors import PathError, UsageError
from nbtext.settings import LANGUAGES
from nbtext.text.words import MISREAD, stop_words, words

if TYPE_CHECKING:
    from pathlib import Path

EVERY = pytest.mark.parametrize("language", LANGUAGES)


def test_languages_are_those_that_have_both_a_stop_list_and_a_stemmer() -> None:
    assert list(LANGUAGES) == sorted({*AVAILABLE_LANGUAGES} & {*algorithms()})


@EVERY
def test_every_language_has_a_list_of_words_as_texts_give_them(language: str) -> None:
    found = stop_words("default", language)
    assert len(found) > 15
    assert found == sorted(set(found)) == stop_words(language, "english")
    assert all(words(word) == [word] for word in found)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - {"english", *MISREAD}))
def test_other_lists_than_the_english_are_the_packages(language: str) -> None:
    listed = {word for entry in get_stop_words(language) for word in words(entry)}
    assert set(stop_words("default", language)) == listed


@pytest.mark.parametrize(
    ("language", "theirs", "not_theirs"),
    [("turkish", {"şey", "altı", "nasıl", "bir", "çünkü"}, "ýþ"), ("hungarian", {"ők", "először", "és", "hogy"}, "õû")],
)
def test_lists_read_in_a_wrong_encoding_are_put_right(language: str, theirs: set[str], not_theirs: str) -> None:
    found = stop_words(language, "english")
    assert theirs <= set(found)
    assert not set(not_theirs) & set("".join(found))
    assert len(found) == len({word for entry in get_stop_words(language) for word in words(entry)})


def test_the_english_list_has_closed_classes_only() -> None:
    found = stop_words("default", "english")
    assert {"the", "and", "of", "don't", "i'm", "she", "would", "themselves"} <= set(found)
    assert not {"computer", "free", "fire", "system", "world", "new", "car", "war", "god", "money"} & set(found)
    assert 150 < len(found) < 300


@EVERY
def test_every_language_trains_and_tells_two_classes_apart(language: str) -> None:
    listed = stop_words("default", language)
    first, second = listed[: len(listed) // 2], listed[len(listed) // 2 :]
    model = TextClassifier(language=language, stop_words="none", smoothing=0.1).fit(
        [" ".join(first), " ".join(second)], ["first", "second"]
    )
    assert model.predict([" ".join(first[:5]), " ".join(second[-5:])]).tolist() == ["first", "second"]


@EVERY
def test_every_language_leaves_its_stop_words_out(language: str) -> None:
    model = TextClassifier(language=language, stop_words="default").fit(
        [" ".join([*stop_words("default", language), "kappa"]), "sigma"], ["k", "s"]
    )
    assert model.statistics.n_terms == 2
    assert model.predict(["kappa", "sigma"]).tolist() == ["k", "s"]


def test_none_is_no_words() -> None:
    assert stop_words("none", "english") == []


def test_a_file_is_words_with_any_white_space_between(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes("\ufeffThe  CAF\u00c9\r\ndon\u2019t\tx the\n".encode())
    assert stop_words(str(path), "german") == ["café", "don't", "the"]


def test_what_is_neither_a_list_nor_a_file_is_wrong_usage_and_what_cannot_be_read_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="klingon"):
        stop_words("klingon", "english")
    with pytest.raises(PathError):
        stop_words(str(tmp_path), "english")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(PathError, match="UTF-8"):
        stop_words(str(tmp_path / "latin"), "english")
