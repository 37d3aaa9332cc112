"""Evaluate models and their corpora: figures on test sets, cross-validation, learning curves, comparison, search, wrong labels, leaks, drift."""
