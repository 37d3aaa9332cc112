"""`nbtext classify`: one answer for each document."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.options import (
    Number,
    WholeNumber,
    corpus_argument,
    decision_options,
    decision_rule,
    excel_safe_option,
    input_options,
    jobs_option,
    messages,
    messages_options,
    model_option,
    output_option,
    reading_options,
    require_csv,
    suggest_files,
)
from nbtext.errors import UsageError, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nbtext.evaluation.drift_log import DriftWatch
    from nbtext.model import TextClassifier
    from nbtext.model.scoring import Answer, ScoredBlock
    from nbtext.report.answers import AnswerForm


@click.command("classify", short_help="Answer each document with its class and probability.")
@corpus_argument
@model_option
@output_option("tsv", "csv", "jsonl", "table", help_text="Default: table on a terminal, else tsv (document, class, probability).")
@excel_safe_option
@click.option("--top-k", type=WholeNumber(min=1), metavar="N", help="The N most probable classes of each document (not in tsv).")
@click.option(
    "--scores",
    is_flag=True,
    help="Log joint probabilities and log odds, in nats, of the classes (jsonl only; all unless --top-k is given).",
)
@decision_options
@click.option(
    "--min-typicality",
    type=Number(0, 1),
    default=0.0,
    metavar="SHARE",
    help="No answer to a document that is less likely, token for token, than all but this share of training documents of about its length; "
    "0.001 finds documents of another kind or language.",
)
@click.option(
    "--drift", metavar="FILE", shell_complete=suggest_files,
    help="Add a line to a log, unless there are no documents: what those of this run look like beside those of training; nbtext drift reads it.",
)  # fmt: skip
@click.option("--lines", is_flag=True, help="Documents are the lines of standard input; each is answered at once.")
@click.option("--batch", is_flag=True, help="With --lines: many at a time, for throughput.")
@click.option("--exit-status-abstained", type=WholeNumber(1, 255), metavar="N", help="Status if a document got no answer, instead of 0.")
@input_options
@reading_options
@jobs_option
@messages_options
def command(corpus: tuple[str, ...], model_path: str, **options: Any) -> int:
    """Print the most probable class of each document and its probability, exactly one record per document, in order.

    CORPUS is any number of files and directories, or - for one document on standard input. Documents are read as the model's training
    documents were unless options say otherwise. Where there is no answer the class is empty and the third column says why: impossible,
    empty, no-known-terms, low-probability, atypical, or what went wrong.

    \b
    Example:
      nbtext classify letter.txt inbox/
      nbtext classify - < letter.txt
      nbtext classify messages.txt --format lines --output jsonl --drift drift.log
      tail -f log | nbtext classify --lines
    """
    from nbtext.cli.corpus import Corpus, on_error, reading_of
    from nbtext.model import TextClassifier
    from nbtext.model.scoring import answers_to, scored
    from nbtext.report.answers import write_answers
    from nbtext.text.analyzer import BLOCK_DOCUMENTS

    say = messages(options)
    paths, at_once = _inputs(corpus, options), 1 if options["lines"] and not options["batch"] else BLOCK_DOCUMENTS
    form = _form(options, flush=at_once == 1)
    model = TextClassifier.load(model_path)
    reading = {**reading_of(model, paths, options), **({"format": "lines"} if options["lines"] else {})}
    documents = Corpus(paths, reading, say, labelled=False, on_error=on_error(options), progress=_leaves_room_for_progress(form))
    rule = decision_rule(options, model.classes_, say)
    top_k = min(form.top_k, len(model.classes_))
    abstained, without_terms = 0, 0

    how = {"min_typicality": options["min_typicality"], "top_k": top_k}

    def of_blocks() -> Iterable[ScoredBlock]:
        if at_once == 1:
            return scored(model, documents, at_once)
        from nbtext.cli.jobs import scored_documents

        return scored_documents(model, documents, options["jobs"])

    drift = _drift_watch(model, model_path, options["drift"])

    def answered() -> Iterable[Answer]:
        return answers_to(of_blocks() if drift is None else drift.watched(of_blocks()), model, rule, **how)

    def noticed() -> Iterable[Answer]:
        nonlocal abstained, without_terms
        for answer in answered():
            abstained += answer.abstained is not None
            without_terms += answer.notice is not None
            if answer.problem is not None:
                say.document_failed(answer.id, answer.problem)
            yield answer

    write_answers(noticed(), form._replace(top_k=top_k))
    if drift is not None:
        _append_to_log(drift, options["drift"])
    documents.say_notices()
    if without_terms:
        say.notice(f"no term that the model knows, so the answer is that to an empty document: {quantity(without_terms, 'document')}")
    return say.finish() or (options["exit_status_abstained"] or 0 if abstained else 0)


def _drift_watch(model: TextClassifier, model_path: str, log: str | None) -> DriftWatch | None:
    if log is None:
        return None
    from nbtext.evaluation.drift_log import DriftWatch

    return DriftWatch(model, model_path)


def _append_to_log(drift: DriftWatch, log: str) -> None:
    from nbtext.report.forms import json_line
    from nbtext.store.atomic import append_line

    line = drift.line()
    append_line(log, "" if line is None else json_line(line))


def _leaves_room_for_progress(form: AnswerForm) -> bool:
    """Whether no answers appear on the terminal while documents are read; a table is printed when all are."""
    return form.output == "table" or not sys.stdout.isatty()


def _inputs(corpus: tuple[str, ...], options: dict[str, Any]) -> tuple[str, ...]:
    from nbtext.cli.corpus import corpus_paths

    if options["batch"] and not options["lines"]:
        raise UsageError("--batch goes with --lines")
    if not options["lines"]:
        return corpus_paths(corpus, options)
    if corpus or options["files_from"] is not None:
        raise UsageError("--lines reads standard input", hint="for files use --format lines")
    return ("-",)


def _form(options: dict[str, Any], *, flush: bool) -> AnswerForm:
    from nbtext.report.answers import AnswerForm

    output = options["output"] or ("table" if sys.stdout.isatty() and not flush else "tsv")
    if options["top_k"] and output == "tsv":
        raise UsageError("tsv always has three columns", hint="use --top-k with --output jsonl, csv or table")
    if options["scores"] and output != "jsonl":
        raise UsageError("--scores needs --output jsonl")
    every_class = 1 << 31 if options["scores"] else 0
    return AnswerForm(
        output, options["top_k"] or every_class, options["costs"] is not None, options["scores"], flush, require_csv(options, output)
    )
