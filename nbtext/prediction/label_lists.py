"""Several labels in one value: a list in brackets, as JSON and Python write it, or a mark for each label, 1 where a document has it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from nbtext.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIST = re.compile(r"""\s*(?:\{\s*["'][^"'{}]*["']\s*:\s*)?(\[.*\])\s*\}?\s*""", re.DOTALL)
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def is_label_list(label: str) -> bool:
    """Return whether a label is a list in brackets, or an object around one."""
    return _LIST.fullmatch(label) is not None


def parse_label_list(label: str) -> list[str]:
    """Return the items of a list: the texts in quotes, or without any what stands between commas; of another label the label.

    >>> items_of('["a", 1]'), items_of("{'choices': ['a', 'b']}"), items_of("[a, b]"), items_of("a")
    (['a', '1'], ['a', 'b'], ['a', ' b'], ['a'])
    """
    found = _LIST.fullmatch(label)
    if found is None:
        return [label]
    try:
        items = json.loads(found[1])
    except ValueError:  # Python's quotes, or none
        quoted = [first or second for first, second in _QUOTED.findall(found[1])]
        return quoted or found[1][1:-1].split(",")
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
"""Whether a document has a label, by its mark in lower case."""


def select_marked_labels(marks: Iterable[tuple[str, str]]) -> list[str]:
    """Return the labels that are marked, of names and marks; raise `DocumentError` for another mark."""
    chosen = []
    for name, mark in marks:
        has_label = MARK_VALUES.get(mark.strip().casefold())
        if has_label is None:
            raise DocumentError(
                f"the mark of label {name!r} is {mark[:40]!r}, neither 0 nor 1",
                hint="see --label-column",
            )
        if has_label:
            chosen.append(name)
    return chosen


def is_label_marks(value: object) -> bool:
    """Return whether a value of JSON has a probability or truth value for each label, as `{"spam": 1.0, "ham": 0.0}`."""
    if not isinstance(value, dict) or not value:
        return False
    return all(isinstance(mark, (bool, int, float)) and 0 <= mark <= 1 for mark in value.values())
