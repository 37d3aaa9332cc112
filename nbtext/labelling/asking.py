"""Choice of the document to ask about next.

`uncertain` is one less the margin between the two most probable classes, or of documents with several labels Σ p(1 − p) over the labels; `typical` is coverage; `mixed` is their product, and measures best
(bench/labelling.py). Sources: D. Lewis, W. Gale, A sequential algorithm for training text classifiers (1994), for uncertainty; T. Scheffer, C. Decomain,
S. Wrobel, Active hidden Markov models for information extraction (2001), for the margin; B. Settles, Active learning literature survey (2009).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nbtext.labelling.coverage import Coverage
    from nbtext.labelling.pool import DocumentPool
    from nbtext.labelling.running_model import RunningModel
    from nbtext.type_names import Floats

MOST_TOKENS = 10.0
"""A longer document counts as one of so many tokens. The evidence of a long document is too extreme, and none would ever be uncertain."""

DOCUMENTS_AT_ONCE = 1 << 13
"""Documents whose scores by class are in memory at once: they fit into the cache."""


def tempered(scores: Floats, lengths: Floats) -> Floats:
    """Return scores, shape (n_classes, n_docs), of documents longer than `MOST_TOKENS` as if they were that long; ``lengths`` of shape (n_docs,)."""
    return scores * (MOST_TOKENS / np.maximum(lengths, MOST_TOKENS))


def uncertain(pool: DocumentPool, model: RunningModel) -> Floats:
    """Return how uncertain the model is of each document, shape (n_docs,)."""
    blocks = [slice(begin, begin + DOCUMENTS_AT_ONCE) for begin in range(0, len(pool), DOCUMENTS_AT_ONCE)]
    return np.concatenate([model.doubts(tempered(model.scores(block), pool.lengths[block])) for block in blocks])


def worth(strategy: str, pool: DocumentPool, model: RunningModel, coverage: Coverage) -> Floats:
    """Return what the document asked about has most of, shape (n_docs,), by a strategy that does not draw at random."""
    found = np.ones(len(pool)) if strategy == "typical" else uncertain(pool, model)
    return found if strategy == "uncertain" else found * coverage.of_documents
