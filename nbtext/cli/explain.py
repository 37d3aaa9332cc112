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
        "Compare the predicted class with this class.",
        group="answer",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
        shown_default="the runner-up",
    )
    why_not: str | None = declarations.common_option(
        "--why-not",
        "Instead of contributions, print words without which LABEL would be predicted.",
        group="answer",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
    )
    output: str = shared_options.rows_field()
    limit: int = shared_options.limit_field(
        "Show N words in table and page.", 20, old_names="--top"
    )
    to: str | None = shared_options.to_field(
        "Write a page of HTML to FILE instead.", PAGE_START, old_names="--html"
    )


@declarations.command("explain")
def command(documents: QueryDocumentOptions, options: ExplainOptions) -> None:
    """Print the prediction for each document and the contribution of each word, or what would change it.

    Contributions are parts of the log odds of the predicted class against another class, in nats.
    Documents are read as classify reads them.

    The log odds are the sum of the part without any word (the class prior; for bernoulli also the
    absence of every term), the words, and the columns. An n-gram is divided equally among its words;
    a character n-gram belongs to its word; a term that occurs several times is divided equally among
    its occurrences. Words that are not counted have 0 and the reason.

    With several labels per document, each predicted label is explained against all documents without
    it. --why-not LABEL then finds words without which LABEL is among the predicted labels.

    Calibration comes last and changes the probability, not the order of the classes. The scores of
    gaussian are not a sum: a word has the loss of log odds if it is removed, and the line rest has
    the difference. If a document is impossible, the output names a reason for each class.

    TSV has a line for each part: document, predicted class, other class, kind (prior, word,
    attribute, rest, log-odds, calibrated, none), name, nats, count, positions, note. Positions are
    bytes of the text in UTF-8, after reading; jsonl has this text too. On a terminal, words for the
    predicted class are bold on blue, words for the other class underlined on orange.

    --why-not removes all occurrences of the word that counts most against LABEL, and scores the
    document again, until LABEL is predicted; at most 20 words. Then it puts back each word without
    which LABEL is predicted all the same. So every removed word is needed, but other words may do as
    well. Costs and thresholds are ignored. TSV has a line for each word: document, predicted class,
    LABEL, word, occurrences, the probability of LABEL without the words. If there is no solution, a
    seventh column has the reason: answered-so, no-prior, not-enough.

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
