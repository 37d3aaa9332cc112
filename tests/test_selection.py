"""What makes a term informative: the slow twin, scipy and scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score

from nbtext import TextClassifier, selection
from nbtext.classifiers.base import compute_class_prior
from nbtext.selection import MAX_PROBABILITIES_IN_MEMORY, Ranking, get_criterion, rank_terms
from nbtext.settings import CRITERIA
from tests import oracle, strategies
from tests.count_tables import language_models, statistics_from_table, statistics_of

ALL = pytest.mark.parametrize("by", CRITERIA)
Scores = dict[str, float]


def ranked(
    corpus: list[oracle.Labelled],
    by: str,
    top: int | None = None,
    smoothing: float = 0.5,
    estimate: str = "mean",
) -> Ranking:
    statistics = statistics_of(corpus)
    return rank_terms(
        language_models(statistics, smoothing, estimate=estimate),
        compute_class_prior("empirical", statistics),
        by,
        top,
    )


def scores(
    corpus: list[oracle.Labelled], by: str, smoothing: float = 0.5, estimate: str = "mean"
) -> Scores:
    ranking = ranked(corpus, by, smoothing=smoothing, estimate=estimate)
    terms = oracle.count(corpus).terms
    return {
        terms[j]: score
        for j, score in zip(ranking.terms.tolist(), ranking.scores.tolist(), strict=True)
    }


@given(strategies.corpora)
def test_presence_matches_the_slow_twin_and_scikit_learn(
    corpus: list[oracle.Labelled],
) -> None:
    found, counts = scores(corpus, "presence"), oracle.count(corpus)
    labels = [label for label, _ in corpus]
    for term in counts.terms:
        assert found[term] == pytest.approx(oracle.presence(counts, term), rel=1e-11, abs=1e-14)
        assert found[term] == pytest.approx(
            mutual_info_score(labels, [term in terms for _, terms in corpus]), rel=1e-9, abs=1e-14
        )


@given(strategies.corpora)
def test_chi2_matches_the_slow_twin_and_scipy(corpus: list[oracle.Labelled]) -> None:
    found, counts = scores(corpus, "chi2"), oracle.count(corpus)
    for term in counts.terms:
        assert found[term] == pytest.approx(oracle.chi2(counts, term), rel=1e-11, abs=1e-14)
        table = oracle.document_table(counts, term)
        with_and_without = [
            [table[k, present] for k in counts.classes] for present in (True, False)
        ]
        if sum(with_and_without[1]):
            assert found[term] == pytest.approx(
                chi2_contingency(with_and_without, correction=False).statistic, rel=1e-9, abs=1e-13
            )


@pytest.mark.parametrize("estimate", ["mean", "ml"])
@pytest.mark.parametrize(
    "most", [selection.MAX_DENSE_PROBABILITIES, 0], ids=["all classes", "classes with the term"]
)
@given(corpus=strategies.corpora, smoothing=st.sampled_from([0.01, 1.0, 30.0]))
def test_mutual_information_and_favoured_class_match_the_slow_twin(
    estimate: str, most: int, corpus: list[oracle.Labelled], smoothing: float
) -> None:
    counts = oracle.count(corpus)
    models, prior = (
        oracle.language_models(counts, counts.terms, smoothing, "symmetric", estimate),
        oracle.class_prior(counts),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "MAX_DENSE_PROBABILITIES", most)
        ranking = ranked(corpus, "mutual-information", smoothing=smoothing, estimate=estimate)
    for j, score, k in zip(
        ranking.terms.tolist(), ranking.scores.tolist(), ranking.classes.tolist(), strict=True
    ):
        summands = oracle.mutual_information(models, prior, counts.terms[j])
        assert score == pytest.approx(math.fsum(summands.values()), rel=1e-11, abs=1e-14)
        assert summands[counts.classes[k]] == pytest.approx(
            max(summands.values()), rel=1e-11, abs=1e-14
        )


@pytest.mark.parametrize("estimate", ["mean", "ml"])
@given(corpus=strategies.corpora, smoothing=st.sampled_from([0.01, 1.0, 30.0]))
def test_log_odds_match_the_slow_twin(
    estimate: str, corpus: list[oracle.Labelled], smoothing: float
) -> None:
    counts = oracle.count(corpus)
    models, prior = (
        oracle.language_models(counts, counts.terms, smoothing, "symmetric", estimate),
        oracle.class_prior(counts),
    )
    ranking = ranked(corpus, "log-odds", smoothing=smoothing, estimate=estimate)
    for j, score, k in zip(
        ranking.terms.tolist(), ranking.scores.tolist(), ranking.classes.tolist(), strict=True
    ):
        odds = oracle.log_odds(models, prior, counts.terms[j])
        assert score == pytest.approx(max(odds.values()), rel=1e-9, abs=1e-12)
        assert odds[counts.classes[k]] == pytest.approx(max(odds.values()), rel=1e-9, abs=1e-12)


@ALL
@given(corpus=strategies.corpora, top=st.integers(1, 15))
def test_ranking_is_descending_stable_and_top_is_its_prefix(
    by: str, corpus: list[oracle.Labelled], top: int
) -> None:
    ranking, best = ranked(corpus, by), ranked(corpus, by, top)
    keys = list(zip((-ranking.scores).tolist(), ranking.terms.tolist(), strict=True))
    assert keys == sorted(keys)
    assert sorted(ranking.terms.tolist()) == list(range(len(oracle.count(corpus).terms)))
    assert [part.tolist() for part in best] == [part[:top].tolist() for part in ranking]


@ALL
def test_term_in_a_single_class_favours_it(by: str) -> None:
    corpus = [("a", ["ant", "both"]), ("a", ["ant"]), ("b", ["bee", "both"]), ("b", ["bee"])]
    ranking = ranked(corpus, by)
    assert [oracle.count(corpus).terms[j] for j in ranking.terms.tolist()] == ["ant", "bee", "both"]
    assert ranking.classes.tolist()[:2] == [0, 1]


@ALL
def test_term_score_does_not_depend_on_the_other_terms(by: str) -> None:
    """More terms times classes than are held at once."""
    n_classes, n_terms = 60, MAX_PROBABILITIES_IN_MEMORY // 60 + 500
    random = np.random.default_rng(2)
    counts = random.integers(0, 2, (n_terms, n_classes))
    counts[:, 0] = 1
    statistics = statistics_from_table(counts.tolist(), [5] * n_classes, counts.tolist())
    models, prior = language_models(statistics), compute_class_prior("empirical", statistics)
    ranking = rank_terms(models, prior, by)
    some = np.array([0, n_terms - 501, n_terms - 1])
    alone = [float(get_criterion(by)(models, prior, some[i : i + 1])[1][0]) for i in range(3)]
    place = {term: i for i, term in enumerate(ranking.terms.tolist())}
    assert [float(ranking.scores[place[term]]) for term in some.tolist()] == alone


def test_only_selected_terms_are_ranked() -> None:
    statistics = statistics_of([("a", ["ant", "cat"]), ("b", ["bee", "cat"])])
    models = language_models(statistics, over=["bee", "cat"])
    assert sorted(
        rank_terms(models, compute_class_prior("empirical", statistics), "presence").terms.tolist()
    ) == [1, 2]


@ALL
def test_multi_label_terms_are_ranked_by_each_label_against_the_rest(
    by: str,
) -> None:
    corpus = [
        ("ab", "ant bee ant"),
        ("b", "bee cow"),
        ("", "cow dog"),
        ("abc", "ant dog"),
        ("a", "ant elk"),
        ("c", "dog elk"),
    ]
    model = (
        TextClassifier(smoothing=0.5, stemmer="none")
        .fit([text for _, text in corpus], [list(labels) for labels, _ in corpus])
        .fitted
    )
    ranking = rank_terms(model.language_models, model.statistics.class_documents / len(corpus), by)
    of_labels = [
        scores(
            [("with" if label in labels else "without", text.split()) for labels, text in corpus],
            by,
        )
        for label in "abc"
    ]
    speaking = {}
    for number, score, label in zip(*(column.tolist() for column in ranking), strict=True):
        term = model.statistics.vocabulary.get_term(number)
        of_term = [each[term] for each in of_labels]
        assert any(
            abs(score) == pytest.approx(each)
            for each in (of_term if by == "log-odds" else [sum(of_term)])
        )
        speaking[term] = model.classes[label]
    assert speaking["ant"] == "a"
    assert speaking["dog"] == "c"
