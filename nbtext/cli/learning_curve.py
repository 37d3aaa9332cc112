"""`nbtext learning-curve`: accuracy against training size, and a forecast for more documents."""

from __future__ import annotations

from nbtext.cli import declarations, shared_options
from nbtext.cli.shared_options import JobOptions, TrainingCorpusOptions, TrainingOptions


@declarations.option_record
class LearningCurveOptions:
    """Options that only this command has."""

    output: str = shared_options.output_field(
        "table tsv csv json jsonl", "Each row is a size of the training corpus."
    )
    to: str | None = shared_options.page_field()
    steps: int = declarations.common_option(
        "--steps",
        "Train on N sizes of the corpus.",
        group="documents",
        type=shared_options.WholeNumber(1, 100),
        default=8,
    )
    more: int | None = declarations.common_option(
        "--more",
        "Forecast the accuracy for N more labelled documents.",
        group="evaluation",
        type=shared_options.WholeNumber(1),
        shown_default="the number of documents",
    )
    folds: int = declarations.option(
        "--folds",
        "Divide the documents into N folds, and hold out each fold once.",
        group="documents",
        type=shared_options.WholeNumber(2),
        default=5,
    )
    repeats: int = declarations.option(
        "--repeats",
        "Draw the folds N times.",
        group="documents",
        type=shared_options.WholeNumber(1),
        default=3,
    )
    seed: int = shared_options.seed_field("Seed of the random draws.", group="documents")


@declarations.command("learning-curve")
def command(
    documents: TrainingCorpusOptions,
    options: LearningCurveOptions,
    processes: JobOptions,
    training: TrainingOptions,
) -> None:
    """Show how accuracy grows with the number of training documents, and forecast it for more.

    Models are trained on growing parts of a corpus and evaluated on held-out documents, which are
    not used for training. The last column is the accuracy on the training documents; if this
    accuracy is far above the accuracy on held-out documents, the models overfit. The forecast is an
    inverse power law, error = a + b / n^c, fitted to the curve. The forecast assumes that new
    documents and labels are like CORPUS. The interval of the forecast covers random draws and the
    misfit of the law. If the curve is too short or too noisy, the output has no forecast. No model
    is written.

    \b
    Examples:
      nbtext learning-curve corpora/service-desk/train
      nbtext learning-curve corpora/service-desk/train --more 500
      nbtext learning-curve corpora/service-desk/train --to curve.html
      nbtext learning-curve messages.csv --label-column topic --folds 2 -o json
    """
    from nbtext.cli.corpus import check_output_file, locate_documents, read_and_count
    from nbtext.counts.corpus_counts import Subsets
    from nbtext.evaluation.learning_curves import Resampling, compute_learning_curve
    from nbtext.report.comparisons import print_learning_curve
    from nbtext.report.output_formats import write_result

    documents = locate_documents(documents)
    check_output_file(options.to, "--to", [*documents.paths, documents.files_from])
    counted = read_and_count(documents, training.settings, processes.jobs)
    counted.source.report_notices()
    subsets = Subsets(counted.corpus.counts.table, counted.corpus.counts.documents)
    resampling = Resampling(options.steps, options.folds, options.repeats, options.seed)
    curve = compute_learning_curve(
        subsets, counted.settings, resampling, processes.jobs, options.more
    )
    if options.to is not None:
        from nbtext.report.page.markup import write_html
        from nbtext.report.page.result_pages import build_learning_curve_page

        command_line = shared_options.format_command_line()
        write_html(options.to, build_learning_curve_page(curve, command_line))
    elif options.output == "table":
        print_learning_curve(curve)
    else:
        write_result(options.output, curve, curve.points)
