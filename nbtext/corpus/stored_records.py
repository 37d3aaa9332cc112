"""Read the stored bytes of the records of a file, which `nbtext split` copies.

Records have the numbers that the ids of `nbtext.corpus.table` and `nbtext.corpus.lines` have.
"""

from __future__ import annotations

import csv
import io
import sys
from typing import TYPE_CHECKING

from nbtext.corpus.delimiter_note import MAX_NOTE_BYTES, find_delimiter_note
from nbtext.corpus.document import get_delimiter
from nbtext.corpus.shards import JSON_ARRAY_START
from nbtext.corpus.streams import open_stream, peek_start
from nbtext.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader

    from nbtext.settings import Reading

_BOM = "\ufeff"


def iter_stored_records(path: str, reading: Reading) -> Iterator[bytes]:
    """Yield each record of a csv, tsv or jsonl file with its line end, from record 1.

    The header is a record, and so are empty lines. A note about the delimiter is not: it is part of
    record 1. The records together are the bytes of the file, unpacked if it is compressed.

    Raise `UsageError` for an array of JSON, and `PathError` if the file cannot be read.
    """
    if reading.format == "jsonl" and JSON_ARRAY_START.match(peek_start(path)):
        raise UsageError(
            "is an array, and only a file with an object on each line can be divided",
            where=path,
            hint=f"jq -c '.[]' {path} > NAME.jsonl makes one",
        )
    with open_stream(path) as stream:
        if reading.format == "csv":
            yield from _iter_csv_records(stream, get_delimiter(reading))
        else:
            yield from stream


def _iter_csv_records(stream: BufferedReader, delimiter: str) -> Iterator[bytes]:
    note = find_delimiter_note(stream.peek(MAX_NOTE_BYTES)[:MAX_NOTE_BYTES])
    pending = [] if note is None else [stream.read(note.n_bytes).decode("utf-8")]
    text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")

    def iter_lines() -> Iterator[str]:
        """Yield the lines of the file, and collect the lines of the record that is being parsed."""
        for line in text:
            pending.append(line)
            # With the mark, a quote would not be the first character of its cell.
            yield line.removeprefix(_BOM)

    csv.field_size_limit(sys.maxsize)
    try:
        for _ in csv.reader(iter_lines(), delimiter=delimiter):
            yield "".join(pending).encode("utf-8", "surrogateescape")
            pending.clear()
    finally:
        text.detach()  # else it would close the stream
