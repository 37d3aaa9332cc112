"""`nbtext prune`: remove rare or common terms from a model permanently."""

from __future__ import annotations

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.writing import ReplacementOptions, report_model
from nbtext.errors import UsageError, format_quantity


@declarations.option_record
class PruneOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    min_df: int | None = declarations.common_option(
        "--min-df",
        "Remove terms that occur in fewer than N documents.",
        group="words",
        type=shared_options.WholeNumber(1),
    )
    max_df: float | None = declarations.common_option(
        "--max-df",
        "Remove terms that occur in more than this SHARE of the documents.",
        group="words",
        type=shared_options.NumberInRange(0, 1),
        metavar="SHARE",
    )
    ledger: bool = declarations.option(
        "--ledger",
        "Remove the ledger (the list of documents of nbtext train --deduplicate), before you "
        "share the model.",
        group="model",
    )


@declarations.command("prune")
def command(options: PruneOptions, replacement: ReplacementOptions) -> None:
    """Remove rare or common terms from a model permanently, which makes the file smaller.

    The vocabulary is then closed: nbtext update counts only the remaining terms. nbtext forget
    still removes earlier documents. After an update, the model differs from a model that is trained
    on all documents; train again to have new terms. Words of remaining n-grams and values of
    columns are kept.

    To ignore terms without removing them, train with --min-df or --max-df, which are applied again
    after each update.

    \b
    Examples:
      nbtext prune --min-df 2 --backup
      nbtext prune --ledger
    """
    from nbtext.model.locked_model import lock_model
    from nbtext.model.operations import prune_terms
    from nbtext.store.atomic import check_replaceable

    model_path = options.model_path
    drops_terms = options.min_df is not None or options.max_df is not None
    if not drops_terms and not options.ledger:
        raise UsageError("no limit is given", hint="add --min-df, --max-df or --ledger")
    check_replaceable(model_path)
    with lock_model(model_path, **replacement.lock_settings) as file:
        old_model = file.load()
        model = old_model
        if drops_terms:
            min_df = 1 if options.min_df is None else options.min_df
            max_df = 1.0 if options.max_df is None else options.max_df
            model = prune_terms(old_model, min_df, max_df)
        # The option --ledger removes the ledger.
        file.replace(model, None if options.ledger else file.read_ledger())
    n_terms = int(old_model.fitted.text_terms.sum())
    n_removed = n_terms - int(model.fitted.text_terms.sum())
    messages.notify(f"removed {n_removed:,} of {format_quantity(n_terms, 'term')}")
    report_model(model, model_path, old_model)
