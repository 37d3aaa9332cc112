"""How a command with ``--jobs`` ends before its time: one line or none, its exit status, the old model, and no process left."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process import (
    ENVIRONMENT,
    TIME_LIMIT,
    content,
    is_sleeping,
    start,
    succeed,
    wait_until,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROWS = b"cats\tthe cat purrs\ndogs\tthe dog barks\n" * 50


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a corpus, a model of it, and two pipes that nobody writes to."""
    write("rows.tsv", ROWS)
    for name in ("one", "other"):
        os.mkfifo(tmp_path / name)
    succeed("train rows.tsv -m model")
    return tmp_path


class Running:
    """A command in a process group of its own, with what it started."""

    def __init__(self, folder: Path, arguments: Sequence[str], workers: int) -> None:
        self._folder = folder
        self.process = start(
            [sys.executable, "-m", "tests.small_shards", *arguments], cwd=folder, env=ENVIRONMENT,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, new_session=True,
        )  # fmt: skip
        wait_until(lambda: len(self.children()) >= workers, f"{workers} workers")
        self.workers = self.children()  # with new interpreters one may be loky's own

    def children(self) -> list[int]:
        """Process ids of its living children."""
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return (
            [int(number) for number in found.read_text(encoding="ascii").split()]
            if found.exists()
            else []
        )

    def ended(self, *, group: bool = True) -> tuple[int, list[str]]:
        """Exit status and the lines of standard error; nothing of its group is left."""
        _, err = self.process.communicate(timeout=TIME_LIMIT)
        if group:
            with pytest.raises(ProcessLookupError):
                os.killpg(self.process.pid, 0)
        return self.process.wait(), err.decode().splitlines()


def write_to_whoever_reads(folder: Path) -> None:
    """Rows into each pipe, where it is open for reading by then."""
    for name in ("one", "other"):
        try:
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        with contextlib.suppress(BrokenPipeError):  # it was open a moment ago
            os.write(descriptor, ROWS)
        os.close(descriptor)


TRAIN = (
    "100",
    "train",
    "rows.tsv",
    "one",
    "other",
    "--format",
    "tsv",
    "--label-column",
    "1",
    "--text-column",
    "2",
    "--no-header",
    "-m",
    "model",
    "-j",
    "2",
)
INTERRUPTED = "nbtext: interrupted; nothing was written"
CLASSIFY = ("100:stall", "classify", "rows.tsv", "-m", "model", "-j", "2")
EVALUATE = ("100:stall", "evaluate", "rows.tsv", "-m", "model", "-j", "3")


def start_until_waiting(folder: Path, arguments: Sequence[str], workers: int) -> Running:
    """A command whose processes all wait."""
    running = Running(folder, arguments, workers)
    if "stall" in arguments[0]:
        wait_until(lambda: len([*folder.glob("stalled-*")]) >= workers, "the stall")
    else:
        wait_until(
            lambda: all(
                is_sleeping(process) for process in (running.process.pid, *running.workers)
            ),
            "the wait for rows",
        )
    return running


def test_killed_worker_in_training_leaves_the_old_model(folder: Path) -> None:
    before = content("model")
    running = start_until_waiting(folder, TRAIN, 1)
    os.kill(running.workers[0], signal.SIGKILL)
    while running.process.poll() is None:
        write_to_whoever_reads(folder)
    status, notes = running.ended()
    assert status == 4
    assert len(notes) == 1
    assert notes[0].startswith("nbtext: a worker process ended before its work was done; ")
    assert content("model") == before
    assert sorted(path.name for path in folder.iterdir() if "lock" not in path.name) == [
        "model",
        "one",
        "other",
        "rows.tsv",
    ]


@pytest.mark.parametrize(("arguments", "workers"), [(CLASSIFY, 2), (EVALUATE, 3)])
def test_killed_worker_in_scoring_ends_the_command(
    folder: Path, arguments: tuple[str, ...], workers: int
) -> None:
    running = start_until_waiting(folder, arguments, workers)
    os.kill(running.workers[-1], signal.SIGKILL)
    status, notes = running.ended()
    assert status == 4
    assert [note.partition(";")[0] for note in notes] == [
        "nbtext: a worker process ended before its work was done"
    ]


@pytest.mark.parametrize(("arguments", "workers"), [(TRAIN, 1), (CLASSIFY, 2), (EVALUATE, 3)])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("send", [os.kill, os.killpg])
def test_signal_ends_all_processes(
    folder: Path,
    arguments: tuple[str, ...],
    workers: int,
    number: signal.Signals,
    send: Callable[[int, int], None],
) -> None:
    before = content("model")
    running = start_until_waiting(folder, arguments, workers)
    send(running.process.pid, number)
    notes = [INTERRUPTED] if number == signal.SIGINT else []
    assert running.ended() == (128 + number, notes)
    assert content("model") == before


def test_workers_end_after_their_parent_is_killed(folder: Path) -> None:
    running = start_until_waiting(folder, CLASSIFY, 2)
    os.kill(running.process.pid, signal.SIGKILL)
    assert running.ended(group=False) == (
        -signal.SIGKILL,
        [],
    )  # both streams are closed when the last worker has gone


def test_spawned_processes_end_as_forked_ones(folder: Path) -> None:
    running = start_until_waiting(folder, ("100:stall:spawn", *CLASSIFY[1:]), 2)
    os.killpg(running.process.pid, signal.SIGINT)
    assert running.ended(group=False) == (128 + signal.SIGINT, [INTERRUPTED])
