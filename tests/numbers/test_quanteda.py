"""quanteda.textmodels, tests/testthat/test-textmodel_nb.R: figures of `textmodel_nb` on table 13.1 of IIR, some of them not in the book."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from tests.numbers.published import fitted, joint, posterior, probability
from tests.textbook import CHINA, CHINA_ASKED

if TYPE_CHECKING:
    from nbtext import TextClassifier

CORPUS = [(label, " ".join(terms)) for label, terms in CHINA]
WORDS = ["chinese", "japan", "tokyo", "beijing", "macao", "shanghai"]


def presence(model: TextClassifier) -> dict[str, list[float]]:
    """Return θ of the words, by class."""
    assert isinstance(model.fitted.classifier, BernoulliNaiveBayes)
    theta = model.fitted.classifier.compute_probability(
        np.array(model.fitted.statistics.vocabulary.find(WORDS))
    )
    return dict(zip(model.classes, theta.T.tolist(), strict=True))


@pytest.mark.parametrize(
    ("prior", "wanted"), [("uniform", [1 / 2, 1 / 2]), ("empirical", [1 / 4, 3 / 4])]
)
def test_class_priors_match_quanteda(prior: str, wanted: list[float]) -> None:
    assert fitted(CORPUS, class_prior=prior).fitted.classifier.prior.tolist() == wanted


def test_multinomial_probabilities_without_smoothing_match_quanteda() -> None:
    model = fitted(CORPUS, estimate="ml")
    assert [probability(model, word) for word in WORDS[:3]] == [
        {"yes": 5 / 8, "no": 1 / 3},
        {"yes": 0, "no": 1 / 3},
        {"yes": 0, "no": 1 / 3},
    ]


def test_posterior_of_a_training_document_matches_quanteda() -> None:
    model = fitted(CORPUS, smoothing=1)
    assert posterior(model, CORPUS[0][1]) == pytest.approx({"no": 0.065, "yes": 0.935}, abs=5e-4)
    logs = {label: math.log(share) for label, share in joint(model, CORPUS[0][1]).items()}
    assert logs == pytest.approx({"no": -6.59, "yes": -3.93}, abs=5e-3)


def test_bernoulli_probabilities_without_smoothing_match_quanteda() -> None:
    found = presence(fitted(CORPUS, classifier="bernoulli", estimate="ml"))
    assert found == {"yes": [1, 0, 0, 1 / 3, 1 / 3, 1 / 3], "no": [1, 1, 1, 0, 0, 0]}


def test_bernoulli_likelihoods_of_the_books_document_match_quanteda() -> None:
    model, asked = fitted(CORPUS, classifier="bernoulli", smoothing=1), " ".join(CHINA_ASKED)
    yes, no = 0.005184, 0.02194787
    assert joint(model, asked) == pytest.approx({"yes": yes, "no": no}, rel=1e-6)
    assert posterior(model, asked) == pytest.approx(
        {"yes": yes / (yes + no), "no": no / (yes + no)}, rel=1e-6
    )


def test_features_of_probability_zero_exclude_a_class() -> None:
    """A class without any of the words of a document is impossible, and the other is certain."""
    model = fitted([("first", "b1 b1 b1 c1 c1 c1 c1"), ("second", "b1 c1 c1 a1")], estimate="ml")
    assert posterior(model, "a1 b1") == {"first": 0, "second": 1}
