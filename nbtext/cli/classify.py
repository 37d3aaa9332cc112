"""`nbtext classify`: print one prediction for each document."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.config import DRIFT_LOG_START, OutputPath
from nbtext.cli.prediction import (
    ClassifyPredictionOptions,
    build_rules_with_guarantees,
    score_for_prediction,
)
from nbtext.cli.shared_options import JobOptions, QueryDocumentOptions
from nbtext.errors import NbtextError, UsageError, format_quantity
from nbtext.report.output_formats import format_json_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.drift_log import DriftRecorder
    from nbtext.model import TextClassifier
    from nbtext.report.predictions import PredictionWriter
    from nbtext.scoring import AnswerCounts
    from nbtext.settings import Reading


_MAIL_FILTER_OPTION = "--mail-filter"


class _Classify(declarations.Command):
    """A command that, with ``--mail-filter``, copies the message even if other options are wrong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. If they are wrong and the run is a mail filter, copy the message."""
        try:
            return super().parse_args(ctx, list(args))
        except (click.UsageError, NbtextError):
            if not ctx.resilient_parsing and self._is_mail_filter(ctx, args):
                from nbtext.cli.mail_filter import pass_through

                pass_through()
            raise

    def _is_mail_filter(self, ctx: click.Context, args: Sequence[str]) -> bool:
        """Return True if ``--mail-filter`` is among the arguments, or a default they allow."""
        if _MAIL_FILTER_OPTION in args:
            return True
        from nbtext.cli.config import is_switched_on
        from nbtext.compatibility import are_compatible_options

        if not is_switched_on("mail_filter", ctx, args):
            return False
        option_names = {argument.partition("=")[0] for argument in args}
        given_options = [
            max(param.opts, key=len)
            for param in self.params
            if not option_names.isdisjoint(param.opts)
        ]
        return all(
            are_compatible_options("classify", _MAIL_FILTER_OPTION, option)
            for option in given_options
        )


@declarations.option_record
class ClassifyOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    output: str | None = shared_options.rows_field(
        "tsv has a row for each document: document, class, probability or reason; csv has the "
        "reason in a column of its own.",
        default=None,
        shown_default="table on a terminal, else tsv, or csv with --keep or --limit",
    )
    excel_safe: bool = shared_options.excel_safe_field()
    limit: int | None = shared_options.limit_field(
        "Print the N most probable classes of each document, in table, csv or jsonl.",
        old_names="--top-k",
    )
    scores: bool = declarations.option(
        "--scores",
        "In jsonl, add the log joint probability and the log odds of each class against all other "
        "classes, in nats (natural logarithms). With --limit, only the N most probable classes "
        "have them.",
        group="prediction",
    )
    drift: str | None = declarations.option(
        "--drift",
        "Append to FILE how much the documents differ from the training documents. nbtext drift "
        "reads FILE. A run without documents adds nothing.",
        group="output",
        type=OutputPath(DRIFT_LOG_START),
    )
    lines: bool = declarations.common_option(
        "--lines",
        "Classify each line of standard input as a document, as soon as the line arrives. "
        "For lines of files, use --format lines.",
        group="documents",
    )
    batch: bool = declarations.option(
        "--batch",
        "With --lines, classify many lines at a time, which is faster.",
        group="documents",
        hidden=True,
    )
    exit_status_abstained: int | None = declarations.option(
        "--exit-status-abstained",
        "Exit with N instead of 0 if any document has no predicted class.",
        group="process",
        type=shared_options.WholeNumber(1, 255),
    )
    mail_filter: bool = declarations.option(
        _MAIL_FILTER_OPTION,
        "Copy one message from standard input to standard output, and add a header with its "
        "class. The header is X-Nbtext: LABEL; probability=P. If anything fails, the whole "
        "message is copied, with reason=error in the header.",
        group="output",
    )
    keep: str | None = declarations.common_option(
        "--keep",
        "Print these columns or keys of the input, separated by commas, instead of the id. all: "
        "every column of a table, or the whole record of JSON lines. csv and tsv then begin with "
        "a header.",
        group="output",
        metavar="COLUMNS",
    )

    @property
    def is_immediate(self) -> bool:
        """Whether each document is answered as soon as it is read."""
        return self.lines and not self.batch


@declarations.command("classify", _Classify)
def command(
    documents: QueryDocumentOptions,
    options: ClassifyOptions,
    prediction: ClassifyPredictionOptions,
    processes: JobOptions,
) -> int | None:
    """Print the most probable class of each document and its probability.

    CORPUS is any number of files and directories, or - for one document on standard input.
    Documents are read with the options of training, unless options here differ; labels and weights
    are ignored. The output has one record per document, in the order of the input, except
    for unreadable documents with --on-error skip.

    If no class is predicted, the class is empty, and the third column (in csv the last column) has
    the reason:

    \b
      low-probability  below --min-probability (or --costs)
      low-precision    too improbable for --min-precision
      no-label         no label is probable enough
      empty            no text, in place of a reason above
      no-known-terms   no known word, in place of one above
      atypical         atypical document (--min-typicality)
      empty-set        no class is in the set (--coverage)
      impossible       every class has probability 0

    The reason no-label is for several labels per document. For an unreadable document, the reason
    is the error.

    --coverage predicts a set of classes. The class column lists them, most probable first,
    separated by |. The probability column has the probability of the first class. In jsonl, the key
    labels has the set.

    \b
    Examples:
      nbtext classify letter.txt inbox/
      nbtext classify --text "my bin is full"
      nbtext classify - < letter.txt
      nbtext classify messages.csv --keep all > answered.csv
      nbtext classify inbox/ --coverage 0.95
      nbtext classify inbox/ --min-precision 0.9
      nbtext classify messages.txt --format lines --output jsonl --drift drift.log
      tail -f log | nbtext classify --lines
      tail -f log.jsonl | nbtext classify --lines --format jsonl --id-column id
      nbtext classify --mail-filter < letter.txt
    """
    from nbtext.cli.corpus import CommandCorpus, locate_documents
    from nbtext.scoring import AnswerCounts, iter_answers

    if options.mail_filter:
        from nbtext.cli.mail_filter import filter_message

        filter_message(options.model_path, documents, prediction)
        return None
    documents = replace(documents, paths=("-",)) if options.lines else locate_documents(documents)
    if options.limit and options.output == "tsv":
        raise UsageError(
            "tsv always has three columns", hint="use --limit with --output jsonl, csv or table"
        )
    model = shared_options.load_model(options.model_path)
    reading, columns = _choose_reading(options, documents, model)
    writer = _make_writer(options, prediction, model, columns)
    # A table is printed at the end. Other predictions would mix with progress on the terminal.
    has_progress = writer.output == "table" or not sys.stdout.isatty()
    source = CommandCorpus(
        documents, reading, labelled=False, columns=columns, progress=has_progress
    )
    rule, set_rule = build_rules_with_guarantees(prediction, model)
    writer = writer._replace(show_costs=rule.costs is not None)
    recorder = _make_drift_recorder(options, model)
    block_size = 1 if options.is_immediate else None  # None: large blocks, which are faster
    # Blocks and answers are iterators: documents are read when their predictions are written.
    blocks = score_for_prediction(model, source, documents, prediction, processes.jobs, block_size)
    if recorder is not None:
        blocks = recorder.observe(blocks)
    answers = iter_answers(
        blocks,
        model.fitted,
        rule,
        min_typicality=prediction.min_typicality,
        top_k=writer.top_k,
        sets=set_rule,
    )
    answers = messages.report_failures(answers)
    counts = AnswerCounts()
    writer.write(counts.observe(answers))

    # The recorder and the counts are complete only now.
    if recorder is not None and options.drift is not None:
        _append_drift(options.drift, recorder)
    source.report_notices()
    return _report_counts(counts, options.exit_status_abstained)


def _choose_reading(
    options: ClassifyOptions, documents: QueryDocumentOptions, model: TextClassifier
) -> tuple[Reading, tuple[str, ...]]:
    """Return how to read the documents, and the columns of ``--keep`` (none without that option)."""
    from nbtext.cli.corpus import choose_document_reading, detect_reading

    reading = choose_document_reading(model, documents, lines=options.lines)
    if options.keep is None:
        return reading, ()
    reading = detect_reading(reading, documents.paths, labelled=False)
    return reading, _list_kept_columns(options.keep, documents.paths[0], reading, options.output)


def _make_writer(
    options: ClassifyOptions,
    prediction: ClassifyPredictionOptions,
    model: TextClassifier,
    columns: tuple[str, ...],
) -> PredictionWriter:
    """Return the writer of predictions. It does not write expected costs."""
    from nbtext.report.predictions import PredictionWriter

    output = options.output or _choose_output(options, columns)
    return PredictionWriter(
        output,
        top_k=_count_printed_classes(options, model),
        show_scores=options.scores,
        flush=options.is_immediate,
        escape=shared_options.make_cell_formatter(output, is_excel_safe=options.excel_safe),
        input_columns=columns,
        coverage=prediction.coverage,
        posterior_type=model.fitted.posterior_type,
    )


def _make_drift_recorder(options: ClassifyOptions, model: TextClassifier) -> DriftRecorder | None:
    """Return the recorder of ``--drift``, or None without that option."""
    if options.drift is None:
        return None
    from nbtext.evaluation.drift_log import DriftRecorder

    return DriftRecorder(model, options.model_path)


def _report_counts(counts: AnswerCounts, exit_status_abstained: int | None) -> int | None:
    """Report documents without known terms, and return the exit status.

    The status is ``exit_status_abstained`` if a document got no answer and nothing failed. None
    means that the reported failures determine the status.
    """
    if counts.n_without_known_terms:
        messages.notify(
            "predicted like an empty document, because the model knows none of its terms: "
            f"{format_quantity(counts.n_without_known_terms, 'document')}"
        )
    if counts.n_abstained and not messages.has_failures():
        return exit_status_abstained
    return None


def _append_drift(path: str, recorder: DriftRecorder) -> None:
    """Append the line of this run to the drift log."""
    from nbtext.store.atomic import append_line

    record = recorder.to_record()
    # A run without documents has no line. The empty line checks that the log can be written.
    append_line(path, "" if record is None else format_json_line(record))


def _list_kept_columns(
    keep: str, path: str, reading: Reading, output: str | None
) -> tuple[str, ...]:
    """Return the columns that ``--keep`` names.

    The columns of the first file are those of all files. If JSON lines are written with all keys of
    JSON lines, the only column is the whole record.
    """
    from nbtext.corpus.detection.formats import read_column_names
    from nbtext.corpus.document import RECORD_COLUMN

    if keep != "all":
        return tuple(keep.split(","))
    if reading.format == "jsonl" and output in (None, "jsonl"):
        return (RECORD_COLUMN,)
    return read_column_names(path, reading)


def _choose_output(options: ClassifyOptions, columns: tuple[str, ...]) -> str:
    """Return the output format if ``--output`` does not name one."""
    from nbtext.corpus.document import RECORD_COLUMN

    if RECORD_COLUMN in columns:
        return "jsonl"
    if sys.stdout.isatty() and not options.is_immediate:
        return "table"
    if columns or options.limit:
        return "csv"
    return "tsv"


def _count_printed_classes(options: ClassifyOptions, model: TextClassifier) -> int:
    """Return the number of most probable classes to print, or 0 for only the predicted class."""
    n_classes = len(model.classes)
    if options.limit:
        return min(options.limit, n_classes)
    return n_classes if options.scores else 0
