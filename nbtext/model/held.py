"""A model file that one process reads, changes and replaces while others may read it, together with its ledger and a backup."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from nbtext.classifiers.registry import CLASSIFIERS, classifier_class
from nbtext.errors import ModelError, PathError
from nbtext.model.text_classifier import TextClassifier
from nbtext.store.atomic import keep_backup
from nbtext.store.ledger import NO_MODEL, Ledger, ledger_path, read_ledger, write_ledger
from nbtext.store.lock import locked
from nbtext.store.model_file import import_joblib, model_digest, write_model_content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


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
        write_model_content(self.path, content, self._before(ledger))

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
        "nbtext.model.change",
        "nbtext.model.once",
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
