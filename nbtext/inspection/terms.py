"""The terms of a model: ranked, of each class by several measures, and one by one with the words that they stand for."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.classifiers.base import get_term_probabilities
from nbtext.classifiers.inspection import MEANING_OF_TOKENS, TermProbabilities
from nbtext.counts.count_table import to_int_or_float
from nbtext.counts.matrix import iter_blocks
from nbtext.counts.vocabulary import (
    INFLECTED_WORDS_ATTRIBUTE,
    display_term,
    is_attribute_category,
    make_category_term,
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
    from collections.abc import Callable, Mapping, Sequence

    from nbtext.classifiers.attribute_likelihoods import CategoricalAttribute
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Fields, Floats, Ints, Names

    Forms = list[tuple[str, int]]


def rank_model_terms(model: TextClassifier, criterion: str, top: int | None = None) -> Ranking:
    """Return the ``top`` best terms of the texts and categories, each in its own distribution, by a criterion of `nbtext.selection`."""
    distributions = [
        model.fitted.language_models,
        *(attribute.language_models for attribute in _categorical(model)),
    ]
    rankings = [
        rank_terms(models, model.fitted.classifier.prior, criterion, top)
        for models in distributions
    ]
    terms, scores, classes = (np.concatenate(column) for column in zip(*rankings, strict=True))
    best = np.lexsort((terms, -scores))[:top]
    return Ranking(terms[best], scores[best], classes[best])


def format_term_name(model: TextClassifier, term: int) -> str:
    """Return a term as it is shown to people; a category as ``name=value``."""
    return display_term(model.fitted.statistics.vocabulary.get_term(term))


def _categorical(model: TextClassifier) -> tuple[CategoricalAttribute, ...]:
    attributes = model.fitted.attributes
    return () if attributes is None else attributes.categorical


def count_surface_forms(model: TextClassifier) -> dict[int, Forms]:
    """Return the words that each stemmed term stands for, with their counts, most frequent first, by number of the term.

    The term itself occurs as often as it was counted without an inflection. Empty for a model trained without ``--set surface-forms=true``.
    """
    statistics = model.fitted.statistics.observed_counts
    if not model.settings.surface_forms:
        return {}
    vocabulary = statistics.vocabulary
    counts = statistics.term_counts
    numbers = np.flatnonzero(is_attribute_category(vocabulary, INFLECTED_WORDS_ATTRIBUTE)).tolist()
    words = [
        vocabulary.get_term(number).removeprefix(make_category_term(INFLECTED_WORDS_ATTRIBUTE, ""))
        for number in numbers
    ]
    terms = vocabulary.find(model.analysis.build_stemmer()(words))
    found: dict[int, Forms] = defaultdict(list)
    for number, word, term in zip(numbers, words, terms, strict=True):
        if term >= 0:  # a pruned model may keep an inflection of a term that is gone
            found[term].append((word, int(counts[number])))
    for term, forms in found.items():
        itself = int(counts[term]) - sum(count for _, count in forms)
        if itself > 0:
            forms.append((vocabulary.get_term(term), itself))
        forms.sort(key=lambda form: (-form[1], form[0]))
    return found


def find_most_frequent_forms(model: TextClassifier) -> dict[int, str]:
    """Return the most frequent word of each stemmed term, by number of the term; of equally frequent ones the first in the alphabet."""
    return {term: forms[0][0] for term, forms in count_surface_forms(model).items()}


def replace_stems(model: TextClassifier, terms: Sequence[int]) -> list[str]:
    """Return the names of terms with the most frequent word in place of each stem, also inside n-grams; other terms as `format_term_name`."""
    vocabulary = model.fitted.statistics.vocabulary
    words = find_most_frequent_forms(model)

    def as_word(number: int) -> str:
        if number < vocabulary.n_single_terms:
            return words.get(number) or format_term_name(model, number)
        left, last = unpair(
            vocabulary.ngram_keys[
                number - vocabulary.n_single_terms : number - vocabulary.n_single_terms + 1
            ]
        )
        return f"{as_word(int(left[0]))} {as_word(int(last[0]))}"

    return [as_word(term) for term in terms]


@dataclass(frozen=True)
class _ProbabilityMeaning:
    """The meaning of the probabilities shown for terms."""

    symbol: str
    """The symbol used in `docs/mathematics.md`."""
    meaning: str


@dataclass(frozen=True)
class TermInClass:
    """A term in one class."""

    count: float
    """m_jk, without seed words."""
    documents: float
    """Documents of the class that hold the term."""
    probability: float | None
    """None for a term that training left out."""
    interval: list[float] | None
    """The credible interval of the probability; None where there is none."""
    posterior: list[float] | None
    """a and b of the posterior Beta(a, b) of the probability, None where there is none."""


@dataclass(frozen=True)
class TermDetails:
    """The counts and probabilities of a term in a model."""

    term: str
    forms: dict[str, int]
    """The words that it stands for, with their counts; empty unless the model keeps them."""
    known: bool
    selected: bool
    classes: dict[str, TermInClass]
    """Empty for a term that is not known."""


@dataclass(frozen=True)
class WordDetails:
    """The terms that a word becomes; none for a stop word or for what is no word."""

    word: str
    probability_of: _ProbabilityMeaning
    terms: list[TermDetails]


def collect_word_details(model: TextClassifier, words: Sequence[str]) -> list[WordDetails]:
    """Return the details of each word, or of each text of several words with the n-grams that they make."""
    forms = count_surface_forms(model)
    of_texts = choose_term_probabilities(model)
    found = []
    for word in words:
        probabilities = of_texts
        terms = None
        never_seen = False
        for attribute in _categorical(model):
            if word.startswith(f"{attribute.name}="):
                own = attribute.get_unseen_pseudo_counts([word.split("=", 1)[1]])[:, np.newaxis]
                never_seen = not np.isnan(own).any()
                probabilities = TermProbabilities.from_models(
                    attribute.language_models,
                    f"of the values of {attribute.name!r}",
                    own if never_seen else None,
                )
                terms = {
                    word: model.fitted.statistics.vocabulary.find(
                        [make_category_term(*word.split("=", 1))]
                    )[0]
                }
        details = [
            _details(
                model,
                name,
                number,
                dict(forms.get(number, [])),
                probabilities,
                known=never_seen or number >= 0,
            )
            for name, number in (terms or _terms_of(model, word)).items()
        ]
        found.append(
            WordDetails(
                word, _ProbabilityMeaning(probabilities.symbol, probabilities.meaning), details
            )
        )
    return found


def choose_term_probabilities(model: TextClassifier) -> TermProbabilities:
    """Return the probabilities by which the classifier scores terms; for one that has none of the class itself, those of the language models."""
    found = get_term_probabilities(model.fitted.text_classifier)
    if found is not None:
        return found
    return TermProbabilities.from_models(
        model.fitted.language_models,
        f"{MEANING_OF_TOKENS}; {model.settings.classifier} does not score by it",
    )


def _details(
    model: TextClassifier,
    name: str,
    term: int,
    forms: dict[str, int],
    probabilities: TermProbabilities,
    *,
    known: bool,
) -> TermDetails:
    if not known:
        return TermDetails(name, forms, known=False, selected=False, classes={})
    statistics = model.fitted.statistics.observed_counts
    terms = np.array([term] if term >= 0 else [], np.int64)
    selected = bool(probabilities.selected[term])
    probability: list[float | None] = [None] * statistics.n_classes
    posteriors = np.full((2, statistics.n_classes), np.nan)
    if selected:
        probability = probabilities.probability(terms)[0].tolist()
        if probabilities.posteriors is not None:
            posteriors = np.concatenate(probabilities.posteriors(terms))
    pairs = (_where_finite(compute_beta_intervals(*posteriors)), _where_finite(posteriors.T))
    columns = (
        *(
            each(terms).sum(axis=0)
            for each in (statistics.get_dense_counts, statistics.get_dense_documents)
        ),
        probability,
        *pairs,
    )
    classes = {
        label: TermInClass(
            to_int_or_float(count), to_int_or_float(documents), value, interval, posterior
        )
        for label, count, documents, value, interval, posterior in zip(
            statistics.classes, *columns, strict=True
        )
    }
    return TermDetails(name, forms, known=True, selected=selected, classes=classes)


def _where_finite(pairs: Floats) -> list[list[float] | None]:
    finite = np.isfinite(pairs)
    return [
        pair if low and high else None
        for pair, (low, high) in zip(pairs.tolist(), finite.tolist(), strict=True)
    ]


def _terms_of(model: TextClassifier, word: str) -> dict[str, int]:
    """Return the terms that a text becomes when it is analysed as a document, with their numbers, negative for unknown ones.

    What begins with a name and a colon is the content of that field, if the model knows a term of it.
    A name of counted features or of a character n-gram is the term as it stands. So is a stem, or an n-gram of stems, that the model prints and
    that is no stem of itself ("hors" becomes "hor"); of the terms that the text becomes, only known ones are then added.
    """
    word = word.encode("utf-8", "replace").decode()
    vocabulary = model.fitted.statistics.vocabulary  # an argument may be bytes that are no text
    if model.reading.is_counted or (WILDCARD in word and model.settings.char_ngrams is not None):
        return {word: vocabulary.find([word])[0]}
    name, colon, content = word.partition(":")
    of_field = (
        _analysed(model, b"", clean_fields([(normalise_field_name(name), content.encode())]))
        if colon
        else {}
    )
    analysed = (
        of_field
        if max(of_field.values(), default=UNKNOWN_TERM) >= 0
        else _analysed(model, clean_text(word.encode()))
    )
    as_it_stands = int(vocabulary.find_terms([tuple(word.split(" "))])[0])
    if as_it_stands == UNKNOWN_TERM or as_it_stands in analysed.values():
        return analysed
    return {
        word: as_it_stands,
        **{name: number for name, number in analysed.items() if number != UNKNOWN_TERM},
    }


def _analysed(model: TextClassifier, text: bytes, fields: Fields = ()) -> dict[str, int]:
    tokens = [
        token
        for token in TokenTracer.from_model(model.fitted).trace_tokens(text, fields)
        if token.kind == "word" and token.term is not None
    ]
    found = [
        pair
        for token in tokens
        for pair in (
            (token.term or "", token.term_id),
            *((term.term, term.term_id) for term in token.ngrams),
        )
    ]
    return {name: UNKNOWN_TERM if number is None else number for name, number in found}


class TermValue(NamedTuple):
    """A term and its value by a measure."""

    term: str
    value: float


class ClassTerms(NamedTuple):
    """Terms that speak most for a class, best first, each with its summand of the mutual information, in nats."""

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
    """A class and its best terms by three measures, best first; only terms with values above 0."""

    probability_of: _ProbabilityMeaning
    probability: list[TermValue]
    """By what ``probability_of`` names: frequent in the class."""
    lift: list[TermValue]
    """By `lift`, which may be infinite: its own."""
    mutual_information: list[TermValue]
    """By the summand of the mutual information of the language models, in nats, whatever the classifier: tells it apart."""


TERM_MEASURES = ("probability", "lift", "mutual_information")


def get_class_size(model: TextClassifier, number: int) -> tuple[float, float, float]:
    """Return the documents, tokens and prior of a class."""
    documents = model.counts.labelled_statistics.class_documents[number]
    return (
        to_int_or_float(documents),
        to_int_or_float(model.fitted.class_tokens[number]),
        float(model.fitted.classifier.prior[number]),
    )


def collect_class_details(
    model: TextClassifier, labels: Names, top: int
) -> dict[str, ClassDetails]:
    """Return each class with its ``top`` terms by each of `TERM_MEASURES`; raise `UsageError` for a class that the model does not have."""
    classes = np.array([find_class_index(model.fitted, label) for label in labels], np.int64)
    models = model.fitted.language_models
    prior = model.fitted.classifier.prior
    probabilities = choose_term_probabilities(model)
    meaning = _ProbabilityMeaning(probabilities.symbol, probabilities.meaning)

    def tables(terms: Ints) -> dict[str, Floats]:
        probability = probabilities.probability(terms)
        corpus = (
            (probability * prior).sum(axis=1, keepdims=True)
            if probabilities.corpus_probability is None
            else probabilities.corpus_probability(terms)
        )
        values = (
            probability,
            compute_lift(probability, corpus),
            mutual_information(models, prior, terms)[0],
        )
        return {
            **dict(zip(TERM_MEASURES, (value[:, classes] for value in values), strict=True)),
            "": probability[:, classes],
        }

    best = _best_terms(model, classes, top, TERM_MEASURES, tables, prior.size)
    return {
        label: ClassDetails(*get_class_size(model, number), meaning, *best[column])
        for column, (label, number) in enumerate(zip(labels, classes.tolist(), strict=True))
    }


def find_class_terms(model: TextClassifier, top: int, most_classes: int) -> tuple[ClassTerms, ...]:
    """Return the ``top`` terms with the largest summand φ_jk π_k log(φ_jk / Σ_l φ_jl π_l) for each class, in nats, as far as they are above 0.

    Only for the ``most_classes`` classes with most documents, in the model's order.
    """
    models = model.fitted.language_models
    prior = model.fitted.classifier.prior
    classes = np.sort(
        np.argsort(-model.fitted.statistics.class_documents, kind="stable")[:most_classes]
    )
    by_cells = uses_sparse_sum(models, prior)

    def tables(terms: Ints) -> dict[str, Floats]:
        summands = (
            compute_sparse_summands(models, prior, terms, classes)
            if by_cells
            else mutual_information(models, prior, terms)[0][:, classes]
        )
        return {"summand": summands, "": np.zeros_like(summands)}

    best = _best_terms(
        model, classes, top, ("summand",), tables, classes.size if by_cells else prior.size
    )
    return tuple(
        ClassTerms(model.classes[number], terms)
        for number, (terms,) in zip(classes.tolist(), best, strict=True)
    )


def compute_lift(probability: Floats, corpus: Floats) -> Floats:
    """Return φ_jk / Σ_l φ_jl π_l, how much more probable a term is in a class than in the whole corpus, shape (n, n_classes); 1 if equally.

    ``probability`` holds φ_jk, shape (n, n_classes), ``corpus`` the sum, shape (n, 1). The probability in the corpus is the model's own, not the share of the counts:
    against that, the rarest terms, which smoothing raises most, would come first. Source: M. Taddy, On estimation and selection for topic
    models (2012).
    """
    return np.divide(
        probability, corpus, out=np.where(probability > 0, np.inf, 0.0), where=corpus > 0
    )


def _best_terms(
    model: TextClassifier,
    classes: Ints,
    top: int,
    measures: Names,
    tables: Callable[[Ints], Mapping[str, Floats]],
    width: int,
) -> list[list[list[TermValue]]]:
    """Return for each class, by each measure, the ``top`` selected terms with the largest values above 0.

    ``tables`` gives the values of some terms in these classes by each measure, and under "" the table whose larger value decides between
    equal ones; after that the order of the vocabulary decides. For each term it computes ``width`` values.
    """
    nothing = (np.empty(0, np.int64), np.empty((2, 0)))
    best = {(column, name): nothing for column in range(classes.size) for name in measures}
    for terms in iter_blocks(
        np.flatnonzero(model.fitted.language_models.selected), width, MAX_PROBABILITIES_IN_MEMORY
    ):
        columns = tables(terms)
        for (column, name), so_far in best.items():
            new = np.stack((columns[name][:, column], columns[""][:, column]))
            above = new[0] > 0
            numbers = np.concatenate((so_far[0], terms[above]))
            values = np.concatenate((so_far[1], new[:, above]), axis=1)
            order = np.lexsort((numbers, -values[1], -values[0]))[:top]
            best[column, name] = numbers[order], values[:, order]
    term = model.fitted.statistics.vocabulary.get_term

    def listed(numbers: Ints, values: Floats) -> list[TermValue]:
        return [
            TermValue(term(number), value)
            for number, value in zip(numbers.tolist(), values[0].tolist(), strict=True)
        ]

    return [[listed(*best[column, name]) for name in measures] for column in range(classes.size)]
