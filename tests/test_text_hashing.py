"""Hash tables on whole arrays, against dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.text.hashing import KeyTable, group_keys, pair, unpair
from tests import strategies

IDS = st.integers(0, 2**31 - 1)

ADVERSARIAL = {
    "sequential": np.arange(1, 50_001, dtype=np.uint64),
    "high bits only": np.arange(1, 256, dtype=np.uint64) << np.uint64(56),
    "multiples of 2**32": np.arange(1, 50_001, dtype=np.uint64) << np.uint64(32),
    "multiples of 2**48": np.arange(1, 50_001, dtype=np.uint64) << np.uint64(48),
    "one bit": np.uint64(1) << np.arange(64, dtype=np.uint64),
    "just below 2**64": np.uint64(2**64 - 1) - np.arange(50_000, dtype=np.uint64),
    "squares": np.arange(1, 50_001, dtype=np.uint64) ** np.uint64(2),
    "words of eight letters": np.frombuffer(
        b"".join(b"abcd%04d" % n for n in range(10_000)), "<u8"
    ).astype(np.uint64),
}


def array(keys: list[int]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array(keys, np.uint64)


FIRST = int(KeyTable().intern(array([7]))[0])
"""The id that the first key gets; the others follow without a gap."""


def assert_ids_fit(
    table: KeyTable, keys: np.ndarray[tuple[int], np.dtype[np.uint64]], ids: list[int]
) -> None:
    """The keys by id (from 1) are the keys interned."""
    assert table.keys[np.array(ids) - 1].tolist() == keys.tolist()
    assert len(set(table.keys.tolist())) == len(table)


@given(st.lists(strategies.keys, max_size=5))
def test_intern_gives_each_key_one_permanent_id(batches: list[list[int]]) -> None:
    table = KeyTable(bits=4)
    known: dict[int, int] = {}
    for batch in batches:
        ids = table.intern(array(batch)).tolist()
        for key, number in zip(batch, ids, strict=True):
            assert known.setdefault(key, number) == number
        assert sorted(known.values()) == list(range(1, len(known) + 1))
        assert len(table) == len(known)
    assert table.keys.tolist() == sorted(known, key=known.__getitem__)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_adversarial_keys_are_found_after_growth(name: str) -> None:
    wanted = np.unique(ADVERSARIAL[name][ADVERSARIAL[name] != 0])
    shuffled = np.random.default_rng(3).permutation(np.repeat(wanted, 2))
    table = KeyTable(bits=4)
    for part in np.array_split(shuffled, 7):
        assert_ids_fit(table, part, table.intern(part).tolist())
    assert len(table) == wanted.size
    ids = table.intern(wanted).tolist()
    assert_ids_fit(table, wanted, ids)
    assert sorted(ids) == list(range(1, wanted.size + 1))


def test_batch_may_be_much_larger_than_the_table() -> None:
    table = KeyTable(bits=4)
    keys = np.arange(1, 100_001, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    ids = table.intern(keys)
    assert sorted(ids.tolist()) == list(range(1, 100_001))
    assert table.intern(keys[::-1]).tolist() == ids[::-1].tolist()


@given(strategies.keys)
def test_group_keys_counts_like_a_counter(keys: list[int]) -> None:
    positions, occurrences = (found.tolist() for found in group_keys(array(keys)))
    assert positions == sorted(positions)
    assert {
        keys[position]: n for position, n in zip(positions, occurrences, strict=True)
    } == Counter(keys)
    assert len(positions) == len(set(keys))


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_group_keys_counts_adversarial_keys(name: str) -> None:
    keys = np.random.default_rng(5).permutation(
        np.concatenate((ADVERSARIAL[name], ADVERSARIAL[name][::3]))
    )
    positions, occurrences = group_keys(keys)
    assert dict(zip(keys[positions].tolist(), occurrences.tolist(), strict=True)) == Counter(
        keys.tolist()
    )


@given(st.lists(st.tuples(IDS, IDS)))
def test_paired_keys_sort_like_pairs_and_can_be_unpaired(
    pairs: list[tuple[int, int]],
) -> None:
    left, right = (np.array([p[side] for p in pairs], np.int64) for side in (0, 1))
    keys = pair(left, right)
    assert [found.tolist() for found in unpair(keys)] == [left.tolist(), right.tolist()]
    assert 0 not in keys.tolist()
    assert [pairs[i] for i in np.argsort(keys, kind="stable").tolist()] == sorted(pairs)
