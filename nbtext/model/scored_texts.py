"""What a model says of some texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ScoredTexts(NamedTuple):
    """What the model says of some texts; the first two of shape (n_docs, n_classes), the others (n_docs,)."""

    scores: NDArray[np.float64]
    """log p(d, C_k), in nats."""
    log_posterior: NDArray[np.float64]
    """log p(C_k | d), calibrated, in nats."""
    lengths: NDArray[np.int64]
    """Tokens of terms that count."""
    unknown: NDArray[np.int64]
    """Other tokens: of terms that the model does not know or that do not count."""
