"""The labels of a review while a corpus is read, and `--relabel` of the commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from nbtext.corpus.document import Document, Notices
from nbtext.errors import PathError, UsageError
from nbtext.labelling.answer_file import LabelPatch
from tests.process import PETS, content, corpus, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """PETS in ``wrong`` with a document in the other folder, in ``right`` as they are, and a patch of ``wrong``."""
    corpus(tmp_path / "right", PETS)
    swapped = {name.replace("cats/1", "dogs/cats-1"): text for name, text in PETS.items()}
    corpus(tmp_path / "wrong", swapped)
    kept = next(name for name in PETS if name != "cats/1")
    label = kept.split("/")[0]
    return corpus(
        tmp_path, {"review.tsv": f"wrong/dogs/cats-1\tdogs\tcats\nwrong/{kept}\t{label}\t{label}\n"}
    )


def test_training_with_relabel_uses_the_review_and_leaves_the_corpus_unchanged(pets: Path) -> None:
    before = sorted(
        (path.name, path.read_bytes()) for path in (pets / "wrong").rglob("*") if path.is_file()
    )
    patch = ("--relabel", "review.tsv")
    succeed("train right -m right.model")
    for jobs in ("1", "2"):
        succeed("train wrong", *patch, "--jobs", jobs, "-m", "wrong.model")
        assert content("wrong.model") == content("right.model")
    assert (
        sorted(
            (path.name, path.read_bytes()) for path in (pets / "wrong").rglob("*") if path.is_file()
        )
        == before
    )
    of_right, of_wrong = (
        json.loads(nbtext("evaluate", *corpora, "-m", "right.model", "-o", "json").out)["confusion"]
        for corpora in (("right",), ("wrong", *patch))
    )
    assert of_right == of_wrong
    succeed("update wrong", *patch, "-m", "wrong.model")
    succeed("forget wrong", *patch, "-m", "wrong.model")
    assert content("wrong.model") == content("right.model")
    folds = [
        nbtext("cross-validate", *given, "--folds", "2", "-o", "json").status
        for given in (("right",), ("wrong", *patch))
    ]
    assert folds == [0, 0]


def test_patch_lines_that_do_not_match_the_corpus_are_reported(pets: Path) -> None:
    write("other.tsv", "wrong/dogs/cats-1\tbirds\tcats\n")
    line = fail(2, "train wrong --relabel other.tsv")
    assert line.startswith(
        "nbtext: other.tsv:1: wrong/dogs/cats-1 has the label 'dogs', not 'birds'"
    )
    write("gone.tsv", "wrong/dogs/99\tdogs\tcats\n")
    done = nbtext("train wrong --relabel gone.tsv")
    assert done.status == 0
    assert b"gone.tsv: 1 document not in the corpus: wrong/dogs/99" in done.err


@pytest.mark.parametrize("content", [b"a\tb\n", b"a\tb\tc", b"a\tb\tc\na\tb\td\n", b"a\t\tc\n"])
def test_invalid_patch_files_are_refused(content: bytes, tmp_path: Path) -> None:
    write("patch", content)
    with pytest.raises(PathError):
        LabelPatch("patch")


def test_windows_line_ends_are_not_part_of_labels(tmp_path: Path) -> None:
    write("patch", b"a\told\tnew\r\nb\told\tnew\\r\r\n")
    patch = LabelPatch("patch")
    assert [patch(Document(name, "old"), Notices()).label for name in "ab"] == ["new", "new\r"]


def test_patched_label_that_is_already_new_is_accepted(tmp_path: Path) -> None:
    write("patch", "a\\tb\told\tnew\n")
    patch = LabelPatch("patch")
    assert (
        patch(Document("a\tb", "old"), Notices()).label
        == patch(Document("a\tb", "new"), Notices()).label
        == "new"
    )
    assert patch(Document("c", "old"), Notices()).label == "old"
    with pytest.raises(UsageError, match="has the label 'other'"):
        patch(Document("a\tb", "other"), Notices())
