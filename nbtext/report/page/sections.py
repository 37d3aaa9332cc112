"""The page of `nbtext report`: summary, figures, confusion, calibration, classes, mistakes, terms, learning curve, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import plural, quantity
from nbtext.evaluation.leakage import LeakResult
from nbtext.report.comparisons import forecast_sentence
from nbtext.report.output_formats import (
    Column,
    Record,
    bounds,
    cells,
    figure,
    nats,
    percent,
    shortened,
)
from nbtext.report.page.charts import (
    MOST_CLASSES,
    bar,
    chosen_classes,
    confused_first,
    confusion_chart,
    learning_curve_chart,
    legend,
    reliability_diagram,
    risk_curve_chart,
)
from nbtext.report.page.markup import (
    NOTHING,
    Markup,
    class_cell,
    class_name,
    html,
    html_table,
    joined,
    note,
    scrolling,
    whole_page,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence, Sized

    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.evaluation.report_data import QuotedMistake, ReportData
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.inspection.terms import ClassTerms
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import (
        EvaluationResult,
        LargestClass,
        ProbabilityResult,
        ReliabilityBin,
    )

CONFUSIONS_SHOWN = 12

AUDIBLE = 0.05
"""Nats below which a term is not listed: it would be shown as 0.0."""

TRUSTWORTHY = 0.03
ROUGH = 0.1
"""Up to these calibration errors probabilities can be believed, or taken as a rough guide."""

ENOUGH_TO_JUDGE = 200
"""Documents below which chance alone makes a calibration error of several per cent."""

ENOUGH = 10
"""Documents of a class below which its recall says little."""

UNKNOWN_NAMED = 3
LONGEST_TERM = 40

WITHOUT_SCROLLING = 20
"""Classes of a heat map that fit into the width of the page on a large screen."""


INTERVAL = "95\u00a0% interval"
RISK: Sequence[Column[RiskPoint]] = (
    Column("Answered", lambda point: point.answered, "%"),
    Column("Probability from", lambda point: point.probability, ".3f"),
    Column("Precision", lambda point: point.precision, "%"),
    Column(INTERVAL, lambda point: point.interval, "%"),
)
BINS: Sequence[Column[ReliabilityBin]] = (
    Column("Answers", lambda each: each.documents, ","),
    Column("Mean probability", lambda each: each.confidence, "%"),
    Column("Right", lambda each: each.accuracy, "%"),
    Column(INTERVAL, lambda each: each.interval, "%"),
)


TERMS = (
    "The terms (words as the model counts them, stemmed if it stems) that tell most about each "
    "{0}: their part of the mutual information of "
    "term and {0}. Point at a bar for its value, in thousandths of a nat."
)


def html_page(data: ReportData) -> str:
    """Return the page; sections without content are left out."""
    kind = data.evaluation.kind
    each = f"{kind.capitalize()} by {kind}"
    classes = plural(2, kind).capitalize()
    terms = html(
        '{}<div class="cards-of-terms">{}</div>',
        note(TERMS, kind),
        (_class_terms(found) for found in data.top_terms if found.terms),
    )
    provenance = (
        html(
            '<h3>{}</h3><dl class="settings">{}</dl>',
            heading,
            (
                html('<div><dt>{}</dt><dd class="data">{}</dd></div>', name, value)
                for name, value in rows
            ),
        )
        for heading, rows in data.provenance
    )
    sections = (  # anchor, name in the contents, heading and content
        (
            "summary",
            "Summary",
            "Summary",
            joined(html("<p>{}</p>", paragraph) for paragraph in summary(data)),
        ),
        ("figures", "Figures", "Figures", _headline(data)),
        (
            "confusion",
            "Confusion",
            "What is taken for what",
            _confusion(data.evaluation) if data.evaluation.has_one_label else NOTHING,
        ),
        ("calibration", "Probabilities", "Can its probabilities be believed?", _calibration(data)),
        ("classes", classes, each, _classes(data.evaluation)),
        (
            "mistakes",
            "Mistakes",
            "Most confident mistakes",
            _mistakes(data.mistakes) if data.evaluation.has_one_label else NOTHING,
        ),
        ("terms", "Words", f"Words of each {kind}", terms),
        (
            "learning",
            "Learning",
            "Learning curve",
            NOTHING if data.learning_curve is None else _learning(data.learning_curve),
        ),
        ("made", "How made", "How it was made", joined(provenance)),
    )
    template = '<section aria-labelledby="{0}" class="{0}"><h2 id="{0}">{1}</h2>{2}</section>'
    return whole_page(
        data.title,
        [
            (anchor, name, html(template, anchor, heading, content))
            for anchor, name, heading, content in sections
            if content
        ],
    )


def _wrong_answers(result: EvaluationResult) -> list[tuple[str, str, int]]:
    """Return true class, answer and number of documents of the mistakes that are answers, the most frequent first."""
    return [mistake for mistake in result.mistakes if mistake[1]]


def summary(data: ReportData) -> list[Markup]:
    """Return the paragraphs."""
    return list(
        filter(None, (_accuracy(data), _errors(data.evaluation), _trust(data), _leaks(data)))
    )


def _accuracy(data: ReportData) -> Markup:
    result = data.evaluation
    largest = _always(result)
    interval = result.intervals["accuracy"]
    right, most = (
        ("is right on", "largest")
        if result.has_one_label
        else ("finds exactly the labels of", "most frequent")
    )
    unknown = result.unknown_labels
    unanswered = (
        sum(row.get("", 0) for row in result.confusion.values()) if result.has_one_label else 0
    )
    n = sum(result.per_class[label].support for label in unknown)
    more = f" and {len(unknown) - UNKNOWN_NAMED:,} more." if len(unknown) > UNKNOWN_NAMED else "."
    return joined(
        (
            html(
                "The model answered {} of {}. It {} <strong>{}</strong> of them (95\u00a0% "
                "interval "
                "{}). Always answering {}, the {} {} in "
                "training, would be right on {}.",
                quantity(result.n, "document"),
                _classes_judged(result),
                right,
                percent(result.accuracy),
                bounds(interval, "%"),
                class_name(largest.label),
                most,
                result.kind,
                percent(largest.accuracy),
            ),
            " So there is no sign here that the model is better than that."
            if interval[0] <= largest.accuracy
            else "",
            f" It gave no answer to {quantity(unanswered, 'document')}, which counts as wrong."
            if unanswered
            else "",
            html(
                " It cannot be right on {} of {} that it does not know: {}{}",
                quantity(n, "document"),
                plural(2, result.kind),
                joined(map(class_name, unknown[:UNKNOWN_NAMED]), ", "),
                more,
            )
            if unknown
            else "",
        )
    )


def _errors(result: EvaluationResult) -> Markup:
    if not result.has_one_label:
        return NOTHING
    mistakes = _wrong_answers(result)
    if not mistakes:
        return html("It made no mistake on these documents.")
    (truth, answer, most), n = mistakes[0], sum(mistake[2] for mistake in mistakes)
    back = result.confusion.get(answer, {}).get(truth, 0)
    begin = (
        f"Of its {n:,} mistakes, {most:,} {'takes' if most == 1 else 'take'} "
        if n > 1
        else "Its only mistake takes "
    )
    other_way = f" and {back:,} the other way round." if back else "."
    said = html("{}{} for {}{}", begin, class_name(truth), class_name(answer), other_way)
    judged = [
        entry
        for entry in result.per_class.items()
        if entry[1].support >= ENOUGH and entry[0] not in result.unknown_labels
    ]
    weakest, found = min(judged, key=lambda entry: entry[1].recall, default=("", None))
    if found is None or found.recall == 1:
        return said
    taken_for = next((answer for truth, answer, _ in mistakes if truth == weakest), None)
    return html(
        "{} The class that it recognises least is {}: it finds {} of its {}{}.",
        said,
        class_name(weakest),
        percent(found.recall),
        quantity(found.support, "document"),
        NOTHING
        if taken_for is None
        else html("; most often it takes the others for {}", class_name(taken_for)),
    )


def _trust(data: ReportData) -> Markup:
    after = data.after
    before = data.before
    result = data.evaluation
    accuracy = result.accuracy if result.has_one_label else result.figure("precision_at_1")
    return html(
        "<strong>{}</strong> On average its {} are {} probable by its own account, and {} are "
        "right. In groups of about equally probable answers, "
        "the probability differs from the share that is right by {} percentage points in the "
        "mean{}.",
        _verdict(
            result.n, after.ece or 0.0, too_sure=(after.confidence or 0.0) > (accuracy or 0.0)
        ),
        "answers" if result.has_one_label else "most probable labels",
        percent(after.confidence),
        percent(accuracy),
        f"{100 * (after.ece or 0.0):.1f}",
        f" (before calibration by {100 * (before.ece or 0.0):.1f})" if before else "",
    )


def _verdict(n: int, error: float, *, too_sure: bool) -> str:
    if n < ENOUGH_TO_JUDGE:
        return "These are too few documents to tell whether its probabilities can be believed."
    if error <= TRUSTWORTHY:
        return "Its probabilities can be believed."
    if error <= ROUGH:
        return (
            f"Its probabilities are a rough guide: {'too high' if too_sure else 'too low'} for "
            "the most part."
        )
    return (
        "Its probabilities should not be taken at their word: it is "
        f"{'surer' if too_sure else 'less sure'} than it should be."
    )


def _leaks(data: ReportData) -> Markup:
    """Return nothing if no leaks are known."""
    leaks = data.leaks
    n = data.evaluation.n
    if leaks is None or not leaks.found:
        return NOTHING
    checked, others = (n, leaks.without) if isinstance(leaks, LeakResult) else (leaks.checked, None)
    without = "."
    if others:
        interval = bounds(others.interval, "%")
        without = (
            f", word for word. Without them it is right on {percent(others.accuracy)} "
            f"(95\u00a0% interval {interval})."
        )
    return html(
        "<strong>These figures may flatter the model:</strong> {} of the {} {}stand among those "
        "that it was trained on{}",
        f"{leaks.found:,}",
        quantity(checked, "document"),
        "" if checked == n else "that could be checked ",
        without,
    )


def _always(result: EvaluationResult) -> LargestClass:
    """Return the figures of the largest class in training as every answer."""
    assert result.baselines is not None  # noqa: S101 - a model has training documents
    return result.baselines.largest_class


def _classes_judged(result: EvaluationResult) -> str:
    return quantity(
        sum(1 for of_class in result.per_class.values() if of_class.support), result.kind
    )


def _headline(data: ReportData) -> Markup:
    """Return the main figures, large."""
    result = data.evaluation
    after = data.after
    before = data.before
    largest = _always(result)

    def of_probabilities(title: str, key: str, beside: str = "") -> tuple[str, str, str]:
        value, of_scores = (
            figure(getattr(each, key, None), decimals=3) for each in (after, before)
        )
        return title, value, f"{of_scores} before calibration" if before else beside

    cards = (
        ("Documents", f"{result.n:,}", f"of {_classes_judged(result)}"),
        (
            "Accuracy",
            figure(result.accuracy, decimals=3),
            bounds(result.intervals.get("accuracy"), ".3f"),
        ),
        (
            "Macro F1",
            figure(result.macro_f1, decimals=3),
            bounds(result.intervals.get("macro_f1"), ".3f"),
        ),
        (
            "Baseline",
            f"{largest.accuracy:.3f}",
            f"accuracy of always {shortened(largest.label, 30)}",
        ),
        of_probabilities("Mean probability", "confidence", "of the answers"),
        of_probabilities("Calibration error", "ece"),
        of_probabilities("Log loss", "log_loss", "nats"),
        of_probabilities("Brier score", "brier"),
    )
    groups = (
        html(
            '<div><dt>{}</dt><dd class="value">{}</dd>{}</div>',
            name,
            value,
            html('<dd class="beside data">{}</dd>', beside) if beside else "",
        )
        for name, value, beside in cards
    )
    return html(
        '<dl class="cards">{}</dl>{}',
        groups,
        note(
            "Beneath accuracy and macro F1: 95\u00a0% intervals. Calibration error, log loss (in "
            "nats) and Brier score are the better the lower, "
            "and the mean probability the better the nearer to the {}.",
            "accuracy" if result.has_one_label else "share of most probable labels that are right",
        ),
    )


def _confusion(result: EvaluationResult) -> Markup:
    """Return the most frequent mistakes as a table, and the heat map."""
    caption = "Most frequent confusions"
    mistakes = _wrong_answers(result)
    shown = confused_first(chosen_classes(result.per_class, MOST_CLASSES), mistakes)
    heads = {
        "True class": None,
        "Answer": None,
        "Documents": "number",
        "Share of the class": "number wide",
    }
    rows = [
        (
            class_cell(truth),
            class_cell(answer),
            f"{n:,}",
            percent(n / result.per_class[truth].support),
        )
        for truth, answer, n in mistakes[:CONFUSIONS_SHOWN]
    ]
    return html(
        '{}{}{}<p class="note hint{}">Scroll the table sideways to see every answer '
        "→</p><figure>{}<figcaption>{}</figcaption></figure>",
        scrolling(html_table(caption, heads, rows), caption) if rows else NOTHING,
        note(
            "Each row is a true class, each column an answer; classes that are confused most come "
            "first. The share of its row makes a cell&#x27;s shade: "
            "blue where right, orange where wrong."
        ),
        _left_out(result, shown),
        " many" if len(shown) > WITHOUT_SCROLLING else "",
        scrolling(confusion_chart(shown, result.confusion), "Confusion of classes"),
        legend(),
    )


def _calibration(data: ReportData) -> Markup:
    """Return reliability diagrams before and after calibration, with their numbers."""
    return html(
        '{}<div class="pair">{}{}</div>{}{}',
        note(
            "Answers are grouped by their probability. Dots: the share of right answers in each "
            "group, with its 95\u00a0% interval; on the "
            "dashed line probabilities say what happens, below it the model is too sure. Columns: "
            "how many answers each group has."
        ),
        _diagram("Before calibration", "before", data.before) if data.before else NOTHING,
        _diagram(
            "After calibration" if data.before else "Probabilities as they are given",
            "after",
            data.after,
        ),
        NOTHING
        if data.before
        else note(
            "These are the probabilities of the bare scores: the model has no calibration, or one "
            "that changes nothing."
        ),
        _risk(data.risk) if data.risk else NOTHING,
    )


def _risk(points: Sequence[RiskPoint]) -> Markup:
    """Return how precise the surest answers are, by share answered."""
    first = points[0]
    last = points[-1]
    words = (
        f"Precision goes from {percent(first.precision)} of the surest "
        f"{percent(first.answered)} to {percent(last.precision)} of all answers."
    )
    chart = risk_curve_chart(points, words)
    beside = "precision of the answers, with its interval"
    return _figure(
        "If only the surest are answered", beside, chart, "share answered →", RISK, points
    )


def _figure(
    heading: str,
    beside: str,
    chart: Markup,
    axis: str,
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
) -> Markup:
    """Return a chart under its heading, with its numbers as a table to be opened."""
    heads = dict.fromkeys((column.head for column in columns), "number") | {INTERVAL: "number wide"}
    return html(
        "<figure><figcaption><h3>{}</h3><span>{}</span></figcaption>{}<p "
        'class="axis">{}</p><details><summary>Numbers</summary>{}</details></figure>',
        heading,
        beside,
        chart,
        axis,
        html_table(heading, heads, cells(columns, records)),
    )


def _diagram(heading: str, series: str, result: ProbabilityResult) -> Markup:
    error = f"calibration error {figure(result.ece, decimals=3)}"
    words = f"Reliability diagram, {heading.lower()}: {error}; the numbers are in the table below."
    chart = reliability_diagram(result.bins, series, words)
    filled = (part for part in result.bins if part.documents)
    return _figure(heading, error, chart, "probability of the answer →", BINS, filled)


def _classes(result: EvaluationResult) -> Markup:
    """Return precision, recall and F1 of each class as bars."""
    shown = chosen_classes(result.per_class, MOST_CLASSES)
    heads = {
        result.kind.capitalize(): None,
        "Documents": "number wide",
        "Precision": None,
        "Recall": None,
        "F1": None,
    }
    rows = (
        (
            class_cell(label),
            f"{found.support:,}",
            _measured("precision", found.answered, found.precision, found.intervals["precision"]),
            _measured("recall", found.support, found.recall, found.intervals["recall"]),
            _measured("F1", 1, found.f1, found.f1_interval),
        )
        for label, found in shown.items()
    )
    return html(
        "{}{}{}",
        note(
            "Precision: the share of the documents given the {0} for which it is right. Recall: "
            "the share of its documents that were given it. "
            "F1 is their harmonic mean; the {0} of least F1 comes first. Lines show 95\u00a0% "
            "intervals.",
            result.kind,
        ),
        _left_out(result, shown),
        scrolling(
            html_table(f"Each {result.kind}, with 95\u00a0% intervals", heads, rows, bars=True),
            f"Each {result.kind}",
        ),
    )


def _measured(name: str, documents: int, value: float, interval: Interval) -> Markup:
    """Return a share of so many documents, which is not known of none, as number and bar."""
    numbers = '<div><span class="value">{}</span> <span class="bounds">{}</span></div>{}'
    if not documents:
        return html(numbers, "–", "", bar(0.0, f"{name} –"))
    ends = bounds(interval, ".3f")
    return html(
        numbers,
        f"{value:.3f}",
        ends,
        bar(value, f"{name} {value:.3f}, 95\u00a0% interval {ends}", interval),
    )


def _left_out(result: EvaluationResult, shown: Sized) -> Markup:
    n = sum(1 for of_class in result.per_class.values() if of_class.occurs) - len(shown)
    if not n:
        return NOTHING
    are_shown = (
        f"The {quantity(len(shown), result.kind)} with most documents "
        f"{'is' if len(shown) == 1 else 'are'} shown"
    )
    return note(
        "{}; {} more {} left out.", are_shown, quantity(n, result.kind), "is" if n == 1 else "are"
    )


def _mistakes(mistakes: Sequence[QuotedMistake]) -> Markup:
    """Return the mistakes with the most probable wrong answers, with the words that made them marked."""
    if not mistakes:
        return note("There is none.")
    return html(
        "{}<ol>{}</ol>",
        note(
            "Words that spoke for the wrong answer against the true class are <mark "
            'class="for">marked</mark>, words that spoke for the true class '
            '<mark class="against">underlined</mark>: those that made the odds threefold or more, '
            "before calibration. Point at one for its weight in nats: "
            "1.1 is threefold, 2.3 tenfold."
        ),
        (html("<li>{}</li>", _mistake(quoted)) for quoted in mistakes),
    )


def _mistake(quoted: QuotedMistake) -> Markup:
    mistake = quoted.mistake
    of_truth = quoted.probability_of_truth
    terms = (
        html(
            '<li><span class="data">{}</span> <span>{}</span></li>',
            shortened(term, LONGEST_TERM),
            nats(weight),
        )
        for term, weight in mistake.terms
        if weight >= AUDIBLE
    )
    return html(
        '<article><h3>{}<span class="beside"> ({}) </span>taken for {}<span class="beside"> '
        '(probability {})</span></h3><p class="id data">{}</p>'
        '<blockquote><p dir="auto">{}</p></blockquote>{}</article>',
        class_name(mistake.truth),
        "a class that the model does not know"
        if of_truth is None
        else f"probability {_probability(of_truth)}",
        class_name(mistake.answer),
        _probability(mistake.probability),
        shortened(mistake.id, 160),
        (_piece(piece.text, piece.nats) for piece in quoted.excerpt),
        html('<p class="terms-head">What tipped it, in nats: </p><ul class="terms">{}</ul>', terms)
        if mistake.terms
        else NOTHING,
    )


def _piece(text: str, weight: float) -> object:
    return (
        html(
            '<mark class="{}" title="{} nats">{}</mark>',
            "for" if weight > 0 else "against",
            nats(weight),
            text,
        )
        if weight
        else text
    )


def _probability(probability: float) -> str:
    """Return a probability that is not rounded to 0 or 1."""
    if 0 < probability < 0.0005:
        return "below\u00a00.1\u00a0%"
    return "above\u00a099.9\u00a0%" if 0.9995 <= probability < 1 else percent(probability)


def _class_terms(found: ClassTerms) -> Markup:
    most = max(value for _, value in found.terms)
    rows = (
        html(
            '<li><span class="data">{0}</span><span class="unseen">{1}</span>{2}</li>',
            shortened(term, LONGEST_TERM),
            f"{1000 * value:.2f}",
            bar(max(value, 0.0) / most if most > 0 else 0.0, f"{1000 * value:.2f}"),
        )
        for term, value in found.terms
    )
    return html("<div><h3>{}</h3><ol>{}</ol></div>", class_cell(found.label), rows)


def _learning(curve: LearningCurve) -> Markup:
    """Return what more documents would bring, and the learning curve."""
    first = curve.points[0]
    last = curve.points[-1]
    forecast = curve.forecast.accuracy
    words = (
        f"Learning curve: accuracy goes from {percent(first.accuracy)} with "
        f"{quantity(first.documents, 'document')} to "
        f"{percent(last.accuracy)} with {last.documents:,}."
    )
    return html(
        '<p>{}</p>{}<figure>{}<p class="axis">documents trained on →</p><figcaption><span '
        'class="key first">accuracy</span><span class="key second">macro F1'
        '</span><span class="key third">accuracy on the training documents '
        "themselves</span></figcaption></figure>",
        forecast_sentence(curve.documents, forecast),
        note(
            "Models of parts of the training corpus, each judged on documents of that corpus held "
            "out from it; means of {}. 95\u00a0% of the runs lie in the "
            "band.{} Where the model is far better on the documents that it was trained on, it "
            "overfits.",
            quantity(curve.runs, "run"),
            "" if forecast.value is None else " The ring is a forecast, with its interval.",
        ),
        learning_curve_chart(curve.points, words, forecast),
    )
