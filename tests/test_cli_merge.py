"""`nbtext merge`: several models to one, and their ledgers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.model_changes import damage_ledger, inspect_json
from tests.process import content, corpus, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def test_merge_writes_one_model_of_all_documents(pets_and_more: Path) -> None:
    succeed("train more -m second")
    succeed("merge nbtext.joblib second --to new")
    succeed("merge second nbtext.joblib --to second")
    assert content("new") == content("second") == content("both")


@pytest.mark.parametrize("output", ["first", "second", "new"])
def test_merge_merges_ledgers(days: Path, output: str) -> None:
    corpus(days, {"e/dogs/1": "the dog swims", "e/birds/1": "the bird sings"})
    for models in (("first", "a"), ("second", "e"), ("whole", "a", "e")):
        succeed("train", *models[1:], "--deduplicate", "-m", models[0])
    succeed("merge first second --to", output)
    assert content(output) == content("whole")
    notes = nbtext("update a e c --skip-known -v -m", output).notes
    assert (
        notes[0]
        == "nbtext: added 0 documents; moved from another class: 1, already in the model: 5, repeated in the input: 2"
    )
    succeed("train a e c --deduplicate -m whole")
    assert content(output) == content("whole")


def test_restored_backup_of_a_merged_model_has_its_own_ledger(days: Path) -> None:
    for model, documents in (("first", "a"), ("second", "b")):
        succeed("train", documents, "--deduplicate", "-m", model)
    assert nbtext("merge first second --to first --backup -q").status == 0
    (days / "first.1").replace(days / "first")
    notes = nbtext("update a c --skip-known -v -m first").notes
    assert (
        notes[0]
        == "nbtext: added 2 documents; moved from another class: 0, already in the model: 4, repeated in the input: 0"
    )


def test_document_in_two_ledgers_is_reported_and_kept_under_the_last_label(
    days: Path,
) -> None:
    succeed("train a --deduplicate -m first")
    succeed("train b --deduplicate -m second")
    done = nbtext("merge first second --to first")
    told = "in more than one of the models, so they count more than once: 2 documents"
    assert (done.status, done.notes) == (0, [f"nbtext: warning: {told}"])
    assert inspect_json(days, "first")["documents"] == 7
    assert ", already in the model: 3," in nbtext("update b --skip-known -v -m first").notes[0]
    assert inspect_json(days, "first")["documents"] == 7


@pytest.mark.parametrize("output", ["first", "second", "new"])
def test_merge_reports_models_without_a_ledger(days: Path, output: str) -> None:
    succeed("train a --deduplicate -m first")
    succeed("train c -q -m second")
    succeed("train c -q -m third")
    told = "second, third: no usable ledger, so nbtext update --skip-known may add its documents again: 4 documents"
    done = nbtext("merge first second third --to", output)
    assert (done.status, done.notes) == (0, [f"nbtext: warning: {told}"])
    assert (
        nbtext("update a c --skip-known -v -m", output)
        .notes[0]
        .startswith("nbtext: added 2 documents; moved from another")
    )


def test_merge_treats_a_damaged_ledger_as_missing(days: Path) -> None:
    for model, documents in (("first", "a"), ("second", "c")):
        succeed("train", documents, "--deduplicate", "-q", "-m", model)
    damage_ledger("second")
    told = "second: no usable ledger, so nbtext update --skip-known may add its documents again: 2 documents"
    for output in ("new", "first"):
        assert nbtext("merge first second --to", output).notes == [f"nbtext: warning: {told}"]
        assert (
            nbtext("update a --skip-known -v -m", output)
            .notes[0]
            .startswith("nbtext: added 0 documents;")
        )
