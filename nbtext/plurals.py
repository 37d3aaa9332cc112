"""Counts with their nouns, as messages and reports print them."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """Return the number with its noun.

    >>> counted(1, "class"), counted(2_000, "class"), counted(3, "document")
    ('1 class', '2,000 classes', '3 documents')
    """
    return f"{n:,} {plural(n, noun)}"


def plural(n: int, noun: str) -> str:
    """Return the noun as it stands after the number."""
    return noun if n == 1 else noun + ("es" if noun.endswith("s") else "s")
