"""How much there is to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nbtext.corpus.collection import _count_files, _sum_file_sizes
from tests.process import corpus

if TYPE_CHECKING:
    from pathlib import Path


def test_files_and_bytes_are_counted_before_reading(tmp_path: Path) -> None:
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
    assert _count_files(["c", "c/a/1"]) == 4
    assert _count_files(["m"]) == 3
    assert _count_files(["none"]) == 1
    assert _sum_file_sizes(["c/a/1", "c/b/3"]) == 2
    assert _sum_file_sizes(["c"]) is None
    assert _sum_file_sizes(["none"]) is None
