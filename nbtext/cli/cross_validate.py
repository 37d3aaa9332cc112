"""`nbtext cross-validate`: judge models of a corpus on documents left out of training."""

from __future__ import annotations

from typing import Any

from nbtext.cli import messages, option, panels
from nbtext.cli.gates import gate_options, gates, status_of
from nbtext.errors import listed, quantity


@panels.command("cross-validate")
@option.labelled_corpus_options
@panels.common_option("--folds", "documents", "Divide the corpus into N parts.", type=option.WholeNumber(2), default=10)
@panels.common_option(
    "--repeats", "documents",
    "Divide it N times, differently each time.",
    type=option.WholeNumber(1), default=1,
)  # fmt: skip
@option.seed_option("documents", "Seed of the division into folds.")
@panels.option("--group-column", "documents", "Keep documents with the same value in this column in one fold.", metavar="COLUMN")
@panels.option(
    "--time-column", "documents",
    "Train on documents before each fold in time. The column has numbers, or dates and times of ISO 8601 in one zone.",
    metavar="COLUMN",
)  # fmt: skip
@panels.option(
    "--leave-one-out", "documents",
    "Judge every document by the model of all others. Terms, smoothing and calibration are chosen once, from all documents.",
)  # fmt: skip
@option.output_option("table tsv csv json jsonl", "json has all figures; rows are classes.")
@option.all_option
@option.decision_options
@panels.common_option(
    "--predictions", "output",
    "Write the answer to every document to FILE as JSON lines. A line has id, truth, answer and probability. With --repeats there are the answers of "
    "one after the other.",
    type=option.JUDGED_FILE,
)  # fmt: skip
@gate_options
@option.jobs_option
@option.corpus_options
def command(output: str, folds: int, repeats: int, seed: int, **options: Any) -> int | None:
    """Divide a corpus into folds, judge each by a model of the others, and print how good the answers are.

    Documents are counted once. Everything that training chooses, such as terms and smoothing, is chosen again for each fold, from the other
    folds. The classes are spread evenly over the folds, unless --group-column or --time-column divide the corpus. No model is written.

    \b
    Examples:
      nbtext cross-validate corpora/service-desk/train
      nbtext cross-validate corpora/service-desk/train --folds 5 --repeats 3
      nbtext cross-validate corpora/service-desk/train --leave-one-out --top 200
      nbtext cross-validate messages.csv --group-column sender --folds 2
    """
    from nbtext.cli.corpus import check_output_file, corpus_paths, read_and_count, warn_of_small_classes
    from nbtext.evaluation.cross_validation import validate_corpus
    from nbtext.report.answers import prediction_lines
    from nbtext.report.evaluations import write_evaluation
    from nbtext.store.atomic import replace_file

    if options["leave_one_out"] and options["top"] is not None:
        messages.warn("--top saw all labels, so these figures may be far too good; use folds")
    gates(options)  # most of what may be wrong with them, said before the corpus is read
    paths, predictions, column = corpus_paths(options), options["predictions"], options["time_column"] or options["group_column"]
    check_output_file(predictions, "--predictions", [*paths, options["costs"]])
    counted = read_and_count(paths, options, [] if column is None else [column])
    statistics = counted.corpus.counts.statistics
    asked = gates(options, statistics.n_classes)
    rule = option.decision_rule(options, statistics.labels, statistics.kind)
    method = "time" if options["time_column"] else "grouped" if column else "leave-one-out" if options["leave_one_out"] else "stratified"
    if method == "stratified" and folds <= statistics.n_documents:
        warn_of_small_classes(statistics, folds)
    validation = validate_corpus(counted.corpus, counted.settings, rule, method, folds, seed, repeats, options["jobs"])
    result = validation.result()
    if predictions is not None:
        answers = (answer for repeat in validation.repeats for answer in repeat.predictions())
        lines = prediction_lines(answers, counted.corpus.names, statistics.kind)
        replace_file(predictions, lambda file: file.writelines(lines))
    counted.source.say_notices()
    if unknown := result.unknown_documents:
        n = quantity(sum(unknown.values()), "document")
        messages.warn(
            f"counted as mistakes, since no other document of their class was left to learn from: {n} of {listed(list(unknown), messages.SHOWN)}"
        )
    write_evaluation(
        output,
        result,
        everything=options["all"],
        folds=validation.folds_result(method, column, None if method == "time" else seed)
        if validation.folds
        else {"method": "leave-one-out", "n": result.n, "repeats": 1},
    )
    return status_of(gate.failure(result) for gate in asked)
