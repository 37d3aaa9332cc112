"""Turn declared parameters of settings into options, and collect the values that a user gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from click.core import ParameterSource

from nbtext.cli.config import ColumnOfPaths, InputPath, PathList
from nbtext.cli.declarations import DECLARATION, Declaration, Option
from nbtext.fast_dataclasses import dataclass
from nbtext.settings import EVIDENCE_PREFIX, LANGUAGES, Parameter, SettingsBase

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

S = TypeVar("S", bound=SettingsBase)

INPUT_PATH = InputPath()
"""The type of an option that is a path to be read."""


@dataclass(frozen=True)
class ExplicitSettings(Generic[S]):
    """Parameters of settings that a user gave. They are checked when their values are asked for."""

    settings_class: type[S]
    raw_values: Mapping[str, object] = field(default_factory=dict)
    """The unchecked values by name, from the command line, a file of defaults or the environment: a string, or a bool for a switch."""
    typed_names: frozenset[str] = frozenset()
    """The names of those on the command line itself, not in a file of defaults or the environment."""

    def __contains__(self, name: object) -> bool:
        """Return whether the parameter of this name was given."""
        return name in self.raw_values

    def with_raw_values(self, **raw: object) -> ExplicitSettings[S]:
        """Return these parameters and others, which replace those of the same names."""
        return replace(self, raw_values={**self.raw_values, **raw})

    @cached_property
    def values(self) -> dict[str, Any]:
        """The checked values by name. Where a value is the path of a file, the numbers in that file take its place.

        Raises `UsageError` and `PathError`.
        """
        parameters = [
            each for each in self.settings_class.parameters() if each.name in self.raw_values
        ]
        return {
            each.name: each.validate(_from_file(each, self.raw_values[each.name]))
            for each in parameters
        }

    @property
    def complete_settings(self) -> S:
        """The settings with these values, and the defaults of all others."""
        return self.settings_class.from_values(self.values)


def _from_file(parameter: Parameter, value: object) -> object:
    """Return the value, or the numbers in the file that it names."""
    if not may_be_file(parameter):
        return value
    from nbtext.cli.option_files import read_parameter_value

    return read_parameter_value(parameter.name, value)


def may_be_file(parameter: Parameter) -> bool:
    """Return whether the value of a parameter may be the path of a file."""
    return "FILE" in parameter.metavar.split("|")


def format_arguments(table: Iterable[Parameter], raw: Mapping[str, object]) -> list[str]:
    """Return the parameters that have a value as arguments of a command line."""
    return [
        argument
        for each in table
        if raw.get(each.name) is not None
        for argument in each.to_arguments(raw[each.name])
    ]


def parameter_field(parameter: Parameter, *, is_late: bool = False) -> Any:
    """Declare a field as the option of one declared parameter, which has the field's name. The field holds the raw value; None, or False for a switch, if it is not given."""

    def make_options(_: str) -> list[click.Parameter]:
        return [_option_of(parameter, shows_default=True)]

    default = None if parameter.metavar else False

    def value(_: str, values: Mapping[str, Any]) -> object:
        given = values[parameter.name]
        return default if given is None else given

    return field(default=default, metadata={DECLARATION: Declaration(make_options, value, is_late)})


def parameters_field(
    settings_class: type[S],
    *,
    only: Sequence[Parameter] | None = None,
    shows_defaults: bool = True,
    old_options: Sequence[Option] = (),
) -> Any:
    """Declare a field as the options of all parameters of settings, or ``only`` of some. Its value is a `ExplicitSettings`.

    A command with a model shows no defaults: the model has settings of its own. ``old_options`` are parsed before the others, and kept in no record.
    """
    table = settings_class.parameters() if only is None else only

    def make_options(_: str) -> list[click.Parameter]:
        return [*old_options, *(_option_of(each, shows_default=shows_defaults) for each in table)]

    def given(_: str, values: Mapping[str, Any]) -> ExplicitSettings[S]:
        raw = {each.name: values[each.name] for each in table if values[each.name] is not None}
        context = click.get_current_context()
        typed = (
            name
            for name in raw
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        )
        return ExplicitSettings(settings_class, raw, frozenset(typed))

    return field(
        default_factory=partial(ExplicitSettings, settings_class),
        metadata={DECLARATION: Declaration(make_options, given, is_late=True)},
    )


def _option_of(parameter: Parameter, *, shows_default: bool) -> Option:
    """Return the option of a declared parameter."""
    names = parameter.option
    attributes: dict[str, Any]
    if parameter.metavar:
        has_default = shows_default and parameter.default is not None
        attributes = {
            "metavar": parameter.metavar,
            "shown_default": str(parameter.default) if has_default else None,
            "shell_complete": suggest_values(parameter.choices),
            "type": InputPath(or_name=parameter.metavar != "FILE")
            if may_be_file(parameter)
            else None,
            **_MORE_ATTRIBUTES.get(parameter.name, {}),
        }
    else:
        names = "-0 --null" if parameter.name == "null" else f"{names}/--no-{parameter.key}"
        attributes = {"default": None, "is_flag": True}
    if parameter.is_rare:
        attributes["setting_values"] = parameter.choices if parameter.metavar else ("true", "false")
    return Option(
        [*names.split(), parameter.name],
        group=parameter.group,
        common=parameter.common,
        help=parameter.meaning,
        **attributes,
    )


def suggest_values(choices: Sequence[str]) -> Callable[..., list[str] | list[CompletionItem]]:
    """Return a function that suggests the values beginning with the incomplete text, or files if there are none."""

    def suggest(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[str] | list[CompletionItem]:
        fitting = [choice for choice in choices if choice.startswith(incomplete)]
        return fitting or INPUT_PATH.shell_complete(context, parameter, incomplete)

    return suggest


def _by_evidence(context: click.Context, _: click.Parameter, members: str | None) -> str | None:
    """Return the members of an average; the old option ``--combine evidence`` says that evidence weighs them."""
    if context.params.get("combine") != "evidence":
        return members
    return f"{EVIDENCE_PREFIX}{members or ''}"


_MORE_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "file_column": {"type": ColumnOfPaths()},
    "files_from": {"type": PathList()},
    "label_column": {"old_names": "--label-header"},
    "members": {"callback": _by_evidence},
    "stop_words": {"shell_complete": suggest_values(("default", "none", *LANGUAGES))},
}
"""More attributes of the options of some parameters, by name."""
