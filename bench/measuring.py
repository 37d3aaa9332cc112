"""Running commands as whole processes, in turn, and what they took."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

MEBIBYTE = 1 << 20

NBTEXT = [sys.executable, "-m", "nbtext"]


class CommandError(Exception):
    """A measured command ended with a status other than 0, or was ended because it took too long."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Measured:
    clock: float  # seconds
    processor: float  # seconds of a processor, by the program and by the kernel for it
    peak: float  # MiB
    output: bytes


@dataclass
class Series:
    """What one command took, round by round, or why there is nothing."""

    runs: list[Measured] = field(default_factory=list)
    problem: str = ""

    def seconds(self) -> float:
        return statistics.median(run.processor for run in self.runs)

    def clock(self) -> float:
        return statistics.median(run.clock for run in self.runs)

    def peak(self) -> float:
        return max(run.peak for run in self.runs)

    def ratio(self, base: Series) -> float:
        return statistics.median(
            mine.processor / theirs.processor
            for mine, theirs in zip(self.runs, base.runs, strict=True)
        )


def measure(command: list[str], *, keep: bool = True, most: int | None = None) -> Measured:
    """Run one command to its end; time it from before it is started until it has been waited for.

    Without ``keep`` its output is not read. After ``most`` seconds of a processor it is ended, which is an error.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        limit = [] if most is None else ["sh", "-c", f'ulimit -t {most} && exec "$0" "$@"']
        process = subprocess.Popen(
            [*limit, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=err
        )
        _, status, usage = os.wait4(process.pid, 0)
        clock = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            said = err.read().decode(errors="replace").strip().splitlines() or ["nothing"]
            raise CommandError(
                f"{' '.join(command)} ended with {process.returncode}, saying: {said[-1]}",
                process.returncode,
            )
        peak = usage.ru_maxrss / (MEBIBYTE if sys.platform == "darwin" else 1024)
        return Measured(clock, usage.ru_utime + usage.ru_stime, peak, out.read() if keep else b"")


def in_turn(
    commands: dict[str, list[str]], runs: int, absent: dict[str, str] | None = None
) -> dict[str, Series]:
    """Run the commands one after the other, `runs` rounds and one before that is not counted; a failing peer is left out."""
    series = {name: Series(problem=(absent or {}).get(name, "")) for name in commands}
    for number in range(-1 if runs > 1 else 0, runs):
        for name, command in commands.items():
            if series[name].problem:
                continue
            try:
                measured = measure(command)
            except CommandError as failure:
                if Path(command[0]).name == "nbtext":
                    raise
                print(f"{name}: {failure}", file=sys.stderr)
                series[name] = Series(problem="failed")
            else:
                series[name].runs += [measured] if number >= 0 else []
    return series


def markdown(columns: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, the first column to the left, the others to the right."""
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def write_between(page: Path, name: str, text: str) -> None:
    """Put a text between the two comments of a page that mark the beginning and the end of what has this name."""
    before, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name}: begin -->")
    _, end, after = rest.partition(f"<!-- {name}: end -->")
    if not (begin and end):
        sys.exit(f"{page} has no marks <!-- {name}: begin --> and <!-- {name}: end -->")
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")


def progress(text: str) -> None:
    print(f"... {text}", file=sys.stderr, flush=True)
