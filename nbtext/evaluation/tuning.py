"""The search of `nbtext tune` for the best training settings, within a time limit.

Each stage tries settings on more documents than the previous stage, and the best settings advance
to the next (K. Jamieson, A. Talwalkar, Non-stochastic best arm identification and hyperparameter
optimization, 2016). The default is in every stage, because other settings are compared with it. If
the user names the settings, there is one stage, with all documents and folds.

The time and the number of processes change how many trials finish, but not the results of trials.
"""

from __future__ import annotations

import shlex
import signal
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts, Subsets
from nbtext.counts.counting import count_labelled_documents
from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import (
    Folds,
    HeldOutEvaluation,
    draw_stratified_folds,
    train_and_score,
)
from nbtext.evaluation.trials import (
    HeldOutPredictions,
    Stage,
    Trial,
    choose_trial,
    compare_trials,
    correct_metric,
    rank_trials,
)
from nbtext.model import TextClassifier
from nbtext.model.training import resolve_smoothing_terms
from nbtext.parallel.processes import run_in_order
from nbtext.progress import start_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from nbtext.corpus.document import Document
    from nbtext.evaluation.candidates import Candidate
    from nbtext.type_names import Ints

MIN_HELD_OUT_DOCUMENTS = 400
"""Minimum number of held-out documents in a stage."""

STAGE_GROWTH = 3
"""Factor of the documents, and divisor of the settings, from one stage to the next."""

TIME_BUDGET_FRACTION = 0.95
"""Fraction of the time limit that trials and training may use."""

TRAINING_TIME_MARGIN = 1.3
"""Factor of the time to train the final model, which cannot be interrupted."""

STAGE_TIME_FRACTION = 0.5
"""Fraction of the remaining time that a stage other than the last may use."""

MAX_MATRIX_ENTRIES = 2**24
"""Entries of a document-term matrix. Each entry takes 84 bytes during counting."""


def plan_stages(n_documents: int, n_folds: int, n_settings: int, *, growing: bool) -> list[Stage]:
    """Return the stages: one fold of growing samples, and at the end all folds of the corpus.

    The largest sample is the whole corpus. Only the last stage remains if ``growing`` is false, if
    the corpus is small, or for one setting.
    """
    stages = []
    max_settings = n_settings
    sample_size = MIN_HELD_OUT_DOCUMENTS * n_folds
    if growing and n_settings > 1 and n_documents > sample_size:
        while sample_size < STAGE_GROWTH * n_documents:
            stages.append(Stage(min(sample_size, n_documents), n_folds=1, n_settings=max_settings))
            sample_size *= STAGE_GROWTH
            max_settings = max(ceil(max_settings / STAGE_GROWTH), 2)
    return [*stages, Stage(n_documents, n_folds, max_settings)]


class TimeIsUpError(BaseException):
    """The time for some work is over. Not an `Exception`, which the work might handle."""


@contextmanager
def raise_after(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUpError` in the block after some seconds, or never if they are infinite."""
    is_over = False

    def raise_error(*_: object) -> None:
        if not is_over:
            raise TimeIsUpError

    old_handler = signal.signal(signal.SIGALRM, raise_error)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0 if seconds == inf else seconds)  # 0 is no timer
        yield
    finally:
        is_over = True  # the signal may still arrive
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old_handler)


@dataclass(frozen=True)
class Clock:
    """The time until the model must be written."""

    seconds: float = inf
    """The time limit."""
    start: float = 0.0
    """The result of ``now`` at which the limit starts."""
    now: Callable[[], float] = time.monotonic
    alarm: Callable[[float], AbstractContextManager[None]] = raise_after
    """Returns a context manager that interrupts its block after some seconds."""

    @property
    def seconds_left(self) -> float:
        """Seconds that remain for trials and training. Negative if they took longer."""
        return TIME_BUDGET_FRACTION * self.seconds - (self.now() - self.start)

    def compute_elapsed_fraction(self) -> float | None:
        """Return the fraction of the time limit that has passed, or None without a limit."""
        if self.seconds == inf:
            return None
        return (self.now() - self.start) / self.seconds


class _CountedStage(NamedTuple):
    """The documents of a stage, counted for candidates with the same `Candidate.counting_key`."""

    template: Trial
    """A trial that has not run, with the common values: stage, time to count, and entries."""
    rows: Ints
    """Indices of the documents in the corpus, shape (n_docs,)."""
    folds: Folds
    """The folds that are held out."""
    subsets: Subsets
    now: Callable[[], float]
    """Returns the time in seconds."""
    scores_training: bool = False
    """True to predict the training documents of each fold, too."""


def run_trial(counted: _CountedStage, candidate: Candidate) -> Trial:
    """Train models with a setting, and return their predictions for the held-out folds.

    The model of a fold is trained on all other documents of the stage. If training fails, the trial
    has the error.
    """
    start = counted.now()
    trial = replace(counted.template, candidate=candidate)
    evaluated = HeldOutEvaluation(counted.subsets.table)
    held_out_masks = []  # of each block
    try:
        settings = resolve_smoothing_terms(candidate.analysis)
        for training, test in counted.folds:
            scored = test | training if counted.scores_training else test
            _, blocks = train_and_score(counted.subsets, settings, training, scored)
            for block in blocks:
                evaluated.add(block)
                held_out_masks.append(test[block.rows])
    except UsageError as problem:
        return replace(trial, problem=candidate.locate_problem(problem))
    is_held_out = np.concatenate(held_out_masks)
    predictions = HeldOutPredictions(
        counted.rows[evaluated.rows],
        evaluated.evaluation.documents,
        evaluated.has_known_label,
        evaluated.evaluation.posterior_type,
    )
    training_accuracy = None
    if counted.scores_training:
        training_accuracy = float(predictions.take(~is_held_out).scored.is_correct.mean())
    return replace(
        trial,
        predictions=predictions.take(is_held_out),
        training_accuracy=training_accuracy,
        seconds=(counted.now() - start) / trial.stage.n_folds,
    )


@dataclass
class Search:
    """A search for the best settings of a corpus."""

    candidates: Sequence[Candidate]
    """The default first, unless it cannot be tried."""
    documents: Sequence[Document]
    counts: CorpusCounts
    """Counts of the corpus for the first candidate."""
    metric: str = "accuracy"
    n_folds: int = 10
    seed: int = 0
    is_staged: bool = False
    """True to try settings in stages."""
    clock: Clock = field(default_factory=Clock)
    jobs: int = 1
    scores_training: bool = False
    """True to predict the training documents of each fold, too."""

    def __post_init__(self) -> None:
        fold_generator, sample_generator = np.random.default_rng(self.seed).spawn(2)
        strata = self.counts.documents.strata
        self.folds = draw_stratified_folds(strata, self.n_folds, fold_generator).fold_indices
        self._shuffled_rows = sample_generator.permutation(strata.size)
        """Documents in random order, shape (n_docs,). Each sample is a prefix."""
        self.trials: list[Trial] = []
        """The finished trials."""
        self.chosen: Trial | None = None
        """The trial of the setting to keep, according to the finished trials."""

    def run(self) -> Iterator[Trial]:
        """Yield trials as they finish, until the end or the time limit."""
        candidates = list(self.candidates)
        stages = plan_stages(
            len(self.documents), self.n_folds, len(candidates), growing=self.is_staged
        )
        with start_progress("setting", len(candidates)) as report_progress:
            for stage in stages:
                feasible = [
                    candidate for candidate in candidates if self._fits_memory(candidate, stage)
                ]
                feasible = feasible[: stage.n_settings]
                if self.trials and len(feasible) < 2:  # nothing to choose from in a later stage
                    return
                reserved_seconds = 0.0
                is_last = stage.n_folds == self.n_folds
                if not is_last:
                    reserved_seconds = (1 - STAGE_TIME_FRACTION) * self.clock.seconds_left
                trials = self._try_candidates(stage, feasible)
                for trial in self._limit_time(trials, reserved_seconds):
                    self.trials.append(trial)
                    self.chosen = self._choose()
                    tried_names = {tried.candidate.name for tried in self.trials}
                    report_progress(
                        len(tried_names),
                        self._describe_chosen(),
                        self.clock.compute_elapsed_fraction,
                    )
                    yield trial
                candidates = self._rank_candidates(stage)

    def _rank_candidates(self, stage: Stage) -> list[Candidate]:
        """Return the candidates that a stage tried: first the default, then the best ones."""
        trials = [trial for trial in self.trials if trial.stage == stage]
        candidates = [trial.candidate for trial in rank_trials(self.metric, trials)]
        return sorted(candidates, key=lambda candidate: not candidate.is_default)

    @property
    def n_alternatives(self) -> int:
        """Number of settings that are compared with the default."""
        return sum(not candidate.is_default for candidate in self.candidates)

    def require_chosen(self) -> Trial:
        """Return the trial of the setting to keep.

        Raise `UsageError` if no setting could be tried.
        """
        if self.chosen is None:
            raise self.problems[0]
        return self.chosen

    @property
    def problems(self) -> list[UsageError]:
        """Errors of the settings that could not be tried."""
        return [trial.problem for trial in self.trials if trial.problem is not None]

    def train_model(self, candidate: Candidate) -> TextClassifier:
        """Return a model with the settings of a candidate, trained on the whole corpus."""
        model = TextClassifier(**candidate.settings)
        model.reading = candidate.settings.reading
        counts = self._count(candidate, np.arange(len(self.documents)))
        return model.learn(
            CorpusCounts.from_documents(
                counts.table, counts.documents, model.settings.keep_documents
            )
        )

    def _limit_time(self, trials: Iterator[Trial], reserved_seconds: float) -> Iterator[Trial]:
        """Yield trials as they finish, while there is time.

        The time that must remain is ``reserved_seconds`` or the time to train the chosen model,
        whichever is longer. The first trial is not limited.
        """
        seconds = inf
        while seconds > 0:
            try:
                with self.clock.alarm(seconds):
                    trial = next(trials)
            except (StopIteration, TimeIsUpError):
                return
            yield trial
            if self.chosen is not None and self.clock.seconds < inf:
                training_seconds = self._estimate_training_seconds(self.chosen)
                seconds = self.clock.seconds_left - max(reserved_seconds, training_seconds)

    def _try_candidates(self, stage: Stage, candidates: Sequence[Candidate]) -> Iterator[Trial]:
        """Yield the trials of candidates, grouped by their `Candidate.counting_key`."""
        groups: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            groups.setdefault(candidate.counting_key, []).append(candidate)
        for group in groups.values():
            counted = self._count_stage(stage, group[0])
            for candidate, worker_trial in run_in_order(run_trial, counted, group, self.jobs):
                trial = worker_trial
                if trial is None:  # no other process ran it
                    trial = run_trial(counted, candidate)
                if trial.problem is not None:
                    yield trial
                    continue
                default_trials = [
                    finished
                    for finished in self.trials
                    if finished.candidate.is_default and finished.stage == stage
                ]
                compared = compare_trials(
                    self.metric, [*default_trials, trial], self.n_alternatives
                )
                yield compared[-1]

    def _count_stage(self, stage: Stage, candidate: Candidate) -> _CountedStage:
        """Count the sample of a stage with the settings of a candidate."""
        rows = np.sort(self._shuffled_rows[: stage.n_documents])
        start = self.clock.now()
        counts = self._count(candidate, rows)
        template = Trial(
            candidate,
            stage,
            count_seconds=self.clock.now() - start,
            entries=counts.documents.matrix.terms.size,
        )
        return _CountedStage(
            template=template,
            rows=rows,
            # Folds that are not held out are only used for training.
            folds=Folds(self.folds[rows], stage.n_folds),
            subsets=Subsets(counts.table, counts.documents),
            now=self.clock.now,
            scores_training=self.scores_training,
        )

    def _count(self, candidate: Candidate, rows: Ints) -> CorpusCounts:
        """Return the counts of some documents with the settings of a candidate."""
        is_whole_corpus = rows.size == len(self.documents)
        if is_whole_corpus and self._fits_corpus_counts(candidate):
            return self.counts
        documents = [self.documents[row] for row in rows]
        return count_labelled_documents(documents, candidate.analysis, keep_all=True)

    def _fits_corpus_counts(self, candidate: Candidate) -> bool:
        """Return True if ``counts`` are also the counts of the candidate."""
        return candidate.counting_key == self.candidates[0].counting_key

    def _fits_memory(self, candidate: Candidate, stage: Stage) -> bool:
        """Return True if the counts of the documents of a stage fit into memory.

        The size is estimated from the last trial of the candidate. Without a trial, return True.
        """
        trials = [trial for trial in self.trials if trial.candidate.name == candidate.name]
        if not trials or self._fits_corpus_counts(candidate):
            return True
        last_trial = trials[-1]
        n_entries = last_trial.entries * stage.n_documents / last_trial.stage.n_documents
        return n_entries <= MAX_MATRIX_ENTRIES

    def _choose(self) -> Trial | None:
        """Return the trial of the setting to keep, or None if all trials failed.

        If possible, choose among the default and the settings whose model can be trained in time.
        """
        ranked = rank_trials(self.metric, self.trials)
        if not ranked:
            return None
        seconds_left = self.clock.seconds_left
        feasible = [
            trial
            for trial in ranked
            if trial.candidate.is_default or self._estimate_training_seconds(trial) <= seconds_left
        ]
        if not feasible:
            feasible = ranked
        return choose_trial(feasible)

    def _estimate_training_seconds(self, trial: Trial) -> float:
        """Return the expected time to train the model of a trial on the whole corpus."""
        seconds = trial.seconds
        if not self._fits_corpus_counts(trial.candidate):
            seconds += trial.count_seconds
        return TRAINING_TIME_MARGIN * seconds * len(self.documents) / trial.stage.n_documents

    def _describe_chosen(self) -> str:
        """Return the metric and the arguments of the chosen setting, for the progress line."""
        if self.chosen is None:
            return ""
        value = self.chosen.metrics[self.metric]
        text = "infinite" if value is None else f"{value:.4f}"
        name = self.metric.replace("_", " ")
        return " ".join([name, text, *self.chosen.candidate.to_arguments()])

    def to_dict(self, train_command: Sequence[str]) -> dict[str, Any]:
        """Return the result for JSON, with the settings best first.

        ``train_command`` trains with a setting if the arguments of the setting are appended.
        """
        ranked = rank_trials(self.metric, self.trials)
        rows = [
            self._to_row(rank, trial, train_command) for rank, trial in enumerate(ranked, start=1)
        ]
        corrected = None
        if self.chosen is not None:
            corrected = correct_metric(self.metric, self.trials, self.chosen, self.n_alternatives)
        return {
            "documents": len(self.documents),
            "folds": self.n_folds,
            "seed": self.seed,
            "settings_in_all": len(self.candidates),
            "corrected": corrected,
            "chosen": next((row for row in rows if row["chosen"]), None),
            "settings": rows,
        }

    def _to_row(self, rank: int, trial: Trial, train_command: Sequence[str]) -> dict[str, Any]:
        """Return one setting for JSON."""
        row: dict[str, Any] = {
            "rank": rank,
            "setting": trial.candidate.to_options(),
            "chosen": trial is self.chosen,
            **trial.metrics,
            "training_accuracy": trial.training_accuracy,
            "p_value": trial.p_value,
            "better": trial.is_better,
            "documents": trial.stage.n_documents,
            "documents_in_all": len(self.documents),
            "folds": trial.stage.n_folds,
            "folds_in_all": self.n_folds,
        }
        if not self.scores_training:
            del row["training_accuracy"]
        if self.clock.seconds < inf:  # otherwise the result does not depend on time
            row["seconds"] = round(trial.seconds * trial.stage.n_folds, 3)
        row["command"] = shlex.join([*train_command, *trial.candidate.to_arguments()])
        return row
