"""How well a model fits its data, part by part, by evidence, AIC and BIC; and how probable it is beside others of the same data."""

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
    from nbtext.classifiers.base import Classifier
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats

CLASS_PRIOR = "class prior"


class PartCriteria(NamedTuple):
    """The criteria of a part of a model: the class prior, the text, or a column."""

    part: str
    evidence: float | None
    """None if the part has no prior."""
    log_likelihood: float
    """At maximum likelihood, as all below."""
    parameters: int
    observations: float
    """n of the BIC: tokens of a text, documents of anything else."""
    aic: float
    bic: float


@dataclass(frozen=True)
class Criteria:
    """The fit of a model to its data, in nats; infinite where something impossible has occurred."""

    evidence: float | None
    """Of all data and labels; of the data alone if the labels have none; None if the data have none."""
    evidence_of_labels: float | None
    """None for an empirical class prior: it is maximum likelihood and has none."""
    evidence_of_classes: dict[str, float] | None
    log_likelihood: float
    """At maximum likelihood, as all below."""
    parameters: int
    tokens: float
    aic: float
    bic: float
    parts: list[PartCriteria]


def compute_criteria(model: Classifier) -> Criteria:
    """Return the criteria of a model; raise `UsageError` for kinds that have none, and as `compute_component_fits`.

    Each part has its own n in the BIC. That of the class prior is the number of documents, or beside a text alone that of its tokens.
    """
    statistics = model.training.statistics
    settings = model.training.settings
    require_compatible_settings(
        settings, INFORMATION_CRITERIA, *list_label_requests(statistics.posterior_type)
    )
    fits = compute_component_fits(model)
    kind = settings.class_prior
    if impossible := [fit.component for fit in fits if not np.isfinite(fit.fit.log_likelihood)]:
        raise UsageError(
            f"AIC and BIC are not defined for {join_names(impossible, 3)}: in a class all documents "
            "have the same number"
        )
    documents = statistics.observed_counts.class_documents
    of_labels = compute_label_log_evidence(kind, model.prior, documents)
    of_classes = _evidence(fits)
    labels = measure_label_fit(kind, model.prior, documents)
    if not statistics.attributes.names:
        labels = labels._replace(n_observations=fits[0].fit.n_observations)
    found = [
        PartCriteria(
            part, None if evidence is None else float(np.sum(evidence)), *fit, fit.aic, fit.bic
        )
        for part, evidence, fit in (ComponentFit(CLASS_PRIOR, None, labels), *fits)
        if part == CLASS_PRIOR or fit.n_observations
    ]
    found[0] = found[0]._replace(evidence=of_labels)
    log_likelihood, parameters, aic, bic = (
        sum(getattr(part, name) for part in found)
        for name in ("log_likelihood", "parameters", "aic", "bic")
    )
    evidence = None
    by_class = None
    if of_classes is not None:
        evidence = float(of_classes.sum()) + (of_labels or 0.0)
        by_class = dict(zip(statistics.classes, of_classes.tolist(), strict=True))
    tokens = to_int_or_float(statistics.observed_counts.count_tokens(model.training.selected).sum())
    return Criteria(
        evidence, of_labels, by_class, log_likelihood, parameters, tokens, aic, bic, found
    )


def estimate_labelled_classifier(model: TextClassifier) -> Classifier:
    """Return the classifier of the labelled documents of a model, estimated from those that it keeps if these are all."""
    fitted = model.fitted
    sample = model.counts.sample
    labelled = estimate_statistics(model.counts.table.labelled_table, fitted.parameters.weights)
    return restore_classifier(
        labelled,
        fitted.parameters,
        model.settings,
        sample.documents if sample.is_complete else None,
    )


def _evidence(fits: list[ComponentFit]) -> Floats | None:
    """Return the log evidence of each class, shape (n_classes,), all parts together; None if one has no prior."""
    known = [fit.evidence for fit in fits if fit.evidence is not None]
    return np.sum(known, axis=0) if len(known) == len(fits) else None


COMPARED = (0.01, 0.1, 1.0)
"""Pseudo-counts per term that a model's own is compared with."""

FOR_EACH_CLASS = "one for each class"
FOR_ALL_CLASSES = "one for all classes"


@dataclass(frozen=True)
class ComparedModel:
    """A model of the data of all classes, beside others of the same data."""

    data: str
    """The names of the parts that it has in common with the others."""
    language_models: str
    """`FOR_EACH_CLASS` or `FOR_ALL_CLASSES`, and whether a file gave the pseudo-counts."""
    smoothing: float
    log_evidence: float
    """Of the data, in nats."""
    probability: float
    log_bayes_factor: float
    evidence_for_best: str
    """This and the two before are those of `nbtext.language_model.measures.ModelPosterior`."""


def compare_models(model: Classifier) -> list[ComparedModel]:
    """Return the model and others of the same data, most probable first; none if they have no evidence.

    The others have the pseudo-counts of `COMPARED`, or the same distributions for all classes, as if labels said nothing of documents.
    """
    training = model.training
    fits = compute_component_fits(model)
    own = _evidence(fits)
    data = ", ".join(fit.component for fit in fits if fit.fit.n_observations)
    if own is None:
        return []
    models = training.estimate_language_models(training.statistics)
    scale = models.n_outcomes if models.prior_shape == "background" else 1
    of_all = model.refit(replace(training, statistics=training.statistics.all_documents))
    by_file = (
        ""
        if isinstance(training.settings.smoothing, str | float | int | tuple)
        else ", by the file"
    )
    tried = [
        (FOR_EACH_CLASS + by_file, training.smoothing, own),
        (FOR_ALL_CLASSES + by_file, training.smoothing, _evidence(compute_component_fits(of_all))),
    ]
    for smoothing in (
        scale * each for each in COMPARED if by_file or scale * each != training.smoothing
    ):
        settings = replace(training.settings, smoothing=smoothing)
        other = type(model).estimate(
            replace(
                training,
                settings=settings,
                smoothing=smoothing,
                term_pseudo_counts=NO_TERM_PSEUDO_COUNTS,
            )
        )
        tried.append((FOR_EACH_CLASS, smoothing, _evidence(compute_component_fits(other))))
    found = [
        (name, smoothing, float(evidence.sum()))
        for name, smoothing, evidence in tried
        if evidence is not None
    ]
    if not any(isfinite(evidence) for *_, evidence in found):
        return []
    posteriors = compute_model_posteriors([evidence for *_, evidence in found])
    return sorted(
        (
            ComparedModel(data, *each, *posterior)
            for each, posterior in zip(found, posteriors, strict=True)
        ),
        key=lambda each: each.log_bayes_factor,
    )
