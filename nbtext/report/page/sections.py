"""Make the HTML page of `nbtext report`: an evaluation of a model in sections.

The sections are summary, metrics, confusion, calibration, classes, mistakes, terms, learning curve
and provenance.
"""

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
    Section,
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
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.evaluation.report_data import ProvenanceSection, QuotedMistake, ReportData
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.inspection.terms import ClassTerms
    from nbtext.metrics.intervals import Interval
    from nbtext.metrics.results import (
        EvaluationResult,
        LargestClass,
        ProbabilityResult,
        ReliabilityBin,
    )

MAX_CONFUSIONS = 12
"""Rows of the table of the most frequent confusions."""

MIN_TERM_NATS = 0.05
"""Terms with a smaller contribution are not listed, since they would be shown as 0.0."""

MAX_RELIABLE_ERROR = 0.03
"""Up to this calibration error, the summary says that the probabilities can be believed."""

MAX_ROUGH_ERROR = 0.1
"""Up to this calibration error, the summary says that the probabilities are a rough guide."""

MIN_CALIBRATION_DOCUMENTS = 200
"""With fewer documents, noise makes a calibration error of several per cent."""

MIN_RECALL_DOCUMENTS = 10
"""With fewer documents, the recall of a class is not mentioned in the summary."""

MAX_NAMED_LABELS = 3
"""Number of unknown labels that the summary names. It counts the others."""

MAX_TERM_CHARS = 40
MAX_ID_CHARS = 160
MAX_CARD_LABEL_CHARS = 30

MAX_UNSCROLLED_CLASSES = 20
"""Number of classes of a heat map that fit into the width of the page on a large screen."""

INTERVAL = "95\u00a0% interval"
"""Heading of the last column of the next two tables, which only wide screens show."""

RISK_COLUMNS: Sequence[Column[RiskPoint]] = (
    Column("Predicted", lambda point: point.answered, "%"),
    Column("Probability from", lambda point: point.probability, ".3f"),
    Column("Precision", lambda point: point.precision, "%"),
    Column(INTERVAL, lambda point: point.interval, "%"),
)
BIN_COLUMNS: Sequence[Column[ReliabilityBin]] = (
    Column("Predictions", lambda bin_: bin_.documents, ","),
    Column("Mean probability", lambda bin_: bin_.confidence, "%"),
    Column("Right", lambda bin_: bin_.accuracy, "%"),
    Column(INTERVAL, lambda bin_: bin_.interval, "%"),
)

TERMS_NOTE = (
    "The terms (words as the model counts them, stemmed if it stems) that tell most about each "
    "{0}: their part of the mutual information of "
    "term and {0}. Point at a bar for its value, in thousandths of a nat."
)


def build_report_page(data: ReportData) -> str:
    """Return the page as HTML."""
    return build_page(data.title, list(_list_sections(data)))


def _list_sections(data: ReportData) -> Iterator[Section]:
    """Yield the sections in the order of the page."""
    result = data.evaluation
    noun = result.kind  # "class" or "label"
    yield from list_evaluation_sections(data)
    if result.has_one_label:
        mistakes = _format_mistakes(data.mistakes)
        yield make_section("mistakes", "Mistakes", "Most confident mistakes", mistakes)
    terms = _format_terms(data.top_terms, noun)
    yield make_section("terms", "Words", f"Words of each {noun}", terms)
    if data.learning_curve is not None:
        learning_curve = format_learning_curve(data.learning_curve)
        yield make_section("learning", "Learning", "Learning curve", learning_curve)
    if data.provenance:
        provenance = format_provenance(data.provenance)
        yield make_section("made", "How made", "How it was made", provenance)


def list_evaluation_sections(
    data: ReportData, *, compares_calibration: bool = True
) -> Iterator[Section]:
    """Yield the sections on the evaluated documents, from the summary to the classes.

    Without ``compares_calibration``, it is unknown whether the probabilities are calibrated.
    """
    result = data.evaluation
    noun = result.kind
    paragraphs = (format_html("<p>{}</p>", paragraph) for paragraph in summarize_report(data))
    yield make_section("summary", "Summary", "Summary", join_markup(paragraphs))
    yield make_section("metrics", "Metrics", "Metrics", _format_metrics(data))
    if result.has_one_label:
        confusion = _format_confusion(result)
        yield make_section("confusion", "Confusion", "Confusions", confusion)
    calibration = _format_calibration(data, compares_calibration=compares_calibration)
    question = "Can its probabilities be believed?"
    yield make_section("calibration", "Probabilities", question, calibration)
    classes_name = pluralize(2, noun).capitalize()
    heading = f"{noun.capitalize()} by {noun}"
    yield make_section("classes", classes_name, heading, _format_classes(result))


def make_section(anchor: str, name: str, heading: str, content: Markup) -> Section:
    """Return a section. ``name`` is its entry in the table of contents."""
    markup = format_html(
        '<section aria-labelledby="{anchor}" class="{anchor}"><h2 id="{anchor}">{heading}</h2>'
        "{content}</section>",
        anchor=anchor,
        heading=heading,
        content=content,
    )
    return Section(anchor, name, markup)


def _list_wrong_predictions(result: EvaluationResult) -> list[tuple[str, str, int]]:
    """Return pairs of true and wrongly predicted class, each with its number of documents.

    The most frequent pair comes first. Documents without a prediction are not included.
    """
    return [(truth, predicted, n) for truth, predicted, n in result.mistakes if predicted]


def summarize_report(data: ReportData) -> list[Markup]:
    """Return the paragraphs of the summary."""
    paragraphs = (
        _summarize_accuracy(data.evaluation),
        _summarize_mistakes(data.evaluation),
        _summarize_calibration(data),
        _summarize_leaks(data),
    )
    return [paragraph for paragraph in paragraphs if paragraph]


def _summarize_accuracy(result: EvaluationResult) -> Markup:
    """Return sentences on the accuracy, the baseline, abstentions and unknown labels."""
    baseline = _get_baseline(result)
    interval = result.intervals["accuracy"]
    verb = "is right on"
    superlative = "largest"
    if not result.has_one_label:
        verb = "finds exactly the labels of"
        superlative = "most frequent"
    sentences: list[object] = [
        format_html(
            "The model was evaluated on {} of {}.",
            format_quantity(result.n, "document"),
            _count_evaluated_classes(result),
        ),
        format_html(
            " It {} <strong>{}</strong> of them (95\u00a0% interval {}).",
            verb,
            format_percent(result.accuracy),
            format_interval(interval, "%"),
        ),
        format_html(
            " Always predicting {}, the {} {} in training, would be right on {}.",
            format_class_name(baseline.label),
            superlative,
            result.kind,
            format_percent(baseline.accuracy),
        ),
    ]
    lower_end, _ = interval
    if lower_end <= baseline.accuracy:
        sentences.append(" So this does not show that the model is better.")
    if result.has_one_label:
        # "" stands for no prediction.
        n_unanswered = sum(counts.get("", 0) for counts in result.confusion.values())
        if n_unanswered > 0:
            documents = format_quantity(n_unanswered, "document")
            sentences.append(f" It made no prediction for {documents}, which counts as wrong.")
    if result.unknown_labels:
        sentences.append(_describe_unknown_labels(result))
    return join_markup(sentences)


def _describe_unknown_labels(result: EvaluationResult) -> Markup:
    """Return a sentence on documents whose labels are not classes of the model."""
    labels = result.unknown_labels
    n_documents = sum(result.per_class[label].support for label in labels)
    names = join_markup(map(format_class_name, labels[:MAX_NAMED_LABELS]), ", ")
    ending = "."
    if len(labels) > MAX_NAMED_LABELS:
        ending = f" and {len(labels) - MAX_NAMED_LABELS:,} more."
    return format_html(
        " It cannot be right on {} of {} that it does not know: {}{}",
        format_quantity(n_documents, "document"),
        pluralize(2, result.kind),
        names,
        ending,
    )


def _summarize_mistakes(result: EvaluationResult) -> Markup:
    """Return sentences on the most frequent confusion, and the class with the lowest recall."""
    if not result.has_one_label:
        return NO_MARKUP
    mistakes = _list_wrong_predictions(result)
    if not mistakes:
        return format_html("It made no mistake on these documents.")
    confusion = _describe_first_confusion(result, mistakes)

    recalls = {
        label: metrics.recall
        for label, metrics in result.per_class.items()
        if metrics.support >= MIN_RECALL_DOCUMENTS and label not in result.unknown_labels
    }
    weakest = min(recalls, key=lambda label: recalls[label], default=None)
    if weakest is None or recalls[weakest] == 1:
        return confusion
    predictions = [predicted for truth, predicted, _ in mistakes if truth == weakest]
    confused_with = NO_MARKUP
    if predictions:
        name = format_class_name(predictions[0])  # the most frequent
        confused_with = format_html("; most often it takes the others for {}", name)
    return format_html(
        "{confusion} The class that it recognises least is {label}: "
        "it finds {recall} of its {documents}{confused_with}.",
        confusion=confusion,
        label=format_class_name(weakest),
        recall=format_percent(recalls[weakest]),
        documents=format_quantity(result.per_class[weakest].support, "document"),
        confused_with=confused_with,
    )


def _describe_first_confusion(
    result: EvaluationResult, mistakes: Sequence[tuple[str, str, int]]
) -> Markup:
    """Return a sentence on the most frequent pair of classes, and on the reversed pair.

    ``mistakes`` are from `_list_wrong_predictions`.
    """
    truth, predicted, n = mistakes[0]
    n_mistakes = sum(n_documents for *_, n_documents in mistakes)
    n_reversed = result.confusion.get(predicted, {}).get(truth, 0)
    start = "Its only mistake takes "
    if n_mistakes > 1:
        start = f"Of its {n_mistakes:,} mistakes, {n:,} {'takes' if n == 1 else 'take'} "
    ending = f" and {n_reversed:,} the other way round." if n_reversed else "."
    return format_html(
        "{}{} for {}{}", start, format_class_name(truth), format_class_name(predicted), ending
    )


def _summarize_calibration(data: ReportData) -> Markup:
    """Return sentences on how reliable the probabilities are."""
    result = data.evaluation
    calibrated = data.calibrated
    noun = "predictions"
    accuracy = result.accuracy
    if not result.has_one_label:
        noun = "most probable labels"
        accuracy = result.get_metric("precision_at_1")
    # Metrics are None without documents. A report has documents.
    error = calibrated.ece or 0.0
    is_overconfident = (calibrated.confidence or 0.0) > (accuracy or 0.0)
    uncalibrated_error = ""
    if data.uncalibrated is not None:
        uncalibrated_points = 100 * (data.uncalibrated.ece or 0.0)
        uncalibrated_error = f" (before calibration {uncalibrated_points:.1f})"
    return format_html(
        "<strong>{verdict}</strong> On average, the model gives its {noun} a probability of "
        "{confidence}, and {accuracy} are right. In groups of similar probability, the mean "
        "difference between probability and proportion right is {points} percentage "
        "points{uncalibrated_error}.",
        verdict=_rate_calibration(result.n, error, is_overconfident=is_overconfident),
        noun=noun,
        confidence=format_percent(calibrated.confidence),
        accuracy=format_percent(accuracy),
        points=f"{100 * error:.1f}",
        uncalibrated_error=uncalibrated_error,
    )


def _rate_calibration(n_documents: int, error: float, *, is_overconfident: bool) -> str:
    """Return a verdict on the probabilities from the calibration error."""
    if n_documents < MIN_CALIBRATION_DOCUMENTS:
        return "These are too few documents to tell whether its probabilities can be believed."
    if error <= MAX_RELIABLE_ERROR:
        return "Its probabilities can be believed."
    if error <= MAX_ROUGH_ERROR:
        direction = "too high" if is_overconfident else "too low"
        return f"Its probabilities are a rough guide: {direction} for the most part."
    comparison = "surer" if is_overconfident else "less sure"
    return (
        "Its probabilities should not be taken at their word: it is "
        f"{comparison} than it should be."
    )


def _summarize_leaks(data: ReportData) -> Markup:
    """Return a warning of test documents that are in the training set, if any are known."""
    leaks = data.leaks
    if leaks is None or not leaks.found:
        return NO_MARKUP
    checked = format_quantity(data.evaluation.n, "document")
    ending = "."
    if isinstance(leaks, LeakResult):
        if leaks.without is not None:
            interval = format_interval(leaks.without.interval, "%")
            ending = (
                ", word for word. Without them it is right on "
                f"{format_percent(leaks.without.accuracy)} (95\u00a0% interval {interval})."
            )
    elif leaks.checked != data.evaluation.n:
        checked = f"{format_quantity(leaks.checked, 'document')} that could be checked"
    return format_html(
        "<strong>These metrics may be too good:</strong> the model was trained on {} of the {}{}",
        f"{leaks.found:,}",
        checked,
        ending,
    )


def _get_baseline(result: EvaluationResult) -> LargestClass:
    """Return the metrics of always predicting the largest class of the training set."""
    assert result.baselines is not None  # noqa: S101 - a model has training documents
    return result.baselines.largest_class


def _count_evaluated_classes(result: EvaluationResult) -> str:
    """Return the number of classes that have documents, in words."""
    n_classes = sum(1 for metrics in result.per_class.values() if metrics.support)
    return format_quantity(n_classes, result.kind)


def _format_metrics(data: ReportData) -> Markup:
    """Return the main metrics as cards with a title, a large value and a note."""
    result = data.evaluation
    baseline = _get_baseline(result)
    cards = (
        ("Documents", f"{result.n:,}", f"of {_count_evaluated_classes(result)}"),
        _make_metric_card(result, "Accuracy", "accuracy"),
        _make_metric_card(result, "Macro F1", "macro_f1"),
        (
            "Baseline",
            f"{baseline.accuracy:.3f}",
            f"accuracy of always {shorten_middle(baseline.label, MAX_CARD_LABEL_CHARS)}",
        ),
        _make_probability_card(data, "Mean probability", "confidence", note="of the predictions"),
        _make_probability_card(data, "Calibration error", "ece"),
        _make_probability_card(data, "Log loss", "log_loss", note="nats"),
        _make_probability_card(data, "Brier score", "brier"),
    )
    groups = (
        format_html(
            '<div><dt>{}</dt><dd class="value">{}</dd>{}</div>',
            title,
            value,
            format_html('<dd class="beside data">{}</dd>', note) if note else "",
        )
        for title, value, note in cards
    )
    reference = "accuracy"
    if not result.has_one_label:
        reference = "proportion of most probable labels that are right"
    return format_html(
        '<dl class="cards">{}</dl>{}',
        groups,
        format_note(
            "Beneath accuracy and macro F1: 95\u00a0% intervals. Calibration error, log loss (in "
            "nats) and Brier score are the better the lower, "
            "and the mean probability the better the nearer to the {}.",
            reference,
        ),
    )


def _make_metric_card(result: EvaluationResult, title: str, name: str) -> tuple[str, str, str]:
    """Return title, value and interval of a metric. The interval may be empty."""
    interval = format_interval(result.intervals.get(name), ".3f")
    return title, format_number(result.get_metric(name), decimals=3), interval


def _make_probability_card(
    data: ReportData, title: str, name: str, note: str = ""
) -> tuple[str, str, str]:
    """Return title, value and note of a metric of probabilities.

    If the model is calibrated, the note is the value before calibration.
    """
    value = format_number(getattr(data.calibrated, name), decimals=3)
    if data.uncalibrated is not None:
        uncalibrated = format_number(getattr(data.uncalibrated, name), decimals=3)
        note = f"{uncalibrated} before calibration"
    return title, value, note


def _format_confusion(result: EvaluationResult) -> Markup:
    """Return the most frequent mistakes as a table, and the confusions as a heat map."""
    caption = "Most frequent confusions"
    mistakes = _list_wrong_predictions(result)
    classes = sort_by_confusion(select_classes(result.per_class, MAX_HEATMAP_CLASSES), mistakes)
    headings = {
        "True class": None,
        "Prediction": None,
        "Documents": "number",
        "Proportion of the class": "number wide",
    }
    rows = [
        (
            format_class_cell(truth),
            format_class_cell(predicted),
            f"{n:,}",
            format_percent(n / result.per_class[truth].support),
        )
        for truth, predicted, n in mistakes[:MAX_CONFUSIONS]
    ]
    table = NO_MARKUP
    if rows:
        table = make_scrollable(format_html_table(caption, headings, rows), caption)
    heat_map = draw_confusion_table(classes, result.confusion)
    return format_html(
        '{table}{note}{omitted}<p class="note hint{width_class}">Scroll the table sideways to see '
        "all predictions →</p><figure>{heat_map}<figcaption>{legend}</figcaption></figure>",
        table=table,
        note=format_note(
            "Each row is a true class, each column a prediction; the most confused classes come "
            "first. The shade of a cell is its proportion of the row: blue if right, orange if "
            "wrong."
        ),
        omitted=_format_omitted_classes(result, len(classes)),
        width_class=" many" if len(classes) > MAX_UNSCROLLED_CLASSES else "",
        heat_map=make_scrollable(heat_map, "Confusion of classes"),
        legend=draw_legend(),
    )


def _format_calibration(data: ReportData, *, compares_calibration: bool) -> Markup:
    """Return reliability diagrams before and after calibration, and the risk curve."""
    uncalibrated_diagram = NO_MARKUP
    heading = "Probabilities of the model"
    missing_note = NO_MARKUP
    if data.uncalibrated is not None:
        uncalibrated_diagram = _format_reliability(
            "Before calibration", "before", data.uncalibrated
        )
        heading = "After calibration"
    elif compares_calibration:
        missing_note = format_note(
            "These probabilities are not calibrated: the model has no calibration, or one without "
            "effect."
        )
    return format_html(
        '{note}<div class="pair">{before}{after}</div>{missing_note}{risk_curve}',
        note=format_note(
            "Predictions are grouped by their probability. Dots: the proportion of right "
            "predictions in each group, with its 95\u00a0% interval; on the dashed line "
            "probabilities are right, below it the model is overconfident. Columns: the number of "
            "predictions in each group."
        ),
        before=uncalibrated_diagram,
        after=_format_reliability(heading, "after", data.calibrated),
        missing_note=missing_note,
        risk_curve=_format_risk_curve(data.risk_curve) if data.risk_curve else NO_MARKUP,
    )


def _format_reliability(heading: str, series: str, result: ProbabilityResult) -> Markup:
    """Return a reliability diagram with its numbers. ``series`` is the CSS class of its colour."""
    error = f"calibration error {format_number(result.ece, decimals=3)}"
    label = f"Reliability diagram, {heading.lower()}: {error}; the numbers are in the table below."
    chart = draw_reliability_diagram(result.bins, series, label)
    filled_bins = (bin_ for bin_ in result.bins if bin_.documents)
    axis_title = "probability of the prediction →"
    return _format_figure(heading, error, chart, axis_title, BIN_COLUMNS, filled_bins)


def _format_risk_curve(points: Sequence[RiskPoint]) -> Markup:
    """Return the precision of the most confident predictions, by proportion answered."""
    first = points[0]
    last = points[-1]
    label = (
        f"Precision is {format_percent(first.precision)} for the most probable "
        f"{format_percent(first.answered)} of the predictions, and "
        f"{format_percent(last.precision)} for all."
    )
    heading = "If only the most probable predictions are made"
    subheading = "precision of the predictions, with its interval"
    chart = draw_risk_curve(points, label)
    return _format_figure(
        heading, subheading, chart, "proportion predicted →", RISK_COLUMNS, points
    )


def _format_figure(
    heading: str,
    subheading: str,
    chart: Markup,
    axis_title: str,
    columns: Sequence[Column[Record]],
    records: Iterable[Record],
) -> Markup:
    """Return a chart with its heading, and its numbers as a table that can be opened.

    ``columns`` are `RISK_COLUMNS` or `BIN_COLUMNS`.
    """
    css_classes = {column.heading: "number" for column in columns}
    css_classes[INTERVAL] = "number wide"
    return format_html(
        "<figure><figcaption><h3>{heading}</h3><span>{subheading}</span></figcaption>{chart}"
        '<p class="axis">{axis_title}</p>'
        "<details><summary>Numbers</summary>{table}</details></figure>",
        heading=heading,
        subheading=subheading,
        chart=chart,
        axis_title=axis_title,
        table=format_html_table(heading, css_classes, format_cells(columns, records)),
    )


def _format_classes(result: EvaluationResult) -> Markup:
    """Return precision, recall and F1 of each class as bars."""
    classes = select_classes(result.per_class, MAX_HEATMAP_CLASSES)
    headings = {
        result.kind.capitalize(): None,
        "Documents": "number wide",
        "Precision": None,
        "Recall": None,
        "F1": None,
    }
    rows = []
    for label, metrics in classes.items():
        precision = _format_ratio(
            "precision",
            metrics.precision,
            metrics.intervals["precision"],
            is_defined=metrics.answered > 0,
        )
        recall = _format_ratio(
            "recall", metrics.recall, metrics.intervals["recall"], is_defined=metrics.support > 0
        )
        f1 = _format_ratio("F1", metrics.f1, metrics.f1_interval)
        rows.append((format_class_cell(label), f"{metrics.support:,}", precision, recall, f1))
    caption = f"Each {result.kind}, with 95\u00a0% intervals"
    table = format_html_table(caption, headings, rows, bars=True)
    return format_html(
        "{}{}{}",
        format_note(
            "Precision: the proportion of documents predicted as the {0} that are of it. Recall: "
            "the proportion of its documents that are predicted as it. F1 is their harmonic mean; "
            "the {0} of lowest F1 comes first. Lines show 95\u00a0% intervals.",
            result.kind,
        ),
        _format_omitted_classes(result, len(classes)),
        make_scrollable(table, f"Each {result.kind}"),
    )


def _format_ratio(
    name: str, value: float, interval: Interval, *, is_defined: bool = True
) -> Markup:
    """Return a ratio as a number with its interval, and as a bar. Undefined is an empty bar."""
    template = '<div><span class="value">{}</span> <span class="bounds">{}</span></div>{}'
    if not is_defined:
        return format_html(template, "–", "", draw_bar(0.0, f"{name} –"))
    interval_text = format_interval(interval, ".3f")
    title = f"{name} {value:.3f}, 95\u00a0% interval {interval_text}"
    return format_html(template, f"{value:.3f}", interval_text, draw_bar(value, title, interval))


def _format_omitted_classes(result: EvaluationResult, n_shown: int) -> Markup:
    """Return a note on the classes that occur and are not shown, no markup if all are shown."""
    n_classes = sum(1 for metrics in result.per_class.values() if metrics.occurs)
    n_omitted = n_classes - n_shown
    if n_omitted == 0:
        return NO_MARKUP
    return format_note(
        "The {} with most documents {} shown; {} more {} omitted.",
        format_quantity(n_shown, result.kind),
        "is" if n_shown == 1 else "are",
        format_quantity(n_omitted, result.kind),
        "is" if n_omitted == 1 else "are",
    )


def _format_mistakes(mistakes: Sequence[QuotedMistake]) -> Markup:
    """Return the most confident mistakes, with the words that caused them marked."""
    if not mistakes:
        return format_note("There is none.")
    return format_html(
        "{}<ol>{}</ol>",
        format_note(
            "Words for the wrong prediction against the true class are <mark "
            'class="for">marked</mark>, words for the true class '
            '<mark class="against">underlined</mark>: only words that change the odds at least '
            "threefold, before calibration. Point at a word for its weight in nats: 1.1 is "
            "threefold, 2.3 tenfold."
        ),
        (format_html("<li>{}</li>", _format_mistake(mistake)) for mistake in mistakes),
    )


def _format_mistake(quoted: QuotedMistake) -> Markup:
    """Return classes with probabilities, document name, excerpt and terms of a mistake."""
    mistake = quoted.mistake
    truth_probability = "a class that the model does not know"
    if quoted.probability_of_truth is not None:
        truth_probability = f"probability {_format_probability(quoted.probability_of_truth)}"
    terms = NO_MARKUP
    if mistake.terms:
        terms = _format_mistake_terms(mistake.terms)
    return format_html(
        '<article><h3>{truth}<span class="beside"> ({truth_probability}) </span>taken for {answer}'
        '<span class="beside"> (probability {probability})</span></h3><p class="id data">{id}</p>'
        '<blockquote><p dir="auto">{excerpt}</p></blockquote>{terms}</article>',
        truth=format_class_name(mistake.truth),
        truth_probability=truth_probability,
        answer=format_class_name(mistake.answer),
        probability=_format_probability(mistake.probability),
        id=shorten_middle(mistake.id, MAX_ID_CHARS),
        excerpt=(_format_excerpt_piece(piece.text, piece.nats) for piece in quoted.excerpt),
        terms=terms,
    )


def _format_mistake_terms(terms: Iterable[tuple[str, float]]) -> Markup:
    """Return the terms that contributed most to a mistake, with their contributions in nats."""
    items = [
        format_html(
            '<li><span class="data">{}</span> <span>{}</span></li>',
            shorten_middle(term, MAX_TERM_CHARS),
            format_nats(contribution),
        )
        for term, contribution in terms
        if contribution >= MIN_TERM_NATS
    ]
    return format_html(
        '<p class="terms-head">Decisive words, in nats: </p><ul class="terms">{}</ul>', items
    )


def _format_excerpt_piece(text: str, contribution: float) -> object:
    """Return a piece of a text, marked if its contribution to the mistake (in nats) is not 0."""
    if contribution == 0:
        return text
    return format_html(
        '<mark class="{}" title="{} nats">{}</mark>',
        "for" if contribution > 0 else "against",
        format_nats(contribution),
        text,
    )


def _format_probability(probability: float) -> str:
    """Return a probability in per cent with one decimal, but never rounded to 0 or 100."""
    if 0 < probability < 0.0005:
        return "below\u00a00.1\u00a0%"
    if 0.9995 <= probability < 1:
        return "above\u00a099.9\u00a0%"
    return format_percent(probability)


def _format_terms(top_terms: Iterable[ClassTerms], noun: str) -> Markup:
    """Return the most informative terms of each class with bars. ``noun`` is for its note."""
    cards = (_format_class_terms(terms) for terms in top_terms if terms.terms)
    note = format_note(TERMS_NOTE, noun)
    return format_html('{}<div class="cards-of-terms">{}</div>', note, cards)


def _format_class_terms(class_terms: ClassTerms) -> Markup:
    """Return the terms of a class with their values, which are above 0, as bars."""
    max_value = max(value for _, value in class_terms.terms)
    items = []
    for term, value in class_terms.terms:
        thousandths = f"{1000 * value:.2f}"
        items.append(
            format_html(
                '<li><span class="data">{0}</span><span class="unseen">{1}</span>{2}</li>',
                shorten_middle(term, MAX_TERM_CHARS),
                thousandths,
                draw_bar(value / max_value, thousandths),
            )
        )
    heading = format_class_cell(class_terms.label)
    return format_html("<div><h3>{}</h3><ol>{}</ol></div>", heading, items)


def format_learning_curve(curve: LearningCurve) -> Markup:
    """Return the forecast of accuracy with more documents, and the learning curve."""
    first = curve.points[0]
    last = curve.points[-1]
    forecast = curve.forecast.accuracy
    label = (
        f"Learning curve: accuracy goes from {format_percent(first.accuracy)} with "
        f"{format_quantity(first.documents, 'document')} to "
        f"{format_percent(last.accuracy)} with {last.documents:,}."
    )
    ring_note = ""
    if forecast.value is not None:
        ring_note = " The ring is a forecast, with its interval."
    return format_html(
        '<p>{}</p>{}<figure>{}<p class="axis">documents trained on →</p><figcaption><span '
        'class="key first">accuracy</span><span class="key second">macro F1'
        '</span><span class="key third">accuracy on the training documents'
        "</span></figcaption></figure>",
        describe_forecast(curve.documents, forecast),
        format_note(
            "Models of parts of the training corpus, each evaluated on held-out documents of the "
            "corpus; means of {}. 95\u00a0% of the runs are in the band.{} If a model is far "
            "better on its training documents, it overfits.",
            format_quantity(curve.runs, "run"),
            ring_note,
        ),
        draw_learning_curve(curve.points, label, forecast),
    )


def format_provenance(provenance: Iterable[ProvenanceSection]) -> Markup:
    """Return names and values of the settings and files that the page was made from."""
    groups = []
    for heading, rows in provenance:
        groups.append(format_html("<h3>{}</h3>{}", heading, format_description_list(rows)))
    return join_markup(groups)


def format_description_list(rows: Iterable[tuple[str, object]]) -> Markup:
    """Return names with their values."""
    items = [
        format_html('<div><dt>{}</dt><dd class="data">{}</dd></div>', name, value)
        for name, value in rows
    ]
    return format_html('<dl class="settings">{}</dl>', items)
