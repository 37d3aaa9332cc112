"""Promises of a model for documents like those of training: sets of classes that hold the truth, answers of a given precision, shares of classes."""
