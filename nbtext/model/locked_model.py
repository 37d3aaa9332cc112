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

from nbtext.classifiers.base import load_classifier_class
from nbtext.counts.corpus_counts import NotInModelError, forget_documents
from nbtext.errors import ModelError, PathError, UsageError, describe_os_error
from nbtext.fitted_model import require_additive
from nbtext.model.text_classifier import TextClassifier
from nbtext.progress import track_progress
from nbtext.settings import CLASSIFIERS
from nbtext.store.atomic import BACKUP_SUFFIX as BACKUP
from nbtext.store.atomic import LOCK_SUFFIX as LOCK
from nbtext.store.atomic import check_replaceable, keep_backup, lock_path, replace_file
from nbtext.store.ledger import Ledger
from nbtext.store.model_file import (
    NO_MODEL_DIGEST,
    extract_digest,
    has_ledger,
    read_digest,
    read_ledger_bytes,
    read_model_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.model.operations import DocumentBatch, LedgerUpdate
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

    def read_ledger(self) -> Ledger | None:
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
        return Ledger.from_bytes(content) if content else None
    except ModelError as problem:
        problem.where = path
        raise


def load_with_ledger(path: str) -> tuple[TextClassifier, Ledger | None]:
    """Return a model and its ledger, or None for one that cannot be used; both of the same moment, even while another process writes them.

    Raises as `TextClassifier.load` does.
    """
    while True:
        digest = read_digest(path)
        model = TextClassifier.load(path)
        try:
            ledger = _ledger_in(path)
        except ModelError:
            ledger = None
        if read_digest(path) == digest:
            return model, ledger


def import_dependencies() -> None:
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
        load_classifier_class(name)


@contextmanager
def lock_model(
    path: str, *, lock_timeout: float, backup: bool = False, is_new: bool = False
) -> Iterator[LockedModelFile]:
    """Hold the lock of a model file; raises `LockedError` if another process does for ``lock_timeout`` seconds.

    With ``is_new`` nothing that may be there is read: the model to be written needs nothing more than made it.
    """
    import_module("nbtext.store.joblib_stream")
    if not is_new:
        import_dependencies()
    with lock_path(path, lock_timeout):
        yield LockedModelFile(path, backup=backup)


class UpdateResult(NamedTuple):
    """What became of a model that learnt more documents."""

    model: TextClassifier
    """As it is in the file now."""
    n_documents_before: float
    had_ledger: bool
    """Whether there was a ledger that could be used."""
    ledger_update: LedgerUpdate | None
    """With a ledger: which documents were new."""


class UnlabelledAction(NamedTuple):
    """What becomes of the part of a model that unlabelled documents made, when labelled ones change."""

    pool: UnlabelledDocuments | None = None
    """Unlabelled documents to learn from again."""
    is_dropped: bool = False
    """Whether the part goes; a model that has one cannot be changed otherwise."""

    def drop_from(self, model: TextClassifier) -> None:
        """Let a model forget unlabelled documents if that is wanted and there are any."""
        if self.is_dropped and model.fitted.parameters.unlabelled_summary is not None:
            model.learn()


KEEP_UNLABELLED = UnlabelledAction()


def update(
    path: str,
    counting_model: TextClassifier,
    documents: CountedCorpus | DocumentBatch | None,
    unlabelled: UnlabelledAction = KEEP_UNLABELLED,
    *,
    lock_timeout: float,
    backup: bool = False,
) -> UpdateResult:
    """Add documents to the model in a file; of a `DocumentBatch` those that its ledger does not know, and move those that it knows under another label.

    The documents were counted by ``counted_by``. Raises `ModelError` if the model was replaced since by one that counts otherwise, `UsageError` if it
    cannot be changed, `NotInModelError` for a document to be moved that it does not hold, and `LockedError`.
    """
    from nbtext.model.operations import DocumentBatch, add_batch

    with lock_model(path, lock_timeout=lock_timeout, backup=backup) as file:
        model = _loaded_to_change(file, counting_model, unlabelled)
        n_before = model.counts.labelled_statistics.n_documents
        if not isinstance(documents, DocumentBatch):
            ledger = file.read_ledger()
            file.replace(
                model.learn(
                    model.counts if documents is None else model.counts + documents.counts,
                    unlabelled.pool,
                ),
                ledger,
            )
            return UpdateResult(model, n_before, ledger is not None, None)
        ledger = file.read_ledger()
        try:
            learnt = add_batch(model.counts, ledger or Ledger.empty(), documents)
        except NotInModelError as problem:
            problem.set_document_name(documents.names[problem.index])
            problem.hint = "the ledger says otherwise; begin a new one with nbtext train --once"
            raise
        if learnt.n_new or learnt.n_moved:
            file.replace(model.learn(learnt.counts, unlabelled.pool), learnt.ledger)
        return UpdateResult(model, n_before, ledger is not None, learnt)


class ForgetResult(NamedTuple):
    """What became of a model that forgot documents."""

    model: TextClassifier
    """As it is in the file now."""
    n_removed: int
    n_unknown: int
    """With ``once``: documents that the ledger does not know."""


def forget(
    path: str,
    counting_model: TextClassifier,
    batch: DocumentBatch,
    unlabelled: UnlabelledAction = KEEP_UNLABELLED,
    *,
    once: bool,
    lock_timeout: float,
    backup: bool = False,
) -> ForgetResult:
    """Take documents out of the model in a file, and out of its ledger; with ``once`` those that the ledger knows.

    Raises as `update` does, `NotInModelError` for a document that the model does not hold, and `UsageError` with ``once`` without a ledger.
    """
    from nbtext.model.operations import remove_batch, remove_from_ledger

    with lock_model(path, lock_timeout=lock_timeout, backup=backup) as file:
        model = _loaded_to_change(file, counting_model, unlabelled)
        try:
            if once:
                ledger = file.read_ledger()
                if ledger is None:
                    raise UsageError(
                        "the model has no ledger", where=path, hint="forget without --once"
                    )
                counts, ledger, n_forgotten, unknown = remove_batch(model.counts, ledger, batch)
            else:
                counts = forget_documents(model.counts, batch.counts)
                n_forgotten = batch.fingerprints.size
                unknown = 0
                ledger = file.read_ledger()
                ledger = None if ledger is None else remove_from_ledger(ledger, batch)
        except NotInModelError as problem:
            raise problem.set_document_name(batch.names[problem.index]) from None
        if n_forgotten:
            file.replace(model.learn(counts, unlabelled.pool), ledger)
        return ForgetResult(model, n_forgotten, unknown)


def _loaded_to_change(
    file: LockedModelFile, counted_by: TextClassifier, unlabelled: UnlabelledAction
) -> TextClassifier:
    """Load the model to change, without its unlabelled documents if these are dropped. Raise `ModelError` if another process replaced it by one that counts differently."""
    from nbtext.model.operations import find_counting_difference

    model = file.load()
    difference = find_counting_difference(counted_by, model)
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
    models: list[ModelToMerge]
    ledger: Ledger | None
    """Of all the models; None if none has one."""
    n_repeated: int
    """Documents that several of the ledgers know."""


def merge(
    paths: Sequence[str], path: str, *, lock_timeout: float, backup: bool = False
) -> MergedModels:
    """Write the sum of models, with their ledgers joined; the file may be one of them. Raises as `merged` does, and `LockedError`."""
    from nbtext.model.operations import join_ledgers, merge_models

    with lock_model(path, lock_timeout=lock_timeout, backup=backup) as file:
        parts = [
            ModelToMerge(part, *load_with_ledger(part))
            for part in track_progress(paths, "model", len(paths))
        ]
        model = merge_models([part.model for part in parts], paths)
        ledger, repeated = join_ledgers([part.ledger for part in parts if part.ledger is not None])
        file.replace(model, ledger)
    return MergedModels(model, parts, ledger, repeated)


def promote(
    new_path: str, path: str, *, lock_timeout: float, backup: bool = False
) -> TextClassifier:
    """Replace the model at ``path``, if there is one, by the model at ``new`` with its ledger; return the new model.

    Raises `ModelError` if the new model is missing, or it or its ledger is damaged or refused, `UsageError` if both are the same file or a ledger would be
    lost, `LockedError`, and `PathError`. In all these cases nothing has changed, but for the one in which the message says otherwise.
    """
    check_replaceable(path)
    _require_apart(new_path, path, backup=backup)
    model = TextClassifier.load(new_path)
    content = read_model_bytes(new_path)
    check_replaceable(new_path)
    import_dependencies()
    with ExitStack() as locks:
        for place in sorted(
            (new_path, path), key=os.path.realpath
        ):  # everybody in one order, so that two do not wait for each other
            locks.enter_context(lock_path(place, lock_timeout))
        if read_digest(new_path) != extract_digest(content):
            raise ModelError("was replaced while it was read", where=new_path, hint="run it again")
        if _ledger_in(new_path) is None:
            _require_no_ledger(path, new_path)
        if not _is_content(content, path):
            LockedModelFile(path, backup=backup).replace_content(content)
        _remove(new_path, path)
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
    if read_digest(path) == NO_MODEL_DIGEST:
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
            f"written, but {new} cannot be removed: {describe_os_error(problem)}", where=path
        ) from None
