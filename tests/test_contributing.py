"""The worked examples of CONTRIBUTING.md, carried out in a copy of the package: each addition works by its one function and one line."""

from __future__ import annotations

import json
import re
import shutil
import sys
from textwrap import dedent, indent
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.process import REPOSITORY, SERVICE_DESK, corpus, run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ADDITION = re.compile(r"^   ```python\n   # (?P<file>[\w/]+\.py)(?:, in (?P<table>\w+))?\n(?P<code>.*?)^   ```$", re.MULTILINE | re.DOTALL)
RUN = """
import contextlib, io, json, sys
from nbtext.cli.main import run
results = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), write_through=True)) as out:
        status = run(words)
    results.append((status, out.buffer.getvalue().decode()))
print(json.dumps(results))
"""


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str


def added(section: str, folder: Path) -> Path:
    """Copy the package and add what a section of CONTRIBUTING.md shows; a line of a table goes to its end, other code to the end of the file."""
    shutil.copytree(REPOSITORY / "nbtext", folder / "nbtext")
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").split(f"## {section}\n")[1].split("\n## ")[0]
    additions = list(ADDITION.finditer(text))
    assert len(additions) == 2, "one function and one line"
    for addition in additions:
        path = folder / addition["file"]
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        code = dedent(addition["code"])
        if addition["table"] is None:
            place = re.search(r"^METRICS = ", before, re.MULTILINE)  # a table that names the function
            at = place.start() if place else len(before)
            after = f"{before[:at]}{code}\n\n{before[at:]}"
        else:
            head, table, rest = re.split(
                rf"(^{addition['table']} = [({{]\n.*?)(?=^[)}}]$)", before, maxsplit=1, flags=re.MULTILINE | re.DOTALL
            )
            after = head + table + indent(code, "    ") + rest
        path.write_text(after, encoding="utf-8")
    return folder


def carried_out(package: Path, commands: Sequence[Sequence[str | Path]]) -> list[Done]:
    """Run commands one after the other in one process that imports the copy."""
    words = json.dumps([[str(word) for word in command] for command in commands])
    done = run(
        [sys.executable, "-c", RUN, words], cwd=package, env={"PYTHONPATH": str(package), "PYTHONWARNINGS": "error", "COLUMNS": "200"}
    )
    assert done.status == 0, done.notes
    return [Done(*result) for result in json.loads(done.text)]


@pytest.mark.cold("imports a copy of the package")
def test_a_format_of_corpora(tmp_path: Path) -> None:
    package = added("Add a format of corpora", tmp_path)
    corpus(tmp_path, {"pets.dash": "cats - it purrs\ndogs - it barks\ndogs - wags and barks\n", "bad.dash": "cats - it purrs\nno label\n"})
    trained, answered, explicit, helped = carried_out(
        package,
        [
            ["train", "pets.dash", "--stop-words", "none"],
            ["classify", "pets.dash"],
            ["evaluate", "bad.dash", "--format", "dashes", "-o", "json"],
            ["train", "--help"],
        ],
    )
    assert trained.status == 0
    assert [row.split("\t")[:2] for row in answered.out.splitlines()] == [
        ["pets.dash:1", "cats"],
        ["pets.dash:2", "dogs"],
        ["pets.dash:3", "dogs"],
    ]
    assert (explicit.status, json.loads(explicit.out)["n"]) == (1, 1)
    assert "dashes (label - text)" in " ".join(helped.out.split())


@pytest.mark.cold("imports a copy of the package")
def test_a_metric(tmp_path: Path, service_desk_model: Path) -> None:
    package = added("Add a metric", tmp_path)
    evaluate: list[str | Path] = ["evaluate", SERVICE_DESK / "test", "-m", service_desk_model]
    figures, table, gate, wrong = carried_out(
        package,
        [
            [*evaluate, "-o", "json"],
            evaluate,
            [*evaluate, "--fail-under", "kappa=0.999"],
            [*evaluate, "--fail-over", "kappa=0.5"],
        ],
    )
    said = json.loads(figures.out)
    low, high = said["intervals"]["kappa"]
    assert low <= said["kappa"] <= high
    assert f"Cohen's kappa {said['kappa']:.4f} ({low:.4f} to {high:.4f})" in " ".join(table.out.split())
    assert (figures.status, table.status, gate.status, wrong.status) == (0, 0, 6, 2)


@pytest.mark.cold("imports a copy of the package")
def test_a_criterion_of_features(tmp_path: Path, service_desk_model: Path) -> None:
    package = added("Add a criterion of features", tmp_path)
    ranked, trained, helped = carried_out(
        package,
        [
            ["select-features", "--by", "probability-range", "--top", "3", "-m", service_desk_model],
            ["train", SERVICE_DESK / "test", "--by", "probability-range", "--top", "9", "-m", "model"],
            ["select-features", "--help"],
        ],
    )
    scores = [float(row.split("\t")[2]) for row in ranked.out.splitlines()]
    assert len(scores) == 3
    assert 1 > scores[0] >= scores[1] >= scores[2] > 0
    assert trained.status == 0
    assert "probability-range" in helped.out
