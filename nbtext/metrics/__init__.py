"""Metrics of predictions: confusion table, proper scores, calibration, ranking, and intervals.

The inputs are labels, log posteriors and predictions; no model is needed.
"""
