"""A document of the pool in pieces: each word with what it adds to the log odds of one class over another under the labels so far."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.explain.contributions import shared_out, weighed_pieces
from nbtext.explain.word_walk import WordWalker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.labelling.session import Session


class TellingWords:
    """Walks the words of the documents of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        pool = session.pool
        self._walker = WordWalker(pool.analysis, pool.vocabulary, np.ones(pool.n_terms, np.bool_))

    def pieces(self, row: int, first: str, second: str) -> Iterator[tuple[str, float]]:
        """Return the text in pieces as `nbtext.explain.contributions.weighed_pieces` does, in nats for the first class, of several labels over the rest; they join to the text of the pool."""
        session, pool = self._session, self._session.pool
        one, other = session.classes.index(first), session.classes.index(second)
        added = session.model.term_scores(pool.reach(row))
        document = pool.documents[row]
        located = self._walker.locate(document.text, document.fields, pairs=True)
        nats = shared_out(located, pool.matrix.rows(np.array([row])), added[one] - added[other] * (session.plan.separator is None))
        return weighed_pieces(document.shown, zip(located.begins.tolist(), located.ends.tolist(), nats.tolist(), strict=True))
