"""Gathers what a report shows: the model judged on a stream of documents, before and after calibration, and its surest mistakes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext.decision import DecisionRule, log_posterior
from nbtext.metrics.evaluation import proper_scores
from nbtext.metrics.intervals import wilson_interval
from nbtext.metrics.outcomes import Judged, joined, judged
from nbtext.metrics.reliability import reliability
from nbtext.model.answers import ScoredBlock
from nbtext.model.class_terms import class_terms
from nbtext.model.excerpts import Excerpts
from nbtext.model.judging import judge
from nbtext.model.mistakes import MistakeFinder, runner_up
from nbtext.model.report_data import (
    Bin,
    ClassFigures,
    Confusion,
    Figure,
    Forecast,
    Leaks,
    LearningCurve,
    LearningPoint,
    Mistake,
    Reliability,
    ReportData,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from nbtext.corpus.document import Document
    from nbtext.decision import Decision
    from nbtext.metrics import Evaluation
    from nbtext.model.text_classifier import TextClassifier

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
        posterior = np.where(np.isnan(posterior), -np.log(n_classes), posterior)  # as in nbtext.model.judging
        truth = np.array([self._number.get(document.label or "", n_classes) for document in block.documents], np.int64)
        self._parts.append(judged(truth, posterior.argmax(axis=1), posterior))

    def judged(self) -> Judged:
        return joined(self._parts)


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
    """From what `nbtext.model.leaks` found, in the whole training corpus or in the model's sample of it."""
    if "leaks" in figures:
        leaks, without = figures["leaks"], figures["leaks"]["without"]
        return Leaks(n, leaks["exact"] + leaks["near"], None if without is None else Figure(without["accuracy"], *without["interval"]))
    sampled = figures.get("sampled_leaks")
    return None if sampled is None else Leaks(sampled["checked"], sampled["found"], None)
