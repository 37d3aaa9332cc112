"""A model as plain settings and arrays, as a model file has them, and back.

`nbtext.store` checks the form of what comes from a file, and `nbtext.model.schema` each setting and array. Here it is checked whether they go
together: `ModelError` unless training could have made them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.count_table import CELL_FIELDS, CountTable, Layer, Layers, log_units
from nbtext.counts.counting import Analysis
from nbtext.counts.documents import (
    MAX_SAMPLE_ENTRIES,
    MAX_SAMPLED_DOCUMENT_TERMS,
    CountedDocuments,
    DocumentSample,
)
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.statistics import SeedTerm, SeedTerms, build_count_weights
from nbtext.counts.vocabulary import Vocabulary, argsort_terms, is_category
from nbtext.document_fields import COUNT_LIMIT, MAX_NUMBER, MIN_NUMBER, WEIGHT_UNIT, Attributes
from nbtext.errors import ModelError, UsageError, malformed_model_error, require_valid_model
from nbtext.fitted_model import (
    Choices,
    FittedModel,
    FittedParameters,
    PairedTest,
    UnlabelledSummary,
    find_own_pseudo_counts,
    is_possible_smoothing,
    require_trainable,
)
from nbtext.model.schema import (
    EXACT_SUM_LIMIT,
    FITTED_PREFIX,
    LABEL_KINDS,
    StoredSettings,
    check_settings,
    decode_arrays,
    encode_arrays,
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
from nbtext.prediction.typicality import LENGTH_BANDS, QUANTILE_LEVELS, MeanStd, Profile, Typicality
from nbtext.ragged import are_rows_increasing, compute_offsets
from nbtext.settings import NLTK_STEMMERS, Reading, Settings
from nbtext.text.hashing import pair, unpair
from nbtext.text.surface_forms import PAIRS, find_unspaced_runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from nbtext.counts.moments import Moments
    from nbtext.type_names import Arrays, Floats, Ints, Names, Numbers, ParsedJson

    Parts = Mapping[str, Any]
    """What the arrays of a model file hold, by name."""

MAX_LABEL_LAYER_COLUMNS = 1 << 24
"""Labels times layers; each column takes eight bytes of memory, also where a file has none."""

MAX_LABEL_CALIBRATION_NATS = 1e6
"""Of a number in the calibration of a label, up or down."""

MAX_SUM_DIGITS = 2000
"""Of the whole number in an exact sum: the square of a large number in units of the square of a small one has about 500."""


def list_versions(settings: Settings) -> dict[str, str]:
    """Return the versions that write a model: of nbtext, and of the stemming package whose stems the model's terms are."""
    from nbtext.version import __version__

    if settings.stemmer == "none":
        return {"nbtext": __version__}
    if settings.stemmer in NLTK_STEMMERS:
        from importlib.metadata import version

        return {"nbtext": __version__, "nltk": version("nltk")}
    import Stemmer

    return {"nbtext": __version__, "PyStemmer": Stemmer.version()}


def encode_model(model: FittedModel) -> tuple[dict[str, object], Arrays]:
    """Return settings and arrays for `nbtext.store.write_model_file`."""
    learnt = model.parameters
    table = model.counts.table
    calibration = learnt.calibration
    profile = learnt.profile
    left_out = learnt.held_out_posteriors
    settings = to_stored_settings(
        {
            "training": dict(_with_unspaced(model.settings, table)),
            "reading": dict(model.settings.reading),
            "written_by": model.written_by,
            "label_kind": model.label_kind,
            "layers": [
                (layer.name, layer.unit or table.unit, layer.weight) for layer in table.layers
            ],
            "closed_vocabulary": model.counts.is_closed,
            "sample_bound": model.counts.sample.bound,
            "seeds": list(learnt.weights.seeds),
            "smoothing": learnt.smoothing,
            "choices": learnt.choices,
            "temperature": {"scale": calibration.scale, "exponent": calibration.exponent},
            "rivalry": calibration.label_competition,
            "calibration": learnt.calibration_quality,
            "profile": None if profile is None else profile.metrics,
            "unlabelled": learnt.unlabelled_summary and learnt.unlabelled_summary._asdict(),
        }
    )
    arrays = encode_arrays(
        {
            "selected": None
            if learnt.selected_terms.all()
            else learnt.selected_terms.view(np.uint8),
            **calibration.to_arrays(),
            "typicality": None
            if learnt.typicality is None
            else learnt.typicality.quantiles.ravel(),
            "answers": None
            if profile is None
            else np.append(
                np.zeros(table.n_classes - profile.predictions.size, np.int64), profile.predictions
            ),
            "stop_words": "\n".join(model.stop_list).encode(),
            **({} if left_out is None else _left_out_to_plain(left_out)),
        }
    )
    fitted = {FITTED_PREFIX + name: array for name, array in learnt.classifier_arrays.items()}
    return settings, {**encode_counts(model.counts), **arrays, **fitted}


def decode_model(plain: Mapping[str, object], arrays: Arrays) -> FittedModel:
    """Return the model that plain settings and arrays describe; raise `ModelError` unless training could have made it."""
    stored = check_settings(plain)
    settings = _settings(stored.training, stored.reading)
    part, fitted = decode_arrays(arrays, len(stored.layers))
    seeds = [SeedTerm(label, tuple(term), amount) for label, term, amount in stored.seeds]
    require_valid_model(all(seed.term for seed in seeds), "a seed word is no term")
    counts = _counts(part, stored, settings, seeds)
    table = counts.table
    weights = build_count_weights(table, settings, seeds)
    stop_list = part["stop_words"].decode().split()
    try:
        learnt = _learnt(part, stored, settings, table)
        by_term = settings
        if isinstance(settings.smoothing, dict):
            from nbtext.model.training import resolve_smoothing_terms

            by_term = resolve_smoothing_terms(Analysis(settings, stop_list))
        own = find_own_pseudo_counts(table, by_term)
        learnt = replace(learnt, classifier_arrays=fitted, own_pseudo_counts=own, weights=weights)
        model = FittedModel(
            settings, stop_list, counts, learnt, stored.written_by, stored.label_kind
        )
        require_trainable(settings, model.statistics, seeds)
        _ = model.classifier  # raises if what was fitted does not fit
    except UsageError as problem:
        raise malformed_model_error(str(problem)[:200]) from None
    require_valid_model(stored.label_kind in LABEL_KINDS, "its labels are of an unknown type")
    require_valid_model(
        measure_longest_ngram(table.vocabulary) <= settings.ngrams,
        "its n-grams are longer than its settings say",
    )
    return model


def _settings(training: ParsedJson, reading: ParsedJson) -> Settings:
    """Return plain settings, checked; text is UTF-8 or, as in names of files and columns, bytes that Python carries as such."""
    try:
        json.dumps((training, reading), ensure_ascii=False).encode("utf-8", "surrogateescape")
        return replace(Settings.from_model_file(training), reading=Reading.from_model_file(reading))
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise ModelError(
            f"the model has settings that this nbtext does not know: {str(problem)[:200]}"
        ) from None


def _with_unspaced(settings: Settings, table: CountTable) -> Settings:
    """Return settings in which ``--set unspaced=pairs`` is auto if there is no script without spaces, where both count alike."""
    is_auto = settings.unspaced == PAIRS and find_unspaced_runs(table.vocabulary.text) is None
    return replace(settings, unspaced="auto") if is_auto else settings


def find_row_bounds(text: bytes, sizes: Ints, plural: str) -> Ints:
    """Return where each row of text begins and the last ends; raise `ModelError` if one begins inside a character."""
    bounds = compute_offsets(sizes)
    fits = bounds[-1] == len(text) and not np.any(
        (np.frombuffer(text, np.uint8)[bounds[:-1]] & 0xC0) == 0x80
    )
    require_valid_model(fits, f"its {plural} do not fit their lengths")
    return bounds


def encode_moments(moments: Moments) -> dict[str, Numbers | bytes]:
    """Return the number of values, their sums and those of their squares, each a line ``n e`` for n / 2ᵉ."""
    sums = (total for part in (moments.sums, moments.squares) for total in part.ravel().tolist())
    lines = "".join(f"{total.numerator} {total.denominator.bit_length() - 1}\n" for total in sums)
    return {"values": moments.documents.ravel(), "value_sums": lines.encode()}


def decode_moments(part: Parts, class_documents: Ints, attributes: Attributes) -> Moments:
    """Return the moments of the counts and numbers."""
    from nbtext.counts.moments import Moments

    documents = part["values"]
    sums = [_fraction(line) for line in part["value_sums"].decode().splitlines()]
    shape = (class_documents.size, len(attributes.number_columns))
    require_valid_model(
        documents.size == shape[0] * shape[1], "its values do not fit its attributes"
    )
    require_valid_model(len(sums) == 2 * documents.size, "its sums do not fit its attributes")
    halves = (
        np.array(half, object).reshape(shape)
        for half in (sums[: documents.size], sums[documents.size :])
    )
    moments = Moments(documents.reshape(shape), *halves)
    require_valid_model(
        np.all(moments.documents <= class_documents[:, np.newaxis]),
        "there are more values than documents",
    )
    require_valid_model(moments.is_possible(), "its sums are not those of numbers")
    require_valid_model(
        np.all(moments.squares <= moments.documents.astype(object) * int(MAX_NUMBER) ** 2),
        "its numbers are too large",
    )
    of_counts = moments.sums[:, : len(attributes.counts)].ravel().tolist()
    require_valid_model(
        all(total >= 0 and total.denominator == 1 for total in of_counts),
        "its sums are not those of counts",
    )
    return moments


def decode_sample_values(values: Floats, n_documents: int, attributes: Attributes) -> Floats:
    """Return the values of sampled documents, shape (n_documents, n_columns)."""
    n_columns = len(attributes.number_columns)
    require_valid_model(
        values.size == n_documents * n_columns, "its sample does not fit its attributes"
    )
    values = values.reshape(n_documents, n_columns)
    counts, numbers = np.split(values, [len(attributes.counts)], axis=1)
    size = np.abs(numbers)
    require_valid_model(
        np.all(np.isnan(size) | (size == 0) | ((size >= MIN_NUMBER) & (size <= MAX_NUMBER))),
        "its sample has an impossible number",
    )
    possible = np.isnan(counts) | (
        (counts >= 0) & (counts < COUNT_LIMIT) & (counts == np.floor(counts))
    )
    require_valid_model(np.all(possible), "its sample has an impossible count")
    return values


def _fraction(line: str) -> Fraction:
    from fractions import Fraction

    whole_number, _, power = line.partition(" ")
    digits = whole_number.removeprefix("-")
    for number, most in ((digits, MAX_SUM_DIGITS), (power, 4)):
        require_valid_model(
            number.isascii() and number.isdigit() and len(number) <= most, "a sum is no number"
        )
    return Fraction(int(whole_number), 1 << int(power))


def _learnt(
    part: Parts, stored: StoredSettings, settings: Settings, table: CountTable
) -> FittedParameters:
    """Return what was estimated, but for what follows from the counts and what the classifier fitted."""
    smoothing = float(stored.smoothing)
    selected = part["selected"].astype(np.bool_)
    require_valid_model(
        is_possible_smoothing(smoothing, table.n_terms, settings),
        "its smoothing is not what its settings say",
    )
    figures = stored.profile
    answers = part["answers"][int(are_multi_label(table.classes)) :]
    require_valid_model(
        (figures is None) == (not answers.size), "its answers do not go with its profile"
    )
    return FittedParameters(
        selected if selected.size else np.ones(table.n_terms, np.bool_),
        smoothing,
        _calibration(part, stored, table),
        stored.calibration,
        _typicality(part["typicality"]),
        None
        if figures is None
        else Profile({name: MeanStd(*figure) for name, figure in figures.items()}, answers),
        choices=_choices(stored.choices),
        unlabelled_summary=_unlabelled(stored),
        held_out_posteriors=_left_out(part, table.classes),
    )


def _unlabelled(stored: StoredSettings) -> UnlabelledSummary | None:
    return None if stored.unlabelled is None else UnlabelledSummary(**stored.unlabelled)


def _choices(plain: ParsedJson) -> Choices:
    tests = {
        name: plain[name] and PairedTest(**plain[name])
        for name in ("stop_words", "smoothing", "unspaced")
    }
    require_valid_model(
        plain["sides"] and plain["sides"] == sorted(set(plain["sides"])),
        "training makes no such choices",
    )
    return Choices(**{**plain, **tests, "sides": tuple(plain["sides"])})


def _calibration(part: Parts, stored: StoredSettings, table: CountTable) -> Calibration:
    calibration = Calibration(**{name: float(value) for name, value in stored.temperature.items()})
    require_valid_model(calibration.is_valid, "its temperature is out of range")
    slopes, offsets, prior = (part[name] for name in LABEL_ARRAYS)
    several = are_multi_label(table.classes)
    fits = (
        slopes.size == offsets.size == prior.size == (table.n_classes - 1) * several
        and (stored.rivalry is not None) == several
    )
    in_range = all(
        np.all(np.abs(each) <= MAX_LABEL_CALIBRATION_NATS) for each in (slopes, offsets, prior)
    )
    require_valid_model(fits and in_range, "its labels are not calibrated")
    if several:
        from nbtext.prediction.label_calibration import (
            LabelCalibration,
        )  # one answer of one label starts without it

        return LabelCalibration(
            calibration.scale,
            calibration.exponent,
            **stored.rivalry,
            slopes=slopes,
            offsets=offsets,
            prior=prior,
        )
    return calibration


def _typicality(array: Floats) -> Typicality | None:
    if not array.size:
        return None
    require_valid_model(
        array.size == LENGTH_BANDS * QUANTILE_LEVELS.size,
        "its likelihoods are not as many as there are quantiles",
    )
    quantiles = array.reshape(LENGTH_BANDS, QUANTILE_LEVELS.size)
    require_valid_model(
        np.all(np.abs(quantiles) < EXACT_SUM_LIMIT) and np.all(np.diff(quantiles) >= 0),
        "its likelihoods do not rise",
    )
    return Typicality(quantiles)


def _left_out_to_plain(posteriors: HeldOutPosteriors) -> dict[str, Numbers | None]:
    """Return −log p in single precision, the labels, and the weights unless all are 1."""
    with np.errstate(over="ignore"):  # a number far from all others is as good as impossible
        nats = np.maximum(-posteriors.log_posterior, 0).astype(np.float32).ravel()
    weights = None if np.all(posteriors.weights == 1) else posteriors.weights
    _, labels = posteriors.truth.to_pairs()
    sizes = None
    if not posteriors.posterior.is_exclusive:
        sizes = posteriors.truth.count_labels()
        labels = labels + 1  # after the reserved label
    return {
        "left_out_labels": labels,
        "left_out_label_counts": sizes,
        "left_out_nats": nats,
        "left_out_weights": weights,
    }


def _left_out(part: Parts, labels: Names) -> HeldOutPosteriors | None:
    classes, sizes, nats, weights = (
        part[f"left_out_{name}"] for name in ("labels", "label_counts", "nats", "weights")
    )
    several = are_multi_label(labels)
    n_documents = (sizes if several else classes).size
    n_classes = len(labels) - several
    require_valid_model(
        nats.size == n_documents * n_classes, "its documents left out do not fit its classes"
    )
    if not n_documents:
        return None
    require_valid_model(nats.min() >= 0, "the probabilities of its documents left out are none")
    weights = weights if weights.size else np.ones(n_documents)
    require_valid_model(
        weights.size == n_documents and np.all(weights > 0),
        "the weights of its documents left out are none",
    )
    _require_labels(
        sizes, classes, n_documents, "documents left out", "lack labels", several=several
    )
    log_posterior = -nats.reshape(-1, n_classes)
    if several:
        truth = DocumentLabels.from_sets(LabelSets(sizes, classes - 1).to_tuples(), n_classes)
        return HeldOutPosteriors(LabelPosterior(log_posterior), truth, weights)
    return HeldOutPosteriors(
        ClassPosterior(log_posterior),
        DocumentLabels(classes, single_label_table(n_classes)),
        weights,
    )


def _require_labels(
    sizes: Ints, labels: Ints, n_documents: int, whose: str, misfit: str, *, several: bool
) -> None:
    """Raise `ModelError` unless each document has a label, or where it may have several so many as ``sizes`` says, sorted, without the reserved one."""
    require_valid_model(
        sizes.size == n_documents * several
        and labels.size == (sizes.sum() if several else n_documents),
        f"its {whose} {misfit}",
    )
    sorted_sets = not several or (
        are_rows_increasing(labels, compute_offsets(sizes)) and labels.min(initial=1) > 0
    )
    require_valid_model(sorted_sets, f"the labels of its {whose} are not sorted")


def encode_counts(counts: CorpusCounts) -> Arrays:
    """Return the arrays of counts."""
    table = counts.table
    documents = counts.sample.documents
    vocabulary = table.vocabulary
    labels = [label.encode() for label in table.classes]
    values = documents.matrix.values
    n_layers = len(table.layers)
    stays = (table.class_documents > 0) | (n_layers == 1)
    columns = np.flatnonzero(stays)
    return encode_arrays(
        {
            "terms": vocabulary.text,
            "term_lengths": np.diff(vocabulary.bounds),
            "ngrams": vocabulary.ngram_keys,
            "labels": b"".join(labels),
            "label_lengths": np.array([len(label) for label in labels]),
            **(
                {"column_labels": columns // n_layers, "column_layers": columns % n_layers}
                if n_layers > 1
                else {}
            ),
            "column_documents": table.class_documents[columns],
            "term_cells": np.diff(table.term_offsets),
            "cell_columns": (np.cumsum(stays) - 1)[table.cell_classes],
            **dict(zip(CELL_FIELDS, table.cells, strict=False)),
            **(
                {} if table.moments is None else encode_moments(table.moments.take_classes(columns))
            ),
            "sample_hashes": documents.hashes,
            "sample_labels": documents.classes
            if documents.labels is None
            else documents.labels.columns // n_layers,
            "sample_label_counts": None if documents.labels is None else documents.labels.sizes,
            "sample_layers": documents.columns % n_layers if table.n_document_layers > 1 else None,
            "sample_entries": documents.matrix.row_sizes,
            "sample_terms": documents.matrix.terms,
            "sample_counts": documents.matrix.counts,
            "sample_weights": documents.weights,
            "sample_values": None if table.moments is None or values is None else values.ravel(),
        }
    )


def _counts(
    part: Parts, stored: StoredSettings, settings: Settings, seeds: SeedTerms
) -> CorpusCounts:
    """Return the counts."""
    vocabulary = _vocabulary(part)
    rows = stored.layers
    counted = [name for name, _, weight in rows if weight is None]
    names = {name for name, *_ in rows}
    fits = counted == sorted({"", *counted}) and len(names) == len(rows)
    require_valid_model(
        fits and rows[: len(counted)] == [[name, rows[0][1], None] for name in counted],
        "it has layers of unknown kinds",
    )
    layers = tuple(Layer(name, weight, unit if weight else None) for name, unit, weight in rows)
    bounds = find_row_bounds(part["labels"], part["label_lengths"], "labels").tolist()
    labels = tuple(part["labels"][start:end].decode() for start, end in pairwise(bounds))
    require_valid_model(
        labels and all(first < second for first, second in pairwise(labels)),
        "its labels are not sorted and distinct",
    )
    require_valid_model(
        not any(LABEL_MARK in label for label in labels),
        "a label has U+001F, which separates labels",
    )
    table = replace(_table(part, vocabulary, labels, layers, settings), unit=rows[0][1])
    if are_multi_label(labels):
        _require_labels_of_documents(table)
    counts = CorpusCounts(
        table, _sample(part, table, settings.sample, stored.sample_bound), stored.closed_vocabulary
    )
    of_class, of_layer = table.column_classes_and_layers
    without = {*labels} - {
        labels[number] for number in of_class[table.class_documents > 0].tolist()
    }
    require_valid_model(
        without <= {seed.label for seed in seeds}, "a label has neither documents nor seed words"
    )
    n_seeded = np.count_nonzero(
        ~table.term_occurs
    )  # terms that only seeds name, and the parts of n-grams
    require_valid_model(
        n_seeded <= sum(2 * len(seed.term) - 1 for seed in seeds), "its terms and cells do not fit"
    )
    require_valid_model(
        all(len(seed.term) <= settings.ngrams for seed in seeds),
        "a seed is a longer n-gram than its settings say",
    )
    unlabelled = _unlabelled(stored)
    if unlabelled is not None:
        losses = unlabelled.losses
        weights = [layer.weight for layer in layers if layer.weight is not None]
        require_valid_model(
            not losses or losses.keys() >= {f"{weight:g}" for weight in (0, *weights)},
            "it lacks the loss of its unlabelled documents",
        )
        documents = table.class_documents[of_layer >= len(counted)].sum()
        require_valid_model(
            documents <= 2 * WEIGHT_UNIT * unlabelled.documents,
            "its layers have more documents than were read",
        )
    return counts


def _table(
    part: Parts, vocabulary: Vocabulary, labels: tuple[str, ...], layers: Layers, settings: Settings
) -> CountTable:
    """Return the table of arrays, whose columns and cells are checked."""
    cell_columns = part["cell_columns"]
    documents = part["column_documents"]
    bounds = compute_offsets(part["term_cells"])
    attributes = Attributes.from_settings(settings.reading)
    counts, holding, logs = (part[name] for name in CELL_FIELDS)
    require_valid_model(
        bounds[-1] == cell_columns.size and bounds.size == len(vocabulary) + 1,
        "its terms and cells do not fit",
    )
    require_valid_model(cell_columns.max(initial=-1) < documents.size, "a cell has no column")
    require_valid_model(np.all(holding <= counts), "a cell counts less than its documents")
    require_valid_model(
        np.all(holding <= documents[cell_columns]), "a cell has more documents than its column"
    )
    require_valid_model(
        are_rows_increasing(cell_columns, bounds), "the cells of a term are not sorted by column"
    )
    require_valid_model(
        settings.needs_log_sums or not logs.size, "it has sums of log weights and does not use them"
    )
    require_valid_model(
        not settings.needs_log_sums or logs.size == counts.size, "it has no sums of log weights"
    )
    of_class = part["column_labels"]
    of_layer = part["column_layers"]
    n_layers = len(layers)
    n_numbers = documents.size if n_layers > 1 else 0
    fits = of_class.size == of_layer.size == n_numbers
    require_valid_model(
        fits and (n_layers > 1 or documents.size == len(labels)),
        "its columns and labels do not fit",
    )
    columns = np.arange(len(labels)) if n_layers == 1 else of_class * n_layers + of_layer
    require_valid_model(np.all(columns[1:] > columns[:-1]), "its columns are not sorted")
    n_columns = len(labels) * n_layers
    require_valid_model(
        n_layers == 1 or n_columns <= MAX_LABEL_LAYER_COLUMNS, "it has too many layers"
    )
    with_values = any(len(part[name]) for name in ("values", "value_sums", "sample_values"))
    require_valid_model(
        attributes.number_columns or not with_values, "it has values of no attribute"
    )
    of_columns = np.zeros(n_columns, np.int64)
    of_columns[columns] = documents
    moments = (
        decode_moments(part, documents, attributes).reindex_classes(columns, n_columns)
        if attributes.number_columns
        else None
    )
    found = CountTable(
        vocabulary,
        labels,
        of_columns,
        bounds,
        cell_columns if n_layers == 1 else columns[cell_columns],
        counts,
        holding,
        logs if settings.needs_log_sums else None,
        attributes,
        moments,
        layers=layers,
    )
    if found.cell_logs is not None:
        _require_possible_logs(found)
    return found


def _require_labels_of_documents(table: CountTable) -> None:
    """Raise `ModelError` unless each label has at most the documents, the counts and the log weights of all documents, the first label."""
    n_layers = len(table.layers)
    documents = table.class_documents.reshape(-1, n_layers)
    require_valid_model(
        np.all(documents <= documents[0]), "a label has more documents than there are"
    )
    terms = table.cell_terms
    columns = table.cell_classes
    of_label = columns >= n_layers
    cells = pair(terms, columns)
    of_all = pair(terms[of_label], columns[of_label] % n_layers)
    places = np.minimum(np.searchsorted(cells, of_all), max(cells.size - 1, 0))
    require_valid_model(
        np.array_equal(cells[places], of_all), "a label has a term that no document has"
    )
    for counted in table.cells:
        require_valid_model(
            np.all(counted[of_label] <= counted[places]), "a label counts more than all documents"
        )


def _require_sample_of_documents(table: CountTable, sample: CountedDocuments) -> None:
    """Raise `ModelError` if a sample has more documents of a column, or more that hold a term, than were counted.

    Documents weigh at least 1 / unit. To compare each cell would double the time of loading.
    """
    of_columns = (
        sample.columns
        if sample.labels is None
        else np.concatenate((sample.columns, sample.labels.columns))
    )
    documents = np.bincount(of_columns, minlength=table.class_documents.size)
    holding = np.bincount(sample.matrix.terms, minlength=table.n_terms)
    fits = np.all(documents <= table.class_documents) and np.all(holding <= table.term_documents)
    require_valid_model(fits, "its sample has documents that were not counted")


def _require_possible_logs(table: CountTable) -> None:
    """Raise `ModelError` unless the sums of log weights are possible for the counts."""
    counts, documents, sums = table.cells
    least = documents * log_units(np.ones(1))
    most = documents * (log_units(counts / documents) + 1)  # the logarithm is concave
    unweighted = is_category(table.vocabulary)[table.cell_terms] & (sums == 0)
    require_valid_model(
        np.all(unweighted | ((least <= sums) & (sums <= most))),
        "its sums of log weights do not fit its counts",
    )


def _sample(part: Parts, table: CountTable, size: int, bound: int) -> DocumentSample:
    hashes = part["sample_hashes"]
    entries = compute_offsets(part["sample_entries"])
    columns = part["sample_labels"]
    terms = part["sample_terms"]
    counts = part["sample_counts"]
    n_layers = len(table.layers)
    of_layers = part["sample_layers"]
    require_valid_model(
        of_layers.max(initial=0) < table.n_document_layers,
        "a document of its sample is in no layer of documents",
    )
    of_layers = of_layers if of_layers.size else np.zeros(hashes.size, np.int64)
    sizes = part["sample_label_counts"]
    labels = None
    several = are_multi_label(table.classes)
    _require_labels(
        sizes, columns, hashes.size, "sample", "does not fit its labels", several=several
    )
    if several:
        labels = LabelSets(sizes, columns * n_layers + np.repeat(of_layers, sizes))
        columns = of_layers
    else:
        columns = columns * n_layers + of_layers
    require_valid_model(
        hashes.size <= min(size, int(table.labelled_table.n_documents)),
        "its sample does not fit its size",
    )
    require_valid_model(
        entries[-1] == terms.size <= MAX_SAMPLE_ENTRIES, "its sample does not fit its terms"
    )
    require_valid_model(
        np.diff(entries).max(initial=0) <= MAX_SAMPLED_DOCUMENT_TERMS,
        "its sample holds impossible documents",
    )
    require_valid_model(
        are_rows_increasing(terms, entries) and np.all(hashes[1:] >= hashes[:-1]),
        "its sample is not sorted",
    )
    require_valid_model(not hashes.size or int(hashes[-1]) <= bound, "its sample exceeds its bound")
    matrix = DocumentTermMatrix(entries, terms, counts, np.zeros(columns.size, np.int64))
    if table.moments is not None:
        matrix = matrix._replace(
            values=decode_sample_values(part["sample_values"], columns.size, table.attributes)
        )
    weights = part["sample_weights"] if part["sample_weights"].size else None
    require_valid_model(weights is None or table.unit != 1, "its sample has impossible weights")
    documents = CountedDocuments(matrix, columns, hashes, weights, n_layers, labels)
    _require_sample_of_documents(table, documents)
    return DocumentSample(documents, size, bound)


def _vocabulary(part: Parts) -> Vocabulary:
    text = part["terms"]
    pairs = part["ngrams"]
    bounds = find_row_bounds(text, part["term_lengths"], "terms")
    single = bounds.size - 1
    order, is_repeated = argsort_terms(text, bounds)
    require_valid_model(
        np.all(order[1:] > order[:-1]) and not is_repeated.any(),
        "its terms are not sorted and distinct",
    )
    left, last = unpair(pairs)
    require_valid_model(np.all(pairs[1:] > pairs[:-1]), "its n-grams are not sorted and distinct")
    require_valid_model(
        np.all((left >= 0) & (left < single + np.arange(left.size)) & (last < single)),
        "an n-gram has parts that are no terms",
    )
    return Vocabulary(text, bounds, pairs)


def measure_longest_ngram(vocabulary: Vocabulary) -> int:
    """Return the number of terms in the longest n-gram. Shorter n-grams stand before longer ones, which refer to them."""
    left, _ = unpair(vocabulary.ngram_keys)
    order = 1
    known = vocabulary.n_single_terms
    while known < len(vocabulary):
        known = vocabulary.n_single_terms + int(np.searchsorted(left, known))
        order += 1
    return order
