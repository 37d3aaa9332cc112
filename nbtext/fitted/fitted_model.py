"""`FittedModel`: what a trained model is, and what follows from it: the sum of its layers, the classifier, scores."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.counting import Analysis, InTurn, document_counter
from nbtext.counts.layers import estimated
from nbtext.counts.matrix import TERM_WEIGHTS_AT_ONCE, DocumentTermMatrix
from nbtext.counts.statistics import ClassStatistics, whole_or_float
from nbtext.counts.vocabulary import is_category
from nbtext.fitted.learnt import Learnt, classifier, dropped_terms, language_models
from nbtext.label_sets import REST, THE_REST
from nbtext.records import dataclass
from nbtext.text_block import BLOCK_DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.classifiers.base import Classifier
    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.settings import Settings
    from nbtext.type_names import Fields, Floats, Mask, Numbers, Whole


class ScoredTexts(NamedTuple):
    """Scores of some texts; the first two of shape (n_docs, n_classes), the others (n_docs,)."""

    scores: Floats
    """log p(d, C_k), in nats."""
    log_posterior: Floats
    """log p(C_k | d), calibrated, in nats."""
    lengths: Whole
    """Tokens of terms that count."""
    unknown: Whole
    """Other tokens: of terms that the model does not know or that do not count."""


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Everything that a model file holds."""

    settings: Settings
    stop_list: Sequence[str]
    counts: CorpusCounts
    """Class statistics and sample."""
    learnt: Learnt
    """Selected terms, smoothing, calibration."""
    written_by: Mapping[str, str]
    """The versions of the packages that made it."""
    label_kind: str
    """One of `nbtext.model.given_texts.LABEL_KINDS`."""

    @cached_property
    def statistics(self) -> ClassStatistics:
        """The counts by class, documents and classes weighed as training weighs them."""
        return estimated(self.counts.statistics, self.learnt.weights)

    @property
    def several_labels(self) -> bool:
        """Whether documents may have several labels: probabilities of classes are then each of their own, and need not sum to 1."""
        return self.statistics.everything is not None

    @property
    def classes(self) -> list[str]:
        """The names of the classes, sorted: the order of all arrays by class."""
        return list(self.statistics.classes)

    @cached_property
    def classifier(self) -> Classifier:
        """The estimated model."""
        return classifier(self.statistics, self.learnt, self.settings)

    @cached_property
    def language_models(self) -> LanguageModels:
        """The language models of the classes, whatever the classifier."""
        return language_models(self.statistics, self.learnt, self.settings)

    @cached_property
    def text_terms(self) -> Mask:
        """The terms of texts, shape (n_terms,): all but categories, and those that `auto` does not keep."""
        vocabulary = self.statistics.vocabulary
        return ~is_category(vocabulary) & ~dropped_terms(vocabulary, self.settings, self.learnt.choices)

    @cached_property
    def class_tokens(self) -> Numbers:
        """Tokens of `text_terms` in each class, without class weights, shape (n_classes,)."""
        return self.counts.labelled.tokens_of(self.text_terms)

    @property
    def n_tokens(self) -> float:
        """Tokens of `text_terms` in all documents, without class weights."""
        labelled = self.counts.labelled
        return whole_or_float((labelled.everything or labelled).tokens_of(self.text_terms).sum())

    @property
    def analysis(self) -> Analysis:
        """How documents are counted to be answered: without what `auto` does not keep."""
        choices = self.learnt.choices
        return Analysis(self.settings, self.stop_list).as_chosen(stop_words_kept=choices.stop_words_kept, sides=choices.sides)

    @cached_property
    def counter(self) -> InTurn:
        """What counts documents to be answered."""
        return InTurn(partial(document_counter, self.analysis, self.statistics.vocabulary))

    @property
    def documents_at_once(self) -> int:
        """The most documents to score together; few if there are very many classes."""
        return max(min(BLOCK_DOCUMENTS, TERM_WEIGHTS_AT_ONCE // self.statistics.n_classes), 1)

    def score(self, texts: Sequence[bytes], fields: Sequence[Fields] = (), values: Sequence[Sequence[str]] = ()) -> ScoredTexts:
        """Score some documents, at most `documents_at_once`."""
        return self.score_counts(self.counter.count(texts, fields, values).matrix())

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Score the counts of some texts, at most `documents_at_once`."""
        scores, lengths = self.classifier.joint_log_likelihood(matrix)
        log_posterior = self.learnt.calibration.log_posterior(self.classifier.log_scale(scores, lengths), lengths)
        return ScoredTexts(scores, log_posterior, lengths, matrix.tokens - lengths)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out for pickle what is computed again: a stemmer cannot be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, eq=False)
class OneLabel(FittedModel):
    """A model of several labels that answers with one of them, if it is more probable than not, or with the rest.

    The probability of a label depends on the others, so scores are no sums: they are log probabilities.
    """

    number: int

    @property
    def classes(self) -> list[str]:
        """The names of the labels, and of the rest."""
        return [*super().classes, THE_REST]

    def score_counts(self, matrix: DocumentTermMatrix) -> ScoredTexts:
        """Return the probabilities of the label and of the rest, 0 for the others."""
        found = super().score_counts(matrix)
        both = np.full((matrix.n_documents, len(self.classes)), -inf)
        both[:, self.number] = found.log_posterior[:, self.number]
        with np.errstate(divide="ignore"):
            both[:, REST] = np.log(-np.expm1(both[:, self.number]))
        return found._replace(scores=both, log_posterior=both)
