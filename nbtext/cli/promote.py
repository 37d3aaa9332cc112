"""`nbtext promote`: replace a model by one that was made beside it."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli import options as suggestions
from nbtext.cli.options import messages, messages_options, model_option
from nbtext.cli.writing import lock_settings, writing_options


@click.command("promote", short_help="Put a model that was judged into the place of another.")
@click.argument("new", shell_complete=suggestions.suggest_files)
@model_option
@writing_options
@messages_options
def command(new: str, model_path: str, **options: Any) -> int:
    """Put the model NEW into the place of the model, together with its ledger if it was trained with --once. NEW is gone then, as after mv.

    NEW is checked first; if it is damaged nothing happens. Whoever classifies meanwhile has the old model or the new one, and a run that is killed
    leaves the one or the other, each with its own ledger. NEW may lie on another disk. Permissions of the model stay, and symbolic links are followed.

    A NEW without a ledger is refused where the model has one, since nothing would tell any more what was learnt. There may be no model yet.

    \b
    Example:
      nbtext train corpora/service-desk/train --model new.joblib
      nbtext promote new.joblib --backup
    """
    from nbtext.model.locked_model import promote

    say = messages(options)
    description = promote(new, model_path, **lock_settings(options))
    say.notice(f"{model_path}: {description}")
    return say.finish()
