"""Draws of attributes from their distributions in a class, as a model sees them."""

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
    """Return a function that draws the attributes of a document of a class, in the order of their names.

    None stands for a value without a distribution.
    """
    parts = list(_drawings(model, label))
    return lambda random: [value for draw in parts for value in draw(random)]


def _drawings(model: FittedModel, label: int) -> Iterator[ValueSampler]:
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
    """Return a function that draws a ~ φ_k; those never seen are numbered, and a class without a distribution has None."""
    distribution = attribute.language_models
    vocabulary = distribution.statistics.vocabulary
    n_unseen = distribution.n_unseen_outcomes
    terms = np.flatnonzero(distribution.selected)
    of_unseen = distribution.estimate_unseen_outcome_probability()[label] if n_unseen else 0.0
    weights = np.append(distribution.compute_probability(terms)[:, label], of_unseen)
    if not np.any(weights > 0):
        return lambda _: [None]
    urn = Categorical(weights)
    prefix = len(make_category_term(attribute.name, ""))

    def draw(random: np.random.Generator) -> list[str]:
        place = int(urn.draw(1, random)[0])
        if place < terms.size:
            return [vocabulary.get_term(int(terms[place]))[prefix:]]
        return [f"unseen {random.integers(n_unseen) + 1}"]

    return draw


def make_count_sampler(counts: PoissonAttributes, label: int) -> ValueSampler:
    """Return a function that draws x ~ Poisson(λ_k)."""
    return lambda random: random.poisson(counts.rates[label]).tolist()


def make_number_sampler(numbers: NormalAttributes, label: int) -> ValueSampler:
    """Return a function that draws x ~ N(μ_k, σ²_k)."""
    means = numbers.means[label]
    deviations = np.sqrt(numbers.variances[label])
    return lambda random: random.normal(means, deviations).tolist()


def make_feature_sampler(classifier: Classifier, label: int) -> ValueSampler:
    """Return a function that draws the numbers that a classifier has among its features.

    Gaussian classes draw all features together; no other classifier has a distribution of numbers.
    """
    from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis

    if not isinstance(classifier, GaussianDiscriminantAnalysis):
        n_numbers = len(classifier.training.statistics.attributes.numeric)
        return lambda _: [None] * n_numbers
    n_latent = classifier.latent_space.projection.shape[1]
    numbers = classifier.number_standardizer
    gaussians = classifier.gaussians

    def draw(random: np.random.Generator) -> list[float]:
        features = gaussians.draw(label, random)[n_latent:]
        drawn: list[float] = (numbers.centres + numbers.scales * features).tolist()
        return drawn

    return draw
