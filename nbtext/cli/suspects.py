"""`nbtext suspects`: find training documents whose label may be wrong."""

from __future__ import annotations

from dataclasses import replace

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import parameter_field
from nbtext.cli.shared_options import JobOptions, TrainingCorpusOptions, TrainingOptions
from nbtext.errors import format_quantity
from nbtext.settings import NULL

MAX_TABLE_DOCUMENTS = 20
"""Maximum number of documents in a table without ``--limit``."""


_NULL_FOR_PATHS = replace(
    NULL, meaning="Paths in --files-from and in the output of --paths end with NUL."
)


@declarations.option_record
class SuspectsDocumentOptions(TrainingCorpusOptions):
    """Labelled documents to train on. ``--null`` applies to ``--paths`` too."""

    null: bool = parameter_field(_NULL_FOR_PATHS, is_listed_last=True)


@declarations.option_record
class SuspectsOptions:
    """Options that only this command has."""

    output: str = shared_options.rows_field(
        "tsv has a row for each document: document, label, suggested class, log odds, beginning of "
        "the text."
    )
    excel_safe: bool = shared_options.excel_safe_field()
    paths: bool = declarations.common_option(
        "--paths",
        "Print only the paths of the documents, one per line; with --null, a NUL follows each "
        "path, for xargs -0.",
        group="output",
    )
    print0: bool = declarations.option(
        "--print0",
        "Print only the paths, each followed by NUL, for xargs -0.",
        group="output",
        hidden=True,
    )
    limit: int | None = shared_options.limit_field(
        f"Print at most N documents, by default {MAX_TABLE_DOCUMENTS} in a table, else all."
    )
    min_log_odds: float = declarations.common_option(
        "--min-log-odds",
        "Print only documents with log odds above X, in nats. 2.3 is ten to one.",
        group="output",
        type=shared_options.NumberInRange(0),
        default=0.0,
        show_default=False,
        metavar="X",
    )


@declarations.command("suspects")
def command(
    documents: SuspectsDocumentOptions,
    options: SuspectsOptions,
    processes: JobOptions,
    training: TrainingOptions,
) -> None:
    """Print the documents of a labelled corpus that look more like another class, the most suspicious first.

    Each document is scored by a model that was not trained on it, with the given options of train.
    The suggested class is the most probable class other than the label. The log odds are log
    p(suggested class) - log p(label), in nats (natural logarithms). A printed document may have a
    wrong label, two topics, or no words that are typical of its class. If a class has only one
    document, this document is never printed. With several labels per document, the suggestion is
    one change: a label to add, because it is probably missing, or a label to remove, because it is
    probably wrong.

    \b
    Examples:
      nbtext suspects corpora/service-desk/train
      nbtext suspects corpora/service-desk/train --min-log-odds 2.3 --paths
      nbtext suspects corpora/service-desk/train -n 5 --paths -0 | xargs -0 head
    """
    from nbtext.cli.corpus import locate_documents, read_and_count
    from nbtext.evaluation.label_errors import find_suspects
    from nbtext.model.parallel_corpus import note_excerpt
    from nbtext.report.comparisons import write_suspects

    if "top" in training.settings:
        messages.warn("--top used all labels, so wrong labels look right; remove it")
    output = _choose_output(options, documents)
    escape_cell = shared_options.make_cell_formatter(output, is_excel_safe=options.excel_safe)
    limit = options.limit
    if limit is None and output == "table":
        limit = MAX_TABLE_DOCUMENTS
    counted = read_and_count(
        locate_documents(documents), training.settings, processes.jobs, note=note_excerpt
    )
    counts, document_ids, excerpts = counted.corpus
    suspects = find_suspects(
        counts.table, counts.documents, counted.settings, options.min_log_odds, processes.jobs
    )
    counted.source.report_notices()
    classes = counts.labelled_statistics.classes
    named_suspects = suspects.iterate_named(document_ids, excerpts, classes, limit)
    write_suspects(named_suspects, output, escape_cell)
    messages.notify(
        "more probable in another class than in their own: "
        f"{format_quantity(suspects.rows.size, 'document')} of {len(document_ids):,}"
    )


def _choose_output(options: SuspectsOptions, documents: SuspectsDocumentOptions) -> str:
    """Return ``paths``, ``print0`` (paths with NUL), or the format of ``--output``."""
    if options.print0 or (options.paths and documents.null):
        return "print0"
    if options.paths:
        return "paths"
    return options.output
