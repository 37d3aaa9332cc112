"""JSON read strictly: an object has each key once, and NaN and Infinity are no numbers."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.type_names import ParsedJson

_LONGEST_KEY = 100
"""Characters of a key in a message."""


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) != len(pairs):
        number = Counter(key for key, _ in pairs)
        repeated = next(key for key in number if number[key] > 1)
        raise ValueError(f"the key {repeated[:_LONGEST_KEY]!r} is repeated")
    return record


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


STRICT_DECODER = json.JSONDecoder(object_pairs_hook=_distinct, parse_constant=_refuse_constant)


def parse_json(text: str | bytes) -> ParsedJson:
    """Return the value of a JSON text; raise `ValueError` if it is none or nested too deeply."""
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
