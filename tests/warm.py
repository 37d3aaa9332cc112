"""Many runs of the command in little time: a process that has imported everything forks a child for each.

A child is what `python -m nbtext` is after its imports: it has streams and a working directory of its own and goes through `nbtext.cli.main.main`.
It can be made to wait until a tracer is attached, and to live under resource limits, so that faults can be put into every step of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self

from tests.process import HOUSE, PETS, TIME_LIMIT, Result, corpus

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PAGE = resource.getpagesize()
PR_SET_PTRACER = 0x59616D61


class Run:
    """One run, going on or ended."""

    def __init__(self, warm: Warm, number: int, folder: Path) -> None:
        self.number = number
        """Of its process."""
        self._warm, self._folder = warm, folder

    def result(self) -> Result:
        """How it ended, once it has; its status is negative if a signal killed it, as with `subprocess`."""
        status = os.waitstatus_to_exitcode(self._warm.ask({"wait": self.number}))
        out, err = ((self._folder / name).read_bytes() for name in ("out", "err"))
        return Result(status, out, err)


class Warm:
    """The process that has imported everything. Use it as a context."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._runs = 0

    def __enter__(self) -> Self:
        # a signal between the opening of a folder and what follows leaves it to Python to close it
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.warm"],
            env={**os.environ, **HOUSE, "PYTHONWARNINGS": "error,ignore::ResourceWarning", "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate(timeout=TIME_LIMIT)
        self._folder.cleanup()

    def ask(self, request: Mapping[str, Any]) -> Any:
        """One request to the server and its answer."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        return json.loads(self._server.stdout.readline())

    def start(
        self,
        *arguments: str | Path,
        cwd: Path,
        stdin: Path | None = None,
        stopped: bool = False,
        limits: Mapping[str, int] | None = None,
    ) -> Run:
        """Begin a run.

        ``stopped``: it stops itself before it begins, until it is sent SIGCONT. ``limits``: by names of `resource`, in bytes or numbers; AS is counted
        from what it has already.
        """
        self._runs += 1
        folder = Path(self._folder.name, str(self._runs))
        folder.mkdir()
        for name in ("out", "err"):
            (folder / name).touch()
        request = {
            "arguments": [str(argument) for argument in arguments],
            "cwd": str(cwd),
            "streams": [str(stdin or os.devnull), str(folder / "out"), str(folder / "err")],
            "stopped": stopped,
            "limits": dict(limits or {}),
        }
        return Run(self, self.ask(request), folder)

    def run(self, *arguments: str | Path, cwd: Path, stdin: Path | None = None, limits: Mapping[str, int] | None = None) -> Result:
        """Run to the end."""
        return self.start(*arguments, cwd=cwd, stdin=stdin, limits=limits).result()


def _serve() -> None:
    """Answer requests on standard input, one a line, until it ends."""
    with os.fdopen(os.dup(0), "r", encoding="utf-8") as requests, os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        _import_everything()
        while line := requests.readline():  # not by iteration, which would read ahead
            request = json.loads(line)
            if "wait" in request:
                _, answer = os.waitpid(request["wait"], 0)
            else:
                answer = os.fork()
                if not answer:
                    _become(**request)
            answers.write(f"{answer}\n")
            answers.flush()


def _import_everything() -> None:
    """Do once what the tests do, so that no module is imported afterwards."""
    from nbtext.cli.main import COMMANDS, run

    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(corpus(Path(name), {f"pets/{path}": text for path, text in PETS.items()}))
        for arguments in WARMING:
            if arguments[0] in COMMANDS:
                run(list(arguments))
        os.chdir(here)


WARMING: Sequence[Sequence[str]] = (
    ("train", "pets", "-v"),
    ("train", "nothing"),
    ("classify", "pets/cats/1", "nothing"),
    ("inspect", "--verify"),
    ("update", "pets", "-v"),
    ("update", "pets", "--once", "--backup"),
    ("forget", "pets"),
    ("merge", "nbtext.joblib", "nbtext.joblib", "-o", "merged.joblib"),
)


def _become(arguments: Sequence[str], cwd: str, streams: Sequence[str], limits: Mapping[str, int], *, stopped: bool) -> NoReturn:
    """In the child: the command."""
    from nbtext.cli.main import main

    try:
        for number, (path, flags) in enumerate(
            zip(streams, (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT), strict=True)
        ):
            os.dup2(os.open(path, flags), number)
        os.closerange(3, 64)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background may be told to ignore
        os.chdir(cwd)
        sys.argv = ["nbtext", *arguments]
        if stopped:
            ctypes.CDLL(None).prctl(PR_SET_PTRACER, -1, 0, 0, 0)  # so that a process that is not its parent may trace it
            os.kill(os.getpid(), signal.SIGSTOP)
        for name, value in limits.items():
            already = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE if name == "AS" else 0
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (already + value,) * 2)
        main()
    finally:
        os._exit(99)  # it does not come to this


def until(condition: Any, what: str) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + TIME_LIMIT
    while not condition():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.0005)


if __name__ == "__main__":
    _serve()
