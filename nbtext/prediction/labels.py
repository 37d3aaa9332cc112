"""Labels of documents, as texts and as indices.

A document has one label, or in a multi-label corpus a set of labels. There are three forms of sets:
texts of one document (`LabelSet`), columns of the statistics for each document (`LabelSets`), and
an index into a table of distinct sets for each document (`DocumentLabels`).

A multi-label document is counted once for each of its labels, and once for the reserved label
`ALL_DOCUMENTS_LABEL`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from nbtext.fast_dataclasses import dataclass
from nbtext.ragged import compute_flat_indices, compute_offsets

if TYPE_CHECKING:
    from nbtext.type_names import AnyInts, Ints, Mask, Names

ALL_DOCUMENTS_LABEL = ""
"""The reserved label of all documents in a multi-label corpus."""

LABEL_MARK = "\x1f"
"""Precedes each label of an encoded label set. Only the mark is the empty set.

Labels do not contain it.
"""

LIST_SEPARATOR = "list"
"""Value of a separator, such as ``--label-separator``, for labels that are lists in brackets."""

REST_INDEX = -1
"""Index of the rest, the documents without an explained label, as if it were the last class."""

REST_NAME = "the rest"
"""Name of the documents with `REST_INDEX`."""

LABEL_SEPARATOR = "|"
"""Separates the labels of a set in output."""


class LabelSet(NamedTuple):
    """The labels of a document in a multi-label corpus."""

    labels: tuple[str, ...]
    """Sorted and distinct. The tuple may be empty."""


Label: TypeAlias = str | LabelSet

Labels: TypeAlias = Sequence[Label]
"""The labels of documents."""


def make_label_set(labels: Iterable[str]) -> LabelSet:
    """Return a set of labels.

    >>> make_label_set(["wheat", "grain", "wheat"])
    LabelSet(labels=('grain', 'wheat'))
    """
    return LabelSet(tuple(sorted({clean_label(label) for label in labels})))


def clean_label(text: str) -> str:
    """Return a text as a label: replace `LABEL_MARK` by a blank."""
    return text.replace(LABEL_MARK, " ")


def encode_label(label: Label) -> str:
    r"""Return a label as one text, as in the ledger of a model file.

    >>> encode_label(make_label_set(["wheat", "grain"])), encode_label(make_label_set([]))
    ('\x1fgrain\x1fwheat', '\x1f')
    >>> encode_label("grain")
    'grain'
    """
    if isinstance(label, LabelSet):
        return LABEL_MARK + LABEL_MARK.join(label.labels)
    return label


def decode_label(text: str) -> Label:
    """Return the label that `encode_label` wrote."""
    if not text.startswith(LABEL_MARK):
        return text
    if text == LABEL_MARK:
        return make_label_set(())
    return make_label_set(text[1:].split(LABEL_MARK))


def split_label(label: Label, separator: str | None) -> Label:
    """Return the set of the labels in a text.

    The labels are between separators, or for `LIST_SEPARATOR` in a list in brackets. Return a label
    unchanged if it is a set already, or if the separator is None.

    >>> split_label("wheat; grain;", ";"), split_label('["wheat"]', LIST_SEPARATOR)
    (LabelSet(labels=('grain', 'wheat')), LabelSet(labels=('wheat',)))
    >>> split_label("wheat; grain;", None)
    'wheat; grain;'
    """
    if separator is None or isinstance(label, LabelSet):
        return label
    if separator == LIST_SEPARATOR:
        from nbtext.prediction.label_lists import parse_label_list

        items = parse_label_list(label)
    else:
        items = label.split(separator)
    names = [item.strip() for item in items]
    return make_label_set(name for name in names if name)


def list_labels(label: Label) -> tuple[str, ...]:
    """Return the labels of a set, or a single label as a tuple."""
    return label.labels if isinstance(label, LabelSet) else (label,)


def contain_label_sets(labels: Iterable[Label | None]) -> bool:
    """Return True if at least one of the labels is a set."""
    return any(isinstance(label, LabelSet) for label in labels)


def format_label(label: Label) -> str:
    """Return a label as text for people.

    >>> format_label(make_label_set(["wheat", "grain"])), format_label("grain")
    ('grain|wheat', 'grain')
    """
    return LABEL_SEPARATOR.join(list_labels(label))


def format_label_indices(indices: Iterable[int], classes: Names) -> str:
    """Return the labels with these indices as text for people."""
    return LABEL_SEPARATOR.join(classes[index] for index in indices)


def format_label_cell(label: Label) -> str:
    """Return a label as the text of a cell. The empty set is a separator, not an empty cell.

    >>> format_label_cell(make_label_set([])), split_label("|", "|")
    ('|', LabelSet(labels=()))
    """
    return format_label(label) or LABEL_SEPARATOR


def find_label_separator(labels: Iterable[Label | None]) -> str | None:
    """Return the separator of labels in output, or None if no label is a set."""
    return LABEL_SEPARATOR if contain_label_sets(labels) else None


def to_json_label(label: Label) -> str | list[str]:
    """Return a label for JSON: a text, or a list for a set."""
    return list(label.labels) if isinstance(label, LabelSet) else label


def rename_encoded_label(text: str, old: str, new: str) -> str:
    """Return an encoded label, or label set, in which one label is renamed."""
    decoded = decode_label(text)
    if isinstance(decoded, LabelSet):
        names = [new if label == old else label for label in decoded.labels]
        return encode_label(make_label_set(names))
    return new if decoded == old else text


def are_multi_label(classes: Names) -> bool:
    """Return True if these are the classes of a multi-label corpus, sorted as text."""
    # The reserved label is the empty text, so it comes first.
    return classes[:1] == (ALL_DOCUMENTS_LABEL,)


class LabelSets(NamedTuple):
    """Label sets of documents. A label is a column of the statistics, without all documents."""

    sizes: Ints
    """Number of labels of each document, shape (n_docs,)."""
    columns: Ints
    """Columns of the first document, then of the second, and so on, shape (Σ sizes,).

    The columns of a document are ascending.
    """

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> LabelSets:
        """Return the sets of documents, given the columns of each document."""
        return cls(
            np.array([len(row) for row in rows], np.int64),
            np.array([column for row in rows for column in sorted(row)], np.int64),
        )

    def take(self, rows: AnyInts) -> LabelSets:
        """Return the sets of the documents with these indices."""
        sizes = self.sizes[rows]
        starts = compute_offsets(self.sizes)[rows]
        return LabelSets(sizes, self.columns[compute_flat_indices(starts, sizes)])

    def renumber(self, new_columns: Ints) -> LabelSets:
        """Return the same sets, where column k becomes ``new_columns[k]``."""
        documents = np.repeat(np.arange(self.sizes.size), self.sizes)
        columns = new_columns[self.columns]
        return LabelSets(self.sizes, columns[np.lexsort((columns, documents))])

    def to_tuples(self) -> list[tuple[int, ...]]:
        """Return the columns of each document."""
        bounds = compute_offsets(self.sizes).tolist()
        return [tuple(self.columns[start:end].tolist()) for start, end in pairwise(bounds)]

    def to_mask(self, n_columns: int) -> Mask:
        """Return a mask of the columns of each document, shape (n_docs, n_columns)."""
        mask = np.zeros((self.sizes.size, n_columns), np.bool_)
        mask[np.repeat(np.arange(self.sizes.size), self.sizes), self.columns] = True
        return mask

    def iterate_ranks(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield the first columns of all documents, then their second columns, and so on.

        Each pair is the rows of the documents that have so many columns, and a column of each.
        """
        starts = compute_offsets(self.sizes)[:-1]
        for rank in range(int(self.sizes.max(initial=0))):
            rows = np.flatnonzero(self.sizes > rank)
            yield rows, self.columns[starts[rows] + rank]


class LabelTable(NamedTuple):
    """Distinct sets of labels, by index. In a single-label corpus set k is {k}."""

    sizes: Ints
    """Number of labels of each set, shape (n_sets,)."""
    members: Ints
    """Label indices of the first set, then of the second, and so on, shape (Σ sizes,).

    The label indices of a set are ascending.
    """
    n_labels: int
    """Number of labels that sets can contain."""

    @classmethod
    def from_sets(cls, sets: Iterable[Sequence[int]], n_labels: int) -> LabelTable:
        """Return a table of sets, each given as ascending label indices."""
        sizes, members = LabelSets.from_rows(list(sets))
        return cls(sizes, members, n_labels)

    def to_tuples(self, indices: AnyInts | None = None) -> list[tuple[int, ...]]:
        """Return the label indices of the sets with these indices, or of all sets."""
        sets = LabelSets(self.sizes, self.members)
        if indices is not None:
            sets = sets.take(indices)
        return sets.to_tuples()

    def to_pairs(self, indices: AnyInts) -> tuple[Ints, Ints]:
        """Return a pair of row and label index for each label of each row.

        ``indices`` are the sets of the rows, shape (n_rows,). The index −1 has no labels.
        """
        # The index −1 finds the last element: a size of 0, and the end of the members.
        sizes = np.append(self.sizes, 0)[indices]
        starts = compute_offsets(self.sizes)[indices]
        rows = np.repeat(np.arange(indices.size), sizes)
        return rows, self.members[compute_flat_indices(starts, sizes)]


def mask_sort_key(labels: Sequence[int]) -> tuple[int, ...]:
    """Return a key that sorts sets of ascending label indices as the rows of their mask.

    In the first column that differs, 0 is before 1: a set with a smaller label comes later.
    """
    return tuple(-label for label in labels)


@cache
def single_label_table(n_classes: int) -> LabelTable:
    """Return the table of a single-label corpus. It is the same object for the same ``n_classes``.

    `DocumentLabels.concatenate` is faster for labels with the same table.
    """
    return LabelTable(np.ones(n_classes, np.int64), np.arange(n_classes), n_classes)


@dataclass(frozen=True, eq=False)
class DocumentLabels:
    """True or predicted labels of documents, as indices of sets in a table."""

    indices: AnyInts
    """Index of the set of each document, shape (n_docs,).

    It is −1 if labels are unknown, or no class was predicted. In a single-label corpus it is the
    index of the label.
    """
    table: LabelTable

    def __len__(self) -> int:
        return len(self.indices)

    @classmethod
    def from_sets(cls, sets: Iterable[Sequence[int]], n_labels: int) -> DocumentLabels:
        """Return the labels of multi-label documents, given ascending label indices."""
        set_indices: dict[tuple[int, ...], int] = {}
        # A new set gets the next index.
        indices = [set_indices.setdefault(tuple(labels), len(set_indices)) for labels in sets]
        return cls(np.array(indices, np.int64), LabelTable.from_sets(set_indices, n_labels))

    @classmethod
    def concatenate(cls, blocks: Sequence[DocumentLabels]) -> DocumentLabels:
        """Return the labels of the documents of one or more blocks, in order."""
        table = blocks[0].table
        if all(block.table is table for block in blocks):
            return cls(np.concatenate([block.indices for block in blocks]), table)
        set_indices: dict[tuple[int, ...], int] = {}
        arrays = []
        for block in blocks:
            new_indices = [
                set_indices.setdefault(labels, len(set_indices))
                for labels in block.table.to_tuples()
            ]
            new_indices.append(-1)  # The index −1 finds this element, so it stays −1.
            arrays.append(np.array(new_indices, np.int64)[block.indices])
        n_labels = max(block.table.n_labels for block in blocks)
        return cls(np.concatenate(arrays), LabelTable.from_sets(set_indices, n_labels))

    @classmethod
    def from_mask(cls, mask: Mask) -> DocumentLabels:
        """Return the labels of a mask, shape (n_docs, n_labels)."""
        n_labels = mask.shape[1]
        packed_mask = np.packbits(mask, axis=1)  # shorter rows are sorted faster
        packed_sets, indices = np.unique(packed_mask, axis=0, return_inverse=True)
        sets = np.unpackbits(packed_sets, axis=1, count=n_labels).astype(np.bool_)
        _, members = np.nonzero(sets)
        table = LabelTable(sets.sum(axis=1), members, n_labels)
        return cls(indices.reshape(-1), table)

    def __getitem__(self, rows: Ints | Mask | slice) -> DocumentLabels:
        """Return the labels of some of the documents."""
        return DocumentLabels(self.indices[rows], self.table)

    def to_pairs(self) -> tuple[Ints, Ints]:
        """Return a pair of document and label index for each label of each document."""
        return self.table.to_pairs(self.indices)

    def to_names(self, classes: Names) -> list[tuple[str, ...]]:
        """Return the names of the labels of each document, given the names of all labels."""
        used_sets = np.unique(self.indices[self.indices >= 0])
        set_names: dict[int, tuple[str, ...]] = {-1: ()}
        for index, labels in zip(used_sets.tolist(), self.table.to_tuples(used_sets), strict=True):
            set_names[index] = tuple(classes[label] for label in labels)
        return [set_names[index] for index in self.indices.tolist()]

    def to_texts(self, classes: Names) -> list[str]:
        """Return the labels of each document as text for people, which is empty without labels.

        ``classes`` are the names of all labels.
        """
        return [LABEL_SEPARATOR.join(labels) for labels in self.to_names(classes)]

    def count_labels(self) -> Ints:
        """Return the number of labels of each document, shape (n_docs,)."""
        # The index −1 finds the last element, 0.
        return np.append(self.table.sizes, 0)[self.indices]

    def contains(self, documents: Ints, labels: Ints) -> Mask:
        """Return True for each pair of a document and a label that it has.

        ``documents`` and ``labels`` are indices, shape (n,). The result has the same shape.
        """
        own_documents, own_labels = self.to_pairs()
        # ``labels`` may have indices that the table does not contain.
        n_labels = max(self.table.n_labels, int(labels.max(initial=-1)) + 1)
        keys = documents * n_labels + labels
        own_keys = own_documents * n_labels + own_labels
        return np.isin(keys, own_keys)

    def to_mask(self, n_labels: int) -> Mask:
        """Return a mask of the labels of each document, shape (n_docs, n_labels)."""
        mask = np.zeros((len(self), n_labels), np.bool_)
        mask[self.to_pairs()] = True
        return mask


class LabelIndex:
    """Gives indices to labels, and to sets of labels, in the order of their first occurrence."""

    def __init__(self, labels: Names, *, single: bool) -> None:
        """Give the first indices to ``labels``. If ``single``, set k is {k} for each of them."""
        self._label_indices = {label: index for index, label in enumerate(labels)}
        self._set_indices: dict[tuple[int, ...], int] = {}
        if single:
            self._set_indices = {(index,): index for index in range(len(labels))}
        self._indices_by_label: dict[Label, int] = {}
        """Index of the set of each label that `index_labels` got before."""
        self._table = LabelTable.from_sets(self._set_indices, len(labels))

    @property
    def labels(self) -> list[str]:
        """All labels, in the order of their indices."""
        return list(self._label_indices)

    def _index_label(self, label: Label) -> int:
        """Return the index of a set of labels. New labels and sets get the next index."""
        indices = {
            self._label_indices.setdefault(name, len(self._label_indices))
            for name in list_labels(label)
        }
        return self._set_indices.setdefault(tuple(sorted(indices)), len(self._set_indices))

    @property
    def table(self) -> LabelTable:
        """All sets that have an index now."""
        has_new_sets = len(self._set_indices) > self._table.sizes.size
        has_new_labels = len(self._label_indices) > self._table.n_labels
        if has_new_sets or has_new_labels:
            self._table = LabelTable.from_sets(self._set_indices, len(self._label_indices))
        return self._table

    def index_labels(self, labels: Labels) -> DocumentLabels:
        """Return the labels of documents as indices. New labels and sets get the next index."""
        indices = self._indices_by_label
        for label in dict.fromkeys(labels):  # without duplicates
            if label not in indices:
                indices[label] = self._index_label(label)
        document_indices = np.array([indices[label] for label in labels], np.int32)
        return DocumentLabels(document_indices, self.table)

    def renumber(self, labels: DocumentLabels) -> DocumentLabels:
        """Return labels of a different table with the sets of this index.

        New sets get the next index. Each label must have the same index in both tables.
        """
        used_sets = np.unique(labels.indices[labels.indices >= 0])
        # The index −1 finds the last element, so it stays −1.
        new_indices = np.full(labels.table.sizes.size + 1, -1, np.int32)
        new_indices[used_sets] = [
            self._set_indices.setdefault(members, len(self._set_indices))
            for members in labels.table.to_tuples(used_sets)
        ]
        return DocumentLabels(new_indices[labels.indices], self.table)
