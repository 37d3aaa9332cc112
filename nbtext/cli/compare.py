"""`nbtext compare`: compare two models, in themselves or on documents."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as option
from nbtext.cli.messages import SHOWN
from nbtext.errors import UsageError, listed
from nbtext.settings import READING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.model import TextClassifier
    from nbtext.settings import Reading

MAIL = ("headers", "drop_quotes", "drop_signatures")
"""Settings that decide which text a mail has."""


@click.command("compare", short_help="Compare two models, in themselves or on documents.")
@click.argument("model_a", metavar="A", shell_complete=option.suggest_files)
@click.argument("model_b", metavar="B", shell_complete=option.suggest_files)
@option.corpus_argument
@option.output_option("table", "json", help_text="Default: table.")
@click.option(
    "--changed", metavar="FILE", shell_complete=option.suggest_files,
    help="Write the documents to which A and B give different answers to a file, as JSON lines: id, truth, a, probability_a, b, probability_b.",
)  # fmt: skip
@click.option(
    "--top", type=option.WholeNumber(min=0), default=20, show_default=True, metavar="N", help="Without a CORPUS: how many terms to show."
)
@click.option("--seed", type=option.WholeNumber(min=0), default=0, show_default=True, metavar="N", help="Seed of the bootstrap.")
@option.input_options
@option.reading_options
@option.messages_options
def command(
    model_a: str, model_b: str, corpus: tuple[str, ...], output: str | None, changed: str | None, top: int, seed: int, **options: Any
) -> int:
    """Compare the models A and B, in themselves or on documents.

    Without a CORPUS: which settings, classes, documents and priors differ, and the terms whose probability in a class moved most, by what they add to the
    Jensen-Shannon divergence between the class's language models in A and in B, in nats.

    With one: whose answers are better, whether chance alone would do that, and which changed. CORPUS is laid out like a training corpus and read as A's was, but for what options say. Differences are those of B less A. McNemar's exact test judges the
    accuracy; the other differences have 95 % intervals of the paired bootstrap.

    \b
    Example:
      nbtext train corpora/service-desk/train --ngrams 2 --model pairs.joblib
      nbtext compare nbtext.joblib pairs.joblib
      nbtext compare nbtext.joblib pairs.joblib corpora/service-desk/test
    """
    from nbtext.cli.corpus import CommandCorpus, check_output_file, corpus_paths, on_error
    from nbtext.evaluation.comparison import compare
    from nbtext.metrics.intervals import Bootstrap
    from nbtext.model import TextClassifier

    say = option.messages(options)
    if not corpus and options["files_from"] is None:
        return _in_themselves(model_a, model_b, top, output, {"changed": changed, **options})
    a, b = TextClassifier.load(model_a), TextClassifier.load(model_b)
    paths = corpus_paths(corpus, options)
    reading = _reading(a, b, paths, options, say)
    if changed is not None:
        check_output_file(changed, "--changed", (model_a, model_b, *paths))
    documents = CommandCorpus(paths, reading, say, labelled=True, on_error=on_error(options))
    comparison = compare(a, b, documents.readable(), keep_changed=changed is not None)
    documents.say_notices()
    if changed is not None:
        from nbtext.report.comparisons import changed_lines
        from nbtext.store.atomic import replace_file

        replace_file(changed, lambda file: file.writelines(changed_lines(comparison.changed)))
    result = comparison.result(Bootstrap(seed=seed))
    for side, name in ((result.a, "A"), (result.b, "B")):
        if unknown := side.unknown_labels:
            say.warn(f"{name} does not know the labels {listed(unknown, SHOWN)}")
    if output == "json":
        from nbtext.metrics.results import json_values
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line({**json_values(result), "models": [model_a, model_b]}))
    else:
        from nbtext.report.comparisons import print_comparison

        print_comparison(result, model_a, model_b)
    return say.finish()


def _in_themselves(model_a: str, model_b: str, top: int, output: str | None, options: Options) -> int:
    """Raises `UsageError` for options that documents are needed for."""
    from nbtext.inspection.differences import differences
    from nbtext.model import TextClassifier

    useless = ["changed"] * (options["changed"] is not None) + ["null"] * options["null"] + list(option.given(READING, options))
    if useless:
        raise UsageError(f"--{useless[0].replace('_', '-')} needs a CORPUS")
    found = differences(TextClassifier.load(model_a), TextClassifier.load(model_b), top)
    if output == "json":
        from nbtext.metrics.results import json_values
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line({"models": [model_a, model_b], **json_values(found)}))
    else:
        from nbtext.report.rankings import print_differences

        print_differences(found, model_a, model_b)
    return 0


def _reading(a: TextClassifier, b: TextClassifier, paths: Sequence[str], options: Options, say: Messages) -> Reading:
    """Return how documents are read: as A's were, but for options given; warn if B's texts were made from documents in another way.

    Raises `UsageError` if one model is of texts and the other of counted features.
    """
    from nbtext.cli.corpus import reading_of
    from nbtext.corpus.reading import resolved

    if a.reading.is_counted != b.reading.is_counted:
        counted = (a if a.reading.is_counted else b).reading.format
        raise UsageError(f"one model was trained on texts, the other on {counted}'s counted features", hint="compare two of a kind")
    reading = resolved(reading_of(a, paths, options), paths, labelled=True)
    deciding = ("document", *(MAIL if reading["document"] == "mail" else ()))
    for name in deciding:
        if options[name] is None and reading[name] != b.reading[name]:
            option = "--" + name.replace("_", "-")
            say.warn(
                f"B was trained with {option} {_as_option(b.reading[name])}, but documents are read with {_as_option(reading[name])}, as for A"
            )
    return reading


def _as_option(value: object) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
