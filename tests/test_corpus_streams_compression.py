from __future__ import annotations

import bz2
import gzip
import io
import lzma
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtext.corpus.document import Notices, ReaderOptions
from nbtext.corpus.streams import create_stream, detect_compression, open_stream, unpack
from nbtext.errors import PathError
from nbtext.settings import Reading
from tests.corpus_reader import documents, problems, texts
from tests.process import LITTLE_MEMORY, MEMORY, corpus, error_line, fail, nbtext

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
SUFFIX = {"gzip": ".gz", "xz": ".xz", "bzip2": ".bz2"}
KINDS = pytest.mark.parametrize("kind", sorted(PACK))
LINES = b"".join(b"a\tdocument number %d of many\n" % number for number in range(20_000))


def content(packed: bytes, kind: str, limit: int = 1 << 30) -> bytes:
    return create_stream(unpack(io.BytesIO(packed), kind, limit)).read()


@KINDS
@given(
    streams=st.lists(st.binary(max_size=300), min_size=1, max_size=4),
    times=st.sampled_from([1, 1000]),
    padding=st.sampled_from([0, 4, 70_000]),
)
def test_concatenated_streams_are_read_as_one(
    kind: str, streams: list[bytes], times: int, padding: int
) -> None:
    packed = b"".join(PACK[kind](stream * times) for stream in streams)
    assert detect_compression("x", packed[:10]) == kind
    assert content(packed + bytes(padding), kind) == b"".join(stream * times for stream in streams)


@KINDS
@given(data=st.data())
def test_damaged_streams_raise_path_error(kind: str, data: st.DataObject) -> None:
    packed = bytearray(PACK[kind](b"some words " * 50))
    for place in data.draw(st.lists(st.integers(6, len(packed) - 1), min_size=1, max_size=3)):
        packed[place] ^= data.draw(st.integers(1, 255))
    try:
        assert len(content(bytes(packed), kind, 10_000)) <= 10_000
    except PathError as problem:
        assert problem.message.startswith((f"the {kind} file is ", "unpacks to more"))  # noqa: PT017 - either outcome is right


@KINDS
def test_decompression_thread_reads_ahead_and_ends_with_the_file(kind: str, tmp_path: Path) -> None:
    packed, before = PACK[kind](LINES), threading.active_count()
    whole, cut = tmp_path / f"whole{SUFFIX[kind]}", tmp_path / f"cut{SUFFIX[kind]}"
    whole.write_bytes(packed)
    cut.write_bytes(packed[:-9])
    with open_stream(
        str(whole), ReaderOptions(Reading(), Notices(), labelled=True, accepts_blocks=True)
    ) as stream:
        assert threading.active_count() == before + 1
        assert stream.read() == LINES
    with (
        open_stream(str(cut)) as alone,
        open_stream(
            str(cut), ReaderOptions(Reading(), Notices(), labelled=True, accepts_blocks=True)
        ) as stream,
    ):
        assert lines_before_damage(stream) == lines_before_damage(alone)
    assert threading.active_count() == before


def lines_before_damage(stream: io.BufferedReader) -> list[bytes]:
    found: list[bytes] = []
    with pytest.raises(PathError, match="cut short"):
        found += iter(stream.readline, None)
    return found


@KINDS
def test_unpacked_size_limit_is_exact_to_the_byte(kind: str) -> None:
    packed = PACK[kind](b"x" * 5000)
    assert content(packed, kind, 5000) == b"x" * 5000
    with pytest.raises(
        PathError, match=r"unpacks to more than 4,999 bytes; raise max_unpacked_size=SIZE"
    ):
        content(packed, kind, 4999)


@KINDS
def test_documents_before_a_truncation_are_classified(pets: Path, kind: str) -> None:
    packed = PACK[kind](LINES)
    path = pets / f"cut.tsv{SUFFIX[kind]}"
    path.write_bytes(packed[: len(packed) * 2 // 3])
    result = nbtext("classify", path.name, "--format", "tsv")
    assert result.status == 4
    assert result.notes == [f"nbtext: cut.tsv{SUFFIX[kind]}: the {kind} file is cut short"]
    assert [row[0] for row in result.rows] == [
        f"{path.name}:{number}" for number in range(1, len(result.rows) + 1)
    ]
    assert len(result.rows) > 1000 or kind != "gzip"
    before = (pets / "nbtext.joblib").read_bytes()
    assert "is cut short" in fail(4, "train", path.name)
    assert "is cut short" in fail(4, "evaluate", path.name, "--format", "tsv")
    assert (pets / "nbtext.joblib").read_bytes() == before


@KINDS
def test_decompression_bomb_takes_no_memory_and_is_refused(pets: Path, kind: str) -> None:
    path = pets / f"bomb.jsonl{SUFFIX[kind]}"
    path.write_bytes(PACK[kind](bytes(7_000_000)) * 10)
    small = nbtext(
        "classify",
        path.name,
        "--format",
        "jsonl",
        "--max-document-size",
        "1M",
        limits=LITTLE_MEMORY,
    )
    assert (small.status, len(small.rows)) == (1, 1)
    assert small.rows[0][2] == "larger than 1 MiB; raise --set max-document-size=SIZE"
    line = error_line(
        nbtext(
            "classify",
            path.name,
            "--format",
            "jsonl",
            "--max-unpacked-size",
            "10M",
            limits=LITTLE_MEMORY,
        ),
        4,
    )
    assert (
        line
        == f"nbtext: {path.name}: unpacks to more than 10 MiB; raise --set max-unpacked-size=SIZE"
    )
    one = nbtext("classify", path.name, "--format", "dir", "--document", "text", limits=MEMORY)
    assert one.rows == [[path.name, "", "larger than 64 MiB; raise --set max-document-size=SIZE"]]


def test_standard_input_may_be_compressed(pets: Path) -> None:
    found = nbtext("classify - --format lines", stdin=gzip.compress(b"the cat\nthe dog\n"))
    assert [row[:2] for row in found.rows] == [["-:1", "cats"], ["-:2", "dogs"]]
    assert nbtext("classify -", stdin=gzip.compress(b"the dog barks")).rows[0][1] == "dogs"


def test_damaged_or_misnamed_compressed_files_are_problems(tmp_path: Path) -> None:
    corpus(
        tmp_path,
        {
            "c.csv.gz": "a,x\n",
            "empty.csv.gz": "",
            "d/a/1.gz": "plain",
            "d/a/2.xz": b"\xfd7zXZ\0 broken",
            "d/a/3": "fine",
            "d/a/4.gz": "",
        },
    )
    with pytest.raises(PathError, match=r"c.csv.gz: the gzip file is damaged \("):
        documents(tmp_path / "c.csv.gz")
    assert texts(tmp_path / "empty.csv.gz") == []
    assert {
        name.rpartition("/")[2]: why.partition(" (")[0]
        for name, why in problems(tmp_path / "d").items()
    } == {
        "1.gz": "the gzip file is damaged",
        "2.xz": "the xz file is damaged",
    }
