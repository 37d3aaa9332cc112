"""A model file under its lock: one process reads, changes and replaces it, with its ledger and a backup, while others may read it.

Every replacement goes the same way: the backup first, then the model, which has its ledger in it, with one rename. `promote` removes the model from
its old place last. So a process that is killed leaves the old model or the new one, and `promote` can be repeated until the new model is gone from its
old place.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nbtext.classifiers.base import classifier_class
from nbtext.counts.corpus_counts import NeverLearntError, forget_documents
from nbtext.errors import ModelError, PathError, UsageError, reason
from nbtext.fitted_model import require_additive
from nbtext.model.text_classifier import TextClassifier
from nbtext.progress import stepped
from nbtext.settings import CLASSIFIERS
from nbtext.store.atomic import BACKUP_SUFFIX as BACKUP
from nbtext.store.atomic import LOCK_SUFFIX as LOCK
from nbtext.store.atomic import check_replaceable, keep_backup, locked, replace_file
from nbtext.store.ledger import Ledger
from nbtext.store.model_file import (
    NO_MODEL,
    embedded_digest,
    has_ledger,
    model_digest,
    read_ledger_bytes,
    read_model_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.model.operations import Batch, LearntOnce
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.model.unlabelled import UnlabelledDocuments


class LockedModelFile:
    """A model file under its lock. There may be no model yet."""

    def __init__(self, path: str, *, backup: bool) -> None:
        self.path = path
        self._backup = backup

    def load(self) -> TextClassifier:
        """Load the model; raise as `TextClassifier.load` does."""
        return TextClassifier.load(self.path)

    def ledger(self) -> Ledger | None:
        """Return the ledger of the model, None if it has none; raise `ModelError` if it is damaged: a change would lose it."""
        return _ledger_in(self.path)

    def replace(self, model: TextClassifier, ledger: Ledger | None = None) -> None:
        """Replace the file by a model, with a ledger or without one; raise `PathError`, and leave it as it was."""
        model.save(self.path, b"" if ledger is None else ledger.to_bytes(), self._before)

    def replace_content(self, content: bytes) -> None:
        """Replace as `replace` does, by the bytes of a model file."""
        replace_file(self.path, lambda file: file.writelines((content,)), self._before)

    def _before(self, target: Path) -> None:
        if self._backup:
            keep_backup(target)


def _ledger_in(path: str) -> Ledger | None:
    """Return the ledger in a model file, None if it has none; raise `ModelError` if it is damaged."""
    content = read_ledger_bytes(path)
    try:
        return Ledger.of_bytes(content) if content else None
    except ModelError as problem:
        problem.where = path
        raise


def read_with_ledger(path: str) -> tuple[TextClassifier, Ledger | None]:
    """Return a model and its ledger, or None for one that cannot be used; both of the same moment, even while another process writes them.

    Raises as `TextClassifier.load` does.
    """
    while True:
        digest = model_digest(path)
        model = TextClassifier.load(path)
        try:
            ledger = _ledger_in(path)
        except ModelError:
            ledger = None
        if model_digest(path) == digest:
            return model, ledger


def import_what_changing_needs() -> None:
    """Import what changing a model needs, before a lock is taken: others do not wait for it, and if it cannot be loaded nothing is begun.

    What a setting alone asks for, such as a stemmer, is left out.
    """
    needed = (
        "language_model.smoothing",
        "metrics.outcomes",
        "model.training",
        "model.description",
        "model.python_input",
        "version",
    )
    for name in (
        "numpy.ma",
        *(f"nbtext.{module}" for module in needed),
    ):  # numpy wants the first for sets
        import_module(name)
    for name in CLASSIFIERS:
        classifier_class(name)


@contextmanager
def locked_model(
    path: str, *, lock_timeout: float, backup: bool = False, is_new: bool = False
) -> Iterator[LockedModelFile]:
    """Hold the lock of a model file; raises `LockedError` if another process does for ``lock_timeout`` seconds.

    With ``is_new`` nothing that may be there is read: the model to be written needs nothing more than made it.
    """
    import_module("nbtext.store.joblib_stream")
    if not is_new:
        import_what_changing_needs()
    with locked(path, lock_timeout):
        yield LockedModelFile(path, backup=backup)


class Updated(NamedTuple):
    """What became of a model that learnt more documents."""

    model: TextClassifier
    """As it is in the file now."""
    documents_before: float
    had_ledger: bool
    """Whether there was a ledger that could be used."""
    learnt: LearntOnce | None
    """With a ledger: which documents were new."""


class Unlabelled(NamedTuple):
    """What becomes of the part of a model that unlabelled documents made, when labelled ones change."""

    pool: UnlabelledDocuments | None = None
    """Unlabelled documents to learn from again."""
    is_dropped: bool = False
    """Whether the part goes; a model that has one cannot be changed otherwise."""

    def drop_from(self, model: TextClassifier) -> None:
        """Let a model forget unlabelled documents if that is wanted and there are any."""
        if self.is_dropped and model.fitted.learnt.unlabelled is not None:
            model.learn()


STAYS = Unlabelled()


def update(
    path: str,
    counted_by: TextClassifier,
    more: CountedCorpus | Batch | None,
    unlabelled: Unlabelled = STAYS,
    *,
    lock_timeout: float,
    backup: bool = False,
) -> Updated:
    """Add documents to the model in a file; of a `Batch` those that its ledger does not know, and move those that it knows under another label.

    The documents were counted by ``counted_by``. Raises `ModelError` if the model was replaced since by one that counts otherwise, `UsageError` if it
    cannot be changed, `NeverLearntError` for a document to be moved that it does not hold, and `LockedError`.
    """
    from nbtext.model.operations import Batch, learnt_once

    with locked_model(path, lock_timeout=lock_timeout, backup=backup) as file:
        model = _loaded_to_change(file, counted_by, unlabelled)
        n_before = model.counts.labelled.n_documents
        if not isinstance(more, Batch):
            ledger = file.ledger()
            file.replace(
                model.learn(
                    model.counts if more is None else model.counts + more.counts, unlabelled.pool
                ),
                ledger,
            )
            return Updated(model, n_before, ledger is not None, None)
        ledger = file.ledger()
        try:
            learnt = learnt_once(model.counts, ledger or Ledger.empty(), more)
        except NeverLearntError as problem:
            problem.naming(more.names[problem.number])
            problem.hint = "the ledger says otherwise; begin a new one with nbtext train --once"
            raise
        if learnt.new or learnt.moved:
            file.replace(model.learn(learnt.counts, unlabelled.pool), learnt.ledger)
        return Updated(model, n_before, ledger is not None, learnt)


class Forgot(NamedTuple):
    """What became of a model that forgot documents."""

    model: TextClassifier
    """As it is in the file now."""
    forgotten: int
    unknown: int
    """With ``once``: documents that the ledger does not know."""


def forget(
    path: str,
    counted_by: TextClassifier,
    batch: Batch,
    unlabelled: Unlabelled = STAYS,
    *,
    once: bool,
    lock_timeout: float,
    backup: bool = False,
) -> Forgot:
    """Take documents out of the model in a file, and out of its ledger; with ``once`` those that the ledger knows.

    Raises as `update` does, `NeverLearntError` for a document that the model does not hold, and `UsageError` with ``once`` without a ledger.
    """
    from nbtext.model.operations import forgotten, forgotten_once

    with locked_model(path, lock_timeout=lock_timeout, backup=backup) as file:
        model = _loaded_to_change(file, counted_by, unlabelled)
        try:
            if once:
                ledger = file.ledger()
                if ledger is None:
                    raise UsageError(
                        "the model has no ledger", where=path, hint="forget without --once"
                    )
                counts, ledger, n_forgotten, unknown = forgotten_once(model.counts, ledger, batch)
            else:
                counts = forget_documents(model.counts, batch.counts)
                n_forgotten = batch.fingerprints.size
                unknown = 0
                ledger = file.ledger()
                ledger = None if ledger is None else forgotten(ledger, batch)
        except NeverLearntError as problem:
            raise problem.naming(batch.names[problem.number]) from None
        if n_forgotten:
            file.replace(model.learn(counts, unlabelled.pool), ledger)
        return Forgot(model, n_forgotten, unknown)


def _loaded_to_change(
    file: LockedModelFile, counted_by: TextClassifier, unlabelled: Unlabelled
) -> TextClassifier:
    """Load the model to change, without its unlabelled documents if these are dropped. Raise `ModelError` if another process replaced it by one that counts differently."""
    from nbtext.model.operations import counting_difference

    model = file.load()
    difference = counting_difference(counted_by, model)
    if difference is not None:
        raise ModelError(
            f"another process replaced it by a model that counts differently, by {difference}",
            where=file.path,
            hint="run it again",
        )
    unlabelled.drop_from(model)
    require_additive(model.settings, model.counts)
    return model


class ModelToMerge(NamedTuple):
    """A model to be merged, with its ledger if it has one that can be used."""

    path: str
    model: TextClassifier
    ledger: Ledger | None


class MergedModels(NamedTuple):
    """The sum of several models."""

    model: TextClassifier
    parts: list[ModelToMerge]
    ledger: Ledger | None
    """Of all the models; None if none has one."""
    repeated: int
    """Documents that several of the ledgers know."""


def merge(
    paths: Sequence[str], path: str, *, lock_timeout: float, backup: bool = False
) -> MergedModels:
    """Write the sum of models, with their ledgers joined; the file may be one of them. Raises as `merged` does, and `LockedError`."""
    from nbtext.model.operations import join_ledgers, merged

    with locked_model(path, lock_timeout=lock_timeout, backup=backup) as file:
        parts = [
            ModelToMerge(part, *read_with_ledger(part))
            for part in stepped(paths, "model", len(paths))
        ]
        model = merged([part.model for part in parts], paths)
        ledger, repeated = join_ledgers([part.ledger for part in parts if part.ledger is not None])
        file.replace(model, ledger)
    return MergedModels(model, parts, ledger, repeated)


def promote(new: str, path: str, *, lock_timeout: float, backup: bool = False) -> TextClassifier:
    """Replace the model at ``path``, if there is one, by the model at ``new`` with its ledger; return the new model.

    Raises `ModelError` if the new model is missing, or it or its ledger is damaged or refused, `UsageError` if both are the same file or a ledger would be
    lost, `LockedError`, and `PathError`. In all these cases nothing has changed, but for the one in which the message says otherwise.
    """
    check_replaceable(path)
    _require_apart(new, path, backup=backup)
    model = TextClassifier.load(new)
    content = read_model_bytes(new)
    check_replaceable(new)
    import_what_changing_needs()
    with ExitStack() as locks:
        for place in sorted(
            (new, path), key=os.path.realpath
        ):  # everybody in one order, so that two do not wait for each other
            locks.enter_context(locked(place, lock_timeout))
        if model_digest(new) != embedded_digest(content):
            raise ModelError("was replaced while it was read", where=new, hint="run it again")
        if _ledger_in(new) is None:
            _require_no_ledger(path, new)
        if not _is_content(content, path):
            LockedModelFile(path, backup=backup).replace_content(content)
        _remove(new, path)
    return model


def _require_apart(new: str, path: str, *, backup: bool) -> None:
    """Raise `UsageError` if the new model is where the other one is, or where something is kept that belongs to that."""
    source = os.path.realpath(new)
    target = os.path.realpath(path)
    if source == target:
        raise UsageError("is the model itself", where=new, hint="name the file of another model")
    if backup and source == target + BACKUP:
        raise UsageError(
            "is where --backup keeps the model that is replaced",
            where=new,
            hint="leave out --backup",
        )
    if source == target + LOCK:
        raise UsageError(
            f"has a name that belongs to {path}", where=new, hint="give it another one"
        )


def _require_no_ledger(path: str, new: str) -> None:
    """Raise `UsageError` if the model that would be replaced by one without a ledger has one, be it damaged."""
    if model_digest(path) == NO_MODEL:
        return
    with suppress(ModelError):  # a damaged model is not worth keeping
        if has_ledger(path):
            raise UsageError(
                f"has no ledger of documents learnt once, but {path} has one",
                where=new,
                hint=f"train it with nbtext train --once, or nbtext prune --ledger -m {path}",
            )


def _is_content(content: bytes, path: str) -> bool:
    """Return whether a file has these bytes already: then its backup must stay."""
    with suppress(OSError):
        return Path(path).stat().st_size == len(content) and Path(path).read_bytes() == content
    return False


def _remove(new: str, path: str) -> None:
    """Remove what has been promoted; of a symbolic link what it leads to."""
    try:
        Path(os.path.realpath(new)).unlink()
    except OSError as problem:
        raise PathError(
            f"written, but {new} cannot be removed: {reason(problem)}", where=path
        ) from None
