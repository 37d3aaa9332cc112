"""The declared parameters of settings as options, and those that a user gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click
from click.core import ParameterSource

from nbtext.cli.config import ColumnOfPaths, InputPath, PathList
from nbtext.cli.panels import DECLARATION, Declaration, Option
from nbtext.records import dataclass
from nbtext.settings import BY_EVIDENCE, LANGUAGES, Declared, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

S = TypeVar("S", bound=Declared)

PATH = InputPath()
"""The type of an option that is a path to be read."""


@dataclass(frozen=True)
class Given(Generic[S]):
    """Parameters of settings that a user gave. They are checked when their values are asked for."""

    kind: type[S]
    texts: Mapping[str, object] = field(default_factory=dict)
    """By name what is on the command line: a text, or true or false for a switch."""
    typed: frozenset[str] = frozenset()
    """The names of those on the command line itself, not in a file of defaults or the environment."""

    def __contains__(self, name: object) -> bool:
        """Return whether the parameter of this name was given."""
        return name in self.texts

    def also(self, **texts: object) -> Given[S]:
        """Return these and others, which replace those of the same names."""
        return replace(self, texts={**self.texts, **texts})

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values by name, checked; in place of the path of a file its numbers by name. Raises `UsageError` and `PathError`."""
        parameters = [each for each in self.kind.table() if each.name in self.texts]
        values = {each: self.texts[each.name] for each in parameters}
        if any(may_be_file(each) for each in parameters):
            from nbtext.cli.option_files import from_file

            values = {each: from_file(each.name, value) for each, value in values.items()}
        return {each.name: each.checked(value) for each, value in values.items()}

    @property
    def settings(self) -> S:
        """The settings with these values, and the defaults of all others."""
        return self.kind.of(self.values)


def may_be_file(parameter: Parameter) -> bool:
    """Return whether the value of a parameter may be the path of a file."""
    return "FILE" in parameter.metavar.split("|")


def arguments_of(table: Iterable[Parameter], texts: Mapping[str, object]) -> list[str]:
    """Return parameters as arguments of a command line; those without a text are left out."""
    return [argument for each in table if texts.get(each.name) is not None for argument in each.arguments(texts[each.name])]


def parameter(declared: Parameter, *, is_late: bool = False) -> Any:
    """Declare a field as the option of one declared parameter, which has the field's name. Its value is not checked."""

    def parameters(_: str) -> list[click.Parameter]:
        return [_option_of(declared, shows_default=True)]

    def value(_: str, values: Mapping[str, Any]) -> object:
        return values[declared.name]

    default = None if declared.metavar else False
    return field(default=default, metadata={DECLARATION: Declaration(parameters, value, is_late)})


def parameters(kind: type[S], *, only: Sequence[Parameter] = (), shows_defaults: bool = True, hidden: Sequence[Option] = ()) -> Any:
    """Declare a field as the options of declared parameters, all of a kind or ``only`` some. Its value is a `Given`.

    A command with a model shows no defaults: the model has settings of its own. ``hidden`` options belong to the parameters.
    """
    table = only or kind.table()

    def make(_: str) -> list[click.Parameter]:
        return [*hidden, *(_option_of(each, shows_default=shows_defaults) for each in table)]

    def given(_: str, values: Mapping[str, Any]) -> Given[S]:
        texts = {each.name: values[each.name] for each in table if values[each.name] is not None}
        context = click.get_current_context()
        typed = (name for name in texts if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
        return Given(kind, texts, frozenset(typed))

    def nothing() -> Given[S]:
        return Given(kind)

    return field(default_factory=nothing, metadata={DECLARATION: Declaration(make, given, is_late=True)})


def _option_of(parameter: Parameter, *, shows_default: bool) -> Option:
    """Return the option of a declared parameter."""
    names = parameter.option
    if parameter.metavar:
        has_default = shows_default and parameter.default is not None
        attributes: dict[str, Any] = {
            "metavar": parameter.metavar,
            "shown_default": str(parameter.default) if has_default else None,
            "shell_complete": suggest_values(parameter.choices),
            "type": InputPath(or_name=parameter.metavar != "FILE") if may_be_file(parameter) else None,
            **_OF_ONE.get(parameter.name, {}),
        }
    else:
        names = f"-0 {names}" if parameter.name == "null" else f"{names}/--no-{names[2:]}"
        attributes = {"default": None, "is_flag": True}
    if parameter.is_rare:
        attributes["setting_values"] = parameter.choices if parameter.metavar else ("true", "false")
    return Option([*names.split(), parameter.name], group=parameter.group, common=parameter.common, help=parameter.meaning, **attributes)


def suggest_values(choices: Sequence[str]) -> Callable[..., list[str] | list[CompletionItem]]:
    """Return a function that suggests the values beginning with the incomplete text, or files if there are none."""

    def suggest(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str] | list[CompletionItem]:
        fitting = [choice for choice in choices if choice.startswith(incomplete)]
        return fitting or PATH.shell_complete(context, parameter, incomplete)

    return suggest


def _by_evidence(context: click.Context, _: click.Parameter, members: str | None) -> str | None:
    """Return the members of an average as ``--combine evidence`` has them weighed."""
    is_asked = any(name == "combine" and value == "evidence" for name, value in context.params.items())
    return f"{BY_EVIDENCE}{members or ''}" if is_asked else members


_OF_ONE: dict[str, dict[str, Any]] = {
    "file_column": {"type": ColumnOfPaths()},
    "files_from": {"type": PathList()},
    "label_column": {"old_names": "--label-header"},
    "members": {"callback": _by_evidence},
    "stop_words": {"shell_complete": suggest_values(("default", "none", *LANGUAGES))},
}
"""What the options of single parameters have besides."""
