"""`nbtext help`: texts on topics, one file each in the folder ``topics``, and the help of commands."""

from __future__ import annotations

import sys
from importlib.resources import files

import click

from nbtext.cli import declarations
from nbtext.cli.config import describe_defaults, find_program
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass

TOPICS = {
    "formats": "how a corpus may be laid out",
    "exit-status": "what the exit status says",
    "model": "what the model file is, and where it is looked for",
    "settings": "what --set sets: settings that few need",
    "smoothing": "what is added to the counts, and how it is chosen",
    "calibration": "how scores become probabilities, and their limits",
    "judgement": "how good a model is, and what to check first",
    "glossary": "twelve words that the commands use",
    "config": "defaults of your own, and those that hold here",
    "environment": "variables that nbtext heeds",
    "cron": "running unattended",
}


def _suggest(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    return [
        name
        for name in ("commands", *TOPICS, *find_program(context).list_commands(context))
        if name.startswith(incomplete)
    ]


@dataclass(frozen=True, kw_only=True)
class HelpOptions:
    """The argument of this command."""

    topic: str | None = declarations.argument(required=False, shell_complete=_suggest)


@declarations.command("help", shared=(declarations.COLOR_OPTION, declarations.LOG_FORMAT_OPTION))
def command(options: HelpOptions) -> None:
    """Print a text on a topic, or the help of a command. Without an argument, list the topics.

    \b
    Examples:
      nbtext help
      nbtext help formats
      nbtext help train
    """
    context = click.get_current_context()
    topic = options.topic
    if topic is None:
        width = max(map(len, TOPICS))
        lines = [
            f"  nbtext help {name.ljust(width)}  {meaning}" for name, meaning in TOPICS.items()
        ]
        text = declarations.wrap_to_terminal(
            "\n".join(
                [
                    "Topics:",
                    *lines,
                    "",
                    "nbtext help COMMAND is nbtext COMMAND --help; nbtext help commands lists all.",
                ]
            )
        )
    elif topic in TOPICS:
        text = declarations.wrap_to_terminal(read_topic(topic))
        if topic == "config":
            text += f"\n{describe_defaults(context, sys.argv[1:])}"
        if topic == "settings":
            text += f"\n{declarations.wrap_to_terminal(describe_rare_settings())}"
    elif topic == "commands":
        root = context.find_root()
        root.meta[declarations.HELP_ALL_KEY] = True
        text = root.get_help()
    elif (found := find_program(context).get_command(context, topic)) is not None:
        text = found.get_help(click.Context(found, info_name=topic, parent=context.find_root()))
    else:
        from nbtext.cli.synonyms import suggest_command

        near = suggest_command(topic, [*TOPICS, *find_program(context).list_commands(context)])
        raise UsageError(
            f"there is no topic or command {topic!r}{near}", hint=f"topics are {', '.join(TOPICS)}"
        )
    sys.stdout.write(text.rstrip("\n") + "\n")


def describe_rare_settings() -> str:
    """Return the settings that ``--set`` takes, those of reading and then those of training, from their declarations."""
    from textwrap import fill

    from nbtext.settings import READING, TRAINING

    parts = []
    for title, table in (("Of reading documents:", READING), ("Of training:", TRAINING)):
        parts.append(title)
        for parameter in table:
            if parameter.is_rare:
                head = f"  {parameter.key}={parameter.value_hint}"
                if parameter.default is not None:
                    head += f"   by default {parameter.format_value(parameter.default)}"
                text = fill(
                    parameter.meaning,
                    80,
                    initial_indent="      ",
                    subsequent_indent="      ",
                    break_on_hyphens=False,
                )
                parts.append(f"{head}\n{text}")
    return "\n\n".join(parts) + "\n"


def read_topic(topic: str) -> str:
    """Return the text on a topic, for the command and the manual page."""
    return (files("nbtext.cli") / "topics" / f"{topic}.txt").read_text(encoding="utf-8")
