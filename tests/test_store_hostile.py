from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.errors import ModelError
from nbtext.store import FORMAT_VERSION, read_model_file, write_model_file
from tests.model_bytes import Parts, join_model_bytes, outcome, split_model_bytes
from tests.process import (
    ENVIRONMENT,
    MEMORY,
    PETS,
    REPOSITORY,
    content,
    error_line,
    fail,
    nbtext,
    run,
    succeed,
    write,
)

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = REPOSITORY.parent / "shared" / "hostile" / "make_hostile_models.py"


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    path = tmp_path_factory.mktemp("model") / "m"
    labels = [name.partition("/")[0] for name in PETS]
    TextClassifier(ngrams=2, stop_words="none", class_prior={"cats": 1, "dogs": 3}).fit(
        PETS.values(), labels
    ).save(str(path))
    return split_model_bytes(path.read_bytes())


def test_reassembled_file_is_a_valid_model(parts: Parts, tmp_path: Path) -> None:
    assert outcome(tmp_path / "m", join_model_bytes(parts.decoded, parts.payload)) == ""


@pytest.mark.parametrize(
    "lie",
    [
        {"index_length": 0}, {"index_length": 2**32 - 1}, {"index_length": 64}, {"payload_length": 0}, {"payload_length": 2**64 - 1},
        {"payload_length": 2**63}, {"header_length": 0}, {"header_length": 56}, {"header_length": 2**32 - 1},
    ],
    ids=str,
)  # fmt: skip
def test_wrong_lengths_are_detected(parts: Parts, tmp_path: Path, lie: dict[str, Any]) -> None:
    content = join_model_bytes(parts.decoded, parts.payload, **lie)
    sizes = f"it has {len(content)} bytes, its header says"
    reason = "its checksum is wrong" if lie == {"payload_length": 0} else sizes
    assert f"the model is damaged: {reason}" in outcome(tmp_path / "m", content)


def test_other_format_versions_are_refused(parts: Parts, tmp_path: Path) -> None:
    for version in (FORMAT_VERSION + 1, 2**32 - 1):
        message = outcome(
            tmp_path / "m", join_model_bytes(parts.decoded, parts.payload, version=version)
        )
        assert (
            f"made by a newer nbtext (format {version}, this one reads {FORMAT_VERSION}); upgrade nbtext"
            in message
        )
    assert "its header is malformed" in outcome(
        tmp_path / "m", join_model_bytes(parts.decoded, parts.payload, version=0)
    )


def test_trailing_bytes_are_refused_even_with_a_valid_digest(parts: Parts, tmp_path: Path) -> None:
    content = join_model_bytes(parts.decoded, parts.payload)
    said = f"it has {len(content) + 1} bytes, its header says {len(content)}"
    assert f"the model is damaged: {said}" in outcome(tmp_path / "m", content + b"x")
    assert "no array" in outcome(
        tmp_path / "m", join_model_bytes(parts.decoded, parts.payload + bytes(20_000))
    )


def test_sample_that_was_not_counted_is_refused_when_it_is_needed(pets: Path) -> None:
    """The digest is right. Predictions do not need the sample, so they stay the same."""
    stored = read_model_file("nbtext.joblib")
    arrays: dict[str, Any] = {name: array.copy() for name, array in stored.arrays.items()}
    arrays["sample_hashes"] = arrays["sample_hashes"][::-1].copy()
    write_model_file("hostile", stored.settings, arrays)
    classify = "classify --text cat --output tsv --model"
    assert succeed(f"{classify} hostile").out == succeed(f"{classify} nbtext.joblib").out
    assert succeed(f"{classify} hostile --jobs 2").out == succeed(f"{classify} nbtext.joblib").out
    refusal = "nbtext: hostile: the model is malformed: its sample is not sorted"
    before = content("hostile")
    for command in (
        "inspect",
        "update pets",
        "update --quick pets",
        "forget pets",
        "prune --min-df 2",
    ):
        assert fail(3, f"{command} --model hostile").startswith(refusal)
    assert "its sample is not sorted" in nbtext("doctor --model hostile").text
    assert content("hostile") == before
    with pytest.raises(ModelError, match="its sample is not sorted"):
        joblib.load("hostile")


INDEXES: dict[str, list[bytes]] = {
    "the index is not valid JSON (Expecting value": [b""],
    "the index is not valid JSON ('utf-8' codec can't decode": [b"\xff"],
    "the index is not valid JSON (the key 'settings' is repeated)": [b'{"settings":{},"settings":{},"arrays":{}}'],
    "is not a JSON number": [b'{"settings":{"a":NaN},"arrays":{}}', b'{"settings":{"a":-Infinity},"arrays":{}}'],
    "the index is not valid JSON (Exceeds the limit": [b'{"settings":{"a":' + b"9" * 5000 + b'},"arrays":{}}'],
    "the index is not valid JSON (nested too deeply)": [
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    "the index must have the two parts settings and arrays": [
        b"[]", b"null", b"{}", b'{"settings":{}}', b'{"settings":{},"arrays":{},"more":{}}',
    ],
    "settings and arrays must be objects": [b'{"settings":{},"arrays":[]}', b'{"settings":[],"arrays":{}}'],
    "the ledger has no length and checksum": [b'{"settings":{},"arrays":{},"ledger":[1]}'],
    "the settings are nested too deeply": [b'{"settings":{"a":' + b"[" * 12 + b"]" * 12 + b'},"arrays":{}}'],
    "'longlonglonglonglonglonglonglonglonglong' is not described by dtype, shape and offset": [
        b'{"settings":{},"arrays":{"' + b"long" * 10_000 + b'":1}}'
    ],
}  # fmt: skip
"""What is found, and the indexes of which it is."""


@pytest.mark.parametrize(
    ("reason", "index"),
    [(reason, index) for reason, indexes in INDEXES.items() for index in indexes],
    ids=lambda part: repr(part[:40]) if isinstance(part, bytes) else "",
)
def test_malformed_index_is_refused(
    parts: Parts, tmp_path: Path, reason: str, index: bytes
) -> None:
    assert reason in outcome(tmp_path / "m", join_model_bytes(index, parts.payload))


WILD: list[Any] = [
    -1, 0, 1, 2**31, 2**53, 2**62, 2**63, 2**64, 10**400, 0.5, 1e308, True, None, "1", [], [[]], {}, [1, 1], [-1], [0], [2**62], ["1"], [True],
    [1.0], "O", "|O8", "<f2", "<i8", "|b1", "<U4", "V8", ">u4", "<f8", "<u8", "|u1", "\ud800",
]  # fmt: skip


OF_PLACES = (
    "has a type that models do not use",
    "has an impossible shape or offset",
    "lies outside the file, over another array, or behind a gap",
    "the model is malformed: ",
)
"""What is found of an array that is not where it is said to be, or is not what it is said to be."""


@pytest.mark.parametrize("field", ["dtype", "shape", "offset"])
def test_invalid_array_descriptions_are_refused_or_give_a_working_model(
    parts: Parts, tmp_path: Path, field: str
) -> None:
    refused = 0
    for name in parts.decoded["arrays"]:
        for value in WILD:
            index = parts.decoded
            if (
                type(index["arrays"][name][field]) is type(value)
                and index["arrays"][name][field] == value
            ):
                continue
            index["arrays"][name][field] = value
            message = outcome(tmp_path / "m", join_model_bytes(index, parts.payload))
            assert not message or any(reason in message for reason in OF_PLACES), (
                name,
                value,
                message,
            )
            refused += bool(message)
    assert refused > len(WILD) * len(parts.decoded["arrays"]) * 0.9


def test_overlaps_and_gaps_are_refused(parts: Parts, tmp_path: Path) -> None:
    index = parts.decoded
    by_offset = sorted(index["arrays"], key=lambda name: index["arrays"][name]["offset"])
    index["arrays"][by_offset[1]]["offset"] = index["arrays"][by_offset[0]]["offset"]
    assert "over another array" in outcome(tmp_path / "m", join_model_bytes(index, parts.payload))
    index = parts.decoded
    first = index["arrays"][by_offset[0]]["offset"]
    for place in index["arrays"].values():
        place["offset"] += 20_000 * (place["offset"] > first)
    spread = parts.payload[: first + 200] + bytes(20_000) + parts.payload[first + 200 :]
    assert "behind a gap" in outcome(tmp_path / "m", join_model_bytes(index, spread))


@pytest.mark.parametrize(
    "change", ["renamed", "left out", "described in part", "described with more"]
)
def test_every_array_is_required_and_described_exactly(
    parts: Parts, tmp_path: Path, change: str
) -> None:
    for name in parts.decoded["arrays"]:
        index = parts.decoded
        place = index["arrays"].pop(name)
        if change == "renamed":
            index["arrays"][name + "_"] = place
        elif change == "described in part":
            index["arrays"][name] = {"dtype": place["dtype"], "shape": place["shape"]}
        elif change == "described with more":
            index["arrays"][name] = {**place, "order": "F"}
        message = outcome(tmp_path / "m", join_model_bytes(index, parts.payload))
        reason = (
            "is not described by dtype, shape and offset"
            if "described" in change
            else "the model is malformed: "
        )
        is_gap = "behind a gap" in message or "no array" in message
        assert reason in message or (change == "left out" and is_gap), name


SETTING_VALUES: list[Any] = [
    None, [], [[]], {}, {"a": []}, {"cats": 1}, {"cats": 0, "dogs": 0}, {"cats": 0, "dogs": 0, "else": 1}, {"cats": True, "dogs": "1"},
    10**400, 10**30, -1, 0, 1.5, 1e308, True, "", "x", "\0", "\ud800", "\udcff", "base64", "undefined", "none", "auto", "1" * 5000,
    "smoothed:", "smoothed:nan", "smoothed:1e999", "/etc/passwd", ["auto"],
]  # fmt: skip


def test_settings_of_another_type_are_refused_or_give_a_working_model(
    parts: Parts, tmp_path: Path
) -> None:
    works = 0
    places = [
        (part, name) for part in ("training", "reading") for name in parts.decoded["settings"][part]
    ]
    for part, name in [
        *places,
        ("", "training"),
        ("", "reading"),
        ("", "smoothing"),
        ("", "written_by"),
        ("training", "unheard_of"),
    ]:
        for value in SETTING_VALUES:
            index = parts.decoded
            (index["settings"][part] if part else index["settings"])[name] = value
            works += not outcome(tmp_path / "m", join_model_bytes(index, parts.payload))
    assert works


@pytest.mark.parametrize("filling", [b"{},", b"[],", b"1.5,", b'"ab",', b"-9,"])
def test_large_index_takes_little_memory(tmp_path: Path, filling: bytes) -> None:
    write_model_file("m", {}, {"x": np.zeros(10, np.uint8)})
    head = b'{"settings":{"a":['
    for size in ((1 << 22) - 200, 1 << 23):
        index = head + filling * ((size - 100) // len(filling)) + b'1]},"arrays":{}}'
        write("m", join_model_bytes(index, b"N."))
        error_line(nbtext("inspect -m m", limits=MEMORY), 3)


@pytest.mark.exhaustive
@pytest.mark.skipif(
    not HOSTILE.exists(), reason="the collection of hostile files is not beside the repository"
)
def test_hostile_files_are_refused_and_run_no_code(tmp_path: Path) -> None:
    assert run([sys.executable, HOSTILE, "files"]).status == 0
    files = sorted((tmp_path / "files").glob("*.joblib"))
    assert len(files) > 30
    code = "import sys; from nbtext.cli.main import run; print(*[run(['inspect', '-m', path]) for path in sys.argv[1:]])"
    done = run([sys.executable, "-c", code, *files], env=ENVIRONMENT, limits=MEMORY)
    assert done.status == 0, done
    assert done.text.split() == ["3"] * len(files)
    refusals = (
        "not an nbtext model; make one with nbtext train",
        "a pickle, not an nbtext model, and nbtext does not unpickle; write the model with model.save()",
    )
    for file, note in zip(files, done.notes, strict=True):
        assert note in {f"nbtext: {file}: {refusal}" for refusal in refusals}
    for file in files[::9]:
        error_line(nbtext("inspect -m", file, limits=MEMORY), 3)
    assert not (tmp_path / "PWNED").exists()
