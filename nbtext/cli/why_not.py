"""`nbtext why-not`: the old name of `nbtext explain --why-not`."""

from __future__ import annotations

from nbtext.cli import option, panels
from nbtext.cli.explain import ExplainOptions, explain
from nbtext.cli.option import AskedDocuments
from nbtext.records import dataclass


@dataclass(frozen=True, kw_only=True)
class WhyNotOptions:
    """The options of this command alone."""

    label: str = panels.argument(metavar="LABEL", shell_complete=option.suggest_classes)
    model_path: str = option.model_field()
    output: str = option.rows_field()


@panels.command("why-not", hidden=True)
def command(options: WhyNotOptions, documents: AskedDocuments) -> None:
    """Print which words to remove from a document to make LABEL its answer: the old name of nbtext explain --why-not LABEL."""
    explain(
        documents,
        ExplainOptions(model_path=options.model_path, why_not=options.label, output=options.output),
    )
