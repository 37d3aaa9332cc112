from __future__ import annotations

import fcntl
import os
import stat
import sys
from typing import TYPE_CHECKING

import pytest

from nbtext.errors import PathError
from nbtext.store.atomic import append_line
from tests.process import ENVIRONMENT, TIME_LIMIT, Result, python, start

if TYPE_CHECKING:
    from pathlib import Path

APPENDING = "import fcntl, sys; from nbtext.store.atomic import append_line\n{}\nappend_line(sys.argv[1], sys.argv[2] * 100 + '\\n')"

APPENDER = """
import os, resource, sys
from nbtext.errors import PathError
from nbtext.store.atomic import append_line
for number in range(100):
    if sys.argv[1] == "cut":
        resource.setrlimit(resource.RLIMIT_FSIZE, (os.stat("log").st_size + 7, resource.RLIM_INFINITY))
    try:
        append_line("log", f"{sys.argv[1]} {number} " + "é" * 3000 + "\\n")
    except PathError:
        assert sys.argv[1] == "cut"
    else:
        assert sys.argv[1] != "cut"
"""
"""Adds lines; or as "cut" tries to, where there is hardly any room at the end of the file."""


def appended(path: Path, text: str, before: str = "", room: int | None = None) -> Result:
    """Add a line in a process that may write only so many bytes more to the file."""
    limits = {} if room is None else {"FSIZE": path.stat().st_size + room}
    return python(APPENDING.format(before), path, text, limits=limits)


def test_append_line_creates_the_file_and_adds_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append_line(str(path), "")
    assert path.read_bytes() == b""
    for text in ("one\n", "é" * 100_000 + "\n", "", "three\n"):
        append_line(str(path), text)
    assert path.read_text(encoding="utf-8") == "one\n" + "é" * 100_000 + "\nthree\n"


def test_append_line_writes_to_devices_and_pipes_directly() -> None:
    append_line(os.devnull, "one\n")
    with pytest.raises(PathError, match=r"/dev/full: cannot write \(no space left on device\)"):
        append_line("/dev/full", "one\n")
    reading, writing = os.pipe()
    append_line(f"/dev/fd/{writing}", "one\n")
    assert os.read(reading, 10) == b"one\n"
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("room", [0, 1, 50])
def test_partial_line_is_rolled_back(tmp_path: Path, room: int) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    assert b"cannot write (file too large)" in appended(path, "x", room=room).err
    assert path.read_text() == "before\n"


NO_LOCKS = "def refuse(*_): raise OSError(37, 'No locks available')\nfcntl.flock = refuse"


def test_without_locks_a_partial_line_is_not_rolled_back(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("before\n")
    assert b"cannot write (file too large)" in appended(path, "x", NO_LOCKS, room=50).err
    assert path.read_text() == "before\n" + "x" * 50
    assert appended(path, "y", NO_LOCKS).status == 0
    assert path.read_text() == "before\n" + "x" * 50 + "\n" + "y" * 100 + "\n"


def test_append_line_does_not_wait_for_a_held_lock(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert appended(path, "x").status == 0
    assert path.read_text() == "x" * 100 + "\n"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_append_line_works_without_read_permission(shared_folder: Path) -> None:
    path = shared_folder / "log"
    path.write_text("before, without an end")
    path.chmod(0o622)
    assert appended(path, "x", "import os; os.setuid(65534)").status == 0
    assert path.read_text() == "before, without an end" + "x" * 100 + "\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o622


def test_lines_of_many_processes_are_not_mixed(tmp_path: Path) -> None:
    (tmp_path / "log").touch()
    names = ["one", "two", "cut", "cut"]
    children = [start([sys.executable, "-c", APPENDER, name], env=ENVIRONMENT) for name in names]
    assert [child.wait(TIME_LIMIT) for child in children] == [0] * len(children)
    lines = (tmp_path / "log").read_text(encoding="utf-8").split("\n")
    assert sorted(lines) == sorted(
        ["", *(f"{name} {number} {'é' * 3000}" for name in names[:2] for number in range(100))]
    )
