"""Pools for tests of labelling: small, from texts with labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.corpus.document import Document
from nbtext.counts.counting import Analysis
from nbtext.labelling.pool import count_pool
from nbtext.settings import Settings

if TYPE_CHECKING:
    from nbtext.labelling.pool import DocumentPool

ANALYSIS = Analysis(Settings.from_values({"stemmer": "none", "stop_words": "none"}))

WORDS = {
    "cats": ["cat", "purrs", "milk", "paw", "whiskers", "mouse"],
    "dogs": ["dog", "barks", "bone", "paw", "lead", "walks"],
    "cars": ["engine", "wheel", "road", "fuel", "lead", "stalls"],
}


def labelled_texts(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """Return n documents of three classes that share some words, as label and text."""
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        label = str(generator.choice(list(WORDS)))
        others = [word for words in WORDS.values() for word in words]
        words = [*generator.choice(WORDS[label], 4), *generator.choice(others, 4)]
        found.append((label, " ".join(words)))
    return found


def documents(texts: list[tuple[str, str]]) -> list[Document]:
    """Return unlabelled documents with names d0, d1, ..."""
    return [Document(f"d{row}", None, text.encode()) for row, (_, text) in enumerate(texts)]


def pool_of(texts: list[tuple[str, str]]) -> DocumentPool:
    return count_pool(documents(texts), ANALYSIS).pool
