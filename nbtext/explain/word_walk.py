"""The words of a document: where each stands, the terms and n-grams it becomes, and why it is dropped.

Counting (`nbtext.counts.counting`) works on whole arrays and keeps the counts only. `WordWalker` analyses the same text one surface form after
the other and keeps everything; a property test holds both equal. `nbtext tokens` prints its tokens; explain, why-not and excerpts take its words
as arrays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, chain, count, islice
from typing import TYPE_CHECKING
from unicodedata import category as unicode_category

import numpy as np

from nbtext.counts.counting import Analysis, name_and_count
from nbtext.counts.vocabulary import Vocabulary, category_term, displayed_term
from nbtext.document_parts import Attributes, field_places, shown
from nbtext.ragged import BETWEEN, flat_indices, offsets
from nbtext.records import NamedTuple
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.encoded_lines import encoded_lines
from nbtext.text.ngrams import char_ngrams, ngram_sizes, with_ngrams
from nbtext.text.surfaces import (
    FORM_BETWEEN_STOPS,
    LONG_FORM,
    PAIRS,
    SURFACE,
    WORDS,
    SurfaceTable,
    find_surfaces,
    is_unspaced,
    unspaced_runs,
)
from nbtext.text.words import MIN_CHARACTERS, candidates, is_word, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.fitted_model import FittedModel
    from nbtext.type_names import Fields, Floats, Mask, Whole

    _Lines = tuple[list[int], list[int]]
    """The begins of encoded lines and, after 0, their ends."""

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

LONG_PART = 1 << 14
"""Surface forms of a part of more bytes are found on whole arrays: 30 ns each in place of 600, after a tenth of a millisecond."""
BYTES_AT_ONCE = 1 << 19

_FEATURE = re.compile(rb"\S+")
"""A counted feature, ``name:count``."""

_ITEM = re.compile(rb"[^ ]+")
_AS_IT_STANDS = "\x1c"
"""In place of the name of a field before a term: the term is an item."""

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
    ngrams: tuple[Term, ...] = ()
    """The n-grams that begin with this word."""
    char_ngrams: tuple[Term, ...] = ()


class LocatedForm(NamedTuple):
    """A word as it stands in the text or in a field, the same at all its places."""

    name: str
    """Case-folded, with the name of its field in front: forms of the same name are one surface word."""
    occurrences: int
    """Occurrences at each place: one, or the count of a counted feature."""
    own: tuple[int, ...]
    """Ids of the terms that it becomes by itself, `UNKNOWN` for terms not in the vocabulary."""
    char_ngrams: tuple[int, ...]
    """Ids of its character n-grams, likewise."""
    note: str | None
    """Why it does not count by itself; None if it does."""


class LocatedWords(NamedTuple):
    """The words of a text in order, and the occurrences of terms that they form."""

    begins: Whole
    """The byte at which each word begins, shape (n_words,)."""
    ends: Whole
    """The byte after its end, shape (n_words,)."""
    forms: list[LocatedForm]
    """The distinct forms, in the order in which they first occur."""
    form_of: Whole
    """The number of each word's form, shape (n_words,)."""
    words: Whole
    """The word of each part of an occurrence of a term, shape (n_parts,)."""
    terms: Whole
    """The term, `UNKNOWN` for one not in the vocabulary, shape (n_parts,)."""
    shares: Floats
    """The part of the occurrence: an n-gram belongs to its n words in equal parts. They sum to the occurrences of each term; shape (n_parts,)."""

    def surface_words(self) -> tuple[list[str], Whole]:
        """Return the distinct words in the order in which they first occur, and the number of each word among them, shape (n_words,)."""
        numbers: dict[str, int] = {}
        name_of = np.array([numbers.setdefault(form.name, len(numbers)) for form in self.forms], np.int64)
        return list(numbers), name_of[self.form_of]

    def without_terms(self) -> LocatedWords:
        """Return the words alone, which take half the memory."""
        return self._replace(words=np.empty(0, np.int64), terms=np.empty(0, np.int64), shares=np.empty(0))

    @property
    def counts(self) -> Whole:
        """The occurrences of each word at its place, shape (n_words,)."""
        return np.array([form.occurrences for form in self.forms], np.int64)[self.form_of]


class _Word(NamedTuple):
    """One word of a surface form."""

    word: str
    term: str | None
    term_id: int | None
    dropped: str | None
    char_ngrams: tuple[tuple[str, int | None, str | None], ...] = ()


class _Part(NamedTuple):
    """The text of a document, a field of words or an item; no n-gram crosses its bounds."""

    begin: int
    end: int
    prefix: str = ""
    """Before the terms of a field, its name and a colon; `_AS_IT_STANDS` for an item."""
    pattern: re.Pattern[bytes] = SURFACE
    """The pattern of its surface forms."""


class _Piece(NamedTuple):
    """A piece of a surface form: all of it, a run of a script without spaces, or what stands beside runs; places are those in the form."""

    begin: int
    end: int
    spans: list[tuple[int, int]]
    """Where what is analysed stands: itself, or the pairs of the run."""
    is_run: bool = False
    side: str | None = None
    """The one of `SIDES` whose terms it has."""
    with_whole: bool = False
    """The words of the whole form belong to this piece of it, if pairs and words are counted side by side."""


class WordWalker:
    """Walks the words of documents as an analysis takes them, with the ids of a vocabulary if there is one.

    Terms that are not in the vocabulary or not ``selected``, a mask of shape (n_terms,), are marked.
    """

    def __init__(self, analysis: Analysis, vocabulary: Vocabulary | None = None, selected: Mask | None = None) -> None:
        settings = analysis.settings
        self._attributes = Attributes.of(settings.reading)
        self._counted = settings.reading.is_counted
        self._sides = analysis.sides if settings.counts_both else ()
        self._pairs = (PAIRS in self._sides if self._sides else settings.unspaced != WORDS) and not self._counted
        self._drops_lines = settings.encoded_lines == "drop" and not self._counted
        self._stop_words: dict[str | None, frozenset[str]] = dict.fromkeys((None, *self._sides), frozenset(analysis.stop_list))
        self._stop_words[None] = frozenset(analysis.dropped)
        self._stem = {side: list if self._counted else analysis.stemmer(side) for side in self._stop_words}
        self._order = 1 if self._counted else settings.ngrams
        sizes = None if self._counted else settings.char_ngrams
        self._sizes = range(0) if sizes is None else ngram_sizes(sizes)
        self._has_model = vocabulary is not None
        self._vocabulary = vocabulary or Vocabulary.of([])
        self._selected = b"" if selected is None else selected.tobytes()
        self._analysed = lru_cache(MOST_REMEMBERED)(self._words_of)

    @classmethod
    def of_model(cls, model: FittedModel) -> WordWalker:
        """Return the walker that finds the ids of a model's terms, and marks terms that the model does not know or did not select."""
        return cls(model.analysis, model.statistics.vocabulary, model.learnt.selected)

    def tokens(self, text: bytes, fields: Fields = (), values: Sequence[str] = ()) -> Iterator[Token]:
        """Yield the tokens of a document in valid UTF-8, in order: text, fields, values of attributes."""
        parts, text = _parts_of(text, fields), shown(text, fields)
        lines = self._encoded(text, parts)
        walked = [
            (match.start() + begin, match.start() + end, part, of_span)
            for part, pattern in self._patterns(text, parts)
            for match in pattern.finditer(text, part.begin, part.end)
            for begin, end, of_span in self._tokens_of(part.prefix, match.group(), encoded=_holds(lines, match.start()))
        ]
        ngrams = self._ngrams([(word, end, part) for _, end, part, of_span in walked for word in of_span if word.term is not None])
        for begin, end, part, of_span in walked:
            kind = "feature" if self._counted else "item" if part.prefix == _AS_IT_STANDS else "word"
            form = text[begin:end].decode()
            for word, term, term_id, dropped, pieces in of_span:
                joined = () if term is None else next(ngrams)
                yield Token(kind, begin, end, form, word, term, term_id, dropped, joined, tuple(Term(*piece, end) for piece in pieces))
        yield from self._values(values)

    def _tokens_of(self, prefix: str, form: bytes, *, encoded: bool) -> list[tuple[int, int, tuple[_Word, ...]]]:
        """Return where the tokens of a surface form stand in it, and their words."""
        if encoded:
            return [(0, len(form), (_Word(form.decode().casefold(), None, None, ENCODED_LINE),))]
        return [
            (*span, of_span)
            for piece in self._pieces(prefix, form)
            for span, of_span in zip(piece.spans, self._walked(prefix, form, piece), strict=True)
        ]

    def locate(self, text: bytes, fields: Fields = (), *, pairs: bool = False) -> LocatedWords:
        """Return the words of a text in valid UTF-8 and of its fields as arrays, by their places in what is shown; needs a model.

        Beyond ASCII a surface form may hold several words with signs between them; each of them is a word of its own here. Encoded lines
        have no words. A run of a script without spaces is one word, whose absence leaves the others as they are; with ``pairs`` each of its pairs
        is a word, which stands where its first character stands, the last pair where both stand.
        """
        parts, text = _parts_of(text, fields), shown(text, fields)
        begins, ends, part_of, form_of, forms = self._located_forms(text, parts, pairs=pairs)
        owners, (terms,) = _gathered([form.own for form in forms], form_of)
        shares = np.ones(terms.size)
        if self._order > 1:
            of_terms = part_of.take(owners)
            firsts, sizes = self._within(of_terms)
            terms, owners = np.repeat(self._with_ngrams(terms, of_terms), sizes), owners.take(flat_indices(firsts, sizes))
            shares = np.repeat(1 / sizes, sizes)
        if any(form.char_ngrams for form in forms):
            in_pieces, (pieces,) = _gathered([form.char_ngrams for form in forms], form_of)
            terms, owners = np.concatenate((terms, pieces)), np.concatenate((owners, in_pieces))
            shares = np.concatenate((shares, np.ones(pieces.size)))
        located = LocatedWords(begins, ends, forms, form_of, owners, terms, shares)
        shares *= located.counts.take(owners)
        return located

    def _located_forms(self, text: bytes, parts: Sequence[_Part], *, pairs: bool) -> tuple[Whole, Whole, Whole, Whole, list[LocatedForm]]:
        """Return where each word begins and ends, its part and the number of its form, shapes (n_words,), and the forms."""
        begins, surface_of, distinct = self._surfaces(text, parts)
        located = (self._located(*surface, pairs=pairs) for surface in distinct)
        forms = dict[LocatedForm, int]()
        rows = [
            list(chain.from_iterable((begin, end, forms.setdefault(form, len(forms))) for begin, end, form in words)) for words in located
        ]
        surfaces, (first, last, form_of) = _gathered(rows, surface_of, 3)
        begins = begins.take(surfaces)
        first += begins
        last += begins
        part_of = np.searchsorted(np.array([part.begin for part in parts]), begins, side="right")
        return first, last, part_of, form_of, list(forms)

    def _within(self, part_of: Whole) -> tuple[Whole, Whole]:
        """Return the first term and the size of each 1- to N-gram of a sequence of terms inside their parts, in the order of `with_ngrams`."""
        firsts, sizes = np.repeat(np.arange(part_of.size), self._order), np.tile(np.arange(1, self._order + 1), part_of.size)
        within = np.append(part_of, -1).take(firsts + sizes - 1, mode="clip") == part_of.take(firsts)
        return firsts[within], sizes[within]

    def _surfaces(self, document: bytes, parts: Sequence[_Part]) -> tuple[Whole, Whole, list[tuple[str, bytes]]]:
        """Return where the surface forms begin outside encoded lines, and the number of each, shape (n_forms,); and the distinct ones with their prefixes.

        Those of a long part have their letters in lower case.
        """
        lines = self._encoded(document, parts)
        begins, numbers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        number_of = defaultdict[str, defaultdict[bytes, int]](partial(defaultdict, count().__next__))
        for part, pattern in self._patterns(document, parts):
            number = number_of[part.prefix].__getitem__
            if pattern is SURFACE and part.end - part.begin > LONG_PART:
                found = [_forms_of_long(document, *bounds, lines, number) for bounds in _cut(document, part)]
            else:
                found = [_forms_of_short(pattern.finditer(document, part.begin, part.end), lines, number)]
            begins += [places for places, _ in found]
            numbers += [here for _, here in found]
        distinct = {number: (prefix, form) for prefix, forms in number_of.items() for form, number in forms.items()}
        return np.concatenate(begins), np.concatenate(numbers), [distinct[number] for number in range(len(distinct))]

    def _located(self, prefix: str, form: bytes, *, pairs: bool) -> list[tuple[int, int, LocatedForm]]:
        """Return where the words of a surface form stand in it, and what they are."""
        found: list[tuple[int, int, LocatedForm]] = []
        for piece in self._pieces(prefix, form):
            if piece.is_run and pairs:
                bounds = [*(first for first, _ in piece.spans), piece.end]
                of_spans = zip(bounds, bounds[1:], piece.spans, self._walked(prefix, form, piece), strict=False)
                found += [(begin, end, self._form(prefix, form[slice(*span)], of_span)) for begin, end, span, of_span in of_spans]
                continue
            for part in [piece] if piece.is_run or self._counted or prefix == _AS_IT_STANDS else _parts(form, piece):
                of_part = [word for of_span in self._walked(prefix, form, part) for word in of_span]
                found.append((part.begin, part.end, self._form(prefix, form[part.begin : part.end], of_part)))
        return found

    def _form(self, prefix: str, written: bytes, of_form: Sequence[_Word]) -> LocatedForm:
        name, count = of_form[0].word, 1
        if self._counted:
            count = name_and_count(written)[1]
        else:
            name = _in_part(prefix, written.decode(), written.decode().casefold())
        own = _ids(word.term_id for word in of_form if word.term is not None)
        return LocatedForm(name, count, own, _ids(term_id for word in of_form for _, term_id, _ in word.char_ngrams), _note(of_form))

    def _encoded(self, document: bytes, parts: Sequence[_Part]) -> tuple[list[int], list[int]]:
        """Return where the encoded lines of a document's text begin, and 0 and where they end."""
        lines = encoded_lines([document[: parts[0].end]]).get(0, []) if self._drops_lines else []
        return [begin for begin, _ in lines], [0, *(end for _, end in lines)]

    def _patterns(self, document: bytes, parts: Sequence[_Part]) -> Iterator[tuple[_Part, re.Pattern[bytes]]]:
        """Yield the parts of a document, each with the pattern of its surface forms."""
        parts = [_Part(0, len(document), pattern=_FEATURE)] if self._counted else parts
        has_sides = bool(self._sides) and unspaced_runs(document) is not None
        for part in parts:
            yield part, FORM_BETWEEN_STOPS if has_sides and part.pattern is SURFACE else part.pattern

    def _pieces(self, prefix: str, form: bytes) -> list[_Piece]:
        """Return a surface form in pieces, runs of scripts without spaces apart from what stands beside them.

        Of a form that holds a run may count its pairs, its words, or both: then the words belong to the first run.
        """
        runs = None if prefix == _AS_IT_STANDS or form.isascii() else unspaced_runs(form)
        found = [_Piece(0, len(form), [(0, len(form))])] if runs is None or not self._pairs else _with_runs(form, runs.runs, runs.pairs)
        if runs is None or not self._sides:
            return found
        found = [piece._replace(side=PAIRS if self._pairs else WORDS) for piece in found]
        if self._pairs and WORDS in self._sides:
            first = next(place for place, piece in enumerate(found) if piece.is_run)
            found[first] = found[first]._replace(with_whole=True)
        return found

    def _walked(self, prefix: str, form: bytes, piece: _Piece) -> list[tuple[_Word, ...]]:
        """Return the words of each span of a piece; the character n-grams of a run, or the words beside its pairs, belong to its first word."""
        found = [self._analysed(prefix, form[begin:end], piece.side) for begin, end in piece.spans]
        beside: list[tuple[str, int | None, str | None]] = []
        if piece.with_whole:
            of_whole = self._analysed(prefix, form, WORDS)
            beside = [(word.term, word.term_id, word.dropped) for word in of_whole if word.term is not None]
        elif piece.is_run and not prefix:
            kept = [word for word in words(form[piece.begin : piece.end].decode(), unspaced=True) if word not in self._stop_words[None]]
            beside = self._looked_up([gram for word in kept for gram in char_ngrams(word, self._sizes)])
        if beside:
            found[0] = (found[0][0]._replace(char_ngrams=tuple(beside)), *found[0][1:])
        return found

    def _words_of(self, prefix: str, form: bytes, side: str | None) -> tuple[_Word, ...]:
        """Return the words of a surface form, given with the prefix of its part and its side: at least one, with the reason if it is dropped."""
        as_it_stands, found = self._counted or prefix == _AS_IT_STANDS, []
        text = (name_and_count(form)[0] if self._counted else form).decode()
        for word in [text] if as_it_stands else candidates(text) or [""]:
            dropped = None if as_it_stands else self._dropped(word, side)
            if dropped is not None:
                found.append(_Word(word and prefix + word, None, None, dropped))
                continue
            grams = [] if prefix or (self._pairs and is_unspaced(text)) else char_ngrams(word, self._sizes)
            term, *pieces = self._looked_up([_in_part(prefix, word, self._stem[side]([word])[0]), *grams])
            found.append(_Word(_in_part(prefix, word, word), *term, tuple(pieces)))
        return tuple(found)

    def _dropped(self, word: str, side: str | None) -> str | None:
        if not word:
            return NO_LETTERS
        if not is_word(word, unspaced=side == PAIRS if self._sides else self._pairs):
            return TOO_SHORT if len(word) < MIN_CHARACTERS else TOO_LONG
        return STOP_WORD if word in self._stop_words[side] else None

    def _looked_up(self, terms: list[str]) -> list[tuple[str, int | None, str | None]]:
        """Return single terms, each with its id in the model and the reason if it does not count."""
        ids = self._vocabulary.find(terms)
        return [(displayed_term(term), *self._status(term_id)) for term, term_id in zip(terms, ids, strict=True)]

    def _status(self, term_id: int) -> tuple[int | None, str | None]:
        if not self._has_model:
            return None, None
        if term_id == UNKNOWN:
            return None, NOT_IN_MODEL
        return term_id, None if self._selected[term_id] else NOT_SELECTED

    def _with_ngrams(self, terms: Whole, parts: Whole) -> Whole:
        """Return the ids of the 1- to N-grams of a sequence of terms inside their parts, those that begin with one term together."""
        return with_ngrams(TermSequence(parts, terms), self._order, self._vocabulary.find_pairs).terms

    def _ngrams(self, kept: Sequence[tuple[_Word, int, _Part]]) -> Iterator[tuple[Term, ...]]:
        """Yield for each word that became a term, given with its end and its part, the 2- to N-grams that begin with it."""
        parts = np.array([part.begin for *_, part in kept], np.int64)
        ids = iter(self._with_ngrams(np.array(_ids(word.term_id for word, *_ in kept), np.int64), parts).tolist())
        for place, (*_, own) in enumerate(kept):
            here = [(word, end) for word, end, part in kept[place : place + self._order] if part is own]
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
                yield Token("category", None, None, value, "", term, term_id, dropped if term_id is None else None)


def _parts_of(text: bytes, fields: Fields) -> list[_Part]:
    """Return the parts of what is shown of a document: first its text, then its fields, an item each of those without a name."""
    parts = [_Part(0, len(text))]
    for (name, content), begin in zip(fields, field_places(text, fields), strict=True):
        if name:
            parts.append(_Part(begin, begin + len(content), f"{name.decode()}:"))
        else:
            parts += [
                _Part(begin + first, begin + last, _AS_IT_STANDS, _ITEM) for first, last in map(re.Match.span, _ITEM.finditer(content))
            ]
    return parts


def _forms_of_short(matches: Iterable[re.Match[bytes]], lines: _Lines, number: Callable[[bytes], int]) -> tuple[Whole, Whole]:
    """Return where the surface forms of a part begin outside encoded lines, and their numbers, shapes (n_forms,)."""
    found = [match for match in matches if not _holds(lines, match.start())]
    begins = np.fromiter(map(re.Match.start, found), np.int64, len(found))
    return begins, np.fromiter(map(number, map(re.Match.group, found)), np.int64, len(found))


def _cut(document: bytes, part: _Part) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces of a part, of about `BYTES_AT_ONCE` bytes, that end where no surface form goes on."""
    begin = part.begin
    while begin < part.end:
        end = min(begin + BYTES_AT_ONCE, part.end)
        rest = SURFACE.match(document, end, part.end)
        yield begin, (end := rest.end() if rest else end)
        begin = end


def _forms_of_long(document: bytes, begin: int, end: int, lines: _Lines, number: Callable[[bytes], int]) -> tuple[Whole, Whole]:
    """Return the same of a piece of a part whose forms are those of the kernel."""
    surfaces, table = find_surfaces([document[begin:end]], single_bytes=True), SurfaceTable()
    begins = surfaces.starts + (begin - len(BETWEEN))
    if lines[0]:
        places = np.searchsorted(lines[0], begins, side="right")
        outside = np.flatnonzero(begins >= np.array(lines[1]).take(places))
        begins = begins.take(outside)
        surfaces = surfaces._replace(starts=surfaces.starts.take(outside), lengths=surfaces.lengths.take(outside))
    ids = table.intern(surfaces).astype(np.int64)
    long = np.flatnonzero(ids == LONG_FORM)
    ids[long] = table.limit + np.arange(long.size)
    first = np.empty(table.limit + long.size, np.int64)  # read only where it was written
    first[ids[::-1]] = np.arange(ids.size)[::-1]
    firsts = np.flatnonzero(first.take(ids) == np.arange(ids.size))
    number_of = first
    number_of[ids.take(firsts)] = [number(form.encode()) for form in surfaces.forms(firsts)]
    return begins, number_of.take(ids)


def _in_part(prefix: str, word: str, term: str) -> str:
    """Return the term of a word in a part: an item as it stands, any other with the prefix of the part."""
    return word if prefix == _AS_IT_STANDS else prefix + term


def _ids(term_ids: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(UNKNOWN if term_id is None else term_id for term_id in term_ids)


def _gathered(rows: Sequence[Sequence[int]], row_of: Whole, width: int = 1) -> tuple[Whole, list[Whole]]:
    """Return for the items of one row after the other, chosen by ``row_of``, the place of the row there, and the columns of the items."""
    sizes = np.array([len(row) for row in rows], np.int64) // width
    columns = np.array(list(chain.from_iterable(rows)), np.int64).reshape(-1, width).T
    here = sizes.take(row_of)
    places = flat_indices(offsets(sizes).take(row_of), here)
    return np.repeat(np.arange(row_of.size), here), [column.take(places) for column in columns]


def _holds(lines: _Lines, place: int) -> bool:
    """Return whether a place is in one of some lines, given as their begins and, after 0, their ends."""
    begins, ends = lines
    return place < ends[bisect_right(begins, place)]


def _note(of_form: Sequence[_Word]) -> str | None:
    """Return why no word of a form counts by itself, None if one does."""
    reasons = [word.dropped for word in of_form if word.term is not None] or [of_form[0].dropped]
    return None if None in reasons else NOT_SELECTED if NOT_SELECTED in reasons else reasons[0]


def _with_runs(form: bytes, runs: tuple[Whole, Whole], pairs: tuple[Whole, Whole]) -> list[_Piece]:
    """Return the runs of scripts without spaces in a surface form, with their pairs, and what stands between them."""
    found: list[_Piece] = []
    done, spans = 0, iter(zip(*(side.tolist() for side in pairs), strict=True))
    n_pairs = np.diff(np.searchsorted(pairs[0], runs[0]), append=pairs[0].size)
    for first, last, n in zip(*(side.tolist() for side in runs), n_pairs.tolist(), strict=True):
        if done < first:
            found.append(_Piece(done, first, [(done, first)]))
        found.append(_Piece(first, last, list(islice(spans, n)), is_run=True))
        done = last
    return [*found, _Piece(done, len(form), [(done, len(form))])] if done < len(form) else found


def _parts(form: bytes, piece: _Piece) -> list[_Piece]:
    """Return where the words of a piece of a surface form stand in it, without the signs around them.

    If the parts taken by themselves are other words, as normalising the whole may make them, the piece is one part.
    """
    written = form[piece.begin : piece.end]
    if written.isalnum():
        return [piece]
    decoded = written.decode()
    found = [match.span() for match in _PART.finditer("".join(map(_kind, decoded)))]
    if [word for begin, end in found for word in words(decoded[begin:end], unspaced=True)] != words(decoded, unspaced=True):
        return [piece]
    bounds = list(accumulate((len(character.encode()) for character in decoded), initial=piece.begin))
    spans = [(bounds[begin], bounds[end]) for begin, end in found]
    return [_Piece(*span, [span], side=piece.side) for span in spans]


def _kind(character: str) -> str:
    kind = unicode_category(character)
    return "w" if kind[0] in "LMN" else "i" if character in _APOSTROPHES or kind == "Cf" else " "
