"""`nbtext relabel`: rename a class, or merge two classes."""

from __future__ import annotations

from functools import partial

from nbtext.cli import declarations, shared_options
from nbtext.cli.writing import ReplacementOptions, report_model


@declarations.option_record
class RelabelOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    old: str = declarations.argument(shell_complete=shared_options.suggest_classes)
    new: str = declarations.argument()


@declarations.command("relabel")
def command(options: RelabelOptions, replacement: ReplacementOptions) -> None:
    """Rename the class OLD to NEW. If NEW exists, the two classes are joined, unless a document may have both.

    The result is the same model as training on a corpus with the new labels. If training had
    --class-prior FILE, the weight of OLD is added to the weight of NEW. The labels in the ledger
    (the list of documents in the model file) change too. A file of --costs does not change.

    \b
    Examples:
      nbtext relabel taxes-and-fees money
      nbtext relabel money citizen-services
    """
    from nbtext.model.locked_model import lock_model
    from nbtext.model.operations import relabel_class
    from nbtext.prediction.labels import rename_encoded_label
    from nbtext.store.atomic import check_replaceable

    model_path = options.model_path
    check_replaceable(model_path)
    with lock_model(model_path, **replacement.lock_settings) as file:
        old_model = file.load()
        ledger = file.read_ledger()
        model = relabel_class(old_model, options.old, options.new)
        if ledger is not None:
            rename = partial(rename_encoded_label, old=options.old, new=options.new)
            ledger = ledger.relabel(rename)
        file.replace(model, ledger)
    report_model(model, model_path, old_model)
