"""Texts in one buffer are the list of texts, however they are cut; documents are counted in blocks."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.document import Document
from nbtext.counts.counting import _iter_labelled_blocks
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.ragged import LabelledBlock, TextBlock

TEXTS = st.lists(st.binary(max_size=5), max_size=8)
PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.binary(max_size=5)), max_size=8)


def packed(pairs: list[tuple[str, bytes]]) -> LabelledBlock:
    return LabelledBlock.from_labels([label for label, _ in pairs], [text for _, text in pairs])


def pairs_of(block: LabelledBlock) -> list[tuple[str, bytes]]:
    return [
        (block.labels[number], text)
        for number, text in zip(block.label_indices.tolist(), block.texts, strict=True)
    ]


@given(TEXTS, st.integers(0, 9), st.integers(0, 9))
def test_text_block_equals_the_list_of_its_texts(texts: list[bytes], begin: int, end: int) -> None:
    block = TextBlock.from_texts(texts)
    assert list(block) == [block[place] for place in range(len(block))] == texts
    part = block[begin:end]
    assert list(part) == texts[begin:end]
    assert part.joined == b"\0".join(texts[begin:end])
    assert part.sizes.tolist() == [len(text) for text in texts[begin:end]]
    assert TextBlock.from_texts(part) is part
    assert list(pickle.loads(pickle.dumps(part))) == texts[begin:end]


def test_text_block_refuses_reversed_slices() -> None:
    with pytest.raises(ValueError, match="consecutive"):
        TextBlock.from_texts([b"a", b"b"])[::-1]


@given(
    st.lists(PAIRS, max_size=4),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.sampled_from([WEIGHT_UNIT, 5]),
)
def test_single_documents_and_blocks_are_counted_in_order(
    blocks: list[list[tuple[str, bytes]]], whole: list[bool], weight: int
) -> None:
    items: list[Document | LabelledBlock] = []
    for block, is_packed in zip(blocks, whole, strict=False):
        items += (
            [packed(block)]
            if is_packed
            else [Document("", label, text, weight=weight) for label, text in block]
        )
    found = list(_iter_labelled_blocks(items))
    assert [pair for block in found for pair in pairs_of(block)] == [
        pair for block in blocks for pair in block
    ]
    assert all(
        set(block.label_indices.tolist()) == set(range(len(block.labels))) for block in found
    )
    weights = [
        [WEIGHT_UNIT] * len(block) if block.weights is None else block.weights.tolist()
        for block in found
    ]
    single = [
        WEIGHT_UNIT if is_packed else weight
        for block, is_packed in zip(blocks, whole, strict=False)
        for _ in block
    ]
    assert [each for block in weights for each in block] == single
