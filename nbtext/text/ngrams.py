"""N-grams: adjacent terms of one document, joined. Stop words were dropped before, so the terms around one are adjacent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.text.analyzer import UNKNOWN, TermSequence

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    PairIds = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]

_ABSENT = -2
"""Marks the places near a document's end where no n-gram begins."""


def with_ngrams(sequence: TermSequence, order: int, pair_ids: PairIds, begins: int | None = None) -> TermSequence:
    """The sequence with its 2- to ``order``-grams, each after the term that begins it; of the first ``begins`` terms if given.

    An n-gram is the pair of the (n − 1)-gram before its last term and that term; ``pair_ids`` gives its id, `UNKNOWN` where it has none.
    """
    documents, terms = sequence
    columns = [terms]
    for n in range(2, order + 1):
        left, last = columns[-1][: 1 - n], terms[n - 1 :]
        within = documents[n - 1 :] == documents[: 1 - n]
        known = np.flatnonzero(within & (left >= 0) & (last >= 0))
        column = np.full(terms.size, _ABSENT)
        column[: max(terms.size - n + 1, 0)] = np.where(within, UNKNOWN, _ABSENT)
        column[known] = pair_ids(left[known], last[known])
        columns.append(column)
    if order == 1:
        return sequence
    interleaved = np.stack(columns, axis=1)[:begins].ravel()
    present = interleaved != _ABSENT
    return TermSequence(np.repeat(documents[:begins], order)[present], interleaved[present])
