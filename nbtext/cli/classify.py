"""`nbtext classify`: print one answer for each document."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from nbtext.cli import options as option
from nbtext.errors import UsageError, quantity


@click.command("classify", short_help="Answer each document with its class and probability.")
@option.corpus_argument
@option.model_option
@option.output_option("tsv", "csv", "jsonl", "table", help_text="Default: table on a terminal, else tsv (document, class, probability).")
@option.excel_safe_option
@click.option("--top-k", type=option.WholeNumber(min=1), metavar="N", help="The N most probable classes of each document (not in tsv).")
@click.option(
    "--scores", is_flag=True,
    help="Log joint probabilities and log odds, in nats, of the classes (jsonl only; all unless --top-k is given).",
)  # fmt: skip
@option.decision_options
@click.option(
    "--min-typicality", type=option.Number(0, 1), default=0.0, metavar="SHARE",
    help="No answer to a document that is less likely, token for token, than all but this share of training documents of about its length; "
    "0.001 finds documents of another kind or language.",
)  # fmt: skip
@click.option(
    "--drift", metavar="FILE", shell_complete=option.suggest_files,
    help="Add a line to a log, unless there are no documents: what those of this run look like beside those of training; nbtext drift reads it.",
)  # fmt: skip
@click.option("--lines", is_flag=True, help="Documents are the lines of standard input; each is answered at once.")
@click.option("--batch", is_flag=True, help="With --lines: many at a time, for throughput.")
@click.option(
    "--mail-filter", is_flag=True,
    help="Copy one message from standard input to standard output with a header X-Nbtext: LABEL; probability=P. Whatever fails, it comes out whole.",
)  # fmt: skip
@click.option(
    "--exit-status-abstained", type=option.WholeNumber(1, 255), metavar="N", help="Status if a document got no answer, instead of 0."
)
@option.input_options
@option.reading_options
@option.jobs_option
@option.messages_options
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
      nbtext classify --mail-filter < letter.txt
    """
    from nbtext.cli.corpus import CommandCorpus, corpus_paths, reading_of
    from nbtext.model import TextClassifier
    from nbtext.model.corpus_flow import score_corpus
    from nbtext.model.scoring import AnswerCounts, answers_to
    from nbtext.report.answers import answer_form, write_answers
    from nbtext.report.forms import json_line
    from nbtext.store.atomic import append_line
    from nbtext.text.analyzer import BLOCK_DOCUMENTS

    say = option.messages(options)
    if options["mail_filter"]:
        from nbtext.cli.mail_filter import filter_message

        return filter_message(corpus, model_path, options, say)
    if options["batch"] and not options["lines"]:
        raise UsageError("--batch goes with --lines")
    if options["lines"] and (corpus or options["files_from"] is not None):
        raise UsageError("--lines reads standard input", hint="for files use --format lines")
    paths = ("-",) if options["lines"] else corpus_paths(corpus, options)
    at_once = 1 if options["lines"] and not options["batch"] else BLOCK_DOCUMENTS
    output = options["output"] or ("table" if sys.stdout.isatty() and at_once > 1 else "tsv")
    form = answer_form(output, options["top_k"], scores=options["scores"], costs=options["costs"] is not None, flush=at_once == 1)
    form = form._replace(excel_safe=option.require_csv(options, output))
    model = TextClassifier.load(model_path)
    reading = reading_of(model, paths, options)
    if options["lines"]:
        reading = replace(reading, format="lines")
    keeps_screen_clear = output == "table" or not sys.stdout.isatty()  # while documents are read
    documents = CommandCorpus(paths, reading, say, options, labelled=False, progress=keeps_screen_clear)
    rule, form = option.decision_rule(options, model.classes_, say), form._replace(top_k=min(form.top_k, len(model.classes_)))
    drift = None
    if options["drift"] is not None:
        from nbtext.evaluation.drift_log import DriftWatch

        drift = DriftWatch(model, model_path)
    blocks = score_corpus(model, documents, options["jobs"], at_once)
    watched = blocks if drift is None else drift.watched(blocks)
    answers = answers_to(watched, model, rule, min_typicality=options["min_typicality"], top_k=form.top_k)
    counts = AnswerCounts()
    write_answers(counts.watched(say.reported(answers)), form)
    if drift is not None:
        append_line(options["drift"], "" if (line := drift.line()) is None else json_line(line))
    documents.say_notices()
    if n := counts.without_known_terms:
        say.notice(f"no term that the model knows, so the answer is that to an empty document: {quantity(n, 'document')}")
    return say.finish() or (options["exit_status_abstained"] or 0 if counts.abstained else 0)
