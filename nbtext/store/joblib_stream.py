"""Write the bytes that `joblib.dump` writes, without joblib, which takes long to import.

`nbtext.store.model_file` writes the payload with this module. The stream is a pickle of protocol 4.
In place of each array it has a wrapper object, one byte with the number of padding bytes, the
padding, and the bytes of the array. The pickler in C cannot write between two opcodes, so this
module extends the pickler in Python, like joblib. Tests compare the bytes with the bytes of joblib.
"""

from __future__ import annotations

import pickle
from typing import IO, TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from nbtext.type_names import Numbers

ARRAY_ALIGNMENT_BYTES = 16
"""Arrays start at multiples of this number of bytes in the file."""


class _ArrayWrapper:
    """Properties of an array, under the names that joblib uses."""

    def __init__(self, array: Numbers) -> None:
        self.subclass = np.ndarray
        self.shape = array.shape
        self.order = "C"
        self.dtype = array.dtype
        self.allow_mmap = True
        self.numpy_array_alignment_bytes = ARRAY_ALIGNMENT_BYTES


class _JoblibPickler(pickle._Pickler):  # noqa: SLF001 - joblib extends it too
    """A pickler that writes arrays like joblib."""

    # Attributes of `pickle._Pickler`, whose types are not declared.
    framer: Any
    memoize: Callable[[object], None]
    write: Callable[[bytes], object]

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=4)
        self._file = file
        self.offsets: list[int] = []
        """Position in the file where each array starts, in order."""

    # The signature of the standard library.
    def save(self, obj: object, save_persistent_id: bool = True) -> None:  # noqa: FBT001, FBT002
        if not isinstance(obj, np.ndarray):
            super().save(obj, save_persistent_id)  # type: ignore[misc]
            return
        super().save(_ArrayWrapper(obj))  # type: ignore[misc]
        self.framer.commit_frame(force=True)  # write the buffered opcodes to the file
        padding_start = self._file.tell() + 1  # after the byte with the length of the padding
        n_padding_bytes = ARRAY_ALIGNMENT_BYTES - padding_start % ARRAY_ALIGNMENT_BYTES
        self._file.write(bytes([n_padding_bytes]) + b"\xff" * n_padding_bytes)
        self.offsets.append(self._file.tell())
        self._file.write(np.ascontiguousarray(obj).data)

    def save_global(self, obj: object, name: str | None = None) -> None:
        if obj is not _ArrayWrapper:
            super().save_global(obj, name)  # type: ignore[misc]
            return
        # Write the module and the name of joblib's class instead of `_ArrayWrapper`.
        self.save("joblib.numpy_pickle")
        self.save("NumpyArrayWrapper")
        self.write(pickle.STACK_GLOBAL)
        self.memoize(obj)


def write_joblib(contents: Mapping[str, object], file: IO[bytes]) -> list[int]:
    """Write plain values and arrays to a file like `joblib.dump` with protocol 4.

    Return the position in the file where each array starts, in order.
    """
    pickler = _JoblibPickler(file)
    pickler.dump(contents)
    return pickler.offsets
