"""How much there is to read: files and bytes of paths, counted without reading them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_COUNTED = 1_000_000
"""Files that are counted at most to know the end."""


def number_of_files(paths: Sequence[str], file_format: str) -> int | None:
    """Return the number of files in and below the paths; None if there are too many, or if they cannot be counted."""
    if file_format == "maildir":
        paths = [os.path.join(path, part) for path in paths for part in ("cur", "new")]  # noqa: PTH118 - texts
    count, pending = 0, list(paths)
    try:
        while pending and count <= MOST_COUNTED:
            path = pending.pop()
            if not os.path.isdir(path):  # noqa: PTH112 - faster
                count += 1
                continue
            with os.scandir(path) as entries:
                seen = [entry for entry in entries if not entry.name.startswith(".")]
            folders = [entry.path for entry in seen if entry.is_dir(follow_symlinks=False)]
            pending += folders
            count += len(seen) - len(folders)
    except OSError:
        return None
    return count if count <= MOST_COUNTED else None


def size_of_files(paths: Sequence[str]) -> int | None:
    """Return the bytes of all files together; None if one is no regular file."""
    total = 0
    for path in paths:
        try:
            status = os.fstat(0) if path == "-" else os.stat(path)  # noqa: PTH116 - bytes that are no text may stand in a name
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        total += status.st_size
    return total
