from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from nbtext.cli.main import COMMANDS
from nbtext.parameters import READING, TRAINING
from tests.process import HOUSE, REPOSITORY, run

PAGES = [
    path
    for path in (REPOSITORY / "README.md", REPOSITORY / "corpora/README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
    if path.exists()
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A directory as a reader has it: the corpora, and nbtext on the path."""
    (tmp_path / "corpora").symlink_to(REPOSITORY / "corpora")
    program = tmp_path / ".bin" / "nbtext"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nbtext "$@"\n')
    program.chmod(0o755)
    return tmp_path


def said(command: str, desk: Path) -> list[str]:
    path = f"{desk / '.bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    done = run(["bash", "-e", "-o", "pipefail", "-c", command], cwd=desk, env={**HOUSE, "PATH": path})
    assert done.status == 0, (command, done)
    return (done.out + done.err).decode().splitlines()


def fits(expected: list[str], found: list[str]) -> bool:
    """Whether the lines are the expected ones; a line ``...`` stands for any number of lines."""
    if not expected:
        return not found
    if expected[0] == "...":
        return any(fits(expected[1:], found[skipped:]) for skipped in range(len(found) + 1))
    return bool(found) and expected[0].rstrip() == found[0].rstrip() and fits(expected[1:], found[1:])


def test_fits() -> None:
    assert fits(["a", "...", "d"], ["a", "b", "c", "d"])
    assert fits(["a", "..."], ["a"])
    assert not fits(["a"], ["a", "b"])
    assert not fits(["a", "...", "c"], ["a", "b"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_what_the_page_shows_is_what_one_gets(page: Path, desk: Path) -> None:
    names: dict[str, object] = {}
    for kind, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
        if kind != "console":
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            while command.endswith("\\"):
                command += "\n" + expected.pop(0)
            if "<<'END'" in command:
                end = expected.index("END") + 1
                command, expected = "\n".join([command, *expected[:end]]), expected[end:]
            found = said(command, desk)
            assert not expected or fits(expected, found), (command, found)


def test_the_reference_is_up_to_date() -> None:
    done = run([sys.executable, REPOSITORY / "docs/reference.py", "--check"], env={**HOUSE, "COLUMNS": "40"})
    assert done.status == 0, done


def test_the_reference_has_every_command_and_parameter() -> None:
    page = (REPOSITORY / "docs/reference.md").read_text(encoding="utf-8")
    for command in COMMANDS:
        assert f"## nbtext {command}\n" in page
    for parameter in (*READING, *TRAINING):
        assert f"| `{parameter.name}` | `{parameter.option}` |" in page
