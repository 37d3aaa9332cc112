"""How much there is to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.corpus.collection import _number_of_files, _size_of_files
from tests.process import corpus

if TYPE_CHECKING:
    from pathlib import Path


def test_how_many_documents_and_bytes_there_will_be(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "c/a/1": "x",
            "c/a/deep/2": "x",
            "c/b/3": "x",
            "c/b/.hidden": "x",
            "m/cur/1": "x",
            "m/new/2": "x",
            "m/tmp/3": "x",
        },
    )
    assert _number_of_files(["c", "c/a/1"]) == 4
    assert _number_of_files(["m"]) == 3
    assert _number_of_files(["none"]) == 1
    assert _size_of_files(["c/a/1", "c/b/3"]) == 2
    assert _size_of_files(["c"]) is None
    assert _size_of_files(["none"]) is None
