"""What the analyzer makes of a document, word by word: where each stands, what was dropped and why, its term, and the n-grams that begin with it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.attributes import Attributes, parted
from nbtext.counts.categories import category, shown
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.ngrams import with_ngrams
from nbtext.text.stemming import stemmer
from nbtext.text.steps import steps, surface_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.counts.vocabulary import Vocabulary
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.text.steps import Step

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
        """The items of a document of counted features, as `nbtext.counts.counting.CountedTerms` counts them."""
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
                term = category(name, value)
                term_id, dropped = next(self._numbered([term]))  # no distribution of texts has selected it; its own has
                yield Token("category", None, None, value, "", shown(term), term_id, None if term_id is not None else dropped)


def _pieces(span: str | None) -> Callable[[str], list[str]]:
    """From a word to its character n-grams, none if there are to be none."""
    if span is None:
        return lambda _: []
    from nbtext.text.ngrams import char_ngrams, sizes_of

    sizes = sizes_of(span)
    return lambda word: char_ngrams(word, sizes)


def _no_pairs(left: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    del last
    return np.full(left.size, UNKNOWN, np.int64)
