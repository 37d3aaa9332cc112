"""Where the terms and classes of statistics went when new ones were made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.counts.statistics import ClassStatistics


class Numbers(NamedTuple):
    """For each old number of a term or class the new one, −1 for one that is gone."""

    terms: NDArray[np.int64]
    classes: NDArray[np.int64]

    def after(self, terms: NDArray[np.int64], classes: NDArray[np.int64]) -> Numbers:
        """The new numbers where ``terms`` and ``classes`` gave the old ones, or −1."""
        return Numbers(np.append(self.terms, -1)[terms], np.append(self.classes, -1)[classes])


class Frozen(NamedTuple):
    """Statistics, and where the terms and classes that were counted stand in them."""

    statistics: ClassStatistics
    numbers: Numbers


class Combined(NamedTuple):
    """Statistics made of two, and where the terms and classes of each stand in them."""

    statistics: ClassStatistics
    of_first: Numbers
    of_second: Numbers
