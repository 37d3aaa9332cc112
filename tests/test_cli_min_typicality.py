"""Abstaining from documents of another kind than the model was trained on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.process import fail, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def lines(seed: int, words: list[str], number: int) -> list[str]:
    """Lines of random words, the first ones more often."""
    draw = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(words) + 1)
    return [
        " ".join(draw.choice(words, draw.integers(3, 40), p=shares / shares.sum()))
        for _ in range(number)
    ]


ENGLISH = [f"{a}{b}ing" for a in "bcdfgh" for b in "aeiou"]
GERMAN = [f"{a}{b}ung" for a in "zwpq" for b in "aeiou"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a model of mail in one language, and new mail in that and in another."""
    home = tmp_path_factory.mktemp("atypical")
    training = [
        f"{'xy'[number % 2]}\t{line}\n" for number, line in enumerate(lines(1, ENGLISH, 300))
    ]
    (home / "mail.tsv").write_text("".join(training))
    (home / "english.txt").write_text("\n".join(lines(2, ENGLISH, 200)) + "\n")
    (home / "german.txt").write_text("\n".join(lines(3, [*GERMAN, *ENGLISH[-3:]], 100)) + "\n")
    succeed("train mail.tsv", cwd=home)
    return home


def list_abstentions(home: Path, document: str, *options: str) -> list[str | None]:
    out = succeed(
        "classify", document, "--format", "lines", "--output", "jsonl", *options, cwd=home
    ).text
    return [json.loads(line).get("abstained") for line in out.splitlines()]


def test_atypical_documents_get_a_reason_and_no_prediction(home: Path) -> None:
    german = list_abstentions(home, "german.txt", "--min-typicality", "0.01")
    assert german.count("atypical") > 90
    english = list_abstentions(home, "english.txt", "--min-typicality", "0.01")
    assert english.count("atypical") < 10
    assert list_abstentions(home, "german.txt") == [None] * 100


def test_larger_typicality_threshold_abstains_more_often(home: Path) -> None:
    counts = [
        list_abstentions(home, "english.txt", "--min-typicality", share).count("atypical")
        for share in ("0", "0.1", "0.5", "1")
    ]
    assert counts[0] == 0
    assert 5 <= counts[1] <= 40
    assert 60 <= counts[2] <= 140
    assert counts[3] > 190


def test_third_column_contains_the_reason_atypical(home: Path) -> None:
    (home / "one.txt").write_text("zaung weung wiung zaung poung puung weung")
    result = succeed("classify one.txt --format lines --min-typicality 0.01", cwd=home)
    assert result.rows == [["one.txt:1", "", "atypical"]]
    assert (
        nbtext(
            "classify one.txt --format lines --min-typicality 0.01 --exit-status-abstained 7",
            cwd=home,
        ).status
        == 7
    )


@pytest.mark.parametrize(
    "options", ["--keep-documents 0", "--calibration none", "--estimate ml"], ids=str
)
def test_model_without_typicality_refuses_the_threshold(home: Path, options: str) -> None:
    succeed(f"train mail.tsv -m other {options}", cwd=home)
    line = fail(2, "classify english.txt -m other --min-typicality 0.1", cwd=home)
    assert "the model has no typicality; train --classifier multinomial on counts, with" in line
    assert line.endswith(
        "with smoothing, calibration and a sample of at least 50 documents, without columns of attributes"
    )
    assert "typical" not in nbtext("classify english.txt --format lines -m other", cwd=home).text
