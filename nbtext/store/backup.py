"""The file that is about to be replaced, kept under another name."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import TYPE_CHECKING

from nbtext.errors import PathError, reason
from nbtext.store.atomic import abandonable

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".1"


def keep_backup(target: Path) -> None:
    """Keep the file at ``target``, if there is one, as ``target.1``, in place of what was called so. At no moment is either of them missing.

    It is the file itself under a second name, or a copy where the file system has no second names. Raises `PathError` if it cannot be kept.
    """
    kept = target.with_name(target.name + SUFFIX)
    made = abandonable(target, "backup__")  # of one name, so that the next call removes what a killed one left, or the next writer does
    try:
        with contextlib.suppress(FileNotFoundError):
            made.unlink()
        try:
            os.link(target, made)
        except FileNotFoundError:
            return
        except OSError:
            shutil.copy2(target, made)
        made.replace(kept)
        made.unlink(missing_ok=True)  # it stays where both are the same file, kept by a process that was killed before it could go on
    except OSError as problem:
        with contextlib.suppress(OSError):
            made.unlink()
        raise PathError(f"cannot keep a backup: {reason(problem)}", where=str(kept), hint="the model is as it was") from None
