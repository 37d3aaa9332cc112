"""The schema of the model file: kind, size and range of each array, and form of each setting.

`nbtext.model.state` uses the schema to write, read and check a model. It also checks conditions
that concern several arrays. The tables in ``docs/model-file.md`` contain the texts of this schema.
"""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from nbtext.counts.documents import MAX_HASH
from nbtext.counts.statistics import MAX_SEED_PSEUDO_COUNT
from nbtext.document_fields import WEIGHT_UNIT
from nbtext.errors import ModelError, UsageError, require_valid_model
from nbtext.prediction.calibration import MAX_ABS_LOG
from nbtext.prediction.typicality import DRIFT_METRICS
from nbtext.text.surface_forms import PAIRS, WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtext.type_names import Arrays, Numbers, ParsedJson

LABEL_KINDS: dict[str, Callable[[str], object]] = {
    "text": str,
    "bool": {"False": False, "True": True}.__getitem__,
    "int": int,
    "float": float,
}
"""Types of labels, each with the function that converts the name of a class to a label."""

EXACT_SUM_LIMIT = 2**53
"""Sums of counts are less than this, so that they are exact in int64 and in float64."""

# Kinds of arrays, by their names in docs/model-file.md.
UTF8_TEXT = "UTF-8"
WHOLE_NUMBERS = "whole numbers"
LONG_WHOLE_NUMBERS = "long whole numbers"
KEYS_64_BITS = "64 bits"
FINITE_NUMBERS = "finite numbers"
SINGLE_PRECISION = "numbers of single precision"
NUMBERS_OR_NAN = "numbers or nan"
KIND_DTYPES = {
    UTF8_TEXT: np.uint8,
    FINITE_NUMBERS: np.float64,
    SINGLE_PRECISION: np.float32,
    NUMBERS_OR_NAN: np.float64,
}
"""Element type of each kind, except for kinds of which any unsigned integer type is valid."""

ANY_SIZE = ""
"""The `ArraySpec.size_name` of arrays with any number of elements."""


class ArraySpec(NamedTuple):
    """An array of the model file. Empty arrays are not stored."""

    name: str
    kind: str
    """One of the kinds above.

    `WHOLE_NUMBERS` have the narrowest unsigned type, and a sum below `EXACT_SUM_LIMIT`.
    """
    size_name: str
    """Name of the number of elements, such as "terms", or `ANY_SIZE`.

    All arrays with this size name have equally many elements.
    """
    content: str
    """Meaning of the elements."""
    minimum: int = 0
    limit_name: str = ""
    """Name of a number of elements that all values are less than; "" for values without limit."""
    condition: str = ""
    """Which models have the array; "" if all models have it."""


ARRAYS = {
    spec.name: spec
    for spec in (
        ArraySpec("terms", UTF8_TEXT, ANY_SIZE, "the vocabulary, sorted by bytes"),
        ArraySpec("term_lengths", WHOLE_NUMBERS, "single terms", "bytes of each term", minimum=1),
        ArraySpec(
            "ngrams", KEYS_64_BITS, "n-grams", "(n − 1)-gram and last term of each n-gram, sorted"
        ),
        ArraySpec("labels", UTF8_TEXT, ANY_SIZE, "the labels, sorted"),
        ArraySpec(
            "label_lengths",
            WHOLE_NUMBERS,
            "labels",
            "bytes of each label; in multi-label models the first is empty and means all documents",
        ),
        ArraySpec(
            "column_labels",
            WHOLE_NUMBERS,
            "columns",
            "label of each column; columns are sorted by label, then layer",
            limit_name="labels",
            condition="several layers",
        ),
        ArraySpec(
            "column_layers",
            WHOLE_NUMBERS,
            "columns",
            "layer of each column; if it is missing, column k is label k",
            limit_name="layers",
            condition="several layers",
        ),
        ArraySpec(
            "column_documents",
            WHOLE_NUMBERS,
            "columns",
            "documents of each column, at least one",
            minimum=1,
        ),
        ArraySpec(
            "term_cells", WHOLE_NUMBERS, "terms", "number of columns in which each term occurs"
        ),
        ArraySpec(
            "cell_columns",
            WHOLE_NUMBERS,
            "cells",
            "for each term these columns, ascending",
            limit_name="columns",
        ),
        ArraySpec(
            "cell_counts", WHOLE_NUMBERS, "cells", "how often the term occurs there", minimum=1
        ),
        ArraySpec("cell_documents", WHOLE_NUMBERS, "cells", "in how many documents", minimum=1),
        ArraySpec(
            "cell_logs",
            LONG_WHOLE_NUMBERS,
            "cells",
            "the sum of log(1 + n) over these documents, in units of 2⁻³⁰",
            condition="--weighting log",
        ),
        ArraySpec(
            "values",
            WHOLE_NUMBERS,
            ANY_SIZE,
            "number of documents with a value, for each column and number in addition to the texts",
            condition="numbers",
        ),
        ArraySpec(
            "value_sums",
            UTF8_TEXT,
            ANY_SIZE,
            "sums of these numbers, then of their squares, lines `n e` for n / 2^e",
            condition="numbers",
        ),
        ArraySpec(
            "sample_hashes",
            KEYS_64_BITS,
            "documents",
            "the sampled documents, ascending: 64 bits of the SHA-256 of the text",
        ),
        ArraySpec(
            "sample_labels",
            WHOLE_NUMBERS,
            ANY_SIZE,
            "label of each, or of several all but the first label of "
            "the model, document after document",
            limit_name="labels",
        ),
        ArraySpec(
            "sample_label_counts",
            WHOLE_NUMBERS,
            "documents",
            "number of labels of each",
            condition="several labels",
        ),
        ArraySpec(
            "sample_layers",
            WHOLE_NUMBERS,
            "documents",
            "layer of each",
            limit_name="layers",
            condition="several layers of documents",
        ),
        ArraySpec(
            "sample_entries", WHOLE_NUMBERS, "documents", "number of different terms of each"
        ),
        ArraySpec(
            "sample_terms",
            WHOLE_NUMBERS,
            "entries",
            "the terms of each document, ascending",
            limit_name="terms",
        ),
        ArraySpec("sample_counts", WHOLE_NUMBERS, "entries", "how often it has them", minimum=1),
        ArraySpec(
            "sample_weights",
            WHOLE_NUMBERS,
            "documents",
            "weights in thousandths",
            minimum=1,
            condition="weighted documents",
        ),
        ArraySpec(
            "sample_values",
            NUMBERS_OR_NAN,
            ANY_SIZE,
            "the numbers of each document in addition to its text, nan if missing",
            condition="numbers",
        ),
        ArraySpec(
            "selected",
            WHOLE_NUMBERS,
            "terms",
            "1 for each term that the classifier uses",
            limit_name="yes or no",
            condition="some are not used",
        ),
        ArraySpec(
            "label_slopes",
            FINITE_NUMBERS,
            "label calibration",
            "slope of each label but the first",
            condition="several labels",
        ),
        ArraySpec(
            "label_offsets",
            FINITE_NUMBERS,
            "label calibration",
            "its offset, in nats",
            condition="several labels",
        ),
        ArraySpec(
            "label_priors",
            FINITE_NUMBERS,
            "label calibration",
            "its log odds before a text is read",
            condition="several labels",
        ),
        ArraySpec(
            "typicality",
            FINITE_NUMBERS,
            ANY_SIZE,
            "log-likelihood per token of held-out documents: 20 quantiles for each of 12 bands of "
            "length",
            condition="likelihoods",
        ),
        ArraySpec(
            "answers",
            WHOLE_NUMBERS,
            "labels",
            "numbers of held-out documents of the sample by predicted label",
            condition="calibration",
        ),
        ArraySpec(
            "left_out_labels",
            WHOLE_NUMBERS,
            ANY_SIZE,
            "label or labels of each held-out document",
            limit_name="labels",
            condition="it cannot be held out again",
        ),
        ArraySpec(
            "left_out_label_counts",
            WHOLE_NUMBERS,
            "left out",
            "number of labels of each",
            condition="the same, several labels",
        ),
        ArraySpec(
            "left_out_nats",
            SINGLE_PRECISION,
            ANY_SIZE,
            "−log of the probability of each label, document after document",
            condition="the same",
        ),
        ArraySpec(
            "left_out_weights",
            FINITE_NUMBERS,
            "left out",
            "the weights of these documents",
            condition="the same, weighted",
        ),
        ArraySpec("stop_words", UTF8_TEXT, ANY_SIZE, "the stop list"),
    )
}
"""The arrays by name. Classifiers add arrays of finite numbers with names of their own."""

FITTED_PREFIX = "fitted_"
"""Start of the names of a classifier's own arrays."""

RESERVED_ARRAYS = {
    "sample_times": "time of each sampled document, in seconds",
}
"""Arrays that later versions may add to the same format, by name. This version refuses them."""


def encode_arrays(values: Mapping[str, Numbers | bytes | None]) -> Arrays:
    """Return values as the arrays of a model file, without values that are None.

    Raise `UsageError` for counts whose sum is too large, since `decode_arrays` would refuse them.
    """
    return {
        name: _encode_array(value, ARRAYS[name].kind)
        for name, value in values.items()
        if value is not None
    }


def _encode_array(value: Numbers | bytes, kind: str) -> Numbers:
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    if kind == WHOLE_NUMBERS and float(value.sum(dtype=np.float64)) >= EXACT_SUM_LIMIT:
        raise UsageError(
            "the counts are too large to stay exact: their sum must be below 2^53",
            hint="the model is as it was",
        )
    if kind in (WHOLE_NUMBERS, LONG_WHOLE_NUMBERS):
        maximum = int(value.max(initial=0))
        return value.astype(np.min_scalar_type(maximum))
    return value


class ArrayValues(dict[str, Any]):
    """The values of checked arrays by name. An array is converted when it is first looked up.

    Whole numbers become int64, other numbers float64 or uint64, and texts bytes.
    """

    def __init__(self, stored: Arrays) -> None:
        super().__init__()
        self.stored = stored
        """The arrays as in the file. Whole numbers have a narrow type, so checks take less time."""

    def __missing__(self, name: str) -> bytes | Numbers:
        """Convert an array."""
        value = _convert_array(ARRAYS[name].kind, self.stored[name])
        self[name] = value
        return value


def decode_arrays(arrays: Arrays, n_layers: int) -> tuple[ArrayValues, Arrays]:
    """Return the values of a model file's arrays by name, and the classifier's own arrays.

    Missing arrays are returned as empty values. `FITTED_PREFIX` is removed from the names of the
    classifier's arrays. Raise `ModelError` unless all arrays follow the schema.
    """
    sizes = {"layers": n_layers, "yes or no": 2}  # the limit "yes or no" allows 0 and 1
    values = ArrayValues(
        {spec.name: _check_array(spec, arrays.get(spec.name), sizes) for spec in ARRAYS.values()}
    )
    classifier_arrays = {name: array for name, array in arrays.items() if name not in ARRAYS}
    later_names = sorted(set(classifier_arrays) & set(RESERVED_ARRAYS))
    if later_names:
        raise ModelError(
            f"made by a newer nbtext: it has the {RESERVED_ARRAYS[later_names[0]]}",
            hint="upgrade nbtext",
        )
    require_valid_model(
        all(name.startswith(FITTED_PREFIX) for name in classifier_arrays),
        "it lacks parts of a model",
    )
    require_valid_model(
        all(
            array.dtype.kind == "f" and np.isfinite(array).all()
            for array in classifier_arrays.values()
        ),
        "the numbers of its classifier are invalid",
    )
    return values, {
        name.removeprefix(FITTED_PREFIX): array for name, array in classifier_arrays.items()
    }


def _check_array(spec: ArraySpec, array: Numbers | None, sizes: dict[str, int]) -> Numbers:
    """Return the array, or an empty one if it is None, after a check.

    ``sizes`` has the known numbers of elements by size name. If it lacks the size name of the
    array, the number of elements is added to ``sizes`` in place.
    """
    dtype = KIND_DTYPES.get(spec.kind)
    if array is None:
        array = np.empty(0, dtype or np.uint8)
    has_valid_dtype = array.dtype.kind == "u" if dtype is None else array.dtype == dtype
    require_valid_model(has_valid_dtype, f"{spec.name} does not contain {spec.kind}")
    may_be_missing = bool(spec.condition)
    if spec.size_name and (array.size or not may_be_missing):
        size = sizes.setdefault(spec.size_name, array.size)
        require_valid_model(
            array.size == size,
            f"{spec.name} has {array.size:,} elements, and there are {size:,} {spec.size_name}",
        )
    if spec.kind == UTF8_TEXT:
        has_valid_numbers = _is_utf8(array.tobytes())
    elif spec.kind == FINITE_NUMBERS:
        has_valid_numbers = bool(np.isfinite(array).all())
    else:
        has_valid_numbers = True
    require_valid_model(has_valid_numbers, f"{spec.name} does not contain {spec.kind}")
    if spec.kind in (WHOLE_NUMBERS, LONG_WHOLE_NUMBERS):
        _require_in_range(spec, array, sizes)
    return array


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _convert_array(kind: str, array: Numbers) -> bytes | Numbers:
    """Return the value of a checked array."""
    if kind == UTF8_TEXT:
        return array.tobytes()
    if kind == KEYS_64_BITS:
        return array.astype(np.uint64, copy=False)
    if kind in KIND_DTYPES:
        return array.astype(np.float64)
    return array.astype(np.int64)


def _require_in_range(spec: ArraySpec, array: Numbers, sizes: dict[str, int]) -> None:
    """Raise `ModelError` if an element of a whole number array, or their sum, is out of range."""
    # Most arrays need not be summed: their elements are too few or too narrow for large sums.
    n_bits = 8 * array.itemsize
    max_sum = array.size << n_bits  # each element is below 2 ** n_bits
    if max_sum >= EXACT_SUM_LIMIT and spec.kind != LONG_WHOLE_NUMBERS:
        require_valid_model(
            float(array.sum(dtype=np.float64)) < EXACT_SUM_LIMIT,
            f"the numbers of {spec.name} are too large",
        )
    limit = 2**63  # the values become int64
    if spec.limit_name and array.size:
        limit = sizes[spec.limit_name]
    minimum = int(array.min(initial=spec.minimum))
    maximum = int(array.max(initial=0))
    require_valid_model(
        spec.minimum <= minimum and maximum < limit, f"{spec.name} has a number out of range"
    )


class Range(NamedTuple):
    """Form of numbers from a minimum to a maximum, both included."""

    minimum: float = -EXACT_SUM_LIMIT
    maximum: float = EXACT_SUM_LIMIT
    is_whole: bool = False


class Nullable(NamedTuple):
    """Form of values that are null or have another form."""

    form: object


ValueForm: TypeAlias = Any
"""Form of the value of a setting.

A `Range`, a `Nullable`, a set of the possible values, ``[form]`` for a list of any length, a tuple
of forms for a list with one value of each, ``{name: form}`` for an object with exactly these names,
``{str: form}`` for an object with any names, or a type.
"""


def has_form(value: ParsedJson, form: ValueForm) -> bool:
    """Return whether a value of JSON has a form.

    >>> has_form([["a", 2]], [(str, Range(is_whole=True))])
    True
    >>> has_form({"n": -1}, {"n": Range(0)})
    False
    """
    if isinstance(form, Range):
        number_types = (int,) if form.is_whole else (int, float)
        return type(value) in number_types and form.minimum <= value <= form.maximum
    if isinstance(form, Nullable):
        return value is None or has_form(value, form.form)
    if isinstance(form, set):
        # The type matters because 1 == 1.0 == True.
        return any(type(value) is type(item) and value == item for item in form)
    if isinstance(form, dict):
        return isinstance(value, dict) and _has_object_form(value, form)
    if isinstance(form, (list, tuple)):
        return isinstance(value, list) and _has_list_form(value, form)
    return isinstance(value, form)


def _has_object_form(value: dict[str, ParsedJson], form: dict[Any, ValueForm]) -> bool:
    """Return whether an object has the form ``{name: form}`` or ``{str: form}``."""
    any_name_form = form.get(str)
    if any_name_form is None and value.keys() != form.keys():
        return False
    return all(has_form(item, form.get(name, any_name_form)) for name, item in value.items())


def _has_list_form(values: list[ParsedJson], form: list[ValueForm] | tuple[ValueForm, ...]) -> bool:
    """Return whether a list has the form ``[form]`` or the form of a tuple."""
    item_forms = form if isinstance(form, tuple) else form * len(values)
    return len(values) == len(item_forms) and all(map(has_form, values, item_forms))


REQUIRED = object()
"""Default of a setting that has no default."""

_COUNT = Range(0, EXACT_SUM_LIMIT - 1, is_whole=True)
_POSITIVE_COUNT = _COUNT._replace(minimum=1)
_LOSS = Range(0, sys.float_info.max)
_PAIRED_TEST = Nullable({"gain": Range(), "error": Range(0), "documents": _COUNT})
_METRICS = {"log_loss": _LOSS, "brier": Range(0), "ece": Range(0, 1)}


class SettingSpec(NamedTuple):
    """A setting of the model file."""

    form: ValueForm
    content: str
    """Meaning of the value."""
    default: object = REQUIRED
    """Value if the setting is missing from the file; `REQUIRED` if it must not be missing."""


SETTINGS = {
    "training": SettingSpec(dict, "the options of training"),
    "reading": SettingSpec(dict, "how documents were read"),
    "written_by": SettingSpec({str: str}, "versions"),
    "label_kind": SettingSpec(str, "type of the labels that Python gave", default="text"),
    "layers": SettingSpec(
        [(str, {1, WEIGHT_UNIT}, Nullable(Range(sys.float_info.min)))],
        "name, unit and weight of each layer of the columns: counts are in units of 1 / unit; the "
        "weight is null for documents that were counted",
        default=[["", 1, None]],
    ),
    "closed_vocabulary": SettingSpec(
        {True}, "true if the model adds no new terms (after `prune`)", default=False
    ),
    "sample_bound": SettingSpec(
        Range(0, MAX_HASH, is_whole=True),
        "all training documents with a smaller hash are in the sample, except documents of more "
        "than 65,536 different terms: the hash of its last document; 2⁶⁴ − 1 if it has all",
    ),
    "seeds": SettingSpec(
        [(str, [str], Range(-MAX_SEED_PSEUDO_COUNT, MAX_SEED_PSEUDO_COUNT))],
        "label, term and pseudo-count of each seed word",
        default=[],
    ),
    "smoothing": SettingSpec(
        Range(0),
        "the pseudo-count, chosen or given, of all terms without one of their own in `training`",
    ),
    "choices": SettingSpec(
        {
            "stop_words_kept": bool,
            "stop_words": _PAIRED_TEST,
            "pseudo_count": Nullable(Range(0)),
            "smoothing": _PAIRED_TEST,
            "sides": [{PAIRS, WORDS}],
            "unspaced": _PAIRED_TEST,
        },
        "the choices of training where an option was `auto`, and the gain on held-out documents",
    ),
    "unseen": SettingSpec(
        Nullable({"documents": Range(0), "counts": str}),
        "number of documents that `--quick` added or removed after these choices, and the SHA-256 "
        "of the arrays of counts and sample before",
        default=None,
    ),
    "temperature": SettingSpec(
        {"scale": Range(sys.float_info.min, sys.float_info.max), "exponent": Range()},
        "`scale` a and `exponent` b of T = a·n^b; 1 and 0 without calibration",
    ),
    "rivalry": SettingSpec(
        Nullable(
            {"rivalry": Range(-MAX_ABS_LOG, MAX_ABS_LOG), "level": Range(-MAX_ABS_LOG, MAX_ABS_LOG)}
        ),
        "where documents may have several labels, how these compete; or null",
        default=None,
    ),
    "calibration": SettingSpec(
        Nullable({"documents": _POSITIVE_COUNT, "before": _METRICS, "after": _METRICS}),
        "log loss, Brier score and calibration error of held-out documents before and after "
        "calibration, and the number of these documents; or null",
    ),
    "profile": SettingSpec(
        Nullable(dict.fromkeys(DRIFT_METRICS, (_COUNT, Range(), Range(0)))),
        "proportion of unknown tokens, log-likelihood per token and log(1 + tokens) of held-out "
        "documents of the sample: number, mean, standard deviation; or null",
    ),
    "unlabelled": SettingSpec(
        Nullable({"documents": _POSITIVE_COUNT, "losses": {str: _LOSS}}),
        "number of unlabelled documents, and the log loss of held-out documents by weight",
        default=None,
    ),
}
"""The settings by name."""


def to_stored_settings(values: Mapping[str, object]) -> dict[str, object]:
    """Return settings as plain JSON values, without settings that are equal to their default.

    Dataclasses become objects with the names of their fields.
    """
    plain: dict[str, object] = json.loads(json.dumps(values, default=vars))
    return {name: value for name, value in plain.items() if value != SETTINGS[name].default}


StoredSettings: TypeAlias = SimpleNamespace
"""The settings of a model file as attributes with the names of `SETTINGS`."""


def parse_settings(plain: Mapping[str, ParsedJson]) -> StoredSettings:
    """Return plain settings as attributes, with the defaults of missing settings.

    Raise `ModelError` unless the settings follow the schema.
    """
    required_names = {name for name, spec in SETTINGS.items() if spec.default is REQUIRED}
    require_valid_model(
        required_names <= plain.keys() <= SETTINGS.keys(), "it lacks parts of a model"
    )
    for name, value in plain.items():
        require_valid_model(
            has_form(value, SETTINGS[name].form), f"training does not make such {name}"
        )
    defaults = {name: spec.default for name, spec in SETTINGS.items()}
    return StoredSettings(**{**defaults, **plain})
