"""Running the real command as a process, and what every failure of it has to look like."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

REPOSITORY = Path(__file__).resolve().parent.parent
SERVICE_DESK = REPOSITORY / "corpora" / "service-desk"

HOUSE = {"PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error"}
"""Environment of every process: nbtext from here, and no warning goes unnoticed."""

TIME_LIMIT = 60
"""Seconds after which a process counts as hanging; nothing here needs more than a few."""

MEMORY_LIMIT = 1 << 30
"""Bytes of address space for reading hostile files: Python with numpy maps about 300 MiB, so that 200 MiB and the file fit."""


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
    def notes(self) -> list[str]:
        """The lines of standard error."""
        return os.fsdecode(self.err).split("\n")[:-1]


def run(
    command: Sequence[str | bytes | Path],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
    patience: float = TIME_LIMIT,
) -> Result:
    """Run a program to its end; ``env`` is added to the environment."""
    done = subprocess.run(
        command,
        cwd=cwd,
        input=stdin,
        env={**os.environ, **(env or {})},
        capture_output=True,
        timeout=patience,
        check=False,
        preexec_fn=before,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def nbtext(
    *arguments: str | bytes | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
) -> Result:
    """Run nbtext to its end."""
    return run(
        [sys.executable, "-m", "nbtext", *arguments],
        cwd=cwd,
        stdin=stdin,
        env={**HOUSE, **(env or {})},
        before=before,
    )


def bash(command: str, *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Result:
    """Run a line of bash in which $NBTEXT is the command."""
    return run(["bash", "-c", command], cwd=cwd, env={"NBTEXT": f"{sys.executable} -m nbtext", **HOUSE, **(env or {})})


def succeeded(result: Result) -> Result:
    """The result of a command that is done and had nothing to say."""
    assert (result.status, result.notes) == (0, []), result
    return result


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


def limit_memory() -> None:
    """In a child: no more than `MEMORY_LIMIT`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


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
