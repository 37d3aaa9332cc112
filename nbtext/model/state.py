"""A model as plain settings and arrays, and back. What comes from a file is checked here for meaning, after `nbtext.store` checked its form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.attributes import Attributes
from nbtext.classifiers.base import class_prior
from nbtext.counts.documents import LARGEST_HASH
from nbtext.errors import ModelError, UsageError
from nbtext.model.estimation import classifier, own_pseudo_counts
from nbtext.model.given_smoothing import looked_up
from nbtext.model.plain import require, utf8
from nbtext.model.plain_counts import COUNTS_ARRAYS, VALUES, counts_from_plain, counts_to_plain, longest_ngram
from nbtext.model.plain_learnt import FITTED, LEARNT_ARRAYS, LEARNT_SETTINGS, learnt_from_plain, learnt_to_plain
from nbtext.settings import READING, TRAINING, checked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.model.estimation import Learnt
    from nbtext.settings import Parameter

SETTINGS = frozenset({"training", "reading", "written_by", "sample_bound"}) | LEARNT_SETTINGS

CLOSED = "closed_vocabulary"
"""The setting that a pruned model has, and no other: true."""

ARRAYS = COUNTS_ARRAYS | VALUES | LEARNT_ARRAYS | {"stop_words"}
"""The arrays of a model file; an empty one is left out."""


class State(NamedTuple):
    """Everything a model is."""

    training: dict[str, Any]
    reading: dict[str, Any]
    stop_list: list[str]
    counts: CorpusCounts
    learnt: Learnt
    written_by: dict[str, str]


def to_plain(state: State) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays for `nbtext.store.write_model_file`, each array in the narrowest type that holds it."""
    learnt, arrays = learnt_to_plain(state.learnt)
    settings = {
        "training": state.training,
        "reading": state.reading,
        "written_by": state.written_by,
        "sample_bound": state.counts.sample.bound,
        **learnt,
        **({CLOSED: True} if state.counts.is_closed else {}),
    }
    stop_words = np.frombuffer("\n".join(state.stop_list).encode(), np.uint8)
    return settings, {**counts_to_plain(state.counts), **arrays, "stop_words": stop_words}


def from_plain(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> State:
    """The state that settings and arrays describe; raises `ModelError` unless they describe one that training could have made."""
    others = set(arrays) - ARRAYS
    require(
        set(settings) - {CLOSED} == SETTINGS and all(name.startswith(FITTED) for name in others),
        "it has not the parts of a model",
    )
    part = {name: arrays.get(name, np.empty(0, np.uint8)) for name in ARRAYS | others}
    written_by = settings["written_by"]
    require(isinstance(written_by, dict) and all(isinstance(value, str) for value in written_by.values()), "its versions are not text")
    training, reading = _parameters(settings, TRAINING, "training"), _parameters(settings, READING, "reading")
    bound = settings["sample_bound"]
    require(type(bound) is int and 0 <= bound <= LARGEST_HASH, "its sample has no bound")
    counts = counts_from_plain(part, training["sample"], bound, Attributes.of(reading))
    if CLOSED in settings:
        require(settings[CLOSED] is True, "its vocabulary is neither open nor closed")
        counts = replace(counts, is_closed=True)
    stop_list = utf8(part["stop_words"]).split()
    try:
        class_prior(training["class_prior"], counts.statistics)
        learnt = learnt_from_plain(settings, part, training, counts.statistics.n_terms, counts.statistics.n_classes)
        learnt = replace(learnt, own=own_pseudo_counts(counts.statistics, looked_up(training, stop_list, reading)))
        classifier(counts.statistics, learnt, training)  # raises if what was fitted does not fit
    except UsageError as problem:
        raise ModelError(f"the model is malformed: {str(problem)[:200]}") from None
    require(longest_ngram(counts.statistics.vocabulary) <= training["ngrams"], "its n-grams are longer than its settings say")
    return State(training, reading, stop_list, counts, learnt, written_by)


def _parameters(settings: Mapping[str, Any], table: tuple[Parameter, ...], name: str) -> dict[str, Any]:
    """The settings called ``name``, canonical; text is UTF-8 or, as in names of files and columns, bytes that Python carries as such."""
    try:
        json.dumps(settings[name], ensure_ascii=False).encode("utf-8", "surrogateescape")
        return checked(table, settings[name])
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise ModelError(f"the model has settings that this nbtext does not know: {str(problem)[:200]}") from None
