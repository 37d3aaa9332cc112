"""`nbtext evaluate`: judge a model on documents whose classes are known."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from nbtext.cli import options as option
from nbtext.cli.gates import finish, gate_options, gates
from nbtext.cli.leaks import LeakWatch, tell_leaks, training_corpus_option
from nbtext.cli.messages import SHOWN
from nbtext.errors import listed, quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtext.cli.messages import Messages
    from nbtext.cli.options import Options
    from nbtext.decision import Decision
    from nbtext.evaluation.leakage import LeakResult, SampledLeakResult
    from nbtext.metrics.results import EvaluationResult
    from nbtext.model import TextClassifier
    from nbtext.model.scoring import ScoredBlock
    from nbtext.report.answers import MistakeFile


@click.command("evaluate", short_help="Judge the model on documents whose classes are known.")
@option.corpus_argument
@option.model_option
@option.output_option("table", "json", help_text="Default: table.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Also judge the documents of each value of a column apart; several allowed.")
@click.option(
    "--errors", metavar="FILE", shell_complete=option.suggest_files,
    help="Write the misclassified documents to FILE, surest mistake first, as JSON lines.",
)  # fmt: skip
@option.decision_options
@training_corpus_option
@gate_options
@option.input_options
@option.reading_options
@option.jobs_option
@option.messages_options
def command(corpus: tuple[str, ...], model_path: str, output: str | None, **options: Any) -> int:
    """Classify documents whose classes are known and print how often and how confidently the model is right.

    CORPUS is laid out like a training corpus. Labels that the model does not know count as mistakes and are named. A document without an
    answer (--min-probability, --costs) counts as not found: it lowers accuracy and recall, not precision. Intervals hold 95 %.

    A text that the model was trained on is no test of it. There is a warning if such texts are met, as far as the model's sample of its
    training documents tells; with --training of all, and of those that share at least 0.8 of their words, from ten different words on.

    A line of --errors has id, truth, answer, probability, and terms: those that speak most for the answer against the true class, with what
    they add to its score in nats.

    \b
    Example:
      nbtext evaluate corpora/service-desk/test
      nbtext evaluate test.csv --model topics.joblib --output json
      nbtext evaluate corpora/service-desk/test --errors mistakes.jsonl
      nbtext evaluate corpora/service-desk/test --fail-under macro_f1=0.6 --fail-over log_loss=2
      nbtext evaluate corpora/service-desk/test --training corpora/service-desk/train
    """
    from nbtext.cli.corpus import CommandCorpus, corpus_paths, on_error, reading_of
    from nbtext.evaluation.judging import judge_scored
    from nbtext.model import TextClassifier
    from nbtext.model.corpus_flow import score_corpus

    say = option.messages(options)
    model = TextClassifier.load(model_path)
    asked = gates(options, n_classes=len(model.classes_), with_costs=options["costs"] is not None)
    rule = option.decision_rule(options, model.classes_, say)
    paths, by = corpus_paths(corpus, options), tuple(dict.fromkeys(options["by"]))
    with _error_file(options, (model_path, *paths, *options["training"])) as mistakes:
        reading = reading_of(model, paths, options)
        leaks = LeakWatch(model, options["training"], paths, say, on_error(options))
        documents = CommandCorpus(paths, reading, say, labelled=True, columns=by, on_error=on_error(options))
        scored = leaks.watched_scored(score_corpus(model, documents, options["jobs"]))
        evaluation = judge_scored(scored, model, rule, by=by, look=None if mistakes is None else _collector(model, mistakes))
        if mistakes is not None:
            mistakes.write()
    result, leaked = evaluation.result(), leaks.result(evaluation)
    documents.say_notices()
    _tell(say, result, ranked=evaluation.ranked)
    tell_leaks(say, leaked, result.n)
    _print(result, leaked, output)
    return finish(asked, result, say)


def _collector(model: TextClassifier, mistakes: MistakeFile) -> Callable[[ScoredBlock, Decision], None]:
    from nbtext.explain.mistakes import MistakeFinder

    finder = MistakeFinder(model)
    return lambda block, decision: mistakes.add(finder.mistakes(block, decision))


def _error_file(options: Options, inputs: tuple[str, ...]) -> nullcontext[None] | MistakeFile:
    """Open the file of mistakes, if one is wanted; raises `UsageError` or `PathError` if it cannot be written."""
    from nbtext.cli.corpus import check_output_file
    from nbtext.report.answers import MistakeFile

    path = options["errors"]
    if path is None:
        return nullcontext()
    check_output_file(path, "--errors", [*inputs, *([options["costs"]] if options["costs"] else [])])
    return MistakeFile(path)


def _tell(say: Messages, result: EvaluationResult, *, ranked: bool) -> None:
    if unknown := result.unknown_labels:
        documents = quantity(sum(result.unknown_documents.values()), "document")
        say.warn(f"the model does not know the labels {listed(unknown, SHOWN)}: {documents}, counted as mistakes")
    if not ranked:
        say.notice("too many documents and classes to keep all scores: no areas under ROC curves, no average precision")


def _print(result: EvaluationResult, leaks: LeakResult | SampledLeakResult | None, output: str | None) -> None:
    if output == "json":
        from nbtext.report.evaluations import evaluation_record
        from nbtext.report.forms import json_line

        sys.stdout.write(json_line(evaluation_record(result, leaks)))
    else:
        from nbtext.report.evaluations import print_evaluation

        print_evaluation(result, leaks)
