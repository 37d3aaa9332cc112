"""The file that is about to be replaced, kept under another name."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import IO, TYPE_CHECKING

from nbtext.errors import PathError, reason
from nbtext.store.atomic import made_beside, replace_file

if TYPE_CHECKING:
    from pathlib import Path

SUFFIX = ".1"


def keep_backup(target: Path) -> None:
    """Keep the file at ``target``, if there is one, as ``target.1``, in place of what was called so. At no moment is either of them missing.

    It is the file itself under a second name, or a copy where the file system has no second names. Raises `PathError` if it cannot be kept.
    """
    kept = target.with_name(target.name + SUFFIX)
    try:
        try:
            _, second = made_beside(target, lambda path: os.link(target, path, follow_symlinks=False))
        except FileNotFoundError:
            return
        except OSError:
            replace_file(str(kept), lambda file: _copy(target, file), beside=target)
            return
        try:
            second.replace(kept)
        finally:
            with contextlib.suppress(OSError):  # it is still there if the rename failed, or did nothing since both are the same file
                second.unlink()
    except PathError as problem:
        raise _failed(kept, problem.message) from None
    except OSError as problem:
        raise _failed(kept, reason(problem)) from None


def _copy(source: Path, file: IO[bytes]) -> None:
    with open(source, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)) as content:
        shutil.copyfileobj(content, file)


def _failed(kept: Path, why: str) -> PathError:
    return PathError(f"cannot keep a backup: {why}", where=str(kept), hint="the model is as it was")
