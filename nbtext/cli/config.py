"""Defaults of options that a user keeps in a file or in the environment, and types of options that are paths, which say what they may be there.

Of an option that is not given, the value is that of ``NBTEXT_COMMAND_OPTION``, then of ``NBTEXT_OPTION``, then of the command's table in the file,
then of the file's top. The file is nbtext.toml, or the table [tool.nbtext] of pyproject.toml, in the working directory or the nearest parent that
has one. One that is found so may have come with its folder from somebody else. So its paths must stay in the folder, links followed, and nbtext
replaces only files there that it wrote for the same option.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from nbtext.cli.messages import emit, find_last_value
from nbtext.errors import PathError, UsageError, describe_os_error, did_you_mean
from nbtext.report.output_formats import shorten_middle
from nbtext.settings import PARAMETERS_BY_NAME, REMOVED_OPTIONS

MAX_START_BYTES = 1 << 16
"""Bytes of a file by which nbtext recognises what it wrote."""

MODEL_START = rb"\x80\x04B[\s\S]{4}nbtext\r\n"
PAGE_START = (
    rb"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
    rb"http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
)
SCORED_DOCUMENTS_START = rb'\{"id": "([^"\\]|\\.)*", "truth": '
DRIFT_LOG_START = rb'\{"time": "[^"]*", "model": .*, "documents": \d'
"""Beginnings of files that nbtext writes, as patterns."""


class InputPath(click.types.StringParamType):
    """A path to be read, or standard input."""

    name = "file"
    shell_complete = click.Path().shell_complete
    """Suggests files and directories, which the shell finds itself."""

    def __init__(self, *, or_name: bool = False, is_labelled: bool = False) -> None:
        """``or_name``: other values are names; ``is_labelled``: a label and an equals sign come before it."""
        self._or_name = or_name
        self._is_labelled = is_labelled

    def resolve_default(self, value: str, folder: str, *, is_discovered: bool) -> str:
        """Return the value that a file of defaults in the folder has; raise `UsageError` for a path that a found file may not have."""
        label, equals, path = value.partition("=") if self._is_labelled else ("", "", value)
        if path == "-":
            return value
        if "\0" in path:
            raise UsageError("a path has no NUL")
        if self._is_labelled:
            path = os.path.expanduser(path)
        if os.path.abspath(folder) != os.getcwd():
            there = os.path.join(folder, path)
            path = there if not self._or_name or os.path.lexists(there) else path
        if is_discovered and (not self._or_name or os.path.lexists(path)):
            self.require_harmless(path, folder)
        return label + equals + path

    def require_harmless(self, path: str, folder: str) -> None:
        """Raise `UsageError` for a path outside the folder of a found file."""
        folder = os.path.realpath(folder)
        if os.path.commonpath((folder, os.path.realpath(path))) != folder:
            raise UsageError(f"{path} is outside the folder of this file")


class PathList(InputPath):
    """A file of paths to be read."""

    def require_harmless(self, path: str, folder: str) -> None:
        """Raise `UsageError` for a list outside the folder, or with a path outside it."""
        from nbtext.corpus.streams import read_list_file

        super().require_harmless(path, folder)
        for each in re.split(rb"[\0\n]", read_list_file(path)):
            super().require_harmless(os.fsdecode(each), folder)


class OutputPath(InputPath):
    """A file to be written; ``own`` is a pattern of how files begin that nbtext writes there."""

    def __init__(self, own_start: bytes) -> None:
        super().__init__()
        self._own = own_start

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path; raise `UsageError` for none, and for standard output, which cannot be replaced as a file is."""
        if value in ("", "-") and param is not None:
            raise UsageError(f"{param.opts[-1]} needs the name of a file")
        return str(super().convert(value, param, ctx))

    def require_harmless(self, path: str, folder: str) -> None:
        """Raise `UsageError` for a path outside the folder, or one of a file that nbtext did not write there."""
        super().require_harmless(path, folder)
        if os.path.lexists(path) and not self._is_own(path):
            raise UsageError(f"{path} is not a file that nbtext wrote for this option")

    def _is_own(self, path: str) -> bool:
        try:
            if not os.path.isfile(path) or not os.path.getsize(path):
                return os.path.isfile(path)
            with open(path, "rb") as file:
                return re.match(self._own, file.read(MAX_START_BYTES)) is not None
        except OSError:
            return False


_FOUND_FOLDER = "nbtext.folder-of-found-defaults"
"""In the ``meta`` of a context: the folder of a found file that sets the column of paths."""


class ColumnOfPaths(click.types.StringParamType):
    """A column whose values are paths of files that are read."""

    name = "column"

    def resolve_default(self, value: str, folder: str, *, is_discovered: bool) -> str:
        """Return the value, and remember the folder of a found file: the paths must stay in it."""
        if is_discovered:
            click.get_current_context().meta[_FOUND_FOLDER] = folder or os.curdir
        return value


def find_folder_of_paths() -> str | None:
    """Return the folder in which the files of ``--file-column`` must be; None unless a found file sets that option."""
    context = click.get_current_context(silent=True)
    is_default = (
        context is not None
        and context.get_parameter_source("file_column") is ParameterSource.DEFAULT_MAP
    )
    return context.meta.get(_FOUND_FOLDER) if context is not None and is_default else None


class Address(click.types.StringParamType):
    """The address of another machine."""

    name = "address"

    def resolve_default(self, value: str, _: str, *, is_discovered: bool) -> str:
        """Return the value; raise `UsageError` in a found file: a scheduler may send code."""
        if is_discovered:
            raise UsageError("an address is not taken from a file that was found")
        return value


FILE = "nbtext.toml"
SHARED_FILE = "pyproject.toml"

LARGEST = 1 << 20
"""Bytes of a file of defaults."""

_DEEP_KEY = re.compile(rb"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")
"""A key of more than 32 parts; the time that tomllib takes grows with the square of them."""

_NEVER = {"help", "help_all", "config", "no_config", "set"}
"""Options that ask for something once, and the one for settings, which have their own names here."""


class _ConfigFile(NamedTuple):
    """A file of defaults: where it is, and what it holds, by the names of options and commands."""

    path: str
    defaults: dict[str, Any]
    is_found: bool = False
    """True if it was found, not named by ``--config``."""


class _Default(NamedTuple):
    """A default of an option as on a command line, a list for one that may be given several times, and where it comes from."""

    value: object
    source: str
    file: _ConfigFile | None = None
    """None for the environment."""


def _config_file(arguments: Sequence[str]) -> _ConfigFile | None:
    """Return the file that ``--config`` among the arguments names, or the one that is found; None if there is none, or with ``--no-config``.

    Raises `PathError` for a file that cannot be read.
    """
    if find_last_value("--no-config", arguments) is not None:
        return None
    if named := find_last_value("--config", arguments):
        return _read(named) or _ConfigFile(named, {})
    try:
        folders = [os.getcwd()]
    except OSError:  # the working directory was removed
        return None
    while folders[-1] != (above := os.path.dirname(folders[-1])):
        folders.append(above)
    folders[0] = ""
    for folder in folders:
        for name in (FILE, SHARED_FILE):
            path = os.path.join(folder, name)
            if (
                os.path.isfile(path)
                and (found := _read(path, is_found=True, quiet="--quiet" in arguments)) is not None
            ):
                return found
    return None


def _read(path: str, *, is_found: bool = False, quiet: bool = False) -> _ConfigFile | None:
    """Return what a file holds; None for a pyproject.toml without a table for nbtext, and for a found file of another user, after a warning."""
    try:
        with open(path, "rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            content = file.read(LARGEST + 1)
    except OSError as problem:
        raise PathError(f"cannot read: {describe_os_error(problem)}", where=path) from None
    shared = os.path.basename(path) == SHARED_FILE
    if shared and b"nbtext" not in content:
        return None
    if is_found and owner not in (os.geteuid(), 0):
        if not quiet:
            _warn_of_owner(path)
        return None
    if len(content) > LARGEST:
        raise PathError(
            f"is larger than {LARGEST >> 20} MiB",
            where=path,
            hint="give --no-config, or another file with --config",
        )
    if _DEEP_KEY.search(content):
        raise PathError("a key has more than 32 parts", where=path)
    import tomllib

    try:
        defaults = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as problem:
        wrong = "it is nested too deeply" if isinstance(problem, RecursionError) else str(problem)
        raise PathError(f"not valid TOML: {wrong}", where=path) from None
    if shared:
        tool = defaults.get("tool", {})
        own = tool.get("nbtext") if isinstance(tool, dict) else None
        if not isinstance(own, dict):
            return None
        defaults = own
    return _ConfigFile(path, {_key(name): value for name, value in defaults.items()}, is_found)


@cache
def _warn_of_owner(path: str) -> None:
    """Warn that a found file is ignored, once."""
    emit(
        "it belongs to another user and is ignored",
        level="warning",
        where=path,
        hint=f"--config {path} reads it",
    )


def load_defaults(context: click.Context, arguments: Sequence[str]) -> dict[click.Option, _Default]:
    """Return the defaults of a command's options from the file and the environment, checked.

    Raises `UsageError` for an unknown name or a wrong value in the file, and `PathError` as `_config_file` does.
    """
    options = _options(context.command)
    file = _config_file(arguments)
    found = dict(_in_file(file, context, options)) if file is not None else {}
    command = _key(context.command.name or "")
    for name in options:
        variables = (f"NBTEXT_{command.upper()}_{name.upper()}", f"NBTEXT_{name.upper()}")
        variable = next((each for each in variables if os.environ.get(each)), None)
        if variable is not None:
            found[name] = _Default(os.environ[variable], f"${variable}")
    return {
        options[name]: _checked(options[name], default, context) for name, default in found.items()
    }


def _key(name: str) -> str:
    """Return the name of an option or command as defaults are kept: hyphens and underscores are the same."""
    return name.lstrip("-").replace("-", "_")


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command that may have defaults, by their longest names."""
    named = {
        _key(_long_name(each)): each for each in command.params if isinstance(each, click.Option)
    }
    return {name: option for name, option in named.items() if name not in _NEVER}


def _in_file(
    file: _ConfigFile, context: click.Context, options: dict[str, click.Option]
) -> Iterator[tuple[str, _Default]]:
    """Yield the defaults that the file has for a command, those of its own table last."""
    commands = [_key(name) for name in find_program(context).list_commands(context)]
    for name, value in file.defaults.items():
        if name in (*commands, "why_not"):  # the hidden one too
            if not isinstance(value, dict):
                raise UsageError(
                    f"{name!r} is a command, and its defaults are a table",
                    where=file.path,
                    hint=f"write [{name}] above them",
                )
        elif name in options:
            yield name, _Default(value, file.path, file)
        elif name not in PARAMETERS_BY_NAME and not any(
            name in _options(every) for every in _commands(context)
        ):
            raise _unknown(name, [*PARAMETERS_BY_NAME, *options, *commands], file.path)
    for given, value in file.defaults.get(_key(context.command.name or ""), {}).items():
        name = _key(given)
        source = f"{file.path} [{context.command.name}]"
        if name not in options:
            raise _unknown(name, list(options), source)
        yield name, _Default(value, source, file)


def _commands(context: click.Context) -> Iterator[click.Command]:
    """Return all commands, one after the other; importing them takes time."""
    group = find_program(context)
    return filter(None, (group.get_command(context, name) for name in group.list_commands(context)))


def find_program(context: click.Context) -> click.Group:
    """Return the command that all others belong to."""
    root = context.find_root().command
    return root if isinstance(root, click.Group) else click.Group()


def _unknown(name: str, known: Sequence[str], source: str) -> UsageError:
    given = shorten_middle(name.replace("_", "-"), 60)
    near = did_you_mean(given, sorted({each.replace("_", "-") for each in known})).strip(" ()")
    return UsageError(
        f"there is no option or command {given!r}",
        where=source,
        hint="write each setting by its own name, such as l2 = 1"
        if name == "set"
        else REMOVED_OPTIONS.get(name)
        or near
        or "names are those of options, without the two hyphens",
    )


def _checked(option: click.Option, default: _Default, context: click.Context) -> _Default:
    """Return the default as it would stand on the command line; raise `UsageError` if it could not."""
    value, source, file = default

    def beside(each: str) -> str:
        """Return a value as it would stand on the command line; raise `UsageError` for what a found file may not name."""
        if file is None or not isinstance(option.type, InputPath | ColumnOfPaths | Address):
            return each
        try:
            return option.type.resolve_default(
                each, os.path.dirname(file.path), is_discovered=file.is_found
            )
        except UsageError as problem:
            hint = f"give --config {file.path} to trust it, or --no-config"
            raise UsageError(
                f"{_long_name(option)}: {problem.message}", where=source, hint=hint
            ) from None

    if option.is_flag:
        if not isinstance(value, (bool, str)):
            raise UsageError(f"{_long_name(option)} is true or false, not {value!r}", where=source)
    elif isinstance(value, (bool, dict)):
        raise UsageError(
            f"{_long_name(option)} takes no "
            f"{'truth value' if isinstance(value, bool) else 'table'}",
            where=source,
        )
    else:
        given = [str(each) for each in (value if isinstance(value, list) else [value])]
        values = list(map(beside, given if option.multiple else [",".join(given)]))
        value = values if option.multiple else values[0]
    try:
        option.type_cast_value(context, value)
        declared = PARAMETERS_BY_NAME.get(option.name or "")
        if declared is not None and not option.is_flag and not isinstance(option.type, InputPath):
            declared.validate(value)
    except click.UsageError as problem:
        raise UsageError(problem.format_message(), where=source) from None
    except UsageError as problem:
        problem.where = source
        raise
    return _Default(value, source, file)


def _long_name(option: click.Option) -> str:
    return max(option.opts, key=len)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def describe_defaults(context: click.Context, arguments: Sequence[str]) -> str:
    """Return the defaults that hold here, each with where it comes from."""
    from textwrap import wrap

    file = _config_file(arguments)
    lines = [
        f"File of defaults: {file.path}"
        if file
        else f"There is no {FILE} here or in a parent directory."
    ]
    rows: dict[tuple[str, str, str], list[str]] = {}
    for command in _commands(context):
        own = click.Context(command, context.find_root(), command.name)
        for option, (value, source, _) in load_defaults(own, arguments).items():
            name = _long_name(option)[2:]
            rows.setdefault((name, _shown(value), source), []).append(command.name or "")
    for (name, value, source), of_commands in rows.items():
        line = f"{name} = {value}   from {source}, for {', '.join(of_commands)}"
        lines += wrap(
            line,
            80,
            initial_indent="  ",
            subsequent_indent="    ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines if rows else [*lines, "No defaults are set."])
