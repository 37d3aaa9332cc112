"""The model file: a joblib file with a checked header and index in front, read without unpickling anything.

Its bytes::

    80 04                     pickle: protocol 4
    42 <u32 length>           pickle: push this many bytes, which are the header:
        magic                 8 bytes
        format                u32
        index length          u32
        payload length        u64
        SHA-256               32 bytes, of all other bytes but those of the ledger
        index                 JSON: settings, and type, shape and offset of every array; padded with spaces
    30                        pickle: pop them
    payload                   what joblib.dump writes, aligned to 64 bytes
    ledger                    if there is one: the index has its length and its SHA-256, so that reading a model does without it

`joblib.load` returns the plain dict of settings and arrays, for those who trust the file. `read_model_file` checks header and index, and takes
the arrays from the bytes with numpy: no code is executed, and no more memory is taken than the file has bytes. The digest detects damage; it
does not prove who wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
from typing import IO, TYPE_CHECKING, NamedTuple

import numpy as np

from nbtext.errors import RESTORE_HINT, ModelError, UsageError, describe_os_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from nbtext.type_names import Arrays, Numbers

FORMAT_VERSION = 2
"""Number of the format. To change what a model file holds: raise it; keep code that reads the old number, back to the first after `EARLY_FORMAT_VERSION`;
add files of the new format to the test fixtures, which must load and score the same; note it in CHANGELOG."""

EARLY_FORMAT_VERSION = 1
"""Number of the format before the first release, which is not read."""

MAGIC = b"nbtext\r\n"
PAYLOAD_ALIGNMENT_BYTES = 64

ARRAY_DTYPES = ("|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
"""Element types of arrays in a model file: unsigned whole numbers, float32 and float64, little-endian."""

MAX_INDEX_BYTES = 1 << 22
"""Size limit of the index: parsed JSON can take some 25 times its size in memory."""

MAX_FRAMING_BYTES = 1 << 12
"""Size limit of joblib's own bytes between two arrays or around them, without the settings; in practice about 200."""

MAX_SETTINGS_DEPTH = 8
"""Largest nesting depth of the settings."""

NO_MODEL_DIGEST = bytes(32)
"""In place of the digest of a model that is not there."""

_START = b"\x80\x04B"
_PUSH_BYTES = 7
"""The first two instructions; the header comes after them."""

_FIELDS = struct.Struct("<3sI8sIIQ32s")
"""All before the index."""

_HEAD = _FIELDS.size
_DIGEST = slice(_HEAD - 32, _HEAD)
_POP = b"0"


def write_model_file(
    path: str,
    settings: Mapping[str, object],
    arrays: Arrays,
    ledger: bytes = b"",
    before_replace: Callable[[Path], None] | None = None,
) -> None:
    """Write settings (plain JSON values), arrays (one dimension, types in `DTYPES`) and the bytes of a ledger as one file, atomically.

    The same contents give the same bytes. Empty arrays are left out. ``before`` is called with the resolved path just before the old file is
    replaced. Raises `PathError` if the file cannot be written, `UsageError` for settings beyond `MAX_INDEX_BYTES`, `ValueError` for other arrays.
    """
    from nbtext.store.atomic import replace_file

    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.str not in ARRAY_DTYPES:
            raise ValueError(
                f"array {name!r} of shape {array.shape} and type {array.dtype.str} does not go "
                "into a model file"
            )
    arrays = {  # with types of one identity each, by which alone pickle knows them again
        name: np.ascontiguousarray(array).view(np.dtype(array.dtype.str))
        for name, array in sorted(arrays.items())
        if array.size
    }
    replace_file(path, lambda file: _write(file, settings, arrays, ledger), before_replace)


def _write(file: IO[bytes], settings: Mapping[str, object], arrays: Arrays, ledger: bytes) -> None:
    """Write the content of a model file."""
    from nbtext.store.joblib_stream import write_joblib

    canonical = json.loads(
        json.dumps(settings, sort_keys=True)
    )  # equal settings become equal objects, so pickle writes equal bytes
    largest = {
        name: _ArrayPlace(array.dtype.str, array.size, 2**62) for name, array in arrays.items()
    }
    room = len(_encode_index(canonical, largest, ledger))
    if room + PAYLOAD_ALIGNMENT_BYTES > MAX_INDEX_BYTES:
        raise UsageError(
            f"the settings take {room:,} bytes; a model file has room for {MAX_INDEX_BYTES:,}"
        )
    room += -(_HEAD + room + len(_POP)) % PAYLOAD_ALIGNMENT_BYTES
    begin = _HEAD + room + len(_POP)
    file.write(_head(b" " * room, 0) + b" " * room + _POP)
    offsets = write_joblib({"format": FORMAT_VERSION, "settings": canonical, **arrays}, file)
    length = file.tell() - begin
    places = {
        name: _ArrayPlace(array.dtype.str, array.size, offset - begin)
        for (name, array), offset in zip(arrays.items(), offsets, strict=True)
    }
    index = _encode_index(canonical, places, ledger).ljust(room)
    head = _head(index, length) + index
    file.seek(0)
    file.write(head)
    file.seek(_DIGEST.stop)
    begun = hashlib.sha256(head[: _DIGEST.start])
    digest = hashlib.file_digest(file, lambda: begun)  # type: ignore[arg-type] # it has enough
    file.write(ledger)
    file.seek(_DIGEST.start)
    file.write(digest.digest())


def _head(index: bytes, payload_length: int) -> bytes:
    return _FIELDS.pack(
        _START,
        _HEAD - _PUSH_BYTES + len(index),
        MAGIC,
        FORMAT_VERSION,
        len(index),
        payload_length,
        NO_MODEL_DIGEST,
    )


class _Index(NamedTuple):
    """The index of a model file."""

    settings: dict[str, object]
    places: dict[str, _ArrayPlace]
    ledger: tuple[int, str]
    """Length and SHA-256 of the ledger behind the payload; 0 if there is none."""


def read_model_file(path: str) -> tuple[dict[str, object], dict[str, Numbers]]:
    """Return settings and arrays of a model file; arrays are read-only views of the bytes read.

    Raises `ModelError` for any file that is not a complete, undamaged model file of this format.
    """
    content, begin, _, (settings, places, _) = _read(path)
    return settings, {
        name: np.frombuffer(content, place.dtype, place.length, begin + place.offset)
        for name, place in places.items()
    }


def read_model_bytes(path: str) -> bytes:
    """Return the bytes of a model file and its ledger; raises as `read_model_file`, and if the ledger is damaged."""
    return _read(path, with_ledger=True)[0]


def read_ledger_bytes(path: str) -> bytes:
    """Return the ledger of a model file, empty if it has none; raises as `read_model_file`, and if the ledger is damaged."""
    content, _, end, _ = _read(path, with_ledger=True)
    return content[end:]


def has_ledger(path: str) -> bool:
    """Return whether a model file has a ledger, be it damaged; raises as `read_model_file`."""
    return bool(_read(path)[-1].ledger[0])


def extract_digest(content: bytes) -> bytes:
    """Return the digest in the header of a model file's bytes."""
    return content[_DIGEST]


def read_digest(path: str) -> bytes:
    """Return the digest in a model file's header, unchecked, which identifies the model; `NO_MODEL_DIGEST` if there is none.

    Raises `ModelError` if the file cannot be read for another reason, such as too many open files: then it is unknown whether there is one.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            head = file.read(_HEAD)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return NO_MODEL_DIGEST
    except OSError as problem:
        raise ModelError(
            f"cannot read the model: {describe_os_error(problem)}", where=path
        ) from None
    return head[_DIGEST] if len(head) == _HEAD and _begins_model(head) else NO_MODEL_DIGEST


def _begins_model(content: bytes) -> bool:
    return content.startswith(_START) and content.startswith(MAGIC, _PUSH_BYTES)


def _read(path: str, *, with_ledger: bool = False) -> tuple[bytes, int, int, _Index]:
    """Return the bytes of a model file, checked, where its payload begins and ends, and its index."""
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                # Its path is added below.
                raise ModelError("not a model: it is not a regular file")  # noqa: TRY301
            content = file.read(_HEAD)  # do not read other files whole
            if len(content) == _HEAD and _begins_model(content):
                file.seek(0)
                content = file.read(
                    status.st_size if with_ledger else min(_end_of(content), status.st_size)
                )
            begin, end, index = _parse(content, status.st_size)
            if with_ledger:
                _require_ledger(memoryview(content)[end:], *index.ledger)
            return content, begin, end, index
    except ModelError as problem:
        problem.where = path
        raise
    except FileNotFoundError:
        raise ModelError(
            "there is no model",
            where=path,
            hint="make one with nbtext train, or name one with --model",
        ) from None
    except OSError as problem:
        raise ModelError(
            f"cannot read the model: {describe_os_error(problem)}", where=path
        ) from None


def _end_of(head: bytes) -> int:
    """Return where the payload ends, by the header."""
    *_, index_length, payload_length, _ = _FIELDS.unpack_from(head)
    return int(_HEAD + index_length + len(_POP) + payload_length)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(
        path, flags | os.O_NONBLOCK | os.O_NOCTTY
    )  # a pipe without a writer must not block


def _parse(content: bytes, size: int) -> tuple[int, int, _Index]:
    """Return where the payload of a model file of ``size`` bytes begins and ends, and its index; the ledger need not be read."""
    if not _begins_model(content):
        raise ModelError("not an nbtext model", hint="make one with nbtext train")
    if len(content) < _HEAD:
        raise _damaged("it ends in the header")
    _, header_length, _, version, index_length, payload_length, digest = _FIELDS.unpack_from(
        content
    )
    if version > FORMAT_VERSION:
        raise ModelError(
            f"made by a newer nbtext (format {version}, this one reads {FORMAT_VERSION})",
            hint="upgrade nbtext",
        )
    if version == EARLY_FORMAT_VERSION:
        raise ModelError("written by an early version", hint="train again")
    begin = _HEAD + index_length + len(_POP)
    end = _end_of(content)
    if (
        header_length != _HEAD - _PUSH_BYTES + index_length
        or index_length > MAX_INDEX_BYTES
        or end > size
    ):
        raise _damaged(f"it has {size} bytes, its header says {end}")
    view = memoryview(content)
    found = hashlib.sha256(view[: _DIGEST.start])
    found.update(view[_DIGEST.stop : end])
    if found.digest() != digest:
        raise _damaged("its checksum is wrong")
    if not version or content[begin - 1 : begin] != _POP or begin % PAYLOAD_ALIGNMENT_BYTES:
        raise _damaged("its header is malformed")
    index = _decode_index(content[_HEAD : begin - 1], payload_length)
    if not index.ledger[0] and end != size:
        raise _damaged(f"it has {size} bytes, its header says {end}")
    return begin, end, index


def _require_ledger(content: memoryview, length: int, digest: str) -> None:
    """Raise `ModelError` unless the ledger has the length and the checksum of the index; models are read without it."""
    from nbtext.store.ledger import damaged_ledger_error

    if len(content) != length:
        raise damaged_ledger_error(f"it has {len(content)} bytes, the index says {length}")
    if length and hashlib.sha256(content).hexdigest() != digest:
        raise damaged_ledger_error("its checksum is wrong")


class _ArrayPlace(NamedTuple):
    """Place of an array of one dimension: its type, its number of elements, and its first byte from the start of the payload."""

    dtype: str
    length: int
    offset: int

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.offset + self.length * np.dtype(self.dtype).itemsize


def _encode_index(
    settings: Mapping[str, object], places: Mapping[str, _ArrayPlace], ledger: bytes
) -> bytes:
    """Return the index as JSON in ASCII, keys sorted."""
    arrays = {
        name: {"dtype": dtype, "shape": [length], "offset": offset}
        for name, (dtype, length, offset) in places.items()
    }
    index = {
        "settings": settings,
        "arrays": arrays,
        **({"ledger": [len(ledger), hashlib.sha256(ledger).hexdigest()]} if ledger else {}),
    }
    return json.dumps(index, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _decode_index(text: bytes, payload_length: int) -> _Index:
    """Return the index; raise `ModelError` unless all is well formed and every array lies inside the payload, apart from others."""
    from nbtext.strict_json import parse_json

    try:
        index = parse_json(text)
    except ValueError as problem:
        raise ModelError(f"the index is not valid JSON ({str(problem)[:80]})") from None
    if not isinstance(index, dict) or not {"settings", "arrays"} <= index.keys() <= {
        "settings",
        "arrays",
        "ledger",
    }:
        raise ModelError("the index must have the two parts settings and arrays")
    settings = index["settings"]
    arrays = index["arrays"]
    ledger = index.get("ledger", [0, ""])
    if not isinstance(settings, dict) or not isinstance(arrays, dict):
        raise ModelError("settings and arrays must be objects")
    if not isinstance(ledger, list) or len(ledger) != 2 or not _is_count(ledger[0]):
        raise ModelError("the ledger has no length and checksum")
    _check_depth(settings)
    places = {name: _place(name, entry) for name, entry in arrays.items()}
    _check_layout(places, payload_length, len(text))
    return _Index(settings, places, (ledger[0], str(ledger[1])))


def _place(name: str, entry: object) -> _ArrayPlace:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "offset"}:
        raise ModelError(f"array {name[:40]!r} is not described by dtype, shape and offset")
    dtype = entry["dtype"]
    shape = entry["shape"]
    offset = entry["offset"]
    if dtype not in ARRAY_DTYPES:
        raise ModelError(f"array {name[:40]!r} has a type that models do not use")
    if (
        not isinstance(shape, list)
        or len(shape) != 1
        or not _is_count(shape[0])
        or not shape[0]
        or not _is_count(offset)
    ):
        raise ModelError(f"array {name[:40]!r} has an impossible shape or offset")
    return _ArrayPlace(dtype, shape[0], offset)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _check_layout(
    places: Mapping[str, _ArrayPlace], payload_length: int, index_length: int
) -> None:
    """Raise `ModelError` for arrays outside the payload, overlaps, and gaps larger than joblib's framing: every byte is accounted for."""
    position = 0
    allowed = (
        MAX_FRAMING_BYTES + 2 * index_length
    )  # joblib's stream has the settings too, before the first array or after the last
    for name, place in sorted(places.items(), key=lambda item: item[1].offset):
        if not position <= place.offset <= position + allowed or place.end > payload_length:
            raise ModelError(
                f"array {name[:40]!r} lies outside the file, over another array, or behind a gap"
            )
        position = place.end
        allowed = MAX_FRAMING_BYTES
    if payload_length > position + MAX_FRAMING_BYTES + 2 * index_length:
        raise ModelError("some bytes belong to no array")


def _check_depth(value: object, depth: int = 0) -> None:
    if depth > MAX_SETTINGS_DEPTH:
        raise ModelError("the settings are nested too deeply")
    if isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            _check_depth(part, depth + 1)


def _damaged(finding: str) -> ModelError:
    return ModelError(f"the model is damaged: {finding}", hint=RESTORE_HINT)
