"""Figures of sets of labels: scikit-learn on random sets, by hand what it leaves undefined, and the commands that print them."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics as reference

from nbtext import TextClassifier
from nbtext.evaluation.comparison import _Comparison, _count_prediction_cells, bootstrap_differences
from nbtext.metrics.evaluation import Evaluation, make_evaluation
from nbtext.metrics.intervals import Bootstrap
from nbtext.metrics.outcomes import ConfusionCells
from nbtext.metrics.ranking import compute_label_ranking_metrics
from nbtext.metrics.results import to_json_values
from nbtext.prediction.labels import DocumentLabels, LabelTable, make_label_set
from nbtext.prediction.posterior import LabelPosterior
from nbtext.settings import TUNING_METRICS
from tests import test_classifiers_multi_label as made
from tests.process import content, fail, in_json, nbtext, succeed
from tests.profiles import examples

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.prediction.labels import Label
    from nbtext.type_names import Floats, Mask

CLASSES = ["a", "b", "c", "d", "e", "f"]
PLAIN = Bootstrap(0)


def texts(truth: Mask, names: list[str] = CLASSES) -> list[Label]:
    return [
        make_label_set(name for name, is_true in zip(names, row, strict=True) if is_true)
        for row in truth.tolist()
    ]


def add_in_blocks(
    evaluation: Evaluation, truth: Mask, answers: Mask, probabilities: Floats, block: int = 100
) -> Evaluation:
    for begin in range(0, len(truth), block):
        rows = slice(begin, begin + block)
        evaluation.add(
            texts(truth[rows]),
            LabelPosterior(np.log(probabilities[rows])),
            DocumentLabels.from_mask(answers[rows]),
        )
    return evaluation


def evaluated(truth: Mask, answers: Mask, probabilities: Floats, block: int = 100) -> Evaluation:
    return add_in_blocks(Evaluation(CLASSES, LabelPosterior), truth, answers, probabilities, block)


def random_sets(seed: int, n: int) -> tuple[Mask, Mask, Floats]:
    generator = np.random.default_rng(seed)
    probabilities = generator.uniform(0.01, 0.99, (n, len(CLASSES)))
    return (
        generator.random(probabilities.shape) < 0.3,
        generator.random(probabilities.shape) < 0.4,
        probabilities,
    )


@given(st.integers(0, 2**32), st.integers(2, 30))
@examples(60)
def test_multi_label_metrics_match_scikit_learn(seed: int, n: int) -> None:
    truth, answers, p = random_sets(seed, n)
    assume(truth.any() and answers.any())  # else recall or precision is not defined
    result = evaluated(truth, answers, p).result(PLAIN)
    occurs = (truth | answers).any(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label that no document has
        expected = {
            "accuracy": reference.accuracy_score(truth, answers),
            "micro_f1": reference.f1_score(truth, answers, average="micro", zero_division=0),
            "micro_precision": reference.precision_score(
                truth, answers, average="micro", zero_division=0
            ),
            "micro_recall": reference.recall_score(
                truth, answers, average="micro", zero_division=0
            ),
            "macro_f1": reference.f1_score(
                truth[:, occurs], answers[:, occurs], average="macro", zero_division=0
            ),
            "document_f1": reference.f1_score(truth, answers, average="samples", zero_division=1),
            "ndcg_at_5": reference.ndcg_score(truth, p, k=5),
            "lrap": reference.label_ranking_average_precision_score(truth, p),
            "brier": ((p - truth) ** 2).sum() / n,
            "log_loss": sum(
                reference.log_loss(truth[:, k], p[:, k], labels=[False, True])
                for k in range(len(CLASSES))
            ),
            "precision_at_1": reference.precision_score(
                truth, p == p.max(axis=1, keepdims=True), average="samples", zero_division=0
            ),
            "labels_per_document": truth.sum() / n,
            "labels_per_answer": answers.sum() / n,
            "answered": answers.any(axis=1).mean(),
        }
        each = reference.precision_recall_fscore_support(truth, answers, zero_division=0)
    assert {name: result.get_metric(name) for name in expected} == pytest.approx(expected)
    assert result.get_metric("subset_accuracy") == result.accuracy
    for k, found in enumerate(result.per_class.values()):
        assert (found.precision, found.recall, found.f1, found.support) == pytest.approx(
            tuple(column[k] for column in each)
        )
        if 0 < truth[:, k].sum() < n:
            assert found.roc_auc == pytest.approx(reference.roc_auc_score(truth[:, k], p[:, k]))


def test_merged_evaluations_with_different_set_numbering_equal_one() -> None:
    truth, answers, p = random_sets(6, 40)
    whole = evaluated(truth, answers, p).summary(Bootstrap(20))
    first, second = (
        evaluated(truth[rows], answers[rows], p[rows]) for rows in (slice(15), slice(15, None))
    )
    first.merge(second)
    assert first.summary(Bootstrap(20)) == whole


def test_documents_are_counted_by_true_and_predicted_label_sets() -> None:
    truth = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]], np.bool_)
    answers = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1], [0, 0, 1]], np.bool_)
    evaluation = Evaluation(["a", "b", "c"], LabelPosterior)
    posterior = LabelPosterior(np.log(np.full((5, 3), 0.5)))
    evaluation.add(texts(truth, ["a", "b", "c"]), posterior, DocumentLabels.from_mask(answers))
    result = evaluation.result(PLAIN)
    assert result.confusion == {"a|b": {"a": 2}, "": {"": 1}, "c": {"b|c": 1, "c": 1}}
    assert result.mistakes == [("a|b", "a", 2), ("c", "b|c", 1)]
    assert result.kind == "label"


def test_comparison_does_not_depend_on_blocks() -> None:
    truth, a, p = random_sets(5, 40)
    b = np.roll(a, 1, axis=0)
    sides = [(evaluated(truth, a, p, block), evaluated(truth, b, p, block)) for block in (40, 7)]
    whole, in_blocks = (
        to_json_values(_Comparison(of_a, of_b).result(Bootstrap(20))) for of_a, of_b in sides
    )
    assert whole == in_blocks
    assert whole["disagreements"] == (a != b).any(axis=1).sum() > 0


@given(st.integers(0, 2**32))
@examples(20)
def test_metrics_do_not_depend_on_blocks_and_match_single_label_errors(
    seed: int,
) -> None:
    truth, answers, p = random_sets(seed, 12)
    whole = to_json_values(evaluated(truth, answers, p).result(Bootstrap(20)))
    assert to_json_values(evaluated(truth, answers, p, 5).result(Bootstrap(20))) == whole
    assert {"matthews", "top_2_accuracy", "mean_cost"}.isdisjoint(whole)
    assert all(low <= whole[name] <= high for name, (low, high) in whole["intervals"].items())
    assert {
        "micro_f1",
        "macro_f1",
        "document_f1",
        "precision_at_3",
        "ndcg_at_5",
        "lrap",
        "brier",
        "ece",
        "accuracy",
    } <= whole["intervals"].keys()


def test_unknown_labels_of_test_documents_count_as_missed() -> None:
    evaluation = Evaluation(["a", "b"], LabelPosterior, label_proportions=np.array([0.5, 0.25]))
    posterior = LabelPosterior(np.log(np.array([[0.9, 0.2], [0.6, 0.1], [0.2, 0.1]])))
    answers = DocumentLabels.from_mask(np.array([[True, False], [True, False], [False, False]]))
    first, others = np.array([0]), np.array([1, 2])
    evaluation.add([make_label_set(["a"])], posterior[first], answers[first])
    evaluation.add(
        [make_label_set(["a", "z"]), make_label_set([])], posterior[others], answers[others]
    )
    result = evaluation.result(PLAIN)
    assert (result.unknown_labels, result.unknown_documents) == (("z",), {"z": 1})
    assert result.accuracy == pytest.approx(2 / 3)
    assert result.micro_f1 == pytest.approx(4 / 5)
    assert result.macro_f1 == pytest.approx((1 + 0) / 2)
    assert result.get_metric("lrap") == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert result.log_loss is None
    assert result.known.n == 2
    assert result.known.log_loss == pytest.approx(-np.log([0.9 * 0.8, 0.8 * 0.9]).mean())
    assert result.baselines is not None
    largest = result.baselines.largest_class
    assert largest.label == "a"
    assert (largest.accuracy, largest.macro_f1) == pytest.approx((1 / 3, (4 / 5 + 0) / 2))


def test_label_proportions_as_probabilities_are_the_baseline() -> None:
    truth, answers, p = random_sets(1, 9)
    evaluation = add_in_blocks(
        Evaluation(CLASSES, LabelPosterior, label_proportions=np.full(6, 0.25)), truth, answers, p
    )
    found = evaluation.result(PLAIN).baselines
    assert found is not None
    assert found.class_prior.brier == pytest.approx(((0.25 - truth) ** 2).sum() / 9)
    assert found.class_prior.log_loss == pytest.approx(
        -np.log(np.where(truth, 0.25, 0.75)).sum() / 9
    )


@pytest.mark.parametrize(
    ("shares", "largest"),
    [([0.1, 0.2, 0.4, 0.1, 0.3, 0.1], 2), ([0.1, 0.4, 0.2, 0.1, 0.4, 0.0], 1)],
)
def test_first_of_the_most_frequent_labels_is_the_baseline(
    shares: list[float], largest: int
) -> None:
    truth, answers, p = random_sets(3, 40)
    found = (
        add_in_blocks(
            Evaluation(CLASSES, LabelPosterior, label_proportions=np.array(shares)),
            truth,
            answers,
            p,
        )
        .result(PLAIN)
        .baselines
    )
    always = np.zeros_like(truth)
    always[:, largest] = True
    assert found is not None
    assert found.largest_class.label == CLASSES[largest]
    assert found.largest_class.accuracy == pytest.approx(reference.accuracy_score(truth, always))
    assert found.largest_class.macro_f1 == pytest.approx(
        reference.f1_score(truth, always, average="macro", zero_division=0)
    )


def test_document_without_labels_has_ranking_metrics_zero_and_lrap_one() -> None:
    assert compute_label_ranking_metrics(
        np.zeros((1, 3), np.bool_), np.log([[0.5, 0.2, 0.1]])
    ).tolist() == [[0, 0, 0, 0, 1]]


def test_slice_equals_an_evaluation_of_its_documents() -> None:
    truth, answers, p = random_sets(2, 15)
    evaluation = Evaluation(CLASSES, LabelPosterior, group_columns=["part"])
    columns = [["x" if row % 3 else "y"] for row in range(15)]
    evaluation.add(
        texts(truth), LabelPosterior(np.log(p)), DocumentLabels.from_mask(answers), columns
    )
    slices = evaluation.result(PLAIN).slices
    assert slices is not None
    for name, rows in (("x", np.arange(15) % 3 > 0), ("y", np.arange(15) % 3 == 0)):
        alone = evaluated(truth[rows], answers[rows], p[rows]).result(PLAIN)
        found = slices["part"][name]
        assert (found.n, found.accuracy, found.ece) == pytest.approx(
            (alone.n, alone.accuracy, alone.ece)
        )


@given(st.integers(0, 2**32), st.integers(1, 40))
@examples(20)
def test_cells_count_true_and_predicted_labels_of_each_document(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    sets = [(), (0,), (2,), (0, 1), (1, 3), (0, 1, 2)]
    table = LabelTable.from_sets(sets, 5)
    truth, answer = generator.integers(0, 6, n), generator.integers(-1, 6, n)
    has, got = DocumentLabels(truth, table).to_mask(5), DocumentLabels(answer, table).to_mask(5)
    assert [tuple(np.flatnonzero(row).tolist()) for row in has] == [
        sets[number] for number in truth.tolist()
    ]
    cells = ConfusionCells.from_documents(truth, answer, table)
    drawn = generator.integers(0, 4, (3, cells.documents.size))
    place = {
        pair: cell
        for cell, pair in enumerate(
            zip(cells.truth.tolist(), cells.predicted.tolist(), strict=True)
        )
    }
    owner = [place[pair] for pair in zip(truth.tolist(), answer.tolist(), strict=True)]
    weights = drawn[:, owner] / cells.documents[owner]
    is_right, is_answered = truth == answer, got.any(axis=1)
    sizes = has.sum(axis=1) + got.sum(axis=1)
    f1 = np.where(sizes > 0, 2 * (has & got).sum(axis=1) / np.maximum(sizes, 1), 1)
    for counts, of_documents in ((None, np.ones(n)), (drawn, weights)):
        found = cells.sum_margins(5, counts)
        assert found.hits == pytest.approx(of_documents @ (has & got))
        assert found.support == pytest.approx(of_documents @ has)
        assert found.predicted == pytest.approx(of_documents @ got)
        assert found.documents == pytest.approx(of_documents.sum(axis=-1))
        assert found.correct == pytest.approx(of_documents @ is_right)
        assert found.predicted_documents == pytest.approx(of_documents @ is_answered)
        assert found.correct_predicted == pytest.approx(of_documents @ (is_right & is_answered))
        assert found.document_f1_sum == pytest.approx(of_documents @ f1)
    in_order = cells.sort_by_labels(table)
    of_truth, of_answer = (
        DocumentLabels(sets_of_cells, table).to_mask(5).tolist()
        for sets_of_cells in (in_order.truth, in_order.predicted)
    )
    rows = list(zip(of_truth, (in_order.predicted >= 0).tolist(), of_answer, strict=True))
    assert rows == sorted(rows)
    before, after = (
        zip(each.truth.tolist(), each.predicted.tolist(), each.documents.tolist(), strict=True)
        for each in (cells, in_order)
    )
    assert sorted(after) == list(before)
    present, n_present = cells.renumber_present_labels()
    occurs = (has | got).any(axis=0)
    assert n_present == occurs.sum()
    renumbered, whole = present.sum_margins(n_present), cells.sum_margins(5)
    for name in ("hits", "support", "predicted"):
        assert getattr(renumbered, name) == pytest.approx(getattr(whole, name)[occurs])


def test_evaluation_kind_follows_from_the_counts() -> None:
    counts = made.trained().counts
    for statistics in (counts.table, counts.labelled_statistics):
        evaluation = make_evaluation(statistics)
        assert evaluation.posterior_type is LabelPosterior
        assert evaluation.classes == sorted(made.LABELS)


@pytest.fixture(scope="module")
def corpus(labels_model: Path) -> Path:
    path = labels_model.parent / "corpus.jsonl"
    path.write_text(
        "".join(
            json.dumps({"text": text, "label": each}) + "\n"
            for text, each in zip(made.TEXTS, made.SETS, strict=True)
        ),
        "utf-8",
    )
    return path


@pytest.fixture(scope="module")
def judged(corpus: Path) -> Path:
    """A corpus with a label that the model does not know."""
    path = corpus.parent / "judged.jsonl"
    path.write_text(
        corpus.read_text("utf-8")
        + json.dumps({"text": "corn1 corn2 corn0", "label": ["corn", "maize"]}),
        "utf-8",
    )
    return path


def test_evaluate_prints_metrics_by_label_and_by_document(labels_model: Path, judged: Path) -> None:
    done = nbtext("evaluate --output json", judged, "-m", labels_model)
    found = json.loads(done.out)
    rows = [
        set(row[1].split("|")) - {""}
        for row in succeed("classify", judged, "-m", labels_model).rows
    ]
    truth = [*map(set, made.SETS), {"corn", "maize"}]
    hits = sum(len(one & other) for one, other in zip(rows, truth, strict=True))
    assert found["micro_f1"] == pytest.approx(2 * hits / sum(map(len, [*rows, *truth])))
    assert (
        found["accuracy"]
        == found["subset_accuracy"]
        == pytest.approx(sum(map(set.__eq__, rows, truth)) / 61)
    )
    assert found["unknown_labels"] == ["maize"]
    assert "maize (1 document, counted as mistakes)" in done.err.decode()
    assert sum(sum(row.values()) for row in found["confusion"].values()) == found["n"]
    table = nbtext("evaluate --all", judged, "-m", labels_model).text
    assert f"micro F1           {found['micro_f1']:.4f}" in table
    assert "precision at 3" in table


def test_gates_accept_multi_label_metrics(labels_model: Path, judged: Path) -> None:
    done = nbtext(
        "evaluate --fail-under document_f1=1 --fail-under lrap=0.5", judged, "-m", labels_model
    )
    assert (done.status, [note for note in done.notes if "gate" in note]) == (
        6,
        ["nbtext: gate not met: document_f1 is 0.994536, under 1"],
    )


@pytest.mark.usefixtures("tmp_path")
def test_cross_validation_evaluates_folds_by_models_of_the_others(corpus: Path) -> None:
    found = in_json(
        "cross-validate --folds 3 --smoothing 0.3 --stemmer none --predictions answers.jsonl",
        corpus,
    )
    answers = {
        line["id"]: line for line in map(json.loads, content("answers.jsonl").decode().splitlines())
    }
    rows = [answers[f"{corpus}:{number}"] for number in range(1, 61)]
    assert [set(row["truth"]) for row in rows] == list(map(set, made.SETS))
    hits = sum(len(set(row["truth"]) & set(row["answer"])) for row in rows)
    assert found["micro_f1"] == pytest.approx(
        2 * hits / sum(len(row["truth"]) + len(row["answer"]) for row in rows)
    )
    assert found["accuracy"] == pytest.approx(
        sum(set(row["truth"]) == set(row["answer"]) for row in rows) / 60
    )
    assert found["folds"]["accuracy"]["mean"] == pytest.approx(
        np.mean([fold["accuracy"] for fold in found["folds"]["each"]])
    )


def test_document_with_a_unique_label_is_not_among_the_known(judged: Path) -> None:
    found = json.loads(
        nbtext("cross-validate --leave-one-out --output json --calibration none", judged).out
    )
    assert (found["n"], found["known"]["n"]) == (61, 60)
    assert found["log_loss"] is None
    assert found["known"]["log_loss"] > 0


def test_leave_one_out_equals_models_trained_without_the_document(corpus: Path) -> None:
    found = in_json(
        "cross-validate --leave-one-out --calibration none --smoothing 0.3 --stemmer none", corpus
    )
    losses = []
    for left in range(60):
        others = [row for row in range(60) if row != left]
        model = made.trained(
            [made.TEXTS[row] for row in others],
            [made.SETS[row] for row in others],
            calibration="none",
        )
        p = model.predict_log_proba([made.TEXTS[left]])[0]
        is_true = np.isin(model.classes, made.SETS[left])
        losses.append(-np.where(is_true, p, np.log(-np.expm1(p))).sum())
    assert found["log_loss"] == pytest.approx(np.mean(losses), rel=1e-6)


def test_tune_compares_settings_and_corrects_the_chosen_metric(corpus: Path) -> None:
    for goal in TUNING_METRICS:
        found = in_json("tune --folds 3 --try smoothing=0.3,30 --metric", goal, corpus)
        [best] = [trial for trial in found["settings"] if trial["setting"] == {"smoothing": "0.3"}]
        [other] = [trial for trial in found["settings"] if trial["setting"] == {"smoothing": "30"}]
        assert best["rank"] < other["rank"]
        same = in_json("cross-validate --folds 3 --smoothing 30", corpus)
        assert all(
            other[figure] == same[figure]
            for figure in {"accuracy", "macro_f1", TUNING_METRICS[goal]} - {"log_loss"}
        )
        assert found["corrected"] == pytest.approx(found["chosen"][TUNING_METRICS[goal]], abs=0.3)


def test_learning_curve_rises_with_more_documents(corpus: Path) -> None:
    found = in_json(
        "learning-curve --steps 2 --folds 2 --repeats 1 --smoothing 0.3 --stemmer none", corpus
    )
    small, large = found["points"]
    assert small["documents"] < large["documents"]
    assert small["accuracy"] < large["accuracy"]


@pytest.mark.usefixtures("tmp_path")
def test_compare_compares_models_by_sets_and_by_labels(labels_model: Path, corpus: Path) -> None:
    made.trained(smoothing=50, classifier="bernoulli").save("other.joblib")
    found = in_json("compare --disagreements changed.jsonl", labels_model, "other.joblib", corpus)
    rows = {
        side: [set(row[1].split("|")) - {""} for row in succeed("classify -m", path, corpus).rows]
        for side, path in (("a", labels_model), ("b", "other.joblib"))
    }
    for side, answers in rows.items():
        right = [set(labels) == answer for labels, answer in zip(made.SETS, answers, strict=True)]
        assert found[side]["accuracy"] == pytest.approx(np.mean(right))
    assert (
        found["disagreements"]
        == sum(one != other for one, other in zip(rows["a"], rows["b"], strict=True))
        > 0
    )
    assert found["differences"]["macro_f1"]["difference"] == pytest.approx(
        found["b"]["macro_f1"] - found["a"]["macro_f1"]
    )
    assert found["table"]["both_right"] + found["table"]["only_a_right"] == round(
        found["a"]["accuracy"] * 60
    )
    changed = [json.loads(line) for line in content("changed.jsonl").decode().splitlines()]
    assert (
        len(changed)
        == found["disagreements"]
        == sum(change["documents"] for change in found["changes"])
    )
    for line in changed:
        row = int(line["id"].rsplit(":", 1)[1]) - 1
        assert line["truth"] == "|".join(made.SETS[row])
        assert [set((line[side] or "").split("|")) - {""} for side in "ab"] == [
            rows[side][row] for side in "ab"
        ]
    low, high = found["differences"]["macro_f1"]["interval"]
    assert low <= found["differences"]["macro_f1"]["difference"] <= high
    TextClassifier().fit(["a", "b"], ["x", "y"]).save("single.joblib")
    assert "one model gives one label, the other several" in fail(
        2, "compare single.joblib", labels_model, corpus
    )


def test_bootstrapped_macro_f1_of_cells_matches_resampled_documents() -> None:
    generator = np.random.default_rng(3)
    table = LabelTable.from_sets([(), (0,), (1,), (0, 1)], 2)
    sets = DocumentLabels(np.arange(4), table).to_mask(2)
    truth, a, b = generator.integers(4, size=(3, 150))
    made_of_cells = bootstrap_differences(
        _count_prediction_cells(truth, a, b, 4), Bootstrap(2000), table
    )
    slow = []
    for _ in range(200):
        rows = generator.integers(150, size=150)
        of_a, of_b = (
            reference.f1_score(sets[truth[rows]], sets[answers[rows]], average="macro")
            for answers in (a, b)
        )
        slow.append(of_b - of_a)
    assert made_of_cells["macro_f1"].mean() == pytest.approx(np.mean(slow), abs=0.02)
    assert made_of_cells["macro_f1"].std() == pytest.approx(np.std(slow), rel=0.2)


@pytest.mark.usefixtures("tmp_path")
def test_multi_label_report_has_no_confusion_matrix_or_mistakes(
    labels_model: Path, corpus: Path
) -> None:
    nbtext("report --to page.html -m", labels_model, corpus)
    page = content("page.html").decode()
    assert "Label by label" in page
    assert "What is taken for what" not in page
    assert "Most confident mistakes" not in page
    assert "no mistake" not in page
    assert "--errors" in fail(2, "evaluate --errors errors.jsonl -m", labels_model, corpus)
