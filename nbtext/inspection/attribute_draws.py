"""Make functions that draw the attributes of a document from their distributions in a class.

`nbtext.inspection.generation` uses them. k is the index of the class.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from nbtext.counts.vocabulary import make_category_term
from nbtext.language_model.sampling import Categorical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nbtext.classifiers.attribute_likelihoods import (
        CategoricalAttribute,
        NormalAttributes,
        PoissonAttributes,
    )
    from nbtext.classifiers.base import Classifier
    from nbtext.fitted_model import FittedModel
    from nbtext.language_model.sampling import ValueSampler


def make_attribute_sampler(model: FittedModel, k: int) -> ValueSampler:
    """Return a function that draws all attributes of a document of a class.

    The values are in the order of the attributes' names. A value without a distribution is None.
    """
    samplers = list(_make_samplers(model, k))
    return lambda random: list(chain.from_iterable(draw(random) for draw in samplers))


def _make_samplers(model: FittedModel, k: int) -> Iterator[ValueSampler]:
    """Yield samplers in the order of the attributes: categories, counts, then numbers."""
    distributions = model.attributes
    if distributions is None:
        return
    for attribute in distributions.categorical:
        yield _make_category_sampler(attribute, k)
    if distributions.counts is not None:
        yield _make_count_sampler(distributions.counts, k)
    if distributions.numbers is not None:
        yield _make_number_sampler(distributions.numbers, k)
    if model.text_classifier.HAS_NUMBER_FEATURES:
        yield make_feature_sampler(model.text_classifier, k)


def _make_category_sampler(attribute: CategoricalAttribute, k: int) -> ValueSampler:
    """Return a function that draws a category a ~ φ_k, as a list of one value.

    φ_k are the probabilities of the categories in the class. Categories that training never saw
    are called "unseen 1", "unseen 2" and so on. The value is None if all probabilities are 0.
    """
    models = attribute.language_models
    vocabulary = models.statistics.vocabulary
    n_unseen = models.n_unseen_outcomes
    terms = np.flatnonzero(models.selected)
    unseen_weight = 0.0
    if n_unseen:
        unseen_weight = models.estimate_unseen_outcome_probability()[k]
    weights = np.append(models.compute_probability(terms)[:, k], unseen_weight)
    if not np.any(weights > 0):
        return lambda _random: [None]

    distribution = Categorical(weights)
    prefix = make_category_term(attribute.name, "")

    def draw(random: np.random.Generator) -> list[str]:
        [index] = distribution.draw(1, random).tolist()
        if index < terms.size:
            return [vocabulary.get_term(int(terms[index])).removeprefix(prefix)]
        return [f"unseen {random.integers(n_unseen) + 1}"]

    return draw


def _make_count_sampler(counts: PoissonAttributes, k: int) -> ValueSampler:
    """Return a function that draws counts from Poisson distributions with the means λ_k."""
    return lambda random: random.poisson(counts.rates[k]).tolist()


def _make_number_sampler(numbers: NormalAttributes, k: int) -> ValueSampler:
    """Return a function that draws numbers from N(μ_k, σ²_k)."""
    means = numbers.means[k]
    deviations = np.sqrt(numbers.variances[k])
    return lambda random: random.normal(means, deviations).tolist()


def make_feature_sampler(classifier: Classifier, k: int) -> ValueSampler:
    """Return a function that draws the numbers that are features of the text's classifier.

    Only Gaussian classifiers have a distribution of these numbers. For the other classifiers the
    function draws None for each number.
    """
    from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis

    if not isinstance(classifier, GaussianDiscriminantAnalysis):
        names = classifier.training.statistics.attributes.numeric
        return lambda _random: [None for _ in names]

    n_latent = classifier.latent_space.projection.shape[1]
    numbers = classifier.number_standardizer
    gaussians = classifier.gaussians

    def draw(random: np.random.Generator) -> list[float]:
        features = gaussians.draw(k, random)[n_latent:]  # latent features come first
        values: list[float] = (numbers.centres + numbers.scales * features).tolist()
        return values

    return draw
