"""A model that was made beside another one takes its place, with its ledger, and is gone from where it was.

Its file is copied beside the old one and then goes the way of every model that replaces another: the ledger first, which tells by the digest
of the model file which of the two it is, then the backup, then the model at one stroke. What is taken away from the old place goes last, the model
after its ledger; so a process that is killed leaves the old pair, or the new one, and as long as the new model is still where it was, to promote it
again does what is left to do.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import ModelError, PathError, UsageError, reason
from nbtext.model.held import HeldModel, import_what_changing_needs
from nbtext.model.text_classifier import TextClassifier
from nbtext.store import check_replaceable
from nbtext.store.atomic import SUFFIX as BACKUP
from nbtext.store.atomic import as_given
from nbtext.store.ledger import SUFFIX as LEDGER
from nbtext.store.ledger import ledger_path, read_ledger
from nbtext.store.lock import SUFFIX as LOCK
from nbtext.store.lock import locked
from nbtext.store.model_file import digest_in, model_content, model_digest

if TYPE_CHECKING:
    from nbtext.store.ledger import Ledger


def promote(new: str, path: str, *, lock_timeout: float, backup: bool = False) -> str:
    """Put the model at ``new`` and its ledger in the place of the model at ``path``, which may not be there yet; what it is, in one line.

    Raises `ModelError` if the new model or its ledger is missing, damaged or refused, `UsageError` if both are the same file or a ledger would be left
    without a model, `LockedError`, and `PathError`. In all these cases nothing has changed, but for the one in which the message says otherwise.
    """
    check_replaceable(path)
    _require_apart(new, path, backup=backup)
    description = TextClassifier.load(new).describe()
    content = model_content(new)
    check_replaceable(new)
    import_what_changing_needs()
    with ExitStack() as locks:
        for place in sorted((new, path), key=os.path.realpath):  # everybody in one order, so that two do not wait for each other
            locks.enter_context(locked(place, lock_timeout))
        if model_digest(new) != digest_in(content):
            raise ModelError("was replaced while it was read", where=new, hint="run it again")
        _put(content, _ledger_of(new, path, digest_in(content)), HeldModel(path, backup=backup))
        _remove(new, path)
    return description


def _require_apart(new: str, path: str, *, backup: bool) -> None:
    """Raise `UsageError` if the new model is where the other one is, or where something is kept that belongs to that."""
    source, target = os.path.realpath(new), os.path.realpath(path)
    if source == target:
        raise UsageError("is the model itself", where=new, hint="name the file of another model")
    if backup and source == target + BACKUP:
        raise UsageError("is where --backup keeps the model that is replaced", where=new, hint="leave out --backup")
    if source in (target + LEDGER, target + LOCK):
        raise UsageError(f"has a name that belongs to {path}", where=new, hint="give it another one")


def _ledger_of(new: str, path: str, digest: bytes) -> Ledger | None:
    """The ledger of the new model: beside it, or beside the other one if that knows it, as it knows the model before the last change."""
    ledger = read_ledger(ledger_path(new), digest)
    if ledger is not None:
        return ledger
    try:
        return read_ledger(ledger_path(path), digest)
    except ModelError:
        raise UsageError(
            f"has no ledger of documents learnt once, but {path} has one",
            where=new, hint=f"train it with nbtext train --once, or remove {as_given(path)}{LEDGER}",
        ) from None  # fmt: skip


def _put(content: bytes, ledger: Ledger | None, file: HeldModel) -> None:
    if not _is_content(content, file.path) or not (ledger is None or _equal(ledger, file.ledger_if_usable())):
        file.replace_content(content, ledger)


def _is_content(content: bytes, path: str) -> bool:
    """Whether a file has these bytes already: then its backup is not to be lost, nor what its ledger knows of the model before."""
    with suppress(OSError):
        return Path(path).stat().st_size == len(content) and Path(path).read_bytes() == content
    return False


def _equal(one: Ledger, other: Ledger | None) -> bool:
    """Whether two ledgers hold the same documents under the same labels."""
    if other is None or one.used() != other.used():
        return False
    labels = sorted(one.used())
    return np.array_equal(one.fingerprints, other.fingerprints) and np.array_equal(one.over(labels).numbers, other.over(labels).numbers)


def _remove(new: str, path: str) -> None:
    """Take away what has been promoted; of a symbolic link what it leads to."""
    try:
        Path(ledger_path(new)).unlink(missing_ok=True)
        Path(os.path.realpath(new)).unlink()
    except OSError as problem:
        raise PathError(f"written, but {new} cannot be removed: {reason(problem)}", where=path) from None
