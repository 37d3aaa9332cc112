"""The model that requests use: load it again when its file changes, and learn corrections."""

from __future__ import annotations

import os
import time
from copy import copy
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from nbtext.counts.counting import count_labelled_documents
from nbtext.errors import ModelError, NbtextError, format_quantity
from nbtext.fitted_model import require_additive
from nbtext.model import TextClassifier
from nbtext.model.locked_model import UnlabelledAction, update
from nbtext.model.parallel_corpus import CountedCorpus
from nbtext.store.model_file import format_fingerprint, read_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.corpus.document import Document
    from nbtext.serve.served_model import ServedModel

POLL_SECONDS = 0.25
SAVE_SECONDS = 30.0
"""Time between two writes of a model that learns."""

LOCK_SECONDS = 10.0
"""Time to wait for another process that writes the model; later there is another attempt."""


def learn(model: TextClassifier, documents: Sequence[Document]) -> TextClassifier:
    """Return a model with the counts of labelled documents, too. The given model does not change.

    As with ``update --quick``, the parameters that training chose stay. Raise `UsageError` for a
    model that cannot be changed so.
    """
    require_additive(model.settings, model.counts)
    added = count_labelled_documents(documents, model.analysis)
    n_added = added.labelled_statistics.n_documents
    return copy(model).recount(model.counts.with_sample_room() + added, n_added)


def require_learning(model: TextClassifier) -> None:
    """Raise `UsageError` for a model that `learn` cannot change."""
    require_additive(model.settings, model.counts)
    copy(model).recount(model.counts, 0)


class ModelInUse:
    """The model in a file, which other processes may replace.

    ``served`` may be read at any time. One thread of `run` replaces it; requests that have begun
    keep the model with which they began.
    """

    def __init__(
        self,
        path: str,
        build: Callable[[TextClassifier], ServedModel],
        log: Callable[[str], None],
    ) -> None:
        """Load the model. Raise `ModelError` if it is missing or damaged.

        ``build`` adds the options of predictions to a model.
        """
        self.path = path
        self._build = build
        self._log = log
        self._signature = self._read_signature()
        self.served = self._load()
        self._unsaved: list[Document] = []
        """Labelled documents that the file lacks."""
        self._n_learnt = 0
        """Number of unsaved documents that the model in memory has learnt."""
        self._lock = Lock()
        """Protects `_unsaved` and `_n_learnt`."""
        self._saved_at = time.monotonic()
        self._is_stopping = Event()
        self._thread = Thread(target=self._run, name="model", daemon=True)

    def add(self, document: Document) -> None:
        """Learn a labelled document soon."""
        with self._lock:
            self._unsaved.append(document)

    def start(self) -> None:
        """Begin to watch the file."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, and write the documents it has learnt.

        Raise `ModelError` if they cannot be written. They are in the file of corrections.
        """
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._attempt(self._save)
        if self._unsaved:
            raise ModelError(
                f"{format_quantity(len(self._unsaved), 'correction')} could not be added",
                where=self.path,
                hint="add the last lines of the --corrections file with nbtext update",
            )

    def _run(self) -> None:
        while not self._is_stopping.wait(POLL_SECONDS):
            self._attempt(self._load_if_changed)
            self._attempt(self._learn_new)
            if time.monotonic() - self._saved_at > SAVE_SECONDS:
                self._attempt(self._save)

    def _attempt(self, action: Callable[[], None]) -> None:
        """Call a function, and log its failure. The model in use then stays."""
        try:
            action()
        except NbtextError as problem:
            self._log(f"the model in use stays: {problem.line}")
        except Exception as problem:  # noqa: BLE001 - the thread must go on
            self._log(f"the model in use stays: {type(problem).__name__}: {problem}")

    def _read_signature(self) -> tuple[int, ...] | None:
        """Return numbers that change when the file is replaced, or None if it is missing."""
        try:
            status = os.stat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _load(self) -> ServedModel:
        """Return the model in the file, after a first prediction, which imports modules."""
        served = self._build(TextClassifier.load(self.path))
        served.mark_message(b"\n")
        return served

    def _load_if_changed(self) -> None:
        """Load the file again if another process has replaced it."""
        signature = self._read_signature()
        if signature == self._signature:
            return
        self._signature = signature  # a damaged file is tried once
        fingerprint = format_fingerprint(read_digest(self.path))
        if fingerprint == self.served.fitted.fingerprint:
            return
        self._use(self._load())
        self._log(f"now in use: model {fingerprint}")

    def _use(self, served: ServedModel) -> None:
        """Use the model of the file, which lacks the unsaved documents."""
        with self._lock:
            self._n_learnt = 0
            self.served = served

    def _learn_new(self) -> None:
        """Learn the documents that arrived since the last call."""
        with self._lock:
            new_documents = self._unsaved[self._n_learnt :]
            self._n_learnt = len(self._unsaved)
        if new_documents:
            self.served = self._build(learn(self.served.model, new_documents))

    def _save(self) -> None:
        """Add the unsaved documents to the model in the file, whoever wrote it."""
        self._saved_at = time.monotonic()
        with self._lock:
            documents = list(self._unsaved)
        if not documents:
            return
        model = TextClassifier.load(self.path)
        counts = count_labelled_documents(documents, model.analysis)
        update(
            self.path,
            model,
            CountedCorpus(counts, [], []),
            UnlabelledAction(None, is_dropped=False),
            quick=True,
            lock_timeout=LOCK_SECONDS,
        )
        with self._lock:
            del self._unsaved[: len(documents)]
        self._signature = self._read_signature()
        self._use(self._load())
        self._log(f"written: the model with {len(documents)} more corrections")
