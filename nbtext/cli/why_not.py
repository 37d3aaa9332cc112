"""`nbtext why-not`: the old name of `nbtext explain --why-not`."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli import explain, option, panels


@panels.command("why-not", hidden=True)
@click.argument("label", metavar="LABEL", shell_complete=option.suggest_classes)
@option.asked_options
@option.rows_option()
@option.document_options
def command(label: str, **options: Any) -> None:
    """Print which words to remove from a document to make LABEL its answer: the old name of nbtext explain --why-not LABEL."""
    explain.command.callback(why_not=label, against=None, to=None, limit=None, **options)  # type: ignore[misc] # there is one
