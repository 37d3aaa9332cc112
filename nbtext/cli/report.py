"""`nbtext report`: write an evaluation as a page of HTML."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli.leaks import LeakWatch
from nbtext.cli.messages import SHOWN, Messages
from nbtext.cli.options import corpus_argument, input_options, messages, messages_options, model_option, reading_options, suggest_files
from nbtext.errors import UsageError, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.model import TextClassifier

DEFAULT_OUTPUT = "report.html"


@click.command("report", short_help="Write an evaluation as a page of HTML.")
@corpus_argument
@model_option
@click.option(
    "-o", "--output", metavar="FILE", default=DEFAULT_OUTPUT, show_default=True, shell_complete=suggest_files,
    help="The page; it is replaced as a whole.",
)  # fmt: skip
@click.option("--title", metavar="TEXT", help="Heading of the page.  [default: Report on and the name of the model]")
@click.option(
    "--training", multiple=True, metavar="CORPUS", shell_complete=suggest_files,
    help="What the model was trained on, read as it was then: adds a learning curve, and the accuracy without documents that are in it too; "
    "several allowed.",
)  # fmt: skip
@input_options
@reading_options
@messages_options
def command(corpus: tuple[str, ...], model_path: str, output: str, title: str | None, **options: Any) -> int:
    """Judge the model on documents whose classes are known and write a page that shows how good it is, where it errs and why.

    The page is one file of HTML that any browser opens, without network or scripts, and that prints. It quotes parts of the documents that
    the model was surest about and got wrong.

    \b
    Example:
      nbtext report corpora/service-desk/test
      nbtext report corpora/service-desk/test --training corpora/service-desk/train
      nbtext report test.csv --model topics.joblib --output topics.html --title "Topics of messages"
    """
    from nbtext.cli.corpus import CommandCorpus, check_output_file, corpus_paths, on_error, reading_of
    from nbtext.evaluation.gathering import gather
    from nbtext.model import TextClassifier
    from nbtext.report.models import provenance
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.sections import html_page

    say = messages(options)
    model = TextClassifier.load(model_path)
    paths = corpus_paths(corpus, options)
    lists = [options["files_from"]] if options["files_from"] else []
    check_output_file(output, "--output", [model_path, *paths, *options["training"], *lists])
    if "-" in options["training"]:
        raise UsageError("--training is read twice and cannot be standard input", hint="give files")
    leaks = LeakWatch(model, options["training"], paths, say, on_error(options))
    documents = CommandCorpus(paths, reading_of(model, paths, options), say, labelled=True, on_error=on_error(options))
    data = gather(
        model,
        leaks.watched(documents.readable()),
        title=title or f"Report on {model_path}",
        provenance=provenance(model, model_path, corpus=corpus, command=shlex.join(["nbtext", *sys.argv[1:]])),
        curve=_learning_curve(model, options["training"], say) if options["training"] else None,
        leaks=leaks.result,
    )
    documents.say_notices()
    write_html(output, html_page(data))
    if unknown := data.evaluation.unknown_labels:
        say.warn(f"the model does not know the labels {listed(unknown, SHOWN)}")
    return say.finish()


def _learning_curve(model: TextClassifier, training: Sequence[str], say: Messages) -> LearningCurve | None:
    """Return the curve of a corpus, or None with a warning if it is too small. The corpus was read before, so problems are reported already."""
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.counts.counting import count_documents
    from nbtext.evaluation.learning_curves import Resampling, learning_curve
    from nbtext.model.corpus_flow import Corpus
    from nbtext.model.training import looked_up

    documents = Corpus(training, model.reading, labelled=True)
    try:
        subsets = Subsets(*count_documents(documents.labelled_texts(), model.analysis))
        return learning_curve(subsets, looked_up(model.analysis), Resampling(repeats=1))
    except UsageError as problem:
        say.warn(f"no learning curve: {problem.message}")
        return None
