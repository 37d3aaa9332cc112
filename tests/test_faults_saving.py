"""Disks that are full or fail, too little memory, too few open files: the old model stays, and one line says why."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import commands
from tests.commands import READING, WRITING, Setting, prepare
from tests.process import (
    ENVIRONMENT,
    TIME_LIMIT,
    bash,
    content,
    corpus,
    error_line,
    python,
    run,
    start,
    succeed,
    succeeded,
    write,
)
from tests.tracing import CALLS, Fault, run_with_faults, untraceable

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def training(tmp_path: Path) -> Setting:
    made = prepare(tmp_path, WRITING["train"])
    made.restore()
    return made


@pytest.fixture
def traced(training: Setting) -> Setting:
    if (why := untraceable()) is not None:
        pytest.skip(why)
    return training


def no_mounts() -> bool:
    mount = ["unshare", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which("unshare") is None or run(mount).status != 0


@pytest.mark.skipif(no_mounts(), reason="no file system may be mounted here")
@pytest.mark.fresh_interpreters("the name space of the shell")
def test_fault_24_full_disk_leaves_the_old_model(pets: Path) -> None:
    (pets / "disk").mkdir()
    done = bash(
        "unshare --map-root-user --mount bash -c 'mount -t tmpfs -o size=20k tmpfs disk && cp nbtext.joblib disk && "
        "head -c 8192 /dev/zero > disk/rest; $NBTEXT train pets -m disk/nbtext.joblib; echo $?; cmp disk/nbtext.joblib nbtext.joblib; ls -A disk'",
    )
    assert done.text.split() == ["4", "nbtext.joblib", "rest"], done
    assert (
        done.notes[-1]
        == "nbtext: disk/nbtext.joblib: cannot write: no space left on device; the file is as it was"
    )


@pytest.mark.parametrize(
    ("kind", "what", "number", "message"),
    [
        ("sync", "EIO", 1, "cannot write: input/output error; the file is as it was"),
        ("sync", "EIO", 2, "written, but may not survive a power cut: input/output error"),
        ("rename", "EACCES", 1, "cannot write: permission denied; the file is as it was"),
        ("rename", "EXDEV", 1, "cannot write: invalid cross-device link; the file is as it was"),
        ("rename", "EBUSY", 1, "cannot write: device or resource busy; the file is as it was"),
    ],
)
def test_faults_25_and_26_failure_to_sync_or_rename_is_reported(
    traced: Setting, kind: str, what: str, number: int, message: str
) -> None:
    fault = Fault(CALLS[kind], f"error={what}", number)
    result, _ = run_with_faults(traced.folder, traced.command.arguments, fault)
    assert error_line(result, 4) == f"nbtext: m: {message}"
    assert traced.model.read_bytes() == (
        traced.new if message.startswith("written") else traced.old
    )
    assert not traced.left_over()


def test_fault_33_hard_link_is_split(training: Setting) -> None:
    """As documented: the other name keeps the old model."""
    os.link(training.model, training.folder / "other")
    succeeded(training.run())
    assert (training.model.read_bytes(), (training.folder / "other").read_bytes()) == (
        training.new,
        training.old,
    )


def test_fault_43_short_reads_give_the_same_model(tmp_path: Path) -> None:
    """A corpus that comes byte by byte is the corpus."""
    text = "".join(f"class{number % 3}\tword{number} and others\n" for number in range(30)).encode()
    write("c.tsv", text)
    succeed("train c.tsv -m whole")
    with start(
        [sys.executable, "-m", "nbtext", "train", "-", "--format", "tsv", "-m", "dropwise"],
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
    ) as child:
        assert child.stdin is not None
        for place in range(len(text)):
            child.stdin.write(text[place : place + 1])
        child.stdin.close()
        assert child.wait(TIME_LIMIT) == 0
    assert content("dropwise") == content("whole")


MEMORY = [0, *(int((1 << 16) * 1.6**step) for step in range(16))]
"""Bytes beyond what a process has when it begins; from 64 KiB to 75 MiB."""


@pytest.mark.parametrize(
    "name", [*(name for name in WRITING if name != "promote"), "classify"]
)  # promote copies bytes, for which there is room in any process
def test_fault_44_too_little_memory_is_reported_or_enough(tmp_path: Path, name: str) -> None:
    tried = prepare(tmp_path, {**WRITING, **READING}[name])
    statuses = set()
    for more in MEMORY:
        tried.restore()
        result = tried.run(limits={"AS": more})
        statuses.add(result.status)
        if result.status:
            assert "memory" in error_line(result, 4)
        else:
            assert (result.out, result.err) == (tried.out, b"")
        tried.check(result)
        assert not tried.left_over()
    # To merge and write small models may need no more memory than a process has when it begins.
    assert statuses == {0, 4} or (name, statuses) == ("merge", {0})


def test_fault_45_too_few_open_files_are_reported_and_few_are_enough(training: Setting) -> None:
    """Files are closed as it goes: many documents need no more than few, and too few for few leave all as it was."""
    corpus(
        training.folder / "many",
        {f"{number % 2}/{number}": f"word{number}" for number in range(300)},
    )
    statuses = []
    for limit in range(3, 12):
        result = commands.run(
            "train", "many", "-m", training.model, cwd=training.folder, limits={"NOFILE": limit}
        )
        statuses.append(result.status)
        if result.status:
            assert "too many open files" in error_line(result, result.status)
            assert (training.model.read_bytes(), training.left_over()) == (training.old, set())
    failed = [status for status in statuses if status]
    assert set(failed) <= {3, 4}  # the old model cannot be read, or the new one not be written
    assert statuses == [*failed, *[0] * (9 - len(failed))]
    assert 0 < len(failed) < 9
    result = commands.run(
        "classify", "many", "-m", training.model, cwd=training.folder, limits={"NOFILE": 8}
    )
    assert len(succeeded(result).rows) == 300


def test_failure_without_a_file_name_is_not_blamed_on_standard_output(pets: Path) -> None:
    code = (
        "import errno, os, sys; import nbtext.inspection.overview as o; from nbtext.cli.main import run\n"
        "def broken(*_): raise OSError(errno.EIO, os.strerror(errno.EIO))\n"
        "o.build_overview = broken; sys.exit(run(['inspect']))"
    )
    assert error_line(python(code), 4) == "nbtext: cannot read or write: input/output error"
    full = bash("$NBTEXT inspect > /dev/full")
    assert (full.status, full.notes) == (
        4,
        ["nbtext: standard output: cannot write: no space left on device"],
    )
