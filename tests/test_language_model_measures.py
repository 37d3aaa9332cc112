"""Evidence, AIC, BIC and perplexity: slow twins, scipy, numbers worked by hand.

Also tests `inspection/criteria.py`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.classifiers.base import compute_class_prior
from nbtext.inspection.criteria import compute_criteria
from nbtext.language_model.measures import (
    HeldOutText,
    MaximumLikelihoodFit,
    compute_class_log_evidence,
    compute_label_log_evidence,
    measure_held_out_text,
    measure_label_fit,
    measure_term_fit,
    perplexity,
)
from tests import oracle, strategies
from tests.count_tables import language_models, matrix_of, multinomial, statistics_of
from tests.textbook import CHINA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.type_names import Floats
    from tests.oracle import Labelled


SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])
LABELLED = [
    ("yes", ["c", "b", "c"]),
    ("yes", ["c", "c", "s"]),
    ("yes", ["c", "m"]),
    ("no", ["t", "j", "c"]),
]
"""The four documents of IIR example 13.1."""


def alpha_of(
    counts: oracle.Counts,
    over: list[str],
    smoothing: float,
    own: dict[str, float],
    shape: str,
    more: int,
) -> dict[str, float]:
    total = sum(counts.tokens(label, over) for label in counts.classes)
    in_corpus = {
        term: sum(counts.occurrences.get((k, term), 0) for k in counts.classes) for term in over
    }
    return {
        term: more
        + own.get(term, smoothing) * (1 if shape == "symmetric" else in_corpus[term] / total)
        for term in over
    }


@SHAPES
@given(
    corpus=strategies.corpora,
    smoothing=st.floats(0.01, 100),
    own=st.just({})
    | st.dictionaries(
        st.sampled_from(strategies.WORDS),
        st.sampled_from([1e-6, 0.25, 1.0, 3.5, 1000.0]),
        max_size=6,
    ),
    estimate=st.sampled_from(["mean", "map"]),
    without=st.sets(st.sampled_from(strategies.WORDS)),
)
def test_class_evidence_matches_the_formula(
    shape: str,
    corpus: list[oracle.Labelled],
    smoothing: float,
    own: dict[str, float],
    estimate: str,
    without: set[str],
) -> None:
    if shape == "background":
        own = {}
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    over = [term for term in counts.terms if term not in without]
    found = compute_class_log_evidence(
        language_models(statistics, smoothing, shape, estimate, over, own)
    )
    assert found is not None
    alpha = alpha_of(counts, over, smoothing, own, shape, more=int(estimate == "map"))
    for k, label in enumerate(statistics.classes):
        of_class = oracle.Counts(
            {label: 1}, {cell: n for cell, n in counts.occurrences.items() if cell[0] == label}, {}
        )
        assert found[k] == pytest.approx(
            oracle.log_evidence(of_class, over, alpha) if over else 0.0, rel=1e-10, abs=1e-8
        )


def test_documents_without_terms_have_log_evidence_zero() -> None:
    assert (
        compute_criteria(
            multinomial(language_models(statistics_of([("x", []), ("y", [])])))
        ).evidence
        == 0
    )


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("smoothed:1", 1 / 20),  # 3! 1! / 5!, the chances of 3 and 1 under a uniform share
        ("uniform", 1 / 16),
        ({"yes": 3.0, "no": 1.0}, 27 / 256),
        ("empirical", None),
        ("smoothed:0", None),
    ],
)
def test_label_evidence_matches_hand_computation(
    kind: str | Mapping[str, float], wanted: float | None
) -> None:
    statistics = statistics_of(LABELLED)
    found = compute_label_log_evidence(
        kind, compute_class_prior(kind, statistics), statistics.class_documents
    )
    assert found == (None if wanted is None else pytest.approx(math.log(wanted)))


def whole_fit(models: LanguageModels, kind: str, prior: Floats) -> MaximumLikelihoodFit:
    """The sum of the fits of terms and labels, n the tokens."""
    terms, labels = (
        measure_term_fit(models),
        measure_label_fit(kind, prior, models.statistics.class_documents),
    )
    return MaximumLikelihoodFit(
        terms.log_likelihood + labels.log_likelihood,
        terms.n_parameters + labels.n_parameters,
        terms.n_observations,
    )


def test_maximum_likelihood_aic_and_bic_match_hand_computation() -> None:
    """Of class yes: 5 of 8 tokens are c, b, s and m one each; of class no, t, j and c a third each; 3 of 4 documents are yes."""
    statistics = statistics_of(LABELLED)
    fit = whole_fit(language_models(statistics), "empirical", np.empty(2))
    log_likelihood = (
        5 * math.log(5 / 8)
        + 3 * math.log(1 / 8)
        + 3 * math.log(1 / 3)
        + 3 * math.log(3 / 4)
        + math.log(1 / 4)
    )
    assert fit.log_likelihood == pytest.approx(log_likelihood)
    assert (fit.n_parameters, fit.n_observations) == (2 * (6 - 1) + 1, 11)
    assert fit.aic == pytest.approx(22 - 2 * log_likelihood)
    assert fit.bic == pytest.approx(11 * math.log(11) - 2 * log_likelihood)
    even = whole_fit(language_models(statistics), "uniform", np.array([0.5, 0.5]))
    assert even.n_parameters == 10
    assert even.log_likelihood == pytest.approx(
        log_likelihood - 3 * math.log(3 / 4) - math.log(1 / 4) + 4 * math.log(1 / 2)
    )


@given(corpus=strategies.corpora, without=st.sets(st.sampled_from(strategies.WORDS)))
def test_likelihood_is_the_product_over_tokens_and_labels(
    corpus: list[oracle.Labelled], without: set[str]
) -> None:
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    over = [term for term in counts.terms if term not in without]
    fit = whole_fit(language_models(statistics, over=over), "empirical", np.empty(0))
    phi, prior = (
        oracle.language_models(counts, over, 0, "symmetric", "ml"),
        oracle.class_prior(counts),
    )
    wanted = sum(
        oracle.log(prior[label])
        + sum(oracle.log(phi[label, term]) for term in terms if term in over)
        for label, terms in corpus
    )
    assert fit.log_likelihood == pytest.approx(wanted, rel=1e-10, abs=1e-10)
    assert fit.n_observations == sum(term in over for _, terms in corpus for term in terms)


def test_undefined_criteria_are_none() -> None:
    statistics = statistics_of(LABELLED)
    found = compute_criteria(multinomial(language_models(statistics, 0, "symmetric", "ml")))
    assert (found.evidence, found.evidence_of_classes, found.evidence_of_labels) == (
        None,
        None,
        None,
    )
    found = compute_criteria(multinomial(language_models(statistics), {"yes": 1, "no": 0}))
    assert (found.aic, found.bic) == (math.inf, math.inf)


def test_perplexity_of_equally_probable_terms_is_their_number() -> None:
    assert perplexity(np.array([10 * math.log(1 / 8)]), np.array([10])) == pytest.approx([8])
    assert np.isnan(perplexity(np.array([0.0]), np.array([0]))).all()
    assert perplexity(np.array([-np.inf]), np.array([3])).tolist() == [np.inf]


def test_unknown_token_counts_as_an_unseen_term() -> None:
    statistics = statistics_of(CHINA)
    models = language_models(statistics, smoothing=1)
    found = measure_held_out_text(
        models, matrix_of([["chinese", "peking", "peking"]], statistics.vocabulary), np.array([1])
    )
    assert found.unknown.tolist() == [0, 2]
    assert found.log_likelihood[1] == pytest.approx(math.log(3 / 7) + 2 * math.log(1 / 14))
    never = language_models(statistics, smoothing=0, estimate="ml")
    impossible = measure_held_out_text(
        never, matrix_of([["peking"], ["chinese"]], statistics.vocabulary), np.array([1, 0])
    )
    assert impossible.perplexity.tolist() == pytest.approx([3.0, np.inf])


@given(strategies.corpora, strategies.corpora, st.booleans())
def test_perplexity_matches_a_loop_over_tokens(
    train: list[Labelled], test: list[Labelled], some: bool
) -> None:
    statistics = statistics_of(train)
    over = ("ant", "bee", "cat", "dog", "eel") if some else None
    models = language_models(statistics, 0.5, over=over)
    number = {label: place for place, label in enumerate(statistics.classes)}
    test = [(label, terms) for label, terms in test if label in number]
    vocabulary = statistics.vocabulary
    expected: dict[int, float] = defaultdict(float)
    tokens: dict[int, int] = defaultdict(int)
    for label, terms in test:
        k = number[label]
        for j in vocabulary.find(terms):
            known = j >= 0 and models.selected[j]
            expected[k] += (
                models.compute_log_probability(np.array([j]))[0, k]
                if known
                else models.estimate_log_unseen_probability()[k]
            )
            tokens[k] += 1
    classes = np.array([number[label] for label, _ in test], np.int64)
    halves = [
        measure_held_out_text(
            models, matrix_of([terms for _, terms in test[part]], vocabulary), classes[part]
        )
        for part in (slice(0, 3), slice(3, None))
    ]
    found = HeldOutText.empty(statistics.n_classes).merge(halves[0]).merge(halves[1])
    for k in range(statistics.n_classes):
        assert found.log_likelihood[k] == pytest.approx(expected[k])
        assert found.tokens[k] == tokens[k]
        if tokens[k]:
            assert found.perplexity[k] == pytest.approx(math.exp(-expected[k] / tokens[k]))
