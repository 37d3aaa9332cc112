"""`nbtext evaluate`: evaluate a model on labelled documents."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.gates import GateOptions, parse_gates, report_gate_failures
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.prediction import (
    PredictionOptions,
    build_rules_with_guarantees,
    score_for_prediction,
)
from nbtext.cli.shared_options import JobOptions, LabelledDocumentOptions
from nbtext.errors import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from nbtext.evaluation.leakage import LeakResult, SampledLeakResult
    from nbtext.guarantees.precision import RiskPoint
    from nbtext.metrics.results import EvaluationResult
    from nbtext.model import TextClassifier
    from nbtext.prediction.rule import DecisionRule, PredictionThreshold
    from nbtext.scoring import ScoredBlock


@declarations.option_record
class EvaluateOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    output: str = shared_options.output_field(
        "table tsv csv json jsonl",
        "json: all metrics; tsv, csv, jsonl: a row for each class.",
    )
    all: bool = shared_options.all_field()
    group_by: tuple[str, ...] = declarations.common_option(
        "--group-by",
        "For each value of COLUMN, add the metrics of the documents with this value. The option "
        "can be repeated.",
        group="output",
        multiple=True,
        metavar="COLUMN",
        old_names="--by",
    )
    errors: str | None = declarations.common_option(
        "--errors",
        "Write the misclassified documents to FILE as JSON lines, by descending probability of the "
        "wrong class.",
        group="output",
        type=shared_options.SCORED_DOCUMENTS_PATH,
    )
    check_leakage: tuple[str, ...] = declarations.common_option(
        "--check-leakage",
        "Find test documents that are also in this training corpus. nbtext reports the documents "
        "in a warning, and adds the metrics without these documents. The corpus is read as in "
        "training. The option can be repeated.",
        group="documents",
        multiple=True,
        metavar="CORPUS",
        type=INPUT_PATH,
        old_names="--training",
    )


@declarations.command("evaluate")
def command(
    documents: LabelledDocumentOptions,
    options: EvaluateOptions,
    prediction: PredictionOptions,
    gate_options: GateOptions,
    processes: JobOptions,
) -> int | None:
    """Classify documents whose classes are known, and print metrics of the predictions.

    CORPUS has the layout of a training corpus. Labels that the model does not know count as
    mistakes, and are reported. A document without a prediction (--min-probability, --min-precision,
    abstain in --costs) lowers accuracy and recall, not precision. Intervals have 95 % confidence.
    With --costs and two classes, the output has a threshold: the first class is predicted if the
    likelihood ratio p(text | first class) / p(text | second class) is above it. --coverage adds the
    metrics set_coverage (how often the set of classes contains the true class) and set_size (the
    mean size of the sets). --min-precision adds a table: the proportion of documents that get a
    prediction, and the precision of these predictions.

    With several labels per document, the accuracy is the proportion of documents with exactly the
    right labels; precision, recall and F1 are computed for each label, as for two classes:
    documents with the label and documents without it. Log loss and Brier score are sums over
    labels; the calibration error is for the most probable label.

    A model keeps the term counts and checksums of a sample of its training documents, not the
    texts. A warning reports test texts that are in this sample. --check-leakage checks all training
    documents, and reports texts that have the same words with the same counts, in any order and
    case.

    A line of --errors has id, truth (true class), answer (predicted class), probability,
    and the terms that favour the predicted class most, each with its contribution in nats (natural
    logarithms).

    \b
    Examples:
      nbtext evaluate corpora/service-desk/test
      nbtext evaluate corpora/service-desk/test --all
      nbtext evaluate test.csv --model topics.joblib --output json
      nbtext evaluate corpora/service-desk/test --errors mistakes.jsonl
      nbtext evaluate corpora/service-desk/test --fail-under macro_f1=0.6
      nbtext evaluate test.csv --model topics.joblib --check-leakage messages.csv
    """
    from nbtext.cli.corpus import locate_documents, make_leak_checker, open_documents
    from nbtext.evaluation.evaluate import evaluate_scored_blocks
    from nbtext.guarantees.precision import compute_risk_curve
    from nbtext.guarantees.prediction_sets import SetTally, add_set_metrics
    from nbtext.report.evaluations import write_evaluation

    model = shared_options.load_model(options.model_path)
    gates = parse_gates(gate_options, len(model.classes), has_costs=prediction.costs is not None)
    rule, set_rule = build_rules_with_guarantees(prediction, model)
    documents = locate_documents(documents)
    group_columns = tuple(dict.fromkeys(options.group_by))  # without duplicates
    tally = None if set_rule is None else SetTally(set_rule, model.classes)
    with _open_mistake_writer(options, documents, prediction, model, rule) as write_mistakes:
        leak_checker = make_leak_checker(model, documents, options.check_leakage)
        source = open_documents(model, documents, labelled=True, columns=group_columns)
        # Blocks are an iterator: the evaluation reads them, and the tally and the checker see them.
        blocks = score_for_prediction(model, source, documents, prediction, processes.jobs)
        if tally is not None:
            blocks = tally.observe(blocks)
        blocks = leak_checker.observe(blocks)
        evaluation = evaluate_scored_blocks(
            blocks, model, rule, group_columns=group_columns, on_block=write_mistakes
        )
    set_result = None if tally is None else tally.result()
    result = add_set_metrics(evaluation.result(), set_result)
    risk_curve: tuple[RiskPoint, ...] = ()  # the risk is 1 − precision
    if prediction.min_precision is not None:
        risk_curve = compute_risk_curve(evaluation.documents)
    leaks = leak_checker.result(evaluation)
    source.report_notices()
    _report_warnings(result, leaks, keeps_scores=evaluation.keeps_scores)
    write_evaluation(
        options.output,
        result,
        show_all=options.all,
        leaks=leaks,
        threshold=_compute_prediction_threshold(model, rule),
        sets=set_result,
        risk=risk_curve,
    )
    failures = [gate.find_failure(result) for gate in gates]
    return report_gate_failures(failures)  # the exit status


def _open_mistake_writer(
    options: EvaluateOptions,
    documents: LabelledDocumentOptions,
    prediction: PredictionOptions,
    model: TextClassifier,
    rule: DecisionRule,
) -> AbstractContextManager[Callable[[ScoredBlock], None] | None]:
    """Open the writer of ``--errors``, a function to call with each block, or None without the option.

    When the context ends, it writes the file. Raise `UsageError` for a multi-label model, and
    `UsageError` or `PathError` if the file cannot be written.
    """
    if options.errors is None:
        return nullcontext()
    from nbtext.cli.corpus import check_output_file
    from nbtext.compatibility import ERROR_LISTING, list_label_requests, require_compatible_settings
    from nbtext.explain.mistakes import MistakeFinder
    from nbtext.report.predictions import open_mistake_writer

    # A multi-label model needs multi-label documents, which `ERROR_LISTING` excludes.
    label_requests = list_label_requests(model.fitted.posterior_type)
    require_compatible_settings(model.settings, ERROR_LISTING, *label_requests)
    # ``prediction.costs`` may be None, which `check_output_file` ignores.
    corpora = [*documents.paths, *options.check_leakage, *prediction.prior_from]
    inputs = [options.model_path, *corpora, prediction.costs]
    check_output_file(options.errors, "--errors", inputs)
    return open_mistake_writer(options.errors, MistakeFinder(model.fitted), rule)


def _compute_prediction_threshold(
    model: TextClassifier, rule: DecisionRule
) -> PredictionThreshold | None:
    """Return the threshold of ``--costs`` between two classes, or None if no threshold decides."""
    if rule.costs is None:
        return None
    from nbtext.prediction.rule import compute_prediction_threshold

    return compute_prediction_threshold(rule.costs, model.fitted.classifier.prior, model.classes)


def _report_warnings(
    result: EvaluationResult, leaks: LeakResult | SampledLeakResult | None, *, keeps_scores: bool
) -> None:
    """Report unknown labels, missing metrics, and test documents that were training documents."""
    quantity = format_quantity(sum(result.unknown_documents.values()), "document")
    messages.warn_unknown_labels(
        "the model", result.unknown_labels, suffix=f" ({quantity}, counted as mistakes)"
    )
    if not keeps_scores:
        messages.notify(
            "too many documents and classes to keep all scores, so areas under ROC curves and "
            "average precision are missing"
        )
    if leaks is not None:
        warning = leaks.make_warning(result.n)
        if warning:
            messages.warn(warning)
