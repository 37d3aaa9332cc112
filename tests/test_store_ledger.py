from __future__ import annotations

import hashlib
import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext.errors import ModelError, PathError
from nbtext.model.changing import join_ledgers
from nbtext.store.ledger import (
    ABSENT,
    FINGERPRINT,
    Ledger,
    fingerprint,
    ledger_path,
    read_ledger,
)
from nbtext.store.model_file import NO_MODEL, model_digest, write_model_file
from tests.process import HOUSE, REPOSITORY, run

if TYPE_CHECKING:
    from pathlib import Path

ONCE = REPOSITORY / "tests/fixtures/once"
BEFORE, AFTER = ((ONCE / name).read_bytes()[31:63] for name in ("before", "model"))
OTHER = hashlib.sha256(b"other").digest()
KEYS = [b"\0" * 16, b"\0" * 15 + b"\1", b"\1" + b"\0" * 15, b"\xff" * 16, b"ab" + b"\0" * 14, *(fingerprint(b"%d" % n) for n in range(6))]
"""Fingerprints, some of which end in zero bytes."""

entries = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["x", "y", "é\n", "☃"]))
FEW = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

Entries = dict[bytes, str]


def ledger(of: Entries) -> Ledger:
    return Ledger.empty().changed(keys(list(of)), list(of.values()))


def keys(of: list[bytes]) -> np.ndarray:
    return np.frombuffer(b"".join(of), FINGERPRINT)


def contents(found: Ledger | None) -> Entries:
    """The ledger as a dictionary, through what it gives to whoever asks."""
    assert found is not None
    assert np.all(found.fingerprints[1:] > found.fingerprints[:-1])
    numbers = found.find(keys(KEYS)).tolist()
    assert len(found) == sum(number != ABSENT for number in numbers)
    return {key: found.labels[number] for key, number in zip(KEYS, numbers, strict=True) if number != ABSENT}


@given(entries, st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["x", "z", None])))
def test_a_ledger_is_a_dictionary(first: Entries, changes: dict[bytes, str | None]) -> None:
    expected = {key: label for key, label in {**first, **changes}.items() if label is not None}
    assert contents(ledger(first).changed(keys(list(changes)), list(changes.values()))) == expected


@given(st.lists(entries, min_size=1, max_size=4))
def test_ledgers_are_joined_as_dictionaries_are(parts: list[Entries]) -> None:
    expected: Entries = {}
    for part in parts:
        expected |= part
    found, repeated = join_ledgers([ledger(part) for part in parts])
    assert found is not None
    assert contents(found) == expected
    assert repeated == sum(sum(key in part for part in parts) > 1 for key in KEYS)


@given(entries, st.sampled_from("xyz"), st.sampled_from("xyz"))
def test_labels_are_renamed(first: Entries, old: str, new: str) -> None:
    assert contents(ledger(first).relabelled(lambda label: new if label == old else label)) == {
        key: new if label == old else label for key, label in first.items()
    }


@given(entries)
def test_a_section_holds_the_ledger_and_equal_entries_are_the_same_bytes(held: Entries) -> None:
    content = ledger(held).to_bytes()
    assert contents(Ledger.of_bytes(content)) == held
    assert len(content) < 100 + 20 * len(held)
    more = ledger({**dict(reversed(held.items())), KEYS[0]: "w"}).changed(keys([KEYS[0]]), [held.get(KEYS[0])])
    assert more.to_bytes() == content


@pytest.mark.parametrize(
    ("begin", "patch", "message"),
    [
        (0, b"\xff\xff\xff\xff", "length"),
        (4, b"!", "not a list of text"),
        (5, b"1 ", "not a list of text"),
        (-4, b"\x09\0\0\0", "no label"),
        (-5, None, "length"),
    ],
)
def test_hostile_sections(begin: int, patch: bytes | None, message: str) -> None:
    content = bytearray(ledger({KEYS[0]: "x", KEYS[3]: "y"}).to_bytes())
    begin %= len(content)
    content[begin:] = b"" if patch is None else patch + content[begin + len(patch) :]
    with pytest.raises(ModelError, match=message):
        Ledger.of_bytes(bytes(content))


def test_both_ledgers_beside_a_model_of_format_1(written: tuple[Path, bytes]) -> None:
    path, _ = written
    before, after = (read_ledger(str(path), model) for model in (BEFORE, AFTER))
    assert before is not None
    assert after is not None
    assert (len(before), len(after)) == (4, 6)
    for model in (OTHER, NO_MODEL):
        with pytest.raises(ModelError, match="belongs to another model; begin a new one with nbtext train once, or remove it"):
            read_ledger(str(path), model)


def test_where_there_is_none(tmp_path: Path) -> None:
    assert read_ledger(str(tmp_path / "ledger"), BEFORE) is None


def test_it_lies_beside_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/model")
    assert ledger_path(str(tmp_path / "link")) == str(tmp_path / "real/model.ledger")


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, bytes]:
    path, content = tmp_path / "model.ledger", (ONCE / "model.ledger").read_bytes()
    path.write_bytes(content)
    return path, content


def test_every_flipped_bit_and_every_truncation_is_found(written: tuple[Path, bytes]) -> None:
    path, content = written
    damaged = [content[:end] for end in range(len(content))] + [content + b"\0"]
    damaged += [content[:at] + bytes([content[at] ^ (1 << at % 8)]) + content[at + 1 :] for at in range(len(content))]
    for found in damaged:
        path.write_bytes(found)
        with pytest.raises(ModelError, match=r"damaged|newer nbtext") as raised:
            read_ledger(str(path), AFTER)
        assert raised.value.where == str(path)


@pytest.mark.parametrize(
    ("begin", "patch", "message"),
    [
        (8, b"\x02\0\0\0", "made by a newer nbtext"),
        (8, b"\0\0\0\0", "no format"),
        (12, b"\xff\xff\xff\xff", "length"),
        (16, b"\xff" * 8, "length"),
        (24, b"\xff" * 7 + b"\x7f", "length"),
        (128, b"!", "not a list of text"),
        (129, b"1 ", "not a list of text"),
        (-4, b"\x09\0\0\0", "no label"),
        (-4, b"\xfe\xff\xff\xff", "no label"),
        (-12, b"", ""),
    ],
)
def test_hostile_ledgers_with_a_true_checksum(written: tuple[Path, bytes], begin: int, patch: bytes, message: str) -> None:
    path, content = written
    begin %= len(content)
    changed = bytearray(content)
    changed[begin : begin + len(patch)] = patch
    changed[96:128] = hashlib.sha256(changed[:96] + changed[128:]).digest()
    path.write_bytes(changed)
    if not patch:
        assert read_ledger(str(path), AFTER) is not None
        return
    with pytest.raises(ModelError, match=message):
        read_ledger(str(path), AFTER)


def test_entries_out_of_order_are_refused(written: tuple[Path, bytes]) -> None:
    path, content = written
    at = 128 + int.from_bytes(content[12:16], "little")
    changed = content[:at] + content[at + 16 : at + 32] + content[at : at + 16] + content[at + 32 :]
    path.write_bytes(changed[:96] + hashlib.sha256(changed[:96] + changed[128:]).digest() + changed[128:])
    with pytest.raises(ModelError, match="not sorted"):
        read_ledger(str(path), BEFORE)


def test_what_is_no_file_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PathError, match="is a directory"):
        read_ledger(str(tmp_path / "folder"), BEFORE)
    with pytest.raises(PathError, match="not a regular file; remove it"):
        read_ledger(str(tmp_path / "pipe"), BEFORE)


def test_a_fingerprint_is_half_of_a_digest() -> None:
    assert fingerprint(b"abc") == bytes.fromhex("ba7816bf8f01cfea414140de5dae2223")  # FIPS 180-4, example


def test_a_model_is_told_by_the_digest_in_its_header(tmp_path: Path) -> None:
    path = tmp_path / "model"
    found = []
    for number in (1, 2, 1):
        write_model_file(str(path), {"number": number}, {"terms": np.zeros(4, np.uint8)})
        found.append(model_digest(str(path)))
        content = path.read_bytes()
        assert found[-1] == hashlib.sha256(content[:31] + content[63:]).digest() == content[31:63]
    assert found[0] == found[2] != found[1]
    for other in (b"", content[:62], b"x" + content[1:]):
        path.write_bytes(other)
        assert model_digest(str(path)) == NO_MODEL
    assert model_digest(str(tmp_path)) == model_digest(str(tmp_path / "none")) == NO_MODEL


def test_a_model_that_cannot_be_opened_just_now_is_not_taken_for_none(tmp_path: Path) -> None:
    write_model_file(str(tmp_path / "model"), {}, {})
    code = (
        "import resource, sys; from nbtext.store.model_file import model_digest\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); model_digest(sys.argv[1])"
    )
    assert b"ModelError: " in (err := run([sys.executable, "-c", code, tmp_path / "model"], env=HOUSE).err)
    assert err.endswith(b"model: cannot read the model: too many open files\n")
