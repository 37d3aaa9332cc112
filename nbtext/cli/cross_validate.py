"""`nbtext cross-validate`: judge models of a corpus on documents left out of training."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as option
from nbtext.cli.gates import finish, gate_options, gates
from nbtext.cli.messages import SHOWN
from nbtext.errors import UsageError, listed, quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.cli.corpus import CommandCounts
    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.decision import DecisionRule
    from nbtext.evaluation.cross_validation import Folds, FoldsResult, HeldOutEvaluation
    from nbtext.metrics.results import EvaluationResult

FOLDS = 10
OF_FOLDS = ("folds", "repeats", "seed", "group_column", "time_column")
ANY_CLASSES = 1 << 31
"""In place of the number of classes while it is not known."""


@click.command("cross-validate", short_help="Judge models of a corpus on documents left out of training.")
@option.corpus_argument
@click.option(
    "--folds", type=option.WholeNumber(2), metavar="N",
    help=f"Parts of the corpus, each judged by a model of the others.  [default: {FOLDS}]",
)  # fmt: skip
@click.option("--repeats", type=option.WholeNumber(1), metavar="N", help="Divide the corpus N times anew.  [default: 1]")
@click.option("--seed", type=option.WholeNumber(0), metavar="N", help="Seed of the division into folds.  [default: 0]")
@click.option("--group-column", metavar="COLUMN", help="Documents with the same value in a column are never on both sides.")
@click.option(
    "--time-column", metavar="COLUMN",
    help="Folds are stretches of time, each judged by a model of all documents before it: numbers, or dates and times of ISO 8601 in one zone.",
)  # fmt: skip
@click.option(
    "--leave-one-out", is_flag=True,
    help="Judge every document by the model of all others; terms, smoothing and calibration are chosen once, from all.",
)  # fmt: skip
@option.output_option("table", "json", help_text="Default: table.")
@option.decision_options
@click.option(
    "--predictions", metavar="FILE", shell_complete=option.suggest_files,
    help="Write the answer to every document to FILE, as JSON lines: id, truth, answer, probability. With --repeats, those of one after the other.",
)  # fmt: skip
@gate_options
@option.input_options
@option.training_options
@option.jobs_option
@option.messages_options
def command(corpus: tuple[str, ...], output: str | None, **options: Any) -> int:
    """Divide a labelled corpus into folds, judge each by a model of the others, and print how often and how confidently such models are right.

    Documents are counted once. Everything that training chooses, such as terms and smoothing, is chosen anew for each fold, from the other
    folds. The classes are spread evenly over the folds, unless --group-column or --time-column divide the corpus. No model is written.

    \b
    Example:
      nbtext cross-validate corpora/service-desk/train
      nbtext cross-validate corpora/service-desk/train --folds 5 --repeats 3 --top 200
      nbtext cross-validate corpora/service-desk/train --leave-one-out --fail-under accuracy=0.5
      nbtext cross-validate messages.csv --label-column topic --text-column body --group-column sender --folds 2
    """
    from nbtext.cli.corpus import check_output_file, corpus_paths, read_and_count

    say = option.messages(options)
    if options["leave_one_out"]:
        _refuse_together(options, "leave_one_out", OF_FOLDS)
        if options["top"] is not None:
            say.warn("--leave-one-out judges terms that --top chose with all labels in sight, so figures may be far too good; use folds")
    if options["time_column"] is not None:
        _refuse_together(options, "time_column", ("group_column", "repeats", "seed"))
    with_costs, predictions = options["costs"] is not None, options["predictions"]
    gates(options, n_classes=ANY_CLASSES, with_costs=with_costs)  # most of what may be wrong with them, said before the corpus is read
    paths = corpus_paths(corpus, options)
    if predictions is not None:
        check_output_file(predictions, "--predictions", [*paths, *([options["costs"]] if with_costs else [])])
    columns = [column for column in (options["group_column"], options["time_column"]) if column is not None]
    of_corpus = read_and_count(paths, options, say, columns)
    classes = list(of_corpus.corpus.statistics.classes)
    asked = gates(options, n_classes=len(classes), with_costs=with_costs)
    result, folds, judged = _judge(of_corpus, options, say, option.decision_rule(options, classes, say))
    if predictions is not None:
        _write_predictions(predictions, judged, of_corpus)
    of_corpus.source.say_notices()
    _warn_of_unknown(result, say)
    _print(result, folds, output)
    return finish(asked, result, say)


def _judge(
    of_corpus: CommandCounts, options: Options, say: Messages, rule: DecisionRule
) -> tuple[EvaluationResult, FoldsResult | None, list[HeldOutEvaluation]]:
    """Return all figures, those of the folds unless one document is left out at a time, and the documents judged in each repeat."""
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.evaluation.cross_validation import cross_validate, evaluate_leave_one_out

    if options["leave_one_out"]:
        held_out = evaluate_leave_one_out(of_corpus.corpus.statistics, of_corpus.corpus.documents, of_corpus.settings, rule)
        return held_out.result(), None, [held_out]
    folds, division = _folds(of_corpus, options, say)
    validation = cross_validate(Subsets(of_corpus.corpus.statistics, of_corpus.corpus.documents), of_corpus.settings, folds, rule)
    return validation.result(), validation.folds_result(**division), validation.repeats


def _write_predictions(path: str, judged: list[HeldOutEvaluation], of_corpus: CommandCounts) -> None:
    from nbtext.report.answers import prediction_lines
    from nbtext.store.atomic import replace_file

    predictions = (prediction for repeat in judged for prediction in repeat.predictions())
    replace_file(
        path, lambda file: file.writelines(prediction_lines(predictions, of_corpus.corpus.names, of_corpus.corpus.statistics.classes))
    )


def _warn_of_unknown(result: EvaluationResult, say: Messages) -> None:
    if unknown := result.unknown_labels:
        documents = sum(result.unknown_documents.values())
        say.warn(
            f"without another document of their class to learn from: {quantity(documents, 'document')}, counted as mistakes; of {listed(unknown, SHOWN)}"
        )


def _folds(of_corpus: CommandCounts, options: Options, say: Messages) -> tuple[list[Folds], dict[str, Any]]:
    """Return the folds of each repeat, and how they were made."""
    from nbtext.cli.corpus import warn_of_small_classes
    from nbtext.evaluation.cross_validation import divided

    corpus, n_folds, seed = of_corpus.corpus, options["folds"] or FOLDS, options["seed"] or 0
    column = options["time_column"] or options["group_column"]
    method = "stratified" if column is None else "grouped" if options["time_column"] is None else "time"
    values = [of_document[0] for of_document in corpus.notes if of_document]
    folds = divided(method, n_folds, seed, options["repeats"] or 1, corpus.documents.classes, values, corpus.names)
    if method == "stratified":
        warn_of_small_classes(corpus.statistics, n_folds, say)
    of_column = {} if column is None else {"column": column}
    return folds, {"method": method, **of_column, **({} if method == "time" else {"seed": seed})}


def _print(result: EvaluationResult, folds: FoldsResult | None, output: str | None) -> None:
    if output == "json":
        from nbtext.metrics.results import json_values
        from nbtext.report.forms import json_line

        of_folds = {"method": "leave-one-out", "n": result.n, "repeats": 1} if folds is None else json_values(folds)
        sys.stdout.write(json_line({**json_values(result), "folds": of_folds}))
    else:
        from nbtext.report.evaluations import print_evaluation

        print_evaluation(result, folds=folds)


def _refuse_together(options: Options, asked: str, others: Sequence[str]) -> None:
    """Raise `UsageError` if options were given that the option asked for has no use for; names as in the program."""
    for other in others:
        if options[other] is not None:
            raise UsageError(f"--{asked.replace('_', '-')} and --{other.replace('_', '-')} exclude each other")
