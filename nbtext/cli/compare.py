"""`nbtext compare`: compare two models on labelled documents."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.gates import report_gate_failures
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import DocumentOptions
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nbtext.evaluation.comparison import Disagreement
    from nbtext.model import TextClassifier
    from nbtext.settings import Reading


@declarations.option_record
class CompareOptions:
    """Options that only this command has."""

    model_a: str = declarations.argument(metavar="A", type=INPUT_PATH)
    model_b: str = declarations.argument(metavar="B", type=INPUT_PATH)
    output: str = shared_options.output_field("table json")
    disagreements: str | None = declarations.common_option(
        "--disagreements",
        "Write documents with different predictions to FILE as JSON lines. A line has id, truth, "
        "a (the prediction of A), probability_a, b and probability_b.",
        group="output",
        type=shared_options.SCORED_DOCUMENTS_PATH,
        old_names="--changed",
    )
    fail_unless_better: bool = declarations.common_option(
        "--fail-unless-better",
        "Exit with status 6 unless B is right significantly more often than A, by McNemar's test.",
        group="evaluation",
    )
    seed: int = shared_options.seed_field("Seed of the bootstrap.", group="process")


@declarations.command("compare")
def command(options: CompareOptions, documents: DocumentOptions) -> int | None:
    """Compare how well the models A and B predict documents whose classes are known.

    The output shows which model is better, whether the difference is significant, and how many
    predictions changed. CORPUS has the layout of a training corpus, and is read like the training
    corpus of A, unless options differ. Differences are B minus A. Accuracies are compared by
    McNemar's exact test; other differences have 95 % intervals of the paired bootstrap.

    \b
    Examples:
      nbtext train corpora/service-desk/train --ngrams 2 --model pairs.joblib
      nbtext compare nbtext.joblib pairs.joblib corpora/service-desk/test
    """
    from nbtext.cli.corpus import CommandCorpus, check_output_file, locate_documents
    from nbtext.evaluation.comparison import compare_on_documents, require_same_kind
    from nbtext.metrics.intervals import Bootstrap
    from nbtext.metrics.results import to_json_values
    from nbtext.report.comparisons import print_comparison
    from nbtext.report.output_formats import write_json

    model_paths = (options.model_a, options.model_b)
    if not documents.has_corpus:
        raise UsageError(
            "compare needs CORPUS or --files-from", hint=_suggest_diff_command(model_paths)
        )
    model_a = shared_options.load_model(options.model_a)
    model_b = shared_options.load_model(options.model_b)
    documents = locate_documents(documents)
    require_same_kind(model_a, model_b)
    reading = _choose_reading(documents, model_a, model_b)
    check_output_file(options.disagreements, "--disagreements", (*model_paths, *documents.paths))
    source = CommandCorpus(documents, reading, labelled=True)
    comparison = compare_on_documents(
        model_a,
        model_b,
        source.iter_readable(),
        keep_disagreements=options.disagreements is not None,
    )
    source.report_notices()
    if options.disagreements is not None:
        _write_disagreements(comparison.disagreements, options.disagreements)
    result = comparison.result(Bootstrap(seed=options.seed))
    for name, path, evaluation in zip("AB", model_paths, (result.a, result.b), strict=True):
        messages.warn_unknown_labels(f"model {name} ({path})", evaluation.unknown_labels)
    if options.output == "table":
        print_comparison(result, *model_paths)
    else:
        write_json({**to_json_values(result), "models": list(model_paths)})

    failures = []
    if options.fail_unless_better and not result.b_is_better:
        failures.append("B is not right significantly more often than A")
    return report_gate_failures(failures)


def _choose_reading(
    documents: DocumentOptions, model_a: TextClassifier, model_b: TextClassifier
) -> Reading:
    """Return the reading settings for both models, and warn if model B was trained with others.

    They are those of model A, unless options say otherwise.
    """
    from nbtext.cli.corpus import choose_document_reading, detect_reading
    from nbtext.evaluation.comparison import list_reading_differences

    reading = choose_document_reading(model_a, documents)
    reading = detect_reading(reading, documents.paths, labelled=True)
    for warning in list_reading_differences(reading, model_b.reading, documents.reading.values):
        messages.warn(warning)
    return reading


def _write_disagreements(disagreements: Iterable[Disagreement], path: str) -> None:
    """Write documents for which the models predict different labels, as JSON lines."""
    from nbtext.metrics.results import to_json_values
    from nbtext.report.output_formats import JSON_SIGNIFICANT_DIGITS, format_json_line
    from nbtext.store.atomic import replace_file

    lines = (
        format_json_line(to_json_values(disagreement, JSON_SIGNIFICANT_DIGITS)).encode()
        for disagreement in disagreements
    )
    replace_file(path, lambda file: file.writelines(lines))


def _suggest_diff_command(model_paths: Sequence[str]) -> str:
    """Return a hint with the shell command that shows how the contents of two models differ."""
    printed_models = (
        f"<(nbtext inspect -m {shlex.quote(path)} --output json | python3 -m json.tool)"
        for path in model_paths
    )
    return f"to compare the content of the models: diff {' '.join(printed_models)}"
