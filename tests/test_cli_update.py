"""`nbtext update`: a model learns more documents."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.model_changes import ADDITIVE, MORE, inspect_json, options
from tests.process import PETS, SERVICE_DESK, content, corpus, fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "setting", [ADDITIVE[name] for name in ("multinomial", "bigrams", "binary")], ids=str
)
def test_update_equals_training_and_forget_reverses_it(
    setting: dict[str, Any], tmp_path: Path
) -> None:
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


def test_already_added_documents_are_counted_in_a_notice(tmp_path: Path) -> None:
    """All of them where the sample is the whole corpus; else those whose hashes it reaches."""
    texts = [f"word{number} and word{number * 7 % 50}" for number in range(60)]
    write_table(tmp_path / "a.tsv", texts)
    write_table(tmp_path / "b.tsv", [*texts[:30], *(f"new {text}" for text in texts[:10])])
    write_table(tmp_path / "c.tsv", [f"other {text}" for text in texts])
    again = "added before, and counted twice now: "
    for sample, found in (
        ("4096", "30 of 40 documents;"),
        ("20", "10 of 15 documents that the model's sample can check;"),
        ("0", None),
    ):
        succeed("train a.tsv --keep-documents", sample)
        assert not any(again in note for note in nbtext("update c.tsv -v").notes)
        succeed("train a.tsv --keep-documents", sample)
        notes = [note for note in nbtext("update b.tsv -v").notes if again in note]
        assert len(notes) == (found is not None)
        assert all(
            str(found) in note
            and note.endswith("to skip them, train with --deduplicate and update with --skip-known")
            for note in notes
        )


def write_table(path: Path, texts: list[str]) -> None:
    path.write_text("".join(f"{'xy'[number % 2]}\t{text}\n" for number, text in enumerate(texts)))


def test_documents_are_read_with_stored_settings_unless_overridden(tmp_path: Path) -> None:
    rows = {
        "a.csv": "topic;body\nx;red apple\n",
        "b.csv": "topic;body\ny;green pear\n",
        "c.jsonl": '{"label": "y", "text": "a plum"}\n',
    }
    corpus(tmp_path, rows)
    reading = ["--label-column", "topic", "--text-column", "body", "--delimiter", ";"]
    succeed("train a.csv b.csv", *reading, "-m", "both")
    nbtext("train a.csv", *reading, "-q")
    succeed("update b.csv")
    assert content("nbtext.joblib") == content("both")
    succeed("update c.jsonl --format jsonl --label-column label --text-column text")
    assert inspect_json(tmp_path)["documents"] == 3
    assert inspect_json(tmp_path)["reading"]["delimiter"] == ";"


def test_counted_features_and_texts_cannot_be_mixed(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.svm": "x red:2 blue:1\ny green:1\n", "c/x/1": "red", "c/y/1": "green"})
    succeed("train t.svm -m features")
    succeed("train c -m texts")
    line = fail(2, "update c --format dir -m features")
    assert "was trained on svmlight's counted features, not on texts" in line
    line = fail(2, "update t.svm --format svmlight -m texts")
    assert "was trained on texts, not on svmlight's counted features" in line
    succeed("update t.svm -m features")


def test_new_class_must_be_in_a_given_class_prior(pets_and_more: Path) -> None:
    write("prior", "cats\t1\ndogs\t3\n")
    succeed("train pets --class-prior prior")
    before = content("nbtext.joblib")
    assert "the class prior lacks class 'birds'" in fail(2, "update more")
    assert content("nbtext.joblib") == before
    succeed("relabel dogs birds")
    assert {label: of["prior"] for label, of in inspect_json(pets_and_more)["classes"].items()} == {
        "birds": 0.75,
        "cats": 0.25,
    }


def test_single_message_is_added_and_removed(tmp_path: Path, service_desk_model: Path) -> None:
    write("nbtext.joblib", service_desk_model.read_bytes())
    before, letter = content("nbtext.joblib"), b"the goldfish swims in the fountain"
    corpus(
        tmp_path, {"letter.txt": letter, "c/fish/1": letter, "two/1": letter, "two/2": "a bench"}
    )
    succeed("train", SERVICE_DESK / "train", "c", "-m", "trained")
    assert nbtext("update --label fish --new-class letter.txt").status == 0
    assert content("nbtext.joblib") == content("trained")
    assert (
        fail(2, "forget --label cats letter.txt")
        == "nbtext: letter.txt: was never added as 'cats'; nothing is removed"
    )
    assert nbtext("forget --label fish -", stdin=letter).status == 0
    assert content("nbtext.joblib") == before
    assert "6 classes, 224 documents" in nbtext("update --label parks-and-trees two -v").notes[-1]
    for option in ("--label-column 1", "--relabel x"):
        line = fail(2, "update --label fish letter.txt", *option.split())
        assert f"--label cannot be used with {option.split()[0]}:" in line
    assert "cannot be a label" in fail(2, "update letter.txt --label", "")


def test_label_option_adds_texts_to_a_model_of_tables_and_skips_unreadable_ones(
    tmp_path: Path,
) -> None:
    corpus(
        tmp_path,
        {
            "t.tsv": "a\tant ape\nb\tbee bat\n" * 4,
            "letter.txt": "the ape\nand the ant",
            "bad.txt": b"\0",
        },
    )
    succeed("train t.tsv -m m")
    for jobs in ("1", "2"):
        done = nbtext("update --label a letter.txt bad.txt -m m -v -j", jobs)
        assert (done.status, done.notes[0].split(": ")[1]) == (1, "bad.txt")
    assert in_json("inspect -m m")["classes"]["a"]["documents"] == 6


def test_unknown_label_is_refused_unless_new_class_is_set(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {"t.tsv": "a\tant ape\nb\tbee bat\n" * 4, "more.tsv": "c\tcow\n", "letter": "the ape"},
    )
    succeed("train t.tsv -m m")
    before = content("m")
    wanted = "nbtext: --label: the model has no class 'aa'; its classes are a, b; nbtext update --new-class adds one"
    assert fail(2, "update --label aa letter -m m") == wanted
    assert content("m") == before
    assert "nbtext: new class: aa" in nbtext("update --label aa --new-class letter -m m -v").notes
    assert (
        nbtext("update --label a letter -m m").notes == nbtext("update more.tsv -m m").notes == []
    )
    assert (
        "nbtext: new class: d"
        in nbtext("update -v -", "--format", "tsv", "-m", "m", stdin=b"d\tdog\n").notes
    )


def test_label_option_accepts_label_sets(tmp_path: Path) -> None:
    rows = [
        {"label": labels, "text": text}
        for labels, text in ((["x"], "ant"), (["x", "y"], "ant bee"), ([], "cow"))
    ]
    write("t.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows * 3))
    write("more.jsonl", json.dumps(rows[1]) + "\n")
    corpus(tmp_path, {"letter": "ant bee"})
    succeed("train t.jsonl -m a")
    succeed("train t.jsonl more.jsonl -m b")
    before = content("a")
    succeed("update --label y|x letter --format dir -m a")
    assert content("a") == content("b")
    succeed("forget --label x|y letter --format dir -m a")
    assert content("a") == before
