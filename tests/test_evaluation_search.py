"""The search: figures as of cross-validation, what is given up, limits of number, time and size, and the same from several processes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext.cli.options import from_file
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import Analysis, count_documents
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import Values, combinations, portfolio
from nbtext.evaluation.cross_validation import cross_validate, stratified_folds
from nbtext.evaluation.search import Limits, Search
from nbtext.evaluation.tuning import Division, has_lost
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.corpus_flow import CountedCorpus
from nbtext.model.training import looked_up
from nbtext.steps import watching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.evaluation.candidates import Candidate
    from nbtext.steps import Step


@dataclass
class Counted:
    corpus: CountedCorpus
    analysis: Analysis


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

    def count(self, candidate: Candidate) -> Counted:
        self.counted.append(candidate.analysis())
        analysis = Analysis.of(candidate.settings)
        statistics, documents = count_documents(self.texts(), analysis)
        return Counted(CountedCorpus(statistics, documents, [], []), analysis)


def _share(theme: Any) -> Any:
    return theme[:26] / theme[:26].sum()


def grid(*tries: str) -> list[Candidate]:
    return combinations(tries, Values({}, from_file))


def search(candidates: Sequence[Candidate], desk: Desk | None = None, **options: Any) -> Search[Counted]:
    return Search(candidates, [], (desk or Desk()).count, division=options.pop("division", Division(4, 3)), **options)


def test_every_setting_has_the_figures_of_cross_validate() -> None:
    candidates = grid("classifier=multinomial,bernoulli", "ngrams=1,2")
    outcome = search(candidates).run()
    assert sorted(trial.candidate for trial in outcome.trials) == [0, 1, 2, 3]
    for trial in outcome.trials:
        counted = Desk().count(candidates[trial.candidate])
        subsets = Subsets(counted.corpus.statistics, counted.corpus.documents)
        folds = stratified_folds(subsets.documents.classes, 4, np.random.default_rng(3).spawn(1)[0])
        validation = cross_validate(subsets, looked_up(counted.analysis), [folds])
        result = validation.result(Bootstrap(0))
        assert trial.folds == 4
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


def test_a_corpus_too_large_to_be_kept_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates = grid("ngrams=1,2", "smoothing=0.1,1,auto")
    kept = search(candidates, limits=Limits(tries=9)).run()
    monkeypatch.setattr("nbtext.evaluation.search.MOST_ENTRIES", 0)
    desk = Desk()
    again = search(candidates, desk, limits=Limits(tries=9)).run()
    assert len(desk.counted) > 2
    assert timeless(again.trials) == timeless(kept.trials)


def timeless(trials: Sequence[Any]) -> list[Any]:
    return [replace(trial, seconds=0.0) for trial in trials]


@pytest.mark.parametrize("goal", ["accuracy", "macro-f1", "log-loss"])
def test_what_is_given_up_has_lost_and_the_rest_is_judged_on_all_folds(goal: str) -> None:
    racing = search(grid("top=1,2,none", "weighting=counts,binary"), goal=goal, limits=Limits(tries=100))
    outcome = racing.run()
    best = outcome.trials[0]
    assert best.folds == 4
    figure = goal.replace("-", "_")
    for trial in outcome.trials:
        lost = has_lost(figure, racing._parts[trial.candidate], racing._parts[best.candidate])
        assert lost or trial.folds == 4
    assert {trial.folds for trial in outcome.trials} != {4}
    assert outcome.corrected is not None


def test_so_many_are_tried_and_the_first_ones() -> None:
    candidates = portfolio(Values({}, from_file))
    for tries in (1, 3):
        outcome = search(candidates, limits=Limits(tries=tries)).run()
        assert sorted(trial.candidate for trial in outcome.trials) == list(range(tries))


def test_several_processes_find_the_same() -> None:
    candidates = grid("top=2,none", "weighting=counts,binary", "ngrams=1,2")
    alone, together = (search(candidates, limits=Limits(tries=9), processes=n).run() for n in (0, 2))
    assert timeless(together.trials) == timeless(alone.trials)
    assert together.corrected == alone.corrected


@pytest.mark.parametrize("by", ["leave-one-out", "evidence"])
def test_several_processes_find_the_same_by_other_criteria(by: str) -> None:
    candidates = grid("min-df=1,999", "smoothing=0.1,0.5,auto", "ngrams=1,2")
    alone, together = (search(candidates, by=by, processes=n).run() for n in (0, 2))
    assert together.trials == alone.trials
    assert [str(left.named()) for left in together.left_out] == [str(left.named()) for left in alone.left_out]
    assert (len(together.trials), len(together.left_out)) == (6, 6)


@dataclass
class Clock:
    """A clock that goes on by a second each time that it is looked at."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_time_is_kept_by_a_clock_that_only_looks_move() -> None:
    judged = []
    for seconds in (1, 20, 60, 80, 1000):
        clock = Clock()
        outcome = search(grid("min-df=1,2,3", "weighting=counts,binary", "ngrams=1,2"), limits=Limits(seconds=seconds), clock=clock).run()
        judged.append([trial.folds for trial in outcome.trials])
        assert clock.now <= max(seconds, 50)
    assert judged[0] == [1]
    assert 1 < len(judged[1]) < len(judged[2]) == 12
    assert judged[2][0] == 4
    assert sum(judged[2]) < sum(judged[3]) < sum(judged[4])


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
    assert search(grid(), desk, may_lower_folds=True).run().trials[0].folds == 3
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
