"""Documents to sequences of term ids. Each surface form is analysed once, when it first occurs; after that it is an array look-up.

Streams of documents are analysed in blocks (`nbtext.ragged`), long documents in pieces, since analysing a text takes many times its size in memory.
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
    ITEM_BYTES,
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
    StemWords = Callable[[list[str]], list[str]]

UNKNOWN_TERM = -1
"""In place of a term id: a term that is not in the vocabulary."""

_DROPPED = -2
_NEW = -3
_SEVERAL = -4
"""In place of the id of a surface form's only term: it has none; it is not analysed yet; −4 − i: its terms are row i of `Analyzer._several`."""

_BETWEEN = 1
_NOT_PLAIN = 2
_KINDS = bytes(
    _BETWEEN if byte == ord(FORM_SEPARATOR) else _NOT_PLAIN * (not bytes((byte,)).isalnum())
    for byte in range(256)
)
"""Table for `bytes.translate`: what stands between forms, and bytes that are no ASCII letter or digit."""

MAX_PIECE_BYTES = 1 << 21
"""About the size of a piece of a longer document."""


@cache
def _kana_and_han() -> re.Pattern[str]:
    """Return the pattern of forms that are a word already. Compiling it takes a millisecond, so that is done when the first such form may occur."""
    return re.compile("[\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff]+")


class TermSequence(NamedTuple):
    """The terms of a block of documents in order, without stop words; arrays of whole numbers, shape (n_tokens,)."""

    documents: AnyArray
    """Numbers of documents."""
    terms: AnyArray
    """Term ids or `UNKNOWN`."""


class Analyzer:
    """Turns texts into terms: words without stop words, stemmed, as the ids that ``term_ids`` returns. In a field, its name stands before the term.

    ``unspaced`` and ``with_runs`` say which surface forms, as in `find_surfaces`.
    """

    def __init__(
        self,
        stop_words: Collection[str],
        stem: StemWords,
        term_ids: FindTerms,
        unspaced: str = WORDS,
        *,
        has_run: bool | None = None,
    ) -> None:
        self._unspaced = unspaced
        self._with_runs = has_run
        self._stop_words = frozenset(stop_words)
        self.stem = stem
        self._term_ids = term_ids
        self._table = SurfaceTable()
        self._meaning = np.full(1 << 13, _NEW, np.int32)
        self._meaning[LONG_FORM_ID] = _DROPPED  # each of these is analysed at every occurrence
        self._several = GrowingRows()
        self._fields: defaultdict[bytes, int] = (
            defaultdict()
        )  # numbers by name, handed out when a name first occurs
        self._fields.default_factory = self._fields.__len__

    def analyse(self, texts: Sequence[bytes], names: Sequence[bytes] | None = None) -> TermSequence:
        """Return the terms of texts, each given as valid UTF-8; with ``names``, each text is the content of the field of that name."""
        surfaces = self._surfaces(texts)
        forms = self._table.intern(surfaces)
        fields = None
        if names is not None:
            fields = np.fromiter(map(self._fields.__getitem__, names), np.int64, len(names)).take(
                surfaces.documents
            )
            forms = self._table.intern_in_fields(forms, fields)
        if self._table.id_limit > self._meaning.size:
            self._meaning = np.append(
                self._meaning,
                np.full(2 * self._table.id_limit - self._meaning.size, _NEW, np.int32),
            )
        meaning = self._meaning.take(forms)
        new = np.flatnonzero(meaning == _NEW)
        if new.size:
            new_forms = forms.take(new)
            first, _ = group_keys(new_forms)
            self._meaning[new_forms.take(first)] = self._analyse_forms(
                surfaces, new.take(first), fields
            )
            meaning[new] = self._meaning.take(new_forms)
        n_rows = len(self._several)
        too_long = np.flatnonzero(forms == LONG_FORM_ID)
        if too_long.size:
            meaning[too_long] = self._analyse_forms(surfaces, too_long, fields)
        sequence = self._without_dropped(surfaces.documents, meaning)
        self._several.truncate(n_rows)  # drop the rows of long forms
        return sequence

    def _surfaces(self, texts: Sequence[bytes]) -> Surfaces:
        if not self._with_runs:
            return find_surfaces(texts, self._unspaced, has_run=self._with_runs)
        places = find_texts_with_runs(texts)  # mostly few, and the others need not be split
        surfaces = find_surfaces(
            [texts[place] for place in places.tolist()], self._unspaced, has_run=True
        )
        return surfaces._replace(documents=places.take(surfaces.documents))

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the terms of surface forms one after the other, and the number of terms of each form."""
        found, sizes = self.extract_words(forms)
        return self.stem(found), sizes

    def extract_words(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the words of surface forms without stop words, and the number of words of each form."""
        stop_words = self._stop_words
        unspaced = self._unspaced != WORDS
        kept: list[str] = []
        sizes = [1] * len(forms)
        done = 0
        for place in np.flatnonzero(~self._are_words(forms)).tolist():
            form = forms[place]
            if (
                unspaced
                and not form.isascii()
                and _kana_and_han().fullmatch(form)
                and form not in stop_words
            ):
                continue
            found = [
                word for word in split_words(form, unspaced=unspaced) if word not in stop_words
            ]
            kept += forms[done:place]
            kept += found
            sizes[place] = len(found)
            done = place + 1
        return kept + forms[done:], sizes

    def _are_words(self, forms: list[str]) -> Mask:
        """Return a mask of the forms that are a word already, ASCII letters and digits; without a Python instruction for each."""
        kinds = np.frombuffer(
            (FORM_SEPARATOR.join(forms) + FORM_SEPARATOR).encode().translate(_KINDS), np.uint8
        )
        ends = np.flatnonzero(kinds == _BETWEEN)
        found = np.diff(ends, prepend=-1) <= MAX_WORD_BYTES + 1
        found[np.searchsorted(ends, np.flatnonzero(kinds == _NOT_PLAIN))] = False
        if not self._stop_words.isdisjoint(forms):
            found &= ~np.fromiter(map(self._stop_words.__contains__, forms), np.bool_, len(forms))
        return found[: len(forms)]

    def _analyse_forms(self, surfaces: Surfaces, positions: Ints, fields: Ints | None) -> Ids:
        terms, sizes = self.extract_terms(surfaces.decode_forms(positions))
        if fields is not None:
            prefixes = [f"{name.decode()}:" for name in self._fields]
            terms = [
                prefixes[field] + term
                for field, term in zip(
                    np.repeat(fields.take(positions), sizes).tolist(), terms, strict=True
                )
            ]
        ids = np.asarray(self._term_ids(terms), np.int64)
        size = np.array(sizes, np.int64)
        end = np.cumsum(size)
        meaning = np.full(len(sizes), _DROPPED, np.int32)
        meaning[size == 1] = ids[end[size == 1] - 1]
        several = np.flatnonzero(size > 1)
        meaning[several] = _SEVERAL - len(self._several) - np.arange(several.size)
        self._several.append(
            ids[compute_flat_indices((end - size)[several], size[several])], size[several]
        )
        return meaning

    def _without_dropped(self, documents: Ids, meaning: Ids) -> TermSequence:
        if meaning.min(initial=UNKNOWN_TERM) >= UNKNOWN_TERM:
            return TermSequence(documents, meaning)
        several = np.flatnonzero(meaning <= _SEVERAL)
        if several.size:
            rows = _SEVERAL - meaning.take(several).astype(np.int64)
            places = np.repeat(several, self._several.take_sizes(rows))
            documents = np.insert(documents, places, documents.take(places))
            meaning = np.insert(meaning, places, self._several.take(rows))
        kept = np.flatnonzero(meaning >= UNKNOWN_TERM)
        return TermSequence(documents.take(kept), meaning.take(kept))


class TextPiece(NamedTuple):
    """Consecutive whole documents, or a part of one."""

    first_document: int
    """Number of the first document."""
    texts: Sequence[bytes]
    continues: bool = False
    """True if the next piece continues the same document."""


def split_texts(texts: Sequence[bytes], separator: re.Pattern[bytes]) -> Iterator[TextPiece]:
    """Yield all documents in order, at least one piece; documents longer than `MAX_PIECE_BYTES` are cut before the next separator.

    ``separator`` matches what is never part of a token.
    """
    texts = TextBlock.from_texts(texts)
    first = 0
    for number in np.flatnonzero(texts.sizes > MAX_PIECE_BYTES).tolist():
        if first < number:
            yield TextPiece(first, texts[first:number])
        text = texts[number]
        begin = 0
        while begin < len(text):
            cut = separator.search(text, begin + MAX_PIECE_BYTES)
            end = cut.start() if cut else len(text)
            yield TextPiece(number, [text[begin:end]], end < len(text))
            begin = end
        first = number + 1
    if first < len(texts) or not texts:
        yield TextPiece(first, texts[first:])


class InflectedWords(Analyzer):
    """Turns texts into those of their words that differ from their stems, without stop words."""

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return these words of surface forms one after the other, and the number of words of each form."""
        words, sizes = self.extract_words(forms)
        pairs = zip(words, self.stem(words), strict=True)
        rows = [[word for word, stem in islice(pairs, size) if word != stem] for size in sizes]
        return [word for row in rows for word in row], [len(row) for row in rows]


class ItemAnalyzer(Analyzer):
    """Turns items, with spaces between them, into terms as they stand."""

    def __init__(self, term_ids: FindTerms) -> None:
        super().__init__((), list, term_ids)

    def extract_terms(self, forms: list[str]) -> tuple[list[str], list[int]]:
        """Return the items."""
        return forms, [1] * len(forms)

    def _surfaces(self, texts: Sequence[bytes]) -> Surfaces:
        return find_surfaces(texts, single_bytes=True, fold=ITEM_BYTES)
