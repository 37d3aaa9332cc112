"""What a model holds of the values beside texts, as plain values, and its terms ranked with categories among them.

The words of a term as they stand in texts, where the model keeps them (``--surface-forms``).

The terms that speak most for each class: those to whose mutual information with the class it adds most.

What a model knows of some words: the terms that they become, and for each class how often it was seen and how probable it is.

The terms of a class, by three measures that answer different questions: which are frequent in it, which are its own, which tell it apart.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.classifiers.base import OF_TOKENS, TermProbabilities
from nbtext.counts.vocabulary import FORMS, category_term, displayed_term, is_category_of
from nbtext.errors import UsageError
from nbtext.explain.word_walk import WordWalker
from nbtext.selection import PROBABILITIES_AT_ONCE, Ranking, mutual_information, rank
from nbtext.text.analyzer import UNKNOWN
from nbtext.text.hashing import unpair
from nbtext.text.ngrams import WILDCARD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.classifiers.attribute_likelihoods import CategoricalAttribute, NormalAttributes, PoissonAttributes
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]
    Best = tuple[NDArray[np.int64], Floats]


class ClassTerms(NamedTuple):
    """Terms that speak most for a class, best first, each with its summand of the mutual information, in nats."""

    label: str
    terms: tuple[tuple[str, float], ...]


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
    return displayed_term(model.statistics.vocabulary.term(term))


def attributes_overview(model: TextClassifier) -> dict[str, dict[str, Any]]:
    """Each attribute's kind, its documents and its distribution in each class, by name; empty for a model of texts alone."""
    attributes = model.classifier.attributes
    if attributes is None:
        return {}
    names = model.statistics.attributes
    found = {name: _category(model, of) for name, of in zip(names.categorical, attributes.categorical, strict=True)}
    for place, name in enumerate(names.counts):
        found[name] = _count(model, attributes.counts, place)
    for place, name in enumerate(names.numeric):
        found[name] = _number(model, attributes.numbers, len(names.counts), place)
    return found


def _categorical(model: TextClassifier) -> tuple[CategoricalAttribute, ...]:
    if not model.statistics.attributes.names or model.classifier.attributes is None:
        return ()
    return model.classifier.attributes.categorical


def _category(model: TextClassifier, attribute: CategoricalAttribute) -> dict[str, Any]:
    values = attribute.values
    documents = model.statistics.term_documents
    terms = np.flatnonzero(values.selected)
    listed = np.sort(terms[np.argsort(-documents[terms], kind="stable")[:MOST_VALUES]])
    names = [displayed_term(model.statistics.vocabulary.term(term)).split("=", 1)[1] for term in listed.tolist()]
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


Forms = list[tuple[str, int]]


def surface_forms(model: TextClassifier) -> dict[int, Forms]:
    """For each term with inflected words these and the term itself, each with how often it occurs, most frequent first; by number of the term.

    The term itself occurs as often as it was counted without an inflection. Empty for a model that does not keep them.
    """
    statistics = model.statistics
    if not model.parameters["surface_forms"]:
        return {}
    vocabulary, counts = statistics.vocabulary, statistics.term_counts
    numbers = np.flatnonzero(is_category_of(vocabulary, FORMS)).tolist()
    words = [vocabulary.term(number).removeprefix(category_term(FORMS, "")) for number in numbers]
    terms = vocabulary.find(model.analysis.stemmer()(words))
    found: dict[int, Forms] = defaultdict(list)
    for number, word, term in zip(numbers, words, terms, strict=True):
        if term >= 0:  # a pruned model may keep an inflection of a term that is gone
            found[term].append((word, int(counts[number])))
    for term, forms in found.items():
        itself = int(counts[term]) - sum(count for _, count in forms)
        if itself > 0:
            forms.append((vocabulary.term(term), itself))
        forms.sort(key=lambda form: (-form[1], form[0]))
    return found


def most_frequent_forms(model: TextClassifier) -> dict[int, str]:
    """The most frequent of them for each such term, the first in the alphabet of equals."""
    return {term: forms[0][0] for term, forms in surface_forms(model).items()}


def as_words(model: TextClassifier, terms: Sequence[int]) -> list[str]:
    """Some terms with the most frequent word in place of each stem, n-grams word by word; what is no word, such as a category, as it is called."""
    vocabulary, words = model.statistics.vocabulary, most_frequent_forms(model)

    def as_word(number: int) -> str:
        if number < vocabulary.n_single:
            return words.get(number) or term_name(model, number)
        left, last = unpair(vocabulary.pairs[number - vocabulary.n_single : number - vocabulary.n_single + 1])
        return f"{as_word(int(left[0]))} {as_word(int(last[0]))}"

    return [as_word(term) for term in terms]


def class_terms(model: TextClassifier, top: int, most_classes: int) -> tuple[ClassTerms, ...]:
    """For each class the ``top`` terms with the largest summand φ_jk π_k log(φ_jk / Σ_l φ_jl π_l), in nats, as far as they are above 0.

    The ``most_classes`` classes with most documents, in the model's order.
    """
    models, prior = model.language_models, model.prior
    shown = np.sort(np.argsort(-model.statistics.class_documents, kind="stable")[:most_classes])
    terms = np.flatnonzero(models.selected)
    best, values = np.empty((0, shown.size), np.int64), np.empty((0, shown.size))
    step = max(PROBABILITIES_AT_ONCE // prior.size, 1)
    for begin in range(0, terms.size, step):
        part = terms[begin : begin + step]
        summands, _ = mutual_information(models, prior, part)
        best = np.concatenate((best, np.broadcast_to(part[:, np.newaxis], (part.size, shown.size))))
        values = np.concatenate((values, summands[:, shown]))
        order = np.argsort(-values, axis=0, kind="stable")[:top]
        best, values = np.take_along_axis(best, order, axis=0), np.take_along_axis(values, order, axis=0)
    name = model.statistics.vocabulary.term
    return tuple(
        ClassTerms(
            model.classes_[label],
            tuple(
                (name(term), value) for term, value in zip(best[:, column].tolist(), values[:, column].tolist(), strict=True) if value > 0
            ),
        )
        for column, label in enumerate(shown.tolist())
    )


def term_details(model: TextClassifier, words: Sequence[str]) -> list[dict[str, Any]]:
    """For each word (or several, with what n-grams they make) its ``terms``, none for a stop word or what is no word.

    ``forms``: the words that a term stands for and how often each occurred, empty unless the model keeps them.
    Of each class: ``count`` m_jk, ``documents`` that hold it, ``probability`` and its credible ``interval``: those that ``probability_of``
    names. The last two are None for a term that training left out; a term that is not ``known`` has no classes.
    """
    forms, probabilities = surface_forms(model), term_probabilities(model)
    return [
        {
            "word": word,
            "probability_of": probability_of(probabilities),
            "terms": [
                {"term": name, "forms": dict(forms.get(term, [])), **_details(model, term, probabilities)}
                for name, term in _terms_of(model, word).items()
            ],
        }
        for word in words
    ]


def term_probabilities(model: TextClassifier) -> TermProbabilities:
    """Return the probabilities by which the classifier scores terms; for one that has none of the class itself, those of the language models."""
    found = model.classifier.of_texts.term_probabilities()
    if found is not None:
        return found
    return TermProbabilities.of_models(model.language_models, f"{OF_TOKENS}; {model.parameters['classifier']} does not score by it")


def probability_of(probabilities: TermProbabilities) -> dict[str, str]:
    """Return what these are probabilities of, as plain values."""
    return {"symbol": probabilities.symbol, "meaning": probabilities.meaning}


def _terms_of(model: TextClassifier, word: str) -> dict[str, int]:
    """The terms of a text as its documents' texts are analysed, with their numbers, negative for those that the model does not know.

    A name of counted features or of a character n-gram is the term as it stands. So is a stem, or an n-gram of stems, that the model prints and
    that is no stem of itself ("hors" becomes "hor"); in its place only those terms come along that the model knows.
    """
    word, vocabulary = word.encode("utf-8", "replace").decode(), model.statistics.vocabulary  # an argument may be bytes that are no text
    if model.reading.is_counted or (WILDCARD in word and model.parameters["char_ngrams"] is not None):
        return {word: vocabulary.find([word])[0]}
    tokens = [token for token in WordWalker.of_model(model).tokens(word.encode()) if token.kind == "word" and token.term is not None]
    found = [
        pair for token in tokens for pair in ((token.term or "", token.term_id), *((term.term, term.term_id) for term in token.ngrams))
    ]
    analysed = {name: UNKNOWN if number is None else number for name, number in found}
    as_it_stands = int(vocabulary.find_terms([tuple(word.split(" "))])[0])
    if as_it_stands == UNKNOWN or as_it_stands in analysed.values():
        return analysed
    return {word: as_it_stands, **{name: number for name, number in analysed.items() if number != UNKNOWN}}


def _details(model: TextClassifier, term: int, probabilities: TermProbabilities) -> dict[str, Any]:
    if term < 0:
        return {"known": False, "selected": False, "classes": {}}
    statistics, terms = model.statistics, np.array([term])
    selected = bool(probabilities.selected[term])
    probability = probabilities.probability(terms)[0]
    interval = np.full((probability.size, 2), np.nan) if probabilities.intervals is None else probabilities.intervals(terms)[0]
    return {
        "known": True,
        "selected": selected,
        "classes": {
            label: {
                "count": count,
                "documents": documents,
                "probability": probability.tolist()[k] if selected else None,
                "interval": interval[k].tolist() if selected and np.isfinite(interval[k]).all() else None,
            }
            for k, (label, count, documents) in enumerate(
                zip(statistics.classes, statistics.counts_of(terms)[0].tolist(), statistics.documents_of(terms)[0].tolist(), strict=True)
            )
        },
    }


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
    step = max(PROBABILITIES_AT_ONCE // prior.size, 1)
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
