"""The perplexity of the language model of each class on held-out documents of that class."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.counting import document_counter
from nbtext.errors import UsageError
from nbtext.language_model.measures import HeldOut, held_out
from nbtext.text.analyzer import blocks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.model.text_classifier import TextClassifier


def perplexities(model: TextClassifier, labelled: Iterable[tuple[str, bytes]]) -> dict[str, Any]:
    """Of each class, and of ``all`` of them together: documents, tokens, unknown ones among them, log-likelihood in nats, perplexity.

    ``labelled``: a stream of (label, document), documents as the model was trained on. Each counts under the language model of its own class, whatever
    the classifier. ``unknown_labels``: documents by label that the model has no class of. None for a number that is not finite, and for
    the perplexity of no tokens. Raises `UsageError` if there is no document of a class of the model.
    """
    number = {label: place for place, label in enumerate(model.classes_)}
    counter = document_counter(model.parameters, model.stop_list, model.statistics.vocabulary, model.reading)
    sums, others = HeldOut.empty(len(number)), Counter[str]()
    for block in blocks(labelled, lambda document: len(document[1])):
        others.update(label for label, _ in block if label not in number)
        known = [(number[label], text) for label, text in block if label in number]
        if known:
            sums = sums.and_of(
                held_out(model.language_models, counter.count([text for _, text in known]).matrix(), np.array([k for k, _ in known]))
            )
    if not sums.documents.any():
        raise UsageError("the corpus has no document of a class that the model knows")
    whole = HeldOut(*(column.sum(keepdims=True) for column in sums))
    return {
        "classes": {label: _plain(sums, place) for label, place in number.items()},
        "all": _plain(whole, 0),
        "unknown_labels": dict(sorted(others.items())),
    }


def _plain(sums: HeldOut, place: int) -> dict[str, Any]:
    log_likelihood, of_tokens = sums.log_likelihood[place].item(), sums.perplexity[place].item()
    return {
        "documents": int(sums.documents[place]),
        "tokens": int(sums.tokens[place]),
        "unknown": int(sums.unknown[place]),
        "log_likelihood": log_likelihood if np.isfinite(log_likelihood) else None,
        "perplexity": of_tokens if np.isfinite(of_tokens) else None,
    }
