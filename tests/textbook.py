"""Worked examples of Manning, Raghavan, Schütze, Introduction to Information Retrieval (IIR)."""

from __future__ import annotations

CHINA = [
    ("yes", ["chinese", "beijing", "chinese"]),
    ("yes", ["chinese", "chinese", "shanghai"]),
    ("yes", ["chinese", "macao"]),
    ("no", ["tokyo", "japan", "chinese"]),
]
"""Table 13.1: four documents, and whether they are about China."""

CHINA_ASKED = ["chinese", "chinese", "chinese", "tokyo", "japan"]
"""The document that example 13.1 classifies."""

POULTRY = {("poultry", True): 49, ("poultry", False): 141, ("other", True): 27_652, ("other", False): 774_106}
"""Documents of Reuters-RCV1 by class and by whether they hold "export" (examples 13.3 and 13.4)."""
