"""The ledger of a model: fingerprints and labels of the documents that the model has learnt once, the last section of a model file.

Its bytes::

    bytes of labels       u32
    labels                JSON, a list of text
    entries               16-byte fingerprints, ascending, then for each the number of its label as u32
"""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import ModelError
from nbtext.ragged import find_sorted
from nbtext.strict_json import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.type_names import Fingerprints, Ints, Names

FINGERPRINT_BYTES = 16
FINGERPRINT_DTYPE = np.dtype(f"S{FINGERPRINT_BYTES}")

ABSENT_LABEL = -1
"""In place of a label number: the ledger does not hold the document."""

_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, eq=False)
class Ledger:
    """Fingerprints of documents, ascending and distinct, and the numbers of their labels, both of shape (n_docs,). Immutable."""

    fingerprints: Fingerprints
    label_indices: Ints
    labels: tuple[str, ...]

    @classmethod
    def empty(cls) -> Ledger:
        """Return a ledger of no documents."""
        return cls(np.empty(0, FINGERPRINT_DTYPE), np.empty(0, np.int64), ())

    def __len__(self) -> int:
        return self.fingerprints.size

    def find(self, fingerprints: Fingerprints) -> Ints:
        """Return the number of each document's label, `ABSENT_LABEL` for one not in the ledger, shape (n,)."""
        numbers: Ints = np.append(
            self.label_indices, ABSENT_LABEL
        )  # the last for those that are not found
        return numbers[find_sorted(self.fingerprints, fingerprints)]

    def with_labels(self, fingerprints: Fingerprints, labels: Sequence[str | None]) -> Ledger:
        """Return the ledger with distinct documents under new labels, and without those whose label is None."""
        names = tuple(sorted({*self.labels, *(label for label in labels if label is not None)}))
        number: dict[str | None, int] = {
            None: ABSENT_LABEL,
            **{label: place for place, label in enumerate(names)},
        }
        return self.with_label_order(names).with_label_indices(
            fingerprints, np.array([number[label] for label in labels], np.int64)
        )

    def join(self, other: Ledger) -> Ledger:
        """Return the documents of both ledgers; one that is in both has its label in ``other``."""
        names = tuple(sorted({*self.labels, *other.labels}))
        return self.with_label_order(names).with_label_indices(
            other.fingerprints, other.with_label_order(names).label_indices
        )

    def relabel(self, rename: Callable[[str], str]) -> Ledger:
        """Return the ledger with new labels."""
        labels = list(map(rename, self.labels))
        return self.with_labels(
            self.fingerprints, [labels[number] for number in self.label_indices.tolist()]
        )

    def with_label_order(self, labels: Names) -> Ledger:
        """Return the same documents with their labels numbered as in ``labels``, which must include all labels in use."""
        number = {label: place for place, label in enumerate(labels)}
        numbers = np.array([number.get(label, ABSENT_LABEL) for label in self.labels], np.int64)
        return Ledger(self.fingerprints, numbers[self.label_indices], tuple(labels))

    def to_bytes(self) -> bytes:
        """Return the section of the model file, with the labels in use."""
        used = self.with_label_order(
            sorted(
                {
                    self.labels[number]
                    for number in np.flatnonzero(np.bincount(self.label_indices)).tolist()
                }
            )
        )
        labels = json.dumps(used.labels).encode()
        return (
            _LENGTH.pack(len(labels))
            + labels
            + used.fingerprints.tobytes()
            + used.label_indices.astype("<u4").tobytes()
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Ledger:
        """Return the ledger of a section; raise `ModelError` if it is damaged."""
        end = _LENGTH.size + _LENGTH.unpack_from(content.ljust(_LENGTH.size))[0]
        entries, rest = divmod(len(content) - end, FINGERPRINT_BYTES + 4)
        if entries < 0 or rest:
            raise damaged_ledger_error("its length does not match its labels")
        labels = _labels(content[_LENGTH.size : end])
        fingerprints = np.frombuffer(content, FINGERPRINT_DTYPE, entries, end)
        if not np.all(fingerprints[1:] > fingerprints[:-1]):
            raise damaged_ledger_error("its fingerprints are not sorted")
        numbers = np.frombuffer(content, "<u4", entries, end + entries * FINGERPRINT_BYTES).astype(
            np.int64
        )
        if numbers.max(initial=-1) >= len(labels):
            raise damaged_ledger_error("an entry has no label")
        return cls(fingerprints, numbers, labels)

    def with_label_indices(self, changed: Fingerprints, changes: Ints) -> Ledger:
        """Return the ledger with the new numbers of some documents, `ABSENT_LABEL` for those to be left out."""
        stays = ~np.isin(self.fingerprints, changed)
        present = changes != ABSENT_LABEL
        merged = np.concatenate((self.fingerprints[stays], changed[present]))
        order = np.argsort(merged)
        return Ledger(
            merged[order],
            np.concatenate((self.label_indices[stays], changes[present]))[order],
            self.labels,
        )


def compute_fingerprint(text: bytes) -> bytes:
    """Return the first half of the SHA-256 of a document."""
    return hashlib.sha256(text).digest()[:FINGERPRINT_BYTES]


def _labels(text: bytes) -> tuple[str, ...]:
    try:
        labels = parse_json(text)
    except ValueError:
        labels = None
    if (
        not isinstance(labels, list)
        or not all(isinstance(label, str) for label in labels)
        or labels != sorted(set(labels))
    ):
        raise damaged_ledger_error("its labels are not a list of text")
    return tuple(labels)


def damaged_ledger_error(finding: str) -> ModelError:
    """Return the error for a damaged ledger. The model without it is as good as before."""
    return ModelError(
        f"the ledger is damaged: {finding}", hint="nbtext prune --ledger takes it out"
    )
