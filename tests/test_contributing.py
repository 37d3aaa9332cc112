"""The worked examples of docs/development, carried out together in one copy of the package.

Each works by its one function and one line.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from textwrap import dedent, indent
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.process import PET_FILES, REPOSITORY, SERVICE_DESK, corpus, run

if TYPE_CHECKING:
    from pathlib import Path

ADDITION = re.compile(
    r"^   ```python\n   # (?P<file>[\w/]+\.py)(?:, in (?P<table>\w+))?\n(?P<code>.*?)^   ```$",
    re.MULTILINE | re.DOTALL,
)
RUN = """
import contextlib, io, json, sys
from nbtext.cli.main import run
results = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), write_through=True)) as out:
        status = run(words)
    results.append((status, out.buffer.getvalue().decode()))
from tests import test_classifiers_contract as contract
variants = [options for options in contract.VARIANTS if options["classifier"] == "nearest-centroid"]
for options in variants:
    contract.test_classifier_learns_to_separate_classes(options)
    contract.test_single_class_is_always_predicted(options)
print(json.dumps([results, variants]))
"""
"""Run commands by the copy of nbtext, then some of the tests that all classifiers have."""


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str


def read_recipe(name: str) -> str:
    """Return a page of docs/development."""
    return (REPOSITORY / f"docs/development/{name}.md").read_text(encoding="utf-8")


def add(recipe: str, folder: Path) -> None:
    """Add what a recipe shows to a copy of the package.

    A line of a table goes to its end, other code to the end of the file.
    """
    text = read_recipe(recipe)
    additions = list(ADDITION.finditer(text))
    assert len(additions) == 2, "one function and one line"
    for addition in additions:
        path = folder / addition["file"]
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        code = dedent(addition["code"])
        if addition["table"] is None:
            place = re.search(
                r"^METRICS = ", before, re.MULTILINE
            )  # a table that names the function
            at = place.start() if place else len(before)
            after = f"{before[:at]}{code}\n\n{before[at:]}"
        else:
            head, table, rest = re.split(
                rf"(^{addition['table']} = [({{]\n.*?)(?=^[)}}]$)",
                before,
                maxsplit=1,
                flags=re.MULTILINE | re.DOTALL,
            )
            after = head + table + indent(code, "    ") + rest
        path.write_text(after, encoding="utf-8")


def add_classifier(folder: Path) -> None:
    """Add the classifier of the recipe to a copy of the package: one file and two lines."""
    section = read_recipe("adding-a-classifier")
    (code,) = re.findall(r"^   ```python\n(.*?)^   ```$", section, flags=re.DOTALL | re.MULTILINE)
    (line,) = re.findall(r'here `("[a-z-]+": "[A-Za-z]+",)`', section)
    (folder / "nbtext/classifiers/nearest_centroid.py").write_text(dedent(code), encoding="utf-8")
    (kind,) = re.findall(r'here `("[a-z-]+": \{.*\},)`', section)
    for file, table, entry in (
        ("settings", "CLASSIFIERS", line),
        ("compatibility", "OFFERED_TRAITS", kind),
    ):
        path = folder / f"nbtext/{file}.py"
        before = path.read_text(encoding="utf-8")
        path.write_text(
            re.sub(rf"^{table}\b.* = {{\n", rf"\g<0>    {entry}\n", before, flags=re.MULTILINE),
            encoding="utf-8",
        )


COMMANDS = {
    "train dashes": ["train", "pets.dash", "--stop-words", "none"],
    "classify dashes": ["classify", "pets.dash"],
    "evaluate dashes": ["evaluate", "bad.dash", "--format", "dashes", "-o", "json"],
    "train help": ["train", "--help-all"],
    "evaluate": ["evaluate", "TEST", "-m", "MODEL", "-o", "json"],
    "evaluate table": ["evaluate", "TEST", "-m", "MODEL", "--all"],
    "gate": ["evaluate", "TEST", "-m", "MODEL", "--fail-under", "kappa=0.999"],
    "wrong gate": ["evaluate", "TEST", "-m", "MODEL", "--fail-over", "kappa=0.5"],
    "select": [
        "select-features",
        "--criterion",
        "probability-range",
        "--limit",
        "3",
        "-m",
        "MODEL",
    ],
    "train by": ["train", "TEST", "--criterion", "probability-range", "--top", "9", "-m", "model"],
    "select help": ["select-features", "--help"],
    "train": ["train", "pets", "--classifier", "nearest-centroid"],
    "classify": ["classify", "letter"],
    "explain": ["explain", "letter", "--output", "jsonl"],
    "evaluate pets": ["evaluate", "pets", "--output", "json", "--quiet"],
    "update": ["update", "more"],
}
"""Run one after the other in one process that imports the copy."""


@pytest.mark.fresh_interpreters("imports a copy of the package")
def test_documented_additions_work_in_a_copy_of_the_package(
    tmp_path: Path, service_desk_model: Path
) -> None:
    shutil.copytree(REPOSITORY / "nbtext", tmp_path / "nbtext")
    for recipe in ("adding-a-format", "adding-a-metric", "adding-a-criterion"):
        add(recipe, tmp_path)
    add_classifier(tmp_path)
    corpus(
        tmp_path,
        {
            "pets.dash": "cats - it purrs\ndogs - it barks\ndogs - wags and barks\n",
            "bad.dash": "cats - it purrs\nno label\n",
        },
    )
    corpus(tmp_path, PET_FILES | {"letter": "a cat that purrs", "more/birds/1": "sing"})
    places = {"TEST": str(SERVICE_DESK / "test"), "MODEL": str(service_desk_model)}
    words = json.dumps(
        [[places.get(word, word) for word in command] for command in COMMANDS.values()]
    )
    env = {"PYTHONPATH": f"{tmp_path}:{REPOSITORY}", "PYTHONWARNINGS": "error", "COLUMNS": "200"}
    ended = run([sys.executable, "-c", RUN, words], env=env)
    assert ended.status == 0, ended.notes
    results, variants = json.loads(ended.text)
    done = {name: Done(*result) for name, result in zip(COMMANDS, results, strict=True)}
    assert {name: status for name, (status, _) in done.items() if status} == {
        "evaluate dashes": 1,
        "gate": 6,
        "wrong gate": 2,
    }
    check_the_format(done)
    check_the_metric(done)
    check_the_criterion(done)
    assert "letter\tcats\t" in done["classify"].out
    assert json.loads(done["evaluate pets"].out)["accuracy"] == 1
    assert "nearest-centroid" in done["train help"].out
    assert variants == [{"classifier": "nearest-centroid", "weighting": "counts"}]


def check_the_format(done: dict[str, Done]) -> None:
    answers = [row.split("\t")[:2] for row in done["classify dashes"].out.splitlines()]
    assert answers == [["pets.dash:1", "cats"], ["pets.dash:2", "dogs"], ["pets.dash:3", "dogs"]]
    assert json.loads(done["evaluate dashes"].out)["n"] == 1
    assert "dashes: label - text" in " ".join(done["train help"].out.split())


def check_the_metric(done: dict[str, Done]) -> None:
    said = json.loads(done["evaluate"].out)
    low, high = said["intervals"]["kappa"]
    assert low <= said["kappa"] <= high
    assert f"Cohen's kappa {said['kappa']:.4f} ({low:.4f} to {high:.4f})" in " ".join(
        done["evaluate table"].out.split()
    )


def check_the_criterion(done: dict[str, Done]) -> None:
    scores = [float(row.split("\t")[2]) for row in done["select"].out.splitlines()]
    assert len(scores) == 3
    assert 1 > scores[0] >= scores[1] >= scores[2] > 0
    assert "probability-range" in done["select help"].out
