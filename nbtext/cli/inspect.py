"""`nbtext inspect`: what is in a model."""

from __future__ import annotations

import sys
from typing import Any

import click

from nbtext.cli.options import messages, messages_options, model_option, output_option


@click.command("inspect", short_help="Show what is in a model.")
@model_option
@click.option("--top", type=click.IntRange(min=0), default=8, show_default=True, metavar="N", help="How many terms of each class to show.")
@output_option("table", "json", help_text="Default: table.")
@messages_options
def command(model_path: str, top: int, output: str | None, **options: Any) -> int:
    """Print what a model holds: classes, documents, tokens, vocabulary, settings, and the terms that speak most for each class.

    \b
    Example:
      nbtext inspect
      nbtext inspect --model topics.joblib --output json
    """
    messages(options)
    from nbtext.model import TextClassifier
    from nbtext.model.overview import overview

    summary = overview(TextClassifier.load(model_path), top)
    if output == "json":
        from nbtext.report.records import json_line

        sys.stdout.write(json_line(summary))
    else:
        from nbtext.report.overview import print_overview

        print_overview(summary)
    return 0
