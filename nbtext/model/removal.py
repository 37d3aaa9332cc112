"""The fewest surface words without which a document gets another answer.

Where scores are sums over occurrences, or over terms of which each belongs to one surface word, the words have their parts in them and the
question is a covering problem: the words taken away must gain the wanted class more than it lacks, against every other class. Elsewhere (weights
of unit length, n-grams that form anew, Gaussians) the words change each other's parts, and sets of words are tried out on the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.weighted import WeightedCountsClassifier
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.model.changed_texts import MARGIN
from nbtext.model.contributions import bias, of_classes, shared_out, term_contributions
from nbtext.model.covering import MOST_NODES, smallest_cover
from nbtext.model.left_out import left_out_contributions
from nbtext.model.rescoring import smallest_by_trying

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.model.changed_texts import ChangedTexts
    from nbtext.model.covering import Cover
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]

MOST_CELLS = 1 << 23
"""Weights of a document's terms by class for which sums are taken."""

MOST_WORK = 1 << 27
"""Numbers looked at in the search for the smallest set: some seconds."""

MOST_TRIED = 20_000
"""Sets of words tried out at most."""

MOST_BYTES = 1 << 25
"""Of the texts that are tried out, together; but some sets always are."""

LEAST_TRIED = 200
"""Sets that are tried out however long the text is, and words that are then thought of."""

RULED_OUT = -1e6
"""In place of log 0, in nats: more than the words of a document make up for."""


class Removal(NamedTuple):
    """Words whose removal makes a class the answer."""

    words: tuple[str, ...] | None
    """None if none were found."""
    occurrences: int
    """Of these words, together."""
    smallest: bool
    """Whether it is known that no fewer words do, or, where there are none, that no words do."""
    probability: float | None
    """Of the class without these words."""


def removal(changed: ChangedTexts) -> Removal:
    """The smallest set of surface words, all their occurrences taken away, as far as the search goes."""
    eligible = changed.removable()
    cover = _by_sums(changed, eligible)
    budget = _budget(changed)
    some = cover is None and eligible.size > budget
    if some:
        eligible = np.sort(eligible[np.argsort(-_apart(changed)[eligible], kind="stable")[:budget]])

    def gaps(sets: Sequence[tuple[int, ...]]) -> Floats:
        return changed.gaps_without([eligible[list(items)].tolist() for items in sets])

    if cover is None or (cover.items is not None and not gaps([cover.items])[0] < -MARGIN):
        cover = smallest_by_trying(eligible.size, gaps, -MARGIN, budget)
        cover = cover._replace(proven=cover.proven and not some) if cover.items is None or len(cover.items) > 1 else cover
    if cover.items is None:
        return Removal(None, 0, cover.proven, None)
    numbers = sorted(eligible[list(cover.items)].tolist())
    words = tuple(changed.names[number] for number in numbers)
    return Removal(words, changed.occurrences(numbers), cover.proven, changed.probability(changed.without(numbers)))


def adds_up(model: TextClassifier) -> bool:
    """Whether scores are sums over the occurrences of terms, whatever else stands in the document."""
    linear = model.linear
    return isinstance(linear, WeightedCountsClassifier) and linear.weighting == "counts" and model.parameters["ngrams"] == 1


def finite(nats: Floats) -> Floats:
    """The same with `RULED_OUT` for log 0."""
    found: Floats = np.where(nats == -np.inf, RULED_OUT, nats)
    return found


def lacking(changed: ChangedTexts, document: bytes) -> Floats:
    """What each class is ahead of the wanted one, shape (n_classes,), in nats; −inf for classes that are never an answer, and for itself."""
    scores = finite(changed.model.score_block([document]).scores[0])
    found: Floats = np.where(_possible(changed), scores - scores[changed.wanted], -np.inf)
    return found


def _possible(changed: ChangedTexts) -> NDArray[np.bool_]:
    """The other classes, without those that are never an answer, shape (n_classes,)."""
    of_prior = bias(changed.model.classifier.of_texts)
    possible = np.ones(len(changed.model.classes_), np.bool_) if of_prior is None else of_prior > -np.inf
    possible[changed.wanted] = False
    return possible


def _by_sums(changed: ChangedTexts, eligible: NDArray[np.int64]) -> Cover | None:
    """The smallest set, from the parts that words have in the scores; None if these do not add up."""
    model, located = changed.model, changed.located
    known = np.append(model.learnt.selected, False)[located.terms]  # UNKNOWN is -1
    terms, places = np.unique(located.terms[known], return_inverse=True)
    if model.parameters["ngrams"] > 1 or terms.size * model.statistics.n_classes > MOST_CELLS:
        return None
    names, shares = changed.name_of[located.words[known]], located.shares[known]
    counts = np.bincount(places, shares, terms.size)
    owners = np.unique(np.stack((places, names)), axis=1)
    if not adds_up(model) and owners.shape[1] > terms.size:
        return None
    matrix = DocumentTermMatrix(np.array([0, terms.size]), terms, counts.astype(np.int64), np.zeros(1, np.int64))
    parts = of_classes(model.classifier.of_texts, matrix)
    of_prior = bias(model.classifier.of_texts)
    if parts is None or of_prior is None:
        return None
    parts = finite(parts)
    of_names = np.zeros((len(changed.names), parts.shape[1]))
    np.add.at(of_names, names, (shares / counts[places])[:, np.newaxis] * parts[places])
    rivals = np.flatnonzero(_possible(changed))
    scores = model.score_block([changed.without([])]).scores[0]
    if not np.isfinite(scores[[changed.wanted, *rivals.tolist()]]).all():
        scores = finite(of_prior) + of_names.sum(axis=0)
    ahead = scores[rivals] - scores[changed.wanted]
    gains = of_names[eligible][:, rivals] - of_names[eligible][:, [changed.wanted]]
    bars = of_names[eligible, changed.wanted] <= RULED_OUT / 2  # words that rule the class out must all go
    nodes = min(MOST_NODES, MOST_WORK // max(gains.size, 1))
    return smallest_cover(np.column_stack((gains, bars)), np.append(ahead + MARGIN, np.count_nonzero(bars)), nodes)


def _apart(changed: ChangedTexts) -> Floats:
    """About what the absence of each surface word gains the wanted class over the best other, shape (n_names,), in nats."""
    model = changed.model
    scores = model.score_counts(changed.matrix).scores[0]
    scores[changed.wanted] = -np.inf
    best = int(scores.argmax())
    found = term_contributions(model.classifier.of_texts, changed.matrix, np.array([best]), np.array([changed.wanted]))
    if found is None:
        nats = left_out_contributions(model, changed.located, changed.matrix, (best, changed.wanted))
    else:
        nats = shared_out(changed.located, *found)
    return np.bincount(changed.name_of, np.nan_to_num(nats), len(changed.names)).astype(np.float64)


def _budget(changed: ChangedTexts) -> int:
    by_bytes = max(MOST_BYTES // max(len(changed.text), 1), LEAST_TRIED)
    return min(MOST_TRIED, by_bytes)
