"""Options that several commands share, made from the parameter tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nbtext.cli.messages import LOG_FORMATS, Messages
from nbtext.cli.ranges import Number, WholeNumber
from nbtext.cli.suggestions import suggest_files, suggest_values
from nbtext.errors import UsageError
from nbtext.settings import ANALYSIS, INPUT, LANGUAGES, READING, TRAINING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.decision import DecisionRule
    from nbtext.settings import Parameter

Command = TypeVar("Command", bound="Callable[..., Any]")

DEFAULT_MODEL = "nbtext.joblib"

_OTHER_CHOICES = {"stop_words": ("default", "none", *LANGUAGES)}
"""What a shell offers where the parameter itself takes any name."""

corpus_argument = click.argument("corpus", nargs=-1, metavar="[CORPUS]...", shell_complete=suggest_files)


def model_option(command: Command) -> Command:
    """``--model``: where the model is."""
    return click.option(
        "-m", "--model", "model_path", metavar="PATH", default=lambda: os.environ.get("NBTEXT_MODEL") or DEFAULT_MODEL,
        help=f"The model file; by default $NBTEXT_MODEL, else {DEFAULT_MODEL}.",
        shell_complete=suggest_files,
    )(command)  # fmt: skip


def input_options(command: Command) -> Command:
    """The parameters of `INPUT` for a command that reads documents."""
    null = next(parameter for parameter in INPUT if parameter.name == "null")
    command = click.option("-0", "--null", is_flag=True, help=null.meaning)(command)
    return _table_options(tuple(parameter for parameter in INPUT if parameter is not null), command, defaults=True)


def reading_options(command: Command) -> Command:
    """The parameters of `READING` for a command with a model, which knows how its training documents were read."""
    return _table_options(READING, command, defaults=False)


def training_options(command: Command, without: Sequence[str] = ()) -> Command:
    """The parameters of `READING` and `TRAINING` for a command that makes a model, without those that it has another way for."""
    of_training = tuple(parameter for parameter in TRAINING if parameter.name not in without)
    return _table_options(READING, _table_options(of_training, command, defaults=True), defaults=True)


def analysis_options(command: Command) -> Command:
    """The parameters of `TRAINING` that say how a text becomes terms, for a command that can do without a model."""
    return _table_options(tuple(parameter for parameter in TRAINING if parameter.name in ANALYSIS), command, defaults=True)


def jobs_option(command: Command) -> Command:
    """``--jobs``: how many processes share the work."""
    return click.option(
        "-j", "--jobs", type=WholeNumber(0), default=1, metavar="N",
        help="Work in N processes, 0 for as many as there are processors; what comes out is the same.  [default: 1]",
    )(command)  # fmt: skip


def output_option(*formats: str, help_text: str) -> Callable[[Command], Command]:
    """``--output``: in which form the data are printed."""
    return click.option("-o", "--output", type=click.Choice(formats), help=help_text)


def decision_options(command: Command) -> Command:
    """``--costs`` and ``--min-probability``, for `decision_rule`."""
    least = click.option("--min-probability", type=Number(0, 1), default=0.0, metavar="P", help="No answer that is less probable.")
    return click.option(
        "--costs", metavar="FILE", shell_complete=suggest_files,
        help="Answer what is expected to cost least; a TOML file with a table [true-class] of costs.",
    )(least(command))  # fmt: skip


def decision_rule(options: dict[str, Any], classes: Sequence[str], say: Messages) -> DecisionRule:
    """How answers are given to documents of some classes; raises `PathError` or `UsageError` for a file of costs that is none."""
    from nbtext.decision import DecisionRule

    if options["costs"] is None:
        return DecisionRule(None, options["min_probability"])
    from nbtext.decision import ABSTAIN, read_costs

    costs = read_costs(options["costs"], classes)
    if ABSTAIN in classes:
        say.notice(f"there is a class {ABSTAIN!r}, so in {options['costs']} {ABSTAIN} is that answer, and giving none has no cost")
    return DecisionRule(costs, options["min_probability"])


def excel_safe_option(command: Command) -> Command:
    """``--excel-safe``, for `require_csv` to look at."""
    return click.option(
        "--excel-safe", is_flag=True, help="With --output csv: names, classes and terms that begin like a formula get an apostrophe in front."
    )(command)  # fmt: skip


def require_csv(options: dict[str, Any], output: str) -> bool:
    """Whether cells are to be safe for a spreadsheet; raises `UsageError` if there are no cells."""
    if options["excel_safe"] and output != "csv":
        raise UsageError("--excel-safe goes with --output csv")
    return bool(options["excel_safe"])


def log_format_option(command: Command) -> Command:
    """``--log-format``; `nbtext.cli.main` has heeded it before options were read, so that it holds for wrong ones too."""
    return click.option(
        "--log-format", type=click.Choice(LOG_FORMATS), expose_value=False,
        help="Lines on standard error: text, or json, an object with level, message and where, document, hint.  [default: text]",
    )(command)  # fmt: skip


def messages_options(command: Command) -> Command:
    """``--verbose``, ``--quiet`` and ``--log-format``."""
    command = log_format_option(command)
    command = click.option("-q", "--quiet", is_flag=True, help="No warnings; errors remain.")(command)
    return click.option("-v", "--verbose", is_flag=True, help="Notices even if standard error is no terminal.")(command)


def given(table: tuple[Parameter, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a table that the user gave, checked; the numbers by name of a file that one names in its place."""
    return {
        parameter.name: parameter.checked(from_file(parameter.name, options[parameter.name]))
        for parameter in table
        if options[parameter.name] is not None
    }


def from_file(name: str, value: object) -> Any:
    """The value of a parameter of that name; for the path of a file of numbers by name what the file says.

    Raises `UsageError` if it is neither a value nor a file, `PathError` for a file that cannot be read.
    """
    if name == "class_prior" and isinstance(value, str):
        from nbtext.classifiers.base import read_class_prior

        return read_class_prior(value)
    if name == "smoothing" and isinstance(value, str):
        from nbtext.model.training import read_smoothing

        return read_smoothing(value)
    return value


def messages(options: dict[str, Any]) -> Messages:
    """How much is to be said."""
    if options["verbose"] and options["quiet"]:
        raise UsageError("--verbose and --quiet exclude each other")
    return Messages(options["verbose"], options["quiet"])


def _table_options(table: tuple[Parameter, ...], command: Command, *, defaults: bool) -> Command:
    for parameter in reversed(table):
        default = "" if parameter.default is None or not defaults else f"  [default: {parameter.default}]"
        if parameter.metavar:
            suggest = suggest_values(_OTHER_CHOICES.get(parameter.name, parameter.choices))
            option = click.option(
                parameter.option, parameter.name, metavar=parameter.metavar, help=parameter.meaning + default, shell_complete=suggest
            )
        else:
            switch = f"{parameter.option}/--no-{parameter.option[2:]}"
            option = click.option(switch, parameter.name, default=None, help=parameter.meaning)
        command = option(command)
    return command
