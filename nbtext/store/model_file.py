"""The model file: a joblib file with a checked header and index, read without unpickling.

Its bytes::

    80 04                     pickle: protocol 4
    42 <u32 length>           pickle: push this many bytes, which are the header:
        magic                 8 bytes
        format                u32
        index length          u32
        payload length        u64
        SHA-256               32 bytes, of all other bytes except the ledger
        index                 JSON: settings, and type, shape and offset of every array;
                              padded with spaces
    94 30                     pickle: remember and pop them
    8c 06 nbtext              pickle: push the function `nbtext.model_from_joblib`
    8c 11 model_from_joblib
    93
    68 00                     pickle: push the header
    8e <u64 payload length>   pickle: push this many bytes, which are the payload:
                              the arrays, each aligned to 16 bytes; aligned to 64 bytes itself
    86 52 2e                  pickle: call the function with header and payload, and stop
    ledger                    optional: the index has the length and the SHA-256 of the ledger,
                              so that a model can be read without it

So `joblib.load` returns a `TextClassifier`, after the same checks as `TextClassifier.load`. Like
all pickles, a file of unknown origin can run code there. `read_model_file` requires exactly these
pickle instructions, checks header and index, and reads the arrays with numpy. It executes no code
from the file, and needs no more memory than the size of the file. The digest detects damage, but
does not prove the origin of the file.

In files of format 2 only 30 is between header and payload, and the payload is what `joblib.dump`
writes for a dict.
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
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from nbtext.type_names import Arrays, Numbers

FORMAT_VERSION = 3
"""Number of the format of model files.

To change the contents of model files: increase the number. Keep the code that reads formats after
`EARLY_FORMAT_VERSION`. Add files of the new format to the test fixtures, which must load and score
the same. Note the change in CHANGELOG.
"""

EARLY_FORMAT_VERSION = 1
"""Number of the format before the first release. Its files cannot be read."""

JOBLIB_PAYLOAD_VERSION = 2
"""Number of the format whose payload is a dict in a file of joblib."""

MAGIC = b"nbtext\r\n"
PAYLOAD_ALIGNMENT_BYTES = 64

ARRAY_ALIGNMENT_BYTES = 16
"""Arrays start at multiples of this number of bytes in the payload."""

ARRAY_DTYPES = ("|u1", "<u2", "<u4", "<u8", "<f4", "<f8")
"""Element types of arrays: unsigned whole numbers, float32 and float64, little-endian."""

MAX_INDEX_BYTES = 1 << 22
"""Size limit of the index: parsed JSON can take about 25 times its size in memory."""

MAX_FRAMING_BYTES = 1 << 12
"""Limit of joblib's own bytes in one gap between arrays of format 2. Usually there are 200."""

MAX_SETTINGS_DEPTH = 8
"""Limit of the nesting depth of the settings."""

COUNT_LIMIT = 1 << 62
"""Lengths and offsets are less than this."""

DIGEST_BYTES = 32

FINGERPRINT_BYTES = 6
"""Bytes of the digest in a fingerprint. Equal ones occur among 20 million models on average."""

NO_MODEL_DIGEST = bytes(DIGEST_BYTES)
"""Value of `read_digest` for a missing model."""

_START = b"\x80\x04B"
"""Pickle instruction for protocol 4, and the code of the instruction to push bytes."""

_MAGIC_OFFSET = 7
"""Position of the first byte that the pickle pushes: after `_START` and a length of four bytes."""

_HEADER = struct.Struct("<3sI8sIIQ32s")
"""All bytes before the index."""

_HEADER_BYTES = _HEADER.size
_DIGEST = slice(_HEADER_BYTES - DIGEST_BYTES, _HEADER_BYTES)
"""Positions of the digest in the file."""

PICKLE_PROTOCOLS = (b"\2", b"\3", b"\4", b"\5")
"""Second byte of a pickle whose first byte is 80, the instruction for its protocol."""

_POP = b"0"
"""Pickle instruction to pop the header, in files of format 2."""

_FRAME_START = struct.Struct("<33sQ")
"""Pickle instructions between header and payload, and the length of the payload."""

_PUSH_FUNCTION = b"\x940\x8c\x06nbtext\x8c\x11model_from_joblib\x93h\0\x8e"
"""Pickle instructions to push `nbtext.model_from_joblib`, the header and the payload."""

_CALL_FUNCTION = b"\x86R."
"""Pickle instructions to call the function with header and payload, and to stop."""


def write_model_file(
    path: str,
    settings: Mapping[str, object],
    arrays: Arrays,
    ledger: bytes = b"",
    before_replace: Callable[[Path], None] | None = None,
) -> None:
    """Write settings, arrays and the bytes of a ledger as one file, atomically.

    Settings are plain JSON values. Arrays have one dimension and a type of `ARRAY_DTYPES`. Empty
    arrays are not stored. The same contents give the same bytes. ``before_replace`` is called with
    the resolved path just before the old file is replaced.

    Raise `PathError` if the file cannot be written, `UsageError` for settings that exceed
    `MAX_INDEX_BYTES`, and `ValueError` for an array of another shape or type.
    """
    from nbtext.store.atomic import replace_file

    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.str not in ARRAY_DTYPES:
            raise ValueError(
                f"array {name!r} of shape {array.shape} and type {array.dtype.str} does not go "
                "into a model file"
            )
    stored_arrays = {
        name: np.ascontiguousarray(array) for name, array in sorted(arrays.items()) if array.size
    }
    replace_file(path, lambda file: _write(file, settings, stored_arrays, ledger), before_replace)


def _write(file: IO[bytes], settings: Mapping[str, object], arrays: Arrays, ledger: bytes) -> None:
    """Write the content of a model file."""
    spans = _place_arrays(arrays)
    payload_length = max((span.end for span in spans.values()), default=0)
    index = _encode_index(settings, spans, ledger)
    if len(index) + PAYLOAD_ALIGNMENT_BYTES > MAX_INDEX_BYTES:
        raise UsageError(
            f"the settings take {len(index):,} bytes; a model file has room for {MAX_INDEX_BYTES:,}"
        )
    frame = _build_frame(FORMAT_VERSION, payload_length)
    unaligned_start = _HEADER_BYTES + len(index) + len(frame.start)
    index += b" " * (-unaligned_start % PAYLOAD_ALIGNMENT_BYTES)
    header = _encode_header(index, payload_length)

    pieces: list[bytes | memoryview] = [index, frame.start]
    position = 0
    for name, span in spans.items():
        pieces += [bytes(span.offset - position), arrays[name].view(np.uint8).data]
        position = span.end
    pieces.append(frame.end)
    digest = hashlib.sha256(header[: _DIGEST.start])
    for piece in pieces:
        digest.update(piece)
    file.write(header[: _DIGEST.start] + digest.digest())
    file.writelines([*pieces, ledger])


def _place_arrays(arrays: Arrays) -> dict[str, _ArraySpan]:
    """Return the position of each array in the payload, in order."""
    spans = {}
    end = 0
    for name, array in arrays.items():
        span = _ArraySpan(array.dtype.str, array.size, _align(end))
        spans[name] = span
        end = span.end
    return spans


def _align(position: int) -> int:
    """Return the first position from ``position`` on where an array may start."""
    return position + -position % ARRAY_ALIGNMENT_BYTES


class _Frame(NamedTuple):
    """The pickle instructions around the payload."""

    start: bytes
    end: bytes


def _build_frame(version: int, payload_length: int) -> _Frame:
    """Return the only instructions that a model file of a format may have."""
    if version <= JOBLIB_PAYLOAD_VERSION:
        return _Frame(_POP, b"")
    return _Frame(_FRAME_START.pack(_PUSH_FUNCTION, payload_length), _CALL_FUNCTION)


def _encode_header(index: bytes, payload_length: int) -> bytes:
    """Return the header with zeros instead of the digest."""
    return _HEADER.pack(
        _START,
        _HEADER_BYTES - _MAGIC_OFFSET + len(index),
        MAGIC,
        FORMAT_VERSION,
        len(index),
        payload_length,
        NO_MODEL_DIGEST,
    )


class _Index(NamedTuple):
    """The index of a model file."""

    settings: dict[str, object]
    spans: dict[str, _ArraySpan]
    """Position of each array in the payload, by name."""
    ledger_length: int
    """Bytes of the ledger after the payload. 0 without a ledger."""
    ledger_digest: str
    """SHA-256 of the ledger in hexadecimal digits. "" without a ledger."""


class _ModelBytes(NamedTuple):
    """The checked bytes of a model file, and the positions of its payload."""

    content: bytes
    payload_start: int
    model_end: int
    """Position of the byte after the model, where the ledger starts."""
    file_index: _Index


class StoredModel(NamedTuple):
    """The content of a model file."""

    settings: dict[str, object]
    arrays: dict[str, Numbers]
    """Arrays by name. They are read-only."""
    fingerprint: str


def read_model_file(path: str) -> StoredModel:
    """Return settings, arrays and fingerprint of a model file.

    Raise `ModelError` unless the file is a complete, undamaged model file of this format.
    """
    return _extract(_read(path))


def read_pickled_parts(header: bytes, payload: bytes) -> StoredModel:
    """Return settings, arrays and fingerprint of a model file from its header and payload.

    These are the arguments of the function that the pickle in a model file calls. Raise
    `ModelError` for other values.
    """
    if not isinstance(header, bytes) or not isinstance(payload, bytes):
        raise ModelError("not an nbtext model")
    start = _START + struct.pack("<I", len(header) % 2**32) + header
    frame = _build_frame(FORMAT_VERSION, len(payload))
    content = b"".join((start, frame.start, payload, frame.end))
    return _extract(_parse(content, size=None))


def _extract(model: _ModelBytes) -> StoredModel:
    """Return the content of a checked model file. The arrays are views of its bytes."""
    arrays = {
        name: np.frombuffer(
            model.content, span.dtype, span.length, model.payload_start + span.offset
        )
        for name, span in model.file_index.spans.items()
    }
    digest = extract_digest(model.content)
    return StoredModel(model.file_index.settings, arrays, format_fingerprint(digest))


def read_model_bytes(path: str) -> bytes:
    """Return all bytes of a model file. Raise `ModelError` if model or ledger are damaged."""
    return _read(path, include_ledger=True).content


def read_ledger_bytes(path: str) -> bytes:
    """Return the ledger of a model file, or b"" if it has none.

    Raise `ModelError` if the model file or the ledger is damaged.
    """
    model = _read(path, include_ledger=True)
    return model.content[model.model_end :]


def has_ledger(path: str) -> bool:
    """Return True if a model file has a ledger, which may be damaged.

    Raise `ModelError` if the model itself is damaged.
    """
    return bool(_read(path).file_index.ledger_length)


def extract_digest(content: bytes) -> bytes:
    """Return the digest in the header of a model file's bytes."""
    return content[_DIGEST]


def format_fingerprint(digest: bytes) -> str:
    """Return the fingerprint of a model: 12 hexadecimal digits, the start of its digest.

    Files with the same settings, arrays and ledger have the same fingerprint.
    """
    return digest[:FINGERPRINT_BYTES].hex()


def read_digest(path: str) -> bytes:
    """Return the digest in a model file's header, which identifies the model.

    The file is not checked for damage. Return `NO_MODEL_DIGEST` if the file is missing, is not a
    model, or if the permission to read it is missing. Raise `ModelError` for other errors of
    reading, such as too many open files.
    """
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            header = file.read(_HEADER_BYTES)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return NO_MODEL_DIGEST
    except OSError as problem:
        raise ModelError(
            f"cannot read the model: {describe_os_error(problem)}", where=path
        ) from None
    if len(header) == _HEADER_BYTES and _starts_like_model(header):
        return header[_DIGEST]
    return NO_MODEL_DIGEST


def _starts_like_model(content: bytes) -> bool:
    return content.startswith(_START) and content.startswith(MAGIC, _MAGIC_OFFSET)


def _read(path: str, *, include_ledger: bool = False) -> _ModelBytes:
    """Read and check a model file, and also its ledger if ``include_ledger`` is set."""
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                # The handler below adds the path.
                raise ModelError("not a model: it is not a regular file")  # noqa: TRY301
            content = _read_content(file, status.st_size, include_ledger=include_ledger)
            model = _parse(content, status.st_size)
            if include_ledger:
                _require_ledger(memoryview(content)[model.model_end :], model.file_index)
            return model
    except ModelError as problem:
        problem.where = path
        raise
    except FileNotFoundError:
        raise ModelError(
            "the model file does not exist",
            where=path,
            hint="make one with nbtext train, or name one with --model",
        ) from None
    except OSError as problem:
        raise ModelError(
            f"cannot read the model: {describe_os_error(problem)}", where=path
        ) from None


def _read_content(file: IO[bytes], size: int, *, include_ledger: bool) -> bytes:
    """Return the bytes of a model file, or only the first bytes of another file."""
    header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not _starts_like_model(header):
        return header
    file.seek(0)
    end = size if include_ledger else min(_find_model_end(header), size)
    return file.read(end)


def _find_model_end(header: bytes) -> int:
    """Return where the ledger starts according to the header. It may be after the end of file."""
    *_, version, index_length, payload_length, _ = _HEADER.unpack_from(header)
    frame = _build_frame(version, payload_length)
    frame_length = len(frame.start) + len(frame.end)
    return int(_HEADER_BYTES + index_length + frame_length + payload_length)


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a path. The call does not block if the path is a pipe without a writer."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _parse(content: bytes, size: int | None) -> _ModelBytes:
    """Check and parse a model file of ``size`` bytes. ``content`` may end before the ledger.

    If ``size`` is None, the size is unknown, and ``content`` ends before the ledger.
    """
    if not _starts_like_model(content):
        raise _other_file_error(content)
    if len(content) < _HEADER_BYTES:
        raise _damaged_error("it ends in the header")
    _, header_length, _, version, index_length, payload_length, digest = _HEADER.unpack_from(
        content
    )
    _check_version(version)
    frame = _build_frame(version, payload_length)
    model_end = _find_model_end(content)
    content_end = len(content) if size is None else size
    wrong_size_error = _damaged_error(f"it has {content_end} bytes, its header says {model_end}")
    if (
        header_length != _HEADER_BYTES - _MAGIC_OFFSET + index_length
        or index_length > MAX_INDEX_BYTES
        or model_end > content_end
    ):
        raise wrong_size_error

    view = memoryview(content)
    computed_digest = hashlib.sha256(view[: _DIGEST.start])
    computed_digest.update(view[_DIGEST.stop : model_end])
    if computed_digest.digest() != digest:
        raise _damaged_error("its checksum is wrong")

    index_end = _HEADER_BYTES + index_length
    payload_start = index_end + len(frame.start)
    payload_end = payload_start + payload_length
    is_framed = (
        content[index_end:payload_start] == frame.start
        and content[payload_end:model_end] == frame.end
    )
    is_aligned = payload_start % PAYLOAD_ALIGNMENT_BYTES == 0
    if version == 0 or not is_framed or not is_aligned:
        raise _damaged_error("its header is malformed")
    index = _decode_index(content[_HEADER_BYTES:index_end], payload_length, version)
    has_ledger = index.ledger_length > 0
    if not has_ledger and model_end != content_end:
        raise wrong_size_error
    return _ModelBytes(content, payload_start, model_end, index)


def _check_version(version: int) -> None:
    """Raise `ModelError` for the number of a format that this version does not read."""
    if version > FORMAT_VERSION:
        raise ModelError(
            f"made by a newer nbtext (format {version}, this one reads {FORMAT_VERSION})",
            hint="upgrade nbtext",
        )
    if version == EARLY_FORMAT_VERSION:
        raise ModelError("written by an early version", hint="train again")


def _other_file_error(content: bytes) -> ModelError:
    """Return the error of a file that does not start like a model file."""
    is_pickle = content[:1] == b"\x80" and content[1:2] in PICKLE_PROTOCOLS
    if is_pickle:
        return ModelError(
            "a pickle, not an nbtext model, and nbtext does not unpickle",
            hint="write the model with model.save()",
        )
    return ModelError("not an nbtext model", hint="make one with nbtext train")


def _require_ledger(ledger: memoryview, index: _Index) -> None:
    """Raise `ModelError` unless a ledger has the length and the checksum in the index."""
    from nbtext.store.ledger import damaged_ledger_error

    if len(ledger) != index.ledger_length:
        raise damaged_ledger_error(
            f"it has {len(ledger)} bytes, the index says {index.ledger_length}"
        )
    if index.ledger_length and hashlib.sha256(ledger).hexdigest() != index.ledger_digest:
        raise damaged_ledger_error("its checksum is wrong")


class _ArraySpan(NamedTuple):
    """Type and position of an array of one dimension."""

    dtype: str
    length: int
    """Number of elements."""
    offset: int
    """First byte, from the start of the payload."""

    @property
    def end(self) -> int:
        """Position of the byte after the array, from the start of the payload."""
        return self.offset + self.length * np.dtype(self.dtype).itemsize


def _encode_index(
    settings: Mapping[str, object], spans: Mapping[str, _ArraySpan], ledger: bytes
) -> bytes:
    """Return the index as JSON in ASCII, with sorted keys."""
    arrays = {
        name: {"dtype": dtype, "shape": [length], "offset": offset}
        for name, (dtype, length, offset) in spans.items()
    }
    index: dict[str, object] = {"settings": settings, "arrays": arrays}
    if ledger:
        index["ledger"] = [len(ledger), hashlib.sha256(ledger).hexdigest()]
    return json.dumps(index, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _decode_index(text: bytes, payload_length: int, version: int) -> _Index:
    """Return the index of a model file.

    Raise `ModelError` unless the index is well formed, and the arrays lie inside the payload
    without overlap.
    """
    from nbtext.strict_json import parse_json

    try:
        index = parse_json(text)
    except ValueError as problem:
        raise ModelError(f"the index is not valid JSON ({str(problem)[:80]})") from None
    required_keys = {"settings", "arrays"}
    possible_keys = {*required_keys, "ledger"}
    if not isinstance(index, dict) or not required_keys <= index.keys() <= possible_keys:
        raise ModelError("the index must have the two parts settings and arrays")
    settings = index["settings"]
    arrays = index["arrays"]
    no_ledger = [0, ""]
    ledger = index.get("ledger", no_ledger)
    if not isinstance(settings, dict) or not isinstance(arrays, dict):
        raise ModelError("settings and arrays must be objects")
    if not isinstance(ledger, list) or len(ledger) != 2 or not _is_count(ledger[0]):
        raise ModelError("the ledger has no length and checksum")

    _check_depth(settings)
    spans = {name: _decode_span(name, entry) for name, entry in arrays.items()}
    if version <= JOBLIB_PAYLOAD_VERSION:
        _check_joblib_layout(spans, payload_length, len(text))
    else:
        _check_layout(spans, payload_length)
    ledger_length, ledger_digest = ledger
    return _Index(settings, spans, ledger_length, str(ledger_digest))


def _decode_span(name: str, entry: object) -> _ArraySpan:
    """Return the span of an entry of the index. Raise `ModelError` if the entry is not valid."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "offset"}:
        raise ModelError(f"array {name[:40]!r} is not described by dtype, shape and offset")
    dtype = entry["dtype"]
    shape = entry["shape"]
    offset = entry["offset"]
    if dtype not in ARRAY_DTYPES:
        raise ModelError(f"array {name[:40]!r} has a type that models do not use")
    is_vector = isinstance(shape, list) and len(shape) == 1
    if not is_vector or shape == [0] or not _is_count(shape[0]) or not _is_count(offset):
        raise ModelError(f"array {name[:40]!r} has an impossible shape or offset")
    return _ArraySpan(dtype, shape[0], offset)


def _is_count(value: object) -> bool:
    """Return True for a whole number in the allowed range, False for True and False."""
    return type(value) is int and 0 <= value < COUNT_LIMIT


def _check_layout(spans: Mapping[str, _ArraySpan], payload_length: int) -> None:
    """Raise `ModelError` unless the arrays follow each other, and fill the payload."""
    end = 0
    for name, span in sorted(spans.items(), key=lambda item: item[1].offset):
        if span.offset != _align(end) or span.end > payload_length:
            raise _misplaced_array_error(name)
        end = span.end
    if end != payload_length:
        raise ModelError("some bytes belong to no array")


def _misplaced_array_error(name: str) -> ModelError:
    return ModelError(
        f"array {name[:40]!r} lies outside the file, over another array, or behind a gap"
    )


def _check_joblib_layout(
    spans: Mapping[str, _ArraySpan], payload_length: int, index_length: int
) -> None:
    """Raise `ModelError` for arrays outside the payload, for overlaps, and for large gaps.

    In format 2 a gap between arrays has only joblib's own bytes. The gaps before the first array
    and after the last array may also have the settings, which take at most twice the bytes of the
    index.
    """
    max_outer_gap = MAX_FRAMING_BYTES + 2 * index_length
    previous_end = 0
    max_gap = max_outer_gap
    for name, span in sorted(spans.items(), key=lambda item: item[1].offset):
        is_near = previous_end <= span.offset <= previous_end + max_gap
        if not is_near or span.end > payload_length:
            raise _misplaced_array_error(name)
        previous_end = span.end
        max_gap = MAX_FRAMING_BYTES
    if payload_length > previous_end + max_outer_gap:
        raise ModelError("some bytes belong to no array")


def _check_depth(value: object, depth: int = 0) -> None:
    """Raise `ModelError` if a value of the settings is nested too deeply."""
    if depth > MAX_SETTINGS_DEPTH:
        raise ModelError("the settings are nested too deeply")
    items: Iterable[object] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, list):
        items = value
    for item in items:
        _check_depth(item, depth + 1)


def _damaged_error(finding: str) -> ModelError:
    return ModelError(f"the model is damaged: {finding}", hint=RESTORE_HINT)
