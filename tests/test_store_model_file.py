"""The model file: what is written comes back, and what is malformed is refused."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
from typing import IO, TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.errors import ModelError, UsageError
from nbtext.store import FORMAT_VERSION, joblib_stream, read_model_file, write_model_file
from nbtext.store.model_file import ARRAY_DTYPES, MAX_INDEX_BYTES
from tests.malicious_pickles import GADGETS, MARK
from tests.process import content

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

SETTINGS: dict[str, Any] = {
    "training": {"top": None, "smoothing": "auto", "max_df": 0.5},
    "label": "naïve \udcff\x1b",
    "list": [1, 2.5, True],
}
ARRAYS: dict[str, NDArray[Any]] = {
    "bytes": np.arange(256, dtype=np.uint8),
    "short": np.array([0, 2**16 - 1], np.uint16),
    "middle": np.array([1, 2**32 - 1], np.uint32),
    "long": np.array([2**64 - 1], np.uint64),
    "real": np.array([0.1, -1e300]),
}

names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=12).filter(
    lambda name: name not in ("format", "settings")
)
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def plain_arrays(draw: st.DrawFn) -> NDArray[Any]:
    dtype = np.dtype(draw(st.sampled_from(ARRAY_DTYPES)))
    floats = st.floats(width=32) if dtype.itemsize == 4 else st.floats(width=64)
    numbers = floats if dtype.kind == "f" else st.integers(0, 2 ** (8 * dtype.itemsize) - 1)
    return np.array(draw(st.lists(numbers, max_size=40)), dtype)


def same(first: dict[str, NDArray[Any]], second: dict[str, Any]) -> bool:
    return set(first) == set(second) and all(
        array.dtype == second[name].dtype and array.tobytes() == second[name].tobytes()
        for name, array in first.items()
    )


@given(
    st.dictionaries(st.text(), plain, max_size=4),
    st.dictionaries(names, plain_arrays(), max_size=6),
)
def test_written_file_is_read_by_nbtext_and_by_joblib(
    tmp_path_factory: pytest.TempPathFactory,
    settings: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
) -> None:
    path = str(tmp_path_factory.mktemp("model") / "m")
    write_model_file(path, settings, arrays)
    present = {name: array for name, array in arrays.items() if array.size}
    read_settings, read_arrays, _ = read_model_file(path)
    assert read_settings == settings
    assert same(present, read_arrays)
    for mmap_mode in (None, "r"):
        loaded = joblib.load(path, mmap_mode=mmap_mode)
        assert loaded.pop("format") == FORMAT_VERSION
        assert loaded.pop("settings") == settings
        assert same(present, loaded)


def test_loaded_arrays_are_read_only(tmp_path: Path) -> None:
    write_model_file("m", {}, ARRAYS)
    _, arrays, _ = read_model_file("m")
    with pytest.raises(ValueError, match="read-only"):
        arrays["bytes"][0] = 1


def test_file_layout_matches_the_documentation(tmp_path: Path) -> None:
    write_model_file("m", SETTINGS, ARRAYS)
    content = (tmp_path / "m").read_bytes()
    assert content[:3] == b"\x80\x04B"
    header = content[7 : 7 + struct.unpack("<I", content[3:7])[0]]
    magic, version, index_length, payload_length = struct.unpack("<8sIIQ", header[:24])
    digest, index = header[24:56], header[56:]
    payload = content[7 + len(header) + 1 :]
    assert (magic, version, index_length, payload_length) == (
        b"nbtext\r\n",
        FORMAT_VERSION,
        len(index),
        len(payload),
    )
    assert digest == hashlib.sha256(content[:31] + content[63:]).digest()
    assert content[7 + len(header) :].startswith(b"0")
    assert (len(content) - len(payload)) % 64 == 0
    described = json.loads(index)
    assert described["settings"] == SETTINGS
    for name, array in ARRAYS.items():
        place = described["arrays"][name]
        assert (place["dtype"], place["shape"]) == (array.dtype.str, [array.size])
        assert payload[place["offset"] :].startswith(array.tobytes())


def test_equal_contents_give_equal_bytes(tmp_path: Path) -> None:
    twin: dict[str, Any] = json.loads(json.dumps(dict(reversed(SETTINGS.items()))))
    write_model_file("a", SETTINGS, ARRAYS)
    write_model_file("b", twin, {name: array.copy() for name, array in reversed(ARRAYS.items())})
    assert content("a") == content("b")
    write_model_file("again", *read_model_file("a")[:2])
    assert content("a") == content("again")


def test_unpickled_arrays_give_the_same_bytes(tmp_path: Path) -> None:
    """Pickle writes a type again that is equal to one before but is not the same object."""
    arrays = {name: np.arange(3, dtype=np.uint8) for name in "abc"}
    arrived = {"a": arrays["a"], "b": pickle.loads(pickle.dumps(arrays["b"])), "c": arrays["c"]}
    for name, those in (("here", arrays), ("there", arrived)):
        write_model_file(str(tmp_path / name), SETTINGS, those)
    assert content("here") == content("there")


@pytest.mark.parametrize(
    "array",
    [
        np.array([1, -1]),
        np.array([True]),
        np.array(["a"]),
        np.array([{}]),
        np.ones((2, 2)),
        np.float64(1),
        np.array([1], ">u4"),
    ],
)
def test_unsupported_arrays_are_not_written(tmp_path: Path, array: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="does not go into a model file"):
        write_model_file("m", {}, {"x": np.asarray(array)})
    assert list(tmp_path.iterdir()) == []


def test_unsupported_settings_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has room for"):
        write_model_file("m", {"long": "x" * MAX_INDEX_BYTES}, {})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_model_file("m", {"nan": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


def test_file_swapped_during_writing_is_not_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dump = joblib_stream.write_joblib

    def dump_and_swap(contents: dict[str, Any], file: IO[bytes]) -> list[int]:
        offsets = dump(contents, file)
        [temporary] = tmp_path.glob(".m.*")
        temporary.rename(tmp_path / "moved")
        temporary.write_bytes(GADGETS["os.system"])
        return offsets

    monkeypatch.setattr(joblib_stream, "write_joblib", dump_and_swap)
    monkeypatch.chdir(tmp_path)
    write_model_file("m", SETTINGS, ARRAYS)
    assert not (tmp_path / MARK).exists()
    (tmp_path / "moved").rename(tmp_path / "m")
    assert read_model_file("m")[0] == SETTINGS


def test_missing_model_is_reported_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"nothing: the model file does not exist; make one with nbtext train"
    ):
        read_model_file("nothing")
