"""Faults 75 to 79 of the list of faults: large counts, clocks and homes, hash seeds, and folders that others may write to."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.process import HOUSE, SERVICE_DESK, corpus, nbtext, run, succeeded

if TYPE_CHECKING:
    from pathlib import Path


def test_fault_75_counts_beyond_32_bits(tmp_path: Path) -> None:
    rows = "a red:999999999 green:1\n" * 12 + "b green:999999999\n" * 12
    corpus(tmp_path, {"t.svm": rows})
    succeeded(nbtext("train", "t.svm", cwd=tmp_path))
    made = json.loads(succeeded(nbtext("inspect", "-o", "json", cwd=tmp_path)).out)
    assert made["classes"]["a"]["tokens"] == 12 * 10**9
    assert made["tokens"] == 12 * 10**9 + 12 * 999_999_999
    assert [row[1] for row in succeeded(nbtext("classify", "t.svm", cwd=tmp_path)).rows] == ["a"] * 12 + ["b"] * 12


@pytest.mark.parametrize(
    "env", [{"TZ": "Pacific/Kiritimati"}, {"HOME": "/nonexistent"}, {"HOME": ""}, {"TMPDIR": "/nonexistent"}, {"USER": "", "LOGNAME": ""}], ids=str
)  # fmt: skip
def test_fault_76_no_home_no_temporary_folder_any_time_zone(pets: Path, env: dict[str, str]) -> None:
    succeeded(nbtext("train", "pets", "-m", "plain", cwd=pets))
    succeeded(nbtext("train", "pets", "-m", "other", cwd=pets, env=env))
    assert (pets / "plain").read_bytes() == (pets / "other").read_bytes()
    for arguments in (["classify", "pets"], ["evaluate", "pets"], ["select-features", "-o", "table"], ["inspect"]):
        assert nbtext(*arguments, cwd=pets, env=env) == nbtext(*arguments, cwd=pets)


def test_fault_76_a_clock_that_jumps(pets: Path) -> None:
    code = (
        "import itertools, sys, time\n"
        "ticks = itertools.cycle([1e9, 5.0, -7.0])\n"
        "time.monotonic = time.time = time.perf_counter = lambda: next(ticks)\n"
        "from nbtext.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    succeeded(nbtext("train", "pets", "-m", "plain", cwd=pets))
    succeeded(run([sys.executable, "-c", code, "train", "pets", "-m", "other"], cwd=pets, env=HOUSE))
    assert (pets / "plain").read_bytes() == (pets / "other").read_bytes()


@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_fault_77_the_same_bytes_for_every_hash_seed(pets: Path, seed: str) -> None:
    for arguments in (["train", "pets", "-m", "m"], ["train", "pets", "-m", "n", "--ngrams", "3", "--top", "5"]):
        succeeded(nbtext(*arguments, cwd=pets, env={"PYTHONHASHSEED": "17"}))
        model = pets / arguments[3]
        before = model.read_bytes()
        succeeded(nbtext(*arguments, cwd=pets, env={"PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": "3"}))
        assert model.read_bytes() == before


def test_fault_77_the_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    """Products of matrices are rounded otherwise by two threads than by one, so the command always has one."""
    for threads in ("1", "2"):
        train = ("train", SERVICE_DESK / "train", "--classifier", "gaussian", "-m", threads)
        succeeded(nbtext(*train, cwd=tmp_path, env={"OPENBLAS_NUM_THREADS": threads}))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_fault_79_temporary_files_cannot_be_guessed_or_planted(pets: Path) -> None:
    """Whoever may write to the folder can neither foresee the name nor put a link in its place: it is made anew, links are not followed."""
    code = (
        "import os, sys\n"
        "made = []\n"
        "def note(event, arguments):\n"
        "    if event == 'open' and isinstance(arguments[2], int) and arguments[2] & os.O_CREAT:\n"
        "        made.append((str(arguments[0]), bool(arguments[2] & os.O_EXCL), bool(arguments[2] & os.O_NOFOLLOW)))\n"
        "sys.addaudithook(note)\n"
        "from nbtext.cli.main import run\n"
        "status = run(sys.argv[1:]); import json; print(json.dumps(made)); sys.exit(status)"
    )
    names = []
    for _ in range(2):
        done = run([sys.executable, "-c", code, "train", "pets"], cwd=pets, env={**HOUSE, "PYTHONDONTWRITEBYTECODE": "1"})
        made = json.loads(succeeded(done).out)
        name, exclusive, no_follow = next(one for one in made if one[0].endswith(".tmp"))  # the lock has one name for all
        assert (os.path.dirname(name) or str(pets), exclusive, no_follow) == (str(pets), True, True)  # noqa: PTH120 - a text
        assert {entry[0] for entry in made if not entry[0].endswith(".lock")} == {name}
        names.append(name)
    assert names[0] != names[1]
    assert sorted(path.name for path in pets.iterdir()) == ["nbtext.joblib", "pets"]
