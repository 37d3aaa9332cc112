"""The summary of a report in words: how often the model is right, where it errs, and how far its probabilities can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.evaluation.leakage import LeakResult
from nbtext.report.numbers import percent, percent_bounds
from nbtext.report.page.markup import Markup, class_name, element, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.gathering import ReportData
    from nbtext.metrics.results import EvaluationResult

TRUSTWORTHY, ROUGH = 0.03, 0.1
"""Up to these calibration errors probabilities can be believed, or taken as a rough guide."""

ENOUGH_TO_JUDGE = 200
"""Documents below which chance alone makes a calibration error of several per cent."""

ENOUGH = 10
"""Documents of a class below which its recall says little."""

UNKNOWN_NAMED = 3


def wrong_answers(result: EvaluationResult) -> list[tuple[str, str, int]]:
    """Return true class, answer and number of documents of the mistakes that are answers, the most frequent first."""
    return [mistake for mistake in result.mistakes if mistake[1]]


def summary(data: ReportData) -> list[Markup]:
    """Return the paragraphs."""
    return [joined(parts) for parts in (_accuracy(data), _mistakes(data.evaluation), _calibration(data), _leaks(data)) if parts]


def _accuracy(data: ReportData) -> list[object]:
    result = data.evaluation
    assert result.baselines is not None  # noqa: S101 - a model has training documents
    largest, interval = result.baselines.largest_class, result.intervals["accuracy"]
    classes = sum(1 for of_class in result.per_class.values() if of_class.support)
    parts: list[object] = [
        f"The model answered {quantity(result.n, 'document')} of {quantity(classes, 'class')}. It is right on ",
        element("strong", percent(result.accuracy)),
        f" of them (95\u00a0% interval {percent_bounds(interval)}). Always answering ",
        class_name(largest.label),
        f", the largest class in training, would be right on {percent(largest.accuracy)}.",
    ]
    if interval[0] <= largest.accuracy:
        parts.append(" So there is no sign here that the model is better than that.")
    if unanswered := sum(row.get("", 0) for row in result.confusion.values()):
        parts.append(f" It gave no answer to {quantity(unanswered, 'document')}, which counts as wrong.")
    if unknown := result.unknown_labels:
        n = sum(result.per_class[label].support for label in unknown)
        parts += [f" It cannot be right on {quantity(n, 'document')} of classes that it does not know: "]
        parts.append(joined(map(class_name, unknown[:UNKNOWN_NAMED]), ", "))
        parts.append(f" and {len(unknown) - UNKNOWN_NAMED:,} more." if len(unknown) > UNKNOWN_NAMED else ".")
    return parts


def _mistakes(result: EvaluationResult) -> list[object]:
    mistakes = wrong_answers(result)
    if not mistakes:
        return ["It made no mistake on these documents."]
    (truth, answer, most), n = mistakes[0], sum(mistake[2] for mistake in mistakes)
    back = result.confusion.get(answer, {}).get(truth, 0)
    begin = f"Of its {n:,} mistakes, {most:,} {'takes' if most == 1 else 'take'} " if n > 1 else "Its only mistake takes "
    parts: list[object] = [begin, class_name(truth), " for "]
    parts += [class_name(answer), f" and {back:,} the other way round." if back else "."]
    judged = [label for label, found in result.per_class.items() if found.support >= ENOUGH and label not in result.unknown_labels]
    weakest = min(judged, key=lambda label: result.per_class[label].recall, default=None)
    if weakest is not None and result.per_class[weakest].recall < 1:
        found = result.per_class[weakest]
        parts += [" The class that it recognises least is ", class_name(weakest), ": it finds "]
        parts += [f"{percent(found.recall)} of its {quantity(found.support, 'document')}", *_taken_for(weakest, mistakes)]
    return parts


def _taken_for(truth: str, mistakes: Sequence[tuple[str, str, int]]) -> list[object]:
    answer = next((answer for of_class, answer, _ in mistakes if of_class == truth), None)
    return ["."] if answer is None else ["; most often it takes the others for ", class_name(answer), "."]


def _calibration(data: ReportData) -> list[object]:
    after, before, accuracy = data.after, data.before, data.evaluation.accuracy
    sureness = f"On average its answers are {percent(after.confidence)} probable by its own account, and {percent(accuracy)} are right."
    gap = f"the probability differs from the share that is right by {_points(after.ece)} percentage points in the mean"
    earlier = f" (before calibration by {_points(before.ece)})" if before else ""
    verdict = _verdict(data.evaluation.n, after.ece or 0.0, too_sure=(after.confidence or 0.0) > (accuracy or 0.0))
    return [element("strong", verdict), f" {sureness} In groups of about equally probable answers, {gap}{earlier}."]


def _verdict(n: int, error: float, *, too_sure: bool) -> str:
    if n < ENOUGH_TO_JUDGE:
        return "These are too few documents to tell whether its probabilities can be believed."
    if error <= TRUSTWORTHY:
        return "Its probabilities can be believed."
    if error <= ROUGH:
        return f"Its probabilities are a rough guide: {'too high' if too_sure else 'too low'} for the most part."
    return f"Its probabilities should not be taken at their word: it is {'surer' if too_sure else 'less sure'} than it should be."


def _points(share: float | None) -> str:
    return f"{100 * (share or 0.0):.1f}"


def _leaks(data: ReportData) -> list[object]:
    """Return nothing if no leaks are known."""
    leaks, n = data.leaks, data.evaluation.n
    if leaks is None or not leaks.found:
        return []
    whole = isinstance(leaks, LeakResult)
    checked = n if isinstance(leaks, LeakResult) else leaks.checked
    others = leaks.without if isinstance(leaks, LeakResult) else None
    parts: list[object] = [element("strong", "These figures may flatter the model:")]
    parts.append(f" {leaks.found:,} of the {quantity(checked, 'document')} {'' if whole or checked == n else 'that could be checked '}")
    parts.append("stand among those that it was trained on" + (", word for word or nearly." if others else "."))
    if others:
        parts.append(f" Without them it is right on {percent(others.accuracy)} (95\u00a0% interval {percent_bounds(others.interval)}).")
    return parts
