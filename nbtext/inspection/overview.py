"""Describe a model for `nbtext inspect`: sizes, settings, classes, attributes, and perplexity.

`nbtext.report.models` prints the dataclasses. Their fields are keys of the JSON output.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.classifiers.base import (
    LinearClassifier,
    get_classifier_parameters,
    subtract_scores,
)
from nbtext.corpus.document import Document, collect_contents, count_document_bytes
from nbtext.counts.statistics import expand_negative_seeds
from nbtext.counts.vocabulary import display_term, mask_field_terms
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
    from nbtext.classifiers.inspection import ClassBoundaries, LogOdds, TwoClassBoundary
    from nbtext.fitted_model import Choices
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, ParsedJson


@dataclass(frozen=True)
class ClassPerplexity:
    """The perplexity of the held-out documents of a class."""

    documents: int
    tokens: int
    unknown: int
    """Tokens that are not in the model."""
    log_likelihood: float
    """Log-likelihood of all tokens, in nats."""
    perplexity: float
    """Infinite if the text is impossible, nan without tokens."""


@dataclass(frozen=True)
class Perplexities:
    """The perplexity of language models on held-out documents of their classes."""

    classes: dict[str, ClassPerplexity]
    all: ClassPerplexity
    unknown_labels: dict[str, int]
    """Number of documents by label, for labels that are not classes of the model."""


def compute_perplexities(model: TextClassifier, documents: Iterable[Document]) -> Perplexities:
    """Return the perplexity of the language model of each class on labelled documents.

    A document with several labels counts for each of them. Raise `UsageError` if no document has a
    class of the model.
    """
    class_indices = {label: k for k, label in enumerate(model.classes)}
    sums = HeldOutText.empty(len(class_indices))
    unknown_labels = Counter[str]()
    for block in split_into_blocks(documents, count_document_bytes):
        known_documents = []
        classes = []
        for document in block:
            for label in list_labels(document.label or ""):
                if label in class_indices:
                    known_documents.append(document)
                    classes.append(class_indices[label])
                else:
                    unknown_labels[label] += 1
        if known_documents:
            matrix = model.fitted.count_texts(*collect_contents(known_documents))
            block_sums = measure_held_out_text(
                model.fitted.language_models, matrix, np.array(classes)
            )
            sums = sums.merge(block_sums)
    if not sums.documents.any():
        raise UsageError("the corpus has no document of the model's classes")
    total = HeldOutText(*(column.sum(keepdims=True) for column in sums))  # of shape (1,)
    return Perplexities(
        classes=dict(zip(model.classes, _make_perplexities(sums), strict=True)),
        all=_make_perplexities(total)[0],
        unknown_labels=dict(sorted(unknown_labels.items())),
    )


def _make_perplexities(sums: HeldOutText) -> list[ClassPerplexity]:
    """Return the perplexity of each class."""
    # A `ClassPerplexity` has the fields of the sums, then the perplexity.
    columns = [column.tolist() for column in (*sums, sums.perplexity)]
    return [ClassPerplexity(*values) for values in zip(*columns, strict=True)]


MAX_CATEGORIES = 100
"""Number of categories that are listed. They are the categories with most documents."""

BOUNDARY_DECIMALS = 9
"""Decimals of weights and biases of a Gaussian model."""


@dataclass(frozen=True)
class AttributeOverview:
    """A count or number of documents, and the parameters of its distribution in each class."""

    kind: str
    """``count`` or ``numeric``."""
    documents: int
    """Documents that have a value."""
    classes: dict[str, dict[str, float]]
    """Values of parameters by class and name.

    If the attribute is a feature of a linear model, ``weight`` is its weight per standard
    deviation, in nats. Empty for a Gaussian classifier, which has one distribution of all numbers.
    """


@dataclass(frozen=True)
class CategoriesOverview:
    """A categorical attribute, and the probability of each category in each class."""

    kind: str
    """``categorical``."""
    documents: int
    """Documents that have a value."""
    values: int
    """Number of different categories."""
    smoothing: float
    classes: dict[str, dict[str, dict[str, float]]]
    """Values by class, by ``probability`` or ``weight``, and by category.

    Linear models have weights, in nats.
    """


AttributeOverviews = dict[str, AttributeOverview | CategoriesOverview]


def build_attribute_overviews(
    model: TextClassifier, number_weights: Floats | None
) -> AttributeOverviews:
    """Return an overview of each attribute by name. It is empty for a model of texts only.

    ``number_weights`` are the weights of counts and numbers if these are features of a linear
    model, shape (n_counts + n_numbers, n_classes).
    """
    attributes = model.fitted.attributes
    if attributes is None:
        return {}
    names = model.fitted.statistics.attributes
    overviews: AttributeOverviews = {
        name: _describe_categories(model, attribute)
        for name, attribute in zip(names.categorical, attributes.categorical, strict=True)
    }

    n_counts = len(names.counts)
    for index, name in enumerate((*names.counts, *names.numeric)):
        is_count = index < n_counts
        parameters: dict[str, Floats] = {}
        if is_count and attributes.counts is not None:
            parameters["rate"] = attributes.counts.rates[:, index]
        elif not is_count and attributes.numbers is not None:
            column = index - n_counts
            parameters["mean"] = attributes.numbers.means[:, column]
            parameters["standard_deviation"] = np.sqrt(attributes.numbers.variances[:, column])
        if number_weights is not None:
            parameters["weight"] = number_weights[index]
        kind = "count" if is_count else "numeric"
        overviews[name] = _describe_number(model, kind, index, parameters)
    return overviews


def _describe_number(
    model: TextClassifier, kind: str, index: int, parameters: Mapping[str, Floats]
) -> AttributeOverview:
    """Return the overview of a count or number. ``index`` is its index among counts and numbers.

    ``parameters`` are the parameters of its distributions by name, each of shape (n_classes,).
    """
    classes = {}
    if parameters:
        for k, label in enumerate(model.classes):
            classes[label] = {name: float(values[k]) for name, values in parameters.items()}
    n_documents = 0
    moments = model.fitted.statistics.moments
    if moments is not None:
        n_documents = int(moments.documents[:, index].sum())
    return AttributeOverview(kind, n_documents, classes)


def _describe_categories(
    model: TextClassifier, attribute: CategoricalAttribute
) -> CategoriesOverview:
    """Return the overview of a categorical attribute, with up to `MAX_CATEGORIES` categories."""
    distribution = attribute.language_models
    term_documents = model.fitted.statistics.observed_counts.term_documents
    terms = np.flatnonzero(distribution.selected)
    frequency_order = np.argsort(-term_documents[terms], kind="stable")
    listed_terms = np.sort(terms[frequency_order[:MAX_CATEGORIES]])
    names = []
    for term in listed_terms.tolist():
        _, category = format_term_name(model, term).split("=", maxsplit=1)
        names.append(category)

    probability = distribution.compute_probability(listed_terms)
    if distribution.n_unseen_outcomes:
        names.append(f"({distribution.n_unseen_outcomes:,} never seen)")
        probability = np.vstack((probability, distribution.estimate_unseen_outcome_probability()))
    tables = {"probability": probability}
    classifier = model.fitted.classifier
    if isinstance(classifier, LinearClassifier):
        tables["weight"] = classifier.compute_weights(listed_terms)

    classes: dict[str, dict[str, dict[str, float]]] = {}
    for k, label in enumerate(model.classes):
        # Categories that were never seen have no weight, so the lengths may differ.
        classes[label] = {
            key: dict(zip(names, table[:, k].tolist(), strict=False))
            for key, table in tables.items()
        }
    return CategoriesOverview(
        kind="categorical",
        documents=int(term_documents[terms].sum()),
        values=int(np.count_nonzero(term_documents[terms])),
        smoothing=distribution.smoothing,
        classes=classes,
    )


@dataclass(frozen=True)
class _LengthPower:
    """A value scale · n^exponent for a document of n known tokens.

    It is a temperature, or the weight of a member of an average.
    """

    scale: float
    exponent: float


@dataclass(frozen=True)
class CalibrationOverview:
    """The calibration, and metrics of held-out documents before and after it, by name."""

    temperature: _LengthPower
    after: Mapping[str, float]
    before: Mapping[str, float]
    documents: int


@dataclass(frozen=True)
class ClassBoundary:
    """The discriminant function of a class in a Gaussian model, w_0 + wᵀx + xᵀWx.

    The boundary between two classes is where their functions are equal. Features are in their
    original units.
    """

    w_0: float | None
    """None for a class with the prior probability 0."""
    w: list[float]
    """Weights of the latent features, then of the numeric attributes."""
    matrix: list[list[float]] | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """W. None if boundaries are linear."""
    mean: list[float] | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """None if there are latent features."""
    covariance: list[list[float]] | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """None if there are latent features."""


@dataclass(frozen=True)
class TwoClassWeights:
    """A linear model of two classes: predict the first class if b + Σ w_j is above 0."""

    b: float
    terms: dict[str, float]
    """w_j of the terms with the largest weights for the first class, then for the second."""


@dataclass(frozen=True)
class ClassLogOdds:
    """The log odds of terms in a class. A document of these terms has the score b + Σ w_j."""

    b: float
    """The score of a document without terms."""
    terms: dict[str, float]
    """w_j of the terms with the most different weights, the same terms in each class."""


@dataclass(frozen=True)
class _SampleOverview:
    """The training documents that a model keeps."""

    documents: int
    complete: bool
    """True if the model keeps all its training documents."""


@dataclass(frozen=True)
class UnlabelledOverview:
    """The effect of unlabelled documents on a model."""

    documents: int
    weight: float
    """λ, the factor of their counts. 0 if they do not improve the model."""
    terms: int
    """Terms that occur in no labelled document."""
    log_loss: dict[str, float]
    """Mean calibrated log loss of held-out labelled documents in nats, by candidate weight."""
    classes: dict[str, float]
    """Expected number of unlabelled documents by class."""


@dataclass(frozen=True)
class ClassOverview(ClassSize):
    """A class and its most indicative terms."""

    top_terms: list[str]


@dataclass(frozen=True)
class Overview:
    """Sizes, settings and classes of a model."""

    documents: float
    several_labels: bool | None = field(metadata=JSON_UNLESS_EMPTY)
    """True for a multi-label model, else None."""
    tokens: float
    encoded_lines: float
    """Lines of encoded data that were dropped."""
    terms: int
    closed_vocabulary: bool
    selected_terms: int
    ngrams: int
    fields: dict[str, int] | None = field(metadata=JSON_UNLESS_EMPTY)
    """Number of single terms by field, largest first. None without fields."""
    smoothing: float
    terms_with_own_smoothing: int
    choices: Choices
    unseen_documents: float | None = field(metadata=JSON_UNLESS_EMPTY)
    """Documents that ``--quick`` added or removed after the choices, if any."""
    calibration: CalibrationOverview | None
    l2: float | None = field(metadata=JSON_UNLESS_EMPTY)
    """Strength of the penalty of a logistic model."""
    boundary: dict[str, ClassBoundary] | None
    linear: TwoClassWeights | None = field(metadata=JSON_UNLESS_EMPTY)
    log_odds: dict[str, ClassLogOdds] | None = field(metadata=JSON_UNLESS_EMPTY)
    """Log odds by class, for more than two classes. None for other classifiers than Bernoulli."""
    members: dict[str, _LengthPower]
    """Weights of the members of an average, by name."""
    member_priors: dict[str, float] | None = field(metadata=JSON_UNLESS_EMPTY)
    """p(m) of the members of an average by evidence. None if all are equal."""
    attributes: AttributeOverviews
    sample: _SampleOverview
    seeds: dict[str, dict[str, float]] | None = field(metadata=JSON_UNLESS_EMPTY)
    """Pseudo-counts of seed words, by class and term. None without seed words."""
    unlabelled: UnlabelledOverview | None = field(metadata=JSON_UNLESS_EMPTY)
    training: Mapping[str, ParsedJson]
    reading: Mapping[str, ParsedJson]
    stop_words: int
    written_by: Mapping[str, str]
    fingerprint: str | None
    """Fingerprint of the model file; None if the model was not loaded from a file."""
    classes: dict[str, ClassOverview]


def build_overview(model: TextClassifier, top: int) -> Overview:
    """Return an overview of a model, with up to ``top`` terms of each class.

    These are the terms with most mutual information that indicate the class.
    """
    statistics = model.counts.labelled_statistics
    fitted = model.fitted
    parameters = fitted.parameters
    own_parameters = get_classifier_parameters(fitted.text_classifier)
    top_terms = _find_top_terms(model, top)

    return Overview(
        documents=statistics.n_documents,
        several_labels=None if fitted.posterior_type.is_exclusive else True,
        tokens=fitted.n_tokens,
        encoded_lines=count_encoded_lines(statistics),
        terms=int(np.count_nonzero(fitted.text_terms)),
        closed_vocabulary=model.counts.is_closed,
        selected_terms=fitted.language_models.n_outcomes,
        ngrams=int(statistics.vocabulary.ngram_keys.size),
        fields=_count_terms_by_field(model),
        smoothing=parameters.smoothing,
        terms_with_own_smoothing=len(parameters.own_pseudo_counts),
        choices=parameters.choices,
        unseen_documents=None if parameters.unseen is None else parameters.unseen.documents,
        calibration=_describe_calibration(model),
        l2=own_parameters.l2,
        boundary=_describe_boundary(model, own_parameters.boundaries),
        linear=_describe_two_class_weights(model, own_parameters.two_class_boundary, top),
        log_odds=_describe_log_odds(model, own_parameters.log_odds, top),
        members=_describe_members(own_parameters.member_weights),
        member_priors=_get_member_priors(model.settings),
        attributes=build_attribute_overviews(model, own_parameters.number_weights),
        sample=_describe_sample(model),
        seeds=_collect_seed_words(model),
        unlabelled=_describe_unlabelled(model),
        training=dict(model.settings),
        reading=dict(model.reading),
        stop_words=len(model.analysis.stop_list),
        written_by=fitted.written_by,
        fingerprint=fitted.fingerprint,
        classes={
            label: ClassOverview(*get_class_size(model, k), top_terms[k])
            for k, label in enumerate(statistics.classes)
        },
    )


def _describe_members(weights: Mapping[str, tuple[float, float]]) -> dict[str, _LengthPower]:
    """Return the weights of the members of an average by name."""
    return {name: _LengthPower(*weight) for name, weight in weights.items()}


def _get_member_priors(settings: Settings) -> dict[str, float] | None:
    """Return p(m) by the name of the member, or None for members without prior weights."""
    has_prior_weights = settings.is_mixture and "*" in settings.members
    if not has_prior_weights:
        return None
    return dict(zip(settings.member_names, settings.member_priors, strict=True))


def _describe_sample(model: TextClassifier) -> _SampleOverview:
    sample = model.counts.sample
    return _SampleOverview(len(sample.documents), sample.is_complete)


def _describe_calibration(model: TextClassifier) -> CalibrationOverview | None:
    """Return the calibration and its effect, or None without calibration."""
    parameters = model.fitted.parameters
    if parameters.calibration_quality is None:
        return None
    temperature = _LengthPower(parameters.calibration.scale, parameters.calibration.exponent)
    return CalibrationOverview(temperature, **parameters.calibration_quality)


def _describe_unlabelled(model: TextClassifier) -> UnlabelledOverview | None:
    """Return the effect of unlabelled documents, or None without such documents."""
    unlabelled = model.fitted.parameters.unlabelled_summary
    if unlabelled is None:
        return None
    labelled = model.counts.labelled_statistics
    weight = 0.0
    classes = dict.fromkeys(labelled.classes, 0.0)
    # There is one layer, their counts, or no layer if the unlabelled documents are not used.
    for layer_weight, layer in model.counts.table.iter_derived_layers():
        weight = layer_weight
        class_documents = (layer.class_documents / layer.unit).tolist()
        classes = dict(zip(layer.classes, class_documents, strict=True))
    return UnlabelledOverview(
        documents=unlabelled.documents,
        weight=weight,
        terms=int(np.count_nonzero(~labelled.term_occurs)),
        log_loss=dict(unlabelled.losses),
        classes=classes,
    )


def _collect_seed_words(model: TextClassifier) -> dict[str, dict[str, float]] | None:
    """Return the sum of pseudo-counts by class and term, or None without seed words."""
    pseudo_counts: dict[str, dict[str, float]] = {}
    for seed in expand_negative_seeds(model.fitted.parameters.weights.seeds, model.classes):
        class_pseudo_counts = pseudo_counts.setdefault(seed.label, {})
        term = display_term(" ".join(seed.term))
        class_pseudo_counts[term] = class_pseudo_counts.get(term, 0.0) + seed.pseudo_count
    return pseudo_counts or None


def _count_terms_by_field(model: TextClassifier) -> dict[str, int] | None:
    """Return the number of single terms by field, largest first, or None without fields."""
    if model.reading.is_counted:
        return None
    vocabulary = model.fitted.statistics.vocabulary
    terms = np.flatnonzero(mask_field_terms(vocabulary) & model.fitted.text_terms).tolist()
    counts = Counter(vocabulary.get_term(term).partition(":")[0] for term in terms)
    # The largest fields come first, and equally large fields in alphabetical order.
    fields = sorted(counts, key=lambda name: (-counts[name], name))
    return {name: counts[name] for name in fields} or None


def _describe_boundary(
    model: TextClassifier, boundary: ClassBoundaries | None
) -> dict[str, ClassBoundary] | None:
    """Return the discriminant function of each class, or None without boundaries."""
    if boundary is None:
        return None
    n_classes = len(model.classes)
    weights = np.round(boundary.weights, BOUNDARY_DECIMALS).tolist()
    bias = np.round(boundary.bias, BOUNDARY_DECIMALS).tolist()

    def split_by_class(values: Floats | None) -> list[Any]:
        """Return the value of each class, None if there are no values.

        Values of shape (1, …) are the same for all classes.
        """
        if values is None:
            return [None for _ in range(n_classes)]
        return np.broadcast_to(values, (n_classes, *values.shape[1:])).tolist()

    matrices = split_by_class(boundary.matrices)
    means = split_by_class(boundary.means)
    covariances = split_by_class(boundary.covariances)
    return {
        label: ClassBoundary(
            w_0=bias[k] if bias[k] > -inf else None,
            w=weights[k],
            matrix=matrices[k],
            mean=means[k],
            covariance=covariances[k],
        )
        for k, label in enumerate(model.classes)
    }


def _describe_two_class_weights(
    model: TextClassifier, boundary: TwoClassBoundary | None, top: int
) -> TwoClassWeights | None:
    """Return the bias, and the weights of the ``top`` terms for each of the two classes.

    Return None for classifiers without such a boundary.
    """
    if boundary is None:
        return None
    terms, weights, b = boundary
    order = np.argsort(-weights, kind="stable")
    if order.size > 2 * top:
        start_of_last = order.size - top
        order = np.concatenate((order[:top], order[start_of_last:]))
    term_weights = {
        format_term_name(model, term): weight
        for term, weight in zip(terms[order].tolist(), weights[order].tolist(), strict=True)
    }
    return TwoClassWeights(b, term_weights)


def _describe_log_odds(
    model: TextClassifier, log_odds: LogOdds | None, top: int
) -> dict[str, ClassLogOdds] | None:
    """Return the bias of each class, and the weights of 2 ``top`` terms, or None without log odds.

    The terms have the largest differences between two classes, or in a model of one label,
    the largest absolute weights. Terms with the largest weight in the same class are neighbours.
    """
    if log_odds is None or not log_odds.terms.size:
        return None
    weights = log_odds.weights
    if weights.shape[1] == 1:
        spread = np.abs(weights[:, 0])
    else:
        spread = subtract_scores(weights.max(axis=1), weights.min(axis=1))
    # Weights without smoothing are nan where both are minus infinity.
    best = np.argsort(-np.nan_to_num(spread, nan=0.0), kind="stable")[: 2 * top]
    order = best[np.lexsort((-weights[best].max(axis=1), weights[best].argmax(axis=1)))]
    names = [format_term_name(model, term) for term in log_odds.terms[order].tolist()]
    return {
        label: ClassLogOdds(
            float(log_odds.bias[k]), dict(zip(names, weights[order, k].tolist(), strict=True))
        )
        for k, label in enumerate(model.classes)
    }


def _find_top_terms(model: TextClassifier, top: int) -> list[list[str]]:
    """Return the names of up to ``top`` terms of each class, best first."""
    if top == 0:  # ranking takes long
        return [[] for _ in model.classes]
    ranked = rank_model_terms(model, "mutual-information")
    class_order = np.argsort(ranked.classes, kind="stable")  # best first in each class
    class_sizes = np.bincount(ranked.classes, minlength=len(model.classes))
    inner_bounds = np.cumsum(class_sizes)[:-1]
    return [
        [format_term_name(model, term) for term in terms[:top].tolist()]
        for terms in np.split(ranked.terms[class_order], inner_bounds)
    ]
