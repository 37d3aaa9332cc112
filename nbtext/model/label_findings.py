"""Signs in the names of classes that they were read in another way than their user means."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from nbtext.errors import WARNING, Finding, join_names
from nbtext.prediction.label_lists import is_label_list
from nbtext.prediction.labels import LIST_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.settings import Reading

MAX_SHOWN_LABELS = 5
"""Most labels, or groups of them, in a warning."""

LABEL_SEPARATORS = (";", "|", "#", ",", " ")
"""Texts between labels; a blank only between addresses."""

MIN_SHARED_PROPORTION = 0.8
"""Share of the labels with a separator of which a part is in another label too, from which they look like lists."""

MISSING_VALUE_NAMES = {"nan", "none", "null", "nil", "na", "n/a", "<na>", "#n/a", "nat"}
"""How programs write a value that is missing, in lower case."""

FASTTEXT_PREFIX = "__label__"

_ADDRESS = re.compile(r"<\S+>|\w+://\S+")
_WHOLE_NUMBER = re.compile(r"(\d+)\.0*")


def check_label_names(labels: Sequence[str], reading: Reading) -> Iterator[Finding]:
    """Yield what is unusual about the names of classes."""
    if similar := describe_similar_labels(labels):
        yield Finding(
            "labels",
            WARNING,
            f"labels that differ only in case, spaces, Unicode form or as 1 and 1.0: {similar}",
            "write them alike, or join them with nbtext relabel",
        )
    if missing := [label for label in labels if label.strip().casefold() in MISSING_VALUE_NAMES]:
        column = reading.label_column
        leave_out = (
            f"give --where {column}!={missing[0]}"
            if reading.has_columns and column
            else "leave such documents out"
        )
        yield Finding(
            "labels",
            WARNING,
            "a class with a name that stands for a missing value: "
            f"{join_names([*map(repr, missing)], MAX_SHOWN_LABELS)}",
            f"if its documents have no label, {leave_out}",
        )
    if not reading.label_separator:
        yield from _lists(labels, reading)


def _lists(labels: Sequence[str], reading: Reading) -> Iterator[Finding]:
    """Yield the finding that labels are lists of labels, or end as an item of a list."""
    if (separator := detect_label_separator(labels)) is not None:
        example = next(label for label in labels if separator in label or is_label_list(label))
        advice = f"give --label-separator '{separator}'"
        if reading.format == "fasttext":
            advice = (
                "write a space before each __label__ and before the text, as with sed "
                f"'s/{separator} */ /'"
            )
        yield Finding(
            "labels",
            WARNING,
            f"labels that look like lists of several, such as {example!r}",
            f"if they are, {advice}",
        )
    elif ends := [
        label for label in labels if len(label) > 1 and label[-1] in ",;" and label[-2].isalnum()
    ]:
        yield Finding(
            "labels",
            WARNING,
            f"labels that end in {ends[0][-1]!r}: {join_names([*map(repr, ends)], MAX_SHOWN_LABELS)}",
            "take it away if it is no part of the name",
        )


def describe_similar_labels(labels: Iterable[str]) -> str | None:
    """Return the labels that differ only in case, white space, Unicode form or as 1 and 1.0; None if there are none.

    >>> similar_labels(["Cats", "cats", "dogs", "1", "1.0"])
    "'Cats' and 'cats', '1' and '1.0'"
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        plain = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
        number = _WHOLE_NUMBER.fullmatch(plain)
        groups.setdefault(number[1] if number else plain, []).append(label)
    found = [" and ".join(map(repr, group)) for group in groups.values() if len(group) > 1]
    return join_names(found, MAX_SHOWN_LABELS) or None


def detect_label_separator(labels: Sequence[str]) -> str | None:
    """Return what separates the labels in labels that look like lists of several, `LIST_SEPARATOR` for lists in brackets; None if none do.

    Labels are lists if most of those with a separator share a part with another label, and there are no more parts than labels;
    or if a part is marked as a label of fastText.

    >>> separator_of(["card", "card;fee"]), separator_of(["['card']", "['card', 'fee']"]), separator_of(["Smith, Ann", "Roe, Ann"])
    (';', 'list', None)
    """
    if labels and 2 * sum(map(is_label_list, labels)) > len(labels):
        return LIST_SEPARATOR
    return next(
        (separator for separator in LABEL_SEPARATORS if _are_lists(labels, separator)), None
    )


def _parts(label: str, separator: str) -> set[str]:
    """Return the parts of a label; one that is no list has one."""
    parts = {*map(str.strip, label.split(separator))} - {""}
    return parts if separator != " " or all(map(_ADDRESS.fullmatch, parts)) else {label}


def _are_lists(labels: Sequence[str], separator: str) -> bool:
    parts = [_parts(label, separator) for label in labels]
    several = [of_label for of_label in parts if len(of_label) > 1]
    uses = Counter(part for of_label in parts for part in of_label)
    shared = sum(any(uses[part] > 1 for part in of_label) for of_label in several)
    is_marked = any(part.startswith(FASTTEXT_PREFIX) for of_label in several for part in of_label)
    return is_marked or (
        bool(several) and shared >= MIN_SHARED_PROPORTION * len(several) and len(uses) <= len(parts)
    )
