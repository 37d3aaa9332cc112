"""A model as plain settings and arrays, and back. What comes from a file is checked here for meaning, after `nbtext.store` checked its form."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.classifiers.class_prior import class_prior
from nbtext.counts.statistics import ClassStatistics
from nbtext.counts.vocabulary import Vocabulary
from nbtext.errors import ModelError, UsageError
from nbtext.model.estimation import Learnt
from nbtext.parameters import READING, TRAINING, checked
from nbtext.ragged import offsets
from nbtext.text.key_table import unpair

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from nbtext.parameters import Parameter

MOST = 2**53
"""Counts stay below this, so that sums are exact in int64 and in float64."""

ARRAYS = frozenset({
    "terms", "term_lengths", "ngrams", "term_cells", "cell_classes", "cell_counts", "cell_documents",
    "classes", "class_lengths", "class_documents", "selected", "stop_words",
})  # fmt: skip
"""The arrays of a model file, all of unsigned whole numbers; an empty one is left out."""

SETTINGS = frozenset({"training", "reading", "smoothing", "written_by"})


class State(NamedTuple):
    """Everything a model is."""

    training: dict[str, Any]
    reading: dict[str, Any]
    stop_list: list[str]
    statistics: ClassStatistics
    learnt: Learnt
    written_by: dict[str, str]


def to_plain(state: State) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays for `nbtext.store.write_model_file`, each array in the narrowest type that holds it."""
    statistics = state.statistics
    vocabulary = statistics.vocabulary
    classes = [label.encode() for label in statistics.classes]
    arrays = {
        "terms": np.frombuffer(vocabulary.text, np.uint8),
        "term_lengths": _narrow(np.diff(vocabulary.bounds)),
        "ngrams": vocabulary.pairs,
        "term_cells": _narrow(np.diff(statistics.term_offsets)),
        "cell_classes": _narrow(statistics.cell_classes),
        "cell_counts": _narrow(statistics.cell_counts),
        "cell_documents": _narrow(statistics.cell_documents),
        "classes": np.frombuffer(b"".join(classes), np.uint8),
        "class_lengths": _narrow(np.array([len(label) for label in classes])),
        "class_documents": _narrow(statistics.class_documents),
        "selected": np.empty(0, np.uint8) if state.learnt.selected.all() else state.learnt.selected.view(np.uint8),
        "stop_words": np.frombuffer("\n".join(state.stop_list).encode(), np.uint8),
    }
    settings = {
        "training": state.training,
        "reading": state.reading,
        "smoothing": state.learnt.smoothing,
        "written_by": state.written_by,
    }
    return settings, arrays


def from_plain(settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> State:
    """The state that settings and arrays describe; raises `ModelError` unless they describe one that training could have made."""
    _require(set(settings) == SETTINGS and set(arrays) <= ARRAYS, "it has not the parts of a model")
    _require(all(array.dtype.kind == "u" for array in arrays.values()), "its numbers are not whole")
    smoothing, written_by = settings["smoothing"], settings["written_by"]
    _require(type(smoothing) in (int, float) and 0 <= smoothing < MOST, "its smoothing is no number from 0")
    _require(isinstance(written_by, dict) and all(isinstance(value, str) for value in written_by.values()), "its versions are not text")
    training, reading = _parameters(settings, TRAINING, "training"), _parameters(settings, READING, "reading")
    part = {name: arrays.get(name, np.empty(0, np.uint8)) for name in ARRAYS}
    statistics = _statistics(part)
    try:
        class_prior(training["class_prior"], statistics)
    except UsageError as problem:
        raise ModelError(f"the model is malformed: {str(problem)[:200]}") from None
    _require(_longest_ngram(statistics.vocabulary) <= training["ngrams"], "its n-grams are longer than its settings say")
    selected = np.ones(statistics.n_terms, np.bool_)
    if part["selected"].size:
        _require(part["selected"].size == statistics.n_terms and part["selected"].max() <= 1, "its selection does not fit its terms")
        selected = part["selected"].astype(np.bool_)
    return State(training, reading, _text(part["stop_words"]).split(), statistics, Learnt(selected, float(smoothing)), written_by)


def _parameters(settings: Mapping[str, Any], table: tuple[Parameter, ...], name: str) -> dict[str, Any]:
    """The settings called ``name``, canonical; text is UTF-8 or, as in names of files and columns, bytes that Python carries as such."""
    try:
        json.dumps(settings[name], ensure_ascii=False).encode("utf-8", "surrogateescape")
        return checked(table, settings[name])
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise ModelError(f"the model has settings that this nbtext does not know: {str(problem)[:200]}") from None


def _statistics(part: Mapping[str, NDArray[Any]]) -> ClassStatistics:
    vocabulary = _vocabulary(part)
    labels, bounds = _text(part["classes"]).encode(), _bounds(part["class_lengths"])
    _require(_fit(labels, bounds), "its classes do not fit their lengths")
    classes = [labels[start:end].decode() for start, end in pairwise(bounds.tolist())]
    class_documents, cells, counts, documents = (
        _whole(part[name]) for name in ("class_documents", "term_cells", "cell_counts", "cell_documents")
    )
    cell_classes, bounds = _whole(part["cell_classes"]), offsets(cells)
    _require(bool(classes) and classes == sorted(set(classes)), "its classes are not sorted and distinct")
    _require(class_documents.size == len(classes) and class_documents.min() >= 1, "its classes and documents do not fit")
    _require(cells.size == len(vocabulary) and cells.min(initial=1) >= 1, "its terms and cells do not fit")
    _require(bounds[-1] == cell_classes.size == counts.size == documents.size, "its cells do not fit each other")
    if cell_classes.size:
        _require(cell_classes.max() < len(classes), "a cell has no class")
        _require(documents.min() >= 1 and bool(np.all(documents <= counts)), "a cell counts less than its documents")
        _require(bool(np.all(documents <= class_documents[cell_classes])), "a cell has more documents than its class")
        rising = np.diff(cell_classes) > 0
        rising[bounds[1:-1] - 1] = True
        _require(bool(rising.all()), "the cells of a term are not sorted by class")
    return ClassStatistics(vocabulary, tuple(classes), class_documents, bounds, cell_classes, counts, documents)


def _vocabulary(part: Mapping[str, NDArray[Any]]) -> Vocabulary:
    text, bounds = _text(part["terms"]).encode(), _bounds(part["term_lengths"])
    pairs = part["ngrams"].astype(np.uint64)
    single = bounds.size - 1
    _require(_fit(text, bounds), "its terms do not fit their lengths")
    _require(_sorted(text, bounds), "its terms are not sorted and distinct")
    left, last = unpair(pairs)
    _require(bool(np.all(pairs[1:] > pairs[:-1])), "its n-grams are not sorted and distinct")
    _require(bool(np.all((left >= 0) & (left < single + np.arange(left.size)) & (last < single))), "an n-gram has parts that are no terms")
    return Vocabulary(text, bounds, pairs)


def _longest_ngram(vocabulary: Vocabulary) -> int:
    """Number of terms in the longest n-gram: shorter ones stand before longer ones, which refer to them."""
    left, _ = unpair(vocabulary.pairs)
    order, known = 1, vocabulary.n_single
    while known < len(vocabulary):
        known = vocabulary.n_single + int(np.searchsorted(left, known))
        order += 1
    return order


def _sorted(text: bytes, bounds: NDArray[np.int64]) -> bool:
    """Whether rows of text rise strictly by their bytes, compared eight bytes at a time as big-endian numbers."""
    words = np.ndarray((len(text) + 1,), ">u8", buffer=text + bytes(8), strides=(1,))
    keep = np.array([(1 << 64) - (1 << 8 * (8 - n)) for n in range(9)], np.uint64)
    lengths = np.diff(bounds)
    here = np.arange(lengths.size - 1)
    done = 0
    while here.size:
        first, second = (
            words[np.minimum(bounds[row] + done, len(text))].astype(np.uint64) & keep[np.clip(lengths[row] - done, 0, 8)]
            for row in (here, here + 1)
        )
        if np.any(first > second):
            return False
        here = here[first == second]
        done += 8
        ended = lengths[here + 1] <= done  # equal up to the end of the second, which must then be the longer one, by zeros
        if np.any(lengths[here[ended] + 1] <= lengths[here[ended]]):
            return False
        here = here[~ended]
    return True


def _fit(text: bytes, bounds: NDArray[np.int64]) -> bool:
    """Whether rows of UTF-8 end where it ends, and none begins inside a character."""
    return bool(bounds[-1] == len(text) and not np.any((np.frombuffer(text, np.uint8)[bounds[:-1]] & 0xC0) == 0x80))


def _bounds(lengths: NDArray[Any]) -> NDArray[np.int64]:
    lengths = _whole(lengths)
    _require(lengths.min(initial=1) >= 1, "a term or class is empty")
    return offsets(lengths)


def _text(array: NDArray[Any]) -> str:
    _require(array.dtype == np.uint8, "its text is not bytes")
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError:
        raise ModelError("the model is malformed: its text is not UTF-8") from None


def _whole(array: NDArray[Any]) -> NDArray[np.int64]:
    total = float(array.sum(dtype=np.float64))
    _require(total < MOST, "its counts are too large")
    return array.astype(np.int64)


def _narrow(array: NDArray[np.int64]) -> NDArray[Any]:
    """The array in the narrowest unsigned type that holds its largest element."""
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def _require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not condition:
        raise ModelError(f"the model is malformed: {otherwise}")
