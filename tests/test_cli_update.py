"""`nbtext update`: a model learns more documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.changing import ADDITIVE, MORE, inspected, options
from tests.process import PETS, SERVICE_DESK, content, corpus, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("setting", [ADDITIVE[name] for name in ("multinomial", "bigrams", "binary", "dirichlet-multinomial")], ids=str)
def test_updates_make_the_file_that_training_makes_and_forgetting_unmakes_it(setting: dict[str, Any], tmp_path: Path) -> None:
    given = options(setting)
    folders = [SERVICE_DESK / "train", SERVICE_DESK / "test"]
    corpus(tmp_path / "c", {**PETS, **MORE})
    for model, paths in (("all", [*folders, "c"]), ("some", folders[:1]), ("daily", folders[:1])):
        succeed("train", *paths, *given, "--model", model)
    for path in ("c", folders[1]):
        succeed("update", path, "--model", "daily")
    assert content("daily") == content("all")
    succeed("forget c", folders[1], "--model", "daily")
    assert content("daily") == content("some")


def test_documents_that_were_learnt_before_are_counted_in_a_notice(tmp_path: Path) -> None:
    """All of them where the sample is the whole corpus; else those whose hashes it reaches."""
    texts = [f"word{number} and word{number * 7 % 50}" for number in range(60)]
    write_table(tmp_path / "a.tsv", texts)
    write_table(tmp_path / "b.tsv", [*texts[:30], *(f"new {text}" for text in texts[:10])])
    write_table(tmp_path / "c.tsv", [f"other {text}" for text in texts])
    again = "learnt before, and counted twice now: "
    for sample, found in (
        ("4096", "30 of 40 documents;"),
        ("20", "10 of 15 documents that the model's sample can check;"),
        ("0", None),
    ):
        succeed("train a.tsv --sample", sample)
        assert not any(again in note for note in nbtext("update c.tsv -v").notes)
        succeed("train a.tsv --sample", sample)
        notes = [note for note in nbtext("update b.tsv -v").notes if again in note]
        assert len(notes) == (found is not None)
        assert all(str(found) in note and note.endswith("use --once, here and in training, to skip them") for note in notes)


def write_table(path: Path, texts: list[str]) -> None:
    path.write_text("".join(f"{'xy'[number % 2]}\t{text}\n" for number, text in enumerate(texts)))


def test_documents_are_read_as_those_of_training_but_for_what_options_say(tmp_path: Path) -> None:
    rows = {"a.csv": "topic;body\nx;red apple\n", "b.csv": "topic;body\ny;green pear\n", "c.jsonl": '{"label": "y", "text": "a plum"}\n'}
    corpus(tmp_path, rows)
    reading = ["--label-column", "topic", "--text-column", "body", "--delimiter", ";"]
    succeed("train a.csv b.csv", *reading, "-m", "both")
    nbtext("train a.csv", *reading, "-q")
    succeed("update b.csv")
    assert content("nbtext.joblib") == content("both")
    succeed("update c.jsonl --format jsonl --label-column label --text-column text")
    assert inspected(tmp_path)["documents"] == 3
    assert inspected(tmp_path)["reading"]["delimiter"] == ";"


def test_counted_features_and_texts_do_not_meet(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.svm": "x red:2 blue:1\ny green:1\n", "c/x/1": "red", "c/y/1": "green"})
    succeed("train t.svm -m features")
    succeed("train c -m texts")
    line = fail(2, "update c --format dir -m features")
    assert "was trained on svmlight's counted features, not on texts" in line
    line = fail(2, "update t.svm --format svmlight -m texts")
    assert "was trained on texts, not on svmlight's counted features" in line
    succeed("update t.svm -m features")


def test_a_given_class_prior_has_to_know_a_new_class(pets_and_more: Path) -> None:
    write("prior", "cats\t1\ndogs\t3\n")
    succeed("train pets --class-prior prior")
    before = content("nbtext.joblib")
    assert "the class prior has no number for class 'birds'" in fail(2, "update more")
    assert content("nbtext.joblib") == before
    succeed("relabel dogs birds")
    assert {label: of["prior"] for label, of in inspected(pets_and_more)["classes"].items()} == {"birds": 0.75, "cats": 0.25}
