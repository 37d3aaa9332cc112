"""How the posterior of a probability follows from prior and likelihood, and narrows with the data.

Data of n_1 successes in n observations turn the prior Beta(a, b) into Beta(a + n_1, b + n − n_1).
The likelihood θ^n_1 (1 − θ)^(n − n_1), scaled to a density, is Beta(n_1 + 1, n − n_1 + 1). Sources:
Gambosi's notes, "Bernoulli and Beta"; A. Gelman and others, Bayesian data analysis (2013), 2.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import UsageError
from nbtext.language_model.dirichlet import (
    compute_beta_bin_probabilities,
    compute_beta_intervals,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nbtext.inspection.terms import WordDetails
    from nbtext.type_names import Floats

N_BINS = 240
"""Number of bins of the axis of probabilities, for curves."""

MAX_SIZES = 7
"""Number of sizes of data, from one observation to all."""

MAX_SIZE_RATIO = 0.8
"""Largest size before the last, relative to the last, so that curves differ."""

MAX_CLASSES = 6
"""Number of classes of a term: the classes with the highest probabilities."""

AXIS_END_RATIO = 1.15
"""End of the axis, relative to the highest end of an interval."""


class BetaCurve(NamedTuple):
    """A Beta distribution with its curve."""

    n: float
    """Number of observations."""
    a: float
    b: float
    mean: float
    interval: tuple[float, float]
    """The central interval of 95 %."""
    heights: list[float]
    """Probability of each bin, relative to the bin with the highest one."""


class PosteriorGrowth(NamedTuple):
    """The posterior of the probability of a term in a class, as the data grow."""

    label: str
    successes: float
    """n_1 of all data."""
    n: float
    """Number of observations: tokens, documents or values of the class."""
    axis_end: float
    """The bins divide probabilities from 0 to this one."""
    prior: BetaCurve | None
    """None for a prior that is not a distribution, without pseudo-counts."""
    likelihood: BetaCurve
    posteriors: list[BetaCurve]
    """After some of the data with the same proportion of successes, and after all data."""


def choose_sizes(n: float) -> list[float]:
    """Return sizes 1, 2, 5, 10, … well below ``n``, then ``n``, or powers of ten if many.

    >>> choose_sizes(20), choose_sizes(1012), choose_sizes(0)
    ([1, 2, 5, 10, 20], [1, 10, 100, 1012], [0])
    """
    all_sizes = [step * 10**power for power in range(16) for step in (1, 2, 5)]
    sizes = [size for size in all_sizes if size <= MAX_SIZE_RATIO * n]
    if len(sizes) >= MAX_SIZES:
        sizes = sizes[::3]
    return [*sizes, n]


def describe_growth(words: Sequence[WordDetails]) -> dict[str, list[PosteriorGrowth]]:
    """Return the growth of the posterior by term, for up to `MAX_CLASSES` classes each.

    Raise `UsageError` if no term has a posterior.
    """
    growth_by_term: dict[str, list[PosteriorGrowth]] = {}
    for word in words:
        for term in word.terms:
            classes = sorted(
                term.classes.items(), key=lambda item: item[1].probability or 0.0, reverse=True
            )
            growths = [
                make_growth(label, details.prior, details.posterior)
                for label, details in classes
                if details.prior is not None and details.posterior is not None
            ]
            if growths:
                growth_by_term[term.term] = growths[:MAX_CLASSES]
    if not growth_by_term:
        raise UsageError(
            "--to needs a term with a posterior, and no --term has one",
            hint="use a term of the model; maximum likelihood and weights are without a posterior",
        )
    return growth_by_term


def make_growth(label: str, prior: Sequence[float], posterior: Sequence[float]) -> PosteriorGrowth:
    """Return the growth from the parameters a and b of the prior and of the posterior."""
    a, b = prior
    successes = posterior[0] - a
    failures = posterior[1] - b
    n = round(successes + failures, 9)  # without the rounding error of the difference
    proportion = successes / n if n else 0.0
    parameters = [
        (size, a + proportion * size, b + (1 - proportion) * size) for size in choose_sizes(n)
    ]
    likelihood = (n, successes + 1, failures + 1)
    curves = [likelihood, *parameters]
    has_prior = a > 0 and b > 0
    if has_prior:
        curves.append((0.0, a, b))
    intervals = compute_beta_intervals(*np.array(curves).T[1:])
    axis_end = min(1.0, AXIS_END_RATIO * float(intervals[:, 1].max()))
    return PosteriorGrowth(
        label=label,
        successes=successes,
        n=n,
        axis_end=axis_end,
        prior=_make_curve(0.0, a, b, axis_end) if has_prior else None,
        likelihood=_make_curve(*likelihood, axis_end),
        posteriors=[_make_curve(*curve, axis_end) for curve in parameters],
    )


def _make_curve(n: float, a: float, b: float, axis_end: float) -> BetaCurve:
    edges: Floats = np.linspace(0.0, axis_end, N_BINS + 1)
    probabilities = compute_beta_bin_probabilities(a, b, edges)
    low, high = compute_beta_intervals(np.array(a), np.array(b)).tolist()
    heights = (probabilities / probabilities.max()).tolist()
    return BetaCurve(n, a, b, a / (a + b), (low, high), heights)
