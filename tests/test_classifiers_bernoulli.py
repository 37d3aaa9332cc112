"""Bernoulli naive Bayes: the slow twin, and scipy's Beta distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaln

from nbtext import TextClassifier
from nbtext.classifiers import bernoulli
from nbtext.classifiers.base import Training, get_term_probabilities
from nbtext.classifiers.bernoulli import BernoulliNaiveBayes, beta_mean, beta_mode
from nbtext.language_model.dirichlet import compute_beta_intervals
from nbtext.settings import Settings
from tests import oracle, strategies
from tests.count_tables import matrix_of, statistics_of
from tests.process import in_json, succeed, write
from tests.textbook import CHINA, CHINA_LABELS, CHINA_TEXTS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def fitted(
    corpus: list[oracle.Labelled],
    smoothing: float = 1.0,
    over: list[str] | None = None,
    **options: Any,
) -> BernoulliNaiveBayes:
    statistics = statistics_of(corpus)
    names = [statistics.vocabulary.get_term(number) for number in range(statistics.n_terms)]
    selected = np.array([over is None or name in over for name in names], np.bool_)
    return BernoulliNaiveBayes.estimate(
        Training(statistics, selected, smoothing, Settings.from_values(options))
    )


def scores(model: BernoulliNaiveBayes, documents: list[list[str]]) -> Floats:
    return model.joint_log_likelihood(matrix_of(documents, model.training.statistics.vocabulary))[0]


def coins(counts: oracle.Counts, smoothing: float) -> dict[tuple[str, str], Fraction]:
    """θ by class and term."""
    added = Fraction(smoothing)
    theta = {}
    for label in counts.classes:
        for term in counts.terms:
            below = counts.documents[label] + 2 * added
            theta[label, term] = (
                (counts.holding.get((label, term), 0) + added) / below if below else Fraction(0)
            )
    return theta


def slow(corpus: list[oracle.Labelled], smoothing: float, sequence: list[str]) -> list[float]:
    """log π_k + Σ_j log θ_jk or log(1 − θ_jk), for each class."""
    counts = oracle.count(corpus)
    theta, prior = coins(counts, smoothing), oracle.class_prior(counts)
    return [
        sum(
            (
                oracle.log(theta[k, term] if term in sequence else 1 - theta[k, term])
                for term in counts.terms
            ),
            oracle.log(prior[k]),
        )
        for k in counts.classes
    ]


@pytest.mark.parametrize("estimate", ["mean", "map", "ml"])
@given(
    corpus=strategies.corpora,
    smoothing=st.sampled_from([0.0, 0.01, 1.0, 20.0]),
    documents=strategies.asked,
)
def test_bernoulli_scores_match_the_slow_twin(
    estimate: str, corpus: list[oracle.Labelled], smoothing: float, documents: list[list[str]]
) -> None:
    """Without smoothing too, where coins fall on one side only: what every document of a class held has to be there."""
    smoothing = 0.0 if estimate == "ml" else smoothing
    wanted = [slow(corpus, smoothing, terms) for terms in documents]
    found = scores(fitted(corpus, smoothing, estimate=estimate), documents)
    assert found.tolist() == [pytest.approx(row, rel=1e-11, abs=1e-11) for row in wanted]


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_bernoulli_missing_terms_lower_the_score_with_tiny_smoothing(estimate: str) -> None:
    model = fitted([("a", ["ant"]), ("a", ["ant"]), ("b", ["bee"])], 1e-20, estimate=estimate)
    joint = scores(model, [["bee"], []])
    assert np.all(joint[:, 0] < -40)
    assert not np.isnan(joint).any()
    assert joint[0].argmax() == 1


@given(
    st.integers(0, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.floats(1.01, 50),
    st.floats(1.01, 50),
)
def test_bernoulli_estimates_are_mean_and_mode_of_scipys_beta(
    cases: tuple[int, int], a: float, b: float
) -> None:
    successes, trials = cases
    posterior = stats.beta(successes + a, trials - successes + b)
    whole = np.array(float(successes)), np.array(float(trials))
    assert float(beta_mean(*whole, a, b)) == pytest.approx(posterior.mean(), rel=1e-12)
    mode = float(beta_mode(*whole, a, b))
    assert posterior.logpdf(mode) >= max(
        posterior.logpdf(mode * (1 - 1e-3)), posterior.logpdf(mode + (1 - mode) * 1e-3)
    )


def test_bernoulli_scores_use_only_selected_terms() -> None:
    model = fitted(CHINA, over=["chinese", "japan"])
    assert scores(model, [["tokyo", "macao"], []]).tolist() == [model.bias.tolist()] * 2
    assert np.exp(scores(model, [["japan", "tokyo"]])[0]) == pytest.approx(
        [1 / 4 * 1 / 3 * 2 / 3, 3 / 4 * 1 / 5 * 1 / 5], rel=1e-12
    )


def test_bernoulli_documents_stay_sparse_and_terms_are_processed_in_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Documents by terms would be 400 × 3,000; no question is for more cells than allowed."""
    random = np.random.default_rng(1)
    names = [f"term{number:04d}" for number in range(3000)]
    corpus = [
        (f"c{number % 7}", [names[term] for term in random.integers(0, 3000, 30).tolist()])
        for number in range(400)
    ]
    whole = fitted(corpus, 0.1)
    wanted = scores(whole, [terms for _, terms in corpus])
    sizes: list[int] = []
    absence = BernoulliNaiveBayes.compute_absence_probability

    def watched(self: BernoulliNaiveBayes, terms: NDArray[np.int64]) -> Floats:
        sizes.append(terms.size)
        return absence(self, terms)

    monkeypatch.setattr(bernoulli, "MAX_BLOCK_TERM_WEIGHTS", 700)
    monkeypatch.setattr(BernoulliNaiveBayes, "compute_absence_probability", watched)
    model = fitted(corpus, 0.1)
    assert model.bias == pytest.approx(whole.bias, rel=1e-12)
    assert max(sizes) == 100
    assert sum(sizes) == model.training.statistics.n_terms
    np.testing.assert_allclose(scores(model, [terms for _, terms in corpus]), wanted, rtol=1e-12)


def test_bernoulli_auto_smoothing_is_by_evidence_or_else_a_tenth() -> None:
    model = TextClassifier(classifier="bernoulli").fit(["ant bee", "cat"], ["a", "b"])
    assert model.fitted.parameters.smoothing == 0.1
    model = TextClassifier(classifier="bernoulli").fit(
        ["ant bee", "ant", "cat", "cat bee"], ["a", "a", "b", "b"]
    )
    holding = np.array([[2, 0], [1, 1], [0, 2]])  # ant, bee, cat
    evidence = [
        betaln(holding + a, 2 - holding + a).sum() - 6 * betaln(a, a)
        for a in model.fitted.parameters.smoothing * np.array([0.99, 1, 1.01])
    ]
    assert max(evidence) == evidence[1]
    assert (
        TextClassifier(classifier="bernoulli", smoothing=2)
        .fit(["ant bee", "cat"], ["a", "b"])
        .fitted.parameters.smoothing
        == 2
    )


def test_bernoulli_presence_and_absence_can_have_different_pseudo_counts(tmp_path: Path) -> None:
    """The four documents about China of IIR: θ of "Chinese" is (3 + 1)/(3 + 1 + 2) in the three of "yes" under Beta(1, 2)."""
    texts, labels = CHINA_TEXTS, CHINA_LABELS
    model = TextClassifier(classifier="bernoulli", smoothing=(1, 2), stemmer="none").fit(
        texts, labels
    )
    chinese = np.array(model.fitted.statistics.vocabulary.find(["chinese"]))
    coins = get_term_probabilities(model.fitted.classifier)
    assert coins is not None
    assert coins.compute_absence_probability is not None
    assert isinstance(model.fitted.classifier, BernoulliNaiveBayes)
    assert coins.compute_probability(chinese)[0].tolist() == [2 / 4, 4 / 6]
    np.testing.assert_allclose(coins.compute_absence_probability(chinese)[0], [2 / 4, 2 / 6])
    np.testing.assert_allclose(
        compute_beta_intervals(*model.fitted.classifier.compute_posteriors(chinese))[0, 1],
        stats.beta.ppf([0.025, 0.975], 4, 2),
    )
    model.save("m")
    loaded = TextClassifier.load("m")
    assert loaded.settings["smoothing"] == (1, 2)
    assert np.array_equal(loaded.predict_proba(texts), model.predict_proba(texts))
    same, one = (
        TextClassifier(classifier="bernoulli", smoothing=smoothing).fit(texts, labels)
        for smoothing in ((0.3, 0.3), 0.3)
    )
    assert np.array_equal(same.predict_proba(texts), one.predict_proba(texts))


def test_command_line_accepts_two_pseudo_counts(tmp_path: Path, pets: Path) -> None:
    succeed("train pets -m", "m", "--classifier", "bernoulli", "--smoothing", "0.1,2")
    assert "0.1 with a term, 2 without" in succeed("inspect -m", "m").text


def test_inspect_lists_two_class_bernoulli_as_a_linear_model(tmp_path: Path) -> None:
    texts = {
        "spam": ["offer is secret", "click secret link", "secret sports link"],
        "ham": ["play sports today", "secret sports event"],
    }
    write(
        "t.tsv",
        "".join(f"{label}\t{text}\n" for label, of_class in texts.items() for text in of_class),
    )
    succeed(
        "train t.tsv --classifier bernoulli --smoothing 1 --stop-words none --stemmer none --calibration none"
    )
    linear = in_json("inspect", "--limit", "50")["linear"]
    words = {word for of_class in texts.values() for text in of_class for word in text.split()}
    theta = {
        (label, word): Fraction(
            sum(word in text.split() for text in of_class) + 1, len(of_class) + 2
        )
        for label, of_class in texts.items()
        for word in words
    }
    assert set(linear["terms"]) == words
    for word, weight in linear["terms"].items():
        ham, spam = theta["ham", word], theta["spam", word]
        assert weight == pytest.approx(math.log(ham * (1 - spam) / (spam * (1 - ham))), abs=1e-12)
    b = math.log(Fraction(2, 3)) + sum(
        math.log((1 - theta["ham", word]) / (1 - theta["spam", word])) for word in words
    )
    assert linear["b"] == pytest.approx(b, abs=1e-12)
    odds = TextClassifier.load("nbtext.joblib").joint_log_likelihood(["secret sports link"])[0]
    found = linear["b"] + sum(linear["terms"][word] for word in ("secret", "sports", "link"))
    assert odds[0] - odds[1] == pytest.approx(found, abs=1e-12)
    few = succeed("inspect --limit 1").text
    assert "term, for ham above 0, for spam below" in few
    assert "b, without any term" in few
    write("three.tsv", "a\tone\nb\ttwo\nc\tthree\n")
    succeed("train three.tsv --classifier bernoulli")
    assert "linear" not in in_json("inspect")


TOPICS = [
    ("sports|news", "ball goal law"),
    ("news", "vote law"),
    ("sports", "ball game"),
    ("arts", "paint"),
    ("arts", "paint ball"),
]


def theta_of(texts: list[str], word: str) -> float:
    """θ with a pseudo-count of 1."""
    return (sum(word in text.split() for text in texts) + 1) / (len(texts) + 2)


def log_odds_of(texts: list[str], word: str) -> float:
    theta = theta_of(texts, word)
    return math.log(theta / (1 - theta))


WORDS = sorted({word for _, text in TOPICS for word in text.split()})


def train_topics(several: str) -> dict[str, Any]:
    """Train on `TOPICS`, with the first or with all labels of each document, and inspect."""
    rows = [(label if several else label.partition("|")[0], text) for label, text in TOPICS]
    write("t.tsv", "".join(f"{label}\t{text}\n" for label, text in rows))
    options = "--stop-words none --stemmer none --calibration none --smoothing 1"
    succeed("train t.tsv --classifier bernoulli", *options.split(), *several.split())
    said: dict[str, Any] = in_json("inspect --limit 50")
    return said


def test_inspect_lists_log_odds_of_three_classes(tmp_path: Path) -> None:
    found = train_topics("")["log_odds"]
    assert list(found) == ["arts", "news", "sports"]
    for label, of_class in found.items():
        texts = [text for each, text in TOPICS if each.partition("|")[0] == label]
        assert of_class["terms"] == pytest.approx({w: log_odds_of(texts, w) for w in WORDS})
        absent = sum(math.log(1 - theta_of(texts, word)) for word in WORDS)
        assert of_class["b"] == pytest.approx(math.log(len(texts) / len(TOPICS)) + absent)
    [scores] = TextClassifier.load("nbtext.joblib").joint_log_likelihood(["law ball"])
    sums = [of["b"] + of["terms"]["law"] + of["terms"]["ball"] for of in found.values()]
    assert scores.tolist() == pytest.approx(sums)
    lines = succeed("inspect --limit 1").text.splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(" log odds w of a term"))
    assert lines[start].split()[-3:] == list(found)
    # arts and sports differ by log 9 for paint, sports and news by log 6 for ball
    assert [line.split()[0] for line in lines[start + 2 : start + 5]] == ["paint", "ball", "b,"]


def test_inspect_lists_log_odds_of_each_label_against_all_others(tmp_path: Path) -> None:
    found = train_topics("--label-separator |")["log_odds"]
    for label, of_label in found.items():
        inside = [text for each, text in TOPICS if label in each.split("|")]
        outside = [text for each, text in TOPICS if label not in each.split("|")]
        assert of_label["terms"] == pytest.approx(
            {word: log_odds_of(inside, word) - log_odds_of(outside, word) for word in WORDS}
        )
    model = TextClassifier.load("nbtext.joblib")
    [scores] = model.joint_log_likelihood(["law ball"])
    sums = [of["b"] + of["terms"]["law"] + of["terms"]["ball"] for of in found.values()]
    assert scores.tolist() == pytest.approx(sums)


def test_log_odds_of_many_classes_are_only_in_json(tmp_path: Path) -> None:
    write("many.tsv", "".join(f"c{n}\tword{n} all\n" * 2 for n in range(9)))
    succeed("train many.tsv --classifier bernoulli")
    assert len(in_json("inspect")["log_odds"]) == 9
    assert "log odds  of terms in 9 classes; see --output json\n" in succeed("inspect").text
    write("column.csv", "label,x\na,1\nb,2\nc,3\n")
    succeed("train column.csv --label-column label --categorical x --classifier bernoulli")
    assert "log_odds" not in in_json("inspect")
