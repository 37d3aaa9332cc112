"""Results of an evaluation: records whose fields are the keys of the JSON output.

`nbtext.metrics.evaluation` creates them, and `nbtext/report/` shows them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from math import isfinite
from typing import Any, NamedTuple

from nbtext.errors import format_quantity
from nbtext.metrics.intervals import Interval, wilson_interval

JSON_UNLESS_EMPTY: Mapping[str, str] = {"json": "if known"}
"""Metadata of a field that JSON omits if it is None or empty."""

NOT_IN_JSON: Mapping[str, str] = {"json": "never"}
"""Metadata of a field that JSON omits."""

JSON_ENTRIES: Mapping[str, str] = {"json": "spread"}
"""Metadata of a mapping whose entries replace the field in JSON."""


# Records of any type, and any value that `json` can write.
def to_json_values(value: Any, digits: int | None = None) -> Any:  # noqa: ANN401
    """Return dataclasses, named tuples, mappings and lists as values for `json`.

    Records become dictionaries by field name. Infinity and nan become None. Floats are rounded to
    ``digits`` significant digits; None keeps all digits.
    """
    if isinstance(value, float):
        if not isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    if is_dataclass(value):
        return _to_json_object(value, digits)
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: to_json_values(entry, digits) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_values(entry, digits) for entry in value]
    return value


def _to_json_object(record: Any, digits: int | None) -> dict[str, Any]:  # noqa: ANN401
    """Return the fields of a dataclass as values for `json`, as the metadata of each requires."""
    values: dict[str, Any] = {}
    for item in fields(record):
        value = to_json_values(getattr(record, item.name), digits)
        if item.metadata == JSON_ENTRIES:
            values |= value
        elif item.metadata == JSON_UNLESS_EMPTY:
            if value not in (None, {}):
                values[item.name] = value
        elif item.metadata != NOT_IN_JSON:
            values[item.name] = value
    return values


@dataclass(frozen=True)
class ClassResult:
    """Metrics of one class. The ratio 0/0 is 0, with an interval from 0 to 1."""

    precision: float
    recall: float
    f1: float
    support: int
    """Documents of the class."""
    answered: int
    """Documents for which the class was predicted."""
    roc_auc: float | None
    average_precision: float | None
    intervals: Mapping[str, Interval]
    """Intervals of precision and recall, by name."""
    hits: int = field(metadata=NOT_IN_JSON)
    """Documents of the class for which it was predicted."""

    @property
    def occurs(self) -> bool:
        """True if the class occurs among the true or the predicted labels."""
        return bool(self.support or self.answered)

    @property
    def f1_interval(self) -> Interval:
        """95 % interval of F1 = 2J/(1 + J), where J = hits / (support + answered − hits).

        J is P. Jaccard's coefficient: the proportion of hits among the documents with the class as
        true or predicted label. F1 (L. Dice, 1945) rises with J, so the ends of Wilson's
        interval of J are transformed to those of F1.
        """
        low, high = wilson_interval(self.hits, self.support + self.answered - self.hits)
        return 2 * low / (1 + low), 2 * high / (1 + high)


class ReliabilityBin(NamedTuple):
    """Documents whose most probable class has a probability from ``low`` to ``high``."""

    low: float
    high: float
    documents: int
    """Number of documents. If it is 0, the next fields are None."""
    confidence: float | None = None
    """Mean probability."""
    accuracy: float | None = None
    interval: Interval | None = None
    """95 % interval of the accuracy."""


class ProbabilityResult(NamedTuple):
    """How well the probabilities of the most probable classes agree with the accuracy."""

    bins: tuple[ReliabilityBin, ...]
    """By ascending probability, including empty bins."""
    log_loss: float | None
    """In nats. None if infinite."""
    brier: float | None
    ece: float | None
    """Expected calibration error."""
    confidence: float | None
    """Mean probability of the most probable class."""


class LargestClass(NamedTuple):
    """Metrics of always predicting the largest class of the training documents."""

    label: str
    accuracy: float
    macro_f1: float


class ClassPrior(NamedTuple):
    """Metrics of probabilities that always equal the class prior."""

    log_loss: float | None
    """In nats. None if infinite."""
    brier: float


class Baselines(NamedTuple):
    """Metrics of predictions that do not depend on the document."""

    largest_class: LargestClass
    class_prior: ClassPrior


class KnownResult(NamedTuple):
    """The main metrics of the documents whose class the classifier contains.

    The metrics are None if there are no such documents.
    """

    n: int
    accuracy: float | None
    macro_f1: float | None
    log_loss: float | None
    brier: float | None
    ece: float | None


@dataclass(frozen=True)
class SliceResult:
    """Metrics of one or more documents with the same value in a column."""

    n: int
    accuracy: float
    interval: Interval
    """95 % interval of the accuracy."""
    macro_f1: float
    ece: float


NOTEBOOK_METRICS = ("accuracy", "macro_f1", "balanced_accuracy", "log_loss", "brier", "ece")
"""Names of the metrics that a notebook shows."""


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """All metrics of an evaluation. Infinite and undefined metrics are None."""

    n: int
    accuracy: float | None
    macro_precision: float | None
    macro_recall: float | None
    macro_f1: float | None
    micro_precision: float | None
    micro_recall: float | None
    micro_f1: float | None
    balanced_accuracy: float | None
    matthews: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """None for multi-label models."""
    log_loss: float | None
    brier: float | None
    ece: float | None
    top_2_accuracy: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """Proportion of documents whose true class is among the two most probable.

    None for multi-label models, and if there are at most two classes. The next two fields have the
    same meaning for three and for five classes.
    """
    top_3_accuracy: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    top_5_accuracy: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    macro_roc_auc: float | None
    macro_average_precision: float | None
    answered: float | None
    """Proportion of documents with a predicted label."""
    answered_accuracy: float | None
    """Accuracy of the documents with a predicted label."""
    mean_cost: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """None without costs."""
    intervals: Mapping[str, Interval]
    """95 % intervals by the name of the metric."""
    baselines: Baselines | None
    reliability: tuple[ReliabilityBin, ...]
    per_class: Mapping[str, ClassResult]
    """In the order of ``classes``."""
    classes: tuple[str, ...]
    """Classes of the classifier, then unknown labels."""
    confusion: Mapping[str, Mapping[str, int]] = field(metadata=JSON_UNLESS_EMPTY)
    """Number of documents by true label and predicted label, without zeros.

    For multi-label models, each text is a set of labels. The empty text means no prediction, or the
    empty set.
    """
    has_one_label: bool = field(metadata=NOT_IN_JSON)
    """True for single-label models."""
    unknown_labels: tuple[str, ...]
    unknown_documents: Mapping[str, int]
    """Number of documents by unknown label."""
    known: KnownResult
    slices: Mapping[str, Mapping[str, SliceResult]] | None = field(metadata=JSON_UNLESS_EMPTY)
    """By column, then by value. None without columns."""
    other_metrics: Mapping[str, float | None] = field(metadata=JSON_ENTRIES)
    """Metrics of `nbtext.metrics.outcomes.METRICS` that have no field here."""

    def get_metric(self, name: str) -> float | None:
        """Return a metric by its name in `nbtext.metrics.outcomes.METRICS`.

        Return None if it was not computed.
        """
        if name in self.other_metrics:
            return self.other_metrics[name]
        return getattr(self, name, None)

    def to_dict(self) -> dict[str, Any]:
        """Return all metrics under the keys of ``--output json``."""
        return _to_json_object(self, digits=None)

    def _repr_html_(self) -> str:
        """Return the main metrics with their 95 % intervals as HTML, for a notebook."""
        from html import escape

        rows = []
        for name in NOTEBOOK_METRICS:
            value = self.get_metric(name)
            interval = self.intervals.get(name)
            ends = "" if interval is None else f"{interval[0]:.3f}–{interval[1]:.3f}"
            number = "" if value is None else f"{value:.3f}"
            rows.append(f"<tr><th>{escape(name)}</th><td>{number}</td><td>{ends}</td></tr>")
        head = "<tr><th>metric</th><th>value</th><th>95 % interval</th></tr>"
        caption = format_quantity(self.n, "document")
        return f"<table><caption>{caption}</caption>{head}{''.join(rows)}</table>"

    @property
    def kind(self) -> str:
        """The word for what is evaluated: the class of a document, or each of its labels."""
        return "class" if self.has_one_label else "label"

    @property
    def mistakes(self) -> list[tuple[str, str, int]]:
        """True label, wrongly predicted label and number of documents, largest number first.

        The labels are texts of ``confusion``.
        """
        cells = [
            (truth, predicted, n)
            for truth, row in self.confusion.items()
            for predicted, n in row.items()
            if truth != predicted
        ]
        return sorted(cells, key=lambda cell: -cell[2])


RESULT_FIELDS = frozenset(item.name for item in fields(EvaluationResult))
"""Names of all fields of an `EvaluationResult`."""


@dataclass(frozen=True)
class FoldMetrics:
    """Metrics of one fold of one repeat, both numbered from 1."""

    repeat: int
    fold: int
    training_documents: int
    """Number of documents that the model was trained on."""
    documents: int
    """Number of held-out documents."""
    terms: int
    """Number of selected terms."""
    smoothing: float
    """The pseudo-count, rounded to six digits."""
    accuracy: float
    macro_f1: float


class FoldSpread(NamedTuple):
    """Mean and standard deviation (n − 1) of a metric over folds."""

    mean: float
    sd: float


@dataclass(frozen=True)
class FoldsResult:
    """The division of a corpus, and the metrics of each fold."""

    method: str | None = field(metadata=JSON_UNLESS_EMPTY)
    column: str | None = field(metadata=JSON_UNLESS_EMPTY)
    """Column of groups or times."""
    seed: int | None = field(metadata=JSON_UNLESS_EMPTY)
    repeats: int
    n: int
    """Folds of one repeat."""
    accuracy: FoldSpread
    macro_f1: FoldSpread
    each: tuple[FoldMetrics, ...]
    """Metrics of each fold."""


@dataclass(frozen=True, kw_only=True)
class CrossValidationResult(EvaluationResult):
    """All metrics of a cross-validation of texts: pooled over the folds, and of each fold."""

    folds: FoldsResult
