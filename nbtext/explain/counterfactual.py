"""The smallest set of words without which a document gets another answer, where only asking the model tells: by trying sets out.

A document without some of its words, or with more: how the model then answers.

The smallest set of items that together gain enough in every respect: a covering problem in whole items, each taken once or not.

Deepening by size, each size searched depth first: some item must help where most is missing, so the items that do are tried in turn, best first,
each time without those tried before. A branch ends where even the best items that are left gain too little somewhere (A. Land, A. Doig, An
automatic method of solving discrete programming problems, 1960).

The fewest surface words without which a document gets another answer.

Where scores are sums over occurrences, or over terms of which each belongs to one surface word, the words have their parts in them and the
question is a covering problem: the words taken away must gain the wanted class more than it lacks, against every other class. Elsewhere (weights
of unit length, n-grams that form anew, Gaussians) the words change each other's parts, and sets of words are tried out on the model.

The fewest added occurrences of terms with which a document gets another answer.

Where scores are sums over occurrences, an occurrence of term j brings the wanted class w_j,wanted − w_jk nearer to class k, and for each k the
best term bounds from below how many are needed. Elsewhere the term that does most is added, again and again. Either way the model is asked
in the end: terms are written behind the text as words.

What would have to be otherwise in a document for another class to be its answer: the fewest words away, or the fewest terms more.

The answer is the most probable class; costs and thresholds have no part in it, and calibration does not change the order of classes.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain, combinations, islice
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.attributes import parted
from nbtext.classifiers.weighted import WeightedCountsClassifier
from nbtext.counts.counting import document_counter
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.decision import NO_ANSWER, minimum_error
from nbtext.errors import UsageError
from nbtext.explain.contributions import bias, left_out_contributions, of_classes, shared_out, term_contributions
from nbtext.explain.explanation import class_number
from nbtext.explain.word_walk import WordWalker
from nbtext.model.changing import changed_counts
from nbtext.model.scoring import IMPOSSIBLE, scored
from nbtext.ragged import flat_indices, offsets
from nbtext.text.analyzer import UNKNOWN, blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.errors import DocumentError
    from nbtext.model.scoring import ScoredBlock
    from nbtext.model.text_classifier import ScoredTexts, TextClassifier

    Gaps = Callable[[Sequence[tuple[int, ...]]], NDArray[np.float64]]
    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


TRIED_AT_ONCE = 48
"""Items tried at each greedy step: those that do most by themselves."""


AT_ONCE = 256
"""Sets tried out together."""


def smallest_by_trying(n_items: int, gaps: Gaps, enough: float, budget: int) -> Cover:
    """The smallest set of items for which ``gaps`` is below ``enough``, as far as about ``budget`` sets tried out tell.

    Single items, a greedy set, then all sets that are smaller than it, size by size.
    """
    spent = n_items
    alone = gaps([(item,) for item in range(n_items)]) if n_items else np.empty(0)
    if alone.size and alone.min() < enough:
        return Cover((int(alone.argmin()),), proven=True)
    order = np.argsort(alone, kind="stable").tolist()
    greedy, used = _greedy_by_scores(order, gaps, enough, budget // 2)
    spent += used
    limit = n_items if greedy is None else len(greedy) - 1
    for size in range(2, limit + 1):
        spent += comb(n_items, size)
        if spent > budget:
            return Cover(greedy, proven=False)
        for sets in _chunks(combinations(order, size)):
            found = gaps(sets)
            if found.min() < enough:
                return Cover(tuple(sorted(sets[int(found.argmin())])), proven=True)
    return Cover(greedy, proven=True)


def _greedy_by_scores(order: list[int], gaps: Gaps, enough: float, budget: int) -> tuple[tuple[int, ...] | None, int]:
    """Always the item that leaves the smallest gap, or else all items; then without those that are not needed. Also how many sets were tried."""
    chosen: tuple[int, ...] = ()
    spent, gap = 0, np.inf
    while spent + TRIED_AT_ONCE <= budget and len(chosen) < len(order):
        sets = [(*chosen, item) for item in [item for item in order if item not in chosen][:TRIED_AT_ONCE]]
        found = gaps(sets)
        spent += len(sets)
        best = int(found.argmin())
        if not found[best] < gap and not np.isinf(gap):
            break
        chosen, gap = sets[best], float(found[best])
        if gap < enough:
            break
    if not gap < enough:
        chosen = tuple(order)
        if not order or not gaps([chosen])[0] < enough:
            return None, spent + 1
    for item in reversed(chosen):
        fewer = tuple(other for other in chosen if other != item)
        spent += 1
        if spent > 2 * budget:
            break
        if fewer and gaps([fewer])[0] < enough:
            chosen = fewer
    return tuple(sorted(chosen)), spent


def _chunks(sets: Iterator[tuple[int, ...]]) -> Iterator[list[tuple[int, ...]]]:
    while chunk := list(islice(sets, AT_ONCE)):
        yield chunk


MARGIN = 1e-9
"""Nats by which a class has to be ahead to be the answer: a tie is none, and rounding decides nothing."""


class ChangedTexts:
    """What becomes of one document, seen from a class that is to be its answer."""

    def __init__(self, model: TextClassifier, locator: WordWalker, document: bytes, wanted: int) -> None:
        self.model, self.locator, self.wanted = model, locator, wanted
        self.text = parted(document)[0] if model.statistics.attributes.names else document
        self._values = document[len(self.text) :]
        self.located = locator.locate(self.text)
        self.counted = model.reading["format"] == "svmlight"
        self.names = list(dict.fromkeys(self.located.names))
        number = {name: place for place, name in enumerate(self.names)}
        self.name_of = np.array([number[name] for name in self.located.names], np.int64)
        """The number of the surface word of each word, shape (n_words,)."""

    def removable(self) -> NDArray[np.int64]:
        """Numbers of the surface words whose absence may change scores: they become terms, or with n-grams stand between terms."""
        known = self.model.learnt.selected
        counts = np.flatnonzero((self.located.terms != UNKNOWN) & known[self.located.terms])
        found = np.zeros(len(self.names), np.bool_)
        found[self.name_of[self.located.words[counts]]] = True
        if self.model.parameters["ngrams"] > 1:
            found[self.name_of[[place for place, own in enumerate(self.located.own) if own]]] = True
        return np.flatnonzero(found)

    def occurrences(self, numbers: Sequence[int]) -> int:
        """How often some surface words occur, together."""
        return int(self.located.counts[np.isin(self.name_of, numbers)].sum())

    def without(self, numbers: Sequence[int]) -> bytes:
        """The document with spaces in place of every occurrence of some surface words."""
        gone = np.flatnonzero(np.isin(self.name_of, numbers))
        bounds = [
            0,
            *chain.from_iterable(zip(self.located.begins[gone].tolist(), self.located.ends[gone].tolist(), strict=True)),
            len(self.text),
        ]
        return b" ".join(self.text[begin:end] for begin, end in zip(bounds[::2], bounds[1::2], strict=True)) + self._values

    def with_words(self, words: Sequence[str]) -> bytes:
        """The document with words at the end of its text."""
        return b" ".join((self.text, *map(self.written, words))) + self._values

    def gaps(self, documents: Sequence[bytes]) -> NDArray[np.float64]:
        """How far the class is behind the best other in each document, shape (n_docs,), in nats of the score: below −`MARGIN` it is the answer."""
        found = (self.model.score_block(block) for block in blocks(documents, len, self.model.documents_at_once))
        return np.concatenate([np.empty(0), *map(self._gaps, found)])

    def gaps_without(self, sets: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the gaps of the document without each set of surface words: from its counts where words have no part in each other's terms."""
        if self.model.parameters["ngrams"] > 1:
            return self.gaps([self.without(numbers) for numbers in sets])
        begins, order = self._parts
        names = np.array([number for numbers in sets for number in numbers], np.int64)
        sizes = begins[names + 1] - begins[names]
        parts = order[flat_indices(begins[names], sizes)]
        rows = np.repeat(np.repeat(np.arange(len(sets)), [len(numbers) for numbers in sets]), sizes)
        return self._gaps_of_counts(len(sets), rows, self.located.terms[parts], -self.located.shares[parts])

    def gaps_with(self, lists: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """Return the gaps of the document with each list of words at its end, likewise."""
        if self.model.parameters["ngrams"] > 1:
            return self.gaps([self.with_words(words) for words in lists])
        located = {word: self.locator.locate(self.written(word)) for words in lists for word in words}
        added = [(row, located[word]) for row, words in enumerate(lists) for word in words]
        rows = np.repeat([row for row, _ in added], [of.terms.size for _, of in added])
        terms, shares = (np.concatenate([np.empty(0), *column]) for column in zip(*((of.terms, of.shares) for _, of in added), strict=True))
        return self._gaps_of_counts(len(lists), rows, terms.astype(np.int64), shares)

    def probability(self, document: bytes) -> float:
        """Of the class, calibrated."""
        return float(np.exp(self.model.score_block([document]).log_posterior[0, self.wanted]))

    @cached_property
    def matrix(self) -> DocumentTermMatrix:
        """The counts of the document alone."""
        model = self.model
        counter = document_counter(model.parameters, model.stop_list, model.statistics.vocabulary, model.reading)
        return counter.count([self.without([])]).matrix()

    @cached_property
    def _parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The parts of the terms that are in the document, by surface word: where those of each word begin, and their numbers in that order."""
        names = self.name_of[self.located.words]
        return offsets(np.bincount(names, minlength=len(self.names))), np.argsort(names, kind="stable")

    def _gaps_of_counts(
        self, n: int, rows: NDArray[np.int64], terms: NDArray[np.int64], amounts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        known = terms != UNKNOWN
        copies = changed_counts(self.matrix, n, rows[known], terms[known], amounts[known].astype(np.int64), self.model.documents_at_once)
        return np.concatenate([np.empty(0), *(self._gaps(self.model.score_counts(block)) for block in copies)])

    def _gaps(self, scored: ScoredTexts) -> NDArray[np.float64]:
        others = np.delete(scored.scores, self.wanted, axis=1).max(axis=1)
        with np.errstate(invalid="ignore"):
            gaps = np.nan_to_num(others - scored.scores[:, self.wanted], nan=np.inf, posinf=np.inf, neginf=-np.inf)
        answered = scored.log_posterior.argmax(axis=1) == self.wanted
        found: NDArray[np.float64] = np.where(answered, gaps, np.maximum(gaps, 0.0))
        return found

    def written(self, word: str) -> bytes:
        """Return a word as the document would hold it."""
        return f"{word}:1".encode() if self.counted else word.encode()


MOST_NODES = 20_000
"""Branches looked at before the best set so far is taken."""


class Cover(NamedTuple):
    """A set of items, None if none was found; and whether it is known that there is no smaller one, or none at all."""

    items: tuple[int, ...] | None
    proven: bool


class _OutOfNodes(Exception):  # noqa: N818 - no error
    pass


def smallest_cover(gains: Floats, needs: Floats, most_nodes: int = MOST_NODES) -> Cover:
    """Items whose gains, shape (n_items, n_respects), reach the needs, shape (n_respects,), in sum; the fewest that do.

    Gains may be negative, and a need that is not positive is one to be kept.
    """
    if np.all(needs <= 0):
        return Cover((), proven=True)
    useful = np.flatnonzero((gains > 0).any(axis=1))
    gains = gains[useful]
    least = _least_number(gains, needs)
    if least is None:
        return Cover(None, proven=True)
    greedy = _greedy(gains, needs)
    search = _Search(gains, most_nodes)
    found, proven = greedy, True
    try:
        for size in range(least, len(gains) + 1 if greedy is None else len(greedy)):
            exact = search.of_size(needs, size)
            if exact is not None:
                found = exact
                break
    except _OutOfNodes:
        proven = False
    return Cover(None if found is None else tuple(sorted(useful[list(found)].tolist())), proven)


def _least_number(gains: Floats, needs: Floats) -> int | None:
    """So many items at least: those that gain most in one respect, the worst of all respects; None if all gain too little in one."""
    if not len(gains):
        return None
    best = np.cumsum(-np.sort(-np.maximum(gains, 0), axis=0), axis=0)
    reached = best >= needs
    if not reached[-1].all():
        return None
    return int(np.where(needs > 0, reached.argmax(axis=0) + 1, 0).max())


def _greedy(gains: Floats, needs: Floats) -> list[int] | None:
    """Always the item that leaves least missing, summed over respects; then without those that turn out not to be needed."""
    missing, left, chosen = needs.copy(), np.ones(len(gains), np.bool_), []
    while np.any(missing > 0):
        if not left.any():
            return None
        after = np.maximum(missing - gains, 0).sum(axis=1)
        best = int(np.where(left, after, np.inf).argmin())
        chosen.append(best)
        left[best] = False
        missing = missing - gains[best]
    for item in list(chosen):
        if np.all(missing + gains[item] <= 0):
            chosen.remove(item)
            missing = missing + gains[item]
    return chosen


class _Search:
    """Depth-first search with a budget of nodes for all sizes together."""

    def __init__(self, gains: Floats, most_nodes: int) -> None:
        self._gains, self._nodes = gains, most_nodes

    def of_size(self, needs: Floats, size: int) -> list[int] | None:
        """At most ``size`` items that are enough; None if there are none."""
        return self._among(needs, size, np.ones(len(self._gains), np.bool_))

    def _among(self, missing: Floats, size: int, left: NDArray[np.bool_]) -> list[int] | None:
        if np.all(missing <= 0):
            return []
        self._nodes -= 1
        if self._nodes < 0:
            raise _OutOfNodes
        places = np.flatnonzero(left)
        if not size or not places.size:
            return None
        gains = np.maximum(self._gains[places], 0)
        k = min(size, places.size)
        best = np.partition(gains, places.size - k, axis=0)[places.size - k :].sum(axis=0)
        if np.any(best < missing):
            return None
        open_needs = np.flatnonzero(missing > 0)
        hardest = int(open_needs[(missing[open_needs] / best[open_needs]).argmax()])
        order = places[np.argsort(-gains[:, hardest], kind="stable")]
        left = left.copy()
        for item in order.tolist():
            if size * self._gains[item, hardest] < missing[hardest]:
                return None
            left[item] = False
            rest = self._among(missing - self._gains[item], size - 1, left)
            if rest is not None:
                return [item, *rest]
        return None


MOST_CELLS = 1 << 23
"""Weights of a document's terms by class for which sums are taken."""


MOST_WORK = 1 << 27
"""Numbers looked at in the search for the smallest set: some seconds."""


MOST_TRIED = 20_000
"""Sets of words tried out at most."""


MOST_BYTES_REMOVAL = 1 << 25
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
    cover = _removal_by_sums(changed, eligible)
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


def _removal_by_sums(changed: ChangedTexts, eligible: NDArray[np.int64]) -> Cover | None:
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
    by_bytes = max(MOST_BYTES_REMOVAL // max(len(changed.text), 1), LEAST_TRIED)
    return min(MOST_TRIED, by_bytes)


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
    added = _addition_by_sums(candidates) if additive else _by_trying(changed, candidates.words)
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


def _addition_by_sums(of: _Candidates) -> list[str] | None:
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


ANSWERED_SO = "answered-so"
"""The class is the answer already."""


NO_PRIOR = "no-prior"
"""The class has the prior probability 0, whatever a document says."""


class WhyNot(NamedTuple):
    """A document's answer, the class that was wanted, and what would make it the answer."""

    id: str
    label: str | None
    """The answer; None where there is none."""
    probability: float | None
    wanted: str
    wanted_probability: float | None
    why: str | None = None
    """Why nothing was looked for; None where it was."""
    removal: Removal | None = None
    addition: Addition | None = None
    problem: DocumentError | None = None


class WhyNotFinder:
    """Looks for what would make a class the answer; raises `UsageError` if the model does not have it, or has no other."""

    def __init__(self, model: TextClassifier, wanted: str) -> None:
        if len(model.classes_) < 2:
            raise UsageError("the model has a single class: it is always the answer")
        self._model, self._wanted, self._number = model, wanted, class_number(model, wanted)
        self._locator = WordWalker.of_model(model)

    def find(self, documents: Iterable[Document]) -> Iterator[WhyNot]:
        """One for each document, in order."""
        for block in scored(self._model, documents):
            answers = minimum_error(block.log_posterior)
            for row, document in enumerate(block.documents):
                if document.problem is not None:
                    yield WhyNot(document.id, None, None, self._wanted, None, problem=document.problem)
                else:
                    yield self._of_document(block, row, int(answers[row]))

    def _of_document(self, block: ScoredBlock, row: int, answer: int) -> WhyNot:
        document = block.documents[row]
        if answer == NO_ANSWER:
            found = WhyNot(document.id, None, None, self._wanted, None, IMPOSSIBLE)
        else:
            posterior = np.exp(block.log_posterior[row])
            label = self._model.classes_[answer]
            found = WhyNot(document.id, label, float(posterior[answer]), self._wanted, float(posterior[self._number]))
        if self._model.prior[self._number] == 0:
            return found._replace(why=NO_PRIOR)
        if answer == self._number:
            return found._replace(why=ANSWERED_SO)
        changed = ChangedTexts(self._model, self._locator, document.text, self._number)
        return found._replace(why=None, removal=removal(changed), addition=addition(changed))
