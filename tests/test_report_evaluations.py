"""An evaluation on screen: the table, the heat map and the line of reliability."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from nbtext.metrics.results import ReliabilityBin
from nbtext.report.evaluations import MOST_CLASSES, _cell_style, _confusion_rows, _heat_map, _reliability_bars
from nbtext.report.forms import BLOCKS, block
from tests.process import SERVICE_DESK
from tests.report_example import evaluated
from tests.test_cli_terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.metrics.results import EvaluationResult


def result(confusion: dict[str, dict[str, int]], unseen: int = 0) -> EvaluationResult:
    labels = list(dict.fromkeys([*confusion, *(answer for row in confusion.values() for answer in row if answer)]))
    return evaluated([*labels, *(f"unseen{n}" for n in range(unseen))], confusion)


def drawn(confusion: dict[str, dict[str, int]]) -> list[str]:
    table = _confusion_rows(result(confusion))
    assert table is not None
    lines: list[str] = _heat_map(*table).plain.splitlines()
    return lines


def test_every_cell_is_a_number_that_needs_no_colour() -> None:
    head, cats, dogs = drawn({"cats": {"cats": 12, "dogs": 3}, "dogs": {"dogs": 1045}})
    assert head.split() == ["1", "2"]
    assert cats.split() == ["1", "cats", "12", "3"]
    assert dogs.split() == ["2", "dogs", "·", "1045"]
    assert len({len(line) for line in (head, cats, dogs)}) == 1


def test_the_corner_says_what_is_where_if_there_is_room() -> None:
    assert drawn({"a class of long name": {"dogs": 3}})[0].startswith("true class, by answer  ")


def test_documents_without_an_answer_have_a_column() -> None:
    head, cats, _ = drawn({"cats": {"cats": 12, "": 3}, "dogs": {"cats": 1}})
    assert head.split()[-1] == "none"
    assert cats.split()[-1] == "3"


def test_only_classes_that_occur_are_drawn_and_not_too_many() -> None:
    assert _confusion_rows(result({"a": {"b": 1}}, unseen=100)) == (["a", "b"], [[0, 1, 0], [0, 0, 0]])
    assert _confusion_rows(result({"only": {"only": 7}})) is None
    assert _confusion_rows(result({f"c{k}": {f"c{k}": 1} for k in range(MOST_CLASSES)})) is not None
    assert _confusion_rows(result({f"c{k}": {f"c{k}": 1} for k in range(MOST_CLASSES + 1)})) is None


def test_long_and_hostile_names_are_cut_and_made_visible() -> None:
    _, first, _ = drawn({"\x1b[31mred": {"b": 1}, "x" * 60: {"b": 1}})[:3]
    assert "\x1b" not in first
    assert any("x" * 12 + "…" + "x" * 11 in line and "x" * 13 not in line for line in drawn({"a": {"a": 1}, "x" * 60: {"a": 1}}))


def test_letters_stand_out_on_every_shade() -> None:
    for step in range(101):
        style = _cell_style(step / 100, right=False)
        letters, shade_of = style.split(" on ")
        r, g, b = map(int, re.findall(r"\d+", shade_of))
        luminance = [(c / 255 / 12.92) if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in (r, g, b)]
        light = 0.2126 * luminance[0] + 0.7152 * luminance[1] + 0.0722 * luminance[2]
        contrast = 1.05 / (light + 0.05) if letters == "rgb(255,255,255)" else (light + 0.05) / 0.05
        assert contrast >= 4.5, (step, contrast)  # WCAG 2.2, 1.4.3


def test_bars_rise_with_the_share() -> None:
    assert "".join(dict.fromkeys(block(step / 100) for step in range(101))) == BLOCKS


def test_a_bar_for_each_bin() -> None:
    bins = [
        ReliabilityBin(0, 0.3, 0, None, None, None),
        ReliabilityBin(0.3, 0.6, 10, 0.5, 0.0, (0, 0.3)),
        ReliabilityBin(0.6, 1, 40, 0.99, 1.0, (0.9, 1)),
    ]
    assert _reliability_bars(bins) == {"promised": " ▅█", "came true": " ▁█", "documents": " ▃█"}
    assert list(_reliability_bars(bins[:1]).values()) == [" "] * 3


@pytest.mark.parametrize("width", [100, 40])
def test_a_terminal_gets_pictures_and_a_pipe_does_not(service_desk_model: Path, tmp_path: Path, width: int) -> None:
    arguments = ("evaluate", str(SERVICE_DESK / "test"), "-m", str(service_desk_model))
    status, screen = on_terminal(*arguments, env={"COLUMNS": str(width)})
    assert status == 0
    assert "15 bins of probability" in screen
    assert re.search(r"\x1b\[[0-9;]*48;", screen)
    assert all(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) <= width for line in screen.splitlines()[-7:])
    status, plain = on_terminal(*arguments, env={"COLUMNS": str(width), "NO_COLOR": "1"})
    assert "48;" not in plain
    last = plain.rstrip().splitlines()[-1]
    assert "6 waste-collection" in re.sub(r"\x1b\[[0-9;]*m", "", last)
