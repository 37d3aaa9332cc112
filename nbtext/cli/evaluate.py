"""`nbtext evaluate`: judge a model on documents whose classes are known."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from nbtext.cli import options as option
from nbtext.cli.gates import failures, finish, gate_options, gates
from nbtext.errors import UsageError, quantity


@click.command("evaluate", short_help="Judge the model on documents whose classes are known.")
@option.corpus_argument
@option.model_option
@option.output_option("table", "json", help_text="Default: table.")
@click.option("--by", multiple=True, metavar="COLUMN", help="Also judge the documents of each value of a column apart; several allowed.")
@click.option(
    "--errors", metavar="FILE", shell_complete=option.suggest_files,
    help="Write the misclassified documents to FILE, surest mistake first, as JSON lines.",
)  # fmt: skip
@click.option(
    "--sweep", type=click.Choice(["prior"]),
    help="Judge the model with prior strengths (pseudo-counts) from near 0 to large instead, all from its counts, before calibration.",
)  # fmt: skip
@option.decision_options
@click.option(
    "--training", multiple=True, metavar="CORPUS", shell_complete=option.suggest_files,
    help="What the model was trained on, read as it was then: warn of test documents that are in it too, or nearly, and give the figures "
    "without them; several allowed.",
)  # fmt: skip
@gate_options
@option.input_options
@option.reading_options
@option.jobs_option
@option.messages_options
def command(corpus: tuple[str, ...], model_path: str, output: str | None, **options: Any) -> int:
    """Classify documents whose classes are known and print how often and how confidently the model is right.

    CORPUS is laid out like a training corpus. Labels that the model does not know count as mistakes and are named. A document without an
    answer (--min-probability, --costs) counts as not found: it lowers accuracy and recall, not precision. Intervals hold 95 %. For two classes and
    costs the threshold is shown that the ratio of their likelihoods must exceed for the first of them to be the answer.

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
      nbtext evaluate corpora/service-desk/test --sweep prior
    """
    from nbtext.cli.corpus import check_output_file, corpus_paths, documents_for, leak_watch
    from nbtext.decision import DecisionRule, answer_threshold
    from nbtext.evaluation.judging import judge_scored, sweep_prior
    from nbtext.explain.mistakes import MistakeFinder
    from nbtext.model import TextClassifier
    from nbtext.model.corpus_flow import score_corpus
    from nbtext.report.answers import MistakeFile
    from nbtext.report.evaluations import evaluation_record, print_evaluation, print_sweep
    from nbtext.report.forms import write_json

    say = option.messages(options)
    model = TextClassifier.load(model_path)
    asked = gates(options, len(model.classes_))
    rule = option.decision_rule(options, model.classes_, say)
    paths, by, errors = corpus_paths(corpus, options), tuple(dict.fromkeys(options["by"])), options["errors"]
    if options["sweep"] is not None:
        if asked or rule != DecisionRule() or by or errors is not None or options["training"]:
            raise UsageError("--sweep goes with no costs, threshold, gate, --by, --errors or --training")
        documents = documents_for(model, paths, options, say, labelled=True)
        sweep = sweep_prior(model, documents.readable())
        if output == "json":
            write_json(sweep)
        else:
            print_sweep(sweep)
        documents.say_notices()
        return say.finish()
    if errors is not None:
        check_output_file(errors, "--errors", [model_path, *paths, *options["training"], *filter(None, [options["costs"]])])
    with nullcontext() if errors is None else MistakeFile(errors) as mistakes:
        leaks = leak_watch(model, paths, options, say)
        documents = documents_for(model, paths, options, say, labelled=True, columns=by)
        scored = leaks.watched_scored(score_corpus(model, documents, options["jobs"]))
        if mistakes is None:
            evaluation = judge_scored(scored, model, rule, by=by)
        else:
            finder, file = MistakeFinder(model), mistakes
            evaluation = judge_scored(scored, model, rule, by=by, look=lambda block, decision: file.add(finder.mistakes(block, decision)))
            file.write()
    result, leaked = evaluation.result(), leaks.result(evaluation)
    documents.say_notices()
    n_unknown = quantity(sum(result.unknown_documents.values()), "document")
    say.warn_of_unknown("the model", result.unknown_labels, f": {n_unknown}, counted as mistakes")
    if not evaluation.ranked:
        say.notice("too many documents and classes to keep all scores: no areas under ROC curves, no average precision")
    if leaked is not None and (warning := leaked.warning(result.n)):
        say.warn(warning)
    threshold = None if rule.costs is None else answer_threshold(rule.costs, model.prior, model.classes_)
    if output == "json":
        write_json(evaluation_record(result, leaked, threshold))
    else:
        print_evaluation(result, leaked, threshold=threshold)
    return finish(failures(asked, result), say)
