"""Figures of answers: confusion table, proper scores, calibration, ranking, and intervals of each.

Labels, log posteriors and answers go in; no model is needed.
"""

from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.intervals import NORMAL_95, wilson_interval
from nbtext.metrics.outcomes import BINS

__all__ = ["BINS", "NORMAL_95", "Evaluation", "wilson_interval"]
