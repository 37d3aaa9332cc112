"""Compute how well a model fits its data: evidence, AIC and BIC, in nats, for `nbtext inspect`.

A model has parts (class prior, text, columns), each with its own criteria. `compare_models`
compares a model with other models of the same data by their evidence.
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
    from collections.abc import Sequence

    from nbtext.classifiers.base import Classifier
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats

CLASS_PRIOR = "class prior"


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
    """The fit of a model to its data, in nats. Infinite if the data are impossible."""

    evidence: float | None
    """Log evidence of data and labels; of the data only if the labels have no evidence.

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
            f"AIC and BIC are not defined for {join_names(unbounded, 3)}: in a class all "
            "documents have the same number"
        )

    prior_kind = settings.class_prior
    documents = statistics.observed_counts.class_documents
    label_evidence = compute_label_log_evidence(prior_kind, model.prior, documents)
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
    """Return the criteria of the class prior, then of each part that has data.

    Each part has its own n in the BIC. The n of the class prior is the number of documents, or for
    a model of texts only the number of tokens.
    """
    statistics = model.training.statistics
    documents = statistics.observed_counts.class_documents
    prior_fit = measure_label_fit(model.training.settings.class_prior, model.prior, documents)
    if not statistics.attributes.names:
        prior_fit = prior_fit._replace(n_observations=fits[0].fit.n_observations)
    prior_part = ComponentFit(CLASS_PRIOR, None, prior_fit)
    criteria = [_make_part(prior_part, label_evidence)]
    for fit in fits:
        if fit.fit.n_observations:
            evidence = None if fit.evidence is None else float(np.sum(fit.evidence))
            criteria.append(_make_part(fit, evidence))
    return criteria


def _make_part(part: ComponentFit, evidence: float | None) -> PartCriteria:
    fit = part.fit
    return PartCriteria(
        part=part.component,
        evidence=evidence,
        log_likelihood=fit.log_likelihood,
        parameters=fit.n_parameters,
        observations=fit.n_observations,
        aic=fit.aic,
        bic=fit.bic,
    )


def estimate_labelled_classifier(model: TextClassifier) -> Classifier:
    """Return the classifier that is estimated from the labelled documents only.

    If the model keeps all its documents, the parameters that need documents are fitted to them.
    """
    fitted = model.fitted
    sample = model.counts.sample
    labelled = estimate_statistics(model.counts.table.labelled_table, fitted.parameters.weights)
    documents = sample.documents if sample.is_complete else None
    return restore_classifier(labelled, fitted.parameters, model.settings, documents)


def _sum_evidence(fits: list[ComponentFit]) -> Floats | None:
    """Return the log evidence of each class over all parts, shape (n_classes,).

    Return None if a part has no prior.
    """
    evidences = [fit.evidence for fit in fits if fit.evidence is not None]
    if len(evidences) < len(fits):
        return None
    return np.sum(evidences, axis=0)


COMPARED_PSEUDO_COUNTS = (0.01, 0.1, 1.0)
"""Pseudo-counts per term of the models that a model is compared with."""

FOR_EACH_CLASS = "one for each class"
FOR_ALL_CLASSES = "one for all classes"


@dataclass(frozen=True)
class ComparedModel:
    """One of several models of the same data."""

    data: str
    """The names of the parts that the models have in common."""
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
    """The Bayes factor in words; "" for the best model."""


def compare_models(model: Classifier) -> list[ComparedModel]:
    """Return the model and other models of its data, most probable first.

    The alternatives have the pseudo-counts `COMPARED_PSEUDO_COUNTS`, or the same distributions for
    all classes, as if labels were unrelated to the data. Return an empty list if the model has no
    prior, or if the data are impossible under every model.
    """
    fits = compute_component_fits(model)
    evidence = _sum_evidence(fits)
    if evidence is None:
        return []
    data = ", ".join(fit.component for fit in fits if fit.fit.n_observations)

    candidates = []
    log_evidences = []
    for language_models, smoothing, class_evidences in _list_candidates(model, evidence):
        if class_evidences is not None:
            log_evidence = float(class_evidences.sum())
            log_evidences.append(log_evidence)
            candidates.append((data, language_models, smoothing, log_evidence))
    if not any(map(isfinite, log_evidences)):
        return []
    posteriors = compute_model_posteriors(log_evidences)
    models = [
        ComparedModel(*candidate, *posterior)
        for candidate, posterior in zip(candidates, posteriors, strict=True)
    ]
    models.sort(key=lambda compared: compared.log_bayes_factor)
    return models


def _list_candidates(model: Classifier, evidence: Floats) -> list[tuple[str, float, Floats | None]]:
    """Return the model and its alternatives: distributions, smoothing and class evidences.

    ``evidence`` is the class evidences of the model. They are None without a prior.
    """
    training = model.training
    set_by_file = not isinstance(training.settings.smoothing, str | float | int | tuple)
    suffix = ", by the file" if set_by_file else ""

    all_documents = replace(training, statistics=training.statistics.all_documents)
    one_for_all = model.refit(all_documents)
    candidates = [
        (FOR_EACH_CLASS + suffix, training.smoothing, evidence),
        (
            FOR_ALL_CLASSES + suffix,
            training.smoothing,
            _sum_evidence(compute_component_fits(one_for_all)),
        ),
    ]

    models = training.estimate_language_models(training.statistics)
    # A background prior divides its pseudo-count among all terms.
    scale = models.n_outcomes if models.prior_shape == "background" else 1
    for pseudo_count in COMPARED_PSEUDO_COUNTS:
        smoothing = scale * pseudo_count
        if smoothing == training.smoothing and not set_by_file:
            continue
        settings = replace(training.settings, smoothing=smoothing)
        alternative = type(model).estimate(
            replace(
                training,
                settings=settings,
                smoothing=smoothing,
                term_pseudo_counts=NO_TERM_PSEUDO_COUNTS,
            )
        )
        class_evidences = _sum_evidence(compute_component_fits(alternative))
        candidates.append((FOR_EACH_CLASS, smoothing, class_evidences))
    return candidates
