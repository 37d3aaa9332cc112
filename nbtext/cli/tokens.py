"""`nbtext tokens`: show how the words of a document become terms."""

from __future__ import annotations

from nbtext.cli import declarations, shared_options
from nbtext.cli.parameters import ExplicitSettings, parameters_field
from nbtext.cli.shared_options import ANALYSIS_PARAMETERS, QueryDocumentOptions
from nbtext.settings import Settings


@declarations.option_record
class TokensOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    no_model: bool = declarations.option(
        "--no-model",
        "Analyse words by the options on the command line, without a model and without term ids.",
        group="model",
        hidden=True,
    )
    output: str = shared_options.rows_field()
    analysis: ExplicitSettings[Settings] = parameters_field(Settings, only=ANALYSIS_PARAMETERS)


@declarations.command("tokens")
def command(options: TokensOptions, documents: QueryDocumentOptions) -> None:
    """Print how each word of a document becomes a term, or why the word is ignored.

    Each word has its position, the word as written, the word that was analysed, its stem, the id of
    the term in the model, and a reason if the word is not counted: no-letters-or-digits, too-short,
    too-long, encoded-line, stop-word, not-in-model or not-selected.

    With --model none, words are analysed by the options on the command line, without term ids.

    Documents are read like the training documents, unless options differ. Positions are byte
    offsets in the decoded text, as UTF-8; fields, such as mail headers, are lines after the text.
    An n-gram is listed with its first word; in the table, brackets mean that the n-gram is not
    counted. TSV has a line for each word, n-gram and character n-gram: document, start, end, kind,
    form (the word as written), word, term, term id, dropped (the reason).

    \b
    Examples:
      nbtext tokens letter.txt
      nbtext tokens --text "my bin is full"
      nbtext tokens --model none --ngrams 2 --output jsonl - < letter.txt
    """
    from nbtext.cli.corpus import (
        CommandCorpus,
        choose_document_reading,
        locate_documents,
        make_analysis,
    )
    from nbtext.corpus.detection.formats import resolve_reading
    from nbtext.explain.token_trace import TokenTracer
    from nbtext.report.explanations import write_tokens

    documents = locate_documents(documents)
    uses_model = not options.no_model and options.model_path != "none"
    if uses_model:
        model = shared_options.load_model(options.model_path)
        reading = choose_document_reading(model, documents)
        tracer = TokenTracer.from_model(model.fitted)
    else:
        settings = documents.reading.complete_settings
        reading = resolve_reading(settings, documents.paths, labelled=False)
        tracer = TokenTracer(make_analysis(options.analysis, reading))
    source = CommandCorpus(documents, reading, labelled=False, progress=False)
    traces = (
        (document.id, tracer.trace_tokens(document.text, document.fields, document.values))
        for document in source.iter_readable()
    )
    write_tokens(traces, options.output)
    source.report_notices()
