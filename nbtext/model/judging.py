"""A model's answers against the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbtext.errors import UsageError
from nbtext.metrics import Evaluation
from nbtext.model.answers import scored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.corpus.document import Document
    from nbtext.model.text_classifier import TextClassifier


def judge(model: TextClassifier, documents: Iterable[Document]) -> Evaluation:
    """Evaluate a stream of labelled documents. Raises `UsageError` if there is not one.

    A document that maximum likelihood finds impossible under every class counts as if all classes were equally probable.
    """
    evaluation = Evaluation(model.classes_)
    for block, _, posterior, _ in scored(model, documents):
        impossible = np.isnan(posterior[:, 0])
        posterior[impossible] = -np.log(posterior.shape[1])
        evaluation.add([document.label or "" for document in block], posterior)
    if not evaluation.n:
        raise UsageError("the corpus has no documents that can be read")
    return evaluation
