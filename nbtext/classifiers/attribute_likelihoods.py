"""Likelihoods of attributes, the values of a document other than its text; attributes as features.

In every class each attribute has a distribution of its own. Under the naive Bayes assumption, the
log-likelihoods are added to the score of the text. For classifiers that have attributes among their
features there are `ColumnFeatures` and `NumberStandardizer`.

An attribute is a category, a count or a number. Documents may lack its value. Counts and numbers
are the columns of ``DocumentTermMatrix.values``, counts first.

- Categories have a categorical distribution with a Dirichlet prior, like terms of a text:
  log p(a | C_k) = log φ_ak. Source: T. Mitchell, Machine learning (1997), section 6.9, and 6.9.1
  for pseudo-counts.
- Counts have a Poisson distribution, log p(x | C_k) = x log λ_k − λ_k − log x!. With the corpus
  mean x̄, λ_k = (Σx + α x̄)/(n_k + α) is the mean of the gamma posterior after α pseudo-documents.
  Source: A. Gelman et al., Bayesian data analysis, 3rd ed. (2013), section 2.6.
- Numbers have a normal distribution, log p(x | C_k) = −½ [log 2πσ²_k + (x − μ_k)²/σ²_k], as in
  Gaussian naive Bayes. μ_k and σ²_k include α pseudo-documents with the distribution of the
  corpus. Sources: Gambosi's notes, probabilistic classification; Gelman et al. (2013), section 3.3.

α = 0 is maximum likelihood.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix, add_weighted_sums
from nbtext.counts.vocabulary import make_category_term, mask_attribute
from nbtext.document_fields import MAX_STD_DEVIATIONS, parse_declared_sizes
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass
from nbtext.language_model.dirichlet import LanguageModels, TermPseudoCounts, log
from nbtext.language_model.measures import (
    ComponentFit,
    MaximumLikelihoodFit,
    compute_class_log_evidence,
    measure_term_fit,
)
from nbtext.language_model.smoothing import (
    build_count_histogram,
    choose_smoothing_by_evidence,
    compute_leave_one_out_scores,
    log_rising_factorial,
)
from nbtext.settings import DEFAULT_TERM, TermSmoothing
from nbtext.text.analyzer import UNKNOWN_TERM

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.moments import Moments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings
    from nbtext.type_names import AttributeValues, Floats, Ints, Mask, Names

DEFAULT_PSEUDO_DOCUMENTS = 1.0
"""α, pseudo-documents of each class for counts and numbers under ``--smoothing auto``."""


def _split_value_pseudo_counts(
    statistics: ClassStatistics, name: str, pseudo_counts: Mapping[str, float]
) -> tuple[dict[int, float], list[float]]:
    """Split the pseudo-counts that the user set for single values of the attribute ``name``.

    Return the pseudo-counts of values that occur in the corpus, by term index, and the
    pseudo-counts of all other values.
    """
    category_terms = [make_category_term(name, value) for value in pseudo_counts]
    terms = statistics.vocabulary.find(category_terms)
    term_pseudo_counts = {}
    unseen_pseudo_counts = []
    for term, pseudo_count in zip(terms, pseudo_counts.values(), strict=True):
        if term == UNKNOWN_TERM:
            unseen_pseudo_counts.append(pseudo_count)
        else:
            term_pseudo_counts[term] = pseudo_count
    return term_pseudo_counts, unseen_pseudo_counts


@dataclass(frozen=True, eq=False)
class CategoricalAttribute:
    """φ of one attribute: a distribution over its values for each class."""

    name: str
    language_models: LanguageModels
    value_pseudo_counts: Mapping[str, float]
    """Pseudo-counts that the user set for single values, by value."""
    unnamed_pseudo_count: float
    """Pseudo-count of each other declared value that no training document has.

    It is nan if no such value is possible.
    """

    @classmethod
    def estimate(
        cls,
        statistics: ClassStatistics,
        name: str,
        smoothing: float | None,
        settings: Settings,
        n_declared: int | None,
    ) -> Self:
        """Estimate the distributions.

        With ``smoothing`` None, choose the pseudo-count of the greatest evidence. ``n_declared`` is
        the number of possible values. None means that only values of the corpus and of the settings
        are possible. Raise `UsageError` if more values occur than are declared.
        """
        selected = mask_attribute(statistics.vocabulary, name)
        value_pseudo_counts = get_value_pseudo_counts(settings, name)
        term_pseudo_counts, unseen_pseudo_counts = _split_value_pseudo_counts(
            statistics, name, value_pseudo_counts
        )
        n_unseen = len(unseen_pseudo_counts)
        # Values that occur in the corpus or in the settings.
        n_named = int(np.count_nonzero(selected)) + n_unseen
        if n_declared is not None and n_declared < n_named:
            raise UsageError(
                f"{name!r} has {n_named:,} values, and {n_declared:,} are declared",
                hint=f"declare at least {name}={n_named}",
            )
        # A background prior and maximum likelihood give probability 0 to values that do not occur.
        is_smoothed = settings.prior_shape != "background" and settings.estimate != "ml"
        n_unnamed = 0
        if n_declared is not None and is_smoothed:
            n_unnamed = n_declared - n_named
        if smoothing is None:
            smoothing = _choose_category_smoothing(
                statistics, selected, settings.prior_shape, n_unnamed
            )
        models = LanguageModels(
            statistics=statistics,
            selected=selected,
            smoothing=smoothing,
            prior_shape=settings.prior_shape,
            estimate=settings.estimate,
            term_pseudo_counts=TermPseudoCounts.from_mapping(term_pseudo_counts, smoothing),
            n_unseen_outcomes=n_unseen + n_unnamed,
            extra_unseen_pseudo_counts=sum(unseen_pseudo_counts) - smoothing * n_unseen,
            has_declared_outcomes=n_declared is not None and is_smoothed,
        )
        unnamed_pseudo_count = np.nan
        if n_unnamed:
            unnamed_pseudo_count = smoothing
        return cls(name, models, value_pseudo_counts, unnamed_pseudo_count)

    def get_unseen_pseudo_counts(self, values: Names) -> Floats:
        """Return the pseudo-counts of possible values that no training document has, shape (n,).

        The result is nan for impossible values, for values that a training document has, and for
        missing values, which are "".
        """
        category_terms = [make_category_term(self.name, value) for value in values]
        terms = self.language_models.statistics.vocabulary.find(category_terms)
        pseudo_counts = np.full(len(values), np.nan)
        for index, (value, term) in enumerate(zip(values, terms, strict=True)):
            if value and term == UNKNOWN_TERM:
                pseudo_counts[index] = self.value_pseudo_counts.get(
                    value, self.unnamed_pseudo_count
                )
        return pseudo_counts

    def add_log_likelihood(self, scores: Floats, matrix: DocumentTermMatrix, column: int) -> Ints:
        """Add log p(a_d | C_k) to ``scores``, shape (n_docs, n_classes), in place, in nats.

        ``column`` is the index of the attribute among categorical attributes. Missing and
        impossible values add 0. Return the number of used values of each document, 0 or 1, shape
        (n_docs,).
        """
        models = self.language_models
        entries = matrix.select_terms(models.selected)
        add_weighted_sums(scores, entries, models.selected.size, models.compute_log_probability)
        if matrix.unseen_pseudo_counts is None:
            return entries.row_sizes
        is_unseen = ~np.isnan(matrix.unseen_pseudo_counts[:, column])
        pseudo_counts = matrix.unseen_pseudo_counts[is_unseen, column, np.newaxis]
        scores[is_unseen] += log(models.estimate_unseen_outcome_probability(pseudo_counts))
        return entries.row_sizes + is_unseen


def _choose_category_smoothing(
    statistics: ClassStatistics, selected: Mask, prior_shape: str, n_unnamed: int
) -> float:
    """Return the smoothing of the greatest evidence.

    The possible values are the selected terms and ``n_unnamed`` values that do not occur.
    """
    histogram = build_count_histogram(statistics, selected, prior_shape)
    if n_unnamed:
        n_values = int(np.count_nonzero(selected)) + n_unnamed
        uniform = np.full(1, 1 / n_values)  # one number for all values
        histogram = histogram._replace(base_measure=uniform, n_terms=n_values)
    return choose_smoothing_by_evidence(histogram, prior_shape)


@dataclass(frozen=True, eq=False)
class PoissonAttributes:
    """λ of each count in each class."""

    rates: Floats
    """λ, shape (n_classes, n_columns)."""

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float) -> Self:
        """Estimate the rates with ``smoothing`` pseudo-documents."""
        total = moments.sum_classes()
        corpus_mean = total.sums.astype(np.float64) / np.maximum(total.documents, 1)
        sums = moments.sums.astype(np.float64) + smoothing * corpus_mean
        documents = moments.documents + smoothing
        rates = np.divide(sums, documents, out=np.zeros_like(sums), where=documents > 0)
        return cls(rates)

    @property
    def informative_columns(self) -> Mask:
        """True for counts that are not always 0, shape (n_columns,). Other counts are ignored."""
        return np.asarray(np.any(self.rates > 0, axis=0))

    def compute_log_likelihood(self, column: int, values: Floats) -> Floats:
        """Return x log λ_k − λ_k − log x! of values of a column, in nats.

        ``values`` have the shape (n_docs, 1), the result has (n_docs, n_classes).
        """
        rates = self.rates[:, column]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_powers = np.where(values > 0, values * np.log(rates), 0.0)  # 0 log 0 is 0
        log_factorials = np.array([math.lgamma(count + 1) for count in values[:, 0].tolist()])
        return log_powers - rates - log_factorials[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class NormalAttributes:
    """μ and σ² of each number in each class."""

    means: Floats
    """μ, shape (n_classes, n_columns)."""
    variances: Floats
    """σ², shape (n_classes, n_columns)."""

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float, names: Names, classes: Names) -> Self:
        """Estimate means and variances with ``smoothing`` pseudo-documents.

        Raise `UsageError` if a number varies in the corpus but not in a class.
        """
        corpus_mean, corpus_variance = compute_mean_and_variance(moments.sum_classes())
        mean, variance = compute_mean_and_variance(moments)
        n = moments.documents
        n_smoothed = n + smoothing
        # Each distribution is a mixture of the distributions of its class and of the corpus.
        class_weight = np.divide(n, n_smoothed, out=np.zeros(n.shape), where=n_smoothed > 0)
        corpus_weight = 1 - class_weight
        between_variance = class_weight * corpus_weight * (mean - corpus_mean) ** 2
        variances = class_weight * variance + corpus_weight * corpus_variance + between_variance
        is_constant = (corpus_variance > 0) & ~(variances > 0)
        if np.any(is_constant):
            label_index, column = np.argwhere(is_constant)[0].tolist()
            raise UsageError(
                f"in class {classes[label_index]} all documents have the same {names[column]!r}",
                hint="do not change estimate and --smoothing",
            )
        return cls(class_weight * mean + corpus_weight * corpus_mean, variances)

    @property
    def informative_columns(self) -> Mask:
        """True for numbers that vary, shape (n_columns,). Other numbers are ignored."""
        return np.asarray(np.all(self.variances > 0, axis=0))

    def compute_log_likelihood(self, column: int, values: Floats) -> Floats:
        """Return −½ [log 2πσ²_k + (x − μ_k)²/σ²_k] of values of a column, in nats.

        ``values`` have the shape (n_docs, 1), the result has (n_docs, n_classes). Distances above
        `MAX_STD_DEVIATIONS` count as this distance.
        """
        mean = self.means[:, column]
        variance = self.variances[:, column]
        with np.errstate(over="ignore"):
            squares = np.minimum((values - mean) ** 2 / variance, MAX_STD_DEVIATIONS**2)
        return -0.5 * (np.log(2 * np.pi * variance) + squares)


def add_column_log_likelihoods(
    distributions: PoissonAttributes | NormalAttributes, scores: Floats, values: Floats
) -> Ints:
    """Add the log-likelihoods of counts or numbers to ``scores`` in place.

    ``scores`` have the shape (n_docs, n_classes), ``values`` (n_docs, n_columns). A missing value
    is nan and adds 0. Return the number of used values of each document, shape (n_docs,).
    """
    is_used = np.isfinite(values) & distributions.informative_columns
    for column in np.flatnonzero(is_used.any(axis=0)).tolist():
        rows = np.flatnonzero(is_used[:, column])
        column_values = values[rows, column, np.newaxis]
        scores[rows] += distributions.compute_log_likelihood(column, column_values)
    return np.asarray(np.count_nonzero(is_used, axis=1))


@dataclass(frozen=True, eq=False)
class AttributeLikelihoods:
    """The likelihoods of all attributes of a corpus."""

    categorical: tuple[CategoricalAttribute, ...]
    counts: PoissonAttributes | None
    """None if the corpus has neither counts nor numbers."""
    numbers: NormalAttributes | None
    """None like ``counts``, and if the text classifier has the numbers among its features."""

    @classmethod
    def estimate(
        cls,
        statistics: ClassStatistics,
        settings: Settings,
        smoothing: Sequence[float] | None,
        *,
        include_numbers: bool,
    ) -> Self:
        """Estimate the likelihoods.

        ``smoothing`` are the pseudo-counts of categorical attributes. None means that the settings
        fix or choose them.
        """
        categorical = _estimate_categorical(statistics, settings, smoothing)
        moments = statistics.moments
        if moments is None:
            return cls(categorical, counts=None, numbers=None)
        names = statistics.attributes
        count_moments, number_moments = moments.split_columns(len(names.counts))
        pseudo_documents = get_pseudo_documents(settings)
        numbers = None
        if include_numbers:
            numbers = NormalAttributes.estimate(
                number_moments, pseudo_documents, names.numeric, statistics.classes
            )
        counts = PoissonAttributes.estimate(count_moments, pseudo_documents)
        return cls(categorical, counts, numbers)

    @property
    def smoothing(self) -> list[float]:
        """The pseudo-count of each categorical attribute."""
        return [attribute.language_models.smoothing for attribute in self.categorical]

    def get_unseen_pseudo_counts(self, values: AttributeValues) -> Floats | None:
        """Return `DocumentTermMatrix.unseen_pseudo_counts` of documents with these values.

        The values of a document without attributes are empty. The shape of the result is
        (n_docs, n_categorical). It is None if no value has an unseen pseudo-count.
        """
        has_unseen = [
            attribute.language_models.n_unseen_outcomes > 0 for attribute in self.categorical
        ]
        if not any(values) or not any(has_unseen):
            return None
        columns = []
        for index, attribute in enumerate(self.categorical):
            column = [row[index] if row else "" for row in values]
            columns.append(attribute.get_unseen_pseudo_counts(column))
        return np.column_stack(columns)

    def add_log_likelihood(self, scores: Floats, matrix: DocumentTermMatrix) -> Ints:
        """Add the log-likelihoods of all attributes to ``scores`` in place.

        ``scores`` have the shape (n_docs, n_classes). Return the number of used attributes of
        each document, shape (n_docs,).
        """
        n_attributes = np.zeros(matrix.n_documents, np.int64)
        for index, attribute in enumerate(self.categorical):
            n_attributes += attribute.add_log_likelihood(scores, matrix, index)
        for distributions, values in self._iter_columns(matrix):
            n_attributes += add_column_log_likelihoods(distributions, scores, values)
        return n_attributes

    def add_leave_one_out(
        self,
        scores: Floats,
        documents: CountedDocuments,
        statistics: ClassStatistics,
        settings: Settings,
    ) -> Ints:
        """Add the log-likelihoods of training documents to ``scores`` in place.

        The likelihoods of a document are estimated from all other documents. Arguments and result
        have the shapes of `add_log_likelihood`.
        """
        n_attributes = np.zeros(len(documents), np.int64)
        for attribute in self.categorical:
            log_likelihood, counts, _ = compute_leave_one_out_scores(
                attribute.language_models, documents
            )
            scores += log_likelihood
            n_attributes += counts
        if statistics.moments is None or documents.matrix.values is None:
            return n_attributes
        pseudo_documents = get_pseudo_documents(settings)
        n_counts = len(statistics.attributes.counts)
        for column, name in enumerate(statistics.attributes.number_columns):
            values = documents.matrix.values[:, column]
            # Column d of these moments is the attribute in all documents except d.
            moments = statistics.moments.leave_one_out(column, values, documents.classes)
            distributions: PoissonAttributes | NormalAttributes
            if column < n_counts:
                distributions = PoissonAttributes.estimate(moments, pseudo_documents)
            else:
                names = [name for _ in range(values.size)]
                distributions = NormalAttributes.estimate(
                    moments, pseudo_documents, names, statistics.classes
                )
            is_used = ~np.isnan(values) & distributions.informative_columns
            for row in np.flatnonzero(is_used).tolist():
                value = values[row : row + 1, np.newaxis]
                [log_likelihood] = distributions.compute_log_likelihood(row, value)
                scores[row] += log_likelihood
            n_attributes += is_used
        return n_attributes

    def iter_log_likelihoods(self, matrix: DocumentTermMatrix, n_classes: int) -> Iterator[Floats]:
        """Yield the log-likelihood of each attribute of one document, (n_classes,), in nats.

        The order is that of the values of the document. Unused values have the log-likelihood 0.
        """
        for index, attribute in enumerate(self.categorical):
            scores = np.zeros((1, n_classes))
            attribute.add_log_likelihood(scores, matrix, index)
            yield scores[0]
        for distributions, values in self._iter_columns(matrix):
            for column in range(values.shape[1]):
                scores = np.zeros((1, n_classes))
                single_value = np.full_like(values, np.nan)  # all other values are missing
                single_value[0, column] = values[0, column]
                add_column_log_likelihoods(distributions, scores, single_value)
                yield scores[0]

    def compute_fits(self, statistics: ClassStatistics, settings: Settings) -> list[ComponentFit]:
        """Return the fit of each attribute to its values.

        The number n of the BIC counts the documents that have a value. The likelihood of numbers
        that are all equal in a class is infinite.
        """
        fits = []
        for attribute in self.categorical:
            models = attribute.language_models
            evidence = compute_class_log_evidence(models)
            fits.append(ComponentFit(attribute.name, evidence, measure_term_fit(models)))
        if statistics.moments is None:
            return fits
        names = statistics.attributes
        pseudo_documents = get_pseudo_documents(settings)
        count_moments, number_moments = statistics.moments.split_columns(len(names.counts))
        fits += _list_column_fits(
            names.counts,
            count_moments,
            measure_poisson_fits(count_moments, pseudo_documents),
            n_class_parameters=1,
            has_prior=pseudo_documents > 0,
        )
        if self.numbers is not None:
            fits += _list_column_fits(
                names.numeric,
                number_moments,
                measure_normal_fits(number_moments, pseudo_documents),
                n_class_parameters=2,
                has_prior=pseudo_documents > 0,
            )
        return fits

    def _iter_columns(
        self, matrix: DocumentTermMatrix
    ) -> Iterator[tuple[PoissonAttributes | NormalAttributes, Floats]]:
        """Yield the distributions of counts and of numbers, each with its columns of the values."""
        if matrix.values is None or self.counts is None:
            return
        n_counts = self.counts.rates.shape[1]
        yield self.counts, matrix.values[:, :n_counts]
        if self.numbers is not None:
            yield self.numbers, matrix.values[:, n_counts:]


def _estimate_categorical(
    statistics: ClassStatistics, settings: Settings, smoothing: Sequence[float] | None
) -> tuple[CategoricalAttribute, ...]:
    """Estimate the categorical attributes. See `AttributeLikelihoods.estimate`."""
    names = statistics.attributes.categorical
    pseudo_counts: Sequence[float | None] | None = smoothing
    if pseudo_counts is None:
        pseudo_counts = [get_fixed_smoothing(settings, name) for name in names]
    declared_sizes = parse_declared_sizes(settings.reading)
    return tuple(
        CategoricalAttribute.estimate(statistics, name, pseudo_count, settings, n_declared)
        for name, pseudo_count, n_declared in zip(names, pseudo_counts, declared_sizes, strict=True)
    )


class ColumnFits(NamedTuple):
    """Fits of columns of counts or numbers to a distribution, in nats."""

    evidence: Floats
    """Log evidence, shape (n_classes, n_columns)."""
    log_likelihood: Floats
    """Maximum of the log-likelihood, shape (n_classes, n_columns)."""


def _list_column_fits(
    names: Names,
    moments: Moments,
    fits: ColumnFits,
    *,
    n_class_parameters: int,
    has_prior: bool,
) -> list[ComponentFit]:
    """Return the fit of each column.

    A class has ``n_class_parameters`` parameters. Without a prior the evidence is not defined.
    """
    components = []
    for column, name in enumerate(names):
        log_likelihood = fits.log_likelihood[:, column]
        fit = MaximumLikelihoodFit(
            float(log_likelihood.sum()),
            n_parameters=n_class_parameters * log_likelihood.size,
            n_observations=int(moments.documents[:, column].sum()),
        )
        evidence = None
        if has_prior:
            evidence = fits.evidence[:, column]
        components.append(ComponentFit(name, evidence, fit))
    return components


def measure_poisson_fits(moments: Moments, smoothing: float) -> ColumnFits:
    """Return the fits of Poisson distributions, without Σ log x!.

    The evidence is log p(x | C_k) under λ_k ~ Gamma(α x̄, α), with α ``smoothing``.
    """
    from scipy.special import xlogy

    n = moments.documents
    sums = moments.sums.astype(np.float64)
    total = moments.sum_classes()
    shape = smoothing * total.sums.astype(np.float64) / np.maximum(total.documents, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        evidence = (
            log_rising_factorial(shape, sums)
            - shape * np.log1p(n / smoothing)
            - sums * np.log(smoothing + n)
        )
    log_likelihood = xlogy(sums, sums / np.maximum(n, 1)) - sums
    return ColumnFits(np.where(shape > 0, evidence, 0.0), log_likelihood)


def measure_normal_fits(moments: Moments, smoothing: float) -> ColumnFits:
    """Return the fits of normal distributions.

    The evidence is log p(x | C_k) under the normal-inverse-χ² prior with mean and variance of the
    corpus and κ = ν = α, which is ``smoothing``. Source: Gelman et al. (2013), section 3.3.
    """
    n = moments.documents
    mean, variance = compute_mean_and_variance(moments)
    corpus_mean, corpus_variance = compute_mean_and_variance(moments.sum_classes())
    with np.errstate(invalid="ignore", divide="ignore"):
        prior_squares = smoothing * corpus_variance
        mean_shift = smoothing / (smoothing + n) * (mean - corpus_mean) ** 2
        squares = n * (variance + mean_shift)
        evidence = (
            log_rising_factorial(smoothing / 2, n / 2)
            - np.log1p(n / smoothing) / 2
            - n / 2 * np.log(np.pi * (prior_squares + squares))
            - smoothing / 2 * np.log1p(squares / prior_squares)
        )
        log_likelihood = -n / 2 * (np.log(2 * np.pi * variance) + 1)
    return ColumnFits(
        np.where(corpus_variance > 0, evidence, 0.0), np.where(n > 0, log_likelihood, 0.0)
    )


def get_fixed_smoothing(settings: Settings, name: str | None = None) -> float | None:
    """Return the pseudo-count that the settings fix for the values of an attribute.

    Without a ``name``, return the number that the settings fix for all attributes. Return None if
    the pseudo-count is chosen: by ``auto`` or another method, or because the settings only have
    pseudo-counts of terms and of other attributes.
    """
    if settings.estimate == "ml":
        return 0.0
    if isinstance(settings.smoothing, (int, float)):
        return float(settings.smoothing)
    if name is not None and get_value_pseudo_counts(settings, name):
        return _get_named_pseudo_counts(settings)[DEFAULT_TERM]
    return None


def get_pseudo_documents(settings: Settings) -> float:
    """Return α of counts and numbers."""
    fixed = get_fixed_smoothing(settings)
    if fixed is None:
        return DEFAULT_PSEUDO_DOCUMENTS
    return fixed


def get_value_pseudo_counts(settings: Settings, name: str) -> dict[str, float]:
    """Return the pseudo-counts that the user set for single values of an attribute, by value."""
    prefix = f"{name}="
    return {
        key.removeprefix(prefix): pseudo_count
        for key, pseudo_count in _get_named_pseudo_counts(settings).items()
        if key.startswith(prefix)
    }


def _get_named_pseudo_counts(settings: Settings) -> Mapping[str, float]:
    """Return the pseudo-counts that the user set, by term or ``attribute=value``."""
    smoothing = settings.smoothing
    if isinstance(smoothing, TermSmoothing):
        smoothing = smoothing.word_values
    if isinstance(smoothing, Mapping) and settings.estimate != "ml":
        return smoothing
    return {}


def compute_mean_and_variance(moments: Moments) -> tuple[Floats, Floats]:
    """Return mean Σx/n and variance Σx²/n − (Σx/n)², in the shapes of the moments.

    Both are 0 where n is 0. The moments are exact fractions, and only the results are rounded.
    """
    n = np.maximum(moments.documents, 1).astype(object)
    mean = moments.sums / n
    variance = moments.squares / n - mean**2
    return mean.astype(np.float64), variance.astype(np.float64)


@dataclass(frozen=True, eq=False)
class NumberStandardizer:
    """Standardises the last columns of counts and numbers: (x − centre) / scale.

    Text classifiers with only numbers among their features leave out the first columns, the counts.
    """

    centres: Floats
    """The means over the corpus, shape (n_columns,)."""
    scales: Floats
    """The standard deviations over the corpus, or 1, shape (n_columns,)."""

    @classmethod
    def from_statistics(
        cls, statistics: ClassStatistics, first_column: int = 0, *, scaled: bool = True
    ) -> Self:
        """Return the standardiser of the columns of a corpus from ``first_column`` on.

        The scale is 1 for a number that is the same in all documents, or for all numbers if not
        ``scaled``.
        """
        if statistics.moments is None:
            return cls(np.empty(0), np.empty(0))
        _, columns = statistics.moments.split_columns(first_column)
        [means], [variances] = compute_mean_and_variance(columns.sum_classes())
        if not scaled:
            return cls(means, np.ones_like(means))
        return cls(means, np.sqrt(np.where(variances > 0, variances, 1.0)))

    def standardize(self, matrix: DocumentTermMatrix) -> Floats:
        """Return the standardised numbers of documents, shape (n_docs, n_columns).

        Missing numbers are nan. All other results are within ±`MAX_STD_DEVIATIONS`.
        """
        if matrix.values is None:
            return np.empty((matrix.n_documents, 0))
        first_column = matrix.values.shape[1] - self.centres.size
        with np.errstate(over="ignore"):
            numbers = (matrix.values[:, first_column:] - self.centres) / self.scales
        return np.asarray(np.clip(numbers, -MAX_STD_DEVIATIONS, MAX_STD_DEVIATIONS))


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """The features of a classifier that has all attributes among its features.

    Each category, a value of a categorical attribute, is a feature that is 1 in its documents.
    Counts and numbers are standardised features.
    """

    scored_terms: Mask
    """True for selected terms of texts and for categories that occur, shape (n_terms,)."""
    category_terms: Mask
    """True for categories that occur, shape (n_terms,)."""
    number_standardizer: NumberStandardizer
    """Standardises all columns of counts and numbers."""

    @classmethod
    def from_statistics(cls, statistics: ClassStatistics, selected: Mask) -> Self:
        """Return the features of a corpus and the selected terms."""
        category_terms = np.zeros(statistics.n_terms, np.bool_)
        for name in statistics.attributes.categorical:
            is_category = mask_attribute(statistics.vocabulary, name)
            category_terms |= is_category & statistics.term_occurs
        standardizer = NumberStandardizer.from_statistics(statistics)
        return cls(selected | category_terms, category_terms, standardizer)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(np.count_nonzero(self.scored_terms)) + self.number_standardizer.centres.size
