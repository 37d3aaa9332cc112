"""Shapes of corpora that people have: a class in each file or in its name, tables of paths, rows by a value and arrays, and archives, which are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.process import corpus, fail, in_json, nbtext, succeed, write

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = {
    "pos": ["good film", "good music here", "a good end"],
    "neg": ["bad film", "bad music here", "a bad end"],
}


def classes_of(*training: str | Path) -> dict[str, int]:
    """Train, and return the numbers of documents by class."""
    succeed("train", *training)
    return {
        name: found["documents"] for name, found in in_json("inspect -o json")["classes"].items()
    }


@pytest.fixture
def class_files(tmp_path: Path) -> Path:
    """A folder with a file for each class, one document a line."""
    corpus(
        tmp_path / "c",
        {f"{label}.txt": "".join(f"{text}\n" for text in texts) for label, texts in TEXTS.items()},
    )
    return tmp_path / "c"


def test_file_of_lines_takes_its_class_from_the_file_name(class_files: Path) -> None:
    of_folder = classes_of(class_files)
    assert (
        of_folder
        == classes_of(class_files / "pos.txt", class_files / "neg.txt")
        == {"neg": 3, "pos": 3}
    )
    named = (
        "--from-folder",
        f"pos={class_files}/neg.txt",
        "--from-folder",
        f"neg={class_files}/pos.txt",
        "--format",
        "lines",
    )
    assert classes_of(*named) == of_folder
    assert succeed("classify --text", "good film").rows[0][1] == "neg"


def test_files_that_may_be_documents_are_not_classes(tmp_path: Path) -> None:
    corpus(
        tmp_path / "numbered",
        {"letter1.txt": "one\ntwo\nthree\n", "letter2.txt": "one\ntwo\nthree\n"},
    )
    corpus(tmp_path / "paragraphs", {"a.txt": "one\n\ntwo\n", "b.txt": "one\n\ntwo\n"})
    rows = "label,text\n" + "".join(
        f"{label},{text}\n" for label, texts in TEXTS.items() for text in texts
    )
    corpus(tmp_path / "tables", {"train.csv": rows, "test.csv": rows})
    corpus(
        tmp_path / "unnamed", {name: rows.replace(",", "\t") for name in ("train.txt", "test.txt")}
    )
    for folder in ("numbered", "paragraphs", "tables", "unnamed"):
        line = fail(2, "train", folder)
        assert "has no sub-directories; a corpus has one sub-directory per class" in line


def test_folders_named_train_and_test_as_classes_are_warned_of(tmp_path: Path) -> None:
    corpus(
        tmp_path / "c",
        {
            f"{part}/{label}/1": text
            for part in ("train", "test")
            for label, (text, *_) in TEXTS.items()
        },
    )
    notes = nbtext("train c").notes
    assert (
        "nbtext: warning: the classes are named like parts of a corpus: test, train; use the folder of one part; for a table, add --where"
        in notes[0]
    )
    assert nbtext("train c/train").notes == []


def test_empty_corpus_is_reported_as_empty(tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    for path in ("c.txt", "-"):
        assert fail(2, "train", path).startswith(f"nbtext: {path} is empty; ")
    assert (
        "- is not a directory with one sub-directory per class"
        in nbtext("train -", stdin=b"text").notes[0]
    )


def test_label_pattern_takes_the_class_from_file_names(tmp_path: Path) -> None:
    files = {
        f"{label}_{number}.txt": text
        for label, texts in TEXTS.items()
        for number, text in enumerate(texts)
    }
    corpus(tmp_path / "c", files)
    assert classes_of("c", "--label-pattern", "([a-z]+)_") == {"neg": 3, "pos": 3}
    assert in_json("evaluate -q c")["n"] == 6
    corpus(tmp_path / "c", {"3.txt": "what is this"})
    result = nbtext("update c")
    assert result.status == 1
    assert "c/3.txt: --label-pattern finds no class in the name of the file" in result.notes[0]
    fail(2, "train c --label-pattern [a-z]")


def test_table_names_files_relative_to_its_folder(tmp_path: Path) -> None:
    corpus(
        tmp_path / "c",
        {
            f"texts/{label}{number}": text
            for label, texts in TEXTS.items()
            for number, text in enumerate(texts)
        },
    )
    rows = [
        f"{label},texts/{label}{number}\n"
        for label, texts in TEXTS.items()
        for number in range(len(texts))
    ]
    Path("c/table.csv").write_text("label,path\n" + "".join(rows), encoding="utf-8")
    assert "use --file-column path" in nbtext("train c/table.csv").err.decode()
    assert (
        "nbtext: c/table.csv: class in column 'label', paths in column 'path', the first line is a header; if this is wrong, set --label-column or --no-header"
        in nbtext("train -v c/table.csv --file-column path").notes
    )
    assert classes_of("c/table.csv", "--file-column", "path") == {"neg": 3, "pos": 3}
    one_process = Path("nbtext.joblib").read_bytes()
    succeed("train c/table.csv --file-column path --jobs 2")
    assert Path("nbtext.joblib").read_bytes() == one_process
    assert succeed("classify --text", "good film").rows[0][1] == "pos"
    Path("c/table.csv").write_text(
        "label,path\npos,texts/nowhere\npos,texts/pos0\n", encoding="utf-8"
    )
    result = nbtext("update c/table.csv")
    assert result.status == 1
    assert "no such file: c/texts/nowhere" in result.notes[0]


def test_where_selects_rows_by_a_value(tmp_path: Path) -> None:
    rows = [
        f"{'test' if number == 2 else 'train'},{label},{text}\n"
        for label, texts in TEXTS.items()
        for number, text in enumerate(texts)
    ]
    write("all.csv", "split,label,text\n" + "".join(rows))
    assert classes_of("all.csv", "--where", "split=train") == {"neg": 2, "pos": 2}
    assert in_json("evaluate -q all.csv --where split=test")["n"] == 2
    assert len(succeed("classify all.csv").rows) == 6
    assert in_json("doctor all.csv --where split=train")["corpus"]["documents"] == 4
    assert classes_of("all.csv", "--where", "split!=test") == {"neg": 2, "pos": 2}
    for where in ("split=test", "split!=test"):  # no text is in both
        assert (
            in_json("evaluate -q all.csv --check-leakage all.csv --where", where)["leaks"]["found"]
            == 0
        )
        succeed("report -q all.csv --learning-curve all.csv --to page.html --where", where)
        assert "These metrics may be too good" not in Path("page.html").read_text("utf-8")
    fail(2, "train all.csv --where split")
    fail(4, "train all.csv --where nowhere=train")


def test_unread_columns_that_look_relevant_give_a_warning(tmp_path: Path) -> None:
    rows = [
        f"{'test' if number == 2 else 'train'},{label},{text}\n"
        for label, texts in TEXTS.items()
        for number, text in enumerate(texts)
    ]
    write("parts.csv", "split,label,text\n" + "".join(rows))
    write(
        "titles.csv",
        "".join(f"{number % 2},no {number},a much longer text {number}\n" for number in range(9)),
    )
    parts, titles = nbtext("train parts.csv"), nbtext("train titles.csv")
    assert parts.notes == [
        "nbtext: warning: parts.csv: column split names parts of a corpus, and all are read; add --where split=train"
    ]
    assert titles.notes == [
        "nbtext: warning: titles.csv: column 3 has longer texts than column 2, which is read; use --text-column 3"
    ]
    for quiet in (
        "train parts.csv --where split=train",
        "train titles.csv --text-column 2,3",
        "classify titles.csv",
    ):
        succeed(quiet)


def test_json_array_and_nested_keys_are_read(tmp_path: Path) -> None:
    records = [
        {"meta": {"category": label}, "content": text}
        for label, texts in TEXTS.items()
        for text in texts
    ]
    Path("c.json").write_text(json.dumps(records), encoding="utf-8")
    Path("c.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
    )
    assert classes_of("c.json") == classes_of("c.jsonl") == {"neg": 3, "pos": 3}
    assert [
        row[1] for row in succeed("classify -", stdin=json.dumps(records, indent=2).encode()).rows
    ] == ["pos"] * 3 + ["neg"] * 3
    assert (
        in_json("doctor c.json")["corpus"]["columns"]
        == "class at the key 'meta.category', text at the key 'content'"
    )
    assert succeed("classify -v c.json --text-column content").notes == []
    Path("other.jsonl").write_text('{"kind": "a", "words": "b c"}\n', encoding="utf-8")
    assert "the keys are kind, words; see --label-column" in nbtext("train other.jsonl").notes[0]


def test_separator_line_above_a_tsv_is_refused_with_a_hint(tmp_path: Path) -> None:
    write("c.tsv", "sep=\t\nlabel\ttext\na\tb\n")
    assert "c.tsv: the first line is not part of the table: 'sep='; remove" in fail(
        2, "train c.tsv"
    )


@pytest.mark.parametrize(
    ("name", "compress"),
    [
        ("c.tar", bytes), ("c.TAR.gz", gzip.compress), ("c.tgz", gzip.compress), ("c.tar.bz2", bz2.compress), ("c.tbz2", bz2.compress),
        ("c.tar.xz", lzma.compress), ("c.txz", lzma.compress), ("bare", bytes), ("bare.gz", gzip.compress),
    ],
)  # fmt: skip
def test_archives_are_refused_with_the_unpacking_command(
    tmp_path: Path, name: str, compress: Callable[[bytes], bytes]
) -> None:
    corpus(
        tmp_path / "c",
        {
            f"{label}/{number}": text
            for label, texts in TEXTS.items()
            for number, text in enumerate(texts)
        },
    )
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add("c")
    (tmp_path / name).write_bytes(compress(packed.getvalue()))
    line = f"nbtext: {name} cannot be read; unpack it first: tar -xf FILE"
    assert fail(2, "train", name) == fail(2, "train --format auto", name) == line
    succeed("train c")
    if name.startswith("c."):
        assert fail(2, "train c", name) == line
        assert fail(2, "classify", name) == fail(2, "classify c/neg/0", name) == line
    else:
        answered = nbtext("classify", name)
        assert (answered.status, answered.rows) == (
            1,
            [[name, "", "binary, not text (a tar archive)"]],
        )


def test_unsupported_compression_names_the_package_to_install(tmp_path: Path) -> None:
    write("c.csv.zst", b"\x28\xb5\x2f\xfd" + bytes(60))
    assert "zstd" in fail(4, "train c.csv.zst")


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("mail.db", b"SQLite format 3\0" + bytes(90), "sqlite3 -csv -header FILE"),
        ("c.feather", b"ARROW1\0\0" + bytes(90), "to_json"),
        ("c.pkl", b"\x80\x04" + bytes(90), "a pickle can run code when it is loaded"),
        ("c.json", b'{\n "data": []}', "as with jq .data FILE"),
        ("c.pdf", b"%PDF-1.4\n1 0 obj\n" + b"text " * 40, "pdftotext FILE"),
    ],
    ids=["database", "feather", "pickle", "json", "pdf"],
)
def test_non_corpus_files_are_refused_with_a_hint(
    tmp_path: Path, name: str, content: bytes, hint: str
) -> None:
    (tmp_path / name).write_bytes(content)
    line = fail(2, "train", name)
    assert line.startswith(f"nbtext: {name} cannot be read; ")
    assert hint in line


def test_files_named_in_json_are_read_with_the_given_encoding(tmp_path: Path) -> None:
    write("a.txt", "Küche".encode("latin-1"))
    write("b.txt", b"blue")
    rows = [{"label": "x", "file": "a.txt"}, {"label": "y", "file": "b.txt"}]
    write("t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    succeed("train t.jsonl --file-column file --encoding latin-1 -m m")
    assert "Küche" in succeed("tokens t.jsonl -m m").text
