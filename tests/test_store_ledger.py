from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext.errors import ModelError
from nbtext.model.operations import join_ledgers
from nbtext.store.ledger import (
    ABSENT_LABEL,
    FINGERPRINT_DTYPE,
    Ledger,
    compute_fingerprint,
)
from nbtext.store.model_file import (
    NO_MODEL_DIGEST,
    read_digest,
    read_ledger_bytes,
    read_model_file,
    write_model_file,
)
from tests.process import ENVIRONMENT, run

if TYPE_CHECKING:
    from pathlib import Path

KEYS = [
    b"\0" * 16,
    b"\0" * 15 + b"\1",
    b"\1" + b"\0" * 15,
    b"\xff" * 16,
    b"ab" + b"\0" * 14,
    *(compute_fingerprint(b"%d" % n) for n in range(6)),
]
"""Fingerprints, some of which end in zero bytes."""

entries = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["x", "y", "é\n", "☃"]))
FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

Entries = dict[bytes, str]


def ledger(of: Entries) -> Ledger:
    return Ledger.empty().with_labels(keys(list(of)), list(of.values()))


def keys(of: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(of), FINGERPRINT_DTYPE)


def contents(found: Ledger | None) -> Entries:
    """The ledger as a dictionary, through what it gives to whoever asks."""
    assert found is not None
    assert np.all(found.fingerprints[1:] > found.fingerprints[:-1])
    numbers = found.find(keys(KEYS)).tolist()
    assert len(found) == sum(number != ABSENT_LABEL for number in numbers)
    return {
        key: found.labels[number]
        for key, number in zip(KEYS, numbers, strict=True)
        if number != ABSENT_LABEL
    }


@given(entries, st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["x", "z", None])))
def test_ledger_behaves_like_a_dictionary(first: Entries, changes: dict[bytes, str | None]) -> None:
    expected = {key: label for key, label in {**first, **changes}.items() if label is not None}
    assert (
        contents(ledger(first).with_labels(keys(list(changes)), list(changes.values()))) == expected
    )


@given(st.lists(entries, min_size=1, max_size=4))
def test_joined_ledgers_behave_like_updated_dictionaries(parts: list[Entries]) -> None:
    expected: Entries = {}
    for part in parts:
        expected |= part
    found, repeated = join_ledgers([ledger(part) for part in parts])
    assert found is not None
    assert contents(found) == expected
    assert repeated == sum(sum(key in part for part in parts) > 1 for key in KEYS)


@given(entries, st.sampled_from("xyz"), st.sampled_from("xyz"))
def test_labels_are_renamed(first: Entries, old: str, new: str) -> None:
    assert contents(ledger(first).relabel(lambda label: new if label == old else label)) == {
        key: new if label == old else label for key, label in first.items()
    }


@given(entries)
def test_ledger_section_is_read_back_and_equal_entries_give_equal_bytes(held: Entries) -> None:
    content = ledger(held).to_bytes()
    assert contents(Ledger.from_bytes(content)) == held
    assert len(content) < 100 + 20 * len(held)
    more = ledger({**dict(reversed(held.items())), KEYS[0]: "w"}).with_labels(
        keys([KEYS[0]]), [held.get(KEYS[0])]
    )
    assert more.to_bytes() == content


@pytest.mark.parametrize(
    ("begin", "patch", "message"),
    [
        (0, b"\xff\xff\xff\xff", "length"),
        (4, b"!", "not a list of text"),
        (5, b"1 ", "not a list of text"),
        (-4, b"\x09\0\0\0", "no label"),
        (-4, b"\xfe\xff\xff\xff", "no label"),
        (-5, None, "length"),
    ],
)
def test_malformed_sections_are_refused(begin: int, patch: bytes | None, message: str) -> None:
    content = bytearray(ledger({KEYS[0]: "x", KEYS[3]: "y"}).to_bytes())
    begin %= len(content)
    content[begin:] = b"" if patch is None else patch + content[begin + len(patch) :]
    with pytest.raises(ModelError, match=message):
        Ledger.from_bytes(bytes(content))


def test_unsorted_entries_are_refused() -> None:
    content = ledger({KEYS[0]: "x", KEYS[3]: "x"}).to_bytes()
    with pytest.raises(ModelError, match="not sorted"):
        Ledger.from_bytes(content.replace(KEYS[0] + KEYS[3], KEYS[3] + KEYS[0]))


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, bytes, int]:
    """A model file with a ledger, its content, and where its ledger begins."""
    path, section = tmp_path / "m", ledger({KEYS[0]: "x", KEYS[3]: "y"}).to_bytes()
    write_model_file(str(path), {}, {}, section)
    assert read_ledger_bytes(str(path)) == section
    content = path.read_bytes()
    return path, content, len(content) - len(section)


def test_every_flipped_bit_is_detected(written: tuple[Path, bytes, int]) -> None:
    path, content, begin = written
    for at in range(begin, len(content)):
        path.write_bytes(content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :])
        with pytest.raises(
            ModelError,
            match="the ledger is damaged: its checksum is wrong; nbtext prune ledger removes it",
        ) as raised:
            read_ledger_bytes(str(path))
        assert raised.value.where == str(path)


def test_every_truncation_is_detected(written: tuple[Path, bytes, int]) -> None:
    path, content, begin = written
    for damaged in (*(content[:end] for end in range(begin, len(content))), content + b"\0"):
        path.write_bytes(damaged)
        size, whole = len(damaged) - begin, len(content) - begin
        with pytest.raises(
            ModelError,
            match=f"the ledger is damaged: it has {size} bytes, the index says {whole}; nbtext prune",
        ):
            read_ledger_bytes(str(path))
        assert read_model_file(str(path))[:2] == ({}, {})


def test_fingerprint_is_half_of_a_digest() -> None:
    assert compute_fingerprint(b"abc") == bytes.fromhex(
        "ba7816bf8f01cfea414140de5dae2223"
    )  # FIPS 180-4, example


def test_model_is_identified_by_the_digest_in_its_header(tmp_path: Path) -> None:
    path = tmp_path / "model"
    found = []
    for number in (1, 2, 1):
        write_model_file(str(path), {"number": number}, {"terms": np.zeros(4, np.uint8)})
        found.append(read_digest(str(path)))
        content = path.read_bytes()
        assert found[-1] == hashlib.sha256(content[:31] + content[63:]).digest() == content[31:63]
    assert found[0] == found[2] != found[1]
    for other in (b"", content[:62], b"x" + content[1:]):
        path.write_bytes(other)
        assert read_digest(str(path)) == NO_MODEL_DIGEST
    assert read_digest(str(tmp_path)) == read_digest(str(tmp_path / "none")) == NO_MODEL_DIGEST


def test_model_that_cannot_be_opened_temporarily_is_not_treated_as_missing(tmp_path: Path) -> None:
    write_model_file(str(tmp_path / "model"), {}, {})
    code = (
        "import resource, sys; from nbtext.store.model_file import read_digest\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); read_digest(sys.argv[1])"
    )
    assert b"ModelError: " in (
        err := run([sys.executable, "-c", code, tmp_path / "model"], env=ENVIRONMENT).err
    )
    assert err.endswith(b"model: cannot read the model: too many open files\n")
