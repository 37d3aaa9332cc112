"""The container: a joblib file with a checked header in front, read without unpickling anything.

Its bytes::

    80 04                     pickle: protocol 4
    42 <u32 length>           pickle: push this many bytes, which are the header:
        magic                 8 bytes
        format                u32
        index length          u32
        payload length        u64
        SHA-256               32 bytes, of the whole file but these
        index                 JSON, padded with spaces
    30                        pickle: pop them
    payload                   what joblib.dump wrote, aligned to 64 bytes

So `joblib.load` returns the plain dict of settings and arrays to whoever trusts the file and wants it, while `read_model_file` believes
nothing but the header's own arithmetic and takes the arrays from the bytes with numpy: no code can ride in, and nothing can ask for more
memory than the file has bytes. The digest finds damage; it does not prove who wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
import warnings
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from nbtext.errors import ModelError, UsageError, reason
from nbtext.store.atomic import replace_file
from nbtext.store.index import DTYPES, MAX_INDEX_BYTES, ArrayPlace, decode_index, encode_index

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from numpy.typing import NDArray

FORMAT = 1
"""Number of the format. To change what a model file holds: raise it; keep the code that reads the old number and let `read_model_file`
choose by the number found; add a file of the old format to the test fixtures, which must load and score the same; note it in CHANGELOG."""

MAGIC = b"nbtext\r\n"
ALIGNMENT = 64

_START = b"\x80\x04B"
_OPCODES = struct.Struct("<3sI")
_FIELDS = struct.Struct("<8sIIQ32s")
_HEAD = _OPCODES.size + _FIELDS.size
_DIGEST_BYTES = 32
_DIGEST = slice(_HEAD - _DIGEST_BYTES, _HEAD)
_POP = b"0"


def write_model_file(
    path: str, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], before: Callable[[Path, bytes], None] | None = None
) -> None:
    """Write settings (plain JSON values) and arrays (one dimension, of the types in `nbtext.store.index.DTYPES`) as one file, atomically.

    The same contents give the same bytes. Empty arrays are left out. ``before`` is called with the place and the new file's digest just before
    it takes that place. Raises `PathError` if it cannot be written, `UsageError` for
    settings beyond `MAX_INDEX_BYTES`, `ValueError` for arrays of another kind.
    """
    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.str not in DTYPES:
            raise ValueError(f"array {name!r} of shape {array.shape} and type {array.dtype.str} does not go into a model file")
    arrays = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items()) if array.size}
    digest = bytes(_DIGEST_BYTES)

    def write(file: IO[bytes]) -> None:
        nonlocal digest
        digest = _write(file, settings, arrays)

    replace_file(path, write, None if before is None else lambda target: before(target, digest))


def _write(file: IO[bytes], settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Fill a file; return its digest."""
    joblib = import_joblib()
    canonical = json.loads(json.dumps(settings, sort_keys=True))  # equal settings become equal objects, so pickle writes equal bytes
    furthest = {name: ArrayPlace(array.dtype.str, array.size, 2**62) for name, array in arrays.items()}
    room = len(encode_index(canonical, furthest))
    if room + ALIGNMENT > MAX_INDEX_BYTES:
        raise UsageError(f"the settings take {room:,} bytes; a model file has room for {MAX_INDEX_BYTES:,}")
    room += -(_HEAD + room + len(_POP)) % ALIGNMENT
    begin = _HEAD + room + len(_POP)
    file.write(_head(b" " * room, 0) + b" " * room + _POP)
    joblib.dump({"format": FORMAT, "settings": canonical, **arrays}, file, protocol=4)
    length = file.tell() - begin
    file.flush()
    mapped = joblib.load(_path_by_descriptor(file), mmap_mode="r")  # our own bytes, a moment old: tells where joblib put each array
    places = {name: ArrayPlace(array.dtype.str, array.size, mapped[name].offset - begin) for name, array in arrays.items()}
    del mapped
    index = encode_index(canonical, places).ljust(room)
    file.seek(0)
    file.write(_head(index, length) + index)
    file.seek(0)
    digest = _digest(file)
    file.seek(_DIGEST.start)
    file.write(digest)
    return digest


def import_joblib() -> ModuleType:
    """Return joblib, which writes model files. A process imports it if it writes one, and then before it locks the model."""
    with warnings.catch_warnings(action="ignore"):  # that it cannot make semaphores, where there is no /dev/shm: none are needed
        return import_module("joblib")


def _path_by_descriptor(file: IO[bytes]) -> str:
    """Return a path of an open file under which nobody else can have put another one: what is loaded from it is unpickled.

    Where the system has no such paths it is the name of the file.
    """
    path = f"/proc/self/fd/{file.fileno()}"
    return path if Path(path).exists() else file.name


def _head(index: bytes, payload_length: int) -> bytes:
    fields = _FIELDS.pack(MAGIC, FORMAT, len(index), payload_length, bytes(32))
    return _OPCODES.pack(_START, len(fields) + len(index)) + fields


def _digest(file: IO[bytes]) -> bytes:
    """SHA-256 of a file whose digest field is still zero, that field left out."""
    digest = hashlib.sha256(file.read(_DIGEST.start))
    file.seek(_DIGEST.stop)
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return digest.digest()


def read_model_file(path: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays of a model file; arrays are read-only views of the bytes read.

    Raises `ModelError` for whatever is not a whole, undamaged file of this format.
    """
    try:
        return _parse(_read(path))
    except ModelError as problem:
        problem.where = path
        raise


def read_model_bytes(path: str) -> bytes:
    """The bytes of a whole, undamaged model file; raises as `read_model_file` does."""
    try:
        content = _read(path)
        _parse(content)
    except ModelError as problem:
        problem.where = path
        raise
    return content


def embedded_digest(content: bytes) -> bytes:
    """The digest that the bytes of a model file give of themselves."""
    return content[_DIGEST]


def write_model_bytes(path: str, content: bytes, before: Callable[[Path, bytes], None]) -> None:
    """Write the bytes of a model file as they are, atomically; ``before`` as in `write_model_file`. Raises `PathError` if it cannot be written."""
    replace_file(path, lambda file: file.writelines((content,)), lambda target: before(target, embedded_digest(content)))


def model_digest(path: str) -> bytes | None:
    """Return the digest that a model file gives of itself, which tells it from every other; None for what is no model. It is not checked.

    Raises `ModelError` if that cannot be told, as where too many files are open: a ledger would be taken for that of another model.
    """
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            head = file.read(_HEAD)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return None
    except OSError as problem:
        raise ModelError(f"cannot read the model: {reason(problem)}", where=path) from None
    is_model = len(head) == _HEAD and head[: len(_START)] == _START and head[_OPCODES.size : _OPCODES.size + len(MAGIC)] == MAGIC
    return head[_DIGEST] if is_model else None


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ModelError("not a model: it is no regular file")
            start = file.read(len(_START))
            file.seek(0)
            return file.read() if start == _START else start  # no more memory for what is no model
    except FileNotFoundError:
        raise ModelError("there is no model", hint="make one with nbtext train, or name one with --model") from None
    except OSError as problem:
        raise ModelError(f"cannot read the model: {reason(problem)}") from None


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)  # a pipe without a writer must not block


def _parse(content: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    if content[: len(_START)] != _START or content[_OPCODES.size : _OPCODES.size + len(MAGIC)] != MAGIC:
        raise ModelError("not an nbtext model", hint="make one with nbtext train")
    if len(content) < _HEAD:
        raise _damaged("it ends in the header")
    (_, header_length), (_, version, index_length, payload_length, digest) = (
        _OPCODES.unpack_from(content),
        _FIELDS.unpack_from(content, _OPCODES.size),
    )
    if version > FORMAT:
        raise ModelError(f"made by a newer nbtext (format {version}, this one reads {FORMAT})", hint="upgrade nbtext")
    begin = _HEAD + index_length + len(_POP)
    if header_length != _FIELDS.size + index_length or index_length > MAX_INDEX_BYTES or begin + payload_length != len(content):
        raise _damaged(f"it has {len(content)} bytes, its header says {begin + payload_length}")
    view = memoryview(content)
    found = hashlib.sha256(view[: _DIGEST.start])
    found.update(view[_DIGEST.stop :])
    if found.digest() != digest:
        raise _damaged("its checksum is wrong")
    if not version or content[begin - 1 : begin] != _POP or begin % ALIGNMENT:
        raise _damaged("its header is malformed")
    settings, places = decode_index(content[_HEAD : begin - 1], payload_length)
    arrays = {name: np.frombuffer(content, place.dtype, place.length, begin + place.offset) for name, place in places.items()}
    return settings, arrays


def _damaged(what: str) -> ModelError:
    return ModelError(f"the model is damaged: {what}", hint="restore it or train again")
