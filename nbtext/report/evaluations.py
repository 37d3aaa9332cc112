"""The confusion table as a small picture for a terminal: the darker a cell, the larger its share of the true class.

Reliability in two lines of block characters: the share of right answers in each bin of confidence, over what was promised.

An evaluation for people: the main figures, the others, a row per class, what was taken for what, and parts of the documents.

The folds of a cross-validation for people: a row for each, and how far they are apart.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from nbtext.metrics.outcomes import METRICS
from nbtext.report.forms import print_blank, print_drawn, print_lines, print_table, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


MOST_CLASSES = 20
"""With more the picture would not fit."""


LONGEST_NAME = 24


CORNER = "true class, by answer"


SHADES = " ·░▒▓█"
"""For a terminal too narrow for numbers: nothing, and shares up to those of `STEPS`, and more."""


STEPS = (0.0, 0.05, 0.25, 0.5, 0.75)


WHITE_FROM = 0.69
"""Root of the share from which white letters have more contrast than black ones."""


_LIGHT, _DARK = (236, 242, 250), (8, 64, 129)


def confusion_rows(summary: Mapping[str, Any]) -> tuple[list[str], list[list[int]]] | None:
    """Labels that occur among documents or answers, and for each the documents by answer, no answer last; None if there are too many labels."""
    labels = [label for label, of in summary["per_class"].items() if of["support"] or of["answered"]]
    if not 1 < len(labels) <= MOST_CLASSES:
        return None
    confusion = summary["confusion"]
    return labels, [[confusion.get(truth, {}).get(answer, 0) for answer in (*labels, "")] for truth in labels]


def heat_map(labels: Sequence[str], rows: Sequence[Sequence[int]], width: int) -> Any:  # noqa: ANN401 - a rich.text.Text, not to be imported at start
    """The table with shaded cells, at most ``width`` columns wide; numbers in the cells, or where they do not fit shades without colour."""
    from rich.text import Text

    unanswered = any(row[-1] for row in rows)
    heads = [*(str(place) for place in range(1, len(labels) + 1)), *(["none"] if unanswered else [])]
    names = [_short(label) for label in labels]
    room = max(map(len, names)) + len(str(len(labels))) + 2
    cell = max(2, *(len(str(n)) for row in rows for n in row), *map(len, heads)) + 1
    numbers = room + cell * len(heads) <= width
    drawn = Text()
    if numbers:
        drawn.append((CORNER if len(CORNER) < room else "").ljust(room) + "".join(head.rjust(cell) for head in heads) + "\n", style="dim")
    for place, (name, row) in enumerate(zip(names, rows, strict=True), 1):
        drawn.append(f"{place:>{len(str(len(labels)))}} {name}".ljust(room))
        total = sum(row) or 1
        for answer, n in enumerate(row if unanswered else row[:-1], 1):
            if numbers:
                drawn.append(" ")
                drawn.append((str(n) if n else "·").rjust(cell - 1), style=cell_style(n / total, right=answer == place) if n else "dim")
            else:
                drawn.append(shade(n / total))
        drawn.append("\n")
    return drawn


def shade(share: float) -> str:
    """A character for a share from 0 to 1, the fuller the larger.

    >>> shade(0), shade(0.01), shade(0.5), shade(1)
    (' ', '·', '▒', '█')
    """
    return SHADES[bisect_left(STEPS, share)]


def cell_style(share: float, *, right: bool) -> str:
    """Background from light to dark by the root of the share, so that few are seen, and letters that stand out on it; bold where right."""
    r, g, b = (round(light + (dark - light) * share**0.5) for light, dark in zip(_LIGHT, _DARK, strict=True))
    letters = "rgb(255,255,255)" if share**0.5 > WHITE_FROM else "rgb(0,0,0)"
    return f"{'bold ' if right else ''}{letters} on rgb({r},{g},{b})"


def _short(label: str) -> str:
    text = visible(label)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


BLOCKS = "▁▂▃▄▅▆▇█"


def block(share: float) -> str:
    """A bar of one character for a share from 0 to 1.

    >>> block(0), block(0.5), block(1)
    ('▁', '▅', '█')
    """
    return BLOCKS[min(int(share * len(BLOCKS)), len(BLOCKS) - 1)]


def reliability_lines(bins: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Names and bars, one for each bin; an empty bin is a space. Where the first two agree, probabilities hold what they promise."""
    return [
        ("promised", "".join(" " if of["confidence"] is None else block(of["confidence"]) for of in bins)),
        ("came true", "".join(" " if of["accuracy"] is None else block(of["accuracy"]) for of in bins)),
        ("documents", "".join(" " if not of["documents"] else block(of["documents"] / max(of["documents"] for of in bins)) for of in bins)),
    ]


CONFUSION_SHOWN = 10


NO_ANSWER = "(no answer)"


def print_evaluation(summary: Mapping[str, Any]) -> None:
    """Print the summary of `nbtext.metrics.Evaluation`; on a terminal with pictures of confusion and reliability."""
    print_lines(_main_figures(summary))
    print_blank()
    print_lines(_other_figures(summary))
    print_blank()
    print_table(
        None,
        ("class", "precision", "recall", "F1", "AUC", "AP", "documents"),
        (
            (
                label,
                *(_figure(of[name]) for name in ("precision", "recall", "f1")),
                *(_known(of[name]) for name in ("roc_auc", "average_precision")),
                f"{of['support']:,}",
            )
            for label, of in summary["per_class"].items()
        ),
        numeric=range(1, 7),
    )
    mistakes = _mistakes(summary)
    if mistakes:
        print_blank()
        print_table("most frequent confusions", ("true class", "answer", "documents"), mistakes[:CONFUSION_SHOWN], numeric=[2])
    for column, slices in summary.get("slices", {}).items():
        print_blank()
        _print_slices(column, slices)
    if sys.stdout.isatty():
        _print_pictures(summary)


def _main_figures(summary: Mapping[str, Any]) -> dict[str, str]:
    lines = {"documents": f"{summary['n']:,}", "accuracy": _with_interval(summary, "accuracy", explained=True)}
    abstained = summary["coverage"] is not None and summary["coverage"] < 1
    if abstained:
        lines["answered"] = f"{_with_interval(summary, 'coverage')} of the documents"
        lines["accuracy of those"] = _with_interval(summary, "answered_accuracy", absent="none")
    lines["macro F1"] = _with_interval(summary, "macro_f1")
    if abstained:
        lines["micro F1"] = _with_interval(summary, "micro_f1")
    if "mean_cost" in summary:
        lines["mean cost"] = _with_interval(summary, "mean_cost")
    lines["log loss"] = _with_interval(summary, "log_loss", unit=" nats") + _of_known(summary, "log_loss")
    lines["Brier score"] = _with_interval(summary, "brier")
    lines["calibration error"] = _with_interval(summary, "ece")
    leaks = summary.get("leaks")
    if leaks is not None and leaks["exact"] + leaks["near"]:
        without = leaks["without"]
        lines["in training too"] = f"{leaks['exact'] + leaks['near']:,}  ({leaks['exact']:,} with the same words, {leaks['near']:,} nearly)"
        lines["accuracy without"] = (
            "-" if without is None else "{:.4f}  ({:.4f} to {:.4f})".format(without["accuracy"], *without["interval"])
        )
    baselines = summary["baselines"]
    if baselines is not None:
        largest, prior = baselines["largest_class"], baselines["class_prior"]
        lines["baseline accuracy"] = f"{_figure(largest['accuracy'])}  (always {largest['label']}; macro F1 {_figure(largest['macro_f1'])})"
        lines["baseline log loss"] = f"{_figure(prior['log_loss'])} nats  (always the class prior; Brier score {_figure(prior['brier'])})"
    return lines


def _other_figures(summary: Mapping[str, Any]) -> dict[str, str]:
    return {
        metric.title: _with_interval(summary, name) if metric.has_interval else _known(summary[name])
        for name, metric in METRICS.items()
        if metric.title and name in summary
    }


def _print_slices(column: str, slices: Mapping[str, Any]) -> None:
    rows = [
        (
            value,
            f"{of['n']:,}",
            _figure(of["accuracy"]),
            "{:.4f} to {:.4f}".format(*of["interval"]),
            _figure(of["macro_f1"]),
            _figure(of["ece"]),
        )
        for value, of in slices.items()
    ]
    heads = (column, "documents", "accuracy", "95 % interval", "macro F1", "calibration error")
    print_table(f"by {column}", heads, rows, numeric=range(1, 6))


def _print_pictures(summary: Mapping[str, Any]) -> None:
    print_blank()
    print_lines({f"{len(summary['reliability'])} bins of probability": "", **dict(reliability_lines(summary["reliability"]))})
    table = confusion_rows(summary)
    if table is not None:
        print_blank()
        print_drawn(lambda width: heat_map(*table, width))


def _mistakes(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    cells = [(n, truth, answer) for truth, row in summary["confusion"].items() for answer, n in row.items() if truth != answer]
    return [(truth, answer or NO_ANSWER, f"{n:,}") for n, truth, answer in sorted(cells, key=lambda cell: (-cell[0], cell[1:]))]


def _with_interval(summary: Mapping[str, Any], name: str, *, unit: str = "", absent: str = "infinite", explained: bool = False) -> str:
    """A figure with its interval, if it has one: ``explained`` says which."""
    value, interval = summary[name], summary["intervals"].get(name)
    text = f"{absent if value is None else _figure(value)}{unit if value is not None else ''}"
    if interval is None or value is None:
        return text
    return f"{text}  ({'95 % interval ' if explained else ''}{interval[0]:.4f} to {interval[1]:.4f})"


def _of_known(summary: Mapping[str, Any], name: str) -> str:
    """What the figure is without the documents whose class the model does not know, if there are such."""
    known = summary["known"]
    if not summary["unknown_labels"] or known[name] is None:
        return ""
    return f"  ({_figure(known[name])} for documents of known classes, of which there are {known['n']:,})"


def _figure(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _known(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


FOLDS_SHOWN = 20
"""With more folds there is no row for each."""


def print_folds(folds: Mapping[str, Any]) -> None:
    """Print what `nbtext.evaluation.cross_validation.CrossValidation` says of its folds; nothing of leave-one-out, which has none."""
    each = folds.get("each", ())
    if not each:
        return
    print_blank()
    several = f", {folds['repeats']:,} times" if folds["repeats"] > 1 else ""
    of_column = f" by {folds['column']}" if "column" in folds else ""
    lines = {"folds": f"{folds['n']:,}{several} ({folds['method']}{of_column})"}
    for name, title in (("accuracy", "accuracy of a fold"), ("macro_f1", "macro F1 of a fold")):
        lines[title] = f"{folds[name]['mean']:.4f} on average, standard deviation {folds[name]['sd']:.4f}"
    print_lines(lines)
    if len(each) > FOLDS_SHOWN:
        return
    print_blank()
    rows = (
        (
            *([f"{fold['repeat']}"] if folds["repeats"] > 1 else []),
            f"{fold['fold']}",
            *(f"{fold[name]:,}" for name in ("training_documents", "documents", "terms")),
            f"{fold['smoothing']:.3g}",
            *(f"{fold[name]:.4f}" for name in ("accuracy", "macro_f1")),
        )
        for fold in each
    )
    heads = ("fold", "trained on", "judged", "terms", "smoothing", "accuracy", "macro F1")
    columns = ("repeat", *heads) if folds["repeats"] > 1 else heads
    print_table(None, columns, rows, numeric=range(len(columns)))
