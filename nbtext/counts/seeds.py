"""Seed words: pseudo-counts of terms in classes, a part of the prior that users give in place of labels.

A word against a class is a word for all others: only the ratios between classes matter, and a pseudo-count cannot be negative.

Source: R. Jones, A. McCallum, K. Nigam, E. Riloff, Bootstrapping for text learning tasks (1999), who label documents by keywords to begin EM; here
they are a Dirichlet prior. The counts of labelled documents stay as they are; the pseudo-counts join them where a model is estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nbtext.counts.vocabulary import GrowingVocabulary, Vocabulary
from nbtext.errors import UsageError

PSEUDO_COUNT = 10.0
"""Of a seed word by default. On 20 Newsgroups without labels, 1 to 1,000 do about equally well."""

MOST = 1e6
"""The largest pseudo-count of a seed word."""


class Seed(NamedTuple):
    """A term that speaks for a class, or against it."""

    label: str
    term: tuple[str, ...]
    """A single term, or those of an n-gram."""
    pseudo_count: float
    """In the class; of a term against it, as a negative number, in every other class."""


def by_class(seeds: Sequence[Seed], classes: Sequence[str]) -> list[Seed]:
    """Return the seeds of some classes: a term against a class becomes one for each of the others."""
    known, found = set(classes), []
    for seed in seeds:
        labels = [seed.label] if seed.pseudo_count >= 0 else [label for label in classes if label != seed.label]
        found += [Seed(label, seed.term, abs(seed.pseudo_count)) for label in labels if label in known]
    return sorted(found)


def require_seeded_classes(seeds: Sequence[Seed], classes: Sequence[str]) -> None:
    """Raise `UsageError` for a seed of a class that no labelled document has."""
    if others := sorted({seed.label for seed in seeds} - set(classes)):
        raise UsageError(f"--seeds names class {others[0]!r}, and no labelled document has it", hint="see the classes with nbtext inspect")


def seed_vocabulary(seeds: Sequence[Seed]) -> Vocabulary:
    """Return the terms of seeds."""
    vocabulary = GrowingVocabulary()
    for seed in seeds:
        number, *others = vocabulary.find(seed.term)
        for last in others:
            [number] = vocabulary.find_pairs(np.array([number]), np.array([last])).tolist()
    return vocabulary.freeze()[0]
