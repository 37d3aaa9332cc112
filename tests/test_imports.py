"""What is imported when: a command costs no more than the packages that it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = ("nltk", "scipy", "joblib", "rich", "click", "numpy", "sklearn", "pandas", "Stemmer", "stop_words")
FIT = "from nbtext import TextClassifier; model = TextClassifier(**{}).fit(['the engines stall', 'a keeper saves'], ['cars', 'football'])"


def imported(code: str) -> set[str]:
    """Which of the heavy packages a new interpreter has imported after running some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("imports") / "model.joblib"
    imported(f"{FIT.format({})}; model.save({str(path)!r})")
    return path


def test_the_package_itself_imports_nothing() -> None:
    assert imported("import nbtext; nbtext.__version__") == set()


def test_training_by_default_needs_no_nltk() -> None:
    assert imported(FIT.format({})) & {"nltk", "rich", "click", "sklearn", "joblib", "pandas"} == set()


def test_training_with_given_smoothing_needs_no_scipy() -> None:
    assert imported(FIT.format({"smoothing": 1, "stop_words": "none", "stemmer": "none"})) == {"numpy"}


def test_a_stemmer_of_nltks_needs_nltk() -> None:
    assert "nltk" in imported(FIT.format({"stemmer": "porter"}))


def test_classifying_from_python_needs_numpy_and_the_stemmer_alone(model_path: Path) -> None:
    code = f"from nbtext import TextClassifier; print(TextClassifier.load({str(model_path)!r}).predict(['engine']))"
    assert imported(code) == {"numpy", "Stemmer"}


def test_classifying_from_the_command_line_adds_the_parser_alone(model_path: Path, tmp_path: Path) -> None:
    document = tmp_path / "document.txt"
    document.write_text("an engine", encoding="utf-8")
    code = f"from nbtext.cli.main import run; run(['classify', {str(document)!r}, '--model', {str(model_path)!r}])"
    assert imported(code) == {"numpy", "Stemmer", "click"}


@pytest.mark.parametrize("output", ["tsv", "jsonl"])
def test_explaining_from_the_command_line_needs_no_more(model_path: Path, tmp_path: Path, output: str) -> None:
    document = tmp_path / "document.txt"
    document.write_text("an engine", encoding="utf-8")
    code = f"from nbtext.cli.main import run; run(['explain', {str(document)!r}, '--model', {str(model_path)!r}, '-o', {output!r}])"
    assert imported(code) == {"numpy", "Stemmer", "click"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["classify", "--help"], ["train", "--help"]])
def test_help_needs_the_parser_alone(arguments: list[str]) -> None:
    code = f"import contextlib\nfrom nbtext.cli.main import run\nwith contextlib.suppress(SystemExit):\n    run({arguments!r})"
    assert imported(code) == {"click"}
