"""Parse several labels in one value of a corpus: a list in brackets, or a mark for each label.

A list is written as in JSON or Python. A mark is 1 if a document has the label, else 0.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIST = re.compile(r"""\s*(?:\{\s*["'][^"'{}]*["']\s*:\s*)?(\[.*\])\s*\}?\s*""", re.DOTALL)
"""A list in brackets, which is the first group, or an object with one key and such a list."""

_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
"""A text in single quotes, which is the first group, or in double quotes, the second group."""


def is_label_list(label: str) -> bool:
    """Return True if a label is a list in brackets, or an object with one key and such a list."""
    return _LIST.fullmatch(label) is not None


def parse_label_list(label: str) -> list[str]:
    """Return the labels in a list in brackets.

    The list is in JSON, or has texts in quotes, or texts without quotes between commas. A label
    that is not a list is the only label of the result.

    >>> parse_label_list('["a", 1]'), parse_label_list("{'choices': ['a', 'b']}")
    (['a', '1'], ['a', 'b'])
    >>> parse_label_list("[a, b]"), parse_label_list("a")
    (['a', ' b'], ['a'])
    """
    match = _LIST.fullmatch(label)
    if match is None:
        return [label]
    text = match[1]
    try:
        items = json.loads(text)
    except ValueError:
        # One of the two groups of a match is empty.
        quoted_texts = [single + double for single, double in _QUOTED.findall(text)]
        if quoted_texts:
            return quoted_texts
        return text[1:-1].split(",")
    return [item if isinstance(item, str) else json.dumps(item) for item in items]


MARK_VALUES = {
    "1": True,
    "1.0": True,
    "true": True,
    "yes": True,
    "0": False,
    "0.0": False,
    "false": False,
    "no": False,
    "": False,
}
"""Values of marks in lower case: True if the document has the label."""


def select_marked_labels(marks: Iterable[tuple[str, str]]) -> list[str]:
    """Return the labels that are marked, from pairs of a label and its mark.

    Raise `DocumentError` for a mark that is not in `MARK_VALUES`.
    """
    labels = []
    for label, mark in marks:
        has_label = MARK_VALUES.get(mark.strip().casefold())
        if has_label is None:
            raise DocumentError(
                f"the mark of label {label!r} must be 0 or 1, not {mark[:40]!r}",
                hint="see --label-column",
            )
        if has_label:
            labels.append(label)
    return labels


def is_label_marks(value: object) -> bool:
    """Return True if a JSON value maps labels to marks, such as `{"spam": 1.0, "ham": 0.0}`.

    Marks are truth values or probabilities.
    """
    if not isinstance(value, dict) or not value:
        return False
    return all(isinstance(mark, (bool, int, float)) and 0 <= mark <= 1 for mark in value.values())
