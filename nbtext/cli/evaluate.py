"""`nbtext evaluate`: judge a model on documents whose classes are known."""

from __future__ import annotations

from contextlib import nullcontext

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.gates import GateOptions, parse_gates, report_gate_failures
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.prediction import PredictionOptions, build_prediction_rules
from nbtext.cli.shared_options import JobOptions, LabelledDocumentOptions
from nbtext.errors import format_quantity
from nbtext.fast_dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions:
    """The options of this command alone."""

    model_path: str = shared_options.model_field()
    output: str = shared_options.output_field(
        "table tsv csv json jsonl", "json has all figures; rows are classes."
    )
    all: bool = shared_options.all_field()
    by: tuple[str, ...] = declarations.common_option(
        "--by",
        "output",
        "Add the figures for each value of a column. It can be given several times.",
        multiple=True,
        metavar="COLUMN",
    )
    errors: str | None = declarations.common_option(
        "--errors",
        "output",
        "Write the misclassified documents to FILE as JSON lines. The surest mistakes come first.",
        type=shared_options.SCORED_DOCUMENTS_PATH,
    )
    training: tuple[str, ...] = declarations.common_option(
        "--training",
        "documents",
        "Find test documents that are in this training corpus too. There is a warning, and the "
        "figures without them. The corpus is read as it was in "
        "training. The option can be given several times.",
        multiple=True,
        metavar="CORPUS",
        type=INPUT_PATH,
    )


@declarations.command("evaluate")
def command(
    documents: LabelledDocumentOptions,
    options: EvaluateOptions,
    prediction: PredictionOptions,
    required: GateOptions,
    running: JobOptions,
) -> int | None:
    """Classify documents whose classes are known and print how good the answers are.

    CORPUS is laid out like a training corpus. Labels unknown to the model count as mistakes and are reported. A document without an answer
    (--min-probability, --min-precision, --costs) lowers accuracy and recall, not precision. Intervals hold 95 %. With --costs and two classes the table shows the
    likelihood ratio from which the first class is the answer. --coverage adds how often sets of classes hold the true one and how large they
    are (gates: set_coverage, set_size), --min-precision the precision of the surest answers, by share answered.

    If documents have several labels, the accuracy is the share of those that got exactly their labels, and precision, recall and F1 are those of each label
    against the rest. Log loss and Brier score are sums over labels; the calibration error is that of the most probable label.

    A text that the model was trained on is no test of it. A warning reports such texts, as far as the model's sample of its training documents
    shows; --training checks all of them, and reports texts with the same words, each as often, in capitals or not.

    A line of --errors has id, truth, answer, probability, and the terms that speak most for the answer against the true class, each with its
    contribution in nats.

    \b
    Examples:
      nbtext evaluate corpora/service-desk/test
      nbtext evaluate corpora/service-desk/test --all
      nbtext evaluate test.csv --model topics.joblib --output json
      nbtext evaluate corpora/service-desk/test --errors mistakes.jsonl
      nbtext evaluate corpora/service-desk/test --fail-under macro_f1=0.6
      nbtext evaluate test.csv --model topics.joblib --training messages.csv
    """
    from nbtext.cli.corpus import (
        check_output_file,
        locate_documents,
        make_leak_watch,
        open_documents,
    )
    from nbtext.cli.proportions import adjust_prior
    from nbtext.compatibility import ERROR_LISTING, list_label_requests, require_compatible_settings
    from nbtext.evaluation.evaluate import evaluate_scored_blocks
    from nbtext.explain.mistakes import MistakeFinder
    from nbtext.guarantees.precision import compute_risk_curve
    from nbtext.guarantees.prediction_sets import SetTally, add_set_metrics
    from nbtext.model.parallel_corpus import score_corpus
    from nbtext.prediction.rule import compute_prediction_threshold
    from nbtext.report.evaluations import write_evaluation
    from nbtext.report.predictions import open_mistake_writer

    model = shared_options.load_model(options.model_path)
    asked = parse_gates(required, len(model.classes), has_costs=prediction.costs is not None)
    rule, set_rule = build_prediction_rules(prediction, model)
    tally = None if set_rule is None else SetTally(set_rule, model.classes)
    documents = locate_documents(documents)
    by = tuple(dict.fromkeys(options.by))
    errors = options.errors
    if errors is not None:
        require_compatible_settings(
            model.settings, ERROR_LISTING, *list_label_requests(model.fitted.posterior_type)
        )
        inputs = [options.model_path, *documents.paths, *options.training, prediction.costs]
        check_output_file(errors, "--errors", inputs)
    with (
        nullcontext()
        if errors is None
        else open_mistake_writer(errors, MistakeFinder(model.fitted), rule) as look
    ):
        leaks = make_leak_watch(model, documents, options.training)
        source = open_documents(model, documents, labelled=True, columns=by)
        scored = score_corpus(model.fitted, source, running.jobs)
        if prediction.prior_from:
            scored = adjust_prior(scored, model, documents, prediction.prior_from, running.jobs)
        if tally is not None:
            scored = tally.observe(scored)
        evaluation = evaluate_scored_blocks(
            leaks.observe(scored), model, rule, group_columns=by, on_block=look
        )
    sets = None if tally is None else tally.result()
    risk = () if prediction.min_precision is None else compute_risk_curve(evaluation.documents)
    result = add_set_metrics(evaluation.result(), sets)
    leaked = leaks.result(evaluation)
    source.report_notices()
    n_unknown = format_quantity(sum(result.unknown_documents.values()), "document")
    messages.warn_unknown_labels(
        "the model", result.unknown_labels, f": {n_unknown}, counted as mistakes"
    )
    if not evaluation.keeps_scores:
        messages.notify(
            "too many documents and classes to keep all scores: no areas under ROC curves, no "
            "average precision"
        )
    if leaked is not None and (warning := leaked.make_warning(result.n)):
        messages.warn(warning)
    threshold = (
        None
        if rule.costs is None
        else compute_prediction_threshold(rule.costs, model.fitted.classifier.prior, model.classes)
    )
    write_evaluation(
        options.output,
        result,
        show_all=options.all,
        leaks=leaked,
        threshold=threshold,
        sets=sets,
        risk=risk,
    )
    return report_gate_failures(gate.find_failure(result) for gate in asked)
