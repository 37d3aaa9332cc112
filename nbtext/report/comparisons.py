"""Print results of `nbtext compare`, `tune`, `suspects`, `drift`, `prevalence`, `learning-curve`.

`nbtext.report.page.result_pages` shows the same results on pages, with the same sentences.
"""

from __future__ import annotations

import sys
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from nbtext.errors import format_quantity
from nbtext.metrics.outcomes import METRICS
from nbtext.metrics.results import to_json_values
from nbtext.prediction.typicality import LENGTH, LIKELIHOOD, PREDICTIONS, UNKNOWN
from nbtext.report.output_formats import (
    JSON_SIGNIFICANT_DIGITS,
    METRIC_TITLES,
    Column,
    draw_block,
    escape_controls,
    escape_controls_on_terminal,
    format_grid,
    format_interval,
    format_listing,
    format_named_table,
    format_number,
    format_percent,
    format_table,
    is_ascii_terminal,
    print_blocks,
    wrap_sentence,
    write_records,
    write_result,
)
from nbtext.settings import TUNING_METRICS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from nbtext.evaluation.comparison import ComparisonResult, Difference, DisagreementCount
    from nbtext.evaluation.drift_log import DriftRun, MetricDrift
    from nbtext.evaluation.label_errors import Suspect
    from nbtext.evaluation.learning_curves import CurvePoint, Forecast, LearningCurve
    from nbtext.guarantees.class_proportions import ClassProportion, PrevalenceResult

    Trial = Mapping[str, Any]
    """An item of ``settings`` in the JSON of `nbtext tune`: a setting and its evaluation.

    ``better`` is true if the setting is significantly better than the default.
    """

MAX_CHANGES = 10
"""Rows of the table of changed predictions."""

CHANGE_COLUMNS: Sequence[Column[DisagreementCount]] = (
    Column("true class", lambda change: change.truth),
    Column("prediction of A", lambda change: change.a, placeholder="(none)"),
    Column("prediction of B", lambda change: change.b, placeholder="(none)"),
    Column("documents", lambda change: change.documents, ","),
)


class ComparedMetric(NamedTuple):
    """The values of a metric for the models A and B. None means infinity."""

    a: float | None
    b: float | None
    difference: Difference


METRIC_COLUMNS: Sequence[Column[ComparedMetric]] = (
    Column("A", lambda metric: metric.a, ".4f", placeholder="infinite"),
    Column("B", lambda metric: metric.b, ".4f", placeholder="infinite"),
    Column("B − A", lambda metric: metric.difference.difference, "+.4f"),
    Column("95 % interval of B − A", lambda metric: metric.difference.interval, "+.4f"),
)


def print_comparison(result: ComparisonResult, name_a: str, name_b: str) -> None:
    """Print a comparison of two models: metrics, agreement, verdicts and changed predictions."""
    summary = {"documents": f"{result.n:,}", "A": name_a, "B": name_b}
    for name, model in (("A", result.a), ("B", result.b)):
        interval = format_interval(model.intervals["accuracy"])
        accuracy = format_number(model.accuracy)
        summary[f"accuracy of {name}"] = f"{accuracy}  (95 % interval {interval})"
    metrics = []
    for name, difference in result.differences.items():
        metric = ComparedMetric(getattr(result.a, name), getattr(result.b, name), difference)
        metrics.append((METRIC_TITLES[name], metric))
    table = result.table
    agreement = (
        ("A right", f"{table.both_right:,}", f"{table.only_a_right:,}"),
        ("A wrong", f"{table.only_b_right:,}", f"{table.both_wrong:,}"),
    )
    changes = ""
    if result.disagreements:
        most_frequent = result.changes[:MAX_CHANGES]
        changes = format_table(CHANGE_COLUMNS, most_frequent, "most frequent changes")
    print_blocks(
        format_listing(summary),
        format_named_table("metric", METRIC_COLUMNS, metrics),
        format_grid(("documents", "B right", "B wrong"), agreement, numeric_columns=(1, 2)),
        "".join(f"{wrap_sentence(sentence)}\n" for sentence in _describe_differences(result)),
        changes,
    )


def _describe_differences(result: ComparisonResult) -> list[str]:
    """Return sentences that name, for each metric, the better model or the lack of significance."""
    if result.identical:
        return ["The two models make the same predictions with the same probabilities."]
    sentences = [_describe_accuracies(result)]
    similar_metrics = []
    for name, difference in result.differences.items():
        if name == "accuracy":
            continue
        title, *_ = METRIC_TITLES[name].split(" (")  # without the unit
        if difference.beyond_chance:
            value = difference.difference or 0.0  # not None, since it was tested
            interval = format_interval(difference.interval, "+.4f")
            b_is_better = (value > 0) == METRICS[name].higher_is_better
            better = "B" if b_is_better else "A"
            sentences.append(
                f"{better} has a significantly better {title}: B − A is {value:+.4f} ({interval})."
            )
        elif difference.beyond_chance is False:  # not None, which means untested
            similar_metrics.append(title)
    if similar_metrics:
        *first_titles, titles = similar_metrics
        if first_titles:
            titles = f"{', '.join(first_titles)} and {titles}"
        sentences.append(f"Beyond chance they do not differ in {titles}.")
    documents = format_quantity(result.n, "document")
    sentences.append(
        f"A and B predict different labels for {result.disagreements:,} of {documents}."
    )
    return sentences


def _describe_accuracies(result: ComparisonResult) -> str:
    """Return a sentence on which model is right more often, by McNemar's test."""
    only_a = result.table.only_a_right
    only_b = result.table.only_b_right
    if not only_a and not only_b:
        return "Both are right about the same documents."
    test = (
        f"only A is right about {only_a:,}, only B about {only_b:,} (McNemar's exact test, p = "
        f"{result.mcnemar.p_value:.2g})"
    )
    if not result.differences["accuracy"].beyond_chance:
        return f"Neither is right significantly more often: {test}."
    better = "B" if only_b > only_a else "A"
    return f"{better} is right significantly more often: {test}."


TRIAL_METRICS = {
    "accuracy": "accuracy",
    "macro F1": "macro_f1",
    "micro F1": "micro_f1",
    "log loss": "log_loss",
}
"""Titles and keys of the metrics of a trial. Only multi-label trials have ``micro_f1``."""

TRAINING_ACCURACY = "training_accuracy"
"""Key of the accuracy on the training documents, which only some trials have."""

MAX_SETTING_CHARS = 24
"""If any setting has a longer description, the tables only show the metric to optimise."""


def write_trials(output: str, result: Mapping[str, Any]) -> None:
    """Write the settings that `nbtext tune` tried, in an output format."""
    if output == "table":
        _print_trials(result)
    else:
        write_result(output, result, result["settings"])


def _print_trials(result: Mapping[str, Any]) -> None:
    """Print a summary, a table of trials for each stage, the choice and its command.

    A stage is a number of documents and of folds. The best trial of a stage comes first.
    """
    trials = result["settings"]
    chosen_trial = result["chosen"]
    columns = _choose_trial_columns(trials, chosen_trial, result["metric"])
    tables = [
        format_table(columns, stage_trials, title) for title, stage_trials in list_stages(result)
    ]
    choice = describe_choice(result)
    command = escape_controls_on_terminal(chosen_trial["command"])
    print_blocks(
        format_listing(summarize_trials(result)),
        *tables,
        *(f"{line}\n" for line in (wrap_sentence(choice), command) if line),
    )


def list_stages(result: Mapping[str, Any]) -> list[tuple[str, list[Trial]]]:
    """Return the stages of a search: the documents and folds in words, and the trials."""
    stages = []
    # The trials of a stage are neighbours.
    groups = groupby(result["settings"], lambda trial: (trial["documents"], trial["folds"]))
    for (n_documents, n_folds), trials in groups:
        title = (
            f"evaluated on {_format_part(n_documents, result['documents'], 'document')}, "
            f"{_format_part(n_folds, result['folds'], 'fold')}"
        )
        stages.append((title, list(trials)))
    return stages


def summarize_trials(result: Mapping[str, Any]) -> dict[str, str | None]:
    """Return names and values of the search: method, sizes, model, and corrected estimate."""
    goal = result["metric"]
    folds = format_quantity(result["folds"], "fold")
    model = "none: the search was interrupted"
    if result["model"]:
        model = f"{result['model']}, trained on all documents with the setting marked *"
    corrected = None
    if result["corrected"] is not None:
        corrected = f"{goal} {result['corrected']:.4f}, on documents that had no part in the choice"
    elif result["chosen"]["better"]:
        corrected = (
            f"no: the {goal} of the setting marked * is optimistic, since it was chosen by it"
        )
    return {
        "by": f"cross-validation, {folds}, seed {result['seed']}, for {goal}",
        "documents": f"{result['documents']:,}",
        "settings": f"{len(result['settings']):,} of {result['settings_in_all']:,} tried",
        "model": model,
        "corrected": corrected,
    }


def _choose_trial_columns(
    trials: Sequence[Trial], chosen_trial: Trial, goal: str
) -> list[Column[Trial]]:
    """Return columns for rank, metrics, p-value and setting.

    ``goal`` is the metric to optimise, as the user named it. If settings have long descriptions, it
    is the only metric.
    """
    has_long_settings = any(
        len(format_options(trial["setting"])) > MAX_SETTING_CHARS for trial in trials
    )
    columns: list[Column[Trial]] = [Column("", _format_rank)]
    for title, key in TRIAL_METRICS.items():
        is_shown = key == TUNING_METRICS[goal] or not has_long_settings
        if is_shown and key in chosen_trial:
            columns.append(Column(title, itemgetter(key), ".4f", placeholder="infinite"))
    if TRAINING_ACCURACY in chosen_trial:
        columns.append(Column("on training", itemgetter(TRAINING_ACCURACY), ".4f"))
    columns.append(Column("p", itemgetter("p_value"), ".3g", placeholder=" "))
    columns.append(Column("options", lambda trial: format_options(trial["setting"])))
    return columns


def _format_rank(trial: Trial) -> str:
    return f"{trial['rank']} *" if trial["chosen"] else str(trial["rank"])


def _format_part(n: int, n_total: int, noun: str) -> str:
    """Return a number out of a total, in words.

    >>> _format_part(2000, 16000, "document"), _format_part(1, 5, "fold")
    ('2,000 of 16,000 documents', '1 of 5 folds')
    """
    return f"{n:,} of {format_quantity(n_total, noun)}"


def format_options(options: Mapping[str, str]) -> str:
    """Return options as text, without the names ``classifier`` and ``weighting``.

    >>> format_options({"ngrams": "2", "classifier": "complement"}), format_options({})
    ('ngrams 2, complement', 'default')
    """
    texts = [
        value if name in ("classifier", "weighting") else f"{name} {value}"
        for name, value in options.items()
    ]
    return ", ".join(texts) or "default"


def describe_choice(result: Mapping[str, Any]) -> str:
    """Return a sentence with the setting that is kept and the reason.

    Return "" for a single trial, and if the search was interrupted.
    """
    trials = result["settings"]
    chosen_trial = result["chosen"]
    if len(trials) == 1 or not result["model"]:
        return ""
    name = format_options(chosen_trial["setting"])
    if chosen_trial["better"]:
        return (
            f"Chosen: {name}. It is significantly better than the default (p = "
            f"{chosen_trial['p_value']:.3g}, corrected for the number of settings)."
        )
    if all(trial["p_value"] is None for trial in trials):
        return f"Chosen: {name}, the best. The default could not be tried."
    if any(trial["better"] for trial in trials):
        return (
            "Chosen: the default. There is no time to train a setting that is significantly better."
        )
    return "No setting is significantly better than the default; the default is kept."


LEARNING_CURVE_COLUMNS: Sequence[Column[CurvePoint]] = (
    Column("training documents", lambda point: point.documents, ","),
    Column("accuracy", lambda point: point.accuracy, ".4f"),
    Column("band", lambda point: point.accuracy_band, ".4f"),
    Column("macro F1", lambda point: point.macro_f1, ".4f"),
    Column("band", lambda point: point.macro_f1_band, ".4f"),
    Column("accuracy on these", lambda point: point.training_accuracy, ".4f"),
)


def print_learning_curve(curve: LearningCurve) -> None:
    """Print a row for each number of training documents, bars on a terminal, and the forecast."""
    summary = {
        "documents": f"{curve.documents:,}",
        "runs": f"{curve.runs:,}, of which 95 % lie in a band",
    }
    bars = ""
    if sys.stdout.isatty():
        bars = _format_curve_bars(curve.points)
    forecast = describe_forecast(curve.documents, curve.forecast.accuracy)
    print_blocks(
        format_listing(summary),
        format_table(LEARNING_CURVE_COLUMNS, curve.points),
        bars,
        f"{wrap_sentence(forecast)}\n",
    )


def _format_curve_bars(points: Sequence[CurvePoint]) -> str:
    """Return rows with a bar for each number of training documents, from 0 to 1."""
    accuracies = "".join(draw_block(point.accuracy) for point in points)
    macro_f1 = "".join(draw_block(point.macro_f1) for point in points)
    training_accuracies = "".join(draw_block(point.training_accuracy) for point in points)
    return format_listing(
        {
            "accuracy": f"{accuracies}  from 0 to 1, by training documents",
            "macro F1": macro_f1,
            "accuracy on these": training_accuracies,
        }
    )


def describe_forecast(n_documents: int, forecast: Forecast) -> str:
    """Return a sentence on the forecast of accuracy, or on the reason why it is missing.

    ``n_documents`` is the present number of training documents.
    """
    if forecast.withheld is not None:
        return f"No forecast of accuracy: {forecast.withheld}."
    if forecast.documents == 2 * n_documents:
        increase = "Twice the documents"
    else:
        n_additional = forecast.documents - n_documents
        increase = f"{format_quantity(n_additional, 'more document')} like these"
    return (
        f"{increase}, {forecast.documents:,}, would bring accuracy "
        f"{format_number(forecast.value)} (95 % interval {format_interval(forecast.interval)}); "
        f"the {n_documents:,} that there are bring {format_number(forecast.now)} by the same law."
    )


SUSPECT_COLUMNS: Sequence[Column[Suspect]] = (
    Column("id", lambda suspect: suspect.id),
    Column("label", lambda suspect: suspect.label),
    Column("suggested", lambda suspect: suspect.suggested),
    Column("log_odds", lambda suspect: suspect.log_odds, ".6g"),
    Column("text", lambda suspect: suspect.text),
)


def write_suspects(
    suspects: Iterable[Suspect], output: str, escape: Callable[[str], str] = str
) -> None:
    """Print documents whose labels look wrong.

    ``output`` is ``table`` for three lines per document, ``paths`` for a name per line, ``print0``
    for names that end with NUL, or ``tsv``, ``csv`` or ``jsonl``. ``escape`` makes cells safe.
    """
    if output == "table":
        print_blocks(*map(_format_suspect, suspects))
    elif output == "paths":
        sys.stdout.writelines(
            f"{escape_controls_on_terminal(suspect.id)}\n" for suspect in suspects
        )
    elif output == "print0":
        sys.stdout.writelines(f"{suspect.id}\0" for suspect in suspects)
    else:
        write_records(
            suspects,
            output,
            SUSPECT_COLUMNS,
            to_record=lambda suspect: to_json_values(suspect, JSON_SIGNIFICANT_DIGITS),
            escape=escape,
        )


def _format_suspect(suspect: Suspect) -> str:
    """Return the name, the labels and the text of a suspect, one per line."""
    probability = format_percent(suspect.probability)
    lines = (
        suspect.id,
        f"  {suspect.label}, more like {suspect.suggested} ({probability})",
        f"  {suspect.text}",
    )
    return "".join(f"{escape_controls(line)}\n" for line in lines)


DRIFT_METRIC_TITLES = {
    UNKNOWN: "unknown tokens",
    LIKELIHOOD: "log-likelihood per token",
    LENGTH: "log length",
    PREDICTIONS: "answers",
}


def write_drift_history(
    output: str, runs: Sequence[DriftRun], pooled_run: DriftRun | None, n_skipped: int
) -> None:
    """Write the drift of runs of `classify`, oldest first.

    ``pooled_run`` is the drift of all runs together, if the user asked for it. Formats other than
    ``table`` then have only this record. ``n_skipped`` is the number of runs of other models.
    """
    if output == "table":
        _print_drift_history(runs, pooled_run, n_skipped)
        return
    recorded_runs = runs if pooled_run is None else [pooled_run]
    records = [_make_drift_record(run) for run in recorded_runs]
    write_result(output, records, records)


def _make_drift_record(run: DriftRun) -> dict[str, object]:
    """Return a run as a record for JSON, with an inner record per metric."""
    record: dict[str, object] = {
        "time": run.time,
        "since": run.since,
        "runs": run.runs,
        "model": run.model,
        "documents": run.documents,
    }
    for name, drift in run.metrics.items():
        record[name] = {
            "run": drift.run,
            "training": drift.training,
            "distance": drift.distance,
            "chance": drift.p_value,
            "beyond_chance": drift.is_significant,
        }
    return record


def _print_drift_history(
    runs: Sequence[DriftRun], pooled_run: DriftRun | None, n_skipped: int
) -> None:
    """Print a row per run, with * for significant drift, and the changes of the last row."""
    headings, rows, notes = make_drift_table(runs, pooled_run, n_skipped)
    print_blocks(
        format_grid(headings, rows, numeric_columns=range(1, len(headings))),
        format_listing(notes),
    )


def make_drift_table(
    runs: Sequence[DriftRun], pooled_run: DriftRun | None, n_skipped: int
) -> tuple[tuple[str, ...], list[tuple[str, ...]], dict[str, str]]:
    """Return the headings, a row per run and for all runs together, and notes by name.

    The arguments are those of `write_drift_history`.
    """
    named_runs = [(run.time, run) for run in runs]
    last_name = "newest"
    if pooled_run is not None:
        named_runs.append(("together", pooled_run))
        last_name = "together"
    rows = []
    legend = ""
    for name, run in named_runs:
        drifts = [run.metrics[metric] for metric in DRIFT_METRIC_TITLES]
        if any(drift.is_significant for drift in drifts):
            legend = "; * significant"
        rows.append((name, f"{run.documents:,}", *map(_format_distance, drifts)))

    _, last_run = named_runs[-1]
    changes = []
    for metric, title in DRIFT_METRIC_TITLES.items():
        drift = last_run.metrics[metric]
        if drift.is_significant:
            changes.append(f"{title} ({_format_change(drift)})")
    notes = {
        "distance": (
            "difference of the means, in standard deviations of training documents; for "
            f"predictions the proportion that differs{legend}"
        ),
        last_name: f"moved: {', '.join(changes)}" if changes else "nothing moved",
    }
    if n_skipped > 0:
        skipped_runs = format_quantity(n_skipped, "run")
        notes["left out"] = f"{skipped_runs} of another model file, or of an older nbtext"
    headings = ("run", "documents", *DRIFT_METRIC_TITLES.values())
    return headings, rows, notes


def _format_distance(drift: MetricDrift) -> str:
    """Return a distance with * if it is significant, "-" if it is unknown."""
    if drift.distance is None:
        return "-"
    mark = "*" if drift.is_significant else " "
    return f"{drift.distance:.2f}{mark}"


def _format_change(drift: MetricDrift) -> str:
    """Return the means in training and in the run. Predictions have no means, but a distance."""
    if drift.run is None or drift.training is None:
        return f"distance {drift.distance:.2f}"
    return f"{drift.training:.4g} in training, now {drift.run:.4g}"


MAX_CLASS_COLUMNS = 4
"""Columns of the table of proportions by group. They are the largest classes."""

MAX_BAR_CHARS = 20
"""Characters of a bar for the proportion 1."""


def write_prevalence(
    output: str, result: PrevalenceResult, column: str | None, drift: DriftRun | None
) -> None:
    """Write the estimated class proportions of all documents and, with a ``column``, by group.

    A group is the documents with the same value of the column. Tables of groups have the largest
    classes only. Only JSON has the ``drift`` of the documents from training, which may be unknown.
    """
    if output == "table":
        _print_prevalence(result, column)
        return
    record = result.all._asdict()
    row_heading = "label"
    rows: Mapping[str, Any] = result.all.prevalence
    if drift is not None:
        record["drift"] = {name: metric.distance for name, metric in drift.metrics.items()}
    if column is not None:
        record["groups"] = {column: result.groups}
        row_heading = column
        rows = result.groups
    records = [{row_heading: name, **row._asdict()} for name, row in rows.items()]
    write_result(
        output,
        to_json_values(record, JSON_SIGNIFICANT_DIGITS),
        to_json_values(records, JSON_SIGNIFICANT_DIGITS),
    )


def _print_prevalence(result: PrevalenceResult, column: str | None) -> None:
    """Print the proportion of each class, largest first, and a table by group if there are any."""
    block = "#" if is_ascii_terminal() else "█"
    prevalence = result.all.prevalence
    labels = sorted(prevalence, key=lambda label: prevalence[label].proportion, reverse=True)
    classes = [(label, prevalence[label]) for label in labels]
    columns: list[Column[ClassProportion]] = [
        Column("proportion", lambda proportion: proportion.proportion, ".3f"),
        Column("95 % interval", lambda proportion: (proportion.low, proportion.high), ".3f"),
        Column("by counting predictions", lambda proportion: proportion.counted, ".3f"),
        Column("", lambda proportion: block * round(MAX_BAR_CHARS * proportion.proportion)),
    ]

    group_table = ""
    if column is not None and result.groups:
        column_labels = labels[:MAX_CLASS_COLUMNS]
        rows = []
        for value, group in result.groups.items():
            proportions = [_format_proportion(group.prevalence[label]) for label in column_labels]
            rows.append((value, f"{group.documents:,}", *proportions))
        headings = (column, "documents", *column_labels)
        group_table = format_grid(headings, rows, numeric_columns=range(1, len(headings)))
    print_blocks(
        format_listing({"documents": f"{result.all.documents:,}"}),
        format_named_table("class", columns, classes),
        group_table,
    )


def _format_proportion(proportion: ClassProportion) -> str:
    """Return a proportion with its interval in parentheses."""
    interval = format_interval((proportion.low, proportion.high), ".3f")
    return f"{proportion.proportion:.3f}  ({interval})"
