"""95 % intervals of metrics: Wilson's for proportions, bootstrap percentiles for other metrics.

The bootstrap (B. Efron, R. Tibshirani, An introduction to the bootstrap, 1993, section 13.3) draws
sets of documents with replacement. A *replicate* is the metric of a set. The bootstrap does not
show errors that did not occur: if all documents are correct, all replicates are 1. Its percentiles
may be biased: the calibration error of a set is larger, because random deviations of every bin add
up. The interval is therefore widened to contain the metric itself.
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
"""Number of sets of documents that the bootstrap draws."""

MIN_REPLICATES = 200
"""Number of sets if `MAX_DRAWS` would allow fewer. It is enough for two digits."""

MAX_DRAWS = 2**26
"""Limit of the numbers that are drawn for all sets. Drawing them takes about one second."""

CELL_DRAW_COST = 8
"""Time to draw the count of a cell, relative to the time to draw a document."""

MAX_DRAWS_AT_ONCE = 2**17
"""Limit of the numbers in memory at once: 1 MiB."""

Interval = tuple[float, float]
"""Lower and upper end."""


class Bootstrap(NamedTuple):
    """Number of replicates, and the seed of their draws."""

    replicates: int = REPLICATES
    seed: int = 0

    def limit_replicates(self, n_draws: int) -> int:
        """Return the number of replicates if each of them draws ``n_draws`` numbers."""
        n_affordable = max(MAX_DRAWS // max(n_draws, 1), MIN_REPLICATES)
        return min(self.replicates, n_affordable)

    def draw_cells(self, documents: Ints, size: int) -> Iterator[Ints]:
        """Yield blocks of drawn sets, as numbers of documents by cell, shape (n_sets, n_cells).

        ``documents`` are the numbers of evaluated documents by cell, shape (n_cells,). The numbers
        in a set have a multinomial distribution. A set needs ``size`` numbers in memory.
        """
        n = documents.sum()
        for generator, n_sets in self._iterate_blocks(CELL_DRAW_COST * documents.size, size):
            yield generator.multinomial(n, documents / n, n_sets)

    def draw_documents(self, n: int) -> Iterator[Floats]:
        """Yield blocks of drawn sets: how often each of n documents occurs, shape (n_sets, n)."""
        for generator, n_sets in self._iterate_blocks(n_draws=n, size=n):
            rows = generator.integers(n, size=(n_sets, n))
            yield np.apply_along_axis(np.bincount, 1, rows, minlength=n).astype(np.float64)

    def _iterate_blocks(self, n_draws: int, size: int) -> Iterator[tuple[np.random.Generator, int]]:
        """Yield the generator and the number of sets of each block.

        A set draws ``n_draws`` numbers and needs ``size`` numbers in memory. The sets of a block
        fit into `MAX_DRAWS_AT_ONCE`, unless a single set is larger.
        """
        generator = np.random.default_rng(self.seed)
        n_replicates = self.limit_replicates(n_draws)
        step = max(MAX_DRAWS_AT_ONCE // size, 1)
        for start in range(0, n_replicates, step):
            yield generator, min(step, n_replicates - start)


def wilson_interval(hits: float, n: int) -> Interval:
    """Return the 95 % interval of the proportion of hits among n trials.

    Sources: E. Wilson (1927); L. Brown, T. Cai, A. DasGupta (2001), eq. 4.
    """
    if not n:
        return 0.0, 1.0
    z = NORMAL_95
    p = hits / n
    centre = p + z * z / (2 * n)
    half_width = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = (centre - half_width) / (1 + z * z / n)
    high = (centre + half_width) / (1 + z * z / n)
    # Rounding errors would give almost 0 and almost 1.
    if not hits:
        low = 0.0
    if hits >= n:
        high = 1.0
    return low, high


def percentile_interval(replicates: Floats, value: float) -> Interval:
    """Return the middle 95 % of the replicates of a metric, widened to contain its value.

    ``replicates`` have the shape (n_replicates,). Those that are nan are ignored: the metric is not
    defined for every drawn set, for example not for a set without labels. If all are nan, both ends
    are the value.
    """
    defined_replicates = replicates[~np.isnan(replicates)]
    if not defined_replicates.size:
        return value, value
    low, high = np.quantile(defined_replicates, (0.025, 0.975))
    return min(float(low), value), max(float(high), value)


def bootstrap_rates(
    cells: ConfusionCells,
    costs: Floats | None,
    bootstrap: Bootstrap,
    posterior_type: type[Posterior] = ClassPosterior,
) -> dict[str, Floats]:
    """Return replicates of the metrics of `compute_rates`, each of shape (n_replicates,).

    With ``costs`` of the cells, shape (n_cells,), also return replicates of ``mean_cost``.
    """
    present_cells, n_labels = cells.renumber_present_labels()
    n_documents = cells.documents.sum()
    blocks: list[Mapping[str, Floats]] = []
    size = cells.documents.size + 3 * n_labels  # the cells, and three counts of each label
    for counts in bootstrap.draw_cells(cells.documents, size):
        metrics = compute_rates(present_cells.sum_margins(n_labels, counts), posterior_type)
        if costs is not None:
            metrics["mean_cost"] = counts @ costs / n_documents
        blocks.append(metrics)
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def bootstrap_scores(documents: ScoredDocuments, bootstrap: Bootstrap) -> dict[str, Floats]:
    """Return replicates of the proper scores, calibration error and ranking metrics.

    Each array has the shape (n_replicates,), and all come from the same sets. Log loss is omitted
    if it is infinite.
    """
    n = documents.n
    bins = assign_confidence_bins(documents.confidence)
    # Sort the documents by bin. A bin starts where the number of the bin changes; −1 is no bin.
    order = np.argsort(bins, kind="stable")
    bin_starts = np.flatnonzero(np.diff(bins[order], prepend=-1))
    documents = documents.take(order)
    is_hit = documents.rank == 0
    gaps = is_hit - documents.confidence  # summed over a bin: n · (accuracy − mean confidence)
    # Single-label documents have no ranking metrics.
    ranking = dict(zip(LABEL_RANKING_METRICS, documents.ranking.T, strict=False))
    scores = {"brier": documents.brier, **ranking}
    if np.isfinite(documents.log_loss).all():
        scores["log_loss"] = documents.log_loss
    columns = np.stack(list(scores.values()), axis=1)
    blocks = []
    for weights in bootstrap.draw_documents(n):
        bin_gaps = np.add.reduceat(weights * gaps, bin_starts, axis=1)
        calibration_error = np.abs(bin_gaps).sum(axis=1)
        blocks.append(np.column_stack((weights @ columns, calibration_error)) / n)
    return dict(zip((*scores, "ece"), np.concatenate(blocks).T, strict=True))
