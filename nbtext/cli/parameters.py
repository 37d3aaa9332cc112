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
"""The type of an option that is a path to read."""


@dataclass(frozen=True)
class ExplicitSettings(Generic[S]):
    """The settings that a user gave, without defaults. `values` are checked at the first access."""

    settings_class: type[S]
    raw_values: Mapping[str, object] = field(default_factory=dict)
    """Unchecked values by name: text, or a bool for a switch.

    The values are from the command line, a file of defaults or the environment.
    """
    typed_names: frozenset[str] = frozenset()
    """The names of the parameters that were given on the command line."""

    def __contains__(self, name: object) -> bool:
        """Return True if the user gave this parameter."""
        return name in self.raw_values

    def with_raw_values(self, **raw_values: object) -> ExplicitSettings[S]:
        """Return a copy with these values in addition to, or instead of, its own values."""
        return replace(self, raw_values={**self.raw_values, **raw_values})

    @cached_property
    def values(self) -> dict[str, Any]:
        """The checked values by name. The value for a file of numbers is a dict of its numbers.

        Raise `UsageError` for an invalid value and `PathError` for an unreadable file.
        """
        values = {}
        for parameter in self.settings_class.parameters():
            if parameter.name in self.raw_values:
                value = _read_file_value(parameter, self.raw_values[parameter.name])
                values[parameter.name] = parameter.validate(value)
        return values

    @property
    def complete_settings(self) -> S:
        """The settings with these values, and with defaults for all other parameters."""
        return self.settings_class.from_values(self.values)


def _read_file_value(parameter: Parameter, value: object) -> object:
    """Return the numbers in a file if the value is its path, else return the value."""
    if not may_be_file(parameter):
        return value
    from nbtext.cli.option_files import read_parameter_value

    return read_parameter_value(parameter.name, value)


def may_be_file(parameter: Parameter) -> bool:
    """Return True if the value of a parameter may be the path of a file."""
    return "FILE" in parameter.metavar.split("|")


def format_arguments(
    parameters: Iterable[Parameter], raw_values: Mapping[str, object]
) -> list[str]:
    """Return the command-line arguments that set the parameters to these values.

    A parameter without a value is omitted.
    """
    arguments = []
    for parameter in parameters:
        value = raw_values.get(parameter.name)
        if value is not None:
            arguments += parameter.to_arguments(value)
    return arguments


def parameter_field(parameter: Parameter, *, is_listed_last: bool = False) -> Any:
    """Declare a field with the option of a parameter. The field has the name of the parameter.

    The field contains the unchecked value. Without the option, the field is None, or False for a
    switch.
    """
    default = None if parameter.metavar else False  # a switch has no metavar

    def make_options(_: str) -> list[click.Parameter]:
        return [_make_option(parameter, shows_default=True)]

    def get_value(_: str, values: Mapping[str, Any]) -> object:
        value = values[parameter.name]
        return default if value is None else value

    declaration = Declaration(make_options, get_value, is_listed_last)
    return field(default=default, metadata={DECLARATION: declaration})


def parameters_field(
    settings_class: type[S],
    *,
    only: Sequence[Parameter] | None = None,
    shows_defaults: bool = True,
    old_options: Sequence[Option] = (),
) -> Any:
    """Declare a field with the options of all parameters of a class, or of the ``only`` parameters.

    The field contains `ExplicitSettings`. A command with a model does not show defaults, because
    the model has settings of its own. ``old_options`` are parsed before the other options. Their
    values are not in the field.
    """
    parameters = settings_class.parameters() if only is None else only

    def make_options(_: str) -> list[click.Parameter]:
        options = [
            _make_option(parameter, shows_default=shows_defaults) for parameter in parameters
        ]
        return [*old_options, *options]

    def get_settings(_: str, values: Mapping[str, Any]) -> ExplicitSettings[S]:
        all_names = [parameter.name for parameter in parameters]
        raw_values = {name: values[name] for name in all_names if values[name] is not None}
        context = click.get_current_context()
        typed_names = frozenset(
            name
            for name in raw_values
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        )
        return ExplicitSettings(settings_class, raw_values, typed_names)

    return field(
        default_factory=partial(ExplicitSettings, settings_class),
        metadata={DECLARATION: Declaration(make_options, get_settings, is_listed_last=True)},
    )


def _make_option(parameter: Parameter, *, shows_default: bool) -> Option:
    """Return the option of a declared parameter."""
    values: Sequence[str] = parameter.choices
    if parameter.metavar:
        names = [parameter.option]
        attributes = _get_value_attributes(parameter, shows_default=shows_default)
    else:  # a switch
        switch = f"{parameter.option}/--no-{parameter.key}"
        # Like -0 of xargs, --null cannot be switched off.
        names = ["-0", "--null"] if parameter.name == "null" else [switch]
        # None differs from a switch that was set to false.
        attributes = {"default": None, "is_flag": True}
        values = ("true", "false")
    if parameter.is_rare:
        attributes["setting_values"] = values
    if parameter.old_options:
        attributes["old_names"] = " ".join(parameter.old_options)
    return Option(
        [*names, parameter.name],
        group=parameter.group,
        common=parameter.common,
        help=parameter.meaning,
        **attributes,
    )


def _get_value_attributes(parameter: Parameter, *, shows_default: bool) -> dict[str, Any]:
    """Return the attributes of an option that takes a value."""
    attributes: dict[str, Any] = {
        "metavar": parameter.metavar,
        "shell_complete": suggest_values(parameter.choices),
    }
    if shows_default and parameter.default is not None:
        attributes["shown_default"] = str(parameter.default)
    if may_be_file(parameter):
        attributes["type"] = InputPath(or_name=parameter.metavar != "FILE")
    attributes.update(_EXTRA_ATTRIBUTES.get(parameter.name, {}))
    return attributes


def suggest_values(choices: Sequence[str]) -> Callable[..., list[str] | list[CompletionItem]]:
    """Return a function for click that suggests the choices which begin with the typed text.

    If no choice begins with the text, the function suggests files.
    """

    def suggest(
        context: click.Context, parameter: click.Parameter, incomplete: str
    ) -> list[str] | list[CompletionItem]:
        matches = [choice for choice in choices if choice.startswith(incomplete)]
        return matches or INPUT_PATH.shell_complete(context, parameter, incomplete)

    return suggest


def _add_evidence_prefix(
    context: click.Context, _: click.Parameter, members: str | None
) -> str | None:
    """Return the members of an average, with a prefix if ``--combine evidence`` is given.

    ``--combine`` is an old option, which the prefix has replaced.
    """
    if context.params.get("combine") != "evidence":
        return members
    return f"{EVIDENCE_PREFIX}{members or ''}"


_EXTRA_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "file_column": {"type": ColumnOfPaths()},
    "files_from": {"type": PathList()},
    "label_column": {"old_names": "--label-header"},
    "members": {"callback": _add_evidence_prefix},
    "stop_words": {"shell_complete": suggest_values(("default", "none", *LANGUAGES))},
}
"""Further attributes of the options of some parameters, by the parameter's name."""
