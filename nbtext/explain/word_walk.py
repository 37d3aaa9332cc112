"""The words of a document: where each stands, the terms and n-grams it becomes, and why it is dropped.

Counting (`nbtext.counts.counting`) works on whole arrays and keeps the counts only. `WordWalker` analyses the same text one surface form after
the other and keeps everything; a property test holds both equal. `nbtext tokens` prints its tokens; explain, why-not and excerpts take its words
as arrays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category as unicode_category

import numpy as np

from nbtext.attributes import Attributes, parted
from nbtext.counts.counting import name_and_count
from nbtext.counts.vocabulary import category_term, displayed_term
from nbtext.ragged import flat_indices
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.encoded_lines import encoded_lines
from nbtext.text.ngrams import char_ngrams, ngram_sizes, with_ngrams
from nbtext.text.surfaces import SURFACE
from nbtext.text.words import MAX_BYTES, MIN_CHARACTERS, candidates, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.counting import Analysis
    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.model.text_classifier import TextClassifier

    Whole = NDArray[np.int64]

# Why a word does not count.
NO_LETTERS = "no-letters-or-digits"
TOO_SHORT = "too-short"
TOO_LONG = "too-long"
ENCODED_LINE = "encoded-line"
STOP_WORD = "stop-word"
NOT_IN_MODEL = "not-in-model"
"""No training document holds the term."""
NOT_SELECTED = "not-selected"
"""Training left the term out, as with --top or --min-df."""
MISSING = "missing"
"""The document has no value for an attribute."""

MOST_REMEMBERED = 1 << 18
"""Surface forms whose words are kept, so that each form is analysed once."""

_FEATURE = re.compile(rb"\S+")
"""A counted feature, ``name:count``."""

_APOSTROPHES = "'\u2019\uff07"
_PART = re.compile("w(?:[wi]*w)?")
"""A word among the kinds of characters: w letters, marks and digits, i what may stand inside a word."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term that a document holds beside its words: an n-gram or a character n-gram."""

    term: str
    term_id: int | None
    """The id in the model; None if the model does not know the term, or without a model."""
    dropped: str | None
    """Why it does not count; None if it does."""
    end: int
    """Where its last word ends, in bytes."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a document, a surface form without a word, a counted feature, or the value of an attribute."""

    kind: str
    """``word``, ``feature``, ``category`` or ``number``."""
    start: int | None
    end: int | None
    """Where the surface form stands, in bytes of the text in UTF-8; None for the value of an attribute."""
    form: str
    """As it stands in the text."""
    word: str
    """Normalised and case-folded."""
    term: str | None
    """The stem; None if the word has none."""
    term_id: int | None
    dropped: str | None
    ngrams: tuple[Term, ...] = ()
    """The n-grams that begin with this word."""
    char_ngrams: tuple[Term, ...] = ()


class LocatedWords(NamedTuple):
    """The words of a text in order, and the occurrences of terms that they form."""

    begins: Whole
    """The byte at which each word begins, shape (n_words,)."""
    ends: Whole
    """The byte after its end, shape (n_words,)."""
    names: list[str]
    """Each word case-folded: words of the same name are occurrences of one surface word."""
    counts: Whole
    """How often the word occurs at its place: once, or the count of a counted feature; shape (n_words,)."""
    own: list[list[int]]
    """Ids of the terms that each word becomes by itself, `UNKNOWN` for terms not in the vocabulary."""
    notes: list[str | None]
    """Why a word by itself does not count; None if it does."""
    words: Whole
    """The word of each part of an occurrence of a term, shape (n_parts,)."""
    terms: Whole
    """The term, `UNKNOWN` for one not in the vocabulary, shape (n_parts,)."""
    shares: NDArray[np.float64]
    """The part of the occurrence: an n-gram belongs to its n words in equal parts. They sum to the occurrences of each term; shape (n_parts,)."""

    def surface_words(self) -> tuple[list[str], Whole]:
        """Return the distinct words in the order in which they first occur, and the number of each word among them, shape (n_words,)."""
        numbers: dict[str, int] = {}
        name_of = np.array([numbers.setdefault(name, len(numbers)) for name in self.names], np.int64)
        return list(numbers), name_of


class _Word(NamedTuple):
    """One word of a surface form."""

    word: str
    term: str | None
    term_id: int | None
    dropped: str | None
    char_ngrams: tuple[tuple[str, int | None, str | None], ...] = ()


class WordWalker:
    """Walks the words of documents under the settings of a model, or without a model under parameters."""

    def __init__(self, analysis: Analysis) -> None:
        settings = analysis.settings
        self._attributes = Attributes.of(settings.reading)
        self._counted = settings.reading.is_counted
        self._drops_lines = settings.encoded_lines == "drop" and not self._counted
        self._stop_words = frozenset(analysis.stop_list)
        self._stem = list if self._counted else analysis.stemmer()
        self._order = 1 if self._counted else settings.ngrams
        sizes = None if self._counted else settings.char_ngrams
        self._sizes = range(0) if sizes is None else ngram_sizes(sizes)
        self._vocabulary: Vocabulary | None = None
        self._selected = b""
        self._known: dict[bytes, tuple[_Word, ...]] = {}

    @classmethod
    def of_model(cls, model: TextClassifier) -> WordWalker:
        """Return the walker that finds the ids of a model's terms, and marks terms that the model does not know or did not select."""
        walker = cls(model.analysis)
        walker._vocabulary, walker._selected = model.statistics.vocabulary, model.learnt.selected.tobytes()
        return walker

    def tokens(self, document: bytes) -> Iterator[Token]:
        """Yield the tokens of a document in valid UTF-8, in order; values of attributes come last."""
        text = self.text(document)
        values = parted(document)[1] if self._attributes.names and not self._counted else []
        kind = "feature" if self._counted else "word"
        spans = self._spans(text)
        encoded = self._in_encoded_lines(text, spans)
        known = iter(self._words([text[begin:end] for (begin, end), dropped in zip(spans, encoded, strict=True) if not dropped]))
        walked = [
            (_Word(text[begin:end].decode().casefold(), None, None, ENCODED_LINE),) if dropped else next(known)
            for (begin, end), dropped in zip(spans, encoded, strict=True)
        ]
        ngrams = self._ngrams(
            [(word, end) for of_form, (_, end) in zip(walked, spans, strict=True) for word in of_form if word.term is not None]
        )
        for (begin, end), of_form in zip(spans, walked, strict=True):
            form = text[begin:end].decode()
            for word, term, term_id, dropped, pieces in of_form:
                joined = () if term is None else next(ngrams)
                yield Token(kind, begin, end, form, word, term, term_id, dropped, joined, tuple(Term(*piece, end) for piece in pieces))
        yield from self._values(values)

    def text(self, document: bytes) -> bytes:
        """Return the text of a document without the values of attributes."""
        return parted(document)[0] if self._attributes.names else document

    def locate(self, text: bytes) -> LocatedWords:
        """Return the words of a text in valid UTF-8, without attributes, as arrays; needs a model.

        Beyond ASCII a surface form may hold several words with signs between them; each of them is a word of its own here. Encoded lines
        have no words.
        """
        spans = self._spans(text)
        spans = [span for span, dropped in zip(spans, self._in_encoded_lines(text, spans), strict=True) if not dropped]
        if not self._counted:
            spans = [(begin + left, begin + right) for begin, end in spans for left, right in _parts(text[begin:end])]
        forms = [text[begin:end] for begin, end in spans]
        walked = self._words(forms)
        kept = [(place, word) for place, of_form in enumerate(walked) for word in of_form if word.term is not None]
        owners, terms = np.array([place for place, _ in kept], np.int64), _ids([word.term_id for _, word in kept])
        pieces = [[term_id for _, term_id, _ in word.char_ngrams] for _, word in kept]
        firsts, sizes = np.repeat(np.arange(terms.size), self._order), np.tile(np.arange(1, self._order + 1), terms.size)
        within = firsts + sizes <= terms.size  # in the order of `with_ngrams`
        firsts, sizes = firsts[within], sizes[within]
        of_words = np.concatenate((owners[flat_indices(firsts, sizes)], np.repeat(owners, [len(row) for row in pieces])))
        counts = np.array([name_and_count(form)[1] if self._counted else 1 for form in forms], np.int64)
        bounds = np.array(spans, np.int64).reshape(-1, 2)
        return LocatedWords(
            bounds[:, 0],
            bounds[:, 1],
            [of_form[0].word if self._counted else form.decode().casefold() for form, of_form in zip(forms, walked, strict=True)],
            counts,
            [[UNKNOWN if word.term_id is None else word.term_id for word in of_form if word.term is not None] for of_form in walked],
            [_note(of_form) for of_form in walked],
            of_words,
            np.concatenate((np.repeat(self._with_ngrams(terms), sizes), _ids([term_id for row in pieces for term_id in row]))),
            np.concatenate((np.repeat(1 / sizes, sizes), np.ones(of_words.size - int(sizes.sum())))) * counts[of_words],
        )

    def _spans(self, text: bytes) -> list[tuple[int, int]]:
        return [match.span() for match in (_FEATURE if self._counted else SURFACE).finditer(text)]

    def _in_encoded_lines(self, text: bytes, spans: Sequence[tuple[int, int]]) -> list[bool]:
        """Return for each surface form whether it stands in an encoded line that is dropped."""
        lines = encoded_lines([text]).get(0, []) if self._drops_lines else []
        begins, ends = [begin for begin, _ in lines], [0, *(end for _, end in lines)]
        return [begin < ends[bisect_right(begins, begin)] for begin, _ in spans]

    def _words(self, forms: Sequence[bytes]) -> list[tuple[_Word, ...]]:
        """Return the words of each surface form, at least one, analysed when the form first occurs."""
        if len(self._known) > MOST_REMEMBERED:
            self._known.clear()
        forms = forms if self._counted else [form.lower() for form in forms]
        new = [form for form in dict.fromkeys(forms) if form not in self._known]
        found = [self._analysed(form) for form in new]
        kept = [word for of_form in found for word, dropped in of_form if dropped is None]
        grams = [char_ngrams(word, self._sizes) for word in kept]
        pieces = iter(self._looked_up([gram for row in grams for gram in row]))
        terms = self._looked_up(self._stem(kept))
        walked = iter([_Word(word, *term, tuple(islice(pieces, len(row)))) for word, term, row in zip(kept, terms, grams, strict=True)])
        for form, of_form in zip(new, found, strict=True):
            self._known[form] = tuple(next(walked) if dropped is None else _Word(word, None, None, dropped) for word, dropped in of_form)
        return [self._known[form] for form in forms]

    def _analysed(self, form: bytes) -> list[tuple[str, str | None]]:
        """Return the words of a surface form, each with the reason if it is dropped before it becomes a term."""
        if self._counted:
            return [(name_and_count(form)[0].decode(), None)]
        return [(word, self._dropped(word)) for word in candidates(form.decode()) or [""]]

    def _dropped(self, word: str) -> str | None:
        if not word:
            return NO_LETTERS
        if len(word) < MIN_CHARACTERS:
            return TOO_SHORT
        if len(word.encode()) > MAX_BYTES:
            return TOO_LONG
        return STOP_WORD if word in self._stop_words else None

    def _looked_up(self, terms: list[str]) -> list[tuple[str, int | None, str | None]]:
        """Return single terms, each with its id in the model and the reason if it does not count."""
        ids = [UNKNOWN] * len(terms) if self._vocabulary is None else self._vocabulary.find(terms)
        return [(term, *self._status(term_id)) for term, term_id in zip(terms, ids, strict=True)]

    def _status(self, term_id: int) -> tuple[int | None, str | None]:
        if self._vocabulary is None:
            return None, None
        if term_id == UNKNOWN:
            return None, NOT_IN_MODEL
        return term_id, None if self._selected[term_id] else NOT_SELECTED

    def _with_ngrams(self, terms: Whole) -> Whole:
        """Return the ids of the 1- to N-grams of a sequence of terms, those that begin with one term together."""
        find_pairs = _no_pairs if self._vocabulary is None else self._vocabulary.find_pairs
        return with_ngrams(TermSequence(np.zeros_like(terms), terms), self._order, find_pairs).terms

    def _ngrams(self, kept: Sequence[tuple[_Word, int]]) -> Iterator[tuple[Term, ...]]:
        """Yield for each word that became a term, given with its end, the 2- to N-grams that begin with it."""
        ids = iter(self._with_ngrams(_ids([word.term_id for word, _ in kept])).tolist())
        for place in range(len(kept)):
            here = kept[place : place + self._order]
            next(ids)  # of the word itself
            yield tuple(
                Term(" ".join(word.term or "" for word, _ in here[:n]), *self._status(next(ids)), here[n - 1][1])
                for n in range(2, len(here) + 1)
            )

    def _values(self, values: Sequence[str]) -> Iterator[Token]:
        for place, (name, value) in enumerate(zip(self._attributes.names, values, strict=False)):
            if place >= len(self._attributes.categorical):
                yield Token("number", None, None, value, "", name, None, None if value else MISSING)
            elif not value:
                yield Token("category", None, None, value, "", None, None, MISSING)
            else:
                [(term, term_id, dropped)] = self._looked_up([category_term(name, value)])
                # the selection of terms is among those of texts: a category that the model knows always counts
                yield Token("category", None, None, value, "", displayed_term(term), term_id, dropped if term_id is None else None)


def _ids(term_ids: Sequence[int | None]) -> Whole:
    return np.array([UNKNOWN if term_id is None else term_id for term_id in term_ids], np.int64)


def _no_pairs(left: Whole, _: Whole) -> Whole:
    return np.full(left.size, UNKNOWN, np.int64)


def _note(of_form: Sequence[_Word]) -> str | None:
    """Return why no word of a form counts by itself, None if one does."""
    reasons = [word.dropped for word in of_form if word.term is not None] or [of_form[0].dropped]
    return None if None in reasons else NOT_SELECTED if NOT_SELECTED in reasons else reasons[0]


def _parts(form: bytes) -> list[tuple[int, int]]:
    """Return where the words of a surface form stand in it, without the signs around them.

    If the parts taken by themselves are other words, as normalising the whole may make them, the form is one part.
    """
    if form.isalnum():
        return [(0, len(form))]
    text = form.decode()
    pieces = [match.span() for match in _PART.finditer("".join(map(_kind, text)))]
    if [word for begin, end in pieces for word in words(text[begin:end])] != words(text):
        return [(0, len(form))]
    bounds = [0, *accumulate(len(character.encode()) for character in text)]
    return [(bounds[begin], bounds[end]) for begin, end in pieces]


def _kind(character: str) -> str:
    kind = unicode_category(character)
    return "w" if kind[0] in "LMN" else "i" if character in _APOSTROPHES or kind == "Cf" else " "
