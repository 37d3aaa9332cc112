"""What files look like that are not read as their user means: a table under another name, lines that begin with a class, texts beside their labels."""

from __future__ import annotations

import os
import re
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from nbtext.corpus.columns import DELIMITERS, MAX_INSPECTED_ROWS, format_tsv_options, split_rows
from nbtext.corpus.decoding import is_plain
from nbtext.corpus.streams import DETECTION_BYTES, peek_start
from nbtext.errors import WARNING, Finding
from nbtext.settings import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nbtext.settings import Reading

FEWEST_LINES = 3
"""Lines that show how a file is laid out."""

REPEATED = 0.5
"""Different first words for each line, at most, for the first word to be a class."""

MOST_NAMES = 1000
"""Names of files that are looked at."""

_LABELS_FILE = re.compile(r"(|.*[_.-])(?:labels?|targets?|classes|y)", re.IGNORECASE)
_TABLES = tuple(
    suffix for layout in FORMATS.values() for suffix in layout.suffixes if not layout.is_mail
)


def suggest_reading_options(path: str) -> str | None:
    """Return the options that may read a file as a corpus, by what its first lines look like; None if they show nothing."""
    start = peek_start(path)
    if not is_plain(start[: start.rfind(b"\n") + 1]):
        return None
    complete = len(start) < DETECTION_BYTES
    for delimiter in DELIMITERS:
        rows = split_rows(start, delimiter, is_quoted=False, is_complete=complete)
        width = len(rows[0]) if rows else 0
        if width > 1 and len(rows) >= FEWEST_LINES and all(len(row) == width for row in rows):
            return f"each line has {width} columns, so give {format_tsv_options(delimiter)}"
    lines = start.decode("utf-8", "replace").splitlines()[:MAX_INSPECTED_ROWS]
    first_words = [line.split(maxsplit=1)[0] for line in lines if " " in line.strip()]
    if (
        len(lines) >= FEWEST_LINES
        and len(first_words) == len(lines)
        and len(set(first_words)) <= REPEATED * len(lines)
    ):
        file = shlex.quote(path)
        return (
            "if the first word of each line is its class, make it a table, as with sed 's/ "
            f"/\\t/' {file} > {file}.tsv"
        )
    return None


def _parallel_files(files: Sequence[str]) -> Iterator[Finding]:
    """Yield the finding that a file seems to have the label of each line of another, by their names."""
    stems = {os.path.splitext(os.path.basename(file))[0]: file for file in files}
    for stem, file in stems.items():
        found = _LABELS_FILE.fullmatch(stem)
        if found is None:
            continue
        others = [
            other
            for other in stems
            if other != stem and other.startswith(found[1]) and not _LABELS_FILE.fullmatch(other)
        ]
        if others:
            texts = stems[others[0]]
            yield Finding(
                "format",
                WARNING,
                f"{file} seems to have the label of each line of {texts}, and the names of the "
                "files are read as classes",
                f"make them a table, as with paste {shlex.quote(file)} {shlex.quote(texts)} > "
                "train.tsv",
            )


def find_misread_files(files: Iterable[str], reading: Reading) -> Iterator[Finding]:
    """Yield the finding that files are tables, or labels of other files, and are read as texts of the class that their folder or name is."""
    if reading.format == "lines":
        yield from _parallel_files(sorted(files))
    elif reading.document == "text":
        table = next(
            (file for file in islice(files, MOST_NAMES) if file.lower().endswith(_TABLES)), None
        )
        if table is not None:
            detail = f"folders hold tables, such as {table}, and each file is read as one text"
            yield Finding(
                "format", WARNING, detail, "give a table itself, or the folder of one corpus"
            )
