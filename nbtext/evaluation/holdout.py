"""Divide documents into a training part and a test part.

Documents that belong together are in one part: equal texts, and documents with the same value of a
column. The labels are divided in the same proportion, as far as that allows, or the test part has
the newest documents.

Sources: R. Kohavi, A study of cross-validation and bootstrap for accuracy estimation and model
selection (1995), for stratification; K. Sechidis, G. Tsoumakas, I. Vlahavas, On the stratification
of multi-label data (2011), for several labels per document.
"""

from __future__ import annotations

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
    component_labels = _count_labels(facts.labels, components)
    n_label_documents = component_labels.sum(axis=0)
    n_needed = proportion * n_label_documents  # test documents of each label

    is_single = component_labels.sum(axis=1) == 1
    is_test = np.zeros(component_labels.shape[0], np.bool_)
    several = np.flatnonzero(~is_single)
    is_test[several] = _choose_components(component_labels[several], n_needed, generator)
    n_needed = n_needed - component_labels[is_test].sum(axis=0)

    singles = np.flatnonzero(is_single)
    single_labels = component_labels[singles].argmax(axis=1)
    is_test[singles] = _choose_documents(single_labels, n_needed, generator)
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


def _count_labels(labels: Sequence[tuple[str, ...]], components: Ints) -> Floats:
    """Return the number of documents by component and label, shape (n_components, n_labels).

    Documents without any label count for a label of their own.
    """
    label_sets = [document_labels or ("",) for document_labels in labels]
    names = sorted(set().union(*label_sets))
    index = {name: number for number, name in enumerate(names)}
    counts = np.zeros((int(components.max()) + 1, len(names)))
    for component, document_labels in zip(components.tolist(), label_sets, strict=True):
        for name in document_labels:
            counts[component, index[name]] += 1
    return counts


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
