"""The explanation of an answer: what each word of a document adds to the log odds of the answer over another class.

With s_k the score of class k, the log odds s_a − s_b before calibration are the sum of the difference of the priors and the contributions of
words and attributes (`nbtext.explain.contributions`). Where these do not add up, the rest is part of the explanation. For a document that maximum
likelihood makes impossible in every class, the explanation is one thing for each class that rules it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, inf, isinf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document, collect_contents
from nbtext.counts.vocabulary import display_term
from nbtext.errors import DocumentError, UsageError, unknown_class_error
from nbtext.explain.contributions import (
    compute_pair_log_odds,
    compute_word_contributions,
    find_impossible_terms,
    score_attributes,
)
from nbtext.explain.token_trace import LocatedWords, TokenTracer
from nbtext.prediction.labels import REST_INDEX, REST_NAME, DocumentLabels, single_label_table
from nbtext.prediction.rule import NO_PREDICTION, DecisionRule
from nbtext.ragged import compute_offsets
from nbtext.scoring import IMPOSSIBLE, ScoredBlock, explain_missing_terms, score_documents
from nbtext.text.analyzer import UNKNOWN_TERM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.fitted_model import FittedModel
    from nbtext.type_names import Floats, Ints

WORD = "word"
ATTRIBUTE = "attribute"
PRIOR = "prior"
LACKING = "lacking"
"""Causes that rule a class out: a word, the value of an attribute, the class prior, a word that all training documents of the class hold."""


@dataclass(frozen=True, slots=True)
class RuledOutClass:
    """A class, and one thing that rules it out; there may be others."""

    label: str
    cause: str
    """`WORD`, `ATTRIBUTE`, `PRIOR` or `LACKING`."""
    name: str | None = None
    """The first such word or words of the text, case-folded, or the name of the attribute."""
    term: str | None = None
    value: str | None = None


class WordContribution(NamedTuple):
    """A surface word of a document, case-folded, all its occurrences, and what it adds."""

    word: str
    nats: float
    """Its part of the log odds; inf if it rules the other class out."""
    occurrences: int
    spans: Ints
    """Where each occurrence begins and ends, in bytes of the text after reading, shape (n, 2)."""
    terms: tuple[str, ...]
    """The terms of the model that it becomes by itself."""
    drop_reason: str | None
    """Why it does not count by itself, as a constant of `nbtext.explain.token_trace`."""
    unlabelled_proportion: float | None = None
    """The share of the counts of its terms that unlabelled documents added; None if the model learnt from none, or has no such term."""
    seed_proportion: float | None = None
    """The share that is from seed words; None if the model has none, or has no such term."""


@dataclass(frozen=True, slots=True)
class _AttributeContribution:
    """The value of an attribute, and what it adds, in nats."""

    name: str
    value: str
    nats: float


@dataclass(frozen=True, slots=True)
class _CalibrationSteps:
    """The log odds on their way from scores to probabilities, in nats."""

    on_scale: float
    """Of the scores on the scale of log probabilities; other than the scores only for complement naive Bayes."""
    temperature: float | None
    """Their divisor; None of several labels, which are calibrated together."""
    log_odds: float
    """log p(answer | d) − log p(against | d)."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A document's answer, the class it is compared with, and what made the difference, in nats."""

    id: str
    text: str
    """After reading; fields follow it as lines."""
    label: str
    probability: float
    against: str
    against_probability: float
    log_odds: float
    """Of the scores, before calibration: the sum of prior, words, attributes and rest."""
    prior: float
    """Without any term: the log class priors; with Bernoulli also what the absence of every term adds, with logistic regression the intercepts."""
    words: tuple[WordContribution, ...]
    attributes: tuple[_AttributeContribution, ...]
    remainder: float | None
    """The difference if the parts do not add up; None if they do."""
    calibration: _CalibrationSteps


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """A document with the explanation of its answer, or why there is none."""

    id: str
    explanation: Explanation | None
    abstention: str | None = None
    problem: DocumentError | None = None
    notice: str | None = None
    """Why the answer is that to an empty document, None where it is not."""
    ruled_out_classes: tuple[RuledOutClass, ...] = ()
    """For a document that is impossible in every class: for each class one thing that rules it out."""

    @property
    def missing_reason(self) -> str:
        """Why there is no answer."""
        return self.problem.line if self.problem else str(self.abstention)


class Explainer:
    """Explains the answers of a model, against their runners-up or against one class; raises `UsageError` if there is no such class."""

    def __init__(self, model: FittedModel, compared_class: str | None = None) -> None:
        self._model = model
        self._classes = [*model.classes, REST_NAME]
        if len(model.classes) < model.posterior_type.min_labels:
            raise UsageError("the model has a single class: there is nothing to compare it with")
        self._against = None if compared_class is None else find_class_index(model, compared_class)
        self._walker = TokenTracer.from_model(model)

    def explain(self, documents: Iterable[Document]) -> Iterator[ExplainedDocument]:
        """Yield one for each document, in order, or of several labels one for each label of its answer, against the rest.

        If the class to compare with is the answer itself, its runner-up takes its place, or the rest.
        """
        for block in score_documents(self._model, documents):
            answers = block.posterior.decide(DecisionRule()).predictions
            predicted = block.posterior.predict(DecisionRule())
            rivals = block.posterior.find_rivals(np.maximum(answers, 0))
            if self._against is not None:
                predicted = DocumentLabels(answers, single_label_table(len(self._model.classes)))
                rivals = np.where(answers == self._against, rivals, self._against)
            matrix = self._model.count_texts(*collect_contents(block.documents))
            for row, document in enumerate(block.documents):
                if document.problem is not None:
                    yield ExplainedDocument(document.id, None, problem=document.problem)
                    continue
                _, labels = predicted[row : row + 1].to_pairs()
                for label in labels.tolist() or answers[[row]].tolist():
                    yield self._explained(
                        block, row, matrix.take(np.array([row])), (label, int(rivals[row]))
                    )

    def _explained(
        self, block: ScoredBlock, row: int, matrix: DocumentTermMatrix, pair: tuple[int, int]
    ) -> ExplainedDocument:
        model, document, (answer, rival) = self._model, block.documents[row], pair
        located = self._walker.locate_words(document.text, document.fields, splits_pairs=True)
        if answer == NO_PREDICTION:
            return ExplainedDocument(
                document.id,
                None,
                IMPOSSIBLE,
                ruled_out_classes=ruled_out(model, located, matrix, document.values),
            )
        nats, prior, exact = compute_word_contributions(model, located, matrix, pair)
        words = self._words(located, nats)
        del located, nats  # of a long text they take more memory than all that follows
        attributes = tuple(
            _AttributeContribution(
                name, value, float(compute_pair_log_odds(added[np.newaxis], pair)[0])
            )
            for name, value, added in score_attributes(model, matrix, document.values)
        )
        scores, posterior = (
            np.append(nats[row], 0.0) for nats in (block.scores, block.log_posterior)
        )
        with np.errstate(divide="ignore"):
            posterior[REST_INDEX] = np.log(-np.expm1(posterior[answer]))
        known = [
            prior,
            *(word.nats for word in words),
            *(attribute.nats for attribute in attributes),
        ]
        if scores[rival] == -inf and not any(map(isinf, known)):
            # A term that the document lacks rules out the other class: only under Bernoulli without
            # smoothing.
            prior = known[0] = inf
        total = fsum(known) if exact else float(scores[answer] - scores[rival])
        of_answer, of_rival = (
            (self._classes[number], float(np.exp(posterior[number]))) for number in pair
        )
        rest = None
        if not exact:
            rest = 0.0 if isinf(total) else total - fsum(known)
        steps = self._calibration(block, row, pair, posterior)
        found = Explanation(
            document.id,
            document.display_text,
            *of_answer,
            *of_rival,
            total,
            prior,
            words,
            attributes,
            rest,
            steps,
        )
        return ExplainedDocument(
            document.id,
            found,
            notice=None if block.lengths[row] else explain_missing_terms(document),
        )

    def _words(self, located: LocatedWords, nats: Floats) -> tuple[WordContribution, ...]:
        """Return the surface words with all their occurrences, in the order of the first."""
        names, name_of = located.group_surface_words()
        order = np.argsort(name_of, kind="stable")
        bounds = compute_offsets(np.bincount(name_of, minlength=len(names)))
        occurrences = (
            np.bincount(name_of, located.word_counts, len(names)).astype(np.int64).tolist()
        )
        spans = np.stack((located.starts.take(order), located.ends.take(order)), axis=1)
        ordered = nats[order]
        forms = located.form_indices[order[bounds[:-1]]].tolist()
        found = []
        for name, form, times, begin, end in zip(
            names, forms, occurrences, bounds.tolist(), bounds[1:].tolist(), strict=False
        ):
            known = [number for number in located.forms[form].term_ids if number != UNKNOWN_TERM]
            terms = tuple(
                display_term(self._model.statistics.vocabulary.get_term(number)) for number in known
            )
            total = fsum(ordered[begin:end].tolist())
            found.append(
                WordContribution(
                    name,
                    total,
                    times,
                    spans[begin:end],
                    terms,
                    located.forms[form].drop_reason,
                    *self._shares(known),
                )
            )
        return tuple(found)

    def _shares(self, terms: Sequence[int]) -> tuple[float | None, float | None]:
        """Return the shares of the counts of terms that unlabelled documents and seed words added, each None if the model has no such layer."""
        statistics = self._model.statistics
        counts = self._model.counts
        if not terms:
            return None, None
        layers = statistics, statistics.observed_counts, counts.labelled_statistics
        whole, observed, labelled = (
            each.get_dense_counts(np.array(terms)).sum() for each in layers
        )
        seeds, unlabelled = (
            float((one - other) / whole) if whole else 0.0
            for one, other in ((whole, observed), (observed, labelled))
        )
        return (
            unlabelled if counts.uses_unlabelled else None,
            seeds if statistics.weights.seeds else None,
        )

    def _calibration(
        self, block: ScoredBlock, row: int, pair: tuple[int, int], posterior: Floats
    ) -> _CalibrationSteps:
        calibration = self._model.parameters.calibration
        lengths = block.lengths[row : row + 1]
        on_scale = self._model.classifier.to_log_scale(block.scores[row : row + 1], lengths)[0]
        before, after = (
            float(nats[pair[0]] - nats[pair[1]]) for nats in (np.append(on_scale, 0.0), posterior)
        )
        return _CalibrationSteps(before, calibration.get_common_temperature(lengths), after)


def find_class_index(model: FittedModel, label: str) -> int:
    """Return the number of a class; raise `UsageError` if the model has none of that name."""
    if label not in model.classes:
        raise unknown_class_error(label, model.classes)
    return model.classes.index(label)


def ruled_out(
    model: FittedModel, located: LocatedWords, matrix: DocumentTermMatrix, given: Sequence[str]
) -> tuple[RuledOutClass, ...]:
    """Return for each class, in order, what rules it out: the first such word of the text if there is one, else one of the values given.

    ``matrix`` holds the document alone.
    """
    distinct, first = np.unique(
        located.term_ids[np.argsort(located.word_indices, kind="stable")], return_index=True
    )
    terms = distinct[np.argsort(first)]
    terms = terms[np.isin(terms, matrix.terms)]
    places = find_impossible_terms(model.text_classifier, terms, len(model.classes)).tolist()
    values = [
        (name, value, np.isneginf(scores))
        for name, value, scores in score_attributes(model, matrix, given)
    ]
    found = []
    for number, (label, place) in enumerate(zip(model.classes, places, strict=True)):
        named = next(
            ((name, value) for name, value, impossible in values if impossible[number]), None
        )
        if place >= 0:
            first_part = int(np.flatnonzero(located.term_ids == terms[place])[0])
            n_words = max(round(1 / float(located.weights[first_part])), 1)
            words = " ".join(
                located.forms[form].name
                for form in located.form_indices[
                    located.word_indices[first_part : first_part + n_words]
                ].tolist()
            )
            found.append(
                RuledOutClass(
                    label,
                    WORD,
                    words,
                    display_term(model.statistics.vocabulary.get_term(int(terms[place]))),
                )
            )
        elif named is not None:
            found.append(RuledOutClass(label, ATTRIBUTE, named[0], value=named[1]))
        else:
            found.append(
                RuledOutClass(label, LACKING if model.classifier.prior[number] > 0 else PRIOR)
            )
    return tuple(found)
