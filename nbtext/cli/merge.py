"""`nbtext merge`: merge models into one."""

from __future__ import annotations

import os

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.config import MODEL_START
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.writing import ReplacementOptions, report_model
from nbtext.errors import UsageError, format_quantity


@declarations.option_record
class MergeOptions:
    """Options that only this command has."""

    models: tuple[str, ...] = declarations.argument(
        nargs=-1, required=True, metavar="MODEL MODEL...", type=INPUT_PATH
    )
    to: str = shared_options.to_field(
        "Write the model to FILE. FILE may be one of the models.",
        MODEL_START,
        old_names="-o --output",
        required=True,
    )


@declarations.command("merge")
def command(options: MergeOptions, replacement: ReplacementOptions) -> None:
    """Write one model of the documents of several models.

    The models must have the same language, stop words, stemmer, n-grams, attribute columns and
    number of kept documents. The first model decides all other settings. A document of two models
    counts twice. The ledgers of nbtext train --deduplicate (lists of documents) are joined too. If
    a model was pruned, only the terms of the pruned model remain.

    \b
    Examples:
      nbtext train corpora/service-desk/test --model other.joblib
      nbtext merge nbtext.joblib other.joblib --to both.joblib
    """
    from nbtext.model.locked_model import merge
    from nbtext.store.atomic import check_replaceable

    paths = options.models
    if len(paths) < 2:
        raise UsageError("there is only one model to merge", hint="name at least two")
    real_paths = [os.path.realpath(path) for path in paths]
    for index, path in enumerate(paths):
        if real_paths[index] in real_paths[:index]:
            raise UsageError(
                "the model is named twice", where=path, hint="its documents would count twice"
            )
    check_replaceable(options.to)
    merged = merge(paths, options.to, **replacement.lock_settings)
    without_ledger = [source for source in merged.models if source.ledger is None]
    # If no model has a ledger, the merged model has none, too, and --skip-known does not apply.
    if merged.ledger is not None and without_ledger:
        n_documents = sum(
            source.model.counts.labelled_statistics.n_documents for source in without_ledger
        )
        names = ", ".join(source.path for source in without_ledger)
        messages.warn(
            f"{names}: no usable ledger, so nbtext update --skip-known may add its documents "
            f"again: {format_quantity(n_documents, 'document')}"
        )
    if merged.n_repeated:
        messages.warn(
            "in more than one of the models, so they count more than once: "
            f"{format_quantity(merged.n_repeated, 'document')}"
        )
    report_model(merged.model, options.to)
