"""Evaluation of models and corpora.

The package has test sets, cross-validation, learning curves, comparison of models, search for
settings, label errors, leakage and drift.
"""
