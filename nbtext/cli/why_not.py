"""`nbtext why-not`: the old name of `nbtext explain --why-not`."""

from __future__ import annotations

from typing import Any

import click

from nbtext.cli import options as option
from nbtext.cli import panels
from nbtext.cli.explain import print_why_not


@panels.command("why-not", hidden=True)
@click.argument("label", metavar="LABEL", shell_complete=option.suggest_classes)
@option.corpus_argument
@option.text_option
@option.model_option
@option.rows_option()
@option.document_options
def command(label: str, model_path: str, output: str, **options: Any) -> None:
    """Print which words to remove from a document, or to add, to make LABEL its answer: the old name of nbtext explain --why-not LABEL."""
    print_why_not(label, model_path, output, options)
