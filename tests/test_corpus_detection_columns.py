"""Columns that are recognised in the first rows of a table; and further columns of a document: in tables by name or number, in jsonl by key, nowhere else.

Also tests `corpus/document.py`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtext.corpus.detection.columns import has_quoted_cells, recognise_columns
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import read_corpus
from nbtext.errors import PathError, UsageError
from nbtext.settings import Reading
from tests.process import corpus

if TYPE_CHECKING:
    from pathlib import Path

    from nbtext.corpus.document import Document


def read(path: Path, *columns: str, labelled: bool = True, **reading: Any) -> list[Document]:
    return list(
        read_corpus(
            [str(path)], Reading.from_values(reading), Notices(), labelled=labelled, columns=columns
        )
    )


def values(path: Path, *columns: str, **reading: Any) -> list[tuple[str, ...]]:
    found = read(path, *columns, **reading)
    assert [document.problem for document in found] == [None] * len(found)
    return [document.columns for document in found]


def problems(path: Path, *columns: str, **reading: Any) -> dict[str, str]:
    return {
        document.id: document.problem.line
        for document in read(path, *columns, **reading)
        if document.problem is not None
    }


TABLE = "topic,text,year,team\na,hello,1999,\nb,bye,2001,east\n"


@pytest.mark.parametrize(("name", "comma"), [("t.csv", ","), ("t.tsv", "\t")])
def test_columns_are_read_by_name_or_number_in_the_requested_order(
    tmp_path: Path, name: str, comma: str
) -> None:
    path = corpus(tmp_path, {name: TABLE.replace(",", comma)}) / name
    assert values(path, "team", "year") == [("", "1999"), ("east", "2001")]
    assert values(path, "4", "3", header=True) == [("", "1999"), ("east", "2001")]
    assert values(path, "3", "team", "1", "2", "3") == [
        ("1999", "", "a", "hello", "1999"),
        ("2001", "east", "b", "bye", "2001"),
    ]
    assert values(path, "3", header=False) == [("year",), ("1999",), ("2001",)]
    assert values(path, "year", labelled=False) == [("1999",), ("2001",)]
    assert values(path) == [(), ()]


def test_column_name_implies_a_header(tmp_path: Path) -> None:
    path = corpus(tmp_path, {"t.csv": TABLE}) / "t.csv"
    for columns in (("team",), ("4",)):
        found = read(path, *columns, header=True, id_column="year")
        assert [(d.id, d.label, d.text) for d in found] == [
            ("1999", "a", b"hello"),
            ("2001", "b", b"bye"),
        ]


@pytest.mark.parametrize(
    ("column", "reading", "kind", "why"),
    [
        ("x", {}, PathError, r"no column is called 'x'; the header has topic, text, year, team"),
        (
            "year",
            {"header": False},
            UsageError,
            "there is no column 'year', because the table has no header line; use its number, or add header",
        ),
        ("0", {}, UsageError, "there is no column 0; columns are numbered from 1"),
    ],
)
def test_missing_columns_are_refused(
    tmp_path: Path, column: str, reading: dict[str, Any], kind: type[Exception], why: str
) -> None:
    path = corpus(tmp_path, {"t.csv": TABLE}) / "t.csv"
    with pytest.raises(kind, match=why):
        read(path, column, **reading)


def test_table_without_a_column_to_read_is_refused(tmp_path: Path) -> None:
    corpus(tmp_path, {"t.csv": "a,b\n"})
    with pytest.raises(UsageError, match="no column to read"):
        list(read_corpus(["t.csv"], Reading(text_column="none"), Notices(), labelled=False))


def test_short_rows_are_problems_with_their_line(tmp_path: Path) -> None:
    path = corpus(tmp_path, {"t.csv": "a,x,1\nb,y\nc,z,3\n"}) / "t.csv"
    assert problems(path, "3") == {f"{path}:2": "expected 3 columns, found 2; check --delimiter"}
    assert [document.columns for document in read(path, "3")] == [("1",), (), ("3",)]
    assert (
        problems(path, "4")[f"{path}:1"]
        == "expected at least 4 columns, found 3; check --delimiter and --text-column"
    )


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_values_are_decoded_like_labels(tmp_path: Path, name: str) -> None:
    comma = b"," if name == "t.csv" else b"\t"
    path = (
        corpus(
            tmp_path,
            {
                name: b"\n".join(
                    b"a" + comma + b"x" + comma + city
                    for city in (b"Orl\xe9ans", "Orléans".encode())
                )
            },
        )
        / name
    )
    assert values(path, "3") == [("Orléans",), ("Orléans",)]
    assert list(problems(path, "3", encoding="utf-8")) == [f"{path}:1"]


def test_columns_of_jsonl_are_keys(tmp_path: Path) -> None:
    records = [
        {
            "label": "a",
            "text": "x",
            "from": {"team": "east", "x.y": 2},
            "year": 1999,
            "new": True,
            "score": 0.5,
            "none": None,
            "4": "four",
        },
        {"label": "b", "text": "y", "from.team": "Ost\u2028"},
        {"label": "c", "text": "z", "from": {"team": ["east"]}},
        {"label": "d", "text": "z", "from": 1},
    ]
    path = (
        corpus(tmp_path, {"c.jsonl": "\n".join(json.dumps(record) for record in records)})
        / "c.jsonl"
    )
    first = read(path, "year", "from.team", "from.x.y", "new", "score", "none", "4", "text")[0]
    assert first.columns == ("1999", "east", "2", "true", "0.5", "", "four", "x")
    found = read(path, "from.team")
    assert [document.columns for document in found] == [("east",), ("Ost\u2028",), (), ()]
    assert problems(path, "from.team") == {
        f"{path}:3": "the value at the key 'from.team' is not text, a number, true or false; from.team.0 is its first item",
        f"{path}:4": "no value at the key 'from.team'",
    }
    assert problems(path, "none", labelled=False) == {
        f"{path}:{line}": "no value at the key 'none'" for line in (2, 3, 4)
    }
    assert values(path) == [()] * 4


def test_columns_are_kept_for_html_documents(tmp_path: Path) -> None:
    path = (
        corpus(tmp_path, {"c.jsonl": '{"label": "a", "text": "<p>x</p>", "by": "é"}\n'}) / "c.jsonl"
    )
    (document,) = read(path, "by", document="html")
    assert (document.text.split(), document.columns) == ([b"x"], ("é",))


OTHERS = {
    "dir": "c",
    "lines": "c/a/1",
    "fasttext": "c/a/1",
    "svmlight": "c/a/1",
    "mbox": "c/a/1",
    "maildir": "c",
}


@pytest.mark.parametrize("file_format", OTHERS)
def test_formats_without_columns_refuse_them(tmp_path: Path, file_format: str) -> None:
    path = corpus(tmp_path, {"c/a/1": "hello"}) / OTHERS[file_format]
    with pytest.raises(
        UsageError,
        match=rf"format {file_format} has no columns, such as team; use csv, tsv or jsonl",
    ):
        read(path, "team", format=file_format, labelled=False)


def test_auto_format_is_resolved_before_columns_are_checked(tmp_path: Path) -> None:
    corpus(tmp_path, {"c/a/1": "hello", "t.csv": TABLE})
    with pytest.raises(UsageError, match="format dir has no columns"):
        read(tmp_path / "c", "team")
    assert values(tmp_path / "t.csv", "team") == [("",), ("east",)]


TEXT = st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t\r\0")
"""Without the other control characters: a cell of many is binary, and no text."""


@example(
    [["", "", "", ""], ["", "", "", ""], ["", "", "", ":"], ["0", "", "", "0"], [":", "", "", ""]],
    [0, 1, 2, 3],
)  # no column looks like the text
@given(
    st.lists(st.lists(st.text(TEXT), min_size=4, max_size=4), min_size=1, max_size=6),
    st.permutations(range(4)),
)
def test_written_tables_are_read_back_in_any_column_order(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], order: list[int]
) -> None:
    rows = [[value.replace("\0", "").replace("\r", "\n") for value in row] for row in rows]
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    folder = tmp_path_factory.mktemp("columns")
    (folder / "t.csv").write_bytes(out.getvalue().encode())
    (folder / "t.jsonl").write_text(
        "".join(
            json.dumps({"text": "", **dict(zip("abcd", row, strict=True))}) + "\n" for row in rows
        )
    )
    wanted = [tuple(row[place] for place in order) for row in rows]
    assert (
        values(
            folder / "t.csv",
            *(str(place + 1) for place in order),
            labelled=False,
            header=False,
            text_column="1",
        )
        == wanted
    )
    assert values(folder / "t.jsonl", *("abcd"[place] for place in order), labelled=False) == wanted


def rows(*lines: str) -> list[list[str]]:
    return [line.split("|") for line in lines]


def swapped(line: str) -> str:
    return "|".join(reversed(line.split("|")))


TWELVE = [f"{('cats', 'dogs')[n % 2]}|a longer text, number {n}" for n in range(12)]


@pytest.mark.parametrize(
    ("lines", "label", "text", "header"),
    [
        (["text|category", "it purrs|cats"], "category", "text", None),
        (["Label|TEXT"], "Label", "TEXT", None),
        (["id|date|title|Body|label", "1|2024|a|b|c"], "label", "Body", None),
        (["|text|label", "0|it purrs|cats"], "label", "text", None),
        (["klasse|sentence", "1|it purrs"], "klasse", "sentence", None),
        (["label|1", "cats|it purrs"], None, None, None),
        (["cats|it purrs", "dogs|it barks"], None, None, None),
        (["title|what is a class?", "dogs|it barks"], None, None, None),
        (["y|n", "y|n"], None, None, None),
        (["art|komment", *TWELVE], "art", "komment", None),
        (["1|text,more", *TWELVE], None, None, None),
        (["bird|a longer text", *TWELVE], None, None, None),
        (["v1|v2||", *(f"{line}||" for line in TWELVE)], "v1", "v2", None),
        (["#label|text"], "#label", "text", None),
        (["Ticket No.|ticketText|Ticket Category (old)", *(f"{n}|it purrs|cats" for n in range(3))], "Ticket Category (old)", "ticketText", None),
        (["a|sentiment|sentiment_confidence|airline|text", *(f"{n}|bad|1.0|A|it purrs {n}" for n in range(9))], "sentiment", "text", None),
        (["satz|wert", *(f"it purrs, {n * 7} times|{n % 2}" for n in range(6))], "wert", "satz", None),
        (TWELVE, None, None, None),
        ([swapped(line) for line in TWELVE], "2", "1", None),
        ([f"{n}|{line}" for n, line in enumerate(TWELVE)], "2", "3", None),
        ([line.replace("|", f"|{n}|") for n, line in enumerate(TWELVE)], "1", "3", None),
        ([f"{n % 5}th|{'' if n % 6 else 'ok'}" for n in range(12)], None, None, None),
    ],
)  # fmt: skip
def test_columns_are_recognised_from_the_first_rows(
    lines: list[str], label: str | None, text: str | None, header: bool | None
) -> None:
    found = recognise_columns(rows(*lines), Reading(format="csv"), labelled=True)
    assert (found.label_column, found.text_column, found.header) == (label, text, header)
    assert recognise_columns(rows(*lines), found, labelled=True) == found


def test_without_labels_only_the_text_column_is_recognised() -> None:
    for lines, text in (
        (["id|message", "1|it purrs"], "message"),
        (["it purrs"], "1"),
        (["text"], "text"),
        (["a|b"], None),
        (TWELVE, None),
    ):
        assert (
            recognise_columns(rows(*lines), Reading(format="csv"), labelled=False).text_column
            == text
        )


@pytest.mark.parametrize(
    "lines",
    [
        ["id|title|y|label|other", "1|2|3|4|5"],
        ["category|first|second", *(f"a|b{n}|c{n}" for n in range(9))],
        [f"a longer text {n}|{n % 2}|{n % 3}" for n in range(9)],
        ["id|text", *(f"{n}|it purrs" for n in range(9))],
    ],
)
def test_ambiguous_columns_are_refused(lines: list[str]) -> None:
    with pytest.raises(
        UsageError,
        match=r"it is not clear which column is the (class|text).*use (--)?(label|text)[-_]column",
    ):
        recognise_columns(rows(*lines), Reading(format="csv"), labelled=True)


@given(st.lists(st.lists(st.text(max_size=9), max_size=4), max_size=9), st.booleans())
def test_any_rows_are_recognised_or_refused(cells: list[list[str]], labelled: bool) -> None:
    with contextlib.suppress(UsageError):
        found = recognise_columns(cells, Reading(format="csv"), labelled=labelled)
        assert recognise_columns(cells, found, labelled=labelled) == found


@pytest.mark.parametrize(
    ("lines", "are_quoted"),
    [
        (b'a\t"it said ""purr"" twice"\nb\tx\n', True), (b'a\t"x"\nb\t"y"\n', True), (b'a\t"x"\nb\ty\n', False), (b'a\t"x""y\nb\ty\n', False),
        (b'a\t""x""\nb\ty\n', False), (b'a\t"x\n""y"\nb\ty\n', True), (b'a\t""""\r\nb\ty\n', True), (b'a\t"""\nb\ty\n', False),
        (b'a\t"' + b'""' * 16_000 + b"x\nb\ty\n", False), (b'a\t"' + b'""' * 16_000 + b'x"\nb\ty\n', True),
    ],
    ids=range(10),
)  # fmt: skip
def test_quoted_cells_in_tsv_are_detected(lines: bytes, are_quoted: bool) -> None:
    """The last but one took most of a minute: pairs of quotes were tried in every way."""
    assert has_quoted_cells(lines) == are_quoted


def test_many_columns_are_found_in_linear_time(tmp_path: Path) -> None:
    """Each column looked for in the whole header took the square of their number: of these, more than a minute."""
    names = tuple(f"c{number}" for number in range(60_000))
    corpus(
        tmp_path,
        {"t.csv": "".join(",".join(row) + "\n" for row in (("text", *names), ("moon", *names)))},
    )
    reading = Reading(format="csv", text_column="text")
    (document,) = read_corpus(["t.csv"], reading, Notices(), labelled=False, columns=names)
    assert (document.text, document.columns) == (b"moon", names)
