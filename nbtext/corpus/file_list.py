"""Lists of paths, as other programs print them: one a line, or with a NUL after each."""

from __future__ import annotations

import os

from nbtext.corpus.streams import opened


def listed_paths(path: str, *, null: bool) -> list[str]:
    """The paths that a file, or standard input for ``-``, lists; an end behind the last one may be missing.

    A path that is only ``-`` is a file of that name. Raises `PathError` if the list cannot be read.
    """
    with opened(path) as stream:
        content = stream.read()
    names = content.split(b"\0") if null else content.split(b"\n")
    return ["./-" if name == b"-" else os.fsdecode(name) for name in names if name]
