"""The fewest added occurrences of terms with which a document gets another answer.

Where scores are sums over occurrences, an occurrence of term j brings the wanted class w_j,wanted − w_jk nearer to class k, and for each k the
best term bounds from below how many are needed. Elsewhere the term that does most is added, again and again. Either way the model is asked
in the end: terms are written behind the text as words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.model.changed_texts import MARGIN
from nbtext.model.removal import adds_up, finite, lacking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.model.changed_texts import ChangedTexts
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

CANDIDATES = 40
"""Terms looked at for each aim: the rival that is furthest ahead, the rivals that are, all rivals."""

MOST_ADDED = 200
"""Occurrences that are added at most."""

MOST_BYTES = 1 << 26
"""Of the texts that are tried out, together."""

WEIGHTS_AT_ONCE = 1 << 21


class Addition(NamedTuple):
    """Terms whose addition makes a class the answer."""

    terms: tuple[tuple[str, int], ...] | None
    """Each with how often it is added; None if none were found."""
    smallest: bool
    """Whether it is known that no fewer occurrences do."""
    probability: float | None
    """Of the class with these terms."""


class _Candidates(NamedTuple):
    """Terms that may be added."""

    words: list[str]
    nearer: Floats
    """What an occurrence brings the wanted class nearer to each rival, shape (n_candidates, n_rivals), in nats."""
    ahead: Floats
    """What the rivals are ahead, shape (n_rivals,)."""
    least: int
    """No fewer occurrences are enough where scores are sums over them."""


def addition(changed: ChangedTexts) -> Addition:
    """The fewest occurrences of single terms, as far as the search goes."""
    candidates = _candidates(changed)
    if candidates is None:
        return Addition(None, smallest=False, probability=None)
    additive = adds_up(changed.model) and changed.model.parameters["char_ngrams"] is None
    added = _by_sums(candidates) if additive else _by_trying(changed, candidates.words)
    if additive and added is not None and changed.gaps([changed.with_words(added)])[0] >= -MARGIN:  # ruled out, or nearly a tie
        additive, added = False, _by_trying(changed, candidates.words)
    if added is None:
        return Addition(None, smallest=False, probability=None)
    terms = tuple((word, added.count(word)) for word in dict.fromkeys(added))
    smallest = len(added) == 1 or (additive and len(added) <= candidates.least)
    return Addition(terms, smallest, changed.probability(changed.with_words(added)))


def _candidates(changed: ChangedTexts) -> _Candidates | None:
    model, wanted = changed.model, changed.wanted
    ahead = lacking(changed, changed.without([])) + MARGIN
    rivals = np.flatnonzero(ahead > -np.inf)
    before = rivals[ahead[rivals] > 0]
    terms = np.flatnonzero(model.learnt.selected[: model.statistics.vocabulary.n_single])
    if not terms.size or not before.size:
        return None
    front = int(before[ahead[before].argmax()])
    aims = np.full((3, terms.size), -np.inf)
    most = np.full(before.size, -np.inf)
    step = max(WEIGHTS_AT_ONCE // model.statistics.n_classes, 1)
    for begin in range(0, terms.size, step):
        part = slice(begin, begin + step)
        weights = _weights(model, terms[part])
        nearer = weights[:, [wanted]] - weights
        aims[0, part] = nearer[:, front]
        aims[1, part] = (nearer[:, before] / ahead[before]).min(axis=1)
        aims[2, part] = nearer[:, rivals].min(axis=1)
        most = np.maximum(most, nearer[:, before].max(axis=0))
    best = {int(place): None for aim in aims for place in np.argsort(-aim, kind="stable")[: 4 * CANDIDATES].tolist()}
    chosen = [(term, word) for term in terms[list(best)].tolist() if (word := _writable(changed, term)) is not None][: 6 * CANDIDATES]
    if not chosen:
        return None
    weights = _weights(model, np.array([term for term, _ in chosen], np.int64))
    if not np.all(most > 0):
        return _Candidates([word for _, word in chosen], weights[:, [wanted]] - weights[:, rivals], ahead[rivals], MOST_ADDED + 1)
    least = int(np.ceil(ahead[before] / most).max())
    return _Candidates([word for _, word in chosen], weights[:, [wanted]] - weights[:, rivals], ahead[rivals], least)


def _weights(model: TextClassifier, terms: Whole) -> Floats:
    """What an occurrence of each term adds to each class, shape (n, n_classes), in nats, or if that depends on others about."""
    return finite(model.language_models.log_probability(terms) if model.linear is None else model.linear.weights(terms))


def _writable(changed: ChangedTexts, term: int) -> str | None:
    """The term as a word that becomes this term again; None for what is no word, such as a character n-gram, and stems with another stem."""
    word = changed.model.statistics.vocabulary.term(term)
    return word if changed.locator.locate(changed.written(word)).own == [[term]] else None


def _by_sums(of: _Candidates) -> list[str] | None:
    """The fewest of one term, or of terms that each time do most; None if neither is enough."""
    missing = of.ahead.copy()
    chosen: list[str] = []
    while np.any(missing > 0) and len(chosen) < MOST_ADDED:
        after = np.maximum(missing - of.nearer, 0).sum(axis=1)
        best = int(after.argmin())
        if not after[best] < np.maximum(missing, 0).sum():
            break
        chosen.append(of.words[best])
        missing = missing - of.nearer[best]
    greedy = chosen if np.all(missing <= 0) else None
    alone = _of_one_term(of)
    if alone is not None and (greedy is None or len(alone) <= len(greedy)):
        return alone
    return greedy


def _of_one_term(of: _Candidates) -> list[str] | None:
    behind = of.ahead > 0
    helps = np.flatnonzero(np.all(of.nearer[:, behind] > 0, axis=1))
    if not helps.size:
        return None
    times = np.ceil(of.ahead[behind] / of.nearer[helps][:, behind]).max(axis=1)
    fits = np.all(of.ahead - times[:, np.newaxis] * of.nearer[helps] <= 0, axis=1) & (times <= MOST_ADDED)
    if not fits.any():
        return None
    best = int(np.where(fits, times, np.inf).argmin())
    return [of.words[helps[best]]] * int(times[best])


def _by_trying(changed: ChangedTexts, words: Sequence[str]) -> list[str] | None:
    """Always the word that leaves the smallest gap, until it is closed, no word makes it smaller, or too much was tried."""
    added: list[str] = []
    gap = float(changed.gaps([changed.without([])])[0])
    most = max(MOST_BYTES // max(len(changed.text), 1), CANDIDATES)
    tried, spent = list(words[:most]), 0
    while len(added) < MOST_ADDED and spent < most:
        spent += len(tried)
        lists = [sorted([*added, word], key=[*added, word].index) for word in tried]  # occurrences of a word together, as they are told
        gaps = changed.gaps_with(lists)
        best = int(gaps.argmin())
        if not gaps[best] < gap:
            return None
        added = lists[best]
        gap = float(gaps[best])
        if gap < -MARGIN:
            return added
        tried = [tried[place] for place in np.argsort(gaps, kind="stable")[:CANDIDATES].tolist()]
    return None
