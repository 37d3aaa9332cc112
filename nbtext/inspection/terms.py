"""Inspect the terms of a model: rank them, list the best terms of classes, show single words."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import get_term_probabilities
from nbtext.classifiers.inspection import TERM_EVENT, TermProbabilities
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.matrix import iter_blocks
from nbtext.counts.vocabulary import (
    INFLECTED_WORDS_ATTRIBUTE,
    display_term,
    make_category_term,
    mask_attribute,
)
from nbtext.document_fields import clean_fields, clean_text, normalise_field_name
from nbtext.explain.explanation import find_class_index
from nbtext.explain.token_trace import TokenTracer
from nbtext.language_model.dirichlet import compute_beta_intervals
from nbtext.selection import (
    MAX_PROBABILITIES_IN_MEMORY,
    Ranking,
    compute_sparse_summands,
    mutual_information,
    rank_terms,
    uses_sparse_sum,
)
from nbtext.text.analyzer import UNKNOWN_TERM
from nbtext.text.hashing import unpair
from nbtext.text.ngrams import WILDCARD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.classifiers.attribute_likelihoods import CategoricalAttribute
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Fields, Floats, Ints, Names

    WordCounts = list[tuple[str, int]]


def rank_model_terms(model: TextClassifier, criterion: str, top: int | None = None) -> Ranking:
    """Return the ``top`` best terms of texts and categories by a criterion of `nbtext.selection`.

    Categories are scored in the distribution of their attribute. By default all terms are ranked.
    """
    distributions = [model.fitted.language_models]
    distributions += [attribute.language_models for attribute in _get_categorical(model)]
    prior = model.fitted.classifier.prior
    rankings = [rank_terms(models, prior, criterion, top) for models in distributions]
    terms, scores, classes = (np.concatenate(column) for column in zip(*rankings, strict=True))
    best = np.lexsort((terms, -scores))[:top]
    return Ranking(terms[best], scores[best], classes[best])


def format_term_name(model: TextClassifier, term: int) -> str:
    """Return the name of a term for people, for a category ``name=value``."""
    return display_term(model.fitted.statistics.vocabulary.get_term(term))


def _get_categorical(model: TextClassifier) -> tuple[CategoricalAttribute, ...]:
    attributes = model.fitted.attributes
    return () if attributes is None else attributes.categorical


def count_surface_forms(model: TextClassifier) -> dict[int, WordCounts]:
    """Return the words that each stemmed term stands for with their counts, most frequent first.

    The result is by term id. If the term itself is one of the words, its count is that without
    inflections. Empty for a model that was trained without ``--set surface-forms=true``.
    """
    if not model.settings.surface_forms:
        return {}
    statistics = model.fitted.statistics.observed_counts
    vocabulary = statistics.vocabulary
    term_counts = statistics.term_counts
    # Inflected words are counted as categories of an attribute of their own.
    word_ids = np.flatnonzero(mask_attribute(vocabulary, INFLECTED_WORDS_ATTRIBUTE)).tolist()
    prefix = make_category_term(INFLECTED_WORDS_ATTRIBUTE, "")
    words = [vocabulary.get_term(word_id).removeprefix(prefix) for word_id in word_ids]
    terms = vocabulary.find(model.analysis.build_stemmer()(words))

    forms: dict[int, WordCounts] = defaultdict(list)
    for word_id, word, term in zip(word_ids, words, terms, strict=True):
        if term >= 0:  # a pruned model may keep an inflection of a removed term
            forms[term].append((word, int(term_counts[word_id])))
    for term, word_counts in forms.items():
        uninflected_count = int(term_counts[term]) - sum(count for _, count in word_counts)
        if uninflected_count > 0:
            word_counts.append((vocabulary.get_term(term), uninflected_count))
        word_counts.sort(key=lambda word_count: (-word_count[1], word_count[0]))
    return forms


def find_most_frequent_forms(model: TextClassifier) -> dict[int, str]:
    """Return the most frequent word of each stemmed term, by term id.

    Among equally frequent words it is the first in alphabetical order.
    """
    return {term: word_counts[0][0] for term, word_counts in count_surface_forms(model).items()}


def replace_stems(model: TextClassifier, terms: Sequence[int]) -> list[str]:
    """Return the names of terms with the most frequent word for each stem, also in n-grams."""
    vocabulary = model.fitted.statistics.vocabulary
    words = find_most_frequent_forms(model)

    def replace_stem(term: int) -> str:
        if term < vocabulary.n_single_terms:
            return words.get(term) or format_term_name(model, term)
        # An n-gram is a pair of a shorter n-gram and a single term.
        pair_index = term - vocabulary.n_single_terms
        prefix, last_term = unpair(vocabulary.ngram_keys[pair_index : pair_index + 1])
        return f"{replace_stem(int(prefix[0]))} {replace_stem(int(last_term[0]))}"

    return [replace_stem(term) for term in terms]


@dataclass(frozen=True)
class _ProbabilityMeaning:
    """The meaning of the probabilities of terms."""

    symbol: str
    """The symbol in `docs/mathematics.md`."""
    meaning: str


@dataclass(frozen=True)
class TermInClass:
    """A term in one class."""

    count: float
    """m_jk, without seed words."""
    documents: float
    """Documents of the class with the term."""
    probability: float | None
    """None for a term that was not selected in training."""
    interval: list[float] | None
    """The credible interval of the probability, None without a posterior."""
    posterior: list[float] | None
    """a and b of the posterior Beta(a, b) of the probability, None without a posterior."""


@dataclass(frozen=True)
class TermDetails:
    """The counts and probabilities of a term in a model."""

    term: str
    forms: dict[str, int]
    """Words that the term stands for with their counts. Empty unless the model keeps them."""
    known: bool
    """True if the term is in the model."""
    selected: bool
    """True if the classifier uses the term."""
    classes: dict[str, TermInClass]
    """Empty for an unknown term."""


@dataclass(frozen=True)
class WordDetails:
    """A word and its terms. A stop word, and a text without a word, has no terms."""

    word: str
    probability_of: _ProbabilityMeaning
    terms: list[TermDetails]


def collect_word_details(model: TextClassifier, words: Sequence[str]) -> list[WordDetails]:
    """Return the terms of each word with their counts and probabilities.

    A text of several words also has its n-grams. ``name=value`` is a category.
    """
    forms = count_surface_forms(model)
    text_probabilities = choose_term_probabilities(model)
    details = []
    for word in words:
        attribute = _find_attribute(model, word)
        if attribute is not None:
            details.append(_get_category_details(model, attribute, word))
            continue
        terms = []
        for term_name, term in _find_terms(model, word).items():
            term_forms = dict(forms.get(term, []))
            if term == UNKNOWN_TERM:
                terms.append(_make_unknown_term(term_name, term_forms))
            else:
                terms.append(
                    _get_term_details(model, term_name, term, term_forms, text_probabilities)
                )
        details.append(_make_word_details(word, text_probabilities, terms))
    return details


def _find_attribute(model: TextClassifier, word: str) -> CategoricalAttribute | None:
    """Return the attribute of a category ``name=value``, None for any other text."""
    for attribute in _get_categorical(model):
        if word.startswith(f"{attribute.name}="):
            return attribute
    return None


def _get_category_details(
    model: TextClassifier, attribute: CategoricalAttribute, word: str
) -> WordDetails:
    """Return the details of a category ``name=value``, which training may never have seen."""
    value = word.removeprefix(f"{attribute.name}=")
    meaning = f"of the values of {attribute.name!r}"
    unseen_pseudo_count = float(attribute.get_unseen_pseudo_counts([value])[0])
    is_unseen = not np.isnan(unseen_pseudo_count)
    if is_unseen:
        probabilities = TermProbabilities.from_unseen_outcome(
            attribute.language_models, meaning, unseen_pseudo_count
        )
    else:
        probabilities = TermProbabilities.from_models(attribute.language_models, meaning)
    category = make_category_term(attribute.name, value)
    term = model.fitted.statistics.vocabulary.find([category])[0]
    if is_unseen or term >= 0:
        details = _get_term_details(model, word, term, {}, probabilities)
    else:
        details = _make_unknown_term(word, {})
    return _make_word_details(word, probabilities, [details])


def _make_word_details(
    word: str, probabilities: TermProbabilities, terms: list[TermDetails]
) -> WordDetails:
    meaning = _ProbabilityMeaning(probabilities.symbol, probabilities.meaning)
    return WordDetails(word, meaning, terms)


def choose_term_probabilities(model: TextClassifier) -> TermProbabilities:
    """Return the probabilities by which the classifier scores terms.

    If it has none, return the probabilities of the language models.
    """
    probabilities = get_term_probabilities(model.fitted.text_classifier)
    if probabilities is not None:
        return probabilities
    return TermProbabilities.from_models(
        model.fitted.language_models,
        f"{TERM_EVENT}; {model.settings.classifier} does not score by it",
    )


def _make_unknown_term(name: str, forms: dict[str, int]) -> TermDetails:
    return TermDetails(name, forms, known=False, selected=False, classes={})


def _get_term_details(
    model: TextClassifier,
    name: str,
    term: int,
    forms: dict[str, int],
    probabilities: TermProbabilities,
) -> TermDetails:
    """Return the counts and probabilities of a term.

    A negative ``term`` is a category without documents, of which ``probabilities`` are.
    """
    statistics = model.fitted.statistics.observed_counts
    terms = np.array([term] if term >= 0 else [], np.int64)
    is_selected = bool(probabilities.selected[term])
    values: list[float | None] = [None] * statistics.n_classes
    posteriors = np.full((2, statistics.n_classes), np.nan)
    if is_selected:
        values = probabilities.compute_probability(terms)[0].tolist()
        if probabilities.compute_posteriors is not None:
            posteriors = np.concatenate(probabilities.compute_posteriors(terms))
    counts = statistics.get_dense_counts(terms).sum(axis=0)
    documents = statistics.get_dense_documents(terms).sum(axis=0)
    intervals = _replace_nonfinite(compute_beta_intervals(*posteriors))
    parameters = _replace_nonfinite(posteriors.T)
    classes = {
        label: TermInClass(
            count=to_int_or_float(counts[k]),
            documents=to_int_or_float(documents[k]),
            probability=values[k],
            interval=intervals[k],
            posterior=parameters[k],
        )
        for k, label in enumerate(statistics.classes)
    }
    return TermDetails(name, forms, known=True, selected=is_selected, classes=classes)


def _replace_nonfinite(pairs: Floats) -> list[list[float] | None]:
    """Return pairs of numbers, shape (n, 2), as lists; None for a pair that is not finite."""
    is_finite = np.isfinite(pairs).all(axis=1)
    lists: list[list[float] | None] = pairs.tolist()
    for row in np.flatnonzero(~is_finite).tolist():
        lists[row] = None
    return lists


def _find_terms(model: TextClassifier, word: str) -> dict[str, int]:
    """Return the terms of a text by name, `UNKNOWN_TERM` for those that are not in the model.

    The text is analysed as a document. If it is ``name:content`` and the model knows a term of that
    field, it is analysed as that field. The names of counted features and of character n-grams are
    terms themselves. So is a stem that the model prints, even if stemming changes it again ("hors"
    becomes "hor"); then only known terms of the analysed text are added.
    """
    word = word.encode("utf-8", "replace").decode()  # an argument may have invalid bytes
    vocabulary = model.fitted.statistics.vocabulary
    is_char_ngram = WILDCARD in word and model.settings.char_ngrams is not None
    if model.reading.is_counted or is_char_ngram:
        return {word: vocabulary.find([word])[0]}

    terms = _analyse_field(model, word)
    if max(terms.values(), default=UNKNOWN_TERM) == UNKNOWN_TERM:
        terms = _analyse(model, clean_text(word.encode()))
    exact_term = int(vocabulary.find_terms([tuple(word.split(" "))])[0])
    if exact_term == UNKNOWN_TERM or exact_term in terms.values():
        return terms
    known_terms = {name: term for name, term in terms.items() if term != UNKNOWN_TERM}
    return {word: exact_term, **known_terms}


def _analyse_field(model: TextClassifier, word: str) -> dict[str, int]:
    """Return the terms of a text ``name:content`` as a field, none for a text without a colon."""
    name, colon, content = word.partition(":")
    if not colon:
        return {}
    fields = clean_fields([(normalise_field_name(name), content.encode())])
    return _analyse(model, b"", fields)


def _analyse(model: TextClassifier, text: bytes, fields: Fields = ()) -> dict[str, int]:
    """Return the words and n-grams of a document as terms by name."""
    terms = {}
    for token in TokenTracer.from_model(model.fitted).trace_tokens(text, fields):
        if token.kind != "word" or token.term is None:
            continue
        for name, term_id in (
            (token.term, token.term_id),
            *((ngram.term, ngram.term_id) for ngram in token.ngrams),
        ):
            terms[name] = UNKNOWN_TERM if term_id is None else term_id
    return terms


class TermValue(NamedTuple):
    """A term and its value by a measure."""

    term: str
    value: float


class ClassTerms(NamedTuple):
    """The most informative terms of a class, best first.

    Each has its summand of the mutual information, in nats.
    """

    label: str
    terms: Sequence[tuple[str, float]]


@dataclass(frozen=True)
class ClassSize:
    """The size of a class."""

    documents: float
    tokens: float
    prior: float


@dataclass(frozen=True)
class ClassDetails(ClassSize):
    """A class and its best terms by three measures. Values are above 0, largest first."""

    probability_of: _ProbabilityMeaning
    probability: list[TermValue]
    """By the probability that ``probability_of`` describes."""
    lift: list[TermValue]
    """By `compute_lift`, which may be infinite."""
    mutual_information: list[TermValue]
    """By the summand of the mutual information of the language models, in nats."""


TERM_MEASURES = ("probability", "lift", "mutual_information")


def get_class_size(model: TextClassifier, number: int) -> tuple[float, float, float]:
    """Return the documents, tokens and prior of a class."""
    documents = model.counts.labelled_statistics.class_documents[number]
    return (
        to_int_or_float(documents),
        to_int_or_float(model.fitted.class_tokens[number]),
        float(model.fitted.classifier.prior[number]),
    )


class _Measurements(NamedTuple):
    """Values of a block of terms in some classes, tables of shape (n_terms, n_classes)."""

    values: list[Floats]
    """A table for each measure."""
    tie_breaker: Floats
    """Decides between terms with equal values: the larger one is better."""


def collect_class_details(
    model: TextClassifier, labels: Names, top: int
) -> dict[str, ClassDetails]:
    """Return the ``top`` terms of each class by each of `TERM_MEASURES`.

    Raise `UsageError` for a class that is not in the model.
    """
    classes = np.array([find_class_index(model.fitted, label) for label in labels], np.int64)
    models = model.fitted.language_models
    prior = model.fitted.classifier.prior
    probabilities = choose_term_probabilities(model)
    meaning = _ProbabilityMeaning(probabilities.symbol, probabilities.meaning)

    def measure(terms: Ints) -> _Measurements:
        probability = probabilities.compute_probability(terms)
        if probabilities.compute_corpus_probability is None:
            corpus_probability = (probability * prior).sum(axis=1, keepdims=True)
        else:
            corpus_probability = probabilities.compute_corpus_probability(terms)
        lift = compute_lift(probability, corpus_probability)
        summands = mutual_information(models, prior, terms)[0]
        values = [table[:, classes] for table in (probability, lift, summands)]
        return _Measurements(values, tie_breaker=probability[:, classes])

    best_terms = _find_best_terms(model, classes, top, len(TERM_MEASURES), measure, prior.size)
    return {
        label: ClassDetails(*get_class_size(model, number), meaning, *terms_by_measure)
        for label, number, terms_by_measure in zip(
            labels, classes.tolist(), best_terms, strict=True
        )
    }


def find_class_terms(model: TextClassifier, top: int, max_classes: int) -> tuple[ClassTerms, ...]:
    """Return the ``top`` terms of each class by φ_jk π_k log(φ_jk / Σ_l φ_jl π_l), in nats.

    Only values above 0 count. Only the ``max_classes`` classes with most documents are returned,
    in the order of the model.
    """
    models = model.fitted.language_models
    prior = model.fitted.classifier.prior
    size_order = np.argsort(-model.fitted.statistics.class_documents, kind="stable")
    classes = np.sort(size_order[:max_classes])
    is_sparse = uses_sparse_sum(models, prior)

    def measure(terms: Ints) -> _Measurements:
        if is_sparse:
            summands = compute_sparse_summands(models, prior, terms, classes)
        else:
            summands = mutual_information(models, prior, terms)[0][:, classes]
        return _Measurements([summands], tie_breaker=np.zeros_like(summands))

    n_values = classes.size if is_sparse else prior.size
    best_terms = _find_best_terms(model, classes, top, 1, measure, n_values)
    return tuple(
        ClassTerms(model.classes[number], terms)
        for number, (terms,) in zip(classes.tolist(), best_terms, strict=True)
    )


def compute_lift(probability: Floats, corpus_probability: Floats) -> Floats:
    """Return φ_jk / Σ_l φ_jl π_l, the ratio of a probability in a class to that in the corpus.

    ``probability`` is φ_jk, shape (n, n_classes), and ``corpus_probability`` the sum, shape (n, 1).
    The result has shape (n, n_classes).

    Source: M. Taddy, On estimation and selection for topic models (2012).
    """
    # Relative frequencies as denominator would rank the rarest terms first, because smoothing
    # raises their probabilities most.
    return np.divide(
        probability,
        corpus_probability,
        out=np.where(probability > 0, np.inf, 0.0),
        where=corpus_probability > 0,
    )


def _find_best_terms(
    model: TextClassifier,
    classes: Ints,
    top: int,
    n_measures: int,
    measure: Callable[[Ints], _Measurements],
    n_values: int,
) -> list[list[list[TermValue]]]:
    """Return the ``top`` selected terms with values above 0, for each class and each measure.

    ``measure`` computes the values of a block of terms, ``n_values`` for each term. Terms that are
    equal in value and tie breaker are in the order of the vocabulary.
    """
    no_terms = (np.empty(0, np.int64), np.empty((2, 0)))
    best = [[no_terms] * n_measures for _ in range(classes.size)]
    selected_terms = np.flatnonzero(model.fitted.language_models.selected)
    for terms in iter_blocks(selected_terms, n_values, MAX_PROBABILITIES_IN_MEMORY):
        measurements = measure(terms)
        for column in range(classes.size):
            for index, table in enumerate(measurements.values):
                block_values = np.stack((table[:, column], measurements.tie_breaker[:, column]))
                is_positive = block_values[0] > 0
                best_terms, best_values = best[column][index]
                candidates = np.concatenate((best_terms, terms[is_positive]))
                values = np.concatenate((best_values, block_values[:, is_positive]), axis=1)
                order = np.lexsort((candidates, -values[1], -values[0]))[:top]
                best[column][index] = candidates[order], values[:, order]
    return [
        [_make_term_values(model, terms, values[0]) for terms, values in class_best]
        for class_best in best
    ]


def _make_term_values(model: TextClassifier, terms: Ints, values: Floats) -> list[TermValue]:
    vocabulary = model.fitted.statistics.vocabulary
    return [
        TermValue(vocabulary.get_term(term), value)
        for term, value in zip(terms.tolist(), values.tolist(), strict=True)
    ]
