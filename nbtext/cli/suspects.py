"""`nbtext suspects`: find training documents whose label may be wrong."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli import options as option
from nbtext.errors import UsageError, quantity


@click.command("suspects", short_help="Find documents of a corpus whose label may be wrong.")
@option.corpus_argument
@option.output_option(
    "tsv", "csv", "jsonl", "table", help_text="Default: table on a terminal, else tsv (document, label, suggested class, log odds)."
)
@option.excel_safe_option
@click.option("--paths", is_flag=True, help="Only the documents, one a line, as they are named.")
@click.option("--print0", is_flag=True, help="Only the documents, each followed by NUL instead of a line end, as xargs -0 takes them.")
@click.option("--limit", type=option.WholeNumber(1), metavar="N", help="The N most suspicious documents at most.")
@click.option(
    "--min-log-odds", type=option.Number(0), default=0.0, metavar="X",
    help="Only documents with larger log odds, in nats; 2.3 is ten to one.",
)  # fmt: skip
@option.input_options
@option.training_options
@option.messages_options
def command(corpus: tuple[str, ...], output: str | None, **options: Any) -> int:
    """Print the documents of a labelled corpus that look more like another class, the most suspicious first.

    Each document is judged by the model of all others, trained with the options of train. The log odds are those of the most probable other
    class, the suggested one, against the label. A document named so may have a wrong label, two topics, or nothing that tells its class.
    The only document of a class is never named.

    \b
    Example:
      nbtext suspects corpora/service-desk/train
      nbtext suspects corpora/service-desk/train --min-log-odds 2.3 --paths
      nbtext suspects corpora/service-desk/train --limit 5 --print0 | xargs -0 head
    """
    from nbtext.cli.corpus import corpus_paths, read_and_count
    from nbtext.evaluation.label_errors import suspects
    from nbtext.report.comparisons import write_suspects

    say = option.messages(options)
    if options["top"] is not None:
        say.warn("--top chose terms with all labels in sight, so wrong labels look right; leave it out")
    if (options["paths"] or options["print0"]) and output is not None:
        raise UsageError(f"--{'print0' if options['print0'] else 'paths'} and --output exclude each other")
    form = "print0" if options["print0"] else "paths" if options["paths"] else output or ("table" if sys.stdout.isatty() else "tsv")
    safe = option.require_csv(options, form)
    (statistics, documents, names, _), settings, _, source = read_and_count(corpus_paths(corpus, options), options, say)
    found = suspects(statistics, documents, settings, options["min_log_odds"])
    source.say_notices()
    write_suspects(found.named(names, statistics.classes, options["limit"]), form, safe_cells=safe)
    say.notice(f"more probable in another class than in their own: {quantity(found.rows.size, 'document')} of {len(names):,}")
    return say.finish()
