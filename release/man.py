"""Write the manual pages of all commands, from the declarations of their help.

`python release/man.py [FOLDER]` writes them to build/man or FOLDER.

`release/man_hook.py` does so for a wheel, which installs them to share/man/man1.
Format: man(7).
"""
# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the nbtext beside this file, not an installed one

from nbtext import __version__  # noqa: E402
from nbtext.cli.declarations import HELP_ALL_KEY, Command  # noqa: E402
from nbtext.cli.help import read_topic  # noqa: E402
from nbtext.cli.main import COMMAND_GROUPS, COMMAND_SUMMARIES, nbtext  # noqa: E402


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    top = click.Context(nbtext, info_name="nbtext", help_option_names=["-h", "--help"])
    made = {"nbtext.1": _overview(top)}
    for name in COMMAND_SUMMARIES:
        command = nbtext.get_command(top, name)
        assert isinstance(command, Command)  # noqa: S101 - the tests see to it
        context = click.Context(command, info_name=name, parent=top)
        context.meta[HELP_ALL_KEY] = True
        made[f"nbtext-{name}.1"] = _page(command, context)
    return made


def _overview(top: click.Context) -> str:
    lines = [
        *_head("nbtext", "text classification on the command line"),
        ".B nbtext",
        "COMMAND [OPTIONS] [ARGUMENTS]",
        ".SH DESCRIPTION",
    ]
    lines += [
        "Learn classes from labelled documents, then classify others. Each command has a page of its own, such as",
        ".BR nbtext-train (1).",
        ".SH COMMANDS",
    ]
    for group, commands in COMMAND_GROUPS.items():
        lines.append(f".SS {group}")
        for name, line in commands.items():
            lines += [".TP", f".BR nbtext-{_escaped(name)} (1)", _escaped(line)]
    lines.append(".SH OPTIONS")
    lines += _options(
        [record for each in nbtext.params if (record := each.get_help_record(top)) is not None]
    )
    for topic in ("exit-status", "environment"):
        title, _, text = read_topic(topic).partition("\n")
        lines += [f".SH {title}", *_verbatim(text.strip("\n").splitlines())]
    return "\n".join(lines) + "\n"


def _page(command: Command, context: click.Context) -> str:
    name = str(context.info_name)
    paragraphs, examples = command.split_help()
    usage = " ".join(piece for piece in command.collect_usage_pieces(context))
    lines = [
        *_head(f"nbtext-{name}", COMMAND_SUMMARIES[name].rstrip(".").lower()),
        f".B nbtext {_escaped(name)}",
        _escaped(usage),
        ".SH DESCRIPTION",
    ]
    for number, paragraph in enumerate(paragraphs):
        lines += [".PP"] * (number > 0) + [_escaped(" ".join(paragraph.split()))]
    lines += [".SH EXAMPLES", *_verbatim(examples), ".SH OPTIONS"]
    for group, records in command.iterate_panels(context):
        lines += [f".SS {group.capitalize()}", *_options(records)]
    return "\n".join([*lines, ".SH SEE ALSO", ".BR nbtext (1)"]) + "\n"


def _head(name: str, what: str) -> list[str]:
    return [
        f'.TH {_escaped(name.upper())} 1 "" "nbtext {__version__}" "nbtext"', ".SH NAME", f"{_escaped(name)} \\- {_escaped(what)}", ".SH SYNOPSIS",
    ]  # fmt: skip


def _options(records: list[tuple[str, str]]) -> list[str]:
    return [
        line for names, text in records for line in (".TP", f".B {_escaped(names)}", _escaped(text))
    ]


def _verbatim(lines: list[str]) -> list[str]:
    return [".nf", *(_escaped(line) for line in lines), ".fi"]


def _escaped(text: str) -> str:
    """Return a line of text for man: typed hyphens, and no request at the start of a line."""
    text = "".join(
        each if each.isascii() else f"\\[u{ord(each):04X}]"
        for each in text.replace("\\", "\\e").replace("-", "\\-")
    )
    return f"\\&{text}" if text.startswith((".", "'")) else text


def write(folder: Path) -> None:
    """Write all pages to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "man")
