"""Shards of a corpus: together they hold what the whole holds, once and in order, with the same names.

Also tests `corpus/shards.py`.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import random
import tempfile
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st

from nbtext.corpus.decoding import WIDE_ENCODING_PROBE_BYTES, is_wide_encoding
from nbtext.corpus.detection.formats import resolve_reading
from nbtext.corpus.document import WHOLE_FILE, Notices
from nbtext.corpus.reading import create_reader_options, read_corpus, read_shard
from nbtext.corpus.shards import SHARD_FILES, Shard, split_corpus, split_file
from nbtext.corpus.streams import COMPRESSION_PROBE_BYTES, detect_compression
from nbtext.errors import PathError, UsageError
from nbtext.ragged import LabelledBlock
from nbtext.settings import Reading
from tests.process import PETS, corpus, write
from tests.profiles import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nbtext.corpus.document import ByteRange, Document

LINE = st.one_of(
    st.sampled_from([
        b"", b" ", b"cats\tthe cat purrs", b"dogs\tthe dog barks", b"\tno label", b"one column", b"a\tb\tc", b"\xef\xbb\xbfcats\ta mark in front",
        b"caf\xe9\tna\xefve", b'{"label": "cats", "text": "purrs"}', b'{"label": "dogs"}', b"{", b"__label__cats purrs", b"__label__a __label__b x",
        b"cats a:1 b:2 # three", b"1:x", b"# nothing", b"x" * 70, b"From here on", b"a\rb\tc\rd", b'"quoted\t"field',
    ]),
    st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")),
)  # fmt: skip
ENDS = st.sampled_from([b"\n", b"\r\n", b"\n\n"])


def read_whole(
    paths: Sequence[str], *, labelled: bool, **given: Any
) -> tuple[list[tuple[Any, ...]], Notices]:
    """Every document as a tuple, read in one go."""
    reading, notices = (
        resolve_reading(Reading.from_values(given), paths, labelled=labelled),
        Notices(),
    )
    return [
        plain(document) for document in read_corpus(paths, reading, notices, labelled=labelled)
    ], notices


def in_shards(
    paths: Sequence[str], size: int, *, labelled: bool, **given: Any
) -> tuple[list[tuple[Any, ...]], Notices, int]:
    """The same in shards, the last one first, and how many shards there were."""
    reading, notices = (
        resolve_reading(Reading.from_values(given), paths, labelled=labelled),
        Notices(),
    )
    cut = list(
        split_corpus(paths, create_reader_options(reading, notices, labelled=labelled), size)
    )
    read: list[tuple[list[Document], Notices]] = []
    for shard in reversed(cut):
        of_shard = Notices()
        read.append(
            (
                list(
                    read_shard(shard, create_reader_options(reading, of_shard, labelled=labelled))
                ),
                of_shard,
            )
        )
    found = []
    for documents, of_shard in reversed(read):
        found += [plain(document) for document in documents]
        notices.add(of_shard)
    return found, notices, len(cut)


def plain(document: Document) -> tuple[Any, ...]:
    return (*document._replace(problem=None), str(document.problem))


@pytest.mark.parametrize(
    ("labelled", "reading"),
    [
        (True, {"format": "tsv"}),
        (True, {"format": "tsv", "header": True, "id_column": "2"}),
        (False, {"format": "tsv", "text_column": "1"}),
        (True, {"format": "tsv", "max_document_size": "64"}),
        (True, {"format": "jsonl"}),
        (True, {"format": "jsonl", "id_column": "label"}),
        (False, {"format": "lines"}),
        (True, {"format": "fasttext"}),
        (False, {"format": "fasttext"}),
        (True, {"format": "svmlight"}),
        (False, {"format": "lines", "document": "html"}),
    ],
    ids=str,
)
@examples(5)
@given(
    st.lists(st.tuples(LINE, ENDS), max_size=30),
    LINE,
    st.one_of(st.integers(1, 8), st.integers(9, 200)),
    st.lists(st.tuples(LINE, ENDS), max_size=3),
)
@example([(b"cats\ta", b"\r\n"), (b"dogs\tb", b"\n")], b"", 1, [])
@example(
    [(b"cats\ta", b"\n"), (b"\xef\xbb\xbfdogs\tb", b"\n")], b"cats\tc", 9, [(b"dogs\td", b"\n")]
)
@example([(b"x" * 200, b"\n")], b"y" * 300, 3, [])
def test_shards_contain_each_record_once_in_order(
    labelled: bool,
    reading: dict[str, Any],
    lines: list[tuple[bytes, bytes]],
    last: bytes,
    size: int,
    others: list[tuple[bytes, bytes]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder, "one")), str(Path(folder, "other"))]
        Path(paths[0]).write_bytes(b"".join(line + end for line, end in lines) + last)
        Path(paths[1]).write_bytes(b"".join(line + end for line, end in others))
        assume(
            not any(
                is_wide_encoding(start) or detect_compression("", start)
                for start in (Path(path).read_bytes()[:WIDE_ENCODING_PROBE_BYTES] for path in paths)
            )
        )
        try:
            expected, noticed = read_whole(paths, labelled=labelled, **reading)
        except UsageError as refusal:
            if "the first line is not part of the table" not in str(refusal):
                raise
            reject()
        found, notices, _ = in_shards(paths, size, labelled=labelled, **reading)
        assert found == expected
        assert notices.transcoded == noticed.transcoded


def parts_of(path: Path, size: int, file_format: str = "tsv") -> list[ByteRange]:
    return list(
        split_file(
            str(path),
            size,
            create_reader_options(
                Reading.from_values({"format": file_format}), Notices(), labelled=True
            ),
        )
    )


@given(st.lists(LINE, max_size=40), st.sampled_from([b"", b"\n"]), st.integers(1, 100))
def test_file_parts_are_whole_lines_without_gaps(lines: list[bytes], end: bytes, size: int) -> None:
    content = b"\n".join(lines) + end
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content)
        cut = [part for part in parts_of(path, size) if part != WHOLE_FILE]
    if cut:
        assert cut[0].start == 0
        assert cut[-1].end is None
        assert all(before.end == after.start for before, after in pairwise(cut))
        pieces = [content[part.start : part.end] for part in cut]
        assert all(piece.endswith(b"\n") for piece in pieces[:-1])
        longest = max(map(len, lines)) + 1
        assert len(pieces) >= 2
        assert all(
            len(piece) <= max(size, COMPRESSION_PROBE_BYTES, 2 * longest) for piece in pieces
        )
        assert all(len(piece + following) > size for piece, following in pairwise(pieces))
        assert b"".join(pieces) == content
        assert [part.lines_before for part in cut] == [
            content[: part.start].count(b"\n") for part in cut
        ]
        assert pieces[-1]


def test_file_part_is_as_small_as_lines_allow(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"123\n" * 100)
    assert len(parts_of(path, 12)) == 34
    assert len(parts_of(path, 40)) == 10
    assert len(parts_of(path, 399)) == 2
    assert parts_of(path, 400) == [WHOLE_FILE]


def test_files_that_cannot_be_split_are_read_whole(tmp_path: Path) -> None:
    lines = b"cats\tthe cat purrs\n" * 50
    write("wide", lines.decode().encode("utf-16"))
    os.mkfifo(tmp_path / "pipe")
    assert [parts_of(tmp_path / name, 10) for name in ("wide", "pipe", "missing", "a\0b")] == [
        [WHOLE_FILE]
    ] * 4
    with pytest.raises(PathError, match="UTF-16"):
        in_shards(["wide"], 10, labelled=True, format="tsv")


def test_part_that_looks_compressed_is_not_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "file.tsv"
    path.write_bytes(b"cats\tpurrs\n" + b"\x1f\x8b\x08\tbarks\n" * 3)
    assert (
        in_shards([str(path)], 1, labelled=True, format="tsv")[0]
        == read_whole([str(path)], labelled=True, format="tsv")[0]
    )


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": partial(lzma.compress, preset=0),
}


@pytest.mark.parametrize("suffix", PACKERS)
@given(
    st.lists(LINE, max_size=30), st.integers(1, 60), st.sampled_from(["", "end", "middle", "limit"])
)
def test_compressed_files_are_split_while_decompressing(
    suffix: str, lines: list[bytes], size: int, damage: str
) -> None:
    rows = b"\n".join(lines)
    content = PACKERS[suffix](rows[: len(rows) // 2]) + PACKERS[suffix](rows[len(rows) // 2 :])
    content = (
        content[:-3]
        if damage == "end"
        else content[: len(content) // 2] + b"!" + content[len(content) // 2 + 1 :]
        if damage
        else content
    )
    more = {"max_unpacked_size": "200"} if damage == "limit" else {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file.tsv.{suffix}")
        path.write_bytes(content)
        assert read_or_error(in_shards, path, size, **more) == read_or_error(
            read_whole, path, **more
        )
        for part in parts_of(path, size):
            assert part == WHOLE_FILE or part.content is not None


def read_or_error(
    read: Callable[..., tuple[Any, ...]], path: Path, *size: int, **reading: Any
) -> list[tuple[Any, ...]] | str:
    try:
        return list(read([str(path)], *size, labelled=True, **{"format": "tsv", **reading})[0])
    except (PathError, UsageError) as problem:
        return str(problem)


CELLS = st.sampled_from(
    [
        "cats",
        "",
        'a "quoted" word',
        "two\nlines",
        "crlf\r\ninside",
        "a,b",
        "x" * 80,
        "caf\u00e9",
        '"',
        "end\n",
        "\ufeffmark",
    ]
)
RAW_ROWS = st.sampled_from(
    [
        b"",
        b'cats,5" disk',
        b'cats,"never ends',
        b"one column",
        b"a,b\rc,d",
        b'"cats","x"y',
        b"caf\xe9,na\xefve",
        b'cats, "space"',
    ]
)


@pytest.mark.parametrize(
    "reading",
    [
        {},
        {"header": True, "id_column": "2"},
        {"max_document_size": "64"},
        {"delimiter": ";"},
        {"delimiter": "\u00a7"},
    ],
    ids=str,
)
@given(
    st.lists(st.one_of(st.tuples(CELLS, CELLS), st.tuples(CELLS, CELLS), st.tuples(CELLS, CELLS), RAW_ROWS), max_size=25),
    st.sampled_from(["\n", "\r\n"]), st.integers(1, 120), st.booleans(),
)  # fmt: skip
@example([b"", b'cats,5" disk'], "\n", 1, True)
@example([b"one column", ("cats", "cats"), ("cats", "cats")], "\n", 1, True)
def test_csv_is_split_between_records(
    reading: dict[str, Any],
    rows: list[tuple[str, str] | bytes],
    end: str,
    size: int,
    in_blocks: bool,
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, delimiter=reading.get("delimiter", ","))
    for row in rows:
        if isinstance(row, bytes):
            text.write(row.decode("utf-8", "surrogateescape") + end)
        else:
            writer.writerow(row)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.csv")
        path.write_bytes(text.getvalue().encode("utf-8", "surrogateescape"))
        reading = {"format": "csv", "label_column": "1", "text_column": "2", **reading}
        if in_blocks:
            assert count_or_error(path, size, reading) == count_or_error(path, None, reading)
        else:
            assert read_or_error(in_shards, path, size, **reading) == read_or_error(
                read_whole, path, **reading
            )


def test_regular_csv_is_split_at_every_record(tmp_path: Path) -> None:
    write("file", 'cats,"the ""big""\ncat"\n"a",b\n' * 9)
    assert len(parts_of(tmp_path / "file", 1, "csv")) == 9
    write("file", 'cats,5" disk\n' * 9)
    assert parts_of(tmp_path / "file", 1, "csv") == [WHOLE_FILE]


def count_or_error(
    path: Path, size: int | None, reading: dict[str, Any]
) -> list[tuple[Any, ...]] | str:
    """Labels and texts as training reads them, in blocks, whose order does not matter."""
    found: list[tuple[Any, ...]] = []
    try:
        resolution = resolve_reading(Reading.from_values(reading), [str(path)], labelled=True)
        cut = (
            [Shard(str(path))]
            if size is None
            else split_corpus(
                [str(path)], create_reader_options(resolution, Notices(), labelled=True), size
            )
        )
        for shard in cut:
            for item in read_shard(
                shard,
                replace(
                    create_reader_options(resolution, Notices(), labelled=True), accepts_blocks=True
                ),
            ):
                if isinstance(item, LabelledBlock):
                    found += [
                        (item.labels[number], text)
                        for number, text in zip(
                            item.label_indices.tolist(), item.texts, strict=True
                        )
                    ]
                else:
                    found += [
                        (item.label, item.text)
                        if item.problem is None
                        else (item.id, str(item.problem))
                    ]
    except (PathError, UsageError) as problem:
        return str(problem)
    return sorted(found, key=repr)


MESSAGE_LINES = st.sampled_from(
    [
        b"From me",
        b"From a@b",
        b"From a Sat",
        b"From",
        b"to:",
        b"http://",
        b"from here",
        b">From me",
        b"",
        b"",
        b"Subject: x",
        b" ",
        b"caf\xe9",
        b"x" * 90,
        b"\r",
    ]
)


@given(st.lists(st.tuples(MESSAGE_LINES, ENDS), max_size=40), st.integers(1, 100), st.booleans())
@example([(b"From me", b"\n\n")] * 9, 1, True)
def test_mailboxes_are_split_between_messages(
    lines: list[tuple[bytes, bytes]], size: int, labelled: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.mbox")
        path.write_bytes(b"From me\n" + b"".join(line + end for line, end in lines))
        found, _, n = in_shards([str(path)], size, labelled=labelled, format="mbox")
        assert found == read_whole([str(path)], labelled=labelled, format="mbox")[0]
        assert size > 1 or 2 * n >= len(found)


@pytest.mark.parametrize("labelled", [True, False])
def test_directories_are_split_between_files(tmp_path: Path, labelled: bool) -> None:
    corpus(
        tmp_path / "pets",
        {
            **PETS,
            "dogs/bad": b"\0\0",
            "loose": "in no class",
            "mice/.hidden": "x",
            "dogs/deep/er": "caf\xe9".encode("latin-1"),
        },
    )
    (tmp_path / "pets" / "cats" / "gone").symlink_to("nowhere")
    expected, noticed = read_whole(["pets"], labelled=labelled, format="dir")
    found, notices, n = in_shards(["pets"], 1, labelled=labelled, format="dir")
    assert (found, notices) == (expected, noticed)
    assert n == len(expected)


def test_shard_is_limited_in_files_and_bytes(tmp_path: Path) -> None:
    made = random.Random(1)
    corpus(
        tmp_path,
        {f"a/{number:04}": "x" * made.choice([1, 9000]) for number in range(2 * SHARD_FILES)},
    )
    source = create_reader_options(
        resolve_reading(Reading.from_values({}), [str(tmp_path)], labelled=True),
        Notices(),
        labelled=True,
    )
    cut = [
        [Path(file[0]).stat().st_size for file in shard.files or ()]
        for shard in split_corpus([str(tmp_path)], source, 1 << 17)
    ]
    assert max(map(len, cut)) <= 32
    assert all(sum(sizes[:-1]) < 1 << 17 for sizes in cut)
    assert [len(shard.files or ()) for shard in split_corpus([str(tmp_path)], source, 1 << 30)] == [
        SHARD_FILES,
        SHARD_FILES,
    ]


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"format": "dir"}, ["pets", "missing"]),
        ({"format": "maildir"}, ["pets"]),
        ({"format": "dir"}, ["pets/cats/1"]),
    ],
)
def test_unlistable_paths_fail_as_without_shards(
    tmp_path: Path, given: dict[str, Any], paths: list[str]
) -> None:
    corpus(tmp_path / "pets", PETS)
    places = [str(tmp_path / path) for path in paths]
    with pytest.raises((PathError, UsageError)) as expected:
        read_whole(places, labelled=True, **given)
    with pytest.raises((PathError, UsageError)) as found:
        in_shards(places, 1, labelled=True, **given)
    assert str(found.value) == str(expected.value)
