"""The line ``sep=;`` above a CSV: it sets the delimiter and is no row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nbtext.corpus.delimiter_note import DelimiterNote, find_delimiter_note
from nbtext.corpus.detection.formats import resolve_reading
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import create_reader_options, read_shard
from nbtext.corpus.shards import split_corpus
from nbtext.settings import Reading
from tests.corpus_reader import documents, texts
from tests.process import fail, succeed, write

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [("cats", "it purrs; and, sleeps"), ("dogs", "it barks"), ("cats", "a \tkitten")]


def table(note: str, delimiter: str, *, header: bool = True) -> str:
    """Return a CSV below a note."""
    lines = [f'{label}{delimiter}"{text}"' for label, text in ROWS]
    if header:
        lines.insert(0, f"label{delimiter}text")
    return "\n".join([note, *lines, ""])


@pytest.mark.parametrize(
    ("start", "delimiter", "n_bytes"),
    [
        (b"sep=;\na;b\n", ";", 6),
        (b"sep=,\r\na,b", ",", 7),
        (b"SEP=\t\ra", "\t", 6),
        (b"sep=\\t\n", "\t", 7),
        (b'\xef\xbb\xbf"sep=|"\n', "|", 11),
        ("sep=\u00a7\n".encode(), "\u00a7", 7),
        (b"sep=;", ";", 5),
    ],
)
def test_note_sets_the_delimiter(start: bytes, delimiter: str, n_bytes: int) -> None:
    assert find_delimiter_note(start) == DelimiterNote(delimiter, n_bytes)


@pytest.mark.parametrize(
    "start",
    [b"", b"sep=", b"sep=\n;", b"sep=;;\n", b'sep="\n', b"a\nsep=;\n", b"sep=\xff\n", b"sep=;x"],
)
def test_other_lines_are_no_notes(start: bytes) -> None:
    assert find_delimiter_note(start) is None


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize(
    ("note", "delimiter"), [("sep=;", ";"), ("sep=,", ","), ("sep=\t", "\t"), ("sep=:", ":")]
)
def test_rows_below_the_note_are_read(
    tmp_path: Path, note: str, delimiter: str, header: bool
) -> None:
    path = write("c.csv", table(note, delimiter, header=header))
    plain_path = write("plain.csv", table(note, delimiter, header=header).partition("\n")[2])
    assert texts(path) == ROWS
    assert [document.id for document in documents(path)] == [
        document.id.replace("plain", "c") for document in documents(plain_path, delimiter=delimiter)
    ]
    assert texts(path, delimiter=delimiter) == ROWS
    columns: dict[str, Any] = {"label_column": "1", "text_column": "2", "header": header}
    assert texts(path, **columns) == ROWS


@pytest.mark.parametrize("size", [1, 40, 200, 10_000])
@pytest.mark.parametrize("header", [True, False])
def test_shards_equal_the_whole_file(tmp_path: Path, header: bool, size: int) -> None:
    path = write("c.csv", table("sep=;", ";", header=header) + "a;b\n" * 50)
    reading = resolve_reading(Reading(), [str(path)], labelled=True)
    options = create_reader_options(reading, Notices(), labelled=True)
    shards = list(split_corpus([str(path)], options, size))
    assert [document for shard in shards for document in read_shard(shard, options)] == documents(
        path
    )
    assert (len(shards) > 1) == (size < 10_000)


def test_commands_read_the_table_as_without_the_note(tmp_path: Path) -> None:
    noted = table("sep=;", ";")
    write("c.csv", noted)
    write("plain.csv", noted.partition("\n")[2])
    succeed("train c.csv -q -m c")
    succeed("train plain.csv -q -m plain")
    assert (tmp_path / "c").read_bytes() == (tmp_path / "plain").read_bytes()
    printed = succeed("classify c.csv -m c --keep all").out
    assert printed == succeed("classify plain.csv -m c --keep all").out
    assert printed.startswith(b"given_label,text,label,probability")
    for arguments in ("classify - -m c", "classify --lines --format csv -m c"):
        rows = succeed(arguments, stdin=noted.encode()).rows
        assert [row[1] for row in rows] == ["cats", "dogs", "cats"]
    succeed("train - -q -m piped", stdin=noted.encode())
    assert (tmp_path / "piped").read_bytes() == (tmp_path / "c").read_bytes()
    assert succeed("doctor c.csv").text.count("delimiter ';'") == 1


def test_other_delimiter_is_refused_in_one_line(tmp_path: Path) -> None:
    write("c.csv", table("sep=;", ";"))
    write("tab.csv", table("sep=\t", "\t"))
    for columns in ("", "--label-column 1 --text-column 2", "--label-column label"):
        line = fail(2, f"train c.csv {columns} --delimiter ,")
        assert line == (
            "nbtext: c.csv: the first line sets the delimiter ';', not ','; use --delimiter ';' "
            "for this file"
        )
    succeed("train c.csv -q")
    line = fail(2, "train c.csv tab.csv")
    assert line.startswith("nbtext: tab.csv: the first line sets the delimiter '\\t', not ';'; use")
    assert "--delimiter tab" in fail(2, "classify tab.csv")
    succeed("classify tab.csv --delimiter tab")


def test_line_of_invalid_csv_is_numbered_as_in_the_file(tmp_path: Path) -> None:
    write("c.csv", 'sep=;\nlabel;text\na;b\na;"b" c\n')
    assert "line 4: not valid csv" in fail(4, "train c.csv")
