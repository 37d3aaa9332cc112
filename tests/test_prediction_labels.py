"""Sets of labels as one text, and labels of documents against sets of Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.prediction.labels import (
    DocumentLabels,
    LabelIndex,
    LabelTable,
    are_multi_label,
    contain_label_sets,
    decode_label,
    encode_label,
    format_label,
    list_labels,
    make_label_set,
    single_label_table,
    to_json_label,
)

LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\x1f"), min_size=1)


@given(st.lists(LABELS))
def test_label_set_contains_its_labels_once_in_order(labels: list[str]) -> None:
    found = make_label_set(labels)
    assert found
    assert contain_label_sets(["a", found])
    assert list_labels(found) == tuple(sorted(set(labels)))
    assert to_json_label(found) == sorted(set(labels))
    assert decode_label(encode_label(found)) == found


@given(LABELS)
def test_single_label_is_not_a_set(label: str) -> None:
    assert not contain_label_sets([label, None])
    assert list_labels(label) == (label,)
    assert (
        format_label(label)
        == to_json_label(label)
        == encode_label(label)
        == decode_label(label)
        == label
    )


def test_reserved_label_marks_a_multi_label_model() -> None:
    assert are_multi_label(("", "a"))
    assert not are_multi_label(("a", "b"))
    assert not are_multi_label(())


N_LABELS = 5
NAMES = ["a", "b", "c", "d", "e"]
Sets = list[frozenset[int]]
SETS = st.lists(st.frozensets(st.integers(0, N_LABELS - 1)), max_size=12)


def sort_sets(sets: Sets) -> list[tuple[int, ...]]:
    return [tuple(sorted(labels)) for labels in sets]


def document_labels(sets: Sets) -> DocumentLabels:
    return DocumentLabels.from_sets(sort_sets(sets), N_LABELS)


def labels_by_document(labels: DocumentLabels) -> list[tuple[int, ...]]:
    """The labels of each document, by its pairs."""
    found: list[tuple[int, ...]] = [()] * len(labels)
    for document, label in zip(*(column.tolist() for column in labels.to_pairs()), strict=True):
        found[document] += (label,)
    return found


@given(SETS, st.data())
def test_label_table_pairs_are_in_order_and_negative_numbers_have_none(
    sets: Sets, data: st.DataObject
) -> None:
    table = LabelTable.from_sets(sort_sets(sets), N_LABELS)
    assert table.to_tuples() == sort_sets(sets)
    numbers = np.array(data.draw(st.lists(st.integers(-1, len(sets) - 1), max_size=10)), np.int64)
    wanted = [
        (row, label)
        for row, number in enumerate(numbers.tolist())
        if number >= 0
        for label in sorted(sets[number])
    ]
    rows, labels = table.to_pairs(numbers)
    assert list(zip(rows.tolist(), labels.tolist(), strict=True)) == wanted
    known = numbers[numbers >= 0]
    assert table.to_tuples(known) == [sort_sets(sets)[number] for number in known.tolist()]


@pytest.mark.parametrize("n_classes", [0, 1, 3])
def test_single_label_table_numbers_sets_by_label(n_classes: int) -> None:
    table = single_label_table(n_classes)
    assert table.to_tuples() == [(number,) for number in range(n_classes)]
    assert table.n_labels == n_classes
    assert single_label_table(n_classes) is table


@given(SETS)
def test_document_labels_are_the_given_sets(sets: Sets) -> None:
    labels = document_labels(sets)
    assert len(labels) == len(sets)
    assert labels_by_document(labels) == sort_sets(sets)
    assert labels.count_labels().tolist() == [len(own) for own in sets]
    assert labels.to_names(NAMES) == [
        tuple(NAMES[label] for label in own) for own in sort_sets(sets)
    ]
    assert labels.to_texts(NAMES) == ["|".join(own) for own in labels.to_names(NAMES)]
    assert labels.to_mask(N_LABELS).tolist() == [
        [label in own for label in range(N_LABELS)] for own in sets
    ]
    assert len(labels.table.sizes) == len(set(sets))


def test_document_without_a_prediction_has_no_label() -> None:
    answers = DocumentLabels(np.array([-1, 2, 0, -1], np.int32), single_label_table(3))
    assert labels_by_document(answers) == [(), (2,), (0,), ()]
    assert answers.count_labels().tolist() == [0, 1, 1, 0]
    assert answers.to_names(NAMES) == [(), ("c",), ("a",), ()]
    assert answers.to_texts(NAMES) == ["", "c", "a", ""]
    assert answers.to_mask(3).sum(axis=1).tolist() == [0, 1, 1, 0]
    assert answers.contains(np.arange(4), np.array([0, 2, 1, 2])).tolist() == [
        False,
        True,
        False,
        False,
    ]


@given(SETS.filter(len), st.data())
def test_contains_also_answers_for_labels_without_sets(sets: Sets, data: st.DataObject) -> None:
    asked = data.draw(
        st.lists(st.tuples(st.integers(0, len(sets) - 1), st.integers(0, N_LABELS + 3)), min_size=1)
    )
    documents, labels = np.array(asked).T
    assert document_labels(sets).contains(documents, labels).tolist() == [
        label in sets[document] for document, label in asked
    ]


@given(SETS, st.data())
def test_selected_documents_keep_their_labels(sets: Sets, data: st.DataObject) -> None:
    chosen = np.array(
        data.draw(st.lists(st.integers(0, len(sets) - 1), max_size=10) if sets else st.just([])),
        np.int64,
    )
    assert labels_by_document(document_labels(sets)[chosen]) == [
        sort_sets(sets)[row] for row in chosen.tolist()
    ]
    assert labels_by_document(document_labels(sets)[1:]) == sort_sets(sets)[1:]
    assert (
        labels_by_document(document_labels(sets)[np.arange(len(sets)) % 2 == 0])
        == sort_sets(sets)[::2]
    )


@given(st.integers(1, 12), st.integers(0, 20), st.integers(0, 2**32))
def test_mask_round_trips_and_equal_rows_are_one_set(
    n_labels: int, n_documents: int, seed: int
) -> None:
    mask = np.random.default_rng(seed).random((n_documents, n_labels)) < 0.3
    labels = DocumentLabels.from_mask(mask)
    assert np.array_equal(labels.to_mask(n_labels), mask)
    assert labels_by_document(labels) == [tuple(np.flatnonzero(row).tolist()) for row in mask]
    assert len(labels.table.sizes) == len(np.unique(mask, axis=0))
    assert labels.table.n_labels == n_labels


@given(st.lists(SETS, min_size=1, max_size=4))
def test_concatenated_parts_keep_their_labels(parts: list[Sets]) -> None:
    joined = DocumentLabels.concatenate([document_labels(part) for part in parts])
    assert labels_by_document(joined) == [labels for part in parts for labels in sort_sets(part)]
    assert len(set(joined.table.to_tuples())) == len(joined.table.sizes)


def test_parts_with_one_table_keep_it_and_unknown_labels_stay_unknown() -> None:
    one, two = (
        DocumentLabels(np.array(numbers), single_label_table(3)) for numbers in ([2, -1], [0])
    )
    joined = DocumentLabels.concatenate([one, two])
    assert joined.table is single_label_table(3)
    assert joined.indices.tolist() == [2, -1, 0]
    mixed = DocumentLabels.concatenate(
        [one, DocumentLabels(np.array([-1, 4]), single_label_table(5))]
    )
    assert mixed.to_names(NAMES) == [("c",), (), (), ("e",)]
    assert mixed.indices[[1, 2]].tolist() == [-1, -1]
    assert mixed.table.n_labels == 5


TEXTS = st.lists(
    st.one_of(
        st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3).map(make_label_set)
    ),
    max_size=12,
)


@pytest.mark.parametrize("single", [True, False])
@given(blocks=st.lists(TEXTS, max_size=4))
def test_label_index_numbers_never_change(*, single: bool, blocks: list[list[str]]) -> None:
    index = LabelIndex(NAMES[:2], single=single)
    before: list[DocumentLabels] = []
    for texts in blocks:
        before.append(index.index_labels(texts))
        n_labels = len(index.labels)
        assert index.table.n_labels == n_labels
        for labels, own in zip(before, blocks, strict=False):
            now = DocumentLabels(labels.indices, index.table)
            assert [sorted(each) for each in now.to_names(index.labels)] == [
                sorted(list_labels(text)) for text in own
            ]
            assert labels_by_document(labels) == labels_by_document(now)
    used = {label for texts in blocks for text in texts for label in list_labels(text)}
    assert index.labels[:2] == NAMES[:2]
    assert set(index.labels) == used | set(NAMES[:2])
    assert len(set(index.labels)) == len(index.labels)


def test_unknown_labels_are_numbered_after_the_known_ones() -> None:
    index = LabelIndex(["b", "c"], single=False)
    texts = [make_label_set(["z", "b"]), make_label_set([]), make_label_set(["y", "c", "z"])]
    assert labels_by_document(index.index_labels(texts)) == [(0, 2), (), (1, 2, 3)]
    assert index.labels == ["b", "c", "z", "y"]


def test_labels_of_a_set_are_in_numeric_order() -> None:
    names = [f"label{number}" for number in range(40)]
    index = LabelIndex(names, single=False)
    found = index.index_labels([make_label_set([names[32], names[1], names[8]])])
    assert index.table.to_tuples() == [(1, 8, 32)]
    same = DocumentLabels.from_sets([(1, 8, 32)], 40)
    assert index.renumber(same).indices.tolist() == found.indices.tolist()


def test_single_label_index_numbers_sets_by_label() -> None:
    index = LabelIndex(["b", "c"], single=True)
    assert index.table.to_tuples() == [(0,), (1,)]
    assert index.index_labels(["c", "z", "a", "z", "b"]).indices.tolist() == [1, 2, 3, 2, 0]
    assert index.labels == ["b", "c", "z", "a"]
    assert index.table.to_tuples() == [(0,), (1,), (2,), (3,)]
    answers = DocumentLabels(np.array([1, -1, 0]), single_label_table(2))
    assert index.renumber(answers).indices.tolist() == [1, -1, 0]


@given(first=SETS, second=SETS, unknown=st.booleans())
def test_renumbered_labels_share_one_table(first: Sets, second: Sets, *, unknown: bool) -> None:
    index = LabelIndex(NAMES, single=False)
    for sets in (first, second):
        given_ = document_labels(sets)
        if unknown:
            given_.indices[:1] = -1
        found = index.renumber(given_)
        assert labels_by_document(found) == labels_by_document(given_)
        assert (found.indices < 0).tolist() == (given_.indices < 0).tolist()
    texts = [make_label_set(NAMES[label] for label in labels) for labels in second]
    known = slice(int(unknown), None)
    assert index.index_labels(texts).indices[known].tolist() == found.indices[known].tolist()
