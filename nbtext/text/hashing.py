"""Map 64-bit keys to dense ids, and group equal keys: the two hash tables of counting.

Both tables work on whole arrays. They use open addressing with multiply-shift hashing
(Dietzfelbinger et al. 1997) and probe for all keys at once. Keys are stored exactly, not as
digests, so different keys are never confused. The multiplier is random. It changes the number of
probes, not the results.
"""

# `take` takes two thirds of the time of indexing with positions, `compress` a fifth of the time
# of indexing with a mask.

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nbtext.type_names import AnyInts, Ids, Ints, Keys

EMPTY_KEY = np.uint64(0)
"""The only key that cannot be stored: it has id 0, which marks a free slot."""


def pair(first: AnyInts, second: AnyInts) -> Keys:
    """Return a non-zero key for each pair of ids below 2**31; keys are ordered as the pairs."""
    upper = (first.astype(np.uint64) + np.uint64(1)) << np.uint64(32)
    return upper | second.astype(np.uint64)


def unpair(keys: Keys) -> tuple[Ints, Ints]:
    """Return the first and the second id of each key made by `pair`."""
    first = (keys >> np.uint64(32)).astype(np.int64) - 1
    return first, (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _random_multiplier() -> np.uint64:
    """Return a random odd 64-bit number."""
    return np.uint64(int.from_bytes(os.urandom(8), "little") | 1)


class KeyTable:
    """Map from 64-bit keys to ids, from 1 up.

    Slots contain only ids; the keys are stored by id. So frequent keys, which usually come first,
    are close together in memory.
    """

    def __init__(self, bits: int = 12) -> None:
        """Make a table of 2**bits slots, which grows when a quarter of them is used."""
        self._multiplier = _random_multiplier()
        # Keys by id. They start as `EMPTY_KEY`; zeros take no memory until they are written to.
        self._stored = np.zeros((1 << (bits - 2)) + 1, np.uint64)
        self._size = 0
        self._allocate(bits)

    def __len__(self) -> int:
        return self._size

    @property
    def keys(self) -> Keys:
        """The keys by id, from id 1, shape (n_keys,)."""
        return self._stored[1 : self._size + 1]

    def intern(self, keys: Keys) -> Ids:
        """Return the id of each key, shape (n,); add new keys. No key may be `EMPTY_KEY`."""
        ids = self.find(keys)
        unknown = np.flatnonzero(ids == 0)
        if unknown.size:
            new = keys.take(unknown)
            representative = find_representatives(new)
            distinct = np.flatnonzero(representative == np.arange(new.size))
            new_ids = np.empty(new.size, np.int32)
            new_ids[distinct] = np.arange(self._size + 1, self._size + 1 + distinct.size)
            self._append(new.take(distinct))
            ids[unknown] = new_ids.take(representative)
        return ids

    def find(self, keys: Keys) -> Ids:
        """Return the id of each key, 0 for unknown keys, shape (n,)."""
        slots = self._first_slots(keys)
        ids = self._ids.take(slots)
        # The first slot is free (id 0) or contains another key.
        mismatched = np.flatnonzero(self._stored.take(ids) != keys)
        pending = mismatched.compress(ids.take(mismatched) != 0)
        slots = slots.take(pending)
        pending_keys = keys.take(pending)
        while pending.size:
            slots = (slots + 1) & self._slot_mask
            slot_ids = self._ids.take(slots)
            ids[pending] = slot_ids
            is_other_key = (self._stored.take(slot_ids) != pending_keys) & (slot_ids != 0)
            unresolved = np.flatnonzero(is_other_key)
            pending = pending.take(unresolved)
            slots = slots.take(unresolved)
            pending_keys = pending_keys.take(unresolved)
        return ids

    def _append(self, keys: Keys) -> None:
        """Store distinct new keys; grow the table so that at most a quarter of its slots is used.

        So a slot costs 4 bytes, and second probes are rare.
        """
        first = self._size + 1
        self._size = self._size + keys.size
        if self._size >= self._stored.size:
            bits = int(self._size * 4 - 1).bit_length()
            grown = np.zeros((1 << (bits - 2)) + 1, np.uint64)
            grown[:first] = self._stored[:first]
            self._stored = grown
            self._allocate(bits)
            self._write_ids(self._stored[1:first], 1)
        self._stored[first : self._size + 1] = keys
        self._write_ids(keys, first)

    def _write_ids(self, keys: Keys, first: int) -> None:
        """Write the ids of distinct keys, counted from ``first``, into free slots.

        If several keys have the same slot, all but one of them try the next slot. The id that is
        written last stays, so ids are written backwards: early keys are frequent, and the first
        probe should find them.
        """
        ids = np.arange(first, first + keys.size, dtype=np.int32)[::-1]
        slots = self._first_slots(keys[::-1])
        while ids.size:
            free = np.flatnonzero(self._ids.take(slots) == 0)
            self._ids[slots.take(free)] = ids.take(free)
            unplaced = np.flatnonzero(self._ids.take(slots) != ids)
            ids = ids.take(unplaced)
            slots = (slots.take(unplaced) + 1) & self._slot_mask

    def _first_slots(self, keys: Keys) -> Ints:
        return ((keys * self._multiplier) >> self._shift).view(np.int64)

    def _allocate(self, bits: int) -> None:
        self._ids = np.zeros(1 << bits, np.int32)
        self._slot_mask = (1 << bits) - 1
        self._shift = np.uint64(64 - bits)


def group_keys(keys: AnyInts) -> tuple[Ints, Ints]:
    """Return the position of one occurrence of each distinct key, and how often the key occurs.

    Positions are ascending; both arrays have shape (n_distinct,).
    """
    unsigned = keys.astype(np.uint64, copy=False)
    occurrences = np.bincount(find_representatives(unsigned), minlength=keys.size)
    positions = np.flatnonzero(occurrences)
    return positions, occurrences.take(positions)


def find_representatives(keys: Keys) -> Ints:
    """Return for each key the position of one occurrence, the same for equal keys, shape (n,).

    Equal keys have the same slot of a table. Keys that lost their slot to another key try again
    with another multiplier. This is several times as fast as sorting.
    """
    shift = np.uint64(64 - max(int(keys.size).bit_length() + 1, 4))
    slot_owners = np.empty(1 << (64 - int(shift)), np.int64)  # read only where it was written
    result = np.empty(keys.size, np.int64)
    pending = np.arange(keys.size)
    pending_keys = keys
    while pending.size:
        slots = ((pending_keys * _random_multiplier()) >> shift).view(np.int64)
        slot_owners[slots] = pending
        winners = slot_owners.take(slots)
        result[pending] = winners
        lost = np.flatnonzero(keys.take(winners) != pending_keys)
        pending = pending.take(lost)
        pending_keys = pending_keys.take(lost)
    return result
