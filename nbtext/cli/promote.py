"""`nbtext promote`: replace a model by a new one."""

from __future__ import annotations

from nbtext.cli import declarations, shared_options
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.writing import ReplacementOptions, report_model


@declarations.option_record
class PromoteOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    new: str = declarations.argument(type=INPUT_PATH)


@declarations.command("promote")
def command(options: PromoteOptions, replacement: ReplacementOptions) -> None:
    """Replace the model by NEW, with the ledger of NEW if NEW was trained with --deduplicate. NEW is then gone, as after mv.

    NEW is checked first; if NEW is damaged, nothing changes. Other commands read the old or the new
    model, never a mixture, even if promote is killed. NEW may be on another disk. Permissions of
    the old model are kept, and symbolic links are followed. The old model may be missing.

    If the old model has a ledger (the list of documents in the model file), a NEW without a ledger
    is refused, because the documents would no longer be recorded.

    \b
    Examples:
      nbtext train corpora/service-desk/train --model new.joblib
      nbtext promote new.joblib --backup
    """
    from nbtext.model.locked_model import promote

    model = promote(options.new, options.model_path, **replacement.lock_settings)
    # The warnings of the new model were printed when it was trained.
    report_model(model, options.model_path, old_model=model)
