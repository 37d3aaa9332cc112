"""The summary of a report in words: how often the model is right, where it errs, and whether its probabilities can be believed.

The sections that say how good a model is: words, figures, confusion, calibration, classes, learning curve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.report.numbers import interval, percent, percent_interval, share
from nbtext.report.page.charts import MOST_CLASSES, bar, chosen_classes, heat_map, learning_curve, legend, reliability_diagram
from nbtext.report.page.markup import LABEL, NOTHING, Markup, breakable, element, heads, joined, note, scrolling, section, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.gathering import ClassFigures, Confusion, Figure, LearningCurve, Reliability, ReportData


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
        f"The model answered {quantity(data.n, 'document')} of {quantity(classes, 'class')}. It is right on ",
        element("strong", percent(data.accuracy.value)),
        f" of them (95\u00a0% interval {percent_interval(data.accuracy)}). Always answering ",
        label(largest),
        f", the largest class in training, would be right on {percent(baseline)}.",
    ]
    if (data.accuracy.low or 0) <= baseline:
        parts.append(" So there is no sign here that the model is better than that.")
    if data.unanswered:
        parts.append(f" It gave no answer to {quantity(data.unanswered, 'document')}, which counts as wrong.")
    if data.unknown_labels:
        unknown = set(data.unknown_labels)
        n = sum(figures.support for figures in data.per_class if figures.label in unknown)
        some = data.unknown_labels[:3]
        parts += [f" It cannot be right on {quantity(n, 'document')} of classes that it does not know: ", joined(map(label, some), ", ")]
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
        parts += [f"{percent(weakest.recall.value)} of its {quantity(weakest.support, 'document')}", *_taken_for(weakest.label, cells)]
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
        f" {leaks.found:,} of the {quantity(leaks.looked_at, 'document')} {'' if leaks.looked_at == data.n else 'that could be checked '}"
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


CONFUSIONS_SHOWN = 12


def words(data: ReportData) -> Markup:
    """The summary in words."""
    return section("summary", "Summary", *(element("p", paragraph) for paragraph in summary(data)))


def headline(data: ReportData) -> Markup:
    """The main figures, large."""
    after, before = data.after, data.before
    largest, baseline = data.baseline
    classes = sum(1 for of in data.per_class if of.support)
    cards = (
        ("Documents", f"{data.n:,}", f"of {quantity(classes, 'class')}"),
        ("Accuracy", share(data.accuracy.value), interval(data.accuracy)),
        ("Macro F1", share(data.macro_f1.value), interval(data.macro_f1)),
        ("Baseline", share(baseline), f"accuracy of always {shortened(largest, 30)}"),
        ("Mean probability", share(after.confidence), _was(share(before.confidence)) if before else "of the answers"),
        ("Calibration error", share(after.calibration_error), _was(share(before.calibration_error)) if before else ""),
        ("Log loss", _loss(after), _was(_loss(before)) if before else "nats"),
        ("Brier score", share(after.brier), _was(share(before.brier)) if before else ""),
    )
    groups = (
        element(
            "div",
            element("dt", name),
            element("dd", value, class_="value"),
            element("dd", beside, class_="beside data") if beside else NOTHING,
        )
        for name, value, beside in cards
    )
    return section(
        "figures",
        "Figures",
        element("dl", *groups, class_="cards"),
        note(
            "Beneath accuracy and macro F1: 95\u00a0% intervals. Calibration error, log loss (in nats) and Brier score are the better the lower, "
            "and the mean probability the better the nearer to the accuracy."
        ),
    )


def confusion(data: ReportData) -> Markup:
    """The heat map, and the most frequent mistakes as a table."""
    shown = chosen_classes(data.per_class, MOST_CLASSES)
    mistakes = frequent_mistakes(data)[:CONFUSIONS_SHOWN]
    support = {figures.label: figures.support for figures in data.per_class}
    rows = (
        element(
            "tr",
            element("td", _name(cell.truth)),
            element("td", _name(cell.answer)),
            element("td", f"{cell.n:,}", class_="number"),
            element("td", percent(cell.n / support[cell.truth]), class_="number wide"),
        )
        for cell in mistakes
    )
    table = element(
        "table",
        element("caption", "Most frequent confusions"),
        element("thead", heads(("True class", "Answer"), ("Documents",), ("Share of the class",))),
        element("tbody", *rows),
        class_="plain",
    )
    return section(
        "confusion",
        "What is taken for what",
        note(
            "Each row is a true class, each column an answer. The share of its row makes a cell's shade: blue where right, orange where wrong."
        ),
        _left_out(data.per_class, shown),
        element(
            "figure",
            scrolling(heat_map(shown, data.confusion), "Confusion of classes"),
            element("figcaption", legend()),
        ),
        scrolling(table, "Most frequent confusions") if mistakes else NOTHING,
    )


def calibration(data: ReportData) -> Markup:
    """Reliability diagrams before and after calibration, with their numbers."""
    diagrams = [("Probabilities as they are given", "after", data.after)]
    if data.before:
        diagrams = [("Before calibration", "before", data.before), ("After calibration", "after", data.after)]
    return section(
        "calibration",
        "Can its probabilities be believed?",
        note(
            "Answers are grouped by their probability. Dots: the share of right answers in each group, with its 95\u00a0% interval; on the "
            "dashed line probabilities say what happens, below it the model is too sure. Columns: how many answers each group has."
        ),
        element("div", *(_diagram(*diagram) for diagram in diagrams), class_="pair"),
        NOTHING
        if data.before
        else note("These are the probabilities of the bare scores: the model has no calibration, or one that changes nothing."),
    )


def _diagram(heading: str, series: str, reliability: Reliability) -> Markup:
    words = f"Reliability diagram, {heading.lower()}: calibration error {share(reliability.calibration_error)}; the numbers are in the table below."
    rows = (
        element(
            "tr",
            *(element("td", cell, class_="number") for cell in (f"{part.n:,}", percent(part.confidence), percent(part.right.value))),
            element("td", percent_interval(part.right), class_="number wide"),
        )
        for part in reliability.bins
    )
    numbers = element(
        "table",
        element("caption", heading),
        element("thead", heads((), ("Answers", "Mean probability", "Right"), ("95\u00a0% interval",))),
        element("tbody", *rows),
        class_="plain",
    )
    return element(
        "figure",
        element("figcaption", element("h3", heading), element("span", f"calibration error {share(reliability.calibration_error)}")),
        reliability_diagram(reliability.bins, series, words),
        element("p", "probability of the answer →", class_="axis"),
        element("details", element("summary", "Numbers"), numbers),
    )


def classes(data: ReportData) -> Markup:
    """Precision, recall and F1 of each class as bars."""
    shown = chosen_classes(data.per_class, MOST_CLASSES)
    rows = (
        element(
            "tr",
            element("th", _name(of.label), scope="row"),
            element("td", f"{of.support:,}", class_="number wide"),
            *(_measured(name, figure) for name, figure in (("precision", of.precision), ("recall", of.recall), ("F1", of.f1))),
        )
        for of in shown
    )
    table = element(
        "table",
        element("caption", "Each class, with 95\u00a0% intervals", class_="unseen"),
        element("thead", heads(("Class",), (), ("Documents",), plain=("Precision", "Recall", "F1"))),
        element("tbody", *rows),
        class_="bars",
    )
    return section(
        "classes",
        "Class by class",
        note(
            "Precision: the share of the documents given the class that are of it. Recall: the share of its documents that were given it. "
            "F1 is their harmonic mean. Lines show 95\u00a0% intervals."
        ),
        _left_out(data.per_class, shown),
        scrolling(table, "Each class"),
    )


def _name(label: str) -> Markup:
    """A class in a table."""
    return element("span", breakable(shortened(label, LABEL)), class_="data")


def _measured(name: str, figure: Figure) -> Markup:
    bounds = interval(figure)
    words = f"{name} {share(figure.value)}" + (f", 95\u00a0% interval {bounds}" if bounds else "")
    numbers = (element("span", share(figure.value), class_="value"), " ", element("span", bounds, class_="bounds"))
    return element("td", element("div", *numbers), bar(figure.value or 0.0, words, figure.low, figure.high))


def learning(data: ReportData) -> Markup:
    """The learning curve, if there is one."""
    curve = data.learning_curve
    if curve is None:
        return NOTHING
    first, last = curve.points[0], curve.points[-1]
    words = (
        f"Learning curve: accuracy goes from {percent(first.accuracy)} with {quantity(first.documents, 'document')} to "
        f"{percent(last.accuracy)} with {last.documents:,}."
    )
    drawn = "" if curve.forecast.accuracy.value is None else " The ring is a forecast, with its interval."
    return section(
        "learning",
        "Learning curve",
        element("p", _forecast(curve)),
        note(
            f"Models of parts of the training corpus, each judged on documents of that corpus held out from it; means of {quantity(curve.runs, 'run')}. "
            f"95\u00a0% of the runs lie in the band.{drawn}"
        ),
        element(
            "figure",
            learning_curve(curve.points, words, curve.forecast),
            element("p", "documents trained on →", class_="axis"),
            element("figcaption", element("span", "accuracy", class_="key first"), element("span", "macro F1", class_="key second")),
        ),
    )


def _forecast(curve: LearningCurve) -> str:
    """In words what more documents would bring."""
    forecast = curve.forecast
    if forecast.accuracy.value is None:
        return f"There is no forecast: {forecast.withheld}."
    return (
        f"With {quantity(forecast.documents, 'document')} in place of {curve.documents:,} the accuracy would be {percent(forecast.accuracy.value)} "
        f"(95\u00a0% interval {percent_interval(forecast.accuracy)}) in place of {percent(forecast.now)}, if the curve goes on as it went."
    )


def _left_out(per_class: Sequence[ClassFigures], shown: Sequence[ClassFigures]) -> Markup:
    n = sum(1 for of in per_class if of.support or of.answered) - len(shown)
    return (
        note(
            f"The {quantity(len(shown), 'class')} with most documents {'is' if len(shown) == 1 else 'are'} shown; {quantity(n, 'class')} more {'is' if n == 1 else 'are'} left out."
        )
        if n
        else NOTHING
    )


def _was(value: str) -> str:
    return f"{value} before calibration"


def _loss(reliability: Reliability) -> str:
    return "infinite" if reliability.log_loss is None else f"{reliability.log_loss:.3f}"
