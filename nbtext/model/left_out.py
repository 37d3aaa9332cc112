"""Calibrated posteriors of training documents by models that were estimated without them, from which promises about new documents follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import require

if TYPE_CHECKING:
    from nbtext.type_names import Arrays, Floats, Numbers, Whole

LEFT_OUT_ARRAYS = frozenset({"left_out_nats", "left_out_classes", "left_out_weights"})
"""The arrays in the model file, of models that cannot leave documents out again once they are trained."""


class LeftOutPosteriors(NamedTuple):
    """What models of other documents say of documents of the sample, and their true classes."""

    log_posterior: Floats
    """log p(C_k | d), calibrated, in nats, shape (n_docs, n_classes); −inf for the class of an only document, which the others do not know."""
    classes: Whole
    """The true classes, shape (n_docs,)."""
    weights: Floats
    """The weights of the documents, shape (n_docs,); 1 if they have none."""

    @classmethod
    def of(cls, log_posterior: Floats, classes: Whole, weights: Floats) -> LeftOutPosteriors:
        """Return the documents for which any class is possible."""
        possible = ~np.isnan(log_posterior[:, 0])
        return cls(log_posterior[possible], classes[possible], weights[possible])

    def arrays(self) -> dict[str, Numbers]:
        """Return the arrays of the model file: −log p in single precision, the classes, and the weights unless all are 1."""
        weights = np.empty(0) if np.all(self.weights == 1) else self.weights
        nats = np.maximum(-self.log_posterior, 0).astype(np.float32).ravel()
        classes = self.classes.astype(np.min_scalar_type(int(self.classes.max(initial=0))))
        return {"left_out_classes": classes, "left_out_nats": nats, "left_out_weights": weights}

    @classmethod
    def of_arrays(cls, arrays: Arrays, n_classes: int) -> LeftOutPosteriors | None:
        """Return the posteriors that had these `arrays`, None if they are empty; raise `ModelError` if none can have had them."""
        classes, nats, weights = (arrays[name] for name in sorted(LEFT_OUT_ARRAYS))
        if not (classes.size or nats.size or weights.size):
            return None
        fit = classes.dtype.kind == "u" and classes.max(initial=0) < n_classes
        fit = fit and nats.dtype == np.float32 and nats.size == classes.size * n_classes
        require(fit, "its documents left out do not fit its classes")
        require(nats.min(initial=0) >= 0, "the probabilities of its documents left out are none")
        weights = weights if weights.size else np.ones(classes.size)
        fit = weights.dtype.kind == "f" and weights.size == classes.size
        require(fit and np.all((weights > 0) & (weights < np.inf)), "the weights of its documents left out are none")
        return cls(-nats.astype(np.float64).reshape(-1, n_classes), classes.astype(np.int64), weights.astype(np.float64))
