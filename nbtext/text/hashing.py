"""Hash tables on whole arrays: `KeyTable` maps 64-bit keys to dense ids, `group_keys` groups them.

Both use open addressing with multiply-shift hashing (Dietzfelbinger et al. 1997) and probe for all
keys at once. Keys are compared exactly, not as digests, so different keys are never confused. The
multiplier is random. It changes the number of probes, not the results.
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

_HALF_BITS = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)


def pair(first: AnyInts, second: AnyInts) -> Keys:
    """Return a non-zero key for each pair of ids below 2**31; keys have the order of the pairs."""
    upper = (first.astype(np.uint64) + np.uint64(1)) << _HALF_BITS  # never zero
    return upper | second.astype(np.uint64)


def unpair(keys: Keys) -> tuple[Ints, Ints]:
    """Return the first and the second id of each key made by `pair`."""
    first = (keys >> _HALF_BITS).astype(np.int64) - 1
    return first, (keys & _LOWER_HALF).astype(np.int64)


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
        self._stored = np.empty(0, np.uint64)
        """Keys by id; the key of id 0 is `EMPTY_KEY`."""
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
            new_keys = keys.take(unknown)
            representatives = find_representatives(new_keys)
            distinct = np.flatnonzero(representatives == np.arange(new_keys.size))
            first_id = self._size + 1
            new_ids = np.empty(new_keys.size, np.int32)  # read only where it is written to
            new_ids[distinct] = np.arange(first_id, first_id + distinct.size)
            self._append(new_keys.take(distinct))
            ids[unknown] = new_ids.take(representatives)
        return ids

    def find(self, keys: Keys) -> Ids:
        """Return the id of each key, 0 for unknown keys, shape (n,)."""
        slots = self._find_first_slots(keys)
        ids = self._ids.take(slots)
        # The first slot of a mismatched key is free (id 0) or contains another key.
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

        A slot costs only 4 bytes, and with so many free slots second probes are rare.
        """
        first = self._size + 1
        self._size += keys.size
        if self._size >= self._stored.size:
            # the smallest table with at least four slots for each key
            self._allocate(bits=int(self._size * 4 - 1).bit_length())
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
        slots = self._find_first_slots(keys[::-1])
        while ids.size:
            free = np.flatnonzero(self._ids.take(slots) == 0)
            self._ids[slots.take(free)] = ids.take(free)
            unplaced = np.flatnonzero(self._ids.take(slots) != ids)
            ids = ids.take(unplaced)
            slots = (slots.take(unplaced) + 1) & self._slot_mask

    def _find_first_slots(self, keys: Keys) -> Ints:
        """Return the slot in which to look for each key first: the upper bits of a product."""
        return ((keys * self._multiplier) >> self._shift).view(np.int64)

    def _allocate(self, bits: int) -> None:
        """Make 2**bits free slots, with place for a quarter as many keys; keep the stored keys."""
        # zeros take no memory until they are written to
        stored = np.zeros((1 << (bits - 2)) + 1, np.uint64)
        stored[: self._stored.size] = self._stored
        self._stored = stored
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
    # two to four times as many slots as keys
    bits = max(int(keys.size).bit_length() + 1, 4)
    shift = np.uint64(64 - bits)
    slot_owners = np.empty(1 << bits, np.int64)  # read only where it is written to
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
