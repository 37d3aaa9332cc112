"""The posterior of a probability as the data grow, against scipy, and the priors of terms."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from nbtext import TextClassifier
from nbtext.errors import UsageError
from nbtext.inspection.posteriors import (
    MAX_CLASSES,
    MAX_SIZES,
    N_BINS,
    choose_sizes,
    describe_growth,
    make_growth,
)
from nbtext.inspection.terms import collect_word_details
from tests.process import fail, in_json, nbtext, succeed, write
from tests.profiles import examples
from tests.textbook import CHINA

if TYPE_CHECKING:
    from pathlib import Path


def trained(**settings: Any) -> TextClassifier:
    model = TextClassifier(stemmer="none", stop_words="none", calibration="none", **settings)
    return model.fit([" ".join(terms) for _, terms in CHINA], [label for label, _ in CHINA])


def test_coin_of_the_lecture() -> None:
    """Three heads in five throws under Beta(2, 2): the posterior is Beta(5, 4)."""
    growth = make_growth("mine", [2, 2], [5, 4])
    assert (growth.successes, growth.n, growth.axis_end) == (3, 5, 1)
    parameters = [(curve.n, curve.a, curve.b) for curve in growth.posteriors]
    assert parameters == [(1, 2.6, 2.4), (2, pytest.approx(3.2), pytest.approx(2.8)), (5, 5, 4)]
    assert growth.posteriors[-1].mean == pytest.approx(5 / 9)
    assert (growth.likelihood.a, growth.likelihood.b) == (4, 3)
    centres = (np.arange(N_BINS) + 0.5) / N_BINS
    likelihood = centres**3 * (1 - centres) ** 2
    np.testing.assert_allclose(growth.likelihood.heights, likelihood / likelihood.max(), atol=2e-3)
    prior = centres * (1 - centres)
    assert growth.prior is not None
    np.testing.assert_allclose(growth.prior.heights, prior / prior.max(), atol=2e-3)


@examples(50)
@given(st.floats(0.01, 1e3), st.floats(0.01, 1e4), st.integers(0, 10**5), st.integers(0, 10**5))
def test_curves_are_those_of_scipy_and_variance_shrinks(
    a: float, b: float, successes: int, failures: int
) -> None:
    growth = make_growth("k", [a, b], [a + successes, b + failures])
    assert growth.n == successes + failures
    edges = np.linspace(0, growth.axis_end, N_BINS + 1)
    for curve in (*growth.posteriors, growth.likelihood):
        reference = beta(curve.a, curve.b)
        bins = np.diff(reference.cdf(edges))
        np.testing.assert_allclose(curve.heights, bins / bins.max(), atol=1e-6)
        assert curve.interval == pytest.approx(reference.ppf([0.025, 0.975]), rel=1e-6)
        assert curve.interval[1] <= growth.axis_end or growth.axis_end == 1
        assert curve.mean == pytest.approx(reference.mean())
    strengths = [curve.a + curve.b for curve in growth.posteriors]
    assert strengths == sorted(strengths)
    last = growth.posteriors[-1]
    assert (last.a, last.b) == pytest.approx((a + successes, b + failures))


@given(st.integers(1, 10**12))
def test_sizes_are_few_and_rise_to_all_data(n: int) -> None:
    sizes = choose_sizes(n)
    assert sizes[-1] == n
    assert all(low < high for low, high in pairwise(sizes))
    assert len(sizes) <= 2 * MAX_SIZES


@pytest.mark.parametrize(
    ("settings", "prior", "posterior"),
    [
        # IIR, example 13.1: "chinese" is 5 of the 8 tokens of yes, of 6 terms.
        ({"smoothing": 1}, [1, 5], [6, 8]),
        ({"smoothing": 1, "estimate": "map"}, [2, 10], [7, 13]),
        ({"smoothing": {"*": 1, "chinese": 3}}, [3, 5], [8, 8]),
        # Example 13.2: it is in 3 of 3 documents.
        ({"smoothing": 1, "classifier": "bernoulli"}, [1, 1], [4, 1]),
        ({"smoothing": (0.5, 2), "classifier": "bernoulli"}, [0.5, 2], [3.5, 2]),
        ({"smoothing": 1, "classifier": "bernoulli", "estimate": "map"}, [2, 2], [5, 2]),
    ],
)
def test_prior_of_a_term_is_its_posterior_without_the_counts(
    settings: dict[str, Any], prior: list[float], posterior: list[float]
) -> None:
    [word] = collect_word_details(trained(**settings), ["chinese"])
    details = word.terms[0].classes["yes"]
    assert details.prior == pytest.approx(prior)
    assert details.posterior == pytest.approx(posterior)
    growth = next(each for each in describe_growth([word])["chinese"] if each.label == "yes")
    assert growth.successes == pytest.approx(posterior[0] - prior[0])


def test_seed_words_are_part_of_the_prior(tmp_path: Path) -> None:
    write("seeds.tsv", "cats\tpurr\t4\ndogs\tbark\n")
    write("pets.tsv", "cats\tpurr\ncats\tpurr sleep\ncats\tsleep\ndogs\tbark\n")
    succeed("train pets.tsv --seeds seeds.tsv --smoothing 1")
    [term] = in_json("inspect --term purr")["words"][0]["terms"]
    details = term["classes"]["cats"]
    (a, b), (prior_a, prior_b) = details["posterior"], details["prior"]
    assert prior_a == 1 + 4
    assert (a - prior_a, b - prior_b) == (2, 2)


def test_terms_without_posterior_are_refused_or_omitted() -> None:
    with pytest.raises(UsageError, match="needs a term with a posterior"):
        describe_growth(collect_word_details(trained(estimate="ml"), ["chinese"]))
    found = describe_growth(collect_word_details(trained(), ["chinese", "unheard", "the"]))
    assert list(found) == ["chinese"]


def test_only_the_most_probable_classes_are_described() -> None:
    texts = [f"word{' all' * n}" for n in range(9)]
    model = TextClassifier(stop_words="none", smoothing=1).fit(texts, [f"c{n}" for n in range(9)])
    [growths] = describe_growth(collect_word_details(model, ["all"])).values()
    assert [growth.label for growth in growths] == [f"c{n}" for n in range(8, 8 - MAX_CLASSES, -1)]


def test_class_without_data_has_prior_only(tmp_path: Path) -> None:
    """A declared category that no document has, in a class that has no value either."""
    write("coin.csv", "coin,side\na,heads\na,heads\nb,\nb,\n")
    succeed("train coin.csv --label-column coin --categorical side=2 --smoothing 1")
    [term] = in_json("inspect --term side=tails")["words"][0]["terms"]
    assert [term["classes"][k]["posterior"] for k in "ab"] == [[1, 3], [1, 1]]
    assert [term["classes"][k]["prior"] for k in "ab"] == [[1, 1], [1, 1]]
    succeed("inspect --term side=tails --to page.html")
    assert json.loads(nbtext("inspect --term side=tails -o json").out)["words"]
    assert "cannot be used with --to" in fail(2, "inspect --term side=tails -o json --to x.html")
