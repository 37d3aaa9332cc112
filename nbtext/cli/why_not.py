"""`nbtext why-not`: the old name of `nbtext explain --why-not`."""

from __future__ import annotations

from nbtext.cli import declarations, shared_options
from nbtext.cli.explain import ExplainOptions, explain
from nbtext.cli.shared_options import QueryDocumentOptions


@declarations.option_record
class WhyNotOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    label: str = declarations.argument(
        metavar="LABEL", shell_complete=shared_options.suggest_classes
    )
    output: str = shared_options.rows_field()


@declarations.command("why-not", hidden=True)
def command(options: WhyNotOptions, documents: QueryDocumentOptions) -> None:
    """Print words to remove from a document so that LABEL is predicted: the old name of nbtext explain --why-not LABEL."""
    explain(
        documents,
        ExplainOptions(model_path=options.model_path, why_not=options.label, output=options.output),
    )
