"""Figures of answers: confusion table, proper scores, calibration, ranking, and intervals of each.

Labels, log posteriors and answers go in; no model is needed.
"""
