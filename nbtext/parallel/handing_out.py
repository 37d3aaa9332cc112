"""What processes that work side by side share: tasks, of which each takes one when it is free, and a count of what they have done."""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_TICKETS = 1024
"""So many of four bytes each fit into a pipe, however small the system makes it."""

_TICKET = array("I").itemsize
_SLOT = struct.Struct("2q")


class Tasks(Protocol):
    """The numbers below some ``n``, each for one of several processes."""

    def of(self, process: int) -> Iterator[int]:
        """Those for one process, in rising order."""

    def withdraw(self) -> None:
        """Hand out no more, as far as that can be done."""

    def close(self) -> None:
        """Nobody will ask for any more."""


class Tickets:
    """Tasks for processes forked from this one, for whichever asks first.

    They lie in a pipe as four bytes each. To take some out of a pipe is atomic, needs no lock that a dying process could hold, and
    at the end of the tickets there is nothing left to read.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._run = -(-n // MOST_TICKETS) or 1
        """Consecutive tasks on a ticket."""
        self._reading, writing = os.pipe()
        os.write(writing, array("I", range(0, n, self._run)).tobytes())
        os.close(writing)  # so that it has an end

    def of(self, process: int) -> Iterator[int]:
        """Those that this process is quick enough to take."""
        del process
        while ticket := os.read(self._reading, _TICKET):
            first = array("I", ticket)[0]
            yield from range(first, min(first + self._run, self._n))

    def withdraw(self) -> None:
        """Take all that are left."""
        while os.read(self._reading, _TICKET * MOST_TICKETS):
            pass

    def close(self) -> None:
        """Nobody reads them any more."""
        os.close(self._reading)


class Shares:
    """Tasks for processes that share nothing with this one: as many for each, dealt out beforehand."""

    def __init__(self, n: int, processes: int) -> None:
        self._n, self._processes = n, processes

    def of(self, process: int) -> Iterator[int]:
        """From the process's own number on."""
        return iter(range(process, self._n, self._processes))

    def withdraw(self) -> None:
        """The others cannot be told."""

    def close(self) -> None:
        """There is nothing to close."""


class Tally:
    """How many documents and bytes each process has read; seen by all if they were forked from the one that made it."""

    def __init__(self, processes: int, *, seen_by_all: bool) -> None:
        self._processes = processes
        size = _SLOT.size * processes
        self._memory: mmap.mmap | bytearray = mmap.mmap(-1, size) if seen_by_all else bytearray(size)

    def note(self, process: int, documents: int, read: int) -> None:
        """What one process has done so far."""
        _SLOT.pack_into(self._memory, process * _SLOT.size, documents, read)

    @property
    def total(self) -> tuple[int, int]:
        """Documents and bytes of all."""
        slots = [_SLOT.unpack_from(self._memory, process * _SLOT.size) for process in range(self._processes)]
        return sum(documents for documents, _ in slots), sum(read for _, read in slots)


class Share:
    """What one process has of some work: its tasks, and a place to say how far it is."""

    def __init__(self, tasks: Tasks, tally: Tally, process: int, heard: Callable[[int, int], object] | None = None) -> None:
        """``heard`` is told, with each report of this process, the documents and bytes read by all."""
        self._tasks, self._tally, self._process, self._heard = tasks, tally, process, heard

    def __iter__(self) -> Iterator[int]:
        return self._tasks.of(self._process)

    def withdraw(self) -> None:
        """Have the other processes begin no more tasks."""
        self._tasks.withdraw()

    def report(self, documents: int, read: int) -> None:
        """How many documents and bytes this process has read so far."""
        self._tally.note(self._process, documents, read)
        if self._heard is not None:
            self._heard(*self._tally.total)
