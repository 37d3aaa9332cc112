"""From scores to probabilities, and from probabilities to answers.

Source: Gambosi's notes, "Probabilistic classification" and "Decision theory"; log-sum-exp keeps every step finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nbtext.costs import Costs

NO_ANSWER = -1
"""In place of a class number: no class is possible, or abstaining is better."""


def log_posterior(joint_log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """log p(C_k | d) from log p(d, C_k), both of shape (n_docs, n_classes), in nats: the softmax, by log-sum-exp.

    A row in which every class is impossible (−inf) has no posterior and becomes nan.
    """
    highest = joint_log_likelihood.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        shifted = joint_log_likelihood - highest
        posterior: NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return posterior


def log_odds(log_posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    """log p(C_k | d) − log(1 − p(C_k | d)), shape (n_docs, n_classes), in nats; the posterior is their sigmoid. +inf for an only class.

    Of the most probable class 1 − p is summed from the others, for where p rounds to 1 the difference would be 0.
    """
    rows, best = np.arange(len(log_posterior)), log_posterior.argmax(axis=1)
    others = log_posterior.copy()
    others[rows, best] = -np.inf
    highest = np.maximum(others.max(axis=1), np.finfo(np.float64).min)
    with np.errstate(divide="ignore"):
        rest = np.log(-np.expm1(others))
        rest[rows, best] = highest + np.log(np.exp(others - highest[:, np.newaxis]).sum(axis=1))
    odds: NDArray[np.float64] = log_posterior - rest
    return odds


def minimum_error(log_posterior: NDArray[np.float64]) -> NDArray[np.int64]:
    """The most probable class of each document, shape (n_docs,); the first of equals; `NO_ANSWER` where no class is possible."""
    return np.where(np.isnan(log_posterior[:, 0]), NO_ANSWER, log_posterior.argmax(axis=1))


class RiskDecision(NamedTuple):
    """Answers, shape (n_docs,), `NO_ANSWER` where abstaining costs least, and their expected costs, shape (n_docs,)."""

    answers: NDArray[np.int64]
    expected_costs: NDArray[np.float64]


def minimum_risk(log_posterior: NDArray[np.float64], costs: Costs) -> RiskDecision:
    """The answer of least expected cost, argmin_j Σ_i λ_ij p(C_i | d), or none where that is expected to cost less still.

    The first of equals; an answer rather than none. Where no class is possible there is no answer and the cost is nan.
    """
    posterior = np.exp(log_posterior)
    of_answers = posterior @ costs.of_answers
    answers = of_answers.argmin(axis=1)
    least = of_answers[np.arange(len(answers)), answers]
    if np.isfinite(costs.of_abstaining).all():
        of_abstaining = posterior @ costs.of_abstaining
        answers = np.where(of_abstaining < least, NO_ANSWER, answers)
        least = np.minimum(least, of_abstaining)
    return RiskDecision(np.where(np.isnan(log_posterior[:, 0]), NO_ANSWER, answers), least)


def likelihood_ratio_threshold(costs: Costs, prior: NDArray[np.float64]) -> float:
    """For two classes: answer the first where p(d | C_1) / p(d | C_2) exceeds (λ_21 − λ_22) P(C_2) / ((λ_12 − λ_11) P(C_1)).

    λ_ij is the cost of answering j when the truth is i; a wrong answer must cost more than a right one. ``prior`` has shape (2,).
    """
    cost = costs.of_answers
    return float((cost[1, 0] - cost[1, 1]) * prior[1] / ((cost[0, 1] - cost[0, 0]) * prior[0]))


class Decision(NamedTuple):
    """What a rule makes of posteriors, all of shape (n_docs,): answers (class numbers or `NO_ANSWER`), probabilities, expected costs."""

    answers: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    """Of the best answer, given or not; nan where no class is possible."""
    expected_costs: NDArray[np.float64]
    """Under 0/1 costs the probability of a mistake."""


@dataclass(frozen=True)
class DecisionRule:
    """Minimum error, or minimum risk where there are costs; no answer that is less probable than ``min_probability``."""

    costs: Costs | None = None
    min_probability: float = 0.0

    def decide(self, log_posterior: NDArray[np.float64]) -> Decision:
        """Answers to documents with log p(C_k | d), shape (n_docs, n_classes)."""
        best = minimum_error(log_posterior)
        if self.costs is None:
            answers, expected_costs = best, 1 - _probability_of(best, log_posterior)
        else:
            answers, expected_costs = minimum_risk(log_posterior, self.costs)
        probabilities = _probability_of(np.where(answers == NO_ANSWER, best, answers), log_posterior)
        return Decision(np.where(probabilities < self.min_probability, NO_ANSWER, answers), probabilities, expected_costs)


def _probability_of(answers: NDArray[np.int64], log_posterior: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(log_posterior[np.arange(len(answers)), answers])
