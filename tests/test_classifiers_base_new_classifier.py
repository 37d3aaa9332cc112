"""A new classifier is one file and one line: the one in CONTRIBUTING.md, added to a copy of nbtext."""

from __future__ import annotations

import re
import shutil
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from tests.process import HOUSE, REPOSITORY, run, succeeded

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
from nbtext.cli.main import run
from tests import test_classifiers_contract as contract

for command in (
    ("train", "pets", "--classifier", "nearest-centroid"),
    ("classify", "letter"),
    ("explain", "letter", "--output", "jsonl"),
    ("evaluate", "pets", "--output", "json", "--quiet"),
    ("update", "more"),
    ("train", "--help"),
):
    assert run(list(command)) == 0, command
for options in contract.VARIANTS:
    if options["classifier"] == "nearest-centroid":
        print("contract", options)
        contract.test_it_learns(options)
        contract.test_one_class_is_always_the_answer(options)
"""


@pytest.mark.cold("another nbtext")
def test_the_classifier_of_the_contributing_guide_is_added_by_one_file_and_one_line(pets: Path) -> None:
    section = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add a classifier\n")[2].partition("\n## ")[0]
    (code,) = re.findall(r"^   ```python\n(.*?)^   ```$", section, flags=re.DOTALL | re.MULTILINE)
    (line,) = re.findall(r'here `("[a-z-]+": "[A-Za-z]+",)`', section)
    house = pets / "nbtext"
    shutil.copytree(REPOSITORY / "nbtext", house)
    (house / "classifiers" / "nearest_centroid.py").write_text(dedent(code), encoding="utf-8")
    settings = (house / "settings.py").read_text(encoding="utf-8")
    (house / "settings.py").write_text(settings.replace("CLASSIFIERS = {\n", f"CLASSIFIERS = {{\n    {line}\n"), encoding="utf-8")
    (pets / "letter").write_text("a cat that purrs")
    (pets / "more" / "birds").mkdir(parents=True)
    (pets / "more" / "birds" / "1").write_text("sing")
    env = {**HOUSE, "PYTHONPATH": f"{pets}:{REPOSITORY}"}
    done = succeeded(run([sys.executable, "-c", PROGRAM], cwd=pets, env=env))
    assert "letter\tcats\t" in done.text
    assert '"accuracy": 1' in done.text
    assert "nearest-centroid" in done.text.partition("Usage:")[2]
    assert "contract {'classifier': 'nearest-centroid', 'weighting': 'counts'}" in done.text
