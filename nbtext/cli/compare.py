"""`nbtext compare`: compare two models on documents."""

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
    """The options of this command alone."""

    model_a: str = declarations.argument(metavar="A", type=INPUT_PATH)
    model_b: str = declarations.argument(metavar="B", type=INPUT_PATH)
    output: str = shared_options.output_field("table json")
    changed: str | None = declarations.common_option(
        "--changed",
        "output",
        "Write documents with different answers to FILE as JSON lines. A line has id, truth, a, "
        "probability_a, b and probability_b.",
        type=shared_options.SCORED_DOCUMENTS_PATH,
    )
    fail_unless_better: bool = declarations.common_option(
        "--fail-unless-better",
        "answer",
        "Exit with status 6 unless B is right more often than A, beyond chance by McNemar's test.",
    )
    seed: int = shared_options.seed_field("process", "Seed of the bootstrap.")


@declarations.command("compare")
def command(options: CompareOptions, documents: DocumentOptions) -> int | None:
    """Compare how well the models A and B answer documents whose classes are known.

    The output shows which model answers better, whether the difference may be chance, and how many answers changed. CORPUS is laid out like
    a training corpus, and read like that of A unless options say otherwise. Differences are B minus A. McNemar's exact test judges the
    accuracy; the other differences have 95 % intervals of the paired bootstrap.

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

    model_a = options.model_a
    model_b = options.model_b
    changed = options.changed
    if not documents.has_corpus:
        raise UsageError(
            "compare needs CORPUS or --files-from", hint=_without_documents(model_a, model_b)
        )
    a = shared_options.load_model(model_a)
    b = shared_options.load_model(model_b)
    documents = locate_documents(documents)
    require_same_kind(a, b)
    reading = detect_reading(choose_document_reading(a, documents), documents.paths, labelled=True)
    for warning in list_reading_differences(reading, b.reading, documents.reading.values):
        messages.warn(warning)
    check_output_file(changed, "--changed", (model_a, model_b, *documents.paths))
    source = CommandCorpus(documents, reading, labelled=True)
    comparison = compare_on_documents(
        a, b, source.iter_readable(), keep_disagreements=changed is not None
    )
    source.report_notices()
    if changed is not None:
        replace_file(
            changed,
            lambda file: file.writelines(
                format_json_line(to_json_values(each, JSON_SIGNIFICANT_DIGITS)).encode()
                for each in comparison.disagreements
            ),
        )
    result = comparison.result(Bootstrap(seed=options.seed))
    messages.warn_unknown_labels("A", result.a.unknown_labels)
    messages.warn_unknown_labels("B", result.b.unknown_labels)
    if options.output == "table":
        print_comparison(result, model_a, model_b)
    else:
        write_json({**to_json_values(result), "models": [model_a, model_b]})
    is_missed = options.fail_unless_better and not result.b_is_better
    return report_gate_failures(
        ["B is not right more often than A beyond chance"] if is_missed else []
    )


def _without_documents(*options: str) -> str:
    """Return what to type to compare what is in two models."""
    contents = (
        f"<(nbtext inspect -m {shlex.quote(model)} --output json | python3 -m json.tool)"
        for model in options
    )
    return f"to see what differs in the models: diff {' '.join(contents)}"
