"""`nbtext report`: write an evaluation as a page of HTML, or a model card."""

from __future__ import annotations

import shlex
import sys
from typing import Any

from nbtext.cli import messages, option, panels
from nbtext.cli.card import card_options, write_card
from nbtext.cli.config import CARD, PAGE
from nbtext.errors import UsageError


@panels.command("report")
@option.corpus_argument
@option.model_option
@option.to_option(
    "Write the page to FILE, or a model card if its name ends in .md.", PAGE + rb"|" + CARD, old_names="-o --output", default="report.html",
)  # fmt: skip
@panels.common_option(
    "--title", "output",
    "Heading of the page, or name of the model in a card.",
    metavar="TEXT", shown_default="Report on MODEL",
)  # fmt: skip
@panels.common_option(
    "--training", "documents",
    "Add a learning curve on this training corpus. The page then also has the accuracy without test documents that are in the corpus too. The corpus is "
    "read as it was in training. The option can be given several times.",
    multiple=True, metavar="CORPUS", type=option.PATH,
)  # fmt: skip
@card_options
@option.document_options
def command(model_path: str, to: str, title: str | None, **options: Any) -> None:
    """Judge the model on documents whose classes are known and write a page: how good it is, where it errs and why.

    The page is one file of HTML that any browser opens, without network or scripts, and that can be printed. It quotes parts of the documents
    with the surest mistakes.

    A file whose name ends in .md becomes a model card in Markdown: what the model was trained on, how good it is, and where it is not. It begins with
    the fields of YAML that model cards usually have: license, language, library_name, pipeline_tag, tags, model-index. Its figures are of the
    documents of CORPUS, or of a saved evaluation; without both it has none. It holds only what the model and the evaluation know.

    \b
    Examples:
      nbtext report corpora/service-desk/test
      nbtext report corpora/service-desk/test --training corpora/service-desk/train
      nbtext report test.csv --model topics.joblib --to topics.html --title Topics
      nbtext report corpora/service-desk/test --to README.md --license mit
      nbtext report --to card.md --title "Service desk"
    """
    is_card = to.endswith(".md")
    for name in ("training",) if is_card else ("evaluation", "name", "dataset", "license"):
        if options[name]:
            raise UsageError(
                f"--{name} and --to {to} exclude each other", hint=f"it is for a {'page' if is_card else 'model card, --to card.md'}"
            )
    if is_card:
        write_card(model_path, to, {**options, "name": options["name"] or title})
        messages.notice(f"wrote {to}")
        return
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
