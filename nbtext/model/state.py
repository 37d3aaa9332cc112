"""A model as plain settings and arrays, as a model file has them, and back.

`nbtext.store` checks the form of what comes from a file. Here its meaning is checked: `ModelError` unless training could have made it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from nbtext import typicality
from nbtext.attributes import LARGEST, LARGEST_COUNT, SMALLEST, Attributes
from nbtext.calibration import Calibration
from nbtext.classifiers.base import class_prior
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.counting import Analysis
from nbtext.counts.documents import LARGEST_HASH, MOST_ENTRIES, MOST_TERMS, CountedDocuments, DocumentSample
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.moments import Moments
from nbtext.counts.statistics import ClassStatistics
from nbtext.counts.vocabulary import Vocabulary
from nbtext.errors import ModelError, UsageError
from nbtext.model.training import Learnt, classifier, is_possible_smoothing, looked_up, own_pseudo_counts
from nbtext.ragged import offsets
from nbtext.settings import Declared, Reading, Settings
from nbtext.text.hashing import unpair
from nbtext.typicality import BANDS, LEVELS, Profile, Spread, Typicality

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


Kind = TypeVar("Kind", bound=Declared)

MOST = 2**53
"""Counts stay below this, so that sums are exact in int64 and in float64."""


def row_bounds(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Where rows of these lengths, none of them 0, begin, and where the last ends."""
    lengths = whole(lengths)
    require(lengths.min(initial=1) >= 1, "a term or class is empty")
    return offsets(lengths)


def utf8(array: NDArray[Any]) -> str:
    """The text of an array of bytes."""
    require(array.dtype == np.uint8, "its text is not bytes")
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError:
        raise ModelError("the model is malformed: its text is not UTF-8") from None


def whole(array: NDArray[Any]) -> NDArray[np.int64]:
    """The whole numbers of an array whose sum stays exact."""
    require(array.dtype.kind == "u", "its numbers are not whole")
    total = float(array.sum(dtype=np.float64))
    require(total < MOST, "its counts are too large")
    return array.astype(np.int64)


def narrow(array: NDArray[np.int64]) -> NDArray[Any]:
    """The array in the narrowest unsigned type that holds its largest element; raises `UsageError` for counts that `whole` would not take back."""
    if float(array.sum(dtype=np.float64)) >= MOST:
        raise UsageError("the counts are too large to stay exact: their sum must be below 2^53", hint="the model is as it was")
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def require(condition: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise `ModelError` unless the condition holds."""
    if not condition:
        raise ModelError(f"the model is malformed: {otherwise}")


MOST_DIGITS = 2000
"""Of the whole number in an exact sum: the square of a large number in units of the square of a small one has some 500."""


def values_to_plain(moments: Moments, of_sample: NDArray[np.float64] | None) -> dict[str, NDArray[Any]]:
    """How many values there are, their sums and those of their squares, each a line ``n e`` for n / 2ᵉ, and the values of the sample."""
    sums = (total for part in (moments.sums, moments.squares) for total in part.ravel().tolist())
    lines = "".join(f"{total.numerator} {total.denominator.bit_length() - 1}\n" for total in sums)
    return {
        "values": narrow(moments.documents.ravel()),
        "value_sums": np.frombuffer(lines.encode(), np.uint8),
        "sample_values": np.empty(0) if of_sample is None else of_sample.ravel(),
    }


def moments_from_plain(part: Mapping[str, NDArray[Any]], class_documents: NDArray[np.int64], attributes: Attributes) -> Moments:
    """The moments of the counts and numbers; raises `ModelError` unless training could have made them."""
    documents, sums = whole(part["values"]), [_fraction(line) for line in utf8(part["value_sums"]).splitlines()]
    shape = (class_documents.size, len(attributes.numbers))
    require(documents.size == shape[0] * shape[1], "its values do not fit its attributes")
    require(len(sums) == 2 * documents.size, "its sums do not fit its attributes")
    halves = (np.array(half, object).reshape(shape) for half in (sums[: documents.size], sums[documents.size :]))
    moments = Moments(documents.reshape(shape), *halves)
    require(bool(np.all(moments.documents <= class_documents[:, np.newaxis])), "there are more values than documents")
    require(moments.are_possible(), "its sums are not those of numbers")
    require(bool(np.all(moments.squares <= moments.documents.astype(object) * int(LARGEST) ** 2)), "its numbers are too large")
    of_counts = moments.sums[:, : len(attributes.counts)].ravel().tolist()
    require(all(total >= 0 and total.denominator == 1 for total in of_counts), "its sums are not those of counts")
    return moments


def sample_values_from_plain(part: Mapping[str, NDArray[Any]], n_documents: int, attributes: Attributes) -> NDArray[np.float64]:
    """The values of sampled documents, shape (n_documents, n_columns); raises `ModelError` unless documents could have had them."""
    n_columns, values = len(attributes.numbers), part["sample_values"]
    require(values.size == n_documents * n_columns, "its sample does not fit its attributes")
    require(not values.size or values.dtype == np.float64, "its sample has values that are no numbers")
    values = values.astype(np.float64).reshape(n_documents, n_columns)
    counts, numbers = np.split(values, [len(attributes.counts)], axis=1)
    size = np.abs(numbers)
    require(bool(np.all(np.isnan(size) | (size == 0) | ((size >= SMALLEST) & (size <= LARGEST)))), "its sample has an impossible number")
    require(
        bool(np.all(np.isnan(counts) | ((counts >= 0) & (counts < LARGEST_COUNT) & (counts == np.floor(counts))))),
        "its sample has an impossible count",
    )
    return values


def _fraction(line: str) -> Fraction:
    whole_number, _, power = line.partition(" ")
    digits = whole_number.removeprefix("-")
    possible = (
        digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS and power.isascii() and power.isdigit() and len(power) <= 4
    )
    require(possible, "a sum is no number")
    return Fraction(int(whole_number), 1 << int(power))


LEARNT_ARRAYS = frozenset({"selected", "curve_places", "curve_shares", "typicality", "answers"})


LEARNT_SETTINGS = frozenset({"smoothing", "temperature", "calibration", "profile"})


FITTED = "fitted_"
"""What the names of a classifier's own arrays begin with."""


FIGURES = {"log_loss": sys.float_info.max, "brier": 2.0, "ece": 1.0}
"""What a calibration is judged by, and the largest value of each."""


def learnt_to_plain(learnt: Learnt) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays."""
    calibration = learnt.calibration
    settings: dict[str, Any] = {
        "smoothing": learnt.smoothing,
        "temperature": {"scale": calibration.scale, "exponent": calibration.exponent},
        "calibration": learnt.judgement,
        "profile": None if learnt.profile is None else {name: list(spread) for name, spread in learnt.profile.figures.items()},
    }
    arrays: dict[str, NDArray[Any]] = {
        "selected": np.empty(0, np.uint8) if learnt.selected.all() else learnt.selected.view(np.uint8),
        "curve_places": calibration.curve[0],
        "curve_shares": calibration.curve[1],
        **{FITTED + name: array for name, array in learnt.fitted.items()},
        "typicality": np.empty(0) if learnt.typicality is None else learnt.typicality.quantiles.ravel(),
        "answers": np.empty(0, np.uint8) if learnt.profile is None else narrow(learnt.profile.answers),
    }
    return settings, arrays


def learnt_from_plain(
    settings: Mapping[str, Any], part: Mapping[str, NDArray[Any]], training: Settings, n_terms: int, n_classes: int
) -> Learnt:
    """What all of `LEARNT_SETTINGS` and `LEARNT_ARRAYS` describe; raises `ModelError` unless ``training``, the options, could have made it."""
    require(_is_number(settings["smoothing"], 0, MOST), "its smoothing is no number from 0")
    require(is_possible_smoothing(settings["smoothing"], n_terms, training), "its smoothing is not what its settings say")
    selected = np.ones(n_terms, np.bool_)
    if part["selected"].size:
        require(part["selected"].dtype.kind == "u" and part["selected"].size == n_terms, "its selection does not fit its terms")
        require(part["selected"].max() <= 1, "its selection is neither yes nor no")
        selected = part["selected"].astype(np.bool_)
    judgement = settings["calibration"]
    require(judgement is None or _is_judgement(judgement), "its calibration has no figures")
    fitted = {name.removeprefix(FITTED): array for name, array in part.items() if name.startswith(FITTED)}
    require(
        all(array.dtype.kind == "f" and bool(np.isfinite(array).all()) for array in fitted.values()), "its classifier's numbers are none"
    )
    calibration, typicality = _calibration(settings["temperature"], part), _typicality(part["typicality"])
    profile = _profile(settings["profile"], part["answers"], n_classes)
    return Learnt(selected, float(settings["smoothing"]), calibration, judgement, typicality, profile, fitted)


def _calibration(temperature: object, part: Mapping[str, NDArray[Any]]) -> Calibration:
    require(isinstance(temperature, dict) and set(temperature) == {"scale", "exponent"}, "its temperature has not scale and exponent")
    scale, exponent = temperature["scale"], temperature["exponent"]  # type: ignore[index]
    require(_is_number(scale, sys.float_info.min, sys.float_info.max) and _is_number(exponent, -MOST, MOST), "its temperature is no number")
    places, shares = part["curve_places"].astype(np.float64), part["curve_shares"].astype(np.float64)
    require(places.size == shares.size and places.size != 1, "its calibration curve has not two coordinates")
    require(bool(np.isfinite(places).all()) and bool(np.all(np.diff(places) >= 0)), "its calibration curve does not go on")
    require(bool(np.all((shares > 0) & (shares <= 1))) and bool(np.all(np.diff(shares) >= 0)), "its calibration curve does not rise")
    calibration = Calibration(float(scale), float(exponent), (places, shares))
    require(calibration.is_possible, "its temperature or curve is out of range")
    return calibration


def _typicality(array: NDArray[Any]) -> Typicality | None:
    if not array.size:
        return None
    require(array.dtype.kind == "f" and array.size == BANDS * LEVELS.size, "its likelihoods are not as many as there are quantiles")
    quantiles = array.astype(np.float64).reshape(BANDS, LEVELS.size)
    require(bool(np.all(np.abs(quantiles) < MOST)) and bool(np.all(np.diff(quantiles) >= 0)), "its likelihoods do not rise")
    return Typicality(quantiles)


def _profile(figures: object, answers: NDArray[Any], n_classes: int) -> Profile | None:
    if figures is None:
        require(not answers.size, "its answers are those of no documents")
        return None
    require(isinstance(figures, dict) and set(figures) == set(typicality.FIGURES), "its profile has other figures")
    spreads = {name: spread for name, spread in figures.items() if _is_spread(spread)}  # type: ignore[attr-defined]
    require(len(spreads) == len(typicality.FIGURES), "its profile is no spread")
    require(answers.size == n_classes, "its answers do not fit its classes")
    return Profile({name: Spread(n, float(mean), float(deviation)) for name, (n, mean, deviation) in spreads.items()}, whole(answers))


def _is_spread(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    documents, mean, deviation = value
    return type(documents) is int and 0 <= documents < MOST and _is_number(mean, -MOST, MOST) and _is_number(deviation, 0, MOST)


def _is_judgement(value: object) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"documents", "before", "after"}
        and type(value["documents"]) is int
        and 0 < value["documents"] < MOST
        and all(isinstance(side, dict) and set(side) == set(FIGURES) for side in (value["before"], value["after"]))
        and all(_is_number(side[name], 0, most) for side in (value["before"], value["after"]) for name, most in FIGURES.items())
    )


def _is_number(value: object, least: float, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


COUNTS_ARRAYS = frozenset({
    "terms", "term_lengths", "ngrams", "term_cells", "cell_classes", "cell_counts", "cell_documents",
    "classes", "class_lengths", "class_documents",
    "sample_hashes", "sample_classes", "sample_entries", "sample_terms", "sample_counts",
})  # fmt: skip


VALUES = frozenset({"values", "value_sums", "sample_values"})
"""The arrays of numbers beside the texts, where there are any."""


def counts_to_plain(counts: CorpusCounts) -> dict[str, NDArray[Any]]:
    """Arrays, each in the narrowest type that holds it."""
    statistics, documents = counts.statistics, counts.sample.documents
    classes = [label.encode() for label in statistics.classes]
    values = {} if statistics.moments is None else values_to_plain(statistics.moments, documents.matrix.values)
    return {
        "terms": np.frombuffer(statistics.vocabulary.text, np.uint8),
        "term_lengths": narrow(np.diff(statistics.vocabulary.bounds)),
        "ngrams": statistics.vocabulary.pairs,
        "term_cells": narrow(np.diff(statistics.term_offsets)),
        "cell_classes": narrow(statistics.cell_classes),
        "cell_counts": narrow(statistics.cell_counts),
        "cell_documents": narrow(statistics.cell_documents),
        "classes": np.frombuffer(b"".join(classes), np.uint8),
        "class_lengths": narrow(np.array([len(label) for label in classes])),
        "class_documents": narrow(statistics.class_documents),
        "sample_hashes": documents.hashes,
        "sample_classes": narrow(documents.classes),
        "sample_entries": narrow(documents.matrix.entries),
        "sample_terms": narrow(documents.matrix.terms),
        "sample_counts": narrow(documents.matrix.counts),
        **values,
    }


def counts_from_plain(part: Mapping[str, NDArray[Any]], sample_size: int, sample_bound: int, attributes: Attributes) -> CorpusCounts:
    """The counts that all of `COUNTS_ARRAYS` and `VALUES` describe; raises `ModelError` unless training could have made them."""
    statistics = _statistics(part)
    if attributes.numbers:
        statistics = replace(statistics, moments=moments_from_plain(part, statistics.class_documents, attributes))
    else:
        require(not any(part[name].size for name in VALUES), "it has values of no attribute")
    statistics = replace(statistics, attributes=attributes)
    return CorpusCounts(statistics, _sample(part, statistics, sample_size, sample_bound))


def _sample(part: Mapping[str, NDArray[Any]], statistics: ClassStatistics, size: int, bound: int) -> DocumentSample:
    require(part["sample_hashes"].dtype.kind == "u", "its sample's hashes are not whole numbers")
    hashes, entries = part["sample_hashes"].astype(np.uint64), offsets(whole(part["sample_entries"]))
    classes, terms, counts = (whole(part[name]) for name in ("sample_classes", "sample_terms", "sample_counts"))
    require(hashes.size == classes.size == entries.size - 1 <= min(size, statistics.n_documents), "its sample does not fit its size")
    require(entries[-1] == terms.size == counts.size <= MOST_ENTRIES, "its sample does not fit its terms")
    require(
        classes.max(initial=0) < statistics.n_classes and terms.max(initial=-1) < statistics.n_terms,
        "its sample has unknown terms or classes",
    )
    require(np.diff(entries).max(initial=0) <= MOST_TERMS and counts.min(initial=1) >= 1, "its sample holds impossible documents")
    rising = np.diff(terms) > 0
    inner = entries[1:-1]
    rising[inner[(inner > 0) & (inner < terms.size)] - 1] = True
    require(bool(rising.all()) and bool(np.all(hashes[1:] >= hashes[:-1])), "its sample is not sorted")
    require(not hashes.size or int(hashes[-1]) <= bound, "its sample exceeds its bound")
    matrix = DocumentTermMatrix(entries, terms, counts, np.zeros(classes.size, np.int64))
    if statistics.moments is not None:
        matrix = matrix._replace(values=sample_values_from_plain(part, classes.size, statistics.attributes))
    return DocumentSample(CountedDocuments(matrix, classes, hashes), size, bound)


def _statistics(part: Mapping[str, NDArray[Any]]) -> ClassStatistics:
    vocabulary = _vocabulary(part)
    labels, bounds = utf8(part["classes"]).encode(), row_bounds(part["class_lengths"])
    require(_fit(labels, bounds), "its classes do not fit their lengths")
    classes = [labels[start:end].decode() for start, end in pairwise(bounds.tolist())]
    class_documents, cells, counts, documents = (
        whole(part[name]) for name in ("class_documents", "term_cells", "cell_counts", "cell_documents")
    )
    cell_classes, bounds = whole(part["cell_classes"]), offsets(cells)
    require(bool(classes) and classes == sorted(set(classes)), "its classes are not sorted and distinct")
    require(class_documents.size == len(classes) and class_documents.min() >= 1, "its classes and documents do not fit")
    require(cells.size == len(vocabulary) and cells.min(initial=1) >= 1, "its terms and cells do not fit")
    require(bounds[-1] == cell_classes.size == counts.size == documents.size, "its cells do not fit each other")
    if cell_classes.size:
        require(cell_classes.max() < len(classes), "a cell has no class")
        require(documents.min() >= 1 and bool(np.all(documents <= counts)), "a cell counts less than its documents")
        require(bool(np.all(documents <= class_documents[cell_classes])), "a cell has more documents than its class")
        rising = np.diff(cell_classes) > 0
        rising[bounds[1:-1] - 1] = True
        require(bool(rising.all()), "the cells of a term are not sorted by class")
    return ClassStatistics(vocabulary, tuple(classes), class_documents, bounds, cell_classes, counts, documents)


def _vocabulary(part: Mapping[str, NDArray[Any]]) -> Vocabulary:
    text, bounds = utf8(part["terms"]).encode(), row_bounds(part["term_lengths"])
    require(part["ngrams"].dtype.kind == "u", "its n-grams are not whole numbers")
    pairs = part["ngrams"].astype(np.uint64)
    single = bounds.size - 1
    require(_fit(text, bounds), "its terms do not fit their lengths")
    require(_sorted(text, bounds), "its terms are not sorted and distinct")
    left, last = unpair(pairs)
    require(bool(np.all(pairs[1:] > pairs[:-1])), "its n-grams are not sorted and distinct")
    require(bool(np.all((left >= 0) & (left < single + np.arange(left.size)) & (last < single))), "an n-gram has parts that are no terms")
    return Vocabulary(text, bounds, pairs)


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


def longest_ngram(vocabulary: Vocabulary) -> int:
    """Number of terms in the longest n-gram: shorter ones stand before longer ones, which refer to them."""
    left, _ = unpair(vocabulary.pairs)
    order, known = 1, vocabulary.n_single
    while known < len(vocabulary):
        known = vocabulary.n_single + int(np.searchsorted(left, known))
        order += 1
    return order


SETTINGS = frozenset({"training", "reading", "written_by", "sample_bound"}) | LEARNT_SETTINGS


CLOSED = "closed_vocabulary"
"""The setting that a pruned model has, and no other: true."""


ARRAYS = COUNTS_ARRAYS | VALUES | LEARNT_ARRAYS | {"stop_words"}
"""The arrays of a model file; an empty one is left out."""


class State(NamedTuple):
    """Everything a model is."""

    settings: Settings
    stop_list: list[str]
    counts: CorpusCounts
    learnt: Learnt
    written_by: dict[str, str]


def to_plain(state: State) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return settings and arrays for `nbtext.store.write_model_file`, each array in the narrowest type that holds it."""
    learnt, arrays = learnt_to_plain(state.learnt)
    settings = {
        "training": dict(state.settings),
        "reading": dict(state.settings.reading),
        "written_by": state.written_by,
        "sample_bound": state.counts.sample.bound,
        **learnt,
        **({CLOSED: True} if state.counts.is_closed else {}),
    }
    stop_words = np.frombuffer("\n".join(state.stop_list).encode(), np.uint8)
    return settings, {**counts_to_plain(state.counts), **arrays, "stop_words": stop_words}


def from_plain(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that plain settings and arrays describe; raises `ModelError` unless training could have made it."""
    others = set(arrays) - ARRAYS
    require(
        set(plain) - {CLOSED} == SETTINGS and all(name.startswith(FITTED) for name in others),
        "it has not the parts of a model",
    )
    part = {name: arrays.get(name, np.empty(0, np.uint8)) for name in ARRAYS | others}
    written_by = plain["written_by"]
    require(isinstance(written_by, dict) and all(isinstance(value, str) for value in written_by.values()), "its versions are not text")
    settings = _declared(Settings, plain["training"])
    settings = replace(settings, reading=_declared(Reading, plain["reading"]))
    bound = plain["sample_bound"]
    require(type(bound) is int and 0 <= bound <= LARGEST_HASH, "its sample has no bound")
    counts = counts_from_plain(part, settings.sample, bound, Attributes.of(settings.reading))
    if CLOSED in plain:
        require(plain[CLOSED] is True, "its vocabulary is neither open nor closed")
        counts = replace(counts, is_closed=True)
    stop_list = utf8(part["stop_words"]).split()
    try:
        class_prior(settings.class_prior, counts.statistics)
        learnt = learnt_from_plain(plain, part, settings, counts.statistics.n_terms, counts.statistics.n_classes)
        learnt = replace(learnt, own=own_pseudo_counts(counts.statistics, looked_up(Analysis(settings, stop_list))))
        classifier(counts.statistics, learnt, settings)  # raises if what was fitted does not fit
    except UsageError as problem:
        raise ModelError(f"the model is malformed: {str(problem)[:200]}") from None
    require(longest_ngram(counts.statistics.vocabulary) <= settings.ngrams, "its n-grams are longer than its settings say")
    return State(settings, stop_list, counts, learnt, written_by)


def _declared(kind: type[Kind], plain: Mapping[str, Any]) -> Kind:
    """Return plain settings, checked; text is UTF-8 or, as in names of files and columns, bytes that Python carries as such."""
    try:
        json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogateescape")
        return kind.of(plain)
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise ModelError(f"the model has settings that this nbtext does not know: {str(problem)[:200]}") from None
