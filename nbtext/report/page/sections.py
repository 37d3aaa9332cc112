"""The sections of a report: summary, figures, confusion, calibration, classes, mistakes, terms, learning curve, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.report.numbers import bounds, nats, percent, percent_bounds, share_in_words
from nbtext.report.page.charts import MOST_CLASSES, bar, chosen_classes, confusion_chart, learning_curve_chart, legend, reliability_diagram
from nbtext.report.page.markup import (
    NOTHING,
    Markup,
    cell,
    class_cell,
    class_name,
    element,
    joined,
    note,
    scrolling,
    section,
    shortened,
    table,
)
from nbtext.report.page.summary import summary, wrong_answers

if TYPE_CHECKING:
    from collections.abc import Sized

    from nbtext.evaluation.gathering import QuotedMistake, ReportData
    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.inspection.terms import ClassTerms
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import EvaluationResult, ProbabilityResult

CONFUSIONS_SHOWN = 12

AUDIBLE = 0.05
"""Nats below which a term is not listed: it would be shown as 0.0."""


def word_list(data: ReportData) -> Markup:
    """Return the summary in words."""
    return section("summary", "Summary", *(element("p", paragraph) for paragraph in summary(data)))


def headline(data: ReportData) -> Markup:
    """Return the main figures, large."""
    result, after, before = data.evaluation, data.after, data.before
    assert result.baselines is not None  # noqa: S101 - a model has training documents
    largest = result.baselines.largest_class
    classes = sum(1 for of_class in result.per_class.values() if of_class.support)
    cards = (
        ("Documents", f"{result.n:,}", f"of {quantity(classes, 'class')}"),
        ("Accuracy", share_in_words(result.accuracy), bounds(result.intervals.get("accuracy"), ".3f")),
        ("Macro F1", share_in_words(result.macro_f1), bounds(result.intervals.get("macro_f1"), ".3f")),
        ("Baseline", share_in_words(largest.accuracy), f"accuracy of always {shortened(largest.label, 30)}"),
        ("Mean probability", share_in_words(after.confidence), _was(share_in_words(before.confidence)) if before else "of the answers"),
        ("Calibration error", share_in_words(after.ece), _was(share_in_words(before.ece)) if before else ""),
        ("Log loss", _loss(after), _was(_loss(before)) if before else "nats"),
        ("Brier score", share_in_words(after.brier), _was(share_in_words(before.brier)) if before else ""),
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


def _was(value: str) -> str:
    return f"{value} before calibration"


def _loss(result: ProbabilityResult) -> str:
    return "infinite" if result.log_loss is None else share_in_words(result.log_loss)


def confusion(data: ReportData) -> Markup:
    """Return the heat map, and the most frequent mistakes as a table."""
    result = data.evaluation
    shown = chosen_classes(result.per_class, MOST_CLASSES)
    mistakes = wrong_answers(result)[:CONFUSIONS_SHOWN]
    caption = "Most frequent confusions"
    rows = (
        (
            cell(class_cell(truth)),
            cell(class_cell(answer)),
            cell(f"{n:,}", "number"),
            cell(percent(n / result.per_class[truth].support), "number wide"),
        )
        for truth, answer, n in mistakes
    )
    heads = (("True class", None), ("Answer", None), ("Documents", "number"), ("Share of the class", "number wide"))
    return section(
        "confusion",
        "What is taken for what",
        note(
            "Each row is a true class, each column an answer. The share of its row makes a cell's shade: blue where right, orange where wrong."
        ),
        _left_out(result, shown),
        element(
            "figure",
            scrolling(confusion_chart(shown, result.confusion), "Confusion of classes"),
            element("figcaption", legend()),
        ),
        scrolling(table(caption, heads, rows), caption) if mistakes else NOTHING,
    )


def calibration(data: ReportData) -> Markup:
    """Return reliability diagrams before and after calibration, with their numbers."""
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


def _diagram(heading: str, series: str, result: ProbabilityResult) -> Markup:
    words = f"Reliability diagram, {heading.lower()}: calibration error {share_in_words(result.ece)}; the numbers are in the table below."
    rows = (
        (
            *(cell(text, "number") for text in (f"{part.documents:,}", percent(part.confidence), percent(part.accuracy))),
            cell(percent_bounds(part.interval), "number wide"),
        )
        for part in result.bins
        if part.documents
    )
    heads = (("Answers", "number"), ("Mean probability", "number"), ("Right", "number"), ("95\u00a0% interval", "number wide"))
    return element(
        "figure",
        element("figcaption", element("h3", heading), element("span", f"calibration error {share_in_words(result.ece)}")),
        reliability_diagram(result.bins, series, words),
        element("p", "probability of the answer →", class_="axis"),
        element("details", element("summary", "Numbers"), table(heading, heads, rows)),
    )


def classes(data: ReportData) -> Markup:
    """Return precision, recall and F1 of each class as bars."""
    result = data.evaluation
    shown = chosen_classes(result.per_class, MOST_CLASSES)
    rows = (
        (
            element("th", class_cell(label), scope="row"),
            cell(f"{found.support:,}", "number wide"),
            _measured("precision", found.precision, found.intervals["precision"]) if found.answered else _measured("precision"),
            _measured("recall", found.recall, found.intervals["recall"]) if found.support else _measured("recall"),
            _measured("F1", found.f1, found.f1_interval),
        )
        for label, found in shown.items()
    )
    heads = (("Class", None), ("Documents", "number wide"), ("Precision", None), ("Recall", None), ("F1", None))
    return section(
        "classes",
        "Class by class",
        note(
            "Precision: the share of the documents given the class that are of it. Recall: the share of its documents that were given it. "
            "F1 is their harmonic mean. Lines show 95\u00a0% intervals."
        ),
        _left_out(result, shown),
        scrolling(table("Each class, with 95\u00a0% intervals", heads, rows, kind="bars", caption_class="unseen"), "Each class"),
    )


def _measured(name: str, value: float | None = None, interval: Interval | None = None) -> Markup:
    ends = bounds(interval, ".3f")
    words = f"{name} {share_in_words(value)}" + (f", 95\u00a0% interval {ends}" if ends else "")
    numbers = (element("span", share_in_words(value), class_="value"), " ", element("span", ends, class_="bounds"))
    return element("td", element("div", *numbers), bar(value or 0.0, words, interval))


def _left_out(result: EvaluationResult, shown: Sized) -> Markup:
    n = sum(1 for of_class in result.per_class.values() if of_class.occurs) - len(shown)
    if not n:
        return NOTHING
    are_shown = f"The {quantity(len(shown), 'class')} with most documents {'is' if len(shown) == 1 else 'are'} shown"
    return note(f"{are_shown}; {quantity(n, 'class')} more {'is' if n == 1 else 'are'} left out.")


def mistakes(data: ReportData) -> Markup:
    """Return the mistakes with the most probable wrong answers, with the words that made them marked."""
    if not data.mistakes:
        return section("mistakes", "Most confident mistakes", note("There is none."))
    return section(
        "mistakes",
        "Most confident mistakes",
        note(
            "Words that spoke for the wrong answer against the true class are ",
            element("mark", "marked", class_="for"),
            ", words that spoke for the true class ",
            element("mark", "underlined", class_="against"),
            ": those that made the odds threefold or more, before calibration. Point at one for its weight in nats: 1.1 is threefold, 2.3 tenfold.",
        ),
        element("ol", *(element("li", _mistake(quoted)) for quoted in data.mistakes)),
    )


def _mistake(quoted: QuotedMistake) -> Markup:
    mistake, of_truth = quoted.mistake, quoted.probability_of_truth
    beside = "a class that the model does not know" if of_truth is None else f"probability {_probability(of_truth)}"
    head = element(
        "h3",
        class_name(mistake.truth),
        element("span", f" ({beside}) ", class_="beside"),
        "taken for ",
        class_name(mistake.answer),
        element("span", f" (probability {_probability(mistake.probability)})", class_="beside"),
    )
    terms = (
        element("li", element("span", shortened(term, 40), class_="data"), " ", element("span", nats(weight)))
        for term, weight in mistake.terms
        if weight >= AUDIBLE
    )
    return element(
        "article",
        head,
        element("p", shortened(mistake.id, 160), class_="id data"),
        element("blockquote", element("p", *(_piece(piece.text, piece.nats) for piece in quoted.excerpt), dir="auto")),
        joined([element("p", "What tipped it, in nats: ", class_="terms-head"), element("ul", *terms, class_="terms")])
        if mistake.terms
        else NOTHING,
    )


def _piece(text: str, weight: float) -> object:
    return element("mark", text, class_="for" if weight > 0 else "against", title=f"{nats(weight)} nats") if weight else text


def _probability(probability: float) -> str:
    """Return a probability that is not rounded to 0 or 1."""
    if 0 < probability < 0.0005:
        return "below\u00a00.1\u00a0%"
    return "above\u00a099.9\u00a0%" if 0.9995 <= probability < 1 else percent(probability)


def terms(data: ReportData) -> Markup:
    """Return the terms that speak most for each class."""
    cards = (_class_terms(found) for found in data.top_terms if found.terms)
    return section(
        "terms",
        "Words of each class",
        note(
            "The terms (words as the model counts them, stemmed if it stems) that tell most about each class: their part of the mutual information of "
            "term and class. Point at a bar for its value, in thousandths of a nat."
        ),
        element("div", *cards, class_="cards-of-terms"),
    )


def _class_terms(found: ClassTerms) -> Markup:
    most = max((value for _, value in found.terms), default=0.0)
    rows = (
        element(
            "li",
            element("span", shortened(term, 40), class_="data"),
            element("span", f"{1000 * value:.2f}", class_="unseen"),
            bar(max(value, 0.0) / most if most > 0 else 0.0, f"{1000 * value:.2f}"),
        )
        for term, value in found.terms
    )
    return element("div", element("h3", class_cell(found.label)), element("ol", *rows))


def learning(data: ReportData) -> Markup:
    """Return the learning curve, if there is one."""
    curve = data.learning_curve
    if curve is None:
        return NOTHING
    first, last, forecast = curve.points[0], curve.points[-1], curve.forecast.accuracy
    words = (
        f"Learning curve: accuracy goes from {percent(first.accuracy)} with {quantity(first.documents, 'document')} to "
        f"{percent(last.accuracy)} with {last.documents:,}."
    )
    drawn = "" if forecast.value is None else " The ring is a forecast, with its interval."
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
            learning_curve_chart(curve.points, words, forecast),
            element("p", "documents trained on →", class_="axis"),
            element("figcaption", element("span", "accuracy", class_="key first"), element("span", "macro F1", class_="key second")),
        ),
    )


def _forecast(curve: LearningCurve) -> str:
    forecast = curve.forecast.accuracy
    if forecast.value is None:
        return f"There is no forecast: {forecast.withheld}."
    return (
        f"With {quantity(forecast.documents, 'document')} in place of {curve.documents:,} the accuracy would be {percent(forecast.value)} "
        f"(95\u00a0% interval {percent_bounds(forecast.interval)}) in place of {percent(forecast.now)}, if the curve goes on as it went."
    )


def provenance_section(data: ReportData) -> Markup:
    """Return settings, versions and sizes."""
    tables = (
        joined((
            element("h3", heading),
            element("dl", *(element("div", element("dt", name), element("dd", value, class_="data")) for name, value in rows), class_="settings"),
        ))
        for heading, rows in data.provenance
    )  # fmt: skip
    return section("made", "How it was made", *tables)
