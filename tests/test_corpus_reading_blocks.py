"""Documents read in blocks are those read one by one, with the same problems and notices, whatever is odd about some of them."""

from __future__ import annotations

import gzip
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus import reading as reading_module
from nbtext.corpus import streams, table
from nbtext.corpus.detection.formats import resolve_reading
from nbtext.corpus.document import Notices
from nbtext.corpus.reading import create_reader_options, read_corpus, read_shard
from nbtext.corpus.shards import Shard
from nbtext.errors import NbtextError
from nbtext.ragged import LabelledBlock
from nbtext.settings import Reading
from tests.process import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nbtext.corpus.document import Document

Found = tuple[list[tuple[str | None, bytes]], list[tuple[str, str]], Notices, str]

PIECES = [
    b"a", b"b", b"win", b"\t", b"\t", b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b'""', b" ", b";", b"\xc3\xa4", b"\xe4", b"\0", b"\x1d",
    b"\xef\xbb\xbf", b"__label__a ", b"__label__b x", b'{"label": "a", "text": "b c"}', b'{"label": 1, "text": "\\u0000\\ud800"}', b"[]", b"{}",
    b"text\tlabel\n", b"label,text\n", b"a\tone two\n", b"b,one two\n", b"\xef\xbb\xbf", b"0123456789" * 3,
]  # fmt: skip
CONTENTS = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)
ROWS = st.tuples(
    st.lists(
        st.sampled_from(
            [
                b"a\tone two\n",
                b"b\tthree\n",
                b"a,x y\n",
                b'b,"x, y"\n',
                b'b,"x\ny"\n',
                b"__label__a hello\n",
            ]
        ),
        max_size=8,
    ),
    CONTENTS,
    st.sampled_from(
        [b"a\tone\n", b"b,two\n", b'{"label": "b", "text": "x"}\n', b"__label__b win\n"]
    ),
).map(lambda parts: b"".join((*parts[0], parts[1], parts[2] * 3)))
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "tsv": [
        {},
        {"label_column": "2", "text_column": "1"},
        {"text_column": "2,3"},
        {"header": True},
        {"delimiter": ","},
        {"delimiter": "ä"},
        {"label_separator": "n"},
    ],
    "csv": [
        {},
        {"label_separator": " "},
        {"label_column": "label", "text_column": "text"},
        {"delimiter": ";"},
        {"max_document_size": "20"},
        {"id_column": "1"},
    ],
    "jsonl": [
        {},
        {"label_separator": "a"},
        {"text_column": "label,text"},
        {"label_column": "text", "text_column": "label"},
        {"max_document_size": "30"},
    ],
    "fasttext": [{}, {"label_separator": "a"}, {"encoding": "utf-8"}, {"encoding": "latin-1"}],
    "svmlight": [{}],
}


def collect_items(items: Any, notices: Notices) -> Found:
    """Label and text of documents sorted, the problems in their order, the notices, and what was raised."""
    documents, problems, raised = [], [], ""
    try:
        for item in items:
            if isinstance(item, LabelledBlock):
                documents += [
                    (item.labels[place], text)
                    for place, text in zip(item.label_indices.tolist(), item.texts, strict=True)
                ]
            elif item.problem is not None:
                problems.append((item.id, item.problem.line))
            else:
                documents.append((item.label, item.text))
    except NbtextError as problem:
        raised = problem.line
    return sorted(documents, key=str), problems, notices, raised


def in_blocks(path: Path, reading: Reading, notices: Notices) -> Iterator[LabelledBlock | Document]:
    source = create_reader_options(
        resolve_reading(reading, [str(path)], labelled=True), notices, labelled=True
    )
    return read_shard(Shard(str(path)), replace(source, accepts_blocks=True))


def read_both_ways(path: Path, size: int, **options: Any) -> tuple[Found, Found]:
    """What is read one by one, and in blocks of about so many bytes."""
    paths, reading = [str(path)], Reading.from_values(options)
    slow, fast = Notices(), Notices()
    one_by_one = collect_items(read_corpus(paths, reading, slow, labelled=True), slow)
    with (
        patch.object(streams, "LINE_BLOCK_BYTES", size),
        patch.object(table, "LINE_BLOCK_BYTES", size),
        patch.object(reading_module, "LINE_BLOCK_BYTES", size),
    ):
        return one_by_one, collect_items(
            (item for _ in paths for item in in_blocks(path, reading, fast)), fast
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blocks")


@pytest.mark.parametrize("file_format", OPTIONS)
@given(content=st.one_of(CONTENTS, ROWS), size=st.integers(1, 60), data=st.data())
def test_blocks_equal_documents_read_one_by_one(
    folder: Path, file_format: str, content: bytes, size: int, data: st.DataObject
) -> None:
    path = folder / "corpus"
    path.write_bytes(content)
    one_by_one, in_blocks = read_both_ways(
        path, size, format=file_format, **data.draw(st.sampled_from(OPTIONS[file_format]))
    )
    assert in_blocks == one_by_one


@given(
    contents=st.lists(CONTENTS, min_size=1, max_size=5),
    size=st.integers(1, 60),
    limit=st.sampled_from(["64M", "20"]),
)
def test_blocks_of_files_equal_files_read_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], size: int, limit: str
) -> None:
    path = corpus(
        tmp_path_factory.mktemp("files"),
        {f"{'ab'[number % 2]}/{number}": content for number, content in enumerate(contents)},
    )
    one_by_one, in_blocks = read_both_ways(path, size, max_document_size=limit)
    assert in_blocks == one_by_one


@pytest.mark.parametrize("cut", [None, -20])
def test_fatal_error_comes_after_the_documents_before_it(tmp_path: Path, cut: int | None) -> None:
    rows = b"".join(
        b"%b\t%d %b\n" % (b"ab"[n % 2 :][:1], n, b"word" * (n % 7)) if n % 50 else b"odd\n"
        for n in range(1, 3000)
    )
    path = corpus(tmp_path, {"t.tsv.gz": gzip.compress(rows)[:cut]}) / "t.tsv.gz"
    one_by_one, in_blocks = read_both_ways(path, 1 << 20)
    assert in_blocks == one_by_one
    assert len(in_blocks[1]) > 10
    assert bool(in_blocks[3]) == (cut is not None)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("t.tsv", "a\tone two\r\n"),
        ("t.csv", "a,one two\n"),
        ("t.csv", 'a,"one, ""two"""\n'),
        ("t.jsonl", '{"label": "a", "text": "one \\u00e4"}\n'),
        ("t.ft", "__label__a one two\n"),
    ],
)
def test_usual_lines_are_read_in_blocks(tmp_path: Path, name: str, line: str) -> None:
    path = corpus(tmp_path, {name: line * 100}) / name
    items = list(in_blocks(path, replace(Reading(), label_column=None), Notices()))
    assert all(isinstance(item, LabelledBlock) for item in items)
    assert len(items) <= 3
