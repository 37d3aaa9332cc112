"""Evidence, AIC and BIC of a model, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.classifiers.base import class_prior
from nbtext.errors import UsageError
from nbtext.language_model.measures import log_evidence_of_classes, log_evidence_of_labels, maximum_likelihood_fit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.language_model.dirichlet import LanguageModels


def require_criteria(parameters: Mapping[str, Any]) -> None:
    """Raise `UsageError` for a model of which evidence, AIC and BIC are not defined here."""
    for name, wanted in (("classifier", "multinomial"), ("weighting", "counts")):
        if parameters.get(name, wanted) != wanted:
            raise UsageError(f"evidence, AIC and BIC are those of --{name} {wanted}", hint="cross-validate others")


def criteria(models: LanguageModels, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The evidence of each class's counts, of the labels and of both together, and AIC and BIC with what they are made of, in nats.

    ``evidence`` is without the labels where the class prior is empirical: it is maximum likelihood and gives none. A figure that is not
    defined, or infinite, is None. Raises `UsageError` for a model that has none of it.
    """
    require_criteria(parameters)
    statistics, kind = models.statistics, parameters["class_prior"]
    prior = class_prior(kind, statistics)
    of_classes = log_evidence_of_classes(models)
    by_class = None if of_classes is None else dict(zip(statistics.classes, map(_finite, of_classes.tolist()), strict=True))
    of_labels = log_evidence_of_labels(kind, prior, statistics.class_documents)
    fit = maximum_likelihood_fit(models, kind, prior)
    return {
        "evidence": None if of_classes is None else _finite(float(of_classes.sum()) + (of_labels or 0.0)),
        "evidence_of_labels": _finite(of_labels),
        "evidence_of_classes": by_class,
        "log_likelihood": _finite(fit.log_likelihood),
        "parameters": fit.parameters,
        "tokens": fit.tokens,
        "aic": _finite(fit.aic),
        "bic": _finite(fit.bic),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and np.isfinite(value) else None
