"""Compare two models without documents: settings, classes, and the terms whose probability in a class changed most."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from nbtext.counts.matrix import in_blocks
from nbtext.counts.vocabulary import displayed_term, is_category, is_stop_word
from nbtext.inspection.overview import AttributeOverview, CategoriesOverview, Overview, overview
from nbtext.inspection.terms import ClassSize, class_size
from nbtext.language_model.measures import CACHED_CELLS, jensen_shannon_parts
from nbtext.model.state import to_plain
from nbtext.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nbtext.language_model.dirichlet import LanguageModels
    from nbtext.model.text_classifier import TextClassifier
    from nbtext.type_names import Floats, Whole

Value_co = TypeVar("Value_co", covariant=True)

SIZES = ("documents", "tokens", "encoded_lines", "terms", "selected_terms", "smoothing", "terms_with_own_smoothing")
"""Fields of an overview that are compared as sizes."""


@dataclass(frozen=True)
class Change(Generic[Value_co]):
    """A value in both models; None in a model that does not have it."""

    old: Value_co | None
    new: Value_co | None


@dataclass(frozen=True)
class _CameAndWent(Generic[Value_co]):
    """Items of the new model only, and items of the old model only."""

    came: Value_co
    went: Value_co


@dataclass(frozen=True)
class ClassChange(Change[ClassSize]):
    """The size of a class in both models, and how far its language model changed."""

    divergence: float | None
    """Jensen–Shannon divergence, in nats; None for a class that one of the models does not have."""


@dataclass(frozen=True)
class Differences:
    """The differences between two models; settings, sizes and attributes that are equal are left out."""

    identical: bool
    """Both would be the same file, except for the versions that wrote them."""
    settings: dict[str, Change[object]]
    """Settings of training and of reading."""
    written_by: dict[str, Change[str]]
    stop_words: _CameAndWent[list[str]]
    sizes: dict[str, Change[float]]
    vocabulary: _CameAndWent[int]
    """Numbers of terms."""
    attributes: dict[str, Change[AttributeOverview | CategoriesOverview]]
    classes: dict[str, ClassChange]
    """All classes of either model."""
    terms: list[_TermChange]


class _TermChange(NamedTuple):
    """A term whose probability in a class changed."""

    term: str
    label: str
    old: float
    """φ_jk; 0 if the model does not know the term or does not use it."""
    new: float
    share: float
    """Its weighted part of the divergence of the two models' classes, in nats."""


class _VocabularyChange(NamedTuple):
    """The change of language models, and the terms that it comes from."""

    divergence: dict[str, float]
    """Of each class that is in both models, in nats."""
    terms: list[_TermChange]
    vocabulary: _CameAndWent[int]


def differences(old: TextClassifier, new: TextClassifier, top: int) -> Differences:
    """Return what differs between two models, with the ``top`` terms of `changed_terms`. Terms are compared by name."""
    changed = changed_terms(old, new, top)
    old_words, new_words = set(old.analysis.stop_list), set(new.analysis.stop_list)
    before, after = overview(old, 0), overview(new, 0)
    return Differences(
        identical=_same(old, new),
        settings=_changes({**before.training, **before.reading}, {**after.training, **after.reading}),
        written_by=_changes(before.written_by, after.written_by),
        stop_words=_CameAndWent(sorted(new_words - old_words), sorted(old_words - new_words)),
        sizes=_changes(_sizes(before, old), _sizes(after, new)),
        vocabulary=changed.vocabulary,
        attributes=_changes(before.attributes, after.attributes),
        classes={
            label: ClassChange(_class_size(old, label), _class_size(new, label), changed.divergence.get(label))
            for label in sorted({*old.classes, *new.classes})
        },
        terms=changed.terms,
    )


def changed_terms(old: TextClassifier, new: TextClassifier, top: int) -> _VocabularyChange:
    """Return JS(φ_k, φ'_k) of each class that is in both models, in nats, and the terms that add most to Σ_k ½(π_k + π'_k) JS(φ_k, φ'_k).

    The part of a term in the divergence is the change of log φ weighted by probability, from the middle of both, so that it is at least 0, the
    same in both directions, and finite for a term that only one of the models has. Source: E. Pechenick, C. Danforth, P. Dodds, Characterizing the
    Google Books corpus (2015), who rank words so.
    """
    labels = [label for label in old.classes if label in set(new.classes)]
    vocabulary, *ids = old.fitted.statistics.vocabulary.union(new.fitted.statistics.vocabulary)
    sides = []
    for model, new_ids in zip((old, new), ids, strict=True):
        own = np.full(len(vocabulary), -1, np.int64)
        own[new_ids] = np.arange(new_ids.size)
        sides.append(_Side(model.fitted.language_models, own, np.array([model.classes.index(label) for label in labels], np.int64)))
    weights = (old.fitted.classifier.prior[sides[0].classes] + new.fitted.classifier.prior[sides[1].classes]) / 2
    divergence = np.zeros(len(labels))
    best, values = np.empty(0, np.int64), np.empty((3, 0))
    for terms in in_blocks(np.arange(len(vocabulary) if labels else 0), len(labels), CACHED_CELLS):
        p, q = (side.probability(terms) for side in sides)
        parts = jensen_shannon_parts(p, q)
        divergence += parts.sum(axis=0)
        shares = (parts * weights).ravel()
        places = np.flatnonzero(shares > 0)
        best = np.concatenate((best, terms[0] * len(labels) + places))
        values = np.concatenate((values, np.stack((shares[places], p.ravel()[places], q.ravel()[places]))), axis=1)
        order = np.lexsort((best, -values[0]))[:top]
        best, values = best[order], values[:, order]
    changes = [
        _TermChange(displayed_term(vocabulary.term(place // len(labels))), labels[place % len(labels)], before, after, share)
        for place, (share, before, after) in zip(best.tolist(), values.T.tolist(), strict=True)
    ]
    of_texts = ~is_category(vocabulary) & ~is_stop_word(vocabulary)
    came, went = (int(np.count_nonzero(of_texts & (side.own < 0))) for side in sides)
    return _VocabularyChange(dict(zip(labels, divergence.tolist(), strict=True)), changes, _CameAndWent(came, went))


class _Side(NamedTuple):
    """One of the models, seen from the vocabulary of both."""

    models: LanguageModels
    own: Whole
    """The number of each term of the common vocabulary in this model, or −1."""
    classes: Whole
    """The numbers of the common classes in this model."""

    def probability(self, terms: Whole) -> Floats:
        """Return φ_jk of terms of the common vocabulary, shape (n, n_classes in both), 0 for those that this model does not use."""
        numbers = self.own[terms]
        has = np.flatnonzero((numbers >= 0) & np.append(self.models.selected, False)[numbers])
        table = np.zeros((numbers.size, self.classes.size))
        table[has] = self.models.probability(numbers[has])[:, self.classes]
        return table


def _same(old: TextClassifier, new: TextClassifier) -> bool:
    (settings, arrays), (other_settings, other_arrays) = (to_plain(replace(model.fitted, written_by={})) for model in (old, new))
    return (
        settings == other_settings
        and arrays.keys() == other_arrays.keys()
        and all(np.array_equal(array, other_arrays[name], equal_nan=array.dtype.kind == "f") for name, array in arrays.items())
    )


def _changes(old: Mapping[str, Value_co], new: Mapping[str, Value_co]) -> dict[str, Change[Value_co]]:
    return {name: Change(old.get(name), new.get(name)) for name in {**old, **new} if old.get(name) != new.get(name)}


def _sizes(found: Overview, model: TextClassifier) -> dict[str, float]:
    calibration = model.fitted.learnt.calibration
    return {
        **{name: getattr(found, name) for name in SIZES},
        "temperature_scale": calibration.scale,
        "temperature_exponent": calibration.exponent,
        "sample": found.sample.documents,
    }


def _class_size(model: TextClassifier, label: str) -> ClassSize | None:
    return ClassSize(*class_size(model, model.classes.index(label))) if label in model.classes else None
