"""Baselines: figures of answers that use only how frequent the classes are among the training documents."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from nbtext.metrics.outcomes import Outcomes, accuracy, f1, macro
from nbtext.metrics.results import Baselines, ClassPrior, LargestClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def baselines(classes: Sequence[str], class_documents: NDArray[np.int64], support: NDArray[np.float64]) -> Baselines:
    """Return the figures of always answering the largest class, and of always giving the shares of the training documents.

    ``class_documents``, shape (n_classes,), are those of training; ``support``, shape (n_labels,), those judged, labels that the
    classifier does not know at the end.
    """
    largest = int(class_documents.argmax())
    always = always_answering(largest, support)
    prior = class_documents / class_documents.sum()
    log_loss = prior_log_loss(prior, support)
    return Baselines(
        LargestClass(classes[largest], float(accuracy(always)), float(macro(f1(always), always))),
        ClassPrior(log_loss if isfinite(log_loss) else None, prior_brier(prior, support)),
    )


def always_answering(label: int, support: NDArray[np.float64]) -> Outcomes:
    """Return the outcomes if every document gets the same answer."""
    answered = np.zeros_like(support)
    answered[label] = support.sum()
    return Outcomes(np.where(answered > 0, support, 0.0), support, answered)


def prior_log_loss(prior: NDArray[np.float64], support: NDArray[np.float64]) -> float:
    """Return −Σ_k n_k log π_k / n in nats, the cross-entropy of the classes judged and those of training; inf if one has π_k = 0 or is unknown.

    ``prior``, shape (n_classes,), and ``support`` as in `baselines`.
    """
    padded = np.zeros_like(support)
    padded[: prior.size] = prior
    occurs = support > 0
    with np.errstate(divide="ignore"):
        return float(-(support[occurs] * np.log(padded[occurs])).sum() / support.sum()) + 0.0  # no −0


def prior_brier(prior: NDArray[np.float64], support: NDArray[np.float64]) -> float:
    """Return Σ_l π_l² − 2 Σ_k n_k π_k / n + 1, the mean Brier score (1950) of the probabilities π. Shapes as in `prior_log_loss`."""
    return float((prior**2).sum() - 2 * (support[: prior.size] * prior).sum() / support.sum() + 1)
