"""A model as plain settings and arrays, as a model file has them, and back.

`nbtext.store` checks the form of what comes from a file. Here its meaning is checked: `ModelError` unless training could have made it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

import numpy as np

from nbtext import typicality
from nbtext.attributes import LARGEST, LARGEST_COUNT, SMALLEST, Attributes
from nbtext.calibration import Calibration
from nbtext.classifiers.base import class_prior
from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.counting import Analysis
from nbtext.counts.documents import LARGEST_HASH, MOST_ENTRIES, MOST_TERMS, CountedDocuments, DocumentSample
from nbtext.counts.layers import estimated, weights_of
from nbtext.counts.matrix import DocumentTermMatrix
from nbtext.counts.seeds import MOST as MOST_OF_SEEDS
from nbtext.counts.seeds import Seed
from nbtext.counts.statistics import MOST_UNITS, ClassStatistics, Layer, log_units
from nbtext.counts.vocabulary import Vocabulary, is_category
from nbtext.document_parts import WEIGHT_UNIT
from nbtext.errors import ModelError, UsageError, malformed, require
from nbtext.exclusions import DOCUMENT_WEIGHTS, SEED_WORDS, require_fitting
from nbtext.model.given_texts import LABEL_KINDS
from nbtext.model.learnt import (
    NO_CHOICES,
    Choices,
    Judgement,
    Learnt,
    PairedTest,
    UnlabelledFigures,
    classifier,
    is_possible_smoothing,
    own_pseudo_counts,
)
from nbtext.model.left_out import LEFT_OUT_ARRAYS, LeftOutPosteriors
from nbtext.ragged import offsets
from nbtext.settings import GONE, NLTK_STEMMERS, Declared, Reading, Settings
from nbtext.text.hashing import unpair
from nbtext.text.surfaces import PAIRS, WORDS
from nbtext.text.unspaced import unspaced_runs
from nbtext.typicality import BANDS, LEVELS, Profile, Spread, Typicality
from nbtext.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from numpy.typing import NDArray

    from nbtext.counts.moments import Moments
    from nbtext.type_names import Arrays, Floats, Numbers, Whole

    Plain = Mapping[str, object]
    """Settings as JSON holds them."""

Kind = TypeVar("Kind", bound=Declared)

MOST = 2**53
"""Counts stay below this, so that sums are exact in int64 and in float64."""

MOST_DIGITS = 2000
"""Of the whole number in an exact sum: the square of a large number in units of the square of a small one has about 500."""

LEARNT_ARRAYS = frozenset({"selected", "curve_places", "curve_shares", "typicality", "answers"})

LEARNT_SETTINGS = frozenset({"smoothing", "temperature", "calibration", "profile"})

CHOICES = "choices"
"""What training chose where ``auto`` left a choice; models from before that have none."""

FITTED = "fitted_"
"""Prefix of the names of a classifier's own arrays."""

FIGURES = {"log_loss": sys.float_info.max, "brier": 2.0, "ece": 1.0}
"""The figures of a calibration, and the largest value of each."""

COUNTS_ARRAYS = frozenset({
    "terms", "term_lengths", "ngrams", "term_cells", "cell_classes", "cell_counts", "cell_documents",
    "classes", "class_lengths", "class_documents",
    "sample_hashes", "sample_classes", "sample_entries", "sample_terms", "sample_counts",
})  # fmt: skip

VALUES = frozenset({"values", "value_sums", "sample_values"})
"""The arrays of numbers beside the texts, where there are any."""

SETTINGS = frozenset({"training", "reading", "written_by", "sample_bound"}) | LEARNT_SETTINGS

CLOSED = "closed_vocabulary"
"""A setting of pruned models only: true."""

LOGS = "cell_logs"
"""The array of the sums of log weights, in models of them."""

LABEL_KIND = "label_kind"
"""A setting of models only that were given labels other than text."""

UNIT = "unit"
"""A setting of models of weighted documents only: `nbtext.attributes.WEIGHT_UNIT`."""

WEIGHTS = "sample_weights"
"""The array of the weights of the sample, in models of weighted documents only."""

UNLABELLED = "unlabelled"
"""A setting of models only that have learnt from unlabelled documents: how, and what it brought."""

KEPT_OF_UNLABELLED = ("weight", "documents", "losses")
"""What that setting holds."""

SEEDS = "seeds"
"""A setting of models only that began with seed words: class, term and pseudo-count of each. Early files have it inside `UNLABELLED`."""

SOFT = tuple(f"unlabelled_{name}" for name in ("cells", "classes", "counts", "documents", "logs", "class_documents"))
"""The arrays of the counts of unlabelled documents, in whole thousandths."""

LEFT_OUT = frozenset({"class_weight", "weight_column"})
"""Settings that stand in a model file only if they differ from the default."""

OF_SIDES = ("sides", "unspaced")
"""Those of `CHOICES` that stand in a model file only if pairs and words of scripts without spaces were compared."""

ARRAYS = COUNTS_ARRAYS | VALUES | LEARNT_ARRAYS | LEFT_OUT_ARRAYS | {LOGS, "stop_words", WEIGHTS, *SOFT}
"""The arrays of a model file; an empty one is left out."""


class State(NamedTuple):
    """Everything a model is."""

    settings: Settings
    stop_list: list[str]
    counts: CorpusCounts
    learnt: Learnt
    written_by: dict[str, str]
    label_kind: str = "text"
    """One of `nbtext.model.given_texts.LABEL_KINDS`."""


def versions(settings: Settings) -> dict[str, str]:
    """Return the versions that write a model: of nbtext, and of the stemming package whose stems the model's terms are."""
    if settings.stemmer == "none":
        return {"nbtext": __version__}
    if settings.stemmer in NLTK_STEMMERS:
        from importlib.metadata import version

        return {"nbtext": __version__, "nltk": version("nltk")}
    import Stemmer

    return {"nbtext": __version__, "PyStemmer": Stemmer.version()}


def to_plain(state: State) -> tuple[dict[str, object], dict[str, Numbers]]:
    """Return settings and arrays for `nbtext.store.write_model_file`, each array in the narrowest type that holds it."""
    learnt, arrays = learnt_to_plain(state.learnt)
    settings = {
        "training": {**_plain(_unspaced_named(state.settings, state.counts.statistics, "auto", PAIRS)), **dict.fromkeys(GONE)},
        "reading": _plain(state.settings.reading),
        "written_by": state.written_by,
        "sample_bound": state.counts.sample.bound,
        **learnt,
        **({CLOSED: True} if state.counts.is_closed else {}),
        **({UNIT: state.counts.statistics.unit} if state.counts.statistics.unit != 1 else {}),
        **({LABEL_KIND: state.label_kind} if state.label_kind != "text" else {}),
        CHOICES: _choices_plain(state.learnt.choices),
        **(
            {SEEDS: [[seed.label, list(seed.term), seed.pseudo_count] for seed in state.learnt.weights.seeds]}
            if state.learnt.weights.seeds
            else {}
        ),
        **({} if state.learnt.unlabelled is None else {UNLABELLED: _unlabelled_plain(state.learnt)}),
    }
    stop_words = np.frombuffer("\n".join(state.stop_list).encode(), np.uint8)
    return settings, {**counts_to_plain(state.counts), **arrays, "stop_words": stop_words}


def from_plain(plain: Plain, arrays: Arrays) -> State:
    """Return the state that plain settings and arrays describe; raises `ModelError` unless training could have made it."""
    others = set(arrays) - ARRAYS
    require(
        set(plain) - {CLOSED, UNIT, LABEL_KIND, CHOICES, SEEDS, UNLABELLED} == SETTINGS and all(name.startswith(FITTED) for name in others),
        "it has not the parts of a model",
    )
    part = {name: arrays.get(name, np.empty(0, np.uint8)) for name in ARRAYS | others}
    written_by, bound = plain["written_by"], plain["sample_bound"]
    if not isinstance(written_by, dict) or not all(isinstance(value, str) for value in written_by.values()):
        raise malformed("its versions are not text")
    settings = replace(_declared(Settings, plain["training"]), reading=_declared(Reading, plain["reading"]))
    if type(bound) is not int or not 0 <= bound <= LARGEST_HASH:
        raise malformed("its sample has no bound")
    require(plain.get(UNIT, WEIGHT_UNIT) == WEIGHT_UNIT, "its counts have another unit")
    unit = WEIGHT_UNIT if UNIT in plain else 1
    layer = plain.get(UNLABELLED)
    seeds = _seeds(plain.get(SEEDS, layer.get(SEEDS, []) if isinstance(layer, dict) else []))
    counts = counts_from_plain(part, settings.sample, bound, Attributes.of(settings.reading), unit, seeds)
    counts = replace(counts, statistics=_with_logs(counts.statistics, part[LOGS], needed=settings.sums_logs))
    unlabelled, layers = _unlabelled(plain.get(UNLABELLED), part, counts.statistics)
    weights = weights_of(counts.statistics, settings, seeds)._replace(layers=layers)
    statistics = estimated(counts.statistics, weights)
    settings = _unspaced_named(settings, counts.statistics, PAIRS, "auto")
    if CLOSED in plain:
        require(plain[CLOSED] is True, "its vocabulary is neither open nor closed")
        counts = replace(counts, is_closed=True)
    stop_list = utf8(part["stop_words"]).split()
    try:
        require_fitting(settings, *[SEED_WORDS] * bool(seeds), *[DOCUMENT_WEIGHTS] * (statistics.weight_unit != 1))
        learnt = learnt_from_plain(plain, part, settings, counts.statistics.n_terms, counts.statistics.n_classes)
        by_term = settings
        if isinstance(settings.smoothing, dict):
            from nbtext.model.training import looked_up

            by_term = looked_up(Analysis(settings, stop_list))
        own = own_pseudo_counts(counts.statistics, by_term)
        learnt = replace(learnt, own=own, weights=weights, unlabelled=unlabelled)
        class_prior(settings.class_prior, statistics)
        classifier(statistics, learnt, settings)  # raises if what was fitted does not fit
    except UsageError as problem:
        raise malformed(str(problem)[:200]) from None
    require(longest_ngram(counts.statistics.vocabulary) <= settings.ngrams, "its n-grams are longer than its settings say")
    label_kind = plain.get(LABEL_KIND, "text")
    if label_kind not in LABEL_KINDS:
        raise malformed("its labels are of an unknown type")
    return State(settings, stop_list, counts, learnt, written_by, str(label_kind))


def _unspaced_named(settings: Settings, statistics: ClassStatistics, name: str, other: str) -> Settings:
    """Return settings with another name for ``--unspaced``: without any such script auto and pairs count alike, and a file says pairs."""
    has_none = settings.unspaced == name and unspaced_runs(statistics.vocabulary.text) is None
    return replace(settings, unspaced=other) if has_none else settings


def _plain(settings: Declared) -> dict[str, object]:
    """Return the values by name, without those of `LEFT_OUT` that are not set."""
    return {name: value for name, value in dict(settings).items() if name not in LEFT_OUT or value is not None}


def _declared(kind: type[Kind], plain: object) -> Kind:
    """Return plain settings, checked; text is UTF-8 or, as in names of files and columns, bytes that Python carries as such."""
    try:
        json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogateescape")
        return kind.of_file(plain)  # type: ignore[arg-type] # TypeError for what is no mapping
    except (UsageError, AttributeError, TypeError, OverflowError, UnicodeEncodeError) as problem:
        raise ModelError(f"the model has settings that this nbtext does not know: {str(problem)[:200]}") from None


def rows_of_text(part: Arrays, name: str, lengths: str, plural: str) -> tuple[bytes, Whole]:
    """Return the text of rows, none of them empty, and where each begins and the last ends; no row begins inside a character."""
    text, sizes = utf8(part[name]).encode(), require_whole(part[lengths])
    require(sizes.min(initial=1) >= 1, "a term or class is empty")
    bounds = offsets(sizes)
    fits = bounds[-1] == len(text) and not np.any((np.frombuffer(text, np.uint8)[bounds[:-1]] & 0xC0) == 0x80)
    require(fits, f"its {plural} do not fit their lengths")
    return text, bounds


def utf8(array: Numbers) -> str:
    """Return the text of an array of bytes."""
    require(array.dtype == np.uint8, "its text is not bytes")
    try:
        return array.tobytes().decode()
    except UnicodeDecodeError:
        raise malformed("its text is not UTF-8") from None


def require_whole(array: Numbers) -> Whole:
    """Return the whole numbers of an array whose sum is exact."""
    require(array.dtype.kind == "u", "its numbers are not whole")
    cannot_exceed = array.size << 8 * array.itemsize < MOST
    require(cannot_exceed or float(array.sum(dtype=np.float64)) < MOST, "its counts are too large")
    return array.astype(np.int64)


def narrow(array: Numbers) -> Numbers:
    """Return the array in the narrowest unsigned type that holds it; raise `UsageError` for counts that `require_whole` would refuse."""
    if float(array.sum(dtype=np.float64)) >= MOST:
        raise UsageError("the counts are too large to stay exact: their sum must be below 2^53", hint="the model is as it was")
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def values_to_plain(moments: Moments, of_sample: Floats | None) -> dict[str, Numbers]:
    """Return the number of values, their sums and those of their squares, each a line ``n e`` for n / 2ᵉ, and the values of the sample."""
    sums = (total for part in (moments.sums, moments.squares) for total in part.ravel().tolist())
    lines = "".join(f"{total.numerator} {total.denominator.bit_length() - 1}\n" for total in sums)
    return {
        "values": narrow(moments.documents.ravel()),
        "value_sums": np.frombuffer(lines.encode(), np.uint8),
        "sample_values": np.empty(0) if of_sample is None else of_sample.ravel(),
    }


def moments_from_plain(part: Arrays, class_documents: Whole, attributes: Attributes) -> Moments:
    """Return the moments of the counts and numbers."""
    from nbtext.counts.moments import Moments

    documents, sums = require_whole(part["values"]), [_fraction(line) for line in utf8(part["value_sums"]).splitlines()]
    shape = (class_documents.size, len(attributes.numbers))
    require(documents.size == shape[0] * shape[1], "its values do not fit its attributes")
    require(len(sums) == 2 * documents.size, "its sums do not fit its attributes")
    halves = (np.array(half, object).reshape(shape) for half in (sums[: documents.size], sums[documents.size :]))
    moments = Moments(documents.reshape(shape), *halves)
    require(np.all(moments.documents <= class_documents[:, np.newaxis]), "there are more values than documents")
    require(moments.are_possible(), "its sums are not those of numbers")
    require(np.all(moments.squares <= moments.documents.astype(object) * int(LARGEST) ** 2), "its numbers are too large")
    of_counts = moments.sums[:, : len(attributes.counts)].ravel().tolist()
    require(all(total >= 0 and total.denominator == 1 for total in of_counts), "its sums are not those of counts")
    return moments


def sample_values_from_plain(part: Arrays, n_documents: int, attributes: Attributes) -> Floats:
    """Return the values of sampled documents, shape (n_documents, n_columns)."""
    n_columns, values = len(attributes.numbers), part["sample_values"]
    require(values.size == n_documents * n_columns, "its sample does not fit its attributes")
    require(not values.size or values.dtype == np.float64, "its sample has values that are no numbers")
    values = values.astype(np.float64).reshape(n_documents, n_columns)
    counts, numbers = np.split(values, [len(attributes.counts)], axis=1)
    size = np.abs(numbers)
    require(np.all(np.isnan(size) | (size == 0) | ((size >= SMALLEST) & (size <= LARGEST))), "its sample has an impossible number")
    possible = np.isnan(counts) | ((counts >= 0) & (counts < LARGEST_COUNT) & (counts == np.floor(counts)))
    require(np.all(possible), "its sample has an impossible count")
    return values


def _fraction(line: str) -> Fraction:
    from fractions import Fraction

    whole_number, _, power = line.partition(" ")
    digits = whole_number.removeprefix("-")
    for number, most in ((digits, MOST_DIGITS), (power, 4)):
        require(number.isascii() and number.isdigit() and len(number) <= most, "a sum is no number")
    return Fraction(int(whole_number), 1 << int(power))


def learnt_to_plain(learnt: Learnt) -> tuple[dict[str, object], dict[str, Numbers]]:
    """Return settings and arrays."""
    calibration = learnt.calibration
    settings: dict[str, object] = {
        "smoothing": learnt.smoothing,
        "temperature": {"scale": calibration.scale, "exponent": calibration.exponent},
        "calibration": learnt.judgement,
        "profile": None if learnt.profile is None else {name: list(spread) for name, spread in learnt.profile.figures.items()},
    }
    arrays: dict[str, Numbers] = {
        "selected": np.empty(0, np.uint8) if learnt.selected.all() else learnt.selected.view(np.uint8),
        "curve_places": calibration.curve[0],
        "curve_shares": calibration.curve[1],
        **{FITTED + name: array for name, array in learnt.fitted.items()},
        "typicality": np.empty(0) if learnt.typicality is None else learnt.typicality.quantiles.ravel(),
        "answers": np.empty(0, np.uint8) if learnt.profile is None else narrow(learnt.profile.answers),
        **({} if learnt.left_out is None else learnt.left_out.arrays()),
        **(_soft_arrays(learnt.weights.layers[0].statistics) if learnt.uses_unlabelled else {}),
    }
    return settings, arrays


def learnt_from_plain(plain: Plain, part: Arrays, settings: Settings, n_terms: int, n_classes: int) -> Learnt:
    """Return what all of `LEARNT_SETTINGS` and `LEARNT_ARRAYS` describe."""
    smoothing = _number(plain["smoothing"], 0, MOST, "its smoothing is no number from 0")
    require(is_possible_smoothing(smoothing, n_terms, settings), "its smoothing is not what its settings say")
    selected = np.ones(n_terms, np.bool_)
    if part["selected"].size:
        require(part["selected"].dtype.kind == "u" and part["selected"].size == n_terms, "its selection does not fit its terms")
        require(part["selected"].max() <= 1, "its selection is neither yes nor no")
        selected = part["selected"].astype(np.bool_)
    judgement = _judgement(plain["calibration"])
    fitted = {name.removeprefix(FITTED): array for name, array in part.items() if name.startswith(FITTED)}
    require(all(array.dtype.kind == "f" and np.isfinite(array).all() for array in fitted.values()), "its classifier's numbers are none")
    calibration, quantiles = _calibration(plain["temperature"], part), _typicality(part["typicality"])
    profile = _profile(plain["profile"], part["answers"], n_classes)
    choices = _choices(plain[CHOICES]) if CHOICES in plain else NO_CHOICES
    left_out = LeftOutPosteriors.of_arrays(part, n_classes)
    return Learnt(selected, smoothing, calibration, judgement, quantiles, profile, fitted, choices=choices, left_out=left_out)


def _unlabelled_plain(learnt: Learnt) -> dict[str, object]:
    return {
        "weight": learnt.weights.layers[0].weight if learnt.uses_unlabelled else 0.0,
        **(learnt.unlabelled._asdict() if learnt.unlabelled else {}),
    }


def _soft_arrays(soft: ClassStatistics) -> dict[str, Numbers]:
    logs = np.empty(0, np.int64) if soft.cell_logs is None else soft.cell_logs
    columns = (np.diff(soft.term_offsets), soft.cell_classes, soft.cell_counts, soft.cell_documents, None, soft.class_documents)
    narrowed = (logs.astype(np.uint64) if column is None else narrow(column) for column in columns)
    return dict(zip(SOFT, narrowed, strict=True)) if soft.cell_classes.size else {}


def _unlabelled(plain: object, part: Arrays, labelled: ClassStatistics) -> tuple[UnlabelledFigures | None, list[Layer]]:
    """Return figures of unlabelled documents, and what they added to the labelled ones, of the same terms and classes."""
    if plain is None:
        require(not any(part[name].size for name in SOFT), "it has counts of no unlabelled documents")
        return None, []

    wrong = "its counts of unlabelled documents are not those of training"
    weight, n_documents, losses, _ = _named({**plain, SEEDS: ()} if isinstance(plain, dict) else plain, (*KEPT_OF_UNLABELLED, SEEDS), wrong)
    if not isinstance(losses, dict):
        raise malformed(wrong)
    tried = {str(name): _number(loss, 0, sys.float_info.max, wrong) for name, loss in losses.items()}
    weight, n_documents = _number(weight, 0, 1, wrong), _count(n_documents, 1, wrong)
    if not weight:
        require(not any(part[name].size for name in SOFT), wrong)
        return UnlabelledFigures(n_documents, tried), []
    cells, classes, counts, documents, logs, class_documents = (part[name] for name in SOFT)
    cells, classes, counts, documents, class_documents = map(require_whole, (cells, classes, counts, documents, class_documents))
    bounds, size = offsets(cells), classes.size
    require(cells.size == labelled.n_terms and class_documents.size == labelled.n_classes, wrong)
    require(bounds[-1] == size == counts.size == documents.size, wrong)
    require(logs.size == (0 if labelled.cell_logs is None else size) and logs.dtype.kind == "u", wrong)
    require(classes.max(initial=0) < labelled.n_classes and _rise_in_rows(classes, bounds), wrong)
    require(documents.min(initial=1) >= 1 and np.all((documents <= counts) & (documents <= class_documents[classes])), wrong)
    require(class_documents.sum() <= 2 * WEIGHT_UNIT * n_documents and float(logs.max(initial=0)) < MOST_UNITS, wrong)
    found = replace(
        labelled,
        unit=WEIGHT_UNIT,
        class_documents=class_documents,
        term_offsets=bounds,
        cell_classes=classes,
        cell_counts=counts,
        cell_documents=documents,
        cell_logs=None if labelled.cell_logs is None else logs.astype(np.int64),
    )
    return UnlabelledFigures(n_documents, tried), [Layer("unlabelled", found, weight)]


def _seeds(plain: object) -> tuple[Seed, ...]:
    wrong = "its seed words are not those of training"
    if not isinstance(plain, list) or not all(isinstance(seed, list) and len(seed) == 3 for seed in plain):
        raise malformed(wrong)
    for label, term, _ in plain:
        require(isinstance(label, str) and isinstance(term, list) and term and all(isinstance(part, str) for part in term), wrong)
    return tuple(Seed(str(label), tuple(term), _number(amount, -MOST_OF_SEEDS, MOST_OF_SEEDS, wrong)) for label, term, amount in plain)


def _choices_plain(choices: Choices) -> dict[str, object]:
    plain = asdict(choices) | {"sides": list(choices.sides)}
    return plain if choices.unspaced is not None else {name: value for name, value in plain.items() if name not in OF_SIDES}


def _choices(plain: object) -> Choices:
    wrong = "its choices are not those of training"
    plain = {"sides": [PAIRS], "unspaced": None, **plain} if isinstance(plain, dict) else plain
    kept, stop_words, pseudo_count, smoothing, sides, unspaced = _named(plain, tuple(field.name for field in fields(Choices)), wrong)
    if not isinstance(kept, bool) or sides not in ([PAIRS], [WORDS], [PAIRS, WORDS]):
        raise malformed(wrong)
    chosen = None if pseudo_count is None else _number(pseudo_count, 0, MOST, wrong)
    return Choices(kept, _comparison(stop_words, wrong), chosen, _comparison(smoothing, wrong), tuple(sides), _comparison(unspaced, wrong))


def _comparison(plain: object, wrong: str) -> PairedTest | None:
    if plain is None:
        return None
    gain, error, documents = _named(plain, tuple(field.name for field in fields(PairedTest)), wrong)
    return PairedTest(_number(gain, -MOST, MOST, wrong), _number(error, 0, MOST, wrong), _count(documents, 0, wrong))


def _calibration(temperature: object, part: Arrays) -> Calibration:
    scale, exponent = _named(temperature, ("scale", "exponent"), "its temperature has not scale and exponent")
    scale = _number(scale, sys.float_info.min, sys.float_info.max, "its temperature is no number")
    exponent = _number(exponent, -MOST, MOST, "its temperature is no number")
    places, shares = part["curve_places"].astype(np.float64), part["curve_shares"].astype(np.float64)
    require(places.size == shares.size and places.size != 1, "its calibration curve has not two coordinates")
    require(np.isfinite(places).all() and np.all(np.diff(places) >= 0), "its calibration curve does not go on")
    require(np.all((shares > 0) & (shares <= 1)) and np.all(np.diff(shares) >= 0), "its calibration curve does not rise")
    calibration = Calibration(scale, exponent, (places, shares))
    require(calibration.is_possible, "its temperature or curve is out of range")
    return calibration


def _typicality(array: Numbers) -> Typicality | None:
    if not array.size:
        return None
    require(array.dtype.kind == "f" and array.size == BANDS * LEVELS.size, "its likelihoods are not as many as there are quantiles")
    quantiles = array.astype(np.float64).reshape(BANDS, LEVELS.size)
    require(np.all(np.abs(quantiles) < MOST) and np.all(np.diff(quantiles) >= 0), "its likelihoods do not rise")
    return Typicality(quantiles)


def _profile(figures: object, answers: Numbers, n_classes: int) -> Profile | None:
    if figures is None:
        require(not answers.size, "its answers are those of no documents")
        return None
    names = sorted(typicality.FIGURES)
    spreads = map(_spread, _named(figures, names, "its profile has other figures"))
    profile = Profile(dict(zip(names, spreads, strict=True)), require_whole(answers))
    require(answers.size == n_classes, "its answers do not fit its classes")
    return profile


def _spread(value: object) -> Spread:
    wrong = "its profile is no spread"
    if not isinstance(value, list) or len(value) != 3:
        raise malformed(wrong)
    return Spread(_count(value[0], 0, wrong), _number(value[1], -MOST, MOST, wrong), _number(value[2], 0, MOST, wrong))


def _judgement(value: object) -> Judgement | None:
    if value is None:
        return None
    wrong = "its calibration has no figures"
    documents, before, after = _named(value, ("documents", "before", "after"), wrong)
    for side in (before, after):
        for figure, most in zip(_named(side, tuple(FIGURES), wrong), FIGURES.values(), strict=True):
            _number(figure, 0, most, wrong)
    _count(documents, 1, wrong)
    return cast("Judgement", value)


def _named(value: object, names: Sequence[str], otherwise: str) -> list[object]:
    """Return the values of a mapping that has these names and no others, in their order."""
    if not isinstance(value, dict) or set(value) != set(names):
        raise malformed(otherwise)
    return [value[name] for name in names]


def _count(value: object, least: int, otherwise: str) -> int:
    if type(value) is not int or not least <= value < MOST:
        raise malformed(otherwise)
    return value


def _number(value: object, least: float, most: float, otherwise: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
        raise malformed(otherwise)
    return float(value)


def counts_to_plain(counts: CorpusCounts) -> dict[str, Numbers]:
    """Return arrays, each in the narrowest type that holds it."""
    statistics, documents = counts.statistics, counts.sample.documents
    classes = [label.encode() for label in statistics.classes]
    more = {} if statistics.moments is None else values_to_plain(statistics.moments, documents.matrix.values)
    if statistics.cell_logs is not None:
        more[LOGS] = statistics.cell_logs.astype(np.min_scalar_type(int(statistics.cell_logs.max(initial=0))))
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
        **({} if documents.weights is None else {WEIGHTS: narrow(documents.weights)}),
        **more,
    }


def counts_from_plain(
    part: Arrays, sample_size: int, sample_bound: int, attributes: Attributes, unit: int, seeds: Sequence[Seed] = ()
) -> CorpusCounts:
    """Return the counts that all of `COUNTS_ARRAYS`, `VALUES` and `WEIGHTS` describe."""
    statistics = replace(_statistics(part, seeds), unit=unit)
    if attributes.numbers:
        statistics = replace(statistics, moments=moments_from_plain(part, statistics.class_documents, attributes))
    else:
        require(not any(part[name].size for name in VALUES), "it has values of no attribute")
    statistics = replace(statistics, attributes=attributes)
    return CorpusCounts(statistics, _sample(part, statistics, sample_size, sample_bound))


def _with_logs(statistics: ClassStatistics, logs: Numbers, *, needed: bool) -> ClassStatistics:
    """Return the statistics with the sums of log weights; without in files of earlier versions and for other weightings."""
    n_cells = statistics.cell_counts.size
    if not needed or (n_cells and not logs.size):
        require(not logs.size, "it has sums of log weights and does not use them")
        return statistics
    require(logs.size == n_cells and logs.dtype.kind == "u", "its sums of log weights do not fit its cells")
    require(float(logs.max(initial=0)) < MOST_UNITS, "its sums of log weights are too large")
    sums, counts, documents = logs.astype(np.int64), statistics.cell_counts, statistics.cell_documents
    least, most = documents * log_units(np.ones(1)), documents * (log_units(counts / documents) + 1)  # the logarithm is concave
    unweighted = is_category(statistics.vocabulary)[statistics.cell_terms] & (sums == 0)
    require(np.all(unweighted | ((least <= sums) & (sums <= most))), "its sums of log weights do not fit its counts")
    return replace(statistics, cell_logs=sums)


def _sample(part: Arrays, statistics: ClassStatistics, size: int, bound: int) -> DocumentSample:
    require(part["sample_hashes"].dtype.kind == "u", "its sample's hashes are not whole numbers")
    hashes, entries = part["sample_hashes"].astype(np.uint64), offsets(require_whole(part["sample_entries"]))
    classes, terms, counts = (require_whole(part[name]) for name in ("sample_classes", "sample_terms", "sample_counts"))
    require(
        hashes.size == classes.size == entries.size - 1 <= min(size, int(statistics.class_documents.sum())),
        "its sample does not fit its size",
    )
    require(entries[-1] == terms.size == counts.size <= MOST_ENTRIES, "its sample does not fit its terms")
    require(
        classes.max(initial=0) < statistics.n_classes and terms.max(initial=-1) < statistics.n_terms,
        "its sample has unknown terms or classes",
    )
    require(np.diff(entries).max(initial=0) <= MOST_TERMS and counts.min(initial=1) >= 1, "its sample holds impossible documents")
    require(_rise_in_rows(terms, entries) and np.all(hashes[1:] >= hashes[:-1]), "its sample is not sorted")
    require(not hashes.size or int(hashes[-1]) <= bound, "its sample exceeds its bound")
    matrix = DocumentTermMatrix(entries, terms, counts, np.zeros(classes.size, np.int64))
    if statistics.moments is not None:
        matrix = matrix._replace(values=sample_values_from_plain(part, classes.size, statistics.attributes))
    weights = require_whole(part[WEIGHTS]) if part[WEIGHTS].size else None
    if weights is not None:
        require(statistics.unit != 1 and weights.size == classes.size and weights.min() >= 1, "its sample has impossible weights")
    return DocumentSample(CountedDocuments(matrix, classes, hashes, weights), size, bound)


def _statistics(part: Arrays, seeds: Sequence[Seed]) -> ClassStatistics:
    vocabulary = _vocabulary(part)
    labels, bounds = rows_of_text(part, "classes", "class_lengths", "classes")
    classes = [labels[start:end].decode() for start, end in pairwise(bounds.tolist())]
    class_documents, cells, counts, documents = (
        require_whole(part[name]) for name in ("class_documents", "term_cells", "cell_counts", "cell_documents")
    )
    cell_classes, bounds = require_whole(part["cell_classes"]), offsets(cells)
    require(classes and classes == sorted(set(classes)), "its classes are not sorted and distinct")
    least = 0 if part[SOFT[0]].size else 1
    require(class_documents.size == len(classes) and class_documents.min() >= least, "its classes and documents do not fit")
    of_others = part[SOFT[0]]  # a term may be one of unlabelled documents alone
    held = cells if not of_others.size else cells + np.resize(require_whole(of_others), cells.shape)
    n_seeded = np.count_nonzero(held == 0)  # terms that only seeds name, and the parts of n-grams
    require(cells.size == len(vocabulary) and n_seeded <= sum(2 * len(seed.term) - 1 for seed in seeds), "its terms and cells do not fit")
    require(bounds[-1] == cell_classes.size == counts.size == documents.size, "its cells do not fit each other")
    if cell_classes.size:
        require(cell_classes.max() < len(classes), "a cell has no class")
        require(documents.min() >= 1 and np.all(documents <= counts), "a cell counts less than its documents")
        require(np.all(documents <= class_documents[cell_classes]), "a cell has more documents than its class")
        require(_rise_in_rows(cell_classes, bounds), "the cells of a term are not sorted by class")
    return ClassStatistics(vocabulary, tuple(classes), class_documents, bounds, cell_classes, counts, documents)


def _vocabulary(part: Arrays) -> Vocabulary:
    text, bounds = rows_of_text(part, "terms", "term_lengths", "terms")
    require(part["ngrams"].dtype.kind == "u", "its n-grams are not whole numbers")
    pairs = part["ngrams"].astype(np.uint64)
    single = bounds.size - 1
    require(_sorted(text, bounds), "its terms are not sorted and distinct")
    left, last = unpair(pairs)
    require(np.all(pairs[1:] > pairs[:-1]), "its n-grams are not sorted and distinct")
    require(np.all((left >= 0) & (left < single + np.arange(left.size)) & (last < single)), "an n-gram has parts that are no terms")
    return Vocabulary(text, bounds, pairs)


def _sorted(text: bytes, bounds: Whole) -> bool:
    """Return whether rows of text rise strictly by their bytes, compared eight bytes at a time as big-endian numbers."""
    words = np.ndarray((len(text) + 1,), ">u8", buffer=text + bytes(8), strides=(1,))
    keep = np.array([(1 << 64) - (1 << 8 * (8 - n)) for n in range(9)], np.uint64)
    begins, lengths = bounds[:-1], np.diff(bounds)

    def eight(rows: Whole | slice, done: int) -> NDArray[np.uint64]:
        """Return the bytes of some rows from ``done`` on."""
        left = np.minimum(np.maximum(lengths[rows] - done, 0), 8)
        found: NDArray[np.uint64] = words[np.minimum(begins[rows] + done, len(text))].astype(np.uint64) & keep[left]
        return found

    every = eight(slice(None), 0)
    here, first, second, done = np.arange(lengths.size - 1), every[:-1], every[1:], 8
    while True:
        if np.any(first > second):
            return False
        here = here[first == second]
        ended = lengths[here + 1] <= done  # equal up to the end of the second, which must then be the longer one, by zeros
        if np.any(lengths[here[ended] + 1] <= lengths[here[ended]]):
            return False
        here = here[~ended]
        if not here.size:
            return True
        first, second, done = eight(here, done), eight(here + 1, done), done + 8


def _rise_in_rows(values: Whole, bounds: Whole) -> bool:
    """Return whether the values of each row rise strictly."""
    rising = values[1:] > values[:-1]
    begins = bounds[1:-1]
    rising[begins[(begins > 0) & (begins < values.size)] - 1] = True
    return bool(rising.all())


def longest_ngram(vocabulary: Vocabulary) -> int:
    """Return the number of terms in the longest n-gram. Shorter n-grams stand before longer ones, which refer to them."""
    left, _ = unpair(vocabulary.pairs)
    order, known = 1, vocabulary.n_single
    while known < len(vocabulary):
        known = vocabulary.n_single + int(np.searchsorted(left, known))
        order += 1
    return order
