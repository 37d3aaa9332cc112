"""How often to say how far the work is."""

from __future__ import annotations

import time

REPORTED = 0.05
"""Seconds between two reports."""


class Pace:
    """Says after how many documents to report: as many as take a twentieth of a second, since they may come slowly."""

    def __init__(self) -> None:
        self._stride = 1
        self._before = time.monotonic()
        self.due = 1
        """The number of the next document to report."""

    def reported(self) -> None:
        """That one has been."""
        now = time.monotonic()
        self._stride = min(2 * self._stride, 1024) if now - self._before < REPORTED else max(self._stride // 2, 1)
        self.due, self._before = self.due + self._stride, now
