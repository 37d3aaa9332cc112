"""The page of `nbtext report`: summary, figures, confusion, calibration, classes, mistakes, terms, learning curve, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.errors import format_quantity, pluralize
from nbtext.evaluation.leakage import LeakResult
from nbtext.report.comparisons import describe_forecast
from nbtext.report.output_formats import (
    Column,
    Record,
    format_cells,
    format_interval,
    format_nats,
    format_number,
    format_percent,
    shorten_middle,
)
from nbtext.report.page.charts import (
    MAX_HEATMAP_CLASSES,
    draw_bar,
    draw_confusion_table,
    draw_learning_curve,
    draw_legend,
    draw_reliability_diagram,
    draw_risk_curve,
    select_classes,
    sort_by_confusion,
)
from nbtext.report.page.markup import (
    NO_MARKUP,
    Markup,
    build_page,
    format_class_cell,
    format_class_name,
    format_html,
    format_html_table,
    format_note,
    join_markup,
    make_scrollable,
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


def build_report_page(data: ReportData) -> str:
    """Return the page; sections without content are left out."""
    kind = data.evaluation.kind
    each = f"{kind.capitalize()} by {kind}"
    classes = pluralize(2, kind).capitalize()
    terms = format_html(
        '{}<div class="cards-of-terms">{}</div>',
        format_note(TERMS, kind),
        (_class_terms(found) for found in data.top_terms if found.terms),
    )
    provenance = (
        format_html(
            '<h3>{}</h3><dl class="settings">{}</dl>',
            heading,
            (
                format_html('<div><dt>{}</dt><dd class="data">{}</dd></div>', name, value)
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
            join_markup(
                format_html("<p>{}</p>", paragraph) for paragraph in summarize_report(data)
            ),
        ),
        ("figures", "Figures", "Figures", _headline(data)),
        (
            "confusion",
            "Confusion",
            "What is taken for what",
            _confusion(data.evaluation) if data.evaluation.has_one_label else NO_MARKUP,
        ),
        ("calibration", "Probabilities", "Can its probabilities be believed?", _calibration(data)),
        ("classes", classes, each, _classes(data.evaluation)),
        (
            "mistakes",
            "Mistakes",
            "Most confident mistakes",
            _mistakes(data.mistakes) if data.evaluation.has_one_label else NO_MARKUP,
        ),
        ("terms", "Words", f"Words of each {kind}", terms),
        (
            "learning",
            "Learning",
            "Learning curve",
            NO_MARKUP if data.learning_curve is None else _learning(data.learning_curve),
        ),
        ("made", "How made", "How it was made", join_markup(provenance)),
    )
    template = '<section aria-labelledby="{0}" class="{0}"><h2 id="{0}">{1}</h2>{2}</section>'
    return build_page(
        data.title,
        [
            (anchor, name, format_html(template, anchor, heading, content))
            for anchor, name, heading, content in sections
            if content
        ],
    )


def _wrong_answers(result: EvaluationResult) -> list[tuple[str, str, int]]:
    """Return true class, answer and number of documents of the mistakes that are answers, the most frequent first."""
    return [mistake for mistake in result.mistakes if mistake[1]]


def summarize_report(data: ReportData) -> list[Markup]:
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
    return join_markup(
        (
            format_html(
                "The model answered {} of {}. It {} <strong>{}</strong> of them (95\u00a0% "
                "interval "
                "{}). Always answering {}, the {} {} in "
                "training, would be right on {}.",
                format_quantity(result.n, "document"),
                _classes_judged(result),
                right,
                format_percent(result.accuracy),
                format_interval(interval, "%"),
                format_class_name(largest.label),
                most,
                result.kind,
                format_percent(largest.accuracy),
            ),
            " So there is no sign here that the model is better than that."
            if interval[0] <= largest.accuracy
            else "",
            f" It gave no answer to {format_quantity(unanswered, 'document')}, which counts as wrong."
            if unanswered
            else "",
            format_html(
                " It cannot be right on {} of {} that it does not know: {}{}",
                format_quantity(n, "document"),
                pluralize(2, result.kind),
                join_markup(map(format_class_name, unknown[:UNKNOWN_NAMED]), ", "),
                more,
            )
            if unknown
            else "",
        )
    )


def _errors(result: EvaluationResult) -> Markup:
    if not result.has_one_label:
        return NO_MARKUP
    mistakes = _wrong_answers(result)
    if not mistakes:
        return format_html("It made no mistake on these documents.")
    (truth, answer, most), n = mistakes[0], sum(mistake[2] for mistake in mistakes)
    back = result.confusion.get(answer, {}).get(truth, 0)
    begin = (
        f"Of its {n:,} mistakes, {most:,} {'takes' if most == 1 else 'take'} "
        if n > 1
        else "Its only mistake takes "
    )
    other_way = f" and {back:,} the other way round." if back else "."
    said = format_html(
        "{}{} for {}{}", begin, format_class_name(truth), format_class_name(answer), other_way
    )
    judged = [
        entry
        for entry in result.per_class.items()
        if entry[1].support >= ENOUGH and entry[0] not in result.unknown_labels
    ]
    weakest, found = min(judged, key=lambda entry: entry[1].recall, default=("", None))
    if found is None or found.recall == 1:
        return said
    taken_for = next((answer for truth, answer, _ in mistakes if truth == weakest), None)
    return format_html(
        "{} The class that it recognises least is {}: it finds {} of its {}{}.",
        said,
        format_class_name(weakest),
        format_percent(found.recall),
        format_quantity(found.support, "document"),
        NO_MARKUP
        if taken_for is None
        else format_html("; most often it takes the others for {}", format_class_name(taken_for)),
    )


def _trust(data: ReportData) -> Markup:
    after = data.calibrated
    before = data.uncalibrated
    result = data.evaluation
    accuracy = result.accuracy if result.has_one_label else result.get_metric("precision_at_1")
    return format_html(
        "<strong>{}</strong> On average its {} are {} probable by its own account, and {} are "
        "right. In groups of about equally probable answers, "
        "the probability differs from the share that is right by {} percentage points in the "
        "mean{}.",
        _verdict(
            result.n, after.ece or 0.0, too_sure=(after.confidence or 0.0) > (accuracy or 0.0)
        ),
        "answers" if result.has_one_label else "most probable labels",
        format_percent(after.confidence),
        format_percent(accuracy),
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
        return NO_MARKUP
    checked, others = (n, leaks.without) if isinstance(leaks, LeakResult) else (leaks.checked, None)
    without = "."
    if others:
        interval = format_interval(others.interval, "%")
        without = (
            f", word for word. Without them it is right on {format_percent(others.accuracy)} "
            f"(95\u00a0% interval {interval})."
        )
    return format_html(
        "<strong>These figures may flatter the model:</strong> {} of the {} {}stand among those "
        "that it was trained on{}",
        f"{leaks.found:,}",
        format_quantity(checked, "document"),
        "" if checked == n else "that could be checked ",
        without,
    )


def _always(result: EvaluationResult) -> LargestClass:
    """Return the figures of the largest class in training as every answer."""
    assert result.baselines is not None  # noqa: S101 - a model has training documents
    return result.baselines.largest_class


def _classes_judged(result: EvaluationResult) -> str:
    return format_quantity(
        sum(1 for of_class in result.per_class.values() if of_class.support), result.kind
    )


def _headline(data: ReportData) -> Markup:
    """Return the main figures, large."""
    result = data.evaluation
    after = data.calibrated
    before = data.uncalibrated
    largest = _always(result)

    def of_probabilities(title: str, key: str, beside: str = "") -> tuple[str, str, str]:
        value, of_scores = (
            format_number(getattr(each, key, None), decimals=3) for each in (after, before)
        )
        return title, value, f"{of_scores} before calibration" if before else beside

    cards = (
        ("Documents", f"{result.n:,}", f"of {_classes_judged(result)}"),
        (
            "Accuracy",
            format_number(result.accuracy, decimals=3),
            format_interval(result.intervals.get("accuracy"), ".3f"),
        ),
        (
            "Macro F1",
            format_number(result.macro_f1, decimals=3),
            format_interval(result.intervals.get("macro_f1"), ".3f"),
        ),
        (
            "Baseline",
            f"{largest.accuracy:.3f}",
            f"accuracy of always {shorten_middle(largest.label, 30)}",
        ),
        of_probabilities("Mean probability", "confidence", "of the answers"),
        of_probabilities("Calibration error", "ece"),
        of_probabilities("Log loss", "log_loss", "nats"),
        of_probabilities("Brier score", "brier"),
    )
    groups = (
        format_html(
            '<div><dt>{}</dt><dd class="value">{}</dd>{}</div>',
            name,
            value,
            format_html('<dd class="beside data">{}</dd>', beside) if beside else "",
        )
        for name, value, beside in cards
    )
    return format_html(
        '<dl class="cards">{}</dl>{}',
        groups,
        format_note(
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
    shown = sort_by_confusion(select_classes(result.per_class, MAX_HEATMAP_CLASSES), mistakes)
    heads = {
        "True class": None,
        "Answer": None,
        "Documents": "number",
        "Share of the class": "number wide",
    }
    rows = [
        (
            format_class_cell(truth),
            format_class_cell(answer),
            f"{n:,}",
            format_percent(n / result.per_class[truth].support),
        )
        for truth, answer, n in mistakes[:CONFUSIONS_SHOWN]
    ]
    return format_html(
        '{}{}{}<p class="note hint{}">Scroll the table sideways to see every answer '
        "→</p><figure>{}<figcaption>{}</figcaption></figure>",
        make_scrollable(format_html_table(caption, heads, rows), caption) if rows else NO_MARKUP,
        format_note(
            "Each row is a true class, each column an answer; classes that are confused most come "
            "first. The share of its row makes a cell&#x27;s shade: "
            "blue where right, orange where wrong."
        ),
        _left_out(result, shown),
        " many" if len(shown) > WITHOUT_SCROLLING else "",
        make_scrollable(draw_confusion_table(shown, result.confusion), "Confusion of classes"),
        draw_legend(),
    )


def _calibration(data: ReportData) -> Markup:
    """Return reliability diagrams before and after calibration, with their numbers."""
    return format_html(
        '{}<div class="pair">{}{}</div>{}{}',
        format_note(
            "Answers are grouped by their probability. Dots: the share of right answers in each "
            "group, with its 95\u00a0% interval; on the "
            "dashed line probabilities say what happens, below it the model is too sure. Columns: "
            "how many answers each group has."
        ),
        _diagram("Before calibration", "before", data.uncalibrated)
        if data.uncalibrated
        else NO_MARKUP,
        _diagram(
            "After calibration" if data.uncalibrated else "Probabilities as they are given",
            "after",
            data.calibrated,
        ),
        NO_MARKUP
        if data.uncalibrated
        else format_note(
            "These are the probabilities of the bare scores: the model has no calibration, or one "
            "that changes nothing."
        ),
        _risk(data.risk_curve) if data.risk_curve else NO_MARKUP,
    )


def _risk(points: Sequence[RiskPoint]) -> Markup:
    """Return how precise the surest answers are, by share answered."""
    first = points[0]
    last = points[-1]
    words = (
        f"Precision goes from {format_percent(first.precision)} of the surest "
        f"{format_percent(first.answered)} to {format_percent(last.precision)} of all answers."
    )
    chart = draw_risk_curve(points, words)
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
    heads = dict.fromkeys((column.heading for column in columns), "number") | {
        INTERVAL: "number wide"
    }
    return format_html(
        "<figure><figcaption><h3>{}</h3><span>{}</span></figcaption>{}<p "
        'class="axis">{}</p><details><summary>Numbers</summary>{}</details></figure>',
        heading,
        beside,
        chart,
        axis,
        format_html_table(heading, heads, format_cells(columns, records)),
    )


def _diagram(heading: str, series: str, result: ProbabilityResult) -> Markup:
    error = f"calibration error {format_number(result.ece, decimals=3)}"
    words = f"Reliability diagram, {heading.lower()}: {error}; the numbers are in the table below."
    chart = draw_reliability_diagram(result.bins, series, words)
    filled = (part for part in result.bins if part.documents)
    return _figure(heading, error, chart, "probability of the answer →", BINS, filled)


def _classes(result: EvaluationResult) -> Markup:
    """Return precision, recall and F1 of each class as bars."""
    shown = select_classes(result.per_class, MAX_HEATMAP_CLASSES)
    heads = {
        result.kind.capitalize(): None,
        "Documents": "number wide",
        "Precision": None,
        "Recall": None,
        "F1": None,
    }
    rows = (
        (
            format_class_cell(label),
            f"{found.support:,}",
            _measured("precision", found.answered, found.precision, found.intervals["precision"]),
            _measured("recall", found.support, found.recall, found.intervals["recall"]),
            _measured("F1", 1, found.f1, found.f1_interval),
        )
        for label, found in shown.items()
    )
    return format_html(
        "{}{}{}",
        format_note(
            "Precision: the share of the documents given the {0} for which it is right. Recall: "
            "the share of its documents that were given it. "
            "F1 is their harmonic mean; the {0} of least F1 comes first. Lines show 95\u00a0% "
            "intervals.",
            result.kind,
        ),
        _left_out(result, shown),
        make_scrollable(
            format_html_table(
                f"Each {result.kind}, with 95\u00a0% intervals", heads, rows, bars=True
            ),
            f"Each {result.kind}",
        ),
    )


def _measured(name: str, documents: int, value: float, interval: Interval) -> Markup:
    """Return a share of so many documents, which is not known of none, as number and bar."""
    numbers = '<div><span class="value">{}</span> <span class="bounds">{}</span></div>{}'
    if not documents:
        return format_html(numbers, "–", "", draw_bar(0.0, f"{name} –"))
    ends = format_interval(interval, ".3f")
    return format_html(
        numbers,
        f"{value:.3f}",
        ends,
        draw_bar(value, f"{name} {value:.3f}, 95\u00a0% interval {ends}", interval),
    )


def _left_out(result: EvaluationResult, shown: Sized) -> Markup:
    n = sum(1 for of_class in result.per_class.values() if of_class.occurs) - len(shown)
    if not n:
        return NO_MARKUP
    are_shown = (
        f"The {format_quantity(len(shown), result.kind)} with most documents "
        f"{'is' if len(shown) == 1 else 'are'} shown"
    )
    return format_note(
        "{}; {} more {} left out.",
        are_shown,
        format_quantity(n, result.kind),
        "is" if n == 1 else "are",
    )


def _mistakes(mistakes: Sequence[QuotedMistake]) -> Markup:
    """Return the mistakes with the most probable wrong answers, with the words that made them marked."""
    if not mistakes:
        return format_note("There is none.")
    return format_html(
        "{}<ol>{}</ol>",
        format_note(
            "Words that spoke for the wrong answer against the true class are <mark "
            'class="for">marked</mark>, words that spoke for the true class '
            '<mark class="against">underlined</mark>: those that made the odds threefold or more, '
            "before calibration. Point at one for its weight in nats: "
            "1.1 is threefold, 2.3 tenfold."
        ),
        (format_html("<li>{}</li>", _mistake(quoted)) for quoted in mistakes),
    )


def _mistake(quoted: QuotedMistake) -> Markup:
    mistake = quoted.mistake
    of_truth = quoted.probability_of_truth
    terms = (
        format_html(
            '<li><span class="data">{}</span> <span>{}</span></li>',
            shorten_middle(term, LONGEST_TERM),
            format_nats(weight),
        )
        for term, weight in mistake.terms
        if weight >= AUDIBLE
    )
    return format_html(
        '<article><h3>{}<span class="beside"> ({}) </span>taken for {}<span class="beside"> '
        '(probability {})</span></h3><p class="id data">{}</p>'
        '<blockquote><p dir="auto">{}</p></blockquote>{}</article>',
        format_class_name(mistake.truth),
        "a class that the model does not know"
        if of_truth is None
        else f"probability {_probability(of_truth)}",
        format_class_name(mistake.answer),
        _probability(mistake.probability),
        shorten_middle(mistake.id, 160),
        (_piece(piece.text, piece.nats) for piece in quoted.excerpt),
        format_html(
            '<p class="terms-head">What tipped it, in nats: </p><ul class="terms">{}</ul>', terms
        )
        if mistake.terms
        else NO_MARKUP,
    )


def _piece(text: str, weight: float) -> object:
    return (
        format_html(
            '<mark class="{}" title="{} nats">{}</mark>',
            "for" if weight > 0 else "against",
            format_nats(weight),
            text,
        )
        if weight
        else text
    )


def _probability(probability: float) -> str:
    """Return a probability that is not rounded to 0 or 1."""
    if 0 < probability < 0.0005:
        return "below\u00a00.1\u00a0%"
    return "above\u00a099.9\u00a0%" if 0.9995 <= probability < 1 else format_percent(probability)


def _class_terms(found: ClassTerms) -> Markup:
    most = max(value for _, value in found.terms)
    rows = (
        format_html(
            '<li><span class="data">{0}</span><span class="unseen">{1}</span>{2}</li>',
            shorten_middle(term, LONGEST_TERM),
            f"{1000 * value:.2f}",
            draw_bar(max(value, 0.0) / most if most > 0 else 0.0, f"{1000 * value:.2f}"),
        )
        for term, value in found.terms
    )
    return format_html("<div><h3>{}</h3><ol>{}</ol></div>", format_class_cell(found.label), rows)


def _learning(curve: LearningCurve) -> Markup:
    """Return what more documents would bring, and the learning curve."""
    first = curve.points[0]
    last = curve.points[-1]
    forecast = curve.forecast.accuracy
    words = (
        f"Learning curve: accuracy goes from {format_percent(first.accuracy)} with "
        f"{format_quantity(first.documents, 'document')} to "
        f"{format_percent(last.accuracy)} with {last.documents:,}."
    )
    return format_html(
        '<p>{}</p>{}<figure>{}<p class="axis">documents trained on →</p><figcaption><span '
        'class="key first">accuracy</span><span class="key second">macro F1'
        '</span><span class="key third">accuracy on the training documents '
        "themselves</span></figcaption></figure>",
        describe_forecast(curve.documents, forecast),
        format_note(
            "Models of parts of the training corpus, each judged on documents of that corpus held "
            "out from it; means of {}. 95\u00a0% of the runs lie in the "
            "band.{} Where the model is far better on the documents that it was trained on, it "
            "overfits.",
            format_quantity(curve.runs, "run"),
            "" if forecast.value is None else " The ring is a forecast, with its interval.",
        ),
        draw_learning_curve(curve.points, words, forecast),
    )
