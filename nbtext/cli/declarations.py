"""Commands: their options as fields of records, and the layout of their help.

An option is declared once, as a field of a frozen record (`option`, `argument`). The signature of a
command names its records, and the command gets them with the values of the command line. Help,
completion, defaults and the reference use the same declarations.

The help has examples, then options in panels. ``--help`` shows common options, and ``--help-all``
shows all. This module does not import the settings, so that `nbtext --help` is fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from functools import partial
from inspect import cleandoc, get_annotations
from itertools import islice
from textwrap import wrap
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import click
from click.core import ParameterSource, augment_usage_errors

from nbtext.cli import messages
from nbtext.cli.messages import emit, is_json_log, standard_error_is_terminal
from nbtext.errors import UsageError, did_you_mean
from nbtext.fast_dataclasses import dataclass
from nbtext.report.output_formats import has_colours, set_colours

COMPLETION_VARIABLE = "_NBTEXT_COMPLETE"
"""Environment variable that a shell sets to ask click for completions."""

HELP_ALL_KEY = "nbtext.help-all"
"""Key in ``Context.meta`` that makes the help show everything."""

_LINE_HEAD = re.compile(r" *(?:\S.*?  +)?")
"""The start of a line: its indentation, or the first of two columns."""

_NAME_COLUMN_WIDTH = 24
"""Width of the column of option names. A longer name has a line of its own."""


class Option(click.Option):
    """An option in a panel of the help.

    ``--help`` shows ``common`` options, with the first sentence of their text. ``old_names`` still
    work but are not shown. An option with ``setting_values`` is hidden: users set it with
    ``--set NAME=VALUE``, and the shell suggests these values.
    """

    def __init__(
        self,
        declarations: list[str],
        *,
        group: str,
        common: bool = False,
        shown_default: str | None = None,
        old_names: str = "",
        setting_values: Sequence[str] | None = None,
        **attributes: Any,
    ) -> None:
        if setting_values is not None:
            attributes["hidden"] = True
        attributes.setdefault("show_default", True)
        super().__init__(declarations, **attributes)
        self.group = group
        self.common = common
        self._shown_default = shown_default
        self.old_names = old_names.split()
        self.setting_values = setting_values

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the texts in brackets after the help, such as the default."""
        extra = super().get_help_extra(ctx)
        if self._shown_default is not None:
            extra["default"] = self._shown_default
        return extra

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names, and the first sentence of the help, or with ``--help-all`` all of it.

        The texts in brackets follow the help in both cases.
        """
        record = super().get_help_record(ctx)
        if record is None or not self.help or HELP_ALL_KEY in ctx.meta:
            return record
        names, text = record
        return names, text.replace(self.help, _get_first_sentence(self.help))


class Command(click.Command):
    """A command whose docstring is a first paragraph, details, and a paragraph of examples."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += _EVERY_COMMAND_OPTIONS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, after replacing short and old names by long names.

        An option that is not given gets the user's own default (`nbtext.cli.config`), unless a
        given option excludes it.
        """
        with augment_usage_errors(ctx):  # click leaves the command out of some errors
            options = [param for param in self.params if isinstance(param, Option)]
            args = _use_long_names(args, options)
            if ctx.resilient_parsing:  # the shell completes an argument
                return super().parse_args(ctx, args)
            args = _expand_settings(args, options)
            defaults: dict[str, Any] = {}
            if {"--help", "--help-all"}.isdisjoint(args):
                defaults = _load_default_map(ctx, args)
            ctx.default_map = defaults
            remaining = super().parse_args(ctx, list(args))  # click empties its list
            excluded_names = _find_excluded_defaults(self, ctx)
            if excluded_names:
                for name in excluded_names:
                    del defaults[name]  # from ``ctx.default_map`` too, which is the same dict
                # Parse again without the excluded defaults.
                ctx.params.clear()
                remaining = super().parse_args(ctx, args)
            return remaining

    def invoke(self, ctx: click.Context) -> int:
        """Run the command, with a progress line on a terminal, and return its exit status.

        If the command returns None, the status depends on the messages.
        """
        quiet = bool(ctx.params.get("quiet"))
        messages.start_messages(verbose=bool(ctx.params.get("verbose")), quiet=quiet)
        if not quiet and not is_json_log() and _can_erase_lines():
            from nbtext.cli.progress_line import ProgressLine
            from nbtext.progress import watching

            ctx.with_resource(watching(ProgressLine()))
        status: int | None = super().invoke(ctx)
        message_status = messages.finish_messages()
        if status is None:
            return message_status
        return status

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, examples and options; with ``--help-all`` also details and rules."""
        paint = get_painter()
        shows_all = HELP_ALL_KEY in ctx.meta
        paragraphs, examples = self.split_help()
        self.format_usage(ctx, formatter)
        if not shows_all:
            del paragraphs[1:]
        for paragraph in paragraphs:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
        with formatter.section(paint("Examples", bold=True)):
            formatter.write(wrap_to_terminal("".join(f"{line}\n" for line in examples)))
        for group, records in self.iterate_panels(ctx):
            rows = [
                (paint(names.ljust(_NAME_COLUMN_WIDTH), fg="cyan"), text) for names, text in records
            ]
            with formatter.section(paint(group.capitalize(), bold=True)):
                formatter.write_dl(rows, _NAME_COLUMN_WIDTH)

        rules = self.describe_rules() if shows_all else []
        if rules:
            with formatter.section(paint("Combinations", bold=True)):
                for rule in rules:
                    formatter.write_text(rule)

    def describe_rules(self) -> list[str]:
        """Return a sentence for each rule about options that exclude or require each other."""
        from nbtext.compatibility import describe_option_rules

        names = {_get_long_name(param) for param in self.params if _is_documented(param)}
        return list(describe_option_rules(str(self.name), names))

    def split_help(self) -> tuple[list[str], list[str]]:
        """Return the paragraphs of the docstring, and the lines of the examples."""
        text, _, examples = cleandoc(self.help or "").partition("\n\n\b\nExamples:\n")
        return text.split("\n\n"), examples.splitlines()

    def iterate_panels(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the name of each panel, with the names and texts of the options to show in it.

        An option that an example uses is always shown.
        """
        from nbtext.settings import OPTION_GROUPS

        _, examples = self.split_help()
        # "=" separates words too, as in --option=value.
        example_words = set(" ".join(examples).replace("=", " ").split())
        shows_all = HELP_ALL_KEY in ctx.meta
        # All groups from the start, so that the panels are in their order.
        records: dict[str, list[tuple[str, str]]] = {group: [] for group in OPTION_GROUPS}
        for param in self.params:
            if not isinstance(param, Option):
                continue
            if shows_all or param.common or not example_words.isdisjoint(param.opts):
                record = param.get_help_record(ctx)
                if record is not None:
                    records[param.group].append(record)
        for group, group_records in records.items():
            if group_records:
                yield group, group_records


def _can_erase_lines() -> bool:
    """Return True if standard error is a terminal that can erase a line."""
    terminal = os.environ.get("TERM", "")
    return standard_error_is_terminal() and terminal not in ("", "dumb", "unknown")


def _load_default_map(ctx: click.Context, args: Sequence[str]) -> dict[str, Any]:
    """Return the user's own defaults by the name of the parameter."""
    from nbtext.cli.config import load_defaults

    return {str(option.name): default.value for option, default in load_defaults(ctx, args).items()}


def _is_documented(param: click.Parameter) -> bool:
    """Return True for a parameter that is not hidden, or that ``--set`` sets."""
    # An argument has neither attribute.
    is_hidden = getattr(param, "hidden", False)
    return not is_hidden or getattr(param, "setting_values", None) is not None


def _find_excluded_defaults(command: click.Command, ctx: click.Context) -> list[str]:
    """Return the names of parameters whose default is excluded by another option.

    The other option is on the command line, or has an earlier default. On a terminal, print a
    notice about each excluded default. Raise `UsageError` for options on the command line that
    exclude each other.
    """
    from nbtext.compatibility import require_compatible_options

    name = str(command.name)
    values = {
        _get_long_name(param): str(ctx.params[param.name])
        for param in _select_parameters(command, ctx, ParameterSource.COMMANDLINE)
    }
    excluded_names: list[str] = []
    for param in _select_parameters(command, ctx, ParameterSource.DEFAULT_MAP):
        option = _get_long_name(param)
        value = str(ctx.params[param.name])
        try:
            require_compatible_options(name, {**values, option: value})
            values[option] = value
        except UsageError as problem:
            excluded_names.append(param.name)
            if standard_error_is_terminal():
                emit(
                    f"{option} in the file of defaults is ignored: {problem.message}",
                    level="notice",
                )
    require_compatible_options(name, values)  # options of the command line exclude each other
    return excluded_names


def _select_parameters(
    command: click.Command, ctx: click.Context, source: ParameterSource
) -> Iterator[click.Parameter]:
    """Yield the parameters whose value comes from this source.

    None, an empty tuple and a switch that is off count as no value. A switch with a ``--no-`` name
    has a value even if it is off.
    """
    for param in command.params:
        unset_values: tuple[object, ...] = (None, (), False)
        if param.secondary_opts:  # the names that begin with --no-
            unset_values = (None, ())
        if (
            param.name in ctx.params
            and ctx.get_parameter_source(param.name) is source
            and ctx.params[param.name] not in unset_values
        ):
            yield param


def _use_long_names(arguments: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Return the arguments with the long name of each option instead of a short or old name.

    Print a notice about old names. Long names are faster: click searches similar names before it
    accepts a short name.
    """
    options_by_name = {}
    for option in options:
        for name in (*option.opts, *option.old_names):
            options_by_name[name] = option
    names_with_value = {name for name, option in options_by_name.items() if not option.is_flag}
    is_quiet = not {"-q", "--quiet"}.isdisjoint(arguments)
    renamed = list(arguments)
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        if index and arguments[index - 1] in names_with_value:
            continue  # the argument is the value of the previous option
        name, equals, value = argument.partition("=")
        short_name = argument[:2]
        if name not in options_by_name and short_name in names_with_value:  # such as -n5
            name = short_name
            equals = "="
            value = argument[2:]
        if name not in options_by_name:
            continue
        long_name = _get_long_name(options_by_name[name])
        renamed[index] = long_name + equals + value
        is_old_name = name in options_by_name[name].old_names
        if is_old_name and standard_error_is_terminal() and not is_quiet:
            emit(f"{name} is now called {long_name}", level="notice")
    return renamed


SET_OPTION = "--set"
"""The option that sets parameters which are rarely needed."""


def _expand_settings(arguments: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Replace each ``--set NAME=VALUE`` by the argument of the hidden option.

    Raise `UsageError` for an unknown name or a missing value.
    """
    if SET_OPTION not in {argument.partition("=")[0] for argument in arguments}:
        return list(arguments)
    if not any(option.setting_values is not None for option in options):
        return list(arguments)  # click reports that the option does not exist
    names_with_value = {name for option in options if not option.is_flag for name in option.opts}
    expanded: list[str] = []
    iterator = iter(arguments)  # the loop takes the value of an option from it too
    for argument in iterator:
        name, equals, value = argument.partition("=")
        if argument == "--":
            return [*expanded, argument, *iterator]  # no options follow
        if name == SET_OPTION:
            text = value if equals else next(iterator, "")
            expanded.append(_expand_setting(text, options))
        else:
            expanded.append(argument)
            if argument in names_with_value:
                expanded += islice(iterator, 1)  # the value, or nothing if it is missing
    return expanded


def _expand_setting(text: str, options: Sequence[Option]) -> str:
    """Return the argument of the hidden option for NAME=VALUE.

    >>> _expand_setting("l2=0.5", [Option(["--l2"], group="model", setting_values=[])])
    '--l2=0.5'

    Raise `UsageError` for an unknown name or an invalid value of a switch.
    """
    from nbtext.cli.config import parse_setting

    option, value = parse_setting(text, options)
    name = _get_long_name(option)
    if not option.is_flag:
        return f"{name}={value}"
    return name if value == "true" else f"--no-{name.removeprefix('--')}"


def _make_set_option(settings: Sequence[Option]) -> Option:
    """Return the option ``--set`` for the hidden options of settings.

    Its panel is the model's if a setting of training is among them.
    """
    options = {_get_key(option): option for option in settings}
    names = list(options)

    def suggest(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        name, equals, _value = incomplete.partition("=")
        if not equals:
            return [f"{setting}=" for setting in names if setting.startswith(incomplete)]
        values = options[name].setting_values if name in options else None
        arguments = [f"{name}={value}" for value in values or ()]
        return [argument for argument in arguments if argument.startswith(incomplete)]

    is_training = any(option.group == "model" for option in settings)
    return Option(
        [SET_OPTION],
        group="model" if is_training else "documents",
        common=is_training,
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        shell_complete=suggest,
        help=f"Set a rare setting; see nbtext help settings. NAME is {', '.join(names[:-1])} or "
        f"{names[-1]}. The option can be given several times.",
    )


def _show_help(
    context: click.Context,
    parameter: click.Parameter,
    value: bool,  # noqa: FBT001 - click passes it
) -> None:
    if value and not context.resilient_parsing:
        if parameter.name == "help_all":
            context.meta[HELP_ALL_KEY] = True
        click.echo(context.get_help(), color=context.color)
        context.exit()


_make_help_option = partial(
    Option,
    group="process",
    common=True,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_help,
)

_EVERY_COMMAND_OPTIONS = [
    Option(
        ["--config"],
        group="process",
        metavar="FILE",
        expose_value=False,
        help=(
            "Read default values of options from FILE instead of nbtext.toml. See nbtext help "
            "config."
        ),
    ),
    Option(
        ["--no-config"],
        group="process",
        is_flag=True,
        expose_value=False,
        help="Read no file of default values.",
    ),
    _make_help_option(["-h", "--help"], help="Show this."),
    _make_help_option(["--help-all"], help="Show all options and the details."),
]
"""Options that all commands have."""


R = TypeVar("R")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def option_record(cls: type[R]) -> type[R]:
    """Make a frozen dataclass of a class whose fields are options or arguments of a command."""
    record_class: type[R] = dataclass(frozen=True, kw_only=True)(cls)
    return record_class


class Declaration(NamedTuple):
    """The options of a field of a record."""

    make_parameters: Callable[[str], list[click.Parameter]]
    """Takes the name of the field, and returns the options or the argument of click."""
    get_value: Callable[[str, Mapping[str, Any]], object]
    """Takes the name of the field and the values of all options by name; returns its value."""
    is_listed_last: bool = False
    """Whether the options are listed after the options of other fields."""


DECLARATION = "declaration"
"""Key of a `Declaration` in the metadata of a field."""


def _get_field_value(name: str, values: Mapping[str, Any]) -> object:
    return values[name]


def option(
    names: str, text: str, *, group: str, is_listed_last: bool = False, **attributes: Any
) -> Any:
    """Declare a field of a record as an option.

    ``names`` are the names on the command line, separated by blanks. ``text`` is the help text.
    ``group`` is the panel of the help, one of `nbtext.settings.OPTION_GROUPS`. The attributes are
    arguments of `Option` and `click.Option`. Without a type and a metavar the option is a switch.
    """
    is_switch = attributes.keys().isdisjoint({"type", "metavar"})

    def make_options(name: str) -> list[click.Parameter]:
        return [
            Option(
                [*names.split(), name],
                group=group,
                help=text,
                is_flag=is_switch or None,  # None: click decides
                **attributes,
            )
        ]

    # The default of the field, for records that Python code creates.
    default = attributes.get("default")
    if attributes.get("required"):
        default = MISSING
    elif attributes.get("multiple"):
        default = ()
    elif is_switch and default is None:
        default = False
    elif callable(default):
        default = None  # click calls it, for the command line only
    declaration = Declaration(make_options, _get_field_value, is_listed_last)
    return field(default=default, metadata={DECLARATION: declaration})


def common_option(names: str, text: str, *, group: str, **attributes: Any) -> Any:
    """Declare a field as an option that ``--help`` shows too. See `option` for the arguments."""
    return option(names, text, group=group, common=True, **attributes)


def argument(**attributes: Any) -> Any:
    """Declare a field as an argument. The attributes are arguments of `click.Argument`."""

    def make_arguments(name: str) -> list[click.Parameter]:
        return [click.Argument([name], **attributes)]

    default = () if attributes.get("nargs") == -1 else None
    declaration = Declaration(make_arguments, _get_field_value)
    return field(default=default, metadata={DECLARATION: declaration})


def _list_declarations(record_class: type) -> list[tuple[str, Declaration]]:
    """Return the name and the declaration of each field that has one."""
    return [
        (record_field.name, record_field.metadata[DECLARATION])
        for record_field in fields(record_class)
        if DECLARATION in record_field.metadata
    ]


def command(
    name: str,
    cls: type[Command] = Command,
    *,
    hidden: bool = False,
    message_options: Sequence[click.Parameter] | None = None,
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return a decorator that makes a command of a function whose arguments are option records.

    A ``hidden`` command is the old name of another command. ``message_options`` are options without
    a record, instead of the usual `MESSAGE_OPTIONS`. The annotations of the function are evaluated,
    so the records must be imported at run time.
    """

    def decorate(function: Callable[..., int | None]) -> click.Command:
        record_classes = get_annotations(function, eval_str=True)
        record_classes.pop("return", None)

        def run(**values: Any) -> int | None:
            records = {
                argument_name: _make_record(record_class, values)
                for argument_name, record_class in record_classes.items()
            }
            return function(**records)

        last_options = MESSAGE_OPTIONS if message_options is None else message_options
        return cls(
            name,
            callback=run,
            params=[*_make_parameters(record_classes.values()), *last_options],
            help=function.__doc__,
            add_help_option=False,
            hidden=hidden,
        )

    return decorate


def _make_parameters(record_classes: Iterable[type]) -> list[click.Parameter]:
    """Return the parameters of records, first those not listed last, and ``--set`` at the end.

    ``--set`` is only there if a record has settings, which are listed last.
    """
    early: list[click.Parameter] = []
    late: list[click.Parameter] = []
    for record_class in record_classes:
        for name, declaration in _list_declarations(record_class):
            if declaration.is_listed_last:
                late += declaration.make_parameters(name)
            else:
                early += declaration.make_parameters(name)
    settings = [
        param for param in late if isinstance(param, Option) and param.setting_values is not None
    ]
    if settings:
        late.append(_make_set_option(settings))
    return [*early, *late]


def _make_record(record_class: type, values: Mapping[str, Any]) -> object:
    """Return a record with the values of the command line."""
    return record_class(
        **{
            name: declaration.get_value(name, values)
            for name, declaration in _list_declarations(record_class)
        }
    )


def _get_first_sentence(text: str) -> str:
    """Return the first sentence.

    >>> _get_first_sentence("Use N processes. The result is the same.")
    'Use N processes.'
    """
    return text.partition(". ")[0].rstrip(".") + "."


def wrap_to_terminal(text: str) -> str:
    """Return a text that has lines of up to 80 columns, wrapped again for a narrower terminal.

    Paragraphs and second columns are filled. Examples of commands continue with a backslash.
    """
    from shutil import get_terminal_size

    width = get_terminal_size().columns
    if width >= 80:
        return text
    lines = []
    for head, body in _join_wrapped_lines(text.splitlines()):
        is_example = head != "" and body.startswith("nbtext ")
        line_end = " \\\n" if is_example else "\n"
        indentation = " " * len(head)
        if is_example:
            indentation += "    "
        wrapped = wrap(
            f"{head}{body}",
            width - len(line_end.rstrip("\n")),
            subsequent_indent=indentation,
            break_on_hyphens=False,
        )
        lines.append(line_end.join(wrapped))
    return "\n".join(lines) + "\n"


def _join_wrapped_lines(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return the head and the body of each row.

    The head is an indentation or a first column. The next line continues the body if it begins
    where the body begins. But an indented line without a first column is always a row of its own.

    >>> _join_wrapped_lines(["name  one", "      two", "", "  an example", "  an example"])
    [('name  ', 'one two'), ('', ''), ('  ', 'an example'), ('  ', 'an example')]
    """
    rows: list[tuple[str, str]] = []
    for line in lines:
        start = _LINE_HEAD.match(line).end()  # type: ignore[union-attr] # it matches any line
        head = line[:start]
        body = line[start:]
        last_head, last_body = rows[-1] if rows else ("", "")
        continues_column = head == " " * len(last_head) and not last_head.isspace()
        if last_body and body and continues_column:
            rows[-1] = (last_head, f"{last_body} {body}")
        else:
            rows.append((head, body))
    return rows


def get_painter() -> Callable[..., str]:
    """Return `click.style` on a terminal with colours, else a function that returns the text."""
    return click.style if has_colours() else _ignore_style


def _ignore_style(text: str, **_: object) -> str:
    return text


class Choice(click.Choice[str]):
    """One of several names. The error for another name suggests similar ones."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name; raise `click.UsageError` for another value."""
        name = str(value)
        if name in self.choices:
            return name
        names = ", ".join(self.choices)
        expected = f"one of {names}" if len(self.choices) > 1 else names
        raise wrong_value_error(expected, f"{name!r}{did_you_mean(name, self.choices)}", param, ctx)


def _get_long_name(parameter: click.Parameter) -> str:
    """Return the longest name of an option, or the metavar of an argument."""
    if not isinstance(parameter, click.Option) and parameter.metavar:
        return parameter.metavar.strip("[].")
    return max(parameter.opts, key=len)


def _get_key(option: Option) -> str:
    """Return the longest name of an option without hyphens before it."""
    return _get_long_name(option).removeprefix("--")


def wrong_value_error(
    expected: str, value: str, param: click.Parameter | None, ctx: click.Context | None
) -> click.UsageError:
    """Return the error for a value of an option. Both texts are parts of the message."""
    name = _get_long_name(param) if param else "it"
    return click.UsageError(f"{name} must be {expected}, not {value}", ctx)


LOG_FORMAT_OPTION = Option(
    ["--log-format"],
    group="process",
    expose_value=False,
    shown_default="text",
    type=Choice(("text", "json")),
    help=(
        "Format of messages on standard error. json: one object per line, with "
        '"time", "level", "message" and, if they apply, "where", "document", "hint" and "model".'
    ),
)
"""`nbtext.cli.main` reads it before other options, so that it applies to their errors too."""


def _set_colours(context: click.Context, _: click.Parameter, when: str | None) -> None:
    """Apply the value of ``--color``, which is None if the option is not given."""
    if when is None:
        return
    set_colours(when)
    context.color = {"auto": None, "always": True, "never": False}[when]


COLOR_OPTION = Option(
    ["--color"],
    group="output",
    expose_value=False,
    shown_default="auto",
    type=Choice(("auto", "always", "never")),
    is_eager=True,
    callback=_set_colours,
    help=(
        "Use colours: auto, always or never. auto: on a terminal with colours, unless the "
        "variable NO_COLOR is set."
    ),
)

MESSAGE_OPTIONS: Sequence[click.Parameter] = (
    COLOR_OPTION,
    Option(
        ["-v", "--verbose"],
        group="process",
        common=True,
        is_flag=True,
        help="Print notices. Without -v, only a terminal shows notices.",
    ),
    Option(
        ["-q", "--quiet"], group="process", common=True, is_flag=True, help="Print errors only."
    ),
    LOG_FORMAT_OPTION,
)
"""Options of all commands that print messages."""
