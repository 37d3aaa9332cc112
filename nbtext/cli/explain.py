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
        group="prediction",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
        shown_default="the runner-up",
    )
    why_not: str | None = declarations.common_option(
        "--why-not",
        "Instead of contributions, print words to remove so that LABEL is predicted.",
        group="prediction",
        metavar="LABEL",
        shell_complete=shared_options.suggest_classes,
    )
    by_hand: bool = declarations.option(
        "--by-hand",
        "Instead of contributions, print Bayes' rule with its numbers, as on a blackboard.",
        group="prediction",
    )
    output: str = shared_options.rows_field(extra_forms="latex markdown")
    limit: int | None = shared_options.limit_field(
        "Show the N words and values of columns that contribute most, and the sum of the others.",
        old_names="--top",
        shown_default="20 in a table or page, else all",
    )
    to: str | None = shared_options.to_field(
        "Write the contributions to FILE, as a page of HTML.", PAGE_START, old_names="--html"
    )


@declarations.command("explain")
def command(documents: QueryDocumentOptions, options: ExplainOptions) -> None:
    """Print the prediction for each document and the contribution of each word; with --why-not, words to remove for another prediction.

    Contributions are parts of the log odds, log p(predicted class) - log p(other class), in nats
    (natural logarithms). The other class is the second most probable class, or --against LABEL.
    Documents are read as classify reads them.

    The log odds are the sum of the contributions of the class prior, of the words, and of the
    values of columns. For bernoulli, the class prior includes the score of an empty document, in
    which all terms are absent. The contribution of a term is divided equally among its occurrences.
    The contribution of an n-gram is divided equally among its words; that of a character n-gram
    goes to the word around it. If a word is not counted, its contribution is 0, and the column note
    has the reason.

    With several labels per document, the log odds compare having a predicted label with not having
    it.

    Calibration comes last and changes the probability, not the order of the classes. For gaussian,
    the contribution of a word is how much the log odds fall if the word is removed. If every class
    has probability 0, the output has a reason for each class.

    TSV has a line for each contribution: document, predicted class, other class, kind, name, nats,
    count, positions, note. The kinds are:

    \b
      prior       class prior
      word        word
      attribute   value of a column
      others      sum of the words and values beyond --limit
      rest        log odds minus the lines above (gaussian)
      log-odds    log odds
      calibrated  log odds after calibration
      none        no prediction; see the column note

    Positions are byte offsets in the text as UTF-8. The jsonl output contains this text.
    On a terminal, words for the predicted class are bold on blue, words for the other class
    underlined on orange.

    --why-not repeats two steps: remove all occurrences of the word that counts most against LABEL,
    and score the document again. It stops when LABEL is predicted (alone or with other labels) or
    20 words are removed. Then nbtext puts back words that are not needed. So each
    word in the result is needed, but other words can have the same effect. Costs and
    thresholds are ignored. TSV has a line for each removed word: document, predicted class, LABEL,
    word, occurrences, the probability of LABEL without the words. Without a solution, a seventh
    column has the reason: already-predicted, no-prior (the class prior
    of LABEL is 0) or not-enough.

    --by-hand prints the class prior, a fraction (or for columns of numbers, a density) for each
    term and column, the products, their sum and the posterior, as a table, latex or markdown. Of
    more than 30 factors it shows those that differ most between the classes. The last line is the
    effect of calibration.

    \b
    Examples:
      nbtext explain letter.txt
      nbtext explain --text "my bin is full"
      nbtext explain letter.txt --against taxes-and-fees --output jsonl
      nbtext explain letter.txt --why-not taxes-and-fees
      nbtext explain letter.txt --by-hand --output latex
      nbtext explain inbox/ --to explained.html
    """
    explain(documents, options)


def explain(documents: QueryDocumentOptions, options: ExplainOptions) -> None:
    """Print explanations, or write them as a page of HTML. `nbtext why-not` calls this too."""
    from nbtext.cli.corpus import check_output_file, locate_documents, open_documents
    from nbtext.explain.counterfactual import WhyNotFinder
    from nbtext.explain.explanation import Explainer
    from nbtext.report.explanations import DEFAULT_TOP, write_explanations, write_why_not

    documents = locate_documents(documents)
    check_output_file(options.to, "--to", [options.model_path, *documents.paths])
    model = shared_options.load_model(options.model_path)
    # The type of explanations depends on --why-not and --by-hand.
    explain_documents: Callable[[Iterable[Document]], Iterable[Any]]
    if options.by_hand:
        from nbtext.explain.by_hand import BayesCalculator

        explain_documents = BayesCalculator(model.fitted).calculate
    elif options.why_not is None:
        explain_documents = Explainer(model.fitted, options.against).explain
    else:
        explain_documents = WhyNotFinder(model.fitted, options.why_not).find
    # Progress would mix with explanations on the terminal.
    source = open_documents(model, documents, labelled=False, progress=options.to is not None)
    explanations: Iterator[Any] = messages.report_failures(explain_documents(source))
    if options.to is not None:
        from nbtext.report.page.explanation_page import build_explanations_page
        from nbtext.report.page.markup import write_html

        top = DEFAULT_TOP if options.limit is None else options.limit
        write_html(options.to, build_explanations_page(explanations, top))
    elif options.by_hand:
        from nbtext.report.calculations import write_calculations

        write_calculations(explanations, options.output)
    elif options.why_not is not None:
        write_why_not(explanations, options.output, model.fitted.fingerprint)
    else:
        fingerprint = model.fitted.fingerprint
        write_explanations(explanations, options.output, options.limit, fingerprint)
    source.report_notices()
