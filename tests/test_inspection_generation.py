"""Generated documents are those of the model: counted again, they give back what they were drawn from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.inspection.generation import DocumentGenerator
from tests.budget import some

PLAIN: dict[str, Any] = {"stop_words": "none", "stemmer": "none"}
TEXTS = ["red red apple pie", "apple tart with cream", "green tree", "tree bark and leaf and root", "leaf tree", "pie"]
LABELS = ["kitchen", "kitchen", "garden", "garden", "garden", "kitchen"]
LEAST = 1e-3
GOLDEN = [["root", "tree", "tree", "bark", "cream", "tree"], ["and", "tree", "tree", "leaf", "cream", "bark"]]


def fitted(**parameters: Any) -> TextClassifier:
    return TextClassifier(**{**PLAIN, "smoothing": 0.5, **parameters}).fit(TEXTS, LABELS)


def again(generator: DocumentGenerator, n: int, **asked: Any) -> TextClassifier:
    """A model trained on generated documents, as the one that generated them."""
    documents = list(generator.documents(n, **asked))
    return TextClassifier(**PLAIN).fit([" ".join(document.terms) for document in documents], [document.label for document in documents])


RECOVERED: list[dict[str, Any]] = [
    {},
    {"estimate": "map"},
    {"prior_shape": "background", "smoothing": 3},
    {"ngrams": 2},
    {"classifier": "complement"},
]


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("parameters", "draw"), some([({"estimate": "ml"}, False), *((these, draw) for these in RECOVERED for draw in (False, True))], 4)
)
def test_a_model_of_twenty_thousand_generated_documents_recovers_prior_and_probabilities(parameters: dict[str, Any], draw: bool) -> None:
    generator = DocumentGenerator(model := fitted(**parameters), seed=5, draw=draw)
    statistics = again(generator, 20_000).fitted.statistics
    assert scipy.stats.chisquare(statistics.class_documents, 20_000 * model.fitted.classifier.prior).pvalue > LEAST
    for label in range(2):
        phi = dict(zip(generator.words, generator.probability(label).tolist(), strict=True))
        names = [statistics.vocabulary.term(term) for term in range(statistics.n_terms)]
        counts = dict(zip(names, statistics.counts_of(np.arange(statistics.n_terms))[:, label].tolist(), strict=True))
        possible = [word for word in phi if phi[word]]
        total = sum(counts.values())
        assert sum(counts.get(word, 0) for word in possible) == total
        assert scipy.stats.chisquare([counts.get(word, 0) for word in possible], [total * phi[word] for word in possible]).pvalue > LEAST


def test_the_log_likelihood_of_generated_text_is_the_negative_entropy_within_its_standard_error() -> None:
    model = fitted()
    for number, label in enumerate(model.classes):
        generator = DocumentGenerator(model, seed=11)
        phi = generator.probability(number)
        mean = float((phi * np.log(phi)).sum())
        deviation = float(np.sqrt((phi * np.log(phi) ** 2).sum() - mean**2))
        texts = [" ".join(document.terms) for document in generator.documents(5000, label, length=20)]
        joint = model.joint_log_likelihood(texts)[:, number] - np.log(model.fitted.classifier.prior[number])
        assert abs(joint.sum() / 100_000 - mean) < 3.3 * deviation / np.sqrt(100_000)


def test_probabilities_are_those_of_single_words_among_single_words() -> None:
    with_pairs, without = fitted(ngrams=3, estimate="ml", char_ngrams="2-4"), fitted(estimate="ml")
    pairs, words = DocumentGenerator(with_pairs), DocumentGenerator(without)
    assert pairs.words == words.words == sorted({word for text in TEXTS for word in text.split()})
    for label in range(2):
        assert np.allclose(pairs.probability(label), words.probability(label))
        assert np.allclose(words.probability(label), without.fitted.language_models.probability(np.arange(len(words.words)))[:, label])


@pytest.mark.parametrize("estimate", ["mean", "map"])
@pytest.mark.parametrize("draw", [False, True])
def test_coins_of_a_bernoulli_model_show_heads_as_often_as_they_should(estimate: str, draw: bool) -> None:
    generator = DocumentGenerator(fitted(classifier="bernoulli", estimate=estimate), seed=3, draw=draw)
    for number, label in enumerate(("garden", "kitchen")):
        theta = generator.probability(number)
        heads = Counter(word for document in generator.documents(5000, label) for word in document.terms)
        chi2 = sum(
            (heads[word] - 5000 * p) ** 2 / (5000 * p * (1 - p))
            for word, p in zip(generator.words, theta.tolist(), strict=True)
            if 0 < p < 1
        )
        assert scipy.stats.chi2.sf(chi2, np.count_nonzero((theta > 0) & (theta < 1))) > LEAST
        assert all(heads[word] in (0, 5000) for word, p in zip(generator.words, theta.tolist(), strict=True) if p in (0, 1))


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_drawn_coins_are_beta(estimate: str) -> None:
    model = fitted(classifier="bernoulli", estimate=estimate)
    word = DocumentGenerator(model).words.index("tree")
    drawn = [DocumentGenerator(model, draw=True, seed=seed).probability(0)[word] for seed in range(1000)]
    added = 0.5 if estimate == "mean" else 1.5
    assert scipy.stats.kstest(drawn, scipy.stats.beta(3 + added, 0 + added).cdf).pvalue > LEAST  # all three documents hold it


@pytest.mark.parametrize("parameters", [{}, {"ngrams": 2}])
def test_words_of_a_dirichlet_multinomial_document_are_beta_binomial(parameters: dict[str, Any]) -> None:
    texts = [
        "tree tree tree tree",
        "leaf leaf leaf",
        "root root root tree",
        "pie pie pie",
        "apple apple apple apple apple",
        "tart tart pie",
    ]
    model = TextClassifier(**PLAIN, classifier="dirichlet-multinomial", smoothing=0.5, **parameters)
    classifier: Any = model.fit(texts, ["garden"] * 3 + ["kitchen"] * 3).fitted.classifier
    assert classifier.concentration < 10
    generator, word = DocumentGenerator(model, seed=2), "tree"
    place = model.fitted.statistics.vocabulary.find([word])[0]
    alpha = classifier.concentration * classifier.language_models.probability(np.arange(model.fitted.statistics.vocabulary.n_single))[:, 0]
    counts = [document.terms.count(word) for document in generator.documents(5000, "garden", length=4)]
    wanted = 5000 * scipy.stats.betabinom.pmf(np.arange(5), 4, alpha[place], alpha.sum() - alpha[place])
    assert scipy.stats.chisquare(np.bincount(counts, minlength=5), wanted * (5000 / wanted.sum())).pvalue > LEAST
    assert np.allclose(generator.probability(0), alpha / alpha.sum())


def test_drawn_probabilities_are_those_of_the_posterior() -> None:
    model = fitted()
    word = DocumentGenerator(model).words.index("tree")
    drawn = [DocumentGenerator(model, draw=True, seed=seed).probability(0)[word] for seed in range(1000)]
    alpha, alpha_0 = 3 + 0.5, 10 + 0.5 * 12
    assert len(DocumentGenerator(model).words) == 12
    assert scipy.stats.kstest(drawn, scipy.stats.beta(alpha, alpha_0 - alpha).cdf).pvalue > LEAST


def test_the_same_seed_gives_the_same_documents_and_the_first_do_not_depend_on_how_many() -> None:
    model = fitted()
    for draw in (False, True):
        few, many, other = (list(DocumentGenerator(model, seed=seed, draw=draw).documents(n)) for n, seed in ((5, 1), (9, 1), (9, 2)))
        assert many[:5] == few
        assert many != other


def test_what_is_drawn_for_a_seed_does_not_change() -> None:
    found = [document.terms for document in DocumentGenerator(fitted(), seed=7).documents(2, "garden", length=6)]
    assert found == GOLDEN


def test_lengths() -> None:
    model = fitted()
    lengths = [len(document.terms) for document in DocumentGenerator(model).documents(4000, "garden")]
    assert min(lengths) == 1
    assert abs(np.mean(lengths) - (10 / 3 + np.exp(-10 / 3))) < 4 * np.sqrt(10 / 3 / 4000)
    assert {len(document.terms) for document in DocumentGenerator(model).documents(9, length=17)} == {17}


def test_a_class_that_the_prior_rules_out_is_drawn_only_if_asked_for() -> None:
    generator = DocumentGenerator(fitted(class_prior={"garden": 0, "kitchen": 1}))
    assert {document.label for document in generator.documents(50)} == {"kitchen"}
    assert {document.label for document in generator.documents(2, "garden")} == {"garden"}


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(UsageError, match="no class 'attic'"):
        next(DocumentGenerator(fitted()).documents(1, "attic"))
    with pytest.raises(UsageError, match="maximum likelihood has none"):
        DocumentGenerator(fitted(estimate="ml"), draw=True)
    with pytest.raises(UsageError, match="a draw of its own"):
        DocumentGenerator(fitted(classifier="dirichlet-multinomial"), draw=True)
    with pytest.raises(UsageError, match="every word has a coin"):
        next(DocumentGenerator(fitted(classifier="bernoulli")).documents(1, length=3))
    with pytest.raises(UsageError, match="no words to draw"):
        DocumentGenerator(TextClassifier().fit(["", "-"], ["a", "b"]))
    hollow = TextClassifier(smoothing=0).fit(["apple", "-"], ["a", "b"])
    assert [document.terms for document in DocumentGenerator(hollow).documents(1, "a", length=2)] == [["appl", "appl"]]
    for draw in (False, True):
        with pytest.raises(UsageError, match="class b has no words"):
            next(DocumentGenerator(hollow, draw=draw).documents(1, "b"))
