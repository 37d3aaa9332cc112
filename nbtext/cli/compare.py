"""`nbtext compare`: compare two models on labelled documents."""

from __future__ import annotations

import shlex

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.gates import report_gate_failures
from nbtext.cli.parameters import INPUT_PATH
from nbtext.cli.shared_options import DocumentOptions
from nbtext.errors import UsageError
from nbtext.fast_dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options that only this command has."""

    model_a: str = declarations.argument(metavar="A", type=INPUT_PATH)
    model_b: str = declarations.argument(metavar="B", type=INPUT_PATH)
    output: str = shared_options.output_field("table json")
    changed: str | None = declarations.common_option(
        "--changed",
        "Write documents with different answers to FILE as JSON lines. A line has id, truth, a, "
        "probability_a, b and probability_b.",
        group="output",
        type=shared_options.SCORED_DOCUMENTS_PATH,
    )
    fail_unless_better: bool = declarations.common_option(
        "--fail-unless-better",
        "Exit with status 6 unless B is right more often than A, beyond chance by McNemar's test.",
        group="answer",
    )
    seed: int = shared_options.seed_field("Seed of the bootstrap.", group="process")


@declarations.command("compare")
def command(options: CompareOptions, documents: DocumentOptions) -> int | None:
    """Compare how well the models A and B answer documents whose classes are known.

    The output shows which model answers better, whether the difference may be chance, and how many
    answers changed. CORPUS is laid out like a training corpus, and read like that of A unless
    options say otherwise. Differences are B minus A. McNemar's exact test judges the accuracy; the
    other differences have 95 % intervals of the paired bootstrap.

    \b
    Examples:
      nbtext train corpora/service-desk/train --ngrams 2 --model pairs.joblib
      nbtext compare nbtext.joblib pairs.joblib corpora/service-desk/test
    """
    from nbtext.cli.corpus import (
        CommandCorpus,
        check_output_file,
        choose_document_reading,
        detect_reading,
        locate_documents,
    )
    from nbtext.evaluation.comparison import (
        compare_on_documents,
        list_reading_differences,
        require_same_kind,
    )
    from nbtext.metrics.intervals import Bootstrap
    from nbtext.metrics.results import to_json_values
    from nbtext.report.comparisons import print_comparison
    from nbtext.report.output_formats import JSON_SIGNIFICANT_DIGITS, format_json_line, write_json
    from nbtext.store.atomic import replace_file

    paths = (options.model_a, options.model_b)
    if not documents.has_corpus:
        raise UsageError("compare needs CORPUS or --files-from", hint=_suggest_diff_command(*paths))
    model_a = shared_options.load_model(options.model_a)
    model_b = shared_options.load_model(options.model_b)
    documents = locate_documents(documents)
    require_same_kind(model_a, model_b)
    reading = choose_document_reading(model_a, documents)
    reading = detect_reading(reading, documents.paths, labelled=True)
    for warning in list_reading_differences(reading, model_b.reading, documents.reading.values):
        messages.warn(warning)
    check_output_file(options.changed, "--changed", (*paths, *documents.paths))
    source = CommandCorpus(documents, reading, labelled=True)
    comparison = compare_on_documents(
        model_a,
        model_b,
        source.iter_readable(),
        keep_disagreements=options.changed is not None,
    )
    source.report_notices()
    if options.changed is not None:
        lines = (
            format_json_line(to_json_values(disagreement, JSON_SIGNIFICANT_DIGITS)).encode()
            for disagreement in comparison.disagreements
        )
        replace_file(options.changed, lambda file: file.writelines(lines))
    result = comparison.result(Bootstrap(seed=options.seed))
    messages.warn_unknown_labels("A", result.a.unknown_labels)
    messages.warn_unknown_labels("B", result.b.unknown_labels)
    if options.output == "table":
        print_comparison(result, *paths)
    else:
        write_json({**to_json_values(result), "models": list(paths)})
    failures = []
    if options.fail_unless_better and not result.b_is_better:
        failures.append("B is not right more often than A beyond chance")
    return report_gate_failures(failures)


def _suggest_diff_command(*model_paths: str) -> str:
    """Return the command that shows the differences between the contents of two models."""
    contents = (
        f"<(nbtext inspect -m {shlex.quote(path)} --output json | python3 -m json.tool)"
        for path in model_paths
    )
    return f"to see what differs in the models: diff {' '.join(contents)}"
