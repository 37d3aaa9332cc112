"""Faults of the operating system put into a run of the command: strace lets a chosen system call fail, or sends a signal at it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.commands import Run
from tests.process import TIME_LIMIT, Result, run, wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

CALLS = {
    "open": "?open,?openat,?openat2",
    "read": "?read,?pread64,?readv,?preadv",
    "list": "?getdents,?getdents64",
    "stat": "?stat,?fstat,?lstat,?newfstatat,?statx",
    "access": "?access,?faccessat,?faccessat2",
    "getcwd": "?getcwd",
    "readlink": "?readlink,?readlinkat",
    "write": "?write,?pwrite64,?writev,?pwritev",
    "seek": "?lseek",
    "map": "?mmap",
    "close": "?close",
    "sync": "?fsync,?fdatasync",
    "rename": "?rename,?renameat,?renameat2",
    "remove": "?unlink,?unlinkat",
    "link": "?link,?linkat",
    "mode": "?fchmod,?fchmodat",
    "owner": "?fchown,?fchownat",
    "lock": "?flock",
    "random": "?getrandom",
}
"""Kinds of system calls, by the names that they have on one machine or another."""


@cache
def untraceable() -> str | None:
    """Why no process can be traced here; None if one can."""
    if shutil.which("strace") is None:
        return "no strace on this machine"
    done = run(
        [
            "strace",
            "-f",
            "-qq",
            "-o",
            os.devnull,
            "-e",
            "inject=?fsync:error=EIO",
            sys.executable,
            "-c",
            "pass",
        ]
    )
    return None if done.status == 0 else "processes may not be traced here"


class Traced(NamedTuple):
    """How a run ended, and what strace wrote of its system calls."""

    result: Result
    log: str

    @property
    def faults(self) -> int:
        """How many calls met with a fault."""
        return self.log.count("(INJECTED)")

    def last(self, kind: str) -> int:
        """Return the number of the last call of a kind, counted as in a `Fault`: each name by itself."""
        names = CALLS[kind].replace("?", "").replace(",", "|")
        return max(Counter(re.findall(rf"(?m)^\d+ +(?:{names})\(", self.log)).values(), default=0)


class Fault(NamedTuple):
    """The ``number``-th call of each of some names fails with ``error=EIO``, or is met by ``signal=KILL``, and the like."""

    calls: str
    what: str
    number: int


def run_with_faults(cwd: Path, arguments: Sequence[str | Path], *faults: Fault) -> Traced:
    """A run in which some system calls meet with faults, each once; without any, all of `CALLS` are traced."""
    going = Run(*arguments, cwd=cwd, stopped=True)
    status = Path(f"/proc/{going.process.pid}/status")
    wait_until(lambda: "State:\tT" in status.read_text(), "the stop")
    with tempfile.NamedTemporaryFile() as log:
        calls = ",".join([fault.calls for fault in faults] or CALLS.values())
        options = ["-f", "-qq", "-o", log.name, "-e", "signal=none", "-e", f"trace={calls}"]
        for fault in faults:
            options += ["-e", f"inject={fault.calls}:{fault.what}:when={fault.number}"]
        with subprocess.Popen(
            ["strace", *options, "-p", str(going.process.pid)], stderr=subprocess.DEVNULL
        ) as tracer:
            wait_until(
                lambda: "TracerPid:\t0\n" not in status.read_text() or tracer.poll() is not None,
                "the tracer",
            )
            os.kill(going.process.pid, signal.SIGCONT)
            result = going.result()
            tracer.wait(TIME_LIMIT)
        return Traced(result, Path(log.name).read_text())
