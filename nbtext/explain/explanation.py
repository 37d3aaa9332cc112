"""Explanations of predictions: the contribution of each word to the log odds over another class.

With score s_k of class k, the log odds s_a − s_b before calibration are the difference of the log
priors plus the contributions of words and attributes (`nbtext.explain.contributions`). If this sum
is not exact, the explanation has a remainder. If maximum likelihood makes a document impossible in
every class, the explanation is one cause for each class. `nbtext explain` prints explanations.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import fsum, inf, isinf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.corpus.document import Document, collect_contents
from nbtext.counts.vocabulary import display_term
from nbtext.errors import DocumentError, UsageError, unknown_class_error
from nbtext.explain.contributions import (
    append_rest,
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
"""Cause: no training document of the class contains the word."""
ATTRIBUTE = "attribute"
"""Cause: no training document of the class has this value of an attribute."""
PRIOR = "prior"
"""Cause: the prior probability of the class is 0."""
LACKING = "lacking"
"""Cause: the document lacks a term that all training documents of the class contain."""


@dataclass(frozen=True, slots=True)
class RuledOutClass:
    """A class that is impossible for a document, and one of the causes."""

    label: str
    cause: str
    """`WORD`, `ATTRIBUTE`, `PRIOR` or `LACKING`."""
    name: str | None = None
    """For `WORD`, the first word or words of an n-gram, case-folded. For `ATTRIBUTE`, the name."""
    term: str | None = None
    """The term of the word or words."""
    value: str | None = None
    """The value of the attribute."""


class WordContribution(NamedTuple):
    """A surface word of a document with all its occurrences, and its contribution."""

    word: str
    """Case-folded."""
    nats: float
    """Contribution to the log odds. It is inf if the word makes the other class impossible."""
    occurrences: int
    spans: Ints
    """Start and end of each occurrence, in bytes of `Explanation.text`, shape (n, 2)."""
    terms: tuple[str, ...]
    """The terms that the word has in the model, without n-grams of several words."""
    drop_reason: str | None
    """Why the word itself does not count: a constant of `nbtext.explain.token_trace`, or None."""
    unlabelled_proportion: float | None = None
    """Proportion of the counts of its terms that come from unlabelled documents.

    None if the model used no unlabelled documents, or if the word has no terms in the model.
    """
    seed_proportion: float | None = None
    """Proportion of the counts of its terms that come from seed words.

    None if the model has no seed words, or if the word has no terms in the model.
    """


@dataclass(frozen=True, slots=True)
class AttributeContribution:
    """The value of an attribute, and its contribution in nats."""

    name: str
    value: str
    nats: float


@dataclass(frozen=True, slots=True)
class _CalibrationSteps:
    """The log odds of an explanation before and after calibration, in nats."""

    on_scale: float
    """Log odds of the scores on the scale of log probabilities.

    They differ from the log odds of the scores only for complement naive Bayes.
    """
    temperature: float | None
    """Divisor of ``on_scale``. None for multi-label models, which calibrate labels jointly."""
    log_odds: float
    """log p(answer | d) − log p(against | d), after calibration."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A predicted label, the class it is compared with, and the parts of the log odds, in nats."""

    id: str
    text: str
    """The text after reading. Fields follow it as lines."""
    label: str
    probability: float
    against: str
    """The class that the prediction is compared with."""
    against_probability: float
    log_odds: float
    """Log odds of the scores before calibration: prior + words + attributes + remainder."""
    prior: float
    """Log odds of a document without terms: the log odds of the class priors.

    With Bernoulli, they include the contributions of the absence of every term. With logistic
    regression, they are the difference of the intercepts.
    """
    words: tuple[WordContribution, ...]
    attributes: tuple[AttributeContribution, ...]
    remainder: float | None
    """Log odds minus the other parts. None if the parts are exact and add up."""
    calibration: _CalibrationSteps


@dataclass(frozen=True, slots=True)
class ExplainedDocument:
    """A document with the explanation of its prediction, or the reason why it has none."""

    id: str
    explanation: Explanation | None
    abstention: str | None = None
    """Why nothing was predicted, or None."""
    problem: DocumentError | None = None
    """Why the document could not be read, or None."""
    notice: str | None = None
    """Why the document was classified like an empty document, or None if it was not."""
    ruled_out_classes: tuple[RuledOutClass, ...] = ()
    """All classes, if the document is impossible in every class, else empty."""

    @property
    def missing_reason(self) -> str:
        """Why the document has no explanation."""
        return self.problem.line if self.problem else str(self.abstention)

    def _repr_html_(self) -> str:
        """Return the text with coloured words as HTML, for a notebook."""
        # The package above this one, which imports this module.
        page = import_module("nbtext.report.page.explanation_page")
        fragment: str = page.build_notebook_fragment(self)
        return fragment


class Explanations(list[ExplainedDocument]):
    """Explained documents in order. A notebook shows their texts with coloured words."""

    def _repr_html_(self) -> str:
        """Return the texts with coloured words as HTML, for a notebook."""
        return "".join(explained._repr_html_() for explained in self)


class Explainer:
    """Explanations of the predictions of a model, compared with runners-up or with one class."""

    def __init__(self, model: FittedModel, compared_class: str | None = None) -> None:
        """Raise `UsageError` if the model has only one class, or if it lacks ``compared_class``."""
        self._model = model
        self._classes = [*model.classes, REST_NAME]  # the last has the index `REST_INDEX`, −1
        if len(model.classes) < model.posterior_type.min_labels:
            raise UsageError("the model has a single class, so no other class can be compared")
        self._compared_index = None
        if compared_class is not None:
            self._compared_index = find_class_index(model, compared_class)
        self._tracer = TokenTracer.from_model(model)

    def explain(self, documents: Iterable[Document]) -> Iterator[ExplainedDocument]:
        """Yield one explanation per document, in order.

        For multi-label documents without a compared class, yield one explanation for each predicted
        label, compared with the rest: the documents without this label. If the compared class is
        itself the prediction, the prediction is compared with its runner-up or with the rest.
        """
        for block in score_documents(self._model, documents):
            answers = block.posterior.decide(DecisionRule()).predictions
            predicted = block.posterior.predict(DecisionRule())
            # A missing prediction, −1, is replaced by any class, because its rival is not used.
            rivals = block.posterior.find_rivals(np.maximum(answers, 0))
            if self._compared_index is not None:
                # Only the most probable label of a label set is explained.
                predicted = DocumentLabels(answers, single_label_table(len(self._model.classes)))
                rivals = np.where(answers == self._compared_index, rivals, self._compared_index)
            matrix = self._model.count_texts(*collect_contents(block.documents))
            for row, document in enumerate(block.documents):
                if document.problem is not None:
                    yield ExplainedDocument(document.id, explanation=None, problem=document.problem)
                    continue
                document_matrix = matrix.take(np.array([row]))
                rival = int(rivals[row])
                _, labels = predicted[row : row + 1].to_pairs()
                # For an empty label set, the most probable label is explained.
                for label in labels.tolist() or [int(answers[row])]:
                    yield self._explain_row(block, row, document_matrix, (label, rival))

    def _explain_row(
        self, block: ScoredBlock, row: int, matrix: DocumentTermMatrix, pair: tuple[int, int]
    ) -> ExplainedDocument:
        """Explain the first class of ``pair`` for one document, compared with the second class.

        ``matrix`` contains only this document. If the first class is `NO_PREDICTION`, explain why
        each class is impossible.
        """
        document = block.documents[row]
        words = self._tracer.locate_words(document.text, document.fields, splits_pairs=True)
        answer, _ = pair
        if answer == NO_PREDICTION:
            return ExplainedDocument(
                document.id,
                explanation=None,
                abstention=IMPOSSIBLE,
                ruled_out_classes=_find_causes(self._model, words, matrix, document.values),
            )
        contributions, prior, is_exact = compute_word_contributions(
            self._model, words, matrix, pair
        )
        word_contributions = self._group_words(words, contributions)
        del words, contributions  # large for a long text, and no longer used
        explanation = self._create_explanation(
            block,
            row,
            pair,
            prior=prior,
            words=word_contributions,
            attributes=self._explain_attributes(document, matrix, pair),
            is_exact=is_exact,
        )
        notice = None
        if not block.lengths[row]:
            notice = explain_missing_terms(document)
        return ExplainedDocument(document.id, explanation, notice=notice)

    def _explain_attributes(
        self, document: Document, matrix: DocumentTermMatrix, pair: tuple[int, int]
    ) -> tuple[AttributeContribution, ...]:
        contributions = []
        for name, value, scores in score_attributes(self._model, matrix, document.values):
            [nats] = compute_pair_log_odds(scores[np.newaxis], pair)
            contributions.append(AttributeContribution(name, value, float(nats)))
        return tuple(contributions)

    def _create_explanation(
        self,
        block: ScoredBlock,
        row: int,
        pair: tuple[int, int],
        *,
        prior: float,
        words: tuple[WordContribution, ...],
        attributes: tuple[AttributeContribution, ...],
        is_exact: bool,
    ) -> Explanation:
        """Add up the summands of the log odds. ``is_exact`` is True if they have no remainder."""
        answer, rival = pair
        scores = append_rest(block.scores[row])
        log_posterior = append_rest(block.log_posterior[row])
        with np.errstate(divide="ignore"):  # the rest has the probability 1 − p(answer | d)
            log_posterior[REST_INDEX] = np.log(-np.expm1(log_posterior[answer]))
        summands = [prior, *(word.nats for word in words), *(value.nats for value in attributes)]
        if scores[rival] == -inf and not any(isinf(summand) for summand in summands):
            # A term that the document lacks makes the rival impossible. This happens only with
            # Bernoulli without smoothing. The prior includes lacking terms.
            prior = inf
            summands[0] = prior
        remainder = None
        if is_exact:
            log_odds = fsum(summands)
        else:
            log_odds = float(scores[answer] - scores[rival])
            remainder = 0.0 if isinf(log_odds) else log_odds - fsum(summands)
        return Explanation(
            id=block.documents[row].id,
            text=block.documents[row].display_text,
            label=self._classes[answer],
            probability=float(np.exp(log_posterior[answer])),
            against=self._classes[rival],
            against_probability=float(np.exp(log_posterior[rival])),
            log_odds=log_odds,
            prior=prior,
            words=words,
            attributes=attributes,
            remainder=remainder,
            calibration=self._compute_calibration_steps(block, row, pair, log_posterior),
        )

    def _group_words(
        self, words: LocatedWords, contributions: Floats
    ) -> tuple[WordContribution, ...]:
        """Group the occurrences of each surface word, in the order of first occurrences.

        ``contributions`` are the contributions of all occurrences, shape (n_words,).
        """
        names, name_indices = words.group_surface_words()
        order = np.argsort(name_indices, kind="stable")  # occurrences, grouped by surface word
        bounds = compute_offsets(np.bincount(name_indices, minlength=len(names)))
        counts = np.bincount(name_indices, words.word_counts, len(names)).astype(np.int64).tolist()
        spans = np.stack((words.starts.take(order), words.ends.take(order)), axis=1)
        ordered_contributions = contributions[order]
        first_occurrences = order[bounds[:-1]]
        form_indices = words.form_indices[first_occurrences].tolist()
        vocabulary = self._model.statistics.vocabulary
        word_contributions = []
        for index, (start, end) in enumerate(pairwise(bounds.tolist())):
            form = words.forms[form_indices[index]]
            term_ids = [term_id for term_id in form.term_ids if term_id != UNKNOWN_TERM]
            unlabelled_proportion, seed_proportion = self._compute_count_proportions(term_ids)
            word_contributions.append(
                WordContribution(
                    word=names[index],
                    nats=fsum(ordered_contributions[start:end].tolist()),
                    occurrences=counts[index],
                    spans=spans[start:end],
                    terms=tuple(display_term(vocabulary.get_term(term_id)) for term_id in term_ids),
                    drop_reason=form.drop_reason,
                    unlabelled_proportion=unlabelled_proportion,
                    seed_proportion=seed_proportion,
                )
            )
        return tuple(word_contributions)

    def _compute_count_proportions(
        self, term_ids: Sequence[int]
    ) -> tuple[float | None, float | None]:
        """Return the proportions of counts from unlabelled documents, and from seed words.

        A proportion is None if the model has no such counts, or if there are no terms.
        """
        if not term_ids:
            return None, None
        statistics = self._model.statistics
        counts = self._model.counts
        terms = np.array(term_ids)
        # Total counts = labelled documents + unlabelled documents + seed words.
        total = statistics.get_dense_counts(terms).sum()
        observed = statistics.observed_counts.get_dense_counts(terms).sum()
        labelled = counts.labelled_statistics.get_dense_counts(terms).sum()
        unlabelled_proportion = None
        if counts.uses_unlabelled:
            unlabelled_proportion = float((observed - labelled) / total) if total else 0.0
        seed_proportion = None
        if statistics.weights.seeds:
            seed_proportion = float((total - observed) / total) if total else 0.0
        return unlabelled_proportion, seed_proportion

    def _compute_calibration_steps(
        self, block: ScoredBlock, row: int, pair: tuple[int, int], log_posterior: Floats
    ) -> _CalibrationSteps:
        answer, rival = pair
        lengths = block.lengths[row : row + 1]
        [scores] = self._model.classifier.to_log_scale(block.scores[row : row + 1], lengths)
        scaled = append_rest(scores)
        return _CalibrationSteps(
            on_scale=float(scaled[answer] - scaled[rival]),
            temperature=self._model.parameters.calibration.get_shared_temperature(lengths),
            log_odds=float(log_posterior[answer] - log_posterior[rival]),
        )


def find_class_index(model: FittedModel, label: str) -> int:
    """Return the index of a class. Raise `UsageError` if the model does not have it."""
    if label not in model.classes:
        raise unknown_class_error(label, model.classes)
    return model.classes.index(label)


def _find_causes(
    model: FittedModel, words: LocatedWords, matrix: DocumentTermMatrix, values: Sequence[str]
) -> tuple[RuledOutClass, ...]:
    """Return for each class, in order, a cause that makes the document impossible in the class.

    The cause is the first word of the text with probability 0, or else an attribute, or else the
    prior. ``matrix`` contains only this document, ``values`` are the values of its attributes.
    """
    ordered_ids = words.term_ids[np.argsort(words.word_indices, kind="stable")]
    distinct_ids, first_positions = np.unique(ordered_ids, return_index=True)
    # The distinct terms in the order of their first words.
    term_ids = distinct_ids[np.argsort(first_positions)]
    term_ids = term_ids[np.isin(term_ids, matrix.terms)]
    term_indices = find_impossible_terms(model.text_classifier, term_ids, len(model.classes))
    attributes = score_attributes(model, matrix, values)
    causes = []
    for index, label in enumerate(model.classes):
        term_index = term_indices[index]
        impossible_values = [
            (name, value) for name, value, scores in attributes if scores[index] == -inf
        ]
        if term_index >= 0:
            term_id = int(term_ids[term_index])
            term = display_term(model.statistics.vocabulary.get_term(term_id))
            causes.append(RuledOutClass(label, WORD, _find_term_words(words, term_id), term))
        elif impossible_values:
            name, value = impossible_values[0]
            causes.append(RuledOutClass(label, ATTRIBUTE, name, value=value))
        elif model.classifier.prior[index] > 0:
            causes.append(RuledOutClass(label, LACKING))
        else:
            causes.append(RuledOutClass(label, PRIOR))
    return tuple(causes)


def _find_term_words(words: LocatedWords, term_id: int) -> str:
    """Return the words of the first occurrence of a term. An n-gram has several words."""
    first = int((words.term_ids == term_id).argmax())
    # Each of the n words of an n-gram has the weight 1/n. A counted feature has its count.
    n_words = max(round(1 / float(words.weights[first])), 1)
    word_indices = words.word_indices[first : first + n_words]
    form_indices = words.form_indices[word_indices].tolist()
    return " ".join(words.forms[form_index].name for form_index in form_indices)
