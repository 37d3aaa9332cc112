"""Documents that are counted already, ``name:count name:count``: names are terms as they stand.

Counts stay numbers, so a document takes as much memory as its line, whatever it counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.document_term import Postings
from nbtext.text.key_table import pair, representatives
from nbtext.text.pieces import pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from nbtext.text.pieces import Piece

_SPACE = re.compile(rb"[ \t-\r]")
"""At what `bytes.split` splits."""


class CountedTerms:
    """From counted documents to postings over the vocabulary whose ids ``term_ids`` gives."""

    def __init__(self, term_ids: Callable[[list[str]], Sequence[int] | NDArray[np.int64]]) -> None:
        self._term_ids = term_ids
        self._known: dict[bytes, int] = {}

    def count(self, texts: Sequence[bytes]) -> Postings:
        """Counts of some documents in valid UTF-8, in the order of the documents. What is not ``name:count`` is a term that occurs once."""
        parts = [self._count(piece, len(texts)) for piece in pieces(texts, _SPACE)]
        if len(parts) == 1:
            return parts[0]
        terms, documents, counts = (np.concatenate(column) for column in zip(*(part[:3] for part in parts), strict=True))
        return _summed(terms, documents, counts, np.sum([part.unknown for part in parts], axis=0))

    def _count(self, piece: Piece, n_documents: int) -> Postings:
        rows = [text.split() for text in piece.texts]
        items = [name_and_count(item) for row in rows for item in row]
        documents = np.repeat(np.arange(len(rows)) + piece.first, [len(row) for row in rows])
        terms, counts = self._ids([name for name, _ in items]), np.array([count for _, count in items], np.int64)
        known = terms >= 0
        unknown = np.bincount(documents[~known], counts[~known], minlength=n_documents).astype(np.int64)
        return _summed(terms[known], documents[known], counts[known], unknown)

    def _ids(self, names: list[bytes]) -> NDArray[np.int64]:
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        if new:
            self._known.update(zip(new, np.asarray(self._term_ids([name.decode() for name in new])).tolist(), strict=True))
        return np.array([self._known[name] for name in names], np.int64)


def _summed(terms: NDArray[np.int64], documents: NDArray[np.int64], counts: NDArray[np.int64], unknown: NDArray[np.int64]) -> Postings:
    """Return one posting for each term of a document, where it stands last: a name may stand twice on a line."""
    representative = representatives(pair(documents, terms))
    last = np.flatnonzero(representative == np.arange(representative.size))
    sums = np.bincount(representative, counts, minlength=representative.size).astype(np.int64)[last]
    return Postings(terms[last], documents[last], sums, unknown)


def name_and_count(item: bytes) -> tuple[bytes, int]:
    """What `name:count` says; a thing that is not of that form is a name that occurs once."""
    name, _, count = item.rpartition(b":")
    return (name, int(count)) if name and count.isdigit() and len(count) < 18 else (item, 1)
