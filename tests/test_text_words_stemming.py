"""Stems: Snowball against nltk's implementation of it, and the stemmers of nltk itself."""

from __future__ import annotations

import random
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nltk.stem.snowball import SnowballStemmer

from nbtext.settings import LANGUAGES, NLTK_STEMMERS, SNOWBALL_STEMMERS
from nbtext.text.words import load_stemmer, split_words

if TYPE_CHECKING:
    from collections.abc import Callable

CORPORA = Path(__file__).parents[1] / "corpora"

DIFFERENCES = {
    # nltk has the algorithms of Snowball 1; since then (2 and 3):
    "english": r"^[aeo](.)\1(ed|ing)"  # "adding" keeps both consonants that follow a first vowel alone
    r"|^(even|inn|out|earr|herr|cann)(ing)?s?"  # exceptions: "evening" is not "even"
    r"|^(inter|univers|organ|past|later|emerg)"  # more beginnings that are not part of R1: "university" is not "universe"
    r"|ogist"  # "geologist" as "geology"
    r"|^ionization",  # nltk's own: R2 is not followed through the second step
    "finnish": r"h[aeiouäö]n$",  # illatives whose vowel does not match lose their n
    "german": r"[aou]e|et(e|e[mnrs])?$|l(ns|n)$",  # ae, oe, ue are umlauts; -et and -ln are endings
    "hungarian": "[õû]",  # its long vowels are ő and ű; nltk has them wrongly decoded
    "swedish": "et$",  # -et is an ending
    # nltk's own:
    "french": "^[éè]|niaient$",  # an accent on the first letter stays
    "romanian": "bia$",  # -ia after "ab"
    "russian": "шч|юй$|^[^аеиоуыэюя]*ь$",  # by way of Latin letters, in which щ and шч are the same; a soft sign without a vowel before it goes
}
"""Words on which the two may differ, as patterns, by language; any other difference is a fault."""

SAME = (
    *("danish", "dutch_porter", "english", "finnish", "french", "german", "hungarian"),
    *("italian", "norwegian", "portuguese", "romanian", "russian", "spanish", "swedish"),
)


def list_words(language: str) -> list[str]:
    """The words of the package's stop list."""
    from stop_words import get_stop_words

    return sorted(
        {
            word
            for word in split_words(" ".join(get_stop_words(language)))
            if not re.search(r"[\d']", word)
        }
    )


def english() -> set[str]:
    """Words of the project's corpus and of the documentation of installed packages."""
    texts = [path.read_text("utf-8", "replace") for path in CORPORA.rglob("*.txt")]
    for name in ("numpy", "argparse", "email", "unittest.mock", "scipy.stats", "json", "decimal"):
        module = import_module(name)
        texts += [str(getattr(module, member).__doc__) for member in vars(module)]
    return {
        word for word in split_words("\n".join(texts)) if re.fullmatch("[a-z]+('[a-z]+)?", word)
    }


def sample(language: str) -> list[str]:
    """Words of a language, and thousands more with the ends of some and the beginnings of others."""
    real = list_words(language)
    chance = random.Random(0)
    made = {
        a[: chance.randint(2, 6)] + b[-chance.randint(1, 5) :]
        for a in real
        for b in chance.sample(real, 12)
    }
    return sorted({*real, *(english() if language == "english" else made)})


def stems(name: str, language: str, found: list[str]) -> list[str]:
    return load_stemmer(name, language)(found)


@pytest.mark.parametrize("name", SAME)
def test_snowball_matches_nltk_except_for_changed_rules(name: str) -> None:
    """Dutch has another algorithm since Snowball 3 (Kraaij and Pohlmann); the former is called ``dutch_porter``."""
    from Stemmer import Stemmer

    language = name.partition("_")[0]
    found = sample(language)
    reference = SnowballStemmer(language)
    mine = (
        stems("snowball", language, found) if name == language else Stemmer(name).stemWords(found)
    )
    different = {
        word: (stem, other)
        for word, stem in zip(found, mine, strict=True)
        if stem != (other := reference.stem(word) or word)
    }
    pattern = DIFFERENCES.get(language, "(?!)")
    assert {word: pair for word, pair in different.items() if not re.search(pattern, word)} == {}
    assert len(found) > 1000
    assert len(different) < 0.03 * len(found)


def test_arabic_stems_match_nltk_for_most_words() -> None:
    """Snowball's is of 2018 and has another order of suffixes, keeps more short words whole and writes a final alif maqsura as ya."""
    found = list_words("arabic")
    reference = SnowballStemmer("arabic")
    same = [
        stem == reference.stem(word)
        for word, stem in zip(found, stems("snowball", "arabic", found), strict=True)
    ]
    assert sum(same) > 0.8 * len(same) > 80


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_stemmer_without_empty_stems(language: str) -> None:
    found = list_words(language)
    mine = stems("snowball", language, found)
    assert len(mine) == len(found)
    assert all(mine)
    assert stems(language, "english", found) == mine


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_words_with_a_common_stem(language: str) -> None:
    found = list_words(language)
    assert len(set(stems("snowball", language, found))) < len(found)


def test_stemmer_names_are_those_of_the_package() -> None:
    from Stemmer import algorithms

    assert set(SNOWBALL_STEMMERS) <= set(algorithms())
    assert set(LANGUAGES) <= set(SNOWBALL_STEMMERS)


@pytest.mark.parametrize(
    ("name", "word", "stem"),
    [
        ("porter", "relational", "relat"),
        ("porter", "hopping", "hop"),
        ("lancaster", "maximum", "maxim"),
        ("lancaster", "presumably", "presum"),
        ("isri", "يكتبون", "كتب"),
        ("arlstem", "يعمل", "عمل"),
        ("arlstem2", "يعمل", "عمل"),
        ("cistem", "gesprächen", "sprach"),
        ("snowball", "generalization", "general"),
        ("english", "consisting", "consist"),
        ("german", "häuser", "haus"),
        ("none", "words", "words"),
    ],
)
def test_published_examples_of_stems_are_reproduced(name: str, word: str, stem: str) -> None:
    assert stems(name, "english", [word]) == [stem]


@pytest.mark.parametrize("name", [*NLTK_STEMMERS, "snowball", "none"])
def test_each_word_has_one_nonempty_stem(name: str) -> None:
    language: Callable[[str], list[str]] = list_words
    found = [
        *language("english"),
        *language("arabic"),
        *language("german"),
        "12",
        "don't",
        "東京",
        "ه",
        "و",
        "ge",
        "ال",
    ]
    mine = stems(name, "english", found)
    assert len(mine) == len(found)
    assert all(mine)
    assert stems(name, "english", []) == []
    assert stems(name, "english", found[::-1]) == mine[::-1]
