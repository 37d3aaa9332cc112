"""What a type checker learns about nbtext in the code of its users (PEP 561)."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from tests.process import REPOSITORY, run, write

if TYPE_CHECKING:
    from pathlib import Path

USER = """\
from nbtext import TextClassifier

labels: list[str | None] = TextClassifier(smoothing=1).fit(["it purrs", "it barks"], ["cat", "dog"]).predict(["purring"]).tolist()
wrong: list[int] = TextClassifier().classes
"""


def test_package_has_a_py_typed_marker() -> None:
    assert files("nbtext").joinpath("py.typed").is_file()


@pytest.mark.exhaustive
@pytest.mark.fresh_interpreters("the type checker")
def test_mypy_checks_user_code_by_the_types_of_nbtext(tmp_path: Path) -> None:
    """The wrong line shows that the types are seen at all: of a package without the marker everything is Any."""
    write("user.py", USER)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        "--cache-dir",
        "cache",
        "user.py",
    ]
    done = run(command, env={"PYTHONPATH": str(REPOSITORY)})
    (line,) = done.text.splitlines()
    assert line.startswith("user.py:4: error: Incompatible types in assignment")
