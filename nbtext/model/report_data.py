"""What a report of a model shows, as plain values: gathered by `nbtext.model.gathering`, drawn by `nbtext.report.page`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Figure(NamedTuple):
    """A figure with its 95 % interval; None where it is infinite or not known."""

    value: float | None
    low: float | None = None
    high: float | None = None


class ClassFigures(NamedTuple):
    """How one class was judged. ``support``: documents that are of the class; ``answered``: documents that were given it."""

    label: str
    support: int
    answered: int
    precision: Figure
    recall: Figure
    f1: Figure


class Confusion(NamedTuple):
    """How many documents of class ``truth`` were given class ``answer``; right where these are the same."""

    truth: str
    answer: str
    n: int


class Bin(NamedTuple):
    """Documents whose answers are about equally probable: how many, the mean probability, and the share that is right, with its interval."""

    n: int
    confidence: float
    right: Figure


class Reliability(NamedTuple):
    """How far probabilities of answers can be believed: bins by rising probability (empty ones left out), and proper scores."""

    bins: tuple[Bin, ...]
    calibration_error: float
    log_loss: float | None
    """In nats; None where it is infinite."""
    brier: float
    confidence: float
    """Mean probability of the answers."""


class Piece(NamedTuple):
    """A piece of a text, and what it adds to the answer's score over that of the true class, in nats; 0 for what counts for neither."""

    text: str
    nats: float = 0.0


class Mistake(NamedTuple):
    """A document with the wrong answer."""

    id: str
    truth: str
    answer: str
    probability: float
    of_truth: float | None
    """Probability of the true class; None if the model does not know it."""
    excerpt: tuple[Piece, ...]
    terms: tuple[tuple[str, float], ...]
    """Terms that tipped it, strongest first, each with what all its occurrences add, in nats; inf where it rules the true class out."""


class ClassTerms(NamedTuple):
    """Terms that speak most for a class, best first, each with its summand of the mutual information, in nats."""

    label: str
    terms: tuple[tuple[str, float], ...]


class LearningPoint(NamedTuple):
    """Accuracy with the band in which 95 % of the runs lie, and macro F1, of models trained on so many documents."""

    documents: int
    accuracy: float
    low: float
    high: float
    macro_f1: float


class Forecast(NamedTuple):
    """What more documents would bring, or why nothing is said of it."""

    documents: int
    accuracy: Figure
    now: float | None
    """Accuracy at the present number of documents, by the same law."""
    withheld: str | None


class LearningCurve(NamedTuple):
    """Models of parts of the training corpus, judged on parts held out of it."""

    documents: int
    """Of the training corpus."""
    runs: int
    points: tuple[LearningPoint, ...]
    """By rising number of documents, one at least."""
    forecast: Forecast


class Leaks(NamedTuple):
    """Documents judged that the model was trained on."""

    looked_at: int
    """Of how many documents it is known whether they are such."""
    found: int
    without: Figure | None
    """Accuracy on the others; None if it is not known."""


@dataclass(frozen=True)
class ReportData:
    """Everything that the page shows. Classes come in the model's order, then labels that it does not know."""

    title: str
    n: int
    accuracy: Figure
    macro_f1: Figure
    baseline: tuple[str, float]
    """The largest class of the training documents, and the accuracy of always answering it."""
    per_class: tuple[ClassFigures, ...]
    confusion: tuple[Confusion, ...]
    """The cells that occurred, but for documents without an answer."""
    unanswered: int
    before: Reliability | None
    """Before calibration; None if the model's probabilities are not calibrated."""
    after: Reliability
    mistakes: tuple[Mistake, ...]
    top_terms: tuple[ClassTerms, ...]
    made: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """How it was made: headings, each with names and values."""
    unknown_labels: tuple[str, ...] = ()
    learning_curve: LearningCurve | None = None
    leaks: Leaks | None = None
