"""`nbtext promote`: replace a model by one that was made beside it."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli import option, panels
from nbtext.cli.writing import lock_settings, say_model, writing_options


@panels.command("promote")
@click.argument("new", type=option.PATH)
@option.model_option
@writing_options
@option.messages_options
def command(new: str, model_path: str, **options: Any) -> None:
    """Replace the model by NEW, together with its ledger if it was trained with --once. NEW is then gone, as after mv.

    NEW is checked first; if it is damaged nothing happens. Other commands read the old model or the new one, never a mixture. A run that is
    killed leaves one of them. NEW may be on another disk. Permissions of the model are kept, and symbolic links are
    followed. There need not be a model yet.

    A NEW without a ledger is refused if the model has one, because nothing would then record what was learnt.

    \b
    Examples:
      nbtext train corpora/service-desk/train --model new.joblib
      nbtext promote new.joblib --backup
    """
    from nbtext.model.locked_model import promote

    model = promote(new, model_path, **lock_settings(options))
    say_model(model, model_path, model)
