"""What the analyzer does to a surface form, step by step: the words in it, which are dropped and why, and the stems of the others.

`nbtext.text.analyzer` does the same on whole arrays and keeps the result only; a test holds both equal.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from nbtext.text.words import MAX_BYTES, MIN_CHARACTERS, candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

SURFACE = re.compile(rb"[0-9A-Za-z'\x80-\xff]+")

NO_LETTERS = "no-letters-or-digits"
TOO_SHORT = "too-short"
TOO_LONG = "too-long"
STOP_WORD = "stop-word"


class Step(NamedTuple):
    """What became of one word of a surface form."""

    word: str
    """Normalised and case-folded; empty where there is no letter or digit."""
    term: str | None
    """Its stem; None if it was dropped."""
    dropped: str | None
    """Why it was dropped."""


def surface_forms(text: bytes) -> Iterator[tuple[int, bytes]]:
    """Where each surface form of a text begins, and the form as it stands; those of one byte too, of which the kernel makes nothing."""
    for match in SURFACE.finditer(text):
        yield match.start(), match[0]


def steps(forms: Sequence[bytes], stop_words: Collection[str], stem: Callable[[list[str]], list[str]]) -> list[tuple[Step, ...]]:
    """For each surface form, in valid UTF-8, what became of its words, at least one."""
    found = [[(word, _dropped(word, stop_words)) for word in candidates(form.decode()) or [""]] for form in forms]
    stems = iter(stem([word for words in found for word, dropped in words if dropped is None]))
    return [tuple(Step(word, next(stems) if dropped is None else None, dropped) for word, dropped in words) for words in found]


def _dropped(word: str, stop_words: Collection[str]) -> str | None:
    if not word:
        return NO_LETTERS
    if len(word) < MIN_CHARACTERS:
        return TOO_SHORT
    if len(word.encode()) > MAX_BYTES:
        return TOO_LONG
    return STOP_WORD if word in stop_words else None
