"""Columns as features of logistic regression and of an average: scikit-learn, scipy and slow twins as oracles, the model file, the real command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression as Oracle
from sklearn.preprocessing import StandardScaler

from nbtext import TextClassifier
from nbtext.classifiers.average import EnsembleClassifier
from nbtext.classifiers.base import compute_component_fits, get_classifier_parameters
from nbtext.classifiers.held_out import score_held_out_sample, split_held_out
from nbtext.classifiers.logistic import LogisticRegression
from nbtext.errors import ModelError, UsageError
from nbtext.fitted_model import restore_classifier
from nbtext.inspection.overview import build_overview
from tests.process import fail, nbtext, succeed, write
from tests.profiles import examples
from tests.test_classifiers_logistic import by_hand

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Row = dict[str, Any]
COLUMNS: dict[str, Any] = {"categorical": "colour", "count": "visits", "numeric": "age,size"}
COLOURS = ("blue", "grey", "red")


def draw_rows(n: int, seed: int = 0, *, missing: bool = True) -> tuple[list[Row], list[str]]:
    """People of three towns, with a text, a colour, visits, an age and a size in the millions; some values are missing."""
    random = np.random.default_rng(seed)
    rows, labels = [], []
    for number in range(n):
        town = number % 3
        row: Row = {
            "text": " ".join(
                random.choice(
                    [("snow", "sea", "wind"), ("sun", "sea", "wine"), ("rain", "wind", "wine")][
                        town
                    ],
                    4,
                )
            ),
            "colour": str(random.choice(COLOURS, p=np.roll([0.6, 0.3, 0.1], town))),
            "visits": int(random.poisson(1 + town)),
            "age": round(float(random.normal(40 - 5 * town, 8)), 2),
            "size": 1e6 * float(random.normal(town, 2)),
        }
        if missing and number % 7 == 0:
            row |= {"colour": None, "age": None}
        if missing and number % 11 == 0:
            row["visits"] = None
        rows.append(row)
        labels.append("abc"[town])
    return rows, labels


ROWS, LABELS = draw_rows(60)
ASKED = [*draw_rows(20, 1)[0], {"text": "snow", "colour": "green", "age": 1e100}, {}]


def without_text(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "text"} for row in rows]


def logistic(
    rows: list[Row] = ROWS, labels: list[str] = LABELS, **parameters: Any
) -> TextClassifier:
    settings = {
        "classifier": "logistic",
        "calibration": "none",
        "stemmer": "none",
        "stop_words": "none",
        **COLUMNS,
        **parameters,
    }
    return TextClassifier(**settings).fit(rows, labels)


def features(rows: list[Row], scaler: StandardScaler) -> Floats:
    """Return indicators, 0 for a missing category, and standard numbers, 0 for missing ones."""
    indicators = np.array(
        [[row.get("colour") == colour for colour in COLOURS] for row in rows], np.float64
    )
    return np.hstack((indicators, np.nan_to_num(scaler.transform(numbers(rows)))))


def numbers(rows: list[Row]) -> Floats:
    return np.array(
        [
            [
                np.nan if (value := row.get(name)) is None else value
                for name in ("visits", "age", "size")
            ]
            for row in rows
        ]
    )


@pytest.mark.parametrize("l2", [0.1, 1.0, 10.0])
def test_column_probabilities_match_scikit_learn_on_indicators_and_scaled_numbers(
    l2: float,
) -> None:
    model, scaler = logistic(without_text(ROWS), l2=l2), StandardScaler().fit(numbers(ROWS))
    oracle = Oracle(C=1 / l2, tol=1e-10, max_iter=10_000).fit(features(ROWS, scaler), LABELS)
    asked = ASKED[:20]
    np.testing.assert_allclose(
        model.predict_proba(without_text(asked)),
        oracle.predict_proba(features(asked, scaler)),
        atol=1e-4,
    )
    assert get_classifier_parameters(model.fitted.classifier).l2 == l2


@examples(3)
@given(seed=st.integers(0, 1000), l2=st.sampled_from([0.3, 1.0]))
def test_fit_of_text_and_columns_minimises_the_written_objective(seed: int, l2: float) -> None:
    rows, labels = draw_rows(30, seed)
    model = logistic(rows, labels, l2=l2, smoothing=1)
    x, scale = by_hand([row["text"] for row in rows], labels, 1.0)
    beside = features(rows, StandardScaler().fit(numbers(rows)))
    beside = beside[:, beside.any(axis=0)]
    x, scale = np.hstack((x, beside)), np.vstack((scale, np.ones((beside.shape[1], 3))))
    truth = np.array(["abc".index(label) for label in labels])

    def objective(flat: Floats) -> float:
        w, b = flat[: scale.size].reshape(scale.shape), flat[scale.size :]
        scores = x @ (w * scale) + b
        return -float(
            log_softmax(scores, axis=1)[np.arange(truth.size), truth].sum()
        ) + l2 / 2 * float((w**2).sum())

    options = {"maxiter": 1000, "maxfun": 10**6, "ftol": 1e-13, "gtol": 1e-8}
    least = minimize(objective, np.zeros(scale.size + 3), method="L-BFGS-B", options=options)
    w, b = least.x[: scale.size].reshape(scale.shape), least.x[scale.size :]
    wanted = log_softmax(x @ (w * scale) + b, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(rows), wanted, atol=5e-3)


def test_units_do_not_change_scores_and_scores_are_finite() -> None:
    rows = without_text(ROWS)
    for factor in (1e-80, 1e80):
        scaled = [{**row, "size": row["size"] * factor} for row in rows]
        np.testing.assert_allclose(
            logistic(scaled, l2=1).predict_proba(scaled),
            logistic(rows, l2=1).predict_proba(rows),
            atol=1e-4,
        )
    model = logistic()
    assert np.isfinite(
        model.joint_log_likelihood([{"age": 1e100, "size": -1e100}, {"visits": 2**53 - 1}])
    ).all()
    with pytest.raises(UsageError, match="is not a number from 1e-100 to 1e"):
        logistic([{"age": 1e300}, {"age": 1.0}], ["a", "b"])


def test_missing_unknown_and_constant_values_do_not_change_scores() -> None:
    rows = [{**row, "size": 3.5} for row in without_text(ROWS)]
    model = logistic(rows)
    mean = float(np.nanmean(numbers(ROWS)[:, 1]))
    answers = model.joint_log_likelihood(
        [{}, {"colour": "green"}, {"size": 9}, {"age": mean}, {"age": mean + 5}]
    )
    np.testing.assert_allclose(answers[1:4], answers[[0, 0, 0]], rtol=1e-12)
    assert not np.allclose(answers[4], answers[0])


def test_correlated_columns_harm_naive_bayes_but_not_logistic_regression() -> None:
    """Two measurements of one thing: alone each tells as much as both. Naive Bayes is then too sure, and the more the worse."""
    random = np.random.default_rng(3)
    labels = ["ab"[number % 2] for number in range(400)]
    once = random.normal([label == "b" for label in labels], 1)
    columns = [f"x{place}" for place in range(6)]
    rows: list[Row] = [
        {name: float(value + 0.01 * random.normal()) for name in columns} for value in once
    ]

    def loss(classifier: Any, numeric: str) -> float:
        model = TextClassifier(classifier=classifier, calibration="none", numeric=numeric).fit(
            rows[:200], labels[:200]
        )
        of_truth = model.predict_log_proba(rows[200:])[
            np.arange(200), ["ab".index(label) for label in labels[200:]]
        ]
        return -float(of_truth.mean())

    both = ",".join(columns)
    assert loss("multinomial", both) > loss("multinomial", "x0") + 0.3
    assert loss("logistic", both) < loss("logistic", "x0") + 0.02


@pytest.mark.parametrize(
    "parameters",
    [{"classifier": "logistic"}, {"classifier": "average"}, {"classifier": "average", "l2": 1}],
    ids=str,
)
def test_saved_model_predicts_the_same_and_row_order_does_not_change_its_bytes(
    parameters: Row, tmp_path: Path
) -> None:
    model = TextClassifier(**COLUMNS, **parameters).fit(ROWS, LABELS)
    model.save(str(tmp_path / "m"))
    again = TextClassifier.load(str(tmp_path / "m"))
    assert (
        again.joint_log_likelihood(ASKED).tobytes() == model.joint_log_likelihood(ASKED).tobytes()
    )
    alone = np.vstack([again.joint_log_likelihood([row]) for row in ASKED])
    np.testing.assert_allclose(alone, model.joint_log_likelihood(ASKED), rtol=1e-12)
    order = np.random.default_rng(0).permutation(len(ROWS)).tolist()
    TextClassifier(**COLUMNS, **parameters).fit(
        [ROWS[place] for place in order], [LABELS[place] for place in order]
    ).save(str(tmp_path / "n"))
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


@pytest.mark.parametrize("members", [None, "multinomial+logistic", "gaussian+logistic"])
def test_weights_that_do_not_match_the_columns_are_refused(members: str | None) -> None:
    parameters: Row = (
        {"classifier": "logistic"}
        if members is None
        else {"classifier": "average", "members": members}
    )
    model = TextClassifier(**COLUMNS, **parameters).fit(ROWS, LABELS).fitted
    arrays = dict(model.parameters.classifier_arrays)
    place = "weights" if members is None else "1_weights"
    for weights in (
        arrays[place][:-3],
        np.append(arrays[place], np.zeros(3, np.float32)),
        np.full_like(arrays[place], np.inf),
    ):
        object.__setattr__(model.parameters, "classifier_arrays", {**arrays, place: weights})
        with pytest.raises(ModelError, match="its weights"):
            restore_classifier(model.statistics, model.parameters, model.settings)


def test_held_out_rows_are_not_in_the_model_that_scores_them() -> None:
    """Slow twin: a model trained on the others alone, whose means and standard deviations are those of the others."""
    model = logistic(calibration="auto", l2=1)
    posteriors = model.fitted.parameters.held_out_posteriors
    assert posteriors is not None
    analysed = TextClassifier(**{**model.get_params(), "calibration": "none"})
    documents = model.fitted.counts.sample.documents
    order = np.lexsort((documents.hashes, documents.classes))
    fitted, held_out = split_held_out(documents.take(order))
    values = documents.matrix.values
    assert values is not None
    by_values: dict[tuple[Any, ...], int] = {
        (row["visits"], row["age"], row["size"]): place for place, row in enumerate(ROWS)
    }
    places = [
        by_values[tuple(None if np.isnan(value) else value for value in values[row])]
        for row in order.tolist()
    ]
    analysed.fit([ROWS[places[row]] for row in fitted], [LABELS[places[row]] for row in fitted])
    training = model.fitted.classifier.training
    assert isinstance(model.fitted.classifier, LogisticRegression)
    of_documents = _with_documents(training, documents)
    unseen = score_held_out_sample(
        LogisticRegression.estimate(of_documents), of_documents, documents
    )
    wanted = analysed.joint_log_likelihood([ROWS[places[row]] for row in held_out])
    np.testing.assert_allclose(unseen.scores, wanted, atol=2e-3)
    assert unseen.truth.indices.tolist() == ["abc".index(LABELS[places[row]]) for row in held_out]


def _with_documents(training: Any, documents: Any) -> Any:
    from dataclasses import replace

    return replace(training, documents=documents)


def test_ensemble_scores_with_columns_are_weighted_sums_of_member_scores() -> None:
    average = TextClassifier(
        classifier="average", members="multinomial+logistic", l2=1, **COLUMNS
    ).fit(ROWS, LABELS)
    pool = average.fitted.classifier
    assert isinstance(pool, EnsembleClassifier)
    first = TextClassifier(calibration="none", **COLUMNS).fit(ROWS, LABELS)
    second = logistic(stemmer="snowball", stop_words="auto", l2=1)
    lengths = pool.joint_log_likelihood(
        average.fitted.count_texts([b"snow sea"], (), [("blue", "2", "", "5.0")])
    )[1]
    assert lengths.tolist() == [5]
    wanted = sum(
        weights[:, np.newaxis] * each.joint_log_likelihood(ASKED)
        for each, weights in zip(
            (first, second),
            pool.ensemble_weights.compute_member_weights(
                average.fitted.score(*_contents(ASKED)).lengths
            ).T,
            strict=True,
        )
    )
    np.testing.assert_allclose(average.joint_log_likelihood(ASKED), wanted, rtol=1e-6)


def _contents(rows: list[Row]) -> tuple[list[bytes], tuple[()], list[tuple[str, ...]]]:
    names = ("colour", "visits", "age", "size")
    return (
        [row.get("text", "").encode() for row in rows],
        (),
        [tuple("" if row.get(n) is None else str(row[n]) for n in names) for row in rows],
    )


@pytest.mark.parametrize("members", [None, "multinomial+bernoulli", "multinomial:log+logistic"])
def test_explanations_with_columns_add_up(members: str | None) -> None:
    parameters: Row = (
        {"classifier": "logistic"}
        if members is None
        else {"classifier": "average", "members": members}
    )
    model = TextClassifier(**COLUMNS, **parameters).fit(ROWS, LABELS)
    scores = model.joint_log_likelihood(ASKED[:5])
    for row, nats in zip(ASKED[:5], scores, strict=True):
        explanation = model.explain([row])[0].explanation
        assert explanation is not None
        assert explanation.remainder is None
        answer, rival = (
            model.classes.index(label) for label in (explanation.label, explanation.against)
        )
        assert explanation.log_odds == pytest.approx(float(nats[answer] - nats[rival]), abs=1e-9)
        assert [each.name for each in explanation.attributes] == [
            name for name in ("colour", "visits", "age", "size") if row[name] is not None
        ]


def test_inspect_shows_the_weights_of_columns() -> None:
    model = logistic()
    shown, matrix = (
        build_overview(model, 0).attributes,
        model.joint_log_likelihood([{}, {"colour": "red"}]),
    )
    weights = [shown["colour"].classes[label]["weight"]["red"] for label in model.classes]  # type: ignore[index] # of categories
    assert weights == pytest.approx((matrix[1] - matrix[0]).tolist())
    oldest, youngest = (shown["age"].classes[label]["weight"] for label in "ac")
    assert isinstance(oldest, float)
    assert isinstance(youngest, float)
    assert oldest > 0 > youngest


def test_settings_without_column_support_are_refused_before_reading() -> None:
    refused: list[Row] = [
        {"classifier": "average", "members": "complement+logistic"},
        {"classifier": "complement"},
    ]
    for parameters in refused:
        with pytest.raises(UsageError, match="those of columns cannot be added"):
            TextClassifier(**COLUMNS, **parameters).fit(ROWS, LABELS)
    with pytest.raises(UsageError, match="cannot be used with"):
        logistic(labels=[["a", "b"], *([label] for label in LABELS[1:])])  # type: ignore[list-item] # several labels


def test_mixture_weights_members_by_evidence_of_texts_and_columns() -> None:
    members = {
        smoothing: TextClassifier(smoothing=smoothing, **COLUMNS)
        .fit(ROWS, LABELS)
        .fitted.classifier
        for smoothing in (0.5, 2.0)
    }
    evidences = [
        sum(
            float(part.evidence.sum())
            for part in compute_component_fits(each)
            if part.evidence is not None
        )
        for each in members.values()
    ]
    mixture = TextClassifier(
        classifier="average", members="evidence:multinomial:0.5+multinomial:2", **COLUMNS
    ).fit(ROWS, LABELS)
    pool = mixture.fitted.classifier
    assert isinstance(pool, EnsembleClassifier)
    assert np.log(
        pool.ensemble_weights.scales[0] / pool.ensemble_weights.scales[1]
    ) == pytest.approx(evidences[0] - evidences[1])
    rows: list[Row] = [
        {"age": age} for age in (1, 1, 2, 3)
    ]  # no likelihood of a class without spread, but an evidence
    model = TextClassifier(
        classifier="average",
        members="evidence:multinomial:1+multinomial:2",
        numeric="age",
        count="visits",
    )
    assert model.fit(rows, list("aabb")).predict([{"age": 1}]).tolist() == ["a"]


def test_numeric_columns_without_text_match_scikit_learn_on_the_command_line(
    tmp_path: Path,
) -> None:
    x = np.array([[1, 2], [2, 3], [3, 3], [2, 1], [6, 5], [7, 8], [8, 6], [7, 6], [9, 9]], float)
    write(
        "g.csv",
        "class,x,y\n"
        + "".join(f"{label},{a:g},{b:g}\n" for label, (a, b) in zip("aaaabbbbb", x, strict=True)),
    )
    write("ask.csv", "x,y\n4.5,4\n")
    succeed(
        "train g.csv --label-column class --numeric x,y --classifier logistic --calibration none --model m"
    )
    scaler = StandardScaler().fit(x)
    oracle = Oracle(C=2, tol=1e-10).fit(
        scaler.transform(x), list("aaaabbbbb")
    )  # with two classes two weights share the penalty: l2 is 2 / C
    found = json.loads(nbtext("classify ask.csv --model m --output jsonl").out)["probability"]
    assert found == pytest.approx(
        oracle.predict_proba(scaler.transform([[4.5, 4]])).max(), abs=1e-4
    )
    fail(2, "update g.csv --model m")
