"""Install a wheel into clean environments and use it there.

`python release/environments.py dist/nbtext-*.whl` prints a table.

There is an environment for each Python from 3.11 to 3.14 on PATH or below $PYENV_ROOT, with the
newest packages, and one for the oldest of them with the lowest versions that pyproject.toml
declares. In each, nbtext trains on the service desk, predicts and evaluates. The
answers must be the same everywhere. Exit status 1 if anything failed.
"""
# ruff: noqa: INP001, S603, T201 - a script, not a package, which runs what it has installed and prints a table

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT / "corpora" / "service-desk"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOWEST = [dependency.replace(">=", "==") for dependency in PROJECT["dependencies"]]
PACKAGES = [dependency.partition("==")[0] for dependency in LOWEST]

VERSIONS = f"""
import platform
from importlib.metadata import version
print(platform.python_version(), *map(version, {PACKAGES!r}))
"""
FROM_PYTHON = """
from nbtext import TextClassifier
assert TextClassifier.load("nbtext.joblib").predict(["my bin was not emptied"])[0] == "waste-collection"
"""


class FailedError(Exception):
    """A command did not do what it should; the text says which."""


class Row(NamedTuple):
    """What one environment has, and what came out of it."""

    environment: str
    versions: tuple[str, ...]
    accuracy: str = ""
    answers: str = ""
    problem: str = ""


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Return what a command prints, with nothing of this interpreter's surroundings."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "NBTEXT"))
    }
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FailedError(
            f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr.strip()}"
        )
    return done.stdout


def interpreter(version: str) -> str | None:
    """Return the path of a Python that runs, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [
        shutil.which(f"python{version}"),
        *map(str, sorted(pyenv.glob(f"{version}.*/bin/python{version}"), reverse=True)),
    ]
    for candidate in filter(None, candidates):
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def used(name: str, python: str, wheel: Path, constraints: list[str]) -> Row:
    """Return the row of an environment, made anew and removed again."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        programs = folder / "env" / "bin"
        try:
            run(python, "-m", "venv", folder / "env")
            run(
                programs / "python",
                "-m",
                "pip",
                "install",
                "-qq",
                "--disable-pip-version-check",
                wheel,
                *constraints,
            )
            versions = tuple(run(programs / "python", "-c", VERSIONS).split())
        except FailedError as failure:
            return Row(name, (), problem=str(failure))
        try:
            run(programs / "nbtext", "train", CORPUS / "train", cwd=folder)
            answers = run(programs / "nbtext", "classify", CORPUS / "test", cwd=folder)
            figures = run(
                programs / "nbtext",
                "evaluate",
                CORPUS / "test",
                "--fail-under",
                "accuracy=0.7",
                cwd=folder,
            )
            run(programs / "nbtext", "doctor", cwd=folder)
            run(programs / "python", "-c", FROM_PYTHON, cwd=folder)
        except FailedError as failure:
            return Row(name, versions, problem=str(failure))
    accuracy = next(line.split()[1] for line in figures.splitlines() if line.startswith("accuracy"))
    return Row(name, versions, accuracy, hashlib.sha256(answers.encode()).hexdigest()[:8])


def main(arguments: list[str]) -> int:
    """Print the table; return 1 if anything failed or answers differ."""
    [wheel] = map(Path, arguments)
    found = {version: interpreter(version) for version in PYTHONS}
    there = [version for version in PYTHONS if found[version]]
    rows = [used(version, str(found[version]), wheel, []) for version in there]
    rows.append(used("lowest", str(found[there[0]]), wheel, LOWEST))
    print(f"{wheel.name}, used in clean environments; answers: digest of 78 records\n")
    table = [["", "Python", *PACKAGES, "accuracy", "answers"]]
    table += [
        [row.environment, *row.versions, row.accuracy, row.answers]
        for row in rows
        if not row.problem
    ]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        )
    for version in PYTHONS:
        if not found[version]:
            print(f"{version}: not on this machine")
    problems = [f"{row.environment}: {row.problem}" for row in rows if row.problem]
    if len({row.answers for row in rows if not row.problem}) > 1:
        problems.append("the answers differ")
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
