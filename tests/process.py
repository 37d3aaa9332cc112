"""Running the real command as a process, and what every failure of it has to look like."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import resource
import shlex
import signal
import subprocess
import sys
import termios
import time
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Protocol, Self

from tests import fork_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import TracebackType

REPOSITORY = Path(__file__).resolve().parent.parent
SERVICE_DESK = REPOSITORY / "corpora" / "service-desk"

ENVIRONMENT = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error"}
"""Environment of every process: nbtext from here, and no warning goes unnoticed."""

TIME_LIMIT = 60
"""Seconds after which a process counts as hanging; nothing here needs more than a few."""

MEMORY = {"AS": 700 << 20}
"""Limits for reading hostile files: bytes of address space beyond what Python with numpy and scipy has mapped, so that 200 MiB and the file fit."""


LITTLE_MEMORY = {"AS": 64 << 20}
"""Limits for reading what is larger than this memory."""


class Result(NamedTuple):
    """How a process ended."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """Standard output; bytes that are no text as surrogates."""
        return os.fsdecode(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """Standard output as TSV."""
        return [line.split("\t") for line in self.text.split("\n")[:-1]]

    @property
    def records(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return json_lines(self.out)

    @property
    def notes(self) -> list[str]:
        """The lines of standard error."""
        return os.fsdecode(self.err).split("\n")[:-1]


def json_lines(text: str | bytes) -> list[dict[str, Any]]:
    """Return the objects of JSON lines."""
    return [json.loads(line) for line in text.splitlines()]


class Running(Protocol):
    """A process, as `subprocess.Popen` and `tests.fork_server.Process` show it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    @property
    def stdin(self) -> IO[bytes] | None: ...
    @property
    def stdout(self) -> IO[bytes] | None: ...
    @property
    def stderr(self) -> IO[bytes] | None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...
    def communicate(
        self, stdin: bytes = b"", /, timeout: float | None = None
    ) -> tuple[bytes, bytes]: ...


class InterpreterStarts:
    """How Python programs are started."""

    fresh_interpreters = False
    """Whether by a new interpreter each."""
    count = 0
    """How many were started so."""


@contextlib.contextmanager
def fresh_interpreters(wanted: bool = True) -> Iterator[None]:
    """Start Python programs by new interpreters, as in tests that are marked ``fresh_interpreters``: where start-up itself is what is tested."""
    before, InterpreterStarts.fresh_interpreters = InterpreterStarts.fresh_interpreters, wanted
    try:
        yield
    finally:
        InterpreterStarts.fresh_interpreters = before


def start(
    command: Sequence[str | bytes | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    new_session: bool = False,
    limits: Mapping[str, int] | None = None,
) -> Running:
    """Start a program; ``env`` is added to the environment, streams are as in `subprocess.Popen`, limits as in `tests.fork_server.start`.

    ``python -m MODULE`` and ``python -c CODE`` are forked from a process that has imported nbtext, unless the test is marked ``fresh_interpreters``.
    """
    environment = {**os.environ, **(env or {})}
    streams: dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
    if command[0] == sys.executable and command[1] in ("-m", "-c"):
        if not InterpreterStarts.fresh_interpreters:
            changed = {
                name
                for name, value in (env or {}).items()
                if name.startswith("PYTHON") and value != ENVIRONMENT.get(name)
            }
            assert not changed, (
                f"{changed} matter at the start of Python: mark the test with fresh_interpreters"
            )
            program = [os.fsdecode(word) for word in command[1:]]
            return fork_server.start(
                program, cwd=cwd, env=environment, new_session=new_session, limits=limits, **streams
            )
        InterpreterStarts.count += 1
    before = partial(limit, limits) if limits else None
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        start_new_session=new_session,
        preexec_fn=before,  # noqa: PLW1509
        **streams,
    )


def limit(limits: Mapping[str, int]) -> None:
    """Limit this process, which is about to become Python; by names of `resource`, AS beyond what Python with numpy maps."""
    for name, value in limits.items():
        resource.setrlimit(
            getattr(resource, f"RLIMIT_{name}"), (value + (300 << 20 if name == "AS" else 0),) * 2
        )


def run(
    command: Sequence[str | bytes | Path],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    limits: Mapping[str, int] | None = None,
    patience: float = TIME_LIMIT,
) -> Result:
    """Run a program to its end; see `start`."""
    pipe = subprocess.PIPE
    with start(
        command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe, limits=limits
    ) as child:
        try:
            out, err = child.communicate(stdin, patience)
        except BaseException:
            child.kill()
            raise
    return Result(child.wait(), out, err)


def python(
    code: str,
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    limits: Mapping[str, int] | None = None,
) -> Result:
    """Run some Python to its end; see `start`."""
    return run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        stdin=stdin,
        env={**ENVIRONMENT, **(env or {})},
        limits=limits,
    )


def nbtext(
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    limits: Mapping[str, int] | None = None,
) -> Result:
    """Run nbtext to its end; see `start`. A first argument with blanks is a line for a shell, without the name of the command."""
    line, others = arguments[:1], arguments[1:]
    words = shlex.split(line[0]) if line and isinstance(line[0], str) and " " in line[0] else line
    return run(
        [sys.executable, "-m", "nbtext", *words, *others],
        cwd=cwd,
        stdin=stdin,
        env={**ENVIRONMENT, **(env or {})},
        limits=limits,
    )


def at_terminal(
    *arguments: str,
    code: str = "",
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    typed: bytes = b"",
    answers: bool = True,
    interrupt_at: bytes = b"",
    columns: int = 0,
) -> Result:
    """Run nbtext, or some Python that runs it, before a terminal that takes its standard error, and its standard output unless not ``answers``.

    Once the terminal shows ``interrupt_at``, the program is interrupted. The terminal is ``columns`` wide; 0 if it does not say.
    """
    ours, theirs = pty.openpty()
    if columns:
        termios.tcsetwinsize(ours, (24, columns))
    with start(
        [sys.executable, *(["-c", code] if code else ["-m", "nbtext"]), *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "100", **(env or {})},
        stdin=theirs,
        stdout=theirs if answers else subprocess.PIPE,
        stderr=theirs,
        new_session=True,
    ) as child:
        os.close(theirs)
        os.write(ours, typed)
        shown = b""
        with contextlib.suppress(OSError):  # Linux says so when the other side has closed
            while chunk := os.read(ours, 65536):
                shown += chunk
                if interrupt_at and interrupt_at in shown:
                    child.send_signal(signal.SIGINT)
                    interrupt_at = b""
        os.close(ours)
        out = b"" if child.stdout is None else child.stdout.read()
        return Result(child.wait(TIME_LIMIT), out, shown.replace(b"\r\n", b"\n"))


def bash(command: str, *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Result:
    """Run a line of bash in which $NBTEXT is the command."""
    return run(
        ["bash", "-c", command],
        cwd=cwd,
        env={"NBTEXT": f"{python_in_shell()} -m nbtext", **ENVIRONMENT, **(env or {})},
    )


def python_in_shell() -> str:
    """Return what stands for Python in a shell script."""
    if InterpreterStarts.fresh_interpreters:
        InterpreterStarts.count += 1
        return sys.executable
    return fork_server.client()


def wait_until(condition: Callable[[], object], what: str, limit: float = TIME_LIMIT) -> None:
    """Wait until a condition holds; fail if it does not within ``limit`` seconds."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.0005)


def is_drained(descriptor: int) -> bool:
    """Return whether somebody has read all that was written to a pipe."""
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder) == 0


def is_sleeping(process: int) -> bool:
    """Return whether a process waits for something."""
    return (
        Path(f"/proc/{process}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
        == "S"
    )


def succeeded(result: Result) -> Result:
    """The result of a command that is done and had nothing to say."""
    assert (result.status, result.notes) == (0, []), result
    return result


def succeed(
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run nbtext, which must succeed and have nothing to say."""
    return succeeded(nbtext(*arguments, cwd=cwd, stdin=stdin, env=env))


def in_json(*arguments: str | bytes | Path, cwd: Path | None = None, stdin: bytes = b"") -> Any:
    """Run nbtext with ``--output json``, and return what it prints."""
    return json.loads(succeed(*arguments, "--output", "json", cwd=cwd, stdin=stdin).out)


def fail(
    status: int,
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
) -> str:
    """Run nbtext, which must fail with this status, and return its one line."""
    return error_line(nbtext(*arguments, cwd=cwd, stdin=stdin, env=env), status)


def error_line(result: Result, status: int) -> str:
    """The one line on standard error of a command that failed with this status and printed no data."""
    assert result.status == status, result
    assert not result.out, result
    assert len(result.notes) == 1, result
    assert result.err.startswith(b"nbtext: "), result
    assert result.err.endswith(b"\n"), result
    assert not any(byte < 0x20 or byte == 0x7F for byte in result.err[:-1]), result
    assert b"internal error" not in result.err, result
    return result.notes[0]


def content(name: str) -> bytes:
    """Return the bytes of a file of the test's folder."""
    return Path(name).read_bytes()


def names(folder: Path) -> list[str]:
    """Return the names of what is in a folder, in order."""
    return sorted(path.name for path in folder.iterdir())


def write(name: str, text: str | bytes | bytearray) -> Path:
    """Write a file of the test's folder."""
    path = Path(name)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def corpus(folder: Path, documents: Mapping[str, str | bytes]) -> Path:
    """A folder with the given files, by path."""
    for name, content in documents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


PETS = {
    "cats/1": "the cat purrs on the sofa",
    "cats/2": "cats climb and scratch the sofa",
    "dogs/1": "the dog barks at the postman",
    "dogs/2": "dogs fetch sticks and bark",
}
"""A corpus of two classes."""

PET_FILES = {f"pets/{name}": text for name, text in PETS.items()}
"""It in a folder of its own."""
