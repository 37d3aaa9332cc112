"""Turn documents into sequences of term ids, for `nbtext.counts.counting`.

A surface form, the bytes of a word as written, is analysed once, when it first occurs. Later
occurrences are array look-ups. Analysing a text takes many times its size in memory, so documents
are analysed in blocks (`nbtext.ragged`), and long documents in pieces.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import GrowingRows, TextBlock, compute_flat_indices
from nbtext.text.hashing import group_keys
from nbtext.text.surface_forms import (
    FORM_SEPARATOR,
    LONG_FORM_ID,
    WORDS,
    SurfaceTable,
    find_surfaces,
    find_texts_with_runs,
)
from nbtext.text.words import MAX_WORD_BYTES, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from nbtext.text.surface_forms import Surfaces
    from nbtext.type_names import AnyArray, Ids, Ints, Mask

    FindTerms = Callable[[list[str]], Sequence[int] | Ints]
    """Returns the ids of terms."""
    StemWords = Callable[[list[str]], list[str]]
    """Returns the stems of words."""

UNKNOWN_TERM = -1
"""Id of all terms that are not in the vocabulary."""

# An analyzer stores a code for each surface form. A code ≥ `UNKNOWN_TERM` is the id of the form's
# only term. The other codes are:
_NO_TERM = -2
"""The form has no terms."""
_NEW = -3
"""The form is not analysed yet."""
_FIRST_ROW_CODE = -4
"""The form has several terms, in row 0 of `Analyzer._term_rows`. The code of row r is less by r."""

_PLAIN_BYTE, _SEPARATOR_BYTE, _OTHER_BYTE = range(3)
"""Kinds of bytes: ASCII letters and digits, `FORM_SEPARATOR`, and all other bytes."""


def _get_byte_kind(byte: int) -> int:
    if byte == ord(FORM_SEPARATOR):
        return _SEPARATOR_BYTE
    return _PLAIN_BYTE if bytes((byte,)).isalnum() else _OTHER_BYTE


_BYTE_KINDS = bytes(map(_get_byte_kind, range(256)))
"""Table for `bytes.translate`: the kind of each byte."""

MAX_PIECE_BYTES = 1 << 21
"""Longer documents are cut into pieces of about this size."""

_INITIAL_CODES = 1 << 13
"""Number of surface forms for which an analyzer has room at first."""


@cache
def _compile_kana_and_han() -> re.Pattern[str]:
    """Return the pattern of forms in kana and Han, which need no further analysis.

    It is compiled when the first such form may occur, because that takes a millisecond.
    """
    return re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]+")


def keep_words(words: list[str]) -> list[str]:
    """Return words without stemming them."""
    return words


class TermSequence(NamedTuple):
    """The terms of a block of documents in order, without stop words."""

    documents: AnyArray
    """For each token, the index of its document in the block, shape (n_tokens,)."""
    terms: AnyArray
    """Term id of each token, or `UNKNOWN_TERM`, shape (n_tokens,)."""


class Analyzer:
    """Turns texts into the ids of their terms: stemmed words without stop words.

    The terms of a field start with the name of the field. ``unspaced`` is `PAIRS`, `RUNS` or
    `WORDS`, and determines how runs of scripts without spaces are split. If ``has_run`` is True,
    only forms that contain such a run are analysed; if False, only forms without a run; if None,
    all forms.
    """

    def __init__(
        self,
        stop_words: Collection[str],
        stem: StemWords,
        find_terms: FindTerms,
        unspaced: str = WORDS,
        *,
        has_run: bool | None = None,
    ) -> None:
        self._unspaced = unspaced
        self._has_run = has_run
        self._stop_words = frozenset(stop_words)
        self.stem = stem
        self._find_terms = find_terms
        self._table = SurfaceTable()
        self._codes = np.full(_INITIAL_CODES, _NEW, np.int32)
        # All long forms share this id, so `analyse` replaces the code of each occurrence.
        self._codes[LONG_FORM_ID] = _NO_TERM
        self._term_rows = GrowingRows()
        # Numbers of fields by name. The look-up of a new name adds the next number.
        self._field_numbers: defaultdict[bytes, int] = defaultdict()
        self._field_numbers.default_factory = self._field_numbers.__len__

    @property
    def n_forms(self) -> int:
        """About the number of surface forms that are kept in memory, at most twice as large."""
        return self._table.id_limit

    def analyse(self, texts: Sequence[bytes], names: Sequence[bytes] | None = None) -> TermSequence:
        """Return the terms of texts in valid UTF-8.

        With ``names``, each text is the content of the field of that name.
        """
        surfaces = self._find_surfaces(texts)
        form_ids = self._table.intern(surfaces)
        form_fields = None
        if names is not None:
            numbers = map(self._field_numbers.__getitem__, names)
            text_fields = np.fromiter(numbers, np.int64, len(names))
            form_fields = text_fields.take(surfaces.documents)
            form_ids = self._table.intern_in_fields(form_ids, form_fields)
        codes = self._look_up_codes(surfaces, form_ids, form_fields)

        n_rows = len(self._term_rows)
        long_positions = np.flatnonzero(form_ids == LONG_FORM_ID)
        if long_positions.size:
            codes[long_positions] = self._analyse_forms(surfaces, long_positions, form_fields)
        sequence = self._expand_terms(surfaces.documents, codes)
        self._term_rows.truncate(n_rows)  # the rows of long forms are not used again
        return sequence

    def _look_up_codes(self, surfaces: Surfaces, form_ids: Ids, form_fields: Ints | None) -> Ids:
        """Return the code of each form, and analyse and store new forms."""
        id_limit = self._table.id_limit
        if id_limit > self._codes.size:
            n_added = 2 * id_limit - self._codes.size  # to twice the size that is needed now
            self._codes = np.append(self._codes, np.full(n_added, _NEW, np.int32))
        codes = self._codes.take(form_ids)
        new_positions = np.flatnonzero(codes == _NEW)
        if new_positions.size:
            new_ids = form_ids.take(new_positions)
            occurrences, _ = group_keys(new_ids)  # the index of one occurrence of each new form
            positions = new_positions.take(occurrences)
            new_codes = self._analyse_forms(surfaces, positions, form_fields)
            self._codes[new_ids.take(occurrences)] = new_codes
            codes[new_positions] = self._codes.take(new_ids)
        return codes

    def _find_surfaces(self, texts: Sequence[bytes]) -> Surfaces:
        if self._has_run:
            # usually few texts have runs, so only these texts are split
            indices = find_texts_with_runs(texts)
            texts = [texts[index] for index in indices.tolist()]
            surfaces = find_surfaces(texts, self._unspaced, has_run=True)
            return surfaces._replace(documents=indices.take(surfaces.documents))
        return find_surfaces(texts, self._unspaced, has_run=self._has_run)

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the terms of surface forms in order, and their number in each form."""
        words, n_words = self.extract_words(forms)
        return self.stem(words), n_words

    def extract_words(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the words of surface forms without stop words, and their number in each form.

        Most forms are words and are copied, stretch by stretch. All other forms are replaced by
        their words.
        """
        stop_words = self._stop_words
        splits_runs = self._unspaced != WORDS
        words: list[str] = []
        n_words = np.ones(len(forms), np.int64)  # 1 for a copied form
        start = 0  # of the stretch to copy next
        for index in np.flatnonzero(~self._mask_words(forms)).tolist():
            form = forms[index]
            may_be_word = splits_runs and not form.isascii() and form not in stop_words
            if may_be_word and _compile_kana_and_han().fullmatch(form):
                continue  # the form is a word, so the stretch continues
            form_words = [
                word for word in split_words(form, unspaced=splits_runs) if word not in stop_words
            ]
            words += forms[start:index]
            words += form_words
            n_words[index] = len(form_words)
            start = index + 1
        return words + forms[start:], n_words.tolist()

    def _mask_words(self, forms: list[str]) -> Mask:
        """Return a mask of the forms of ASCII letters and digits that are words without stop words.

        All steps are on whole arrays, because a step for each form would take long.
        """
        if not forms:
            return np.empty(0, np.bool_)
        joined = (FORM_SEPARATOR.join(forms) + FORM_SEPARATOR).encode()
        kinds = np.frombuffer(joined.translate(_BYTE_KINDS), np.uint8)
        ends = np.flatnonzero(kinds == _SEPARATOR_BYTE)
        sizes = np.diff(ends, prepend=-1) - 1  # without the separators
        is_word = sizes <= MAX_WORD_BYTES
        other_bytes = np.flatnonzero(kinds == _OTHER_BYTE)
        forms_with_other_bytes = np.searchsorted(ends, other_bytes)
        is_word[forms_with_other_bytes] = False
        if not self._stop_words.isdisjoint(forms):
            contains = map(self._stop_words.__contains__, forms)
            is_stop_word = np.fromiter(contains, np.bool_, len(forms))
            is_word &= ~is_stop_word
        return is_word

    def _analyse_forms(self, surfaces: Surfaces, positions: Ints, form_fields: Ints | None) -> Ids:
        """Return the codes of the forms at some positions, and store their rows of terms."""
        terms, n_terms_by_form = self.extract_terms(surfaces.decode_forms(positions))
        if form_fields is not None:
            prefixes = [f"{name.decode()}:" for name in self._field_numbers]  # by field number
            term_fields = np.repeat(form_fields.take(positions), n_terms_by_form).tolist()
            terms = [prefixes[field] + term for field, term in zip(term_fields, terms, strict=True)]
        term_ids = np.asarray(self._find_terms(terms), np.int64)
        n_terms = np.array(n_terms_by_form, np.int64)
        starts = np.cumsum(n_terms) - n_terms
        codes = np.full(n_terms.size, _NO_TERM, np.int32)
        has_one_term = n_terms == 1
        codes[has_one_term] = term_ids[starts[has_one_term]]

        # forms with several terms
        has_row = n_terms > 1
        row_sizes = n_terms[has_row]
        rows = len(self._term_rows) + np.arange(row_sizes.size)
        codes[has_row] = _FIRST_ROW_CODE - rows
        elements = term_ids[compute_flat_indices(starts[has_row], row_sizes)]
        self._term_rows.append(elements, row_sizes)
        return codes

    def _expand_terms(self, documents: Ids, codes: Ids) -> TermSequence:
        """Return the terms of forms, given the document and the code of each form."""
        if (codes >= UNKNOWN_TERM).all():
            return TermSequence(documents, codes)  # each form has one term
        row_positions = np.flatnonzero(codes <= _FIRST_ROW_CODE)
        if row_positions.size:
            rows = _FIRST_ROW_CODE - codes.take(row_positions).astype(np.int64)
            # insert the terms of each row before the code of the row, which is dropped below
            positions = np.repeat(row_positions, self._term_rows.take_sizes(rows))
            documents = np.insert(documents, positions, documents.take(positions))
            codes = np.insert(codes, positions, self._term_rows.take(rows))
        term_positions = np.flatnonzero(codes >= UNKNOWN_TERM)
        return TermSequence(documents.take(term_positions), codes.take(term_positions))


class TextPiece(NamedTuple):
    """Consecutive documents, or a piece of one document."""

    first_document: int
    """Index of the first document."""
    texts: Sequence[bytes]
    continues: bool = False
    """True if the next piece is of the same document."""


def split_texts(texts: Sequence[bytes], separator: re.Pattern[bytes]) -> Iterator[TextPiece]:
    """Yield all documents in order. Without documents, yield one empty piece.

    After `MAX_PIECE_BYTES`, a long document is cut before the next match of ``separator``, which
    matches only bytes that are not part of a token.
    """
    block = TextBlock.from_texts(texts)
    first = 0
    for index in np.flatnonzero(block.sizes > MAX_PIECE_BYTES).tolist():
        if first < index:
            yield TextPiece(first, block[first:index])
        text = block[index]
        start = 0
        while start < len(text):
            cut = separator.search(text, start + MAX_PIECE_BYTES)
            end = cut.start() if cut else len(text)
            yield TextPiece(index, [text[start:end]], continues=end < len(text))
            start = end
        first = index + 1
    if first < len(block) or not block:
        yield TextPiece(first, block[first:])


class InflectedWords(Analyzer):
    """Turns texts into the words that differ from their stems, without stop words."""

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the inflected words of surface forms in order, and their number in each form."""
        words, sizes = self.extract_words(forms)
        word_stems = zip(words, self.stem(words), strict=True)
        inflected_words = []
        n_inflected = []
        for size in sizes:
            # `islice` takes the words of one form from the iterator
            form_words = [word for word, stem in islice(word_stems, size) if word != stem]
            inflected_words += form_words
            n_inflected.append(len(form_words))
        return inflected_words, n_inflected


class ItemAnalyzer(Analyzer):
    """Turns items that are separated by spaces into terms without changes."""

    def __init__(self, find_terms: FindTerms) -> None:
        super().__init__(stop_words=(), stem=keep_words, find_terms=find_terms)

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the items unchanged; each item is one term."""
        return forms, [1] * len(forms)

    def _find_surfaces(self, texts: Sequence[bytes]) -> Surfaces:
        return find_surfaces(texts, are_items=True)
