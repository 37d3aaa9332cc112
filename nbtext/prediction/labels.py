"""Several labels of a document, as one text, so whatever carries a label carries a set of them, and as numbers of columns of the statistics.

U+001F stands before each label, and alone for no label. A document is counted once for each of its labels and once under the empty label, which all have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.ragged import flat_indices, offsets

if TYPE_CHECKING:
    from nbtext.type_names import Mask, Names, Whole

EVERYTHING = ""
"""The reserved label that every document has where documents have several."""

MARK = "\x1f"

LISTS = "list"
"""In place of a separator: labels are lists in brackets."""

REST, THE_REST = -1, "the rest"
"""The last class beside a label that is explained: the documents without it, of score 0."""

BETWEEN_LABELS = "|"
"""Between labels as they are shown."""


def label_set(labels: Iterable[str]) -> str:
    r"""Return a set of labels as one text.

    >>> label_set(["wheat", "grain", "wheat"]), label_set([])
    ('\x1fgrain\x1fwheat', '\x1f')
    """
    return MARK + MARK.join(sorted({label.replace(MARK, " ") for label in labels}))


def one_label(text: str) -> str:
    """Return a text as the only label of a document: `MARK`, which makes a set of labels, is a blank."""
    return text.replace(MARK, " ")


def separated(label: str, separator: str | None) -> str:
    r"""Return the set of the labels between separators, or in a list in brackets; the label itself if there are none to look for.

    >>> separated("wheat; grain;", ";"), separated("wheat; grain;", None), separated('["wheat"]', LISTS)
    ('\x1fgrain\x1fwheat', 'wheat; grain;', '\x1fwheat')
    """
    if separator is None or is_set(label):
        return label
    if separator == LISTS:
        from nbtext.prediction.label_lists import items_of

        parts = items_of(label)
    else:
        parts = label.split(separator)
    return label_set(part for part in map(str.strip, parts) if part)


def is_set(label: object) -> bool:
    """Return whether a label is a set of labels."""
    return isinstance(label, str) and label.startswith(MARK)


def labels_in(label: str) -> list[str]:
    """Return the labels of a set, or the only label in a list."""
    if not is_set(label):
        return [label]
    return label[1:].split(MARK) if label != MARK else []


def shown_label(label: str) -> str:
    r"""Return a label as people read it.

    >>> shown_label("\x1fgrain\x1fwheat"), shown_label("grain")
    ('grain|wheat', 'grain')
    """
    return BETWEEN_LABELS.join(labels_in(label))


def chosen_label(chosen: int | Sequence[bool], classes: Names) -> str:
    """Return the class of a number, or of several labels those chosen, as people read them."""
    return classes[chosen] if isinstance(chosen, int) else BETWEEN_LABELS.join(compress(classes, chosen))


def written_label(label: str) -> str:
    r"""Return a label as `shown_label` does, or the text between labels alone for no label, so that a cell with it is not empty.

    >>> written_label("\x1f"), separated("|", "|")
    ('|', '\x1f')
    """
    return shown_label(label) or BETWEEN_LABELS


def renamed(label: str, old: str, new: str) -> str:
    """Return a label, or a set of labels, with one label under another name."""
    names = [new if each == old else each for each in labels_in(label)]
    return label_set(names) if is_set(label) else names[0]


def have_several(classes: Names) -> bool:
    """Return whether the documents of sorted classes have sets of labels."""
    return classes[:1] == (EVERYTHING,)


class LabelSets(NamedTuple):
    """The columns of the labels of documents that may have several, beside the column that counts every document."""

    sizes: Whole
    """The number of labels of each document, shape (n_docs,)."""
    columns: Whole
    """Their columns, document after document, ascending in each."""

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]]) -> LabelSets:
        """Return the sets of some documents."""
        return cls(np.array([len(row) for row in rows], np.int64), np.array([column for row in rows for column in sorted(row)], np.int64))

    def rows(self, chosen: Whole) -> LabelSets:
        """Return the sets of some documents, by number."""
        return LabelSets(self.sizes[chosen], self.columns[flat_indices(offsets(self.sizes)[chosen], self.sizes[chosen])])

    def renumbered(self, columns: Whole) -> LabelSets:
        """Return the same sets, given the new number of each column."""
        owners, found = np.repeat(np.arange(self.sizes.size), self.sizes), columns[self.columns]
        return LabelSets(self.sizes, found[np.lexsort((found, owners))])

    def texts(self) -> list[tuple[int, ...]]:
        """Return the columns of each document."""
        bounds = offsets(self.sizes).tolist()
        return [tuple(self.columns[begin:end].tolist()) for begin, end in pairwise(bounds)]

    def mask(self, n_columns: int) -> Mask:
        """Return which columns are in the set of each document, shape (n_docs, n_columns)."""
        found = np.zeros((self.sizes.size, n_columns), np.bool_)
        found[np.repeat(np.arange(self.sizes.size), self.sizes), self.columns] = True
        return found

    def by_rank(self) -> Iterator[tuple[Whole, Whole]]:
        """Yield documents and a label of each: the first labels, then the second, and so on."""
        begins = offsets(self.sizes)[:-1]
        for rank in range(int(self.sizes.max(initial=0))):
            rows = np.flatnonzero(self.sizes > rank)
            yield rows, self.columns[begins[rows] + rank]
