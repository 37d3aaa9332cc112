"""Commands: their options as fields of records, and the layout of their help.

An option is declared once, as a field of a frozen record (`option`, `argument`). A command names its records in its signature, and gets them with the
values of the command line. Help, completion, defaults and the reference read the same declarations. Nothing changes a record: `dataclasses.replace`
makes another.

Help has examples, then options in panels; those used most with ``--help``, all of them with ``--help-all``. This module imports no settings:
`nbtext --help` does without.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from inspect import cleandoc, get_annotations
from itertools import islice
from textwrap import wrap
from typing import Any, NamedTuple

import click
from click.core import ParameterSource, augment_usage_errors

from nbtext.cli import messages
from nbtext.cli.messages import emit, is_json_log, standard_error_is_terminal
from nbtext.errors import UsageError, did_you_mean
from nbtext.report.output_formats import has_colours, set_colours

HELP_ALL_KEY = "nbtext.help-all"
"""Set in the ``meta`` of a context whose help shows all."""

_BODY = re.compile(r" *(?:\S.*?  +)?")
"""Indentation, or the first of two columns."""

_NAMES = 24
"""Width of the column of names; a longer one has a line of its own."""


class Option(click.Option):
    """An option in a panel; ``common`` ones are shown by ``--help``, with the first sentence of their text.

    ``old_names`` go on working unseen. An option with ``setting_values`` is hidden: it is given as ``--set NAME=VALUE``, where these values are suggested.
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
        super().__init__(declarations, **{"show_default": True, **attributes})
        self.group = group
        self.common = common
        self._shown_default = shown_default
        self.old_names = old_names.split()
        self.setting_values = setting_values

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return what stands in brackets behind the text: a default."""
        extra = super().get_help_extra(ctx)
        if self._shown_default is not None:
            extra["default"] = self._shown_default
        return extra

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names and the text."""
        record = super().get_help_record(ctx)
        if record is None or not self.help or HELP_ALL_KEY in ctx.meta:
            return record
        return record[0], record[1].replace(self.help, _first_sentence(self.help))


class Command(click.Command):
    """A command whose docstring is a first paragraph, details, and a paragraph of examples."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.params += _OF_ALL

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with long names for short and old ones, and the user's own defaults (`nbtext.cli.config`)."""
        with augment_usage_errors(ctx):  # click leaves the command out of some
            options = [each for each in self.params if isinstance(each, Option)]
            args = _in_long_names(args, options)
            if not ctx.resilient_parsing:
                args = _with_settings(args, options)
            if not ctx.resilient_parsing and not {"--help", "--help-all"} & set(args):
                from nbtext.cli.config import load_defaults

                ctx.default_map = {
                    str(option.name): default.value
                    for option, default in load_defaults(ctx, args).items()
                }
            rest = super().parse_args(ctx, list(args))
            if not ctx.resilient_parsing and (overruled := _require_fitting(self, ctx)):
                ctx.default_map = {
                    name: value
                    for name, value in (ctx.default_map or {}).items()
                    if name not in overruled
                }
                ctx.params.clear()
                rest = super().parse_args(ctx, args)
            return rest

    def invoke(self, ctx: click.Context) -> int:
        """Invoke the command, with progress on a terminal; return its exit status, or that of its messages."""
        verbose, quiet = (bool(ctx.params.get(name)) for name in ("verbose", "quiet"))
        messages.start_messages(verbose=verbose, quiet=quiet)
        can_erase = standard_error_is_terminal() and os.environ.get("TERM", "") not in (
            "",
            "dumb",
            "unknown",
        )
        if can_erase and not quiet and not is_json_log():
            from nbtext.cli.progress_line import ProgressLine
            from nbtext.progress import observe_progress

            ctx.with_resource(observe_progress(ProgressLine()))
        status: int | None = super().invoke(ctx)
        of_documents = messages.finish_messages()
        return of_documents if status is None else status

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write usage, examples and options; with ``--help-all`` the details as well."""
        paint = get_painter()
        paragraphs, examples = self.split_help()
        self.format_usage(ctx, formatter)
        for paragraph in paragraphs if HELP_ALL_KEY in ctx.meta else paragraphs[:1]:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)
        with formatter.section(paint("Examples", bold=True)):
            formatter.write(wrap_to_terminal("".join(f"{line}\n" for line in examples)))
        for group, records in self.iterate_panels(ctx):
            with formatter.section(paint(group.capitalize(), bold=True)):
                formatter.write_dl(
                    [(paint(names.ljust(_NAMES), fg="cyan"), text) for names, text in records],
                    _NAMES,
                )
        if HELP_ALL_KEY in ctx.meta and (rules := self.describe_rules()):
            with formatter.section(paint("What excludes what", bold=True)):
                for rule in rules:
                    formatter.write_text(rule)

    def describe_rules(self) -> list[str]:
        """Return a line for each rule of the table of exclusions about these options."""
        from nbtext.compatibility import describe_option_rules

        shown = {
            _long_name(each)
            for each in self.params
            if not getattr(each, "hidden", False)
            or getattr(each, "setting_values", None) is not None
        }
        return list(describe_option_rules(str(self.name), shown))

    def split_help(self) -> tuple[list[str], list[str]]:
        """Return the paragraphs of the docstring, and the lines of examples."""
        text, _, examples = cleandoc(self.help or "").partition("\n\n\b\nExamples:\n")
        return text.split("\n\n"), examples.splitlines()

    def iterate_panels(self, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield each group that has options to be shown, with their names and texts."""
        from nbtext.settings import OPTION_GROUPS

        used = " ".join(self.split_help()[1]).replace("=", " ").split()
        options = [
            each
            for each in self.params
            if isinstance(each, Option)
            and (each.common or HELP_ALL_KEY in ctx.meta or any(name in used for name in each.opts))
        ]
        for group in OPTION_GROUPS:
            records = [
                record
                for each in options
                if each.group == group and (record := each.get_help_record(ctx)) is not None
            ]
            if records:
                yield group, records


def _require_fitting(command: click.Command, ctx: click.Context) -> list[str]:
    """Raise `UsageError` for options that exclude each other; return the parameters of a file of defaults that typed options exclude."""
    from nbtext.compatibility import require_compatible_options

    def given_by(source: ParameterSource) -> Iterator[tuple[str, str, str]]:
        """Yield the name of each option and argument with a value from a source, that value, and the name of the parameter."""
        for each in command.params:
            unset = (None, ()) if each.secondary_opts else (None, (), False)
            if (
                each.name in ctx.params
                and ctx.get_parameter_source(each.name) is source
                and ctx.params[each.name] not in unset
            ):
                yield _long_name(each), str(ctx.params[each.name]), each.name

    overruled: list[str] = []
    name = str(command.name)
    given = {option: value for option, value, _ in given_by(ParameterSource.COMMANDLINE)}
    for option, value, parameter in given_by(ParameterSource.DEFAULT_MAP):
        try:
            require_compatible_options(name, {**given, option: value})
            given[option] = value
        except UsageError as problem:
            overruled.append(parameter)
            if standard_error_is_terminal():
                emit(
                    f"{option} of the file of defaults is ignored: {problem.message}",
                    level="notice",
                )
    require_compatible_options(name, given)
    return overruled


def _in_long_names(arguments: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Return the arguments with the long name of each option in place of a short or an old one.

    For a short name click looks for names that are near it, as for a mistyped one, before it takes it: 3 ms, a fiftieth of an answer.
    """
    named = {name: each for each in options for name in (*each.opts, *each.old_names)}
    with_value = {name for name, each in named.items() if not each.is_flag}
    renamed = list(arguments)
    for place, argument in enumerate(arguments):
        if argument == "--":
            break
        name, equals, value = argument.partition("=")
        if name not in named and not argument.startswith("--") and argument[:2] in with_value:
            name = argument[:2]
            equals = "="
            value = argument[2:]
        if (
            name in named
            and (long := _long_name(named[name])) != name
            and not (place and arguments[place - 1] in with_value)
        ):
            renamed[place] = long + equals + value
            if (
                name in named[name].old_names
                and standard_error_is_terminal()
                and not {"-q", "--quiet"}.intersection(arguments)
            ):
                emit(f"{name} is now called {long}", level="notice")
    return renamed


SET_OPTION = "--set"
"""Gives a setting that few need."""

SEE_SETTINGS = "see nbtext help settings"


def _with_settings(arguments: Sequence[str], options: Sequence[Option]) -> list[str]:
    """Replace each ``--set NAME=VALUE`` by ``--NAME=VALUE``, the hidden option behind it; raise `UsageError` for wrong usage."""
    if SET_OPTION not in {argument.partition("=")[0] for argument in arguments}:
        return list(arguments)
    if not any(each.setting_values is not None for each in options):
        return list(arguments)  # click says that there is no such option
    with_value = {name for each in options if not each.is_flag for name in each.opts}
    replaced: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, value = argument.partition("=")
        if argument == "--":
            return [*replaced, argument, *waiting]
        if name == SET_OPTION:
            replaced.append(_setting(value if equals else next(waiting, ""), options))
        else:
            replaced.append(argument)
            if argument in with_value:
                replaced += islice(waiting, 1)
    return replaced


def _setting(text: str, options: Sequence[Option]) -> str:
    """Return the argument of the hidden option for NAME=VALUE."""
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("--").replace("_", "-")
    settings = {_long_name(each)[2:]: each for each in options if each.setting_values is not None}
    if name and name not in settings:
        if any(f"--{name}" in each.opts for each in options):
            raise UsageError(
                f"{SET_OPTION} does not set {name}, which has an option of its own",
                hint=f"give --{name}",
            )
        from nbtext.settings import PARAMETERS_BY_NAME

        declared = PARAMETERS_BY_NAME.get(name.replace("-", "_"))
        if declared is not None and declared.is_rare:
            raise UsageError(
                f"{SET_OPTION} {name} is for commands that train",
                hint="leave it out, since a model has its own",
            )
        near = did_you_mean(name, list(settings))
        raise UsageError(f"{SET_OPTION} does not know {name!r}{near}", hint=SEE_SETTINGS)
    if not name or not equals:
        raise UsageError(f"{SET_OPTION} must be NAME=VALUE, not {text!r}", hint=SEE_SETTINGS)
    option = settings[name]
    if not option.is_flag:
        return f"--{name}={value}"
    if value not in ("true", "false"):
        raise UsageError(f"{SET_OPTION} {name} must be true or false, not {value!r}")
    return f"--{name}" if value == "true" else f"--no-{name}"


def _set_option(settings: Sequence[Option]) -> Option:
    """Return the option ``--set``, which stands for the hidden options of settings."""
    names = [_long_name(each)[2:] for each in settings]

    def suggest(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        name, equals, _value = incomplete.partition("=")
        if not equals:
            return [f"{each}=" for each in names if each.startswith(incomplete)]
        values = [
            value
            for each in settings
            if _long_name(each)[2:] == name
            for value in each.setting_values or ()
        ]
        return [f"{name}={value}" for value in values if f"{name}={value}".startswith(incomplete)]

    is_training = any(each.group == "model" for each in settings)
    return Option(
        [SET_OPTION],
        group="model" if is_training else "documents",
        common=is_training,
        multiple=True,
        metavar="NAME=VALUE",
        expose_value=False,
        shell_complete=suggest,
        help=f"Set what few need; see nbtext help settings. NAME is {', '.join(names[:-1])} or "
        f"{names[-1]}. "
        "The option can be given several times.",
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


_OF_ALL = [
    Option(
        ["--config"],
        group="process",
        metavar="FILE",
        expose_value=False,
        help="Read defaults of options from FILE, not from nbtext.toml. See nbtext help config.",
    ),
    Option(
        ["--no-config"],
        group="process",
        is_flag=True,
        expose_value=False,
        help="Read no file of defaults.",
    ),
    Option(
        ["-h", "--help"],
        group="process",
        common=True,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        help="Show this.",
        callback=_show_help,
    ),
    Option(
        ["--help-all"],
        group="process",
        common=True,
        is_flag=True,
        is_eager=True,
        expose_value=False,
        help="Show all options and the details.",
        callback=_show_help,
    ),
]
"""Options of every command."""


class Declaration(NamedTuple):
    """What a field of a record declares."""

    make_parameters: Callable[[str], list[click.Parameter]]
    """Makes click's options or argument, given the name of the field."""
    get_value: Callable[[str, Mapping[str, Any]], object]
    """Returns the value of the field, given its name and the values of all options by name."""
    is_late: bool = False
    """Its options are listed after those of other fields."""


DECLARATION = "declaration"
"""In the metadata of a field: its `Declaration`."""


def _value_of_one(name: str, values: Mapping[str, Any]) -> object:
    return values[name]


def option(names: str, group: str, text: str, *, is_late: bool = False, **attributes: Any) -> Any:
    """Declare a field as an option in a panel of the help; other arguments are those of `Option` and `click.Option`.

    ``names`` have blanks between them. An option with neither type nor metavar is a switch.
    """
    is_switch = attributes.keys().isdisjoint({"type", "metavar"})

    def parameters(name: str) -> list[click.Parameter]:
        return [
            Option(
                [*names.split(), name],
                group=group,
                help=text,
                is_flag=is_switch or None,
                **attributes,
            )
        ]

    default = attributes.get("default")
    if attributes.get("required"):
        default = MISSING
    elif attributes.get("multiple"):
        default = ()
    elif is_switch and default is None:
        default = False
    elif callable(default):
        default = None
    return field(
        default=default, metadata={DECLARATION: Declaration(parameters, _value_of_one, is_late)}
    )


def common_option(names: str, group: str, text: str, **attributes: Any) -> Any:
    """Declare a field as an option that the short ``--help`` lists; others are listed by ``--help-all`` alone. Otherwise like `option`."""
    return option(names, group, text, common=True, **attributes)


def argument(**attributes: Any) -> Any:
    """Declare a field as an argument; the attributes are those of `click.Argument`."""

    def parameters(name: str) -> list[click.Parameter]:
        return [click.Argument([name], **attributes)]

    default = () if attributes.get("nargs") == -1 else None
    return field(default=default, metadata={DECLARATION: Declaration(parameters, _value_of_one)})


def _declarations(record: type) -> Iterator[tuple[str, Declaration]]:
    """Yield the name and the declaration of each field of a record that has one."""
    for each in fields(record):
        if DECLARATION in each.metadata:
            yield each.name, each.metadata[DECLARATION]


def command(
    name: str,
    cls: type[Command] = Command,
    *,
    hidden: bool = False,
    shared: Sequence[click.Parameter] | None = None,
) -> Callable[[Callable[..., int | None]], click.Command]:
    """Return the decorator that makes a command of a function whose arguments are records of options.

    A ``hidden`` command is the old name of another. ``shared`` are options that no record has, by default those of all messages. The annotations of the
    function are evaluated, so its records must be imported at run time.
    """

    def decorate(function: Callable[..., int | None]) -> click.Command:
        records = get_annotations(function, eval_str=True)
        records.pop("return", None)
        early: list[click.Parameter] = []
        late: list[click.Parameter] = []
        for record in records.values():
            for field_name, declaration in _declarations(record):
                options = late if declaration.is_late else early
                options.extend(declaration.make_parameters(field_name))

        def run(**values: Any) -> int | None:
            made = {
                argument: record(
                    **{
                        each: declaration.get_value(each, values)
                        for each, declaration in _declarations(record)
                    }
                )
                for argument, record in records.items()
            }
            return function(**made)

        settings = [
            each for each in late if isinstance(each, Option) and each.setting_values is not None
        ]
        if settings:
            late.append(_set_option(settings))
        params = [*early, *late, *(MESSAGE_OPTIONS if shared is None else shared)]
        return cls(
            name,
            callback=run,
            params=params,
            help=function.__doc__,
            add_help_option=False,
            hidden=hidden,
        )

    return decorate


def _first_sentence(text: str) -> str:
    """Return the first sentence.

    >>> _first_sentence("Use N processes. The result is the same.")
    'Use N processes.'
    """
    return text.partition(". ")[0].rstrip(".") + "."


def wrap_to_terminal(text: str) -> str:
    """Return a text laid out for 80 columns as it fits a narrower terminal: paragraphs and second columns filled again, commands continued."""
    from shutil import get_terminal_size

    width = get_terminal_size().columns
    if width >= 80:
        return text
    rows: list[tuple[str, str]] = []
    for line in text.splitlines():
        start = _BODY.match(line).end()  # type: ignore[union-attr] # it matches any line
        head = line[:start]
        body = line[start:]
        before, filled = rows[-1] if rows else ("", "")
        if filled and body and head == " " * len(before) and not before.isspace():
            rows[-1] = (before, f"{filled} {body}")
        else:
            rows.append((head, body))
    lines = []
    for head, body in rows:
        end, more = (" \\\n", "    ") if head and body.startswith("nbtext ") else ("\n", "")
        lines.append(
            end.join(
                wrap(
                    f"{head}{body}",
                    width - len(end) + 1,
                    subsequent_indent=" " * len(head) + more,
                    break_on_hyphens=False,
                )
            )
        )
    return "\n".join(lines) + "\n"


def get_painter() -> Callable[..., str]:
    """Return `click.style` if standard output is a terminal with colours, else what leaves texts as they are."""
    return click.style if has_colours() else lambda text, **_: text


class Choice(click.Choice[str]):
    """One of several names; asks about near misses."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name; raise click's error for wrong usage."""
        given = str(value)
        if given in self.choices:
            return given
        wanted = f"one of {', '.join(self.choices)}" if len(self.choices) > 1 else self.choices[0]
        raise wrong_value_error(wanted, f"{given!r}{did_you_mean(given, self.choices)}", param, ctx)


def _long_name(parameter: click.Parameter) -> str:
    """Return the longest name of an option, or what an argument is called."""
    named = not isinstance(parameter, click.Option) and parameter.metavar
    return named.strip("[].") if named else max(parameter.opts, key=len)


def wrong_value_error(
    wanted: str, given: str, param: click.Parameter | None, ctx: click.Context | None
) -> click.UsageError:
    """Return the error for a value of an option."""
    return click.UsageError(
        f"{_long_name(param) if param else 'it'} must be {wanted}, not {given}", ctx
    )


LOG_FORMAT_OPTION = Option(
    ["--log-format"],
    group="process",
    expose_value=False,
    shown_default="text",
    type=Choice(("text", "json")),
    help="Form of messages on standard error. json: an object a line, with level, message and, if "
    "they apply, where, document and hint.",
)
"""`nbtext.cli.main` reads it before other options, so that it applies to their errors too."""


def _set_colours(context: click.Context, _: click.Parameter, when: str | None) -> None:
    if when is not None:
        set_colours(when)
        context.color = None if when == "auto" else when == "always"


COLOR_OPTION = Option(
    ["--color"],
    group="output",
    expose_value=False,
    shown_default="auto",
    type=Choice(("auto", "always", "never")),
    is_eager=True,
    callback=_set_colours,
    help="Use colours: auto, always or never. auto: on a terminal that has them, unless the "
    "variable NO_COLOR is set.",
)

MESSAGE_OPTIONS: Sequence[click.Parameter] = (
    COLOR_OPTION,
    Option(
        ["-v", "--verbose"],
        group="process",
        common=True,
        is_flag=True,
        help="Print notices even without a terminal.",
    ),
    Option(
        ["-q", "--quiet"], group="process", common=True, is_flag=True, help="Print errors only."
    ),
    LOG_FORMAT_OPTION,
)
"""Options of all commands that work."""
