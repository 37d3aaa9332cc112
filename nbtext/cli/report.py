"""`nbtext report`: write an evaluation as a page of HTML."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from nbtext.cli import messages, option, panels
from nbtext.cli.config import PAGE
from nbtext.errors import UsageError
from nbtext.settings import CARD_RECIPE


@panels.command("report")
@option.corpus_argument
@option.model_option
@option.to_option("Write the page to FILE.", PAGE, old_names="-o --output", default="report.html")
@panels.common_option("--title", "output", "Heading of the page.", metavar="TEXT", shown_default="Report on MODEL")
@panels.common_option(
    "--training", "documents",
    "Add a learning curve on this training corpus. The page then also has the accuracy without test documents that are in the corpus too. The corpus is "
    "read as it was in training. The option can be given several times.",
    multiple=True, metavar="CORPUS", type=option.PATH,
)  # fmt: skip
@option.document_options
def command(model_path: str, to: str, title: str | None, **options: Any) -> None:
    """Judge the model on documents whose classes are known and write a page: how good it is, where it errs and why.

    The page is one file of HTML that any browser opens, without network or scripts, and that can be printed. It quotes parts of the documents
    with the surest mistakes.

    \b
    Examples:
      nbtext report corpora/service-desk/test
      nbtext report corpora/service-desk/test --training corpora/service-desk/train
      nbtext report test.csv --model topics.joblib --to topics.html --title Topics
    """
    if to.endswith(".md"):
        raise UsageError(f"--to {to} would not be Markdown: report writes a page of HTML", hint=CARD_RECIPE)
    from nbtext.cli.corpus import check_output_file, corpus_paths, documents_for, leak_watch, rows_of_training
    from nbtext.corpus.collection import Corpus
    from nbtext.evaluation.gathering import gather
    from nbtext.evaluation.learning_curves import curve_of_documents
    from nbtext.report.models import provenance
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.sections import html_page

    model = option.load_model(model_path)
    paths, training = corpus_paths(options), options["training"]
    check_output_file(to, "--to", [model_path, *paths, *training, options["files_from"]])
    if "-" in training:
        raise UsageError("--training is read twice and cannot be standard input", hint="give files")
    leaks = leak_watch(model, paths, options)
    documents = documents_for(model, paths, options, labelled=True)
    curve = None
    if training:
        try:
            again = Corpus(training, model.reading, labelled=True, where=rows_of_training(paths, options))  # problems are reported already
            curve = curve_of_documents(model, again.readable())
        except UsageError as problem:
            messages.warn(f"no learning curve: {problem.message}")
    data = gather(
        model,
        documents.readable(),
        title=title or f"Report on {model_path}",
        provenance=provenance(model, model_path, corpus=options["corpus"], command=shlex.join(["nbtext", *sys.argv[1:]])),
        curve=curve,
        leaks=leaks,
    )
    documents.say_notices()
    write_html(to, html_page(data))
    messages.notice(f"wrote {to}; open it in a browser")
    messages.warn_of_unknown("the model", data.evaluation.unknown_labels)
