"""What the analyzer does to a surface form, step by step: the words in it, which are dropped and why, and the stems of the others.

`nbtext.text.analyzer` does the same on whole arrays and keeps the result only; a test holds both equal.


Where the words of one text stand, and over which of its terms each of them stands.

What the analyzer makes of a document, word by word: where each stands, what was dropped and why, its term, and the n-grams that begin with it.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.attributes import Attributes, parted
from nbtext.counts.vocabulary import category_term, displayed_term
from nbtext.ragged import flat_indices
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.ngrams import with_ngrams
from nbtext.text.stemming import stemmer
from nbtext.text.words import MAX_BYTES, MIN_CHARACTERS, candidates, words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.text.ngrams import PairIds

    Whole = NDArray[np.int64]


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
    """Why a word by itself does not count, as `nbtext.explain.word_walk` has it; None where it does."""
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
        from nbtext.text.ngrams import char_ngrams, ngram_sizes

        rows = [char_ngrams(word, ngram_sizes(self._sizes)) for word in words]
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


NOT_IN_MODEL = "not-in-model"
"""No training document held the term."""


NOT_SELECTED = "not-selected"
"""Training left the term out, as with --top or --min-df."""


MISSING = "missing"
"""A value that the document has not."""


FORMS_AT_ONCE = 1 << 13


MOST_REMEMBERED = 1 << 18
"""Surface forms whose steps are kept, so that each is analysed once."""


Span = tuple[int, int]


class Term(NamedTuple):
    """A term that a document holds beside its words."""

    term: str
    term_id: int | None
    """Its number in the model; None if it has none, or there is no model."""
    dropped: str | None
    """Why it does not count; None if it does."""
    end: int
    """Where its last word ends, in bytes."""


class Token(NamedTuple):
    """A word of a document, a surface form without one, a counted feature, or a value beside the text."""

    kind: str
    """``word``, ``feature``, ``category`` or ``number``."""
    start: int | None
    end: int | None
    """Where the surface form stands, in bytes of the text in UTF-8; None for a value beside it."""
    form: str
    """As it stands in the text."""
    word: str
    """Normalised and case-folded."""
    term: str | None
    """The stem; None for what has none."""
    term_id: int | None
    dropped: str | None
    ngrams: tuple[Term, ...] = ()
    """Those that begin with this word."""
    char_ngrams: tuple[Term, ...] = ()


class _Word(NamedTuple):
    """What one word of a surface form means."""

    word: str
    term: str | None
    term_id: int | None
    dropped: str | None
    char_ngrams: tuple[tuple[str, int | None, str | None], ...]


class Tokens:
    """From documents to their tokens: analysed as training documents were, or without a model as parameters say."""

    def __init__(self, parameters: Mapping[str, Any], stop_list: Sequence[str], reading: Mapping[str, Any]) -> None:
        self._stop_words = frozenset(stop_list)
        self._stem = stemmer(parameters["stemmer"], parameters["language"])
        self._order: int = parameters["ngrams"]
        self._char_ngrams = _pieces(parameters["char_ngrams"])
        self._attributes = Attributes.of(reading)
        self._counted = reading["format"] == "svmlight"
        self._vocabulary: Vocabulary | None = None
        self._selected: NDArray[np.bool_] = np.empty(0, np.bool_)
        self._known: dict[bytes, tuple[_Word, ...]] = {}

    @classmethod
    def of_model(cls, model: TextClassifier) -> Tokens:
        """With the numbers of a model's terms, and with those marked that it does not know or that do not count."""
        tokens = cls(model.parameters, model.stop_list, model.reading)
        tokens._vocabulary, tokens._selected = model.statistics.vocabulary, model.learnt.selected
        return tokens

    def of(self, document: bytes) -> Iterator[Token]:
        """The tokens of a document in valid UTF-8, in order; values beside the text come last."""
        if self._counted:
            yield from self._features(document)
            return
        text, values = parted(document) if self._attributes.names else (document, [])
        yield from self._words(text)
        yield from self._values(values)

    def _words(self, text: bytes) -> Iterator[Token]:
        spans, words = [], []
        forms = surface_forms(text)
        while block := list(islice(forms, FORMS_AT_ONCE)):
            spans += [(start, start + len(form)) for start, form in block]
            words += self._meanings([form for _, form in block])
        ngrams = self._ngrams(words, spans) if self._order > 1 else None
        for (start, end), of_form in zip(spans, words, strict=True):
            form = text[start:end].decode()
            for word, term, term_id, dropped, pieces in of_form:
                joined = next(ngrams) if ngrams is not None and term is not None else ()
                yield Token("word", start, end, form, word, term, term_id, dropped, joined, tuple(Term(*piece, end) for piece in pieces))

    def _meanings(self, forms: Sequence[bytes]) -> list[tuple[_Word, ...]]:
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        new = [form for form in dict.fromkeys(forms) if form not in self._known]
        found = steps(new, self._stop_words, self._stem)
        numbered = self._numbered([step.term for of_form in found for step in of_form if step.term is not None])
        for form, of_form in zip(new, found, strict=True):
            self._known[form] = tuple(
                _Word(step.word, step.term, *(next(numbered) if step.term is not None else (None, step.dropped)), self._pieces_of(step))
                for step in of_form
            )
        return [self._known[form] for form in forms]

    def _pieces_of(self, step: Step) -> tuple[tuple[str, int | None, str | None], ...]:
        if step.term is None:
            return ()
        found = self._char_ngrams(step.word)
        return tuple((term, *of) for term, of in zip(found, self._numbered(found), strict=True))

    def _numbered(self, terms: Sequence[str]) -> Iterator[tuple[int | None, str | None]]:
        """For each single term its number in the model, and why it does not count."""
        if self._vocabulary is None:
            return iter([(None, None)] * len(terms))
        return map(self._status, self._vocabulary.find(terms))

    def _status(self, number: int) -> tuple[int | None, str | None]:
        if self._vocabulary is None:
            return None, None
        if number == UNKNOWN:
            return None, NOT_IN_MODEL
        return number, None if self._selected[number] else NOT_SELECTED

    def _ngrams(self, words: Sequence[tuple[_Word, ...]], spans: Sequence[Span]) -> Iterator[tuple[Term, ...]]:
        """For each word that became a term, the 2- to N-grams that begin with it."""
        kept = [(word, end) for of_form, (_, end) in zip(words, spans, strict=True) for word in of_form if word.term is not None]
        ids = np.array([UNKNOWN if word.term_id is None else word.term_id for word, _ in kept], np.int64)
        find_pairs = _no_pairs if self._vocabulary is None else self._vocabulary.find_pairs
        numbers = iter(with_ngrams(TermSequence(np.zeros_like(ids), ids), self._order, find_pairs).terms.tolist())
        for place in range(len(kept)):
            next(numbers)  # of the word itself
            longest = min(self._order, len(kept) - place)
            yield tuple(
                Term(" ".join(word.term or "" for word, _ in kept[place : place + n]), *self._status(next(numbers)), kept[place + n - 1][1])
                for n in range(2, longest + 1)
            )

    def _features(self, text: bytes) -> Iterator[Token]:
        """The items of a document of counted features, as `nbtext.counts.counting.FeatureCounter` counts them."""
        from nbtext.counts.counting import name_and_count

        place = 0
        for item in text.split():
            start = text.index(item, place)
            place = start + len(item)
            name = name_and_count(item)[0].decode()
            yield Token("feature", start, place, item.decode(), name, name, *next(self._numbered([name])))

    def _values(self, values: Sequence[str]) -> Iterator[Token]:
        names = self._attributes.names
        for place, (name, value) in enumerate(zip(names, values, strict=False)):
            if place >= len(self._attributes.categorical):
                yield Token("number", None, None, value, "", name, None, None if value else MISSING)
            elif not value:
                yield Token("category", None, None, value, "", None, None, MISSING)
            else:
                term = category_term(name, value)
                term_id, dropped = next(self._numbered([term]))  # no distribution of texts has selected it; its own has
                yield Token("category", None, None, value, "", displayed_term(term), term_id, None if term_id is not None else dropped)


def _pieces(span: str | None) -> Callable[[str], list[str]]:
    """From a word to its character n-grams, none if there are to be none."""
    if span is None:
        return lambda _: []
    from nbtext.text.ngrams import char_ngrams, ngram_sizes

    sizes = ngram_sizes(span)
    return lambda word: char_ngrams(word, sizes)


def _no_pairs(left: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    del last
    return np.full(left.size, UNKNOWN, np.int64)
