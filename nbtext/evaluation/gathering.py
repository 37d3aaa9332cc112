"""How a report was made: the model's sizes, settings and versions as names and values. No clock, so that the same report is the same file.

What a report of a model shows, as plain values: gathered by `nbtext.evaluation.gathering`, drawn by `nbtext.report.page`.

Gathers what a report shows: the model judged on a stream of documents, before and after calibration, and its surest mistakes.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import file_digest
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext import __version__
from nbtext.decision import DecisionRule, log_posterior
from nbtext.errors import quantity
from nbtext.evaluation.judging import judge
from nbtext.explain.mistakes import ExcerptPiece, Excerpts, MistakeFinder, runner_up
from nbtext.inspection.overview import overview
from nbtext.inspection.terms import class_terms
from nbtext.metrics.evaluation import proper_scores
from nbtext.metrics.intervals import wilson_interval
from nbtext.metrics.outcomes import Judged, join_judged, judge_documents
from nbtext.metrics.reliability import reliability
from nbtext.model.scoring import ScoredBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.decision import Decision
    from nbtext.inspection.terms import ClassTerms
    from nbtext.metrics import Evaluation
    from nbtext.model.text_classifier import TextClassifier


MOST_NUMBERS = 50
"""By name, such as the pseudo-counts of terms, that are listed."""


Rows = tuple[tuple[str, str], ...]


def how_made(model: TextClassifier, model_path: str, *, corpus: Sequence[str], command: str) -> tuple[tuple[str, Rows], ...]:
    """Headings, each with names and values; ``corpus`` and ``command`` as they were given."""
    of = overview(model, 0)
    with Path(model_path).open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    report = (
        ("command", command),
        ("documents", ", ".join(corpus) or "the list of files"),
        ("page written by", f"nbtext {__version__}"),
    )
    sizes = (
        ("file", model_path),
        ("SHA-256", digest),
        ("written by", _versions(of["written_by"])),
        ("classes", f"{len(of['classes']):,}"),
        ("training documents", f"{of['documents']:,}"),
        ("training tokens", f"{of['tokens']:,}"),
        ("terms", f"{of['terms']:,}, {of['selected_terms']:,} of them selected, {quantity(of['ngrams'], 'n-gram')}"),
        ("stop words", f"{of['stop_words']:,}"),
        ("smoothing", f"{of['smoothing']:.6g}{_own(of['terms_with_own_smoothing'])}"),
        ("calibration", _calibration(of["calibration"])),
        ("sample kept", _documents(of["sample"]["documents"])),
    )
    return ("Report", report), ("Model", sizes), ("Training", _settings(of["training"])), ("Reading", _settings(of["reading"]))


def _own(n: int) -> str:
    return f", {quantity(n, 'term')} {'has its' if n == 1 else 'have their'} own" if n else ""


def _documents(n: int) -> str:
    return quantity(n, "training document")


def _calibration(of: Mapping[str, Any] | None) -> str:
    if of is None:
        return "none"
    scale, exponent = of["temperature"]["scale"], of["temperature"]["exponent"]
    temperature = f"{scale:.4g} × tokens^{exponent:.4g}" if exponent else f"{scale:.4g}"
    return f"{of['method']}, temperature {temperature}, from {_documents(of['documents'])}, each judged by a model without it"


def _settings(values: Mapping[str, Any]) -> Rows:
    return tuple((name.replace("_", " "), _value(value)) for name, value in values.items() if value is not None)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) and len(value) > MOST_NUMBERS:
        return f"{len(value):,} numbers by name"
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return str(value)


def _versions(written_by: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in written_by.items())


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


class Mistake(NamedTuple):
    """A document with the wrong answer."""

    id: str
    truth: str
    answer: str
    probability: float
    of_truth: float | None
    """Probability of the true class; None if the model does not know it."""
    excerpt: tuple[ExcerptPiece, ...]
    terms: tuple[tuple[str, float], ...]
    """Terms that tipped it, strongest first, each with what all its occurrences add, in nats; inf where it rules the true class out."""


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


MISTAKES_SHOWN = 12


TERMS_SHOWN = 10


MOST_CLASSES = 100
"""Classes whose terms are listed: those with most documents in training."""


Made = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


def gather(
    model: TextClassifier,
    documents: Iterable[Document],
    *,
    title: str,
    made: Made = (),
    curve: Mapping[str, Any] | None = None,
    leaks: Callable[[Evaluation], Mapping[str, Any]] | None = None,
) -> ReportData:
    """Judge the model on labelled documents, read once. Raises `UsageError` if there is not one.

    ``made`` says how the report was made: headings, each with names and values. ``curve`` is the summary of a learning curve of the training
    corpus. ``leaks`` tells of the evaluation, once it is done, which documents the model was trained on.
    """
    raw, surest = _Uncalibrated(model.classes_), _SurestMistakes(model)

    def look(block: ScoredBlock, decision: Decision) -> None:
        raw.add(block)
        surest.add(block, decision)

    evaluation = judge(model, documents, look=look)
    summary = evaluation.summary()
    return ReportData(
        title=title,
        n=summary["n"],
        accuracy=_figure(summary, "accuracy"),
        macro_f1=_figure(summary, "macro_f1"),
        baseline=(summary["baselines"]["largest_class"]["label"], summary["baselines"]["largest_class"]["accuracy"]),
        per_class=tuple(_class_figures(label, of) for label, of in summary["per_class"].items()),
        confusion=tuple(Confusion(truth, answer, n) for truth, row in summary["confusion"].items() for answer, n in row.items() if answer),
        unanswered=sum(row.get("", 0) for row in summary["confusion"].values()),
        before=_reliability(raw.judged()) if raw.differs else None,
        after=_reliability(evaluation.judged),
        mistakes=surest.mistakes(),
        top_terms=class_terms(model, TERMS_SHOWN, MOST_CLASSES),
        made=made,
        unknown_labels=tuple(summary["unknown_labels"]),
        learning_curve=None if curve is None else _learning_curve(curve),
        leaks=None if leaks is None else _leaks(leaks(evaluation), summary["n"]),
    )


def f1_interval(hits: int, support: int, answered: int) -> tuple[float, float]:
    """95 % interval of F1 = 2J/(1 + J), J = hits / (support + answered − hits), the share of documents of the class or given it that are both.

    F1 rises with J (P. Jaccard's coefficient; F1 is L. Dice's of 1945), so the ends of Wilson's interval of J give those of F1.
    """
    low, high = wilson_interval(hits, support + answered - hits)
    return 2 * low / (1 + low), 2 * high / (1 + high)


class _Uncalibrated:
    """Judges the posteriors of the bare scores, and notices whether they are those of the model at all."""

    def __init__(self, classes: Sequence[str]) -> None:
        self._number = {label: number for number, label in enumerate(classes)}
        self._parts: list[Judged] = []
        self.differs = False

    def add(self, block: ScoredBlock) -> None:
        posterior = log_posterior(block.scores)
        self.differs = self.differs or not np.array_equal(posterior, block.log_posterior, equal_nan=True)
        n_classes = posterior.shape[1]
        posterior = np.where(np.isnan(posterior), -np.log(n_classes), posterior)  # as in nbtext.evaluation.judging
        truth = np.array([self._number.get(document.label or "", n_classes) for document in block.documents], np.int64)
        self._parts.append(judge_documents(truth, posterior.argmax(axis=1), posterior))

    def judged(self) -> Judged:
        return join_judged(self._parts)


class _SurestMistakes:
    """Keeps the documents with the most probable wrong answers; of the same text with the same label, the first."""

    def __init__(self, model: TextClassifier) -> None:
        self._model = model
        self._number = {label: number for number, label in enumerate(model.classes_)}
        self._kept: list[tuple[float, float, ScoredBlock]] = []
        """Probability and margin of each, and the block of it alone."""

    def add(self, block: ScoredBlock, decision: Decision) -> None:
        truth = self._truth(block.documents)
        wrong = np.flatnonzero((decision.answers >= 0) & (decision.answers != truth))
        wrong = wrong[np.argsort(-decision.probabilities[wrong], kind="stable")]
        least = self._kept[-1][0] if len(self._kept) == MISTAKES_SHOWN else -1.0
        last = decision.probabilities[wrong[MISTAKES_SHOWN - 1]] if wrong.size >= MISTAKES_SHOWN else -1.0
        for row in wrong[
            decision.probabilities[wrong] >= max(least, last)
        ].tolist():  # all of equals: what is 1 in floats differs in margin
            posterior = block.log_posterior[row]
            margin = float(posterior[decision.answers[row]] - posterior[truth[row]]) if truth[row] >= 0 else np.inf
            if not any(_same(block.documents[row], kept.documents[0]) for _, _, kept in self._kept):
                self._kept.append((float(decision.probabilities[row]), margin, _row_of(block, row)))
        self._kept.sort(key=lambda entry: (-entry[0], -entry[1]))
        del self._kept[MISTAKES_SHOWN:]

    def mistakes(self) -> tuple[Mistake, ...]:
        """Surest first, each with its excerpt and the terms that tipped it."""
        if not self._kept:
            return ()
        block = _together([block for _, _, block in self._kept])
        decision = DecisionRule().decide(block.log_posterior)
        truth = self._truth(block.documents)
        rivals = np.where(truth >= 0, truth, runner_up(block.log_posterior, decision.answers))
        excerpts = Excerpts(self._model)
        found = MistakeFinder(self._model).mistakes(block, decision)
        return tuple(
            Mistake(
                mistake.id,
                mistake.truth,
                mistake.answer,
                mistake.probability,
                None if truth[row] < 0 else float(np.exp(block.log_posterior[row, truth[row]])),
                excerpts.excerpt(block.documents[row].text, int(decision.answers[row]), int(rivals[row])),
                tuple((term, nats) for term, nats in mistake.terms),
            )
            for row, mistake in enumerate(found)
        )

    def _truth(self, documents: Sequence[Document]) -> NDArray[np.int64]:
        return np.array([self._number.get(document.label or "", -1) for document in documents], np.int64)


def _same(document: Document, other: Document) -> bool:
    return document.text == other.text and document.label == other.label


def _row_of(block: ScoredBlock, row: int) -> ScoredBlock:
    """A block of one document, which keeps nothing of the others."""
    here = slice(row, row + 1)
    return ScoredBlock(
        block.documents[here],
        block.scores[here].copy(),
        block.log_posterior[here].copy(),
        block.lengths[here].copy(),
        block.unknown[here].copy(),
    )


def _together(blocks: Sequence[ScoredBlock]) -> ScoredBlock:
    return ScoredBlock(
        list(chain.from_iterable(block.documents for block in blocks)),
        np.concatenate([block.scores for block in blocks]),
        np.concatenate([block.log_posterior for block in blocks]),
        np.concatenate([block.lengths for block in blocks]),
        np.concatenate([block.unknown for block in blocks]),
    )


def _reliability(documents: Judged) -> Reliability:
    bins, scores = reliability(documents), proper_scores(documents)
    return Reliability(
        tuple(
            Bin(n, confidence, Figure(accuracy, *wilson_interval(round(n * accuracy), n)))
            for n, confidence, accuracy in zip(*(column.tolist() for column in bins), strict=True)
            if n
        ),
        scores["ece"],
        scores["log_loss"] if np.isfinite(scores["log_loss"]) else None,
        scores["brier"],
        float(documents.confidence.mean()),
    )


def _figure(summary: Mapping[str, Any], name: str) -> Figure:
    return Figure(summary[name], *summary["intervals"].get(name, (None, None)))


def _class_figures(label: str, of: Mapping[str, Any]) -> ClassFigures:
    """An interval only of what is a share of some documents."""
    support, answered = of["support"], of["answered"]
    hits = round(of["recall"] * support)
    return ClassFigures(
        label,
        support,
        answered,
        Figure(of["precision"], *of["intervals"]["precision"]) if answered else Figure(None),
        Figure(of["recall"], *of["intervals"]["recall"]) if support else Figure(None),
        Figure(of["f1"], *f1_interval(hits, support, answered)) if support + answered else Figure(None),
    )


def _learning_curve(summary: Mapping[str, Any]) -> LearningCurve:
    forecast = summary["forecast"]["accuracy"]
    points = (
        LearningPoint(of["documents"], of["accuracy"], of["accuracy_band"][0], of["accuracy_band"][1], of["macro_f1"])
        for of in summary["points"]
    )
    accuracy = Figure(forecast["value"], *(forecast["interval"] or (None, None)))
    return LearningCurve(
        summary["documents"],
        summary["runs"],
        tuple(points),
        Forecast(forecast["documents"], accuracy, forecast["now"], forecast["withheld"]),
    )


def _leaks(figures: Mapping[str, Any], n: int) -> Leaks | None:
    """From what `nbtext.evaluation.leakage` found, in the whole training corpus or in the model's sample of it."""
    if "leaks" in figures:
        leaks, without = figures["leaks"], figures["leaks"]["without"]
        return Leaks(n, leaks["exact"] + leaks["near"], None if without is None else Figure(without["accuracy"], *without["interval"]))
    sampled = figures.get("sampled_leaks")
    return None if sampled is None else Leaks(sampled["checked"], sampled["found"], None)
