"""Evaluation of models and corpora.

It has test sets, cross-validation, learning curves, comparison of models, search for settings,
label errors, leakage and drift.
"""
