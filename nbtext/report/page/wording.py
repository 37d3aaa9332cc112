"""The summary of a report in words: how often the model is right, where it errs, and whether its probabilities can be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import counted
from nbtext.report.page.figures import percent, percent_interval
from nbtext.report.page.markup import Markup, element, joined, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.gathering import Confusion, Reliability, ReportData

TRUSTWORTHY, ROUGH = 0.03, 0.1
"""Up to these calibration errors probabilities can be believed, or taken as a rough guide."""

ENOUGH_TO_JUDGE = 200
"""Documents below which chance alone makes a calibration error of several per cent."""

ENOUGH = 10
"""Documents of a class below which its recall says little."""


def label(text: str, most: int = 60) -> Markup:
    """A class's name, set off from the words around it."""
    return element("b", shortened(text, most), class_="data")


def frequent_mistakes(data: ReportData) -> list[Confusion]:
    """Cells that are mistakes, most frequent first."""
    return sorted((cell for cell in data.confusion if cell.truth != cell.answer), key=lambda cell: -cell.n)


def summary(data: ReportData) -> list[Markup]:
    """Paragraphs."""
    return [joined(parts) for parts in (_how_good(data), _where_wrong(data), _how_believable(data), _how_fair(data)) if parts]


def _how_good(data: ReportData) -> list[object]:
    largest, baseline = data.baseline
    classes = sum(1 for figures in data.per_class if figures.support)
    parts: list[object] = [
        f"The model answered {counted(data.n, 'document')} of {counted(classes, 'class')}. It is right on ",
        element("strong", percent(data.accuracy.value)),
        f" of them (95\u00a0% interval {percent_interval(data.accuracy)}). Always answering ",
        label(largest),
        f", the largest class in training, would be right on {percent(baseline)}.",
    ]
    if (data.accuracy.low or 0) <= baseline:
        parts.append(" So there is no sign here that the model is better than that.")
    if data.unanswered:
        parts.append(f" It gave no answer to {counted(data.unanswered, 'document')}, which counts as wrong.")
    if data.unknown_labels:
        unknown = set(data.unknown_labels)
        n = sum(figures.support for figures in data.per_class if figures.label in unknown)
        some = data.unknown_labels[:3]
        parts += [f" It cannot be right on {counted(n, 'document')} of classes that it does not know: ", joined(map(label, some), ", ")]
        parts.append(f" and {len(unknown) - 3:,} more." if len(unknown) > 3 else ".")
    return parts


def _where_wrong(data: ReportData) -> list[object]:
    cells = frequent_mistakes(data)
    if not cells:
        return ["It made no mistake on these documents."]
    worst, n = cells[0], sum(cell.n for cell in cells)
    back = next((cell.n for cell in cells if (cell.truth, cell.answer) == (worst.answer, worst.truth)), 0)
    begin = f"Of its {n:,} mistakes, {worst.n:,} {'takes' if worst.n == 1 else 'take'} " if n > 1 else "Its only mistake takes "
    parts: list[object] = [begin, label(worst.truth), " for "]
    parts += [label(worst.answer), f" and {back:,} the other way round." if back else "."]
    weakest = min(
        (figures for figures in data.per_class if figures.support >= ENOUGH and figures.label not in data.unknown_labels),
        key=lambda figures: figures.recall.value or 0.0,
        default=None,
    )
    if weakest is not None and (weakest.recall.value or 0.0) < 1:
        parts += [" The class that it recognises least is ", label(weakest.label), ": it finds "]
        parts += [f"{percent(weakest.recall.value)} of its {counted(weakest.support, 'document')}", *_taken_for(weakest.label, cells)]
    return parts


def _taken_for(truth: str, cells: Sequence[Confusion]) -> list[object]:
    cell = next((cell for cell in cells if cell.truth == truth), None)
    return ["."] if cell is None else ["; most often it takes the others for ", label(cell.answer), "."]


def _how_believable(data: ReportData) -> list[object]:
    after, before = data.after, data.before
    sureness = (
        f"On average its answers are {percent(after.confidence)} probable by its own account, and {percent(data.accuracy.value)} are right."
    )
    gap = f"the probability differs from the share that is right by {_points(after.calibration_error)} percentage points in the mean"
    earlier = f" (before calibration by {_points(before.calibration_error)})" if before else ""
    verdict = element("strong", _verdict(after, data.accuracy.value or 0.0, data.n))
    return [verdict, f" {sureness} In groups of about equally probable answers, {gap}{earlier}."]


def _how_fair(data: ReportData) -> list[object]:
    """Whether the model was trained on what it is judged on; nothing if not, as far as is known."""
    leaks = data.leaks
    if leaks is None or not leaks.found:
        return []
    parts: list[object] = [element("strong", "These figures may flatter the model:")]
    parts.append(
        f" {leaks.found:,} of the {counted(leaks.looked_at, 'document')} {'' if leaks.looked_at == data.n else 'that could be checked '}"
    )
    parts.append("stand among those that it was trained on" + (", word for word or nearly." if leaks.without else "."))
    if leaks.without:
        parts.append(f" Without them it is right on {percent(leaks.without.value)} (95\u00a0% interval {percent_interval(leaks.without)}).")
    return parts


def _verdict(after: Reliability, accuracy: float, n: int) -> str:
    if n < ENOUGH_TO_JUDGE:
        return "These are too few documents to tell whether its probabilities can be believed."
    if after.calibration_error <= TRUSTWORTHY:
        return "Its probabilities can be believed."
    if after.calibration_error <= ROUGH:
        return f"Its probabilities are a rough guide: {'too high' if after.confidence > accuracy else 'too low'} for the most part."
    return f"Its probabilities should not be taken at their word: it is {'surer' if after.confidence > accuracy else 'less sure'} than it should be."


def _points(share: float) -> str:
    return f"{100 * share:.1f}"
