"""`nbtext relabel`: rename a class, or join two classes."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli.options import messages, messages_options, model_option
from nbtext.cli.writing import opened_model, say_model, writing_options


@click.command("relabel", short_help="Rename a class, or make two classes one.")
@click.argument("old")
@click.argument("new")
@model_option
@writing_options
@messages_options
def command(old: str, new: str, model_path: str, **options: Any) -> int:
    """Give the documents of the class OLD the label NEW. If there is a class NEW already, the two become one.

    The result is the model that training on a corpus labelled so makes. Where class probabilities were given, the weight of OLD goes to NEW,
    and to what NEW has. The model's ledger is followed up. A file of costs names classes too, and is yours to change.

    \b
    Example:
      nbtext relabel taxes-and-fees money
      nbtext relabel money citizen-services
    """
    from nbtext.model.changing import relabelled
    from nbtext.store import check_replaceable

    say = messages(options)
    check_replaceable(model_path)
    with opened_model(model_path, options) as file:
        before, ledger = file.load(), file.ledger_if_usable()
        after = relabelled(before, old, new)
        file.replace(after, None if ledger is None else ledger.relabelled(old, new))
    say_model(after, model_path, say, before)
    return say.finish()
