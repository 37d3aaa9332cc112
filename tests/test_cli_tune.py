"""`nbtext tune`: settings tried on a corpus, the best written as a model, as a process.

Also tests `report/comparisons.py` and `evaluation/search.py`.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.process import (
    HOUSE,
    SERVICE_DESK,
    TIME_LIMIT,
    at_terminal,
    bash,
    content,
    corpus,
    error_line,
    fail,
    in_json,
    nbtext,
    start,
    succeed,
    succeeded,
    until,
    write,
)

DESK = SERVICE_DESK / "train"


def tuned(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    said: dict[str, Any] = in_json("tune", DESK, *arguments, cwd=folder)
    return said


def settings_of(said: dict[str, Any]) -> list[dict[str, str]]:
    return [trial["setting"] for trial in said["settings"]]


def test_every_combination_is_tried_and_the_best_comes_first(tmp_path: Path) -> None:
    said = tuned(tmp_path, "--try", "smoothing=0.01,1,1", "--try", "ngrams=1,2", "--folds", "4")
    assert (said["folds"], said["seed"], said["documents"]) == (4, 0, 222)
    assert sorted(map(sorted, (setting.items() for setting in settings_of(said)))) == [
        [("ngrams", n), ("smoothing", smoothing)] for n in "12" for smoothing in ("0.01", "1")
    ]
    assert [trial["rank"] for trial in said["settings"]] == [1, 2, 3, 4]
    accuracies = [trial["accuracy"] for trial in said["settings"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert len(set(accuracies)) > 1
    assert said["best"] == said["settings"][0]
    text = succeed("tune", DESK, "--try", "smoothing=0.01,1", "--try", "ngrams=1,2", "--folds", "4").text
    first = next(line for line in text.splitlines() if line.split()[:1] == ["1"])
    best = said["best"]
    assert first.split()[1:4] == [f"{best[name]:.4f}" for name in ("accuracy", "macro_f1", "log_loss")]
    worse = sum(trial["beyond_chance"] for trial in said["settings"][1:])
    assert f"Beyond chance the first setting is better than {worse} of 3 others." in text


def test_the_figures_are_those_of_cross_validate_and_the_model_that_of_train(tmp_path: Path) -> None:
    said = tuned(tmp_path, "--try", "smoothing=0.02,1", "--try", "ngrams=2,1", "--folds", "5", "--seed", "3", "--top", "400", "-m", "tuned")
    for trial in said["settings"]:
        options = [f"--{name}={value}" for name, value in trial["setting"].items()]
        judged = in_json("cross-validate", DESK, "--folds", "5", "--seed", "3", "--top", "400", *options)
        found = (judged["accuracy"], judged["macro_f1"], judged["log_loss"], judged["folds"]["accuracy"]["sd"])
        assert (trial["accuracy"], trial["macro_f1"], trial["log_loss"], trial["accuracy_sd"]) == found
        succeed("train", DESK, "--top", "400", *options, "-m", "trained")
        assert (content("trained") == content("tuned")) == (trial == said["best"])


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--smoothing=0.3"],
        ["--sample=20", "--ngrams=2", "--min-df=2"],
        ["--smoothing=leave-one-out", "--prior-shape=background"],
        ["--class-prior=smoothed:2", "--calibration=none", "--top=50"],
        ["--classifier=bernoulli"],
        ["--top=50", "--by=chi2"],
    ],
)
def test_one_setting_is_train(tmp_path: Path, arguments: list[str]) -> None:
    succeed("train", DESK, *arguments, "-m", "trained")
    tries = [part for argument in arguments for part in ("--try", argument.removeprefix("--"))]
    for given in (arguments, tries):
        assert len(tuned(tmp_path, *given, "--folds", "2", "--tries", "1", "-m", "tuned")["settings"]) == 1
        assert content("tuned") == content("trained")


def test_a_corpus_that_is_read_in_another_way(tmp_path: Path) -> None:
    table = "topic;body\n" + "".join(f"{'xy'[n % 2]};{'red' if n % 2 else 'green'} apple number{n}\n" for n in range(12))
    corpus(tmp_path, {"t.csv": table, "weights": "x\t1\ny\t3\n"})
    options = ("t.csv", "--label-column", "topic", "--text-column", "body", "--delimiter", ";")
    succeed("tune", *options, "--try", "class-prior=weights", "--folds", "3", "-m", "tuned")
    succeed("train", *options, "--class-prior", "weights", "-m", "trained")
    assert content("tuned") == content("trained")


def test_what_cannot_be_is_left_out_with_a_warning(pets: Path) -> None:
    done = nbtext("tune pets --folds 2 --try min-df=1,9 --try classifier=multinomial,nothing")
    assert done.status == 2  # a wrong value is no combination
    done = nbtext("tune pets --folds 2 --try classifier=multinomial,bernoulli --try weighting=counts,log")
    assert done.status == 0
    assert [note for note in done.notes if "left out: with classifier=bernoulli weighting=log" in note]


def test_settings_known_to_be_good_are_tried_without_naming_any(tmp_path: Path) -> None:
    said = tuned(tmp_path, "--tries", "6", "--folds", "3")
    assert (said["for"], said["folds"], len(said["settings"])) == ("accuracy", 3, 6)
    assert (said["best"]["documents"], said["best"]["folds"], said["best"]["beyond_chance"]) == (222, 3, None)
    assert all(setting["beyond_chance"] in (True, False) for setting in said["settings"][1:])
    assert said["best"]["bytes"] == (tmp_path / "nbtext.joblib").stat().st_size
    assert 0 < said["corrected"] <= 1
    assert not any("seconds" in setting for setting in said["settings"])
    best = content("nbtext.joblib")
    command = said["best"]["command"]
    assert command.startswith("nbtext train ")
    succeeded(bash(command.replace("nbtext train", "$NBTEXT train", 1)))
    assert content("nbtext.joblib") == best


def test_so_many_tries_give_the_same_bytes_again(tmp_path: Path) -> None:
    commands = [("tune", DESK, "--tries", "4", "--folds", "3", "-m", "m", *jobs) for jobs in ((), (), ("--jobs", "2"))]
    found = [(succeed(*command).text, content("m")) for command in commands]
    assert found[0] == found[1] == found[2]
    assert len([line for line in found[0][0].splitlines() if line.startswith("nbtext train ")]) == 1


def test_at_80_columns_a_setting_is_one_line_and_the_best_is_compared_with_the_default(tmp_path: Path) -> None:
    shown = at_terminal("tune", str(DESK), "--tries", "12", "--folds", "2", "-m", "m", env={"COLUMNS": "80"}).err.decode()
    rows = [line for line in shown.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert len(rows) == 12
    assert all(len(line) <= 80 for line in rows)
    assert any(line.endswith("  ngrams 2, min-df 2, stop-words none, complement, tfidf") for line in rows)
    best = succeed("tune", DESK, "--tries", "12", "--folds", "2", "-m", "m", "-o", "jsonl").records
    default = next(trial for trial in best if not trial["setting"])
    verdict = "The first setting is " + (
        "the default."
        if default["rank"] == 1
        else f"better than the default, {'' if default['beyond_chance'] else 'but not '}beyond chance."
    )
    assert verdict in shown
    assert shown.count("nbtext train ") == 1


def test_what_beats_the_default_beyond_chance_says_so(tmp_path: Path) -> None:
    write("t.tsv", "".join(f"{'xy'[n % 2]}\t{('red apple', 'apple red')[n % 2]} number{n}\n" for n in range(60)))
    for tries, said in (
        ("ngrams=1,2", "The first setting is better than the default, beyond chance."),
        ("min-df=1,2", "The first setting is the default."),
        ("class-prior=uniform,smoothed:1", "Beyond chance the first setting is better than 0 of 1 other."),
    ):
        assert said in succeed("tune t.tsv --folds 3 --try", tries).text, tries


def test_without_a_limit_settings_are_tried_for_a_minute_at_most(pets: Path) -> None:
    said = in_json("tune pets --updatable")
    assert len(said["settings"]) > 3
    assert all("seconds" in setting for setting in said["settings"])
    assert "The first setting is the default." in succeed("tune pets --updatable --tries 3").text


def test_within_a_long_time_all_are_tried_and_within_no_time_the_first(pets: Path) -> None:
    said = in_json("tune pets --within 1h --updatable")
    assert len(said["settings"]) > 3
    assert all("seconds" in setting for setting in said["settings"])
    said = in_json("tune pets --within 0.001s")
    assert [setting["setting"] for setting in said["settings"]] == [{}]


@pytest.mark.parametrize("goal", ["macro-f1", "log-loss"])
def test_the_best_is_best_in_what_is_wanted(tmp_path: Path, goal: str) -> None:
    said = tuned(tmp_path, "--for", goal, "--try", "smoothing=0.01,1,100", "--folds", "3")
    values = [trial[goal.replace("-", "_")] for trial in said["settings"]]
    assert values == sorted(values, reverse=goal == "macro-f1")


def test_one_class_and_one_document(tmp_path: Path) -> None:
    corpus(tmp_path, {"one.tsv": "a\tred apple\na\tgreen pear\na\tblue sky\n", "single.tsv": "a\tred apple\n"})
    said = json.loads(nbtext("tune one.tsv --tries 2 -o json").out)
    assert (said["best"]["accuracy"], said["folds"]) == (1.0, 3)
    assert "only 1 document" in fail(2, "tune single.tsv --tries 2")


def test_interrupting_the_search_leaves_the_old_model(pets: Path) -> None:
    old = content("nbtext.joblib")
    table = pets / "large.tsv"
    table.write_text("".join(f"{'abc'[n % 3]}\tword{n % 97} word{n % 89} {'abc'[n % 3]}{n % 7} name{n}\n" for n in range(20_000)))
    with start([sys.executable, "-m", "nbtext", "tune", "large.tsv", "--within", "1h", "--jobs", "2"], env=HOUSE) as child:
        until(Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text, "a worker that judges settings")
        child.send_signal(signal.SIGINT)
        assert child.wait(TIME_LIMIT) == 128 + signal.SIGINT
    assert content("nbtext.joblib") == old


def test_small_classes_are_warned_of_once(pets: Path) -> None:
    done = nbtext("tune pets --try ngrams=1,2 --folds 3")
    assert (done.status, done.notes) == (0, ["nbtext: warning: classes with fewer documents than there are folds: cats, dogs"])


def test_a_pipe_is_read_once_only(pets: Path) -> None:
    table = b"x\tred apple\ny\tgreen pear\nx\tred plum\ny\tgreen grass\n"
    options = ("tune", "-", "--format", "tsv", "--folds", "2")
    assert succeed(*options, "--try", "smoothing=0.1,1", stdin=table).out
    assert succeed(*options, "--tries", "2", stdin=table).out
    assert "read once" in fail(2, *options, "--try", "ngrams=1,2", stdin=table)
    assert "read once" in error_line(bash("$NBTEXT tune <(printf 'x\\ta\\n') --format tsv --try ngrams=1,2"), 2)
