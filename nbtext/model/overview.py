"""What is in a model, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.categories import is_category
from nbtext.model.attributes import attributes_overview, ranking, term_name
from nbtext.model.estimation import calibration_method

if TYPE_CHECKING:
    from nbtext.model.text_classifier import TextClassifier


def overview(model: TextClassifier, top: int) -> dict[str, Any]:
    """Sizes, settings and for each class its documents, tokens, prior and the ``top`` terms that speak most for it.

    A term is listed under the class to which it adds most mutual information.
    """
    statistics = model.statistics
    return {
        "documents": statistics.n_documents,
        "tokens": int(statistics.class_tokens.sum()),
        "terms": statistics.n_terms - int(np.count_nonzero(is_category(statistics.vocabulary))),
        "closed_vocabulary": model.counts.is_closed,
        "selected_terms": model.language_models.n_selected,
        "ngrams": int(statistics.vocabulary.pairs.size),
        "smoothing": model.learnt.smoothing,
        "terms_with_own_smoothing": len(model.learnt.own),
        "calibration": _calibration(model),
        "boundary": _boundary(model),
        "attributes": attributes_overview(model),
        "sample": {"documents": len(model.counts.sample.documents), "complete": model.counts.sample.is_complete},
        "training": model.parameters,
        "reading": model.reading,
        "stop_words": len(model.stop_list),
        "written_by": model.written_by,
        "classes": {
            label: {
                "documents": int(documents),
                "tokens": int(tokens),
                "prior": float(prior),
                "top_terms": terms,
            }
            for label, documents, tokens, prior, terms in zip(
                statistics.classes, statistics.class_documents, statistics.class_tokens, model.prior, _top_terms(model, top), strict=True
            )
        },
    }


def _calibration(model: TextClassifier) -> dict[str, Any] | None:
    """The temperature's scale and exponent, and how good the posteriors of left-out documents were before and after; None without."""
    calibration, judgement = model.learnt.calibration, model.learnt.judgement
    if judgement is None:
        return None
    return {
        "method": calibration_method(model.parameters),
        "temperature": {"scale": calibration.scale, "exponent": calibration.exponent},
        **judgement,
    }


def _boundary(model: TextClassifier) -> dict[str, dict[str, Any]] | None:
    """The w and w_0 of each class in latent features, and then in numeric attributes, where Gaussian classes share a covariance; None for any other model.

    w_0 is None for a class that the prior rules out.
    """
    if model.parameters["classifier"] != "gaussian":
        return None
    from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis

    classifier = model.classifier.of_texts
    if not isinstance(classifier, GaussianDiscriminantAnalysis) or not classifier.gaussians.shares_covariance:
        return None
    weights, bias = (np.round(part, 9).tolist() for part in classifier.boundary())
    return {label: {"w_0": w_0 if w_0 > -np.inf else None, "w": w} for label, w_0, w in zip(model.classes_, bias, weights, strict=True)}


def _top_terms(model: TextClassifier, top: int) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in model.classes_]
    if not top:
        return found
    wanting = len(found)
    ranked = ranking(model, "mutual-information")
    for term, label in zip(ranked.terms.tolist(), ranked.classes.tolist(), strict=True):
        if len(found[label]) < top:
            found[label].append(term_name(model, term))
            wanting -= len(found[label]) == top
            if not wanting:
                break
    return found
