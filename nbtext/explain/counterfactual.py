"""Words without which a document would get a label, found one after the other.

1. Take out the word that speaks most against the label, with all its occurrences, and score the document again, until
   the label is predicted; take out at most `MAX_REMOVED_WORDS` words. What a word says against the label is its part of the
   log odds of the class that is ahead over the label (`nbtext.explain.contributions`). Of equals the first one goes.
2. Put back a word without whose removal the label is predicted too, the last one first, until there is no such word.

So the words suffice, and each is needed: with any one of them back the label is not predicted. Fewer words may suffice
as well, and where none are found there may be some.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.explain.contributions import compute_word_contributions
from nbtext.explain.explanation import find_class_index
from nbtext.explain.token_trace import LocatedWords, TokenTracer
from nbtext.prediction.labels import LABEL_SEPARATOR
from nbtext.prediction.rule import DecisionRule
from nbtext.scoring import Answer, ScoredBlock, iter_answers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nbtext.corpus.document import Document
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.errors import DocumentError
    from nbtext.fitted_model import FittedModel
    from nbtext.type_names import Floats, Names

MAX_REMOVED_WORDS = 20
"""Words that are taken out of a document; more would not tell a reader what the prediction depends on."""

ALREADY_PREDICTED = "answered-so"
"""The label is predicted already."""
ZERO_PRIOR = "no-prior"
"""The prior probability of the label is 0, whatever a document holds."""
NOT_ENOUGH = "not-enough"
"""The label is not predicted without `MAX_REMOVED_WORDS` words either, or without all that speak against it."""


@dataclass(frozen=True, slots=True)
class WhyNotResult:
    """What is predicted for a document, and the words without which the wanted label would be predicted."""

    id: str
    wanted: str
    label: str | None = None
    """What is predicted, several labels as people read them; None if nothing is."""
    probability: float | None = None
    wanted_probability: float | None = None
    reason: str | None = None
    """Why there are no words: `ALREADY_PREDICTED`, `ZERO_PRIOR` or `NOT_ENOUGH`."""
    removed_words: dict[str, int] | None = None
    """Each with its number of occurrences, in the order in which they were taken out."""
    probability_without: float | None = None
    """Of the wanted label, without the words."""
    problem: DocumentError | None = None


class WhyNotFinder:
    """Finds the words without which a label would be predicted; raises `UsageError` if the model does not have the label."""

    def __init__(self, model: FittedModel, wanted: str) -> None:
        self._model = model
        self._wanted = wanted
        self._number = find_class_index(model, wanted)
        self._walker = TokenTracer.from_model(model)

    def find(self, documents: Iterable[Document]) -> Iterator[WhyNotResult]:
        """Yield one for each document, in order."""
        return map(self._why_not, documents)

    def _why_not(self, document: Document) -> WhyNotResult:
        if document.problem is not None:
            return WhyNotResult(document.id, self._wanted, problem=document.problem)
        words = self._walker.locate_words(document.text, document.fields)
        rest = self._without([], words, document)
        labels = rest.answer.labels
        shown = LABEL_SEPARATOR.join(labels) or None
        found = WhyNotResult(
            document.id, self._wanted, shown, rest.answer.probability, rest.probability
        )
        if self._wanted in labels:
            return replace(found, reason=ALREADY_PREDICTED)
        if self._model.classifier.prior[self._number] == 0:
            return replace(found, reason=ZERO_PRIOR)
        while not rest.is_predicted:
            word = self._most_against(rest)
            if word is None or len(rest.gone) == MAX_REMOVED_WORDS:
                return replace(found, reason=NOT_ENOUGH)
            rest = self._without([*rest.gone, word], words, document)
        rest = self._without_needed(rest, words, document)
        return replace(
            found,
            removed_words=words.count_occurrences(rest.gone),
            probability_without=rest.probability,
        )

    def _without(self, gone: Names, words: LocatedWords, document: Document) -> _Rest:
        """Return a document without some words, scored as any other; its values beside the text stay."""
        left = self._walker.clear_words(words, gone)
        counts = left.to_matrix(self._model.count_texts([b""], values=[document.values]))
        block = ScoredBlock([document], *self._model.score_counts(counts))
        [answer] = iter_answers([block], self._model, DecisionRule())
        probability = float(np.exp(block.log_posterior[0, self._number]))
        return _Rest(
            gone, left, counts, block.scores, answer, probability, self._wanted in answer.labels
        )

    def _most_against(self, rest: _Rest) -> str | None:
        """Return the word that speaks most against the label; None if no word does."""
        [rival] = (
            self._model.posterior_type(rest.scores).find_rivals(np.array([self._number])).tolist()
        )
        nats = compute_word_contributions(
            self._model, rest.words, rest.counts, (self._number, rival)
        )[0]
        names, name_of = rest.words.group_surface_words()
        of_names = np.bincount(name_of + 1, nats, len(names) + 1)  # the first is of no word: 0
        return [None, *names][
            of_names.argmin()
        ]  # nan, of a word that rules out both classes, is the least

    def _without_needed(self, rest: _Rest, words: LocatedWords, document: Document) -> _Rest:
        """Return a document with those words back that need not go."""
        for word in reversed(rest.gone):
            fewer = self._without([each for each in rest.gone if each != word], words, document)
            if fewer.is_predicted:
                return self._without_needed(fewer, words, document)
        return rest


class _Rest(NamedTuple):
    """A document without some of its words, and what the model makes of it."""

    gone: Names
    words: LocatedWords
    counts: DocumentTermMatrix
    scores: Floats
    answer: Answer
    probability: float
    """Of the wanted label."""
    is_predicted: bool
    """Whether the wanted label is predicted."""
