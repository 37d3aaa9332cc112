"""95 % intervals of figures: Wilson's for shares, percentiles of the bootstrap for the others.

Bootstrap (B. Efron, R. Tibshirani, An introduction to the bootstrap, 1993, section 13.3): the figure of each of `REPLICATES` sets of documents,
drawn with replacement from those judged. It cannot show what did not occur: if all documents are right, so are all replicates. Where it is
biased, as for the calibration error, to which chance deviations of every bin add, the interval is widened to hold the figure itself.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.metrics.outcomes import assign_confidence_bins, compute_rates
from nbtext.metrics.ranking import LABEL_RANKING_METRICS
from nbtext.prediction.posterior import ClassPosterior

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from nbtext.metrics.outcomes import ConfusionCells, ScoredDocuments
    from nbtext.prediction.posterior import Posterior
    from nbtext.type_names import Floats, Ints

NORMAL_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""

REPLICATES = 1000
"""Sets of documents drawn for the bootstrap."""

MIN_REPLICATES = 200
"""Least number of sets, where `MAX_DRAWS` would leave fewer: enough for two digits."""

MAX_DRAWS = 1 << 26
"""Numbers drawn for all replicates, about a second's work; where more were needed, there are fewer replicates."""

CELL_DRAW_COST = 8
"""Number of documents whose drawing takes as long as drawing the count of a cell."""

MAX_DRAWS_AT_ONCE = 1 << 17
"""Numbers drawn at once: 1 MiB."""

Interval = tuple[float, float]


class Bootstrap(NamedTuple):
    """Number of replicates, and the seed of their draws."""

    replicates: int = REPLICATES
    seed: int = 0

    def limit_replicates(self, size: int) -> int:
        """Return the number of replicates if each draws ``size`` numbers."""
        return min(self.replicates, max(MAX_DRAWS // max(size, 1), MIN_REPLICATES))

    def draw_cells(self, documents: Ints, size: int) -> Iterator[Ints]:
        """Yield the documents of cells in sets drawn with replacement, shape (n_sets, n_cells), as many sets at once as memory allows.

        ``documents``, shape (n_cells,), are those judged; a set takes ``size`` numbers of memory in all. To draw n documents, draw the counts of
        the cells from a multinomial distribution.
        """
        n = documents.sum()
        for generator, n_sets in self._portions(CELL_DRAW_COST * documents.size, size):
            yield generator.multinomial(n, documents / n, n_sets)

    def draw_documents(self, n: int, draws: int) -> Iterator[Floats]:
        """Yield how often each of n documents is in sets drawn with replacement, shape (n_sets, n): its weight in the figures of a set."""
        for generator, n_sets in self._portions(draws, n):
            yield np.apply_along_axis(
                np.bincount, 1, generator.integers(n, size=(n_sets, n)), minlength=n
            ).astype(np.float64)

    def _portions(self, draws: int, size: int) -> Iterator[tuple[np.random.Generator, int]]:
        """Yield the generator and how many sets to draw at once, until there are as many as `replicates_of` the draws of each."""
        generator = np.random.default_rng(self.seed)
        n_replicates = self.limit_replicates(draws)
        step = max(MAX_DRAWS_AT_ONCE // size, 1)
        for begin in range(0, n_replicates, step):
            yield generator, min(step, n_replicates - begin)


def wilson_interval(hits: float, n: int) -> Interval:
    """Return the 95 % interval of a share of hits among n trials (Wilson 1927; Brown, Cai, DasGupta 2001, eq. 4)."""
    if not n:
        return 0.0, 1.0
    z = NORMAL_95
    p = hits / n
    centre = p + z * z / (2 * n)
    half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = (centre - half) / (1 + z * z / n)
    high = (centre + half) / (1 + z * z / n)
    return low if hits else 0.0, high if hits < n else 1.0  # where rounding would miss the end


def percentile_interval(replicates: Floats, figure: float) -> Interval:
    """Return the middle 95 % of a figure's replicates, shape (n,), widened to hold the figure itself."""
    low, high = np.quantile(replicates, (0.025, 0.975))
    return min(float(low), figure), max(float(high), figure)


def bootstrap_rates(
    cells: ConfusionCells,
    costs: Floats | None,
    bootstrap: Bootstrap,
    kind: type[Posterior] = ClassPosterior,
) -> dict[str, Floats]:
    """Return replicates of the figures of `rates`, each of shape (n_replicates,); with ``costs``, shape (n_cells,), also of ``mean_cost``."""
    present, n_labels = cells.renumber_present_labels()
    parts: list[Mapping[str, Floats]] = []
    for drawn in bootstrap.draw_cells(cells.documents, cells.documents.size + 3 * n_labels):
        found = compute_rates(present.sum_margins(n_labels, drawn), kind)
        parts.append(
            found
            if costs is None
            else {**found, "mean_cost": drawn @ costs / cells.documents.sum()}
        )
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def bootstrap_scores(judged: ScoredDocuments, bootstrap: Bootstrap) -> dict[str, Floats]:
    """Return replicates of log loss (if finite), Brier score, calibration error and figures of ranking, each of shape (n_replicates,), from the same draws."""
    n = judged.n
    bins = assign_confidence_bins(judged.confidence)
    order = np.argsort(bins, kind="stable")
    starts = np.flatnonzero(np.diff(bins[order], prepend=-1))
    judged = judged.take(order)
    gaps = (judged.rank == 0) - judged.confidence
    means = {
        "brier": judged.brier,
        **dict(zip(LABEL_RANKING_METRICS, judged.ranking.T, strict=False)),
    }
    if np.isfinite(judged.log_loss).all():
        means["log_loss"] = judged.log_loss
    values = np.stack(list(means.values()), axis=1)
    parts = []
    for weights in bootstrap.draw_documents(n, n):
        error = np.abs(np.add.reduceat(weights * gaps, starts, axis=1)).sum(axis=1)
        parts.append(np.column_stack((weights @ values, error)) / n)
    return dict(zip((*means, "ece"), np.concatenate(parts).T, strict=True))
