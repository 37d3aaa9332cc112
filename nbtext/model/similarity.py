"""Which classes of a model are alike, by the Jensen–Shannon divergence of their language models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.language_model.measures import jensen_shannon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.model.text_classifier import TextClassifier

MOST_CLASSES = 128
"""Classes that are compared: those with most documents. Four times as many would take sixteen times as long."""

CLOSEST = 20


def similarity(model: TextClassifier, labels: Sequence[str] = ()) -> dict[str, Any]:
    """The ``classes`` compared, the matrix of their ``divergence`` in nats, and the ``closest`` pairs, nearest first.

    Only the classes given, if any are. None for a class that has no distribution. ``left_out``: classes too many to be compared.
    """
    statistics = model.statistics
    chosen = np.array([model.classes_.index(label) for label in dict.fromkeys(labels)] or range(statistics.n_classes), np.int64)
    shown = np.sort(chosen[np.argsort(-statistics.class_documents[chosen], kind="stable")[:MOST_CLASSES]])
    divergence = jensen_shannon(model.language_models, shown)
    names = [model.classes_[number] for number in shown.tolist()]
    first, second = np.triu_indices(shown.size, 1)
    order = np.argsort(divergence[first, second], kind="stable")[:CLOSEST]
    pairs = zip(first[order].tolist(), second[order].tolist(), divergence[first, second][order].tolist(), strict=True)
    return {
        "classes": names,
        "left_out": int(chosen.size - shown.size),
        "divergence": [[value if np.isfinite(value) else None for value in row] for row in divergence.tolist()],
        "closest": [{"a": names[a], "b": names[b], "divergence": value} for a, b, value in pairs if np.isfinite(value)],
    }
