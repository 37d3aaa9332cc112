"""Texts in one buffer are the list of texts, however they are cut, joined and cut again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.counts.counting import _labelled_blocks
from nbtext.text_block import LabelledBlock, TextBlock, recut

TEXTS = st.lists(st.binary(max_size=5), max_size=8)
PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.binary(max_size=5)), max_size=8)


def packed(pairs: list[tuple[str, bytes]]) -> LabelledBlock:
    return LabelledBlock.of([label for label, _ in pairs], [text for _, text in pairs])


def pairs_of(block: LabelledBlock) -> list[tuple[str, bytes]]:
    return [(block.labels[number], text) for number, text in zip(block.classes.tolist(), block.texts, strict=True)]


@given(TEXTS, st.integers(0, 9), st.integers(0, 9))
def test_a_block_is_the_list_of_its_texts(texts: list[bytes], begin: int, end: int) -> None:
    block = TextBlock.of(texts)
    assert list(block) == [block[place] for place in range(len(block))] == texts
    part = block[begin:end]
    assert list(part) == texts[begin:end]
    assert part.joined == b"\0".join(texts[begin:end])
    assert part.sizes.tolist() == [len(text) for text in texts[begin:end]]
    assert TextBlock.of(part) is part
    assert list(pickle.loads(pickle.dumps(part))) == texts[begin:end]


def test_texts_of_a_block_are_consecutive() -> None:
    with pytest.raises(ValueError, match="consecutive"):
        TextBlock.of([b"a", b"b"])[::-1]


@given(st.lists(st.tuples(TEXTS, st.integers(0, 3)), max_size=4))
def test_blocks_are_chained_in_order(parts: list[tuple[list[bytes], int]]) -> None:
    whole = TextBlock.chained([TextBlock.of(texts)[begin:] for texts, begin in parts])
    texts = [text for texts, begin in parts for text in texts[begin:]]
    assert list(whole) == texts
    assert whole.joined == b"\0".join(texts)
    assert np.array_equal(whole.starts[1:], whole.ends[:-1] + 1)


@given(st.lists(PAIRS, max_size=4), st.integers(1, 12), st.integers(1, 5))
def test_cut_anew_each_block_ends_when_it_is_full(blocks: list[list[tuple[str, bytes]]], n_bytes: int, n_texts: int) -> None:
    small = [[pair] for block in blocks for pair in block if 2 * len(pair[1]) < n_bytes]
    found = [pairs_of(block) for block in recut(map(packed, small), n_bytes, n_texts)]
    expected: list[list[tuple[str, bytes]]] = [[]]
    for pair in (pair for block in small for pair in block):
        if sum(len(text) for _, text in expected[-1]) >= n_bytes or len(expected[-1]) == n_texts:
            expected.append([])
        expected[-1].append(pair)
    assert found == [block for block in expected if block]


@given(st.lists(PAIRS, max_size=4), st.integers(1, 12), st.integers(1, 5))
def test_blocks_of_about_the_size_stay_as_they_are(blocks: list[list[tuple[str, bytes]]], n_bytes: int, n_texts: int) -> None:
    given_blocks = list(map(packed, blocks))
    found = list(recut(given_blocks, n_bytes, n_texts))
    assert [pair for block in found for pair in pairs_of(block)] == [pair for block in blocks for pair in block]
    for block in given_blocks:
        size = int(block.texts.sizes.sum())
        if n_bytes / 2 <= size <= 2 * n_bytes and len(block) <= n_texts:
            assert any(block is other for other in found)
    assert all(0 < len(block) <= n_texts for block in found)


@given(st.lists(PAIRS, max_size=4), st.lists(st.booleans(), min_size=4, max_size=4))
def test_single_documents_and_blocks_are_counted_in_the_same_blocks(blocks: list[list[tuple[str, bytes]]], whole: list[bool]) -> None:
    items = [item for block, is_packed in zip(blocks, whole, strict=False) for item in ([packed(block)] if is_packed else block)]
    found = list(_labelled_blocks(items))
    assert [pair for block in found for pair in pairs_of(block)] == [pair for block in blocks for pair in block]
    assert all(
        len(set(block.labels)) == len(block.labels) and set(block.classes.tolist()) == set(range(len(block.labels))) for block in found
    )
