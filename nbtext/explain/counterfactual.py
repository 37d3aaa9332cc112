"""Counterfactual explanations: words whose removal makes the model predict a wanted label.

`nbtext explain --why-not` prints them. The search has two steps:

1. Remove the word that adds most against the label, with all its occurrences, and score the
   document again, until the label is predicted. Remove at most `MAX_REMOVED_WORDS` words. A word
   adds its contribution to the log odds of the leading class over the label
   (`nbtext.explain.contributions`). Of equal words, the first is removed.
2. Put back a word if the label is still predicted with it. The last removed words are tried first.
   Repeat this until no word can be put back.

So the removal of the words is sufficient, and the removal of each word is necessary: if one word is
put back, the label is not predicted. The search may miss a smaller set, or the only set of words.
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
"""A longer list would not explain the prediction to a reader."""

ALREADY_PREDICTED = "already-predicted"
"""The label is predicted already."""
ZERO_PRIOR = "no-prior"
"""The prior probability of the label is 0, so no text makes it the prediction."""
NOT_ENOUGH = "not-enough"
"""The label is not predicted, even if `MAX_REMOVED_WORDS` or all words against it are removed."""


@dataclass(frozen=True, slots=True)
class WhyNotResult:
    """The prediction for a document, and the words whose removal leads to the wanted label."""

    id: str
    wanted: str
    label: str | None = None
    """The predicted label, or the labels of a set joined as text. None without a prediction."""
    probability: float | None = None
    wanted_probability: float | None = None
    reason: str | None = None
    """Why there are no words: `ALREADY_PREDICTED`, `ZERO_PRIOR` or `NOT_ENOUGH`."""
    removed_words: dict[str, int] | None = None
    """Each word with its number of occurrences, in the order of removal."""
    probability_without: float | None = None
    """Probability of the wanted label after the words were removed."""
    problem: DocumentError | None = None


class WhyNotFinder:
    """Search for the words whose removal makes the model predict a label."""

    def __init__(self, model: FittedModel, wanted: str) -> None:
        """Raise `UsageError` if the model does not have the label ``wanted``."""
        self._model = model
        self._wanted = wanted
        self._wanted_index = find_class_index(model, wanted)
        self._tracer = TokenTracer.from_model(model)

    def find(self, documents: Iterable[Document]) -> Iterator[WhyNotResult]:
        """Yield one result for each document, in order."""
        return map(self._find_words, documents)

    def _find_words(self, document: Document) -> WhyNotResult:
        if document.problem is not None:
            return WhyNotResult(document.id, self._wanted, problem=document.problem)
        words = self._tracer.locate_words(document.text, document.fields)
        reduced = self._remove([], words, document)  # nothing is removed yet
        labels = reduced.answer.labels
        result = WhyNotResult(
            document.id,
            self._wanted,
            label=LABEL_SEPARATOR.join(labels) or None,
            probability=reduced.answer.probability,
            wanted_probability=reduced.wanted_probability,
        )
        if self._wanted in labels:
            return replace(result, reason=ALREADY_PREDICTED)
        if self._model.classifier.prior[self._wanted_index] == 0:
            return replace(result, reason=ZERO_PRIOR)
        while not reduced.is_wanted_predicted:
            word = self._find_strongest_opponent(reduced)
            if word is None or len(reduced.removed) == MAX_REMOVED_WORDS:
                return replace(result, reason=NOT_ENOUGH)
            reduced = self._remove([*reduced.removed, word], words, document)
        reduced = self._put_back_unneeded(reduced, words, document)
        return replace(
            result,
            removed_words=words.count_occurrences(reduced.removed),
            probability_without=reduced.wanted_probability,
        )

    def _remove(self, removed: Names, words: LocatedWords, document: Document) -> _ReducedDocument:
        """Score a document without the ``removed`` words, but with all its attributes."""
        remaining = self._tracer.clear_words(words, removed)
        empty_document = self._model.count_texts([b""], values=[document.values])
        counts = remaining.to_matrix(empty_document)
        block = ScoredBlock([document], *self._model.score_counts(counts))
        [answer] = iter_answers([block], self._model, DecisionRule())
        return _ReducedDocument(
            removed=removed,
            words=remaining,
            counts=counts,
            scores=block.scores,
            answer=answer,
            wanted_probability=float(np.exp(block.log_posterior[0, self._wanted_index])),
            is_wanted_predicted=self._wanted in answer.labels,
        )

    def _find_strongest_opponent(self, reduced: _ReducedDocument) -> str | None:
        """Return the word that adds most against the label, or None if no word does."""
        posterior = self._model.posterior_type(reduced.scores)  # only the order matters
        [rival] = posterior.find_rivals(np.array([self._wanted_index])).tolist()
        contributions, _, _ = compute_word_contributions(
            self._model, reduced.words, reduced.counts, (self._wanted_index, rival)
        )
        names, name_indices = reduced.words.group_surface_words()
        if not names:
            return None
        name_contributions = np.bincount(name_indices, contributions, len(names))
        # A word that makes both classes impossible has nan, which `argmin` finds first.
        strongest = int(name_contributions.argmin())
        if name_contributions[strongest] >= 0:
            return None
        return names[strongest]

    def _put_back_unneeded(
        self, reduced: _ReducedDocument, words: LocatedWords, document: Document
    ) -> _ReducedDocument:
        """Return the document with all words whose removal is not necessary."""
        for word in reversed(reduced.removed):
            remaining = [name for name in reduced.removed if name != word]
            candidate = self._remove(remaining, words, document)
            if candidate.is_wanted_predicted:
                return self._put_back_unneeded(candidate, words, document)
        return reduced


class _ReducedDocument(NamedTuple):
    """A document without the ``removed`` words, and its prediction."""

    removed: Names
    words: LocatedWords
    counts: DocumentTermMatrix
    scores: Floats
    answer: Answer
    wanted_probability: float
    is_wanted_predicted: bool
