"""Describe a model: sizes, settings and classes; its fit to its counts; its perplexity on held-out texts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.base import LinearClassifier, get_classifier_parameters
from nbtext.corpus.document import Document, collect_contents, count_document_bytes
from nbtext.counts.statistics import expand_negative_seeds
from nbtext.counts.vocabulary import display_term, is_field_term
from nbtext.errors import UsageError
from nbtext.inspection.terms import ClassSize, format_term_name, get_class_size, rank_model_terms
from nbtext.language_model.measures import HeldOutText, measure_held_out_text
from nbtext.metrics.results import JSON_UNLESS_EMPTY
from nbtext.model.description import count_encoded_lines
from nbtext.prediction.labels import list_labels
from nbtext.ragged import split_into_blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from nbtext.classifiers.attribute_likelihoods import CategoricalAttribute
    from nbtext.classifiers.inspection import Boundary, TwoClassBoundary
    from nbtext.fitted_model import Choices
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats, ParsedJson


@dataclass(frozen=True)
class ClassPerplexity:
    """The held-out documents of a class."""

    documents: int
    tokens: int
    unknown: int
    """Tokens that the model does not know."""
    log_likelihood: float
    """Of all tokens, in nats."""
    perplexity: float
    """Infinite where the text is impossible, nan without tokens."""


@dataclass(frozen=True)
class Perplexities:
    """The perplexity of language models on held-out documents of their classes."""

    classes: dict[str, ClassPerplexity]
    all: ClassPerplexity
    unknown_labels: dict[str, int]
    """Documents by label, of labels that the model has no class of."""


def compute_perplexities(model: TextClassifier, documents: Iterable[Document]) -> Perplexities:
    """Return the perplexities on a stream of labelled documents as the model was trained on.

    Each counts under the language model of its own class, of several labels under each, whatever the classifier. Raise `UsageError` if none has a class of the model.
    """
    number = {label: place for place, label in enumerate(model.classes)}
    sums = HeldOutText.empty(len(number))
    others = Counter[str]()
    for block in split_into_blocks(documents, count_document_bytes):
        labelled = [
            (document, label) for document in block for label in list_labels(document.label or "")
        ]
        others.update(label for _, label in labelled if label not in number)
        known = [document for document, label in labelled if label in number]
        if known:
            labels = np.array([number[label] for _, label in labelled if label in number])
            sums = sums.merge(
                measure_held_out_text(
                    model.fitted.language_models,
                    model.fitted.count_texts(*collect_contents(known)),
                    labels,
                )
            )
    if not sums.documents.any():
        raise UsageError("the corpus has no document of a class that the model knows")
    everything = HeldOutText(*(column.sum(keepdims=True) for column in sums))
    classes = dict(zip(model.classes, _class_perplexities(sums), strict=True))
    return Perplexities(classes, _class_perplexities(everything)[0], dict(sorted(others.items())))


def _class_perplexities(sums: HeldOutText) -> list[ClassPerplexity]:
    return [
        ClassPerplexity(*values)
        for values in zip(*(column.tolist() for column in (*sums, sums.perplexity)), strict=True)
    ]


MOST_CATEGORIES = 100
"""Categories of an attribute that are listed: those with most documents."""


@dataclass(frozen=True)
class AttributeOverview:
    """A count or a number beside the texts, and the parameters of its distribution in each class, by name."""

    kind: str
    documents: int
    """Documents that have a value."""
    classes: dict[str, dict[str, float]]
    """Without a distribution where a Gaussian classifier has one of several numbers; with the weight of a standard deviation, in nats, where it is a feature."""


@dataclass(frozen=True)
class CategoriesOverview:
    """A categorical attribute beside the texts, and the probability of each category in each class; where it is a feature its weight too, in nats."""

    kind: str
    documents: int
    """Documents that have a value."""
    values: int
    """Number of different categories."""
    smoothing: float
    classes: dict[str, dict[str, dict[str, float]]]


AttributeOverviews = dict[str, AttributeOverview | CategoriesOverview]


def attributes_overview(model: TextClassifier, weights: Floats | None) -> AttributeOverviews:
    """Return each attribute by name, with the ``weights`` of numbers if they have some, shape (n_numbers, n_classes); empty for a model of texts alone."""
    attributes = model.fitted.attributes
    statistics = model.fitted.statistics
    labels = model.classes
    if attributes is None:
        return {}
    names = statistics.attributes
    moments = statistics.moments
    counts = attributes.counts
    numbers = attributes.numbers
    found: AttributeOverviews = {
        name: _categories(model, attribute)
        for name, attribute in zip(names.categorical, attributes.categorical, strict=True)
    }
    rates = {} if counts is None else {"rate": counts.rates}
    normal = (
        {}
        if numbers is None
        else {"mean": numbers.means, "standard_deviation": np.sqrt(numbers.variances)}
    )
    kinds = (("count", names.counts, rates), ("numeric", names.numeric, normal))
    columns = [
        (kind, name, column, tables)
        for kind, of_kind, tables in kinds
        for column, name in enumerate(of_kind)
    ]
    for place, (kind, name, column, tables) in enumerate(columns):
        classes = {
            label: {key: float(table[k, column]) for key, table in tables.items()}
            for k, label in enumerate(labels)
            if tables
        }
        for label, weight in zip(
            labels, [] if weights is None else weights[place].tolist(), strict=False
        ):
            classes[label]["weight"] = weight
        found[name] = AttributeOverview(
            kind, 0 if moments is None else int(moments.documents[:, place].sum()), classes
        )
    return found


def _categories(model: TextClassifier, attribute: CategoricalAttribute) -> CategoriesOverview:
    values = attribute.language_models
    documents = model.fitted.statistics.observed_counts.term_documents
    terms = np.flatnonzero(values.selected)
    listed = np.sort(terms[np.argsort(-documents[terms], kind="stable")[:MOST_CATEGORIES]])
    names = [format_term_name(model, term).split("=", 1)[1] for term in listed.tolist()]
    probability = values.compute_probability(listed)
    classifier = model.fitted.classifier
    if values.n_unseen_outcomes:
        names.append(f"({values.n_unseen_outcomes:,} never seen)")
        probability = np.vstack((probability, values.estimate_unseen_outcome_probability()))
    tables = {"probability": probability}
    if isinstance(classifier, LinearClassifier):
        tables["weight"] = classifier.compute_weights(listed)
    classes = {
        label: {
            key: dict(zip(names, table[:, k].tolist(), strict=False))
            for key, table in tables.items()
        }
        for k, label in enumerate(model.classes)
    }
    return CategoriesOverview(
        "categorical",
        int(documents[terms].sum()),
        int(np.count_nonzero(documents[terms])),
        values.smoothing,
        classes,
    )


@dataclass(frozen=True)
class _LengthPower:
    """A temperature, or the weight of a member of an average: scale · n^exponent for a document of n known tokens."""

    scale: float
    exponent: float


@dataclass(frozen=True)
class CalibrationOverview:
    """The calibration of posteriors, and figures of those of left-out documents before and after it, by name."""

    temperature: _LengthPower
    after: Mapping[str, float]
    before: Mapping[str, float]
    documents: int


@dataclass(frozen=True)
class ClassBoundary:
    """The function of a class in a Gaussian model whose differences are the boundaries, and the distribution of its numbers, in their units."""

    w_0: float | None
    """None for a class that the prior rules out."""
    w: list[float]
    """One weight for each latent feature, then for each numeric attribute."""
    matrix: list[list[float]] | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """W_k; None where boundaries are linear."""
    mean: list[float] | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """None, like the covariance, where there are latent features."""
    covariance: list[list[float]] | None = field(default=None, metadata=JSON_UNLESS_EMPTY)


@dataclass(frozen=True)
class TwoClassWeights:
    """A classifier of two classes as a linear model in what a document holds: the first class where b + Σ w_j is above 0."""

    b: float
    terms: dict[str, float]
    """w_j of the terms that speak most for either class, those for the first class first."""


@dataclass(frozen=True)
class _SampleOverview:
    """The training documents that a model keeps."""

    documents: int
    complete: bool


@dataclass(frozen=True)
class UnlabelledOverview:
    """The part of a model that comes from unlabelled documents."""

    documents: int
    weight: float
    """λ, by which their counts are multiplied; 0 if they do not help."""
    terms: int
    """Terms that no labelled document holds."""
    log_loss: dict[str, float]
    """Mean log loss of left-out labelled documents, calibrated, in nats, by the weights that were tried."""
    classes: dict[str, float]
    """Documents of each class, the sum of their shares."""


@dataclass(frozen=True)
class ClassOverview(ClassSize):
    """A class and the terms that speak most for it."""

    top_terms: list[str]


@dataclass(frozen=True)
class Overview:
    """Sizes, settings and classes of a model."""

    documents: float
    several_labels: bool | None = field(metadata=JSON_UNLESS_EMPTY)
    """True if documents may have several labels; None if they have one."""
    tokens: float
    encoded_lines: float
    """Lines of encoded data that were dropped."""
    terms: int
    closed_vocabulary: bool
    selected_terms: int
    ngrams: int
    fields: dict[str, int] | None = field(metadata=JSON_UNLESS_EMPTY)
    """Number of single terms by field, most first; None if there are no fields."""
    smoothing: float
    terms_with_own_smoothing: int
    choices: Choices
    calibration: CalibrationOverview | None
    l2: float | None = field(metadata=JSON_UNLESS_EMPTY)
    """Strength of the penalty of a logistic model."""
    boundary: dict[str, ClassBoundary] | None
    linear: TwoClassWeights | None = field(metadata=JSON_UNLESS_EMPTY)
    members: dict[str, _LengthPower]
    """Of an average, by name; else empty."""
    attributes: AttributeOverviews
    sample: _SampleOverview
    seeds: dict[str, dict[str, float]] | None = field(metadata=JSON_UNLESS_EMPTY)
    """The pseudo-counts of seed words by class, as terms; None if there are none."""
    unlabelled: UnlabelledOverview | None = field(metadata=JSON_UNLESS_EMPTY)
    training: Mapping[str, ParsedJson]
    reading: Mapping[str, ParsedJson]
    stop_words: int
    written_by: Mapping[str, str]
    classes: dict[str, ClassOverview]


def build_overview(model: TextClassifier, top: int) -> Overview:
    """Return what is in a model, with up to ``top`` terms of each class: those that add most mutual information to it."""
    statistics = model.counts.labelled_statistics
    sample = model.counts.sample
    fitted = model.fitted
    learnt = model.fitted.parameters
    calibration = learnt.calibration
    judgement = learnt.calibration_quality
    own = get_classifier_parameters(fitted.text_classifier)
    top_terms = _top_terms(model, top)
    temperature = _LengthPower(calibration.scale, calibration.exponent)
    return Overview(
        documents=statistics.n_documents,
        several_labels=None if fitted.posterior_type.is_exclusive else True,
        tokens=fitted.n_tokens,
        encoded_lines=count_encoded_lines(statistics),
        terms=int(np.count_nonzero(fitted.text_terms)),
        closed_vocabulary=model.counts.is_closed,
        selected_terms=fitted.language_models.n_outcomes,
        ngrams=int(statistics.vocabulary.ngram_keys.size),
        fields=_fields(model),
        smoothing=learnt.smoothing,
        terms_with_own_smoothing=len(learnt.own_pseudo_counts),
        choices=learnt.choices,
        calibration=None if judgement is None else CalibrationOverview(temperature, **judgement),
        l2=own.l2,
        boundary=None if own.boundary is None else _boundary(model, own.boundary),
        linear=None
        if own.two_class_boundary is None
        else _linear(model, own.two_class_boundary, top),
        members={name: _LengthPower(*weight) for name, weight in own.member_weights.items()},
        attributes=attributes_overview(model, own.number_weights),
        sample=_SampleOverview(len(sample.documents), sample.is_complete),
        seeds=_seeds(model),
        unlabelled=_unlabelled(model),
        training=dict(model.settings),
        reading=dict(model.reading),
        stop_words=len(model.analysis.stop_list),
        written_by=fitted.written_by,
        classes={
            label: ClassOverview(*get_class_size(model, k), top_terms[k])
            for k, label in enumerate(statistics.classes)
        },
    )


def _unlabelled(model: TextClassifier) -> UnlabelledOverview | None:
    figures = model.fitted.parameters.unlabelled_summary
    labelled = model.counts.labelled_statistics
    if figures is None:
        return None
    weight = 0.0
    classes = dict.fromkeys(labelled.classes, 0.0)
    for of_layer, derived in model.counts.table.iter_derived_layers():
        weight = of_layer
        classes = dict(
            zip(derived.classes, (derived.class_documents / derived.unit).tolist(), strict=True)
        )
    n_terms = int(np.count_nonzero(~labelled.term_occurs))
    return UnlabelledOverview(figures.documents, weight, n_terms, dict(figures.losses), classes)


def _seeds(model: TextClassifier) -> dict[str, dict[str, float]] | None:
    found: dict[str, dict[str, float]] = {}
    for seed in expand_negative_seeds(model.fitted.parameters.weights.seeds, model.classes):
        of_class = found.setdefault(seed.label, {})
        term = display_term(" ".join(seed.term))
        of_class[term] = of_class.get(term, 0.0) + seed.pseudo_count
    return found or None


def _fields(model: TextClassifier) -> dict[str, int] | None:
    vocabulary = model.fitted.statistics.vocabulary
    terms = (
        []
        if model.reading.is_counted
        else np.flatnonzero(is_field_term(vocabulary) & model.fitted.text_terms).tolist()
    )
    counted = Counter(vocabulary.get_term(number).partition(":")[0] for number in terms)
    return dict(sorted(counted.items(), key=lambda of_field: (-of_field[1], of_field[0]))) or None


def _boundary(model: TextClassifier, boundary: Boundary) -> dict[str, ClassBoundary]:
    """Return the boundary of each class."""
    n_classes = len(model.classes)
    found = {}
    weights, bias = (np.round(part, 9).tolist() for part in boundary[:2])
    rest = [
        [None] * n_classes
        if part is None
        else np.resize(part, (n_classes, *part.shape[1:])).tolist()
        for part in boundary[2:]
    ]
    for label, w_0, *parts in zip(model.classes, bias, weights, *rest, strict=True):
        found[label] = ClassBoundary(w_0 if w_0 > -inf else None, *parts)
    return found


def _linear(model: TextClassifier, boundary: TwoClassBoundary, top: int) -> TwoClassWeights:
    terms, weights, b = boundary
    order = np.argsort(-weights, kind="stable")
    shown = (
        order if order.size <= 2 * top else np.concatenate((order[:top], order[order.size - top :]))
    )
    return TwoClassWeights(
        b,
        {
            format_term_name(model, int(terms[place])): float(weights[place])
            for place in shown.tolist()
        },
    )


def _top_terms(model: TextClassifier, top: int) -> list[list[str]]:
    if not top:
        return [[] for _ in model.classes]
    ranked = rank_model_terms(model, "mutual-information")
    by_class = np.argsort(ranked.classes, kind="stable")
    ends = np.cumsum(np.bincount(ranked.classes, minlength=len(model.classes)))
    return [
        [format_term_name(model, term) for term in terms[:top].tolist()]
        for terms in np.split(ranked.terms[by_class], ends[:-1])
    ]
