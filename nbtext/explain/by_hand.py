"""Bayes' rule with its numbers, as on a blackboard: prior, factors, products, sum and posterior.

P(C_k | d) = π_k ∏_i p_ik / Σ_l π_l ∏_i p_il, with a factor p_ik for each term and column of d:

- words, multinomial: ((m_jk + α_j)/(N_k + α_0))^n_jd;
- words, Bernoulli: (d_jk + a)/(D_k + a + b) for present and (D_k − d_jk + b)/(D_k + a + b) for
  absent terms;
- categories: (m + α)/(N + α_0); counts: Poisson probabilities; numbers: Gaussian densities.

IIR, example 13.1: is a document about China? The products are 1/4 · (2/9)³ · (2/9)² for no and
3/4 · (3/7)³ · (1/14)² for yes:

>>> from nbtext import Document, TextClassifier
>>> words = {"stemmer": "none", "stop_words": "none"}
>>> model = TextClassifier(smoothing=1, calibration="none", **words)
>>> texts = ["Chinese Beijing Chinese", "Chinese Chinese Shanghai", "Chinese Macao"]
>>> texts.append("Tokyo Japan Chinese")
>>> calculator = BayesCalculator(model.fit(texts, ["yes", "yes", "yes", "no"]).fitted)
>>> document = Document("d5", None, b"Chinese Chinese Chinese Tokyo Japan")
>>> [calculation] = calculator.calculate([document])
>>> for factor in calculation.factors:
...     print(factor.name, factor.power, *(p.value for p in factor.probabilities))
prior 1 1/4 3/4
chinese 3 2/9 3/7
japan 1 2/9 1/14
tokyo 1 2/9 1/14
>>> print(*calculation.joint, *calculation.posterior)
8/59049 81/268912 2151296/6934265 4782969/6934265

Source: C. Manning, P. Raghavan, H. Schütze, Introduction to Information Retrieval (IIR, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import inf, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.classifiers.base import compute_prior_weights
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from nbtext.classifiers.multinomial import MultinomialNaiveBayes
from nbtext.compatibility import BY_HAND, list_label_requests, require_compatible_settings
from nbtext.corpus.document import collect_contents
from nbtext.counts.vocabulary import display_term
from nbtext.explain.contributions import score_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nbtext.classifiers.attribute_likelihoods import (
        AttributeLikelihoods,
        CategoricalAttribute,
    )
    from nbtext.corpus.document import Document
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.document_fields import Attributes
    from nbtext.errors import DocumentError
    from nbtext.fitted_model import FittedModel
    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats, Ints, Numbers

MAX_SHOWN_FACTORS = 30
"""Limit of factors to show. Factors that differ most between the classes come first."""

MAX_EXACT_POWERS = 200
"""A product of more factors is a decimal number, because its fraction would be very long."""

DECIMAL_CONTEXT = Context(prec=50, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""50 digits, and exponents for the smallest products."""

ExactNumber = Any
"""A `Fraction` or a `Decimal`. All numbers of a calculation have the same type."""


def to_decimal(number: ExactNumber) -> Decimal:
    """Return a number to 50 digits."""
    if isinstance(number, Decimal):
        return number
    with localcontext(DECIMAL_CONTEXT):
        return Decimal(number.numerator) / number.denominator


class Ratio(NamedTuple):
    """A probability (occurrences + pseudo-count) / (total + sum of pseudo-counts)."""

    occurrences: Fraction
    pseudo_count: Fraction
    total: Fraction
    pseudo_total: Fraction

    @property
    def value(self) -> Fraction:
        """The probability, which is 0 if the denominator is 0."""
        denominator = self.total + self.pseudo_total
        if not denominator:
            return Fraction(0)
        return (self.occurrences + self.pseudo_count) / denominator

    @property
    def log_value(self) -> float:
        """The logarithm, −inf of 0."""
        value = self.value
        return log(value.numerator) - log(value.denominator) if value else -inf


class Density(NamedTuple):
    """The Poisson probability of a count, or the Gaussian density of a number."""

    parameters: Mapping[str, float]
    """λ, or μ and σ²."""
    log_value: float

    @property
    def value(self) -> Decimal:
        """The probability or the density."""
        return DECIMAL_CONTEXT.exp(Decimal(self.log_value))


Probabilities = tuple[Ratio | Density, ...]
"""A probability or density for each class."""


class Factor(NamedTuple):
    """A factor of the products, in each class."""

    name: str
    """``prior``, a term, or a column with its value."""
    probabilities: Probabilities
    power: int = 1
    """How often the document contains the term."""
    is_absent: bool = False
    """True for the probability that a document lacks the term."""

    @property
    def log_range(self) -> float:
        """The greatest log odds of two classes by this factor, in nats."""
        logs = [probability.log_value for probability in self.probabilities]
        return self.power * (max(logs) - min(logs)) if min(logs) > -inf else inf


def multiply(factors: Sequence[Factor], class_index: int) -> ExactNumber:
    """Return the product of the factors in a class.

    It is an exact fraction, unless there are densities or more than `MAX_EXACT_POWERS` powers.
    """
    probabilities = [factor.probabilities[class_index] for factor in factors]
    has_densities = any(isinstance(probability, Density) for probability in probabilities)
    is_exact = not has_densities and sum(factor.power for factor in factors) <= MAX_EXACT_POWERS
    product: ExactNumber = Fraction(1) if is_exact else Decimal(1)
    with localcontext(DECIMAL_CONTEXT):
        for factor, probability in zip(factors, probabilities, strict=True):
            value = probability.value if is_exact else to_decimal(probability.value)
            product *= value**factor.power
    return product


@dataclass(frozen=True)
class BayesCalculation:
    """The calculation of the posterior of a document."""

    id: str
    classes: Sequence[str] = ()
    factors: Sequence[Factor] = ()
    """The first is the class prior."""
    n_unknown: int = 0
    """Number of tokens without a factor."""
    temperature: float = 1.0
    """Calibration divides log odds by it. With 1, calibration changes nothing."""
    calibrated: Sequence[float] = ()
    """The posterior after calibration, by class."""
    problem: DocumentError | None = None
    """Why the document could not be read, or None."""

    @cached_property
    def joint(self) -> list[ExactNumber]:
        """The product of all factors in each class."""
        return [multiply(self.factors, index) for index in range(len(self.classes))]

    @cached_property
    def evidence(self) -> ExactNumber:
        """The sum of the products over the classes."""
        with localcontext(DECIMAL_CONTEXT):
            return sum(self.joint)

    @cached_property
    def posterior(self) -> list[ExactNumber]:
        """The posterior of each class before calibration. Empty if all products are 0."""
        if not self.evidence:
            return []
        with localcontext(DECIMAL_CONTEXT):
            return [product / self.evidence for product in self.joint]

    def split_factors(self) -> tuple[list[Factor], list[Factor]]:
        """Return the factors to show, in order, and all other factors.

        The prior is shown, and at most `MAX_SHOWN_FACTORS` others: the factors that differ most
        between the classes.
        """
        indices = range(1, len(self.factors))
        ranked = sorted(indices, key=lambda index: self.factors[index].log_range, reverse=True)
        shown_indices = {0, *ranked[:MAX_SHOWN_FACTORS]}
        shown = [self.factors[index] for index in sorted(shown_indices)]
        return shown, [self.factors[index] for index in indices if index not in shown_indices]


class BayesCalculator:
    """Calculations of posteriors for models whose scores are products of probabilities."""

    def __init__(self, model: FittedModel) -> None:
        """Raise `UsageError` if a calculation by hand is not possible for the model."""
        require_compatible_settings(
            model.settings, BY_HAND, *list_label_requests(model.posterior_type)
        )
        self._model = model

    def calculate(self, documents: Iterable[Document]) -> Iterator[BayesCalculation]:
        """Yield one calculation for each document, in order."""
        for document in documents:
            if document.problem is not None:
                yield BayesCalculation(document.id, problem=document.problem)
                continue
            matrix = self._model.count_texts(*collect_contents([document]))
            scored = self._model.score_counts(matrix)
            calibration = self._model.parameters.calibration
            yield BayesCalculation(
                document.id,
                self._model.classes,
                [
                    self._make_prior(),
                    *self._iter_term_factors(matrix),
                    *self._iter_column_factors(matrix, document.values),
                ],
                n_unknown=int(scored.unknown_tokens[0]),
                temperature=calibration.compute_temperatures(scored.lengths).item(),
                calibrated=np.exp(scored.log_posterior[0]).tolist(),
            )

    def _make_prior(self) -> Factor:
        """Return the class prior. The pseudo-count is A for the class prior ``smoothed:A``."""
        statistics = self._model.statistics
        setting = self._model.settings.class_prior
        weights = compute_prior_weights(setting, statistics)
        counts = weights
        if isinstance(setting, str) and setting != "uniform":
            counts = statistics.class_documents.astype(np.float64)
        [ratios] = _iter_ratios(
            counts[np.newaxis], weights - counts, counts.sum(), weights.sum() - counts.sum()
        )
        return Factor("prior", ratios)

    def _iter_term_factors(self, matrix: DocumentTermMatrix) -> Iterator[Factor]:
        """Yield the factors of the terms of a document. With Bernoulli, absent terms follow."""
        classifier = self._model.text_classifier
        if isinstance(classifier, BernoulliNaiveBayes):
            yield from self._iter_coin_factors(classifier, matrix)
        if isinstance(classifier, MultinomialNaiveBayes):
            selected = matrix.select_terms(classifier.get_scored_terms()).sort_entries()
            features = classifier.compute_features(selected)
            ratios = _iter_term_ratios(classifier.language_models, features.terms)
            powers = features.counts.astype(np.int64).tolist()
            yield from map(Factor, self._display(features.terms), ratios, powers)

    def _iter_coin_factors(
        self, coins: BernoulliNaiveBayes, matrix: DocumentTermMatrix
    ) -> Iterator[Factor]:
        """Yield θ_jk of the terms of a document, then 1 − θ_jk of absent terms."""
        n_documents = self._model.statistics.class_documents
        scored_terms = np.flatnonzero(coins.get_scored_terms())
        is_present = np.isin(scored_terms, matrix.terms)
        for is_absent in (False, True):
            terms = scored_terms[is_present != is_absent]
            counts = self._model.statistics.get_dense_documents(terms)
            presence, absence = coins.compute_pseudo_counts(terms)
            pseudo_counts = presence
            if is_absent:
                counts = n_documents - counts
                pseudo_counts = absence
            ratios = _iter_ratios(counts, pseudo_counts, n_documents, presence + absence)
            for name, probabilities in zip(self._display(terms), ratios, strict=True):
                yield Factor(name, probabilities, is_absent=is_absent)

    def _iter_column_factors(
        self, matrix: DocumentTermMatrix, values: Sequence[str]
    ) -> Iterator[Factor]:
        """Yield the factors of the columns that have a value in the document."""
        likelihoods = self._model.attributes
        if likelihoods is None:
            return
        names = self._model.statistics.attributes
        for name, value, logs in score_attributes(self._model, matrix, values):
            probabilities: Probabilities = ()
            if name in names.categorical:
                index = names.categorical.index(name)
                probabilities = _make_category_ratios(likelihoods.categorical[index], matrix, index)
            elif logs.any():  # a column that is always the same has no likelihoods
                probabilities = _make_densities(logs, _get_parameters(likelihoods, names, name))
            if probabilities:
                yield Factor(f"{name}={value}", probabilities)

    def _display(self, terms: Ints) -> Iterator[str]:
        """Yield the terms with these ids."""
        return map(display_term, map(self._model.statistics.vocabulary.get_term, terms.tolist()))


def _to_fraction(number: float) -> Fraction:
    """Return the decimal number of 15 digits, so that 0.1 is 1/10 and 3 · 0.1 is 3/10."""
    return Fraction(f"{number:.15g}")


def _iter_ratios(
    counts: Numbers, pseudo_counts: Numbers, totals: Numbers, pseudo_totals: Numbers | float
) -> Iterator[tuple[Ratio, ...]]:
    """Yield the probabilities of each row of ``counts``, shape (n, n_classes).

    The shapes of the other arrays broadcast to this shape.
    """
    parts = np.broadcast_arrays(counts, pseudo_counts, totals, pseudo_totals)
    for row in np.stack(parts, axis=-1).tolist():
        yield tuple(Ratio(*map(_to_fraction, ratio)) for ratio in row)


def _iter_term_ratios(models: LanguageModels, terms: Ints) -> Iterator[tuple[Ratio, ...]]:
    """Yield φ_jk of each term."""
    counts = models.statistics.get_dense_counts(terms)
    pseudo_counts = models.compute_pseudo_counts(terms)[:, np.newaxis]
    return _iter_ratios(counts, pseudo_counts, models.class_tokens, models.pseudo_tokens)


def _make_category_ratios(
    attribute: CategoricalAttribute, matrix: DocumentTermMatrix, column: int
) -> tuple[Ratio, ...]:
    """Return φ of the category of a document, or nothing for an impossible category.

    ``column`` is the index of the attribute among categorical attributes.
    """
    models = attribute.language_models
    terms = matrix.select_terms(models.selected).terms
    if terms.size:
        [ratios] = _iter_term_ratios(models, terms)
        return ratios
    if matrix.unseen_pseudo_counts is None or np.isnan(matrix.unseen_pseudo_counts[0, column]):
        return ()
    counts = np.zeros((1, models.statistics.n_classes))
    pseudo_counts = matrix.unseen_pseudo_counts[:, column]
    [ratios] = _iter_ratios(counts, pseudo_counts, models.class_tokens, models.pseudo_tokens)
    return ratios


def _get_parameters(
    likelihoods: AttributeLikelihoods, names: Attributes, name: str
) -> dict[str, Floats]:
    """Return the parameters of a count or a number, each of shape (n_classes,)."""
    if likelihoods.counts is not None and name in names.counts:
        return {"λ": likelihoods.counts.rates[:, names.counts.index(name)]}
    numbers = likelihoods.numbers
    if numbers is None:
        return {}
    column = names.numeric.index(name)
    return {"μ": numbers.means[:, column], "σ²": numbers.variances[:, column]}


def _make_densities(logs: Floats, parameters: Mapping[str, Floats]) -> Probabilities:
    """Return the densities of a value with these logarithms and parameters, by class."""
    densities = []
    for class_index, log_value in enumerate(logs.tolist()):
        class_parameters = {
            symbol: float(values[class_index]) for symbol, values in parameters.items()
        }
        densities.append(Density(class_parameters, log_value))
    return tuple(densities)
