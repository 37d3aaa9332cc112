"""`nbtext tune`: try training settings on a corpus, and write a model with the best ones."""

from __future__ import annotations

import signal
import time
from math import inf
from typing import TYPE_CHECKING, Any, cast

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.parameters import format_arguments, parameter_field
from nbtext.cli.shared_options import JobOptions, TrainingCorpusOptions, TrainingOptions
from nbtext.cli.writing import ReplacementOptions, report_model, write_new_model
from nbtext.errors import join_names
from nbtext.settings import INPUT, READING, TIME_LIMIT, TRAINING, TUNING_METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

    from nbtext.corpus.document import Document
    from nbtext.errors import UsageError
    from nbtext.evaluation.candidates import Candidate
    from nbtext.evaluation.tuning import Search
    from nbtext.model import TextClassifier
    from nbtext.model.parallel_corpus import CountedCorpus

DEFAULT_SEARCH_SECONDS = 60.0
"""Time limit of a search without ``--try`` and ``--time-limit``."""
DEFAULT_FOLDS = 10
"""Default number of folds with ``--try`` alone."""
DEFAULT_STAGED_FOLDS = 5
"""Default number of folds of a search on growing samples; see `TuneOptions.is_staged`."""


def _suggest_tries(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete NAME= of ``--try`` in the shell."""
    keys = [parameter.key for parameter in TRAINING]
    return [f"{key}=" for key in keys if key.startswith(incomplete)]


def _keep_document(document: Document) -> Document:
    """Return the whole document as its note, because the search counts documents again."""
    return document


@declarations.option_record
class TuneOptions(shared_options.ModelOptions):
    """Options that only this command has."""

    time_limit: str | None = parameter_field(TIME_LIMIT)
    tries: tuple[str, ...] = declarations.common_option(
        "--try",
        "Try the values A, B, … of the option NAME of training. none: without the "
        "option (top=500,none); if the option itself has a value none (stop-words=auto,none), this "
        "value. With several --try, all "
        "combinations are tried.",
        group="model",
        multiple=True,
        metavar="NAME=A,B,…",
        shell_complete=_suggest_tries,
    )
    metric: str = declarations.common_option(
        "--metric",
        "Metric to optimise.",
        group="evaluation",
        type=declarations.Choice(TUNING_METRICS),
        default="accuracy",
        old_names="--for",
    )
    training_accuracy: bool = declarations.option(
        "--training-accuracy",
        "Show also the accuracy of each model on its own training documents. If it is far higher "
        "than the accuracy on held-out documents, the setting overfits.",
        group="evaluation",
    )
    updatable: bool = declarations.option(
        "--updatable",
        "Try only models that the commands update, forget and merge can change exactly.",
        group="model",
        hidden=True,
    )
    folds: int | None = declarations.option(
        "--folds",
        "Divide the corpus into N parts to evaluate each combination.",
        group="evaluation",
        type=shared_options.WholeNumber(2),
        shown_default=f"{DEFAULT_STAGED_FOLDS}; {DEFAULT_FOLDS} with --try and no time limit",
    )
    seed: int = shared_options.seed_field("Seed of the division into folds.", group="evaluation")
    output: str = shared_options.output_field(
        "table tsv csv json jsonl", "Each row is a combination of settings."
    )
    to: str | None = shared_options.page_field()

    @property
    def is_staged(self) -> bool:
        """Whether settings are tried on growing samples of the documents.

        With ``--try`` alone, all settings are tried on all documents.
        """
        return self.time_limit is not None or not self.tries


@declarations.command("tune")
def command(
    documents: TrainingCorpusOptions,
    options: TuneOptions,
    replacement: ReplacementOptions,
    processes: JobOptions,
    training: TrainingOptions,
) -> None:
    """Try combinations of settings, print the metrics of each, and train and write a model with the best combination.

    Without --try, nbtext tries combinations that are known to be good, for 60 seconds: first all on
    a part of the documents, then the better ones on more documents. Options of training that are
    given are fixed. The default settings are always tried, and are chosen unless another
    combination is significantly better. The metrics of the best combination are a little too good,
    because the combination was chosen by the same metrics; the output also has a corrected metric.
    Ctrl-C prints the results so far and writes no model.

    \b
    Examples:
      nbtext tune corpora/service-desk/train --time-limit 3s
      nbtext tune corpora/service-desk/train --try smoothing=0.01,0.1,1
      nbtext tune corpora/service-desk/train --try ngrams=1,2 --try top=500,none
      nbtext tune corpora/service-desk/train --time-limit 3s --to settings.html
    """
    from nbtext.cli.corpus import locate_documents, read_and_count
    from nbtext.evaluation.tuning import Clock, Search
    from nbtext.parallel.processes import count_cores

    start = time.monotonic()
    model_path = options.model_path
    max_seconds = _choose_time_limit(options)
    documents = locate_documents(documents)
    candidates, errors = _make_candidates(documents, options, training)
    _check_output_files(options, documents)
    # The corpus is counted with the default settings. The search reuses these counts.
    default = candidates[0]
    settings = training.settings.with_raw_values(**default.raw_values)
    corpus, _, _, source = read_and_count(documents, settings, processes.jobs, note=_keep_document)
    kept_documents = corpus.notes
    search = Search(
        candidates,
        kept_documents,
        corpus.counts,
        TUNING_METRICS[options.metric],
        n_folds=_choose_n_folds(options, corpus),
        seed=options.seed,
        is_staged=options.is_staged,
        clock=Clock(max_seconds, start),
        jobs=processes.jobs or count_cores(),
        scores_training=options.training_accuracy,
    )
    train_command = _format_train_command(documents, training, model_path)
    model = _run_search(search, options, train_command)
    write_new_model(model, model_path, replacement)
    report_model(model, model_path)
    skipped = [str(error) for error in errors + search.problems]
    if skipped:
        # Some of the settings that are tried without --try are not possible for every corpus.
        report = messages.warn if options.tries else messages.notify
        report(f"skipped: {join_names(skipped, messages.MAX_LISTED)}")
    record = {"metric": options.metric, "model": model_path, **search.to_dict(train_command)}
    _write_trials(options, search, {**record, "left_out": skipped})
    source.report_notices()


def _check_output_files(options: TuneOptions, documents: TrainingCorpusOptions) -> None:
    """Raise `UsageError` or `PathError` if the model or the page of ``--to`` cannot be written."""
    from nbtext.cli.corpus import check_output_file

    check_output_file(options.model_path, "--model", documents.paths)
    inputs = [options.model_path, *documents.paths, documents.files_from]
    check_output_file(options.to, "--to", inputs)


def _choose_time_limit(options: TuneOptions) -> float:
    """Return the limit of the search in seconds. Raise `UsageError` for a wrong ``--time-limit``."""
    if options.time_limit is not None:
        return cast("float", TIME_LIMIT.validate(options.time_limit))
    return inf if options.tries else DEFAULT_SEARCH_SECONDS


def _make_candidates(
    documents: TrainingCorpusOptions, options: TuneOptions, training: TrainingOptions
) -> tuple[list[Candidate], list[UsageError]]:
    """Return the settings to try, and the errors of settings that cannot be trained."""
    from nbtext.cli.option_files import read_parameter_value
    from nbtext.corpus.detection.formats import resolve_reading
    from nbtext.evaluation.candidates import make_candidates, select_trainable

    # Complete settings have defaults. ``values`` are only the settings that the user gave.
    reading = resolve_reading(documents.reading.complete_settings, documents.paths, labelled=True)
    fixed_values = training.settings.values
    candidates = make_candidates(options.tries, fixed_values, reading, read_parameter_value)
    return select_trainable(candidates, updatable=options.updatable)


def _choose_n_folds(options: TuneOptions, corpus: CountedCorpus) -> int:
    """Return the number of folds, which is smaller for a corpus of few documents if `is_staged`.

    Otherwise, warn about classes that have fewer documents than folds.
    """
    from nbtext.cli.corpus import warn_small_classes

    if not options.is_staged:
        n_folds = options.folds or DEFAULT_FOLDS
        warn_small_classes(corpus.counts.table, n_folds)
        return n_folds
    if options.folds is not None:
        return options.folds
    n_documents = len(corpus.names)
    return max(2, min(DEFAULT_STAGED_FOLDS, n_documents))


def _run_search(search: Search, options: TuneOptions, train_command: list[str]) -> TextClassifier:
    """Run the search and train the best model.

    After Ctrl-C, print the trials so far, and raise `KeyboardInterrupt`. ``train_command`` is
    the command that trains with the default settings.
    """
    try:
        for _ in search.run():
            pass  # the search stores each trial
        chosen_trial = search.require_chosen()
        return search.train_model(chosen_trial.candidate)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would cut off the table
        if search.chosen is not None:
            messages.clear_progress()
            record = {"metric": options.metric, "model": None, **search.to_dict(train_command)}
            _write_trials(options, search, record)
        raise


def _write_trials(options: TuneOptions, search: Search, record: Mapping[str, Any]) -> None:
    """Print the settings that were tried, or write the page of ``--to``."""
    if options.to is None:
        from nbtext.report.comparisons import write_trials

        write_trials(options.output, record)
        return
    from nbtext.evaluation.trials import rank_trials
    from nbtext.report.page.markup import write_html
    from nbtext.report.page.result_pages import build_trials_page

    ranked = rank_trials(search.metric, search.trials)  # the order of the settings in the record
    intervals = [trial.predictions.compute_interval(search.metric) for trial in ranked]
    page = build_trials_page(record, intervals, shared_options.format_command_line())
    write_html(options.to, page)


def _format_train_command(
    documents: TrainingCorpusOptions, training: TrainingOptions, model_path: str
) -> list[str]:
    """Return the arguments of `nbtext train` with the parameters that the user has set."""
    input_values = {}
    for parameter in INPUT:
        value = getattr(documents, parameter.name)
        if value is not False:  # a switch that is off has no argument
            input_values[parameter.name] = value

    return [
        "nbtext",
        "train",
        *documents.paths,
        "--model",
        model_path,
        *format_arguments(INPUT, input_values),
        *format_arguments(READING, documents.reading.raw_values),
        *format_arguments(TRAINING, training.settings.raw_values),
    ]
