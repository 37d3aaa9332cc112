"""`--excel-safe`: cells of CSV that a spreadsheet would run as formulas (fault 74)."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from tests.process import corpus, nbtext, succeed, succeeded

if TYPE_CHECKING:
    from pathlib import Path

    from tests.process import Result

FORMULAS = ["=cmd()", "+1", "-1", "@SUM(A1)", "\uff1da()", "\uff0b2", "\uff0d2", "\uff20b()"]


def parse_csv(result: Result) -> list[list[str]]:
    return list(csv.reader(io.StringIO(succeeded(result).out.decode(), newline="")))


def test_fault_74_ids_and_labels_are_escaped(tmp_path: Path) -> None:
    labels = [*FORMULAS, "\rx", "plain"]
    table = "".join(f'"{label}",word{number}\n' for number, label in [*enumerate(labels)] * 2)
    corpus(
        tmp_path, {"t.csv": table, "=1+1": "word0", "in/-2": "word0", "-3": "word9", "\t4": "word9"}
    )
    succeed("train t.csv")
    files = ["--", "=1+1", "in", "-3", "\t4"]
    asked = ["classify", "--format", "dir", "--output", "csv", "--limit", "10"]
    plain = parse_csv(nbtext(*asked, *files))
    safe = parse_csv(nbtext(*asked, "--excel-safe", *files))
    assert [row[0] for row in safe[1:]] == ["'=1+1", "in/-2", "'-3", "'\t4"]
    assert safe[0] == plain[0]
    for before, after in zip(plain[1:], safe[1:], strict=True):
        assert [cell.removeprefix("'") for cell in after] == before
        assert not [
            cell
            for cell in after
            if cell.startswith(("=", "+", "-", "@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r"))
        ]
        assert [cell for cell in after[2::2] if cell.startswith("'")] == []
    assert {cell for row in safe[1:] for cell in row[1::2]} == {
        *(f"'{label}" for label in labels[:-1]),
        "plain",
        "",
    }


def test_fault_74_terms_are_escaped_and_numbers_are_not(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.svm": "=a red:9\n=a =x:3\n-b green:9 @y:2\n"})
    succeed("train t.svm")
    asked = ["select-features", "--criterion", "log-odds", "--output", "csv"]
    plain, safe = parse_csv(nbtext(*asked)), parse_csv(nbtext(*asked, "--excel-safe"))
    assert {row[1] for row in safe[1:]} == {"red", "green", "'=x", "'@y"}
    assert {row[3] for row in safe[1:]} == {"'=a", "'-b"}
    assert [(row[0], row[2]) for row in safe] == [(row[0], row[2]) for row in plain]
