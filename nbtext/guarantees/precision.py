"""Thresholds of probability from which answers keep a precision with 95 % confidence, by what a model says of documents left out.

A threshold passes if so few of the answers from it on are wrong that, were the precision lower than asked, this would happen in at most 5 of 100
samples: P(X ≤ wrong | n, 1 − precision) ≤ 0.05, the exact test of Clopper and Pearson. Thresholds are tested from the one at which the clearest
result is predicted, then lower and lower until one fails. An answer has no part in its own prediction, so the 5 % hold for all tests together.
With a precision for each of m classes each has 5 % / m. One precision for all answers has one threshold of predicted precision, which for each class
is another probability.

Sources: C. Clopper, E. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial (1934); A. Angelopoulos,
S. Bates, E. Candès, M. Jordan, L. Lei, Learn then test (2021), for tests in a fixed sequence; C. Chow, On optimum recognition error and
reject tradeoff (1970).
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.intervals import Interval, wilson_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.metrics.outcomes import PosteriorScores
    from nbtext.prediction.calibration import HeldOutPosteriors
    from nbtext.prediction.rule import DecisionRule
    from nbtext.type_names import Floats, Ints, Mask, Names

MAX_ERROR_PROBABILITY = 0.05
"""Probability that the promise does not hold."""

MAX_TESTED_THRESHOLDS = 50
"""Thresholds that are tested; each adds as many answers as the others."""

CANDIDATE_SLOPES = (1.0, 0.7, 0.5, 0.35, 0.25, 0.1)
"""The share of the log odds of a class that is believed."""

BISECTIONS = 40

MAX_ABS_ODDS_NATS = 36.0
"""Log odds of a probability that is 1 but for rounding."""

MAX_NEEDED_DOCUMENTS = 1 << 40
"""Above this number of further documents none is named."""


class PrecisionThreshold(NamedTuple):
    """Least probability at which a class is answered, with the figures of left-out documents."""

    label: str
    precision: float | None
    """Asked for; None if nothing is promised."""
    probability: float | None
    """Least probability of an answer; None if there is none."""
    documents: int
    """Answers with the class to documents left out."""
    answered: int
    """Those from the threshold on."""
    right: int
    more: int | None
    """Without a threshold: how many more answers it would take if they are right as often as these; None if more would not help."""


def fit_precision_thresholds(
    posteriors: HeldOutPosteriors,
    classes: Names,
    rule: DecisionRule,
    precisions: float | Sequence[float | None],
    *,
    by_class: bool = False,
) -> tuple[PrecisionThreshold, ...]:
    """Return the lowest thresholds of the classes from which answers by a rule keep the precision asked for.

    One number is for all answers together, or ``by_class`` for those with each class; several are for the classes, None for no promise.
    """
    posterior = posteriors.posterior
    owners, answers = posterior.predict(rule).to_pairs()
    right = posteriors.truth.contains(owners, answers)
    probabilities = np.exp(posterior.logs[owners, answers])
    weights = posteriors.weights[owners]
    odds = np.clip(
        posterior.compute_log_odds()[owners, answers], -MAX_ABS_ODDS_NATS, MAX_ABS_ODDS_NATS
    )
    n_classes = len(classes)
    predicted = np.empty(answers.size)
    owners = np.unique(owners, return_inverse=True)[1]
    halves = owners % 2 == 0
    for here in (halves, ~halves):  # an answer has no part in its own curve
        slopes, shifts = _class_curves(odds[~here], answers[~here], right[~here], n_classes)
        predicted[here] = slopes[answers[here]] * odds[here] + shifts[answers[here]]
    wanted = [precisions] * n_classes if isinstance(precisions, float) else precisions
    if isinstance(precisions, float) and not by_class:
        threshold, more = _find_lowest_threshold(
            predicted,
            predicted,
            right,
            weights,
            owners,
            precision=precisions,
            error=MAX_ERROR_PROBABILITY,
        )
        slopes, shifts = _class_curves(odds, answers, right, n_classes)
        least = (
            1 / (1 + np.exp((shifts - threshold) / slopes))
            if threshold < inf
            else np.full(n_classes, inf)
        )
        lowest = [(probability, more) for probability in least.tolist()]
    else:
        error = MAX_ERROR_PROBABILITY / max(sum(each is not None for each in wanted), 1)
        lowest = [
            (0.0, None)
            if precision is None
            else _find_lowest_threshold(
                *(
                    column[answers == number]
                    for column in (probabilities, predicted, right, weights)
                ),
                precision=precision,
                error=error,
            )
            for number, precision in enumerate(wanted)
        ]
    rows = []
    for number, (label, precision, (probability, more)) in enumerate(
        zip(classes, wanted, lowest, strict=True)
    ):
        of_class = answers == number
        kept = of_class & (probabilities >= probability)
        documents, answered, hits = (
            int(np.count_nonzero(chosen)) for chosen in (of_class, kept, kept & right)
        )
        rows.append(
            PrecisionThreshold(
                label,
                precision,
                probability if probability <= 1 else None,
                documents,
                answered,
                hits,
                more,
            )
        )
    return tuple(rows)


def list_min_probabilities(thresholds: Sequence[PrecisionThreshold]) -> tuple[float, ...]:
    """Return the least probability of an answer with each class, as `DecisionRule` takes it; inf for a class that is never the answer."""
    return tuple(inf if each.probability is None else each.probability for each in thresholds)


def _class_curves(
    odds: Floats, answers: Ints, right: Mask, n_classes: int
) -> tuple[Floats, Floats]:
    """Return a_k of `CANDIDATE_SLOPES` and b_k that make p(right) = σ(a_k log odds + b_k) most probable for answers with class k, both of shape (n_classes,).

    Answers with some classes are wrong more often than their probabilities say, such as where two newsgroups share their posts. log a_k and b_k
    have standard normal priors, so that a class with few answers is taken at its word.
    """
    best = np.full(n_classes, -inf)
    slopes = np.ones(n_classes)
    shifts = np.zeros(n_classes)
    for slope in CANDIDATE_SLOPES:
        low = np.full(n_classes, -MAX_ABS_ODDS_NATS)
        high = np.full(n_classes, MAX_ABS_ODDS_NATS)
        middle = np.zeros(n_classes)
        for _ in range(BISECTIONS):
            rising = (
                np.bincount(
                    answers, right - 1 / (1 + np.exp(-slope * odds - middle[answers])), n_classes
                )
                > middle
            )
            low = np.where(rising, middle, low)
            high = np.where(rising, high, middle)
            middle = (low + high) / 2
        signed = np.where(right, 1, -1) * (slope * odds + middle[answers])
        fit = (
            np.bincount(answers, -np.logaddexp(0, -signed), n_classes)
            - (middle**2 + np.log(slope) ** 2) / 2
        )
        better = fit > best
        best = np.where(better, fit, best)
        slopes = np.where(better, slope, slopes)
        shifts = np.where(better, middle, shifts)
    return slopes, shifts


def _find_lowest_threshold(
    keys: Floats,
    predicted: Floats,
    right: Mask,
    weights: Floats,
    owners: Ints | None = None,
    *,
    precision: float,
    error: float,
) -> tuple[float, int | None]:
    """Return the lowest key from which answers keep a precision, inf for none, and then how many more answers it would take.

    ``predicted`` are log odds of being right, ``error`` is the probability of a wrong promise, all others have shape (n,).
    ``owners`` are the numbers of documents of which there may be several answers: these count as one, since they are right or wrong together.
    """
    if not keys.size:
        return inf, _count_needed_documents(0, 1, precision, error)
    order = np.argsort(-keys, kind="stable")
    of_documents = weights if owners is None else np.bincount(owners, weights)
    keys = keys[order]
    weights = weights[order] * (
        weights.sum() / (of_documents**2).sum()
    )  # L. Kish's effective number of documents
    steps = -(-keys.size * np.arange(1, MAX_TESTED_THRESHOLDS + 1) // MAX_TESTED_THRESHOLDS) - 1
    ends = np.unique(
        np.searchsorted(-keys, -keys[steps], side="right") - 1
    )  # equal keys share a threshold
    sizes = np.cumsum(weights)[ends]
    wrong, expected = (
        np.cumsum(weights * (1 - share[order]))[ends]
        for share in (right.astype(np.float64), 1 / (1 + np.exp(-predicted)))
    )
    by_chance, found = (
        [
            _compute_binomial_tail(bad, n, 1 - precision)
            for bad, n in zip(column, sizes, strict=True)
        ]
        for column in (expected, wrong)
    )
    start = by_chance.index(min(by_chance))
    passed = list(takewhile(lambda place: found[place] <= error, range(start, ends.size)))
    if passed:
        return float(keys[ends[passed[-1]]]), None
    needed = [
        (-(-total * keys.size // round(n)) - keys.size)
        for bad, n in zip(wrong.tolist(), sizes.tolist(), strict=True)
        if round(n) and (total := _count_needed_documents(bad, n, precision, error)) is not None
    ]
    return inf, max(min(needed), 1) if needed else None


def _compute_binomial_tail(wrong: float, documents: float, share: float) -> float:
    """Return P(X ≤ wrong) of a binomial distribution; the numbers of documents are rounded so that it is not too small.

    >>> round(_binomial_tail(1, 10, 0.5), 6)
    0.010742
    """
    n = int(documents + 1e-9)
    most = int(np.ceil(wrong - 1e-9))
    if most >= n or share <= 0:
        return 1.0
    successes = np.arange(most)
    logs = np.cumsum(np.log((n - successes) / (successes + 1)) + np.log(share / (1 - share)))
    return float(np.exp(np.append(0.0, logs) + n * np.log1p(-share)).sum())


def _count_needed_documents(
    wrong: float, documents: float, precision: float, error: float
) -> int | None:
    """Return how many answers, wrong as often as these, would pass the test; None if too many of these are wrong, or that is not known."""
    share = wrong / documents
    if share >= 1 - precision:
        return None

    def passes(n: int) -> bool:
        return _compute_binomial_tail(share * n, n, 1 - precision) <= error

    high = 1
    while not passes(high):
        high *= 2
        if high * share > MAX_SUMMED_ERRORS or high > MAX_NEEDED_DOCUMENTS:
            return None
    return bisect_left(range(high), True, high // 2 + 1, key=passes)


MAX_SUMMED_ERRORS = 1 << 16
"""Most wrong answers whose probability is summed."""


class RiskPoint(NamedTuple):
    """The surest answers: their share of all documents, the least probability among them, and their precision."""

    answered: float
    probability: float
    precision: float
    interval: Interval
    """Of the precision."""


MAX_RISK_POINTS = 20
"""Points of a `risk_curve`."""


def compute_risk_curve(judged: PosteriorScores) -> tuple[RiskPoint, ...]:
    """Return precision against share answered, each document answered with its most probable class, the surest first.

    Source: Y. Geifman, R. El-Yaniv, Selective classification for deep neural networks (2017).
    """
    order = np.argsort(-judged.confidence, kind="stable")
    confidence = judged.confidence[order]
    hits = np.cumsum(judged.rank[order] == 0)
    ends = np.unique(-(-judged.n * np.arange(1, MAX_RISK_POINTS + 1) // MAX_RISK_POINTS))
    return tuple(
        RiskPoint(
            n / judged.n,
            float(confidence[n - 1]),
            float(hits[n - 1]) / n,
            wilson_interval(int(hits[n - 1]), n),
        )
        for n in ends.tolist()
    )
