"""`TextClassifier`: train a classifier of texts, predict, save and load it."""

from nbtext.model.text_classifier import TextClassifier

__all__ = ["TextClassifier"]
