"""Tables of comparisons: two models, settings tried, a learning curve, suspects, runs of drift, class shares; changed answers as JSON lines."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any

from nbtext.errors import format_quantity
from nbtext.metrics.outcomes import METRICS
from nbtext.metrics.results import to_json_values
from nbtext.prediction.typicality import LENGTH, LIKELIHOOD, PREDICTIONS, UNKNOWN
from nbtext.report.output_formats import (
    JSON_SIGNIFICANT_DIGITS,
    METRIC_TITLES,
    Column,
    escape_controls,
    escape_controls_on_terminal,
    format_grid,
    format_interval,
    format_listing,
    format_number,
    format_percent,
    format_table,
    is_ascii_terminal,
    print_blocks,
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

    Compared = tuple[str, float | None, float | None, Difference]
    """The title of a figure, that of A, that of B, and their difference."""
    OfTrial = Mapping[str, Any]

CHANGES_SHOWN = 10
CHANGES: Sequence[Column[DisagreementCount]] = (
    Column("true class", lambda change: change.truth),
    Column("answer of A", lambda change: change.a, placeholder="(none)"),
    Column("answer of B", lambda change: change.b, placeholder="(none)"),
    Column("documents", lambda change: change.documents, ","),
)
RIGHT: Sequence[Column[tuple[str, int, int]]] = (
    Column("documents", lambda row: row[0]),
    Column("B right", lambda row: row[1], ","),
    Column("B wrong", lambda row: row[2], ","),
)
COMPARED_FIGURES: Sequence[Column[Compared]] = (
    Column("figure", lambda row: row[0]),
    Column("A", lambda row: row[1], ".4f", placeholder="infinite"),
    Column("B", lambda row: row[2], ".4f", placeholder="infinite"),
    Column("B − A", lambda row: row[3].difference, "+.4f"),
    Column("95 % interval of B − A", lambda row: row[3].interval, "+.4f"),
)


def print_comparison(result: ComparisonResult, name_a: str, name_b: str) -> None:
    """Print a comparison of two models."""
    accuracies = {
        f"accuracy of {name}": f"{format_number(side.accuracy)}  (95 % interval "
        f"{format_interval(side.intervals['accuracy'])})"
        for name, side in (("A", result.a), ("B", result.b))
    }
    figures = (
        (METRIC_TITLES[name], getattr(result.a, name), getattr(result.b, name), found)
        for name, found in result.differences.items()
    )
    right = [
        ("A right", result.table.both_right, result.table.only_a_right),
        ("A wrong", result.table.only_b_right, result.table.both_wrong),
    ]
    print_blocks(
        format_listing({"documents": f"{result.n:,}", "A": name_a, "B": name_b, **accuracies}),
        format_table(COMPARED_FIGURES, figures),
        format_table(RIGHT, right),
        "".join(f"{line}\n" for line in _verdicts(result)),
        format_table(CHANGES, result.changes[:CHANGES_SHOWN], "most frequent changes")
        if result.changed
        else "",
    )


def _verdicts(result: ComparisonResult) -> list[str]:
    """Return sentences on which model is better, and whether beyond chance."""
    if result.identical:
        return ["The two models give the same answers with the same probabilities."]
    only_a = result.table.only_a_right
    only_b = result.table.only_b_right
    test = (
        f"only A is right about {only_a:,}, only B about {only_b:,} (McNemar's exact test, p = "
        f"{result.mcnemar.p_value:.2g})"
    )
    if not only_a and not only_b:
        said = ["Both are right about the same documents."]
    elif result.differences["accuracy"].beyond_chance:
        said = [f"{'B' if only_b > only_a else 'A'} is right more often, beyond chance: {test}."]
    else:
        said = [f"Neither is right more often beyond chance: {test}."]
    alike = []
    for name, found in list(result.differences.items())[1:]:  # after the accuracy
        title = METRIC_TITLES[name].partition(" (")[0]
        if found.beyond_chance:
            difference = found.difference or 0.0
            interval = format_interval(found.interval, "+.4f")
            better = "B" if (difference > 0) == METRICS[name].higher_is_better else "A"
            said.append(
                f"{better} has the better {title}, beyond chance: B − A is {difference:+.4f} "
                f"({interval})."
            )
        elif found.beyond_chance is False:
            alike.append(title)
    if alike:
        said.append(
            "Beyond chance they do not differ in "
            f"{' and '.join([', '.join(alike[:-1]), alike[-1]] if alike[1:] else alike)}."
        )
    said.append(
        f"B answers otherwise than A for {result.changed:,} of {format_quantity(result.n, 'document')}."
    )
    return said


TRIAL_FIGURES = {
    "accuracy": "accuracy",
    "macro F1": "macro_f1",
    "micro F1": "micro_f1",
    "log loss": "log_loss",
}
"""By title, each shown if the trials have it."""

LONG_SETTING = 24
"""Characters of options that leave room for one figure beside them."""


def write_trials(output: str, found: Mapping[str, Any]) -> None:
    """Write the settings tried in a form of output."""
    if output == "table":
        _print_trials(found)
    else:
        write_result(output, found, found["settings"])


def _print_trials(found: Mapping[str, Any]) -> None:
    """Print the settings tried, best first: a table for each stage, which is kept and why, and the command line that trains it again."""
    rows = found["settings"]
    chosen = found["chosen"]
    goal = found["for"]
    written = f"{found['model']}, trained on all documents with the setting marked *"
    corrected = None
    if found["corrected"] is not None:
        corrected = f"{goal} {found['corrected']:.4f}, on documents that had no part in the choice"
    elif chosen["better"]:
        corrected = (
            f"no: the {goal} of the setting marked * is optimistic, since it was chosen by it"
        )
    lines = {
        "by": f"cross-validation, {format_quantity(found['folds'], 'fold')}, seed {found['seed']}, for "
        f"{goal}",
        "documents": f"{found['documents']:,}",
        "settings": f"{len(rows):,} of {found['settings_in_all']:,} tried",
        "model": written if found["model"] else "none: the search was interrupted",
        "corrected": corrected,
    }
    figures = {title: source for title, source in TRIAL_FIGURES.items() if source in chosen}
    if any(len(_setting(row["setting"])) > LONG_SETTING for row in rows):
        figures = {
            title: source for title, source in figures.items() if source == TUNING_METRICS[goal]
        }
    columns: list[Column[OfTrial]] = [Column("", _marked_rank)]
    columns += [_trial_figure(title, source) for title, source in figures.items()]
    columns.append(Column("p", lambda row: row["p_value"], ".3g", placeholder=" "))
    columns.append(Column("options", lambda row: _setting(row["setting"])))
    tables = []
    for (documents, folds), of_stage in groupby(rows, lambda row: (row["documents"], row["folds"])):
        title = (
            f"judged on {_share(documents, found['documents'], 'document')}, "
            f"{_share(folds, found['folds'], 'fold')}"
        )
        tables.append(format_table(columns, of_stage, title))
    ends = (
        _verdict(rows, chosen) if found["model"] else "",
        escape_controls_on_terminal(chosen["command"]),
    )
    print_blocks(format_listing(lines), *tables, *(f"{line}\n" for line in ends if line))


def _marked_rank(row: OfTrial) -> str:
    return f"{row['rank']} *" if row["chosen"] else str(row["rank"])


def _trial_figure(title: str, name: str) -> Column[OfTrial]:
    return Column(title, lambda row: row[name], ".4f", placeholder="infinite")


def _share(n: int, of_all: int, noun: str) -> str:
    """Return a number of so many.

    >>> _share(2000, 16000, "document"), _share(1, 5, "fold")
    ('2,000 of 16,000 documents', '1 of 5 folds')
    """
    return f"{n:,} of {format_quantity(of_all, noun)}"


def _setting(options: Mapping[str, str]) -> str:
    """Return options in short: kinds of models and weightings without their names.

    >>> _setting({"ngrams": "2", "classifier": "complement"}), _setting({})
    ('ngrams 2, complement', 'default')
    """
    named = (
        value if name in ("classifier", "weighting") else f"{name} {value}"
        for name, value in options.items()
    )
    return ", ".join(named) or "default"


def _verdict(rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, Any]) -> str:
    """Return a sentence on which setting is kept, and why."""
    name = _setting(chosen["setting"])
    if len(rows) == 1:
        return ""
    if chosen["better"]:
        return (
            f"Kept is {name}: it is significantly better than the default (p = "
            f"{chosen['p_value']:.3g}, corrected for the number of settings)."
        )
    if all(row["p_value"] is None for row in rows):
        return f"Kept is {name}, the best: the default could not be tried."
    if any(row["better"] for row in rows):
        return (
            "The default is kept: there is no time to train a setting that is significantly better."
        )
    return "No setting is significantly better than the default; the default is kept."


CURVE: Sequence[Column[CurvePoint]] = (
    Column("training documents", lambda point: point.documents, ","),
    Column("accuracy", lambda point: point.accuracy, ".4f"),
    Column("band", lambda point: point.accuracy_band, ".4f"),
    Column("macro F1", lambda point: point.macro_f1, ".4f"),
    Column("band", lambda point: point.macro_f1_band, ".4f"),
    Column("accuracy on these", lambda point: point.training_accuracy, ".4f"),
)


def print_learning_curve(curve: LearningCurve) -> None:
    """Print a row for each number of training documents, and the forecast."""
    print_blocks(
        format_listing(
            {
                "documents": f"{curve.documents:,}",
                "runs": f"{curve.runs:,}, of which 95 % lie in a band",
            }
        ),
        format_table(CURVE, curve.points),
        f"{describe_forecast(curve.documents, curve.forecast.accuracy)}\n",
    )


def describe_forecast(now: int, forecast: Forecast) -> str:
    """Return the forecast of accuracy in words."""
    if forecast.withheld is not None:
        return f"No forecast of accuracy: {forecast.withheld}."
    more = (
        "Twice the documents"
        if forecast.documents == 2 * now
        else f"{format_quantity(forecast.documents - now, 'more document')} like these"
    )
    return (
        f"{more}, {forecast.documents:,}, would bring accuracy {format_number(forecast.value)} (95 % "
        f"interval {format_interval(forecast.interval)}); "
        f"the {now:,} that there are bring {format_number(forecast.now)} by the same law."
    )


SUSPECTS: Sequence[Column[Suspect]] = (
    Column("id", lambda suspect: suspect.id),
    Column("label", lambda suspect: suspect.label),
    Column("suggested", lambda suspect: suspect.suggested),
    Column("log_odds", lambda suspect: suspect.log_odds, ".6g"),
    Column("text", lambda suspect: suspect.text),
)


def write_suspects(
    suspects: Iterable[Suspect], output: str, escape: Callable[[str], str] = str
) -> None:
    """Print a line for each: tsv, csv or jsonl; three as a table; or only the names, each followed by a line end (paths) or by NUL (print0)."""
    if output == "table":
        lines = (
            (
                each.id,
                f"  {each.label}, more like {each.suggested} ({format_percent(each.probability)})",
                f"  {each.text}",
            )
            for each in suspects
        )
        print_blocks(*("".join(f"{escape_controls(line)}\n" for line in each) for each in lines))
    elif output in ("paths", "print0"):
        sys.stdout.writelines(
            f"{each.id}\0" if output == "print0" else f"{escape_controls_on_terminal(each.id)}\n"
            for each in suspects
        )
    else:
        write_records(
            suspects,
            output,
            SUSPECTS,
            to_record=lambda suspect: to_json_values(suspect, JSON_SIGNIFICANT_DIGITS),
            escape=escape,
        )


DRIFT_METRIC_TITLES = {
    UNKNOWN: "unknown tokens",
    LIKELIHOOD: "log-likelihood per token",
    LENGTH: "log length",
    PREDICTIONS: "answers",
}


def write_drift_history(
    output: str, runs: Sequence[DriftRun], together: DriftRun | None, others: int
) -> None:
    """Print runs, oldest first, or one record of all of them ``together``; as a table also what changed. ``others`` are runs left out."""
    if output != "table":
        records = []
        for run in runs if together is None else [together]:
            record = run._asdict()
            del record["figures"]
            figures = {
                name: {**drift._asdict(), "beyond_chance": drift.is_significant}
                for name, drift in run.figures.items()
            }
            records.append(record | figures)
        write_result(output, records, records)
        return
    named = [(run.time, run) for run in runs] + (
        [] if together is None else [("together", together)]
    )
    rows = (
        (
            name,
            f"{run.documents:,}",
            *(
                "-"
                if drift.distance is None
                else f"{drift.distance:.2f}{'*' if drift.is_significant else ' '}"
                for drift in map(run.figures.__getitem__, DRIFT_METRIC_TITLES)
            ),
        )
        for name, run in named
    )
    newest = named[-1][1].figures
    changed = [
        f"{title} ({_change(newest[name])})"
        for name, title in DRIFT_METRIC_TITLES.items()
        if newest[name].is_significant
    ]
    star = (
        "; * more than chance"
        if any(run.figures[key].is_significant for _, run in named for key in DRIFT_METRIC_TITLES)
        else ""
    )
    lines = {
        "distance": "between the means, in standard deviations of training documents; of answers "
        f"the share that differs{star}",
        "newest" if together is None else "together": f"moved: {', '.join(changed)}"
        if changed
        else "nothing moved",
        "left out": f"{format_quantity(others, 'run')} of another model file, or of an older nbtext"
        if others
        else None,
    }
    print_blocks(
        format_grid(
            ("run", "documents", *DRIFT_METRIC_TITLES.values()),
            rows,
            numeric_columns=range(1, 2 + len(DRIFT_METRIC_TITLES)),
        ),
        format_listing(lines),
    )


def _change(drift: MetricDrift) -> str:
    if drift.run is None or drift.training is None:
        return f"distance {drift.distance:.2f}"
    return f"{drift.training:.4g} in training, now {drift.run:.4g}"


CLASSES_SHOWN = 4
"""Classes with a column of their own in the table by column, those of most documents."""

BAR = 20
"""Characters of the bar of all documents."""


def write_prevalence(
    output: str, result: PrevalenceResult, column: str | None, drift: DriftRun | None
) -> None:
    """Print the shares of all classes, and by column, for people those of the largest classes for each value.

    JSON also has the distances of the documents from those of training, if these are known.
    """
    if output != "table":
        distances = (
            {}
            if drift is None
            else {"drift": {name: figure.distance for name, figure in drift.figures.items()}}
        )
        by_column = {} if column is None else {"by": {column: result.by}}
        shares: Mapping[str, Any] = result.all.prevalence if column is None else result.by
        records = [{column or "label": name, **found._asdict()} for name, found in shares.items()]
        record = {**result.all._asdict(), **distances, **by_column}
        write_result(
            output,
            to_json_values(record, JSON_SIGNIFICANT_DIGITS),
            to_json_values(records, JSON_SIGNIFICANT_DIGITS),
        )
        return
    block = "#" if is_ascii_terminal() else "█"
    ordered = sorted(result.all.prevalence.items(), key=lambda item: -item[1].share)
    columns: list[Column[tuple[str, ClassProportion]]] = [
        Column("class", lambda row: row[0]),
        Column("share", lambda row: row[1].share, ".3f"),
        Column("95 % interval", lambda row: (row[1].low, row[1].high), ".3f"),
        Column("by counting answers", lambda row: row[1].counted, ".3f"),
        Column("", lambda row: block * round(BAR * row[1].share)),
    ]
    largest = [label for label, _ in ordered[:CLASSES_SHOWN]]
    by = [
        (
            value,
            f"{found.documents:,}",
            *(
                f"{share.share:.3f}  ({format_interval((share.low, share.high), '.3f')})"
                for share in map(found.prevalence.__getitem__, largest)
            ),
        )
        for value, found in result.by.items()
    ]
    print_blocks(
        format_listing({"documents": f"{result.all.documents:,}"}),
        format_table(columns, ordered),
        format_grid((str(column), "documents", *largest), by, range(1, 2 + len(largest)))
        if by
        else "",
    )
