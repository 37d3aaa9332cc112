"""`nbtext suspects`: find training documents whose label may be wrong."""

from __future__ import annotations

from typing import Any

from nbtext.cli import messages, option, panels
from nbtext.errors import quantity

ON_SCREEN = 20
"""Documents of a table, unless another number is given."""


@panels.command("suspects")
@option.corpus_argument
@option.rows_option("tsv has document, label, suggested class, log odds and the beginning of the text.")
@option.excel_safe_option
@panels.common_option(
    "--paths", "output",
    "Print only the paths of the documents, one a line; with --null each followed by NUL, for xargs -0.",
)  # fmt: skip
@panels.option("--print0", "output", "Print only the paths, each followed by NUL, for xargs -0.", hidden=True)
@option.limit_option(f"Print at most N documents, by default {ON_SCREEN} in a table, else all.")
@panels.common_option(
    "--min-log-odds", "answer",
    "Print only documents with log odds above X, in nats. 2.3 is ten to one.",
    type=option.Number(0), default=0.0, show_default=False, metavar="X",
)  # fmt: skip
@option.corpus_options
@option.jobs_option
def command(output: str, limit: int | None, **options: Any) -> None:
    """Print the documents of a labelled corpus that look more like another class, the most suspicious first.

    Each document is judged by the model of all others, trained with the options of train. The log odds are those of the most probable other
    class, the suggested one, against the label. Such a document may have a wrong label, two topics, or nothing that shows its class.
    The only document of a class is never printed. If documents have several labels, the suggestion has one label less, or one more: the one most in doubt.

    \b
    Examples:
      nbtext suspects corpora/service-desk/train
      nbtext suspects corpora/service-desk/train --min-log-odds 2.3 --paths
      nbtext suspects corpora/service-desk/train -n 5 --paths -0 | xargs -0 head
    """
    from nbtext.cli.corpus import corpus_paths, read_and_count
    from nbtext.evaluation.label_errors import suspects
    from nbtext.model.corpus_work import beginning_of
    from nbtext.report.comparisons import write_suspects

    if options["top"] is not None:
        messages.warn("--top saw all labels, so wrong labels look right; leave it out")
    is_null = options["print0"] or (options["paths"] and options["null"])
    form = "print0" if is_null else "paths" if options["paths"] else output
    safe, limit = option.safe_cells(options, form), limit or (ON_SCREEN if form == "table" else None)
    (counts, names, texts), settings, _, source = read_and_count(corpus_paths(options), options, note=beginning_of)
    found = suspects(counts.statistics, counts.documents, settings, options["min_log_odds"], options["jobs"])
    source.say_notices()
    write_suspects(found.named(names, texts, counts.labelled.classes, limit), form, safe)
    messages.notice(f"more probable in another class than in their own: {quantity(found.rows.size, 'document')} of {len(names):,}")
