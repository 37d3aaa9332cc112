"""Types of options that are paths.

A file of defaults that was found, not named by ``--config``, may have come with its folder from somebody else. So its paths must stay in the folder, links
followed, and nbtext replaces only files there that it wrote for the same option.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nbtext.errors import UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

LARGEST_BEGINNING = 1 << 16
"""Bytes of a file by which nbtext recognises what it wrote."""

MODEL = rb"\x80\x04B[\s\S]{4}nbtext\r\n"
PAGE = rb"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
CARD = rb"---\n(.+\n)*library_name: \"nbtext\"\n"
JUDGED = rb'\{"id": "([^"\\]|\\.)*", "truth": '
DRIFT = rb'\{"time": "[^"]*", "model": .*, "documents": \d'
ANYTHING = rb""
"""Beginnings of files that nbtext writes, as patterns; the empty one where the command itself checks the file."""


class InputPath(click.types.StringParamType):
    """A path to be read, or standard input."""

    name = "file"

    def __init__(self, *, or_name: bool = False, is_labelled: bool = False) -> None:
        """``or_name``: other values are names; ``is_labelled``: a label and an equals sign come before it."""
        self._or_name, self._is_labelled = or_name, is_labelled

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Suggest files and directories, which the shell finds itself."""
        from click.shell_completion import CompletionItem

        del ctx, param
        return [CompletionItem(incomplete, type="file")]

    def beside(self, value: str, folder: Path, *, is_found: bool) -> str:
        """Return the value that a file of defaults in the folder has; raise `UsageError` for a path that a found file may not have."""
        label, equals, path = value.partition("=") if self._is_labelled else ("", "", value)
        if path == "-":
            return value
        if "\0" in path:
            raise UsageError("a path has no NUL")
        if self._is_labelled:
            path = os.path.expanduser(path)  # noqa: PTH111 - as the command does
        if folder not in (Path(), Path.cwd()):
            there = str(folder / path)
            path = there if not self._or_name or os.path.lexists(there) else path
        if is_found and (not self._or_name or os.path.lexists(path)):
            self.require_harmless(path, folder)
        return label + equals + path

    def require_harmless(self, path: str, folder: Path) -> None:
        """Raise `UsageError` for a path outside the folder of a found file."""
        if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
            raise UsageError(f"{path} is outside the folder of this file")


class PathList(InputPath):
    """A file of paths to be read."""

    def require_harmless(self, path: str, folder: Path) -> None:
        """Raise `UsageError` for a list outside the folder, or with a path outside it."""
        from nbtext.corpus.streams import listed_paths

        super().require_harmless(path, folder)
        for line in listed_paths(path, null=False):
            for each in line.split("\0"):
                super().require_harmless(each, folder)


class OutputPath(InputPath):
    """A file to be written; ``own`` is a pattern of how files begin that nbtext writes there."""

    def __init__(self, own: bytes) -> None:
        super().__init__()
        self._own = own

    def require_harmless(self, path: str, folder: Path) -> None:
        """Raise `UsageError` for a path outside the folder, or one of a file that nbtext did not write there."""
        super().require_harmless(path, folder)
        if os.path.lexists(path) and not self._is_own(path):
            raise UsageError(f"{path} is not a file that nbtext wrote for this option")

    def _is_own(self, path: str) -> bool:
        try:
            status = os.stat(path)  # noqa: PTH116 - a str as given
            if not status.st_size or not stat.S_ISREG(status.st_mode):
                return stat.S_ISREG(status.st_mode)
            with open(path, "rb") as file:  # noqa: PTH123 - likewise
                return re.match(self._own, file.read(LARGEST_BEGINNING)) is not None
        except OSError:
            return False


class Address(click.types.StringParamType):
    """The address of another machine."""

    name = "address"

    def beside(self, value: str, folder: Path, *, is_found: bool) -> str:
        """Return the value; raise `UsageError` in a found file: a scheduler may send code."""
        del folder
        if is_found:
            raise UsageError("an address is not taken from a file that was found")
        return value
