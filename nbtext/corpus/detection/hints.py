"""Give hints and warnings for files that are probably read in the wrong format.

Examples are a table whose name does not show its format, lines that start with their class, and a
file of texts next to a file of their labels.
"""

from __future__ import annotations

import os
import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from nbtext.corpus.decoding import is_plain
from nbtext.corpus.detection.columns import (
    DELIMITERS,
    MAX_INSPECTED_ROWS,
    format_tsv_options,
    split_rows,
)
from nbtext.corpus.streams import DETECTION_BYTES, peek_start
from nbtext.errors import WARNING, Finding
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.settings import Reading

_MIN_LINES = 3
"""Minimum number of lines for a guess of the format."""

_MAX_DISTINCT_FIRST_WORDS = 0.5
"""Maximum ratio of distinct first words to lines if the first words are classes."""

_MAX_INSPECTED_FILES = 1000
"""Maximum number of files whose suffixes are inspected."""

_LABELS_FILE_STEM = re.compile(r"(|.*[_.-])(?:labels?|targets?|classes|y)", re.IGNORECASE)
"""Name, without suffix, of a file that has the label of each line of another file.

The group is the start that both names probably have, such as "train_" in "train_labels".
"""

_TABLE_SUFFIXES = tuple(
    suffix for layout in FORMATS.values() for suffix in layout.suffixes if not layout.is_mail
)


def suggest_reading_options(path: str) -> str | None:
    """Return a hint on how to read a file as a corpus; None if its first lines do not show it."""
    start = peek_start(path)
    complete_lines = start[: start.rfind(b"\n") + 1]
    if not is_plain(complete_lines):
        return None
    is_complete = len(start) < DETECTION_BYTES
    for delimiter in DELIMITERS:
        rows = split_rows(start, delimiter, is_quoted=False, is_complete=is_complete)
        width = len(rows[0]) if rows else 0
        if width > 1 and len(rows) >= _MIN_LINES and all(len(row) == width for row in rows):
            return f"each line has {width} columns, so use {format_tsv_options(delimiter)}"
    lines = start.decode("utf-8", "replace").splitlines()[:MAX_INSPECTED_ROWS]
    if not _start_with_classes(lines):
        return None
    file = shlex.quote(path)
    return (
        "if the first word of each line is its class, make it a table, as with sed 's/ "
        f"/\\t/' {file} > {file}.tsv"
    )


def _start_with_classes(lines: Sequence[str]) -> bool:
    """Return whether each line starts with a word and a text, and the first words repeat."""
    first_words = [line.split(maxsplit=1)[0] for line in lines if " " in line.strip()]
    return (
        len(lines) >= _MIN_LINES
        and len(first_words) == len(lines)
        and len(set(first_words)) <= _MAX_DISTINCT_FIRST_WORDS * len(lines)
    )


def find_misread_files(files: Iterable[str], reading: Reading) -> Iterator[Finding]:
    """Yield warnings about files that are probably not in the format in which they are read.

    A file of lines may contain the labels of another file. A file in a class folder, which is read
    as one text, may be a table.
    """
    if reading.format == "lines":
        yield from _find_parallel_files(sorted(files))
    elif reading.document == "text":
        for file in islice(files, _MAX_INSPECTED_FILES):
            if file.lower().endswith(_TABLE_SUFFIXES):
                yield Finding(
                    "format",
                    WARNING,
                    f"folders contain tables, such as {file}, and each table is read as one "
                    "document",
                    "give one table, or the folder of one corpus, as CORPUS",
                )
                return


def _find_parallel_files(files: Sequence[str]) -> Iterator[Finding]:
    """Yield a warning for each file whose name shows that it has the labels of another file."""
    files_by_stem = {os.path.splitext(os.path.basename(file))[0]: file for file in files}
    for stem, file in files_by_stem.items():
        match = _LABELS_FILE_STEM.fullmatch(stem)
        if match is None:
            continue
        prefix = match[1]
        candidates = [
            text_file
            for text_stem, text_file in files_by_stem.items()
            if text_stem.startswith(prefix) and not _LABELS_FILE_STEM.fullmatch(text_stem)
        ]
        if candidates:
            texts = candidates[0]
            yield Finding(
                "format",
                WARNING,
                f"{file} seems to have the label of each line of {texts}, and the names of the "
                "files are read as classes",
                f"make them a table, as with paste {shlex.quote(file)} {shlex.quote(texts)} > "
                "train.tsv",
            )
