"""Settings that were tried: how good each is on held-out documents, which is kept, and how good that choice is.

The figure of the best setting is too good, because it is the best of many on the same documents. So
the choice is judged too: it is repeated without each part of the documents in turn, and answers to
that part count. Sources: S. Varma, R. Simon, Bias in error estimation when using cross-validation for
model selection (2006); G. Cawley, N. Talbot, On over-fitting in model selection and subsequent
selection bias in performance evaluation (2010).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import erfc, inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.evaluation import count_cells, finite_or_none
from nbtext.metrics.outcomes import (
    METRICS,
    ScoredDocuments,
    compute_rates,
    concatenate_scored_documents,
    mean_or_nan,
)
from nbtext.prediction.labels import DocumentLabels
from nbtext.prediction.posterior import ClassPosterior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nbtext.errors import UsageError
    from nbtext.evaluation.candidates import Candidate
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import Floats, Ints, Mask

    Figures = Mapping[str, float | None]

SIGNIFICANCE_LEVEL = 0.05
"""Probability at most that a setting is taken although none is better than the default."""

MAX_LOSS_NATS = 745.0
"""In nats, of the smallest probability above 0: an impossible class is only one document."""

REPEATED_CHOICE_PARTS = 5
"""Parts of the documents without which the choice is repeated."""


class Stage(NamedTuple):
    """A sample of the corpus, divided into folds, of which some are held out in turn."""

    documents: int
    folds: int
    settings: int
    """How many are tried: the default, and the best others of the stage before."""


class HeldOutPredictions(NamedTuple):
    """The answers of a setting to documents that were held out."""

    documents: Ints
    """Their numbers in the corpus, shape (n_docs,)."""
    scored: ScoredDocuments
    has_known_label: Mask
    """Documents whose class had others in training, shape (n_docs,)."""
    kind: type[Posterior] = ClassPosterior

    def take(self, rows: Mask) -> HeldOutPredictions:
        """Return the answers to some of the documents."""
        return HeldOutPredictions(
            self.documents[rows], self.scored.take(rows), self.has_known_label[rows], self.kind
        )

    def compute_metrics(self, figure: str) -> Figures:
        """Return accuracy, macro F1, the figure asked for and log loss.

        Log loss is that of documents whose class had others in training: for a class without any
        that of every model is infinite.
        """
        n_labels = self.scored.truth.table.n_labels
        found = {
            **{
                name: float(value)
                for name, value in compute_rates(
                    count_cells(self.scored).sum_margins(n_labels), self.kind
                ).items()
            },
            "log_loss": mean_or_nan(self.scored.log_loss[self.has_known_label]),
        }
        names = dict.fromkeys(("accuracy", "macro_f1", figure, "log_loss"))
        return {name: finite_or_none(found[name]) for name in names}

    def compute_losses(self, figure: str) -> Floats:
        """Return what each document adds to a loss that falls as the figure gets better, shape (n_docs,).

        Documents of classes without others in training add nothing to log loss: their own is infinite.
        """
        of_metric = METRICS[figure].losses
        if of_metric is None:
            raise ValueError(f"{figure} is no mean over documents")
        losses = of_metric(self.scored, self.kind)
        return np.minimum(
            np.where(np.isfinite(losses) | self.has_known_label, losses, 0.0), MAX_LOSS_NATS
        )


NO_PREDICTIONS = HeldOutPredictions(
    np.empty(0, np.int64), concatenate_scored_documents([]), np.empty(0, np.bool_)
)


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting that was tried in a stage, or why it could not be."""

    candidate: Candidate
    stage: Stage
    problem: UsageError | None = None
    predictions: HeldOutPredictions = NO_PREDICTIONS
    metrics: Figures = field(default_factory=dict)
    p_value: float | None = None
    """By `p_value`; None for the default, and if that was not tried."""
    seconds: float = 0.0
    """To train and to answer, for one fold."""
    count_seconds: float = 0.0
    """To count the documents."""
    entries: int = 0
    """Of the document-term matrix."""

    @property
    def is_better(self) -> bool | None:
        """Whether it is significantly better than the default, None if they were not compared."""
        return None if self.p_value is None else self.p_value < SIGNIFICANCE_LEVEL


def compute_trial_p_value(
    figure: str, setting: HeldOutPredictions, default: HeldOutPredictions, n_settings: int
) -> float:
    """Return how probable it is that one of so many settings looks so much better than the default, if none is.

    d_i is by how much the loss of document i is smaller than with the default. If each d_i could as
    well have the other sign, z = Σ d_i / √(Σ d_i²) has mean 0 and variance 1, and is about normal: the
    randomisation test of pairs (E. Pitman, Significance tests which may be applied to samples from
    any populations, 1937). For accuracy z² is McNemar's statistic (1947). The test is one-sided. The
    probability is multiplied by the number of settings, at most to 1 (Bonferroni's correction).
    """
    gains = default.compute_losses(figure) - setting.compute_losses(figure)
    spread = sqrt(gains @ gains)
    z = gains.sum() / spread if spread else 0.0
    return min(erfc(z / sqrt(2)) / 2 * n_settings, 1.0)


def compare_trials(figure: str, trials: Sequence[Trial], n_settings: int) -> list[Trial]:
    """Return trials of a stage with their figures, each compared with the default as one of so many."""
    default = next((trial.predictions for trial in trials if trial.candidate.is_default), None)
    found = []
    for trial in trials:
        p = None
        if default is not None and not trial.candidate.is_default:
            p = compute_trial_p_value(figure, trial.predictions, default, n_settings)
        found.append(replace(trial, metrics=trial.predictions.compute_metrics(figure), p_value=p))
    return found


def rank_trials(figure: str, trials: Sequence[Trial]) -> list[Trial]:
    """Return the last trial of each setting that could be tried.

    Those of more documents and folds come first, then those of a better figure, of a better macro
    F1, and the default before others.
    """
    last = {trial.candidate.name: trial for trial in trials}
    sign = -1 if METRICS[figure].higher_is_better else 1

    def order(trial: Trial) -> tuple[float, ...]:
        value = trial.metrics[figure]
        size = trial.stage.documents * trial.stage.folds
        worth = inf if value is None else sign * value
        return -size, worth, -(trial.metrics["macro_f1"] or 0.0), not trial.candidate.is_default

    return sorted((trial for trial in last.values() if trial.problem is None), key=order)


def choose_trial(ranked: Sequence[Trial]) -> Trial | None:
    """Return the setting to keep of some, which come best first; None if there are none.

    That is the first that is significantly better than the default, else the default, or if that
    could not be tried the first of all.
    """
    better = [trial for trial in ranked if trial.is_better]
    default = [trial for trial in ranked if trial.candidate.is_default]
    return next(iter([*better, *default, *ranked]), None)


def correct_metric(
    figure: str, trials: Sequence[Trial], chosen: Trial, n_settings: int
) -> float | None:
    """Return the figure of the choice by documents that had no part in it; None if there was no choice.

    The choice among the settings of the last stage is repeated without each part of its documents.
    Documents of earlier stages do not count: some settings were dropped by them.
    """
    rivals = [trial for trial in trials if trial.stage == chosen.stage and trial.problem is None]
    documents = chosen.predictions.documents
    before = [trial.predictions.documents for trial in trials if trial.stage < chosen.stage]
    fresh = ~np.isin(documents, np.concatenate([NO_PREDICTIONS.documents, *before]))
    parts = np.arange(documents.size) % REPEATED_CHOICE_PARTS
    if len(rivals) < 2 or documents.size < REPEATED_CHOICE_PARTS or not fresh.any():
        return None
    answers = []
    for part in range(REPEATED_CHOICE_PARTS):
        rest = [
            replace(trial, predictions=trial.predictions.take(parts != part)) for trial in rivals
        ]
        choice = choose_trial(rank_trials(figure, compare_trials(figure, rest, n_settings)))
        again = next(
            trial for trial in rivals if choice is not None and trial.candidate == choice.candidate
        )
        answers.append(again.predictions.take((parts == part) & fresh))
    judged = _in_one_table([each.scored for each in answers])
    known = np.concatenate([each.has_known_label for each in answers])
    return chosen.predictions._replace(scored=judged, has_known_label=known).compute_metrics(
        figure
    )[figure]


def _in_one_table(parts: Sequence[ScoredDocuments]) -> ScoredDocuments:
    """Return the documents of several evaluations, in order; each of these numbers sets of labels in the order in which they came."""
    joined = concatenate_scored_documents(parts)
    truths = [part.truth for part in parts]
    answers = [part.predicted for part in parts]
    labels = DocumentLabels.concatenate([*truths, *answers])
    return replace(joined, truth=labels[: joined.n], predicted=labels[joined.n :])
