"""`nbtext prune`: rare or common terms left out of a model for good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.changing import inspected, refused, with_more
from tests.process import PETS, corpus, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def desk(pets: Path) -> Path:
    """`pets`, with further documents in ``more``, and the model trained on both as ``both``."""
    return with_more(pets)


def test_a_pruned_model_is_smaller_and_can_be_updated(desk: Path) -> None:
    (desk / "nbtext.joblib").write_bytes((desk / "both").read_bytes())
    done = nbtext("prune --min-df 2 -v")
    assert done.notes[0] == "nbtext: removed 13 of 17 terms"
    assert (desk / "nbtext.joblib").stat().st_size < (desk / "both").stat().st_size
    corpus(desk, {"new/fish/1": "the fish and the cat", "gone/cats/1": PETS["cats/1"]})
    succeed("update new")
    assert (inspected(desk)["terms"], inspected(desk)["closed_vocabulary"]) == (4, True)
    assert "vocabulary   4; pruned, so no others are learnt\n" in succeed("inspect").text
    assert succeed("forget new gone").out == b""
    assert inspected(desk)["documents"] == 6


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["prune"], 2, "there is no limit to prune by; give --min-df, --max-df or --ledger"),
        (["prune", "--min-df", "9"], 2, "terms is left; lower --min-df or raise --max-df"),
        (["prune", "--max-df", "1.5"], 2, "--max-df"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(desk: Path, arguments: list[str], status: int, message: str) -> None:
    assert message in refused(desk, arguments, status)
