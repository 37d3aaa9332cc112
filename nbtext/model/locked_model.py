"""Change a model file under its lock: update, forget, merge and promote.

The commands of these names use this module. One process at a time reads, changes and replaces a
model file, while other processes may read it. Every operation first writes the backup, and then
replaces the model and its ledger by one rename. `promote` removes the file of the new model last.
So if the process is killed, the file has either the old model or the new model, and `promote` can
be repeated.
"""

from __future__ import annotations

import os
import re
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
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
from nbtext.store.atomic import (
    BACKUP_SUFFIX,
    LOCK_SUFFIX,
    check_replaceable,
    keep_backup,
    lock_path,
    replace_file,
)
from nbtext.store.ledger import Ledger
from nbtext.store.model_file import (
    FINGERPRINT_BYTES,
    NO_MODEL_DIGEST,
    extract_digest,
    format_fingerprint,
    has_ledger,
    read_digest,
    read_ledger_bytes,
    read_model_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model.operations import DocumentBatch, LedgerRemoval, LedgerUpdate
    from nbtext.model.parallel_corpus import CountedCorpus
    from nbtext.model.unlabelled import UnlabelledDocuments


class Backups(NamedTuple):
    """The backups of a model that are kept in its folder when the model is replaced."""

    previous: bool = False
    """Keep the replaced model, with `BACKUP_SUFFIX` at the end of its name."""
    n_named: int = 0
    """Number of replaced models that are kept, with the fingerprint at the end of the name."""


NO_BACKUPS = Backups()


class LockedModelFile:
    """A model file whose lock this process holds. The file need not exist yet.

    ``backups`` are made before the file is replaced.
    """

    def __init__(self, path: str, *, backups: Backups = NO_BACKUPS) -> None:
        self.path = path
        self._backups = backups

    def load(self) -> TextClassifier:
        """Load the model; raise `ModelError` if it is missing or damaged."""
        return TextClassifier.load(self.path)

    def load_unless_same(self, model: TextClassifier) -> TextClassifier:
        """Return a copy of ``model`` if the file still has it, else load the model."""
        if model.fitted.fingerprint == format_fingerprint(read_digest(self.path)):
            return copy(model)
        return self.load()

    def read_ledger(self) -> Ledger | None:
        """Return the ledger of the model, or None if it has none.

        Raise `ModelError` if the ledger is damaged, because the changed model would lose it.
        """
        return _read_ledger(self.path)

    def replace(self, model: TextClassifier, ledger: Ledger | None = None) -> None:
        """Replace the file by a model and its ledger.

        Raise `PathError` if the file cannot be written; it is then unchanged.
        """
        ledger_bytes = b"" if ledger is None else ledger.to_bytes()
        model.save(self.path, ledger_bytes, self._keep_backups)

    def replace_content(self, content: bytes) -> None:
        """Replace the file by the bytes of a model file.

        Raise `PathError` if the file cannot be written; it is then unchanged.
        """
        replace_file(self.path, lambda file: file.write(content), self._keep_backups)

    def _keep_backups(self, target: Path) -> None:
        """Keep the model at ``target``, and remove old backups. Raise `PathError` if that fails."""
        if self._backups.previous:
            keep_backup(target)
        if self._backups.n_named:
            _keep_named_backup(target)
            for backup in _list_named_backups(target)[self._backups.n_named :]:
                _remove_backup(backup)


_FINGERPRINT = re.compile(rf"[0-9a-f]{{{2 * FINGERPRINT_BYTES}}}")


def _keep_named_backup(target: Path) -> None:
    """Keep the model at ``target``, if it exists, with its fingerprint at the end of its name."""
    digest = read_digest(str(target))
    if digest != NO_MODEL_DIGEST:
        keep_backup(target, f".{format_fingerprint(digest)}")


def _list_named_backups(target: Path) -> list[Path]:
    """Return the named backups of a model, the newest first.

    A backup is as old as its content: it is a link to the replaced file. Files that are not models
    are not backups.
    """
    backups = []
    for path in target.parent.iterdir():
        name, _, fingerprint = path.name.rpartition(".")
        has_name = name == target.name and _FINGERPRINT.fullmatch(fingerprint)
        if has_name and read_digest(str(path)) != NO_MODEL_DIGEST:
            backups.append(path)
    return sorted(backups, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)


def _remove_backup(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as problem:
        raise PathError(
            f"cannot remove an old backup: {describe_os_error(problem)}",
            where=str(path),
            hint="the model is as it was",
        ) from None


def _read_ledger(path: str) -> Ledger | None:
    """Return the ledger of a model file, or None if it has none."""
    content = read_ledger_bytes(path)
    if not content:
        return None
    try:
        return Ledger.from_bytes(content)
    except ModelError as problem:
        problem.where = path
        raise


def load_with_ledger(path: str) -> tuple[TextClassifier, Ledger | None]:
    """Return a model and its ledger; the ledger is None if it is missing or damaged.

    Model and ledger belong to the same version of the file, even while another process replaces it.
    Raise `ModelError` if the model is missing or damaged.
    """
    while True:  # until the file was not replaced during the loading
        digest = read_digest(path)
        model = TextClassifier.load(path)
        try:
            ledger = _read_ledger(path)
        except ModelError:
            ledger = None
        if read_digest(path) == digest:
            return model, ledger


def import_dependencies(*, quick: bool = False) -> None:
    """Import the modules that change a model, before a lock is taken.

    So other processes wait less for the lock, and an import that fails leaves the file unchanged.
    Modules that only certain settings need, such as a stemmer, are not imported. With ``quick``,
    neither are modules that choose parameters.
    """
    import_module("numpy.ma")  # numpy's set functions import it
    for name in ("model.training", "model.description", "version"):
        import_module(f"nbtext.{name}")
    if quick:
        return
    for name in ("language_model.smoothing", "metrics.outcomes", "model.python_input"):
        import_module(f"nbtext.{name}")
    for name in CLASSIFIERS:
        load_classifier_class(name)


@contextmanager
def lock_model(
    path: str,
    *,
    lock_timeout: float,
    backups: Backups = NO_BACKUPS,
    is_trained_here: bool = False,
    quick: bool = False,
) -> Iterator[LockedModelFile]:
    """Hold the lock of a model file.

    Set ``is_trained_here`` if this process has trained the model, so that the modules that change a
    model are already imported, and ``quick`` if no parameter will be chosen. Raise `LockedError` if
    another process holds the lock for ``lock_timeout`` seconds.
    """
    if not is_trained_here:
        import_dependencies(quick=quick)
    with lock_path(path, lock_timeout):
        yield LockedModelFile(path, backups=backups)


class UpdateResult(NamedTuple):
    """A model after documents were added."""

    model: TextClassifier
    """The model that the file contains now."""
    n_documents_before: float
    """Number of documents of the old model."""
    had_ledger: bool
    """Whether the old model had a ledger."""
    ledger_update: LedgerUpdate | None
    """Numbers of new, moved and known documents; None if no `DocumentBatch` was added."""


class UnlabelledAction(NamedTuple):
    """What an operation does with the unlabelled documents of a model."""

    pool: UnlabelledDocuments | None
    """Unlabelled documents to train the changed model on; None to train it without any."""
    is_dropped: bool
    """Whether earlier unlabelled documents are removed, without which no model can be changed."""

    def drop_from(self, model: TextClassifier) -> None:
        """Remove earlier unlabelled documents from a model, in place, if `is_dropped` is set."""
        has_unlabelled = model.fitted.parameters.unlabelled_summary is not None
        if self.is_dropped and has_unlabelled:
            model.learn()  # from the labelled documents only


def update(
    path: str,
    counting_model: TextClassifier,
    documents: CountedCorpus | DocumentBatch | None,
    unlabelled: UnlabelledAction,
    *,
    quick: bool = False,
    lock_timeout: float,
    backups: Backups = NO_BACKUPS,
) -> UpdateResult:
    """Add documents, which ``counting_model`` counted, to the model in a file.

    ``documents`` is None if only the unlabelled documents or the chosen parameters change. The
    documents of a `CountedCorpus` are all added, and the documents of a `DocumentBatch` as by
    `add_batch`. ``quick`` keeps the chosen parameters; see `TextClassifier.recount`.

    Raise `ModelError` if another process replaced the model by one that counts differently,
    `UsageError` if the model cannot be changed, `NotInModelError` for a document to be moved that
    the model does not contain, and `LockedError`.
    """
    from nbtext.model.operations import DocumentBatch, add_batch

    with lock_model(path, lock_timeout=lock_timeout, backups=backups, quick=quick) as file:
        model = _load_to_change(file, counting_model, unlabelled)
        n_documents_before = model.counts.labelled_statistics.n_documents
        old_ledger = file.read_ledger()
        ledger_update = None
        counts = model.counts.with_sample_room() if quick else model.counts
        if isinstance(documents, DocumentBatch):
            ledger = Ledger.empty() if old_ledger is None else old_ledger
            try:
                ledger_update = add_batch(counts, ledger, documents)
            except NotInModelError as problem:
                problem.set_document_name(documents.names[problem.index])
                problem.hint = (
                    "the ledger says otherwise; begin a new one with nbtext train --deduplicate"
                )
                raise
            n_changed = ledger_update.n_new + ledger_update.n_moved
            chooses_again = not quick and model.fitted.parameters.unseen is not None
            if n_changed or chooses_again:
                _learn(model, ledger_update.counts, n_changed, unlabelled, quick=quick)
                file.replace(model, ledger_update.ledger)
        else:
            n_added = 0.0
            if documents is not None:
                counts = counts + documents.counts
                n_added = documents.counts.labelled_statistics.n_documents
            _learn(model, counts, n_added, unlabelled, quick=quick)
            file.replace(model, old_ledger)
        return UpdateResult(model, n_documents_before, old_ledger is not None, ledger_update)


def _learn(
    model: TextClassifier,
    counts: CorpusCounts,
    n_changed: float,
    unlabelled: UnlabelledAction,
    *,
    quick: bool,
) -> None:
    """Train the model on counts that differ by ``n_changed`` documents, in place."""
    if quick:
        model.recount(counts, n_changed)
    else:
        model.learn(counts, unlabelled.pool)


class ForgetResult(NamedTuple):
    """A model after documents were removed."""

    model: TextClassifier
    """The model that the file contains now."""
    n_removed: int
    n_unknown: int
    """Number of documents that stay because they are not in the ledger.

    It is 0 without ``skip_unknown``.
    """


def forget(
    path: str,
    counting_model: TextClassifier,
    batch: DocumentBatch,
    unlabelled: UnlabelledAction,
    *,
    skip_unknown: bool,
    quick: bool = False,
    lock_timeout: float,
    backups: Backups = NO_BACKUPS,
) -> ForgetResult:
    """Remove documents, which ``counting_model`` counted, from the model in a file and its ledger.

    With ``skip_unknown`` remove only documents that are in the ledger. ``quick`` keeps the chosen
    parameters, as `TextClassifier.recount`.

    Raise `ModelError` if another process replaced the model by one that counts differently,
    `UsageError` if the model cannot be changed or ``skip_unknown`` is set without a ledger,
    `NotInModelError` for a document that the model does not contain, and `LockedError`.
    """
    with lock_model(path, lock_timeout=lock_timeout, backups=backups, quick=quick) as file:
        model = _load_to_change(file, counting_model, unlabelled)
        try:
            removal = _remove_documents(file, model, batch, skip_unknown=skip_unknown)
        except NotInModelError as problem:
            raise problem.set_document_name(batch.names[problem.index]) from None
        if removal.n_removed:
            _learn(model, removal.counts, removal.n_removed, unlabelled, quick=quick)
            file.replace(model, removal.ledger)
        return ForgetResult(model, removal.n_removed, removal.n_unknown)


def _remove_documents(
    file: LockedModelFile, model: TextClassifier, batch: DocumentBatch, *, skip_unknown: bool
) -> LedgerRemoval:
    """Return the counts and the ledger of a model without the documents of a batch."""
    from nbtext.model.operations import LedgerRemoval, remove_batch, remove_from_ledger

    if skip_unknown:
        ledger = file.read_ledger()
        if ledger is None:
            raise UsageError(
                "the model has no ledger", where=file.path, hint="forget without --skip-unknown"
            )
        return remove_batch(model.counts, ledger, batch)

    # First the counts, so that a missing document is reported even if the ledger is damaged.
    counts = forget_documents(model.counts, batch.counts)
    ledger = file.read_ledger()
    if ledger is not None:
        ledger = remove_from_ledger(ledger, batch)
    return LedgerRemoval(counts, ledger, n_removed=batch.fingerprints.size, n_unknown=0)


def _load_to_change(
    file: LockedModelFile, counting_model: TextClassifier, unlabelled: UnlabelledAction
) -> TextClassifier:
    """Load the model to change, without its unlabelled documents if they are dropped.

    Raise `ModelError` if another process replaced the model by one that counts differently.
    """
    from nbtext.model.operations import find_counting_difference

    model = file.load_unless_same(counting_model)
    difference = find_counting_difference(counting_model, model)
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
    """A model to be merged."""

    path: str
    model: TextClassifier
    ledger: Ledger | None
    """None if the ledger is missing or damaged."""


class MergedModels(NamedTuple):
    """The sum of several models."""

    model: TextClassifier
    """The model of the documents of all models."""
    models: list[ModelToMerge]
    ledger: Ledger | None
    """The joined ledgers of all models; None if no model has one."""
    n_repeated: int
    """Number of documents that are in several ledgers."""


def merge(
    paths: Sequence[str], path: str, *, lock_timeout: float, backups: Backups = NO_BACKUPS
) -> MergedModels:
    """Write the sum of the models at ``paths``, with their joined ledgers, to ``path``.

    ``path`` may be one of ``paths``. Raise `UsageError` if the models count differently or cannot
    be changed exactly, and `LockedError`.
    """
    from nbtext.model.operations import join_ledgers, merge_models

    with lock_model(path, lock_timeout=lock_timeout, backups=backups) as file:
        models = [
            ModelToMerge(model_path, *load_with_ledger(model_path))
            for model_path in track_progress(paths, "model", len(paths))
        ]
        merged_model = merge_models([source.model for source in models], paths)
        ledgers = [source.ledger for source in models if source.ledger is not None]
        ledger, n_repeated = join_ledgers(ledgers)
        file.replace(merged_model, ledger)
    return MergedModels(merged_model, models, ledger, n_repeated)


def promote(
    new_path: str, path: str, *, lock_timeout: float, backups: Backups = NO_BACKUPS
) -> TextClassifier:
    """Replace the model at ``path``, if it exists, by the model at ``new_path`` with its ledger.

    Return the new model. Raise `ModelError` if the new model or its ledger is missing or damaged,
    `UsageError` if both paths are the same file or a ledger would be lost, `LockedError`, and
    `PathError`. Unless the message says otherwise, the files are unchanged after an error.
    """
    # Fail before the locks are taken, if possible.
    check_replaceable(path)
    _require_distinct_paths(new_path, path, backups)
    model = TextClassifier.load(new_path)
    content = read_model_bytes(new_path)
    check_replaceable(new_path)
    import_dependencies()
    with ExitStack() as locks:
        # All processes lock in the same order, so that no two wait for each other.
        for locked_path in sorted((new_path, path), key=os.path.realpath):
            locks.enter_context(lock_path(locked_path, lock_timeout))
        if read_digest(new_path) != extract_digest(content):
            raise ModelError("was replaced while it was read", where=new_path, hint="run it again")
        if _read_ledger(new_path) is None:
            _require_no_ledger(path, new_path)
        # If an earlier attempt wrote the content already, its backups must stay.
        if not _has_content(path, content):
            LockedModelFile(path, backups=backups).replace_content(content)
        _remove_promoted(new_path, path)
    return model


def _require_distinct_paths(new_path: str, path: str, backups: Backups) -> None:
    """Raise `UsageError` if the new model is the old model, its backup or its lock file."""
    source = os.path.realpath(new_path)
    target = os.path.realpath(path)
    if source == target:
        raise UsageError(
            "is the model itself", where=new_path, hint="name the file of another model"
        )
    if backups.previous and source == target + BACKUP_SUFFIX:
        raise UsageError(
            "is where --backup keeps the model that is replaced",
            where=new_path,
            hint="remove --backup",
        )
    if source == target + LOCK_SUFFIX:
        raise UsageError(
            f"has a name that belongs to {path}", where=new_path, hint="choose another one"
        )


def _require_no_ledger(path: str, new_path: str) -> None:
    """Raise `UsageError` if the model at ``path`` has a ledger, even a damaged one."""
    if read_digest(path) == NO_MODEL_DIGEST:
        return
    with suppress(ModelError):  # a damaged model is not worth keeping
        if has_ledger(path):
            raise UsageError(
                f"has no ledger, but {path} has one",
                where=new_path,
                hint=f"train it with nbtext train --deduplicate, or nbtext prune --ledger -m "
                f"{path}",
            )


def _has_content(path: str, content: bytes) -> bool:
    """Return whether a file has exactly these bytes."""
    with suppress(OSError):
        return Path(path).stat().st_size == len(content) and Path(path).read_bytes() == content
    return False


def _remove_promoted(new_path: str, path: str) -> None:
    """Remove the file of a promoted model, or the target of its symbolic link."""
    try:
        # It is missing if it was an old backup, and was removed as such.
        Path(os.path.realpath(new_path)).unlink(missing_ok=True)
    except OSError as problem:
        raise PathError(
            f"written, but {new_path} cannot be removed: {describe_os_error(problem)}", where=path
        ) from None
