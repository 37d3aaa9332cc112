"""`nbtext cross-validate`: evaluate models of a corpus on held-out documents."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.gates import GateOptions, parse_gates, report_gate_failures
from nbtext.cli.prediction import DecisionOptions, build_decision_rule
from nbtext.cli.shared_options import JobOptions, TrainingDocumentOptions, TrainingOptions
from nbtext.errors import format_quantity, join_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.evaluation.cross_validation import CrossValidation, HeldOutEvaluation
    from nbtext.metrics.results import EvaluationResult, FoldsResult
    from nbtext.model.parallel_corpus import CountedCorpus


@declarations.option_record
class FoldOptions:
    """Options for the division of the corpus into folds."""

    folds: int = declarations.common_option(
        "--folds",
        "Divide the corpus into N parts.",
        group="documents",
        type=shared_options.WholeNumber(2),
        default=10,
    )
    repeats: int = declarations.option(
        "--repeats",
        "Draw the folds N times.",
        group="documents",
        type=shared_options.WholeNumber(1),
        default=1,
    )
    seed: int = shared_options.seed_field("Seed of the division into folds.", group="documents")
    group_column: str | None = declarations.option(
        "--group-column",
        "Put all documents with the same value of COLUMN into the same fold.",
        group="documents",
        metavar="COLUMN",
    )
    time_column: str | None = declarations.option(
        "--time-column",
        "Divide the corpus by time, and train on the documents before each fold. COLUMN has "
        "numbers, or dates and times of ISO 8601 in one time zone.",
        group="documents",
        metavar="COLUMN",
    )
    leave_one_out: bool = declarations.option(
        "--leave-one-out",
        "Use each document as a fold. Terms, smoothing and "
        "calibration are chosen once, from all documents.",
        group="documents",
    )

    @property
    def column(self) -> str | None:
        """The column that divides the corpus, or None if no column does."""
        return self.time_column or self.group_column  # both exclude each other

    @property
    def columns(self) -> list[str]:
        """The columns to read with each document: the column that divides the corpus, if any."""
        return [] if self.column is None else [self.column]

    @property
    def method(self) -> str:
        """The method of `nbtext.evaluation.cross_validation.validate_corpus`."""
        if self.time_column:
            return "time"
        if self.group_column:
            return "grouped"
        return "leave-one-out" if self.leave_one_out else "stratified"


@declarations.option_record
class OutputOptions:
    """Options for the output."""

    output: str = shared_options.output_field(
        "table tsv csv json jsonl",
        "json: all metrics; tsv, csv, jsonl: a row for each class.",
    )
    all: bool = shared_options.all_field()
    to: str | None = shared_options.page_field()
    predictions: str | None = declarations.common_option(
        "--predictions",
        "Write every prediction to FILE as JSON lines. A line has id, truth, answer and "
        "probability. The lines are in the order of the repeats.",
        group="output",
        type=shared_options.SCORED_DOCUMENTS_PATH,
    )


@declarations.command("cross-validate")
def command(
    documents: TrainingDocumentOptions,
    division: FoldOptions,
    output: OutputOptions,
    decision: DecisionOptions,
    gate_options: GateOptions,
    processes: JobOptions,
    training: TrainingOptions,
) -> int | None:
    """Divide a corpus into folds, evaluate on each fold a model of the other folds, and print the metrics.

    All choices of training, such as terms and smoothing, are repeated for each fold, on the other
    folds. The classes are spread evenly over the folds, unless --group-column or --time-column
    divides the corpus. Documents are counted once. No model is written.

    \b
    Examples:
      nbtext cross-validate corpora/service-desk/train
      nbtext cross-validate corpora/service-desk/train --folds 5 --repeats 3
      nbtext cross-validate corpora/service-desk/train --leave-one-out --top 200
      nbtext cross-validate messages.csv --group-column sender --folds 2
    """
    from nbtext.cli.corpus import (
        check_output_file,
        locate_documents,
        read_and_count,
        warn_small_classes,
    )
    from nbtext.evaluation.cross_validation import validate_corpus

    _warn_of_selected_terms(division, training)
    has_costs = decision.costs is not None
    # Report mistakes in gates before the corpus is read, as far as they do not depend on classes.
    parse_gates(gate_options, has_costs=has_costs)
    documents = locate_documents(documents)
    inputs = [*documents.paths, decision.costs]
    check_output_file(output.predictions, "--predictions", inputs)
    check_output_file(output.to, "--to", [*inputs, documents.files_from, output.predictions])
    counted = read_and_count(documents, training.settings, processes.jobs, columns=division.columns)
    table = counted.corpus.counts.table
    gates = parse_gates(gate_options, table.n_classes, has_costs=has_costs)
    classes = list(counted.corpus.counts.labelled_statistics.classes)
    rule = build_decision_rule(decision, classes, table.posterior_type)
    # `validate_corpus` raises an error if there are more folds than documents.
    if division.method == "stratified" and division.folds <= table.n_documents:
        warn_small_classes(table, division.folds)
    validation = validate_corpus(
        counted.corpus,
        counted.settings,
        rule,
        method=division.method,
        n_folds=division.folds,
        seed=division.seed,
        repeats=division.repeats,
        jobs=processes.jobs,
    )
    result = validation.result()
    if output.predictions is not None:
        _write_predictions(validation.repeats, counted.corpus, output.predictions)
    counted.source.report_notices()
    _report_unlearnable(result)
    folds = _describe_folds(validation, division)
    _write_result(output, result, folds)
    return report_gate_failures(gate.find_failure(result) for gate in gates)


def _write_result(
    output: OutputOptions, result: EvaluationResult, folds: FoldsResult | None
) -> None:
    """Print the metrics, or write the page of ``--to``. Without ``folds``, it is leave-one-out."""
    if output.to is None:
        from nbtext.report.evaluations import write_evaluation

        write_evaluation(
            output.output, result, show_all=output.all, folds=folds, leave_one_out=folds is None
        )
        return
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.result_pages import build_cross_validation_page

    command_line = shared_options.format_command_line()
    write_html(output.to, build_cross_validation_page(result, folds, command_line))


def _warn_of_selected_terms(division: FoldOptions, training: TrainingOptions) -> None:
    """Warn of ``--leave-one-out`` with ``--top``: it selects terms by the labels of all documents."""
    if division.leave_one_out and "top" in training.settings:
        messages.warn(
            "--top used the labels of all documents, so these metrics may be far too good; use "
            "folds"
        )


def _write_predictions(
    repeats: Iterable[HeldOutEvaluation], corpus: CountedCorpus, path: str
) -> None:
    """Write the held-out predictions of each repeat as JSON lines."""
    from nbtext.report.predictions import format_prediction_lines
    from nbtext.store.atomic import replace_file

    predictions = chain.from_iterable(repeat.to_predictions() for repeat in repeats)
    kind = corpus.counts.table.posterior_type
    lines = format_prediction_lines(predictions, corpus.names, kind)
    replace_file(path, lambda file: file.writelines(lines))


def _describe_folds(validation: CrossValidation, division: FoldOptions) -> FoldsResult | None:
    """Return the division and the metrics of each fold, or None for leave-one-out."""
    if not validation.folds:
        return None
    # Folds by time are not drawn at random.
    seed = None if division.method == "time" else division.seed
    return validation.folds_result(division.method, division.column, seed)


def _report_unlearnable(result: EvaluationResult) -> None:
    """Report documents whose class has no training documents when they are held out."""
    n_documents = sum(result.unknown_documents.values())
    if n_documents:
        labels = join_names(list(result.unknown_documents), messages.MAX_LISTED)
        messages.warn(
            "counted as mistakes, because the other folds have no document of their class: "
            f"{format_quantity(n_documents, 'document')} of {labels}"
        )
