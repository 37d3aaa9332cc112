"""The whole: a classifier of texts that is trained, asked, saved and loaded."""

from nbtext.model.text_classifier import TextClassifier

__all__ = ["TextClassifier"]
