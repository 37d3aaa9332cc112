"""Small corpora that textbooks and lecture notes print; Manning, Raghavan, Schütze, Introduction to Information Retrieval is IIR."""

from __future__ import annotations

from typing import Any

from nbtext import TextClassifier

CHINA = [
    ("yes", ["chinese", "beijing", "chinese"]),
    ("yes", ["chinese", "chinese", "shanghai"]),
    ("yes", ["chinese", "macao"]),
    ("no", ["tokyo", "japan", "chinese"]),
]
"""IIR, table 13.1: four documents, and whether they are about China."""

CHINA_TEXTS, CHINA_LABELS = [" ".join(terms) for _, terms in CHINA], [label for label, _ in CHINA]

CHINA_ASKED = ["chinese", "chinese", "chinese", "tokyo", "japan"]
"""The document that example 13.1 of IIR classifies."""

DATING = [
    ("t", "d", "l", "+"), ("s", "d", "l", "+"), ("t", "b", "l", "-"), ("t", "r", "l", "-"),
    ("s", "b", "l", "-"), ("t", "b", "w", "+"), ("t", "d", "w", "+"), ("s", "b", "w", "+"),
]  # fmt: skip
"""Height, hair and eyes of eight people and whether they are liked: V. Honavar's notes (Penn State), naive Bayes."""


def model_of_china(**parameters: Any) -> TextClassifier:
    """Return a model of `CHINA`, of words as they stand and with a pseudo-count of 1 unless the parameters say otherwise."""
    model = TextClassifier(
        **{"stemmer": "none", "stop_words": "none", "smoothing": 1, **parameters}
    )
    return model.fit(CHINA_TEXTS, CHINA_LABELS)
