"""A model file that one process reads, changes and replaces while others may read it, together with its ledger and a backup.

A model that was made beside another one takes its place, with its ledger, and is gone from where it was.

Its file is copied beside the old one and then goes the way of every model that replaces another: the ledger first, which tells by the digest
of the model file which of the two it is, then the backup, then the model at one stroke. What is taken away from the old place goes last, the model
after its ledger; so a process that is killed leaves the old pair, or the new one, and as long as the new model is still where it was, to promote it
again does what is left to do.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nbtext.classifiers.registry import CLASSIFIERS, classifier_class
from nbtext.errors import ModelError, PathError, UsageError, reason
from nbtext.model.text_classifier import TextClassifier
from nbtext.store import check_replaceable
from nbtext.store.atomic import BACKUP_SUFFIX as BACKUP
from nbtext.store.atomic import displayed_path, keep_backup
from nbtext.store.ledger import LEDGER_SUFFIX as LEDGER
from nbtext.store.ledger import NO_MODEL, Ledger, ledger_path, read_ledger, write_ledger
from nbtext.store.lock import LOCK_SUFFIX as LOCK
from nbtext.store.lock import locked
from nbtext.store.model_file import embedded_digest, import_joblib, model_digest, read_model_bytes, write_model_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class HeldModel:
    """A model file under its lock. There may be no model yet."""

    def __init__(self, path: str, *, backup: bool) -> None:
        self.path = path
        self._backup = backup
        self._digest = model_digest(path) or NO_MODEL

    def load(self) -> TextClassifier:
        """The model; raises as `TextClassifier.load` does."""
        return TextClassifier.load(self.path)

    def ledger(self) -> Ledger | None:
        """The ledger of the model, None if there is none; raises `ModelError` if it is damaged or that of another model."""
        return read_ledger(ledger_path(self.path), self._digest)

    def ledger_if_usable(self) -> Ledger | None:
        """The ledger of the model; None also if it cannot be used. It will not be taken for that of the model which comes next."""
        try:
            return self.ledger()
        except ModelError:
            return None

    def replace(self, model: TextClassifier, ledger: Ledger | None = None) -> None:
        """Put a model into the file's place, with its ledger, or without one; raises `PathError`, and leaves both as they were.

        A ledger that is there stays as it is if none is given; but it is not that of the new model.
        """
        model.save(self.path, self._before(ledger))

    def replace_content(self, content: bytes, ledger: Ledger | None = None) -> None:
        """As `replace`, by the bytes of a model file."""
        write_model_bytes(self.path, content, self._before(ledger))

    def _before(self, ledger: Ledger | None) -> Callable[[Path, bytes], None]:
        """What is to be done just before the model file is replaced."""

        def before(target: Path, digest: bytes) -> None:
            if ledger is not None:
                write_ledger(self.path, self._present(), (digest, ledger))
            if self._backup:
                keep_backup(target)

        return before

    def _present(self) -> tuple[bytes, Ledger]:
        """The digest of the model that is there, and its ledger; for no model if the ledger that is there is not its own."""
        try:
            return self._digest, self.ledger() or Ledger.empty()
        except ModelError:
            return NO_MODEL, Ledger.empty()


def read_with_ledger(path: str) -> tuple[TextClassifier, Ledger | None]:
    """A model and its ledger, None if there is none that can be used; of the same moment, also where another process is writing them.

    Raises as `TextClassifier.load` does.
    """
    while True:
        digest = model_digest(path) or NO_MODEL
        model = TextClassifier.load(path)
        try:
            ledger = read_ledger(ledger_path(path), digest)
        except (ModelError, PathError):
            ledger = None
        if (model_digest(path) or NO_MODEL) == digest:
            return model, ledger


def import_what_changing_needs() -> None:
    """Import before a lock is taken what is else imported where it is used: others do not wait for it, and if it cannot be loaded nothing is begun.

    What a setting alone asks for, such as a stemmer, is left out.
    """
    for name in (
        "numpy.ma",
        "nbtext.language_model.smoothing",
        "nbtext.metrics.evaluation",
        "nbtext.model.changing",
        "nbtext.model.changing",
    ):  # numpy wants it for sets
        import_module(name)
    for name in CLASSIFIERS:
        classifier_class(name)


@contextmanager
def held(path: str, *, lock_timeout: float, backup: bool = False) -> Iterator[HeldModel]:
    """Hold the lock of a model file; raises `LockedError` if another process does for ``lock_timeout`` seconds."""
    import_what_changing_needs()
    import_joblib()
    with locked(path, lock_timeout):
        yield HeldModel(path, backup=backup)


def promote(new: str, path: str, *, lock_timeout: float, backup: bool = False) -> str:
    """Put the model at ``new`` and its ledger in the place of the model at ``path``, which may not be there yet; what it is, in one line.

    Raises `ModelError` if the new model or its ledger is missing, damaged or refused, `UsageError` if both are the same file or a ledger would be left
    without a model, `LockedError`, and `PathError`. In all these cases nothing has changed, but for the one in which the message says otherwise.
    """
    check_replaceable(path)
    _require_apart(new, path, backup=backup)
    description = TextClassifier.load(new).describe()
    content = read_model_bytes(new)
    check_replaceable(new)
    import_what_changing_needs()
    with ExitStack() as locks:
        for place in sorted((new, path), key=os.path.realpath):  # everybody in one order, so that two do not wait for each other
            locks.enter_context(locked(place, lock_timeout))
        if model_digest(new) != embedded_digest(content):
            raise ModelError("was replaced while it was read", where=new, hint="run it again")
        _put(content, _ledger_of(new, path, embedded_digest(content)), HeldModel(path, backup=backup))
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
            where=new, hint=f"train it with nbtext train --once, or remove {displayed_path(path)}{LEDGER}",
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
