"""Likelihoods of attributes, the values beside a text: categorical, Poisson for counts, normal for numbers; and attributes as features.

In every class each attribute has a distribution of its own, and under the naive Bayes assumption the log-likelihoods add.

- A category is a draw from a categorical distribution with a Dirichlet prior, as a term of a text is: log p(a | C_k) = log φ_ak. Source:
  T. Mitchell, Machine learning (1997), section 6.9, and for pseudo-counts 6.9.1.
- A count has a Poisson distribution: log p(x | C_k) = x log λ_k − λ_k − log x!. λ_k = (Σx + α x̄)/(n_k + α) is the mean of the gamma posterior
  after α pseudo-documents with the corpus's mean x̄. Source: A. Gelman et al., Bayesian data analysis, 3rd ed. (2013), section 2.6.
- A number has a normal distribution: log p(x | C_k) = −½ [log 2πσ²_k + (x − μ_k)²/σ²_k], which is Gaussian naive Bayes. μ_k and σ²_k are those
  of the class's documents and of α pseudo-documents spread as the corpus is, so that a class of one document has a variance too. Sources:
  Gambosi's notes, probabilistic classification; Gelman et al. (2013), section 3.3.

α = 0 is maximum likelihood.

As features of a discriminative classifier each category is 1 where a document has it, and each number is in standard deviations from its mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np

from nbtext.counts.matrix import DocumentTermMatrix, add_weighted_sums
from nbtext.counts.vocabulary import is_attribute_category, make_category_term
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

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.moments import Moments
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.settings import Settings
    from nbtext.type_names import AttributeValues, Floats, Ints, Mask, Names

PSEUDO_DOCUMENTS = 1.0
"""Pseudo-documents of each class under ``--smoothing auto``."""


@dataclass(frozen=True, eq=False)
class CategoricalAttribute:
    """φ of one attribute: a distribution over its values for each class."""

    name: str
    language_models: LanguageModels
    value_pseudo_counts: Mapping[str, float]
    """The pseudo-counts given for single values."""
    unseen_pseudo_count: float
    """The pseudo-count of any other value that no training document has; nan if there is none."""

    @classmethod
    def estimate(
        cls,
        statistics: ClassStatistics,
        name: str,
        smoothing: float | None,
        settings: Settings,
        n_values: int | None,
    ) -> Self:
        """Return the distributions over ``n_values`` with a pseudo-count, or for None with that of greatest evidence.

        Raises `UsageError` if there are more values than declared.
        """
        terms = is_attribute_category(statistics.vocabulary, name)
        shape = settings.prior_shape
        estimate = settings.estimate
        given = get_value_pseudo_counts(settings, name)
        found = list(
            zip(
                statistics.vocabulary.find([make_category_term(name, value) for value in given]),
                given.values(),
                strict=True,
            )
        )
        own = {place: number for place, number in found if place >= 0}
        never_seen = [number for place, number in found if place < 0]
        n_seen = int(np.count_nonzero(terms)) + len(never_seen)
        if n_values is not None and n_values < n_seen:
            raise UsageError(
                f"{name!r} has {n_seen:,} values, and {n_values:,} are declared",
                hint=f"declare at least {name}={n_seen}",
            )
        if shape == "background" or estimate == "ml":  # give no probability to what never occurred
            n_values = None
        n_others = 0 if n_values is None else n_values - n_seen
        n_unseen = len(never_seen) + n_others
        if smoothing is None:
            histogram = build_count_histogram(statistics, terms, shape)
            if n_unseen:
                histogram = histogram._replace(
                    base_measure=np.full(1, 1 / (n_seen + n_unseen)), n_terms=n_seen + n_unseen
                )
            smoothing = choose_smoothing_by_evidence(histogram, shape)
        of_own = TermPseudoCounts.from_mapping(own, smoothing)
        more = sum(never_seen) - smoothing * len(never_seen)
        models = LanguageModels(
            statistics,
            terms,
            smoothing,
            shape,
            estimate,
            of_own,
            n_unseen,
            more,
            n_values is not None,
        )
        return cls(name, models, given, smoothing if n_others else np.nan)

    def get_unseen_pseudo_counts(self, values: Names) -> Floats:
        """Return the pseudo-count of each possible value that no training document has, shape (n,); nan for all others, and for missing ones."""
        found = self.language_models.statistics.vocabulary.find(
            [make_category_term(self.name, value) for value in values]
        )
        pairs = zip(values, found, strict=True)
        return np.array(
            [
                self.value_pseudo_counts.get(value, self.unseen_pseudo_count)
                if value and number < 0
                else np.nan
                for value, number in pairs
            ]
        )

    def add_log_likelihood(self, scores: Floats, matrix: DocumentTermMatrix, place: int) -> Ints:
        """Add log p(a_d | C_k) to the scores, shape (n_docs, n_classes), in nats, and return which documents have a value, shape (n_docs,).

        ``place`` is that of the attribute among categorical ones. A missing value adds nothing, and neither does one that no training document has,
        unless it is possible, as with more values declared.
        """
        here = matrix.select_terms(self.language_models.selected)
        add_weighted_sums(
            scores,
            here,
            self.language_models.selected.size,
            self.language_models.compute_log_probability,
        )
        if matrix.unseen_pseudo_counts is None:
            return here.row_sizes
        found = ~np.isnan(matrix.unseen_pseudo_counts[:, place])
        scores[found] += log(
            self.language_models.estimate_unseen_outcome_probability(
                matrix.unseen_pseudo_counts[found, place, np.newaxis]
            )
        )
        return here.row_sizes + found


@dataclass(frozen=True, eq=False)
class PoissonAttributes:
    """λ of each count in each class, shape (n_classes, n_columns)."""

    rates: Floats

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float) -> Self:
        """Return the rates for a number of pseudo-documents."""
        total = moments.sum_classes()
        corpus_mean = total.sums.astype(np.float64) / np.maximum(total.documents, 1)
        added = moments.sums.astype(np.float64) + smoothing * corpus_mean
        documents = moments.documents + smoothing
        return cls(np.divide(added, documents, out=np.zeros_like(added), where=documents > 0))

    @property
    def informative_columns(self) -> Mask:
        """The counts that were not always 0, shape (n_columns,); the others add nothing."""
        return np.asarray(np.any(self.rates > 0, axis=0))

    def compute_log_likelihood(self, column: int, values: Floats) -> Floats:
        """Return x log λ_k − λ_k − log x! of values of a column, shape (n_docs, 1), in nats, shape (n_docs, n_classes)."""
        rates = self.rates[:, column]
        with np.errstate(divide="ignore", invalid="ignore"):
            of_events = np.where(values > 0, values * np.log(rates), 0.0)
        log_factorial = np.array([math.lgamma(count + 1) for count in values[:, 0].tolist()])
        return of_events - rates - log_factorial[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class NormalAttributes:
    """μ and σ² of each number in each class, shapes (n_classes, n_columns)."""

    means: Floats
    variances: Floats

    @classmethod
    def estimate(cls, moments: Moments, smoothing: float, names: Names, classes: Names) -> Self:
        """Return means and variances for a number of pseudo-documents.

        Raises `UsageError` if a number varies in the corpus but not in a class.
        """
        corpus_mean, corpus_variance = mean_and_variance(moments.sum_classes())
        n = moments.documents
        weight = np.divide(
            n, n + smoothing, out=np.zeros(n.shape), where=n + smoothing > 0
        )  # of the class against the corpus
        mean, variance = mean_and_variance(moments)
        between = weight * (1 - weight) * (mean - corpus_mean) ** 2
        variances = weight * variance + (1 - weight) * corpus_variance + between
        if np.any(flat := (corpus_variance > 0) & ~(variances > 0)):
            label, name = (int(place) for place in np.argwhere(flat)[0])
            raise UsageError(
                f"in class {classes[label]} all documents have the same {names[name]!r}",
                hint="leave estimate and --smoothing as they are",
            )
        return cls(weight * mean + (1 - weight) * corpus_mean, variances)

    @property
    def informative_columns(self) -> Mask:
        """The numbers with a variance, shape (n_columns,); the others add nothing."""
        return np.asarray(np.all(self.variances > 0, axis=0))

    def compute_log_likelihood(self, column: int, values: Floats) -> Floats:
        """Return −½ [log 2πσ²_k + (x − μ_k)²/σ²_k], shapes as of a count, with x at most `FARTHEST` standard deviations away from a mean."""
        mean = self.means[:, column]
        variance = self.variances[:, column]
        with np.errstate(over="ignore"):
            distance = np.minimum((values - mean) ** 2 / variance, MAX_STD_DEVIATIONS**2)
        return -0.5 * (np.log(2 * np.pi * variance) + distance)


def add_log_likelihood(
    columns: PoissonAttributes | NormalAttributes, scores: Floats, values: Floats
) -> Ints:
    """Add the log-likelihoods of values, shape (n_docs, n_columns), nan for missing, to the scores, shape (n_docs, n_classes).

    Returns the number of values of each document that counted, shape (n_docs,).
    """
    known = np.isfinite(values) & columns.informative_columns
    for column in np.flatnonzero(known.any(axis=0)).tolist():
        rows = np.flatnonzero(known[:, column])
        scores[rows] += columns.compute_log_likelihood(column, values[rows, column, np.newaxis])
    return np.asarray(np.count_nonzero(known, axis=1))


@dataclass(frozen=True, eq=False)
class AttributeLikelihoods:
    """The likelihoods of all attributes of a corpus."""

    categorical: tuple[CategoricalAttribute, ...]
    counts: PoissonAttributes | None
    numbers: NormalAttributes | None
    """None also if the classifier of the texts has the numbers among its features."""

    @classmethod
    def estimate(
        cls,
        statistics: ClassStatistics,
        settings: Settings,
        smoothing: Sequence[float] | None,
        *,
        include_numbers: bool,
    ) -> Self:
        """Return the likelihoods with the ``smoothing`` of each categorical attribute; for None with that of the settings."""
        names = statistics.attributes
        chosen: Sequence[float | None] = smoothing or [
            get_fixed_smoothing(settings, name) for name in names.categorical
        ]
        categorical = tuple(
            CategoricalAttribute.estimate(statistics, name, each, settings, n_values)
            for name, each, n_values in zip(
                names.categorical, chosen, parse_declared_sizes(settings.reading), strict=True
            )
        )
        if statistics.moments is None:
            return cls(categorical, None, None)
        of_columns = get_pseudo_documents(settings)
        of_counts, of_numbers = statistics.moments.split_columns(len(names.counts))
        numbers = (
            NormalAttributes.estimate(of_numbers, of_columns, names.numeric, statistics.classes)
            if include_numbers
            else None
        )
        return cls(categorical, PoissonAttributes.estimate(of_counts, of_columns), numbers)

    @property
    def smoothing(self) -> list[float]:
        """The pseudo-count of each categorical attribute."""
        return [attribute.language_models.smoothing for attribute in self.categorical]

    def get_unseen_pseudo_counts(self, values: AttributeValues) -> Floats | None:
        """Return `DocumentTermMatrix.never_seen` of documents with these values."""
        if not any(values) or not any(
            each.language_models.n_unseen_outcomes for each in self.categorical
        ):
            return None
        columns = enumerate(self.categorical)
        return np.column_stack(
            [
                each.get_unseen_pseudo_counts([row[place] if row else "" for row in values])
                for place, each in columns
            ]
        )

    def add_log_likelihood(self, scores: Floats, matrix: DocumentTermMatrix) -> Ints:
        """Add the log-likelihoods of all attributes to the scores, shape (n_docs, n_classes), and return how many each document has."""
        found = np.zeros(matrix.n_documents, np.int64)
        for place, attribute in enumerate(self.categorical):
            found = found + attribute.add_log_likelihood(scores, matrix, place)
        for columns, values in self._of_values(matrix):
            found = found + add_log_likelihood(columns, scores, values)
        return found

    def add_leave_one_out(
        self,
        scores: Floats,
        documents: CountedDocuments,
        statistics: ClassStatistics,
        settings: Settings,
    ) -> Ints:
        """Do the same for documents of the corpus, each with the distributions of all others."""
        found = np.zeros(len(documents), np.int64)
        for attribute in self.categorical:
            of_values, known, _ = compute_leave_one_out_scores(attribute.language_models, documents)
            scores += of_values
            found += known
        smoothing = get_pseudo_documents(settings)
        if statistics.moments is None or documents.matrix.values is None:
            return found
        for column, name in enumerate(statistics.attributes.number_columns):
            values = documents.matrix.values[:, column]
            others = statistics.moments.leave_one_out(column, values, documents.classes)
            of_others = (
                PoissonAttributes.estimate(others, smoothing)
                if column < len(statistics.attributes.counts)
                else NormalAttributes.estimate(
                    others, smoothing, [name] * values.size, statistics.classes
                )
            )
            here = ~np.isnan(values) & of_others.informative_columns
            for row in np.flatnonzero(here).tolist():
                scores[row] += of_others.compute_log_likelihood(
                    row, values[row : row + 1, np.newaxis]
                )[0]
            found += here
        return found

    def iter_log_likelihoods(self, matrix: DocumentTermMatrix, n_classes: int) -> Iterator[Floats]:
        """Return the log-likelihood of each attribute of one document, shape (n_classes,), in nats, in the order of its values."""
        for place, attribute in enumerate(self.categorical):
            scores = np.zeros((1, n_classes))
            attribute.add_log_likelihood(scores, matrix, place)
            yield scores[0]
        for columns, values in self._of_values(matrix):
            for column in range(values.shape[1]):
                scores = np.zeros((1, n_classes))
                alone = np.full_like(values, np.nan)
                alone[0, column] = values[0, column]
                add_log_likelihood(columns, scores, alone)
                yield scores[0]

    def compute_fits(self, statistics: ClassStatistics, settings: Settings) -> list[ComponentFit]:
        """Return the fit of each attribute to its values; n are the documents that have one. The likelihood of numbers that are all the same in a class is infinite."""
        found = [
            ComponentFit(
                each.name,
                compute_class_log_evidence(each.language_models),
                measure_term_fit(each.language_models),
            )
            for each in self.categorical
        ]
        if statistics.moments is None:
            return found
        names = statistics.attributes
        smoothing = get_pseudo_documents(settings)
        of_counts, of_numbers = statistics.moments.split_columns(len(names.counts))
        kinds = [
            (1, names.counts, measure_poisson_fits, of_counts),
            (2, names.numeric, measure_normal_fits, of_numbers),
        ]
        for per_value, columns, fits, moments in kinds[: 1 if self.numbers is None else 2]:
            evidence, log_likelihood = fits(moments, smoothing)
            for place, name in enumerate(columns):
                fit = MaximumLikelihoodFit(
                    float(log_likelihood[:, place].sum()),
                    per_value * len(evidence),
                    int(moments.documents[:, place].sum()),
                )
                found.append(ComponentFit(name, evidence[:, place] if smoothing else None, fit))
        return found

    def _of_values(
        self, matrix: DocumentTermMatrix
    ) -> Iterator[tuple[PoissonAttributes | NormalAttributes, Floats]]:
        """Return counts and numbers, each with its columns of the values."""
        if matrix.values is not None and self.counts is not None:
            n_counts = self.counts.rates.shape[1]
            yield self.counts, matrix.values[:, :n_counts]
            if self.numbers is not None:
                yield self.numbers, matrix.values[:, n_counts:]


def measure_poisson_fits(moments: Moments, smoothing: float) -> tuple[Floats, Floats]:
    """Return log p(x | C_k) under λ_k ~ Gamma(α x̄, α) and at maximum likelihood, both (n_classes, n_columns), without Σ log x!."""
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
    return np.where(shape > 0, evidence, 0.0), xlogy(sums, sums / np.maximum(n, 1)) - sums


def measure_normal_fits(moments: Moments, smoothing: float) -> tuple[Floats, Floats]:
    """Return log p(x | C_k) under the normal-inverse-χ² prior with κ = ν = α, mean and variance of the corpus, and at maximum likelihood.

    Both of shape (n_classes, n_columns). Source: Gelman et al. (2013), section 3.3.
    """
    n, (mean, variance), (corpus_mean, corpus_variance) = (
        moments.documents,
        mean_and_variance(moments),
        mean_and_variance(moments.sum_classes()),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        of_prior = smoothing * corpus_variance
        squares = n * (variance + smoothing / (smoothing + n) * (mean - corpus_mean) ** 2)
        evidence = (
            log_rising_factorial(smoothing / 2, n / 2)
            - np.log1p(n / smoothing) / 2
            - n / 2 * np.log(np.pi * (of_prior + squares))
            - smoothing / 2 * np.log1p(squares / of_prior)
        )
        return np.where(corpus_variance > 0, evidence, 0.0), np.where(
            n > 0, -n / 2 * (np.log(2 * np.pi * variance) + 1), 0.0
        )


def get_fixed_smoothing(settings: Settings, name: str = "") -> float | None:
    """Return the pseudo-count given for the values of an attribute; None if it has its own, as with ``auto``, or if only others are named by term."""
    given = settings.smoothing
    if settings.estimate == "ml":
        return 0.0
    if isinstance(given, (int, float)):
        return float(given)
    return (
        _given_by_name(settings)[DEFAULT_TERM]
        if name and get_value_pseudo_counts(settings, name)
        else None
    )


def get_pseudo_documents(settings: Settings) -> float:
    """Return α of the columns of numbers."""
    given = get_fixed_smoothing(settings)
    return PSEUDO_DOCUMENTS if given is None else given


def get_value_pseudo_counts(settings: Settings, name: str) -> dict[str, float]:
    """Return the pseudo-counts given for single values of a categorical column, by value."""
    return {
        key.removeprefix(f"{name}="): number
        for key, number in _given_by_name(settings).items()
        if key.startswith(f"{name}=")
    }


def _given_by_name(settings: Settings) -> Mapping[str, float]:
    given = (
        settings.smoothing.word_values
        if isinstance(settings.smoothing, TermSmoothing)
        else settings.smoothing
    )
    return given if isinstance(given, Mapping) and settings.estimate != "ml" else {}


def mean_and_variance(moments: Moments) -> tuple[Floats, Floats]:
    """Return Σx/n and Σx²/n − (Σx/n)², rounded only at the end, of the shapes of the moments; 0 where n is."""
    n = np.maximum(moments.documents, 1).astype(object)
    mean = moments.sums / n
    return mean.astype(np.float64), (moments.squares / n - mean**2).astype(np.float64)


@dataclass(frozen=True, eq=False)
class NumberStandardizer:
    """The last numbers of a document less their mean, in units of their standard deviation, over the whole corpus; shapes (n_columns,)."""

    centres: Floats
    scales: Floats

    @classmethod
    def from_statistics(
        cls, statistics: ClassStatistics, first: int = 0, *, scaled: bool = True
    ) -> Self:
        """Return those of a corpus, of its columns of numbers from ``first``; a number that is the same everywhere has the scale 1, or each if not ``scaled``."""
        if statistics.moments is None:
            return cls(np.empty(0), np.empty(0))
        mean, variance = (
            part[0]
            for part in mean_and_variance(statistics.moments.split_columns(first)[1].sum_classes())
        )
        return cls(mean, np.sqrt(np.where((variance > 0) & scaled, variance, 1.0)))

    def standardize(self, matrix: DocumentTermMatrix) -> Floats:
        """Return the standard numbers of documents, shape (n_docs, n_columns), nan for missing ones, none beyond `FARTHEST`."""
        if matrix.values is None:
            return np.empty((matrix.n_documents, 0))
        with np.errstate(over="ignore"):
            values = (
                matrix.values[:, matrix.values.shape[1] - self.centres.size :] - self.centres
            ) / self.scales
        return np.asarray(np.clip(values, -MAX_STD_DEVIATIONS, MAX_STD_DEVIATIONS))


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """The features of a classifier that takes columns."""

    scored_terms: Mask
    """The selected terms of texts, and the categories that a document has, shape (n_terms,)."""
    category_terms: Mask
    number_standardizer: NumberStandardizer
    """All columns of counts and numbers."""

    @classmethod
    def from_statistics(cls, statistics: ClassStatistics, selected: Mask) -> Self:
        """Return those of a corpus and the selected terms."""
        categories = np.zeros(statistics.n_terms, np.bool_)
        for name in statistics.attributes.categorical:
            categories |= (
                is_attribute_category(statistics.vocabulary, name) & statistics.term_occurs
            )
        return cls(
            selected | categories, categories, NumberStandardizer.from_statistics(statistics)
        )

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(np.count_nonzero(self.scored_terms)) + self.number_standardizer.centres.size
