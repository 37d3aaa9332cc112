"""Trials of settings: their metrics on held-out documents, the choice, and its corrected metric.

`nbtext.evaluation.tuning` makes the trials. The metric of the best setting is biased upwards,
because it is the best of many on the same documents. So the choice is evaluated, too: for each part
of the documents, a setting is chosen by the other parts and predicts the documents of this part.

Sources: S. Varma, R. Simon, Bias in error estimation when using cross-validation for model
selection (2006); G. Cawley, N. Talbot, On over-fitting in model selection and subsequent selection
bias in performance evaluation (2010).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import erfc, inf, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.evaluation import count_cells, finite_or_none
from nbtext.metrics.intervals import (
    Bootstrap,
    bootstrap_rates,
    percentile_interval,
    wilson_interval,
)
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
    from nbtext.metrics.intervals import Interval
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import Floats, Ints, Mask

    Metrics = Mapping[str, float | None]

SIGNIFICANCE_LEVEL = 0.05
"""Maximum probability that a setting is chosen although none is better than the default."""

MAX_LOSS_NATS = 745.0
"""Loss of the smallest positive probability, so that an impossible class is not infinitely bad."""

REPEATED_CHOICE_PARTS = 5
"""Number of parts of the documents. The choice is repeated without each part."""


class Stage(NamedTuple):
    """A sample of the corpus, divided into folds."""

    n_documents: int
    n_folds: int
    """Number of folds that are held out in turn."""
    n_settings: int
    """Number of settings to try: the default, and the best ones of the previous stage."""

    @property
    def size(self) -> int:
        """Documents × held-out folds. The product grows from stage to stage."""
        return self.n_documents * self.n_folds


class HeldOutPredictions(NamedTuple):
    """The predictions of models with one setting for held-out documents."""

    documents: Ints
    """Indices of the documents in the corpus, shape (n_docs,)."""
    scored: ScoredDocuments
    has_known_label: Mask
    """Mask of the documents whose class has other documents in training, shape (n_docs,)."""
    posterior_type: type[Posterior] = ClassPosterior

    def take(self, rows: Mask) -> HeldOutPredictions:
        """Return the predictions for some of the documents."""
        return self._replace(
            documents=self.documents[rows],
            scored=self.scored.take(rows),
            has_known_label=self.has_known_label[rows],
        )

    def compute_metrics(self, metric: str) -> Metrics:
        """Return accuracy, macro F1, the requested metric and log loss.

        Log loss excludes documents whose class has no other documents in training: their loss is
        infinite for every model.
        """
        n_labels = self.scored.truth.table.n_labels
        margins = count_cells(self.scored).sum_margins(n_labels)
        rates = compute_rates(margins, self.posterior_type)
        values = {name: float(rate) for name, rate in rates.items()}
        values["log_loss"] = mean_or_nan(self.scored.log_loss[self.has_known_label])
        # The order is that of the output. A repeated name has no effect.
        names = ("accuracy", "macro_f1", metric, "log_loss")
        return {name: finite_or_none(values[name]) for name in names}

    def compute_interval(self, metric: str) -> Interval | None:
        """Return the 95 % interval of the requested metric, None if the metric is infinite."""
        value = self.compute_metrics(metric)[metric]
        if value is None:
            return None
        if metric == "accuracy":
            return wilson_interval(int(self.scored.is_correct.sum()), self.scored.n)
        bootstrap = Bootstrap()
        if metric == "log_loss":
            losses = self.scored.log_loss[self.has_known_label]
            draws = bootstrap.draw_documents(losses.size)
            replicates = np.concatenate([weights @ losses / losses.size for weights in draws])
        else:
            cells = count_cells(self.scored)
            replicates = bootstrap_rates(cells, None, bootstrap, self.posterior_type)[metric]
        return percentile_interval(replicates, value)

    def compute_losses(self, metric: str) -> Floats:
        """Return the loss of each document, shape (n_docs,). A lower loss is a better metric.

        The log loss of a document whose class has no other documents in training counts as 0.

        Raise `ValueError` if the metric is not a mean over documents.
        """
        function = METRICS[metric].losses
        if function is None:
            raise ValueError(f"{metric} is not a mean over documents")
        losses = function(self.scored, self.posterior_type)
        is_undefined = ~np.isfinite(losses) & ~self.has_known_label
        return np.minimum(np.where(is_undefined, 0.0, losses), MAX_LOSS_NATS)


NO_PREDICTIONS = HeldOutPredictions(
    np.empty(0, np.int64), concatenate_scored_documents([]), np.empty(0, np.bool_)
)
"""The predictions of a trial that failed or has not run."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting that was tried in a stage, or the reason why it failed."""

    candidate: Candidate
    stage: Stage
    problem: UsageError | None = None
    predictions: HeldOutPredictions = NO_PREDICTIONS
    metrics: Metrics = field(default_factory=dict)
    training_accuracy: float | None = None
    """Accuracy of the model of each fold on its own training documents, if measured."""
    p_value: float | None = None
    """See `compute_trial_p_value`. None for the default, and if the default was not tried."""
    seconds: float = 0.0
    """Time to train and predict, for one fold."""
    count_seconds: float = 0.0
    """Time to count the documents."""
    entries: int = 0
    """Number of entries of the document-term matrix."""

    @property
    def is_better(self) -> bool | None:
        """True if the setting is significantly better than the default, None if not compared."""
        return None if self.p_value is None else self.p_value < SIGNIFICANCE_LEVEL


def compute_trial_p_value(
    metric: str, predictions: HeldOutPredictions, default: HeldOutPredictions, n_settings: int
) -> float:
    """Return the p-value of the one-sided test that a setting is better than the default.

    d_i is the loss of document i with the default, minus its loss with the setting. If the setting
    is not better, each sign of d_i is equally probable. Then z = Σ d_i / √(Σ d_i²) has mean 0 and
    variance 1 and is about normal: the randomisation test of pairs (E. Pitman, Significance tests
    which may be applied to samples from any populations, 1937). For accuracy, z² is McNemar's
    statistic (1947).

    The p-value is multiplied by the number of settings, at most to 1 (Bonferroni's correction).
    """
    gains = default.compute_losses(metric) - predictions.compute_losses(metric)
    std = sqrt(gains @ gains)
    z = gains.sum() / std if std else 0.0
    return min(erfc(z / sqrt(2)) / 2 * n_settings, 1.0)


def compare_trials(metric: str, trials: Sequence[Trial], n_settings: int) -> list[Trial]:
    """Return trials of a stage, in order, with their metrics and p-values.

    Each trial is compared with the trial of the default, as one of ``n_settings`` comparisons.
    """
    default_predictions = next(
        (trial.predictions for trial in trials if trial.candidate.is_default), None
    )
    compared = []
    for trial in trials:
        p_value = None
        if default_predictions is not None and not trial.candidate.is_default:
            p_value = compute_trial_p_value(
                metric, trial.predictions, default_predictions, n_settings
            )
        metrics = trial.predictions.compute_metrics(metric)
        compared.append(replace(trial, metrics=metrics, p_value=p_value))
    return compared


def rank_trials(metric: str, trials: Sequence[Trial]) -> list[Trial]:
    """Return the last trial of each setting, unless it failed, best first.

    Trials of larger stages come first. In a stage, trials are sorted by the metric, equal metrics
    by macro F1. Of equal trials, the default comes first.
    """
    last_trials = {trial.candidate.name: trial for trial in trials}
    sign = -1 if METRICS[metric].higher_is_better else 1

    def sort_key(trial: Trial) -> tuple[float, ...]:
        value = trial.metrics[metric]
        loss = inf if value is None else sign * value  # None is infinite or undefined
        macro_f1 = trial.metrics["macro_f1"] or 0.0
        return -trial.stage.size, loss, -macro_f1, not trial.candidate.is_default

    successful = [trial for trial in last_trials.values() if trial.problem is None]
    return sorted(successful, key=sort_key)


def choose_trial(ranked: Sequence[Trial]) -> Trial:
    """Return the trial of the setting to keep. ``ranked`` trials, at least one, are best first.

    Return the first trial that is significantly better than the default. Without such a trial,
    return the default, or the first trial if the default was not tried.
    """
    for trial in ranked:
        if trial.is_better:
            return trial
    return next((trial for trial in ranked if trial.candidate.is_default), ranked[0])


def correct_metric(
    metric: str, trials: Sequence[Trial], chosen: Trial, n_settings: int
) -> float | None:
    """Return the metric of the choice on documents that did not influence it.

    The choice among the settings of the last stage is repeated without each part of its documents.
    The metric excludes documents of earlier stages, because settings were eliminated on them.

    Return None if the last stage has only one setting, or too few documents.
    """
    # Rivals have predictions for the same documents, in the same order.
    rivals = [trial for trial in trials if trial.stage == chosen.stage and trial.problem is None]
    if len(rivals) < 2:
        return None
    documents = chosen.predictions.documents
    is_new = np.ones(documents.size, np.bool_)
    for trial in trials:
        if trial.stage.size < chosen.stage.size:
            is_new &= ~np.isin(documents, trial.predictions.documents)
    if documents.size < REPEATED_CHOICE_PARTS or not is_new.any():
        return None
    parts = np.arange(documents.size) % REPEATED_CHOICE_PARTS
    blocks = []
    for part in range(REPEATED_CHOICE_PARTS):
        is_in_part = parts == part
        choice = _choose_without(is_in_part, metric, rivals, n_settings)
        blocks.append(choice.predictions.take(is_in_part & is_new))
    corrected = HeldOutPredictions(
        np.concatenate([block.documents for block in blocks]),
        _concatenate_renumbered([block.scored for block in blocks]),
        np.concatenate([block.has_known_label for block in blocks]),
        chosen.predictions.posterior_type,
    )
    return corrected.compute_metrics(metric)[metric]


def _choose_without(
    is_excluded: Mask, metric: str, trials: Sequence[Trial], n_settings: int
) -> Trial:
    """Choose a trial without the predictions for some documents. Return it with all predictions."""
    reduced = [replace(trial, predictions=trial.predictions.take(~is_excluded)) for trial in trials]
    compared = compare_trials(metric, reduced, n_settings)
    choice = choose_trial(rank_trials(metric, compared))
    return next(trial for trial in trials if trial.candidate == choice.candidate)


def _concatenate_renumbered(blocks: Sequence[ScoredDocuments]) -> ScoredDocuments:
    """Return the documents of several evaluations, in order, with one table of label sets.

    Each evaluation has its own table, in the order in which label sets occurred.
    """
    documents = concatenate_scored_documents(blocks)
    truths = [block.truth for block in blocks]
    predictions = [block.predicted for block in blocks]
    labels = DocumentLabels.concatenate([*truths, *predictions])
    return replace(documents, truth=labels[: documents.n], predicted=labels[documents.n :])
