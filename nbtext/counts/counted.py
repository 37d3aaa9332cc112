"""Documents that are counted already, ``name:count name:count``: names are terms as they stand.

Counts stay numbers, so a document takes as much memory as its line, whatever it counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.document_term import Postings
from nbtext.text.key_table import pair, representatives

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


class CountedTerms:
    """From counted documents to postings over the vocabulary whose ids ``term_ids`` gives."""

    def __init__(self, term_ids: Callable[[list[str]], Sequence[int] | NDArray[np.int64]]) -> None:
        self._term_ids = term_ids
        self._known: dict[bytes, int] = {}

    def count(self, texts: Sequence[bytes]) -> Postings:
        """Counts of some documents in valid UTF-8, in the order of the documents. What is not ``name:count`` is a term that occurs once."""
        rows = [text.split() for text in texts]
        items = [name_and_count(item) for row in rows for item in row]
        documents = np.repeat(np.arange(len(texts)), [len(row) for row in rows])
        terms, counts = self._ids([name for name, _ in items]), np.array([count for _, count in items], np.int64)
        known = terms >= 0
        unknown = np.bincount(documents[~known], counts[~known], minlength=len(texts)).astype(np.int64)
        documents, terms, counts = documents[known], terms[known], counts[known]
        representative = representatives(pair(documents, terms))  # a name may stand twice on a line
        first = np.flatnonzero(representative == np.arange(representative.size))
        sums = np.bincount(representative, counts, minlength=representative.size).astype(np.int64)[first]
        return Postings(terms[first], documents[first], sums, unknown)

    def _ids(self, names: list[bytes]) -> NDArray[np.int64]:
        new = [name for name in dict.fromkeys(names) if name not in self._known]
        if new:
            self._known.update(zip(new, np.asarray(self._term_ids([name.decode() for name in new])).tolist(), strict=True))
        return np.array([self._known[name] for name in names], np.int64)


def name_and_count(item: bytes) -> tuple[bytes, int]:
    """What `name:count` says; a thing that is not of that form is a name that occurs once."""
    name, _, count = item.rpartition(b":")
    return (name, int(count)) if name and count.isdigit() and len(count) < 18 else (item, 1)
