"""Colours and other escapes: on a terminal that has them, if they are wanted, and nowhere else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.process import nbtext
from tests.test_cli_terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = [
    ["classify", "pets", "-o", "table"],
    ["evaluate", "pets"],
    ["select-features", "-o", "table"],
    ["inspect"],
]
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_pipes_and_dumb_terminals_get_no_escapes(pets: Path, command: list[str]) -> None:
    forced = {
        "FORCE_COLOR": "1",
        "CLICOLOR_FORCE": "1",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TTY_COMPATIBLE": "1",
    }
    done = nbtext(*command, env=forced)
    assert (done.status, b"\x1b" in done.out + done.err) == (0, False)
    assert nbtext("none", env=forced).err.count(b"\x1b") == 0
    status, screen = on_terminal(*command, env={"TERM": "dumb"})
    assert (status, "\x1b" in screen) == (0, False)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_no_color_disables_colours(pets: Path, command: list[str]) -> None:
    status, screen = on_terminal(*command, env={"NO_COLOR": "1"})
    assert (status, COLOUR.findall(screen)) == (0, [])


def test_empty_no_color_keeps_escapes_on_a_terminal(pets: Path) -> None:
    assert "\x1b[1m" in on_terminal("inspect", env={"NO_COLOR": ""})[1]


@pytest.mark.parametrize(
    "command",
    [["inspect"], ["classify", "pets", "-o", "table"], ["--help"], ["train", "--help"]],
    ids=str,
)
def test_color_always_and_never_override_the_environment(pets: Path, command: list[str]) -> None:
    name, *others = command
    always = [name, "--color", "always", *others] if name[0] != "-" else ["--color", "always", name]
    assert b"\x1b[" in nbtext(*always, env={"NO_COLOR": "1", "TERM": "dumb"}).out
    never = [word.replace("always", "never") for word in always]
    assert "\x1b" not in on_terminal(*never)[1]
