"""Labels of documents: one text, or where a document may have several a set of texts; and as numbers, of sets in a table or of columns of the statistics.

A document with a set is counted once for each of its labels and once under the empty label, which all have.
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
"""The reserved label that every document has where documents have several."""

LABEL_MARK = "\x1f"
"""In front of each label where a set of labels is one text, and alone for no label. No label has it."""

LIST_SEPARATOR = "list"
"""In place of a separator: labels are lists in brackets."""

REST_INDEX = -1
"""The number of the documents without a label that is explained, as if they were the last class, of score 0."""

REST_NAME = "the rest"
"""Its name."""

LABEL_SEPARATOR = "|"
"""Between labels as they are shown."""


class LabelSet(NamedTuple):
    """The labels of a document that may have several, or none."""

    labels: tuple[str, ...]
    """Sorted, distinct."""


Label: TypeAlias = str | LabelSet

Labels: TypeAlias = Sequence[Label]
"""Those of some documents."""


def make_label_set(labels: Iterable[str]) -> LabelSet:
    """Return a set of labels.

    >>> label_set(["wheat", "grain", "wheat"])
    LabelSet(labels=('grain', 'wheat'))
    """
    return LabelSet(tuple(sorted({clean_label(label) for label in labels})))


def clean_label(text: str) -> str:
    """Return a text as the only label of a document: `MARK` is a blank."""
    return text.replace(LABEL_MARK, " ")


def encode_label(label: Label) -> str:
    r"""Return a label as the ledger of a model file has it.

    >>> text_of_label(label_set(["wheat", "grain"])), text_of_label(label_set([])), text_of_label("grain")
    ('\x1fgrain\x1fwheat', '\x1f', 'grain')
    """
    return LABEL_MARK + LABEL_MARK.join(label.labels) if isinstance(label, LabelSet) else label


def decode_label(text: str) -> Label:
    """Return the label that `encode_label` wrote."""
    if not text.startswith(LABEL_MARK):
        return text
    return make_label_set(text[1:].split(LABEL_MARK) if text != LABEL_MARK else ())


def split_label(label: Label, separator: str | None) -> Label:
    """Return the set of the labels between separators, or in a list in brackets; the label itself if there are none to look for.

    >>> separated("wheat; grain;", ";"), separated("wheat; grain;", None), separated('["wheat"]', LISTS)
    (LabelSet(labels=('grain', 'wheat')), 'wheat; grain;', LabelSet(labels=('wheat',)))
    """
    if separator is None or isinstance(label, LabelSet):
        return label
    if separator == LIST_SEPARATOR:
        from nbtext.prediction.label_lists import parse_label_list

        parts = parse_label_list(label)
    else:
        parts = label.split(separator)
    return make_label_set(part for part in map(str.strip, parts) if part)


def list_labels(label: Label) -> tuple[str, ...]:
    """Return the labels of a set, or the only label."""
    return label.labels if isinstance(label, LabelSet) else (label,)


def contain_label_sets(labels: Iterable[Label | None]) -> bool:
    """Return whether one of some labels is a set."""
    return any(isinstance(label, LabelSet) for label in labels)


def format_label(label: Label) -> str:
    """Return a label as people read it.

    >>> shown_label(label_set(["wheat", "grain"])), shown_label("grain")
    ('grain|wheat', 'grain')
    """
    return LABEL_SEPARATOR.join(list_labels(label))


def format_label_indices(labels: Iterable[int], classes: Names) -> str:
    """Return the labels with some numbers as people read them."""
    return LABEL_SEPARATOR.join(classes[label] for label in labels)


def format_label_cell(label: Label) -> str:
    """Return a label as `format_label` does, or the text between labels alone for no label, so that a cell with it is not empty.

    >>> written_label(label_set([])), separated("|", "|")
    ('|', LabelSet(labels=()))
    """
    return format_label(label) or LABEL_SEPARATOR


def find_label_separator(labels: Iterable[Label | None]) -> str | None:
    """Return `LABEL_SEPARATOR` if one of some labels is a set, otherwise None."""
    return LABEL_SEPARATOR if contain_label_sets(labels) else None


def to_json_label(label: Label) -> str | list[str]:
    """Return a label, or the list of those of a set."""
    return list(label.labels) if isinstance(label, LabelSet) else label


def rename_encoded_label(text: str, old: str, new: str) -> str:
    """Return the text of a label, or of a set of labels, with one label under another name."""
    label = decode_label(text)
    if isinstance(label, LabelSet):
        return encode_label(make_label_set(new if each == old else each for each in label.labels))
    return new if label == old else text


def are_multi_label(classes: Names) -> bool:
    """Return whether the documents of sorted classes have sets of labels."""
    return classes[:1] == (ALL_DOCUMENTS_LABEL,)


class LabelSets(NamedTuple):
    """The columns of the labels of documents that may have several, beside the column that counts every document."""

    sizes: Ints
    """The number of labels of each document, shape (n_docs,)."""
    columns: Ints
    """Their columns, document after document, ascending in each."""

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> LabelSets:
        """Return the sets of some documents."""
        return cls(
            np.array([len(row) for row in rows], np.int64),
            np.array([column for row in rows for column in sorted(row)], np.int64),
        )

    def take(self, chosen: AnyInts) -> LabelSets:
        """Return the sets of some documents, by number."""
        return LabelSets(
            self.sizes[chosen],
            self.columns[
                compute_flat_indices(compute_offsets(self.sizes)[chosen], self.sizes[chosen])
            ],
        )

    def renumber(self, columns: Ints) -> LabelSets:
        """Return the same sets, given the new number of each column."""
        owners = np.repeat(np.arange(self.sizes.size), self.sizes)
        found = columns[self.columns]
        return LabelSets(self.sizes, found[np.lexsort((found, owners))])

    def to_tuples(self) -> list[tuple[int, ...]]:
        """Return the columns of each document."""
        bounds = compute_offsets(self.sizes).tolist()
        return [tuple(self.columns[begin:end].tolist()) for begin, end in pairwise(bounds)]

    def to_mask(self, n_columns: int) -> Mask:
        """Return which columns are in the set of each document, shape (n_docs, n_columns)."""
        found = np.zeros((self.sizes.size, n_columns), np.bool_)
        found[np.repeat(np.arange(self.sizes.size), self.sizes), self.columns] = True
        return found

    def iterate_ranks(self) -> Iterator[tuple[Ints, Ints]]:
        """Yield documents and a label of each: the first labels, then the second, and so on."""
        begins = compute_offsets(self.sizes)[:-1]
        for rank in range(int(self.sizes.max(initial=0))):
            rows = np.flatnonzero(self.sizes > rank)
            yield rows, self.columns[begins[rows] + rank]


class LabelTable(NamedTuple):
    """Sets of labels by number. Where a document has one label, set k is {k}."""

    sizes: Ints
    """The number of labels of each set, shape (n_sets,)."""
    members: Ints
    """The numbers of their labels, set after set, ascending in each."""
    n_labels: int

    @classmethod
    def from_sets(cls, sets: Iterable[Sequence[int]], n_labels: int) -> LabelTable:
        """Return some sets, given the ascending numbers of their labels."""
        sizes, members = LabelSets.from_rows(list(sets))
        return cls(sizes, members, n_labels)

    def to_tuples(self, numbers: AnyInts | None = None) -> list[tuple[int, ...]]:
        """Return the labels of some sets, by number, or of all."""
        every = LabelSets(self.sizes, self.members)
        return (every if numbers is None else every.take(numbers)).to_tuples()

    def to_pairs(self, numbers: AnyInts) -> tuple[Ints, Ints]:
        """Return a row and a label of it, for each label of each set in ``numbers``, shape (n_rows,); a negative number has no label."""
        sizes = np.append(self.sizes, 0)[numbers]
        starts = compute_offsets(self.sizes)[numbers]
        return np.repeat(np.arange(numbers.size), sizes), self.members[
            compute_flat_indices(starts, sizes)
        ]


def mask_sort_key(labels: Sequence[int]) -> tuple[int, ...]:
    """Return a key by which sets are sorted as the rows of their mask: without the first label before with it, the empty set first."""
    return tuple(-label for label in labels)


@cache
def single_label_table(n_classes: int) -> LabelTable:
    """Return the sets of documents that have one label each: the same table each time."""
    return LabelTable(np.ones(n_classes, np.int64), np.arange(n_classes), n_classes)


@dataclass(frozen=True, eq=False)
class DocumentLabels:
    """The labels that documents have, or get: the numbers of sets in a table."""

    indices: AnyInts
    """Shape (n_docs,); where each document has one label, that label; negative where none is known or given."""
    table: LabelTable

    def __len__(self) -> int:
        return len(self.indices)

    @classmethod
    def from_sets(cls, sets: Iterable[Sequence[int]], n_labels: int) -> DocumentLabels:
        """Return the labels of documents that may have several, given their ascending numbers."""
        number: dict[tuple[int, ...], int] = {}
        numbers = [number.setdefault(tuple(labels), len(number)) for labels in sets]
        return cls(np.array(numbers, np.int64), LabelTable.from_sets(number, n_labels))

    @classmethod
    def concatenate(cls, parts: Sequence[DocumentLabels]) -> DocumentLabels:
        """Return the labels of the documents of all parts, in order; at least one part."""
        table = parts[0].table
        if all(part.table is table for part in parts):
            return cls(np.concatenate([part.indices for part in parts]), table)
        number: dict[tuple[int, ...], int] = {}
        numbers = []
        for part in parts:
            places = [number.setdefault(labels, len(number)) for labels in part.table.to_tuples()]
            numbers.append(np.array([*places, -1], np.int64)[part.indices])
        n_labels = max(part.table.n_labels for part in parts)
        return cls(np.concatenate(numbers), LabelTable.from_sets(number, n_labels))

    @classmethod
    def from_mask(cls, mask: Mask) -> DocumentLabels:
        """Return the labels that a mask has, shape (n_docs, n_labels)."""
        rows, numbers = np.unique(np.packbits(mask, axis=1), axis=0, return_inverse=True)
        sets = np.unpackbits(rows, axis=1, count=mask.shape[1]).astype(np.bool_)
        table = LabelTable(sets.sum(axis=1), np.nonzero(sets)[1], mask.shape[1])
        return cls(numbers.reshape(-1), table)

    def __getitem__(self, chosen: Ints | Mask | slice) -> DocumentLabels:
        """Return the labels of some of the documents."""
        return DocumentLabels(self.indices[chosen], self.table)

    def to_pairs(self) -> tuple[Ints, Ints]:
        """Return a document and a label of it, for each label of each document."""
        return self.table.to_pairs(self.indices)

    def to_names(self, classes: Names) -> list[tuple[str, ...]]:
        """Return the labels of each document by name, given all names; none where it has none."""
        used = np.unique(self.indices[self.indices >= 0])
        names: dict[int, tuple[str, ...]] = {-1: ()}
        for number, labels in zip(used.tolist(), self.table.to_tuples(used), strict=True):
            names[number] = tuple(classes[label] for label in labels)
        return [names[number] for number in self.indices.tolist()]

    def to_texts(self, classes: Names) -> list[str]:
        """Return the labels of each document as people read them, given all names; an empty text where it has none."""
        return [LABEL_SEPARATOR.join(labels) for labels in self.to_names(classes)]

    def count_labels(self) -> Ints:
        """Return how many labels each document has, shape (n_docs,)."""
        return np.append(self.table.sizes, 0)[self.indices]

    def contains(self, documents: Ints, labels: Ints) -> Mask:
        """Return whether documents have labels, both given by their numbers, shape (n,)."""
        own_documents, own_labels = self.to_pairs()
        n_labels = max(
            self.table.n_labels, int(labels.max(initial=-1)) + 1
        )  # others may know more labels
        asked = documents * n_labels + labels
        own = own_documents * n_labels + own_labels
        return np.isin(asked, own)

    def to_mask(self, n_labels: int) -> Mask:
        """Return which labels each document has, shape (n_docs, n_labels)."""
        found = np.zeros((len(self), n_labels), np.bool_)
        found[self.to_pairs()] = True
        return found


class LabelIndex:
    """Labels and sets of labels, numbered in the order in which they come; numbers never change."""

    def __init__(self, labels: Names, *, single: bool) -> None:
        """Begin with some labels. If documents have a ``single`` label each, set k is {k}."""
        self._number = {label: number for number, label in enumerate(labels)}
        self._sets: dict[tuple[int, ...], int] = (
            {(number,): number for number in range(len(labels))} if single else {}
        )
        self._of_labels: dict[Label, int] = {}
        self._table = LabelTable.from_sets(self._sets, len(labels))

    @property
    def labels(self) -> list[str]:
        """All labels, by number."""
        return list(self._number)

    def _number_of(self, given: Label) -> int:
        labels = {self._number.setdefault(label, len(self._number)) for label in list_labels(given)}
        return self._sets.setdefault(tuple(sorted(labels)), len(self._sets))

    @property
    def table(self) -> LabelTable:
        """All sets so far."""
        if len(self._sets) > self._table.sizes.size or len(self._number) > self._table.n_labels:
            self._table = LabelTable.from_sets(self._sets, len(self._number))
        return self._table

    def index_labels(self, labels: Labels) -> DocumentLabels:
        """Return the labels of documents, one or a set of each; new ones get numbers, in the order in which they come."""
        numbers = self._of_labels
        for label in dict.fromkeys(labels):
            if label not in numbers:
                numbers[label] = self._number_of(label)
        return DocumentLabels(np.array([numbers[label] for label in labels], np.int32), self.table)

    def renumber(self, given: DocumentLabels) -> DocumentLabels:
        """Return labels that are numbered as these are, with the numbers of their sets here; new sets get numbers."""
        used = np.unique(given.indices[given.indices >= 0])
        sets = given.table.to_tuples(used)
        numbers = np.full(given.table.sizes.size + 1, -1, np.int32)
        numbers[used] = [self._sets.setdefault(labels, len(self._sets)) for labels in sets]
        return DocumentLabels(numbers[given.indices], self.table)
