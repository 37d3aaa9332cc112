"""The ledger beside a model file: fingerprints and labels of the documents that the model has learnt.

Its bytes::

    magic                 8 bytes
    format                u32
    bytes of labels       u32
    entries               u64
    changes               u64
    models                two SHA-256, 32 bytes each: the digests of the model before the changes, and of the model after
    SHA-256               32 bytes, of all other bytes of the file
    labels                JSON, a list of text
    entries               16-byte fingerprints, ascending, then for each the number of its label as u32
    changes               likewise; label 2³² − 1 marks a document that the model has forgotten

Two files cannot be replaced in one step. The ledger is written first, when the new model is already on the disk under a temporary name, and
holds both the old entries and the changes. The digest in the model file decides whether the changes apply: if the process is killed between the
two writes, the old model is still there, and they do not.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import ModelError, PathError, reason
from nbtext.store.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nbtext.type_names import Whole

LEDGER_SUFFIX = ".ledger"
FINGERPRINT_BYTES = 16
FINGERPRINT = np.dtype(f"S{FINGERPRINT_BYTES}")
NO_MODEL = bytes(32)
LEDGER_FORMAT = 1
LEDGER_MAGIC = b"nbledger"

ABSENT = -1
"""In place of a label number: the ledger does not hold the document."""

_GONE = (1 << 32) - 1
_FIELDS = struct.Struct("<8sIIQQ32s32s32s")
_DIGEST = slice(_FIELDS.size - 32, _FIELDS.size)


class StaleLedgerError(ModelError):
    """The ledger belongs to another model than the one beside it."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Fingerprints of documents, ascending and distinct, and the numbers of their labels, both of shape (n_docs,). Immutable."""

    fingerprints: NDArray[np.bytes_]
    numbers: Whole
    labels: tuple[str, ...]

    @classmethod
    def empty(cls) -> Ledger:
        """Return a ledger of no documents."""
        return cls(np.empty(0, FINGERPRINT), np.empty(0, np.int64), ())

    def __len__(self) -> int:
        return self.fingerprints.size

    def find(self, fingerprints: NDArray[np.bytes_]) -> Whole:
        """Return the number of each document's label, `ABSENT` for one not in the ledger, shape (n,)."""
        if not len(self):
            return np.full(fingerprints.size, ABSENT, np.int64)
        place = np.minimum(np.searchsorted(self.fingerprints, fingerprints), len(self) - 1)
        return np.where(self.fingerprints[place] == fingerprints, self.numbers[place], ABSENT)

    def changed(self, fingerprints: NDArray[np.bytes_], labels: Sequence[str | None]) -> Ledger:
        """Return the ledger with distinct documents under new labels, and without those whose label is None."""
        names = tuple(sorted({*self.labels, *(label for label in labels if label is not None)}))
        number: dict[str | None, int] = {label: place for place, label in enumerate(names)}
        number[None] = ABSENT
        mine = np.array([number[label] for label in self.labels], np.int64)[self.numbers]
        return _merged(self.fingerprints, mine, fingerprints, np.array([number[label] for label in labels], np.int64), names)

    def joined(self, other: Ledger) -> Ledger:
        """Return the documents of both ledgers; one that is in both has its label in ``other``."""
        names = tuple(sorted({*self.labels, *other.labels}))
        mine, others = self.over(names), other.over(names)
        return _merged(mine.fingerprints, mine.numbers, others.fingerprints, others.numbers, names)

    def relabelled(self, old: str, new: str) -> Ledger:
        """Return the ledger with one label replaced by another."""
        if old not in self.labels:
            return self
        chosen = self.fingerprints[self.numbers == self.labels.index(old)]
        return self.changed(chosen, [new] * chosen.size)

    def over(self, labels: Sequence[str]) -> Ledger:
        """Return the same documents with their labels numbered as in ``labels``, which must include all labels in use."""
        number = {label: place for place, label in enumerate(labels)}
        numbers = np.array([number.get(label, ABSENT) for label in self.labels], np.int64)
        return Ledger(self.fingerprints, numbers[self.numbers], tuple(labels))

    def used(self) -> set[str]:
        """Return the labels in use."""
        return {self.labels[number] for number in np.unique(self.numbers).tolist()}


def _merged(
    fingerprints: NDArray[np.bytes_], numbers: Whole, changed: NDArray[np.bytes_], changes: Whole, labels: tuple[str, ...]
) -> Ledger:
    """Return the entries with the changes applied."""
    stays, present = ~np.isin(fingerprints, changed), changes != ABSENT
    merged = np.concatenate((fingerprints[stays], changed[present]))
    order = np.argsort(merged)
    return Ledger(merged[order], np.concatenate((numbers[stays], changes[present]))[order], labels)


def fingerprint(text: bytes) -> bytes:
    """Return the first half of the SHA-256 of a document."""
    return hashlib.sha256(text).digest()[:FINGERPRINT_BYTES]


def ledger_path(model_path: str) -> str:
    """Return the path of a model's ledger, beside the target of a symbolic link."""
    return os.path.realpath(model_path) + LEDGER_SUFFIX


def write_ledger(model_path: str, before: tuple[bytes, Ledger], after: tuple[bytes, Ledger]) -> None:
    """Write the ledger atomically: digest and ledger of the model that is at ``model_path``, and of the one that will replace it.

    It gets the permissions and the owner of the model. Raises `PathError`.
    """
    (old_model, old), (new_model, new) = before, after
    labels = sorted(old.used() | new.used())
    old, new = old.over(labels), new.over(labels)
    either = np.union1d(old.fingerprints, new.fingerprints)
    differs = old.find(either) != new.find(either)
    fingerprints, numbers = either[differs], new.find(either)[differs]
    text = json.dumps(labels).encode()
    body = b"".join((
        text,
        old.fingerprints.tobytes(),
        old.numbers.astype("<u4").tobytes(),
        fingerprints.tobytes(),
        np.where(numbers == ABSENT, _GONE, numbers).astype("<u4").tobytes(),
    ))  # fmt: skip
    fields = (LEDGER_MAGIC, LEDGER_FORMAT, len(text), len(old), fingerprints.size, old_model, new_model)
    head = _FIELDS.pack(*fields, b"")[: _DIGEST.start]
    content = head, hashlib.sha256(head + body).digest(), body
    replace_file(ledger_path(model_path), lambda file: file.writelines(content), beside=Path(os.path.realpath(model_path)))


def read_ledger(path: str, model: bytes) -> Ledger | None:
    """Return the ledger of the model with a digest; None if there is none.

    Raises `StaleLedgerError` if it belongs to other models, `ModelError` if it is damaged or of a newer format, `PathError` if it cannot be read.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise PathError("not a ledger: it is no regular file", where=path, hint="remove it")
            content = file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        if problem.errno == errno.ELOOP:
            raise PathError("is a symbolic link, which is not followed", where=path, hint="put the ledger itself there") from None
        raise PathError(f"cannot read: {reason(problem)}", where=path) from None
    try:
        return _parsed(content, model)
    except ModelError as problem:
        problem.where = path
        raise


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)  # other users may be able to write to the folder


def _parsed(content: bytes, model: bytes) -> Ledger:
    if content[: len(LEDGER_MAGIC)] != LEDGER_MAGIC or len(content) < _FIELDS.size:
        raise _damaged("it does not begin like one")
    _, version, label_bytes, entries, changes, before, after, digest = _FIELDS.unpack_from(content)
    if version > LEDGER_FORMAT:
        raise ModelError(f"made by a newer nbtext (format {version}, this one reads {LEDGER_FORMAT})", hint="upgrade nbtext")
    if len(content) != _FIELDS.size + label_bytes + (entries + changes) * (FINGERPRINT_BYTES + 4):
        raise _damaged("it has not the length that its header says")
    if hashlib.sha256(content[: _DIGEST.start] + content[_DIGEST.stop :]).digest() != digest:
        raise _damaged("its checksum is wrong")
    end = _FIELDS.size + label_bytes
    labels = _labels(content[_FIELDS.size : end])
    parts = []
    for size in (entries, changes):
        fingerprints = np.frombuffer(content, FINGERPRINT, size, end)
        numbers = np.frombuffer(content, "<u4", size, end + size * FINGERPRINT_BYTES).astype(np.int64)
        end += size * (FINGERPRINT_BYTES + 4)
        if not np.all(fingerprints[1:] > fingerprints[:-1]):
            raise _damaged("its fingerprints are not sorted")
        parts.append((fingerprints, np.where(numbers == _GONE, ABSENT, numbers)))
    if not all(numbers.max(initial=ABSENT) < len(labels) for _, numbers in parts) or parts[0][1].min(initial=0) == ABSENT or not version:
        raise _damaged("an entry has no label")
    if model == after:
        return _merged(*parts[0], *parts[1], labels)
    if model == before:
        return Ledger(*parts[0], labels)
    raise StaleLedgerError("the ledger belongs to another model", hint="begin a new one with nbtext train --once, or remove it")


def _labels(text: bytes) -> tuple[str, ...]:
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError):
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or labels != sorted(set(labels)):
        raise _damaged("its labels are no list of text")
    return tuple(labels)


def _damaged(finding: str) -> ModelError:
    return ModelError(f"the ledger is damaged: {finding}", hint="remove it to begin a new one, which does not know documents learnt before")
