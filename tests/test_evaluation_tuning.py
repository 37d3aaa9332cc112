"""The search: figures as of cross-validation, what is given up, limits of time and memory, and the same from several processes."""

from __future__ import annotations

import signal
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nbtext.cli.option_files import read_parameter_value
from nbtext.corpus.document import Document
from nbtext.counts.corpus_counts import Subsets
from nbtext.counts.counting import count_labelled_documents
from nbtext.errors import UsageError
from nbtext.evaluation.candidates import make_candidates
from nbtext.evaluation.cross_validation import (
    HeldOutEvaluation,
    cross_validate,
    draw_stratified_folds,
    train_and_score,
)
from nbtext.evaluation.trials import Stage, Trial
from nbtext.evaluation.tuning import (
    TRAINING_TIME_MARGIN,
    Clock,
    Search,
    TimeIsUpError,
    plan_stages,
    raise_after,
)
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.training import resolve_smoothing_terms
from nbtext.progress import watching
from nbtext.settings import TUNING_METRICS, Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nbtext.counts.corpus_counts import CorpusCounts
    from nbtext.evaluation.candidates import Candidate
    from nbtext.progress import Step


def corpus(n_documents: int = 120, once: int = 0) -> list[Document]:
    """A corpus whose classes differ in their words, with so many classes of a single document."""
    random = np.random.default_rng(4)
    themes = {label: random.dirichlet(np.full(26, 0.3)) for label in "xyz"}
    labels = [str(label) for label in random.choice(list(themes), n_documents)]
    texts = [
        " ".join(f"word{chr(97 + j)}" for j in random.choice(26, 8, p=themes[label]))
        for label in labels
    ]
    found = [
        Document(str(n), label, text.encode())
        for n, (label, text) in enumerate(zip(labels, texts, strict=True))
    ]
    return [*found, *(Document(f"once{k}", f"once{k}", b"wordz worda") for k in range(once))]


def count_candidate(candidate: Candidate, documents: Sequence[Document]) -> CorpusCounts:
    return count_labelled_documents(documents, candidate.analysis, keep_all=True)


def grid(*tries: str) -> list[Candidate]:
    return make_candidates(tries, {}, Reading(), read_parameter_value)


def search(*tries: str, documents: Sequence[Document] | None = None, **options: Any) -> Search:
    candidates, documents = grid(*tries), documents or corpus()
    return Search(
        candidates,
        documents,
        count_candidate(candidates[0], documents),
        **{"n_folds": 4, "seed": 3, **options},
    )


def run(*tries: str, **options: Any) -> list[Trial]:
    return list(search(*tries, **options).run())


def names(trials: Sequence[Trial]) -> list[str]:
    return [trial.candidate.name for trial in trials]


def summarise_trials(trials: Sequence[Trial]) -> list[Any]:
    return [
        (trial.candidate.name, trial.stage, trial.metrics, trial.p_value, str(trial.problem))
        for trial in trials
    ]


def test_every_setting_has_the_metrics_of_cross_validate() -> None:
    trials = run("classifier=multinomial,bernoulli", "ngrams=1,2")
    assert len(trials) == 4
    for trial in trials:
        counts = count_candidate(trial.candidate, corpus())
        subsets = Subsets(counts.table, counts.documents)
        folds = draw_stratified_folds(
            subsets.documents.classes, 4, np.random.default_rng(3).spawn(1)[0]
        )
        result = cross_validate(
            subsets, resolve_smoothing_terms(trial.candidate.analysis), [folds]
        ).result(Bootstrap(0))
        assert trial.stage == Stage(120, 4, 4)
        assert trial.metrics == {
            "accuracy": result.accuracy,
            "macro_f1": result.macro_f1,
            "log_loss": result.log_loss,
        }


def test_trained_model_uses_the_whole_corpus() -> None:
    for name in ("ngrams=2", "classifier=logistic", "weighting=log"):
        searched = search(name)
        [_, candidate] = searched.candidates
        model = searched.train_model(candidate)
        assert model.settings == candidate.settings
        assert model.counts.table.n_documents == 120
        assert (
            len(model.counts.table.vocabulary) == count_candidate(candidate, corpus()).table.n_terms
        )


def test_each_stage_has_more_documents_and_fewer_settings() -> None:
    found = plan_stages(11_314, 5, 21, growing=True)
    assert [tuple(stage) for stage in found] == [
        (2000, 1, 21),
        (6000, 1, 7),
        (11_314, 1, 3),
        (11_314, 5, 2),
    ]
    assert plan_stages(1999, 5, 21, growing=True) == [
        Stage(1999, 5, 21)
    ]  # too few documents to drop any setting by
    assert plan_stages(2001, 5, 2, growing=True) == [
        Stage(2000, 1, 2),
        Stage(2001, 1, 2),
        Stage(2001, 5, 2),
    ]
    assert (
        plan_stages(11_314, 5, 21, growing=False)
        == plan_stages(11_314, 5, 21, growing=False)
        == [Stage(11_314, 5, 21)]
    )
    assert plan_stages(11_314, 5, 1, growing=True) == [
        Stage(11_314, 5, 1)
    ]  # nothing to choose from


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples small enough for the corpus: 24 and 72 documents of 120."""
    monkeypatch.setattr("nbtext.evaluation.tuning.MIN_HELD_OUT_DOCUMENTS", 6)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("figure", TUNING_METRICS.values())
def test_default_and_best_settings_of_each_stage_continue(figure: str) -> None:
    trials = run(
        "top=1,2,5,none",
        "weighting=counts,binary",
        "smoothing=0.1,5",
        metric=figure,
        is_staged=True,
    )
    found = plan_stages(120, 4, 17, growing=True)
    assert [tuple(stage) for stage in found] == [(24, 1, 17), (72, 1, 6), (120, 1, 2), (120, 4, 2)]
    for before, stage in pairwise(found):
        earlier, later = (
            [trial for trial in trials if trial.stage == each] for each in (before, stage)
        )
        assert len(later) == stage.n_settings
        assert later[0].candidate.is_default
        worth = {
            trial.candidate.name: trial.metrics[figure] or 0.0
            for trial in earlier
            if not trial.candidate.is_default
        }
        went_on = names(later[1:])
        least = sorted(worth.values(), reverse=figure != "log_loss")[len(went_on) - 1]
        assert all(
            worth[name] <= least if figure == "log_loss" else worth[name] >= least
            for name in went_on
        )


@pytest.mark.usefixtures("few")
def test_sampled_stage_is_evaluated_by_a_model_of_the_other_documents() -> None:
    trial = run("classifier=multinomial,bernoulli", is_staged=True)[0]
    of_folds, of_samples = np.random.default_rng(3).spawn(2)
    classes = count_candidate(trial.candidate, corpus()).documents.classes
    numbers = np.sort(of_samples.permutation(120)[:24])
    held_out = draw_stratified_folds(classes, 4, of_folds).fold_indices[numbers] == 0
    counts = count_candidate(trial.candidate, [corpus()[number] for number in numbers])
    evaluation = HeldOutEvaluation(counts.table)
    subsets = Subsets(counts.table, counts.documents)
    for block in train_and_score(
        subsets, resolve_smoothing_terms(trial.candidate.analysis), ~held_out, held_out
    )[1]:
        evaluation.add(block)
    assert trial.stage == Stage(24, 1, 2)
    assert trial.predictions.documents.tolist() == numbers[held_out].tolist()
    assert (
        trial.predictions.scored.log_loss.tolist()
        == evaluation.evaluation.documents.log_loss.tolist()
    )


@pytest.mark.usefixtures("few")
def test_result_reports_documents_and_folds_of_each_metric() -> None:
    searched = search("top=1,2,none", is_staged=True)
    trials = list(searched.run())
    found = searched.to_dict(["nbtext", "train", "my corpus"])
    rows = found["settings"]
    assert [(row["documents"], row["folds"]) for row in rows] == [(120, 4), (120, 4), (24, 1)]
    assert {(row["documents_in_all"], row["folds_in_all"]) for row in rows} == {(120, 4)}
    assert [row for row in rows if row["chosen"]] == [found["chosen"]]
    assert [row["p_value"] is None for row in rows] == [
        row["setting"] == {"top": "none"} for row in rows
    ]
    assert {row["command"] for row in rows} == {
        f"nbtext train 'my corpus'{top}" for top in ("", " --top 1", " --top 2")
    }
    assert len(trials) == 3 + 2 + 2 + 2
    assert not any("seconds" in row for row in rows)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("growing", [False, True])
def test_parallel_search_gives_the_same_result(growing: bool) -> None:
    tries = ("top=2,none", "weighting=counts,binary", "ngrams=1,2", "min-df=1,999")
    alone, together = (search(*tries, is_staged=growing, jobs=jobs) for jobs in (1, 2))
    assert summarise_trials(list(together.run())) == summarise_trials(list(alone.run()))
    assert together.to_dict([]) == alone.to_dict([])


@pytest.mark.usefixtures("few")
def test_settings_that_exceed_memory_do_not_continue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries = ("ngrams=1,2", "char-ngrams=none,2-5")
    entries = {trial.candidate.name: trial.entries for trial in run(*tries)}
    for most, sizes in ((inf, {24, 72, 120}), (entries["ngrams=2 char-ngrams=none"], {24})):
        monkeypatch.setattr("nbtext.evaluation.tuning.MAX_MATRIX_ENTRIES", most)
        found = run(*tries, is_staged=True, metric="log_loss")
        assert {
            trial.stage.n_documents for trial in found if "2-5" in trial.candidate.name
        } == sizes
    assert len(run(*tries)) == 4  # without a limit the user named them all


@dataclass
class Ticking:
    """A clock that goes on by a second each time that it is looked at."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def silent(_: float) -> nullcontext[None]:
    return nullcontext()


@pytest.mark.usefixtures("few")
def test_time_limit_is_kept_by_a_clock() -> None:
    tried = []
    for seconds in (1, 20, 30, 60, 1000):
        ticking = Ticking()
        searched = search(
            "min-df=1,2,3",
            "weighting=counts,binary",
            "ngrams=1,2",
            is_staged=True,
            clock=Clock(seconds, now=ticking, alarm=silent),
        )
        trials = list(searched.run())
        assert ticking.now <= max(1.2 * seconds, 20)
        assert trials[0].candidate.is_default
        assert all(row["seconds"] >= 1 for row in searched.to_dict([])["settings"])
        tried.append(len(trials))
    assert tried == sorted(tried)
    assert tried[0] == 1
    assert len(set(tried)) > 2
    assert tried[-1] == 12 + 4 + 2 + 2


@pytest.mark.usefixtures("few")
def test_first_stage_leaves_time_for_the_next() -> None:
    clock = Clock(200, now=(ticking := Ticking()), alarm=silent)
    searched = search(
        "min-df=1,2,3", "weighting=counts,binary", "ngrams=1,2,3,4", is_staged=True, clock=clock
    )
    sizes = [trial.stage.n_documents for trial in searched.run()]
    assert 1 < sizes.count(24) < 24
    assert sizes.count(72) >= 2
    assert ticking.now <= 200


def test_alarm_interrupts_running_work() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeIsUpError), raise_after(0.001):
        max(each for each in repeat(0))  # for ever
    with pytest.raises(TimeIsUpError), raise_after(1000):
        signal.raise_signal(signal.SIGALRM)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with raise_after(inf):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_before_the_alarm_are_kept(jobs: int) -> None:
    uses = 0

    @contextmanager
    def third(_: float) -> Iterator[None]:
        nonlocal uses
        uses += 1
        with raise_after(0.001) if uses == 3 else nullcontext():
            yield
            while uses == 3:  # what cannot be done in time
                pass

    searched = search(
        "smoothing=0.1,0.2,0.3", is_staged=True, jobs=jobs, clock=Clock(1e6, alarm=third)
    )
    assert names(list(searched.run())) == ["", "smoothing=0.1"]
    chosen = searched.require_chosen()
    assert searched.train_model(chosen.candidate).settings == chosen.candidate.settings


def at(stage: Stage, seconds: float, trial: Trial, count_seconds: float = 0.0) -> Trial:
    return replace(trial, stage=stage, seconds=seconds, count_seconds=count_seconds)


def test_estimated_training_time_is_proportional_to_documents() -> None:
    searched = search("ngrams=1,2")
    first, second = search("ngrams=1,2").run()
    small = Stage(24, 1, 2)
    assert searched._estimate_training_seconds(at(small, 2.0, first, 1.0)) == pytest.approx(
        TRAINING_TIME_MARGIN * 2.0 * 120 / 24
    )  # it is counted
    assert searched._estimate_training_seconds(at(small, 2.0, second, 1.0)) == pytest.approx(
        TRAINING_TIME_MARGIN * 3.0 * 120 / 24
    )


def test_setting_without_time_to_train_is_not_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "nbtext.evaluation.trials.SIGNIFICANCE_LEVEL", 2.0
    )  # anything is better than the default
    monkeypatch.setattr(
        Search,
        "_estimate_training_seconds",
        lambda _, trial: 1.0 if trial.candidate.is_default else 100.0,
    )
    for seconds in (1000, 60):
        searched = search(
            "smoothing=5", is_staged=True, clock=Clock(seconds, now=Ticking(), alarm=silent)
        )
        list(searched.run())
        assert searched.require_chosen().candidate.is_default is (seconds == 60)
        assert sum(bool(row["better"]) for row in searched.to_dict([])["settings"]) == 1


def test_first_setting_is_chosen_if_none_can_be_trained_in_time() -> None:
    candidates = grid("smoothing=0.1,0.2")[1:]
    searched = Search(
        candidates,
        corpus(),
        count_candidate(candidates[0], corpus()),
        n_folds=4,
        clock=Clock(3, now=Ticking(), alarm=silent),
    )
    assert names(list(searched.run())) == ["smoothing=0.1"]
    assert searched.require_chosen().candidate in candidates


def test_untrainable_settings_are_skipped() -> None:
    searched = search("min-df=1,999")
    assert names(list(searched.run())) == ["min-df=1", "min-df=999"]
    assert searched.require_chosen().candidate.name == "min-df=1"
    assert ["with min-df=999: none of the" in str(problem) for problem in searched.problems] == [
        True
    ]


def test_single_document_class_is_excluded_from_log_loss() -> None:
    [trial] = run("min-df=1", documents=corpus(once=2))
    assert trial.metrics["log_loss"] is not None


def test_fewer_documents_than_folds_are_refused() -> None:
    with pytest.raises(UsageError, match="too few for 4 folds"):
        search(documents=corpus(n_documents=3))


def test_progress_counts_settings_and_ends() -> None:
    heard: list[tuple[Step, ...]] = []
    with watching(heard.append):
        run("smoothing=0.1,1,2")
    assert heard[-1] == ()
    tried = [steps[0].n_done for steps in heard[:-1]]
    assert tried == sorted(tried)
    assert tried[-1] == heard[-2][0].total == 4
    assert "accuracy 0." in heard[-2][0].detail
