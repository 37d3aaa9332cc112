"""The bytes of a model file taken apart and put together again, with the digest that belongs to them, so that only what was changed is wrong."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from nbtext import TextClassifier
from nbtext.errors import ModelError
from nbtext.inspection.overview import build_overview
from nbtext.store import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

OPCODES, FIELDS = struct.Struct("<3sI"), struct.Struct("<8sIIQ32s")
HEAD = OPCODES.size + FIELDS.size


@dataclass(frozen=True)
class Parts:
    """A model file by what it says and what it holds."""

    index: bytes
    payload: bytes

    @property
    def decoded(self) -> Any:
        """The index as an object."""
        return json.loads(self.index)

    def with_setting(self, path: Sequence[Any], value: object) -> bytes:
        """The file with another value of the setting to which the keys lead."""
        index = self.decoded
        *above, last = path
        place = index["settings"]
        for key in above:
            place = place[key]
        place[last] = value
        return join_model_bytes(index, self.payload)

    def with_number(self, name: str, number: int, value: float) -> bytes:
        """The file with another value of one number of an array, as its type has it."""
        place = self.decoded["arrays"][name]
        kind = np.dtype(place["dtype"])
        begin = place["offset"] + number * kind.itemsize
        payload = bytearray(self.payload)
        with np.errstate(all="ignore"):
            payload[begin : begin + kind.itemsize] = np.array([value]).astype(kind).tobytes()
        return join_model_bytes(self.decoded, bytes(payload))


def frame_start(version: int, payload_length: int) -> bytes:
    """The opcodes before a payload."""
    if version <= 2:
        return pickle.POP
    return (
        pickle.MEMOIZE
        + pickle.POP
        + b"\x8c\x06nbtext\x8c\x11model_from_joblib"
        + pickle.STACK_GLOBAL
        + pickle.BINGET
        + b"\0"
        + pickle.BINBYTES8
        + struct.pack("<Q", payload_length)
    )


def frame_end(version: int) -> bytes:
    """The opcodes after a payload."""
    return b"" if version <= 2 else pickle.TUPLE2 + pickle.REDUCE + pickle.STOP


def split_model_bytes(content: bytes) -> Parts:
    """The parts of a well-formed file, by its own header."""
    _, version, index_length, payload_length, _ = FIELDS.unpack_from(content, OPCODES.size)
    begin = HEAD + index_length + len(frame_start(version, payload_length))
    return Parts(content[HEAD : HEAD + index_length], content[begin : begin + payload_length])


def join_model_bytes(
    index: object,
    payload: bytes,
    *,
    version: int = FORMAT_VERSION,
    header_length: int | None = None,
    index_length: int | None = None,
    payload_length: int | None = None,
    frame: tuple[bytes, bytes] | None = None,
) -> bytes:
    """A file with this index (bytes as they are, else as JSON) and payload; lengths and opcodes as given, else true; the digest always true."""
    start, end = frame or (frame_start(version, len(payload)), frame_end(version))
    text = index if isinstance(index, bytes) else json.dumps(index).encode()
    text += b" " * (-(HEAD + len(text) + len(start)) % 64)
    fields = FIELDS.size + len(text)
    before = OPCODES.pack(
        b"\x80\x04B", fields if header_length is None else header_length
    ) + FIELDS.pack(
        b"nbtext\r\n",
        version,
        len(text) if index_length is None else index_length,
        len(payload) if payload_length is None else payload_length,
        b"",
    )
    after = text + start + payload + end
    return before[:-32] + hashlib.sha256(before[:-32] + after).digest() + after


def outcome(path: Path, content: bytes) -> str:
    """What comes of a file: the message with which it is refused, or "" for a model that works. Anything else is raised."""
    path.write_bytes(content)
    try:
        model = TextClassifier.load(str(path))
        model.predict(["the cat sat on the dog", "nothing of it", ""]).tolist()
        model.predict_proba([b"cats and dogs"])
        build_overview(model, 3)  # which decodes the sample
    except ModelError as problem:
        message = str(problem)
        assert message.startswith(f"{path}: ")
        assert len(message) < 1000 + len(str(path)), message
        return message
    return ""
