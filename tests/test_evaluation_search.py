"""The search: figures as of cross-validation, what is given up, limits of number, time and size, and the same from several processes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import norm

from nbtext.cli.option_files import from_file
from nbtext.counts.corpus_counts import CorpusCounts, Subsets
from nbtext.counts.counting import Analysis
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import Values, _portfolio, combinations
from nbtext.evaluation.cross_validation import HeldOutEvaluation, cross_validate, stratified_folds, train_and_score
from nbtext.evaluation.search import COUNTING, KEPT, Limits, Search, rungs
from nbtext.evaluation.tuning import Division, FoldJudgement, figures_of, losses
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.training import looked_up
from nbtext.settings import GOALS
from nbtext.steps import watching
from tests.models import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.candidates import Candidate
    from nbtext.steps import Step


@dataclass
class Desk:
    """A corpus whose classes differ in their words, and how often it was counted."""

    n_documents: int = 120
    once: int = 0
    """Classes with a single document."""
    counted: list[Any] = field(default_factory=list)

    def texts(self) -> list[tuple[str, bytes]]:
        random = np.random.default_rng(4)
        themes = {label: random.dirichlet(np.full(30, 0.3)) for label in "xyz"}
        labels = [str(label) for label in random.choice(list(themes), self.n_documents)]
        found = [
            (label, " ".join(f"word{chr(97 + j)}" for j in random.choice(26, 8, p=_share(themes[label]))).encode()) for label in labels
        ]
        return [*found, *((f"once{k}", b"wordz worda") for k in range(self.once))]

    def count(self, candidate: Candidate) -> tuple[CorpusCounts, Analysis]:
        self.counted.append(candidate.analysis())
        analysis = Analysis.of(candidate.settings)
        return count(self.texts(), analysis, keep_all=True), analysis


def _share(theme: Any) -> Any:
    return theme[:26] / theme[:26].sum()


def grid(*tries: str) -> list[Candidate]:
    return combinations(tries, Values({}, from_file))


def search(candidates: Sequence[Candidate], desk: Desk | None = None, **options: Any) -> Search:
    return Search(candidates, [], (desk or Desk()).count, division=options.pop("division", Division(4, 3)), **options)


def test_every_setting_has_the_figures_of_cross_validate() -> None:
    candidates = grid("classifier=multinomial,bernoulli", "ngrams=1,2")
    outcome = search(candidates).run()
    assert sorted(trial.candidate for trial in outcome.trials) == [0, 1, 2, 3]
    for trial in outcome.trials:
        counts, analysis = Desk().count(candidates[trial.candidate])
        subsets = Subsets(counts.statistics, counts.documents)
        folds = stratified_folds(subsets.documents.classes, 4, np.random.default_rng(3).spawn(1)[0])
        validation = cross_validate(subsets, looked_up(analysis), [folds])
        result = validation.result(Bootstrap(0))
        assert trial.rung.folds == 4
        assert trial.figures == {
            "accuracy": result.accuracy,
            "macro_f1": result.macro_f1,
            "log_loss": result.log_loss,
            "accuracy_sd": validation.folds_result().accuracy.sd,
            "macro_f1_sd": validation.folds_result().macro_f1.sd,
        }


def test_a_corpus_is_counted_once_for_settings_that_count_alike() -> None:
    desk = Desk()
    search(grid("ngrams=1,2", "smoothing=0.1,1,auto"), desk).run()
    assert len(desk.counted) == 2


def entries_of(candidates: Sequence[Candidate]) -> list[int]:
    return [Desk().count(each)[0].documents.matrix.terms.size for each in candidates]


def test_a_corpus_too_large_to_be_kept_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = grid("ngrams=1,2", "smoothing=0.1,1,auto")
    kept = search(candidates, limits=Limits(tries=9)).run()
    monkeypatch.setattr("nbtext.evaluation.search.MEMORY", int(COUNTING * 3 * max(entries_of(candidates))))
    desk = Desk()
    search(candidates, desk, limits=Limits(tries=9)).run()
    assert len(desk.counted) == 2
    monkeypatch.setattr("nbtext.evaluation.search.KEPT", 1e9)
    again = search(candidates, desk := Desk(), limits=Limits(tries=9)).run()
    assert len(desk.counted) > 2
    assert timeless(again.trials) == timeless(kept.trials)


def test_settings_whose_counts_need_too_much_memory_are_left_out_uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = grid("ngrams=1,2", "char-ngrams=none,2-5")
    monkeypatch.setattr("nbtext.evaluation.search.MEMORY", COUNTING * 10 * entries_of(candidates[:1])[0])
    outcome = search(candidates[:3], desk := Desk(), limits=Limits(tries=9)).run()
    assert sorted(trial.candidate for trial in outcome.trials) == [0, 2]
    assert ["its counts would need about" in str(left.problem) for left in outcome.left_out] == [True]
    assert len(desk.counted) == 2
    assert KEPT < COUNTING
    assert len(search(candidates[:3]).run().trials) == 3  # without a limit the user named them all


def timeless(trials: Sequence[Any]) -> list[Any]:
    return [replace(trial, seconds=0.0) for trial in trials]


def test_each_rung_judges_more_documents_and_fewer_settings() -> None:
    assert [tuple(rung) for rung in rungs(11_314, 5, 21)] == [
        (2000, 1, 21),
        (6000, 1, 7),
        (11_314, 1, 4),
        *((11_314, n, 2) for n in (2, 3, 4, 5)),
    ]
    assert {rung.settings for rung in rungs(222, 5, 21)} == {21}  # few documents drop nothing
    assert [rung.folds for rung in rungs(222, 5, 21)] == [1, 2, 3, 4, 5]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples small enough for the corpus of `Desk`: 24 and 72 documents of 120."""
    monkeypatch.setattr("nbtext.evaluation.search.LEAST_JUDGED", 6)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("goal", GOALS)
def test_the_best_of_each_rung_go_on_and_the_choice_is_judged_by_other_documents(goal: str) -> None:
    candidates = grid("top=1,2,5,none", "weighting=counts,binary", "smoothing=0.1,5")
    halving = search(candidates, goal=goal, limits=Limits(tries=100))
    trials, figure = halving.run().trials, goal.replace("-", "_")
    stages = rungs(120, 4, 16)
    assert [tuple(rung) for rung in stages] == [(24, 1, 16), (72, 1, 6), (120, 1, 4), *((120, n, 2) for n in (2, 3, 4))]
    assert [sum(trial.rung.documents == n for trial in trials) for n in (120, 72, 24)] == [4, 2, 10]
    assert [trial.rung.folds for trial in trials[:4]] == [4, 4, 1, 1]
    for before, rung in pairwise(stages):
        judged = [
            n for n in range(16) if (n, before.documents) in halving._parts and len(halving._parts[n, before.documents]) >= before.folds
        ]
        worth = {n: figures_of(figure, halving._parts[n, before.documents][: before.folds], 3)[figure] or 0.0 for n in judged}
        went_on = {n for n in judged if len(halving._parts.get((n, rung.documents), [])) >= rung.folds}
        least = sorted(worth.values(), reverse=figure != "log_loss")[len(went_on) - 1]
        assert all(worth[n] <= least if figure == "log_loss" else worth[n] >= least for n in went_on)
    answered: list[FoldJudgement] = []
    for fold in (1, 2, 3):  # by the first settings were dropped
        others = [
            figures_of(figure, [part for place, part in enumerate(halving._parts[trial.candidate, 120]) if place != fold], 3)[figure] or 0.0
            for trial in trials[:2]
        ]
        best = int(np.argmin(others) if figure == "log_loss" else np.argmax(others))
        answered.append(halving._parts[trials[best].candidate, 120][fold])
    assert search(candidates, goal=goal, limits=Limits(tries=100)).run().corrected == pytest.approx(figures_of(figure, answered, 3)[figure])


@pytest.mark.usefixtures("few")
def test_a_sample_is_judged_by_a_model_of_its_other_documents() -> None:
    candidates = grid("classifier=multinomial,bernoulli,complement")
    halving = search(candidates, limits=Limits(tries=3))
    halving.run()
    counts, analysis = Desk().count(candidates[0])
    subsets = Subsets(counts.statistics, counts.documents)
    of_folds, of_samples = np.random.default_rng(3).spawn(2)
    training, test = next(iter(stratified_folds(subsets.documents.classes, 4, of_folds)))
    sample = np.isin(np.arange(120), of_samples.permutation(120)[:24])
    evaluation = HeldOutEvaluation(subsets.statistics)
    for block in train_and_score(subsets, looked_up(analysis), training & sample, test & sample)[1]:
        evaluation.add(block)
    [part] = halving._parts[0, 24]
    assert part.judged.n == np.count_nonzero(test & sample)
    assert part.judged.log_loss.tolist() == evaluation.evaluation.judged.log_loss.tolist()


def test_a_setting_is_worse_beyond_chance_given_the_number_of_pairs() -> None:
    trials = (searched := search(grid("top=1,2,none", "smoothing=0.1,0.2"))).run().trials
    threshold = norm.isf(0.025 / 15)
    best = losses("accuracy", searched._parts[trials[0].candidate, 120])
    for trial in trials[1:]:
        difference = losses("accuracy", searched._parts[trial.candidate, 120]) - best
        assert trial.beyond_chance == (difference.mean() > threshold * difference.std() / np.sqrt(120))
    assert {trial.beyond_chance for trial in trials} == {None, True, False}


def test_so_many_are_tried_and_the_first_ones() -> None:
    candidates = _portfolio(Values({}, from_file))
    for tries in (1, 3):
        outcome = search(candidates, limits=Limits(tries=tries)).run()
        assert sorted(trial.candidate for trial in outcome.trials) == list(range(tries))


@pytest.mark.usefixtures("few")
def test_several_processes_find_the_same() -> None:
    candidates = grid("top=2,none", "weighting=counts,binary", "ngrams=1,2")
    alone, together = (search(candidates, limits=Limits(tries=9), processes=n).run() for n in (0, 2))
    assert timeless(together.trials) == timeless(alone.trials)
    assert together.corrected == alone.corrected


@dataclass
class Clock:
    """A clock that goes on by a second each time that it is looked at."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


@pytest.mark.usefixtures("few")
def test_time_is_kept_by_a_clock_that_only_looks_move() -> None:
    judged = []
    for seconds in (1, 20, 60, 150, 1000):
        clock = Clock()
        outcome = search(grid("min-df=1,2,3", "weighting=counts,binary", "ngrams=1,2"), limits=Limits(seconds=seconds), clock=clock).run()
        judged.append([trial.rung for trial in outcome.trials])
        assert clock.now <= max(seconds, 50)
        assert (outcome.corrected is None) == (len(outcome.trials) == 1)
    assert len(judged[0]) == 1
    assert 1 < len(judged[1]) < len(judged[-1]) == 12
    assert judged[-1][0] == (120, 4, 2)
    assert judged[1][0].documents < 120


def test_too_large_models_are_left_out() -> None:
    candidates = grid("ngrams=1,2,3")
    sizes = {trial.candidate: trial.bytes for trial in search(candidates).run().trials}
    assert sizes[0] < sizes[1] < sizes[2]
    outcome = search(candidates, limits=Limits(most_bytes=sizes[1])).run()
    assert sorted(trial.candidate for trial in outcome.trials) == [0, 1]
    assert [left.candidate for left in outcome.left_out] == [candidates[2]]
    with pytest.raises(UsageError, match="with ngrams=1: its model would have about"):
        search(candidates, limits=Limits(most_bytes=10)).run()


def test_what_cannot_be_trained_is_left_out() -> None:
    outcome = search(grid("min-df=1,999")).run()
    assert [trial.candidate for trial in outcome.trials] == [0]
    assert ["with min-df=999: none of the" in str(left.named()) for left in outcome.left_out] == [True]
    with pytest.raises(UsageError, match="with min-df=999: none of the"):
        search(grid("min-df=999")).run()


def test_a_class_with_one_document_has_no_part_in_the_log_loss() -> None:
    [trial] = search(grid(), Desk(once=2)).run().trials
    assert trial.figures["log_loss"] is not None


def test_fewer_documents_than_folds_make_fewer_folds_if_they_may() -> None:
    desk = Desk(n_documents=3)
    assert search(grid(), desk, may_lower_folds=True).run().trials[0].rung.folds == 3
    with pytest.raises(UsageError, match="too few for 4 folds"):
        search(grid(), desk).run()
    with pytest.raises(UsageError, match="only 1 document"):
        search(grid(), Desk(n_documents=1), may_lower_folds=True).run()


def test_progress_counts_settings_and_ends() -> None:
    heard: list[tuple[Step, ...]] = []
    with watching(heard.append):
        search(grid("smoothing=0.1,1,2")).run()
    assert heard[-1] == ()
    tried = [steps[0].done for steps in heard[:-1]]
    assert tried == sorted(tried)
    assert tried[-1] == heard[-2][0].total == 3
    assert "accuracy 0." in heard[-2][0].detail
