"""Faults 64 to 72 of the list of faults: tables and records, labels, and documents that are very short, very long or very many."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.process import corpus, in_json, nbtext, succeed
from tests.profiles import rounds

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("inside", [" ", "\u2028", "\x85", "\x0b", "\x1c"], ids=repr)
def test_fault_64_line_ends_are_read(pets: Path, end: str, inside: str) -> None:
    texts = [f"a cat{inside}purrs", f"a dog{inside}barks", f"a cat{inside}climbs"]
    files = {
        "t.csv": "".join(f'x,"{text}"{end}' for text in texts),
        "t.tsv": "".join(f"x\t{text}{end}" for text in texts),
        "t.jsonl": "".join(json.dumps({"text": text}, ensure_ascii=False) + end for text in texts),
    }
    corpus(pets, files)
    for name in files:
        done = succeed("classify", name)
        assert [row[:2] for row in done.rows] == [
            [f"{name}:{number}", label] for number, label in enumerate(["cats", "dogs", "cats"], 1)
        ]
    by_line = succeed(
        "classify - --format lines", stdin="".join(text + end for text in texts).encode()
    )
    assert [row[1] for row in by_line.rows] == ["cats", "dogs", "cats"]


def test_fault_65_json_labels_that_are_not_text_are_converted_or_refused(tmp_path: Path) -> None:
    labels = ["3", "true", "1.5", "null", "[]", '"x"']
    corpus(
        tmp_path,
        {"t.jsonl": "".join(f'{{"label": {label}, "text": "word"}}\n' for label in labels)},
    )
    done = nbtext("train t.jsonl")
    assert done.status == 1
    assert [note.partition(": ")[2].partition(":")[2].partition(":")[0] for note in done.notes] == [
        "4"
    ]  # an empty list is a document without a label
    made = in_json("inspect")
    assert sorted(made["classes"]) == ["1.5", "3", "true", "x"]


def test_fault_69_same_document_in_two_classes_is_trained_on(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/a/1": "same words", "c/b/1": "same words"})
    succeed("train c")
    assert succeed("classify -", stdin=b"same words").rows == [["-", "a", "0.5"]]


def test_fault_70_labels_that_look_alike_are_warned_of(tmp_path: Path) -> None:
    labels = [
        "café",
        "cafe\u0301",
        "Cats",
        "cats",
        "dogs ",
        "dogs",
        "..",
        "/",
        "a/b",
        "\x1b[31m",
        "new\\nline",
    ]
    corpus(
        tmp_path,
        {"t.tsv": "".join(f"{label}\tword{number}\n" for number, label in enumerate(labels * 2))},
    )
    done = nbtext("train t.tsv")
    assert done.status == 0
    similar = "'Cats' and 'cats', 'cafe\u0301' and 'café', 'dogs' and 'dogs '"
    assert done.notes == [
        f"nbtext: warning: labels that differ only in case, spaces, Unicode form or as 1 and 1.0: {similar}; write them in the same way, or join them with nbtext relabel"
    ]
    rows = succeed("classify t.tsv").rows
    assert sorted({row[1] for row in rows}) == sorted(
        label.replace("\\", "\\\\") for label in labels
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nbtext.joblib", "t.tsv"]
    assert nbtext("train t.tsv -q").notes == []


@pytest.mark.repeated
def test_fault_71_very_many_classes_work(tmp_path: Path) -> None:
    classes = rounds(20_000, 100_000)
    corpus(
        tmp_path,
        {
            "t.tsv": "".join(
                f"c{number}\tword{number % 500} thing{number}\n" for number in range(classes)
            )
        },
    )
    succeed("train t.tsv -q")  # warned of: each document has a class of its own
    done = succeed("classify - --format lines", stdin=b"thing7000 word0")
    assert done.rows[0][1] == "c7000"
    assert 0 < float(done.rows[0][2]) <= 1


@pytest.mark.repeated
def test_fault_71_very_long_documents_work(tmp_path: Path) -> None:
    words = rounds(200_000, 1_000_000)
    corpus(
        tmp_path,
        {
            "t.tsv": "a\t"
            + "spam " * words
            + "\nb\t"
            + " ".join(f"w{number}" for number in range(words))
            + "\n"
        },
    )
    succeed("train t.tsv")
    assert [row[1:] for row in succeed("classify t.tsv").rows] == [["a", "1"], ["b", "1"]]
    said = in_json("evaluate -q t.tsv")
    assert said["accuracy"] == 1


@pytest.mark.repeated
def test_fault_72_word_of_megabytes_does_not_change_the_prediction(
    service_desk_model: Path,
) -> None:
    for letter in (b"x", "語".encode(), b"x'"):
        done = succeed(
            "classify - -m",
            service_desk_model,
            stdin=letter * rounds(1_000_000, 10_000_000) + b" bin not emptied",
        )
        assert (
            done.rows[0][1]
            == succeed("classify - -m", service_desk_model, stdin=b"bin not emptied").rows[0][1]
        )
