"""`nbtext help`: texts on topics (files in the folder ``topics``), and the help of commands."""

from __future__ import annotations

import sys
from importlib.resources import files
from typing import TYPE_CHECKING

import click

from nbtext.cli import declarations
from nbtext.cli.config import describe_defaults, find_program
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from nbtext.settings import Parameter

TOPICS = {
    "formats": "layouts of a corpus",
    "exit-status": "exit statuses",
    "model": "the model file, and where commands look for it",
    "settings": "settings for --set",
    "classifiers": "kinds of models",
    "languages": "languages of documents",
    "multi-label": "several labels per document",
    "smoothing": "the pseudo-count, and how it is chosen",
    "calibration": "how scores become probabilities, and their limits",
    "evaluation": "how to evaluate a model",
    "glossary": "twelve words that the commands use",
    "config": "default values of your own",
    "environment": "environment variables",
    "cron": "running unattended",
    "course": "examples to compute by hand",
}

OLD_TOPICS = {
    "judgement": "evaluation",
    "algorithms": "classifiers",
    "classifier": "classifiers",
    "language": "languages",
    "labels": "multi-label",
    "several-labels": "multi-label",
    "ledger": "glossary",
    "abstain": "glossary",
    "coverage": "glossary",
    "nats": "glossary",
}
"""Former and other names of topics, which work and are not listed."""


def _suggest_topics(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    names = ("commands", *TOPICS, *find_program(context).list_commands(context))
    return [name for name in names if name.startswith(incomplete)]


@declarations.option_record
class HelpOptions:
    """The argument of this command."""

    topic: str | None = declarations.argument(required=False, shell_complete=_suggest_topics)


@declarations.command(
    "help", message_options=(declarations.COLOR_OPTION, declarations.LOG_FORMAT_OPTION)
)
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
    if topic in OLD_TOPICS:
        topic = OLD_TOPICS[topic]
    if topic is None:
        text = _list_topics()
    elif topic in TOPICS:
        text = _get_topic_text(topic, context)
    else:
        text = _get_command_help(topic, context)
    sys.stdout.write(text.rstrip("\n") + "\n")


def _list_topics() -> str:
    """Return the names of all topics with their meanings."""
    width = max(map(len, TOPICS))
    lines = ["Topics:"]
    for name, meaning in TOPICS.items():
        lines.append(f"  nbtext help {name.ljust(width)}  {meaning}")
    lines += ["", "nbtext help COMMAND is nbtext COMMAND --help; nbtext help commands lists all."]
    return declarations.wrap_to_terminal("\n".join(lines))


def _get_topic_text(topic: str, context: click.Context) -> str:
    """Return the text on a topic.

    The text on ``config`` ends with the current defaults, the text on ``settings`` with all
    settings.
    """
    text = declarations.wrap_to_terminal(read_topic(topic))
    if topic == "config":
        arguments = sys.argv[1:]  # an option may name the file of defaults
        text += f"\n{describe_defaults(context, arguments)}"
    if topic == "settings":
        text += f"\n{declarations.wrap_to_terminal(describe_settings())}"
    return text


def _get_command_help(name: str, context: click.Context) -> str:
    """Return the help of a command, or the list of all commands for the name ``commands``.

    Raise `UsageError` for another name.
    """
    root_context = context.find_root()
    if name == "commands":
        root_context.meta[declarations.HELP_ALL_KEY] = True  # `get_help` reads it
        return root_context.get_help()

    program = find_program(context)
    command = program.get_command(context, name)
    if command is not None:
        return command.get_help(click.Context(command, info_name=name, parent=root_context))

    from nbtext.cli.synonyms import suggest_command

    suggestion = suggest_command(name, [*TOPICS, *program.list_commands(context)])
    raise UsageError(
        f"there is no topic or command {name!r}{suggestion}", hint=f"topics are {', '.join(TOPICS)}"
    )


def describe_settings() -> str:
    """Return the settings of ``--set``, for reading and of training, with their meanings."""
    from nbtext.settings import READING, TRAINING

    paragraphs = []
    for title, parameters in (("For reading documents:", READING), ("Of training:", TRAINING)):
        paragraphs.append(title)
        # Rare parameters have no option except ``--set``.
        settings = [parameter for parameter in parameters if parameter.is_rare]
        paragraphs += map(_describe_setting, settings)
    return "\n\n".join(paragraphs) + "\n"


def _describe_setting(parameter: Parameter) -> str:
    """Return a line with name, values and default of a setting, and its meaning indented below."""
    from textwrap import fill

    head = f"  {parameter.key}={parameter.value_hint}"
    if parameter.default is not None:
        head += f"   by default {parameter.format_value(parameter.default)}"
    meaning = fill(
        parameter.meaning,
        width=80,  # `wrap_to_terminal` only wraps to fewer columns
        initial_indent="      ",
        subsequent_indent="      ",
        break_on_hyphens=False,
    )
    return f"{head}\n{meaning}"


def read_topic(topic: str) -> str:
    """Return the text on a topic, for the command and the manual page."""
    return (files("nbtext.cli") / "topics" / f"{topic}.txt").read_text(encoding="utf-8")
