"""How good answers are: hits and misses, proper scores of the probabilities, calibration, ranking, and how sure one may be of each figure.

Nothing here knows a model: labels, log posteriors and answers go in, figures come out.
"""

from nbtext.metrics.evaluation import Evaluation
from nbtext.metrics.intervals import NORMAL_95, wilson_interval
from nbtext.metrics.reliability import BINS

__all__ = ["BINS", "NORMAL_95", "Evaluation", "wilson_interval"]
