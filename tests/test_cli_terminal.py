"""On a terminal: tables, names that cannot move the cursor, and an invitation to type."""

from __future__ import annotations

import os
import pty
import sys
from typing import TYPE_CHECKING

import pytest

from tests.process import HOUSE, TIME_LIMIT, corpus, start

if TYPE_CHECKING:
    from pathlib import Path


def on_terminal(*arguments: str, cwd: Path, typed: bytes = b"", env: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit status, and what a terminal was sent on standard output and standard error."""
    ours, theirs = pty.openpty()
    with start(
        [sys.executable, "-m", "nbtext", *arguments],
        cwd=cwd,
        env={**HOUSE, "TERM": "xterm-256color", "COLUMNS": "100", **(env or {})},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        new_session=True,
    ) as child:
        os.close(theirs)
        os.write(ours, typed)
        received = b""
        try:
            while chunk := os.read(ours, 65536):
                received += chunk
        except OSError:  # Linux says so when the other side has closed
            pass
        os.close(ours)
        return child.wait(TIME_LIMIT), received.decode().replace("\r\n", "\n")


def test_training_says_what_was_made(pets: Path) -> None:
    status, screen = on_terminal("train", "pets", cwd=pets)
    assert status == 0
    assert screen.startswith("nbtext: nbtext.joblib: 2 classes, 4 documents, ")
    assert screen.count("\n") == 1
    assert on_terminal("train", "pets", "-q", cwd=pets) == (0, "")


def test_answers_are_a_table(pets: Path) -> None:
    status, screen = on_terminal("classify", "pets", cwd=pets)
    assert status == 0
    assert screen.count("pets/") == 4
    assert "probability" in screen
    assert "\t" not in screen
    _, asked = on_terminal("classify", "pets", "--output", "tsv", cwd=pets)
    assert [line.count("\t") for line in asked.split("\n")[:-1]] == [2] * 4


EVIL = "\x1b]0;title\x07\x1b[31mred\x9b2J\u202egnp.exe\u2028end"


@pytest.mark.parametrize("output", ["table", "tsv", "csv", "jsonl"])
def test_names_cannot_move_the_cursor(pets: Path, output: str) -> None:
    corpus(pets, {EVIL: "a cat", f"evil/{EVIL}/1": "a cat purrs", "evil/dogs/1": "a dog barks"})
    status, screen = on_terminal("classify", EVIL, EVIL + "none", "--output", output, cwd=pets, env={"NO_COLOR": "1", "TERM": "dumb"})
    assert status == 1
    assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")
    assert "2J" in screen
    assert on_terminal("train", "evil", "-m", "evil.joblib", cwd=pets)[0] == 0
    for arguments in (["classify", "evil"], ["select-features"]):
        _, screen = on_terminal(*arguments, "-m", "evil.joblib", "--output", output, cwd=pets, env={"NO_COLOR": "1", "TERM": "dumb"})
        assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")
    for arguments in (["inspect"], ["inspect", "-o", "json"], ["evaluate", "evil"], ["evaluate", "evil", "-o", "json"]):
        _, screen = on_terminal(*arguments, "-m", "evil.joblib", cwd=pets, env={"NO_COLOR": "1", "TERM": "dumb"})
        assert not set(screen) & set("\x1b\x07\x9b\u202e\u2028")


def test_typing_a_document_is_invited(pets: Path) -> None:
    status, screen = on_terminal("classify", "-", cwd=pets, typed=b"a cat\n\x04")
    assert status == 0
    assert "nbtext: reading standard input; Ctrl-D ends it\n" in screen
    assert "cats" in screen
    assert "Ctrl-D" not in on_terminal("classify", "-", "-q", cwd=pets, typed=b"a cat\n\x04")[1]
