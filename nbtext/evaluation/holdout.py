"""Divide documents into a training part and a test part.

Documents that belong together are in one part: equal texts, and documents with the same value of a
column. The labels are divided in the same proportion, as far as that allows, or the test part has
the newest documents.

Sources: R. Kohavi, A study of cross-validation and bootstrap for accuracy estimation and model
selection (1995), for stratification; K. Sechidis, G. Tsoumakas, I. Vlahavas, On the stratification
of multi-label data (2011), for several labels per document.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import rank_times, shuffle_by_class

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.type_names import Floats, Ints, Mask


class DocumentFacts(NamedTuple):
    """The facts that determine the division, one element for each document."""

    labels: list[tuple[str, ...]]
    digests: list[bytes]
    """Equal for equal documents. Empty if equal documents may be in both parts."""
    column: list[str]
    """Values of the group column or the time column. Empty without such a column."""
    names: list[str]


def divide_by_label(facts: DocumentFacts, proportion: float, seed: int) -> Mask:
    """Return a mask of the test documents, shape (n_docs,).

    Each label has about the ``proportion`` of its documents in the test part. Equal documents, and
    documents with the same value of the column, are in one part.

    Raise `UsageError` if a part would be empty.
    """
    generator = np.random.default_rng(seed)
    components = _find_components(facts.digests, facts.column, n_documents=len(facts.names))
    documents, labels = _number_labels(facts.labels)
    n_needed = proportion * np.bincount(labels).astype(np.float64)  # test documents of each label
    entry_components = components[documents]
    is_single = np.bincount(entry_components) == 1  # components of one document with one label
    is_test = np.zeros(is_single.size, np.bool_)

    # A component with several labels is chosen as a whole, and the single documents fill the rest.
    several = np.flatnonzero(~is_single)
    is_in_several = ~is_single[entry_components]
    label_counts = np.zeros((several.size, n_needed.size))
    rows = np.searchsorted(several, entry_components[is_in_several])
    np.add.at(label_counts, (rows, labels[is_in_several]), 1)
    is_chosen = _choose_components(label_counts, n_needed, generator)
    is_test[several] = is_chosen
    n_needed = n_needed - label_counts[is_chosen].sum(axis=0)

    singles = entry_components[~is_in_several]
    is_test[singles] = _choose_documents(labels[~is_in_several], n_needed, generator)
    return _require_both_parts(is_test[components])


def divide_by_time(facts: DocumentFacts, proportion: float) -> Mask:
    """Return a mask of the test documents, shape (n_docs,): the newest ``proportion``.

    Documents of one time are in one part. A document that is equal to an older one of the training
    part is in the training part too.

    Raise `UsageError` for a document without a time, or if a part would be empty.
    """
    ranks = rank_times(facts.column, facts.names)
    n_older = np.cumsum(np.bincount(ranks))  # documents up to each time
    n_training = (1 - proportion) * ranks.size
    newest_training_rank = int(np.abs(n_older - n_training).argmin())
    is_test = ranks > newest_training_rank
    if facts.digests:
        components = _find_components(facts.digests, [], n_documents=ranks.size)
        is_test &= ~np.isin(components, components[~is_test])
    return _require_both_parts(is_test)


def _find_components(digests: Sequence[bytes], column: Sequence[str], n_documents: int) -> Ints:
    """Return the component of each document, from 0, shape (n_docs,).

    Documents with an equal digest or an equal value of the column are in one component.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    documents = np.arange(n_documents)
    edges = [(documents, documents)]
    n_nodes = n_documents
    for values in (digests, column):
        if values:
            _, keys = np.unique(np.array(values, object), return_inverse=True)
            edges.append((documents, n_nodes + keys))  # a node for each distinct value
            n_nodes += int(keys.max()) + 1
    rows = np.concatenate([row for row, _ in edges])
    columns = np.concatenate([column for _, column in edges])
    graph = coo_array((np.ones(rows.size, np.int8), (rows, columns)), shape=(n_nodes, n_nodes))
    _, components = connected_components(graph, directed=False)
    return np.unique(components[:n_documents], return_inverse=True)[1]


def _number_labels(labels: Sequence[tuple[str, ...]]) -> tuple[Ints, Ints]:
    """Return the document and the label of each pair of them, as numbers, both of shape (n_pairs,).

    A document without labels counts for a label of its own.
    """
    label_sets = [document_labels or ("",) for document_labels in labels]
    sizes = np.array([len(document_labels) for document_labels in label_sets], np.int64)
    documents = np.repeat(np.arange(sizes.size), sizes)
    names = np.array(list(chain.from_iterable(label_sets)), object)
    _, numbers = np.unique(names, return_inverse=True)
    return documents, numbers


def _choose_components(
    label_counts: Floats, n_needed: Floats, generator: np.random.Generator
) -> Mask:
    """Return a mask of the components for the test part, shape (n_components,).

    The largest components come first, components of equal size in random order. A component is
    chosen if the numbers of test documents are then nearer to ``n_needed``, shape (n_labels,).
    """
    remaining = n_needed.copy()
    is_chosen = np.zeros(label_counts.shape[0], np.bool_)
    shuffled = generator.permutation(label_counts.shape[0])
    sizes = label_counts[shuffled].sum(axis=1)
    for component in shuffled[np.argsort(-sizes, kind="stable")].tolist():
        new_remaining = remaining - label_counts[component]
        if np.abs(new_remaining).sum() < np.abs(remaining).sum():
            is_chosen[component] = True
            remaining = new_remaining
    return is_chosen


def _choose_documents(labels: Ints, n_needed: Floats, generator: np.random.Generator) -> Mask:
    """Return a mask of the documents for the test part, shape (n_docs,).

    The number of documents of each label differs from ``n_needed``, shape (n_labels,), by less than
    1, and so does the sum, unless a label has too few documents.
    """
    n_documents = np.bincount(labels, minlength=n_needed.size)
    n_possible = np.clip(n_needed, 0, n_documents)
    ends = np.rint(np.cumsum(n_possible)).astype(np.int64)  # rounded together
    n_chosen = np.minimum(np.diff(ends, prepend=0), n_documents)
    order = shuffle_by_class(labels, generator)
    starts = np.cumsum(n_documents) - n_documents
    rank_in_label = np.arange(labels.size) - starts[labels[order]]
    is_chosen = np.empty(labels.size, np.bool_)
    is_chosen[order] = rank_in_label < n_chosen[labels[order]]
    return is_chosen


def _require_both_parts(is_test: Mask) -> Mask:
    """Return the mask. Raise `UsageError` if a part has no documents."""
    if is_test.all() or not is_test.any():
        part = "training" if is_test.all() else "test"
        raise UsageError(
            f"the {part} part would have no documents",
            hint="choose another --test, or remove --group-column or --time-column",
        )
    return is_test
