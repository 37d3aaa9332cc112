"""The ledger of a model: fingerprints and labels of documents that were not added twice.

The ledger is the last section of a model file, with these bytes::

    length of labels      u32, in bytes
    labels                JSON, a sorted list of text
    fingerprints          16 bytes for each document, ascending
    label indices         u32 for each document, in the order of the fingerprints
"""

from __future__ import annotations

import hashlib
import json
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

LABEL_INDEX_BYTES = 4
LENGTH_BYTES = 4

ABSENT_LABEL = -1
"""Label index of a document that is not in the ledger."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Fingerprints of documents and their labels. Immutable."""

    fingerprints: Fingerprints
    """Ascending and distinct, shape (n_docs,)."""
    label_indices: Ints
    """Index in ``labels`` of each document's label, shape (n_docs,)."""
    labels: tuple[str, ...]

    @classmethod
    def empty(cls) -> Ledger:
        """Return a ledger of no documents."""
        return cls(np.empty(0, FINGERPRINT_DTYPE), np.empty(0, np.int64), ())

    def __len__(self) -> int:
        return self.fingerprints.size

    def find(self, fingerprints: Fingerprints) -> Ints:
        """Return the label index of each document, shape (n_docs,).

        The index is `ABSENT_LABEL` for documents that are not in the ledger.
        """
        rows = find_sorted(self.fingerprints, fingerprints)
        label_indices = np.full(rows.size, ABSENT_LABEL, np.int64)
        is_present = rows >= 0
        label_indices[is_present] = self.label_indices[rows[is_present]]
        return label_indices

    def with_labels(self, fingerprints: Fingerprints, labels: Sequence[str | None]) -> Ledger:
        """Return the ledger with new labels for distinct documents.

        Documents that are not in the ledger are added. Documents with the label None are removed.
        """
        new_labels = {label for label in labels if label is not None}
        names = tuple(sorted(new_labels.union(self.labels)))
        index_of_label: dict[str | None, int] = {label: index for index, label in enumerate(names)}
        index_of_label[None] = ABSENT_LABEL
        new_indices = np.array([index_of_label[label] for label in labels], np.int64)

        old_indices = self.with_label_order(names).label_indices
        is_unchanged = ~np.isin(self.fingerprints, fingerprints)
        is_present = new_indices != ABSENT_LABEL
        merged = np.concatenate((self.fingerprints[is_unchanged], fingerprints[is_present]))
        merged_indices = np.concatenate((old_indices[is_unchanged], new_indices[is_present]))
        order = np.argsort(merged)
        return Ledger(merged[order], merged_indices[order], names)

    def _list_labels(self, names: Names) -> list[str]:
        """Return the label of each document. ``names`` are `labels`, or new names for them."""
        return [names[index] for index in self.label_indices.tolist()]

    def join(self, later: Ledger) -> Ledger:
        """Return the documents of two ledgers. Documents in both have their label in ``later``."""
        return self.with_labels(later.fingerprints, later._list_labels(later.labels))

    def relabel(self, rename: Callable[[str], str]) -> Ledger:
        """Return the ledger with each label replaced by the result of ``rename``."""
        names = list(map(rename, self.labels))
        return self.with_labels(self.fingerprints, self._list_labels(names))

    def with_label_order(self, labels: Names) -> Ledger:
        """Return the same documents, with ``labels`` as the list that label indices refer to.

        ``labels`` must contain the labels of all documents, but not all `labels` of this ledger.
        """
        index_of_label = {label: index for index, label in enumerate(labels)}
        new_indices = np.array(
            [index_of_label.get(label, ABSENT_LABEL) for label in self.labels], np.int64
        )
        return Ledger(self.fingerprints, new_indices[self.label_indices], tuple(labels))

    def to_bytes(self) -> bytes:
        """Return the section of the model file. It has no labels without documents."""
        used_indices = np.flatnonzero(np.bincount(self.label_indices)).tolist()
        used_labels = sorted({self.labels[index] for index in used_indices})
        ledger = self.with_label_order(used_labels)
        labels = json.dumps(ledger.labels).encode()
        return (
            len(labels).to_bytes(LENGTH_BYTES, "little")
            + labels
            + ledger.fingerprints.tobytes()
            + ledger.label_indices.astype("<u4").tobytes()
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> Ledger:
        """Return the ledger of a section. Raise `ModelError` if the section is damaged."""
        n_label_bytes = int.from_bytes(content[:LENGTH_BYTES], "little")
        labels_end = LENGTH_BYTES + n_label_bytes
        document_bytes = FINGERPRINT_BYTES + LABEL_INDEX_BYTES
        # If the section ends before ``labels_end``, the number of documents is negative.
        n_documents, excess_bytes = divmod(len(content) - labels_end, document_bytes)
        if n_documents < 0 or excess_bytes:
            raise damaged_ledger_error("its length does not match its labels")

        labels = _parse_labels(content[LENGTH_BYTES:labels_end])
        fingerprints = np.frombuffer(content, FINGERPRINT_DTYPE, n_documents, labels_end)
        if not np.all(fingerprints[1:] > fingerprints[:-1]):
            raise damaged_ledger_error("its fingerprints are not sorted")

        fingerprints_end = labels_end + n_documents * FINGERPRINT_BYTES
        label_indices = np.frombuffer(content, "<u4", n_documents, fingerprints_end)
        if np.any(label_indices >= len(labels)):
            raise damaged_ledger_error("an entry has no label")
        return cls(fingerprints, label_indices.astype(np.int64), labels)


def compute_fingerprint(text: bytes) -> bytes:
    """Return the fingerprint of a document, the first half of its SHA-256."""
    return hashlib.sha256(text).digest()[:FINGERPRINT_BYTES]


def _parse_labels(text: bytes) -> tuple[str, ...]:
    """Return the labels. Raise `ModelError` unless they are text, sorted and distinct."""
    try:
        labels = parse_json(text)
    except ValueError:
        labels = None
    is_text_list = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    if not is_text_list or labels != sorted(set(labels)):
        raise damaged_ledger_error("its labels are not a list of text")
    return tuple(labels)


def damaged_ledger_error(finding: str) -> ModelError:
    """Return the error for a damaged ledger. Its model can still be used without the ledger."""
    return ModelError(f"the ledger is damaged: {finding}", hint="nbtext prune --ledger removes it")
