"""Evidence, AIC and BIC of a model, as plain values.

The perplexity of the language model of each class on held-out documents of that class.

Which classes of a model are alike, by the Jensen–Shannon divergence of their language models.

What is in a model, as plain values.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.classifiers.base import class_prior
from nbtext.counts.counting import document_counter
from nbtext.counts.vocabulary import is_category
from nbtext.errors import UsageError
from nbtext.inspection.terms import attributes_overview, ranking, term_name
from nbtext.language_model.measures import (
    HeldOutText,
    held_out,
    jensen_shannon,
    log_evidence_of_classes,
    log_evidence_of_labels,
    maximum_likelihood_fit,
)
from nbtext.model.training import calibration_method
from nbtext.text.analyzer import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.settings import Settings


def require_criteria(settings: Settings) -> None:
    """Raise `UsageError` for a model of which evidence, AIC and BIC are not defined here."""
    for name, wanted in (("classifier", "multinomial"), ("weighting", "counts")):
        if settings[name] != wanted:
            raise UsageError(f"evidence, AIC and BIC are those of --{name} {wanted}", hint="cross-validate others")


def criteria(models: LanguageModels, settings: Settings) -> dict[str, Any]:
    """The evidence of each class's counts, of the labels and of both together, and AIC and BIC with what they are made of, in nats.

    ``evidence`` is without the labels where the class prior is empirical: it is maximum likelihood and gives none. A figure that is not
    defined, or infinite, is None. Raises `UsageError` for a model that has none of it.
    """
    require_criteria(settings)
    statistics, kind = models.statistics, settings.class_prior
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


def perplexities(model: TextClassifier, labelled: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    """Of each class, and of ``all`` of them together: documents, tokens, unknown ones among them, log-likelihood in nats, perplexity.

    ``labelled``: a stream of (label, document), documents as the model was trained on. Each counts under the language model of its own class, whatever
    the classifier. ``unknown_labels``: documents by label that the model has no class of. None for a number that is not finite, and for
    the perplexity of no tokens. Raises `UsageError` if there is no document of a class of the model.
    """
    number = {label: place for place, label in enumerate(model.classes_)}
    counter = document_counter(model.analysis, model.statistics.vocabulary)
    sums, others = HeldOutText.empty(len(number)), Counter[str]()
    for block in blocks(labelled, lambda document: len(document[1])):
        others.update(label for label, _ in block if label not in number)
        known = [(number[label], text) for label, text in block if label in number]
        if known:
            sums = sums.and_of(
                held_out(model.language_models, counter.count([text for _, text in known]).matrix(), np.array([k for k, _ in known]))
            )
    if not sums.documents.any():
        raise UsageError("the corpus has no document of a class that the model knows")
    whole = HeldOutText(*(column.sum(keepdims=True) for column in sums))
    return {
        "classes": {label: _plain(sums, place) for label, place in number.items()},
        "all": _plain(whole, 0),
        "unknown_labels": dict(sorted(others.items())),
    }


def _plain(sums: HeldOutText, place: int) -> dict[str, Any]:
    log_likelihood, of_tokens = sums.log_likelihood[place].item(), sums.perplexity[place].item()
    return {
        "documents": int(sums.documents[place]),
        "tokens": int(sums.tokens[place]),
        "unknown": int(sums.unknown[place]),
        "log_likelihood": log_likelihood if np.isfinite(log_likelihood) else None,
        "perplexity": of_tokens if np.isfinite(of_tokens) else None,
    }


MOST_CLASSES = 128
"""Classes that are compared: those with most documents. Four times as many would take sixteen times as long."""


CLOSEST = 20


def similarity(model: TextClassifier, labels: Sequence[str] = ()) -> dict[str, Any]:
    """The ``classes`` compared, the matrix of their ``divergence`` in nats, and the ``closest`` pairs, nearest first.

    Only the classes given, if any are. None for a class that has no distribution. ``left_out``: classes too many to be compared.
    """
    statistics = model.statistics
    chosen = np.array([model.classes_.index(label) for label in dict.fromkeys(labels)] or range(statistics.n_classes), np.int64)
    shown = np.sort(chosen[np.argsort(-statistics.class_documents[chosen], kind="stable")[:MOST_CLASSES]])
    divergence = jensen_shannon(model.language_models, shown)
    names = [model.classes_[number] for number in shown.tolist()]
    first, second = np.triu_indices(shown.size, 1)
    order = np.argsort(divergence[first, second], kind="stable")[:CLOSEST]
    pairs = zip(first[order].tolist(), second[order].tolist(), divergence[first, second][order].tolist(), strict=True)
    return {
        "classes": names,
        "left_out": int(chosen.size - shown.size),
        "divergence": [[value if np.isfinite(value) else None for value in row] for row in divergence.tolist()],
        "closest": [{"a": names[a], "b": names[b], "divergence": value} for a, b, value in pairs if np.isfinite(value)],
    }


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
        "training": dict(model.settings),
        "reading": dict(model.reading),
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
    boundary = model.classifier.of_texts.boundary()
    if boundary is None:
        return None
    weights, bias = (np.round(part, 9).tolist() for part in boundary)
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
