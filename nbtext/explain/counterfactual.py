"""Changes that give a document another answer: the fewest words to remove, or the fewest terms to add.

The answer is the most probable class: costs and thresholds play no part, and calibration does not change the order of the classes.

Where scores are sums over words, the smallest removal is a covering problem in whole items: against every other class the removed words must gain
more than the wanted class lacks. `smallest_cover` solves it by depth-first search of one size after the other; a branch ends where even the best
items that are left gain too little (A. Land, A. Doig, An automatic method of solving discrete programming problems, 1960). Added terms that help
most come first, and the best single term bounds from below how many are needed. Elsewhere (weights of unit length, n-grams that form anew,
Gaussian classes) words change each other's parts, and sets of them are tried out on the model. Either way the changed document is scored in the end.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations, islice
from math import comb, inf
from typing import TYPE_CHECKING

import numpy as np

from nbtext.corpus.document import Document, contents, size_of
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, in_blocks
from nbtext.counts.vocabulary import displayed_term
from nbtext.decision import NO_ANSWER, minimum_error
from nbtext.document_parts import field_places, shown
from nbtext.errors import DocumentError, UsageError
from nbtext.explain.contributions import bias, changed_counts, class_contributions, word_contributions
from nbtext.explain.explanation import class_number
from nbtext.explain.word_walk import WordWalker
from nbtext.fitted_model import FittedModel, OneLabel, ScoredTexts
from nbtext.label_sets import REST, THE_REST
from nbtext.ragged import blocks
from nbtext.records import NamedTuple
from nbtext.scoring import scored
from nbtext.text.analyzer import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nbtext.type_names import Fields, Floats, Mask, Whole

    Gaps = Callable[[Sequence[Sequence[int | str]]], Floats]

MARGIN = 1e-9
"""Nats by which a class must be ahead to be the answer: a tie is no answer, and rounding must not decide."""
RULED_OUT = -1e6
"""In place of log 0, in nats: more than the words of a document make up for."""

# Bounds of the search: a result beyond one is perhaps not the smallest.
MOST_NODES, MOST_WORK = 20_000, 1 << 27
"""Branches of the search for the smallest cover, and numbers looked at in it, which take seconds."""
MOST_WEIGHTS = 1 << 26
"""Weights of all terms by class that are looked at for an addition, about a second; in larger models those of terms that the class holds."""
MOST_DEEP = 200
"""Items of a cover that is searched for, a level of recursion each; more are chosen greedily."""
MOST_CELLS = 1 << 23
"""Weights of a document's terms by class for which sums are taken."""
MOST_TRIED, LEAST_TRIED = 20_000, 200
"""Sets of words tried out at most, and at least however long the text is; also how many words to choose from."""
BYTES_REMOVED_FROM, BYTES_ADDED_TO = 1 << 25, 1 << 26
"""Of all changed texts that are tried out together, for removals and for additions."""
TRIED_AT_ONCE, CANDIDATES_REMOVED, CANDIDATES_ADDED = 256, 48, 40
"""Sets scored together, and items tried at each greedy step of a removal and of an addition."""
MOST_ADDED = 200
"""Occurrences that are added."""

ANSWERED_SO, NO_PRIOR = "answered-so", "no-prior"
"""Why nothing is looked for: the class is the answer already, or its prior probability is 0, whatever a document holds."""


@dataclass(frozen=True, slots=True)
class WordChange:
    """Words whose removal, or terms whose addition, makes a class the answer."""

    items: tuple[tuple[str, int], ...] | None
    """Each with how many occurrences are removed or added; None if none were found."""
    smallest: bool
    """No smaller set of words or added occurrences exists; for a removal without items, no set at all."""
    probability: float | None = None
    """Of the class after the change."""


@dataclass(frozen=True, slots=True)
class WhyNot:
    """A document's answer, the wanted class, and what would make it the answer."""

    id: str
    label: str | None
    """The answer; None if there is none."""
    probability: float | None
    wanted: str
    wanted_probability: float | None
    why: str | None = None
    """Why nothing was looked for; None if it was."""
    removal: WordChange | None = None
    addition: WordChange | None = None
    problem: DocumentError | None = None


class WhyNotFinder:
    """Looks for what would make a class the answer; raises `UsageError` if the model does not have it, or has no other.

    Of several labels it looks for what takes the label away from a document that has it.
    """

    def __init__(self, model: FittedModel, wanted: str) -> None:
        if len(model.classes) < 2 and not model.several_labels:
            raise UsageError("the model has a single class: it is always the answer")
        self._wanted, self._number = wanted, class_number(model, wanted)
        self._model = OneLabel(**model.__getstate__(), number=self._number) if model.several_labels else model
        self._walker = WordWalker.of_model(model)
        self._words: dict[int, str | None] = {}

    def find(self, documents: Iterable[Document]) -> Iterator[WhyNot]:
        """Yield one for each document, in order."""
        for block in scored(self._model, documents):
            yield from map(self._why_not, block.documents, minimum_error(block.log_posterior).tolist(), np.exp(block.log_posterior))

    def _why_not(self, document: Document, answer: int, probabilities: Floats) -> WhyNot:
        if document.problem is not None:
            return WhyNot(document.id, None, None, self._wanted, None, problem=document.problem)
        label = probability = wanted_probability = removed = added = None
        if answer != NO_ANSWER:
            label, probability = self._model.classes[answer], float(probabilities[answer])
            wanted_probability = float(probabilities[self._number])
        number, wanted = self._number, self._wanted
        if answer == number and self._model.several_labels:
            number, wanted = len(self._model.classes) + REST, THE_REST
            wanted_probability = float(probabilities[number])
        why = NO_PRIOR if self._model.classifier.prior[self._number] == 0 else ANSWERED_SO if answer == number else None
        if why is None:
            changes = _ChangedDocument(self._model, self._walker, document, number, self._words)
            removed, added = removal(changes), addition(changes)
        return WhyNot(document.id, label, probability, wanted, wanted_probability, why, removed, added)


class _ChangedDocument:
    """A document under changes, and how far each leaves the wanted class from being the answer.

    A change is a sequence of items: numbers of surface words to remove, and words to add to the end of the text, or terms of fields beside it.
    """

    def __init__(self, model: FittedModel, walker: WordWalker, document: Document, wanted: int, words: dict[int, str | None]) -> None:
        """Look at a document; ``words`` remembers for those after it which terms are words."""
        self.model, self.wanted, self._walker, self._words = model, wanted, walker, words
        self._document, self.text = document, shown(document.text, document.fields)
        self.located = walker.locate(document.text, document.fields)
        self.names, self.name_of = self.located.surface_words()
        self._changed_counts = cache(self._counts_changed_by)
        self.matrix = model.counted(*contents([document]))
        self.scores = model.score_counts(self.matrix).scores[0]
        self.log_prior = None if model.several_labels else bias(model.classifier.of_texts, self.matrix)
        possible = np.ones(self.scores.size, np.bool_) if self.log_prior is None else self.log_prior > -np.inf
        possible[wanted] = False
        self.rivals = np.flatnonzero(possible)
        """The other classes that may be an answer."""
        self.known = np.append(model.learnt.selected, False)[self.located.terms]  # `UNKNOWN` is −1
        """The parts of located terms that count in scores, a mask of shape (n_parts,)."""

    def rewritten(self, change: Sequence[int | str]) -> Document:
        """Return the changed document: spaces in place of removed words, added words at the end of the text, terms of fields after all fields."""
        left, end = bytearray(self.text), len(self._document.text)
        gone = np.flatnonzero(np.isin(self.name_of, [item for item in change if isinstance(item, int)]))
        for first, last in zip(self.located.begins[gone].tolist(), self.located.ends[gone].tolist(), strict=True):
            left[first:last] = b" " * (last - first)
        places = zip(self._document.fields, field_places(self._document.text, self._document.fields), strict=True)
        fields = [(name, bytes(left[begin : begin + len(content)])) for (name, content), begin in places]
        added = [self._written(item) for item in change if isinstance(item, str)]
        words = [word for word, of_fields in added if not of_fields]
        fields = [*fields, *(field for _, of_fields in added for field in of_fields)]
        return self._document._replace(text=b" ".join((left[:end], *words)), fields=fields)

    def gaps(self, changes: Sequence[Sequence[int | str]]) -> Floats:
        """Return how far the class is behind the best other after each change, shape (n_changes,), in nats: below −`MARGIN` it is the answer."""
        model = self.model
        if model.settings.ngrams > 1:  # new n-grams may form: the text must be read again
            changed = blocks(map(self.rewritten, changes), size_of, model.documents_at_once)
            found: Iterable[ScoredTexts] = (model.score(*contents(block)) for block in changed)
        else:
            parts = [(row, self._changed_counts(item)) for row, change in enumerate(changes) for item in change]
            rows = np.repeat(np.array([row for row, _ in parts], np.int64), [part.shape[1] for _, part in parts])
            terms, amounts = np.concatenate([np.empty((2, 0), np.int64), *(part for _, part in parts)], axis=1)
            found = map(model.score_counts, changed_counts(self.matrix, len(changes), rows, terms, amounts, model.documents_at_once))
        return np.concatenate([np.empty(0), *map(self._gaps, found)])

    def probability(self, change: Sequence[int | str]) -> float:
        """Return the calibrated probability of the class after a change."""
        return float(np.exp(self.model.score(*contents([self.rewritten(change)])).log_posterior[0, self.wanted]))

    def as_word(self, term: int) -> str | None:
        """Return a term as a word that becomes this term again; None for others, such as character n-grams, and stems with another stem."""
        if term not in self._words:
            word = displayed_term(self.model.statistics.vocabulary.term(term))
            located = self._walker.locate(*self._written(word))
            self._words[term] = word if located.form_of.size == 1 and located.forms[0].own == (term,) else None
        return self._words[term]

    def _written(self, word: str) -> tuple[bytes, Fields]:
        """Return the text and the fields that hold a word alone."""
        if self.model.settings.reading.is_counted:
            return f"{word}:1".encode(), ()
        return (b"", [(b"", word.encode())]) if ":" in word else (word.encode(), ())

    def _counts_changed_by(self, item: int | str) -> Whole:
        """Return the known terms whose counts an item changes, and the changes, shape (2, n)."""
        if isinstance(item, str):
            located = self._walker.locate(*self._written(item))
            here, sign = located.terms != UNKNOWN, 1
        else:
            located, sign = self.located, -1
            here = (located.terms != UNKNOWN) & (self.name_of[located.words] == item)
        return np.stack((located.terms[here], sign * located.shares[here].astype(np.int64)))

    def _gaps(self, texts: ScoredTexts) -> Floats:
        others = np.delete(texts.scores, self.wanted, axis=1).max(axis=1)
        with np.errstate(invalid="ignore"):
            gaps = np.nan_to_num(others - texts.scores[:, self.wanted], nan=np.inf, posinf=np.inf, neginf=-np.inf)
        return np.where(texts.log_posterior.argmax(axis=1) == self.wanted, gaps, np.maximum(gaps, 0.0))


class _Cover(NamedTuple):
    """A set of items, None if none was found; ``proven`` if no smaller one, or none at all, exists."""

    items: tuple[int, ...] | None
    proven: bool


def removal(changes: _ChangedDocument) -> WordChange:
    """Return the smallest set of surface words, all their occurrences removed, as far as the search goes."""
    model, known = changes.model, changes.located.words[changes.known]
    if model.settings.ngrams > 1:  # also those that only stand in n-grams
        known = np.append(known, np.flatnonzero(np.array([bool(form.own) for form in changes.located.forms])[changes.located.form_of]))
    eligible = np.unique(changes.name_of[known])
    cover = _removal_by_sums(changes, eligible)
    budget = min(MOST_TRIED, max(BYTES_REMOVED_FROM // max(len(changes.text), 1), LEAST_TRIED))
    narrowed = cover is None and eligible.size > budget
    if narrowed:  # to the words that seem to gain most against the best other class
        others = np.where(np.arange(changes.scores.size) == changes.wanted, -inf, changes.scores)
        nats, _, _ = word_contributions(model, changes.located, changes.matrix, (int(others.argmax()), changes.wanted))
        gained = np.bincount(changes.name_of, np.nan_to_num(nats), len(changes.names))
        eligible = np.sort(eligible[np.argsort(-gained[eligible], kind="stable")[:budget]])
    if cover is None or (cover.items is not None and not changes.gaps([cover.items])[0] < -MARGIN):
        items, proven = _smallest_by_trying(eligible.tolist(), changes.gaps, budget)
        cover = _Cover(items, proven and not (narrowed and (items is None or len(items) > 1)))
    if cover.items is None:
        return WordChange(None, cover.proven)
    occurrences = np.bincount(changes.name_of, changes.located.counts).astype(np.int64)
    words = tuple((changes.names[number], int(occurrences[number])) for number in cover.items)
    return WordChange(words, cover.proven, changes.probability(cover.items))


def addition(changes: _ChangedDocument) -> WordChange:
    """Return the fewest occurrences of single terms, as far as the search goes."""
    candidates = _candidates(changes)
    if candidates is None:
        return WordChange(None, smallest=False)
    words, nearer, ahead, least = candidates
    additive = _adds_up(changes.model) and changes.model.settings.char_ngrams is None
    added = _addition_by_sums(words, nearer, ahead) if additive else None
    if not additive or (added is not None and not changes.gaps([added])[0] < -MARGIN):  # a term rules the class out, or it is nearly a tie
        additive, budget = False, max(BYTES_ADDED_TO // max(len(changes.text), 1), CANDIDATES_ADDED)
        added = _greedy_addition(words[:budget], changes.gaps, budget)
    if added is None:
        return WordChange(None, smallest=False)
    smallest = len(added) == 1 or (additive and len(added) <= least)
    return WordChange(tuple(Counter(added).items()), smallest, changes.probability(added))


def smallest_cover(gains: Floats, needs: Floats, most_nodes: int = MOST_NODES) -> _Cover:
    """Return the fewest items whose gains, shape (n_items, n_respects), sum to the needs, shape (n_respects,), or to more.

    Gains may be negative, and a need that is not positive must still be kept. ``most_nodes`` bounds the search for all sizes together.
    """
    if np.all(needs <= 0):
        return _Cover((), proven=True)
    useful = np.flatnonzero((gains > 0).any(axis=1))
    gains = gains[useful]
    reached = np.cumsum(-np.sort(-np.maximum(gains, 0), axis=0), axis=0) >= needs  # by the best 1, 2, … items in each respect
    if not reached.size or not reached[-1].all():
        return _Cover(None, proven=True)
    found: Sequence[int] | None = _greedy_by_sums(gains, needs, len(gains), again=False)
    least = int(np.where(needs > 0, reached.argmax(axis=0) + 1, 0).max())
    nodes, proven, smaller = iter(range(most_nodes)), True, None
    try:
        for size in range(least, len(gains) + 1 if found is None else len(found)):
            proven = size <= MOST_DEEP
            smaller = _cover_of_size(gains, needs, size, np.ones(len(gains), np.bool_), nodes) if proven else None
            if smaller is not None or not proven:
                break
    except StopIteration:
        proven = False
    found = found if smaller is None else smaller
    return _Cover(None if found is None else tuple(sorted(useful[list(found)].tolist())), proven)


def _cover_of_size(gains: Floats, missing: Floats, size: int, left: Mask, nodes: Iterator[int]) -> tuple[int, ...] | None:
    """Return at most ``size`` of the items that are left that gain what is missing; raise `StopIteration` when the nodes are used up."""
    if np.all(missing <= 0):
        return ()
    next(nodes)
    places = np.flatnonzero(left)
    if not size or not places.size:
        return None
    positive, k = np.maximum(gains[places], 0), min(size, places.size)
    best = np.partition(positive, places.size - k, axis=0)[places.size - k :].sum(axis=0)
    if np.any(best < missing):
        return None
    needed = np.flatnonzero(missing > 0)
    hardest = int(needed[(missing[needed] / best[needed]).argmax()])
    left = left.copy()
    for item in places[np.argsort(-positive[:, hardest], kind="stable")].tolist():
        if size * gains[item, hardest] < missing[hardest]:
            return None
        left[item] = False
        rest = _cover_of_size(gains, missing - gains[item], size - 1, left, nodes)
        if rest is not None:
            return item, *rest
    return None


def _smallest_by_trying(items: Sequence[int], gaps: Gaps, budget: int) -> _Cover:
    """Return the smallest set of items that closes the gap, as far as about ``budget`` sets tried out tell.

    Single items, a greedy set, then all sets that are smaller than it, size by size.
    """
    alone = gaps([(item,) for item in items])
    if alone.size and alone.min() < -MARGIN:
        return _Cover((items[int(alone.argmin())],), proven=True)
    order = [items[place] for place in np.argsort(alone, kind="stable").tolist()]
    greedy, tried = _greedy_set(order, gaps, budget // 2), len(items)
    for size in range(2, len(items) + 1 if greedy is None else len(greedy)):
        tried += comb(len(items), size)
        if tried > budget:
            return _Cover(greedy, proven=False)
        remaining = combinations(order, size)
        while sets := list(islice(remaining, TRIED_AT_ONCE)):
            found = gaps(sets)
            if found.min() < -MARGIN:
                return _Cover(tuple(sorted(sets[int(found.argmin())])), proven=True)
    return _Cover(greedy, proven=True)


def _greedy_set(order: Sequence[int], gaps: Gaps, budget: int) -> tuple[int, ...] | None:
    """Return greedily chosen items, else all, without those that are not needed; None if all are not enough."""
    chosen, gap = tuple[int, ...](), inf
    while budget > 0 and not gap < -MARGIN and len(chosen) < len(order):
        sets = [(*chosen, item) for item in islice((item for item in order if item not in chosen), CANDIDATES_REMOVED)]
        found = gaps(sets)
        budget -= len(sets)
        best = int(found.argmin())
        if not found[best] < gap and gap < inf:  # several words may have to go before the class is possible
            break
        chosen, gap = sets[best], float(found[best])
    if not gap < -MARGIN:
        chosen = tuple(order)
        if not order or not gaps([chosen])[0] < -MARGIN:
            return None
    for item in reversed(chosen):
        fewer = tuple(other for other in chosen if other != item)
        if fewer and gaps([fewer])[0] < -MARGIN:
            chosen = fewer
    return tuple(sorted(chosen))


def _greedy_addition(words: Sequence[str], gaps: Gaps, budget: int) -> tuple[str, ...] | None:
    """Choose the word that leaves the smallest gap, also several times, until it is closed or about ``budget`` sets were tried; None if it stays open."""
    chosen, gap = tuple[str, ...](), float(gaps([()])[0])
    while budget > 0 and not gap < -MARGIN and len(chosen) < MOST_ADDED:
        sets = [tuple(sorted((*chosen, word), key=(*chosen, word).index)) for word in words]  # equal ones stand together
        found = gaps(sets)
        budget -= len(sets)
        order = np.argsort(found, kind="stable")[:CANDIDATES_ADDED].tolist()
        if not found[order[0]] < gap:
            return None
        chosen, gap = sets[order[0]], float(found[order[0]])
        words = [words[place] for place in order]
    return chosen if gap < -MARGIN else None


def _greedy_by_sums(gains: Floats, needs: Floats, most: int, *, again: bool) -> list[int] | None:
    """Choose the item that leaves least missing, summed over respects, at most ``most`` times; None if something is missing then.

    If ``again``, an item may be chosen several times. Otherwise the items that turn out not to be needed are left out in the end.
    """
    missing, chosen, taken = needs, list[int](), np.zeros(len(gains))
    while np.any(missing > 0):
        after = np.maximum(missing - gains, 0).sum(axis=1) + taken
        best = int(after.argmin())
        if len(chosen) == most or (again and not after[best] < np.maximum(missing, 0).sum()):
            return None
        chosen.append(best)
        taken[best] = 0 if again else inf
        missing = missing - gains[best]
    for item in () if again else tuple(chosen):
        if np.all(missing + gains[item] <= 0):
            chosen.remove(item)
            missing = missing + gains[item]
    return chosen


def _removal_by_sums(changes: _ChangedDocument, eligible: Whole) -> _Cover | None:
    """Return the smallest set of the ``eligible`` words by their parts in the scores; None if these do not add up."""
    model, located, rivals, known = changes.model, changes.located, changes.rivals, changes.known
    matrix = changes.matrix.of_terms(model.learnt.selected).sorted()
    if model.settings.ngrams > 1 or matrix.terms.size * model.statistics.n_classes > MOST_CELLS:
        return None
    names, places = changes.name_of[located.words[known]], np.searchsorted(matrix.terms, located.terms[known])
    pairs, pair_of = np.unique(names * matrix.terms.size + places, return_inverse=True)
    if not _adds_up(model) and pairs.size > matrix.terms.size:
        return None
    parts = class_contributions(model.classifier.of_texts, matrix)
    if parts is None or changes.log_prior is None:
        return None
    of_names = np.zeros((len(changes.names), parts.shape[1]))
    names, places = np.divmod(pairs, matrix.terms.size)
    shares = np.bincount(pair_of, located.shares[known], minlength=pairs.size) / matrix.counts[places]
    np.add.at(of_names, names, shares[:, np.newaxis] * _possible(parts)[places])
    scores = changes.scores
    if not np.isfinite(scores[[changes.wanted, *rivals.tolist()]]).all():
        scores = _possible(changes.log_prior) + of_names.sum(axis=0)
    ahead = scores[rivals] - scores[changes.wanted]
    gains = of_names[eligible][:, rivals] - of_names[eligible][:, [changes.wanted]]
    barred = of_names[eligible, changes.wanted] <= RULED_OUT / 2  # words that rule the class out must all go
    nodes = min(MOST_NODES, MOST_WORK // max(gains.size, 1))
    cover = smallest_cover(np.column_stack((gains, barred)), np.append(ahead + MARGIN, np.count_nonzero(barred)), nodes)
    return cover if cover.items is None else cover._replace(items=tuple(eligible[list(cover.items)].tolist()))


def _candidates(changes: _ChangedDocument) -> tuple[list[str], Floats, Floats, int] | None:
    """Return the terms that help most against the rival furthest ahead, against all rivals that are ahead, or against all; None if there are none.

    As words; then in nats what an occurrence brings the wanted class nearer to each rival, shape (n_candidates, n_rivals), and what the rivals are
    ahead, shape (n_rivals,); and how many occurrences are needed at least if scores are sums over them.
    """
    model, wanted, rivals = changes.model, changes.wanted, changes.rivals
    scores = _possible(changes.scores)
    ahead = scores[rivals] - scores[wanted] + MARGIN
    before = ahead > 0
    statistics, known = model.statistics, model.learnt.selected[: model.statistics.vocabulary.n_single]
    all_terms = np.count_nonzero(known) * statistics.n_classes <= MOST_WEIGHTS
    if not all_terms:
        held = statistics.cell_terms[statistics.cell_classes == wanted]
        known = known & np.isin(np.arange(known.size), held)
    terms = np.flatnonzero(known)
    if not terms.size or not before.any():
        return None

    linear = model.classifier.of_texts.linear

    def nearer(terms: Whole) -> Floats:
        """Return what an occurrence of each term brings, shape (n, n_rivals); only about that if it depends on other terms."""
        weights = _possible(model.language_models.log_probability(terms) if linear is None else linear.weights(terms))
        weights = np.pad(weights, ((0, 0), (0, changes.scores.size - weights.shape[1])))  # 0 for the rest
        return weights[:, [wanted]] - weights[:, rivals]

    parts, most = [], np.full(np.count_nonzero(before), -np.inf)
    for block in in_blocks(terms, statistics.n_classes, TERM_WEIGHTS_AT_ONCE):
        gains = nearer(block)
        parts.append(
            np.stack((gains[:, ahead.argmax()], (gains[:, before] / ahead[before]).min(axis=1), gains.min(axis=1)))
        )  # no views, which would keep all gains
        most = np.maximum(most, gains[:, before].max(axis=0))
    aims = np.concatenate(parts, axis=1)
    best = dict.fromkeys(np.argsort(-aims, axis=1, kind="stable")[:, : 4 * CANDIDATES_ADDED].ravel().tolist())
    words = {term: word for term in terms[list(best)].tolist() if (word := changes.as_word(term)) is not None}
    chosen = dict(islice(words.items(), 6 * CANDIDATES_ADDED))
    if not chosen:
        return None
    least = 0 if not all_terms else int(np.ceil(ahead[before] / most).max()) if np.all(most > 0) else MOST_ADDED + 1
    return list(chosen.values()), nearer(np.array(list(chosen), np.int64)), ahead, least


def _addition_by_sums(words: Sequence[str], nearer: Floats, ahead: Floats) -> tuple[str, ...] | None:
    """Return the fewest occurrences of one term, or greedily chosen terms if these are fewer; None if neither is enough."""
    greedy = _greedy_by_sums(nearer, ahead, MOST_ADDED, again=True)
    before = ahead > 0
    helpful = np.flatnonzero(np.all(nearer[:, before] > 0, axis=1))
    times = np.ceil(ahead[before] / nearer[helpful][:, before]).max(axis=1)
    enough = np.all(ahead - times[:, np.newaxis] * nearer[helpful] <= 0, axis=1) & (times <= MOST_ADDED)
    if enough.any():
        best = int(np.where(enough, times, np.inf).argmin())
        if greedy is None or times[best] <= len(greedy):
            return (words[helpful[best]],) * int(times[best])
    return None if greedy is None else tuple(words[number] for number in greedy)


def _adds_up(model: FittedModel) -> bool:
    """Return whether scores are sums over the occurrences of terms, whatever else the document holds."""
    return model.classifier.of_texts.adds_occurrences() and model.settings.ngrams == 1 and not model.several_labels


def _possible(nats: Floats) -> Floats:
    """Return the same with `RULED_OUT` for log 0."""
    return np.where(nats == -np.inf, RULED_OUT, nats)
