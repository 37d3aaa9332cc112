"""The names of the figures: which way is better, between which ends they lie, and which have an interval."""

from __future__ import annotations

from math import inf

TOP = (2, 3, 5)
"""The k for which it is counted how often the true class is among the k most probable."""

MORE_IS_BETTER = {
    "n": (0.0, inf),
    "accuracy": (0.0, 1.0),
    "macro_precision": (0.0, 1.0),
    "macro_recall": (0.0, 1.0),
    "macro_f1": (0.0, 1.0),
    "micro_precision": (0.0, 1.0),
    "micro_recall": (0.0, 1.0),
    "micro_f1": (0.0, 1.0),
    "balanced_accuracy": (0.0, 1.0),
    "matthews": (-1.0, 1.0),
    **{f"top_{k}_accuracy": (0.0, 1.0) for k in TOP},
    "macro_roc_auc": (0.0, 1.0),
    "macro_average_precision": (0.0, 1.0),
    "coverage": (0.0, 1.0),
    "answered_accuracy": (0.0, 1.0),
}
"""Figures of which one wants much, with the least and the most that they can be."""

LESS_IS_BETTER = {"log_loss": (0.0, inf), "brier": (0.0, 2.0), "ece": (0.0, 1.0), "mean_cost": (-inf, inf)}
"""Figures of which one wants little, likewise."""

WITHOUT_INTERVAL = ("n", "macro_roc_auc", "macro_average_precision")
"""Figures without an interval: a count, and two that would need a new ranking for every replicate."""
