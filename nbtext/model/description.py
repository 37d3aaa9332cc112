"""A model in a line, and what to know of it before relying on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.categories import is_category_of
from nbtext.errors import counted
from nbtext.model.alike import alike
from nbtext.settings import TRAINING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.classifiers.base import Classifier
    from nbtext.counts.statistics import ClassStatistics
    from nbtext.model.estimation import Learnt


def describe(statistics: ClassStatistics, learnt: Learnt) -> str:
    """Return the size and the smoothing of a model in one line."""
    attributes = f", {counted(len(statistics.attributes.names), 'attribute')}" if statistics.attributes.names else ""
    n_own = len(learnt.own)
    own = f", {counted(n_own, 'term')} with {'its' if n_own == 1 else 'their'} own" if n_own else ""
    return (
        f"{counted(statistics.n_classes, 'class')}, {counted(statistics.n_documents, 'document')}, "
        f"{counted(int(statistics.class_tokens.sum()), 'token')}, {counted(int(np.count_nonzero(learnt.selected)), 'term')}{attributes}, smoothing {learnt.smoothing:.3g}{own}"
    )


def warnings(classifier: Classifier, statistics: ClassStatistics, learnt: Learnt, parameters: Mapping[str, Any]) -> list[str]:
    """List what makes a model less useful than its user may think."""
    found = []
    if statistics.n_classes == 1:
        found.append(f"there is only one class, {statistics.classes[0]}; every answer will be that")
    if statistics.attributes.names:
        if empty := _without_values(statistics):
            found.append(f"no document has a value of {', '.join(empty)}")
    elif not learnt.selected.any():
        found.append("the documents hold no terms; every answer will be the same")
    if similar := alike(statistics.classes):
        found.append(f"labels that differ only in case, spaces or Unicode form: {similar}")
    chosen = parameters["classifier"]
    idle = [each.option for each in TRAINING if each.only_for not in (None, chosen) and parameters[each.name] != each.default]
    if idle:
        found.append(f"--classifier {chosen} makes no use of {', '.join(idle)}")
    return [*found, *classifier.warnings()]


def _without_values(statistics: ClassStatistics) -> list[str]:
    """List the attributes of which no training document has a value."""
    names = statistics.attributes
    empty = [name for name in names.categorical if not is_category_of(statistics.vocabulary, name).any()]
    if statistics.moments is not None:
        documents = statistics.moments.documents.sum(axis=0).tolist()
        empty += [name for name, n in zip(names.numbers, documents, strict=True) if not n]
    return empty
