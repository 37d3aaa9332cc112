"""Models that earlier versions wrote: they load, and say what they said, or are refused because no release wrote them."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

from nbtext import TextClassifier
from nbtext.store import FORMAT_VERSION
from nbtext.store.model_file import EARLY_FORMAT_VERSION
from tests.fixtures.make import FIXTURES, FOLDER, REFUSED, RELEASED, answers
from tests.model_bytes import HEAD, join_model_bytes, split_model_bytes
from tests.models import require_sound
from tests.process import content, fail, nbtext, write

if TYPE_CHECKING:
    from pathlib import Path

ALL_FILES = sorted(FOLDER.glob("format-*/*.model"))
FILES = [path for path in ALL_FILES if path.stem not in REFUSED]
GONE_FILES = [path for path in ALL_FILES if path.stem in REFUSED]
CLOSE = 1e-9


def are_close(found: Any, expected: Any) -> bool:
    """Whether two JSON values are the same, numbers within a relative difference of 1e-9."""
    if isinstance(found, float) and isinstance(expected, (int, float)):
        return math.isclose(found, expected, rel_tol=CLOSE, abs_tol=CLOSE)
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(are_close, found, expected))
    if isinstance(found, dict) and isinstance(expected, dict):
        return set(found) == set(expected) and all(
            are_close(found[name], expected[name]) for name in found
        )
    return type(found) is type(expected) and bool(found == expected)


def test_are_close_compares_nested_values_with_a_tolerance() -> None:
    assert are_close({"a": [1.0, None, "x"]}, {"a": [1 + 1e-12, None, "x"]})
    assert not are_close({"a": [1.0]}, {"a": [1 + 1e-6]})
    assert not are_close([1.0, None], [1.0, 2.0])
    assert not are_close([None], [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_model_of_a_released_format_scores_unchanged(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = TextClassifier.load(str(path))
    assert are_close(answers(model, expected["asked"]), expected["answers"])
    require_sound(str(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_model_saved_again_predicts_the_same(path: Path, tmp_path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    TextClassifier.load(str(path)).save("m")
    assert are_close(answers(TextClassifier.load("m"), expected["asked"]), expected["answers"])


@pytest.mark.parametrize("path", GONE_FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_model_with_a_removed_setting_value_is_refused(path: Path, tmp_path: Path) -> None:
    write("m", path.read_bytes())
    for command in ("classify --text roses", "inspect", "update other"):
        line = fail(3, command, "-m", "m")
        assert (
            line
            == f"nbtext: m: made with {REFUSED[path.stem]}, which nbtext no longer has; train again"
        )


def test_every_format_and_kind_of_model_has_fixtures() -> None:
    assert {path.parent.name for path in FILES} == {
        f"format-{number}" for number in range(EARLY_FORMAT_VERSION + 1, FORMAT_VERSION + 1)
    }
    assert {path.stem for path in FILES if path.parent.name == f"format-{FORMAT_VERSION}"} >= set(
        FIXTURES
    )
    assert RELEASED <= FORMAT_VERSION


EARLY = "written by an early version; train again"
COMMANDS = (
    "classify pets/cats/1 -m early", "evaluate pets -m early", "explain pets/cats/1 -m early",
    "update pets -m early", "update pets --skip-known -m early", "compare nbtext.joblib early pets",
    "report pets -m early", "inspect -m early", "select-features -m early", "tokens pets/cats/1 -m early",
    "generate -m early", "forget pets -m early", "merge nbtext.joblib early --to sum", "merge early nbtext.joblib --to early",
    "relabel cats kittens -m early", "prune --min-df 2 -m early", "prune --ledger -m early", "promote early", "prevalence pets -m early",
)  # fmt: skip
"""All that read a model, but those that print what they checked."""


@pytest.mark.usefixtures("pets")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_refuses_a_model_of_an_early_format(command: str) -> None:
    parts = split_model_bytes(content("nbtext.joblib"))
    write("early", join_model_bytes(parts.decoded, parts.payload, version=EARLY_FORMAT_VERSION))
    before = content("early"), content("nbtext.joblib")
    assert fail(3, command).removeprefix("nbtext: ") == f"early: {EARLY}"
    assert (content("early"), content("nbtext.joblib")) == before


@pytest.mark.usefixtures("pets")
def test_doctor_reports_an_early_format() -> None:
    write("early", join_model_bytes({}, b"", version=EARLY_FORMAT_VERSION))
    done = nbtext("doctor -m early")
    assert (done.status, done.notes) == (3, [f"nbtext: early: {EARLY}"])


@pytest.mark.usefixtures("tmp_path")
def test_early_format_is_recognised_by_its_version_only() -> None:
    header = join_model_bytes({}, b"", version=EARLY_FORMAT_VERSION)[:HEAD]
    for follows in (b"", b"x", bytes(10_000), b"{}0"):
        write("m", header + follows)
        assert fail(3, "inspect -m m") == f"nbtext: m: {EARLY}"
