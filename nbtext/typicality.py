"""How typical a document is of what the model was trained on: its log-likelihood per token against that of training documents.

Short documents scatter more than long ones, so a document is compared with those of about its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]

BANDS = 12
"""Bands of length: 1 token, 2 to 3, 4 to 7, and so on; the last has no end."""

LEVELS = np.array((0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0))
"""Shares of documents at which quantiles are kept."""

FEWEST = 50
"""Documents that a band needs; a smaller one is filled up with those nearest in length."""


@dataclass(frozen=True, eq=False)
class Typicality:
    """For each band of length the quantiles of the log-likelihood per token of training documents, shape (BANDS, n_levels), in nats."""

    quantiles: Floats

    @classmethod
    def of(cls, per_token: Floats, tokens: Whole) -> Typicality | None:
        """From documents that the model has not seen; None if fewer than `FEWEST` are possible at all."""
        usable = np.isfinite(per_token) & (tokens > 0)  # maximum likelihood finds most new documents impossible
        per_token, tokens = per_token[usable], tokens[usable]
        if len(tokens) < FEWEST:
            return None
        rows = []
        for band in range(BANDS):
            middle = np.log2(tokens) - (band + 0.5)
            inside = _band(tokens) == band
            if np.count_nonzero(inside) < FEWEST:
                inside = np.argsort(np.abs(middle), kind="stable")[:FEWEST]
            rows.append(np.quantile(per_token[inside], LEVELS).round(9))
        return cls(np.array(rows))

    def share_below(self, per_token: Floats, tokens: Whole) -> Floats:
        """The share of training documents of about the same length that are less likely per token, shape (n_docs,); 1 without tokens.

        Between the quantiles kept it is interpolated; 0 for a document less likely than all of them.
        """
        bands = _band(np.maximum(tokens, 1))
        shares = np.ones(len(tokens))
        for band in np.unique(bands).tolist():
            here = (bands == band) & (tokens > 0)
            shares[here] = np.interp(per_token[here], self.quantiles[band], LEVELS)
        return shares


def _band(tokens: Whole) -> Whole:
    bands: Whole = np.minimum(np.frexp(tokens)[1] - 1, BANDS - 1).astype(np.int64)
    return bands
