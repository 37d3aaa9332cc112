"""Predictions: the labels of documents, their probabilities, and the rules that choose among them."""
