"""`nbtext prune`: rare or common terms left out of a model for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.model_changes import inspect_json
from tests.process import PETS, content, corpus, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


def test_prune_makes_the_model_smaller_and_it_can_still_be_updated(pets_and_more: Path) -> None:
    write("nbtext.joblib", content("both"))
    done = nbtext("prune --min-df 2 -v")
    assert done.notes[0] == "nbtext: removed 13 of 17 terms"
    assert (pets_and_more / "nbtext.joblib").stat().st_size < (
        pets_and_more / "both"
    ).stat().st_size
    corpus(pets_and_more, {"new/fish/1": "the fish and the cat", "gone/cats/1": PETS["cats/1"]})
    succeed("update new")
    assert (
        inspect_json(pets_and_more)["terms"],
        inspect_json(pets_and_more)["closed_vocabulary"],
    ) == (
        4,
        True,
    )
    assert "vocabulary  4; pruned, so no others are added\n" in succeed("inspect").text
    assert succeed("forget new gone").out == b""
    assert inspect_json(pets_and_more)["documents"] == 6
