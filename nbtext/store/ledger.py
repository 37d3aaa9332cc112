"""The ledger of a model: fingerprints and labels of the documents that the model has learnt once, the last section of a model file.

Its bytes::

    bytes of labels       u32
    labels                JSON, a list of text
    entries               16-byte fingerprints, ascending, then for each the number of its label as u32

Models of format 1 have it in a file beside them, ``MODEL.ledger``::

    magic                 8 bytes
    format                u32
    bytes of labels       u32
    entries               u64
    changes               u64
    models                two SHA-256, 32 bytes each: the digests of the model before the changes, and of the model after
    SHA-256               32 bytes, of all other bytes of the file
    labels, entries       as above
    changes               likewise; label 2³² − 1 marks a document that the model has forgotten

The first change of such a model moves it into the model file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import ModelError, PathError, reason
from nbtext.ragged import find_sorted
from nbtext.strict_json import parsed_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.type_names import Fingerprints, Names, Whole

LEDGER_SUFFIX = ".ledger"
FINGERPRINT_BYTES = 16
FINGERPRINT = np.dtype(f"S{FINGERPRINT_BYTES}")
LEDGER_FORMAT = 1
LEDGER_MAGIC = b"nbledger"

ABSENT = -1
"""In place of a label number: the ledger does not hold the document."""

_GONE = (1 << 32) - 1
_LENGTH = struct.Struct("<I")
_FIELDS = struct.Struct("<8sIIQQ32s32s32s")
_DIGEST = slice(_FIELDS.size - 32, _FIELDS.size)


@dataclass(frozen=True, eq=False)
class Ledger:
    """Fingerprints of documents, ascending and distinct, and the numbers of their labels, both of shape (n_docs,). Immutable."""

    fingerprints: Fingerprints
    numbers: Whole
    labels: tuple[str, ...]

    @classmethod
    def empty(cls) -> Ledger:
        """Return a ledger of no documents."""
        return cls(np.empty(0, FINGERPRINT), np.empty(0, np.int64), ())

    def __len__(self) -> int:
        return self.fingerprints.size

    def find(self, fingerprints: Fingerprints) -> Whole:
        """Return the number of each document's label, `ABSENT` for one not in the ledger, shape (n,)."""
        numbers: Whole = np.append(self.numbers, ABSENT)  # the last for those that are not found
        return numbers[find_sorted(self.fingerprints, fingerprints)]

    def changed(self, fingerprints: Fingerprints, labels: Sequence[str | None]) -> Ledger:
        """Return the ledger with distinct documents under new labels, and without those whose label is None."""
        names = tuple(sorted({*self.labels, *(label for label in labels if label is not None)}))
        number: dict[str | None, int] = {None: ABSENT, **{label: place for place, label in enumerate(names)}}
        return self.over(names).with_changes(fingerprints, np.array([number[label] for label in labels], np.int64))

    def joined(self, other: Ledger) -> Ledger:
        """Return the documents of both ledgers; one that is in both has its label in ``other``."""
        names = tuple(sorted({*self.labels, *other.labels}))
        return self.over(names).with_changes(other.fingerprints, other.over(names).numbers)

    def relabelled(self, rename: Callable[[str], str]) -> Ledger:
        """Return the ledger with new labels."""
        labels = list(map(rename, self.labels))
        return self.changed(self.fingerprints, [labels[number] for number in self.numbers.tolist()])

    def over(self, labels: Names) -> Ledger:
        """Return the same documents with their labels numbered as in ``labels``, which must include all labels in use."""
        number = {label: place for place, label in enumerate(labels)}
        numbers = np.array([number.get(label, ABSENT) for label in self.labels], np.int64)
        return Ledger(self.fingerprints, numbers[self.numbers], tuple(labels))

    def to_bytes(self) -> bytes:
        """Return the section of the model file, with the labels in use."""
        used = self.over(sorted({self.labels[number] for number in np.flatnonzero(np.bincount(self.numbers)).tolist()}))
        labels = json.dumps(used.labels).encode()
        return _LENGTH.pack(len(labels)) + labels + used.fingerprints.tobytes() + used.numbers.astype("<u4").tobytes()

    @classmethod
    def of_bytes(cls, content: bytes) -> Ledger:
        """Return the ledger of a section; raise `ModelError` if it is damaged."""
        end = _LENGTH.size + _LENGTH.unpack_from(content.ljust(_LENGTH.size))[0]
        entries, rest = divmod(len(content) - end, FINGERPRINT_BYTES + 4)
        if entries < 0 or rest:
            raise _damaged("its length does not match its labels")
        labels = _labels(content[_LENGTH.size : end])
        fingerprints, numbers = _entries(content, entries, end)
        _require_labels(numbers, labels)
        return cls(fingerprints, numbers, labels)

    def with_changes(self, changed: Fingerprints, changes: Whole) -> Ledger:
        """Return the ledger with the new numbers of some documents, `ABSENT` for those to be left out."""
        stays, present = ~np.isin(self.fingerprints, changed), changes != ABSENT
        merged = np.concatenate((self.fingerprints[stays], changed[present]))
        order = np.argsort(merged)
        return Ledger(merged[order], np.concatenate((self.numbers[stays], changes[present]))[order], self.labels)


def fingerprint(text: bytes) -> bytes:
    """Return the first half of the SHA-256 of a document."""
    return hashlib.sha256(text).digest()[:FINGERPRINT_BYTES]


def ledger_path(model_path: str) -> str:
    """Return the path of a model's ledger, beside the target of a symbolic link."""
    return os.path.realpath(model_path) + LEDGER_SUFFIX


def read_ledger(path: str, model: bytes) -> Ledger | None:
    """Return the ledger of the model with a digest; None if there is none.

    Raises `ModelError` if it belongs to other models, is damaged or of a newer format, `PathError` if it cannot be read.
    """
    try:
        # other users may be able to write to the folder
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise PathError("not a ledger: it is not a regular file", where=path, hint="remove it")
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


def _parsed(content: bytes, model: bytes) -> Ledger:
    if content[: len(LEDGER_MAGIC)] != LEDGER_MAGIC or len(content) < _FIELDS.size:
        raise _damaged("it does not begin like one")
    _, version, label_bytes, entries, changes, before, after, digest = _FIELDS.unpack_from(content)
    if version > LEDGER_FORMAT:
        raise ModelError(f"made by a newer nbtext (format {version}, this one reads {LEDGER_FORMAT})", hint="upgrade nbtext")
    if len(content) != _FIELDS.size + label_bytes + (entries + changes) * (FINGERPRINT_BYTES + 4):
        raise _damaged("its length does not match its header")
    if hashlib.sha256(content[: _DIGEST.start] + content[_DIGEST.stop :]).digest() != digest:
        raise _damaged("its checksum is wrong")
    end = _FIELDS.size + label_bytes
    labels = _labels(content[_FIELDS.size : end])
    first = Ledger(*_entries(content, entries, end), labels)
    documents, numbers = _entries(content, changes, end + entries * (FINGERPRINT_BYTES + 4))
    changed = np.where(numbers == _GONE, ABSENT, numbers)
    _require_labels(np.append(first.numbers, changed), labels)
    if not version:
        raise _damaged("it has no format")
    if model == after:
        return first.with_changes(documents, changed)
    if model == before:
        return first
    raise ModelError("the ledger belongs to another model", hint="begin a new one with nbtext train --once, or remove it")


def _entries(content: bytes, size: int, begin: int) -> tuple[Fingerprints, Whole]:
    """Return sorted fingerprints and the numbers of their labels."""
    fingerprints = np.frombuffer(content, FINGERPRINT, size, begin)
    if not np.all(fingerprints[1:] > fingerprints[:-1]):
        raise _damaged("its fingerprints are not sorted")
    return fingerprints, np.frombuffer(content, "<u4", size, begin + size * FINGERPRINT_BYTES).astype(np.int64)


def _require_labels(numbers: Whole, labels: tuple[str, ...]) -> None:
    if numbers.max(initial=-1) >= len(labels):
        raise _damaged("an entry has no label")


def _labels(text: bytes) -> tuple[str, ...]:
    try:
        labels = parsed_json(text)
    except ValueError:
        labels = None
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels) or labels != sorted(set(labels)):
        raise _damaged("its labels are not a list of text")
    return tuple(labels)


def _damaged(finding: str) -> ModelError:
    return ModelError(
        f"the ledger is damaged: {finding}", hint="take it out to begin a new one, which does not know documents learnt before"
    )
