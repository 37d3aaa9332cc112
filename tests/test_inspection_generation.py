"""Generated documents are those of the model: counted again, they give back what they were drawn from.

Also tests `inspection/attribute_draws.py`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.inspection.attribute_draws import make_feature_sampler
from nbtext.inspection.generation import DocumentGenerator
from tests.profiles import some

PLAIN: dict[str, Any] = {"stop_words": "none", "stemmer": "none"}
TEXTS = [
    "red red apple pie",
    "apple tart with cream",
    "green tree",
    "tree bark and leaf and root",
    "leaf tree",
    "pie",
]
LABELS = ["kitchen", "kitchen", "garden", "garden", "garden", "kitchen"]
LEAST = 1e-3
GOLDEN = [
    ["root", "tree", "tree", "bark", "cream", "tree"],
    ["and", "tree", "tree", "leaf", "cream", "bark"],
]


def fitted(**parameters: Any) -> TextClassifier:
    return TextClassifier(**{**PLAIN, "smoothing": 0.5, **parameters}).fit(TEXTS, LABELS)


def train_on_generated(generator: DocumentGenerator, n: int, **asked: Any) -> TextClassifier:
    """A model trained on generated documents, as the one that generated them."""
    documents = list(generator.generate(n, **asked))
    return TextClassifier(**PLAIN).fit(
        [" ".join(document.terms) for document in documents],
        [document.label for document in documents],
    )


RECOVERED: list[dict[str, Any]] = [
    {},
    {"estimate": "map"},
    {"prior_shape": "background", "smoothing": 3},
    {"ngrams": 2},
    {"classifier": "complement"},
]


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("parameters", "draw"),
    some(
        [
            ({"estimate": "ml"}, False),
            *((these, draw) for these in RECOVERED for draw in (False, True)),
        ],
        4,
    ),
)
def test_training_on_generated_documents_recovers_prior_and_probabilities(
    parameters: dict[str, Any], draw: bool
) -> None:
    generator = DocumentGenerator(model := fitted(**parameters), seed=5, sample_parameters=draw)
    statistics = train_on_generated(generator, 20_000).fitted.statistics
    assert (
        scipy.stats.chisquare(
            statistics.class_documents, 20_000 * model.fitted.classifier.prior
        ).pvalue
        > LEAST
    )
    for label in range(2):
        phi = dict(
            zip(generator.words, generator.get_word_probabilities(label).tolist(), strict=True)
        )
        names = [statistics.vocabulary.get_term(term) for term in range(statistics.n_terms)]
        counts = dict(
            zip(
                names,
                statistics.get_dense_counts(np.arange(statistics.n_terms))[:, label].tolist(),
                strict=True,
            )
        )
        possible = [word for word in phi if phi[word]]
        total = sum(counts.values())
        assert sum(counts.get(word, 0) for word in possible) == total
        assert (
            scipy.stats.chisquare(
                [counts.get(word, 0) for word in possible], [total * phi[word] for word in possible]
            ).pvalue
            > LEAST
        )


def test_log_likelihood_of_generated_text_is_the_negative_entropy() -> None:
    model = fitted()
    for number, label in enumerate(model.classes):
        generator = DocumentGenerator(model, seed=11)
        phi = generator.get_word_probabilities(number)
        mean = float((phi * np.log(phi)).sum())
        deviation = float(np.sqrt((phi * np.log(phi) ** 2).sum() - mean**2))
        texts = [
            " ".join(document.terms) for document in generator.generate(5000, label, length=20)
        ]
        joint = model.joint_log_likelihood(texts)[:, number] - np.log(
            model.fitted.classifier.prior[number]
        )
        assert abs(joint.sum() / 100_000 - mean) < 3.3 * deviation / np.sqrt(100_000)


def test_word_probabilities_are_normalised_over_single_words() -> None:
    with_pairs, without = fitted(ngrams=3, estimate="ml", char_ngrams="2-4"), fitted(estimate="ml")
    pairs, words = DocumentGenerator(with_pairs), DocumentGenerator(without)
    assert pairs.words == words.words == sorted({word for text in TEXTS for word in text.split()})
    for label in range(2):
        assert np.allclose(pairs.get_word_probabilities(label), words.get_word_probabilities(label))
        assert np.allclose(
            words.get_word_probabilities(label),
            without.fitted.language_models.compute_probability(np.arange(len(words.words)))[
                :, label
            ],
        )


@pytest.mark.parametrize("estimate", ["mean", "map"])
@pytest.mark.parametrize("draw", [False, True])
def test_bernoulli_words_occur_with_their_probability(estimate: str, draw: bool) -> None:
    generator = DocumentGenerator(
        fitted(classifier="bernoulli", estimate=estimate), seed=3, sample_parameters=draw
    )
    for number, label in enumerate(("garden", "kitchen")):
        theta = generator.get_word_probabilities(number)
        heads = Counter(
            word for document in generator.generate(5000, label) for word in document.terms
        )
        chi2 = sum(
            (heads[word] - 5000 * p) ** 2 / (5000 * p * (1 - p))
            for word, p in zip(generator.words, theta.tolist(), strict=True)
            if 0 < p < 1
        )
        assert scipy.stats.chi2.sf(chi2, np.count_nonzero((theta > 0) & (theta < 1))) > LEAST
        assert all(
            heads[word] in (0, 5000)
            for word, p in zip(generator.words, theta.tolist(), strict=True)
            if p in (0, 1)
        )


@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_sampled_bernoulli_probabilities_follow_the_beta_posterior(estimate: str) -> None:
    model = fitted(classifier="bernoulli", estimate=estimate)
    word = DocumentGenerator(model).words.index("tree")
    drawn = [
        DocumentGenerator(model, sample_parameters=True, seed=seed).get_word_probabilities(0)[word]
        for seed in range(1000)
    ]
    added = 0.5 if estimate == "mean" else 1.5
    assert (
        scipy.stats.kstest(drawn, scipy.stats.beta(3 + added, 0 + added).cdf).pvalue > LEAST
    )  # all three documents hold it


def test_sampled_word_probabilities_follow_the_posterior() -> None:
    model = fitted()
    word = DocumentGenerator(model).words.index("tree")
    drawn = [
        DocumentGenerator(model, sample_parameters=True, seed=seed).get_word_probabilities(0)[word]
        for seed in range(1000)
    ]
    alpha, alpha_0 = 3 + 0.5, 10 + 0.5 * 12
    assert len(DocumentGenerator(model).words) == 12
    assert scipy.stats.kstest(drawn, scipy.stats.beta(alpha, alpha_0 - alpha).cdf).pvalue > LEAST


def test_same_seed_gives_the_same_documents_for_any_number() -> None:
    model = fitted()
    for draw in (False, True):
        few, many, other = (
            list(DocumentGenerator(model, seed=seed, sample_parameters=draw).generate(n))
            for n, seed in ((5, 1), (9, 1), (9, 2))
        )
        assert many[:5] == few
        assert many != other


def test_generated_documents_for_a_seed_equal_the_golden_ones() -> None:
    found = [
        document.terms
        for document in DocumentGenerator(fitted(), seed=7).generate(2, "garden", length=6)
    ]
    assert found == GOLDEN


def test_document_lengths_are_poisson_or_as_given() -> None:
    model = fitted()
    drawn = np.bincount(
        [len(document.terms) for document in DocumentGenerator(model).generate(4000, "garden")]
    )
    wanted = 4000 * scipy.stats.poisson.pmf(np.arange(9), 10 / 3)
    wanted[1] += wanted[0]  # each has a token
    assert drawn[0] == 0
    assert (
        scipy.stats.chisquare(
            [*drawn[1:9], drawn[9:].sum()], [*wanted[1:], 4000 - wanted[1:].sum()]
        ).pvalue
        > LEAST
    )
    assert {
        len(document.terms) for document in DocumentGenerator(model).generate(9, length=17)
    } == {17}


def test_class_with_prior_zero_is_generated_only_on_request() -> None:
    generator = DocumentGenerator(fitted(class_prior={"garden": 0, "kitchen": 1}))
    assert {document.label for document in generator.generate(50)} == {"kitchen"}
    assert {document.label for document in generator.generate(2, "garden")} == {"garden"}


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(UsageError, match="no class 'attic'"):
        next(DocumentGenerator(fitted()).generate(1, "attic"))
    with pytest.raises(UsageError, match="no words to draw"):
        DocumentGenerator(TextClassifier().fit(["", "-"], ["a", "b"]))
    hollow = TextClassifier(smoothing=0).fit(["apple", "-"], ["a", "b"])
    assert [
        document.terms for document in DocumentGenerator(hollow).generate(1, "a", length=2)
    ] == [["appl", "appl"]]
    for draw in (False, True):
        with pytest.raises(UsageError, match="class b has no words"):
            next(DocumentGenerator(hollow, sample_parameters=draw).generate(1, "b"))


ROWS: list[dict[str, Any]] = [
    {"face": face, "calls": calls, "weight": weight, "height": height}
    for face, calls, weight, height in (
        ("a", 1, 60.5, 160), ("b", 3, 72, 171), ("a", 0, 61, 166), ("c", 9, 81, 180), ("c", 7, 83, 179), ("b", 6, 88, 190),
    )
]  # fmt: skip
COLUMNS: dict[str, Any] = {"categorical": "face=5", "count": "calls", "numeric": "weight,height"}


def with_columns(*, text: bool = False, **parameters: Any) -> TextClassifier:
    rows = [{**row, "text": text} for row, text in zip(ROWS, TEXTS, strict=True)] if text else ROWS
    return TextClassifier(**{**COLUMNS, "smoothing": 1, **parameters}).fit(
        rows, ["x", "x", "x", "y", "y", "y"]
    )


@pytest.mark.parametrize(
    "parameters", [{}, {"text": True}, {"classifier": "bernoulli", "text": True}]
)
def test_attributes_are_drawn_from_their_class_distributions(
    parameters: dict[str, Any],
) -> None:
    model, n = with_columns(**parameters), 4000
    likelihoods = model.fitted.attributes
    assert likelihoods is not None
    assert likelihoods.numbers is not None
    drawn = list(DocumentGenerator(model, seed=4).generate(n))
    labels = Counter(document.label for document in drawn)
    assert scipy.stats.binomtest(labels["x"], n, 0.5).pvalue > LEAST
    for number, label in enumerate("xy"):
        faces, calls, *numbers = zip(
            *(document.values for document in drawn if document.label == label), strict=True
        )
        counts = Counter(faces)
        of_class = Counter(row["face"] for row in ROWS[3 * number : 3 * number + 3])
        names = ("a", "b", "c", "unseen 1", "unseen 2")
        expected = [labels[label] * (of_class[name] + 1) / (3 + 5) for name in names]
        assert scipy.stats.chisquare([counts[name] for name in names], expected).pvalue > LEAST
        rate = (sum(row["calls"] for row in ROWS[3 * number : 3 * number + 3]) + 26 / 6) / (3 + 1)
        most = int(rate) + 4
        bins = np.bincount(np.minimum(np.array(calls, int), most), minlength=most + 1)
        masses = np.append(
            scipy.stats.poisson.pmf(np.arange(most), rate), scipy.stats.poisson.sf(most - 1, rate)
        )
        assert scipy.stats.chisquare(bins, len(calls) * masses).pvalue > LEAST
        for column, values in enumerate(numbers):
            normal = scipy.stats.norm(
                likelihoods.numbers.means[number, column],
                np.sqrt(likelihoods.numbers.variances[number, column]),
            )
            assert scipy.stats.kstest(values, normal.cdf).pvalue > LEAST


@pytest.mark.parametrize("covariance", ["shared", "separate"])
@pytest.mark.parametrize("shape", ["full", "diagonal", "spherical"])
def test_gaussian_numbers_are_drawn_jointly(covariance: str, shape: str) -> None:
    random = np.random.default_rng(3)
    points = np.concatenate(
        [random.multivariate_normal([k, -5 * k], [[4, 3], [3, 9 + k]], 200) for k in range(2)]
    )
    rows = [{"a": a, "b": b} for a, b in points.tolist()]
    settings: dict[str, Any] = {"covariance": covariance, "covariance_shape": shape, "shrinkage": 0}
    model = TextClassifier(classifier="gaussian", numeric="a,b", **settings).fit(
        rows, ["0"] * 200 + ["1"] * 200
    )
    classifier: Any = model.fitted.text_classifier
    for number, label in enumerate("01"):
        root = classifier.gaussians.roots[number if covariance == "separate" else 0]
        inverse = root @ root.T if root.ndim == 2 else np.diag(root**2)
        drawn = np.array(
            [
                document.values
                for document in DocumentGenerator(model, seed=1).generate(2000, label)
            ],
            float,
        )
        centred = (
            drawn - classifier.number_standardizer.centres
        ) / classifier.number_standardizer.scales - classifier.gaussians.means[number]
        distances = np.einsum("np,pq,nq->n", centred, inverse, centred)
        assert scipy.stats.kstest(distances, scipy.stats.chi2(2).cdf).pvalue > LEAST
        assert np.all(
            np.abs(centred.mean(axis=0)) < 4 * np.sqrt(np.diag(np.linalg.inv(inverse)) / 2000)
        )


def test_columns_do_not_change_drawn_words_or_earlier_records() -> None:
    model = with_columns(text=True)
    few, many = (list(DocumentGenerator(model, seed=9).generate(n)) for n in (3, 30))
    assert few == many[:3]
    assert [document.terms for document in few] != [[]] * 3


def test_class_without_values_under_maximum_likelihood_draws_none() -> None:
    model = TextClassifier(categorical="face", estimate="ml").fit(
        [{"face": "a"}, {"face": ""}], ["x", "y"]
    )
    assert [document.values for document in DocumentGenerator(model).generate(2, "y")] == [
        [None]
    ] * 2
    assert [document.values for document in DocumentGenerator(model).generate(2, "x")] == [
        ["a"]
    ] * 2


@pytest.mark.parametrize("asked", [{"draw": True}, {"length": 3}])
def test_model_of_columns_only_refuses_word_options(asked: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"no words to draw; remove {next(iter(asked))}$"):
        list(
            DocumentGenerator(with_columns(), sample_parameters=asked.get("draw", False)).generate(
                1, length=asked.get("length")
            )
        )


def test_classifier_without_number_distribution_draws_none() -> None:
    classifier = with_columns().fitted.text_classifier
    draw = make_feature_sampler(classifier, 0)
    assert draw(np.random.default_rng(1)) == [None] * len(
        classifier.training.statistics.attributes.numeric
    )
