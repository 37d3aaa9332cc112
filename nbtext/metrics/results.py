"""Results of an evaluation as records, frozen dataclasses whose fields are the keys of the JSON. Renderers are in `nbtext/report/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from math import isfinite
from typing import Any, NamedTuple

from nbtext.metrics.intervals import Interval, wilson_interval

JSON_UNLESS_EMPTY: Mapping[str, str] = {"json": "if known"}
"""Metadata of a field that JSON leaves out where it is None or empty."""

NOT_IN_JSON: Mapping[str, str] = {"json": "never"}
"""Metadata of a field that JSON leaves out."""

JSON_ENTRIES: Mapping[str, str] = {"json": "spread"}
"""Metadata of a mapping whose entries JSON has in place of the field."""


# Any record, and what `json` can write of it.
def to_json_values(value: Any, digits: int | None = None) -> Any:  # noqa: ANN401
    """Return a record of dataclasses, named tuples, mappings and lists as `json` writes it: by field name, with None for infinity and nan.

    Floats are rounded to so many significant ``digits``, if that is given.
    """
    if isinstance(value, float):
        if not isfinite(value):
            return None
        return value if digits is None else float(f"{value:.{digits}g}")
    if is_dataclass(value):
        record: dict[str, Any] = {}
        for each in fields(value):
            entry = to_json_values(getattr(value, each.name), digits)
            if each.metadata == JSON_ENTRIES:
                record |= entry
            elif not each.metadata or (
                each.metadata == JSON_UNLESS_EMPTY and entry not in (None, {})
            ):
                record[each.name] = entry
        return record
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {key: to_json_values(entry, digits) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_values(entry, digits) for entry in value]
    return value


@dataclass(frozen=True)
class ClassResult:
    """Figures of one class. A ratio of nothing to nothing is 0, with an interval from 0 to 1."""

    precision: float
    recall: float
    f1: float
    support: int
    """Documents of the class."""
    answered: int
    """Documents that got it as the answer."""
    roc_auc: float | None
    average_precision: float | None
    intervals: Mapping[str, Interval]
    """Of precision and recall."""
    hits: int = field(metadata=NOT_IN_JSON)
    """Documents of the class that got it as the answer."""

    @property
    def occurs(self) -> bool:
        """True if the class occurs among the documents or the answers."""
        return bool(self.support or self.answered)

    @property
    def f1_interval(self) -> Interval:
        """95 % interval of F1 = 2J/(1 + J), J = hits / (support + answered − hits): of the documents of the class or given it, the share that are both.

        F1 rises with J (P. Jaccard's coefficient; F1 is L. Dice's of 1945), so the ends of Wilson's interval of J give those of F1.
        """
        low, high = wilson_interval(self.hits, self.support + self.answered - self.hits)
        return 2 * low / (1 + low), 2 * high / (1 + high)


class ReliabilityBin(NamedTuple):
    """Documents by the probability of their most probable class, from ``low`` to ``high``; mean probability and accuracy are None in an empty bin."""

    low: float
    high: float
    documents: int
    confidence: float | None
    accuracy: float | None
    interval: Interval | None
    """Of the accuracy."""


class ProbabilityResult(NamedTuple):
    """How far the probabilities of the most probable classes can be believed."""

    bins: tuple[ReliabilityBin, ...]
    """By rising probability, empty ones included."""
    log_loss: float | None
    """In nats; None if infinite."""
    brier: float | None
    ece: float | None
    confidence: float | None
    """Mean probability of the most probable class."""


class LargestClass(NamedTuple):
    """Figures of always answering the largest class of the training documents."""

    label: str
    accuracy: float
    macro_f1: float


class ClassPrior(NamedTuple):
    """Figures of giving every class its prior as its probability. The log loss, in nats, is None if infinite."""

    log_loss: float | None
    brier: float


class Baselines(NamedTuple):
    """Figures of answers that do not depend on the document."""

    largest_class: LargestClass
    class_prior: ClassPrior


class KnownResult(NamedTuple):
    """The main figures over the documents whose class the classifier knows; None of no documents."""

    n: int
    accuracy: float | None
    macro_f1: float | None
    log_loss: float | None
    brier: float | None
    ece: float | None


@dataclass(frozen=True)
class SliceResult:
    """Figures of some of the documents, at least one."""

    n: int
    accuracy: float
    interval: Interval
    """Of the accuracy."""
    macro_f1: float
    ece: float


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """All figures of an evaluation. A figure that is infinite or undefined is None."""

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
    """None, as the next three, with several labels."""
    log_loss: float | None
    brier: float | None
    ece: float | None
    top_2_accuracy: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """Share of the documents whose true class is among the two most probable; None, as the next, with no more classes than that."""
    top_3_accuracy: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    top_5_accuracy: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    macro_roc_auc: float | None
    macro_average_precision: float | None
    coverage: float | None
    answered_accuracy: float | None
    mean_cost: float | None = field(default=None, metadata=JSON_UNLESS_EMPTY)
    """None without costs."""
    intervals: Mapping[str, Interval]
    """By the name of the figure."""
    baselines: Baselines | None
    reliability: tuple[ReliabilityBin, ...]
    per_class: Mapping[str, ClassResult]
    """In the order of ``classes``."""
    classes: tuple[str, ...]
    """Those of the classifier, then labels that it does not know."""
    confusion: Mapping[str, Mapping[str, int]] = field(metadata=JSON_UNLESS_EMPTY)
    """Documents by true class and answer, or by true and predicted labels, without those that did not occur.

    No answer is the empty text, as is no label. Labels are written as people read them.
    """
    has_one_label: bool = field(metadata=NOT_IN_JSON)
    """Whether each document has one label, and not several or none."""
    unknown_labels: tuple[str, ...]
    unknown_documents: Mapping[str, int]
    """By unknown label."""
    known: KnownResult
    slices: Mapping[str, Mapping[str, SliceResult]] | None = field(metadata=JSON_UNLESS_EMPTY)
    """By column, then by value; None without columns."""
    other_metrics: Mapping[str, float | None] = field(metadata=JSON_ENTRIES)
    """Further metrics of `nbtext.metrics.outcomes.METRICS`, which have no field here."""

    def get_metric(self, name: str) -> float | None:
        """Return a metric by its name in `nbtext.metrics.outcomes.METRICS`; None for one that was not asked for."""
        return self.other_metrics[name] if name in self.other_metrics else getattr(self, name, None)

    @property
    def kind(self) -> str:
        """What a document is judged by: its class, or each label where it may have several."""
        return "class" if self.has_one_label else "label"

    @property
    def mistakes(self) -> list[tuple[str, str, int]]:
        """True class, or labels, answer and number of documents of the wrong answers, the most frequent first; no answer is the empty text."""
        cells = [
            (truth, answer, n)
            for truth, row in self.confusion.items()
            for answer, n in row.items()
            if truth != answer
        ]
        return sorted(cells, key=lambda cell: -cell[2])


METRIC_FIELDS = frozenset(of_result.name for of_result in fields(EvaluationResult))
