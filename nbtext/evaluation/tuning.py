"""Figures of settings that were judged on one corpus by cross-validation.

The figure of the best setting is too good, because it is the best of many on the same documents. So the choice is judged too: for each fold
the setting that is best on the other folds is taken, and its answers in this fold count. Sources: S. Varma, R. Simon, Bias in error estimation
when using cross-validation for model selection (2006); G. Cawley, N. Talbot, On over-fitting in model selection and subsequent selection bias
in performance evaluation (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.evaluation.cross_validation import HeldOutEvaluation, train_and_score
from nbtext.metrics.evaluation import number_or_none
from nbtext.metrics.outcomes import METRICS, Judged, Outcomes, join_judged, mean_or_nan, rates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nbtext.counts.corpus_counts import Subsets
    from nbtext.settings import Settings
    from nbtext.type_names import Floats, Mask, Whole

    Figures = Mapping[str, float | None]


class Division(NamedTuple):
    """The division of a corpus for cross-validation; the same for every setting, and as `nbtext cross-validate` divides it."""

    folds: int = 10
    seed: int = 0


class Rung(NamedTuple):
    """A stage of successive halving."""

    documents: int = 0
    """Size of the sample that is divided into training and test documents."""
    folds: int = 0
    """Folds that are tested."""
    settings: int = 0
    """The best so many of the rung before are judged."""


class FoldJudgement(NamedTuple):
    """The answers of a setting in one fold, judged."""

    judged: Judged
    known: Mask
    """Documents whose class had others in training, shape (n_docs,)."""
    seconds: float
    fitted_bytes: int
    """Of the arrays that the classifier keeps beside the counts."""

    def of(self, rows: Whole | Mask) -> FoldJudgement:
        """Return the judgement of some of the documents."""
        return self._replace(judged=self.judged.of(rows), known=self.known[rows])


class Task(NamedTuple):
    """A candidate, by its number, to be judged on a fold."""

    candidate: int
    fold: int


def judge_fold(
    subsets: Subsets, folds: Sequence[tuple[Mask, Mask]], settings_of: Mapping[int, Settings], clock: Callable[[], float], task: Task
) -> FoldJudgement:
    """Judge the documents of a fold, given its masks of training and of the test, by a model of the others; raise `UsageError` as training does."""
    begin = clock()
    learnt, blocks = train_and_score(subsets, settings_of[task.candidate], *folds[task.fold])
    held_out = HeldOutEvaluation(subsets.statistics, blocks=blocks)
    fitted_bytes = sum(array.nbytes for array in learnt.fitted.values())
    return FoldJudgement(held_out.evaluation.judged, held_out.known, clock() - begin, fitted_bytes)


def _shown(figure: str) -> dict[str, None]:
    """Return the names of the figures of settings that are ranked by one of them, in order."""
    return dict.fromkeys(("accuracy", "macro_f1", figure, "log_loss"))


def figures_of(figure: str, parts: Sequence[FoldJudgement], n_classes: int) -> Figures:
    """Return the figures of settings that are ranked by one of them, pooled over folds, and the standard deviations of shares between folds.

    The log loss is that of documents whose class had others in training; for a class without any, that of every model is infinite.
    """
    pooled, known = join_judged([part.judged for part in parts]), np.concatenate([part.known for part in parts])
    whole, *each = [
        {**rates(judged.outcomes(n_classes)), "accuracy": np.array(mean_or_nan(judged.right))}
        for judged in (pooled, *(part.judged for part in parts))
    ]
    whole["log_loss"] = np.array(mean_or_nan(pooled.log_loss[known]))
    figures = {name: number_or_none(float(whole[name])) for name in _shown(figure)}
    if len(each) > 1:
        figures |= {f"{name}_sd": float(np.std([fold[name] for fold in each], ddof=1)) for name in figures if name != "log_loss"}
    return figures


def losses(figure: str, parts: Sequence[FoldJudgement]) -> Floats:
    """Return the loss of each document, shape (n_docs,), whose mean is the figure's; for macro F1 mistakes, with equal weight for each class."""
    judged, known = join_judged([part.judged for part in parts]), np.concatenate([part.known for part in parts])
    return _LOSSES[figure](judged._replace(log_loss=np.where(known, judged.log_loss, 0.0)))


def _mistakes_by_label(judged: Judged) -> Floats:
    if judged.truth.ndim > 1:
        return (judged.truth != judged.answer) @ (judged.n / np.maximum(judged.truth.sum(axis=0), 1))
    support = np.bincount(judged.truth)
    return ~judged.right * judged.n / (np.count_nonzero(support) * support[judged.truth])


def _losses_of_micro_f1(judged: Judged) -> Floats:
    """Return 1 − F, F = 2 Σ_d h_d / Σ_d n_d, less what document d changes of F to first order: the mean is exact, and its standard error that of F."""
    hits, truth, answered = judged.by_document()
    labels = truth + answered
    share = hits.sum() / max(labels.sum(), 1)
    return 1 - 2 * (share + (hits - share * labels) / max(labels.mean(), 1 / judged.n))


_LOSSES: Mapping[str, Callable[[Judged], Floats]] = {
    "accuracy": lambda judged: (~judged.right).astype(np.float64),
    "macro_f1": _mistakes_by_label,
    "micro_f1": _losses_of_micro_f1,
    "log_loss": lambda judged: judged.log_loss,
}


def is_worse(figure: str, parts: Sequence[FoldJudgement], best: Sequence[FoldJudgement], errors: float) -> bool:
    """Return whether a setting is worse than another by so many standard errors of the difference, on the first folds, which both have."""
    both = min(len(parts), len(best))
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        differences = losses(figure, parts[:both]) - losses(figure, best[:both])
    return not differences.mean() <= errors * differences.std() / np.sqrt(differences.size)


def nested_figure(
    figure: str, settings: Sequence[Sequence[FoldJudgement]], fresh: Sequence[Mask], n_parts: int, n_classes: int
) -> float | None:
    """Return the figure of choosing a setting by all folds but one and answering in that one, pooled over folds.

    ``settings`` has the judgements of each setting in the same folds; a single fold is divided into ``n_parts``, since no model saw any of its documents.
    ``fresh`` are the documents of each fold that had no part in choosing these settings from others: only they are answered.
    """
    if len(fresh) == 1:
        parts = [np.arange(each, fresh[0].size, n_parts) for each in range(min(n_parts, fresh[0].size))]
        settings, fresh = [[fold.of(rows) for rows in parts] for (fold,) in settings], [fresh[0][rows] for rows in parts]
    if figure in ("macro_f1", "micro_f1"):
        tables = [[part.judged.outcomes(n_classes) for part in parts] for parts in settings]
        columns = (np.array([[getattr(table, name) for table in row] for row in tables]) for name in Outcomes._fields)
        others = Outcomes(*(column.sum(axis=1, keepdims=True) - column for column in columns))
        worth = rates(others)[figure]
    else:
        sums = np.array([[losses(figure, [part]).sum() for part in parts] for parts in settings])
        worth = np.stack([-np.delete(sums, fold, axis=1).sum(axis=1) for fold in range(sums.shape[1])], axis=1)
    chosen = worth.argmax(axis=0).tolist()
    answered = [settings[setting][fold].of(fresh[fold]) for fold, setting in enumerate(chosen) if fresh[fold].any()]
    return figures_of(figure, answered, n_classes)[figure]


@dataclass(frozen=True)
class Trial:
    """A candidate and its figures."""

    candidate: int
    """Its number."""
    figures: Figures
    """By name."""
    rung: Rung
    """The last that it was judged on."""
    seconds: float = 0.0
    """All folds together."""
    bytes: int = 0
    """Size of the model file, estimated."""
    beyond_chance: bool | None = None
    """True if it is worse than the best beyond chance; None for the best."""


def best_first(figure: str, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials sorted: those of more documents and folds first, then by the figure (none is the worst), then by macro F1, then by number."""
    sign = -1 if METRICS[figure].more_is_better else 1

    def order(trial: Trial) -> tuple[float, ...]:
        value = trial.figures[figure]
        return (
            -trial.rung.documents,
            -trial.rung.folds,
            np.inf if value is None else sign * value,
            -(trial.figures.get("macro_f1") or 0.0),
            trial.candidate,
        )

    return sorted(trials, key=order)


@dataclass(frozen=True, kw_only=True)
class RankedTrial(Trial):
    """A trial with its rank from 1; the size of the best model is exact."""

    rank: int
    setting: Mapping[str, str]
    """The options as they are spelt."""
    command: str
    """The command line that trains this model."""


@dataclass(frozen=True)
class SearchResult:
    """The settings tried, best first; ``model`` is the file of the best."""

    goal: str
    """The figure by which they are ranked."""
    division: Division
    documents: int
    model: str
    trials: tuple[RankedTrial, ...]
    timed: bool
    """True if the result depends on time anyway, and so may tell it."""
    corrected: float | None = None
    """The figure of the goal on documents that had no part in the choice, for example by `nested_figure`."""
    left_out: tuple[str, ...] = ()
    """Settings that cannot be, and why."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it: figures beside the setting, and the best setting once more."""
        settings = []
        for trial in self.trials:
            of_folds = {
                "documents": trial.rung.documents,
                "folds": trial.rung.folds,
                "bytes": trial.bytes,
                "beyond_chance": trial.beyond_chance,
            }
            time = {"seconds": round(trial.seconds, 3)} if self.timed else {}
            settings.append({
                "rank": trial.rank, "setting": trial.setting, **trial.figures, **of_folds, **time, "command": trial.command,
            })  # fmt: skip
        return {
            "for": self.goal,
            **self.division._asdict(),
            "documents": self.documents,
            "model": self.model,
            "corrected": self.corrected,
            "best": settings[0],
            "settings": settings,
            "left_out": list(self.left_out),
        }
