"""Faults 75 to 79 of the list of faults: large counts, clocks and homes, hash seeds, and folders that others may write to."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.process import (
    ENVIRONMENT,
    SERVICE_DESK,
    content,
    corpus,
    fresh_interpreters,
    in_json,
    nbtext,
    run,
    succeed,
    succeeded,
)


def test_fault_75_counts_beyond_32_bits_are_exact(tmp_path: Path) -> None:
    rows = "a red:999999999 green:1\n" * 12 + "b green:999999999\n" * 12
    corpus(tmp_path, {"t.svm": rows})
    succeed("train t.svm")
    made = in_json("inspect -o json")
    assert made["classes"]["a"]["tokens"] == 12 * 10**9
    assert made["tokens"] == 12 * 10**9 + 12 * 999_999_999
    assert [row[1] for row in succeed("classify t.svm").rows] == ["a"] * 12 + ["b"] * 12


@pytest.mark.parametrize(
    "env", [{"TZ": "Pacific/Kiritimati"}, {"HOME": "/nonexistent"}, {"HOME": ""}, {"TMPDIR": "/nonexistent"}, {"USER": "", "LOGNAME": ""}], ids=str
)  # fmt: skip
def test_fault_76_missing_home_and_temporary_folder_and_time_zone_change_nothing(
    pets: Path, env: dict[str, str]
) -> None:
    succeed("train pets -m plain")
    succeed("train pets -m other", env=env)
    assert content("plain") == content("other")
    for arguments in (
        ["classify", "pets"],
        ["evaluate", "pets"],
        ["select-features", "-o", "table"],
        ["inspect"],
    ):
        assert nbtext(*arguments, env=env) == nbtext(*arguments)


def test_fault_76_jumping_clock_changes_nothing(pets: Path) -> None:
    code = (
        "import itertools, sys, time\n"
        "ticks = itertools.cycle([1e9, 5.0, -7.0])\n"
        "time.monotonic = time.time = time.perf_counter = lambda: next(ticks)\n"
        "from nbtext.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    succeed("train pets -m plain")
    succeeded(run([sys.executable, "-c", code, "train", "pets", "-m", "other"], env=ENVIRONMENT))
    assert content("plain") == content("other")


def test_fault_77_model_bytes_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    """Products of matrices are rounded otherwise by two threads than by one, so the command always has one."""
    for threads in ("1", "2"):
        train = ("train", SERVICE_DESK / "train", "--classifier", "gaussian", "-m", threads)
        with fresh_interpreters(threads == "2"):  # numpy reads it when it is imported
            succeed(*train, env={"OPENBLAS_NUM_THREADS": threads})
    assert content("1") == content("2")


WATCHER = """
import json, os, sys
made = []
def note(event, arguments):
    if event == 'open' and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT:
        made.append((str(arguments[0]), bool(arguments[2] & os.O_EXCL and arguments[2] & os.O_NOFOLLOW)))
    if event == 'os.link':
        made.append((str(arguments[1]), True))
def refuse(*_, **__):
    raise PermissionError(1, 'Operation not permitted')
sys.addaudithook(note)
if sys.argv[1] == 'without links':
    os.link = refuse
from nbtext.cli.main import run
status = run(sys.argv[2:])
print(json.dumps(made))
sys.exit(status)
"""
"""Prints which files the command has made, and whether each was made anew: a link of that name is not followed, nor a file there opened."""


@pytest.mark.parametrize("links", ["with links", "without links"])
def test_fault_79_temporary_files_cannot_be_guessed_or_planted(pets: Path, links: str) -> None:
    """Whoever may write to the folder can neither foresee the name nor put a link in its place: model, ledger and backup."""
    succeed("train pets --deduplicate")
    names: list[set[str]] = []
    corpus(pets, {"more/cats/3": "a cat sleeps"})
    for command, option in (("update", "--skip-known"), ("forget", "--skip-unknown")):
        arguments = [command, "more", option, "--backup"]
        done = run([sys.executable, "-c", WATCHER, links, *arguments], env=ENVIRONMENT)
        made = json.loads(succeeded(done).out)
        assert all(is_new for _, is_new in made), made
        temporary = {
            name for name, _ in made if not name.endswith(".lock")
        }  # the lock has one name for all
        assert len(temporary) == 2
        assert {Path(name).parent for name in temporary} == {pets}
        assert all(
            re.fullmatch(r"\.nbtext\.joblib\.nbtext-[a-z0-5]{8}\.tmp", Path(name).name)
            for name in temporary
        ), temporary
        names.append(temporary)
    assert not names[0] & names[1]
    assert sorted(path.name for path in pets.iterdir()) == [
        "more",
        "nbtext.joblib",
        "nbtext.joblib.1",
        "pets",
    ]
