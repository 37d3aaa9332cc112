"""`nbtext cross-validate`: how good models of a corpus are on documents that they were not trained on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.gates import finish, gate_options, gates
from nbtext.cli.messages import SHOWN
from nbtext.cli.options import (
    WholeNumber,
    corpus_argument,
    decision_options,
    decision_rule,
    input_options,
    jobs_option,
    messages,
    messages_options,
    output_option,
    suggest_files,
    training_options,
)
from nbtext.errors import quantity

if TYPE_CHECKING:
    from nbtext.cli.jobs import CountedCorpus
    from nbtext.cli.messages import Messages
    from nbtext.decision import DecisionRule
    from nbtext.evaluation.cross_validation import Folds, HeldOut

FOLDS = 10
OF_FOLDS = ("folds", "repeats", "seed", "group_column", "time_column")
ANY_CLASSES = 1 << 31
"""In place of the number of classes while it is not known."""


@click.command("cross-validate", short_help="Judge models of a corpus on documents left out of training.")
@corpus_argument
@click.option(
    "--folds", type=WholeNumber(2), metavar="N", help=f"Parts of the corpus, each judged by a model of the others.  [default: {FOLDS}]"
)
@click.option("--repeats", type=WholeNumber(1), metavar="N", help="Divide the corpus N times anew.  [default: 1]")
@click.option("--seed", type=WholeNumber(0), metavar="N", help="Seed of the division into folds.  [default: 0]")
@click.option("--group-column", metavar="COLUMN", help="Documents with the same value in a column are never on both sides.")
@click.option(
    "--time-column",
    metavar="COLUMN",
    help="Folds are stretches of time, each judged by a model of all documents before it: numbers, or dates and times of ISO 8601 in one zone.",
)
@click.option(
    "--leave-one-out",
    is_flag=True,
    help="Judge every document by the model of all others; terms, smoothing and calibration are chosen once, from all.",
)
@output_option("table", "json", help_text="Default: table.")
@decision_options
@click.option(
    "--predictions",
    metavar="FILE",
    shell_complete=suggest_files,
    help="Write the answer to every document to FILE, as JSON lines: id, truth, answer, probability. With --repeats, those of one after the other.",
)
@gate_options
@input_options
@training_options
@jobs_option
@messages_options
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
    from nbtext.cli.corpus import check_output_file, corpus_paths
    from nbtext.cli.jobs import read_and_count, refuse_together

    say = messages(options)
    if options["leave_one_out"]:
        refuse_together(options, "leave_one_out", OF_FOLDS)
        if options["top"] is not None:
            say.warn("--leave-one-out judges terms that --top chose with all labels in sight, so figures may be far too good; use folds")
    if options["time_column"] is not None:
        refuse_together(options, "time_column", ("group_column", "repeats", "seed"))
    with_costs, predictions = options["costs"] is not None, options["predictions"]
    gates(options, n_classes=ANY_CLASSES, with_costs=with_costs)  # most of what may be wrong with them, said before the corpus is read
    paths = corpus_paths(corpus, options)
    if predictions is not None:
        check_output_file(predictions, "--predictions", [*paths, *([options["costs"]] if with_costs else [])])
    columns = [column for column in (options["group_column"], options["time_column"]) if column is not None]
    of_corpus = read_and_count(paths, options, say, columns)
    classes = list(of_corpus.statistics.classes)
    asked = gates(options, n_classes=len(classes), with_costs=with_costs)
    summary, judged = _judge(of_corpus, options, say, decision_rule(options, classes, say))
    if predictions is not None:
        _write_predictions(predictions, judged, of_corpus)
    of_corpus.source.say_notices()
    _warn_of_unknown(summary, say)
    _print(summary, output)
    return finish(asked, summary, say)


def _judge(of_corpus: CountedCorpus, options: dict[str, Any], say: Messages, rule: DecisionRule) -> tuple[dict[str, Any], list[HeldOut]]:
    """All figures, and the documents judged in each repeat."""
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.evaluation.cross_validation import cross_validate, leave_one_out

    if options["leave_one_out"]:
        held_out = leave_one_out(of_corpus.statistics, of_corpus.documents, of_corpus.parameters, rule)
        summary = held_out.summary()
        return {**summary, "folds": {"method": "leave-one-out", "n": summary["n"], "repeats": 1}}, [held_out]
    folds, division = _folds(of_corpus, options, say)
    validation = cross_validate(Subsets(of_corpus.statistics, of_corpus.documents), of_corpus.parameters, folds, rule)
    summary = validation.summary()
    return {**summary, "folds": {**division, **summary["folds"]}}, validation.repeats


def _write_predictions(path: str, judged: list[HeldOut], of_corpus: CountedCorpus) -> None:
    from nbtext.report.answers import prediction_lines
    from nbtext.store.atomic import replace_file

    predictions = (prediction for repeat in judged for prediction in repeat.predictions())
    replace_file(path, lambda file: file.writelines(prediction_lines(predictions, of_corpus.names, of_corpus.statistics.classes)))


def _warn_of_unknown(summary: dict[str, Any], say: Messages) -> None:
    if unknown := summary["unknown_labels"]:
        names = f"{', '.join(unknown[:SHOWN])}{' and others' if len(unknown) > SHOWN else ''}"
        documents = sum(summary["unknown_documents"].values())
        say.warn(
            f"without another document of their class to learn from: {quantity(documents, 'document')}, counted as mistakes; of {names}"
        )


def _folds(of_corpus: CountedCorpus, options: dict[str, Any], say: Messages) -> tuple[list[Folds], dict[str, Any]]:
    """The folds of each repeat, and how they were made."""
    import numpy as np

    from nbtext.evaluation.cross_validation import grouped_folds, ordered_folds, ranks, stratified_folds, times_of

    n_folds, seed = options["folds"] or FOLDS, options["seed"] or 0
    values = [of_document[0] for of_document in of_corpus.columns if of_document]
    if options["time_column"] is not None:
        return [ordered_folds(times_of(values, of_corpus.names), n_folds)], {"method": "time", "column": options["time_column"]}
    generators = np.random.default_rng(seed).spawn(options["repeats"] or 1)
    if options["group_column"] is not None:
        groups = ranks(values)
        made = [grouped_folds(groups, n_folds, generator) for generator in generators]
        return made, {"method": "grouped", "column": options["group_column"], "seed": seed}
    made = [stratified_folds(of_corpus.documents.classes, n_folds, generator) for generator in generators]
    statistics = of_corpus.statistics
    small = [label for label, n in zip(statistics.classes, statistics.class_documents.tolist(), strict=True) if n < n_folds]
    if small:
        names = f"{', '.join(small[:SHOWN])}{' and others' if len(small) > SHOWN else ''}"
        say.warn(f"classes with fewer documents than there are folds: {names}")
    return made, {"method": "stratified", "seed": seed}


def _print(summary: dict[str, Any], output: str | None) -> None:
    if output == "json":
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line(summary))
    else:
        from nbtext.report.evaluations import print_evaluation, print_folds

        print_evaluation(summary)
        print_folds(summary["folds"])
