"""How fast words are counted here, on a text made for it: always the same, with words as unevenly frequent as those of a language."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from nbtext.counts.counting import document_counter
from nbtext.counts.vocabulary import GrowingVocabulary
from nbtext.settings import TRAINING, checked

N_WORDS = 1 << 17
N_FORMS = 1 << 13
WORDS_OF_DOCUMENT = 256

PASSES = 3

_SYLLABLES = ("ba", "do", "ke", "li", "mo", "na", "pi", "ru", "sta", "ten", "var", "wo", "zin", "gra", "she", "ing")


def megabytes_per_second() -> float:
    """Millions of bytes a second from text to counts, under the parameters that training has by default, all words having been seen before.

    The best of a few passes, for others may be using the machine. About a tenth of a second.
    """
    texts = _texts()
    counter = document_counter(checked(TRAINING, {}), [], GrowingVocabulary())
    seconds = []
    for _ in range(1 + PASSES):
        begin = perf_counter()
        counter.count(texts)
        seconds.append(perf_counter() - begin)
    return sum(map(len, texts)) / min(seconds[1:]) / 1e6


def _texts() -> list[bytes]:
    """Documents of 256 words; the word of rank r is drawn about as often as 1/r (Zipf's law)."""
    forms = np.array([_form(number) for number in range(N_FORMS)])
    uniform = np.random.default_rng(0).random(N_WORDS)
    words = forms[(N_FORMS**uniform).astype(np.int64) - 1]
    return [" ".join(part).encode() for part in words.reshape(-1, WORDS_OF_DOCUMENT).tolist()]


def _form(number: int) -> str:
    """Different numbers give different words, small ones short words."""
    syllables = [_SYLLABLES[number % 16]]
    while number := number // 16:
        syllables.append(_SYLLABLES[number % 16])
    return "".join(syllables)
