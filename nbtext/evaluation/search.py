"""Search for the best of some settings by judging each on one corpus, which is counted once for all settings that count alike.

Cross-validation within a limit is a race. Every setting is judged on the first fold, and those that can still win on the others, the best
first; one that is worse by `nbtext.evaluation.tuning.LOST` standard errors, on the same documents, is given up. Without a limit every setting
is judged on every fold. What is given up does not depend on time or processes, only how far the search comes. Source: O. Maron, A. Moore,
Hoeffding races (1994), here with differences of the same documents.
"""

from __future__ import annotations

import shlex
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts, Subsets
from nbtext.counts.documents import DocumentSample
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import OF_THE_SAME_COUNTS, Impossible
from nbtext.evaluation.cross_validation import stratified_folds
from nbtext.evaluation.tuning import (
    GOALS,
    Division,
    Folding,
    RankedTrial,
    SearchResult,
    Task,
    Trial,
    best_first,
    figures_of,
    has_lost,
    judge_by_counts,
    judge_fold,
    nested_figure,
    with_posteriors,
)
from nbtext.model import TextClassifier
from nbtext.model.state import counts_to_plain
from nbtext.model.training import looked_up
from nbtext.parallel.processes import in_order
from nbtext.steps import Report, reporting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from nbtext.counts.counting import Analysis
    from nbtext.evaluation.candidates import Candidate
    from nbtext.evaluation.tuning import Figures, FoldJudgement
    from nbtext.model.corpus_flow import CountedCorpus
    from nbtext.parallel.processes import Workers
    from nbtext.settings import Settings

    Outcome = FoldJudgement | UsageError

POOR = 4.0
"""Standard errors by which a kind of classifier is worse than the best over the same terms when it is tried over other terms last of all."""

PUNCTUAL = 0.97
"""Share of the time that may be planned."""

CAUTION = 1.3
"""How many times as long as a fold predicts the training of the best model may take; nothing can stop that."""

GROWTH = 0.75
"""Exponent by which the time of a fold grows with the entries of the matrix: fits of more terms need fewer steps."""

A_DOCUMENT = 12
"""Entries that take as long as a document does beside them."""

INTERVAL = 0.2
"""Seconds between two looks at the clock while other processes work."""

MOST_ENTRIES = 1 << 25
"""Entries of document-term matrices that are kept to be used again, at about 16 bytes; beyond, the corpus is counted again."""


class Limits(NamedTuple):
    """How far to search; without time or number every setting is judged on every fold."""

    seconds: float | None = None
    """From ``begin``, by the clock of the search, until the model is written."""
    tries: int | None = None
    """Settings that are judged at most."""
    most_bytes: int | None = None
    """Size of the best model at most."""
    begin: float = 0.0

    @property
    def is_race(self) -> bool:
        """True if settings are given up that have lost."""
        return self.seconds is not None or self.tries is not None


class AnalysedCorpus(Protocol):
    """A corpus as counts, and how it was counted."""

    @property
    def corpus(self) -> CountedCorpus:
        """The counts."""

    @property
    def analysis(self) -> Analysis:
        """The settings by which it was counted, with those of reading."""


C = TypeVar("C", bound=AnalysedCorpus)

Result = TypeVar("Result")


@dataclass(frozen=True)
class CountedFolds(Generic[C]):
    """The corpus as some candidates count it, and its folds."""

    counted: C
    subsets: Subsets
    folds: list[Any]


class Cost(NamedTuple):
    """The cost of counting a corpus."""

    entries: float = 0.0
    """Of the document-term matrix, and `A_DOCUMENT` for each document."""
    seconds: float = 0.0
    bytes: int = 0
    """Of the counts in a model file."""
    expansion: float = 1.0


class SearchOutcome(NamedTuple, Generic[C]):
    """The trials, best first, and the corpus as the best counts it."""

    trials: list[Trial]
    of_best: C
    left_out: list[Impossible]
    corrected: float | None
    """The figure of the goal on documents that had no part in the choice; None if there are none."""


class TimeIsUpError(Exception):
    """No task of other processes can end in time."""


@dataclass
class Search(Generic[C]):
    """Judges candidates over the corpus of some paths.

    ``count`` reads and counts the corpus as a candidate does. As many ``processes`` judge side by side; without any, this one does.
    """

    candidates: Sequence[Candidate]
    paths: Sequence[str]
    count: Callable[[Candidate], C]
    by: str = "cross-validation"
    goal: str = "accuracy"
    division: Division = field(default_factory=Division)
    limits: Limits = field(default_factory=Limits)
    processes: int = 0
    clock: Callable[[], float] = time.monotonic
    may_lower_folds: bool = False
    """Take fewer folds where there are fewer documents."""
    _left_out: dict[int, Impossible] = field(default_factory=dict, init=False)
    _trials: dict[int, Trial] = field(default_factory=dict, init=False)
    _parts: dict[int, list[FoldJudgement]] = field(default_factory=dict, init=False)
    """Judgements of the folds, in order, by candidate."""
    _n_classes: int = field(default=0, init=False)
    _corpora: dict[tuple[Any, ...], CountedFolds[C]] = field(default_factory=dict, init=False)
    """By analysis, the least recently used first."""
    _costs: dict[tuple[Any, ...], Cost] = field(default_factory=dict, init=False)
    _reported: Report = field(init=False)

    def run(self) -> SearchOutcome[C]:
        """Judge the candidates; raise `UsageError` if none can be judged, and what reading raises."""
        self._require_rereadable()
        with reporting("setting", len(self.candidates)) as self._reported:
            if self.by == "cross-validation":
                self._race()
            else:
                self._judge_by_counts()
        ranked = self._ranked()
        if not ranked:
            raise next(iter(self._left_out.values())).named()
        if self.by == "evidence":
            ranked = with_posteriors(ranked)
        corrected = self._corrected(ranked) if self._parts else None
        return SearchOutcome(ranked, self._corpus(ranked[0].candidate).counted, list(self._left_out.values()), corrected)

    def _corrected(self, ranked: Sequence[Trial]) -> float | None:
        """Return the figure of the goal on documents that had no part in the choice; None if all had."""
        complete = [self._parts[trial.candidate] for trial in ranked if trial.folds == self.division.folds]
        if len(complete) > 1:
            return nested_figure(self._figure, complete, self._n_classes)
        if complete and len(ranked) > 1 and ranked[1].folds == 1:  # the choice went by the first fold alone
            return figures_of(complete[0][1:], self._n_classes)[self._figure]
        return None

    def best_model(self, outcome: SearchOutcome[C]) -> TextClassifier:
        """Return the model that training with the best settings makes."""
        model = TextClassifier(**self.candidates[outcome.trials[0].candidate].settings)
        model.reading = outcome.of_best.analysis.settings.reading
        return model.fit_counted(outcome.of_best.corpus.statistics, outcome.of_best.corpus.documents)

    def result(self, outcome: SearchOutcome[C], model: str, train: Sequence[str], left_out: Sequence[Impossible] = ()) -> SearchResult:
        """Return what was found as a record.

        ``model`` is the file of the best model; ``train`` begins the command line of each; ``left_out`` were candidates too.
        """
        folded = self.by == "cross-validation"
        timed = self.limits.seconds is not None
        ranked = (
            RankedTrial(
                rank,
                self.candidates[trial.candidate].spelt(),
                trial.figures,
                shlex.join([*train, *self.candidates[trial.candidate].arguments()]),
                trial.folds,
                trial.seconds if timed else None,
                Path(model).stat().st_size if rank == 1 else trial.bytes,
            )
            for rank, trial in enumerate(outcome.trials, 1)
        )
        return SearchResult(
            self.by,
            None if self.by in OF_THE_SAME_COUNTS else self.goal,
            self.division if folded else None,
            len(outcome.of_best.corpus.documents),
            model,
            tuple(ranked),
            outcome.corrected,
            tuple(str(left.named()) for left in (*left_out, *outcome.left_out)),
        )

    @property
    def _figure(self) -> str:
        return self.by if self.by in OF_THE_SAME_COUNTS else GOALS[self.goal]

    def _judge_by_counts(self) -> None:
        """Judge all candidates by another criterion than cross-validation."""
        for numbers in self._groups(range(len(self.candidates))):
            corpus = self._corpus(numbers[0])
            work = _JudgingByCounts(self.by, corpus.subsets, self._settings(corpus, numbers))
            jobs = min(max(self.processes, 1), len(work.settings))
            for number, elsewhere in in_order(_judge, work, work.settings, jobs):
                outcome = elsewhere or _judge(work, number)
                if isinstance(outcome, UsageError):
                    self._leave_out(number, outcome)
                else:
                    self._trials[number] = Trial(number, outcome)
                self._report()

    def _leave_out(self, number: int, problem: UsageError) -> None:
        self._left_out[number] = Impossible(self.candidates[number], problem)

    def _race(self) -> None:
        """Judge the candidates on the first fold, and then on the others; kinds that are poor over the first terms come last."""
        poor: set[tuple[str, ...]] = set()
        for numbers in self._groups(range(len(self.candidates))):
            now = [number for number in numbers if self.candidates[number].kind not in poor]
            self._judge_first_fold(now)
            if self.limits.is_race and (ranked := [trial for trial in self._ranked() if trial.candidate in now]):
                poor |= {self.candidates[trial.candidate].kind for trial in ranked if self._is_behind(trial, ranked[0], POOR)}
        self._judge_other_folds()
        for is_hopeful in (False, True):  # what looked too long may have been overestimated
            tried = len(self._trials)
            for numbers in self._groups(self._untried()):
                self._judge_first_fold(numbers, is_hopeful=is_hopeful)
            if len(self._trials) > tried:
                self._judge_other_folds()

    def _untried(self) -> list[int]:
        """Return the candidates that were not judged, those first that are like the best."""
        kinds = [self.candidates[trial.candidate].kind for trial in self._ranked()]
        untried = [number for number in range(len(self.candidates)) if number not in self._trials and number not in self._left_out]
        ranks = {number: kinds.index(kind) if (kind := self.candidates[number].kind) in kinds else len(kinds) for number in untried}
        return sorted(untried, key=lambda number: ranks[number])

    def _groups(self, numbers: Iterable[int]) -> list[list[int]]:
        """Return the candidates that count alike together, in order of the first of them."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for number in numbers:
            groups.setdefault(self.candidates[number].analysis(), []).append(number)
        return list(groups.values())

    def _judge_first_fold(self, numbers: list[int], *, is_hopeful: bool = False) -> None:
        """Judge candidates of one analysis on the first fold, if costs are known the most expensive first, so that processes end together.

        If ``is_hopeful`` they are begun whatever they should cost, as long as the best can be trained afterwards.
        """
        if self.limits.tries is not None:
            numbers = numbers[: max(self.limits.tries - len(self._parts), 0)]
        numbers = [number for number in numbers if self._may_begin(number, is_hopeful=is_hopeful)]
        if not numbers:
            return
        corpus = self._corpus(numbers[0])
        folds = range(1 if self.limits.is_race else self.division.folds)
        if self._parts:
            numbers.sort(key=self._predicted, reverse=True)
        found: dict[int, dict[int, FoldJudgement]] = {number: {} for number in numbers}
        for task, outcome in self._judged(corpus, [Task(number, fold) for number in numbers for fold in folds], is_hopeful=is_hopeful):
            number = task.candidate
            if isinstance(outcome, UsageError):
                self._leave_out(number, outcome)
                continue
            found[number][task.fold] = outcome
            if len(found[number]) == len(folds):
                self._add(number, [found[number][fold] for fold in folds])
                size = self._trials[number].bytes
                if self.limits.most_bytes is not None and size > self.limits.most_bytes:
                    self._leave_out(number, UsageError(f"its model would have about {size:,} bytes"))

    def _judge_other_folds(self) -> None:
        """Judge candidates on the other folds, the best first, as long as there is time for all of them."""
        n_folds, others = self.division.folds, range(1, self.division.folds)
        for trial in self._ranked():
            number, parts = trial.candidate, self._parts[trial.candidate]
            if len(parts) == n_folds or self._has_lost(number):
                continue
            rounds = -(-len(others) // max(self.processes, 1))
            if not self._has_time(rounds * self._predicted(number) + self._uncounted_seconds(number), number):
                return
            found: dict[int, FoldJudgement] = {}
            for task, outcome in self._judged(self._corpus(number), [Task(number, fold) for fold in others]):
                if isinstance(outcome, UsageError):
                    self._leave_out(number, outcome)
                    break
                found[task.fold] = outcome
                while len(parts) in found and not self._has_lost(number):
                    self._add(number, [found[len(parts)]])
                if len(parts) < n_folds and self._has_lost(number):
                    break
            else:
                if len(parts) < n_folds:  # there was no time
                    del parts[1:]
                    self._add(number, [])
                    return

    def _judged(self, corpus: CountedFolds[C], tasks: Sequence[Task], *, is_hopeful: bool = False) -> Iterator[tuple[Task, Outcome]]:
        """Yield what comes of tasks, in any order, but for those for which there is no time."""
        settings = self._settings(corpus, list(dict.fromkeys(task.candidate for task in tasks)))
        folding = Folding(corpus.subsets, corpus.folds, settings, self.clock)
        left = deque(task for task in tasks if task.candidate in settings)
        if self.processes:
            import scipy.sparse  # noqa: F401 - here, and not in each process again

            from nbtext.parallel.processes import CannotStartError, workers

            with suppress(CannotStartError, TimeIsUpError), workers(self.processes, partial(judge_fold, folding)) as others:
                yield from self._side_by_side(others, left, is_hopeful=is_hopeful)
        while left:
            task = left.popleft()
            if self._may_begin(task.candidate):
                yield task, attempt(partial(judge_fold, folding, task))
                self._report()

    def _side_by_side(self, others: Workers, left: deque[Task], *, is_hopeful: bool) -> Iterator[tuple[Task, Outcome]]:
        """Have other processes do tasks; raise `TimeIsUpError` once none can end in time."""
        from concurrent.futures import FIRST_COMPLETED, wait

        pending: dict[Future[FoldJudgement], tuple[Task, float]] = {}
        """With the time when they began."""
        while left or pending:
            while left and len(pending) < self.processes:
                if self._may_begin(left[0].candidate, is_hopeful=is_hopeful):
                    pending[others.submit(left[0])] = left[0], self.clock()
                left.popleft()
            for future in wait(pending, INTERVAL, FIRST_COMPLETED).done:
                yield pending.pop(future)[0], attempt(future.result)
            others.require_alive()
            self._report()
            if pending and not any(self._has_time(0.0, task.candidate, self.clock() - begin) for task, begin in pending.values()):
                left.clear()
                raise TimeIsUpError

    def _may_begin(self, number: int, *, is_hopeful: bool = False) -> bool:
        """Return whether there is time for a fold of a candidate; if ``is_hopeful`` only for what nothing can stop."""
        counting = self._uncounted_seconds(number)
        return self._has_time(counting, number, 0.0) if is_hopeful else self._has_time(counting + self._predicted(number), number)

    def _has_time(self, seconds: float, number: int, a_fold: float | None = None) -> bool:
        """Return whether there is time for so many seconds, and then to train the candidate or the best so far. The first always has time.

        ``a_fold`` is how long a fold of the candidate takes, if it is not what is predicted.
        """
        if self.limits.seconds is None or not self._parts:
            return True
        best = (self._training_seconds(trial.candidate) for trial in self._ranked()[:1])
        last = max(self._training_seconds(number, a_fold), *best, 0.0)
        return self.clock() - self.limits.begin + seconds + last <= PUNCTUAL * self.limits.seconds

    def _predicted(self, number: int) -> float:
        """Return about how many seconds a fold takes: as long as another one, else what follows from the same kind over other terms.

        For the first of a kind it is the least that follows from other kinds: if it takes longer, it is stopped in time.
        """
        if number in self._parts:
            return max(part.seconds for part in self._parts[number])
        candidate, alike, others = self.candidates[number], [0.0], []
        for known, parts in self._parts.items():
            other, seconds = self.candidates[known], max(part.seconds for part in parts)
            seconds *= (self._cost(number).entries / max(self._cost(known).entries, 1.0)) ** GROWTH
            if other.kind == candidate.kind:
                alike.append(seconds)
            others.append(seconds * candidate.relative_cost / other.relative_cost)
        return max(alike) or min(others, default=0.0)

    def _training_seconds(self, number: int, a_fold: float | None = None) -> float:
        """Return about how many seconds training and writing the model of a candidate take."""
        n_folds = self.division.folds
        return CAUTION * (self._predicted(number) if a_fold is None else a_fold) * n_folds / (n_folds - 1) + self._uncounted_seconds(number)

    def _uncounted_seconds(self, number: int) -> float:
        """Return about how many seconds it takes to count the corpus for a candidate, 0 if it is there."""
        return 0.0 if self.candidates[number].analysis() in self._corpora else self._cost(number).seconds

    def _cost(self, number: int) -> Cost:
        """Return what counting as a candidate does costs, or if that is not known about what it should, by what another analysis cost."""
        candidate = self.candidates[number]
        if candidate.analysis() in self._costs or not self._costs:
            return self._costs.get(candidate.analysis(), Cost())
        known = next(iter(self._costs.values()))
        factor = candidate.expansion / known.expansion
        return Cost(known.entries * factor, known.seconds * factor)

    def _corpus(self, number: int) -> CountedFolds[C]:
        """Return the corpus as a candidate counts it."""
        candidate = self.candidates[number]
        analysis = candidate.analysis()
        corpus = self._corpora.pop(analysis, None)
        if corpus is None:
            begin = self.clock()
            counted = self.count(candidate)
            subsets = Subsets(counted.corpus.statistics, counted.corpus.documents)
            self._n_classes, entries = subsets.statistics.n_classes, subsets.documents.matrix.terms.size + A_DOCUMENT * len(subsets)
            corpus = CountedFolds(counted, subsets, self._folds(subsets))
            sample = DocumentSample.of(subsets.documents, candidate.settings.sample)
            n_bytes = sum(array.nbytes for array in counts_to_plain(CorpusCounts(subsets.statistics, sample)).values())
            self._costs[analysis] = Cost(entries, self.clock() - begin, n_bytes, candidate.expansion)
            while self._corpora and entries + sum(self._costs[other].entries for other in self._corpora) > MOST_ENTRIES:
                del self._corpora[next(iter(self._corpora))]
        self._corpora[analysis] = corpus
        return corpus

    def _folds(self, subsets: Subsets) -> list[Any]:
        if self.by != "cross-validation":
            return []
        if self.may_lower_folds:
            self.division = self.division._replace(folds=max(min(self.division.folds, len(subsets)), 2))
        generator = np.random.default_rng(self.division.seed).spawn(1)[0]
        return list(stratified_folds(subsets.documents.classes, self.division.folds, generator))

    def _settings(self, corpus: CountedFolds[C], numbers: Sequence[int]) -> dict[int, Settings]:
        """Return the settings of candidates as `nbtext.model.training.learn` takes them; leave out those that cannot be."""
        found = {}
        for number in numbers:
            analysis = corpus.counted.analysis
            tried = replace(self.candidates[number].settings, reading=analysis.settings.reading)
            try:
                found[number] = looked_up(replace(analysis, settings=tried))
            except UsageError as problem:
                self._leave_out(number, problem)
        return found

    def _ranked(self) -> list[Trial]:
        """Return the trials of candidates that were not left out, best first."""
        return best_first(self._figure, [trial for number, trial in self._trials.items() if number not in self._left_out])

    def _add(self, number: int, parts: list[FoldJudgement]) -> None:
        """Add the judgements of the next folds of a candidate."""
        parts = [*self._parts.get(number, ()), *parts]
        n_folds = self.division.folds
        fitted = max(part.fitted_bytes for part in parts) * n_folds / (n_folds - 1)  # grows at most as the documents do
        seconds = sum(part.seconds for part in parts)
        self._parts.setdefault(number, [])[:] = parts
        self._trials[number] = Trial(
            number, figures_of(parts, self._n_classes), len(parts), seconds, self._cost(number).bytes + round(fitted)
        )

    def _has_lost(self, number: int) -> bool:
        """Return whether a candidate is given up: it has lost against the best of those that were judged on all folds."""
        best = self._ranked()[0]
        is_ahead = best.folds == self.division.folds and best.candidate != number
        return self.limits.is_race and is_ahead and has_lost(self._figure, self._parts[number], self._parts[best.candidate])

    def _is_behind(self, trial: Trial, best: Trial, errors: float) -> bool:
        return trial is not best and has_lost(self._figure, self._parts[trial.candidate], self._parts[best.candidate], errors)

    def _report(self) -> None:
        """Report the settings tried and the best so far; if there is a limit of time, the share of that has passed."""
        best, seconds = "", self.limits.seconds
        for trial in self._ranked()[:1]:
            value, options = trial.figures[self._figure], self.candidates[trial.candidate].arguments()
            best = " ".join(["best", self._figure.replace("_", " "), "infinite" if value is None else f"{value:.4f}", *options])
        share = None if seconds is None else lambda: min((self.clock() - self.limits.begin) / seconds, 1.0)
        self._reported(len(self._trials), best, share)

    def _require_rereadable(self) -> None:
        """Raise `UsageError` for standard input or a pipe that would have to be read several times."""
        times = len(self._groups(range(len(self.candidates))[: self.limits.tries]))
        for path in self.paths if times > 1 else ():
            if path == "-" or Path(path).is_fifo():
                name = "standard input" if path == "-" else path
                raise UsageError(f"{name} can be read once, and these settings count it {times:,} times", hint="put it into a file")


class _JudgingByCounts(NamedTuple):
    """A criterion, a corpus and settings to be judged by it, by the number of the candidate."""

    by: str
    subsets: Subsets
    settings: Mapping[int, Settings]


def _judge(work: _JudgingByCounts, number: int) -> Figures | UsageError:
    return attempt(partial(judge_by_counts, work.by, work.subsets, work.settings[number]))


def attempt(work: Callable[[], Result]) -> Result | UsageError:
    """Return what the work returns, or the `UsageError` that it raises."""
    try:
        return work()
    except UsageError as problem:
        return problem
