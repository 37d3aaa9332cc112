"""The words of a document: where each stands, the terms and n-grams it becomes, and why it is dropped.

Counting (`nbtext.counts.counting`) works on whole arrays and keeps the counts only. `WordWalker` analyses the same text one surface form after
the other and keeps everything; a property test holds both equal. `nbtext tokens` prints its tokens; explain, why-not and excerpts take its words
as arrays.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, repeat
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category as unicode_category

import numpy as np

from nbtext.counts.counting import Analysis, name_and_count
from nbtext.counts.vocabulary import Vocabulary, category_term, displayed_term
from nbtext.document_parts import Attributes, field_places, shown
from nbtext.ragged import flat_indices
from nbtext.text.analyzer import UNKNOWN, TermSequence
from nbtext.text.encoded_lines import encoded_lines
from nbtext.text.ngrams import char_ngrams, ngram_sizes, with_ngrams
from nbtext.text.surfaces import FORM_BETWEEN_STOPS, PAIRS, SURFACE, WORDS
from nbtext.text.unspaced import is_unspaced, unspaced_runs
from nbtext.text.words import MIN_CHARACTERS, candidates, is_word, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.fitted.fitted_model import FittedModel
    from nbtext.type_names import Fields, Floats, Mask, Whole

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


class LocatedWords(NamedTuple):
    """The words of a text in order, and the occurrences of terms that they form."""

    begins: Whole
    """The byte at which each word begins, shape (n_words,)."""
    ends: Whole
    """The byte after its end, shape (n_words,)."""
    names: list[str]
    """Each word case-folded, with the name of its field in front: words of the same name are occurrences of one surface word."""
    counts: Whole
    """Occurrences of the word at its place: one, or the count of a counted feature; shape (n_words,)."""
    own: list[list[int]]
    """Ids of the terms that each word becomes by itself, `UNKNOWN` for terms not in the vocabulary."""
    notes: list[str | None]
    """Why a word by itself does not count; None if it does."""
    words: Whole
    """The word of each part of an occurrence of a term, shape (n_parts,)."""
    terms: Whole
    """The term, `UNKNOWN` for one not in the vocabulary, shape (n_parts,)."""
    shares: Floats
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


class _Part(NamedTuple):
    """The text of a document, a field of words or an item; no n-gram crosses its bounds."""

    begin: int
    end: int
    prefix: str = ""
    """Before the terms of a field, its name and a colon; `_AS_IT_STANDS` for an item."""
    pattern: re.Pattern[bytes] = SURFACE
    """The pattern of its surface forms."""


class _Surface(NamedTuple):
    """Where a surface form stands, or a run of a script without spaces, and where its forms stand: itself, or the pairs of the run."""

    begin: int
    end: int
    forms: list[tuple[int, int]]
    part: _Part
    is_run: bool = False
    encoded: bool = False
    """It stands in an encoded line, which is dropped."""
    side: str | None = None
    """The one of `SIDES` whose terms it has."""
    whole: tuple[int, int] | None = None
    """Where the form stands whose words belong to this part of it, if pairs and words are counted side by side."""


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
        self._vocabulary = vocabulary
        self._selected = b"" if selected is None else selected.tobytes()
        self._analysed = lru_cache(MOST_REMEMBERED)(self._words_of)

    @classmethod
    def of_model(cls, model: FittedModel) -> WordWalker:
        """Return the walker that finds the ids of a model's terms, and marks terms that the model does not know or did not select."""
        return cls(model.analysis, model.statistics.vocabulary, model.learnt.selected)

    def tokens(self, text: bytes, fields: Fields = (), values: Sequence[str] = ()) -> Iterator[Token]:
        """Yield the tokens of a document in valid UTF-8, in order: text, fields, values of attributes."""
        parts, text = _parts_of(text, fields), shown(text, fields)
        walked = [
            (*span, surface.part, of_form)
            for surface in self._surfaces(text, parts)
            for span, of_form in zip(surface.forms, self._walked(text, surface), strict=True)
        ]
        ngrams = self._ngrams([(word, end, part) for _, end, part, of_form in walked for word in of_form if word.term is not None])
        for begin, end, part, of_form in walked:
            kind = "feature" if self._counted else "item" if part.prefix == _AS_IT_STANDS else "word"
            form = text[begin:end].decode()
            for word, term, term_id, dropped, pieces in of_form:
                joined = () if term is None else next(ngrams)
                yield Token(kind, begin, end, form, word, term, term_id, dropped, joined, tuple(Term(*piece, end) for piece in pieces))
        yield from self._values(values)

    def locate(self, text: bytes, fields: Fields = (), *, pairs: bool = False) -> LocatedWords:
        """Return the words of a text in valid UTF-8 and of its fields as arrays, by their places in what is shown; needs a model.

        Beyond ASCII a surface form may hold several words with signs between them; each of them is a word of its own here. Encoded lines
        have no words. A run of a script without spaces is one word, whose absence leaves the others as they are; with ``pairs`` each of its pairs
        is a word, which stands where its first character stands, the last pair where both stand.
        """
        of_document, text = _parts_of(text, fields), shown(text, fields)
        surfaces = [surface for surface in self._surfaces(text, of_document) if not surface.encoded]
        if not self._counted:
            surfaces = [part for surface in surfaces for part in ([surface] if surface.is_run else _parts(text, surface))]
        located: list[tuple[int, int, bytes, _Part, tuple[_Word, ...]]] = []
        for surface in surfaces:
            begin, end, forms, part, is_run, *_ = surface
            of_forms = self._walked(text, surface)
            if is_run and pairs:
                bounds = [*(first for first, _ in forms), end]
                names = [text[first:last] for first, last in forms]
                located += zip(bounds, bounds[1:], names, repeat(part), of_forms, strict=False)
            else:
                located.append((begin, end, text[begin:end], part, tuple(word for words in of_forms for word in words)))
        kept = [(place, part, word) for place, (*_, part, words) in enumerate(located) for word in words if word.term is not None]
        owners, terms = np.array([place for place, *_ in kept], np.int64), _ids([word.term_id for *_, word in kept])
        parts = np.array([part.begin for _, part, _ in kept], np.int64)
        pieces = [(place, term_id) for place, (*_, words) in enumerate(located) for word in words for _, term_id, _ in word.char_ngrams]
        firsts, sizes = np.repeat(np.arange(terms.size), self._order), np.tile(np.arange(1, self._order + 1), terms.size)
        lasts = firsts + sizes - 1
        within = np.append(parts, -1).take(lasts, mode="clip") == parts.take(firsts)  # in the order of `with_ngrams`
        firsts, sizes = firsts[within], sizes[within]
        of_words = np.concatenate((owners[flat_indices(firsts, sizes)], np.array([place for place, _ in pieces], np.int64)))
        counts = np.array([name_and_count(form)[1] if self._counted else 1 for _, _, form, *_ in located], np.int64)
        return LocatedWords(
            np.array([begin for begin, *_ in located], np.int64),
            np.array([end for _, end, *_ in located], np.int64),
            [words[0].word if self._counted else _name(part, form) for _, _, form, part, words in located],
            counts,
            [[UNKNOWN if word.term_id is None else word.term_id for word in words if word.term is not None] for *_, words in located],
            [_note(words) for *_, words in located],
            of_words,
            np.concatenate((np.repeat(self._with_ngrams(terms, parts), sizes), _ids([term_id for _, term_id in pieces]))),
            np.concatenate((np.repeat(1 / sizes, sizes), np.ones(len(pieces)))) * counts[of_words],
        )

    def _surfaces(self, document: bytes, parts: Sequence[_Part]) -> list[_Surface]:
        """Return the surface forms of a document, runs of scripts without spaces apart from what stands beside them."""
        parts = [_Part(0, len(document), pattern=_FEATURE)] if self._counted else parts
        lines = encoded_lines([document[: parts[0].end]]).get(0, []) if self._drops_lines else []
        begins, ends = [begin for begin, _ in lines], [0, *(end for _, end in lines)]
        found: list[_Surface] = []
        has_sides = bool(self._sides) and unspaced_runs(document) is not None
        for part in parts:
            pattern = FORM_BETWEEN_STOPS if has_sides and part.pattern is SURFACE else part.pattern
            for match in pattern.finditer(document, part.begin, part.end):
                begin, end = match.span()
                if part is parts[0] and begin < ends[bisect_right(begins, begin)]:
                    found.append(_Surface(begin, end, [(begin, end)], part, encoded=True))
                elif part.prefix == _AS_IT_STANDS or match.group().isascii():
                    found.append(_Surface(begin, end, [(begin, end)], part))
                elif has_sides and unspaced_runs(match.group()) is not None:
                    found += self._with_sides(document, begin, end, part)
                else:
                    found += _with_runs(document, begin, end, part) if self._pairs else [_Surface(begin, end, [(begin, end)], part)]
        return found

    def _with_sides(self, document: bytes, begin: int, end: int, part: _Part) -> list[_Surface]:
        """Return a form that holds a run as what is counted of it: its pairs, its words, or both, the words with the first run."""
        if not self._pairs:
            return [_Surface(begin, end, [(begin, end)], part, side=WORDS)]
        found = [surface._replace(side=PAIRS) for surface in _with_runs(document, begin, end, part)]
        if WORDS in self._sides:
            first = next(place for place, surface in enumerate(found) if surface.is_run)
            found[first] = found[first]._replace(whole=(begin, end))
        return found

    def _walked(self, text: bytes, surface: _Surface) -> list[tuple[_Word, ...]]:
        """Return the words of each form of a surface; the character n-grams of a run, or the words beside its pairs, belong to its first word."""
        prefix = surface.part.prefix
        if surface.encoded:
            return [(_Word(text[surface.begin : surface.end].decode().casefold(), None, None, ENCODED_LINE),)]
        found = [self._analysed(prefix, text[begin:end], surface.side) for begin, end in surface.forms]
        pieces: list[tuple[str, int | None, str | None]] = []
        if surface.whole:
            of_whole = self._analysed(prefix, text[slice(*surface.whole)], WORDS)
            pieces = [(word.term, word.term_id, word.dropped) for word in of_whole if word.term is not None]
        elif surface.is_run and not prefix:
            kept = [word for word in words(text[surface.begin : surface.end].decode(), unspaced=True) if word not in self._stop_words[None]]
            pieces = self._looked_up([gram for word in kept for gram in char_ngrams(word, self._sizes)])
        if pieces:
            found[0] = (found[0][0]._replace(char_ngrams=tuple(pieces)), *found[0][1:])
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
        ids = [UNKNOWN] * len(terms) if self._vocabulary is None else self._vocabulary.find(terms)
        return [(displayed_term(term), *self._status(term_id)) for term, term_id in zip(terms, ids, strict=True)]

    def _status(self, term_id: int) -> tuple[int | None, str | None]:
        if self._vocabulary is None:
            return None, None
        if term_id == UNKNOWN:
            return None, NOT_IN_MODEL
        return term_id, None if self._selected[term_id] else NOT_SELECTED

    def _with_ngrams(self, terms: Whole, parts: Whole) -> Whole:
        """Return the ids of the 1- to N-grams of a sequence of terms inside their parts, those that begin with one term together."""
        find_pairs = _no_pairs if self._vocabulary is None else self._vocabulary.find_pairs
        return with_ngrams(TermSequence(parts, terms), self._order, find_pairs).terms

    def _ngrams(self, kept: Sequence[tuple[_Word, int, _Part]]) -> Iterator[tuple[Term, ...]]:
        """Yield for each word that became a term, given with its end and its part, the 2- to N-grams that begin with it."""
        parts = np.array([part.begin for *_, part in kept], np.int64)
        ids = iter(self._with_ngrams(_ids([word.term_id for word, *_ in kept]), parts).tolist())
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


def _in_part(prefix: str, word: str, term: str) -> str:
    """Return the term of a word in a part: an item as it stands, any other with the prefix of the part."""
    return word if prefix == _AS_IT_STANDS else prefix + term


def _name(part: _Part, form: bytes) -> str:
    return _in_part(part.prefix, form.decode(), form.decode().casefold())


def _ids(term_ids: Sequence[int | None]) -> Whole:
    return np.array([UNKNOWN if term_id is None else term_id for term_id in term_ids], np.int64)


def _no_pairs(left: Whole, _: Whole) -> Whole:
    return np.full(left.size, UNKNOWN, np.int64)


def _note(of_form: Sequence[_Word]) -> str | None:
    """Return why no word of a form counts by itself, None if one does."""
    reasons = [word.dropped for word in of_form if word.term is not None] or [of_form[0].dropped]
    return None if None in reasons else NOT_SELECTED if NOT_SELECTED in reasons else reasons[0]


def _with_runs(text: bytes, begin: int, end: int, part: _Part) -> list[_Surface]:
    """Return the runs of scripts without spaces in a surface form, and what stands between them."""
    runs = unspaced_runs(text[begin:end])
    if runs is None:
        return [_Surface(begin, end, [(begin, end)], part)]
    found: list[_Surface] = []
    done, pairs = begin, iter(zip(*((begin + side).tolist() for side in runs.pairs), strict=True))
    n_pairs = np.diff(np.searchsorted(runs.pairs[0], runs.runs[0]), append=runs.pairs[0].size)
    for first, last, n in zip(*((begin + side).tolist() for side in runs.runs), n_pairs.tolist(), strict=True):
        if done < first:
            found.append(_Surface(done, first, [(done, first)], part))
        found.append(_Surface(first, last, list(islice(pairs, n)), part, is_run=True))
        done = last
    return [*found, _Surface(done, end, [(done, end)], part)] if done < end else found


def _parts(text: bytes, surface: _Surface) -> list[_Surface]:
    """Return where the words of a surface form stand in it, without the signs around them.

    If the parts taken by themselves are other words, as normalising the whole may make them, the form is one part.
    """
    form = text[surface.begin : surface.end]
    if form.isalnum() or surface.part.prefix == _AS_IT_STANDS:
        return [surface]
    decoded = form.decode()
    pieces = [match.span() for match in _PART.finditer("".join(map(_kind, decoded)))]
    if [word for begin, end in pieces for word in words(decoded[begin:end], unspaced=True)] != words(decoded, unspaced=True):
        return [surface]
    bounds = list(accumulate((len(character.encode()) for character in decoded), initial=surface.begin))
    spans = [(bounds[begin], bounds[end]) for begin, end in pieces]
    return [_Surface(*span, [span], surface.part, side=surface.side) for span in spans]


def _kind(character: str) -> str:
    kind = unicode_category(character)
    return "w" if kind[0] in "LMN" else "i" if character in _APOSTROPHES or kind == "Cf" else " "
