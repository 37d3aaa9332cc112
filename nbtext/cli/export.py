"""`nbtext export`: write the weights of a model for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.cli import declarations, shared_options
from nbtext.cli.config import EXPORT_START, OutputPath

if TYPE_CHECKING:
    import click


class _ExportPath(OutputPath):
    """Type of an option: a file to write, or ``-`` for standard output."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the path or ``-``."""
        return value if value == "-" else super().convert(value, param, ctx)


@declarations.option_record
class ExportOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    to: str = declarations.common_option(
        "--to",
        "Write FILE, whose suffix is the format: .csv, .tsv, .jsonl or .sql.",
        group="output",
        type=_ExportPath(EXPORT_START),
        metavar="FILE",
        default="-",
        shown_default="csv on standard output",
    )


@declarations.command("export")
def command(options: ExportOptions) -> None:
    """Write the weights of a model as a table, or as SQL that predicts labels.

    The table has a row for each term and class: term, class, probability (of the term in the
    class), weight and term_id, as nbtext tokens prints it. Rows without a term have the bias of
    each class. The score of a class is its bias plus the sum of count times weight of the terms of
    a document. Bernoulli models use 1 instead of the count, --weighting log uses log(1 + count).
    For logistic models and --weighting tfidf, the feature is log(1 + count) times the column idf,
    scaled so that the squares of a document sum to 1.

    SQL has tables of biases and weights, and views that predict the label and its calibrated
    probability from a table of the terms of documents. Comments in the file say how to fill this
    table.

    Models with columns, gaussian models and averages cannot be exported.

    \b
    Examples:
      nbtext export --to weights.csv
      nbtext export --to model.sql
    """
    from nbtext.cli.corpus import check_output_file
    from nbtext.model.weights import TermWeights
    from nbtext.report.export import STANDARD_OUTPUT, get_export_suffix, write_export

    get_export_suffix(options.to)  # fail before the model is loaded
    if options.to != STANDARD_OUTPUT:
        check_output_file(options.to, "--to", [options.model_path])
    model = shared_options.load_model(options.model_path)
    write_export(TermWeights.from_model(model.fitted), options.to)
