"""`nbtext select-features`: rank terms by the information they carry."""

from __future__ import annotations

from operator import itemgetter

from nbtext.cli import declarations, shared_options
from nbtext.fast_dataclasses import dataclass
from nbtext.settings import CRITERIA


@dataclass(frozen=True, kw_only=True)
class SelectFeaturesOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    limit: int = shared_options.limit_field("Print N terms.", 100, old_names="--top")
    by: str = declarations.common_option(
        "--by",
        "answer",
        "Measure of information.",
        type=declarations.Choice(list(CRITERIA)),
        default=next(iter(CRITERIA)),
    )
    output: str = shared_options.rows_field("tsv has rank, term, score and class.")
    excel_safe: bool = shared_options.excel_safe_field()


@declarations.command("select-features")
def command(options: SelectFeaturesOptions) -> None:
    """Print the terms that say most about the class, best first, each with the class it speaks for.

    Categories are terms too. Scores are in nats, except those of chi2. mutual-information comes from the language models; presence and chi2
    from how many documents of each class contain the term; log-odds compares the class with all others. A model trained with --set surface-forms=true has
    one more column, the most frequent word of the term.

    \b
    Examples:
      nbtext select-features --limit 500
      nbtext select-features --by chi2 --output csv
    """
    safe = shared_options.make_cell_formatter(options.output, is_excel_safe=options.excel_safe)
    from nbtext.inspection.terms import format_term_name, rank_model_terms, replace_stems
    from nbtext.metrics.results import to_json_values
    from nbtext.report.output_formats import Column, write_records

    model = shared_options.load_model(options.model_path)
    terms, scores, labels = (
        column.tolist() for column in rank_model_terms(model, options.by, options.limit)
    )
    columns = [
        range(1, 1 + len(terms)),
        [format_term_name(model, term) for term in terms],
        scores,
        [model.classes[label] for label in labels],
    ]
    if words := model.settings.surface_forms:
        columns.append(replace_stems(model, terms))
    shown = [
        Column("rank", itemgetter(0), "d"),
        Column("term", itemgetter(1)),
        Column("score", itemgetter(2), ".6g"),
        Column("class", itemgetter(3)),
    ]
    if words:
        shown.append(Column("word", itemgetter(4)))
    heads = [column.heading for column in shown]
    rows = zip(*columns, strict=True)
    write_records(
        rows,
        options.output,
        shown,
        to_record=lambda row: to_json_values(dict(zip(heads, row, strict=True))),
        escape=safe,
    )
