"""Metrics of predictions: confusion table, proper scores, calibration, ranking, and intervals.

The inputs are labels, log posteriors and predictions, without a model.
"""
