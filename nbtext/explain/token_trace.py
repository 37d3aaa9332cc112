"""The words of a document: where each stands, the terms and n-grams it becomes, and why it is dropped.

Counting (`nbtext.counts.counting`) works on whole arrays and keeps the counts only. `TokenTracer` analyses the same text one surface form after
the other and keeps everything; a property test holds both equal. `nbtext tokens` prints its tokens; explain, why-not and excerpts take its words
as arrays.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, chain, count, pairwise
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category as unicode_category

import numpy as np

from nbtext.counts.counting import Analysis, split_name_and_count
from nbtext.counts.vocabulary import Vocabulary, display_term, make_category_term
from nbtext.document_fields import Attributes, iter_content_offsets, render_document
from nbtext.ragged import compute_flat_indices, compute_offsets
from nbtext.text.analyzer import UNKNOWN_TERM, TermSequence
from nbtext.text.encoded_lines import find_encoded_lines
from nbtext.text.ngrams import add_ngrams, make_char_ngrams, parse_ngram_sizes
from nbtext.text.surface_forms import (
    PAIRS,
    STOP_DELIMITED_FORM,
    SURFACE_FORM,
    WORDS,
    find_unspaced_runs,
    is_unspaced,
)
from nbtext.text.words import MIN_WORD_CHARS, is_word, split_candidates, split_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.fitted_model import FittedModel
    from nbtext.text.surface_forms import UnspacedRuns
    from nbtext.type_names import AnyArray, Fields, Floats, Ids, Ints, Mask

    _Found = tuple[str, int | None, str | None]
    """A term, its id in the model, and why it does not count."""

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

SEARCH_BLOCK_BYTES = 1 << 17
"""Bytes of a text whose surface forms are found at once; each form takes a hundred bytes meanwhile."""

_SPACE = re.compile(rb"[ \n]")
"""What stands in no surface form."""

_FEATURE = re.compile(rb"\S+")
"""A counted feature, ``name:count``."""

_ITEM = re.compile(rb"[^ ]+")
_AS_IT_STANDS = "\x1c"
"""In place of the name of a field before a term: the term is an item."""

_APOSTROPHES = "'\u2019\uff07"
_PART = re.compile("w(?:[wi]*w)?")
"""A word among the kinds of characters: w letters, marks and digits, i what may stand inside a word."""


@dataclass(frozen=True, slots=True)
class NgramTerm:
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
    """A word of a document, a surface form without a word, an item, a counted feature, or the value of an attribute."""

    kind: str
    """``word``, ``item``, ``feature``, ``category`` or ``number``."""
    start: int | None
    end: int | None
    """Where the surface form stands, in bytes of the text in UTF-8, which fields follow as lines; None for the value of an attribute."""
    form: str
    """As it stands in the text."""
    word: str
    """Normalised and case-folded; in a field, with its name in front, as the term."""
    term: str | None
    """The stem; None if the word has none."""
    term_id: int | None
    dropped: str | None
    ngrams: tuple[NgramTerm, ...] = ()
    """The n-grams that begin with this word."""
    char_ngrams: tuple[NgramTerm, ...] = ()


class LocatedForm(NamedTuple):
    """A word as it stands in the text or in a field, the same at all its places."""

    name: str
    """Case-folded, with the name of its field in front: forms of the same name are one surface word."""
    n_occurrences: int
    """Occurrences at each place: one, or the count of a counted feature."""
    term_ids: tuple[int, ...]
    """Ids of the terms that it becomes by itself, `UNKNOWN` for terms not in the vocabulary."""
    char_ngram_ids: tuple[int, ...]
    """Ids of its character n-grams, likewise."""
    drop_reason: str | None
    """Why it does not count by itself; None if it does."""


class LocatedWords(NamedTuple):
    """The words of a text in order, and the occurrences of terms that they form."""

    starts: Ints
    """The byte at which each word begins, shape (n_words,)."""
    ends: Ints
    """The byte after its end, shape (n_words,)."""
    part_indices: Ints
    """The number of the text, the field of words or the item where each word stands, shape (n_words,)."""
    forms: list[LocatedForm]
    """The distinct forms, in the order in which they first occur."""
    form_indices: Ids
    """The number of each word's form, shape (n_words,)."""
    word_indices: Ints
    """The word of each part of an occurrence of a term, shape (n_parts,)."""
    term_ids: AnyArray
    """The term, a whole number, `UNKNOWN` for one not in the vocabulary, shape (n_parts,)."""
    weights: Floats
    """The part of the occurrence: an n-gram belongs to its n words in equal parts. They sum to the occurrences of each term; shape (n_parts,)."""

    def group_surface_words(self) -> tuple[list[str], Ints]:
        """Return the distinct words in the order in which they first occur, and the number of each word among them, shape (n_words,)."""
        numbers: dict[str, int] = {}
        name_of = np.array(
            [numbers.setdefault(form.name, len(numbers)) for form in self.forms], np.int64
        )
        return list(numbers), name_of[self.form_indices]

    @property
    def word_counts(self) -> Ints:
        """The occurrences of each word at its place, shape (n_words,)."""
        return np.array([form.n_occurrences for form in self.forms], np.int64)[self.form_indices]

    def count_occurrences(self, chosen: Iterable[str]) -> dict[str, int]:
        """Return how often some of the distinct words occur."""
        names, name_of = self.group_surface_words()
        times = np.bincount(name_of, self.word_counts).astype(np.int64).tolist()
        of_name = dict(zip(names, times, strict=True))
        return {name: of_name[name] for name in chosen}

    def to_matrix(self, empty_document: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the document of these words as counting has it, and of what ``beside``, an empty document, has beside its text."""
        terms, places = np.unique(self.term_ids, return_inverse=True)
        counts = np.rint(np.bincount(places, self.weights)).astype(np.int64)
        known = terms != UNKNOWN_TERM
        terms = np.concatenate((terms[known], empty_document.terms))
        counts = np.concatenate((counts[known], empty_document.counts))
        return empty_document._replace(
            offsets=np.array([0, terms.size]), terms=terms, counts=counts
        )


class _Word(NamedTuple):
    """One word of a surface form."""

    word: str
    term: str | None
    term_id: int | None
    dropped: str | None
    char_ngrams: tuple[_Found, ...] = ()


class _Part(NamedTuple):
    """The text of a document, a field of words or an item; no n-gram crosses its bounds."""

    begin: int
    end: int
    pattern: re.Pattern[bytes]
    """The pattern of its surface forms."""
    prefix: str = ""
    """Before the terms of a field, its name and a colon; `_AS_IT_STANDS` for an item."""


class _Piece(NamedTuple):
    """A piece of a surface form: all of it, a run of a script without spaces, or what stands beside runs; places are those in the form."""

    begin: int
    end: int
    is_run: bool
    side: str | None
    """The one of `SEGMENTATION_MARKS` whose terms it has."""
    spans: list[tuple[int, int, list[_Word]]]
    """Where what is analysed begins and ends, itself or the pairs of the run, and its words."""


class TokenTracer:
    """Walks the words of documents as an analysis takes them, with the ids of a vocabulary if there is one.

    Terms that are not in the vocabulary or not ``selected``, a mask of shape (n_terms,), are marked.
    """

    def __init__(
        self,
        analysis: Analysis,
        vocabulary: Vocabulary | None = None,
        is_selected: Mask | None = None,
    ) -> None:
        settings = analysis.settings
        self._attributes = Attributes.from_settings(settings.reading)
        self._counted = settings.reading.is_counted
        self._sides = analysis.segmentations if settings.counts_pairs_and_words else ()
        self._pairs = (
            PAIRS in self._sides if self._sides else settings.unspaced != WORDS
        ) and not self._counted
        self._drops_lines = settings.encoded_lines == "drop" and not self._counted
        self._stop_words: dict[str | None, frozenset[str]] = dict.fromkeys(
            (None, *self._sides), frozenset(analysis.stop_list)
        )
        self._stop_words[None] = frozenset(analysis.dropped_words)
        self._stem = {
            side: list if self._counted else analysis.build_stemmer(side)
            for side in self._stop_words
        }
        self._order = 1 if self._counted else settings.ngrams
        self._sizes = (
            range(0)
            if settings.char_ngrams is None or self._counted
            else parse_ngram_sizes(settings.char_ngrams)
        )
        self._has_model = vocabulary is not None
        self._vocabulary = vocabulary or Vocabulary.from_terms([])
        self._selected = b"" if is_selected is None else is_selected.tobytes()
        self._pieces = lru_cache(MOST_REMEMBERED)(self._in_pieces)
        self._located = lru_cache(MOST_REMEMBERED)(self._words_at)

    @classmethod
    def from_model(cls, model: FittedModel) -> TokenTracer:
        """Return the walker that finds the ids of a model's terms, and marks terms that the model does not know or did not select."""
        return cls(model.analysis, model.statistics.vocabulary, model.parameters.selected_terms)

    def trace_tokens(
        self, text: bytes, fields: Fields = (), values: Sequence[str] = ()
    ) -> Iterator[Token]:
        """Yield the tokens of a document in valid UTF-8, in order: text, fields, values of attributes."""
        document, parts, readable = self._opened(text, fields)
        walked = []
        for part in parts:
            for match in part.pattern.finditer(document, part.begin, part.end):
                form = match.group()
                place = match.start()
                if readable[place]:
                    spans = [
                        span for piece in self._pieces(part.prefix, form) for span in piece.spans
                    ]
                else:
                    spans = [
                        (0, len(form), [_Word(form.decode().casefold(), None, None, ENCODED_LINE)])
                    ]
                walked += [
                    (place + begin, place + end, part, of_span) for begin, end, of_span in spans
                ]
        ngrams = self._ngrams(
            [
                (word, end, part)
                for _, end, part, of_span in walked
                for word in of_span
                if word.term is not None
            ]
        )
        for begin, end, part, of_span in walked:
            kind = "word"
            if self._counted:
                kind = "feature"
            elif part.prefix == _AS_IT_STANDS:
                kind = "item"
            written = document[begin:end].decode()
            for word, term, term_id, dropped, pieces in of_span:
                joined = () if term is None else next(ngrams)
                yield Token(
                    kind,
                    begin,
                    end,
                    written,
                    word,
                    term,
                    term_id,
                    dropped,
                    joined,
                    tuple(NgramTerm(*piece, end) for piece in pieces),
                )
        yield from self._values(values)

    def locate_words(
        self, text: bytes, fields: Fields = (), *, splits_pairs: bool = False
    ) -> LocatedWords:
        """Return the words of a text in valid UTF-8 and of its fields as arrays, by their places in what is shown; needs a model.

        Beyond ASCII a surface form may hold several words with signs between them; each of them is a word of its own here. Encoded lines
        have no words. A run of a script without spaces is one word, whose absence leaves the others as they are; with ``pairs`` each of its pairs
        is a word, which stands where its first character stands, the last pair where both stand.
        """
        _, parts, document = self._opened(text, fields)
        return self._with_terms(*self._located_forms(document, parts, pairs=splits_pairs))

    def clear_words(self, located: LocatedWords, names: Collection[str]) -> LocatedWords:
        """Return the same words, those of some names without terms: the words on both sides of them form n-grams."""
        forms = [
            form._replace(term_ids=(), char_ngram_ids=()) if form.name in names else form
            for form in located.forms
        ]
        return self._with_terms(
            located.starts, located.ends, located.part_indices, located.form_indices, forms
        )

    def _with_terms(
        self, begins: Ints, ends: Ints, part_of: Ints, form_of: Ids, forms: list[LocatedForm]
    ) -> LocatedWords:
        """Return words with the occurrences of terms that they form."""
        owners, (terms,) = _gathered([form.term_ids for form in forms], form_of)
        shares = np.ones(terms.size)
        if self._order > 1:
            of_terms = part_of.take(owners)
            firsts = np.repeat(np.arange(terms.size), self._order)
            sizes = np.tile(np.arange(1, self._order + 1), terms.size)
            within = np.append(of_terms, -1).take(firsts + sizes - 1, mode="clip") == of_terms.take(
                firsts
            )
            firsts = firsts[within]
            sizes = sizes[within]  # of the n-grams inside their parts, in the order of `add_ngrams`
            terms = np.repeat(self._with_ngrams(terms, of_terms), sizes)
            owners = owners.take(compute_flat_indices(firsts, sizes))
            shares = np.repeat(1 / sizes, sizes)
        if any(form.char_ngram_ids for form in forms):
            in_pieces, (pieces,) = _gathered([form.char_ngram_ids for form in forms], form_of)
            terms = np.concatenate((terms, pieces))
            owners = np.concatenate((owners, in_pieces))
            shares = np.concatenate((shares, np.ones(pieces.size)))
        located = LocatedWords(begins, ends, part_of, forms, form_of, owners, terms, shares)
        shares *= located.word_counts.take(owners)
        return located

    def _located_forms(
        self, document: bytes, parts: Sequence[_Part], *, pairs: bool
    ) -> tuple[Ints, Ints, Ints, Ids, list[LocatedForm]]:
        """Return where each word begins and ends, its part and the number of its form, shapes (n_words,), and the forms."""
        places = [np.empty(0, np.int64)]
        numbers = [np.empty(0, np.int64)]
        number_of = defaultdict[str, defaultdict[bytes, int]](
            partial(defaultdict, count().__next__)
        )
        for part in parts:
            number = number_of[part.prefix].__getitem__
            begin = part.begin
            split = re.compile(b"(%b)" % part.pattern.pattern).split
            while begin < part.end:
                space = _SPACE.search(document, begin + SEARCH_BLOCK_BYTES, part.end)
                end = space.start() if space else part.end
                between = split(
                    document[begin:end]
                    if part.pattern in (_FEATURE, _ITEM)
                    else document[begin:end].lower()
                )
                places.append(
                    begin + np.cumsum(np.fromiter(map(len, between), np.int64, len(between)))[:-1:2]
                )
                numbers.append(np.fromiter(map(number, between[1::2]), np.int64))
                begin = end
        forms = dict[LocatedForm, int]()
        rows = []
        for _, prefix, surface in sorted(
            (number, prefix, form)
            for prefix, found in number_of.items()
            for form, number in found.items()
        ):
            located = self._located(prefix, surface, pairs)
            rows.append(
                [
                    place
                    for first, last, form in located
                    for place in (first, last, forms.setdefault(form, len(forms)))
                ]
            )
        surfaces, (begins, ends, form_of) = _gathered(rows, np.concatenate(numbers), 3)
        of_surfaces = np.concatenate(places).take(surfaces)
        part_of = np.searchsorted(
            np.array([part.begin for part in parts]), of_surfaces, side="right"
        )
        return begins + of_surfaces, ends + of_surfaces, part_of, form_of, list(forms)

    def _words_at(
        self,
        prefix: str,
        form: bytes,
        pairs: bool,  # noqa: FBT001 - a cache takes it so
    ) -> list[tuple[int, int, LocatedForm]]:
        """Return where the words of a surface form stand in it, and what they are."""
        if form.isalnum():  # as most are: a word by itself
            return [(0, len(form), self._form(prefix, form, self._words_of(prefix, form, None)))]
        found = []
        for begin, end, is_run, side, spans in self._in_pieces(prefix, form):
            if is_run and pairs:
                ends = [*(first for first, *_ in spans[1:]), end]
                found += [
                    (span[0], stop, self._form(prefix, form[span[0] : span[1]], span[2]))
                    for span, stop in zip(spans, ends, strict=True)
                ]
                continue
            whole = is_run or self._counted or prefix == _AS_IT_STANDS
            for part in [(begin, end)] if whole else _parts(form, begin, end):
                written = form[slice(*part)]
                of_part = [word for *_, of_span in spans for word in of_span]
                if part != (begin, end):
                    of_part = self._words_of(prefix, written, side)
                found.append((*part, self._form(prefix, written, of_part)))
        return found

    def _form(self, prefix: str, written: bytes, of_form: Sequence[_Word]) -> LocatedForm:
        name = of_form[0].word
        count = 1
        if self._counted:
            count = split_name_and_count(written)[1]
        else:
            name = _in_part(prefix, written.decode(), written.decode().casefold())
        terms = [word for word in of_form if word.term is not None]
        reasons = [word.dropped for word in terms] or [of_form[0].dropped]
        note = reasons[0]
        if None in reasons:
            note = None
        elif NOT_SELECTED in reasons:
            note = NOT_SELECTED
        pieces = _ids(term_id for word in of_form for _, term_id, _ in word.char_ngrams)
        return LocatedForm(name, count, _ids(word.term_id for word in terms), pieces, note)

    def _opened(self, text: bytes, fields: Fields) -> tuple[bytes, list[_Part], bytes]:
        """Return what is shown of a document, its parts, an item each of fields without a name, and the first with zeros in place of encoded lines."""
        document = render_document(text, fields)
        if self._counted:
            return document, [_Part(0, len(document), _FEATURE)], document
        pattern = (
            STOP_DELIMITED_FORM
            if self._sides and find_unspaced_runs(document) is not None
            else SURFACE_FORM
        )
        parts = [_Part(0, len(text), pattern)]
        for (name, content), begin in zip(fields, iter_content_offsets(text, fields), strict=True):
            if name:
                parts.append(_Part(begin, begin + len(content), pattern, f"{name.decode()}:"))
            else:
                parts += [
                    _Part(begin + item.start(), begin + item.end(), _ITEM, _AS_IT_STANDS)
                    for item in _ITEM.finditer(content)
                ]
        lines = find_encoded_lines([text]).get(0) if self._drops_lines else None
        if not lines:
            return document, parts, document
        readable = bytearray(document)
        for begin, end in lines:
            readable[begin:end] = bytes(end - begin)
        return document, parts, bytes(readable)

    def _in_pieces(self, prefix: str, form: bytes) -> list[_Piece]:
        """Return a surface form in pieces, runs of scripts without spaces apart from what stands beside them.

        Of a form that holds a run may count its pairs, its words, or both: then the words belong to the first word of the first run. The character
        n-grams of a run belong to its first word.
        """
        runs = None if prefix == _AS_IT_STANDS or form.isascii() else find_unspaced_runs(form)
        side = None
        if runs is not None and self._sides:
            side = PAIRS if self._pairs else WORDS
        found = list[_Piece]()
        beside: list[_Found] = []
        if side == PAIRS and WORDS in self._sides:
            beside = [
                (word.term, word.term_id, word.dropped)
                for word in self._words_of(prefix, form, WORDS)
                if word.term is not None
            ]
        for begin, end, pairs in (
            [(0, len(form), list[tuple[int, int]]())]
            if runs is None or not self._pairs
            else _with_runs(form, runs)
        ):
            spans = [
                (first, last, self._words_of(prefix, form[first:last], side))
                for first, last in pairs or [(begin, end)]
            ]
            if pairs and self._sizes and not prefix:
                kept = [
                    word
                    for word in split_words(form[begin:end].decode(), unspaced=True)
                    if word not in self._stop_words[None]
                ]
                beside = self._looked_up(
                    [gram for word in kept for gram in make_char_ngrams(word, self._sizes)]
                )
            if pairs and beside:
                first, last, (word, *others) = spans[0]
                spans[0] = (first, last, [word._replace(char_ngrams=tuple(beside)), *others])
                beside = []
            found.append(_Piece(begin, end, bool(pairs), side, spans))
        return found

    def _words_of(self, prefix: str, form: bytes, side: str | None) -> list[_Word]:
        """Return the words of a surface form, given with the prefix of its part and its side: at least one, with the reason if it is dropped."""
        as_it_stands = self._counted or prefix == _AS_IT_STANDS
        found = []
        text = (split_name_and_count(form)[0] if self._counted else form).decode()
        for word in [text] if as_it_stands else split_candidates(text) or [""]:
            dropped = None if as_it_stands else self._dropped(word, side)
            if dropped is not None:
                found.append(_Word(word and prefix + word, None, None, dropped))
                continue
            grams = (
                []
                if prefix or (self._pairs and is_unspaced(text))
                else make_char_ngrams(word, self._sizes)
            )
            term, *pieces = self._looked_up(
                [_in_part(prefix, word, self._stem[side]([word])[0]), *grams]
            )
            found.append(_Word(_in_part(prefix, word, word), *term, tuple(pieces)))
        return found

    def _dropped(self, word: str, side: str | None) -> str | None:
        if not word:
            return NO_LETTERS
        if not is_word(word, unspaced=side == PAIRS if self._sides else self._pairs):
            return TOO_SHORT if len(word) < MIN_WORD_CHARS else TOO_LONG
        return STOP_WORD if word in self._stop_words[side] else None

    def _looked_up(self, terms: list[str]) -> list[_Found]:
        """Return single terms, each with its id in the model and the reason if it does not count."""
        ids = self._vocabulary.find(terms)
        return [
            (display_term(term), *self._status(term_id))
            for term, term_id in zip(terms, ids, strict=True)
        ]

    def _status(self, term_id: int) -> tuple[int | None, str | None]:
        if not self._has_model:
            return None, None
        if term_id == UNKNOWN_TERM:
            return None, NOT_IN_MODEL
        return term_id, None if self._selected[term_id] else NOT_SELECTED

    def _with_ngrams(self, terms: Ints, parts: Ints) -> Ints:
        """Return the ids of the 1- to N-grams of a sequence of terms inside their parts, those that begin with one term together."""
        return add_ngrams(
            TermSequence(parts, terms), self._order, self._vocabulary.find_pairs
        ).terms

    def _ngrams(self, kept: Sequence[tuple[_Word, int, _Part]]) -> Iterator[tuple[NgramTerm, ...]]:
        """Yield for each word that became a term, given with its end and its part, the 2- to N-grams that begin with it."""
        parts = np.array([part.begin for *_, part in kept], np.int64)
        ids = iter(
            self._with_ngrams(
                np.array(_ids(word.term_id for word, *_ in kept), np.int64), parts
            ).tolist()
        )
        for place, (*_, own) in enumerate(kept):
            here = [
                (word, end) for word, end, part in kept[place : place + self._order] if part is own
            ]
            next(ids)  # of the word itself
            yield tuple(
                NgramTerm(
                    " ".join(word.term or "" for word, _ in here[:n]),
                    *self._status(next(ids)),
                    here[n - 1][1],
                )
                for n in range(2, len(here) + 1)
            )

    def _values(self, values: Sequence[str]) -> Iterator[Token]:
        for place, (name, value) in enumerate(zip(self._attributes.names, values, strict=False)):
            kind, term = (
                ("category", None)
                if place < len(self._attributes.categorical)
                else ("number", name)
            )
            if term or not value:
                yield Token(kind, None, None, value, "", term, None, None if value else MISSING)
            else:
                [(term, term_id, dropped)] = self._looked_up([make_category_term(name, value)])
                # Terms are selected among those of texts: a category that the model knows counts.
                yield Token(
                    kind, None, None, value, "", term, term_id, dropped if term_id is None else None
                )


def _in_part(prefix: str, word: str, term: str) -> str:
    """Return the term of a word in a part: an item as it stands, any other with the prefix of the part."""
    return word if prefix == _AS_IT_STANDS else prefix + term


def _ids(term_ids: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(UNKNOWN_TERM if term_id is None else term_id for term_id in term_ids)


def _gathered(
    rows: Sequence[Sequence[int]], row_of: AnyArray, width: int = 1
) -> tuple[Ints, list[AnyArray]]:
    """Return for the items of one row after the other, chosen by ``row_of``, the place of the row there, and the columns of the items."""
    sizes = np.array([len(row) for row in rows], np.int64) // width
    columns = np.array(list(chain.from_iterable(rows)), np.int32).reshape(-1, width).T
    here = sizes.take(row_of)
    places = compute_flat_indices(compute_offsets(sizes).take(row_of), here)
    return np.repeat(np.arange(row_of.size), here), [column.take(places) for column in columns]


def _with_runs(form: bytes, runs: UnspacedRuns) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Return where the runs of scripts without spaces in a surface form begin and end, with their pairs, and what stands between them, without."""
    (begins, ends), pairs = runs.run_bounds, np.stack(runs.pair_bounds, axis=1)
    of_runs = dict(
        zip(begins.tolist(), np.split(pairs, np.searchsorted(pairs[:, 0], begins))[1:], strict=True)
    )
    cuts = sorted({0, len(form), *begins.tolist(), *ends.tolist()})
    return [
        (begin, end, of_runs[begin].tolist() if begin in of_runs else [])
        for begin, end in pairwise(cuts)
    ]


def _parts(form: bytes, begin: int, end: int) -> list[tuple[int, int]]:
    """Return where the words of a piece of a surface form stand in it, without the signs around them.

    If the parts taken by themselves are other words, as normalising the whole may make them, the piece is one part.
    """
    decoded = form[begin:end].decode()
    found = [match.span() for match in _PART.finditer("".join(map(_kind, decoded)))]
    if [
        word for first, last in found for word in split_words(decoded[first:last], unspaced=True)
    ] != split_words(decoded, unspaced=True):
        return [(begin, end)]
    bounds = list(accumulate((len(character.encode()) for character in decoded), initial=begin))
    return [(bounds[first], bounds[last]) for first, last in found]


def _kind(character: str) -> str:
    kind = unicode_category(character)
    if kind[0] in "LMN":
        return "w"
    return "i" if character in _APOSTROPHES or kind == "Cf" else " "
