"""Compute how well a model fits its data: evidence, AIC and BIC, in nats, for `nbtext inspect`.

A model has parts (class prior, text, columns), each with its own criteria. A part other than the
class prior is also called a component. `compare_models` compares a model with other models of the
same data by their evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import compute_component_fits
from nbtext.compatibility import (
    INFORMATION_CRITERIA,
    list_label_requests,
    require_compatible_settings,
)
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.statistics import estimate_statistics
from nbtext.errors import UsageError, join_names
from nbtext.fitted_model import restore_classifier
from nbtext.language_model.dirichlet import NO_TERM_PSEUDO_COUNTS
from nbtext.language_model.measures import (
    ComponentFit,
    compute_label_log_evidence,
    compute_model_posteriors,
    measure_label_fit,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.classifiers.base import Classifier
    from nbtext.language_model.measures import MaximumLikelihoodFit
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats

CLASS_PRIOR = "class prior"
"""Name of a part, for people."""

MAX_NAMED_COMPONENTS = 3


class PartCriteria(NamedTuple):
    """The criteria of a part of a model: the class prior, the text, or a column."""

    part: str
    evidence: float | None
    """Log evidence. None without a prior."""
    log_likelihood: float
    """Log-likelihood at the maximum-likelihood estimate, from which AIC and BIC are computed."""
    parameters: int
    """Number of free parameters."""
    observations: float
    """n of the BIC: tokens of a text, documents for every other part."""
    aic: float
    bic: float


@dataclass(frozen=True)
class Criteria:
    """The fit of a model to its data, in nats. It is infinite if the data are impossible."""

    evidence: float | None
    """Log evidence of data and labels, or of the data only if the labels have no evidence.

    None if the data have no evidence.
    """
    evidence_of_labels: float | None
    """Log evidence of the labels. None for an empirical class prior."""
    evidence_of_classes: dict[str, float] | None
    """Log evidence of the data by class. None if a part of the model has no prior."""
    log_likelihood: float
    """Log-likelihood at the maximum-likelihood estimate, from which AIC and BIC are computed."""
    parameters: int
    """Number of free parameters."""
    tokens: float
    aic: float
    bic: float
    parts: list[PartCriteria]


def compute_criteria(model: Classifier) -> Criteria:
    """Return the criteria of a model and of its parts.

    Raise `UsageError` if the classifier has no criteria, and if all numbers of a class are equal,
    so that their likelihood is unbounded.
    """
    statistics = model.training.statistics
    settings = model.training.settings
    require_compatible_settings(
        settings, INFORMATION_CRITERIA, *list_label_requests(statistics.posterior_type)
    )
    fits = compute_component_fits(model)
    unbounded = [fit.component for fit in fits if not isfinite(fit.fit.log_likelihood)]
    if unbounded:
        raise UsageError(
            f"AIC and BIC are not defined for {join_names(unbounded, MAX_NAMED_COMPONENTS)}: in a "
            "class all documents have the same number"
        )

    class_documents = statistics.observed_counts.class_documents
    label_evidence = compute_label_log_evidence(settings.class_prior, model.prior, class_documents)
    class_evidences = _sum_evidence(fits)
    parts = _compute_part_criteria(model, fits, label_evidence)

    evidence = None
    evidence_by_class = None
    if class_evidences is not None:
        evidence = float(class_evidences.sum()) + (label_evidence or 0.0)
        evidence_by_class = dict(zip(statistics.classes, class_evidences.tolist(), strict=True))
    return Criteria(
        evidence=evidence,
        evidence_of_labels=label_evidence,
        evidence_of_classes=evidence_by_class,
        log_likelihood=sum(part.log_likelihood for part in parts),
        parameters=sum(part.parameters for part in parts),
        tokens=to_int_or_float(
            statistics.observed_counts.count_tokens(model.training.selected).sum()
        ),
        aic=sum(part.aic for part in parts),
        bic=sum(part.bic for part in parts),
        parts=parts,
    )


def _compute_part_criteria(
    model: Classifier, fits: Sequence[ComponentFit], label_evidence: float | None
) -> list[PartCriteria]:
    """Return the criteria of the class prior, then of each component that has data.

    Each part has its own n in the BIC. The n of the class prior is the number of documents, or for
    a model of texts only the number of tokens.
    """
    statistics = model.training.statistics
    class_documents = statistics.observed_counts.class_documents
    prior_fit = measure_label_fit(model.training.settings.class_prior, model.prior, class_documents)
    if not statistics.attributes.names:
        only_text = fits[0].fit
        prior_fit = prior_fit._replace(n_observations=only_text.n_observations)
    criteria = [_make_part(CLASS_PRIOR, label_evidence, prior_fit)]
    for component, class_evidences, fit in fits:
        if fit.n_observations:
            evidence = None if class_evidences is None else float(np.sum(class_evidences))
            criteria.append(_make_part(component, evidence, fit))
    return criteria


def _make_part(name: str, evidence: float | None, fit: MaximumLikelihoodFit) -> PartCriteria:
    return PartCriteria(
        part=name,
        evidence=evidence,
        log_likelihood=fit.log_likelihood,
        parameters=fit.n_parameters,
        observations=fit.n_observations,
        aic=fit.aic,
        bic=fit.bic,
    )


def estimate_labelled_classifier(model: TextClassifier) -> Classifier:
    """Return the model's classifier, estimated from the labelled documents only.

    If the model keeps all its documents, the parameters that need documents are fitted to these.
    """
    fitted = model.fitted
    sample = model.counts.sample
    labelled = estimate_statistics(model.counts.table.labelled_table, fitted.parameters.weights)
    documents = sample.documents if sample.is_complete else None
    return restore_classifier(labelled, fitted.parameters, model.settings, documents)


def _sum_evidence(fits: Sequence[ComponentFit]) -> Floats | None:
    """Return the log evidence of each class, summed over components, shape (n_classes,).

    Return None if a component has no prior.
    """
    evidences = [fit.evidence for fit in fits if fit.evidence is not None]
    if len(evidences) < len(fits):
        return None
    return np.sum(evidences, axis=0)


COMPARED_PSEUDO_COUNTS = (0.01, 0.1, 1.0)
"""Pseudo-counts per term of the models that a model is compared with."""

FOR_EACH_CLASS = "one for each class"
FOR_ALL_CLASSES = "one for all classes"
"""Texts for people: which classes share a language model."""


@dataclass(frozen=True)
class ComparedModel:
    """One of several models of the same data."""

    data: str
    """The names of the components that have data, separated by commas."""
    language_models: str
    """`FOR_EACH_CLASS` or `FOR_ALL_CLASSES`, and whether a file set the pseudo-counts."""
    smoothing: float
    log_evidence: float
    """Log evidence of the data, in nats."""
    probability: float
    """p(m | data), if all models have the same prior probability."""
    log_bayes_factor: float
    """Log evidence of the best model minus the log evidence of this model, in nats."""
    evidence_for_best: str
    """The Bayes factor in words. Empty for the best model."""


def compare_models(model: Classifier) -> list[ComparedModel]:
    """Return the model and other models of its data, most probable first.

    The alternatives have the pseudo-counts `COMPARED_PSEUDO_COUNTS`, or the same distributions for
    all classes, as if labels were unrelated to the data. Return an empty list if the model has no
    prior, or if the data are impossible under every model.
    """
    fits = compute_component_fits(model)
    if _sum_evidence(fits) is None:
        return []
    data = ", ".join(fit.component for fit in fits if fit.fit.n_observations)

    candidates = []
    log_evidences = []
    for language_models, smoothing, classifier in _list_candidates(model):
        class_evidences = _sum_evidence(compute_component_fits(classifier))
        if class_evidences is not None:
            candidates.append((language_models, smoothing))
            log_evidences.append(float(class_evidences.sum()))
    if not any(map(isfinite, log_evidences)):
        return []
    posteriors = compute_model_posteriors(log_evidences)
    compared_models = [
        ComparedModel(data, language_models, smoothing, log_evidence, *posterior)
        for (language_models, smoothing), log_evidence, posterior in zip(
            candidates, log_evidences, posteriors, strict=True
        )
    ]
    return sorted(compared_models, key=lambda compared: compared.log_bayes_factor)


def _list_candidates(model: Classifier) -> Iterator[tuple[str, float, Classifier]]:
    """Yield the model and its alternatives: description, smoothing and classifier.

    The description is `ComparedModel.language_models`.
    """
    training = model.training
    # All other settings of smoothing are a file with a pseudo-count per term.
    is_set_by_file = not isinstance(training.settings.smoothing, str | float | int | tuple)
    suffix = ", by the file" if is_set_by_file else ""

    yield (FOR_EACH_CLASS + suffix, training.smoothing, model)
    all_documents = replace(training, statistics=training.statistics.all_documents)
    yield (FOR_ALL_CLASSES + suffix, training.smoothing, model.refit(all_documents))

    models = training.estimate_language_models(training.statistics)
    # A background prior divides its pseudo-count among all terms.
    scale = models.n_outcomes if models.prior_shape == "background" else 1
    for pseudo_count in COMPARED_PSEUDO_COUNTS:
        smoothing = scale * pseudo_count
        if smoothing == training.smoothing and not is_set_by_file:  # the model itself
            continue
        alternative_training = replace(
            training,
            settings=replace(training.settings, smoothing=smoothing),
            smoothing=smoothing,
            term_pseudo_counts=NO_TERM_PSEUDO_COUNTS,
        )
        yield (FOR_EACH_CLASS, smoothing, type(model).estimate(alternative_training))
