"""`nbtext drift`, and `nbtext classify --drift` that writes its log: single runs, several taken together, gates, and what is no log.

Also tests `report/comparisons.py`.
"""

from __future__ import annotations

import bz2
import csv
import json
from random import Random
from shutil import copyfile
from typing import TYPE_CHECKING, Any

import pytest

from nbtext.errors import PathError
from nbtext.evaluation.drift_log import read_history
from nbtext.prediction.typicality import DRIFT_METRICS, PREDICTIONS
from tests.process import (
    REPOSITORY,
    SERVICE_DESK,
    content,
    corpus,
    fail,
    json_lines,
    nbtext,
    succeed,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LETTERS = {f"day{number}/{letter}": f"the {thing} in our street is {how}" for number, how in enumerate(("broken", "dirty", "gone"))
           for letter, thing in enumerate(("lamp", "bin", "tree"))}  # fmt: skip


@pytest.fixture
def fresh(service_desk_model: Path, tmp_path: Path) -> Path:
    """A folder with a model, and without a log."""
    copyfile(service_desk_model, tmp_path / "nbtext.joblib")
    return tmp_path


@pytest.fixture
def desk(fresh: Path) -> Path:
    """Three runs of three letters, and as ``all`` a log of all nine in one run."""
    corpus(fresh, LETTERS)
    (fresh / "empty").mkdir()
    for number in range(3):
        succeed("classify", f"day{number}", "--drift", "log")
    succeed("classify day0 day1 day2 --drift all")
    return fresh


def read_drift_log(*arguments: str) -> list[dict[str, Any]]:
    return succeed("drift", *arguments, "--output", "jsonl").records


def test_drift_last_combines_runs_of_a_log(desk: Path) -> None:
    singly, [together], [at_once] = (
        read_drift_log("log"),
        read_drift_log("log", "--last", "9"),
        read_drift_log("all"),
    )
    assert [(run["runs"], run["documents"]) for run in (*singly, together)] == [
        (1, 3),
        (1, 3),
        (1, 3),
        (3, 9),
    ]
    assert (together["since"], together["time"]) == (singly[0]["time"], singly[2]["time"])
    assert together["model"] == at_once["model"] == str(desk / "nbtext.joblib")
    for name in (*DRIFT_METRICS, PREDICTIONS):
        assert together[name] == {
            key: value if value is None else pytest.approx(value, rel=1e-7)
            for key, value in at_once[name].items()
        }
    assert read_drift_log("log", "--last", "1") == singly[2:]
    [last_two] = read_drift_log("log", "--last", "2")
    assert (last_two["documents"], last_two["since"]) == (6, singly[1]["time"])
    shown = succeed("drift log --last 2").text.splitlines()
    assert [line.split()[:2] for line in shown[2:5]] == [
        [singly[1]["time"], "3"],
        [singly[2]["time"], "3"],
        ["together", "6"],
    ]
    assert shown[-1].startswith("together  ")


def test_gates_apply_to_the_combined_last_runs(desk: Path) -> None:
    write("strange", "zzyx qwrt plmk vbnm hjkl")
    succeed("classify strange --drift log")
    newest, [together] = read_drift_log("log")[-1], read_drift_log("log", "--last", "4")
    between = (newest["unknown"]["distance"] + together["unknown"]["distance"]) / 2
    gate = ["--fail-over", f"unknown={between}"]
    assert together["unknown"]["distance"] < between
    done = nbtext("drift log", *gate)
    assert (done.status, done.notes) == (
        6,
        [
            f"nbtext: gate not met: the distance of unknown is {newest['unknown']['distance']:.6g}, over {between:g}"
        ],
    )
    succeed("drift log --last 4", *gate)
    done = nbtext("drift log --last 4 --fail-over unknown=0.01")
    assert (done.status, f"is {together['unknown']['distance']:.6g}," in done.notes[0]) == (6, True)


def test_run_without_documents_does_not_hide_an_alarm(desk: Path) -> None:
    write("strange", "zzyx qwrt plmk vbnm hjkl " * 50)
    succeed("classify strange --drift log")
    before = content("log")
    succeed("classify empty --drift log")
    corpus(desk, {"binary/1": b"\0"})
    assert nbtext("classify binary --drift log").status == 1
    assert content("log") == before
    empty = (
        json.loads(before.splitlines()[-1])
        | {"documents": 0}
        | {name: {"run": [0, 0.0, 0.0], "training": [9, 1.0, 1.0]} for name in DRIFT_METRICS}
    )
    with (desk / "log").open("a") as log:
        log.write(json.dumps(empty) + "\n")  # as an older nbtext wrote it
    done = nbtext("drift log --fail-over unknown=1")
    assert (done.status, "newest    moved: " in done.text) == (6, True)
    assert [run["documents"] for run in read_drift_log("log")] == [3, 3, 3, 1]
    assert read_drift_log("log", "--last", "2")[0]["documents"] == 4


def test_log_without_documents_is_refused(desk: Path) -> None:
    succeed("classify empty --drift new")
    assert content("new") == b""
    for options in ([], ["--last", "3"], ["--fail-over", "any=1"]):
        line = fail(4, "drift new", *options)
        assert line == "nbtext: new: the log has no run with documents; classify --drift adds one"
    assert "cannot write" in fail(4, "classify empty --drift no/new")


def test_models_in_one_log_are_distinguished_by_their_files(desk: Path) -> None:
    succeed("train", SERVICE_DESK / "test", "-m", "other")
    succeed("classify day0 -m other --drift log")
    [other] = read_drift_log("log", "--last", "9")
    assert (other["model"], other["runs"], other["documents"]) == (str(desk / "other"), 1, 3)
    assert succeed("drift log --last 9").text.endswith(
        "left out  3 runs of another model file, or of an older nbtext\n"
    )
    lines = json_lines(content("log"))
    for line in lines[:2]:
        del line["model"]
    write(
        "log", "".join(json.dumps(line) + "\n" for line in [lines[0], lines[1], lines[3], lines[2]])
    )
    assert [run["model"] for run in read_drift_log("log")] == [
        None,
        None,
        str(desk / "other"),
        str(desk / "nbtext.joblib"),
    ]
    assert read_drift_log("log", "--last", "2")[0]["runs"] == 1


def test_runs_before_and_after_an_update_are_combined(desk: Path) -> None:
    succeed("update", SERVICE_DESK / "test")
    for day in ("day0", "day1"):
        succeed("classify", day, "--drift", "log")
    [together] = read_drift_log("log", "--last", "4")
    assert (together["runs"], together["documents"]) == (4, 12)
    assert "left out" not in succeed("drift log --last 4").text
    singly = [run["unknown"] for run in read_drift_log("log")[-4:]]
    assert (
        min(one["distance"] for one in singly)
        <= together["unknown"]["distance"]
        <= max(one["distance"] for one in singly)
    )


@pytest.mark.parametrize("value", ["-1", "1e400", "NaN", '"x"', "null", "1e10", "true, 2"])
def test_impossible_numbers_in_a_log_line_are_refused(desk: Path, value: str) -> None:
    lines = (desk / "log").read_text().splitlines()
    record = json.loads(lines[0])
    for place in range(3):
        changed = record["unknown"] | {"run": ["here" if at == place else 1 for at in range(3)]}
        write("wrong", json.dumps(record | {"unknown": changed}).replace('"here"', value) + "\n")
        done = nbtext("drift wrong --last 2")
        fine = (value == "-1" and place == 1) or (value == "1e10" and place == 0)
        assert done.status == (0 if fine else 4), done


def test_drift_since_selects_runs_by_time(desk: Path) -> None:
    times = ("2026-03-01T10:00:00+00:00", "2026-03-02T00:00:00+00:00", "2026-03-02T10:00:00+00:00")
    lines = [
        json.loads(line) | {"time": time}
        for line, time in zip((desk / "log").read_text().splitlines(), times, strict=True)
    ]
    write("log", "".join(json.dumps(line) + "\n" for line in lines))
    for begin, runs in (
        ("2026-03-01", 3),
        ("2026-03-02", 2),
        ("2026-03-02T00:00:01", 1),
        ("2026-03-02T12:00+02:00", 1),
        ("2026-03-01T23:00-01:00", 2),
    ):
        [together] = read_drift_log("log", "--since", begin)
        assert (together["runs"], together["since"], together["time"]) == (
            runs,
            times[-runs],
            times[-1],
        )
    [together] = read_drift_log("log", "--since", "2026-03-01", "--last", "2")
    assert together["runs"] == 2
    line = fail(4, "drift log --since 2026-03-03 --fail-over any=1")
    assert line == "nbtext: log: the log has no run with documents since 2026-03-03T00:00:00+00:00"
    line = fail(2, "drift log --since yesterday")
    assert (
        line
        == "nbtext: --since must be a date or a time, not 'yesterday'; such as 2026-05-31 or 2026-05-31T18:00+02:00"
    )
    for wrong in ("yesterday", "2026-03-01", 7, None):
        write("wrong", json.dumps(lines[0] | {"time": wrong}) + "\n")
        assert fail(4, "drift wrong") == "nbtext: wrong:1: not a line of classify --drift"


def classify_with_drift(fresh: Path, *documents: object) -> None:
    succeed("classify", *map(str, documents), "--drift", "log", cwd=fresh)


def test_every_run_adds_a_line_and_the_last_can_fail_the_gate(fresh: Path) -> None:
    write("strange.txt", "zzyx qwrt plmk vbnm hjkl " * 50)
    classify_with_drift(fresh, SERVICE_DESK / "test")
    classify_with_drift(fresh, "strange.txt")
    records = json_lines(content("log"))
    assert [record["documents"] for record in records] == [
        len(list((SERVICE_DESK / "test").glob("*/*"))),
        1,
    ]
    assert records[1]["unknown"]["run"][1] == 1
    shown = succeed("drift log").text
    assert "unknown tokens" in shown
    assert "nothing moved" not in shown
    done = nbtext("drift log --fail-over unknown=1")
    assert done.status == 6
    assert done.notes[0].startswith("nbtext: gate not met: the distance of unknown is ")
    classify_with_drift(fresh, SERVICE_DESK / "test")
    succeed("drift log --fail-over any=1")
    runs = succeed("drift log --output jsonl").records
    assert [run["unknown"]["beyond_chance"] for run in runs] == [False, True, False]


def test_classify_lines_adds_to_the_drift_log(fresh: Path) -> None:
    succeed(
        "classify --lines --drift log", stdin=b"the lamp is broken\nrubbish was not collected\n"
    )
    assert json.loads((fresh / "log").read_text())["documents"] == 2


def test_invalid_drift_logs_are_refused(tmp_path: Path, fresh: Path) -> None:
    classify_with_drift(fresh, SERVICE_DESK / "test")
    good = (fresh / "log").read_text()
    for wrong in (
        "x\n",
        "{}\n",
        good.replace('"counts"', '"count"'),
        "[]\n",
        good.replace('"unknown"', '"other"'),
    ):
        write("wrong", "\n" + wrong + wrong)
        assert fail(4, "drift wrong") == "nbtext: wrong:2: not a line of classify --drift"
    write("empty", "\n")
    with pytest.raises(PathError, match="no run"):
        read_history("empty")
    assert "cannot read" in fail(4, "drift none")
    write("bytes", b"\xff\n")
    assert fail(4, "drift bytes") == "nbtext: bytes:1: not a line of classify --drift"
    assert (
        "cannot write" in nbtext("classify", SERVICE_DESK / "test", "--drift", tmp_path).notes[-1]
    )


def test_unreadable_log_lines_are_named_and_the_others_read(fresh: Path) -> None:
    classify_with_drift(fresh, SERVICE_DESK / "test")
    good = content("log")
    bad = [
        good[:100] + good[:-1],
        b"\xff",
        b'{"documents": ' + b"9" * 5000 + b"}",
        *[b"x"] * 8,
        good[:100],
    ]
    write("log", good + b"\n".join(bad))  # without a line break at the end
    classify_with_drift(fresh, SERVICE_DESK / "test")
    found, unreadable = read_history(str(fresh / "log"))
    assert (len(found), found[0][2:]) == (2, found[1][2:])
    assert [problem.where for problem in unreadable] == [
        f"{fresh / 'log'}:{number}" for number in range(2, 14)
    ]
    done = nbtext("drift log --fail-over any=100 --output jsonl")
    assert (done.status, len(done.text.splitlines()), len(done.notes)) == (1, 2, 11)
    assert done.notes[0] == "nbtext: log:2: not a line of classify --drift"
    assert done.notes[-1] == "nbtext: log: 2 more invalid lines"
    assert nbtext("drift log --fail-over any=0.001 -q").status == 6


def test_full_disk_leaves_the_drift_log_unchanged(fresh: Path) -> None:
    classify_with_drift(fresh, SERVICE_DESK / "test")
    good = content("log")
    done = nbtext(
        "classify", SERVICE_DESK / "test", "--drift", "log", limits={"FSIZE": len(good) + 100}
    )
    assert (done.status, done.notes) == (4, ["nbtext: log: cannot write (file too large)"])
    assert content("log") == good


QUEUES = {
    "cards": ("card_arrival", "card_linking", "card_not_working", "activate_my_card"),
    "transfers": ("transfer_timing", "pending_transfer", "failed_transfer", "cancel_transfer"),
    "cash": ("cash_withdrawal_charge", "pending_cash_withdrawal", "declined_cash_withdrawal"),
}
NEW_TOPIC = ("exchange_rate", "exchange_via_app", "fiat_currency_support")


def read_questions(queues: Mapping[str, Sequence[str]], seed: int) -> list[tuple[str, str]]:
    """Return the queue and the text of a bank's questions, in random order."""
    intents = {intent: queue for queue, names in queues.items() for intent in names}
    with bz2.open(REPOSITORY / "corpora/banking77/train.csv.bz2", "rt") as file:
        rows = [(intents[intent], text) for text, intent in csv.reader(file) if intent in intents]
    Random(seed).shuffle(rows)
    return rows


def write_questions(name: str, rows: Sequence[tuple[str, str]]) -> None:
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("queue", "text"), *rows])


@pytest.mark.parametrize("seed", [1, 2])
def test_new_topic_is_an_alarm_in_a_week_of_updates_and_retraining(
    tmp_path: Path, seed: int
) -> None:
    """Half of the questions of the fifth night and of later nights have a topic that is new."""
    questions = read_questions(QUEUES, seed)
    new_questions = read_questions({"exchange": NEW_TOPIC}, seed)
    sorted_questions, questions = questions[:400], questions[400:]
    read = ("--label-column", "queue", "--text-column", "text")
    write_questions("sorted.csv", sorted_questions)
    succeed("train sorted.csv", *read)
    gate = ("drift", "drift.log", "--last", "30", "--fail-over", "any=0.5")
    results = []
    for night in range(1, 8):
        n_new = 30 if night >= 5 else 0
        today = questions[: 60 - n_new] + new_questions[:n_new]
        questions, new_questions = questions[60 - n_new :], new_questions[n_new:]
        sorted_questions += today
        write_questions("today.csv", today)
        succeed("classify today.csv --text-column text --drift drift.log")
        results.append(nbtext(*gate))
        if night % 2:
            nbtext("update today.csv", *read)  # it reports the new class of the fifth night
        else:
            write_questions("sorted.csv", sorted_questions)
            succeed("train sorted.csv -m new.joblib", *read)
            succeed("promote new.joblib")
    assert [result.status for result in results[:5]] == [7, 0, 0, 0, 6]
    assert results[0].notes == [
        "nbtext: drift.log: too few runs for --fail-over: 1; it needs 2 runs; see --min-runs"
    ]
    assert any("unknown in the newest run" in note for note in results[4].notes)


def test_min_runs_is_at_most_the_number_of_last(desk: Path) -> None:
    for options, status in (
        ("--last 1", 0),
        ("--last 3 --min-runs 3", 0),
        ("--last 3 --min-runs 4", 0),
        ("--last 9 --min-runs 4", 7),
        ("--since 2020-01-01 --min-runs 4", 7),
        ("--min-runs 4", 0),  # the newest run alone is checked
    ):
        assert nbtext(f"drift log --fail-over any=99 {options}").status == status, options
    assert succeed("drift log --last 9 --min-runs 4")  # without a gate


def test_single_document_is_no_sudden_change(desk: Path) -> None:
    write("odd", "zyzzyva")
    succeed("classify odd --drift log")
    [pooled] = read_drift_log("log", "--last", "9")
    limit = pooled["unknown"]["distance"] + 0.01
    assert read_drift_log("log")[-1]["unknown"]["distance"] > limit
    succeed(f"drift log --last 9 --fail-over unknown={limit}")
