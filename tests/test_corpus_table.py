from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.detection.columns import find_table_warnings
from nbtext.corpus.detection.formats import read_column_names, resolve_reading
from nbtext.errors import PathError, UsageError
from nbtext.prediction.labels import make_label_set
from nbtext.settings import Reading
from tests.corpus_reader import documents, problems, texts
from tests.process import corpus

if TYPE_CHECKING:
    from pathlib import Path

TEXT = st.characters(exclude_characters="\0\x1b\x1c\x1d\x1e\x1f", codec="utf-8")
"""Without what is no text: separators, and the character that begins the control sequences of terminals."""


def table(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> Path:
    return corpus(tmp_path, {name: content}) / name


def test_columns_are_read_by_number_and_by_name(tmp_path: Path) -> None:
    path = table(tmp_path, "id,text,topic\n7,hello,a\n8,bye,b\n")
    assert texts(path, label_column="topic", text_column="text") == [("a", "hello"), ("b", "bye")]
    assert texts(path, label_column="3", text_column="2", header=True) == [
        ("a", "hello"),
        ("b", "bye"),
    ]
    assert texts(path, label_column="topic", text_column="2") == [("a", "hello"), ("b", "bye")]
    assert texts(path, label_column=3, text_column=2, header=False)[0] == ("topic", "text")
    assert [d.id for d in documents(path, label_column="topic", text_column="text")] == [
        f"{path}:2",
        f"{path}:3",
    ]
    assert [
        d.id for d in documents(path, label_column="topic", text_column="text", id_column="id")
    ] == ["7", "8"]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("above", ["\n", "\r\n\n", "\ufeff\n"])
def test_empty_lines_above_the_header_are_skipped(tmp_path: Path, name: str, above: str) -> None:
    rows = "id\tlabel\ttext\n1\tcats\tpurr\n2\tdogs\tbark\n"
    path = table(tmp_path, above + (rows if name == "t.tsv" else rows.replace("\t", ",")), name)
    columns: dict[str, Any] = {"label_column": "label", "text_column": "text"}
    for named in ({}, columns):
        assert texts(path, **named) == [("cats", "purr"), ("dogs", "bark")]


def test_column_numbers_with_a_header_are_refused(tmp_path: Path) -> None:
    """In every table of the corpus, with labels and without, unless a further column is named, or options say whether there is a header."""
    plain, headed = (
        table(tmp_path, "a,hello\nb,bye\n"),
        table(tmp_path, "topic,text\na,hello\nb,bye\n", "headed.csv"),
    )
    cases: list[tuple[bool, dict[str, Any]]] = [
        (True, {"label_column": 1, "text_column": 2}),
        (False, {"text_column": 2}),
        (True, {"label_column": 1}),
    ]
    for labelled, columns in cases:
        assert len(texts(plain, labelled=labelled, **columns)) == 2
        more: list[tuple[dict[str, Any], int | None]] = [
            ({}, None),
            ({"header": False}, 3),
            ({"header": True}, 2),
            ({"id_column": "topic"}, 2),
        ]
        for others, width in more:
            if width is None:
                with pytest.raises(
                    UsageError,
                    match=r"headed.csv: columns are given by number, and the first row looks like a header: topic, text;",
                ):
                    documents(plain, headed, labelled=labelled, **columns)
            else:
                assert len(documents(headed, labelled=labelled, **columns, **others)) == width


def test_delimiter_is_recognised_next_to_named_columns(tmp_path: Path) -> None:
    for mark, text in ((";", "hello, you"), ("\t", "hello; you"), ("|", "hello, you")):
        path = table(tmp_path, f"topic{mark}text\r\na{mark}{text}\r\n")
        assert texts(path, format="csv", label_column="topic", text_column="text") == [("a", text)]
        assert texts(path, format="csv", label_column="1", text_column="2", header=True) == [
            ("a", text)
        ]
    assert texts(
        table(tmp_path, "topic,a;b,text\nx,1;2,hello\n"), label_column="topic", text_column="text"
    ) == [("x", "hello")]
    assert texts(
        table(tmp_path, "hello; you\n"), labelled=False, text_column="1", header=False
    ) == [(None, "hello; you")]


@pytest.mark.parametrize("names", [10, 9000, 300_000])
def test_headers_of_any_length_are_recognised(tmp_path: Path, names: int) -> None:
    header = ["text", "label", *(f"column_{name:06d}" for name in range(names))]
    path = str(
        table(tmp_path, ",".join(header) + "\n" + ",".join(["hello", "a", *"1" * names]) + "\n")
    )
    found = resolve_reading(Reading(format="csv"), [path], labelled=True)
    if names < 300_000:
        assert (found.label_column, found.text_column) == ("label", "text")
        assert read_column_names(path, found) == tuple(header)
    else:
        with pytest.raises(
            UsageError, match="keep all needs the first row, which has more than 4 MiB"
        ) as raised:
            read_column_names(path, Reading(format="csv", text_column="text"))
        assert len(raised.value.line) < 1000


def test_texts_that_are_file_paths_are_recognised(tmp_path: Path) -> None:
    def are_paths(*values: str, text_column: str | None = None, header: bool | None = None) -> bool:
        reading = Reading(format="csv", text_column=text_column, header=header)
        return any(
            find_table_warnings(
                [["a", value] for value in values], reading, str(tmp_path), uses_all_rows=False
            )
        )

    (tmp_path / "with blanks").touch()
    (tmp_path / "two").touch()
    assert are_paths("mails/1.txt", "/a/b/2.eml", "C:\\a\\3.html", "with blanks")
    assert are_paths("two", "with blanks")
    assert are_paths("text", "two", "two", text_column="text")
    assert are_paths("text", "two", "two", text_column="2", header=True)
    assert not are_paths("two", "two", text_column="1")
    assert not are_paths("two", "two", text_column="none")
    assert not are_paths("text", "two", "two", text_column="2")
    for other in (
        "it purrs",
        "three",
        "https://a.example/b.html",
        "and/or",
        "a" * 5000 + "/b.c",
        "/".join("ab" * 1000) + ".c",
        "",
    ):
        assert not are_paths("two", other), other
    assert not are_paths("two")


def test_label_column_is_optional_without_labels_but_implies_a_header(
    tmp_path: Path,
) -> None:
    path = table(tmp_path, "text\nhello\n\nbye\n")
    assert texts(path, labelled=False, text_column="text", label_column="topic") == [
        (None, "hello"),
        (None, "bye"),
    ]
    assert texts(path, labelled=False, text_column="1", label_column="topic") == [
        (None, "hello"),
        (None, "bye"),
    ]


@pytest.mark.parametrize(
    ("reading", "kind", "why"),
    [
        (
            {"label_column": "x"},
            PathError,
            r"no column is called 'x'; the header has id, text, text",
        ),
        ({"label_column": "text"}, PathError, "several columns are called 'text'"),
        (
            {"label_column": "id", "header": False},
            UsageError,
            "there is no column 'id', because the table has no header line; use its number, or add header",
        ),
        ({"label_column": "2", "text_column": "2"}, UsageError, "are the same column"),
        ({"label_column": "id", "text_column": "1"}, UsageError, "are the same column"),
        ({"encoding": "utf-16"}, UsageError, "make them UTF-8 first"),
    ],
)
def test_ambiguous_or_missing_columns_are_refused(
    tmp_path: Path, reading: dict[str, Any], kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=why):
        documents(table(tmp_path, "id,text,text\n1,2,3\n"), **reading)


def test_empty_table_has_no_documents(tmp_path: Path) -> None:
    assert documents(table(tmp_path, "")) == []
    assert documents(table(tmp_path, "topic,text\n"), label_column="topic") == []
    with pytest.raises(PathError, match="no column is called 'topic'; the table is empty"):
        documents(table(tmp_path, ""), label_column="topic")


def test_long_column_names_are_truncated_in_messages(tmp_path: Path) -> None:
    header = ",".join(f"label{n}" + "label" * 100 for n in range(30))
    with pytest.raises(PathError, match="no column is called 'label'") as raised:
        documents(table(tmp_path, f"{header}\n{'1,' * 29}1\n"), label_column="label")
    assert len(raised.value.line) < 1000 + len(str(tmp_path))


def test_quoted_fields_are_read(tmp_path: Path) -> None:
    long = "word " * 60_000
    path = table(tmp_path, f'a,"two\nlines, and ""quotes"""\r\n\r\nb,"{long}"\nc,\u2028x\x85y\n')
    assert texts(path) == [("a", 'two\nlines, and "quotes"'), ("b", long), ("c", "\u2028x\x85y")]
    assert [document.id for document in documents(path)] == [f"{path}:{row}" for row in (1, 3, 4)]


def test_tsv_reads_quotes_literally(tmp_path: Path) -> None:
    path = table(tmp_path, 'a\t"open\r\nb\t5" and 6"\nc\t\u2028x\x0b\x0c\x1by', "t.tsv")
    assert texts(path) == [("a", '"open'), ("b", '5" and 6"'), ("c", "\u2028x\x0b\x0c\x1by")]


@pytest.mark.parametrize("file_format", ["csv", "tsv"])
@pytest.mark.parametrize("delimiter", [";", "|", " ", "\udcff", "§"])
def test_other_delimiters_are_read(tmp_path: Path, file_format: str, delimiter: str) -> None:
    line = b"a" + delimiter.encode("utf-8", "surrogateescape") + b"x,y\n"
    assert texts(table(tmp_path, line), format=file_format, delimiter=delimiter) == [("a", "x,y")]


@pytest.mark.parametrize(("file_format", "comma"), [("csv", ","), ("tsv", "\t")])
def test_rows_of_another_width_are_problems_with_their_line(
    tmp_path: Path, file_format: str, comma: str
) -> None:
    path = table(tmp_path, "a,1\nb,2,3\nc\n\nd,4\n,5\n".replace(",", comma))
    assert problems(path, format=file_format) == {
        f"{path}:2": "expected 2 columns, found 3; check --delimiter",
        f"{path}:3": "expected 2 columns, found 1; check --delimiter",
        f"{path}:6": "the label is empty",
    }
    assert [
        document.label
        for document in documents(path, format=file_format)
        if document.problem is None
    ] == ["a", "d"]
    assert problems(path, format=file_format, text_column="4")[f"{path}:1"] == (
        "expected at least 4 columns, found 2; check --delimiter and --text-column"
    )


@pytest.mark.parametrize(("file_format", "comma"), [("csv", ","), ("tsv", "\t")])
def test_too_short_first_row_is_the_only_problem(
    tmp_path: Path, file_format: str, comma: str
) -> None:
    """All others were problems too: "the row has 2 columns, not the 2 wanted"."""
    path = table(tmp_path, "a\nb,2\nc,3,4\n".replace(",", comma))
    assert problems(path, format=file_format) == {
        f"{path}:1": "expected at least 2 columns, found 1; check --delimiter and --text-column"
    }
    path = table(tmp_path, "a\nb,2\n".replace(",", comma))
    assert problems(
        path, format=file_format, labelled=False, text_column="1", label_column="2"
    ) == {f"{path}:2": "expected 1 column, found 2; check --delimiter"}


@pytest.mark.parametrize(
    ("content", "line"), [('a,x\nb,"y\nz\n', 2), ('a,x\nb,"y"z\nc,d\n', 2), ('"', 1)]
)
def test_broken_quotes_end_the_table_with_the_line(tmp_path: Path, content: str, line: int) -> None:
    path = table(tmp_path, content)
    with pytest.raises(
        PathError, match=rf"t\.csv: line {line}: not valid csv .* use format tsv delimiter ','"
    ):
        documents(path)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_table_encodings_are_detected(tmp_path: Path, name: str) -> None:
    comma = "," if name == "t.csv" else "\t"
    text = f"thème{comma}café\nthème{comma}b\n"
    wanted = [("thème", "café"), ("thème", "b")]
    assert texts(table(tmp_path, text, name)) == wanted
    assert texts(table(tmp_path, text.encode("utf-8-sig"), name)) == wanted
    assert texts(table(tmp_path, text.encode("cp1252"), name)) == wanted
    assert texts(table(tmp_path, text.encode("latin-1"), name), encoding="latin-1") == wanted
    by_name = f"thème{comma}mots\nx{comma}y\n".encode("latin-1")
    assert texts(table(tmp_path, by_name, name), encoding="latin-1", label_column="thème") == [
        ("x", "y")
    ]
    assert len(problems(table(tmp_path, text.encode("latin-1"), name), encoding="utf-8")) == 2
    mixed = b"a" + comma.encode() + b"caf\xe9\nb" + comma.encode() + b"caf\xc3\xa9\n"
    assert texts(table(tmp_path, mixed, name)) == [("a", "café"), ("b", "café")]
    for wide in ("utf-16", "utf-32"):
        with pytest.raises(PathError, match="make it UTF-8 first"):
            documents(table(tmp_path, text.encode(wide), name))


@given(
    st.lists(st.tuples(st.text("ab ;", min_size=1), st.text(TEXT)), min_size=1, max_size=8),
    st.sampled_from([",", ";", "\t"]),
    st.booleans(),
)
def test_tables_written_by_the_csv_module_are_read_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    delimiter: str,
    crlf: bool,
) -> None:
    rows = [
        (label, text.replace("\r", "\n")) for label, text in rows
    ]  # before 3.13 it leaves CR unquoted
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if crlf else "\n").writerows(rows)
    path = tmp_path_factory.mktemp("table") / "t.csv"
    path.write_bytes(out.getvalue().encode())
    assert texts(path, delimiter=delimiter, label_column=1, text_column=2, header=False) == rows


@pytest.mark.parametrize("document", ["text", "html"])
@pytest.mark.parametrize(
    ("file_format", "row"),
    [
        ("tsv", b"a\t%b\n"),
        ("csv", b'a,"%b"\n'),
        ("fasttext", b"__label__a %b\n"),
        ("lines", b"%b\n"),
    ],
)
def test_byte_order_mark_counts_only_at_the_start_of_a_file(
    file_format: str, row: bytes, document: str, tmp_path: Path
) -> None:
    """A text that began with the bytes FF FE was taken for UTF-16, and one that began with U+FEFF lost it."""
    bodies = (b"\xff\xfesun moon", b"\xfe\xffsun", "\ufeffsun".encode(), b"\xff\xfe")
    path = table(
        tmp_path, b"\xef\xbb\xbf" + row % b"sun" + b"".join(row % body for body in bodies), "t"
    )
    found = texts(path, labelled=file_format != "lines", format=file_format, document=document)
    assert {label for label, _ in found} == {None if file_format == "lines" else "a"}
    assert [text.strip() for _, text in found] == ["sun", "ÿþsun moon", "þÿsun", "\ufeffsun", "ÿþ"]


@pytest.mark.parametrize("file_format", ["tsv", "csv", "fasttext", "svmlight"])
def test_label_may_start_with_the_bytes_of_a_mark(file_format: str, tmp_path: Path) -> None:
    row = {
        "tsv": b"%b\tx\n",
        "csv": b"%b,x\n",
        "fasttext": b"__label__%b x\n",
        "svmlight": b"%b x:1\n",
    }[file_format]
    path = table(tmp_path, row % b"a" + row % b"\xff\xfea", "t")
    assert [label for label, _ in texts(path, format=file_format)] == ["a", "ÿþa"]


def test_lines_are_documents(tmp_path: Path) -> None:
    path = table(tmp_path, "\ufefffirst\r\n\nthird\u2028 \x85still\x0c\nlast")
    assert texts(path, format="lines", labelled=False) == [
        (None, text) for text in ("first", "", "third\u2028 \x85still\x0c", "last")
    ]
    assert [d.id for d in documents(path, format="lines", labelled=False)] == [
        f"{path}:{n}" for n in (1, 2, 3, 4)
    ]
    assert [label for label, _ in texts(path, format="lines")] == [path.name] * 3


@pytest.mark.parametrize("name", ["labels.csv", "labels.tsv", "labels.jsonl"])
def test_label_separator_splits_several_labels(tmp_path: Path, name: str) -> None:
    given = {"one": ["grain", "wheat"], "two": ["crude"], "three": [], "four": ["corn", "grain"]}
    cells = ["wheat;grain", "crude", "", "grain; corn ;;grain"]
    rows = list(zip(cells, given, strict=True))
    path = tmp_path / name
    delimiter = "," if name.endswith("csv") else "\t"
    records = [json.dumps({"label": cell, "text": text}) for cell, text in rows]
    path.write_text(
        "\n".join(records if name.endswith("jsonl") else [delimiter.join(row) for row in rows])
    )
    assert texts(path, label_separator=";") == [
        (make_label_set(labels), text) for text, labels in given.items()
    ]
