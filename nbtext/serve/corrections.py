"""The file of corrected labels: one line of JSON each, on the disk before it is confirmed.

Processes lock the file only while they append, so that it can be moved away at any time. A process
that is killed can leave half of a line, which was not confirmed. The next process removes it.
"""

from __future__ import annotations

import fcntl
import os
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from nbtext.document_fields import FIELDS_KEY, Attributes
from nbtext.errors import PathError, UsageError, describe_os_error, unknown_class_error
from nbtext.prediction.labels import make_label_set, to_json_label
from nbtext.report.output_formats import format_json_line
from nbtext.store.atomic import record_change, sync_folder

if TYPE_CHECKING:
    from nbtext.corpus.document import Document
    from nbtext.prediction.labels import Label
    from nbtext.serve.served_model import ServedModel

_LINE_START = b'{"id": "'
"""First bytes of each line."""

_MAX_REPAIR_BYTES = 1 << 20
"""Step in which the end of the last whole line is searched."""


class CorrectionFile:
    """A file of corrected labels, to which threads and processes append."""

    def __init__(self, path: str) -> None:
        """Check that the file can be written, and remove half of a line at its end.

        Raise `PathError` if this fails, or if the file has other content.
        """
        self.path = path
        self._lock = Lock()
        self.append(b"")
        with open(path, "rb") as file:
            if not _LINE_START.startswith(file.read(len(_LINE_START))):
                raise self._foreign_file_error()

    def append(self, line: bytes) -> None:
        """Append a line, and wait until it is on the disk. Raise `PathError` if that fails."""
        with self._lock:
            try:
                is_new = not os.path.lexists(self.path)
                flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
                descriptor = os.open(self.path, flags, 0o600)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX)
                    self._append_locked(descriptor, line)
                finally:
                    os.close(descriptor)
                if is_new:
                    sync_folder(Path(self.path).absolute().parent)
            except OSError as problem:
                raise PathError(
                    f"cannot write: {describe_os_error(problem)}", where=self.path
                ) from None

    def _append_locked(self, descriptor: int, line: bytes) -> None:
        """Append a line to the locked file. After an error, the file is as before."""
        end = _find_last_line_end(descriptor)
        if end < os.fstat(descriptor).st_size:
            start = os.pread(descriptor, len(_LINE_START), end)
            if not _LINE_START.startswith(start):
                raise self._foreign_file_error()
            os.ftruncate(descriptor, end)
        record_change()
        unwritten = line
        try:
            while unwritten:
                unwritten = unwritten[os.write(descriptor, unwritten) :]
            os.fsync(descriptor)
        except OSError:
            os.ftruncate(descriptor, end)
            raise

    def _foreign_file_error(self) -> PathError:
        return PathError(
            "is not a file of corrections", where=self.path, hint="choose another file"
        )


def _find_last_line_end(descriptor: int) -> int:
    """Return the number of bytes up to the end of the last whole line."""
    end = os.fstat(descriptor).st_size
    while end > 0:
        start = max(end - _MAX_REPAIR_BYTES, 0)
        position = os.pread(descriptor, end - start, start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0


def read_label(served: ServedModel, label: object) -> Label:
    """Return a label, or the set of a list of labels. Raise `UsageError` for an unknown class."""
    names = list(map(str, label if isinstance(label, list) else [label]))
    is_exclusive = served.fitted.posterior_type.is_exclusive
    if is_exclusive and len(names) != 1:
        raise UsageError("a document has exactly one label")
    for name in names:
        if name not in served.model.classes:
            raise unknown_class_error(name, served.model.classes)
    return names[0] if is_exclusive else make_label_set(names)


def format_correction(
    served: ServedModel, document: Document, label: Label, name: str | None
) -> bytes:
    """Return the line of a correction, which `nbtext update` and `train --relabel` read.

    Without a name, the id is a checksum of the document. The line has the text as the model reads
    it, with its fields and values.
    """
    from datetime import UTC, datetime

    [answer] = served.predict([document], 0)
    is_exclusive = served.fitted.posterior_type.is_exclusive
    predicted = (answer.label or "") if is_exclusive else list(answer.labels)
    names = Attributes.from_settings(served.model.reading).names
    record: dict[str, object] = {
        "id": name or sha256(document.content_bytes).hexdigest()[:16],
        "text": document.text.decode(),
        "label": to_json_label(label),
        "predicted": predicted,
        "model": served.fitted.fingerprint,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        **dict(zip(names, document.values, strict=True)),
    }
    if document.fields or served.model.reading.document != "text":
        # The key means that the text is decoded already.
        record[FIELDS_KEY] = [
            (field.decode(), content.decode()) for field, content in document.fields
        ]
    return format_json_line(record).encode()
