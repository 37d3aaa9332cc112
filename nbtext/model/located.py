"""Where the words of one text stand, and over which of its terms each of them stands."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.model.tokens import MOST_REMEMBERED, NOT_IN_MODEL, NOT_SELECTED
from nbtext.ragged import flat_indices
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.ngrams import with_ngrams
from nbtext.text.stemming import stemmer
from nbtext.text.steps import SURFACE, steps
from nbtext.text.words import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.model.text_classifier import TextClassifier
    from nbtext.text.ngrams import PairIds
    from nbtext.text.steps import Step

    Whole = NDArray[np.int64]

_COUNTED = re.compile(rb"[^\s]+")
_APOSTROPHES = "'\u2019\uff07"


class LocatedWords(NamedTuple):
    """The words of a text in order, and the occurrences of terms that they stand over."""

    begins: Whole
    """The byte at which each word begins, shape (n_words,)."""
    ends: Whole
    """The byte after its end, shape (n_words,)."""
    names: list[str]
    """Each word case-folded: words of the same name are occurrences of one surface word."""
    counts: Whole
    """How often it stands there: once, but for counted features; shape (n_words,)."""
    own: list[list[int]]
    """Ids of the terms that each word becomes by itself, `UNKNOWN` for terms not in the vocabulary."""
    notes: list[str | None]
    """Why a word by itself does not count, as `nbtext.model.tokens` has it; None where it does."""
    words: Whole
    """The word of each part of an occurrence of a term, shape (n_parts,)."""
    terms: Whole
    """The term, `UNKNOWN` for one not in the vocabulary, shape (n_parts,)."""
    shares: NDArray[np.float64]
    """The part of the occurrence: an n-gram belongs to its n words in equal parts. In sum the occurrences of each term; shape (n_parts,)."""


class WordLocator:
    """Finds the words of texts, or of documents of counted features the features, under the settings of a model."""

    def __init__(self, model: TextClassifier) -> None:
        self._vocabulary = model.statistics.vocabulary
        self._order = model.parameters["ngrams"]
        self._selected = model.learnt.selected.tobytes()
        self._stop_words = frozenset(model.stop_list)
        self._counted = model.reading["format"] == "svmlight"
        self._stem = stemmer(model.parameters["stemmer"], model.parameters["language"])
        self._sizes = model.parameters["char_ngrams"]
        self._known: dict[bytes, tuple[Step, ...]] = {}

    def locate(self, text: bytes) -> LocatedWords:
        """The words of a text in valid UTF-8, without attributes."""
        if self._counted:
            return self._features(text)
        surfaces = [match.span() for match in SURFACE.finditer(text)]
        spans = [(begin + left, begin + right) for begin, end in surfaces for left, right in _parts(text[begin:end])]
        forms = [text[begin:end].lower() for begin, end in spans]
        found = self._steps(forms)
        kept = [(owner, step) for owner, of_form in enumerate(found) for step in of_form if step.term is not None]
        owners = np.array([owner for owner, _ in kept], np.int64)
        terms = np.array(self._vocabulary.find([step.term or "" for _, step in kept]), np.int64)
        parts = [_ngrams(owners, terms, self._order, self._vocabulary.find_pairs), self._pieces(owners, [step.word for _, step in kept])]
        own: list[list[int]] = [[] for _ in spans]
        for owner, term in zip(owners.tolist(), terms.tolist(), strict=True):
            own[owner].append(term)
        notes = [of_form[0].dropped if not ids else self._note(ids) for of_form, ids in zip(found, own, strict=True)]
        names = [text[begin:end].decode().casefold() for begin, end in spans]
        words, of_words, shares = (np.concatenate(column) for column in zip(*parts, strict=True))
        return LocatedWords(*_bounds(spans), names, np.ones(len(spans), np.int64), own, notes, words, of_words, shares)

    def _steps(self, forms: list[bytes]) -> list[tuple[Step, ...]]:
        """What becomes of each form, analysed when it first comes."""
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        new = [form for form in dict.fromkeys(forms) if form not in self._known]
        self._known.update(zip(new, steps(new, self._stop_words, self._stem), strict=True))
        return [self._known[form] for form in forms]

    def _pieces(self, owners: Whole, words: list[str]) -> tuple[Whole, Whole, NDArray[np.float64]]:
        """The character n-grams of words, if the model has them: for each its word, the term and 1."""
        if self._sizes is None:
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        from nbtext.text.ngrams import char_ngrams, sizes_of

        rows = [char_ngrams(word, sizes_of(self._sizes)) for word in words]
        terms = np.array(self._vocabulary.find([gram for row in rows for gram in row]), np.int64)
        return np.repeat(owners, [len(row) for row in rows]), terms, np.ones(terms.size)

    def _features(self, text: bytes) -> LocatedWords:
        from nbtext.counts.counting import name_and_count

        spans = [match.span() for match in _COUNTED.finditer(text)]
        features = [name_and_count(text[begin:end]) for begin, end in spans]
        names = [name.decode() for name, _ in features]
        terms = np.array(self._vocabulary.find(names), np.int64)
        own = [[term] for term in terms.tolist()]
        counts = np.array([count for _, count in features], np.int64)
        notes = [self._note(ids) for ids in own]
        return LocatedWords(*_bounds(spans), names, counts, own, notes, np.arange(terms.size), terms, counts.astype(np.float64))

    def _note(self, ids: Sequence[int]) -> str | None:
        known = [term for term in ids if term != UNKNOWN]
        if not known:
            return NOT_IN_MODEL
        return None if any(self._selected[term] for term in known) else NOT_SELECTED


def _ngrams(owner: Whole, terms: Whole, order: int, pair_ids: PairIds) -> tuple[Whole, Whole, NDArray[np.float64]]:
    """The parts of all n-grams: for each of its words the word, the term and 1/n."""
    sequence = with_ngrams(TermSequence(np.zeros_like(terms), terms), order, pair_ids).terms
    firsts, sizes = np.repeat(np.arange(terms.size), order), np.tile(np.arange(1, order + 1), terms.size)
    within = firsts + sizes <= terms.size  # in the order in which `with_ngrams` gives them
    firsts, sizes = firsts[within], sizes[within]
    return owner[flat_indices(firsts, sizes)], np.repeat(sequence, sizes), np.repeat(1 / sizes, sizes)


def _bounds(spans: Sequence[tuple[int, int]]) -> tuple[Whole, Whole]:
    bounds = np.array(spans, np.int64).reshape(-1, 2)
    return bounds[:, 0], bounds[:, 1]


def _parts(form: bytes) -> list[tuple[int, int]]:
    """Where in a surface form its words stand, without the signs around them: beyond ASCII these are part of the form.

    Where taken by themselves they would be other words, as normalisation may have it, the form is one.
    """
    if form.isalnum():
        return [(0, len(form))]
    text = form.decode()
    pieces, begin = [], None
    for place, character in enumerate(f"{text} "):
        if character in _APOSTROPHES or unicodedata.category(character)[0] in "LMN" or unicodedata.category(character) == "Cf":
            begin = place if begin is None else begin
        elif begin is not None:
            pieces.append(_trimmed(text, begin, place))
            begin = None
    pieces = [(first, end) for first, end in pieces if first < end]
    if [word for first, end in pieces for word in words(text[first:end])] != words(text):
        return [(0, len(form))]
    spans, done, at = [], 0, 0
    for first, end in pieces:
        begin = at + len(text[done:first].encode())
        done, at = end, begin + len(text[first:end].encode())
        spans.append((begin, at))
    return spans


def _trimmed(text: str, begin: int, end: int) -> tuple[int, int]:
    """Without apostrophes and invisible characters around it."""
    while begin < end and unicodedata.category(text[begin])[0] not in "LMN":
        begin += 1
    while begin < end and unicodedata.category(text[end - 1])[0] not in "LMN":
        end -= 1
    return begin, end
