"""Counts: the vocabulary, the document-term matrix, the statistics of classes."""
