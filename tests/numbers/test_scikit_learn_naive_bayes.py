"""scikit-learn, sklearn/tests/test_naive_bayes.py (1.9): its figures, with rows of counts written out as texts.

What is left out there is about arrays (shapes, dtypes, sparse input), about weights of documents, which nbtext does not have, or about
`norm=True` of its ComplementNB, which nbtext has for tf-idf alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

from nbtext import TextClassifier
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes
from tests.numbers.published import PLAIN, fitted, joint, posterior, probability
from tests.textbook import CHINA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.settings import ClassifierName

WORDS = ["beijing", "chinese", "japan", "macao", "shanghai", "tokyo"]
CHINESE = [(label, " ".join(dict.fromkeys(terms))) for label, terms in CHINA]
"""Table 13.1 of IIR with each word once, as the rows there have it."""


def text(row: Sequence[int]) -> str:
    """Write a row of counts as a text: column j, counted n times, is the word "cj" n times."""
    return " ".join(f"c{column}" for column, n in enumerate(row) for _ in range(n))


def posteriors(model: TextClassifier, rows: Sequence[Sequence[int]]) -> list[list[float]]:
    return [list(posterior(model, text(row)).values()) for row in rows]


def test_bernoulli_on_chinese_matches_scikit_learn() -> None:
    """`test_bnb`."""
    model = fitted(CHINESE, smoothing=1, classifier="bernoulli")
    assert isinstance(model.fitted.classifier, BernoulliNaiveBayes)
    theta = model.fitted.classifier.compute_probability(
        np.array(model.fitted.statistics.vocabulary.find(WORDS))
    ).T.tolist()
    assert dict(zip(model.classes, theta, strict=True)) == {
        "yes": pytest.approx([0.4, 0.8, 0.2, 0.4, 0.4, 0.2]),
        "no": pytest.approx([1 / 3, 2 / 3, 2 / 3, 1 / 3, 1 / 3, 2 / 3]),
    }
    assert joint(model, "chinese japan tokyo") == pytest.approx(
        {"yes": 0.005183999999999999, "no": 0.02194787379972565}, rel=1e-12
    )


def test_bernoulli_probabilities_of_three_classes_match_scikit_learn() -> None:
    """`test_bnb_feature_log_prob`: (documents with the feature + 1) / (documents + 2)."""
    rows = [(0, [0, 0, 0]), (0, [1, 1, 0]), (1, [0, 1, 0]), (2, [1, 0, 1]), (2, [0, 1, 0])]
    model = fitted(
        [(f"k{label}", text(row)) for label, row in rows], smoothing=1, classifier="bernoulli"
    )
    assert isinstance(model.fitted.classifier, BernoulliNaiveBayes)
    theta = model.fitted.classifier.compute_probability(
        np.array(model.fitted.statistics.vocabulary.find(["c0", "c1", "c2"]))
    ).T
    assert theta.tolist() == [
        pytest.approx(row)
        for row in ([2 / 4, 2 / 4, 1 / 4], [1 / 3, 2 / 3, 1 / 3], [2 / 4, 2 / 4, 2 / 4])
    ]


def test_complement_on_chinese_matches_scikit_learn() -> None:
    """`test_cnb`: the weight of a word is -log of its probability in the other class."""
    model = fitted(CHINESE, smoothing=1, classifier="complement")
    found = [{label: 1 / weight for label, weight in joint(model, word).items()} for word in WORDS]
    not_china, not_japan = (
        np.array([1, 2, 2, 1, 1, 2]) / (3 + 6),
        np.array([2, 4, 1, 2, 2, 1]) / (6 + 6),
    )
    assert found == [
        pytest.approx({"yes": yes, "no": no}) for yes, no in zip(not_china, not_japan, strict=True)
    ]


@pytest.mark.parametrize(
    ("classifier", "wanted"),
    [("multinomial", [[2 / 3, 1 / 3], [0, 1]]), ("bernoulli", [[1, 0], [0, 1]])],
)
def test_posteriors_without_smoothing_match_scikit_learn(
    classifier: str, wanted: list[list[float]]
) -> None:
    """`test_alpha`."""
    rows = [[1, 0], [1, 1]]
    model = fitted(
        [("k0", text(rows[0])), ("k1", text(rows[1]))], estimate="ml", classifier=classifier
    )
    assert posteriors(model, rows) == [pytest.approx(row) for row in wanted]


def test_pseudo_counts_per_word_match_scikit_learn() -> None:
    """`test_alpha_vector`."""
    rows = [[1, 0], [1, 1]]
    model = fitted(
        [("k0", text(rows[0])), ("k1", text(rows[1]))], smoothing={"c0": 1, "c1": 2, "*": 1}
    )
    assert [list(probability(model, word).values()) for word in ("c0", "c1")] == [
        [1 / 2, 2 / 5],
        [1 / 2, 3 / 5],
    ]
    assert posteriors(model, rows) == [
        pytest.approx([5 / 9, 4 / 9]),
        pytest.approx([25 / 49, 24 / 49]),
    ]


def test_categorical_naive_bayes_matches_scikit_learn() -> None:
    """`test_categoricalnb`, with the values of a column as categories; of two values, not seen is 1/3 and seen 2/3."""
    model = fitted(
        [("1", {"a": "1", "b": "4"}), ("2", {"a": "2", "b": "5"})],
        categorical="a,b",
        smoothing=1,
        class_prior="uniform",
    )
    assert posterior(model, {"a": "2", "b": "5"}) == pytest.approx({"1": 1 / 5, "2": 4 / 5})


POINTS = [("1", -2, -1), ("1", -1, -1), ("1", -1, -2), ("2", 1, 1), ("2", 1, 2), ("2", 2, 1)]


def gaussian(**parameters: Any) -> TextClassifier:
    return fitted(
        [(label, {"x": x, "y": y}) for label, x, y in POINTS], numeric="x,y", **parameters
    )


def test_gaussian_naive_bayes_matches_scikit_learn() -> None:
    """`test_gnb` and `test_gnb_prior`: six points of two classes."""
    model = gaussian()
    assert model.fitted.classifier.prior.tolist() == [3 / 6, 3 / 6]
    assert model.predict([{"x": x, "y": y} for _, x, y in POINTS]).tolist() == [
        label for label, _, _ in POINTS
    ]


def test_class_prior_with_a_large_bias_changes_the_prediction() -> None:
    """`test_gnb_prior_large_bias`."""
    assert gaussian(estimate="ml", class_prior={"1": 0.01, "2": 0.99}).predict(
        [{"x": -0.1, "y": -0.1}]
    ).tolist() == ["2"]
    assert gaussian(estimate="ml").predict([{"x": -0.1, "y": -0.1}]).tolist() == ["1"]


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
def test_given_and_uniform_priors_match_scikit_learn(classifier: str) -> None:
    """`test_discretenb_uniform_prior` and `test_discretenb_provide_prior`."""
    corpus = [("0", ""), ("0", ""), ("1", "c0")]
    for prior in ("uniform", {"0": 0.5, "1": 0.5}):
        assert fitted(
            corpus, classifier=classifier, class_prior=prior, smoothing=1
        ).fitted.classifier.prior.tolist() == [0.5, 0.5]


def test_weight_of_four_equals_four_documents() -> None:
    """`test_sample_weight` of earlier versions: the last row has weight 4."""
    model = fitted([("0", text([1, 2]))] * 2 + [("1", text([1, 0]))] * 4, smoothing=1)
    assert model.fitted.classifier.prior.tolist() == pytest.approx([1 / 3, 2 / 3])
    assert model.predict([text([1, 0])]).tolist() == ["1"]


def test_later_class_is_added_by_partial_fit() -> None:
    """`test_mnb_prior_unobserved_targets`; here a class is there from its first document on."""
    model = fitted([("0", text([0, 1])), ("1", text([1, 0]))], smoothing=1)
    asked = [text(row) for row in ([0, 1], [1, 0], [1, 1])]
    assert model.predict(asked).tolist() == ["0", "1", "0"]
    model.partial_fit([text([1, 1])], ["2"])
    assert model.predict(asked).tolist() == ["0", "1", "2"]


@pytest.mark.parametrize(("classifier", "above"), [("multinomial", 0.94), ("bernoulli", 0.92)])
def test_digits_three_and_eight_are_separated(classifier: ClassifierName, above: float) -> None:
    """`test_check_accuracy_on_digits`: images of 8 x 8 pixels of ink from 0 to 16; for Bernoulli a pixel counts from 5 on."""
    pixels, digits = load_digits(return_X_y=True)
    of_both = (digits == 3) | (digits == 8)
    rows = (
        pixels[of_both].astype(int)
        if classifier == "multinomial"
        else (pixels[of_both] > 4).astype(int)
    )
    texts, labels = (
        np.array([text(row) for row in rows.tolist()], object),
        digits[of_both].astype(str),
    )
    scores = cross_val_score(
        TextClassifier(**PLAIN, smoothing=10, classifier=classifier), texts, labels, cv=10
    )
    assert scores.mean() > above
