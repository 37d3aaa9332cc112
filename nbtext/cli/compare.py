"""`nbtext compare`: compare two models on documents."""

from __future__ import annotations

import shlex
from typing import Any

import click

from nbtext.cli import messages, option, panels
from nbtext.cli.gates import status_of
from nbtext.errors import UsageError
from nbtext.settings import READING


@panels.command("compare")
@click.argument("model_a", metavar="A", type=option.PATH)
@click.argument("model_b", metavar="B", type=option.PATH)
@option.corpus_argument
@option.output_option("table json")
@panels.common_option(
    "--changed", "output",
    "Write documents with different answers to FILE as JSON lines. A line has id, truth, a, probability_a, b and probability_b.",
    type=option.JUDGED_FILE,
)  # fmt: skip
@panels.common_option(
    "--fail-unless-better", "answer",
    "Exit with status 6 unless B is right more often than A, beyond chance by McNemar's test.",
)  # fmt: skip
@option.seed_option("process", "Seed of the bootstrap.")
@option.document_options
def command(model_a: str, model_b: str, output: str, seed: int, **options: Any) -> int | None:
    """Compare how well the models A and B answer documents whose classes are known.

    The output shows which model answers better, whether the difference may be chance, and how many answers changed. CORPUS is laid out like
    a training corpus, and read like that of A unless options say otherwise. Differences are B minus A. McNemar's exact test judges the
    accuracy; the other differences have 95 % intervals of the paired bootstrap.

    \b
    Examples:
      nbtext train corpora/service-desk/train --ngrams 2 --model pairs.joblib
      nbtext compare nbtext.joblib pairs.joblib corpora/service-desk/test
    """
    from nbtext.cli.corpus import CommandCorpus, check_output_file, corpus_paths, names_documents, reading_of, recognised
    from nbtext.evaluation.comparison import compare, differences_of_texts, require_same_kind
    from nbtext.metrics.intervals import Bootstrap
    from nbtext.metrics.results import json_values
    from nbtext.report.comparisons import print_comparison
    from nbtext.report.forms import SIX_DIGITS, json_line, write_json
    from nbtext.store.atomic import replace_file

    if not names_documents(options):
        raise UsageError("compare needs CORPUS or --files-from", hint=_without_documents(model_a, model_b))
    a, b = option.load_model(model_a), option.load_model(model_b)
    paths, changed = corpus_paths(options), options["changed"]
    require_same_kind(a, b)
    reading = recognised(reading_of(a, paths, options), paths, labelled=True)
    for warning in differences_of_texts(reading, b.reading, option.given(READING, options)):
        messages.warn(warning)
    check_output_file(changed, "--changed", (model_a, model_b, *paths))
    documents = CommandCorpus(paths, reading, options, labelled=True)
    comparison = compare(a, b, documents.readable(), keep_changed=changed is not None)
    documents.say_notices()
    if changed is not None:
        replace_file(
            changed, lambda file: file.writelines(json_line(json_values(each, SIX_DIGITS)).encode() for each in comparison.changed)
        )
    result = comparison.result(Bootstrap(seed=seed))
    messages.warn_of_unknown("A", result.a.unknown_labels)
    messages.warn_of_unknown("B", result.b.unknown_labels)
    if output == "table":
        print_comparison(result, model_a, model_b)
    else:
        write_json({**json_values(result), "models": [model_a, model_b]})
    return status_of(["B is not right more often than A beyond chance"] if options["fail_unless_better"] and not result.b_is_better else [])


def _without_documents(*models: str) -> str:
    """Return what to type to compare what is in two models."""
    contents = (f"<(nbtext inspect -m {shlex.quote(model)} --output json | python3 -m json.tool)" for model in models)
    return f"to see what differs in the models: diff {' '.join(contents)}"
