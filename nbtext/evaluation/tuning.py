"""Choose settings of training: a declared list, a growing number of documents, a clock.

Each stage tries settings on more documents than the one before, and the best of them go on to the
next (K. Jamieson, A. Talwalkar, Non-stochastic best arm identification and hyperparameter
optimization, 2016). The default is in every stage, since the others are compared with it. Without
known-good settings there is one stage, of all documents and folds. What a stage finds does not depend
on time or processes, only how far the search comes.
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
"""Held-out documents by which settings are dropped, at least."""

STAGE_GROWTH = 3
"""How many times as many documents the next stage has, and how many times as few settings."""

TIME_BUDGET_FRACTION = 0.95
"""Share of the time that is planned."""

TRAINING_TIME_MARGIN = 1.3
"""How many times as long as its trial tells the training of the model may take; nothing can stop that."""

STAGE_TIME_FRACTION = 0.5
"""Of the time that is left, for a stage that others are to follow."""

MAX_MATRIX_ENTRIES = 1 << 24
"""Of a document-term matrix, 84 bytes each while it is counted, for settings that the user did not name."""


def plan_stages(n_documents: int, n_folds: int, n_settings: int, *, growing: bool) -> list[Stage]:
    """Return the stages: one fold of a growing sample of the corpus, and in the end all folds of all of it.

    A corpus with too few documents for that has one stage; so has a search without ``growing``.
    """
    found = []
    settings = n_settings
    documents = MIN_HELD_OUT_DOCUMENTS * n_folds
    while (
        growing
        and n_settings > 1
        and documents < STAGE_GROWTH * n_documents
        and n_documents > MIN_HELD_OUT_DOCUMENTS * n_folds
    ):
        found.append(Stage(min(documents, n_documents), 1, settings))
        documents *= STAGE_GROWTH
        settings = max(ceil(settings / STAGE_GROWTH), 2)
    return [*found, Stage(n_documents, n_folds, settings)]


class TimeIsUpError(BaseException):
    """The time for some work is over: like `KeyboardInterrupt` no error that the work could handle."""


@contextmanager
def raise_after(seconds: float) -> Iterator[None]:
    """Raise `TimeIsUpError` in the block, whatever it does, once so many seconds are over."""
    is_over = False

    def ring(*_: object) -> None:
        if not is_over:
            raise TimeIsUpError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0 if seconds == inf else seconds)
        yield
    finally:
        is_over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@dataclass(frozen=True)
class Clock:
    """The time from the beginning until the model is written."""

    seconds: float = inf
    start: float = 0.0
    now: Callable[[], float] = time.monotonic
    alarm: Callable[[float], AbstractContextManager[None]] = raise_after

    @property
    def seconds_left(self) -> float:
        """Seconds that may still be planned."""
        return TIME_BUDGET_FRACTION * self.seconds - (self.now() - self.start)

    def compute_elapsed_fraction(self) -> float | None:
        """Return the share of the time that has passed, None without a limit."""
        return None if self.seconds == inf else (self.now() - self.start) / self.seconds


class _Counted(NamedTuple):
    """The documents of a stage as some settings count them."""

    trial: Trial
    """What is known of each of their trials: stage, time and memory."""
    numbers: Ints
    """Those of the documents in the corpus, shape (n_docs,)."""
    folds: Folds
    """Those that are held out."""
    subsets: Subsets
    now: Callable[[], float]


def run_trial(counted: _Counted, candidate: Candidate) -> Trial:
    """Return the answers of a setting in the folds that are held out, by models of all other documents of the stage."""
    begin = counted.now()
    trial = replace(counted.trial, candidate=candidate)
    table = counted.subsets.table
    held_out = HeldOutEvaluation(table)
    try:
        settings = resolve_smoothing_terms(candidate.analysis)
        for training, test in counted.folds:
            _, blocks = train_and_score(counted.subsets, settings, training, test)
            for block in blocks:
                held_out.add(block)
    except UsageError as problem:
        return replace(trial, problem=candidate.locate_problem(problem))
    answers = HeldOutPredictions(
        counted.numbers[held_out.rows],
        held_out.evaluation.documents,
        held_out.has_known_label,
        held_out.evaluation.kind,
    )
    seconds = (counted.now() - begin) / trial.stage.folds
    return replace(trial, predictions=answers, seconds=seconds)


@dataclass
class Search:
    """A search for the best settings of a corpus, which is read, and counted as the first candidate counts it."""

    candidates: Sequence[Candidate]
    """The default first, unless it cannot be tried."""
    documents: Sequence[Document]
    counts: CorpusCounts
    metric: str = "accuracy"
    n_folds: int = 10
    seed: int = 0
    is_staged: bool = False
    """Try settings in stages."""
    clock: Clock = field(default_factory=Clock)
    jobs: int = 1

    def __post_init__(self) -> None:
        of_folds, of_samples = np.random.default_rng(self.seed).spawn(2)
        strata = self.counts.documents.strata
        self.folds = draw_stratified_folds(strata, self.n_folds, of_folds).fold_indices
        self._order = of_samples.permutation(strata.size)
        """The documents in random order; a sample is the beginning of it, shape (n_docs,)."""
        self.trials: list[Trial] = []
        self.chosen: Trial | None = None
        """The setting to keep so far."""

    def run(self) -> Iterator[Trial]:
        """Yield trials as they end, until there are no more or the clock is out."""
        going_on = list(self.candidates)
        with start_progress("setting", len(going_on)) as report:
            for stage in plan_stages(
                len(self.documents), self.n_folds, len(going_on), growing=self.is_staged
            ):
                able = [candidate for candidate in going_on if self._fits_memory(candidate, stage)]
                able = able[: stage.settings]
                if self.trials and len(able) < 2:
                    return
                later = (
                    0.0
                    if stage.folds == self.n_folds
                    else (1 - STAGE_TIME_FRACTION) * self.clock.seconds_left
                )
                for trial in self._in_time(self._try(stage, able), later):
                    self.trials.append(trial)
                    self.chosen = self._choice()
                    report(
                        len({each.candidate.name for each in self.trials}),
                        self._best(),
                        self.clock.compute_elapsed_fraction,
                    )
                    yield trial
                finished = [trial for trial in self.trials if trial.stage == stage]
                going_on = [trial.candidate for trial in rank_trials(self.metric, finished)]
                going_on.sort(key=lambda candidate: not candidate.is_default)

    @property
    def n_alternatives(self) -> int:
        """How many settings are compared with the default."""
        return sum(not candidate.is_default for candidate in self.candidates)

    def require_chosen(self) -> Trial:
        """Return the trial of the setting to keep; raise `UsageError` if no setting could be tried."""
        if self.chosen is None:
            raise self.problems[0]
        return self.chosen

    @property
    def problems(self) -> list[UsageError]:
        """Why settings could not be tried."""
        return [trial.problem for trial in self.trials if trial.problem is not None]

    def train_model(self, candidate: Candidate) -> TextClassifier:
        """Return the model that training on the whole corpus makes."""
        model = TextClassifier(**candidate.settings)
        model.reading = candidate.settings.reading
        counts = self._count(candidate, np.arange(len(self.documents)))
        return model.learn(
            CorpusCounts.from_documents(counts.table, counts.documents, model.settings.sample)
        )

    def _in_time(self, trials: Iterator[Trial], later: float) -> Iterator[Trial]:
        """Yield trials as they end, while more is left than ``later`` seconds and the time to train the setting to keep.

        The first trial takes what it takes.
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
                seconds = self.clock.seconds_left - max(later, self._training_seconds(self.chosen))

    def _try(self, stage: Stage, candidates: Sequence[Candidate]) -> Iterator[Trial]:
        """Yield the trials of candidates, those that count alike one after the other."""
        alike: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            alike.setdefault(candidate.counting_key, []).append(candidate)
        for group in alike.values():
            counted = self._counted(stage, group[0])
            for candidate, done in run_in_order(run_trial, counted, group, self.jobs):
                trial = done or run_trial(counted, candidate)
                default = [
                    each
                    for each in self.trials
                    if each.candidate.is_default and each.stage == stage
                ]
                yield (
                    trial
                    if trial.problem
                    else compare_trials(self.metric, [*default, trial], self.n_alternatives)[-1]
                )

    def _counted(self, stage: Stage, candidate: Candidate) -> _Counted:
        numbers = np.sort(self._order[: stage.documents])
        begin = self.clock.now()
        counts = self._count(candidate, numbers)
        seconds = self.clock.now() - begin
        trial = Trial(
            candidate, stage, count_seconds=seconds, entries=counts.documents.matrix.terms.size
        )
        folds = Folds(self.folds[numbers], stage.folds)
        return _Counted(
            trial, numbers, folds, Subsets(counts.table, counts.documents), self.clock.now
        )

    def _count(self, candidate: Candidate, numbers: Ints) -> CorpusCounts:
        """Return documents as a candidate counts them."""
        if numbers.size == len(self.documents) and self._is_counted(candidate):
            return self.counts
        documents = [self.documents[number] for number in numbers]
        return count_labelled_documents(documents, candidate.analysis, keep_all=True)

    def _is_counted(self, candidate: Candidate) -> bool:
        """Return whether the whole corpus is counted as the candidate counts it."""
        return candidate.counting_key == self.candidates[0].counting_key

    def _fits_memory(self, candidate: Candidate, stage: Stage) -> bool:
        """Return whether there is memory to count the documents of a stage, as the last trial of the candidate tells."""
        before = [trial for trial in self.trials if trial.candidate.name == candidate.name]
        if not before or self._is_counted(candidate):
            return True
        entries = before[-1].entries * stage.documents / before[-1].stage.documents
        return entries <= MAX_MATRIX_ENTRIES

    def _choice(self) -> Trial | None:
        """Return the trial of the setting to keep, of those that there is time to train if there is any."""
        ranked = rank_trials(self.metric, self.trials)
        left = self.clock.seconds_left
        able = [
            trial
            for trial in ranked
            if trial.candidate.is_default or self._training_seconds(trial) <= left
        ]
        return choose_trial(able or ranked)

    def _training_seconds(self, trial: Trial) -> float:
        """Return about how long it takes to train the model of a trial on the whole corpus."""
        seconds = trial.seconds
        if not self._is_counted(trial.candidate):
            seconds += trial.count_seconds
        return TRAINING_TIME_MARGIN * seconds * len(self.documents) / trial.stage.documents

    def _best(self) -> str:
        """Return the setting to keep so far and its figure, to show while the search goes on."""
        if self.chosen is None:
            return ""
        value = self.chosen.metrics[self.metric]
        shown = "infinite" if value is None else f"{value:.4f}"
        return " ".join(
            [self.metric.replace("_", " "), shown, *self.chosen.candidate.to_arguments()]
        )

    def to_dict(self, train: Sequence[str]) -> dict[str, Any]:
        """Return what was found as JSON has it, settings best first; ``train`` begins the command line of each."""
        settings = []
        for rank, trial in enumerate(rank_trials(self.metric, self.trials), 1):
            row: dict[str, Any] = {
                "rank": rank,
                "setting": trial.candidate.to_options(),
                "chosen": trial is self.chosen,
                **trial.metrics,
                "p_value": trial.p_value,
                "better": trial.is_better,
                "documents": trial.stage.documents,
                "documents_in_all": len(self.documents),
                "folds": trial.stage.folds,
                "folds_in_all": self.n_folds,
            }
            if self.clock.seconds < inf:  # the result depends on time anyway
                row["seconds"] = round(trial.seconds * trial.stage.folds, 3)
            row["command"] = shlex.join([*train, *trial.candidate.to_arguments()])
            settings.append(row)
        corrected = None
        if self.chosen is not None:
            corrected = correct_metric(self.metric, self.trials, self.chosen, self.n_alternatives)
        return {
            "documents": len(self.documents),
            "folds": self.n_folds,
            "seed": self.seed,
            "settings_in_all": len(self.candidates),
            "corrected": corrected,
            "chosen": next((row for row in settings if row["chosen"]), None),
            "settings": settings,
        }
