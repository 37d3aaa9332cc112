"""Smoothing by evidence and by leave-one-out: formulas, scipy, models really estimated from all other documents, and maxima that are such."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import betaln, gammaln
from scipy.special import psi as psi_of_scipy

from nbtext import TextClassifier
from nbtext.counts.statistics import SeedTerm
from nbtext.language_model.dirichlet import MAX_SMOOTHING_PER_TERM, MIN_STRENGTH_PER_TERM
from nbtext.language_model.smoothing import (
    MAX_STRENGTH_PER_TERM,
    MAX_SUMMED_TERMS,
    CountHistogram,
    _maximise_leave_one_out,
    build_coin_histogram,
    build_complement_histogram,
    build_count_histogram,
    choose_smoothing_by_evidence,
    choose_smoothing_by_leave_one_out,
    collect_leave_one_out_tokens,
    digamma,
    digamma_difference,
    leave_one_out_log_likelihood,
    log_evidence,
    log_rising_factorial,
    maximise_evidence,
)
from tests import oracle, strategies
from tests.count_tables import (
    all_term_ids,
    cell_sums,
    counted_documents,
    language_models,
    multinomial,
    statistics_from_table,
    statistics_of,
)
from tests.profiles import examples

if TYPE_CHECKING:
    from nbtext.counts.documents import CountedDocuments
    from nbtext.counts.statistics import ClassStatistics


SHAPES = pytest.mark.parametrize("shape", ["symmetric", "background"])
SEEDS = pytest.mark.parametrize("seed", range(12))


def draw(seed: int) -> ClassStatistics:
    """Counts of a few classes drawn from a Dirichlet-multinomial of some strength, weak to strong."""
    random = np.random.default_rng(seed)
    n_classes, n_terms = int(random.integers(2, 7)), int(random.integers(5, 150))
    base = random.dirichlet(np.full(n_terms, random.choice([0.5, 5.0])))
    strength = 10 ** random.uniform(-1, 3)
    sizes = random.integers(1, 5000, n_classes)
    counts = np.array(
        [random.multinomial(size, random.dirichlet(strength * base + 1e-3)) for size in sizes]
    ).T
    counts = counts[counts.sum(axis=1) > 0]
    return statistics_from_table(
        counts.tolist(), [10**6] * n_classes, np.minimum(counts, 1).tolist()
    )


def slope(histogram: CountHistogram, strength: float) -> float:
    """Change of the evidence per unit of log strength, by the central difference."""
    step = 1e-3
    return (
        log_evidence(histogram, strength * math.exp(step))
        - log_evidence(histogram, strength * math.exp(-step))
    ) / (2 * step)


@SHAPES
@given(
    corpus=strategies.corpora,
    strength=st.floats(0.01, 1000),
    left_out=st.sets(st.sampled_from(strategies.WORDS)),
)
def test_evidence_matches_the_formula_over_all_cells(
    shape: str, corpus: list[oracle.Labelled], strength: float, left_out: set[str]
) -> None:
    counts, statistics = oracle.count(corpus), statistics_of(corpus)
    over = [term for term in counts.terms if term not in left_out]
    selected = np.array([term in over for term in counts.terms], np.bool_)
    total = sum(counts.tokens(label, over) for label in counts.classes)
    in_corpus = {
        term: sum(counts.occurrences.get((k, term), 0) for k in counts.classes) for term in over
    }
    alpha = {
        term: strength * (1 / len(over) if shape == "symmetric" else in_corpus[term] / total)
        for term in over
    }
    found = log_evidence(build_count_histogram(statistics, selected, shape), strength)
    wanted = oracle.log_evidence(counts, over, alpha) if over else 0.0
    assert found == pytest.approx(wanted, rel=1e-11, abs=1e-9)


@given(
    corpus=strategies.corpora,
    strength=st.floats(0.01, 1000),
    left_out=st.sets(st.sampled_from(strategies.WORDS)),
)
def test_bernoulli_evidence_is_the_sum_over_terms(
    corpus: list[oracle.Labelled], strength: float, left_out: set[str]
) -> None:
    statistics = statistics_of(corpus)
    selected = np.array(
        [
            statistics.vocabulary.get_term(term) not in left_out
            for term in range(statistics.n_terms)
        ],
        np.bool_,
    )
    holding, of_class = (
        statistics.get_dense_documents(np.flatnonzero(selected)),
        statistics.class_documents,
    )
    coins = betaln(holding + strength / 2, of_class - holding + strength / 2) - betaln(
        strength / 2, strength / 2
    )
    assert log_evidence(build_coin_histogram(statistics, selected), strength) == pytest.approx(
        coins.sum(), rel=1e-9, abs=1e-9
    )


@SHAPES
@given(
    corpus=strategies.corpora,
    strength=st.floats(0.01, 1000),
    left_out=st.sets(st.sampled_from(strategies.WORDS)),
    weighted=st.booleans(),
)
def test_complement_evidence_is_that_of_the_counts_of_other_classes(
    shape: str,
    corpus: list[oracle.Labelled],
    strength: float,
    left_out: set[str],
    *,
    weighted: bool,
) -> None:
    statistics = statistics_of(corpus)
    if weighted:
        statistics = replace(
            statistics, cell_counts=np.floor(np.log1p(statistics.cell_counts) * 1024) / 1024
        )
    selected = np.array(
        [
            statistics.vocabulary.get_term(term) not in left_out
            for term in range(statistics.n_terms)
        ],
        np.bool_,
    )
    counts = statistics.get_dense_counts(np.flatnonzero(selected)).astype(np.float64)
    others = counts.sum(axis=1, keepdims=True) - counts
    total = counts.sum() if counts.size else 0.0
    share = (
        np.full(len(counts), 1 / max(len(counts), 1))
        if shape == "symmetric"
        else counts.sum(axis=1) / (total or 1)
    )
    alpha = strength * share[:, np.newaxis]
    of_cells = np.where(others > 0, gammaln(others + alpha) - gammaln(alpha), 0.0)
    wanted = of_cells.sum() + (gammaln(strength) - gammaln(others.sum(axis=0) + strength)).sum()
    assert log_evidence(
        build_complement_histogram(statistics, selected, shape), strength
    ) == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def histogram_of(kind: str, statistics: ClassStatistics, shape: str) -> CountHistogram:
    """That of counts, of sums of weights that are not whole, of the counts of complements, or of coins."""
    if kind == "coins":
        return build_coin_histogram(
            replace(statistics, class_documents=statistics.class_documents * 0 + 40),
            all_term_ids(statistics),
        )
    if kind == "weights":
        statistics = replace(statistics, cell_counts=np.log1p(statistics.cell_counts))
    return (build_complement_histogram if kind == "complements" else build_count_histogram)(
        statistics, all_term_ids(statistics), shape
    )


@pytest.mark.parametrize("kind", ["counts", "weights", "complements", "coins"])
@SHAPES
@SEEDS
def test_maximum_evidence_strength_matches_scipy(kind: str, shape: str, seed: int) -> None:
    histogram = histogram_of(kind, draw(seed), shape)
    found = maximise_evidence(histogram)
    weakest, strongest = (
        end * histogram.n_terms for end in (MIN_STRENGTH_PER_TERM, MAX_STRENGTH_PER_TERM)
    )
    assert weakest <= found <= strongest * (1 + 1e-9)
    best = log_evidence(histogram, found)
    best += (
        1e-9 + 1e-14 * found + 3e-11 * abs(best)
    )  # log Γ of a large number is rounded in proportion, and so is a sum of many
    assert all(
        log_evidence(histogram, min(found * factor, strongest)) <= best
        for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2)
    )
    limits = (math.log(weakest), math.log(strongest))
    reference = minimize_scalar(
        lambda log_strength: -log_evidence(histogram, math.exp(log_strength)),
        bounds=limits,
        method="bounded",
    )
    assert -reference.fun <= best
    if found < 0.999 * strongest:
        assert slope(histogram, found) == pytest.approx(
            0, abs=1e-4 * (1 + abs(slope(histogram, found / 2)))
        )
    else:
        assert slope(histogram, strongest) > -1e-11 * strongest  # the rounding of log Γ


@pytest.mark.parametrize("counts", [[[7, 0], [0, 9]], [[5, 0, 0], [0, 5, 0], [0, 0, 5]]])
def test_classes_of_one_term_each_give_the_weakest_prior(counts: list[list[int]]) -> None:
    statistics = statistics_from_table(counts, [9] * len(counts[0]), np.minimum(counts, 1).tolist())
    histogram = build_count_histogram(statistics, all_term_ids(statistics), "symmetric")
    assert maximise_evidence(histogram) == pytest.approx(
        MIN_STRENGTH_PER_TERM * len(counts), rel=1e-6
    )
    assert log_evidence(histogram, MIN_STRENGTH_PER_TERM * len(counts)) > log_evidence(
        histogram, 0.1
    )


@SHAPES
def test_identical_classes_give_the_strongest_prior(shape: str) -> None:
    statistics = statistics_from_table([[30, 30, 30]] * 10, [9, 9, 9], [[3, 3, 3]] * 10)
    histogram = build_count_histogram(statistics, all_term_ids(statistics), shape)
    assert maximise_evidence(histogram) == pytest.approx(MAX_STRENGTH_PER_TERM * 10, rel=1e-6)
    assert log_evidence(histogram, MAX_STRENGTH_PER_TERM * 10) > log_evidence(
        histogram, MAX_STRENGTH_PER_TERM
    )


def test_single_class_with_background_gives_the_strongest_prior() -> None:
    statistics = statistics_from_table([[5], [3], [900], [1]], [9], [[1], [1], [9], [1]])
    histogram = build_count_histogram(statistics, all_term_ids(statistics), "background")
    assert maximise_evidence(histogram) == pytest.approx(MAX_STRENGTH_PER_TERM * 4, rel=1e-6)
    assert choose_smoothing_by_evidence(
        build_count_histogram(statistics, all_term_ids(statistics), "background"), "background"
    ) == pytest.approx(MAX_SMOOTHING_PER_TERM * 4)


@SHAPES
@pytest.mark.parametrize(
    "corpus",
    [
        [("a", [])],
        [("a", ["ant"] * 50)],
        [("a", ["ant"]), ("b", ["bee"])],
        [("a", ["ant"]), ("b", [])],
    ],
)
def test_uninformative_counts_give_a_tenth_per_term(
    shape: str, corpus: list[oracle.Labelled]
) -> None:
    statistics = statistics_of(corpus)
    histogram = build_count_histogram(statistics, all_term_ids(statistics), shape)
    assert maximise_evidence(histogram) == pytest.approx(0.1 * max(statistics.n_terms, 1))
    assert log_evidence(histogram, 0.5) == pytest.approx(log_evidence(histogram, 50.0))


@SEEDS
def test_smoothing_is_per_term_or_total_with_six_digits(seed: int) -> None:
    statistics = draw(seed)
    for shape, terms in (("symmetric", statistics.n_terms), ("background", 1)):
        strength = maximise_evidence(
            build_count_histogram(statistics, all_term_ids(statistics), shape)
        )
        strength = min(strength, MAX_SMOOTHING_PER_TERM * statistics.n_terms)
        smoothing = choose_smoothing_by_evidence(
            build_count_histogram(statistics, all_term_ids(statistics), shape), shape
        )
        assert smoothing == pytest.approx(strength / terms, rel=1e-5)
        assert float(f"{smoothing:.6g}") == smoothing


@given(st.lists(st.floats(1e-9, 1e12), min_size=1))
def test_digamma_matches_scipy(points: list[float]) -> None:
    x = np.array(points)
    assert np.allclose(digamma(x), psi_of_scipy(x), rtol=1e-14, atol=1e-14)


@given(
    st.floats(1e-6, 1e12),
    st.lists(
        st.one_of(
            st.integers(0, 20),
            st.integers(MAX_SUMMED_TERMS - 2, MAX_SUMMED_TERMS + 2),
            st.integers(0, 20_000),
        ),
        min_size=1,
    ),
)
def test_digamma_difference_is_a_sum_of_reciprocals(start: float, steps: list[int]) -> None:
    found = digamma_difference(np.full(1, start), np.array(steps, np.float64))
    assert found.tolist() == pytest.approx(
        [math.fsum((1 / (start + np.arange(n))).tolist()) for n in steps], rel=1e-13
    )


@given(st.floats(1e-9, 1e12), st.lists(st.integers(0, 300), min_size=1), st.floats(0, 50))
def test_log_rising_factorial_is_a_sum_of_logarithms(
    start: float, steps: list[int], part: float
) -> None:
    found = log_rising_factorial(start, np.array(steps))
    assert found.tolist() == pytest.approx(
        [math.fsum(np.log(start + np.arange(n)).tolist()) for n in steps], rel=1e-13, abs=1e-13
    )
    whole, rest, first = log_rising_factorial(
        np.array([start, start + part, start]), np.array([300, 300 - part, part])
    ).tolist()
    assert first + rest == pytest.approx(whole, rel=1e-13)


Corpus = list[tuple[str, list[str]]]


def count_corpus(corpus: Corpus) -> tuple[ClassStatistics, CountedDocuments]:
    statistics = statistics_of(corpus)
    return statistics, counted_documents(corpus, statistics)


def slow(corpus: Corpus, over: set[str], smoothing: float, shape: str) -> float:
    """Each document by the model of its class that all others make."""
    total = 0.0
    for row, (label, terms) in enumerate(corpus):
        others = [document for place, document in enumerate(corpus) if place != row]
        counts = oracle.count([*others, (label, [])])  # the class stays, even without documents
        remaining = {term for term in over if any(term in held for _, held in others)}
        phi = oracle.language_models(counts, remaining, smoothing, shape, "mean")
        total += sum(
            n * oracle.log(phi[label, term])
            for term, n in Counter(terms).items()
            if term in remaining
        )
    return total


def draw_corpus(seed: int, n_terms: int = 40, n_documents: int = 60) -> Corpus:
    random = np.random.default_rng(seed)
    themes = {label: random.dirichlet(np.full(n_terms, 0.3)) for label in "xyz"}
    labels = [str(label) for label in random.choice(list(themes), n_documents)]
    return [
        (
            label,
            [f"w{j:02}" for j in random.choice(n_terms, random.integers(1, 30), p=themes[label])],
        )
        for label in labels
    ]


@SHAPES
@examples(8)
@given(
    corpus=strategies.lettered_corpora,
    strength=st.floats(0.01, 50),
    over=st.sets(st.sampled_from("abcdef"), min_size=1),
)
def test_leave_one_out_likelihood_uses_estimates_without_the_document(
    shape: str, corpus: Corpus, strength: float, over: set[str]
) -> None:
    statistics, documents = count_corpus(corpus)
    over = {term for term in over if any(term in terms for _, terms in corpus)}
    selected = np.array(
        [statistics.vocabulary.get_term(j) in over for j in range(statistics.n_terms)], np.bool_
    )
    found = leave_one_out_log_likelihood(
        collect_leave_one_out_tokens(statistics, selected, shape, documents), strength
    )
    assert found == pytest.approx(slow(corpus, over, strength, shape), rel=1e-9, abs=1e-9)


@SHAPES
@pytest.mark.parametrize("seed", range(6))
def test_leave_one_out_strength_matches_scipy(shape: str, seed: int) -> None:
    statistics, documents = count_corpus(draw_corpus(seed))
    tokens = collect_leave_one_out_tokens(statistics, all_term_ids(statistics), shape, documents)
    found = _maximise_leave_one_out(tokens, 1e-6, 1e4)
    assert found is not None
    limits = (math.log(1e-6), math.log(1e4))
    options = {"xatol": 1e-10}
    best = minimize_scalar(
        lambda x: -leave_one_out_log_likelihood(tokens, math.exp(x)),
        bounds=limits,
        method="bounded",
        options=options,
    )
    assert leave_one_out_log_likelihood(tokens, found) >= -best.fun - 1e-9
    assert 1e-5 < found < 1e3
    assert found == pytest.approx(math.exp(best.x), rel=1e-4)


@SHAPES
def test_leave_one_out_smoothing_is_the_strength_with_six_digits(shape: str) -> None:
    statistics, documents = count_corpus(draw_corpus(1))
    every = all_term_ids(statistics)
    per_term = 1 if shape == "symmetric" else statistics.n_terms
    strength = _maximise_leave_one_out(
        collect_leave_one_out_tokens(statistics, every, shape, documents),
        MIN_STRENGTH_PER_TERM * per_term,
        MAX_SMOOTHING_PER_TERM * per_term,
    )
    found = choose_smoothing_by_leave_one_out(statistics, every, shape, documents)
    assert found == pytest.approx(strength, rel=1e-5)
    assert float(f"{found:.6g}") == found


@SHAPES
def test_identical_documents_give_no_prior_and_identical_classes_a_strong_one(
    shape: str,
) -> None:
    apart, documents = count_corpus([("x", ["ant", "bee"])] * 5 + [("y", ["cow", "dog"])] * 5)
    every = all_term_ids(apart)
    per_term = 1 if shape == "symmetric" else apart.n_terms
    assert choose_smoothing_by_leave_one_out(apart, every, shape, documents) == pytest.approx(
        MIN_STRENGTH_PER_TERM * per_term, rel=1e-5
    )
    mixed, documents = count_corpus(
        [(label, [term]) for label in "xy" for term in ("ant", "bee", "cow", "dog")]
    )
    assert choose_smoothing_by_leave_one_out(mixed, every, shape, documents) == pytest.approx(
        MAX_SMOOTHING_PER_TERM * per_term, rel=1e-5
    )


@SHAPES
@pytest.mark.parametrize(
    "corpus", [[("a", [])], [("a", ["ant"] * 50)], [("a", ["ant"]), ("b", ["bee"])]]
)
def test_uninformative_documents_give_a_tenth_per_term(shape: str, corpus: Corpus) -> None:
    statistics, documents = count_corpus(corpus)
    found = choose_smoothing_by_leave_one_out(
        statistics, all_term_ids(statistics), shape, documents
    )
    assert found == pytest.approx(0.1 * (1 if shape == "symmetric" else max(statistics.n_terms, 1)))


def test_likelihood_flat_up_to_rounding_gives_a_tenth_per_term() -> None:
    """It is −2 log 2 at every strength, which cancels: rounding would choose one, another for each order of the documents."""
    statistics, documents = count_corpus(
        [("x", []), ("x", []), ("y", ["bee"]), ("y", ["bee", "cat"]), ("x", ["bee"])]
    )
    assert (
        choose_smoothing_by_leave_one_out(
            statistics, all_term_ids(statistics), "symmetric", documents
        )
        == 0.1
    )


def texts(corpus: Corpus) -> tuple[list[str], list[str]]:
    return [" ".join(terms) for _, terms in corpus], [label for label, _ in corpus]


def test_model_chooses_leave_one_out_smoothing_from_its_sample() -> None:
    corpus = draw_corpus(3)
    model = TextClassifier(smoothing="leave-one-out", stemmer="none", stop_words="none").fit(
        *texts(corpus)
    )
    statistics, documents = count_corpus(corpus)
    wanted = choose_smoothing_by_leave_one_out(
        statistics, all_term_ids(statistics), "symmetric", documents
    )
    assert model.fitted.parameters.smoothing == wanted
    part = TextClassifier(
        smoothing="leave-one-out", stemmer="none", stop_words="none", keep_documents=20
    ).fit(*texts(corpus))
    assert part.fitted.parameters.smoothing not in (
        wanted,
        TextClassifier(stemmer="none", stop_words="none")
        .fit(*texts(corpus))
        .fitted.parameters.smoothing,
    )


PRIORS = ("empirical", "uniform", "smoothed:0.5")


def prior_of(counts: oracle.Counts, kind: str) -> dict[str, float]:
    added = 0.5 if kind == "smoothed:0.5" else 0
    return {
        k: 1 / len(counts.documents) if kind == "uniform" else float(p)
        for k, p in oracle.class_prior(counts, added).items()
    }


ESTIMATES = [("mean", 1.0), ("mean", 0.25), ("map", 0.5), ("mean", 0.0)]
NUMBERS = st.sampled_from([0.0, 1e-6, 0.25, 1.0, 3.5, 1000.0])
OWN = st.dictionaries(st.sampled_from("abcdef"), NUMBERS, min_size=1)
NONE: dict[str, float] = {}
ALL_ALIKE = st.tuples(
    st.sampled_from(["symmetric", "background"]),
    st.sampled_from([*ESTIMATES, ("ml", 0.0)]),
    st.just(NONE),
)
SOME_THEIR_OWN = st.tuples(st.just("symmetric"), st.sampled_from(ESTIMATES), OWN)


@pytest.mark.parametrize(
    "settings", [ALL_ALIKE, SOME_THEIR_OWN], ids=["all alike", "some their own"]
)
@examples(12)
@given(
    st.data(),
    strategies.lettered_corpora,
    st.sampled_from(PRIORS),
    st.sets(st.sampled_from("abcdef"), min_size=1),
    st.booleans(),
)
def test_leave_one_out_equals_an_estimate_without_the_document(
    settings: Any, data: Any, corpus: Corpus, prior: str, over: set[str], by_cells: bool
) -> None:
    """A term that goes with the document takes its own pseudo-count out of the sum."""
    shape, (name, smoothing), own = data.draw(settings)
    statistics = statistics_of(corpus)
    over = {term for term in over if any(term in terms for _, terms in corpus)}
    models = language_models(statistics, smoothing, shape, name, over, own)
    exactness = 1e-6 if own else 1e-9  # 1000 less 1000 rounds
    with cell_sums(by_cells):
        left_out = multinomial(models, prior).leave_one_out(counted_documents(corpus, statistics))
    for row, (_, terms) in enumerate(corpus):
        others = [document for place, document in enumerate(corpus) if place != row]
        counts = oracle.count(others)
        remaining = {term for term in over if any(term in held for _, held in others)}
        known = [term for term in terms if term in remaining]
        refitted = oracle.language_models(counts, remaining, smoothing, shape, name, own)
        wanted = {
            label: oracle.log(of_class)
            + sum(n * oracle.log(refitted[label, term]) for term, n in Counter(known).items())
            for label, of_class in prior_of(counts, prior).items()
        }
        got = dict(zip(statistics.classes, left_out.scores[row].tolist(), strict=True))
        assert got == pytest.approx(
            {label: wanted.get(label, -np.inf) for label in statistics.classes},
            rel=exactness,
            abs=exactness,
        )
        assert left_out.lengths[row] == len(known)
        assert left_out.unknown_lengths[row] == len(terms) - len(known)


ONE_EACH: Corpus = [("x", ["a"]), ("y", ["a"])]


def test_class_of_the_only_document_is_impossible_without_it() -> None:
    statistics = statistics_of(ONE_EACH)
    documents = counted_documents(ONE_EACH, statistics)
    scores = multinomial(language_models(statistics), "uniform").leave_one_out(documents).scores
    assert scores.tolist() == [[-np.inf, 0.0], [0.0, -np.inf]]
    scores = (
        multinomial(language_models(statistics), {"x": 1, "y": 0}).leave_one_out(documents).scores
    )
    assert scores[0].tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("weighting", ["counts", "binary", "log"])
@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_strength_with_seed_words_matches_a_direct_search(
    weighting: Any, shape: Any, seed: int
) -> None:
    """Against the evidence of the Dirichlet-multinomial with α_jk = s·b_j + A_jk, summed over dense tables, by a search of scipy's."""
    random = np.random.default_rng(seed)
    words = [f"w{place}" for place in range(12)]
    corpus = [
        ("ab"[n % 2], [str(word) for word in random.choice(words[n % 2 :: 2], 6)])
        for n in range(30)
    ]
    seeds = [
        SeedTerm("a", ("w0",), 4.0),
        SeedTerm("b", ("w1",), 0.3),
        SeedTerm("b", ("nowhere",), 2.5),
        SeedTerm("a", ("w3",), -6.0),
    ]
    model = TextClassifier(
        stemmer="none",
        stop_words="none",
        smoothing="evidence",
        weighting=weighting,
        prior_shape=shape,
        calibration="none",
    )
    model.begin_with(seeds).fit(
        [" ".join(text) for _, text in corpus], [label for label, _ in corpus]
    )
    vocabulary = sorted([*words, "nowhere"])
    transform: Any = {"counts": lambda n: n, "binary": lambda n: n > 0, "log": np.log1p}[weighting]
    table = np.array(
        [
            [
                sum(transform(text.count(word)) for own, text in corpus if own == label)
                for label in "ab"
            ]
            for word in vocabulary
        ]
    )
    prior = np.zeros_like(table, np.float64)
    for word, label, amount in (
        ("w0", 0, 4.0),
        ("w1", 1, 0.3),
        ("nowhere", 1, 2.5),
        ("w3", 1, 6.0),
    ):
        prior[vocabulary.index(word), label] = amount
    of_corpus = (table + prior).sum(axis=1, keepdims=True)
    base = (
        of_corpus / of_corpus.sum()
        if shape == "background"
        else np.full((len(vocabulary), 1), 1 / len(vocabulary))
    )

    def evidence(log_strength: float) -> float:
        alpha = math.exp(log_strength) * base + prior
        of_cells = gammaln(table + alpha) - gammaln(alpha)
        return float(
            (
                of_cells.sum(axis=0)
                + gammaln(alpha.sum(axis=0))
                - gammaln((table + alpha).sum(axis=0))
            ).sum()
        )

    wanted = minimize_scalar(
        lambda x: -evidence(x), bounds=(-8, 2.5), method="bounded", options={"xatol": 1e-9}
    )
    scale = 1 if shape == "background" else len(vocabulary)
    assert model.fitted.parameters.smoothing * scale == pytest.approx(math.exp(wanted.x), rel=2e-4)
