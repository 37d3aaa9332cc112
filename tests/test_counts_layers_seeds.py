"""Seed words: the file of them, and their pseudo-counts as statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from nbtext.cli.option_files import read_seeds
from nbtext.counts.counting import Analysis
from nbtext.counts.layers import PSEUDO_COUNT, by_class, estimated, seed_statistics
from nbtext.counts.statistics import Seed, Weights
from nbtext.errors import PathError
from nbtext.model.training import seed_terms
from nbtext.settings import Settings
from tests.models import count_documents
from tests.process import write

if TYPE_CHECKING:
    from pathlib import Path


def test_a_word_against_a_class_is_a_word_for_all_others(tmp_path: Path) -> None:
    write("s", "a\tant\nb\tred bee\t3\n\nc\t!ant\t2\n")
    seeds = read_seeds("s")
    assert seeds == [Seed("a", ("ant",), PSEUDO_COUNT), Seed("b", ("red bee",), 3), Seed("c", ("ant",), -2)]
    assert by_class(seeds, "abcd") == [
        Seed("a", ("ant",), 2), Seed("a", ("ant",), PSEUDO_COUNT), Seed("b", ("ant",), 2), Seed("b", ("red bee",), 3), Seed("d", ("ant",), 2),
    ]  # fmt: skip
    assert by_class(seeds, ["c"]) == []


def test_equal_pseudo_counts_add_like_others(tmp_path: Path) -> None:
    analysis = Analysis.of(Settings(stop_words="none", stemmer="snowball"))
    statistics, _ = count_documents([("a", b"ant"), ("b", b"bee")], analysis)
    for second in (5.0, 4.0):
        write("s", f"a\tant\t5\na\tants\t5\nb\t!ant\t{second}\n")
        seeds = seed_terms(read_seeds("s"), analysis)
        assert seed_statistics(seeds, statistics).counts_of(np.array([0])).tolist() == [[10 + second, 0]]


@pytest.mark.parametrize(
    "text", ["a ant\nb\tbee\n", "a\tant\n", "", "a\tant\t0\nb\tbee\n", "a\tant\tx\nb\tbee\n", "a\t!\nb\tbee\n", "\tant\n"]
)
def test_other_lines_are_refused_with_their_number(text: str, tmp_path: Path) -> None:
    write("s", text)
    with pytest.raises(PathError, match=r"line \d is not a class|at least 2 classes"):
        read_seeds("s")


def test_one_class_is_enough_beside_labels(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("a\tant\n")
    assert read_seeds(str(path), fewest=1) == [Seed("a", ("ant",), PSEUDO_COUNT)]
    path.write_text("")
    with pytest.raises(PathError, match="at least 1 class"):
        read_seeds(str(path), fewest=1)


def test_pseudo_counts_add_to_counts_which_stay_as_they_are() -> None:
    analysis = Analysis.of(Settings(stop_words="none", stemmer="none", weighting="log"))
    statistics, _ = count_documents([("x", b"ant bee"), ("y", b"bee cat")], analysis)
    seeds = [Seed("x", ("bee",), 2.0), Seed("x", ("bee",), 1.0), Seed("y", ("ant",), 0.5), Seed("y", ("unknown",), 9.0)]
    found = seed_statistics(seeds, statistics).counts_of(np.arange(3))
    assert found.tolist() == [[0, 0.5], [3, 0], [0, 0]]
    both = estimated(statistics, Weights(seeds=[*seeds, Seed("no such class", ("bee",), 1.0)]))
    assert both.counts_of(np.arange(3)).tolist() == [[1, 0.5], [4, 1], [0, 1]]
    assert both.class_documents.tolist() == [1, 1]
    assert both.counted is statistics
