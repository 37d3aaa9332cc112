"""Warn of class names that suggest that labels were read in another way than intended."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from nbtext.errors import WARNING, Finding, join_names
from nbtext.prediction.label_lists import is_label_list
from nbtext.prediction.labels import LIST_SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.settings import Reading

MAX_SHOWN_LABELS = 5
"""Limit of labels, or groups of similar labels, in a warning."""

LABEL_SEPARATORS = (";", "|", "#", ",", " ")
"""Texts that may separate labels. A space is a separator only between addresses."""

MIN_SHARED_PROPORTION = 0.8
"""Texts with separators look like lists if this proportion share an item with another label."""

MISSING_VALUE_NAMES = {"nan", "none", "null", "nil", "na", "n/a", "<na>", "#n/a", "nat"}
"""Texts that programs write for a missing value, in lower case."""

FASTTEXT_PREFIX = "__label__"
"""Start of each label in a file in the format of fastText."""

_ADDRESS = re.compile(r"<\S+>|\w+://\S+")
_WHOLE_NUMBER = re.compile(r"(\d+)\.0*")  # such as 1. or 1.00


def check_label_names(labels: Sequence[str], reading: Reading) -> Iterator[Finding]:
    """Yield warnings about the names of classes."""
    similar_labels = describe_similar_labels(labels)
    if similar_labels:
        yield Finding(
            "labels",
            WARNING,
            "labels that differ only in case, spaces, Unicode form or as 1 and 1.0: "
            f"{similar_labels}",
            "write them in the same way, or join them with nbtext relabel",
        )
    missing_labels = [label for label in labels if label.strip().casefold() in MISSING_VALUE_NAMES]
    if missing_labels:
        column = reading.label_column
        advice = "remove such documents"
        if reading.has_columns and column:
            advice = f"add --where {column}!={missing_labels[0]}"
        yield Finding(
            "labels",
            WARNING,
            f"a class is named like a missing value: {_quote_labels(missing_labels)}",
            f"if its documents have no label, {advice}",
        )
    if not reading.label_separator:
        yield from _check_label_lists(labels, reading)


def _quote_labels(labels: Iterable[str]) -> str:
    """Return the first `MAX_SHOWN_LABELS` labels in quotes, with commas between them."""
    return join_names([repr(label) for label in labels], MAX_SHOWN_LABELS)


def _check_label_lists(labels: Sequence[str], reading: Reading) -> Iterator[Finding]:
    """Yield a warning if labels look like lists of labels, or else if they end in a separator."""
    separator = detect_label_separator(labels)
    if separator is not None:
        example = next(label for label in labels if separator in label or is_label_list(label))
        advice = f"add --label-separator '{separator}'"
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
        return

    truncated_labels = [
        label for label in labels if len(label) > 1 and label[-1] in ",;" and label[-2].isalnum()
    ]
    if truncated_labels:
        yield Finding(
            "labels",
            WARNING,
            f"labels that end in {truncated_labels[0][-1]!r}: {_quote_labels(truncated_labels)}",
            "remove it if it is not part of the name",
        )


def describe_similar_labels(labels: Iterable[str]) -> str | None:
    """Return groups of labels that differ only in case, white space, Unicode form or as 1 and 1.0.

    The groups are one text. Return None if the labels have larger differences.

    >>> describe_similar_labels(["Cats", "cats", "dogs", "1", "1.0"])
    "'Cats' and 'cats', '1' and '1.0'"
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        normalized = " ".join(unicodedata.normalize("NFKC", label).casefold().split())
        number = _WHOLE_NUMBER.fullmatch(normalized)
        key = number[1] if number else normalized
        groups.setdefault(key, []).append(label)
    similar_groups = [" and ".join(map(repr, group)) for group in groups.values() if len(group) > 1]
    return join_names(similar_groups, MAX_SHOWN_LABELS) or None


def detect_label_separator(labels: Sequence[str]) -> str | None:
    """Return the separator if the labels look like lists of labels, else None.

    The separator is `LIST_SEPARATOR` if more than half of the labels are lists in brackets.
    `_are_lists` decides about all other lists.

    >>> detect_label_separator(["card", "card;fee"])
    ';'
    >>> detect_label_separator(["['card']", "['card', 'fee']"])
    'list'
    >>> detect_label_separator(["Smith, Ann", "Roe, Ann"])
    """
    n_lists = sum(map(is_label_list, labels))
    if n_lists > len(labels) / 2:
        return LIST_SEPARATOR
    for separator in LABEL_SEPARATORS:
        if _are_lists(labels, separator):
            return separator
    return None


def _split_items(label: str, separator: str) -> set[str]:
    """Return the distinct items of a label. Words with spaces between them are one item."""
    items = set(map(str.strip, label.split(separator))) - {""}
    if separator == " " and not all(map(_ADDRESS.fullmatch, items)):
        return {label}
    return items


def _are_lists(labels: Sequence[str], separator: str) -> bool:
    """Return whether labels look like lists with this separator.

    They look like lists if an item of several starts like a label of fastText. They also do if most
    labels of several items share an item with another label, and if there are at most as many
    different items as labels.
    """
    item_sets = [_split_items(label, separator) for label in labels]
    lists = [items for items in item_sets if len(items) > 1]
    if any(item.startswith(FASTTEXT_PREFIX) for item in chain.from_iterable(lists)):
        return True
    n_labels_with_item = Counter(chain.from_iterable(item_sets))
    n_sharing_lists = sum(any(n_labels_with_item[item] > 1 for item in items) for items in lists)
    return (
        bool(lists)
        and n_sharing_lists >= MIN_SHARED_PROPORTION * len(lists)
        and len(n_labels_with_item) <= len(labels)
    )
