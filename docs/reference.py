"""The reference: the help of each command, an anchor for each option, and all parameters.

Sphinx writes it to reference.md; as a script, print it.
"""
# ruff: noqa: INP001 - a script and an extension of conf.py, not a package

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

PAGE = Path(__file__).with_suffix(".md")
sys.path.insert(0, str(PAGE.parent.parent))  # the nbtext beside this file, not an installed one

from nbtext import compatibility, settings, traits  # noqa: E402
from nbtext.cli.declarations import HELP_ALL_KEY, Command  # noqa: E402
from nbtext.cli.main import nbtext  # noqa: E402
from nbtext.model import TextClassifier  # noqa: E402
from nbtext.settings import Parameter  # noqa: E402

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MARKED = re.compile(r"(?P<code>(?<![\w-])--?[a-z][\w-]*|__label__\w*)|[\\`*_{}\[\]<>$|]")

HEAD = """\
# Reference

Every command with what its `--help-all` prints, then every parameter, and the members of `TextClassifier`. Each option has an address of its own, such as
`reference.html#train-smoothing`. `docs/reference.py` makes this page from the code.
"""


def reference() -> str:
    """Return the page, in Markdown."""
    top = click.Context(
        nbtext, info_name="nbtext", terminal_width=100, help_option_names=["-h", "--help"]
    )
    parts = [HEAD, "## nbtext", _block("text", nbtext.get_help(top))]
    for name in nbtext.list_commands(top):
        command = nbtext.get_command(top, name)
        assert isinstance(command, Command)  # noqa: S101 - it was listed
        context = click.Context(command, info_name=name, parent=top, terminal_width=100)
        context.meta[HELP_ALL_KEY] = True
        parts += _command(command, context)
    return "\n\n".join([*parts, _settings(), _tables(), _kinds(), _members()])


def _command(command: Command, context: click.Context) -> list[str]:
    """Return the section of a command.

    An option is a literal with an id and a definition, which wraps where a block would not.
    """
    paragraphs, examples = command.split_help()
    parts = [
        f"## nbtext {command.name}",
        _block("text", command.get_usage(context)),
        *map(_prose, paragraphs),
        _block("shell", "\n".join(examples)),
    ]
    for group, records in command.iterate_panels(context):
        parts.append(f"**{group.capitalize()}**")
        for names, text in records:
            name = re.search(r"--([a-z0-9-]+)", names)[1]  # type: ignore[index] # each has a long name
            anchor = f"#{command.name}-{name}"
            parts.append(f"[`{names}`{{{anchor}}}]({anchor})\n: {_prose(text)}")
    rules = list(command.describe_rules())
    return [
        *parts,
        *(["**Combinations**", "\n".join(f"- {_prose(rule)}" for rule in rules)] if rules else []),
    ]


def _block(language: str, text: str) -> str:
    lines = "\n".join(line.rstrip() for line in inspect.cleandoc(text).splitlines())
    return f"```{language}\n{lines}\n```"


def _prose(text: str) -> str:
    """Return plain text as Markdown: names of options as literals, other marks escaped."""
    return MARKED.sub(lambda found: f"`{found[0]}`" if found["code"] else f"\\{found[0]}", text)


def _tables() -> str:
    lines = [
        "## Parameters",
        "",
        "From Python, `TextClassifier` takes those of training by name.",
        "",
    ]
    for name, table in vars(settings).items():
        if isinstance(table, tuple) and all(isinstance(entry, Parameter) for entry in table):
            lines += [
                f"### {name.capitalize()}",
                "",
                "| name | option | takes | default |",
                "|---|---|---|---|",
            ]
            lines += [
                _row(parameter, "tune" if table is settings.SEARCH else "train")
                for group in settings.OPTION_GROUPS
                for parameter in table
                if parameter.group == group
            ]
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
    for name, kinds in compatibility.OFFERED_TRAITS.items():
        lines += [
            f"| `{name}` | `{weighting}` | {', '.join(trait.name for trait in offered)} |"
            for weighting, offered in kinds.items()
        ]
    lines += ["", "| trait | without it |", "|---|---|"]
    lines += [f"| {trait.name} | {trait.reason} |" for trait in traits.ALL_TRAITS]
    return "\n".join([*lines, ""])


def _members() -> str:
    """Return the public members of `TextClassifier`, each with the first line of its docstring."""
    lines = [
        "## TextClassifier",
        "",
        "[python.md](python.md) is the guide.",
        "",
        "| member | what it is |",
        "|---|---|",
    ]
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


def _row(parameter: Parameter, command: str) -> str:
    default = "" if parameter.default is None else f"`{parameter.default}`"
    takes = f"`{parameter.metavar}`".replace("|", "\\|") if parameter.metavar else ""
    anchor = f"set-{parameter.key}" if parameter.is_rare else f"{command}-{parameter.key}"
    return f"| `{parameter.name}` | [`{parameter.display_name}`](#{anchor}) | {takes} | {default} |"


def _settings() -> str:
    """Return the settings of ``--set``, each with an address of its own."""
    parts = [
        "## Settings",
        "What `--set NAME=VALUE` sets, in the commands that read documents or train.",
    ]
    for parameter in (*settings.READING, *settings.TRAINING):
        if parameter.is_rare:
            anchor = f"#set-{parameter.key}"
            parts.append(
                f"[`{parameter.key}={parameter.value_hint}`{{{anchor}}}]({anchor})\n: {_prose(parameter.meaning)}"
            )
    return "\n\n".join(parts)


def write_page(_app: Sphinx, _config: object) -> None:
    """Write the page if it is missing or has changed, so that Sphinx reads it only then."""
    page = reference()
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
        PAGE.write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.stdout.write(reference())
