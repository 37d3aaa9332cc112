"""How two models differ in themselves, without a document: settings, classes, and the terms whose probability in a class moved most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.vocabulary import displayed_term
from nbtext.inspection.terms import attributes_overview
from nbtext.language_model.measures import CACHED_CELLS, jensen_shannon_parts
from nbtext.model.state import State, to_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.model.text_classifier import TextClassifier

    Floats = NDArray[np.float64]
    Whole = NDArray[np.int64]


def differences(old: TextClassifier, new: TextClassifier, top: int) -> dict[str, Any]:
    """What differs, as plain values: ``old`` and ``new`` or None for what a model has not.

    ``identical``: both would be the same file, but for the versions that wrote them. ``settings`` of training and reading, ``stop_words``,
    ``sizes`` and what was learnt, ``attributes`` beside the text: only those that differ. ``classes``: documents, tokens and prior of all in either; for those in both the
    ``divergence`` of their language models, in nats. ``terms``: the ``top`` pairs of a term and a class that moved most, see `moved_terms`; terms are
    compared by what they are called.
    """
    moved = moved_terms(old, new, top)
    return {
        "identical": _same(old, new),
        "settings": _differing({**old.parameters, **old.reading}, {**new.parameters, **new.reading}),
        "written_by": _differing(old.written_by, new.written_by),
        "stop_words": _came_and_went(set(old.stop_list), set(new.stop_list)),
        "sizes": _differing(_sizes(old), _sizes(new)),
        "vocabulary": {"came": moved.came, "went": moved.went},
        "attributes": _differing(attributes_overview(old), attributes_overview(new)),
        "classes": {
            label: {"old": _of_class(old, label), "new": _of_class(new, label), "divergence": moved.divergence.get(label)}
            for label in sorted({*old.classes_, *new.classes_})
        },
        "terms": [move._asdict() for move in moved.terms],
    }


class Move(NamedTuple):
    """A term whose probability in a class is another now."""

    term: str
    label: str
    old: float
    """φ_jk; 0 if the model does not know the term or does not use it."""
    new: float
    share: float
    """What it adds to the divergence of the two models' classes, in nats."""


class Moved(NamedTuple):
    """How far language models moved, and by which terms."""

    divergence: dict[str, float]
    """Of each class that is in both models, in nats."""
    terms: list[Move]
    came: int
    """Terms that training of the new model met and that of the old did not."""
    went: int


def moved_terms(old: TextClassifier, new: TextClassifier, top: int) -> Moved:
    """JS(φ_k, φ'_k) of each class that is in both models, in nats, and the terms that add most to Σ_k ½(π_k + π'_k) JS(φ_k, φ'_k).

    The part of a term in the divergence is the change of log φ weighted by probability, from the middle of both, so that it is at least 0, the
    same in both directions, and finite for a term that only one of the models has. Source: E. Pechenick, C. Danforth, P. Dodds, Characterizing the
    Google Books corpus (2015), who rank words so.
    """
    labels = [label for label in old.classes_ if label in set(new.classes_)]
    vocabulary, *ids = old.statistics.vocabulary.union(new.statistics.vocabulary)
    sides = [
        _Side(
            model.language_models, _inverse(new_ids, len(vocabulary)), np.array([model.classes_.index(label) for label in labels], np.int64)
        )
        for model, new_ids in zip((old, new), ids, strict=True)
    ]
    weights = (old.prior[sides[0].classes] + new.prior[sides[1].classes]) / 2
    divergence = np.zeros(len(labels))
    best, values = np.empty(0, np.int64), np.empty((3, 0))
    step = max(CACHED_CELLS // max(len(labels), 1), 1)
    for begin in range(0, len(vocabulary) if labels else 0, step):
        p, q = (side.probability(begin, min(begin + step, len(vocabulary))) for side in sides)
        parts = jensen_shannon_parts(p, q)
        divergence += parts.sum(axis=0)
        shares = (parts * weights).ravel()
        places = np.flatnonzero(shares > 0)
        best = np.concatenate((best, begin * len(labels) + places))
        values = np.concatenate((values, np.stack((shares[places], p.ravel()[places], q.ravel()[places]))), axis=1)
        order = np.lexsort((best, -values[0]))[:top]
        best, values = best[order], values[:, order]
    moves = [
        Move(displayed_term(vocabulary.term(place // len(labels))), labels[place % len(labels)], before, after, share)
        for place, (share, before, after) in zip(best.tolist(), values.T.tolist(), strict=True)
    ]
    came, went = (len(vocabulary) - model.statistics.n_terms for model in (old, new))
    return Moved(dict(zip(labels, divergence.tolist(), strict=True)), moves, came, went)


class _Side(NamedTuple):
    """One of the models, seen from the vocabulary of both."""

    models: LanguageModels
    own: Whole
    """For each term of both the number in this one, or −1."""
    classes: Whole

    def probability(self, begin: int, end: int) -> Floats:
        """φ_jk of terms of both by number, shape (n, n_classes in both), 0 for those that this model is not over."""
        numbers = self.own[begin:end]
        has = np.flatnonzero((numbers >= 0) & np.append(self.models.selected, False)[numbers])
        found = np.zeros((numbers.size, self.classes.size))
        found[has] = self.models.probability(numbers[has])[:, self.classes]
        return found


def _inverse(numbers: Whole, size: int) -> Whole:
    found = np.full(size, -1, np.int64)
    found[numbers] = np.arange(numbers.size)
    return found


def _same(old: TextClassifier, new: TextClassifier) -> bool:
    (settings, arrays), (other_settings, other_arrays) = (_plain(model) for model in (old, new))
    written = {"written_by": None}
    return (
        {**settings, **written} == {**other_settings, **written}
        and arrays.keys() == other_arrays.keys()
        and all(np.array_equal(array, other_arrays[name], equal_nan=array.dtype.kind == "f") for name, array in arrays.items())
    )


def _plain(model: TextClassifier) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    return to_plain(State(model.settings, model.stop_list, model.counts, model.learnt, model.written_by))


def _differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    names = dict.fromkeys([*old, *new])
    return {name: {"old": old.get(name), "new": new.get(name)} for name in names if old.get(name) != new.get(name)}


def _came_and_went(old: set[str], new: set[str]) -> dict[str, list[str]]:
    return {"came": sorted(new - old), "went": sorted(old - new)}


def _sizes(model: TextClassifier) -> dict[str, Any]:
    statistics, learnt = model.statistics, model.learnt
    return {
        "documents": statistics.n_documents,
        "tokens": int(statistics.class_tokens.sum()),
        "terms": statistics.n_terms,
        "selected_terms": model.language_models.n_selected,
        "smoothing": learnt.smoothing,
        "terms_with_own_smoothing": len(learnt.own),
        "temperature_scale": learnt.calibration.scale,
        "temperature_exponent": learnt.calibration.exponent,
        "sample": len(model.counts.sample.documents),
    }


def _of_class(model: TextClassifier, label: str) -> dict[str, Any] | None:
    if label not in model.classes_:
        return None
    number, statistics = model.classes_.index(label), model.statistics
    return {
        "documents": int(statistics.class_documents[number]),
        "tokens": int(statistics.class_tokens[number]),
        "prior": float(model.prior[number]),
    }
