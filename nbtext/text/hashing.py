"""Hash tables on whole arrays: `KeyTable` maps 64-bit keys to dense ids, `group_keys` groups keys.

Both hash by a random multiplier and a shift (Dietzfelbinger et al. 1997), and probe for all keys at
once. `KeyTable` uses open addressing. Keys are compared exactly, so different keys are never
confused. The multiplier changes the number of probes, not the results.
"""

# This module calls `take` and `compress` because indexing is slower: 1.5 times with positions, 5
# times with a mask. The mode "wrap" saves the check of each index, where all indices are in range.

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nbtext.type_names import AnyInts, Ids, Ints, Keys

EMPTY_KEY = np.uint64(0)
"""The key of id 0, which is the id of free slots. This key cannot be added to a table."""

_HALF_BITS = np.uint64(32)
_LOWER_HALF = np.uint64(2**32 - 1)


def pair(first: AnyInts, second: AnyInts) -> Keys:
    """Return a non-zero key for each pair of ids below 2**31. Keys sort like the pairs."""
    upper = (first.astype(np.uint64) + np.uint64(1)) << _HALF_BITS  # + 1, so that no key is zero
    return upper | second.astype(np.uint64)


def unpair(keys: Keys) -> tuple[Ints, Ints]:
    """Return the first and the second id of each key made by `pair`."""
    first = (keys >> _HALF_BITS).astype(np.int64) - 1
    return first, (keys & _LOWER_HALF).astype(np.int64)


def _random_multiplier() -> np.uint64:
    """Return a random odd 64-bit number."""
    return np.uint64(int.from_bytes(os.urandom(8), "little") | 1)


class KeyTable:
    """Map from 64-bit keys to the ids 1, 2, 3, ….

    Slots contain ids, and keys are stored by id. So frequent keys, which usually come first, are
    close together in memory.
    """

    def __init__(self, bits: int = 12) -> None:
        """Make a table of 2**bits slots, which grows when a quarter of the slots is used."""
        self._multiplier = _random_multiplier()
        self._key_by_id = np.empty(0, np.uint64)
        """The first key is `EMPTY_KEY`."""
        self._id_by_slot: Ids
        """0 for a free slot."""
        self._size = 0
        self._allocate(bits)

    def __len__(self) -> int:
        return self._size

    @property
    def keys(self) -> Keys:
        """The keys by id, from id 1, shape (n_keys,)."""
        return self._key_by_id[1 : self._size + 1]

    def intern(self, keys: Keys) -> Ids:
        """Return the id of each key, shape (n,), and add new keys. No key may be `EMPTY_KEY`."""
        ids = self.find(keys)
        unknown = np.flatnonzero(ids == 0)
        if unknown.size:
            new_keys = keys.take(unknown)
            # Only the representative of equal keys gets a new id. Its other occurrences copy it.
            # Representatives are positions in ``new_keys``, and so are the indices of ``new_ids``.
            representatives = find_representatives(new_keys)
            represents_itself = representatives == np.arange(new_keys.size)
            distinct = np.flatnonzero(represents_itself)
            first_id = self._size + 1
            new_ids = np.empty(new_keys.size, np.int32)
            new_ids[distinct] = np.arange(first_id, first_id + distinct.size)
            self._append(new_keys.take(distinct))
            ids[unknown] = new_ids.take(representatives)
        return ids

    def find(self, keys: Keys) -> Ids:
        """Return the id of each key, 0 for unknown keys, shape (n,)."""
        slots = self._find_first_slots(keys)
        ids = self._id_by_slot.take(slots, mode="wrap")
        # A mismatched slot is free (`EMPTY_KEY` is not equal to any of the keys), so the key is
        # unknown; or it has the id of another key. Then the search continues in the next slot.
        mismatched = np.flatnonzero(self._key_by_id.take(ids, mode="wrap") != keys)
        pending = mismatched.compress(ids.take(mismatched) != 0)
        slots = slots.take(pending)
        pending_keys = keys.take(pending)
        while pending.size:
            slots = (slots + 1) & self._slot_mask
            slot_ids = self._id_by_slot.take(slots)
            ids[pending] = slot_ids
            is_other_key = (self._key_by_id.take(slot_ids) != pending_keys) & (slot_ids != 0)
            unresolved = np.flatnonzero(is_other_key)
            pending = pending.take(unresolved)
            slots = slots.take(unresolved)
            pending_keys = pending_keys.take(unresolved)
        return ids

    def _append(self, keys: Keys) -> None:
        """Store distinct new keys, and grow the table if over a quarter of its slots is used.

        Slots have only 4 bytes, so three quarters can be free, and second probes are rare.
        """
        first_id = self._size + 1
        self._size += keys.size
        if self._size > self._max_size:
            # the smallest table with at least four slots for each key
            self._allocate(bits=int(self._size * 4 - 1).bit_length())
            self._write_ids(self._key_by_id[1:first_id], first_id=1)
        self._key_by_id[first_id : self._size + 1] = keys
        self._write_ids(keys, first_id)

    def _write_ids(self, keys: Keys, first_id: int) -> None:
        """Write the ids of distinct keys, counted from ``first_id``, into free slots.

        If several keys have the same slot, all but one key try the next slot. The id that is
        written last stays, so ids are written backwards: early keys are frequent, and the first
        probe should find them.
        """
        ids = np.arange(first_id, first_id + keys.size, dtype=np.int32)[::-1]
        slots = self._find_first_slots(keys[::-1])
        while ids.size:
            free = np.flatnonzero(self._id_by_slot.take(slots) == 0)
            self._id_by_slot[slots.take(free)] = ids.take(free)
            unplaced = np.flatnonzero(self._id_by_slot.take(slots) != ids)
            ids = ids.take(unplaced)
            slots = (slots.take(unplaced) + 1) & self._slot_mask

    def _find_first_slots(self, keys: Keys) -> Ints:
        """Return the first slot to probe for each key: the upper bits of key times multiplier."""
        return ((keys * self._multiplier) >> self._shift).view(np.int64)

    def _allocate(self, bits: int) -> None:
        """Replace all slots by 2**bits free slots, with space for a quarter as many keys."""
        n_slots = 1 << bits
        self._max_size = n_slots // 4
        # zeros take no memory until they are written to
        key_by_id = np.zeros(self._max_size + 1, np.uint64)
        key_by_id[: self._key_by_id.size] = self._key_by_id
        self._key_by_id = key_by_id
        self._id_by_slot = np.zeros(n_slots, np.int32)
        self._slot_mask = n_slots - 1
        self._shift = np.uint64(64 - bits)


def group_keys(keys: AnyInts) -> tuple[Ints, Ints]:
    """Return the position of one occurrence of each distinct key, and how often the key occurs.

    Positions are ascending. Both arrays have the shape (n_distinct,).
    """
    unsigned = keys.astype(np.uint64, copy=False)
    occurrences = np.bincount(find_representatives(unsigned), minlength=keys.size)
    positions = np.flatnonzero(occurrences)
    return positions, occurrences.take(positions)


def find_representatives(keys: Keys) -> Ints:
    """Return for each key the position of one occurrence, the same for equal keys, shape (n,).

    Equal keys have the same slot of a table. The key that is written last owns the slot. Other keys
    try again with another multiplier. This is several times as fast as sorting.
    """
    # two to four times as many slots as keys
    bits = int(keys.size).bit_length() + 1
    shift = np.uint64(64 - bits)
    slot_owners = np.empty(1 << bits, np.int64)  # read only where it is written to
    representatives = np.empty(keys.size, np.int64)
    pending = np.arange(keys.size)
    pending_keys = keys
    while pending.size:
        slots = ((pending_keys * _random_multiplier()) >> shift).view(np.int64)
        slot_owners[slots] = pending
        owners = slot_owners.take(slots)
        representatives[pending] = owners  # overwritten later if the owner is another key
        without_slot = np.flatnonzero(keys.take(owners) != pending_keys)
        pending = pending.take(without_slot)
        pending_keys = pending_keys.take(without_slot)
    return representatives
