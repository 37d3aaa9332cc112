"""Predictions: labels of documents, their probabilities, and the rules that select labels."""
