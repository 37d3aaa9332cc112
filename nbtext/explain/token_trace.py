"""The words of a document: their positions, their terms and n-grams, and why words are dropped.

Counting (`nbtext.counts.counting`) works on whole arrays and keeps only counts. `TokenTracer`
analyses the same text one surface form at a time and keeps all details. A property test checks that
the terms and counts agree. `nbtext tokens` prints the tokens. Explanations and excerpts use the
words as arrays (`LocatedWords`).

A document has *segments*: the text, fields with words, and *items*, the words of fields without
name. A surface form is a word as written. It is split into *pieces* at the ends of *runs* of a
script without spaces, such as Chinese. A *segmentation* divides runs into `PAIRS` or `WORDS`.
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
from nbtext.text.words import (
    MIN_WORD_CHARS,
    WORD_CATEGORIES,
    is_word,
    split_candidates,
    split_words,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.fitted_model import FittedModel
    from nbtext.text.surface_forms import UnspacedRuns
    from nbtext.type_names import AnyArray, Fields, Floats, Ids, Ints, Mask

# Why a word does not count.
NO_LETTERS = "no-letters-or-digits"
TOO_SHORT = "too-short"
TOO_LONG = "too-long"
ENCODED_LINE = "encoded-line"
STOP_WORD = "stop-word"
NOT_IN_MODEL = "not-in-model"
"""No training document contains the term."""
NOT_SELECTED = "not-selected"
"""Training did not select the term, for example because of --top or --min-df."""
MISSING = "missing"
"""The document has no value for an attribute."""

MAX_CACHED_FORMS = 2**18
"""Number of surface forms whose words are cached, so that most forms are analysed once."""

SEARCH_BLOCK_BYTES = 2**17
"""Bytes of a text in which surface forms are searched at once. A form takes about 100 bytes."""

_SPACE = re.compile(rb"[ \n]")
"""A character that no surface form contains, where a text can be divided into blocks."""

_FEATURE = re.compile(rb"\S+")
"""A counted feature, ``name:count``."""

_ITEM = re.compile(rb"[^ ]+")
"""An item of a field without a name."""

_ITEM_PREFIX = "\x1c"
"""Marks a segment as an item. It is not the prefix of terms: terms of items have no prefix."""

_APOSTROPHES = "'\u2019\uff07"
_WORD_PATTERN = re.compile("w(?:[wi]*w)?")
"""A word as classes of its characters (`_classify_character`). It does not start or end with i."""


@dataclass(frozen=True, slots=True)
class NgramTerm:
    """An n-gram or character n-gram of a document: a `_TermStatus` with an end."""

    term: str
    term_id: int | None
    """The id in the model. None if the model does not have the term, or without a model."""
    dropped: str | None
    """Why the term does not count, or None."""
    end: int
    """Byte offset in the document of the end of its last word."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a surface form without a word, an item, a counted feature, or an attribute's value.

    The fields are keys of the JSON output.
    """

    kind: str
    """``word``, ``item``, ``feature``, ``category`` or ``number``."""
    start: int | None
    end: int | None
    """Byte offsets of the surface form. Fields follow the text as lines. None for attributes."""
    form: str
    """As written in the text."""
    word: str
    """Normalised and case-folded. Words of fields have the name of the field as prefix."""
    term: str | None
    """The stem, or None if the word has none."""
    term_id: int | None
    dropped: str | None
    """Why the term does not count, or None."""
    ngrams: tuple[NgramTerm, ...] = ()
    """The n-grams that start with this word."""
    char_ngrams: tuple[NgramTerm, ...] = ()


class LocatedForm(NamedTuple):
    """A word as written in the text or in a field, with all that is the same at its positions."""

    name: str
    """Case-folded, with the prefix of its field. Forms with the same name are one surface word."""
    n_occurrences: int
    """Occurrences at each position: 1, or the count of a counted feature."""
    term_ids: tuple[int, ...]
    """Ids of its terms without n-grams of several words. An id may be `UNKNOWN_TERM`."""
    char_ngram_ids: tuple[int, ...]
    """Ids of its character n-grams. An id may be `UNKNOWN_TERM`."""
    drop_reason: str | None
    """Why the word itself does not count, or None."""


class LocatedWords(NamedTuple):
    """The words of a document in order, and the term occurrences that they form.

    An occurrence of an n-gram of n words has n *entries*, one for each word.
    """

    starts: Ints
    """Byte offset of the start of each word, shape (n_words,)."""
    ends: Ints
    """Byte offset of the end of each word, shape (n_words,)."""
    segment_indices: Ints
    """Number, from 1, of the segment that contains each word, shape (n_words,)."""
    forms: list[LocatedForm]
    """The distinct forms, in the order of first occurrence."""
    form_indices: Ids
    """Index of each word's form, shape (n_words,)."""
    word_indices: Ints
    """The word of each entry, shape (n_entries,)."""
    term_ids: AnyArray
    """The term of each entry, or `UNKNOWN_TERM`. Integers, shape (n_entries,)."""
    weights: Floats
    """Weight of each entry, shape (n_entries,): 1/n for an n-gram, times the count of a feature.

    The weights of a term sum to its number of occurrences.
    """

    def group_surface_words(self) -> tuple[list[str], Ints]:
        """Return the distinct surface words, and the index of each word among them.

        Surface words are in the order of first occurrence. The indices have shape (n_words,).
        """
        indices: dict[str, int] = {}
        name_indices = [indices.setdefault(form.name, len(indices)) for form in self.forms]
        return list(indices), np.array(name_indices, np.int64)[self.form_indices]

    @property
    def word_counts(self) -> Ints:
        """Occurrences of each word at its position, shape (n_words,)."""
        form_counts = np.array([form.n_occurrences for form in self.forms], np.int64)
        return form_counts[self.form_indices]

    def count_occurrences(self, names: Iterable[str]) -> dict[str, int]:
        """Return how often the surface words in ``names`` occur."""
        all_names, name_indices = self.group_surface_words()
        counts = np.bincount(name_indices, self.word_counts).astype(np.int64).tolist()
        counts_by_name = dict(zip(all_names, counts, strict=True))
        return {name: counts_by_name[name] for name in names}

    def to_matrix(self, empty_document: DocumentTermMatrix) -> DocumentTermMatrix:
        """Return the counts of a document with these words, shape (1, n_terms).

        ``empty_document`` has the counts and values of its attributes, without text.
        """
        term_ids, term_indices = np.unique(self.term_ids, return_inverse=True)
        counts = np.rint(np.bincount(term_indices, self.weights)).astype(np.int64)
        is_known = term_ids != UNKNOWN_TERM
        terms = np.concatenate((term_ids[is_known], empty_document.terms))
        return empty_document._replace(
            offsets=np.array([0, terms.size]),
            terms=terms,
            counts=np.concatenate((counts[is_known], empty_document.counts)),
        )


class _TermStatus(NamedTuple):
    """A term of a document, its id, and whether it counts."""

    term: str
    term_id: int | None
    """The id in the model. None if the model does not have the term, or without a model."""
    drop_reason: str | None
    """Why the term does not count, or None."""


class _Word(NamedTuple):
    """One analysed word of a surface form."""

    word: str
    """Case-folded, with the prefix of its segment. Empty if the form has no letters or digits."""
    # The next three fields are those of `_TermStatus`.
    term: str | None
    """None if the word has no term."""
    term_id: int | None
    drop_reason: str | None
    char_ngrams: tuple[_TermStatus, ...] = ()


class _Segment(NamedTuple):
    """The text of a document, a field with words, or an item. No n-gram crosses its bounds."""

    start: int
    end: int
    pattern: re.Pattern[bytes]
    """The pattern of its surface forms."""
    prefix: str = ""
    """Prefix of its terms: name of the field and a colon. `_ITEM_PREFIX` for an item."""


class _Span(NamedTuple):
    """A pair of characters of a run, or a whole piece, and the words that it was analysed as.

    Offsets are bytes in the surface form or, from `TokenTracer._iter_spans`, in the document.
    """

    start: int
    end: int
    words: list[_Word]


class _Piece(NamedTuple):
    """A run of a surface form, or the part between runs, or the whole form.

    Offsets are bytes in the surface form.
    """

    start: int
    end: int
    is_run: bool
    segmentation: str | None
    """`PAIRS` or `WORDS` if both are counted and the form has a run, else None."""
    spans: list[_Span]


class TokenTracer:
    """Analysis of single documents with all details, with ids of a vocabulary if there is one."""

    def __init__(
        self,
        analysis: Analysis,
        vocabulary: Vocabulary | None = None,
        is_selected: Mask | None = None,
    ) -> None:
        """Prepare the steps of an analysis.

        Without a ``vocabulary``, tokens have no ids and all terms count. With a vocabulary,
        ``is_selected``, shape (n_terms,), is the mask of the terms that count.
        """
        settings = analysis.settings
        self._attributes = Attributes.from_settings(settings.reading)
        self._is_counted = settings.reading.is_counted
        """True if texts are features with counts."""
        self._segmentations = analysis.segmentations if settings.counts_pairs_and_words else ()
        """`PAIRS` and `WORDS`, if runs of scripts without spaces are counted as both."""
        self._splits_pairs = False
        """True if runs of scripts without spaces are divided into pairs of characters."""
        if not self._is_counted:
            self._splits_pairs = settings.unspaced != WORDS
            if self._segmentations:
                self._splits_pairs = PAIRS in self._segmentations
        self._drops_encoded_lines = settings.encoded_lines == "drop" and not self._is_counted
        stop_list = frozenset(analysis.stop_list)
        self._stop_words: dict[str | None, frozenset[str]] = dict.fromkeys(
            self._segmentations, stop_list
        )
        """Stop words by `_Piece.segmentation`."""
        self._stop_words[None] = frozenset(analysis.dropped_words)
        segmentations = () if self._is_counted else self._stop_words
        self._stemmers = {
            segmentation: analysis.build_stemmer(segmentation) for segmentation in segmentations
        }
        self._max_ngram = 1 if self._is_counted else settings.ngrams
        self._char_ngram_sizes = range(0)
        if settings.char_ngrams is not None and not self._is_counted:
            self._char_ngram_sizes = parse_ngram_sizes(settings.char_ngrams)
        self._has_model = vocabulary is not None
        self._vocabulary = Vocabulary.from_terms([]) if vocabulary is None else vocabulary
        # Single items of bytes are accessed faster than items of an array.
        self._is_selected = b"" if is_selected is None else is_selected.tobytes()
        self._get_pieces = lru_cache(MAX_CACHED_FORMS)(self._split_form)
        self._get_form_words = lru_cache(MAX_CACHED_FORMS)(self._locate_form_words)

    @classmethod
    def from_model(cls, model: FittedModel) -> TokenTracer:
        """Return a tracer with the ids and the selected terms of a model."""
        return cls(model.analysis, model.statistics.vocabulary, model.parameters.selected_terms)

    def trace_tokens(
        self, text: bytes, fields: Fields = (), values: Sequence[str] = ()
    ) -> Iterator[Token]:
        """Yield the tokens of a document in order: text, fields, attribute values.

        Texts are valid UTF-8.
        """
        document, segments, readable = self._split_document(text, fields)
        segment_spans = [
            (segment, span)
            for segment in segments
            for span in self._iter_spans(document, segment, readable)
        ]
        term_words = [
            (word, span.end, segment)
            for segment, span in segment_spans
            for word in span.words
            if word.term is not None
        ]
        ngrams = self._iter_ngrams(term_words)  # consumed in the order of ``term_words``
        for segment, span in segment_spans:
            kind = "word"
            if self._is_counted:
                kind = "feature"
            elif segment.prefix == _ITEM_PREFIX:
                kind = "item"
            form = document[span.start : span.end].decode()
            for word in span.words:
                yield Token(
                    kind=kind,
                    start=span.start,
                    end=span.end,
                    form=form,
                    word=word.word,
                    term=word.term,
                    term_id=word.term_id,
                    dropped=word.drop_reason,
                    ngrams=() if word.term is None else next(ngrams),
                    char_ngrams=tuple(NgramTerm(*status, span.end) for status in word.char_ngrams),
                )
        yield from self._trace_values(values)

    def _iter_spans(self, document: bytes, segment: _Segment, readable: bytes) -> Iterator[_Span]:
        """Yield the spans of a segment, with offsets in the document.

        ``readable`` is the document with zeros in encoded lines, whose forms are dropped.
        """
        for match in segment.pattern.finditer(document, segment.start, segment.end):
            form = match.group()
            offset = match.start()
            if not readable[offset]:
                word = _Word(
                    form.decode().casefold(), term=None, term_id=None, drop_reason=ENCODED_LINE
                )
                yield _Span(offset, match.end(), [word])
                continue
            for piece in self._get_pieces(segment.prefix, form):
                for span in piece.spans:
                    yield _Span(offset + span.start, offset + span.end, span.words)

    def locate_words(
        self, text: bytes, fields: Fields = (), *, splits_pairs: bool = False
    ) -> LocatedWords:
        """Return the words of a text and its fields, in valid UTF-8, as arrays. Needs a model.

        A surface form with characters beyond ASCII may contain signs, which separate words. Encoded
        lines have no words. A run of a script without spaces is one word, so that its removal does
        not change other words. With ``splits_pairs``, each pair of characters is a word at the
        position of its first character. The last pair is at the positions of both characters.
        """
        _, segments, readable = self._split_document(text, fields)
        return self._add_terms(self._locate_forms(readable, segments, splits_pairs=splits_pairs))

    def clear_words(self, words: LocatedWords, names: Collection[str]) -> LocatedWords:
        """Return the words, without the terms of the surface words in ``names``.

        The words on both sides of a cleared word form new n-grams.
        """
        forms = [
            form._replace(term_ids=(), char_ngram_ids=()) if form.name in names else form
            for form in words.forms
        ]
        return self._add_terms(words._replace(forms=forms))

    def _add_terms(self, located: LocatedWords) -> LocatedWords:
        """Return the words with entries for the terms of their forms, without earlier entries."""
        forms = located.forms
        words, (term_ids,) = _gather_rows([form.term_ids for form in forms], located.form_indices)
        weights = np.ones(term_ids.size)
        if self._max_ngram > 1:
            segments = located.segment_indices.take(words)
            positions, term_ids, weights = self._expand_ngrams(term_ids, segments)
            words = words.take(positions)
        if any(form.char_ngram_ids for form in forms):
            ngram_words, (char_ngram_ids,) = _gather_rows(
                [form.char_ngram_ids for form in forms], located.form_indices
            )
            words = np.concatenate((words, ngram_words))
            term_ids = np.concatenate((term_ids, char_ngram_ids))
            weights = np.concatenate((weights, np.ones(char_ngram_ids.size)))
        weights *= located.word_counts.take(words)
        return located._replace(word_indices=words, term_ids=term_ids, weights=weights)

    def _expand_ngrams(self, term_ids: Ints, segments: Ints) -> tuple[Ints, Ints, Floats]:
        """Return the entries of the 1- to N-grams of terms, an entry for each term of an n-gram.

        ``segments`` are the segments of the terms, shape (n_terms,). Return three arrays of shape
        (n_entries,): the position of the entry's term in ``term_ids``, the id of the n-gram, and
        the weight 1/n.
        """
        # Candidates are all first terms with all sizes, in the order of `add_ngrams`.
        firsts = np.repeat(np.arange(term_ids.size), self._max_ngram)
        sizes = np.tile(np.arange(1, self._max_ngram + 1), term_ids.size)
        lasts = firsts + sizes - 1
        # A position after the last term finds −1, which is no segment.
        last_segments = np.append(segments, -1).take(lasts, mode="clip")
        is_inside = last_segments == segments.take(firsts)
        firsts = firsts[is_inside]
        sizes = sizes[is_inside]
        ngram_ids = self._find_ngram_ids(term_ids, segments)
        positions = compute_flat_indices(firsts, sizes)
        return positions, np.repeat(ngram_ids, sizes), np.repeat(1 / sizes, sizes)

    def _locate_forms(
        self, document: bytes, segments: Sequence[_Segment], *, splits_pairs: bool
    ) -> LocatedWords:
        """Return all words, without entries."""
        offsets = [np.empty(0, np.int64)]
        surface_indices = [np.empty(0, np.int64)]
        # The index of each surface form, by prefix. A missing form gets the next number of a
        # counter that all prefixes share.
        indices_by_prefix = defaultdict[str, defaultdict[bytes, int]](
            partial(defaultdict, count().__next__)
        )
        for segment in segments:
            get_index = indices_by_prefix[segment.prefix].__getitem__
            for start, texts in _split_into_blocks(document, segment):
                sizes = np.fromiter(map(len, texts), np.int64, len(texts))
                # Forms have odd indices. Each form starts at the end of the text before.
                offsets.append(start + np.cumsum(sizes)[:-1:2])
                surface_indices.append(np.fromiter(map(get_index, texts[1::2]), np.int64))
        sorted_surfaces = sorted(
            (index, prefix, surface)
            for prefix, indices in indices_by_prefix.items()
            for surface, index in indices.items()
        )
        forms = dict[LocatedForm, int]()
        rows = []  # of each surface form: start, end and form index of each word
        for _, prefix, surface in sorted_surfaces:
            row: list[int] = []
            for start, end, form in self._get_form_words(prefix, surface, splits_pairs):
                form_index = forms.setdefault(form, len(forms))
                row += (start, end, form_index)
            rows.append(row)
        surface_positions, (starts, ends, form_indices) = _gather_rows(
            rows, np.concatenate(surface_indices), width=3
        )
        surface_offsets = np.concatenate(offsets).take(surface_positions)
        segment_starts = np.array([segment.start for segment in segments])
        return LocatedWords(
            starts=starts + surface_offsets,
            ends=ends + surface_offsets,
            segment_indices=np.searchsorted(segment_starts, surface_offsets, side="right"),
            forms=list(forms),
            form_indices=form_indices,
            word_indices=np.empty(0, np.int64),
            term_ids=np.empty(0, np.int64),
            weights=np.empty(0),
        )

    def _locate_form_words(
        self,
        prefix: str,
        form: bytes,
        splits_pairs: bool,  # noqa: FBT001 - the cache needs positional arguments
    ) -> list[tuple[int, int, LocatedForm]]:
        """Return start, end and form of each word of a surface form."""
        if form.isalnum():  # most forms are a single word, of ASCII characters
            words = self._analyse_words(prefix, form, segmentation=None)
            return [(0, len(form), self._create_form(prefix, form, words))]
        located = []
        for piece in self._split_form(prefix, form):
            if piece.is_run and splits_pairs:
                # Pairs overlap, but their words do not: a word ends at the start of the next pair.
                ends = [*(span.start for span in piece.spans[1:]), piece.end]
                for span, end in zip(piece.spans, ends, strict=True):
                    pair = self._create_form(prefix, form[span.start : span.end], span.words)
                    located.append((span.start, end, pair))
                continue
            bounds = [(piece.start, piece.end)]
            if not piece.is_run and not self._is_counted and prefix != _ITEM_PREFIX:
                bounds = _find_word_bounds(form, piece.start, piece.end)
            for start, end in bounds:
                written = form[start:end]
                if (start, end) == (piece.start, piece.end):
                    words = [word for span in piece.spans for word in span.words]
                else:
                    words = self._analyse_words(prefix, written, piece.segmentation)
                located.append((start, end, self._create_form(prefix, written, words)))
        return located

    def _create_form(self, prefix: str, written: bytes, words: Sequence[_Word]) -> LocatedForm:
        """Return the form of a word as written, which was analysed as ``words``."""
        n_occurrences = 1
        if self._is_counted:
            name = words[0].word
            _, n_occurrences = split_name_and_count(written)
        elif prefix == _ITEM_PREFIX:
            name = written.decode()
        else:
            name = prefix + written.decode().casefold()
        term_words = [word for word in words if word.term is not None]
        drop_reason = words[0].drop_reason
        if term_words:
            drop_reason = term_words[0].drop_reason
            reasons = [word.drop_reason for word in term_words]
            if None in reasons:  # the form counts if any of its words counts
                drop_reason = None
            elif NOT_SELECTED in reasons:
                drop_reason = NOT_SELECTED
        char_ngram_ids = _to_ids(ngram.term_id for word in words for ngram in word.char_ngrams)
        term_ids = _to_ids(word.term_id for word in term_words)
        return LocatedForm(name, n_occurrences, term_ids, char_ngram_ids, drop_reason)

    def _split_document(self, text: bytes, fields: Fields) -> tuple[bytes, list[_Segment], bytes]:
        """Return the document as it is shown, its segments, and its readable bytes.

        The readable bytes are the document with zeros instead of encoded lines.
        """
        document = render_document(text, fields)
        if self._is_counted:
            return document, [_Segment(0, len(document), _FEATURE)], document
        pattern = SURFACE_FORM
        if self._segmentations and find_unspaced_runs(document) is not None:
            pattern = STOP_DELIMITED_FORM
        segments = [_Segment(0, len(text), pattern)]
        for (name, content), start in zip(fields, iter_content_offsets(text, fields), strict=True):
            if name:
                end = start + len(content)
                segments.append(_Segment(start, end, pattern, f"{name.decode()}:"))
                continue
            segments.extend(
                _Segment(start + item.start(), start + item.end(), _ITEM, _ITEM_PREFIX)
                for item in _ITEM.finditer(content)
            )
        encoded_lines = None
        if self._drops_encoded_lines:
            encoded_lines = find_encoded_lines([text]).get(0)  # of the only text
        if not encoded_lines:
            return document, segments, document
        readable = bytearray(document)
        for start, end in encoded_lines:
            readable[start:end] = bytes(end - start)
        return document, segments, bytes(readable)

    def _split_form(self, prefix: str, form: bytes) -> list[_Piece]:
        """Split a surface form at the bounds of its runs of scripts without spaces.

        If both pairs and words are counted, the words of the form belong to the first word of the
        first run. The character n-grams of a run belong to the first word of the run.
        """
        runs = None
        if prefix != _ITEM_PREFIX and not form.isascii():
            runs = find_unspaced_runs(form)
        segmentation = None
        if runs is not None and self._segmentations:
            segmentation = PAIRS if self._splits_pairs else WORDS
        extra_terms: list[_TermStatus] = []  # they are added to the next run
        if segmentation == PAIRS and WORDS in self._segmentations:
            extra_terms = [
                _TermStatus(word.term, word.term_id, word.drop_reason)
                for word in self._analyse_words(prefix, form, WORDS)
                if word.term is not None
            ]
        no_pairs: list[tuple[int, int]] = []
        piece_bounds = [(0, len(form), no_pairs)]
        if runs is not None and self._splits_pairs:
            piece_bounds = _split_at_runs(form, runs)
        pieces = []
        for start, end, pairs in piece_bounds:
            is_run = bool(pairs)
            spans = [
                _Span(first, last, self._analyse_words(prefix, form[first:last], segmentation))
                for first, last in pairs or [(start, end)]
            ]
            # Character n-grams are never counted together with words and pairs, or in fields.
            if is_run and self._char_ngram_sizes and not prefix:
                extra_terms = self._find_run_char_ngrams(form[start:end])
            if is_run and extra_terms:
                first_words = spans[0].words  # changed in place
                first_words[0] = first_words[0]._replace(char_ngrams=tuple(extra_terms))
                extra_terms = []
            pieces.append(_Piece(start, end, is_run, segmentation, spans))
        return pieces

    def _find_run_char_ngrams(self, run: bytes) -> list[_TermStatus]:
        """Return the character n-grams of a run of a script without spaces."""
        words = split_words(run.decode(), unspaced=True)
        counted_words = [word for word in words if word not in self._stop_words[None]]
        return self._look_up(
            [
                ngram
                for word in counted_words
                for ngram in make_char_ngrams(word, self._char_ngram_sizes)
            ]
        )

    def _analyse_words(self, prefix: str, form: bytes, segmentation: str | None) -> list[_Word]:
        """Return the words of a surface form: at least one, with the reason if it is dropped."""
        written = form
        if self._is_counted:
            written, _ = split_name_and_count(form)
        text = written.decode()
        # Features and items are terms as they are written, without prefix.
        is_unchanged = self._is_counted or prefix == _ITEM_PREFIX
        if is_unchanged:
            [status] = self._look_up([text])
            return [_Word(text, *status)]
        has_char_ngrams = not prefix and not (self._splits_pairs and is_unspaced(text))
        words = []
        for word in split_candidates(text) or [""]:
            drop_reason = self._find_drop_reason(word, segmentation)
            if drop_reason is not None:
                name = prefix + word if word else ""
                words.append(_Word(name, term=None, term_id=None, drop_reason=drop_reason))
                continue
            [stem] = self._stemmers[segmentation]([word])
            terms = [prefix + stem]
            if has_char_ngrams:
                terms += make_char_ngrams(word, self._char_ngram_sizes)
            status, *char_ngrams = self._look_up(terms)
            words.append(_Word(prefix + word, *status, tuple(char_ngrams)))
        return words

    def _find_drop_reason(self, word: str, segmentation: str | None) -> str | None:
        """Return why a word is dropped before its term is looked up, or None."""
        if not word:
            return NO_LETTERS
        allows_pairs = self._splits_pairs
        if self._segmentations:
            allows_pairs = segmentation == PAIRS
        if not is_word(word, unspaced=allows_pairs):
            return TOO_SHORT if len(word) < MIN_WORD_CHARS else TOO_LONG
        return STOP_WORD if word in self._stop_words[segmentation] else None

    def _look_up(self, terms: list[str]) -> list[_TermStatus]:
        """Return the status of each term, which is no n-gram of several words."""
        ids = self._vocabulary.find(terms)
        return [
            _TermStatus(display_term(term), *self._get_status(term_id))
            for term, term_id in zip(terms, ids, strict=True)
        ]

    def _get_status(self, term_id: int) -> tuple[int | None, str | None]:
        """Return ``term_id`` and ``drop_reason`` of the `_TermStatus` of a term."""
        if not self._has_model:
            return None, None
        if term_id == UNKNOWN_TERM:
            return None, NOT_IN_MODEL
        if not self._is_selected[term_id]:
            return term_id, NOT_SELECTED
        return term_id, None

    def _find_ngram_ids(self, term_ids: Ints, segments: Ints) -> Ints:
        """Return the ids of the 1- to N-grams of a sequence of terms, grouped by their first term.

        ``segments`` are the segments of the terms, whose bounds no n-gram crosses.
        """
        sequence = TermSequence(segments, term_ids)
        return add_ngrams(sequence, self._max_ngram, self._vocabulary.find_pairs).terms

    def _iter_ngrams(
        self, term_words: Sequence[tuple[_Word, int, _Segment]]
    ) -> Iterator[tuple[NgramTerm, ...]]:
        """Yield for each term the 2- to N-grams that start with it.

        ``term_words`` are words that became terms, each with the end of its span and its segment.
        """
        segments = np.array([segment.start for _, _, segment in term_words], np.int64)
        term_ids = np.array(_to_ids(word.term_id for word, _, _ in term_words), np.int64)
        ids = iter(self._find_ngram_ids(term_ids, segments).tolist())
        for index, (_, _, own_segment) in enumerate(term_words):
            next(ids)  # the id of the term itself
            following = [
                (word.term or "", end)
                for word, end, segment in term_words[index : index + self._max_ngram]
                if segment is own_segment
            ]
            ngrams = []
            for n in range(2, len(following) + 1):
                term = " ".join(single_term for single_term, _ in following[:n])
                _, end = following[n - 1]
                ngrams.append(NgramTerm(term, *self._get_status(next(ids)), end))
            yield tuple(ngrams)

    def _trace_values(self, values: Sequence[str]) -> Iterator[Token]:
        """Yield the tokens of attribute values: first the categories, then the numbers."""
        n_categorical = len(self._attributes.categorical)
        # By default, a document has no values.
        for index, (name, value) in enumerate(zip(self._attributes.names, values, strict=False)):
            is_category = index < n_categorical
            kind = "category" if is_category else "number"
            term = None if is_category else name
            term_id: int | None = None
            drop_reason = None if value else MISSING
            if is_category and value:
                [(term, term_id, drop_reason)] = self._look_up([make_category_term(name, value)])
                # Only terms of texts are selected: a category that the model knows counts.
                if term_id is not None:
                    drop_reason = None
            yield Token(
                kind,
                start=None,
                end=None,
                form=value,
                word="",
                term=term,
                term_id=term_id,
                dropped=drop_reason,
            )


def _split_into_blocks(document: bytes, segment: _Segment) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the start and the texts of each block of a segment.

    Texts at odd indices are surface forms, texts at even indices the bytes between them. The bytes
    are in lower case, except in features and items.
    """
    split = re.compile(b"(%b)" % segment.pattern.pattern).split
    keeps_case = segment.pattern in (_FEATURE, _ITEM)
    start = segment.start
    while start < segment.end:
        space = _SPACE.search(document, start + SEARCH_BLOCK_BYTES, segment.end)
        end = space.start() if space else segment.end
        block = document[start:end]
        yield start, split(block if keeps_case else block.lower())
        start = end


def _to_ids(term_ids: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(UNKNOWN_TERM if term_id is None else term_id for term_id in term_ids)


def _gather_rows(
    rows: Sequence[Sequence[int]], row_indices: AnyArray, width: int = 1
) -> tuple[Ints, list[AnyArray]]:
    """Concatenate the rows that ``row_indices``, shape (n,), select, possibly more than once.

    A row has any number of items, each of ``width`` numbers. Return the position in ``row_indices``
    of the row of each item, and the ``width`` numbers of each item as columns, all of shape
    (n_items,).
    """
    row_sizes = np.array([len(row) for row in rows], np.int64) // width
    columns = np.array(list(chain.from_iterable(rows)), np.int32).reshape(-1, width).T
    sizes = row_sizes.take(row_indices)
    starts = compute_offsets(row_sizes).take(row_indices)
    items = compute_flat_indices(starts, sizes)
    positions = np.repeat(np.arange(row_indices.size), sizes)
    return positions, [column.take(items) for column in columns]


def _split_at_runs(form: bytes, runs: UnspacedRuns) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Split a surface form at the bounds of its runs of scripts without spaces.

    Return start and end of each piece, and the bounds of its pairs, which only a run has.
    """
    starts, ends = runs.run_bounds
    pairs = np.stack(runs.pair_bounds, axis=1)  # (n_pairs, 2)
    first_pairs = np.searchsorted(pairs[:, 0], starts)
    run_pairs = np.split(pairs, first_pairs)[1:]  # no pair precedes the first run
    pairs_by_start = {
        start: pairs_of_run.tolist()
        for start, pairs_of_run in zip(starts.tolist(), run_pairs, strict=True)
    }
    bounds = sorted({0, len(form), *starts.tolist(), *ends.tolist()})
    return [(start, end, pairs_by_start.get(start, [])) for start, end in pairwise(bounds)]


def _find_word_bounds(form: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """Return start and end of the words of a piece, without the signs between words.

    Normalisation can join or change adjacent words. If the words of the piece are not the words of
    its parts, return the bounds of the whole piece.
    """
    text = form[start:end].decode()
    classes = "".join(map(_classify_character, text))
    spans = [match.span() for match in _WORD_PATTERN.finditer(classes)]  # in characters
    words = []
    for first, last in spans:
        words += split_words(text[first:last], unspaced=True)
    if words != split_words(text, unspaced=True):
        return [(start, end)]
    sizes = (len(character.encode()) for character in text)
    byte_offsets = list(accumulate(sizes, initial=start))
    return [(byte_offsets[first], byte_offsets[last]) for first, last in spans]


def _classify_character(character: str) -> str:
    """Return w for letters, marks and numbers, i for characters inside words, else a blank."""
    category = unicode_category(character)
    if category.startswith(WORD_CATEGORIES):
        return "w"
    if character in _APOSTROPHES or category == "Cf":
        return "i"
    return " "
