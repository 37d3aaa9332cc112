"""The sections that say how good a model is: words, figures, confusion, calibration, classes, learning curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import counted
from nbtext.report.page.charts import bar, learning_curve, reliability_diagram
from nbtext.report.page.figures import interval, percent, percent_interval, share
from nbtext.report.page.heat_map import MOST_CLASSES, chosen_classes, heat_map, legend
from nbtext.report.page.layout import LABEL, heads, note, scrolling, section
from nbtext.report.page.markup import NOTHING, Markup, breakable, element, shortened
from nbtext.report.page.wording import frequent_mistakes, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.gathering import ClassFigures, Figure, LearningCurve, Reliability, ReportData


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
        ("Documents", f"{data.n:,}", f"of {counted(classes, 'class')}"),
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
        f"Learning curve: accuracy goes from {percent(first.accuracy)} with {counted(first.documents, 'document')} to "
        f"{percent(last.accuracy)} with {last.documents:,}."
    )
    drawn = "" if curve.forecast.accuracy.value is None else " The ring is a forecast, with its interval."
    return section(
        "learning",
        "Learning curve",
        element("p", _forecast(curve)),
        note(
            f"Models of parts of the training corpus, each judged on documents of that corpus held out from it; means of {counted(curve.runs, 'run')}. "
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
        f"With {counted(forecast.documents, 'document')} in place of {curve.documents:,} the accuracy would be {percent(forecast.accuracy.value)} "
        f"(95\u00a0% interval {percent_interval(forecast.accuracy)}) in place of {percent(forecast.now)}, if the curve goes on as it went."
    )


def _left_out(per_class: Sequence[ClassFigures], shown: Sequence[ClassFigures]) -> Markup:
    n = sum(1 for of in per_class if of.support or of.answered) - len(shown)
    return (
        note(
            f"The {counted(len(shown), 'class')} with most documents {'is' if len(shown) == 1 else 'are'} shown; {counted(n, 'class')} more {'is' if n == 1 else 'are'} left out."
        )
        if n
        else NOTHING
    )


def _was(value: str) -> str:
    return f"{value} before calibration"


def _loss(reliability: Reliability) -> str:
    return "infinite" if reliability.log_loss is None else f"{reliability.log_loss:.3f}"
