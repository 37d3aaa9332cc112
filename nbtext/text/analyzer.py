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
_FIRST_ROW = -4
"""The form has several terms, in row ``_FIRST_ROW - code`` of `Analyzer._term_rows`."""

_IS_PLAIN, _IS_SEPARATOR, _IS_NOT_PLAIN = range(3)
"""Kinds of bytes: ASCII letters and digits, `FORM_SEPARATOR`, and all other bytes."""


def _get_byte_kind(byte: int) -> int:
    if byte == ord(FORM_SEPARATOR):
        return _IS_SEPARATOR
    return _IS_PLAIN if bytes((byte,)).isalnum() else _IS_NOT_PLAIN


_BYTE_KINDS = bytes(map(_get_byte_kind, range(256)))
"""Table for `bytes.translate`: the kind of each byte."""

MAX_PIECE_BYTES = 1 << 21
"""Longer documents are cut into pieces of about this size."""


@cache
def _compile_kana_and_han() -> re.Pattern[str]:
    """Return the pattern of forms in kana and Han, which need no further analysis.

    It is compiled when the first such form may occur, because that takes a millisecond.
    """
    return re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]+")


class TermSequence(NamedTuple):
    """The terms of a block of documents in order, without stop words."""

    documents: AnyArray
    """Index in the block of the document of each token, shape (n_tokens,)."""
    terms: AnyArray
    """Term id of each token, or `UNKNOWN_TERM`, shape (n_tokens,)."""


class Analyzer:
    """Turns texts into the ids of their terms: stemmed words without stop words.

    The terms of a field start with the name of the field. The parameters ``unspaced`` and
    ``has_run`` are as in `find_surfaces`.
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
        self._codes = np.full(1 << 13, _NEW, np.int32)
        self._codes[LONG_FORM_ID] = _NO_TERM  # until `analyse` analyses each occurrence
        self._term_rows = GrowingRows()
        # The number of each field by name. The look-up of a new name adds the next number.
        self._fields: defaultdict[bytes, int] = defaultdict()
        self._fields.default_factory = self._fields.__len__

    def analyse(self, texts: Sequence[bytes], names: Sequence[bytes] | None = None) -> TermSequence:
        """Return the terms of texts in valid UTF-8.

        With ``names``, each text is the content of the field of that name.
        """
        surfaces = self._find_surfaces(texts)
        form_ids = self._table.intern(surfaces)
        fields = None
        if names is not None:
            text_fields = np.fromiter(map(self._fields.__getitem__, names), np.int64, len(names))
            fields = text_fields.take(surfaces.documents)
            form_ids = self._table.intern_in_fields(form_ids, fields)
        codes = self._look_up_codes(surfaces, form_ids, fields)

        n_rows = len(self._term_rows)
        long_positions = np.flatnonzero(form_ids == LONG_FORM_ID)
        if long_positions.size:
            codes[long_positions] = self._analyse_forms(surfaces, long_positions, fields)
        sequence = self._expand_terms(surfaces.documents, codes)
        self._term_rows.truncate(n_rows)  # the rows of long forms are not used again
        return sequence

    def _look_up_codes(self, surfaces: Surfaces, form_ids: Ids, fields: Ints | None) -> Ids:
        """Return the code of each form, and analyse and store new forms."""
        id_limit = self._table.id_limit
        if id_limit > self._codes.size:
            new_codes = np.full(2 * id_limit - self._codes.size, _NEW, np.int32)
            self._codes = np.append(self._codes, new_codes)
        codes = self._codes.take(form_ids)
        new_positions = np.flatnonzero(codes == _NEW)
        if new_positions.size:
            new_ids = form_ids.take(new_positions)
            samples, _ = group_keys(new_ids)  # one occurrence of each new form
            distinct_ids = new_ids.take(samples)
            sample_positions = new_positions.take(samples)
            self._codes[distinct_ids] = self._analyse_forms(surfaces, sample_positions, fields)
            codes[new_positions] = self._codes.take(new_ids)
        return codes

    def _find_surfaces(self, texts: Sequence[bytes]) -> Surfaces:
        if not self._has_run:  # False or None
            return find_surfaces(texts, self._unspaced, has_run=self._has_run)
        # usually few texts have runs, so only these texts are split
        indices = find_texts_with_runs(texts)
        texts = [texts[index] for index in indices.tolist()]
        surfaces = find_surfaces(texts, self._unspaced, has_run=True)
        return surfaces._replace(documents=indices.take(surfaces.documents))

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the terms of surface forms in order, and their number by form."""
        words, n_words = self.extract_words(forms)
        return self.stem(words), n_words

    def extract_words(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the words of surface forms without stop words, and their number by form."""
        stop_words = self._stop_words
        splits_runs = self._unspaced != WORDS
        words: list[str] = []
        n_words = np.ones(len(forms), np.int64)
        n_copied = 0  # number of forms whose words are in the list
        for index in np.flatnonzero(~self._are_words(forms)).tolist():
            form = forms[index]
            is_run = splits_runs and not form.isascii() and _compile_kana_and_han().fullmatch(form)
            if is_run and form not in stop_words:
                continue  # the form is a word as it is
            form_words = [
                word for word in split_words(form, unspaced=splits_runs) if word not in stop_words
            ]
            words += forms[n_copied:index]  # these forms are words as they are
            words += form_words
            n_words[index] = len(form_words)
            n_copied = index + 1
        return words + forms[n_copied:], n_words.tolist()

    def _are_words(self, forms: list[str]) -> Mask:
        """Return a mask of the forms of ASCII letters and digits that are words already.

        No Python instruction is executed for each form.
        """
        joined = (FORM_SEPARATOR.join(forms) + FORM_SEPARATOR).encode()
        kinds = np.frombuffer(joined.translate(_BYTE_KINDS), np.uint8)
        ends = np.flatnonzero(kinds == _IS_SEPARATOR)
        sizes_with_separator = np.diff(ends, prepend=-1)
        are_words = sizes_with_separator <= MAX_WORD_BYTES + 1
        other_bytes = np.flatnonzero(kinds == _IS_NOT_PLAIN)
        are_words[np.searchsorted(ends, other_bytes)] = False
        if not self._stop_words.isdisjoint(forms):
            is_stop_word = map(self._stop_words.__contains__, forms)
            are_words &= ~np.fromiter(is_stop_word, np.bool_, len(forms))
        return are_words[: len(forms)]  # without forms, there is one separator

    def _analyse_forms(self, surfaces: Surfaces, positions: Ints, fields: Ints | None) -> Ids:
        """Return the codes of the forms at some positions, and store their rows of terms."""
        terms, n_terms_by_form = self.extract_terms(surfaces.decode_forms(positions))
        if fields is not None:
            prefixes = [f"{name.decode()}:" for name in self._fields]
            term_fields = np.repeat(fields.take(positions), n_terms_by_form).tolist()
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
        codes[has_row] = _FIRST_ROW - len(self._term_rows) - np.arange(row_sizes.size)
        elements = term_ids[compute_flat_indices(starts[has_row], row_sizes)]
        self._term_rows.append(elements, row_sizes)
        return codes

    def _expand_terms(self, documents: Ids, codes: Ids) -> TermSequence:
        """Return the terms of forms, given the document and the code of each form."""
        if codes.min(initial=UNKNOWN_TERM) >= UNKNOWN_TERM:
            return TermSequence(documents, codes)  # each form has one term
        row_forms = np.flatnonzero(codes <= _FIRST_ROW)
        if row_forms.size:
            rows = _FIRST_ROW - codes.take(row_forms).astype(np.int64)
            # insert the terms of each row before the code of the row, which is dropped below
            positions = np.repeat(row_forms, self._term_rows.take_sizes(rows))
            documents = np.insert(documents, positions, documents.take(positions))
            codes = np.insert(codes, positions, self._term_rows.take(rows))
        is_term = np.flatnonzero(codes >= UNKNOWN_TERM)
        return TermSequence(documents.take(is_term), codes.take(is_term))


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
        """Return the inflected words of surface forms, in order, and their number by form."""
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
        super().__init__(stop_words=(), stem=list, find_terms=find_terms)

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the items, each of which is one term."""
        return forms, [1] * len(forms)

    def _find_surfaces(self, texts: Sequence[bytes]) -> Surfaces:
        return find_surfaces(texts, are_items=True)
