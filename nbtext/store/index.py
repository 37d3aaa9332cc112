"""The index of a model file: a JSON object that says which arrays lie where. Everything in it is checked before it is believed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nbtext.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Mapping

DTYPES = ("|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
"""The element types a model file may hold: unsigned whole numbers, float32 and float64, little-endian."""

MAX_INDEX_BYTES = 1 << 22
"""JSON can take some 25 times its size in memory, so there is little of it."""

MAX_FRAMING = 1 << 12
"""Bytes of joblib's own between two arrays, or around them, beside the settings; in truth about 200."""

MAX_DEPTH = 8


class ArrayPlace(NamedTuple):
    """Where an array of one dimension lies: its type, its number of elements, and its first byte counted from the payload's start."""

    dtype: str
    length: int
    offset: int

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.offset + self.length * np.dtype(self.dtype).itemsize


def encode_index(settings: Mapping[str, Any], places: Mapping[str, ArrayPlace]) -> bytes:
    """The index as JSON in ASCII, keys sorted."""
    arrays = {name: {"dtype": dtype, "shape": [length], "offset": offset} for name, (dtype, length, offset) in places.items()}
    return json.dumps({"settings": settings, "arrays": arrays}, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def decode_index(text: bytes, payload_length: int) -> tuple[dict[str, Any], dict[str, ArrayPlace]]:
    """Settings and places; raises `ModelError` unless it is well formed and every array lies inside the payload, apart from the others."""
    try:
        index = json.loads(text, object_pairs_hook=_distinct, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as problem:
        raise ModelError(f"the index is not valid JSON ({str(problem)[:80]})") from None
    if not isinstance(index, dict) or set(index) != {"settings", "arrays"}:
        raise ModelError("the index has not the two parts settings and arrays")
    settings, arrays = index["settings"], index["arrays"]
    if not isinstance(settings, dict) or not isinstance(arrays, dict):
        raise ModelError("settings and arrays must be objects")
    _check_depth(settings)
    places = {name: _place(name, entry) for name, entry in arrays.items()}
    _check_layout(places, payload_length, len(text))
    return settings, places


def _place(name: str, entry: object) -> ArrayPlace:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "offset"}:
        raise ModelError(f"array {name[:40]!r} is not described by dtype, shape and offset")
    dtype, shape, offset = entry["dtype"], entry["shape"], entry["offset"]
    if dtype not in DTYPES:
        raise ModelError(f"array {name[:40]!r} has a type that models do not use")
    if not isinstance(shape, list) or len(shape) != 1 or not _is_count(shape[0]) or not shape[0] or not _is_count(offset):
        raise ModelError(f"array {name[:40]!r} has an impossible shape or offset")
    return ArrayPlace(dtype, shape[0], offset)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _check_layout(places: Mapping[str, ArrayPlace], payload_length: int, index_length: int) -> None:
    """No array outside the payload, no overlap, and no gap but joblib's framing: every byte of the file is accounted for."""
    position = 0
    allowed = MAX_FRAMING + 2 * index_length  # the settings lie before the first array, once more
    for name, place in sorted(places.items(), key=lambda item: item[1].offset):
        if not position <= place.offset <= position + allowed or place.end > payload_length:
            raise ModelError(f"array {name[:40]!r} lies outside the file, over another array, or behind a gap")
        position, allowed = place.end, MAX_FRAMING
    if payload_length > position + MAX_FRAMING + 2 * index_length:
        raise ModelError("there are bytes that belong to no array")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _check_depth(value: object, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise ModelError("the settings are nested too deeply")
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, depth + 1)
