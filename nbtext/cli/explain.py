"""`nbtext explain`: show what each word of a document adds to the prediction."""

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
        "Compare the answer with this class.",
        group="answer",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
        shown_default="the runner-up",
    )
    why_not: str | None = declarations.common_option(
        "--why-not",
        "Print which words to remove to make LABEL the answer, instead of contributions.",
        group="answer",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
    )
    output: str = shared_options.rows_field()
    limit: int = shared_options.limit_field(
        "List N words in table and page.", 20, old_names="--top"
    )
    to: str | None = shared_options.to_field(
        "Write a page of HTML to FILE instead.", PAGE_START, old_names="--html"
    )


@declarations.command("explain")
def command(documents: QueryDocumentOptions, options: ExplainOptions) -> None:
    """Print the answer to each document and what each of its words contributed to it, or what would change it.

    Contributions are parts of the log odds of the answer over another class, in nats. Documents are
    read as classify reads them.

    The log odds are a sum: what the classes have without any word (the class prior; for bernoulli
    also the absence of every term), the words, and the attributes besides the text. An n-gram is
    shared equally by its words; a character n-gram belongs to its word; a term that occurs several
    times is shared equally by its occurrences. Words that do not count have 0 and the reason.

    If documents have several labels, each label of the answer is explained against the rest, the
    documents without it; calibration then makes probabilities of the log odds of all labels
    together. --why-not LABEL looks for words without which LABEL is among those of the answer.

    Calibration comes last and changes the probability, not the order of the classes. The scores of
    gaussian are no sum: a word has what the log odds lose without it, and a line of its own holds
    the rest. If maximum likelihood finds a document impossible, table, jsonl and page name one word
    for each class that rules it out.

    TSV has a line for each part: document, answer, other class, kind (prior, word, attribute, rest,
    log-odds, calibrated, none), name, nats, count, places, note. Places are bytes of the text in
    UTF-8, after reading; jsonl has that text too. On a terminal words for the answer are bold on
    blue, words for the other class underlined on orange.

    --why-not takes out the word that speaks most against LABEL, with all its occurrences, and
    scores the document again, until LABEL is the answer; at most 20 words. Then it puts back each
    word without whose removal LABEL is the answer too. So with any one of the words back it is not,
    but fewer words may do, and where 20 are not enough others may be. The answer is that of
    classify without costs and thresholds. Values besides the text stay as they are. TSV has a line
    for each word: document, answer, LABEL, word, occurrences, the probability of LABEL without the
    words; or without a word and with a seventh column, why there is none: answered-so, no-prior,
    not-enough.

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
