"""A prediction names its model: fingerprints in outputs, and the backups that are named by them.

Also tests `nbtext.model.locked_model.Backups`.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from nbtext import TextClassifier
from nbtext.store.model_file import FINGERPRINT_BYTES, read_digest
from tests.process import content, corpus, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


def inspect_fingerprint(model: str = "nbtext.joblib") -> str:
    return str(json.loads(succeed("inspect --output json -m", model).out)["fingerprint"])


def add_document(text: str, *options: str) -> str:
    """Add a document about cats to the model, and return the fingerprint of the changed model."""
    succeed("update - --label cats", *options, stdin=text.encode())
    return inspect_fingerprint()


def list_backups() -> set[str]:
    return {name for name in os.listdir() if name.startswith("nbtext.joblib.")}


def test_every_output_has_the_fingerprint_of_the_model(pets: Path) -> None:
    fingerprint = inspect_fingerprint()
    assert fingerprint == read_digest("nbtext.joblib")[:FINGERPRINT_BYTES].hex()
    assert f"fingerprint  {fingerprint}" in succeed("inspect").text
    corpus(pets, {"in/1": "a cat", "in/2": "zzz", "in/3": b"\0"})
    done = nbtext("classify in --drift drift.log -o jsonl --log-format json")
    assert [record["model"] for record in done.records] == [fingerprint] * 3
    assert [json.loads(line)["model"] for line in done.notes] == [fingerprint]
    assert json.loads(content("drift.log"))["fingerprint"] == fingerprint
    for options in ("", "--why-not dogs"):
        [record] = succeed(f"explain --text purr -o jsonl {options}").records
        assert record["model"] == fingerprint
    mail = succeed("classify --mail-filter", stdin=b"Subject: a cat\n\nit purrs\n").text
    assert f"; model={fingerprint}\n" in mail


def test_fingerprint_depends_on_content_alone(pets: Path) -> None:
    for name, options in (("one", ""), ("equal", ""), ("other", "--smoothing 2")):
        succeed(f"train pets {options} -m {name}")
    assert inspect_fingerprint("one") == inspect_fingerprint("equal")
    assert inspect_fingerprint("one") != inspect_fingerprint("other")


def test_fingerprint_of_a_model_in_python(pets: Path) -> None:
    model = TextClassifier.load("nbtext.joblib")
    [prediction] = model.predict_records(["it barks"])
    assert model.fitted.fingerprint == prediction.model == inspect_fingerprint()
    model.partial_fit(["it hisses"], ["cats"])  # no longer the model of the file
    [prediction] = model.predict_records(["it barks"])
    assert model.fitted.fingerprint is prediction.model is None


def test_model_of_an_old_prediction_explains_it(pets: Path) -> None:
    write("letter", "it hisses")
    before = json.loads(succeed("classify letter -o jsonl").out)
    explained = succeed("explain letter -o jsonl").out
    assert json.loads(explained)["model"] == before["model"]
    for text in ("it hisses", "it hisses again"):
        add_document(text, "--keep-backups", "5")
    assert json.loads(succeed("classify letter -o jsonl").out) != before
    old_model = f"nbtext.joblib.{before['model']}"
    assert succeed("explain letter -o jsonl -m", old_model).out == explained
    assert json.loads(succeed("classify letter -o jsonl -m", old_model).out) == before


def test_newest_backups_are_kept(pets: Path) -> None:
    write("nbtext.joblib.0123456789ab", "not a model")
    write("nbtext.joblib.1", "the backup of --backup")
    strangers = list_backups()
    fingerprints = [inspect_fingerprint()]
    fingerprints += [add_document(f"cat {number}", "--keep-backups", "2") for number in range(4)]
    assert fingerprints == list(dict.fromkeys(fingerprints))
    assert list_backups() == strangers | {f"nbtext.joblib.{name}" for name in fingerprints[2:4]}
    add_document("another cat", "--backup")
    assert inspect_fingerprint("nbtext.joblib.1") == fingerprints[4]
    assert len(list_backups()) == 4


def test_backup_can_be_promoted(pets: Path) -> None:
    old = content("nbtext.joblib")
    fingerprint = inspect_fingerprint()
    newer = add_document("it hisses", "--keep-backups", "1")
    succeed(f"promote nbtext.joblib.{fingerprint} --keep-backups 1")
    assert (content("nbtext.joblib"), list_backups()) == (old, {f"nbtext.joblib.{newer}"})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may remove every file")
def test_model_stays_if_an_old_backup_cannot_be_removed(pets: Path) -> None:
    fingerprint = add_document("it hisses", "--keep-backups", "1")
    old_backups = list_backups()
    (pets / "nbtext.joblib").chmod(0o600)
    pets.chmod(0o500)
    try:
        fail(4, "update - --label cats --keep-backups 1", stdin=b"a cat")
    finally:
        pets.chmod(0o700)
    assert (inspect_fingerprint(), list_backups()) == (fingerprint, old_backups)


def test_number_of_backups_is_checked(pets: Path) -> None:
    assert "--keep-backups must be a whole number from 0, not '-1'" in fail(
        2, "update pets --keep-backups -1"
    )
