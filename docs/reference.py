"""The reference: the help of every command, and a table of all parameters. Sphinx writes it to reference.md; as a script, print it."""
# ruff: noqa: INP001 - a script and an extension of conf.py, not a package

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

PAGE = Path(__file__).with_suffix(".md")
sys.path.insert(0, str(PAGE.parent.parent))  # the nbtext beside this file, not an installed one

from nbtext import exclusions, settings  # noqa: E402
from nbtext.cli.main import nbtext  # noqa: E402
from nbtext.cli.panels import EVERYTHING  # noqa: E402
from nbtext.model import TextClassifier  # noqa: E402
from nbtext.settings import Parameter  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WIDTH = 100

HEAD = """\
# Reference

Every command with its help, as `--help-all` prints it, then every parameter, and the members of `TextClassifier`. `docs/reference.py` makes this page from the code.
"""


def reference() -> str:
    """Return the page, in Markdown."""
    top = click.Context(nbtext, info_name="nbtext", terminal_width=WIDTH, help_option_names=["-h", "--help"])
    parts = [HEAD, _section("nbtext", nbtext.get_help(top))]
    for name in nbtext.list_commands(top):
        command = nbtext.get_command(top, name)
        assert command is not None  # noqa: S101 - it was listed
        context = click.Context(command, info_name=name, parent=top, terminal_width=WIDTH)
        context.meta[EVERYTHING] = True
        parts.append(_section(f"nbtext {name}", command.get_help(context)))
    parts += [_tables(), _kinds(), _members()]
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {title}\n\n```text\n{lines}\n```\n"


def _tables() -> str:
    lines = ["## Parameters", "", "From Python, `TextClassifier` takes those of training by name.", ""]
    for name, table in vars(settings).items():
        if isinstance(table, tuple) and all(isinstance(entry, Parameter) for entry in table):
            lines += [f"### {name.capitalize()}", "", "| group | name | option | takes | default | meaning |", "|---|---|---|---|---|---|"]
            lines += [_row(parameter) for group in settings.GROUPS for parameter in table if parameter.group == group]
            lines.append("")
    return "\n".join(lines)


def _kinds() -> str:
    lines = [
        "## What goes with what",
        "",
        "What each classifier offers with each weighting that it takes, and why what needs it is refused elsewhere.",
        "",
    ]
    lines += ["| `--classifier` | `--weighting` | offers |", "|---|---|---|"]
    for name, kinds in exclusions.KINDS.items():
        lines += [f"| `{name}` | `{weighting}` | {', '.join(offered.split())} |" for weighting, offered in kinds.items()]
    lines += ["", "| trait | without it |", "|---|---|"]
    lines += [f"| {trait} | {reason} |" for trait, (reason, _) in exclusions.TRAITS.items()]
    return "\n".join([*lines, ""])


def _members() -> str:
    """Return the public members of `TextClassifier`, each with the first line of its docstring."""
    lines = ["## TextClassifier", "", "[python.md](python.md) is the guide.", "", "| member | what it is |", "|---|---|"]
    for name, member in vars(TextClassifier).items():
        if not name.startswith("_"):
            function = getattr(member, "__func__", member)
            call = ""
            if not isinstance(function, property):
                given = list(inspect.signature(function).parameters.values())[1:]
                call = f"({', '.join('**' * (each.kind is each.VAR_KEYWORD) + each.name for each in given)})"
            meaning = str(inspect.getdoc(function)).partition("\n")[0].replace("|", "\\|")
            lines.append(f"| `{name}{call}` | {meaning} |")
    return "\n".join([*lines, ""])


def _row(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"`{parameter.default}`"
    takes = f"`{parameter.metavar}`" if parameter.metavar else ""
    cells = (parameter.group, f"`{parameter.name}`", f"`{parameter.option}`", takes, default, parameter.meaning)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def write_page(_app: Sphinx, _config: object) -> None:
    """Write the page if it is missing or has changed, so that Sphinx does not read it again for nothing."""
    page = reference()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        PAGE.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.stdout.write(reference())
