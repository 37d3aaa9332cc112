"""The prior of classes, which probabilities of terms each classifier scores by, and what is said of one that says nothing more.

Also tests `classifiers/inspection.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.classifiers.base import (
    Classifier,
    Training,
    collect_fit_warnings,
    compute_class_prior,
    compute_component_fits,
    compute_log_likelihood_per_token,
    compute_prior_weights,
    get_additive_classifier,
    get_attribute_likelihoods,
    get_classifier_parameters,
    get_term_probabilities,
    iter_attribute_scores,
    unwrap_text_classifier,
)
from nbtext.classifiers.held_out import (
    fit_classifier_calibration,
    make_neutral_calibration,
    score_held_out_sample,
)
from nbtext.errors import UsageError
from nbtext.language_model.dirichlet import compute_beta_intervals
from nbtext.prediction.calibration import UNCALIBRATED
from tests import oracle, strategies
from tests.count_tables import statistics_from_table, statistics_of
from tests.textbook import model_of_china

if TYPE_CHECKING:
    from nbtext.counts.matrix import DocumentTermMatrix
    from nbtext.settings import ClassifierName
    from nbtext.type_names import ScoresAndTokens


CORPUS: list[oracle.Labelled] = [("a", ["ant"]), ("b", []), ("a", ["bee"]), ("a", [])]


@pytest.mark.parametrize(
    ("kind", "prior"),
    [
        ("empirical", [3 / 4, 1 / 4]),
        ("uniform", [1 / 2, 1 / 2]),
        ({"a": 1, "b": 3}, [1 / 4, 3 / 4]),
        ({"b": 1, "a": 0, "other": 5}, [0, 1]),
    ],
)
def test_each_kind_of_class_prior_matches_its_formula(
    kind: str | dict[str, float], prior: list[float]
) -> None:
    assert compute_class_prior(kind, statistics_of(CORPUS)).tolist() == prior


@given(strategies.corpora, st.sampled_from([0.0, 0.5, 1.0, 100.0]))
def test_class_priors_match_the_slow_twin(corpus: list[oracle.Labelled], added: float) -> None:
    wanted = [float(p) for p in oracle.class_prior(oracle.count(corpus), added).values()]
    assert compute_class_prior(
        f"smoothed:{added}", statistics_of(corpus)
    ).tolist() == pytest.approx(wanted, rel=1e-14)


def test_class_weights_that_are_zero_for_every_class_are_refused() -> None:
    with pytest.raises(UsageError, match="class"):
        compute_class_prior({"a": 0, "b": 0, "other": 1}, statistics_of(CORPUS))


@pytest.mark.parametrize(
    ("prior", "left"),
    [
        ("empirical", True),
        ("smoothed:1", True),
        ({"a": 0, "b": 1}, False),
        ({"a": 1, "b": 0}, True),
    ],
)
def test_class_without_documents_has_no_prior_weight(prior: Any, left: bool) -> None:
    statistics = statistics_from_table([[1, 0]], [2, 0], [[1, 0]])
    statistics = replace(statistics, classes=("a", "b"))
    assert bool(compute_prior_weights(prior, statistics).any()) is left


@pytest.mark.parametrize("name", ["bernoulli", "gaussian"])
def test_corpus_of_one_document_is_calibrated(name: ClassifierName) -> None:
    """Left out, it leaves no class possible."""
    model = TextClassifier(classifier=name).fit(["an apple"], ["fruit"])
    assert model.predict_proba(["apple", ""]).tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("parameters", "symbol", "chinese", "tokyo"),
    [
        ({}, "φ", [2 / 9, 3 / 7], [2 / 9, 1 / 14]),
        ({"estimate": "ml"}, "φ", [1 / 3, 5 / 8], [1 / 3, 0]),
        ({"classifier": "bernoulli"}, "θ", [2 / 3, 4 / 5], [2 / 3, 1 / 5]),
        ({"weighting": "binary"}, "φ", [2 / 9, (3 + 1) / (6 + 6)], [2 / 9, 1 / 12]),
    ],
    ids=str,
)
def test_term_probabilities_match_textbook_values(
    parameters: dict[str, Any], symbol: str, chinese: list[float], tokyo: list[float]
) -> None:
    of = model_of_china(**parameters)
    found = get_term_probabilities(of.fitted.classifier)
    assert found is not None
    assert found.symbol == symbol
    terms = np.array(of.fitted.statistics.vocabulary.find(["chinese", "tokyo"]))
    assert found.compute_probability(terms) == pytest.approx(np.array([chinese, tokyo]))


@pytest.mark.parametrize("weighting", ["counts", "binary", "log", "tfidf"])
def test_selected_terms_share_one_distribution(weighting: str) -> None:
    of = model_of_china(weighting=weighting, top=4)
    found = get_term_probabilities(of.fitted.classifier)
    assert found is not None
    selected = np.flatnonzero(found.selected)
    assert selected.size == 4
    assert found.compute_probability(selected).sum(axis=0) == pytest.approx(np.ones(2))
    assert found.compute_absence_probability is None
    assert (found.compute_posteriors is None) == (weighting in ("log", "tfidf"))
    if found.compute_posteriors is not None:
        a, b = found.compute_posteriors(selected)
        assert a / (a + b) == pytest.approx(found.compute_probability(selected))
        intervals = compute_beta_intervals(a, b)
        assert intervals.shape == (4, 2, 2)
        assert np.all(
            (intervals[..., 0] < found.compute_probability(selected))
            & (found.compute_probability(selected) < intervals[..., 1])
        )


def test_bernoulli_terms_each_have_a_probability_of_absence() -> None:
    of = model_of_china(classifier="bernoulli")
    found = get_term_probabilities(of.fitted.classifier)
    assert found is not None
    terms = np.arange(of.fitted.statistics.n_terms)
    assert found.compute_absence_probability is not None
    assert found.compute_probability(terms) + found.compute_absence_probability(
        terms
    ) == pytest.approx(np.ones((terms.size, 2)))
    assert found.compute_probability(terms).sum(axis=0) != pytest.approx(np.ones(2))


def test_complement_model_has_no_term_probabilities() -> None:
    assert get_term_probabilities(model_of_china(classifier="complement").fitted.classifier) is None


class Silent(Classifier):
    """A classifier that has written what each must, and no more: it answers with the prior."""

    @classmethod
    def estimate(cls, training: Training) -> Self:
        return cls(training)

    def joint_log_likelihood(self, matrix: DocumentTermMatrix) -> ScoresAndTokens:
        return np.tile(self.log_prior, (matrix.n_documents, 1)), matrix.known_tokens


def test_minimal_classifier_has_defaults_for_every_method() -> None:
    of = model_of_china()
    silent = Silent.estimate(of.fitted.classifier.training)
    matrix = of.fitted.count_texts([b"Chinese Tokyo", b""])
    scores, lengths = silent.joint_log_likelihood(matrix)
    assert unwrap_text_classifier(silent) is silent
    assert get_additive_classifier(silent) is None
    assert get_attribute_likelihoods(silent) is None
    assert list(iter_attribute_scores(silent, matrix)) == []
    assert get_term_probabilities(silent) is None
    assert compute_log_likelihood_per_token(silent, scores, lengths, np.zeros_like(lengths)) is None
    assert compute_component_fits(silent) == []
    assert collect_fit_warnings(silent) == []
    assert get_classifier_parameters(silent).l2 is None
    assert get_classifier_parameters(silent).member_weights == {}
    assert (
        silent.from_arrays(silent.training, silent.to_arrays())
        .joint_log_likelihood(matrix)[0]
        .tolist()
        == scores.tolist()
    )


def test_minimal_classifier_scores_held_out_documents_by_folds_and_is_calibrated() -> None:
    """Three documents of China and one of Japan: without it the prior of the label falls."""
    of = model_of_china()
    silent = Silent.estimate(of.fitted.classifier.training)
    unseen = score_held_out_sample(silent, silent.training, of.counts.sample.documents)
    own = np.exp(unseen.scores[np.arange(4), unseen.truth.indices])
    assert sorted(own.tolist()) == pytest.approx([0, 2 / 3, 2 / 3, 2 / 3])
    known = unseen.take_known_classes()
    found = fit_classifier_calibration(silent, known.scores, known.truth, known.lengths, None)
    assert found.compute_log_posterior(known.scores, known.lengths).shape == (3, 2)
    assert make_neutral_calibration(silent) is UNCALIBRATED
