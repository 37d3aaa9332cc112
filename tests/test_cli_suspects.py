"""`nbtext suspects`: documents whose label may be wrong, as a process.

Also tests `report/comparisons.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.process import SERVICE_DESK, corpus, in_json, succeed, write

DESK = SERVICE_DESK / "train"


@pytest.fixture
def misfiled(tmp_path: Path) -> Path:
    """The small corpus with two documents in a wrong folder."""
    files = {str(path.relative_to(DESK)): path.read_bytes() for path in sorted(DESK.rglob("*.txt"))}
    files["parks-and-trees/misfiled one.txt"] = files.pop(
        "taxes-and-fees/direct-debit-taken-twice.txt"
    )
    files["parks-and-trees/misfiled-two.txt"] = files.pop(
        "taxes-and-fees/living-alone-since-april.txt"
    )
    return corpus(tmp_path / "desk", files)


def test_misfiled_documents_are_found(misfiled: Path) -> None:
    rows = succeed("suspects desk", cwd=misfiled.parent).rows
    first = [row[0] for row in rows[: len(rows) // 4]]
    assert {
        "desk/parks-and-trees/misfiled one.txt",
        "desk/parks-and-trees/misfiled-two.txt",
    } <= set(first)
    assert {row[2] for row in rows if "/misfiled" in row[0]} == {"taxes-and-fees"}
    log_odds = [float(row[3]) for row in rows]
    assert log_odds == sorted(log_odds, reverse=True)
    assert min(log_odds) > 0
    assert all(row[0].split("/")[1] == row[1] != row[2] for row in rows)


def test_suspects_are_the_mistakes_of_leave_one_out() -> None:
    rows = succeed("suspects", DESK).rows
    judged = in_json("cross-validate", DESK, "--leave-one-out")
    mistakes = {
        (truth, answer): n
        for truth, row in judged["confusion"].items()
        for answer, n in row.items()
        if truth != answer
    }
    assert sum(mistakes.values()) == len(rows)
    assert {pair: sum((row[1], row[2]) == pair for row in rows) for pair in mistakes} == mistakes


def test_limit_and_min_log_odds_shorten_the_list(misfiled: Path) -> None:
    rows = succeed("suspects", misfiled).rows
    assert succeed("suspects", misfiled, "--limit", "3").rows == rows[:3]
    above = [row for row in rows if float(row[3]) > 2]
    assert 0 < len(above) < len(rows)
    assert succeed("suspects", misfiled, "--min-log-odds", "2").rows == above


def test_paths_prints_only_names(misfiled: Path) -> None:
    names = [row[0] for row in succeed("suspects", misfiled).rows]
    assert succeed("suspects", misfiled, "--paths").text == "".join(f"{name}\n" for name in names)
    assert succeed("suspects", misfiled, "--print0").text == "".join(f"{name}\0" for name in names)
    assert succeed("suspects", misfiled, "--paths", "-0", "--limit", "1").text == f"{names[0]}\0"


def test_names_of_any_bytes_are_printed(pets: Path) -> None:
    misplaced = b"pets/cats/d\xffg\n1"
    (pets / "pets" / "cats").joinpath("x").write_text("dogs fetch sticks and bark at the postman")
    (pets / "pets" / "cats" / "x").rename(
        str(pets).encode().decode() + "/" + misplaced.decode(errors="surrogateescape")
    )
    assert misplaced + b"\0" in succeed("suspects pets --print0").out
    assert b"pets/cats/d\xffg\\n1\t" in succeed("suspects pets").out


def test_rows_are_named_by_line_or_by_id_column(tmp_path: Path) -> None:
    lines = ["a\tant ape\n", "a\tant asp\n", "b\tbee bat\n", "b\tbee bug\n", "b\tant ape asp\n"]
    write("t.tsv", "".join(lines))
    assert succeed("suspects t.tsv --paths").text.splitlines()[0] == "t.tsv:5"
    write("n.tsv", "".join(f"{line[:-1]}\tname {n}\n" for n, line in enumerate(lines)))
    assert succeed("suspects n.tsv --id-column 3 --paths").text.splitlines()[0] == "name 4"


def test_excel_safe_escapes_formulas(tmp_path: Path) -> None:
    write("t.tsv", "=a\tant ape\n=a\tant asp\n-b\tbee bat\n-b\tbee bug\n-b\tant ape asp\n")
    first = succeed("suspects t.tsv --output csv --excel-safe --limit 1").text.splitlines()[1]
    assert first.startswith("t.tsv:5,'-b,'=a,")


def test_no_suspects_is_not_a_failure(tmp_path: Path) -> None:
    write("t.tsv", "a\tant ape\na\tant ape\nb\tbee bat\nb\tbee bat\n")
    assert succeed("suspects t.tsv").text == ""


def test_start_of_the_text_is_shown(misfiled: Path) -> None:
    rows = succeed("suspects", misfiled, "-n", "2").rows
    records = succeed("suspects", misfiled, "-o", "jsonl").records
    text = " ".join(Path(rows[0][0]).read_text(encoding="utf-8").split())
    assert rows[0][4] == records[0]["text"] == text[:70].rstrip()
    lines = succeed("suspects", misfiled, "-o", "table").text.split("\n")
    assert lines[0::4] == [record["id"] for record in records[:20]]
    assert (
        lines[1]
        == f"  {rows[0][1]}, more like {rows[0][2]} ({100 * records[0]['probability']:.1f}\u00a0%)"
    )
    assert lines[2] == f"  {rows[0][4]}"
