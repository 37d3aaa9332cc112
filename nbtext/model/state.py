"""Convert a model to the settings and arrays of a model file, and back.

`nbtext.store` checks the format of a model file, and `nbtext.model.schema` each setting and array.
This module checks that settings and arrays are consistent: `decode_model` raises `ModelError`
unless training could have made the model.

A *column* has the counts of one label in one layer: with L layers, label k in layer l has the
column k·L + l. A *cell* has the counts of one term in one column. In a multi-label model the first
label is *reserved*: its name is empty, and its columns count all documents.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.count_table import CountTable, Layer, Layers, round_logs
from nbtext.counts.counting import Analysis
from nbtext.counts.documents import (
    MAX_SAMPLE_ENTRIES,
    MAX_SAMPLED_DOCUMENT_TERMS,
    SAMPLE_ROOM,
    CountedDocuments,
    DocumentSample,
)
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.statistics import SeedTerm, SeedTerms, build_count_weights
from nbtext.counts.vocabulary import Vocabulary, are_sorted_terms, mask_categories
from nbtext.document_fields import COUNT_LIMIT, MAX_NUMBER, MIN_NUMBER, WEIGHT_UNIT, Attributes
from nbtext.errors import ModelError, UsageError, malformed_model_error, require_valid_model
from nbtext.fitted_model import (
    Choices,
    FittedModel,
    FittedParameters,
    PairedTest,
    UnlabelledSummary,
    UnseenChanges,
    find_own_pseudo_counts,
    is_possible_smoothing,
    require_trainable,
)
from nbtext.model.schema import (
    EXACT_SUM_LIMIT,
    FITTED_PREFIX,
    LABEL_KINDS,
    ArrayValues,
    StoredSettings,
    decode_arrays,
    encode_arrays,
    parse_settings,
    to_stored_settings,
)
from nbtext.prediction.calibration import LABEL_ARRAYS, Calibration, HeldOutPosteriors
from nbtext.prediction.labels import (
    LABEL_MARK,
    DocumentLabels,
    LabelSets,
    are_multi_label,
    single_label_table,
)
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior
from nbtext.prediction.typicality import (
    N_LENGTH_BANDS,
    QUANTILE_LEVELS,
    MeanStd,
    Profile,
    Typicality,
)
from nbtext.ragged import are_rows_increasing, compute_offsets, find_sorted
from nbtext.settings import NLTK_STEMMERS, Reading, Settings
from nbtext.text.hashing import pair, unpair
from nbtext.text.surface_forms import PAIRS, find_unspaced_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from nbtext.counts.moments import Moments
    from nbtext.type_names import Arrays, Floats, Ints, Names, Numbers, ParsedJson

    ArrayContents = Mapping[str, Any]
    """Values of the arrays of a model file, by name."""


MAX_LABEL_LAYER_COLUMNS = 1 << 24
"""Limit of columns. Each takes eight bytes of memory, even if the file does not store it."""

MAX_ABS_LABEL_CALIBRATION = 1e6
"""Limit of the absolute values of slope, offset and prior of a label."""

CHECKED_NGRAMS = 1 << 14
"""Number of n-grams that are checked at once, so that their parts fit into the cache."""

MAX_SUM_DIGITS = 2000
"""Limit of digits of the numerator of an exact sum. The largest possible sums have about 500."""

MAX_EXPONENT_DIGITS = 4
"""Limit of digits of the exponent in the denominator of an exact sum."""

MAX_CAUSE_CHARS = 200
"""Limit of the message of an error that is quoted in the message of a `ModelError`."""


def list_versions(settings: Settings) -> dict[str, str]:
    """Return the versions of nbtext and of the stemming package that the settings use."""
    from nbtext.version import __version__

    versions = {"nbtext": __version__}
    if settings.stemmer in NLTK_STEMMERS:
        from importlib.metadata import version

        versions["nltk"] = version("nltk")
    elif settings.stemmer != "none":
        import Stemmer

        versions["PyStemmer"] = Stemmer.version()
    return versions


# Encoding


def encode_model(model: FittedModel) -> tuple[dict[str, object], Arrays]:
    """Return settings and arrays for `nbtext.store.write_model_file`."""
    classifier_arrays = {
        FITTED_PREFIX + name: array for name, array in model.parameters.classifier_arrays.items()
    }
    arrays = {**encode_counts(model.counts), **_encode_parameters(model), **classifier_arrays}
    return _encode_settings(model), arrays


def _encode_settings(model: FittedModel) -> dict[str, object]:
    """Return the settings by the names of `nbtext.model.schema.SETTINGS`."""
    parameters = model.parameters
    table = model.counts.table
    calibration = parameters.calibration
    profile = parameters.profile
    summary = parameters.unlabelled_summary
    layers = [(layer.name, layer.unit or table.unit, layer.weight) for layer in table.layers]
    return to_stored_settings(
        {
            "training": dict(_with_auto_unspaced(model.settings, table)),
            "reading": dict(model.settings.reading),
            "written_by": model.written_by,
            "label_kind": model.label_kind,
            "layers": layers,
            "closed_vocabulary": model.counts.is_closed,
            "sample_bound": model.counts.sample.bound,
            "seeds": list(parameters.weights.seeds),
            "smoothing": parameters.smoothing,
            "choices": parameters.choices,
            "unseen": None if parameters.unseen is None else parameters.unseen._asdict(),
            "temperature": {"scale": calibration.scale, "exponent": calibration.exponent},
            "rivalry": calibration.label_competition,
            "calibration": parameters.calibration_quality,
            "profile": None if profile is None else profile.metrics,
            "unlabelled": None if summary is None else summary._asdict(),
        }
    )


def _with_auto_unspaced(settings: Settings, table: CountTable) -> Settings:
    """Return settings with unspaced=auto instead of pairs, if no term is in an unspaced script.

    Both settings count such terms equally.
    """
    if settings.unspaced == PAIRS and find_unspaced_runs(table.vocabulary.text) is None:
        return replace(settings, unspaced="auto")
    return settings


def _encode_parameters(model: FittedModel) -> Arrays:
    """Return the arrays of the parameters and the stop list, without those of the classifier."""
    parameters = model.parameters
    contents: dict[str, Any] = {
        **parameters.calibration.to_arrays(),
        "stop_words": "\n".join(model.stop_list).encode(),
    }
    if not parameters.selected_terms.all():
        contents["selected"] = parameters.selected_terms.view(np.uint8)
    if parameters.typicality is not None:
        contents["typicality"] = parameters.typicality.quantiles.ravel()
    if parameters.profile is not None:
        # The reserved label, which is never predicted, has 0 predictions.
        predictions = parameters.profile.predictions
        n_reserved = model.counts.table.n_classes - predictions.size
        contents["answers"] = np.append(np.zeros(n_reserved, np.int64), predictions)
    if parameters.held_out_posteriors is not None:
        contents.update(_encode_held_out(parameters.held_out_posteriors))
    return encode_arrays(contents)


def _encode_held_out(held_out: HeldOutPosteriors) -> dict[str, Numbers | None]:
    """Return −log p in single precision, the labels, and the weights unless all are 1."""
    # An extreme value of a number attribute can make −log p too large for single precision.
    with np.errstate(over="ignore"):
        negative_log_p = np.maximum(-held_out.log_posterior, 0).astype(np.float32).ravel()
    weights = None if np.all(held_out.weights == 1) else held_out.weights
    _, labels = held_out.truth.to_pairs()
    label_counts = None  # stored only for multi-label models
    if not held_out.posterior.is_exclusive:
        label_counts = held_out.truth.count_labels()
        labels = labels + 1  # after the reserved label
    return {
        "left_out_labels": labels,
        "left_out_label_counts": label_counts,
        "left_out_nats": negative_log_p,
        "left_out_weights": weights,
    }


def encode_counts(counts: CorpusCounts) -> Arrays:
    """Return the arrays of the counts and of the sample."""
    table = counts.table
    vocabulary = table.vocabulary
    labels = [label.encode() for label in table.classes]
    n_layers = len(table.layers)
    is_stored = np.ones(table.class_documents.size, np.bool_)
    if n_layers > 1:
        is_stored = table.class_documents > 0
    columns = np.flatnonzero(is_stored)
    stored_index_of_column = np.cumsum(is_stored) - 1
    contents: dict[str, Any] = {
        "terms": vocabulary.text,
        "term_lengths": np.diff(vocabulary.bounds),
        "ngrams": vocabulary.ngram_keys,
        "labels": b"".join(labels),
        "label_lengths": np.array([len(label) for label in labels]),
        "column_documents": table.class_documents[columns],
        "term_cells": np.diff(table.term_offsets),
        "cell_columns": stored_index_of_column[table.cell_classes],
        "cell_counts": table.cell_counts,
        "cell_documents": table.cell_documents,
        "cell_logs": table.cell_logs,
        **_encode_sample(table, counts.sample.documents),
    }
    if n_layers > 1:
        contents["column_labels"] = columns // n_layers
        contents["column_layers"] = columns % n_layers
    if table.moments is not None:
        contents.update(encode_moments(table.moments.take_classes(columns)))
    return encode_arrays(contents)


def compute_counts_digest(counts: CorpusCounts) -> str:
    """Return the SHA-256 of the arrays of the counts and of the sample, in hexadecimal digits."""
    digest = hashlib.sha256()
    for name, array in sorted(encode_counts(counts).items()):
        digest.update(f"{name} {array.dtype.str} {array.size}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _encode_sample(table: CountTable, documents: CountedDocuments) -> dict[str, Any]:
    """Return the arrays of the sampled documents. Arrays that are None are not stored."""
    n_layers = len(table.layers)
    matrix = documents.matrix
    labels = documents.classes
    label_counts = None
    if documents.labels is not None:
        labels = documents.labels.columns // n_layers
        label_counts = documents.labels.sizes
    document_layers = None
    if table.n_document_layers > 1:
        document_layers = documents.columns % n_layers
    attribute_values = None
    if table.moments is not None and matrix.values is not None:
        attribute_values = matrix.values.ravel()
    return {
        "sample_hashes": documents.hashes,
        "sample_labels": labels,
        "sample_label_counts": label_counts,
        "sample_layers": document_layers,
        "sample_entries": matrix.row_sizes,
        "sample_terms": matrix.terms,
        "sample_counts": matrix.counts,
        "sample_weights": documents.weights,
        "sample_values": attribute_values,
    }


def encode_moments(moments: Moments) -> dict[str, Numbers | bytes]:
    """Return the number of values by column and attribute, their sums, and the sums of squares.

    Each sum is a line ``n e`` for n / 2ᵉ. Denominators are powers of 2, since values are floats.
    """
    lines = []
    for total in [*moments.sums.ravel().tolist(), *moments.squares.ravel().tolist()]:
        exponent = total.denominator.bit_length() - 1
        lines.append(f"{total.numerator} {exponent}\n")
    return {"values": moments.documents.ravel(), "value_sums": "".join(lines).encode()}


# Decoding


def decode_model(
    plain: Mapping[str, object],
    arrays: Arrays,
    *,
    path: str | None = None,
    fingerprint: str | None = None,
) -> FittedModel:
    """Return the model that plain settings and arrays describe.

    Raise `ModelError` unless training could have made the model. With the ``path`` of the model
    file, the sample is decoded and checked when it is first needed.
    """
    stored = parse_settings(plain)
    settings = _decode_settings(stored.training, stored.reading)
    contents, classifier_arrays = decode_arrays(arrays, len(stored.layers))
    seeds = [
        SeedTerm(label, tuple(terms), pseudo_count) for label, terms, pseudo_count in stored.seeds
    ]
    require_valid_model(all(seed.term for seed in seeds), "a seed word is not a term")
    counts = _decode_counts(contents, stored, settings, seeds, path)
    table = counts.table
    stop_list = contents["stop_words"].decode().split()
    weights = build_count_weights(table, settings, seeds)
    try:
        term_settings = _resolve_terms_of_settings(settings, stop_list)
        parameters = replace(
            _decode_parameters(contents, stored, settings, table),
            classifier_arrays=classifier_arrays,
            own_pseudo_counts=find_own_pseudo_counts(table, term_settings),
            weights=weights,
        )
        model = FittedModel(
            settings,
            stop_list,
            counts,
            parameters,
            stored.written_by,
            stored.label_kind,
            fingerprint,
        )
        require_trainable(settings, model.statistics, seeds)
        _ = model.classifier  # raises an error if the arrays of the classifier are inconsistent
    except UsageError as problem:
        raise malformed_model_error(str(problem)[:MAX_CAUSE_CHARS]) from None
    require_valid_model(stored.label_kind in LABEL_KINDS, "its labels are of an unknown type")
    require_valid_model(
        measure_longest_ngram(table.vocabulary) <= settings.ngrams,
        "its n-grams are longer than its settings say",
    )
    return model


def _resolve_terms_of_settings(settings: Settings, stop_list: list[str]) -> Settings:
    """Return settings with pseudo-counts by term instead of by word."""
    if not isinstance(settings.smoothing, dict):
        return settings
    # Imported here because most models need no module of training.
    from nbtext.model.training import resolve_smoothing_terms

    return resolve_smoothing_terms(Analysis(settings, stop_list))


def _decode_settings(training: ParsedJson, reading: ParsedJson) -> Settings:
    """Return validated settings; raise `ModelError` for settings that are not valid."""
    try:
        # A check that texts can be encoded. File names may have surrogate escapes.
        json.dumps((training, reading), ensure_ascii=False).encode("utf-8", "surrogateescape")
        settings = Settings.from_model_file(training)
        return replace(settings, reading=Reading.from_model_file(reading))
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        cause = str(problem)[:MAX_CAUSE_CHARS]
        raise ModelError(
            f"the model has settings that this nbtext does not know: {cause}"
        ) from None


def find_row_bounds(text: bytes, sizes: Ints, plural: str) -> Ints:
    """Return the offset of each row in concatenated text, and the end of the last row.

    ``sizes`` are the lengths of the rows in bytes. ``plural`` names the rows in messages. Raise
    `ModelError` if the lengths do not add up, or if a row starts inside a character.
    """
    bounds = compute_offsets(sizes)
    finding = f"its {plural} do not fit their lengths"
    require_valid_model(bounds[-1] == len(text), finding)
    starts = bounds[:-1]
    starts = starts[starts < len(text)]  # empty rows at the end have no first byte
    first_bytes = np.frombuffer(text, np.uint8)[starts]
    is_inside_character = (first_bytes & 0xC0) == 0x80  # bytes 10xxxxxx continue a character
    require_valid_model(not is_inside_character.any(), finding)
    return bounds


def decode_moments(
    contents: ArrayContents, class_documents: Ints, attributes: Attributes
) -> Moments:
    """Return the checked moments of the number attributes in each stored column of the table."""
    from nbtext.counts.moments import Moments

    documents = contents["values"]
    sums = [_parse_sum(line) for line in contents["value_sums"].decode().splitlines()]
    n_columns = class_documents.size
    n_attributes = len(attributes.number_columns)
    require_valid_model(
        documents.size == n_columns * n_attributes, "its values do not fit its attributes"
    )
    require_valid_model(len(sums) == 2 * documents.size, "its sums do not fit its attributes")
    # The sums of all values precede the sums of all squares.
    value_sums, squares = np.array(sums, object).reshape(2, n_columns, n_attributes)
    moments = Moments(documents.reshape(n_columns, n_attributes), value_sums, squares)
    require_valid_model(
        np.all(moments.documents <= class_documents[:, np.newaxis]),
        "there are more values than documents",
    )
    require_valid_model(moments.is_possible(), "its sums are not sums of numbers")
    max_squares = moments.documents.astype(object) * int(MAX_NUMBER) ** 2
    require_valid_model(np.all(moments.squares <= max_squares), "its numbers are too large")
    sums_of_counts = moments.sums[:, : len(attributes.counts)].ravel().tolist()
    require_valid_model(
        all(total >= 0 and total.denominator == 1 for total in sums_of_counts),
        "its sums are not sums of counts",
    )
    return moments


def _parse_sum(line: str) -> Fraction:
    """Return the sum n / 2ᵉ from a line ``n e``."""
    from fractions import Fraction

    numerator, _, exponent = line.partition(" ")
    digits = numerator.removeprefix("-")
    for number, max_digits in ((digits, MAX_SUM_DIGITS), (exponent, MAX_EXPONENT_DIGITS)):
        require_valid_model(
            number.isascii() and number.isdigit() and len(number) <= max_digits,
            "a sum is not a number",
        )
    return Fraction(int(numerator), 1 << int(exponent))


def decode_sample_values(values: Floats, n_documents: int, attributes: Attributes) -> Floats:
    """Return the checked attribute values of sampled documents, shape (n_documents, n_columns)."""
    n_columns = len(attributes.number_columns)
    require_valid_model(
        values.size == n_documents * n_columns, "its sample does not fit its attributes"
    )
    values = values.reshape(n_documents, n_columns)
    counts, numbers = np.split(values, [len(attributes.counts)], axis=1)
    magnitudes = np.abs(numbers)
    is_in_range = (magnitudes >= MIN_NUMBER) & (magnitudes <= MAX_NUMBER)
    require_valid_model(
        np.all(np.isnan(magnitudes) | (magnitudes == 0) | is_in_range),
        "its sample has an impossible number",
    )
    is_whole_count = (counts >= 0) & (counts < COUNT_LIMIT) & (counts == np.floor(counts))
    require_valid_model(
        np.all(np.isnan(counts) | is_whole_count), "its sample has an impossible count"
    )
    return values


def _decode_parameters(
    contents: ArrayContents, stored: StoredSettings, settings: Settings, table: CountTable
) -> FittedParameters:
    """Return the checked parameters, with defaults for the parameters that `decode_model` adds."""
    smoothing = float(stored.smoothing)
    require_valid_model(
        is_possible_smoothing(smoothing, settings),
        "its smoothing contradicts its settings",
    )
    selected_terms = contents["selected"].astype(np.bool_)
    if not selected_terms.size:
        selected_terms = np.ones(table.n_terms, np.bool_)
    return FittedParameters(
        selected_terms,
        smoothing,
        profile=_decode_profile(contents, stored, table),
        calibration=_decode_calibration(contents, stored, table),
        calibration_quality=stored.calibration,
        typicality=_decode_typicality(contents["typicality"]),
        choices=_decode_choices(stored.choices),
        unseen=None if stored.unseen is None else UnseenChanges(**stored.unseen),
        unlabelled_summary=_decode_unlabelled(stored),
        held_out_posteriors=_decode_held_out(contents, table.classes),
    )


def _decode_profile(
    contents: ArrayContents, stored: StoredSettings, table: CountTable
) -> Profile | None:
    predictions = contents["answers"]
    if are_multi_label(table.classes):
        predictions = predictions[1:]  # without the reserved label
    has_predictions = predictions.size > 0
    has_profile = stored.profile is not None
    require_valid_model(
        has_profile == has_predictions, "its predicted labels and its profile are inconsistent"
    )
    if not has_profile:
        return None
    metrics = {name: MeanStd(*numbers) for name, numbers in stored.profile.items()}
    return Profile(metrics, predictions)


def _decode_unlabelled(stored: StoredSettings) -> UnlabelledSummary | None:
    return None if stored.unlabelled is None else UnlabelledSummary(**stored.unlabelled)


def _decode_choices(plain: ParsedJson) -> Choices:
    segmentations = plain["sides"]
    is_sorted = segmentations == sorted(set(segmentations))
    require_valid_model(segmentations and is_sorted, "training does not make such choices")
    choices = {**plain, "sides": tuple(segmentations)}
    for name in ("stop_words", "smoothing", "unspaced"):
        if plain[name] is not None:
            choices[name] = PairedTest(**plain[name])
    return Choices(**choices)


def _decode_calibration(
    contents: ArrayContents, stored: StoredSettings, table: CountTable
) -> Calibration:
    calibration = Calibration(**{name: float(value) for name, value in stored.temperature.items()})
    require_valid_model(calibration.is_valid, "its temperature is out of range")
    multi_label = are_multi_label(table.classes)
    finding = "its labels are not calibrated"
    require_valid_model((stored.rivalry is not None) == multi_label, finding)
    n_calibrated_labels = table.n_classes - 1 if multi_label else 0
    label_arrays = [contents[name] for name in LABEL_ARRAYS]
    for array in label_arrays:
        is_in_range = np.all(np.abs(array) <= MAX_ABS_LABEL_CALIBRATION)
        require_valid_model(array.size == n_calibrated_labels and is_in_range, finding)
    if not multi_label:
        return calibration
    slopes, offsets, prior = label_arrays
    # Imported here because single-label predictions start faster without it.
    from nbtext.prediction.label_calibration import LabelCalibration

    return LabelCalibration(
        calibration.scale,
        calibration.exponent,
        **stored.rivalry,
        slopes=slopes,
        offsets=offsets,
        prior=prior,
    )


def _decode_typicality(likelihoods: Floats) -> Typicality | None:
    if not likelihoods.size:
        return None
    require_valid_model(
        likelihoods.size == N_LENGTH_BANDS * QUANTILE_LEVELS.size,
        "its likelihoods are not as many as there are quantiles",
    )
    quantiles = likelihoods.reshape(N_LENGTH_BANDS, QUANTILE_LEVELS.size)
    require_valid_model(
        np.all(np.abs(quantiles) < EXACT_SUM_LIMIT) and np.all(np.diff(quantiles) >= 0),
        "its likelihoods do not rise",
    )
    return Typicality(quantiles)


def _decode_held_out(contents: ArrayContents, labels: Names) -> HeldOutPosteriors | None:
    """Return the posteriors of held-out documents, or None if the model file has none."""
    label_indices = contents["left_out_labels"]
    label_counts = contents["left_out_label_counts"]
    negative_log_p = contents["left_out_nats"]
    weights = contents["left_out_weights"]
    multi_label = are_multi_label(labels)
    n_documents = label_counts.size if multi_label else label_indices.size
    n_classes = len(labels) - 1 if multi_label else len(labels)
    require_valid_model(
        negative_log_p.size == n_documents * n_classes,
        "its held-out documents and its classes are inconsistent",
    )
    if not n_documents:
        return None
    require_valid_model(
        negative_log_p.min() >= 0, "the probabilities of its held-out documents are invalid"
    )
    if not weights.size:
        weights = np.ones(n_documents)
    require_valid_model(
        weights.size == n_documents and np.all(weights > 0),
        "the weights of its held-out documents are invalid",
    )
    _require_labels(
        label_counts,
        label_indices,
        n_documents,
        multi_label=multi_label,
        subject="documents left out",
        predicate="lack labels",
    )
    log_posterior = -negative_log_p.reshape(n_documents, n_classes)
    if multi_label:
        label_sets = LabelSets(label_counts, label_indices - 1).to_tuples()
        truth = DocumentLabels.from_sets(label_sets, n_classes)
        return HeldOutPosteriors(LabelPosterior(log_posterior), truth, weights)
    truth = DocumentLabels(label_indices, single_label_table(n_classes))
    return HeldOutPosteriors(ClassPosterior(log_posterior), truth, weights)


def _require_labels(
    label_counts: Ints,
    labels: Ints,
    n_documents: int,
    *,
    multi_label: bool,
    subject: str,
    predicate: str,
) -> None:
    """Raise `ModelError` unless each document has a label, or sorted labels if ``multi_label``.

    ``label_counts`` are the numbers of labels per document, and empty unless ``multi_label``. The
    reserved label 0 must not occur in label sets. ``subject`` and ``predicate`` are words of the
    message.
    """
    if not multi_label:
        fits = label_counts.size == 0 and labels.size == n_documents
        require_valid_model(fits, f"its {subject} {predicate}")
        return
    fits = label_counts.size == n_documents and labels.size == label_counts.sum()
    require_valid_model(fits, f"its {subject} {predicate}")
    is_sorted = are_rows_increasing(labels, compute_offsets(label_counts))
    require_valid_model(
        is_sorted and (labels > 0).all(), f"the labels of its {subject} are not sorted"
    )


def _decode_counts(
    contents: ArrayValues,
    stored: StoredSettings,
    settings: Settings,
    seeds: SeedTerms,
    path: str | None,
) -> CorpusCounts:
    """Return the checked counts. The ``path`` is as in `decode_model`."""
    table = _decode_table(contents, stored, settings)
    if are_multi_label(table.classes):
        _require_labels_of_documents(table)
    room = 1 if stored.unseen is None else SAMPLE_ROOM
    sample_contents = ArrayValues(
        {name: array for name, array in contents.stored.items() if name.startswith("sample_")}
    )
    decode_sample = partial(
        _decode_sample, sample_contents, table, settings.keep_documents, stored.sample_bound, room
    )
    load_sample = partial(_load_sample, decode_sample, path)
    counts = CorpusCounts(table, load_sample, stored.closed_vocabulary)
    if path is None:
        _ = counts.sample
    _require_seeds(table, contents, seeds, settings)
    _require_unlabelled_layers(table, _decode_unlabelled(stored))
    return counts


def _load_sample(decode_sample: Callable[[], DocumentSample], path: str | None) -> DocumentSample:
    """Decode the sample of the model file at ``path``."""
    try:
        return decode_sample()
    except ModelError as problem:
        problem.where = path
        raise


def _decode_layers(stored: StoredSettings) -> Layers:
    """Return the checked layers of the columns.

    Layers of labelled documents, whose weight is None, come first. They are sorted by name, the
    first name is "", and they share the unit of the table.
    """
    layers = [Layer(name, weight, unit) for name, unit, weight in stored.layers]
    is_distinct = len({layer.name for layer in layers}) == len(layers)
    document_layers = [layer for layer in layers if layer.weight is None]
    are_first = layers[: len(document_layers)] == document_layers
    names = [layer.name for layer in document_layers]
    is_sorted = names == sorted({"", *names})
    has_one_unit = len({layer.unit for layer in document_layers}) == 1
    require_valid_model(
        is_distinct and are_first and is_sorted and has_one_unit, "it has layers of unknown kinds"
    )
    derived_layers = layers[len(document_layers) :]
    return (*(layer._replace(unit=None) for layer in document_layers), *derived_layers)


def _decode_labels(contents: ArrayContents) -> tuple[str, ...]:
    bounds = find_row_bounds(contents["labels"], contents["label_lengths"], "labels").tolist()
    labels = tuple(contents["labels"][start:end].decode() for start, end in pairwise(bounds))
    require_valid_model(
        labels and all(first < second for first, second in pairwise(labels)),
        "its labels are not sorted and distinct",
    )
    require_valid_model(
        not any(LABEL_MARK in label for label in labels),
        "a label has U+001F, which separates labels",
    )
    return labels


def _require_seeds(
    table: CountTable, contents: ArrayValues, seeds: SeedTerms, settings: Settings
) -> None:
    """Raise `ModelError` unless seeds explain labels without documents and terms without cells."""
    documents_by_layer = table.class_documents.reshape(table.n_classes, -1)
    empty_indices = np.flatnonzero(~documents_by_layer.any(axis=1))
    empty_labels = {table.classes[index] for index in empty_indices.tolist()}
    require_valid_model(
        empty_labels <= {seed.label for seed in seeds},
        "a label has no documents and no seed words",
    )
    # A seed word of n terms adds up to 2n − 1 terms: n single terms and n − 1 n-grams.
    n_empty_terms = table.n_terms - np.count_nonzero(contents.stored["term_cells"])
    max_empty_terms = sum(2 * len(seed.term) - 1 for seed in seeds)
    require_valid_model(n_empty_terms <= max_empty_terms, "its terms and cells do not fit")
    require_valid_model(
        all(len(seed.term) <= settings.ngrams for seed in seeds),
        "a seed is a longer n-gram than its settings say",
    )


def _require_unlabelled_layers(table: CountTable, summary: UnlabelledSummary | None) -> None:
    """Raise `ModelError` unless derived layers agree with the summary of unlabelled documents."""
    if summary is None:
        return
    weights = [layer.weight for layer in table.layers if layer.weight is not None]
    tried_weights = {f"{weight:g}" for weight in (0, *weights)}
    # Losses are empty if there were no labelled documents.
    require_valid_model(
        not summary.losses or summary.losses.keys() >= tried_weights,
        "it lacks the loss of its unlabelled documents",
    )
    documents_by_layer = table.class_documents.reshape(table.n_classes, -1)
    n_documents = documents_by_layer[:, table.n_document_layers :].sum()
    # Rounded proportions of one document may add up to more than 1, but not to 2.
    require_valid_model(
        n_documents <= 2 * WEIGHT_UNIT * summary.documents,
        "its layers have more documents than were read",
    )


def _decode_table(contents: ArrayValues, stored: StoredSettings, settings: Settings) -> CountTable:
    """Return the table of counts, with checked columns and cells."""
    vocabulary = _decode_vocabulary(contents)
    layers = _decode_layers(stored)
    labels = _decode_labels(contents)
    column_documents = contents["column_documents"]
    term_offsets = compute_offsets(contents.stored["term_cells"])
    _require_cells(contents, term_offsets, len(vocabulary), settings)
    columns = _decode_columns(contents, len(labels), len(layers))
    n_columns = len(labels) * len(layers)
    class_documents = np.zeros(n_columns, np.int64)
    class_documents[columns] = column_documents

    attributes = Attributes.from_settings(settings.reading)
    has_values = any(len(contents[name]) for name in ("values", "value_sums", "sample_values"))
    require_valid_model(
        attributes.number_columns or not has_values, "it has values of no attribute"
    )
    moments = None
    if attributes.number_columns:
        moments = decode_moments(contents, column_documents, attributes)
        moments = moments.reindex_classes(columns, n_columns)

    cell_columns = contents["cell_columns"]
    if len(layers) > 1:  # otherwise all columns are stored, and the copy would take time
        cell_columns = columns[cell_columns]
    _, unit, _ = stored.layers[0]
    table = CountTable(
        vocabulary,
        labels,
        class_documents,
        term_offsets,
        cell_columns,
        contents["cell_counts"],
        contents["cell_documents"],
        contents["cell_logs"] if settings.needs_log_sums else None,
        attributes,
        moments,
        unit=unit,
        layers=layers,
    )
    if table.cell_logs is not None:
        _require_possible_logs(table)
    return table


def _require_cells(
    contents: ArrayValues, term_offsets: Ints, n_terms: int, settings: Settings
) -> None:
    """Raise `ModelError` unless the arrays of cells are consistent with each other."""
    stored = contents.stored  # with narrow types, which are compared in less time
    columns = stored["cell_columns"]
    column_documents = stored["column_documents"]
    counts = stored["cell_counts"]
    documents = stored["cell_documents"]
    logs = stored["cell_logs"]
    require_valid_model(
        term_offsets[-1] == columns.size and term_offsets.size == n_terms + 1,
        "its terms and cells do not fit",
    )
    require_valid_model(np.all(documents <= counts), "a cell counts less than its documents")
    max_documents = documents.max(initial=0)
    # Only cells of frequent terms can have more documents than the smallest column.
    frequent = np.flatnonzero(documents > column_documents.min(initial=max_documents))
    require_valid_model(
        np.all(documents[frequent] <= column_documents[columns[frequent]]),
        "a cell has more documents than its column",
    )
    require_valid_model(
        are_rows_increasing(columns, term_offsets), "the cells of a term are not sorted by column"
    )
    require_valid_model(
        settings.needs_log_sums or not logs.size,
        "it has sums of log weights and does not use them",
    )
    require_valid_model(
        not settings.needs_log_sums or logs.size == counts.size,
        "its sums of log weights are missing",
    )


def _decode_columns(contents: ArrayContents, n_labels: int, n_layers: int) -> Ints:
    """Return the column of the table for each stored column, shape (n_stored,).

    With one layer all columns are stored, and the file has neither labels nor layers of columns.
    """
    n_stored = contents["column_documents"].size
    column_labels = contents["column_labels"]
    column_layers = contents["column_layers"]
    finding = "its columns and labels do not fit"
    if n_layers == 1:
        require_valid_model(n_stored == n_labels, finding)
        require_valid_model(not column_labels.size and not column_layers.size, finding)
        return np.arange(n_labels)
    require_valid_model(column_labels.size == column_layers.size == n_stored, finding)
    columns: Ints = column_labels * n_layers + column_layers
    require_valid_model(np.all(columns[1:] > columns[:-1]), "its columns are not sorted")
    require_valid_model(n_labels * n_layers <= MAX_LABEL_LAYER_COLUMNS, "it has too many layers")
    return columns


def _require_labels_of_documents(table: CountTable) -> None:
    """Raise `ModelError` if a label has higher counts than all documents, in a table or a cell."""
    n_layers = len(table.layers)
    documents = table.class_documents.reshape(table.n_classes, n_layers)
    require_valid_model(
        np.all(documents <= documents[0]), "a label has more documents than there are"
    )
    terms = table.cell_terms
    columns = table.cell_classes
    is_label_cell = columns >= n_layers  # not of the reserved label
    # For each cell of a label, find the cell of all documents with the same term and layer.
    overall_keys = pair(terms[is_label_cell], columns[is_label_cell] % n_layers)
    overall_cells = find_sorted(pair(terms, columns), overall_keys)
    require_valid_model(np.all(overall_cells >= 0), "a label has a term that no document has")
    for cell_values in table.cells:
        require_valid_model(
            np.all(cell_values[is_label_cell] <= cell_values[overall_cells]),
            "a label counts more than all documents",
        )


def _require_sample_of_documents(table: CountTable, sample: CountedDocuments) -> None:
    """Raise `ModelError` if a column or term has more documents in the sample than in the table.

    The table counts each document at least once, as its weight is at least 1 / unit. To compare
    each cell would double the time of loading.
    """
    columns = sample.columns
    if sample.labels is not None:
        columns = np.concatenate((columns, sample.labels.columns))
    column_documents = np.bincount(columns, minlength=table.class_documents.size)
    term_documents = np.bincount(sample.matrix.terms, minlength=table.n_terms)
    finding = "its sample has documents that were not counted"
    require_valid_model(np.all(column_documents <= table.class_documents), finding)
    require_valid_model(np.all(term_documents <= table.term_documents), finding)


def _require_possible_logs(table: CountTable) -> None:
    """Raise `ModelError` unless the sums of log weights are possible for the counts."""
    counts, documents, sums = table.cells
    min_sums = documents * round_logs(np.ones(1))  # the term occurs once in each document
    # The logarithm is concave, so equal counts in all documents have the largest sum. One unit is
    # added for rounding.
    max_sums = documents * (round_logs(counts / documents) + 1)
    # Logs of values of categorical attributes are not summed.
    is_category_cell = mask_categories(table.vocabulary)[table.cell_terms]
    is_possible = (min_sums <= sums) & (sums <= max_sums)
    require_valid_model(
        np.all(is_possible | (is_category_cell & (sums == 0))),
        "its sums of log weights do not fit its counts",
    )


def _decode_sample(
    contents: ArrayContents, table: CountTable, size: int, bound: int, room: int
) -> DocumentSample:
    """Return the checked sample.

    ``size`` times ``room`` is the limit of its documents. All training documents with a hash up to
    ``bound`` are in the sample.
    """
    hashes = contents["sample_hashes"]
    row_offsets = compute_offsets(contents["sample_entries"])
    terms = contents["sample_terms"]
    columns, labels = _decode_sample_columns(contents, table)
    require_valid_model(
        hashes.size <= min(room * size, int(table.labelled_table.n_documents)),
        "its sample does not fit its size",
    )
    require_valid_model(
        row_offsets[-1] == terms.size <= room * MAX_SAMPLE_ENTRIES,
        "its sample does not fit its terms",
    )
    require_valid_model(
        np.diff(row_offsets).max(initial=0) <= MAX_SAMPLED_DOCUMENT_TERMS,
        "its sample contains impossible documents",
    )
    require_valid_model(
        are_rows_increasing(terms, row_offsets) and np.all(hashes[1:] >= hashes[:-1]),
        "its sample is not sorted",
    )
    require_valid_model(not hashes.size or int(hashes[-1]) <= bound, "its sample exceeds its bound")
    no_unknown_tokens = np.zeros(columns.size, np.int64)
    matrix = DocumentTermMatrix(row_offsets, terms, contents["sample_counts"], no_unknown_tokens)
    if table.moments is not None:
        attribute_values = decode_sample_values(
            contents["sample_values"], columns.size, table.attributes
        )
        matrix = matrix._replace(values=attribute_values)
    weights = None
    if contents["sample_weights"].size:
        weights = contents["sample_weights"]
        require_valid_model(table.unit != 1, "its sample has impossible weights")
    documents = CountedDocuments(
        matrix, columns, hashes, weights, n_layers=len(table.layers), labels=labels
    )
    _require_sample_of_documents(table, documents)
    return DocumentSample(documents, size, bound, room)


def _decode_sample_columns(
    contents: ArrayContents, table: CountTable
) -> tuple[Ints, LabelSets | None]:
    """Return the column of each sampled document, and its label set in a multi-label model.

    In a multi-label model the column of a document belongs to the reserved label.
    """
    n_documents = contents["sample_hashes"].size
    n_layers = len(table.layers)
    document_layers = contents["sample_layers"]
    require_valid_model(
        document_layers.max(initial=0) < table.n_document_layers,
        "a document of its sample is in no layer of documents",
    )
    if not document_layers.size:
        document_layers = np.zeros(n_documents, np.int64)
    labels = contents["sample_labels"]
    label_counts = contents["sample_label_counts"]
    multi_label = are_multi_label(table.classes)
    _require_labels(
        label_counts,
        labels,
        n_documents,
        multi_label=multi_label,
        subject="sample",
        predicate="does not fit its labels",
    )
    if not multi_label:
        return labels * n_layers + document_layers, None
    label_columns = labels * n_layers + np.repeat(document_layers, label_counts)
    return document_layers, LabelSets(label_counts, label_columns)


def _decode_vocabulary(contents: ArrayContents) -> Vocabulary:
    """Return the checked vocabulary."""
    text = contents["terms"]
    ngram_keys = contents["ngrams"]
    bounds = find_row_bounds(text, contents["term_lengths"], "terms")
    n_single_terms = bounds.size - 1
    require_valid_model(are_sorted_terms(text, bounds), "its terms are not sorted and distinct")
    require_valid_model(
        np.all(ngram_keys[1:] > ngram_keys[:-1]), "its n-grams are not sorted and distinct"
    )
    for start in range(0, ngram_keys.size, CHECKED_NGRAMS):  # less memory than all at once
        keys = ngram_keys[start : start + CHECKED_NGRAMS]
        prefixes, last_terms = unpair(keys)
        # An n-gram consists of an earlier term or n-gram, and a single term.
        first_id = n_single_terms + start
        is_earlier = (prefixes >= 0) & (prefixes < np.arange(first_id, first_id + keys.size))
        require_valid_model(
            np.all(is_earlier & (last_terms < n_single_terms)),
            "an n-gram has parts that are not terms",
        )
    return Vocabulary(text, bounds, ngram_keys)


def measure_longest_ngram(vocabulary: Vocabulary) -> int:
    """Return the number of terms in the longest n-gram.

    N-grams are sorted by their prefixes, which are shorter n-grams, so shorter n-grams come first.
    """
    length = 1
    end = vocabulary.n_single_terms  # id after the last n-gram of this length
    while end < len(vocabulary):
        # Each n-gram of the next length has a prefix of this length.
        first_key = pair(np.array(end), np.array(0))
        end = vocabulary.n_single_terms + int(np.searchsorted(vocabulary.ngram_keys, first_key))
        length += 1
    return length
