"""Class labels that a person would take for one another."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN = 5


def alike(labels: Iterable[str]) -> str | None:
    """Which labels differ only in case, in white space or in Unicode's ways of writing a letter; None if there are none such.

    >>> alike(["Cats", "cats", "dogs"])
    "'Cats' and 'cats'"
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(" ".join(unicodedata.normalize("NFKC", label).casefold().split()), []).append(label)
    found = [" and ".join(map(repr, group)) for group in groups.values() if len(group) > 1]
    return (", ".join(found[:SHOWN]) + (" and others" if len(found) > SHOWN else "")) or None
