"""The terms that speak most for each class: those to whose mutual information with the class it adds most."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.model.report_data import ClassTerms
from nbtext.selection import CELLS_AT_ONCE, mutual_information

if TYPE_CHECKING:
    from nbtext.model.text_classifier import TextClassifier


def class_terms(model: TextClassifier, top: int, most_classes: int) -> tuple[ClassTerms, ...]:
    """For each class the ``top`` terms with the largest summand φ_jk π_k log(φ_jk / Σ_l φ_jl π_l), in nats, as far as they are above 0.

    The ``most_classes`` classes with most documents, in the model's order.
    """
    models, prior = model.language_models, model.prior
    shown = np.sort(np.argsort(-model.statistics.class_documents, kind="stable")[:most_classes])
    terms = np.flatnonzero(models.selected)
    best, values = np.empty((0, shown.size), np.int64), np.empty((0, shown.size))
    step = max(CELLS_AT_ONCE // prior.size, 1)
    for begin in range(0, terms.size, step):
        part = terms[begin : begin + step]
        summands, _ = mutual_information(models, prior, part)
        best = np.concatenate((best, np.broadcast_to(part[:, np.newaxis], (part.size, shown.size))))
        values = np.concatenate((values, summands[:, shown]))
        order = np.argsort(-values, axis=0, kind="stable")[:top]
        best, values = np.take_along_axis(best, order, axis=0), np.take_along_axis(values, order, axis=0)
    name = model.statistics.vocabulary.term
    return tuple(
        ClassTerms(
            model.classes_[label],
            tuple(
                (name(term), value) for term, value in zip(best[:, column].tolist(), values[:, column].tolist(), strict=True) if value > 0
            ),
        )
        for column, label in enumerate(shown.tolist())
    )
