"""Documents and classes that weigh: a document of weight 2 is two documents, and weights by class are weights by hand.

Also tests `model/python_input.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext import TextClassifier
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.count_table import LOG_UNITS, CountTable, round_logs
from nbtext.counts.counting import count_labelled_documents
from nbtext.counts.documents import CountedDocuments
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.statistics import (
    SeedTerm,
    build_count_weights,
    compute_balancing_factors,
    estimate_statistics,
)
from nbtext.counts.vocabulary import Vocabulary
from nbtext.counts.weighting import weigh_cells
from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import evaluate_leave_one_out
from nbtext.model.description import describe_model, list_warnings
from nbtext.model.python_input import iter_labelled_documents
from nbtext.model.state import encode_model
from nbtext.model.training import compute_held_out_posteriors, resolve_smoothing_terms
from nbtext.settings import Settings
from tests.models import split_labelled
from tests.process import in_json, nbtext, succeed, write
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.settings import ClassifierName

PLAIN: dict[str, Any] = {"stop_words": "none", "stemmer": "none", "calibration": "none"}
WORDS = ("ant", "bee", "cat", "dog", "eel", "fox")
ASKED = ["ant bee", "cat cat fox", "dog", "unknown eel", ""]
TAKING = ("multinomial", "bernoulli", "complement", "logistic")

documents = st.lists(
    st.tuples(
        st.sampled_from("xyz"),
        st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join),
        st.integers(0, 3),
    ),
    min_size=6,
    max_size=16,
).filter(
    lambda rows: (
        len({label for label, _, weight in rows if weight}) > 1
        and any(text for _, text, weight in rows if weight)
    )
)


def draw_documents(seed: int, n: int = 60) -> tuple[list[str], list[str], list[float]]:
    draw = np.random.default_rng(seed)
    labels = [str(label) for label in draw.choice(["x", "y", "z"], n, p=[0.6, 0.3, 0.1])]
    texts = [
        " ".join(np.roll(WORDS, "xyz".index(label))[draw.zipf(1.7, 8) % len(WORDS)].tolist())
        for label in labels
    ]
    return texts, labels, (draw.integers(1, 4000, n) / 1000).tolist()


def content(model: TextClassifier) -> tuple[Any, dict[str, list[float]]]:
    plain, arrays = encode_model(model.fitted)
    return plain, {name: array.tolist() for name, array in arrays.items() if array.size}


POOL = {"classifier": "average", "members": "multinomial+bernoulli", "keep_documents": 0}
"""Without a sample the weights of the members are equal."""


@pytest.mark.parametrize(
    "options",
    [{}, {"classifier": "bernoulli"}, {"classifier": "complement"}, {"weighting": "log"}, POOL],
    ids=str,
)
@given(documents)
@examples(15)
def test_weight_two_equals_two_documents_and_weight_zero_none(
    options: dict[str, Any], rows: list[tuple[str, str, int]]
) -> None:
    labels, texts, weights = zip(*rows, strict=True)
    weighted = TextClassifier(**options, **PLAIN).fit(texts, labels, weights)
    repeated = [(label, text) for label, text, weight in rows for _ in range(weight)]
    several = TextClassifier(**options, **PLAIN).fit(*split_labelled(repeated))
    assert weighted.fitted.statistics == several.fitted.statistics
    assert weighted.fitted.parameters.smoothing == several.fitted.parameters.smoothing
    np.testing.assert_allclose(
        weighted.joint_log_likelihood(ASKED), several.joint_log_likelihood(ASKED), rtol=1e-12
    )


@pytest.mark.parametrize(
    "options", [{"classifier": "logistic"}, {**POOL, "members": "multinomial+logistic"}], ids=str
)
@pytest.mark.parametrize("l2", [0.1, 3.0])
def test_logistic_regression_multiplies_losses_by_weights(
    options: dict[str, Any], l2: float
) -> None:
    texts, labels, _ = draw_documents(1)
    weights = [1, 2, 3] * 20
    weighted = TextClassifier(**options, l2=l2, **PLAIN).fit(texts, labels, weights)
    repeated = [index for index, weight in enumerate(weights) for _ in range(weight)]
    several = TextClassifier(**options, l2=l2, **PLAIN).fit(
        [texts[i] for i in repeated], [labels[i] for i in repeated]
    )
    assert weighted.predict(ASKED).tolist() == several.predict(ASKED).tolist()
    if "members" not in options:  # the weights of members are fitted by folds
        np.testing.assert_allclose(
            weighted.predict_proba(ASKED), several.predict_proba(ASKED), atol=1e-3
        )


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 7.5])
def test_weighted_scores_match_scikit_learn(alpha: float) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

    texts, labels, weights = draw_documents(2)
    vectorizer = CountVectorizer().fit(texts)
    x, asked = vectorizer.transform(texts), vectorizer.transform(ASKED)
    kinds: dict[ClassifierName, Any] = {
        "multinomial": MultinomialNB(alpha=alpha),
        "bernoulli": BernoulliNB(alpha=alpha),
        "complement": ComplementNB(alpha=alpha),
    }
    for classifier, other in kinds.items():
        ours = TextClassifier(classifier=classifier, smoothing=alpha, **PLAIN).fit(
            texts, labels, weights
        )
        theirs = other.fit(x, labels, weights).predict_log_proba(asked)
        np.testing.assert_allclose(
            ours.predict_log_proba(ASKED), theirs, rtol=1e-9, err_msg=classifier
        )


@pytest.mark.parametrize("classifier", TAKING)
def test_balanced_class_weights_match_hand_computation(classifier: str) -> None:
    texts, labels, _ = draw_documents(3)
    numbers = {label: labels.count(label) for label in set(labels)}
    by_hand = [round(len(labels) / (len(numbers) * numbers[label]), 3) for label in labels]
    options = {"classifier": classifier, **PLAIN, "calibration": "auto"}
    balanced = TextClassifier(class_weight="balanced", **options).fit(texts, labels)
    weighted = TextClassifier(**options).fit(texts, labels, by_hand)
    np.testing.assert_allclose(
        balanced.predict_proba(ASKED), weighted.predict_proba(ASKED), rtol=1e-9
    )
    assert balanced.fitted.classifier.prior == pytest.approx(np.full(3, 1 / 3), abs=1e-3)
    assert any(
        "drawn equally from all classes" in warning for warning in list_warnings(balanced.fitted)
    )
    assert describe_model(balanced.fitted).startswith("3 classes, 60 documents")


@given(documents, documents)
@examples(10)
def test_weighted_documents_are_added_removed_and_merged_exactly(
    first: list[tuple[str, str, int]], more: list[tuple[str, str, int]]
) -> None:
    def columns(rows: list[tuple[str, str, int]]) -> tuple[list[str], list[str], list[float]]:
        return (
            [text for _, text, _ in rows],
            [label for label, _, _ in rows],
            [weight * 0.501 for _, _, weight in rows],
        )

    for class_weight in (None, "balanced"):
        options = {**PLAIN, "calibration": "auto", "class_weight": class_weight}
        begun, whole = (
            TextClassifier(**options).fit(*columns(rows)) for rows in (first, first[::-1] + more)
        )
        updated = TextClassifier(**options).fit(*columns(first)).partial_fit(*columns(more))
        assert content(updated) == content(whole)
        assert content(updated.forget(*columns(more))) == content(begun)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighting": "log"},
        {"keep_documents": 20},
        {"keep_documents": 0},
        {"class_weight": "balanced"},
    ],
    ids=str,
)
def test_forgotten_weighted_documents_leave_nothing(options: dict[str, Any]) -> None:
    options = {
        **PLAIN,
        **({"calibration": "auto"} if options.get("keep_documents") else {}),
        **options,
    }
    texts, labels, _ = draw_documents(8)
    late = ["ant ant", "a text with new words", "fox eel dog"], ["x", "new", "z"], [2.5, 0.001, 2]
    model, before = (TextClassifier(**options).fit(texts, labels) for _ in range(2))
    model.partial_fit(*late)
    assert model.counts.table.unit != 1
    kept = model.forget(*late).counts.sample.documents
    assert content(model)[0]["sample_bound"] == model.counts.sample.bound
    assert (model.counts.table, kept.weights) == (before.counts.table, None)
    if (
        options.get("keep_documents") != 20
    ):  # one that left for a weighted document does not come back
        assert content(model) == content(before)


def test_document_is_forgotten_with_its_training_weight() -> None:
    model = TextClassifier(**PLAIN).fit(["ant", "bee", "ant cat"], ["x", "y", "x"], [2, 1, 0.5])
    with pytest.raises(UsageError, match="was never added as 'x'"):
        model.forget(["ant"], ["x"])
    model.forget(["ant"], ["x"], [2])
    assert model.fitted.statistics.n_documents == 1.5


def test_weights_of_one_do_not_change_the_file() -> None:
    texts, labels, _ = draw_documents(4)
    plain, weighted = (
        TextClassifier().fit(texts, labels, weights) for weights in (None, [1.0] * 60)
    )
    assert content(plain) == content(weighted)
    assert not {"layers", "sample_weights"} & {*content(plain)[0], *content(plain)[1]}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_weight": "balanced"},
        {"prior_shape": "background"},
        {"class_prior": "smoothed:0.5"},
    ],
)
def test_weighted_leave_one_out_equals_training_on_the_others(options: dict[str, Any]) -> None:
    texts, labels, weights = draw_documents(5, 20)
    settings = {"smoothing": 0.5, **PLAIN, **options}
    model = TextClassifier(**settings).fit(texts, labels, weights)
    counted = count_labelled_documents(
        iter_labelled_documents(texts, labels, model.reading, weights),
        model.analysis,
        keep_all=True,
    )
    found = evaluate_leave_one_out(
        counted.table, counted.documents, resolve_smoothing_terms(model.analysis)
    )
    log_loss = found.evaluation.documents.log_loss
    if options.get("class_weight"):
        assert np.isfinite(log_loss).all()  # the weights of classes stay those of all documents
        return
    for number in range(0, 20, 3):
        others = [n for n in range(20) if n != number]
        slow = TextClassifier(**settings).fit(
            [texts[n] for n in others], [labels[n] for n in others], [weights[n] for n in others]
        )
        wanted = slow.predict_log_proba([texts[number]])[0, slow.classes.index(labels[number])]
        assert -log_loss[number] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("word", ["ant", "a word that no document holds"])
def test_documents_held_out_by_folds_are_scored_with_the_seeds(word: str) -> None:
    """Folds of one document each, and classes of one size: the same as leaving each out of counts without weights."""
    texts = draw_documents(9, 10)[0]
    options = {**PLAIN, "calibration": "auto", "weighting": "log", "smoothing": 0.5, "ngrams": 6}
    found = []
    for class_weight in (None, "balanced"):
        model = TextClassifier(**options, class_weight=class_weight).begin_with(
            [SeedTerm("x", (word,), 30.0), SeedTerm("y", ("bee",), 20.0)]
        )
        model.fit(texts, ["x", "y"] * 5)
        found.append(compute_held_out_posteriors(model.fitted).log_posterior)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_log_sums_of_a_million_weighted_documents_are_accurate() -> None:
    """10⁶ documents of weight 2.5 that hold the only term 7 times, and 50 others of weight 1 with it once."""
    n, logs = np.array([2_500 * 10**6, 1_000 * 50]), round_logs(np.array([7, 1]))
    table = CountTable(
        Vocabulary.from_terms(["ant"]),
        ("x", "y"),
        n,
        np.array([0, 2]),
        np.array([0, 1]),
        n * np.array([7, 1]),
        n,
        logs * n,
        unit=1000,
    )
    found = estimate_statistics(
        table, build_count_weights(table, Settings(class_weight="balanced", weighting="log"))
    )
    factors = compute_balancing_factors(table).tolist()
    exact = [
        int(log) * int(size) * factor / (10**6 * LOG_UNITS)
        for log, size, factor in zip(logs, n, factors, strict=True)
    ]
    assert (
        max(
            int(log) * int(size) * factor
            for log, size, factor in zip(logs, n, factors, strict=True)
        )
        > 2**63
    )
    assert weigh_cells("log", found, np.ones(1, np.bool_), None).tolist() == pytest.approx(
        exact, rel=1e-15
    )
    matrix = DocumentTermMatrix(
        np.array([0, 1, 2]), np.array([0, 0]), np.array([7, 1]), np.zeros(2, np.int64)
    )
    documents = CountedDocuments(
        matrix, np.array([0, 1]), np.zeros(2, np.uint64), np.array([2_500, 1_000])
    )
    fold = estimate_statistics(
        Subsets(table, documents).exclude_documents(np.array([0, 1])), found.weights
    )
    rest = [exact[0] * (1 - 1e-6), exact[1] * (1 - 1 / 50)]
    assert weigh_cells("log", fold, np.ones(1, np.bool_), None).tolist() == pytest.approx(
        rest, rel=1e-12
    )


def test_log_sums_that_exceed_64_bits_are_refused(tmp_path: Path) -> None:
    texts = " ".join(f"word{number}" for number in range(40))
    model = TextClassifier(weighting="log", **PLAIN).fit([texts, "bee"], ["x", "y"], [1e6, 1])
    model.save("m")  # 40 sums of 693,000 nats in thousandths
    loaded = TextClassifier.load("m")
    assert np.array_equal(loaded.predict_proba(ASKED), model.predict_proba(ASKED))
    with pytest.raises(UsageError, match="sums of log weights are too large"):
        TextClassifier(weighting="log", **PLAIN).fit(
            ["ant"] * 13 + ["bee"], ["x"] * 13 + ["y"], [1e6] * 13 + [1]
        )


def test_calibration_uses_document_weights() -> None:
    texts, labels, _ = draw_documents(6, 90)
    rare = [3.0 if label == "z" else 1.0 for label in labels]
    plain, weighted = (
        TextClassifier().fit(texts, labels, weights).fitted.parameters for weights in (None, rare)
    )
    assert weighted.calibration.scale != plain.calibration.scale
    assert weighted.calibration_quality is not None
    assert (
        weighted.calibration_quality["after"]["log_loss"]
        <= weighted.calibration_quality["before"]["log_loss"]
    )


@pytest.mark.parametrize(
    "weights",
    [
        [-1, 1],
        ["heavy", 1],
        [float("nan"), 1],
        [True, "1.0005"],
        [2e6, 1],
        [1],
        [1, 1, 1],
        [True, None],
    ],
)
def test_invalid_weights_are_refused(weights: list[Any]) -> None:
    with pytest.raises(UsageError, match=r"texts\[0\]|texts\[1\]|weights than texts"):
        TextClassifier().fit(["ant", "bee"], ["x", "y"], weights)


TABLE = """label,text,weight
x,ant bee,2
x,ant cat,0.5
y,dog eel,1
y,dog dog,0
x,bee,1.2345
y,fox,many
y,fox eel,1.250
"""
COLUMNS = ("--label-column", "label", "--text-column", "text", "--weight-column", "weight")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    header, *rows = (line.split(",") for line in TABLE.splitlines())
    records = [dict(zip(header, row, strict=True)) for row in rows]
    for record in records:
        record["weight"] = float(record["weight"]) if record["weight"] != "many" else "many"  # type: ignore[assignment]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize("more", [(), ("--jobs", "2")])
def test_weights_are_read_from_a_column(desk: Path, name: str, more: tuple[str, ...]) -> None:
    result = nbtext("train", name, *COLUMNS, *more)
    assert result.status == 1
    problems = result.err.decode().splitlines()
    assert [line.split(": ")[1] for line in problems] == [
        f"{name}:{5 + name.endswith('v')}",
        f"{name}:{6 + name.endswith('v')}",
    ]
    assert all(
        "at 'weight' is not a number from 0 to 1,000,000 with at most three decimals" in line
        for line in problems
    )
    model = TextClassifier.load("nbtext.joblib")
    by_hand = TextClassifier().fit(
        ["ant bee", "ant cat", "dog eel", "fox eel"], ["x", "x", "y", "y"], [2, 0.5, 1, 1.25]
    )
    assert model.counts.table == by_hand.counts.table
    assert model.fitted.parameters.smoothing == by_hand.fitted.parameters.smoothing


def test_weight_column_is_stored_for_updates_and_ignored_in_evaluation(
    desk: Path,
) -> None:
    nbtext("train t.csv", *COLUMNS)
    write("more.csv", "label,text,weight\nx,bee bee,3\ny,eel,0.75\n")
    before = (desk / "nbtext.joblib").read_bytes()
    succeed("update more.csv --quiet")
    assert TextClassifier.load("nbtext.joblib").fitted.statistics.n_documents == 8.5
    succeed("forget more.csv --quiet")
    assert (desk / "nbtext.joblib").read_bytes() == before
    write("test.csv", "label,text\nx,ant\ny,eel\n")
    evaluation = in_json("evaluate test.csv")
    assert evaluation["n"] == 2
