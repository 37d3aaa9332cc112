"""What a model holds of the values beside texts, as plain values, and its terms ranked with categories among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.categories import shown
from nbtext.selection import Ranking, rank

if TYPE_CHECKING:
    from nbtext.classifiers.attributed import CategoricalAttribute, NormalAttributes, PoissonAttributes
    from nbtext.model.text_classifier import TextClassifier

MOST_VALUES = 100
"""Of a categorical attribute that are listed: those with most documents."""


def ranking(model: TextClassifier, by: str, top: int | None = None) -> Ranking:
    """The ``top`` best terms of the texts and categories, each in its own distribution, by a criterion of `nbtext.selection`."""
    distributions = [model.language_models, *(attribute.values for attribute in _categorical(model))]
    found = [rank(models, model.prior, by, top) for models in distributions]
    terms, scores, classes = (np.concatenate(column) for column in zip(*found, strict=True))
    best = np.lexsort((terms, -scores))[:top]
    return Ranking(terms[best], scores[best], classes[best])


def term_name(model: TextClassifier, term: int) -> str:
    """A term as people read it; a category as ``name=value``."""
    return shown(model.statistics.vocabulary.term(term))


def attributes_overview(model: TextClassifier) -> dict[str, dict[str, Any]]:
    """Each attribute's kind, its documents and its distribution in each class, by name; empty for a model of texts alone."""
    from nbtext.classifiers.attributed import AttributedClassifier

    classifier = model.classifier
    if not isinstance(classifier, AttributedClassifier):
        return {}
    names = model.statistics.attributes
    found = {name: _category(model, of) for name, of in zip(names.categorical, classifier.categorical, strict=True)}
    for place, name in enumerate(names.counts):
        found[name] = _count(model, classifier.counts, place)
    for place, name in enumerate(names.numeric):
        found[name] = _number(model, classifier.numbers, len(names.counts), place)
    return found


def _categorical(model: TextClassifier) -> tuple[CategoricalAttribute, ...]:
    if not model.statistics.attributes.names:
        return ()
    from nbtext.classifiers.attributed import AttributedClassifier

    return model.classifier.categorical if isinstance(model.classifier, AttributedClassifier) else ()


def _category(model: TextClassifier, attribute: CategoricalAttribute) -> dict[str, Any]:
    values = attribute.values
    documents = model.statistics.term_documents
    terms = np.flatnonzero(values.selected)
    listed = np.sort(terms[np.argsort(-documents[terms], kind="stable")[:MOST_VALUES]])
    names = [shown(model.statistics.vocabulary.term(term)).split("=", 1)[1] for term in listed.tolist()]
    probability = values.probability(listed)
    return {
        "kind": "categorical",
        "documents": int(documents[terms].sum()),
        "values": int(terms.size),
        "smoothing": values.smoothing,
        "classes": {
            label: {"probability": dict(zip(names, probability[:, k].tolist(), strict=True))} for k, label in enumerate(model.classes_)
        },
    }


def _count(model: TextClassifier, counts: PoissonAttributes | None, place: int) -> dict[str, Any]:
    if counts is None:
        return {}
    rates = dict(zip(model.classes_, counts.rates[:, place].tolist(), strict=True))
    return {"kind": "count", "documents": _documents(model, place), "classes": {label: {"rate": rate} for label, rate in rates.items()}}


def _number(model: TextClassifier, numbers: NormalAttributes | None, n_counts: int, place: int) -> dict[str, Any]:
    """Mean and standard deviation, but not where the classifier has the number among features of its own."""
    found = {"kind": "numeric", "documents": _documents(model, n_counts + place), "classes": {}}
    if numbers is not None:
        pairs = zip(numbers.means[:, place].tolist(), np.sqrt(numbers.variances[:, place]).tolist(), strict=True)
        found["classes"] = {
            label: {"mean": mean, "standard_deviation": spread} for label, (mean, spread) in zip(model.classes_, pairs, strict=True)
        }
    return found


def _documents(model: TextClassifier, column: int) -> int:
    moments = model.statistics.moments
    return 0 if moments is None else int(moments.documents[:, column].sum())
