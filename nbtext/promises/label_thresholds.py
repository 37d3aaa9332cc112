"""A threshold for each label of documents that may have several: the one under which its F1 over many documents is expected to be greatest.

The probability from which giving the label is expected to raise F1 is half of the greatest expected F1 itself: Z. Lipton, C. Elkan, B. Naryanaswamy,
Optimal thresholding of classifiers to maximize F1 measure (2014), theorem 1. It is computed from posteriors of left-out documents, not from their labels:
of a rare label there are too few to count hits by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nbtext.calibration import LeftOutPosteriors


def label_thresholds(posteriors: LeftOutPosteriors) -> tuple[float, ...]:
    """Return the probability from which each label is given: F/2, F = max_n 2 Σ_{d≤n} p_d / (n + Σ_d p_d) over the documents in order of p."""
    p = np.sort(np.exp(posteriors.log_posterior), axis=0)[::-1]
    expected = p.cumsum(axis=0)
    f1 = 2 * expected / (np.arange(1, len(p) + 1)[:, np.newaxis] + expected[-1])
    return tuple((f1.max(axis=0) / 2).tolist())
