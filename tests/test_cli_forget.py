"""`nbtext forget`: documents taken out of a model, by counts alone and by the ledger of what was learnt once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model_changes import fail_unchanged
from tests.process import PETS, content, corpus, fail, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def test_forgetting_an_unknown_document_is_refused_and_changes_nothing(
    pets_and_more: Path,
) -> None:
    corpus(
        pets_and_more,
        {
            "odd/cats/1": PETS["cats/1"],
            "odd/cats/2": PETS["dogs/1"],
            "lines.tsv": "dogs\tthe dog barks\n",
        },
    )
    before = content("nbtext.joblib")
    assert (
        fail(2, "forget odd") == "nbtext: odd/cats/2: was never added as 'cats'; nothing is removed"
    )
    line = fail(2, "forget lines.tsv --format tsv")
    assert line == "nbtext: lines.tsv:1: was never added as 'dogs'; nothing is removed"
    assert fail(2, "forget pets").startswith(
        "nbtext: the model has no other documents, so nothing would remain"
    )
    assert content("nbtext.joblib") == before


def test_forgotten_documents_can_be_added_again(days: Path) -> None:
    succeed("train a --deduplicate")
    first = content("nbtext.joblib")
    succeed("update c --skip-known")
    second = content("nbtext.joblib")
    for options in ([], ["--skip-unknown"]):
        succeed("forget c", *options)
        assert content("nbtext.joblib") == first
        assert nbtext("update c --skip-known -v").notes[0].startswith("nbtext: added 2 documents;")
        assert content("nbtext.joblib") == second


def test_forgetting_once_twice_is_not_an_error(days: Path) -> None:
    succeed("train a c --deduplicate")
    assert (
        nbtext("forget c --skip-unknown -v").notes[0]
        == "nbtext: forgot 2 documents; not in the model: 0"
    )
    before = content("nbtext.joblib")
    assert (
        nbtext("forget c --skip-unknown -v").notes[0]
        == "nbtext: forgot 0 documents; not in the model: 2"
    )
    assert "was never added as 'dogs'" in fail(2, "forget c")
    line = fail(2, "forget b --skip-unknown")
    assert (
        line
        == "nbtext: b/cats/7: was never added as 'cats'; it was added as 'dogs'; nothing is removed"
    )
    assert content("nbtext.joblib") == before


def test_forget_once_without_a_ledger_is_refused(pets_and_more: Path) -> None:
    line = fail_unchanged(pets_and_more, "forget more --skip-unknown", 2)
    assert line == "nbtext: nbtext.joblib: the model has no ledger; forget without --skip-unknown"
