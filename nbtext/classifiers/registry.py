"""The classifiers by name. A new one is a file in this room and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.classifiers.base import Classifier

CLASSIFIERS = {
    "multinomial": "multinomial.MultinomialNaiveBayes",
    "bernoulli": "bernoulli.BernoulliNaiveBayes",
    "complement": "complement.ComplementNaiveBayes",
    "dirichlet-multinomial": "dirichlet_multinomial.DirichletMultinomialNaiveBayes",
    "gaussian": "gaussian.GaussianDiscriminantAnalysis",
    "logistic": "logistic.LogisticRegression",
}
"""Name to module and class; a module is imported when its classifier is asked for."""


def classifier_class(name: str) -> type[Classifier]:
    """The class of that name."""
    module, _, cls = CLASSIFIERS[name].partition(".")
    found: type[Classifier] = getattr(import_module(f"nbtext.classifiers.{module}"), cls)
    return found
