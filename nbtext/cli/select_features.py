"""`nbtext select-features`: rank terms by how well they separate the classes."""

from __future__ import annotations

from operator import itemgetter

from nbtext.cli import declarations, shared_options
from nbtext.settings import CRITERIA


@declarations.option_record
class SelectFeaturesOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    limit: int = shared_options.limit_field("Print N terms.", 100, old_names="--top")
    criterion: str = declarations.common_option(
        "--criterion",
        "Measure of the information of a term.",
        group="words",
        type=declarations.Choice(list(CRITERIA)),
        default=next(iter(CRITERIA)),
        old_names="--by",
    )
    output: str = shared_options.rows_field(
        "tsv has a row for each term: rank, term, score, class."
    )
    excel_safe: bool = shared_options.excel_safe_field()


@declarations.command("select-features")
def command(options: SelectFeaturesOptions) -> None:
    """Print the most informative terms, best first, each with the class that it favours.

    Values of columns are terms too. Scores are in nats (natural logarithms), except scores of chi2.
    mutual-information is computed from the language models of the classes; presence and chi2 from
    the number of documents of each class that contain the term; log-odds compares the class with
    all other classes. With a model of --set surface-forms=true, the output has one more column, the
    most frequent word of the term.

    \b
    Examples:
      nbtext select-features --limit 500
      nbtext select-features --criterion chi2 --output csv
    """
    from nbtext.inspection.terms import format_term_name, rank_model_terms, replace_stems
    from nbtext.metrics.results import to_json_values
    from nbtext.report.output_formats import Column, write_records

    escape_cell = shared_options.make_cell_formatter(
        options.output, is_excel_safe=options.excel_safe
    )
    model = shared_options.load_model(options.model_path)
    term_array, scores, class_indices = rank_model_terms(model, options.criterion, options.limit)
    terms = term_array.tolist()
    ranks = range(1, 1 + len(terms))
    names = [format_term_name(model, term) for term in terms]
    labels = [model.classes[index] for index in class_indices.tolist()]
    column_values = [ranks, names, scores.tolist(), labels]  # in the order of the columns
    columns = [
        Column("rank", itemgetter(0), "d"),
        Column("term", itemgetter(1)),
        Column("score", itemgetter(2), ".6g"),
        Column("class", itemgetter(3)),
    ]
    if model.settings.surface_forms:
        column_values.append(replace_stems(model, terms))
        columns.append(Column("word", itemgetter(4)))
    headings = [column.heading for column in columns]
    write_records(
        zip(*column_values, strict=True),
        options.output,
        columns,
        to_record=lambda row: to_json_values(dict(zip(headings, row, strict=True))),
        escape=escape_cell,
    )
