"""Small corpora that textbooks and lecture notes print; Manning, Raghavan, Schütze, Introduction to Information Retrieval is IIR."""

from __future__ import annotations

CHINA = [
    ("yes", ["chinese", "beijing", "chinese"]),
    ("yes", ["chinese", "chinese", "shanghai"]),
    ("yes", ["chinese", "macao"]),
    ("no", ["tokyo", "japan", "chinese"]),
]
"""IIR, table 13.1: four documents, and whether they are about China."""

CHINA_ASKED = ["chinese", "chinese", "chinese", "tokyo", "japan"]
"""The document that example 13.1 of IIR classifies."""

DATING = [
    ("t", "d", "l", "+"), ("s", "d", "l", "+"), ("t", "b", "l", "-"), ("t", "r", "l", "-"),
    ("s", "b", "l", "-"), ("t", "b", "w", "+"), ("t", "d", "w", "+"), ("s", "b", "w", "+"),
]  # fmt: skip
"""Height, hair and eyes of eight people and whether they are liked: V. Honavar's notes (Penn State), naive Bayes."""
