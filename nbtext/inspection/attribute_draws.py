"""Make functions that draw the attributes of a document from their distributions in a class.

`nbtext.inspection.generation` uses them. In formulas k is a class.
"""

from __future__ import annotations

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


def make_attribute_sampler(model: FittedModel, label: int) -> ValueSampler:
    """Return a function that draws all attributes of a document of a class.

    ``label`` is the index of the class. The values are in the order of the attributes' names. A
    value without a distribution is None.
    """
    samplers = list(_make_samplers(model, label))
    return lambda random: [value for draw in samplers for value in draw(random)]


def _make_samplers(model: FittedModel, label: int) -> Iterator[ValueSampler]:
    """Yield samplers in the order of the attributes: categories, counts, then numbers."""
    distributions = model.attributes
    if distributions is None:
        return
    for attribute in distributions.categorical:
        yield make_category_sampler(attribute, label)
    if distributions.counts is not None:
        yield make_count_sampler(distributions.counts, label)
    if distributions.numbers is not None:
        yield make_number_sampler(distributions.numbers, label)
    if model.text_classifier.HAS_NUMBER_FEATURES:
        yield make_feature_sampler(model.text_classifier, label)


def make_category_sampler(attribute: CategoricalAttribute, label: int) -> ValueSampler:
    """Return a function that draws a category a ~ φ_k.

    φ_k are the probabilities of the categories in the class. Categories that training never saw
    are called "unseen 1", "unseen 2" and so on. The function draws None if all probabilities are 0.
    """
    distribution = attribute.language_models
    vocabulary = distribution.statistics.vocabulary
    n_unseen = distribution.n_unseen_outcomes
    terms = np.flatnonzero(distribution.selected)
    unseen_weight = 0.0
    if n_unseen:
        unseen_weight = distribution.estimate_unseen_outcome_probability()[label]
    weights = np.append(distribution.compute_probability(terms)[:, label], unseen_weight)
    if not np.any(weights > 0):
        return lambda _: [None]

    urn = Categorical(weights)
    prefix_length = len(make_category_term(attribute.name, ""))

    def draw(random: np.random.Generator) -> list[str]:
        index = int(urn.draw(1, random)[0])  # the index after the terms is an unseen category
        if index < terms.size:
            return [vocabulary.get_term(int(terms[index]))[prefix_length:]]
        return [f"unseen {random.integers(n_unseen) + 1}"]

    return draw


def make_count_sampler(counts: PoissonAttributes, label: int) -> ValueSampler:
    """Return a function that draws counts from Poisson distributions with the means λ_k."""
    return lambda random: random.poisson(counts.rates[label]).tolist()


def make_number_sampler(numbers: NormalAttributes, label: int) -> ValueSampler:
    """Return a function that draws numbers from N(μ_k, σ²_k)."""
    means = numbers.means[label]
    deviations = np.sqrt(numbers.variances[label])
    return lambda random: random.normal(means, deviations).tolist()


def make_feature_sampler(classifier: Classifier, label: int) -> ValueSampler:
    """Return a function that draws the numbers that are features of the text's classifier.

    Only Gaussian classifiers have a distribution of these numbers. For the other classifiers the
    function draws None for each number.
    """
    from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis

    if not isinstance(classifier, GaussianDiscriminantAnalysis):
        names = classifier.training.statistics.attributes.numeric
        return lambda _: [None for _ in names]

    n_latent = classifier.latent_space.projection.shape[1]
    numbers = classifier.number_standardizer
    gaussians = classifier.gaussians

    def draw(random: np.random.Generator) -> list[float]:
        features = gaussians.draw(label, random)[n_latent:]  # latent features come first
        values: list[float] = (numbers.centres + numbers.scales * features).tolist()
        return values

    return draw
