"""`nbtext prevalence`: estimate the class proportions among unlabelled documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.shared_options import DocumentOptions, JobOptions

if TYPE_CHECKING:
    from nbtext.evaluation.drift_log import DriftRun
    from nbtext.guarantees.class_proportions import PrevalenceResult


@declarations.option_record
class PrevalenceOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    output: str = shared_options.output_field(
        "table tsv csv json jsonl",
        "json: all results; tsv, csv, jsonl: a row for each class, or for each value of COLUMN.",
    )
    to: str | None = shared_options.page_field()
    group_by: str | None = declarations.common_option(
        "--group-by",
        "Add the proportions for each value of COLUMN, such as a day or a source.",
        group="output",
        metavar="COLUMN",
        old_names="--by",
    )


@declarations.command("prevalence")
def command(documents: DocumentOptions, options: PrevalenceOptions, processes: JobOptions) -> None:
    """Estimate the proportion of each class among documents, with 95 % intervals.

    The numbers of predictions of classify are biased towards the class proportions of training,
    because mistakes do not cancel out. This command finds the proportions under which the documents
    are most likely, given predictions for held-out documents (training documents, predicted by
    models without them). The intervals are for the proportions among the documents of CORPUS, and
    cover the uncertainty of their texts and of the held-out documents.

    The estimate is right if the documents of each class are like the training documents of the
    class and only the proportions differ. A warning reports other differences. CORPUS is read as
    nbtext classify reads it.

    \b
    Examples:
      nbtext prevalence inbox/
      nbtext prevalence messages.csv --group-by sender
      nbtext prevalence inbox/ --output json
      nbtext prevalence messages.csv --group-by sender --to proportions.html
    """
    from itertools import chain, islice

    from nbtext.cli.corpus import check_output_file, locate_documents, open_documents
    from nbtext.cli.proportions import choose_proportion_estimator
    from nbtext.errors import format_quantity
    from nbtext.evaluation.drift_log import DriftRecorder, find_text_drift
    from nbtext.guarantees.class_proportions import estimate_prevalence
    from nbtext.model.parallel_corpus import score_corpus
    from nbtext.report.comparisons import DRIFT_METRIC_TITLES

    model = shared_options.load_model(options.model_path)
    # Unreadable documents are reported, and do not count.
    documents = replace(locate_documents(documents), on_error=documents.on_error or "skip")
    inputs = [options.model_path, *documents.paths, documents.files_from]
    check_output_file(options.to, "--to", inputs)
    columns = [] if options.group_by is None else [options.group_by]
    source = open_documents(model, documents, labelled=False, columns=columns)
    blocks = score_corpus(model.fitted, source, processes.jobs)
    # The first block is read now, so that a missing path is reported before warnings of the model.
    first_block = tuple(islice(blocks, 1))
    blocks = chain(first_block, blocks)
    estimator = choose_proportion_estimator(model)
    recorder = None
    if model.fitted.parameters.profile is not None:
        recorder = DriftRecorder(model)
        blocks = recorder.observe(blocks)  # records each block when it is read
    result = estimate_prevalence(blocks, model.classes, estimator)
    drift = None if recorder is None else recorder.compute_drift()
    source.report_notices()
    if result.impossible:
        n_impossible = format_quantity(result.impossible, "document")
        messages.warn(f"ignored, because no class is possible: {n_impossible}")
    drifted_metrics = find_text_drift(drift) if drift else []
    if drifted_metrics:
        titles = " and ".join(DRIFT_METRIC_TITLES[name] for name in drifted_metrics)
        messages.warn(
            "the documents differ from the training documents by more than class proportions "
            f"({titles}), so the estimates may be wrong"
        )
    _write_result(options, result, drift)


def _write_result(
    options: PrevalenceOptions, result: PrevalenceResult, drift: DriftRun | None
) -> None:
    """Print the proportions, or write the page of ``--to``."""
    if options.to is None:
        from nbtext.report.comparisons import write_prevalence

        write_prevalence(options.output, result, options.group_by, drift)
        return
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.result_pages import build_prevalence_page

    command_line = shared_options.format_command_line()
    write_html(options.to, build_prevalence_page(result, options.group_by, command_line))
