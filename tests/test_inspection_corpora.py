"""`nbtext doctor CORPUS`: what a corpus looks like before training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nbtext.inspection.corpora import corpus_findings, look_at_corpus
from nbtext.settings import Reading
from tests.process import PETS, corpus, fail, in_json, nbtext, succeed

if TYPE_CHECKING:
    from pathlib import Path


def look(path: Path, **given: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the figures, and what was looked at with a result that is not ok."""
    overview = look_at_corpus([str(path)], Reading.of(given))
    return vars(overview), [(found.check, found.detail) for found in corpus_findings(overview) if found.result != "ok"]


def test_a_corpus_in_which_nothing_is_unusual(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/a/1": "x" * 10, "c/a/2": "x" * 20, "c/b/1": "é" * 20})
    figures, warnings = look(tmp_path / "c")
    assert warnings == []
    assert figures == {
        "format": "dir", "kind": "text", "columns": None, "class_sizes": {"a": 2, "b": 1}, "documents": 3, "empty": 0, "median_bytes": 20, "most_bytes": 40,
        "unreadable": 0, "first_unreadable": (), "not_utf8": 0,
    }  # fmt: skip


def test_what_is_unusual_is_a_warning(tmp_path: Path) -> None:
    corpus(tmp_path, {"c.tsv": b"text\tlabel\n" + b"".join(b"text %d\ta\n" % number for number in range(20)) + b"alone\nempty\t\n"})
    figures, warnings = look(tmp_path / "c.tsv", header=False, label_column="1")
    assert (figures["documents"], figures["empty"], figures["unreadable"], len(figures["class_sizes"])) == (22, 1, 1, 22)
    assert [check for check, _ in warnings] == ["documents", "documents", "classes"]
    assert "without text: 1 document" in warnings[0][1]
    assert warnings[1][1] == f"could not be read: 1 document; first {tmp_path}/c.tsv:22: expected 2 columns, found 1"
    assert "22 classes: alone" not in warnings[2][1]
    assert warnings[2][1].endswith("and others; nearly every document is a class of its own")
    assert look(tmp_path / "c.tsv", label_column="label", text_column="text")[1][-1][0] == "classes"


def test_the_columns_of_a_table(tmp_path: Path) -> None:
    path = corpus(tmp_path, {"c.csv": "body,topic\nit purrs,cats\nit barks,dogs\n"}) / "c.csv"
    assert look(path)[0]["columns"] == "class in column 'topic', text in column 'body', the first line is a header"
    assert look(path, header=False)[0]["columns"] == "class in column 1, text in column 2, no header"
    assert "columns" in succeed("doctor", path).text


def test_labels_of_documents_with_several(tmp_path: Path) -> None:
    path = corpus(tmp_path, {"c.csv": "label,text\na;b,one\nb,two\n,three\n,four\na;b;c,five\n"}) / "c.csv"
    assert look(path, label_separator=";")[0]["class_sizes"] == {"b": 3, "a": 2, "c": 1}
    assert (
        "classes\tok\t3 classes: b 3, a 2, c 1; 1.20 labels a document"
        in nbtext("doctor", path, "--label-separator", ";", "-o", "tsv").text
    )


def test_a_class_in_each_file(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/good.txt": "one\ntwo\n", "c/bad.txt": "three\nfour\n"})
    figures, warnings = look(tmp_path / "c")
    assert (figures["format"], figures["class_sizes"], warnings) == ("lines", {"bad": 2, "good": 2}, [])


def test_documents_that_are_not_utf8(tmp_path: Path) -> None:
    corpus(tmp_path, {"c.jsonl": b"".join(b'{"label": "%d", "text": "caf\xe9"}\n' % (n % 2) for n in range(4))})
    figures, warnings = look(tmp_path / "c.jsonl")
    assert figures["not_utf8"] == 4
    assert warnings == [("encoding", "not valid UTF-8 and read as Windows-1252: 4 documents")]
    assert look(tmp_path / "c.jsonl", encoding="windows-1250")[1] == []
    done = nbtext("train c.jsonl -v")
    assert "nbtext: not valid UTF-8 and read as Windows-1252: 4 documents; see --encoding" in done.notes


def test_the_command(pets: Path) -> None:
    corpus(pets, {"pets/dogs/bad": b"\0"})
    table = succeed("doctor pets").text
    assert "2 classes: cats 2, dogs 2" in table
    assert "could not be read: 1 document; first pets/dogs/bad: binary, not text (control bytes, the first at 0)" in table
    assert "Python" not in table
    record = in_json("doctor pets")
    assert record["corpus"]["class_sizes"] == {"cats": 2, "dogs": 2}
    assert record["corpus"]["first_unreadable"] == [{"id": "pets/dogs/bad", "error": "binary, not text (control bytes, the first at 0)"}]
    assert {check["check"] for check in record["checks"]} == {"format", "documents", "classes", "encoding"}
    assert "cannot read" in fail(4, "doctor missing")
    assert len(PETS) == 4
