"""Models that earlier versions wrote: they load, and say what they said."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from nbtext.inspection.verification import verify
from nbtext.store import FORMAT
from tests.fixtures.make import FIXTURES, FOLDER, RELEASED, answers

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(FOLDER.glob("format-*/*.model"))
CLOSE = 1e-9


def alike(found: Any, expected: Any) -> bool:
    """Whether two JSON values are the same, numbers within a relative difference of 1e-9."""
    if isinstance(found, float) and isinstance(expected, (int, float)):
        return math.isclose(found, expected, rel_tol=CLOSE, abs_tol=CLOSE)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return set(found) == set(expected) and all(alike(found[name], expected[name]) for name in found)
    return type(found) is type(expected) and bool(found == expected)


def test_alike() -> None:
    assert alike({"a": [1.0, None, "x"]}, {"a": [1 + 1e-12, None, "x"]})
    assert not alike({"a": [1.0]}, {"a": [1 + 1e-6]})
    assert not alike([1.0, None], [1.0, 2.0])
    assert not alike([None], [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_model_of_a_released_format_scores_as_it_did(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = TextClassifier.load(str(path))
    assert alike(answers(model, expected["asked"]), expected["answers"])
    assert [check.detail for check in verify(str(path)) if not check.passed] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_an_old_model_saved_again_says_the_same(path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    TextClassifier.load(str(path)).save("m")
    assert alike(answers(TextClassifier.load("m"), expected["asked"]), expected["answers"])


def test_every_format_there_was_and_every_kind_of_model_has_its_files() -> None:
    assert {path.parent.name for path in FILES} == {f"format-{number}" for number in range(1, FORMAT + 1)}
    assert {path.stem for path in FILES if path.parent.name == f"format-{FORMAT}"} >= set(FIXTURES)
    assert RELEASED <= FORMAT
