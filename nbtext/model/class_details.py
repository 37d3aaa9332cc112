"""The terms of a class, by three measures that answer different questions: which are frequent in it, which are its own, which tell it apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.errors import UsageError
from nbtext.model.term_details import probability_of, term_probabilities
from nbtext.selection import CELLS_AT_ONCE, mutual_information

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]
    Best = tuple[NDArray[np.int64], Floats]

MEASURES = ("probability", "lift", "mutual_information")


def class_details(model: TextClassifier, labels: Sequence[str], top: int) -> dict[str, dict[str, Any]]:
    """For each class its documents, tokens and prior, and by each of `MEASURES` its ``top`` terms with their values.

    ``probability`` is what ``probability_of`` names, ``lift`` what `lift` makes of it. ``mutual_information`` is that by which training selects
    terms, whatever the classifier: the summand φ_jk π_k log(φ_jk / Σ_l φ_jl π_l) of the language models, in nats, as far as it is above 0.
    A value is None where it is infinite. Raises `UsageError` for a class that the model has not.
    """
    classes = np.array([number_of(model, label) for label in labels], np.int64)
    best: dict[str, list[Best]] = {name: [(np.empty(0, np.int64), np.empty((2, 0)))] * classes.size for name in MEASURES}
    models, prior, terms = model.language_models, model.prior, np.flatnonzero(model.language_models.selected)
    probabilities = term_probabilities(model)
    step = max(CELLS_AT_ONCE // prior.size, 1)
    for begin in range(0, terms.size, step):
        part = terms[begin : begin + step]
        probability = probabilities.probability(part)
        tables = (probability[:, classes], lift(probability, prior)[:, classes], mutual_information(models, prior, part)[0][:, classes])
        for name, table in zip(MEASURES, tables, strict=True):
            for column in range(classes.size):
                best[name][column] = _better(best[name][column], part, np.stack((table[:, column], probability[:, classes[column]])), top)
    statistics = model.statistics
    return {
        label: {
            "documents": int(statistics.class_documents[number]),
            "tokens": int(statistics.class_tokens[number]),
            "prior": float(prior[number]),
            "probability_of": probability_of(probabilities),
            **{name: _listed(model, *best[name][column]) for name in MEASURES},
        }
        for column, (label, number) in enumerate(zip(labels, classes.tolist(), strict=True))
    }


def lift(probability: Floats, prior: Floats) -> Floats:
    """φ_jk / Σ_l φ_jl π_l: how much more probable a term is in a class than in the whole corpus, shape (n, n_classes); 1 where it is as in all.

    ``probability`` holds φ_jk, shape (n, n_classes), ``prior`` π_k. The probability in the corpus is the model's own, not the share of the counts:
    against that, the rarest terms, of which smoothing makes most, would come first. Source: M. Taddy, On estimation and selection for topic
    models (2012).
    """
    corpus = (probability * prior).sum(axis=1, keepdims=True)
    found: Floats = np.divide(probability, corpus, out=np.where(probability > 0, np.inf, 0.0), where=corpus > 0)
    return found


def number_of(model: TextClassifier, label: str) -> int:
    """The number of a class; raises `UsageError` if the model has none of that name."""
    if label not in model.classes_:
        raise UsageError(f"the model has no class {label!r}", hint="nbtext inspect shows its classes")
    return model.classes_.index(label)


def _better(best: Best, terms: NDArray[np.int64], values: Floats, top: int) -> Best:
    """The ``top`` of the best so far and of some terms with value and probability, shape (2, n): larger values, then larger probabilities first."""
    kept = np.flatnonzero(values[0] > 0)
    terms, values = np.concatenate((best[0], terms[kept])), np.concatenate((best[1], values[:, kept]), axis=1)
    order = np.lexsort((terms, -values[1], -values[0]))[:top]
    return terms[order], values[:, order]


def _listed(model: TextClassifier, terms: NDArray[np.int64], values: Floats) -> list[dict[str, Any]]:
    name = model.statistics.vocabulary.term
    pairs = zip(terms.tolist(), values[0].tolist(), strict=True)
    return [{"term": name(term), "value": value if np.isfinite(value) else None} for term, value in pairs]
