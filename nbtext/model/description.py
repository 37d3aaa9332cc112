"""A model in a line, and what to know of it before relying on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.model.alike import alike
from nbtext.parameters import TRAINING

if TYPE_CHECKING:
    from nbtext.model.text_classifier import TextClassifier


def describe(model: TextClassifier) -> str:
    """Its size and smoothing."""
    statistics = model.statistics
    attributes = f", {len(statistics.attributes.names):,} attributes" if statistics.attributes.names else ""
    n_own = len(model.learnt.own)
    own = f", {n_own:,} {'term with its own' if n_own == 1 else 'terms with their own'}" if n_own else ""
    return (
        f"{statistics.n_classes:,} classes, {statistics.n_documents:,} documents, {int(statistics.class_tokens.sum()):,} tokens, "
        f"{np.count_nonzero(model.learnt.selected):,} terms{attributes}, smoothing {model.learnt.smoothing:.3g}{own}"
    )


def warnings(model: TextClassifier) -> list[str]:
    """What makes it less useful than one may think."""
    found = []
    if model.statistics.n_classes == 1:
        found.append(f"there is only one class, {model.classes_[0]}; every answer will be that")
    if model.statistics.attributes.names:
        from nbtext.model.attributes import without_values

        if empty := without_values(model):
            found.append(f"no document has a value of {', '.join(empty)}")
    elif not model.learnt.selected.any():
        found.append("the documents hold no terms; every answer will be the same")
    if similar := alike(model.classes_):
        found.append(f"labels that differ only in case, spaces or Unicode form: {similar}")
    classifier = model.parameters["classifier"]
    idle = [each.option for each in TRAINING if each.only_for not in (None, classifier) and model.parameters[each.name] != each.default]
    if idle:
        found.append(f"--classifier {classifier} makes no use of {', '.join(idle)}")
    return [*found, *model.classifier.warnings()]
