"""Defaults of options that a user keeps in a file or in the environment, and types of path options.

An option that is not given gets the first of these values that exists: ``NBTEXT_COMMAND_OPTION``,
``NBTEXT_OPTION``, a setting in ``NBTEXT_COMMAND_SET`` or ``NBTEXT_SET``, the file's table for the
command, the top level of the file.

The file is nbtext.toml, or the table [tool.nbtext] of pyproject.toml, in the working directory or
the nearest parent that has one. A discovered file, which ``--config`` does not name, may come from
somebody else. So the paths in it must stay in its folder after links are resolved, and nbtext
replaces only files there that it wrote for the same option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from nbtext.cli.messages import emit, find_last_value
from nbtext.errors import NbtextError, PathError, UsageError, describe_os_error, did_you_mean
from nbtext.report.output_formats import shorten_middle
from nbtext.settings import PARAMETERS_BY_NAME, REMOVED_OPTIONS, RENAMED_PARAMETERS, Parameter

MAX_START_BYTES = 1 << 16
"""Bytes that are read of a file to find out whether nbtext wrote it."""

# Patterns of the first bytes of files that nbtext writes:
MODEL_START = rb"\x80\x04B[\s\S]{4}nbtext\r\n"
PAGE_START = (
    rb"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
    rb"http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
)
SCORED_DOCUMENTS_START = rb'\{"id": "([^"\\]|\\.)*", "truth": '
DRIFT_LOG_START = rb'\{"time": "[^"]*", "model": .*, "documents": \d'
EXPORT_START = rb'term[,\t]class[,\t]|\{"term": |-- Weights of an nbtext model'


class InputPath(click.types.StringParamType):
    """Type of an option: a path to read, or ``-`` for standard input."""

    name = "file"
    shell_complete = click.Path().shell_complete
    """Makes the shell suggest files and directories."""

    def __init__(self, *, or_name: bool = False, is_labelled: bool = False) -> None:
        """Create the type of an option.

        With ``or_name`` a value that is not an existing path is a name. With ``is_labelled`` a
        value is LABEL=PATH.
        """
        self._or_name = or_name
        self._is_labelled = is_labelled

    def resolve_default(self, value: str, folder: str, *, is_discovered: bool) -> str:
        """Return a value in a file of defaults as it would be on the command line.

        A path in the file is relative to ``folder``, the folder of the file. Raise `UsageError` for
        a path that a discovered file must not contain.
        """
        prefix = ""
        path = value
        if self._is_labelled:
            label, equals, path = value.partition("=")
            prefix = label + equals
        if path == "-":  # standard input
            return value
        if "\0" in path:
            raise UsageError("a path cannot contain NUL")
        if self._is_labelled:
            path = os.path.expanduser(path)

        # In the working directory, paths stay as they are written.
        if os.path.abspath(folder) != os.getcwd():
            joined_path = os.path.join(folder, path)
            if self._is_path(joined_path):
                path = joined_path
        if is_discovered and self._is_path(path):
            self.require_harmless(path, folder)
        return prefix + path

    def _is_path(self, value: str) -> bool:
        """Return False if the value is a name."""
        return not self._or_name or os.path.lexists(value)

    def require_harmless(self, path: str, folder: str) -> None:
        """Raise `UsageError` if the path is outside the folder of a discovered file."""
        folder = os.path.realpath(folder)
        if os.path.commonpath((folder, os.path.realpath(path))) != folder:
            raise UsageError(f"{path} is outside the folder of this file")


class PathList(InputPath):
    """Type of an option: a file with a list of paths to read."""

    def require_harmless(self, path: str, folder: str) -> None:
        """Raise `UsageError` if the list, or a path in it, is outside the folder."""
        from nbtext.corpus.streams import read_list_file

        super().require_harmless(path, folder)
        listed_paths = re.split(rb"[\0\n]", read_list_file(path))  # NUL is for --null
        for listed_path in listed_paths:
            super().require_harmless(os.fsdecode(listed_path), folder)


class OutputPath(InputPath):
    """Type of an option: a file to write.

    ``own_start`` is a pattern of the first bytes of each file that nbtext writes for this option.
    """

    def __init__(self, own_start: bytes) -> None:
        super().__init__()
        self._own_start = own_start

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path.

        Raise `UsageError` if it is empty or ``-``: standard output cannot be replaced like a file.
        """
        if value in ("", "-") and param is not None:
            raise UsageError(f"{param.opts[-1]} needs the name of a file")
        return str(super().convert(value, param, ctx))

    def require_harmless(self, path: str, folder: str) -> None:
        """Raise `UsageError` if the path is outside the folder, or nbtext did not write the file."""
        super().require_harmless(path, folder)
        if os.path.lexists(path) and not self._is_own(path):
            raise UsageError(f"{path} is not a file that nbtext wrote for this option")

    def _is_own(self, path: str) -> bool:
        """Return True for a file that is empty or begins with the pattern."""
        try:
            if not os.path.isfile(path):
                return False
            if not os.path.getsize(path):
                return True
            with open(path, "rb") as file:
                return re.match(self._own_start, file.read(MAX_START_BYTES)) is not None
        except OSError:
            return False


_DISCOVERED_FOLDER_KEY = "nbtext.folder-of-found-defaults"
"""Key in ``Context.meta``: the folder of a discovered file that sets the column of paths."""


class ColumnOfPaths(click.types.StringParamType):
    """Type of an option: a column whose values are paths of files to read."""

    name = "column"

    def resolve_default(self, value: str, folder: str, *, is_discovered: bool) -> str:
        """Return the value. Store the folder of a discovered file for `find_folder_of_paths`."""
        if is_discovered:
            meta = click.get_current_context().meta
            meta[_DISCOVERED_FOLDER_KEY] = folder or os.curdir  # "" is the working directory
        return value


def find_folder_of_paths() -> str | None:
    """Return the folder in which the files of ``--file-column`` must be.

    It is None unless a discovered file of defaults sets that option.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    if context.get_parameter_source("file_column") is not ParameterSource.DEFAULT_MAP:
        return None
    folder: str | None = context.meta.get(_DISCOVERED_FOLDER_KEY)
    return folder


class Address(click.types.StringParamType):
    """Type of an option: the address of another machine."""

    name = "address"

    def resolve_default(self, value: str, _: str, *, is_discovered: bool) -> str:
        """Return the value. Raise `UsageError` for a discovered file: the machine may send code."""
        if is_discovered:
            raise UsageError("the file of defaults cannot set an address")
        return value


DEFAULTS_FILE_NAME = "nbtext.toml"
PYPROJECT_FILE_NAME = "pyproject.toml"

MAX_DEFAULTS_BYTES = 1 << 20
"""Limit of a file of defaults."""

ROOT_USER_ID = 0

_DEEP_KEY = re.compile(rb"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""A key of more than 32 parts. The time of tomllib grows with the square of their number."""

REUSED_NAMES = {"label_header", "output", "top"}
"""Old names of options that have another meaning now: other commands have options of these names.

``NBTEXT_LABEL_HEADER`` is ``--header`` of the command label. Only the table of a command and
``NBTEXT_COMMAND_OPTION`` may contain these old names.
"""

_OPTIONS_WITHOUT_DEFAULT = {"help", "help_all", "config", "no_config", "set"}
"""Options for a single run, and ``--set``, because a file names each setting itself."""

_SEE_SETTINGS = "see nbtext help settings"


class _DefaultsFile(NamedTuple):
    """A file of defaults: its path, and its values by the names of options and commands."""

    path: str
    values: dict[str, Any]
    is_discovered: bool = False
    """False if ``--config`` names the file."""


class _Default(NamedTuple):
    """The default of an option."""

    value: object
    """As in the file, or text. `_check_default` returns it as on the command line."""
    source: str
    """The origin in words: the file with its table, or ``$VARIABLE``."""
    file: _DefaultsFile | None = None
    """None for the environment."""


def _find_defaults_file(arguments: Sequence[str]) -> _DefaultsFile | None:
    """Return the file that ``--config`` among the arguments names, or the one that is discovered.

    Return None if no file is found, or with ``--no-config``. Raise `PathError` for an unreadable
    file.
    """
    if find_last_value("--no-config", arguments) is not None:
        return None
    path = find_last_value("--config", arguments)
    if path:
        # A pyproject.toml without a table for nbtext is an empty file of defaults.
        return _read_defaults(path) or _DefaultsFile(path, {})

    for folder in _list_searched_folders():
        for name in (DEFAULTS_FILE_NAME, PYPROJECT_FILE_NAME):
            path = os.path.join(folder, name)
            if not os.path.isfile(path):
                continue
            file = _read_defaults(path, is_discovered=True, quiet="--quiet" in arguments)
            if file is not None:
                return file
    return None


def _list_searched_folders() -> list[str]:
    """Return the working directory and its parents.

    The first folder is empty, so that paths in the working directory are short. The list is empty
    if the working directory was removed.
    """
    try:
        folder = os.getcwd()
    except OSError:
        return []
    folders = [""]
    parent = os.path.dirname(folder)
    while parent != folder:
        folders.append(parent)
        folder = parent
        parent = os.path.dirname(folder)
    return folders


def _read_defaults(
    path: str, *, is_discovered: bool = False, quiet: bool = False
) -> _DefaultsFile | None:
    """Return the defaults in a file, or None if the file is ignored.

    A pyproject.toml without a table for nbtext is ignored. A discovered file of another user, but
    not of root, is ignored with a warning unless ``quiet`` is set.
    """
    try:
        with open(path, "rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            content = file.read(MAX_DEFAULTS_BYTES + 1)
    except OSError as problem:
        raise PathError(f"cannot read: {describe_os_error(problem)}", where=path) from None
    is_pyproject = os.path.basename(path) == PYPROJECT_FILE_NAME
    if is_pyproject and b"nbtext" not in content:  # no parsing: other tools check the file
        return None
    if is_discovered and owner not in (os.geteuid(), ROOT_USER_ID):
        if not quiet:
            _warn_of_owner(path)
        return None

    values: Any = _parse_toml(content, path)
    if is_pyproject:
        tools = values.get("tool", {})
        values = tools.get("nbtext") if isinstance(tools, dict) else None
        if not isinstance(values, dict):
            return None
    values_by_key = {_to_key(name): value for name, value in values.items()}
    return _DefaultsFile(path, values_by_key, is_discovered)


def _parse_toml(content: bytes, path: str) -> dict[str, Any]:
    """Return the values of a TOML file; raise `PathError` if it is too large or invalid."""
    if len(content) > MAX_DEFAULTS_BYTES:
        raise PathError(
            f"is larger than {MAX_DEFAULTS_BYTES >> 20} MiB",
            where=path,
            hint="add --no-config, or choose another file with --config",
        )
    if _DEEP_KEY.search(content):
        raise PathError("a key has more than 32 parts", where=path)
    import tomllib

    try:
        return tomllib.loads(content.decode())
    except RecursionError:
        raise PathError("not valid TOML: it is nested too deeply", where=path) from None
    except ValueError as problem:
        raise PathError(f"not valid TOML: {problem}", where=path) from None


@cache
def _warn_of_owner(path: str) -> None:
    """Warn that a discovered file is ignored. The cache limits it to one warning per file."""
    emit(
        "it belongs to another user and is ignored",
        level="warning",
        where=path,
        hint=f"--config {path} reads it",
    )


def load_defaults(context: click.Context, arguments: Sequence[str]) -> dict[click.Option, _Default]:
    """Return the checked defaults of a command's options from the file and the environment.

    Raise `UsageError` for an unknown name or an invalid value in the file, and `PathError` for an
    unreadable file.
    """
    options = _list_options(context.command)
    file = _find_defaults_file(arguments)
    defaults: dict[str, _Default] = {}
    if file is not None:
        # A later default of the same option replaces an earlier one.
        defaults.update(_select_from_file(file, context, options))

    # Variables replace the defaults of the file.
    defaults.update(_select_from_environment(_to_key(context.command.name or ""), options))
    return {
        options[name]: _check_default(options[name], default, context)
        for name, default in defaults.items()
    }


def _select_from_environment(
    command: str, options: dict[str, click.Option]
) -> Iterator[tuple[str, _Default]]:
    """Yield the defaults in environment variables; a later one of the same option replaces others.

    ``command`` is the key of a command. An empty variable counts as not set. Raise `UsageError` for
    an invalid setting in ``NBTEXT_SET`` or in the variable of the command.
    """
    own_variable, shared_variable = _list_variables(command, "set")
    yield from _select_settings(shared_variable, options, is_for_all_commands=True)
    yield from _select_settings(own_variable, options, is_for_all_commands=False)
    old_names = _list_old_names(options)
    for name in options:
        old_keys = [old_key for old_key, key in old_names.items() if key == name]
        for variable in reversed(_list_variables(command, name, old_keys)):
            if os.environ.get(variable):
                yield name, _Default(os.environ[variable], f"${variable}")


def _select_settings(
    variable: str, options: dict[str, click.Option], *, is_for_all_commands: bool
) -> Iterator[tuple[str, _Default]]:
    """Yield the settings in a variable, which has NAME=VALUE, as ``--set``, in each line.

    A command without ``--set`` ignores the variable. If the variable ``is_for_all_commands``, a
    command also ignores the settings of other commands. Raise `UsageError` for other names that the
    command does not have, and for invalid values.
    """
    if not any(map(_is_rare, options.values())):
        return
    for line in os.environ.get(variable, "").splitlines():
        written_name = _to_key(line.partition("=")[0].strip())
        name = RENAMED_PARAMETERS.get(written_name, written_name)
        parameter = PARAMETERS_BY_NAME.get(name)
        is_of_other_commands = parameter is not None and parameter.is_rare and name not in options
        if not line.strip() or (is_for_all_commands and is_of_other_commands):
            continue
        try:
            option, value = parse_setting(line.strip(), list(options.values()))
        except UsageError as problem:
            problem.where = f"${variable}"
            raise
        yield _to_key(_get_long_name(option)), _Default(value, f"${variable}")


def _is_rare(option: click.Option) -> bool:
    """Return True for a hidden option that ``--set`` sets."""
    return getattr(option, "setting_values", None) is not None


def parse_setting(text: str, options: Sequence[click.Option]) -> tuple[click.Option, str]:
    """Return the hidden option and the value of NAME=VALUE.

    Raise `UsageError` for an unknown name or an invalid value of a switch.
    """
    name, equals, value = text.partition("=")
    written_name = name.strip().removeprefix("--").replace("_", "-")
    name = _find_new_name(written_name, options)
    settings = {
        _get_long_name(option).removeprefix("--"): option for option in options if _is_rare(option)
    }
    if name and name not in settings:
        raise _make_unknown_setting_error(name, list(settings), options)
    if not name or not equals:
        raise UsageError(f"--set must be NAME=VALUE, not {text!r}", hint=_SEE_SETTINGS)
    if settings[name].is_flag and value not in ("true", "false"):
        raise UsageError(f"--set {name} must be true or false, not {value!r}")
    return settings[name], value


def _find_new_name(name: str, options: Sequence[click.Option]) -> str:
    """Return the name of an option, without hyphens before it, for the same name or an old one."""
    for option in options:
        if f"--{name}" in getattr(option, "old_names", ()):
            return _get_long_name(option).removeprefix("--")
    return name


def _make_unknown_setting_error(
    name: str, settings: Sequence[str], options: Sequence[click.Option]
) -> UsageError:
    """Return the error for a name that ``--set`` does not accept in this command."""
    if any(f"--{name}" in option.opts for option in options):
        return UsageError(
            f"--set cannot set {name}, which has its own option",
            hint=f"give --{name}",
        )
    key = name.replace("-", "_")
    parameter = PARAMETERS_BY_NAME.get(RENAMED_PARAMETERS.get(key, key))
    if parameter is not None and parameter.is_rare:
        return UsageError(
            f"{parameter.display_name} is for commands that train",
            hint="remove it, because a model has its own",
        )
    question = did_you_mean(name, settings)
    return UsageError(f"--set does not know {name!r}{question}", hint=_SEE_SETTINGS)


def is_switched_on(name: str, context: click.Context, arguments: Sequence[str]) -> bool:
    """Return True if a default turns a switch of the command on.

    Unlike `load_defaults`, ignore invalid values and an unreadable file.
    """
    command = _to_key(context.command.name or "")
    values: list[object] = [os.environ.get(variable) for variable in _list_variables(command, name)]
    with suppress(NbtextError):
        file = _find_defaults_file(arguments)
        if file is not None:
            own_values = file.values.get(command)
            if isinstance(own_values, dict):
                values += [value for key, value in own_values.items() if _to_key(key) == name]
            values.append(file.values.get(name))
    first_value = next((value for value in values if value not in (None, "")), False)
    if not isinstance(first_value, bool | str):
        return False
    try:
        return bool(click.BOOL.convert(first_value, None, context))
    except click.UsageError:
        return False


def _list_variables(command: str, name: str, old_keys: Sequence[str] = ()) -> list[str]:
    """Return the environment variables of an option, given keys; the first takes precedence."""
    own_keys = [f"{command}_{key}" for key in (name, *old_keys)]
    shared_keys = [name, *(key for key in old_keys if key not in REUSED_NAMES)]
    return [f"NBTEXT_{key.upper()}" for key in (*own_keys, *shared_keys)]


def _to_key(name: str) -> str:
    """Return the key of an option or command: its name with underscores instead of hyphens."""
    return name.lstrip("-").replace("-", "_")


def _list_options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that may have defaults, by the key of the longest name."""
    options = {
        _to_key(_get_long_name(option)): option
        for option in command.params
        if isinstance(option, click.Option)
    }
    return {
        name: option for name, option in options.items() if name not in _OPTIONS_WITHOUT_DEFAULT
    }


def _list_old_names(options: dict[str, click.Option]) -> dict[str, str]:
    """Return the key of an option by the key of each old name, except old names of one letter."""
    return {
        _to_key(old_name): name
        for name, option in options.items()
        for old_name in getattr(option, "old_names", ())
        if old_name.startswith("--")
    }


def _select_from_file(
    file: _DefaultsFile, context: click.Context, options: dict[str, click.Option]
) -> Iterator[tuple[str, _Default]]:
    """Yield the defaults of a file for a command: from the top level, then from its own table.

    Raise `UsageError` for a name of neither a command nor an option.
    """
    commands = [_to_key(name) for name in find_program(context).list_commands(context)]
    old_names = _list_old_names(options)
    for name, value in file.values.items():
        if name in (*commands, "why_not"):  # why-not is a hidden command
            if not isinstance(value, dict):
                raise UsageError(
                    f"{name!r} is a command, so its defaults must be a table",
                    where=file.path,
                    hint=f"write [{name}] in the line above them",
                )
        elif name in options:
            yield name, _Default(value, file.path, file)
        elif name in old_names and name not in REUSED_NAMES:
            yield old_names[name], _Default(value, file.path, file)
        elif name not in PARAMETERS_BY_NAME and not _is_option_of_any_command(name, context):
            known_names = [*PARAMETERS_BY_NAME, *options, *commands]
            raise _make_unknown_name_error(name, known_names, file.path)

    own_values = file.values.get(_to_key(context.command.name or ""), {})
    source = f"{file.path} [{context.command.name}]"
    for written_name, value in own_values.items():
        name = _to_key(written_name)
        if name not in options:
            name = old_names.get(name, name)
        if name not in options:
            raise _make_unknown_name_error(name, list(options), source)
        yield name, _Default(value, source, file)


def _is_option_of_any_command(name: str, context: click.Context) -> bool:
    """Return True if a command has an option of this name, or had it under this name."""
    for command in _iterate_commands(context):
        options = _list_options(command)
        if name in options or name in _list_old_names(options):
            return True
    return False


def _iterate_commands(context: click.Context) -> Iterator[click.Command]:
    """Yield all commands. Importing them takes time."""
    group = find_program(context)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield command


def find_program(context: click.Context) -> click.Group:
    """Return the group that all commands belong to, or an empty group for a command without one."""
    root = context.find_root().command
    return root if isinstance(root, click.Group) else click.Group()


def _make_unknown_name_error(name: str, known_names: Sequence[str], source: str) -> UsageError:
    """Return the error for a name in a file of defaults that is neither an option nor a command."""
    shown_name = shorten_middle(name.replace("_", "-"), 60)
    if name == "set":
        hint = "write each setting by its own name, such as l2 = 1"
    elif name in REMOVED_OPTIONS:
        hint = REMOVED_OPTIONS[name]
    else:
        candidates = sorted({known_name.replace("_", "-") for known_name in known_names})
        question_in_brackets = did_you_mean(shown_name, candidates)
        hint = question_in_brackets.strip(" ()")
        if not hint:
            hint = "use the names of options, without the two hyphens"
    return UsageError(f"there is no option or command {shown_name!r}", where=source, hint=hint)


def _check_default(option: click.Option, default: _Default, context: click.Context) -> _Default:
    """Return a default with its value as on the command line.

    Raise `UsageError` for a wrong value. The converted value is not needed: click will convert the
    default.
    """
    value = _to_command_line_value(option, default)
    is_path = isinstance(option.type, InputPath)
    try:
        option.type_cast_value(context, value)
        parameter = PARAMETERS_BY_NAME.get(option.name or "")
        if parameter is not None and not option.is_flag and not is_path:
            parameter.validate(value)
    except click.UsageError as problem:
        raise UsageError(problem.format_message(), where=default.source) from None
    except UsageError as problem:
        problem.where = default.source
        raise
    return default._replace(value=value)


def _to_command_line_value(option: click.Option, default: _Default) -> object:
    """Return the value as on the command line: a bool or text for a switch, else text.

    For an option that can be given several times, return a list of texts. Raise `UsageError` for a
    value of a wrong type.
    """
    value = default.value
    name = _get_long_name(option)
    if option.is_flag:
        if not isinstance(value, (bool, str)):
            raise UsageError(f"{name} must be true or false, not {value!r}", where=default.source)
        return value
    if isinstance(value, bool):
        raise UsageError(f"{name} cannot be true or false", where=default.source)
    if isinstance(value, dict):
        raise UsageError(f"{name} cannot be a table", where=default.source)
    texts = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    if option.multiple:
        return [_resolve_text(option, text, default) for text in texts]
    comma_separated = ",".join(texts)
    return _resolve_text(option, comma_separated, default)


def _resolve_text(option: click.Option, text: str, default: _Default) -> str:
    """Return the text of a default as on the command line. Paths depend on the file's folder.

    Raise `UsageError` for a value that a discovered file must not contain.
    """
    file = default.file
    if file is None or not isinstance(option.type, InputPath | ColumnOfPaths | Address):
        return text
    folder = os.path.dirname(file.path)
    try:
        return option.type.resolve_default(text, folder, is_discovered=file.is_discovered)
    except UsageError as problem:
        raise UsageError(
            f"{_get_long_name(option)}: {problem.message}",
            where=default.source,
            hint=f"add --config {file.path} to trust it, or --no-config",
        ) from None


def _get_long_name(option: click.Option) -> str:
    return max(option.opts, key=len)


def _format_value(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return Parameter.format_value(value)


def describe_defaults(context: click.Context, arguments: Sequence[str]) -> str:
    """Return the defaults that apply in the working directory, with their origin and commands."""
    from textwrap import wrap

    file = _find_defaults_file(arguments)
    if file is not None:
        lines = [f"File of defaults: {file.path}"]
    else:
        lines = [f"There is no {DEFAULTS_FILE_NAME} here or in a parent directory."]

    commands_by_default: dict[tuple[str, str, str], list[str]] = {}
    for command in _iterate_commands(context):
        command_context = click.Context(command, context.find_root(), command.name)
        for option, default in load_defaults(command_context, arguments).items():
            key = (
                _get_long_name(option).removeprefix("--"),
                _format_value(default.value),
                default.source,
            )
            commands_by_default.setdefault(key, []).append(command.name or "")
    if not commands_by_default:
        lines.append("No defaults are set.")
    for (name, value, source), commands in commands_by_default.items():
        lines += wrap(
            f"{name} = {value}   from {source}, for {', '.join(commands)}",
            width=80,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)
