"""`--deduplicate` of `nbtext train`, `--skip-known` of `update`, `--skip-unknown` of `forget`, and the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext import TextClassifier
from nbtext.model.locked_model import lock_model
from nbtext.store.ledger import FINGERPRINT_DTYPE, Ledger, compute_fingerprint
from tests.model_changes import FIRST, damage_ledger
from tests.process import PETS, content, corpus, fail, in_json, names, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def test_updates_with_once_equal_one_training_with_once(days: Path) -> None:
    succeed("train a --deduplicate")
    for day, said in (("b", "added 1 document; moved from another class: 1, already in the model: 1, repeated in the input: 1"),
                      ("c", "added 1 document; moved from another class: 1, already in the model: 0, repeated in the input: 0")):  # fmt: skip
        for again in (False, True):
            before = content("nbtext.joblib")
            notes = nbtext("update", day, "--skip-known", "-v").notes
            assert notes[0].startswith(
                "nbtext: added 0 documents; moved from another class: 0, "
                if again
                else f"nbtext: {said}"
            )
            assert len(notes) == (3 if day == "b" and not again else 2)  # a new class is named
            assert (content("nbtext.joblib") == before) == again
    succeed("train a b c --deduplicate -m at-once")
    assert content("nbtext.joblib") == content("at-once")
    corpus(
        days,
        {
            "all/cats/1": "the cat purrs",
            "all/cats/2": "a cat climbs",
            "all/cats/3": "a puppy sleeps",
        },
    )
    corpus(
        days,
        {
            "all/dogs/1": "the dog barks",
            "all/dogs/2": "the bird sings",
            "all/dogs/3": "the dog swims",
        },
    )
    succeed("train all -m plain")
    assert content("nbtext.joblib") != content("plain")
    succeed("prune --ledger")
    assert content("nbtext.joblib") == content("plain")


def test_update_without_once_counts_duplicates_and_keeps_the_ledger(days: Path) -> None:
    succeed("train a --deduplicate")
    told = "added without --skip-known: 4 documents; nbtext update --skip-known would add the same documents again"
    for _ in range(2):
        done = nbtext("update b")
        assert (done.status, done.notes) == (0, [f"nbtext: warning: {told}"])
    assert in_json("inspect")["documents"] == 12
    notes = nbtext("update a b --skip-known -v").notes
    assert (
        notes[0]
        == "nbtext: added 1 document; moved from another class: 1, already in the model: 3, repeated in the input: 3"
    )


def test_model_without_a_ledger_gets_one_with_a_warning(days: Path) -> None:
    succeed("train a")
    done = nbtext("update c --skip-known")
    assert (done.status, done.notes) == (
        0,
        [
            "nbtext: warning: the model had no ledger of its 4 documents; if the added documents are among them, they count twice"
        ],
    )
    succeed("update c --skip-known")


def test_ledger_is_kept_by_relabel_and_prune(
    days: Path,
) -> None:
    succeed("train a --deduplicate")
    succeed("relabel dogs hounds")
    corpus(days, {"d/hounds/1": FIRST["a/dogs/1"], "d/hounds/2": FIRST["a/dogs/2"]})
    assert ", already in the model: 2," in nbtext("update d --skip-known -v").notes[0]
    succeed("prune --min-df 2")
    notes = nbtext("update b --skip-known -v").notes
    assert (
        notes[0]
        == "nbtext: added 1 document; moved from another class: 2, already in the model: 0, repeated in the input: 1"
    )


def test_backup_keeps_its_ledger(days: Path) -> None:
    succeed("train a --deduplicate")
    succeed("update c --skip-known --backup")
    updated = content("nbtext.joblib")
    (days / "nbtext.joblib.1").replace(days / "nbtext.joblib")
    assert nbtext("update a c --skip-known -v").notes[0].startswith("nbtext: added 2 documents;")
    assert content("nbtext.joblib") == updated


@pytest.mark.parametrize(
    "command",
    [
        "update c",
        "update c --skip-known",
        "forget c",
        "forget a --skip-unknown",
        "relabel cats kittens",
        "prune --min-df 1",
    ],
)
def test_commands_refuse_a_damaged_ledger_and_change_nothing(days: Path, command: str) -> None:
    succeed("train a c --deduplicate")
    damaged = damage_ledger()
    line = "nbtext: nbtext.joblib: the ledger is damaged: its checksum is wrong; nbtext prune --ledger removes it"
    assert fail(3, command) == line
    assert content("nbtext.joblib") == damaged


def test_doctor_reports_a_damaged_ledger(days: Path) -> None:
    succeed("train a --deduplicate")
    damage_ledger()
    done = nbtext("doctor")
    message = "nbtext: nbtext.joblib: the ledger is damaged: its checksum is wrong; nbtext prune --ledger removes it"
    assert (done.status, done.notes) == (3, [message])
    succeed("prune --ledger")
    succeed("doctor")


@pytest.mark.parametrize("command", ["update c --skip-known", "forget a --skip-unknown"])
def test_malformed_ledger_is_refused(days: Path, command: str) -> None:
    succeed("train a --deduplicate")
    damage_ledger()
    succeed("classify a")  # reads no ledger
    succeed("prune --ledger")
    assert "had no ledger" in nbtext("update c --skip-known").notes[0]
    TextClassifier.load("nbtext.joblib").save(
        "nbtext.joblib", b"\x02\0\0\0{}"
    )  # with a true checksum
    reason = "its labels are not a list of text"
    assert (
        fail(3, command)
        == f"nbtext: nbtext.joblib: the ledger is damaged: {reason}; nbtext prune --ledger removes it"
    )


def test_ledger_has_the_permissions_of_the_model(days: Path) -> None:
    succeed("train a --deduplicate")
    for mode, day in ((0o600, "b"), (0o640, "c"), (0o664, "a")):
        (days / "nbtext.joblib").chmod(mode)
        succeed("update", day, "--skip-known")
        assert {path.name: path.stat().st_mode & 0o777 for path in days.glob("nbtext.joblib*")} == {
            "nbtext.joblib": mode
        }


def test_ledger_is_written_through_a_link(days: Path) -> None:
    (days / "real").mkdir()
    (days / "link").symlink_to("real/model")
    succeed("train a --deduplicate -m link")
    succeed("update b --skip-known --backup -m link")
    assert names(days / "real") == ["model", "model.1"]
    assert (days / "link").is_symlink()


SEVERAL = "1 text under several labels: first c/cats/2 (cats) and c/zebras/copy (zebras); keep one of them; train --deduplicate keeps the last"


def test_duplicates_in_one_class_are_counted_once(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            **{f"c/{name}": text for name, text in PETS.items()},
            "c/cats/copy": PETS["cats/1"],
            "c/zebras/copy": PETS["cats/2"],
        },
    )
    succeed("train c --deduplicate")
    assert f"nbtext: {SEVERAL}" in nbtext("train c --deduplicate -v").notes
    assert f"nbtext: {SEVERAL}" in nbtext("update c --skip-known -v").notes
    classes = in_json("inspect")["classes"]
    assert {label: of["documents"] for label, of in classes.items()} == {
        "cats": 1,
        "dogs": 2,
        "zebras": 1,
    }


def test_logistic_models_can_be_trained_with_once(days: Path) -> None:
    succeed("train a b --deduplicate --classifier logistic")
    corpus(
        days,
        {
            "all/cats/1": "the cat purrs",
            "all/cats/2": "a cat climbs",
            "all/cats/3": "a puppy sleeps",
        },
    )
    corpus(days, {"all/dogs/1": "the dog barks", "all/birds/2": "the bird sings"})
    succeed("train all --classifier logistic -m plain")
    rows = [succeed("classify all -m", model).rows for model in ("nbtext.joblib", "plain")]
    assert rows[0] == rows[1]


def test_ledger_that_contradicts_the_model_is_refused(days: Path) -> None:
    succeed("train a --deduplicate")
    with lock_model("nbtext.joblib", lock_timeout=0) as file:
        known = np.frombuffer(compute_fingerprint(b"the bird sings"), FINGERPRINT_DTYPE)
        file.replace(file.load(), Ledger.empty().with_labels(known, ["cats"]))
    before = content("nbtext.joblib")
    line = fail(2, "update c --skip-known")
    assert (
        line
        == "nbtext: c/dogs/1: was never added as 'cats'; the ledger says otherwise; begin a new one with nbtext train --deduplicate"
    )
    assert content("nbtext.joblib") == before
