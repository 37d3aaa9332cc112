"""Documents beyond --max-document-size: memory stays flat, the others are read.

Also tests `corpus/document.py`, `corpus/table.py` and `corpus/streams.py`.
"""

from __future__ import annotations

import csv
import gzip
import io
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.document import Notices, format_byte_size
from nbtext.corpus.reading import create_reader_options
from nbtext.corpus.streams import enumerate_lines
from nbtext.corpus.table import _read_csv_rows
from nbtext.settings import Reading
from tests.corpus_reader import documents
from tests.process import LITTLE_MEMORY, error_line, nbtext, write

if TYPE_CHECKING:
    from pathlib import Path


@given(
    st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r"]), max_size=30).map(b"".join),
    st.integers(1, 6),
)
def test_enumerated_lines_match_the_slow_twin(content: bytes, limit: int) -> None:
    wanted = [line.removesuffix(b"\r") for line in content.split(b"\n")]
    wanted = wanted[:-1] if content.endswith(b"\n") or not content else wanted
    found = enumerate_lines(io.BufferedReader(io.BytesIO(content)), limit)
    assert list(found) == [
        (number, line if len(line) <= limit else None) for number, line in enumerate(wanted, 1)
    ]


@given(
    st.lists(st.lists(st.text('ab," \n', max_size=30), min_size=2, max_size=2), max_size=6),
    st.integers(20, 60),
)
def test_csv_rows_above_the_limit_are_skipped(rows: list[list[str]], limit: int) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    records = []
    for row in rows:
        record = io.StringIO()
        csv.writer(record, lineterminator="\n").writerow(row)
        records.append(record.getvalue())
    source = create_reader_options(
        Reading.from_values({"format": "csv", "max_document_size": str(limit)}),
        Notices(),
        labelled=True,
    )
    found = list(
        _read_csv_rows(io.BufferedReader(io.BytesIO(out.getvalue().encode())), source, 0, 0)
    )
    wanted = [
        None if len(record) > limit + 2 else [field.encode() for field in row]
        for row, record in zip(rows, records, strict=True)
    ]
    assert [fields for _, fields in found] == wanted
    assert [number for number, _ in found] == list(range(1, len(records) + 1))


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("c.csv", b'a,"'),
        ("c.tsv", b"a\t"),
        ("c.jsonl", b'{"text": "'),
        ("c.ft", b"__label__a "),
        ("c.svm", b"a x"),
    ],
)
def test_line_without_end_takes_no_memory(pets: Path, name: str, start: bytes) -> None:
    with (pets / name).open("wb") as file:
        file.write(start)
        for _ in range(70):
            file.write(b"word " * 200_000)
    form = {"c.ft": "fasttext", "c.svm": "svmlight"}.get(name, name.partition(".")[2])
    if form == "svmlight":
        result = nbtext("train", name, "--max-document-size", "1M", "-m", "m", limits=LITTLE_MEMORY)
        assert "larger than 1 MiB; raise --set max-document-size=SIZE" in result.notes[0]
        return
    result = nbtext(
        "classify", name, "--format", form, "--max-document-size", "1M", limits=LITTLE_MEMORY
    )
    assert result.rows == [
        [f"{name}:1", "", "larger than 1 MiB; raise --set max-document-size=SIZE"]
    ]
    assert result.status == 1


def test_files_and_standard_input_above_the_limit_are_refused(pets: Path) -> None:
    write("large", b"cat " * 1000)
    for arguments, stdin in ((["large"], b""), (["-"], b"cat " * 1000)):
        result = nbtext("classify", *arguments, "--max-document-size", "3999", stdin=stdin)
        assert (result.status, result.rows) == (
            1,
            [[arguments[0], "", "larger than 3,999 bytes; raise --set max-document-size=SIZE"]],
        )
        assert (
            nbtext("classify", *arguments, "--max-document-size", "4000", stdin=stdin).rows[0][1]
            == "cats"
        )


def test_unclosed_quote_takes_no_memory_and_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "c.csv"
    path.write_bytes(b'a,x\na,"open ' + b"word\n" * 10_000)
    found = documents(path, max_document_size="1K")
    assert [document.problem and document.problem.line for document in found] == [
        None,
        "larger than 1 KiB; raise --set max-document-size=SIZE",
    ]


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (64 << 20, "64 MiB"),
        (1000, "1,000 bytes"),
        (1024, "1 KiB"),
        (3 << 30, "3 GiB"),
        (1, "1 bytes"),
    ],
)
def test_byte_sizes_are_formatted(size: int, text: str) -> None:
    assert format_byte_size(size) == text


@pytest.mark.parametrize("name", ["c.csv.gz", "c.tsv.gz"])
def test_truncated_gzip_is_refused_even_with_a_small_document_limit(pets: Path, name: str) -> None:
    rows = "".join(
        f"c{n % 2}{',' if 'csv' in name else chr(9)}word{n} some text\n" for n in range(60_000)
    )
    content = gzip.compress(rows.encode(), mtime=0)
    (pets / name).write_bytes(content[: len(content) * 2 // 3])
    line = error_line(nbtext("train", name, "--max-document-size", "100K", "--jobs", "1"), 4)
    assert line.endswith(f"{name}: the gzip file is cut short")
