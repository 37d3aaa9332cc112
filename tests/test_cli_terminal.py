"""On a terminal: tables, names that cannot move the cursor, and an invitation to type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.process import at_terminal, corpus

if TYPE_CHECKING:
    from pathlib import Path


def on_terminal(
    *arguments: str, cwd: Path | None = None, typed: bytes = b"", env: dict[str, str] | None = None
) -> tuple[int, str]:
    """Exit status, and what a terminal was sent on standard output and standard error."""
    done = at_terminal(*arguments, cwd=cwd, typed=typed, env=env)
    return done.status, done.err.decode()


def test_training_on_a_terminal_prints_a_summary(pets: Path) -> None:
    status, screen = on_terminal("train", "pets")
    assert status == 0
    assert screen.splitlines() == [
        "nbtext: Trained nbtext.joblib on 4 documents of 2 classes: cats (2), dogs (2). Next: nbtext evaluate TEST"
    ]
    assert on_terminal("train", "pets", "-q") == (0, "")


@pytest.mark.parametrize("columns", [40, 80])
def test_messages_fit_the_terminal(pets: Path, columns: int) -> None:
    screen = at_terminal("train", "pets", columns=columns).err.decode()
    assert max(map(len, screen.splitlines())) <= columns
    assert (
        " ".join(screen.split())
        == "nbtext: Trained nbtext.joblib on 4 documents of 2 classes: cats (2), dogs (2). Next: nbtext evaluate TEST"
    )
    assert all(line.startswith(("nbtext: ", "  ")) for line in screen.splitlines())


def test_predictions_are_a_table_on_a_terminal(pets: Path) -> None:
    status, screen = on_terminal("classify", "pets")
    assert status == 0
    assert screen.count("pets/") == 4
    assert "probability" in screen
    assert "\t" not in screen
    _, asked = on_terminal("classify", "pets", "--output", "tsv")
    assert [line.count("\t") for line in asked.split("\n")[:-1]] == [2] * 4


EVIL = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp.exe\u2028end"


@pytest.mark.parametrize("output", ["table", "tsv", "csv", "jsonl"])
def test_names_cannot_move_the_cursor(pets: Path, output: str) -> None:
    corpus(pets, {EVIL: "a cat", f"evil/{EVIL}/1": "a cat purrs", "evil/dogs/1": "a dog barks"})
    status, screen = on_terminal(
        "classify", EVIL, EVIL + "none", "--output", output, env={"NO_COLOR": "1", "TERM": "dumb"}
    )
    assert status == 1
    assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")
    assert "2J" in screen
    assert on_terminal("train", "evil", "-m", "evil.joblib")[0] == 0
    for arguments in (["classify", "evil"], ["select-features"]):
        _, screen = on_terminal(
            *arguments,
            "-m",
            "evil.joblib",
            "--output",
            output,
            env={"NO_COLOR": "1", "TERM": "dumb"},
        )
        assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")
    for arguments in (
        ["inspect"],
        ["inspect", "-o", "json"],
        ["evaluate", "evil"],
        ["evaluate", "evil", "-o", "json"],
    ):
        _, screen = on_terminal(
            *arguments, "-m", "evil.joblib", env={"NO_COLOR": "1", "TERM": "dumb"}
        )
        assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")


def test_typed_input_is_prompted_for(pets: Path) -> None:
    status, screen = on_terminal("classify", "-", typed=b"a cat\n\x04")
    assert status == 0
    assert "nbtext: reading standard input; Ctrl-D ends it\n" in screen
    assert "cats" in screen
    assert "Ctrl-D" not in on_terminal("classify", "-", "-q", typed=b"a cat\n\x04")[1]


LONG = "a-folder-of-a-name-that-is-long-enough/and-another-one-below-it/with-a-file"


def test_narrow_terminal_shortens_long_names_in_the_middle(pets: Path) -> None:
    names = [f"{LONG}/{number}" for number in range(3)]
    corpus(pets, dict.fromkeys(names, "a cat purrs"))
    _, screen = on_terminal("classify", *names, env={"COLUMNS": "60", "NO_COLOR": "1"})
    head, _, *rows = [line for line in re.sub(r"\x1b\[\d*m", "", screen).split("\n") if line]
    assert head.split() == ["id", "label", "probability"]
    assert [row.split()[0].partition("…")[2][-2:] for row in rows] == ["/0", "/1", "/2"]
    assert max(map(len, rows)) <= 60
    for output in ("tsv", "csv", "jsonl"):
        _, plain = on_terminal("classify", *names, "--output", output, env={"COLUMNS": "60"})
        assert all(name in plain for name in names)


def test_evaluate_shows_the_worst_classes_first_and_all_on_request(pets: Path) -> None:
    rows = [
        f"class-{number:02}\tword{min(9, number)} again\n" for number in range(14) for _ in range(3)
    ]
    corpus(pets, {"many.tsv": "".join(rows)})
    assert on_terminal("train", "many.tsv", "-m", "many", "-q") == (0, "")
    _, screen = on_terminal(
        "evaluate", "many.tsv", "-m", "many", "-q", env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    table = screen.partition("10 of 14 classes, those of lowest F1; --all shows all")[2].partition(
        "most frequent confusions"
    )[0]
    shown = [line.split() for line in table.split("\n") if line.startswith(" class-")]
    f1 = [float(row[3]) for row in shown]
    assert len(shown) == 10
    assert f1 == sorted(f1)
    assert f1[0] == 0 < f1[-1]
    _, screen = on_terminal(
        "evaluate", "many.tsv", "-m", "many", "-q", "--all", env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    assert len(set(re.findall(r"(?m)^ (class-\d+)(?=(?:  +[\d.]+){6}$)", screen))) == 14
