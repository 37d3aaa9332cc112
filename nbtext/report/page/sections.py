"""The page of `nbtext report`: summary, figures, confusion, calibration, classes, mistakes, terms, learning curve, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import quantity
from nbtext.evaluation.leakage import LeakResult
from nbtext.report.forms import shortened
from nbtext.report.numbers import bounds, nats, percent, percent_bounds, three_decimals
from nbtext.report.page.charts import (
    MOST_CLASSES,
    bar,
    chosen_classes,
    confused_first,
    confusion_chart,
    density_strip,
    learning_curve_chart,
    legend,
    reliability_diagram,
    risk_curve_chart,
)
from nbtext.report.page.markup import (
    NOTHING,
    class_cell,
    class_name,
    element,
    joined,
    note,
    preformatted,
    scrolling,
    section,
    table,
    whole_page,
)
from nbtext.report.rankings import densities

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from nbtext.evaluation.gathering import QuotedMistake, ReportData
    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.inspection.terms import ClassTerms, TermDetails
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import EvaluationResult, LargestClass, ProbabilityResult
    from nbtext.promises.precision import RiskPoint
    from nbtext.report.page.markup import Heads, Markup

    Content = Sequence[object]

CONFUSIONS_SHOWN = 12

AUDIBLE = 0.05
"""Nats below which a term is not listed: it would be shown as 0.0."""

TRUSTWORTHY, ROUGH = 0.03, 0.1
"""Up to these calibration errors probabilities can be believed, or taken as a rough guide."""

ENOUGH_TO_JUDGE = 200
"""Documents below which chance alone makes a calibration error of several per cent."""

ENOUGH = 10
"""Documents of a class below which its recall says little."""

UNKNOWN_NAMED = 3
LONGEST_TERM = 40

WITHOUT_SCROLLING = 20
"""Classes of a heat map that fit into the width of the page on a large screen."""

MOST_DENSITIES, DENSITY_STEPS = 20, 100


def html_page(data: ReportData) -> str:
    """Return the page; sections without content are left out."""
    parts = [(anchor, name, section(anchor, heading, *content)) for anchor, name, heading, content in _sections(data) if content]
    return whole_page(data.title, parts)


def _sections(data: ReportData) -> Sequence[tuple[str, str, str, Content]]:
    """Return anchor, name in the contents, heading and content of each section."""
    return (
        ("summary", "Summary", "Summary", [element("p", paragraph) for paragraph in summary(data)]),
        ("figures", "Figures", "Figures", _headline(data)),
        ("confusion", "Confusion", "What is taken for what", _confusion(data.evaluation)),
        ("calibration", "Probabilities", "Can its probabilities be believed?", _calibration(data)),
        ("classes", "Classes", "Class by class", _classes(data.evaluation)),
        ("mistakes", "Mistakes", "Most confident mistakes", _mistakes(data.mistakes)),
        ("terms", "Words", "Words of each class", (*_terms(data.top_terms), *_telling(data.telling))),
        ("learning", "Learning", "Learning curve", () if data.learning_curve is None else _learning(data.learning_curve)),
        ("made", "How made", "How it was made", _provenance(data)),
        ("card", "Model card", "Model card", [scrolling(preformatted(data.card), "Model card")] if data.card else ()),
    )


def wrong_answers(result: EvaluationResult) -> list[tuple[str, str, int]]:
    """Return true class, answer and number of documents of the mistakes that are answers, the most frequent first."""
    return [mistake for mistake in result.mistakes if mistake[1]]


def summary(data: ReportData) -> list[Markup]:
    """Return the paragraphs."""
    return [joined(parts) for parts in (_accuracy(data), _errors(data.evaluation), _trust(data), _leaks(data)) if parts]


def _accuracy(data: ReportData) -> list[object]:
    result = data.evaluation
    largest, interval = _always(result), result.intervals["accuracy"]
    parts: list[object] = [
        f"The model answered {quantity(result.n, 'document')} of {_classes_judged(result)}. It is right on ",
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


def _errors(result: EvaluationResult) -> list[object]:
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
        taken_for = next((answer for truth, answer, _ in mistakes if truth == weakest), None)
        parts.append(f"{percent(found.recall)} of its {quantity(found.support, 'document')}")
        parts += ["."] if taken_for is None else ["; most often it takes the others for ", class_name(taken_for), "."]
    return parts


def _trust(data: ReportData) -> list[object]:
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


def _always(result: EvaluationResult) -> LargestClass:
    """Return the figures of the largest class in training as every answer."""
    assert result.baselines is not None  # noqa: S101 - a model has training documents
    return result.baselines.largest_class


def _classes_judged(result: EvaluationResult) -> str:
    return quantity(sum(1 for of_class in result.per_class.values() if of_class.support), "class")


def _headline(data: ReportData) -> Content:
    """Return the main figures, large."""
    result, after, before = data.evaluation, data.after, data.before
    largest = _always(result)
    cards = (
        ("Documents", f"{result.n:,}", f"of {_classes_judged(result)}"),
        ("Accuracy", three_decimals(result.accuracy), bounds(result.intervals.get("accuracy"), ".3f")),
        ("Macro F1", three_decimals(result.macro_f1), bounds(result.intervals.get("macro_f1"), ".3f")),
        ("Baseline", three_decimals(largest.accuracy), f"accuracy of always {shortened(largest.label, 30)}"),
        ("Mean probability", three_decimals(after.confidence), _was(three_decimals(before.confidence)) if before else "of the answers"),
        ("Calibration error", three_decimals(after.ece), _was(three_decimals(before.ece)) if before else ""),
        ("Log loss", _loss(after), _was(_loss(before)) if before else "nats"),
        ("Brier score", three_decimals(after.brier), _was(three_decimals(before.brier)) if before else ""),
    )
    groups = (
        (element("dt", name), element("dd", value, class_="value"), element("dd", beside, class_="beside data") if beside else NOTHING)
        for name, value, beside in cards
    )
    return (
        element("dl", *(element("div", *group) for group in groups), class_="cards"),
        note(
            "Beneath accuracy and macro F1: 95\u00a0% intervals. Calibration error, log loss (in nats) and Brier score are the better the lower, "
            "and the mean probability the better the nearer to the accuracy."
        ),
    )


def _was(value: str) -> str:
    return f"{value} before calibration"


def _loss(result: ProbabilityResult) -> str:
    return "infinite" if result.log_loss is None else three_decimals(result.log_loss)


def _confusion(result: EvaluationResult) -> Content:
    """Return the most frequent mistakes as a table, and the heat map."""
    caption, mistakes = "Most frequent confusions", wrong_answers(result)
    shown = confused_first(chosen_classes(result.per_class, MOST_CLASSES), mistakes)
    heads: Heads = (("True class", None), ("Answer", None), ("Documents", "number"), ("Share of the class", "number wide"))
    rows = [
        (class_cell(truth), class_cell(answer), f"{n:,}", percent(n / result.per_class[truth].support))
        for truth, answer, n in mistakes[:CONFUSIONS_SHOWN]
    ]
    map_of_classes = scrolling(confusion_chart(shown, result.confusion), "Confusion of classes")
    return (
        scrolling(table(caption, heads, rows), caption) if rows else NOTHING,
        note(
            "Each row is a true class, each column an answer; classes that are confused most come first. The share of its row makes a cell's shade: "
            "blue where right, orange where wrong."
        ),
        _left_out(result, shown),
        element(
            "p", "Scroll the table sideways to see every answer →", class_=f"note hint{' many' if len(shown) > WITHOUT_SCROLLING else ''}"
        ),
        element("figure", map_of_classes, element("figcaption", legend())),
    )


def _calibration(data: ReportData) -> Content:
    """Return reliability diagrams before and after calibration, with their numbers."""
    diagrams = [("Probabilities as they are given", "after", data.after)]
    if data.before:
        diagrams = [("Before calibration", "before", data.before), ("After calibration", "after", data.after)]
    return (
        note(
            "Answers are grouped by their probability. Dots: the share of right answers in each group, with its 95\u00a0% interval; on the "
            "dashed line probabilities say what happens, below it the model is too sure. Columns: how many answers each group has."
        ),
        element("div", *(_diagram(*diagram) for diagram in diagrams), class_="pair"),
        NOTHING
        if data.before
        else note("These are the probabilities of the bare scores: the model has no calibration, or one that changes nothing."),
        _risk(data.risk) if data.risk else NOTHING,
    )


def _risk(points: Sequence[RiskPoint]) -> Markup:
    """Return how precise the surest answers are, by share answered."""
    first, last = points[0], points[-1]
    words = f"Precision goes from {percent(first.precision)} of the surest {percent(first.answered)} to {percent(last.precision)} of all answers."
    heads: Heads = (("Answered", "number"), ("Probability from", "number"), ("Precision", "number"), ("95\u00a0% interval", "number wide"))
    rows = [
        (percent(point.answered), three_decimals(point.probability), percent(point.precision), percent_bounds(point.interval))
        for point in points
    ]
    return element(
        "figure",
        element(
            "figcaption", element("h3", "If only the surest are answered"), element("span", "precision of the answers, with its interval")
        ),
        risk_curve_chart(points, words),
        element("p", "share answered →", class_="axis"),
        element("details", element("summary", "Numbers"), table("If only the surest are answered", heads, rows)),
    )


def _diagram(heading: str, series: str, result: ProbabilityResult) -> Markup:
    error = f"calibration error {three_decimals(result.ece)}"
    words = f"Reliability diagram, {heading.lower()}: {error}; the numbers are in the table below."
    heads: Heads = (("Answers", "number"), ("Mean probability", "number"), ("Right", "number"), ("95\u00a0% interval", "number wide"))
    rows = [
        (f"{part.documents:,}", percent(part.confidence), percent(part.accuracy), percent_bounds(part.interval))
        for part in result.bins
        if part.documents
    ]
    return element(
        "figure",
        element("figcaption", element("h3", heading), element("span", error)),
        reliability_diagram(result.bins, series, words),
        element("p", "probability of the answer →", class_="axis"),
        element("details", element("summary", "Numbers"), table(heading, heads, rows)),
    )


def _classes(result: EvaluationResult) -> Content:
    """Return precision, recall and F1 of each class as bars."""
    shown = chosen_classes(result.per_class, MOST_CLASSES)
    heads: Heads = (("Class", None), ("Documents", "number wide"), ("Precision", None), ("Recall", None), ("F1", None))
    rows = (
        (
            class_cell(label),
            f"{found.support:,}",
            _measured("precision", found.precision, found.intervals["precision"]) if found.answered else _measured("precision"),
            _measured("recall", found.recall, found.intervals["recall"]) if found.support else _measured("recall"),
            _measured("F1", found.f1, found.f1_interval),
        )
        for label, found in shown.items()
    )
    drawn = table("Each class, with 95\u00a0% intervals", heads, rows, kind="bars", caption_class="unseen", names=True)
    return (
        note(
            "Precision: the share of the documents given the class that are of it. Recall: the share of its documents that were given it. "
            "F1 is their harmonic mean; the class of least F1 comes first. Lines show 95\u00a0% intervals."
        ),
        _left_out(result, shown),
        scrolling(drawn, "Each class"),
    )


def _measured(name: str, value: float | None = None, interval: Interval | None = None) -> Markup:
    ends = bounds(interval, ".3f")
    words = f"{name} {three_decimals(value)}" + (f", 95\u00a0% interval {ends}" if ends else "")
    numbers = (element("span", three_decimals(value), class_="value"), " ", element("span", ends, class_="bounds"))
    return joined((element("div", *numbers), bar(value or 0.0, words, interval)))


def _left_out(result: EvaluationResult, shown: Sized) -> Markup:
    n = sum(1 for of_class in result.per_class.values() if of_class.occurs) - len(shown)
    if not n:
        return NOTHING
    are_shown = f"The {quantity(len(shown), 'class')} with most documents {'is' if len(shown) == 1 else 'are'} shown"
    return note(f"{are_shown}; {quantity(n, 'class')} more {'is' if n == 1 else 'are'} left out.")


def _mistakes(mistakes: Sequence[QuotedMistake]) -> Content:
    """Return the mistakes with the most probable wrong answers, with the words that made them marked."""
    if not mistakes:
        return (note("There is none."),)
    return (
        note(
            "Words that spoke for the wrong answer against the true class are ",
            element("mark", "marked", class_="for"),
            ", words that spoke for the true class ",
            element("mark", "underlined", class_="against"),
            ": those that made the odds threefold or more, before calibration. Point at one for its weight in nats: 1.1 is threefold, 2.3 tenfold.",
        ),
        element("ol", *(element("li", _mistake(quoted)) for quoted in mistakes)),
    )


def _mistake(quoted: QuotedMistake) -> Markup:
    mistake, of_truth = quoted.mistake, quoted.probability_of_truth
    beside = "a class that the model does not know" if of_truth is None else f"probability {_probability(of_truth)}"
    head = (
        class_name(mistake.truth),
        element("span", f" ({beside}) ", class_="beside"),
        "taken for ",
        class_name(mistake.answer),
        element("span", f" (probability {_probability(mistake.probability)})", class_="beside"),
    )
    terms = (
        element("li", element("span", shortened(term, LONGEST_TERM), class_="data"), " ", element("span", nats(weight)))
        for term, weight in mistake.terms
        if weight >= AUDIBLE
    )
    tipped = (
        (element("p", "What tipped it, in nats: ", class_="terms-head"), element("ul", *terms, class_="terms")) if mistake.terms else ()
    )
    return element(
        "article",
        element("h3", *head),
        element("p", shortened(mistake.id, 160), class_="id data"),
        element("blockquote", element("p", *(_piece(piece.text, piece.nats) for piece in quoted.excerpt), dir="auto")),
        *tipped,
    )


def _piece(text: str, weight: float) -> object:
    return element("mark", text, class_="for" if weight > 0 else "against", title=f"{nats(weight)} nats") if weight else text


def _probability(probability: float) -> str:
    """Return a probability that is not rounded to 0 or 1."""
    if 0 < probability < 0.0005:
        return "below\u00a00.1\u00a0%"
    return "above\u00a099.9\u00a0%" if 0.9995 <= probability < 1 else percent(probability)


def _terms(classes: Sequence[ClassTerms]) -> Content:
    """Return the terms that speak most for each class."""
    return (
        note(
            "The terms (words as the model counts them, stemmed if it stems) that tell most about each class: their part of the mutual information of "
            "term and class. Point at a bar for its value, in thousandths of a nat."
        ),
        element("div", *(_class_terms(found) for found in classes if found.terms), class_="cards-of-terms"),
    )


def _class_terms(found: ClassTerms) -> Markup:
    most = max(value for _, value in found.terms)
    rows = (
        (
            element("span", shortened(term, LONGEST_TERM), class_="data"),
            element("span", f"{1000 * value:.2f}", class_="unseen"),
            bar(max(value, 0.0) / most if most > 0 else 0.0, f"{1000 * value:.2f}"),
        )
        for term, value in found.terms
    )
    return element("div", element("h3", class_cell(found.label)), element("ol", *(element("li", *row) for row in rows)))


def _telling(terms: Sequence[TermDetails]) -> Content:
    """Return the terms that tell most with the posterior density of their probability in each class."""
    drawn = [_densities(term) for term in terms if densities(term, MOST_DENSITIES).classes]
    if not drawn:
        return ()
    return (
        element("h3", "How probable, and how surely"),
        note(
            "The terms that tell most of all, and what is known of their probability in each class: its estimate, and the density of its posterior, "
            "each class on its own scale. The narrower, the surer."
        ),
        *drawn,
    )


def _densities(term: TermDetails) -> Markup:
    found = densities(term, MOST_DENSITIES)
    end = f"Density, 0 to {found.end:.3g}"
    heads: Heads = (("Class", None), ("Count", "number"), ("Probability", "number"), (end, "density"))
    rows = (
        (
            class_cell(label),
            f"{term.classes[label].count:,}",
            f"{term.classes[label].probability:.3g}",
            density_strip(found.shares(label, DENSITY_STEPS), f"95\u00a0% interval {bounds(term.classes[label].interval, '.3g')}"),
        )
        for label in found.classes
    )
    name = shortened(term.term, LONGEST_TERM)
    return scrolling(table(name, heads, rows, names=True), f"probability of {name}")


def _learning(curve: LearningCurve) -> Content:
    """Return what more documents would bring, and the learning curve."""
    first, last, forecast = curve.points[0], curve.points[-1], curve.forecast.accuracy
    expected = (
        f"There is no forecast: {forecast.withheld}."
        if forecast.value is None
        else f"With {quantity(forecast.documents, 'document')} in place of {curve.documents:,} the accuracy would be {percent(forecast.value)} "
        f"(95\u00a0% interval {percent_bounds(forecast.interval)}) in place of {percent(forecast.now)}, if the curve goes on as it went."
    )
    words = (
        f"Learning curve: accuracy goes from {percent(first.accuracy)} with {quantity(first.documents, 'document')} to "
        f"{percent(last.accuracy)} with {last.documents:,}."
    )
    ring = "" if forecast.value is None else " The ring is a forecast, with its interval."
    return (
        element("p", expected),
        note(
            f"Models of parts of the training corpus, each judged on documents of that corpus held out from it; means of {quantity(curve.runs, 'run')}. "
            f"95\u00a0% of the runs lie in the band.{ring} Where the model is far better on the documents that it was trained on, it overfits."
        ),
        element(
            "figure",
            learning_curve_chart(curve.points, words, forecast),
            element("p", "documents trained on →", class_="axis"),
            element(
                "figcaption",
                element("span", "accuracy", class_="key first"),
                element("span", "macro F1", class_="key second"),
                element("span", "accuracy on the training documents themselves", class_="key third"),
            ),
        ),
    )


def _provenance(data: ReportData) -> Content:
    """Return settings, versions and sizes."""
    return [
        part
        for heading, rows in data.provenance
        for part in (
            element("h3", heading),
            element(
                "dl", *(element("div", element("dt", name), element("dd", value, class_="data")) for name, value in rows), class_="settings"
            ),
        )
    ]
