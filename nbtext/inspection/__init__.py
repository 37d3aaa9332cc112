"""Inspect models, corpora and the installation, and draw documents from a model."""
