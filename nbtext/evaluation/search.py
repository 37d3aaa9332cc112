"""Search for the best of some settings by judging each on one corpus, which is counted once for all settings that count alike.

Cross-validation within a limit halves successively. Each rung judges settings on more documents than the one before, and keeps the best: as many
as make a rung cost about what the one before did. Without a limit every setting is judged on every fold. What is kept does not depend on time or
processes, only how far the search comes. Source: K. Jamieson, A. Talwalkar, Non-stochastic best arm identification and hyperparameter
optimization (2016).
"""

from __future__ import annotations

import shlex
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts, Subsets
from nbtext.counts.documents import DocumentSample
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import Candidate, Impossible
from nbtext.evaluation.cross_validation import stratified_folds
from nbtext.evaluation.tuning import (
    Division,
    FoldJudgement,
    RankedTrial,
    Rung,
    SearchResult,
    Task,
    Trial,
    best_first,
    figures_of,
    is_worse,
    judge_fold,
    nested_figure,
)
from nbtext.model import TextClassifier
from nbtext.model.state import counts_to_plain
from nbtext.model.training import looked_up
from nbtext.settings import GOALS
from nbtext.steps import reporting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from nbtext.counts.counting import Analysis
    from nbtext.parallel.processes import Workers
    from nbtext.settings import Settings
    from nbtext.type_names import Mask, Whole


LEAST_JUDGED = 400
"""Documents that settings are judged on before the first of them are dropped."""

ETA = 3
"""How many times as many documents the next rung judges while it judges a sample of the corpus."""

FINALISTS = 2
"""Settings that are judged on all folds at least, so that the choice can be judged too."""

CHANCE = 0.05
"""Probability that any of several equally good settings looks worse than another beyond chance, at most."""

PUNCTUAL = 0.97
"""Share of the time that may be planned."""

CAUTION = 1.3
"""How many times as long as a fold predicts the training of the best model may take; nothing can stop that."""

FIRST_RUNG = 0.5
"""Share of the time that the first rung may take, since nothing predicts how long its settings take."""

INTERVAL = 0.2
"""Seconds between two looks at the clock while other processes work."""

MEMORY = 1 << 30
"""Bytes that a search may take; settings whose counts need more are left out."""

COUNTING, KEPT, JUDGING = 84, 46, 46
"""Bytes for each entry of the document-term matrix: while it is counted, while it is kept, and in each process that judges by it."""


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
    def halves(self) -> bool:
        """True if settings are dropped before they are judged on every fold."""
        return self.seconds is not None or self.tries is not None


def rungs(n_documents: int, n_folds: int, n_settings: int) -> list[Rung]:
    """Return the stages: one fold of growing samples of the corpus, then fold after fold of all of it, from the second on for the same settings."""
    judged = [LEAST_JUDGED * ETA**power for power in range(n_documents.bit_length())]
    sizes = [(each * n_folds, 1, each) for each in judged if each * n_folds < n_documents]
    sizes += [(n_documents, fold, min(fold, 2) * n_documents // n_folds) for fold in range(1, n_folds + 1)]
    return [
        Rung(size, fold, max(-(-n_settings * LEAST_JUDGED // max(n_tested, LEAST_JUDGED)), FINALISTS)) for size, fold, n_tested in sizes
    ]


class _CountedSubsets(NamedTuple):
    """The corpus as some candidates count it."""

    counts: CorpusCounts
    analysis: Analysis
    """The settings by which it was counted, with those of reading."""
    subsets: Subsets


class Cost(NamedTuple):
    """The cost of counting a corpus."""

    entries: float = 0.0
    """Of the document-term matrix."""
    seconds: float = 0.0
    bytes: int = 0
    """Of the counts in a model file."""
    expansion: float = 1.0


class _SearchOutcome(NamedTuple):
    """The trials, best first, and the corpus as the best counts it."""

    trials: list[Trial]
    of_best: tuple[CorpusCounts, Analysis]
    left_out: list[Impossible]
    corrected: float | None
    """The figure of the goal on documents that had no part in the choice; None if there are none."""


class _TimeIsUpError(Exception):
    """No task of other processes can end in time."""


@dataclass
class Search:
    """Judges candidates over the corpus of some paths.

    ``count`` reads and counts the corpus as a candidate does, and returns the counts and how they were made. As many ``processes`` judge side by side; without any, this one does.
    """

    candidates: Sequence[Candidate]
    paths: Sequence[str]
    count: Callable[[Candidate], tuple[CorpusCounts, Analysis]]
    goal: str = "accuracy"
    division: Division = field(default_factory=Division)
    limits: Limits = field(default_factory=Limits)
    processes: int = 0
    clock: Callable[[], float] = time.monotonic
    may_lower_folds: bool = False
    """Take fewer folds where there are fewer documents."""

    def __post_init__(self) -> None:
        self._left_out: dict[int, Impossible] = {}
        self._trials: dict[int, Trial] = {}
        self._parts: dict[tuple[int, int], list[FoldJudgement]] = {}
        """Judgements of the folds, in order, by candidate and size of the sample."""
        self._rung: Rung | None = None
        """The last that was passed."""
        self._folds: Sequence[tuple[Mask, Mask]] = ()
        """Training and test documents."""
        self._corpora: dict[tuple[Any, ...], _CountedSubsets] = {}
        """By analysis, the least recently used first."""
        self._costs: dict[tuple[Any, ...], Cost] = {}

    def run(self) -> _SearchOutcome:
        """Judge the candidates; raise `UsageError` if none can be judged, and what reading raises."""
        self._require_rereadable()
        with reporting("setting", len(self.candidates)) as self._reported:
            self._climb()
        ranked = self._ranked()
        if not ranked:
            raise next(iter(self._left_out.values())).named()
        counts, analysis, _ = self._corpus(ranked[0].candidate)
        self._corpora.clear()
        corrected = None
        if len(ranked) > 1 and self._rung:
            last = ranked[0].rung
            finalists = [self._parts[trial.candidate, last.documents][: last.folds] for trial in ranked if trial.rung == last]
            fresh = [~self._chosen_by[test] for _, test in self._samples(last)]
            corrected = nested_figure(self._figure, finalists, fresh, self.division.folds, self._n_classes)
        if self._rung:
            ranked = [replace(trial, beyond_chance=self._is_beaten(trial, ranked)) for trial in ranked]
        return _SearchOutcome(ranked, (counts, analysis), [self._left_out[number] for number in sorted(self._left_out)], corrected)

    def _is_beaten(self, trial: Trial, ranked: Sequence[Trial]) -> bool | None:
        """Return whether a setting is worse than the best beyond chance, on the documents of both, given how many pairs there are; None for the best."""
        if trial.candidate == ranked[0].candidate:
            return None
        pairs = len(ranked) * (len(ranked) - 1) // 2
        parts, best = (self._parts[number, trial.rung.documents] for number in (trial.candidate, ranked[0].candidate))
        return is_worse(self._figure, parts, best, NormalDist().inv_cdf(1 - CHANCE / (2 * pairs)))

    def best_model(self, outcome: _SearchOutcome) -> TextClassifier:
        """Return the model that training with the best settings makes."""
        model = TextClassifier(**self.candidates[outcome.trials[0].candidate].settings)
        counts, analysis = outcome.of_best
        model.reading = analysis.settings.reading
        return model.learn(CorpusCounts.of(counts.statistics, counts.documents, model.settings.sample))

    def result(self, outcome: _SearchOutcome, model: str, train: Sequence[str], left_out: Sequence[Impossible] = ()) -> SearchResult:
        """Return what was found as a record.

        ``model`` is the file of the best model; ``train`` begins the command line of each; ``left_out`` were candidates too.
        """
        exact = replace(outcome.trials[0], bytes=Path(model).stat().st_size)
        ranked = []
        for rank, trial in enumerate((exact, *outcome.trials[1:]), 1):
            candidate = self.candidates[trial.candidate]
            command = shlex.join([*train, *candidate.arguments()])
            ranked.append(RankedTrial(**vars(trial), rank=rank, setting=candidate.spelt(), command=command))
        return SearchResult(
            self.goal,
            self.division,
            len(outcome.of_best[0].documents),
            model,
            tuple(ranked),
            self.limits.seconds is not None,
            outcome.corrected,
            tuple(str(left.named()) for left in (*left_out, *outcome.left_out)),
        )

    @property
    def _figure(self) -> str:
        return GOALS[self.goal]

    def _leave_out(self, number: int, problem: UsageError) -> None:
        self._left_out[number] = Impossible(self.candidates[number], problem)

    def _climb(self) -> None:
        """Judge the candidates rung by rung; each keeps the best of the one before."""
        numbers = list(range(len(self.candidates)))[: self.limits.tries]
        n_documents = len(self._corpus(numbers[0]).subsets)
        n_folds = self.division.folds
        for rung in rungs(n_documents, n_folds, len(numbers)) if self.limits.halves else [Rung(n_documents, n_folds, len(numbers))]:
            kept, before = numbers[: rung.settings], self._trials.copy()
            choosing = self._samples(self._rung) if self._rung and len(kept) < len(numbers) else []
            self._judge_rung(rung, kept)
            numbers = [trial.candidate for trial in self._ranked() if trial.rung == rung]
            if not numbers or (self._rung and kept[0] not in (*numbers, *self._left_out)):  # there was no time for the best so far
                self._trials = before
                return
            for _, test in choosing:
                self._chosen_by |= test
            self._rung = rung

    def _groups(self, numbers: Iterable[int]) -> list[list[int]]:
        """Return the candidates that count alike together, in order of the first of them."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        for number in numbers:
            groups.setdefault(self.candidates[number].analysis(), []).append(number)
        return list(groups.values())

    def _judge_rung(self, rung: Rung, numbers: Sequence[int]) -> None:
        """Judge candidates on all folds of a rung, as far as there is time."""
        for group in self._groups(numbers):
            judged = [number for number in group if self._fits(number) and self._may_begin(number, rung)]
            if not judged:
                continue
            parts = {number: dict(enumerate(self._parts.get((number, rung.documents), ()))) for number in judged}
            tasks = [Task(number, fold) for number in judged for fold in range(len(parts[number]), rung.folds)]
            for task, outcome in self._judged(self._corpus(judged[0]), tasks, rung):
                if isinstance(outcome, UsageError):
                    self._leave_out(task.candidate, outcome)
                    continue
                by_fold = parts[task.candidate]
                by_fold[task.fold] = outcome
                if len(by_fold) == rung.folds:
                    self._add(task.candidate, rung, [by_fold[fold] for fold in range(rung.folds)])
                self._report()

    def _samples(self, rung: Rung) -> list[tuple[Mask, Mask]]:
        """Return the training and the test documents of each fold of a rung."""
        chosen = np.zeros(self._order.size, np.bool_)
        chosen[self._order[: rung.documents]] = True
        return [(training & chosen, test & chosen) for training, test in self._folds[: rung.folds]]

    def _fits(self, number: int) -> bool:
        """Leave out a candidate whose counts need more than `MEMORY`."""
        needed = COUNTING * self._cost(number).entries
        if self.limits.halves and needed > MEMORY and self.candidates[number].analysis() not in self._costs:
            self._leave_out(number, UsageError(f"its counts would need about {needed / (1 << 30):.1f} GiB of memory, more than 1 GiB"))
        return number not in self._left_out

    def _judged(self, corpus: _CountedSubsets, tasks: Sequence[Task], rung: Rung) -> Iterator[tuple[Task, Any]]:
        """Yield what comes of tasks, in any order, but for those for which there is no time."""
        settings = self._settings(corpus, list(dict.fromkeys(task.candidate for task in tasks)))
        judge: Callable[[Task], Any] = partial(judge_fold, corpus.subsets, self._samples(rung), settings, self.clock)
        left = deque(task for task in tasks if task.candidate in settings)
        if self.processes:
            import scipy.sparse  # noqa: F401 - here, and not in each process again

            from nbtext.parallel.processes import CannotStartError, Workers

            with suppress(CannotStartError, _TimeIsUpError), Workers(self._processes(), judge) as others:
                yield from self._side_by_side(others, left, rung)
        for task in left:
            if self._may_begin(task.candidate, rung):
                yield task, _attempt(partial(judge, task))

    def _processes(self) -> int:
        """Return how many processes may judge at once by the corpus that was used last, so that all fit into `MEMORY`."""
        entries = [self._costs[analysis].entries for analysis in self._corpora]
        return max(min(self.processes, int((MEMORY - KEPT * sum(entries)) / (JUDGING * entries[-1] + 1))), 1)

    def _side_by_side(self, others: Workers, left: deque[Task], rung: Rung) -> Iterator[tuple[Task, Any]]:
        """Have other processes do tasks; raise `_TimeIsUpError` once the time of the rung is up."""
        from concurrent.futures import FIRST_COMPLETED, wait

        pending: dict[Future[Any], Task] = {}
        while left or pending:
            while left and len(pending) < self._processes():
                if self._may_begin(left[0].candidate, rung):
                    pending[others.submit(left[0])] = left[0]
                left.popleft()
            for future in wait(pending, INTERVAL, FIRST_COMPLETED).done:
                yield pending.pop(future), _attempt(future.result)
            others.require_alive()
            self._report()
            if pending and not self._has_time(0.0):
                left.clear()
                raise _TimeIsUpError

    def _may_begin(self, number: int, rung: Rung) -> bool:
        """Return whether there is time to count for a candidate, to judge a fold, and then to train it."""
        seconds = self._uncounted_seconds(number) + self._fold_seconds(number, rung.documents)
        return self._has_time(seconds, number)

    def _has_time(self, seconds: float, *trained: int) -> bool:
        """Return whether there is time for so many seconds and then to train the best so far and candidates. The first candidate always has time."""
        if self.limits.seconds is None or not self._parts:
            return True
        best = [trial.candidate for trial in self._ranked()[:1]]
        last = max((self._training_seconds(number) for number in (*best, *trained)), default=0.0)
        end = self.clock() - self.limits.begin + seconds
        return end + last <= PUNCTUAL * self.limits.seconds and (self._rung is not None or end <= FIRST_RUNG * self.limits.seconds)

    def _fold_seconds(self, number: int, size: int) -> float:
        """Return about how many seconds a fold of a sample takes, by the largest sample that the candidate was judged on; 0 if on none."""
        known = max((documents for candidate, documents in self._parts if candidate == number), default=0)
        return max(part.seconds for part in self._parts[number, known]) * size / known if known else 0.0

    def _training_seconds(self, number: int) -> float:
        """Return about how many seconds training and writing the model of a candidate take."""
        n_folds, counting = self.division.folds, self._uncounted_seconds(number)
        return CAUTION * self._fold_seconds(number, self._order.size) * n_folds / (n_folds - 1) + counting

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

    def _corpus(self, number: int) -> _CountedSubsets:
        """Return the corpus as a candidate counts it."""
        candidate = self.candidates[number]
        analysis = candidate.analysis()
        corpus = self._corpora.pop(analysis, None)
        if corpus is None:
            needed = COUNTING * self._cost(number).entries
            while self._corpora and needed + KEPT * sum(self._costs[other].entries for other in self._corpora) > MEMORY:
                del self._corpora[next(iter(self._corpora))]
            begin = self.clock()
            counts, counted_by = self.count(candidate)
            corpus = _CountedSubsets(counts, counted_by, Subsets(counts.statistics, counts.documents))
            statistics, documents = corpus.subsets.statistics, corpus.subsets.documents
            sample = DocumentSample.of(documents, candidate.settings.sample)
            n_bytes = sum(array.nbytes for array in counts_to_plain(CorpusCounts(statistics, sample)).values())
            self._costs[analysis] = Cost(documents.matrix.terms.size, self.clock() - begin, n_bytes, candidate.expansion)
            if not self._folds:
                self._divide(documents.strata, statistics.n_classes)
        self._corpora[analysis] = corpus
        return corpus

    def _divide(self, classes: Whole, n_classes: int) -> None:
        """Draw the folds, and the order of samples."""
        if self.may_lower_folds:
            self.division = self.division._replace(folds=max(min(self.division.folds, classes.size), 2))
        of_folds, of_samples = np.random.default_rng(self.division.seed).spawn(2)
        self._folds = list(stratified_folds(classes, self.division.folds, of_folds))
        self._order, self._n_classes = of_samples.permutation(classes.size), n_classes
        """The documents in random order; a sample is the beginning of it, shape (n_docs,)."""
        self._chosen_by = np.zeros(classes.size, np.bool_)
        """Documents by which settings were dropped, shape (n_docs,)."""

    def _settings(self, corpus: _CountedSubsets, numbers: Sequence[int]) -> dict[int, Settings]:
        """Return the settings of candidates as `nbtext.model.training.learn` takes them; leave out those that cannot be."""
        found = {}
        for number in numbers:
            analysis = corpus.analysis
            tried = replace(self.candidates[number].settings, reading=analysis.settings.reading)
            try:
                found[number] = looked_up(replace(analysis, settings=tried))
            except UsageError as problem:
                self._leave_out(number, problem)
        return found

    def _ranked(self) -> list[Trial]:
        """Return the trials of candidates that were not left out, best first."""
        return best_first(self._figure, [trial for number, trial in self._trials.items() if number not in self._left_out])

    def _add(self, number: int, rung: Rung, parts: list[FoldJudgement]) -> None:
        """Record the judgements of a candidate on a rung."""
        self._parts[number, rung.documents] = parts
        n_folds = self.division.folds
        fitted = max(part.fitted_bytes for part in parts) * n_folds / (n_folds - 1)  # grows at most as the documents do
        n_bytes = self._cost(number).bytes + round(fitted)
        seconds = sum(part.seconds for (candidate, _), each in self._parts.items() if candidate == number for part in each)
        self._trials[number] = Trial(number, figures_of(self._figure, parts, self._n_classes), rung, seconds, n_bytes)
        if self.limits.most_bytes is not None and n_bytes > self.limits.most_bytes:
            self._leave_out(number, UsageError(f"its model would have about {n_bytes:,} bytes"))

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


def _attempt(work: Callable[[], Any]) -> Any:  # noqa: ANN401 - what the work returns
    """Return what the work returns, or the `UsageError` that it raises."""
    try:
        return work()
    except UsageError as problem:
        return problem
