"""Parse JSON strictly: an object must not repeat a key, and NaN and Infinity are invalid."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nbtext.type_names import ParsedJson

_MAX_KEY_CHARS = 100
"""Maximum number of characters of a key in a message."""


def _build_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return the object of pairs of key and value. Raise `ValueError` if a key is repeated."""
    record = dict(pairs)
    if len(record) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        repeated_key = next(key for key in counts if counts[key] > 1)
        raise ValueError(f"the key {repeated_key[:_MAX_KEY_CHARS]!r} is repeated")
    return record


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


STRICT_DECODER = json.JSONDecoder(object_pairs_hook=_build_object, parse_constant=_reject_constant)
"""A decoder with the same rules as `parse_json`. It can decode a value that other text follows."""


def parse_json(text: str | bytes) -> ParsedJson:
    """Return the value of a JSON text. Raise `ValueError` if it is invalid or nested too deeply."""
    try:
        return json.loads(text, object_pairs_hook=_build_object, parse_constant=_reject_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None
