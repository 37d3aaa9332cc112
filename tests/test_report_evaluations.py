"""An evaluation on screen: the table, all confusions and the line of reliability."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from nbtext.metrics.results import ReliabilityBin
from nbtext.report.evaluations import (
    MAX_MATRIX_CLASSES,
    _format_confusion_table,
    _format_reliability_bars,
)
from nbtext.report.output_formats import BLOCK_CHARACTERS, draw_block
from tests.process import SERVICE_DESK
from tests.report_example import evaluated
from tests.test_cli_terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.metrics.results import EvaluationResult


def result(confusion: dict[str, dict[str, int]], unseen: int = 0) -> EvaluationResult:
    labels = list(
        dict.fromkeys(
            [*confusion, *(answer for row in confusion.values() for answer in row if answer)]
        )
    )
    return evaluated([*labels, *(f"unseen{n}" for n in range(unseen))], confusion)


def render_confusions(confusion: dict[str, dict[str, int]]) -> list[str]:
    head, _, *rows = _format_confusion_table(result(confusion)).splitlines()
    return [head, *rows]


def test_every_confusion_cell_is_a_number() -> None:
    head, cats, dogs = render_confusions({"cats": {"cats": 12, "dogs": 3}, "dogs": {"dogs": 1045}})
    assert head.split() == ["true", "class,", "by", "answer", "1", "2"]
    assert cats.split() == ["1", "cats", "12", "3"]
    assert dogs.split() == ["2", "dogs", "·", "1045"]
    assert len({len(line) for line in (head, cats, dogs)}) == 1


def test_documents_without_prediction_have_a_column() -> None:
    head, cats, _ = render_confusions({"cats": {"cats": 12, "": 3}, "dogs": {"cats": 1}})
    assert head.split()[-1] == "none"
    assert cats.split()[-1] == "3"


def test_confusion_rows_are_limited_to_classes_that_occur() -> None:
    assert [line.split() for line in render_confusions({"a": {"b": 1}})][1:] == [
        ["1", "a", "·", "1"],
        ["2", "b", "·", "·"],
    ]
    assert _format_confusion_table(result({"a": {"b": 1}}, unseen=100)) == _format_confusion_table(
        result({"a": {"b": 1}})
    )
    assert not _format_confusion_table(result({"only": {"only": 7}}))
    assert _format_confusion_table(
        result({f"c{k}": {f"c{k}": 1} for k in range(MAX_MATRIX_CLASSES)})
    )
    assert not _format_confusion_table(
        result({f"c{k}": {f"c{k}": 1} for k in range(MAX_MATRIX_CLASSES + 1)})
    )


def test_long_and_hostile_names_are_shortened_and_escaped() -> None:
    assert not any(
        "\x1b" in line for line in render_confusions({"\x1b[31mred": {"b": 1}, "x" * 60: {"b": 1}})
    )
    assert any(
        "x" * 12 + "…" + "x" * 11 in line and "x" * 13 not in line
        for line in render_confusions({"a": {"a": 1}, "x" * 60: {"a": 1}})
    )


def test_block_characters_increase_with_the_proportion() -> None:
    assert "".join(dict.fromkeys(draw_block(step / 100) for step in range(101))) == BLOCK_CHARACTERS


def test_reliability_bars_have_a_bar_per_bin() -> None:
    bins = [
        ReliabilityBin(0, 0.3, 0, None, None, None),
        ReliabilityBin(0.3, 0.6, 10, 0.5, 0.0, (0, 0.3)),
        ReliabilityBin(0.6, 1, 40, 0.99, 1.0, (0.9, 1)),
    ]
    assert _format_reliability_bars(bins) == {
        "probability": " ▅█",
        "accuracy": " ▁█",
        "documents": " ▃█",
    }
    assert list(_format_reliability_bars(bins[:1]).values()) == [" "] * 3


@pytest.mark.parametrize("width", [100, 40])
def test_terminal_output_has_plots_and_piped_output_none(
    service_desk_model: Path, tmp_path: Path, width: int
) -> None:
    arguments = ("evaluate", str(SERVICE_DESK / "test"), "--all", "-m", str(service_desk_model))
    status, screen = on_terminal(*arguments, env={"COLUMNS": str(width)})
    assert status == 0
    assert "If the accuracy is below" in screen
    _, short = on_terminal(*arguments[:2], *arguments[3:], env={"COLUMNS": str(width)})
    assert screen.splitlines()[:8] == short.splitlines()[:8]
    assert not [
        words
        for words in ("Predictions by probability", "balanced accuracy", "true class, by answer")
        if words in short
    ]
    assert all(
        len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= width for line in screen.splitlines()[-7:]
    )
    status, plain = on_terminal(*arguments, env={"COLUMNS": str(width), "NO_COLOR": "1"})
    assert "48;" not in plain
    rows = re.sub(r"\x1b\[[0-9;]*m", "", plain).rsplit("─", 1)[1].split()
    assert rows[-8:] == (
        ["6", "·", "·", "·", "·", "·", "13", "waste-collection"]
        if width == 40
        else ["6", "waste-collection", *"·" * 5, "13"]
    )
