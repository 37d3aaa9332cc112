"""Render docs/reference.md: the help of every command, and a table of all parameters. With --check: exit 1 if the file is not up to date."""
# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from pathlib import Path

import click

from nbtext import settings as parameters
from nbtext.cli.main import nbtext
from nbtext.settings import Parameter

PAGE = Path(__file__).with_suffix(".md")
WIDTH = 100

HEAD = """\
# Reference

Made by `python docs/reference.py` from the commands themselves and from `nbtext/settings.py`.
"""


def reference() -> str:
    """The page."""
    top = click.Context(nbtext, info_name="nbtext", terminal_width=WIDTH, help_option_names=["-h", "--help"])
    parts = [HEAD, _section("nbtext", nbtext.get_help(top))]
    for name in nbtext.list_commands(top):
        command = nbtext.get_command(top, name)
        assert command is not None  # noqa: S101 - it was listed
        parts.append(_section(f"nbtext {name}", command.get_help(click.Context(command, info_name=name, parent=top, terminal_width=WIDTH))))
    parts.append(_tables())
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


def _tables() -> str:
    lines = ["## Parameters", "", "From Python, `TextClassifier` takes those of training by name.", ""]
    for name, table in vars(parameters).items():
        if isinstance(table, tuple) and all(isinstance(entry, Parameter) for entry in table):
            lines += [f"### {name.capitalize()}", "", "| name | option | takes | default | meaning |", "|---|---|---|---|---|"]
            lines += [_row(parameter) for parameter in table]
            lines.append("")
    return "\n".join(lines)


def _row(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"`{parameter.default}`"
    takes = f"`{parameter.metavar}`" if parameter.metavar else ""
    cells = (f"`{parameter.name}`", f"`{parameter.option}`", takes, default, parameter.meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main(arguments: list[str]) -> int:
    """Write the page, or with --check compare it."""
    page = reference()
    if arguments != ["--check"]:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        sys.stderr.write(f"{PAGE.name} is not up to date; run python docs/{Path(__file__).name}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
