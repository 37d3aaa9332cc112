"""Options that several commands share, made from the parameter tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nbtext.cli.messages import Messages
from nbtext.errors import UsageError
from nbtext.parameters import READING, TRAINING

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.parameters import Parameter

Command = TypeVar("Command", bound="Callable[..., Any]")

DEFAULT_MODEL = "nbtext.joblib"

corpus_argument = click.argument("corpus", nargs=-1, required=True, metavar="CORPUS...")


def model_option(command: Command) -> Command:
    """``--model``: where the model is."""
    return click.option(
        "-m", "--model", "model_path", metavar="PATH", default=lambda: os.environ.get("NBTEXT_MODEL") or DEFAULT_MODEL,
        help=f"The model file; by default $NBTEXT_MODEL, else {DEFAULT_MODEL}.",
    )(command)  # fmt: skip


def reading_options(command: Command) -> Command:
    """The parameters of `READING` for a command with a model, which knows how its training documents were read."""
    return _table_options(READING, command, defaults=False)


def training_options(command: Command) -> Command:
    """The parameters of `READING` and `TRAINING` for a command that makes a model."""
    return _table_options(READING, _table_options(TRAINING, command, defaults=True), defaults=True)


def output_option(*formats: str, help_text: str) -> Callable[[Command], Command]:
    """``--output``: in which form the data are printed."""
    return click.option("-o", "--output", type=click.Choice(formats), help=help_text)


def messages_options(command: Command) -> Command:
    """``--verbose`` and ``--quiet``."""
    command = click.option("-q", "--quiet", is_flag=True, help="No warnings; errors remain.")(command)
    return click.option("-v", "--verbose", is_flag=True, help="Notices even if standard error is no terminal.")(command)


def given(table: tuple[Parameter, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a table that the user gave, checked."""
    values = {parameter.name: options[parameter.name] for parameter in table if options[parameter.name] is not None}
    return {parameter.name: parameter.checked(values[parameter.name]) for parameter in table if parameter.name in values}


def messages(options: dict[str, Any]) -> Messages:
    """How much is to be said."""
    if options["verbose"] and options["quiet"]:
        raise UsageError("--verbose and --quiet exclude each other")
    return Messages(options["verbose"], options["quiet"])


def _table_options(table: tuple[Parameter, ...], command: Command, *, defaults: bool) -> Command:
    for parameter in reversed(table):
        default = "" if parameter.default is None or not defaults else f"  [default: {parameter.default}]"
        if parameter.metavar:
            option = click.option(parameter.option, parameter.name, metavar=parameter.metavar, help=parameter.meaning + default)
        else:
            switch = f"{parameter.option}/--no-{parameter.option[2:]}"
            option = click.option(switch, parameter.name, default=None, help=parameter.meaning)
        command = option(command)
    return command
