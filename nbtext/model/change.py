"""What becomes of a trained model without training it again: models added up, classes renamed, terms left out.

All of it is arithmetic on whole numbers, so a changed model is the one that training on the documents that are left would have made; only the
sample stays a sample: a document that it had no room for does not come back when another leaves it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

from nbtext.attributes import KINDS
from nbtext.counts.counting import check_label
from nbtext.errors import UsageError, counted
from nbtext.model.estimation import require_additive
from nbtext.settings import COUNTING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.model.text_classifier import TextClassifier

SIMILAR = 0.6
"""How like a class's name a wrong one must be to be taken for it, from 0 to 1."""


def merged(models: Sequence[TextClassifier], names: Sequence[str]) -> TextClassifier:
    """The model of all their documents, otherwise as the first is; ``names`` are for messages.

    Raises `UsageError` if one does not count as the first does, or if one cannot be changed exactly.
    """
    first = models[0]
    for model, name in zip(models, names, strict=True):
        difference = counting_difference(first, model)
        if difference is not None:
            hint = f"train both with the same {difference}"
            raise UsageError(f"cannot be added to {names[0]}: they do not count alike, by {difference}", where=name, hint=hint)
        try:
            require_additive(model.parameters)
        except UsageError as problem:
            problem.where = name
            raise
    return copy(first).learn(reduce(add, (model.counts for model in models)))


def relabelled(model: TextClassifier, old: str, new: str) -> TextClassifier:
    """The model if all documents of one class had another label; if there is a class of that label the two become one.

    So do their weights, where the class prior was given. Raises `UsageError` if there is no class of the old label, or the new one is none.
    """
    require_additive(model.parameters)
    classes = model.classes_
    if old not in classes:
        from difflib import get_close_matches

        similar = get_close_matches(old, classes, cutoff=SIMILAR) or classes[:10]
        raise UsageError(f"there is no class {old!r}", hint=f"there {'are' if len(similar) > 1 else 'is'} {', '.join(similar)}")
    check_label(new)
    counts = model.counts.relabelled([new if label == old else label for label in classes])
    prior = model.parameters["class_prior"]
    if not isinstance(prior, str) and old != new:
        prior = {label: weight for label, weight in prior.items() if label != old}
        prior[new] = prior.get(new, 0.0) * (new in classes) + model.parameters["class_prior"][old]
    return copy(model).learn(counts, class_prior=prior)


def pruned(model: TextClassifier, min_df: int, max_df: float) -> TextClassifier:
    """The model if no document had ever held a term that fewer than ``min_df`` of them hold, or more than a share ``max_df``.

    What n-grams that stay are made of stays too. What is learnt later is counted over the terms that are left: with other terms back in, a
    document from before could not be taken away again. Raises `UsageError` if no term would be left.
    """
    require_additive(model.parameters)
    statistics = model.statistics
    documents = statistics.term_documents
    kept = (documents >= min_df) & (documents <= max_df * statistics.n_documents)
    if statistics.n_terms and not kept.any():
        raise UsageError(f"none of the {counted(statistics.n_terms, 'term')} is left", hint="lower --min-df or raise --max-df")
    return copy(model).learn(replace(model.counts.restricted(kept), is_closed=True))


def counting_difference(one: TextClassifier, other: TextClassifier) -> str | None:
    """The option by which two models do not count alike, if there is one."""
    for name in COUNTING:
        if name != "stop_words" and one.parameters[name] != other.parameters[name]:
            return "--" + name.replace("_", "-")
    for kind in KINDS:
        if one.reading[kind] != other.reading[kind]:
            return f"--{kind}"
    if (one.reading["format"] == "svmlight") != (other.reading["format"] == "svmlight"):
        return "--format svmlight"
    return None if one.stop_list == other.stop_list else "--stop-words"
