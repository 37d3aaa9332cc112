"""Files that are not read as their user means: other formats, labels beside texts, tables in folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nbtext.corpus.detection.hints import suggest_reading_options
from tests.process import corpus, fail, nbtext, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "the cat purrs on the sofa",
    "a dog barks at the mailman",
    "my cat sleeps",
    "our dog runs",
    "one cat eats",
    "this dog digs",
]


@pytest.mark.parametrize("delimiter", [";", "|"])
def test_suggested_options_read_the_file(tmp_path: Path, delimiter: str) -> None:
    rows = (
        f"{text} number {n}{delimiter}{'cats' if 'cat' in text else 'dogs'}\n"
        for n, text in enumerate(TEXTS * 3)
    )
    corpus(tmp_path, {"pets.dat": "".join(rows)})
    said = fail(2, "train pets.dat")
    options = said.rpartition("so use ")[2].replace("'", "")
    succeed("train pets.dat", *options.split())
    assert "cats" in succeed("inspect").text


def test_repeated_first_words_suggest_labels(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {"trec.label": "".join(f"DESC:{'ab'[n % 2]} {text}\n" for n, text in enumerate(TEXTS))},
    )
    assert "make it a table" in fail(2, "train trec.label")
    corpus(
        tmp_path, {"prose.dat": "One text of prose.\nAnother line of it.\nEvery line differs.\n"}
    )
    assert suggest_reading_options("prose.dat") is None
    assert "not a directory with one sub-directory per class" in fail(2, "train prose.dat")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"a": [1, 2', "not valid JSON (expecting ',' delimiter at column 12)"), ('{\n"a": [1,\n2', "at line 3, column 2)"), ("[1, 2", "not valid JSON"),
        ('[["a", "b"]]', "make it an array of objects"), ('{"a": {"b": [{"c": 1}]}}', "no value at the key 'label'"), ('{\n"a": {"b": [{"c": 1}]}}', "--set records=KEY with the key of the documents: a.b"),
    ],
)  # fmt: skip
def test_json_that_is_not_a_corpus_is_refused(tmp_path: Path, content: str, said: str) -> None:
    write("x.json", content)
    assert said in nbtext("train x.json").notes[0]


def test_label_files_and_tables_in_folders_are_reported(tmp_path: Path) -> None:
    corpus(
        tmp_path, {"d/train_text.txt": "a cat\na dog\nno cat\n", "d/train_labels.txt": "1\n0\n1\n"}
    )
    assert (
        "train_labels.txt seems to have the label of each line of d/train_text.txt"
        in nbtext("train d").notes[0]
    )
    corpus(
        tmp_path,
        {
            "corpora/pets/train.csv": "label,text\na,b\n",
            "corpora/mail/train.csv": "label,text\na,b\n",
        },
    )
    assert "folders contain tables, such as corpora/" in nbtext("train corpora").notes[0]
    corpus(tmp_path, {"words/day.txt": "a cat\na dog\n", "words/data.txt": "no cat\nno dog\n"})
    assert nbtext("train words").notes == []
    corpus(tmp_path, {"plain/a/1": "a cat", "plain/b/1": "a dog"})
    assert nbtext("train plain").notes == []
