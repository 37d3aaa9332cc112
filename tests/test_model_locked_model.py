"""Several processes that write one model, and processes that are killed while they write it: nothing is lost, nothing counts twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from nbtext.errors import NbtextError
from nbtext.model.locked_model import Backups, LockedModelFile, lock_model
from tests.process import (
    ENVIRONMENT,
    PET_FILES,
    PETS,
    TIME_LIMIT,
    Running,
    content,
    corpus,
    in_json,
    is_drained,
    nbtext,
    start,
    succeed,
    wait_until,
    write,
)
from tests.profiles import rounds

if TYPE_CHECKING:
    from pathlib import Path

UPDATER = """
import sys
from nbtext.cli.main import run
for number in range(10):
    status = run(["update", f"c{sys.argv[1]}-{number}.tsv", "--format", "tsv", *sys.argv[2:]])
    if status:
        sys.exit(status)
"""

DYING = """
import os, signal, sys
from pathlib import Path
from nbtext.cli.main import run
die_at, seen = int(sys.argv[1]), 0
def dying(real):
    def call(*arguments, **named):
        global seen
        for action in (None, real):
            seen += 1
            if seen == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if action is not None:
                return action(*arguments, **named)
    return call
Path.replace, os.fsync, os.link, Path.unlink = dying(Path.replace), dying(os.fsync), dying(os.link), dying(Path.unlink)
sys.exit(run(sys.argv[2:]))
"""
"""Ends itself by SIGKILL at the given one of the moments before and after a file is renamed, synced, linked or removed."""


def children(folder: Path, codes: list[list[str]]) -> list[Running]:
    return [start([sys.executable, "-c", *code], cwd=folder, env=ENVIRONMENT) for code in codes]


def documents(folder: Path) -> int:
    return int(in_json("inspect --output json", cwd=folder)["documents"])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".tsv")


@pytest.mark.parametrize("options", [[], ["--skip-known", "--backup"]], ids=str)
def test_fault_35_four_processes_with_ten_updates_each_lose_none(
    pets: Path, options: list[str]
) -> None:
    for process in range(4):
        for number in range(10):
            write(f"c{process}-{number}.tsv", f"class{process}\tword{number} of process{process}\n")
    succeed("train pets", *(["--deduplicate"] if options else []))
    updaters = children(pets, [[UPDATER, str(process), *options] for process in range(4)])
    while any(child.poll() is None for child in updaters):
        found = TextClassifier.load("nbtext.joblib")  # readers see a whole model at any time
        assert 4 <= found.fitted.statistics.n_documents <= 44
    assert [child.wait(TIME_LIMIT) for child in updaters] == [0] * 4
    succeed("train pets -m trained")
    rows = (pets / "rows.tsv").open("w")
    with rows:
        rows.writelines(path.read_text() for path in sorted(pets.glob("c*.tsv")))
    succeed("update rows.tsv --format tsv -m trained")
    assert names(pets) == [
        "nbtext.joblib",
        *(["nbtext.joblib.1"] if options else []),
        "pets",
        "trained",
    ]
    succeed("prune --ledger")
    assert content("nbtext.joblib") == content("trained")


def test_model_replaced_by_one_with_other_counting_is_not_updated(pets: Path) -> None:
    os.mkfifo(pets / "slow.tsv")
    command = [sys.executable, "-m", "nbtext", "update", "slow.tsv", "--format", "tsv"]
    with start(command, env=ENVIRONMENT, stderr=subprocess.PIPE) as child:
        with (pets / "slow.tsv").open("w") as pipe:
            pipe.write("cats\tone\n")
            pipe.flush()
            wait_until(
                lambda: is_drained(pipe.fileno()), "the reading of the row"
            )  # which begins when the model has been read
            succeed("train pets --ngrams 2")
        assert child.wait(TIME_LIMIT) == 3
        assert child.stderr is not None
        assert child.stderr.read().decode() == (
            "nbtext: nbtext.joblib: another process replaced it by a model that counts differently, by --ngrams; run it again\n"
        )
    assert documents(pets) == 4


@pytest.fixture
def once(tmp_path: Path) -> Path:
    """A model with its ledger, a document to be learnt and one to be moved, and as ``expected`` the model that has."""
    corpus(tmp_path, {**PET_FILES, "new/birds/1": "a bird sings", "new/dogs/9": PETS["cats/2"]})
    succeed("train pets new --deduplicate -m expected")
    succeed("train pets --deduplicate")
    return tmp_path


@pytest.mark.repeated
@pytest.mark.parametrize(
    ("command", "stride"),
    [(["update", "new", "--skip-known"], 1), (["train", "pets", "new", "--deduplicate"], 3)],
    ids=["update", "train"],
)
def test_update_killed_at_any_step_is_completed_by_the_next_run(
    once: Path, command: list[str], stride: int
) -> None:
    """The model is always the old or the new one, with its ledger, and an update makes it the new one."""
    old, new = ((once / name).read_bytes() for name in ("nbtext.joblib", "expected"))
    update = ["update", "new", "--skip-known", "--backup"]
    outcomes = []
    stride *= rounds(3, 1) if stride == 1 else 1
    for die_at in range(1, 100, stride):
        write("nbtext.joblib", old)
        (once / "nbtext.joblib.1").unlink(missing_ok=True)
        status = children(once, [[DYING, str(die_at), *command, "--backup"]])[0].wait(TIME_LIMIT)
        found = content("nbtext.joblib")
        assert found in (old, new)
        known = LockedModelFile("nbtext.joblib").read_ledger()
        assert known is not None
        assert len(known) == (5 if found == new else 4)
        outcomes.append((status, found == new))
        note = nbtext(*update, "-v").notes[0]
        if found == new:
            assert (
                note
                == "nbtext: added 0 documents; moved from another class: 0, already in the model: 2, repeated in the input: 0"
            )
        else:
            assert (
                note
                == "nbtext: added 1 document; moved from another class: 1, already in the model: 0, repeated in the input: 0"
            )
            assert content("nbtext.joblib.1") == old
        assert content("nbtext.joblib") == new
        left = [name for name in names(once) if name.startswith(".") or name.endswith(".lock")]
        assert left == [], die_at
        if status == 0:
            break
    assert outcomes[-1] == (0, True)
    assert {outcome for status, outcome in outcomes if status == -signal.SIGKILL} == {False, True}
    assert stride * len(outcomes) > 12


@pytest.mark.parametrize("where", ["nbtext.model.locked_model.keep_backup", "pathlib.Path.replace"])
def test_failed_write_leaves_model_and_ledger_unchanged(
    once: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nbtext.store.ledger import Ledger

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    old = content("nbtext.joblib")
    with lock_model("nbtext.joblib", lock_timeout=0, backups=Backups(previous=True)) as file:
        model, ledger = file.load(), file.read_ledger()
        assert ledger is not None
        monkeypatch.setattr(where, fail)
        with pytest.raises(NbtextError, match="no space left"):
            file.replace(model.partial_fit(["a bird"], ["birds"]), Ledger.empty())
        monkeypatch.undo()
        found = file.read_ledger()
        assert found is not None
        assert (len(found), content("nbtext.joblib")) == (len(ledger), old)
    assert [name for name in names(once) if name.startswith(".")] == []
