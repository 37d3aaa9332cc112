"""The schema of the model file: each array and each setting once, with its kind, size and range.

What is written, read and checked follows from it, and so do the tables in ``docs/model-file.md``. What concerns several arrays at once is checked in
`nbtext.model.state`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from nbtext.counts.documents import LARGEST_HASH
from nbtext.counts.statistics import MOST_OF_SEEDS
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.errors import ModelError, UsageError, malformed, require
from nbtext.prediction.calibration import LARGEST_LOG
from nbtext.prediction.typicality import FIGURES
from nbtext.text.surface_forms import PAIRS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtext.type_names import Arrays, Numbers, Parsed

LABEL_KINDS: dict[str, Callable[[str], object]] = {
    "text": str,
    "bool": {"False": False, "True": True}.__getitem__,
    "int": int,
    "float": float,
}
"""The types that labels may have, each with the function from the name of a class to its label."""

MOST = 2**53
"""Counts stay below this, so that sums are exact in int64 and in float64."""

TEXT = "UTF-8"
WHOLE = "whole numbers"
LONG = "long whole numbers"
KEYS = "64 bits"
REALS = "finite numbers"
SINGLES = "numbers of single precision"
VALUES = "numbers or nan"
DTYPES = {TEXT: np.uint8, REALS: np.float64, SINGLES: np.float32, VALUES: np.float64}
"""Of the kinds that have one; the others are unsigned."""


class Array(NamedTuple):
    """An array of the model file; an empty one is left out."""

    name: str
    kind: str
    """Whole numbers have the narrowest unsigned type that holds them, and a sum below `MOST` unless they are long."""
    size: str
    """Arrays of the same size have as many elements; empty for any number."""
    content: str
    least: int = 0
    below: str = ""
    """The numbers stay below this size; empty for no bound."""
    when: str = ""
    """Empty for an array that all models have, unless it is empty."""


ARRAYS = {
    each.name: each
    for each in (
        Array("terms", TEXT, "", "the vocabulary, sorted by bytes"),
        Array("term_lengths", WHOLE, "single terms", "bytes of each term", least=1),
        Array("ngrams", KEYS, "n-grams", "(n − 1)-gram and last term of each n-gram, sorted"),
        Array("labels", TEXT, "", "the labels, sorted"),
        Array(
            "label_lengths",
            WHOLE,
            "labels",
            "bytes of each label; the first is empty if "
            "documents have several labels, and stands for all documents",
        ),
        Array(
            "column_labels",
            WHOLE,
            "columns",
            "label of each column; columns are sorted by label, then layer",
            below="labels",
            when="several layers",
        ),
        Array(
            "column_layers",
            WHOLE,
            "columns",
            "layer of each column; if it is missing, column k is label k",
            below="layers",
            when="several layers",
        ),
        Array(
            "column_documents", WHOLE, "columns", "documents of each column, at least one", least=1
        ),
        Array("term_cells", WHOLE, "terms", "number of columns in which each term occurs"),
        Array(
            "cell_columns",
            WHOLE,
            "cells",
            "for each term these columns, ascending",
            below="columns",
        ),
        Array("cell_counts", WHOLE, "cells", "how often the term occurs there", least=1),
        Array("cell_documents", WHOLE, "cells", "in how many documents", least=1),
        Array(
            "cell_logs",
            LONG,
            "cells",
            "the sum of log(1 + n) over these documents, in units of 2⁻³⁰",
            when="--weighting log",
        ),
        Array(
            "values",
            WHOLE,
            "",
            "for each column and number beside the texts, the documents that have one",
            when="numbers",
        ),
        Array(
            "value_sums",
            TEXT,
            "",
            "sums of these numbers, then of their squares, lines `n e` for n / 2^e",
            when="numbers",
        ),
        Array(
            "sample_hashes",
            KEYS,
            "documents",
            "the sampled documents, ascending: 64 bits of the SHA-256 of the text",
        ),
        Array(
            "sample_labels",
            WHOLE,
            "",
            "label of each, or of several all but the first label of "
            "the model, document after document",
            below="labels",
        ),
        Array(
            "sample_label_counts",
            WHOLE,
            "documents",
            "number of labels of each",
            when="several labels",
        ),
        Array(
            "sample_layers",
            WHOLE,
            "documents",
            "layer of each",
            below="layers",
            when="several layers of documents",
        ),
        Array("sample_entries", WHOLE, "documents", "number of different terms of each"),
        Array(
            "sample_terms", WHOLE, "entries", "the terms of each document, ascending", below="terms"
        ),
        Array("sample_counts", WHOLE, "entries", "how often it has them", least=1),
        Array(
            "sample_weights",
            WHOLE,
            "documents",
            "weights in thousandths",
            least=1,
            when="weighted documents",
        ),
        Array(
            "sample_values",
            VALUES,
            "",
            "the numbers beside the text of each document, nan if missing",
            when="numbers",
        ),
        Array(
            "selected",
            WHOLE,
            "terms",
            "1 for each term that the classifier uses",
            below="yes or no",
            when="some are not used",
        ),
        Array(
            "label_slopes",
            REALS,
            "label calibration",
            "slope of each label but the first",
            when="several labels",
        ),
        Array(
            "label_offsets",
            REALS,
            "label calibration",
            "its offset, in nats",
            when="several labels",
        ),
        Array(
            "label_priors",
            REALS,
            "label calibration",
            "its log odds before a text is read",
            when="several labels",
        ),
        Array(
            "typicality",
            REALS,
            "",
            "log-likelihood per token of left-out documents: 20 "
            "quantiles for each of 12 bands of length",
            when="likelihoods",
        ),
        Array(
            "answers",
            WHOLE,
            "labels",
            "how many left-out documents of the sample got each label as answer",
            when="calibration",
        ),
        Array(
            "left_out_labels",
            WHOLE,
            "",
            "label of each left-out document, or its labels",
            below="labels",
            when="it cannot be left out again",
        ),
        Array(
            "left_out_label_counts",
            WHOLE,
            "left out",
            "number of labels of each",
            when="the same, several labels",
        ),
        Array(
            "left_out_nats",
            SINGLES,
            "",
            "−log of the probability of each label, document after document",
            when="the same",
        ),
        Array(
            "left_out_weights",
            REALS,
            "left out",
            "the weights of these documents",
            when="the same, weighted",
        ),
        Array("stop_words", TEXT, "", "the stop list"),
    )
}
"""By name; beside them a classifier has its own, of finite numbers."""

FITTED = "fitted_"
"""Prefix of the names of a classifier's own arrays."""

RESERVED = {
    "sample_times": "time of each sampled document, in seconds",
}
"""Arrays of later versions, which need no other format: this one refuses them."""


def encoded(values: Mapping[str, Numbers | bytes | None]) -> Arrays:
    """Return values as the arrays of a model file; raise `UsageError` for counts that `decoded` would refuse."""
    return {
        name: _encoded(value, ARRAYS[name].kind)
        for name, value in values.items()
        if value is not None
    }


def _encoded(value: Numbers | bytes, kind: str) -> Numbers:
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    if kind == WHOLE and float(value.sum(dtype=np.float64)) >= MOST:
        raise UsageError(
            "the counts are too large to stay exact: their sum must be below 2^53",
            hint="the model is as it was",
        )
    return (
        value.astype(np.min_scalar_type(int(value.max(initial=0))))
        if kind in (WHOLE, LONG)
        else value
    )


def decoded(arrays: Arrays, n_layers: int) -> tuple[dict[str, Any], Arrays]:
    """Return what arrays of a model file hold, by name, missing ones empty, and those of the classifier; raise `ModelError` unless they follow the schema."""
    sizes = {"layers": n_layers, "yes or no": 2}
    found = {each.name: _decoded(each, arrays.get(each.name), sizes) for each in ARRAYS.values()}
    others = {name: array for name, array in arrays.items() if name not in ARRAYS}
    if later := sorted(set(others) & set(RESERVED)):
        raise ModelError(
            f"made by a newer nbtext: it has the {RESERVED[later[0]]}", hint="upgrade nbtext"
        )
    require(all(name.startswith(FITTED) for name in others), "it has not the parts of a model")
    require(
        all(array.dtype.kind == "f" and np.isfinite(array).all() for array in others.values()),
        "its classifier's numbers are none",
    )
    return found, {name.removeprefix(FITTED): array for name, array in others.items()}


def _decoded(each: Array, array: Numbers | None, sizes: dict[str, int]) -> bytes | Numbers:
    dtype = DTYPES.get(each.kind)
    array = np.empty(0, dtype or np.uint8) if array is None else array
    require(
        array.dtype == dtype if dtype else array.dtype.kind == "u",
        f"{each.name} does not hold {each.kind}",
    )
    if each.size and (array.size or not each.when):
        size = sizes.setdefault(each.size, array.size)
        require(
            array.size == size,
            f"{each.name} has {array.size:,} elements, and there are {size:,} {each.size}",
        )
    if each.kind == TEXT:
        try:
            return array.tobytes().decode().encode()
        except UnicodeDecodeError:
            raise malformed(f"{each.name} does not hold {each.kind}") from None
    if dtype:
        require(
            each.kind != REALS or np.isfinite(array).all(), f"{each.name} does not hold {each.kind}"
        )
        return array.astype(np.float64)
    if each.kind == KEYS:
        return array.astype(np.uint64)
    could_exceed = array.size << 8 * array.itemsize >= MOST
    require(
        not could_exceed or each.kind == LONG or float(array.sum(dtype=np.float64)) < MOST,
        f"the numbers of {each.name} are too large",
    )
    least = int(array.min(initial=each.least))
    most = int(array.max(initial=0))
    require(
        each.least <= least and most < (sizes[each.below] if each.below and array.size else 2**63),
        f"{each.name} has a number out of range",
    )
    return array.astype(np.int64)


class Range(NamedTuple):
    """Numbers in a range."""

    least: float = -MOST
    most: float = MOST
    is_whole: bool = False


class OrNull(NamedTuple):
    """Null, or a value of another form."""

    form: object


Form: TypeAlias = Any
"""Of the values of a setting: a `Range`, `OrNull`, a set of the values, ``[form]`` for lists of any length, a tuple of forms for lists of as many
values, ``{name: form}`` for objects of these names, ``{str: form}`` for objects of any names, or a type."""


def fits(value: Parsed, form: Form) -> bool:
    """Return whether a value of JSON has a form.

    >>> fits([["a", 2]], [(str, Range(is_whole=True))]), fits({"n": -1}, {"n": Range(0)})
    (True, False)
    """
    if isinstance(form, Range):
        kinds = (int,) if form.is_whole else (int, float)
        return type(value) in kinds and form.least <= value <= form.most
    if isinstance(form, OrNull):
        return value is None or fits(value, form.form)
    if isinstance(form, set):
        return any(type(value) is type(each) and value == each for each in form)
    if isinstance(form, dict):
        of_any = form.get(str)
        named = isinstance(value, dict) and (of_any is not None or value.keys() == form.keys())
        return named and all(fits(each, form.get(name, of_any)) for name, each in value.items())
    if isinstance(form, (list, tuple)):
        return isinstance(value, list) and _fit_each(value, form)
    return isinstance(value, form)


def _fit_each(values: list[Parsed], form: list[Form] | tuple[Form, ...]) -> bool:
    forms = form if isinstance(form, tuple) else form * len(values)
    return len(values) == len(forms) and all(map(fits, values, forms))


REQUIRED = object()

_COUNT = Range(0, MOST - 1, is_whole=True)
_LOSS = Range(0, sys.float_info.max)
_PAIRED_TEST = OrNull({"gain": Range(), "error": Range(0), "documents": _COUNT})
_FIGURES = {"log_loss": _LOSS, "brier": Range(0), "ece": Range(0, 1)}


class Setting(NamedTuple):
    """A setting of the model file."""

    form: Form
    content: str
    absent: object = REQUIRED
    """The value of a model in whose file the setting is missing; `REQUIRED` if it must be there."""


SETTINGS = {
    "training": Setting(dict, "the options of training"),
    "reading": Setting(dict, "how documents were read"),
    "written_by": Setting({str: str}, "versions"),
    "label_kind": Setting(str, "type of the labels that Python gave", "text"),
    "layers": Setting(
        [(str, {1, WEIGHT_UNIT}, OrNull(Range(sys.float_info.min)))],
        "name, unit and weight of each layer of the columns: counts are in units of 1 / unit; the "
        "weight is null for documents that were counted",
        [["", 1, None]],
    ),
    "closed_vocabulary": Setting(
        {True}, "true if the model learns no new terms (after `prune`)", absent=False
    ),
    "sample_bound": Setting(
        Range(0, LARGEST_HASH, is_whole=True),
        "all training documents with a smaller hash are in the sample, except those of more than "
        "65,536 different terms: the hash of its last document; "
        "2⁶⁴ − 1 if it holds all",
    ),
    "seeds": Setting(
        [(str, [str], Range(-MOST_OF_SEEDS, MOST_OF_SEEDS))],
        "label, term and pseudo-count of each seed word",
        [],
    ),
    "smoothing": Setting(
        Range(0),
        "the pseudo-count, chosen or given, of all terms without one of their own in `training`",
    ),
    "choices": Setting(
        {
            "stop_words_kept": bool,
            "stop_words": _PAIRED_TEST,
            "pseudo_count": OrNull(Range(0)),
            "smoothing": _PAIRED_TEST,
            "sides": [{PAIRS, WORDS}],
            "unspaced": _PAIRED_TEST,
        },
        "what training chose where an option was `auto`, and how much better left-out documents "
        "are answered with it",
    ),
    "temperature": Setting(
        {"scale": Range(sys.float_info.min, sys.float_info.max), "exponent": Range()},
        "`scale` a and `exponent` b of T = a·n^b; 1 and 0 without calibration",
    ),
    "rivalry": Setting(
        OrNull(
            {"rivalry": Range(-LARGEST_LOG, LARGEST_LOG), "level": Range(-LARGEST_LOG, LARGEST_LOG)}
        ),
        "where documents may have several labels, how these compete; or null",
        None,
    ),
    "calibration": Setting(
        OrNull({"documents": _COUNT._replace(least=1), "before": _FIGURES, "after": _FIGURES}),
        "log loss, Brier score and calibration error of left-out documents before and after "
        "calibration, and the number of these documents; or null",
    ),
    "profile": Setting(
        OrNull(dict.fromkeys(FIGURES, (_COUNT, Range(), Range(0)))),
        "share of unknown tokens, log-likelihood per token and log(1 + tokens) of left-out "
        "documents of the sample: number, mean, standard deviation; "
        "or null",
    ),
    "unlabelled": Setting(
        OrNull({"documents": _COUNT._replace(least=1), "losses": {str: _LOSS}}),
        "how many unlabelled documents were read, and the log loss of left-out documents by weight",
        None,
    ),
}
"""By name."""


def plain(values: Mapping[str, object]) -> dict[str, object]:
    """Return settings as JSON holds them, without those that have the value of a missing one."""
    found: dict[str, object] = json.loads(json.dumps(values, default=vars))
    return {name: value for name, value in found.items() if value != SETTINGS[name].absent}


class StoredSettings(NamedTuple):
    """The settings of a model file, as `SETTINGS` describes them."""

    training: Parsed
    reading: Parsed
    written_by: Parsed
    label_kind: Parsed
    layers: Parsed
    closed_vocabulary: Parsed
    sample_bound: Parsed
    seeds: Parsed
    smoothing: Parsed
    choices: Parsed
    temperature: Parsed
    rivalry: Parsed
    calibration: Parsed
    profile: Parsed
    unlabelled: Parsed


def checked_settings(plain: Mapping[str, Parsed]) -> StoredSettings:
    """Return plain settings, with those that are missing; raise `ModelError` unless they follow the schema."""
    required = {name for name, setting in SETTINGS.items() if setting.absent is REQUIRED}
    require(required <= plain.keys() <= SETTINGS.keys(), "it has not the parts of a model")
    for name, value in plain.items():
        require(fits(value, SETTINGS[name].form), f"training makes no such {name}")
    absent = {name: setting.absent for name, setting in SETTINGS.items()}
    return StoredSettings(**{**absent, **plain})
