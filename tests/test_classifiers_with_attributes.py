"""Attributes beside text, or without one: scikit-learn and scipy as oracles, and what holds of every model.

Also tests `classifiers/attribute_likelihoods.py`.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from nbtext import TextClassifier
from nbtext.classifiers.attribute_likelihoods import measure_normal_fits, measure_poisson_fits
from nbtext.classifiers.gaussian import GaussianDiscriminantAnalysis, compute_gaussian_boundary
from nbtext.classifiers.with_attributes import AttributedClassifier
from nbtext.counts.moments import Moments
from nbtext.errors import UsageError
from nbtext.inspection.terms import collect_word_details
from nbtext.model.description import list_warnings
from tests.process import json_lines, nbtext, write
from tests.textbook import DATING

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from nbtext.settings import ClassifierName, Estimate

Row = dict[str, Any]

LOOKS = "height,hair,eye"


def person(height: str, hair: str, eye: str) -> Row:
    return {"height": height, "hair": hair, "eye": eye}


def dating(**parameters: Any) -> TextClassifier:
    return TextClassifier(categorical=LOOKS, **parameters).fit(
        [person(*row[:3]) for row in DATING], [row[3] for row in DATING]
    )


def joint(model: TextClassifier, row: Row) -> list[float]:
    found: list[float] = np.exp(model.joint_log_likelihood([row]))[0].tolist()
    return found


def test_unseen_value_under_maximum_likelihood_excludes_all_classes() -> None:
    stranger = person("t", "r", "w")
    assert joint(dating(estimate="ml"), stranger) == [0, 0]
    assert dating(estimate="ml").predict([stranger]).tolist() == [None]
    for parameters in ({}, {"smoothing": 1}, {"estimate": "map", "smoothing": 0.5}):
        model = dating(**parameters)
        (answer,) = model.predict_proba([stranger])
        assert np.all(answer > 0)
        assert answer.sum() == pytest.approx(1)


@pytest.mark.parametrize("beside", [{}, {"text": "the"}], ids=["no text", "stop words only"])
@pytest.mark.parametrize("classifier", ["multinomial", "bernoulli", "gaussian"])
@pytest.mark.parametrize(("estimate", "added"), [("mean", 1), ("map", 1), ("ml", 0)])
def test_single_attribute_without_terms_matches_hand_computation(
    classifier: ClassifierName, estimate: Estimate, added: int, beside: Row
) -> None:
    """By hand: 185 ham "no", 15 ham "yes" and 20 spam "yes". "yes" is spam: 20 of 35 without smoothing."""
    rows = [{"reply": "no", **beside}] * 185 + [{"reply": "yes", **beside}] * 35
    model = TextClassifier(
        categorical="reply",
        classifier=classifier,
        estimate=estimate,
        smoothing=1,
        calibration="none",
    )
    model.fit(rows, ["ham"] * 200 + ["spam"] * 20)
    ham, spam = (
        200 / 220 * (15 + added) / (200 + 2 * added),
        20 / 220 * (20 + added) / (20 + 2 * added),
    )
    assert model.predict_proba([{"reply": "yes"}])[0] == pytest.approx(
        [ham / (ham + spam), spam / (ham + spam)], rel=1e-12
    )
    assert isinstance(model.fitted.classifier, AttributedClassifier)
    values = model.fitted.classifier.likelihoods.categorical[0].language_models
    assert values.class_tokens.tolist() == [200, 20]
    assert values.compute_probability(np.flatnonzero(values.selected)).sum(axis=0) == pytest.approx(
        [1, 1]
    )


def test_missing_and_unknown_values_do_not_change_scores() -> None:
    model = dating()
    assert model.predict_proba([{}])[0].tolist() == pytest.approx(
        model.fitted.classifier.prior.tolist()
    )
    of_hair = model.joint_log_likelihood(
        [{"hair": "d"}, {"hair": "d", "eye": None}, {"hair": "d", "eye": "green", "height": ""}]
    )
    assert of_hair[0].tolist() == of_hair[1].tolist() == of_hair[2].tolist()


def draw_rows(n: int, seed: int = 0) -> tuple[list[Row], list[str]]:
    """People of two towns, with a text, a colour, visits and an age; some values are missing."""
    random = np.random.default_rng(seed)
    rows, labels = [], []
    for number in range(n):
        north = number % 2
        row: Row = {
            "text": " ".join(
                random.choice(
                    ["snow", "sea", "fish", "wind"] if north else ["sun", "sea", "wine", "wind"], 6
                )
            ),
            "colour": str(
                random.choice(
                    ["blue", "grey"] if random.random() < 0.7 - 0.4 * north else ["red", "grey"]
                )
            ),
            "visits": int(random.poisson(2 + 2 * north)),
            "age": round(float(random.normal(40 - 10 * north, 5)), 2),
        }
        if number % 7 == 0:
            del row["colour"], row["age"]
        if number % 11 == 0:
            row["visits"] = None
        rows.append(row)
        labels.append("north" if north else "south")
    return rows, labels


COLUMNS: dict[str, Any] = {"categorical": "colour", "count": "visits", "numeric": "age"}
ROWS, LABELS = draw_rows(60)
ASKED = draw_rows(20, 1)[0]


def fitted(**parameters: Any) -> TextClassifier:
    return TextClassifier(**COLUMNS, **parameters).fit(ROWS, LABELS)


def test_log_likelihoods_of_text_and_attributes_add() -> None:
    """Slow twin: text alone by a model of texts, the others by hand from the rows."""
    alpha = 0.5
    model = fitted(smoothing=alpha)
    texts = TextClassifier(smoothing=alpha).fit([row["text"] for row in ROWS], LABELS)
    wanted = texts.joint_log_likelihood([row["text"] for row in ASKED])
    for k, label in enumerate(model.classes):
        mine = [row for row, of in zip(ROWS, LABELS, strict=True) if of == label]
        colours = sorted({row["colour"] for row in ROWS if "colour" in row})
        of_colour = {value: sum(row.get("colour") == value for row in mine) for value in colours}
        visits, all_visits = (
            [row["visits"] for row in rows if row["visits"] is not None] for rows in (mine, ROWS)
        )
        rate = (sum(visits) + alpha * np.mean(all_visits)) / (len(visits) + alpha)
        ages, all_ages = ([row["age"] for row in rows if "age" in row] for rows in (mine, ROWS))
        mean = (sum(ages) + alpha * np.mean(all_ages)) / (len(ages) + alpha)
        square = (sum(age**2 for age in ages) + alpha * np.mean(np.square(all_ages))) / (
            len(ages) + alpha
        )
        for place, row in enumerate(ASKED):
            if row.get("colour") in of_colour:
                wanted[place, k] += math.log(
                    (of_colour[row["colour"]] + alpha)
                    / (sum(of_colour.values()) + alpha * len(colours))
                )
            if row["visits"] is not None:
                wanted[place, k] += stats.poisson.logpmf(row["visits"], rate)
            if "age" in row:
                wanted[place, k] += stats.norm.logpdf(row["age"], mean, math.sqrt(square - mean**2))
    np.testing.assert_allclose(model.joint_log_likelihood(ASKED), wanted, rtol=1e-9)


FLOWERS = [
    [
        round(float(value), 1)
        for value in np.random.default_rng(number).normal(
            [5 + number % 3, 3, 4 - number % 3], [0.5, 0.4, 0.3 + 0.2 * (number % 3)]
        )
    ]
    for number in range(90)
]
SPECIES = [f"s{number % 3}" for number in range(90)]
SIZES = [dict(zip("abc", row, strict=True)) for row in FLOWERS]


def predict_sizes(**parameters: Any) -> NDArray[np.float64]:
    model = TextClassifier(numeric="a,b,c", calibration="none", **parameters).fit(SIZES, SPECIES)
    return model.predict_log_proba(SIZES)


def test_gaussian_of_numbers_matches_scikit_learn() -> None:
    """To the digits that a model keeps of means and covariances."""
    linear = (
        LinearDiscriminantAnalysis(solver="lsqr").fit(FLOWERS, SPECIES).predict_log_proba(FLOWERS)
    )
    np.testing.assert_allclose(
        predict_sizes(classifier="gaussian", shrinkage=0), linear, rtol=1e-3, atol=1e-4
    )
    quadratic = QuadraticDiscriminantAnalysis().fit(FLOWERS, SPECIES).predict_log_proba(FLOWERS)
    found = predict_sizes(classifier="gaussian", covariance="separate", shrinkage=0)
    sizes = np.bincount(np.unique(SPECIES, return_inverse=True)[1])
    assert set(sizes.tolist()) == {30}  # scikit-learn divides by n − 1
    assert found.argmax(axis=1).tolist() == quadratic.argmax(axis=1).tolist()
    np.testing.assert_allclose(found, quadratic, rtol=0.2, atol=0.2)


def test_boundary_of_numbers_is_in_original_units() -> None:
    model = TextClassifier(
        numeric="a,b,c", classifier="gaussian", shrinkage=0, calibration="none"
    ).fit(SIZES, SPECIES)
    classifier = model.fitted.text_classifier
    assert isinstance(classifier, GaussianDiscriminantAnalysis)
    boundary = compute_gaussian_boundary(classifier)
    assert boundary is not None
    weights, bias = boundary[:2]
    scores = np.array(FLOWERS) @ weights.T + bias
    found = model.joint_log_likelihood(SIZES)
    np.testing.assert_allclose(scores - scores[:, :1], found - found[:, :1], rtol=1e-6, atol=1e-6)


def test_gaussian_of_text_and_numbers_uses_both() -> None:
    options: tuple[dict[str, Any], ...] = ({}, {"numeric": "age"})
    for columns in options:
        documents = ROWS if columns else [row["text"] for row in ROWS]
        model = TextClassifier(classifier="gaussian", latent=3, **columns).fit(documents, LABELS)
        classifier = model.fitted.text_classifier
        assert isinstance(classifier, GaussianDiscriminantAnalysis)
        assert classifier.gaussians.means.shape == (2, 3 + len(columns))


def test_constant_number_does_not_change_probabilities() -> None:
    rows = [{"visits": 0, "age": 3.5}] * 4
    model = TextClassifier(count="visits", numeric="age").fit(rows, ["a", "a", "a", "b"])
    assert model.predict_proba([{"visits": 5, "age": 9}])[0].tolist() == pytest.approx([0.75, 0.25])


def test_class_without_spread_is_refused_under_maximum_likelihood() -> None:
    rows, labels = [{"age": 3}, {"age": 3}, {"age": 4}, {"age": 5}], ["a", "a", "b", "b"]
    with pytest.raises(UsageError, match="in class a all documents have the same 'age'"):
        TextClassifier(numeric="age", estimate="ml").fit(rows, labels)
    assert TextClassifier(numeric="age").fit(rows, labels).predict([{"age": 3.1}]).tolist() == ["a"]


def test_unseen_count_under_maximum_likelihood_excludes_the_class() -> None:
    model = TextClassifier(count="visits", estimate="ml").fit(
        [{"visits": 0}, {"visits": 2}], ["a", "b"]
    )
    assert model.predict([{"visits": 1}]).tolist() == ["b"]
    assert joint(model, {"visits": 1})[0] == 0
    assert model.predict_proba([{"visits": 0}])[0, 0] > 0.5


def test_attributes_are_parameters_that_clones_keep() -> None:
    model = TextClassifier(**COLUMNS)
    assert TextClassifier(**model.get_params()).get_params() == model.get_params()
    model.fit(ROWS, LABELS).set_params(numeric=None)
    with pytest.raises(UsageError, match="not trained"):
        model.predict(ASKED).tolist()
    with pytest.raises(UsageError, match="none twice"):
        TextClassifier(numeric="a,a")


def test_attribute_missing_in_every_document_is_warned_of() -> None:
    model = TextClassifier(categorical="colour,shape", numeric="age").fit(
        [{"colour": "red"}, {"colour": "blue"}], ["a", "b"]
    )
    assert list_warnings(model.fitted) == [
        "no document has a value of shape, age; remove it, or name another column"
    ]
    assert model.predict([{"colour": "red", "shape": "round", "age": 3}]).tolist() == ["a"]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_evidence_of_counts_and_numbers_matches_numerical_integration(
    alpha: float,
) -> None:
    x, k = np.array([1.0, 0, 4, 2, 7, 3]), np.array([0, 0, 0, 1, 1, 1])
    mean, variance, moments = x.mean(), x.var(), Moments.from_values(x[:, np.newaxis], k, 2)
    rates, numbers = measure_poisson_fits(moments, alpha), measure_normal_fits(moments, alpha)
    for label in range(2):
        own = x[k == label]
        factorials = sum(math.lgamma(value + 1) for value in own)

        def of_rate(rate: float, own: NDArray[np.float64] = own) -> float:
            return float(
                stats.gamma.pdf(rate, alpha * mean, scale=1 / alpha)
                * np.prod(stats.poisson.pmf(own, rate))
            )

        assert rates[0][label, 0] - factorials == pytest.approx(
            math.log(integrate.quad(of_rate, 0, 60, limit=200)[0]), abs=1e-6
        )
        assert rates[1][label, 0] - factorials == pytest.approx(
            stats.poisson.logpmf(own, own.mean()).sum()
        )
        mu, log_s2 = np.linspace(-60, 65, 2501), np.linspace(-4, 14, 451)[:, np.newaxis]
        s2 = np.exp(log_s2)
        density = (
            stats.invgamma.pdf(s2, alpha / 2, scale=alpha * variance / 2)
            * s2
            * stats.norm.pdf(mu, mean, np.sqrt(s2 / alpha))
        )
        for value in own:
            density *= stats.norm.pdf(value, mu, np.sqrt(s2))
        total = integrate.trapezoid(integrate.trapezoid(density, mu), log_s2[:, 0])
        assert numbers[0][label, 0] == pytest.approx(math.log(total), abs=1e-3)
        assert numbers[1][label, 0] == pytest.approx(
            stats.norm.logpdf(own, own.mean(), own.std()).sum()
        )


def test_evidence_of_a_fixed_prior_is_the_likelihood_of_its_mean() -> None:
    x, k = np.array([1.0, 0, 4, 2, 7, 3]), np.array([0, 0, 0, 1, 1, 1])
    moments = Moments.from_values(x[:, np.newaxis], k, 2)
    rates, numbers = measure_poisson_fits(moments, 1e12)[0], measure_normal_fits(moments, 1e12)[0]
    for label in range(2):
        own = x[k == label]
        factorials = sum(math.lgamma(value + 1) for value in own)
        assert rates[label, 0] - factorials == pytest.approx(
            stats.poisson.logpmf(own, x.mean()).sum(), abs=1e-9
        )
        assert numbers[label, 0] == pytest.approx(
            stats.norm.logpdf(own, x.mean(), x.std()).sum(), abs=1e-9
        )


@pytest.mark.parametrize(
    "settings",
    [
        {"smoothing": 0.4},
        {"estimate": "map", "smoothing": 2},
        {"prior_shape": "background", "smoothing": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("text_column", ["none", "about"])
def test_leave_one_out_of_a_record_equals_training_on_the_others(
    settings: dict[str, Any], text_column: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(8)
    rows: list[Row] = [
        {
            "face": "abcd"[random.integers(4)],
            "calls": int(random.poisson(3)),
            "size": random.normal(n % 3, 2),
            "far": 1e6 + n / 3,
        }
        for n in range(15)
    ]
    rows[3] |= {"face": "once", "size": ""}
    rows[5] |= {"calls": "", "far": 2e7, "face": ""}
    labels = [*["a", "b", "a", "c", "b", "a", "b"] * 2, "alone"]
    if text_column != "none":
        rows = [{**row, "text": f"word{n % 4} other other"} for n, row in enumerate(rows)]
    heads = [*rows[0], "label"]
    lines = [
        ",".join(map(str, (*row.values(), label))) for row, label in zip(rows, labels, strict=True)
    ]
    write("t.csv", "\n".join((",".join(heads).replace("text", "about"), *lines)) + "\n")
    columns = [
        "--label-column",
        "label",
        "--categorical",
        "face=9",
        "--count",
        "calls",
        "--numeric",
        "size,far",
        "--text-column",
    ]
    options = [
        part
        for name, value in settings.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    asked = [
        "--calibration",
        "none",
        "--stop-words",
        "none",
        "--leave-one-out",
        "--output",
        "json",
        "--predictions",
        "p.jsonl",
    ]
    result = json.loads(
        nbtext("cross-validate", "t.csv", *columns, text_column, *options, *asked).out
    )
    assert result["n"] == 15
    assert result["unknown_documents"] == {"alone": 1}
    said, squares = json_lines((tmp_path / "p.jsonl").read_text()), []
    for number, found in enumerate(said):
        others = [place for place in range(15) if place != number]
        model = TextClassifier(
            categorical="face=9",
            count="calls",
            numeric="size,far",
            calibration="none",
            stop_words="none",
            **settings,
        )
        model.fit([rows[place] for place in others], [labels[place] for place in others])
        probabilities = dict(
            zip(model.classes, model.predict_proba([rows[number]])[0].tolist(), strict=True)
        )
        assert found["probability"] == pytest.approx(max(probabilities.values()), rel=1e-5)
        assert found["answer"] == max(probabilities, key=lambda label: probabilities[label])
        squares.append(
            sum(
                (probability - (label == labels[number])) ** 2
                for label, probability in probabilities.items()
            )
        )
    assert result["known"]["brier"] == pytest.approx(np.mean(squares[:-1]), rel=1e-9)


THROWS = [("a", face) for face in "1234123412"] + [("b", "1"), ("b", "2")]


def dice_model(n_faces: str, **parameters: Any) -> TextClassifier:
    rows = [{"face": face} for _, face in THROWS]
    return TextClassifier(categorical=f"face{n_faces}", calibration="none", **parameters).fit(
        rows, [die for die, _ in THROWS]
    )


@pytest.mark.parametrize(
    ("smoothing", "own"),
    [
        (1.0, {}),
        (0.3, {}),
        ({"face=5": 2.5, "*": 0.5}, {"5": 2.5}),
        ({"face=1": 3, "face=5": 2, "face=6": 0, "*": 1}, {"1": 3, "5": 2, "6": 0}),
    ],
)
def test_declared_value_without_documents_has_its_prior_probability(
    smoothing: Any, own: dict[str, float]
) -> None:
    """Dirichlet-categorical: p(face | die) = (n_face + α_face)/(n + Σ α) over all faces declared."""
    model, others = (
        dice_model("=6", smoothing=smoothing, class_prior="uniform"),
        smoothing["*"] if own else smoothing,
    )
    alpha = {face: own.get(face, others) for face in "123456"}
    phi = {
        die: {
            face: (THROWS.count((die, face)) + alpha[face])
            / (sum(each == die for each, _ in THROWS) + sum(alpha.values()))
            for face in alpha
        }
        for die in "ab"
    }
    shown = {face: collect_word_details(model, [f"face={face}"])[0].terms[0] for face in alpha}
    for face in alpha:
        assert joint(model, {"face": face}) == pytest.approx([phi[die][face] / 2 for die in "ab"])
        for die in "ab":
            of_die = shown[face].classes[die]
            assert of_die.count == THROWS.count((die, face))
            assert of_die.probability == pytest.approx(phi[die][face])
            total = sum(alpha.values()) + sum(each == die for each, _ in THROWS)
            a = phi[die][face] * total
            wanted = (
                pytest.approx(stats.beta(a, total - a).ppf([0.025, 0.975]).tolist()) if a else None
            )
            assert of_die.interval == wanted
    assert np.sum([joint(model, {"face": face}) for face in alpha], axis=0) == pytest.approx(
        [0.5, 0.5]
    )
    for row in ({"face": ""}, {}):
        assert joint(model, row) == [0.5, 0.5]


@pytest.mark.parametrize(
    "parameters", [{"estimate": "ml"}, {"prior_shape": "background", "smoothing": 2}], ids=str
)
def test_unseen_declared_value_without_a_prior_is_ignored(
    parameters: dict[str, Any],
) -> None:
    model = dice_model("=6", class_prior="uniform", **parameters)
    assert joint(model, {"face": "5"}) == [0.5, 0.5]
    assert not collect_word_details(model, ["face=5"])[0].terms[0].known


@pytest.mark.parametrize(
    ("n_faces", "smoothing", "unknown"),
    [("", 1.0, "5"), ("=4", 1.0, "5"), ("=6", {"face=5": 1, "face=6": 1, "*": 1}, "7")],
    ids=str,
)
def test_value_outside_the_declared_ones_is_ignored(
    n_faces: str, smoothing: Any, unknown: str
) -> None:
    model = dice_model(n_faces, smoothing=smoothing, class_prior="uniform")
    assert joint(model, {"face": unknown}) == [0.5, 0.5]
    assert not collect_word_details(model, [f"face={unknown}"])[0].terms[0].known


def test_unseen_declared_values_are_scored_in_several_rows_and_columns() -> None:
    rows = [
        {"face": face, "hand": "lr"[n % 2], "text": "word"} for n, (_, face) in enumerate(THROWS)
    ]
    model = TextClassifier(categorical="face=6,hand=3", calibration="none", smoothing=1).fit(
        rows, [die for die, _ in THROWS]
    )
    asked = [
        {"face": face, "hand": hand, "text": text}
        for face, hand, text in (
            ("5", "l", ""),
            ("1", "both", "word"),
            ("", "", "other"),
            ("6", "x", ""),
        )
    ]
    alone = [model.joint_log_likelihood([row])[0].tolist() for row in asked]
    assert model.joint_log_likelihood(asked).tolist() == alone
    nobody = np.log([10 / 12, 2 / 12]) + np.log([1 / 16, 1 / 8]) + np.log([1 / 13, 1 / 5])
    assert alone[3] == pytest.approx(nobody.tolist())
    scored = model.fitted.score([b""], values=[("6", "x")])
    assert (scored.lengths.tolist(), scored.unknown_tokens.tolist()) == ([2], [0])


def test_empty_column_with_declared_values_has_uniform_probabilities() -> None:
    model = TextClassifier(categorical="face=6", calibration="none", smoothing=1).fit(
        [{"face": ""}] * 2, ["a", "b"]
    )
    assert joint(model, {"face": "5"}) == pytest.approx([1 / 12, 1 / 12])
    [details] = collect_word_details(model, ["face=5"])
    assert [each.probability for each in details.terms[0].classes.values()] == pytest.approx(
        [1 / 6, 1 / 6]
    )
