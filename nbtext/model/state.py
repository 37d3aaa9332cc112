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
from nbtext.counts.count_table import CELLS, CountTable, Layer, Layers, log_units
from nbtext.counts.counting import Analysis
from nbtext.counts.documents import MOST_ENTRIES, MOST_TERMS, CountedDocuments, DocumentSample
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.statistics import Seed, Seeds, weights_of
from nbtext.counts.vocabulary import Vocabulary, is_category, sorted_order
from nbtext.document_fields import LARGEST, LARGEST_COUNT, SMALLEST, WEIGHT_UNIT, Attributes
from nbtext.errors import ModelError, UsageError, malformed, require
from nbtext.fitted_model import (
    Choices,
    FittedModel,
    Learnt,
    PairedTest,
    UnlabelledFigures,
    is_possible_smoothing,
    own_pseudo_counts,
    require_learnable,
)
from nbtext.model.schema import (
    FITTED,
    LABEL_KINDS,
    MOST,
    StoredSettings,
    checked_settings,
    decoded,
    encoded,
    plain,
)
from nbtext.prediction.calibration import LABEL_ARRAYS, Calibration, LeftOutPosteriors
from nbtext.prediction.labels import MARK, DocumentLabels, LabelSets, have_several, single_labels
from nbtext.prediction.posterior import ClassPosterior, LabelPosterior
from nbtext.prediction.typicality import BANDS, LEVELS, Profile, Spread, Typicality
from nbtext.ragged import offsets, rise_in_rows
from nbtext.settings import NLTK_STEMMERS, Reading, Settings
from nbtext.text.hashing import pair, unpair
from nbtext.text.surface_forms import PAIRS, unspaced_runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from nbtext.counts.moments import Moments
    from nbtext.type_names import Arrays, Floats, Names, Numbers, Parsed, Whole

    Parts = Mapping[str, Any]
    """What the arrays of a model file hold, by name."""

MOST_COLUMNS = 1 << 24
"""Labels times layers; each column takes eight bytes of memory, also where a file has none."""

MOST_NATS = 1e6
"""Of a number in the calibration of a label, up or down."""

MOST_DIGITS = 2000
"""Of the whole number in an exact sum: the square of a large number in units of the square of a small one has about 500."""


def versions(settings: Settings) -> dict[str, str]:
    """Return the versions that write a model: of nbtext, and of the stemming package whose stems the model's terms are."""
    from nbtext.version import __version__

    if settings.stemmer == "none":
        return {"nbtext": __version__}
    if settings.stemmer in NLTK_STEMMERS:
        from importlib.metadata import version

        return {"nbtext": __version__, "nltk": version("nltk")}
    import Stemmer

    return {"nbtext": __version__, "PyStemmer": Stemmer.version()}


def to_plain(model: FittedModel) -> tuple[dict[str, object], Arrays]:
    """Return settings and arrays for `nbtext.store.write_model_file`."""
    learnt = model.learnt
    table = model.counts.table
    calibration = learnt.calibration
    profile = learnt.profile
    left_out = learnt.left_out
    settings = plain(
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
            "rivalry": calibration.of_labels,
            "calibration": learnt.judgement,
            "profile": None if profile is None else profile.figures,
            "unlabelled": learnt.unlabelled and learnt.unlabelled._asdict(),
        }
    )
    arrays = encoded(
        {
            "selected": None if learnt.selected.all() else learnt.selected.view(np.uint8),
            **calibration.arrays(),
            "typicality": None
            if learnt.typicality is None
            else learnt.typicality.quantiles.ravel(),
            "answers": None
            if profile is None
            else np.append(
                np.zeros(table.n_classes - profile.answers.size, np.int64), profile.answers
            ),
            "stop_words": "\n".join(model.stop_list).encode(),
            **({} if left_out is None else _left_out_to_plain(left_out)),
        }
    )
    fitted = {FITTED + name: array for name, array in learnt.fitted.items()}
    return settings, {**counts_to_plain(model.counts), **arrays, **fitted}


def from_plain(plain: Mapping[str, object], arrays: Arrays) -> FittedModel:
    """Return the model that plain settings and arrays describe; raise `ModelError` unless training could have made it."""
    stored = checked_settings(plain)
    settings = _settings(stored.training, stored.reading)
    part, fitted = decoded(arrays, len(stored.layers))
    seeds = [Seed(label, tuple(term), amount) for label, term, amount in stored.seeds]
    require(all(seed.term for seed in seeds), "a seed word is no term")
    counts = _counts(part, stored, settings, seeds)
    table = counts.table
    weights = weights_of(table, settings, seeds)
    stop_list = part["stop_words"].decode().split()
    try:
        learnt = _learnt(part, stored, settings, table)
        by_term = settings
        if isinstance(settings.smoothing, dict):
            from nbtext.model.training import looked_up

            by_term = looked_up(Analysis(settings, stop_list))
        own = own_pseudo_counts(table, by_term)
        learnt = replace(learnt, fitted=fitted, own=own, weights=weights)
        model = FittedModel(
            settings, stop_list, counts, learnt, stored.written_by, stored.label_kind
        )
        require_learnable(settings, model.statistics, seeds)
        _ = model.classifier  # raises if what was fitted does not fit
    except UsageError as problem:
        raise malformed(str(problem)[:200]) from None
    require(stored.label_kind in LABEL_KINDS, "its labels are of an unknown type")
    require(
        longest_ngram(table.vocabulary) <= settings.ngrams,
        "its n-grams are longer than its settings say",
    )
    return model


def _settings(training: Parsed, reading: Parsed) -> Settings:
    """Return plain settings, checked; text is UTF-8 or, as in names of files and columns, bytes that Python carries as such."""
    try:
        json.dumps((training, reading), ensure_ascii=False).encode("utf-8", "surrogateescape")
        return replace(Settings.of_file(training), reading=Reading.of_file(reading))
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise ModelError(
            f"the model has settings that this nbtext does not know: {str(problem)[:200]}"
        ) from None


def _with_unspaced(settings: Settings, table: CountTable) -> Settings:
    """Return settings in which ``--set unspaced=pairs`` is auto if there is no script without spaces, where both count alike."""
    is_auto = settings.unspaced == PAIRS and unspaced_runs(table.vocabulary.text) is None
    return replace(settings, unspaced="auto") if is_auto else settings


def rows_of_text(text: bytes, sizes: Whole, plural: str) -> Whole:
    """Return where each row of text begins and the last ends; raise `ModelError` if one begins inside a character."""
    bounds = offsets(sizes)
    fits = bounds[-1] == len(text) and not np.any(
        (np.frombuffer(text, np.uint8)[bounds[:-1]] & 0xC0) == 0x80
    )
    require(fits, f"its {plural} do not fit their lengths")
    return bounds


def values_to_plain(moments: Moments) -> dict[str, Numbers | bytes]:
    """Return the number of values, their sums and those of their squares, each a line ``n e`` for n / 2ᵉ."""
    sums = (total for part in (moments.sums, moments.squares) for total in part.ravel().tolist())
    lines = "".join(f"{total.numerator} {total.denominator.bit_length() - 1}\n" for total in sums)
    return {"values": moments.documents.ravel(), "value_sums": lines.encode()}


def moments_from_plain(part: Parts, class_documents: Whole, attributes: Attributes) -> Moments:
    """Return the moments of the counts and numbers."""
    from nbtext.counts.moments import Moments

    documents = part["values"]
    sums = [_fraction(line) for line in part["value_sums"].decode().splitlines()]
    shape = (class_documents.size, len(attributes.numbers))
    require(documents.size == shape[0] * shape[1], "its values do not fit its attributes")
    require(len(sums) == 2 * documents.size, "its sums do not fit its attributes")
    halves = (
        np.array(half, object).reshape(shape)
        for half in (sums[: documents.size], sums[documents.size :])
    )
    moments = Moments(documents.reshape(shape), *halves)
    require(
        np.all(moments.documents <= class_documents[:, np.newaxis]),
        "there are more values than documents",
    )
    require(moments.are_possible(), "its sums are not those of numbers")
    require(
        np.all(moments.squares <= moments.documents.astype(object) * int(LARGEST) ** 2),
        "its numbers are too large",
    )
    of_counts = moments.sums[:, : len(attributes.counts)].ravel().tolist()
    require(
        all(total >= 0 and total.denominator == 1 for total in of_counts),
        "its sums are not those of counts",
    )
    return moments


def sample_values_from_plain(values: Floats, n_documents: int, attributes: Attributes) -> Floats:
    """Return the values of sampled documents, shape (n_documents, n_columns)."""
    n_columns = len(attributes.numbers)
    require(values.size == n_documents * n_columns, "its sample does not fit its attributes")
    values = values.reshape(n_documents, n_columns)
    counts, numbers = np.split(values, [len(attributes.counts)], axis=1)
    size = np.abs(numbers)
    require(
        np.all(np.isnan(size) | (size == 0) | ((size >= SMALLEST) & (size <= LARGEST))),
        "its sample has an impossible number",
    )
    possible = np.isnan(counts) | (
        (counts >= 0) & (counts < LARGEST_COUNT) & (counts == np.floor(counts))
    )
    require(np.all(possible), "its sample has an impossible count")
    return values


def _fraction(line: str) -> Fraction:
    from fractions import Fraction

    whole_number, _, power = line.partition(" ")
    digits = whole_number.removeprefix("-")
    for number, most in ((digits, MOST_DIGITS), (power, 4)):
        require(number.isascii() and number.isdigit() and len(number) <= most, "a sum is no number")
    return Fraction(int(whole_number), 1 << int(power))


def _learnt(part: Parts, stored: StoredSettings, settings: Settings, table: CountTable) -> Learnt:
    """Return what was estimated, but for what follows from the counts and what the classifier fitted."""
    smoothing = float(stored.smoothing)
    selected = part["selected"].astype(np.bool_)
    require(
        is_possible_smoothing(smoothing, table.n_terms, settings),
        "its smoothing is not what its settings say",
    )
    figures = stored.profile
    answers = part["answers"][int(have_several(table.classes)) :]
    require((figures is None) == (not answers.size), "its answers do not go with its profile")
    return Learnt(
        selected if selected.size else np.ones(table.n_terms, np.bool_),
        smoothing,
        _calibration(part, stored, table),
        stored.calibration,
        _typicality(part["typicality"]),
        None
        if figures is None
        else Profile({name: Spread(*figure) for name, figure in figures.items()}, answers),
        choices=_choices(stored.choices),
        unlabelled=_unlabelled(stored),
        left_out=_left_out(part, table.classes),
    )


def _unlabelled(stored: StoredSettings) -> UnlabelledFigures | None:
    return None if stored.unlabelled is None else UnlabelledFigures(**stored.unlabelled)


def _choices(plain: Parsed) -> Choices:
    tests = {
        name: plain[name] and PairedTest(**plain[name])
        for name in ("stop_words", "smoothing", "unspaced")
    }
    require(
        plain["sides"] and plain["sides"] == sorted(set(plain["sides"])),
        "training makes no such choices",
    )
    return Choices(**{**plain, **tests, "sides": tuple(plain["sides"])})


def _calibration(part: Parts, stored: StoredSettings, table: CountTable) -> Calibration:
    calibration = Calibration(**{name: float(value) for name, value in stored.temperature.items()})
    require(calibration.is_possible, "its temperature is out of range")
    slopes, offsets, prior = (part[name] for name in LABEL_ARRAYS)
    several = have_several(table.classes)
    fits = (
        slopes.size == offsets.size == prior.size == (table.n_classes - 1) * several
        and (stored.rivalry is not None) == several
    )
    in_range = all(np.all(np.abs(each) <= MOST_NATS) for each in (slopes, offsets, prior))
    require(fits and in_range, "its labels are not calibrated")
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
    require(
        array.size == BANDS * LEVELS.size, "its likelihoods are not as many as there are quantiles"
    )
    quantiles = array.reshape(BANDS, LEVELS.size)
    require(
        np.all(np.abs(quantiles) < MOST) and np.all(np.diff(quantiles) >= 0),
        "its likelihoods do not rise",
    )
    return Typicality(quantiles)


def _left_out_to_plain(posteriors: LeftOutPosteriors) -> dict[str, Numbers | None]:
    """Return −log p in single precision, the labels, and the weights unless all are 1."""
    with np.errstate(over="ignore"):  # a number far from all others is as good as impossible
        nats = np.maximum(-posteriors.log_posterior, 0).astype(np.float32).ravel()
    weights = None if np.all(posteriors.weights == 1) else posteriors.weights
    _, labels = posteriors.truth.pairs()
    sizes = None
    if not posteriors.posterior.is_exclusive:
        sizes = posteriors.truth.sizes()
        labels = labels + 1  # after the reserved label
    return {
        "left_out_labels": labels,
        "left_out_label_counts": sizes,
        "left_out_nats": nats,
        "left_out_weights": weights,
    }


def _left_out(part: Parts, labels: Names) -> LeftOutPosteriors | None:
    classes, sizes, nats, weights = (
        part[f"left_out_{name}"] for name in ("labels", "label_counts", "nats", "weights")
    )
    several = have_several(labels)
    n_documents = (sizes if several else classes).size
    n_classes = len(labels) - several
    require(nats.size == n_documents * n_classes, "its documents left out do not fit its classes")
    if not n_documents:
        return None
    require(nats.min() >= 0, "the probabilities of its documents left out are none")
    weights = weights if weights.size else np.ones(n_documents)
    require(
        weights.size == n_documents and np.all(weights > 0),
        "the weights of its documents left out are none",
    )
    _require_labels(
        sizes, classes, n_documents, "documents left out", "lack labels", several=several
    )
    log_posterior = -nats.reshape(-1, n_classes)
    if several:
        truth = DocumentLabels.of_sets(LabelSets(sizes, classes - 1).tuples(), n_classes)
        return LeftOutPosteriors(LabelPosterior(log_posterior), truth, weights)
    return LeftOutPosteriors(
        ClassPosterior(log_posterior), DocumentLabels(classes, single_labels(n_classes)), weights
    )


def _require_labels(
    sizes: Whole, labels: Whole, n_documents: int, whose: str, misfit: str, *, several: bool
) -> None:
    """Raise `ModelError` unless each document has a label, or where it may have several so many as ``sizes`` says, sorted, without the reserved one."""
    require(
        sizes.size == n_documents * several
        and labels.size == (sizes.sum() if several else n_documents),
        f"its {whose} {misfit}",
    )
    sorted_sets = not several or (
        rise_in_rows(labels, offsets(sizes)) and labels.min(initial=1) > 0
    )
    require(sorted_sets, f"the labels of its {whose} are not sorted")


def counts_to_plain(counts: CorpusCounts) -> Arrays:
    """Return the arrays of counts."""
    table = counts.table
    documents = counts.sample.documents
    vocabulary = table.vocabulary
    labels = [label.encode() for label in table.classes]
    values = documents.matrix.values
    n_layers = len(table.layers)
    stays = (table.class_documents > 0) | (n_layers == 1)
    columns = np.flatnonzero(stays)
    return encoded(
        {
            "terms": vocabulary.text,
            "term_lengths": np.diff(vocabulary.bounds),
            "ngrams": vocabulary.pairs,
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
            **dict(zip(CELLS, table.cells, strict=False)),
            **({} if table.moments is None else values_to_plain(table.moments.of_classes(columns))),
            "sample_hashes": documents.hashes,
            "sample_labels": documents.classes
            if documents.labels is None
            else documents.labels.columns // n_layers,
            "sample_label_counts": None if documents.labels is None else documents.labels.sizes,
            "sample_layers": documents.columns % n_layers if table.n_counted > 1 else None,
            "sample_entries": documents.matrix.entries,
            "sample_terms": documents.matrix.terms,
            "sample_counts": documents.matrix.counts,
            "sample_weights": documents.weights,
            "sample_values": None if table.moments is None or values is None else values.ravel(),
        }
    )


def _counts(part: Parts, stored: StoredSettings, settings: Settings, seeds: Seeds) -> CorpusCounts:
    """Return the counts."""
    vocabulary = _vocabulary(part)
    rows = stored.layers
    counted = [name for name, _, weight in rows if weight is None]
    names = {name for name, *_ in rows}
    fits = counted == sorted({"", *counted}) and len(names) == len(rows)
    require(
        fits and rows[: len(counted)] == [[name, rows[0][1], None] for name in counted],
        "it has layers of unknown kinds",
    )
    layers = tuple(Layer(name, weight, unit if weight else None) for name, unit, weight in rows)
    bounds = rows_of_text(part["labels"], part["label_lengths"], "labels").tolist()
    labels = tuple(part["labels"][start:end].decode() for start, end in pairwise(bounds))
    require(
        labels and all(first < second for first, second in pairwise(labels)),
        "its labels are not sorted and distinct",
    )
    require(
        not any(MARK in label for label in labels), "a label has U+001F, which separates labels"
    )
    table = replace(_table(part, vocabulary, labels, layers, settings), unit=rows[0][1])
    if have_several(labels):
        _require_labels_of_documents(table)
    counts = CorpusCounts(
        table, _sample(part, table, settings.sample, stored.sample_bound), stored.closed_vocabulary
    )
    of_class, of_layer = table.column_parts
    without = {*labels} - {
        labels[number] for number in of_class[table.class_documents > 0].tolist()
    }
    require(
        without <= {seed.label for seed in seeds}, "a label has neither documents nor seed words"
    )
    n_seeded = np.count_nonzero(~table.held)  # terms that only seeds name, and the parts of n-grams
    require(
        n_seeded <= sum(2 * len(seed.term) - 1 for seed in seeds), "its terms and cells do not fit"
    )
    require(
        all(len(seed.term) <= settings.ngrams for seed in seeds),
        "a seed is a longer n-gram than its settings say",
    )
    unlabelled = _unlabelled(stored)
    if unlabelled is not None:
        losses = unlabelled.losses
        weights = [layer.weight for layer in layers if layer.weight is not None]
        require(
            not losses or losses.keys() >= {f"{weight:g}" for weight in (0, *weights)},
            "it lacks the loss of its unlabelled documents",
        )
        documents = table.class_documents[of_layer >= len(counted)].sum()
        require(
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
    bounds = offsets(part["term_cells"])
    attributes = Attributes.of(settings.reading)
    counts, holding, logs = (part[name] for name in CELLS)
    require(
        bounds[-1] == cell_columns.size and bounds.size == len(vocabulary) + 1,
        "its terms and cells do not fit",
    )
    require(cell_columns.max(initial=-1) < documents.size, "a cell has no column")
    require(np.all(holding <= counts), "a cell counts less than its documents")
    require(np.all(holding <= documents[cell_columns]), "a cell has more documents than its column")
    require(rise_in_rows(cell_columns, bounds), "the cells of a term are not sorted by column")
    require(settings.sums_logs or not logs.size, "it has sums of log weights and does not use them")
    require(not settings.sums_logs or logs.size == counts.size, "it has no sums of log weights")
    of_class = part["column_labels"]
    of_layer = part["column_layers"]
    n_layers = len(layers)
    n_numbers = documents.size if n_layers > 1 else 0
    fits = of_class.size == of_layer.size == n_numbers
    require(
        fits and (n_layers > 1 or documents.size == len(labels)),
        "its columns and labels do not fit",
    )
    columns = np.arange(len(labels)) if n_layers == 1 else of_class * n_layers + of_layer
    require(np.all(columns[1:] > columns[:-1]), "its columns are not sorted")
    n_columns = len(labels) * n_layers
    require(n_layers == 1 or n_columns <= MOST_COLUMNS, "it has too many layers")
    with_values = any(len(part[name]) for name in ("values", "value_sums", "sample_values"))
    require(attributes.numbers or not with_values, "it has values of no attribute")
    of_columns = np.zeros(n_columns, np.int64)
    of_columns[columns] = documents
    moments = (
        moments_from_plain(part, documents, attributes).scattered(columns, n_columns)
        if attributes.numbers
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
        logs if settings.sums_logs else None,
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
    require(np.all(documents <= documents[0]), "a label has more documents than there are")
    terms = table.cell_terms
    columns = table.cell_classes
    of_label = columns >= n_layers
    cells = pair(terms, columns)
    of_all = pair(terms[of_label], columns[of_label] % n_layers)
    places = np.minimum(np.searchsorted(cells, of_all), max(cells.size - 1, 0))
    require(np.array_equal(cells[places], of_all), "a label has a term that no document has")
    for counted in table.cells:
        require(
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
    require(fits, "its sample has documents that were not counted")


def _require_possible_logs(table: CountTable) -> None:
    """Raise `ModelError` unless the sums of log weights are possible for the counts."""
    counts, documents, sums = table.cells
    least = documents * log_units(np.ones(1))
    most = documents * (log_units(counts / documents) + 1)  # the logarithm is concave
    unweighted = is_category(table.vocabulary)[table.cell_terms] & (sums == 0)
    require(
        np.all(unweighted | ((least <= sums) & (sums <= most))),
        "its sums of log weights do not fit its counts",
    )


def _sample(part: Parts, table: CountTable, size: int, bound: int) -> DocumentSample:
    hashes = part["sample_hashes"]
    entries = offsets(part["sample_entries"])
    columns = part["sample_labels"]
    terms = part["sample_terms"]
    counts = part["sample_counts"]
    n_layers = len(table.layers)
    of_layers = part["sample_layers"]
    require(
        of_layers.max(initial=0) < table.n_counted,
        "a document of its sample is in no layer of documents",
    )
    of_layers = of_layers if of_layers.size else np.zeros(hashes.size, np.int64)
    sizes = part["sample_label_counts"]
    labels = None
    several = have_several(table.classes)
    _require_labels(
        sizes, columns, hashes.size, "sample", "does not fit its labels", several=several
    )
    if several:
        labels = LabelSets(sizes, columns * n_layers + np.repeat(of_layers, sizes))
        columns = of_layers
    else:
        columns = columns * n_layers + of_layers
    require(
        hashes.size <= min(size, int(table.counted.n_documents)), "its sample does not fit its size"
    )
    require(entries[-1] == terms.size <= MOST_ENTRIES, "its sample does not fit its terms")
    require(np.diff(entries).max(initial=0) <= MOST_TERMS, "its sample holds impossible documents")
    require(
        rise_in_rows(terms, entries) and np.all(hashes[1:] >= hashes[:-1]),
        "its sample is not sorted",
    )
    require(not hashes.size or int(hashes[-1]) <= bound, "its sample exceeds its bound")
    matrix = DocumentTermMatrix(entries, terms, counts, np.zeros(columns.size, np.int64))
    if table.moments is not None:
        matrix = matrix._replace(
            values=sample_values_from_plain(part["sample_values"], columns.size, table.attributes)
        )
    weights = part["sample_weights"] if part["sample_weights"].size else None
    require(weights is None or table.unit != 1, "its sample has impossible weights")
    documents = CountedDocuments(matrix, columns, hashes, weights, n_layers, labels)
    _require_sample_of_documents(table, documents)
    return DocumentSample(documents, size, bound)


def _vocabulary(part: Parts) -> Vocabulary:
    text = part["terms"]
    pairs = part["ngrams"]
    bounds = rows_of_text(text, part["term_lengths"], "terms")
    single = bounds.size - 1
    order, is_repeated = sorted_order(text, bounds)
    require(
        np.all(order[1:] > order[:-1]) and not is_repeated.any(),
        "its terms are not sorted and distinct",
    )
    left, last = unpair(pairs)
    require(np.all(pairs[1:] > pairs[:-1]), "its n-grams are not sorted and distinct")
    require(
        np.all((left >= 0) & (left < single + np.arange(left.size)) & (last < single)),
        "an n-gram has parts that are no terms",
    )
    return Vocabulary(text, bounds, pairs)


def longest_ngram(vocabulary: Vocabulary) -> int:
    """Return the number of terms in the longest n-gram. Shorter n-grams stand before longer ones, which refer to them."""
    left, _ = unpair(vocabulary.pairs)
    order = 1
    known = vocabulary.n_single
    while known < len(vocabulary):
        known = vocabulary.n_single + int(np.searchsorted(left, known))
        order += 1
    return order
