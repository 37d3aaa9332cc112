"""Judge every combination of some settings by one criterion, over a corpus that is counted once for all settings that count alike.

The figure of the best setting is too good, because it is the largest of many on the same documents. Source: G. Cawley, N. Talbot, On
over-fitting in model selection and subsequent selection bias in performance evaluation (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.counts.corpus_counts import CorpusCounts
from nbtext.counts.documents import DocumentSample
from nbtext.errors import UsageError
from nbtext.evaluation.cross_validation import cross_validate, evaluate_leave_one_out, stratified_folds
from nbtext.inspection.overview import criteria, require_criteria
from nbtext.metrics.intervals import Bootstrap
from nbtext.model.training import language_models, require_supported, terms_and_smoothing
from nbtext.settings import COUNTING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from nbtext.counts.corpus_counts import Subsets
    from nbtext.settings import Settings

OF_THE_SAME_COUNTS = ("evidence", "aic", "bic")
"""Criteria that compare settings over the same counts only."""

LEAST_IS_BEST = ("aic", "bic")

SHARING_COUNTS = ("smoothing", "prior_shape", "estimate", "class_prior")
"""Parameters that change neither the counts nor what is counted."""

UNLIKE_TERMS = frozenset({"language", "stop_words", "stemmer", "ngrams", "char_ngrams", "min_df", "max_df", "top", "by"})
"""Parameters that decide which terms there are."""

MOST_SETTINGS = 1000

COUNTED_ALIKE = tuple(name for name in COUNTING if name != "sample")
"""Settings that agree in these parameters have the same statistics and documents."""


class Trial(NamedTuple):
    """The figures of a setting."""

    place: int
    """Its number among all settings tried."""
    figures: dict[str, float | None]
    """By name; the criterion is among them."""


class Division(NamedTuple):
    """The division of a corpus for cross-validation; the same for every setting, and as `nbtext cross-validate` divides it."""

    folds: int = 10
    seed: int = 0


@dataclass(frozen=True)
class RankedTrial:
    """A setting, as its options are spelt, with its rank from 1 and its figures."""

    rank: int
    setting: Mapping[str, str]
    figures: Mapping[str, float | None]


@dataclass(frozen=True)
class SearchResult:
    """The settings tried, best first; ``division`` is None for a criterion without folds, ``model`` the file of the best."""

    by: str
    division: Division | None
    documents: int
    model: str
    trials: tuple[RankedTrial, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it: figures beside the setting, and the best setting once more."""
        settings = [{"rank": trial.rank, "setting": trial.setting, **trial.figures} for trial in self.trials]
        divided = {} if self.division is None else self.division._asdict()
        return {"by": self.by, **divided, "documents": self.documents, "model": self.model, "best": settings[0], "settings": settings}


def combinations(ranges: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of values, the last parameter changing fastest; raise `UsageError` if there are more than `MOST_SETTINGS`."""
    number = int(np.prod([len(values) for values in ranges.values()], dtype=object)) if ranges else 1
    if number > MOST_SETTINGS:
        raise UsageError(f"these are {number:,} settings, more than {MOST_SETTINGS:,}", hint="try fewer values at once")
    return [dict(zip(ranges, values, strict=True)) for values in product(*ranges.values())]


def require_comparable(by: str, tried: Iterable[str], settings: Iterable[Settings]) -> None:
    """Raise `UsageError` unless the criterion can compare settings that differ in the parameters ``tried``, and judge each of them.

    Evidence, AIC and BIC measure how probable the counts are, so they do not compare settings with other counts. Leave-one-out uses terms that
    were selected with the label of the left-out document, so selections look far better than they are.
    """
    tried = set(tried)
    if by in OF_THE_SAME_COUNTS and (others := sorted(tried.difference(SHARING_COUNTS))):
        other_terms = "settings with other terms have other counts, whose probabilities do not compare"
        reason = other_terms if others[0] in UNLIKE_TERMS else f"it has no part in {by}"
        raise UsageError(f"--by {by} cannot compare --{others[0].replace('_', '-')}: {reason}", hint="use --by cross-validation")
    if by == "leave-one-out" and tried & {"top", "by"}:
        raise UsageError(
            "--by leave-one-out cannot compare --top or --by: terms are selected from all documents, those left out too",
            hint="use --by cross-validation",
        )
    for parameters in settings:
        require_supported(parameters)  # raises what training would raise
        if by in OF_THE_SAME_COUNTS:
            require_criteria(parameters)
        if by == "leave-one-out" and (parameters["classifier"], parameters["weighting"]) != ("multinomial", "counts"):
            raise UsageError(
                "leave-one-out is exact for --classifier multinomial --weighting counts only", hint="use --by cross-validation"
            )
        if by == "evidence" and "class_prior" in tried and parameters["class_prior"] in ("empirical", "smoothed:0"):
            raise UsageError(
                f"--class-prior {parameters['class_prior']} is maximum likelihood, which has no evidence to compare",
                hint="compare uniform, smoothed:A and files, or use --by bic",
            )


def judge_setting(by: str, subsets: Subsets, parameters: Settings, division: Division) -> dict[str, float | None]:
    """Return the figures of one setting over the whole corpus; raise `UsageError` as training does, or if the figure is not defined."""
    if by in OF_THE_SAME_COUNTS:
        return _of_counts(by, subsets, parameters)
    spread = {}
    if by == "leave-one-out":
        result = evaluate_leave_one_out(subsets.statistics, subsets.documents, parameters).result(Bootstrap(0))
    else:
        folds = stratified_folds(subsets.documents.classes, division.folds, np.random.default_rng(division.seed).spawn(1)[0])
        validation = cross_validate(subsets, parameters, [folds])
        result, of_folds = validation.result(Bootstrap(0)), validation.folds_result()
        spread = {"accuracy_sd": of_folds.accuracy.sd, "macro_f1_sd": of_folds.macro_f1.sd}
    return {"accuracy": result.accuracy, "macro_f1": result.macro_f1, "log_loss": result.log_loss, **spread}


def _of_counts(by: str, subsets: Subsets, parameters: Settings) -> dict[str, float | None]:
    sample = DocumentSample.of(subsets.documents, parameters["sample"])
    learnt = terms_and_smoothing(CorpusCounts(subsets.statistics, sample), parameters)
    figures = criteria(language_models(subsets.statistics, learnt, parameters), parameters)
    if by == "evidence" and figures.evidence_of_classes is None:
        raise UsageError("without a prior there is no evidence", hint="use a smoothing above 0 and no --estimate ml")
    value = getattr(figures, by)
    return {by: value if np.isfinite(value) else None, "smoothing": learnt.smoothing}


def best_first(by: str, trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials sorted by their criterion, of equal ones that with more macro F1, then the first; those without a figure last."""
    name, sign = (by, 1 if by in LEAST_IS_BEST else -1) if by in OF_THE_SAME_COUNTS else ("accuracy", -1)

    def order(trial: Trial) -> tuple[float, float, int]:
        value = trial.figures[name]
        return (np.inf if value is None else sign * value, -(trial.figures.get("macro_f1") or 0.0), trial.place)

    return sorted(trials, key=order)
