"""`nbtext explain`: show the contribution of each word to the prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.config import PAGE_START
from nbtext.cli.shared_options import QueryDocumentOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from nbtext.corpus.document import Document


@declarations.option_record
class ExplainOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    against: str | None = declarations.common_option(
        "--against",
        "Compare the predicted class with LABEL.",
        group="answer",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
        shown_default="the runner-up",
    )
    why_not: str | None = declarations.common_option(
        "--why-not",
        "Instead of contributions, print words to remove so that LABEL is predicted.",
        group="answer",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
    )
    output: str = shared_options.rows_field()
    limit: int = shared_options.limit_field(
        "Show N words in a table or page.", 20, old_names="--top"
    )
    to: str | None = shared_options.to_field(
        "Write the contributions to FILE, as a page of HTML.", PAGE_START, old_names="--html"
    )


@declarations.command("explain")
def command(documents: QueryDocumentOptions, options: ExplainOptions) -> None:
    """Print the prediction for each document and the contribution of each word, or words to remove for another prediction.

    Contributions are parts of the log odds, log p(predicted class) - log p(other class), in nats
    (natural logarithms). Documents are read as classify reads them.

    The log odds are the sum of the contributions of the class prior (for bernoulli with the absence
    of every term), of the words, and of the values of columns. The contribution of an n-gram is
    divided equally among its words, the contribution of a term among its occurrences; a character
    n-gram belongs to its word. Words that are not counted have 0 and the reason.

    With several labels per document, each predicted label is compared with all documents without
    the label.

    Calibration comes last and changes the probability, not the order of the classes. For gaussian,
    the contribution of a word is how much the log odds fall if the word is removed; the line rest
    is the log odds minus the sum of all contributions. If every class has probability 0, the output
    has a reason for each class.

    TSV has a line for each contribution: document, predicted class, other class, kind (prior, word,
    attribute for a value of a column, rest, log-odds, calibrated, none), name, nats, count,
    positions, note. Positions are byte offsets in the decoded text, as UTF-8; jsonl has this text
    too. On a terminal, words for the predicted class are bold on blue, words for the other class
    underlined on orange.

    --why-not removes all occurrences of the word that counts most against LABEL, and scores the
    document again, until LABEL is predicted (alone or with other labels) or 20 words are removed.
    Then nbtext puts back each word with which LABEL is still predicted. So every removed word is
    needed, but other words may do as well. Costs and thresholds are ignored. TSV has a line for
    each removed word: document, predicted class, LABEL, word, occurrences, the probability of LABEL
    without the words. Without a solution, a seventh column has the reason: answered-so (LABEL is
    already predicted), no-prior (the class prior of LABEL is 0) or not-enough.

    \b
    Examples:
      nbtext explain letter.txt
      nbtext explain --text "my bin is full"
      nbtext explain letter.txt --against taxes-and-fees --output jsonl
      nbtext explain letter.txt --why-not taxes-and-fees
      nbtext explain inbox/ --to explained.html
    """
    explain(documents, options)


def explain(documents: QueryDocumentOptions, options: ExplainOptions) -> None:
    """Print explanations, or write them as a page of HTML. `nbtext why-not` calls this too."""
    from nbtext.cli.corpus import check_output_file, locate_documents, open_documents
    from nbtext.explain.counterfactual import WhyNotFinder
    from nbtext.explain.explanation import Explainer
    from nbtext.report.explanations import write_explanations, write_why_not

    documents = locate_documents(documents)
    check_output_file(options.to, "--to", [options.model_path, *documents.paths])
    model = shared_options.load_model(options.model_path)
    # The type of explanations depends on --why-not.
    explain_documents: Callable[[Iterable[Document]], Iterable[Any]]
    if options.why_not is None:
        explain_documents = Explainer(model.fitted, options.against).explain
    else:
        explain_documents = WhyNotFinder(model.fitted, options.why_not).find
    # Progress would mix with explanations on the terminal.
    source = open_documents(model, documents, labelled=False, progress=options.to is not None)
    explanations: Iterator[Any] = messages.report_failures(explain_documents(source))
    if options.to is not None:
        from nbtext.report.page.explanation_page import build_explanations_page
        from nbtext.report.page.markup import write_html

        write_html(options.to, build_explanations_page(explanations, options.limit))
    elif options.why_not is not None:
        write_why_not(explanations, options.output)
    else:
        write_explanations(explanations, options.output, options.limit)
    source.report_notices()
