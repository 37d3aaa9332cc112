"""`nbtext relabel`: rename a class, or join two classes."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from nbtext.cli import option, panels
from nbtext.cli.writing import lock_settings, say_model, writing_options


@panels.command("relabel")
@click.argument("old", shell_complete=option.suggest_classes)
@click.argument("new")
@option.model_option
@writing_options
@option.messages_options
def command(old: str, new: str, model_path: str, **options: Any) -> None:
    """Rename the class OLD to NEW. If there is a class NEW already, the two become one; not where a document may have both.

    The result is the model that training on a corpus with these labels makes. If class probabilities were given, the weight of OLD is added to that of NEW.
    The ledger of the model is changed as well. A file of costs names classes too; change it yourself.

    \b
    Examples:
      nbtext relabel taxes-and-fees money
      nbtext relabel money citizen-services
    """
    from nbtext.model.changing import relabelled
    from nbtext.model.locked_model import locked_model
    from nbtext.prediction.labels import renamed_text
    from nbtext.store.atomic import check_replaceable

    check_replaceable(model_path)
    with locked_model(model_path, **lock_settings(options)) as file:
        before, ledger = file.load(), file.ledger()
        after = relabelled(before, old, new)
        file.replace(after, None if ledger is None else ledger.relabelled(partial(renamed_text, old=old, new=new)))
    say_model(after, model_path, before)
