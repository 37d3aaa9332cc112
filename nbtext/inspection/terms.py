"""Inspect the terms of a model: rank them, list the best terms of classes, look up single words.

`nbtext inspect`, `select-features` and `report` use it. A category is a value of a categorical
attribute, and a term ``name=value``. In formulas j is a term, k and l are classes, φ_jk is the
probability of the term in the class, and π_k the prior of the class.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, log, log2
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
    compute_sparse_contributions,
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


class WordCount(NamedTuple):
    """A word with the number of its occurrences in the training documents."""

    word: str
    occurrences: int


def rank_model_terms(model: TextClassifier, criterion: str, top: int | None = None) -> Ranking:
    """Return the ``top`` best terms by a criterion of `nbtext.selection`, by default all terms.

    Categories are scored in the distribution of their attribute.
    """
    distributions = [model.fitted.language_models]
    distributions += [attribute.language_models for attribute in _get_categorical(model)]
    prior = model.fitted.classifier.prior
    rankings = [rank_terms(models, prior, criterion, top) for models in distributions]
    terms = np.concatenate([ranking.terms for ranking in rankings])
    scores = np.concatenate([ranking.scores for ranking in rankings])
    classes = np.concatenate([ranking.classes for ranking in rankings])
    best = np.lexsort((terms, -scores))[:top]  # by falling score, then by term
    return Ranking(terms[best], scores[best], classes[best])


def format_term_name(model: TextClassifier, term: int) -> str:
    """Return the name of a term for people."""
    return display_term(model.fitted.statistics.vocabulary.get_term(term))


def _get_categorical(model: TextClassifier) -> tuple[CategoricalAttribute, ...]:
    """Return the distributions of the categorical attributes."""
    attributes = model.fitted.attributes
    return () if attributes is None else attributes.categorical


def count_surface_forms(model: TextClassifier) -> dict[int, list[WordCount]]:
    """Return the words that have the same stem, most frequent first, by the term id of the stem.

    If the term itself is one of the words, only its occurrences without inflection count. The
    result is empty for a model that was trained without ``--set surface-forms=true``.
    """
    if not model.settings.surface_forms:
        return {}
    statistics = model.fitted.statistics.observed_counts
    vocabulary = statistics.vocabulary
    term_counts = statistics.term_counts
    # Inflected words are also counted as categories of a special attribute.
    word_ids = np.flatnonzero(mask_attribute(vocabulary, INFLECTED_WORDS_ATTRIBUTE)).tolist()
    prefix = make_category_term(INFLECTED_WORDS_ATTRIBUTE, "")
    words = [vocabulary.get_term(word_id).removeprefix(prefix) for word_id in word_ids]
    terms = vocabulary.find(model.analysis.build_stemmer()(words))

    forms: dict[int, list[WordCount]] = {}
    for word_id, word, term in zip(word_ids, words, terms, strict=True):
        if term != UNKNOWN_TERM:  # a pruned model may keep an inflection of a removed term
            word_counts = forms.setdefault(term, [])
            word_counts.append(WordCount(word, int(term_counts[word_id])))
    for term, word_counts in forms.items():
        n_inflected = sum(form.occurrences for form in word_counts)
        n_uninflected = int(term_counts[term]) - n_inflected
        if n_uninflected > 0:
            word_counts.append(WordCount(vocabulary.get_term(term), n_uninflected))
        # The most frequent words come first, and equally frequent words in alphabetical order.
        word_counts.sort(key=lambda form: (-form.occurrences, form.word))
    return forms


def find_most_frequent_forms(model: TextClassifier) -> dict[int, str]:
    """Return the first word of `count_surface_forms` for each stemmed term, by term id."""
    return {term: forms[0].word for term, forms in count_surface_forms(model).items()}


def replace_stems(model: TextClassifier, terms: Sequence[int]) -> list[str]:
    """Return the names of terms with the most frequent word for each stem, also in n-grams."""
    vocabulary = model.fitted.statistics.vocabulary
    words = find_most_frequent_forms(model)

    def replace_stem(term: int) -> str:
        if term < vocabulary.n_single_terms:
            return words.get(term) or format_term_name(model, term)
        # An n-gram is a pair of a shorter n-gram and a single term.
        pair_index = term - vocabulary.n_single_terms
        [prefix], [last_term] = unpair(vocabulary.ngram_keys[[pair_index]])
        return f"{replace_stem(int(prefix))} {replace_stem(int(last_term))}"

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
    """m_jk, the occurrences of the term in the class, without seed words."""
    documents: float
    """Documents of the class with the term."""
    probability: float | None
    """None for a term that was not selected in training."""
    interval: list[float] | None
    """The credible interval of the probability. None without a posterior."""
    posterior: list[float] | None
    """a and b of the posterior Beta(a, b) of the probability, or None without a posterior."""
    prior: list[float] | None
    """a and b of its prior, which includes seed words. None without a posterior."""


@dataclass(frozen=True)
class TermDetails:
    """The counts and probabilities of a term in a model."""

    term: str
    forms: dict[str, int]
    """Occurrences of the words that the term stands for. Empty unless the model has them."""
    known: bool
    """True if the term is in the model."""
    selected: bool
    """True if the classifier uses the term."""
    classes: dict[str, TermInClass]
    """Empty for an unknown term."""


@dataclass(frozen=True)
class WordDetails:
    """A word, or a text of several words, and its terms. A stop word has no terms."""

    word: str
    probability_of: _ProbabilityMeaning
    """The probability that each of the terms has."""
    terms: list[TermDetails]


def collect_word_details(model: TextClassifier, words: Sequence[str]) -> list[WordDetails]:
    """Return the terms of each word with their counts and probabilities.

    ``words`` may also be texts, which have n-grams, and categories.
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
        for name, term in _find_terms(model, word).items():
            term_forms = dict(forms.get(term, []))
            if term == UNKNOWN_TERM:
                terms.append(_make_unknown_term(name, term_forms))
            else:
                terms.append(_get_term_details(model, name, term, text_probabilities, term_forms))
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
    [term] = model.fitted.statistics.vocabulary.find([make_category_term(attribute.name, value)])
    [unseen_pseudo_count] = attribute.get_unseen_pseudo_counts([value]).tolist()
    # It is nan if documents have the value, or if the value is impossible.
    is_unseen = not isnan(unseen_pseudo_count)
    meaning = f"of the values of {attribute.name!r}"
    if is_unseen:
        probabilities = TermProbabilities.from_unseen_outcome(
            attribute.language_models, meaning, unseen_pseudo_count
        )
    else:
        probabilities = TermProbabilities.from_models(attribute.language_models, meaning)
    is_impossible = term == UNKNOWN_TERM and not is_unseen
    if is_impossible:
        details = _make_unknown_term(word, forms={})
    else:
        details = _get_term_details(model, word, term, probabilities, forms={})
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
    probabilities: TermProbabilities,
    forms: dict[str, int],
) -> TermDetails:
    """Return the counts and probabilities of a term.

    If ``term`` is `UNKNOWN_TERM`, it is a category without documents, and ``probabilities`` are the
    probabilities of this category, whatever their argument.
    """
    statistics = model.fitted.statistics.observed_counts
    is_unseen = term == UNKNOWN_TERM
    terms = np.array([] if is_unseen else [term], np.int64)
    is_selected = is_unseen or bool(probabilities.selected[term])
    class_probabilities: list[float | None] = [None for _ in statistics.classes]
    a, b = np.full((2, statistics.n_classes), np.nan)
    prior_a, prior_b = np.full((2, statistics.n_classes), np.nan)
    if is_selected:
        class_probabilities = probabilities.compute_probability(terms)[0].tolist()
        if probabilities.compute_posteriors is not None:
            [a], [b] = probabilities.compute_posteriors(terms)
        if probabilities.compute_priors is not None:
            [prior_a], [prior_b] = probabilities.compute_priors(terms)
    intervals = _replace_nonfinite(compute_beta_intervals(a, b))
    posteriors = _replace_nonfinite(np.column_stack((a, b)))
    prior_shape = (statistics.n_classes, 2)
    priors = _replace_nonfinite(np.broadcast_to(np.column_stack((prior_a, prior_b)), prior_shape))
    # The sums over no terms are 0.
    counts = statistics.get_dense_counts(terms).sum(axis=0)
    documents = statistics.get_dense_documents(terms).sum(axis=0)
    classes = {
        label: TermInClass(
            count=to_int_or_float(counts[k]),
            documents=to_int_or_float(documents[k]),
            probability=class_probabilities[k],
            interval=intervals[k],
            posterior=posteriors[k],
            prior=None if posteriors[k] is None else priors[k],
        )
        for k, label in enumerate(statistics.classes)
    }
    return TermDetails(name, forms, known=True, selected=is_selected, classes=classes)


def _replace_nonfinite(pairs: Floats) -> list[list[float] | None]:
    """Return pairs of numbers, shape (n, 2), as lists, with None for a pair that is not finite."""
    is_finite = np.isfinite(pairs).all(axis=1)
    lists: list[list[float] | None] = pairs.tolist()
    for row in np.flatnonzero(~is_finite).tolist():
        lists[row] = None
    return lists


def _find_terms(model: TextClassifier, word: str) -> dict[str, int]:
    """Return the terms of a text by name. A term that is not in the model is `UNKNOWN_TERM`.

    The text is analysed as a document. If it is ``name:content`` and the model knows a term of the
    field ``name``, the content is analysed as this field. The names of counted features and of
    character n-grams are terms themselves.

    A text may also be a stem that the model prints, which stemming would change again ("hors" to
    "hor"). Then the stem is the first term, and only known terms of the analysed text follow.
    """
    text = word.encode("utf-8", "replace")  # an argument may have invalid bytes
    word = text.decode()
    vocabulary = model.fitted.statistics.vocabulary
    is_char_ngram = WILDCARD in word and model.settings.char_ngrams is not None
    if model.reading.is_counted or is_char_ngram:
        return {word: vocabulary.find([word])[0]}

    terms = _analyse_field(model, word)
    if all(term == UNKNOWN_TERM for term in terms.values()):
        terms = _analyse(model, clean_text(text))
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
    return _analyse(model, text=b"", fields=fields)


def _analyse(model: TextClassifier, text: bytes, fields: Fields = ()) -> dict[str, int]:
    """Return the terms of a document, which are words and n-grams, by name."""
    terms: dict[str, int | None] = {}
    for token in TokenTracer.from_model(model.fitted).trace_tokens(text, fields):
        if token.kind == "word" and token.term is not None:
            terms[token.term] = token.term_id
            terms |= {ngram.term: ngram.term_id for ngram in token.ngrams}
    return {name: UNKNOWN_TERM if term is None else term for name, term in terms.items()}


class TermValue(NamedTuple):
    """A term and its value by a measure."""

    term: str
    value: float


class ClassTerms(NamedTuple):
    """A class and its most informative terms."""

    label: str
    terms: Sequence[tuple[str, float]]
    """Terms with their summands of the mutual information, above 0, in nats, largest first."""


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
    """Terms with the probability that ``probability_of`` describes."""
    lift: list[TermValue]
    """Terms with their lift (see `compute_lift`), which may be infinite."""
    mutual_information: list[TermValue]
    """Terms with their summand of the mutual information of the language models, in nats."""


TERM_MEASURES = ("probability", "lift", "mutual_information")
"""Fields of `ClassDetails` with the best terms, in order."""


def get_class_size(model: TextClassifier, k: int) -> tuple[float, float, float]:
    """Return the fields of a `ClassSize`: documents, tokens and prior of the class ``k``."""
    return (
        to_int_or_float(model.counts.labelled_statistics.class_documents[k]),
        to_int_or_float(model.fitted.class_tokens[k]),
        float(model.fitted.classifier.prior[k]),
    )


class _Measurements(NamedTuple):
    """Values of a block of terms in some classes, by one measure or more."""

    values: list[Floats]
    """A table for each measure, shape (n_terms, n_classes). Larger values are better."""
    tie_breaker: Floats
    """Decides between terms with equal values, shape (n_terms, n_classes). Larger is better."""


class _BestTerms:
    """The best terms of a class by a measure, among the blocks of terms that were added."""

    def __init__(self, top: int) -> None:
        self._top = top
        self.terms: Ints = np.empty(0, np.int64)
        self.values = np.empty(0)
        self._tie_breakers = np.empty(0)

    def add(self, terms: Ints, values: Floats, tie_breakers: Floats) -> None:
        """Add a block of terms. Terms with values above 0 are candidates."""
        is_positive = values > 0
        candidates = np.concatenate((self.terms, terms[is_positive]))
        candidate_values = np.concatenate((self.values, values[is_positive]))
        candidate_ties = np.concatenate((self._tie_breakers, tie_breakers[is_positive]))
        # By value and tie breaker, largest first, then by term.
        order = np.lexsort((candidates, -candidate_ties, -candidate_values))
        best = order[: self._top]
        self.terms = candidates[best]
        self.values = candidate_values[best]
        self._tie_breakers = candidate_ties[best]


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
        """Return the values of terms by each of `TERM_MEASURES`."""
        probability = probabilities.compute_probability(terms)
        if probabilities.compute_corpus_probability is None:
            corpus_probability = (probability * prior).sum(axis=1, keepdims=True)
        else:
            corpus_probability = probabilities.compute_corpus_probability(terms)
        lift = compute_lift(probability, corpus_probability)
        summands, _ = mutual_information(models, prior, terms)
        values = [table[:, classes] for table in (probability, lift, summands)]
        return _Measurements(values, tie_breaker=probability[:, classes])

    best_terms = _find_best_terms(
        model,
        classes,
        top,
        n_measures=len(TERM_MEASURES),
        measure=measure,
        n_values_per_term=prior.size,
    )
    return {
        label: ClassDetails(*get_class_size(model, k), meaning, *terms_by_measure)
        for label, k, terms_by_measure in zip(labels, classes.tolist(), best_terms, strict=True)
    }


class NextTerm(NamedTuple):
    """A term that may come next in a document of a class, with its probability and information."""

    label: str
    rank: int
    term: str
    probability: float
    nats: float
    """The information of the term, −log of its probability."""
    bits: float
    """The information as a binary logarithm."""


@dataclass(frozen=True)
class NextTerms:
    """The terms of classes by probability."""

    probability_of: _ProbabilityMeaning
    terms: list[NextTerm]
    """Terms of the first class, most probable first, then of the second, and so on."""


def rank_next_terms(model: TextClassifier, labels: Names, top: int) -> NextTerms:
    """Return the ``top`` most probable terms of each class, with their information −log φ_jk.

    Terms with the probability 0 are omitted. Raise `UsageError` for a class that is not in the
    model. Source: C. Shannon, A mathematical theory of communication (1948).
    """
    classes = np.array([find_class_index(model.fitted, label) for label in labels], np.int64)
    probabilities = choose_term_probabilities(model)

    def measure(terms: Ints) -> _Measurements:
        probability = probabilities.compute_probability(terms)[:, classes]
        return _Measurements([probability], tie_breaker=probability)  # breaks no ties

    best_terms = _find_best_terms(
        model,
        classes,
        top,
        n_measures=1,
        measure=measure,
        n_values_per_term=len(model.classes),
    )
    next_terms = [
        NextTerm(label, rank, term, probability, -log(probability), -log2(probability))
        for label, [terms] in zip(labels, best_terms, strict=True)
        for rank, (term, probability) in enumerate(terms, start=1)
    ]
    meaning = _ProbabilityMeaning(probabilities.symbol, probabilities.meaning)
    return NextTerms(meaning, next_terms)


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
            summands = compute_sparse_contributions(models, prior, terms, classes)
        else:
            all_summands, _ = mutual_information(models, prior, terms)
            summands = all_summands[:, classes]
        return _Measurements([summands], tie_breaker=summands)  # breaks no ties

    best_terms = _find_best_terms(
        model,
        classes,
        top,
        n_measures=1,
        measure=measure,
        n_values_per_term=classes.size if is_sparse else prior.size,
    )
    return tuple(
        ClassTerms(model.classes[k], terms)
        for k, [terms] in zip(classes.tolist(), best_terms, strict=True)
    )


def compute_lift(probability: Floats, corpus_probability: Floats) -> Floats:
    """Return φ_jk / Σ_l φ_jl π_l, how much more probable terms are in a class than in the corpus.

    ``probability`` is φ_jk, shape (n, n_classes), and ``corpus_probability`` the sum, shape (n, 1).
    The result has shape (n, n_classes). x / 0 is infinite, but 0 / 0 is 0.

    Source: M. Taddy, On estimation and selection for topic models (2012).
    """
    # Relative frequencies as denominator would rank the rarest terms first, because smoothing
    # raises their probabilities most.
    lift_without_denominator = np.where(probability > 0, np.inf, 0.0)
    return np.divide(
        probability,
        corpus_probability,
        out=lift_without_denominator,
        where=corpus_probability > 0,
    )


def _find_best_terms(
    model: TextClassifier,
    classes: Ints,
    top: int,
    *,
    n_measures: int,
    measure: Callable[[Ints], _Measurements],
    n_values_per_term: int,
) -> list[list[list[TermValue]]]:
    """Return the ``top`` selected terms with values above 0, for each class and each measure.

    ``measure`` returns the values of a block of terms. Blocks are so small that
    ``n_values_per_term`` fit in memory. Terms that are equal in value and tie breaker are in the
    order of the vocabulary.
    """
    best_terms = [[_BestTerms(top) for _ in range(n_measures)] for _ in range(classes.size)]
    selected_terms = np.flatnonzero(model.fitted.language_models.selected)
    for terms in iter_blocks(selected_terms, n_values_per_term, MAX_PROBABILITIES_IN_MEMORY):
        values, tie_breaker = measure(terms)
        for column, best_by_measure in enumerate(best_terms):
            for table, best in zip(values, best_by_measure, strict=True):
                best.add(terms, table[:, column], tie_breaker[:, column])
    return [
        [_make_term_values(model, best) for best in best_by_measure]
        for best_by_measure in best_terms
    ]


def _make_term_values(model: TextClassifier, best: _BestTerms) -> list[TermValue]:
    """Return the names of terms with their values."""
    vocabulary = model.fitted.statistics.vocabulary
    return [
        TermValue(vocabulary.get_term(term), value)
        for term, value in zip(best.terms.tolist(), best.values.tolist(), strict=True)
    ]
