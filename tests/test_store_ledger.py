from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtext.errors import ModelError, PathError
from nbtext.model.changing import join_ledgers
from nbtext.store.ledger import (
    ABSENT,
    FINGERPRINT,
    NO_MODEL,
    Ledger,
    StaleLedgerError,
    fingerprint,
    ledger_path,
    read_ledger,
    write_ledger,
)
from nbtext.store.model_file import model_digest, write_model_file
from tests.process import HOUSE, run

BEFORE, AFTER, OTHER = (hashlib.sha256(name).digest() for name in (b"before", b"after", b"other"))
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
    assert contents(ledger(first).relabelled(old, new)) == {key: new if label == old else label for key, label in first.items()}


@FEW
@given(old=entries, new=entries)
def test_which_of_two_ledgers_is_true_the_model_tells(old: Entries, new: Entries, tmp_path: Path) -> None:
    path = ledger_path(str(tmp_path / "model"))
    write_ledger(str(tmp_path / "model"), (BEFORE, ledger(old)), (AFTER, ledger(new)))
    assert contents(read_ledger(path, BEFORE)) == old
    assert contents(read_ledger(path, AFTER)) == new
    for model in (OTHER, NO_MODEL):
        with pytest.raises(StaleLedgerError, match="belongs to another model; begin a new one with nbtext train once, or remove it"):
            read_ledger(path, model)
    assert Path(path).stat().st_size < 400 + 20 * (len(old) + len({*old, *new}))


def test_a_model_that_stays_the_same_has_the_ledger_that_was_written_last(tmp_path: Path) -> None:
    path = ledger_path(str(tmp_path / "model"))
    write_ledger(str(tmp_path / "model"), (BEFORE, ledger({KEYS[0]: "x"})), (BEFORE, ledger({KEYS[0]: "y"})))
    assert contents(read_ledger(path, BEFORE)) == {KEYS[0]: "y"}


@FEW
@given(old=entries, new=entries)
def test_the_same_entries_are_the_same_bytes(old: Entries, new: Entries, tmp_path: Path) -> None:
    files = []
    for turn in (1, -1):
        model = str(tmp_path / f"model{turn}")
        backwards = [dict(list(of.items())[::turn]) for of in (old, new)]
        with_more = ledger({**backwards[0], KEYS[0]: "w"}).changed(keys([KEYS[0]]), [backwards[0].get(KEYS[0])])
        write_ledger(model, (BEFORE, with_more), (AFTER, ledger(backwards[1])))
        files.append(Path(ledger_path(model)).read_bytes())
    assert files[0] == files[1]


def test_where_there_is_none(tmp_path: Path) -> None:
    assert read_ledger(str(tmp_path / "ledger"), BEFORE) is None


def test_it_lies_beside_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/model")
    assert ledger_path(str(tmp_path / "link")) == str(tmp_path / "real/model.ledger")


@pytest.fixture
def written(tmp_path: Path) -> tuple[Path, bytes]:
    path = tmp_path / "model.ledger"
    write_ledger(str(tmp_path / "model"), (BEFORE, ledger({KEYS[0]: "x", KEYS[3]: "y"})), (AFTER, ledger({KEYS[0]: "y", KEYS[5]: "é"})))
    return path, path.read_bytes()


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
        (8, b"\0\0\0\0", "no label"),
        (12, b"\xff\xff\xff\xff", "length"),
        (16, b"\xff" * 8, "length"),
        (24, b"\xff" * 7 + b"\x7f", "length"),
        (128, b"!", "no list of text"),
        (129, b"1 ", "no list of text"),
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
    at = content.index(KEYS[0] + KEYS[3])
    changed = content[:at] + KEYS[3] + KEYS[0] + content[at + 32 :]
    path.write_bytes(changed[:96] + hashlib.sha256(changed[:96] + changed[128:]).digest() + changed[128:])
    with pytest.raises(ModelError, match="not sorted"):
        read_ledger(str(path), BEFORE)


def test_what_is_no_file_is_no_ledger(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PathError, match="is a directory"):
        read_ledger(str(tmp_path / "folder"), BEFORE)
    with pytest.raises(PathError, match="no regular file; remove it"):
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
        assert model_digest(str(path)) is None
    assert model_digest(str(tmp_path)) is model_digest(str(tmp_path / "none")) is None


def test_a_model_that_cannot_be_opened_just_now_is_not_taken_for_none(tmp_path: Path) -> None:
    write_model_file(str(tmp_path / "model"), {}, {})
    code = (
        "import resource, sys; from nbtext.store.model_file import model_digest\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)); model_digest(sys.argv[1])"
    )
    assert b"ModelError: " in (err := run([sys.executable, "-c", code, tmp_path / "model"], env=HOUSE).err)
    assert err.endswith(b"model: cannot read the model: too many open files\n")
