"""`nbtext tune`: settings tried on a corpus, the best written as a model, as a process.

Also tests `report/comparisons.py` and `evaluation/tuning.py`.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nbtext import TextClassifier
from nbtext.evaluation.candidates import PORTFOLIO
from nbtext.evaluation.cross_validation import draw_stratified_folds
from tests.process import (
    ENVIRONMENT,
    SERVICE_DESK,
    TIME_LIMIT,
    at_terminal,
    bash,
    content,
    corpus,
    fail,
    in_json,
    nbtext,
    start,
    succeed,
    succeeded,
    wait_until,
    write,
)

DESK = SERVICE_DESK / "train"


def tune_json(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    said: dict[str, Any] = in_json("tune", DESK, *arguments, cwd=folder)
    return said


def settings_of(said: dict[str, Any]) -> list[dict[str, str]]:
    return [trial["setting"] for trial in said["settings"]]


def test_tune_tries_the_default_and_all_combinations_and_lists_the_best_first(
    tmp_path: Path,
) -> None:
    tries = ("--try", "smoothing=0.01,1,1", "--try", "ngrams=1,2", "--folds", "4")
    said = tune_json(tmp_path, *tries)
    assert (said["folds"], said["seed"], said["documents"], said["settings_in_all"]) == (
        4,
        0,
        222,
        5,
    )
    assert sorted(map(sorted, (setting.items() for setting in settings_of(said)))) == [
        [],
        *([("ngrams", n), ("smoothing", smoothing)] for n in "12" for smoothing in ("0.01", "1")),
    ]
    assert [trial["rank"] for trial in said["settings"]] == [1, 2, 3, 4, 5]
    accuracies = [trial["accuracy"] for trial in said["settings"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert len(set(accuracies)) > 1
    assert [trial for trial in said["settings"] if trial["chosen"]] == [said["chosen"]]
    assert said["chosen"]["setting"] == {}
    lines = succeed("tune", DESK, *tries).text.splitlines()
    rows = [line.split() for line in lines if line.split()[:1] and line.split()[0].isdigit()]
    assert [row[0] for row in rows if row[1] == "*"] == [str(said["chosen"]["rank"])]
    for row, trial in zip(rows, said["settings"], strict=True):
        figures = row[2:5] if row[1] == "*" else row[1:4]
        assert figures == [f"{trial[name]:.4f}" for name in ("accuracy", "macro_f1", "log_loss")]
    assert "No setting is significantly better than the default; the default is kept." in lines


def test_metrics_match_cross_validate_and_the_model_matches_train(
    tmp_path: Path,
) -> None:
    said = tune_json(
        tmp_path,
        "--try",
        "smoothing=0.02,auto",
        "--try",
        "ngrams=2,1",
        "--folds",
        "5",
        "--seed",
        "3",
        "--top",
        "400",
        "-m",
        "tuned",
    )
    assert len(said["settings"]) == 4
    for trial in said["settings"]:
        options = [f"--{name}={value}" for name, value in trial["setting"].items()]
        judged = in_json(
            "cross-validate", DESK, "--folds", "5", "--seed", "3", "--top", "400", *options
        )
        found = (judged["accuracy"], judged["macro_f1"], judged["log_loss"])
        assert (trial["accuracy"], trial["macro_f1"], trial["log_loss"]) == found
        succeed("train", DESK, "--top", "400", *options, "-m", "trained")
        assert (content("trained") == content("tuned")) == trial["chosen"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--smoothing=0.3"],
        ["--keep-documents=20", "--ngrams=2", "--min-df=2"],
        ["--smoothing=leave-one-out", "--prior-shape=background"],
        ["--class-prior=smoothed:2", "--calibration=none", "--top=50"],
        ["--classifier=bernoulli"],
        ["--top=50", "--criterion=chi2"],
    ],
)
def test_tune_with_a_single_setting_equals_train(tmp_path: Path, arguments: list[str]) -> None:
    succeed("train", DESK, *arguments, "-m", "trained")
    assert (
        len(
            tune_json(tmp_path, *arguments, "--folds", "2", "--try", "max-df=1", "-m", "tuned")[
                "settings"
            ]
        )
        == 1
    )
    assert content("tuned") == content("trained")


def test_tune_uses_reading_options_and_class_priors(tmp_path: Path) -> None:
    table = "topic;body\n" + "".join(
        f"{'xy'[n % 2]};{'red' if n % 2 else 'green'} apple number{n}\n" for n in range(12)
    )
    corpus(tmp_path, {"t.csv": table, "weights": "x\t1\ny\t3\n"})
    options = ("t.csv", "--label-column", "topic", "--text-column", "body", "--delimiter", ";")
    said = in_json(
        "tune", *options, "--try", "class-prior=weights,uniform", "--folds", "3", "-m", "tuned"
    )
    assert {str(trial["setting"]) for trial in said["settings"]} == {
        "{}",
        "{'class-prior': 'weights'}",
        "{'class-prior': 'uniform'}",
    }
    succeed(
        "tune",
        *options,
        "--class-prior",
        "weights",
        "--try",
        "smoothing=1",
        "--folds",
        "3",
        "-m",
        "tuned",
    )
    succeed("train", *options, "--class-prior", "weights", "-m", "trained")
    assert content("tuned") == content("trained")


def test_incompatible_settings_are_skipped_with_a_warning(pets: Path) -> None:
    done = nbtext("tune pets --folds 2 --try min-df=1,9 --try classifier=multinomial,nothing")
    assert done.status == 2  # a wrong value is no combination
    done = nbtext(
        "tune pets --folds 2 --try classifier=multinomial,bernoulli --try weighting=counts,log"
    )
    assert done.status == 0
    assert [
        note for note in done.notes if "skipped: with classifier=bernoulli weighting=log" in note
    ]


def test_tune_without_try_tries_a_list_of_good_settings(tmp_path: Path) -> None:
    said = tune_json(tmp_path, "--time-limit", "none", "--updatable", "--folds", "3")
    assert (said["metric"], said["folds"], len(said["settings"])) == ("accuracy", 3, 8)
    assert (said["chosen"]["documents"], said["chosen"]["folds"], said["chosen"]["p_value"]) == (
        222,
        3,
        None,
    )
    others = [trial for trial in said["settings"] if trial["setting"]]
    assert all(
        0 < trial["p_value"] <= 1 and trial["better"] is (trial["p_value"] < 0.05)
        for trial in others
    )
    assert 0 < said["corrected"] <= 1
    assert not any("seconds" in setting for setting in said["settings"])
    best = content("nbtext.joblib")
    command = said["chosen"]["command"]
    assert command.startswith("nbtext train ")
    succeeded(bash(command.replace("nbtext train", "$NBTEXT train", 1)))
    assert content("nbtext.joblib") == best


def test_tune_without_a_time_limit_is_reproducible(tmp_path: Path) -> None:
    commands = [
        ("tune", DESK, "--time-limit", "none", "--updatable", "--folds", "2", "-m", "m", *jobs)
        for jobs in ((), (), ("--jobs", "2"))
    ]
    found = [(succeed(*command).text, content("m")) for command in commands]
    assert found[0] == found[1] == found[2]
    assert len([line for line in found[0][0].splitlines() if line.startswith("nbtext train ")]) == 1


def test_setting_is_one_line_at_80_columns(tmp_path: Path) -> None:
    shown = at_terminal(
        "tune", str(DESK), "--time-limit", "none", "--folds", "2", "-m", "m", env={"COLUMNS": "80"}
    ).err.decode()
    rows = [line for line in shown.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert len(rows) == len(PORTFOLIO)
    assert all(len(line) <= 80 for line in rows)
    assert any(
        line.endswith("  ngrams 2, min-df 2, stop-words none, complement, tfidf") for line in rows
    )
    assert shown.count("nbtext train ") == 1


def test_setting_is_chosen_only_if_significantly_better(tmp_path: Path) -> None:
    write(
        "t.tsv",
        "".join(
            f"{'xy'[n % 2]}\t{('red apple', 'apple red')[n % 2]} number{n}\n" for n in range(60)
        ),
    )
    for tries, name, said in (
        (
            "ngrams=1,2",
            "--ngrams 2",
            "Chosen: ngrams 2. It is significantly better than the default (p = ",
        ),
        (
            "min-df=1,2",
            "",
            "No setting is significantly better than the default; the default is kept.",
        ),
        (
            "class-prior=uniform,smoothed:1",
            "",
            "No setting is significantly better than the default; the default is kept.",
        ),
    ):
        assert said in succeed("tune t.tsv --folds 3 -m tuned --try", tries).text, tries
        succeed("train t.tsv -m trained", *name.split())
        assert content("tuned") == content("trained"), tries
    found = in_json("tune t.tsv --folds 3 --try ngrams=1,2")
    assert found["chosen"] == found["settings"][0]
    assert (found["chosen"]["better"], found["chosen"]["setting"], found["chosen"]["accuracy"]) == (
        True,
        {"ngrams": "2"},
        1.0,
    )


def test_every_format_contains_the_numbers_of_documents_and_folds(tmp_path: Path) -> None:
    write(
        "t.tsv",
        "".join(
            f"{'xy'[n % 2]}\t{('red', 'green')[n % 2]} word{n % 7} number{n}\n" for n in range(2000)
        ),
    )
    options = ("t.tsv", "--try", "smoothing=1,2", "--time-limit", "none", "--folds", "2", "-m", "m")
    text = succeed("tune", *options).text
    assert "evaluated on 800 of 2,000 documents, 1 of 2 folds\n" in text
    assert "evaluated on 2,000 of 2,000 documents, 2 of 2 folds\n" in text
    records = succeed("tune", *options, "--output", "jsonl").records
    names = ("documents", "documents_in_all", "folds", "folds_in_all")
    assert [[record[name] for name in names] for record in records] == [[2000, 2000, 2, 2]] * 2 + [
        [800, 2000, 1, 2]
    ]
    assert in_json("tune", *options)["settings"] == records
    head, *rows = (
        line.split(",") for line in succeed("tune", *options, "--output", "csv").text.splitlines()
    )
    assert [[row[head.index(name)] for name in names] for row in rows] == [
        [str(record[name]) for name in names] for record in records
    ]


def test_default_time_limit_is_a_minute(pets: Path) -> None:
    said = in_json("tune pets --updatable")
    assert len(said["settings"]) > 3
    assert all("seconds" in setting for setting in said["settings"])


def test_long_time_limit_tries_all_settings_and_a_short_one_the_first(pets: Path) -> None:
    said = in_json("tune pets --time-limit 1h --updatable")
    assert len(said["settings"]) > 3
    assert all("seconds" in setting for setting in said["settings"])
    said = in_json("tune pets --time-limit 0.001s")
    assert [setting["setting"] for setting in said["settings"]] == [{}]
    assert (said["settings_in_all"], said["corrected"]) == (len(PORTFOLIO), None)
    assert (
        f"settings   1 of {len(PORTFOLIO)} tried" in succeed("tune pets --time-limit 0.001s").text
    )
    succeed("train pets -m trained")
    assert content("nbtext.joblib") == content("trained")


@pytest.mark.parametrize("goal", ["macro-f1", "log-loss"])
def test_for_selects_the_metric_to_optimise(tmp_path: Path, goal: str) -> None:
    said = tune_json(tmp_path, "--metric", goal, "--try", "smoothing=0.01,1,100", "--folds", "3")
    values = [trial[goal.replace("-", "_")] for trial in said["settings"]]
    assert values == sorted(values, reverse=goal == "macro-f1")


def test_one_class_works_and_one_document_is_refused(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {"one.tsv": "a\tred apple\na\tgreen pear\na\tblue sky\n", "single.tsv": "a\tred apple\n"},
    )
    said = json.loads(nbtext("tune one.tsv --try ngrams=1,2 --time-limit none -o json").out)
    assert (said["chosen"]["accuracy"], said["folds"]) == (1.0, 3)
    assert "only 1 document" in fail(2, "tune single.tsv --try ngrams=1,2 --time-limit none")


AT_ONCE = "import sys; from nbtext.cli import main, progress_line; progress_line.SHOW_AFTER_SECONDS = progress_line.DRAW_INTERVAL_SECONDS = 0; main.main()"
"""The command, with progress from the beginning."""


@pytest.fixture
def many_settings(pets: Path) -> tuple[str, ...]:
    """A search that takes long."""
    rows = (
        f"{'abc'[n % 3]}\tword{n % 97} word{n % 89} {'abc'[n % 3]}{n % 7} name{n}\n"
        for n in range(900)
    )
    (pets / "large.tsv").write_text("".join(rows))
    return (
        "tune",
        "large.tsv",
        "--folds",
        "2",
        "--try",
        f"smoothing={','.join(map(str, range(1, 300)))}",
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("form", ["json", "table"])
def test_ctrl_c_prints_the_results_so_far_and_writes_no_model(
    many_settings: tuple[str, ...], jobs: str, form: str
) -> None:
    old = content("nbtext.joblib")
    done = at_terminal(
        *many_settings,
        "--jobs",
        jobs,
        "-o",
        form,
        code=AT_ONCE,
        answers=False,
        interrupt_at=b"accuracy 0.",
    )
    assert done.status == 128 + signal.SIGINT
    assert content("nbtext.joblib") == old
    if form == "json":
        found = json.loads(done.out)
        assert found["model"] is None
        assert 1 <= len(found["settings"]) < found["settings_in_all"] == 300
        assert found["chosen"] in found["settings"]
        assert all(
            setting["documents"] == setting["documents_in_all"] == 900
            for setting in found["settings"]
        )
    else:
        assert "model      none: the search was interrupted\n" in done.text
        assert done.text.endswith("nbtext train large.tsv --model nbtext.joblib\n")


def test_interrupt_before_any_result_prints_nothing(pets: Path) -> None:
    command = [sys.executable, "-m", "nbtext", "tune", "-", "--format", "tsv"]
    with start(command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(
            b"x\ta cat and a dog\n" * 50_000
        )  # more than a pipe holds: when the write returns, documents are being read
        child.stdin.flush()
        child.send_signal(signal.SIGINT)
        assert child.wait(TIME_LIMIT) == 128 + signal.SIGINT
        assert child.stdout.read() == b""


def test_terminated_search_leaves_the_old_model(
    many_settings: tuple[str, ...],
) -> None:
    old = content("nbtext.joblib")
    with start(
        [sys.executable, "-m", "nbtext", *many_settings, "--jobs", "2"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
    ) as child:
        wait_until(
            Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text,
            "a worker that judges settings",
        )
        child.send_signal(signal.SIGTERM)
        assert child.communicate(timeout=TIME_LIMIT)[0] == b""
        assert child.returncode == 128 + signal.SIGTERM
    assert content("nbtext.joblib") == old


def test_small_classes_are_warned_of_once(pets: Path) -> None:
    done = nbtext("tune pets --try ngrams=1,2 --folds 3")
    assert (done.status, done.notes) == (
        0,
        ["nbtext: warning: classes with fewer documents than folds: cats, dogs"],
    )


def test_pipe_is_read_once_for_all_settings(pets: Path) -> None:
    table = b"x\tred apple\ny\tgreen pear\nx\tred plum\ny\tgreen grass\n"
    (pets / "table.tsv").write_bytes(table)
    options = ("--format", "tsv", "--folds", "2", "--try", "ngrams=1,2", "-o", "csv", "-m", "m")
    wanted = succeed("tune", "table.tsv", *options).text
    assert succeed("tune", "-", *options, stdin=table).text == wanted.replace("table.tsv", "-")
    done = bash("$NBTEXT tune <(cat table.tsv) --format tsv --folds 2 --try ngrams=1,2 -m m")
    assert (done.status, done.text.count("ngrams")) == (0, 3)


def test_classifiers_of_two_numeric_columns_match_scikit_learn(tmp_path: Path) -> None:
    """Naive Bayes, discriminant analysis and logistic regression of a table in one command."""
    random = np.random.default_rng(3)
    labels = np.repeat(["a", "b", "c"], 40)
    centres = np.repeat([[0, 0], [2, 1], [0, 3]], 40, axis=0)
    spread = np.repeat([[[1, 0.8], [0, 0.6]], [[1, 0], [0, 1]], [[0.5, 0], [0, 2]]], 40, axis=0)
    points = np.round(centres + np.einsum("ni,nij->nj", random.normal(size=(120, 2)), spread), 3)
    write(
        "points.csv",
        "kind,x,y\n" + "".join(f"{k},{x},{y}\n" for k, (x, y) in zip(labels, points, strict=True)),
    )
    said = in_json(
        "tune points.csv --label-column kind --numeric x,y --folds 4 --smoothing 1e-9 "
        "--try shrinkage=0 --try l2=1 "
        "--try classifier=multinomial,gaussian,logistic --try covariance=shared,separate"
    )
    generator, _ = np.random.default_rng(0).spawn(2)
    folds = draw_stratified_folds(np.unique(labels, return_inverse=True)[1], 4, generator)
    oracles = {
        ("multinomial", None): GaussianNB(var_smoothing=0),
        ("gaussian", "shared"): LinearDiscriminantAnalysis(solver="lsqr"),
        ("gaussian", "separate"): QuadraticDiscriminantAnalysis(),
        ("logistic", None): make_pipeline(StandardScaler(), LogisticRegression(C=1, tol=1e-10)),
    }
    found = {
        (each["setting"]["classifier"], each["setting"].get("covariance")): each["accuracy"]
        for each in said["settings"]
    }
    assert found == {
        key: pytest.approx(np.mean(_predict_folds(oracle, points, labels, folds) == labels))
        for key, oracle in oracles.items()
    }
    assert len(set(found.values())) > 2


SWEEP = "tune docs.tsv --folds 3 --training-accuracy --try smoothing=10,0.01,1 --model tuned"


def write_noise() -> tuple[list[str], Any]:
    """Write texts whose labels depend only on one frequent word, and return texts and labels."""
    random = np.random.default_rng(1)
    labels = np.array(["a", "b"] * 30)
    texts = [
        " ".join([*random.choice(["ant", "bee"], 2, p=p), *random.choice(NAMES, 3)])
        for p in ([0.8, 0.2], [0.2, 0.8]) * 30
    ]
    write("docs.tsv", "".join(f"{k}\t{text}\n" for k, text in zip(labels, texts, strict=True)))
    return texts, labels


NAMES = [f"name{number}" for number in range(40)]


def test_training_accuracy_is_of_the_documents_that_each_model_was_trained_on(
    tmp_path: Path,
) -> None:
    """Against a model of each fold, trained from Python."""
    texts, labels = write_noise()
    said = in_json(SWEEP)
    generator, _ = np.random.default_rng(0).spawn(2)
    folds = draw_stratified_folds(np.unique(labels, return_inverse=True)[1], 3, generator)
    array = np.array(texts, object)
    for trial in said["settings"]:
        smoothing: Any = float(trial["setting"].get("smoothing", 0)) or "auto"
        held_out, training = [], []
        for is_training, is_test in folds:
            model = TextClassifier(smoothing=smoothing).fit(array[is_training], labels[is_training])
            held_out += (model.predict(array[is_test]) == labels[is_test]).tolist()
            training += (model.predict(array[is_training]) == labels[is_training]).tolist()
        assert trial["accuracy"] == pytest.approx(np.mean(held_out))
        assert trial["training_accuracy"] == pytest.approx(np.mean(training))
    first = said["settings"][0]
    assert first["training_accuracy"] > first["accuracy"]
    assert "training_accuracy" not in in_json(SWEEP.replace("--training-accuracy", ""))["chosen"]
    assert " on training " in succeed(SWEEP).text


def test_page_draws_training_accuracy_over_the_values_of_one_setting(tmp_path: Path) -> None:
    write_noise()
    said = in_json(SWEEP)
    succeed(f"{SWEEP} --to page.html")
    page = content("page.html").decode()
    for trial in said["settings"]:
        if trial["setting"]:
            value = f"{float(trial['setting']['smoothing']):g}: {trial['accuracy'] * 100:.1f}"
            assert f"<title>{value}\xa0% of held-out documents right" in page
            assert f"{trial['training_accuracy'] * 100:.1f}\xa0% of training documents" in page
    assert page.index("<title>0.01: ") < page.index("<title>1: ") < page.index("<title>10: ")
    for options in ("--try ngrams=1,2", "--metric log-loss"):
        succeed(f"{SWEEP} {options} --to other.html")
        drawn = "Accuracy by setting" in content("other.html").decode()
        assert drawn == options.startswith("--metric")


def _predict_folds(oracle: Any, points: Any, labels: Any, folds: Any) -> Any:
    """Return the prediction of each point by a model of the other folds."""
    predictions = np.empty_like(labels)
    for training, test in folds:
        predictions[test] = oracle.fit(points[training], labels[training]).predict(points[test])
    return predictions
