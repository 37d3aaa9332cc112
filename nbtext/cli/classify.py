"""`nbtext classify`: print one answer for each document."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli import messages, option, panels
from nbtext.cli.config import DRIFT, OutputPath
from nbtext.errors import NbtextError, UsageError, quantity
from nbtext.report.forms import json_line


class _Classify(panels.Command):
    """A command that passes a message through if its options are wrong."""

    def make_context(self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any) -> click.Context:
        is_filter = "--mail-filter" in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except (click.UsageError, NbtextError):
            if is_filter:
                from nbtext.cli.mail_filter import pass_through

                pass_through()
            raise


@panels.command("classify", _Classify)
@option.asked_options
@option.rows_option("tsv has document, class and probability, csv also the reason if there is no class.", default=None)
@option.excel_safe_option
@option.limit_option("Print the N most probable classes of each document, in a pipe as csv. Not in tsv.", old_names="--top-k")
@panels.option(
    "--scores", "answer",
    "In jsonl, add log joint probabilities and log odds of the classes. They are in nats, and of all classes unless --limit is given.",
)  # fmt: skip
@option.answer_options
@panels.option(
    "--min-typicality", "answer",
    "Give no answer to documents unlike those of training. Such a document is less likely per token than all but this SHARE of training documents of "
    "about its length; 0.001 finds documents of another kind or language.",
    type=option.Number(0, 1), default=0.0, show_default=False, metavar="SHARE",
)  # fmt: skip
@panels.option(
    "--drift", "output",
    "Append to FILE how the documents differ from those of training. nbtext drift reads it. A run without documents adds nothing.",
    type=OutputPath(DRIFT),
)  # fmt: skip
@panels.common_option("--lines", "documents", "Answer each line of standard input at once, as a document.")
@panels.option("--batch", "documents", "With --lines, answer many lines at a time, which is faster.", hidden=True)
@panels.option("--exit-status-abstained", "process", "Exit with N, not 0, if a document got no answer.", type=option.WholeNumber(1, 255))
@panels.option(
    "--mail-filter", "output",
    "Copy one message from standard input to standard output with a header of its class. The header is X-Nbtext: LABEL; probability=P. If anything "
    "fails, the message is copied whole with reason=error in the header.",
)  # fmt: skip
@panels.common_option(
    "--keep", "output",
    "Print these columns or keys of the input, comma-separated, instead of the id. all: every column of a table, or the whole record of JSON lines. "
    "csv and tsv then begin with a header.",
    metavar="COLUMNS",
)  # fmt: skip
@option.jobs_option
@option.document_options
def command(model_path: str, output: str | None, limit: int | None, **options: Any) -> int | None:
    """Print the most probable class of each document and its probability.

    There is exactly one record per document, in the order of the input. CORPUS is any number of files and directories, or - for one document on
    standard input. Documents are read like those of training unless options say otherwise. If there is no answer, the class is empty and the
    third column, in csv the last, gives the reason: impossible, empty, no-known-terms, low-probability, low-precision, no-label, empty-set, atypical, or an error.

    With --coverage the label lists the classes of the set, most probable first, separated by |. The probability is that of the first. JSON lines
    have the set as labels.

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
    from nbtext.cli.corpus import CommandCorpus, corpus_paths, reading_of, recognised
    from nbtext.corpus.document import WHOLE_RECORD
    from nbtext.corpus.reading import column_names
    from nbtext.model.corpus_work import score_corpus
    from nbtext.ragged import BLOCK_DOCUMENTS
    from nbtext.report.answers import AnswerForm
    from nbtext.scoring import AnswerCounts, answers_to

    if options["mail_filter"]:
        from nbtext.cli.mail_filter import filter_message

        filter_message(model_path, options)
        return None
    paths = ("-",) if options["lines"] else corpus_paths(options)
    at_once = 1 if options["lines"] and not options["batch"] else BLOCK_DOCUMENTS
    if limit and output == "tsv":
        raise UsageError("tsv always has three columns", hint="use --limit with --output jsonl, csv or table")
    model = option.load_model(model_path)
    reading = reading_of(model, paths, options)
    kept: tuple[str, ...] = ()
    if (keep := options["keep"]) is not None:
        reading = recognised(reading, paths, labelled=False)
        whole = reading.format == "jsonl" and output in (None, "jsonl")  # all columns of a line of JSON are the line itself
        kept = tuple(keep.split(",")) if keep != "all" else (WHOLE_RECORD,) if whole else column_names(paths[0], reading)
    output = output or (
        "jsonl" if WHOLE_RECORD in kept else "table" if sys.stdout.isatty() and at_once > 1 else "csv" if kept or limit else "tsv"
    )
    safe = option.safe_cells(options, output)
    documents = CommandCorpus(
        paths, reading, options, labelled=False, columns=kept,
        progress=output == "table" or not sys.stdout.isatty(),  # while documents are read nothing else is drawn
    )  # fmt: skip
    rule, sets = option.answer_rules(options, model)
    top_k = min(limit or len(model.classes) * options["scores"], len(model.classes))
    form = AnswerForm(
        output, top_k, rule.costs is not None, options["scores"], at_once == 1, safe, kept, options["coverage"], model.fitted.kind
    )
    drift = None
    if options["drift"] is not None:
        from nbtext.evaluation.drift_log import DriftWatch

        drift = DriftWatch(model, model_path)
    blocks = score_corpus(model.fitted, documents, options["jobs"], at_once)
    if options["prior_from"]:
        from nbtext.cli.shares import for_prior

        blocks = for_prior(blocks, model, options)
    watched = blocks if drift is None else drift.watched(blocks)
    answers = answers_to(watched, model.fitted, rule, min_typicality=options["min_typicality"], top_k=top_k, sets=sets)
    counts = AnswerCounts()
    form.write(counts.watched(messages.reported(answers)))
    if drift is not None:
        from nbtext.store.atomic import append_line

        append_line(options["drift"], "" if (line := drift.line()) is None else json_line(line))
    documents.say_notices()
    if n := counts.without_known_terms:
        messages.notice(f"answered like an empty document, since the model knows none of its terms: {quantity(n, 'document')}")
    return options["exit_status_abstained"] if counts.abstained and not messages.any_failed() else None
