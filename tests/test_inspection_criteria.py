"""Evidence, log-likelihood and parameters of each part of a model: numbers of textbooks by the command, slow twins by fractions and scipy."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from nbtext import TextClassifier
from nbtext.counts.statistics import SeedTerm
from nbtext.inspection.criteria import (
    compare_models,
    compute_criteria,
    estimate_labelled_classifier,
)
from tests.models import split_labelled
from tests.process import corpus, fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.inspection.criteria import Criteria

TEXTS = [("x", "ant bee"), ("x", "ant"), ("y", "bee cow"), ("x", ""), ("y", "cow cow dog")]
TERMS = ["ant", "bee", "cow", "dog"]

POINTS = [
    ("a", 1, 2.0),
    ("a", 2, 2.5),
    ("a", 3, 1.0),
    ("a", 2, 9.0),
    ("b", 5, 2.0),
    ("b", 7, 3.0),
    ("b", 6, 9.0),
    ("b", 9, 4.0),
]


def criteria_of(parameters: dict[str, Any], rows: list[tuple[str, str]]) -> Criteria:
    model = TextClassifier(stemmer="none", **parameters)
    model.fit(*split_labelled(rows))
    return compute_criteria(estimate_labelled_classifier(model))


def log_predictive_of_documents(
    smoothing: dict[str, Fraction], absence: Fraction | None, more: int
) -> float:
    """Return the log of the product of the predictive probabilities of the documents of each class, one after the other."""
    total = Fraction(1)
    for label in ("x", "y"):
        seen: list[set[str]] = []
        for own in (set(text.split()) for each, text in TEXTS if each == label):
            for term in TERMS:
                a = smoothing.get(term, smoothing["*"]) + more
                b = (a - more if absence is None else absence) + more
                holding = sum(term in earlier for earlier in seen)
                here = (holding + a) / (len(seen) + a + b)
                total *= here if term in own else 1 - here
            seen.append(own)
    return math.log(total)


@pytest.mark.parametrize(
    ("smoothing", "numbers", "absence"),
    [
        (1, {"*": Fraction(1)}, None),
        ((0.5, 2), {"*": Fraction(1, 2)}, Fraction(2)),
        ({"*": 0.5, "cow": 3}, {"*": Fraction(1, 2), "cow": Fraction(3)}, None),
    ],
)
@pytest.mark.parametrize("estimate", ["mean", "map"])
def test_bernoulli_evidence_is_the_product_of_predictive_probabilities(
    smoothing: object, numbers: dict[str, Fraction], absence: Fraction | None, estimate: str
) -> None:
    for order in list(permutations(TEXTS))[::29]:
        found = criteria_of(
            {"classifier": "bernoulli", "smoothing": smoothing, "estimate": estimate}, list(order)
        )
        assert found.evidence == pytest.approx(
            log_predictive_of_documents(numbers, absence, int(estimate == "map")), abs=1e-9
        )


def test_bernoulli_criteria_at_maximum_likelihood_match_hand_computation() -> None:
    found = criteria_of({"classifier": "bernoulli", "smoothing": 1}, list(TEXTS))
    share = {"x": 3 / 5, "y": 2 / 5}
    wanted = 0.0
    for label, text in TEXTS:
        of_class = [set(other.split()) for each, other in TEXTS if each == label]
        wanted += math.log(share[label])
        for term in TERMS:
            theta = sum(term in each for each in of_class) / len(of_class)
            wanted += math.log(theta if term in text.split() else 1 - theta)
    assert found.log_likelihood == pytest.approx(wanted)
    assert (found.parameters, found.tokens) == (2 * 4 + 1, 8)
    assert found.bic == pytest.approx(9 * math.log(5) - 2 * wanted)
    assert criteria_of({"classifier": "bernoulli", "estimate": "ml"}, list(TEXTS)).evidence is None


@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli"])
def test_pooled_model_equals_a_model_of_a_single_class_corpus(classifier: str) -> None:
    parameters: dict[str, Any] = {"classifier": classifier}
    model = TextClassifier(stemmer="none", smoothing=0.5, **parameters).fit(*split_labelled(TEXTS))
    pooled = criteria_of({"smoothing": 0.5, **parameters}, [("all", text) for _, text in TEXTS])
    compared = {
        (each.language_models, each.smoothing): each.log_evidence
        for each in compare_models(estimate_labelled_classifier(model))
    }
    assert compared["one for all classes", 0.5] == pytest.approx(pooled.evidence)
    one = criteria_of({"smoothing": 1, **parameters}, list(TEXTS))
    assert compared["one for each class", 1.0] == pytest.approx(one.evidence)


@pytest.mark.parametrize("covariance", ["shared", "separate"])
@pytest.mark.parametrize(
    ("shape", "parameters"),
    [("full", 3), ("diagonal", 2), ("spherical", 1), ("spherical-unscaled", 1)],
)
def test_gaussian_criteria_at_maximum_likelihood_match_scipy(
    tmp_path: Path, covariance: str, shape: str, parameters: int
) -> None:
    """Spherical is of numbers in units of their standard deviations."""
    write("points.csv", "\n".join(["label,x,y", *(",".join(map(str, row)) for row in POINTS)]))
    options = ("--classifier", "gaussian", "--covariance", covariance, "--covariance-shape", shape)
    succeed("train points.csv --label-column label --numeric x,y", *options)
    found = in_json("inspect --criteria")["criteria"]
    points = np.array([row[1:] for row in POINTS])
    scale = points.std(axis=0) if shape == "spherical" else np.ones(2)
    points = points / scale
    centred = np.vstack(
        [points[:4] - points[:4].mean(axis=0), points[4:] - points[4:].mean(axis=0)]
    )
    wanted = 8 * math.log(1 / 2) - 8 * np.log(scale).sum()
    for rows in (slice(0, 4), slice(4, 8)):
        spread = centred if covariance == "shared" else centred[rows]
        moments = spread.T @ spread / len(spread)
        if shape != "full":
            moments = np.diag(np.diag(moments))
        if shape.startswith("spherical"):
            moments = np.eye(2) * np.trace(moments) / 2
        wanted += (
            stats.multivariate_normal(points[rows].mean(axis=0), moments).logpdf(points[rows]).sum()
        )
    assert found["log_likelihood"] == pytest.approx(wanted)
    assert found["parameters"] == 1 + 2 * 2 + parameters * (1 if covariance == "shared" else 2)
    assert found["bic"] == pytest.approx(found["parameters"] * math.log(8) - 2 * wanted)
    assert (found["evidence"], found["parts"][1]["part"]) == (None, "features")


def test_gaussian_without_documents_or_inverse_refuses_criteria(tmp_path: Path) -> None:
    write("points.csv", "\n".join(["label,x,y", *(",".join(map(str, row)) for row in POINTS)]))
    succeed(
        "train points.csv --label-column label --numeric x,y --classifier gaussian --keep-documents 3"
    )
    assert "need all documents" in fail(2, "inspect --criteria")
    write("points.csv", "label,x,y\na,1,1\na,2,2\nb,3,3\nb,5,5\n")
    succeed("train points.csv --label-column label --numeric x,y --classifier gaussian")
    assert "AIC and BIC are not defined, because a covariance cannot be inverted" in fail(
        2, "inspect --criteria"
    )


def test_evidence_of_columns_is_a_product_of_predictive_probabilities(tmp_path: Path) -> None:
    """Predictive distributions under A = 2: negative binomial of counts, without x!, and Student's t of numbers."""
    write("points.csv", "\n".join(["label,x,y", *(",".join(map(str, row)) for row in POINTS)]))
    succeed(
        "train points.csv --label-column label --count x --numeric y --smoothing 2 --class-prior smoothed:1"
    )
    parts = {
        part["part"]: part["evidence"]
        for part in in_json("inspect --criteria")["criteria"]["parts"]
    }
    x, y = np.array([row[1] for row in POINTS]), np.array([row[2] for row in POINTS])
    of_counts, of_numbers = sum(math.lgamma(count + 1) for count in x.tolist()), 0.0
    for rows in (slice(0, 4), slice(4, 8)):
        a, b = 2 * x.mean(), 2.0
        for count in x[rows].tolist():
            of_counts += stats.nbinom.logpmf(count, a, b / (b + 1))
            a, b = a + count, b + 1
        n, mean, squares = 2.0, y.mean(), 2 * y.var()  # κ = ν = n, and ν σ²
        for number in y[rows].tolist():
            of_numbers += stats.t.logpdf(number, n, mean, math.sqrt(squares / n * (1 + 1 / n)))
            squares += n / (n + 1) * (number - mean) ** 2
            mean, n = mean + (number - mean) / (n + 1), n + 1
    assert parts == pytest.approx(
        {
            "class prior": math.log(math.factorial(4) ** 2 / math.factorial(9)),
            "x": of_counts,
            "y": of_numbers,
        }
    )


def test_beta_prior_of_a_coin_matches_textbook_numbers(tmp_path: Path) -> None:
    corpus(tmp_path, {"coin.csv": "coin,side\n" + "c,heads\n" * 3 + "c,tails\n" * 2})
    for estimate, a, wanted in (("mean", 2, 5 / 9), ("map", 1, 4 / 7)):
        write("beta", f"side=heads\t{a}\nside=tails\t{a}\n*\t1\n")
        assert (
            nbtext(
                "train coin.csv --label-column coin --categorical side --smoothing beta --estimate",
                estimate,
            ).status
            == 0
        )
        found = in_json("inspect --term side=heads --criteria")
        [term] = found["words"][0]["terms"]
        assert term["classes"]["c"]["probability"] == pytest.approx(wanted)
        assert term["classes"]["c"]["posterior"] == [5, 4]
        assert term["classes"]["c"]["interval"] == pytest.approx(
            stats.beta(5, 4).ppf([0.025, 0.975]).tolist()
        )
        assert found["criteria"]["evidence"] == pytest.approx(
            math.log(Fraction(2 * 3 * 4 * 2 * 3, 4 * 5 * 6 * 7 * 8))
        )
        assert "side=heads" in succeed("inspect --term side=heads").text


def test_die_with_unseen_faces_matches_textbook_numbers(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "die.csv": "die,face\n" + "".join(f"d,{face}\n" for face in (1, 1, 2, 3)),
            "alpha": "face=1\t3\nface=6\t2\n*\t1\n",
        },
    )
    assert (
        nbtext("train die.csv --label-column die --categorical face=6 --smoothing alpha").status
        == 0
    )
    found = in_json("inspect --criteria")
    total = 4 + 3 + 2 + 4
    faces = {"1": 5 / total, "2": 2 / total, "3": 2 / total, "(3 never seen)": 4 / total}
    assert found["attributes"]["face"]["classes"]["d"]["probability"] == pytest.approx(faces)
    assert found["criteria"]["evidence"] == pytest.approx(
        math.log(Fraction(3 * 4, 9 * 10 * 11 * 12))
    )
    assert {each["data"] for each in found["models"]} == {"face"}
    assert "one for each class, by the file" in {
        each["language_models"] for each in found["models"]
    }
    write("alpha", "face=1\t1\nface=2\t1\nface=6\t1\n*\t1\n")
    assert "'face' has 4 values, and 3 are declared" in fail(
        2, "train die.csv --label-column die --categorical face=3 --smoothing alpha"
    )


SEEDS = [
    SeedTerm("x", ("ant",), 4.0),
    SeedTerm("y", ("cow",), 0.5),
    SeedTerm("y", ("emu",), 2.0),
    SeedTerm("y", ("bee",), -1.5),
]
PRIOR = {
    ("x", "ant"): Fraction(4),
    ("y", "cow"): Fraction(1, 2),
    ("y", "emu"): Fraction(2),
    ("x", "bee"): Fraction(3, 2),
}
OVER = [*TERMS, "emu"]


def log_predictive_of_tokens(
    alpha: dict[tuple[str, str], Fraction], rows: list[tuple[str, str]], terms: list[str] = OVER
) -> float:
    """Return the log of the product of the predictive probabilities of all tokens, one after the other, each class with its own prior."""
    total, counts = Fraction(1), dict(alpha)
    for label, text in rows:
        for term in text.split():
            total *= counts[label, term] / sum(counts[label, each] for each in terms)
            counts[label, term] += 1
    return math.log(total)


def seeded(**parameters: Any) -> TextClassifier:
    model = TextClassifier(
        stemmer="none", stop_words="none", calibration="none", **parameters
    ).begin_with(SEEDS)
    return model.fit(*split_labelled(TEXTS))


@pytest.mark.parametrize(
    ("estimate", "shape"), [("mean", "symmetric"), ("map", "symmetric"), ("mean", "background")]
)
def test_seed_words_change_the_prior_but_not_the_data(estimate: str, shape: str) -> None:
    found = compute_criteria(
        estimate_labelled_classifier(
            seeded(smoothing=0.5, estimate=estimate, prior_shape=shape, class_prior="smoothed:1")
        )
    )
    counts = {
        (label, term): sum(text.split().count(term) for each, text in TEXTS if each == label)
        for label in "xy"
        for term in OVER
    }
    in_sum = {
        term: sum(counts[label, term] + PRIOR.get((label, term), 0) for label in "xy")
        for term in OVER
    }
    base = {
        term: Fraction(in_sum[term]) / sum(in_sum.values())
        if shape == "background"
        else Fraction(1)
        for term in OVER
    }
    more = int(estimate == "map")
    alpha = {
        (label, term): base[term] / 2 + more + PRIOR.get((label, term), 0)
        for label in "xy"
        for term in OVER
    }
    labels = math.log(Fraction(math.factorial(3) * math.factorial(2), math.factorial(6)))
    assert found.evidence == pytest.approx(log_predictive_of_tokens(alpha, TEXTS) + labels)
    tokens = {label: sum(counts[label, term] for term in OVER) for label in "xy"}
    likelihood = (
        sum(n * math.log(n / tokens[label]) for (label, _), n in counts.items() if n)
        + 3 * math.log(3 / 5)
        + 2 * math.log(2 / 5)
    )
    assert found.log_likelihood == pytest.approx(likelihood)
    assert (found.tokens, found.parameters) == (8, 2 * 4 + 1)
    assert found.bic == pytest.approx(9 * math.log(8) - 2 * likelihood)


def test_pooled_distribution_has_the_seeds_of_all_classes() -> None:
    compared = {
        (each.language_models, each.smoothing): each.log_evidence
        for each in compare_models(estimate_labelled_classifier(seeded(smoothing=0.5)))
    }
    alpha = {
        ("", term): Fraction(1, 2) + sum(n for (_, each), n in PRIOR.items() if each == term)
        for term in OVER
    }
    assert compared["one for all classes", 0.5] == pytest.approx(
        log_predictive_of_tokens(alpha, [("", text) for _, text in TEXTS])
    )


def test_posterior_of_a_seeded_term_matches_scipys_beta(tmp_path: Path) -> None:
    write("t.tsv", "x\tred red blue\ny\tblue cyan\n")
    write("seeds", "x\tred\t4\ny\tblue\t2.5\n")
    succeed("train t.tsv --smoothing 1 --stop-words none --stemmer none --seeds seeds")
    [term] = in_json("inspect --term red")["words"][0]["terms"]
    for label, a, b, count in (("x", 2 + 1 + 4, 1 + 2, 2), ("y", 1, 2 + 2 + 2.5, 0)):
        of_class = term["classes"][label]
        assert (of_class["count"], of_class["probability"]) == (count, pytest.approx(a / (a + b)))
        assert of_class["posterior"] == [a, b]
        assert of_class["interval"] == pytest.approx(stats.beta(a, b).ppf([0.025, 0.975]).tolist())
