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

from nbtext import TextClassifier, model_from_joblib
from nbtext.errors import ModelError, UsageError
from nbtext.store import FORMAT_VERSION, model_file, read_model_file, write_model_file
from nbtext.store.model_file import ARRAY_DTYPES, MAX_INDEX_BYTES
from tests.malicious_pickles import GADGETS, MARK, call
from tests.model_bytes import (
    frame_end,
    frame_start,
    join_model_bytes,
    outcome,
    split_model_bytes,
)
from tests.models import pets_classifier
from tests.process import content, fail

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
def test_written_file_is_read_again(
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
    opcodes, payload = content[7 + len(header) :][:41], content[7 + len(header) + 41 : -3]
    assert (magic, version, index_length, payload_length) == (
        b"nbtext\r\n",
        FORMAT_VERSION,
        len(index),
        len(payload),
    )
    assert digest == hashlib.sha256(content[:31] + content[63:]).digest()
    assert opcodes[:-8] == b"\x940\x8c\x06nbtext\x8c\x11model_from_joblib\x93h\0\x8e"
    assert content.endswith(b"\x86R.")
    assert (7 + len(header) + 41) % 64 == 0
    described = json.loads(index)
    assert described["settings"] == SETTINGS
    for name, array in ARRAYS.items():
        place = described["arrays"][name]
        assert (place["dtype"], place["shape"]) == (array.dtype.str, [array.size])
        assert place["offset"] % 16 == 0
        assert payload[place["offset"] :].startswith(array.tobytes())


@pytest.mark.parametrize("ledger", [b"", b"a ledger"])
def test_joblib_and_pickle_return_the_model_that_load_returns(
    ledger: bytes, tmp_path: Path
) -> None:
    pets_classifier(ngrams=2).save("m", ledger)
    wanted = TextClassifier.load("m")
    with (tmp_path / "m").open("rb") as file:
        models = [joblib.load("m"), joblib.load("m", mmap_mode="r"), pickle.load(file)]
    for model in models:
        assert isinstance(model, TextClassifier)
        assert model.fitted.fingerprint == wanted.fitted.fingerprint
        assert model.get_params() == wanted.get_params()
        np.testing.assert_array_equal(
            model.predict_proba(["the cat", "a dog"]), wanted.predict_proba(["the cat", "a dog"])
        )
        model.save("again", ledger)
        assert content("again") == content("m")


def test_joblib_checks_the_content(tmp_path: Path) -> None:
    pets_classifier().save("m")
    good = content("m")
    parts = split_model_bytes(good)
    damaged = {
        "its checksum is wrong": good[:70] + bytes([good[70] ^ 1]) + good[71:],
        "malformed": join_model_bytes({**parts.decoded, "settings": {}}, parts.payload),
        "newer nbtext": join_model_bytes(
            parts.decoded,
            parts.payload,
            version=FORMAT_VERSION + 1,
        ),
    }
    for message, changed in damaged.items():
        (tmp_path / "m").write_bytes(changed)
        with pytest.raises(ModelError, match=message):
            joblib.load("m")
    for arguments in ((b"", b""), (1, 2), (good[7:], good[7:]), (good[7:90], b""), (None, b"")):
        with pytest.raises(ModelError):
            model_from_joblib(*arguments)


def other_frames() -> dict[str, tuple[bytes, bytes]]:
    """Opcodes around a payload that belong to no model file, by what is wrong with them."""
    start, end = frame_start(FORMAT_VERSION, 4), frame_end(FORMAT_VERSION)
    return {
        "function": (start.replace(b"model_from_joblib", b"model_from_jobliv"), end),
        "module": (start.replace(b"nbtext", b"system"), end),
        "os.system": (start.replace(b"\x06nbtext\x8c\x11model_from_joblib", b"\x05posix\x8c\x06system"), end),
        "a call before": (GADGETS["os.system"][2:-1] + start, end),
        "a call after": (start, end[:-1] + GADGETS["os.system"][2:]),
        "a pickle after": (start, end + call(print)),
        "old frame": (frame_start(2, 0), frame_end(2)),
        "no call": (start, b"\x86."),
    }  # fmt: skip


@pytest.mark.parametrize("name", other_frames())
def test_other_pickle_opcodes_are_refused(name: str, tmp_path: Path) -> None:
    pets_classifier().save("m")
    parts = split_model_bytes(content("m"))
    start, end = other_frames()[name]
    length = struct.pack("<Q", len(parts.payload))
    start = start[:-8] + length if len(start) > 8 else start
    assert "the model is damaged" in outcome(
        tmp_path / "m", join_model_bytes(parts.decoded, parts.payload, frame=(start, end))
    )
    assert not (tmp_path / MARK).exists()


def test_pickle_of_a_model_is_reported_as_a_pickle(tmp_path: Path) -> None:
    joblib.dump(pets_classifier(), "m")
    line = fail(3, "inspect -m m")
    assert line == (
        "nbtext: m: a pickle, not an nbtext model, and nbtext does not unpickle; write the model "
        "with model.save()"
    )


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
    write = model_file._write

    def write_and_swap(file: IO[bytes], *rest: Any) -> None:
        write(file, *rest)
        [temporary] = tmp_path.glob(".m.*")
        temporary.rename(tmp_path / "moved")
        temporary.write_bytes(GADGETS["os.system"])

    monkeypatch.setattr(model_file, "_write", write_and_swap)
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
