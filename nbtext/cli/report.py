"""`nbtext report`: write an evaluation as a page of HTML."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.config import PAGE_START
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import DocumentOptions
from nbtext.errors import UsageError
from nbtext.settings import MODEL_CARD_HINT

if TYPE_CHECKING:
    from nbtext.evaluation.learning_curves import LearningCurve
    from nbtext.model import TextClassifier


@declarations.option_record
class ReportOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    to: str = shared_options.to_field(
        "Write the page to FILE.", PAGE_START, old_names="-o --output", default="report.html"
    )
    title: str | None = declarations.common_option(
        "--title",
        "Heading of the page.",
        group="output",
        metavar="TEXT",
        shown_default="Report on MODEL",
    )
    learning_curve: tuple[str, ...] = declarations.common_option(
        "--learning-curve",
        "Add a learning curve of this training corpus, and the accuracy without test documents "
        "that are also in the training corpus. The training corpus is read as in training. The "
        "option can be repeated.",
        group="documents",
        multiple=True,
        metavar="CORPUS",
        type=INPUT_PATH,
        old_names="--training",
    )


@declarations.command("report")
def command(documents: DocumentOptions, options: ReportOptions) -> None:
    """Evaluate the model on documents whose classes are known, and write a page: metrics, mistakes and reasons.

    The page is one file of HTML that any browser opens, without network or scripts, and that can be
    printed. The page quotes parts of the documents with the most probable mistakes.

    \b
    Examples:
      nbtext report corpora/service-desk/test
      nbtext report test.csv --model topics.joblib --learning-curve messages.csv
      nbtext report test.csv --model topics.joblib --to topics.html --title Topics
    """
    if options.to.endswith(".md"):
        raise UsageError(
            f"--to {options.to} would not be Markdown: report writes a page of HTML",
            hint=MODEL_CARD_HINT,
        )
    from nbtext.cli.corpus import (
        check_output_file,
        locate_documents,
        make_leak_checker,
        open_documents,
    )
    from nbtext.evaluation.report_data import gather_report_data
    from nbtext.report.models import build_provenance
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.sections import build_report_page

    model = shared_options.load_model(options.model_path)
    documents = locate_documents(documents)
    inputs = [options.model_path, *documents.paths, *options.learning_curve, documents.files_from]
    check_output_file(options.to, "--to", inputs)
    if "-" in options.learning_curve:
        raise UsageError("--learning-curve cannot be standard input", hint="give files")
    leak_watch = make_leak_checker(model, documents, options.learning_curve)
    source = open_documents(model, documents, labelled=True)
    curve = _compute_learning_curve(model, documents, options.learning_curve)
    command_line = shlex.join(["nbtext", *sys.argv[1:]])
    provenance = build_provenance(
        model, options.model_path, corpus_paths=documents.corpus, command=command_line
    )
    data = gather_report_data(
        model,
        source.iter_readable(),
        title=options.title or f"Report on {options.model_path}",
        provenance=provenance,
        curve=curve,
        leaks=leak_watch,
    )
    source.report_notices()
    write_html(options.to, build_report_page(data))
    messages.notify(f"wrote {options.to}; open it in a browser")
    messages.warn_unknown_labels("the model", data.evaluation.unknown_labels)


def _compute_learning_curve(
    model: TextClassifier, documents: DocumentOptions, training: tuple[str, ...]
) -> LearningCurve | None:
    """Return the learning curve on the corpus of ``--learning-curve``.

    Return None without that option, or with a warning if the corpus does not allow a curve.
    """
    if not training:
        return None
    from nbtext.cli.corpus import choose_training_rows
    from nbtext.corpus.collection import Corpus
    from nbtext.evaluation.learning_curves import compute_document_curve

    # The first reading, for the check of leaks, has reported the problems of the corpus.
    corpus = Corpus(
        training,
        model.reading,
        labelled=True,
        condition=choose_training_rows(training, documents),
    )
    try:
        return compute_document_curve(model, corpus.iter_readable())
    except UsageError as problem:
        messages.warn(f"no learning curve: {problem.message}")
        return None
