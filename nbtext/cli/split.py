"""`nbtext split`: divide labelled documents into a training file and a test file."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING

from nbtext.cli import declarations, messages, shared_options
from nbtext.cli.shared_options import TrainingCorpusOptions
from nbtext.document_fields import NO_TEXT
from nbtext.errors import (
    NoDocumentsError,
    PathError,
    UsageError,
    describe_os_error,
    format_quantity,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from nbtext.cli.corpus import CommandCorpus
    from nbtext.evaluation.holdout import DocumentFacts
    from nbtext.settings import Reading


TRAINING = "train"
TEST = "test"


@declarations.option_record
class SplitOptions:
    """Options that only this command has."""

    test: float = declarations.common_option(
        "--test",
        "Proportion of the documents in the test file.",
        group="documents",
        type=shared_options.NumberInRange(0, 1, open_ends=True),
        default=0.2,
        metavar="P",
    )
    group_column: str | None = declarations.common_option(
        "--group-column",
        "Keep documents with the same value in this column in one file.",
        group="documents",
        metavar="COLUMN",
    )
    time_column: str | None = declarations.common_option(
        "--time-column",
        "Put the newest documents into the test file. The column has numbers, or dates and times "
        "of ISO 8601 in one zone.",
        group="documents",
        metavar="COLUMN",
    )
    seed: int = shared_options.seed_field("Seed of the random division.", group="documents")
    to: str = declarations.common_option(
        "--to",
        "Write the two files into FOLDER, which is made if it is missing.",
        group="output",
        metavar="FOLDER",
        default=".",
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column that divides the documents; empty without such a column."""
        column = self.time_column or self.group_column  # both exclude each other
        return () if column is None else (column,)


@declarations.command("split")
def command(documents: TrainingCorpusOptions, options: SplitOptions) -> None:
    """Divide labelled documents into a training file and a test file.

    CORPUS is one file of csv, tsv or jsonl, or one folder with a sub-folder for each class.
    NAME.csv becomes NAME-train.csv and NAME-test.csv; their rows are copied byte for byte, each
    after the header of the file. For a folder, the files are tables of paths and labels,
    NAME-train.csv and NAME-test.csv, which train reads with --file-column file. Files that exist
    are not overwritten.

    Each class has the proportion --test of its documents in the test file. Documents with equal
    texts are in one file, or an evaluation would be too good. Documents that cannot be read are
    reported, and are in the training file.

    \b
    Examples:
      nbtext split messages.csv
      nbtext split messages.csv --test 0.3 --group-column sender --to parts
      nbtext split corpora/service-desk/train --to parts
    """
    from nbtext.cli.corpus import CommandCorpus, locate_documents
    from nbtext.evaluation.holdout import divide_by_label, divide_by_time

    documents = locate_documents(documents)
    path = _get_single_path(documents)
    # The numbers in the default ids are the numbers of the records.
    reading = replace(documents.reading.complete_settings, id_column=None)
    source = CommandCorpus(documents, reading, labelled=True, columns=options.columns)
    targets = _name_targets(path, source.reading, options.to)
    facts, unreadable = _read_facts(source)
    if options.time_column is None:
        is_test = divide_by_label(facts, options.test, options.seed)
    else:
        is_test = divide_by_time(facts, options.test)
    part_names = [TEST if flag else TRAINING for flag in is_test.tolist()]
    parts = dict(zip(facts.names, part_names, strict=True)) | dict.fromkeys(unreadable, TRAINING)
    if source.reading.layout.has_file_per_document:
        labels = dict(zip(facts.names, facts.labels, strict=True))
        write = partial(_iter_path_table, parts, labels, options.to)
    else:
        write = partial(_iter_rows, path, source.reading, parts)
    _write_both(targets, write)
    part_sizes = Counter(parts.values())
    for part, target in targets.items():
        messages.notify(f"{target}: {format_quantity(part_sizes[part], 'document')}")
    source.report_notices()


def _get_single_path(documents: TrainingCorpusOptions) -> str:
    """Return the only path of a corpus. Raise `UsageError` for several, or standard input."""
    if len(documents.paths) != 1 or documents.paths[0] == "-":
        raise UsageError(
            "split needs one file or folder, which it reads several times",
            hint="save standard input to a file; divide other files one by one",
        )
    return documents.paths[0]


def _name_targets(path: str, reading: Reading, folder: str) -> dict[str, str]:
    """Return the path of the file of each part.

    Raise `UsageError` for a format that cannot be divided, and `PathError` if a file exists.
    """
    from nbtext.corpus.streams import strip_compression_suffix
    from nbtext.store.atomic import check_replaceable

    file_name = strip_compression_suffix(os.path.basename(os.path.abspath(path)))
    name, suffix = os.path.splitext(file_name)
    if reading.format == "dir":
        name, suffix = file_name, ".csv"
    elif reading.format not in ("csv", "tsv", "jsonl"):
        raise UsageError(
            f"split cannot divide {reading.format}", hint="use csv, tsv, jsonl, or a folder"
        )
    targets = {
        part: os.path.normpath(os.path.join(folder, f"{name}-{part}{suffix}"))
        for part in (TRAINING, TEST)
    }
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise PathError(describe_os_error(problem), where=folder) from None
    for target in targets.values():
        if os.path.lexists(target):
            raise PathError("exists already", where=target, hint="choose another folder with --to")
        check_replaceable(target)
    return targets


def _read_facts(source: CommandCorpus) -> tuple[DocumentFacts, list[str]]:
    """Return the facts of the readable documents, and the ids of the unreadable documents."""
    from nbtext.evaluation.holdout import DocumentFacts
    from nbtext.prediction.labels import list_labels

    facts = DocumentFacts([], [], [], [])
    unreadable = []
    may_be_equal = source.reading.text_column == NO_TEXT  # values of columns often are
    for document in messages.report_failures(source):
        if document.problem is not None:
            unreadable.append(document.id)
            continue
        facts.names.append(document.id)
        facts.labels.append(list_labels(document.label or ""))
        facts.column.extend(document.columns)
        if not may_be_equal:
            facts.digests.append(blake2b(document.content_bytes, digest_size=16).digest())
    source.raise_deferred()
    if not facts.names:
        raise NoDocumentsError("the corpus has no readable documents")
    return facts, unreadable


def _iter_rows(path: str, reading: Reading, parts: Mapping[str, str], part: str) -> Iterator[bytes]:
    """Yield the stored rows of one part, after the header. ``parts`` are by id."""
    from nbtext.corpus.detection.columns import implies_header
    from nbtext.corpus.stored_records import iter_stored_records

    has_header = reading.format != "jsonl" and implies_header(reading, ())
    for number, record in enumerate(iter_stored_records(path, reading), 1):
        is_header = has_header and number == 1
        if is_header or parts.get(f"{path}:{number}") == part:
            yield record


def _iter_path_table(
    parts: Mapping[str, str], labels: Mapping[str, tuple[str, ...]], folder: str, part: str
) -> Iterator[bytes]:
    """Yield the rows of a table of the files of one part, with paths relative to ``folder``."""
    yield _format_row("file", "label")
    for path, file_part in parts.items():
        if file_part == part and path in labels:
            yield _format_row(os.path.relpath(path, folder), *labels[path])


def _format_row(*cells: str) -> bytes:
    row = io.StringIO()
    csv.writer(row, lineterminator="\n").writerow(cells)
    return row.getvalue().encode("utf-8", "surrogateescape")


def _write_both(targets: Mapping[str, str], iter_part: Callable[[str], Iterable[bytes]]) -> None:
    """Write the files of both parts. After an error, neither file exists."""
    from nbtext.store.atomic import replace_file

    replace_file(targets[TRAINING], lambda file: file.writelines(iter_part(TRAINING)))
    try:
        replace_file(targets[TEST], lambda file: file.writelines(iter_part(TEST)))
    except BaseException:
        os.unlink(targets[TRAINING])
        raise
